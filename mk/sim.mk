# SPDX-License-Identifier: MIT
#
# The simulators, hosted: a library for tests and tools. The engine compiles the same two files
# with its own flags (engine fragment) and uses SIM_SOURCES for that.

SIM_SOURCES := sim/cache.c sim/branch.c
SIM_HEADERS := sim/cache.h sim/branch.h
SIM_OBJECTS := $(SIM_SOURCES:%.c=$(BUILD)/obj/%.o)
SIM_LIB     := $(BUILD)/lib/libquern-sim.a

$(SIM_OBJECTS): $(BUILD)/obj/%.o: %.c $(SIM_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -c -o $@ $<

$(SIM_LIB): $(SIM_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

ALL += $(SIM_LIB)
