# SPDX-License-Identifier: MIT
"""The view of misses by size (quern run --curve=yes), for check.py: numbers and places worked out by hand."""
import os
import time

from compare import FOLDER, compare, quern, test

SIZES = [1024 << i for i in range(2, 6)]  # 4 to 32 KiB: a third of the width apart
DESCS = """desc: I1 cache: 8192 B, 64 B, 8-way associative
desc: D1 cache: 8192 B, 64 B, 8-way associative
desc: LL cache: 1048576 B, 64 B, 16-way associative
desc: Curve sample: 32
desc: Curve sizes: 4096 8192 16384 32768
desc: Curve D1mr: 700 500 300 100
desc: Curve D1mw: 300 100 100 0
desc: Curve I1mr: 0 0 0 0
desc: Curve DLmr: 400 400 300 100
desc: Curve DLmw: 100 100 100 0
desc: Curve ILmr: 0 0 0 0
desc: Curve interval: 1024
desc: Curve lines of data: 16 16 32 64
desc: Curve lines of code: 16 16 16 16
"""
PROFILE = DESCS + """events: Ir Dr
fl=x
fn=f
1 4000 100
"""

PICTURES = """return [...document.querySelectorAll("svg.curve")].map((s) => ({
    lines: [...s.querySelectorAll("polyline")].map((e) => e.getAttribute("points")),
    marks: [...s.querySelectorAll(".mark")].map((e) => e.getAttribute("x1")), text: s.textContent, label: s.getAttribute("aria-label")}))"""
ROWS = """return [...document.querySelectorAll(arguments[0] + " tbody tr")].map((r) => [...r.cells].map((c) => c.textContent))"""


def rows(browser, table):
    return browser.run(ROWS.replace("arguments[0]", '"%s"' % table))


def open_report(browser, name, *profiles, options=()):
    paths = []
    for i, text in enumerate(profiles):
        paths.append(os.path.join(FOLDER, "%s%d.out" % (name, i)))
        with open(paths[-1], "w") as f:
            f.write(text)
    report = os.path.join(FOLDER, name + ".html")
    quern("report", "-o", report, *options, *paths)
    return browser.open(report)


def check_curve(browser):
    """D1 has 1000, 600, 400 and 100 misses: 1000 is the top, at 50 of 320, and 0 is at 280. 700 units lie between 70 and 770."""
    faults = []
    open_report(browser, "curve", PROFILE)
    browser.view("v=curve")
    misses, growth = browser.run(PICTURES)
    compare("D1", misses["lines"][0], "70.0,50.0 303.3,142.0 536.7,188.0 770.0,257.0", faults)
    compare("I1", misses["lines"][2], "70.0,280.0 303.3,280.0 536.7,280.0 770.0,280.0", faults)
    compare("LL", misses["lines"][4], "70.0,165.0 303.3,165.0 536.7,188.0 770.0,257.0", faults)
    compare("marks", [round(float(x), 1) for x in misses["marks"]], [303.3], faults)  # LL's 1 MiB is outside
    if "I1, D1" not in misses["text"]:
        faults.append("no name at the mark: " + misses["text"])
    compare("label", misses["label"], "Misses by size of the cache, from 4 KiB to 32 KiB: D1 from 1,000 to 100, I1 from 0 to 0, LL from 500 to 100",
            faults)
    compare("what twice the size gives", browser.run("return [...document.querySelectorAll('[data-curve]')].map((e) => e.textContent)"),
            ["I1: 0 misses at 8 KiB, 0 at 16 KiB", "D1: 600 misses at 8 KiB, 400 at 16 KiB"], faults)
    compare("table", rows(browser, "#quern-curve"), [["4 KiB", "700", "300", "0", "500"], ["8 KiB", "500", "100", "0", "500"],
            ["16 KiB", "300", "100", "0", "400"], ["32 KiB", "100", "0", "0", "100"]], faults)
    # 64 lines of 64 bytes are the top; four quarters of 4000 instructions.
    compare("data", growth["lines"][0], "245.0,222.5 420.0,222.5 595.0,165.0 770.0,50.0", faults)
    compare("growth", rows(browser, "#quern-growth"), [["1,000", "1 KiB", "1 KiB"], ["2,000", "1 KiB", "1 KiB"], ["3,000", "2 KiB", "1 KiB"],
            ["4,000", "4 KiB", "1 KiB"]], faults)
    names = browser.names() if hasattr(browser, "names") else []
    for role, name in (("image", misses["label"]), ("image", growth["label"]), ("table", "Misses by size"), ("table", "Bytes touched")):
        if names and (role, name) not in names:
            faults.append("no %s %s for a screen reader" % (role, name))
    browser.view("")
    text = browser.run("return document.querySelector('main').textContent")
    compare("the summary lists the caches, not the curve", ("LL cache" in text, "Curve" in text), (True, False), faults)
    compare("console", browser.complaints(), [], faults)
    test("misses by size, and the working set", faults)


def check_curves(browser):
    """Runs side by side: misses add up, and only the selected one counts. The sum of two profiles has no curve and no such view, nor has
    one whose numbers are none."""
    faults = []
    two = (PROFILE, PROFILE.replace("700 500", "900 600"))
    open_report(browser, "curves-sum", *two)
    compare("view of a sum", "Cache sizes" in browser.run("return document.querySelector('nav').textContent"), False, faults)
    open_report(browser, "curves", *two, options=["--series"])
    browser.view("v=curve")
    compare("sum", rows(browser, "#quern-curve")[0], ["4 KiB", "1,600", "600", "0", "1,000"], faults)
    compare("pictures", len(browser.run(PICTURES)), 1, faults)
    browser.view("v=curve&p=1")
    compare("the second", rows(browser, "#quern-curve")[0], ["4 KiB", "900", "300", "0", "500"], faults)
    compare("pictures of the second", len(browser.run(PICTURES)), 2, faults)
    open_report(browser, "curve-none", PROFILE.replace("Curve sizes: 4096 8192 16384 32768", "Curve sizes: 4096 many -1"))
    browser.quiet()
    compare("views", "Cache sizes" in browser.run("return document.querySelector('nav').textContent"), False, faults)
    compare("console", browser.complaints(), [], faults)
    test("misses by size of several parts, and of none", faults)
