// SPDX-License-Identifier: MIT
// Steps from miss to miss (walks.h).
//
// The last address of the thread that missed first is in the entry itself; those of other threads
// are in a cache. What is replaced there loses one step.
#include "engine/objects/walks.h"

#include "engine/base/heap.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"

#define OTHERS 0x40000u
#define WAYS   8u

struct other {
    u64 key; // number of the thread, then of the entry plus one
    u64 last;
};

static struct {
    struct other *other;
    u32 turn; // of the ways
} walks;

void walks_init(void)
{
    insnids_init();
    walks.other = heap_pages(OTHERS * sizeof(*walks.other));
}

// Where the last address of such a key is; *is_new: there was none.
static u64 *other_of(u64 key, bool *is_new)
{
    u32 first = (u32)(key * 0x9e3779b97f4a7c15ul >> 40) % (OTHERS / WAYS) * WAYS;
    struct other *set = &walks.other[first], *use = NULL;

    *is_new = false;
    for (u32 i = 0; i < WAYS; i++) {
        if (set[i].key == key)
            return &set[i].last;
        if (!set[i].key && !use)
            use = &set[i];
    }
    if (!use)
        use = &set[walks.turn++ % WAYS];
    use->key = key;
    *is_new = true;
    return &use->last;
}

// The last address of t in c, which becomes addr. False: there was none.
static bool replace_last(const struct thread *t, struct spool_data_count *c, u64 addr, u64 *last)
{
    u64 number = ((u64)c - (DATA_BASE + SPOOL_DATA_COUNTS_OFF)) / sizeof(*c), *at = &c->last;
    bool is_new = !c->thread;

    if (is_new)
        c->thread = t->objects_number;
    else if (c->thread != t->objects_number)
        at = other_of((u64)t->objects_number << 32 | (number + 1), &is_new);
    *last = *at;
    *at = addr;
    return !is_new;
}

// The steps that are more than a quarter of all are there in the end (Misra and Gries).
static void count_stride(struct spool_data_count *c, s32 step)
{
    struct spool_data_stride *light = NULL;

    for (u32 i = 0; i < SPOOL_DATA_STRIDES; i++) {
        struct spool_data_stride *s = &c->stride[i];

        if (s->step == step) {
            s->count++;
            s->weight += s->weight != ~0u;
            return;
        }
        if (!s->weight && !light)
            light = s;
    }
    if (light) {
        *light = (struct spool_data_stride){ step, 1, 1 };
        return;
    }
    for (u32 i = 0; i < SPOOL_DATA_STRIDES; i++)
        c->stride[i].weight--;
}

void walks_step(const struct thread *t, struct spool_data_count *c, u64 addr)
{
    u64 last, lines;
    s64 step;

    if (!c || !replace_last(t, c, addr, &last))
        return;
    step = (s64)(addr - last);
    lines = (addr >> tb_config.d1_shift) - (last >> tb_config.d1_shift);
    c->steps++;
    c->ahead += lines == 1;
    c->back += lines == ~0ul;
    c->near += step < (s64)SPOOL_DATA_NEAR && step > -(s64)SPOOL_DATA_NEAR;
    if (step && step == (s32)step)
        count_stride(c, (s32)step);
}

void walks_zero(struct spool_data_count *c)
{
    c->steps = c->ahead = c->back = c->near = 0;
    for (u32 i = 0; i < SPOOL_DATA_STRIDES; i++)
        c->stride[i] = (struct spool_data_stride){ 0 };
}
