# SPDX-License-Identifier: MIT
#
# The engine: one static, freestanding executable of engine/'s layers, sim/ and the decoder
# of Zydis. No header but the compiler's own is in reach, no library is linked, and floating
# point registers are out of bounds: scripts/check-engine proves the result.

ENGINE := $(BUILD)/libexec/quern/quern-engine
ENGINE_BASE_ADDRESS := 0x7e9000000000# ENGINE_BASE in engine/base/layout.h

ENGINE_SOURCES := $(sort $(wildcard engine/*/*.c))
ENGINE_ASM := $(sort $(wildcard engine/*/*.S))
ENGINE_SIM := $(sort $(wildcard sim/*.c))
ENGINE_ZYDIS := Decoder DecoderData MetaInfo Mnemonic Register Segment SharedData Utils Zydis

# The headers of Zycore (libzycore-dev), and a folder that contains nothing else.
ZYCORE_INCLUDE ?= /usr/include
ENGINE_GEN := $(BUILD)/gen/engine
# The tree of libbsd (libbsd-dev): two headers that include nothing from elsewhere.
BSD_INCLUDE ?= /usr/include
ENGINE_TREE := $(ENGINE_GEN)/bsd/sys/cdefs.h $(ENGINE_GEN)/bsd/sys/tree.h

ENGINE_CC_INCLUDE := $(shell $(CC) -print-file-name=include)
ENGINE_ISOLATE := -nostdinc -isystem $(ENGINE_CC_INCLUDE) -ffreestanding -fno-builtin
ENGINE_HIDDEN := -include engine/base/hidden.h
ENGINE_CODEGEN := -std=gnu11 -O2 -g -fPIE -mcmodel=small -fvisibility=hidden -fno-stack-protector \
    -fcf-protection=none -mgeneral-regs-only -fno-asynchronous-unwind-tables -mno-red-zone \
    -ffunction-sections -fdata-sections
# The core's model (docs/design/072-core.md, Speed).
CFLAGS_sim/core.c := -O3
ENGINE_ZYDIS_FLAGS := -DZYAN_NO_LIBC -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_ENCODER \
    -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -isystem $(ZYDIS_SRC)/include -isystem $(ENGINE_GEN)
ENGINE_CFLAGS := $(ENGINE_CODEGEN) $(ENGINE_ISOLATE) $(WARNINGS) -I. $(ENGINE_ZYDIS_FLAGS)
ENGINE_LDFLAGS := -nostdlib -static -Wl,-Ttext-segment=$(ENGINE_BASE_ADDRESS) -Wl,-z,defs \
    -Wl,-z,noexecstack -Wl,--build-id -Wl,--gc-sections -Wl,-z,max-page-size=4096 \
    -Wl,--sort-section=alignment -Wl,-T,engine/run/image.ld

FLAGS_WATCH += $(ENGINE_CFLAGS) $(ENGINE_HIDDEN) $(ENGINE_LDFLAGS)

ENGINE_OBJS := $(patsubst %.c,$(BUILD)/obj/engine/%.o,$(ENGINE_SOURCES) $(ENGINE_SIM)) \
    $(ENGINE_ASM:%=$(BUILD)/obj/engine/%.o) \
    $(ENGINE_ZYDIS:%=$(BUILD)/obj/engine/zydis/%.o)

$(BUILD)/obj/engine/%.o: %.c $(FLAGS_STAMP) | $(ENGINE_GEN)/Zycore $(ENGINE_TREE)
	$(call compile,ENGINE,$(ENGINE_CFLAGS) $(ENGINE_HIDDEN))

# Some layers have NAME.S beside NAME.c.
$(BUILD)/obj/engine/%.S.o: %.S $(FLAGS_STAMP) | $(ENGINE_GEN)/Zycore
	$(call compile,ENGINE,$(ENGINE_CFLAGS))

# Warnings of third-party code are disabled.
$(BUILD)/obj/engine/zydis/%.o: $(ZYDIS_SRC)/src/%.c $(FLAGS_STAMP) | $(ENGINE_GEN)/Zycore
	$(call compile,ZYDIS,$(ENGINE_CODEGEN) $(ENGINE_ISOLATE) $(ENGINE_HIDDEN) -w -include engine/x86/zydis_libc.h \
    $(ENGINE_ZYDIS_FLAGS) -I$(ZYDIS_SRC)/src)

$(ENGINE_GEN)/Zycore: | $(ZYDIS_READY)
	@mkdir -p $(@D)
	@ln -sfn $(ZYCORE_INCLUDE)/Zycore $@

$(ENGINE_TREE):
	@mkdir -p $(@D)
	@ln -sfn $(BSD_INCLUDE)/bsd/sys/$(@F) $@

$(ENGINE): $(ENGINE_OBJS) engine/run/image.ld
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ENGINE_LDFLAGS) -o $@ $(filter %.o,$^)

ALL += $(ENGINE)
CHECKS += check-engine check-native check-exec check-limits

.PHONY: check-engine
check-engine: $(ENGINE)
	@scripts/check-engine $(ENGINE)

# ---- tests/native: the engine as a loader ----

# One source, every shape of an executable: probe-NAME is built with NATIVE_NAME.
NATIVE := $(BUILD)/tests/native
NATIVE_static := -static -no-pie -fno-pie
NATIVE_static-pie := -static-pie -fPIE
NATIVE_pie := -pie -fPIE
NATIVE_nopie := -no-pie -fno-pie
# Segments aligned to 2 MiB
NATIVE_pie-2m := -pie -fPIE -Wl,-z,max-page-size=0x200000
NATIVE_static-2m := -static -no-pie -fno-pie -Wl,-z,max-page-size=0x200000
# Text, headers and data share pages of the file
NATIVE_joint := -no-pie -fno-pie -Wl,-z,noseparate-code
NATIVE_joint-static := -static -no-pie -fno-pie -Wl,-z,noseparate-code
# A segment without file contents
NATIVE_bss-apart := -no-pie -fno-pie -Wl,--section-start=.bss=0x700000
NATIVE_execstack := -pie -fPIE -Wl,-z,execstack
# Far from everything else
NATIVE_high := -static -no-pie -fno-pie -mcmodel=large -Wl,-Ttext-segment=0x10000000
NATIVE_PROBES := static static-pie pie nopie pie-2m static-2m joint joint-static bss-apart \
    execstack high

$(NATIVE)/probe-%: tests/native/probe.c $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g $(WARNINGS) $(WERROR_FLAG) $(NATIVE_$*) -o $@ $<

$(NATIVE)/registers-static: NATIVE_LINK := -static -no-pie
$(NATIVE)/registers-static-pie: NATIVE_LINK := -static-pie
$(NATIVE)/registers-%: tests/native/registers.S $(FLAGS_STAMP)
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib $(NATIVE_LINK) -o $@ $<

$(NATIVE)/start: tests/native/start.c $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_CFLAGS) $(WERROR_FLAG) -o $@ $<

.PHONY: check-native
check-native: $(ENGINE) $(BUILD)/bin/quern $(NATIVE_PROBES:%=$(NATIVE)/probe-%) \
    $(NATIVE)/registers-static $(NATIVE)/registers-static-pie $(NATIVE)/start
	@tests/native/run $(BUILD)

$(NATIVE)/execs: tests/native/execs.c $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $<

# A program whose interpreter does not exist.
$(NATIVE)/no-interp: tests/native/registers.S $(FLAGS_STAMP)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostartfiles -pie -Wl,--dynamic-linker=/no/such/ld.so -o $@ $<

.PHONY: check-exec
check-exec: $(ENGINE) $(BUILD)/bin/quern $(NATIVE)/execs $(NATIVE)/no-interp
	@tests/native/run-exec $(BUILD)

.PHONY: check-limits
check-limits: $(ENGINE) $(BUILD)/bin/quern
	@tests/native/run-limits $(BUILD)

# ---- Unit tests, in the folder of the layer that they test: the engine's objects in a hosted program ----

ENGINE_UNIT_ZYDIS := $(ENGINE_ZYDIS:%=$(BUILD)/obj/engine/zydis/%.o)
ENGINE_UNIT_FLAGS := -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_ENCODER -DZYDIS_STATIC_BUILD \
    -DZYCORE_STATIC_BUILD -isystem $(ZYDIS_SRC)/include
ENGINE_LAYER_UNITS := x86/asm x86/coreop x86/decode x86/forms codecache/links codecache/restore count/rep \
    translate/translate thread/loans
ENGINE_LAYER_UNITS += base/heap base/limits base/nolibc process/elf spool/spooler spool/slotmem x86/branches
ENGINE_UNIT_OBJS_base/heap := base/nolibc base/extable base/pages base/heap base/limits base/clientmem base/clientmem.S
ENGINE_UNIT_OBJS_base/limits := base/limits base/nolibc
ENGINE_UNIT_OBJS_base/nolibc := base/nolibc
ENGINE_UNIT_OBJS_spool/slotmem :=
ENGINE_UNIT_OBJS_process/elf := base/nolibc process/elf
ENGINE_UNIT_OBJS_spool/spooler := $(ENGINE_UNIT_OBJS_base/heap) spool/spooler spool/copy spool/fds spool/log \
    spool/environ spool/config base/cpu
ENGINE_UNIT_OBJS_x86/branches := x86/decode x86/decode_flags x86/isa x86/operands base/cpu base/nolibc
ENGINE_UNIT_OBJS_x86/asm :=
ENGINE_UNIT_OBJS_x86/decode := x86/decode x86/decode_flags x86/isa x86/operands base/cpu base/nolibc
ENGINE_UNIT_OBJS_x86/coreop := x86/coreop $(ENGINE_UNIT_OBJS_x86/decode)
ENGINE_UNIT_OBJS_x86/forms := x86/forms $(ENGINE_UNIT_OBJS_x86/decode)
ENGINE_UNIT_OBJS_codecache/links := codecache/links
ENGINE_UNIT_OBJS_codecache/restore := codecache/restore base/nolibc
ENGINE_UNIT_OBJS_count/rep := count/rep base/nolibc
ENGINE_UNIT_OBJS_translate/translate := \
    $(filter-out translate/superblock translate/pcache%,$(patsubst engine/%.c,%,$(wildcard engine/emit/*.c \
    engine/translate/*.c))) \
    x86/decode x86/decode_flags x86/forms x86/isa x86/operands base/pages codecache/region codecache/stubs \
    codecache/stubs.S count/lineids spool/config base/cpu base/nolibc
ENGINE_LAYER_UNITS += translate/superblock
ENGINE_UNIT_OBJS_translate/superblock := translate/superblock base/nolibc

ENGINE_UNIT_OBJS_thread/loans := base/pages thread/threads base/limits base/nolibc

ENGINE_UNIT_SAFEMEM := base/clientmem base/clientmem.S base/extable

ENGINE_LAYER_UNITS += thread/threads thread/stopworld
ENGINE_UNIT_OBJS_thread/threads := base/pages thread/threads base/limits base/nolibc
ENGINE_UNIT_OBJS_thread/stopworld := base/pages thread/threads base/limits thread/stopworld thread/stress thread/kick base/nolibc

ENGINE_LAYER_UNITS += codecache/tcache count/helpers
ENGINE_UNIT_OBJS_codecache/tcache := codecache/tcache base/pages codecache/region codecache/links \
    codecache/ibl codecache/hotblocks base/nolibc
ENGINE_UNIT_OBJS_count/helpers := count/helpers
ENGINE_LAYER_UNITS += spool/insnids
ENGINE_UNIT_OBJS_spool/insnids := spool/insnids $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_LAYER_UNITS += callgraph/patterns count/cores count/curve count/levels count/llfork
ENGINE_UNIT_OBJS_count/cores := count/cores base/nolibc
ENGINE_UNIT_OBJS_count/curve := count/curve base/nolibc
ENGINE_UNIT_OBJS_count/levels := count/levels count/vectorlevels base/nolibc
$(BUILD)/tests/unit/count/test_curve $(BUILD)/tests/unit/count/test_levels: $(ENGINE_SIM:%.c=$(BUILD)/obj/engine/%.o)
ENGINE_UNIT_OBJS_count/llfork := count/llfork base/nolibc
ENGINE_UNIT_OBJS_callgraph/patterns := callgraph/patterns base/nolibc

ENGINE_LAYER_UNITS += emit/waysearch
ENGINE_UNIT_OBJS_emit/waysearch := emit/waysearch base/nolibc
ENGINE_UNIT_OBJS_translate/translate += codecache/dump x86/coreop

ENGINE_LAYER_UNITS += signal/common signal/mask signal/deliver signal/frame
ENGINE_UNIT_OBJS_signal/common := signal/common base/nolibc
ENGINE_UNIT_OBJS_signal/mask := signal/mask signal/common signal/mask.S base/extable base/nolibc
ENGINE_UNIT_OBJS_signal/deliver := signal/deliver signal/action signal/mask signal/common signal/mask.S \
    base/extable base/nolibc
ENGINE_UNIT_OBJS_signal/frame := signal/frame signal/frame.S $(ENGINE_UNIT_SAFEMEM) \
    base/cpu base/nolibc

ENGINE_LAYER_UNITS += syscalls/syscalls syscalls/memory syscalls/files syscalls/descriptors syscalls/int80
ENGINE_UNIT_OBJS_syscalls/syscalls := syscalls/syscalls $(ENGINE_UNIT_SAFEMEM) base/pages base/heap base/limits base/nolibc
ENGINE_UNIT_OBJS_syscalls/memory := syscalls/memory $(ENGINE_UNIT_SAFEMEM) base/nolibc
ENGINE_UNIT_OBJS_syscalls/files := syscalls/files $(ENGINE_UNIT_SAFEMEM) base/nolibc
ENGINE_UNIT_OBJS_syscalls/descriptors := syscalls/descriptors $(ENGINE_UNIT_SAFEMEM) base/nolibc
ENGINE_UNIT_OBJS_syscalls/int80 := syscalls/int80 syscalls/vsyscall base/nolibc

ENGINE_LAYER_UNITS += run/dispatch run/launch
ENGINE_UNIT_OBJS_run/dispatch := run/dispatch base/nolibc
ENGINE_UNIT_OBJS_run/launch := base/limits base/pages run/launch run/stack base/nolibc

ENGINE_LAYER_UNITS += signal/sigcalls signal/setup process/procnames process/exit syscalls/ptrace
ENGINE_LAYER_UNITS += signal/die process/threadstart process/fork
ENGINE_LAYER_UNITS += signal/handler process/finisher process/exec process/seccomp
ENGINE_UNIT_OBJS_process/seccomp := process/seccomp process/seccomp_bpf base/nolibc
ENGINE_UNIT_OBJS_process/exec := process/exec process/elf base/nolibc
ENGINE_UNIT_OBJS_process/finisher := process/finisher base/nolibc
ENGINE_UNIT_OBJS_signal/handler := signal/handler thread/selector thread/selector.S base/nolibc
ENGINE_UNIT_OBJS_process/fork := process/fork base/nolibc
ENGINE_UNIT_OBJS_syscalls/ptrace := syscalls/ptrace base/nolibc
ENGINE_UNIT_OBJS_signal/die := signal/die base/nolibc
ENGINE_UNIT_OBJS_process/threadstart := process/threadstart
ENGINE_UNIT_OBJS_signal/setup := signal/setup base/nolibc
ENGINE_UNIT_OBJS_process/exit := process/exit
ENGINE_UNIT_OBJS_signal/sigcalls := signal/sigcalls base/nolibc
ENGINE_LAYER_UNITS += codecache/hotblocks thread/sampler thread/kick thread/selector
ENGINE_UNIT_OBJS_thread/selector := thread/selector thread/selector.S
ENGINE_UNIT_OBJS_codecache/hotblocks := codecache/hotblocks
ENGINE_UNIT_OBJS_thread/sampler := thread/sampler
ENGINE_UNIT_OBJS_thread/kick := thread/kick
ENGINE_LAYER_UNITS += process/pretranslate process/bgfinish
ENGINE_UNIT_OBJS_process/pretranslate := process/pretranslate
ENGINE_UNIT_OBJS_process/bgfinish := process/bgfinish replay/replayer.S base/nolibc
ENGINE_UNIT_OBJS_process/procnames := process/procnames base/nolibc

ENGINE_LAYER_UNITS += base/pages
ENGINE_UNIT_OBJS_base/pages := base/pages

ENGINE_LAYER_UNITS += base/cpu codecache/modules codecache/vmmapfile process/tracer signal/action spool/log syscalls/print \
    syscalls/interrupted syscalls/waits
ENGINE_UNIT_OBJS_signal/action := signal/action base/pages base/heap base/limits base/nolibc
ENGINE_UNIT_OBJS_spool/log := spool/log base/nolibc
ENGINE_UNIT_OBJS_codecache/modules := codecache/modules base/nolibc
ENGINE_UNIT_OBJS_codecache/vmmapfile := codecache/vmmapfile base/nolibc
ENGINE_UNIT_OBJS_process/tracer := process/tracer base/nolibc
ENGINE_UNIT_OBJS_syscalls/print := syscalls/print $(ENGINE_UNIT_SAFEMEM) base/nolibc
ENGINE_UNIT_OBJS_syscalls/interrupted := syscalls/interrupted base/nolibc
ENGINE_UNIT_OBJS_syscalls/waits := syscalls/waits base/nolibc
ENGINE_UNIT_OBJS_base/cpu := base/cpu base/nolibc

ENGINE_LAYER_UNITS += replay/autotune replay/replayer replay/salvage replay/sandbox process/rights
ENGINE_UNIT_OBJS_replay/autotune := replay/autotune
ENGINE_UNIT_OBJS_replay/salvage := replay/salvage
ENGINE_UNIT_OBJS_replay/sandbox := replay/sandbox replay/sandbox.S process/seccomp_bpf base/nolibc
ENGINE_UNIT_OBJS_process/rights := process/rights base/nolibc
ENGINE_UNIT_OBJS_replay/replayer := replay/replayer replay/replayer.S replay/sandbox replay/sandbox.S replay/autotune

ENGINE_LAYER_UNITS += codecache/dump codecache/vmmap count/caches callgraph/functions count/ll \
    count/reftrace count/vector emit/tb replay/replay replay/routine run/emulate run/stack syscalls/control \
    syscalls/counting syscalls/requests
ENGINE_UNIT_OBJS_codecache/dump := codecache/dump base/nolibc
ENGINE_UNIT_OBJS_codecache/vmmap := codecache/vmmap codecache/vmmapset base/nolibc
ENGINE_UNIT_OBJS_count/caches := count/caches base/nolibc
$(BUILD)/tests/unit/count/test_caches: $(ENGINE_SIM:%.c=$(BUILD)/obj/engine/%.o)
ENGINE_UNIT_OBJS_count/ll := count/ll count/llfork count/levels count/vectorlevels count/vector.S base/nolibc
$(BUILD)/tests/unit/count/test_ll: $(ENGINE_SIM:%.c=$(BUILD)/obj/engine/%.o)
ENGINE_LAYER_UNITS += count/ahead
ENGINE_UNIT_OBJS_count/ahead := count/ahead count/caches count/lineids count/tage.S $(ENGINE_UNIT_OBJS_count/ll)
$(BUILD)/tests/unit/count/test_ahead: $(ENGINE_SIM:%.c=$(BUILD)/obj/engine/%.o)
ENGINE_UNIT_OBJS_count/vector := count/vector.S
ENGINE_LAYER_UNITS += count/tage
ENGINE_UNIT_OBJS_count/tage := count/tage.S
$(BUILD)/tests/unit/count/test_vector $(BUILD)/tests/unit/count/test_tage: $(ENGINE_SIM:%.c=$(BUILD)/obj/engine/%.o)
ENGINE_UNIT_OBJS_callgraph/functions := callgraph/functions base/nolibc
ENGINE_LAYER_UNITS += callgraph/calls callgraph/contexts callgraph/contexts_again callgraph/edges callgraph/frames callgraph/saved \
    callgraph/stacks count/vtsc spool/config
ENGINE_UNIT_OBJS_callgraph/contexts := callgraph/contexts base/nolibc
ENGINE_UNIT_OBJS_callgraph/contexts_again := callgraph/contexts base/nolibc
ENGINE_UNIT_OBJS_count/vtsc := count/vtsc base/nolibc
ENGINE_UNIT_OBJS_spool/config := spool/config
ENGINE_UNIT_OBJS_callgraph/stacks := callgraph/stacks callgraph/saved callgraph/frames base/nolibc
ENGINE_UNIT_CALLS := callgraph/calls callgraph/contexts callgraph/edges callgraph/frames callgraph/saved callgraph/patterns callgraph/stacks \
    base/nolibc
ENGINE_UNIT_OBJS_callgraph/calls := $(ENGINE_UNIT_CALLS)
ENGINE_UNIT_OBJS_callgraph/frames := $(ENGINE_UNIT_CALLS)
ENGINE_UNIT_OBJS_callgraph/edges := callgraph/edges
ENGINE_UNIT_OBJS_callgraph/saved := callgraph/saved base/nolibc
ENGINE_UNIT_OBJS_count/reftrace := count/reftrace base/nolibc
ENGINE_UNIT_OBJS_emit/tb := emit/tb emit/state emit/helpercall base/nolibc
ENGINE_UNIT_OBJS_replay/replay := replay/replay replay/interpret base/pages replay/arena base/nolibc
ENGINE_UNIT_OBJS_replay/routine := replay/routine replay/routinecalls base/pages replay/arena base/nolibc
ENGINE_UNIT_OBJS_run/emulate := run/emulate x86/decode x86/decode_flags x86/isa x86/operands \
    base/cpu base/nolibc
ENGINE_UNIT_OBJS_run/stack := run/stack base/nolibc
ENGINE_UNIT_OBJS_syscalls/control := syscalls/control base/nolibc
ENGINE_UNIT_OBJS_syscalls/counting := syscalls/counting base/nolibc
ENGINE_UNIT_OBJS_syscalls/requests := syscalls/requests base/nolibc

ENGINE_LAYER_UNITS += codecache/pack count/lineids replay/arena run/identity translate/pcache translate/pcachefile \
    translate/blockrecord translate/branch
ENGINE_UNIT_OBJS_codecache/pack := codecache/pack base/pages codecache/region base/nolibc
ENGINE_UNIT_OBJS_count/lineids := count/lineids
ENGINE_UNIT_OBJS_replay/arena := base/pages replay/arena base/nolibc
ENGINE_UNIT_OBJS_run/identity := run/identity translate/pcachefile base/nolibc
ENGINE_UNIT_OBJS_translate/pcache := translate/pcache translate/pcacheedges translate/pcachefile callgraph/edges \
    codecache/ibl codecache/links codecache/pack base/pages codecache/region codecache/tcache codecache/hotblocks \
    count/lineids replay/arena base/nolibc
ENGINE_UNIT_OBJS_translate/pcachefile := translate/pcachefile base/nolibc
ENGINE_UNIT_OBJS_translate/blockrecord := translate/blockrecord base/nolibc
ENGINE_UNIT_OBJS_translate/branch := translate/branch

ENGINE_LAYER_UNITS += spool/fds spool/environ spool/copy spool/areas
ENGINE_UNIT_OBJS_spool/fds := spool/fds base/nolibc
ENGINE_UNIT_OBJS_spool/environ := spool/environ $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_spool/copy := $(ENGINE_UNIT_OBJS_spool/spooler)
ENGINE_UNIT_OBJS_spool/areas := $(ENGINE_UNIT_OBJS_spool/spooler)
ENGINE_LAYER_UNITS += translate/calls translate/execute translate/pointers codecache/gate
ENGINE_UNIT_OBJS_translate/pointers := translate/pointers x86/decode x86/decode_flags x86/isa x86/operands \
    base/cpu base/nolibc
ENGINE_UNIT_OBJS_translate/calls := $(ENGINE_UNIT_OBJS_translate/translate)
ENGINE_UNIT_OBJS_translate/execute := $(ENGINE_UNIT_OBJS_translate/translate)
ENGINE_UNIT_OBJS_codecache/gate := codecache/gate base/nolibc

ENGINE_LAYER_UNITS += objects/ranges objects/objtable objects/walks objects/pages objects/pools objects/statics objects/alloc \
    objects/lifetimes objects/lineuse objects/many objects/sharing
ENGINE_UNIT_OBJS_objects/lineuse := objects/lineuse $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/sharing := objects/sharing replay/routineseen.S $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/lifetimes := objects/lifetimes objects/ranges objects/granules objects/pages $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/many := objects/many objects/objtable objects/walks spool/insnids objects/cells objects/pages \
    objects/granules $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/pools := objects/pools objects/ranges objects/granules objects/pages $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/pages := objects/pages $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/ranges := objects/ranges objects/granules objects/pages $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/objtable := objects/objtable objects/walks spool/insnids objects/cells $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/walks := objects/walks spool/insnids $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/statics := objects/statics $(ENGINE_UNIT_OBJS_base/heap)
ENGINE_UNIT_OBJS_objects/alloc := objects/alloc objects/mappings objects/objects objects/ranges objects/granules objects/pages \
    base/nolibc base/pages base/heap base/limits

ENGINE_LAYER_TESTS := $(foreach u,$(ENGINE_LAYER_UNITS),\
    $(BUILD)/tests/unit/$(dir $(u))test_$(notdir $(u)))

# Inline functions of headers ask it where a slot's memory is.
ENGINE_UNIT_ALWAYS := spool/slotmem

define engine_layer_unit
CFLAGS_tests/unit/$(dir $(1))test_$(notdir $(1)).c := $(ENGINE_UNIT_FLAGS)
$(BUILD)/obj/host/tests/unit/$(dir $(1))test_$(notdir $(1)).o: | $(ZYDIS_READY)
$(BUILD)/tests/unit/$(dir $(1))test_$(notdir $(1)): \
    $(BUILD)/obj/host/tests/unit/$(dir $(1))test_$(notdir $(1)).o \
    $(patsubst %,$(BUILD)/obj/engine/engine/%.o,$(ENGINE_UNIT_OBJS_$(1)) $(ENGINE_UNIT_ALWAYS)) \
    $(ENGINE_UNIT_ZYDIS)
	$$(call link,-no-pie -lcmocka)
endef
$(foreach unit,$(ENGINE_LAYER_UNITS),$(eval $(call engine_layer_unit,$(unit))))

# Files without dependencies are built with AddressSanitizer and UBSan.
ENGINE_ASAN_UNITS := codecache/vmmapset process/seccomp_bpf
ENGINE_LAYER_TESTS += $(foreach u,$(ENGINE_ASAN_UNITS),\
    $(BUILD)/tests/unit/$(dir $(u))test_$(notdir $(u)))

define engine_asan_unit
$(BUILD)/tests/unit/$(dir $(1))test_$(notdir $(1)): \
    $(BUILD)/obj/asan/tests/unit/$(dir $(1))test_$(notdir $(1)).o $(call asan_objs,engine/$(1).c)
	$$(call link_asan,-lcmocka)
endef
$(foreach unit,$(ENGINE_ASAN_UNITS),$(eval $(call engine_asan_unit,$(unit))))

CHECKS += check-engine-unit
.PHONY: check-engine-unit
check-engine-unit: $(ENGINE_LAYER_TESTS)
	@for test in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$test || exit 1; done
