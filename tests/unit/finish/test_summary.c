// SPDX-License-Identifier: MIT
//
// The summary; the expected text is what Cachegrind 3.19 printed for a program with these counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "finish/end/end.h"

static void prints(const struct spool_header *h, const uint64_t *counts, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    summary_print(f, h, counts);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

// In the order of a Cachegrind profile of two levels.
#define COUNTS(ir, i1mr, ilmr, dr, d1mr, dlmr, dw, d1mw, dlmw, bc, bcm, bi, bim)                  \
    {                                                                                             \
        [FINISH_IR] = (ir), [FINISH_I1MR] = (i1mr), [FINISH_ILMR] = (ilmr), [FINISH_DR] = (dr),   \
        [FINISH_D1MR] = (d1mr), [FINISH_DLMR] = (dlmr), [FINISH_DW] = (dw),                       \
        [FINISH_D1MW] = (d1mw), [FINISH_DLMW] = (dlmw), [FINISH_BC] = (bc), [FINISH_BCM] = (bcm), \
        [FINISH_BI] = (bi), [FINISH_BIM] = (bim),                                                 \
    }

static void test_summary(void **state)
{
    struct spool_header h = { .pid = 4619, .flags = SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM };
    const uint64_t counts[FINISH_EVENTS] =
        COUNTS(171942, 1277, 1257, 34363, 1160, 1009, 13045, 377, 351, 33469, 3695, 741, 167);
    // A program with many misses, and other caches.
    const uint64_t small[FINISH_EVENTS] =
        COUNTS(171942, 6491, 5989, 34363, 10633, 8916, 13045, 2424, 1819, 0, 0, 0, 0);

    (void)state;
    prints(&h, counts,
           "==4619== I   refs:      171,942\n"
           "==4619== I1  misses:      1,277\n"
           "==4619== LLi misses:      1,257\n"
           "==4619== I1  miss rate:    0.74%\n"
           "==4619== LLi miss rate:    0.73%\n"
           "==4619== \n"
           "==4619== D   refs:       47,408  (34,363 rd   + 13,045 wr)\n"
           "==4619== D1  misses:      1,537  ( 1,160 rd   +    377 wr)\n"
           "==4619== LLd misses:      1,360  ( 1,009 rd   +    351 wr)\n"
           "==4619== D1  miss rate:     3.2% (   3.4%     +    2.9%  )\n"
           "==4619== LLd miss rate:     2.9% (   2.9%     +    2.7%  )\n"
           "==4619== \n"
           "==4619== LL refs:         2,814  ( 2,437 rd   +    377 wr)\n"
           "==4619== LL misses:       2,617  ( 2,266 rd   +    351 wr)\n"
           "==4619== LL miss rate:      1.2% (   1.1%     +    2.7%  )\n"
           "==4619== \n"
           "==4619== Branches:       34,210  (33,469 cond +    741 ind)\n"
           "==4619== Mispredicts:     3,862  ( 3,695 cond +    167 ind)\n"
           "==4619== Mispred rate:     11.3% (  11.0%     +   22.5%   )\n");
    h.flags = SPOOL_F_CACHE_SIM;
    h.pid = 8064;
    prints(&h, small,
           "==8064== I   refs:      171,942\n"
           "==8064== I1  misses:      6,491\n"
           "==8064== LLi misses:      5,989\n"
           "==8064== I1  miss rate:    3.78%\n"
           "==8064== LLi miss rate:    3.48%\n"
           "==8064== \n"
           "==8064== D   refs:       47,408  (34,363 rd   + 13,045 wr)\n"
           "==8064== D1  misses:     13,057  (10,633 rd   +  2,424 wr)\n"
           "==8064== LLd misses:     10,735  ( 8,916 rd   +  1,819 wr)\n"
           "==8064== D1  miss rate:    27.5% (  30.9%     +   18.6%  )\n"
           "==8064== LLd miss rate:    22.6% (  25.9%     +   13.9%  )\n"
           "==8064== \n"
           "==8064== LL refs:        19,548  (17,124 rd   +  2,424 wr)\n"
           "==8064== LL misses:      16,724  (14,905 rd   +  1,819 wr)\n"
           "==8064== LL miss rate:      7.6% (   7.2%     +   13.9%  )\n");
}

// More references than instructions, and few branches: all columns are as wide as 1,200.
static void test_summary_of_references(void **state)
{
    struct spool_header h = { .pid = 9, .flags = SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM };
    const uint64_t counts[FINISH_EVENTS] = COUNTS(900, 9, 9, 900, 9, 9, 300, 3, 3, 10, 1, 0, 0);

    (void)state;
    prints(&h, counts,
           "==9== I   refs:        900\n"
           "==9== I1  misses:        9\n"
           "==9== LLi misses:        9\n"
           "==9== I1  miss rate:  1.00%\n"
           "==9== LLi miss rate:  1.00%\n"
           "==9== \n"
           "==9== D   refs:      1,200  (900 rd   + 300 wr)\n"
           "==9== D1  misses:       12  (  9 rd   +   3 wr)\n"
           "==9== LLd misses:       12  (  9 rd   +   3 wr)\n"
           "==9== D1  miss rate:   1.0% (1.0%     + 1.0%  )\n"
           "==9== LLd miss rate:   1.0% (1.0%     + 1.0%  )\n"
           "==9== \n"
           "==9== LL refs:          21  ( 18 rd   +   3 wr)\n"
           "==9== LL misses:        21  ( 18 rd   +   3 wr)\n"
           "==9== LL miss rate:    1.0% (1.0%     + 1.0%  )\n"
           "==9== \n"
           "==9== Branches:         10  ( 10 cond +   0 ind)\n"
           "==9== Mispredicts:       1  (  1 cond +   0 ind)\n"
           "==9== Mispred rate:   10.0% (10.0%     + 0.0%   )\n");
}

// Three levels: an LL reference is a miss of L2.
static void test_summary_of_three_levels(void **state)
{
    struct spool_header h = { .pid = 9, .flags = SPOOL_F_CACHE_SIM | SPOOL_F_L2 };
    uint64_t counts[FINISH_EVENTS] = COUNTS(1000, 40, 10, 400, 80, 20, 200, 60, 30, 0, 0, 0, 0);

    (void)state;
    counts[FINISH_I2MR] = 20;
    counts[FINISH_D2MR] = 50;
    counts[FINISH_D2MW] = 45;
    prints(&h, counts,
           "==9== I   refs:      1,000\n"
           "==9== I1  misses:       40\n"
           "==9== L2i misses:       20\n"
           "==9== LLi misses:       10\n"
           "==9== I1  miss rate:  4.00%\n"
           "==9== L2i miss rate:  2.00%\n"
           "==9== LLi miss rate:  1.00%\n"
           "==9== \n"
           "==9== D   refs:        600  (400 rd   + 200 wr)\n"
           "==9== D1  misses:      140  ( 80 rd   +  60 wr)\n"
           "==9== L2d misses:       95  ( 50 rd   +  45 wr)\n"
           "==9== LLd misses:       50  ( 20 rd   +  30 wr)\n"
           "==9== D1  miss rate:  23.3% (20.0%     + 30.0%  )\n"
           "==9== L2d miss rate:  15.8% (12.5%     + 22.5%  )\n"
           "==9== LLd miss rate:   8.3% (5.0%     + 15.0%  )\n"
           "==9== \n"
           "==9== L2 refs:         180  (120 rd   +  60 wr)\n"
           "==9== L2 misses:       115  ( 70 rd   +  45 wr)\n"
           "==9== L2 miss rate:    7.2% (5.0%     + 22.5%  )\n"
           "==9== \n"
           "==9== LL refs:         115  ( 70 rd   +  45 wr)\n"
           "==9== LL misses:        60  ( 30 rd   +  30 wr)\n"
           "==9== LL miss rate:    3.8% (2.1%     + 15.0%  )\n");
}

static void test_summary_without_caches(void **state)
{
    struct spool_header h = { .pid = 5564, .flags = SPOOL_F_BRANCH_SIM };
    const uint64_t counts[FINISH_EVENTS] =
        COUNTS(171968, 0, 0, 0, 0, 0, 0, 0, 0, 33471, 3694, 741, 167);

    (void)state;
    prints(&h, counts,
           "==5564== I   refs:      171,968\n"
           "==5564== \n"
           "==5564== Branches:       34,212  (33,471 cond + 741 ind)\n"
           "==5564== Mispredicts:     3,861  ( 3,694 cond + 167 ind)\n"
           "==5564== Mispred rate:     11.3% (  11.0%     + 22.5%   )\n");
    h.flags = 0;
    prints(&h, counts, "==5564== I   refs:      171,968\n");
}

static void test_summary_of_next_to_nothing(void **state)
{
    struct spool_header h = { .pid = 1, .flags = SPOOL_F_CACHE_SIM };
    const uint64_t counts[FINISH_EVENTS] = COUNTS(3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    (void)state;
    // DIFFERS: the last line; Cachegrind prints 25.0% (it divides by 4).
    prints(&h, counts,
           "==1== I   refs:      3\n"
           "==1== I1  misses:    1\n"
           "==1== LLi misses:    1\n"
           "==1== I1  miss rate: 33.33%\n"
           "==1== LLi miss rate: 33.33%\n"
           "==1== \n"
           "==1== D   refs:      0  (0 rd   + 0 wr)\n"
           "==1== D1  misses:    0  (0 rd   + 0 wr)\n"
           "==1== LLd misses:    0  (0 rd   + 0 wr)\n"
           "==1== D1  miss rate: 0.0% (0.0%     + 0.0%  )\n"
           "==1== LLd miss rate: 0.0% (0.0%     + 0.0%  )\n"
           "==1== \n"
           "==1== LL refs:       1  (1 rd   + 0 wr)\n"
           "==1== LL misses:     1  (1 rd   + 0 wr)\n"
           "==1== LL miss rate:  33.3% (33.3%     + 0.0%  )\n");
}

static void test_summary_of_a_core(void **state)
{
    struct spool_header h = { .pid = 1,
                              .flags = SPOOL_F_BRANCH_SIM | SPOOL_F_PREDICTOR | SPOOL_F_CORE };
    uint64_t c[FINISH_EVENTS] = { [FINISH_IR] = 900,     [FINISH_BC] = 100,    [FINISH_BCM] = 7,
                                  [FINISH_BI] = 0,       [FINISH_BRM] = 3,     [FINISH_CY] = 1000,
                                  [FINISH_CYBASE] = 200, [FINISH_CYMEM] = 795, [FINISH_CYTLB] = 5 };

    (void)state;
    prints(&h, c,
           "==1== I   refs:        900\n"
           "==1== \n"
           "==1== Branches:        100  (100 cond + 0 ind)\n"
           "==1== Mispredicts:       7  (  7 cond + 0 ind)\n"
           "==1== Mispred rate:    7.0% (7.0%     + 0.0%   )\n"
           "==1== Mispred returns:     3\n"
           "==1== \n"
           "==1== Cycles:        1,000\n"
           "==1==   CyBase         200  (20.0%)\n"
           "==1==   CyFront          0  ( 0.0%)\n"
           "==1==   CyBad            0  ( 0.0%)\n"
           "==1==   CyMem          795  (79.5%)\n"
           "==1==   CyTLB            5  ( 0.5%)\n"
           "==1==   CyCore           0  ( 0.0%)\n");
}

static void test_summary_of_pages_and_prefetches(void **state)
{
    struct spool_header h = { .pid = 1, .flags = SPOOL_F_TLB | SPOOL_F_PREFETCH };
    const uint64_t c[FINISH_EVENTS] = { [FINISH_IR] = 9000, [FINISH_ITM] = 1, [FINISH_DTM] = 20,
                                        [FINISH_STM] = 3,   [FINISH_PFU] = 4, [FINISH_PFW] = 50 };

    (void)state;
    prints(&h, c,
           "==1== I   refs:      9,000\n"
           "==1== \n"
           "==1== ITLB misses:       1\n"
           "==1== DTLB misses:      20\n"
           "==1== Page walks:        3\n"
           "==1== \n"
           "==1== L2 ahead, used:     4\n"
           "==1== L2 ahead, wasted:    50\n");
}

// Each number of -v has its own line; 3 ms for 1,500 blocks are 2 us each.
static void test_engine(void **state)
{
    struct spool_header h = { .pid = 1,
                              .n_translated = 1500,
                              .block_count = 1400,
                              .ns_translating = 3000000,
                              .n_translated_insns = 2,
                              .code_bytes = 3,
                              .n_dispatch = 4,
                              .n_ibl_miss = 5,
                              .n_links = 6,
                              .n_pcache_revived = 7,
                              .n_pcache_saved = 8,
                              .n_superblocks = 9,
                              .n_superblock_blocks = 10,
                              .n_handed = 11,
                              .n_helped = 12,
                              .n_ahead = 13,
                              .n_again = 4,
                              .n_replayed = 14,
                              .n_flush = 15,
                              .n_invalidate = 16,
                              .n_signals = 17,
                              .n_stepped = 18,
                              .n_slow_syscalls = 19,
                              .threads_used = 20 };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    summary_engine(f, &h);
    fclose(f);
    assert_string_equal(
        text, "==1== \n"
              "==1== engine: 1,500 blocks translated (1,400 different), 3.000 ms, 2.00 us per "
              "block\n"
              "==1== engine: 2 instructions translated\n"
              "==1== engine: 3 bytes of code cache written\n"
              "==1== engine: 4 exits to the dispatcher\n"
              "==1== engine: 5 indirect-branch misses\n"
              "==1== engine: 6 links made\n"
              "==1== engine: 7 translations of earlier runs\n"
              "==1== engine: 8 translations kept for later runs\n"
              "==1== engine: 9 superblocks made\n"
              "==1== engine: 10 blocks in superblocks\n"
              "==1== engine: 11 full buffers handed over to quern-replay\n"
              "==1== engine: 12 references to LL simulated by their thread meanwhile\n"
              "==1== engine: 13 full buffers simulated by their thread ahead of their turn\n"
              "==1== engine: 4 of these once more, in their turn\n"
              "==1== engine: 14 full buffers replayed by their thread\n"
              "==1== engine: 15 code cache flushes\n"
              "==1== engine: 16 blocks invalidated\n"
              "==1== engine: 17 signals delivered\n"
              "==1== engine: 18 instructions single-stepped\n"
              "==1== engine: 19 slow system calls\n"
              "==1== engine: 20 thread slots\n");
    free(text);
}

// Callgrind's order of events, and no commas.
static void test_collected(void **state)
{
    struct spool_header h = { .pid = 7, .flags = SPOOL_F_CACHE_SIM | SPOOL_F_SYSTIME };
    uint64_t counts[FINISH_EVENTS];
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    // the n-th of a Callgrind profile with all events has 1000 + n
    for (unsigned i = 0; i < FINISH_EVENTS; i++)
        counts[finish_callgrind[i].in] = 1000 + i;
    summary_collected(f, &h, counts);
    fclose(f);
    assert_string_equal(
        text, "==7== Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw sysCount sysTime\n"
              "==7== Collected : 1000 1001 1002 1003 1004 1005 1009 1010 1011 1030 1031\n"
              "==7== \n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_summary_of_references),
        cmocka_unit_test(test_summary_of_three_levels),
        cmocka_unit_test(test_summary_without_caches),
        cmocka_unit_test(test_summary_of_next_to_nothing),
        cmocka_unit_test(test_summary_of_a_core),
        cmocka_unit_test(test_summary_of_pages_and_prefetches),
        cmocka_unit_test(test_engine),
        cmocka_unit_test(test_collected),
    };

    return cmocka_run_group_tests_name("finish_summary", tests, NULL, NULL);
}
