// SPDX-License-Identifier: MIT
// A run's options (config.h).
#include "engine/spool/config.h"

#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"

struct tb_config tb_config;

void config_count(bool on)
{
    struct tb_config *c = &tb_config;

    c->counts = on;
    c->flags = spool->flags;
    if (!on)
        c->flags &=
            ~(u64)(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_CALLS | SPOOL_F_REP_CACHEGRIND);
    c->cache = c->flags & SPOOL_F_CACHE_SIM;
    c->branch = c->flags & SPOOL_F_BRANCH_SIM;
    c->calls = c->flags & SPOOL_F_CALLS;
    c->jumps = c->calls && (c->flags & SPOOL_F_JUMPS);
    c->contexts = c->calls && (c->flags & SPOOL_F_CONTEXTS);
    c->rep_cachegrind = c->flags & SPOOL_F_REP_CACHEGRIND;
}

// Inline checks keep no more of an address than its line, which may be of two objects.
static void whole_addresses(struct tb_config *c)
{
    if (c->data && !c->recording)
        c->d1_fast = false;
    // Inline checks find a line wherever it is; replays find it where a hint says, and for some
    // there is none (count/curve.h).
    if (c->curve && !c->recording)
        c->d1_fast = c->i1_fast = false;
}

bool config_no_replay(void)
{
    struct tb_config *c = &tb_config;

    if ((spool->flags & SPOOL_F_REPLAY_AUTO) != SPOOL_F_REPLAY_AUTO)
        return false;
    c->recording = c->replayer = c->watched = c->stamps = c->calls_lazy = c->ahead = false;
    c->vectors = 0;
    whole_addresses(c);
    return true;
}

static u32 processors(void)
{
    u64 mask[128];
    long bytes = sys_call3(SYS_sched_getaffinity, 0, sizeof(mask), (u64)mask);
    u32 n = 0;

    for (long i = 0; i < bytes / 8; i++)
        for (u64 m = mask[i]; m; m &= m - 1)
            n++;
    return n;
}

// Contexts and jumps need the ends of all blocks.
static bool may_superblock(const struct tb_config *c)
{
    return !(c->contexts || c->jumps) && !(spool->flags & SPOOL_F_NO_SUPERBLOCKS) &&
           !c->each_block && c->chain;
}

// Bytes of the vectors with which sets are searched.
static u32 vectors(void)
{
    if ((spool->flags & SPOOL_F_NO_VECTORS) || spool->i1.assoc > 32 || spool->d1.assoc > 32 ||
        spool->ll.assoc > 32)
        return 0;
    if (cpu.avx512 && !(spool->flags & SPOOL_F_NO_AVX512))
        return 64;
    return cpu.avx2 ? 32 : 0;
}

// Whether what L1 misses is in one line of the level below.
static bool is_in_one(const struct spool_geometry *l1)
{
    return l1->line <= spool->ll.line &&
           (!(spool->flags & SPOOL_F_L2) || l1->line <= spool->machine.l2.line);
}

// Whether a thread may simulate a buffer before its turn (count/ahead.h): where only caches are
// simulated, with or without a call graph, or a machine which sees no branches but those of its
// samples; of a size for which there is space, and a line that misses an L1 is in one line of the
// level below.
static bool may_ahead(const struct tb_config *c)
{
    const struct spool_geometry *i1 = &spool->i1, *d1 = &spool->d1;
    bool branches = (c->branch || c->predictor) && !c->learns;
    bool others = branches || (c->calls && !c->calls_lazy) || c->data || c->curve;

    return c->replayer && c->replayer_split && c->stamps && !others && is_in_one(i1) &&
           is_in_one(d1) && d1->line <= CONFIG_AHEAD_LINE && c->i1_sets <= CONFIG_AHEAD_SETS &&
           c->d1_sets <= CONFIG_AHEAD_SETS &&
           i1->size / i1->line + d1->size / d1->line <= CONFIG_AHEAD_WAYS;
}

// Called last. The fastest choice: with two processors another process; with one, batches if sets
// are searched with vectors, otherwise each reference at once.
static void config_replay(struct tb_config *c)
{
    u64 how = spool->flags & SPOOL_F_REPLAY_AUTO;
    bool serial = spool->flags & SPOOL_F_SERIALIZE, two = processors() >= 2;
    // Numbers of ways have 16 bits (for I1 not all values are used), and lines of D1 are found by
    // 32 bits.
    bool stamps = c->fast_tags && !serial && !(spool->flags & SPOOL_F_NO_ROUTINES) &&
                  spool->i1.size / spool->i1.line < 65536 &&
                  spool->d1.size / spool->d1.line <= 65536 && c->d1_shift <= 16;

    stamps = stamps && (!c->core || c->sampled);
    // Of a line that is looked at, the hint says another way.
    stamps = stamps && !((c->curve || c->data) && spool->d1.size == spool->d1.line);
    if (how == SPOOL_F_REPLAY_AUTO && (!stamps || !(two || vectors())))
        how = c->curve && stamps ? SPOOL_F_REPLAY : 0; // else each reference goes to C
    // With these, the call of a reference is determined at the reference.
    if (c->calls && (spool->flags & (SPOOL_F_CONTEXTS | SPOOL_F_SYSTIME | SPOOL_F_BY_THREAD)))
        how = 0;
    // A core needs whole instructions, each with where its references were found: of records, in C.
    if (c->core && !how)
        how = SPOOL_F_REPLAY;
    c->recording = how != 0;
    c->replayer = (how & SPOOL_F_REPLAY_PROCESS) && two && !serial;
    c->replayer_beside = how == SPOOL_F_REPLAY_AUTO ? processors() - 1 : 0;
    c->replayer_split = (spool->flags & SPOOL_F_REPLAY_SPLIT) || how == SPOOL_F_REPLAY_AUTO;
    c->record_ahead = c->replayer && !(spool->flags & SPOOL_F_NO_HINTS);
    c->watched = c->recording && !serial;
    c->superblocks = c->recording && may_superblock(c);
    c->stamps = c->recording && stamps;
    c->vectors = c->stamps ? vectors() : 0;
    // The others count where a call is not known.
    c->calls_lazy = c->calls && c->vectors && (!c->data || c->vectors == 64) && !c->core &&
                    !c->curve && !(spool->flags & (SPOOL_F_L2 | SPOOL_F_NO_HINTS));
    c->ahead = may_ahead(c);
}

void config_init(u64 i1_bytes, u64 d1_bytes)
{
    struct tb_config *c = &tb_config;

    config_count(true);
    c->data = c->calls && c->cache && spool->data.callers; // also while nothing is counted
    c->lineuse = c->data ? spool->data.use : 0;
    c->curve = c->cache && spool->curve.on;
    c->each_block = spool->every_blocks != 0;
    c->chain = !(spool->flags & SPOOL_F_NO_CHAIN) && !c->each_block;
    c->ibl = !(spool->flags & SPOOL_F_NO_IBL) && !c->each_block;
    c->fast_tags = !(spool->flags & SPOOL_F_NO_FASTTAGS);
    c->predictor = (spool->flags & SPOOL_F_PREDICTOR) != 0;
    c->core = (spool->flags & SPOOL_F_CORE) != 0;
    c->sampled = c->core && spool->machine.sampling.interval;
    c->learns = c->sampled && !spool->machine.sampling.branches;
    c->way_search = !(spool->flags & SPOOL_F_NO_WAY_SEARCH);
    c->recordbuf_grows = !(spool->flags & SPOOL_F_SMALL_BUFFERS);
    c->recordbuf_size = c->recordbuf_grows ? 0x80000 : 0x4000;
    c->shown = spool->cpu.leaves != 0;
    if (c->shown && (cpu.xsave_features & ~spool->cpu.xcr0))
        c->xstate_mask = (u32)spool->cpu.xcr0 | 3;
    c->forms = !(spool->flags & SPOOL_F_NO_FORMS);
    c->bgfinish = !(spool->flags & SPOOL_F_NO_BGFINISH) && processors() >= 2;
    c->values = !(spool->flags & SPOOL_F_NO_VALUES);
    c->calls_events = spool_event_index(SPOOL_EVENTS, c->flags);
    c->calls_often = spool_event_index(SPOOL_E_I1MR, c->flags);
    c->calls_frame = spool_frame_bytes(c->flags);
    c->read_counters = spool_ref_counters(SPOOL_REF_READ, c->flags);
    c->i1_shift = (u32)__builtin_ctz(spool->i1.line ? spool->i1.line : 64);
    c->d1_shift = (u32)__builtin_ctz(spool->d1.line ? spool->d1.line : 64);
    if (c->cache) {
        c->i1_sets = spool->i1.size / spool->i1.line / spool->i1.assoc;
        c->d1_sets = spool->d1.size / spool->d1.line / spool->d1.assoc;
        c->min_line = spool->i1.line;
        if (spool->d1.line < c->min_line)
            c->min_line = spool->d1.line;
        if (spool->ll.line < c->min_line)
            c->min_line = spool->ll.line;
        if ((spool->flags & SPOOL_F_L2) && spool->machine.l2.line < c->min_line)
            c->min_line = spool->machine.l2.line;
        // A set of D1 must fit into eight lines, the largest scale of an index. If LL's lines were
        // shorter than D1's, LL would need to know which bytes of D1's line were referenced.
        while (c->d1_scale < 3 && (u64)spool->d1.line << c->d1_scale < spool->d1.assoc * 8ul)
            c->d1_scale++;
        c->i1_fast =
            c->fast_tags && c->i1_sets >= 2 && (u64)c->i1_sets * spool->i1.assoc * 4 <= i1_bytes;
        c->d1_fast = c->fast_tags && c->d1_sets >= 2 && spool->ll.line >= spool->d1.line &&
                     (u64)spool->d1.line << c->d1_scale >= spool->d1.assoc * 8ul &&
                     (u64)c->d1_sets * spool->d1.line << c->d1_scale <= d1_bytes;
        c->d1_mask = (c->d1_sets - 1) << c->d1_shift;
        config_replay(c);
        whole_addresses(c);
    } else {
        c->watch = c->superblocks = !c->branch && may_superblock(c);
        c->hotblocks_all = c->watch && (spool->flags & SPOOL_F_SMALL_BUFFERS);
    }
}
