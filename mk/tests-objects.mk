# SPDX-License-Identifier: MIT
#
# tests/data: misses by object of the data, by hand and in every mode; sums of other programs.

DATA_DIR := $(BUILD)/tests/data
DATA_BARE := $(addprefix $(DATA_DIR)/,statics heap mapped walks pools)
DATA_LIBC := $(addprefix $(DATA_DIR)/,threads tls killed)

# Without a C library. gcc, which keeps the functions that a call is expected in.
$(DATA_BARE): $(DATA_DIR)/%: tests/data/%.c tests/data/bare.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -I. -ffreestanding -fno-builtin -fno-pie -no-pie -fno-stack-protector \
	    -fno-optimize-sibling-calls -fcf-protection=none -nostdlib -static -o $@ $<
$(DATA_LIBC): $(DATA_DIR)/%: tests/data/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -pthread -o $@ $<

CHECKS += check-data
.PHONY: check-data
check-data: $(ALL) $(DATA_BARE) $(DATA_LIBC) $(COMPAT_PROGRAMS)
	@tests/data/run $(BUILD)/bin/quern $(DATA_DIR) $(or $(NAME),statics heap mapped walks pools threads tls) -- $(COMPAT_PROGRAMS)
