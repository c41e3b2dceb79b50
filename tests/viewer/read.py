#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Reads what a running KCachegrind shows, over the accessibility bus, and prints it as JSON. tests/viewer/check
starts the viewer and calls this; nothing here knows what the numbers should be.

Usage: read.py [FUNCTION [CODE...]]

parts: number of parts loaded; totals: [name shown, total] of each event type, each chosen in turn from the menu
View > Primary Event Type; functions: [inclusive, self, called, name, object: files] by the first event type;
callees: [inclusive, count, name and object] of FUNCTION, when one is named, and of_parts: [name, inclusive, self,
called] of it in each part, when there are several; code: for each function CODE the rows of its machine code as
they are shown. Ends with status 3 when no application is on the bus: one that registers while the bus is busy is
never seen there, and must be started again.
"""
import json
import os
import re
import sys
import time
import warnings

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

warnings.simplefilter("ignore", DeprecationWarning)
PATIENCE = 15  # seconds for anything to appear
NOBODY = 3
TRIES = "QUERN_READ_TRIES"


def children(node):
    for i in range(node.get_child_count()):
        child = node.get_child_at_index(i)
        if child is not None:
            yield child


def find_all(node, want, deep=True):
    """Nodes that `want` likes, outermost first; trees have thousands of cells and are not entered."""
    found = []
    todo = [node]
    while todo:
        n = todo.pop(0)
        if want(n):
            found.append(n)
        if deep and n.get_role_name() != "tree":
            todo.extend(children(n))
    return found


def start_again():
    """A client that connects at the same time as the application never sees its contents: a new process does."""
    if Atspi.get_desktop(0).get_child_count() == 0:
        sys.exit(NOBODY)
    tries = int(os.environ.get(TRIES, "0"))
    if tries < 5:
        os.environ[TRIES] = str(tries + 1)
        os.execv(sys.executable, [sys.executable] + sys.argv)


def wait_for(what, ask, otherwise=None):
    end = time.monotonic() + (3 if otherwise else PATIENCE)
    while time.monotonic() < end:
        try:
            answer = ask()
        except Exception:  # a window that closes during the read
            answer = None
            answer = None
        if answer:
            return answer
        time.sleep(0.1)
    if otherwise:
        otherwise()
    sys.exit("read.py: %s did not appear" % what)


def role_name(node):
    return node.get_role_name(), node.get_name()


def status():
    """'file [parts] - Total Instruction Fetch Cost: 574 378' -> (parts, event, total)"""
    for label in find_all(Atspi.get_desktop(0), lambda n: n.get_role_name() == "label"):
        m = re.match(r".* \[(?:\d+-)?(\d+)\] - Total (.*) Cost: ([\d\s,.]+)$", label.get_name())
        if m:
            return int(m.group(1)), m.group(2), number(m.group(3))
    return None


def number(text):
    return int(re.sub(r"[^\d-]", "", text))


def press(node):
    Atspi.Action.do_action(node, 0)


def menu(*path):
    node = find_all(Atspi.get_desktop(0), lambda n: n.get_role_name() == "menu bar")[0]
    for name in path:
        node = [n for n in find_all(node, lambda n: role_name(n) == ("menu item", name))][0]
    return node


def rows(tree):
    """A tree is its headings, then its cells, row by row."""
    cells = list(children(tree))
    width = sum(c.get_role_name() == "table column header" for c in cells)
    cells = cells[width:]
    return [cells[i : i + width] for i in range(0, len(cells), width)]


def tree_with(heading):
    for tree in find_all(Atspi.get_desktop(0), lambda n: n.get_role_name() == "tree"):
        if any(
            role_name(c) == ("table column header", heading) for c, _ in zip(children(tree), range(8))
        ):
            return tree
    return None


def texts(row):
    return [cell.get_name() for cell in row]


def select(cell):
    """Clicks on a function's name, and waits until the panes show it."""
    name = cell.get_name()
    box = Atspi.Component.get_extents(cell, Atspi.CoordType.SCREEN)
    Atspi.generate_mouse_event(box.x + 5, box.y + box.height // 2, "b1c")
    wait_for(
        "the panes of " + name,
        lambda: find_all(Atspi.get_desktop(0), lambda n: role_name(n) == ("label", name)),
    )


def open_tab(name):
    press(find_all(Atspi.get_desktop(0), lambda n: role_name(n) == ("page tab", name))[0])


def pane(what, heading, before=None):
    """The rows of a pane, when they are stable for a moment and differ from `before`."""

    def ask():
        return [texts(row) for row in rows(tree_with(heading))]

    def settled():
        first = ask()
        if not first or first == before:
            return None
        time.sleep(0.3)
        return first if ask() == first else None

    return wait_for(what, settled)


def main():
    Atspi.init()
    parts, _, _ = wait_for("a loaded profile", status, start_again)
    events = wait_for(
        "the menu of event types",
        lambda: [
            n.get_name()
            for n in find_all(
                menu("View", "Primary Event Type"), lambda n: n.get_role_name() == "menu item"
            )[1:]
        ],
    )
    totals = []
    for event in events:
        press(menu("View", "Primary Event Type", event))
        totals.append([event, wait_for(event, lambda: (status() or (0, "", 0))[1] == event and status())[2]])
    press(menu("View", "Primary Event Type", events[0]))
    wait_for(events[0], lambda: status()[1] == events[0])
    table = wait_for("the list of functions", lambda: rows(tree_with("Location")))
    functions = []
    names = {}
    for row in table:
        incl, self_, called, name, location = texts(row)
        functions.append([number(incl), number(self_), number(called) if called[:1] != "(" else 0, name, location])
        names.setdefault(name, row[3])
    callees, of_parts, code = [], [], {}
    wanted = (sys.argv[1:] or [None])[0]
    if wanted in names:
        select(names[wanted])
        for t in pane("callees of " + wanted, "Callee"):
            callees.append([number(t[0]), number(t[-2]), t[-1]])
        if parts > 1:
            open_tab("Parts")
            for t in pane("parts of " + wanted, "Profile Part"):
                of_parts.append([t[0]] + [number(cell) if cell != "-" else 0 for cell in t[1:4]])
    if sys.argv[2:]:
        open_tab("Machine Code")
    shown = None
    for name in sys.argv[2:]:
        select(names[name])
        shown = pane("machine code of " + name, "Hex", shown)
        code[name] = shown
    json.dump(
        {
            "parts": parts,
            "totals": totals,
            "functions": functions,
            "callees": callees,
            "of_parts": of_parts,
            "code": code,
        },
        sys.stdout,
    )


main()
