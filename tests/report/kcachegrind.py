# SPDX-License-Identifier: MIT
"""Usage: kcachegrind.py NAME=PROFILE...

How long KCachegrind takes to open profiles, on a screen in memory: until its window has the name of the profile and it is
idle, that is until it uses no processor time for QUIET seconds, which do not count. Medians of five;
one try each when it takes longer than LONG. Prints a line for each; called by make bench-report where
`scripts/deps kcachegrind` has been run."""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

QUIET, LONG, MOST = 1.0, 20, 300  # seconds; after the last it is given up


def deep():
    """Its search for cycles is recursive: with 8 MB of stack a million functions crash it (signal 11)."""
    resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def used(pid):
    """Seconds of processor time."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def titles(env):
    """The names of all windows: the program's appears when the profile is read."""
    tree = subprocess.run(["xwininfo", "-root", "-tree"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return tree.stdout.decode(errors="replace")


def opened(path, env):
    """Seconds until the window exists and is idle, and of processor time; or why there are none, and the latter."""
    start = time.monotonic()
    viewer = subprocess.Popen(["kcachegrind", path], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=deep)
    try:
        before, last, there = 0.0, start, False
        while time.monotonic() - start < MOST:
            time.sleep(0.02)
            now = used(viewer.pid)
            if viewer.poll() is not None:
                return "died of signal %d" % -viewer.returncode, now
            if now != before:
                before, last = now, time.monotonic()
            elif time.monotonic() - last > QUIET:
                if there or (there := os.path.basename(path) in titles(env)):
                    return last - start, now
        return "not within %d s" % MOST, used(viewer.pid)
    finally:
        viewer.kill()
        viewer.wait()


def main():
    home = tempfile.mkdtemp()
    os.makedirs(os.path.join(home, ".config"))
    with open(os.path.join(home, ".config", "kcachegrindrc"), "w") as f:
        f.write("[TipOfDay]\nRunOnStart=false\n")
    read, write = os.pipe()
    screen = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24"], pass_fds=[write],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        display = ":" + os.read(read, 20).decode().strip()
        env = dict(os.environ, HOME=home, XDG_RUNTIME_DIR=home, DISPLAY=display, LC_ALL="C.UTF-8")
        for argument in sys.argv[1:]:
            name, path = argument.split("=", 1)
            times = []
            while len(times) < 5:
                seconds, cpu = opened(os.path.abspath(path), env)
                times.append((seconds, cpu))
                if isinstance(seconds, str) or seconds > LONG:
                    break
            if isinstance(times[-1][0], str):
                print("%-6s %-24s %s (%.1f s of processor time)" % (name, "KCachegrind", *times[-1]))
            else:
                print("%-6s %-24s %8.0f ms (%.0f of processor time)" % (name, "KCachegrind", *(
                    1000 * statistics.median(t) for t in zip(*times))))
            sys.stdout.flush()
    finally:
        screen.kill()
        screen.wait()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
