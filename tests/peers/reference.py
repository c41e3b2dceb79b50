# SPDX-License-Identifier: MIT
"""A second reader of Callgrind's files, written from the manual's grammar and for comparison only: slow, strict, and without
any of libquern's code. It reads only the output of Callgrind itself."""

import collections
import re

KIND = {"fl": "fl", "fi": "fl", "fe": "fl", "cfi": "fl", "cfl": "fl", "fn": "fn", "cfn": "fn", "ob": "ob", "cob": "ob"}
NUMBERED = re.compile(r"\((\d+)\)(?: (.*))?\Z")
LINE = re.compile(r"(\w+)([:=]) ?(.*)\Z")


class Profile:
    """The contents of a file, summed over its parts. A function is (object, name): where a callee's file is left out, readers differ."""

    def __init__(self):
        self.events = None
        self.declared = collections.Counter()  # totals: lines, by event
        self.total = collections.Counter()
        self.function = {}  # (object, name): costs by event
        self.line = {}  # (object, name, file, line): the same
        self.edge = {}  # (caller, callee): calls, then costs
        self.active_calls = 0  # records with calls=0
        self.parts = 0

    def self_and_calls(self, name):
        """Inclusive cost of the functions of this name, which do not reach themselves."""
        own = [v for (_, function), v in self.function.items() if function == name]
        calls = [v[1:] for ((_, caller), _), v in self.edge.items() if caller == name]
        return [sum(column) for column in zip(*own, *calls)]


def add(table, key, values):
    old = table.setdefault(key, [0] * len(values))
    for i, v in enumerate(values):
        old[i] += v


class Reader:
    def __init__(self):
        self.profile = Profile()
        self.new_part()

    def new_part(self):
        """Ids stay: the parts of a dump's threads share them, the next dump defines them again."""
        self.at = None
        self.place = {"fl": "", "fn": "", "ob": ""}
        self.callee = {}
        self.calls = None
        self.jump = False

    def name(self, kind, text):
        m = NUMBERED.match(text) if text[:1] == "(" else None
        if m and m[2] is not None:
            self.ids[kind][m[1]] = m[2]
        name = self.ids[kind][m[1]] if m else text
        return "" if name == "???" else name

    def positions(self, words):
        now = []
        for word, last in zip(words, self.at or [0] * len(self.columns)):
            if word == "*":
                now.append(last)
            elif word[0] in "+-":
                now.append(last + int(word, 0))
            else:
                now.append(int(word, 0))
        self.at = now
        return now

    def cost(self, words):
        n = len(self.columns)
        at = self.positions(words[:n])
        if self.jump:  # the line behind a jump has a place only
            assert len(words) == n
            self.jump = False
            return
        costs = [int(w) for w in words[n:]]
        costs += [0] * (len(self.profile.events) - len(costs))
        p = self.profile
        function = (self.place["ob"], self.place["fn"])
        if self.calls is None:
            add(p.function, function, costs)
            add(p.line, (*function, self.place["fl"], at[self.columns.index("line")]), costs)
            for event, v in zip(p.events, costs):
                p.total[event] += v
            return
        callee = (self.callee.get("ob", self.place["ob"]), self.callee["fn"])
        add(p.edge, (function, callee), [self.calls] + costs)
        p.function.setdefault(callee, [0] * len(p.events))
        self.calls = None
        self.callee = {}

    def header(self, key, value):
        p = self.profile
        if key == "events":
            assert p.events in (None, value.split())
            p.events = value.split()
        elif key == "positions":
            self.columns = value.split()
        elif key == "part":
            self.new_part()
            p.parts += 1
        elif key == "totals":
            for event, v in zip(p.events, value.split()):
                p.declared[event] += int(v)

    def read(self, path):
        self.columns = ["line"]
        self.ids = {"fl": {}, "fn": {}, "ob": {}}
        self.new_part()
        for line in open(path, encoding="utf-8"):
            line = line.rstrip("\n")
            if not line or line[0] == "#":
                continue
            if line[0] in "0123456789+-*":
                self.cost(line.split())
                continue
            key, sign, value = LINE.match(line).groups()
            if sign == ":":
                self.header(key, value)
            elif key == "calls":
                self.calls = int(value.split()[0])
                self.profile.active_calls += self.calls == 0
            elif key in ("jump", "jcnd"):
                self.jump = True
            elif key in ("jfi", "jfn"):  # in no manual; they define ids
                self.name(key[1:].replace("fi", "fl"), value)
            elif key in KIND:
                target = self.callee if key[0] == "c" else self.place
                target[KIND[key]] = self.name(KIND[key], value)


def read(paths):
    reader = Reader()
    for path in paths:
        reader.read(path)
    return reader.profile
