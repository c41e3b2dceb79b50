#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Compares what KCachegrind shows (read.py) with a profile as quern reads it (convert --to=json). Called by
tests/viewer/check: compare.py SHOWN SOURCE FACTOR PARTS; every number shown must be FACTOR times the source's.
The last line printed says what was compared, or what differs; the exit status is 0 or 1.
"""
import json
import os
import sys
from collections import Counter

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
# folder, for one. What it calls inclusive is what the callers' lines say, where there are any; of
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

if differences:
    print("\n".join(differences))
    sys.exit(1)
print(
    "%d parts, %d totals, %d functions, %d callees as in the source"
    % (parts, len(events), len(groups), callees)
)
