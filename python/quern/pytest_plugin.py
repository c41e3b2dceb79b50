# SPDX-License-Identifier: MIT
"""A pytest plugin: programs run in tests must not become more expensive.

    def test_sort(quern_run):
        profile = quern_run(["./sort", "big.txt"])   # a quern.Profile
        assert profile.value("Ir") > 0

    pytest --quern-update                            # keeps the profiles as the baseline
    pytest --quern-fail-if='Ir>+5%'                  # fails where Ir grew by more than 5 %

Limits are those of `quern diff --fail-if`, which does the comparison. Once installed, pytest finds
the plugin by its entry point; elsewhere: pytest -p quern.pytest_plugin.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, List, Sequence, Union

import pytest

from . import Profile, read

Word = Union[str, "os.PathLike[str]"]


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("quern", "profiles of the programs that tests run")
    group.addoption("--quern-fail-if", action="append", default=[], metavar="LIMIT",
                    help="fail where a profile exceeds the limit, as of quern diff: 'Ir>+5%%', "
                         "'main:Ir>+1000', 'Ir>5000000'; may be repeated")
    group.addoption("--quern-baseline", default="quern-baseline", metavar="DIR",
                    help="the profiles to compare with [%(default)s, below the root folder]")
    group.addoption("--quern-update", action="store_true",
                    help="keep the profiles as the baseline, compare nothing")
    group.addoption("--quern-program", default=os.environ.get("QUERN", "quern"), metavar="FILE",
                    help="the program quern [$QUERN, or quern]")


class QuernRun:
    """The fixture quern_run: runs programs and compares their profiles with the baseline."""

    def __init__(self, config: Any, nodeid: str, folder: Path) -> None:
        self._config = config
        self._test = re.sub(r"[^A-Za-z0-9_.-]+", "_", nodeid)
        self._folder = folder
        self._names: List[str] = []

    def __call__(self, command: Sequence[Word], *, name: str = "", options: Sequence[str] = (),
                 check: bool = True, **arguments: Any) -> Profile:
        """Runs the command under `quern run OPTIONS` and returns its profile.

        A test that runs several programs gives them names. With check an exit status other than
        0 fails the test; further arguments are those of subprocess.run().
        """
        file = f"{self._test}{'.' if name else ''}{name}.out"
        if file in self._names:
            pytest.fail(f"quern_run: '{file}' twice; name the runs of a test: quern_run(..., "
                        "name='second')", pytrace=False)
        self._names.append(file)
        profile = self._folder / file
        done = subprocess.run(
            [self._program(), "run", "-q", f"--cachegrind-out-file={_literal(profile)}", *options,
             "--", *command], **arguments)
        if check and done.returncode != 0:
            pytest.fail(f"{' '.join(map(str, command))}: exit status {done.returncode}",
                        pytrace=False)
        self._compare(profile)
        return read(profile)

    def _program(self) -> str:
        program: str = self._config.getoption("quern_program")
        if not shutil.which(program):
            pytest.fail(f"{program}: not found; install Quern, or name it with --quern-program",
                        pytrace=False)
        return program

    def _compare(self, profile: Path) -> None:
        baseline = Path(self._config.rootpath, self._config.getoption("quern_baseline"),
                        profile.name)
        limits = self._config.getoption("quern_fail_if")
        if self._config.getoption("quern_update"):
            baseline.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(profile, baseline)
        elif limits:
            if not baseline.exists():
                pytest.fail(f"{baseline}: not there; pytest --quern-update makes it",
                            pytrace=False)
            self._diff(baseline, profile, limits)

    def _diff(self, baseline: Path, profile: Path, limits: Sequence[str]) -> None:
        done = subprocess.run(
            [self._program(), "diff", *(f"--fail-if={limit}" for limit in limits), "--",
             str(baseline), str(profile)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="surrogateescape")
        if done.returncode == 0:
            return
        changed = "\n".join(done.stdout.splitlines()[:40]) if done.returncode == 1 else ""
        pytest.fail(f"{done.stderr}{changed}", pytrace=False)


def _literal(path: Path) -> str:
    return str(path).replace("%", "%%")


@pytest.fixture
def quern_run(request: Any, tmp_path: Path) -> QuernRun:
    """Runs a program under quern; see QuernRun."""
    return QuernRun(request.config, request.node.nodeid, tmp_path)
