// SPDX-License-Identifier: MIT
// The file of the persistent cache (pcachefile.h). Sections are consecutive, at multiples of eight.
// The file's modification time tells when it was used last; it is set at most once an hour.
#include "engine/translate/pcachefile.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define MAGIC 0x34304e5254525551ul // "QURTRN04" in little endian; a new layout needs a new one
#define PIECE 0x40000u // bytes read or written at once, and summed while they are in the cache

#define OTHERS_WRITE 022u
#define HOUR         3600

_Static_assert(sizeof(struct pcachefile_head) % 8 == 0, "what follows is aligned");

#define ODD 0x9e3779b97f4a7c15ul

static inline u64 mix(u64 lane, const u8 *p)
{
    u64 w;

    memcpy(&w, p, 8);
    lane = (lane ^ w) * ODD;
    return lane ^ lane >> 29;
}

// Four lanes of eight bytes: they do not depend on each other.
u64 pcachefile_sum(u64 begin, const void *bytes, u64 n)
{
    u64 a = begin, b = begin ^ ODD, c = begin + ODD, d = ~begin, h = n, left = n;
    const u8 *p = bytes;

    for (; left >= 32; p += 32, left -= 32) {
        a = mix(a, p);
        b = mix(b, p + 8);
        c = mix(c, p + 16);
        d = mix(d, p + 24);
    }
    for (; left >= 8; p += 8, left -= 8)
        a = mix(a, p);
    for (; left; p++, left--)
        b = (b ^ *p) * ODD;
    h = (h ^ a) * ODD;
    h = (h ^ h >> 32 ^ b) * ODD;
    h = (h ^ h >> 32 ^ c) * ODD;
    h = (h ^ h >> 32 ^ d) * ODD;
    return h ^ h >> 32;
}

static u64 offset_of(const struct pcachefile_head *h, enum pcachefile_section s)
{
    u64 at = sizeof(*h);

    for (u32 i = 0; i < s; i++)
        at += (h->bytes[i] + 7) & ~7ul;
    return at;
}

static u64 head_sum(const struct pcachefile_head *h)
{
    return pcachefile_sum(MAGIC, h, offsetof(struct pcachefile_head, head_sum));
}

static bool read_all(int fd, void *to, u64 n, u64 at)
{
    for (u64 done = 0; done < n;) {
        long got = sys_pread(fd, (u8 *)to + done, n - done, at + done);

        if (got == -EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (u64)got;
    }
    return true;
}

static bool is_ours(int fd, u32 type, struct k_stat *st)
{
    return sys_fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == type &&
           st->st_uid == (u32)sys_call0(SYS_geteuid) && !(st->st_mode & OTHERS_WRITE);
}

static int open_folder(const char *path)
{
    struct k_stat st;
    int fd = (int)sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);

    if (fd >= 0 && !is_ours(fd, S_IFDIR, &st)) {
        sys_close(fd);
        return -EACCES;
    }
    return fd;
}

static void name_of(const u64 key[2], char *name, u64 size)
{
    nolibc_format(name, size, "%016lx.code", key[0]);
}

static bool is_whole(const struct pcachefile_head *h, const u64 key[2], u64 size)
{
    u64 at = sizeof(*h);

    if (h->magic != MAGIC || h->head_sum != head_sum(h) || memcmp(h->key, key, sizeof(h->key)))
        return false;
    for (u32 i = 0; i < PCACHEFILE_SECTIONS; i++) {
        if (h->bytes[i] > size)
            return false;
        at += (h->bytes[i] + 7) & ~7ul;
    }
    return at == size;
}

static void note_use(int fd, const struct k_stat *st)
{
    struct k_timespec now = { 0, 0 };

    sys_clock_gettime(CLOCK_REALTIME, &now);
    if (now.sec - (s64)st->st_mtime_sec > HOUR)
        sys_call4(SYS_utimensat, (u64)fd, 0, 0, 0);
}

int pcachefile_open(const char *folder, const u64 key[2], struct pcachefile_head *h)
{
    struct k_stat st;
    char name[40];
    int dir = open_folder(folder), fd;

    if (dir < 0)
        return dir;
    name_of(key, name, sizeof(name));
    fd = (int)sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    sys_close(dir);
    if (fd < 0)
        return fd;
    if (is_ours(fd, S_IFREG, &st) && read_all(fd, h, sizeof(*h), 0) &&
        is_whole(h, key, (u64)st.st_size)) {
        note_use(fd, &st);
        return fd;
    }
    sys_close(fd);
    return -EINVAL;
}

static u64 piece_at(const struct pcachefile_head *h, enum pcachefile_section s, u64 at)
{
    return h->bytes[s] - at < PIECE ? h->bytes[s] - at : PIECE;
}

bool pcachefile_read(int fd, const struct pcachefile_head *h, enum pcachefile_section s, void *to)
{
    u64 sum = s;

    for (u64 at = 0, n; at < h->bytes[s]; at += n) {
        u8 *p = (u8 *)to + at;

        n = piece_at(h, s, at);
        if (!read_all(fd, p, n, offset_of(h, s) + at))
            return false;
        sum = pcachefile_sum(sum, p, n);
    }
    return sum == h->sum[s];
}

// A write past the limit would send a signal to the client.
static bool exceeds_limit(u64 size)
{
    struct k_rlimit limit;

    return sys_prlimit(RLIMIT_FSIZE, NULL, &limit) == 0 && size > limit.cur;
}

static long write_all(int fd, const void *from, u64 n, u64 at)
{
    for (u64 done = 0; done < n;) {
        long put = sys_pwrite(fd, (const u8 *)from + done, n - done, at + done);

        if (put == -EINTR)
            continue;
        if (put <= 0)
            return put ? put : -EIO;
        done += (u64)put;
    }
    return 0;
}

static long write_section(int fd, struct pcachefile_head *h, enum pcachefile_section s,
                          const void *from, pcachefile_fill *fill)
{
    static u8 buffer[PIECE];
    long ret = 0;

    h->sum[s] = s;
    for (u64 at = 0, n; at < h->bytes[s] && ret == 0; at += n) {
        const u8 *p = from ? (const u8 *)from + at : buffer;

        n = piece_at(h, s, at);
        if (!from)
            fill(buffer, n);
        h->sum[s] = pcachefile_sum(h->sum[s], p, n);
        ret = write_all(fd, p, n, offset_of(h, s) + at);
    }
    return ret;
}

static long write_to(int fd, struct pcachefile_head *h, const void *const from[PCACHEFILE_SECTIONS],
                     pcachefile_fill *fill)
{
    u64 size = offset_of(h, PCACHEFILE_SECTIONS);
    long ret = exceeds_limit(size) ? -EFBIG : sys_ftruncate(fd, size);

    for (u32 i = 0; i < PCACHEFILE_SECTIONS && ret == 0; i++)
        ret = write_section(fd, h, i, from[i], fill);
    h->magic = MAGIC;
    h->head_sum = head_sum(h);
    return ret ? ret : write_all(fd, h, sizeof(*h), 0);
}

static void unlink_at(int dir, const char *name)
{
    sys_call3(SYS_unlinkat, (u64)dir, (u64)name, 0);
}

long pcachefile_write(const char *folder, struct pcachefile_head *h,
                      const void *const from[PCACHEFILE_SECTIONS], pcachefile_fill *fill)
{
    char name[40], beside[64];
    int dir = open_folder(folder), fd;
    long ret;

    if (dir < 0)
        return dir;
    name_of(h->key, name, sizeof(name));
    nolibc_format(beside, sizeof(beside), "%s.%d.new", name, sys_getpid());
    unlink_at(dir, beside); // from an earlier process with this number
    fd = (int)sys_openat(dir, beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    ret = fd < 0 ? fd : write_to(fd, h, from, fill);
    if (fd >= 0)
        sys_close(fd);
    if (ret == 0)
        ret = sys_call4(SYS_renameat, (u64)dir, (u64)beside, (u64)dir, (u64)name);
    if (ret && fd >= 0)
        unlink_at(dir, beside);
    sys_close(dir);
    return ret;
}

void pcachefile_remove(const char *folder, const u64 key[2])
{
    char name[40];
    int dir = open_folder(folder);

    if (dir < 0)
        return;
    name_of(key, name, sizeof(name));
    unlink_at(dir, name);
    sys_close(dir);
}
