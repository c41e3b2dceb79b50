# SPDX-License-Identifier: MIT
"""The layout of the page, for check.py: the first screen, folded start-up frames, names, two panes, and every view at the width of a
phone and of a notebook, light and dark. SCREENS is worked out by hand: 1000 instructions, 2 of which are start-up frames' own."""
import os

from compare import FOLDER, compare, quern, test
from selenium.webdriver.common.keys import Keys

SIZES = ((390, 844), (1280, 800))

# _dl_start_user 1 + (below main) 1 + main 98, which calls sum<int> (600, line 5: 500, line 6: 100) and sum<long> (200), other(int) 60,
# other(long) 39 and Python's <module> 1.
SCREENS = """creator: hand
cmd: ./screens
events: Ir
ob=/bin/screens
fl=start.S
fn=_dl_start_user
1 1
cfn=(below main)
calls=1 2
1 999
fn=(below main)
2 1
cfi=screens.c
cfn=main
calls=1 1
2 998
fl=screens.c
fn=main
12 98
cfn=int sum<int, std::less<int> >(int const*, int)
calls=1 4
12 600
cfn=long sum<long, std::less<int> >(long const*, int)
calls=1 4
12 200
cfn=other(int)
calls=1 8
12 60
cfn=other(long)
calls=1 9
12 39
cfn=py::<module>
calls=1 10
12 1
fn=int sum<int, std::less<int> >(int const*, int)
5 500
6 100
fn=long sum<long, std::less<int> >(long const*, int)
6 200
fn=other(int)
8 60
fn=other(long)
9 39
fn=py::<module>
10 1
"""
SOURCE = """// A file with a line that is much longer than a phone is wide, so that it would be wrapped if lines were: one line stays one line, always.
#include <stdio.h>
template <typename T, typename Less> T sum(const T *v, int n)
{
    for (T s = 0; n > 0; n--)
        s += "text"[*v++]; // a comment
    return s;
void other(int);
void other(long);
    int x = 0x10;
}
int main(void) { return 0; }
"""
# As they are shown.
SHOWN = ["_dl_start_user", "int sum<…>(…)", "long sum<…>(…)", "main", "other(int)", "other(long)", "py::<module>"]


def made(name="screens", text=SCREENS):
    path, report = (os.path.join(FOLDER, name + end) for end in (".out", ".html"))
    with open(path, "w") as f:
        f.write(text)
    with open(os.path.join(FOLDER, "screens.c"), "w") as f:
        f.write(SOURCE)
    quern("report", "-I", FOLDER, "-o", report, path)
    return report


def texts(browser, selector):
    return browser.run("return [...document.querySelectorAll('%s')].map((e) => e.textContent)" % selector)


def size(browser, width, height):
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def check_screen(browser):
    """The first screen: numbers, functions of the program, lines with their source."""
    faults = []
    browser.open(made())
    browser.view("")
    compare("big number", texts(browser, ".tile")[0], "instructions executed1,000", faults)
    compare("headings", [text.split(":")[0] for text in texts(browser, "#quern-main h2")][:3], ["What it cost", "Where", "What to look at"], faults)
    names = texts(browser, ".most .main")
    compare("functions of the program, by self cost", names, [SHOWN[1], SHOWN[2], "main", "other(int)", "other(long)", "py::<module>"], faults)
    browser.view("k=incl")
    compare("by inclusive cost", texts(browser, ".most .main")[:2], ["main", SHOWN[1]], faults)
    browser.view("")
    compare("lines to look at", texts(browser, ".card .main"), ["screens.c:5", "screens.c:12", "screens.c:8"], faults)
    compare("three lines of source, without their indentation", browser.run(
        "return [...document.querySelector('.card').querySelectorAll('tr')].map((r) => [...r.cells].map((c) => c.textContent))"),
        [["", "4", "{"], ["50.0 %", "5", "    for (T s = 0; n > 0; n--)"], ["30.0 %", "6", "        s += \"text\"[*v++]; // a comment"]], faults)
    compare("console", browser.complaints(), [], faults)
    test("the first screen: what it cost, where, what to look at", faults)


def check_startup(browser):
    """Start-up frames are one row, one box, no node; a search and an option show them."""
    faults = []
    browser.open(made())
    browser.view("v=functions")
    compare("in one row", sorted(texts(browser, "#quern-functions .main")), sorted(SHOWN), faults)
    compare("said", texts(browser, "p.count"), ["8 functions, 2 start-up frames in one row"], faults)
    browser.view("v=functions&su=1")
    compare("all", (len(texts(browser, "#quern-functions .main")), texts(browser, "p.count")), (8, ["8 functions"]), faults)
    browser.view("v=functions&q=below")
    compare("found", texts(browser, "#quern-functions .main"), ["(below main)"], faults)
    browser.view("v=flame&t=1")
    rows = browser.run("return [...document.querySelectorAll('#quern-flame tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    compare("one box", [[row[0], row[3]] for row in rows[:3]], [["1,000", "0"], ["998", "1"], ["600", "2"]], faults)
    compare("which says so", "and 1 more start-up frames" in rows[0][4], True, faults)
    browser.view("v=graph&t=1")
    callers = set(texts(browser, "#quern-graph td:first-child"))
    compare("the call graph begins at main", callers, {"main"}, faults)
    browser.view("v=graph&t=1&su=1")
    compare("or not", "_dl_start_user" in texts(browser, "#quern-graph td:first-child"), True, faults)
    browser.view("v=function")
    compare("the function to begin with", texts(browser, "#quern-main h2")[0], "main", faults)
    compare("main begins where calls enter it, sum<int> too, not at its lowest line", [
        browser.run("return document.querySelector('#quern-main .where').textContent.split(' in ')[0].split('/').pop()"),
        next(n["line"] for n in (browser.ask("name", f) for f in range(8)) if n["name"].startswith("int sum"))], ["screens.c:1", 4], faults)
    compare("its path", texts(browser, ".way li"), ["2 start-up frames", "main"], faults)
    compare("console", browser.complaints(), [], faults)
    test("start-up frames are folded in every view", faults)


def check_panes(browser):
    """Beside a function is the list of all, with the same selection; a search filters it and stays. Not on a phone."""
    faults = []
    browser.open(made())
    rows = "return [...document.querySelectorAll('#quern-side tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    seen = "return document.querySelector('aside').checkVisibility()"
    selected = "return [...document.querySelectorAll('#quern-side [aria-current]')].map((e) => e.querySelector('.main').textContent)"
    browser.view("v=function")
    browser.quiet()
    compare("the list", browser.run(rows)[:3], [["100.0 %", "_dl_start_user"], ["99.8 %", "main"], ["60.0 %", SHOWN[1]]], faults)
    compare("selected", browser.run(selected), ["main"], faults)
    browser.run("[...document.querySelectorAll('#quern-side .main')][2].click()")
    browser.settle()
    browser.quiet()
    compare("opened", (texts(browser, "#quern-main h2")[0], browser.run(selected)),
            ("int sum<int, std::less<int> >(int const*, int)", [SHOWN[1]]), faults)
    browser.press("4")
    browser.quiet()
    compare("in its source too", ("v=source" in browser.run("return location.hash"), browser.run(selected)), (True, [SHOWN[1]]), faults)
    browser.run("[...document.querySelectorAll('#quern-side .main')][3].click()")
    browser.settle()
    compare("another one, in the same view", ("v=source" in browser.run("return location.hash"), texts(browser, ".count[role=status]")[-1]),
            (True, "Hottest line: 6, 30.0 % of Ir"), faults)
    browser.press("/", "o", "t", "h", "e", "r")
    browser.quiet()
    compare("searched", ("v=source" in browser.run("return location.hash"), [row[1] for row in browser.run(rows)]),
            (True, ["other(int)", "other(long)"]), faults)
    browser.press(Keys.ENTER, Keys.ENTER)
    browser.quiet()
    compare("opened by keys", browser.run(selected), ["other(int)"], faults)
    for width, height in SIZES:
        size(browser, width, height)
        compare("at %d" % width, browser.run(seen), width > 1000, faults)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    compare("console", browser.complaints(), [], faults)
    test("two panes: a list and a view, one selection", faults)


def check_source(browser):
    """Colours; a line is a line; the hottest one in sight at once, n goes to the next; costs stay when the text scrolls."""
    faults = []
    browser.open(made())
    browser.view("v=source&w=screens.c")
    kinds = browser.run("""return [...document.querySelectorAll('#quern-source code')].map((c) =>
        [...c.querySelectorAll('span')].map((s) => s.className.slice(4) + ' ' + s.textContent))""")
    compare("coloured", [kinds[0][0][:6], kinds[1], kinds[5][:2], kinds[9]], [
        "com //", ["pre #include"], ['str "text"', "com // a comment"], ["kw int", "num 0x10"]], faults)
    compare("one line", browser.run("return new Set([...document.querySelectorAll('#quern-source tr[data-row]')].map((r) => "
                                    "Math.round(r.getBoundingClientRect().height / 8))).size"), 1, faults)
    said = lambda: texts(browser, "#quern-main [role=status]")[-1]  # noqa: E731
    compare("hottest", said(), "Hottest line: 5, 50.0 % of Ir", faults)
    browser.press("n")
    compare("next", said(), "2. hottest line: 6, 30.0 % of Ir", faults)
    compare("focused", browser.run("return document.activeElement.textContent"), "6", faults)
    size(browser, *SIZES[1])
    browser.view("v=source&w=screens.c&l=1")
    place = "return document.querySelector('#quern-source td.stays').getBoundingClientRect().left"
    before = browser.run(place)
    browser.run("document.querySelector('#quern-main .scroll').scrollLeft = 200")
    compare("costs stay", (browser.run("return document.querySelector('#quern-main .scroll').scrollLeft > 50"), browser.run(place) == before),
            (True, True), faults)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    compare("console", browser.complaints(), [], faults)
    test("source: colours, hot lines, columns that stay", faults)


# main (line 12: 10) has 42 of lib.h inlined into it and calls mid (5: 30), which calls leaf (8: 70).
NESTED = """events: Ir
fl=screens.c
fn=main
12 10
fi=lib.h
3 40
7 2
fe=screens.c
cfn=mid
calls=2 4
12 100
fn=mid
5 30
cfn=leaf
calls=3 8
6 70
fn=leaf
8 70
"""


def check_unfold(browser):
    """In a source the lines of callees and of what was inlined are unfolded below their call, also one in another; in the address, too."""
    faults = []
    report = made("nested", NESTED)
    browser.open(report)
    browser.view("v=source&w=screens.c")
    # Of rows that are calls, inlined, or unfolded: cost, line, text.
    rows = lambda which=".site, .unfolded": browser.run(  # noqa: E731
        "return [...document.querySelectorAll('#quern-source tr')].filter((r) => r.matches('%s')).map((r) => {"
        "const c = [...r.cells].map((c) => c.textContent); return [c[0], c[2], c[3]]; })" % which)
    kinds = "return [...document.querySelectorAll('#quern-source .unfolded [data-q]')].map((e) => e.dataset.q)"
    calls = [["70", "", "▸ → leaf 3 calls"], ["42", "", "▸ inlined from lib.h into main"], ["100", "", "▸ → mid 2 calls"]]
    compare("folded", rows(), calls, faults)

    def click(name):
        browser.run("[...document.querySelectorAll('#quern-source .site')].filter((r) => r.textContent.includes('%s')).at(-1)"
                    ".querySelector('button').click()" % name)
        browser.settle()
        browser.quiet()

    click("inlined")
    compare("what was inlined", rows(".unfolded"), [["40", "3", "(not in this report)"], ["2", "7", "(not in this report)"]], faults)
    compare("numbers say what they are", browser.run(kinds), ["inner:0:0:3", "inner:0:0:7"], faults)
    compare("the button", browser.run("return [document.activeElement.ariaLabel, document.activeElement.ariaExpanded]"),
            ["Lines of lib.h in main", "true"], faults)
    click("inlined")
    compare("folded again", rows(), calls, faults)
    click("mid")
    mid = [["30", "5", "for (T s = 0; n > 0; n--)"], ["", "6", "    s += \"text\"[*v++]; // a comment"], ["70", "", "▸ → leaf 3 calls"]]
    compare("a callee, without the indentation that all its lines have", rows(".unfolded"), mid, faults)
    click("leaf")
    mid[2][2] = "▾ → leaf 3 calls"
    compare("its callee", rows(".unfolded"), mid + [["70", "8", SOURCE.split("\n")[7]]], faults)
    link = browser.run("return location.hash")
    browser.view("v=functions")
    browser.view(link[1:])
    compare("by a link", rows(".unfolded"), mid + [["70", "8", SOURCE.split("\n")[7]]], faults)
    compare("the hottest line is the file's own", texts(browser, "#quern-main [role=status]")[-1], "Hottest line: 8, 46.1 % of Ir", faults)
    browser.view("v=function&f=" + next(browser.ask("name", f)["hash"] for f in range(3) if browser.ask("name", f)["name"] == "mid"))
    browser.run("document.querySelector('#quern-function-source .site button').click()")
    browser.quiet()
    compare("in a function's view", browser.run("return [...document.querySelectorAll('#quern-function-source .unfolded td')].map((c) => c.textContent)"),
            ["70", "46.1 %", "8", SOURCE.split("\n")[7]], faults)
    compare("console", browser.complaints(), [], faults)
    test("source: callees and inlined code are unfolded", faults)


def check_search(browser):
    """In a picture a search highlights, says what that is worth, and leaves nothing out."""
    faults = []
    browser.open(made())
    wanted = "2 functions match: 80.0 % of Ir, self"
    for view in ("flame", "treemap", "graph"):
        browser.view("v=" + view)
        browser.run("document.activeElement.blur()")
        browser.press("/", "s", "u", "m")
        browser.quiet()
        compare(view, (browser.run("return location.hash"), wanted in texts(browser, "#quern-main [role=status]")),
                ("#v=%s&q=sum" % view, True), faults)
        if view == "graph":
            compare("nodes", sorted(browser.run("return [...document.querySelectorAll('.node.found')].map((e) => "
                                                "e.getAttribute('aria-label').split(',')[0])")), ["int sum<…>(…)", "long sum<…>(…)"], faults)
            compare("all are there", browser.run("return document.querySelectorAll('.node').length"), 6, faults)
        browser.press(Keys.ESCAPE, Keys.ESCAPE)
    compare("console", browser.complaints(), [], faults)
    test("a search highlights in pictures", faults)


def check_names(browser):
    """What is between brackets is erased only where names stay distinct; an option shows all of it."""
    faults = []
    # Three that differ in an inner argument, one that differs in its text, brackets that are names, and those that do not match.
    names = {"a<b<int>, c>::f(int)": "a<b<int>, c>::f(…)", "a<b<long>, c>::f(int)": "a<b<long>, c>::f(…)", "g<int>(int)": "g<…>(…)",
             "operator<< <char>(int)": "operator<< <…>(…)", "X::operator()(int)": "X::operator()(…)", "py::<lambda>": "py::<lambda>",
             "<Vec<u8> as Drop>::drop": "<Vec<…> as Drop>::drop", "h<int": "h<int", "(anonymous namespace)::k(int)": "(anonymous namespace)::k(…)",
             "a->b": "a->b"}
    text = "events: Ir\nfl=x.c\n" + "".join("fn=%s\n%d 1\n" % (name, i + 1) for i, name in enumerate(names))
    browser.open(made("names", text))
    browser.view("v=functions")
    compare("shown", sorted(texts(browser, "#quern-functions .main")), sorted(names.values()), faults)
    browser.view("v=functions&nm=1")
    compare("whole", sorted(texts(browser, "#quern-functions .main")), sorted(names), faults)
    # Cheaper than 9,000 others they are told apart, too.
    text = "events: Ir\nfl=x.c\n" + "".join("fn=f%d\n%d 9\n" % (i, i + 1) for i in range(9000)) + (
        "fn=t<int>(int)\n1 1\nfn=t<long>(int)\n2 1\n")
    browser.open(made("names-many", text))
    browser.view("v=functions&q=t<")
    compare("the cheapest of 9,002", sorted(texts(browser, "#quern-functions .main")), ["t<int>(…)", "t<long>(…)"], faults)
    compare("console", browser.complaints(), [], faults)
    test("names: shortened where they stay distinct", faults)


def check_widths(browser):
    """No view is wider than the page, on a phone and on a notebook, light and dark; the header of a phone is one line."""
    faults = []
    views = ("", "k=incl", "v=functions", "v=functions&g=file", "v=function", "v=source", "v=graph", "v=flame", "v=treemap", "v=lines",
             "v=flame&t=1", "v=graph&t=1")
    browser.open(made())
    for width, height in SIZES:
        size(browser, width, height)
        for theme in ("light", "dark"):
            for view in views:
                browser.view(view + "&m=" + theme)
                got = browser.run("return document.documentElement.scrollWidth")
                if got > width:
                    faults.append("%s is %d wide at %d: %s" % (view, got, width, browser.run(
                        "return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && "
                        "!e.closest('.scroll, .wide, .hold, svg, nav')).map((e) => e.tagName + '.' + e.className).slice(0, 5).join()")))
    size(browser, *SIZES[0])
    browser.view("v=functions")
    bar = "return getComputedStyle(document.querySelector('header .bar')).display"
    compare("one line", (browser.run("return document.querySelector('header').getBoundingClientRect().height < 48"), browser.run(bar)),
            (True, "none"), faults)
    browser.run("document.querySelector('.fold').click()")
    compare("the second", (browser.run(bar), browser.run("return document.querySelector('.fold').getAttribute('aria-expanded')")),
            ("flex", "true"), faults)
    compare("a name in sight", browser.run("return document.querySelector('#quern-functions .main').getBoundingClientRect().right < 390"), True, faults)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    compare("console", browser.complaints(), [], faults)
    test("phone and notebook, light and dark: nothing is wider than the page", faults)


RECURSION = ("events: Ir\nfl=x.c\nfn=main\n1 1\ncfn=a\ncalls=1 2\n1 40\nfn=a\n2 10\ncfn=b\ncalls=2 3\n2 30\n"
             "fn=b\n3 30\ncfn=a\ncalls=1 2\n3 5\n")


def check_recursion(browser):
    """A cycle that holds most of the program is opened in the flame graph and in the inclusive list, which say so; elsewhere and by
    choice it is one function. a and b call each other: 10 + 30 of 41."""
    faults = []
    browser.open(made("recursion", RECURSION))
    said = "A cycle of 2 functions, which call each other, has 97.6 % of the program"
    rows = "return [...document.querySelectorAll('#quern-flame tbody tr')].map((r) => r.cells[4].textContent.slice(0, 4))"
    for view, opened in (("v=flame&t=1", True), ("v=flame&t=1&cy=1", False), ("v=flame&t=1&cy=0", True), ("v=functions", False), ("k=incl", True),
                         ("", False)):
        browser.view(view)
        compare("opened in " + view, browser.ask("summary")["opened"], opened, faults)
        compare("said in " + view, said in browser.run("return document.querySelector('#quern-main').textContent"),
                opened and "cy" not in view, faults)
    browser.view("v=flame&t=1")
    compare("boxes", (len(browser.run(rows)) > 2, browser.run(rows)[0][:4]), (True, "main"), faults)
    browser.press("r")
    compare("r makes it one", ("cy=1" in browser.run("return location.hash"), browser.ask("summary")["opened"]), (True, False), faults)
    compare("console", browser.complaints(), [], faults)
    test("a cycle that holds the program is opened", faults)


def check_compared(browser):
    """A comparison says what is compared, and its difference is the first column of numbers; a series shows its runs first; a cost per
    call is exact where it is whole: 12 of 2 calls, not 10 of 3."""
    faults = []
    text = "events: Ir\nfl=x.c\nfn=main\n1 %d\ncfn=f\ncalls=2 2\n1 12\ncfn=g\ncalls=3 3\n1 10\nfn=f\n2 12\nfn=g\n3 10\n"
    paths = [os.path.join(FOLDER, name) for name in ("compared.old", "compared.new")]
    for path, cost in zip(paths, (100, 130)):
        with open(path, "w") as f:
            f.write(text % cost)
    report = os.path.join(FOLDER, "compared.html")
    quern("report", "--base=" + paths[0], "-o", report, paths[1])
    browser.open(report)
    browser.view("v=compare")
    compare("title", texts(browser, "#quern-main h2")[0], "Functions by difference: %s compared with %s" % (paths[1], paths[0]), faults)
    compare("head", texts(browser, "#quern-functions th")[:4], ["Function", "Ir self, difference ▼", "Ir self, old", "Ir self, new"], faults)
    size(browser, *SIZES[1])
    compare("in sight", browser.run("const b = document.querySelector('#quern-functions th[aria-sort]').getBoundingClientRect(); "
                                    "return b.left > 0 && b.right < innerWidth"), True, faults)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.view("")
    compare("big number", texts(browser, ".tile b + .change"), ["+30 (+24.6 %)"], faults)
    quern("report", "--series", "-o", report, *paths)
    browser.open(report)
    browser.view("")
    compare("runs", [row[:4] for row in browser.run(
        "return [...document.querySelectorAll('#quern-runs tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")],
        [["Ir", "122", "152", "+30"], ["CEst", "122", "152", "+30"]], faults)
    compare("no sum in their place", texts(browser, ".tile"), [], faults)
    browser.view("v=functions&p=0")
    compare("per call", browser.run("return Object.fromEntries([...document.querySelectorAll('#quern-functions tbody tr')].map((r) => "
                                    "[r.querySelector('.main').textContent, r.querySelector('[data-q^=per]').textContent]))"),
            {"main": "–", "f": "6", "g": "≈ 3.33333"}, faults)
    compare("console", browser.complaints(), [], faults)
    test("comparison and series say what they compare; exact costs per call", faults)
