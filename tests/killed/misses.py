#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills runs of walk.c at random moments; the recovered profile must have the misses, too.

Usage: misses.py QUERN WALK KILLS [SEED]

Each load of WALK misses D1, and nothing else in main() refers to data, so main() has as many misses as
loads, but for those of the record that was being written: at most 16. Exit status 1 when more are lost.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time

MODES = [[f"--replay={how}"] + small for how in ("inline", "process", "split", "auto") for small in ([], ["--small-buffers"])]
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]
MOST = 16


def totals(profile, function):
    """The sums of a function's lines, by event."""
    events, sums, current = [], {}, None
    with open(profile, encoding="utf-8") as f:
        for line in f:
            if line.startswith("events: "):
                events = line.split()[1:]
            elif line.startswith("fn="):
                current = line[3:].strip()
            elif re.match(r"\d", line) and current == function:
                for event, n in zip(events, line.split()[1:]):
                    sums[event] = sums.get(event, 0) + int(n)
    return sums


def main():
    quern, walk, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 and sys.argv[4] else int(time.time())
    chance, bad = random.Random(seed), 0
    print(f"# seed {seed}")
    with tempfile.TemporaryDirectory() as work:
        for n, mode in enumerate(MODES * -(-kills // len(MODES))):
            spools = os.path.join(work, str(n))
            os.mkdir(spools)
            with subprocess.Popen([quern, "run", "-q", "--spool-dir=" + spools, "-o", work + "/out"] + CACHES + mode + [walk],
                                  stderr=subprocess.DEVNULL) as run:
                time.sleep(0.2 + chance.random() * 0.5)
                run.kill()
            left = os.listdir(spools)
            subprocess.run([quern, "recover", "-q", "-o", work + "/out", os.path.join(spools, left[0])], check=True)
            got = totals(work + "/out", "main")
            lost = got["Dr"] - got["D1mr"]
            if not 0 <= lost <= MOST:
                bad += 1
                print(f"not ok - {' '.join(mode)}: {got['Dr']} loads, {got['D1mr']} misses")
    print(f"{'not ' if bad else ''}ok - misses of runs that were killed")
    return 1 if bad else 0


sys.exit(main())
