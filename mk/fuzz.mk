# SPDX-License-Identifier: MIT
#
# `make fuzz`: the harnesses of fuzz/, each for FUZZ_TIME seconds. Needs clang, whatever CC is.

FUZZ_CC ?= clang
FUZZ_TIME ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
              -fno-omit-frame-pointer $(HOST_BASE)
FUZZ_PROGRAMS := $(BUILD)/fuzz/profile $(BUILD)/fuzz/profile_rewrite

$(FUZZ_PROGRAMS): $(BUILD)/fuzz/%: fuzz/%.c \
    $(wildcard profile/*/*.c profile/*/*.h profile/*/*.def share/table.h include/quern/*.h) \
    tests/unit/profile/same.h
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $< $(wildcard profile/*/*.c) $(PROFILE_LIBS)

$(BUILD)/fuzz/symbol_cache: fuzz/symbol_cache.c symbols/cachefile.c symbols/cachefile.h
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ fuzz/symbol_cache.c symbols/cachefile.c

FUZZ_JITDUMP := $(addprefix symbols/,jitdump.c jitdump.h perfmap.c perfmap.h memory.c memory.h)
$(BUILD)/fuzz/jitdump: fuzz/jitdump.c $(FUZZ_JITDUMP)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ fuzz/jitdump.c $(filter %.c,$(FUZZ_JITDUMP))

FUZZ_DWP := $(addprefix symbols/,dwp.c fields.c inlines.c memory.c section.c)
$(BUILD)/fuzz/dwp: fuzz/dwp.c $(FUZZ_DWP) $(addprefix symbols/,bytes.h dwp.h fields.h inlines.h section.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ fuzz/dwp.c $(FUZZ_DWP) $(SYMBOLS_LIBS)

# Packages of both versions; a version without a packer is left out.
FUZZ_DWPS := $(BUILD)/fuzz/seeds-dwp
$(FUZZ_DWPS)/made: fuzz/dwp_seed.c tests/cli/pack-dwo
	@rm -rf $(@D) && mkdir -p $(@D)
	@cp $< $(@D) && cd $(@D) && for how in 'gcc 4' 'gcc 5' 'clang 4' 'clang 5'; do \
	    set -- $$how; \
	    $$1 -O2 -c -gdwarf-$$2 -gsplit-dwarf -o seed.o dwp_seed.c && case $$1-$$2 in \
	    gcc-4) dwp -o $$1-$$2 seed.dwo ;; \
	    clang-*) timeout 20 llvm-dwp -o $$1-$$2 seed.dwo ;; \
	    *) $(abspath tests/cli/pack-dwo) $$1-$$2 seed.dwo ;; \
	    esac || rm -f $$1-$$2; \
	done; rm -f seed.* dwp_seed.c
	@touch $@

FUZZ_TRACE := cli/trace/trace_read.c cli/trace/trace_read.h share/reftrace.h sim/cache.c
$(BUILD)/fuzz/trace: fuzz/trace.c $(FUZZ_TRACE)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ fuzz/trace.c $(filter %.c,$(FUZZ_TRACE))

FUZZ_DATA := $(addprefix cli/profiles/,objects.c advice.c fields.c lifetimes.c lineuse.c sharing.c walks.c event.c \
               read.c remark.c) \
             $(addprefix cli/,base/util.c base/text.c base/nearest.c base/heap.c options/options.c \
               terminal/colour.c terminal/progress.c files/trust.c files/origin.c files/digest.c) \
             symbols/cachedir.c report/pack/known.c $(wildcard profile/*/*.c)
$(BUILD)/fuzz/data: fuzz/data.c $(FUZZ_DATA) $(wildcard cli/profiles/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -DQUERN_VERSION=\"$(VERSION)\" -o $@ $(filter %.c,$^) \
	    $(PROFILE_LIBS) -lxxhash

# The seed of the tree, and the profile of tests/report.
FUZZ_DATAS := $(BUILD)/fuzz/seeds-data
$(FUZZ_DATAS)/data.out.7: fuzz/data_seed.out tests/report/profiles.py
	@mkdir -p $(@D) && cp $< $(@D)
	@python3 -c 'import sys; sys.path.insert(0, "tests/report"); import profiles; profiles.data_profiles("$(@D)")'

FUZZ_MACHINE := $(wildcard machine/*.c machine/*.h machine/*.def) sim/cache.c
$(BUILD)/fuzz/machine: fuzz/machine.c $(FUZZ_MACHINE)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ fuzz/machine.c $(filter %.c,$(FUZZ_MACHINE))

# Displacements in code are not aligned.
FUZZ_FRAGMENTS := engine/base/pages.c $(addprefix engine/codecache/,pack.c tcache.c region.c links.c ibl.c \
                      hotblocks.c)
$(BUILD)/fuzz/fragments: fuzz/fragments.c $(FUZZ_FRAGMENTS) $(wildcard engine/codecache/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -fno-sanitize=alignment -o $@ fuzz/fragments.c $(FUZZ_FRAGMENTS)

# Spools: the whole finisher without the disassembler.
FUZZ_SPOOL := $(filter-out finish/output/output_code.c finish/profile/fallback.c $(addprefix finish/end/,advice.c finish.c pipe_wait.c \
                  recorded.c) finish/recover/recover.c,$(wildcard finish/*/*.c)) \
              $(addprefix cli/,base/json.c base/text.c base/util.c files/file.c files/name.c \
                terminal/colour.c terminal/progress.c) \
              $(wildcard symbols/*.c profile/*/*.c)
$(BUILD)/fuzz/spool: fuzz/spool.c $(FUZZ_SPOOL) fuzz/spool_form.h $(wildcard finish/*/*.h) \
    share/spool.h
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) $(SYMBOLS_LIBS) \
	    $(PROFILE_LIBS)

$(BUILD)/fuzz/spool_seed: fuzz/spool_seed.c fuzz/spool_form.h share/spool.h
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(HOST_BASE) -O1 -o $@ $<

# Small seeds made of real spools: runs whose profile cannot be written.
FUZZ_SPOOLS := $(BUILD)/fuzz/seeds-spool
$(FUZZ_SPOOLS)/made: $(BUILD)/fuzz/spool_seed | $(QUERN)
	@rm -rf $(@D) && mkdir -p $(@D)/spools
	@n=0; for how in --cache-sim=no --branch-sim=yes --calls=yes '--calls=yes --separate-callers=2' \
	    '--calls=yes --separate-threads=yes --collect-jumps=yes --collect-systime=yes' \
	    '--calls=yes --cache-sim=no --dump-instr=yes --inline=yes --toggle-collect=main'; do \
	    n=$$((n + 1)); $(QUERN) run -q $$how --dump-counts=$(@D)/none/c -o $(@D)/none/out \
	        --spool-dir=$(@D)/spools /bin/true 2>/dev/null; \
	    $< $(@D)/spools/quern.spool.* >$(@D)/$$n && rm -f $(@D)/spools/*; \
	done
	@rmdir $(@D)/spools && touch $@

.PHONY: fuzz
fuzz: $(FUZZ_PROGRAMS) $(addprefix $(BUILD)/fuzz/,symbol_cache jitdump dwp trace data machine fragments spool) \
    $(FUZZ_DATAS)/data.out.7 $(FUZZ_SPOOLS)/made $(FUZZ_DWPS)/made
	@mkdir -p $(BUILD)/fuzz/corpus-profile $(BUILD)/fuzz/corpus-profile_rewrite
	cd $(BUILD)/fuzz && ./profile -max_total_time=$(FUZZ_TIME) -timeout=20 -rss_limit_mb=4000 \
	    -max_len=8192 \
	    -print_final_stats=1 corpus-profile $(abspath tests/golden)
	cd $(BUILD)/fuzz && ./profile_rewrite -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=256 \
	    corpus-profile_rewrite
	@mkdir -p $(BUILD)/fuzz/corpus-symbol_cache
	cd $(BUILD)/fuzz && ./symbol_cache -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=4096 \
	    corpus-symbol_cache
	@mkdir -p $(BUILD)/fuzz/corpus-jitdump
	cd $(BUILD)/fuzz && ./jitdump -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=4096 \
	    corpus-jitdump
	@mkdir -p $(BUILD)/fuzz/corpus-dwp
	cd $(BUILD)/fuzz && ./dwp -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=8192 corpus-dwp \
	    $(abspath $(FUZZ_DWPS))
	@mkdir -p $(BUILD)/fuzz/corpus-data
	cd $(BUILD)/fuzz && ./data -max_total_time=$(FUZZ_TIME) -timeout=20 -rss_limit_mb=4000 -max_len=8192 corpus-data \
	    $(abspath $(FUZZ_DATAS))
	@mkdir -p $(BUILD)/fuzz/corpus-trace
	cd $(BUILD)/fuzz && ./trace -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=4096 corpus-trace
	@mkdir -p $(BUILD)/fuzz/corpus-machine
	cd $(BUILD)/fuzz && ./machine -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=4096 corpus-machine \
	    $(abspath share/machines)
	@mkdir -p $(BUILD)/fuzz/corpus-fragments
	cd $(BUILD)/fuzz && ./fragments -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=4096 corpus-fragments
	@mkdir -p $(BUILD)/fuzz/corpus-spool
	cd $(BUILD)/fuzz && ./spool -max_total_time=$(FUZZ_TIME) -timeout=20 -rss_limit_mb=4000 \
	    -max_len=16384 $(abspath $(BUILD)/fuzz)/corpus-spool $(abspath $(FUZZ_SPOOLS))

# `make fuzz-recover`: the command on damaged spools, for FUZZ_TIME seconds; SEED=17 is that one.
.PHONY: fuzz-recover
fuzz-recover: $(QUERN_PROGRAMS) $(BUILD)/libexec/quern/quern-engine $(BUILD)/tests/quern-asan
	@fuzz/recover-run -t $(FUZZ_TIME) $(if $(SEED),-s $(SEED)) $(QUERN) $(BUILD)/tests/quern-asan

# ---- Random instructions: the engine against the processor ----
# `make fuzz-insn` goes on for FUZZ_TIME seconds from a new seed; FUZZ_SEEDS='17 18' are these.
# check-insn has fixed seeds: 24 take 30 s on two processors.
FUZZ_INSN := $(BUILD)/fuzz/insn
FUZZ_GUESTS := $(addprefix $(FUZZ_INSN)/,guest.o guest-avx2.o guest-baseless.o guest-avx2-baseless.o)
FUZZ_INSN_PARTS := $(addprefix $(FUZZ_INSN)/,insn_gen insn_cmp) $(FUZZ_GUESTS)
FUZZ_ZYDIS := Decoder DecoderData MetaInfo Mnemonic Register Segment SharedData Utils Zydis
FUZZ_ZYDIS_FLAGS := -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -isystem $(ZYDIS_SRC)/include
CFLAGS_fuzz/insn_gen.c := $(FUZZ_ZYDIS_FLAGS)
CFLAGS_fuzz/insn_forms.c := $(FUZZ_ZYDIS_FLAGS)
FUZZ_RANDOM := $(BUILD)/obj/host/fuzz/random.o

$(BUILD)/obj/host/fuzz/insn_gen.o $(BUILD)/obj/host/fuzz/insn_forms.o: | $(ZYDIS_READY)
$(BUILD)/obj/fuzz/zydis/%.o: $(ZYDIS_SRC)/src/%.c $(FLAGS_STAMP) | $(ZYDIS_READY)
	$(call compile,ZYDIS,-O2 -w $(FUZZ_ZYDIS_FLAGS) -I$(ZYDIS_SRC)/src)
$(FUZZ_INSN)/insn_gen: $(patsubst %,$(BUILD)/obj/host/fuzz/insn_%.o,gen code forms) \
    $(FUZZ_RANDOM) $(FUZZ_ZYDIS:%=$(BUILD)/obj/fuzz/zydis/%.o)
	$(call link,)
$(FUZZ_INSN)/insn_cmp: $(BUILD)/obj/host/fuzz/insn_cmp.o
	$(call link,)
$(FUZZ_GUESTS): fuzz/insn_guest.S
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)gcc -c -g $(if $(findstring avx2,$@),-DNO_AVX512) \
	    $(if $(findstring baseless,$@),-DNO_BASES) -o $@ $<

# What the decoder says of every form of every instruction, tested in a process of its own.
FUZZ_CLAIMS := $(FUZZ_INSN)/insn_claims
CFLAGS_fuzz/insn_claims.c := $(FUZZ_ZYDIS_FLAGS)
$(BUILD)/obj/host/fuzz/insn_claims.o: | $(ZYDIS_READY)
$(FUZZ_CLAIMS): $(BUILD)/obj/host/fuzz/insn_claims.o $(FUZZ_RANDOM) \
    $(patsubst %,$(BUILD)/obj/engine/engine/%.o,x86/decode x86/decode_flags x86/isa x86/operands \
    base/cpu base/nolibc) \
    $(FUZZ_ZYDIS:%=$(BUILD)/obj/fuzz/zydis/%.o)
	$(call link,)

.PHONY: fuzz-insn check-insn check-claims
fuzz-insn: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine $(FUZZ_INSN_PARTS) $(FUZZ_CLAIMS)
	@$(FUZZ_CLAIMS) -n 100 -s $$(date +%s)
	@fuzz/insn-run -t $(FUZZ_TIME) $(BUILD)/bin/quern $(FUZZ_INSN) $(FUZZ_SEEDS)
check-insn: $(BUILD)/bin/quern $(FUZZ_INSN_PARTS)
	@fuzz/insn-run $(BUILD)/bin/quern $(FUZZ_INSN) $(shell seq 24)
CHECKS += check-insn
check-claims: $(FUZZ_CLAIMS)
	@$(FUZZ_CLAIMS) -n 4
CHECKS += check-claims

# ---- Random programs at random cache geometries: the counts against a plain model ----
FUZZ_SIM := $(BUILD)/fuzz/sim
$(FUZZ_SIM)/sim_gen: $(BUILD)/obj/host/fuzz/sim_gen.o $(FUZZ_RANDOM)
	$(call link,)

.PHONY: fuzz-sim check-fuzz-sim
fuzz-sim: $(BUILD)/bin/quern $(FUZZ_SIM)/sim_gen
	@fuzz/sim-run -t $(FUZZ_TIME) $(BUILD)/bin/quern $(FUZZ_SIM) $(FUZZ_SEEDS)
	@fuzz/sim-run -v -t $(FUZZ_TIME) -m 1 $(BUILD)/bin/quern $(FUZZ_SIM) $(FUZZ_SEEDS)
check-fuzz-sim: $(BUILD)/bin/quern $(FUZZ_SIM)/sim_gen
	@fuzz/sim-run $(BUILD)/bin/quern $(FUZZ_SIM) 1 2 3 4 5 6
	@fuzz/sim-run -v -g 2 -m 1 $(BUILD)/bin/quern $(FUZZ_SIM) 7 8
CHECKS += check-fuzz-sim
