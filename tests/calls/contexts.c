// SPDX-License-Identifier: MIT
//
// Three contexts on consecutive stacks, left from different depths. `context` has no
// caller.
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK 32768

static ucontext_t back, context_of[3];
static volatile int sum;

static void step(int n)
{
    for (int i = 0; i < n; i++)
        sum += i;
}

static void leave(int k, int depth)
{
    if (depth) {
        leave(k, depth - 1);
        step(2);
    } else {
        swapcontext(&context_of[k], &back);
    }
}

static void context(int k)
{
    for (int i = 0; i < 20; i++) {
        step(k + 5);
        leave(k, i % 4);
    }
}

int main(void)
{
    char *stacks = malloc(3 * STACK);

    for (int k = 0; k < 3; k++) {
        getcontext(&context_of[k]);
        context_of[k].uc_stack.ss_sp = stacks + k * STACK;
        context_of[k].uc_stack.ss_size = STACK;
        context_of[k].uc_link = &back;
        makecontext(&context_of[k], (void (*)(void))context, 1, k);
    }
    for (int round = 0; round < 20; round++) {
        for (int k = 2; k >= 0; k--) {
            step(3);
            swapcontext(&back, &context_of[k]);
        }
    }
    printf("%d\n", sum);
    free(stacks);
    return 0;
}
