# SPDX-License-Identifier: MIT
"""The input of check.py: profiles and a program with costs worked out by hand, beside them."""
import os


# b and c, of two files and objects, are a cycle: 10 + 20 of their own and 30 for d. a calls b once for 40 and c twice for
# 20, so the cycle three times for 60; b calls d once for 10, c four times for 20.
CIRCLE = """events: Ir
ob=/bin/one
fl=x.c
fn=a
1 1
cfn=b
calls=1 2
1 40
cob=/lib/two
cfi=y.c
cfn=c
calls=2 3
1 20
fn=b
2 10
cob=/lib/two
cfi=y.c
cfn=c
calls=3 3
2 25
cob=/lib/two
cfi=y.c
cfn=d
calls=1 4
2 10
ob=/lib/two
fl=y.c
fn=c
3 20
cob=/bin/one
cfi=x.c
cfn=b
calls=2 2
3 5
cfn=d
calls=4 4
3 20
fn=d
4 30
"""


# Cycles with their causes, which add up on each line: Cy of CyBase CyFront CyBad CyMem CyTLB CyCore. In the new one main's call of
# walk, and walk's line 2, wait 400 cycles longer for data; line 3 takes 10 more of fetch and of units, and mul 10 less of fetch.
CYCLES_HEAD = """desc: Machine: zen4,detail=all
desc: L2 cache: 1048576 B, 64 B, 8-way associative
desc: Timerange: Basic block 0 - 1
cmd: ./%s
events: Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore
fl=src/a.c
fn=main
1 10 0 20 20 0 0 0 0 0
"""
CYCLES = {
    "old": CYCLES_HEAD % "old" + """cfn=walk
calls=1 2
1 600 10 1200 150 50 50 700 50 200
cfn=mul
calls=1 9
1 300 0 800 75 25 0 0 0 700
fn=walk
2 400 10 1000 100 0 50 700 50 100
3 200 0 200 50 50 0 0 0 100
fn=mul
9 300 0 800 75 25 0 0 0 700
""",
    "new": CYCLES_HEAD % "new" + """cfn=walk
calls=1 2
1 600 40 1610 150 55 50 1100 50 205
cfn=mul
calls=1 9
1 300 0 790 75 15 0 0 0 700
fn=walk
2 400 40 1400 100 0 50 1100 50 100
3 200 0 210 50 55 0 0 0 105
fn=mul
9 300 0 790 75 15 0 0 0 700
""",
}


# d costs 90: c brings 60, b 30; e below it costs 40, of which b brings 0 .. 30.
DIAMOND = """events: Ir
fl=x
fn=a
1 0
cfn=b
calls=1 1
1 30
cfn=c
calls=1 1
1 70
fn=b
2 0
cfn=d
calls=1 1
2 30
fn=c
3 10
cfn=d
calls=2 1
3 60
fn=d
4 5
cfn=e
calls=3 1
4 40
cfn=g
calls=3 1
4 45
fn=e
5 40
fn=g
6 45
"""


COSTS = """events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
fl=x
fn=f
1 100 50 50 2 3 1 1 0 1 20 4
fn=g
2 300 150 50
3 200 100 100
"""


FLOW = """.globl main, f
.type main, @function
.type f, @function
main: call f
 xor %eax, %eax
 ret
.size main, . - main
f: mov $10, %ecx
1: test $1, %cl
 jz 2f
 inc %eax
 jmp 3f
2: dec %eax
3: dec %ecx
 jnz 1b
 ret
.size f, . - f
.section .note.GNU-stack
"""


# A program and its data (quern run --data=yes), D1 of 4,096 B. Of the D1 misses, 1,305 read and 120 write: matrix has 600 and 400 of
# the former, in two of its fields, and 100 of the latter; the list 300 and 20; the stack 5. The list's 20 blocks
# of 64 bytes were 18 at most. by_columns takes 899 steps through matrix,
# 880 of them 4,160 bytes: 20 walks, each of 44 strides, 183,040 bytes. In the old one matrix has 150 and 50, and by_columns 100.
DATA_CODE = """# callgrind format
pid: 7
cmd: ./grid
desc: D1 cache: 4096 B, 64 B, 4-way associative
positions: line
events: Ir Dr Dw D1mr D1mw DLmr DLmw
ob=/%s/grid
fl=%s/grid.c
fn=main
20 40 5 0 5 0 0 0
cfn=by_columns
calls=1 12
20 5000 1000 0 %d 0 %d 0
cfn=by_rows
calls=1 14
20 1200 800 100 100 100 10 100
cfi=%s/list.c
cfn=find
calls=1 30
20 400 300 0 300 0 0 0
cfn=build
calls=1 8
20 50 0 20 0 20 0 0
fl=%s/grid.c
fn=by_columns
12 5000 1000 0 %d 0 %d 0
fn=by_rows
14 900 800 0 100 0 10 0
15 300 0 100 0 100 0 100
fl=%s/list.c
fn=find
30 400 300 0 300 0 0 0
fn=build
8 50 0 20 0 20 0 0
"""
DATA = """# callgrind format
pid: 7
cmd: ./grid
desc: D1 cache: 4096 B, 64 B, 4-way associative
desc: Functions: objects of the data
desc: Field: 0\tcells[].head\t%s/grid.c:3\tstatic: matrix\t???\tinferred
desc: Blocks: 20\t1280\t5\t320\t18\t1152\t20\t1280\t20\theap: build (list.c:8) < main (grid.c:20)\t%s/list.c
desc: Walk at: stride 4160\t880\t899\tstatic: matrix\tby_columns\t%s/grid.c:12
desc: Walk at: sequential\t99\t99\tstatic: matrix\tby_rows\t%s/grid.c:14
desc: Walk at: sequential\t99\t99\tstatic: matrix\tby_rows\t%s/grid.c:15
desc: Walk at: pointer chase\t299\t299\theap: build (list.c:8) < main (grid.c:20)\tfind\t%s/list.c:30
desc: Walk: stride 4160\t880\t1097\tstatic: matrix
desc: Walk: pointer chase\t299\t318\theap: build (list.c:8) < main (grid.c:20)
desc: Use sample: 64\t64
desc: Use: 17\t136\tstatic: matrix\t???
desc: Use: 2\t25\tstack\t???
positions: instr line
events: D1mr D1mw DLmr DLmw
ob=/%s/grid
fl=???
fn=static: matrix
0x0 0 %d 0 %d 0
0x40 0 %d 100 20 100
ob=???
fn=stack
0x0 0 5 0 0 0
ob=/%s/grid
fl=%s/list.c
fn=heap: build (list.c:8) < main (grid.c:20)
0x0 8 300 20 0 0
fl=%s/grid.c
fn=main
cob=???
cfi=???
cfn=stack
calls=5 0x0 0
0x0 20 5 0 0 0
fn=by_columns
cob=/%s/grid
cfi=???
cfn=static: matrix
calls=%d 0x0 0
0x0 12 %d 0 %d 0
fn=by_rows
cfi=???
cfn=static: matrix
calls=100 0x0 0
0x0 14 100 0 10 0
cfi=???
cfn=static: matrix
calls=100 0x0 0
0x0 15 0 100 0 100
fl=%s/list.c
fn=find
cfn=heap: build (list.c:8) < main (grid.c:20)
calls=300 0x0 8
0x0 30 300 0 0 0
fn=build
cfn=heap: build (list.c:8) < main (grid.c:20)
calls=20 0x0 8
0x0 8 0 20 0 0
"""


def data_profiles(folder, old=False):
    """Writes callgrind.out.7 and data.out.7, and the sources; returns the path of the former."""
    os.makedirs(folder, exist_ok=True)
    ob, src = ("old" if old else "bin"), "/src"
    misses, ll = (100, 20) if old else (900, 40)
    first, second, first_ll = (150, 50, 10) if old else (600, 400, 30)
    path = os.path.join(folder, "callgrind.out.7")
    with open(path, "w") as f:
        f.write(DATA_CODE % (ob, src, misses, ll, src, src, misses, ll, src))
    with open(os.path.join(folder, "data.out.7"), "w") as f:
        f.write(DATA % (src, src, src, src, src, src, ob, first, first_ll, second, ob, src, src, ob, misses, misses, ll, src))
    return path
