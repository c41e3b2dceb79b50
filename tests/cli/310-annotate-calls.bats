#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern annotate on Callgrind profiles: inclusive cost, callers and callees, calls below source
# lines, instructions. tests/golden/calls.callgrind is the extended example of the format's
# specification.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
}

table() {
    printf '%s\n' "$output" | sed -n '/file:function$/,/^$/p'
}

@test "self cost" {
    quern annotate --auto=no --show-percs=no "$GOLDEN/calls.callgrind"
    [ "$status" = 0 ]
    same "$(table)" "Instructions  file:function
--------------------------------------------------------------------------------
         700   file2.c:func2 [???]
         100   file1.c:func1 [???]
          20   file1.c:main [???]" || same "$(table)" "Instructions  file:function
--------------------------------------------------------------------------------
         700  file2.c:func2 [???]
         100  file1.c:func1 [???]
          20  file1.c:main [???]"
}

@test "inclusive cost" {
    quern annotate --auto=no --inclusive=yes "$GOLDEN/calls.callgrind"
    [[ "$output" == *"
820 (100.0%)  file1.c:main [???]
700 (85.37%)  file2.c:func2 [???]
400 (48.78%)  file1.c:func1 [???]" ]]
}

# main costs 1 and calls a (40); a costs 10 and calls b (30), b costs 30 and calls a (5): 41, 40 and 35 when each is
# alone, 41, 40 and 40 as one cycle. A function's calls of itself add nothing.
@test "--cycles=no: the functions of a cycle one by one" {
    printf 'events: Ir\nfl=x.c\nfn=main\n1 1\ncfn=a\ncalls=1 2\n1 40\nfn=a\n2 10\ncfn=b\ncalls=2 3\n2 30\ncfn=a\ncalls=7 2\n2 9\n' >c.out
    printf 'fn=b\n3 30\ncfn=a\ncalls=1 2\n3 5\n' >>c.out
    quern annotate --auto=no --inclusive=yes --show-percs=no --cycles=yes c.out
    [[ "$output" != *"call each other"* ]]
    [[ "$output" == *"
41  x.c:main [???]
40  x.c:a [???] (cycle 1)
40  x.c:b [???] (cycle 1)"* ]]
    quern annotate --auto=no --inclusive=yes --show-percs=no --cycles=no c.out
    [ "$status" = 0 ]
    [[ "$output" == *"
41  x.c:main [???]
40  x.c:a [???]
35  x.c:b [???]"* ]]
    [[ "$output" != *"call each other"* ]]
}

# The cycle has 40 of 41, 97.6 %. In the second profile main costs 41 more, and the cycle has 40 of 82, 48.8 %.
@test "a cycle that is half of the program is opened, and that is said" {
    printf 'events: Ir\nfl=x.c\nfn=main\n1 1\ncfn=a\ncalls=1 2\n1 40\nfn=a\n2 10\ncfn=b\ncalls=2 3\n2 30\n' >c.out
    printf 'fn=b\n3 30\ncfn=a\ncalls=1 2\n3 5\n' >>c.out
    quern annotate --auto=no --inclusive=yes --show-percs=no c.out
    [ "$status" = 0 ]
    [[ "$output" == *"
A cycle of 2 functions, which call each other, has 97.6 % of the program: each has the cost
of its own calls, a call within the cycle at each level, so it may be more than 100 %
(--cycles=yes: all have that of the cycle).

--------------------------------------------------------------------------------
Ir  file:function
--------------------------------------------------------------------------------
41  x.c:main [???]
40  x.c:a [???]
35  x.c:b [???]"* ]]
    # Own costs hide nothing.
    quern annotate --auto=no --show-percs=no c.out
    [[ "$output" != *"call each other"* ]]
    # The other tool's output stays as it is; its user is told.
    "$BUILD/bin/callgrind_annotate" --auto=no --inclusive=yes --show-percs=no c.out >out 2>err
    [[ "$(<out)" == *"
40  x.c:a [???] (cycle 1)
40  x.c:b [???] (cycle 1)"* ]]
    [[ "$(<err)" == *": c.out: a cycle of 2 functions, which call each other, has 97.6 % of the program: --cycles=no shows what each of them costs" ]]
    "$BUILD/bin/callgrind_annotate" --auto=no --inclusive=yes --cycles=yes c.out >out 2>err
    [ ! -s err ]
    sed -i 's/^1 1$/1 42/' c.out
    quern annotate --auto=no --inclusive=yes --show-percs=no c.out
    [[ "$output" == *"
40  x.c:a [???] (cycle 1)
40  x.c:b [???] (cycle 1)"* ]]
    [[ "$output" != *"call each other"* ]]
}

@test "callers and callees" {
    quern annotate --auto=no --tree=both --threshold=100 --show-percs=no "$GOLDEN/calls.callgrind"
    [[ "$output" == *"
         400  < file1.c:main (3x) [???]
         300  < file1.c:func1 (2x) [???]
         700  *  file2.c:func2 [???]

         400  < file1.c:main (1x) [???]
         100  *  file1.c:func1 [???]
         300  >   file2.c:func2 (2x) [???]

          20  *  file1.c:main [???]
         400  >   file1.c:func1 (1x) [???]
         400  >   file2.c:func2 (3x) [???]" ]]
}

@test "a cycle costs what it costs once" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a' 'fn=even' '1 3' 'cfn=odd' 'calls=2 1' '1 50' \
        'fn=odd' '1 4' \
        'cfn=even' 'calls=2 1' '1 60' > p
    quern annotate --auto=no --inclusive=yes --show-percs=no --cycles=yes p
    [[ "$output" == *"
 7  a:even [???] (cycle 1)
 7  a:odd [???] (cycle 1)" ]]
}

@test "calls=0 is an edge, not self cost" {
    quern annotate --auto=no --show-percs=no "$GOLDEN/calls-zero.callgrind"
    [[ "$output" == *"
75  PROGRAM TOTALS"* ]]
    [[ "$output" == *"
70  a.c:f [???]
 5  a.c:main [???]" ]]
}

@test "calls stand below the line they are made from" {
    for i in $(seq 20); do echo "line $i"; done > file1.c
    quern annotate --show-percs=no --context=0 --threshold=100 "$GOLDEN/calls.callgrind"
    [[ "$output" == *"
          20  line 16
         400  => file1.c:func1 (1x)
         400  => file2.c:func2 (3x)
"* ]]
}

@test "names below the current folder are shown without it" {
    printf '%s\n' 'version: 1' 'events: Ir' "fl=$PWD/sub/a.c" 'fn=f' '1 3' > p
    quern annotate --auto=no --show-percs=no p
    [[ "$output" == *"
 3  sub/a.c:f [???]" ]]
}

@test "parts are summed" {
    quern annotate --auto=no --show-percs=no "$GOLDEN/parts.callgrind"
    [[ "$output" == *"
Parts summed:     2
"* ]]
    [[ "$output" == *"
10  PROGRAM TOTALS"* ]]
}

@test "--inclusive and --tree without calls: a warning" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a' 'fn=f' '1 3' > p
    quern annotate --auto=no --tree=both p
    [ "$status" = 0 ]
    same "$messages" "quern: p: the profile has no calls, so --inclusive and --tree show nothing \
more"
}

@test "--asm lists instructions of the object file" {
    printf '%s\n' '.text' '.globl _start' '_start: nop' 'mov $60,%eax' 'xor %edi,%edi' 'syscall' \
        'other: nop' 'nop' > a.S # not shown
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o a a.S
    printf '%s\n' 'version: 1' 'positions: instr line' 'events: Ir' "ob=$PWD/a" 'fl=a.S' \
        'fn=_start' \
        '0x401000 3 1' '+1 4 1' '+5 5 1' '+2 6 1' > p
    quern annotate --asm --auto=no --show-percs=no p
    [ "$status" = 0 ]
    [[ "$output" == *"
-- Instructions: a.S:_start [$PWD/a]
"*"
 1    401000:  nop  [line 3]
 1    401001:  mov    \$0x3c,%eax  [line 4]
 1    401006:  xor    %edi,%edi  [line 5]
 1    401008:  syscall  [line 6]" ]]
    same "$messages" ""
}

@test "--asm: more functions than descriptors" {
    {
        printf '%s\n' '.text' '.globl _start' '_start:'
        for i in {1..60}; do printf 'f%d: nop\n' "$i"; done
    } > a.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o a a.S
    {
        printf '%s\n' 'version: 1' 'positions: instr line' 'events: Ir' "ob=$PWD/a" 'fl=a.S'
        for i in {1..60}; do printf 'fn=f%d\n0x%x %d 1\n' "$i" $((0x401000 + i - 1)) "$((i + 3))"; done
    } > p
    ulimit -n 40
    quern annotate --asm --auto=no --show-percs=no --context=0 --threshold=100 p
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(grep -c ':  nop  \[line ' <<< "$output") $(grep -c 'addresses only' <<< "$output")" "60 0"
}

# Nops of one byte from 0x401000, a mov of five at 0x401014, f at 0x401020. Counts of one address are
# summed, calls from it told apart; two instructions are shown around each that has counts, dots where
# more are left out; 0x401015 is within an instruction. Columns are as wide as each function needs.
@test "--asm: context, calls, sums, and addresses that begin no instruction" {
    {
        printf '%s\n' '.text' '.globl _start' '_start:'
        printf 'nop\n%.0s' {1..20}
        printf '%s\n' 'mov $60,%eax' 'nop' '.skip 6, 0x90' '.globl f' 'f: nop' 'ret'
    } > a.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o a a.S
    printf '%s\n' 'version: 1' 'positions: instr line' 'events: Ir Dr' "ob=$PWD/a" 'fl=a.S' \
        'fn=_start' '0x401000 3 1000 1' '0x401001 4 20' 'cfn=f' 'calls=2 0x401020 30' '0x401001 4 6 2' \
        'cfn=g' 'calls=1 0x401030 40' '0x401001 4 7 3' '0x40100c 15 1' '0x401010 19 2' '0x401015 23 4' \
        'fn=f' '0x401020 30 4 2' '0x401021 31 2' 'fn=g' '0x401030 40 7 3' \
        'fn=_start' '0x401001 4 5 9' 'cfn=f' 'calls=3 0x401020 30' '0x401001 4 10 1' > p
    quern annotate --asm --auto=no --show-percs=no --context=2 --threshold=100 p
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(sed -n '/^-- Instr/,$p' <<< "$output" | grep -v '^---*$' | sed 's/ $/ |/')" \
"-- Instructions: a.S:_start [$PWD/a]
Ir    Dr |

1,000  1    401000:  nop  [line 3]
   25  9    401001:  nop  [line 4]
   16  3  => a.S:f (5x)
    7  3  => a.S:g (1x)
    .  .    401002:  nop
    .  .    401003:  nop
   ...
    .  .    40100a:  nop
    .  .    40100b:  nop
    1  .    40100c:  nop  [line 15]
    .  .    40100d:  nop
    .  .    40100e:  nop
    .  .    40100f:  nop
    2  .    401010:  nop  [line 19]
    .  .    401011:  nop
    .  .    401012:  nop
    4  .    401015:  (not in the object file)  [line 23]

-- Instructions: a.S:g [$PWD/a]
Ir Dr |

 7  3    401030:    [line 40]

-- Instructions: a.S:f [$PWD/a]
Ir Dr |

 4  2    401020:  nop  [line 30]
 2  .    401021:  ret  [line 31]"
    # None around them: dots wherever one is left out.
    quern annotate --asm --auto=no --show-percs=no --context=0 p
    same "$(grep -E '^ +\.\.\.|4010' <<< "$output")" "\
1,000  1    401000:  nop  [line 3]
   25  9    401001:  nop  [line 4]
   ...
    1  .    40100c:  nop  [line 15]
   ...
    2  .    401010:  nop  [line 19]
    4  .    401015:  (not in the object file)  [line 23]
 7  3    401030:    [line 40]"
}

@test "--asm without addresses, or without the object" {
    quern annotate --asm "$GOLDEN/calls.callgrind"
    [ "$status" = 2 ]
    [[ "$messages" == *"--asm needs a profile with addresses (--dump-instr=yes)" ]]
    printf '%s\n' 'version: 1' 'positions: instr' 'events: Ir' 'ob=/nowhere' 'fl=a' 'fn=f' \
        '0x10 3' > p
    quern annotate --asm --auto=no --show-percs=no p
    [[ "$output" == *"(the object file is not there: addresses only)"*"
 3        10:  " ]]
}

@test "callgrind_annotate takes the first callgrind.out of the folder" {
    cp "$GOLDEN/calls.callgrind" callgrind.out.7
    cp "$GOLDEN/simple.callgrind" callgrind.out.8
    as callgrind_annotate --auto=no
    [[ "$output" == *"Profile data file 'callgrind.out.7'"* ]]
}

@test "--threshold: until so much of the total is listed" {
    # 60, 30 and 10 of 100: 60 is enough for 60, and 61 needs one more.
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=x.c' 'fn=f' '1 60' 'fn=g' '2 30' 'fn=h' '3 10' > prof
    while read -r threshold names; do
        quern annotate --auto=no --threshold="$threshold" prof
        [ "$status" = 0 ]
        same "$(grep -o 'x.c:[fgh]' <<< "$output" | tr '\n' ' ')" "$names " ||
            { echo "# $threshold"; return 1; }
    done << 'END'
1 x.c:f
60 x.c:f
61 x.c:f x.c:g
90 x.c:f x.c:g
91 x.c:f x.c:g x.c:h
100 x.c:f x.c:g x.c:h
END
}

@test "calls of two sources: each below its own line" {
    printf 'one\ntwo\n' > a.c
    printf 'first\nsecond\n' > b.c
    # Line 2 of a.c calls g three times, line 1 of b.c five times, line 2 once.
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=b.c' 'fn=h' '1 4' 'cfi=a.c' 'cfn=g' 'calls=5 1' '1 50' \
        'cfi=a.c' 'cfn=g' 'calls=1 1' '2 10' 'fl=a.c' 'fn=f' '2 3' 'cfn=g' 'calls=3 1' '2 30' \
        'fn=g' '1 90' > prof
    touch -d 2020-01-01 a.c b.c
    quern annotate --auto=yes --tree=calling --show-percs=no prof
    [ "$status" = 0 ]
    same "$(grep -A1 -E '(one|two|first|second)$' <<< "$output" | grep -v '^--')" \
        "90  one
 3  two
30  => a.c:g (3x)
 4  first
50  => a.c:g (5x)
 .  second
10  => a.c:g (1x)"
}

@test "calls far apart, of lines without costs of their own" {
    seq -f 'line %g' 90 > s.c
    touch -d 2020-01-01 s.c
    printf '%s\n' 'events: Ir' 'fl=s.c' 'fn=f' '1 5' 'cfn=g' 'calls=2 1' '20 30' 'cfn=g' 'calls=1 1' '40 10' \
        'cfn=g' 'calls=4 1' '60 40' 'fn=g' '80 80' > p
    quern annotate --context=0 --threshold=0 --show-percs=no p
    [[ "$output" == *"
 5  line 1
-- line 1 ----------------------------------------
-- line 20 ----------------------------------------
 .  line 20
30  => s.c:g (2x)
-- line 20 ----------------------------------------
-- line 40 ----------------------------------------
 .  line 40
10  => s.c:g (1x)
-- line 40 ----------------------------------------
-- line 60 ----------------------------------------
 .  line 60
40  => s.c:g (4x)
-- line 60 ----------------------------------------
-- line 80 ----------------------------------------
80  line 80
-- line 80 ----------------------------------------
"* ]]
}
