# SPDX-License-Identifier: MIT
"""Profiles of Quern, Cachegrind and Callgrind in Python: libquern through ctypes.

    import quern

    p = quern.read("cachegrind.out.1")
    print(dict(zip([e.name for e in p.events], p.totals)))
    for f in sorted(p.functions(), key=lambda f: -p.value("Ir", f.self))[:10]:
        print(p.value("Ir", f.self), f.file, f.name)
    quern.diff("old.out", p).write("difference.out")

Counts are exact: Python integers of any size, or Fractions where the profile has fractions.
"""
from .profile import (Call, Count, Counts, Event, Function, Instruction, Line, Part, Profile,
                      QuernError, Record, Remark, Site, diff, loads, merge, read)

__all__ = [
    "Call", "Count", "Counts", "Event", "Function", "Instruction", "Line", "Part", "Profile",
    "QuernError", "Record", "Remark", "Site", "diff", "loads", "merge", "read",
]
