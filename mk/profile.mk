# SPDX-License-Identifier: MIT
#
# libquern: the static library the programs link, the shared one with its symbol map, quern.pc, and
# the unit tests of both (built with the sanitizers).

PROFILE_SRCS := $(sort $(wildcard profile/*/*.c))
PROFILE_LIBS := -lpcre2-8 -lz -lzstd -lpthread
PROFILE_SONAME := libquern.so.1

ALL += $(BUILD)/lib/libquern.a $(BUILD)/lib/$(PROFILE_SONAME) $(BUILD)/lib/libquern.so \
       $(BUILD)/lib/pkgconfig/quern.pc

$(BUILD)/lib/libquern.a: $(call host_objs,$(PROFILE_SRCS))
	$(call archive)

$(BUILD)/lib/libquern-asan.a: $(call asan_objs,$(PROFILE_SRCS))
	$(call archive)

$(BUILD)/lib/$(PROFILE_SONAME): $(call host_objs,$(PROFILE_SRCS)) profile/quern.map
	$(call link,-shared -Wl$(comma)-soname$(comma)$(PROFILE_SONAME) \
	    -Wl$(comma)--version-script=profile/quern.map -Wl$(comma)-z$(comma)defs $(PROFILE_LIBS))

comma := ,

$(BUILD)/lib/libquern.so: $(BUILD)/lib/$(PROFILE_SONAME)
	$(Q)ln -sfn $(PROFILE_SONAME) $@

$(BUILD)/lib/pkgconfig/quern.pc: mk/profile.mk $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' 'Name: quern' \
	    'Description: read, merge, compare and write Cachegrind and Callgrind profiles' \
	    'Version: $(VERSION)' 'Libs: -L$${libdir} -lquern' \
	    'Libs.private: $(PROFILE_LIBS)' 'Cflags: -I$${includedir}' > $@

PROFILE_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%, \
                   $(sort $(wildcard tests/unit/profile/test_*.c)))

$(PROFILE_TESTS): $(BUILD)/tests/%: $(BUILD)/obj/asan/tests/unit/%.o $(BUILD)/lib/libquern-asan.a
	$(call link_asan,$(PROFILE_LIBS) -lcmocka)

# The functions the shared library exports are those its map names and the header declares.
.PHONY: check-profile-symbols
check-profile-symbols: $(BUILD)/lib/$(PROFILE_SONAME)
	@nm -D --defined-only $< | awk '$$2 == "T" { sub(/@.*/, "", $$3); print $$3 }' | sort \
	    > $(BUILD)/exported
	@grep -oE '^ +quern_[a-z_]+;' profile/quern.map | tr -d ' ;' | sort > $(BUILD)/mapped
	@if diff $(BUILD)/mapped $(BUILD)/exported > $(BUILD)/exported.diff; then \
	    echo 'ok 1 - exported symbols'; echo 1..1; \
	else \
	    echo 'not ok 1 - exported symbols'; sed 's/^/# /' $(BUILD)/exported.diff; echo 1..1; exit 1; \
	fi

ifneq ($(PROFILE_TESTS),)
CHECKS += check-profile
.PHONY: check-profile
check-profile: $(PROFILE_TESTS)
	@status=0; for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || status=1; done; exit $$status
endif
CHECKS += check-profile-symbols

# Reading, annotating and merging beside the distribution's tools.
.PHONY: bench-tools
bench-tools: $(BUILD)/bin/quern
	@mkdir -p $(BUILD)/bench
	@profile/bench-tools $(BUILD)

# A file of more than 4 GB; minutes, 12 GB of disk: not part of make check.
.PHONY: check-big
check-big: $(BUILD)/bin/quern
	@tests/big/run $(BUILD)
