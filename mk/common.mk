# SPDX-License-Identifier: MIT
#
# What every fragment may rely on: folders, compilers, flags, and the pattern rules for objects. The
# root Makefile includes this file before all other fragments of mk/. It builds nothing by itself
# and must not name a file of any folder. mk/README.md says how a fragment is written.

BUILD ?= build

# make's own default for CC is `cc`; a name given by the user, on the command line or in the
# environment, wins.
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
PKG_CONFIG ?= pkg-config

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man

# Source tree of Zydis; scripts/deps fills the default one.
ZYDIS_SRC ?= third_party/zydis
ZYDIS_READY := $(ZYDIS_SRC)/include/Zydis/Zydis.h
$(ZYDIS_READY):
	@echo 'make: $@: not there; run `scripts/deps build`, or name a source tree' \
	    'with ZYDIS_SRC=DIR' >&2; exit 2
# The same message when an object file is the first target.
$(ZYDIS_SRC)/src/%.c: | $(ZYDIS_READY) ;

# The same warnings for the engine and for everything hosted; both compilers stay silent under them.
WARNINGS := -Wall -Wextra -Wshadow -Wundef -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wswitch-enum -Wwrite-strings

# A warning stops the build in CI or on request, not on the machine of a user with a newer compiler.
ifneq ($(filter true 1,$(CI) $(WERROR)),)
WERROR_FLAG := -Werror
endif

HOST_BASE := -std=gnu11 $(WARNINGS) -Iinclude -I. -D_GNU_SOURCE -fPIC -fvisibility=hidden \
             -DQUERN_VERSION=\"$(VERSION)\"
# HOST_EXTRA: flags of a distribution, for all but the engine, which takes none of them.
HOST_CFLAGS := -O2 -g $(HOST_BASE) $(HOST_EXTRA)
HOST_LDFLAGS := -g
# Not optimised, with lines but without variables: profile/read/cost.c takes 0.7 s, not 1.8; and what
# an optimiser removes is checked too.
ASAN_CFLAGS := -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer $(HOST_BASE)
# For what tests execute so often that it pays: `$(call asan_objs,FILES.c): ASAN_CFLAGS += $(ASAN_OFTEN)`.
ASAN_OFTEN := -O1
# A start with dynamic libraries, relocated, is 5,200 page faults and 0.11 s of processor time; by these
# 2,900 and 0.08. gcc's static library may be a package of its own; clang's is the default.
ASAN_FIXED := -no-pie
ASAN_STATIC := $(if $(findstring clang,$(CC)),,$(if $(findstring /,$(shell $(CC) -print-file-name=libasan.a \
                 2>/dev/null)),-static-libasan -static-libubsan))
ASAN_LDFLAGS = -g -fsanitize=address,undefined $(ASAN_FIXED) $(ASAN_STATIC)

# Lists that fragments append to.
ALL :=
CHECKS :=
BENCHES :=
FLAGS_WATCH :=
INSTALL_BIN :=
INSTALL_LIBEXEC :=
INSTALL_LIB :=
INSTALL_HEADERS :=
INSTALL_MAN :=

# Holds the compilers and flags of the last build; objects depend on it, so that another CC or
# another flag rebuilds them. The root Makefile writes it after all fragments are read.
FLAGS_STAMP := $(BUILD)/obj/flags

# Quiet by default: one short line for each command; V=1 shows the commands.
ifeq ($(V),1)
Q :=
say :=
else
Q := @
say = @printf '  %-6s %s\n' '$(1)' '$(2)';
endif

# One compilation. $(1): name shown, $(2): flags. CFLAGS_<folder> and CFLAGS_<file> add to a
# folder's or a file's flags (CFLAGS_symbols := ..., CFLAGS_cli/report.c := ...); the user's
# CPPFLAGS and CFLAGS come last.
define compile
$(call say,$(1),$<)
@mkdir -p $(@D)
$(Q)$(CC) $(2) $(WERROR_FLAG) $(CFLAGS_$(patsubst %/,%,$(dir $<))) $(CFLAGS_$<) $(CPPFLAGS) \
    $(CFLAGS) \
	-MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
endef

$(BUILD)/obj/host/%.o: %.c $(FLAGS_STAMP)
	$(call compile,CC,$(HOST_CFLAGS))

$(BUILD)/obj/asan/%.o: %.c $(FLAGS_STAMP)
	$(call compile,ASAN,$(ASAN_CFLAGS))

# Sources that another rule generated below $(BUILD)/gen/.
$(BUILD)/obj/host/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_STAMP)
	$(call compile,CC,$(HOST_CFLAGS))

$(BUILD)/obj/asan/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_STAMP)
	$(call compile,ASAN,$(ASAN_CFLAGS))

# $(call host_objs,FILES.c) and $(call asan_objs,FILES.c): the objects of these sources.
host_objs = $(patsubst %.c,$(BUILD)/obj/host/%.o,$(1))
asan_objs = $(patsubst %.c,$(BUILD)/obj/asan/%.o,$(1))

# $(call link,LIBS): links the objects and archives among the prerequisites, HOST flags.
define link
$(call say,LD,$@)
@mkdir -p $(@D)
$(Q)$(CC) $(HOST_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(1)
endef

define link_asan
$(call say,LD,$@)
@mkdir -p $(@D)
$(Q)$(CC) $(ASAN_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(1)
endef

# $(call archive): an archive of the objects among the prerequisites, the same bytes every time.
define archive
$(call say,AR,$@)
@mkdir -p $(@D)
@rm -f $@
$(Q)$(AR) rcsD $@ $(filter %.o,$^)
endef
