#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Names, commands and lines that a terminal would obey: what comes out, byte by byte, of each command
# that prints any. The forms are those of cli/base/text.h (tests/unit/cli/base/test_text.c).

load profile

# A function, its file, its object and the command, as the profile has them and as they are shown.
FN=$'f\033[31mred\r\xc2\x9b\xff'        FN_SHOWN='f\033[31mred\r\302\233\377'
FL=$'src/\xe2\x80\xaea.c'               FL_SHOWN='src/\342\200\256a.c'
OB=$'/lib/\x9b2J\xe2\x81\xa6.so'        OB_SHOWN='/lib/\2332J\342\201\246.so'
CMD=$'./prog \033]0;owned\a \xe2\x80\xa8quern: all is well' \
    CMD_SHOWN='./prog \033]0;owned\a \342\200\250quern: all is well'
EV=$'E\xe2\x81\xa9v'                     EV_SHOWN='E\342\201\251v'

# hostile COUNT [LINE...]: a profile in which the function costs COUNT; further lines at its end.
hostile() {
    printf '%s\n' '# callgrind format' 'version: 1' $'creator: \x7fmaker' "cmd: $CMD" \
        $'desc: Note: \x1b[2J' 'pid: 7' 'part: 1' "events: Ir $EV" "ob=$OB" "fl=$FL" "fn=$FN" "2 $1 5" \
        'fn=main' '9 10 1' "cfn=$FN" 'calls=1 2' "9 $1 5" "${@:2}" "totals: $(($1 + 10)) 6"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir src
    printf '\tone;\r\n\ttwo(\033[1m"\f\x9b");\r\nthree\xe2\x80\xa9' > "src/${FL#src/}"
    touch -d 2020-01-01 src/*
    hostile 100 > old
    hostile 120 > new
    # As the standards list them: tabs are for sources alone.
    cat > harmless.py << 'END'
import sys
data = open(sys.argv[1], "rb").read()
allowed = "\n" + sys.argv[2].encode().decode("unicode_escape") if len(sys.argv) > 2 else "\n"
for i, c in enumerate(data.decode()):
    n = ord(c)
    bad = n < 32 or 127 <= n < 160 or n in (0x61c, 0x200e, 0x200f, 0x2028, 0x2029) or \
        0x202a <= n <= 0x202e or 0x2066 <= n <= 0x2069
    if bad and c not in allowed:
        sys.exit("U+%04x at %d" % (n, i))
END
}

# Both streams of the last command. $1: characters beside the newline that may be in them.
harmless() {
    python3 harmless.py .out "$@" && python3 harmless.py .err
}

@test "annotate: preamble, functions, callers, source" {
    quern annotate --tree=both --inclusive=yes --context=1 old
    [ "$status" = 0 ]
    harmless '\t'
    same "$messages" ""
    same "$(sed -n '2p;4,6p;8p' .out)" "Profile data file 'old' (creator: \\177maker)
Note: \\033[2J
Profiled target:  $CMD_SHOWN (PID 7, part 1)
Events recorded:  Ir $EV_SHOWN
Event sort order: Ir $EV_SHOWN"
    grep -Fx "100 (90.91%) 5 (83.33%)  *  $FL_SHOWN:$FN_SHOWN [$OB_SHOWN]" .out
    grep -Fx "100 (90.91%) 5 (83.33%)  < $FL_SHOWN:main (1x) [$OB_SHOWN]" .out
    grep -Fx -- "-- Auto-annotated source: $FL_SHOWN" .out
    # A carriage return before a newline is the line's end.
    grep -F $'\ttwo(\\033[1m"\\f\\233");' .out
    grep -F 'three\342\200\251' .out
}

@test "annotate: missing sources, parts, a source newer than the profile" {
    touch -d 2019-01-01 old
    quern annotate old
    harmless '\t'
    grep -Fx "@ Source file '$FL_SHOWN' is more recent than input file 'old'." .out
    grep -Fx "@@ Counts were recorded for lines past the end of '$FL_SHOWN'." .out
    rm src/*
    quern annotate old
    harmless
    grep -Fx "  $FL_SHOWN" .out
    quern annotate old $'no\nquern: such\033file'
    [ "$status" = 2 ]
    same "$messages" 'quern: no\nquern: such\033file: no such source file, neither here nor below an --include directory'
    mv new $'n\033ew'
    quern merge --parts=yes -o both old $'n\033ew'
    quern annotate --by-part=yes --auto=no both
    harmless
    # Where libquern writes a name, a carriage return in it is a blank.
    grep -F " $FL_SHOWN:${FN_SHOWN/\\r/ } (old < n\033ew)" .out
}

@test "a name of a file does not make two lines of a message" {
    quern annotate $'gone\nquern: \033[2Jall is well'
    [ "$status" = 2 ]
    same "$messages" 'quern: gone\nquern: \033[2Jall is well: cannot be opened: No such file or directory'
    hostile 7 'junk' > $'bad\nname'
    quern annotate $'bad\nname'
    [ "$status" = 0 ]
    harmless '\t'
    same "$messages" 'quern: bad\nname:18: not a line of the format; ignored'
}

@test "messages longer than a page are whole" {
    long=--$(printf 'x%.0s' {1..9000})
    quern annotate "$long"$'\033'
    [ "$status" = 2 ]
    [ "$messages" = "quern: $long\\033: unknown option; \`quern annotate --help\` lists them" ]
    long=$(printf '\033%.0s' {1..3000})
    quern annotate "--$long"
    [ "$messages" = "quern: --${long//$'\033'/\\033}: unknown option; \`quern annotate --help\` lists them" ]
}

@test "check: the line that a remark quotes, and the caret below what is meant" {
    printf 'events: Ir\nfl=a.c\nfn=f\n1 2\ncalls=1\033 2\n3\t\xc3\xa9\x9b 7x\n' > p
    quern check p
    harmless '\t'
    # Byte 8 of the line, and behind its end: the one before it is as wide as it is shown.
    grep -Fx -A 2 'p:5:8: error: a target position was expected here [bad-number]' .out | tail -n 2 > place
    same "$(< place)" '  calls=1\033 2
         ^'
    grep -A 2 '^p:5:11:' .out | tail -n 1 > place
    same "$(< place)" '               ^'
    grep -A 2 '^p:6:3:' .out | tail -n 2 > place
    same "$(< place)" "$(printf '  3\t\303\251\\233 7x\n   \t^')"
    # A line is not cut within a character: 179 bytes of one, and two more of three each.
    { printf 'events: Ir\nfl=a.c\nfn=f\n1 2\n'; printf 'x%.0s' {1..179}; printf '\xe6\xbc\xa2\xe6\xbc\xa2\n'; } > p
    quern check p
    harmless
    same "$(sed -n 2p .out)" "  $(printf 'x%.0s' {1..179})"
}

@test "diff: text" {
    quern diff --by=function,edge,line old new
    [ "$status" = 0 ]
    harmless '\t'
    grep -Fx "Old profile:      old ($CMD_SHOWN)" .out
    grep -Fx "Events shown:     Ir $EV_SHOWN" .out
    grep -F " $FL_SHOWN:$FN_SHOWN" .out
    grep -F " $FL_SHOWN:main => $FL_SHOWN:$FN_SHOWN (1x -> 1x)" .out
    grep -Fx -- "-- Source: $FL_SHOWN" .out
    grep -F $'\ttwo(\\033[1m"\\f\\233");' .out
    rm src/*
    quern diff --by=line old new
    grep -Fx "  $FL_SHOWN" .out
    quern diff --fail-if="$FN:Ir>+1" old new
    [ "$status" = 1 ]
    same "$messages" "quern: limit exceeded: $FN_SHOWN:Ir>+1: Ir was 100 and is 120 (+20.00%); \
most in $FN_SHOWN +20 at $FL_SHOWN:2 +20"
}

@test "json, and what is lost in it: nothing but what is not UTF-8" {
    quern convert --to=json old
    [ "$status" = 0 ]
    harmless
    CMD=$CMD FL=$FL EV=$EV python3 - << 'END'
import json, os
d = json.load(open(".out"))
assert d["parts"][0]["cmd"] == os.environ["CMD"], d["parts"]
assert d["parts"][0]["desc"] == ["Note: \x1b[2J"], d["parts"]
assert d["events"][1]["name"] == os.environ["EV"], d["events"]
f = d["functions"][0]
assert f["file"] == os.environ["FL"] and f["name"] == "f\033[31mred\r\x9b\ufffd", f
assert f["object"] == "/lib/\ufffd2J\u2066.so", f
END
    for to in json sarif; do
        quern diff --to=$to --fail-if="$FN:Ir>+1" old new
        [ "$status" = 1 ]
        harmless
        python3 -c 'import json; json.load(open(".out"))'
    done
}

@test "junit: well-formed, and as XML can say it" {
    quern diff --to=junit --fail-if="$FN:Ir>+1" old new
    [ "$status" = 1 ]
    harmless
    python3 - << 'END'
import xml.etree.ElementTree as tree
suite, = tree.parse(".out").getroot()
assert suite.get("name") == "./prog \ufffd]0;owned\ufffd \u2028quern: all is well", ascii(suite.get("name"))
assert suite[0].get("name") == "f\ufffd[31mred\r\x9b\ufffd:Ir>+1", ascii(suite[0].get("name"))
END
}

@test "markdown: one line for each row, names in code, nothing else read as markup" {
    quern diff --to=markdown --fail-if="$FN:Ir>+1" old new
    [ "$status" = 1 ]
    harmless
    plain() { sed 's/[][\\]/\\&/g' <<< "$1"; }
    same "$(sed -n '1p;5,6p;10p;14p' .out)" "### \`$CMD_SHOWN\`
| \`Ir\` | 110 | 130 | +20 | +18.18% |
| \`$EV_SHOWN\` | 6 | 6 | 0 |  |
| \`$FN_SHOWN:Ir>+1\` | **exceeded** | Ir was 100 and is 120 (+20.00%); \
most in $(plain "$FN_SHOWN") +20 at $(plain "$FL_SHOWN"):2 +20 |
| +20 | 0 | \`$FL_SHOWN:$FN_SHOWN\` |"
    # The sentence of a limit names an event, which is no code.
    for n in 7 9; do printf 'events: <b>|_x_\nfl=a|b\\|`.c\nfn=f\n1 %d\nsummary: %d\n' $n $n > odd.$n; done
    quern diff --to=markdown --fail-if='<b>|_x_>8' odd.7 odd.9
    grep -Fx '| `<b>\|_x_>8` | **exceeded** | \<b\>\|\_x\_ was 7 and is 9 (+28.57%); most in f +2 at a\|b\\\|\`.c:1 +2 |' .out
    grep -Fx '| +2 | `` a\|b\\|`.c:f `` |' .out
}

@test "csv: names that people see, one line for each row, no formulas, numbers that are numbers" {
    quern convert --to=csv old
    [ "$status" = 0 ]
    harmless '\r'
    OB=$OB_SHOWN FL=$FL_SHOWN FN=$FN_SHOWN EV=$EV_SHOWN python3 - << 'END'
import csv, os
rows = list(csv.reader(open(".out", newline="")))
ob, fl, fn, ev = (os.environ[x] for x in ("OB", "FL", "FN", "EV"))
assert rows == [["object", "function_file", "function", "file", "line", "Ir", ev],
                [ob, fl, fn, fl, "2", "100", "5"], [ob, fl, "main", fl, "9", "10", "1"]], rows
END
    printf '%s\n' '# callgrind format' 'events: =Ir' 'fl=-a;b' 'fn==cmd|" /C calc"!A0' '1 -5' 'fn=+[A b]' '2 7' \
        'fn=@SUM(1)' '3 1' $'fn=x\ty' '4 1' $'fn=\xef\xbc\x9d1' '5 1' 'fn=a=b' '6 1' "fn='q" '7 1' 'totals: 6' > p
    quern convert --to=csv p
    same "$(tr -d '\r' < .out)" "object,function_file,function,file,line,\"'=Ir\"
,\"'-a;b\",\"'=cmd|\"\" /C calc\"\"!A0\",\"'-a;b\",1,-5
,\"'-a;b\",\"'+[A b]\",\"'-a;b\",2,7
,\"'-a;b\",\"'@SUM(1)\",\"'-a;b\",3,1
,\"'-a;b\",x\\ty,\"'-a;b\",4,1
,\"'-a;b\",\"'$(printf '\xef\xbc\x9d')1\",\"'-a;b\",5,1
,\"'-a;b\",a=b,\"'-a;b\",6,1
,\"'-a;b\",'q,\"'-a;b\",7,1"
    quern convert --to=csv --by=function p
    harmless '\r'
    quern convert --to=csv --by=edge old
    harmless '\r'
    grep -F "$OB_SHOWN,$FL_SHOWN,main,$OB_SHOWN,$FL_SHOWN,$FN_SHOWN,1,100,5" .out
}

@test "folded, dot, speedscope, pprof" {
    quern convert --to=folded old
    harmless
    same "$(sort .out)" "main 10
main;$FN_SHOWN 100"
    quern convert --to=speedscope old
    harmless
    python3 -c 'import json; json.load(open(".out"))'
    quern convert --to=dot --event="$EV" old
    harmless
    # Backslashes and quotes are the language's own there, and an ampersand begins a name.
    grep -Fx "    label=\"old: ${EV_SHOWN//\\/\\\\}\";" .out
    grep -F "[label=\"${FN_SHOWN//\\/\\\\}\\n" .out
    printf 'events: Ir\nfl=a\nfn="];x[\\"&#27;%s\xe6\xbc\xa2\xe6\xbc\xa2\n1 5\n' "$(printf 'x%.0s' {1..186})" > p
    quern convert --to=dot p
    harmless
    grep -F "[label=\"\\\"];x[\\\\\\\"&amp;#27;$(printf 'x%.0s' {1..186})\\n100.00%" .out
    quern convert --to=pprof -o pprof old
    python3 - "$FN_SHOWN" "$FL_SHOWN" "$EV_SHOWN" << 'END'
import gzip, sys
data = gzip.open("pprof").read()
for text in sys.argv[1:]:
    text = text.encode()
    assert b"\x32" + bytes([len(text)]) + text in data, text # field 6, string_table
END
}

# What a profile is written in is the format's; no line of it is made by a name.
@test "profiles keep the bytes of names" {
    quern convert --to=callgrind --keep-order=yes old
    [ "$status" = 0 ]
    grep -F "fn=(1) ${FN/$'\r'/ }" .out
    grep -F "fl=(1) $FL" .out
}
