# SPDX-License-Identifier: MIT
#
# The profile commands: what mk/cli.mk links into quern for them.

CLI_LIBS += -lpcre2-8 -lz -lzstd -lm
# The screen of `quern top`.
CLI_LIBS += $(shell $(PKG_CONFIG) --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)

QUERN_PROGRAMS := $(addprefix $(BUILD)/bin/,quern cg_annotate cg_merge cg_diff callgrind_annotate)

CHECKS += check-cli-profile
.PHONY: check-cli-profile
check-cli-profile: $(QUERN_PROGRAMS) $(BUILD)/libexec/quern/quern-engine $(BUILD)/tests/quern-asan
	@BUILD=$(abspath $(BUILD)) bats --formatter tap tests/cli/3*.bats tests/cli/4*.bats

# Our files in the distribution's KCachegrind, under Xvfb. Not one of CHECKS: it needs
# `scripts/deps kcachegrind`.
.PHONY: check-kcachegrind
check-kcachegrind: $(BUILD)/bin/quern $(BUILD)/lib/libquern.so.1 $(BUILD)/libexec/quern/quern-engine
	@scripts/deps kcachegrind
	@tests/viewer/check $(BUILD)
