// SPDX-License-Identifier: MIT
//
// Inlined functions (--inline=yes) whose instructions are known: every body begins with an assembly
// statement, and nothing else is in those that are counted.
//
//     leaf:   3 nops
//     middle: a nop, leaf, a nop: 2
//     reach:  a nop and the call of `called`: 2; that costs a nop and the return: 2
//     step:   a nop, and where n is left the call of `again`, which has it inlined; that costs
//             what the compiler makes of it
//
// main has leaf once for itself (7 times), middle twice: in a loop of 5, and once; and reach, 3
// times.
//
// edge: main leaf 7 21
// edge: main middle 6 30
// edge: main reach 3 12
// edge: middle leaf 6 18
// edge: reach called 3 6
// calls: again step 5
// calls: main again 1
// calls: main times 3
// calls: step again 4
#define BODY  static inline __attribute__((always_inline))
#define APART __attribute__((noinline))

// So often, which the compiler does not know: one copy of the loop's body.
static int times(int n)
{
    __asm__("" : "+r"(n));
    return n;
}

BODY void leaf(void)
{
    __asm__ volatile("nop\n\tnop\n\tnop");
}

BODY void middle(void)
{
    __asm__ volatile("nop");
    leaf();
    __asm__ volatile("nop");
}

APART static void called(void)
{
    __asm__ volatile("nop");
}

BODY void reach(void)
{
    __asm__ volatile("nop");
    called();
}

APART static void again(int n);

BODY void step(int n)
{
    __asm__ volatile("nop" : "+r"(n));
    if (n)
        again(n - 1);
}

APART static void again(int n)
{
    step(n);
    __asm__ volatile("");
}

int main(void)
{
    int seven = times(7), five = times(5), three = times(3);

    for (int i = 0; i < seven; i++)
        leaf();
    for (int i = 0; i < five; i++)
        middle();
    middle();
    for (int i = 0; i < three; i++)
        reach();
    again(4);
    return 0;
}
