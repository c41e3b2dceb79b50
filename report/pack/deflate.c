// SPDX-License-Identifier: MIT
//
// Deflates blocks, large ones in another thread, so few blocks are in memory uncompressed.
// One other thread is enough: it keeps up with the one that makes blocks; otherwise the latter
// deflates too. The output does not depend on which thread did the work.
#include "report/pack/deflate.h"

#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    JOBS = 8,
    LARGE = 128 << 10, // below this, another thread does not pay
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

bool deflate_block(struct block *to, const struct buf *from, int level)
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

static size_t bound_of(size_t size)
{
    return deflate_in_page(size + size / 8 + 64);
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

void deflate_end(struct blocks *b)
{
    struct helper *h = b->helper;

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
    b->helper = NULL;
}

// Moves the deflated jobs into the blocks; with `all` waits for the others. The lock is held.
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
        b->bytes += deflate_in_page(to->deflated_size);
        b->bound -= bound_of(to->size);
        b->failed |= !j->ok;
        j->out = (struct block){ 0 };
    }
}

void deflate_wait(struct blocks *b)
{
    if (!b->helper)
        return;
    pthread_mutex_lock(&b->helper->lock);
    fold(b, true);
    pthread_mutex_unlock(&b->helper->lock);
}

bool deflate_later(struct blocks *b, size_t index)
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
