// SPDX-License-Identifier: MIT
//
// The profile of the data: finish/output/output_data.c with fields and walks, and
// finish/spool/spool_data.c. A spool of one block of a load (line 1 of f1) and a store (line 5),
// whose misses in each object are given; what the debug information would say is given, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "finish/output/output.h"
#include "symbols/demangle.h"
#include "tests/unit/finish/places_fakes.h"

enum { LOAD = 1, STORE = 3 }; // their counters: misses of L1, of LL

static struct spool_map maps[] = {
    { .start = 0x1000, .end = 0x2000, .path = 1 },
    { .start = 0x8000, .end = 0x9000, .path = 4 },
    { .start = 0xc000, .end = 0xd000, .flags = SPOOL_MAP_VDSO },
};
static uint64_t counters[8];
static struct {
    struct spool_block block;
    struct spool_insn in[2];
} code;
static struct spool_header header;
static struct spool_file spool;
static struct finish_totals totals;
static struct places places;
static struct symbols_module *modules[3];
static struct symbols_field answer[16]; // by the offset asked for, in words
static struct symbols_block asked;
static size_t questions;
static char asked_text[64];
static bool lacking;

// ---- Stand-ins ----

const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr)
{
    (void)p, (void)map, (void)pc, (void)addr;
    return NULL;
}

char *spool_file_line(const char *text)
{
    return strdup(text ? text : "");
}

struct symbols_module *places_module(const struct places *p, const char *path)
{
    (void)p;
    return path && strcmp(path, "/p") == 0 ? (struct symbols_module *)maps : NULL;
}

static void give(struct symbols_field *field, size_t n)
{
    questions += n;
    for (size_t i = 0; i < n; i++) {
        const struct symbols_field *a = &answer[field[i].low / 8 % 16];

        field[i].path = a->path ? strdup(a->path) : NULL;
        field[i].offset = a->offset;
        field[i].whole = a->whole;
        field[i].file = a->file;
        field[i].line = a->line;
        field[i].own_file = a->own_file;
        field[i].own_line = a->own_line;
    }
}

void symbols_fields(struct symbols_module *m, struct symbols_field *field, size_t n)
{
    assert_ptr_equal(m, maps);
    give(field, n);
}

void symbols_block(struct symbols_module *m, struct symbols_block *b)
{
    (void)m;
    asked = *b;
    snprintf(asked_text, sizeof(asked_text), "%s", b->text ? b->text : "-");
    give(b->field, b->fields);
}

bool symbols_is_short(void)
{
    return lacking;
}

char *demangle(const char *name)
{
    return strcmp(name, "_Z1tv") == 0 ? strdup("t()") : NULL;
}

// ---- Spools ----

static const char names[] = "\0table\0/p\0_Z1tv\0code\0.data";
enum { TABLE = 1, MODULE = 7, MANGLED = 10, CODE = 16, DATA = 21 };

static void put(uint64_t off, const void *record, size_t size)
{
    assert_int_equal(pwrite(spool.fd, record, size, (off_t)(SPOOL_DATA_OFF + off)), size);
}

static uint32_t object(struct spool_data_object o)
{
    put(header.data.objects_used * sizeof(o), &o, sizeof(o));
    return header.data.objects_used++;
}

static void count(struct spool_data_count c)
{
    c.counter++;
    put(SPOOL_DATA_COUNTS_OFF + header.data.counts_used++ * sizeof(c), &c, sizeof(c));
}

// Misses of the load.
static void loads(uint32_t object, uint64_t l1, uint64_t ll)
{
    count((struct spool_data_count){ .counter = LOAD, .object = object, .l1 = l1, .ll = ll });
}

static void cell(struct spool_data_cell c)
{
    c.counter++;
    c.first = c.low;
    c.high = c.high ? c.high : c.low;
    put(SPOOL_DATA_CELLS_OFF + header.data.cells_used++ * sizeof(c), &c, sizeof(c));
}

static int begin(void **state)
{
    (void)state;
    memset(counters, 0, sizeof(counters));
    memset(&totals, 0, sizeof(totals));
    memset(answer, 0, sizeof(answer));
    memset(&asked, 0, sizeof(asked));
    questions = 0;
    lacking = false;
    code.block = (struct spool_block){ .pc = 0x1101, .own = LOAD, .insns = 2 };
    code.in[0] = (struct spool_insn){ .len = 4, .reads = 1 };
    code.in[1] = (struct spool_insn){ .len = 4, .writes = 1 };
    header = (struct spool_header){ .flags = SPOOL_F_CALLS | SPOOL_F_CACHE_SIM, .pid = 7 };
    spool = (struct spool_file){ .h = &header,
                                 .text = fake_text,
                                 .maps = maps,
                                 .maps_used = 3,
                                 .blocks = (const char *)&code,
                                 .blocks_used = sizeof(code),
                                 .counters = counters,
                                 .counters_used = 8,
                                 .fd = memfd_create("spool", 0) };
    places = (struct places){ .s = &spool, .module = modules, .known = true };
    for (int i = 0; i < 3; i++)
        modules[i] = (struct symbols_module *)maps;
    header.data.names_used = sizeof(names);
    put(SPOOL_DATA_NAMES_OFF, names, sizeof(names));
    object((struct spool_data_object){ 0 });
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(spool.fd);
    return 0;
}

static void expect(int status, const char *text)
{
    char path[] = "/tmp/quern-unit-XXXXXX", *is = calloc(1, 1 << 16), err[256] = "", *from;
    FILE *f;

    close(mkstemp(path));
    assert_int_equal(output_data(&spool, &places, &totals, path, err, sizeof(err)), status);
    f = fopen(path, "r");
    (void)!fread(is, 1, (1 << 16) - 1, f);
    fclose(f);
    unlink(path);
    from = strstr(is, "cmd:");
    assert_string_equal(status ? strchr(err, ':') : from, text);
    free(is);
}

// Objects of such kinds, missed 1, 2, 3... times by the load, and 3 times more than all of them.
static void kinds(const struct spool_data_object *o, uint32_t n)
{
    uint64_t misses = 3;

    for (uint32_t i = 0; i < n; i++) {
        loads(object(o[i]), i + 1, 1);
        misses += i + 1;
    }
    counters[LOAD] = totals.counts[FINISH_D1MR] = misses;
    totals.counts[FINISH_DLMR] = n + 5;
}

static void test_kinds(void **state)
{
    const struct spool_data_object o[] = {
        { .kind = SPOOL_DATA_STACK },  { .kind = SPOOL_DATA_PROGRAM },
        { .kind = SPOOL_DATA_BREAK },  { .kind = SPOOL_DATA_VDSO, .module = MODULE },
        { .kind = SPOOL_DATA_SHARED }, { .kind = 99 },
    };

    (void)state;
    kinds(o, 6);
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 24 0 11 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) argv, environment, auxiliary vector\n"
              "0 2 0 1\n"
              "\n"
              "fn=(2) break, outside of blocks\n"
              "* 3 0 1\n"
              "\n"
              "fn=(3) not attributed\n"
              "* 3 0 5\n"
              "\n"
              "fn=(4) shared memory segment\n"
              "* 5 0 1\n"
              "\n"
              "fn=(5) stack\n"
              "* 1 0 1\n"
              "\n"
              "fn=(6) unknown\n"
              "* 6 0 1\n"
              "\n"
              "ob=(1) /p\n"
              "fn=(7) vdso\n"
              "* 4 0 1\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(8) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=2 *\n"
              "+1 2 0 1\n"
              "cob=(2)\n"
              "cfi=(1)\n"
              "cfn=(2)\n"
              "calls=3 -1\n"
              "* 3 0 1\n"
              "cob=(2)\n"
              "cfi=(1)\n"
              "cfn=(4)\n"
              "calls=5 -1\n"
              "* 5 0 1\n"
              "cob=(2)\n"
              "cfi=(1)\n"
              "cfn=(5)\n"
              "calls=1 -1\n"
              "* 1 0 1\n"
              "cob=(2)\n"
              "cfi=(1)\n"
              "cfn=(6)\n"
              "calls=6 -1\n"
              "* 6 0 1\n"
              "cfi=(1)\n"
              "cfn=(7)\n"
              "calls=4 -1\n"
              "* 4 0 1\n"
              "\n"
              "totals: 24 0 11 0\n");
}

static void test_symbols(void **state)
{
    const struct spool_data_object o[] = {
        { .kind = SPOOL_DATA_STATIC, .name = TABLE, .module = MODULE },
        { .kind = SPOOL_DATA_STATIC, .name = MANGLED, .module = MODULE },
        { .kind = SPOOL_DATA_STATIC, .module = MODULE },
        { .kind = SPOOL_DATA_TLS, .name = TABLE, .module = MODULE },
        { .kind = SPOOL_DATA_TLS, .module = MODULE },
    };

    (void)state;
    kinds(o, 5);
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 18 0 10 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) not attributed\n"
              "0 3 0 5\n"
              "\n"
              "ob=(1) /p\n"
              "fn=(2) TLS\n"
              "* 5 0 1\n"
              "\n"
              "fn=(3) TLS: table\n"
              "* 4 0 1\n"
              "\n"
              "fn=(4) static: ???\n"
              "* 3 0 1\n"
              "\n"
              "fn=(5) static: t()\n"
              "* 2 0 1\n"
              "\n"
              "fn=(6) static: table\n"
              "* 1 0 1\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(7) f1\n"
              "cfi=(1)\n"
              "cfn=(2)\n"
              "calls=5 *\n"
              "+1 5 0 1\n"
              "cfi=(1)\n"
              "cfn=(3)\n"
              "calls=4 -1\n"
              "* 4 0 1\n"
              "cfi=(1)\n"
              "cfn=(4)\n"
              "calls=3 -1\n"
              "* 3 0 1\n"
              "cfi=(1)\n"
              "cfn=(5)\n"
              "calls=2 -1\n"
              "* 2 0 1\n"
              "cfi=(1)\n"
              "cfn=(6)\n"
              "calls=1 -1\n"
              "* 1 0 1\n"
              "\n"
              "totals: 18 0 10 0\n");
}

static void test_sections_and_files(void **state)
{
    const struct spool_data_object o[] = {
        { .kind = SPOOL_DATA_SECTION, .name = CODE, .module = MODULE },
        { .kind = SPOOL_DATA_SECTION, .name = DATA, .module = MODULE },
        { .kind = SPOOL_DATA_SECTION, .module = MODULE },
        { .kind = SPOOL_DATA_FILE, .module = MODULE },
        { .kind = SPOOL_DATA_FILE },
    };

    (void)state;
    kinds(o, 5);
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 18 0 10 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) file: ???\n"
              "0 5 0 1\n"
              "\n"
              "fn=(2) not attributed\n"
              "* 3 0 5\n"
              "\n"
              "ob=(1) /p\n"
              "fn=(3) code\n"
              "* 1 0 1\n"
              "\n"
              "fn=(4) file: /p\n"
              "* 4 0 1\n"
              "\n"
              "fn=(5) section: .data\n"
              "* 2 0 1\n"
              "\n"
              "fn=(6) section: ???\n"
              "* 3 0 1\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(7) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=5 *\n"
              "+1 5 0 1\n"
              "cfi=(1)\n"
              "cfn=(3)\n"
              "calls=1 -1\n"
              "* 1 0 1\n"
              "cfi=(1)\n"
              "cfn=(4)\n"
              "calls=4 -1\n"
              "* 4 0 1\n"
              "cfi=(1)\n"
              "cfn=(5)\n"
              "calls=2 -1\n"
              "* 2 0 1\n"
              "cfi=(1)\n"
              "cfn=(6)\n"
              "calls=3 -1\n"
              "* 3 0 1\n"
              "\n"
              "totals: 18 0 10 0\n");
}

// Without demangling, and with misses of L2.
static void test_mangled(void **state)
{
    const struct spool_data_object o[] = {
        { .kind = SPOOL_DATA_STATIC, .name = MANGLED, .module = MODULE },
    };

    (void)state;
    header.flags |= SPOOL_F_NO_DEMANGLE | SPOOL_F_L2;
    header.s_cmd = 4;
    header.s_desc = 9;
    totals.counts[FINISH_D2MR] = 2;
    kinds(o, 1);
    expect(0, "cmd: /lib\n"
              "desc: I1 cache: 1 B\n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw D2mr D2mw DLmr DLmw\n"
              "summary: 4 0 2 0 6 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) not attributed\n"
              "0 3 0 2 0 5\n"
              "\n"
              "ob=(1) /p\n"
              "fn=(2) static: _Z1tv\n"
              "* 1 0 0 0 1\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(3) f1\n"
              "cfi=(1)\n"
              "cfn=(2)\n"
              "calls=1 *\n"
              "+1 1 0 0 0 1\n"
              "\n"
              "totals: 4 0 2 0 6 0\n");
}

// Allocations: by two calls, by one whose caller has no line, by one outside of all modules.
static void test_allocations(void **state)
{
    (void)state;
    loads(object((struct spool_data_object){
              .kind = SPOOL_DATA_HEAP, .sites = 2, .site = { 0x1105, 0x8206 } }),
          1, 0);
    loads(object((struct spool_data_object){
              .kind = SPOOL_DATA_ANON, .sites = 3, .site = { 0x1f00, 0x9000, 0xc103 } }),
          2, 0);
    loads(object((struct spool_data_object){ .kind = SPOOL_DATA_HEAP }), 3, 0);
    totals.counts[FINISH_D1MR] = 6;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 6 0 0 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) heap\n"
              "0 3\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=3 *\n"
              "+1 3\n"
              "cfn=(3) heap: f1 (a.c:5) < f2 (a.c:6)\n"
              "calls=1 +4\n"
              "* 1\n"
              "cfn=(4) mmap: ??? < 0x9000 < f1 (a.c:3)\n"
              "calls=2 -1\n"
              "* 2\n"
              "\n"
              "fn=(3)\n"
              "+4 1\n"
              "\n"
              "fn=(4)\n"
              "-5 2\n"
              "\n"
              "totals: 6 0 0 0\n");
}

// Reads and writes; each is a call for each miss of L1. The store's record has walks alone.
static void test_misses(void **state)
{
    uint32_t stack = object((struct spool_data_object){ .kind = SPOOL_DATA_STACK });

    (void)state;
    loads(stack, 5, 2);
    count((struct spool_data_count){ .counter = STORE, .object = stack, .l1 = 4, .ll = 4 });
    count((struct spool_data_count){ .counter = STORE, .object = 0, .steps = 3 });
    count((struct spool_data_count){ .counter = STORE, .object = 0 }); // nothing
    totals.counts[FINISH_D1MR] = 5;
    totals.counts[FINISH_DLMR] = 2;
    totals.counts[FINISH_D1MW] = 4;
    totals.counts[FINISH_DLMW] = 4;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Walk at: random\t3\t3\tunknown\tf1\ta.c:5\n"
              "desc: Walk: random\t3\t3\tunknown\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 5 4 2 4\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) stack\n"
              "0 5 4 2 4\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=5 *\n"
              "+1 5 0 2\n"
              "cob=(2)\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=4 -1\n"
              "+4 0 4 0 4\n"
              "\n"
              "totals: 5 4 2 4\n");
}

// What no engine writes: one counter of no instruction, no counter, no object, more misses of L2 or
// LL than of L1, too many; totals below the sum. What is sound stays.
static void test_damaged(void **state)
{
    uint32_t stack = object((struct spool_data_object){ .kind = SPOOL_DATA_STACK });
    struct spool_data_file d;

    (void)state;
    loads(stack, 5, 2);
    count((struct spool_data_count){ .counter = 7, .object = stack, .l1 = 100 });
    count((struct spool_data_count){ .counter = (uint32_t)-1, .object = stack, .l1 = 100 });
    count((struct spool_data_count){ .counter = STORE, .object = 2, .l1 = 100 });
    count((struct spool_data_count){ .counter = STORE, .object = stack, .l1 = 100, .l2 = 101 });
    loads(stack, 100, 101);
    loads(stack, FINISH_COUNT_MAX, 0);
    totals.counts[FINISH_D1MR] = 4;
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 5);
    assert_int_equal(d.misses, 2);
    assert_int_equal(d.miss[0].pc, 0x1101);
    assert_int_equal(d.miss[1].pc, 0);
    spool_data_free(&d);
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 5 0 2 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) stack\n"
              "0 5 0 2\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=5 *\n"
              "+1 5 0 2\n"
              "\n"
              "totals: 5 0 2 0\n");
}

// Cells of no program: not counted, no counter, no object, inverted, an offset of 2^47. The largest
// offset is sound.
static void test_damaged_cells(void **state)
{
    struct spool_data_cell c = { .counter = 1, .l1 = 1, .low = 8, .first = 8, .high = 8 };
    struct spool_data_file d;

    (void)state;
    for (int i = 0; i < 10; i++) {
        struct spool_data_cell x = c;

        x.l1 = i == 0 ? 0 : i == 1 ? FINISH_COUNT_MAX : 1;
        x.counter = i != 2;
        x.object = i == 3;
        x.l2 = i == 4 ? 2 : 1;
        x.ll = i == 5 ? 2 : 1;
        x.first = i == 6 ? 7 : 8;
        x.high = i == 7 ? 7 : i == 8 ? UINT64_C(1) << 47 : (UINT64_C(1) << 47) - 1;
        put(SPOOL_DATA_CELLS_OFF + header.data.cells_used++ * sizeof(x), &x, sizeof(x));
    }
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 8);
    assert_int_equal(d.cells, 1);
    assert_int_equal(d.cell[0].high, (UINT64_C(1) << 47) - 1);
    spool_data_free(&d);
}

// By object, offset and instruction, each with what it has counted: the numbers 0 to 209 in the
// order of multiples of 101, which is prime to 210.
static void test_sorted_cells(void **state)
{
    struct spool_data_file d;

    (void)state;
    for (int i = 0; i < 7; i++)
        object((struct spool_data_object){ .kind = SPOOL_DATA_HEAP });
    for (uint32_t i = 0; i < 210; i++) {
        uint32_t n = i * 101 % 210;

        cell((struct spool_data_cell){
            .counter = n % 3, .object = n / 30, .low = n / 3 % 10, .l1 = n + 1, .step = n });
    }
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 0);
    assert_int_equal(d.cells, 210);
    for (uint32_t n = 0; n < 210; n++) {
        assert_int_equal(d.cell[n].object, n / 30);
        assert_int_equal(d.cell[n].low, n / 3 % 10);
        assert_int_equal(d.cell[n].counter, n % 3 + 1);
        assert_int_equal(d.cell[n].l1, n + 1);
        assert_int_equal(d.cell[n].step, n);
    }
    spool_data_free(&d);
}

// Of what cannot be nothing is known: more bytes than there are, too many lines, lines without a
// sample.
static void test_use(void **state)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_STACK, .fetched = 3, .used = 24 };
    uint32_t stack = object(o);
    struct spool_data_file d;

    (void)state;
    header.d1.line = 64;
    header.data.use = 64;
    loads(stack, 5, 2);
    totals.counts[FINISH_D1MR] = 5;
    totals.counts[FINISH_DLMR] = 2;
    for (int i = 0; i < 5; i++) {
        o.kind = SPOOL_DATA_VDSO;
        o.fetched = i == 0 ? FINISH_COUNT_MAX / 64 : i == 1 ? ~UINT64_C(0) : i == 4 ? 0 : 3;
        o.used = i == 2 ? 193 : i == 3 ? 192 : i == 4 ? 1 : 0;
        object(o);
    }
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 4);
    for (uint32_t i = 0; i < d.objects; i++)
        assert_int_equal(d.object[i].fetched, i == 1 || i == 5 ? 3 : 0);
    spool_data_free(&d);
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Use sample: 64\t64\n"
              "desc: Use: 3\t192\tvdso\t???\n"
              "desc: Use: 3\t24\tstack\t???\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 5 0 2 0\n"
              "\n"
              "fl=(1) ???\n"
              "fn=(1) stack\n"
              "0 5 0 2\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cob=(2) ???\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=5 *\n"
              "+1 5 0 2\n"
              "\n"
              "totals: 5 0 2 0\n");
    header.data.use = 0;
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 6);
    spool_data_free(&d);
    header.d1.line = 0; // of no geometry
    header.data.use = 64;
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.bad, 5);
    spool_data_free(&d);
}

// The walk is that with most steps; the first of equal ones. The steps near are those that are not
// in it already: a stride of 4096 is not near.
static void test_walk_of(void **state)
{
    struct spool_data_count c[] = {
        { .steps = 10, .ahead = 4, .back = 4, .near = 6 },
        { .steps = 10, .ahead = 4, .back = 5, .near = 6 },
        { .steps = 10,
          .back = 5,
          .near = 9,
          .stride = { { 64, 1, 5 }, { 128, 1, 6 }, { 256, 1, 6 } } },
        { .steps = 10, .near = 6, .stride = { { 0 }, { -4095, 1, 4 } } },
        { .steps = 10, .near = 6, .stride = { { 0 }, { 0 }, { -4096, 1, 4 } } },
        { .steps = 10, .near = 20, .ahead = 20 },
        { .steps = FINISH_COUNT_MAX },
    };
    const struct spool_data_walk is[] = {
        { SPOOL_WALK_AHEAD, false, 0, 10, 4, 2 },
        { SPOOL_WALK_BACK, false, 0, 10, 5, 1 },
        { SPOOL_WALK_STRIDE, false, 128, 10, 6, 3 },
        { SPOOL_WALK_STRIDE, false, -4095, 10, 4, 2 },
        { SPOOL_WALK_STRIDE, false, -4096, 10, 4, 6 },
        { SPOOL_WALK_AHEAD, false, 0, 10, 10, 0 },
        { SPOOL_WALK_NONE, false, 0, FINISH_COUNT_MAX - 1, 0, 0 },
    };
    struct spool_data_file d;

    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        c[i].counter = 5;
        c[i].object = object((struct spool_data_object){ .kind = SPOOL_DATA_STACK });
        count(c[i]);
    }
    assert_int_equal(spool_data_read(&spool, &d), 0);
    assert_int_equal(d.misses, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(d.miss[i].object, i + 1);
        assert_int_equal(d.miss[i].walk.regular, is[i].regular);
        assert_int_equal(d.miss[i].walk.stride, is[i].stride);
        assert_int_equal(d.miss[i].walk.steps, is[i].steps);
        assert_int_equal(d.miss[i].walk.count, is[i].count);
        assert_int_equal(d.miss[i].walk.near, is[i].near);
    }
    spool_data_free(&d);
}

// Fields of a static variable: two cells of one member are one row; a member's line is one in the
// variable's file; an offset without a member has no name. 20 misses at no offset.
static void test_fields(void **state)
{
    uint32_t o = object((struct spool_data_object){
        .kind = SPOOL_DATA_STATIC, .name = TABLE, .module = MODULE, .start = 0x4000, .size = 64 });

    (void)state;
    for (int i = 0; i < 16; i++)
        answer[i] = (struct symbols_field){ .own_file = FAKE_FILE, .own_line = 30 };
    answer[1].path = answer[2].path = (char *)(uintptr_t) "table[].next";
    answer[1].offset = answer[2].offset = 8;
    answer[1].file = answer[2].file = FAKE_FILE + 1;
    answer[1].line = answer[2].line = 12;
    answer[4].path = (char *)(uintptr_t) "table";
    answer[4].offset = 32;
    answer[5].path = (char *)(uintptr_t) "table.in";
    answer[5].offset = 40;
    answer[5].file = FAKE_FILE;
    answer[5].line = 33;
    loads(o, 2000, 20);
    count((struct spool_data_count){ .counter = STORE, .object = o, .l1 = 1000 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 8, .l1 = 700, .ll = 10 });
    cell((struct spool_data_cell){
        .counter = STORE | SPOOL_DATA_CELL_WRITE, .object = o, .low = 16, .l1 = 1000 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 16, .l1 = 200, .ll = 5 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 24, .l1 = 50 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 32, .l1 = 30 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 40, .l1 = 1000 });
    totals.counts[FINISH_D1MR] = 2000;
    totals.counts[FINISH_DLMR] = 20;
    totals.counts[FINISH_D1MW] = 1000;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Field: 8\ttable[].next\tinc.h:12\tstatic: table\ta.c\n"
              "desc: Field: 40\ttable.in\ta.c:33\tstatic: table\ta.c\n"
              "desc: Field: 128\t(elsewhere)\t:0\tstatic: table\ta.c\n"
              "positions: instr line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 2000 1000 20 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) a.c\n"
              "fn=(1) f1\n"
              "cfn=(2) static: table\n"
              "calls=2000 0x0 30\n"
              "0x0 1 2000 0 20\n"
              "cfn=(2)\n"
              "calls=1000 * +29\n"
              "* +4 0 1000\n"
              "\n"
              "fn=(2)\n"
              "+8 +25 900 1000 15\n"
              "+16 * 50\n"
              "+8 * 30\n"
              "+8 +3 1000\n"
              "+88 -3 20 0 5\n"
              "\n"
              "totals: 2000 1000 20 0\n");
    assert_int_equal(questions, 6);
}

// Cells that have more misses than the object: the object's stay alone, and a record is damaged.
static void test_unsound_fields(void **state)
{
    uint32_t o = object((struct spool_data_object){
        .kind = SPOOL_DATA_STATIC, .name = TABLE, .module = MODULE, .size = 64 });

    (void)state;
    loads(o, 2000, 20);
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 8, .l1 = 2000, .ll = 21 });
    totals.counts[FINISH_D1MR] = 2000;
    totals.counts[FINISH_DLMR] = 20;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 2000 0 20 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) ???\n"
              "fn=(1) static: table\n"
              "0 2000 0 20\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=2000 *\n"
              "+1 2000 0 20\n"
              "\n"
              "totals: 2000 0 20 0\n");
}

// Blocks of one size: fields by the line that allocates them, else cells of 8 bytes below 4096 and
// of 64 from there on; one that is not within such a cell says nothing.
static void test_fields_of_blocks(void **state)
{
    uint32_t o = object((struct spool_data_object){ .kind = SPOOL_DATA_HEAP,
                                                    .sites = 1,
                                                    .site = { 0x1105 },
                                                    .least = 8192,
                                                    .most = 8192,
                                                    .blocks = 3 });

    (void)state;
    answer[1] = (struct symbols_field){
        .path = (char *)(uintptr_t) "left", .offset = 8, .file = FAKE_FILE, .line = 50
    };
    loads(o, 100, 0);
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 8, .l1 = 10 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 20, .high = 23, .l1 = 20 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 20, .high = 24, .l1 = 1 });
    cell((struct spool_data_cell){
        .counter = LOAD, .object = o, .low = 4096 + 65, .high = 4096 + 127, .l1 = 30 });
    cell((struct spool_data_cell){
        .counter = LOAD, .object = o, .low = 4096 + 65, .high = 4096 + 128, .l1 = 1 });
    totals.counts[FINISH_D1MR] = 100;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Field: 8\tleft\ta.c:50\theap: f1 (a.c:5)\ta.c\tinferred\n"
              "desc: Field: 8256\t(elsewhere)\t:0\theap: f1 (a.c:5)\ta.c\n"
              "desc: Blocks: 3\t0\t0\t0\t0\t0\t0\t0\t0\theap: f1 (a.c:5)\ta.c\n"
              "positions: instr line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 100 0 0 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) a.c\n"
              "fn=(1) f1\n"
              "cfn=(2) heap: f1 (a.c:5)\n"
              "calls=100 0x0 5\n"
              "0x0 1 100\n"
              "\n"
              "fn=(2)\n"
              "+8 +49 10\n"
              "+8 -45 20\n"
              "+4144 * 30\n"
              "+4096 * 40\n"
              "\n"
              "totals: 100 0 0 0\n");
    assert_int_equal(asked.line, 5);
    assert_int_equal(asked.site, FAKE_LINKED + 0x1105);
    assert_int_equal(asked.fields, 5);
    assert_string_equal(asked_text, "-");
}

// The line that allocates them, as it was when the program was made: of a regular file with that
// many lines, which is not newer than the program. Times are those of the file, in ns.
static void test_line_of_blocks(void **state)
{
    char path[] = "/tmp/quern-unit-XXXXXX";
    const struct timespec times[] = { { 100, 7 }, { 100, 7 } };
    struct spool_data_object o = {
        .kind = SPOOL_DATA_HEAP, .sites = 1, .site = { 0x1102 }, .least = 8, .most = 8
    };
    struct spool_data_file d;
    struct output_fields f = { 0 };
    int fd = mkstemp(path);
    static const struct {
        uint64_t site, mtime;
        const char *is;
    } row[] = {
        { 0x1102, UINT64_C(100000000007), "two" },
        { 0x1103, UINT64_C(100000000008), "three" },
        { 0x1104, 0, "-" }, // there are three
        { 0x1102, UINT64_C(100000000006), "-" },
        { 0x1102, 0, "two" }, // not known
    };

    (void)state;
    assert_int_equal(write(fd, "one\ntwo\nthree", 13), 13);
    object(o);
    cell((struct spool_data_cell){ .counter = LOAD, .object = 1, .l1 = 1 });
    fake_file = path;
    for (size_t i = 0; i < 5; i++) {
        o.site[0] = row[i].site;
        put(sizeof(o), &o, sizeof(o));
        maps[0].mtime = row[i].mtime;
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(spool_data_read(&spool, &d), 0);
        output_fields_find(&f, &d, &places);
        assert_string_equal(asked_text, row[i].is);
        output_fields_free(&f);
        spool_data_free(&d);
    }
    maps[0].mtime = 0;
    fake_file = "a.c";
    close(fd);
    unlink(path);
}

// Blocks of several sizes have no offsets in common.
static void test_blocks_of_sizes(void **state)
{
    uint32_t o = object((struct spool_data_object){ .kind = SPOOL_DATA_HEAP,
                                                    .sites = 1,
                                                    .site = { 0x1105 },
                                                    .least = 16,
                                                    .most = 17,
                                                    .blocks = 3,
                                                    .bytes = 49,
                                                    .gone_blocks = 2,
                                                    .gone_bytes = 33,
                                                    .peak_blocks = 1,
                                                    .peak_bytes = 17,
                                                    .missed_blocks = 3,
                                                    .missed_bytes = 49,
                                                    .cold = 4 });

    (void)state;
    loads(o, 100, 0);
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 8, .l1 = 10 });
    totals.counts[FINISH_D1MR] = 100;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Blocks: 3\t49\t2\t33\t1\t17\t3\t49\t4\theap: f1 (a.c:5)\ta.c\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 100 0 0 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) a.c\n"
              "fn=(1) f1\n"
              "cfn=(2) heap: f1 (a.c:5)\n"
              "calls=100 5\n"
              "1 100\n"
              "\n"
              "fn=(2)\n"
              "+4 100\n"
              "\n"
              "totals: 100 0 0 0\n");
    header.data.lines_lost = 1;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "desc: Blocks: 3\t49\t2\t33\t1\t17\t-\t-\t-\theap: f1 (a.c:5)\ta.c\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 100 0 0 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) a.c\n"
              "fn=(1) f1\n"
              "cfn=(2) heap: f1 (a.c:5)\n"
              "calls=100 5\n"
              "1 100\n"
              "\n"
              "fn=(2)\n"
              "+4 100\n"
              "\n"
              "totals: 100 0 0 0\n");
}

// Of all misses a thousandth is worth a look at a type; for a variable of a library 1,000 are.
static void test_dear(void **state)
{
    const char *dear = "cmd: \n"
                       "desc: Functions: objects of the data\n"
                       "positions: instr line\n"
                       "events: D1mr D1mw DLmr DLmw\n"
                       "summary: 999 0 0 0\n"
                       "\n"
                       "ob=(1) /p\n"
                       "fl=(1) ???\n"
                       "fn=(1) static: table\n"
                       "0x8 0 999\n"
                       "\n"
                       "fl=(2) a.c\n"
                       "fn=(2) f1\n"
                       "cfi=(1)\n"
                       "cfn=(1)\n"
                       "calls=999 -8 *\n"
                       "-8 +1 999\n"
                       "\n"
                       "totals: 999 0 0 0\n";
    uint32_t o = object((struct spool_data_object){
        .kind = SPOOL_DATA_STATIC, .name = TABLE, .module = MODULE, .size = 64 });

    (void)state;
    loads(o, 999, 0);
    cell((struct spool_data_cell){ .counter = LOAD, .object = o, .low = 8, .l1 = 999 });
    totals.counts[FINISH_D1MR] = 999;
    expect(0, dear);
    assert_int_equal(questions, 0);
    header.s_program = 4; // /lib: another one
    expect(0, dear);
    assert_int_equal(questions, 0);
    header.s_program = 1; // it is the program's own
    expect(0, dear);
    assert_int_equal(questions, 1);
}

// Two cells of a variable whose type is not looked at, behind those of another one.
static void test_untyped(void **state)
{
    struct spool_data_object like = {
        .kind = SPOOL_DATA_STATIC, .name = TABLE, .module = MODULE, .size = 64
    };
    uint32_t a = object(like), b = object(like);
    struct spool_data_file d;
    struct output_fields f = { 0 };
    const struct output_field *of;
    size_t n;

    (void)state;
    cell((struct spool_data_cell){ .counter = LOAD, .object = a, .low = 8, .l1 = 1 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = b, .low = 16, .l1 = 2 });
    cell((struct spool_data_cell){ .counter = LOAD, .object = b, .low = 24, .l1 = 3 });
    assert_int_equal(spool_data_read(&spool, &d), 0);
    output_fields_find(&f, &d, &places);
    of = output_fields_of(&f, b, &n);
    assert_int_equal(n, 2);
    assert_int_equal(of[0].misses[OUTPUT_FIELD_L1][0] + of[1].misses[OUTPUT_FIELD_L1][0], 5);
    assert_int_equal(of[0].offset + of[1].offset, 40);
    of = output_fields_of(&f, a, &n);
    assert_int_equal(n, 1);
    assert_int_equal(of[0].offset, 8);
    output_fields_of(&f, 0, &n);
    assert_int_equal(n, 0);
    output_fields_free(&f);
    spool_data_free(&d);
}

// Without memory no file is written.
static void test_no_memory(void **state)
{
    (void)state;
    lacking = true;
    expect(-1, ": not written: out of memory");
}

// Objects of one name are one function: the sum of their misses. Fields at one offset are told
// apart.
static void test_same_objects(void **state)
{
    struct spool_data_object like = { .kind = SPOOL_DATA_SECTION, .name = DATA, .module = MODULE };
    uint32_t a = object(like), b = object(like);

    (void)state;
    loads(a, 5, 1);
    loads(b, 7, 2);
    totals.counts[FINISH_D1MR] = 12;
    totals.counts[FINISH_DLMR] = 3;
    expect(0, "cmd: \n"
              "desc: Functions: objects of the data\n"
              "positions: line\n"
              "events: D1mr D1mw DLmr DLmw\n"
              "summary: 12 0 3 0\n"
              "\n"
              "ob=(1) /p\n"
              "fl=(1) ???\n"
              "fn=(1) section: .data\n"
              "0 12 0 3\n"
              "\n"
              "fl=(2) a.c\n"
              "fn=(2) f1\n"
              "cfi=(1)\n"
              "cfn=(1)\n"
              "calls=12 *\n"
              "+1 12 0 3\n"
              "\n"
              "totals: 12 0 3 0\n");
}

// Joined: equal rows are summed, several at one offset and what is in several fields get numbers
// behind the end.
static void test_join(void **state)
{
    char left[] = "left", right[] = "right";
    struct output_field f[] = {
        { .offset = 8, .path = right, .misses = { { 1, 2 }, { 3, 4 }, { 5, 6 } } },
        { .offset = 8, .path = left, .misses = { { 10 } } },
        { .offset = 8, .path = right, .misses = { { 1, 2 }, { 3, 4 }, { 5, 6 } } },
        { .offset = 8, .misses = { { 7 } } },
        { .offset = 0, .whole = true, .path = left },
        { .offset = 16 },
    };

    (void)state;
    assert_int_equal(output_fields_join(f, 6, 100), 5);
    assert_string_equal(f[0].path, "left");
    assert_int_equal(f[0].offset, 8);
    assert_string_equal(f[1].path, "right");
    assert_int_equal(f[1].offset, 101);
    assert_null(f[2].path);
    assert_int_equal(f[2].offset, 102);
    for (int level = 0; level < 3; level++)
        for (int write = 0; write < 2; write++)
            assert_int_equal(f[1].misses[level][write], 2 * (2 * level + write + 1));
    assert_int_equal(f[3].offset, 16);
    assert_true(f[4].whole);
    assert_int_equal(f[4].offset, 103);
    assert_int_equal(output_fields_join(f, 0, 100), 0);
}

static void test_end(void **state)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_STATIC, .size = 100, .most = 7 };

    (void)state;
    assert_int_equal(output_fields_end(&o), 164);
    o.size = (UINT64_C(1) << 47) - 1;
    assert_int_equal(output_fields_end(&o), (UINT64_C(1) << 47) + 63);
    o.size++; // damaged
    assert_int_equal(output_fields_end(&o), 64);
    o.kind = SPOOL_DATA_TLS; // all of them: no name
    assert_int_equal(output_fields_end(&o), 71);
    o.name = TABLE;
    o.size = 1;
    assert_int_equal(output_fields_end(&o), 65);
}

// A spool is 300 GiB of holes.
static int lift_limit(void **state)
{
    struct rlimit most;

    (void)state;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0)
        return -1;
    most.rlim_cur = most.rlim_max;
    return setrlimit(RLIMIT_FSIZE, &most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, begin, end),
        cmocka_unit_test_setup_teardown(test_symbols, begin, end),
        cmocka_unit_test_setup_teardown(test_sections_and_files, begin, end),
        cmocka_unit_test_setup_teardown(test_mangled, begin, end),
        cmocka_unit_test_setup_teardown(test_allocations, begin, end),
        cmocka_unit_test_setup_teardown(test_misses, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged_cells, begin, end),
        cmocka_unit_test_setup_teardown(test_sorted_cells, begin, end),
        cmocka_unit_test_setup_teardown(test_use, begin, end),
        cmocka_unit_test_setup_teardown(test_walk_of, begin, end),
        cmocka_unit_test_setup_teardown(test_fields, begin, end),
        cmocka_unit_test_setup_teardown(test_unsound_fields, begin, end),
        cmocka_unit_test_setup_teardown(test_fields_of_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_line_of_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_blocks_of_sizes, begin, end),
        cmocka_unit_test_setup_teardown(test_dear, begin, end),
        cmocka_unit_test_setup_teardown(test_untyped, begin, end),
        cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
        cmocka_unit_test_setup_teardown(test_same_objects, begin, end),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, lift_limit, NULL);
}
