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
