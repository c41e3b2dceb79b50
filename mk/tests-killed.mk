# SPDX-License-Identifier: MIT
#
# tests/killed: runs that are killed at random moments, and recovered.

KILLS ?= 500

$(BUILD)/tests/killed/counted: tests/killed/counted.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $<

$(BUILD)/tests/killed/walk: tests/killed/walk.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) -o $@ $<

.PHONY: soak-killed
soak: soak-killed
soak-killed: $(BUILD)/tests/killed/counted $(BUILD)/tests/killed/walk $(ALL)
	@python3 tests/killed/storm.py $(abspath $(BUILD)/bin/quern) \
	    $(abspath $(BUILD)/tests/killed/counted) $(KILLS) $(SEED)
	@python3 tests/killed/misses.py $(abspath $(BUILD)/bin/quern) $(abspath $(BUILD)/tests/killed/walk) $(KILLS) $(SEED)
