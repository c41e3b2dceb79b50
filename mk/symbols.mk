# SPDX-License-Identifier: MIT
#
# symbols/: from addresses to functions and lines. Linked into quern; the finisher is its caller.

SYMBOLS_SRCS := $(sort $(wildcard symbols/*.c))
SYMBOLS_LIBS := -ldw -lelf -liberty -lz -lzstd
SYMBOLS_A := $(BUILD)/lib/libquern-symbols.a

ALL += $(SYMBOLS_A)

$(SYMBOLS_A): $(call host_objs,$(SYMBOLS_SRCS))
	$(call archive)

# test_faults reads its own lines in 650 processes.
$(call asan_objs,$(SYMBOLS_SRCS)): ASAN_CFLAGS += $(ASAN_OFTEN)

SYMBOLS_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%, \
                   $(sort $(wildcard tests/unit/symbols/test_*.c)))

$(SYMBOLS_TESTS): $(BUILD)/tests/%: $(BUILD)/obj/asan/tests/unit/%.o \
                  $(call asan_objs,$(SYMBOLS_SRCS))
	$(call link_asan,-lcmocka $(SYMBOLS_LIBS))

CHECKS += check-symbols
.PHONY: check-symbols
check-symbols: $(SYMBOLS_TESTS)
	@status=0; for t in $^; do \
	    CMOCKA_MESSAGE_OUTPUT=TAP TEST_FOLDER=$(BUILD)/tests $$t || status=1; \
	done; exit $$status
