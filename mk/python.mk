# SPDX-License-Identifier: MIT
#
# python/: libquern for Python. Nothing is built; its tests use the distribution's Python, whose
# packages scripts/deps installs, whichever python3 comes first in PATH.

PYTHON ?= /usr/bin/python3
# Below PREFIX, where Debian's Python looks for what is installed.
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
PYTHON_FILES := $(sort $(wildcard python/quern/*.py)) python/quern/py.typed

CHECKS += check-python
.PHONY: check-python
check-python: $(BUILD)/bin/quern $(BUILD)/lib/libquern.so.1 $(BUILD)/libexec/quern/quern-engine
	@PYTHONPATH='$(CURDIR)/python' PYTHONDONTWRITEBYTECODE=1 QUERN='$(abspath $<)' \
	    QUERN_LIBRARY='$(abspath $(BUILD))/lib/libquern.so.1' \
	    $(PYTHON) -m pytest -p no:cacheprovider tests/python

# The package, and beside it what tells Python its version and pytest of the plugin.
PYTHON_INFO := $(PYTHONDIR)/quern-$(VERSION).dist-info
.PHONY: install-python uninstall-python
uninstall-python:
	@rm -f $(PYTHON_FILES:python/quern/%='$(DESTDIR)$(PYTHONDIR)/quern/%')
	@rm -rf '$(DESTDIR)$(PYTHONDIR)/quern/__pycache__' '$(DESTDIR)$(PYTHON_INFO)'
	@if [ -d '$(DESTDIR)$(PYTHONDIR)/quern' ]; then \
	    rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(PYTHONDIR)/quern'; fi
	@printf '  REMOVE  %s\n' '$(DESTDIR)$(PYTHONDIR)/quern' '$(DESTDIR)$(PYTHON_INFO)'

install-python:
	@mkdir -p '$(DESTDIR)$(PYTHONDIR)/quern' '$(DESTDIR)$(PYTHON_INFO)'
	@install -m 644 $(PYTHON_FILES) '$(DESTDIR)$(PYTHONDIR)/quern/'
	@printf '%s\n' 'Metadata-Version: 2.1' 'Name: quern' 'Version: $(VERSION)' \
	    'Summary: read, merge, compare and write Cachegrind and Callgrind profiles' \
	    'License: MIT' 'Requires-Python: >=3.8' >'$(DESTDIR)$(PYTHON_INFO)/METADATA'
	@printf '%s\n' '[pytest11]' 'quern = quern.pytest_plugin' \
	    >'$(DESTDIR)$(PYTHON_INFO)/entry_points.txt'
	@printf '  INSTALL %s\n' '$(DESTDIR)$(PYTHONDIR)/quern' '$(DESTDIR)$(PYTHON_INFO)'
