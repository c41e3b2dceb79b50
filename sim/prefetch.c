// SPDX-License-Identifier: MIT
//
// Lines that are loaded ahead (prefetch.h).
#include "sim/prefetch.h"

#define STEPS 2u // from here on it is a stream

// The page's stream, or the one that has been unused for longest, which becomes the page's.
static struct sim_stream *stream_of(struct sim_prefetch *p, uint64_t page, int8_t at)
{
    uint64_t old;
    uint32_t slot;

    if (!p->pages.slots)
        sim_recent_init_zeroed(&p->pages, SIM_STREAMS, p->storage);
    slot = sim_recent_find(&p->pages, page + 1);
    if (slot < SIM_STREAMS) {
        sim_recent_touch(&p->pages, slot);
    } else {
        slot = sim_recent_put(&p->pages, page + 1, &old);
        p->stream[slot] = (struct sim_stream){ .last = at };
    }
    return &p->stream[slot];
}

static void step(struct sim_stream *s, int8_t at)
{
    int8_t direction = at > s->last ? 1 : -1;

    if (direction != s->direction) {
        s->direction = direction;
        s->steps = 0;
        s->ahead = at;
    }
    if (s->steps < STEPS)
        s->steps++;
    s->last = at;
}

static uint32_t stream(struct sim_prefetch *p, uint64_t line, uint64_t *lines)
{
    uint64_t page = line / SIM_STREAM_LINES;
    int8_t at = (int8_t)(line % SIM_STREAM_LINES);
    struct sim_stream *s = stream_of(p, page, at);
    uint32_t n = 0;
    int next;

    if (at == s->last)
        return 0;
    step(s, at);
    if (s->steps < STEPS)
        return 0;
    if ((s->ahead - at) * s->direction < 0) // it has been overtaken
        s->ahead = at;
    for (; n < p->batch; n++) {
        next = s->ahead + s->direction;
        if (next < 0 || next >= (int)SIM_STREAM_LINES ||
            (next - at) * s->direction > (int)p->distance)
            break;
        s->ahead = (int8_t)next;
        lines[n] = page * SIM_STREAM_LINES + (uint64_t)next;
    }
    return n;
}

uint32_t sim_prefetch(struct sim_prefetch *p, uint64_t line, bool missed,
                      uint64_t lines[SIM_BATCH_MAX + 1])
{
    uint32_t n = 0;

    if (missed && p->pairs)
        lines[n++] = line ^ 1;
    if (p->distance)
        n += stream(p, line, lines + n);
    return n;
}
