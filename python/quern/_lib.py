# SPDX-License-Identifier: MIT
"""The shared library as ctypes sees it: include/quern/profile.h, declaration by declaration.

Declarations only; profile.py uses them. A quern_count is a signed 128-bit
integer, which ctypes lacks: in memory it is two words, and by value it is passed in the same two
registers as a structure of two words (System V ABI for x86-64): Count128.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_size_t,
                    c_uint, c_uint32, c_uint64, c_void_p)

SONAME = "libquern.so.1"
NONE = 0xFFFFFFFF


class Count128(Structure):
    _fields_ = [("low", c_uint64), ("high", c_int64)]


class Error(Structure):
    _fields_ = [("code", c_int), ("line", c_uint64), ("col", c_uint32), ("file", c_char * 256),
                ("msg", c_char * 256), ("text", c_char * 256)]


class Diag(Structure):
    _fields_ = [("severity", c_int), ("kind", c_char_p), ("msg", c_char_p), ("line", c_uint64),
                ("col", c_uint32), ("count", c_uint64), ("text", c_char_p), ("file", c_char_p)]


DIAG_FN = CFUNCTYPE(None, c_void_p, POINTER(Diag))
PROGRESS_FN = CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)


class ReadOpts(Structure):
    _fields_ = [("sz", c_size_t), ("strict", c_int), ("every_diag", c_int), ("diag", DIAG_FN),
                ("diag_ctx", c_void_p), ("progress", PROGRESS_FN), ("progress_ctx", c_void_p),
                ("no_fast", c_int)]


class WriteOpts(Structure):
    _fields_ = [("sz", c_size_t), ("format", c_int), ("keep_order", c_int),
                ("no_compress_strings", c_int), ("no_compress_pos", c_int), ("portable", c_int),
                ("no_lines", c_int), ("no_instr", c_int), ("combine_parts", c_int)]


class MergeOpts(Structure):
    _fields_ = [("sz", c_size_t), ("threads", c_uint), ("read", ReadOpts)]


class Part(Structure):
    _fields_ = [("cmd", c_char_p), ("creator", c_char_p), ("has_pid", c_int),
                ("has_thread", c_int), ("has_part", c_int), ("pid", c_uint64),
                ("thread", c_uint64), ("part", c_uint64), ("desc_count", c_size_t),
                ("desc", POINTER(c_char_p))]


class Func(Structure):
    _fields_ = [("object", c_uint32), ("file", c_uint32), ("name", c_uint32)]


class Site(Structure):
    _fields_ = [("func", c_uint32), ("file", c_uint32), ("line", c_uint64), ("addr", c_uint64),
                ("bb", c_uint64)]


class Record(Structure):
    _fields_ = [("kind", c_int), ("part", c_uint32), ("at", Site), ("to", Site),
                ("calls", c_uint64), ("executed", c_uint64), ("counts", POINTER(Count128)),
                ("present", c_uint64)]


class Edge(Structure):
    _fields_ = [("caller", c_uint32), ("callee", c_uint32), ("calls", c_uint64),
                ("counts", POINTER(Count128))]


def _load() -> ctypes.CDLL:
    name = os.environ.get("QUERN_LIBRARY", SONAME)
    try:
        return ctypes.CDLL(name, use_errno=True)
    except OSError as error:
        raise ImportError(
            f"{name}: {error}; install Quern, or name its library with "
            f"QUERN_LIBRARY=.../{SONAME}") from None


lib = _load()

_COUNTS = POINTER(Count128)
_ERR = POINTER(Error)
_P = c_void_p  # a profile, a cursor, the tables of costs, a merger

for _name, _result, _arguments in [
        ("quern_profile_new", _P, []),
        ("quern_profile_free", None, [_P]),
        ("quern_profile_read", _P, [c_char_p, POINTER(ReadOpts), _ERR]),
        ("quern_profile_read_mem", _P, [c_char_p, c_size_t, c_char_p, POINTER(ReadOpts), _ERR]),
        ("quern_profile_format", c_int, [_P]),
        ("quern_profile_diag_count", c_size_t, [_P]),
        ("quern_profile_diag", POINTER(Diag), [_P, c_size_t]),
        ("quern_profile_event_count", c_size_t, [_P]),
        ("quern_profile_derived_count", c_size_t, [_P]),
        ("quern_profile_event_name", c_char_p, [_P, c_size_t]),
        ("quern_profile_event_long_name", c_char_p, [_P, c_size_t]),
        ("quern_profile_event_formula", c_char_p, [_P, c_size_t]),
        ("quern_profile_event_scale", c_int64, [_P, c_size_t]),
        ("quern_profile_derive", Count128, [_P, c_size_t, _COUNTS]),
        ("quern_profile_match_events", c_int, [_P, c_char_p, _P, c_char_p, _ERR]),
        ("quern_profile_has", c_uint, [_P]),
        ("quern_profile_part_count", c_size_t, [_P]),
        ("quern_profile_part", c_int, [_P, c_size_t, POINTER(Part)]),
        ("quern_profile_str", c_char_p, [_P, c_uint32]),
        ("quern_profile_func_count", c_size_t, [_P]),
        ("quern_profile_func_get", Func, [_P, c_uint32]),
        ("quern_profile_totals", _COUNTS, [_P]),
        ("quern_cursor_new", _P, [_P]),
        ("quern_cursor_next", c_int, [_P, POINTER(Record)]),
        ("quern_cursor_free", None, [_P]),
        ("quern_costs_new", _P, [_P]),
        ("quern_costs_free", None, [_P]),
        ("quern_costs_self", _COUNTS, [_P, c_uint32]),
        ("quern_costs_inclusive", _COUNTS, [_P, c_uint32]),
        ("quern_costs_cycle", c_uint32, [_P, c_uint32]),
        ("quern_costs_called", c_uint64, [_P, c_uint32]),
        ("quern_costs_edge_count", c_size_t, [_P]),
        ("quern_costs_edge", Edge, [_P, c_size_t]),
        ("quern_profile_write", c_int, [_P, c_char_p, POINTER(WriteOpts), _ERR]),
        ("quern_merger_new", _P, []),
        ("quern_merger_add", c_int, [_P, _P, c_char_p, _ERR]),
        ("quern_merger_take", _P, [_P, _ERR]),
        ("quern_merger_free", None, [_P]),
        ("quern_profile_merge_files", _P,
         [POINTER(c_char_p), c_size_t, POINTER(MergeOpts), _ERR]),
        ("quern_profile_append", c_int, [_P, c_char_p, _P, c_char_p, _ERR]),
        ("quern_profile_subtract", _P, [_P, _P, c_int, _ERR]),
]:
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments
