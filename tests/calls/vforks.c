// SPDX-License-Identifier: MIT
//
// Children by vfork, between branches that depend on earlier ones: after its child has run, a
// parent's branch history is that of the fork, whatever the child has executed.
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;
static unsigned number = 12345;

static void branches(int n)
{
    for (int i = 0; i < n; i++) {
        number = number * 1103515245 + 12345;
        if (number & 0x10000)
            sink++;
        if (number & 0x40000)
            sink--;
    }
}

int main(void)
{
    for (int k = 0; k < 100; k++) {
        pid_t child;

        branches(7 + k * 31 % 13);
        child = vfork();
        if (child == 0) {
            for (int i = 0; i <= k % 5; i++)
                if (number >> i & 1)
                    sink++;
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
