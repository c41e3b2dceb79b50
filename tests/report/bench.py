# SPDX-License-Identifier: MIT
"""Usage: bench.py FOLDER NAME=REPORT...

How long a browser takes to open reports and for typical actions, medians of five, p95 of fifty.
Prints a table, with the bars beside (must / goal), and leaves a picture of each view in FOLDER; called by make bench-report. It
measures without a verdict: the bars are for an idle machine."""
import glob
import os
import statistics
import sys


sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402


# Actions of users: another state of the page, until it is shown. `i` counts, `hash(f)` is a function's.
STATES = {
    "sort": "v=functions&s=-self.0.${names[i % names.length]}",
    "one key of a filter": "v=functions&q=${'abcdefghij'[i % 10]}",
    "other event": "v=functions&e=${names[i % names.length]}",
    "function": "v=function&f=${hash(i * 7)}",
    "source": "v=source&f=${hash(i * 7)}&w=${files[i % files.length]}",
    "assembly": "v=assembly&f=${hash(i * 7)}",
    "call graph, 200 nodes": "v=graph&f=${hash(i)}&l=200&ln=0&up=10&dn=10",
    "call graph in frames": "v=graph&f=${hash(i)}&l=200&ln=0&up=10&dn=10&cl=file",
    "flame graph": "v=flame&k=sandwich&f=${hash(i)}",
    "flame graph of all": "v=flame&e=${names[i % names.length]}",
    "treemap": "v=treemap&e=${names[i % names.length]}",
}


# The measurements, and the bars for cc1 and Big: must, goal.
BARS = {
    "first screen": ((500, 250), (1000, 500)),
    "every function searched": ((1000, 500), (2000, 1000)),
    "sort": ((100, 50), (400, 150)), "one key of a filter": ((100, 50), (400, 150)), "other event": ((100, 50), (400, 150)),
    "function": ((150, 80), (250, 100)), "source": ((150, 80), (250, 100)), "assembly": ((150, 80), (250, 100)),
    "call graph, 200 nodes": ((200, 100), (300, 150)),
    "frame, panning flame": ((33, 16.7), (33, 16.7)), "frame, panning sandwich": ((33, 16.7), (33, 16.7)),
    "frame, panning treemap": ((33, 16.7), (33, 16.7)),
    "memory of the tab": ((300, 150), (2000, 1000)),
}


def say(name, what, value, unit="ms"):
    bars = BARS.get(what)
    print("%-6s %-24s %8.1f %s%s" % (name, what, value, unit, "   must %g, goal %g" % bars[name == "big"] if bars else ""))
    sys.stdout.flush()


def memory(browser):
    """Megabytes of the largest process that shows a page, shared ones in parts."""
    tree, todo, most = [], [browser.driver.service.process.pid], 0
    while todo:
        pid = todo.pop()
        tree.append(pid)
        for path in glob.glob("/proc/%d/task/*/children" % pid):
            with open(path) as f:
                todo += map(int, f.read().split())
    for pid in tree:
        with open("/proc/%d/cmdline" % pid) as f:
            if "--type=renderer" not in f.read():
                continue
        with open("/proc/%d/smaps_rollup" % pid) as f:
            most = max(most, next(int(line.split()[1]) for line in f if line.startswith("Pss:")) * 1024 / 1e6)
    return most


def action(browser, state):
    """p95 of 50, milliseconds from the change of the address to the frame that shows it."""
    return browser.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        (async () => {
            const s = await quern.ask("summary"), names = s.events.filter((e) => e.total.length).map((e) => encodeURIComponent(e.name));
            const order = await quern.ask("sorted", s.order, 1, 0, "", 0), top = await quern.ask("names", order.slice(0, 400));
            const hash = (f) => top[f %% top.length].hash, times = [];
            const files = [...new Set(top.map((n) => n.file).filter(Boolean))].map(encodeURIComponent);
            if (!files.length) files.push("x");
            for (let i = 0; i < 50; i++) {
                // Chromium ignores what is above 200 changes of the address in 10 seconds.
                await new Promise((r) => setTimeout(r, 60));
                const to = "#" + `%s`, before = location.hash, t = performance.now();
                location.hash = to;
                if (location.hash === before && to !== before) throw new Error("the address did not change");
                while ((document.body.dataset.view || "") !== location.hash) await new Promise((r) => requestAnimationFrame(r));
                times.push(performance.now() - t);
            }
            return times.sort((a, b) => a - b)[47];
        })().then(done, (e) => done(String(e)));""" % state)


FRAMES = """const done = arguments[arguments.length - 1], hold = document.querySelector('.hold'), times = [];
    let last = 0, n = 0;
    const event = (type, x) => hold.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: 400, buttons: 1, bubbles: true }));
    document.querySelector('.picture button').click();
    event('pointerdown', 700);
    const frame = (now) => {
        if (last) times.push(now - last);
        last = now;
        event('pointermove', 700 - n * 3);
        if (++n < 120) requestAnimationFrame(frame);
        else done(times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]);
    };
    requestAnimationFrame(frame);"""


# The text that is typed into the search when the file is opened: the functions shown are those that contain it.
SEARCH = "#v=functions&q=_9"


def opened(name, path):
    """A browser with the report, and milliseconds: the first screen, all functions and calls, and lines and sources."""
    browser = Browser()
    browser.driver.set_script_timeout(600)
    state = browser.open(path, seconds=300)
    if state != "ready":
        print("%s: %s %s" % (name, state, browser.complaints()))
    rest = browser.driver.execute_async_script(
        "const done = arguments[0]; quern.ask('fileOf', 'x').then(() => done(performance.now()), (e) => done(String(e)));")
    times = dict(browser.run("return performance.getEntriesByType('mark').map((m) => [m.name, m.startTime])"))
    ready = times.get("quern-ready", float("nan"))
    return browser, [times.get("quern-first", ready), ready, rest]  # a small report may have all of it at first


def measure(folder, name, path):
    times, search = [], []
    for _ in range(5):
        browser, [_, ready, _] = opened(name, path + SEARCH)
        search.append(ready)
        browser.quit()
        browser, some = opened(name, path)
        times.append(some)
        if len(times) < 5:
            browser.quit()
    first, ready, rest = [statistics.median(t) for t in zip(*times)]
    say(name, "first screen", first)
    say(name, "every function searched", statistics.median(search))
    say(name, "summary of everything", ready)
    say(name, "lines and sources there", rest)
    say(name, "memory of the tab", memory(browser), "MB")
    addresses = browser.ask("summary")["has"] & 2
    for what, state in STATES.items():
        if what == "assembly" and not addresses:
            continue
        say(name, what, action(browser, state))
        browser.driver.save_screenshot(os.path.join(folder, "%s, %s.png" % (name, what)))
    for view, state in (("flame", "v=flame"), ("sandwich", "v=flame&k=sandwich&f=" + browser.ask("name", 0)["hash"]),
                        ("treemap", "v=treemap")):
        browser.view(state, seconds=120)
        say(name, "frame, panning " + view, browser.driver.execute_async_script(FRAMES))
    say(name, "memory, after all that", memory(browser), "MB")
    browser.quit()


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        measure(sys.argv[1], name, path)


if __name__ == "__main__":
    main()
