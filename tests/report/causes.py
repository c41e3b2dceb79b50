# SPDX-License-Identifier: MIT
"""Reports of profiles that count estimated cycles and their causes, for check.py: what stands in place of the terms of CEst."""
import os

from colours import CONTRAST
from compare import FOLDER, compare, quern, saved_text, test, texts_of
from profiles import CYCLES


def labels(browser):
    return browser.run("return [...document.querySelectorAll('.why[role=img]')].map((e) => e.getAttribute('aria-label'))")


CAUSES = ("useful work", "fetch and decoding", "mispredictions", "waiting for data", "translation of addresses", "units and dependencies")


def said(of, shares):
    return of + ": " + ", ".join("%s %s %%" % pair for pair in zip(CAUSES, shares.split()))


# Of 1,400 cycles of line 2 1,100 wait for data: 78.6 %. walk: 1,610, the program: 2,420.
LINE_2, LINE_3, WALK = "7.14 0.00 3.57 78.6 3.57 7.14", "23.8 26.2 0.00 0.00 0.00 50.0", "9.32 3.42 3.11 68.3 3.11 12.7"
MUL, MAIN, PROGRAM = "9.49 1.90 0.00 0.00 0.00 88.6", "100.0 0.00 0.00 0.00 0.00 0.00", "10.1 2.89 2.07 45.5 2.07 37.4"


def cycles_profiles():
    """The paths of both profiles, by side."""
    paths = {side: os.path.join(FOLDER, "cycles." + side) for side in CYCLES}
    for side, path in paths.items():
        with open(path, "w") as f:
            f.write(CYCLES[side])
    return paths


def cycles_report(name, *options):
    report = os.path.join(FOLDER, name)
    os.makedirs(os.path.join(FOLDER, "cycles", "src"), exist_ok=True)
    with open(os.path.join(FOLDER, "cycles", "src", "a.c"), "w") as f:
        f.write("".join("line %d;\n" % i for i in range(1, 10)))
    quern("report", "-I", os.path.join(FOLDER, "cycles"), *options, "-o", report, cycles_profiles()["new"])
    return report


def check_causes(browser):
    """Cycles that are counted: begun with, and their causes in place of the terms of CEst; a bar of six colours with its text for the
    program, functions and lines."""
    faults = []
    report = cycles_report("causes.html")
    browser.open(report)
    browser.view("")
    compare("event", browser.run("return document.querySelector('.tile[aria-current]').innerText.split('\\n').slice(0, 2)"),
            ["estimated cycles", "2,420"], faults)
    compare("no CEst", browser.run("return document.querySelector('#quern-app').textContent.includes('CEst')"), False, faults)
    compare("bars", labels(browser), [said("Estimated cycles", PROGRAM), said("Estimated cycles of walk", WALK),
            said("Estimated cycles of mul", MUL), said("Estimated cycles of main", MAIN), said("Estimated cycles of a.c:2", LINE_2),
            said("Estimated cycles of a.c:9", MUL), said("Estimated cycles", PROGRAM)], faults)
    compare("colours", browser.run("return [...document.querySelector('.split .why').children].map((e) => e.className)"),
            ["why0", "why5", "why3", "why1", "why2", "why4"], faults)
    compare("legend", browser.run("return [...document.querySelectorAll('.split .entry')].map((e) => e.textContent)"),
            ["%s %s %%" % pair for pair in zip(CAUSES, PROGRAM.split())], faults)
    compare("table", [row[:2] for row in texts_of(browser, "[aria-label=\\'Estimated cycles\\'] table")][:6],
            [[name + event, count] for name, event, count in zip(CAUSES, ("CyBase", "CyFront", "CyBad", "CyMem", "CyTLB", "CyCore"),
             ("245", "70", "50", "1,100", "50", "905"))], faults)
    compare("machine", browser.run("return [...document.querySelectorAll('.note')].map((e) => e.textContent).filter((t) => t.includes('zen4'))"),
            ["Estimated, for a program alone on its core, without the kernel. Machine: zen4,detail=all; "
             "L2 cache: 1048576 B, 64 B, 8-way associative"], faults)
    browser.view("v=functions")
    compare("functions", labels(browser), [said("Cy of this row", shares) for shares in (MAIN, WALK, MUL)], faults)
    browser.view("v=functions&e=Ir")
    compare("beside another event", labels(browser), [], faults)
    browser.view("v=lines")
    compare("lines", labels(browser), [said("Cy of this row", shares) for shares in (LINE_2, MUL, LINE_3, MAIN)], faults)
    browser.view("v=source")
    compare("source", labels(browser), [said("Cycles of line %d" % line, shares) for line, shares in ((1, MAIN), (2, LINE_2), (3, LINE_3), (9, MUL))],
            faults)
    csv = saved_text(browser, "v=lines", "CSV: lines")
    compare("a bar in a file", '"%s"' % said("", LINE_2)[2:] in csv, True, faults)
    walk = next(n["hash"] for n in (browser.ask("name", i) for i in range(3)) if n["name"] == "walk")
    browser.view("v=function&f=" + walk)
    compare("function", labels(browser)[:2], [said("Estimated cycles, self", WALK), said("Estimated cycles, incl.", WALK)], faults)
    for theme in ("light", "dark"):
        for view in ("", "v=functions", "v=lines", "v=source", "v=function&f=" + walk):
            browser.view(view + "&m=" + theme)
            compare("%s, %s" % (view, theme), browser.run(CONTRAST), [], faults)
    compare("console", browser.complaints(), [], faults)
    test("causes of cycles", faults)


# Lines 2 and 3 of walk as instructions, of the old and the new one.
INSNS = {side: CYCLES[side].split("events:")[0] + "positions: instr line\nevents:" + CYCLES[side].split("events:")[1].split("fl=")[0]
         + "fl=src/a.c\nfn=walk\n" + "".join("0x%d %s\n" % (10 * int(line[0]), line) for line in CYCLES[side].split("\n") if line[:2] in ("2 ", "3 "))
         for side in CYCLES}


def check_causes_insns(browser):
    """The same of instructions, alone and with a base."""
    faults, paths = [], {side: os.path.join(FOLDER, "insns." + side) for side in INSNS}
    for side, path in paths.items():
        with open(path, "w") as f:
            f.write(INSNS[side])
    for name, options in (("insns.html", ()), ("insns-base.html", ("--base=" + paths["old"],))):
        quern("report", *options, "-o", os.path.join(FOLDER, name), paths["new"])
    browser.open(os.path.join(FOLDER, "insns.html"))
    browser.view("v=assembly")
    compare("bars", labels(browser), [said("Cycles of 0x20", LINE_2), said("Cycles of 0x30", LINE_3)], faults)
    browser.view("v=lines&b=addr")
    compare("in Lines", labels(browser), [said("Cy of this row", LINE_2), said("Cy of this row", LINE_3)], faults)
    browser.view("v=assembly&e=Ir")
    compare("beside another event", labels(browser), [], faults)
    browser.open(os.path.join(FOLDER, "insns-base.html"))
    browser.view("v=assembly")
    compare("changed", browser.run("return [...document.querySelectorAll('#quern-assembly .change')].map((e) => e.textContent)"),
            ["CyMem +400", "CyFront +5"], faults)
    compare("their numbers", browser.run("return [...document.querySelectorAll('#quern-assembly .change [data-q]')].map((e) => e.dataset.q)"),
            ["insn:6:2:20", "insn:4:2:30"], faults)
    compare("console", browser.complaints(), [], faults)
    test("causes of cycles, of instructions", faults)


def check_causes_base(browser):
    """With a base: the cause that changed most, of the program, of functions and of lines."""
    faults = []
    report = cycles_report("causes-base.html", "--base=" + os.path.join(FOLDER, "cycles.old"))
    browser.open(report)
    changes = "return [...document.querySelectorAll('#quern-main .change')].filter((e) => !e.closest('.tile')).map((e) => e.textContent)"
    numbers = "return [...document.querySelectorAll('#quern-main .change [data-q]')].filter((e) => !e.closest('.tile')).map((e) => e.dataset.q)"
    browser.view("")
    compare("summary", browser.run(changes), ["CyMem +400", "CyFront -10", "waiting for data +400"], faults)
    walk, mul = (next(i for i in range(3) if browser.ask("name", i)["name"] == name) for name in ("walk", "mul"))
    compare("their numbers", browser.run(numbers), ["self:6:2:%d" % walk, "self:4:2:%d" % mul, "total:6:2:0"], faults)
    compare("bars", labels(browser)[:2], [said("Estimated cycles, old", "12.1 3.71 2.48 34.7 2.48 44.6"), said("Estimated cycles, new", PROGRAM)], faults)
    compare("table", [row[1:5] for row in texts_of(browser, "[aria-label=\\'Estimated cycles\\'] table")][3], ["700", "1,100", "+400", "×1.57"], faults)
    browser.view("v=compare")
    compare("compare", browser.run(changes), ["CyMem +400", "CyFront -10"], faults)
    browser.view("v=lines")
    compare("lines", browser.run(changes), ["CyMem +400", "CyFront +5", "CyFront -10"], faults)
    browser.view("v=source")
    compare("source", browser.run(changes), ["CyMem +400", "CyFront +5", "CyFront -10"], faults)
    browser.view("v=function&f=" + browser.ask("name", walk)["hash"])
    compare("function", browser.run(changes)[:2], ["waiting for data +400", "waiting for data +400"], faults)
    compare("console", browser.complaints(), [], faults)
    test("causes of cycles, with a base", faults)
