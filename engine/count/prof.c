// SPDX-License-Identifier: MIT
// The slow paths of the simulation: reached by about one data reference in ten. See prof.h for what may be done here, and
// translate_sim.c for the code that comes here.
#include "engine/count/prof.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/world.h"
#include "engine/x86/decode.h"

// LL is one for all threads of a process (ruling 6). The lock guards it once there is a second thread.
static struct {
    struct lock lock;
    bool shared;              // there has been a second thread
    struct sim_narrow narrow; // while tags != NULL
    struct sim_cache cache;   // else
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

// On huge pages when it is large, so that looking at a set does not cost a walk of the host's page tables.
static void *ll_storage(u64 bytes)
{
    const u64 huge = 2ul << 20;
    u64 at;

    if (bytes < huge)
        return heap_pages(bytes);
    at = ((u64)heap_pages(bytes + huge) + huge - 1) & ~(huge - 1);
    sys_madvise(at, bytes, MADV_HUGEPAGE);
    return (void *)at;
}

void prof_init(void)
{
    struct sim_geometry g = geometry(&spool->ll);

    world_on_turn = prof_turn;
    ids.size = 4096;
    ids.line = heap_alloc(ids.size * sizeof(u64));
    ids.id = heap_alloc(ids.size * sizeof(u32));
    if (!(spool->flags & SPOOL_F_CACHE_SIM))
        return;
    if (!(spool->flags & SPOOL_F_NO_NARROW) && sim_narrow_fits(&g, 47))
        sim_narrow_init_zeroed(&ll.narrow, &g, ll_storage(sim_cache_bytes(&g) / 2));
    else
        sim_cache_init_zeroed(&ll.cache, &g, ll_storage(sim_cache_bytes(&g)));
}

// --serialize-threads: the state of caches and predictor goes with the turn, from area to area.
static struct {
    struct sim_state *first; // whose caches outside of the areas are everybody's
    struct thread *last;     // whose area holds the state; NULL: the copies do
    struct sim_branch branch;
    u64 hist;
    void *i1, *d1;
} serial;

static u64 i1_bytes(void)
{
    return tb_config.i1_fast ? (u64)tb_config.i1_sets * spool->i1.assoc * sizeof(u32) : 0;
}

static u64 d1_bytes(void)
{
    return tb_config.d1_fast ? ((u64)tb_config.d1_sets * spool->d1.line) << tb_config.d1_scale : 0;
}

void prof_turn(struct thread *t)
{
    struct thread *l = serial.last;
    u8 *area = (u8 *)t->self;

    if (l == t)
        return;
    memcpy(area + TA_I1, l ? (u8 *)l->self + TA_I1 : serial.i1, i1_bytes());
    memcpy(area + TA_D1, l ? (u8 *)l->self + TA_D1 : serial.d1, d1_bytes());
    *t->sim->branch = l ? *l->sim->branch : serial.branch;
    t->hist = l ? l->hist : serial.hist;
    serial.last = t;
}

static void caches_make(struct thread *t)
{
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);
    struct sim_state *s = t->sim;
    u8 *area = (u8 *)t->self;
    bool mine = !((spool->flags & SPOOL_F_SERIALIZE) && serial.first);

    if (tb_config.i1_fast)
        s->i1_ids = (u32 *)(area + TA_I1);
    if (mine)
        sim_cache_init_zeroed(&s->i1, &i1,
                              tb_config.i1_fast ? NULL : heap_pages(sim_cache_bytes(&i1)));
    else
        s->i1 = serial.first->i1;
    if (tb_config.d1_fast) {
        sim_cache_init_zeroed(&s->d1, &d1, area + TA_D1);
        s->d1.stride = (d1.line << tb_config.d1_scale) / (u32)sizeof(u64);
    } else if (mine) {
        sim_cache_init_zeroed(&s->d1, &d1, heap_pages(sim_cache_bytes(&d1)));
    } else {
        s->d1 = serial.first->d1;
    }
}

static void zero_pages(void *p, u64 n)
{
    if (n <= 64 * 1024)
        memset(p, 0, n);
    else
        sys_madvise((u64)p, PAGE_UP(n), MADV_DONTNEED);
}

// A slot that another thread has used.
static void caches_forget(struct thread *t)
{
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);
    struct sim_state *s = t->sim;

    zero_pages((u8 *)t->self + TA_I1, i1_bytes());
    zero_pages((u8 *)t->self + TA_D1, d1_bytes());
    if (spool->flags & SPOOL_F_SERIALIZE)
        return;
    if (!tb_config.i1_fast)
        memset(s->i1.tags, 0, sim_cache_bytes(&i1));
    if (!tb_config.d1_fast)
        memset(s->d1.tags, 0, sim_cache_bytes(&d1));
}

int prof_thread_init(struct thread *t)
{
    struct sim_state *s = t->sim;
    u8 *area = (u8 *)t->self;

    if (!s) {
        s = heap_alloc(sizeof(*s));
        t->sim = s;
        s->branch = (struct sim_branch *)(area + TA_BRANCH);
        if (spool->flags & SPOOL_F_CACHE_SIM)
            caches_make(t);
    } else {
        memset(s->branch, 0, sizeof(*s->branch));
        if (spool->flags & SPOOL_F_CACHE_SIM)
            caches_forget(t);
    }
    t->hist = 0;
    if (!serial.first) {
        serial.first = s;
        serial.i1 = heap_alloc(i1_bytes());
        serial.d1 = heap_alloc(d1_bytes());
    } else {
        __atomic_store_n(&ll.shared, true, __ATOMIC_RELEASE); // its creator is not in LL now
    }
    return 0;
}

void prof_thread_fini(struct thread *t)
{
    // The state stays with the slot for the next thread.
    if (serial.last == t) {
        memcpy(serial.i1, (u8 *)t->self + TA_I1, i1_bytes());
        memcpy(serial.d1, (u8 *)t->self + TA_D1, d1_bytes());
        serial.branch = *t->sim->branch;
        serial.hist = t->hist;
        serial.last = NULL;
    }
}

void prof_fork_child(void)
{
    ll.lock.w = 0;
    ll.shared = false;
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

static bool ll_ref(u64 addr, u32 size)
{
    if (LIKELY(ll.narrow.tags)) {
        struct sim_geometry g = geometry(&spool->ll);

        if (LIKELY(sim_narrow_can(&ll.narrow, addr, size)))
            return sim_narrow_ref(&ll.narrow, addr, size);
        // five levels of page tables, or an address that is going to fault
        sim_cache_init_zeroed(&ll.cache, &g, ll_storage(sim_cache_bytes(&g)));
        sim_narrow_widen(&ll.narrow, &ll.cache);
        ll.narrow.tags = NULL;
    }
    return sim_cache_ref(&ll.cache, addr, size);
}

static bool ll_miss(u64 addr, u32 size)
{
    bool miss;

    if (!ll.shared)
        return ll_ref(addr, size);
    lock_take(&ll.lock);
    miss = ll_ref(addr, size);
    lock_drop(&ll.lock);
    return miss;
}

// A miss of an L1. The counters are those of the L1 miss and, behind it, of the LL miss.
static void l1_missed(struct thread *t, u64 addr, u32 size, u32 counter)
{
    t->counters[counter]++;
    if (ll_miss(addr, size))
        t->counters[counter + 1]++;
}

static void dref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    if (sim_cache_ref(&t->sim->d1, addr, size))
        l1_missed(t, addr, size, counter);
}

static u32 desc32(const u8 *ret, u32 at)
{
    return *(const volatile u32 *)(ret + PROF_DESC_AT +
                                   at); // volatile: two must not become one of 8 bytes
}

static u64 desc64(const u8 *ret, u32 at)
{
    return desc32(ret, at) | (u64)desc32(ret, at + 4) << 32;
}

void prof_d1_any(struct thread *t, const u8 *ret)
{
    dref(t, t->h_addr, desc32(ret, 4), desc32(ret, 0));
}

// Any address in the line stands for the whole reference: translated code looks at D1 only if no line of LL is shorter.
void prof_d1_miss(struct thread *t, const u8 *ret)
{
    l1_missed(t, t->h_addr, 1, desc32(ret, 0));
}

void prof_d1_slow(struct thread *t, const u8 *ret)
{
    u64 last = t->h_addr;
    u32 set = t->h_desc_low;

    if (((u32)last & tb_config.d1_mask) == set)
        dref(t, last, 1, desc32(ret, 0));
    else // the last byte of one line and the first of the next
        dref(t, last - spool->d1.line, 2, desc32(ret, 0));
}

void prof_i1_miss(struct thread *t, const u8 *ret)
{
    l1_missed(t, desc64(ret, 0), desc32(ret, 12), desc32(ret, 8));
}

static bool i1_touch(struct thread *t, u64 a, u32 id)
{
    u32 *ways =
        t->sim->i1_ids + (a >> tb_config.i1_shift & (tb_config.i1_sets - 1)) * spool->i1.assoc;

    return ways[0] != id && sim_narrow_search(ways, spool->i1.assoc, id);
}

void prof_i1_any(struct thread *t, const u8 *ret)
{
    u64 pc = desc64(ret, 0);
    u32 len = desc32(ret, 12), first = desc32(ret, 16), last = desc32(ret, 20);
    bool miss;

    if (first) {
        miss = i1_touch(t, pc, first);
        if (last != first)
            miss |= i1_touch(t, pc + len - 1, last);
    } else {
        miss = sim_cache_ref(&t->sim->i1, pc, len);
    }
    if (miss)
        l1_missed(t, pc, len, desc32(ret, 8));
}

static void cond(struct thread *t, u64 pc, bool taken, u32 counter)
{
    struct sim_branch *b = t->sim->branch;

    b->history = t->hist >> SIM_BRANCH_ADDR_BITS;
    if (sim_branch_cond(b, pc, taken))
        t->counters[counter]++;
    t->hist = b->history << SIM_BRANCH_ADDR_BITS;
}

void prof_bc(struct thread *t, const u8 *ret)
{
    cond(t, desc64(ret, 0), desc32(ret, 12), desc32(ret, 8));
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
            if (cpu.fsgsbase)
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
            addr = t->client_sp; // Cachegrind reads a masked-off element at rsp
            on = true;
        }
        if (!on)
            continue;
        t->counters[first + dyn + (write ? 1 : 0)]++;
        dref(t, addr, esize, miss);
    }
}
