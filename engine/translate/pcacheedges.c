// SPDX-License-Identifier: MIT
// Edges in the persistent cache (pcacheedges.h). @holds(translation lock), except at the start and
// at the end.
#include "engine/translate/pcacheedges.h"

#include "engine/callgraph/edges.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

static struct {
    const u16 *member;
    u32 n;
} loaded;

// Whether translated code refers to edges of this kind.
static bool is_of_code(u32 kind)
{
    switch (kind) {
    case SPOOL_EDGE_CALL:
    case SPOOL_EDGE_INDIRECT:
    case SPOOL_EDGE_JUMP:
    case SPOOL_EDGE_PLT:
    case SPOOL_EDGE_GOTO:
    case SPOOL_EDGE_BRANCH: return true;
    default: return false;
    }
}

// How many counters edges_get() gives it.
static u64 counters_of(const struct spool_edge *e)
{
    if (e->awake == SPOOL_EDGE_PLT || e->awake == SPOOL_EDGE_GOTO)
        return 0;
    if (spool_edge_is_jump(e->awake))
        return 1;
    return 1 + (e->plt ? 2 : 1) * tb_config.calls_events;
}

// edges_at() relies on the order of their counters.
bool pcacheedges_are_sound(const struct spool_edge *e, const u16 *member, u32 n, u32 groups,
                           u64 counters)
{
    for (u32 i = 0; i < n; i++) {
        if (e[i].kind != SPOOL_EDGE_DORMANT || member[i] > groups ||
            (i && e[i].counter < e[i - 1].counter) || e[i].counter + counters_of(&e[i]) > counters)
            return false;
        if (member[i] && (!is_of_code(e[i].awake) || e[i].from || e[i].to))
            return false;
    }
    return true;
}

void pcacheedges_take(const u16 *member, u32 n)
{
    loaded.member = member;
    loaded.n = n;
    edges_expect(n);
    spooler_edges_take(n);
}

bool pcacheedges_wake(u16 group, u32 map)
{
    for (u32 i = loaded.n; i < spool->edges_used; i++) {
        const struct spool_edge *e = spooler_edge_at(i);

        if (e->site && e->site_map == map)
            return false;
    }
    for (u32 i = 0; i < loaded.n; i++) {
        if (loaded.member[i] == group)
            edges_wake(spooler_edge_at(i), map);
    }
    return true;
}

static u16 member_of(const struct spool_edge *e, const u32 *map, u32 groups)
{
    u32 k = 0;

    if (!is_of_code(e->kind) || (e->kind != SPOOL_EDGE_PLT && e->target_map != e->site_map))
        return 0;
    while (k < groups && map[k] != e->site_map + 1)
        k++;
    return k < groups && edges_is_latest(e) ? (u16)(k + 1) : 0;
}

// A dormant one is of a group that is asleep, or of none.
void pcacheedges_members(u16 *member, const u32 *map, u32 groups)
{
    for (u32 i = 0; i < spool->edges_used; i++) {
        const struct spool_edge *e = spooler_edge_at(i);

        member[i] = e->kind == SPOOL_EDGE_DORMANT ? loaded.member[i] : member_of(e, map, groups);
    }
}

void pcacheedges_pack(struct spool_edge *to)
{
    for (u32 i = 0; i < spool->edges_used; i++) {
        struct spool_edge *e = &to[i];

        *e = *spooler_edge_at(i);
        if (e->kind == SPOOL_EDGE_DORMANT)
            continue;
        e->awake = e->kind;
        e->kind = SPOOL_EDGE_DORMANT;
        e->site_map = e->target_map = 0;
        if (e->awake == SPOOL_EDGE_PLT) // learnt at the first call
            e->target = e->function = 0;
    }
}
