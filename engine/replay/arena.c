// SPDX-License-Identifier: MIT
// Descriptions of records (arena.h): in each half two stacks that grow towards each other, all
// emptied together.
#include "engine/replay/arena.h"

#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"

#define HALF (REPLAY_SIZE / 2)

struct arena_space arena_first, arena_second;

// Pages taken from the kernel (pages.h), for each of the stacks.
static struct {
    u64 low, high;
} asked[2] = { { 0, ~0ul }, { 0, ~0ul } };

static void ask_low(const struct arena_space *room)
{
    pages_populate(&asked[room == &arena_second].low, REPLAY_BASE + room->low,
                   REPLAY_BASE + room->high);
}

static void ask_high(const struct arena_space *room)
{
    pages_ahead_down(&asked[room == &arena_second].high, REPLAY_BASE + room->high,
                     REPLAY_BASE + room->low);
}

long arena_init(void)
{
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long r = sys_mmap(REPLAY_BASE, REPLAY_SIZE, prot, flags, -1, 0);

    if (r != (long)REPLAY_BASE)
        return r < 0 ? r : -ENOMEM;
    // An id that the client has forged leads to int3.
    memset((void *)REPLAY_BASE, 0xcc, RECORD_FIRST - sizeof(struct arena_head));
    arena_flush();
    return 0;
}

bool arena_has_space(void)
{
    return arena_first.high - arena_first.low > ARENA_CODE_MAX + 2 * sizeof(struct record_draft) &&
           arena_second.high - arena_second.low > 2 * ARENA_CODE_MAX;
}

bool arena_has(u32 id)
{
    return id >= RECORD_FIRST && id <= arena_first.low && !(id & 15) &&
           arena_head(id)->block < HALF && arena_head(id)->block >= arena_first.high;
}

void arena_refuse(u32 id)
{
    engine_die(ENGINE_DAMAGED "what was recorded has %u where the number of a fragment belongs",
               id);
}

u32 arena_next_id(void)
{
    return (u32)((arena_first.low + sizeof(struct arena_head) + 15) & ~15ul);
}

void arena_flush(void)
{
    arena_first = (struct arena_space){ RECORD_FIRST, HALF };
    arena_second = (struct arena_space){ HALF, REPLAY_SIZE };
}

void *arena_take(struct arena_space *room, u64 bytes)
{
    room->high -= (bytes + 7) & ~7ul;
    ask_high(room);
    return (void *)(REPLAY_BASE + room->high);
}

struct record_block *arena_publish(const struct record_draft *d)
{
    u64 ops = d->block.nops * sizeof(d->op[0]), sides = d->block.nsides * sizeof(d->side[0]);
    u64 cores = d->block.ncores * sizeof(d->core[0]);
    struct record_block *b = arena_take(&arena_first, sizeof(*b) + ops + sides + cores);
    u32 id = arena_next_id();

    memcpy(b, &d->block, sizeof(*b));
    memcpy((void *)record_ops(b), d->op, ops);
    memcpy((void *)record_sides(b), d->side, sides);
    memcpy((void *)record_cores(b), d->core, cores);
    *arena_head(id) = (struct arena_head){ (u32)((u64)b - REPLAY_BASE), 0 };
    arena_first.low = id;
    return b;
}

void arena_code_ends(const u8 *end)
{
    arena_first.low = (u64)end - REPLAY_BASE;
    ask_low(&arena_first);
}

void arena_late_ends(const u8 *end)
{
    __atomic_store_n(&arena_second.low, (u64)end - REPLAY_BASE, __ATOMIC_RELEASE);
    ask_low(&arena_second);
}

void arena_pieces(const struct arena_space *first, const struct arena_space *second,
                  struct arena_piece piece[ARENA_PIECES])
{
    piece[0] = (struct arena_piece){ RECORD_FIRST, first->low - RECORD_FIRST };
    piece[1] = (struct arena_piece){ first->high, HALF - first->high };
    piece[2] = (struct arena_piece){ HALF, second->low - HALF };
    piece[3] = (struct arena_piece){ second->high, REPLAY_SIZE - second->high };
}

bool arena_is_sound(const struct arena_space *first, const struct arena_space *second)
{
    return first->low >= RECORD_FIRST && first->low <= first->high && first->high <= HALF &&
           second->low >= HALF && second->low <= second->high && second->high <= REPLAY_SIZE;
}

void arena_restore(const struct arena_space *first, const struct arena_space *second)
{
    arena_first = *first;
    arena_second = *second;
}
