# SPDX-License-Identifier: MIT
"""Usage: check.py QUERN QUERN-ASAN FOLDER EXAMPLE [--write]

`quern top` in a pseudo-terminal. Screens of profiles of tests/golden are compared as a whole with
the files of tests/top/expect, whose numbers are those worked out by hand in tests/golden/README.md;
those of a real program (EXAMPLE, compiled from bench/example.c) with `quern convert`, `annotate`
and `diff`. Then terminals of all kinds, signals, bad input, and keys at random under
AddressSanitizer. --write makes the files of screens again, for review. Prints TAP; called by
make check-top, from the root of the tree."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "report"))
from profiles import CYCLES, data_profiles  # noqa: E402
from screen import Terminal  # noqa: E402

QUERN, ASAN, FOLDER, EXAMPLE = (os.path.abspath(path) for path in sys.argv[1:5])
WRITE = "--write" in sys.argv
GOLDEN = os.path.abspath("tests/golden")
EXPECT = os.path.abspath("tests/top/expect")
MANUAL = os.path.abspath("docs/man/quern-top.1")
SOURCE = os.path.abspath("bench/example.c")
UP, DOWN, HOME, END, NEXT = "\033[A", "\033[B", "\033[1~", "\033[4~", "\033[6~"
tests = failures = 0


def test(name, faults):
    global tests, failures
    tests += 1
    print(("not ok" if faults else "ok"), tests, "-", name)
    for fault in faults[:5]:
        for line in str(fault)[:4000].splitlines():
            print("#", line)
    failures += bool(faults)
    sys.stdout.flush()


def start(*args, program=QUERN, **more):
    return Terminal([program, "top", *args], **more)


def run(*args):
    done = subprocess.run([QUERN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def ready(t):
    return t.wait(lambda text: "q quit" in text or "columns and 20 lines" in text)


def leave(t, faults):
    """Presses q, once more in the keys: status 0; the terminal's modes, its first screen and the cursor are restored."""
    t.press("qq" if "these keys" in t.text() else "q")
    status = t.finish()
    if status != 0:
        faults.append("status %s\n%s" % (status, t.text()))
    if not t.sane():
        faults.append("the terminal's settings are others")
    t.close()


# ---- Screens ----

def named(keys):
    for code, name in ((UP, "Up"), (DOWN, "Down"), (HOME, "Home"), (END, "End"), (NEXT, "Page down"), ("\r", "Enter"),
                       ("\x7f", "Backspace"), ("\033", "Esc")):
        keys = keys.replace(code, " " + name + " ")
    return "Space" if keys == " " else " ".join(keys.split())


def screens(name, args, steps, rows=24, columns=80, **more):
    """The first screen and those after each of the steps (keys) are those of expect/NAME."""
    path = os.path.join(EXPECT, name)
    parts = []
    if not WRITE:
        with open(path, encoding="utf-8") as f:
            parts = re.split(r"^==== .*\n", f.read(), flags=re.M)[1:]
    faults, out = [], []
    t = start(*args, rows=rows, columns=columns, **more)
    for i, keys in enumerate([None, *steps]):
        if keys:
            t.press(keys)
        if WRITE:
            ready(t)
            while t.read(0.5):
                pass
            out.append("==== %s\n%s" % (named(keys) if keys else "start", t.text()))
        elif not t.wait(lambda text: text == parts[i]):
            faults.append("after %s:\n%swanted:\n%s" % (named(keys) if keys else "the start", t.text(), parts[i]))
            break
    if not WRITE and len(parts) != len(steps) + 1:
        faults.append("%d screens are expected, %d made" % (len(parts), len(steps) + 1))
    leave(t, faults)
    if WRITE:
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(out))
    test("screens: " + name, faults)


def write(name, text):
    with open(name, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)


def golden_screens():
    os.chdir(GOLDEN)
    # 820 Instructions: main 20, func1 100, func2 700, of which 400 for main and 300 for func1.
    screens("calls", ["calls.callgrind"],
            ["\r", DOWN, "u", "c", "3", "\x7f", "\x7f", "\x7f", "\x7f", "i", "s", "s", "S", "4", "1"])
    # Cycles 110 Instructions 26 Flops 2; no calls.
    screens("simple", ["simple.callgrind"], ["e", "e", "E", "4", "\r", "\r", "2", "i"])
    screens("huge-counts", ["huge-counts.callgrind"], ["\r"])
    # Derived events: Sum = 10 + 2 * 3, Half = 0.5 * 3.
    # The shown event is the selected one.
    screens("event-names", ["event-names.callgrind"], ["4", DOWN, DOWN, DOWN, "\r", "4"])
    screens("groups", ["calls.callgrind"], ["g", "\r", "g", "g", "\r", DOWN, "3", "1", "g", "g", "g"])
    # In another order the same function is selected.
    screens("selected", ["calls.callgrind"], [END, "S"])
    # A file group leads to its lines.
    screens("group-source", ["calls.callgrind"], ["gg", "g", "3"])
    screens("filter", ["calls.callgrind"],
            ["/func\r", "/!func\r", "/file:1\r", "/\r", "/nothing\r", "\033", "h", "h", "\033", "\033",
             "/" + "/^f.*[12]$/" + "\r", "/" + "/(/" + "\r", "\033", DOWN + DOWN + "f", "\033"])
    screens("help", ["calls.callgrind"], ["?", " ", "\033"])
    screens("wide", ["calls.callgrind"], ["\r", "3", "?"], rows=60, columns=200)
    screens("names", ["latin1.callgrind"], [])
    screens("fraction", ["pprofile.callgrind"], ["4"])
    screens("negative", ["diff.cachegrind"], [])


def made_screens():
    folder = os.path.join(FOLDER, "made")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "old"))
    os.makedirs(os.path.join(folder, "new"))
    os.chdir(folder)
    head = "# callgrind format\nevents: Ir Dr\n"
    # f grew from 10 to 25 and calls g three times instead of twice; gone is only in the old one.
    write("old.out", head + "fl=a.c\nfn=f\n2 10 1\ncfn=g\ncalls=2 6\n2 40 4\nfn=g\n6 40 4\nfn=gone\n9 7 0\n")
    write("new.out", head + "fl=a.c\nfn=f\n3 25 1\ncfn=g\ncalls=3 7\n3 60 6\nfn=g\n7 60 6\nfn=fresh\n10 1 0\n")
    write("old/a.c", "void f(void) {\n    g();\n}\n\nvoid g(void) {\n    x();\n}\n\nvoid gone(void) {}\n")
    write("new/a.c", "// f and g\nvoid f(void) {\n    g();\n}\n\nvoid g(void) {\n    x();\n}\n\nvoid fresh(void) {}\n")
    for name in ("old/a.c", "new/a.c"):
        os.utime(name, (1, 1))
    screens("base", ["--base=old.out", "--old-include=old", "--new-include=new", "new.out"],
            ["i", "s", "i", ">", "<", "\r", "3", "m", "4", "1"])
    # Of groups as well: 57 of the old and 86 of the new one.
    screens("base-groups", ["--base=old.out", "new.out"], ["i", "g"])
    # Estimated cycles, with the cause that weighs most: of 1,610 of walk 1,100 wait for data. Beside other events there is none.
    for side, text in CYCLES.items():
        write("cycles." + side, text)
    os.makedirs("src")
    write("src/a.c", "".join("line %d;\n" % i for i in range(1, 10)))
    os.utime("src/a.c", (1, 1))
    screens("cycles", ["-I", ".", "cycles.new"], ["s", "s", "s", "\r", "3", "1g", "g", "e"])
    # With a base the cause that changed most.
    screens("cycles-base", ["-I", ".", "--base=cycles.old", "cycles.new"], ["i", "\r", "3"])
    # Objects of the data, with their walks; the functions that miss, and one of each. Other numbers than in the old one: of matrix.
    data_profiles(".")
    data_profiles("before", old=True)
    screens("data", ["data.out.7"], [DOWN, "e" + "\r", "1i", "\r", "3", "1i/stack\r"], columns=150)
    screens("data-base", ["--base=before/data.out.7", "data.out.7"], ["\r"], columns=110)
    # Lines that threads share: of matrix two pairs, that with most first; of the list one, with it.
    with open("data.out.7") as f:
        text = f.read()
    matrix, block = "static: matrix\t???", "heap: build (list.c:8) < main (grid.c:20)\t/src/list.c"
    pairs = ("desc: Sharing order: serialized\n"
             f"desc: Sharing: true\t2\t3\t{matrix}\t+8\treads\tby_rows\t/src/grid.c:14\t{block}\t\twrites\tbuild\t/src/list.c:8\n"
             f"desc: Sharing: false\t1998\t1900000\t{matrix}\tcells[].head\twrites\tby_rows\t/src/grid.c:15\t"
             f"{matrix}\t+64\twrites\tby_columns\t/src/grid.c:12\n")
    write("shared.out", text.replace("positions:", pairs + "positions:", 1))
    screens("shared", ["shared.out"], ["\r", "1" + DOWN + "\r", "1i\r"], columns=150)
    # in an order that depends on timing
    write("timing.out", text.replace("positions:", pairs.replace("serialized", "depends on timing") + "positions:", 1))
    screens("shared-timing", ["timing.out"], [], columns=150)
    # A cycle: a and b call each other; templates; a file in folders.
    write("cycle.out", head + "ob=prog\nfl=src/x/a.cc\nfn=n::a<std::vector<int> >(int)\n1 5 0\ncfn=n::m::b()\ncalls=2 9\n"
          "1 30 0\nfn=n::m::b()\n9 10 0\ncfn=n::a<std::vector<int> >(int)\ncalls=1 1\n9 20 0\nfn=main\n20 1 0\n"
          "cfn=n::a<std::vector<int> >(int)\ncalls=1 1\n20 15 0\n")
    screens("cycle", ["cycle.out"], ["r", "r", "g", "g", "g", "g", "\r", DOWN + "\r", "g", "\r"])
    # The third of three rows is selected; without cycles there is no such row, and one row that says so.
    screens("cycle-last", ["cycle.out"], ["ggggg", "\r" + END, "r"])
    # Text that would move the cursor, ring, or change the direction; bad UTF-8; wide characters; only blanks.
    write("hostile.out", head + "fl=a\033[2Jb.c\nfn=\033]0;title\a\033[31mred\n1 9 0\nfn=\u202eturned\u2066\n2 8 0\n"
          "fn=bad\udcff\udcc3bytes\n3 7 0\nfn=\u6f22\u5b57" + "\u6f22" * 60 + "\n4 6 0\nfn=" + "x" * 300 + "\n5 5 0\n")
    screens("hostile", ["hostile.out"], [DOWN, DOWN, DOWN, DOWN])
    screens("ascii", ["hostile.out"], [], env={"LC_ALL": "C"})
    # A source that is newer than the profile, with tabs, control characters and no newline at its end.
    write("odd.out", head + "fl=odd.c\nfn=f\n0 1 0\n2 9 0\n7 2 0\n99999999999 3 0\n")
    write("odd.c", "\tint a;\n\t\tf(\033[1m\");\r\nlast")
    os.utime("odd.out", (1000, 1000))
    screens("odd", ["odd.out"], ["\r", "/int\r", "/nowhere\r"])


# ---- A real program ----

def table(t):
    """The rows of the table on the screen, below its header."""
    return t.lines()[3:-2]


def all_rows(t):
    """Every row of the view, screen by screen."""
    count = int(re.search(r"/(\d+)$", t.lines()[-1]).group(1))
    page = len(table(t))
    rows = [row for row in table(t) if row]
    while len(rows) < count:
        at = int(re.search(r"(\d+)/\d+$", t.lines()[-1]).group(1))
        t.press(NEXT)
        want = min(at + page, count)
        if not t.wait(lambda text, want=want: text.rstrip().endswith(" %d/%d" % (want, count))):
            break
        rows += [row for row in table(t) if row][-(min(page, count - len(rows))):]
    return rows


def number(text):
    return int(text.replace(",", ""))


def clean(name):
    out, depth = "", 0
    if not re.search(r"operator", name):
        for c in name:
            if c == "<":
                out += "<\u2026>" if depth == 0 else ""
                depth += 1
            elif c == ">" and depth:
                depth -= 1
            elif depth == 0:
                out += c
        return out if depth == 0 else name
    return name


def functions_of(profile, event):
    """By name, file and object: inclusive, self, called; sums where they are the same on the screen."""
    rows = {}
    for f in profile["functions"]:
        where = [os.path.basename(f[field] or "") for field in ("file", "object")]
        key = clean(f["name"] or "???") + ("  (" + ", ".join(filter(None, where)) + ")" if any(where) else "")
        rows.setdefault(key, []).append((f["inclusive"][event], f["self"][event], f["called"]))
    return {key: sorted(values) for key, values in rows.items()}


def real_functions():
    os.chdir(os.path.join(FOLDER, "real"))
    _, text, _ = run("convert", "--to=json", "new.out")
    profile = json.loads(text)
    events = [e["name"] for e in profile["events"] if not e["formula"]]
    t = start("--include=" + os.path.dirname(SOURCE), "new.out", rows=200, columns=200)
    for e, event in enumerate(events):
        faults = []
        if e:
            t.press(HOME + "e")
        if not t.wait(lambda text: re.search(r" %s %s$" % (event, "{:,}".format(profile["totals"][e])),
                                             text.splitlines()[0]) and "q quit" in text
                      and re.search(r" 1/\d+$", text.rstrip())):
            faults.append("no screen of %s:\n%s" % (event, t.text()))
        wanted, got = functions_of(profile, e), {}
        last = None
        for row in [] if faults else all_rows(t):
            m = re.match(r" *([\d,]+) +\S*% +([\d,]+) +\S*% +([\d,]+)  (.*)$", row) or \
                re.match(r" *([\d,]+) +([\d,]+) +([\d,]+)  (.*)$", row)
            if not m:
                faults.append("no row: " + row)
                break
            values = tuple(number(m.group(i)) for i in (1, 2, 3))
            if last is not None and values[0] > last:
                faults.append("not sorted: " + row)
            last = values[0]
            name = re.sub(r" \[cycle \d+\]", "", m.group(4))
            got.setdefault(name, []).append(values)
        if not faults:
            for name in sorted(set(wanted) | set(got)):
                if sorted(got.get(name, [])) != wanted.get(name):
                    faults.append("%s: %s, convert says %s" % (name, got.get(name), wanted.get(name)))
            if len(wanted) < 50:
                faults.append("only %d functions" % len(wanted))
        test("every function of a real program as convert says: " + event, faults)
    leave(t, [])


def real_source():
    """The source of example.c: each line and each call as `quern annotate` lists it."""
    os.chdir(os.path.join(FOLDER, "real"))
    _, text, _ = run("annotate", "--threshold=100", "--show-percs=no", "--context=1000", "--show=Ir",
                     "--include=" + os.path.dirname(SOURCE), "new.out", SOURCE)
    wanted, inside = [], False
    for line in text.splitlines():
        inside = (inside or line.startswith("-- User-annotated source")) and not (inside and line == "-" * 80 and wanted)
        m = re.match(r" *([\d,]+|\.)  (.*)$", line)
        if inside and m and not (m.group(1) == "." and not wanted and not m.group(2)):
            wanted.append((m.group(1).replace(".", ""), m.group(2).rstrip()))
    faults, got = [], []
    t = start("--include=" + os.path.dirname(SOURCE), "new.out", rows=150, columns=200)
    ready(t)
    t.press("/main\r")
    t.wait(lambda text: "filter main" in text.splitlines()[1])
    t.press("/" + "/^main$/" + "\r")
    t.wait(lambda text: "Functions: 1 of" in text)
    t.press("3")
    if not t.wait(lambda text: "Source: " in text and "example.c" in text):
        faults.append(t.text())
    for row in all_rows(t):
        m = re.match(r" *(?:([\d,]+) +\S+% )? *(?:\d+(?: [ .:+#](?: (.*))?)?|-> (\S+)  \(([\d,]+x)\))$", row)
        nowhere = re.match(r" *([\d,]+) +\S+% +- [ .:+#] \(no line\)$", row) # of clang
        if nowhere:
            got.append((nowhere.group(1), "=> (no line)"))
        elif not m:
            faults.append("no row: " + row)
        elif m.group(3):
            got.append((m.group(1), "=> %s (%s)" % m.group(3, 4)))
        else:
            got.append((m.group(1) or "", m.group(2) or ""))
    short = [(n, re.sub(r"^=> .*:(.*?)(?: \[.*\])? (\(.*\))$", r"=> \1 \2", text)) for n, text in wanted]
    short = [(n, re.sub(r"^<counts for unidentified lines in .*>$", "=> (no line)", text)) for n, text in short]
    with open(SOURCE, encoding="utf-8") as f:
        lines = f.read().splitlines()
    if [text for _, text in got if not text.startswith("=>")] != [line.rstrip() for line in lines]:
        faults.append("the lines are not those of the source")
    costs = lambda rows: sorted((n, text) for n, text in rows if n)  # noqa: E731
    if costs(got) != costs(short):
        faults += ["only in top: %s" % (x,) for x in costs(got) if x not in costs(short)]
        faults += ["only in annotate: %s" % (x,) for x in costs(short) if x not in costs(got)]
    if len(costs(got)) < 30:
        faults.append("only %d lines have costs" % len(costs(got)))
    leave(t, faults)
    test("every line and call of a source as annotate lists it", faults)


def stranger():
    """A source outside the folder, in a profile that was not recorded here: not shown, with the reason; with -I it is."""
    here = os.path.join(FOLDER, "stranger", "here")
    os.makedirs(here, exist_ok=True)
    os.chdir(here)
    write("../outside.c", "int outside;\n")
    os.utime("../outside.c", (0, 0))
    write("p", "version: 1\nevents: Ir\nfl=../outside.c\nfn=f\n1 5\n")
    faults = []
    for args, said, shown in (([], "../outside.c: not read, since the profile was not recorded here; -I DIR", False), (["-I", ".."], "", True)):
        t = start(*args, "p", columns=120)
        ready(t)
        t.press("3")
        if not t.wait(lambda text: "Source: ../outside.c" in text and said in text):
            faults.append(t.text())
        if ("int outside;" in t.text()) != shown:
            faults.append("%s:\n%s" % (args, t.text()))
        leave(t, faults)
    test("the source of a stranger's profile", faults)


def real_difference():
    """Self costs of both runs, and their difference, as in `quern diff`, which ignores objects."""
    os.chdir(os.path.join(FOLDER, "real"))
    _, text, _ = run("diff", "--to=json", "--by=function", "old.out", "new.out")
    said, event = json.loads(text), "D1mr"
    e = [event["event"] for event in said["events"]].index(event)
    wanted, got = {}, {}
    for row in said["functions"]:
        key = clean(row["function"] or "???") + "  " + os.path.basename(row["file"] or "???")
        new, old = wanted.get(key, (0, 0))
        wanted[key] = new + row["new"][e], old + row["old"][e]
    faults, last = [], None
    t = start("--base=old.out", "--event=" + event, "new.out", rows=200, columns=200)
    ready(t)
    t.press("i")
    if not t.wait(lambda text: "self +-v" in text):
        faults.append(t.text())
    for row in all_rows(t):
        m = re.match(r" *([\d,]+) +([\d,]+) +([+-]?[\d,]+) +(\S+) +[\d,]+ +[\d,]+  (.*?)(  \(.*\))?$", row)
        if not m:
            faults.append("no row: " + row)
            continue
        old, new, change = (number(m.group(i)) for i in (1, 2, 3))
        factor = "-" if new == old == 0 else "new" if not old else "gone" if not new else None
        if new - old != change or (last is not None and abs(change) > last):
            faults.append("wrong difference, or order: " + row)
        if m.group(4) != factor and (factor or abs(float(m.group(4)[1:]) - new / old) > 0.005 * new / old):
            faults.append("wrong factor: " + row)
        last = abs(change)
        where = (m.group(6) or "  (").strip("( )").split(", ")
        source = "." in where[0] and not re.search(r"\.so(\.\d+)*$", where[0])
        name = re.sub(r" \[cycle \d+\]", "", m.group(5)) + "  " + (where[0] if source else "???")
        a, b = got.get(name, (0, 0))
        got[name] = a + new, b + old
    changed = {k: v for k, v in got.items() if v[0] != v[1]}
    for name in sorted(set(changed) | {k for k, v in wanted.items() if v[0] != v[1]}):
        if got.get(name) != wanted.get(name):
            faults.append("%s: %s, diff says %s" % (name, got.get(name), wanted.get(name)))
    if len(changed) < 5:
        faults.append("only %d functions differ" % len(changed))
    leave(t, faults)
    test("every difference of two runs as diff says", faults)


def real_profiles():
    folder = os.path.join(FOLDER, "real")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    faults = []
    for out, cache in (("old.out", "--D1=16384,4,64"), ("new.out", "--D1=32768,8,64")):
        # Another environment moves the stack, and changes counts.
        env = {"A": "x" * (7 if out == "old.out" else 700), "PATH": os.environ["PATH"]}
        status = subprocess.run([QUERN, "run", "--calls=yes", "--cache-sim=yes", "--branch-sim=yes", cache,
                                 "-o", out, EXAMPLE], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        if status or not os.path.exists(out):
            faults.append("%s: status %d" % (out, status))
    test("profiles of a real program", faults)


# ---- Terminals ----

def refusals():
    os.chdir(GOLDEN)
    same = "; `quern annotate` prints the same numbers"
    faults = []

    def refused(wanted, argv, **more):
        t = start(*argv, **more)
        status = t.finish()
        text = " ".join(t.text().split())
        if os.waitstatus_to_exitcode(status) != 2 or text != "quern: " + wanted or b"\033" in t.bytes:
            faults.append("%s %s: %s %s" % (argv, more, status, t.bytes))
        if not t.sane():
            faults.append("%s: the terminal's settings are others" % (argv,))
        t.close()

    cannot = "this terminal can only print lines (TERM is not set, or is dumb)" + same
    unknown = "this terminal (TERM) is unknown, or cannot move its cursor" + same
    for term, sentence in (("dumb", cannot), (None, cannot), ("", cannot), ("no-such-terminal", unknown)):
        refused(sentence, ["calls.callgrind"], env={"TERM": term}, columns=200)
    null = os.open("/dev/null", os.O_RDWR)
    refused("standard output is not a terminal" + same, ["calls.callgrind"], stdout=null, columns=200)
    refused("standard input is not a terminal: keys are read from it" + same, ["calls.callgrind"], stdin=null, columns=200)
    os.close(null)
    test("what is no terminal is refused, and `quern annotate` named", faults)
    faults = []
    refused("no profile given; see 'quern top --help'", [], columns=200)
    refused("-: standard input is for keys; name a file", ["-"], columns=200)
    refused("--base=-: standard input is for keys; name a file", ["--base=-", "x"], columns=200)
    test("wrong usage", faults)


def bad_files():
    os.chdir(GOLDEN)
    faults = []
    for argv, like in ((["nowhere.out"], ["convert", "--to=json", "nowhere.out"]),
                       ([GOLDEN], ["convert", "--to=json", GOLDEN]),
                       (["expect.txt"], ["convert", "--to=json", "expect.txt"]),
                       (["--base=nowhere.out", "calls.callgrind"], ["convert", "--to=json", "nowhere.out"])):
        status, _, err = run(*like)
        t = start(*argv, columns=300, env={"NO_COLOR": "1"})
        got = os.waitstatus_to_exitcode(t.finish())
        text = t.bytes.decode().replace("\r\n", "\n")
        if status != 2 or got != 2 or text != err:
            faults.append("%s: %s %r, convert: %s %r" % (argv, got, text, status, err))
        t.close()
    for argv, words in ((["empty.callgrind"], "empty.callgrind"),
                        (["--base=simple.cachegrind", "calls.callgrind"], "Instructions"),
                        (["--event=Nothing", "calls.callgrind"], "--event: the profile has no event 'Nothing'")):
        t = start(*argv, columns=300)
        got = os.waitstatus_to_exitcode(t.finish())
        if got != 2 or words not in t.text() or b"\033" in t.bytes:
            faults.append("%s: %s %s" % (argv, got, t.bytes))
        t.close()
    test("wrong files: as convert says, status 2, nothing drawn", faults)
    faults = []
    t = start("cut-off.callgrind", columns=300)
    if not ready(t) or b"cut-off.callgrind" not in t.bytes.split(b"\033")[0]:
        faults.append(t.bytes)
    leave(t, faults)
    test("a cut-off file is used up to the damage, and remarked on", faults)


def colours():
    """The same text on every terminal; colours where the terminal has them."""
    os.chdir(os.path.join(FOLDER, "made"))
    faults, texts = [], []
    base = ["--base=old.out", "--old-include=old", "--new-include=new", "new.out"]
    kinds = (({"TERM": "screen-256color"}, True, True), ({"TERM": "xterm-256color"}, True, True),
             ({"TERM": "linux"}, True, False), ({"TERM": "xterm"}, True, False), ({"TERM": "vt100"}, False, False),
             ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False, False))
    for env, some, many in kinds:
        t = start(*base, env=env)
        ready(t)
        t.press("3")
        t.wait(lambda text: "void g(void)" in text and "q quit" in text)
        texts.append(t.text())
        codes = re.findall(rb"\033\[([\d;]*)m", t.bytes)
        has_many = any(b"38;5;" in code for code in codes)
        has_some = has_many or any(p in (b"31", b"32", b"33") for code in codes for p in code.split(b";"))
        if has_some != some or has_many != many:
            faults.append("%s: some %s, many %s: %s" % (env, has_some, has_many, set(codes)))
        leave(t, faults)
    for (env, _, _), text in zip(kinds, texts):
        if text != texts[0] or "void g(void)" not in text:
            faults.append("%s:\n%s%s" % (env, text, texts[0]))
    test("256, 8 and no colours, NO_COLOR: the same text", faults)


def heat():
    """The most expensive line, 60, has the fourth level: 25 is in the third, sqrt(25 / 60) = 0.65."""
    os.chdir(os.path.join(FOLDER, "made"))
    faults = []
    # Attributes of the first digit of 25 and of 60: colour, bold, background.
    for term, warm, hot in (("xterm-256color", ("000000", False, "ffaf00"), ("000000", False, "ff8700")),
                            ("xterm", ("brown", False, "default"), ("brown", True, "default")),
                            ("vt100", ("default", False, "default"), ("default", True, "default"))):
        t = start("-I", "new", "new.out", env={"TERM": term})
        ready(t)
        t.press("3")
        t.wait(lambda text: "void g(void)" in text and "3/11" in text)
        t.press(UP)  # the selection has no colour
        t.wait(lambda text: "2/11" in text)
        for words, wanted in (("g();", warm), ("x();", hot)):
            y = next((y for y, line in enumerate(t.screen.display) if words in line), 0)
            c = t.screen.buffer[y][3]
            if (c.fg, c.bold, c.bg) != wanted:
                faults.append("%s: %s: %s, not %s\n%s" % (term, words, c, wanted, t.text()))
        leave(t, faults)
    test("heat by colour, by yellow and bold, by bold alone", faults)


def resizing():
    os.chdir(GOLDEN)
    faults = []
    t = start("calls.callgrind")
    ready(t)
    small = t.text()
    t.press(DOWN)
    t.wait(lambda text: " 2/3" in text)
    with open(os.path.join(EXPECT, "wide"), encoding="utf-8") as f:
        wide = re.split(r"^==== .*\n", f.read(), flags=re.M)[1]
    t.size(60, 200)
    t.press(UP)
    if not t.wait(lambda text: text == wide):
        faults.append("200x60:\n" + t.text())
    for rows, columns in ((10, 80), (19, 60), (20, 59), (1, 1), (2, 5)):
        t.size(rows, columns)
        if not t.wait(lambda text: text.startswith("This terminal is too small:"[:columns - (columns < 27)])):
            faults.append("%dx%d:\n%s" % (columns, rows, t.text()))
    t.press(DOWN + "3" + "\x7f" + UP)
    t.size(24, 80)
    if not t.wait(lambda text: text == small):
        faults.append("80x24 again:\n" + t.text())
    for _ in range(40):  # without waiting
        t.size(random.randint(1, 70), random.randint(1, 250))
        t.press(random.choice([DOWN, "3", "1", "?", "e"]))
        t.read(0)
    t.press("1" + HOME)
    t.size(24, 80)
    if not t.wait(lambda text: text == small):
        faults.append("80x24 in the end:\n" + t.text())
    leave(t, faults)
    test("another size at any time, and too small ones", faults)


def jumps():
    """60 columns and 20 lines show 15 rows. A jump puts its row into the upper third, a step scrolls by one; q closes the keys."""
    os.makedirs(FOLDER, exist_ok=True)
    os.chdir(FOLDER)
    write("jumps.c", "".join("line %d\n" % n for n in range(1, 201)))
    write("jumps.out", "events: Ir\nfl=jumps.c\nfn=f\n1 1\n120 50\n200 1\n")
    faults = []
    t = start("jumps.out", rows=20, columns=60)
    ready(t)
    t.press("3")
    t.wait(lambda text: "line 1" in text)
    rows = [row.split("line ")[-1].strip() for row in table(t)]
    if len(rows) != 15:
        faults.append("%d rows\n%s" % (len(rows), t.text()))
    for keys, first, at in (("m", "115", 120), (UP * 5, "115", 115), (UP, "114", 114), (DOWN * 15, "115", 129), (END, "186", 200), (HOME, "1", 1)):
        t.press(keys)
        t.wait(lambda text: " %d/" % at in text)
        rows = [row.split("line ")[-1].strip() for row in table(t)]
        if rows[0] != first:
            faults.append("after %s the first row is %s, not %s\n%s" % (named(keys), rows[0], first, t.text()))
    t.press("?")
    t.wait(lambda text: "these keys" in text)
    t.press("q")
    if not t.wait(lambda text: "line 1" in text):
        faults.append("q does not close the keys\n" + t.text())
    leave(t, faults)
    test("jumps, steps, q in the keys, 60x20", faults)


def signals():
    os.chdir(GOLDEN)
    for name, sig, send in (("TERM", signal.SIGTERM, None), ("HUP", signal.SIGHUP, None), ("INT", signal.SIGINT, None),
                            ("Ctrl-C", signal.SIGINT, "\x03"), ("Ctrl-\\", signal.SIGQUIT, "\x1c")):
        faults = []
        for prompt in (False, True):
            t = start("calls.callgrind", env={"TERM": "xterm-256color"})
            ready(t)
            if prompt:
                t.press("/x")
                t.wait(lambda text: "filter: x" in text)
            t.press(send) if send else os.kill(t.pid, sig)
            status = t.finish()
            if status is None or not os.WIFSIGNALED(status) or os.WTERMSIG(status) != sig:
                faults.append("status %s" % status)
            if not t.sane():
                faults.append("the terminal's settings are others")
            # xterm: the cursor is visible, the first screen back, keys send what they sent.
            tail = t.bytes[-200:]
            for code in (b"\033[?1049l", b"\033[?1l"):
                if code not in tail:
                    faults.append("%s is missing at the end: %s" % (code, tail))
            if t.bytes.rfind(b"\033[?25l") > max(t.bytes.rfind(b"\033[?25h"), t.bytes.rfind(b"\033[?12l\033[?25h")):
                faults.append("the cursor stays hidden: %s" % tail)
            t.close()
        test("%s: ends by it, and leaves the terminal as it was" % name, faults)
    # Only a shell's job can be stopped.
    faults = []
    t = Terminal(["/bin/bash", "--norc", "-c", "set -m; \"$0\" top calls.callgrind; echo status $?; read; fg; echo end $?",
                  QUERN])
    t.until(lambda text: "1/3" in text)  # which is written last
    first = t.text()
    t.press("\x1a")  # Ctrl-Z
    if not t.until(lambda text: "status 148" in text) or not t.sane():  # 128 + SIGTSTP
        faults.append("not stopped, or the terminal is not as it was:\n" + t.text())
    t.press("\r")
    if not t.until(lambda text: text == first):
        faults.append("not as it was:\n" + t.text())
    t.press("?")
    if not t.until(lambda text: "one row up" in text):
        faults.append("no answer to keys:\n" + t.text())
    t.press("qq")  # the keys, and the program
    if t.finish() != 0 or "end 0" not in t.text() or not t.sane():
        faults.append("the end:\n" + t.text())
    t.close()
    test("stopped and continued", faults)
    faults = []
    t = start("calls.callgrind")
    ready(t)
    os.close(t.side)
    os.close(t.main)  # the window is closed
    end = time.monotonic() + 60
    while not t.ended() and time.monotonic() < end:
        time.sleep(0.05)
    if not t.ended():
        faults.append("it goes on")
        os.kill(t.pid, signal.SIGKILL)
        os.waitpid(t.pid, 0)
    test("ends when the terminal is gone", faults)


def manual():
    """The page of keys and the man page have the same rows."""
    os.chdir(GOLDEN)
    with open(MANUAL, encoding="utf-8") as f:
        page = f.read()
    keys = page[page.index(".SH KEYS"):page.index(".SH ENVIRONMENT")]
    wanted = [(key, text.replace("\\-", "-")) for key, text in re.findall(r"\.TP\n\.B (.*)\n(.*)\n", keys)]
    t = start("calls.callgrind", rows=60)
    ready(t)
    t.press("?")
    t.wait(lambda text: "quit" in text and "key, what it does" in text)
    got = [(row[:24].rstrip(), row[24:]) for row in table(t) if row]
    faults = [] if got == wanted and len(got) > 20 else ["%s\n%s" % (got, wanted)]
    leave(t, faults)
    test("the man page has the keys of the page of keys", faults)


def million():
    """A million functions: f0 costs a million, f1 one less, and so on; f0 calls the next ten."""
    path = os.path.join(FOLDER, "million.out")
    n = 1000000
    if not os.path.exists(path):
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write("# callgrind format\nevents: Ir\nfl=a.c\n")
            for i in range(n):
                f.write("fn=f%d\n%d %d\n" % (i, i + 1, n - i))
                if i == 0:
                    for k in range(1, 11):
                        f.write("cfn=f%d\ncalls=1 %d\n1 %d\n" % (k, k + 1, n - k))
        os.rename(path + ".new", path)
    os.chdir(FOLDER)
    faults = []
    begun = time.monotonic()
    t = start("million.out")
    if not t.wait(lambda text: "Functions: 1,000,000" in text and "500,000,500,000" in text and " 1/1000000" in text):
        faults.append(t.text())
    opened = time.monotonic() - begun
    # Inclusive: f0 and the ten below it, 10^6 + (10^6 - 1) + ... + (10^6 - 10) = 11 * 10^6 - 55.
    if not re.match(r"10,999,945 +0\.00% +1,000,000 +0\.00% +0  f0 ", table(t)[0].strip()):
        faults.append(table(t)[0])
    slowest = 0
    for keys, wanted in ((END, " 1000000/1000000"), (HOME, " 1/1000000"), ("e", " 1/1000000"),
                         ("s", "self v"), ("S", "^"), ("S", "self v"), ("/f99999\r", "Functions: 11 of 1,000,000"),
                         ("\033", "Functions: 1,000,000"), ("/" + "/^f(1|22)$/" + "\r", "Functions: 2 of 1,000,000"),
                         ("\033", "Functions: 1,000,000\n"), ("2", "Function: ")):
        begun = time.monotonic()
        t.press(keys)
        wanted = wanted.replace("self v", "selfv")
        if not t.wait(lambda text: wanted in text):
            faults.append("after %s:\n%s" % (named(keys), t.text()))
        slowest = max(slowest, time.monotonic() - begun)
    leave(t, faults)
    print("# opened in %.1f s, the slowest key took %.2f s" % (opened, slowest))
    test("a million functions", faults)


def costs_of(t, name):
    """The self cost of a function on the screen, or 0."""
    for row in table(t):
        m = re.match(r" *(?:[\d,]+ +\S*% +)?([\d,]+) +\S*% +(?:[\d,]+ +)?" + name + "  ", row)
        if m:
            return number(m.group(1))
    return 0


BUSY = """#include <stdint.h>
#include <unistd.h>
static volatile uint64_t sum;
__attribute__((noinline)) static void step(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sum += i;
}
int main(void)
{
    char c;
    for (int i = 1; i < 4; i++) {
        step(i * 1000000);
        if (read(0, &c, 1) != 1)
            return 1;
    }
    return 0;
}
"""


def descriptors(t):
    """The minimum number of open descriptors within a second and a half: a child and its pipe are temporary."""
    least, end = 1000, time.monotonic() + 1.5
    while time.monotonic() < end:
        least = min(least, len(os.listdir("/proc/%d/fd" % t.pid)))
        time.sleep(0.02)
    return least


def live():
    folder = os.path.join(FOLDER, "live")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    os.environ["TMPDIR"] = folder
    write("busy.c", BUSY)
    subprocess.run(["gcc", "-O1", "-g", "-o", "busy", "busy.c"], check=True)

    def begin(out, calls):
        return subprocess.Popen([QUERN, "run", "--calls=" + calls, "-o", out, "./busy"], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def go_on(p):
        p.stdin.write(b"x")
        p.stdin.flush()

    p = begin("alone.out", "no")
    p.communicate(b"xxx")
    _, text, _ = run("convert", "--to=json", "alone.out")
    alone = json.loads(text)
    # Each call costs as many instructions for each of its rounds, and a few once: c * rounds + d.
    whole = sum(f["self"][0] for f in alone["functions"] if f["name"] == "step")
    each, once = whole // 6000000, whole % 6000000 // 3
    wanted = [each * 1000000 + once, each * 3000000 + 2 * once, whole]
    test("the program that is watched", [] if p.returncode == 0 and each and each * 6000000 + 3 * once == whole else [whole])
    for calls in ("no", "yes"):
        faults = []
        out = calls + ".out"
        p = begin(out, calls)
        spool = "quern.spool.%d" % p.pid
        end = time.monotonic() + 60
        while not os.path.exists(spool) and time.monotonic() < end:
            time.sleep(0.05)
        # By its number; the other time by its file.
        t = start("--live", str(p.pid) if calls == "no" else spool, rows=40, columns=120, env={"TMPDIR": folder})
        for i, cost in enumerate(wanted):
            if i:
                go_on(p)
            elif calls == "no" and t.until(lambda text: "(live)" in text.splitlines()[0]):
                fds = descriptors(t)
            if not t.until(lambda text, cost=cost: costs_of(t, "step") == cost and "(live)" in text.splitlines()[0]):
                faults.append("step costs %d, not %d:\n%s" % (costs_of(t, "step"), cost, t.text()))
        # The view and the selection stay, with other numbers.
        t.press("/step\r")
        t.until(lambda text: "filter step" in text)
        if calls == "no":
            t.press("g\r")  # an open group stays open
            t.until(lambda text: "by object, filter step" in text and costs_of(t, "step") == wanted[2])
            if descriptors(t) != fds:
                faults.append("descriptors: %d, and then %d" % (fds, descriptors(t)))
        go_on(p)
        p.wait()
        if not t.until(lambda text: "process %d (ended)  ./busy" % p.pid in text and "filter step" in text):
            faults.append("no end:\n" + t.text())
        time.sleep(1.2)  # no further updates
        _, text, _ = run("convert", "--to=json", out)
        watched = json.loads(text)
        total = "Ir {:,}".format(watched["totals"][0])
        if not t.until(lambda text: text.splitlines()[0].endswith(total)) or costs_of(t, "step") != whole:
            faults.append("the end is not %s:\n%s" % (total, t.text()))
        if watched["totals"][0] != alone["totals"][0] or \
                whole != sum(f["self"][0] for f in watched["functions"] if f["name"] == "step"):
            faults.append("watching changed what the program counts: %s, alone %s" % (watched["totals"], alone["totals"]))
        leave(t, faults)
        if [name for name in os.listdir(folder) if name.startswith("quern-top.")]:
            faults.append("left behind: %s" % os.listdir(folder))
        test("live, calls=%s: what was counted so far, to the end" % calls, faults)
    faults = []
    p = begin("killed.out", "no")
    t = None
    end = time.monotonic() + 60
    while not os.path.exists("quern.spool.%d" % p.pid) and time.monotonic() < end:
        time.sleep(0.05)
    t = start("--live", str(p.pid), columns=120, env={"TMPDIR": folder})
    t.until(lambda text: costs_of(t, "step") == wanted[0])
    p.kill()  # not yet waited for
    if not t.until(lambda text: "(was killed: quern recover finishes it)" in text) or costs_of(t, "step") != wanted[0]:
        faults.append(t.text())
    p.wait()
    leave(t, faults)
    status, _, err = run("recover", "-q")
    _, text, _ = run("convert", "--to=json", "killed.out")
    if status or sum(f["self"][0] for f in json.loads(text)["functions"] if f["name"] == "step") != wanted[0]:
        faults.append("recover: %s %s" % (status, err))
    test("live: killed, and recovered afterwards", faults)
    faults = []
    p = begin("random.out", "yes")
    end = time.monotonic() + 60
    while not os.path.exists("quern.spool.%d" % p.pid) and time.monotonic() < end:
        time.sleep(0.05)
    press_at_random(start("--live", str(p.pid), program=ASAN, env={"TMPDIR": folder}), random.Random(0), 0.02, faults)
    p.communicate(b"xxx")
    test("live: keys at random, sanitized", faults)
    faults = []
    os.mkfifo("pipe") # a pipe without a writer: the program must not wait
    for argv, words in ((["--live", str(os.getpid())], "process %d has no spool: it does not run under quern" % os.getpid()),
                        (["--live", "busy.c"], "busy.c: not a spool of quern"),
                        (["--live", "pipe"], "pipe: not a spool of quern"),
                        (["--live", "nothing"], "nothing: No such file or directory; name a spool or a process id"),
                        (["--live", "--base=alone.out", "1"], "--live: shows one process, without --base"),
                        (["--live", "1", "2"], "--live: shows one process, without --base"), (["--live"], "no profile given")):
        t = start(*argv, columns=200, env={"TMPDIR": folder})
        if os.waitstatus_to_exitcode(t.finish()) != 2 or "quern: " + words not in t.text() or b"\033" in t.bytes:
            faults.append("%s: %s" % (argv, t.bytes))
        t.close()
    test("live: what is no running program", faults)
    faults = []
    p = begin("nowhere.out", "no")
    end = time.monotonic() + 60
    while not os.path.exists("quern.spool.%d" % p.pid) and time.monotonic() < end:
        time.sleep(0.05)
    t = start("--live", str(p.pid), columns=400, env={"TMPDIR": os.path.join(folder, "nowhere")})
    said = re.escape("quern: %s/nowhere/quern-top." % folder) + r"\S{6}: No such file or directory"
    if os.waitstatus_to_exitcode(t.finish()) != 2 or not re.fullmatch(said, t.text().strip()):
        faults.append(t.bytes)
    t.close()
    # Of five descriptors three are the terminal's and one the spool's: none is free for the pipe's two ends.
    t = start("--live", "quern.spool.%d" % p.pid, columns=200, env={"TMPDIR": folder}, descriptors=5)
    if os.waitstatus_to_exitcode(t.finish()) != 2 or t.text().strip() != "quern: pipe: Too many open files":
        faults.append(t.bytes)
    t.close()
    # Its number is looked up in /proc: a descriptor for that, and one for the spool's path.
    for limit in (4, 5):
        t = start("--live", str(p.pid), columns=200, env={"TMPDIR": folder}, descriptors=limit)
        if os.waitstatus_to_exitcode(t.finish()) != 2 or t.text().strip() != \
                "quern: %d: no descriptor is free: raise the limit on open files (ulimit -n)" % p.pid:
            faults.append(t.bytes)
        t.close()
    t = start("--live", str(p.pid), columns=120, env={"TMPDIR": folder}, descriptors=16)
    if not t.until(lambda text: costs_of(t, "step") == wanted[0] and "(live)" in text.splitlines()[0]):
        faults.append("with 16 descriptors:\n" + t.text())
    leave(t, faults)
    if [name for name in os.listdir(folder) if name.startswith("quern-top.")]:
        faults.append("left behind: %s" % os.listdir(folder))
    p.communicate(b"xxx")
    test("live: no folder for the profile, no descriptor for the child", faults)


def press_at_random(t, chance, pause, faults):
    keys = [UP, DOWN, HOME, END, NEXT, "\033[5~", "\r", "\x7f", "\033", "/a\r", "/" + "/x|f/" + "\r", "\x0c", "<", ">",
            *"1234uceEisSgnfhrm?kjbG \t\x00"]
    if not t.until(lambda text: "q quit" in text):
        faults.append("no screen:\n" + t.text())
    for i in range(400):
        t.press(chance.choice(keys))
        if i % 50 == 49:
            t.size(chance.choice([24, 30, 60, 5]), chance.choice([80, 120, 200, 10]))
        while t.read(pause):
            pass
    # Leaves any text input, then the end.
    t.size(24, 80)
    t.press("\r\033")
    time.sleep(0.2)
    leave(t, faults)
    if b"runtime error" in t.bytes or b"ERROR: " in t.bytes:
        faults.append(t.bytes[-3000:].decode(errors="replace"))


def at_random():
    """Keys at random, under AddressSanitizer and UBSan: no error, and q still quits."""
    os.chdir(os.path.join(FOLDER, "made"))
    profiles = [["--base=old.out", "--old-include=old", "--new-include=new", "new.out"], ["cycle.out"], ["hostile.out"],
                ["odd.out"], *[[os.path.join(GOLDEN, name)] for name in
                               ("calls.callgrind", "parts.callgrind", "no-counts.callgrind", "no-function.callgrind",
                                "summary-smaller.callgrind", "first-event-zero.callgrind", "event-both.callgrind")]]
    for seed, args in enumerate(profiles):
        faults = []
        press_at_random(start(*args, program=ASAN, env={"TERM": "xterm-256color"}), random.Random(seed), 0, faults)
        test("keys at random, sanitized: " + os.path.basename(args[-1]), faults)


def main():
    # Memory that curses and the options hold until the end is no leak.
    suppress = os.path.join(FOLDER, "suppress")
    os.makedirs(FOLDER, exist_ok=True)
    write(suppress, "leak:libtinfo.so\nleak:libncursesw.so\nleak:options_\n")
    os.environ["LSAN_OPTIONS"] = "print_suppressions=0:suppressions=" + suppress
    os.makedirs(EXPECT, exist_ok=True)
    golden_screens()
    made_screens()
    if WRITE:
        return
    real_profiles()
    real_functions()
    real_source()
    stranger()
    real_difference()
    refusals()
    bad_files()
    colours()
    heat()
    resizing()
    jumps()
    signals()
    manual()
    live()
    million()
    at_random()


main()
print("1..%d" % tests)
sys.exit(failures > 0)
