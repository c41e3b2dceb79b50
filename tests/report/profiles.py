# SPDX-License-Identifier: MIT
"""The input of check.py: profiles and a program with costs worked out by hand, beside them."""

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
