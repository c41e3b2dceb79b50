// SPDX-License-Identifier: MIT
// Limits that are lifted for a call (limits.h).
#include "engine/base/limits.h"

#include "engine/base/sys.h"

// Sets *was to what it was; false: it is as it was.
static bool lift(int which, struct k_rlimit *was)
{
    struct k_rlimit high = { ~0ul, ~0ul };

    if (sys_prlimit(which, NULL, was) || !~was->cur)
        return false;
    if (sys_prlimit(which, &high, NULL) == 0)
        return true;
    high = (struct k_rlimit){ was->max, was->max };
    return was->cur < was->max && sys_prlimit(which, &high, NULL) == 0;
}

long limits_mmap(u64 addr, u64 bytes, int prot, int flags, int fd, u64 offset)
{
    static const int on_memory[] = { RLIMIT_AS, RLIMIT_DATA };
    struct k_rlimit was[2];
    bool lifted[2];
    long got = sys_mmap(addr, bytes, prot, flags, fd, offset);

    if (got != -ENOMEM)
        return got;
    for (int i = 0; i < 2; i++)
        lifted[i] = lift(on_memory[i], &was[i]);
    if (lifted[0] || lifted[1])
        got = sys_mmap(addr, bytes, prot, flags, fd, offset);
    for (int i = 0; i < 2; i++)
        if (lifted[i])
            sys_prlimit(on_memory[i], &was[i], NULL);
    return got;
}
