# SPDX-License-Identifier: MIT
#
# Client requests, and the front-end with Valgrind's command line (check-requests).

REQUESTS_DIR := $(BUILD)/tests/requests
REQUESTS := $(addprefix $(REQUESTS_DIR)/,cold every region threads toggle)

# Always by gcc: the instructions that make a request are counted by hand.
$(REQUESTS): $(REQUESTS_DIR)/%: tests/requests/%.c tests/requests/cachegrind.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -fno-inline -pthread -I. -o $@ $<

.PHONY: check-requests
check-requests: $(BUILD)/bin/quern $(REQUESTS)
	@tests/requests/run $(abspath $<) $(abspath $(REQUESTS_DIR))
CHECKS += check-requests
