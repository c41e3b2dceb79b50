// SPDX-License-Identifier: MIT
// What records mean (area.h): two stacks that grow towards each other, emptied together.
#include "engine/replay/area.h"

#include "engine/base/mini.h"
#include "engine/base/sys.h"

static u64 low, high; // what is free, as offsets

long area_init(void)
{
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long r = sys_mmap(REPLAY_BASE, REPLAY_SIZE, prot, flags, -1, 0);

    if (r != (long)REPLAY_BASE)
        return r < 0 ? r : -ENOMEM;
    area_flush();
    return 0;
}

bool area_has_room(void)
{
    return high - low > AREA_CODE_MAX + 2 * sizeof(struct log_draft);
}

bool area_has(u32 id)
{
    return id >= LOG_FIRST && id <= low && !(id & 15) &&
           (u64)area_head(id)->block - REPLAY_BASE < REPLAY_SIZE;
}

u32 area_next_id(void)
{
    return (u32)((low + sizeof(struct area_head) + 15) & ~15ul);
}

void area_flush(void)
{
    low = LOG_FIRST;
    high = REPLAY_SIZE;
}

void *area_take(u64 bytes)
{
    high -= (bytes + 7) & ~7ul;
    return (void *)(REPLAY_BASE + high);
}

struct log_block *area_publish(const struct log_draft *d)
{
    struct log_block *b = area_take(sizeof(d->block) + d->block.nops * sizeof(d->op[0]));
    u32 id = area_next_id();

    memcpy(b, &d->block, sizeof(d->block));
    b->op = memcpy(b + 1, d->op, d->block.nops * sizeof(d->op[0]));
    b->side = area_take(d->block.nsides * sizeof(d->side[0]));
    memcpy((void *)b->side, d->side, d->block.nsides * sizeof(d->side[0]));
    *area_head(id) = (struct area_head){ b, 0, 0 };
    low = id;
    return b;
}

void area_code_ends(const u8 *end)
{
    low = (u64)end - REPLAY_BASE;
}
