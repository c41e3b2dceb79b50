# SPDX-License-Identifier: MIT
#
# Client requests, and the front-end with Valgrind's command line (check-requests); requests from
# outside (check-control).

REQUESTS_DIR := $(BUILD)/tests/requests
REQUESTS := $(addprefix $(REQUESTS_DIR)/,calls cold every region threads toggle waits)

# Always by gcc: the instructions that make a request are counted by hand.
$(REQUESTS): $(REQUESTS_DIR)/%: tests/requests/%.c tests/requests/cachegrind.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -fno-inline -pthread -I. -o $@ $<

$(addprefix $(REQUESTS_DIR)/,steady table): $(REQUESTS_DIR)/%: tests/requests/%.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -g -nostdlib -static -Wl,-z,noexecstack -o $@ $<

.PHONY: check-requests check-control
check-requests: $(BUILD)/bin/quern $(REQUESTS) $(REQUESTS_DIR)/table
	@tests/requests/run $(abspath $<) $(abspath $(REQUESTS_DIR))
CHECKS += check-requests

check-control: $(BUILD)/bin/quern $(REQUESTS_DIR)/waits $(REQUESTS_DIR)/steady
	@tests/requests/control $(abspath $<) $(abspath $(REQUESTS_DIR))
CHECKS += check-control
