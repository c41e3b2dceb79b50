#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern convert: each format from the extended example of the specification
# (tests/golden/calls.callgrind).

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    CALLS=$GOLDEN/calls.callgrind
}

@test "cachegrind" {
    quern convert --to=cachegrind "$CALLS"
    same "$(ends)" "cmd: |
events: Instructions
fl=file1.c
fn=func1
51 100
fn=main
16 20
fl=file2.c
fn=func2
20 700
summary: 820"
}

@test "callgrind, the portable form" {
    quern convert --to=callgrind --portable "$GOLDEN/jump-names.callgrind"
    same "$output" "# callgrind format
version: 1
creator: test
positions: line
events: Ir
summary: 7

fl=a.c
fn=f
10 4
11 1

fl=b.h
fn=g
3 2

totals: 7"
}

@test "callgrind keeps jumps, parts and order when asked" {
    quern convert --to=callgrind --keep-order=yes "$GOLDEN/jump-names.callgrind"
    [[ "$output" == *"
10 4
jfi=(2) b.h
jfn=(2) g
jump=1 -7
*
+1 1
"* ]]
    quern convert --to=callgrind "$GOLDEN/parts.callgrind"
    [[ "$output" == *"part: 1
"*"part: 2
thread: 3
"* ]]
    quern convert --to=callgrind --combine-parts=yes "$GOLDEN/parts.callgrind"
    [[ "$output" != *"part: 2"* ]]
    [[ "$output" == *"totals: 10" ]]
}

@test "callgrind without compression" {
    quern convert --to=callgrind --compress-strings=no --compress-pos=no \
        "$GOLDEN/name-compression.callgrind"
    [[ "$output" != *"(1)"* ]]
    [[ "$output" == *"
fn=func1
51 100
cfi=file2.c
cfn=func2
calls=2 20
51 300
"* ]]
}

@test "json" {
    quern convert --to=json "$CALLS"
    [ "$status" = 0 ]
    printf '%s' "$output" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["format"] == "quern-profile" and j["version"] == 1
assert [e["name"] for e in j["events"]] == ["Instructions"] and j["totals"] == [820]
f = {x["name"]: (x["self"], x["inclusive"], x["called"]) for x in j["functions"]}
assert f == {"main": ([20], [820], 0), "func1": ([100], [400], 1), "func2": ([700], [700], 5)}, f
n = [x["name"] for x in j["functions"]]
e = {(n[x["caller"]], n[x["callee"]]): (x["calls"], x["inclusive"]) for x in j["edges"]}
assert e == {("main", "func1"): (1, [400]), ("main", "func2"): (3, [400]),
             ("func1", "func2"): (2, [300])}, e
assert sum(l["self"][0] for l in j["lines"]) == 820
assert all(list(l) == ["part", "function", "file", "line", "self"] for l in j["lines"])'
    # Addresses where the profile has them.
    printf '%s\n' 'positions: instr line' 'events: Ir' 'fl=a.c' 'fn=f' '0x1000 7 5' > p
    quern convert --to=json p
    [[ "$output" == *'"file":"a.c","line":7,"addr":4096,"self":[5]}'* ]]
}

@test "json: any bytes, fractions, no lines" {
    quern convert --to=json --lines=no "$GOLDEN/latin1.callgrind"
    printf '%s' "$output" | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["functions"][0]["name"] == "f\ufffd" and "lines" not in j'
    quern convert --to=json "$GOLDEN/pprofile.callgrind"
    printf '%s' "$output" | python3 -c \
        'import json, sys; assert json.load(sys.stdin)["totals"] == [3, 7, 5.5]'
}

# Table 3-7 of the Unicode standard: the first and the last sequences of each length are kept; of what
# is overlong, a surrogate or behind U+10FFFF each byte becomes U+FFFD: 2, 3, 4 and 3 of them.
@test "json: UTF-8, and what looks like it" {
    printf 'events: Ir\nfl=a.c\nfn=\xc2\x80\xdf\xbf\xe0\xa0\x80\xe2\x81\x80\xed\x9f\xbf\xf0\x90\x80\x81\xf4\x8f\xbf\xbf|' > p
    printf '\xc1\xbf\xed\xa0\x80\xf4\x90\x80\x80\xe0\x81\x80\n1 5\nsummary: 5\n' >> p
    quern_to out convert --to=json p
    [ "$status" = 0 ]
    python3 - << 'END'
import json
name = json.load(open("out"))["functions"][0]["name"]
assert name == "\x80\u07ff\u0800\u2040\ud7ff\U00010001\U0010ffff|" + 12 * "\ufffd", ascii(name)
END
}

@test "csv" {
    quern convert --to=csv "$CALLS"
    same "$(printf '%s' "$output" | tr -d '\r')" \
        "object,function_file,function,file,line,Instructions
,file1.c,main,file1.c,16,20
,file1.c,func1,file1.c,51,100
,file2.c,func2,file2.c,20,700"
    quern convert --to=csv --by=edge "$CALLS"
    [[ "$output" == *",file1.c,main,,file2.c,func2,3,400"* ]]
    quern convert --to=csv --by=function "$CALLS"
    [[ "$output" == *",file1.c,main,0,0,inclusive,820"* ]]
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a' 'fn=f<int, "x">' '1 3' > p
    quern convert --to=csv p
    [[ "$output" == *',a,"f<int, ""x"">",a,1,3'* ]]
    # Named is no column as long as it is neither counted nor computed; Sum is 3 + 2 * 4.
    printf '%s\n' 'version: 1' 'event: Named : with a name alone' 'event: Sum = Ir + 2 Dr' 'events: Ir Dr' \
        'fl=a' 'fn=f' '1 3 4' > p
    quern convert --to=csv p
    same "$(printf '%s' "$output" | tr -d '\r')" "object,function_file,function,file,line,Ir,Dr,Sum
,a,f,a,1,3,4,11"
}

@test "folded: sums are exact, and it says that stacks are estimated" {
    quern convert --to=folded "$CALLS"
    same "$messages" "quern: $CALLS: call stacks are estimated from the call graph, which does \
not hold them"
    same "$(printf '%s\n' "$output" | sort)" "main 20
main;func1 100
main;func1;func2 300
main;func2 400"
}

# mid has no costs of its own: no stack ends in it, though two lead through it. Its callee's 40 are
# shared as the calls of mid are, 20 to 20.
@test "folded: a function without costs of its own ends no stack" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c' 'fn=main' '1 10' 'cfn=mid' 'calls=1 1' '2 20' \
        'cfn=x' 'calls=1 1' '3 25' 'fn=x' '1 5' 'cfn=mid' 'calls=1 1' '2 20' \
        'fn=mid' 'cfn=leaf' 'calls=2 1' '1 40' 'fn=leaf' '1 40' 'totals: 55' > p
    quern convert --to=folded p
    [ "$status" = 0 ]
    same "$(sort <<< "$output")" "main 10
main;mid;leaf 20
main;x 5
main;x;mid;leaf 20"
}

# A chain of 503 functions that cost 1 each: a stack has at most 500 frames, and what lies deeper stands
# alone.
@test "folded: deeper than 500 calls" {
    {
        printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c'
        for i in {1..502}; do printf 'fn=f%d\n1 1\ncfn=f%d\ncalls=1 1\n1 %d\n' $i $((i + 1)) $((503 - i)); done
        printf '%s\n' 'fn=f503' '1 1' 'totals: 503'
    } > p
    quern convert --to=folded p
    [ "$status" = 0 ]
    same "$(awk '{ print split($1, frames, ";"), frames[1], $2 }' <<< "$output" | sort -n | sed -n '1,4p;$p')" "1 f1 1
1 f501 1
1 f502 1
1 f503 1
500 f1 1"
    same "$(wc -l <<< "$output")" 503
}

@test "folded: recursion ends" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a' 'fn=even' '1 3' 'cfn=odd' 'calls=2 1' '1 50' \
        'fn=odd' '1 4' \
        'cfn=even' 'calls=2 1' '1 60' 'cfn=odd' 'calls=1 1' '1 9' > p
    quern convert --to=folded p
    [ "$(printf '%s\n' "$output" | awk '{ s += $NF } END { print s }')" = 7 ]
}

@test "speedscope" {
    quern convert --to=speedscope "$CALLS"
    printf '%s' "$output" | python3 -c '
import json, sys
j = json.load(sys.stdin)
p = j["profiles"][0]
names = [f["name"] for f in j["shared"]["frames"]]
stacks = {";".join(names[i] for i in s): w for s, w in zip(p["samples"], p["weights"])}
assert stacks == {"main": 20, "main;func1": 100, "main;func1;func2": 300, "main;func2": 400}, stacks
assert p["endValue"] == 820 and "estimated" in p["name"]'
}

@test "pprof" {
    quern_to out convert --to=pprof "$CALLS"
    python3 -c '
import gzip
def varint(d, i):
    v = s = 0
    while True:
        b = d[i]; i += 1; v |= (b & 127) << s; s += 7
        if b < 128: return v, i
def fields(d):
    i = 0
    while i < len(d):
        k, i = varint(d, i)
        if k & 7 == 0: v, i = varint(d, i)
        else: n, i = varint(d, i); v = d[i:i + n]; i += n
        yield k >> 3, v
def packed(d):
    i, out = 0, []
    while i < len(d): v, i = varint(d, i); out.append(v)
    return out
top = list(fields(gzip.open("out").read()))
strings = [v.decode() for k, v in top if k == 6]
names = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for k, v in top if k == 5}
# Number, name, the name as it is in the object, file.
files = {"main": "file1.c", "func1": "file1.c", "func2": "file2.c"}
for f in (dict(fields(v)) for k, v in top if k == 5):
    assert sorted(f) == [1, 2, 3, 4] and f[2] == f[3] and strings[f[4]] == files[strings[f[2]]], f
stacks = {";".join(names[i] for i in reversed(packed(s[1]))): packed(s[2])
          for s in (dict(fields(v)) for k, v in top if k == 2)}
assert strings[0] == "" and stacks == {"main": [20], "main;func1": [100], "main;func1;func2": [300],
                                       "main;func2": [400]}, stacks
assert [strings[dict(fields(v))[1]] for k, v in top if k == 1] == ["Instructions"]
assert [strings[v] for k, v in top if k == 14] == ["Instructions"]' # shown first
}

@test "pprof: the event that is shown first" {
    printf 'events: A B C\nfl=a.c\nfn=f\n1 5 7 300\nsummary: 5 7 300\n' > prof
    # Strings 0 to 2 are no events; field 14 with 3 or 4 is the end of the message.
    for event in A B; do
        quern_to out convert --to=pprof --event=$event prof
        gunzip -c out | tail -c 2 | od -An -tu1 >> last
    done
    same "$(< last)" " 112   3
 112   4"
    quern_to out convert --to=pprof prof
    go version > log 2>&1 || skip "there is no go"
    HOME=$PWD go tool pprof -top out > top 2> log
    grep -x 'Type: A' top
}

# Two functions in one file, a line of a header inlined in both, and names that a line could not hold.
lcov_profile() {
    printf '%s\n' 'events: Ir Dr' 'fl=a.c' 'fn=f(int, char*)' '4 40 1' '3 30 0' 'fi=b.h' '9 5 0' 'fe=a.c' \
        'cfn=g' 'calls=7 8' '5 100 9' 'fn=g' '8 90 9' 'fi=b.h' '9 10 0' 'fl=???' 'fn=lost' '0 6 0' \
        'fl=line' 'fn=cr' '1 2 0' > prof
    sed -i 's/^fn=cr/fn=c\x01r/; s/^fl=line/fl=li\x1bne.c/' prof
}

@test "lcov" {
    lcov_profile
    quern convert --to=lcov prof
    [ "$status" = 0 ]
    same "$output" 'TN:
SF:a.c
FN:3,f(int, char*)
FN:8,g
FNDA:1,f(int, char*)
FNDA:7,g
FNF:2
FNH:2
DA:3,30
DA:4,40
DA:8,90
LF:3
LH:3
end_of_record
TN:
SF:b.h
FNF:0
FNH:0
DA:9,15
LF:1
LH:1
end_of_record
TN:
SF:li\033ne.c
FN:1,c\001r
FNDA:1,c\001r
FNF:1
FNH:1
DA:1,2
LF:1
LH:1
end_of_record'
    # Of another event, and of one with fractions: whole counts above 0.
    quern convert --to=lcov --event=Dr prof
    same "$(grep -E '^(SF|DA|LF)' <<< "$output")" 'SF:a.c
DA:4,1
DA:8,9
LF:2'
    printf 'events: T\nfl=a\nfn=f\n1 1.5\n2 0.5\n' > part
    quern convert --to=lcov part
    same "$(grep ^DA <<< "$output")" DA:1,1
}

@test "lcov reads it, genhtml shows it" {
    lcov --version > log 2>&1 || skip "there is no lcov"
    lcov_profile
    sed -i '/^fl=li/,$d' prof
    seq 20 | sed 's/^/line /' | tee a.c > b.h
    quern_to prof.info convert --to=lcov prof
    lcov --summary prof.info > said 2>&1
    grep -F 'lines......: 100.0% (4 of 4 lines)' said
    grep -F 'functions..: 100.0% (2 of 2 functions)' said
    genhtml -q -o html prof.info
    grep -E '> +90 : line 8<' html/*/a.c.gcov.html
}

@test "github-benchmark and bencher: totals, as their formats ask for" {
    printf '%s\n' 'cmd: ./bench "x"' 'event: Ir : Instruction Fetch' 'events: T Ir' 'fl=a.c' 'fn=f' \
        '1 1.5 18014398509481985' > prof
    quern convert --to=github-benchmark prof
    same "$output" '[
{"name":"./bench \"x\": T","unit":"T","value":1.5},
{"name":"./bench \"x\": Ir","unit":"Instruction Fetch","value":18014398509481985}]'
    # What the action reads: name, unit and value of each entry.
    python3 -c 'import json, sys
for e in json.load(sys.stdin):
    assert type(e["name"]) is str and type(e["unit"]) is str and type(e["value"]) in (int, float), e' <<< "$output"
    quern convert --to=bencher prof
    same "$output" '{"./bench \"x\"":{
"T":{"value":1.5},
"Ir":{"value":18014398509481985}}}'
    quern convert --to=bencher --name=hash --event=Ir prof
    same "$output" '{"hash":{
"Ir":{"value":18014398509481985}}}'
    quern convert --to=github-benchmark --name=hash --event=Ir prof
    same "$output" '[
{"name":"hash: Ir","unit":"Instruction Fetch","value":18014398509481985}]'
    # Without a command: the name of the file. At most 1,024 bytes, of whole characters.
    sed -i /^cmd:/d prof
    quern convert --to=bencher ./prof
    [[ "$output" == '{"prof":{'* ]]
    quern convert --to=bencher --name="$(printf 'é%.0s' {1..600})" prof
    [ "$(head -n 1 <<< "$output")" = "{\"$(printf 'é%.0s' {1..512})\":{" ]
}

@test "bencher: valid by the schema that the Bencher Metric Format publishes" {
    python3 -c 'import jsonschema' 2> log || skip "there is no jsonschema of Python"
    quern_to out convert --to=bencher "$CALLS"
    # Objects in an object in one, the innermost with a number called value.
    python3 - << 'END'
import json, jsonschema
number = {"type": "number"}
metric = {"type": "object", "required": ["value"],
          "properties": {"value": number, "lower_value": number, "upper_value": number}}
schema = {"type": "object", "patternProperties": {
    ".+": {"type": "object", "patternProperties": {".+": metric}}}}
jsonschema.validate(json.load(open("out")), schema)
END
}

@test "dot" {
    quern convert --to=dot "$CALLS"
    [[ "$output" == "digraph profile {"* ]]
    [[ "$output" == *"label=\"$CALLS: Instructions\";"* ]]
    [[ "$output" == *'label="main\n100.00%\nself 2.44%"'* ]]
    [[ "$output" == *'label="48.78%\n3x"'* ]]
    quern convert --to=dot --threshold=50 "$CALLS"
    [[ "$output" != *func1* ]]
    cp "$CALLS" 'a "b\c'
    quern convert --to=dot 'a "b\c'
    [[ "$output" == *'label="a \"b\\c: Instructions";'* ]]
}

@test "an output that cannot be written leaves nothing behind" {
    quern convert --to=json -o nofolder/x "$CALLS"
    [ "$status" = 2 ]
    same "$messages" "quern: nofolder/x: cannot be written: No such file or directory"
    quern convert --to=json -o /dev/full "$CALLS"
    [ "$status" = 2 ]
    same "$messages" "quern: /dev/full: cannot be written: No space left on device"
    for format in callgrind cachegrind csv json dot; do
        quern_to /dev/full convert --to=$format "$CALLS"
        [ "$status" = 2 ]
        same "$messages" "quern: standard output: cannot be written: No space left on device"
    done
}

@test "every format is written where a link points, and the mode stays" {
    for format in callgrind cachegrind json csv folded dot pprof speedscope lcov github-benchmark bencher; do
        mkdir $format
        echo old > $format/target
        chmod 640 $format/target
        ln $format/target $format/before
        ln -s target $format/link
        quern convert --to=$format -o $format/link "$CALLS"
        [ "$status" = 0 ]
        same "$(readlink $format/link)" target
        same "$(stat -c %a $format/target)" 640
        [ "$(wc -l < $format/target)" != 1 ]
        # Renamed, not overwritten: another name of the old file still has what it had.
        same "$(cat $format/before)" old
        same "$(ls $format)" "before
link
target"
    done
}

@test "a new file has the mode that the umask leaves" {
    for format in callgrind json; do
        umask 027
        quern convert --to=$format -o $format "$CALLS"
        same "$(stat -c %a $format)" 640
    done
}

@test "nonsense" {
    quern convert "$CALLS"
    same "$messages" "quern: --to=FORMAT is missing; 'quern convert --help' lists the formats"
    [ "$status" = 2 ]
    quern convert --to=xml "$CALLS"
    [ "$status" = 2 ]
    quern convert --to=json --event=Nope "$CALLS"
    same "$messages" "quern: --event=Nope: the profile has no such event"
    [ "$status" = 2 ]
}

@test "callgrind: functions of one name in two objects, and in each part, have ids of their own" {
    # KCachegrind binds a function's id to the object and file it is defined in, and forgets ids at
    # a new part
    printf '%s\n' 'version: 1' 'part: 1' 'events: Ir' 'ob=a' 'fl=x.c' 'fn=f' '1 2' 'ob=b' 'fn=f' \
        '1 3' \
        'part: 2' 'events: Ir' 'ob=b' 'fl=x.c' 'fn=f' '1 4' > two
    quern convert --to=callgrind two
    [ "$status" = 0 ]
    same "$output" "# callgrind format
version: 1
creator: quern
part: 1
positions: line
events: Ir
summary: 5

ob=(1) a
fl=(1) x.c
fn=(1) f
1 2

ob=(2) b
fn=(2) f
* 3

totals: 5

part: 2
positions: line
events: Ir
summary: 4

ob=(2) b
fl=(1) x.c
fn=(2) f
1 4

totals: 4"
}

# g costs nothing of the first event, by which stacks are found: it has one of its own for the second.
@test "pprof: a function that costs nothing of the event shown" {
    printf '%s\n' 'version: 1' 'events: A B' 'fl=a.c' 'fn=f' '1 5 0' 'fn=g' '2 0 7' 'totals: 5 7' > prof
    quern_to out convert --to=pprof prof
    [ "$status" = 0 ]
    # Samples: location 1 with 5 and 0, location 2 with 0 and 7.
    [[ "$(gunzip -c out | od -An -v -tx1 | tr -d ' \n')" == *12070a01011202050012070a010212020007* ]]
}

@test "pprof: every event of a sample" {
    printf 'events: A B C\nfl=a.c\nfn=f\n1 5 7 300\nsummary: 5 7 300\n' > prof
    quern_to out convert --to=pprof prof
    [ "$status" = 0 ]
    # Sample: location ids 1, then values 5, 7 and 300, which has two bytes.
    [[ "$(gunzip -c out | od -An -v -tx1 | tr -d ' \n')" == *0a010112040507ac02* ]]
}

@test "names that look like ids are read as they were written, by callgrind_annotate, too" {
    command -v callgrind_annotate > /dev/null || skip "no callgrind_annotate here"
    printf '%s\n' 'version: 1' 'events: A' 'ob=(1) (8) o' 'fl=(1) (9)' 'fn=(1) (5)' '1 10' \
        'fn=(2) (7) seven' '2 20' > names
    for compress in yes no; do
        quern convert --to=callgrind --compress-strings=$compress -o out names
        [ "$status" = 0 ]
        same "$(callgrind_annotate out | sed -n 's/^\([12]0\) ([0-9.]*%)  /\1 /p')" "20 (9):(7) seven [(8) o]
10 (9):(5) [(8) o]"
        quern convert --to=json out
        same "$(grep -oE '"name": *"[^"]*(5|7)[^"]*"' <<< "$output" | sort)" '"name":"(5)"
"name":"(7) seven"'
    done
}

# One that is named is among them as soon as it is counted or computed.
@test "json: the events, in their order" {
    printf '%s\n' 'version: 1' 'event: Named : with a name alone' 'event: Ir : Instructions' \
        'event: Sum = Ir + 2 Dr : Both' 'events: Ir Dr' 'fl=a' 'fn=f' '1 3 4' > p
    quern convert --to=json p
    [ "$status" = 0 ]
    python3 -c 'import json, sys
got = [tuple(e.values()) for e in json.load(open(sys.argv[1]))["events"]]
assert got == [("Ir", "Instructions", None), ("Dr", None, None), ("Sum", "Both", "Ir + 2 Dr")], got
assert json.load(open(sys.argv[1]))["totals"] == [3, 4]' .out
}
