# SPDX-License-Identifier: MIT
"""A program in a pseudo-terminal, and the screen that it draws, as a terminal would show it."""
import fcntl
import os
import pty
import resource
import select
import signal
import struct
import termios
import time

import pyte

PPOLL = "271"  # the system call of x86-64 in which quern waits for a key
LONG = 120  # seconds after which any wait is a failure


class Screen(pyte.Screen):
    """The model, with the sequences of ECMA-48 that Debian's version lacks: REP (repeat the last character), SU and SD (scrolling)."""

    last = " "

    def draw(self, data):
        super().draw(data)
        if data:
            self.last = data[-1]

    def repeat(self, count=1):
        self.draw(self.last * (count or 1))

    def scroll(self, count, edge, step):
        line = self.cursor.y
        self.cursor.y = edge
        for _ in range(count or 1):
            step()
        self.cursor.y = line

    def scroll_up(self, count=1):
        self.scroll(count, self.margins.bottom if self.margins else self.lines - 1, self.index)

    def scroll_down(self, count=1):
        self.scroll(count, self.margins.top if self.margins else 0, self.reverse_index)


class Stream(pyte.ByteStream):
    csi = dict(pyte.ByteStream.csi, b="repeat", S="scroll_up", T="scroll_down")
    events = pyte.ByteStream.events | {"repeat", "scroll_up", "scroll_down"}


class Terminal:
    """Starts the program; `screen` is the terminal's current content."""

    def __init__(self, argv, rows=24, columns=80, env=None, stdin=None, stdout=None,
                 descriptors=None):
        self.main, self.side = pty.openpty()
        self.before = termios.tcgetattr(self.side)
        self.screen = Screen(columns, rows)
        self.stream = Stream(self.screen)
        self.bytes = b""
        self.status = None
        self.size(rows, columns, tell=False)
        full = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "screen-256color"}
        full.update({k: v for k, v in os.environ.items() if k.startswith(("ASAN_", "LSAN_", "UBSAN_"))})
        full.update(env or {})
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)
            os.dup2(self.side if stdin is None else stdin, 0)
            os.dup2(self.side if stdout is None else stdout, 1)
            os.dup2(self.side, 2)
            os.closerange(3, 100)
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
            try:
                os.execve(argv[0], argv, {k: v for k, v in full.items() if v is not None})
            finally:
                os._exit(127)

    def size(self, rows, columns, tell=True):
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.screen.resize(rows, columns)

    def read(self, seconds):
        """Passes output within that time to the screen. False: there was none."""
        ready, _, _ = select.select([self.main], [], [], seconds)
        if not ready:
            return False
        part = os.read(self.main, 65536)
        self.bytes += part
        self.stream.feed(part)
        return True

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines()) + "\n"

    def press(self, keys):
        os.write(self.main, keys.encode())

    def idle(self):
        """Has the program read all keys, drawn everything, and waits for more? The kernel knows; if it refuses
        (ptrace_scope), a program that sleeps without output for a while counts as waiting."""
        left = struct.unpack("i", fcntl.ioctl(self.side, termios.FIONREAD, b"    "))[0]
        try:
            with open("/proc/%d/syscall" % self.pid, encoding="ascii") as f:
                waits, quiet = f.read().split()[0] == PPOLL, 0
        except PermissionError:
            with open("/proc/%d/stat" % self.pid, encoding="ascii", errors="replace") as f:
                waits, quiet = f.read().rpartition(")")[2].split()[0] == "S", 0.5
        except OSError:
            return False
        return not left and waits and not select.select([self.main], [], [], quiet)[0]

    def wait(self, wanted):
        """Reads until the program waits for a key and wanted(text) is true. False: the time is over."""
        end = time.monotonic() + LONG
        patience = None  # once it waits for a key, only a signal on its way can come
        while time.monotonic() < end:
            if self.read(0.01):
                patience = None
            elif self.idle():
                if wanted(self.text()):
                    return True
                patience = patience or time.monotonic() + 2
                if time.monotonic() > patience:
                    return False
            elif self.ended() and not self.read(0):
                return bool(wanted(self.text()))
        return False

    def until(self, wanted):
        """As wait(), for programs other than quern."""
        end = time.monotonic() + LONG
        while time.monotonic() < end and not wanted(self.text()):
            self.read(0.05)
        return bool(wanted(self.text()))

    def finish(self):
        """Waits for the end: the status as of waitpid, or None after the time limit."""
        end = time.monotonic() + LONG
        while time.monotonic() < end and not self.ended():
            self.read(0.05)
        while self.read(0):
            pass
        return self.status

    def sane(self):
        """Are the terminal's modes restored, the cursor visible, the first screen back?"""
        return termios.tcgetattr(self.side) == self.before

    def close(self):
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.main)
        os.close(self.side)
