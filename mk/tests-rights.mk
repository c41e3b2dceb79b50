# SPDX-License-Identifier: MIT
#
# tests/rights: no process of Quern keeps rights that the program has dropped.

RIGHTS_PROGRAMS := $(patsubst tests/rights/%.c,$(BUILD)/tests/rights/%,$(wildcard tests/rights/*.c))

$(BUILD)/tests/rights/%: tests/rights/%.c tests/guest-state/check.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) -I. -pthread -o $@ $<

CHECKS += check-rights
.PHONY: check-rights
check-rights: $(RIGHTS_PROGRAMS) $(ALL)
	@tests/rights/run $(abspath $(BUILD)/bin/quern) $(abspath $(BUILD)/tests/rights)

# At random, which no test that CI waits for may be.
.PHONY: soak-wild
soak: soak-wild
soak-wild: $(RIGHTS_PROGRAMS) $(ALL)
	@tests/rights/run-wild $(abspath $(BUILD)/bin/quern) $(abspath $(BUILD)/tests/rights)
