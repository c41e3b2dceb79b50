// SPDX-License-Identifier: MIT
//
// longjmp out of a recursion; handlers on the stack of the interrupted function and on one of their
// own, which return or leave by siglongjmp.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf out_of_inner;
static sigjmp_buf out_of_handler;
static volatile int hits;
static char other_stack[65536];

static int work(int n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

static void inner(int n)
{
    volatile char room[64];

    room[0] = (char)n;
    if (n == 0)
        longjmp(out_of_inner, 1);
    inner(n - 1);
    room[1] = room[0];
}

static void handler(int sig)
{
    (void)sig;
    hits++;
    work(10);
}

static void handler_that_leaves(int sig)
{
    (void)sig;
    work(5);
    siglongjmp(out_of_handler, 1);
}

static void handle(void (*f)(int), int flags)
{
    struct sigaction sa = { .sa_handler = f, .sa_flags = SA_NODEFER | flags };

    sigaction(SIGUSR1, &sa, NULL);
}

int main(void)
{
    stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
    int total = 0;

    for (int i = 0; i < 30; i++) {
        if (!setjmp(out_of_inner))
            inner(i % 5);
        else
            total += work(i);
    }
    sigaltstack(&stack, NULL);
    for (int k = 0; k < 4; k++) {
        handle(k < 2 ? handler : handler_that_leaves, k & 1 ? SA_ONSTACK : 0);
        for (int i = 0; i < 10; i++) {
            if (!sigsetjmp(out_of_handler, 1))
                raise(SIGUSR1);
            total += work(i);
        }
    }
    printf("%d %d\n", total, hits);
    return 0;
}
