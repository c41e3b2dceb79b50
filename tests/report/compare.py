# SPDX-License-Identifier: MIT
"""The comparisons of check.py: numbers of the page, of its worker, and of `quern convert`. Its arguments are those of check.py."""
import json
import os
import re
import subprocess
import sys
import urllib.parse
from decimal import Decimal

QUERN, FOLDER = sys.argv[1:3]
NONE = 0xFFFFFFFF
LARGE = 200  # functions of a large profile that are compared
counts = {"tests": 0, "failures": 0}


def test(name, faults):
    counts["tests"] += 1
    print(("not ok" if faults else "ok"), counts["tests"], "-", name)
    for fault in faults[:5]:
        print("#", str(fault)[:600])
    counts["failures"] += bool(faults)
    sys.stdout.flush()


def quern(*args):
    done = subprocess.run([QUERN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def as_json(path, *more):
    status, out, _ = quern("convert", "--to=json", *more, path)
    return json.loads(out, parse_float=Decimal) if status == 0 else None


def shown(text):
    """A number as the page shows it."""
    return Decimal(text.replace(",", ""))


def key(function):
    return (function["object"] or "", function["file"] or "", function["name"] or "")


def compare(what, got, wanted, faults):
    if got != wanted:
        faults.append("%s: %s, wanted %s" % (what, got, wanted))


def exact(value, scale):
    return Decimal(value["exact"]) / scale


def compare_summary(browser, profile, faults):
    events = [e for e in profile["events"] if not e["formula"]]
    # Counted events come first; a derived one may have the name of one of them.
    for i, (event, total) in enumerate(zip(events, profile["totals"])):
        text = browser.run("return document.querySelector('#quern-totals [data-q=\"total:%d:0:0\"]').textContent" % i)
        compare("total of " + event["name"], shown(text), Decimal(total), faults)
    return events


def compare_rows(rows, profile, events, scales, faults):
    compare("functions", len(rows), len(profile["functions"]), faults)
    for function in profile["functions"]:
        row = rows.get(key(function))
        if row is None:
            faults.append("no function %s" % (key(function),))
            continue
        for i in range(len(events)):
            for field in ("inclusive", "self"):
                compare("%s of %s" % (field, key(function)), exact(row[field][i][0], scales[i]),
                        Decimal(function[field][i]), faults)
        compare("called %s" % (key(function),), row["called"][0]["exact"], str(function["called"]), faults)


# ---- The numbers in the page ----

def wanted_value(what, event, side, number, known):
    """The expected value of a number in the page (data-q): exact and scale, or a double."""
    rows, edges, summary = known
    scale = summary["events"][event]["scale"]
    if what == "total":
        return summary["events"][event]["total"], scale
    if what in ("self", "incl"):
        return rows[int(number)]["self" if what == "self" else "inclusive"][event], scale
    if what == "called":
        return rows[int(number)]["called"], 1
    if what in ("edge", "calls"):
        edge = edges[tuple(int(n) for n in number.split("-"))]
        return (edge["cost"][event], scale) if what == "edge" else (edge["calls"], 1)
    if what in ("funcline", "funcsite"):
        return None, None  # compared as a sum by check_inside
    if what in ("inlined", "inner", "innersite"):
        return None, None  # compared by check_unfold
    if what in ("line", "insn", "site", "insnsite"):
        # Raw line numbers of both sides; where they are aligned, old and new ones: "3-4".
        costs = known_places[what]
        numbers = number.split("-")
        if what in ("line", "insn"):
            new, old = (numbers * 2)[:2][::-1] if summary["base"] and what == "line" and "-" in number else (number, number)
        else:
            callee = numbers[-1]
            new, old = numbers[-2] + "-" + callee, numbers[0] + "-" + callee
        zero = {"exact": "0", "approx": 0}
        a, b = (costs.get((n, event), [zero] * 2)[s] for s, n in ((0, new), (1, old)))
        exactly = a["exact"] is not None and b["exact"] is not None
        return [a, b, {"exact": str(int(a["exact"]) - int(b["exact"])) if exactly else None,
                       "approx": (a["approx"] or 0) - (b["approx"] or 0)}], scale
    return None, None


known_places = {}


def places_of(browser, summary, file=None, func=NONE):
    """The costs of lines (of a file), instructions and sites (of a function), from the worker."""
    usable = [i for i, e in enumerate(summary["events"]) if e["total"]]
    lines, sites = {}, {}
    if file is not None:
        said = browser.ask("fileLines", browser.ask("fileOf", file), NONE, usable, 1)
        rows = [(str(l["line"]), l["values"]) for l in said["lines"]]
    else:
        said = browser.ask("funcCode", func, usable, 1)
        rows = [("%x" % int(l["addr"]), l["values"]) for l in said["at"]]
    for at, values in rows:
        for e, v in zip(usable, values):
            add_place(lines, (at, e), v)
    for site in said["sites"]:
        at = str(site["line"]) if file is not None else "%x" % int(site["addr"])
        for e, v in zip(usable, site["cost"]):
            add_place(sites, (at + "-" + str(site["callee"]["func"]), e), v)
    return lines, sites


def add_place(to, at, values):
    values = values + [{"exact": "0", "approx": 0}] * (2 - len(values))
    if at in to:
        values = [{"exact": str(int(a["exact"]) + int(b["exact"])) if a["exact"] and b["exact"] else None,
                   "approx": (a["approx"] or 0) + (b["approx"] or 0)} for a, b in zip(to[at], values)]
    to[at] = values


def compare_places(browser, known, faults, more):
    """Source of every file, all lines, assembly: each number, and all lines that have one."""
    summary = known[2]
    lines = browser.ask("lines", NONE, 1)
    usable = [i for i, e in enumerate(summary["events"]) if e["total"]]
    files = sorted({l["file"] for l in lines})
    known_places.clear()
    known_places["line"] = {}
    for l in lines:
        for e, v in zip(usable, l["self"]):
            add_place(known_places["line"], ("%s:%s" % (l["file"] or "???", l["line"] if l["line"] != "0" else "?"), e), v[:2])
    if summary["has"] & 3:
        browser.view("v=lines" + more)
        shown_lines = {place for place in browser.run(
            "return [...document.querySelectorAll('#quern-lines [data-place]')].map((e) => e.dataset.place)")}
        if len(lines) <= 300:
            compare("all lines", shown_lines, {place for place, _ in known_places["line"]}, faults)
        shown_numbers(browser, "v=lines", known, faults)
    for file in files if summary["has"] & 1 else []:
        if not file:
            continue
        _, known_places["site"] = places_of(browser, summary, file)
        known_places["line"] = {}
        for l in lines:  # compared with convert
            for e, v in zip(usable, l["self"] if l["file"] == file else []):
                add_place(known_places["line"], (l["line"], e), v[:2])
        browser.view("v=source&w=" + urllib.parse.quote(file) + more)
        cells = shown_numbers(browser, "source of " + file, known, faults)
        got = {n for q in cells for n in q.split(":")[3].split("-")[-1:] if q.startswith("line:")}
        if not summary["base"]:
            compare("lines of " + file, got, {at for at, _ in known_places["line"]}, faults)
    for func in range(min(3, summary["funcs"])) if summary["has"] & 2 else []:
        known_places["insn"], known_places["insnsite"] = places_of(browser, summary, func=func)
        browser.view("v=assembly&f=" + browser.ask("name", func)["hash"] + more)
        cells = shown_numbers(browser, "assembly of %d" % func, known, faults)
        compare("instructions", {q.split(":")[3] for q in cells if q.startswith("insn:")},
                {at for at, _ in known_places["insn"]}, faults)


def shown_numbers(browser, state, known, faults):
    cells = browser.run("""return [...document.querySelectorAll("#quern-main [data-q]")].map(
        (e) => [e.dataset.q, e.textContent])""")
    for q, text in cells:
        compare_shown(text, q, known, faults)
    return [q for q, _ in cells]


def compare_shown(got, q, known, faults):
    what, event, side, number = (q.split(":", 3) + ["0", "0", "0"])[:4]
    if number.startswith("group") or what in ("distance", "half"):
        return
    if what == "per":
        row = known[0][int(number)]
        calls = row["called"][0]["approx"]
        value = {"exact": None, "approx": row["inclusive"][int(event)][0]["approx"] / calls if calls else None}
        sides, scale = [value] * 4, 1
        if int(side) > 0:
            return
    else:
        sides, scale = wanted_value(what, int(event), int(side), number, known)
        if sides is None:
            return
    if int(side) == 3:
        old, new = sides[1]["approx"] or 0, sides[0]["approx"] or 0
        text = "–" if not old and not new else "new" if not old else "gone" if not new else None
        if text is not None:
            compare(q, got, text, faults)
        elif abs(float(got[1:]) - new / old) > abs(new / old) * 0.006:
            faults.append("%s: %s, wanted %s" % (q, got, new / old))
        return
    value = sides[int(side)]
    if value["exact"] is not None:
        text = got[1:] if int(side) == 2 and got[0] == "+" else got
        compare(q, shown(text), exact(value, scale), faults)
    elif value["approx"] is None:
        compare(q, got, "–", faults)
    elif abs(float(got.lstrip("+≈ ").replace(",", "")) - value["approx"]) > abs(value["approx"]) * 1e-5:
        faults.append("%s: %s, wanted %s" % (q, got, value["approx"]))


def compare_groups(browser, known, faults):
    """Self costs of objects are the sums of their functions'."""
    cells = browser.run("""return [...document.querySelectorAll("#quern-functions [data-group] [data-q^=self]")].map(
        (e) => [e.closest("tr").dataset.group, e.dataset.q, e.textContent])""")
    for label, q, text in cells:
        _, event, side, _ = q.split(":")
        values = [row["self"][int(event)][int(side)]["exact"] for row in known[0] if (row["object"] or "???") == label] \
            if int(side) < 3 else [None]
        if None not in values and text[0] != "≈":
            compare("group %s, %s" % (label, q), shown(text.lstrip("+")),
                    sum(map(Decimal, values)) / known[2]["events"][int(event)]["scale"], faults)


def known_of(browser, summary):
    rows = browser.ask("rows", list(range(summary["funcs"])))
    edges = {(e["caller"], e["callee"]): e for e in browser.ask("edges", 0, 100000)}
    return rows, edges, summary


def compare_views(browser, known, faults, funcs):
    """Every number in every view is the worker's, which was compared with convert."""
    summary = known[2]
    names = ["%s@%d" % (e["name"], i) if [x["name"] for x in summary["events"]].index(e["name"]) != i else e["name"]
             for i, e in enumerate(summary["events"]) if e["total"]]
    more = "&c=" + "~".join(urllib.parse.quote(n) for n in names)
    hashes = [h["hash"] for h in browser.ask("table", funcs, [])["names"]]
    states = ["", "v=functions" + more, "v=functions&s=%2Bname" + more, "v=functions&g=object" + more,
              "v=compare" + more] + ["v=function&f=%s%s" % (h, a) for h in hashes for a in (more, "&a=1")]
    for state in states:
        browser.view(state)
        if not shown_numbers(browser, state, known, faults):
            faults.append("no numbers in " + state)
        if "g=object" in state:
            compare_groups(browser, known, faults)
        if state.startswith("v=functions&c"):
            got = browser.run("return [...document.querySelectorAll('#quern-functions [data-func]')].map((e) => e.dataset.func)")
            compare("functions in " + state, len(set(got)), min(summary["funcs"], len(set(got)) or 1), faults)
            if summary["funcs"] <= 300:
                compare("all functions", sorted({int(f) for f in got}), list(range(summary["funcs"])), faults)
    compare_places(browser, known, faults, more)


def compare_cycles(rows, profile, faults):
    """The same functions share a cycle; its number may differ."""
    ours, theirs = {}, {}
    for function in profile["functions"]:
        row = rows[key(function)]
        for number, cycles in ((row["cycle"][0], ours), (function["cycle"], theirs)):
            if number:
                cycles.setdefault(number, set()).add(key(function))
    compare("cycles", sorted(map(sorted, ours.values())), sorted(map(sorted, theirs.values())), faults)


def compare_edges(browser, rows, profile, scales, faults):
    by_number = {row["func"]: k for k, row in rows.items()}
    edges = {(by_number[e["caller"]], by_number[e["callee"]]): e for e in browser.ask("edges", 0, 100000)}
    compare("edges", len(edges), len(profile["edges"]), faults)
    for edge in profile["edges"]:
        pair = tuple(key(profile["functions"][edge[end]]) for end in ("caller", "callee"))
        got = edges[pair]
        compare("calls of %s" % (pair,), min(int(got["calls"][0]["exact"]), 2**64 - 1), edge["calls"], faults)
        for i, scale in enumerate(scales):
            compare("cost of %s" % (pair,), exact(got["cost"][i][0], scale),
                    Decimal(edge["inclusive"][i]), faults)


def compare_lines(browser, rows, profile, scales, faults):
    by_number = {row["func"]: k for k, row in rows.items()}
    wanted = {}
    for line in profile["lines"]:
        at = (key(profile["functions"][line["function"]]), line["file"] or "", line["line"], line.get("addr", 0))
        sums = wanted.setdefault(at, [Decimal(0)] * len(scales))
        for i, count in enumerate(line["self"]):
            sums[i] += count
    got = {(by_number[l["func"]], l["file"], int(l["line"]), int(l["addr"])):
           [exact(l["self"][i][0], scale) for i, scale in enumerate(scales)] for l in browser.ask("lines", NONE, 7)}
    compare("lines", got, wanted, faults)


def all_rows(browser):
    summary = browser.ask("summary")
    return {(r["object"], r["file"], r["name"]): r for r in browser.ask("rows", list(range(summary["funcs"])))}


def texts_of(browser, selector):
    return browser.run("return [...document.querySelectorAll('%s tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
                       % selector)


def saved_text(browser, view, name):
    """The file that the button of that name saves."""
    browser.view(view)
    return browser.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        if (!("saved" in window)) {
            const make = URL.createObjectURL;
            URL.createObjectURL = (b) => { window.saved = b; return make.call(URL, b); };
        }
        window.saved = null;
        [...document.querySelectorAll("#quern-main button")].find((b) =>
            b.textContent === arguments[0] || b.getAttribute("aria-label") === arguments[0]).click();
        const wait = () => window.saved ? window.saved.text().then(done) : setTimeout(wait, 10);
        wait();""", name)
