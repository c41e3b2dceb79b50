# SPDX-License-Identifier: MIT
#
# tests/trace: reference traces (quern run --trace-refs), replayed by the plain simulators, against
# what the fast path counts. `make fuzz-trace FUZZ_TIME=600` goes on from a new seed; SEED=17 is that
# one.

TRACE_DIR := $(BUILD)/tests/trace
TRACE_SAME := $(addprefix compat/,bigcode branches forms rmw stack straddle strings switch)
TRACE_ONCE := $(addprefix guest/,005-instrumentation 503-odd-forms 600-changed-code 706-traps \
    801-threads)
TRACE_PROGRAMS := $(addprefix ../,$(TRACE_SAME) $(TRACE_ONCE:%=%!))

.PHONY: check-trace fuzz-trace
check-trace: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine \
    $(addprefix $(BUILD)/tests/,$(TRACE_SAME) $(TRACE_ONCE))
	@mkdir -p $(TRACE_DIR)
	@tests/trace/run -s $(or $(SEED),1) $< $(TRACE_DIR) $(TRACE_PROGRAMS)
CHECKS += check-trace

fuzz-trace: $(BUILD)/bin/quern $(BUILD)/libexec/quern/quern-engine \
    $(addprefix $(BUILD)/tests/,$(TRACE_SAME) $(TRACE_ONCE))
	@mkdir -p $(TRACE_DIR)
	@tests/trace/run -t $(FUZZ_TIME) -g 4 -s $(or $(SEED),$$(date +%s)) $< $(TRACE_DIR) \
	    $(TRACE_PROGRAMS)
