# SPDX-License-Identifier: MIT
#
# `quern report`: the core (arithmetic, native and wasm32), the packer, and the page that is embedded in the
# program. The page needs esbuild, clang and lld; without them all else is built, and the command says what it lacks.

REPORT_CORE := $(filter-out report/core/heap_wasm.c report/core/export.c,$(sort $(wildcard report/core/*.c)))
REPORT_SRCS := $(REPORT_CORE) $(sort $(wildcard report/pack/*.c))
REPORT_A := $(BUILD)/lib/libquern-report.a

ALL += $(REPORT_A)
$(REPORT_A): $(call host_objs,$(REPORT_SRCS))
	$(call archive)

$(BUILD)/lib/libquern-report-asan.a: $(call asan_objs,$(REPORT_SRCS))
	$(call archive)

# ---- Tests ----
REPORT_TESTS := $(patsubst tests/unit/report/%.c,$(BUILD)/tests/report/%,$(sort $(wildcard tests/unit/report/test_*.c)))

$(REPORT_TESTS): $(BUILD)/tests/report/%: $(BUILD)/obj/asan/tests/unit/report/%.o $(BUILD)/lib/libquern-report-asan.a \
                 $(BUILD)/lib/libquern-asan.a
	$(call link_asan,$(PROFILE_LIBS) -lcmocka -lm)

CHECKS += check-report-core
.PHONY: check-report-core
check-report-core: $(REPORT_TESTS)
	@status=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; exit $$status
