// SPDX-License-Identifier: MIT
//
// `quern annotate --asm`: the functions shown, instruction by instruction. The profile has
// addresses and counts; the instructions come from the object file, through objdump of binutils.
// Without the object or without objdump the addresses alone are listed.
#include "cli/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/files/objdump.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

struct place {
    uint32_t func, callee; // callee QUERN_NONE: a cost
    uint64_t addr, calls, line;
    size_t counts;
    uint64_t present;
};

struct asm_list {
    struct annotate *a;
    struct place *place;
    size_t count, cap;
    quern_count *counts;
};

static int by_place(const void *pa, const void *pb)
{
    const struct place *x = pa, *y = pb;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    // QUERN_NONE + 1 is 0: the instruction's own cost sorts before its calls
    return x->callee + 1 < y->callee + 1 ? -1 : x->callee + 1 > y->callee + 1;
}

static void collect(struct asm_list *l)
{
    struct annotate *a = l->a;
    uint8_t *wanted = xcalloc(quern_profile_func_count(a->p) + 1, 1);
    struct quern_cursor *c = read_cursor(a->p);
    struct quern_record rec;
    size_t m = 0;

    for (size_t k = 0; k < a->list.order_count; k++)
        wanted[a->list.row[a->list.order[k]].func] = 1;
    while (quern_cursor_next(c, &rec)) {
        if (rec.kind > QUERN_REC_CALL || !wanted[rec.at.func])
            continue;
        if (l->count == l->cap) {
            l->cap = l->cap * 2 + 1024;
            l->place = xrealloc(l->place, l->cap * sizeof(*l->place));
            l->counts = xrealloc(l->counts, l->cap * a->events * sizeof(*l->counts));
        }
        l->place[l->count] = (struct place){
            .func = rec.at.func,
            .addr = rec.at.addr,
            .line = rec.at.line,
            .calls = rec.calls,
            .callee = rec.kind == QUERN_REC_CALL ? rec.to.func : QUERN_NONE,
            .counts = l->count * a->events,
            .present = rec.kind == QUERN_REC_CALL ? UINT64_MAX : rec.present,
        };
        memcpy(l->counts + l->count * a->events, rec.counts, a->events * sizeof(*l->counts));
        l->count++;
    }
    quern_cursor_free(c);
    free(wanted);
    if (!l->count)
        return;
    qsort(l->place, l->count, sizeof(*l->place), by_place);
    for (size_t i = 1; i < l->count; i++) {
        struct place *to = &l->place[m], *from = &l->place[i];
        if (by_place(to, from) == 0) {
            for (size_t k = 0; k < a->events; k++)
                l->counts[to->counts + k] += l->counts[from->counts + k];
            to->calls += from->calls;
            to->present |= from->present;
        } else {
            l->place[++m] = *from;
        }
    }
    l->count = m + 1;
}

// ---- Disassembly ----

static void put_counts(struct asm_list *l, const struct place *p)
{
    static const quern_count none[1];
    table_row(&l->a->table, p ? l->counts + p->counts : none, p ? p->present : 0);
    putchar(' ');
}

// The instruction at `addr`: counts, text, and its calls.
static void put_place(struct asm_list *l, size_t *next, size_t end, uint64_t addr, const char *text)
{
    const struct place *p = NULL;
    char calls[80];

    if (*next < end && l->place[*next].addr == addr && l->place[*next].callee == QUERN_NONE)
        p = &l->place[(*next)++];
    put_counts(l, p);
    printf("%8llx:  ", (unsigned long long)addr);
    text_put_line(stdout, text, strlen(text));
    if (p && p->line)
        printf("  [line %llu]", (unsigned long long)p->line);
    putchar('\n');
    for (; *next < end && l->place[*next].addr == addr; ++*next) {
        p = &l->place[*next];
        put_counts(l, p);
        fputs("=> ", stdout);
        annotate_put_func(l->a, quern_profile_func_get(l->a->p, p->callee).file, p->callee);
        event_commas(calls, p->calls, 1);
        text_print(stdout, " (%sx)\n", calls);
    }
}

// Instructions without counts are shown up to `context` before and after counted ones. A ring
// buffers them, because objdump's output is read once.
static void list_range(struct asm_list *l, size_t first, size_t end, FILE *f)
{
    size_t next = first, cap = 0, held = 0, max = l->a->context < 64 ? (size_t)l->a->context : 64;
    char *line = NULL, *ring[65] = { NULL };
    uint64_t ring_addr[65];
    uint64_t after = 0;
    int gap = 0;

    while (f && getline(&line, &cap, f) > 0) {
        char *e, *text;
        uint64_t addr = strtoull(line, &e, 16);
        if (line[0] != ' ' || *e != ':')
            continue;
        text = e + 1 + strspn(e + 1, " \t");
        text[strcspn(text, "\n")] = 0;
        while (next < end && l->place[next].addr < addr)
            put_place(l, &next, end, l->place[next].addr, "(not in the object file)");
        if (next < end && l->place[next].addr == addr) {
            if (gap)
                fputs("   ...\n", stdout);
            gap = 0;
            for (size_t i = 0; i < held; i++) {
                put_place(l, &next, 0, ring_addr[i], ring[i]);
                free(ring[i]);
            }
            held = 0;
            put_place(l, &next, end, addr, text);
            after = max;
        } else if (next == end) {
            continue; // behind the last counted one another function may begin
        } else if (after) {
            put_place(l, &next, 0, addr, text);
            after--;
        } else if (max) {
            if (held == max) {
                free(ring[0]);
                memmove(ring, ring + 1, (held - 1) * sizeof(*ring));
                memmove(ring_addr, ring_addr + 1, (held - 1) * sizeof(*ring_addr));
                held--;
                gap = 1;
            }
            ring_addr[held] = addr;
            ring[held++] = xstrdup(text);
        } else {
            gap = 1;
        }
    }
    while (held)
        free(ring[--held]);
    free(line);
    while (next < end)
        put_place(l, &next, end, l->place[next].addr, "");
}

static void list_function(struct asm_list *l, size_t first, size_t end)
{
    struct annotate *a = l->a;
    uint32_t func = l->place[first].func;
    struct quern_func g = quern_profile_func_get(a->p, func);
    const char *object = quern_profile_str(a->p, g.object);
    struct stat st;
    int fd = *object ? trust_open(object, &st) : -1;
    pid_t pid = 0;
    FILE *f = NULL;

    text_print(stdout, TABLE_RULE "-- Instructions: ");
    annotate_put_func(a, g.file, func);
    text_print(stdout, " [%s]\n" TABLE_RULE, *object ? object : "???");
    table_reset(&a->table);
    for (size_t i = first; i < end; i++)
        table_fit(&a->table, l->counts + l->place[i].counts, l->place[i].present);
    table_head(&a->table);
    fputs("\n\n", stdout);
    fflush(stdout);
    if (fd >= 0)
        // 16 more bytes, for the whole last instruction
        f = objdump_open(fd, l->place[first].addr, l->place[end - 1].addr + 16, false, &pid);
    else
        fputs(fd == TRUST_REFUSED ? "(the object file is not read: addresses only)\n\n"
                                  : "(the object file is not there: addresses only)\n\n",
              stdout);
    list_range(l, first, end, f);
    if (pid > 0 && !objdump_close(f, pid))
        warn("objdump cannot be run; install binutils to see instructions");
    if (fd >= 0)
        close(fd);
    putchar('\n');
}

void annotate_instructions(struct annotate *a)
{
    struct asm_list l = { .a = a };
    uint8_t *done = xcalloc(quern_profile_func_count(a->p) + 1, 1);

    collect(&l);
    for (size_t k = 0; k < a->list.order_count; k++) {
        uint32_t func = a->list.row[a->list.order[k]].func;
        struct place key = { .func = func };
        size_t lo = 0, hi = l.count;
        if (done[func])
            continue;
        done[func] = 1;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (l.place[mid].func < key.func)
                lo = mid + 1;
            else
                hi = mid;
        }
        for (hi = lo; hi < l.count && l.place[hi].func == func; hi++)
            ;
        if (hi > lo)
            list_function(&l, lo, hi);
    }
    free(done);
    free(l.place);
    free(l.counts);
}
