# SPDX-License-Identifier: MIT
#
# tests/guest-state: client programs about signals, threads, processes, memory and descriptors, that
# judge themselves and must behave the same natively and under the engine; and the unit tests of the
# engine's pure parts behind them.

STATE_NAMES := $(patsubst tests/guest-state/%.c,%,$(wildcard tests/guest-state/*.c))
STATE_PROGRAMS := $(STATE_NAMES:%=$(BUILD)/tests/state/%)
STATE_UNITS := $(BUILD)/tests/test_engine_vmmap $(BUILD)/tests/test_engine_seccomp

$(BUILD)/tests/state/%: tests/guest-state/%.c tests/guest-state/check.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $< -lm

$(BUILD)/tests/test_engine_vmmap: $(BUILD)/obj/asan/tests/unit/test_engine_vmmap.o \
    $(call asan_objs,engine/codecache/vmmapset.c)
	$(call link_asan,-lcmocka)

$(BUILD)/tests/test_engine_seccomp: $(BUILD)/obj/asan/tests/unit/test_engine_seccomp.o \
    $(call asan_objs,engine/process/seccomp_bpf.c)
	$(call link_asan,-lcmocka)

CHECKS += check-engine-units
.PHONY: check-engine-units
check-engine-units: $(STATE_UNITS)
	@bad=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || bad=1; done; exit $$bad

# NAME=... runs only these programs; STATE_MODES='plain cache stress flush helpers serial traced'
# chooses the modes.
CHECKS += check-state
.PHONY: check-state
check-state: $(STATE_PROGRAMS) $(ALL)
	@tests/guest-state/run $(BUILD)/bin/quern $(BUILD)/tests/state $(NAME)
