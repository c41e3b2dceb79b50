# SPDX-License-Identifier: MIT
"""The objects of the data in a report (quern run --data=yes), for check.py: every number by hand, from profiles.py."""
import base64
import os
import re
import zlib

from colours import CONTRAST
from compare import FOLDER, compare, quern, test
from profiles import data_profiles
from screens import SIZES, size, texts
from selenium.webdriver.common.keys import Keys

SAID = ("90 % of the D1mr of static: matrix, 69 % of the program's, come from by_columns (grid.c:12), which steps 4,160 bytes from one miss "
        "to the next, across at least 183,040; if it uses what lies between, too, a loop in the order of memory would miss once in 64 bytes.")
HEAP = "heap: build (list.c:8) < main (grid.c:20)"
TABLE = "return [...document.querySelectorAll('%s tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
# What is the same on all places: D1mr, %, D1mw, %, DLmr, %, DLmw, %.
MATRIX = ["1,000", "76.6 %", "100", "83.3 %", "50", "100.0 %", "100", "100.0 %"]
LIST = ["300", "23.0 %", "20", "16.7 %", "0", "0.00 %", "0", "0.00 %"]
STACK = ["5", "0.38 %", "0", "0.00 %", "0", "0.00 %", "0", "0.00 %"]


def made(name="data", options=()):
    folder, report = os.path.join(FOLDER, name), os.path.join(FOLDER, name + ".html")
    path = data_profiles(folder)
    source = os.path.join(folder, "src")
    os.makedirs(source, exist_ok=True)
    for file, lines in (("grid.c", 22), ("list.c", 31)):
        with open(os.path.join(source, file), "w") as f:
            f.write("".join("line(%d);\n" % (i + 1) for i in range(lines)))
        os.utime(os.path.join(source, file), (1, 1))
    return folder, report, quern("report", "-I", source, *options, "-o", report, path)


def rows(browser, table):
    return browser.run(TABLE % table)


def link(browser, text, where="#quern-main"):
    """The address of a link with this text."""
    return browser.run("return [...document.querySelectorAll('%s a')].find((a) => a.textContent === '%s')?.getAttribute('href')" % (where, text))


def check_data_first(browser):
    """The first screen names the objects that miss most, and what to do; there is a view of them."""
    faults = []
    _, report, (status, _, said) = made()
    compare("status", (status, "not shown" in said), (0, False), faults)
    browser.open(report)
    browser.view("")
    compare("headings", [t for t in texts(browser, "#quern-main h2") if t.startswith("What to look")],
            ["What to look at: the objects that miss most", "What to look at: the hottest lines"], faults)
    # 1,100, 320 and 5 of 1,425
    compare("objects", rows(browser, ".most.data"), [["1,100", "77.2 %", "static: matrixgridstride 4,160, 80 %"],
            ["320", "22.5 %", HEAP + "list.c:8, gridpointer chase, 94 %"], ["5", "0.35 %", "stack"]], faults)
    compare("advice", texts(browser, ".data .advice bdi")[0], SAID, faults)
    compare("view", texts(browser, "nav a")[-1], "Data", faults)
    compare("console", browser.complaints(), [], faults)
    test("data: the first screen", faults)


def check_data_table(browser):
    """All objects: numbers, walks, orders, searches; the treemap has their proportions."""
    faults = []
    browser.open(made()[1])
    browser.view("v=data")
    compare("said", texts(browser, "#quern-main .count")[0].split(",")[0], "3 objects", faults)
    walked = ["stride 4,160, 80 %", "pointer chase, 94 %", ""]
    none = ["", "", ""]
    all_rows = [["static: matrixgrid"] + MATRIX + none + ["8", walked[0]], [HEAP + "list.c:8, grid"] + LIST + ["20", "1,280", "1,152", "", walked[1]],
                ["stack"] + STACK + none + ["12.5", walked[2]]]
    compare("rows", rows(browser, "#quern-data"), all_rows, faults)
    compare("identities", browser.run("return [...document.querySelectorAll('#quern-data [data-q]')].map((e) => e.dataset.q).slice(0, 5)"),
            ["data:0:0:0", "data:1:0:0", "data:2:0:0", "data:3:0:0", "data:0:0:1"], faults)
    for fragment, order in (("s=%2B0.0", [2, 1, 0]), ("s=-3.0", [0, 1, 2]), ("s=%2Bname", [1, 2, 0]), ("s=-name", [0, 2, 1]), ("e=DLmr", [0, 1, 2]), ("s=-block2", [1, 0, 2]), ("s=-use", [2, 0, 1])):
        browser.view("v=data&" + fragment)
        compare(fragment, rows(browser, "#quern-data"), [all_rows[i] for i in order], faults)
    for wanted, found in (("mat", [0]), ("MAT", []), ("!mat", [1, 2]), ("file:list", [1]), ("object:grid", [0, 1]), ("%2F%5Est.*k$%2F", [2])):
        browser.view("v=data&q=" + wanted)
        compare("search " + wanted, rows(browser, "#quern-data"), [all_rows[i] for i in found], faults)
    browser.view("v=data&q=%2F(%2F")
    compare("bad search", texts(browser, "#quern-main .count")[0].startswith("not a regular expression"), True, faults)
    browser.view("v=data")
    browser.run("[...document.querySelectorAll('#quern-data th button')].find((b) => b.textContent.startsWith('DLmw')).click()")
    browser.settle()
    compare("a click on a head", browser.run("return new URLSearchParams(location.hash.slice(1)).get('s')"), "-3.0", faults)
    browser.view("v=data")
    browser.press("t")
    names = browser.run("return [...document.querySelectorAll('.item')].map((a) => a.getAttribute('aria-label'))")
    compare("the first box", names[:1], ["static: matrix, 77.2 % of D1mr + D1mw, exactly 1,100"], faults)
    browser.view("v=data&t=1&k=DLmw")
    compare("of another event", browser.run("return document.querySelector('.item').getAttribute('aria-label')"),
            "static: matrix, 100.0 % of DLmw, exactly 100", faults)
    browser.view("v=data&t=1&k=bytes")
    compare("of bytes", browser.run("return [...document.querySelectorAll('.item')].map((a) => a.getAttribute('aria-label'))"),
            [HEAP + ", 100.0 % of the bytes of all allocations, exactly 1,152"], faults)
    browser.press("t")
    compare("back", len(rows(browser, "#quern-data")), 3, faults)
    compare("console", browser.complaints(), [], faults)
    test("data: all objects, their orders, searches, treemap", faults)


def check_data_object(browser):
    """One object: who misses in it, where in it; from there to the function, its source, and back."""
    faults = []
    browser.open(made()[1])
    browser.view("v=data")
    browser.view(link(browser, "static: matrix")[1:])
    compare("name", texts(browser, "#quern-main h2")[0], "static: matrix", faults)
    compare("misses", rows(browser, "#quern-data-total"), [MATRIX], faults)
    compare("used", texts(browser, "#quern-main .used"), ["Used of each line fetched: 8 of 64 bytes, by a sample of 17 lines"], faults)
    compare("who", rows(browser, "#quern-data-misses"), [
        ["900", "90.0 %", "0", "0.00 %", "40", "80.0 %", "0", "0.00 %", "stride 4,160, 97 %", "grid.c:12", "by_columnsgrid.c, grid"],
        ["100", "10.0 %", "0", "0.00 %", "10", "20.0 %", "0", "0.00 %", "sequential, 100 %", "grid.c:14", "by_rowsgrid.c, grid"],
        ["0", "0.00 %", "100", "100.0 %", "0", "0.00 %", "100", "100.0 %", "sequential, 100 %", "grid.c:15", "by_rowsgrid.c, grid"]], faults)
    compare("where", rows(browser, "#quern-data-places"), [
        ["600", "60.0 %", "0", "0.00 %", "30", "60.0 %", "0", "0.00 %", "cells[].head (inferred)"],
        ["400", "40.0 %", "100", "100.0 %", "20", "40.0 %", "100", "100.0 %", "+0x40"]], faults)
    bar = browser.run("return [...document.querySelectorAll('.parts span')].map((s) => [s.textContent, s.getBoundingClientRect().width])")
    compare("bar", [text for text, _ in bar], ["cells[].head (inferred)", "+0x40"], faults)
    if abs(bar[0][1] / bar[1][1] - 600 / 500) > 0.01:  # of D1 misses
        faults.append("widths of the bar: %s" % bar)
    browser.view(link(browser, "by_columns", "#quern-data-misses")[1:])
    compare("the function", texts(browser, "#quern-main h2")[0], "by_columns", faults)
    compare("its objects", rows(browser, "#quern-function-data"), [["900", "100.0 %", "0", "–", "40", "100.0 %", "0", "–",
            "stride 4,160, 97 %", "static: matrixgrid"]], faults)
    browser.view(link(browser, "Source")[1:])
    data = "return [...document.querySelectorAll('#quern-source tr.data')].map((r) => r.previousElementSibling.cells[2].textContent + ' ' + r.querySelector('.call').textContent)"
    compare("below its lines", browser.run(data), [
        "12 misses in static: matrix81.8 % of its D1 misses, stride 4,160, 97 %", "14 misses in static: matrix9.09 % of its D1 misses, sequential, 100 %",
        "15 misses in static: matrix9.09 % of its D1 misses, sequential, 100 %", "20 misses in stack100.0 % of its D1 misses"], faults)
    browser.view("v=source&w=%2Fsrc%2Fgrid.c&e=D1mr")
    compare("their counts, where the event is one of them", browser.run(
        "return [...document.querySelectorAll('#quern-source tr.data')].map((r) => r.cells[0].textContent)"), ["900", "100", "0", "5"], faults)
    browser.view(link(browser, "static: matrix", "#quern-source")[1:])
    compare("back", texts(browser, "#quern-main h2")[0], "static: matrix", faults)
    browser.view("v=data")
    browser.view(link(browser, HEAP)[1:])
    compare("its blocks", texts(browser, "#quern-main .allocated")[0],
            "Allocated: 20 blocks of 1,280 bytes, at most 1,152 at a time", faults)
    compare("an object without parts", (browser.view("v=data"), browser.view(link(browser, "stack")[1:]), texts(browser, "#quern-main .note"))[2],
            ["The profile does not tell the parts of this object apart."], faults)
    browser.view("v=data&ob=nothing")
    compare("no such object", texts(browser, "#quern-main .note")[0].startswith("This report has no such object"), True, faults)
    compare("console", browser.complaints(), [], faults)
    test("data: one object, its functions and lines, and back", faults)


def check_data_sharing(browser):
    """Lines that threads share: of all objects, and of one; to the source, to an object; names are inert."""
    faults = []
    folder, report = os.path.join(FOLDER, "data-sharing"), os.path.join(FOLDER, "data-sharing.html")
    path, data = data_profiles(folder), os.path.join(folder, "data.out.7")
    sides = ["static: matrix\t???\tcells[%d].head\twrites\tby_rows\t/src/grid.c:%d" % at for at in ((0, 15), (1, 12))]
    sides += ["%s\t/src/list.c\t+8\treads\tfind\t/src/list.c:30" % HEAP, "static: <b>\t???\t\twrites\t<i>\t???:0"]
    lines = ["Sharing order: serialized", "Sharing: false\t1998\t1900000\t%s\t%s" % (sides[0], sides[1]), "Sharing: true\t3\t4\t%s\t%s" % (sides[2], sides[3])]
    with open(data) as f:
        text = f.read()
    with open(data, "w") as f:
        f.write(text.replace("positions:", "".join("desc: %s\n" % line for line in lines) + "positions:", 1))
    status, _, said = quern("report", "-o", report, path)
    compare("status", (status, "not shown" in said), (0, False), faults)
    browser.open(report)
    browser.view("v=data")
    one = ["1,998", "1,900,000", "false", "static: matrix cells[0].head written by by_rows grid.c:15", "static: matrix cells[1].head written by by_rows grid.c:12"]
    other = ["3", "4", "true", HEAP + " " + HEAP + " +8 read by find list.c:30", " static: <b> written by <i> ???:?"]
    compare("all", rows(browser, "#quern-data-shared"), [one, other], faults)
    compare("order", [t for t in texts(browser, ".shared .note")], ["One thread ran at a time."], faults)
    compare("foreign elements", browser.run("return document.querySelectorAll('#quern-data-shared i, #quern-data-shared b b').length"), 0, faults)
    compare("to the source", "v=source" in (link(browser, "grid.c:15", "#quern-data-shared") or ""), True, faults)
    browser.view(link(browser, "static: matrix", "#quern-data-shared")[1:])
    one[3:] = [t.replace("static: matrix", "") for t in one[3:]]
    compare("of one", rows(browser, "#quern-data-shared"), [one], faults)
    browser.view("v=data")
    browser.view(link(browser, "stack")[1:])
    compare("of none", browser.run("return document.querySelector('.shared')"), None, faults)
    with open(data, "w") as f:
        f.write(text.replace("positions:", "".join("desc: %s\n" % line for line in lines[1:]) + "positions:", 1))
    quern("report", "-o", report, path)
    browser.open(report)
    browser.view("v=data")
    compare("on timing", "depend on timing" in texts(browser, ".shared .note")[0], True, faults)
    compare("console", browser.complaints(), [], faults)
    test("data: lines that threads share", faults)


def check_data_base(browser):
    """With a base: the same object in another build's folder is the same; old, new, difference."""
    faults = []
    old = data_profiles(os.path.join(FOLDER, "data.old"), old=True)
    _, report, (status, _, said) = made("data-base", ["--base=" + old])
    compare("status", (status, "not shown" in said), (0, False), faults)
    browser.open(report)
    browser.view("v=data")
    compare("D1mr, D1mw, DLmr of matrix", rows(browser, "#quern-data")[0][:13], ["static: matrixgrid", "200", "1,000", "+800", "76.6 %",
            "100", "100", "0", "83.3 %", "30", "50", "+20", "100.0 %"], faults)
    compare("the others", [row[0] for row in rows(browser, "#quern-data")], ["static: matrixgrid", HEAP + "list.c:8, grid", "stack"], faults)
    browser.view(link(browser, "static: matrix")[1:])
    compare("who", [row[:4] for row in rows(browser, "#quern-data-misses")],
            [["by_columnsgrid.c, grid", "100", "900", "+800"], ["by_rowsgrid.c, grid", "100", "100", "0"], ["by_rowsgrid.c, grid", "0", "0", "0"]], faults)
    compare("where", [row[:4] for row in rows(browser, "#quern-data-places")], [["cells[].head (inferred)", "150", "600", "+450"], ["+0x40", "50", "400", "+350"]], faults)
    browser.view("")
    compare("the first screen", rows(browser, ".most.data")[0], ["1,100", "77.2 %", "+800", "static: matrixgridstride 4,160, 80 %"], faults)
    # A base without one: only the new numbers.
    os.remove(os.path.join(FOLDER, "data.old", "data.out.7"))
    browser.open(made("data-base", ["--base=" + old])[1])
    browser.view("v=data")
    compare("no data of the base", rows(browser, "#quern-data")[0][1:9], MATRIX, faults)
    compare("console", browser.complaints(), [], faults)
    test("data: with a base", faults)


def check_data_widths(browser):
    """On a phone and on a notebook, light and dark: nothing is wider than the page, all text is legible, no id twice."""
    faults = []
    browser.open(made()[1])
    browser.view("v=data")
    one = link(browser, "static: matrix")[1:]
    for width, height in SIZES:
        size(browser, width, height)
        for theme in ("light", "dark"):
            for view in ("", "v=data", "v=data&t=1", one, "v=function&f=" + browser.ask("name", 0)["hash"], "v=source&w=%2Fsrc%2Fgrid.c"):
                browser.view(view + "&m=" + theme)
                got = browser.run("return document.documentElement.scrollWidth")
                if got > width:
                    faults.append("%s is %d wide at %d" % (view, got, width))
                compare("%s, %s" % (view, theme), browser.run(CONTRAST), [], faults)
    size(browser, *SIZES[0])
    browser.view("v=data&m=")
    compare("names in sight", browser.run("return document.querySelector('#quern-data .main').getBoundingClientRect().right < 390"), True, faults)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    compare("console", browser.complaints(), [], faults)
    test("data: phone and notebook, light and dark", faults)


def check_data_keys(browser):
    """By keys alone: the view, an object, who misses in it."""
    faults = []
    browser.open(made()[1])
    browser.view("")
    browser.press(str(len(texts(browser, "nav a"))))
    compare("view", browser.run("return new URLSearchParams(location.hash.slice(1)).get('v')"), "data", faults)
    browser.press("/", "heap", Keys.ENTER)
    compare("found", len(rows(browser, "#quern-data")), 1, faults)
    browser.press(Keys.ENTER)
    compare("the object", texts(browser, "#quern-main h2")[0], HEAP, faults)
    browser.view("v=data")
    browser.run("document.querySelector('#quern-data .main').focus()")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    compare("the third", texts(browser, "#quern-main h2")[0], "stack", faults)
    test("data: by keys", faults)


def bottom(browser, table, text):
    """The first number of the last row of a long table, when it is scrolled to its end and has this text."""
    for _ in range(100):
        browser.run("const b = document.querySelector('%s').closest('.scroll'); b.scrollTop = b.scrollHeight" % table)
        browser.settle()
        last = rows(browser, table)[-1]
        if text in last:
            return last[0]
    return last


HOSTILE = ["<img src=x onerror=hacked=1>", "</script><script>hacked=1</script>", "\u202eturned", "a\x1b[31mred", "\"quoted\\", "x" * 5000]


def check_data_hostile(browser):
    """Names are inert and bounded; of very many objects and places those with most misses are there, the rest is a sum."""
    faults = []
    folder = os.path.join(FOLDER, "data-hostile")
    os.makedirs(folder, exist_ok=True)
    path, data, report = (os.path.join(folder, name) for name in ("callgrind.out.7", "data.out.7", "hostile.html"))
    # 2,100 objects; the first has 700 places and lines of 1,000 and more. Their sums are those of the code.
    total = sum(range(1000, 1700)) + sum(10 + i for i in range(2099))
    with open(path, "w") as f:
        f.write("events: D1mr\nfl=a.c\nfn=f\n1 %d\n" % total)
    with open(data, "w") as f:
        f.write("desc: Functions: objects of the data\ndesc: Walk: stride x<b>\t1\t2\tstatic: o0\ndesc: Field: 99999999999999999999\tx\t\ty\tz\n"
                "desc: Field: 0\tonly\npositions: instr line\nevents: D1mr\nfl=a.c\nfn=static: many\n")
        f.write("".join("0x%x 0 %d\n" % (8 * i, 1000 + i) for i in range(700)))
        for i in range(2099):
            f.write("fn=%s\n0x0 0 %d\n" % (HOSTILE[i] if i < len(HOSTILE) else "static: o%d" % i, 10 + i))
        f.write("fn=f<b>\n" + "".join("cfn=static: many\ncalls=%d 0\n0x0 %d %d\n" % (1000 + i, i + 1, 1000 + i) for i in range(700)))
    status, _, said = quern("report", "-o", report, path)
    compare("status", (status, "not shown" in said), (0, False), faults)
    compare("state", browser.open(report), "ready", faults)
    browser.view("v=data&s=%2B0.0")
    # Those with most misses of 2,100: many and all but the first 100 others, of 10 to 109. The sum of these is 5,950.
    compare("said", texts(browser, "#quern-main .count")[0].split(",", 2)[:2], ["2", "100 objects"], faults)
    compare("left out", bottom(browser, "#quern-data", "100 objects with fewer misses"), "5,950", faults)
    browser.view("v=data&q=many")
    browser.view(link(browser, "static: many")[1:])
    compare("who", texts(browser, "#quern-main h3")[1], "Who misses in it: 700 lines CSV", faults)
    # Of 700 lines and 700 places the 200 cheapest are left out: 1,000 to 1,199, which are 219,900.
    for table, what in (("#quern-data-misses", "200 lines with fewer misses"), ("#quern-data-places", "200 places with fewer misses")):
        compare(what, bottom(browser, table, what), "219,900", faults)
    for view in ("v=data&t=1", "", "v=data&q=%3Cimg", "v=function", "v=data&ob=%3Cscript%3E"):
        browser.view(view)
        compare("hacked in " + view, browser.run("return typeof hacked"), "undefined", faults)
        compare("foreign elements in " + view, browser.run("return document.querySelectorAll('#quern-app img, #quern-app script, #quern-app b b').length"), 0, faults)
    html = open(report, encoding="utf-8").read()
    json = inflated(html)
    compare("no name is longer than 1,000 bytes", max(len(t) for t in re.findall(r'"([^"]*)"', json)) <= 1001, True, faults)
    compare("console", browser.complaints(), [], faults)
    test("data: hostile names and sizes", faults)


def inflated(html):
    text = re.search(r'id="quern-data"[^>]*>([^<]*)<', html).group(1)
    return zlib.decompress(base64.b64decode(text), -15).decode()


def packed(html, json):
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = base64.b64encode(z.compress(json.encode()) + z.flush()).decode()
    return re.sub(r'(id="quern-data" data-size=")\d+("[^>]*>)[^<]*<', lambda m: m.group(1) + str(len(json.encode())) + m.group(2) + data + "<", html)


def check_data_damaged(browser):
    """What is not as it should be is said, and the rest of the report works."""
    faults = []
    report, broken = made()[1], os.path.join(FOLDER, "data-broken.html")
    html = open(report, encoding="utf-8").read()
    json = inflated(html)
    cases = {"bytes": re.sub(r'(id="quern-data"[^>]*>).{8}', r"\1AAAAAAAA", html), "size": html.replace('id="quern-data" data-size="', 'id="quern-data" data-size="1'),
             "no JSON": packed(html, json[:-20]), "no object": packed(html, "[]"), "a count": packed(html, json.replace('"1000 100 50 100"', '"1000 x 50 100"')),
             "too few counts": packed(html, json.replace('"1000 100 50 100"', '"1000"')), "a string": packed(html, re.sub(r'"objects":\[\s*\[\d+', '"objects":[[99', json)),
             "a function": packed(html, re.sub(r"\[0,(\d+,12,)", r"[77,\1", json))}
    for name, text in cases.items():
        with open(broken, "w", encoding="utf-8") as f:
            f.write(text)
        browser.open(broken)
        for _ in range(100):  # it returns at the message, which may come first
            if browser.run("return document.body.dataset.state") == "ready":
                break
            browser.settle()
        compare(name + ": state", browser.run("return document.body.dataset.state"), "ready", faults)
        compare(name, [t.split(":")[0] for t in texts(browser, "p.fault")], ["The objects of the data in this report are damaged"], faults)
        browser.view("")
        compare(name + ": views", "Data" in texts(browser, "nav a"), False, faults)
        browser.complaints()
    test("data: a damaged report", faults)


def check_data_command(browser):
    """Which file is taken: found by its name if its sums are those of the code, or named."""
    faults = []
    folder, report, _ = made("data-command")
    path, data = (os.path.join(folder, name) for name in ("callgrind.out.7", "data.out.7"))
    def has():
        return 'id="quern-data"' in open(report, encoding="utf-8").read()
    text = open(data).read()
    with open(data, "w") as f:
        f.write(text.replace("0x0 0 5 0 0 0", "0x0 0 6 0 0 0"))
    status, _, said = quern("report", "-o", report, path)
    compare("of another run", (status, has(), "data.out.7: not shown: it is no profile of the data of " + path in said), (0, False, True), faults)
    status, _, said = quern("report", "-o", report, "--data=" + data, path)
    compare("named all the same", (status, has(), "data.out.7: its misses are not those of %s: it is of another run" % path in said), (0, True, True), faults)
    browser.open(report)
    compare("which the report says", any("it is of another run" in t for t in texts(browser, "[aria-label=Remarks] .note")), True, faults)
    compare("without advice", browser.run("return document.querySelector('.advice')"), None, faults)
    with open(data, "w") as f:
        f.write("events: D1mr\nfn=f\n1 x y z\n" * 3)
    compare("no profile of the data", quern("report", "-o", report, path)[0], 0, faults)
    compare("nothing of it", has(), False, faults)
    status, _, said = quern("report", "-o", report, "--data=" + path, path)
    compare("the code named", (status, "it is no profile of the data (quern run --data=yes)" in said), (2, True), faults)
    compare("missing", quern("report", "-o", report, "--data=" + path + ".none", path)[0], 2, faults)
    compare("no base", (quern("report", "-o", report, "--base-data=" + data, path)[0], quern("report", "--empty", "--data=" + data)[0]), (2, 2), faults)
    with open(data, "w") as f:
        f.write(text)
    other = os.path.join(folder, "other")
    os.replace(path, other)
    os.replace(data, data + ".kept")
    os.mkfifo(data)
    os.link(other, path)
    compare("a pipe is not waited for", (quern("report", "-o", report, path)[0], has()), (0, False), faults)
    os.remove(data)
    os.remove(path)
    os.replace(data + ".kept", data)
    quern("report", "-o", report, other)
    compare("a name that does not fit", has(), False, faults)
    quern("report", "-o", report, "--data=" + data, other)
    compare("named", has(), True, faults)
    test("data: which profile is taken", faults)
