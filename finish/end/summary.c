// SPDX-License-Identifier: MIT
//
// The summary at the end of a run, in the layout of the manual (spacing and decimals as Cachegrind
// 3.19 prints them), and the engine's statistics for -v. Prints to any stream; finish.c and
// recover.c use it.
//
// DIFFERS: for a program without any data reference Cachegrind divides by one reference more than
// there were (3 instructions and one LL miss: 25.0 %); this uses the manual's formula (33.3 %).
#include "finish/end/end.h"

#include <string.h>

#include "cli/base/util.h"

static int width(uint64_t n)
{
    char buf[32];

    return (int)strlen(util_commas(buf, n));
}

static int widest(uint64_t a, uint64_t b)
{
    return width(a > b ? a : b);
}

// "3.2%", right-aligned.
static const char *percent(char *buf, size_t size, uint64_t part, uint64_t whole, int decimals,
                           int w)
{
    char text[32];

    snprintf(text, sizeof(text), "%.*f%%", decimals,
             whole ? (double)part * 100.0 / (double)whole : 0.0);
    snprintf(buf, size, "%*s", w, text);
    return buf;
}

struct layout {
    FILE *f;
    int pid;
    int total, first, second; // column widths
    const char *one, *two;    // "rd  ", "wr"
};

static void blank(const struct layout *l)
{
    fprintf(l->f, "==%d== \n", l->pid);
}

static void count_line(const struct layout *l, const char *label, uint64_t n)
{
    char buf[32];

    fprintf(l->f, "==%d== %-14s %*s\n", l->pid, label, l->total, util_commas(buf, n));
}

static void split_line(const struct layout *l, const char *label, uint64_t a, uint64_t b)
{
    char sum[32], first[32], second[32];

    fprintf(l->f, "==%d== %-14s %*s  (%*s %s + %*s %s)\n", l->pid, label, l->total,
            util_commas(sum, a + b), l->first, util_commas(first, a), l->one, l->second,
            util_commas(second, b), l->two);
}

static void rate_line(const struct layout *l, const char *label, uint64_t part, uint64_t whole)
{
    char buf[64];

    // Instruction misses are few: two decimals.
    fprintf(l->f, "==%d== %-14s %s\n", l->pid, label,
            percent(buf, sizeof(buf), part, whole, 2, l->total + 1));
}

static void split_rate_line(const struct layout *l, const char *label, const uint64_t part[2],
                            const uint64_t whole[2])
{
    char sum[64], first[64], second[64];

    fprintf(l->f, "==%d== %-14s %s (%s     + %s  %s)\n", l->pid, label,
            percent(sum, sizeof(sum), part[0] + part[1], whole[0] + whole[1], 1, l->total + 1),
            percent(first, sizeof(first), part[0], whole[0], 1, l->first + 1),
            percent(second, sizeof(second), part[1], whole[1], 1, l->second + 1),
            strlen(l->two) > 2 ? " " : "");
}

// A level below L1. refs: that it gets; all: of the program.
static void print_level(const struct layout *l, const char *const names[3], const uint64_t refs[2],
                        const uint64_t misses[2], const uint64_t all[2])
{
    blank(l);
    split_line(l, names[0], refs[0], refs[1]);
    split_line(l, names[1], misses[0], misses[1]);
    split_rate_line(l, names[2], misses, all);
}

static void print_caches(const struct layout *l, const uint64_t *c, bool has_l2)
{
    static const char *const l2_names[] = { "L2 refs:", "L2 misses:", "L2 miss rate:" };
    static const char *const ll_names[] = { "LL refs:", "LL misses:", "LL miss rate:" };
    const uint64_t refs[2] = { c[FINISH_DR], c[FINISH_DW] };
    const uint64_t d1[2] = { c[FINISH_D1MR], c[FINISH_D1MW] };
    const uint64_t d2[2] = { c[FINISH_D2MR], c[FINISH_D2MW] };
    const uint64_t dl[2] = { c[FINISH_DLMR], c[FINISH_DLMW] };
    const uint64_t all[2] = { c[FINISH_IR] + c[FINISH_DR], c[FINISH_DW] };
    const uint64_t l1[2] = { c[FINISH_I1MR] + d1[0], d1[1] };
    const uint64_t l2[2] = { c[FINISH_I2MR] + d2[0], d2[1] };
    const uint64_t ll[2] = { c[FINISH_ILMR] + dl[0], dl[1] };

    count_line(l, "I1  misses:", c[FINISH_I1MR]);
    if (has_l2)
        count_line(l, "L2i misses:", c[FINISH_I2MR]);
    count_line(l, "LLi misses:", c[FINISH_ILMR]);
    rate_line(l, "I1  miss rate:", c[FINISH_I1MR], c[FINISH_IR]);
    if (has_l2)
        rate_line(l, "L2i miss rate:", c[FINISH_I2MR], c[FINISH_IR]);
    rate_line(l, "LLi miss rate:", c[FINISH_ILMR], c[FINISH_IR]);
    blank(l);
    split_line(l, "D   refs:", refs[0], refs[1]);
    split_line(l, "D1  misses:", d1[0], d1[1]);
    if (has_l2)
        split_line(l, "L2d misses:", d2[0], d2[1]);
    split_line(l, "LLd misses:", dl[0], dl[1]);
    split_rate_line(l, "D1  miss rate:", d1, refs);
    if (has_l2)
        split_rate_line(l, "L2d miss rate:", d2, refs);
    split_rate_line(l, "LLd miss rate:", dl, refs);
    if (has_l2)
        print_level(l, l2_names, l1, l2, all);
    print_level(l, ll_names, has_l2 ? l2 : l1, ll, all);
}

static void print_sampling(const struct layout *l, const struct spool_sampling *s)
{
    char first[32], window[32], interval[32];

    fprintf(l->f,
            "==%d== Cycles and mispredictions are estimates: timed were the first %s "
            "instructions,\n==%d== then %s of each %s",
            l->pid, util_commas(first, s->first), l->pid, util_commas(window, s->window),
            util_commas(interval, s->interval));
    if (s->growth)
        fprintf(l->f, ", later of each %uth part of those so far", s->growth);
    fputc('\n', l->f);
}

static void print_cycles(const struct layout *l, const uint64_t *c)
{
    char count[32], share[64];

    blank(l);
    count_line(l, "Cycles:", c[FINISH_CY]);
    for (int e = FINISH_CYBASE; e <= FINISH_CYCORE; e++)
        fprintf(l->f, "==%d==   %-12s %*s  (%s)\n", l->pid, finish_event_names[e], l->total,
                util_commas(count, c[e]), percent(share, sizeof(share), c[e], c[FINISH_CY], 1, 5));
}

void summary_print(FILE *f, const struct spool_header *h, const uint64_t *c)
{
    bool cache = (h->flags & SPOOL_F_CACHE_SIM) != 0;
    bool branch = (h->flags & SPOOL_F_BRANCH_SIM) != 0;
    uint64_t widest_total = c[FINISH_DR] + c[FINISH_DW];
    struct layout l = { .f = f, .pid = h->pid, .one = "rd  ", .two = "wr" };

    if (c[FINISH_BC] + c[FINISH_BI] > widest_total)
        widest_total = c[FINISH_BC] + c[FINISH_BI];
    if (c[FINISH_CY] > widest_total)
        widest_total = c[FINISH_CY];
    l.total = widest(c[FINISH_IR], widest_total);
    l.first = widest(c[FINISH_DR], c[FINISH_BC]);
    l.second = widest(c[FINISH_DW], c[FINISH_BI]);

    count_line(&l, "I   refs:", c[FINISH_IR]);
    if (cache)
        print_caches(&l, c, (h->flags & SPOOL_F_L2) != 0);
    if (h->flags & SPOOL_F_TLB) {
        blank(&l);
        count_line(&l, "ITLB misses:", c[FINISH_ITM]);
        count_line(&l, "DTLB misses:", c[FINISH_DTM]);
        count_line(&l, "Page walks:", c[FINISH_STM]);
    }
    if (h->flags & SPOOL_F_PREFETCH) {
        blank(&l);
        count_line(&l, "L2 ahead, used:", c[FINISH_PFU]);
        count_line(&l, "L2 ahead, wasted:", c[FINISH_PFW]);
    }
    if (branch) {
        uint64_t executed[2] = { c[FINISH_BC], c[FINISH_BI] };
        uint64_t missed[2] = { c[FINISH_BCM], c[FINISH_BIM] };

        l.one = "cond";
        l.two = "ind";
        blank(&l);
        split_line(&l, "Branches:", executed[0], executed[1]);
        split_line(&l, "Mispredicts:", missed[0], missed[1]);
        split_rate_line(&l, "Mispred rate:", missed, executed);
        if (h->flags & SPOOL_F_PREDICTOR)
            count_line(&l, "Mispred returns:", c[FINISH_BRM]);
    }
    if (h->flags & SPOOL_F_CORE)
        print_cycles(&l, c);
    if ((h->flags & SPOOL_F_CORE) && h->machine.sampling.interval)
        print_sampling(&l, &h->machine.sampling);
}

void summary_collected(FILE *f, const struct spool_header *h, const uint64_t *c)
{
    for (int numbers = 0; numbers < 2; numbers++) {
        fprintf(f, "==%d== %s", h->pid, numbers ? "Collected :" : "Events    :");
        for (int i = 0; i < FINISH_EVENTS; i++) {
            enum finish_event e = finish_callgrind[i].in;

            if (!finish_event_counted(e, h->flags))
                continue;
            if (numbers)
                fprintf(f, " %llu", (unsigned long long)c[e]);
            else
                fprintf(f, " %s", finish_event_names[e]);
        }
        fputc('\n', f);
    }
    fprintf(f, "==%d== \n", h->pid);
}

void summary_engine(FILE *f, const struct spool_header *h)
{
    const struct {
        const char *label;
        uint64_t n;
    } lines[] = {
        { "instructions translated", h->n_translated_insns },
        { "bytes of code cache written", h->code_bytes },
        { "exits to the dispatcher", h->n_dispatch },
        { "indirect-branch misses", h->n_ibl_miss },
        { "links made", h->n_links },
        { "translations of earlier runs", h->n_pcache_revived },
        { "translations kept for later runs", h->n_pcache_saved },
        { "superblocks made", h->n_superblocks },
        { "blocks in superblocks", h->n_superblock_blocks },
        { "full buffers handed over to quern-replay", h->n_handed },
        { "references to LL simulated by their thread meanwhile", h->n_helped },
        { "full buffers simulated by their thread ahead of their turn", h->n_ahead },
        { "of these once more, in their turn", h->n_again },
        { "full buffers replayed by their thread", h->n_replayed },
        { "code cache flushes", h->n_flush },
        { "blocks invalidated", h->n_invalidate },
        { "signals delivered", h->n_signals },
        { "instructions single-stepped", h->n_stepped },
        { "slow system calls", h->n_slow_syscalls },
        { "thread slots", h->threads_used },
    };
    char a[32], b[32];

    fprintf(f, "==%d== \n", h->pid);
    fprintf(f, "==%d== engine: %s blocks translated (%s different), %.3f ms, %.2f us per block\n",
            h->pid, util_commas(a, h->n_translated), util_commas(b, h->block_count),
            (double)h->ns_translating / 1e6,
            h->n_translated ? (double)h->ns_translating / 1e3 / (double)h->n_translated : 0.0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        fprintf(f, "==%d== engine: %s %s\n", h->pid, util_commas(a, lines[i].n), lines[i].label);
}
