# SPDX-License-Identifier: MIT
#
# `make fuzz`: the harnesses of fuzz/, each for FUZZ_TIME seconds. Needs clang, whatever CC is.

FUZZ_CC ?= clang
FUZZ_TIME ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer $(HOST_BASE)
FUZZ_PROGRAMS := $(BUILD)/fuzz/profile $(BUILD)/fuzz/profile_rewrite

$(FUZZ_PROGRAMS): $(BUILD)/fuzz/%: fuzz/%.c $(wildcard profile/*.c profile/*.h profile/*.def include/quern/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $< $(wildcard profile/*.c) $(PROFILE_LIBS)

.PHONY: fuzz
fuzz: $(FUZZ_PROGRAMS)
	@mkdir -p $(BUILD)/fuzz/corpus-profile $(BUILD)/fuzz/corpus-profile_rewrite
	cd $(BUILD)/fuzz && ./profile -max_total_time=$(FUZZ_TIME) -timeout=20 -rss_limit_mb=4000 -max_len=8192 \
	    -print_final_stats=1 corpus-profile $(abspath tests/golden)
	cd $(BUILD)/fuzz && ./profile_rewrite -max_total_time=$(FUZZ_TIME) -timeout=20 -max_len=256 corpus-profile_rewrite
