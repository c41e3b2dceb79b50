// SPDX-License-Identifier: MIT
//
// Changes of the stack pointer that are no stack switches, and coroutines in between, on stacks
// of 4096 bytes in the frame of the resuming function: arrays of variable length, small and large
// ones, released and made anew; longjmp out of them; a handler on an alternate stack in a
// function's own frame, left by siglongjmp; a coroutine that is suspended in a function with such
// an array. Three rounds, with stacks at the addresses of earlier, abandoned ones. How often each
// function
// calls another follows from the source:
//
// calls: main vla 6
// calls: main big 3
// calls: main catcher 6
// calls: main on_signal 3
// calls: main drive 6
// calls: vla leaf 24
// calls: big leaf 6
// calls: catcher thrower 6
// calls: catcher leaf 12
// calls: thrower leaf 6
// calls: on_signal leaf 3
// calls: handler leaf 3
// calls: drive swapcontext 36
// calls: drive leaf 42
// calls: begin body 6
// calls: begin swapcontext 6
// calls: body hop 30
// calls: hop swapcontext 30
// calls: hop leaf 60
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Wvla" // the subject of the test

static jmp_buf back;
static sigjmp_buf out;
static ucontext_t main_context, coroutine;

__attribute__((noinline)) static void leaf(char *p)
{
    __asm__ volatile("" ::"r"(p) : "memory");
}

__attribute__((noinline)) static void vla(int n)
{
    for (int i = 0; i < 3; i++) {
        char array[n];

        array[0] = 1;
        leaf(array);
    }
    leaf(NULL);
}

__attribute__((noinline)) static void big(void)
{
    char array[6 << 20];

    array[0] = array[sizeof(array) - 1] = 1;
    leaf(array);
    leaf(array);
}

__attribute__((noinline)) static void thrower(int n)
{
    char array[n];

    array[0] = 0;
    leaf(array);
    longjmp(back, 1);
}

__attribute__((noinline)) static void catcher(int n)
{
    char array[n];

    leaf(array);
    if (!setjmp(back))
        thrower(n);
    leaf(array);
}

__attribute__((noinline)) static void handler(int signal)
{
    (void)signal;
    leaf(NULL);
    siglongjmp(out, 1);
}

__attribute__((noinline)) static void on_signal(void)
{
    stack_t stack = { .ss_sp = alloca(16384), .ss_size = 16384 };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (!sigsetjmp(out, 1))
        raise(SIGUSR1);
    leaf(NULL);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

__attribute__((noinline)) static void hop(int n)
{
    char array[n];

    leaf(array);
    swapcontext(&coroutine, &main_context);
    leaf(array);
}

__attribute__((noinline)) static void body(void)
{
    for (int i = 0; i < 5; i++)
        hop(100 * (i + 1));
}

static void begin(void)
{
    body();
    swapcontext(&coroutine, &main_context);
}

__attribute__((noinline)) static void drive(int n)
{
    char stack[4096], array[n];

    leaf(array);
    getcontext(&coroutine);
    coroutine.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) };
    makecontext(&coroutine, begin, 0);
    for (int i = 0; i < 6; i++) {
        char more[n * (i + 1)];

        leaf(more);
        swapcontext(&main_context, &coroutine);
    }
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        vla(100);
        vla(20000);
        big();
        catcher(50);
        catcher(30000);
        on_signal();
        drive(10);
        drive(20000);
    }
    return 0;
}
