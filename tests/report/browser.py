# SPDX-License-Identifier: MIT
"""A real Chromium without a screen and without a network, driven through WebDriver."""
import os
import time

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

# The script of Browser.until(): its time in seconds, and the values of `args`.
UNTIL = """const done = arguments[arguments.length - 1], args = [...arguments].slice(1, -1), end = performance.now() + 1000 * arguments[0];
const look = async () => {
    const is = %s;
    if (is || performance.now() > end) done(!!is); else setTimeout(look, 5);
};
void look();"""


class Browser:
    def __init__(self):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new",
            "--disable-gpu",
            # Pages left behind are not kept, and the next one is in the same process, as is what draws.
            "--in-process-gpu",
            "--disable-features=BackForwardCache,ProactivelySwapBrowsingInstance,SpareRendererForSitePerProcess",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",  # no host name resolves
            "--window-size=1400,1000",
        ):
            options.add_argument(argument)
        if os.getuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(60)

    def until(self, condition, *args, seconds=20):
        """Waits until an expression is true in the page, which looks by itself: less work than a question from here each time. Whether
        it was."""
        end = time.monotonic() + seconds
        while True:
            if self.driver.execute_async_script(UNTIL % condition, min(20, seconds), *args):
                return True
            if time.monotonic() > end:
                return False

    def open(self, path, state="ready", seconds=60):
        """Opens a report and waits until it is loaded; returns its state."""
        self.driver.get("file://" + os.path.abspath(path))
        self.until("document.body.dataset.state === args[0] || document.querySelector('p.fault')", state, seconds=seconds)
        return self.run("return document.body.dataset.state || ''")

    def ask(self, method, *args):
        """The answer of the report's worker; bigints as text."""
        import json
        text = self.driver.execute_async_script(
            """const done = arguments[arguments.length - 1];
            quern.ask(...arguments[0]).then(
                (v) => done(JSON.stringify(v, (k, x) => typeof x === "bigint" ? x.toString() : x)),
                (e) => done(JSON.stringify({fault: e.message})));""", [method, *args])
        return json.loads(text)

    def view(self, fragment, seconds=20):
        """Goes to a state of the page and waits until it is shown."""
        if not self.until("(args[0] !== null && ([location.hash, args[0]] = [args[0], null]), document.body.dataset.view === location.hash && "
                          "!document.querySelector('#quern-main .summary:not([data-done])'))", fragment, seconds=seconds):
            raise RuntimeError("no view %s: %s" % (fragment, self.run(
                "return [document.body.dataset.view, location.hash, document.querySelector('#quern-app').innerText.slice(0, 300)]")))

    def press(self, *keys):
        """Presses keys, one after another."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()

    def settle(self, seconds=20):
        """Waits until the requested state is shown."""
        time.sleep(0.03)
        self.until("(document.body.dataset.view || '') === location.hash", seconds=seconds)

    def quiet(self):
        """Waits until the requested state is shown, and for what comes behind it: until the page, four times in a row, has drawn and
        still waits for no answer of its worker."""
        self.until("(args[0] = (document.body.dataset.view || '') === location.hash && !quern.waiting.size ? (args[0] ?? 0) + 1 : 0) > 3 || "
                   "void await new Promise(requestAnimationFrame)")

    def hide(self, hidden):
        """Nothing is drawn while the window is hidden: a third of the work, where only texts are read."""
        if hidden:
            self.driver.minimize_window()
        else:
            self.driver.set_window_size(1400, 1000)

    def names(self):
        """The accessibility tree, as a screen reader gets it: role and name of every node that is not ignored."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree["nodes"] if not n.get("ignored")]

    def media(self, theme):
        """Light, dark, or forced colours."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "forced-colors", "value": "active" if theme == "forced colours" else "none"},
            {"name": "prefers-color-scheme", "value": "dark" if theme == "dark" else "light"}]})

    def run(self, script):
        return self.driver.execute_script(script)

    def complaints(self):
        """Console messages since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def quit(self):
        self.driver.quit()
