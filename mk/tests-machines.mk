# SPDX-License-Identifier: MIT
#
# tests/machines: the tests on processors that this machine does not have, emulated. Not in `make
# check`: it installs an emulator, fetches a kernel, and takes a quarter of an hour for each
# machine, an hour when busy.
# NAME='epyc la57' runs only these machines, PARTS='guest state' only these parts.

MACHINES_LAYERS := base codecache count emit process replay run signal spool syscalls thread translate x86
MACHINES_BUILT := \
    $(patsubst tests/guest/%.S,$(BUILD)/tests/guest/%,$(wildcard tests/guest/*.S)) \
    $(patsubst tests/guest/%.c,$(BUILD)/tests/guest/%,$(wildcard tests/guest/*.c)) \
    $(patsubst tests/guest-state/%.c,$(BUILD)/tests/state/%,$(wildcard tests/guest-state/*.c)) \
    $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard $(foreach layer,$(MACHINES_LAYERS), \
    tests/unit/$(layer)/*.c))) \
    $(addprefix $(BUILD)/tests/native/,start registers-static registers-static-pie \
    $(addprefix probe-,static static-pie pie nopie pie-2m static-2m joint joint-static bss-apart \
    execstack high)) \
    $(addprefix $(BUILD)/fuzz/insn/,insn_gen insn_cmp insn_claims guest.o guest-avx2.o)

.PHONY: check-machines
check-machines: $(ALL) $(MACHINES_BUILT)
	@scripts/deps machines
	@tests/machines/run $(BUILD) $(NAME)
