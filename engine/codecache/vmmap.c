// SPDX-License-Identifier: MIT
// The map of client memory (vmmap.h): one locked set (vmmapset.h), kept by the system call
// handlers, with /proc/thread-self/maps as the second opinion. (thread-self, because
// /proc/self/maps is empty once the main thread has ended.)
//
// Lock order: translation lock, then the lock here. tcache_invalidate() takes the translation lock,
// so it is called with ours dropped. That is safe because of VMMAP_EXECUTED: the translator sets it
// under our lock, with the translation lock held from before that until the block is in the table;
// whoever finds the flag and then takes the translation lock finds the block.

#include "engine/codecache/vmmap.h"

#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

static struct lock vmmap_lock;
static struct vmmapset map;

// One line of a maps file.
struct maps_line {
    u64 start, end, offset, dev, ino;
    u32 prot, flags;
    const char *path; // "" for anonymous memory
};

#define MAPS_LINE_MAX 4352 // a path and what stands before it

static const char *maps_hex(const char *p, u64 *value)
{
    u64 v = 0;

    for (;; p++) {
        char c = *p;

        if (c >= '0' && c <= '9')
            v = v << 4 | (u64)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (u64)(c - 'a' + 10);
        else
            break;
    }
    *value = v;
    return p;
}

// "start-end rwxp offset major:minor inode    path"
static bool maps_parse(char *text, struct maps_line *out)
{
    const char *p = maps_hex(text, &out->start);
    u64 major, minor, ino = 0;

    if (*p != '-')
        return false;
    p = maps_hex(p + 1, &out->end);
    if (p[0] != ' ' || strnlen(p, 6) < 6)
        return false;
    out->prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) |
                (p[3] == 'x' ? PROT_EXEC : 0);
    out->flags = p[4] == 's' ? VMMAP_SHARED : 0;
    p = maps_hex(p + 6, &out->offset);
    if (*p != ' ')
        return false;
    p = maps_hex(p + 1, &major);
    if (*p != ':')
        return false;
    p = maps_hex(p + 1, &minor);
    while (*p == ' ')
        p++;
    for (; *p >= '0' && *p <= '9'; p++)
        ino = ino * 10 + (u64)(*p - '0');
    while (*p == ' ')
        p++;
    // dev_t as stat(2) shows it
    out->dev =
        (major & 0xfff) << 8 | (minor & 0xff) | (minor & ~0xfful) << 12 | (major & ~0xffful) << 32;
    out->ino = ino;
    out->path = p;
    if (ino == 0)
        out->flags |= VMMAP_ANON;
    return true;
}

// Calls take(line, arg) for every line until it says true; true if one did. The buffer is shared:
// @holds(vmmap_lock).
static bool maps_walk(bool (*take)(const struct maps_line *, void *), void *arg)
{
    static char buf[2 * MAPS_LINE_MAX];
    u64 have = 0;
    bool skipping = false, found = false;
    int fd = fds_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);

    if (fd < 0)
        return false;
    while (!found) {
        long got = sys_read(fd, buf + have, sizeof(buf) - have);
        char *line = buf, *eol;

        if (got == -EINTR)
            continue;
        if (got <= 0)
            break;
        have += (u64)got;
        while (!found) {
            struct maps_line l;

            for (eol = line; eol < buf + have && *eol != '\n'; eol++)
                ;
            if (eol == buf + have)
                break;
            *eol = 0;
            if (!skipping && maps_parse(line, &l))
                found = take(&l, arg);
            skipping = false;
            line = eol + 1;
        }
        have -= (u64)(line - buf);
        memmove(buf, line, have);
        if (have == sizeof(buf)) { // no line is that long
            have = 0;
            skipping = true;
        }
    }
    sys_close(fd);
    return found;
}

bool vmmap_is_engine(u64 start, u64 end)
{
    return (start < threads_area_end() && end > ENGINE_BASE) ||
           (start < region_end() && end > region_start());
}

static void entry_from_line(struct vmmap_entry *e, const struct maps_line *l)
{
    memset(e, 0, sizeof(*e));
    e->start = l->start;
    e->end = l->end;
    e->prot = l->prot;
    e->flags = l->flags;
    if (strcmp(l->path, "[stack]") == 0)
        e->flags |= VMMAP_GROWS;
}

static bool init_line(const struct maps_line *l, void *arg)
{
    struct vmmap_entry e;

    (void)arg;
    // The engine's tables are not made yet; what lies there is all the engine's.
    if (l->start >= ENGINE_BASE && l->start < THREAD_AREA_BASE)
        return false;
    if (l->end > 1ul << 63) // the vsyscall page
        return false;
    entry_from_line(&e, l);
    vmmapset_add(&map, e);
    return false;
}

void vmmap_init(void)
{
    lock_take(&vmmap_lock);
    maps_walk(init_line, NULL);
    lock_drop(&vmmap_lock);
}

static bool line_with_address(const struct maps_line *l, void *arg)
{
    u64 addr = *(const u64 *)arg;
    struct vmmap_entry e;

    if (addr < l->start || addr >= l->end)
        return l->start > addr; // sorted: no later line can
    if (!vmmap_is_engine(l->start, l->end)) {
        entry_from_line(&e, l);
        vmmapset_add(&map, e);
    }
    return true;
}

static bool find(u64 addr, u32 note, struct vmmap_info *out)
{
    struct vmmap_entry *e;

    lock_take(&vmmap_lock);
    e = vmmapset_find(&map, addr);
    if (!e && addr < 1ul << 63 && !vmmap_is_engine(addr, addr + 1)) {
        maps_walk(line_with_address, &addr);
        e = vmmapset_find(&map, addr);
    }
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
    for (u32 i = vmmapset_above(&map, start); i < map.n && map.e[i].start < end; i++)
        if (map.e[i].flags & VMMAP_EXECUTED)
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
    struct vmmap_entry e = { start, end, prot, flags, 0, 0 };
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

struct record_query {
    u64 addr;
    u32 index;
};

// When the mapped file was modified, ns since 1970, so that the finisher can tell whether it is the
// same still; 0: not known.
static u64 modified(const struct maps_line *l, u32 flags)
{
    struct k_stat st;

    if (flags || l->path[0] != '/' || sys_fstatat(AT_FDCWD, l->path, &st, 0) || st.st_ino != l->ino)
        return 0;
    return st.st_mtime_sec * 1000000000ul + st.st_mtime_nsec;
}

static bool line_to_record(const struct maps_line *l, void *arg)
{
    static const char deleted[] = " (deleted)";
    struct record_query *q = arg;
    u64 n = strlen(l->path);
    u32 flags = 0;

    if (q->addr < l->start || q->addr >= l->end)
        return l->start > q->addr;
    if (strcmp(l->path, "[vdso]") == 0) {
        flags = SPOOL_MAP_VDSO;
    } else if (l->ino == 0) {
        flags = SPOOL_MAP_ANON;
    } else if (n > sizeof(deleted) - 1 &&
               strcmp(l->path + n - (sizeof(deleted) - 1), deleted) == 0) {
        flags = SPOOL_MAP_DELETED;
        ((char *)(u64)l->path)[n - (sizeof(deleted) - 1)] = 0; // in maps_walk's buffer
    }
    q->index = spooler_map_record(l->start, l->end, l->offset, l->dev, l->ino, l->path, flags,
                                  modified(l, flags));
    // Every entry of ours inside this line is described by the record.
    for (u32 i = vmmapset_above(&map, l->start); i < map.n && map.e[i].start < l->end; i++)
        if (map.e[i].start >= l->start && map.e[i].end <= l->end)
            map.e[i].map_plus_one = q->index + 1;
    return true;
}

u32 vmmap_spool_map(u64 addr)
{
    struct record_query q = { addr, ~0u };
    struct vmmap_entry *e;

    lock_take(&vmmap_lock);
    e = vmmapset_find(&map, addr);
    if (e && e->map_plus_one) {
        q.index = e->map_plus_one - 1;
    } else {
        maps_walk(line_to_record, &q);
        if (q.index == ~0u) {
            u64 start = e ? e->start : PAGE_DOWN(addr),
                end = e ? e->end : PAGE_DOWN(addr) + PAGE_SIZE;

            q.index = spooler_map_record(start, end, 0, 0, 0, "", SPOOL_MAP_ANON, 0);
        }
        // When our entry and the kernel's line differ in extent (it was grown or split unseen),
        // ours still needs an answer.
        e = vmmapset_find(&map, addr);
        if (e && !e->map_plus_one)
            e->map_plus_one = q.index + 1;
    }
    lock_drop(&vmmap_lock);
    return q.index;
}
