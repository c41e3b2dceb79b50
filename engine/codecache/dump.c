// SPDX-License-Identifier: MIT
// --dump-code (dump.h): each record is appended to a file beside the spool as soon as its code
// exists. The file thus also holds code that is flushed later, and that of a killed process. It is
// open only during the append: the client never finds its descriptor. @holds(translation lock)
#include "engine/codecache/dump.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/spool/spooler.h"

static s32 dumped_pid; // the process whose file has been begun

// Opens this process's file for appending, or a new one if `anew`: somebody may have put a link of
// that name into a folder like /tmp. Returns -errno on failure.
static int open_file(bool anew)
{
    int how = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    char path[4096];

    nolibc_format(path, sizeof(path), "%s" SPOOL_CODE_SUFFIX, spooler_string(spool->s_spool));
    if (anew) {
        sys_unlink(path);
        how |= O_CREAT | O_EXCL;
    }
    return (int)sys_open(path, how, 0600);
}

static void put(int fd, const void *from, u64 bytes)
{
    const u8 *p = from;

    while (bytes) {
        long n = sys_write(fd, p, bytes);

        if (n == -EINTR)
            continue;
        if (n <= 0)
            return; // the record is incomplete, which ends the file
        p += n;
        bytes -= (u64)n;
    }
}

static void put_stub(int fd, const char *name, u64 hpc, u64 size)
{
    struct spool_code r = { .magic = SPOOL_CODE_MAGIC, .bytes = (u32)size, .hpc = hpc };

    nolibc_format(r.name, sizeof(r.name), "%s", name);
    put(fd, &r, sizeof(r));
    put(fd, (const void *)hpc, size);
}

// The stubs of stubs.def.
static void put_stubs(int fd)
{
    for (u32 s = 0; s < STUB_COUNT; s++) {
        u64 at = stubs_at(s);
        u64 end = s + 1 < STUB_COUNT ? stubs_at(s + 1) : region_start() + stubs_size();

        if (end > at)
            put_stub(fd, stubs_name(s), at, end - at);
    }
}

// A forked child begins a file of its own.
static int begin(void)
{
    s32 pid = sys_getpid();
    bool anew = pid != dumped_pid;
    int fd = open_file(anew);

    if (fd >= 0 && anew) {
        dumped_pid = pid;
        put_stubs(fd);
    }
    return fd;
}

bool dump_init(void)
{
    return spool->s_dump_code != 0;
}

void dump_fragment(const struct dump *d)
{
    struct spool_code r = { .magic = SPOOL_CODE_MAGIC,
                            .bytes = d->bytes,
                            .pc = d->pc,
                            .hpc = d->hpc,
                            .insns = d->insns,
                            .parts = d->parts };
    int fd = begin();

    if (fd < 0)
        return;
    put(fd, &r, sizeof(r));
    for (u32 i = 0; i < d->insns; i++) {
        struct spool_code_insn in = { .pc = d->insn[i].pc, .len = d->insn[i].len };

        if (in.len > sizeof(in.bytes)) // a client request, the last: only its first bytes are shown
            in.len = sizeof(in.bytes);
        memcpy(in.bytes, d->insn[i].bytes, in.len);
        put(fd, &in, sizeof(in));
    }
    put(fd, d->part, d->parts * sizeof(d->part[0]));
    put(fd, (const void *)d->hpc, d->bytes);
    sys_close(fd);
}

void dump_stub(const char *name, u64 hpc, u64 size)
{
    int fd = spool->s_dump_code ? begin() : -1;

    if (fd < 0)
        return;
    put_stub(fd, name, hpc, size);
    sys_close(fd);
}
