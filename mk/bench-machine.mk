# SPDX-License-Identifier: MIT
#
# `make bench-machine`: native cycles of the programs by which the model of a processor is judged, and
# how far estimates from counts are from them (bench/machine/README.md). `make check` tests only the
# list, the kernels, the pairs and the arithmetic (tests/machine/native).

# Names of programs.txt (all); runs of each; whether disturbed runs count, too; the processor.
BENCH_MACHINE ?=
BENCH_RUNS ?= 30
BENCH_BUSY ?= no
BENCH_CPU ?=
# A machine whose estimated cycles are compared, too; whether of unseen programs as well.
BENCH_MODEL ?=
BENCH_UNSEEN ?= no

BENCH_MACHINE_DIR := $(BUILD)/bench/machine
BENCH_MACHINE_INPUTS := $(BENCH_MACHINE_DIR)/inputs/made
# Made by mk/bench.mk, which make reads after this file.
BENCH_MACHINE_FROM := $(BUILD)/bench/inputs

$(BENCH_MACHINE_DIR)/timer: bench/machine/timer.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARNINGS) $(WERROR_FLAG) -o $@ $<

$(BENCH_MACHINE_INPUTS): bench/machine/generate $(addprefix $(BENCH_MACHINE_FROM)/,text sql work.c)
	$(call say,GEN,$(@D))
	@mkdir -p $(@D)
	$(Q)bench/machine/generate $(BENCH_MACHINE_FROM) $(@D)
	@touch $@

# The second reads what the first wrote. A program that failed is in the notes of both.
.PHONY: bench-machine
bench-machine: all $(BENCH_MACHINE_DIR)/timer $(BENCH_MACHINE_INPUTS)
	@BENCH_RUNS='$(BENCH_RUNS)' BENCH_BUSY='$(BENCH_BUSY)' BENCH_CPU='$(BENCH_CPU)' \
	    bench/machine/native $(BENCH_MACHINE_DIR) $(BENCH_MACHINE); status=$$?; [ $$status -le 1 ] || exit $$status; \
	    BENCH_TIMEOUT='$(BENCH_TIMEOUT)' BENCH_MODEL='$(BENCH_MODEL)' BENCH_UNSEEN='$(BENCH_UNSEEN)' \
	    bench/machine/estimates $(BUILD)/bin/quern $(BENCH_MACHINE_DIR) $(BENCH_MACHINE) && exit $$status

CHECKS += check-bench-machine
.PHONY: check-bench-machine
check-bench-machine: $(BENCH_MACHINE_DIR)/timer
	@tests/machine/native $(BENCH_MACHINE_DIR)/timer $(BUILD)/tests/machine

# ---- Loops, each limited by one thing of the core ----

# The beginnings of names of loops (all). BENCH_MODEL as above; of BENCH_RUNS each (3) the least.
BENCH_MICRO ?=

BENCH_MICRO_SRCS := $(sort $(wildcard bench/machine/micro/*.c))
$(BENCH_MACHINE_DIR)/micro: $(BENCH_MICRO_SRCS) bench/machine/micro/micro.h $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -mno-red-zone -D_GNU_SOURCE $(WARNINGS) $(WERROR_FLAG) -o $@ $(BENCH_MICRO_SRCS)

.PHONY: bench-machine-micro
bench-machine-micro: all $(BENCH_MACHINE_DIR)/micro
	@BENCH_RUNS='$(if $(filter file,$(origin BENCH_RUNS)),3,$(BENCH_RUNS))' BENCH_MODEL='$(BENCH_MODEL)' \
	    bench/machine/micro/table $(BENCH_MACHINE_DIR)/micro $(BUILD)/bin/quern $(BENCH_MICRO)

# ---- What is loaded ahead, and what others leave of the last level ----

# regions, streams, last (all)
BENCH_AHEAD ?=

$(BENCH_MACHINE_DIR)/ahead: bench/machine/ahead.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g -D_GNU_SOURCE $(WARNINGS) $(WERROR_FLAG) -o $@ $<

.PHONY: bench-machine-ahead
bench-machine-ahead: $(BENCH_MACHINE_DIR)/ahead
	@$< $(BENCH_AHEAD)

.PHONY: bench-machine-drawn
bench-machine-drawn: all
	@BENCH_RUNS='$(if $(filter file,$(origin BENCH_RUNS)),5,$(BENCH_RUNS))' BENCH_MODEL='$(BENCH_MODEL)' \
	    bench/machine/drawn/table $(BENCH_MACHINE_DIR)/drawn $(BUILD)/bin/quern

# ---- The programs of docs/machine-examples.md ----

# Names of examples (all); how many functions and lines of each are shown.
BENCH_EXAMPLES ?=
BENCH_LINES ?=

.PHONY: bench-machine-examples
bench-machine-examples: all
	@scripts/deps bench-examples
	@BENCH_RUNS='$(if $(filter file,$(origin BENCH_RUNS)),15,$(BENCH_RUNS))' BENCH_MODEL='$(BENCH_MODEL)' \
	    BENCH_LL='$(BENCH_LL)' BENCH_CPU='$(BENCH_CPU)' BENCH_EXAMPLES='$(BENCH_EXAMPLES)' BENCH_LINES='$(BENCH_LINES)' \
	    bench/machine/examples/run $(BUILD)/bin/quern third_party/examples $(BENCH_MACHINE_DIR)/examples

CHECKS += check-bench-micro
.PHONY: check-bench-micro
check-bench-micro: all $(BENCH_MACHINE_DIR)/micro $(BENCH_MACHINE_DIR)/ahead
	@tests/machine/micro $(BENCH_MACHINE_DIR)/micro $(BUILD)/bin/quern
	@BENCH_LOOPS=6 BENCH_RUNS=1 BENCH_MODEL=zen5 bench/machine/drawn/table $(BUILD)/tests/drawn $(BUILD)/bin/quern | \
	    grep -Eq '^\| all \| 6 \| [0-9.]+ \| [0-9.]+ \| [0-9.]+, [0-9.]+ \|$$' && echo 'ok - loops are drawn, and timed'
