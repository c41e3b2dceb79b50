# SPDX-License-Identifier: MIT
#
# A command at a terminal, for tests: terminal.py OUT ERR COMMAND... runs it with standard output in
# the file OUT and standard error in the file ERR; "-" is a terminal 60 columns wide, whose text is
# printed at the end: an escape character as ^, a carriage return as <. With KEYS in the environment
# standard input is the terminal, too, and gets these.
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))


def stream(name):
    return side if name == "-" else open(name, "w")


keys = os.environ.pop("KEYS", "")
child = subprocess.Popen(
    sys.argv[3:],
    stdin=side if keys else subprocess.DEVNULL,
    stdout=stream(sys.argv[1]),
    stderr=stream(sys.argv[2]),
)
os.close(side)
if keys:
    os.write(main, keys.encode())
text = b""
try:
    while True:
        part = os.read(main, 4096)
        if not part:
            break
        text += part
except OSError:  # the other side is closed
    pass
sys.stdout.write(text.decode().replace("\r\n", "\n").replace("\r", "<").replace("\033", "^"))
sys.exit(child.wait())
