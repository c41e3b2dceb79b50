// SPDX-License-Identifier: MIT
//
// The reader of machine files: what a file gives, and of every fault the line, the column and the
// message. All numbers and texts here are stated by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/machine.h"

#define FIRST(name) "[" name "]\nsize = 32 KiB\nways = 8\nline = 64\nreplacement = lru\n" // 5 lines
#define LL2         "[LL]\nsize = 2 MiB\nways = 16\nline = 64\nreplacement = lru\nfilling = miss\n"
#define L2          "[L2]\nsize = 1 MiB\nways = 16\nline = 64\nreplacement = plru\n"
#define TWO         "[machine]\ntitle = Two\n" FIRST("L1I") FIRST("L1D") // 12 lines

static void reads(struct machine *m, const char *text, size_t size)
{
    struct machine_error e;

    if (!machine_read(m, text, size, &e))
        fail_msg("%u:%u: %s", e.line, e.column, e.text);
}

static void is_geometry(const struct spool_geometry *g, uint32_t size, uint32_t ways, uint32_t line)
{
    assert_int_equal(g->size, size);
    assert_int_equal(g->assoc, ways);
    assert_int_equal(g->line, line);
}

static void test_read_whole(void **state)
{
    static const char text[] = "# a comment\n"
                               "\n"
                               "[machine]\n"
                               "  title\t=  Three levels, \xc3\xa9  \n"
                               "[match]\n"
                               "vendor = GenuineIntel\n"
                               "family = 6\n"
                               "models = 0x55, 106,\t0x8F-0X91 , 255\n"
                               "share = 1408KiB\n"
                               "[LL]\n" // in any order
                               "replacement = srrip\n"
                               "filling = victim\n"
                               "size = 23068672\n"
                               "ways = 11\n"
                               "line = 64\n" FIRST("L1I") L2 "[L1D]\nsize = 48 KiB\nways = 12\n"
                                                             "line = 64\nreplacement = lru";
    static const unsigned models[] = { 0x55, 106, 0x8f, 0x90, 0x91, 255 };
    struct machine m;
    unsigned count = 0;

    (void)state;
    reads(&m, text, sizeof(text) - 1);
    assert_string_equal(m.title, "Three levels, \xc3\xa9");
    assert_string_equal(m.match.vendor, "GenuineIntel");
    assert_int_equal(m.match.family, 6);
    assert_int_equal(m.match.share, 1441792);
    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
        assert_int_equal(m.match.models[models[i]], 1);
    for (size_t i = 0; i < MACHINE_MODELS; i++)
        count += m.match.models[i];
    assert_int_equal(count, 6);
    is_geometry(&m.i1, 32768, 8, 64);
    is_geometry(&m.d1, 49152, 12, 64);
    is_geometry(&m.l2, 1048576, 16, 64);
    is_geometry(&m.ll, 23068672, 11, 64);
    assert_true(m.has_l2);
    assert_int_equal(m.l2_replacement, SPOOL_PLRU);
    assert_int_equal(m.ll_replacement, SPOOL_SRRIP);
    assert_int_equal(m.ll_filling, SPOOL_FILL_VICTIM);
}

#define TLBS                                                                              \
    "[ITLB]\nentries = 128\nways = 8\n[DTLB]\nentries = 96\nways = 6\n[STLB]\nentries = " \
    "2048\nways = 16\n"
#define AHEAD "[prefetch]\ndistance = 20\nbatch = 2\npairs = yes\n"

static void test_read_rest(void **state)
{
    static const char text[] = TWO LL2 L2 TLBS AHEAD "[branch]\npredictor = tage\n";
    static const char none[] = TWO LL2;
    struct machine m;

    (void)state;
    reads(&m, text, sizeof(text) - 1);
    assert_int_equal(m.itlb.entries, 128);
    assert_int_equal(m.itlb.ways, 8);
    assert_int_equal(m.dtlb.entries, 96);
    assert_int_equal(m.dtlb.ways, 6);
    assert_int_equal(m.stlb.entries, 2048);
    assert_int_equal(m.stlb.ways, 16);
    assert_true(m.has_prefetch);
    assert_int_equal(m.prefetch.distance, 20);
    assert_int_equal(m.prefetch.batch, 2);
    assert_int_equal(m.prefetch.pairs, 1);
    assert_int_equal(m.prefetch.next, 0);
    assert_int_equal(m.predictor, MACHINE_PREDICTOR_TAGE);
    reads(&m, none, sizeof(none) - 1);
    assert_int_equal(m.stlb.entries, 0);
    assert_false(m.has_prefetch);
    assert_int_equal(m.predictor, MACHINE_PREDICTOR_CACHEGRIND);
}

static void test_read_two_levels(void **state)
{
    struct machine m;

    (void)state;
    reads(&m, TWO LL2, sizeof(TWO LL2) - 1);
    assert_false(m.has_l2);
    is_geometry(&m.l2, 0, 0, 0);
    is_geometry(&m.ll, 2097152, 16, 64);
    assert_int_equal(m.ll_replacement, SPOOL_LRU);
    assert_int_equal(m.ll_filling, SPOOL_FILL_MISS);
    assert_string_equal(m.match.vendor, "");
}

// Every newline becomes a carriage return and a newline, behind a byte order mark.
static void test_read_of_windows(void **state)
{
    static const char text[] = TWO LL2;
    char other[2 * sizeof(text) + 3] = "\xef\xbb\xbf";
    size_t n = 3;
    struct machine m;

    (void)state;
    for (const char *s = text; *s; s++) {
        if (*s == '\n')
            other[n++] = '\r';
        other[n++] = *s;
    }
    reads(&m, other, n);
    assert_string_equal(m.title, "Two");
    is_geometry(&m.ll, 2097152, 16, 64);
}

static const struct {
    const char *text;
    unsigned line, column;
    const char *said;
} faults[] = {
    { "", 1, 1, "the file ends without [machine]" },
    { "\n\n# no more\n", 3, 1, "the file ends without [machine]" },
    { "[machine]\ntitle = x\n" FIRST("L1I") LL2, 13, 1, "the file ends without [L1D]" },
    { TWO, 12, 1, "the file ends without [LL]" },
    { "hello\n", 1, 1,
      "hello: neither [SECTION] nor KEY = VALUE nor a comment, which begins with #" },
    { "title = x\n", 1, 1, "title: a key before the first section; begin with [machine]" },
    { "  [L3]\n", 1, 3,
      "[L3]: unknown section; there are [machine], [match], [L1I], [L1D], [L2], [LL], "
      "[ITLB], [DTLB], [STLB], [prefetch], [branch], [core]" },
    { "[l2]\n", 1, 1,
      "[l2]: unknown section; there are [machine], [match], [L1I], [L1D], [L2], [LL], "
      "[ITLB], [DTLB], [STLB], [prefetch], [branch], [core]" },
    { "[machine\n", 1, 1, "[machine: a section ends with ]" },
    { "[machine] # a comment\n", 1, 10,
      "text behind [machine]; keys and comments have lines of their own" },
    { "[machine]\ntitle = x\n\n[machine]\n", 4, 1, "[machine] again; it is in line 1 already" },
    { "[machine]\n  name = x\n", 2, 3, "name: unknown key; [machine] has title" },
    { "[match]\nmodel = 1\n", 2, 1,
      "model: unknown key; [match] has vendor, family, models, share" },
    { "[L2]\nfilling = miss\n", 2, 1,
      "filling: unknown key; [L2] has size, ways, line, replacement" },
    { "[L2]\n= 4\n", 2, 1, ": unknown key; [L2] has size, ways, line, replacement" },
    { "[LL]\nways = 4\n\nways = 4\n", 4, 1, "ways again; it is in line 2 already" },
    { "[machine]\ntitle =\n", 2, 8, "title = : must be a text of 1 to 100 bytes" },
    { "[machine]\ntitle = 1234567890123456789012345678901234567890123456789012345678901234567890"
      "1234567890123456789012345678901\n",
      2, 9,
      "title = 1234567890123456789012345678901234567890...: must be a text of 1 to 100 bytes" },
    { "[match]\nvendor = Intel\n", 2, 10,
      "vendor = Intel: must be the 12 characters of CPUID leaf 0: GenuineIntel, AuthenticAMD or "
      "another vendor's" },
    { "[match]\nfamily = 271\n", 2, 10,
      "family = 271: must be a number from 0 to 270, as /proc/cpuinfo has it" },
    { "[match]\nfamily = 6x\n", 2, 10,
      "family = 6x: must be a number from 0 to 270, as /proc/cpuinfo has it" },
    { "[match]\nmodels = 1 2\n", 2, 10,
      "models = 1 2: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[match]\nmodels = 1-256\n", 2, 10,
      "models = 1-256: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[match]\nmodels = 1-\n", 2, 10,
      "models = 1-: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[match]\nmodels = 1,,2\n", 2, 10,
      "models = 1,,2: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[match]\nmodels = 9-3\n", 2, 10,
      "models = 9-3: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[match]\nmodels = 256\n", 2, 10,
      "models = 256: must be numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
      "0x10-0x1f, with commas between" },
    { "[L1I]\nsize = 32 KB\n", 2, 8,
      "size = 32 KB: must be a whole number of bytes, or one followed by KiB or MiB, below 4 GiB" },
    { "[L1I]\nsize = 0x8000\n", 2, 8,
      "size = 0x8000: must be a whole number of bytes, or one followed by KiB or MiB, "
      "below 4 GiB" },
    { "[L1I]\nways = 1234567890123456789012345678901234567x90\n", 2, 8, // 40 bytes, all shown
      "ways = 1234567890123456789012345678901234567x90: must be a whole number" },
    { "[L1I]\nsize = 1.5 MiB\n", 2, 8,
      "size = 1.5 MiB: must be a whole number of bytes, or one followed by KiB or MiB, below "
      "4 GiB" },
    { "[L1I]\nsize = 4096 MiB\n", 2, 8,
      "size = 4096 MiB: must be a whole number of bytes, or one followed by KiB or MiB, below "
      "4 GiB" },
    { "[L1I]\nsize = 99999999999999999999\n", 2, 8,
      "size = 99999999999999999999: must be a whole number of bytes, or one followed by KiB or "
      "MiB, below 4 GiB" },
    { "[L1I]\nways = -1\n", 2, 8, "ways = -1: must be a whole number" },
    { "[L1I]\nways = 8 # eight\n", 2, 8, "ways = 8 # eight: must be a whole number" },
    { "[L1D]\nreplacement = plru\n", 2, 15,
      "replacement = plru: must be lru: of L1I and L1D no other is simulated in this version" },
    { "[L2]\nreplacement = fifo\n", 2, 15,
      "replacement = fifo: must be lru, plru, srrip or drrip" },
    { "[LL]\nfilling = Miss\n", 2, 11, "filling = Miss: must be miss or victim" },
    { "[machine]\n[L1I]\n[L1D]\n[LL]\n", 1, 1, "[machine] has no title" },
    { TWO "[LL]\nsize = 1 MiB\nways = 16\nline = 64\nreplacement = lru\n", 13, 1,
      "[LL] has no filling" },
    { TWO "[match]\nfamily = 6\n" LL2, 13, 1, "[match] has no vendor" },
    { TWO "[L2]\nsize = 1 MiB\nways = 16\nline = 64\n" LL2, 13, 1, "[L2] has no replacement" },
    // what cannot be simulated
    { "[machine]\ntitle = x\n[L1I]\nsize = 48 KiB\nways = 8\nline = 64\nreplacement = lru\n" FIRST(
          "L1D") LL2,
      3, 1,
      "[L1I]: the number of sets (size / associativity / line size) must be a power of two; the "
      "nearest that can be simulated is size 49152, ways 6, line 64" },
    { TWO "[LL]\nsize = 1 MiB\nways = 16\nline = 48\nreplacement = lru\nfilling = miss\n", 13, 1,
      "[LL]: the line size must be a power of two; the nearest that can be simulated is size "
      "1048576, ways 16, line 64" },
    { TWO "[LL]\nsize = 0\nways = 16\nline = 64\nreplacement = lru\nfilling = miss\n", 13, 1,
      "[LL]: size, associativity and line size must not be 0; the nearest that can be simulated is "
      "size 64, ways 1, line 64" },
    { TWO "[LL]\nsize = 12 MiB\nways = 12\nline = 64\nreplacement = plru\nfilling = miss\n", 13, 1,
      "[LL]: plru needs 1, 2, 4, 8, 16 or 32 ways, not 12" },
    { TWO "[LL]\nsize = 4 MiB\nways = 64\nline = 64\nreplacement = plru\nfilling = miss\n", 13, 1,
      "[LL]: plru needs 1, 2, 4, 8, 16 or 32 ways, not 64" },
    { TWO "[LL]\nsize = 4 MiB\nways = 64\nline = 64\nreplacement = srrip\nfilling = miss\n", 13, 1,
      "[LL]: 64 ways are too many; at most 32 with another replacement than lru" },
    { TWO "[L2]\nsize = 4 MiB\nways = 64\nline = 64\nreplacement = lru\n" LL2, 13, 1,
      "[L2]: 64 ways are too many; at most 32" },
    { TWO "[L2]\nsize = 1 MiB\nways = 16\nline = 32\nreplacement = lru\n" LL2, 3, 1,
      "[L1I]: lines of 64 bytes; with an L2 all levels have lines of one size, and those of L2 "
      "have 32" },
    { TWO "[LL]\nsize = 1 MiB\nways = 16\nline = 64\nreplacement = lru\nfilling = victim\n", 13, 1,
      "[LL]: filling is victim, of an L2 that the machine does not have; without one it is miss" },
    { TWO "[LL]\nsize = 1 MiB\nways = 16\nline = 64\nreplacement = lru\nfilling = miss\n"
          "index = physical\n",
      13, 1, "[LL]: index is physical, which needs an L2; without one it is virtual" },
    { "[LL]\nindex = real\n", 2, 9, "index = real: must be virtual or physical" },
    { TWO LL2 "[ITLB]\nentries = 64\nways = 4\n", 21, 1,
      "the file ends without [DTLB]: [ITLB], [DTLB] and [STLB] belong together" },
    { TWO LL2 "[STLB]\nentries = 64\nways = 4\n[DTLB]\nentries = 64\nways = 4\n"
              "[ITLB]\nentries = 64\nways = 5\n",
      25, 1, "[ITLB]: entries must be a multiple of ways, and at most 65536; not 64 and 5" },
    { TWO LL2 AHEAD, 19, 1, "[prefetch]: needs an L2 with lines of 64 bytes" },
    { TWO LL2 L2 "[prefetch]\ndistance = 64\nbatch = 2\npairs = no\n", 24, 1,
      "[prefetch]: distance is 1 to 63 lines, batch 1 to 8; both 0: no streams" },
    { TWO LL2 L2 "[prefetch]\ndistance = 0\nbatch = 2\npairs = no\n", 24, 1,
      "[prefetch]: distance is 1 to 63 lines, batch 1 to 8; both 0: no streams" },
    { TWO LL2 L2 "[prefetch]\ndistance = 1\nbatch = 9\npairs = no\n", 24, 1,
      "[prefetch]: distance is 1 to 63 lines, batch 1 to 8; both 0: no streams" },
    { TWO LL2 L2 "[prefetch]\ndistance = 1\nbatch = 1\npairs = no\nreach = 64\n", 24, 1,
      "[prefetch]: reach is 1 to 63 lines; 0: any step is a stream's" },
    { TWO LL2 L2 "[prefetch]\ndistance = 1\nbatch = 1\npairs = no\nacross = 33\n", 24, 1,
      "[prefetch]: across is 1 to 32 lines; 0: streams end with their page" },
    { TWO LL2 L2 "[prefetch]\ndistance = 1\nbatch = 1\npairs = maybe\n", 27, 9,
      "pairs = maybe: must be no or yes" },
    { TWO LL2 "[branch]\npredictor = tage\nentries = 3000\n", 19, 1,
      "[branch]: entries and indirect are 2048, 4096 or 8192" },
    { TWO LL2 "[branch]\npredictor = tage\nindirect = 1024\n", 19, 1,
      "[branch]: entries and indirect are 2048, 4096 or 8192" },
    { TWO LL2 "[branch]\npredictor = tage\npath_bits = 64\n", 19, 1,
      "[branch]: path_bits is 1 to 63; 0: all" },
    { TWO LL2 "[branch]\npredictor = perceptron\n", 20, 13,
      "predictor = perceptron: must be cachegrind or tage" },
};

static void test_read_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        struct machine m;
        struct machine_error e;
        char at[32], want[32];

        assert_false(machine_read(&m, faults[i].text, strlen(faults[i].text), &e));
        assert_string_equal(e.text, faults[i].said);
        snprintf(at, sizeof(at), "%u:%u", e.line, e.column);
        snprintf(want, sizeof(want), "%u:%u", faults[i].line, faults[i].column);
        assert_string_equal(at, want);
    }
}

// Bytes that no text has. The last line is read as all others.
static void test_read_control(void **state)
{
    static const char nul[] = "[machine]\ntitle = a\0b\n", escape[] = "# \x1b[2J",
                      inside[] = "[machine]\r[L1I]\n", last[] = "\n\x7f";
    struct machine m;
    struct machine_error e;

    (void)state;
    assert_false(machine_read(&m, nul, sizeof(nul) - 1, &e));
    assert_string_equal(e.text, "control character 0x00: not a text file");
    assert_int_equal(e.line, 2);
    assert_int_equal(e.column, 10);
    assert_false(machine_read(&m, escape, sizeof(escape) - 1, &e));
    assert_string_equal(e.text, "control character 0x1b: not a text file");
    assert_int_equal(e.column, 3);
    assert_false(machine_read(&m, inside, sizeof(inside) - 1, &e));
    assert_string_equal(e.text, "control character 0x0d: not a text file");
    assert_int_equal(e.column, 10);
    assert_false(machine_read(&m, last, sizeof(last) - 1, &e));
    assert_string_equal(e.text, "control character 0x7f: not a text file");
    assert_int_equal(e.line, 2);
}

// A line of two million bytes: as a comment it says nothing, else 40 bytes of it are shown.
static void test_read_long_line(void **state)
{
    enum { LONG = 2000000 };
    static const char rest[] = "\n" TWO LL2;
    char *text = malloc(LONG + sizeof(rest));
    struct machine m;
    struct machine_error e;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', LONG);
    memcpy(text + LONG, rest, sizeof(rest));
    assert_false(machine_read(&m, text, LONG + sizeof(rest) - 1, &e));
    assert_string_equal(e.text,
                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...: neither [SECTION] nor KEY = "
                        "VALUE nor a comment, which begins with #");
    text[0] = '#';
    reads(&m, text, LONG + sizeof(rest) - 1);
    assert_string_equal(m.title, "Two");
    free(text);
}

// L2 and LL have any number of sets: 3 MiB of 16 ways have 3072.
static void test_read_sets(void **state)
{
    static const char text[] =
        TWO "[L2]\nsize = 3 MiB\nways = 16\nline = 64\nreplacement = plru\n"
            "[LL]\nsize = 36 MiB\nways = 12\nline = 64\nreplacement = srrip\n"
            "filling = miss\n";
    struct machine m;

    (void)state;
    reads(&m, text, sizeof(text) - 1);
    is_geometry(&m.l2, 3145728, 16, 64);
    is_geometry(&m.ll, 37748736, 12, 64);
}

// The longest title.
static void test_read_title(void **state)
{
    char text[512] = "[machine]\ntitle = ", title[MACHINE_TITLE_MAX + 1];
    struct machine m;

    (void)state;
    memset(title, 't', MACHINE_TITLE_MAX);
    title[MACHINE_TITLE_MAX] = '\0';
    strcat(text, title);
    strcat(text, "\n" FIRST("L1I") FIRST("L1D") LL2);
    reads(&m, text, strlen(text));
    assert_string_equal(m.title, title);
}

// A pipe gives a file in pieces.
static void test_read_pipe(void **state)
{
    static const char text[] = TWO LL2;
    struct machine m;
    struct machine_error e;
    char path[32];
    int end[2];

    (void)state;
    assert_int_equal(pipe(end), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", end[0]);
    if (fork() == 0) {
        for (size_t i = 0; i < sizeof(text) - 1; i++) {
            if (write(end[1], text + i, 1) != 1)
                _exit(1);
            if (i % 64 == 0)
                usleep(1000);
        }
        _exit(0);
    }
    close(end[1]);
    if (!machine_file(&m, path, &e))
        fail_msg("%u:%u: %s", e.line, e.column, e.text);
    is_geometry(&m.ll, 2097152, 16, 64);
    close(end[0]);
    wait(NULL);
}

// Blanks up to the end: nothing behind it is read (the sanitizer would say so).
static void test_read_end(void **state)
{
    static const char *const ends[] = { "[machine]\ntitle = \t ", "[machine]\ntitle",    "  ", "[",
                                        "[L1I]\nsize = 1",        "[match]\nmodels = 1," };

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t n = strlen(ends[i]);
        char *text = malloc(n);
        struct machine m;
        struct machine_error e;

        assert_non_null(text);
        memcpy(text, ends[i], n);
        assert_false(machine_read(&m, text, n, &e));
        free(text);
    }
}

static void test_read_file(void **state)
{
    struct machine m;
    struct machine_error e = { .line = 7 };

    (void)state;
    assert_false(machine_file(&m, "/nowhere/x.machine", &e));
    assert_string_equal(e.text, "No such file or directory");
    assert_int_equal(e.line, 0);
    e.line = 7;
    assert_false(machine_file(&m, "/dev/zero", &e));
    assert_string_equal(e.text, "larger than 1 MiB: not a machine file");
    assert_int_equal(e.line, 0);
    assert_false(machine_file(&m, "/dev/null", &e));
    assert_string_equal(e.text, "the file ends without [machine]");
    assert_int_equal(e.line, 1);
    assert_false(machine_file(&m, "/", &e));
    assert_string_equal(e.text, "Is a directory");
}

static void test_read_names(void **state)
{
    char name[MACHINE_NAME_MAX + 1], path[MACHINE_NAME_MAX + 45];

    (void)state;
    machine_file_name("share/machines/zen4.machine", name);
    assert_string_equal(name, "zen4");
    machine_file_name("my.machine.old", name);
    assert_string_equal(name, "my.machine.old");
    machine_file_name("a/.machine", name);
    assert_string_equal(name, ".machine");
    machine_file_name("a\nb \x7f.machine", name);
    assert_string_equal(name, "a_b _");
    memset(path, 'n', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    machine_file_name(path, name);
    assert_int_equal(strlen(name), MACHINE_NAME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_whole),      cmocka_unit_test(test_read_two_levels),
        cmocka_unit_test(test_read_of_windows), cmocka_unit_test(test_read_faults),
        cmocka_unit_test(test_read_control),    cmocka_unit_test(test_read_long_line),
        cmocka_unit_test(test_read_names),      cmocka_unit_test(test_read_sets),
        cmocka_unit_test(test_read_end),        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_read_title),      cmocka_unit_test(test_read_pipe),
        cmocka_unit_test(test_read_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
