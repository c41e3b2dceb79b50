# SPDX-License-Identifier: MIT
#
# The program quern, in two parts, of cli/ and finish/; the links to it by the traditional names.
# mk/cli-profile.mk, read before this fragment, says which libraries the profile commands need.

# machine/, for run, stat and doctor.
CLI_MACHINE := $(sort $(wildcard machine/*.c))
CLI_SRCS := $(sort $(filter-out cli/front/%,$(wildcard cli/*.c cli/*/*.c finish/*/*.c)))

# Zydis with its formatter, for --dump-code. Warnings of third-party code are disabled.
CLI_ZYDIS := Decoder DecoderData Formatter FormatterATT FormatterBase FormatterBuffer \
             FormatterIntel MetaInfo Mnemonic Register Segment SharedData String Utils Zydis
CLI_ZYDIS := $(CLI_ZYDIS:%=$(BUILD)/obj/cli/zydis/%.o)
CLI_ZYDIS_FLAGS := -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -DZYDIS_DISABLE_ENCODER \
                   -isystem $(ZYDIS_SRC)/include
CFLAGS_finish/output/output_code.c := $(CLI_ZYDIS_FLAGS)
CFLAGS_cli/trace/trace_champsim.c := $(CLI_ZYDIS_FLAGS)
$(foreach o,finish/output/output_code cli/trace/trace_champsim,$(BUILD)/obj/host/$(o).o $(BUILD)/obj/asan/$(o).o): \
    | $(ZYDIS_READY)

$(BUILD)/obj/cli/zydis/%.o: $(ZYDIS_SRC)/src/%.c $(FLAGS_STAMP) | $(ZYDIS_READY)
	$(call compile,ZYDIS,-O2 -fPIC -fvisibility=hidden -w $(CLI_ZYDIS_FLAGS) -I$(ZYDIS_SRC)/src)

QUERN := $(BUILD)/bin/quern
WHOLE := $(BUILD)/libexec/quern/quern-whole
CLI_LINKS := cg_annotate callgrind_annotate callgrind_control cg_merge cg_diff quern-valgrind

ALL += $(QUERN) $(WHOLE) $(CLI_LINKS:%=$(BUILD)/bin/%)

# Shells look for completions by the name of the program; zsh finds all names in one file.
CLI_BASH := $(BUILD)/share/bash-completion/completions
CLI_FISH := $(BUILD)/share/fish/vendor_completions.d
CLI_ZSH := $(BUILD)/share/zsh/site-functions
CLI_COMPLETE := $(CLI_BASH)/quern $(CLI_ZSH)/_quern $(CLI_FISH)/quern.fish
CLI_COMPLETE_LINKS := $(CLI_LINKS:%=$(CLI_BASH)/%) $(CLI_LINKS:%=$(CLI_FISH)/%.fish)

ALL += $(CLI_COMPLETE) $(CLI_COMPLETE_LINKS)

$(WHOLE): $(call host_objs,$(CLI_SRCS) $(CLI_MACHINE) sim/cache.c) $(CLI_ZYDIS) \
          $(BUILD)/lib/libquern-report.a $(BUILD)/lib/libquern.a \
          $(BUILD)/lib/libquern-symbols.a
	$(call link,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

# The quick finisher (finish/quick.c says what it is linked without). Where there is no static C
# library it is linked dynamically, and starts more slowly.
QUICK := $(BUILD)/libexec/quern/quern-finish
QUICK_SRCS := finish/quick.c \
    $(addprefix finish/spool/,finish_event.c spool_counters.c spool_curve.c spool_estimate.c spool_file.c spool_path.c spool_read.c spool_walk.c) \
    $(addprefix finish/,places/places.c sums/siblings.c sums/sums.c output/output_counts.c output/output_lines.c \
                        output/output_names.c profile/profile.c profile/children.c profile/fallback.c \
                        end/advice.c end/finish.c end/pipe_wait.c end/recorded.c end/summary.c end/summary_json.c) \
    $(addprefix cli/base/,heap.c json.c text.c util.c) \
    $(addprefix cli/files/,digest.c file.c name.c origin.c) \
    profile/write/out.c sim/cache.c \
    $(addprefix symbols/,cache.c cachedir.c cachefile.c identity.c jitdump.c memory.c perfmap.c \
                         strings.c symbols.c)
ALL += $(QUICK)

# The program that starts a run, in the same way.
FRONT_SRCS := cli/front/front.c $(sort $(wildcard cli/run/*.c)) \
    cli/complete.c cli/base/nearest.c cli/base/text.c cli/base/util.c cli/files/name.c cli/options/options.c \
    symbols/cachedir.c sim/cache.c $(CLI_MACHINE)

# The target quern builds all of it: otherwise a run would use an old engine or finisher.
$(QUERN): | $(QUICK) $(WHOLE)

$(QUICK): $(call host_objs,$(QUICK_SRCS))
$(QUERN): $(call host_objs,$(FRONT_SRCS))
$(QUERN) $(QUICK):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOST_LDFLAGS) $(LDFLAGS) -static -o $@ $^ 2>/dev/null || \
	    $(CC) $(HOST_LDFLAGS) $(LDFLAGS) -o $@ $^

$(CLI_LINKS:%=$(BUILD)/bin/%): $(QUERN)
	$(Q)ln -sfn quern $@

# $(QUERN) executes $(WHOLE), which prints them.
$(CLI_COMPLETE): $(BUILD)/share/%: $(QUERN) $(WHOLE)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(QUERN) --completion $(patsubst %-completion,%,$(firstword $(subst /, ,$*))) >$@

$(CLI_COMPLETE_LINKS): $(CLI_COMPLETE)
	$(Q)ln -sfn quern$(suffix $@) $@

# ---- Tests: those of run, the finisher and recover ----

# The fake engine.
$(BUILD)/tests/cli_engine: $(BUILD)/obj/host/tests/cli/engine.o
	$(call link)

# Each unit test, and the objects of the two folders that it may use.
CLI_TESTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/cli/*/*.c tests/unit/finish/*.c)))
CLI_TESTED := $(addprefix cli/,base/funcname.c base/nearest.c base/text.c base/util.c files/digest.c files/name.c \
                options/options.c) \
              finish/end/summary.c finish/spool/finish_event.c finish/spool/spool_pointers.c sim/cache.c symbols/cachedir.c \
              $(CLI_MACHINE)

$(CLI_TESTS): $(BUILD)/%: $(BUILD)/obj/asan/%.o $(call asan_objs,$(CLI_TESTED))
	$(call link_asan,-lcmocka -lm $(PROFILE_LIBS))
# Without trust.c and libquern: the test has its own.
$(BUILD)/tests/unit/cli/files/test_source: $(call asan_objs,cli/files/source.c cli/files/sourcetree.c cli/files/align.c)
$(BUILD)/tests/unit/finish/test_call_estimate: $(call asan_objs,finish/sums/call_estimate.c)
$(BUILD)/tests/unit/finish/test_call_graph: $(call asan_objs,finish/sums/call_estimate.c finish/sums/call_graph.c) \
    $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/finish/test_children: $(call asan_objs,$(addprefix finish/profile/,children.c children_merge.c fallback.c)) \
    $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/finish/test_output_data: $(call asan_objs,$(addprefix finish/,output/output_data.c \
    output/output_fields.c output/output_sharing.c output/output_walks.c spool/spool_data.c spool/spool_read.c \
    sums/call_estimate.c sums/call_graph.c)) $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/finish/test_output_lines: $(call asan_objs,cli/files/file.c $(addprefix finish/,output/output_calls.c \
    output/output_counts.c output/output_lines.c output/output_parts.c spool/spool_curve.c sums/call_estimate.c \
    sums/call_graph.c sums/sums.c)) $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/finish/test_places: $(call asan_objs,finish/places/places.c $(addprefix finish/spool/,spool_contexts.c \
    spool_counters.c spool_frames.c spool_read.c spool_walk.c))
$(BUILD)/tests/unit/finish/test_siblings: $(call asan_objs,$(addprefix finish/,output/output_lines.c \
    spool/spool_read.c spool/spool_walk.c sums/siblings.c sums/sums.c)) $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/finish/test_spool_estimate: $(call asan_objs,$(addprefix finish/spool/,spool_estimate.c spool_read.c spool_walk.c))
$(BUILD)/tests/unit/finish/test_spool_counters $(BUILD)/tests/unit/finish/test_spool_walk: $(call asan_objs,$(addprefix finish/spool/,spool_contexts.c spool_counters.c spool_frames.c \
    spool_read.c spool_walk.c))
$(BUILD)/tests/unit/cli/top/test_top_text: $(call asan_objs,cli/profiles/event.c cli/top/top_text.c) \
    $(BUILD)/lib/libquern-report-asan.a $(BUILD)/lib/libquern-asan.a
$(BUILD)/tests/unit/cli/control/test_control_show: $(call asan_objs,cli/control/control_show.c $(addprefix finish/spool/,spool_contexts.c \
    spool_counters.c spool_file.c spool_frames.c spool_read.c spool_walk.c))
$(BUILD)/tests/unit/cli/profiles/test_data_lines: $(call asan_objs,$(addprefix cli/profiles/,event.c fields.c lifetimes.c lineuse.c walks.c)) \
    $(BUILD)/lib/libquern-report-asan.a $(BUILD)/lib/libquern-asan.a
# Without run_machine.c: processors are data there.
$(filter $(BUILD)/tests/unit/cli/run/%,$(CLI_TESTS)): $(call asan_objs,$(addprefix cli/run/,run_cache.c run_cpu.c))
$(BUILD)/tests/unit/cli/run/test_run_options: $(call asan_objs,$(addprefix cli/run/,run_levels.c run_options.c))

$(BUILD)/tests/unit/cli/run/test_run_levels: $(call asan_objs,cli/run/run_levels.c) | \
    $(BUILD)/tests/unit/cli/share
# Where a program in the folder beside looks for the shipped machines.
$(BUILD)/tests/unit/cli/share: | $(BUILD)/bin/quern
	@mkdir -p $(@D)
	$(Q)ln -sfn ../../../share $@

# The whole program with AddressSanitizer, for damaged spools.
$(BUILD)/tests/quern-asan: $(call asan_objs,$(CLI_SRCS) $(CLI_MACHINE) sim/cache.c $(wildcard symbols/*.c)) \
                           $(CLI_ZYDIS) $(BUILD)/lib/libquern-report-asan.a \
                           $(BUILD)/lib/libquern-asan.a
	$(call link_asan,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

# What reads tables that a damaged number makes as long as there is room for (133-damaged.bats).
$(call asan_objs,$(addprefix finish/,places/places.c spool/spool_contexts.c sums/call_graph.c) \
    $(addprefix profile/,model/build.c model/model.c model/stream.c model/walk.c sum/append.c sum/merger_add.c \
                         sum/merger_maps.c)): ASAN_CFLAGS += $(ASAN_OFTEN)

# Three parts: in one, and on a busy machine in two, they took more than the time of a check.
CHECKS += check-cli check-cli-engine check-cli-counts
.PHONY: check-cli check-cli-engine check-cli-counts
check-cli check-cli-engine check-cli-counts: $(QUERN) $(BUILD)/tests/cli_engine $(BUILD)/tests/quern-asan \
                            $(CLI_COMPLETE)
check-cli: $(CLI_TESTS)
	@status=0; for t in $(CLI_TESTS); do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; \
	    BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/0*.bats tests/cli/1[0-4]*.bats || status=1; \
	    exit $$status
check-cli-engine:
	@BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/1[5-9]*.bats
check-cli-counts:
	@BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/5*.bats
