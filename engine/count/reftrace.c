// SPDX-License-Identifier: MIT
// The reference trace (reftrace.h). One call writes a chunk when it is full, when another thread
// gets its turn, or at a flush. So the file of a killed run ends with a whole chunk, or the reader
// sees that it does not.
#include "engine/count/reftrace.h"

#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/spool/log.h"
#include "engine/spool/spooler.h"

#define ITEM_MAX 32u // bytes: a prefix, a kind, a size and an address

bool reftrace_on;

static struct {
    struct lock lock;
    struct thread *holder;
    u32 depth;
    u32 threads;                        // numbers given
    u32 number[SPOOL_THREADS_MAX + 1u]; // of the thread in a slot
    u64 at;                             // bytes of the file that are whole chunks
    u32 maps;                           // records of the spool below this one may be in it
    u32 turns;                          // mappings written
    struct {
        u32 map; // plus one; 0: none
        u64 from, to;
    } seen;             // addresses at which the file has this mapping
    u64 pc, next, data; // of the chunk: the last instruction, its end, the last reference
    struct {
        struct reftrace_chunk head;
        u8 item[REFTRACE_CHUNK_MAX];
    } chunk;
    char path[4096];
} trace;

// ---- The file ----

static const char *why(long error)
{
    switch (error) {
    case -ENOSPC: return "no space is left on the device";
    case -EFBIG: return "the limit on the size of files is reached (ulimit -f)";
    case -EBADF: return "the program has closed it";
    default: return "the system refuses";
    }
}

static void give_up(long error)
{
    reftrace_on = false;
    engine_msg("warning: %s: the reference trace ends here, %s (error %ld); the profile goes on",
               trace.path, why(error), -error);
}

// A write beyond the file size limit would send the client a signal.
static bool exceeds_limit(u64 end)
{
    struct k_rlimit limit;

    return sys_prlimit(RLIMIT_FSIZE, NULL, &limit) == 0 && end > limit.cur;
}

// Writes all of it or, to a file, nothing.
static void put(const void *bytes, u64 size)
{
    int fd = fds_trace();
    u64 done = 0;
    long n = exceeds_limit(trace.at + size) ? -EFBIG : fd < 0 ? -EBADF : 0;

    while (n >= 0 && done < size) {
        n = sys_write(fd, (const u8 *)bytes + done, size - done);
        if (n == -EINTR)
            n = 0;
        done += n > 0 ? (u64)n : 0;
    }
    if (n < 0) {
        if (fd >= 0)
            sys_ftruncate(fd, trace.at);
        give_up(n);
        return;
    }
    trace.at += size;
}

// ---- Mappings ----
//
// A mapping in the file replaces what was there. References are written when their records are
// replayed; meanwhile, another thread, or the same one, may have executed code of a mapping that
// has taken the place, or that was there before. So each block says which mapping is its own, and
// that is written, again if need be, where the file has another one at the block's address.

// For each mapping of the spool: when it was written last, by trace.turns; 0: never. The lowest
// bit: another file, written later, is in a part of it.
static u32 written[SPOOL_MAPS_MAX];
#define HIDDEN 1u

static const struct spool_map *map_at(u32 map)
{
    return (const struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF) + map;
}

// To a reader of the file they are the same where both are.
static bool are_same(const struct spool_map *a, const struct spool_map *b)
{
    return a->path == b->path && a->start - a->offset == b->start - b->offset;
}

static bool overlap(const struct spool_map *a, const struct spool_map *b)
{
    return a->start < b->end && b->start < a->end;
}

static void maps_forget(void)
{
    memset(written, 0, trace.maps * sizeof(written[0]));
    trace.maps = trace.turns = trace.seen.map = 0;
}

static void map_note(u32 map)
{
    const struct spool_map *m = map_at(map);

    for (u32 i = 0; i < trace.maps; i++)
        if (written[i] && overlap(map_at(i), m) && !are_same(map_at(i), m))
            written[i] |= HIDDEN;
    written[map] = ++trace.turns << 1;
    if (trace.maps <= map)
        trace.maps = map + 1;
    trace.seen.map = 0;
}

// Whether the file has the hidden mapping at pc; notes from where to where it has.
static bool is_seen(u32 map, u64 pc)
{
    const struct spool_map *m = map_at(map);
    u64 from = m->start, to = m->end;

    if (trace.seen.map == map + 1 && pc >= trace.seen.from && pc < trace.seen.to)
        return true;
    for (u32 i = 0; i < trace.maps; i++) {
        const struct spool_map *over = map_at(i);

        if (written[i] >> 1 <= written[map] >> 1 || are_same(over, m))
            continue;
        if (pc >= over->start && pc < over->end)
            return false;
        if (over->end <= pc && over->end > from)
            from = over->end;
        if (over->start > pc && over->start < to)
            to = over->start;
    }
    trace.seen.map = map + 1;
    trace.seen.from = from;
    trace.seen.to = to;
    return true;
}

static void map_write(const struct spool_map *m)
{
    const char *path = spooler_string(m->path);
    u32 bytes = (u32)strnlen(path, 4096);
    struct {
        struct reftrace_chunk head;
        struct reftrace_map map;
        char path[4096];
    } c = { .head = { .kind = REFTRACE_MAP, .bytes = sizeof(c.map) + bytes },
            .map = { m->start, m->end, m->offset } };

    memcpy(c.path, path, bytes);
    put(&c, sizeof(c.head) + c.head.bytes);
}

static void chunk_write(void)
{
    struct reftrace_chunk *c = &trace.chunk.head;

    if (c->bytes)
        put(c, sizeof(*c) + c->bytes);
    c->bytes = 0;
    trace.pc = trace.next = trace.data = 0;
}

void reftrace_code(u32 map, u64 pc)
{
    if (!reftrace_on || map >= SPOOL_MAPS_MAX || (written[map] && !(written[map] & HIDDEN)))
        return;
    if (written[map] && is_seen(map, pc))
        return;
    chunk_write();
    if (reftrace_on)
        map_write(map_at(map));
    map_note(map);
}

static void mark(enum reftrace_chunk_kind kind)
{
    struct reftrace_chunk c = { .kind = kind };

    if (!reftrace_on)
        return;
    chunk_write();
    if (reftrace_on)
        put(&c, sizeof(c));
}

static struct reftrace_cache cache(const struct spool_geometry *g)
{
    return (struct reftrace_cache){ g->size, g->assoc, g->line };
}

static void header_write(const char *parent, u64 parent_end)
{
    const char *command = spooler_string(spool->s_cmd);
    struct reftrace_header h = { .magic = REFTRACE_MAGIC,
                                 .version = REFTRACE_VERSION,
                                 .order = REFTRACE_ORDER,
                                 .i1 = cache(&spool->i1),
                                 .d1 = cache(&spool->d1),
                                 .ll = cache(&spool->ll),
                                 .pid = sys_getpid(),
                                 .parent_end = parent_end,
                                 .command_bytes = (u32)strnlen(command, 4096),
                                 .parent_bytes = (u32)strlen(parent) };

    if (spool->flags & SPOOL_F_REP_CACHEGRIND)
        h.flags |= REFTRACE_F_REP_CACHEGRIND;
    if (spool->flags & SPOOL_F_SERIALIZE)
        h.flags |= REFTRACE_F_SERIALIZE;
    h.bytes = (u32)sizeof(h) + h.command_bytes + h.parent_bytes;
    put(&h, sizeof(h));
    if (reftrace_on)
        put(command, h.command_bytes);
    if (reftrace_on)
        put(parent, h.parent_bytes);
}

// Whether there is a file.
static bool make_file(void)
{
    const char *name = spooler_string(spool->s_trace);
    int fd;

    if (!log_path(trace.path, sizeof(trace.path), name)) {
        engine_msg("warning: %s: the name is too long for a reference trace", name);
        return false;
    }
    // A pipe without a reader must not block a thread that has blocked all signals.
    fd = (int)sys_open(trace.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        engine_msg("warning: %s: cannot be made for the reference trace: error %d", trace.path,
                   -fd);
        return false;
    }
    fds_set_trace(fd);
    trace.at = 0;
    return fds_trace() >= 0;
}

void reftrace_init(void)
{
    const char *name = spooler_string(spool->s_trace);

    if (!*name || ((spool->flags & SPOOL_F_EXECED) && !log_is_own(name)))
        return;
    maps_forget();
    reftrace_on = make_file();
    if (reftrace_on)
        header_write("", 0);
}

void reftrace_fork_child(bool shares_fds)
{
    u64 parent_end = trace.at;
    char parent[sizeof(trace.path)];

    memset(&trace.lock, 0, sizeof(trace.lock));
    trace.holder = NULL;
    trace.depth = 0;
    if (!reftrace_on)
        return;
    memcpy(parent, trace.path, sizeof(parent));
    fds_leave_trace(shares_fds);
    reftrace_on = log_is_own(spooler_string(spool->s_trace)) && make_file();
    if (reftrace_on)
        header_write(parent, parent_end);
    if (spool->flags & SPOOL_F_MERGE) // its parent's counts stay with the parent
        mark(REFTRACE_ZERO);
}

// ---- Turns ----

void reftrace_thread_init(struct thread *t)
{
    if (reftrace_on)
        trace.number[t->slot] = __atomic_add_fetch(&trace.threads, 1, __ATOMIC_RELAXED);
}

void reftrace_begin(struct thread *t)
{
    struct reftrace_chunk *c = &trace.chunk.head;

    if (!reftrace_on)
        return;
    if (__atomic_load_n(&trace.holder, __ATOMIC_RELAXED) == t) {
        trace.depth++;
        return;
    }
    lock_take(&trace.lock);
    __atomic_store_n(&trace.holder, t, __ATOMIC_RELAXED);
    trace.depth = 1;
    if (c->thread != trace.number[t->slot])
        chunk_write();
    c->kind = REFTRACE_REFS;
    c->thread = trace.number[t->slot];
}

void reftrace_end(struct thread *t)
{
    if (__atomic_load_n(&trace.holder, __ATOMIC_RELAXED) != t || --trace.depth)
        return;
    __atomic_store_n(&trace.holder, NULL, __ATOMIC_RELAXED);
    lock_drop(&trace.lock);
}

// ---- Events ----

static void byte(u32 b)
{
    trace.chunk.item[trace.chunk.head.bytes++] = (u8)b;
}

static void number(u64 n)
{
    for (; n >= 0x80; n >>= 7)
        byte((u32)n | 0x80);
    byte((u32)n);
}

static void difference(u64 to, u64 from)
{
    s64 d = (s64)(to - from);

    number((u64)d << 1 ^ (u64)(d >> 63));
}

static void aside(enum reftrace_aside what)
{
    byte(REFTRACE_ASIDE | (u32)what << 3);
}

// Sets pc, the instruction of the items that follow.
static void at(u64 pc)
{
    aside(REFTRACE_AT);
    difference(pc, trace.pc);
    trace.pc = trace.next = pc;
}

static bool begins(bool undone)
{
    if (!reftrace_on)
        return false;
    if (trace.chunk.head.bytes + ITEM_MAX > REFTRACE_CHUNK_MAX) {
        u64 pc = trace.pc;

        chunk_write();
        at(pc);
    }
    if (undone)
        aside(REFTRACE_UNDONE);
    return true;
}

void reftrace_fetch(u64 pc, u32 len, bool undone)
{
    if (!begins(undone))
        return;
    // A sequence that makes a client request has 19 bytes.
    byte(REFTRACE_FETCH | (len < 16 ? len << 3 : 0) | (pc == trace.next ? 0 : REFTRACE_FAR));
    if (len >= 16)
        number(len);
    if (pc != trace.next)
        difference(pc, trace.next);
    trace.pc = pc;
    trace.next = pc + len;
}

void reftrace_at(u64 pc)
{
    if (pc != trace.pc && begins(false))
        at(pc);
}

void reftrace_ref(enum reftrace_item kind, u64 addr, u32 size, bool undone)
{
    u32 log2 = (u32)__builtin_ctz(size | 1u << 14);
    bool known = size == 1u << log2 && log2 < 14;

    if (!begins(undone))
        return;
    byte((u32)kind | (known ? (log2 + 1) << 3 : 0));
    if (!known)
        number(size);
    difference(addr, trace.data);
    trace.data = addr;
}

void reftrace_cond(u64 pc, bool taken, bool undone)
{
    if (!begins(undone))
        return;
    byte(REFTRACE_COND | (taken ? REFTRACE_TAKEN : 0) | (pc == trace.pc ? 0 : REFTRACE_FAR));
    if (pc != trace.pc)
        difference(pc, trace.pc);
}

void reftrace_indirect(u64 target)
{
    if (!begins(false))
        return;
    byte(REFTRACE_INDIRECT);
    difference(target, trace.pc);
}

void reftrace_again(void)
{
    if (begins(false))
        byte(REFTRACE_AGAIN);
}

void reftrace_count_read(void)
{
    if (begins(false))
        aside(REFTRACE_COUNT_READ);
}

void reftrace_take_back(struct thread *t, u32 map, u64 pc)
{
    if (!reftrace_on)
        return;
    reftrace_begin(t);
    reftrace_code(map, pc);
    if (begins(false)) {
        aside(REFTRACE_TAKE_BACK);
        difference(pc, trace.pc);
    }
    reftrace_end(t);
}

void reftrace_step(struct thread *t, u32 map, u64 pc)
{
    if (!reftrace_on)
        return;
    reftrace_begin(t);
    reftrace_code(map, pc);
    reftrace_at(pc);
    reftrace_again();
    reftrace_end(t);
}

void reftrace_history(struct thread *t, u64 history)
{
    if (!reftrace_on)
        return;
    reftrace_begin(t);
    if (begins(false)) {
        aside(REFTRACE_HISTORY);
        number(history);
    }
    reftrace_end(t);
}

void reftrace_cleared(void)
{
    mark(REFTRACE_CLEAR);
}

void reftrace_zeroed(void)
{
    mark(REFTRACE_ZERO);
}

void reftrace_flush(void)
{
    if (!reftrace_on)
        return;
    lock_take(&trace.lock);
    chunk_write();
    lock_drop(&trace.lock);
}

void reftrace_ends(void)
{
    if (!reftrace_on)
        return;
    lock_take(&trace.lock);
    mark(REFTRACE_END);
    lock_drop(&trace.lock);
}

void reftrace_stop(void)
{
    reftrace_on = false;
    trace.chunk.head.bytes = 0;
}
