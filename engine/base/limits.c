// SPDX-License-Identifier: MIT
// Lifts limits for one call (limits.h).
#include "engine/base/limits.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

// Lifts a limit; *was is the old one. False: it is unchanged.
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
    // EAGAIN means the last one, where the client has requested that all memory is locked.
    static const int on_memory[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK };
    struct k_rlimit was[3];
    bool lifted[3];
    long got = sys_mmap(addr, bytes, prot, flags, fd, offset);

    if (got != -ENOMEM && got != -EAGAIN)
        return got;
    for (int i = 0; i < 3; i++)
        lifted[i] = lift(on_memory[i], &was[i]);
    if (lifted[0] || lifted[1] || lifted[2])
        got = sys_mmap(addr, bytes, prot, flags, fd, offset);
    for (int i = 0; i < 3; i++)
        if (lifted[i])
            sys_prlimit(on_memory[i], &was[i], NULL);
    return got;
}

void limits_die(const char *what, u64 kib, long error)
{
    static const char *const are[][2] = {
        { "on memory (ulimit -d ", "" },
        { "", "on address space (ulimit -v " },
        { "on memory (ulimit -d ", ") or on address space (ulimit -v " },
    };
    struct k_rlimit data = { ~0ul, ~0ul }, as = data;
    char text[128], data_kib[24] = "", as_kib[24] = "";

    sys_prlimit(RLIMIT_DATA, NULL, &data);
    sys_prlimit(RLIMIT_AS, NULL, &as);
    if (error != -ENOMEM || (!~data.cur && !~as.cur))
        engine_die("cannot map %lu KiB for %s: error %ld", kib, what, -error);
    if (~data.cur)
        nolibc_format(data_kib, sizeof(data_kib), "%lu", data.cur >> 10);
    if (~as.cur)
        nolibc_format(as_kib, sizeof(as_kib), "%lu", as.cur >> 10);
    const char *const *is = are[~data.cur ? (~as.cur ? 2 : 0) : 1];

    nolibc_format(text, sizeof(text), "%s%s%s%s)", is[0], data_kib, is[1], as_kib);
    engine_die("cannot map %lu KiB for %s: the limit %s is too low: raise it", kib, what, text);
}
