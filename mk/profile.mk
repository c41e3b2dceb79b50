# SPDX-License-Identifier: MIT
# libquern: the static library the programs link, the shared one with its symbol map, and quern.pc.

PROFILE_SRCS := $(sort $(wildcard profile/*.c))
PROFILE_OBJS := $(PROFILE_SRCS:%.c=$(BUILD)/obj/%.o)
PROFILE_LIBS := -lpcre2-8 -lz -lzstd -lpthread
QUERN_VERSION ?= 0.1.0
QUERN_SOVERSION := 0
LIBQUERN_A  := $(BUILD)/lib/libquern.a
LIBQUERN_SO := $(BUILD)/lib/libquern.so.$(QUERN_SOVERSION)

ALL += $(LIBQUERN_A) $(LIBQUERN_SO) $(BUILD)/lib/libquern.so $(BUILD)/lib/pkgconfig/quern.pc

PROFILE_CFLAGS := -D_GNU_SOURCE -fPIC -fvisibility=hidden -Iinclude -I.

$(PROFILE_OBJS): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(PROFILE_CFLAGS) -MMD -MP -c -o $@ $<

-include $(PROFILE_OBJS:.o=.d)

$(LIBQUERN_A): $(PROFILE_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(PROFILE_OBJS)

$(LIBQUERN_SO): $(PROFILE_OBJS) profile/quern.map
	@mkdir -p $(@D)
	$(CC) $(HOST_LDFLAGS) -shared -Wl,-soname,libquern.so.$(QUERN_SOVERSION) \
	    -Wl,--version-script=profile/quern.map -Wl,-z,defs -o $@ $(PROFILE_OBJS) $(PROFILE_LIBS)

$(BUILD)/lib/libquern.so: $(LIBQUERN_SO)
	ln -sf $(notdir $<) $@

$(BUILD)/lib/pkgconfig/quern.pc: mk/profile.mk
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(or $(PREFIX),/usr/local)' 'libdir=$${prefix}/lib' \
	    'includedir=$${prefix}/include' '' 'Name: quern' \
	    'Description: read, merge, compare and write Cachegrind and Callgrind profiles' \
	    'Version: $(QUERN_VERSION)' 'Libs: -L$${libdir} -lquern' \
	    'Libs.private: $(PROFILE_LIBS)' 'Cflags: -I$${includedir}' > $@
