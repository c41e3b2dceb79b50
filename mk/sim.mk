# SPDX-License-Identifier: MIT
#
# The simulators, hosted, for tests and tools. The engine compiles the same sources with its own
# flags.

SIM_OBJS := $(call host_objs,sim/cache.c sim/branch.c)

$(BUILD)/lib/libsim.a: $(SIM_OBJS)
	$(call archive)

ALL += $(BUILD)/lib/libsim.a
