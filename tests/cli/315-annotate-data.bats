#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Walks through objects of the data: beside the object, beside the lines of the code, in JSON and
# CSV.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '# callgrind format\nversion: 1\npid: 7\npositions: line\nevents: Ir D1mr
\nfl=a.c\nfn=sum\n2 800 100\n3 90 10\nfn=main\n5 10 0\nsummary: 900 110\n' > code
    printf '# callgrind format\nversion: 1\npid: 7
desc: Functions: objects of the data
desc: Walk at: stride 5600 by pointers\t899\t999\theap: main (a.c:5)\tsum\ta.c:2
desc: Walk at: random\t3\t5\tstatic: t\tsum\ta.c:2
desc: Walk at: sequential\t9\t9\tstatic: t\tsum\ta.c:3
desc: Walk: stride 5600 by pointers\t899\t1004\theap: main (a.c:5)
desc: Walk: sequential\t12\t14\tstatic: t
positions: line\nevents: D1mr\n\nfl=a.c\nfn=heap: main (a.c:5)\n5 95\nfn=static: t\n1 15
\nsummary: 110\n' > data
    printf 'int t[9];\nsum\nsums\n4\nmain\n' > a.c
}

@test "beside the objects" {
    quern annotate --auto=no data
    [ "$status" = 0 ]
    same "$messages" ""
    [[ "$output" == *"Functions: objects of the data
Profiled target:"* ]] # the lines themselves are left out
    same "$(grep 'a.c:' <<< "$output")" "\
95 (86.36%)  a.c:heap: main (a.c:5) [???] [walked: stride 5,600 by pointers, 89 %]
15 (13.64%)  a.c:static: t [???] [walked: sequential, 85 %]"
}

@test "beside the lines of the code" {
    quern annotate --data=data code a.c
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(grep '\[walk' <<< "$output")" "\
800 (88.89%) 100 (90.91%)  sum  [walks heap: main (a.c:5): stride 5,600 by pointers, 89 %] and 1 more
 90 (10.00%)  10 ( 9.09%)  sums  [walks static: t: sequential, 100 %]"
    # without the option nothing
    quern annotate code a.c
    [[ "$output" != *walk* ]]
}

@test "a profile that is none of the data, of another process, or damaged" {
    quern annotate --data=code code
    [ "$status" = 0 ]
    same "$messages" "quern: code: --data: it has no walks: it is no profile of the data (quern run --data=yes), or a sum of several"
    sed 's/pid: 7/pid: 8/' data > other
    quern annotate --data=other code
    same "$messages" "quern: other: --data: of another process (PID 8) than code (PID 7)"
    quern annotate --data=missing code
    [ "$status" = 2 ]
    # more steps than all, no number, no place
    printf '# callgrind format\nversion: 1\nevents: D1mr\ndesc: Walk: near\t3\t2\tf
desc: Walk: near\t-1\t2\tf\ndesc: Walk: near\ndesc: Walk at: near\t1\t2\tf\tg\ta.c\n\nfl=a.c\nfn=f\n1 1\n' > bad
    quern annotate --auto=no bad
    [ "$status" = 0 ]
    [[ "$output" != *[wW]alk* ]]
}

@test "JSON and CSV" {
    quern convert --to=json data
    [ "$status" = 0 ]
    same "$(sed -n '/"walks"/,/]/p' <<< "$output")" '"walks":[
{"object":"heap: main (a.c:5)","function":"sum","file":"a.c","line":2,"how":"stride 5600 by pointers","count":899,"steps":999},
{"object":"static: t","function":"sum","file":"a.c","line":2,"how":"random","count":3,"steps":5},
{"object":"static: t","function":"sum","file":"a.c","line":3,"how":"sequential","count":9,"steps":9},
{"object":"heap: main (a.c:5)","how":"stride 5600 by pointers","count":899,"steps":1004},
{"object":"static: t","how":"sequential","count":12,"steps":14}],'
    quern convert --to=csv data
    same "$(tr -d '\r' <<< "$output")" 'object,function_file,function,file,line,walk,walk_count,walk_steps,D1mr
,a.c,heap: main (a.c:5),a.c,5,stride 5600 by pointers,899,1004,95
,a.c,static: t,a.c,1,sequential,12,14,15'
    quern convert --to=csv --by=function data
    same "$(tr -d '\r' <<< "$output" | head -n 3)" 'object,file,function,called,cycle,cost,walk,walk_count,walk_steps,D1mr
,a.c,heap: main (a.c:5),0,0,self,stride 5600 by pointers,899,1004,95
,a.c,heap: main (a.c:5),0,0,inclusive,stride 5600 by pointers,899,1004,95'
    # of two processes: their shares cannot be summed
    quern convert --to=json data data
    [[ "$output" != *walks* ]]
    quern convert --to=csv code
    [[ "$output" != *walk* ]]
}

@test "fields of the objects" {
    # 12 misses in nodes[].left, in two lines; 5 in what has no name; 83 in several members; a variable without members
    printf '# callgrind format\nversion: 1\npid: 7
desc: Functions: objects of the data
desc: Field: 0\tnodes[].left\t/src/a.h:3\tstatic: nodes\ta.c
desc: Field: 32833\tnodes[]\t:0\tstatic: nodes\ta.c
desc: Field: 8\titem.next\t/src/a.h:9\theap: main (a.c:9)\ta.c\tinferred
desc: Field: 0\tother[].x\t/src/a.h:3\tstatic: nodes\tb.c
positions: instr line\nevents: D1mr\n\nfl=a.c\nfn=static: nodes\n0x0 3 10\n0x0 4 2\n0x1388 5 5\n0x8041 6 83
fn=static: t\n0x0 1 15\nfn=heap: main (a.c:9)\n0x8 9 7\nfn=main\n0x0 9 0\nsummary: 122\n' > data
    quern annotate --auto=no data
    [ "$status" = 0 ]
    same "$messages" ""
    [[ "$output" == *"Functions: objects of the data
Profiled target:"* ]] # the lines themselves are left out
    same "$(sed -n '/static: nodes/,$p' <<< "$output")" "\
100 (81.97%)  a.c:static: nodes [???]
 83 (68.03%)    nodes[]
 12 ( 9.84%)    nodes[].left (a.h:3)
  5 ( 4.10%)    +5000
 15 (12.30%)  a.c:static: t [???]
  7 ( 5.74%)  a.c:heap: main (a.c:9) [???]
  7 ( 5.74%)    item.next (a.h:9, inferred)"
    quern convert --to=json data
    same "$(grep -A 3 '"fields"' <<< "$output")" '"fields":[
{"object":"heap: main (a.c:9)","object_file":"a.c","addr":8,"field":"item.next","file":"/src/a.h","line":9,"inferred":true},
{"object":"static: nodes","object_file":"a.c","addr":0,"field":"nodes[].left","file":"/src/a.h","line":3},
{"object":"static: nodes","object_file":"a.c","addr":32833,"field":"nodes[]","file":null,"line":0},'
    quern convert --to=csv data
    [[ "$output" == *",0x8,item.next (inferred),7"* ]]
    same "$(tr -d '\r' <<< "$output" | head -n 3)" 'object,function_file,function,file,line,address,field,D1mr
,a.c,static: nodes,a.c,3,0x0,nodes[].left,10
,a.c,static: nodes,a.c,4,0x0,nodes[].left,2'
    # no number, too few columns, no line
    printf '# callgrind format\nversion: 1\nevents: D1mr\ndesc: Functions: objects of the data
desc: Field: x\ta\tb:1\tf\tg\ndesc: Field: 1\ndesc: Field: 1\ta\tb\tf\tg\ndesc: Field: 9y\ta\tb:1\tf\tg
positions: instr line\n\nfl=a.c\nfn=f\n1 1 1\n' > bad
    quern annotate --auto=no bad
    [ "$status" = 0 ]
    [[ "$output" != *Field* ]]
    quern convert --to=json bad
    [[ "$output" != *'"fields"'* ]]
}

@test "blocks over time" {
    # of two sites of one name, whose counts are summed; and of one whose misses could not be noted
    printf '# callgrind format\nversion: 1\npid: 7
desc: Functions: objects of the data
desc: Blocks: 1200\t76800\t1100\t70400\t300\t19200\t1000\t64000\t1500\theap: main (a.c:5)\ta.c
desc: Blocks: 1\t64\t0\t0\t1\t64\t1\t64\t1\theap: main (a.c:5)\ta.c
desc: Blocks: 1\t4096\t0\t0\t1\t4096\t-\t-\t-\theap: f (a.c:9)\ta.c
positions: line\nevents: D1mr\n\nfl=a.c\nfn=heap: main (a.c:5)\n5 90\nfn=heap: f (a.c:9)\n9 10\nsummary: 100\n' > data
    quern annotate --auto=no data
    [ "$status" = 0 ]
    same "$messages" ""
    [[ "$output" != *Blocks* ]]
    same "$(grep 'a.c:' <<< "$output")" "\
90 (90.00%)  a.c:heap: main (a.c:5) [???] [1,201 blocks, 76,864 bytes; at most 19,264 bytes; 200 never missed; 1,501 misses cold]
10 (10.00%)  a.c:heap: f (a.c:9) [???] [1 block, 4,096 bytes; at most 4,096 bytes]"
    quern convert --to=json data
    same "$(grep -A 2 '"blocks":\[' <<< "$output")" '"blocks":[
{"object":"heap: f (a.c:9)","object_file":"a.c","blocks":1,"bytes":4096,"gone_blocks":0,"gone_bytes":0,"peak_blocks":1,"peak_bytes":4096,"missed_blocks":null,"missed_bytes":null,"cold":null},
{"object":"heap: main (a.c:5)","object_file":"a.c","blocks":1201,"bytes":76864,"gone_blocks":1100,"gone_bytes":70400,"peak_blocks":301,"peak_bytes":19264,"missed_blocks":1001,"missed_bytes":64064,"cold":1501}],'
    # whose file is unknown
    printf '# callgrind format\nversion: 1\ndesc: Functions: objects of the data
desc: Blocks: 3\t30\t0\t0\t3\t30\t3\t30\t3\theap: g\t???
desc: Field: 8\tg.x\t:0\theap: g\t???\tinferred
positions: instr line\nevents: D1mr\n\nfl=???\nfn=heap: g\n8 0 7\n' > data
    quern annotate --auto=no data
    same "$(grep -A 1 'heap: g' <<< "$output")" "\
7 (100.0%)  ???:heap: g [???] [3 blocks, 30 bytes; at most 30 bytes; 0 never missed; 3 misses cold]
7 (100.0%)    g.x (inferred)"
    # a column that is no number, or missing; of several processes
    printf '# callgrind format\nversion: 1\nevents: D1mr\ndesc: Blocks: 1\tx\t0\t0\t1\t64\t1\t64\t1\tf\tg
desc: Blocks: 1\t2\t0\t0\t1\t64\t1\t64\t1\tf\ndesc: Blocks: -\t2\t0\t0\t1\t64\t1\t64\t1\tf\tg\n\nfl=a.c\nfn=f\n1 1\n' > bad
    quern annotate --auto=no bad
    [ "$status" = 0 ]
    [[ "$output" != *block* ]]
    quern convert --to=json data data
    [[ "$output" != *'"blocks"'* ]]
}

@test "lines that threads share" {
    # Of the first object; of two that have no misses. Damaged: fewer at most, another kind, a side without a line.
    local tab=$'\t' table none
    table="static: t${tab}a.c" none="static: u$tab???"
    sed -i '/^desc: Walk: seq/r /dev/stdin' data <<END
desc: Sharing order: serialized
desc: Sharing: false${tab}1998${tab}1900000$tab$table${tab}t[0]${tab}writes${tab}sum${tab}/src/a.c:2$tab$table${tab}+8${tab}writes${tab}main${tab}/src/a.c:5
desc: Sharing: true${tab}1${tab}1$tab$none$tab${tab}reads${tab}sum${tab}a.c:3$tab$none$tab${tab}writes${tab}sum${tab}a.c:2
desc: Sharing: true${tab}2${tab}1$tab$none$tab${tab}reads${tab}sum${tab}a.c:3$tab$none$tab${tab}writes${tab}sum${tab}a.c:2
desc: Sharing: both${tab}2${tab}3$tab$none$tab${tab}reads${tab}sum${tab}a.c:3$tab$none$tab${tab}writes${tab}sum${tab}a.c:2
desc: Sharing: true${tab}2${tab}3$tab$none$tab${tab}reads${tab}sum${tab}a.c$tab$none$tab${tab}writes${tab}sum${tab}a.c:2
desc: Sharing: true${tab}2${tab}3
END
    quern annotate --auto=no data
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(sed -n '/a.c:static: t/,$p' <<< "$output")" "\
15 (13.64%)  a.c:static: t [???] [walked: sequential, 85 %]
   shared: 1,998 invalidations, at most 1,900,000; false: t[0] written by sum (a.c:2), static: t +8 written by main (a.c:5)

--------------------------------------------------------------------------------
-- Lines that threads share
--------------------------------------------------------------------------------
1 invalidation, at most 1; true: static: u read by sum (a.c:3), static: u written by sum (a.c:2)"
    sed 's/order: serialized/order: depends on timing/' data > timing
    quern annotate --auto=no timing
    [[ "$output" == *"shared: 1,998 invalidations as it happened, at most 1,900,000; false: t[0] "* ]]
    quern convert --to=json data
    same "$(sed -n '/"sharing"/,/_serialized/p' <<< "$output")" '"sharing":[
{"kind":"false","invalidations":1998,"most":1900000,"sides":[{"object":"static: t","object_file":"a.c","field":"t[0]","writes":true,"function":"sum","file":"/src/a.c","line":2},{"object":"static: t","object_file":"a.c","field":"+8","writes":true,"function":"main","file":"/src/a.c","line":5}]},
{"kind":"true","invalidations":1,"most":1,"sides":[{"object":"static: u","object_file":null,"field":null,"writes":false,"function":"sum","file":"a.c","line":3},{"object":"static: u","object_file":null,"field":null,"writes":true,"function":"sum","file":"a.c","line":2}]}],
"sharing_serialized":true,'
    # of two processes: none
    quern convert --to=json data data
    [[ "$output" != *sharing* ]]
    # what a run writes
    cc -g -O1 -pthread -o turns "$BATS_TEST_DIRNAME/../data/sharing.c"
    quern run -q --data=yes --serialize-threads=yes --data-out-file=turns.data ./turns
    quern annotate --auto=no turns.data
    [[ "$output" == *"199 invalidations, at most 199; false: near.first written by first (sharing.c:"*"), near.second written by second (sharing.c:"* ]]
}

@test "what is used of the lines that are fetched" {
    local tab=$'\t'
    sed -i '/^desc: Walk: seq/r /dev/stdin' data <<END
desc: Use sample: 64${tab}64
desc: Use: 1280${tab}10240${tab}static: t${tab}a.c
desc: Use: 2${tab}25${tab}static: u$tab???
desc: Use: 2${tab}129${tab}static: v$tab???
END
    quern annotate --auto=no data
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(grep -F 'static: t' <<< "$output")" "15 (13.64%)  a.c:static: t [???] [walked: sequential, 85 %] [8 of 64 bytes of each line used, by a sample of 1,280 lines]"
    [[ "$output" != *"Use: "* ]]
    quern convert --to=json data
    same "$(sed -n '/"use"/,/"use_sample"/p' <<< "$output")" '"use":[
{"object":"static: t","object_file":"a.c","lines":1280,"bytes":10240},
{"object":"static: u","object_file":null,"lines":2,"bytes":25}],
"use_sample":{"one_in":64,"line":64},'
    # of two processes: none
    quern convert --to=json data data
    [[ "$output" != *'"use'* ]]
    # what a run writes: 200 lines of which 8 bytes are used, each followed; none
    cc -g -O1 -I"$BATS_TEST_DIRNAME/../.." -ffreestanding -fno-pie -no-pie -fno-stack-protector -nostdlib -static \
        -o use "$BATS_TEST_DIRNAME/../data/lineuse.c"
    quern run -q --data=yes --data-use=1 --D1=4096,4,64 --data-out-file=use.data ./use
    quern annotate --auto=no use.data
    [[ "$output" == *"static: keys "*" [8 of 64 bytes of each line used, by 200 lines]"* ]]
    quern run -q --data=yes --data-use=0 --data-out-file=none.data ./use
    [ "$(grep -c 'desc: Use' none.data)" = 0 ]
    grep 'desc: Walk' none.data
}
