// SPDX-License-Identifier: MIT
//
// A program that limits its memory to less than it uses continues as long as it allocates no more.
// Memory that the engine needs for the program's code after that does not fail: 40,000
// blocks, with each of the two limits.
//
// about: tiny-cache replay-split

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"

#define BLOCKS 40000
#define BYTES  (5 * BLOCKS + 3)

static void limited(int which)
{
    struct rlimit was, low, now;
    uint8_t *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*run)(int) = (int (*)(int))code;

    CHECK(code != MAP_FAILED);
    if (code == MAP_FAILED)
        return;
    for (int i = 0; i < BLOCKS; i++)
        memcpy(code + 5 * i, "\xff\xc7\x75\x00\x90", 5); // inc %edi; jne to the next; nop
    memcpy(code + 5 * BLOCKS, "\x89\xf8\xc3", 3); // mov %edi, %eax; ret
    mprotect(code, BYTES, PROT_READ | PROT_EXEC);
    CHECK(getrlimit(which, &was) == 0);
    low = (struct rlimit){ 1 << 20, was.rlim_max };
    CHECK(setrlimit(which, &low) == 0);
    CHECK(mmap(NULL, 1 << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
          MAP_FAILED);
    CHECK(run(1) == BLOCKS + 1);
    CHECK(getrlimit(which, &now) == 0 && !memcmp(&now, &low, sizeof(low)));
    CHECK(setrlimit(which, &was) == 0);
    munmap(code, BYTES);
}

int main(void)
{
    limited(RLIMIT_AS);
    limited(RLIMIT_DATA);
    return check_failed;
}
