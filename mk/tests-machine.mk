# SPDX-License-Identifier: MIT
#
# tests/machine: --machine against the same caches as options, with other levels, and with parts
# whose counts are known by hand, in each mode.

CHECKS += check-levels
.PHONY: check-levels
check-levels: $(COMPAT_PROGRAMS) $(ALL)
	@tests/machine/levels $(BUILD)/bin/quern $(COMPAT_DIR) $(or $(NAME),$(COMPAT_C) $(COMPAT_S))

# All programs with all switches.
.PHONY: soak-levels
soak: soak-levels
soak-levels: $(COMPAT_PROGRAMS) $(ALL)
	@LEVELS_SWITCHES=all tests/machine/levels $(BUILD)/bin/quern $(COMPAT_DIR) $(or $(NAME),$(COMPAT_C) $(COMPAT_S))

CHECKS += check-machine-parts
.PHONY: check-machine-parts
check-machine-parts: $(BUILD)/tests/machine/parts $(ALL)
	@tests/machine/parts $(BUILD)/bin/quern $<

$(BUILD)/tests/machine/parts: tests/machine/parts.S
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -nostdlib -static -Wl,-z,noexecstack -o $@ $<

CHECKS += check-core
.PHONY: check-core
check-core: $(COMPAT_PROGRAMS) $(ALL)
	@tests/machine/core $(BUILD)/bin/quern $(BUILD)/tests/machine $(COMPAT_DIR) \
	    $(or $(NAME),branches forms rmw sort strings)

CURVE_PROGRAMS := $(addprefix $(BUILD)/tests/machine/,curve curve-killed curve-forks)
CHECKS += check-curve
.PHONY: check-curve
check-curve: $(CURVE_PROGRAMS) $(COMPAT_PROGRAMS) $(ALL)
	@tests/machine/curve $(BUILD)/bin/quern $(BUILD)/tests/machine $(COMPAT_DIR) \
	    $(or $(NAME),list matmul sort strings straddle)

CURVE_FLAGS_curve-killed := -DEND=9
CURVE_FLAGS_curve-forks := -DFORK
$(CURVE_PROGRAMS): tests/machine/curve.S
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -nostdlib -static -Wl,-z,noexecstack $(CURVE_FLAGS_$(@F)) -o $@ $<
