# SPDX-License-Identifier: MIT
#
# tests/wild: large real programs, natively and under Quern. Not in `make check`: it installs languages
# and servers, and takes a quarter of an hour. NAME=... runs only these, WILD_MODES='count caches
# calls' chooses the modes.

.PHONY: check-wild
check-wild: $(ALL) $(CALLS_DIR)/edges
	@scripts/deps wild
	@tests/wild/run $(BUILD) $(NAME)
