# SPDX-License-Identifier: MIT
#
# The profile commands: what mk/cli.mk links into quern for them.

CLI_LIBS += -lpcre2-8 -lz -lzstd -lm

CHECKS += check-cli-profile
.PHONY: check-cli-profile
check-cli-profile: all
	@BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/3*.bats tests/cli/4*.bats
