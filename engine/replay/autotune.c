// SPDX-License-Identifier: MIT
// Who replays a thread's buffers, decided by timing (autotune.h).
#include "engine/replay/autotune.h"

#define FIRST 24  // buffers before the first try; superblocks are made meanwhile
#define MOST  384 // at most between two tries
#define DROP  2
#define SPAN  2 // buffers that are timed together
#define EARLY 2 // timings after which the least one may end a trial
// Buffers before one is timed. To here: the queue is replayed first. To the process: the queue has
// to fill.
#define TO_HERE   2
#define TO_BESIDE 8

enum autotune_state { STEADY, LOOK, SETTLE, TRY };

void autotune_init(struct autotune *p, bool shares)
{
    *p = (struct autotune){ .every = FIRST, .shares = shares };
}

// True after the last timing.
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
    return p->n == AUTOTUNE_TIMINGS * SPAN;
}

static u64 sum(const struct autotune *p)
{
    u64 all = 0;

    for (u32 i = 0; i < AUTOTUNE_TIMINGS - DROP; i++)
        all += p->took[i];
    return all;
}

// Whether the way that was tried, which took this long, is better. A second processor has to save
// an eighth; to go back takes a little more, so that the choice does not oscillate. Where both
// simulate, the thread itself has to save that.
static bool is_better(const struct autotune *p, u64 now)
{
    if (p->shares)
        return p->here ? now + now / 8 < p->settled : now < p->settled;
    return p->here ? now < p->settled + p->settled / 8 : now + now * 3 / 16 < p->settled;
}

// Whether the thread itself is too slow by the first timings already: a trial costs time.
static bool is_hopeless(const struct autotune *p)
{
    return p->here && p->n == EARLY * SPAN && !is_better(p, p->took[0] * (AUTOTUNE_TIMINGS - DROP));
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
        if (!timed(p, now) && !is_hopeless(p))
            break;
        if (p->n == AUTOTUNE_TIMINGS * SPAN && is_better(p, sum(p))) {
            p->every = FIRST;
        } else {
            p->here = !p->here;
            p->every = p->every * 2 < MOST ? p->every * 2 : MOST;
        }
        begin(p, STEADY, now);
    }
    return p->here;
}
