// SPDX-License-Identifier: MIT
//
// Killed three calls deep: none of them returns.
#include <signal.h>
#include <unistd.h>

static int work(int n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

static void inner(void)
{
    work(100);
    kill(getpid(), SIGKILL);
}

static void outer(void)
{
    work(10);
    inner();
    work(3);
}

int main(void)
{
    outer();
    return 0;
}
