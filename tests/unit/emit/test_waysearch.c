// SPDX-License-Identifier: MIT
// engine/emit/waysearch.c: the stubs are generated, then called on sets in memory at %gs, as
// fragments call them. The resulting set is compared with one that the test maintains. Where they
// continue in C, a stub of the test stores which one it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/codecache/dump.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/emit/waysearch.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/thread.h"

#define LINE     64u
#define SETS     8u
#define SET_MASK ((SETS - 1) * LINE) // of a tag: the byte offset of its set
#define MADE     8192u               // offset of generated stubs in `code`; before them, those of C
#define CODE     65536u
#define SET_GS   0x1001 // ARCH_SET_GS
#define AFTER    0x400  // in the area: the registers after a call
#define LEFT     0x300  // and the number of the stub of C that was reached, plus 1

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

static u8 *code, *area;
static u64 made = MADE;
static u32 dumped;

u8 *region_made_space(u64 *room)
{
    *room = CODE - made;
    return code + made;
}

void region_made(u64 end)
{
    made = ((end + 15) & ~15ul) - (u64)code;
}

u64 stubs_at(enum stub s)
{
    return (u64)code + 64 + s * 16u;
}

void dump_stub(const char *name, u64 hpc, u64 bytes)
{
    assert_true(hpc + bytes <= (u64)code + made);
    assert_int_equal(strncmp(name, "waysearch_", 10), 0);
    dumped++;
}

// Loads the registers but rsp from gs:0, calls gs:[TH_HOST], and stores them from gs:AFTER on.
void test_ways_call(void);
__asm__(".macro EACH what\n"
        "    \\what rax, 0\n    \\what rcx, 1\n    \\what rdx, 2\n    \\what rbx, 3\n"
        "    \\what rbp, 5\n    \\what rsi, 6\n    \\what rdi, 7\n    \\what r8, 8\n"
        "    \\what r9, 9\n    \\what r10, 10\n    \\what r11, 11\n    \\what r12, 12\n"
        "    \\what r13, 13\n    \\what r14, 14\n    \\what r15, 15\n"
        "    .endm\n"
        "    .macro GIVE reg, n\n    mov %gs:8*\\n, %\\reg\n    .endm\n"
        "    .macro TAKE reg, n\n    mov %\\reg, %gs:0x400+8*\\n\n    .endm\n"
        "test_ways_call:\n"
        "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n"
        "    push %r15\n"
        "    EACH GIVE\n"
        "    call *%gs:0xb0\n"
        "    EACH TAKE\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
        "    ret\n");
_Static_assert(TH_HOST == 0xb0 && AFTER == 0x400, "as written above");

static int begin(void **state)
{
    (void)state;
    code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area = mmap(NULL, TA_D1 + 65536, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (u32 s = 0; s < STUB_COUNT; s++) {
        // mov dword gs:[LEFT], s + 1; ret
        u8 insn[] = { 0x65, 0xc7, 0x04, 0x25, 0, 3, 0, 0, (u8)(s + 1), 0, 0, 0, 0xc3 };

        memcpy(code + 64 + s * 16, insn, sizeof(insn));
    }
    return syscall(SYS_arch_prctl, SET_GS, area) != 0;
}

static int setup(void **state)
{
    (void)state;
    memset(area, 0, 4096);
    memset(area + TA_I1, 0, 4096);
    memset(area + TA_D1, 0, 4096);
    memset(&tb_config, 0, sizeof(tb_config));
    tb_config.way_search = true;
    tb_config.d1_mask = SET_MASK;
    return 0;
}

// Calls a stub with `set` in r1 and `tag` in r2. Returns the stub of C in which it continued,
// STUB_COUNT for none. In any case the registers are preserved.
static enum stub call(u64 stub, u32 r1, u64 set, u32 r2, u64 tag)
{
    u64 *reg = (u64 *)area, *after = (u64 *)(area + AFTER);

    for (u32 i = 0; i < 16; i++)
        reg[i] = 0x1111111111111111ul * i;
    reg[r1] = set;
    reg[r2] = tag;
    *(u64 *)(area + TH_HOST) = stub;
    *(u32 *)(area + LEFT) = STUB_COUNT + 1;
    test_ways_call();
    for (u32 i = 0; i < 16; i++)
        if (i != R_RSP)
            assert_int_equal(after[i], reg[i]);
    return *(u32 *)(area + LEFT) - 1;
}

// The expected set: the tag moves to the first way, those before its old way move down by one; a
// tag that was not there replaces the last. True: it was there.
static bool expect(u64 *way, u32 assoc, u64 tag)
{
    u32 i;

    for (i = 0; i < assoc - 1 && way[i] != tag; i++)
        ;
    bool hit = way[i] == tag;

    memmove(way + 1, way, i * sizeof(*way));
    way[0] = tag;
    return hit;
}

static u32 any(u32 bound)
{
    static u64 x = 88172645463325252; // xorshift with the shifts 13, 7, 17

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (u32)(x >> 32) % bound;
}

// 4000 references to so few lines that every way is hit. Each associativity has its own pair of
// registers: a stub is generated once for a pair, and its scratch registers depend on the pair.
static void test_d1(void **state)
{
    static const struct {
        u8 assoc, r1, r2;
    } cases[] = { { 1, R_RDX, R_RSI }, { 2, R_RAX, R_RCX },  { 3, R_RCX, R_RAX }, { 4, R_RBX, 15 },
                  { 8, 8, R_RDX },     { 15, R_RSI, R_RBP }, { 16, R_RDI, 9 } };

    for (u32 k = 0; k < ARRAY_SIZE(cases); k++) {
        u32 assoc = cases[k].assoc, hits = 0, misses = 0, deep = 0;
        u64 set[SETS][16] = { 0 };

        setup(state);
        tb_config.d1_scale = assoc <= 8 ? 0 : 1; // a set of 8-byte tags is as long as that
        header.d1 = (struct spool_geometry){ SETS * assoc * LINE, assoc, LINE };
        dumped = 0;
        u64 stub = waysearch_d1(cases[k].r1, cases[k].r2);
        assert_int_equal(dumped, 1);
        for (u32 i = 0; i < 4000; i++) {
            u64 tag = 0x7f0000000000 | any(SETS * (assoc + 2)) * LINE | (LINE - 1);
            u32 at = (u32)tag & SET_MASK, s = at / LINE;
            bool last = set[s][assoc - 1] == tag;

            if (set[s][0] == tag)
                continue; // the fragment's own check covers that
            enum stub left = call(stub, cases[k].r1, at, cases[k].r2, tag);
            if (expect(set[s], assoc, tag)) {
                assert_int_equal(left, STUB_COUNT);
                hits++;
                deep += last;
            } else {
                assert_int_equal(left, STUB_D1_MISS);
                assert_int_equal(*(u64 *)(area + TH_H_ADDR), tag);
                misses++;
            }
            assert_memory_equal(area + TA_D1 + (at << tb_config.d1_scale), set[s], assoc * 8);
        }
        assert_true(misses > 100 && (assoc == 1 ? hits == 0 : deep > 10));
        assert_int_equal(waysearch_d1(cases[k].r1, cases[k].r2), stub);
        assert_int_equal(dumped, 1);
    }
}

// The last byte is in another set than the first: set 2, and line 0x10c0 of set 3 after it. Nothing
// moves while both lines are in the first way; else C does it all, and gets the set.
static void test_straddling(void **state)
{
    u64 *two = (u64 *)(area + TA_D1 + 2 * LINE), *three = (u64 *)(area + TA_D1 + 3 * LINE);
    u64 tag = 0x10ff, stub;

    (void)state;
    header.d1 = (struct spool_geometry){ SETS * 4 * LINE, 4, LINE };
    stub = waysearch_d1(R_RAX, R_RSI);
    two[0] = tag - LINE;
    two[1] = 0xaabf;
    three[0] = tag;
    assert_int_equal(call(stub, R_RAX, 2 * LINE, R_RSI, tag), STUB_COUNT);
    three[0] = 0xccff;
    three[1] = tag; // there, but not the most recent
    assert_int_equal(call(stub, R_RAX, 2 * LINE, R_RSI, tag), STUB_D1_SLOW);
    assert_int_equal(*(u64 *)(area + TH_H_ADDR), tag);
    assert_int_equal(*(u32 *)(area + TH_H_DESC), 2 * LINE);
    three[0] = tag;
    two[0] = 0xaabf;
    two[1] = tag - LINE;
    assert_int_equal(call(stub, R_RAX, 2 * LINE, R_RSI, tag), STUB_D1_SLOW);
    assert_int_equal(two[0], 0xaabf);
    assert_int_equal(two[1], tag - LINE);
}

// More ways than the stub searches, or no search: straight to C.
static void test_left_to_c(void **state)
{
    (void)state;
    header.d1 = (struct spool_geometry){ SETS * 17 * LINE, 17, LINE };
    tb_config.d1_scale = 2;
    assert_int_equal(call(waysearch_d1(10, 11), 10, LINE, 11, 0x107f), STUB_D1_SLOW);
    assert_int_equal(*(u64 *)(area + TH_H_ADDR), 0x107f);
    assert_int_equal(*(u32 *)(area + TH_H_DESC), LINE);
    header.d1.assoc = 8;
    tb_config.way_search = false;
    assert_int_equal(call(waysearch_d1(11, 10), 11, LINE, 10, 0x107f), STUB_D1_SLOW);
    header.i1 = (struct spool_geometry){ 0x8000, 8, LINE };
    assert_int_equal(waysearch_i1(), 0);
    tb_config.way_search = true;
    header.i1.assoc = 17;
    assert_int_equal(waysearch_i1(), 0);
}

// I1's tags are 32-bit ids of lines, rax the offset of the set, rcx the id.
static void test_i1(void **state)
{
    u64 set[SETS][16] = { 0 }, stub;
    u32 hits = 0, misses = 0;

    (void)state;
    header.i1 = (struct spool_geometry){ SETS * 6 * LINE, 6, LINE };
    stub = waysearch_i1();
    for (u32 i = 0; i < 4000; i++) {
        u32 s = any(SETS), id = 0x80000000 + any(8) * SETS + s;
        u64 junk = 0xffffffff00000000; // the upper half of a tag is ignored

        if (set[s][0] == id)
            continue;
        enum stub left = call(stub, R_RAX, s * 6 * 4, R_RCX, junk | id);
        bool hit = expect(set[s], 6, id);

        assert_int_equal(left, hit ? STUB_COUNT : STUB_I1_MISS);
        hits += hit;
        misses += !hit;
        for (u32 way = 0; way < 6; way++)
            assert_int_equal(((u32 *)(area + TA_I1))[s * 6 + way], (u32)set[s][way]);
    }
    assert_true(hits > 1000 && misses > 500);
    assert_int_equal(waysearch_i1(), stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_d1, setup),
        cmocka_unit_test_setup(test_straddling, setup),
        cmocka_unit_test_setup(test_left_to_c, setup),
        cmocka_unit_test_setup(test_i1, setup),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
