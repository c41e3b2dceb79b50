# SPDX-License-Identifier: MIT
"""Profiles as Python sees them: what libquern answers, in Python's own types.

A count is an int of any size, or a Fraction for an event with fractional counts; it is
never rounded. Counts are in tuples, in the order of Profile.events without the derived ones.
A profile may be used by one thread at a time.
"""
from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass
from fractions import Fraction
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NoReturn, Optional,
                    Sequence, Tuple, Union)

from . import _lib
from ._lib import lib

if TYPE_CHECKING:
    import pandas

Count = Union[int, Fraction]
Counts = Tuple[Count, ...]
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_FORMATS = {None: 0, "cachegrind": 1, "callgrind": 2}
_SEVERITIES = ("note", "warning", "error")


class QuernError(Exception):
    """An error of libquern: the message, and the position of the fault."""

    def __init__(self, message: str, errno: int = 0, file: str = "", line: int = 0,
                 column: int = 0, text: str = "") -> None:
        place = "".join([file, f":{line}" if line else "", f":{column}" if column else ""])
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.errno = errno
        self.file = file
        self.line = line
        self.column = column
        self.text = text


@dataclass(frozen=True)
class Event:
    """An event. One with a formula is derived: Profile.value() computes it, it has no counts."""

    index: int
    name: str
    long_name: Optional[str]
    formula: Optional[str]
    derived: bool


@dataclass(frozen=True)
class Part:
    """A dump, a thread, or a profile merged side by side, with its header."""

    index: int
    cmd: Optional[str]
    creator: Optional[str]
    pid: Optional[int]
    part: Optional[int]
    thread: Optional[int]
    desc: Tuple[str, ...]

    @property
    def profile(self) -> Optional[str]:
        """The file that it was merged from (quern merge --parts=yes)."""
        for line in self.desc:
            if line.startswith("Profile: "):
                return line[len("Profile: "):]
        return None


@dataclass(frozen=True)
class Function:
    """A function. In a cycle (not 0) the inclusive cost is that of the whole cycle."""

    index: int
    object: Optional[str]
    file: Optional[str]
    name: Optional[str]
    called: int
    cycle: int
    self: Counts
    inclusive: Counts


@dataclass(frozen=True)
class Line:
    """The self cost of a source line as far as it belongs to one function."""

    function: int
    file: Optional[str]
    line: int
    self: Counts


@dataclass(frozen=True)
class Instruction:
    """The self cost of an instruction; its address is relative to the function's object."""

    function: int
    addr: int
    file: Optional[str]
    line: int
    self: Counts


@dataclass(frozen=True)
class Call:
    """The calls from one function to another, from all places; their cost is inclusive."""

    caller: int
    callee: int
    calls: int
    inclusive: Counts


@dataclass(frozen=True)
class Site:
    """A place in the program. Function is a number in Profile.functions()."""

    function: Optional[int]
    file: Optional[str]
    line: int
    addr: int


@dataclass(frozen=True)
class Record:
    """A record of the profile as it was read: kind is "cost", "call", "jump" or "jcnd"."""

    kind: str
    part: int
    at: Site
    to: Optional[Site]
    calls: int
    executed: int
    counts: Counts


@dataclass(frozen=True)
class Remark:
    """Remarks of the reader: the first of each kind, and their number."""

    severity: str
    kind: str
    message: str
    line: int
    column: int
    count: int


_KINDS = ("", "cost", "call", "jump", "jcnd")


def _decode(text: Optional[bytes]) -> Optional[str]:
    """A name; None when there is none. Bytes that are not UTF-8 survive (surrogateescape)."""
    return text.decode("utf-8", "surrogateescape") if text else None


def _raise(err: _lib.Error, what: str) -> NoReturn:
    if not err.msg:
        number = ctypes.get_errno()
        raise QuernError(f"{what}: {os.strerror(number)}", number)
    raise QuernError(_decode(err.msg) or "", err.code, _decode(err.file) or "", err.line, err.col,
                     _decode(err.text) or "")


class Profile:
    """A profile, read or computed. read(), merge() and diff() make them."""

    def __init__(self, handle: int, name: str) -> None:
        """For this package: takes over a `struct quern_profile *`."""
        self._handle: Optional[int] = handle
        self._costs_handle: Optional[int] = None
        self._finalizers = [weakref.finalize(self, lib.quern_profile_free, handle)]
        self.name = name

    # ---- Life ----

    def close(self) -> None:
        """Frees the memory now, not when nothing refers to the profile any more."""
        self._drop_costs()
        self._finalizers[0]()
        self._handle = None

    def __enter__(self) -> "Profile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _p(self) -> int:
        if self._handle is None:
            raise ValueError(f"{self.name}: the profile was closed")
        return self._handle

    @property
    def _costs(self) -> int:
        if self._costs_handle is None:
            costs = lib.quern_costs_new(self._p)
            if not costs:
                raise MemoryError(f"{self.name}: the costs of its functions")
            self._costs_handle = costs
            self._finalizers.append(weakref.finalize(self, lib.quern_costs_free, costs))
        return self._costs_handle

    def _drop_costs(self) -> None:
        for finalizer in self._finalizers[1:]:
            finalizer()
        del self._finalizers[1:]
        self._costs_handle = None

    # ---- What the header says ----

    @property
    def format(self) -> Optional[str]:
        """"cachegrind" or "callgrind"; None: of a profile that was not read."""
        return {1: "cachegrind", 2: "callgrind"}.get(lib.quern_profile_format(self._p))

    @property
    def events(self) -> Tuple[Event, ...]:
        """First those with counts, in their order, then the derived ones."""
        counted = lib.quern_profile_event_count(self._p)
        return tuple(
            Event(i, _decode(lib.quern_profile_event_name(self._p, i)) or "",
                  _decode(lib.quern_profile_event_long_name(self._p, i)),
                  _decode(lib.quern_profile_event_formula(self._p, i)), i >= counted)
            for i in range(counted + lib.quern_profile_derived_count(self._p)))

    @property
    def parts(self) -> Tuple[Part, ...]:
        parts: List[Part] = []
        for i in range(lib.quern_profile_part_count(self._p)):
            c = _lib.Part()
            lib.quern_profile_part(self._p, i, ctypes.byref(c))
            parts.append(Part(i, _decode(c.cmd), _decode(c.creator), c.pid if c.has_pid else None,
                              c.part if c.has_part else None, c.thread if c.has_thread else None,
                              tuple(_decode(c.desc[k]) or "" for k in range(c.desc_count))))
        return tuple(parts)

    @property
    def remarks(self) -> Tuple[Remark, ...]:
        found = (lib.quern_profile_diag(self._p, i).contents
                 for i in range(lib.quern_profile_diag_count(self._p)))
        return tuple(Remark(_SEVERITIES[d.severity], _decode(d.kind) or "", _decode(d.msg) or "",
                            d.line, d.col, d.count) for d in found)

    @property
    def has_addresses(self) -> bool:
        return bool(lib.quern_profile_has(self._p) & 2)

    @property
    def has_calls(self) -> bool:
        return bool(lib.quern_profile_has(self._p) & 8)

    # ---- Counts ----

    def _scales(self) -> List[int]:
        return [lib.quern_profile_event_scale(self._p, i)
                for i in range(lib.quern_profile_event_count(self._p))]

    @staticmethod
    def _counts(pointer: Any, scales: Sequence[int]) -> Counts:
        return tuple(_number(pointer[i], scale) for i, scale in enumerate(scales))

    @property
    def totals(self) -> Counts:
        """The sum of all self costs."""
        return self._counts(lib.quern_profile_totals(self._p), self._scales())

    def event(self, name: str) -> Event:
        """The event of that name: one with counts before a derived one."""
        for event in self.events:
            if event.name == name:
                return event
        names = " ".join(event.name for event in self.events)
        raise KeyError(f"{self.name}: no event '{name}'; it has: {names}")

    def value(self, event: Union[str, Event], counts: Optional[Counts] = None) -> Count:
        """The count of an event, derived or not, among these counts; None: of the totals."""
        e = self.event(event) if isinstance(event, str) else event
        if counts is None:
            counts = self.totals
        if not e.derived:
            return counts[e.index]
        scales = self._scales()
        raw = (_lib.Count128 * (len(scales) + 1))()
        for i, scale in enumerate(scales):
            number = int(counts[i] * scale)
            raw[i].low = number & 0xFFFFFFFFFFFFFFFF
            raw[i].high = number >> 64
        return _number(lib.quern_profile_derive(self._p, e.index, raw),
                       lib.quern_profile_event_scale(self._p, e.index))

    # ---- Iterating ----

    def _text(self, number: int) -> Optional[str]:
        return _decode(lib.quern_profile_str(self._p, number))

    def functions(self) -> Iterator[Function]:
        """All functions, in the order of their numbers."""
        scales = self._scales()
        costs = self._costs
        for i in range(lib.quern_profile_func_count(self._p)):
            f = lib.quern_profile_func_get(self._p, i)
            yield Function(i, self._text(f.object), self._text(f.file), self._text(f.name),
                           lib.quern_costs_called(costs, i), lib.quern_costs_cycle(costs, i),
                           self._counts(lib.quern_costs_self(costs, i), scales),
                           self._counts(lib.quern_costs_inclusive(costs, i), scales))

    def calls(self) -> Iterator[Call]:
        """Who calls whom, by caller, then callee."""
        scales = self._scales()
        costs = self._costs
        for i in range(lib.quern_costs_edge_count(costs)):
            e = lib.quern_costs_edge(costs, i)
            yield Call(e.caller, e.callee, e.calls, self._counts(e.counts, scales))

    def records(self) -> Iterator[Record]:
        """Everything in the profile, in the order it was read."""
        scales = self._scales()
        cursor = lib.quern_cursor_new(self._p)
        if not cursor:
            raise MemoryError(self.name)
        rec = _lib.Record()
        try:
            while lib.quern_cursor_next(cursor, ctypes.byref(rec)):
                yield Record(_KINDS[rec.kind], rec.part, self._site(rec.at),
                             self._site(rec.to) if rec.kind > 1 else None, rec.calls, rec.executed,
                             self._counts(rec.counts, scales))
        finally:
            lib.quern_cursor_free(cursor)

    def _site(self, site: _lib.Site) -> Site:
        return Site(None if site.func == _lib.NONE else site.func, self._text(site.file),
                    site.line, site.addr)

    def lines(self, part: Optional[int] = None) -> Iterator[Line]:
        """The self cost of each line of each function, summed; of one part, or of all."""
        for (function, file, line), counts in self._sum(part, False).items():
            yield Line(function, file, line, counts)

    def instructions(self, part: Optional[int] = None) -> Iterator[Instruction]:
        """The self cost of each instruction, summed; nothing in profiles without addresses."""
        if self.has_addresses:
            for (function, addr, file, line), counts in self._sum(part, True).items():
                yield Instruction(function, addr, file, line, counts)

    def _sum(self, part: Optional[int], by_addr: bool) -> Dict[Any, Counts]:
        sums: Dict[Any, Counts] = {}
        for r in self.records():
            if r.kind != "cost" or (part is not None and r.part != part):
                continue
            key = ((r.at.function, r.at.addr, r.at.file, r.at.line) if by_addr else
                   (r.at.function, r.at.file, r.at.line))
            old = sums.get(key)
            sums[key] = tuple(a + b for a, b in zip(old, r.counts)) if old else r.counts
        return sums

    # ---- Tables ----

    def to_dataframe(self, by: str = "function") -> "pandas.DataFrame":
        """A pandas.DataFrame with a row for each function, line, instruction or call.

        A column for each event, derived ones included; by function those are self costs, and the
        inclusive ones are in columns of the same name with ".inclusive". Columns whose numbers
        do not fit 64 bits, or have fractions, hold Python's own numbers (dtype object).
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_dataframe() needs pandas, which is not installed here; on "
                              "Debian: apt install python3-pandas") from None
        names = {"function": self._function_columns, "line": self._line_columns,
                 "instruction": self._instruction_columns, "call": self._call_columns}
        if by not in names:
            raise ValueError(f"to_dataframe(by={by!r}): one of {', '.join(names)} is needed")
        columns = names[by]()
        return pandas.DataFrame({name: pandas.Series(values, dtype=_dtype(values))
                                 for name, values in columns.items()})

    def _event_columns(self, rows: Sequence[Counts], suffix: str = "") -> Dict[str, List[Any]]:
        columns: Dict[str, List[Any]] = {}
        for event in self.events:
            if event.name + suffix not in columns:  # a derived event may have a counted event's name
                columns[event.name + suffix] = [self.value(event, counts) for counts in rows]
        return columns

    def _function_columns(self) -> Dict[str, List[Any]]:
        rows = list(self.functions())
        return {"object": [f.object for f in rows], "file": [f.file for f in rows],
                "function": [f.name for f in rows], "called": [f.called for f in rows],
                "cycle": [f.cycle for f in rows], **self._event_columns([f.self for f in rows]),
                **self._event_columns([f.inclusive for f in rows], ".inclusive")}

    def _names(self) -> List[Optional[str]]:
        return [self._text(lib.quern_profile_func_get(self._p, i).name)
                for i in range(lib.quern_profile_func_count(self._p))]

    def _line_columns(self) -> Dict[str, List[Any]]:
        names = self._names()
        rows = list(self.lines())
        return {"file": [r.file for r in rows], "line": [r.line for r in rows],
                "function": [names[r.function] for r in rows],
                **self._event_columns([r.self for r in rows])}

    def _instruction_columns(self) -> Dict[str, List[Any]]:
        names = self._names()
        rows = list(self.instructions())
        return {"addr": [r.addr for r in rows], "file": [r.file for r in rows],
                "line": [r.line for r in rows], "function": [names[r.function] for r in rows],
                **self._event_columns([r.self for r in rows])}

    def _call_columns(self) -> Dict[str, List[Any]]:
        names = self._names()
        rows = list(self.calls())
        return {"caller": [names[r.caller] for r in rows],
                "callee": [names[r.callee] for r in rows], "calls": [r.calls for r in rows],
                **self._event_columns([r.inclusive for r in rows])}

    # ---- Writing ----

    def write(self, path: Path, format: Optional[str] = None, *, keep_order: bool = False,
              compress: bool = True, portable: bool = False, lines: bool = True,
              instructions: bool = True, combine_parts: bool = False) -> None:
        """Writes the profile, whole or not at all; "-" is standard output.

        The format is "cachegrind" or "callgrind"; None: as it was read. The other arguments are
        those of `struct quern_write_opts`.
        """
        if format not in _FORMATS:
            raise ValueError(f"format={format!r}: None, 'cachegrind' or 'callgrind' is needed")
        opts = _lib.WriteOpts(sz=ctypes.sizeof(_lib.WriteOpts), format=_FORMATS[format],
                              keep_order=keep_order, no_compress_strings=not compress,
                              no_compress_pos=not compress, portable=portable, no_lines=not lines,
                              no_instr=not instructions, combine_parts=combine_parts)
        err = _lib.Error()
        if lib.quern_profile_write(self._p, os.fsencode(path), ctypes.byref(opts),
                                   ctypes.byref(err)) < 0:
            _raise(err, f"{os.fsdecode(path)} was not written")


def _number(count: _lib.Count128, scale: int) -> Count:
    number: int = (count.high << 64) | count.low
    return number if scale == 1 else Fraction(number, scale)


def _dtype(values: Sequence[Any]) -> str:
    return "int64" if values and all(
        type(v) is int and -2**63 <= v < 2**63 for v in values) else "object"


def _name(path: Path) -> str:
    return "<stdin>" if os.fspath(path) in ("-", b"-") else os.fsdecode(path)


def _take(handle: Optional[int], err: _lib.Error, name: str) -> Profile:
    if not handle:
        _raise(err, name)
    return Profile(handle, name)


# ---- Functions ----

def read(path: Path, *, strict: bool = False) -> Profile:
    """Reads a profile of either format, plain or compressed by gzip or zstd.

    "-" is standard input. With strict the first warning or error of the reader is a QuernError.
    """
    opts = _lib.ReadOpts(sz=ctypes.sizeof(_lib.ReadOpts), strict=strict)
    err = _lib.Error()
    handle = lib.quern_profile_read(os.fsencode(path), ctypes.byref(opts), ctypes.byref(err))
    return _take(handle, err, _name(path))


def loads(text: Union[str, bytes], name: str = "<text>") -> Profile:
    """Reads a profile from memory."""
    data = text.encode() if isinstance(text, str) else text
    err = _lib.Error()
    handle = lib.quern_profile_read_mem(data, len(data), os.fsencode(name), None,
                                        ctypes.byref(err))
    return _take(handle, err, name)


def merge(profiles: Iterable[Union[Profile, Path]], *, parts: bool = False) -> Profile:
    """The sum of profiles or files with the same events; of files, with all processors.

    With parts nothing is summed: the parts of each are parts of the result, which bear the names
    of their files (quern merge --parts=yes).
    """
    items = list(profiles)
    err = _lib.Error()
    if parts:
        return _append(items, err)
    if not any(isinstance(item, Profile) for item in items):
        paths = [os.fsencode(item) for item in items if not isinstance(item, Profile)]
        array = (ctypes.c_char_p * (len(paths) + 1))(*paths)
        handle = lib.quern_profile_merge_files(array, len(paths), None, ctypes.byref(err))
        return _take(handle, err, "<merged>")
    merger = lib.quern_merger_new()
    if not merger:
        raise MemoryError("merge()")
    try:
        for item in items:
            p = item if isinstance(item, Profile) else read(item)
            if lib.quern_merger_add(merger, p._p, os.fsencode(p.name), ctypes.byref(err)) < 0:
                _raise(err, p.name)
        return _take(lib.quern_merger_take(merger, ctypes.byref(err)), err, "<merged>")
    finally:
        lib.quern_merger_free(merger)


def _append(items: Sequence[Union[Profile, Path]], err: _lib.Error) -> Profile:
    result = _take(lib.quern_profile_new(), err, "<merged>")
    first: Optional[str] = None
    for item in items:
        p = item if isinstance(item, Profile) else read(item)
        first = first or p.name
        if lib.quern_profile_append(result._p, os.fsencode(first), p._p, os.fsencode(p.name),
                                    ctypes.byref(err)) < 0:
            _raise(err, p.name)
    return result


def diff(old: Union[Profile, Path], new: Union[Profile, Path], *,
         by_function: bool = False) -> Profile:
    """New minus old, record by record; by_function: without lines, addresses and jumps.

    Both must have the same events.
    """
    a = old if isinstance(old, Profile) else read(old)
    b = new if isinstance(new, Profile) else read(new)
    err = _lib.Error()
    if lib.quern_profile_match_events(a._p, os.fsencode(a.name), b._p, os.fsencode(b.name),
                                      ctypes.byref(err)) < 0:
        _raise(err, b.name)
    a._drop_costs()  # the scale of its events may have changed
    b._drop_costs()
    handle = lib.quern_profile_subtract(b._p, a._p, by_function, ctypes.byref(err))
    return _take(handle, err, f"{b.name} - {a.name}")
