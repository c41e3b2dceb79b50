# SPDX-License-Identifier: MIT
#
# The list of programs (programs.txt) for the scripts of this folder: reads it, compiles what has to be compiled, and
# says how each program is run. Must not measure anything.
import hashlib
import os
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "programs.txt")

# Always gcc with these flags, whoever builds Quern: the programs are the same for all who have this compiler.
COMPILER = "gcc"
FLAGS = ["-std=gnu11", "-g", "-march=x86-64", "-mtune=generic"]

# Class of a program: how many fields its line has, where its sources are.
CLASSES = {"application": (6, None), "kernel": (6, "kernels"), "pair": (7, "pairs")}
SIDES = ("before", "after")


class Problem(Exception):
    pass


class Program:
    """One line of the list."""

    def __init__(self, fields):
        self.group, self.name, self.seen, self.kind = fields[:4]
        if self.group == "application":
            self.package, self.command, self.flags = fields[4], fields[5], [["-O2"]]
            # What no package has is compiled, from bench/programs.
            own = os.path.join(os.path.dirname(HERE), "programs", self.name + ".c")
            self.source = own if self.package == "-" else None
        else:
            self.package, self.command, self.flags = "-", fields[-1], [shlex.split(f) for f in fields[4:-1]]
            words = shlex.split(self.command)
            if len(words) != 2 or not words[1].isdigit():
                raise Problem("a source and a number of rounds are expected, not %s" % self.command)
            self.source, self.rounds = os.path.join(HERE, CLASSES[self.group][1], words[0]), int(words[1])

    def versions(self):
        """The names of what is run: one, or two of a pair."""
        return ["%s-%s" % (self.name, side) for side in SIDES] if self.group == "pair" else [self.name]


def parse(line):
    group = line.split(" | ", 1)[0].strip()
    if group not in CLASSES:
        raise Problem("%s is none of %s" % (group, ", ".join(CLASSES)))
    count = CLASSES[group][0]
    # The last field is a command, which may have the separator in it.
    fields = [field.strip() for field in line.split(" | ", count - 1)]
    if len(fields) != count or not all(fields):
        raise Problem("%d fields are expected" % count)
    if fields[2] not in ("seen", "unseen"):
        raise Problem("%s is neither seen nor unseen" % fields[2])
    return Program(fields)


def load(path=LIST):
    programs = []
    with open(path, encoding="ascii") as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                programs.append(parse(line))
                names = [p.name for p in programs]
                if names.count(names[-1]) > 1:
                    raise Problem("%s is there already" % names[-1])
            except (Problem, ValueError) as p:
                raise Problem("%s:%d: %s" % (path, number, p)) from None
    return programs


def choose(programs, names):
    for name in names:
        if name not in [p.name for p in programs]:
            raise Problem("no program %s; there are: %s" % (name, " ".join(p.name for p in programs)))
    return [p for p in programs if not names or p.name in names]


# ---- Compiling ----
def call(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
    except OSError as e:
        raise Problem("%s: %s" % (command[0], e.strerror)) from None
    if done.returncode != 0:
        raise Problem("%s: status %d\n%s" % (shlex.join(command), done.returncode, done.stdout))
    return done.stdout


def compile_one(source, flags, target):
    """With -fprofile-use in its flags: compiled, run for one round to get the profile, compiled again."""
    compiler = [COMPILER] + FLAGS
    if "-fprofile-use" not in flags:
        call(compiler + flags + ["-o", target, source, "-lm"])
        return
    # gcc looks for the profile beside the object, under the object's name.
    where = target + ".profile"
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    obj = os.path.join(where, "program.o")
    others = [f for f in flags if f != "-fprofile-use"]
    call(compiler + others + ["-fprofile-generate", "-c", "-o", obj, source])
    call(compiler + ["-fprofile-generate", "-o", target, obj])
    call([target, "1"])
    call(compiler + flags + ["-Werror=missing-profile", "-c", "-o", obj, source])
    call(compiler + ["-o", target, obj])


def build(program, folder):
    """Compiles a kernel, both programs of a pair, or an application of bench/, into the folder; others are there."""
    if not program.source:
        return
    os.makedirs(folder, exist_ok=True)
    for version, flags in zip(program.versions(), program.flags):
        compile_one(program.source, flags, os.path.join(folder, version))


# ---- Running ----
class Run:
    """How to run one version: command, standard input, file of the result or None for the standard output, and the
    exit status."""

    def __init__(self, command, stdin=None, result=None, status=0):
        self.command, self.stdin, self.result, self.status = command, stdin, result, status

    def digest(self, stdout):
        with open(self.result or stdout, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()[:16]

    def clean(self):
        if self.result and os.path.exists(self.result):
            os.remove(self.result)


def gcc_program(name):
    try:
        return call([COMPILER, "-print-prog-name=" + name]).strip()
    except Problem:
        return name


def environment():
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "HOME": "/", "PYTHONHASHSEED": "0"}


def runs(program, where):
    """Name of a version: its Run. `where` has bin/, inputs/ and work/. A program that is not installed is a Problem."""
    if program.group != "application":
        return {v: Run([os.path.join(where, "bin", v), str(program.rounds)]) for v in program.versions()}
    out = os.path.join(where, "work", "result")
    places = {"{in}": os.path.join(where, "inputs"), "{bin}": os.path.join(where, "bin"),
              "{bench}": os.path.dirname(HERE), "{out}": out}
    if "{cc1}" in program.command:
        places["{cc1}"] = gcc_program("cc1")

    def place(word):
        for key, value in places.items():
            word = word.replace(key, value)
        return word

    words = [place(word) for word in shlex.split(program.command)]
    status = int(words.pop()[1:]) if words[-1].startswith("=") else 0
    stdin = words.pop()[1:] if words[-1].startswith("<") else None
    path = shutil.which(words[0])
    if path is None:
        raise Problem("%s: %s is not installed; Debian's package is %s (scripts/deps bench-machine installs it)"
                      % (program.name, words[0], program.package))
    # The file itself: what a link leads to may be looked for by Quern, too.
    result = out if "{out}" in program.command else None
    return {program.name: Run([os.path.realpath(path)] + words[1:], stdin, result, status)}


def available(programs, where, notes):
    """(program, name of version, Run) of all that can be run; the reasons for the others go to `notes`."""
    found = []
    for program in programs:
        try:
            found += [(program, version, run) for version, run in runs(program, where).items()]
        except Problem as p:
            notes.append(str(p))
    return found
