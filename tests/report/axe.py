# SPDX-License-Identifier: MIT
"""Usage: axe.py QUERN FOLDER AXE

Every view of seven reports and of a page without one, in light, in dark and in forced colours, in Chromium and, where it is there, in Firefox:
axe-core (the file AXE) finds no violation of WCAG 2.2 A and AA, nor of its own best practices, and the console says
nothing. Prints TAP; called by make check-report-axe, from the root of the tree."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402
from firefox import Firefox  # noqa: E402
from profiles import CYCLES  # noqa: E402

QUERN, FOLDER, AXE = sys.argv[1:4]

# A profile with everything that a page can show: caches and branches, calls in a cycle, addresses, jumps, parts.
WHOLE = """version: 1
creator: x
pid: 7
cmd: ./x
part: 1
thread: 1
positions: instr line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim

ob=/bin/x
fl=x.c
fn=ns::main<int>
0x10 1 1000 500 50 2 3 1 1 0 1 20 4
jcnd=3/10 0x18 3
0x10 1
0x18 3 10
cfn=b
calls=2 0x20 5
0x18 3 300
cfn=c
calls=1 0x30 7
0x18 3 90

fn=b
0x20 5 200 100
cfn=c
calls=1 0x30 7
0x20 5 80

fn=c
0x30 7 150 20
cfn=b
calls=1 0x20 5
0x30 7 40

totals: 1360 620 50 2 3 1 1 0 1 20 4

part: 2
thread: 2
positions: instr line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
fl=x.c
fn=c
0x30 7 150 20

totals: 150 20
"""

VIEWS = ("", "v=functions", "v=functions&g=object", "v=functions&g=file&q=c", "v=function", "v=function&a=1", "v=source", "v=compare", "v=graph",
         "v=graph&k=all&cl=file", "v=graph&cn=1&cl=cycle", "v=graph&t=1", "v=flame", "v=flame&k=sandwich", "v=flame&t=1", "v=treemap", "v=treemap&t=1",
         "v=treemap&k=callees", "v=lines", "v=lines&b=addr", "v=lines&g=file", "v=assembly", "v=assembly&k=flow", "v=assembly&k=flow&t=1", "v=parts", "v=parts&p=1", "v=series", "v=series&k=self&s=-run.difference&q=c")

RUN = """const done = arguments[arguments.length - 1];
for (const menu of document.querySelectorAll('#quern-app header details')) menu.open = arguments[0];
axe.run(document, { resultTypes: ['violations'] }).then(
    (r) => done(r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' +
        n.any.concat(n.all, n.none).map((c) => c.message).join('; ')).join(' | '))), (e) => done([String(e)]));"""


def reports():
    with open(os.path.join(FOLDER, "x.c"), "w") as f:
        f.write("".join("int line_%d;\n" % i for i in range(1, 12)))
    whole, old, flow = (os.path.join(FOLDER, name) for name in ("whole.out", "old.out", "flow"))
    with open(whole, "w") as f:
        f.write(WHOLE)
    with open(old, "w") as f:
        f.write(WHOLE.replace("0x30 7 150 20", "0x30 7 50 20").replace("fn=b", "fn=gone"))
    with open(flow + ".c", "w") as f:
        f.write("int main(int c, char **v)\n{\n    int s = c;\n    for (int i = 0; i < 100; i++)\n        if (i % 3 == 0)\n"
                "            s += v[0][0] / (i + 1);\n    return s == 77;\n}\n")
    cycles = {side: os.path.join(FOLDER, "cycles." + side) for side in CYCLES}
    for side, path in cycles.items():
        with open(path, "w") as f:
            f.write(CYCLES[side])
    subprocess.run(["gcc", "-O1", "-g", "-o", flow, flow + ".c"], check=True)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--callgrind-out-file=" + flow + ".out",
                    os.path.abspath(flow)], check=True)
    for name, args in (("whole", [whole]), ("base", ["--base=" + old, whole]), ("flow", [flow + ".out"]),
                       ("plain", ["tests/golden/simple.cachegrind"]), ("series", ["--series", old, whole, whole]),
                       ("cycles", [cycles["new"]]), ("causes", ["--base=" + cycles["old"], cycles["new"]])):
        out = os.path.join(FOLDER, name + ".html")
        subprocess.run([QUERN, "report", "-I", FOLDER, "-o", out, *args], check=True, stderr=subprocess.DEVNULL)
        yield name, out
    out = os.path.join(FOLDER, "empty.html")
    subprocess.run([QUERN, "report", "--empty", "-o", out], check=True)
    yield "empty", out


DROP = """const all = new DataTransfer();
all.items.add(new File([arguments[0]], "whole.out"));
document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: all, bubbles: true, cancelable: true }));"""


def in_browser(browser, what, made, axe):
    """Every view of every report in every theme; how many tests failed, of how many."""
    failures = tests = 0
    for name, path in made:
        for theme in ("light", "dark", "forced colours"):
            faults = []
            browser.media(theme)
            browser.open(path, state="empty" if name == "empty" else "ready")
            browser.complaints()
            browser.run(axe)
            if name == "empty":  # the form, then a profile that was dropped, with the form as a menu
                faults += browser.driver.execute_async_script(RUN, False)
                browser.driver.execute_script(DROP, WHOLE)
                browser.settle()
                browser.run("document.querySelector('.open').open = true")
            for view in VIEWS if name != "empty" else VIEWS[1:2]:
                browser.view(view)
                found = browser.driver.execute_async_script(RUN, view == "")
                faults += ["%s: %s" % (view or "summary", fault) for fault in found]
            faults += browser.complaints()
            tests += 1
            failures += bool(faults)
            print("not ok" if faults else "ok", "-", "%s: %d views of %s, %s" % (what, len(VIEWS), name, theme))
            for fault in faults[:12]:
                print("#", fault[:700])
            sys.stdout.flush()
    browser.quit()
    return failures, tests


def main():
    with open(AXE, encoding="utf-8") as f:
        axe = f.read()
    made, failures, tests = list(reports()), 0, 0
    for what, make in (("Chromium", Browser), ("Firefox", Firefox)):
        if what == "Firefox" and not shutil.which("firefox-esr"):
            tests += 1
            print("ok - Firefox: every view # SKIP firefox-esr is not there")
            continue
        more = in_browser(make(), what, made, axe)
        failures, tests = failures + more[0], tests + more[1]
    print("1..%d" % tests)
    return 1 if failures else 0


sys.exit(main())
