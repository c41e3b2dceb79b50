# SPDX-License-Identifier: MIT
#
# The program quern: the files of cli/ that run, finish and recover (here) and those that other
# fragments append to CLI_SRCS and CLI_LIBS (cli-profile.mk is read before this one). Commands whose
# file is not in the tree are left out, so that it links without them.

CLI_SRCS += $(sort cli/main.c cli/util.c cli/recover.c $(wildcard cli/run*.c) $(wildcard cli/finish*.c))
CLI_PROFILE_SRCS := $(sort $(foreach c,annotate merge diff convert check,$(wildcard cli/$(c)*.c)) \
                      $(wildcard cli/profcmd*.c))
CLI_ALL := $(sort $(CLI_SRCS) $(CLI_PROFILE_SRCS))
CLI_HAVE := $(foreach c,annotate merge diff convert check,$(if $(wildcard cli/$(c).c),$(c)))
CLI_DEFINES := $(foreach c,$(CLI_HAVE),-DQUERN_HAVE_$(shell echo $(c) | tr a-z A-Z))

CFLAGS_cli/main.c := $(CLI_DEFINES) -DQUERN_VERSION='"$(VERSION)"'
CFLAGS_cli/run.c := -DQUERN_VERSION='"$(VERSION)"'
FLAGS_WATCH += $(CLI_DEFINES) $(VERSION)

QUERN := $(BUILD)/bin/quern
CLI_LINKS := $(if $(filter annotate,$(CLI_HAVE)),cg_annotate callgrind_annotate) \
             $(if $(filter merge,$(CLI_HAVE)),cg_merge) $(if $(filter diff,$(CLI_HAVE)),cg_diff)

ALL += $(QUERN) $(CLI_LINKS:%=$(BUILD)/bin/%)

$(QUERN): $(call host_objs,$(CLI_ALL) sim/cache.c) $(BUILD)/lib/libquern.a \
          $(BUILD)/lib/libquern-symbols.a
	$(call link,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

$(CLI_LINKS:%=$(BUILD)/bin/%): $(QUERN)
	$(Q)ln -sfn quern $@

# ---- Tests: those of run, the finisher and recover ----

# The stand-in for the engine.
$(BUILD)/tests/cli_engine: $(BUILD)/obj/host/tests/unit/test_cli_spool.o
	$(call link)

$(BUILD)/tests/test_cli: $(call asan_objs,tests/unit/test_cli.c cli/util.c cli/run_name.c cli/run_cache.c \
                          cli/finish_summary.c sim/cache.c)
	$(call link_asan,-lcmocka)

# The whole program with AddressSanitizer, for damaged spools.
$(BUILD)/tests/quern-asan: $(call asan_objs,$(CLI_ALL) sim/cache.c $(wildcard profile/*.c symbols/*.c))
	$(call link_asan,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

CHECKS += check-cli
.PHONY: check-cli
check-cli: $(QUERN) $(BUILD)/tests/cli_engine $(BUILD)/tests/test_cli $(BUILD)/tests/quern-asan
	@status=0; CMOCKA_MESSAGE_OUTPUT=TAP $(BUILD)/tests/test_cli || status=1; \
	    BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/0*.bats tests/cli/1*.bats || status=1; \
	    exit $$status
