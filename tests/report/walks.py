# SPDX-License-Identifier: MIT
"""Walks through the page, for check.py: the questions of people who open a report for the first time. Each walk begins at the first
screen and acts only as a reader can: it clicks on what is in sight, by its text, and presses keys. A walk fails if a step is no longer there, if it takes more actions than it says, or if the answer is another one. What
was done and found is written to walks.md in the folder of the pages."""
import os

from compare import FOLDER, compare, quern, test
from screens import NESTED, RECURSION, SIZES, SOURCE, made, size, texts
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

RECORD = ["# Six questions, and the way to their answers\n"]


class Walk:
    def __init__(self, browser, question, report):
        self.browser, self.faults, self.actions = browser, [], 0
        RECORD.append("\n## %s\n\n" % question)
        self.question = question
        browser.open(report)
        browser.view("")

    def acted(self, what):
        self.actions += 1
        RECORD.append("%d. %s\n" % (self.actions, what))
        self.browser.quiet()

    def click(self, text, where="#quern-app"):
        """On the first link, button or selection in sight with this text, or that begins with it."""
        found = [e for e in self.browser.driver.find_elements(By.CSS_SELECTOR, ", ".join(
            where + " " + kind for kind in ("a", "button", "summary", "label"))) if e.is_displayed()]
        at = next((e for e in found if e.text.strip() == text), None) or next((e for e in found if e.text.strip().startswith(text) or (
            e.get_attribute("aria-label") or "") == text), None)
        if at is None:
            self.faults.append("nothing in sight is called %s" % text)
            return
        ActionChains(self.browser.driver).scroll_to_element(at).click(at).perform()
        self.acted("click on *%s*" % text)

    def press(self, keys, what):
        """Keys that are one action: a letter, or a text with Enter."""
        self.browser.press(*keys)
        self.acted("press " + what)

    def found(self, what, got, wanted):
        RECORD.append("\n%s: **%s**\n" % (what, got))
        compare(what, got, wanted, self.faults)

    def end(self, actions):
        RECORD.append("\nActions: %d\n" % self.actions)
        compare("actions", self.actions, actions, self.faults)
        compare("console", self.browser.complaints(), [], self.faults)
        test("a walk: " + self.question, self.faults)


def rows(browser, table):
    return browser.run("return [...document.querySelectorAll('%s tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))" % table)


def walk_hot(browser):
    """C++: the first screen has the function and the line; one click shows the line in its source."""
    w = Walk(browser, "Which function and which line cost most?", made())
    w.found("function", texts(browser, ".most .main")[0], "int sum<…>(…)")
    w.found("line", browser.run("const p = document.querySelector('.card p'); return p.querySelector('b').textContent + ' ' + "
                                "p.querySelector('.main').textContent"), "50.0 % screens.c:5")
    w.click("screens.c:5", ".card")
    w.found("selected in the source", browser.run(
        "const r = document.querySelector('#quern-source tr.here'), b = r.getBoundingClientRect(); "
        "return [r.querySelector('code').textContent, b.top > 0 && b.bottom < innerHeight]"), [SOURCE.split("\n")[4], True])
    w.end(1)


def walk_callers(browser):
    """Who calls a function, and how often; then the same of the caller, by a key."""
    w = Walk(browser, "Who calls it, how often, and what does a call cost?", made())
    w.click("int sum", ".most")
    w.found("caller", [rows(browser, "#quern-callers")[0][i] for i in (0, 1, 3)], ["1", "600", "600"])
    w.found("its name", texts(browser, "#quern-callers .main")[0], "main")
    w.press("u", "*u*, the most expensive caller")
    w.found("now shown", texts(browser, "#quern-main h2")[0], "main")
    w.found("what it calls", texts(browser, "#quern-callees .main")[:2], ["int sum<…>(…)", "long sum<…>(…)"])
    w.end(2)


def walk_share(browser):
    """How much of the program is in the functions of one name, and where these are in the flame graph."""
    w = Walk(browser, "How much of the program is in all that is called sum?", made())
    w.click("Flame graph", "nav")
    w.press("/", "*/*, search")
    w.press("sum", "*s u m*")
    w.found("said below the picture's name", texts(browser, "#quern-main [role=status]")[0], "2 functions match: 80.0 % of Ir, self")
    w.found("the picture is there", browser.run("return document.querySelector('#quern-main canvas').getBoundingClientRect().height > 50"), True)
    w.press([Keys.ESCAPE], "*Esc*, which ends the search")
    w.end(4)


def walk_recursion(browser):
    """An interpreter: one cycle is most of the program."""
    w = Walk(browser, "Every function has the same inclusive cost: which one is it?", made("recursion", RECURSION))
    w.click("inclusive cost", ".choice")
    w.found("said", texts(browser, ".most .note")[0].split(":")[0],
            "A cycle of 2 functions, which call each other, has 97.6 % of the program")
    w.found("inclusive costs", [(row[0], row[2][:1]) for row in rows(browser, ".most")], [("41", "m"), ("40", "a"), ("35", "b")])
    w.click("self cost", ".choice")
    w.found("own costs", [(row[0], row[2][:1]) for row in rows(browser, ".most")], [("30", "b"), ("10", "a"), ("1", "m")])
    w.end(2)


def walk_change(browser):
    """CI: what made it 20 % more expensive."""
    paths = [os.path.join(FOLDER, name) for name in ("walk.old", "walk.new")]
    for path, cost in zip(paths, (60, 90)):
        with open(path, "w") as f:
            f.write("events: Ir\nfl=screens.c\nfn=main\n12 40\ncfn=f\ncalls=2 5\n12 %d\nfn=f\n5 50\n6 %d\n" % (cost, cost - 50))
    report = os.path.join(FOLDER, "walk.html")
    quern("report", "-I", FOLDER, "--base=" + paths[0], "-o", report, paths[1])
    w = Walk(browser, "The program costs more than yesterday: where?", report)
    w.found("in all", texts(browser, ".tile .change")[0], "+30 (+30.0 %)")
    w.found("largest growth: old, new, difference", browser.run(
        "return [...document.querySelector('.columns table').tBodies[0].rows[0].cells].map((c) => c.textContent).slice(0, 3)"), ["60", "90", "+30"])
    w.click("f", ".columns")
    w.click("Source", "nav")
    w.found("lines with a difference", browser.run(
        "return [...document.querySelectorAll('#quern-source tr')].filter((r) => r.matches(':has([data-q^=\"line:0:2:\"])')).map((r) => "
        "r.querySelector('.main').textContent + ' ' + r.querySelector('[data-q^=\"line:0:2:\"]').textContent).filter((t) => !t.endsWith(' 0'))"),
        ["6 +30"])
    w.end(2)


def walk_phone(browser):
    """A link that was opened on a phone: from the function to what was inlined into it, without the list, and back."""
    size(browser, *SIZES[0])
    w = Walk(browser, "On a phone: what is inlined into main, and what does it cost?", made("nested", NESTED))
    w.click("main", ".most")
    w.click("Source", "nav")
    w.click("Lines of lib.h in main", "#quern-source")
    w.found("lines of lib.h", browser.run("return [...document.querySelectorAll('#quern-source .unfolded')].map((r) => "
                                          "[r.querySelector('.main').textContent, r.cells[0].textContent])"), [["3", "40"], ["7", "2"]])
    w.found("nothing is wider than the page", browser.run("return document.documentElement.scrollWidth"), 390)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    w.end(3)


def check_walks(browser):
    for walk in (walk_hot, walk_callers, walk_share, walk_recursion, walk_change, walk_phone):
        try:
            walk(browser)
        except Exception as e:  # a step that is gone
            test("a walk: " + walk.__doc__.split(":")[0], [type(e).__name__ + ": " + str(e).split("\n")[0]])
    with open(os.path.join(FOLDER, "walks.md"), "w") as f:
        f.write("".join(RECORD))
