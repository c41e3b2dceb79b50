// SPDX-License-Identifier: MIT
// What records mean (area.h): in each half two stacks that grow towards each other, all emptied
// together.
#include "engine/replay/area.h"

#include "engine/base/mini.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"

#define HALF (REPLAY_SIZE / 2)

struct area_room area_first, area_second;

// Of the kernel (pages.h), for each of the stacks.
static struct {
    u64 low, high;
} asked[2] = { { 0, ~0ul }, { 0, ~0ul } };

static void ask_low(const struct area_room *room)
{
    pages_ahead(&asked[room == &area_second].low, REPLAY_BASE + room->low,
                REPLAY_BASE + room->high);
}

static void ask_high(const struct area_room *room)
{
    pages_ahead_down(&asked[room == &area_second].high, REPLAY_BASE + room->high,
                     REPLAY_BASE + room->low);
}

long area_init(void)
{
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long r = sys_mmap(REPLAY_BASE, REPLAY_SIZE, prot, flags, -1, 0);

    if (r != (long)REPLAY_BASE)
        return r < 0 ? r : -ENOMEM;
    // Where an id leads that the client has made up: no code but what is put there (int3).
    memset((void *)REPLAY_BASE, 0xcc, LOG_FIRST - sizeof(struct area_head));
    area_flush();
    return 0;
}

bool area_has_room(void)
{
    return area_first.high - area_first.low > AREA_CODE_MAX + 2 * sizeof(struct log_draft) &&
           area_second.high - area_second.low > 2 * AREA_CODE_MAX;
}

bool area_has(u32 id)
{
    return id >= LOG_FIRST && id <= area_first.low && !(id & 15) && area_head(id)->block < HALF &&
           area_head(id)->block >= area_first.high;
}

void area_refuse(u32 id)
{
    engine_die(ENGINE_DAMAGED "what was recorded has %u where the number of a fragment belongs",
               id);
}

u32 area_next_id(void)
{
    return (u32)((area_first.low + sizeof(struct area_head) + 15) & ~15ul);
}

void area_flush(void)
{
    area_first = (struct area_room){ LOG_FIRST, HALF };
    area_second = (struct area_room){ HALF, REPLAY_SIZE };
}

void *area_take(struct area_room *room, u64 bytes)
{
    room->high -= (bytes + 7) & ~7ul;
    ask_high(room);
    return (void *)(REPLAY_BASE + room->high);
}

struct log_block *area_publish(const struct log_draft *d)
{
    u64 ops = d->block.nops * sizeof(d->op[0]), sides = d->block.nsides * sizeof(d->side[0]);
    struct log_block *b = area_take(&area_first, sizeof(*b) + ops + sides);
    u32 id = area_next_id();

    memcpy(b, &d->block, sizeof(*b));
    memcpy((void *)log_ops(b), d->op, ops);
    memcpy((void *)log_sides(b), d->side, sides);
    *area_head(id) = (struct area_head){ (u32)((u64)b - REPLAY_BASE), 0 };
    area_first.low = id;
    return b;
}

void area_code_ends(const u8 *end)
{
    area_first.low = (u64)end - REPLAY_BASE;
    ask_low(&area_first);
}

void area_late_ends(const u8 *end)
{
    __atomic_store_n(&area_second.low, (u64)end - REPLAY_BASE, __ATOMIC_RELEASE);
    ask_low(&area_second);
}

void area_pieces(const struct area_room *first, const struct area_room *second,
                 struct area_piece piece[AREA_PIECES])
{
    piece[0] = (struct area_piece){ LOG_FIRST, first->low - LOG_FIRST };
    piece[1] = (struct area_piece){ first->high, HALF - first->high };
    piece[2] = (struct area_piece){ HALF, second->low - HALF };
    piece[3] = (struct area_piece){ second->high, REPLAY_SIZE - second->high };
}

bool area_rooms_are_sound(const struct area_room *first, const struct area_room *second)
{
    return first->low >= LOG_FIRST && first->low <= first->high && first->high <= HALF &&
           second->low >= HALF && second->low <= second->high && second->high <= REPLAY_SIZE;
}

void area_take_over(const struct area_room *first, const struct area_room *second)
{
    area_first = *first;
    area_second = *second;
}
