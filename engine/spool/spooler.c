// SPDX-License-Identifier: MIT
// The engine's side of the spool (spooler.h): mapping, appending, counters for threads, the copy
// for a forked child. How a process ends is in finish.c.
//
// An area of the file is mapped up to where it is used, in doubling steps; the pieces are
// neighbours in memory and in the file, so the kernel keeps one mapping for each area. Every record
// is written before the cursor that covers it advances: whoever reads the file after a SIGKILL
// finds it complete.
#include "engine/spool/spooler.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"

// ---- The mapped part of each area ----

struct area {
    u64 start, size; // in the file
    u64 mapped;      // bytes from start
    u64 first;       // what is mapped at first
};

enum { AREA_HEAD, AREA_MAPS, AREA_PARTIAL, AREA_BLOCKS, AREA_COUNT };

static struct area areas[AREA_COUNT] = {
    [AREA_HEAD] = { 0, SPOOL_TEXT_OFF + SPOOL_TEXT_SIZE, 0, 0x20000 },
    [AREA_MAPS] = { SPOOL_MAPS_OFF, SPOOL_MAPS_MAX * sizeof(struct spool_map), 0, 0x10000 },
    // The whole: appended to without a lock.
    [AREA_PARTIAL] = { SPOOL_PARTIAL_OFF, SPOOL_PARTIAL_MAX * sizeof(struct spool_partial), 0,
                       SPOOL_PARTIAL_MAX * sizeof(struct spool_partial) },
    [AREA_BLOCKS] = { SPOOL_BLOCKS_OFF, SPOOL_BLOCKS_SIZE, 0, 0x100000 },
};

#define COUNTERS_FIRST 0x80000ul // bytes of each slot's counters that are mapped at first

struct spool_header *spool;

static struct lock spool_lock;
static u64 counters_mapped = COUNTERS_FIRST; // bytes, the same for every slot
static u64 slots[(SPOOL_THREADS_MAX + 63) / 64];
static u64 file_size;
static bool lost; // no file: what is counted is seen by nobody (spooler_fork_child)

static void *at(u64 offset)
{
    return (void *)(SPOOLER_BASE + offset);
}

static u64 slot_offset(u32 slot)
{
    return SPOOL_THREADS_OFF + slot * SPOOL_THREAD_SIZE;
}

static u64 slot_address(u32 slot)
{
    return THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE + TA_COUNTERS;
}

static bool slot_in_use(u32 slot)
{
    return slots[slot / 64] >> (slot % 64) & 1;
}

static long map_shared(int fd, u64 addr, u64 bytes, u64 offset, int fixed)
{
    long got = lost ? sys_mmap(addr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0)
                    : sys_mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, offset);

    if (!sys_failed(got) && (u64)got != addr) {
        sys_munmap((u64)got, bytes);
        return -EEXIST;
    }
    if (sys_failed(got))
        return got;
    // Most pages are holes: reading ahead would only clear memory (a quarter of the time of
    // /bin/true on ext4).
    sys_madvise(addr, bytes, MADV_RANDOM);
    return 0;
}

// Makes the file at least this large. The client's limit on file sizes is not meant for this file:
// lifted as far as the hard limit goes, which keeps the kernel from sending SIGXFSZ as well. 0 or
// -errno.
static long grow_file(int fd, u64 *size, u64 want)
{
    struct k_rlimit limit, lifted;

    if (want <= *size || lost)
        return 0;
    bool low = sys_prlimit(RLIMIT_FSIZE, NULL, &limit) == 0 && limit.cur < want;
    if (low) { // beyond the hard limit only for who may
        u64 max = limit.max < want ? want : limit.max;
        lifted = (struct k_rlimit){ max, max };
        if (sys_prlimit(RLIMIT_FSIZE, &lifted, NULL) && limit.max < want)
            return -EFBIG;
    }
    long ret = sys_ftruncate(fd, want);
    if (low)
        sys_prlimit(RLIMIT_FSIZE, &limit, NULL);
    if (ret == 0)
        *size = want;
    return ret;
}

// Maps an area so that `need` bytes from its start can be used. @holds(spool_lock)
static long area_reach(struct area *a, u64 need)
{
    if (need <= a->mapped)
        return 0;
    if (need > a->size)
        return -ENOSPC;
    u64 want = a->mapped ? a->mapped * 2 : a->first;
    if (want < need)
        want = need;
    want = (want + 0xffff) & ~0xfffful;
    if (want > a->size)
        want = PAGE_UP(a->size);
    long ret = map_shared(fds_spool(), SPOOLER_BASE + a->start + a->mapped, want - a->mapped,
                          a->start + a->mapped, MAP_FIXED_NOREPLACE);
    if (ret == 0)
        a->mapped = want;
    return ret;
}

void spooler_map(int fd)
{
    struct spool_header head;
    struct k_stat st;

    if (sys_pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != SPOOL_MAGIC)
        engine_die("file descriptor %d is not a spool; start programs with `quern run`", fd);
    if (head.version != SPOOL_VERSION)
        engine_die("the spool is of version %u, this engine of version %u: mixed installation",
                   head.version, SPOOL_VERSION);
    if (head.state != SPOOL_NEW)
        engine_die("the spool is in use or finished; start programs with `quern run`");

    if (sys_fstat(fd, &st) == 0 && st.st_size > 0)
        file_size = (u64)st.st_size;
    long ret = grow_file(fd, &file_size, SPOOL_THREADS_OFF);
    if (ret)
        engine_die("cannot make the spool %lu bytes large: error %ld", SPOOL_THREADS_OFF, -ret);
    // fds_init has not run yet: the first pieces are mapped from fd.
    for (u32 i = 0; i < AREA_COUNT && ret == 0; i++) {
        struct area *a = &areas[i];
        u64 bytes = a->first;
        if (i == AREA_HEAD && bytes < SPOOL_TEXT_OFF + head.text_used + 0x8000)
            bytes = PAGE_UP(SPOOL_TEXT_OFF + head.text_used + 0x8000);
        if (bytes > a->size)
            bytes = PAGE_UP(a->size);
        ret = map_shared(fd, SPOOLER_BASE + a->start, bytes, a->start, MAP_FIXED_NOREPLACE);
        a->mapped = bytes;
    }
    if (ret)
        engine_die("cannot map the spool at 0x%lx: error %ld", (u64)SPOOLER_BASE, -ret);
    spool = at(0);
}

// ---- Appending ----

const char *spooler_string(u32 offset)
{
    return at(SPOOL_TEXT_OFF + offset);
}

// Strings are few (one for each module, and those of the header): a walk finds an equal one.
u32 spooler_text(const char *s)
{
    u64 n = strlen(s) + 1;
    u32 found = 0;

    if (n == 1)
        return 0;
    lock_take(&spool_lock);
    for (u64 i = 1; i < spool->text_used && !found; i += strlen(spooler_string((u32)i)) + 1)
        if (strcmp(spooler_string((u32)i), s) == 0)
            found = (u32)i;
    if (!found && area_reach(&areas[AREA_HEAD], SPOOL_TEXT_OFF + spool->text_used + n) == 0) {
        found = (u32)spool->text_used;
        memcpy(at(SPOOL_TEXT_OFF + found), s, n);
        __atomic_store_n(&spool->text_used, found + n, __ATOMIC_RELEASE);
    }
    lock_drop(&spool_lock);
    return found;
}

u32 spooler_map_record(u64 start, u64 end, u64 offset, u64 dev, u64 ino, const char *path,
                       u32 flags, u64 mtime)
{
    u32 text = spooler_text(path);

    lock_take(&spool_lock);
    u64 index = spool->maps_used;
    if (area_reach(&areas[AREA_MAPS], (index + 1) * sizeof(struct spool_map)) == 0) {
        struct spool_map *m = at(SPOOL_MAPS_OFF);
        m[index] = (struct spool_map){ .start = start,
                                       .end = end,
                                       .offset = offset,
                                       .dev = dev,
                                       .ino = ino,
                                       .path = text,
                                       .flags = flags,
                                       .mtime = mtime };
        __atomic_store_n(&spool->maps_used, index + 1, __ATOMIC_RELEASE);
    } else if (index) {
        index--;
    } else {
        engine_die("no memory for the spool's first mapping");
    }
    lock_drop(&spool_lock);
    return (u32)index;
}

// Maps the counters of every slot in use as far as `bytes`. @holds(spool_lock)
static long counters_reach(u64 bytes)
{
    u64 want = counters_mapped;

    while (want < bytes)
        want *= 2;
    if (want == counters_mapped)
        return 0;
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        if (!slot_in_use(slot))
            continue;
        // Fixed: a step that failed half-way is made again.
        long ret =
            map_shared(fds_spool(), slot_address(slot) + counters_mapped, want - counters_mapped,
                       slot_offset(slot) + counters_mapped, MAP_FIXED);
        if (ret)
            return ret;
    }
    counters_mapped = want;
    return 0;
}

struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter)
{
    u64 bytes = (sizeof(struct spool_block) + n * sizeof(*insns) + 7) & ~7ul;

    lock_take(&spool_lock);
    u64 offset = spool->blocks_used;
    u64 counter = spool->counters_used;
    long ret = area_reach(&areas[AREA_BLOCKS], offset + bytes);
    if (ret == 0)
        ret = counter + n_counters > SPOOL_COUNTERS_MAX
                  ? -ENOSPC
                  : counters_reach((counter + n_counters) * 8);
    if (ret == -ENOSPC)
        engine_die("the spool is full: %lu blocks of code; the counts so far are kept",
                   spool->block_count);
    if (ret)
        engine_die("cannot map more of the spool: error %ld; the counts so far are kept", -ret);

    struct spool_block *b = at(SPOOL_BLOCKS_OFF + offset);
    *b = (struct spool_block){ .pc = pc,
                               .map = map,
                               .counter = (u32)counter,
                               .insns = (u16)n,
                               .flags = (u16)flags,
                               .hash = hash };
    memcpy(b + 1, insns, n * sizeof(*insns));
    spool->counters_used = counter + n_counters;
    spool->block_count++;
    __atomic_store_n(&spool->blocks_used, offset + bytes, __ATOMIC_RELEASE);
    lock_drop(&spool_lock);
    *first_counter = (u32)counter;
    return b;
}

u32 spooler_block_index(const struct spool_block *block)
{
    return (u32)(((u64)block - SPOOLER_BASE - SPOOL_BLOCKS_OFF) / 8);
}

struct spool_block *spooler_block_at(u32 index)
{
    return at(SPOOL_BLOCKS_OFF + index * 8ul);
}

// ---- Partial executions ----

// Where the record of a pair is, plus one: direct-mapped, so that a fault that happens a million
// times takes one record.
static u32 partial_cache[4096];
static u32 partial_lost;

void spooler_partial(u32 block, u32 insn)
{
    struct spool_partial *records = at(SPOOL_PARTIAL_OFF);
    u32 *known = &partial_cache[(block * 37 + insn) % ARRAY_SIZE(partial_cache)];
    u32 index = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (!insn)
        return;
    if (index && records[index - 1].block == block && records[index - 1].insn == insn) {
        __atomic_fetch_add(&records[index - 1].count, 1, __ATOMIC_RELAXED);
        return;
    }
    // No lock (signal handlers come here): the record is reserved by its cursor, and one that is
    // not written yet has count 0.
    u64 mine = __atomic_fetch_add(&spool->partial_used, 1, __ATOMIC_RELAXED);
    if (mine >= SPOOL_PARTIAL_MAX) {
        __atomic_store_n(&spool->partial_used, SPOOL_PARTIAL_MAX, __ATOMIC_RELAXED);
        if (!__atomic_exchange_n(&partial_lost, 1, __ATOMIC_RELAXED))
            engine_msg("warning: more than %u blocks were left half-way; some of their "
                       "instructions are not counted",
                       SPOOL_PARTIAL_MAX);
        return;
    }
    records[mine].block = block;
    records[mine].insn = insn;
    __atomic_store_n(&records[mine].count, 1, __ATOMIC_RELEASE);
    __atomic_store_n(known, (u32)mine + 1, __ATOMIC_RELEASE);
}

// ---- Threads ----

int spooler_thread_slot(u32 slot)
{
    if (slot >= SPOOL_THREADS_MAX)
        return -EAGAIN;
    lock_take(&spool_lock);
    long ret = grow_file(fds_spool(), &file_size, slot_offset(slot) + SPOOL_THREAD_SIZE);
    if (ret == 0)
        ret = map_shared(fds_spool(), slot_address(slot), counters_mapped, slot_offset(slot),
                         MAP_FIXED);
    if (ret == 0) {
        slots[slot / 64] |= 1ul << (slot % 64);
        if (spool->threads_used <= slot)
            spool->threads_used = slot + 1;
    }
    lock_drop(&spool_lock);
    return (int)ret;
}

bool spooler_owns(u64 addr)
{
    if (addr - SPOOLER_BASE < SPOOL_THREADS_OFF)
        return true;
    if (addr < THREAD_AREA_BASE)
        return false;
    u64 slot = (addr - THREAD_AREA_BASE) / THREAD_AREA_STRIDE;
    u64 offset = (addr - THREAD_AREA_BASE) % THREAD_AREA_STRIDE;
    return slot < SPOOL_THREADS_MAX && offset - TA_COUNTERS < SPOOL_THREAD_SIZE;
}

// ---- Copies ----

void spooler_fork_take(void)
{
    lock_take(&spool_lock);
}

void spooler_fork_drop(void)
{
    lock_drop(&spool_lock);
}

// A new file in the folder for spools, its path in path. The name is as `quern run` makes it, so
// that `quern recover` finds all of them. The descriptor, close-on-exec, or -errno.
static int new_file(s32 pid, char *path, u64 size)
{
    const char *dir = spooler_string(spool->s_spool_dir);

    for (int i = 0; i < 1000; i++) {
        if (i)
            mini_format(path, size, "%s/quern.spool.%d.%d", dir, pid, i);
        else
            mini_format(path, size, "%s/quern.spool.%d", dir, pid);
        long fd = fds_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd != -EEXIST)
            return (int)fd;
    }
    return -EEXIST;
}

// Writes what lies at addr to the same place of another file, without the pages that hold nothing.
// 0 or -errno.
static long copy_out(int fd, const void *addr, u64 bytes, u64 offset)
{
    const u8 *from = addr;

    for (u64 done = 0; done < bytes;) {
        u64 run = 0;
        // As many pages as hold something, in one call.
        while (done + run < bytes) {
            const u64 *word = (const u64 *)(const void *)(from + done + run);
            u64 n = bytes - done - run < PAGE_SIZE ? bytes - done - run : PAGE_SIZE, i = 0;
            while (i < n / 8 && !word[i])
                i++;
            if (i == n / 8 && n % 8 == 0)
                break;
            run += n;
        }
        for (u64 part = 0; part < run;) {
            long n = sys_pwrite(fd, from + done + part, run - part, offset + done + part);
            if (n == -EINTR)
                continue;
            if (n <= 0)
                return n ? n : -EIO;
            part += (u64)n;
        }
        done += run;
        if (done < bytes)
            done += PAGE_SIZE;
    }
    return 0;
}

// Opens a file for a spool of this process and makes it large enough. -errno; the file is gone
// then.
static int open_copy(s32 pid, char *path, u64 path_size, u64 *size, u64 want)
{
    int fd = new_file(pid, path, path_size);

    *size = 0;
    if (fd < 0)
        return fd;
    long ret = grow_file(fd, size, want);
    if (ret) {
        sys_close(fd);
        sys_unlink(path);
        return (int)ret;
    }
    return fd;
}

static long copy_contents(int fd, const struct spool_header *h)
{
    long ret = copy_out(fd, at(SPOOL_TEXT_OFF), h->text_used, SPOOL_TEXT_OFF);

    if (!ret)
        ret = copy_out(fd, at(SPOOL_MAPS_OFF), h->maps_used * sizeof(struct spool_map),
                       SPOOL_MAPS_OFF);
    if (!ret)
        ret = copy_out(fd, at(SPOOL_PARTIAL_OFF), h->partial_used * sizeof(struct spool_partial),
                       SPOOL_PARTIAL_OFF);
    if (!ret)
        ret = copy_out(fd, at(SPOOL_BLOCKS_OFF), h->blocks_used, SPOOL_BLOCKS_OFF);
    for (u32 slot = 0; slot < h->threads_used && !ret; slot++)
        if (slot_in_use(slot))
            ret = copy_out(fd, (void *)slot_address(slot), h->counters_used * 8, slot_offset(slot));
    if (!ret)
        ret = sys_pwrite(fd, h, sizeof(*h), 0) == sizeof(*h) ? 0 : -EIO;
    return ret;
}

u32 spooler_fork_before(void)
{
    return __atomic_load_n(&spool->fork_copied, __ATOMIC_ACQUIRE);
}

// A child that is killed before it has copied would be waited for in vain: the wait is bounded.
void spooler_fork_wait(u32 before)
{
    struct k_timespec step = { 0, 20 * 1000 * 1000 };

    if (lost) // the child does not have this memory in common with us
        return;
    for (u32 i = 0; i < 150 && __atomic_load_n(&spool->fork_copied, __ATOMIC_ACQUIRE) == before;
         i++)
        sys_futex(&spool->fork_copied, FUTEX_WAIT, before, &step);
}

// In the child, while its mapping is still the parent's: the parent may count on.
static void fork_copy_done(void)
{
    __atomic_add_fetch(&spool->fork_copied, 1, __ATOMIC_RELEASE);
    sys_futex(&spool->fork_copied, FUTEX_WAKE, INT32_MAX, NULL);
}

// Memory of this process alone in the place of the parent's spool, with what the engine looks up there: strings, mappings and
// blocks, but no counts.
static void detach(const struct spool_header *h)
{
    const u64 used[AREA_COUNT] = { SPOOL_TEXT_OFF + h->text_used,
                                   h->maps_used * sizeof(struct spool_map),
                                   h->partial_used * sizeof(struct spool_partial), h->blocks_used };

    lost = true;
    for (u32 i = AREA_COUNT; i-- > 0;) { // the header last: the parent looks at it
        u64 bytes = areas[i].mapped;
        long to = sys_mmap(0, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (!sys_failed(to)) {
            memcpy((void *)to, at(areas[i].start), used[i]);
            if (i == AREA_HEAD)
                fork_copy_done();
            to = sys_call5(SYS_mremap, (u64)to, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                           SPOOLER_BASE + areas[i].start);
        }
        if (sys_failed(to))
            engine_die("no memory for a forked child without a spool: error %ld", -to);
    }
    *spool = *h;
    for (u32 slot = 0; slot < h->threads_used; slot++)
        if (slot_in_use(slot) && map_shared(-1, slot_address(slot), counters_mapped, 0, MAP_FIXED))
            engine_die("no memory for the counters of a forked child without a spool");
}

bool spooler_is_lost(void)
{
    return lost;
}

// The header is copied first: appends of the parent's other threads that happen meanwhile lie
// beyond its cursors.
void spooler_fork_child(s32 parent_pid, bool shares_fds)
{
    struct spool_header h = *spool;
    char path[4096];
    u64 size, old_size = file_size;
    s32 pid = sys_getpid();

    bool was_lost = lost;
    lost = false;
    int fd = open_copy(pid, path, sizeof(path), &size, old_size);
    long ret = fd < 0 ? fd : 0;
    h.pid = pid;
    h.parent_pid = parent_pid;
    h.flags |= SPOOL_F_FORKED;
    h.flags &= ~(u64)SPOOL_F_EXECED;
    if (!ret)
        ret = copy_contents(fd, &h);
    if (ret) { // natively it would go on, and so it does here
        engine_msg(
            "warning: this forked child is not profiled, its spool cannot be made: error %ld",
            -ret);
        if (fd >= 0) {
            sys_close(fd);
            sys_unlink(path);
        }
        lost = was_lost;
        if (!lost)
            detach(&h);
        else
            *spool = h;
        fds_own_log();
        return;
    }
    fork_copy_done();

    for (u32 i = 0; i < AREA_COUNT && !ret; i++)
        ret = map_shared(fd, SPOOLER_BASE + areas[i].start, areas[i].mapped, areas[i].start,
                         MAP_FIXED);
    for (u32 slot = 0; slot < h.threads_used && !ret; slot++)
        if (slot_in_use(slot))
            ret = map_shared(fd, slot_address(slot), counters_mapped, slot_offset(slot), MAP_FIXED);
    if (ret)
        engine_die("cannot map the spool of a forked child: error %ld", -ret);
    file_size = size;
    fds_replace_spool(fd, shares_fds);
    spool->s_spool = spooler_text(path);
    fds_own_log();
}

// Appends a string to the text area of the file fd, whose header is h; its offset in *at_text.
static long text_out(int fd, struct spool_header *h, const char *s, u32 *at_text)
{
    u64 n = strlen(s) + 1;

    if (h->text_used + n > SPOOL_TEXT_SIZE)
        return -E2BIG;
    if (sys_pwrite(fd, s, n, SPOOL_TEXT_OFF + h->text_used) != (long)n)
        return -EIO;
    *at_text = (u32)h->text_used;
    h->text_used += n;
    return 0;
}

// The command line, as `quern run` writes it: the arguments joined by blanks, line ends made
// blanks. They are the client's memory, of any length.
static long command_out(int fd, struct spool_header *h, const u64 *argv)
{
    u64 pos = h->text_used;
    char part[512];
    u64 fill = 0;

    for (u64 i = 0; argv[i]; i++) {
        s64 len = safe_strnlen(argv[i], SPOOL_TEXT_SIZE);
        if (len < 0)
            return len;
        // One more for the blank, or for the NUL of the last one.
        for (u64 done = 0; done <= (u64)len;) {
            u64 n = (u64)len - done < sizeof(part) - 1 - fill ? (u64)len - done
                                                              : sizeof(part) - 1 - fill;
            if (safe_read(part + fill, argv[i] + done, n))
                return -EFAULT;
            for (u64 k = fill; k < fill + n; k++)
                if (part[k] == '\n' || part[k] == '\r' || !part[k])
                    part[k] = ' ';
            done += n;
            fill += n;
            if (done == (u64)len) {
                part[fill++] = argv[i + 1] ? ' ' : '\0';
                done++;
            }
            if (pos + fill > SPOOL_TEXT_SIZE)
                return -E2BIG;
            if (sys_pwrite(fd, part, fill, SPOOL_TEXT_OFF + pos) != (long)fill)
                return -EIO;
            pos += fill;
            fill = 0;
        }
    }
    h->s_cmd = (u32)h->text_used;
    h->text_used = pos;
    return 0;
}

int spooler_new_for_exec(const char *program, const u64 *argv, char *path, u64 path_size)
{
    struct spool_header h = *spool;
    char cwd[4096];
    u64 size;

    int fd = open_copy(sys_getpid(), path, path_size, &size, SPOOL_THREADS_OFF);
    if (fd < 0)
        return fd;
    long len = sys_call2(SYS_getcwd, (u64)cwd, sizeof(cwd));

    // Strings of this run are copied whole, those of the new one come behind them.
    long ret = copy_out(fd, at(SPOOL_TEXT_OFF), h.text_used, SPOOL_TEXT_OFF);
    if (!ret)
        ret = text_out(fd, &h, program, &h.s_program);
    if (!ret)
        ret = text_out(fd, &h, path, &h.s_spool);
    if (!ret)
        ret = text_out(fd, &h, len > 1 && cwd[0] == '/' ? cwd : "/", &h.s_cwd);
    if (!ret)
        ret = command_out(fd, &h, argv);

    h.state = SPOOL_NEW;
    h.pid = sys_getpid();
    h.parent_pid = 0;
    h.end_kind = SPOOL_END_NONE;
    h.end_code = 0;
    h.flags = (h.flags | SPOOL_F_EXECED) & ~(u64)SPOOL_F_FORKED;
    h.maps_used = h.blocks_used = h.counters_used = h.partial_used = h.threads_used = 0;
    h.block_count = 0;
    h.s_seccomp = h.seccomp_bytes = 0;
    memset(&h.n_translated, 0, sizeof(h) - offsetof(struct spool_header, n_translated));
    if (!ret && sys_pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
        ret = -EIO;
    if (ret) {
        sys_close(fd);
        sys_unlink(path);
        return (int)ret;
    }
    return fd;
}

long spooler_set_start_mask(int fd, u64 mask)
{
    long n = sys_pwrite(fd, &mask, sizeof(mask), offsetof(struct spool_header, start_mask));

    return n == sizeof(mask) ? 0 : n < 0 ? n : -EIO;
}

void spooler_drop(void)
{
    if (lost)
        return;
    // Beyond a chroot the name is gone; then at least what it takes.
    if (sys_unlink(spooler_string(spool->s_spool)) < 0)
        sys_ftruncate(fds_spool(), 0);
}
