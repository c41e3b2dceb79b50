# SPDX-License-Identifier: MIT
#
# The recipes of docs/ci, executed in temporary checkouts.

CHECKS += check-ci
.PHONY: check-ci
check-ci: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine
	@BUILD=$(abspath $(BUILD)) bats --formatter tap tests/ci/*.bats
