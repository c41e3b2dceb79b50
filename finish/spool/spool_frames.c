// SPDX-License-Identifier: MIT
//
// Calls that were open when the program ended: their costs are not in the counters yet. The spool
// has their frames, for each thread and for each saved stack.
#include "finish/spool/spool.h"

#include <string.h>
#include <unistd.h>

// The cost of a hidden function was charged when it made its call.
static bool is_charged(const struct spool_open_call *f, uint64_t flags, uint64_t totals)
{
    struct spool_frame_context context;

    if (!(flags & SPOOL_F_CONTEXTS))
        return false;
    memcpy(&context, f->before + totals, sizeof(context));
    return context.flags & SPOOL_FRAME_SKIPPED;
}

bool spool_frames_late(const struct spool_header *h, int fd, uint32_t slot, uint64_t *total,
                       struct spool_late *frames)
{
    uint64_t n = spool_event_index(SPOOL_EVENTS, h->flags), late;
    uint64_t often = spool_event_index(SPOOL_E_I1MR, h->flags), at;
    ssize_t want = (ssize_t)((n - often) * sizeof(*total));
    uint64_t unwritten;

    if (h->flags & SPOOL_F_CONTEXTS || h->calls + 3 + n > h->counters_used)
        return false;
    at = (h->calls + 1) * sizeof(*total);
    if (pread(fd, &late, sizeof(late), (off_t)(spool_counters_at(slot) + at + n * 8)) !=
            sizeof(late) ||
        !late || late > SPOOL_THREADS_MAX)
        return false;
    late--;
    if (pread(fd, &unwritten, sizeof(unwritten),
              (off_t)(spool_counters_at(late) + at + (n + 1) * 8)) != sizeof(unwritten))
        return false;
    frames->by = spool_stack_at(late) - spool_stack_at(slot);
    frames->unwritten = UINT64_MAX;
    if (unwritten)
        frames->unwritten = SPOOL_STACKS_OFF + spool_stack_at(slot) +
                            spool_stack_offset(slot, unwritten, SPOOL_FRAMES_BASE);
    return pread(fd, total + often, (size_t)want,
                 (off_t)(spool_counters_at(late) + at + often * 8)) == want;
}

bool spool_frames_read(const struct spool_header *h, int fd, uint64_t at,
                       const struct spool_late *late, struct spool_open_call *f)
{
    uint64_t bytes = spool_frame_bytes(h->flags), n = spool_event_index(SPOOL_EVENTS, h->flags);
    uint64_t often = spool_event_index(SPOOL_E_I1MR, h->flags);
    size_t want = bytes < sizeof(*f) ? bytes : sizeof(*f), rest = (n - often) * sizeof(*f->before);

    memset(f, 0, sizeof(*f));
    if (pread(fd, f, want, (off_t)at) != (ssize_t)want)
        return false;
    if (!late)
        return true;
    f->key &= ~SPOOL_FRAME_FILLED;
    if (at >= late->unwritten)
        return true;
    f->key |= SPOOL_FRAME_FILLED;
    at += late->by + offsetof(struct spool_open_call, before) + often * sizeof(*f->before);
    return pread(fd, f->before + often, rest, (off_t)at) == (ssize_t)rest;
}

// Ends the calls whose frames are at `first` to `at` in the file: adds their costs to the sums.
// Stops at an impossible frame. late: spool_frames_read()'s.
static void end_frames(const struct spool_file *s, int fd, uint64_t first, uint64_t at,
                       const struct spool_late *late, uint64_t *total, uint64_t *sum)
{
    uint64_t flags = s->h->flags, n = spool_event_index(SPOOL_EVENTS, flags);
    uint64_t often = spool_event_index(SPOOL_E_I1MR, flags), bytes = spool_frame_bytes(flags);
    uint64_t last = at;

    for (; at >= first && (at - first) % bytes == 0; at -= bytes) {
        struct spool_open_call f;
        uint64_t has;

        // A frame's events are complements, so none is 0: where all is 0, as in a hole, no frame
        // was written.
        if (!spool_frames_read(s->h, fd, at, late, &f) || !f.before[0] ||
            (uint64_t)f.counter + 1 + n > s->counters_used)
            return;
        if (at != last && is_charged(&f, flags, n))
            continue;
        has = f.key & SPOOL_FRAME_FILLED ? n : often;
        for (uint64_t i = 0; i < has; i++)
            sum[(uint64_t)f.counter + 1 + i] += total[i] + f.before[i] + 1;
        if (f.key & SPOOL_FRAME_SIGNAL)
            for (uint64_t i = 0; i < has; i++)
                total[i] = ~f.before[i];
    }
}

void spool_frames_add_open(const struct spool_file *s, int fd, uint32_t slot, uint64_t *sum)
{
    uint64_t n = spool_event_index(SPOOL_EVENTS, s->h->flags), total[SPOOL_EVENTS], at;
    uint64_t first = SPOOL_STACKS_OFF + spool_stack_at(slot), totals = 1;
    uint64_t counters[2 * (SPOOL_EVENTS + 1)];
    struct spool_late late;
    bool contexts = s->h->flags & SPOOL_F_CONTEXTS, later;
    size_t size = (contexts ? 2 : 1) * (n + 1) * sizeof(*counters);

    if (s->h->calls + size / sizeof(*counters) > s->counters_used ||
        pread(fd, counters, size,
              (off_t)(spool_counters_at(slot) + s->h->calls * sizeof(*counters))) != (ssize_t)size)
        return;
    if (contexts && counters[totals + n]) // collection is off
        totals += n + 1;
    at = spool_stack_offset(slot, counters[0], SPOOL_FRAMES_BASE);
    memcpy(total, counters + totals, n * sizeof(*total));
    if (at >= spool_stack_size(slot))
        return;
    later = spool_frames_late(s->h, fd, slot, total, &late);
    end_frames(s, fd, first, first + at, later ? &late : NULL, total, sum);
}

void spool_frames_add_saved(const struct spool_file *s, int fd, uint64_t *sum)
{
    uint64_t first = SPOOL_STACKS_OFF + spool_stack_at(SPOOL_THREADS_MAX);
    uint64_t bytes = spool_frame_bytes(s->h->flags);
    struct spool_saved r;

    for (uint64_t at = 0; at < SPOOL_STACK_SIZE; at += r.bytes) {
        if (pread(fd, &r, sizeof(r), (off_t)(first + at)) != sizeof(r) || r.bytes < sizeof(r) ||
            r.bytes > SPOOL_STACK_SIZE - at)
            return;
        if (r.frames >= bytes && r.frames <= r.bytes - sizeof(r))
            end_frames(s, fd, first + at + sizeof(r), first + at + sizeof(r) + r.frames - bytes,
                       NULL, r.totals, sum);
    }
}
