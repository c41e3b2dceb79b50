# SPDX-License-Identifier: MIT
#
# tests/machine: --machine against the same caches as options, and with other levels, in each mode.

CHECKS += check-levels
.PHONY: check-levels
check-levels: $(COMPAT_PROGRAMS) $(ALL)
	@tests/machine/levels $(BUILD)/bin/quern $(COMPAT_DIR) $(or $(NAME),$(COMPAT_C) $(COMPAT_S))
