# SPDX-License-Identifier: MIT
#
# `quern top` in a pseudo-terminal: tests/top. The program is part of quern (mk/cli.mk).

TOP_PYTHON ?= /usr/bin/python3

CHECKS += check-top
.PHONY: check-top
check-top: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine $(BUILD)/tests/quern-asan \
           $(BUILD)/bench/example
	@mkdir -p $(BUILD)/tests/top
	@$(TOP_PYTHON) tests/top/check.py $(BUILD)/bin/quern $(BUILD)/tests/quern-asan \
	    $(BUILD)/tests/top $(BUILD)/bench/example
