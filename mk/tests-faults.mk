# SPDX-License-Identifier: MIT
#
# What fails on request (tests/faults): memory, descriptors, reads and writes. The calls of our own
# objects go through tests/faults/inject.c; those that libraries make among themselves do not.

FAULTS_WRAPPED := malloc calloc realloc strdup strndup vasprintf realpath getcwd free mmap open openat \
    dup mkostemp mkstemp memfd_create fopen opendir close read pread write rename pthread_create
FAULTS_WRAP := $(addprefix -Wl$(comma)--wrap=,$(FAULTS_WRAPPED))
FAULTS_INJECT := $(BUILD)/obj/asan/tests/faults/inject.o

$(BUILD)/tests/profile/test_faults: LDFLAGS += $(FAULTS_WRAP)
$(BUILD)/tests/profile/test_faults: $(FAULTS_INJECT)
