# SPDX-License-Identifier: MIT
"""Every number of every golden profile: as `quern convert --to=json` prints it, and the totals as
tests/golden/expect.txt has them, where they were added up by hand."""
import collections
import fractions
import json
import pathlib

import pytest

import quern

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
EXPECTED = [line.split("|") for line in (GOLDEN / "expect.txt").read_text().splitlines()
            if not line.startswith("#")]


def shown(text):
    """As JSON shows it: bytes that are not UTF-8 become U+FFFD, one each."""
    if text is None:
        return None
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)


def from_json(text):
    return json.loads(text, parse_float=fractions.Fraction)


def listed(p):
    """The profile in the shape of docs/json-schema.md, made of what Python says."""
    derived = [e for e in p.events if e.derived]
    data = {
        "format": "quern-profile",
        "version": 1,
        "parts": [{"cmd": shown(x.cmd), "creator": shown(x.creator), "pid": x.pid,
                   "part": x.part, "thread": x.thread, "desc": [shown(d) for d in x.desc]}
                  for x in p.parts],
        "events": [{"name": shown(e.name), "long_name": shown(e.long_name),
                    "formula": shown(e.formula)}
                   for e in p.events if not e.derived or e.formula],
        "totals": list(p.totals),
        "functions": [{"object": shown(f.object), "file": shown(f.file), "name": shown(f.name),
                       "called": f.called, "cycle": f.cycle, "self": list(f.self),
                       "inclusive": list(f.inclusive)} for f in p.functions()],
        "edges": [{"caller": c.caller, "callee": c.callee, "calls": c.calls,
                   "inclusive": list(c.inclusive)} for c in p.calls()],
        "lines": [{"part": r.part, "function": r.at.function, "file": shown(r.at.file),
                   "line": r.at.line, **({"addr": r.at.addr} if p.has_addresses else {}),
                   "self": list(r.counts)} for r in p.records() if r.kind == "cost"],
    }
    assert all(e.index >= len(p.totals) for e in derived)
    return data


@pytest.mark.parametrize("file", [row[0] for row in EXPECTED if row[3]])
def test_every_number(file, quern_command):
    """Also lines() and instructions(): they are the lines of the JSON, added up here."""
    data = from_json(quern_command("convert", "--to=json", GOLDEN / file))
    lines, instructions = collections.OrderedDict(), collections.OrderedDict()
    for x in data["lines"]:
        for sums, key in ((lines, (x["function"], x["file"], x["line"])),
                          (instructions, (x["function"], x.get("addr"), x["file"], x["line"]))):
            old = sums.setdefault(key, [0] * len(x["self"]))
            sums[key] = [a + b for a, b in zip(old, x["self"])]
    with quern.read(GOLDEN / file) as p:
        assert listed(p) == data
        assert [((x.function, shown(x.file), x.line), list(x.self)) for x in p.lines()] == \
            list(lines.items())
        assert [((x.function, x.addr, shown(x.file), x.line), list(x.self))
                for x in p.instructions()] == (list(instructions.items())
                                               if p.has_addresses else [])
        parts = [sum((x.self[0] for x in p.lines(part=part.index)), 0) for part in p.parts]
        assert sum(parts) == p.totals[0]


@pytest.mark.parametrize("row", EXPECTED, ids=[row[0] for row in EXPECTED])
def test_totals_by_hand(row):
    file, format_, parts, totals, remarks = row
    with quern.read(GOLDEN / file) as p:
        assert p.format == format_
        assert len(p.parts) == int(parts)
        said = [f"{e.name}={plain(p.value(e))}" for e in p.events if not e.derived or e.formula]
        assert " ".join(said) == totals
        assert sorted({r.kind for r in p.remarks}) == \
            sorted(set(remarks.split(",")) if remarks != "-" else [])


def plain(number):
    """123456789/10**9 as 0.123456789."""
    if isinstance(number, int):
        return str(number)
    nano = number * 10**9
    assert nano.denominator == 1
    whole, rest = divmod(abs(nano.numerator), 10**9)
    text = f"{whole}.{rest:09}".rstrip("0").rstrip(".")
    return f"-{text}" if nano < 0 else text


def test_the_list_is_complete():
    files = {f.name for f in GOLDEN.iterdir() if "grind" in f.name}
    assert files == {row[0] for row in EXPECTED}
