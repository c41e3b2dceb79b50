// SPDX-License-Identifier: MIT
//
// Usage: ahead [regions] [streams] [last]
//
// Prints what this processor loads ahead, by single loads of lines that had been flushed, at random
// places of random pages, each between fences: a line is there if its load takes less than the mean
// of one from L1 and one from memory. And what is left of lines in the last level after a while,
// which says how much of it other programs, and other guests, take. Called by `make
// bench-machine-ahead`; docs/design/072-core.md has what was found. x86-64 alone. Nothing else may
// run meanwhile.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#define LINE  64u
#define LINES 64u // of a page
#define PAGE  (LINE * LINES)
#define PAGES 8192u
#define CODES 4096u // loads, each an instruction of its own
#define APART 16u   // bytes from one to the next

typedef void load_code(const void *at);

static struct {
    uint8_t *pages, *codes;
    uint32_t order[PAGES], next;
    uint64_t state, near; // near: ticks below which a line was there
} all = { .state = 88172645463325252 };

static uint32_t draw(uint32_t below)
{
    all.state ^= all.state << 13;
    all.state ^= all.state >> 7;
    all.state ^= all.state << 17;
    return (uint32_t)(all.state >> 20) % below;
}

static void *memory(size_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        perror("ahead: mmap");
        exit(1);
    }
    return at;
}

// Loads the byte's line, by instruction `code`, when all before has ended.
static void load(uint32_t code, const void *at)
{
    load_code *call;
    const uint8_t *to = all.codes + (size_t)code * APART;

    memcpy(&call, &to, sizeof(call));
    call(at);
}

static void wait(uint32_t rounds)
{
    for (volatile uint32_t i = 0; i < rounds; i++)
        ;
}

static uint64_t ticks(const void *at)
{
    unsigned cpu;
    uint64_t begin;

    _mm_mfence();
    _mm_lfence();
    begin = __rdtsc();
    _mm_lfence();
    load(CODES - 1, at);
    return __rdtscp(&cpu) - begin;
}

static int is_there(const void *at)
{
    wait(1000); // until it has come
    return ticks(at) < all.near;
}

static void flush(const uint8_t *page)
{
    for (uint32_t i = 0; i < LINES; i++)
        _mm_clflush(page + i * LINE);
    _mm_mfence();
}

// Another page, of which no line is in any cache, nor of the one behind it.
static uint8_t *another_page(void)
{
    uint8_t *page = all.pages + (size_t)all.order[all.next++ % PAGES] * PAGE;

    flush(page);
    flush(page + PAGE);
    return page;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void prepare(void)
{
    static const uint8_t code[] = { 0x0f, 0xae, 0xe8, 0x8a, 0x07, 0x0f, 0xae, 0xe8, 0xc3 };
    static uint64_t memory_ticks[1000], l1_ticks[1000];

    all.codes = memory(CODES * APART, PROT_READ | PROT_WRITE);
    for (uint32_t i = 0; i < CODES; i++) // lfence; mov (%rdi), %al; lfence; ret
        memcpy(all.codes + i * APART, code, sizeof(code));
    if (mprotect(all.codes, CODES * APART, PROT_READ | PROT_EXEC)) {
        perror("ahead: mprotect");
        exit(1);
    }
    all.pages = memory((PAGES + 1) * PAGE, PROT_READ | PROT_WRITE);
    memset(all.pages, 1, (PAGES + 1) * PAGE);
    for (uint32_t i = 0; i < PAGES; i++)
        all.order[i] = i;
    for (uint32_t i = PAGES - 1; i > 0; i--) {
        uint32_t k = draw(i + 1), was = all.order[i];

        all.order[i] = all.order[k];
        all.order[k] = was;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        const uint8_t *at = another_page() + draw(LINES) * LINE;

        memory_ticks[i] = ticks(at);
        l1_ticks[i] = ticks(at);
    }
    qsort(memory_ticks, 1000, sizeof(*memory_ticks), by_size);
    qsort(l1_ticks, 1000, sizeof(*l1_ticks), by_size);
    all.near = (memory_ticks[500] + l1_ticks[500]) / 2;
    printf("Ticks of a load, median: L1 %lu, memory %lu.\n\n", l1_ticks[500], memory_ticks[500]);
}

// ---- Regions ----

// In so many of 100 pages one instruction loads line 20 and another one the line that is so many
// further. Of pages in which only the first has loaded, how often that line is there, in percent.
static unsigned region(int further, unsigned often, uint32_t from)
{
    unsigned there = 0, tries = 0;

    for (uint32_t i = 0; i < 4000; i++) {
        uint8_t *page = another_page();

        load(1, page + from * LINE);
        wait(50);
        if (i % 16 == 15 && i > 100) {
            there += (unsigned)is_there(page + (uint32_t)((int)from + further) * LINE);
            tries++;
        } else if (draw(100) < often) {
            load(2, page + (uint32_t)((int)from + further) * LINE);
        }
        wait(100);
    }
    return there * 100 / tries;
}

static void regions(void)
{
    printf("## Regions: a line that the next instruction loads in so many of 100 pages\n\n");
    printf("| lines further | 0 | 25 | 50 | 100 |\n| --- | --- | --- | --- | --- |\n");
    for (int further = -8; further <= 12; further++)
        if (further != 0)
            printf("| %d | %u | %u | %u | %u |\n", further, region(further, 0, 20),
                   region(further, 25, 20), region(further, 50, 20), region(further, 100, 20));
    printf("\n");
}

// ---- Streams ----

// n lines from `first` on, by as many instructions, then how many lines behind the last one are
// there: up to the first that is there less than every second time.
static unsigned stream(uint32_t first, uint32_t n)
{
    unsigned there[LINES] = { 0 }, tries[LINES] = { 0 }, far = 1;

    for (uint32_t i = 0; i < 6000; i++) {
        uint8_t *page = another_page();
        uint32_t behind = 1 + draw(LINES - 1);

        for (uint32_t k = 0; k < n; k++) {
            load(draw(CODES - 1), page + (first + k) * LINE);
            wait(40);
        }
        there[behind] += (unsigned)is_there(page + (first + n - 1 + behind) * LINE);
        tries[behind]++;
        wait(100);
    }
    while (far < LINES && 2 * there[far] > tries[far])
        far++;
    return far - 1;
}

// n lines of a page in any order; of the others, how many of 100 are there.
static unsigned any_order(uint32_t n)
{
    unsigned there = 0;
    uint32_t line[LINES];

    for (uint32_t i = 0; i < 3000; i++) {
        const uint8_t *page = another_page();

        for (uint32_t k = 0; k < LINES; k++)
            line[k] = k;
        for (uint32_t k = LINES - 1; k > 0; k--) {
            uint32_t other = draw(k + 1), was = line[k];

            line[k] = line[other];
            line[other] = was;
        }
        for (uint32_t k = 0; k < n; k++) {
            load(draw(CODES - 1), page + line[k] * LINE);
            wait(40);
        }
        there += (unsigned)is_there(page + line[n + draw(LINES - n)] * LINE);
        wait(100);
    }
    return there * 100 / 3000;
}

static void streams(void)
{
    static const uint32_t counts[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48 };

    printf("## Streams: lines that are there behind so many of a page\n\n");
    printf(
        "| lines | in order: lines ahead | in any order: of 100 others |\n| --- | --- | --- |\n");
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        printf("| %u | ", counts[i]);
        if (counts[i] <= 24)
            printf("%u", stream(4, counts[i]));
        printf(" | %u |\n", any_order(counts[i]));
    }
    printf("\n| lines 30 to | lines ahead, of the next page, too |\n| --- | --- |\n");
    for (uint32_t last = 53; last < LINES; last += 2)
        printf("| %u | %u |\n", last, stream(30, last - 29));
    printf("\n");
}

// ---- The last level ----

#define BUFFER (64u << 20)

static uint64_t microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// Of 100 lines of `bytes` that were read, so many that take less than a load from memory does when
// L2 has been filled with others, after so many microseconds.
static unsigned left(const uint8_t *buffer, const uint8_t *other, size_t bytes, uint64_t after)
{
    const uint32_t n = (uint32_t)(bytes / LINE);
    unsigned there = 0;

    for (int round = 0; round < 20; round++) {
        uint64_t begin;

        for (uint32_t i = 0; i < 2 * n; i++) // any odd factor reaches all of 2^k lines
            load(0, buffer + (size_t)(i * 40503u % n) * LINE);
        for (size_t i = 0; i < 2u << 20; i += LINE)
            load(0, other + i);
        begin = microseconds();
        while (microseconds() - begin < after)
            ;
        for (int i = 0; i < 200; i++)
            there += ticks(buffer + (size_t)draw(n) * LINE) < all.near;
    }
    return there / 40;
}

static void last(void)
{
    static const uint64_t after[] = { 0, 1000, 3000, 6000, 10000, 20000 };
    uint8_t *buffer = memory(BUFFER, PROT_READ | PROT_WRITE);
    uint8_t *other = memory(2u << 20, PROT_READ | PROT_WRITE);

    madvise(buffer, BUFFER, MADV_HUGEPAGE);
    memset(buffer, 1, BUFFER);
    memset(other, 1, 2u << 20);
    printf("## The last level: of 100 lines that were read, those that are in it\n\n| MiB |");
    for (size_t k = 0; k < sizeof(after) / sizeof(*after); k++)
        printf(" after %lu us |", after[k]);
    printf("\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t bytes = 2u << 20; bytes <= BUFFER; bytes *= 2) {
        printf("| %zu |", bytes >> 20);
        for (size_t k = 0; k < sizeof(after) / sizeof(*after); k++)
            printf(" %u |", left(buffer, other, bytes, after[k]));
        printf("\n");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } tables[] = { { "regions", regions }, { "streams", streams }, { "last", last } };

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "regions") && strcmp(argv[i], "streams") && strcmp(argv[i], "last")) {
            fprintf(stderr, "usage: ahead [regions] [streams] [last]\n");
            return 2;
        }
    prepare();
    for (size_t k = 0; k < sizeof(tables) / sizeof(*tables); k++) {
        int chosen = argc == 1;

        for (int i = 1; i < argc; i++)
            chosen |= !strcmp(argv[i], tables[k].name);
        if (chosen)
            tables[k].print();
    }
    return 0;
}
