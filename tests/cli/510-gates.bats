#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern diff --to: documents for servers. The numbers are those of two profiles written here; that a
# document is valid is asked of the parsers of Python.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'cmd: old' 'events: Ir Dr' 'fl=src/a.c' 'fn=f' '1 100 10' '2 50 5' \
        'fn=gone' '9 30 3' 'summary: 180 18' > old
    printf '%s\n' 'cmd: ./prog `x` | y' 'events: Ir Dr' 'fl=src/a.c' 'fn=f' '2 110 10' '3 50 5' \
        'fn=fresh' '9 5' 'fi=lib.h' '1 0' 'fe=src/a.c' 'summary: 165 15' > new
}

LIMITS=(--fail-if='Ir>160' --fail-if='f:Ir>+1%' --fail-if='Dr>100')

# A name that every format has to escape, with a byte that is not UTF-8 and a control character.
odd_profiles() {
    for count in 7 9; do
        {
            printf 'cmd: <&"\x27>\nevents: Ir\nfl=/a b/%%#.c\n'
            printf 'fn=operator|<a, "b&"> `c`\xff\x01\n1 %d\n' $count
        } > odd.$count
    done
}

@test "markdown" {
    quern diff --to=markdown "${LIMITS[@]}" old new
    [ "$status" = 1 ]
    same "$output" '### `` ./prog `x` | y ``

| event | old | new | change | |
| --- | ---: | ---: | ---: | ---: |
| `Ir` | 180 | 165 | -15 | -8.33% |
| `Dr` | 18 | 15 | -3 | -16.67% |

| limit | | |
| --- | --- | --- |
| `Ir>160` | **exceeded** | Ir was 180 and is 165 (-8.33%); most in f +10 at src/a.c:2 +10; fresh +5 at src/a.c:9 +5 |
| `f:Ir>+1%` | **exceeded** | Ir was 150 and is 160 (+6.67%); most in f +10 at src/a.c:2 +10 |
| `Dr>100` | within | Dr was 18 and is 15 (-16.67%) |

| `Ir` | `Dr` | function |
| ---: | ---: | --- |
| -30 | -3 | `src/a.c:gone` (gone) |
| +10 | 0 | `src/a.c:f` |
| +5 | 0 | `src/a.c:fresh` (new) |'
    same "$messages" "quern: limit exceeded: Ir>160: Ir was 180 and is 165 (-8.33%); most in f +10 at src/a.c:2 +10; fresh +5 at src/a.c:9 +5
quern: limit exceeded: f:Ir>+1%: Ir was 150 and is 160 (+6.67%); most in f +10 at src/a.c:2 +10"
    quern diff --to=markdown --show=Dr old old
    [ "$status" = 0 ]
    same "$output" '### `old`

| event | old | new | change | |
| --- | ---: | ---: | ---: | ---: |
| `Dr` | 18 | 18 | 0 |  |

No function changed.'
    sed 's/Ir/I|r/' old > bar.old
    sed 's/Ir/I|r/' new > bar.new
    quern diff --to=markdown --show='I|r' bar.old bar.new
    [[ "$output" == *$'\n| `I\\|r` | function |\n'* ]]
    odd_profiles
    quern diff --to=markdown odd.7 odd.9
    same "$(tail -n 1 <<< "$output")" '| +2 | `` /a b/%#.c:operator\|<a, "b&"> `c`\377\001 `` |'
}

@test "markdown: fifty functions, and how many more" {
    for n in 1 2; do
        {
            echo 'events: Ir'
            for i in {1..53}; do printf 'fn=f%d\n1 %d\n' $i $((i * n)); done
        } > p$n
    done
    quern diff --to=markdown p1 p2
    same "$(tail -n 3 <<< "$output")" '| +4 | `???:f4` |

and 3 more functions'
}

@test "json" {
    quern diff --to=json "${LIMITS[@]}" old new
    [ "$status" = 1 ]
    same "$output" '{"format":"quern-diff","version":1,
"old":{"file":"old","command":"old"},
"new":{"file":"new","command":"./prog `x` | y"},
"events":[
{"event":"Ir","old":180,"new":165},
{"event":"Dr","old":18,"new":15}],
"limits":[
{"limit":"Ir>160","function":null,"event":"Ir","old":180,"new":165,"exceeded":true,"missing":false,"where":[{"file":"src/a.c","function":"f","old":150,"new":160,"lines":[{"file":"src/a.c","line":2,"old":100,"new":110}]},{"file":"src/a.c","function":"fresh","old":0,"new":5,"lines":[{"file":"src/a.c","line":9,"old":0,"new":5}]}]},
{"limit":"f:Ir>+1%","function":"f","event":"Ir","old":150,"new":160,"exceeded":true,"missing":false,"where":[{"file":"src/a.c","function":"f","old":150,"new":160,"lines":[{"file":"src/a.c","line":2,"old":100,"new":110}]}]},
{"limit":"Dr>100","function":null,"event":"Dr","old":18,"new":15,"exceeded":false,"missing":false,"where":[]}],
"inclusive":false,
"functions":[
{"file":"src/a.c","function":"gone","old":[30,3],"new":[0,0]},
{"file":"src/a.c","function":"f","old":[150,15],"new":[160,15]},
{"file":"src/a.c","function":"fresh","old":[0,0],"new":[5,0]}]}'
    python3 -c 'import json, sys; json.load(sys.stdin)' <<< "$output"
    odd_profiles
    quern diff --to=json odd.7 odd.9
    python3 - "$output" << 'END'
import json, sys
d = json.loads(sys.argv[1])
assert d["new"]["command"] == '<&"\'>', d
assert d["functions"] == [{"file": "/a b/%#.c", "function": 'operator|<a, "b&"> `c`\ufffd\x01',
                           "old": [7], "new": [9]}], d
assert d["limits"] == [], d
END
}

@test "json: counts beyond 2^53, and fractions, keep their digits" {
    printf 'events: T Ir\nfl=a\nfn=f\n1 1.5 18014398509481985\n' > one
    printf 'events: T Ir\nfl=a\nfn=f\n1 2 18014398509481987\n' > two
    quern diff --to=json one two
    want='{"file":"a","function":"f","old":[1.5,18014398509481985],'
    want+='"new":[2,18014398509481987]}'
    [[ "$output" == *"$want"* ]]
}

@test "junit" {
    quern diff --to=junit "${LIMITS[@]}" -o report.xml old new
    [ "$status" = 1 ]
    same "$output" ""
    same "$(< report.xml)" '<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="2" errors="0">
  <testsuite name="./prog `x` | y" tests="3" failures="2" errors="0" skipped="0">
    <testcase classname="quern.diff" name="Ir&gt;160">
      <failure type="limit" message="Ir was 180 and is 165 (-8.33%); most in f +10 at src/a.c:2 +10; fresh +5 at src/a.c:9 +5">Ir was 180 and is 165 (-8.33%); most in f +10 at src/a.c:2 +10; fresh +5 at src/a.c:9 +5</failure>
    </testcase>
    <testcase classname="quern.diff" name="f:Ir&gt;+1%">
      <failure type="limit" message="Ir was 150 and is 160 (+6.67%); most in f +10 at src/a.c:2 +10">Ir was 150 and is 160 (+6.67%); most in f +10 at src/a.c:2 +10</failure>
    </testcase>
    <testcase classname="quern.diff" name="Dr&gt;100">
      <system-out>Dr was 18 and is 15 (-16.67%)</system-out>
    </testcase>
  </testsuite>
</testsuites>'
    odd_profiles
    quern diff --to=junit -o report.xml --fail-if=$'operator|<a, "b&"> `c`\xff\x01:Ir>8' odd.7 odd.9
    [ "$status" = 1 ]
    python3 - << 'END'
import xml.etree.ElementTree as tree
suite, = tree.parse("report.xml").getroot()
assert suite.get("name") == '<&"\'>', suite.attrib
case, = suite
assert case.get("name") == 'operator|<a, "b&"> `c`\ufffd\ufffd:Ir>8', case.attrib
said = 'Ir was 7 and is 9 (+28.57%); most in operator|<a, "b&"> `c`\ufffd\ufffd +2 at /a b/%#.c:1 +2'
assert case[0].get("message") == case[0].text == said, case[0].attrib
END
    # A tab is kept, as a number: as itself it would become a blank.
    for n in 7 9; do printf 'events: Ir\nfl=a.c\nfn=a\tb\n1 %d\nsummary: %d\n' $n $n > tab.$n; done
    quern diff --to=junit --fail-if=$'a\tb:Ir>8' tab.7 tab.9
    [ "$status" = 1 ]
    [[ "$output" == *'name="a&#9;b:Ir&gt;8"'* ]]
    quern diff --to=junit old new
    [ "$status" = 2 ]
    same "$messages" "quern: --to=junit: each limit is a test; give one or more by --fail-if=LIMIT"
}

@test "sarif: what version 2.1.0 asks for, and where" {
    odd_profiles
    quern diff --to=sarif "${LIMITS[@]}" old new
    [ "$status" = 1 ]
    python3 - "$output" << 'END'
import json, sys
s = json.loads(sys.argv[1])
# Required: version and runs (3.13), tool (3.14), driver (3.18), name (3.19), message (3.27), and of
# a rule its id (3.49). A ruleId must be one of the rules here.
assert s["version"] == "2.1.0" and s["$schema"].endswith("sarif-2.1.0.json")
run, = s["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "quern"
rules = [r["id"] for r in driver["rules"]]
assert rules == ["limit", "increase"]
def place(r):
    l, = r["locations"]
    p = l["physicalLocation"]
    return (p["artifactLocation"]["uri"], p["region"]["startLine"],
            l["logicalLocations"][0]["fullyQualifiedName"])
got = [(r["ruleId"], r["level"], r["message"]["text"], place(r)) for r in run["results"]]
# f costs from its line 2 on; of the whole program f is what grew most.
assert got == [
    ("limit", "error", "Limit exceeded: Ir>160: Ir was 180 and is 165 (-8.33%); "
     "most in f +10 at src/a.c:2 +10; fresh +5 at src/a.c:9 +5.",
     ("src/a.c", 2, "f")),
    ("limit", "error", "Limit exceeded: f:Ir>+1%: Ir was 150 and is 160 (+6.67%); "
     "most in f +10 at src/a.c:2 +10.",
     ("src/a.c", 2, "f")),
    ("increase", "note", "f: Ir was 150 and is 160 (+6.67%).", ("src/a.c", 2, "f")),
    ("increase", "note", "fresh: Ir was 0 and is 5.", ("src/a.c", 9, "fresh")),
], got
END
    quern diff --to=sarif odd.7 odd.9
    python3 - "$output" << 'END'
import json, sys
r, = json.loads(sys.argv[1])["runs"][0]["results"]
assert r["message"]["text"] == 'operator|<a, "b&"> `c`\ufffd\x01: Ir was 7 and is 9 (+28.57%).', r
uri = r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
assert uri == "file:///a%20b/%25%23.c", uri
END
    # Below the folder where the sources are, a path is relative to it.
    sed "s|src/a.c|$PWD/src/a.c|" old > old.here
    sed "s|src/a.c|$PWD/src/a.c|" new > new.here
    quern diff --to=sarif old.here new.here
    [[ "$output" == *'"uri":"src/a.c"'* && "$output" != *"$PWD"* ]]
    quern diff --to=sarif old old
    [[ "$output" == *'"results":[]}]}' ]]
}

@test "a function that is gone: an error of the report, not a failure" {
    quern diff --to=junit --fail-if='gone:Ir>+1%' --fail-if='Ir<+0' --fail-if='f:Ir>+9%' old new
    [ "$status" = 2 ]
    same "$output" '<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="1">
  <testsuite name="./prog `x` | y" tests="3" failures="1" errors="1" skipped="0">
    <testcase classname="quern.diff" name="gone:Ir&gt;+1%">
      <error type="missing" message="new has no function '"'gone'"' any more">new has no function '"'gone'"' any more</error>
    </testcase>
    <testcase classname="quern.diff" name="Ir&lt;+0">
      <failure type="limit" message="Ir was 180 and is 165 (-8.33%); most in gone -30">Ir was 180 and is 165 (-8.33%); most in gone -30</failure>
    </testcase>
    <testcase classname="quern.diff" name="f:Ir&gt;+9%">
      <system-out>Ir was 150 and is 160 (+6.67%)</system-out>
    </testcase>
  </testsuite>
</testsuites>'
    quern diff --to=json --fail-if='gone:Ir>+1%' old new
    [ "$status" = 2 ]
    [[ "$output" == *'
{"limit":"gone:Ir>+1%","function":"gone","event":"Ir","old":30,"new":0,"exceeded":false,"missing":true,"where":[]}],'* ]]
    # At the file where it was.
    quern diff --to=sarif --fail-if='gone:Ir>+1%' old new
    [ "$status" = 2 ]
    python3 - "$output" << 'END'
import json, sys
error, *notes = json.loads(sys.argv[1])["runs"][0]["results"]
assert (error["ruleId"], error["level"]) == ("limit", "error"), error
assert error["message"]["text"] == \
    "Limit not checked: gone:Ir>+1%: new has no function 'gone' any more.", error
place, = error["locations"]
assert place == {"physicalLocation": {"artifactLocation": {"uri": "src/a.c"}},
                 "logicalLocations": [{"kind": "function", "fullyQualifiedName": "gone"}]}, place
END
}

@test "--to and the other options" {
    quern diff --to=html old new
    [ "$status" = 2 ]
    same "$messages" "quern: --to=html: must be text, markdown, json, junit or sarif"
    quern diff --to=json --by=line old new
    [ "$status" = 2 ]
    same "$messages" "quern: --by: --to prints functions only; leave it out for edges and lines"
    quern diff --to=json -o /no/such/folder/x old new
    [ "$status" = 2 ]
    [[ "$messages" == "quern: /no/such/folder/x: cannot be written: "* ]]
    quern diff old new
    text=$output
    quern diff --to=text old new
    same "$output" "$text"
}

@test "sarif: a function whose file is not known has no place in one" {
    sed 's|^fl=.*|fl=???|' old > old.lost
    sed 's|^fl=.*|fl=???|' new > new.lost
    quern diff --to=sarif old.lost new.lost
    python3 - "$output" << 'END'
import json, sys
results = json.loads(sys.argv[1])["runs"][0]["results"]
assert [r["message"]["text"] for r in results] == [
    "f: Ir was 150 and is 160 (+6.67%).", "fresh: Ir was 0 and is 5."], results
for r in results:
    place, = r["locations"]
    assert list(place) == ["logicalLocations"], place
END
}
