// SPDX-License-Identifier: MIT
// Recursion, mutual recursion, and threads that do the same.
#include <pthread.h>
#include <stdio.h>

static int is_odd(int n);

static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int is_even(int n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

static int is_odd(int n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

static void *work(void *arg)
{
    int n = *(int *)arg;

    *(int *)arg = fibonacci(n) + is_even(n);
    return NULL;
}

int main(int argc, char **argv)
{
    int n[3] = { 8, 9, 7 + argc };
    pthread_t thread[3];

    (void)argv;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, &n[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    printf("%d %d %d %d\n", n[0], n[1], n[2], is_odd(9));
    return 0;
}
