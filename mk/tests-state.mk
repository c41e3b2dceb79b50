# SPDX-License-Identifier: MIT
#
# tests/guest-state: client programs about signals, threads, processes, memory and descriptors, that
# judge themselves and must behave the same natively and under the engine.

STATE_NAMES := $(patsubst tests/guest-state/%.c,%,$(wildcard tests/guest-state/*.c))
STATE_PROGRAMS := $(STATE_NAMES:%=$(BUILD)/tests/state/%)

$(BUILD)/tests/state/%: tests/guest-state/%.c tests/guest-state/check.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $< -lm

# NAME=... runs only these programs; STATE_MODES='plain cache stress' chooses the modes, all is all,
# else each program has the common ones and a third of the others. soak-state runs all programs in all modes,
# and those that repeat something do so more often (STATE_SOAK).
CHECKS += check-state
.PHONY: check-state
check-state: $(STATE_PROGRAMS) $(ALL)
	@tests/guest-state/run $(BUILD)/bin/quern $(BUILD)/tests/state $(NAME)

.PHONY: soak-state
soak: soak-state
soak-state: $(STATE_PROGRAMS) $(ALL)
	@STATE_MODES=all STATE_SOAK=yes tests/guest-state/run $(BUILD)/bin/quern $(BUILD)/tests/state $(NAME)
