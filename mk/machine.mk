# SPDX-License-Identifier: MIT
#
# machine/: readers of machine files, and the files that are shipped, which the build puts where the
# program finds them, below share/ beside bin/.

MACHINE_SRCS := $(sort $(wildcard machine/*.c))
MACHINE_FILES := $(patsubst share/machines/%,$(BUILD)/share/quern/machines/%, \
                   $(sort $(wildcard share/machines/*.machine)))

ALL += $(MACHINE_FILES)
# The target quern builds all that a run needs.
$(BUILD)/bin/quern: | $(MACHINE_FILES)

$(MACHINE_FILES): $(BUILD)/share/quern/machines/%: share/machines/%
	$(call say,COPY,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@

MACHINE_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%, \
                   $(sort $(wildcard tests/unit/machine/test_*.c)))

$(MACHINE_TESTS): $(BUILD)/tests/%: $(BUILD)/obj/asan/tests/unit/%.o \
                  $(call asan_objs,$(MACHINE_SRCS) sim/cache.c)
	$(call link_asan,-lcmocka)

CHECKS += check-machine
.PHONY: check-machine
check-machine: $(MACHINE_TESTS)
	@status=0; for t in $^; do \
	    CMOCKA_MESSAGE_OUTPUT=TAP TEST_MACHINES=share/machines $$t || status=1; \
	done; exit $$status
