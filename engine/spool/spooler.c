// SPDX-License-Identifier: MIT
// The engine's side of the spool (spooler.h): mapping, appending, counters for threads. copy.c
// makes copies.
//
// An area of the file is mapped as far as it is used, in doubling steps. The pieces are adjacent in
// memory and in the file, so the kernel keeps one mapping for each area. Every record is written
// before the cursor that covers it advances: after a SIGKILL the file is complete.
#include "engine/spool/spooler.h"

#include "engine/base/heap.h"
#include "engine/base/limits.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler_priv.h"

// ---- The mapped part of each area ----

struct spooler_area spooler_areas[AREA_COUNT] = {
    [AREA_HEAD] = { 0, SPOOL_TEXT_OFF + SPOOL_TEXT_SIZE, 0, 0x20000 },
    [AREA_MAPS] = { SPOOL_MAPS_OFF, SPOOL_MAPS_MAX * sizeof(struct spool_map), 0, 0x10000 },
    // Mapped whole: records are appended without a lock.
    [AREA_PARTIAL] = { SPOOL_PARTIAL_OFF, SPOOL_PARTIAL_MAX * sizeof(struct spool_partial), 0,
                       SPOOL_PARTIAL_MAX * sizeof(struct spool_partial) },
    [AREA_BLOCKS] = { SPOOL_BLOCKS_OFF, SPOOL_BLOCKS_SIZE, 0, 0x100000 },
    [AREA_EDGES] = { SPOOL_EDGES_OFF, SPOOL_EDGES_MAX * sizeof(struct spool_edge), 0, 0x10000 },
};

#define COUNTERS_FIRST 0x80000ul // bytes of each slot's counters that are mapped at first

struct spool_header *spool;

static struct lock spool_lock;
static u64 slots[(SPOOL_THREADS_MAX + 63) / 64];
u64 spooler_counters_mapped = COUNTERS_FIRST;
u64 spooler_file_size;
bool spooler_lost;
u32 spooler_stack_mapped[SPOOL_THREADS_MAX + 1];

bool spooler_slot_in_use(u32 slot)
{
    return slots[slot / 64] >> (slot % 64) & 1;
}

long spooler_map_shared(int fd, u64 addr, u64 bytes, u64 offset, int fixed)
{
    int flags = spooler_lost ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    long got = limits_mmap(addr, bytes, PROT_READ | PROT_WRITE, flags | fixed,
                           spooler_lost ? -1 : fd, spooler_lost ? 0 : offset);

    if (!sys_failed(got) && (u64)got != addr) {
        sys_munmap((u64)got, bytes);
        return -EEXIST;
    }
    if (sys_failed(got))
        return got;
    // Most pages are holes: read-ahead would only clear memory (a quarter of the time of /bin/true
    // on ext4).
    sys_madvise(addr, bytes, MADV_RANDOM);
    return 0;
}

// Makes the file at least this large. The client's limit on file sizes is not meant for this file:
// the soft limit is raised to the hard one, which also keeps the kernel from sending SIGXFSZ. 0 or
// -errno.
long spooler_grow_file(int fd, u64 *size, u64 want)
{
    struct k_rlimit limit, lifted;

    if (want <= *size || spooler_lost)
        return 0;
    bool low = sys_prlimit(RLIMIT_FSIZE, NULL, &limit) == 0 && limit.cur < want;
    if (low) { // beyond the hard limit only with the right to
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

int spooler_fd(void)
{
    int fd;

    if (fds_spool_is_there())
        return fds_spool();
    fd = fds_open(spooler_string(spool->s_spool), O_RDWR | O_CLOEXEC, 0);
    return fd < 0 ? fd : fds_adopt_spool(fd);
}

// Maps an area so that `need` bytes from its start can be used. @holds(spool_lock)
static long area_reach(struct spooler_area *a, u64 need)
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
    long ret = spooler_map_shared(spooler_fd(), SPOOLER_BASE + a->start + a->mapped,
                                  want - a->mapped, a->start + a->mapped, MAP_FIXED_NOREPLACE);
    if (ret == 0)
        a->mapped = want;
    return ret;
}

// Also called where no zero-initialized memory is mapped: uses no static variable and calls no
// other function.
#if defined(__has_attribute) && __has_attribute(no_sanitize_coverage)
__attribute__((no_sanitize_coverage))
#endif
void spooler_forget(int fd)
{
    static const char folder[] = "/proc/self/fd/";
    char link[sizeof(folder) + 16], path[4096];
    u64 at = sizeof(link) - 1, head[2];
    u32 n = (u32)fd;

    // A new spool: magic number, version, and SPOOL_NEW.
    if (sys_pread(fd, head, sizeof(head), 0) != sizeof(head) || head[0] != SPOOL_MAGIC ||
        head[1] != ((u64)SPOOL_NEW << 32 | SPOOL_VERSION))
        return;
    link[at] = '\0';
    do
        link[--at] = (char)('0' + n % 10);
    while (n /= 10);
    for (u64 i = sizeof(folder) - 1; i-- > 0;)
        link[--at] = folder[i];
    long len = sys_readlinkat(AT_FDCWD, link + at, path, sizeof(path));
    if (len > 0 && len < (long)sizeof(path)) {
        path[len] = '\0';
        sys_unlink(path);
    }
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
        spooler_file_size = (u64)st.st_size;
    long ret = spooler_grow_file(fd, &spooler_file_size, SPOOL_THREADS_OFF);
    if (ret)
        engine_die("cannot make the spool %lu bytes large: error %ld", SPOOL_THREADS_OFF, -ret);
    u64 last = 0;
    // fds_init() has not run yet: map the first pieces from fd.
    for (u32 i = 0; i < AREA_COUNT && ret == 0; i++) {
        struct spooler_area *a = &spooler_areas[i];
        u64 bytes = a->first;
        if (i == AREA_EDGES && !(head.flags & SPOOL_F_CALLS))
            continue;
        if (i == AREA_HEAD && bytes < SPOOL_TEXT_OFF + head.text_used + 0x8000)
            bytes = PAGE_UP(SPOOL_TEXT_OFF + head.text_used + 0x8000);
        if (bytes > a->size)
            bytes = PAGE_UP(a->size);
        ret = spooler_map_shared(fd, SPOOLER_BASE + a->start, bytes, a->start, MAP_FIXED_NOREPLACE);
        a->mapped = last = bytes;
    }
    if (ret) {
        spooler_forget(fd);
        limits_die("the spool", last >> 10, ret);
    }
    spool = spooler_at(0);
}

// ---- Appending ----

const char *spooler_string(u32 offset)
{
    return spooler_at(SPOOL_TEXT_OFF + offset);
}

// There are few strings (one for each module, and those of the header): a linear search suffices.
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
    if (!found &&
        area_reach(&spooler_areas[AREA_HEAD], SPOOL_TEXT_OFF + spool->text_used + n) == 0) {
        found = (u32)spool->text_used;
        memcpy(spooler_at(SPOOL_TEXT_OFF + found), s, n);
        __atomic_store_n(&spool->text_used, found + n, __ATOMIC_RELEASE);
    }
    lock_drop(&spool_lock);
    return found;
}

// Hash table of mappings' records: a mapping that is made repeatedly has one record. For each
// bucket the last record, plus one; for each record the previous one in its bucket.
static u32 maps_last[4096], maps_before[SPOOL_MAPS_MAX]; // @guarded(spool_lock)

u64 spooler_maps_named;

static u32 *maps_place(const struct spool_map *m)
{
    u64 h = (m->start ^ m->ino << 24 ^ m->end << 7) * 0x9e3779b97f4a7c15ul;

    return &maps_last[h >> 52];
}

// The equal record, plus one. @holds(spool_lock)
static u32 maps_find(const struct spool_map *like)
{
    u32 at = *maps_place(like);

    while (at && memcmp(spooler_map_at(at - 1), like, sizeof(*like)) != 0)
        at = maps_before[at - 1];
    return at;
}

// @holds(spool_lock)
static u32 maps_append(const struct spool_map *m)
{
    u64 index = spool->maps_used;
    u32 *last = maps_place(m);

    if (area_reach(&spooler_areas[AREA_MAPS], (index + 1) * sizeof(*m))) {
        if (!index)
            engine_die("no memory for the spool's first mapping");
        return (u32)index - 1;
    }
    *(struct spool_map *)spooler_at(SPOOL_MAPS_OFF + index * sizeof(*m)) = *m;
    __atomic_store_n(&spool->maps_used, index + 1, __ATOMIC_RELEASE);
    maps_before[index] = *last;
    *last = (u32)index + 1;
    return (u32)index;
}

u32 spooler_map_record(u64 start, u64 end, u64 offset, u64 dev, u64 ino, const char *path,
                       u32 flags, u64 mtime, u64 ctime)
{
    struct spool_map m = { .start = start,
                           .end = end,
                           .offset = offset,
                           .dev = dev,
                           .ino = ino,
                           .path = spooler_text(path),
                           .flags = flags,
                           .mtime = mtime,
                           .ctime = ctime };
    u32 index;

    lock_take(&spool_lock);
    index = maps_find(&m);
    index = index ? index - 1 : maps_append(&m);
    __atomic_store_n(&spooler_maps_named, spooler_maps_named + 1, __ATOMIC_RELEASE);
    lock_drop(&spool_lock);
    return index;
}

const struct spool_map *spooler_map_at(u32 index)
{
    return (const struct spool_map *)spooler_at(SPOOL_MAPS_OFF) + index;
}

// Maps the counters of every slot in use as far as `bytes`. @holds(spool_lock)
static long counters_reach(u64 bytes)
{
    u64 want = spooler_counters_mapped;

    while (want < bytes)
        want *= 2;
    if (want == spooler_counters_mapped)
        return 0;
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        if (!spooler_slot_in_use(slot))
            continue;
        // MAP_FIXED: repeats a step that failed half-way.
        long ret =
            spooler_map_shared(spooler_fd(), (u64)slotmem_counters(slot) + spooler_counters_mapped,
                               want - spooler_counters_mapped,
                               spool_counters_at(slot) + spooler_counters_mapped, MAP_FIXED);
        if (ret)
            return ret;
    }
    spooler_counters_mapped = want;
    return 0;
}

// The next n counters, mapped. `ret`: the result of mapping the record. @holds(spool_lock)
static u64 take_counters(u32 n, long ret)
{
    u64 counter = spool->counters_used;

    if (ret == 0)
        ret = counter + n > SPOOL_COUNTERS_MAX ? -ENOSPC : counters_reach((counter + n) * 8);
    if (ret == -ENOSPC)
        engine_die("the spool is full: %lu blocks of code; the counts so far are kept",
                   spool->block_count);
    if (ret)
        engine_die("spool %s: cannot map more of it: error %ld; the counts so far are kept",
                   spooler_string(spool->s_spool), -ret);
    spool->counters_used = counter + n;
    return counter;
}

// Counters of block executions: this many are contiguous, starting at a page boundary. Not with
// contexts, whose accounts have all counters of a block in one piece. The rest of a page that is
// being filled is for instructions.
#define EXECUTIONS   2048u
#define PAGE_COUNTERS 512u
static struct {
    u64 next, end;
} executions; // @guarded(spool_lock)

// @holds(spool_lock)
static u32 take_execution(void)
{
    if (executions.next == executions.end) {
        u32 over = (u32)-spool->counters_used % PAGE_COUNTERS;

        executions.next = take_counters(over + EXECUTIONS, 0) + over;
        executions.end = executions.next + EXECUTIONS;
    }
    return (u32)executions.next++;
}

u32 spooler_counters(u32 n)
{
    lock_take(&spool_lock);
    u64 counter = take_counters(n, 0);
    lock_drop(&spool_lock);
    return (u32)counter;
}

struct spool_edge *spooler_edge_append(const struct spool_edge *e, u32 n_counters)
{
    lock_take(&spool_lock);
    u64 index = spool->edges_used;
    u64 counter =
        take_counters(n_counters, area_reach(&spooler_areas[AREA_EDGES], (index + 1) * sizeof(*e)));
    struct spool_edge *mine = spooler_edge_at((u32)index);
    *mine = *e;
    mine->counter = (u32)counter;
    __atomic_store_n(&spool->edges_used, index + 1, __ATOMIC_RELEASE);
    lock_drop(&spool_lock);
    return mine;
}

struct spool_edge *spooler_edges_room(u32 n)
{
    long ret;

    lock_take(&spool_lock);
    ret = area_reach(&spooler_areas[AREA_EDGES], n * sizeof(struct spool_edge));
    lock_drop(&spool_lock);
    return ret ? NULL : spooler_edge_at(0);
}

void spooler_edges_take(u32 n)
{
    lock_take(&spool_lock);
    __atomic_store_n(&spool->edges_used, n, __ATOMIC_RELEASE);
    lock_drop(&spool_lock);
}

struct spool_edge *spooler_edge_at(u32 index)
{
    return (struct spool_edge *)spooler_at(SPOOL_EDGES_OFF) + index;
}

struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter)
{
    u64 bytes = (sizeof(struct spool_block) + n * sizeof(*insns) + 7) & ~7ul;
    static u64 asked; // requested from the kernel (pages.h)

    lock_take(&spool_lock);
    u64 offset = spool->blocks_used;
    long ret = area_reach(&spooler_areas[AREA_BLOCKS], offset + bytes);
    bool together = !(spool->flags & SPOOL_F_CONTEXTS);
    u32 own = (u32)take_counters(n_counters - together, ret);
    u32 counter = together ? take_execution() : own++;
    struct spool_block *b = spooler_at(SPOOL_BLOCKS_OFF + offset);
    *b = (struct spool_block){ .pc = pc,
                               .counter = counter,
                               .own = own,
                               .hash = hash,
                               .map = map & 0x1ffff,
                               .insns = n & 0x7ff,
                               .flags = flags & 0xf };
    memcpy(b + 1, insns, n * sizeof(*insns));
    spool->block_count += !(flags & SPOOL_B_SUM);
    __atomic_store_n(&spool->blocks_used, offset + bytes, __ATOMIC_RELEASE);
    pages_populate(&asked, (u64)b + bytes,
                   (u64)spooler_at(SPOOL_BLOCKS_OFF) + spooler_areas[AREA_BLOCKS].mapped);
    lock_drop(&spool_lock);
    *first_counter = counter;
    return b;
}

void *spooler_blocks_room(u64 bytes)
{
    long ret;

    lock_take(&spool_lock);
    ret = area_reach(&spooler_areas[AREA_BLOCKS], bytes);
    lock_drop(&spool_lock);
    return ret ? NULL : spooler_at(SPOOL_BLOCKS_OFF);
}

void spooler_blocks_take(u64 bytes, u64 counters)
{
    lock_take(&spool_lock);
    take_counters((u32)(counters - spool->counters_used), 0);
    executions.next = executions.end; // the other run has used the rest
    __atomic_store_n(&spool->blocks_used, bytes, __ATOMIC_RELEASE);
    lock_drop(&spool_lock);
}

u32 spooler_block_index(const struct spool_block *block)
{
    return (u32)(((u64)block - SPOOLER_BASE - SPOOL_BLOCKS_OFF) / 8);
}

struct spool_block *spooler_block_at(u32 index)
{
    return spooler_at(SPOOL_BLOCKS_OFF + index * 8ul);
}

// ---- Partial executions ----

// Index of a pair's record, plus one. Direct-mapped: a fault that happens a million times takes one
// record.
static u32 partial_cache[4096];
static u32 partial_lost;

void spooler_partial(u32 block, u32 insn, u32 slot, u32 context)
{
    struct spool_partial *records = spooler_at(SPOOL_PARTIAL_OFF);
    u32 *known =
        &partial_cache[(block * 37 + insn + slot * 11 + context * 17) % ARRAY_SIZE(partial_cache)];
    u32 index = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (!insn)
        return;
    if (index && records[index - 1].block == block && records[index - 1].insn == insn &&
        records[index - 1].slot == slot && records[index - 1].context == context) {
        __atomic_fetch_add(&records[index - 1].count, 1, __ATOMIC_RELAXED);
        return;
    }
    // No lock (signal handlers come here): advancing the cursor reserves the record; a record that
    // is not written yet has count 0.
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
    records[mine].slot = slot;
    records[mine].context = context;
    __atomic_store_n(&records[mine].count, 1, __ATOMIC_RELEASE);
    __atomic_store_n(known, (u32)mine + 1, __ATOMIC_RELEASE);
}

// ---- Threads ----

int spooler_thread_slot(u32 slot)
{
    if (slot >= SPOOL_THREADS_MAX)
        return -EAGAIN;
    lock_take(&spool_lock);
    if (spooler_slot_in_use(slot)) { // mapped for an earlier thread
        lock_drop(&spool_lock);
        return 0;
    }
    long ret = spooler_grow_file(spooler_fd(), &spooler_file_size,
                                 spool_counters_at(slot) + SPOOL_THREAD_SIZE);
    if (ret == 0)
        ret = spooler_map_shared(spooler_fd(), (u64)slotmem_counters(slot), spooler_counters_mapped,
                                 spool_counters_at(slot), MAP_FIXED_NOREPLACE);
    if (ret == 0) {
        slots[slot / 64] |= 1ul << (slot % 64);
        if (spool->threads_used <= slot)
            spool->threads_used = slot + 1;
    }
    lock_drop(&spool_lock);
    return (int)ret;
}

// Keeps the client's mappings away. The whole range counts against its limit on address space.
static long reserve_stack(u64 at, u64 bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long ret = limits_mmap(at, bytes, PROT_NONE, flags, -1, 0);

    return sys_failed(ret) ? ret : (u64)ret == at ? 0 : -EEXIST;
}

long spooler_stack_reach(u32 slot, u64 bytes)
{
    u64 have = spooler_stack_mapped[slot], want = have ? have : SPOOLER_STACK_PIECE;
    u64 at = slotmem_calls(slot), size = spool_stack_size(slot);
    long ret = 0;

    if (bytes <= have)
        return 0;
    while (want < bytes)
        want *= 2;
    if (want > size - SPOOLER_STACK_GUARD)
        want = size - SPOOLER_STACK_GUARD;
    if (want < bytes)
        return -ENOSPC;
    lock_take(&spool_lock);
    if (!have && slotmem_calls(slot) - CALLS_BASE < SPOOL_STACKS_SIZE) // else reserved with its row
        ret = reserve_stack(at, SPOOL_STACK_SIZE);
    if (ret == 0 && have < SPOOL_STACK_SIZE && want >= SPOOL_STACK_SIZE) // the rest
        ret = reserve_stack(at + SPOOL_STACK_SIZE, size - SPOOL_STACK_SIZE);
    if (ret == 0)
        ret =
            spooler_grow_file(spooler_fd(), &spooler_file_size, spooler_stack_offset(slot) + want);
    if (ret == 0)
        ret = spooler_map_shared(spooler_fd(), at + have, want - have,
                                 spooler_stack_offset(slot) + have, MAP_FIXED);
    if (ret == 0)
        spooler_stack_mapped[slot] = (u32)want;
    lock_drop(&spool_lock);
    return ret;
}

void spooler_data_map(void)
{
    u64 end = SPOOL_DATA_OFF + SPOOL_DATA_SIZE;
    long ret = spooler_grow_file(spooler_fd(), &spooler_file_size, end);

    if (ret == 0)
        ret = spooler_map_shared(spooler_fd(), DATA_BASE, SPOOL_DATA_SIZE, SPOOL_DATA_OFF,
                                 MAP_FIXED_NOREPLACE);
    if (ret)
        limits_die("the objects of the data", SPOOL_DATA_SIZE >> 10, ret);
}

bool spooler_owns(u64 addr)
{
    if (addr - DATA_BASE < SPOOL_DATA_SIZE)
        return true;
    if (addr - CALLS_BASE < SPOOL_STACKS_SIZE)
        return true;
    if (addr - SPOOLER_BASE < SPOOL_THREADS_OFF)
        return true;
    u64 offset;
    u32 slot = slotmem_slot_of(addr, &offset);

    return slot < SPOOL_THREADS_MAX &&
           (offset - TA_COUNTERS < SPOOL_THREAD_SIZE || offset >= THREAD_FAR_CALLS);
}

bool spooler_is_lost(void)
{
    return spooler_lost;
}

void spooler_drop(void)
{
    struct k_stat st;

    if (spooler_lost)
        return;
    // In a chroot the name is not reachable: then at least free the space. Not if the spool was
    // dropped before, by an exec that was repeated: other threads still count in it.
    if (sys_unlink(spooler_string(spool->s_spool)) < 0 && sys_fstat(spooler_fd(), &st) == 0 &&
        st.st_nlink)
        sys_ftruncate(spooler_fd(), 0);
}

void spooler_say_held(void)
{
    if (!spooler_lost && !(spool->flags & SPOOL_F_STAT))
        engine_msg("the counts are kept: `quern recover %s` writes the profile",
                   spooler_string(spool->s_spool));
}
