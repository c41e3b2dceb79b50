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
# The engine as a whole, in which there is no gcov: these stand for every line of the folders.
MUTATE_MAKE = $(firstword $(MAKE)) --no-print-directory BUILD=$(BUILD)
MUTATE_GOALS = $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine
MUTATE_ENGINE := check-native check-oracle check-guest
MUTATE_PROCESS := check-exec
mutate-runs:
	$(call mutate_programs,profile/,$(PROFILE_TESTS))
	$(call mutate_programs,symbols/,$(SYMBOLS_TESTS),TEST_FOLDER=$(BUILD)/tests )
	$(call mutate_programs,sim/,$(SIM_TESTS))
	$(call mutate_programs,report/,$(REPORT_TESTS))
	$(call mutate_programs,cli/,$(CLI_TESTS))
	$(foreach t,$(MUTATE_BATS),$(info cli/|$(MUTATE_CLI) $(MUTATE_CLI_$(t))|BUILD=$$PWD/$(BUILD) bats --formatter tap $(t)))
	$(call mutate_programs,engine/,$(ENGINE_UNITS:%=$(BUILD)/tests/test_engine_%) \
	    $(ENGINE_WING_TESTS) $(STATE_UNITS))
	$(foreach t,$(MUTATE_ENGINE),$(info whole engine/|$(MUTATE_GOALS)|$(MUTATE_MAKE) $(t)))
	$(foreach t,$(MUTATE_PROCESS),$(info whole engine/process/$(comma)engine/signal/|$(MUTATE_GOALS)|$(MUTATE_MAKE) $(t)))
	@:
