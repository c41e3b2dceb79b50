# SPDX-License-Identifier: MIT
"""Shared by the tests of python/; TAP on standard output in place of pytest's report.

QUERN is the program, QUERN_LIBRARY the shared library: mk/python.mk sets both.
"""
import os
import pathlib
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def golden():
    return ROOT / "tests" / "golden"


@pytest.fixture
def quern_command():
    """Runs quern and returns its standard output; its remarks are tested elsewhere."""

    def run(*arguments, status=(0,)):
        done = subprocess.run([os.environ["QUERN"], *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode in status, done.stderr
        return done.stdout

    return run


# ---- TAP ----

_count = 0


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    # Its options stay: other parts of pytest read them.
    config.pluginmanager.unregister(name="terminalreporter")


def pytest_collection_finish(session):
    print(f"1..{len(session.items)}", flush=True)


def pytest_collectreport(report):
    if report.failed:
        print("# " + str(report.longrepr).replace("\n", "\n# "), flush=True)


def pytest_runtest_logreport(report):
    global _count
    if report.when != "call" and not report.failed and not report.skipped:
        return
    _count += 1
    name = report.nodeid.split("/")[-1]
    if report.skipped:
        print(f"ok {_count} - {name} # SKIP {report.longrepr[2]}", flush=True)
    else:
        print(f"{'not ' if report.failed else ''}ok {_count} - {name}", flush=True)
    if report.failed:
        print("# " + report.longreprtext.replace("\n", "\n# "), flush=True)
    sys.stdout.flush()
