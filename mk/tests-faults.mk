# SPDX-License-Identifier: MIT
#
# What fails on request (tests/faults): memory, descriptors, reads and writes. The calls of our own
# objects go through tests/faults/inject.c; those that libraries make among themselves do not.

FAULTS_WRAPPED := malloc calloc realloc strdup strndup vasprintf realpath getcwd free mmap open \
    openat dup mkostemp mkstemp memfd_create fopen opendir close read pread write rename \
    pthread_create _exit execv time
FAULTS_WRAP := $(addprefix -Wl$(comma)--wrap=,$(FAULTS_WRAPPED))
FAULTS_INJECT := $(BUILD)/obj/asan/tests/faults/inject.o

FAULTS_UNITS := $(BUILD)/tests/profile/test_faults $(BUILD)/tests/report/test_faults \
    $(BUILD)/tests/symbols/test_faults

# `override`: also where LDFLAGS is given to make.
$(FAULTS_UNITS): override LDFLAGS += $(FAULTS_WRAP)
$(FAULTS_UNITS): $(FAULTS_INJECT)

# Not with a static libasan, whose own calls would be wrapped.
$(FAULTS_UNITS) $(BUILD)/tests/quern-faults: ASAN_STATIC :=
# It asks for its own symbols, as of a module that was moved.
$(BUILD)/tests/symbols/test_faults: ASAN_FIXED :=

# The whole program with AddressSanitizer, whose calls fail as the environment says.
$(BUILD)/tests/quern-faults: $(call asan_objs,$(CLI_SRCS) $(CLI_MACHINE) sim/cache.c $(SYMBOLS_SRCS)) $(CLI_ZYDIS) \
                             $(BUILD)/lib/libquern-report-asan.a $(BUILD)/lib/libquern-asan.a \
                             $(FAULTS_INJECT)
	$(call link_asan,$(FAULTS_WRAP) $(sort $(CLI_LIBS) $(PROFILE_LIBS)) $(SYMBOLS_LIBS))

ifneq ($(REPORT_TOOLS),)
$(BUILD)/tests/quern-faults: $(REPORT_PAGE_O)
endif

CHECKS += check-faults
.PHONY: check-faults
check-faults: $(BUILD)/tests/quern-faults $(BUILD)/tests/cli_engine
	@tests/faults/run $(BUILD)
