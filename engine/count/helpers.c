// SPDX-License-Identifier: MIT
// The slow paths of the simulation: about one data reference in ten gets here. helpers.h says what
// they may do; translate/refs.c emits the calls.
#include "engine/count/helpers.h"

#include "engine/callgraph/calls.h"
#include "engine/codecache/helperdesc.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/reftrace.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/insn.h"
#include "sim/cache.h"

void helpers_d1_any(struct thread *t, const u8 *ret)
{
    struct helperdesc_d1 d;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    caches_dref(t, t->h_addr, d.size, d.counter);
}

// Any address in the line serves for the whole reference: translated code searches D1 inline only
// if no line of LL is shorter.
void helpers_d1_miss(struct thread *t, const u8 *ret)
{
    struct helperdesc_d1 d;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_d1, size));
    caches_l1_missed(t, t->h_addr, 1, d.counter);
}

void helpers_d1_slow(struct thread *t, const u8 *ret)
{
    struct helperdesc_d1 d;
    u64 last = t->h_addr;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_d1, size));
    if (((u32)last & tb_config.d1_mask) == t->h_desc_low)
        caches_dref(t, last, 1, d.counter);
    else // the last byte of one line and the first of the next
        caches_dref(t, last - spool->d1.line, 2, d.counter);
}

void helpers_i1_miss(struct thread *t, const u8 *ret)
{
    struct helperdesc_i1 d;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_i1, first));
    caches_i1_missed(t, helperdesc_u64(d.pc), d.len, d.counter, 0);
}

void helpers_i1_any(struct thread *t, const u8 *ret)
{
    struct helperdesc_i1 d;
    u64 pc;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    pc = helperdesc_u64(d.pc);
    if (caches_iref(t, pc, d.len, d.first, d.last))
        caches_i1_missed(t, pc, d.len, d.counter, d.last);
}

void helpers_bc(struct thread *t, const u8 *ret)
{
    struct helperdesc_bc d;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    caches_branch(t, helperdesc_u64(d.pc), d.taken, d.counter);
}

void helpers_bi(struct thread *t)
{
    if (caches_indirect(t, caches_branch_of(t->h_desc_low, t->h_desc_high), t->h_addr))
        calls_count(t, caches_counter_of(t->h_desc_low), 1);
}

// Whether element i is accessed; the mask follows the index vector.
static bool vec_on(const struct helperdesc_vec *d, const u8 *mask, u32 i)
{
    u32 esize = 1u << d->esize_log;

    if (d->kind == VEC_KGATHER)
        return *(const u64 *)mask >> i & 1;
    return mask[i * esize + esize - 1] >> 7;
}

// The offset of element i from h_addr.
static u64 vec_offset(const struct helperdesc_vec *d, const u8 *index, u32 i)
{
    if (d->kind == VEC_MASKMOV)
        return (u64)i << d->esize_log;
    if (d->isize_log == 2)
        return (u64)(s64)((const s32 *)index)[i] << d->scale_log;
    return ((const u64 *)index)[i] << d->scale_log;
}

// The elements of a gather, scatter or masked move, low to high. Index vector and mask were stored
// at TA_VEC.
static u32 vec_addresses(const struct thread *t, const struct helperdesc_vec *d, u64 *addr)
{
    const u8 *index = (const u8 *)t->self + TA_VEC, *mask = index + 64;
    bool as_cachegrind = tb_config.rep_cachegrind && d->kind == VEC_GATHER;
    u32 all = 0;

    for (u32 i = 0; i <= d->last; i++) {
        bool on = vec_on(d, mask, i);

        // Cachegrind reads a masked-off element of a gather at rsp
        addr[i] = on ? t->h_addr + vec_offset(d, index, i) : t->client_sp;
        all |= (u32)(on || as_cachegrind) << i;
    }
    return all;
}

// The rows of a tile, from the first, or from the one at which the instruction continues after a
// fault.
static u32 tile_addresses(const struct thread *t, const struct helperdesc_vec *d, u64 *addr,
                          u32 *size)
{
    u8 *config = (u8 *)t->self + TA_VEC; // palette, first row; at 16 bytes of a row, at 48 rows
    u64 stride = *(const u64 *)(config + 64) << d->scale_log;
    u32 number = d->esize_log, rows;

    __asm__ volatile("sttilecfg %0" : "=m"(*(u8(*)[64])config));
    rows = config[48 + number];
    for (u32 i = 0; i <= d->last; i++) {
        addr[i] = t->h_addr + i * stride;
        if (d->a32)
            addr[i] = (u32)addr[i];
    }
    *size = ((const u16 *)config)[8 + number];
    return rows > config[1] && rows <= d->last + 1u ? (1u << rows) - (1u << config[1]) : 0;
}

// Addresses, size in bytes, and the mask of the elements that are referenced.
static u32 vec_elements(const struct thread *t, const struct helperdesc_vec *d, u64 *addr,
                        u32 *size)
{
    if (d->kind == VEC_TILE)
        return tile_addresses(t, d, addr, size);
    *size = 1u << d->esize_log;
    return vec_addresses(t, d, addr);
}

static u32 elements_of(u32 mask)
{
    u32 n = 0;

    for (; mask; mask &= mask - 1)
        n++;
    return n;
}

static void vec_in_calls(struct thread *t, const struct helperdesc_vec *d, u32 mask)
{
    calls_elements(t, d->write ? SPOOL_E_DW : SPOOL_E_DR, elements_of(mask));
}

static void vec_refs(struct thread *t, const struct helperdesc_vec *d, u32 mask, u32 size,
                     const u64 *addr, u32 first)
{
    u32 counter = first + d->dyn; // dyn_r, dyn_w, the levels of d1mr, those of d1mw

    ahead_count(t, counter + d->write, elements_of(mask & (u32)((2ul << d->last) - 1)));
    for (u32 i = 0; i <= d->last; i++) {
        if (!(mask >> i & 1))
            continue;
        reftrace_ref(d->write ? REFTRACE_WRITE : REFTRACE_READ, addr[i], size, false);
        caches_dref(t, addr[i],
                    sim_clip(size, tb_config.min_line) | caches_way(!d->write, d->write),
                    counter + 2 + (d->write ? tb_config.read_counters : 0u));
    }
}

void helpers_vec(struct thread *t)
{
    union helperdesc_word w = { .word = t->h_desc_high };
    u64 addr[HELPERS_VEC_MAX];
    u32 size, mask = vec_elements(t, &w.vec, addr, &size);

    vec_in_calls(t, &w.vec, mask);
    vec_refs(t, &w.vec, mask, size, addr, t->h_desc_low);
}

void helpers_record_vec(struct thread *t)
{
    u64 *slot = (u64 *)t->h_save[8] + t->h_desc_low; // r11: the record
    union helperdesc_word w = { .word = t->h_desc_high };
    u32 size, mask = vec_elements(t, &w.vec, slot + 1, &size);

    slot[0] = mask | (u64)size << 32;
    vec_in_calls(t, &w.vec, mask);
}

void helpers_replay_vec(struct thread *t, const u64 *slot, u32 what, u32 first)
{
    union helperdesc_word w = { .word = what };

    vec_refs(t, &w.vec, (u32)slot[0], (u32)(slot[0] >> 32), slot + 1, first);
}
