# SPDX-License-Identifier: MIT
#
# The source archive, and the packages of Debian and RPM made of it (packaging/README.md). None of
# this is part of `make check`: check-packages builds everything several times.

DIST := $(BUILD)/dist/quern-$(VERSION).tar.xz

.PHONY: dist
dist: $(ZYDIS_READY)
	@ZYDIS_SRC='$(ZYDIS_SRC)' MAINTAINER='$(MAINTAINER)' packaging/dist '$(VERSION)' '$(DIST)'

.PHONY: check-packages
check-packages:
	@scripts/deps packages
	+@MAKE='$(MAKE)' BUILD='$(BUILD)' VERSION='$(VERSION)' packaging/check
