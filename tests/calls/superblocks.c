// SPDX-License-Identifier: MIT
//
// Calls that become parts of superblocks: direct ones, through pointers, through the linkage table,
// in jumps to other functions, recursive ones; and what happens in the middle of one: a fault
// whose handler repairs the cause, longjmp out of callees, a call that suddenly goes elsewhere. 400
// rounds: each place has been seen often enough after 48. How often each function calls another
// follows from the source:
//
// calls: main round 400
// calls: round middle 800
// calls: middle leaf 1600
// calls: round first 750
// calls: round second 50
// calls: first leaf 750
// calls: second leaf 100
// calls: round tail 400
// calls: tail leaf 400
// calls: round depth 400
// calls: depth depth 1200
// calls: round thrower 400
// calls: thrower leaf 400
// calls: thrower longjmp 200
// calls: round touch 400
// calls: touch leaf 400
// calls: round compare_words 400
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static jmp_buf back;
static char *page;
static volatile unsigned faults, sum;

unsigned leaf(unsigned x);
unsigned leaf(unsigned x)
{
    sum += x;
    return x * 3 + 1;
}

unsigned middle(unsigned x);
unsigned middle(unsigned x)
{
    return leaf(x) + leaf(x + 1);
}

unsigned first(unsigned x);
unsigned first(unsigned x)
{
    return leaf(x) ^ 5;
}

unsigned second(unsigned x);
unsigned second(unsigned x)
{
    return leaf(x) + leaf(x ^ 9);
}

unsigned tail(unsigned x);
__attribute__((optimize("optimize-sibling-calls"))) unsigned tail(unsigned x)
{
    return leaf(x + 7);
}

unsigned depth(unsigned n);
unsigned depth(unsigned n)
{
    return n ? depth(n - 1) + n : 0;
}

void thrower(unsigned x);
void thrower(unsigned x)
{
    if (leaf(x) % 2)
        longjmp(back, 1);
    sum += 2;
}

// The page cannot be read in one round of fifty: the load after the call faults.
unsigned touch(unsigned x);
unsigned touch(unsigned x)
{
    return leaf(x) + (unsigned)page[x % 64];
}

unsigned compare_words(unsigned x);
unsigned compare_words(unsigned x)
{
    char a[32], b[32];

    memset(a, 'a' + (int)(x % 3), sizeof(a));
    memset(b, 'b', sizeof(b));
    a[31] = b[31] = 0;
    return (unsigned)strcmp(a, b) + (unsigned)strlen(a);
}

static void on_fault(int signal)
{
    (void)signal;
    faults++;
    if (mprotect(page, 4096, PROT_READ))
        _Exit(3);
}

unsigned (*volatile which)(unsigned) = first;

void round(unsigned n);
void round(unsigned n)
{
    sum += middle(n) + middle(n + 1);
    sum += which(n);
    which = n % 8 == 7 ? second : first;
    sum += which(n + 2);
    which = first;
    sum += tail(n);
    sum += depth(3);
    if (!setjmp(back))
        thrower(n);
    if (n % 50 == 49 && mprotect(page, 4096, PROT_NONE))
        _Exit(4);
    sum += touch(n);
    sum += compare_words(n);
}

int main(void)
{
    struct sigaction action = { .sa_handler = on_fault };

    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
        return 2;
    for (unsigned n = 0; n < 400; n++)
        round(n);
    printf("%u %u\n", sum, faults);
    return faults == 8 ? 0 : 1;
}
