# SPDX-License-Identifier: MIT
"""Usage: check.py QUERN FOLDER [PROFILE...]

For every golden profile that has events: the numbers in the page are those of `quern convert
--to=json`, and with a base those of `quern diff`. Then hostile names, damaged and truncated files, a
page without JavaScript. With profiles named, only their totals, the numbers of functions and calls,
and the costs of the 200 most expensive functions. BROWSER=firefox runs the tests that Firefox supports.
Prints TAP; called by make check-report, check-report-firefox and check-report-big, from the root of the tree."""
import base64
import glob
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from decimal import Decimal

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402
from firefox import Firefox  # noqa: E402
from colours import CONTRAST, SIGHTS, apart, light  # noqa: E402
from compare import (FOLDER, LARGE, QUERN, all_rows, as_json, compare, compare_cycles, compare_edges, compare_lines, compare_rows,
    compare_summary, compare_views, counts, exact, key, known_of, known_places, places_of, quern, saved_text, shown,
    shown_numbers, test, texts_of)  # noqa: E402
from causes import check_causes, check_causes_base, check_causes_insns, cycles_profiles  # noqa: E402, F401
from profiles import CIRCLE, COSTS, DIAMOND, FLOW  # noqa: E402
from screens import (check_compared, check_names, check_panes, check_recursion, check_screen, check_search, check_source, check_unfold,  # noqa: E402, F401
    check_startup, check_widths)
from data import (check_data_base, check_data_command, check_data_damaged, check_data_first, check_data_hostile, check_data_keys,  # noqa: E402, F401
    check_data_object, check_data_sharing, check_data_table, check_data_widths)
from curves import check_curve, check_curves  # noqa: E402, F401
from walks import check_walks  # noqa: E402, F401
from selenium.webdriver.common.keys import Keys  # noqa: E402


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
        rows = all_rows(browser)
        summary = browser.ask("summary")
        scales = [e["scale"] for e in summary["events"]][:len(events)]
        compare_rows(rows, profile, events, scales, faults)
        compare_cycles(rows, profile, faults)
        compare_edges(browser, rows, profile, scales, faults)
        compare_lines(browser, rows, profile, scales, faults)
        compare_views(browser, known_of(browser, summary), faults, list(range(min(4, summary["funcs"]))))
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
    for i, total in enumerate(wanted["totals"]):
        text = browser.run("return document.querySelector('[data-q=\"total:%d:2:0\"]').textContent" % i)
        compare("difference of totals", shown(text.lstrip("+")), Decimal(total), faults)
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
    summary = browser.ask("summary")
    compare_views(browser, known_of(browser, summary), faults, list(range(min(4, summary["funcs"]))))
    compare("console", browser.complaints(), [], faults)
    test("base %s, %s: each difference is that of diff" % (os.path.basename(old), os.path.basename(new)), faults)


def check_pictures(browser):
    """Flame graph, treemap and call graph of calls.callgrind: main 20 calls func1 (100) for 400 and func2 (700) for 400,
    func1 calls func2 for 300. So func2 below func1 costs 300 of 300, exactly."""
    faults = []
    report = os.path.join(FOLDER, "calls.callgrind.html")
    browser.open(report)
    browser.view("v=flame&t=1")
    compare("flame", [row[:4] for row in texts_of(browser, "#quern-flame")],
            [["820", "820", "100.0 %", "0"], ["400", "400", "48.8 %", "1"], ["400", "400", "48.8 %", "1"],
             ["300", "300", "36.6 %", "2"]], faults)
    browser.view("v=flame&k=up&t=1")
    compare("inverted: func2's own 700, from main 400, from func1 300, each with main above",
            [row[:4] for row in texts_of(browser, "#quern-flame")][0], ["700", "700", "85.4 %", "0"], faults)
    # Without func1 no box is on it; main's own call of func2 stays. Without main there is nothing.
    hashes = {n["name"]: n["hash"] for n in (browser.ask("name", i) for i in range(3))}
    browser.view("v=flame&t=1&hi=" + hashes["func1"])
    compare("flame without func1", [row[:4] for row in texts_of(browser, "#quern-flame")],
            [["820", "820", "100.0 %", "0"], ["400", "400", "48.8 %", "1"]], faults)
    browser.view("v=flame&hi=" + hashes["main"])
    compare("flame without main", browser.run("return document.querySelector('#quern-main').textContent.includes("
                                              "'The filters leave nothing to show')"), True, faults)
    browser.view("v=flame&t=1&fo=" + hashes["func1"])
    compare("flame with focus", len(texts_of(browser, "#quern-flame")), 4, faults)
    browser.view("v=treemap&t=1")
    compare("treemap", [row[0] for row in texts_of(browser, "#quern-treemap")],
            ["700", "700", "700", "120", "100", "100", "20", "20"], faults)  # file, function, line
    browser.view("v=treemap&k=callees&t=1&f=%s&hi=%s" % (hashes["main"], hashes["func1"]))
    compare("treemap of callees without func1", [row[0] for row in texts_of(browser, "#quern-treemap")], ["820", "400"], faults)
    browser.view("v=graph&t=1&f=" + browser.ask("name", 0)["hash"])
    compare("graph", sorted(texts_of(browser, "#quern-graph")),
            [["func1", "2", "300", "func2"], ["main", "1", "400", "func1"], ["main", "3", "400", "func2"]], faults)
    browser.view("v=graph")
    compare("names in the graph", sorted(name for role, name in browser.names() if role == "link" and " of Instr" in name),
            ["func1, 400, 48.8 % of Instructions, self 100", "func2, 700, 85.4 % of Instructions, self 700",
             "main, 820, 100.0 % of Instructions, self 20"], faults)
    # main calls func1 and func2, func1 calls func2: three layers, in each direction. No boxes overlap.
    for way, axis, sign in (("", "y", 1), ("left", "x", 1), ("below", "y", -1)):
        browser.view("v=graph" + ("&dr=" + way if way else ""))
        boxes = {b[0]: b[1:] for b in browser.run("""return [...document.querySelectorAll('svg.graph a.node')].map((a) => {
            const r = a.querySelector('rect'); return [a.getAttribute('aria-label').split(',')[0],
            ...['x', 'y', 'width', 'height'].map((n) => Number(r.getAttribute(n)))]; })""")}
        at = [boxes[name]["xy".index(axis)] * sign for name in ("main", "func1", "func2")]
        compare("layers, " + (way or "above"), at, sorted(set(at)), faults)
        for a in boxes:
            for b in boxes:
                (x, y, w, h), (p, q, r, s) = boxes[a], boxes[b]
                if a < b and x < p + r and p < x + w and y < q + s and q < y + h:
                    faults.append("%s overlaps %s: %s" % (a, b, boxes))
        # An arrow along the calls, from main to the most expensive callee, and back.
        forth, back = {"": (Keys.DOWN, Keys.UP), "left": (Keys.RIGHT, Keys.LEFT), "below": (Keys.UP, Keys.DOWN)}[way]
        walk = []
        browser.run("[...document.querySelectorAll('svg.graph a.node')].find((a) => a.ariaLabel.startsWith('main')).focus()")
        for key in (forth, back):
            browser.press(key)
            walk.append(browser.run("return document.activeElement.getAttribute('aria-label').split(',')[0]"))
        compare("arrows, " + (way or "above"), (walk[0] in ("func1", "func2"), walk[1]), (True, "main"), faults)
    browser.view("v=flame")
    compare("name of a box", [name for role, name in browser.names() if role == "link" and "depth" in name],
            ["main, 100.0 % of Instructions, depth 0, exactly 820"], faults)
    # The address has the zoom of a picture, and restores it when it is opened.
    def zoomed(before=""):
        browser.until("location.hash.includes('z=') && location.hash !== args[0]", before, seconds=5)
        browser.quiet()
        return browser.run("return [location.hash, document.querySelector('svg.graph')?.getAttribute('viewBox') ?? "
                           "document.querySelector('.item').style.width + document.querySelector('.item').style.left]")

    for view in ("v=flame", "v=treemap", "v=graph"):
        browser.view(view)
        browser.press("+")
        first = zoomed()
        browser.press("+")
        link, place = zoomed(first[0])
        browser.view(view)
        compare("as it begins", "z=" in browser.run("return location.hash"), False, faults)
        browser.view(link[1:])
        compare("zoomed by a link, " + view, zoomed(), [link, place], faults)
        # A zoom that is not in the address yet when the page goes elsewhere does not come back with it.
        browser.press("-")
        browser.view(view)
        browser.view(link[1:])
        time.sleep(0.3)
        compare("elsewhere and back, " + view, zoomed(), [link, place], faults)
        # The first key may come before the picture has been drawn.
        browser.run("""new MutationObserver((_, observer) => {
            if (document.body.dataset.view !== location.hash) return;
            observer.disconnect();
            document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
        }).observe(document.body, { attributeFilter: ['data-view'] }); location.hash = '#%s'""" % view)
        compare("zoomed before it is drawn, " + view, zoomed(), first, faults)
        browser.press("+")
        compare("and again, " + view, zoomed(first[0]), [link, place], faults)
        browser.press("e")
        compare("another event, the whole", "z=" in browser.run("return location.hash"), False, faults)
    compare("console", browser.complaints(), [], faults)
    test("flame graph, treemap, call graph: worked by hand", faults)


BOXES = """return ['.node', '.cluster'].map((kind) => [...document.querySelectorAll('svg.graph ' + kind)].map((a) => {
    const r = a.querySelector('rect');
    return [a.dataset.label ?? a.getAttribute('aria-label').split(',')[0], ...['x', 'y', 'width', 'height'].map((n) => Number(r.getAttribute(n)))];
}))"""


def check_cycles(browser):
    """A cycle as one box, opened, and framed; frames around objects; the map; shares of groups."""
    faults = []
    path, report = os.path.join(FOLDER, "circle.out"), os.path.join(FOLDER, "circle.html")
    with open(path, "w") as f:
        f.write(CIRCLE)
    quern("report", "-o", report, path)
    browser.open(report)
    hashes = {n["name"]: n["hash"] for n in (browser.ask("name", i) for i in range(4))}
    browser.view("v=graph&t=1&f=" + hashes["d"])
    compare("folded", sorted(texts_of(browser, "#quern-graph")),
            [["a", "3", "60", "cycle 1, 2 functions"], ["cycle 1, 2 functions", "5", "30", "d"]], faults)
    browser.view("v=graph&t=1&cn=1&ln=0&f=" + hashes["d"])
    compare("opened", sorted(texts_of(browser, "#quern-graph")),
            [["a", "1", "40", "b"], ["a", "2", "20", "c"], ["b", "1", "10", "d"], ["b", "3", "25", "c"],
             ["c", "2", "5", "b"], ["c", "4", "20", "d"]], faults)
    browser.view("v=graph&f=" + hashes["b"])
    names = lambda: sorted(name for role, name in browser.names() if role == "link" and " of Ir" in name)  # noqa: E731
    compare("names", names(), ["a, 61, 100.0 % of Ir, self 1",
                               "cycle 1, 2 functions, 60, 98.4 % of Ir, self 30, Enter opens it",
                               "d, 30, 49.2 % of Ir, self 30"], faults)
    browser.run("[...document.querySelectorAll('svg.graph a.node')].find((a) => a.ariaLabel.startsWith('cycle')).focus()")
    browser.press(Keys.ENTER)
    compare("Enter opens", [n.split(",")[0] for n in names()], ["a", "b", "c", "d"], faults)
    # The program has 61, object one 1 + 10, two 20 + 30: as convert says of a, b, c, d.
    costs = {f["name"]: f["self"][0] for f in as_json(path)["functions"]}
    for way in ("", "left", "below"):
        for group, members in (("object", {"/bin/one": "ab", "/lib/two": "cd"}), ("file", {"x.c": "ab", "y.c": "cd"}),
                               ("cycle", {"cycle 1": "bc"})):
            browser.view("v=graph&cn=1&ln=0&cl=%s&dr=%s&f=%s" % (group, way, hashes["b"]))
            nodes, frames = browser.run(BOXES)
            compare("frames", sorted(f[0] for f in frames), sorted(members), faults)
            for label, x, y, w, h in frames:
                inside = "".join(sorted(n[0] for n in nodes if x <= n[1] and n[1] + n[3] <= x + w and y <= n[2] and n[2] + n[4] <= y + h))
                touched = "".join(sorted(n[0] for n in nodes if n[1] < x + w and x < n[1] + n[3] and n[2] < y + h and y < n[2] + n[4]))
                compare("in %s, %s" % (label, way), (inside, touched), (members[label],) * 2, faults)
                said = next(name for role, name in browser.names() if name.startswith(label + ", "))
                compare("said of " + label, said.split(", ")[1:3],
                        ["%d functions" % len(members[label]), "self %d" % sum(costs[m] for m in members[label])], faults)
    browser.view("v=graph&cl=object&f=" + hashes["b"])
    compare("a cycle of two objects is in neither", [f[0] for f in browser.run(BOXES)[1]], ["/bin/one", "/lib/two"], faults)
    sight = lambda: browser.run("""const m = document.querySelector('svg.map'), r = m.querySelector('.sight');
        return [getComputedStyle(m).display !== 'none', Number(r.getAttribute('width')) / m.viewBox.baseVal.width]""")  # noqa: E731
    compare("no map of what is seen whole", sight(), [False, 1], faults)
    browser.press("+", "+")
    shown_, part = sight()
    compare("the map, after 1.5 and 1.5", (shown_, round(part * 2.25, 2)), (True, 1), faults)
    browser.run("""const m = document.querySelector('svg.map'), r = m.getBoundingClientRect();
        m.dispatchEvent(new PointerEvent('pointerdown', {clientX: r.left + r.width / 2, clientY: r.top + r.height / 2}))""")
    middle = browser.run("""const m = document.querySelector('svg.map').viewBox.baseVal, v = document.querySelector('svg.graph').viewBox.baseVal;
        return [v.x + v.width / 2 - m.x - m.width / 2, v.y + v.height / 2 - m.y - m.height / 2]""")
    compare("a click in the middle of the map", [abs(v) < 1 for v in middle], [True, True], faults)
    browser.press("0")
    compare("0", sight(), [False, 1], faults)
    # Shares of the group around: two has 50 of 61; in it c 20, d 30.
    browser.view("v=functions&g=object")
    for label in ("two", "one"):
        browser.run("[...document.querySelectorAll('.group')].find((b) => b.textContent.includes('%s')).click()" % label)
        browser.settle()
    rows = {re.sub(r"^[▾▸] |\d+ functions$|(cycle 1)?[xy]\.c.*$", "", r[-3]): r[2:5] for r in texts_of(browser, "#quern-functions")}
    compare("shares of groups", rows, {
        "/lib/two": ["50", "82.0 %", "82.0 %"], "c": ["20", "32.8 %", "40.0 %"], "d": ["30", "49.2 %", "60.0 %"],
        "/bin/one": ["11", "18.0 %", "18.0 %"], "a": ["1", "1.64 %", "9.09 %"], "b": ["10", "16.4 %", "90.9 %"]}, faults)
    # Lines in the same groups: two has c:3 with 20 and d:4 with 30, one has a:1 with 1 and b:2 with 10.
    browser.view("v=lines&g=object")
    for label in ("two", "one"):
        browser.run("[...document.querySelectorAll('.group')].find((b) => b.textContent.includes('%s')).click()" % label)
        browser.settle()
    rows = [[re.sub(r"\d+ functions$", "", r[3])] + r[:3] for r in texts_of(browser, "#quern-lines")]
    compare("lines in groups", rows, [
        ["▾ /lib/two", "50", "82.0 %", "82.0 %"], ["y.c:4 d", "30", "49.2 %", "60.0 %"], ["y.c:3 c", "20", "32.8 %", "40.0 %"],
        ["▾ /bin/one", "11", "18.0 %", "18.0 %"], ["x.c:2 b", "10", "16.4 %", "90.9 %"], ["x.c:1 a", "1", "1.64 %", "9.09 %"]], faults)
    browser.view("v=lines&g=cycle")
    compare("lines of cycles", [r[3] for r in texts_of(browser, "#quern-lines")], ["▸ cycle 12 functions"], faults)
    browser.view("v=lines&g=file&q=file:y")
    compare("lines of files that are searched for", [r[0] for r in texts_of(browser, "#quern-lines")], ["50"], faults)
    compare("console", browser.complaints(), [], faults)
    test("cycles as one box and opened, frames around groups, map, shares of groups", faults)


def check_bounds(browser):
    faults = []
    path, report = os.path.join(FOLDER, "diamond.out"), os.path.join(FOLDER, "diamond.html")
    with open(path, "w") as f:
        f.write(DIAMOND)
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("v=flame&t=1")
    rows = [(row[0], row[1], row[3]) for row in texts_of(browser, "#quern-flame")]
    compare("bounds of e and g below b and c", sorted(r for r in rows if r[2] == "3"),
            [("0", "30", "3"), ("0", "30", "3"), ("10", "40", "3"), ("15", "45", "3")], faults)
    browser.view("v=flame")
    browser.run("document.querySelector('.item').focus()")
    browser.press(*[Keys.ARROW_DOWN] * 3)
    name = browser.run("return document.activeElement.getAttribute('aria-label')")
    if name not in ("g, 30.0 % of Ir, depth 3, estimated, between 15 and 45",):
        faults.append("three times down: " + name)
    # Names with contexts (--separate-callers) are stacks: each box is exact.
    with open(path, "w") as f:
        f.write("events: Ir\nfl=x\nfn=a\n1 0\ncfn=b'a\ncalls=1 1\n1 30\ncfn=c'a\ncalls=1 1\n1 70\nfn=b'a\n2 0\ncfn=d'b'a\ncalls=1 1\n2 30\n"
                "fn=c'a\n3 10\ncfn=d'c'a\ncalls=2 1\n3 60\nfn=d'b'a\n4 2\ncfn=e'd'b\ncalls=1 1\n4 28\n"
                "fn=d'c'a\n4 3\ncfn=e'd'c\ncalls=1 1\n4 57\nfn=e'd'b\n5 28\nfn=e'd'c\n5 57\n")
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("v=flame&t=1")
    compare("contexts are stacks", sorted((row[0], row[1], row[3], row[4].split("x")[0]) for row in texts_of(browser, "#quern-flame")),
            sorted([("100", "100", "0", "a"), ("30", "30", "1", "b'a"), ("70", "70", "1", "c'a"), ("30", "30", "2", "d'b'a"),
                    ("60", "60", "2", "d'c'a"), ("28", "28", "3", "e'd'b"), ("57", "57", "3", "e'd'c")]), faults)
    test("flame graph: estimates say so, and their bounds", faults)


def check_why(browser):
    """f: 100 + 10 (2 + 3 + 1) + 100 (1 + 1) + 10 * 4 = 400 cycles; the program 500 more instructions and nothing else: 900. L1 misses
    6 of 600 + 300 + 200, mispredictions 4 of 20. Half of 600 Ir is line 2, of 100 with misses line 1."""
    faults = []
    path, report = os.path.join(FOLDER, "why.out"), os.path.join(FOLDER, "why.html")
    with open(path, "w") as f:
        f.write(COSTS)
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("")
    rows = browser.run("""return [...document.querySelectorAll("section")].find((s) => s.textContent.startsWith("Why"))
        .innerText.split("\\n").map((t) => t.trim()).filter(Boolean)""")
    text = " ".join(" ".join(rows).split())
    for part in ("instructions 600 66.7 %", "L1 misses 60 6.67 %", "last-level misses 200 22.2 %", "mispredictions 40 4.44 %", "L1 miss rate 0.55 %",
                 "LL miss rate 0.18 %", "mispredict rate 20.0 %"):
        if part not in text:
            faults.append("no %s in %s" % (part, text))
    bars = browser.run("return [...document.querySelectorAll('.why[role=img]')].map((e) => e.getAttribute('aria-label'))")
    compare("bar of f", [bar for bar in bars if bar.startswith("Estimated cycles of f:")],
            ["Estimated cycles of f: instructions 25.0 %, L1 misses 15.0 %, last-level misses 50.0 %, mispredictions 10.0 %"], faults)
    high = browser.run("return [...document.querySelectorAll('.high')].map((e) => e.textContent)")
    # f: 6 of 200 and 2 of 200 against 6 and 2 of 1,100: over twice; mispredictions are all its own: not.
    compare("marked", high, ["3.00 % ▲", "1.00 % ▲"], faults)
    halves = browser.run("return [...document.querySelectorAll('.halves li')].map((e) => e.textContent)")
    compare("halves", (halves[0], halves[3]), ("Ir: 1 of 3 lines make half", "I1mr: 1 of 3 lines make half"), faults)
    test("why, rates, and lines that make half", faults)


def check_inside(browser):
    """The lines in a function's own view, of its own file, add up to its self cost if it has no other file."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))
    for name, cost, sites in (("main", "20", ["400", "400"]), ("func1", "100", ["300"]), ("func2", "700", [])):
        f = next(f for f in range(3) if browser.ask("name", f)["name"] == name)
        browser.view("v=function&f=" + browser.ask("name", f)["hash"])
        compare("lines of " + name, browser.run("return [...document.querySelectorAll('[data-q^=funcline]')].map((e) => e.textContent)"), [cost], faults)
        compare("calls in " + name, browser.run("return [...document.querySelectorAll('[data-q^=funcsite]')].map((e) => e.textContent)"), sites, faults)
    # The sandwich of func1: main above it, func2 below.
    browser.view("v=function&f=" + next(n["hash"] for n in (browser.ask("name", i) for i in range(3)) if n["name"] == "func1"))
    browser.run("[...document.querySelectorAll('summary')].find((s) => s.textContent.startsWith('Sandwich')).click()")
    browser.quiet()
    browser.run("document.querySelector('details .item').focus()")
    said = []
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN):
        said.append(browser.run("return document.activeElement.getAttribute('aria-label')").split(",")[0])
        browser.press(key)
    compare("sandwich", sorted(set(said)), ["func1", "main"], faults)
    compare("console", browser.complaints(), [], faults)
    test("source and sandwich in a function's view", faults)


def check_parts(browser):
    """parts.callgrind: part 1 has 4, part 2 6."""
    faults = []
    browser.open(os.path.join(FOLDER, "parts.callgrind.html"))
    for parts, cost in (("0", "4"), ("1", "6"), ("", "10")):
        browser.view("v=functions&p=" + parts)
        compare("parts " + parts, texts_of(browser, "#quern-functions")[0][:2], [cost, "100.0 %"], faults)
    browser.view("v=parts")
    compare("parts", browser.run("return [...document.querySelectorAll('[data-q^=part]')].map((e) => e.textContent)"), ["4", "6"], faults)
    browser.run("document.querySelector('#quern-parts input').click()")
    browser.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Apply').click()")
    browser.settle()
    compare("chosen", browser.run("return location.hash"), "#v=parts&p=1", faults)
    browser.press(Keys.ESCAPE)
    compare("undone", browser.run("return location.hash"), "#v=parts", faults)
    # The time line: a button for each part, the second as high as can be, the first 4 of 6.
    line = """return [...document.querySelectorAll('.timeline button')].map((b) => [b.getAttribute('aria-label').replace(/ of .*, (?=[0-9])/, ', '),
        b.getAttribute('aria-pressed'), Number(b.style.getPropertyValue('--part')).toFixed(3), b.style.gridColumnStart])"""
    compare("time line", browser.run(line), [["part 1, 4 Ir", "true", "0.667", "1"], ["part 2, 6 Ir", "true", "1.000", "2"]], faults)
    browser.run("document.querySelector('.timeline button').click()")
    browser.settle()
    compare("pressed", (browser.run("return location.hash"), [b[1] for b in browser.run(line)]), ("#v=parts&p=1", ["false", "true"]), faults)
    browser.run("document.querySelector('.timeline button').click()")
    browser.settle()
    compare("pressed again: all", browser.run("return location.hash"), "#v=parts", faults)
    # Two processes of two threads, of two parts each; one has not the first part.
    path, report = os.path.join(FOLDER, "lanes.out"), os.path.join(FOLDER, "lanes.html")
    with open(path, "w") as f:
        f.write("version: 1\ncreator: x\n")
        for part, thread, cost in ((1, 1, 10), (2, 1, 20), (2, 2, 40), (3, 2, 30)):
            f.write("pid: 7\npart: %d\nthread: %d\n\nevents: Ir\nfl=x\nfn=f\n1 %d\n\ntotals: %d\n" % (part, thread, cost, cost))
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("v=parts")
    compare("lanes", browser.run("return [...document.querySelectorAll('.timeline .where')].map((e) => e.textContent)"),
            ["process 7, thread 1", "process 7, thread 2"], faults)
    compare("columns", [(b[0], b[2], b[3]) for b in browser.run(line)], [
        ("part 1, 10 Ir", "0.250", "1"), ("part 2, 20 Ir", "0.500", "2"), ("part 2, 40 Ir", "1.000", "2"), ("part 3, 30 Ir", "0.750", "3")], faults)
    compare("console", browser.complaints(), [], faults)
    test("parts: what is selected alone counts, table and time line", faults)


def check_keys(browser):
    """Without a mouse."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))
    at = lambda: dict(urllib.parse.parse_qsl(browser.run("return location.hash")[1:]))  # noqa: E731
    hashes = [browser.ask("name", f)["hash"] for f in range(3)]
    browser.press("2")
    compare("2", at(), {"v": "functions"}, faults)
    browser.press("/", "f", "u", "n", "c", "1")
    compare("typed", at(), {"v": "functions", "q": "func1"}, faults)
    compare("rows", len(texts_of(browser, "#quern-functions")), 1, faults)
    browser.press(Keys.ENTER, Keys.ENTER)
    compare("opened", (at()["v"], browser.run("return document.querySelector('h2').textContent")), ("function", "func1"), faults)
    browser.press("u")
    compare("u: the most expensive caller", browser.run("return document.querySelector('h2').textContent"), "main", faults)
    browser.driver.back()
    browser.settle()
    compare("back", browser.run("return document.querySelector('h2').textContent"), "func1", faults)
    browser.press("c", Keys.ENTER)
    compare("c: a callee", browser.run("return document.querySelector('h2').textContent"), "func2", faults)
    browser.press("h")
    compare("h hides", at().get("hi"), browser.ask("name", [browser.ask("name", f)["name"] for f in range(3)].index("func2"))["hash"], faults)
    browser.press("2")
    compare("without func2", len(texts_of(browser, "#quern-functions")), 2, faults)
    browser.press(Keys.ESCAPE)
    compare("Esc", len(texts_of(browser, "#quern-functions")), 3, faults)
    browser.press("f")
    browser.press("e")
    compare("e: the next event, of one", at().get("e"), browser.ask("summary")["events"][1 % len(browser.ask("summary")["events"])]["name"], faults)
    browser.press("?")
    compare("?", browser.run("return document.querySelector('dialog').open"), True, faults)
    browser.press(Keys.ESCAPE)
    compare("Esc closes", browser.run("return document.querySelector('dialog').open"), False, faults)
    browser.view("v=functions&n=0")
    browser.press("3")
    compare("keys of one letter are off", at().get("v"), "functions", faults)
    browser.view("v=functions")
    browser.run("document.querySelector('#quern-functions .main').focus()")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.HOME, Keys.ARROW_DOWN)
    compare("arrows", browser.run("return document.activeElement.closest('tr').dataset.row"), "1", faults)
    for h in hashes:
        browser.view("v=function&f=" + h)
        compare("a link to " + h, browser.run("return document.querySelector('h2').textContent"),
                browser.ask("name", hashes.index(h))["name"], faults)
    browser.view("v=function&f=0123456789abcdef")
    compare("a link of another report", "no such function" in browser.run("return document.querySelector('#quern-main').textContent"), True, faults)
    compare("console", browser.complaints(), [], faults)
    test("keys, back, links", faults)


def check_filters(browser):
    """Pieces of names, case, regular expressions, files; formulas; groups that are opened."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))
    for text, rows in (("FUNC", 0), ("func", 2), ("/^f.*2$/", 1), ("/MAIN/i", 1), ("file:file2", 1), ("!func", 1), ("!file:file2", 2), ("/(/", None), ("", 3)):
        browser.view("v=functions&q=" + urllib.parse.quote(text))
        if rows is None:
            compare("a bad expression is said", "regular expression" in browser.run("return document.querySelector('.count').textContent"), True, faults)
        else:
            compare("rows of " + text, len(texts_of(browser, "#quern-functions")), rows, faults)
    browser.view("v=functions&d=" + urllib.parse.quote("twice=2 Instructions~half=Instructions / 2") + "&e=twice&c=half&s=-self.0.twice")
    rows = texts_of(browser, "#quern-functions")
    compare("defined events", [(r[0], r[2], r[4], r[5]) for r in rows],
            [("1,400", "1,400", "≈ 350", "≈ 350"), ("800", "200", "≈ 200", "≈ 50"), ("1,640", "40", "≈ 410", "≈ 10")], faults)
    browser.view("v=functions&g=file")
    browser.run("document.querySelector('.group').click()")
    browser.settle()
    compare("an opened group", [r[-3] for r in texts_of(browser, "#quern-functions")],
            ["▾ file2.c1 function", "func2file2.c", "▸ file1.c2 functions"], faults)
    # Lines: by function, by file, in another order.
    lines = lambda: [r[:1] + [re.sub(r"^(file\d\.c:\d+).*", r"\1", r[2])] for r in texts_of(browser, "#quern-lines")]  # noqa: E731
    all_lines = [["700", "file2.c:20"], ["100", "file1.c:51"], ["20", "file1.c:16"]]
    func2 = next(n["hash"] for n in (browser.ask("name", i) for i in range(3)) if n["name"] == "func2")
    for state, wanted in (("", all_lines), ("&s=%2Bline.0.Instructions", all_lines[::-1]), ("&q=func", all_lines[:2]), ("&q=file:file1", all_lines[1:]),
                          ("&q=!file:file1", all_lines[:1]), ("&q=/MAIN/i", all_lines[2:]), ("&hi=" + func2, all_lines[1:]),
                          ("&s=%2Bline.0.Instructions&q=func", all_lines[1::-1]), ("&q=nothing", [])):
        browser.view("v=lines" + state)
        compare("lines" + state, lines(), wanted, faults)
    browser.view("v=lines&q=/(/")
    compare("a bad expression in lines", "regular expression" in browser.run("return document.querySelector('.count').textContent"), True, faults)
    browser.view("v=lines")
    browser.run("document.querySelector('#quern-lines th button').click()")
    browser.settle()
    compare("a click on the head", lines(), all_lines[::-1], faults)
    browser.press("/", "f", "u", "n", "c", "2")
    compare("typed in lines", (lines(), "v=lines" in browser.run("return location.hash")), (all_lines[:1], True), faults)
    # Focus and hide by search text, in pictures, too: without func1 func2 is on main alone, as for a hidden function.
    def narrowed(text, name):
        browser.view("v=flame&t=1")
        browser.run("document.querySelector('#quern-search').value = %r" % text)
        browser.run("[...document.querySelectorAll('header button')].find((b) => b.textContent === '%s').click()" % name)
        browser.settle()
        return [row[0] for row in texts_of(browser, "#quern-flame")]

    compare("hide /1$/", narrowed("/1$/", "Hide"), ["820", "400"], faults)
    compare("a chip", browser.run("return [...document.querySelectorAll('.chip')].map((c) => c.textContent)"), ["hidden: /1$/ ✕"], faults)
    browser.view("v=functions&hr=/1$/")
    compare("in Functions", [r[-3] for r in texts_of(browser, "#quern-functions")], ["mainfile1.c", "func2file2.c"], faults)
    browser.press(Keys.ESCAPE)
    compare("Esc", len(texts_of(browser, "#quern-functions")), 3, faults)
    browser.view("v=treemap&t=1&hr=/1$/~file:file2")
    compare("two hidden in a treemap", texts_of(browser, "#quern-treemap")[0][0], "20", faults)
    browser.view("v=graph&t=1&hr=/1$/")
    compare("in the graph", [r for r in texts_of(browser, "#quern-graph") if "func1" in r], [], faults)
    compare("focus on func", narrowed("func", "Focus"), ["820", "400", "400", "300"], faults)
    compare("focus on !file1: what leads to func2, too", narrowed("!file:file1", "Focus"), ["820", "400", "400", "300"], faults)
    compare("a bad expression", (narrowed("/(/", "Hide"), "regular expression" in
                                 browser.run("return document.querySelector('.status').textContent")), (["820", "400", "400", "300"], True), faults)
    compare("nothing is searched for", (narrowed("", "Focus") != [], browser.run("return document.activeElement.id")), (True, "quern-search"), faults)
    test("filters, formulas, groups, lines in another order", faults)


def check_long(browser):
    """320,000 functions exceed the height of an element: every row can still be reached."""
    faults, n = [], 320000
    path, report = os.path.join(FOLDER, "long.out"), os.path.join(FOLDER, "long.html")
    with open(path, "w") as f:
        f.write("events: Ir\nfl=x\n" + "".join("fn=f%d\n1 %d\n" % (i, i + 1) for i in range(n)))
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("v=functions")

    def ends():
        return browser.run("""const box = document.querySelector('#quern-main .scroll').getBoundingClientRect();
            const rows = [...document.querySelectorAll('#quern-functions tbody tr')].filter(
                (r) => r.getBoundingClientRect().bottom <= box.bottom + 1);
            return [rows[0], rows[rows.length - 1]].map((r) => [Number(r.dataset.row), r.querySelector('a').textContent])""")

    compare("the first row", ends()[0], [0, "f%d" % (n - 1)], faults)
    browser.run("document.querySelector('#quern-functions .main').focus()")
    for key, row in ((Keys.END, n - 1), (Keys.ARROW_UP, n - 2), (Keys.HOME, 0), (Keys.PAGE_DOWN, None), (Keys.ARROW_DOWN, None)):
        before = browser.run("return Number(document.activeElement.closest('tr')?.dataset.row ?? -1)")
        browser.press(key)
        browser.quiet()
        at = browser.run("return Number(document.activeElement.closest('tr')?.dataset.row ?? -1)")
        if row is None:
            compare("moved on", at > before, True, faults)
        else:
            compare("row", at, row, faults)
        if key == Keys.END:
            compare("the last row is in sight", ends()[1], [n - 1, "f0"], faults)
    browser.run("document.querySelector('#quern-main .scroll').scrollTop = 1e9")
    browser.quiet()
    compare("scrolled to the end", ends()[1], [n - 1, "f0"], faults)
    compare("rows in the page", browser.run("return document.querySelectorAll('#quern-functions tbody tr').length") < 100, True, faults)
    browser.view("v=functions&q=f31999")
    compare("found", [r[2].split("x")[0] for r in texts_of(browser, "#quern-functions")],
            ["f319999", "f319998", "f319997", "f319996", "f319995", "f319994", "f319993", "f319992", "f319991", "f319990", "f31999"], faults)
    compare("console", browser.complaints(), [], faults)
    test("320,000 functions in a table", faults)


def check_contrast(browser):
    faults = []
    browser.open(os.path.join(FOLDER, "why.html"))
    for theme in ("light", "dark"):
        for view in ("", "v=functions", "v=functions&g=file&f=1", "v=function", "v=source", "v=lines", "v=treemap", "v=treemap&t=1"):
            browser.view(view + "&m=" + theme)
            browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
            compare("%s, %s" % (view, theme), browser.run(CONTRAST), [], faults)
    report = os.path.join(FOLDER, "contrast.html")
    quern("report", "--base=" + FOLDER + "/old.out", "--old-include=" + FOLDER + "/old", "--new-include=" + FOLDER + "/new",
          "-o", report, FOLDER + "/new.out")
    browser.open(report)
    for theme in ("light", "dark"):
        for view in ("", "v=functions", "v=compare", "v=function", "v=source&w=sub/text.c", "v=lines"):
            browser.view(view + "&m=" + theme)
            compare("with a base: %s, %s" % (view, theme), browser.run(CONTRAST), [], faults)
    test("contrast of 4.5, no id twice", faults)


def check_colours(browser):
    """More expensive and cheaper, hot and cool, and the parts of the why-bar are distinct for every kind of sight: 20 at least. Lines
    and bars have a contrast of 3 : 1 to the paper (WCAG 1.4.11)."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))
    why = ["why%d" % i for i in range(6)]
    pairs = [("hot", "cool"), ("more", "less")] + [(a, b) for i, a in enumerate(why) for b in why[:i]]
    for theme in ("light", "dark"):
        browser.view("m=" + theme)
        color = {name: browser.run("return getComputedStyle(document.documentElement).getPropertyValue('--%s').trim()" % name)
                 for name in why + ["hot", "cool", "more", "less", "line", "accent", "faint", "paper"]}
        for sight in SIGHTS:
            for a, b in pairs:
                if apart(color[a], color[b], sight) < 20:
                    faults.append("%s, %s: %s and %s are %.1f apart" % (theme, sight, a, b, apart(color[a], color[b], sight)))
        for name in why + ["more", "less", "line", "accent", "faint"]:
            a, b = (sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), light(color[n]))) + 0.05 for n in (name, "paper"))
            if max(a, b) / min(a, b) < 3:
                faults.append("%s: %s has a contrast of %.2f" % (theme, name, max(a, b) / min(a, b)))
    test("colours are told apart with any kind of sight", faults)


def check_old(browser):
    """A browser without a feature that the page needs: a message names it, and the static summary stays."""
    faults = []
    script = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream"})
    compare("state", browser.open(os.path.join(FOLDER, "calls.callgrind.html")), "", faults)
    compare("said", browser.run("return document.querySelector('p.fault').textContent"),
            "This browser is too old for the interactive report: it lacks DecompressionStream. "
            "Chrome 103, Firefox 113 or Safari 16.4 have all of it.", faults)
    compare("static summary", browser.run("return document.getElementById('quern-static').checkVisibility()"), True, faults)
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})
    compare("state afterwards", browser.open(os.path.join(FOLDER, "calls.callgrind.html")), "ready", faults)
    test("a browser that is too old", faults)


def check_saved(browser):
    """Saved files: tables as CSV, graphs as DOT, stacks folded; full names."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))

    def saved(view, name):
        return saved_text(browser, view, name)

    compare("functions", saved("v=functions", "CSV").splitlines(), [
        "Instructions incl.,%,Instructions self,%,Called,Instructions per call,Function,File,Object",
        "820,100.0%,20,2.44%,0,–,main,file1.c,", "700,85.4%,700,85.4%,5,140,func2,file2.c,",
        "400,48.8%,100,12.2%,1,400,func1,file1.c,"], faults)
    compare("lines", saved("v=lines", "CSV").splitlines(),
            ["Instructions self,%,Line,Source", "700,85.4%,file2.c:20,", "100,12.2%,file1.c:51,", "20,2.44%,file1.c:16,"], faults)
    compare("totals", saved("", "CSV: totals").splitlines(), ["Event,Total", "Instructions,820"], faults)
    compare("most expensive", saved("", "CSV: most-expensive").splitlines(),
            ["Instructions self,%,Function", "700,85.4%,func2", "100,12.2%,func1", "20,2.44%,main"], faults)
    compare("costs", saved("v=function", "CSV").splitlines(),
            ["Event,incl.,%,self,%", "Instructions,820,100.0%,20,2.44%", "Called,0"], faults)
    main = browser.ask("name", 0)["hash"]
    browser.view("v=function&a=1&f=" + main)
    compare("names of the buttons", [name for role, name in browser.names() if role == "button" and name.startswith("CSV")],
            ["CSV: costs", "CSV: all callees", "CSV: source"], faults)
    # main has 20 of its own, func1 100; of func2's 700 main calls 400, func1 300.
    compare("stacks", sorted(saved("v=flame", "Folded").splitlines()),
            ["main 20", "main;func1 100", "main;func1;func2 300", "main;func2 400"], faults)
    text = saved("v=graph", "DOT")
    compare("graph", ('label="main 820"' in text, '"300 (2x)"' in text, text.count("->")), (True, True, 3), faults)
    svg = saved("v=graph", "SVG")
    size = [float(v) for v in re.search('<svg [^>]*width="([^"]*)" height="([^"]*)"', svg).groups()]
    compare("picture", ('viewBox="' in svg, re.search('<text[^>]*text-anchor="([^"]*)"', svg)[1]), (True, "start"), faults)
    # As pixels, two for each of its units: the paper, and the drawing.
    view = "v=graph"
    browser.view(view)
    got = browser.driver.execute_async_script("""const done = arguments[0];
        window.saved = null;
        [...document.querySelectorAll("#quern-main button")].find((b) => b.textContent === "PNG").click();
        const wait = async () => {
            if (window.saved?.type !== "image/png") return setTimeout(wait, 10);
            const image = await createImageBitmap(window.saved), c = document.createElement("canvas");
            [c.width, c.height] = [image.width, image.height];
            const pen = c.getContext("2d");
            pen.drawImage(image, 0, 0);
            const all = pen.getImageData(0, 0, c.width, c.height).data, seen = new Set();
            for (let i = 0; i < all.length; i += 4) seen.add(all.slice(i, i + 4).join());
            done([c.width, c.height, [...all.slice(0, 4)].join(), seen.size > 20]);
        };
        void wait();""")
    compare("picture as pixels", got, [round(size[0] * 2), round(size[1] * 2), "255,255,255,255", True], faults)
    # Boxes with their tips: three in a row of 19 pixels, and main as wide as the picture.
    svg = saved("v=flame", "SVG")
    boxes = [[float(v) for v in m] for m in re.findall('<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"', svg)]
    width = float(re.search('<svg [^>]*width="([^"]*)"', svg)[1])
    compare("flame graph", (len(boxes), boxes[0], round(boxes[1][2] / width, 3), "main, 100.0 % of Instructions, depth 0, exactly 820" in svg),
            (4, [0, 0, width, 19], 0.488, True), faults)
    compare("treemap", len(re.findall("<title>", saved("v=treemap", "SVG"))), 8, faults)
    test("saved tables, stacks and graphs", faults)


def check_access(browser):
    """Every view: one heading of the first level, a main region, a name for all focusable elements; 320 pixels; print."""
    faults = []
    browser.open(os.path.join(FOLDER, "calls.callgrind.html"))
    for view in ("", "v=functions", "v=function", "v=source", "v=graph", "v=flame", "v=treemap", "v=lines"):
        browser.view(view)
        nameless = [role for role, name in browser.names() if role in ("link", "button", "textbox", "searchbox", "combobox", "checkbox")
                    and not name.strip()]
        compare("nameless in " + view, nameless, [], faults)
        compare("landmarks of " + view, sorted(role for role, _ in browser.names() if role in ("main", "navigation", "banner")),
                ["banner", "main", "navigation"], faults)
        compare("headings of " + view, browser.run("return document.querySelectorAll('h1:not(#quern-static h1)').length"), 1, faults)
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                       {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False})
        wide = browser.run("return document.documentElement.scrollWidth")
        if wide > 320:
            faults.append("%s is %d wide at 320: %s" % (view, wide, browser.run(
                "return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 321 && "
                "!e.closest('.scroll, .wide, .hold, svg')).map((e) => e.tagName + '.' + e.className + '#' + e.id).slice(0, 5).join()")))
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    compare("dark", browser.run("return getComputedStyle(document.body).backgroundColor"), "rgb(22, 24, 27)", faults)
    browser.view("m=light")
    compare("light by hand", browser.run("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)", faults)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    compare("print: summary and view, no frame", browser.run(
        "return ['header', '#quern-static', 'main'].map((s) => document.querySelector(s).getBoundingClientRect().height > 0)"),
        [False, True, True], faults)
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    compare("print has pages", pdf[:5] == b"%PDF-" and len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2, True, faults)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    test("names, landmarks, 320 pixels, dark, print", faults)


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
    browser.view("v=functions")
    tips = browser.run("return [...document.querySelectorAll('#quern-functions a')].map((a) => a.title)")
    compare("full names in tips", all(any(tip.startswith(name + " (") for tip in tips) for name in wanted), True, faults)
    for f in range(len(HOSTILE)):
        browser.view("v=function&f=" + browser.ask("name", f)["hash"])
        name = browser.run("return document.querySelector('h2').textContent")
        compare("name of a function", name in wanted, True, faults)
    for view in ("source", "lines", "treemap", "treemap&t=1", "functions&g=file", "functions&g=folder", "functions&g=namespace",
                 "functions&q=%3Cscript", "functions&d=%3Cscript%3E%3D2%20Ir&e=%3Cscript%3E", "source&w=%3Cscript%3E", "x&f=%3Cscript%3E"):
        browser.view("v=" + view)
        compare("hacked in " + view, browser.run("return typeof hacked"), "undefined", faults)
        compare("foreign elements in " + view, browser.run(
            "return document.querySelectorAll('#quern-app img, #quern-app iframe, #quern-app script').length"), 0, faults)
    browser.view("")
    compare("hacked", browser.run("return typeof hacked"), "undefined", faults)
    compare("title", browser.run("return document.title"), "</title><script>hacked = 1</script>", faults)
    compare("foreign elements", browser.run("return document.querySelectorAll('img, iframe').length"), 0, faults)
    compare("requests", browser.run("return performance.getEntriesByType('resource').length"), 0, faults)
    compare("console", browser.complaints(), [], faults)
    test("hostile names are inert, and shown", faults)


def check_stranger(browser):
    """A source's text and path, and an object's name, are shown as they are; files that a stranger's profile names elsewhere are not read."""
    faults = []
    folder, report = os.path.join(FOLDER, "<img src=x onerror=hacked=1>"), os.path.join(FOLDER, "stranger.html")
    path, profile, lines = folder + "/'\"&lt;.c", os.path.join(FOLDER, "stranger.out"), [
        "</script><script>hacked = 1</script>", "<img src=x onerror=hacked=1>", "<!--<script>", "]]>&lt;&#60;", "\u202egnirts\u202c", "last"]
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    os.utime(path, (0, 0))
    with open(profile, "w", encoding="utf-8") as f:
        f.write("positions: instr line\nevents: Ir\nob=<img src=x onerror=hacked=2>\nfl=%s\nfn=f\n" % path +
                "".join("0x%x %d 5\n" % (i, i) for i in range(1, len(lines) + 1)) +
                "ob=/bin/true\nfl=/etc/passwd\nfn=g\n0x10 1 1\nfn==1+1\n0x20 1 -2\n")
    status, _, said = quern("report", "-o", report, profile)
    compare("said", said.splitlines()[0], "quern: %s: was not recorded here by this user: files that it names, such as /bin/true, are read "
            "only below this folder, and not hidden ones; -I FOLDER allows those below FOLDER, -I / all" % profile, faults)
    compare("state", browser.open(report), "ready", faults)
    browser.view("v=source&w=" + urllib.parse.quote(path))
    text = browser.run("""return [...document.querySelectorAll("#quern-source tbody code.text")].map((c) => c.textContent)""")
    compare("text", text, lines, faults)
    for view in ("v=lines", "v=assembly", "v=functions&g=object", "v=functions&g=file", "v=source"):
        browser.view(view)
        compare("foreign elements in " + view, browser.run(
            "return document.querySelectorAll('#quern-app img, #quern-app script').length"), 0, faults)
    g = next(r["func"] for r in all_rows(browser).values() if r["name"] == "g")
    for view, said in (("v=source&w=/etc/passwd", "The source was not read: the profile was not recorded where this report was made (-I)."),
                       ("v=assembly&f=" + browser.ask("name", g)["hash"], "The object file was not read: the profile was not recorded where "
                        "this report was made (-I): costs by address.")):
        browser.view(view)
        compare(view, said in browser.run("return document.querySelector('#quern-main').textContent"), True, faults)
    computed = [line for line in saved_text(browser, "v=functions", "CSV").splitlines() if "1+1" in line]
    compare("what a spreadsheet would compute, and numbers", computed, ['-2,-6.90%,"\'=1+1",/etc/passwd,/bin/true'], faults)
    compare("hacked", browser.run("return typeof hacked"), "undefined", faults)
    compare("requests", browser.run("return performance.getEntriesByType('resource').length"), 0, faults)
    compare("console", browser.complaints(), [], faults)
    test("sources and objects of a stranger's profile: shown as text, or not read", faults)


def blocks_of(html):
    return list(re.finditer(r'<script type="application/quern" [^>]*>([^<]*)</script>\n', html))


def check_damage(browser, path="tests/golden/calls.callgrind"):
    """A wrong byte, a missing block, a truncated file: a message says so, and the static summary stays."""
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
        ("the end is missing", html[:blocks[1].end()], "truncated"),
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


def check_first(browser):
    """Without its first block of calls a report has inclusive costs of the second event for some functions only: it shows no others."""
    faults, n = [], 3000
    path, report = os.path.join(FOLDER, "first.out"), os.path.join(FOLDER, "first.html")
    with open(path, "w") as f:
        f.write("events: A B\nfl=x\nfn=main\n1 1 1\n")
        for i in range(n):
            f.write("cfn=f%d\ncalls=1 1\n1 %d %d\n" % (i, n - i, i + 1))
        for i in range(n):
            f.write("fn=f%d\n2 %d %d\n" % (i, n - i, i + 1))
    quern("report", "-o", report, path)
    html = open(report, encoding="utf-8").read()
    block = blocks_of(html)[1]
    with open(report, "w", encoding="utf-8") as f:
        f.write(html[:block.start()] + html[block.end():])
    browser.open(report, state="first")
    browser.view("v=functions&s=%2Bname&e=B&c=A")
    rows = texts_of(browser, "#quern-functions")
    unknown = 0
    for row in rows:
        name = row[-3].split("x")[0]
        if name == "main":
            continue
        b = int(name[1:]) + 1
        unknown += row[0] == "–"
        if row[0] not in ("–", "{:,}".format(b)) or row[2] != "{:,}".format(b) or row[4] != "{:,}".format(n + 1 - b):
            faults.append("%s: %s" % (name, row))
    compare("some are known, some not", 0 < unknown < len(rows), True, faults)
    browser.complaints()
    test("before everything is there: nothing wrong is shown", faults)


def check_static(browser, path="tests/golden/calls.callgrind"):
    """Without JavaScript: totals and functions are text."""
    faults = []
    profile = as_json(path)
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.driver.get("file://" + os.path.abspath(os.path.join(FOLDER, "calls.callgrind.html")))
    text = browser.driver.find_element("id", "quern-static").text
    state = browser.run("return document.body.dataset.state ?? null")
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    compare("no script ran", state, None, faults)
    for number in profile["totals"]:
        if "{:,}".format(number) not in text:
            faults.append("no %s in %s" % (number, text))
    for function in profile["functions"]:
        if function["name"] not in text:
            faults.append("no " + function["name"])
    if "JavaScript" not in text:
        faults.append("does not say that it needs JavaScript: " + text)
    test("without JavaScript", faults)


OLD = ["int f(void)\n", "{\n", "    int a = 1;\n", "    return a;\n", "}\n", "// gone\n", "int g;"]
NEW = ["// new\n", "int f(void)\n", "{\n", "    int a = 2;\n", "    return a;\n", "}\n", "int g;"]


def check_text(browser):
    """Both versions of a source are in the report: the base's consists of the equal lines and its own."""
    faults = []
    report = os.path.join(FOLDER, "text.html")
    for side, lines, cost in (("old", OLD, "3 7\n4 2\n"), ("new", NEW, "4 9\n5 6\n")):
        os.makedirs(os.path.join(FOLDER, side), exist_ok=True)
        with open(os.path.join(FOLDER, side, "text.c"), "w") as f:
            f.write("".join(lines))
        with open(os.path.join(FOLDER, side + ".out"), "w") as f:
            f.write("events: Ir\nfl=sub/text.c\nfn=f\n" + cost +
                    "fl=lost.c\nfn=g\n1 1\nsummary: %d\n" % (10 if side == "old" else 16))
    status, _, said = quern("report", "--base=" + FOLDER + "/old.out", "--old-include=" + FOLDER + "/old",
                            "--new-include=" + FOLDER + "/new", "-o", report, FOLDER + "/new.out")
    compare("said", said, "quern: %s: 1 source is in it, 1 not found (lost.c; searched below %s/new, %s/old (of the base))\n" %
            (report, FOLDER, FOLDER), faults)
    compare("state", browser.open(report), "ready", faults)
    file = next(browser.ask("func", f)["file"] for f in range(2)
                if browser.ask("string", browser.ask("func", f)["name"]) == "f")
    new, old = browser.ask("source", file, 0), browser.ask("source", file, 1)
    compare("new text", "".join(p["text"] for p in new["pieces"]), "".join(NEW), faults)
    compare("lines", (new["lines"], old["lines"]), (7, 7), faults)
    rebuilt, runs = {}, list(browser.ask("align", file).values())
    a = b = 0
    for i in range(0, len(runs), 3):
        a, b = a + runs[i], b + runs[i + 1]
        for k in range(runs[i + 2]):
            rebuilt[a + k] = NEW[b + k]
        a, b = a + runs[i + 2], b + runs[i + 2]
    compare("lines of the base alone", [p["text"] for p in old["pieces"]], [OLD[2], OLD[5]], faults)
    for piece in old["pieces"]:
        for k, line in enumerate(piece["text"].splitlines(True)):
            rebuilt[piece["first"] - 1 + k] = line
    compare("old text", [rebuilt.get(i) for i in range(7)], OLD, faults)
    browser.view("v=source&w=sub/text.c")
    # Old number, new number, and what is only on one side; old and new cost.
    lines = browser.run("""return [...document.querySelectorAll("#quern-source tbody tr")].map((r) =>
        [...r.cells].slice(5, 7).map((c) => c.textContent).concat(r.className, [...r.cells].slice(0, 2).map((c) => c.textContent)))""")
    compare("aligned source", lines, [
        ["", "1", "new", "", ""], ["1", "2", "", "", ""], ["2", "3", "", "", ""], ["3", "–", "gone", "7", "0"], ["", "4", "new", "0", "9"],
        ["4", "5", "", "2", "6"], ["5", "6", "", "", ""], ["6", "–", "gone", "", ""], ["7", "7", "", "", ""]], faults)
    # Line 4 of the base is line 5; its line 3 is gone, and line 4 is new. lost.c is compared by number.
    browser.view("v=lines")
    lines = browser.run("""return [...document.querySelectorAll("#quern-lines tbody tr")].map((r) =>
        [r.dataset.place].concat([...r.cells].filter((c) => !c.querySelector(".share")).slice(0, 3).map((c) => c.textContent),
        [r.cells[r.cells.length - 1].textContent]))""")
    compare("aligned lines", lines, [
        ["sub/text.c:4", "0", "9", "+9", "    int a = 2;"], ["sub/text.c:3 gone", "7", "0", "-7", "    int a = 1;"],
        ["sub/text.c:5", "2", "6", "+4", "    return a;"], ["lost.c:1", "1", "1", "0", ""]], faults)
    for option, state, pieces in (("--source=none", 2, 0), ("--source=cost", 0, 1)):
        quern("report", option, "-I", FOLDER + "/new", "-o", report, FOLDER + "/new.out")
        browser.open(report)
        source = browser.ask("source", browser.ask("func", 0)["file"], 0)
        compare(option, (source["state"], len(source["pieces"])), (state, pieces), faults)
    compare("console", browser.complaints(), [], faults)
    test("sources: found below a folder, aligned, left out", faults)


def check_code(browser):
    """Instructions are those of objdump, at their addresses."""
    faults = []
    program, profile, report = (os.path.join(FOLDER, "code" + end) for end in ("", ".out", ".html"))
    with open(program + ".c", "w") as f:
        f.write("int main(int c, char **v)\n{\n    int s = c;\n"
                "    for (int i = 0; i < 100; i++)\n        if (i % 3 == 0)\n            s += v[0][0] / (i + 1);\n"
                "    return s == 77;\n}\n")
    subprocess.run(["gcc", "-O1", "-g", "-o", program, program + ".c"], check=True)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes",
                    "--callgrind-out-file=" + profile, program], check=True)
    dump = subprocess.run(["objdump", "-d", "--disassemble=main", program], check=True, stdout=subprocess.PIPE)
    wanted = {int(m[1], 16): m[2].decode().split() for m in
              re.finditer(rb"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", dump.stdout, re.M)}
    quern("report", "-o", report, profile)
    compare("state", browser.open(report), "ready", faults)
    main = next(r["func"] for r in all_rows(browser).values() if r["name"] == "main")
    code = browser.ask("code", main)
    compare("state of the code", code["state"], 0, faults)
    jumps = 0
    for insn in code["insns"]:
        got = ["%02x" % insn["bytes"][str(i)] for i in range(len(insn["bytes"]))]
        compare("bytes at %x" % int(insn["addr"]), got, wanted.get(int(insn["addr"]))[:len(got)]
                if int(insn["addr"]) in wanted else None, faults)
        if insn["intel"].startswith("j"):
            jumps += 1
            compare("target of " + insn["intel"], int(insn["target"]) in wanted, True, faults)
        if insn["intel"] == "add ecx, 0x01":
            compare("AT&T", insn["att"], "add $0x01, %ecx", faults)
    compare("there are jumps", jumps > 1, True, faults)
    compare("all executed code and code in between", len(code["insns"]) >= len(wanted) - 4, True, faults)
    quern("report", "--asm=no", "-o", report, profile)
    browser.open(report)
    compare("--asm=no", browser.ask("code", 0)["state"], 2, faults)
    os.remove(program)
    quern("report", "-o", report, profile)
    browser.open(report)
    compare("no object", browser.ask("code", main)["state"], 1, faults)
    test("instructions are those of objdump", faults)


def check_heat(browser):
    """Ratios as heat on instructions: D1mr / Dr of 0x10 is 5 of 500, of 0x18, in two lines, 60 of 200; 0x14 has 1 of 1, but only
    50 Ir. So 0x18 is the hottest, and 0x10 has the root of 0.01 / 0.3."""
    faults = []
    path, report = os.path.join(FOLDER, "heat.out"), os.path.join(FOLDER, "heat.html")
    with open(path, "w") as f:
        f.write("positions: instr line\nevents: Ir Dr D1mr\nfl=x.c\nfn=f\n0x10 1 1000 500 5\n0x14 1 50 10 10\n0x18 2 200 100 50\n0x18 3 200 100 10\n")
    quern("report", "-o", report, path)
    browser.open(report)
    rate = "v=assembly&c=rate&d=" + urllib.parse.quote("rate=D1mr / Dr")
    warm = """return [...document.querySelectorAll('#quern-assembly [data-addr]')].map((r) => [r.dataset.addr,
        [...r.querySelectorAll('[data-q]')].map((e) => e.textContent).join(' '),
        Number(Number(r.querySelector('code.text').style.getPropertyValue('--heat')).toFixed(3))])"""
    browser.view(rate + "&x=rate")
    compare("heat by ratio", browser.run(warm), [["10", "1,000 ≈ 0.01", 0.183], ["14", "50 ≈ 1", 0], ["18", "400 ≈ 0.3", 1]], faults)
    browser.view(rate)
    compare("heat by Ir", browser.run(warm), [["10", "1,000 ≈ 0.01", 1], ["14", "50 ≈ 1", 0.224], ["18", "400 ≈ 0.3", 0.632]], faults)
    browser.run("const s = document.querySelector('[aria-label=\"Heat by\"]'); s.value = 'D1mr'; s.dispatchEvent(new Event('change'))")
    browser.settle()
    compare("chosen", [w[2] for w in browser.run(warm)], [0.289, 0.408, 1], faults)  # 5, 10, 60
    compare("console", browser.complaints(), [], faults)
    test("heat by ratio on instructions", faults)


def check_changes(browser):
    """With a base pictures say old, new, difference and factor: f 100 and 160, g only new with 40, main 20 and 30."""
    faults = []
    old, new, report = (os.path.join(FOLDER, "change." + end) for end in ("old", "new", "html"))
    for path, main, f, g in ((old, 20, 100, 0), (new, 30, 160, 40)):
        with open(path, "w") as out:
            out.write("events: Ir\nfl=x.c\nfn=main\n1 %d\ncfn=f\ncalls=1 1\n1 %d\n" % (main, f) +
                      ("cfn=g\ncalls=2 1\n1 %d\n" % g if g else "") + "fn=f\n2 %d\n" % f + ("fn=g\n3 %d\n" % g if g else ""))
    quern("report", "--base=" + old, "-o", report, new)
    browser.open(report)
    browser.view("v=treemap&t=1")
    rows = {re.sub("x.c$", "", r[-1]) or r[-1]: r[:-1] for r in texts_of(browser, "#quern-treemap")}
    for name, cells in (("f", ["160", "69.6 %", "100", "160", "+60", "×1.60"]), ("g", ["40", "17.4 %", "0", "40", "+40", "new"]),
                        ("main", ["30", "13.0 %", "20", "30", "+10", "×1.50"]), ("2", ["160", "69.6 %", "100", "160", "+60", "×1.60"])):
        compare("treemap: " + name, rows.get(name), cells, faults)
    shown_numbers(browser, "treemap", known_of(browser, browser.ask("summary")), faults)
    main = next(browser.ask("name", f)["hash"] for f in range(3) if browser.ask("name", f)["name"] == "main")
    browser.view("v=treemap&t=1&b=old")
    compare("areas of old", [r[:2] for r in texts_of(browser, "#quern-treemap")][0], ["120", "100.0 %"], faults)
    browser.view("v=treemap&k=callees&f=" + main)
    said = [name for role, name in browser.names() if role == "link" and "depth" in name]
    compare("names of callees", said, ["main, 100.0 % of Ir, depth 0, exactly 230; function: old 120, new 230, difference +110, factor ×1.92"], faults)
    browser.view("v=graph&ln=0&f=" + main)
    said = [name for role, name in browser.names() if role == "link" and name.startswith("f, ")]
    compare("names in the graph", said, ["f, +60, +26.1 % of Ir, self +60; inclusive: old 100, new 160, difference +60, factor ×1.60; "
                                         "self: old 100, new 160, difference +60, factor ×1.60"], faults)
    # Calls from 46 on, 20 % of 230: to f, whose difference is 60. That to g (40) is only among the others.
    browser.view("v=graph&ln=1&t=1&f=" + main)
    compare("least cost of calls as of functions", texts_of(browser, "#quern-graph"),
            [["main", "1", "1", "0", "×1.00", "100", "160", "+60", "×1.60", "f"], ["main", "0", "2", "+2", "new", "0", "40", "+40", "new", "g"]], faults)
    shown_numbers(browser, "graph", known_of(browser, browser.ask("summary")), faults)
    browser.view("v=graph&ln=1&le=20&t=1&f=" + main)
    compare("least cost of calls", texts_of(browser, "#quern-graph"),
            [["main", "1", "1", "0", "×1.00", "100", "160", "+60", "×1.60", "f"], ["main", "", "", "+2", "", "", "", "+40", "", "other callees"]], faults)
    browser.view("v=graph&ln=0&f=" + main)
    compare("tips of calls", sorted(browser.run("return [...document.querySelectorAll('svg.graph path.call title')].map((t) => t.textContent)")),
            ["main calls f: 0 calls, +60 inclusive (+26.1 % of Ir); cost: old 100, new 160, difference +60, factor ×1.60; "
             "calls: old 1, new 1, difference 0, factor ×1.00",
             "main calls g: +2 calls, +40 inclusive (+17.4 % of Ir); cost: old 0, new 40, difference +40, factor new; "
             "calls: old 0, new 2, difference +2, factor new"], faults)
    browser.view("v=flame&t=1")
    compare("flame graph", texts_of(browser, "#quern-flame"), [
        [*bounds, share, depth, *change, name] for bounds, share, depth, change, name in (
            (("230", "230"), "100.0 %", "0", ("120", "230", "+110", "×1.92"), "mainx.c"),
            (("160", "160"), "69.6 %", "1", ("100", "160", "+60", "×1.60"), "fx.c"), (("40", "40"), "17.4 %", "1", ("0", "40", "+40", "new"), "gx.c"))], faults)
    browser.view("v=function&f=" + next(browser.ask("name", f)["hash"] for f in range(3) if browser.ask("name", f)["name"] == "f"))
    compare("path", browser.run("return document.querySelector('.way').textContent"), "main calls: old 1, new 1, difference 0, "
            "factor ×1.00; inclusive: old 100, new 160, difference +60, factor ×1.60f", faults)
    compare("callers", texts_of(browser, "#quern-callers"), [["1", "1", "0", "×1.00", "100", "160", "+60", "×1.60", "100.0 %",
                                                              "100", "160", "+60", "×1.60", "mainx.c"]], faults)
    # In every view the new number is beside the old one, the difference and the factor; shares are beside their numbers.
    for state in ("", "v=functions", "v=functions&g=file", "v=compare", "v=function", "v=function&a=1", "v=lines", "v=source", "v=graph&t=1",
                  "v=flame&t=1", "v=flame&k=sandwich&t=1", "v=treemap&t=1", "v=treemap&k=callees&t=1"):
        browser.view(state)
        for heads in browser.run("return [...document.querySelectorAll('#quern-main table')].map((t) => [...t.tHead.querySelectorAll('th')].map((h) => h.textContent))"):
            many = [sum(bool(re.search(r"(^|, )%s( [▼▲])?$" % side, h)) for h in heads) for side in ("old", "new", "difference", "factor")]
            compare("%s: %s" % (state, heads), (many[0] > 0, len(set(many))), (True, 1), faults)
    compare("console", browser.complaints(), [], faults)
    test("pictures with a base: old, new, difference, factor", faults)


def check_flow(browser):
    """ecx runs from 10 down to 1, five times even: of ten tests five jump to 2:, the others go on and jump to 3:; of ten
    decrements nine jump back. Blocks: 1, 10 test and jz, 5 inc and jmp, 5 dec, 10 dec and jnz, 1 ret: 57 instructions."""
    faults = []
    base = os.path.abspath(os.path.join(FOLDER, "flow"))
    with open(base + ".s", "w") as f:
        f.write(FLOW)
    subprocess.run(["gcc", "-g", "-o", base, base + ".s"], check=True)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes",
                    "--callgrind-out-file=" + base + ".out", base], check=True)
    quern("report", "-o", base + ".html", base + ".out")
    compare("state", browser.open(base + ".html"), "ready", faults)
    f = next(r["func"] for r in all_rows(browser).values() if r["name"] == "f")
    first = int(browser.ask("code", f)["insns"][0]["addr"])
    at = ["0x%x" % (first + n) for n in (0, 5, 10, 14, 16, 20)]
    view = "v=assembly&k=flow&f=" + browser.ask("name", f)["hash"]
    browser.view(view + "&t=1")
    compare("table", texts_of(browser, "#quern-flow"), [
        [at[0], "1", "next", "–", "", "", at[1]],
        [at[1], "20", "jump", "5", "10", "50.0 %", at[3]], [at[1], "20", "next", "5", "10", "50.0 %", at[2]],
        [at[2], "10", "jump", "5", "", "", at[4]],
        [at[3], "5", "next", "–", "", "", at[4]],
        [at[4], "20", "jump", "9", "10", "90.0 %", at[1]], [at[4], "20", "next", "1", "10", "10.0 %", at[5]],
        [at[5], "1", "", "", "", "", ""]], faults)
    browser.view(view)
    known_places["insn"], known_places["insnsite"] = places_of(browser, browser.ask("summary"), func=f)
    cells = shown_numbers(browser, view, ({}, {}, browser.ask("summary")), faults)
    compare("instructions with a cost", sum(q.startswith("insn:") for q in cells), 9, faults)
    texts = browser.run("return [...document.querySelectorAll('svg.graph [data-q]')].map((e) => [e.dataset.q, e.textContent])")
    compare("costs of blocks", [t.split(" · ")[1:] for q, t in texts if q.startswith("block")],
            [["1", "1.75 %"], ["20", "35.1 %"], ["10", "17.5 %"], ["5", "8.77 %"], ["20", "35.1 %"], ["1", "1.75 %"]], faults)
    compare("the blocks have all of the function", sum(int(t) for q, t in texts if q.startswith("insn:")),
            int(browser.ask("rows", [f])[0]["self"][0][0]["exact"]), faults)
    compare("arrows", [re.sub("0x[0-9a-f]+", lambda m: str(at.index(m[0])), e) for e in
                       browser.run("return [...document.querySelectorAll('[data-edge]')].map((e) => e.dataset.edge)")],
            ["0 goes on to 1, not counted", "1 jumps to 3: 5 of 10, 50.0 %", "1 goes on to 2: 5 of 10, 50.0 %", "2 jumps to 4: 5",
             "3 goes on to 4, not counted", "4 jumps to 1: 9 of 10, 90.0 %", "4 goes on to 5: 1 of 10, 10.0 %"], faults)
    dot = saved_text(browser, view, "DOT").splitlines()
    compare("as DOT", (dot[0], dot[3], dot[8:]), ("digraph flow {", '  b1 [label="%s 20 Ir"];' % at[1],
            ['  b0 -> b1 [label="", style=dashed];', '  b1 -> b3 [label="5 of 10, 50.0 %"];',
             '  b1 -> b2 [label="5 of 10, 50.0 %", style=dashed];', '  b2 -> b4 [label="5"];',
             '  b3 -> b4 [label="", style=dashed];', '  b4 -> b1 [label="9 of 10, 90.0 %"];',
             '  b4 -> b5 [label="1 of 10, 10.0 %", style=dashed];', "}"]), faults)
    names = [name for role, name in browser.names() if role == "link" and name.startswith("block at")]
    compare("names", names[1], "block at %s, 20, 35.1 %%, 2 instructions, flow.s:9-10" % at[1], faults)
    browser.run("document.querySelector('svg.graph .node').focus()")
    walk = []
    for key in (Keys.DOWN, Keys.DOWN, Keys.UP):
        browser.press(key)
        walk.append("0x" + browser.run("return document.activeElement.dataset.addr"))
    compare("down and up", (walk[0], walk[1] in at[2:4], walk[2]), (at[1], True, at[1]), faults)
    browser.press(Keys.ENTER)
    compare("Enter opens the listing", browser.run("return document.querySelector('#quern-assembly .here').dataset.addr"), at[1][2:], faults)
    # A block for each, in the picture; without instructions they are smaller.
    heights = []
    for more in ("", "&bl=1"):
        browser.view(view + more)
        boxes = browser.run("""return [...document.querySelectorAll('svg.graph .node')].map((a) => { const r = a.querySelector('rect');
            return ['x', 'y', 'width', 'height'].map((n) => Number(r.getAttribute(n))); })""")
        heights.append(sum(b[3] for b in boxes))
        for i, (x, y, w, h) in enumerate(boxes):
            for p, q, r, s in boxes[:i]:
                if x < p + r and p < x + w and y < q + s and q < y + h:
                    faults.append("blocks overlap: %s" % boxes)
    compare("rows of 15 pixels for nine instructions", heights[0] - heights[1], 9 * 15, faults)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=" + base + ".out", base], check=True)
    quern("report", "-o", base + ".html", base + ".out")
    browser.open(base + ".html")
    browser.view(view)
    compare("without jumps", "--collect-jumps=yes counts them" in browser.run("return document.querySelector('#quern-main .note').textContent"), True, faults)
    compare("console", browser.complaints(), [], faults)
    test("control flow: blocks, counts and shares worked by hand", faults)


def check_foreign(browser):
    """An object of another architecture than x86-64: its instructions are those of objdump."""
    faults = []
    base = os.path.join(FOLDER, "foreign")
    with open(base + ".s", "w") as f:
        f.write(".globl f\nf: push %ebp\n mov %esp, %ebp\n inc %eax\n pop %ebp\n ret\n")
    subprocess.run(["as", "--32", "-o", base + ".o", base + ".s"], check=True)
    subprocess.run(["ld", "-m", "elf_i386", "-Ttext=0x1000", "-e", "f", "-o", base, base + ".o"], check=True)
    with open(base + ".out", "w") as f:
        f.write("positions: instr line\nevents: Ir\nob=%s\nfl=???\nfn=f\n0x1000 0 1\n0x1001 0 1\n0x1005 0 1\n"
                "fn=far\n0x1002 0 1\n0x201002 0 1\n"
                % os.path.abspath(base))
    quern("report", "-o", base + ".html", base + ".out")
    compare("state", browser.open(base + ".html"), "ready", faults)
    code = browser.ask("code", 0)
    compare("code", [(int(i["addr"]), list(i["bytes"].values()), i["intel"].split()) for i in code["insns"]],
            [(0x1000, [0x55], ["push", "%ebp"]), (0x1001, [0x89, 0xE5], ["mov", "%esp,%ebp"]),
             (0x1003, [0x40], ["inc", "%eax"]), (0x1004, [0x5D], ["pop", "%ebp"]), (0x1005, [0xC3], ["ret"])], faults)
    compare("a function of 2 MiB", list(browser.ask("code", 1)["insns"]), [], faults)
    compare("as AT&T, too", [i["att"] for i in code["insns"]], [i["intel"] for i in code["insns"]], faults)
    test("instructions of other processors", faults)


def check_size(browser):
    """--max-size leaves out the cheapest; functions and calls stay."""
    faults = []
    profile, report = os.path.join(FOLDER, "size.out"), os.path.join(FOLDER, "size.html")
    with open(profile, "w") as f:
        f.write("events: Ir\n")
        for i in range(200):
            f.write("fl=f.c\nfn=f%d\n" % i)
            for line in range(1, 2001):
                f.write("%d %d\n" % (line, (i * 7919 + line * 104729) % 1000003 + 1))
    whole = quern("report", "-o", report, profile)[0] == 0 and os.path.getsize(report)
    limit = whole // 2
    status, _, said = quern("report", "--max-size=%d" % limit, "-o", report, profile)
    compare("status", status, 0, faults)
    if os.path.getsize(report) > limit or "are left out to stay below %d bytes" % limit not in said:
        faults.append("%d bytes: %s" % (os.path.getsize(report), said))
    compare("state", browser.open(report), "ready", faults)
    summary = browser.ask("summary")
    compare("functions", (summary["funcs"], len(summary["leftOut"])), (200, 1), faults)
    rows = [browser.ask("lines", f, 1) for f in (0, 199)]
    compare("lines of the most expensive, of the cheapest", [len(r) for r in rows], [2000, 0], faults)
    self_cost = int(browser.ask("rows", [199])[0]["self"][0][0]["exact"])
    compare("the cheapest's self cost is there", self_cost > 0, True, faults)
    test("--max-size", faults)


# Files that are dropped into a page, as (name, base64); the base is in its field already.
DROP = """const list = (files) => {
    const all = new DataTransfer();
    for (const [name, text] of files) all.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
    return all;
};
document.getElementById("quern-base").files = list(arguments[1]).files;
document.getElementById("quern-apart").checked = arguments[2];
document.body.dataset.state = "waiting";
document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: list(arguments[0]), bubbles: true, cancelable: true }));"""


def drop(browser, files, base=(), series=False, fragment="", seconds=60):
    """Drops files of tests/golden, or (name, bytes), into the page; its message, \"\" when it shows them."""
    def read(names):
        return [(name, base64.b64encode(open("tests/golden/" + name, "rb").read()).decode()) if isinstance(name, str)
                else (name[0], base64.b64encode(name[1]).decode()) for name in names]
    browser.driver.execute_script("location.hash = arguments[0]", fragment)
    browser.driver.execute_script(DROP, read(files), read(base), series)
    said = "document.querySelector('.status').textContent"
    came = browser.until("document.body.dataset.state === 'ready' && !%s || %s && !%s.startsWith('Reading')" % ((said,) * 3), seconds=seconds)
    return browser.run("return " + said) if came else "nothing came"


def refusal(folder, name):
    """Why convert refuses a file: its last message. \"\": it does not."""
    done = subprocess.run([os.path.abspath(QUERN), "convert", "--to=json", name], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    said = [line[7:] for line in done.stderr.decode().splitlines() if line.startswith("quern: ")]
    return said[-1] if done.returncode else ""


def check_empty(browser):
    """A page without a profile: files that are dropped into it are read there, and every number is that of convert; a file is
    refused with the message of convert."""
    faults = []
    report = os.path.join(FOLDER, "empty.html")
    status, _, said = quern("report", "--empty", "-o", report)
    compare("the command", (status, said), (0, ""), faults)
    compare("state", browser.open(report, state="empty"), "empty", faults)
    compare("nothing is dropped", drop(browser, []), "No profile is chosen yet.", faults)
    refused = shown_ = 0
    browser.hide(True)
    for path in sorted(glob.glob("tests/golden/*grind*")):
        name = os.path.basename(path)
        profile, said = as_json(path), drop(browser, [name])
        if name.endswith(".zst"):
            compare(name, said, name + ": browsers cannot unpack zstd; zstd -d does", faults)
        elif profile is None:
            compare(name, said, refusal("tests/golden", name), faults)
            refused += 1
        elif said:
            faults.append("%s: %s" % (name, said))
        else:
            events = compare_summary(browser, profile, faults)
            rows, summary = all_rows(browser), browser.ask("summary")
            scales = [e["scale"] for e in summary["events"]][:len(events)]
            compare_rows(rows, profile, events, scales, faults)
            compare_cycles(rows, profile, faults)
            compare_edges(browser, rows, profile, scales, faults)
            compare_lines(browser, rows, profile, scales, faults)
            if name in ("cut-off.callgrind", "fault-cut.callgrind.gz", "fault-junk.callgrind"):
                compare("remarks of " + name, len(summary["remarks"]) > 0, True, faults)
            shown_ += 1
    browser.hide(False)
    compare("one is refused, the others are shown", (refused, shown_ > 50), (1, True), faults)
    for text in (b"", b"hello\n", b"events:\n1 1\n", b"1 1\n", bytes(range(256)), b"\x1f\x8b\x08", b"version: 2\nevents: Ir\n1 1\n"):
        with open(os.path.join(FOLDER, "bad.out"), "wb") as f:
            f.write(text)
        compare("as convert says of %s" % text[:20], drop(browser, [("bad.out", text)]), refusal(FOLDER, "bad.out"), faults)
    # Views, of one with everything; a base; a sum; a series.
    compare("one more", drop(browser, ["calls.callgrind"], fragment="v=functions&q=func"), "", faults)
    browser.settle()
    compare("the address stays", [r[-3] for r in texts_of(browser, "#quern-functions")], ["func2file2.c", "func1file1.c"], faults)
    compare_views(browser, known_of(browser, browser.ask("summary")), faults, [0, 1, 2])
    browser.view("v=source")
    compare("no source", "The source was not found." in browser.run("return document.querySelector('#quern-main').textContent"), True, faults)
    compare("an archive with more behind it", drop(browser, ["calls.callgrind.gz"]), "", faults)
    compare("with a base", drop(browser, ["hex.callgrind"], base=["cfn-reset.callgrind"]), "", faults)
    difference = os.path.join(FOLDER, "empty.out")
    quern("diff", "-o", difference, "tests/golden/cfn-reset.callgrind", "tests/golden/hex.callgrind")
    compare("difference", shown(browser.run("return document.querySelector('[data-q=\"total:0:2:0\"]').textContent").lstrip("+")),
            Decimal(as_json(difference)["totals"][0]), faults)
    compare("other events", "are not those" in drop(browser, ["parts.callgrind"], base=["calls.callgrind"]), True, faults)
    twice = ["calls.callgrind", "calls.callgrind.gz"]
    compare("a sum", drop(browser, twice), "", faults)
    compare("its total", browser.ask("summary")["events"][0]["total"][0]["exact"], "1640", faults)
    compare("a series", drop(browser, twice, series=True, fragment="v=series"), "", faults)
    browser.settle()
    compare("its columns", [r[1:4] for r in texts_of(browser, "#quern-runs")], [["820", "820", "0"]], faults)
    compare("a series of one", drop(browser, twice[:1], series=True), "a series needs two profiles or more", faults)
    with open(cycles_profiles()["new"], "rb") as f:
        compare("estimated cycles", drop(browser, [("cycles.out", f.read())], fragment=""), "", faults)
    compare("begun with", browser.run("return document.querySelector('.tile[aria-current] .what').textContent"), "estimated cycles", faults)
    compare("hostile names", drop(browser, [("</script><img src=x>.out", b"events: Ir\nfn=<b>\n1 1\n")]), "", faults)
    compare("title", browser.run("return document.title"), "</script><img src=x>.out", faults)
    compare("foreign elements", browser.run("return document.querySelectorAll('img, iframe').length"), 0, faults)
    compare("no profile at all", drop(browser, [("x.png", bytes(range(256)))]) != "", True, faults)
    compare("requests", browser.run("return performance.getEntriesByType('resource').length"), 0, faults)
    compare("console", browser.complaints(), [], faults)
    for options, word in ((["tests/golden/calls.callgrind"], "name none here"), (["--base=x"], "there is no profile yet"),
                          (["--define=x = 2 Ir"], "there is no profile yet"), (["-I", "x"], "there is no profile yet")):
        no = os.path.join(FOLDER, "no.html")
        status, _, said = quern("report", "--empty", "-o", no, *options)
        compare("refused: " + word, (status, word in said, os.path.exists(no)), (2, True, False), faults)
    test("a page into which profiles are dropped: each number is that of convert", faults)


def check_series(browser):
    """Three runs side by side: every number is that of convert for that run alone. `f` is only in the first two, and has
    more than 64 bits in the second; the third is the cycle of CIRCLE under other names, the fourth two parts."""
    faults = []
    texts = ["events: Ir Dr\nfl=x\nfn=main\n1 5 1\ncfn=f\ncalls=2 1\n1 %d 7\nfn=f\n2 %d 7\n" % (n, n) for n in (30, 1 << 65)]
    texts.append(re.sub(r"^(\d+) (\d+)$", r"\1 \2 1", CIRCLE.replace("events: Ir", "events: Ir Dr"), flags=re.M))
    texts.append("version: 1\ncreator: x\npart: 1\nevents: Ir Dr\nfl=x\nfn=main\n1 4 1\n\nversion: 1\ncreator: x\npart: 2\n"
                 "events: Ir Dr\nfl=x\nfn=main\n1 3 1\n")
    paths = [os.path.join(FOLDER, "run%d.out" % i) for i in range(len(texts))]
    for path, text in zip(paths, texts):
        with open(path, "w") as f:
            f.write(text)
    report = os.path.join(FOLDER, "series.html")
    status, _, said = quern("report", "--series", "--event=Ir", "-o", report, *paths)
    compare("status", status, 0, faults)
    compare("state", browser.open(report), "ready", faults)
    profiles = [as_json(path) for path in paths]
    compare("a sentence in the summary", "the sum of 4 runs" in browser.run("return document.querySelector('#quern-main').textContent"),
            True, faults)

    def cells(selector):
        return {tuple(q.split(":")): text for q, text in browser.run(
            "return [...document.querySelectorAll('%s [data-q]')].map((e) => [e.dataset.q, e.textContent])" % selector)}

    rows = {f: key(r) for f, r in enumerate(browser.ask("rows", list(range(browser.ask("summary")["funcs"]))))}
    compare("functions", len(rows), 6, faults)  # main, f; a, b, c, d
    for e, event in enumerate(("Ir", "Dr")):
        for state, field in (("", "inclusive"), ("&k=self", "self")):
            browser.view("v=series&e=" + event + state)
            got, what = cells("#quern-series"), "runself" if "self" in state else "runincl"
            compare("numbers", len(got), 6 * 5, faults)
            for f, name in rows.items():
                costs = [next((x[field][e] for x in p["functions"] if key(x) == name), 0) for p in profiles]
                for i, cost in enumerate(costs):
                    compare("%s of %s in run %d, %s" % (field, name, i, event),
                            shown(got[(what, str(e), str(i), str(f))]), Decimal(cost), faults)
                compare("difference of %s" % (name,), shown(got[(what, str(e), "difference", str(f))].lstrip("+")),
                        Decimal(costs[-1] - costs[0]), faults)
        got = cells("#quern-runs")
        for i, p in enumerate(profiles):
            compare("total of run %d" % i, shown(got[("runtotal", str(e), str(i), "0")]), Decimal(p["totals"][e]), faults)
    order = lambda: [r[0].split("x")[0][:4] for r in texts_of(browser, "#quern-series")]  # noqa: E731
    browser.view("v=series&e=Ir&k=self&s=-run.1")
    compare("by the second run", order()[:2], ["f", "main"], faults)
    browser.view("v=series&e=Ir&k=self&s=%2Brun.difference")
    compare("by difference", (order()[0], order()[-1]), ("f", "main"), faults)  # -30; 7 - 5 is behind those of 0
    browser.view("v=series&e=Ir&q=main")
    compare("searched", order(), ["main"], faults)
    browser.run("[...document.querySelectorAll('#quern-series th button')].find((b) => b.textContent.startsWith('run0')).click()")
    browser.settle()
    compare("a click on a head", "s=-run.0" in browser.run("return location.hash"), True, faults)
    # One run alone, then two parts of the last one: unselected costs are zero.
    browser.view("v=series&e=Ir")
    browser.run("document.querySelectorAll('#quern-runs th a')[1].click()")
    browser.settle()
    compare("the second run alone", Decimal(browser.ask("summary")["events"][0]["total"][0]["exact"]), Decimal(profiles[1]["totals"][0]), faults)
    browser.view("v=series&e=Ir&p=0.3")
    got = cells("#quern-runs")
    compare("parts that count", [got[("runtotal", "0", str(i), "0")] for i in range(4)], ["35", "0", "0", "4"], faults)
    browser.view("v=functions&e=Ir&c=Dr")
    sums = {row["name"]: row["inclusive"][0][0]["exact"] for row in all_rows(browser).values()}
    compare("all parts again", sums["main"], str((1 << 65) + 35 + 5 + 7), faults)
    compare("console", browser.complaints(), [], faults)
    for options, word in ((["--series", paths[0]], "two profiles or more"), (["--series", "--base=" + paths[0], *paths], "--base"),
                          (["--series", paths[0], "tests/golden/parts.callgrind"], "are not those")):
        no = os.path.join(FOLDER, "no.html")
        status, _, said = quern("report", "-o", no, *options)
        compare("refused: " + word, (status, word in said, os.path.exists(no)), (2, True, False), faults)
    # With names rewritten runs stay apart.
    quern("report", "--series", "--mod-funcname=s/main/MAIN/", "-o", report, *paths)
    browser.open(report)
    browser.view("v=series&e=Ir&k=self&q=MAIN")
    compare("with another name", [r[1:5] for r in texts_of(browser, "#quern-series")], [["5", "5", "0", "7"]], faults)
    # The reader's remarks on each file are shown, also where names are rewritten.
    for options in ((), ("--series",), ("--mod-funcname=s/x/y/",)):
        remarked = ["tests/golden/cut-off.callgrind", "tests/golden/fault-junk.callgrind"]
        quern("report", *options, "-o", report, *remarked)
        browser.open(report)
        compare("remarks " + " ".join(options), [text.split(":")[0] for text in browser.ask("summary")["remarks"]],
                remarked, faults)
    test("a series of runs: each number is that of convert", faults)


def check_command(path):
    faults = []
    status, out, said = quern("report", "-o", "-", path)
    compare("standard output", (status, out[:15]), (0, b"<!doctype html>"), faults)
    status, _, said = quern("report", "--define=x = Ir /(", "-o", os.path.join(FOLDER, "no.html"), path)
    compare("a formula that is none", (status, os.path.exists(os.path.join(FOLDER, "no.html"))), (2, False), faults)
    status, _, said = quern("report", "--base=tests/golden/parts.callgrind", "-o", os.path.join(FOLDER, "no.html"), path)
    compare("other events", (status, "are not those" in said), (2, True), faults)
    test("the command", faults)


def check_large(path):
    faults = []
    report = os.path.join(FOLDER, os.path.basename(path) + ".html")
    status, _, said = quern("report", "--max-size=4G", "-o", report, path)
    compare("status", status, 0, faults)
    profile = as_json(path, "--lines=no")
    browser = Browser()
    compare("state", browser.open(report, seconds=600), "ready", faults)
    events = compare_summary(browser, profile, faults)
    summary = browser.ask("summary")
    compare("functions", summary["funcs"], len(profile["functions"]), faults)
    compare("edges", summary["edges"], len(profile["edges"]), faults)
    # The most expensive functions by their number in the report: each cost as convert says.
    wanted = {key(f): f for f in profile["functions"]}
    for row in browser.ask("rows", list(range(LARGE))):
        f = wanted.get(key(row))
        if f is None:
            faults.append("no function %s" % (key(row),))
            continue
        for i in range(len(events)):
            scale = summary["events"][i]["scale"]
            for field in ("inclusive", "self"):
                compare("%s of %s" % (field, key(row)), exact(row[field][i][0], scale), Decimal(f[field][i]), faults)
        compare("called %s" % (key(row),), row["called"][0]["exact"], str(f["called"]), faults)
    if len(summary["parts"]) > 1:
        check_each_part(browser, profile, wanted, summary, faults)
    compare("console", browser.complaints(), [], faults)
    browser.quit()
    test(path, faults)


def check_each_part(browser, profile, wanted, summary, faults):
    """Each part alone: its functions' costs add up to its total, and those of all parts to the result of convert."""
    parts, few = len(summary["parts"]), list(range(20))
    totals = [int(v["exact"]) for v in browser.ask("partTotals", 0)]
    compare("parts", sum(totals), profile["totals"][0], faults)
    sums = [0] * len(few)
    for i in range(parts):
        browser.view("v=parts&p=%d" % i)
        compare("total of part %d" % i, int(browser.ask("summary")["events"][0]["total"][0]["exact"]), totals[i], faults)
        rows = browser.ask("rows", few)
        sums = [s + int(row["self"][0][0]["exact"]) for s, row in zip(sums, rows)]
    for row, cost in zip(rows, sums):
        compare("self cost of %s in all parts" % row["name"], cost, wanted[key(row)]["self"][0], faults)


# In this order. Tests that only Chromium supports: widths of the window, print, damaged files by the dozen, missing features.
VIEWS = ("pictures", "cycles", "bounds", "why", "causes", "causes_base", "causes_insns", "inside", "parts", "keys", "filters", "saved", "colours", "access", "long", "hostile", "stranger",
         "damage", "first", "text", "contrast", "code", "flow", "heat", "changes", "foreign", "size", "series", "empty", "old", "screen", "startup", "names", "panes",
         "source", "unfold", "search", "recursion", "compared", "widths", "walks", "curve", "curves",
         "data_first", "data_table", "data_object", "data_sharing", "data_base", "data_widths", "data_keys", "data_hostile", "data_damaged", "data_command",
         "static")
CHROMIUM = ("access", "damage", "first", "old", "panes", "source", "unfold", "compared", "widths", "walks", "data_widths", "static")


def main():
    if len(sys.argv) > 3:
        for path in sys.argv[3:]:
            check_large(path)
        print("1..%d" % counts["tests"])
        return 1 if counts["failures"] else 0
    only = os.environ.get("ONLY")  # for work on a single view
    firefox = os.environ.get("BROWSER") == "firefox"
    cycles = cycles_profiles()
    golden = sorted(glob.glob("tests/golden/*grind*"))
    browser = Firefox() if firefox else Browser()
    try:
        for path in golden if only else ():
            quern("report", "-o", os.path.join(FOLDER, os.path.basename(path) + ".html"), path)
        browser.hide(not only)
        for path in [*golden, cycles["new"]] if not only else ():
            check_golden(browser, path)
        for old, new in (("calls-zero", "cfn-reset"), ("cfn-reset", "hex"), ("inline", "calls-zero"),
                         ("call-target-relative", "ranges")) if not only else ():
            check_base(browser, "tests/golden/%s.callgrind" % old, "tests/golden/%s.callgrind" % new)
        if not only:
            check_base(browser, cycles["old"], cycles["new"])
        browser.hide(False)
        for name in only.split(",") if only else VIEWS:
            if not firefox or name not in CHROMIUM:
                globals()["check_" + name](browser)
    finally:
        browser.quit()
    if not firefox and not only:
        check_command("tests/golden/calls.callgrind")
    print("1..%d" % counts["tests"])
    return 1 if counts["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
