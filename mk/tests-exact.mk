# SPDX-License-Identifier: MIT
#
# The tests of exactness: the simulators alone (check-sim); programs counted by hand (check-guest), against Cachegrind
# (check-compat) and against single-stepping (check-oracle).

SIM_TESTS := $(BUILD)/tests/test_sim_cache $(BUILD)/tests/test_sim_branch

$(SIM_TESTS): $(BUILD)/tests/test_sim_%: $(BUILD)/obj/asan/tests/unit/test_sim_%.o $(BUILD)/obj/asan/sim/%.o
	$(call link_asan,-lcmocka)

.PHONY: check-sim
check-sim: $(SIM_TESTS)
	@status=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; exit $$status

CHECKS += check-sim
