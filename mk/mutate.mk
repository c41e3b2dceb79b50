# SPDX-License-Identifier: MIT
#
# `make mutate`: which faults no test finds (docs/design/050-mutation-tests.md). A test of a folder
# is one whose numbers are known from that folder alone: a fault in profile/ that only a comparison
# with another tool would find is a survivor. The copies of the tree need lists of other fragments,
# which are complete only when the recipe is expanded.

N ?= 100
SEED ?= 1
JOBS ?= $(shell nproc 2>/dev/null || echo 1)

.PHONY: mutate mutate-runs
mutate:
	@scripts/mutate -n $(N) -s $(SEED) -j $(JOBS) -b '$(BUILD)' $(if $(AGAIN),--again) $(if $(UNITS),--units) \
	    $(if $(ONLY),--only '$(ONLY)') \
	    $(if $(BOUND),--bound $(BOUND)) \
	    --make '$(firstword $(MAKE))' $(FILES)

# folders|files to build|command, one line for each test program and each file of bats.
mutate_programs = $(foreach t,$(2),$(info $(1)|$(t)|$(3)$(t)))
MUTATE_BATS := $(sort $(wildcard tests/cli/*.bats))
MUTATE_CLI = $(QUERN_PROGRAMS) $(CLI_LINKS:%=$(BUILD)/bin/%) $(CLI_COMPLETE) \
             $(BUILD)/libexec/quern/quern-engine $(BUILD)/tests/cli_engine
# Further needs of some bats files; to build them for all would double the time of each fault.
$(foreach n,130-recover 133-damaged 150-whole 410-diff 490-sanitized 580-control,\
    $(eval MUTATE_CLI_tests/cli/$(n).bats = $(BUILD)/tests/quern-asan))
# Commands whose tests need a real engine, a browser or a terminal. The suites record which lines
# of the host's program they execute.
MUTATE_CALLS = $(QUERN) $(ENGINE) $(CALLS_S) $(CALLS_C) $(COMPAT_PROGRAMS) \
    $(addprefix $(CALLS_DIR)/,edges exceptions inlined levels mangled one-page)
MUTATE_CONTROL = $(QUERN) $(ENGINE) $(addprefix $(REQUESTS_DIR)/,waits steady)
MUTATE_TOP = $(QUERN) $(ENGINE) $(BUILD)/tests/quern-asan $(BUILD)/bench/example
mutate_suites = \
    $(info suite finish/|$(MUTATE_CALLS)|CALLS_MODES=default tests/calls/run $(QUERN) $(CALLS_DIR)/edges \
        $(CALLS_DIR) $(COMPAT_DIR) $(COMPAT_C) $(COMPAT_S)) \
    $(info suite cli/control/|$(MUTATE_CONTROL)|tests/requests/control $$PWD/$(QUERN) $$PWD/$(REQUESTS_DIR)) \
    $(info suite cli/top/|$(MUTATE_TOP)|mkdir -p $(BUILD)/tests/top; $(TOP_PYTHON) tests/top/check.py $(QUERN) \
        $(BUILD)/tests/quern-asan $(BUILD)/tests/top $(BUILD)/bench/example) \
    $(info suite cli/report/|$(QUERN)|mkdir -p $(BUILD)/tests/report/pages; $(REPORT_PYTHON) tests/report/check.py \
        $(QUERN) $(BUILD)/tests/report/pages)
# The engine as a whole, in a build of scripts/mutate that records its lines: each program of tests/guest
# in modes that translate in the ways that differ most, each of tests/guest-state, and what compares
# programs with themselves and with others. All have the same goals, so that one make builds them.
MUTATE_WHOLE = $(QUERN) $(ENGINE) $(GUEST_S) $(GUEST_C) $(STATE_PROGRAMS) $(NATIVE_PROBES:%=$(NATIVE)/probe-%) \
    $(addprefix $(NATIVE)/,registers-static registers-static-pie start execs no-interp) \
    $(ORACLE) $(ORACLE_FREE) $(ORACLE_LIBC) $(ORACLE_COMPAT) $(REQUESTS) $(REQUESTS_DIR)/table $(REQUESTS_DIR)/steady \
    $(filter-out $(QUERN) $(ENGINE),$(MUTATE_CALLS))
mutate_whole = $(info whole $(1)|$(MUTATE_WHOLE)|$(2))
MUTATE_GUEST_MODES = default off flush replay-process reproducible
mutate_engine = \
    $(foreach t,$(sort $(wildcard tests/guest/[0-9]*.[cS])),$(call mutate_whole,engine/,GUEST_MODES='$(MUTATE_GUEST_MODES)' \
        tests/guest/run $(QUERN) $(GUEST_DIR) $(t))) \
    $(foreach t,$(STATE_NAMES),$(call mutate_whole,engine/,STATE_MODES='auto calls reproducible' \
        tests/guest-state/run $(QUERN) $(BUILD)/tests/state $(t))) \
    $(foreach t,run run-exec run-limits,$(call mutate_whole,engine/,tests/native/$(t) $(BUILD))) \
    $(call mutate_whole,engine/,tests/oracle/run $(QUERN) $(ORACLE) $(BUILD)/tests/oracle/out $(ORACLE_FREE) $(ORACLE_LIBC) \
        $(ORACLE_COMPAT)) \
    $(call mutate_whole,engine/,tests/requests/run $$PWD/$(QUERN) $$PWD/$(REQUESTS_DIR)) \
    $(call mutate_whole,engine/syscalls/,tests/requests/control $$PWD/$(QUERN) $$PWD/$(REQUESTS_DIR)) \
    $(call mutate_whole,engine/,CALLS_MODES=default tests/calls/run $(QUERN) $(CALLS_DIR)/edges $(CALLS_DIR) $(COMPAT_DIR) \
        $(COMPAT_C) $(COMPAT_S))
mutate-runs:
	$(call mutate_programs,profile/,$(PROFILE_TESTS))
	$(call mutate_programs,machine/,$(MACHINE_TESTS),TEST_MACHINES=share/machines )
	$(call mutate_programs,symbols/,$(SYMBOLS_TESTS),TEST_FOLDER=$(BUILD)/tests )
	$(call mutate_programs,sim/,$(SIM_TESTS))
	$(call mutate_programs,report/,$(REPORT_TESTS))
	$(call mutate_programs,cli/$(comma)finish/,$(CLI_TESTS))
	$(foreach t,$(MUTATE_BATS),$(info cli/$(comma)finish/|$(MUTATE_CLI) $(MUTATE_CLI_$(t))|BUILD=$$PWD/$(BUILD) bats --formatter tap $(t)))
	$(mutate_suites)
	$(call mutate_programs,engine/,$(ENGINE_LAYER_TESTS))
	$(mutate_engine)
	@:
