# SPDX-License-Identifier: MIT
"""Usage: bench.py FOLDER NAME=REPORT...

How long a browser takes to open reports and to do what users do, medians of five, p95 of fifty.
Prints a table; called by make bench-report. It measures and does not judge: the bars are for a
machine with nothing else to do."""
import os
import statistics
import sys


sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402


ACTIONS = {
    "sort by another event": "await quern.ask('sorted', i % n, 0, 0, '', 0)",
    "one key of a filter": "await quern.ask('sorted', 0, 1, 0, 'abcdefghij'[i % 10], 1)",
    "lines of a function": "await quern.ask('lines', i * 7 % funcs, 1)",
    "rows of a screen": "await quern.ask('rows', Uint32Array.from({length: 60}, (_, k) => (i * 60 + k) % funcs))",
}


def action(browser, code):
    return browser.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        (async () => {
            const s = await quern.ask("summary"), n = s.events.length, funcs = s.funcs, times = [];
            for (let i = 0; i < 50; i++) {
                const t = performance.now();
                %s;
                times.push(performance.now() - t);
            }
            return times.sort((a, b) => a - b)[47];
        })().then(done, (e) => done(String(e)));""" % code)


def measure(name, path):
    first, ready = [], []
    for _ in range(5):
        browser = Browser()
        browser.driver.set_script_timeout(600)
        state = browser.open(path, seconds=300)
        if state != "ready":
            print("%s: %s %s" % (name, state, browser.complaints()))
        times = browser.run("return performance.getEntriesByType('mark').map((m) => [m.name, m.startTime])")
        times = dict(times)
        first.append(times.get("quern-first", float("nan")))
        ready.append(times.get("quern-ready", float("nan")))
        if len(first) < 5:
            browser.quit()
    print("%-10s %-24s %8.0f ms" % (name, "first screen", statistics.median(first)))
    print("%-10s %-24s %8.0f ms" % (name, "everything there", statistics.median(ready)))
    for what, code in ACTIONS.items():
        print("%-10s %-24s %8.0f ms" % (name, what, action(browser, code)))
    browser.quit()


def main():
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        measure(name, path)


main()
