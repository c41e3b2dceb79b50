// SPDX-License-Identifier: MIT
// The slow paths of the simulation: reached by about one data reference in ten. See prof.h for what may be done here, and
// translate_sim.c for the code that comes here.
#include "engine/prof.h"

#include "engine/heap.h"
#include "engine/lock.h"
#include "engine/mini.h"
#include "engine/spooler.h"
#include "engine/syscalls.h"
#include "engine/tcache.h"
#include "engine/translate.h"

// LL is one for all threads of a process (ruling 6); the lock guards it.
static struct {
    struct lock lock;
    struct sim_cache cache;
} ll;

// I1 line -> id, open addressing, grown by doubling. Guarded by the translation lock.
static struct {
    u64 *line; // line + 1, 0: free
    u32 *id;
    u32 size, used;
} ids;

static struct sim_geometry geometry(const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    return s;
}

void prof_init(void)
{
    struct sim_geometry g = geometry(&spool->ll);

    ids.size = 4096;
    ids.line = heap_alloc(ids.size * sizeof(u64));
    ids.id = heap_alloc(ids.size * sizeof(u32));
    if (spool->flags & SPOOL_F_CACHE_SIM)
        sim_cache_init_zeroed(&ll.cache, &g, heap_pages(sim_cache_bytes(&g)));
}

// --serialize-threads: the caches of the first thread are everybody's, and the predictor's state follows the turn.
static struct {
    struct sim_state *first;
    struct thread *last; // whose area holds the predictor; NULL: `branch` and `hist` do
    struct sim_branch branch;
    u64 hist;
} serial;

static void d1_fast_reset(struct thread *t)
{
    u64 used = (u64)tb_config.d1_sets * spool->d1.line;

    // no line of a client is at address zero, so zero is "none"
    if (!t->sim->d1_fast)
        return;
    if (used <= 64 * 1024)
        memset(t->sim->d1_fast, 0, used);
    else
        sys_madvise((u64)t->self + TA_D1_FAST, TA_D1_FAST_SIZE, MADV_DONTNEED);
}

static void i1_fast_reset(struct thread *t)
{
    if (t->sim->i1_fast)
        memset(t->sim->i1_fast, 0, tb_config.i1_sets * sizeof(u32));
}

void prof_turn(struct thread *t)
{
    if (serial.last == t)
        return;
    if (spool->flags & SPOOL_F_CACHE_SIM) { // they tell what the caches held when t last ran
        i1_fast_reset(t);
        d1_fast_reset(t);
    }
    *t->sim->branch = serial.last ? *serial.last->sim->branch : serial.branch;
    t->hist = serial.last ? serial.last->hist : serial.hist;
    serial.last = t;
}

int prof_thread_init(struct thread *t)
{
    struct sim_state *s = t->sim;
    u8 *area = (u8 *)t->self;
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);

    memcpy(area + TA_SLOW_TABLE, syscalls_slow_table, 512);
    if (!s) {
        s = heap_alloc(sizeof(*s));
        t->sim = s;
        s->branch = (struct sim_branch *)(area + TA_BRANCH);
        if (spool->flags & SPOOL_F_CACHE_SIM) {
            s->i1_fast = tb_config.i1_fast ? (u32 *)(area + TA_I1_FAST) : NULL;
            s->d1_fast = tb_config.d1_fast ? area + TA_D1_FAST : NULL;
        }
        if ((spool->flags & SPOOL_F_SERIALIZE) && serial.first) {
            s->i1 = serial.first->i1;
            s->d1 = serial.first->d1;
        } else if (spool->flags & SPOOL_F_CACHE_SIM) {
            sim_cache_init_zeroed(&s->i1, &i1, heap_pages(sim_cache_bytes(&i1)));
            sim_cache_init_zeroed(&s->d1, &d1, heap_pages(sim_cache_bytes(&d1)));
        }
        if (!serial.first)
            serial.first = s;
    } else {
        // a slot that another thread has used
        memset(s->branch, 0, sizeof(*s->branch));
        if (spool->flags & SPOOL_F_CACHE_SIM) {
            if (!(spool->flags & SPOOL_F_SERIALIZE)) {
                memset(s->i1.tags, 0, sim_cache_bytes(&i1));
                memset(s->d1.tags, 0, sim_cache_bytes(&d1));
            }
            i1_fast_reset(t);
            d1_fast_reset(t);
        }
    }
    t->hist = 0;
    return 0;
}

void prof_thread_fini(struct thread *t)
{
    // The state stays with the slot for the next thread.
    if (serial.last == t) {
        serial.branch = *t->sim->branch;
        serial.hist = t->hist;
        serial.last = NULL;
    }
}

void prof_fork_child(void)
{
    ll.lock.w = 0;
}

static u64 ids_hash(u64 line)
{
    return (line * 0x9e3779b97f4a7c15ul) >> 32;
}

static void ids_grow(void)
{
    u32 size = ids.size * 2;
    u64 *line = heap_alloc(size * sizeof(u64));
    u32 *id = heap_alloc(size * sizeof(u32));

    for (u32 i = 0; i < ids.size; i++) {
        u32 k;

        if (!ids.line[i])
            continue;
        for (k = (u32)ids_hash(ids.line[i] - 1) & (size - 1); line[k]; k = (k + 1) & (size - 1))
            ;
        line[k] = ids.line[i];
        id[k] = ids.id[i];
    }
    heap_free(ids.line, ids.size * sizeof(u64));
    heap_free(ids.id, ids.size * sizeof(u32));
    ids.line = line;
    ids.id = id;
    ids.size = size;
}

u32 prof_line_id(u64 line)
{
    u32 k;

    for (k = (u32)ids_hash(line) & (ids.size - 1); ids.line[k]; k = (k + 1) & (ids.size - 1)) {
        if (ids.line[k] == line + 1)
            return ids.id[k];
    }
    if (ids.used * 2 >= ids.size) {
        ids_grow();
        return prof_line_id(line);
    }
    ids.line[k] = line + 1;
    ids.id[k] = ++ids.used;
    return ids.used;
}

static bool ll_miss(u64 addr, u32 size)
{
    bool miss;

    lock_take(&ll.lock);
    miss = sim_cache_ref(&ll.cache, addr, size);
    lock_drop(&ll.lock);
    return miss;
}

// One data reference through D1 and LL. The counters are those of the L1 miss and, behind it, of the LL miss.
static void dref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    struct sim_state *s = t->sim;
    bool miss;

    // The search of D1 hides part of the time that LL's set takes to arrive: it is rarely in the host's own L2.
    __builtin_prefetch(ll.cache.tags +
                       ((addr >> ll.cache.line_shift) & ll.cache.set_mask) * ll.cache.assoc);
    miss = sim_cache_ref(&s->d1, addr, size);
    if (s->d1_fast) {
        u64 first = addr >> s->d1.line_shift, last = (addr + size - 1) >> s->d1.line_shift;

        *(u64 *)(s->d1_fast + (first & s->d1.set_mask) * s->d1.line) = first << s->d1.line_shift;
        if (last != first)
            *(u64 *)(s->d1_fast + (last & s->d1.set_mask) * s->d1.line) = last << s->d1.line_shift;
    }
    if (miss) {
        t->counters[counter]++;
        if (ll_miss(addr, size))
            t->counters[counter + 1]++;
    }
}

void prof_dref(struct thread *t)
{
    dref(t, t->h_addr, t->h_desc_high, t->h_desc_low);
}

static void iref(struct thread *t, u64 pc, u32 len, u32 counter, u32 id_first, u32 id_last)
{
    struct sim_state *s = t->sim;
    bool miss = sim_cache_ref(&s->i1, pc, len);

    if (s->i1_fast && id_first) {
        u64 first = pc >> s->i1.line_shift, last = (pc + len - 1) >> s->i1.line_shift;

        s->i1_fast[first & s->i1.set_mask] = id_first;
        if (last != first)
            s->i1_fast[last & s->i1.set_mask] = id_last;
    }
    if (miss) {
        t->counters[counter]++;
        if (ll_miss(pc, len))
            t->counters[counter + 1]++;
    }
}

void prof_iref(struct thread *t)
{
    iref(t, t->h_addr, t->h_desc_high, t->h_desc_low, t->i1_id_first, t->i1_id_last);
}

static void cond(struct thread *t, u64 pc, bool taken, u32 counter)
{
    struct sim_branch *b = t->sim->branch;

    b->history = t->hist >> SIM_BRANCH_ADDR_BITS;
    if (sim_branch_cond(b, pc, taken))
        t->counters[counter]++;
    t->hist = b->history << SIM_BRANCH_ADDR_BITS;
}

void prof_bc(struct thread *t)
{
    cond(t, t->h_addr, t->h_desc_high, t->h_desc_low);
}

void prof_bi(struct thread *t)
{
    if (sim_branch_indirect(t->sim->branch, t->h_desc_high, t->h_addr))
        t->counters[t->h_desc_low]++;
}

// What a rep instruction did, from its registers before and after. h_addr is its address, the descriptor is made in
// sim_string(). After a fault the same runs with the registers at the fault: the elements that were done count.
void prof_rep(struct thread *t)
{
    u32 high = t->h_desc_high, first = t->h_desc_low;
    u32 op = high & 7, size = 1u << (high >> 3 & 3);
    bool a32 = high >> 5 & 1, repne = high >> 11 & 1; // repne: ends on equality
    bool cache = spool->flags & SPOOL_F_CACHE_SIM, branch = spool->flags & SPOOL_F_BRANCH_SIM;
    bool parity = spool->flags & SPOOL_F_REP_CACHEGRIND;
    struct spool_insn rec = { 0,
                              (u8)(SPOOL_I_DYN | SPOOL_I_REP | (high >> 6 & 1 ? SPOOL_I_FETCH : 0)),
                              0, 0 };
    struct spool_counters c = spool_insn_counters(rec, spool->flags);
    u64 mask = a32 ? 0xffffffffu : ~0ul;
    u64 before = t->rep_rcx & mask, after = t->h_save[1] & mask;
    u64 n = before - after, rsi = t->rep_rsi & mask, rdi = t->rep_rdi & mask;
    u64 rsi_end = t->h_save[3] & mask, rdi_end = t->h_save[4] & mask;
    s64 step = size;
    u64 seg = 0;
    u64 reads = op == STR_STOS   ? 0
                : op == STR_CMPS ? 2
                                 : 1,
        writes = op == STR_MOVS || op == STR_STOS;
    u64 base = first;
    bool compare = op >= STR_CMPS, ended = false;
    bool uses_rsi = op == STR_MOVS || op == STR_LODS || op == STR_CMPS;

    if (n && ((op == STR_LODS ? rsi_end - rsi : rdi_end - rdi) & mask) != ((n * size) & mask))
        step = -step;
    if (uses_rsi && (high >> 12 & 3)) {
        if (high >> 12 & 1) {
            if (tb_config.fsgsbase)
                __asm__ volatile("rdfsbase %0" : "=r"(seg));
            else
                seg = t->client_fs_base;
        } else {
            seg = t->client_gs_base;
        }
    }
    // The comparison may have ended it together with the count: then the flags say.
    if (op >= STR_CMPS && n)
        ended = after || (t->h_save[9] >> 14 & 1) == repne; // ZF, as lahf leaves it in ah
    if (!cache && !parity)
        return;
    if (cache) {
        t->counters[base + c.dyn_r] += reads * n;
        t->counters[base + c.dyn_w] += writes * n;
    }
    // Passes as reference-model.md has them: the first fetch was counted with the instruction; a pass begins with the
    // test of the count, does an element, and for scas and cmps tests the comparison.
    for (u64 i = 0; i < n || (parity && i == n); i++) {
        if (parity) {
            if (i == n && ended)
                break; // no further pass
            if (i)     // its fetch hits: nothing else has touched I1 since the first
                t->counters[base + c.rep_ir]++;
            if (branch) {
                t->counters[base + c.rep_bc]++;
                cond(t, t->h_addr, i < n, (u32)base + c.bcm);
            }
        }
        if (i == n)
            break;
        if (cache) {
            u64 s = ((rsi + (u64)((s64)i * step)) & mask) + seg,
                d = (rdi + (u64)((s64)i * step)) & mask;

            switch (op) {
            case STR_MOVS:
                dref(t, s, size, (u32)base + c.d1mr);
                dref(t, d, size, (u32)base + c.d1mw);
                break;
            case STR_STOS: dref(t, d, size, (u32)base + c.d1mw); break;
            case STR_LODS: dref(t, s, size, (u32)base + c.d1mr); break;
            case STR_SCAS: dref(t, d, size, (u32)base + c.d1mr); break;
            default: // cmps: the second operand first
                dref(t, d, size, (u32)base + c.d1mr);
                dref(t, s, size, (u32)base + c.d1mr);
                break;
            }
        }
        if (parity && branch && compare) {
            t->counters[base + c.rep_bc]++;
            cond(t, t->h_addr, !(i + 1 == n && ended), (u32)base + c.bcm);
        }
    }
}

// A gather, scatter or masked move: its elements, low to high. Index vector and mask were stored to TA_VEC.
void prof_vec(struct thread *t)
{
    u32 high = t->h_desc_high, first = t->h_desc_low;
    u32 kind = high & 7, esize = 1u << (high >> 3 & 7), isize = 1u << (high >> 6 & 7);
    u32 count = (high >> 9 & 63) + 1, scale = 1u << (high >> 15 & 7);
    bool write = high >> 18 & 1, parity = spool->flags & SPOOL_F_REP_CACHEGRIND;
    u32 dyn = high >> 20;
    const u8 *index = (const u8 *)t->self + TA_VEC, *mask = index + 64;
    u32 miss = first + dyn + 2 + (write ? 2 : 0); // dyn_r dyn_w d1mr dlmr d1mw dlmw

    for (u32 i = 0; i < count; i++) {
        u64 addr = t->h_addr;
        bool on;

        if (kind == VEC_KGATHER)
            on = *(const u64 *)mask >> i & 1;
        else
            on = mask[i * esize + esize - 1] >> 7;
        if (kind == VEC_MASKMOV) {
            addr += i * esize;
        } else if (isize == 4) {
            addr += (u64)((s64) * (const s32 *)(index + i * 4) * (s64)scale);
        } else {
            addr += *(const u64 *)(index + i * 8) * scale;
        }
        if (!on && parity && kind == VEC_GATHER) {
            addr = t->tmp1; // Cachegrind reads a masked-off element at rsp
            on = true;
        }
        if (!on)
            continue;
        t->counters[first + dyn + (write ? 1 : 0)]++;
        dref(t, addr, esize, miss);
    }
}
