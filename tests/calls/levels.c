// SPDX-License-Identifier: MIT
//
// For the options that separate, hide or ignore costs of a function: functions with
// several callers, that call themselves, and each other. Without libc: it executes the same
// instructions under Callgrind. `run` is called by tests/compat/start.S.
static volatile int sink = 1;

int leaf(int n);
int each(int n);
int twice(int n);
int power(int n);
int even(int n);
int odd(int n);
int run(void);

__attribute__((noinline)) int leaf(int n)
{
    sink += n;
    return n + 1;
}

__attribute__((noinline)) int each(int n)
{
    int s = 0;

    for (int i = 0; i < n; i++)
        s += leaf(i);
    return s;
}

__attribute__((noinline)) int twice(int n)
{
    return leaf(n) * 2;
}

__attribute__((noinline)) int power(int n)
{
    return n < 2 ? leaf(1) : n * power(n - 1);
}

__attribute__((noinline)) int even(int n)
{
    return n == 0 ? leaf(0) : odd(n - 1) + 1;
}

__attribute__((noinline)) int odd(int n)
{
    return n == 0 ? leaf(0) : even(n - 1) + 2;
}

int run(void)
{
    int s = 0;

    for (int i = 0; i < 3; i++)
        s += each(i + 1) + twice(i);
    s += power(5) + even(6) + leaf(2);
    return s == 0;
}
