# SPDX-License-Identifier: MIT
"""A real Firefox without a screen and without a network, driven through its Marionette: Debian has the browser, but no
geckodriver for WebDriver. The same methods as browser.Browser has."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from browser import Browser

PREFERENCES = {
    "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,  # nobody listens there
    "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "network.dns.disabled": True,
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False, "app.update.disabledForTesting": True,
    "browser.startup.homepage_override.mstone": "ignore", "browser.aboutwelcome.enabled": False,
    "layout.css.prefers-color-scheme.content-override": 1,
}


class Driver:
    """The part of a WebDriver that check.py and axe.py use."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(os.path.join(self.profile, "user.js"), "w") as f:
            for name, value in {**PREFERENCES, "marionette.port": port}.items():
                f.write("user_pref(%s, %s);\n" % (json.dumps(name), json.dumps(value)))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--width", "1400", "--height", "1000", "--marionette", "--remote-allow-system-access",
             "--profile", self.profile], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.profile))
        self.number = 0
        for _ in range(600):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.1)
        self.read()  # reads its greeting
        self.ask("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})
        self.set_script_timeout(60)

    def read(self):
        head = b""
        while not head.endswith(b":"):
            piece = self.socket.recv(1)
            if not piece:
                raise RuntimeError("Firefox is gone")
            head += piece
        left, text = int(head[:-1]), b""
        while len(text) < left:
            text += self.socket.recv(left - len(text))
        return json.loads(text)

    def ask(self, command, parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self.read()
        assert number == self.number
        if error:
            raise RuntimeError("%s: %s" % (error["error"], error["message"]))
        return result

    def run(self, command, script, args, sandbox=None):
        return self.ask(command, {"script": script, "args": list(args), "newSandbox": False, "sandbox": sandbox})["value"]

    def execute_script(self, script, *args):
        return self.run("WebDriver:ExecuteScript", script, args)

    def execute_async_script(self, script, *args):
        return self.run("WebDriver:ExecuteAsyncScript", script, args)

    def inside(self, script, *args):
        """Runs in the browser itself."""
        self.ask("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.execute_script(script, *args)
        finally:
            self.ask("Marionette:SetContext", {"value": "content"})

    def set_script_timeout(self, seconds):
        self.ask("WebDriver:SetTimeouts", {"script": int(seconds * 1000)})

    def get(self, url):
        self.ask("WebDriver:Navigate", {"url": url})

    def back(self):
        self.ask("WebDriver:Back", {})

    def quit(self):
        try:
            self.ask("Marionette:Quit", {"flags": ["eForceQuit"]})
            self.socket.close()
            self.process.wait(30)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Firefox(Browser):
    def __init__(self):
        self.driver = Driver()

    def press(self, *keys):
        for key in keys:
            self.driver.ask("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": [
                {"type": kind, "value": key} for kind in ("keyDown", "keyUp")]}]})
            self.settle()

    def hide(self, hidden):
        pass

    def media(self, theme):
        """Light, dark, or forced colours."""
        self.driver.inside("""Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", arguments[0]);
            Services.prefs.setIntPref("browser.display.document_color_use", arguments[1]);""",
                           0 if theme == "dark" else 1, 2 if theme == "forced colours" else 0)

    def names(self, seconds=10):
        # The tree is built asynchronously: waits until it no longer grows.
        before, now, end = [], self.tree(), time.monotonic() + seconds
        while (len(now) < 5 or now != before) and time.monotonic() < end:
            time.sleep(0.2)
            before, now = now, self.tree()
        return now

    def tree(self):
        return [tuple(pair) for pair in self.driver.run("WebDriver:ExecuteScript", """
            const service = Cc["@mozilla.org/accessibilityService;1"].getService(Ci.nsIAccessibilityService), all = [];
            const roles = { pushbutton: "button" };
            const walk = (at) => {
                const role = service.getStringRole(at.role);
                all.push([roles[role] ?? role, at.name ?? ""]);
                for (let child = at.firstChild; child; child = child.nextSibling) walk(child);
            };
            walk(service.getAccessibleFor(document));
            return all;""", [], "system")]

    def complaints(self):
        """Console messages of pages since the last call."""
        return self.driver.inside("""const said = Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError &&
                /^(file|blob):/.test(m.sourceName)).map((m) => m.errorMessage);
            Services.console.reset();
            return said;""")
