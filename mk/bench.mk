# SPDX-License-Identifier: MIT
#
# `make bench-micro`: what one system call, signal, thread, process or mapping costs, natively and
# under Quern (bench/micro).
#
# `make bench`: Quern beside the native run and the distribution's Cachegrind (bench/README.md).
# Nothing of it is part of `make` or `make check`. The inputs are generated once, below
# $(BUILD)/bench/inputs.

# Which programs, which modes, how often, which LL (bench/run's default), whether Cachegrind too
# (yes, once, no), and how many seconds one run may take.
BENCH_PROGRAMS ?=
BENCH_MODES ?=
BENCH_REPS ?= 3
BENCH_LL ?=
BENCH_VALGRIND ?= yes
BENCH_REPLAY ?= auto
BENCH_TIMEOUT ?= 600

BENCH_IN := $(BUILD)/bench/inputs
BENCH_INPUTS := $(BENCH_IN)/text $(BENCH_IN)/sql $(BENCH_IN)/work.c $(BENCH_IN)/matrix \
    $(BENCH_IN)/forks $(BENCH_IN)/fib $(BENCH_IN)/threads $(BENCH_IN)/containers

define bench_generate
$(call say,GEN,$@)
@mkdir -p $(@D)
$(Q)bench/generate $(1) $@
endef

$(BENCH_IN)/text: bench/generate
	$(call bench_generate,text)

$(BENCH_IN)/sql: bench/generate
	$(call bench_generate,sql)

$(BENCH_IN)/work.c: bench/generate
	$(call bench_generate,c)

$(BENCH_IN)/matrix $(BENCH_IN)/forks $(BENCH_IN)/fib $(BENCH_IN)/threads: $(BENCH_IN)/%: bench/programs/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $<

$(BENCH_IN)/containers: bench/programs/containers.cc $(FLAGS_STAMP)
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)g++ -std=gnu++17 -O2 -g -Wall -Wextra $(WERROR_FLAG) -o $@ $<

bench: all $(BENCH_INPUTS)
	@CC='$(CC)' BENCH_PROGRAMS='$(BENCH_PROGRAMS)' BENCH_MODES='$(BENCH_MODES)' \
	    BENCH_REPS='$(BENCH_REPS)' BENCH_LL='$(BENCH_LL)' BENCH_REPLAY='$(BENCH_REPLAY)' \
	    BENCH_VALGRIND='$(BENCH_VALGRIND)' BENCH_TIMEOUT='$(BENCH_TIMEOUT)' \
	    bench/run $(BUILD)/bin/quern $(BENCH_IN) $(BUILD)/bench

# `make bench-long`: whether a run of BENCH_MINUTES gets slower or larger with time.
BENCH_MINUTES ?= 20
BENCH_OPTIONS ?= --cache-sim=yes

.PHONY: bench-long
bench-long: all
	@bench/long $(BUILD)/bin/quern $(BENCH_MINUTES) $(BENCH_OPTIONS)

# Names of tests: BENCH_MICRO='signal thread'; all.
BENCH_MICRO ?=

$(BUILD)/bench/micro: bench/micro/micro.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARNINGS) $(WERROR_FLAG) -pthread -o $@ $<

.PHONY: bench-micro
bench-micro: all $(BUILD)/bench/micro
	@BENCH_MICRO='$(BENCH_MICRO)' BENCH_REPS='$(BENCH_REPS)' BENCH_TIMEOUT='$(BENCH_TIMEOUT)' \
	    bench/micro/run $(BUILD)/bin/quern $(BUILD)/bench/micro $(BUILD)/bench
