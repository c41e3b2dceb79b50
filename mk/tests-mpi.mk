# SPDX-License-Identifier: MIT
#
# tests/mpi: the ranks of a program of Open MPI, and many profiles merged as a tree.

CHECKS += check-mpi
.PHONY: check-mpi
check-mpi: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine
	@tests/mpi/run $(BUILD)
