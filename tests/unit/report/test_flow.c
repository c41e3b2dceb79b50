// SPDX-License-Identifier: MIT
//
// Control flow: the borders of blocks, their edges and counts, for a function whose
// instructions and jumps are given here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/core/flow.h"
#include "tests/unit/report/unpack.h"

// 100 cmp            block 0, a loop: executed ten times, three of them to 10a
// 102 jz 10a
// 104 add            block 1: seven times
// 106 jmp 110
// 10a sub            block 2, whose jump was not counted
// 10c jnz 100
// 110 ret            block 3; nothing goes on from it
// 200 jmp rax        block 4: twice to 110, five times to 100, once to g
// 202 jmp 1202       block 5: unknown target
// 207 nop            block 6
static const struct {
    uint64_t addr;
    uint32_t size;
    const char *text;
} code[] = {
    { 0x100, 2, "cmp eax, ebx" }, { 0x102, 2, "jz +0x08" },        { 0x104, 2, "add eax, ebx" },
    { 0x106, 4, "jmp +0x0A" },    { 0x10a, 2, "sub eax, ebx" },    { 0x10c, 4, "jnz -0x0C" },
    { 0x110, 1, "ret" },          { 0x200, 2, "notrack jmp rax" }, { 0x202, 5, "jmp +0x1000" },
    { 0x207, 1, "nop" },
};
enum { INSNS = sizeof(code) / sizeof(code[0]) };

static void add_jump(struct quern_profile *p, uint32_t func, uint32_t to_func, uint64_t from,
                     uint64_t to, uint64_t executed, uint64_t followed)
{
    const struct quern_site a = { .func = func, .file = QUERN_NONE, .addr = from };
    const struct quern_site b = { .func = to_func, .file = QUERN_NONE, .addr = to };

    assert_int_equal(quern_profile_add_jump(p, &a, &b, executed, followed), 0);
}

static struct core *make(bool jumps)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    uint32_t func[2];
    struct buf b = { 0 }, addr = { 0 }, word = { 0 }, size = { 0 }, bytes = { 0 }, text = { 0 };

    quern_profile_set_events(p, events, 1);
    for (int i = 0; i < 2; i++) {
        func[i] = quern_profile_func(p, QUERN_NONE, QUERN_NONE,
                                     quern_profile_string(p, i ? "g" : "f", 1));
        uint64_t cost = i ? 1 : 100;
        quern_profile_add_cost(
            p,
            &(struct quern_site){ .func = func[i], .file = QUERN_NONE, .addr = i ? 0x900 : 0x100 },
            &cost, 1);
    }
    if (jumps) {
        add_jump(p, func[0], func[0], 0x102, 0x10a, 10, 3);
        add_jump(p, func[0], func[0], 0x106, 0x110, 0, 7);
        add_jump(p, func[0], func[0], 0x200, 0x110, 0, 2);
        add_jump(p, func[0], func[0], 0x200, 0x100, 0, 5);
        add_jump(p, func[0], func[1], 0x200, 0x900, 0, 1);
    }
    struct pack *k = pack_new(p, NULL, 0);
    assert_non_null(k);
    pack_functions(k);
    for (uint32_t f = 0; f < pack_count(k);)
        f = pack_places(k, f);
    uint64_t at = 0x100; // its address in FUNCTIONS
    for (uint32_t i = 0; i < INSNS; i++) {
        buf_s(&addr, (int64_t)(code[i].addr - at));
        at = code[i].addr + code[i].size;
        buf_u(&word, i);
        buf_u(&size, code[i].size);
        for (uint32_t n = 0; n < code[i].size; n++)
            buf_byte(&bytes, 0x90);
        buf_bytes(&text, code[i].text, strlen(code[i].text));
        buf_byte(&text, '\n');
    }
    buf_u(&b, 0);
    buf_u(&b, 1);
    buf_u(&b, 0);
    buf_u(&b, INSNS);
    buf_text(&b, addr.at, addr.size);
    buf_text(&b, word.at, word.size);
    buf_u(&b, INSNS);
    buf_text(&b, size.at, size.size);
    buf_text(&b, bytes.at, bytes.size);
    buf_text(&b, text.at, text.size);
    buf_text(&b, text.at, text.size);
    pack_section(k, SECTION_CODE, 0, 1, &b);
    assert_int_equal(pack_finish(k), 0);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    struct buf *all[] = { &b, &addr, &word, &size, &bytes, &text };
    for (size_t i = 0; i < 6; i++)
        buf_free(all[i]);
    pack_free(k);
    quern_profile_free(p);
    return c;
}

static void edge_is(const struct flow_edge *e, uint32_t from, uint32_t to, uint32_t kind,
                    uint64_t taken, uint64_t executed)
{
    if (e->from != from || e->to != to || e->kind != kind || e->counted != (taken ? 1u : 0u) ||
        e->taken[0] != taken || e->executed[0] != executed)
        fail_msg("%u -> %u, kind %u, %llu of %llu", e->from, e->to, e->kind,
                 (unsigned long long)e->taken[0], (unsigned long long)e->executed[0]);
}

static void blocks(void **state)
{
    static const struct flow_block wanted[] = { { 0, 2 }, { 2, 2 }, { 4, 2 }, { 6, 1 },
                                                { 7, 1 }, { 8, 1 }, { 9, 1 } };
    struct core *c = make(true);
    struct flow f;

    (void)state;
    assert_int_equal(flow_make(c, 0, &f), 0);
    assert_int_equal(f.blocks, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(f.block[i].first, wanted[i].first);
        assert_int_equal(f.block[i].count, wanted[i].count);
    }
    assert_int_equal(f.edges, 7);
    edge_is(&f.edge[0], 0, 2, FLOW_JUMP, 3, 10);
    edge_is(&f.edge[1], 0, 1, FLOW_NEXT, 7, 10);
    edge_is(&f.edge[2], 1, 3, FLOW_JUMP, 7, 0);
    edge_is(&f.edge[3], 2, 0, FLOW_JUMP, 0, 0);
    edge_is(&f.edge[4], 2, 3, FLOW_NEXT, 0, 0);
    edge_is(&f.edge[5], 4, 0, FLOW_JUMP, 5, 0);
    edge_is(&f.edge[6], 4, 3, FLOW_JUMP, 2, 0);
    assert_int_equal(f.leaving, 2); // to g, and 202
    flow_free(&f);
    // g has no instructions here.
    assert_int_equal(flow_make(c, 1, &f), CORE_WRONG);
    assert_int_equal(flow_make(c, 2, &f), CORE_WRONG);
    load_free(c);
    // Without counts there are only the jumps in the instructions.
    c = make(false);
    assert_int_equal(flow_make(c, 0, &f), 0);
    assert_int_equal(f.blocks, 7);
    assert_int_equal(f.edges, 5);
    edge_is(&f.edge[1], 0, 1, FLOW_NEXT, 0, 0);
    flow_free(&f);
    load_free(c);
}

static enum flow_step step(const char *text)
{
    return flow_step((struct text){ (const uint8_t *)text, strlen(text) });
}

static void steps(void **state)
{
    (void)state;
    assert_int_equal(step("jnz +0x10"), FLOW_MAY_JUMP);
    assert_int_equal(step("bnd jnz +0x10"), FLOW_MAY_JUMP);
    assert_int_equal(step("loopne -0x10"), FLOW_MAY_JUMP);
    assert_int_equal(step("jmp rax"), FLOW_JUMPS);
    assert_int_equal(step("rep ret"), FLOW_JUMPS);
    assert_int_equal(step("ud2"), FLOW_JUMPS);
    assert_int_equal(step("rep movsb"), FLOW_GOES_ON);
    assert_int_equal(step("call +0x10"), FLOW_GOES_ON);
    assert_int_equal(step("rep"), FLOW_GOES_ON);
    assert_int_equal(step(""), FLOW_GOES_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
