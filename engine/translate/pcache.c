// SPDX-License-Identifier: MIT
// The persistent cache (pcache.h). @holds(translation lock), except at the start and at the end.
#include "engine/translate/pcache.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/pack.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/caches.h"
#include "engine/count/lineids.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/cpucheck.h"
#include "engine/translate/pcacheedges.h"
#include "engine/translate/pcachefile.h"
#include "engine/x86/insn.h"

#define GROUPS_MAX 1024u
#define BYTES_MAX  (192ul << 20) // of a file
#define NEW_LEAST  64u           // new fragments that are worth a file
#define UP8(n)     (((n) + 7) & ~7ul)

// Fragments with these flags are in no group.
#define NEVER_MEMBER (FRAGMENT_STEP | FRAGMENT_WRITABLE | FRAGMENT_UNCOUNTED)

// A mapping with code.
struct pcache_group {
    u64 start, end;
    u64 sum;       // of the code that its fragments are made from
    u64 flags;     // enum spool_map_flag
    u64 functions; // with --calls=yes: a sum of where they start
};

enum group_state {
    GROUP_ASLEEP, // none of its fragments has been asked for
    GROUP_ALIVE,
    GROUP_OTHER, // the mapping has other code now, or was translated meanwhile
};

static struct {
    const char *folder; // NULL: there is no persistent cache
    u64 key[2];
    u32 flushes; // the first flush drops everything that was loaded
    u32 fragments, grouped;
    u16 *member; // of each loaded fragment
    struct pcache_group *group;
    u8 *state; // enum group_state
    u32 groups, asleep;
    u64 low, high; // range of the groups
    bool stale;    // the code of a loaded group has changed
} loaded;

// ---- The key ----

// Flags that change neither what is translated nor how. can_persist() tests those that forbid a
// cache.
#define FLAGS_OF_NO_ACCOUNT                                                                        \
    (SPOOL_F_QUIET | SPOOL_F_VERBOSE | SPOOL_F_TRACE_CHILDREN | SPOOL_F_FORKED | SPOOL_F_EXECED |  \
     SPOOL_F_STAT | SPOOL_F_JSON | SPOOL_F_MERGE | SPOOL_F_COMBINE | SPOOL_F_NO_BGFINISH |         \
     SPOOL_F_NO_PRETRANSLATE | SPOOL_F_RANDOM | SPOOL_F_NO_DEMANGLE | SPOOL_F_NO_LINES |           \
     SPOOL_F_INSTR | SPOOL_F_NO_HINTS | SPOOL_F_NO_IDS | SPOOL_F_NO_RELATIVE | SPOOL_F_BY_THREAD | \
     SPOOL_F_INLINE | SPOOL_F_LATE_COPY)

static u32 processor(void)
{
    u32 a = 1, b, c, d;

    __asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    return a;
}

static u64 key_part(u64 begin, u64 program)
{
    struct tb_config c;
    u64 with[] = { program,
                   spool->flags & ~(u64)FLAGS_OF_NO_ACCOUNT,
                   processor(),
                   region_start(),
                   region_fragments(),
                   spool->cache_kib,
                   spool->blocks_used,
                   spool->counters_used,
                   caches_by_vectors(),
                   SPOOL_VERSION };
    u64 h = pcachefile_sum(begin, with, sizeof(with));

    memcpy(&c, &tb_config, sizeof(c));
    c.flags &= ~(u64)FLAGS_OF_NO_ACCOUNT;
    c.bgfinish = false;
    h = pcachefile_sum(h, &c, sizeof(c));
    h = pcachefile_sum(h, &cpu, sizeof(cpu));
    h = pcachefile_sum(h, &spool->cpu, sizeof(spool->cpu));
    h = pcachefile_sum(h, &spool->i1, sizeof(spool->i1));
    h = pcachefile_sum(h, &spool->d1, sizeof(spool->d1));
    return pcachefile_sum(h, &spool->ll, sizeof(spool->ll));
}

// Whether translations depend on the code and the key only, and with calls on where functions
// start. With contexts they depend on names, too, and with data on which of them allocate; stubs
// generated at run time are not stored; nor is which instructions several blocks have (insnids.h).
static bool can_persist(bool steady)
{
    const struct tb_config *c = &tb_config;
    struct k_rlimit as;

    return spool->s_translations && steady && c->counts && !c->contexts && !c->data &&
           !c->each_block && !c->hotblocks_all && !c->core && !insnids_on() &&
           (!c->cache || c->recording) && !spool->edges_used && !spool->s_trace &&
           !spool->s_dump_code && !spool->stress_flush &&
           !(spool->flags & (SPOOL_F_NOT_AT_START | SPOOL_F_NATIVE | SPOOL_F_SMALL_BUFFERS)) &&
           sys_prlimit(RLIMIT_AS, NULL, &as) == 0 && !~as.cur;
}

// ---- Reading ----

static void *section(int fd, const struct pcachefile_head *h, enum pcachefile_section s)
{
    void *p = heap_alloc(h->bytes[s] + 1);

    if (h->bytes[s] >= HUGE_PAGE)
        pages_huge((u64)p, h->bytes[s]);
    sys_populate((u64)p, h->bytes[s]);
    if (pcachefile_read(fd, h, s, p))
        return p;
    heap_free(p, h->bytes[s] + 1);
    return NULL;
}

static bool read_to(int fd, const struct pcachefile_head *h, enum pcachefile_section s, u64 to)
{
    sys_populate(to, h->bytes[s]);
    return pcachefile_read(fd, h, s, (void *)to);
}

static u32 edges_of(const struct pcachefile_head *h)
{
    return (u32)(h->bytes[PCACHEFILE_EDGES] / sizeof(struct spool_edge));
}

static bool sizes_are_sound(const struct pcachefile_head *h, const struct arena_piece *piece)
{
    u64 room;

    region_space(&room);
    if (!arena_is_sound(&h->first, &h->second) && tb_config.recording)
        return false;
    for (u32 i = 0; i < ARENA_PIECES; i++) {
        if (h->bytes[PCACHEFILE_ARENA + i] != (tb_config.recording ? piece[i].bytes : 0))
            return false;
    }
    return h->fragments < FRAGMENTS_MAX && h->grouped <= h->fragments &&
           h->bytes[PCACHEFILE_MEMBERS] == h->fragments * sizeof(u16) &&
           h->bytes[PCACHEFILE_CODE] + FRAGMENT_MAX <= room &&
           h->counters >= spool->counters_used && h->counters < SPOOL_COUNTERS_MAX &&
           h->bytes[PCACHEFILE_BLOCKS] < SPOOL_BLOCKS_SIZE &&
           h->bytes[PCACHEFILE_EDGES] <=
               (tb_config.calls ? SPOOL_EDGES_MAX * sizeof(struct spool_edge) : 0) &&
           h->bytes[PCACHEFILE_EDGE_MEMBERS] == edges_of(h) * sizeof(u16) &&
           h->bytes[PCACHEFILE_GROUPS] <= GROUPS_MAX * sizeof(struct pcache_group);
}

// Whether the block and its counter are among those of the spool.
static bool block_is_sound(const struct pcachefile_head *h, u32 block, u32 counter)
{
    return block * 8ul + sizeof(struct spool_block) <= h->bytes[PCACHEFILE_BLOCKS] &&
           counter < h->counters;
}

// `at`: a packed fragment that has passed pack_is_sound().
static bool blocks_are_sound(const struct pcachefile_head *h, const u8 *at)
{
    const struct fragment *f = (const struct fragment *)at;
    const struct fragment_block *b = (const struct fragment_block *)(f + 1);

    for (u32 i = 0; i < f->nmore; i++) {
        if (!block_is_sound(h, b[i].block, b[i].counter))
            return false;
    }
    return block_is_sound(h, f->block, f->counter) && f->own < h->counters;
}

// The packed fragment i may be revived if it is a member of a group: code in writable memory and
// code without counters depend on what the file does not have.
static bool member_is_sound(u32 i, const u8 *at)
{
    return !loaded.member[i] || !(((const struct fragment *)at)->flags & NEVER_MEMBER);
}

// Whether the packed fragments in memory are valid.
static bool fragments_are_sound(const struct pcachefile_head *h, const u8 *at)
{
    u64 room = h->bytes[PCACHEFILE_FRAGMENTS], hpc = region_fragments();

    for (u32 i = 0; i < h->fragments; i++) {
        const struct fragment *f = (const struct fragment *)at;

        if (!pack_is_sound(at, room, i, h->fragments, hpc, h->bytes[PCACHEFILE_CODE]) ||
            !blocks_are_sound(h, at) || !member_is_sound(i, at))
            return false;
        hpc += (f->size + 15u) & ~15ul;
        room -= pack_bytes(f);
        at += pack_bytes(f);
    }
    return room == 0;
}

static bool groups_are_sound(u32 fragments)
{
    for (u32 i = 0; i < fragments; i++) {
        if (loaded.member[i] > loaded.groups)
            return false;
    }
    return true;
}

static void take(const struct pcachefile_head *h, u8 *at, const u64 *ids)
{
    tcache_expect(h->grouped);
    blockrecord_expect(h->grouped);
    for (u32 i = 0; i < h->fragments; i++) {
        struct fragment *f = (struct fragment *)at;

        at += pack_bytes(f);
        tcache_take(pack_undo((u8 *)f));
    }
    if (tb_config.recording)
        arena_restore(&h->first, &h->second);
    lineids_preset(ids, (u32)(h->bytes[PCACHEFILE_IDS] / sizeof(u64)));
    spooler_blocks_take(h->bytes[PCACHEFILE_BLOCKS], h->counters);
    loaded.fragments = h->fragments;
    loaded.grouped = h->grouped;
    loaded.low = ~0ul;
    for (u32 i = 0; i < loaded.groups; i++) {
        loaded.low = loaded.group[i].start < loaded.low ? loaded.group[i].start : loaded.low;
        loaded.high = loaded.group[i].end > loaded.high ? loaded.group[i].end : loaded.high;
    }
    loaded.asleep = loaded.groups;
}

// The blocks go to their place; those that this run has already stay as they are.
static bool read_blocks(int fd, const struct pcachefile_head *h)
{
    u64 bytes = h->bytes[PCACHEFILE_BLOCKS], own = spool->blocks_used;
    u8 *at = bytes >= own ? spooler_blocks_room(bytes) : NULL, *kept;
    bool sound;

    if (!at)
        return false;
    kept = heap_alloc(own + 1);
    memcpy(kept, at, own);
    sound = read_to(fd, h, PCACHEFILE_BLOCKS, (u64)at);
    memcpy(at, kept, own);
    heap_free(kept, own + 1);
    if (!sound)
        memset(at + own, 0, bytes - own);
    return sound;
}

// They go to their place, too. Returns their members; NULL: they are not valid.
static u16 *read_edges(int fd, const struct pcachefile_head *h)
{
    u32 n = edges_of(h);
    struct spool_edge *at = n ? spooler_edges_room(n) : NULL;
    u16 *member = at || !n ? section(fd, h, PCACHEFILE_EDGE_MEMBERS) : NULL;

    if (!member || !n)
        return member;
    if (read_to(fd, h, PCACHEFILE_EDGES, (u64)at) &&
        pcacheedges_are_sound(at, member, n, loaded.groups, h->counters))
        return member;
    heap_free(member, n * sizeof(u16) + 1);
    return NULL;
}

static bool read_all(int fd, const struct pcachefile_head *h)
{
    struct arena_piece piece[ARENA_PIECES];
    void *ids = NULL;
    u16 *edge_member = NULL;
    u8 *packed = NULL;
    bool sound;

    arena_pieces(&h->first, &h->second, piece);
    if (!sizes_are_sound(h, piece))
        return false;
    loaded.groups = (u32)(h->bytes[PCACHEFILE_GROUPS] / sizeof(struct pcache_group));
    sound = (loaded.group = section(fd, h, PCACHEFILE_GROUPS)) &&
            (loaded.member = section(fd, h, PCACHEFILE_MEMBERS)) &&
            groups_are_sound(h->fragments) && (packed = section(fd, h, PCACHEFILE_FRAGMENTS)) &&
            fragments_are_sound(h, packed) && (ids = section(fd, h, PCACHEFILE_IDS)) &&
            read_to(fd, h, PCACHEFILE_CODE, region_fragments());
    for (u32 i = 0; i < ARENA_PIECES && tb_config.recording && sound; i++)
        sound = read_to(fd, h, PCACHEFILE_ARENA + i, REPLAY_BASE + piece[i].at);
    sound = sound && (edge_member = read_edges(fd, h)) && read_blocks(fd, h);
    if (sound) {
        take(h, packed, ids);
        if (tb_config.calls)
            pcacheedges_take(edge_member, edges_of(h));
    }
    heap_free(ids, h->bytes[PCACHEFILE_IDS] + 1);
    return sound;
}

void pcache_init(u64 program, bool steady)
{
    struct pcachefile_head h;
    int fd;

    if (!can_persist(steady))
        return;
    loaded.folder = spooler_string(spool->s_translations);
    loaded.key[0] = key_part(1, program);
    loaded.key[1] = key_part(2, program);
    loaded.flushes = tcache_flushes();
    loaded.state = heap_alloc(GROUPS_MAX);
    fd = pcachefile_open(loaded.folder, loaded.key, &h);
    if (fd < 0)
        return;
    if (!read_all(fd, &h)) {
        loaded.groups = 0;
        pcachefile_remove(loaded.folder, loaded.key);
    }
    sys_close(fd);
}

// ---- Reviving ----

static struct fragment_block block_of(const struct fragment *f, u32 i)
{
    if (i)
        return f->more[i - 1];
    return (struct fragment_block){ f->pc, f->end, f->block, f->own, 0, 0 };
}

#define CODE_MAX (FRAGMENT_INSNS_MAX * INSN_BYTES_MAX)

// Reads the bytes of a block of the group; returns how many, 0: not in the group, or not readable.
static u32 code_of(const struct fragment_block *b, const struct pcache_group *g, u8 *code)
{
    if (b->pc < g->start || b->end > g->end || b->end <= b->pc || b->end - b->pc > CODE_MAX ||
        clientmem_read(code, b->pc, b->end - b->pc))
        return 0;
    return (u32)(b->end - b->pc);
}

// The sum of the code of all fragments of group k: those of the n fragments that `member` gives.
static u64 sum_code(const struct pcache_group *g, u32 k, const u16 *member, u32 n)
{
    u8 code[4 * CODE_MAX];
    u64 sum = g->start, have = 0;

    for (u32 i = 0; i < n; i++) {
        const struct fragment *f = member[i] == k + 1 ? tcache_by_index(i) : NULL;

        for (u32 j = 0; f && j <= f->nmore; j++) {
            struct fragment_block b = block_of(f, j);

            if (sizeof(code) - have < CODE_MAX) {
                sum = pcachefile_sum(sum, code, have);
                have = 0;
            }
            have += code_of(&b, g, code + have);
        }
    }
    return pcachefile_sum(sum, code, have);
}

// The map first: a reader of the spool after SIGKILL finds every block that is not dormant
// complete.
static void wake_block(u32 index, u32 map)
{
    struct spool_block *s = spooler_block_at(index), awake;

    if (!(s->flags & SPOOL_B_DORMANT))
        return;
    awake = *s;
    awake.map = map & 0x1ffff;
    awake.flags &= 0xf & ~(u32)SPOOL_B_DORMANT;
    __atomic_store_n(&s->shape, awake.shape, __ATOMIC_RELEASE);
    spool->block_count++;
    blockrecord_take(s);
}

// The edges that code of the group refers to. Calls that are known may be of another module, which
// was mapped there before.
static bool wake_edges(u32 k, u32 map)
{
    if (!tb_config.calls)
        return true;
    calls_forget_unmapped();
    return pcacheedges_wake((u16)(k + 1), map);
}

static void wake(u32 k, u32 map)
{
    for (u32 i = 0; i < loaded.fragments; i++) {
        struct fragment *f;

        if (loaded.member[i] != k + 1)
            continue;
        f = tcache_by_index(i);
        for (u32 n = 0; n <= f->nmore; n++)
            wake_block(block_of(f, n).block, map);
        tcache_revive(f);
        spool->n_pcache_revived++;
    }
}

// Whether all of the group's range is unwritable code. A thread that changes it from now on waits
// for the translation lock, and then finds the revived fragments.
static bool is_code(const struct pcache_group *g)
{
    struct vmmap_info info = { .end = g->start };

    while (info.end < g->end) {
        if (!vmmap_find_code(info.end, &info) || (info.prot & PROT_WRITE) ||
            !(info.prot & PROT_EXEC) || (info.flags & VMMAP_SHARED))
            return false;
    }
    return true;
}

// With --calls=yes. A file with symbols may have been installed or removed.
static u64 sum_functions(u32 map)
{
    const u32 *start;
    u32 n;

    if (!tb_config.calls)
        return 0;
    start = functions_starts(map, &n);
    return pcachefile_sum(n, start, n * sizeof(*start));
}

static bool try_group(u32 k, u64 pc)
{
    const struct pcache_group *g = &loaded.group[k];
    const struct spool_map *m;
    u32 map;

    if (!is_code(g))
        return false;
    map = vmmap_spool_map(pc);
    m = spooler_map_at(map);
    if (m->start != g->start || m->end != g->end || m->flags != g->flags)
        return false;
    loaded.asleep--;
    if (sum_code(g, k, loaded.member, loaded.fragments) != g->sum ||
        sum_functions(map) != g->functions) {
        loaded.state[k] = GROUP_OTHER;
        loaded.stale = true;
        return false;
    }
    if (!wake_edges(k, map)) {
        loaded.state[k] = GROUP_OTHER;
        return false;
    }
    wake(k, map);
    loaded.state[k] = GROUP_ALIVE;
    return true;
}

bool pcache_revive(u64 pc)
{
    if (!loaded.asleep || pc < loaded.low || pc >= loaded.high || !tb_config.counts)
        return false;
    if (loaded.flushes != tcache_flushes()) {
        loaded.asleep = 0;
        return false;
    }
    for (u32 k = 0; k < loaded.groups; k++) {
        if (loaded.state[k] == GROUP_ASLEEP && pc >= loaded.group[k].start &&
            pc < loaded.group[k].end && try_group(k, pc))
            return true;
    }
    return false;
}

// ---- Writing ----

// What is being saved.
struct saving {
    struct pcachefile_head head;
    u32 n; // fragments
    u16 *member;
    struct pcache_group *group;
    u32 *map; // for each group with fragments of this run the number of its spool_map, plus one
    u32 groups;
    u16 *edge_member;
    u8 *buffer; // for sections that are not written straight from memory
    u64 bytes;
    u64 largest; // packed fragment
};

static const struct saving *saving;
static u16 saving_group;

// pack(): whether the link to a fragment stays
static bool in_same_group(const struct fragment *to)
{
    return saving->member[to->index] == saving_group;
}

// The number of a mapping's group, made if needed; 0: there is none.
static u16 group_of(struct saving *s, u32 map)
{
    const struct spool_map *m = spooler_map_at(map);
    struct pcache_group *g;

    if (m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED))
        return 0;
    for (u32 i = 0; i < s->groups; i++) {
        g = &s->group[i];
        if (g->start != m->start || g->end != m->end || g->flags != m->flags)
            continue;
        if (i < loaded.groups && loaded.state[i] != GROUP_ALIVE)
            return 0;
        if (!s->map[i])
            s->map[i] = map + 1;
        return s->map[i] == map + 1 ? (u16)(i + 1) : 0;
    }
    if (s->groups == GROUPS_MAX)
        return 0;
    s->map[s->groups] = map + 1;
    g = &s->group[s->groups++];
    *g = (struct pcache_group){ .start = m->start, .end = m->end, .flags = m->flags };
    return (u16)s->groups;
}

// Whether memory still holds the code that a block was made from.
static bool is_current(const struct fragment_block *b, const struct pcache_group *g)
{
    const struct spool_block *r = spooler_block_at(b->block);
    u8 code[CODE_MAX];
    u32 n = code_of(b, g, code);

    return n && blockrecord_hash(code, n, r->insns) == r->hash;
}

// With --calls=yes: whether the code depends on the functions of other mappings; or goes on after a
// linkage table, so that C would not learn the target of its entry.
static bool depends_on_more(const struct fragment *f, const struct pcache_group *g)
{
    if (!tb_config.calls)
        return false;
    for (u32 i = 0; i < f->nexits; i++) {
        if (f->exit[i].target - g->start >= g->end - g->start)
            return true;
    }
    for (u32 n = 0; n < f->nmore; n++) {
        if (spooler_block_at(block_of(f, n).block)->flags & SPOOL_B_PLT)
            return true;
    }
    return false;
}

static u16 member_of(struct saving *s, const struct fragment *f)
{
    u32 i = f->index;
    u16 k;

    // Groups that were not asked for stay as they were loaded.
    if (i < loaded.fragments && loaded.member[i] &&
        loaded.state[loaded.member[i] - 1] == GROUP_ASLEEP)
        return loaded.member[i];
    if (f->flags & (FRAGMENT_DEAD | NEVER_MEMBER))
        return 0;
    k = group_of(s, spooler_block_at(f->block)->map);
    if (k && depends_on_more(f, &s->group[k - 1]))
        return 0;
    for (u32 n = 0; n <= f->nmore && k; n++) {
        struct fragment_block b = block_of(f, n);

        if (!is_current(&b, &s->group[k - 1]))
            return 0;
    }
    return k;
}

static bool is_asleep(u32 k)
{
    return k < loaded.groups && loaded.state[k] == GROUP_ASLEEP;
}

// Chooses the fragments to store, and their groups.
static void choose(struct saving *s)
{
    for (u32 i = 0; i < s->n; i++) {
        const struct fragment *f = tcache_by_index(i);

        s->member[i] = member_of(s, f);
        s->head.grouped += s->member[i] != 0;
    }
    for (u32 k = 0; k < s->groups; k++) {
        if (is_asleep(k))
            continue;
        s->group[k].sum = sum_code(&s->group[k], k, s->member, s->n);
        if (s->map[k]) // else all of them are dead
            s->group[k].functions = sum_functions(s->map[k] - 1);
    }
    pcacheedges_members(s->edge_member, s->map, s->groups);
}

static u32 worth(void)
{
    return loaded.grouped + loaded.grouped / 16 + NEW_LEAST;
}

// Not if there is little more than was loaded, nor if most of it is dead: then the old file may be
// removed, and the next run starts without one.
static bool is_worth_it(const struct saving *s)
{
    if (s->n - s->head.grouped > s->head.grouped) {
        if (loaded.fragments && (loaded.fragments - loaded.grouped) * 4ul > loaded.fragments)
            pcachefile_remove(loaded.folder, loaded.key);
        return false;
    }
    return s->head.grouped > worth();
}

// The spool's blocks for the next run, where none has been executed yet.
static void pack_blocks(u8 *to, u64 bytes)
{
    memcpy(to, spooler_block_at(0), bytes);
    for (u64 at = 0; at < bytes;) {
        struct spool_block *b = (struct spool_block *)(to + at);

        if (!(b->flags & SPOOL_B_SUM)) {
            b->flags |= SPOOL_B_DORMANT;
            b->map = 0;
        }
        at += (sizeof(*b) + b->insns * sizeof(struct spool_insn) + 7) & ~7ul;
    }
}

// Fragments are packed one at a time while they are written: together they take 30 MB for a
// compiler. Packing sets their exits in the copy of the code, which is written after them.
static struct {
    u32 next; // fragment
    u8 *one;  // the last one packed; the bytes from `at` to `end` are still to be written
    u64 at, end;
    u8 *code;
} packing;

static void pack_next(void)
{
    u32 i = packing.next++;
    const struct fragment *f = tcache_by_index(i);

    saving_group = saving->member[i] ? saving->member[i] : GROUPS_MAX + 1;
    pack(f, packing.one, packing.code, in_same_group);
    packing.at = 0;
    packing.end = pack_bytes(f);
}

// pcachefile_write()
static void fill_fragments(u8 *to, u64 n)
{
    while (n) {
        u64 part;

        if (packing.at == packing.end)
            pack_next();
        part = packing.end - packing.at < n ? packing.end - packing.at : n;
        memcpy(to, packing.one + packing.at, part);
        packing.at += part;
        to += part;
        n -= part;
    }
}

static void measure(struct saving *s)
{
    struct pcachefile_head *h = &s->head;
    u64 *bytes = h->bytes, room = region_escapes() - region_fragments(), left;

    region_space(&left);
    bytes[PCACHEFILE_GROUPS] = s->groups * sizeof(*s->group);
    bytes[PCACHEFILE_MEMBERS] = s->n * sizeof(u16);
    for (u32 i = 0; i < s->n; i++) {
        u64 n = pack_bytes(tcache_by_index(i));

        bytes[PCACHEFILE_FRAGMENTS] += n;
        s->largest = n > s->largest ? n : s->largest;
    }
    bytes[PCACHEFILE_CODE] = room - left;
    bytes[PCACHEFILE_IDS] = lineids_count() * sizeof(u64);
    bytes[PCACHEFILE_BLOCKS] = spool->blocks_used;
    bytes[PCACHEFILE_EDGES] = spool->edges_used * sizeof(struct spool_edge);
    bytes[PCACHEFILE_EDGE_MEMBERS] = spool->edges_used * sizeof(u16);
    s->bytes = UP8(s->largest) + UP8(bytes[PCACHEFILE_CODE]) + bytes[PCACHEFILE_IDS] +
               bytes[PCACHEFILE_BLOCKS] + bytes[PCACHEFILE_EDGES];
    if (!tb_config.recording)
        return;
    struct arena_piece piece[ARENA_PIECES];

    h->first = arena_first;
    h->second = arena_second;
    arena_pieces(&arena_first, &arena_second, piece);
    for (u32 i = 0; i < ARENA_PIECES; i++)
        bytes[PCACHEFILE_ARENA + i] = piece[i].bytes;
}

static u64 all_bytes(const struct pcachefile_head *h)
{
    u64 n = 0;

    for (u32 i = 0; i < PCACHEFILE_SECTIONS; i++)
        n += h->bytes[i];
    return n;
}

static long write(struct saving *s)
{
    struct pcachefile_head *h = &s->head;
    const void *from[PCACHEFILE_SECTIONS] = {
        [PCACHEFILE_GROUPS] = s->group,
        [PCACHEFILE_MEMBERS] = s->member,
        [PCACHEFILE_EDGE_MEMBERS] = s->edge_member,
    };
    struct arena_piece piece[ARENA_PIECES];
    u8 *p = s->buffer, *code;

    from[PCACHEFILE_CODE] = code = p + UP8(s->largest);
    memcpy(code, (void *)region_fragments(), h->bytes[PCACHEFILE_CODE]);
    saving = s;
    packing.next = 0;
    packing.at = packing.end = 0;
    packing.one = p;
    packing.code = code;
    p = code + UP8(h->bytes[PCACHEFILE_CODE]);
    from[PCACHEFILE_IDS] = p;
    lineids_list((u64 *)p);
    p += h->bytes[PCACHEFILE_IDS];
    from[PCACHEFILE_BLOCKS] = p;
    pack_blocks(p, h->bytes[PCACHEFILE_BLOCKS]);
    p += h->bytes[PCACHEFILE_BLOCKS];
    from[PCACHEFILE_EDGES] = p;
    pcacheedges_pack((struct spool_edge *)p);
    arena_pieces(&arena_first, &arena_second, piece);
    for (u32 i = 0; i < ARENA_PIECES; i++)
        from[PCACHEFILE_ARENA + i] = (void *)(REPLAY_BASE + piece[i].at);
    h->fragments = s->n;
    h->counters = spool->counters_used;
    memcpy(h->key, loaded.key, sizeof(loaded.key));
    return pcachefile_write(loaded.folder, h, from, fill_fragments);
}

// Memory; a failure costs only the file, the profile is written all the same.
static void *pages(u64 bytes)
{
    int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    long p = sys_mmap(0, PAGE_UP(bytes), prot, flags, -1, 0);

    if (sys_failed(p))
        return NULL;
    sys_populate((u64)p, bytes);
    return (void *)p;
}

static void save_chosen(struct saving *s)
{
    choose(s);
    if (!is_worth_it(s))
        return;
    measure(s);
    if (all_bytes(&s->head) > BYTES_MAX || !(s->buffer = pages(s->bytes)))
        return;
    if (write(s) == 0)
        spool->n_pcache_saved = s->head.grouped;
    sys_munmap((u64)s->buffer, PAGE_UP(s->bytes));
}

static void save(void)
{
    struct saving s = { .n = tcache_next_index(), .groups = loaded.groups };
    u64 bytes = GROUPS_MAX * (sizeof(*s.group) + sizeof(*s.map)) + s.n * sizeof(*s.member) +
                spool->edges_used * sizeof(*s.edge_member);

    // A bound before the work: all loaded and all new fragments.
    if (loaded.grouped + (s.n - loaded.fragments) <= worth() || !(s.group = pages(bytes)))
        return;
    s.map = (u32 *)(s.group + GROUPS_MAX);
    s.member = (u16 *)(s.map + GROUPS_MAX);
    s.edge_member = s.member + s.n;
    if (loaded.groups)
        memcpy(s.group, loaded.group, loaded.groups * sizeof(*s.group));
    save_chosen(&s);
    sys_munmap((u64)s.group, PAGE_UP(bytes));
}

static bool never;

void pcache_never(void)
{
    never = true;
}

// A forked child has few fragments of its own, and its siblings have them, too. After a warning of
// --cpu nothing is stored: the next run has to warn again.
void pcache_save(void)
{
    if (!loaded.folder || never || loaded.flushes != tcache_flushes() || !tb_config.counts ||
        (spool->flags & SPOOL_F_FORKED) || cpucheck_warned() || !tcache_try_lock())
        return;
    if (loaded.stale)
        pcachefile_remove(loaded.folder, loaded.key);
    else
        save();
    tcache_unlock();
}
