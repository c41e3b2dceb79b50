// SPDX-License-Identifier: MIT
// The map of client memory (vmmap.h): one locked set (vmmapset.h), updated by the system call
// handlers; on a miss the kernel's own map (vmmapfile.h) is asked.
//
// Lock order: translation lock, then the lock here. tcache_invalidate() takes the translation lock,
// so it is called with ours dropped. That is safe because of VMMAP_EXECUTED: the translator sets it
// under our lock, and holds the translation lock from before that until the block is in the table.
// A thread that finds the flag and then takes the translation lock finds the block.

#include "engine/codecache/vmmap.h"

#include "engine/base/layout.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmapfile.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

static struct lock vmmap_lock;
static struct vmmapset map;

// Space for the areas of the first slots (SPOOL_THREADS_FIXED), and for mappings whose address the
// kernel chooses (rings of io_setup): the client is not put there.
#define RESERVED (SPOOL_THREADS_FIXED * (u64)THREAD_AREA_STRIDE + (1ul << 30))

bool vmmap_engine(u64 start, u64 end, u64 *from, u64 *to)
{
    const u64 ranges[][2] = {
        { REPLAY_BASE, REPLAY_BASE + REPLAY_SIZE },
        { ENGINE_BASE, threads_area_end() },
        { region_start(), region_end() },
    };
    u32 rows = __atomic_load_n(&slotmem_rows, __ATOMIC_ACQUIRE);
    bool is = false;

    for (u32 i = 0; i < ARRAY_SIZE(ranges) + rows; i++) {
        u32 row = i - ARRAY_SIZE(ranges);
        u64 low = i < ARRAY_SIZE(ranges) ? ranges[i][0] : slotmem_row[row];
        u64 high = i < ARRAY_SIZE(ranges) ? ranges[i][1] : low + SLOTMEM_ROW_BYTES;

        if (start >= high || end <= low || (is && low >= *from))
            continue;
        *from = low;
        *to = high;
        is = true;
    }
    return is;
}

bool vmmap_is_engine(u64 start, u64 end)
{
    u64 from, to;

    return vmmap_engine(start, end, &from, &to);
}

u64 vmmap_gap(u64 len, u64 top)
{
    u64 addr, to;

    lock_take(&vmmap_lock);
    do // below each range of the engine's that it touches
        addr = vmmapset_gap(&map, len, top);
    while (addr && vmmap_engine(addr, addr + len, &top, &to));
    lock_drop(&vmmap_lock);
    return addr;
}

// End of the reserved space: half of what there is, if that is less (random, low addresses).
static u64 reserved_end(u64 top)
{
    u64 end = (top - THREAD_AREA_BASE) / 2, used = threads_area_end();

    end = THREAD_AREA_BASE + (end < RESERVED ? end : RESERVED);
    return end > used ? end : used;
}

bool vmmap_has_room(u64 len)
{
    u64 top = region_start(), from, room;
    struct vmmap_entry *e;

    if (top < THREAD_AREA_BASE) // the kernel fills from below
        return true;
    from = reserved_end(top);
    lock_take(&vmmap_lock);
    e = vmmapset_above(&map, from);
    room = e && e->start < top ? e->start : top;
    if (room < from || room - from < len) // seldom: not right above the reserved space
        room = vmmapset_gap(&map, len, top);
    lock_drop(&vmmap_lock);
    return room >= from;
}

static void entry_from_line(struct vmmap_entry *e, const struct vmmapfile_line *l)
{
    memset(e, 0, sizeof(*e));
    e->start = l->start;
    e->end = l->end;
    e->prot = l->prot;
    e->flags = l->flags;
    if (strcmp(l->path, "[stack]") == 0)
        e->flags |= VMMAP_GROWS;
}

// The one mapping that is neither the client's nor the engine's; a kernel may be booted without it.
static bool vsyscall;

bool vmmap_has_vsyscall(void)
{
    return vsyscall;
}

static bool init_line(const struct vmmapfile_line *l, void *arg)
{
    struct vmmap_entry e;

    (void)arg;
    // The engine's tables do not exist yet; every mapping there is the engine's.
    if (l->start >= ENGINE_BASE && l->start < THREAD_AREA_BASE)
        return false;
    if (l->end > 1ul << 63) {
        vsyscall = true;
        return false;
    }
    entry_from_line(&e, l);
    vmmapset_add(&map, e);
    return false;
}

void vmmap_init(void)
{
    lock_take(&vmmap_lock);
    vmmapfile_walk(init_line, NULL);
    lock_drop(&vmmap_lock);
    slotmem_find = vmmap_gap;
}

// Adds the kernel's mapping at addr; NULL when there is none or it is the engine's.
// @holds(vmmap_lock)
static struct vmmap_entry *ask_kernel(u64 addr)
{
    struct vmmapfile_line l;
    struct vmmap_entry e;

    if (addr >= 1ul << 63 || vmmap_is_engine(addr, addr + 1) || !vmmapfile_at(addr, &l) ||
        vmmap_is_engine(l.start, l.end))
        return NULL;
    entry_from_line(&e, &l);
    vmmapset_add(&map, e);
    return vmmapset_find(&map, addr);
}

struct range {
    u64 start, end;
};

static bool learn_line(const struct vmmapfile_line *l, void *arg)
{
    const struct range *r = arg;
    struct vmmap_entry e, *known;

    if (l->start >= r->end)
        return true;
    if (l->end <= r->start || vmmap_is_engine(l->start, l->end))
        return false;
    for (u64 at = l->start; at < l->end; at = e.end) {
        entry_from_line(&e, l);
        known = vmmapset_above(&map, at);
        e.start = at;
        if (known && known->start <= at) {
            e.end = known->end;
            continue;
        }
        if (known && known->start < l->end)
            e.end = known->start;
        vmmapset_add(&map, e);
    }
    return false;
}

void vmmap_learn(u64 start, u64 end)
{
    struct range r = { start, end };

    lock_take(&vmmap_lock);
    vmmapfile_walk(learn_line, &r);
    lock_drop(&vmmap_lock);
}

static bool find(u64 addr, u32 note, struct vmmap_info *out)
{
    struct vmmap_entry *e;

    lock_take(&vmmap_lock);
    e = vmmapset_find(&map, addr);
    if (!e)
        e = ask_kernel(addr);
    if (e) {
        e->flags |= note;
        out->start = e->start;
        out->end = e->end;
        out->prot = e->prot;
        out->flags = e->flags;
    }
    lock_drop(&vmmap_lock);
    return e != NULL;
}

bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    return find(addr, 0, out);
}

bool vmmap_find_code(u64 addr, struct vmmap_info *out)
{
    return find(addr, VMMAP_EXECUTED, out);
}

// @holds(vmmap_lock)
static bool has_code(u64 start, u64 end)
{
    struct vmmap_entry *e = vmmapset_above(&map, start);

    for (; e && e->start < end; e = vmmapset_next(e))
        if (e->flags & VMMAP_EXECUTED)
            return true;
    return false;
}

void vmmap_before(u64 start, u64 end)
{
    bool code;

    lock_take(&vmmap_lock);
    code = has_code(start, end);
    lock_drop(&vmmap_lock);
    if (code)
        tcache_invalidate(start, end);
}

void vmmap_add(u64 start, u64 end, u32 prot, u32 flags)
{
    struct vmmap_entry e = { .start = start, .end = end, .prot = prot, .flags = flags };
    bool code;

    lock_take(&vmmap_lock);
    code = has_code(start, end);
    vmmapset_add(&map, e);
    lock_drop(&vmmap_lock);
    if (code)
        tcache_invalidate(start, end);
}

void vmmap_remove(u64 start, u64 end)
{
    bool code;

    lock_take(&vmmap_lock);
    code = has_code(start, end);
    vmmapset_remove(&map, start, end);
    lock_drop(&vmmap_lock);
    if (code)
        tcache_invalidate(start, end);
}

void vmmap_hold(int fd, const struct k_stat *st)
{
    lock_take(&vmmap_lock);
    modules_hold_mapped(fd, st);
    lock_drop(&vmmap_lock);
}

// Whether the file of a line has been removed; strips the suffix that says so from the path.
static bool take_deleted(struct vmmapfile_line *l)
{
    static const char deleted[] = " (deleted)";
    u64 n = strlen(l->path), behind = sizeof(deleted) - 1;

    if (n <= behind || strcmp(l->path + n - behind, deleted) != 0)
        return false;
    l->path[n - behind] = 0;
    return true;
}

// @holds(vmmap_lock)
static void copy_line(struct vmmap_file *to, struct vmmapfile_line *l)
{
    to->deleted = take_deleted(l);
    to->line = *l;
    to->line.path = to->path;
    memcpy(to->path, l->path, strlen(l->path) + 1);
}

// The entry's next file from *at on. @holds(vmmap_lock)
static bool file_of(struct vmmap_entry *e, u64 *at, struct vmmap_file *out)
{
    struct vmmapfile_line l;
    bool found = false;

    if (*at < e->start)
        *at = e->start;
    while (!found && *at < e->end && vmmapfile_at(*at, &l)) {
        *at = l.end;
        if (l.ino)
            copy_line(out, &l);
        found = l.ino && !modules_known(&out->line);
    }
    if (*at >= e->end || !found)
        e->flags |= VMMAP_ASKED;
    return found;
}

bool vmmap_next_file(u64 *at, u64 end, struct vmmap_file *out)
{
    struct vmmap_entry *e;
    bool found = false;

    lock_take(&vmmap_lock);
    for (e = vmmapset_above(&map, *at); e && e->start < end && !found; e = vmmapset_next(e))
        if (!(e->flags & (VMMAP_ANON | VMMAP_EXECUTED | VMMAP_ASKED)))
            found = file_of(e, at, out);
    lock_drop(&vmmap_lock);
    return found;
}

void vmmap_hold_file(struct vmmap_file *file, const struct modules_found *found)
{
    lock_take(&vmmap_lock);
    modules_hold(&file->line, found);
    lock_drop(&vmmap_lock);
}

void vmmap_protect(u64 start, u64 end, u32 prot)
{
    bool code;

    lock_take(&vmmap_lock);
    code = has_code(start, end);
    vmmapset_protect(&map, start, end, prot);
    lock_drop(&vmmap_lock);
    if (code && ((prot & PROT_WRITE) || !(prot & PROT_EXEC)))
        tcache_invalidate(start, end);
}

void vmmap_move(u64 old_start, u64 old_end, u64 new_start, u64 new_end, bool keep_old)
{
    struct vmmap_entry e = { 0 };
    struct vmmap_entry *from;
    bool code;

    lock_take(&vmmap_lock);
    code = has_code(old_start, old_end) || has_code(new_start, new_end);
    from = vmmapset_find(&map, old_start);
    if (from)
        e = *from;
    else
        e.prot = PROT_READ | PROT_WRITE;
    e.flags &= ~(u32)VMMAP_EXECUTED;
    e.start = new_start;
    e.end = new_end;
    if (new_start != old_start)
        e.map_plus_one = 0;
    if (!keep_old)
        vmmapset_remove(&map, old_start, old_end);
    vmmapset_add(&map, e);
    lock_drop(&vmmap_lock);
    if (code) {
        tcache_invalidate(old_start, old_end);
        tcache_invalidate(new_start, new_end);
    }
}

static u32 record_flags(const struct vmmap_file *file)
{
    if (strcmp(file->path, "[vdso]") == 0)
        return SPOOL_MAP_VDSO;
    if (file->line.ino == 0)
        return SPOOL_MAP_ANON;
    return file->deleted ? SPOOL_MAP_DELETED : 0;
}

static bool is_of_file(const struct vmmap_file *file)
{
    return !(record_flags(file) & (SPOOL_MAP_VDSO | SPOOL_MAP_ANON));
}

// Makes a record; returns its index. @holds(vmmap_lock)
static u32 record(struct vmmap_file *file, const struct modules_found *found)
{
    const struct vmmapfile_line *l = &file->line;
    struct modules_times times = { 0, 0 };
    u32 flags = record_flags(file), index;
    struct vmmap_entry *e;

    // The finisher compares the times: is it still the same file?
    if (is_of_file(file))
        times = modules_hold(&file->line, found);
    // A shared mapping is not a lost file: a program that generates code writes through another
    // one.
    if ((flags & SPOOL_MAP_DELETED) && !times.mtime && !(l->flags & VMMAP_SHARED))
        flags |= SPOOL_MAP_LOST;
    index = spooler_map_record(l->start, l->end, l->offset, l->dev, l->ino, l->path, flags,
                               times.mtime, times.ctime);
    // The record describes every entry of ours inside this line.
    for (e = vmmapset_above(&map, l->start); e && e->start < l->end; e = vmmapset_next(e))
        if (e->start >= l->start && e->end <= l->end)
            e->map_plus_one = index + 1;
    return index;
}

// The index of a record, made without another look at a file. `file` is what was at addr, and
// `found` what was found of it then; NULL: nothing yet. False, and *file is what is there: it must
// be looked up first. @holds(vmmap_lock)
static bool has_record(u64 addr, struct vmmap_file *file, const struct modules_found *found,
                       u32 *index)
{
    struct vmmap_entry *e = vmmapset_find(&map, addr);
    struct vmmapfile_line l;

    if (e && e->map_plus_one) {
        *index = e->map_plus_one - 1;
        return true;
    }
    if (vmmapfile_at(addr, &l)) {
        if (!found || l.start != file->line.start || l.end != file->line.end ||
            l.offset != file->line.offset || l.dev != file->line.dev || l.ino != file->line.ino) {
            copy_line(file, &l);
            if (is_of_file(file) && !modules_known(&file->line))
                return false;
            found = NULL;
        }
        *index = record(file, found);
    } else {
        u64 start = e ? e->start : PAGE_DOWN(addr), end = e ? e->end : PAGE_DOWN(addr) + PAGE_SIZE;

        *index = spooler_map_record(start, end, 0, 0, 0, "", SPOOL_MAP_ANON, 0, 0);
    }
    // When our entry and the kernel's line differ in extent (it was grown or split unseen), ours
    // still needs an answer.
    if (e && !e->map_plus_one)
        e->map_plus_one = *index + 1;
    return true;
}

u32 vmmap_spool_map(u64 addr)
{
    struct modules_found found;
    struct vmmap_file file;
    bool looked = false, has;
    u32 index;

    do {
        lock_take(&vmmap_lock);
        has = has_record(addr, &file, looked ? &found : NULL, &index);
        lock_drop(&vmmap_lock);
        if (looked)
            modules_looked(&found);
        looked = !has;
        if (looked)
            modules_look(&file.line, file.deleted, &found);
    } while (!has);
    return index;
}

bool vmmap_unseen_file(u64 addr, struct vmmap_file *out)
{
    struct vmmapfile_line l;
    struct vmmap_entry *e;
    bool unseen = false;

    lock_take(&vmmap_lock);
    e = vmmapset_find(&map, addr);
    if (e && !e->map_plus_one && (e->prot & PROT_EXEC) && !(e->flags & VMMAP_ANON) &&
        vmmapfile_at(addr, &l)) {
        copy_line(out, &l);
        unseen = is_of_file(out) && !modules_known(&out->line);
    }
    lock_drop(&vmmap_lock);
    return unseen;
}
