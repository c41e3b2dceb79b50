# SPDX-License-Identifier: MIT
#
# The arithmetic of the machine's bench: which native runs count and what they give, estimates from counts, and how
# far these are from what was measured. docs/design/071-machine-validation.md defines all of it. No input or output.
import math

# Two calibrations around a run may differ by this, additions may be this much above the quietest, and a run may have
# waited for this part of its time, and for START_NS until it was executed and noticed.
TOLERANCE = 0.02
START_NS = 2_000_000
# All runs of a program together must have enough ticks of the kernel's clock to be divided into user and system time.
SHORT_NS = 500_000_000


# ---- Native runs ----
class Sample:
    """One run: times in nanoseconds, page faults; calibrations as (cycles for each nanosecond, cycles of 1000
    additions)."""

    def __init__(self, user, system, wall, faults, before, after):
        self.user, self.system, self.wall, self.faults = user, system, wall, faults
        self.before, self.after = before, after

    def frequency(self):
        return (self.before[0] + self.after[0]) / 2


def quietest(additions):
    """What 1000 additions take without a sibling: of all calibrations the fifth percentile, since a single one may be
    too low, when the frequency changed within it."""
    ordered = sorted(additions)
    return ordered[len(ordered) // 20]


def is_quiet(sample, quiet):
    (f0, a0), (f1, a1) = sample.before, sample.after
    return (max(f0, f1) <= min(f0, f1) * (1 + TOLERANCE) and max(a0, a1) <= min(a0, a1) * (1 + TOLERANCE)
            and max(a0, a1) <= quiet * (1 + TOLERANCE)
            and sample.wall <= (sample.user + sample.system) * (1 + TOLERANCE) + START_NS)


class Fault:
    """What one fault of a new page takes, in nanoseconds: user time, and with the system's. touches: (user time,
    system time, faults) of processes that do nothing else."""

    def __init__(self, touches):
        users, systems, faults = (sum(column) for column in zip(*touches))
        self.user, self.all = users / faults, (users + systems) / faults


def summary(samples, fault):
    """Of accepted runs: the least user time and cycles, and how far the middle run is above the least.

    The kernel knows the sum of user and system time exactly, and divides it by counting ticks; so the division is
    taken from all runs together. When these are too short, runs count from start to end, by the clock. Of both, what
    faults of new pages take is taken off: as user time the kernel books what the host does for a virtual machine's."""
    total = sum(s.user + s.system for s in samples)
    share = sum(s.user for s in samples) / total if total else 1
    if total >= SHORT_NS:
        by, each, times = "rusage", fault.user, [(s.user + s.system) * share for s in samples]
    else:
        by, each, times = "clock", fault.all, [s.wall for s in samples]
    pages = sum(s.faults for s in samples) * each / sum(times)
    times = [t - s.faults * each for t, s in zip(times, samples)]
    cycles = sorted(t * s.frequency() for t, s in zip(times, samples))
    return {"by": by, "seconds": min(times) / 1e9, "cycles": round(cycles[0]),
            "spread": cycles[len(cycles) // 2] / cycles[0] - 1, "kernel": 1 - share, "pages": pages}


# ---- Estimates from counts ----
def levels(c):
    """First-level misses and last-level misses, of all kinds."""
    return c["I1mr"] + c["D1mr"] + c["D1mw"], c["ILmr"] + c["DLmr"] + c["DLmw"]


def instructions(c):
    return c["Ir"]


def cest(c):
    first, last = levels(c)
    return c["Ir"] + 10 * (c["Bcm"] + c["Bim"]) + 10 * first + 100 * last


def gungraun(c):
    first, last = levels(c)
    return (c["Ir"] + c["Dr"] + c["Dw"] - first) + 5 * (first - last) + 35 * last


# Name of a column: function of the counts. All of these are in units of their own, and are scaled.
ESTIMATES = {"Ir": instructions, "CEst": cest, "gungraun": gungraun}


# ---- How far off ----
def median(values):
    """Of ratios: the middle one, or the geometric mean of the two in the middle."""
    ordered, n = sorted(values), len(values)
    return math.sqrt(ordered[(n - 1) // 2] * ordered[n // 2])


def best_scale(estimated, measured):
    """The factor for all estimates that makes the mean of their error factors smallest."""
    return median([m / e for e, m in zip(estimated, measured)])


def error(estimated, measured):
    return max(estimated / measured, measured / estimated)


def mean(factors):
    return math.exp(sum(math.log(f) for f in factors) / len(factors))


def same_sign(estimated, measured):
    """Of two changes (after divided by before): do both get better, or both worse?"""
    return (estimated - 1) * (measured - 1) > 0
