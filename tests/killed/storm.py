#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills runs at random moments; `quern recover` must make a profile of each that has counted.

Usage: storm.py QUERN COUNTED KILLS [SEED]

COUNTED (counted.c) records in a file how many steps of 2,000 instructions each of its processes has
executed. The recovered profile must have as many. Both the program alone and its whole process group
are killed, with and without the replayer. Prints a line for each mode; exit status 1 when
anything is lost.
"""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

MODES = [
    ["--cache-sim=no"],
    ["--replay=off"],
    ["--replay=inline"],
    ["--replay=process"],
    ["--replay=split"],
    ["--replay=auto"],
    ["--calls=yes"],
    ["--calls=yes", "--branch-sim=yes", "--separate-recs=2"],
    ["--cache-sim=no", "--calls=yes"],
    ["--replay=process", "--branch-sim=yes", "--small-buffers"],
    ["--machine=zen4", "--core-sampling=1000,20000,1000,200,3000", "--calls=yes", "--small-buffers"],
    ["--data=yes", "--curve=yes", "--data-out-file=/dev/null"],
]
SLOTS = 512
STEP = 2000


def slots(path):
    """Steps by process: (pid, steps) of each slot that has any."""
    with open(path, "rb") as f:
        data = f.read()
    for i in range(0, len(data), 16):
        pid, steps = struct.unpack_from("QQ", data, i)
        if pid and steps:
            yield pid, steps


def helpers():
    """Processes that finish the files of a killed run, without zombies."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, rest = re.search(r"\((.*)\) (\S)", f.read()).groups()
        except OSError:
            continue
        if name in ("quern-replay", "quern-bgfinish", "quern-finish", "quern-whole") and rest != "Z":
            found.append(int(pid))
    return found


def is_litter(path):
    """The spool of a fork that did not complete: no header yet. `recover` removes it after a minute."""
    with open(path, "rb") as f:
        return not f.read(8).strip(b"\0")


def total(path):
    """Ir of a profile; None if it is not one."""
    with open(path, errors="replace") as f:
        for line in f:
            if line.startswith(("summary: ", "totals: ")):
                return int(line.split()[1])
    return None


class Storm:
    def __init__(self, quern, counted, seed):
        self.quern, self.counted = quern, counted
        self.random = random.Random(seed)
        self.lost = 0

    def complain(self, folder, what):
        self.lost += 1
        print("#", what, "in", folder)

    def one(self, mode, kind):
        folder = tempfile.mkdtemp(prefix="quern-killed.")
        steps = os.path.join(folder, "steps")
        with open(steps, "wb") as f:
            f.truncate(SLOTS * 16)
        command = [self.quern, "run", "-q", "--symbol-cache=no", *mode, self.counted, steps, kind]
        run = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(self.random.uniform(0.002, 0.3))
        if self.random.random() < 0.5 or kind == "forks":
            os.killpg(run.pid, signal.SIGKILL)
        else:
            os.kill(run.pid, signal.SIGKILL)
        run.wait()
        before = self.lost
        self.recover(folder, mode + [kind])  # beside others that are at it
        deadline = time.monotonic() + 100
        while helpers() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.recover(folder, mode + [kind])
        self.look(folder, steps, mode + [kind])
        if self.lost == before:
            shutil.rmtree(folder)

    def recover(self, folder, what):
        said = subprocess.run([self.quern, "recover", "-q", "--symbol-cache=no"], cwd=folder,
                              capture_output=True, text=True, errors="replace", timeout=120)
        if said.returncode and "no quern.spool" not in said.stderr:
            self.complain(folder, f"{what}: recover ends with {said.returncode}: {said.stderr[-300:]}")

    def look(self, folder, steps, what):
        left = [n for n in os.listdir(folder) if n.startswith("quern.spool") and not
                is_litter(os.path.join(folder, n))]
        if left:
            self.complain(folder, f"{what}: left: {left}")
        for pid in {p for p, _ in slots(steps)}:
            least = sum(s for p, s in slots(steps) if p == pid) * STEP
            names = [n for n in os.listdir(folder) if re.fullmatch(rf"c\w+\.out\.{pid}", n)]
            got = [total(os.path.join(folder, n)) for n in names]
            if not got or None in got or sum(got) < least:
                self.complain(folder, f"{what}: process {pid} has made {least}, profiles {got}")


def main():
    quern, counted, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    storm = Storm(quern, counted, int(sys.argv[4]) if len(sys.argv) > 4 else time.time_ns())
    kinds = ["one", "threads", "forks"]
    each = -(-kills // (len(MODES) * len(kinds)))
    for mode in MODES:
        before = storm.lost
        for kind in kinds:
            for _ in range(each):
                storm.one(mode, kind)
        print(f"{' '.join(mode)}: {each * len(kinds)} killed, {storm.lost - before} wrong", flush=True)
    return 1 if storm.lost else 0


sys.exit(main())
