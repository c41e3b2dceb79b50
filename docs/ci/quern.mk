# SPDX-License-Identifier: MIT
#
# Counts as a gate, for plain make. Include it in a Makefile and set BENCH:
#
#     make quern-baseline     run BENCH, store its profile as the baseline
#     make quern-check        run it again and compare; fails when a limit was exceeded
#     make quern-cycles-baseline, quern-cycles
#                             the same in estimated cycles, with their causes, for a machine
#     make quern-install      build Quern of QUERN_SOURCE and install it in QUERN_PREFIX
#
# The settings, and their defaults:
QUERN ?= quern
BENCH ?= ./bench hash
BENCH_DEPENDS ?= bench
# Counts what is inside of the benchmark's function, and not the loader and the program's start, of
# which a larger benchmark would be a small part.
QUERN_INSIDE ?= bench_*
# The same counts on every machine, in any environment.
QUERN_OPTIONS ?= --reproducible=yes --cache-sim=no --calls=yes --toggle-collect='$(QUERN_INSIDE)'
# All of it, and each function.
QUERN_LIMITS ?= Ir>+0.5% *:Ir>+5%
QUERN_BASELINE ?= quern.base
QUERN_REPORT ?= quern.md
# The machine whose cycles are estimated: the same everywhere. Never `native`: then they depend on
# where they were counted. `quern run --machine=list` has all.
QUERN_MACHINE ?= zen4
# Of the whole program: the start of it warms the caches.
QUERN_CYCLES_OPTIONS ?= --reproducible=yes --machine='$(QUERN_MACHINE),detail=all' --calls=yes
# Of each benchmark, with what it calls.
QUERN_CYCLES_LIMITS ?= $(QUERN_INSIDE):Cy>+2%
QUERN_CYCLES_BASELINE ?= cycles.base
QUERN_CYCLES_REPORT ?= cycles.md
QUERN_SOURCE ?= https://git.example.org/quern.git
QUERN_VERSION ?= main
QUERN_PREFIX ?= $(HOME)/.local

.PHONY: quern-baseline quern-check quern-cycles-baseline quern-cycles quern-install
quern-install:
	rm -rf quern.src
	git clone --quiet --depth 1 --branch '$(QUERN_VERSION)' '$(QUERN_SOURCE)' quern.src
	cd quern.src && scripts/deps build && $(MAKE) && $(MAKE) install PREFIX='$(QUERN_PREFIX)'

quern-baseline: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_OPTIONS) -o $(QUERN_BASELINE) $(BENCH)

quern-check: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_OPTIONS) -o quern.new $(BENCH)
	$(QUERN) diff --to=markdown -o $(QUERN_REPORT) $(QUERN_LIMITS:%=--fail-if='%') \
	    $(QUERN_BASELINE) quern.new

quern-cycles-baseline: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_CYCLES_OPTIONS) -o $(QUERN_CYCLES_BASELINE) $(BENCH)

quern-cycles: $(BENCH_DEPENDS)
	$(QUERN) run -q $(QUERN_CYCLES_OPTIONS) -o cycles.new $(BENCH)
	$(QUERN) diff --to=markdown -o $(QUERN_CYCLES_REPORT) --inclusive=yes --threshold=0.01 \
	    $(QUERN_CYCLES_LIMITS:%=--fail-if='%') $(QUERN_CYCLES_BASELINE) cycles.new
