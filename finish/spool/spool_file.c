// SPDX-License-Identifier: MIT
//
// Opens a spool for reading and walks its blocks. Trusts nothing in the file: one left by a killed
// program, or damaged since, gives what is sound in it and a number of records that were not.
#include "finish/spool/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/shared/util.h"

const char *const finish_event_names[FINISH_EVENTS] = {
    "Ir", "I1mr", "ILmr", "Dr",  "D1mr", "DLmr",     "Dw",      "D1mw",      "DLmw",
    "Bc", "Bcm",  "Bi",   "Bim", "Ge",   "sysCount", "sysTime", "sysCpuTime"
};

bool finish_event_counted(enum finish_event e, uint64_t flags)
{
    if (e == FINISH_IR)
        return true;
    if (e >= FINISH_GE)
        return (flags & (e == FINISH_GE       ? SPOOL_F_BUS
                         : e == FINISH_SYSCPU ? SPOOL_F_SYSCPU
                                              : SPOOL_F_SYSTIME)) != 0;
    return (flags & (e < FINISH_BC ? SPOOL_F_CACHE_SIM : SPOOL_F_BRANCH_SIM)) != 0;
}

// Reads as much as the file has. The number of bytes, or -1 with errno.
static ssize_t read_some(int fd, void *to, size_t n, uint64_t off)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(off + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

// The next piece of the file in [*at, end) that is no hole; false: there is none. On a file system
// that does not know holes it is all of it.
static bool next_piece(int fd, uint64_t *at, uint64_t end, uint64_t *to)
{
    off_t data = lseek(fd, (off_t)*at, SEEK_DATA);
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

    if (*at >= end || (data < 0 && errno == ENXIO) || data >= (off_t)end)
        return false;
    if (data > (off_t)*at)
        *at = (uint64_t)data / sizeof(uint64_t) * sizeof(uint64_t);
    *to = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
    return true;
}

// Reads into memory that is 0, and leaves that as it is where there is nothing. 0, or -1 with
// errno.
static int read_sparse(int fd, void *to, size_t n, uint64_t off)
{
    uint64_t at = off, end = off + n, piece;

    for (; next_piece(fd, &at, end, &piece); at = piece)
        if (read_some(fd, (char *)to + (at - off), piece - at, at) < 0)
            return -1;
    return 0;
}

enum { AREA_TEXT, AREA_MAPS, AREA_PARTIAL, AREA_BLOCKS, AREA_EDGES, AREAS };
#define AT_ONCE_MAX (UINT64_C(2) << 20) // larger ones may be holes, which shall take no memory

// Reads [off, off + want) as far as the file goes; *got is what there is. NULL: that is nothing,
// or, with s->unread, it cannot be read: what is there is not to be taken for lost.
static const void *read_area(struct spool_file *s, int i, uint64_t file_size, uint64_t off,
                             uint64_t want, uint64_t *got)
{
    uint64_t have = file_size > off ? file_size - off : 0;

    *got = want < have ? want : have;
    if (*got == 0)
        return NULL;
    if (*got <= AT_ONCE_MAX) {
        s->area[i] = xmalloc(*got);
        ssize_t n = read_some(s->fd, s->area[i], *got, off);
        if (n < 0)
            s->unread = errno;
        *got = n < 0 ? 0 : (uint64_t)n;
    } else {
        s->area[i] = xcalloc(1, *got);
        if (read_sparse(s->fd, s->area[i], *got, off) != 0)
            s->unread = errno;
    }
    return *got && !s->unread ? s->area[i] : NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t read_owner(const struct spool_file *s, uint32_t slot)
{
    uint64_t owner, at = SPOOL_THREADS_OFF + slot * SPOOL_THREAD_SIZE;

    if (!s->h->owner || s->h->owner >= s->counters_used ||
        pread(s->fd, &owner, sizeof(owner), (off_t)(at + s->h->owner * sizeof(owner))) !=
            sizeof(owner) ||
        !owner || owner > SPOOL_THREADS_MAX)
        return slot;
    return (uint32_t)owner - 1;
}

uint32_t spool_counters_owner(const struct spool_file *s, uint32_t slot)
{
    if (!s->h->owner || slot >= SPOOL_THREADS_MAX)
        return slot;
    if (!s->owner[slot]) // asked for each partial record
        s->owner[slot] = read_owner(s, slot) + 1;
    return s->owner[slot] - 1;
}

static bool wanted(const struct spool_file *s, uint64_t slot)
{
    return s->slot == SPOOL_ALL_THREADS || s->slot == spool_counters_owner(s, (uint32_t)slot);
}

static uint64_t block_size(const struct spool_block *b)
{
    return (sizeof(*b) + b->insns * sizeof(struct spool_insn) + 7) & ~UINT64_C(7);
}

// A record that was never written, as in a hole: behind it there is none.
static bool is_empty(const struct spool_block *b)
{
    return b->pc == 0 && b->shape == 0 && b->counter == 0;
}

// Executions of several blocks together are added to those of each.
static void add_sums(struct spool_file *s)
{
    uint64_t *counters = s->counters_area;

    for (uint64_t off = 0; off + sizeof(struct spool_block) <= s->blocks_used;) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);
        const uint32_t *of = (const uint32_t *)(b + 1);

        if (is_empty(b))
            break;
        off += block_size(b);
        if (!(b->flags & SPOOL_B_SUM) || off > s->blocks_used || b->counter >= s->counters_used)
            continue;
        if (counters[b->counter] >= FINISH_COUNT_MAX) {
            s->bad++;
            continue;
        }
        for (uint32_t i = 0; i < b->insns; i++)
            if (of[i] < s->counters_used)
                s->most |= counters[of[i]] += counters[b->counter];
    }
}

// All bits that any of the counters has. Of /bin/true's 50,000, one at a time is 1.4 % of what the
// finisher executes.
static uint64_t bits_of(const uint64_t *counters, size_t n)
{
    typedef uint64_t four __attribute__((vector_size(32), aligned(8)));
    four a = { 0 }, b = { 0 };
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        a |= *(const four *)(counters + i);
        b |= *(const four *)(counters + i + 4);
    }
    for (a |= b; i < n; i++)
        a[0] |= counters[i];
    return a[0] | a[1] | a[2] | a[3];
}

// Adds what the file has at `off` to n counters, which are 0 if it is the first time. Holes are
// passed over: most pages are of code that was never executed. 0, or -1 with errno.
static int add_counters(struct spool_file *s, uint64_t off, uint64_t *sum, size_t n, bool first)
{
    const uint64_t end = off + n * sizeof(*sum);
    uint64_t piece[1024], at = off, to;
    int fd = s->fd;

    for (; next_piece(fd, &at, end, &to); at = to) {
        if (first) {
            uint64_t *mine = sum + (at - off) / sizeof(*sum);

            if (read_some(fd, mine, to - at, at) < 0)
                return -1;
            s->most |= bits_of(mine, (to - at) / sizeof(*sum));
            continue;
        }
        while (at < to) {
            uint64_t *mine = sum + (at - off) / sizeof(*sum);
            size_t want = to - at > sizeof(piece) ? sizeof(piece) : to - at;
            ssize_t got = read_some(fd, piece, want, at);

            if (got <= 0)
                return (int)got;
            for (size_t i = 0; i < (size_t)got / sizeof(*sum); i++)
                mine[i] += piece[i];
            s->most |= bits_of(mine, (size_t)got / sizeof(*sum));
            at += want;
        }
    }
    return 0;
}

// The counters of one slot, with contexts: `own` has room for all, and is 0 afterwards.
static int add_contexts(struct spool_file *s, struct spool_contexts *contexts, uint64_t off,
                        uint64_t *own, uint64_t **sum)
{
    size_t size = s->counters_used * sizeof(*own);
    uint64_t at = off, to;

    if (!next_piece(s->fd, &at, off + size, &to))
        return 0;
    if (read_sparse(s->fd, own, size, off) != 0)
        return -1;
    spool_contexts_add(contexts, own, sum, &s->sums);
    memset(own, 0, size);
    return 0;
}

// Sums the counters of all thread slots.
static int read_counters(struct spool_file *s, int fd, uint64_t file_size)
{
    uint64_t threads = least(s->h->threads_used ? s->h->threads_used : 1, SPOOL_THREADS_MAX);
    size_t size = s->counters_used * sizeof(uint64_t);
    struct spool_contexts *contexts = NULL;
    uint64_t *sum = NULL, *own = NULL;
    int rc = 0;

    if (size == 0)
        return 0;
    if (s->h->flags & SPOOL_F_CONTEXTS) {
        contexts = spool_contexts_new(s);
        own = xcalloc(s->counters_used, sizeof(*own));
    }
    for (uint64_t t = 0; t < threads && rc == 0; t++) {
        uint64_t off = SPOOL_THREADS_OFF + t * SPOOL_THREAD_SIZE;

        if (off + size > file_size) {
            errno = 0; // of no call: the caller says what it is
            rc = t > 0 ? 0 : -1;
            break;
        }
        if (!wanted(s, t))
            continue;
        bool first = !sum;
        if (first)
            sum = xcalloc(s->counters_used, sizeof(*sum));
        if (contexts)
            rc = add_contexts(s, contexts, off, own, &sum);
        else
            rc = add_counters(s, off, sum, s->counters_used, first);
        if (rc == 0 && (s->h->flags & SPOOL_F_CALLS))
            spool_frames_add_open(s, fd, (uint32_t)t, sum);
    }
    free(own);
    if (sum && (s->h->flags & SPOOL_F_CALLS) && wanted(s, 0))
        spool_frames_add_left(s, fd, sum);
    if (contexts)
        s->account = spool_contexts_end(contexts, &sum, &s->sums, &s->accounts, &s->bad);
    s->counters = s->counters_area = sum;
    if (sum && !contexts)
        add_sums(s);
    return sum ? rc : -1;
}

static void drop_counters(struct spool_file *s)
{
    free(s->counters_area);
    free(s->account);
    s->counters = s->counters_area = NULL;
    s->account = NULL;
    s->accounts = 0;
    s->sums = s->counters_used;
    s->bad = 0;
    s->most = 0;
}

bool spool_counters_thread(struct spool_file *s, uint32_t slot)
{
    struct stat st;

    drop_counters(s);
    s->slot = slot;
    return fstat(s->fd, &st) == 0 && read_counters(s, s->fd, (uint64_t)st.st_size) == 0;
}

// Executions of all blocks, by all threads.
static void count_blocks(struct spool_file *s)
{
    uint64_t sum = 0, most = 0, n;

    for (uint64_t off = 0; off + sizeof(struct spool_block) <= s->blocks_used;) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);

        if (is_empty(b))
            break;
        if (b->counter < s->counters_used && !(b->flags & SPOOL_B_SUM) &&
            !(s->h->flags & SPOOL_F_CONTEXTS)) {
            sum += n = s->counters[b->counter];
            most |= n;
        }
        off += block_size(b);
    }
    for (size_t i = 0; i < s->accounts; i++) // with contexts these have all
        if (s->account[i].counter < s->sums) {
            sum += n = s->counters[s->account[i].counter];
            most |= n;
        }
    s->blocks_executed = sum;
    if (s->h->flags & SPOOL_F_CALLS) // of whose counters those of calls may be less than 0
        s->most = most;
}

// What the header says there is of records, all in their area.
static void read_records(struct spool_file *s, uint64_t size)
{
    const struct spool_header *h = s->h;
    uint64_t got;

    s->text =
        read_area(s, AREA_TEXT, size, SPOOL_TEXT_OFF, least(h->text_used, SPOOL_TEXT_SIZE), &got);
    s->text_used = s->text ? got : 0;
    s->maps_used = least(h->maps_used, SPOOL_MAPS_MAX);
    s->maps = read_area(s, AREA_MAPS, size, SPOOL_MAPS_OFF, s->maps_used * sizeof(*s->maps), &got);
    s->maps_used = s->maps ? got / sizeof(*s->maps) : 0;
    s->partial_used = least(h->partial_used, SPOOL_PARTIAL_MAX);
    s->partial = read_area(s, AREA_PARTIAL, size, SPOOL_PARTIAL_OFF,
                           s->partial_used * sizeof(*s->partial), &got);
    s->partial_used = s->partial ? got / sizeof(*s->partial) : 0;
    s->blocks = read_area(s, AREA_BLOCKS, size, SPOOL_BLOCKS_OFF,
                          least(h->blocks_used, SPOOL_BLOCKS_SIZE), &got);
    s->blocks_used = s->blocks ? got : 0;
    s->edges_used = least(h->edges_used, SPOOL_EDGES_MAX);
    s->edges =
        read_area(s, AREA_EDGES, size, SPOOL_EDGES_OFF, s->edges_used * sizeof(*s->edges), &got);
    s->edges_used = s->edges ? got / sizeof(*s->edges) : 0;
    s->sums = s->counters_used = least(h->counters_used, SPOOL_COUNTERS_MAX);
    if (h->owner)
        s->owner = xcalloc(SPOOL_THREADS_MAX, sizeof(*s->owner));
}

// 0, or -1 with a sentence; s is to be closed in any case.
static int open_parts(struct spool_file *s, uint64_t size, char *err, size_t err_size)
{
    const struct spool_header *h = &s->head;
    ssize_t got = read_some(s->fd, &s->head, sizeof(s->head), 0);

    if (got < 0)
        s->unread = errno;
    if (!s->unread &&
        (size < SPOOL_MAPS_OFF || (size_t)got < sizeof(*h) || h->magic != SPOOL_MAGIC)) {
        snprintf(err, err_size, "not a spool of quern");
        return -1;
    }
    if (!s->unread && h->version != SPOOL_VERSION) {
        snprintf(err, err_size,
                 "a spool of version %u, this quern reads version %u; use the quern "
                 "that made it",
                 h->version, SPOOL_VERSION);
        return -1;
    }
    s->h = h;
    if (!s->unread)
        read_records(s, size);
    if (s->unread) {
        snprintf(err, err_size, "cannot be read: %s", strerror(s->unread));
        return -1;
    }
    if (read_counters(s, s->fd, size) != 0) {
        snprintf(err, err_size, "its counters cannot be read: %s",
                 errno ? strerror(errno) : "the file is too short");
        return -1;
    }
    return 0;
}

int spool_file_open(struct spool_file *s, int fd, char *err, size_t err_size)
{
    struct stat st;

    memset(s, 0, sizeof(*s));
    s->slot = SPOOL_ALL_THREADS;
    s->fd = fd;
    if (fstat(fd, &st) != 0) {
        snprintf(err, err_size, "%s", strerror(errno));
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(err, err_size, "not a spool of quern");
        return -1;
    }
    if (open_parts(s, (uint64_t)st.st_size, err, err_size) != 0) {
        spool_file_close(s);
        return -1;
    }
    count_blocks(s);
    return 0;
}

void spool_file_close(struct spool_file *s)
{
    for (int i = 0; i < AREAS; i++)
        free(s->area[i]);
    free(s->owner);
    drop_counters(s);
    memset(s, 0, sizeof(*s));
}

const char *spool_file_text(const struct spool_file *s, uint32_t offset)
{
    if (offset == 0 || offset >= s->text_used ||
        !memchr(s->text + offset, '\0', s->text_used - offset))
        return NULL;
    return s->text + offset;
}

char *spool_file_line(const char *text)
{
    char *line = xstrdup(text ? text : "");

    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\x7f')
            *p = ' ';
    return line;
}

uint32_t spool_file_map(const struct spool_file *s, uint64_t addr, uint32_t first)
{
    if (first < s->maps_used && addr >= s->maps[first].start && addr < s->maps[first].end)
        return first;
    for (uint64_t i = s->maps_used; i-- > 0;)
        if (addr >= s->maps[i].start && addr < s->maps[i].end)
            return (uint32_t)i;
    return first;
}

static int compare_partial(const void *x, const void *y)
{
    const struct spool_partial *a = x, *b = y;

    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->context < b->context ? -1 : a->context > b->context;
}

enum { SHAPES = 512 }; // flags of instructions, with references or without, each way

// Which instructions have counters alike.
static uint32_t shape_number(struct spool_insn in)
{
    return (in.flags & 0x7fu) << 2 | (uint32_t)(in.reads != 0) << 1 | (uint32_t)(in.writes != 0);
}

static void put_event(struct spool_walk_shape *shape, uint32_t at, enum finish_event e)
{
    if (at != ~0u)
        shape->event[at] = (uint8_t)e;
}

static void make_shape(struct spool_walk_shape *shape, struct spool_insn in, uint64_t flags)
{
    struct spool_counters at = spool_insn_counters(in, flags);

    shape->known = 1;
    shape->count = (uint8_t)at.count;
    shape->data = (flags & SPOOL_F_CACHE_SIM) != 0;
    shape->flags = (flags & SPOOL_F_BRANCH_SIM ? SPOOL_I_BC | SPOOL_I_BI : 0) |
                   (flags & SPOOL_F_BUS ? SPOOL_I_BUS : 0);
    put_event(shape, at.rep_ir, FINISH_IR);
    put_event(shape, at.rep_bc, FINISH_BC);
    put_event(shape, at.dyn_r, FINISH_DR);
    put_event(shape, at.dyn_w, FINISH_DW);
    put_event(shape, at.bcm, FINISH_BCM);
    put_event(shape, at.bim, FINISH_BIM);
    static const enum finish_event pairs[3] = { FINISH_I1MR, FINISH_D1MR, FINISH_D1MW };
    const uint32_t first[3] = { at.i1mr, at.d1mr, at.d1mw };
    for (int i = 0; i < 3; i++)
        if (first[i] != ~0u) {
            put_event(shape, first[i], pairs[i]);
            put_event(shape, first[i] + 1, pairs[i] + 1);
        }
}

// Of one block, what it has counted, in one context or without any.
struct walk {
    const struct spool_file *s;
    void (*f)(void *ctx, const struct spool_walk_insn *in);
    void *ctx;
    const struct spool_block *block;
    const struct spool_partial *partial; // of the block
    size_t partials;
    uint32_t context;
    bool counted; // f wants `counts`
    // Sums may get large: each instruction is looked at before, here are those of all so far.
    bool careful;
    unsigned __int128 total[FINISH_EVENTS];
    uint64_t bad;
    struct spool_walk_insn o;
    struct spool_walk_shape shape[SHAPES];
    uint64_t extra[1u << 11]; // by instruction
};

static uint64_t add_most(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

// The executions of each instruction beyond those of the whole block, into w->extra.
static void find_extra(struct walk *w)
{
    const struct spool_partial *p = w->partial, *end = p + w->partials;
    uint64_t sum = 0;

    memset(w->extra, 0, sizeof(*w->extra) * w->block->insns);
    for (size_t n = w->partials; n > 0;) { // sorted by context
        size_t half = n / 2;

        if (p[half].context < w->context) {
            p += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    for (; p < end && p->context == w->context; p++) {
        if (!p->insn || !wanted(w->s, p->slot))
            continue;
        uint64_t *extra = &w->extra[least(p->insn, w->block->insns) - 1];
        *extra = add_most(*extra, p->count);
    }
    for (uint32_t i = w->block->insns; i-- > 0;)
        w->extra[i] = sum = add_most(sum, w->extra[i]);
}

// Counters of an instruction that no program can have are 0 from here on.
static void drop_damaged(struct walk *w)
{
    uint64_t *mine = (uint64_t *)w->s->counters_area + (w->o.counter - w->s->counters);

    for (uint32_t k = 0; k < w->o.shape->count; k++)
        if (mine[k] >= FINISH_COUNT_MAX) {
            mine[k] = 0;
            w->bad++;
        }
}

// Of the instruction in w->o. False: with what it has counted a sum would not be one.
static bool fits(struct walk *w)
{
    const struct spool_walk_insn *o = &w->o;
    unsigned __int128 add[FINISH_EVENTS] = { o->executed };
    const uint8_t flags = o->in.flags & o->shape->flags;

    if (o->executed >= FINISH_COUNT_MAX)
        return false;
    drop_damaged(w);
    if (o->shape->data) {
        add[FINISH_DR] = (unsigned __int128)o->executed * o->in.reads;
        add[FINISH_DW] = (unsigned __int128)o->executed * o->in.writes;
    }
    add[FINISH_BC] = flags & SPOOL_I_BC ? o->executed : 0;
    add[FINISH_BI] = flags & SPOOL_I_BI ? o->executed : 0;
    add[FINISH_GE] = flags & SPOOL_I_BUS ? o->executed : 0;
    for (uint32_t k = 0; k < o->shape->count; k++)
        add[o->shape->event[k]] += o->counter[k];
    for (int e = 0; e < FINISH_EVENTS; e++)
        if (w->total[e] + add[e] > UINT64_MAX)
            return false;
    for (int e = 0; e < FINISH_EVENTS; e++)
        w->total[e] += add[e];
    return true;
}

static int bits(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

// Whether a sum of the counts of all instructions may not fit 64 bits, whatever they are: with so
// many instructions, of up to 255 references, and what was executed in part.
static bool may_overflow(const struct spool_file *s, const struct spool_partial *partial,
                         uint64_t partials)
{
    uint64_t most = s->most;

    for (uint64_t i = 0; i < partials; i++)
        most |= partial[i].count;
    return bits(most) + bits(s->blocks_used / sizeof(struct spool_insn)) + bits(partials) +
               bits(s->accounts) + 8 >=
           64;
}

// Copies those that are sound, sorted by block. How many there are.
static uint64_t take_partials(const struct spool_file *s, struct spool_partial *to)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < s->partial_used; i++)
        if (s->partial[i].count < FINISH_COUNT_MAX)
            to[n++] = s->partial[i];
    qsort(to, n, sizeof(*to), compare_partial);
    return n;
}

// Its executions are the counter `first`, its instructions' counters begin at `own`. False: they do
// not all lie in the spool.
static bool walk_block(struct walk *w, uint64_t first, uint64_t own)
{
    const struct spool_block *b = w->block;
    const struct spool_insn *in = (const struct spool_insn *)(b + 1), *end = in + b->insns;
    const uint64_t *counter = w->s->counters + own, *last = w->s->counters + w->s->sums;
    uint64_t executed = w->s->counters[first];
    const bool careful = w->careful;
    struct spool_walk_insn *o = &w->o;
    uint64_t pc = b->pc;

    if (careful && executed >= FINISH_COUNT_MAX) {
        executed = 0;
        w->bad++;
    }
    o->map = b->map;
    o->plt = b->flags & SPOOL_B_PLT;
    o->context = w->context;
    o->executed = executed;
    if (w->partials && b->insns)
        find_extra(w);
    for (uint32_t i = 0; in < end; i++, in++) {
        struct spool_walk_shape *shape = &w->shape[shape_number(*in)];

        if (!shape->known)
            make_shape(shape, *in, w->s->h->flags);
        if (shape->count > last - counter)
            return false;
        if (w->partials)
            o->executed = add_most(executed, w->extra[i]);
        uint64_t any = o->executed;
        // Half of what is translated is never reached.
        for (uint32_t k = 0; !any && k < shape->count; k++)
            any = counter[k];
        if (any) {
            o->pc = pc;
            o->in = *in;
            o->counter = counter;
            o->shape = shape;
            if (careful && !fits(w)) {
                w->bad++;
            } else {
                if (w->counted) {
                    memset(o->counts, 0, sizeof(o->counts));
                    spool_walk_add(o, o->counts);
                }
                w->f(w->ctx, o);
            }
        }
        counter += shape->count;
        pc += in->len;
    }
    return true;
}

static uint64_t walk(const struct spool_file *s,
                     void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx,
                     bool counted)
{
    struct spool_partial *partial = xmalloc((s->partial_used + 1) * sizeof(*partial));
    struct walk w = { .s = s, .f = f, .ctx = ctx, .counted = counted };
    uint64_t bad = 0, used = 0;
    uint64_t off = 0;
    size_t account = 0;

    uint64_t partials = take_partials(s, partial);
    bad += s->partial_used - partials;
    w.careful = may_overflow(s, partial, partials);
    while (off + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);
        uint64_t size = block_size(b);
        uint64_t this = off / 8;
        size_t first;

        if (size > s->blocks_used - off || is_empty(b)) {
            bad++;
            break;
        }
        while (used < partials && (uint64_t)partial[used].block * 8 < off) {
            bad++; // names no block
            used++;
        }
        first = used;
        while (used < partials && (uint64_t)partial[used].block * 8 == off)
            used++;
        if (b->flags & SPOOL_B_SUM) {
            off += size;
            bad += b->counter >= s->counters_used;
            continue;
        }
        if (b->flags & SPOOL_B_DORMANT) {
            off += size;
            continue;
        }
        w.block = b;
        w.partial = partial + first;
        w.partials = used - first;
        off += size;
        if (b->map >= s->maps_used || b->counter >= s->counters_used || b->own > s->counters_used) {
            bad++;
            continue;
        }
        w.context = 0;
        // with contexts accounts have all
        if (!(s->h->flags & SPOOL_F_CONTEXTS) && !walk_block(&w, b->counter, b->own))
            bad++;
        while (account < s->accounts && s->account[account].block < this)
            account++;
        for (; account < s->accounts && s->account[account].block == this; account++) {
            w.context = s->account[account].context;
            bad += !walk_block(&w, s->account[account].counter, s->account[account].counter + 1);
        }
    }
    free(partial);
    return s->bad + w.bad + bad + (partials - used);
}

uint64_t spool_walk_counts(const struct spool_file *s,
                           void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx)
{
    return walk(s, f, ctx, true);
}

uint64_t spool_walk(const struct spool_file *s,
                    void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx)
{
    return walk(s, f, ctx, false);
}

bool spool_walk_block(const struct spool_file *s, struct spool_walk_block *out)
{
    while (out->next + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + out->next);
        const struct spool_insn *in = (const struct spool_insn *)(b + 1);
        uint64_t size = block_size(b);

        if (size > s->blocks_used - out->next || is_empty(b))
            return false;
        out->next += size;
        if (b->flags & SPOOL_B_SUM)
            continue;
        out->pc = b->pc;
        out->map = b->map;
        out->insns = b->insns;
        out->hash = b->hash;
        out->bytes = 0;
        for (uint32_t i = 0; i < b->insns; i++)
            out->bytes += in[i].len;
        return true;
    }
    return false;
}

uint64_t spool_file_kept(const struct spool_file *s, uint64_t map, uint64_t *size)
{
    const uint64_t end = SPOOL_KEPT_OFF + SPOOL_KEPT_TABLE;
    struct spool_kept kept;
    struct stat st;

    if (fstat(s->fd, &st) != 0 || (uint64_t)st.st_size <= end)
        return 0; // nothing is kept
    for (uint64_t at = SPOOL_KEPT_OFF; at < end; at += sizeof(kept)) {
        if (read_some(s->fd, &kept, sizeof(kept), at) != sizeof(kept) || !kept.at)
            return 0;
        if (kept.map != map)
            continue;
        *size = kept.size;
        return kept.at >= end && kept.at % 4096 == 0 && kept.size > 0 &&
                       kept.at <= (uint64_t)st.st_size &&
                       kept.size <= (uint64_t)st.st_size - kept.at
                   ? kept.at
                   : 0;
    }
    return 0;
}
