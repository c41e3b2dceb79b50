# SPDX-License-Identifier: MIT
#
# tests/data: misses by object of the data, by hand and in every mode; sums of other programs.

DATA_DIR := $(BUILD)/tests/data
DATA_BARE := $(addprefix $(DATA_DIR)/,statics heap mapped walks pools fields blocks lifetimes lineuse joined)
DATA_BARE_FLAGS := -O1 -g -I. -ffreestanding -fno-builtin -fno-pie -no-pie -fno-stack-protector \
    -fno-optimize-sibling-calls -fcf-protection=none -nostdlib -static
# The same with other forms of debug information.
DATA_FORMS := $(addprefix $(DATA_DIR)/,fields-dwarf3 fields-dwarf4 fields-split fields-units)
DATA_CC := $(addprefix $(DATA_DIR)/,classes news)
DATA_LIBC := $(addprefix $(DATA_DIR)/,threads tls sharing killed)

# Without a C library. gcc, which keeps the functions that a call is expected in.
$(DATA_BARE): $(DATA_DIR)/%: tests/data/%.c tests/data/bare.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) $(DATA_BARE_FLAGS) -o $@ $<
$(DATA_DIR)/fields-dwarf3: DATA_FORM := -gdwarf-3 -gstrict-dwarf
$(DATA_DIR)/fields-dwarf4: DATA_FORM := -gdwarf-4 -gsplit-dwarf
$(DATA_DIR)/fields-split: DATA_FORM := -gdwarf-5 -gsplit-dwarf
$(DATA_DIR)/fields-units: DATA_FORM := -gdwarf-5 -fdebug-types-section
$(DATA_FORMS): $(DATA_DIR)/fields-%: tests/data/fields.c tests/data/bare.h $(FLAGS_STAMP)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) $(DATA_BARE_FLAGS) $(DATA_FORM) -o $@ $<
$(DATA_CC): $(DATA_DIR)/%: tests/data/%.cc tests/data/bare.h $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)g++ -Wall -Wextra $(DATA_BARE_FLAGS) -fno-exceptions -fno-rtti -o $@ $<
$(DATA_LIBC): $(DATA_DIR)/%: tests/data/%.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu11 $(WARNINGS) -O1 -g -pthread -o $@ $<

DATA_NAMES := statics heap mapped walks pools fields $(notdir $(DATA_FORMS)) blocks classes news lifetimes lineuse joined \
    threads tls sharing
CHECKS += check-data
.PHONY: check-data soak-data
check-data soak-data: $(ALL) $(DATA_BARE) $(DATA_FORMS) $(DATA_CC) $(DATA_LIBC) $(COMPAT_PROGRAMS)
	@$(DATA_ALL) tests/data/run $(BUILD)/bin/quern $(DATA_DIR) $(or $(NAME),$(DATA_NAMES)) -- $(COMPAT_PROGRAMS)
# All programs in all modes.
soak: soak-data
soak-data: DATA_ALL := DATA_MODES=all
