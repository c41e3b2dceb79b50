# SPDX-License-Identifier: MIT
"""The package's functions other than reading: merging, comparing, writing, tables, errors, lifetimes."""
import fractions
import gc
import json
import pathlib
import subprocess
import sys

import pytest

import quern

A = "cmd: one\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n2 2\nsummary: 3 1\n"
B = "cmd: two\nevents: Ir Dr\nfl=a\nfn=f\n2 5 5\nfl=b\nfn=g\n7 7\nsummary: 12 5\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a").write_text(A)
    (tmp_path / "b").write_text(B)
    return tmp_path / "a", tmp_path / "b"


def from_json(text):
    return json.loads(text, parse_float=fractions.Fraction)


# ---- Merging ----

@pytest.mark.parametrize("parts", [False, True])
def test_merge_writes_what_the_command_writes(files, tmp_path, quern_command, parts):
    mine, its = tmp_path / "mine", tmp_path / "its"
    merged = quern.merge(files, parts=parts)
    merged.write(mine, "callgrind")
    quern_command("merge", f"--parts={'yes' if parts else 'no'}", "--to=callgrind", "-o", its,
                  *files)
    assert mine.read_bytes() == its.read_bytes()
    assert merged.totals == (15, 6)  # 3 + 12, 1 + 5
    assert [p.profile for p in merged.parts] == (list(map(str, files)) if parts else [None])


def test_merge_of_profiles_and_files(files):
    a = quern.loads(A, "a")
    assert quern.merge([a, files[1]]).totals == (15, 6)
    assert quern.merge([a, a, a]).totals == (9, 3)
    assert quern.merge([a, files[1]], parts=True).parts[0].profile == "a"
    assert a.totals == (3, 1)


@pytest.mark.parametrize("parts", [False, True])
def test_merge_of_other_events(files, parts, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    other = quern.loads("events: Ir Dw\nfl=a\nfn=f\n1 1 1\n", "other")
    with pytest.raises(quern.QuernError) as error:
        quern.merge([quern.read("a"), other], parts=parts)
    assert str(error.value) == ("other: its events (Ir Dw) are not those (Ir Dr) of a; only like "
                                "can be added or compared")
    assert error.value.errno == 22


def test_sums_pass_64_bits():
    most = 2**64 - 1
    p = quern.loads(f"events: Ir\nfl=a\nfn=f\n1 {most}\n")
    assert quern.merge([p] * 5).totals == (5 * most,)
    assert list(quern.merge([p] * 5).functions())[0].self == (5 * most,)


# ---- Comparing ----

def test_diff_is_that_of_the_command(files, tmp_path, quern_command):
    out = tmp_path / "difference"
    quern_command("diff", "-o", out, *files)
    its = from_json(quern_command("convert", "--to=json", out))
    mine = quern.diff(*files)
    assert mine.totals == (9, 4) == tuple(its["totals"])  # 12 - 3, 5 - 1
    assert [(f.file, f.name, list(f.self)) for f in mine.functions()] == \
        [(f["file"], f["name"], f["self"]) for f in its["functions"]] == \
        [("a", "f", [2, 4]), ("b", "g", [7, 0])]
    assert [(x.file, x.line, x.self) for x in mine.lines()] == \
        [("a", 1, (-1, -1)), ("a", 2, (3, 5)), ("b", 7, (7, 0))]


def test_diff_by_function(files):
    assert [(x.file, x.line, x.self) for x in quern.diff(*files, by_function=True).lines()] == \
        [("a", 0, (2, 4)), ("b", 0, (7, 0))]


def test_diff_with_fractions_on_one_side():
    whole = quern.loads("events: T\nfl=a\nfn=f\n1 3\n")
    half = quern.loads("events: T\nfl=a\nfn=f\n1 1.5\n")
    assert list(whole.functions())[0].self == (3,)
    assert quern.diff(whole, half).totals == (fractions.Fraction(-3, 2),)
    # The scale of `whole` has changed; its counts have not.
    assert whole.totals == (3,)
    assert list(whole.functions())[0].self == (3,)


def test_diff_of_other_events(files):
    with pytest.raises(quern.QuernError, match="only like can be added or compared"):
        quern.diff(files[0], quern.loads("events: X\nfl=a\nfn=f\n1 1\n"))


# ---- Counts ----

def test_derived_events():
    p = quern.loads("event: Sum = Ir + 2 Dr : a sum\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n2 4 3\n")
    assert p.event("Sum") == quern.Event(2, "Sum", "a sum", "Ir + 2 Dr", True)
    assert p.value("Sum") == 13  # 5 + 2 * 4
    assert [p.value("Sum", x.self) for x in p.lines()] == [3, 10]
    assert p.value("Sum", (-10, 2**100)) == 2**101 - 10
    with pytest.raises(KeyError, match="no event 'Bc'; it has: Ir Dr Sum"):
        p.value("Bc")


def test_records():
    p = quern.loads("events: Ir\nfl=a\nfn=f\n1 5\ncfi=b\ncfn=g\ncalls=2 7\n1 9\n"
                    "jcnd=1/3 4\n2\n2 1\nfl=b\nfn=g\n7 9\n")
    at = quern.Site(0, "a", 1, 0)
    assert list(p.records()) == [
        quern.Record("cost", 0, at, None, 0, 0, (5,)),
        quern.Record("call", 0, at, quern.Site(1, None, 7, 0), 2, 0, (9,)),
        quern.Record("jcnd", 0, quern.Site(0, "a", 2, 0), quern.Site(0, "a", 4, 0), 1, 3, (0,)),
        quern.Record("cost", 0, quern.Site(0, "a", 2, 0), None, 0, 0, (1,)),
        quern.Record("cost", 0, quern.Site(1, "b", 7, 0), None, 0, 0, (9,)),
    ]


# ---- Writing ----

def test_what_is_written_is_read_again(golden, tmp_path):
    with quern.read(golden / "calls.callgrind") as p:
        before = list(p.functions()), list(p.calls())
        p.write(tmp_path / "again")
    again = quern.read(tmp_path / "again")
    assert sorted((f.name, f.self, f.inclusive) for f in again.functions()) == \
        sorted((f.name, f.self, f.inclusive) for f in before[0])
    assert sorted(c.calls for c in again.calls()) == sorted(c.calls for c in before[1])


def test_names_that_are_not_utf8_survive(golden, tmp_path):
    p = quern.read(golden / "latin1.callgrind")
    p.write(tmp_path / "again")
    name = next(f.name for f in p.functions())
    assert any("\udc80" <= c <= "\udcff" for c in name)
    assert name.encode("utf-8", "surrogateescape") in (tmp_path / "again").read_bytes()


def test_options_of_writing(golden, tmp_path):
    p = quern.read(golden / "parts.callgrind")
    p.write(tmp_path / "one", combine_parts=True)
    assert len(quern.read(tmp_path / "one").parts) == 1
    p.write(tmp_path / "none", lines=False)
    assert {x.line for x in quern.read(tmp_path / "none").lines()} == {0}
    with pytest.raises(ValueError, match="'cachegrind' or 'callgrind' is needed"):
        p.write(tmp_path / "x", "xml")
    with pytest.raises(quern.QuernError, match="cannot be written: No such file or directory"):
        p.write(tmp_path / "nofolder" / "x")


# ---- Errors ----

def test_errors_say_where(tmp_path):
    with pytest.raises(quern.QuernError) as error:
        quern.read(tmp_path / "nothere")
    assert str(error.value) == f"{tmp_path}/nothere: cannot be opened: No such file or directory"
    assert error.value.errno == 2
    (tmp_path / "odd").write_text("events: Ir\nfl=a\nfn=f\n1 5\nnonsense\n")
    assert [(r.severity, r.kind, r.line) for r in quern.read(tmp_path / "odd").remarks
            if r.severity == "error"] == [("error", "junk-line", 5)]
    with pytest.raises(quern.QuernError) as error:
        quern.read(tmp_path / "odd", strict=True)
    assert (error.value.line, error.value.column, error.value.text) == (5, 1, "nonsense")


def test_a_closed_profile():
    with quern.loads(A, "a") as p:
        list(p.functions())
    with pytest.raises(ValueError, match="a: the profile was closed"):
        p.totals
    p.close()


def test_iterators_keep_their_profile():
    functions = quern.loads(A).functions()
    gc.collect()
    assert [f.self for f in functions] == [(3, 1)]


def test_standard_input(files):
    code = "import quern; p = quern.read('-'); print(p.name, p.totals)"
    with open(files[1], "rb") as f:
        out = subprocess.run([sys.executable, "-c", code], stdin=f, stdout=subprocess.PIPE,
                             check=True).stdout
    assert out == b"<stdin> (12, 5)\n"


def test_without_the_library(monkeypatch):
    monkeypatch.setenv("QUERN_LIBRARY", "no/such/libquern.so.1")
    done = subprocess.run([sys.executable, "-c", "import quern"], stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert (b"install Quern, or name its library with QUERN_LIBRARY=.../libquern.so.1"
            in done.stderr)


# ---- Tables ----

def test_dataframes(files):
    pandas = pytest.importorskip("pandas")
    p = quern.merge(files)
    table = p.to_dataframe()
    assert list(table.columns) == ["object", "file", "function", "called", "cycle", "Ir", "Dr",
                                   "Ir.inclusive", "Dr.inclusive"]
    assert table["Ir"].dtype == "int64"
    assert dict(zip(table["function"], table["Ir"])) == {"f": 8, "g": 7}
    lines = p.to_dataframe(by="line")
    assert list(lines.itertuples(index=False, name=None)) == [
        ("a", 1, "f", 1, 1), ("a", 2, "f", 7, 5), ("b", 7, "g", 7, 0)]
    assert isinstance(lines, pandas.DataFrame)
    with pytest.raises(ValueError, match="function, line, instruction, call"):
        p.to_dataframe(by="file")


def test_dataframes_of_calls_and_instructions(golden):
    pytest.importorskip("pandas")
    calls = quern.read(golden / "calls.callgrind").to_dataframe(by="call")
    # tests/golden/README.md: main calls func1 once and func2 3 times, func1 calls func2 twice.
    assert list(calls.itertuples(index=False, name=None)) == [
        ("main", "func1", 1, 400), ("main", "func2", 3, 400), ("func1", "func2", 2, 300)]
    p = quern.read(golden / "position-compression.callgrind")
    table = p.to_dataframe(by="instruction")
    assert [hex(a)[-4:] for a in table["addr"]] == ["1234", "1237", "1238", "1230"]
    assert list(table["line"]) == [90, 90, 91, 89]
    assert table["ticks"].sum() == 16


def test_dataframes_stay_exact(golden):
    pytest.importorskip("pandas")
    huge = quern.read(golden / "huge-counts.callgrind").to_dataframe()
    assert huge["Ir"].dtype == object
    assert sum(huge["Ir"]) == 36893488147419103230
    half = quern.loads("events: T\nfl=a\nfn=f\n1 1.5\n").to_dataframe()
    assert list(half["T"]) == [fractions.Fraction(3, 2)]
    both = quern.read(golden / "event-both.callgrind").to_dataframe()
    assert both["Ir"].sum() == 1


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, which is not installed here"):
        quern.loads(A).to_dataframe()


# ---- The package ----

def test_types():
    package = pathlib.Path(quern.__file__).parent
    assert (package / "py.typed").exists()
    # pandas and pytest are not ours to check, and following them takes 10 s.
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
                           "--follow-imports=skip", "--allow-untyped-decorators",
                           "--cache-dir=/dev/null", str(package)], stdout=subprocess.PIPE,
                          text=True)
    assert done.returncode == 0, done.stdout


def test_declarations_are_those_of_the_header():
    """Each function of the header that the package declares has as many arguments there."""
    import re
    from quern import _lib
    header = (pathlib.Path(__file__).resolve().parents[2] / "include/quern/profile.h").read_text()
    found = dict(re.findall(r"\b(quern_\w+)\(([^()]*)\)\s*;", header))
    declared = [name for name in vars(_lib.lib) if name.startswith("quern_")]
    assert len(declared) > 35
    for name in declared:
        arguments = [] if found[name].strip() == "void" else found[name].split(",")
        assert len(getattr(_lib.lib, name).argtypes) == len(arguments), name
