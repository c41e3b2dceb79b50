# SPDX-License-Identifier: MIT
#
# Call graphs (check-calls): by hand, against Callgrind with the programs of tests-exact.mk, balanced.

CALLS_DIR := $(BUILD)/tests/calls
CALLS_S   := $(patsubst tests/calls/%.S,$(CALLS_DIR)/%,$(wildcard tests/calls/*.S))
CALLS_C   := $(addprefix $(CALLS_DIR)/,contexts forks generated jumps killed stacks superblocks threads vforks)

$(CALLS_S): $(CALLS_DIR)/%: tests/calls/%.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -g -nostdlib -static -Wl,-z,noexecstack,--eh-frame-hdr -o $@ $<
# Without inlining: the calls between functions are tested. Always by gcc, for its names of parts
# of functions.
$(CALLS_C): $(CALLS_DIR)/%: tests/calls/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -fno-inline -fno-ipa-sra -pthread -o $@ $<
# The layout of lld: code begins in the page of the file in which the read-only data ends.
$(CALLS_DIR)/one-page: tests/calls/000-direct.S
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)if command -v ld.lld >/dev/null; then $(CC) -g -nostdlib -static -fuse-ld=lld -o $@ $<; fi
# clang sets the stack pointer where gcc takes from it.
$(CALLS_DIR)/stacks-clang: tests/calls/stacks.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)if command -v clang >/dev/null; then clang -std=gnu11 -O1 -g -fno-inline -fstack-clash-protection -o $@ $<; fi
$(CALLS_DIR)/inlined: tests/calls/inlined.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -o $@ $<
$(CALLS_DIR)/exceptions: tests/calls/exceptions.cc
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)g++ -O2 -g -o $@ $<
# Without libc, as those of tests-exact.mk.
CFLAGS_tests/calls/levels.c := -fno-optimize-sibling-calls
$(BUILD)/obj/compat/%.o: tests/calls/%.c $(FLAGS_STAMP)
	$(call compile,CC,$(COMPAT_CFLAGS))
$(CALLS_DIR)/levels: $(BUILD)/obj/compat/levels.o $(BUILD)/obj/compat/start.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)gcc -nostdlib -static -o $@ $^
$(CALLS_DIR)/mangled: tests/calls/mangled.cc $(BUILD)/obj/compat/start.o
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)g++ -O1 -g -ffreestanding -fno-pie -no-pie -fno-exceptions -fno-asynchronous-unwind-tables \
	    -fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls -nostdlib -static -o $@ $^
$(CALLS_DIR)/edges: $(BUILD)/obj/host/tests/calls/edges.o $(BUILD)/lib/libquern.a
	$(call link,$(PROFILE_LIBS))

# soak-calls: all programs in all modes.
.PHONY: check-calls soak-calls
soak: soak-calls
soak-calls: CALLS_ALL := CALLS_MODES=all
check-calls soak-calls: $(BUILD)/bin/quern $(CALLS_S) $(CALLS_C) $(CALLS_DIR)/exceptions $(CALLS_DIR)/edges \
    $(CALLS_DIR)/levels $(CALLS_DIR)/inlined $(CALLS_DIR)/mangled $(CALLS_DIR)/one-page $(CALLS_DIR)/stacks-clang \
    $(COMPAT_PROGRAMS)
	@$(CALLS_ALL) tests/calls/run $< $(CALLS_DIR)/edges $(CALLS_DIR) $(COMPAT_DIR) $(COMPAT_C) $(COMPAT_S)
CHECKS += check-calls
