# SPDX-License-Identifier: MIT
#
# The only Makefile. It has the targets that people type and the order of the build; each folder's
# fragment mk/<folder>.mk says what is built there (see mk/README.md). `make` alone never
# installs anything: only targets that say so below call scripts/deps.

MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

VERSION := 0.1.0

include mk/common.mk
include $(filter-out mk/common.mk,$(sort $(wildcard mk/*.mk)))

# ---- Watched variables: another compiler or other flags rebuild the objects ----
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),all)),)
flags_now := $(strip $(CC) $(HOST_CFLAGS) $(ASAN_CFLAGS) $(FLAGS_WATCH) $(CPPFLAGS) $(CFLAGS))
ifneq ($(file <$(FLAGS_STAMP)),$(flags_now))
$(shell mkdir -p $(dir $(FLAGS_STAMP)))
$(file >$(FLAGS_STAMP),$(flags_now))
endif
endif

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# Parallel by default where the user did not say: as many jobs as processors.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

.PHONY: all
all: $(ALL)
	@:

# ---- The two commands ----
# Both start a second make after scripts/deps, since fragments look at the machine while make reads them.
.PHONY: run run-build check check-built check-now
run:
	@scripts/deps build
	+@$(MAKE) --no-print-directory $(jobs) run-build
	@BUILD='$(BUILD)' scripts/run

run-build: all $(BUILD)/bench/example
	@:

check:
	@scripts/deps check
	+@$(MAKE) --no-print-directory $(jobs) CHECK_BUILT=yes check-built
	+@$(MAKE) --no-print-directory check-now

# One make builds everything that the checks need: later two checks run at a time, each by its own
# make, and both would write the same files. The recipes of the checks are not executed here.
ifdef CHECK_BUILT
$(CHECKS): private SHELL := /bin/true
endif
check-built: all $(or $(T),$(CHECKS))
	@:

# T=check-unit runs only that target; TIMEOUT is the number of seconds that one target may take,
# JOBS how many are run at a time.
# The longest go first, so none runs alone at the end.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); echo $$((n < 4 ? n : 4)))
LONGEST := check-cli check-report check-cli-engine check-state check-compilers check-cli-counts check-guest check-calls check-faults \
    check-cli-profile check-programs check-peers check-symbols check-trace check-control check-rights check-data
in_order = $(foreach c,$(LONGEST),$(filter $(c),$(CHECKS))) $(filter-out $(LONGEST),$(CHECKS))
check-now:
	+@MAKE='$(MAKE)' BUILD='$(BUILD)' scripts/check -j $(JOBS) $(if $(TIMEOUT),-t $(TIMEOUT)) \
	    $(or $(T),$(in_order))

$(BUILD)/bench/example: bench/example.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g -fno-inline $(WARNINGS) $(WERROR_FLAG) -o $@ $<

# ---- Checks of the tree itself ----
.PHONY: check-headers check-house check-compilers check-install format-check
CHECKS += check-headers check-house check-compilers

HEADER_CFLAGS_engine ?= -I$(ZYDIS_SRC)/include -DZYAN_NO_LIBC -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD
headers := $(sort $(shell find include engine sim share machine profile symbols report finish cli -name '*.h' 2>/dev/null))
check-headers:
	@n=0; bad=0; for h in $(headers); do n=$$((n+1)); \
	    case $$h in engine/*) flags='$(HEADER_CFLAGS_engine)' ;; *) flags= ;; esac; \
	    if printf '#include "%s"\n' "$$h" | $(CC) $(HOST_CFLAGS) $$flags \
	        -Werror -fsyntax-only -x c - 2>$(BUILD)/header.err; then echo "ok $$n - $$h compiles alone"; \
	    else echo "not ok $$n - $$h compiles alone"; sed 's/^/# /' $(BUILD)/header.err; bad=1; fi; done; \
	    rm -f $(BUILD)/header.err; echo "1..$$n"; exit $$bad

check-house: all
	@BUILD='$(BUILD)' scripts/test-house

# The compilers' whole build: in folders of its own, so the objects of the ordinary build stay.
check-compilers:
	+@MAKE='$(MAKE)' BUILD='$(BUILD)' CC='$(CC)' scripts/test-compilers

# Where there is something to install.
ifneq ($(filter $(BUILD)/bin/quern,$(ALL)),)
CHECKS += check-install
endif
check-install: all
	+@MAKE='$(MAKE)' BUILD='$(BUILD)' CC='$(CC)' VERSION='$(VERSION)' scripts/test-install

format-check:
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')

# ---- Targets that fragments define; without the fragment they print why ----
# bench/ and fuzz/ are folders: to make, a target of that name without a rule would be up to date.
later := bench soak fuzz bench-tools
here := $(patsubst %:,%,$(shell grep -ohE '^[a-z-]+:' mk/*.mk))
.PHONY: $(later)
$(filter-out $(here),$(later)):
	@echo 'make: $@: no fragment of mk/ defines it in this tree' >&2; exit 2

# ---- Installation ----
# Everything of ALL below bin/ and libexec/quern/ and lib/libquern.* is installed, and what
# fragments put in INSTALL_*. What is removed need not be built.
.PHONY: install uninstall
install uninstall:
	@DESTDIR='$(DESTDIR)' BUILD='$(BUILD)' VERSION='$(VERSION)' PREFIX='$(PREFIX)' BINDIR='$(BINDIR)' \
	    LIBDIR='$(LIBDIR)' LIBEXECDIR='$(LIBEXECDIR)' INCLUDEDIR='$(INCLUDEDIR)' MANDIR='$(MANDIR)' \
	    INSTALL_BIN='$(sort $(filter $(BUILD)/bin/%,$(ALL)) $(INSTALL_BIN))' \
	    INSTALL_LIBEXEC='$(sort $(filter $(BUILD)/libexec/quern/%,$(ALL)) $(INSTALL_LIBEXEC))' \
	    INSTALL_LIB='$(sort $(filter $(BUILD)/lib/libquern.%,$(ALL)) $(INSTALL_LIB))' \
	    INSTALL_HEADERS='$(sort $(wildcard include/quern/*.h) $(INSTALL_HEADERS))' \
	    INSTALL_MAN='$(sort $(wildcard docs/man/*.1) $(INSTALL_MAN))' \
	    INSTALL_SHARE='$(sort $(filter $(BUILD)/share/%,$(ALL)))' \
	    VALGRIND_NAME='$(VALGRIND_NAME)' VALGRIND_NAMES='$(VALGRIND_NAMES)' \
	    scripts/install $(if $(filter uninstall,$@),remove)
install: all

.PHONY: clean help
clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^#? \{0,1\}//p' Makefile

#? make                 build everything below build/; installs nothing
#? make run             install what is missing, build, profile bench/example.c, show the result
#? make run PROG='...'  the same with a command of your own
#? make check           install what is missing, build, run every test
#? make check T=NAME    only the check target NAME
#? make check-headers   each private header compiles alone
#? make format-check    what clang-format would change
#? make install         PREFIX=/usr/local DESTDIR= VALGRIND_NAMES=yes (as cg_annotate and the like, too)
#?                      VALGRIND_NAME=yes (as valgrind, too)
#? make uninstall       removes what was installed, by the same PREFIX and DESTDIR
#? make bench           compare with native speed and the distribution's Cachegrind
#? make bench-machine-micro  what loops take on this processor, and by a model
#? make bench-machine-ahead  what this processor loads ahead; its last level beside other programs
#? make bench-machine-drawn  how far a model is from loops that are drawn at random
#? make bench-machine-examples  install what is missing; the tables of docs/machine-examples.md
#? make bench-machine   native cycles of 64 programs, and estimates from counts beside them
#? make bench-tools     time the readers, writers and tools
#? make soak            the program tests under forced cache flushes and preemption; all modes of
#?                      check-guest, check-state, ... (soak-guest, soak-state, soak-levels)
#? make fuzz            run the fuzzers of the parsers for a while (fuzz-insn, fuzz-sim: of the
#?                      engine; fuzz-recover: of `quern recover`)
#? make mutate          plant faults one at a time, name those no test finds (FILES= N= SEED=)
#? make dist            the source archive, with what it builds from
#? make check-packages  packages of Debian and RPM, built twice, installed in a fresh system
#? make check-report-big  reports of a million functions and of 100 parts, in a browser
#? make check-report-axe  axe-core in every view of reports; takes npm and a network
#? make bench-report    how quickly reports are written, opened and used
#? make check-big       profiles of more than 4 GB: read, merge, convert
#? make check-wild      servers, virtual machines, a browser: the same answers as natively
#? make check-machines  the tests on emulated processors: AMD, old ones, 57-bit addresses
#? make check-kcachegrind  our profiles in the distribution's KCachegrind
#? make clean           remove build/
#?
#? CC=gcc|clang   CFLAGS=...   BUILD=DIR   WERROR=1   V=1 (show commands)   ZYDIS_SRC=DIR
