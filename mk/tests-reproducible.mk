# SPDX-License-Identifier: MIT
#
# tests/reproducible: counts recorded in the tree. The programs are made by as and ld alone.

REPRODUCIBLE_DIR := $(BUILD)/tests/reproducible
REPRODUCIBLE := $(patsubst tests/reproducible/%.s,$(REPRODUCIBLE_DIR)/%,\
    $(wildcard tests/reproducible/*.s))

$(REPRODUCIBLE_DIR)/%: tests/reproducible/%.s
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)as -o $@.o $<
	$(Q)ld -static --build-id=none -z max-page-size=4096 -z noexecstack -z noseparate-code \
	    -Ttext-segment=0x400000 -s -o $@ $@.o

$(REPRODUCIBLE_DIR)/randomised: tests/reproducible/randomised.c $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 $(WARNINGS) $(WERROR_FLAG) -o $@ $<

CHECKS += check-reproducible
.PHONY: check-reproducible
check-reproducible: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine $(REPRODUCIBLE) \
    $(REPRODUCIBLE_DIR)/randomised
	@tests/reproducible/run $(BUILD)
