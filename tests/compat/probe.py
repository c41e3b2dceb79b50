#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Usage: tests/compat/probe.py SETUP INSTRUCTION [AFTER]

Says what Cachegrind counts for one instruction, and which references Valgrind's lackey sees for it, in order: how
reference-model.md was measured. SETUP and AFTER are instructions separated by `;`, run in blocks of their own before
and after. There are `mem` and `mem2` (4 KiB each), a stack, and a label `7:` if AFTER has one.

    tests/compat/probe.py 'lea mem(%rip), %rdi; mov $3, %ecx' 'rep stosb'
    tests/compat/probe.py 'cmp %eax, %eax' 'jz 7f' 'nop; 7:'
"""

import os
import re
import subprocess
import sys
import tempfile

SOURCE = """
        .data
        .globl  initialised
initialised:
        .quad   1
        .align  4096
mem:    .fill   4096, 1, 0x11
mem2:   .fill   4096, 1, 0x22
        .bss
        .align  4096
        .fill   8192
stack:  .fill   64
        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
{setup}
        jmp     8f
8:
probe_begin: {instruction}
probe_end:
{after}
        mov     $60, %eax
        xor     %edi, %edi
        syscall
"""


def lines(text):
    return "\n".join("        " + part.strip() for part in text.split(";") if part.strip())


def valgrind(tool, *options):
    return ["valgrind", "--tool=" + tool, "--vex-guest-chase=no", *options, "./probe"]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    source = SOURCE.format(
        setup=lines(sys.argv[1]), instruction=sys.argv[2], after=lines("".join(sys.argv[3:]))
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("probe.s", "w") as f:
            f.write(source)
        subprocess.run("gcc -g -nostdlib -static -o probe probe.s".split(), check=True)
        symbols = {}
        for line in subprocess.run(["nm", "probe"], capture_output=True, text=True).stdout.splitlines():
            value, _, name = line.split()
            symbols[name] = int(value, 16)

        options = ("--cache-sim=yes", "--branch-sim=yes", "--cachegrind-out-file=out")
        run = subprocess.run(valgrind("cachegrind", *options), capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        wanted = source.splitlines().index("probe_begin: " + sys.argv[2]) + 1
        with open("out") as f:
            for line in f:
                if line.startswith("events:"):
                    events = line.split()[1:]
                elif line.startswith("%d " % wanted):
                    counts = zip(events, line.split()[1:])
                    print(" ".join("%s=%s" % (e, c) for e, c in counts if c != "0"))

        run = subprocess.run(valgrind("lackey", "--trace-mem=yes"), capture_output=True, text=True)
        inside = False
        for line in run.stderr.splitlines():
            m = re.match(r"(I | L| S| M) +([0-9a-f]+),(\d+)$", line)
            if not m:
                continue
            kind, address, size = m.group(1).strip(), int(m.group(2), 16), m.group(3)
            if kind == "I":
                inside = symbols["probe_begin"] <= address < symbols["probe_end"]
            if inside:
                places = [n for n in ("mem", "mem2", "stack") if symbols[n] - 256 <= address]
                near = min(places, key=lambda n: abs(symbols[n] - address), default=None)
                where = "%s%+d" % (near, address - symbols[near]) if near and kind != "I" else ""
                print("%-2s %s %s" % ({"I": "I", "L": "R", "S": "W", "M": "RW"}[kind], size, where))


main()
