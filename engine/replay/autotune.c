// SPDX-License-Identifier: MIT
// Who replays a thread's buffers, by the time it takes (pace.h).
#include "engine/replay/autotune.h"

#define FIRST 24   // buffers before the first try: until then superblocks are made
#define MOST  1536 // and between two, in the end
#define DROP  2
#define SPAN  2 // buffers that are timed together
// Buffers before one is timed: those that wait are replayed first; the queue is to be full.
#define TO_HERE   2
#define TO_BESIDE 8

enum autotune_state { STEADY, LOOK, SETTLE, TRY };

void autotune_init(struct autotune *p)
{
    *p = (struct autotune){ .every = FIRST };
}

// True when the last have been timed.
static bool timed(struct autotune *p, u64 now)
{
    u64 took = now - p->since;
    u32 i;

    if (++p->n % SPAN)
        return false;
    p->since = now;
    for (i = p->n / SPAN - 1; i && p->took[i - 1] > took; i--)
        p->took[i] = p->took[i - 1];
    p->took[i] = took;
    return p->n == AUTOTUNE_LOOKS * SPAN;
}

static u64 sum(const struct autotune *p)
{
    u64 all = 0;

    for (u32 i = 0; i < AUTOTUNE_LOOKS - DROP; i++)
        all += p->took[i];
    return all;
}

// Of the way that has been tried. A second processor is not worth less than an eighth; a little
// more brings it back, so that it does not go to and fro.
static bool is_better(const struct autotune *p)
{
    u64 now = sum(p);

    return p->here ? now < p->settled + p->settled / 8 : now + now * 3 / 16 < p->settled;
}

static void begin(struct autotune *p, enum autotune_state state, u64 now)
{
    p->since = now;
    p->state = state;
    p->n = 0;
}

bool autotune_is_here(struct autotune *p, u64 now)
{
    switch ((enum autotune_state)p->state) {
    case STEADY:
        if (++p->n >= p->every)
            begin(p, LOOK, now);
        break;
    case LOOK:
        if (!timed(p, now))
            break;
        p->settled = sum(p);
        p->here = !p->here;
        begin(p, SETTLE, now);
        break;
    case SETTLE:
        if (++p->n >= (p->here ? TO_HERE : TO_BESIDE))
            begin(p, TRY, now);
        break;
    case TRY:
        if (!timed(p, now))
            break;
        if (is_better(p)) {
            p->every = FIRST;
        } else {
            p->here = !p->here;
            p->every = p->every * 2 < MOST ? p->every * 2 : MOST;
        }
        begin(p, STEADY, now);
    }
    return p->here;
}
