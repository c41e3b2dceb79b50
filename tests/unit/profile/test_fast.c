// SPDX-License-Identifier: MIT
//
// The reader's fast paths against its general rules, and two threads against one: reads whole
// profiles both ways, golden ones and a few hundred of random lines, some of them slightly wrong.
#include "tests/unit/profile/text.h"

#include <dirent.h>
#include <limits.h>

#include "tests/unit/profile/same.h"

static uint64_t seed = 20260917;

// 0 .. n - 1; the same on every run
static unsigned draw(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((seed >> 33) % n);
}

static struct quern_profile *read_as(const char *text, size_t n, int strict, int no_fast,
                                     struct quern_error *err)
{
    // One reader sums rows while it reads, for the other a walk over the records does.
    struct quern_read_opts o = {
        .sz = sizeof(o), .strict = strict, .no_fast = no_fast, .rows = strict == no_fast
    };
    return quern_profile_read_mem(text, n, "text", &o, err);
}

// The output of a reader for a text: all remarks in sequence.
struct told {
    size_t count;
    uint64_t hash;
};

static void tell(void *ctx, const struct quern_diag *d)
{
    struct told *t = ctx;
    char text[800];
    int n = snprintf(text, sizeof(text), "%s %llu %u %s '%s'", d->kind, (unsigned long long)d->line,
                     d->col, d->msg, d->text);

    for (int i = 0; i < n && i < (int)sizeof(text) - 1; i++)
        t->hash = (t->hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    t->count++;
}

static struct quern_profile *read_told(const char *text, size_t n, int strict, size_t pair_bytes,
                                       struct told *told, struct quern_error *err)
{
    struct quern_read_opts o = { .sz = sizeof(o),
                                 .strict = strict,
                                 .every_diag = 1,
                                 .diag = tell,
                                 .diag_ctx = told,
                                 .rows = 1,
                                 .threads = pair_bytes ? 2 : 0,
                                 .pair_bytes = pair_bytes };
    return quern_profile_read_mem(text, n, "text", &o, err);
}

// Two threads, with so many bytes at a time, against one.
static void same_in_pair(const char *text, size_t n, const char *name, size_t pair_bytes)
{
    for (int strict = 0; strict < 2; strict++) {
        struct quern_error e = { 0 }, f = { 0 };
        struct told d = { 0 }, g = { 0 };
        struct quern_profile *p = read_told(text, n, strict, 0, &d, &e),
                             *q = read_told(text, n, strict, pair_bytes, &g, &f);
        if (!p != !q || memcmp(&e, &f, sizeof(e)))
            fail_msg("%s: '%s' in line %llu by one thread, '%s' in line %llu by two", name, e.msg,
                     (unsigned long long)e.line, f.msg, (unsigned long long)f.line);
        if (d.count != g.count || d.hash != g.hash)
            fail_msg("%s: %zu remarks by one thread, %zu by two", name, d.count, g.count);
        const char *what;
        if (p && (what = profile_difference(p, q)))
            fail_msg("%s: %s differs with two threads, %zu bytes at a time", name, what,
                     pair_bytes);
        quern_profile_free(p);
        quern_profile_free(q);
    }
}

static void same_both_ways(const char *text, size_t n, const char *name)
{
    for (int strict = 0; strict < 2; strict++) {
        struct quern_error e = { 0 }, f = { 0 };
        struct quern_profile *p = read_as(text, n, strict, 0, &e),
                             *q = read_as(text, n, strict, 1, &f);
        if (!p != !q || e.code != f.code || e.line != f.line || e.col != f.col ||
            strcmp(e.msg, f.msg))
            fail_msg("%s: '%s' in line %llu with short cuts, '%s' in line %llu without", name,
                     e.msg, (unsigned long long)e.line, f.msg, (unsigned long long)f.line);
        const char *what;
        if (p && (what = profile_difference(p, q)))
            fail_msg("%s: %s differs", name, what);
        quern_profile_free(p);
        quern_profile_free(q);
    }
}

static void test_golden(void **state)
{
    DIR *d = opendir("tests/golden");
    size_t n = 0;

    (void)state;
    assert_non_null(d);
    struct dirent *ent;
    while ((ent = readdir(d))) {
        static char text[1 << 16];
        char path[300];
        if (!strstr(ent->d_name, "grind"))
            continue;
        snprintf(path, sizeof(path), "tests/golden/%s", ent->d_name);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t len = fread(text, 1, sizeof(text), f);
        same_both_ways(text, len, path);
        for (size_t bytes = 100; bytes < 2 * len; bytes *= 2)
            same_in_pair(text, len, path, bytes);
        fclose(f);
        n++;
    }
    closedir(d);
    assert_true(n > 60);
}

// Lines that depend on missing ones: no events yet, no call line after its jump.
static void test_missing(void **state)
{
    static const char *const texts[] = {
        "# callgrind format\nfl=a.c\nfn=f\njump=3 5\n*\nevents: Ir\n1 1\n",
        "# callgrind format\nfl=a.c\nfn=f\njcnd=1/3 5\n* \n1 5\nevents: Ir\n* 1\n",
        "# callgrind format\npositions: instr line\nevents: Ir\nfn=f\njump=3 +1 *\n* *\n*\n* * 7\n",
        "# callgrind format\nevents:\nfn=f\njump=3 +1\n* 1\n*\n5\n",
        "# callgrind format\nfn=f\n5 3\nevents: Ir\n+5 3\n-11 3\n*\n* 3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        same_both_ways(texts[i], strlen(texts[i]), texts[i]);
}

static char *number(char *o, int often_short)
{
    unsigned n = often_short && draw(8) ? 1 : 1 + draw(draw(20) ? 9 : 22);

    while (n--)
        *o++ = (char)('0' + draw(10));
    return o;
}

static char *position(char *o)
{
    switch (draw(14)) {
    case 0:
    case 1:
    case 2:
    case 3: *o++ = '*'; return o;
    case 4:
    case 5:
    case 6: *o++ = '+'; break;
    case 7:
    case 8: *o++ = '-'; break;
    case 9: return o + sprintf(o, "0x%x", draw(1u << draw(31)));
    default: break;
    }
    return number(o, 1);
}

// A line of costs, calls or jumps: usually as programs write them, sometimes slightly wrong.
static char *line(char *o, unsigned columns, unsigned events)
{
    unsigned n = draw(6) ? events : draw(events + 3), wrong = !draw(12);

    switch (draw(30)) {
    case 0: return o + sprintf(o, "fn=(%u) f%u\n", draw(9), draw(9));
    case 1: return o + sprintf(o, "fi=(%u)\n", draw(9));
    case 2: o = number(o + sprintf(o, "cfn=(%u)\ncalls=", draw(9)), 1), *o++ = ' ', n = 0; break;
    case 3: o = number(o + sprintf(o, "jump="), 1), *o++ = ' ', n = 0; break;
    case 4:
        o = number(o + sprintf(o, "jcnd="), 1), *o++ = '/';
        o = number(o, 1), *o++ = ' ', n = 0;
        break;
    case 5: n = 0; break;
    default: break;
    }
    char *start = o;
    for (unsigned i = 0; i < columns; i++) {
        if (i)
            *o++ = ' ';
        o = position(o);
    }
    for (unsigned i = 0; i < n; i++) {
        *o++ = ' ';
        o = number(o, draw(3) != 0);
    }
    if (wrong)
        switch (draw(8)) {
        case 0: *o++ = ' '; break;
        case 1: *o++ = '\r'; break;
        case 2: *o++ = '\t'; break;
        case 3: start[draw((unsigned)(o - start))] = ' '; break;
        case 4: start[draw((unsigned)(o - start))] = "+-*.x/e"[draw(7)]; break;
        case 5: o += sprintf(o, " ."); break;
        case 6: o += sprintf(o, ".5"); break;
        default: o += sprintf(o, "  "); break;
        }
    *o++ = '\n';
    return o;
}

static void test_random(void **state)
{
    static const char *const positions[] = { "line",       "instr line",    "instr",
                                             "line instr", "instr bb line", "line line",
                                             "line what" };
    static const unsigned columns[] = { 1, 2, 1, 2, 3, 2, 2 };
    size_t cap = 2 << 20;
    char *text = malloc(cap), name[80];

    (void)state;
    for (int k = 0; k < 300; k++) {
        unsigned events = 1 + draw(draw(3) ? 9 : 40), shape = draw(3) ? draw(2) : draw(7);
        // every tenth crosses the reader's buffer of 256 KB several times
        unsigned lines = k % 10 ? draw(300) : 30000;
        char *o = text;
        o += sprintf(o, "# callgrind format\npositions: %s\nevents:", positions[shape]);
        for (unsigned i = 0; i < events; i++)
            o += sprintf(o, " E%u", i % (draw(20) ? 99 : 3));
        o += sprintf(o, "\nfl=(1) a.c\n%s", draw(8) ? "fn=(1) f\n" : "");
        for (unsigned i = 0; i < lines && o < text + cap - 4096; i++) {
            o = line(o, columns[shape], events);
            if (!draw(3000))
                o += sprintf(o, "part: %u\npositions: %s\nevents: E0 E1\n", i, positions[shape]);
        }
        if (draw(2))
            o += sprintf(o, "totals: 1 2 3\n");
        snprintf(name, sizeof(name), "profile %d, '%s', %u events", k, positions[shape], events);
        size_t n = (size_t)(o - text) - (draw(5) == 0);
        same_both_ways(text, n, name);
        same_in_pair(text, n, name, 500 + draw(40000));
    }
    free(text);
}

// Correct lines, as programs write them, so that two threads stay together to the end; and the same
// with one error somewhere, where they part.
static void test_pair(void **state)
{
    char *text = malloc(2 << 20), name[80];

    (void)state;
    for (int k = 0; k < 200; k++) {
        unsigned lines = 200 + draw(4000), shape = draw(3), names = 1 + draw(60);
        unsigned fault = draw(3) ? UINT_MAX : draw(lines);
        uint8_t known[3][64] = { { 0 } };
        char *o = text;
        o += sprintf(o, "# callgrind format\npositions:%s line\nevents: Ir Dr Dw\n%s",
                     shape ? " instr" : "", draw(2) ? "summary: 1 2 3\n" : "");
        o += sprintf(o, "ob=(1) o\nfl=(1) a.c\nfn=(1) f1\n");
        known[0][1] = known[1][1] = known[2][1] = 1;
        for (unsigned i = 0; i < lines; i++) {
            static const char *const kinds[] = {
                "ob", "fl", "fn", "fi", "fe", "cob", "cfi", "cfn"
            };
            static const uint8_t table[] = { 0, 1, 2, 1, 1, 0, 1, 2 };
            unsigned what = draw(40), calls = 0;
            if (i == fault) {
                static const char *const faults[] = { "calls=0 1\n",
                                                      "desc: x\n",
                                                      "part: 2\nevents: Ir Dr Dw\n",
                                                      "1\t1 1\n",
                                                      "what\n",
                                                      "fn=(99)\n",
                                                      "jump=1 2\n",
                                                      "-99999999999 1 1\n",
                                                      "fn=(1) other\n",
                                                      "1 1 1.5\n",
                                                      "events: Ir Bc\n",
                                                      "totals: 5 5 5\n" };
                o += sprintf(o, "%s", faults[draw(sizeof(faults) / sizeof(*faults))]);
            }
            if (what < 8) {
                unsigned id = 1 + draw(names), t = table[what];
                o += sprintf(o, known[t][id] ? "%s=(%u)\n" : "%s=(%u) %s%u\n", kinds[what], id,
                             kinds[t], id);
                known[t][id] = 1;
                calls = what == 7;
                if (what == 5 || what == 6) // and then whom
                    o += sprintf(o, known[2][id] ? "cfn=(%u)\n" : "cfn=(%u) fn%u\n", id, id),
                        known[2][id] = calls = 1;
            }
            if (calls)
                o += sprintf(o, "calls=%u %s%u\n", 1 + draw(9), shape ? "0x77 +" : "", draw(99));
            if (!calls && shape == 2 && what == 8)
                o += sprintf(o, "jump=%u +%u *\n* *\n", 1 + draw(9), draw(99));
            if (shape)
                o += sprintf(o, draw(20) ? "+%u " : "0x%x ", draw(20) + 40000);
            o += sprintf(o, draw(2) ? "*" : draw(2) ? "%u" : "+%u", 1 + draw(300));
            o += sprintf(o, " %u%s\n", draw(draw(2) ? 10 : 100000), draw(2) ? " 0 3" : "");
        }
        if (draw(2))
            o += sprintf(o, "\ntotals: 4 5 6\n");
        snprintf(name, sizeof(name), "pair %d, %u lines, fault in %u", k, lines, fault);
        same_in_pair(text, (size_t)(o - text), name, 1000 + draw(30000));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
