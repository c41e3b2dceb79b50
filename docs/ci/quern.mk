# SPDX-License-Identifier: MIT
#
# Counts as a gate, for plain make. Include it in a Makefile and set BENCH:
#
#     make quern-baseline     run BENCH, store its profile as the baseline
#     make quern-check        run it again and compare; fails when a limit was exceeded
#
# The settings, and their defaults:
QUERN ?= quern
BENCH ?= ./bench hash
BENCH_DEPENDS ?= bench
# The same counts on every machine, in any environment.
QUERN_OPTIONS ?= --reproducible=yes --cache-sim=no
QUERN_LIMITS ?= Ir>+0.5%
QUERN_BASELINE ?= quern.base
QUERN_REPORT ?= quern.md

.PHONY: quern-baseline quern-check
quern-baseline: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_OPTIONS) -o $(QUERN_BASELINE) $(BENCH)

quern-check: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_OPTIONS) -o quern.new $(BENCH)
	$(QUERN) diff --to=markdown -o $(QUERN_REPORT) $(QUERN_LIMITS:%=--fail-if='%') \
	    $(QUERN_BASELINE) quern.new
