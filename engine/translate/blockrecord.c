// SPDX-License-Identifier: MIT
// A block's record in the spool (blockrecord.h): after a flush the block gets the same one again,
// and its counts go on.
#include "engine/translate/blockrecord.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/contexts.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "engine/translate/pointers.h"

#define SEEN (1u << 14) // a few for each rewritten address

// Blocks that have a record: a flushed or evicted block finds its counters again. The tags avoid
// reading most of the wrong records, which are not in the processor's caches.
static struct {
    u32 *index; // spool block index + 1
    u8 *tag;    // tag_of() its hash; 0: no entry
    u32 size, used;
} known;

// The key of a record. Bytes of code that may be rewritten are not part of it: its instructions
// count the same when a constant among them changes. A record for each change filled the spool.
struct key {
    u64 pc;
    u32 hash, map, n;
    u32 kind;          // SPOOL_B_SUM, SPOOL_B_WRITABLE or neither
    const void *words; // with a kind: the words that follow the record
};

#define KINDS (SPOOL_B_SUM | SPOOL_B_WRITABLE)

static u32 hash_words(const void *words, u32 n)
{
    return spool_hash_bytes(SPOOL_HASH_BEGIN, words, n * 4);
}

static struct key key_of(const struct spool_block *s)
{
    struct key k = { s->pc, s->hash, s->map, s->insns, s->flags & KINDS, s + 1 };

    if (k.kind == SPOOL_B_WRITABLE)
        k.hash = hash_words(k.words, k.n);
    return k;
}

static bool is_of(const struct spool_block *s, const struct key *k)
{
    if (s->pc != k->pc || s->map != k->map || s->insns != k->n || (s->flags & KINDS) != k->kind)
        return false;
    return k->kind ? memcmp(s + 1, k->words, k->n * 4) == 0 : s->hash == k->hash;
}

// Includes the mapping: code that is generated again, in new memory at the same address, is often
// the same.
static u32 known_hash(const struct key *k)
{
    return (u32)((k->pc * 0x9e3779b97f4a7c15ul) >> 32) ^ k->hash ^ k->map * 0x85ebca77u;
}

// From bits of the hash that do not select the entry.
static u8 tag_of(u32 h)
{
    return (u8)(h >> 25 | 0x80);
}

static void known_alloc(u32 size)
{
    known.size = size;
    known.index = heap_alloc(size * sizeof(u32));
    known.tag = heap_alloc(size);
    if (size * sizeof(u32) >= HUGE_PAGE)
        pages_huge((u64)known.index, size * sizeof(u32));
}

void blockrecord_init(void)
{
    known_alloc(8192);
    known.used = 0;
}

// The spool's description of an instruction, except SPOOL_I_FETCH.
static struct spool_insn describe(const struct insn *in)
{
    struct spool_insn r = { .len = in->len };

    if (in->kind == INSN_STEP) {
        r.flags = SPOOL_I_STEPPED;
        return r;
    }
    if (in->kind == INSN_JCC || in->kind == INSN_LOOP)
        r.flags |= SPOOL_I_BC;
    if (in->kind == INSN_JMP_IND || in->kind == INSN_CALL_IND)
        r.flags |= SPOOL_I_BI;
    if (in->kind == INSN_RET)
        r.flags |= SPOOL_I_RET;
    if (in->kind == INSN_STRING && (in->flags & INSN_F_REP)) {
        r.flags |= SPOOL_I_DYN | SPOOL_I_REP;
        return r;
    }
    if (in->vec_kind != VEC_NONE) {
        r.flags |= SPOOL_I_DYN;
        return r;
    }
    if (in->flags & INSN_F_BUS)
        r.flags |= SPOOL_I_BUS;
    for (u32 k = 0; k < in->nrefs; k++) {
        if ((in->refs[k].flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE)
            r.writes++;
        else
            r.reads++;
    }
    if (tb_config.rep_cachegrind && (in->flags & INSN_F_LOCKED)) {
        // Cachegrind's translation: a load, a compare-and-swap, and a loop that never loops
        r.reads = 2;
        r.flags |= SPOOL_I_BC;
    }
    return r;
}

static void make_record(struct tb *b, const struct tb_block *t, struct spool_data_flow *flow)
{
    u64 line = ~0ul;
    u32 shift = tb_config.i1_shift;

    for (u32 i = t->first; i < t->first + t->n; i++) {
        const struct insn *in = &b->insn[i];
        u64 first = in->pc >> shift, last = (in->pc + in->len - 1) >> shift;

        b->rec[i] = describe(in);
        if (in->kind != INSN_STEP && (first != line || last != line))
            b->rec[i].flags |= SPOOL_I_FETCH;
        line = last;
    }
    if (tb_config.data)
        pointers_find(b, t, flow);
}

static u32 hash_code(const struct tb *b, const struct tb_block *t)
{
    u32 h = SPOOL_HASH_BEGIN;

    for (u32 i = t->first; i < t->first + t->n; i++)
        h = spool_hash_bytes(h, b->insn[i].bytes, b->insn[i].len);
    return h ^ t->n;
}

u32 blockrecord_hash(const u8 *code, u32 bytes, u32 n)
{
    return spool_code_hash(code, bytes, n);
}

static void known_enlarge(u32 to)
{
    u32 size = known.size, *index = known.index;
    u8 *tag = known.tag;

    known_alloc(to);
    for (u32 i = 0; i < size; i++) {
        struct key key;
        u32 k;

        if (!tag[i])
            continue;
        key = key_of(spooler_block_at(index[i] - 1));
        for (k = known_hash(&key) & (known.size - 1); known.tag[k]; k = (k + 1) & (known.size - 1))
            ;
        known.index[k] = index[i];
        known.tag[k] = tag[i];
    }
    heap_free(index, size * sizeof(u32));
    heap_free(tag, size);
}

void blockrecord_expect(u32 n)
{
    u32 size = known.size;

    while (size / 2 <= n)
        size *= 2;
    if (size > known.size)
        known_enlarge(size);
}

// The entry of the record, or the free one where it belongs.
static u32 find(const struct key *key)
{
    u32 h = known_hash(key), k = h & (known.size - 1);

    for (; known.tag[k]; k = (k + 1) & (known.size - 1)) {
        if (known.tag[k] == tag_of(h) && is_of(spooler_block_at(known.index[k] - 1), key))
            break;
    }
    return k;
}

// The same, with space for one more.
static u32 entry_of(const struct key *key)
{
    u32 k = find(key);

    if (known.tag[k] || known.used * 2 < known.size)
        return k;
    known_enlarge(known.size * 2);
    return find(key);
}

static void note(u32 k, const struct key *key, const struct spool_block *s)
{
    known.index[k] = spooler_block_index(s) + 1;
    known.tag[k] = tag_of(known_hash(key));
    known.used++;
}

// As blockrecord_make() does it.
static void own_counters(const struct spool_block *s)
{
    const struct spool_insn *in = (const struct spool_insn *)(s + 1);
    u32 at = s->own;

    if (!(tb_config.flags & (SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REP_CACHEGRIND)))
        return; // without a core no instruction has counters
    if (spooler_block_index(s + 1) * 8ul + s->insns * sizeof(*in) > spool->blocks_used)
        return; // damaged
    for (u32 i = 0; i < s->insns; i++) {
        struct spool_counters c;

        if (!(in[i].flags | in[i].reads | in[i].writes))
            continue;
        c = spool_insn_counters(in[i], tb_config.flags);
        if (c.count > spool->counters_used - at)
            return;
        calls_own(&c, at);
        at += c.count;
    }
}

void blockrecord_take(const struct spool_block *s)
{
    struct key key = key_of(s);
    u32 k = entry_of(&key);

    if (tb_config.calls && s->own < spool->counters_used)
        own_counters(s);

    if (!known.tag[k])
        note(k, &key, s);
}

// Whether this address had rewritable code with these bytes before, as far as is remembered.
static bool seen_before(u64 pc, u32 hash)
{
    static u32 *seen; // the last hash of each entry
    u32 h = (u32)((pc * 0x9e3779b97f4a7c15ul) >> 32) ^ hash, *at;
    bool before;

    if (!seen)
        seen = heap_alloc(SEEN * sizeof(*seen));
    at = &seen[(h ^ h >> 16) % SEEN];
    before = *at == h;
    *at = h;
    return before;
}

static u32 flags_of(const struct tb *b, const struct tb_block *t)
{
    return (b->writable ? SPOOL_B_WRITABLE : 0u) |
           (tb_config.calls && t->function.plt ? SPOOL_B_PLT : 0u);
}

// Several blocks may have an instruction: the first one decides where its walks are. Its address is
// not all that it is known by, since there may be other code later.
static void note_instructions(const struct tb *b, const struct tb_block *t, u32 map)
{
    for (u32 i = t->first; i < t->first + t->n; i++) {
        const struct insn *in = &b->insn[i];
        u64 code = spool_hash_bytes(SPOOL_HASH_BEGIN, in->bytes, in->len);
        u64 number = (in->pc ^ code << 32) * 0x9e3779b97f4a7c15ul ^ map;

        if (b->cnt[i].d1mr != ~0u)
            insnids_note(number * 2, b->first[i] + b->cnt[i].d1mr);
        if (b->cnt[i].d1mw != ~0u)
            insnids_note(number * 2 + 1, b->first[i] + b->cnt[i].d1mw);
    }
}

void blockrecord_make(struct tb *b, struct tb_block *t)
{
    u32 total = 0, own, k, end = t->first + t->n;
    struct key key = { .pc = t->pc, .n = t->n };
    struct spool_data_flow flow;
    bool is_new;

    t->record = 0;
    t->counter = tb_config.sink;
    b->again = true;
    if (!tb_config.counts) {
        memset(b->rec + t->first, 0, t->n * sizeof(b->rec[0]));
        return;
    }
    key.hash = hash_code(b, t);
    key.map = vmmap_spool_map(t->pc);
    make_record(b, t, &flow);
    for (u32 i = t->first; i < end; i++) {
        b->cnt[i] = spool_insn_counters(b->rec[i], tb_config.flags);
        b->first[i] = total; // made absolute below
        total += b->cnt[i].count;
    }
    if (b->writable) {
        b->again = seen_before(t->pc, key.hash);
        key.kind = SPOOL_B_WRITABLE;
        key.words = b->rec + t->first;
        key.hash = hash_words(key.words, t->n);
    }
    k = entry_of(&key);
    is_new = !known.tag[k];
    if (is_new) {
        struct spool_block *s =
            spooler_block_append(t->pc, key.map, flags_of(b, t), b->writable ? 0 : key.hash,
                                 b->rec + t->first, t->n, total + 1, &t->counter);

        note(k, &key, s);
        if (tb_config.data)
            pointers_append(&flow, spooler_block_index(s));
        contexts_block(spooler_block_index(s), s->counter, total + 1, &t->function);
    }
    t->record = known.index[k] - 1;
    t->counter = spooler_block_at(t->record)->counter;
    own = spooler_block_at(t->record)->own;
    for (u32 i = t->first; i < end; i++) {
        b->first[i] += own;
        calls_own(&b->cnt[i], b->first[i]);
    }
    if (is_new && insnids_on())
        note_instructions(b, t, key.map);
}

u32 blockrecord_sum(const struct tb *b, u32 n)
{
    u32 counter[FRAGMENT_BLOCKS_MAX], insns = 0, hash = SPOOL_HASH_BEGIN, k;
    struct spool_insn as[FRAGMENT_BLOCKS_MAX];
    struct key key;

    _Static_assert(sizeof(as) == sizeof(counter), "counters in place of instructions");
    for (u32 i = 0; i < n; i++) {
        counter[i] = b->block[i].counter;
        insns += b->block[i].n;
        hash = (hash ^ counter[i]) * 16777619u;
    }
    memcpy(as, counter, n * sizeof(counter[0]));
    key = (struct key){ b->pc, hash, insns, n, SPOOL_B_SUM, counter };
    k = entry_of(&key);
    if (!known.tag[k])
        note(k, &key, spooler_block_append(b->pc, insns, SPOOL_B_SUM, hash, as, n, 1, &counter[0]));
    return spooler_block_at(known.index[k] - 1)->counter;
}
