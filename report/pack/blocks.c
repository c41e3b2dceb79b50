// SPDX-License-Identifier: MIT
//
// Closing a block is deflating it, or handing it to the other thread: nothing of it is kept
// inflated for long. There is one other thread, since it keeps up with the one that makes blocks;
// where it does not, the latter deflates itself. What is written does not depend on who did.
#include "report/pack/blocks.h"

#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    JOBS = 8,
    LARGE = 128 << 10, // less than that is not worth another thread
    AROUND = 100,      // bytes of a block's element
};

struct job {
    struct buf from;
    struct block out;
    size_t index;
    bool ok;
};

// Jobs from `taken` on wait or are being done; those before, from `folded` on, are done.
struct helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct job job[JOBS];
    size_t put, taken, folded; // job i is job[i % JOBS]
    int level;
    bool end;
};

void blocks_init(struct blocks *b)
{
    *b = (struct blocks){ .level = 6, .count = 1, .cap = 64 };
    b->item = calloc(b->cap, sizeof(*b->item));
    b->failed = !b->item;
}

static bool deflate_block(struct block *to, const struct buf *from, int level)
{
    z_stream z = { 0 };

    if (deflateInit2(&z, level, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t cap = deflateBound(&z, from->size);
    to->deflated = malloc(cap + 1);
    z.next_in = from->at;
    z.avail_in = (uInt)from->size;
    z.next_out = to->deflated;
    z.avail_out = (uInt)cap;
    bool ok = to->deflated && deflate(&z, Z_FINISH) == Z_STREAM_END;
    to->deflated_size = z.total_out;
    to->size = from->size;
    to->crc = (uint32_t)crc32(0, from->at, (uInt)from->size);
    deflateEnd(&z);
    return ok;
}

static size_t in_page(size_t deflated)
{
    return (deflated + 2) / 3 * 4 + AROUND;
}

static size_t bound_of(size_t size)
{
    return in_page(size + size / 8 + 64);
}

// ---- The other thread ----

static void *help(void *of)
{
    struct helper *h = of;

    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->taken == h->put && !h->end)
            pthread_cond_wait(&h->wake, &h->lock);
        if (h->taken == h->put)
            break;
        struct job *j = &h->job[h->taken % JOBS];
        pthread_mutex_unlock(&h->lock);
        j->ok = deflate_block(&j->out, &j->from, h->level);
        pthread_mutex_lock(&h->lock);
        h->taken++;
        pthread_cond_signal(&h->done);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static struct helper *helper_new(int level)
{
    struct helper *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->level = level;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    pthread_cond_init(&h->done, NULL);
    if (pthread_create(&h->thread, NULL, help, h) != 0) {
        free(h);
        return NULL;
    }
    return h;
}

static void helper_free(struct helper *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->end = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    for (size_t i = h->folded; i < h->put; i++)
        free(h->job[i % JOBS].out.deflated);
    for (size_t i = 0; i < JOBS; i++)
        buf_free(&h->job[i].from);
    free(h);
}

// Takes what is deflated into the blocks; with `all` waits for the rest. The lock is held.
static void fold(struct blocks *b, bool all)
{
    struct helper *h = b->helper;

    while (h->folded < h->put) {
        while (all && h->folded == h->taken)
            pthread_cond_wait(&h->done, &h->lock);
        if (h->folded == h->taken)
            break;
        struct job *j = &h->job[h->folded++ % JOBS];
        struct block *to = &b->item[j->index];
        to->deflated = j->out.deflated;
        to->deflated_size = j->out.deflated_size;
        to->crc = j->out.crc;
        b->bytes += in_page(to->deflated_size);
        b->bound -= bound_of(to->size);
        b->failed |= !j->ok;
        j->out = (struct block){ 0 };
    }
}

void blocks_wait(struct blocks *b)
{
    if (!b->helper)
        return;
    pthread_mutex_lock(&b->helper->lock);
    fold(b, true);
    pthread_mutex_unlock(&b->helper->lock);
}

// Gives the open block, which becomes number `index`, to the other thread. False: it has enough.
static bool hand_over(struct blocks *b, size_t index)
{
    if (b->open.size < LARGE || b->alone || b->level == 0)
        return false;
    if (!b->helper && !(b->helper = helper_new(b->level))) {
        b->alone = true;
        return false;
    }
    struct helper *h = b->helper;
    pthread_mutex_lock(&h->lock);
    fold(b, false);
    bool room = h->put - h->folded < JOBS;
    if (room) {
        struct job *j = &h->job[h->put++ % JOBS];
        struct buf old = j->from;
        j->from = b->open;
        j->index = index;
        b->bound += bound_of(j->from.size);
        b->open = old;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&h->lock);
    return room;
}

// ---- Blocks ----

void blocks_put(struct buf *to, unsigned kind, const struct buf *payload)
{
    buf_byte(to, kind);
    buf_column(to, payload);
}

void blocks_free(struct blocks *b)
{
    helper_free(b->helper);
    for (size_t i = 0; b->item && i < b->count; i++)
        free(b->item[i].deflated);
    free(b->item);
    buf_free(&b->open);
    *b = (struct blocks){ 0 };
}

void blocks_close(struct blocks *b)
{
    b->failed |= b->open.failed; // with nothing in it, perhaps
    if (b->open.size == 0 || b->failed)
        return;
    if (b->count == b->cap) {
        struct block *more = realloc(b->item, b->cap * 2 * sizeof(*more));
        if (!more) {
            b->failed = true;
            return;
        }
        b->item = more;
        b->cap *= 2;
    }
    b->failed |= b->open.failed || b->open.size > BLOCKS_MAX;
    b->now.size = b->open.size;
    if (!b->failed && !hand_over(b, b->count)) {
        b->failed = !deflate_block(&b->now, &b->open, b->level);
        b->bytes += in_page(b->now.deflated_size);
    }
    b->item[b->count++] = b->now;
    b->now = (struct block){ 0 };
    b->open.size = 0;
}

void blocks_add(struct blocks *b, unsigned kind, uint32_t first, uint32_t end,
                const struct buf *payload)
{
    if (b->open.size + payload->size + 16 > BLOCKS_AIM)
        blocks_close(b);
    if (payload->size + 16 > BLOCKS_MAX)
        b->failed = true;
    if (end > first) {
        bool none = b->now.end == b->now.first;
        b->now.first = none || first < b->now.first ? first : b->now.first;
        b->now.end = end > b->now.end ? end : b->now.end;
    }
    b->now.kinds |= 1u << kind;
    blocks_put(&b->open, kind, payload);
}

void blocks_drop(struct blocks *b, size_t count)
{
    blocks_wait(b);
    while (b->count > count) {
        b->count--;
        b->bytes -= in_page(b->item[b->count].deflated_size);
        free(b->item[b->count].deflated);
    }
}

void blocks_first(struct blocks *b, const struct buf *bytes, uint32_t kinds, uint32_t end)
{
    struct block first = { .kinds = kinds, .end = end };

    free(b->item ? b->item[0].deflated : NULL);
    if (b->item && b->item[0].deflated) {
        b->bytes -= in_page(b->item[0].deflated_size);
        b->item[0].deflated = NULL;
    }
    if (b->failed || bytes->failed || bytes->size > BLOCKS_MAX ||
        !deflate_block(&first, bytes, b->level))
        b->failed = true;
    else
        b->item[0] = first;
    b->bytes += in_page(first.deflated_size);
}
