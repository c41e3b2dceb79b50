# SPDX-License-Identifier: MIT
"""Usage: check.py QUERN FOLDER

For every golden profile that has events: the numbers in the page are those of `quern convert
--to=json`, and with a base those of `quern diff`. Then hostile names, damaged and cut files, a page
without JavaScript. Prints TAP; called by make check-report, from the root of the tree."""
import glob
import json
import os
import re
import subprocess
import sys
from decimal import Decimal

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

QUERN, FOLDER = sys.argv[1:3]
NONE = 0xFFFFFFFF
tests = failures = 0


def test(name, faults):
    global tests, failures
    tests += 1
    print(("not ok" if faults else "ok"), tests, "-", name)
    for fault in faults[:5]:
        print("#", str(fault)[:600])
    failures += bool(faults)
    sys.stdout.flush()


def quern(*args):
    done = subprocess.run([QUERN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def as_json(path):
    status, out, _ = quern("convert", "--to=json", path)
    return json.loads(out, parse_float=Decimal) if status == 0 else None


def shown(text):
    """A number as the page shows it."""
    return Decimal(text.replace(",", ""))


def key(function):
    return (function["object"] or "", function["file"] or "", function["name"] or "")


def table(browser, name):
    """The rows of a table: its data, and the texts of its cells."""
    return json.loads(browser.run(
        """return JSON.stringify([...document.querySelectorAll("#%s tbody tr")].map((r) =>
            [r.dataset.event ?? r.dataset.key, [...r.cells].map((c) => c.textContent)]));""" % name))


def compare(what, got, wanted, faults):
    if got != wanted:
        faults.append("%s: %s, wanted %s" % (what, got, wanted))


def exact(value, scale):
    return Decimal(value["exact"]) / scale


def compare_summary(browser, profile, faults):
    events = [e for e in profile["events"] if not e["formula"]]
    # Counted events come first; a derived one may have the name of one of them.
    for event, total, row in zip(events, profile["totals"], table(browser, "quern-totals")):
        compare("event", row[0], event["name"], faults)
        compare("total of " + event["name"], shown(row[1][1]), Decimal(total), faults)
    return events


def compare_table(browser, profile, events, faults):
    rows = {tuple(json.loads(k)): cells for k, cells in table(browser, "quern-functions")}
    compare("functions", len(rows), min(len(profile["functions"]), 200), faults)
    for function in profile["functions"]:
        cells = rows.get(key(function))
        if cells is None:
            if len(profile["functions"]) <= 200:
                faults.append("no row for %s" % (key(function),))
            continue
        for i in range(len(events)):
            for offset, field in enumerate(("inclusive", "self")):
                compare("%s of %s" % (field, key(function)), shown(cells[2 * i + offset]),
                        Decimal(function[field][i]), faults)
        compare("called %s" % (key(function),), shown(cells[-2]), Decimal(function["called"]), faults)


def compare_cycles(rows, profile, faults):
    """The same functions share a cycle, whatever its number."""
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


def check_golden(browser, path):
    name, faults = os.path.basename(path), []
    report = os.path.join(FOLDER, name + ".html")
    profile = as_json(path)
    status, _, said = quern("report", "-o", report, path)
    if profile is None:
        compare("status", (status, os.path.exists(report)), (2, False), faults)
        test(name + ": no events, no report", faults)
        return
    if status != 0:
        test(name, [said])
        return
    compare("state", browser.open(report), "ready", faults)
    if not faults:
        events = compare_summary(browser, profile, faults)
        compare_table(browser, profile, events, faults)
        rows = all_rows(browser)
        scales = [e["scale"] for e in browser.ask("summary")["events"]][:len(events)]
        compare_cycles(rows, profile, faults)
        compare_edges(browser, rows, profile, scales, faults)
        compare_lines(browser, rows, profile, scales, faults)
    compare("console", browser.complaints(), [], faults)
    test(name, faults)


def check_base(browser, old, new):
    """New minus old, function by function, is what diff writes."""
    faults = []
    report, difference = (os.path.join(FOLDER, "base." + end) for end in ("html", "out"))
    quern("diff", "-o", difference, old, new)
    status, _, said = quern("report", "--base=" + old, "-o", report, new)
    if status != 0:
        test("base " + old, [said])
        return
    compare("state", browser.open(report), "ready", faults)
    wanted = as_json(difference)
    scales = [e["scale"] for e in browser.ask("summary")["events"]]
    rows = table(browser, "quern-totals")
    for i, total in enumerate(wanted["totals"]):
        compare("difference of totals", shown(rows[i][1][3]), Decimal(total), faults)
    sums = {}
    for row in all_rows(browser).values():
        at = sums.setdefault((row["file"], row["name"]), [Decimal(0)] * len(wanted["totals"]))
        for i in range(len(at)):
            compare("new - old", exact(row["self"][i][2], scales[i]),
                    exact(row["self"][i][0], scales[i]) - exact(row["self"][i][1], scales[i]), faults)
            at[i] += exact(row["self"][i][2], scales[i])
    theirs = {}
    for function in wanted["functions"]:
        at = theirs.setdefault((function["file"] or "", function["name"] or ""), [Decimal(0)] * len(wanted["totals"]))
        for i, count in enumerate(function["self"]):
            at[i] += count
    for k in set(sums) | set(theirs):
        zero = [Decimal(0)] * len(wanted["totals"])
        compare("difference of %s" % (k,), sums.get(k, zero), theirs.get(k, zero), faults)
    compare("console", browser.complaints(), [], faults)
    test("base %s, %s: each difference is that of diff" % (os.path.basename(old), os.path.basename(new)), faults)


HOSTILE = [b"</script><script>hacked = 1</script>", b"<!--<script>", b"\"'&<img src=x onerror=hacked=1>",
           b"\xe2\x80\xaegnirts\xe2\x80\xac", b"\xff\xfe\x80", b"@QUERN_REST@", b"a" * 1000000, b"\x01\x02\x7f"]


def check_hostile(browser):
    path, report, faults = os.path.join(FOLDER, "hostile.out"), os.path.join(FOLDER, "hostile.html"), []
    with open(path, "wb") as f:
        f.write(b"events: Ir\ncmd: </title><script>hacked = 1</script>\n")
        for i, name in enumerate(HOSTILE):
            f.write(b"fl=" + name[:1000] + b"\nfn=" + name + b"\n1 " + str(100 - i).encode() + b"\n")
    status, _, said = quern("report", "-o", report, path)
    compare("status", status, 0, faults)
    compare("state", browser.open(report), "ready", faults)
    rows = all_rows(browser)
    wanted = sorted(name.decode(errors="replace") for name in HOSTILE)
    compare("names", sorted(k[2] for k in rows), wanted, faults)
    names = [json.loads(k)[2] for k, _ in table(browser, "quern-functions")]
    compare("names shown", sorted(names), wanted, faults)
    compare("hacked", browser.run("return typeof hacked"), "undefined", faults)
    compare("title", browser.run("return document.title"), "</title><script>hacked = 1</script>", faults)
    compare("foreign elements", browser.run("return document.querySelectorAll('img, iframe').length"), 0, faults)
    compare("requests", browser.run("return performance.getEntriesByType('resource').length"), 0, faults)
    compare("console", browser.complaints(), [], faults)
    test("hostile names are inert, and shown", faults)


def blocks_of(html):
    return list(re.finditer(r'<script type="application/quern" [^>]*>([^<]*)</script>\n', html))


def check_damage(browser, path):
    """A wrong byte, a missing block, a file cut off: a sentence says so, and the static summary stays."""
    report, broken = os.path.join(FOLDER, "whole.html"), os.path.join(FOLDER, "broken.html")
    quern("report", "-o", report, path)
    html = open(report, encoding="utf-8").read()
    blocks = blocks_of(html)
    at = blocks[0].start(1) + 40
    other = "A" if html[at] != "A" else "B"
    cases = [
        ("a byte of block 0 changed", html[:at] + other + html[at + 1:], "block 0"),
        ("no base64", html[:at] + "!" + html[at + 1:], "block 0"),
        ("a block is missing", html[:blocks[1].start()] + html[blocks[1].end():], "blocks"),
        ("the end is missing", html[:blocks[1].end()], "cut off"),
    ]
    for name, text, word in cases:
        faults = []
        with open(broken, "w", encoding="utf-8") as f:
            f.write(text)
        browser.open(broken)
        said = browser.run("return [...document.querySelectorAll('p.fault')].map((p) => p.textContent).join(' ')")
        if word not in said:
            faults.append("said: " + said)
        if "block 0" in word:
            compare("static summary hidden", browser.run("return document.getElementById('quern-static').hidden"),
                    False, faults)
        browser.complaints()
        test("damaged: " + name, faults)


def check_static(path):
    """Without JavaScript: totals and functions are text."""
    faults = []
    profile = as_json(path)
    browser = Browser(javascript=False)
    browser.driver.get("file://" + os.path.abspath(os.path.join(FOLDER, "whole.html")))
    text = browser.driver.find_element("id", "quern-static").text
    browser.quit()
    for number in profile["totals"]:
        if "{:,}".format(number) not in text:
            faults.append("no %s in %s" % (number, text))
    for function in profile["functions"]:
        if function["name"] not in text:
            faults.append("no " + function["name"])
    if "JavaScript" not in text:
        faults.append("does not say that it needs JavaScript: " + text)
    test("without JavaScript", faults)


def check_command(path):
    faults = []
    status, out, said = quern("report", "-o", "-", path)
    compare("standard output", (status, out[:15]), (0, b"<!doctype html>"), faults)
    status, _, said = quern("report", "--define=x = Ir /(", "-o", os.path.join(FOLDER, "no.html"), path)
    compare("a formula that is none", (status, os.path.exists(os.path.join(FOLDER, "no.html"))), (2, False), faults)
    status, _, said = quern("report", "--base=tests/golden/parts.callgrind", "-o", os.path.join(FOLDER, "no.html"), path)
    compare("other events", (status, "are not those" in said), (2, True), faults)
    test("the command", faults)


def main():
    golden = sorted(p for p in glob.glob("tests/golden/*grind*"))
    browser = Browser()
    try:
        for path in golden:
            check_golden(browser, path)
        for old, new in (("calls-zero", "cfn-reset"), ("cfn-reset", "hex"), ("inline", "calls-zero"),
                         ("call-target-relative", "ranges")):
            check_base(browser, "tests/golden/%s.callgrind" % old, "tests/golden/%s.callgrind" % new)
        check_hostile(browser)
        check_damage(browser, "tests/golden/calls.callgrind")
    finally:
        browser.quit()
    check_static("tests/golden/calls.callgrind")
    check_command("tests/golden/calls.callgrind")
    print("1..%d" % tests)
    return 1 if failures else 0


sys.exit(main())
