# SPDX-License-Identifier: MIT
#
# The program quern, and the links to it by the traditional names. mk/cli-profile.mk, read before this
# fragment, says which libraries the profile commands need.

CLI_SRCS := $(sort $(wildcard cli/*.c cli/*/*.c))

QUERN := $(BUILD)/bin/quern
CLI_LINKS := cg_annotate callgrind_annotate cg_merge cg_diff

ALL += $(QUERN) $(CLI_LINKS:%=$(BUILD)/bin/%)

$(QUERN): $(call host_objs,$(CLI_SRCS) sim/cache.c) $(BUILD)/lib/libquern.a \
          $(BUILD)/lib/libquern-symbols.a
	$(call link,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

$(CLI_LINKS:%=$(BUILD)/bin/%): $(QUERN)
	$(Q)ln -sfn quern $@

# ---- Tests: those of run, the finisher and recover ----

# The stand-in for the engine.
$(BUILD)/tests/cli_engine: $(BUILD)/obj/host/tests/cli/engine.o
	$(call link)

$(BUILD)/tests/test_cli: $(call asan_objs,tests/unit/cli/test_cli.c cli/shared/util.c cli/shared/name.c cli/run/run_cache.c \
                          cli/finish/finish_summary.c sim/cache.c)
	$(call link_asan,-lcmocka)

# The whole program with AddressSanitizer, for damaged spools.
$(BUILD)/tests/quern-asan: $(call asan_objs,$(CLI_SRCS) sim/cache.c $(wildcard profile/*.c symbols/*.c))
	$(call link_asan,$(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

CHECKS += check-cli
.PHONY: check-cli
check-cli: $(QUERN) $(BUILD)/tests/cli_engine $(BUILD)/tests/test_cli $(BUILD)/tests/quern-asan
	@status=0; CMOCKA_MESSAGE_OUTPUT=TAP $(BUILD)/tests/test_cli || status=1; \
	    BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/0*.bats tests/cli/1*.bats || status=1; \
	    exit $$status
