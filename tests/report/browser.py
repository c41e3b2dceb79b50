# SPDX-License-Identifier: MIT
"""A real Chromium without a screen and without a network, driven through WebDriver."""
import os
import time

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


class Browser:
    def __init__(self, javascript=True):
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
        if not javascript:
            options.add_experimental_option(
                "prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(60)

    def open(self, path, state="ready", seconds=60):
        """Opens a report and waits until it is loaded; returns its state."""
        self.driver.get("file://" + os.path.abspath(path))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = self.driver.execute_script(
                "return [document.body.dataset.state || '', !!document.querySelector('p.fault')]")
            if now[0] == state or now[1]:
                break
            time.sleep(0.02)
        return now[0]

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
        self.driver.execute_script("location.hash = arguments[0]", fragment)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.driver.execute_script(
                    "return document.body.dataset.view === location.hash && "
                    "!document.querySelector('#quern-main .summary:not([data-done])')"):
                return
            time.sleep(0.01)
        raise RuntimeError("no view %s: %s" % (fragment, self.run(
            "return [document.body.dataset.view, location.hash, document.querySelector('#quern-app').innerText.slice(0, 300)]")))

    def press(self, *keys):
        """Presses keys, one after another."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()

    def settle(self, seconds=20):
        """Waits until the requested state is shown."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.03)
            if self.driver.execute_script("return (document.body.dataset.view || '') === location.hash"):
                return

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
