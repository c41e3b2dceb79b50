// SPDX-License-Identifier: MIT
// engine/translate/superblock.c: which blocks begin superblocks, and which blocks these have. A
// buffer is a string: a letter is the record of the block with that index in the alphabet, `/` that
// of a block that ends in an indirect branch, `S` that of a superblock of B, C and D, `1` and `2`
// the same left at its first and second joint, `.` a word between two records, `?` an invalid one.
// The result is a string, too: the blocks of each superblock that was requested.
//
// Expected numbers: a block is seen 48 times, the last 12 of these are compared, 512 records of a
// buffer are examined, two superblocks are made for one buffer, each of at most 14 blocks; while
// none is made, up to 4 buffers are skipped. The 48 times are within 262,144 examined records.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/codecache/hotblocks.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/objects/alloc.h"
#include "engine/replay/arena.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/salvage.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/superblock.h"
#include "engine/translate/translate.h"
#include "tests/unit/count/reftrace_none.h"

#define FIRST 0x401000ul           // A; each is 16 bytes further on
#define PLACE 0x9e3779b97f4a7c15ul // as superblock.c multiplies addresses: bits 32 to 43

// -- fakes of what superblock.c calls --

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
void (*recordbuf_on_full)(const u64 *from, const u64 *end);

// The descriptions of the records of letters, of `/` and of `S`, which has sides.
#define BLOCKS (REPLAY_BASE + 0x1000)
static struct record_block *const block = (struct record_block *)BLOCKS;
#define NBLOCKS 28
static struct fragment fragment[26], super;
static struct fragment_block more[FRAGMENT_BLOCKS_MAX - 1];
static bool missing[26];               // it has no fragment
static bool busy, fits;                // the lock; there is space for superblocks
static u32 looked;                     // records that it read
static u32 taken, dropped;             // the lock, how often
static char made[256], moved[64];      // superblocks requested; blocks whose links were moved
static struct fragment of_superblock;  // the one that is made
static const struct fragment *ibl_led; // the argument of ibl_move()

static const char *points = ""; // blocks that the dispatcher sees each time

u32 alloc_point(u64 pc)
{
    for (const char *c = points; *c; c++)
        if (pc == FIRST + (u64)(*c - 'A') * 16)
            return 1;
    return 0;
}

void *heap_pages(u64 bytes)
{
    void *p = calloc(1, bytes);

    assert_non_null(p);
    return p;
}

bool tcache_try_lock(void)
{
    taken += !busy;
    return !busy;
}

void tcache_unlock(void)
{
    dropped++;
}

static u32 letter_of(u64 pc)
{
    for (u32 i = 0; i < 26; i++) {
        if (block[i].pc == pc)
            return i;
    }
    fail_msg("no block begins at %lx", pc);
    return 0;
}

struct fragment *tcache_lookup(u64 pc)
{
    assert_int_equal(taken, dropped + 1);
    if (letter_of(pc) == 'B' - 'A' && super.nmore)
        return &super;
    return missing[letter_of(pc)] ? NULL : &fragment[letter_of(pc)];
}

static u32 number_of(u32 id)
{
    return (id - RECORD_FIRST) / 16;
}

static u32 id_of(u32 number)
{
    return RECORD_FIRST + 16 * number;
}

bool arena_has(u32 id)
{
    return id >= RECORD_FIRST && number_of(id) < NBLOCKS && !(id & 15);
}

// As in salvage.c, for the records of these tests.
u32 salvage_words(const u64 *at)
{
    u32 id = *(const u32 *)at;

    looked++;
    if (id == RECORD_TAKEN)
        return 1;
    return arena_has(id) ? arena_extent(arena_block(id), at).slots : 0;
}

struct fragment *translate_superblock(const u64 *pc, u32 n)
{
    char *to = made + strlen(made);

    assert_int_equal(taken, dropped + 1);
    assert_in_range(n, 2, FRAGMENT_BLOCKS_MAX);
    for (u32 i = 0; i < n; i++)
        *to++ = (char)('A' + letter_of(pc[i]));
    *to = ' ';
    of_superblock = (struct fragment){ .pc = pc[0], .nmore = n - 1 };
    return fits ? &of_superblock : NULL;
}

void links_move(struct fragment *from, struct fragment *to)
{
    assert_ptr_equal(to, &of_superblock);
    moved[strlen(moved)] = (char)('A' + (from - fragment));
}

void ibl_move(const struct fragment *f)
{
    ibl_led = f;
}

// Watched fragments: a buffer is a string of the same letters, which are fragments' indices.
static u32 numbers[1024], nnumbers; // 0: the buffer is not full
static u32 emptied;
static bool cache_full;
static const char *targets; // letters that the thread's table has
static char seen_often[64]; // letters, and how often each was in the buffer
static u32 most;            // the limit passed to hotblocks_most()
static struct thread thread;

const u32 *hotblocks_full(const struct thread *t, u32 *n)
{
    assert_ptr_equal(t, &thread);
    *n = nnumbers;
    return nnumbers ? numbers : NULL;
}

void hotblocks_begin(struct thread *t)
{
    assert_ptr_equal(t, &thread);
    assert_int_equal(taken, dropped);
    emptied++;
}

void hotblocks_most(struct thread *t, u32 n)
{
    assert_ptr_equal(t, &thread);
    assert_int_equal(taken, dropped + 1);
    most = n;
}

void hotblocks_seen(struct fragment *f, u32 k)
{
    u64 end = strlen(seen_often);

    snprintf(seen_often + end, sizeof(seen_often) - end, "%c%u", (int)('A' + (f - fragment)), k);
}

bool ibl_has(const struct thread *t, const struct fragment *f)
{
    assert_ptr_equal(t, &thread);
    return strchr(targets, (int)('A' + (f - fragment))) != NULL;
}

struct fragment *tcache_by_index(u32 index)
{
    assert_in_range(index, 0, 25);
    return &fragment[index];
}

u32 tcache_next_index(void)
{
    return 26;
}

bool tcache_has_room(void)
{
    return !cache_full;
}

void tcache_lock(void)
{
    taken++;
}

// -- the test's side --

static const struct record_side sides[2] = { { .slots = 1, .blocks = 1 },
                                             { .slots = 2, .blocks = 2 } };

// Each letter's block has one successor, the next letter. Records have one word; those of vowels
// have three, thus only `slots` tells their ends.
static int setup(void **state)
{
    (void)state;
    memset(fragment, 0, sizeof(fragment));
    memset(missing, 0, sizeof(missing));
    for (u32 i = 0; i < NBLOCKS; i++) {
        block[i] =
            (struct record_block){ .pc = FIRST + i * 16, .slots = 1, .nexts = 1, .blocks = 1 };
        arena_head(id_of(i))->block = (u32)((u64)&block[i] - REPLAY_BASE);
    }
    for (const char *c = "AEIOU"; *c; c++)
        block[*c - 'A'].slots = 3;
    for (u32 i = 0; i < ARRAY_SIZE(fragment); i++)
        fragment[i] = (struct fragment){ .pc = FIRST + i * 16, .log = id_of(i) };
    block[26].pc = FIRST - 16;
    block[26].nexts = 0;
    block[27] =
        (struct record_block){ .pc = FIRST + 16, .slots = 4, .nexts = 1, .blocks = 3, .nsides = 2 };
    memcpy((void *)record_sides(&block[27]), sides, sizeof(sides));
    super = (struct fragment){ .pc = FIRST + 16, .log = id_of(27), .more = more };
    for (u32 i = 0; i < ARRAY_SIZE(more); i++)
        more[i].pc = FIRST + 16 * (i + 2);
    memset(made, 0, sizeof(made));
    memset(moved, 0, sizeof(moved));
    memset(&header, 0, sizeof(header));
    taken = dropped = 0;
    busy = false;
    fits = true;
    ibl_led = NULL;
    recordbuf_on_full = NULL;
    reftrace_on = false;
    tb_config = (struct tb_config){ .counts = true, .superblocks = true };
    superblock_init();
    return 0;
}

static u64 word_of(char c)
{
    switch (c) {
    case '.': return RECORD_TAKEN;
    case '?': return 5000 + 8;
    case '/': return id_of(26);
    case 'S': return id_of(27);
    case '1': return 1ul << 32 | id_of(27);
    case '2': return 2ul << 32 | id_of(27);
    default: return id_of((u32)c - 'A');
    }
}

// A thread's buffer is full, and is examined, `times` times. `buffers`: how many it took for the
// last of these.
static u32 buffers;

static void full(u32 times, const char *records)
{
    static u64 words[4096];
    u32 n = 0;

    for (u32 i = 0; i < ARRAY_SIZE(words); i++)
        words[i] = word_of('Z'); // also behind the end: stale records
    for (; *records; records++) {
        words[n] = word_of(*records);
        n += words[n] == 5008 ? 1 : salvage_words(&words[n]);
        assert_true(n < ARRAY_SIZE(words));
    }
    for (u32 i = 0; i < times; i++) {
        looked = 0;
        for (buffers = 0; !looked && buffers < 20; buffers++)
            recordbuf_on_full(words, words + n);
    }
    assert_int_equal(dropped, taken);
}

static void test_sightings(void **state)
{
    (void)state;
    full(47, "/ABC");
    assert_string_equal(made, "");
    full(1, "/ABC");
    assert_string_equal(made, "ABC ");
    assert_string_equal(moved, "A");
    assert_ptr_equal(ibl_led, &of_superblock);
    assert_int_equal(header.n_superblocks, 1);
    assert_int_equal(header.n_superblock_blocks, 3);
    full(100, "/A"); // it is decided
    assert_string_equal(made, "ABC ");
}

// A block that is executed rarely begins none, however long the program runs: once in 5,632
// examined records (11 buffers of 512) the 48th time is 47 * 5,632 = 264,704 after the first. In
// 5,120 it is 240,640, which is within 262,144.
static void test_rare(void **state)
{
    char records[513], others[513];

    (void)state;
    memset(others, '.', sizeof(others));
    others[512] = '\0';
    memcpy(records, others, sizeof(others));
    memcpy(records, "/AB", 3);
    for (u32 i = 0; i < 1000; i++) {
        full(1, records);
        full(10, others);
    }
    assert_string_equal(made, "");
    setup(state);
    for (u32 i = 0; i < 47; i++) {
        full(1, records);
        full(9, others);
    }
    assert_string_equal(made, "");
    full(1, records);
    assert_string_equal(made, "AB ");
    for (u32 i = 0; i < 100; i++) { // it stays decided
        full(10, others);
        full(1, records);
    }
    assert_string_equal(made, "AB ");
}

// Anywhere in one buffer, or in several.
static void test_one_buffer(void **state)
{
    char records[256] = "";

    (void)state;
    for (u32 i = 0; i < 47; i++)
        strcat(records, "/AC.");
    full(1, records);
    assert_string_equal(made, "");
    full(1, "/AC./AC.");
    assert_string_equal(made, "AC ");
    setup(state);
    strcat(records, "/AC.");
    full(1, records);
    assert_string_equal(made, "AC ");
}

// The predecessor of a candidate is an indirect branch, a jump back (also to the block itself) or a
// superblock. After a block with one successor no superblock begins, unless that block is decided.
static void test_beginnings(void **state)
{
    (void)state;
    full(60, "KLMN");
    assert_string_equal(made, "");
    full(48, "NKL"); // back
    assert_string_equal(made, "KL ");
    full(48, "PPQ");
    assert_string_equal(made, "KL PQ ");
    super.nmore = 2;
    full(48, "SXY");
    assert_string_equal(made, "KL PQ XY ");
    full(48, "KTU"); // after K, which begins one
    assert_string_equal(made, "KL PQ XY TU ");
    full(48, "VTW"); // before a record of T's, but V begins none, and T has been seen
    assert_string_equal(made, "KL PQ XY TU ");
}

// The predecessor of a buffer's first record is not known.
static void test_first(void **state)
{
    (void)state;
    full(60, "AB");
    assert_string_equal(made, "");
    full(60, "/.AB");
    assert_string_equal(made, "");
}

// 512 of a buffer's records: `/` and A are the 511th and 512th, or the 512th and 513th.
static void test_looked_at(void **state)
{
    char records[520];

    (void)state;
    memset(records, '.', sizeof(records));
    strcpy(records + 511, "/AB");
    full(60, records);
    assert_string_equal(made, "");
    strcpy(records + 510, "/AB");
    full(47, records);
    assert_string_equal(made, "");
    full(1, records);
    assert_string_equal(made, "AB "); // B is not examined
}

// 36 times the path is ignored. Of the last twelve paths the common part counts.
static void test_common(void **state)
{
    (void)state;
    full(36, "/AXY");
    full(11, "/ABCD");
    full(1, "/ABCF");
    assert_string_equal(made, "ABC ");
    full(36, "/GXY");
    full(1, "/GHI"); // the thirty-seventh
    full(11, "/GHIJ");
    assert_string_equal(made, "ABC GHI ");
    full(36, "/KXY");
    full(1, "/KLMN");
    full(1, "/KLN");
    full(10, "/KLMN");
    assert_string_equal(made, "ABC GHI KL ");
}

// No superblock is made of one block, then or later.
static void test_nothing_common(void **state)
{
    (void)state;
    full(47, "/ABC");
    full(1, "/ACC");
    assert_string_equal(made, "");
    full(60, "/A");
    assert_string_equal(made, "");
    full(36, "/FGH");
    full(1, "/FXX");
    full(11, "/FGH");
    assert_string_equal(made, "");
}

// A one-block loop is unrolled as often as it fits: 14 times. So is a loop of several blocks, the
// last iteration as far as it fits.
static void test_reentry(void **state)
{
    char records[256] = "/";

    (void)state;
    for (u32 i = 0; i < 62; i++)
        strcat(records, "K");
    full(1, records); // after the 48th there are 14 more
    assert_string_equal(made, "KKKKKKKKKKKKKK ");
    assert_int_equal(header.n_superblock_blocks, 14);
    strcpy(records, "/");
    for (u32 i = 0; i < 53; i++)
        strcat(records, "LMN");
    full(1, records);
    assert_string_equal(made, "KKKKKKKKKKKKKK LMNLMNLMNLMNLM ");
}

// A path ends with the buffer: after P's 48th sighting there is one more block, after Q's none.
static void test_buffer_ends(void **state)
{
    char records[64] = "/";

    (void)state;
    for (u32 i = 0; i < 49; i++)
        strcat(records, "P");
    full(1, records);
    assert_string_equal(made, "PP ");
    strcpy(records, "/");
    for (u32 i = 0; i < 48; i++)
        strcat(records, "Q");
    full(1, records);
    assert_string_equal(made, "PP ");
}

// A loop that does not begin at the superblock's first block: C leads back to B. B is seen as often
// as A, with no path.
static void test_other_loop(void **state)
{
    (void)state;
    full(48, "/ABCB");
    assert_string_equal(made, "ABC ");
    full(48, "/FGG");
    assert_string_equal(made, "ABC FG ");
}

// A superblock in a path counts as its executed blocks.
static void test_expanded(void **state)
{
    (void)state;
    super.nmore = 2;
    full(48, "/ASX");
    assert_string_equal(made, "ABCDX ");
    full(48, "/F1X");
    assert_string_equal(made, "ABCDX FBX ");
    full(48, "/G2X");
    assert_string_equal(made, "ABCDX FBX GBCX ");
    full(47, "/HSX");
    full(1, "/H2X");
    assert_string_equal(made, "ABCDX FBX GBCX HBC ");
    super.log = id_of(3); // another one has replaced it: its blocks are not known
    full(48, "/IJSX");
    assert_string_equal(made, "ABCDX FBX GBCX HBC IJ ");
    super.nmore = 0;
    full(48, "/KLSX");
    assert_string_equal(made, "ABCDX FBX GBCX HBC IJ KL ");
}

// Not more than a superblock holds: the last of B to O do not fit.
static void test_expanded_too_far(void **state)
{
    (void)state;
    super.nmore = 13;
    block[27].blocks = 14;
    full(48, "/AS");
    assert_string_equal(made, "ABCDEFGHIJKLMN ");
    full(48, "/PQRS");
    assert_string_equal(made, "ABCDEFGHIJKLMN PQRBCDEFGHIJKL ");
}

// A record of a superblock is never a beginning: it is one already.
static void test_superblock(void **state)
{
    (void)state;
    super.nmore = 2;
    full(60, "/S");
    full(60, "SSS111222");
    assert_string_equal(made, "");
    super.nmore = 0; // it is gone: B is seen from now on
    full(47, "/BX");
    assert_string_equal(made, "");
    full(1, "/BX");
    assert_string_equal(made, "BX ");
    super.nmore = 2;
    full(48, "SXY.12TU."); // after one, another may begin
    assert_string_equal(made, "BX XY TU ");
}

// Two blocks with the same candidate entry: sightings are not mixed, and each block starts again
// after the other has used the entry.
static void test_same_place(void **state)
{
    u64 pc = FIRST - 32;

    (void)state;
    while ((pc * PLACE >> 32 & 4095) != (FIRST * PLACE >> 32 & 4095))
        pc -= 16;
    block['Y' - 'A'].pc = pc;
    full(40, "/AB");
    full(1, "/YB");
    full(47, "/AB");
    assert_string_equal(made, "");
    full(1, "/AB");
    assert_string_equal(made, "AB ");
    full(60, "YTU"); // after Y, which begins none, though A does
    assert_string_equal(made, "AB ");
    full(48, "/YB");
    assert_string_equal(made, "AB YB ");
}

// A path ends at anything but a record: a word between two, an unknown id, the end of the buffer.
static void test_words(void **state)
{
    (void)state;
    full(48, "/AB.C");
    assert_string_equal(made, "AB ");
    full(48, "/FGH?I");
    assert_string_equal(made, "AB FGH ");
    full(48, "/K.L");
    assert_string_equal(made, "AB FGH ");
    full(60, "?/PQ"); // nor is anything after it examined
    assert_string_equal(made, "AB FGH ");
}

static void test_cannot(void **state)
{
    static const u32 flags[] = { FRAGMENT_WRITABLE, FRAGMENT_STEP, FRAGMENT_ALONE,
                                 FRAGMENT_REQUEST };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(flags); i++) {
        fragment[0].flags = flags[i];
        full(60, "/AB");
        assert_string_equal(made, "");
        full(1, "/X"); // no common path remains
        setup(state);
    }
    fragment[0].nmore = 1; // it is a superblock; this was a record of the block alone
    full(60, "/AB");
    assert_string_equal(made, "");
    missing[5] = true;
    full(60, "/FG");
    assert_string_equal(made, "");
    fits = false; // requested once
    full(60, "/KL");
    assert_string_equal(made, "KL ");
    assert_string_equal(moved, "");
    assert_null(ibl_led);
    assert_int_equal(header.n_superblocks, 0);
    assert_int_equal(header.n_superblock_blocks, 0);
}

// A thread never waits for the lock; a buffer that it did not examine does not count.
// With --data=yes a superblock may begin where the dispatcher sees a block, and ends before one.
static void test_points(void **state)
{
    (void)state;
    points = "DFJV";
    full(48, "/ABCD");
    assert_string_equal(made, "ABCD ");
    tb_config.data = true;
    full(48, "/KLFM"); // F follows what has been decided, and begins one
    full(48, "/NVW"); // one block
    full(48, "/JPJP");
    assert_string_equal(made, "ABCD KL FM JP ");
    points = "";
}

static void test_lock(void **state)
{
    (void)state;
    busy = true;
    full(60, "/AB");
    assert_int_equal(taken, 0);
    assert_int_equal(dropped, 0);
    busy = false;
    full(47, "/AB");
    assert_string_equal(made, "");
    full(1, "/AB");
    assert_string_equal(made, "AB ");
}

// While nothing is counted, nothing is made.
static void test_uncounted(void **state)
{
    (void)state;
    tb_config.counts = false;
    full(60, "/AB");
    assert_int_equal(taken, 0);
    tb_config.counts = true;
    full(47, "/AB");
    assert_string_equal(made, "");
    full(1, "/AB");
    assert_string_equal(made, "AB ");
}

// Two for one buffer; the rest is seen next time. One that did not fit does not count.
static void test_two(void **state)
{
    (void)state;
    full(48, "/AB./FG./KL");
    assert_string_equal(made, "AB FG ");
    assert_int_equal(header.n_superblocks, 2);
    full(1, "/KL");
    assert_string_equal(made, "AB FG KL ");
    setup(state);
    fits = false;
    full(48, "/AB./FG./KL");
    assert_string_equal(made, "AB FG KL ");
}

// Skipped buffers: one more each time that nothing was found, up to 4; none after a buffer that
// gave a superblock.
static void test_idle(void **state)
{
    (void)state;
    full(20, "AB");
    assert_int_equal(buffers, 5);
    full(47, "/AB");
    assert_int_equal(buffers, 5);
    full(1, "/AB");
    assert_string_equal(made, "AB ");
    for (u32 i = 1; i <= 5; i++) {
        full(1, "/A");
        assert_int_equal(buffers, i);
    }
    full(1, "/A");
    assert_int_equal(buffers, 5);
}

// A flush drops earlier sightings.
static void test_flushed(void **state)
{
    (void)state;
    full(47, "/AB");
    header.n_flush++;
    full(47, "/AB");
    assert_string_equal(made, "");
    full(1, "/AB");
    assert_string_equal(made, "AB ");
    header.n_flush++;
    full(48, "/AB");
    assert_string_equal(made, "AB AB ");
}

static void test_off(void **state)
{
    (void)state;
    recordbuf_on_full = NULL;
    tb_config.superblocks = false;
    superblock_init();
    assert_null(recordbuf_on_full);
    tb_config.superblocks = true;
    reftrace_on = true; // traces have a reference of each instruction
    superblock_init();
    assert_null(recordbuf_on_full);
    reftrace_on = false;
    superblock_init();
    assert_non_null(recordbuf_on_full);
}

// -- watched fragments --

static struct fragment_exit exits[26][2];

// Each letter's block leads to the next letter's, or to the one after that; those of X, Y and Z end
// in an indirect branch.
static int setup_watched(void **state)
{
    setup(state);
    for (u32 i = 0; i < 26; i++) {
        exits[i][0].target = FIRST + (i + 1) * 16;
        exits[i][1].target = FIRST + (i + 2) * 16;
        fragment[i].exit = exits[i];
        fragment[i].nexits = i < 23 ? 2 : 0;
        fragment[i].ibl_jmp[0] = i < 23 ? 0 : 1;
    }
    tb_config.watch = true;
    targets = "";
    cache_full = false;
    nnumbers = emptied = most = 0;
    recordbuf_on_full = NULL;
    superblock_init();
    assert_null(recordbuf_on_full);
    return 0;
}

// A full buffer: the letters, so many times.
static void noted(u32 times, const char *letters)
{
    nnumbers = 0;
    for (u32 i = 0; i < times; i++) {
        for (const char *c = letters; *c; c++)
            numbers[nnumbers++] = (u32)(*c - 'A') * 8;
        assert_true(nnumbers < ARRAY_SIZE(numbers));
    }
    memset(seen_often, 0, sizeof(seen_often));
    emptied = 0;
    superblock_watched(&thread);
    assert_int_equal(emptied, 1);
    assert_int_equal(taken, dropped);
}

// X leads to A by an indirect branch, and C cannot have led to X. The first of a buffer has no
// predecessor: X is seen once less.
static void test_watched(void **state)
{
    (void)state;
    targets = "A";
    noted(47, "XABC");
    assert_string_equal(made, "");
    assert_string_equal(seen_often, "X47A47B47C47");
    noted(32, "XABC");
    assert_string_equal(made, "ABC XABC ");
    assert_string_equal(moved, "AX");
    assert_ptr_equal(ibl_led, &of_superblock);
    assert_int_equal(fragment[0].flags, FRAGMENT_PAST);
    assert_int_equal(fragment[1].flags, 0);
    assert_int_equal(header.n_superblocks, 2);
    assert_int_equal(header.n_superblock_blocks, 7);
}

static void test_not_full(void **state)
{
    (void)state;
    nnumbers = 0;
    superblock_watched(&thread);
    assert_int_equal(emptied, 0);
    assert_int_equal(taken, 0);
}

// 31 times in one buffer are too few, however many buffers there are.
static void test_dense(void **state)
{
    (void)state;
    targets = "A";
    for (u32 i = 0; i < 5; i++)
        noted(31, "XABC");
    assert_string_equal(made, "");
    noted(32, "XABC");
    assert_string_equal(made, "");
    noted(32, "XABC");
    assert_string_equal(made, "ABC XABC ");
}

// An entry that the one before cannot lead to, by an exit or by the thread's table of targets, was
// executed later: a new path begins there.
static void test_gaps(void **state)
{
    (void)state;
    noted(60, "ABCF"); // A follows F backwards, F comes after a gap and has no path
    assert_string_equal(made, "ABC ");
    setup_watched(state);
    noted(60, "KLM");
    assert_string_equal(made, "KLM "); // after M, which cannot lead back: a gap as well
    setup_watched(state);
    targets = "B";
    noted(60, "AXC"); // X does not lead to C
    assert_string_equal(made, "");
    setup_watched(state);
    targets = "C";
    noted(60, "WXCD");
    assert_string_equal(made, "CD WXCD "); // W is not seen the first time
}

// A superblock is a step of several blocks, and its successor may begin one.
static void test_through_superblocks(void **state)
{
    (void)state;
    fragment[1].nmore = 2; // B, with C and D
    fragment[1].more = more;
    exits[1][0].target = FIRST + 4 * 16; // which leads to E
    noted(60, "ABEF");
    assert_string_equal(made, "EF ABCDEF ");
}

static void test_watched_dead(void **state)
{
    (void)state;
    fragment[1].flags = FRAGMENT_DEAD;
    noted(60, "ABC");
    assert_string_equal(made, "");
    fragment[1].flags = 0;
    cache_full = true;
    noted(60, "DEF");
    assert_string_equal(made, "");
    cache_full = false;
    tb_config.counts = false;
    noted(60, "GHI");
    assert_string_equal(made, "");
}

// superblock_sample() drops the candidates: they may be found again.
static void test_look(void **state)
{
    (void)state;
    noted(60, "ABC");
    assert_string_equal(made, "ABC ");
    noted(60, "ABC"); // after A, which begins one
    assert_string_equal(made, "ABC BC ");
    superblock_sample(&thread);
    assert_int_equal(most, 26);
    assert_int_equal(taken, dropped);
    noted(60, "ABC");
    assert_string_equal(made, "ABC BC ABC ");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sightings, setup),
        cmocka_unit_test_setup(test_rare, setup),
        cmocka_unit_test_setup(test_one_buffer, setup),
        cmocka_unit_test_setup(test_beginnings, setup),
        cmocka_unit_test_setup(test_first, setup),
        cmocka_unit_test_setup(test_looked_at, setup),
        cmocka_unit_test_setup(test_common, setup),
        cmocka_unit_test_setup(test_nothing_common, setup),
        cmocka_unit_test_setup(test_reentry, setup),
        cmocka_unit_test_setup(test_buffer_ends, setup),
        cmocka_unit_test_setup(test_other_loop, setup),
        cmocka_unit_test_setup(test_expanded, setup),
        cmocka_unit_test_setup(test_expanded_too_far, setup),
        cmocka_unit_test_setup(test_superblock, setup),
        cmocka_unit_test_setup(test_same_place, setup),
        cmocka_unit_test_setup(test_words, setup),
        cmocka_unit_test_setup(test_cannot, setup),
        cmocka_unit_test_setup(test_points, setup),
        cmocka_unit_test_setup(test_lock, setup),
        cmocka_unit_test_setup(test_uncounted, setup),
        cmocka_unit_test_setup(test_two, setup),
        cmocka_unit_test_setup(test_idle, setup),
        cmocka_unit_test_setup(test_flushed, setup),
        cmocka_unit_test_setup(test_off, setup),
        cmocka_unit_test_setup(test_watched, setup_watched),
        cmocka_unit_test_setup(test_not_full, setup_watched),
        cmocka_unit_test_setup(test_dense, setup_watched),
        cmocka_unit_test_setup(test_gaps, setup_watched),
        cmocka_unit_test_setup(test_through_superblocks, setup_watched),
        cmocka_unit_test_setup(test_watched_dead, setup_watched),
        cmocka_unit_test_setup(test_look, setup_watched),
    };

    if (sys_failed(sys_mmap(REPLAY_BASE, 4 * PAGE_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)))
        return 1;
    return cmocka_run_group_tests_name("translate/superblock", tests, NULL, NULL);
}
