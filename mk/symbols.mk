# SPDX-License-Identifier: MIT
#
# symbols/: from addresses to functions and lines. Linked into quern; the finisher is its caller.

SYMBOLS_SRCS := $(sort $(wildcard symbols/*.c))
SYMBOLS_LIBS := -ldw -lelf -liberty -lz -lzstd
SYMBOLS_A := $(BUILD)/lib/libquern-symbols.a

ALL += $(SYMBOLS_A)

$(SYMBOLS_A): $(call host_objs,$(SYMBOLS_SRCS))
	$(call archive)
