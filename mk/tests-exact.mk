# SPDX-License-Identifier: MIT
#
# The tests of exactness: the simulators alone (check-sim); programs counted by hand (check-guest),
# against Cachegrind (check-compat) and against single-stepping (check-oracle).

SIM_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_sim_*.c))

# Other tests of sim/core.c than test_sim_core.c.
SIM_CORE := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_sim_core_*.c))

$(SIM_CORE): $(BUILD)/tests/%: $(BUILD)/obj/asan/tests/unit/%.o $(BUILD)/obj/asan/sim/core.o
	$(call link_asan,-lcmocka)

$(filter-out $(SIM_CORE),$(SIM_TESTS)): $(BUILD)/tests/test_sim_%: \
    $(BUILD)/obj/asan/tests/unit/test_sim_%.o \
    $(BUILD)/obj/asan/sim/%.o
	$(call link_asan,-lcmocka)

$(BUILD)/tests/test_sim_stamps $(BUILD)/tests/test_sim_level: $(BUILD)/obj/asan/sim/cache.o
$(BUILD)/tests/test_sim_level $(BUILD)/tests/test_sim_prefetch $(BUILD)/tests/test_sim_predict: $(BUILD)/obj/asan/sim/recent.o
$(BUILD)/tests/test_sim_level: $(BUILD)/obj/asan/sim/level_ops.o
$(BUILD)/tests/test_sim_core $(SIM_CORE): $(BUILD)/obj/asan/sim/units.o

.PHONY: check-sim
check-sim: $(SIM_TESTS)
	@status=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; exit $$status

CHECKS += check-sim

# ---- Against Cachegrind ----
# No libc, a fixed address, a stack of their own: the same stream of instructions and addresses
# under both tools. -O1 keeps the lines apart. Always by gcc and with these flags, whoever builds
# Quern: other code may contain what Cachegrind leaves out or invents (clang's `bts` of registers),
# and the comparison would fail for that reason.
COMPAT_C      := avx2 bits column fnptr list matmul nbody recurse sort sse switch x87
COMPAT_S      := bigcode branches forms masked rmw stack straddle strings
COMPAT_DIR    := $(BUILD)/tests/compat
COMPAT_CFLAGS := -std=gnu11 $(WARNINGS) -O1 -g -ffreestanding -fno-pie -fno-stack-protector \
    -fcf-protection=none \
                 -fno-asynchronous-unwind-tables
COMPAT_PROGRAMS := $(addprefix $(COMPAT_DIR)/,$(COMPAT_C) $(COMPAT_S))

CFLAGS_tests/compat/avx2.c := -mavx2
CFLAGS_tests/compat/bits.c := -msse4.2 -mbmi -mbmi2 -mlzcnt -mpopcnt
CFLAGS_tests/compat/recurse.c := -fno-optimize-sibling-calls
CFLAGS_tests/compat/sse.c  := -msse4.2

$(BUILD)/obj/compat/%.o $(COMPAT_PROGRAMS): override CC := gcc
$(BUILD)/obj/compat/%.o: override CFLAGS :=
$(BUILD)/obj/compat/%.o: override CPPFLAGS :=
$(BUILD)/obj/compat/%.o: tests/compat/%.c $(FLAGS_STAMP)
	$(call compile,CC,$(COMPAT_CFLAGS))
$(BUILD)/obj/compat/%.o: tests/compat/%.S $(FLAGS_STAMP)
	$(call compile,AS,-g)
$(COMPAT_PROGRAMS): $(COMPAT_DIR)/%: $(BUILD)/obj/compat/%.o $(BUILD)/obj/compat/start.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -static -o $@ $^

.PHONY: check-compat
check-compat: $(BUILD)/bin/quern $(COMPAT_PROGRAMS)
	@tests/compat/run $< $(COMPAT_DIR) $(COMPAT_C) $(COMPAT_S)
# All programs with all switches.
.PHONY: soak-compat
soak: soak-compat
soak-compat: $(BUILD)/bin/quern $(COMPAT_PROGRAMS)
	@COMPAT_SWITCHES=all tests/compat/run $< $(COMPAT_DIR) $(COMPAT_C) $(COMPAT_S)
FLAGS_WATCH += $(COMPAT_CFLAGS)
CHECKS += check-compat

# ---- Counted by hand, and programs that check themselves what they see ----
# *.S: no libc, nothing linked to them. *.c: with libc and threads.
GUEST_DIR := $(BUILD)/tests/guest
GUEST_S   := $(patsubst tests/guest/%.S,$(GUEST_DIR)/%,$(wildcard tests/guest/*.S))
GUEST_C   := $(patsubst tests/guest/%.c,$(GUEST_DIR)/%,$(wildcard tests/guest/*.c))

$(GUEST_S): $(GUEST_DIR)/%: tests/guest/%.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -g -nostdlib -static -Wl,-z,noexecstack -o $@ $<
$(BUILD)/obj/guest/%.o: tests/guest/%.c $(FLAGS_STAMP)
	$(call compile,CC,$(HOST_CFLAGS) -O1 -pthread)
$(GUEST_C): $(GUEST_DIR)/%: $(BUILD)/obj/guest/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pthread -o $@ $^

# Each program has the common modes and a third of the others; soak-guest runs all in all modes.
.PHONY: check-guest
check-guest: $(BUILD)/bin/quern $(GUEST_S) $(GUEST_C)
	@tests/guest/run $< $(GUEST_DIR)
CHECKS += check-guest

.PHONY: soak-guest
soak: soak-guest
soak-guest: $(GUEST_S) $(GUEST_C) $(ALL)
	@GUEST_MODES=all tests/guest/run $(BUILD)/bin/quern $(GUEST_DIR)

# ---- Against single-stepping ----
ORACLE     := $(BUILD)/tests/oracle/oracle
ORACLE_DIR := $(BUILD)/tests/oracle/programs
ORACLE_FREE := $(addprefix $(ORACLE_DIR)/,changing faults odd)
ORACLE_LIBC := $(ORACLE_DIR)/libc-static $(ORACLE_DIR)/libc-dynamic
ORACLE_COMPAT := $(addprefix $(COMPAT_DIR)/,avx2 bigcode stack straddle strings)

$(ORACLE): $(BUILD)/obj/host/tests/oracle/oracle.o
	$(call link,)
$(BUILD)/obj/compat/%.o: tests/oracle/%.c $(FLAGS_STAMP)
	$(call compile,CC,$(COMPAT_CFLAGS))
$(BUILD)/obj/compat/%.o: tests/oracle/%.S $(FLAGS_STAMP)
	$(call compile,AS,-g)
$(ORACLE_FREE): $(ORACLE_DIR)/%: $(BUILD)/obj/compat/%.o $(BUILD)/obj/compat/start.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -static -o $@ $^
$(ORACLE_LIBC): $(BUILD)/obj/host/tests/oracle/libc.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(if $(findstring static,$@),-static) -o $@ $^

.PHONY: check-oracle
check-oracle: $(BUILD)/bin/quern $(ORACLE) $(ORACLE_FREE) $(ORACLE_LIBC) $(ORACLE_COMPAT)
	@tests/oracle/run $< $(ORACLE) $(BUILD)/tests/oracle/out $(ORACLE_FREE) $(ORACLE_LIBC) \
	    $(ORACLE_COMPAT)
CHECKS += check-oracle
