// SPDX-License-Identifier: MIT
// Alternate stacks and permission for AMX: each is refused if with the other frames would not
// fit. The rules are the kernel's (validate_sigaltstack, sigaltstack_size_valid); without
// AMX only the sizes apply.
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#define GET_SUPPORTED 0x1021
#define REQUEST       0x1023
#define TILE_DATA     18

#ifndef AT_MINSIGSTKSZ
#    define AT_MINSIGSTKSZ 51
#endif

static int set(char *at, size_t size)
{
    stack_t s = { 0 };

    s.ss_sp = at;
    s.ss_size = size;
    return sigaltstack(&s, NULL) == 0 ? 0 : errno;
}

int main(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    static char stack[1 << 18];
    uint64_t supported = 0;

    CHECK(set(stack, 2047) == ENOMEM);
    CHECK(set(stack, sizeof(stack)) == 0);
    SAY("sizes");
    if (syscall(SYS_arch_prctl, GET_SUPPORTED, &supported) || !(supported & 1ul << TILE_DATA)) {
        SAY("no AMX on this machine");
        return check_failed;
    }
    CHECK(set(stack, frame - 8192) == 0); // the tiles are 8 KiB of the frame
    CHECK(syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == -1 && errno == ENOSPC);
    CHECK(syscall(SYS_arch_prctl, REQUEST, 40) == -1 && errno == EINVAL);
    CHECK(set(stack, sizeof(stack)) == 0);
    CHECK(syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0);
    CHECK(set(stack, frame - 8192) == ENOMEM);
    CHECK(set(stack, sizeof(stack)) == 0);
    CHECK(syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0);
    SAY("stacks and tiles");
    return check_failed;
}
