# SPDX-License-Identifier: MIT
#
# `make mutate`: which faults no test finds (docs/design/050-tests-that-bite.md). A test of a folder
# is one whose numbers are known from that folder alone: a fault in profile/ that only a comparison
# with another tool would find is a survivor. What the copies of the tree need of other fragments
# are their lists, so they are expanded when the recipe is.

N ?= 100
SEED ?= 1
JOBS ?= $(shell nproc 2>/dev/null || echo 1)

.PHONY: mutate mutate-runs
mutate:
	@scripts/mutate -n $(N) -s $(SEED) -j $(JOBS) -b '$(BUILD)' $(if $(AGAIN),--again) $(if $(UNITS),--units) \
	    --make '$(firstword $(MAKE))' $(FILES)

# folders|files to build|command, one line for each test program and each file of bats.
mutate_programs = $(foreach t,$(2),$(info $(1)|$(t)|$(3)$(t)))
MUTATE_BATS := $(sort $(wildcard tests/cli/*.bats))
MUTATE_CLI = $(QUERN_PROGRAMS) $(CLI_LINKS:%=$(BUILD)/bin/%) $(CLI_COMPLETE) \
             $(BUILD)/libexec/quern/quern-engine $(BUILD)/tests/cli_engine
# What some files of bats need besides; to build it for all of them would double each fault's time.
$(foreach n,130-recover 410-diff 490-sanitized,\
    $(eval MUTATE_CLI_tests/cli/$(n).bats = $(BUILD)/tests/quern-asan))
# What is the tests of some commands alone: a real engine, a browser, a terminal. The suites know
# which lines of the host's program they execute.
MUTATE_CALLS = $(QUERN) $(ENGINE) $(CALLS_S) $(CALLS_C) $(COMPAT_PROGRAMS) \
    $(addprefix $(CALLS_DIR)/,edges exceptions inlined levels mangled one-page)
MUTATE_CONTROL = $(QUERN) $(ENGINE) $(addprefix $(REQUESTS_DIR)/,waits steady)
MUTATE_TOP = $(QUERN) $(ENGINE) $(BUILD)/tests/quern-asan $(BUILD)/bench/example
mutate_suites = \
    $(info suite cli/finish/|$(MUTATE_CALLS)|CALLS_MODES=default tests/calls/run $(QUERN) $(CALLS_DIR)/edges \
        $(CALLS_DIR) $(COMPAT_DIR) $(COMPAT_C) $(COMPAT_S)) \
    $(info suite cli/control/|$(MUTATE_CONTROL)|tests/requests/control $(abspath $(QUERN) $(REQUESTS_DIR))) \
    $(info suite cli/top/|$(MUTATE_TOP)|mkdir -p $(BUILD)/tests/top; $(TOP_PYTHON) tests/top/check.py $(QUERN) \
        $(BUILD)/tests/quern-asan $(BUILD)/tests/top $(BUILD)/bench/example) \
    $(info suite cli/report/|$(QUERN)|mkdir -p $(BUILD)/tests/report/pages; $(REPORT_PYTHON) tests/report/check.py \
        $(QUERN) $(BUILD)/tests/report/pages)
# The engine as a whole, in which there is no gcov: these stand for every line of the folders.
MUTATE_MAKE = $(firstword $(MAKE)) --no-print-directory BUILD=$(BUILD)
MUTATE_GOALS = $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine
# Of check-guest's 17 modes three, which translate in the ways that differ most.
MUTATE_ENGINE := check-native check-oracle
MUTATE_GUEST := GUEST_MODES='default off flush' $(empty)
MUTATE_PROCESS := check-exec
MUTATE_SPOOL := check-limits
MUTATE_SYSCALLS := check-requests check-control
mutate_whole = $(foreach t,$(2),$(info whole $(1)|$(MUTATE_GOALS)|$(3)$(MUTATE_MAKE) $(t)))
mutate-runs:
	$(call mutate_programs,profile/,$(PROFILE_TESTS))
	$(call mutate_programs,symbols/,$(SYMBOLS_TESTS),TEST_FOLDER=$(BUILD)/tests )
	$(call mutate_programs,sim/,$(SIM_TESTS))
	$(call mutate_programs,report/,$(REPORT_TESTS))
	$(call mutate_programs,cli/,$(CLI_TESTS))
	$(foreach t,$(MUTATE_BATS),$(info cli/|$(MUTATE_CLI) $(MUTATE_CLI_$(t))|BUILD=$$PWD/$(BUILD) bats --formatter tap $(t)))
	$(mutate_suites)
	$(call mutate_programs,engine/,$(ENGINE_UNITS:%=$(BUILD)/tests/test_engine_%) \
	    $(ENGINE_WING_TESTS) $(STATE_UNITS))
	$(call mutate_whole,engine/,$(MUTATE_ENGINE))
	$(call mutate_whole,engine/,check-guest,$(MUTATE_GUEST))
	$(call mutate_whole,engine/process/$(comma)engine/signal/$(comma)engine/spool/,$(MUTATE_PROCESS))
	$(call mutate_whole,engine/spool/,$(MUTATE_SPOOL))
	$(call mutate_whole,engine/syscalls/,$(MUTATE_SYSCALLS))
	$(call mutate_whole,engine/count/$(comma)engine/translate/$(comma)engine/codecache/,\
	    check-calls,CALLS_MODES=default )
	@:
