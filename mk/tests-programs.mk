# SPDX-License-Identifier: MIT
#
# tests/programs: real programs under Quern, compared with the native run. `make check` runs the
# quick ones in two modes and twice for equal profiles; `make programs` all of them; `make soak` all
# of them under the switches that make rare events frequent.

PROGRAMS_DIR := $(BUILD)/tests/programs
PROGRAMS_BUILT := $(addprefix $(PROGRAMS_DIR)/,threads threads-static exceptions)
PROGRAMS_CXXFLAGS := -std=gnu++17 -O1 -g -Wall -Wextra -pthread

$(PROGRAMS_DIR)/%: tests/programs/%.cc $(FLAGS_STAMP)
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)g++ $(PROGRAMS_CXXFLAGS) $(WERROR_FLAG) -o $@ $<

$(PROGRAMS_DIR)/threads-static: tests/programs/threads.cc $(FLAGS_STAMP)
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)g++ $(PROGRAMS_CXXFLAGS) $(WERROR_FLAG) -static -o $@ $<

# NAME='...' runs only these cases; PROGRAM_MODES='-m plain -m stress' chooses the modes.
CHECKS += check-programs
.PHONY: check-programs programs soak
check-programs: $(PROGRAMS_BUILT) $(ALL)
	@tests/programs/run $(PROGRAM_MODES) $(QUERN) $(PROGRAMS_DIR) $(NAME)

programs: $(PROGRAMS_BUILT) $(ALL)
	@tests/programs/run -a $(PROGRAM_MODES) $(QUERN) $(PROGRAMS_DIR) $(NAME)

soak: $(PROGRAMS_BUILT) $(ALL)
	@tests/programs/run -a -s -t 600 $(or $(PROGRAM_MODES),$(addprefix -m ,stress stress-sim \
	    no-chain no-ibl slow-tags serial process replay-stress calls calls-stress twice-calls-sim \
	    serial-stress)) $(QUERN) $(PROGRAMS_DIR) $(NAME)
