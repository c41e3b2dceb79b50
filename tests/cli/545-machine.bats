#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --machine: which file is taken, what of it is simulated, and what is refused. What a file may say
# is tests/unit/machine's.

load run

# $1: the machine's title; the rest: lines of [match]. Three levels, each with a replacement of its own.
machine_file() {
    printf '%s\n' '[machine]' "title = $1" '[match]' "${@:2}" \
        '[L1I]' 'size = 32 KiB' 'ways = 8' 'line = 64' 'replacement = lru' \
        '[L1D]' 'size = 48 KiB' 'ways = 12' 'line = 64' 'replacement = lru' \
        '[L2]' 'size = 2 MiB' 'ways = 16' 'line = 64' 'replacement = plru' \
        '[LL]' 'size = 60 MiB' 'ways = 15' 'line = 64' 'replacement = srrip' 'filling = victim'
}

two_levels() {
    machine_file Two | sed -e '/^\[match\]/d' -e '/^\[L2\]/,/^replacement/d' -e 's/victim/miss/'
}

# A copy of quern that has only the machines of ./share/quern/machines.
own_machines() {
    mkdir -p bin libexec share/quern/machines
    cp "$BUILD/bin/quern" bin/quern
    ln -s "$BUILD/libexec/quern" libexec/quern
    QUERN=$PWD/bin/quern
}

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
}

# The line about caches.
caches() {
    grep -F '== Caches: ' <<< "$messages"
}

# The options are refused with this message.
refused() {
    quern run "${@:2}"
    same "$messages" "quern: $1"
    [ "$status" = 2 ]
    same "$output" ""
}

@test "the shipped machines are listed" {
    own_machines
    machine_file 'The first' 'vendor = NoSuchVendor' 'family = 6' 'models = 1' > share/quern/machines/b-one.machine
    two_levels > share/quern/machines/a-two.machine
    touch share/quern/machines/README
    quern run --machine=list
    [ "$status" = 0 ]
    same "$messages" ""
    same "$output" "a-two             Two
b-one             The first"
    # quern-whole looks beside itself
    QUERN=$BUILD/bin/quern
    quern run --machine=list
    want=$output
    quern stat --machine=list
    same "$output" "$want"
}

@test "which of them is this processor's" {
    own_machines
    value() { sed -n "s/^$1[[:blank:]]*: //p" /proc/cpuinfo | head -n 1; }
    machine_file 'This one' "vendor = $(value vendor_id)" "family = $(value 'cpu family')" \
        "models = $(value model)" > share/quern/machines/mine.machine
    machine_file 'Another' 'vendor = NoSuchVendor' 'family = 6' 'models = 1' > share/quern/machines/a.machine
    quern run --machine=list
    same "$output" "a                 Another
mine              This one (native)"
    make_prog
    quern run --machine=native ./prog
    [ "$status" = 0 ]
    [[ "$(caches)" == *"; from machine mine and CPUID" ]]
}

# The X5550 of --cpu=x86-64-v2: 32 KiB of 4 ways, 32 KiB of 8, 256 KiB of 8, 8 MiB of 16. An eighth
# of the file's L2 is not one of such a processor.
@test "native is the processor that --cpu shows, and takes its caches" {
    grep -qw sse4_2 /proc/cpuinfo || skip "this processor has no sse4_2"
    own_machines
    make_prog
    script << 'END'
say machine
end exit 0
END
    machine_file Nehalem 'vendor = GenuineIntel' 'family = 6' 'models = 0x1a' > share/quern/machines/x.machine
    quern run --cpu=x86-64-v2 --machine=list
    same "$output" "x                 Nehalem (native)"
    quern run --cpu=x86-64-v2 --machine=native ./prog
    [ "$status" = 0 ]
    same "$(sed -n 3,4p <<< "$messages")" "==PID== Caches: I1 32,768 B, 4-way, 64 B lines; \
D1 32,768 B, 8-way, 64 B lines; L2 2,097,152 B, 16-way, 64 B lines, plru; \
LL 8,388,608 B, 16-way, 64 B lines, srrip, victim; from machine x and CPUID
==PID== L2 cache of 262,144 B, 8-way, 64 B lines, by CPUID, is not one of such a processor; \
simulating that of machine x: 2,097,152 B, 16-way, 64 B lines"
    same "$output" "L2 'x' 2097152,16,64 1 2 1"
    # An option says more than CPUID.
    quern run --cpu=x86-64-v2 --machine=native --I1=16384,4,64 --LL=4194304,16,64 ./prog
    same "$(sed -n 3p <<< "$messages")" "==PID== Caches: I1 16,384 B, 4-way, 64 B lines (given); \
D1 32,768 B, 8-way, 64 B lines; L2 2,097,152 B, 16-way, 64 B lines, plru; \
LL 4,194,304 B, 16-way, 64 B lines, srrip, victim (given); the others from machine x and CPUID"
}

@test "native, and no file fits" {
    own_machines
    make_prog
    machine_file Nehalem 'vendor = GenuineIntel' 'family = 6' 'models = 0x1b' > share/quern/machines/x.machine
    refused "--machine=native: no machine fits the processor that --cpu=x86-64 shows (AuthenticAMD, \
family 15, model 5); choose one of --machine=list" --cpu=x86-64 --machine=native ./prog
    machine_file Nehalem 'vendor = NoSuchVendor' 'family = 6' 'models = 0' > share/quern/machines/x.machine
    quern run --machine=native ./prog
    [ "$status" = 2 ]
    [[ "$messages" == "quern: --machine=native: no machine fits this processor ("*", family "*", model \
"*"); choose one of --machine=list, or write a file for it: quern-run(1)" ]]
}

@test "a file, by its path or by the end of its name" {
    make_prog
    script << 'END'
say machine
end exit 0
END
    machine_file 'My own' 'vendor = NoSuchVendor' 'family = 6' 'models = 1' > my.machine
    for name in my.machine ./my.machine "$PWD/my.machine"; do
        quern run --machine="$name" ./prog
        same "$output" "L2 'my' 2097152,16,64 1 2 1"
        same "$(caches)" "==PID== Caches: I1 32,768 B, 8-way, 64 B lines; \
D1 49,152 B, 12-way, 64 B lines; L2 2,097,152 B, 16-way, 64 B lines, plru; \
LL 62,914,560 B, 15-way, 64 B lines, srrip, victim; from machine my"
    done
    same "$(grep ^desc: cachegrind.out.* | tail -n 5 | sed 's/^[^:]*[0-9]:desc/desc/')" \
        "desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         49152 B, 64 B, 12-way associative
desc: L2 cache:         2097152 B, 64 B, 16-way associative
desc: LL cache:         62914560 B, 64 B, 15-way associative
desc: Machine:          my"
    two_levels > noend
    quern run --machine=./noend ./prog
    same "$output" "no L2 'noend' 0,0,0 0 2 0"
    # without a name of its own, by a pipe
    quern run --machine=/dev/stdin ./prog < my.machine
    same "$output" "L2 'stdin' 2097152,16,64 1 2 1"
}

# A name is written into the profile as one line.
@test "a newline in the name of a file" {
    make_prog
    two_levels > $'a\nb.machine'
    quern run -q --machine=$'a\nb.machine' -o out ./prog
    [ "$status" = 0 ]
    same "$(grep Machine out)" "desc: Machine:          a_b"
}

@test "without --machine the spool has none" {
    make_prog
    script << 'END'
say machine
end exit 0
END
    quern run -q ./prog
    same "$output" "no L2 '' 0,0,0 0 0 0"
}

@test "what is wrong in a file: its place, and what is allowed" {
    make_prog
    two_levels | sed 's/^ways = 15/ways = fifteen/' > bad.machine
    refused "bad.machine:15:8: ways = fifteen: must be a whole number" --machine=bad.machine ./prog
    sed -i '/^title/d' bad.machine
    sed -i 's/fifteen/15/' bad.machine
    refused "bad.machine:1:1: [machine] has no title" --machine=bad.machine ./prog
    : > bad.machine
    refused "bad.machine:1:1: the file ends without [machine]" --machine=bad.machine ./prog
    printf '[machine]\ntitle = \033[2J\n' > bad.machine
    refused "bad.machine:2:9: control character 0x1b: not a text file" --machine=bad.machine ./prog
    head -c 1048577 /dev/zero > bad.machine
    refused "bad.machine: larger than 1 MiB: not a machine file" --machine=bad.machine ./prog
    head -c 1048576 /dev/zero > bad.machine
    refused "bad.machine:1:1: control character 0x00: not a text file" --machine=bad.machine ./prog
    refused "./nowhere: No such file or directory" --machine=./nowhere ./prog
    refused "./: Is a directory" --machine=./ ./prog
}

@test "a name that is not known" {
    own_machines
    make_prog
    two_levels > share/quern/machines/zen4.machine
    two_levels > share/quern/machines/sapphire-rapids.machine
    rest="--machine=list lists them, and a file's name has a / or ends in .machine"
    refused "--machine=zne4: no such machine; did you mean zen4? $rest" --machine=zne4 ./prog
    refused "--machine=sapphire: no such machine; did you mean sapphire-rapids? $rest" --machine=sapphire ./prog
    refused "--machine=m1: no such machine; $rest" --machine=m1 ./prog
    refused "--machine: the value is empty" --machine= ./prog
    rm -r share
    refused "$PWD/bin/../share/quern/machines: the folder of machines: No such file or directory; \
install quern again" --machine=zen4 ./prog
}

@test "what does not go together" {
    make_prog
    machine_file Three 'vendor = NoSuchVendor' 'family = 6' 'models = 1' > three.machine
    two_levels > two.machine
    refused "--machine=two.machine: not with --cache-sim=no, with which no caches are simulated; leave \
one of them out" --cache-sim=no --machine=two.machine ./prog
    refused "--machine=two.machine: not with --cache-sim=no, with which no caches are simulated; leave \
one of them out" --machine=two.machine --cache-sim=no ./prog
    refused "--L2=1048576,16,64: not with --machine; the last level is --LL=1048576,16,64" \
        --machine=two.machine --L2=1048576,16,64 ./prog
    refused "--trace-refs=t: not with --machine=three.machine, which has an L2 that a trace does not \
know of; leave one of them out, or take a machine of two levels (cachegrind)" \
        --machine=three.machine --trace-refs=t ./prog
    [ ! -e t ]
    refused "--machine=three.machine with --I1, --D1 or --LL: [L1D]: lines of 32 bytes; with an L2 all \
levels have lines of one size, and those of L2 have 64" --machine=three.machine --D1=32768,8,32 ./prog
    refused "--machine=three.machine with --I1, --D1 or --LL: [LL]: 64 ways are too many; at most 32 \
with another replacement than lru" --machine=three.machine --LL=8388608,64,64 ./prog
    quern run -q --machine=two.machine --D1=32768,8,32 ./prog
    [ "$status" = 0 ]
    quern run -q --machine=two.machine --trace-refs=t ./prog
    [ "$status" = 0 ]
}

# The oracle of the framework: the machine and the options say the same.
@test "cachegrind: the same profile as with the geometries, byte for byte" {
    real
    same "$("$QUERN" run --machine=list | grep '^cachegrind ')" \
        "cachegrind        Two levels, as Cachegrind has them by default"
    printf '%s\n' '#include <stdlib.h>' 'int main(void) { int s = 0; char *p = calloc(1, 3000000);' \
        'for (unsigned i = 0, k = 1; i < 100000; i++, k = k * 1103515245 + 12345) s += p[k % 3000000]++;' \
        'return s == 1; }' > p.c
    gcc -O1 -g -o p p.c
    for options in '' --branch-sim=yes --calls=yes '--calls=yes --cache-sim=yes --dump-instr=yes'; do
        quern run -q $options --machine=cachegrind -o one ./p
        [ "$status" = 0 ]
        quern run -q $options --I1=65536,2,64 --D1=65536,2,64 --LL=262144,8,64 -o two ./p
        [ "$status" = 0 ]
        same "$(grep -cE '^desc: Machine: +cachegrind$' one)" 1
        sed -i -e '/^desc: Machine: /d' -e 's/^pid: .*/pid: PID/' one
        sed -i 's/^pid: .*/pid: PID/' two
        same "$(cat one)" "$(cat two)"
        [ "$(grep -c . one)" -gt 20 ]
    done
}

@test "the same totals by quern stat" {
    real
    quern stat --machine=cachegrind --summary=json /bin/true
    [ "$status" = 0 ]
    one=$(grep -o '"events":{[^}]*}' <<< "$output")
    quern stat --I1=65536,2,64 --D1=65536,2,64 --LL=262144,8,64 --summary=json /bin/true
    same "$(grep -o '"events":{[^}]*}' <<< "$output")" "$one"
    [ -n "$one" ]
}

@test "quern stat has the events of a machine" {
    real
    quern stat --machine=sapphire-rapids,detail=all /bin/true
    [ "$status" = 0 ]
    same "$(sed -nE 's/^ *([A-Za-z0-9]+) .*/\1/p' <<< "$output" | tr '\n' ' ')" \
        "Ir I1mr I2mr ILmr ITm Dr D1mr D2mr DLmr Dw D1mw D2mw DLmw DTm STm pfu pfw Bc Bcm Bi Bim Brm Cy CyBase CyFront CyBad CyMem CyTLB CyCore "
    awk '/^Cy / { gsub(",", ""); all = $2 } /^  Cy[A-Z]/ { gsub(",", ""); sum += $2 } END { exit !all || all != sum }' <<< "$output"
    quern stat --machine=nosuch /bin/true
    [ "$status" = 2 ]
    same "$messages" "quern: --machine=nosuch: no such machine; --machine=list lists them, and a file's name has a / or ends in .machine"
}

# With samples the spool has what the windows saw, of which estimates are made. The program executes
# more than the million instructions that are all timed.
@test "quern stat estimates cycles as a profile has them" {
    real
    printf '%s\n' 'volatile unsigned x; int main(void) { for (unsigned i = 0; i < 3000000; i++) x += i & 7 ? 1 : x;' \
        'return 0; }' > p.c
    gcc -O1 -static -o p p.c
    for with in zen4 zen5,branch=all; do
        quern run -q --machine=$with -o one ./p
        [ "$status" = 0 ]
        quern stat --machine=$with ./p
        [ "$status" = 0 ]
        same "$(sed -nE 's/^ *[A-Za-z][A-Za-z0-9]+ +([0-9,]+).*/\1/p' <<< "$output" | tr -d , | tr '\n' ' ')" \
            "$(sed -n 's/^summary: //p' one) "
        awk '/^Cy / { gsub(",", ""); all = $2 } /^  Cy[A-Z]/ { gsub(",", ""); sum += $2 } END { exit !all || all != sum }' <<< "$output"
    done
}

@test "quern stat tells a baseline of another machine" {
    make_prog
    machine_file Three 'vendor = NoSuchVendor' 'family = 6' 'models = 1' > three.machine
    machine_file Three 'vendor = NoSuchVendor' 'family = 6' 'models = 1' |
        sed -e '/^\[L2\]/,/^replacement/d' -e 's/victim/miss/' > two.machine
    sed 's/size = 2 MiB/size = 1 MiB/' three.machine > other.machine
    cat > script << 'END'
map 0x400000 0x402000 0 @ 0
block 0x401000 0 1 1
counter 0 5
end exit 0
END
    for machine in two three; do
        quern stat --machine=$machine.machine --save=$machine.out ./prog
        [ "$status" = 0 ]
        quern stat --machine=$machine.machine --baseline=$machine.out ./prog
        same "$messages" ""
    done
    quern stat --machine=three.machine --baseline=two.out ./prog
    same "$messages" "quern: --baseline=two.out: has no L2 cache, which the machine has; choose the same machine"
    quern stat --machine=other.machine --baseline=three.out ./prog
    same "$messages" "quern: --baseline=three.out: has other caches (L2 cache:         2097152 B, 64 B, 16-way \
associative); choose them by --machine"
    quern stat --machine=two.machine --baseline=three.out ./prog
    same "$messages" "quern: --baseline=three.out: has other caches (L2 cache:         2097152 B, 64 B, 16-way \
associative); choose them by --machine"
}

# Each by itself: the flag is in the spool, whatever the engine makes of it.
@test "every shipped machine can be started" {
    make_prog
    script << 'END'
say machine
end exit 0
END
    same "$("$QUERN" run --machine=list | wc -l)" 10
    for name in $("$QUERN" run --machine=list | cut -d ' ' -f 1); do
        quern run -q --machine="$name" ./prog
        [ "$status" = 0 ]
        case $name in
        cachegrind) same "$output" "no L2 'cachegrind' 0,0,0 0 0 0" ;;
        zen4) same "$output" "L2 'zen4' 1048576,8,64 1 1 1" ;;
        *) [[ "$output" == "L2 '$name' "* ]] ;;
        esac
    done
}

@test "detail=all: modifiers, and what is refused" {
    own_machines
    make_prog
    two_levels > share/quern/machines/two.machine
    cp "$ROOT/share/machines/sapphire-rapids.machine" share/quern/machines
    refused "--machine=two,detail=all: detail=all: the machine has no [core]; choose one that has \
(sapphire-rapids), or leave detail=all out" --machine=two,detail=all ./prog
    refused "--machine=sapphire-rapids,core=off,detail=all: detail=all: the machine has no [core]; choose \
one that has (sapphire-rapids), or leave detail=all out" --machine=sapphire-rapids,core=off,detail=all ./prog
    for modifier in detail=some prefetch=on =; do
        refused "--machine=two,$modifier: $modifier: unknown modifier; there are detail=all, branch=all, \
prefetch=off, tlb=off, branch=cachegrind and core=off" --machine=two,$modifier ./prog
    done
    refused "--machine=two,: no such machine; did you mean two? --machine=list lists them, and a file's \
name has a / or ends in .machine" --machine=two, ./prog
    refused "--machine=sapphire-rapids,detail=all: detail=all: not with --separate-callers and its like; \
leave one of them out" --machine=sapphire-rapids,detail=all --calls=yes --separate-callers=2 ./prog
    refused "--machine=sapphire-rapids,detail=all: detail=all: not with --collect-systime; leave one of \
them out" --machine=sapphire-rapids,detail=all --calls=yes --collect-systime=msec ./prog
    refused "--machine=sapphire-rapids,detail=all: detail=all: not with --separate-threads; leave one of \
them out" --machine=sapphire-rapids,detail=all --calls=yes --separate-threads=yes ./prog
    cp share/quern/machines/two.machine a,b.machine
    cp share/quern/machines/two.machine c=d,e=f.machine
    quern run -q --machine=a,b.machine ./prog
    [ "$status" = 0 ]
    quern run -q --machine=./c=d,e=f.machine,prefetch=off,tlb=off,branch=cachegrind ./prog
    [ "$status" = 2 ] # e=f.machine has the form of a modifier
    quern run -q --machine=./a,b.machine,tlb=off,prefetch=off ./prog
    [ "$status" = 0 ]
}

@test "detail=all: cycles in the profile, and what is left out is said" {
    real
    printf '%s\n' 'int main(int n, char **v) { for (int i = 0; i < 1000; i++) n *= n; return n != 1; }' > p.c
    gcc -O1 -g -o p p.c
    quern run -q --machine=sapphire-rapids,tlb=off,detail=all -o one ./p
    [ "$status" = 0 ]
    same "$(sed -nE 's/^desc: Machine: +//p' one)" "sapphire-rapids,detail=all,tlb=off"
    events=$(grep '^events:' one)
    [[ $events == *" Bc Bcm Bi Bim Brm Cy CyBase CyFront CyBad CyMem CyTLB CyCore" ]]
    # imul takes three cycles, and each of them waits for the one before
    cycles=$(awk '/^events:/ { for (i = 2; i <= NF; i++) at[$i] = i }
        /^fn=/ { main = $0 == "fn=main" } /^[0-9]/ && main { n += $at["Cy"] } END { print n }' one)
    [ "$cycles" -ge 3000 ]
    [ "$cycles" -lt 6000 ]
    quern run -q --machine=sapphire-rapids,core=off -o two ./p
    [ "$status" = 0 ]
    ! grep -q '^events:.*Cy' two || false
    # Other viewers show the long names, which only Callgrind's format has.
    ! grep -q '^event: ' one || false
    quern run -q --machine=sapphire-rapids,detail=all --calls=yes -o three ./p
    [ "$status" = 0 ]
    same "$(grep '^event: ' three)" "event: Cy : estimated cycles
event: CyBase : cycles of useful work
event: CyFront : cycles of fetch and decoding
event: CyBad : cycles of mispredictions
event: CyMem : cycles of waiting for data
event: CyTLB : cycles of translation of addresses
event: CyCore : cycles of units and dependencies"
    quern run -q --machine=sapphire-rapids,core=off --calls=yes -o four ./p
    [ "$(grep -c '^event: ' four)" = 0 ]
}

# Of 8,000,000 instructions of the loop (imul, sub, cmp, jne), 3 cycles for each multiplication: by
# samples as with all.
@test "cycles from samples" {
    real
    printf '%s\n' 'int main(int n, char **v) { for (int i = 0; i < 2000000; i++) n *= n; return n != 1; }' > p.c
    gcc -O1 -g -o p p.c
    quern run --machine=sapphire-rapids -o one ./p
    [ "$status" = 0 ]
    grep -qx 'desc: Sampling:         the first 1000000 instructions, then 10000 of each 2000000, later of each 50th part of those so far' one
    [[ $messages == *" Cycles and mispredictions are estimates: timed were the first 1,000,000 instructions,
"*" then 10,000 of each 2,000,000, later of each 50th part of those so far"* ]]
    cycles=$(awk '/^events:/ { for (i = 2; i <= NF; i++) at[$i] = i }
        /^fn=/ { main = $0 == "fn=main" } /^[0-9]/ && main { n += $at["Cy"] } END { print n }' one)
    [ "$cycles" -gt 5940000 ] || return
    [ "$cycles" -lt 6060000 ]
    # The predictor sees all branches: as many mispredictions as where all instructions are timed.
    for detail in branch=all detail=all; do
        quern run -q --reproducible=yes --machine=sapphire-rapids,$detail -o $detail ./p
        awk '/^events:/ { for (i = 2; i <= NF; i++) at[$i] = i }
            /^summary:/ { print $at["Bcm"], $at["Bim"], $at["Brm"] }' $detail > $detail.branches
    done
    same "$(< branch=all.branches)" "$(< detail=all.branches)"
    # What costs belong to is not known when a core is told of them.
    quern run --machine=sapphire-rapids --calls=yes --separate-callers=2 -o two ./p
    [ "$status" = 0 ]
    [[ $messages == "quern: --machine=sapphire-rapids: no cycles are counted: not with --separate-callers and its like (core=off says nothing)
"* ]]
    ! grep -q '^events:.*Cy' two || return
    quern run -q --machine=sapphire-rapids --calls=yes --separate-callers=2 -o two ./p
    same "$messages" ""
}

@test "cycles from samples: the numbers of instructions" {
    real
    printf '%s\n' 'int main(void) { return 0; }' > p.c
    gcc -o p p.c
    why="must be FIRST,INTERVAL,WINDOW,RUN-IN,LEARN[,GROWTH]: numbers of instructions, the last three of \
an interval together no more than it has, and WINDOW not 0"
    for numbers in 1,2,3,4 1,1000,10,10,10,10,10 1,1000,10,10,10, x,1000,1,1,1 0,1000,0,1,1 0,1000,500,300,201 ""; do
        refused "--core-sampling=$numbers: $why" --machine=zen4 --core-sampling=$numbers ./p
    done
    quern run -q --machine=zen4 --core-sampling=0,1000,500,300,200 -o one ./p
    [ "$status" = 0 ]
    grep -qx 'desc: Sampling:         the first 0 instructions, then 500 of each 1000' one
    quern run -q --machine=zen4 --core-sampling=0,1000,500,300,200,60 -o one ./p
    [ "$status" = 0 ]
    grep -qx 'desc: Sampling:         the first 0 instructions, then 500 of each 1000, later of each 60th part of those so far' one
}

# 1,000 more multiplications, each of which waits three cycles for the one before: 3,000 cycles more, of
# which the most are of dependencies; a few less or more, since the two programs are not in the same
# state when the loop begins and ends.
@test "stored totals with cycles: a change by cause, and a limit on it" {
    real
    for n in 1000 2000; do
        printf 'int main(int n, char **v) { for (int i = 0; i < %d; i++) n *= n; return n != 1; }' $n > p.c
        gcc -O1 -g -o p p.c
        quern stat --reproducible=yes --machine=zen4,detail=all --save=totals.$n ./p
        [ "$status" = 0 ]
    done
    quern stat --reproducible=yes --machine=zen4,detail=all --baseline=totals.1000 ./p
    [ "$status" = 0 ]
    [[ "$output" == *"
  CyCore "*" +"* ]]
    quern diff --fail-if='Cy>+0' totals.1000 totals.2000
    [ "$status" = 1 ]
    grep -Eq "^quern: limit exceeded: Cy>\+0: Cy was [0-9,]+ and is [0-9,]+ \(\+[0-9.]+%\); units and dependencies \(CyCore \+([0-9,]+)\) grew most; most in \(total\) \+[0-9,]+ \(CyCore \+\1\)\$" <<< "$messages"
    grown=$(sed -E 's/.*most in \(total\) \+([0-9,]+) .*/\1/; s/,//g' <<< "$messages")
    [ "$grown" -ge 2970 ]
    [ "$grown" -lt 6000 ]
}
