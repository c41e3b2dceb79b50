# SPDX-License-Identifier: MIT
"""The pytest plugin, in sessions of its own. The program is a shell that counts to N: twice as far
is more expensive by far more than a tenth, and the same N is not (the instruction counts of a shell
that is started the same way repeat to far less than that)."""
import os
import pathlib
import subprocess

import pytest

TEST = """
import os
import pathlib
import subprocess
def test_counts(quern_run):
    n = os.environ["N"]
    profile = quern_run(["dash", "-c", "i=0; while [ $i -lt $1 ]; do i=$((i+1)); done", "x", n],
                        options=["--cache-sim=no"])
    assert profile.value("Ir") > 1000 * int(n) / 10
"""


@pytest.fixture
def session(pytester, monkeypatch):
    # The folder of a session is its own; the package is found where this one found it.
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(test_shell=TEST)

    def run(n, *options):
        monkeypatch.setenv("N", str(n))
        return pytester.runpytest_subprocess("-p", "quern.pytest_plugin", "-p",
                                             "no:cacheprovider", *options)

    return run


def test_baseline_and_limits(session, pytester):
    session(2000, "--quern-update").assert_outcomes(passed=1)
    assert os.listdir(pytester.path / "quern-baseline") == ["test_shell.py_test_counts.out"]
    session(2000, "--quern-fail-if=Ir>+10%").assert_outcomes(passed=1)
    result = session(4000, "--quern-fail-if=Ir>+10%", "--quern-fail-if=Ir>+1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*limit exceeded: Ir>+10%: Ir was * and is * (+*%)*",
                                 "*limit exceeded: Ir>+1: Ir was * and is * (+*%)*",
                                 "*DIFFERENCE*"])
    session(4000).assert_outcomes(passed=1)


def test_absolute_limits(session):
    session(1, "--quern-update").assert_outcomes(passed=1)
    session(1, "--quern-fail-if=Ir>1000").assert_outcomes(failed=1)
    session(1, "--quern-fail-if=Ir<1000").assert_outcomes(passed=1)


def test_no_baseline(session):
    result = session(1, "--quern-fail-if=Ir>+5%", "--quern-baseline=elsewhere")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*elsewhere/test_shell.py_test_counts.out: not there; pytest --quern-update makes it*"])


def test_a_limit_that_is_none(session):
    session(1, "--quern-update").assert_outcomes(passed=1)
    result = session(1, "--quern-fail-if=Ir")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--fail-if=Ir: must be *EVENT, one of > >= < <=*"])


def test_no_quern(session):
    result = session(1, "--quern-program=no-such-quern")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no-such-quern: not found; install Quern, or name it with *"])


def test_a_program_that_fails_and_names(pytester, session):
    pytester.makepyfile(test_shell="""
        def test_false(quern_run):
            quern_run(["false"])

        def test_unchecked(quern_run):
            assert quern_run(["false"], check=False).value("Ir") > 0

        def test_twice(quern_run):
            quern_run(["true"])
            quern_run(["true"], name="b")
            quern_run(["true"], name="b")
    """)
    result = session(1)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*false: exit status 1*", "*test_twice.b.out' twice; name the *"])


def test_installed(pytester, monkeypatch):
    """pytest itself finds the package of `make install-python`, under its version."""
    root = pathlib.Path(__file__).resolve().parents[2]
    site = pytester.path / "site"
    subprocess.run(["make", "-s", "-C", root, "install-python", f"PYTHONDIR={site}"], check=True,
                   stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
    monkeypatch.setenv("PYTHONPATH", str(site))
    pytester.makepyfile("""
        import importlib.metadata, quern, pathlib
        def test_version(quern_run):
            version = importlib.metadata.version("quern")
            folder = pathlib.Path(quern.__file__).parent
            assert (folder.parent / f"quern-{version}.dist-info" / "METADATA").exists()
            assert (folder / "py.typed").exists()
            assert quern_run(["true"]).totals[0] > 0
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
