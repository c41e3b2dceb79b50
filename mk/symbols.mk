# SPDX-License-Identifier: MIT
#
# symbols/: from addresses to functions and lines. Linked into quern; the finisher is its caller.

SYMBOLS_SRCS := $(sort $(wildcard symbols/*.c))
SYMBOLS_LIBS := -ldw -lelf -liberty -lz -lzstd
SYMBOLS_A := $(BUILD)/lib/libquern-symbols.a

ALL += $(SYMBOLS_A)

$(SYMBOLS_A): $(call host_objs,$(SYMBOLS_SRCS))
	$(call archive)

$(BUILD)/tests/test_symbols: $(BUILD)/obj/asan/tests/unit/test_symbols.o $(call asan_objs,$(SYMBOLS_SRCS))
	$(call link_asan,-lcmocka $(SYMBOLS_LIBS))

CHECKS += check-symbols
.PHONY: check-symbols
check-symbols: $(BUILD)/tests/test_symbols
	@CMOCKA_MESSAGE_OUTPUT=TAP TEST_FOLDER=$(BUILD)/tests $<
