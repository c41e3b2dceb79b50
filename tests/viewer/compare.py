#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Compares what KCachegrind shows (read.py) with a profile as quern reads it (convert --to=json), and parts and
machine code with the records of profiles as libquern reads them. Called by tests/viewer/check: compare.py SHOWN SOURCE
FACTOR PARTS [PROFILE...]; every number shown must be FACTOR times the source's. The last line printed says what was
compared, or what differs; the exit status is 0 or 1.
"""
import json
import os
import re
import sys
from collections import Counter

import quern

shown = json.load(open(sys.argv[1]))
source = json.load(open(sys.argv[2]))
factor, parts = int(sys.argv[3]), int(sys.argv[4])
differences = []


def differ(what, seen, expected):
    if seen != expected:
        differences.append("%s: KCachegrind shows %s, expected %s" % (what, seen, expected))


differ("parts", shown["parts"], parts)
# The events of the file come first, in its order; then derived ones, the file's own and
# KCachegrind's.
events = [e["name"] for e in source["events"] if e["formula"] is None]
for i, name in enumerate(events):
    differ("total of " + name, shown["totals"][i][1], source["totals"][i] * factor)

# Functions. KCachegrind takes functions of one name, in files and objects of one name without the
# folder, for one. Its inclusive cost is the sum of the callers' lines, if there are any; of
# functions that can reach themselves only the self cost is compared, since the sum of such lines
# means little, and so of files with several parts, where it does that for each part.
functions = source["functions"]
objects = any(f["object"] for f in functions)


def group(i):
    f = functions[i]
    name = f["name"] if f["name"] is not None else "(unknown)"
    where = os.path.basename(f["object"]) if f["object"] is not None else "(unknown)"
    return name, where, os.path.basename(f["file"] or "")


groups, incoming, recursive = {}, {}, set()
for i, f in enumerate(functions):
    g = groups.setdefault(group(i), [0, 0])
    g[0] += f["self"][0] * factor
    g[1] += f["self"][0] * factor
    if f["cycle"]:
        recursive.add(group(i)[:2])
for e in source["edges"]:
    caller, callee = group(e["caller"]), group(e["callee"])
    if caller == callee:
        recursive.add(caller[:2])
    groups[caller][1] += e["inclusive"][0] * factor
    incoming[callee] = incoming.get(callee, 0) + e["inclusive"][0] * factor


def costs(key, self_, inclusive):
    return self_ if parts > 1 or key in recursive else (self_, inclusive)


want, seen = {}, {}
for g, (self_, inclusive) in groups.items():
    want.setdefault(g[:2], []).append(costs(g[:2], self_, incoming.get(g, inclusive)))
for inclusive, self_, called, name, where in shown["functions"]:
    key = name, where.split(": ")[0] if objects else "(unknown)"  # else it is files alone
    seen.setdefault(key, []).append(costs(key, self_, inclusive))
for k in sorted(seen.keys() | want.keys()):
    differ("self and inclusive cost of %s in %s" % k, sorted(seen.get(k, [])), sorted(want.get(k, [])))

# Callees of one function, when one was selected.
callees = 0
if shown["callees"]:
    callers = [i for i, f in enumerate(functions) if f["name"] == "work"]
    want = Counter(
        (e["inclusive"][0] * factor, e["calls"] * factor, functions[e["callee"]]["name"])
        for e in source["edges"]
        if e["caller"] in callers
    )
    seen = Counter((cost, calls, text.split(" (")[0]) for cost, calls, text in shown["callees"])
    differ("callees of work", sorted(seen.elements()), sorted(want.elements()))
    callees = len(shown["callees"])

# The parts of `work`, and the machine code of functions: as the records of the profiles say.
records = []  # (part, name, record, name of what is called)
of_parts = {}  # inclusive, self, called
for path in sys.argv[5:]:
    profile = quern.read(path)
    names = [f.name for f in profile.functions()]
    headers = [
        "PID %d, section %d" % (p.pid, p.part) + (", thread %d" % p.thread if p.thread else "")
        for p in profile.parts
    ]
    of_parts.update((header, [0, 0, 0]) for header in headers)
    for r in profile.records():
        records.append((headers[r.part], names[r.at.function], r, r.to and names[r.to.function]))

if shown["of_parts"]:
    for header, name, r, to in records:
        if r.kind == "cost" and name == "work":
            of_parts[header][1] += r.counts[0]
        elif r.kind == "call" and to == "work":
            of_parts[header][0] += r.counts[0]
            of_parts[header][2] += r.calls
    seen = [(header, [inclusive, self_, called]) for header, inclusive, self_, called in shown["of_parts"]]
    differ("work in each part", sorted(seen), sorted(of_parts.items()))


def digits(text):
    return int(re.sub(r"\D", "", text))


def shown_code(function):
    """Costs and lines of addresses; calls and jumps, each at the address above it."""
    costs, places, calls, jumps = {}, {}, {}, {}
    at = None
    for address, cost, _, _, _, mnemonic, text, place in shown["code"][function]:
        jump = re.match(r"Jump ([\d\s]+?)(?: of ([\d\s]+))? times to 0x([0-9A-F]+)$", text)
        call = re.match(r"\s*([\d\s]+) calls? to '(.*)' \(", text)
        if address:
            at = int(address, 16)
            if cost:
                costs[at] = digits(cost)
                places[at] = place
                if not mnemonic:
                    differences.append("%s: no instruction at %x" % (function, at))
        elif jump:
            jumps[at, int(jump[3], 16)] = digits(jump[1]), jump[2] and digits(jump[2])
        elif call:  # within a cycle KCachegrind shows no cost
            calls[at, call[2]] = digits(call[1]), None if cost == "(cycle)" else digits(cost)
        else:
            differences.append("%s: a row that is neither: %s" % (function, text))
    return costs, places, calls, jumps


def code(function):
    """The same from the records."""
    costs, places, calls, jumps = {}, {}, {}, {}
    for _, name, r, to in records:
        at = r.at.addr
        if name != function:
            continue
        if r.kind == "cost" and r.counts[0]:
            costs[at] = costs.get(at, 0) + r.counts[0] * factor
            places[at] = "%s:%d" % (os.path.basename(r.at.file), r.at.line)
        elif r.kind == "call":
            count, cost = calls.get((at, to), (0, 0))
            calls[at, to] = count + r.calls * factor, None if to == name else cost + r.counts[0] * factor
        elif r.kind in ("jump", "jcnd"):
            followed, executed = jumps.get((at, r.to.addr), (0, 0))
            executed = executed + r.executed * factor if r.kind == "jcnd" else None
            jumps[at, r.to.addr] = followed + r.calls * factor, executed
    return costs, places, calls, jumps


rows = 0
for function in shown["code"]:
    seen_code, want_code = shown_code(function), code(function)
    for what, seen, want in zip(("costs", "lines", "calls", "jumps"), seen_code, want_code):
        for key in sorted(seen.keys() | want.keys()):
            places = key if what in ("calls", "jumps") else (key,)
            where = " to ".join(p if isinstance(p, str) else "%x" % p for p in places)
            differ("%s of %s at %s" % (what, function, where), seen.get(key), want.get(key))
    costs, _, calls, jumps = want_code
    rows += len(costs) + len(calls) + len(jumps)
    # By hand: program.c fills a table of 512 words in 20 rounds, in each of two threads. Whichever
    # way round the compiler has turned the loop, one conditional jump is executed for each word, and
    # ends it once a round.
    if function == "fill" and not {(40, 20480), (20440, 20480)} & set(seen_code[3].values()):
        differences.append("fill: no jump ends the loop 40 times of 20480: %s" % seen_code[3])

if differences:
    print("\n".join(differences))
    sys.exit(1)
print(
    "%d parts, %d totals, %d functions, %d callees, %d rows of machine code as in the source"
    % (parts, len(events), len(groups), callees, rows)
)
