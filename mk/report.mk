# SPDX-License-Identifier: MIT
#
# `quern report`: the core (arithmetic, native and wasm32), the packer, and the page, which becomes
# part of the program. It needs esbuild, clang and lld; without them all else is built, and the
# command says what it lacks.

REPORT_CORE := $(filter-out report/core/heap_wasm.c report/core/export.c, \
                 $(sort $(wildcard report/core/*.c)))
REPORT_SRCS := $(REPORT_CORE) $(sort $(wildcard report/pack/*.c))

ALL += $(BUILD)/lib/libquern-report.a
$(BUILD)/lib/libquern-report.a: $(call host_objs,$(REPORT_SRCS))
	$(call archive)

$(BUILD)/lib/libquern-report-asan.a: $(call asan_objs,$(REPORT_SRCS))
	$(call archive)

# Instructions, by the Zydis that mk/cli.mk links into quern.
CFLAGS_cli/report/report_code.c := -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD \
                                   -isystem $(ZYDIS_SRC)/include
$(patsubst %,$(BUILD)/obj/%/cli/report/report_code.o,host asan): | $(ZYDIS_READY)

# ---- The page ----
REPORT_CLANG ?= clang
REPORT_GEN := $(BUILD)/gen/report
REPORT_PAGE_O := $(BUILD)/obj/report/page.o
# Multiplication and division of 128 bits.
REPORT_RT := $(shell $(REPORT_CLANG) --target=wasm32-wasi -rtlib=compiler-rt \
                 -print-libgcc-file-name 2>/dev/null)
REPORT_TOOLS := $(and $(shell command -v esbuild),$(wildcard $(REPORT_RT)), \
                  $(shell command -v wasm-ld || command -v wasm-ld-14))
REPORT_WASM_FLAGS := --target=wasm32 -O2 -std=gnu11 -ffreestanding -fno-math-errno -mbulk-memory \
                     $(WARNINGS) -I.
REPORT_WASM_LINK := -nostdlib -Wl,--no-entry -Wl,--strip-all -Wl,--gc-sections \
                    -Wl,-z,stack-size=262144

$(REPORT_GEN)/core.wasm: $(REPORT_CORE) report/core/export.c report/core/heap_wasm.c \
                         $(wildcard report/core/*.h) mk/report.mk
	$(call say,WASM,$@)
	@mkdir -p $(@D)
	$(Q)$(REPORT_CLANG) $(REPORT_WASM_FLAGS) $(WERROR_FLAG) $(REPORT_WASM_LINK) -o $@ \
	    $(filter-out report/core/heap_host.c,$(filter %.c,$^)) $(REPORT_RT)

$(REPORT_GEN)/quern-page.html: $(REPORT_GEN)/core.wasm $(wildcard report/page/*)
	$(call say,PAGE,$@)
	$(Q)report/page/build $< $(@D)

# The page that reads profiles itself (--empty): libquern with the distribution's wasi-libc, whose
# headers REPORT_WASI names. Without wasi-libc the page is built, and --empty says what is missing.
REPORT_WASI ?= /usr/include/wasm32-wasi
REPORT_READER_SRCS := $(filter-out profile/read/input.c profile/read/pair.c, \
                        $(wildcard profile/model/*.c profile/read/*.c)) \
                      $(wildcard profile/sum/merger*.c) \
                      $(addprefix profile/sum/,append.c costs.c fold.c) \
                      $(filter-out report/pack/deflate.c,$(wildcard report/pack/*.c)) \
                      $(wildcard report/reader/*.c) $(wildcard profile/read/page/*.c)
# Not -mbulk-memory: with it clang 14 puts wasi-libc's errno into thread-local memory, and there are no threads.
REPORT_READER_FLAGS := --target=wasm32-wasi -nostdlibinc -isystem $(REPORT_WASI) -mexec-model=reactor \
                       -O2 -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -fvisibility=hidden -Iinclude -I. \
                       -DQUERN_VERSION=\"$(VERSION)\" -include report/reader/libc.h
REPORT_READER := $(if $(wildcard $(REPORT_WASI)/stdlib.h),$(REPORT_GEN)/quern-reader.base64)

$(REPORT_GEN)/reader.wasm: $(REPORT_READER_SRCS) mk/report.mk \
                           $(wildcard profile/*/*.h report/*/*.h include/quern/*.h)
	$(call say,WASM,$@)
	@mkdir -p $(@D)
	$(Q)$(REPORT_CLANG) $(REPORT_READER_FLAGS) $(WERROR_FLAG) -o $@ $(filter %.c,$^) \
	    -Wl,--strip-all -Wl,--gc-sections -Wl,--stack-first -Wl,-z,stack-size=1048576

# Raw deflate is what gzip writes, without its head of 10 bytes and its end of 8.
$(REPORT_GEN)/quern-reader.base64: $(REPORT_GEN)/reader.wasm
	$(Q)gzip -9nc $< | tail -c +11 | head -c -8 | base64 -w0 >$@

# The symbols' names come from the names of the files, so these are given without a folder.
$(REPORT_PAGE_O): $(REPORT_GEN)/quern-page.html $(REPORT_READER)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)cd $(REPORT_GEN) && ld -r -b binary -z noexecstack -o $(abspath $@) $(notdir $^)

ifneq ($(REPORT_TOOLS),)
$(BUILD)/libexec/quern/quern-whole $(BUILD)/tests/quern-asan: $(REPORT_PAGE_O)
endif

# ---- Tests ----
REPORT_TESTS := $(patsubst tests/unit/report/%.c,$(BUILD)/tests/report/%, \
                  $(sort $(wildcard tests/unit/report/test_*.c)))

$(REPORT_TESTS): $(BUILD)/tests/report/%: $(BUILD)/obj/asan/tests/unit/report/%.o \
                 $(BUILD)/lib/libquern-report-asan.a $(BUILD)/lib/libquern-asan.a
	$(call link_asan,$(PROFILE_LIBS) -lcmocka -lm)

CHECKS += check-report-core
.PHONY: check-report-core
check-report-core: $(REPORT_TESTS)
	@status=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; exit $$status

# The page in a real browser, and the types of its program.
REPORT_PYTHON ?= /usr/bin/python3
CHECKS += check-report
.PHONY: check-report check-report-types
check-report: check-report-types $(BUILD)/bin/quern
	@mkdir -p $(BUILD)/tests/report/pages
	@$(REPORT_PYTHON) tests/report/check.py $(BUILD)/bin/quern $(BUILD)/tests/report/pages
check-report-types:
	@if tsc -p report/page >$(BUILD)/tsc.out 2>&1; then echo 'ok - types of the page'; else \
	    echo 'not ok - types of the page'; sed 's/^/# /' $(BUILD)/tsc.out; exit 1; fi

# ---- Fuzzing: `make fuzz-report` for FUZZ_TIME seconds ----
$(BUILD)/fuzz/report_pack: fuzz/report_pack.c $(wildcard report/*/*.[ch] profile/*/*.[ch]) \
                           $(wildcard tests/unit/report/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $< $(REPORT_SRCS) $(wildcard profile/*/*.c) \
	    $(PROFILE_LIBS) -lm

.PHONY: fuzz-report
fuzz-report: $(BUILD)/fuzz/report_pack
	@mkdir -p $(BUILD)/fuzz/corpus-report
	cd $(BUILD)/fuzz && ./report_pack -max_total_time=$(FUZZ_TIME) -timeout=20 \
	    -rss_limit_mb=4000 -max_len=8192 -print_final_stats=1 corpus-report $(abspath tests/golden)

# ---- axe-core in every view: not part of make check, since it takes npm and a network ----
REPORT_AXE := $(BUILD)/tests/report/axe/node_modules/axe-core/axe.min.js
$(REPORT_AXE): tests/report/axe/package.json tests/report/axe/package-lock.json
	@command -v npm >/dev/null || { echo 'check-report-axe needs npm (Debian: npm)'; exit 1; }
	@mkdir -p $(BUILD)/tests/report/axe
	@cp $^ $(BUILD)/tests/report/axe
	$(Q)cd $(BUILD)/tests/report/axe && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.PHONY: check-report-axe
check-report-axe: $(BUILD)/bin/quern $(REPORT_AXE)
	@$(REPORT_PYTHON) tests/report/axe.py $(BUILD)/bin/quern $(BUILD)/tests/report/axe $(REPORT_AXE)

# check-report in Firefox: not part of make check, since most machines have one browser.
.PHONY: check-report-firefox
check-report-firefox: $(BUILD)/bin/quern
	@command -v firefox-esr >/dev/null || { echo 'check-report-firefox needs Firefox (Debian: firefox-esr)'; exit 1; }
	@mkdir -p $(BUILD)/tests/report/firefox
	@BROWSER=firefox $(REPORT_PYTHON) tests/report/check.py $(BUILD)/bin/quern \
	    $(BUILD)/tests/report/firefox

# ---- Large reports and their speed: not part of make check ----
$(BUILD)/tests/report/generate: $(BUILD)/obj/host/tests/report/generate.o
	$(call link)

# 1,000,000 functions: written, opened; totals and the most expensive functions compared with convert.
REPORT_BIG := 1000000
.PHONY: check-report-big bench-report
check-report-big: $(BUILD)/bin/quern $(BUILD)/tests/report/generate
	@tests/report/check-big $(BUILD) $(REPORT_BIG)

# cc1 under Callgrind, grown to 30,000 functions, and 1,000,000 functions.
bench-report: $(BUILD)/bin/quern $(BUILD)/tests/report/generate
	@tests/report/bench $(BUILD) $(REPORT_BIG)
