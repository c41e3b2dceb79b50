// SPDX-License-Identifier: MIT
// engine/objects/many.c: misses that wait are counted as if each had been at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <signal.h>
#undef REG_RIP // the engine's is another one

#include "engine/base/layout.h"
#include "engine/callgraph/frames.h"
#include "engine/objects/alloc.h"
#include "engine/objects/cells.h"
#include "engine/objects/found.h"
#include "engine/objects/granules.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/many.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pages.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

#define REFS     200000u
#define COUNTERS 48u
#define SMALL    40u // counters from here on refer to small blocks
#define MEGA     0x100000ul

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config = { .d1_shift = 6, .data = true, .recording = true, .stamps = true };
struct frames frames = { .top = 0, .frame = 64 };
static struct thread *t;

static u8 *counts = (u8 *)(DATA_BASE + SPOOL_DATA_COUNTS_OFF);
static u8 *cells = (u8 *)(DATA_BASE + SPOOL_DATA_CELLS_OFF);

void spooler_data_map(void)
{
    void *p = mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

    assert_ptr_equal(p, (void *)DATA_BASE);
}

struct spool_edge *frames_edge(const struct spool_frame *f)
{
    (void)f;
    fail();
    return NULL;
}

// Objects 1 and 2 have a megabyte each, 3 has 8 KB; of a fourth piece that belongs to nothing. What
// is at the fifth is 1 again until time 5, 4 from then on. The sixth has small blocks of 2 and 3
// with gaps between them, every second one since time 7.
#define PIECES 6u
static const u64 starts[PIECES] = { 0x10000000, 0x20000000, 0x30000800,
                                    0x40000000, 0x50000000, 0x60000000 };
static const u64 sizes[PIECES] = { MEGA, MEGA, 8192, MEGA, MEGA, 0x10000 };
#define BLOCK 96u // bytes from one to the next

u64 (*ranges_asked)(void);

struct thread *threads_next_live(u32 *slot); // threads.h does not go with the C library's headers
struct thread *threads_next_live(u32 *slot)
{
    return *slot < 1 ? (++*slot, t) : NULL;
}

bool objects_is_data(u32 counter, bool *write)
{
    *write = counter % 5 == 0;
    return counter != 39; // a fetch
}

static u32 piece_of(u64 addr)
{
    for (u32 i = 0; i < PIECES; i++)
        if (addr - starts[i] < sizes[i])
            return i;
    fail();
    return 0;
}

static u64 now;
static u64 lines_missed; // which, in any order

static bool find_small(u64 at, struct cells_miss *miss, struct found *found)
{
    struct granules_range *g = granules_find(miss->addr);
    bool is = g && g->born <= at;

    *found = (struct found){ .start = FOUND_UNKNOWN };
    if (is)
        *found = (struct found){
            g->object,       g->who & RANGES_PART ? FOUND_UNKNOWN : granules_start(g),
            granules_end(g), g->born,
            &g->who,         false
        };
    miss->object = found->object;
    miss->start = found->start;
    return is;
}

bool objects_find(const struct thread *of, u64 at, struct cells_miss *miss, struct found *found)
{
    u32 piece = piece_of(miss->addr);
    u64 start = starts[piece];

    assert_ptr_equal(of, t);
    if (piece == 5)
        return find_small(at, miss, found);
    *found = (struct found){ .object = piece < 3    ? piece + 1
                                       : piece == 3 ? 0
                                       : at < 5     ? 1
                                                    : 4,
                             .start = piece == 3 ? FOUND_UNKNOWN : start };
    if (pages_wants(miss->addr, at))
        pages_keep(miss->addr, start, start + sizes[piece], found, false);
    miss->object = found->object;
    miss->start = found->start;
    return false;
}

void lifetimes_missed(const struct found *block, u64 addr)
{
    assert_non_null(block->who);
    assert_in_range(addr, block->start == FOUND_UNKNOWN ? 0 : block->start, block->end - 1);
    *block->who += 1u << RANGES_LINES_BIT;
    lines_missed += (addr ^ block->born << 50 ^ (u64)block->object << 40) * 0x9e3779b97f4a7c15ul;
}

static void variable(u64 size)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_STATIC, .start = size, .size = size };

    objtable_get(&o, "v");
}

// Some are pieces, or have no bits of lines.
static void make_small(void)
{
    granules = (struct granules){ 0 };
    granules_init();
    for (u32 i = 0; i < sizes[5] / BLOCK; i++)
        assert_true(granules_put(starts[5] + i * BLOCK, starts[5] + i * BLOCK + BLOCK - 16,
                                 i % 2 * 7, 2 + i % 3 / 2,
                                 i % 7 == 0   ? RANGES_PART
                                 : i % 7 == 1 ? RANGES_LARGE
                                              : 0));
}

static void begin(void)
{
    header = (struct spool_header){ 0 };
    if (!t) {
        t = mmap(NULL, TA_MANY_END + 0x1000, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_ptr_not_equal(t, MAP_FAILED);
        t->self = t;
    }
    now = lines_missed = 0;
    pages = (struct pages){ 0 };
    make_small();
    objtable_init();
    objtable_thread_init(t);
    pages_init();
    cells_init();
    many_init(false);
    many_thread_init(t);
    assert_true(many_wait);
    // The first one's size is not known, so its first bytes have cells of their own.
    for (u32 i = 0; i < 4; i++)
        variable(i == 0 ? 0 : i == 2 ? 8192 : MEGA + i);
    insnids_note(42, 11); // these two have one walk
    insnids_note(42, 12);
    t->objects_number = 1;
}

// One after the other.
static void count_at_once(u64 addr, u32 counter, u32 ll, u64 at)
{
    struct cells_miss miss = { .addr = addr, .counter = counter, .ll = (u8)ll };
    struct spool_data_count *walk;
    struct found found;
    bool block;

    if (!objects_is_data(counter, &miss.write))
        return;
    block = objects_find(t, at, &miss, &found);
    walk = objtable_walk(objtable_count(counter, miss.object, 0, ll));
    if (block)
        lifetimes_missed(&found, addr);
    walks_step(t, walk, addr);
    cells_count(&miss);
}

// Each counter walks in its own way, through its own piece.
static u64 next_of(u32 counter, u64 *at)
{
    static const u64 strides[8] = { 64, -64ul, 5600, 8, 0, 128, 4096, -2400ul };
    u32 piece = counter < SMALL ? counter % 5 : 5;
    u64 size = sizes[piece];

    if (counter % 11 == 3 || rand() % 64 == 0)
        at[counter] = (u64)rand() % (size / 8) * 8;
    else
        at[counter] = (at[counter] + strides[counter % 8] + size) % size;
    return starts[piece] + at[counter];
}

static void refer_to_all(bool wait)
{
    static u64 at[COUNTERS];

    memset(at, 0, sizeof(at));
    srand(3);
    for (u32 i = 0; i < REFS;) {
        u32 counter = (u32)rand() % COUNTERS, n = rand() % 4 ? 1 : (u32)rand() % 40;

        if (rand() % 128 == 0) {
            now++;
            if (now == 5)
                pages_changed(starts[4], starts[4] + MEGA, now);
            if (wait)
                many_time(t, now);
        }
        for (; n; n--, i++) {
            u64 addr = next_of(counter, at);
            u32 ll = rand() % 3 == 0;

            if (!wait) {
                count_at_once(addr, counter, ll, now);
                continue;
            }
            many_append(t, addr, counter, ll);
            if (many_is_full(t))
                many_full(t);
        }
    }
    many_settle(t);
    assert_false(many_has(t));
}

static void as_at_once(void **state)
{
    u64 n, m, lines;
    u8 *c, *f;

    (void)state;
    begin();
    refer_to_all(false);
    n = header.data.counts_used * sizeof(struct spool_data_count);
    m = header.data.cells_used * sizeof(struct spool_data_cell);
    lines = lines_missed;
    assert_true(n && m && lines);
    c = malloc(n);
    f = malloc(m);
    memcpy(c, counts, n);
    memcpy(f, cells, m);
    begin();
    refer_to_all(true);
    assert_int_equal(header.data.counts_used * sizeof(struct spool_data_count), n);
    assert_int_equal(header.data.cells_used * sizeof(struct spool_data_cell), m);
    assert_memory_equal(counts, c, n);
    assert_memory_equal(cells, f, m);
    assert_int_equal(lines_missed, lines);
    free(c);
    free(f);
}

// ---- Other threads ----

static u64 first_of_queue(void)
{
    return (u64)t + TA_MANY;
}

// While another thread has the lock, misses wait as long as there is space; where one waits for it,
// a few are counted.
static void others(void **state)
{
    const struct spool_data_count *c = (const void *)counts;
    struct many_queue *q = many_queue(t);
    u32 n = 0;

    (void)state;
    begin();
    for (; !many_is_full(t); n++)
        many_append(t, starts[0] + 64ul * n, 1, 0);
    objtable_lock();
    many_full(t);
    assert_int_equal(q->end - first_of_queue(), n * sizeof(struct many_ref));
    assert_int_equal(q->done, first_of_queue());
    objtable_unlock();
    objtable_waiting = 1;
    many_full(t);
    assert_int_equal(q->end - first_of_queue(), n * sizeof(struct many_ref));
    assert_in_range(q->done - first_of_queue(), sizeof(struct many_ref), MANY_FULL / 4);
    assert_int_equal((q->done - first_of_queue()) / sizeof(struct many_ref), c->l1);
    assert_true(objtable_try_lock()); // it has been dropped
    objtable_unlock();
    many_settle(t); // all of them, although one waits
    assert_false(many_has(t));
    assert_int_equal(c->l1, n);
    objtable_waiting = 0;
    for (; q->end - first_of_queue() < MANY_MOST; n++)
        many_append(t, starts[0] + 64ul * n, 1, 0);
    many_full(t);
    assert_int_equal(c->l1, n);
    assert_int_equal(c->steps, n - 1);
}

u64 *(*lineuse_queue)(struct thread *of, u64 addr);
static u64 collected;

void lineuse_found(u64 *word, u32 object)
{
    *word = (u64)LINEUSE_FOUND << 32 | object | *word >> 32 << 16;
}

void lineuse_found_open(const struct thread *of, u64 *word, u64 addr, u32 object)
{
    assert_ptr_equal(of, t);
    assert_int_equal(addr, starts[3] + 24);
    *word = (u64)LINEUSE_FOUND << 32 | 0x8000 | object;
}

void lineuse_collect(struct thread *of, u64 from, u64 end)
{
    assert_ptr_equal(of, t);
    assert_int_equal(from, first_of_queue());
    collected = end - from;
}

// A line that is followed is in an object as of its time.
static void lines(void **state)
{
    u64 *word;

    (void)state;
    begin();
    many_time(t, 4);
    word = lineuse_queue(t, starts[4] + 640);
    *word += 16ul << 32;
    many_time(t, 5);
    many_append(t, starts[4] + 640, 1, 0);
    many_settle(t);
    assert_int_equal(*word, (u64)LINEUSE_FOUND << 32 | 16 << 16 | 1);
    assert_int_equal(collected, 4 * sizeof(struct many_ref));
    assert_int_equal(header.data.counts_used, 1);
    assert_int_equal(((const struct spool_data_count *)counts)->object, 4);
}

// ---- Changes of the blocks ----

static char order[100]; // m: a miss while no allocator was open, o: while one was; else: a change
static bool is_open;
static u64 appended, applied; // changes

static void happened(char what)
{
    size_t n = strlen(order);

    assert_in_range(n, 0, sizeof(order) - 2);
    order[n] = what;
    order[n + 1] = 0;
}

bool alloc_waits(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return is_open;
}

// All before it are counted by now.
void alloc_apply(struct thread *of, const struct alloc_event *e)
{
    const struct spool_data_count *c = (const void *)counts;

    assert_ptr_equal(of, t);
    assert_int_equal(e->time, 20 + applied++);
    is_open = (e->word & ALLOC_KIND_MASK) == ALLOC_OPENED;
    assert_int_equal(e->a, e->word * 3ul);
    assert_int_equal(e->b, is_open ? e->word * 5ul : 0);
    assert_int_equal(e->c, is_open ? e->word * 7ul : 0);
    assert_int_equal(c->l1, strlen(order) < 20 ? 1 : 2);
    happened((char)('0' + (e->word & ALLOC_KIND_MASK)));
}

void objects_count(const struct thread *of, u64 at, struct cells_miss *miss)
{
    assert_ptr_equal(of, t);
    assert_true(is_open);
    assert_int_equal(at, 20 + applied - 1);
    assert_int_equal(miss->addr, starts[3] + 8ul * strlen(order));
    assert_int_equal(miss->counter, 1);
    assert_int_equal(miss->ll, 1);
    happened('o');
}

static void change(u32 word)
{
    u64 record[5] = { (u64)word << 32 | 3376, 20 + appended++, word * 3ul, word * 5ul, word * 7ul };

    assert_int_equal(many_event(t, record), (word & ALLOC_KIND_MASK) == ALLOC_OPENED ? 5 : 3);
}

// They happen between the misses before and those behind them; these wait while an allocator is
// open. Who is killed meanwhile has done a change, or will do it.
static void changes(void **state)
{
    static const u64 time_alone[2] = { 3376, 7 };
    const struct spool_data_count *c = (const void *)counts;
    u64 *word;

    (void)state;
    begin();
    order[0] = 0;
    is_open = false;
    appended = applied = 0;
    assert_int_equal(many_event(t, time_alone), 2);
    assert_int_equal(t->objects_at, 7);
    many_append(t, starts[1], 1, 1);
    change(77u << ALLOC_OBJECT_BIT | 2 << ALLOC_WHAT_BIT | ALLOC_OPENED);
    assert_int_equal(t->objects_at, 20);
    assert_int_equal(order[0], 0);
    many_settle(t);
    assert_string_equal(order, "1");
    many_append(t, starts[3] + 8, 1, 1);
    many_append(t, starts[3] + 16, 1, 1);
    word = lineuse_queue(t, starts[3] + 24);
    many_settle(t);
    assert_string_equal(order, "1oo");
    assert_int_equal(*word, (u64)LINEUSE_FOUND << 32 | 0x8000);
    change(ALLOC_RETURNED);
    many_append(t, starts[1] + 64, 1, 0);
    many_settle(t);
    assert_string_equal(order, "1oo2");
    assert_int_equal(c->l1, 2);
    assert_int_equal(c->ll, 1);
    // as many as there is space for
    while (strlen(order) < 20)
        happened('.');
    for (u32 i = 0; i < 3000; i++) {
        change(ALLOC_FREED);
        if (i % 50 == 49) {
            many_settle(t);
            order[20] = 0;
        }
    }
    assert_false(many_has(t));
    assert_int_equal(applied, appended);
}

static jmp_buf killed;

static void faults(int signal)
{
    (void)signal;
    longjmp(killed, 1);
}

static void append(u64 first, u32 n)
{
    for (u32 i = 0; i < n; i++)
        many_append(t, starts[1] + first + 64ul * i, 1, 0);
}

// Who counts is killed at its first store to the counts.
static void kill_settling(void)
{
    sigset_t segv;

    signal(SIGSEGV, faults);
    mprotect(counts, 0x1000, PROT_READ);
    if (!setjmp(killed)) {
        many_settle(t);
        fail();
    }
    mprotect(counts, 0x1000, PROT_READ | PROT_WRITE);
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &segv, NULL);
    signal(SIGSEGV, SIG_DFL);
    objtable_forget_lock();
}

// Of a walk none is lost, and none is counted twice. Of others, each alone, one is lost.
static void killed_in_it(void **state)
{
    const struct spool_data_count *c = (const void *)counts;

    (void)state;
    begin();
    append(0, 300);
    many_settle(t);
    assert_int_equal(header.data.counts_used, 1);
    assert_int_equal(c->l1, 300);
    assert_int_equal(c->steps, 299);
    append(64 * 300, 40);
    kill_settling();
    assert_int_equal(c->l1, 300);
    many_settle(t);
    assert_int_equal(c->l1, 340);
    assert_false(many_has(t));
    append(0, 1);
    append(64, 1);
    append(64 * 5, 1);
    kill_settling();
    many_settle(t);
    assert_int_equal(c->l1, 342);
    many_settle(t);
    assert_int_equal(c->l1, 342);
}

// What may still be asked for: the thread's time, but what waits in its queue is earlier. Without
// records all is counted at once.
static void earliest(void **state)
{
    u64 first;

    (void)state;
    begin();
    first = t->objects_at;
    while (objtable_tick() < first + 9)
        ;
    assert_int_equal(ranges_asked(), first);
    many_append(t, starts[1], 1, 0);
    many_time(t, first + 7);
    assert_int_equal(ranges_asked(), first);
    many_settle(t);
    assert_int_equal(ranges_asked(), first + 7);
    tb_config.recording = false;
    assert_int_equal(ranges_asked(), first + 9);
    tb_config.recording = true;
    header.flags = SPOOL_F_NO_HINTS;
    many_init(false);
    assert_null(ranges_asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_at_once), cmocka_unit_test(killed_in_it), cmocka_unit_test(others),
        cmocka_unit_test(lines),      cmocka_unit_test(earliest),     cmocka_unit_test(changes),
    };

    return cmocka_run_group_tests_name("objects/many", tests, NULL, NULL);
}
