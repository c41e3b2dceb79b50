// SPDX-License-Identifier: MIT
// engine/translate/calls.c: the descriptors of calls, returns and jumps that translated code leaves
// to helpers, and the words for the replay of each frame that is made or ended. tests/calls
// compares the frames themselves with Callgrind's.
#include "engine/codecache/helperdesc.h"
#include "engine/translate/calls.h"
#include "tests/unit/translate/hosted.h"

#define REPLAY (SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY)

static void begin(u64 flags)
{
    mode(flags);
    tb_config.calls_events = spool_event_index(SPOOL_EVENTS, flags);
    tb_config.calls_often = spool_event_index(SPOOL_E_I1MR, flags);
    tb_config.calls_frame = spool_frame_bytes(flags);
    edge = (struct spool_edge){ .function = PC + 0x305, .target = PC + 0x305, .counter = 70 };
}

// How often these bytes occur in the fragment.
static u32 has(const void *bytes, size_t n)
{
    const u8 *code = (const u8 *)published.hpc;
    u32 found = 0;

    for (u32 i = 0; i + n <= published.size; i++)
        found += memcmp(code + i, bytes, n) == 0;
    return found;
}

// How many descriptors name the instruction at `site`, and the edge.
static u32 told_edge(u64 site, u32 len, u32 plt, const struct spool_edge *e)
{
    struct helperdesc_calls d = { .site = { (u32)site, (u32)(site >> 32) },
                                  .len = len,
                                  .plt = plt,
                                  .cell = { (u32)(u64)e, (u32)((u64)e >> 32) } };

    return has(&d, sizeof(d));
}

static u32 told(u64 site, u32 len, u32 plt)
{
    return told_edge(site, len, plt, NULL);
}

static u32 calls_of(enum stub stub)
{
    const u8 *code = (const u8 *)published.hpc;
    u32 found = 0;

    for (u32 i = 0; i + 5 <= published.size; i++) {
        s32 rel;

        memcpy(&rel, code + i + 1, 4);
        found += code[i] == 0xe8 && published.hpc + i + 5 + (u64)(s64)rel == stubs_at(stub);
    }
    return found;
}

// How often the target is stored for helpers; an indirect branch itself stores it once more.
static u32 targets(void)
{
    u8 mov[] = { 0x65, 0x48, 0x89, 0x0c, 0x25, 0, 0, 0, 0 };
    u32 at_disp = (u32)offsetof(struct thread, ibl_target);

    memcpy(mov + 5, &at_disp, 4);
    return has(mov, sizeof(mov));
}

static u32 entered(void)
{
    return has("\x41\xc7\x03\x80\x00\x00\x00", 7); // mov dword [r11], RECORD_ENTER
}

static u32 left(void)
{
    return has("\x41\xc7\x03\x40\x04\x00\x00", 7); // mov dword [r11], RECORD_LEAVE
}

#define CALL      "\xe8\x00\x03\x00\x00" // to PC + 0x305, another function's beginning
#define CALL_RDX  "\xff\xd2"
#define JMP       "\xe9\x00\x03\x00\x00"
#define JMP_RDX   "\xff\xe2"
#define RET       "\xc3"
#define RET_16    "\xc2\x10\x00"
#define SET_STACK "\x48\x89\xc4" // mov rsp, rax

// The uncommon cases go to a helper, with the site, the length of a call, and the bytes that a
// return pops.
static void test_told(void **state)
{
    (void)state;
    begin(SPOOL_F_CALLS);
    TRANSLATE(CALL);
    assert_int_equal(calls_of(STUB_CALLS_CALL), 0); // everything is known
    assert_int_equal(targets(), 0);
    TRANSLATE(CALL_RDX);
    assert_int_equal(calls_of(STUB_CALLS_CALL), 2); // another target; another site
    assert_int_equal(told(PC, 2, 0), 2);
    assert_int_equal(targets(), 2);
    TRANSLATE(RET);
    assert_int_equal(calls_of(STUB_CALLS_RETURN), 1);
    assert_int_equal(told(PC, 8, 0), 1);
    TRANSLATE(RET_16);
    assert_int_equal(told(PC, 24, 0), 1);
    TRANSLATE(JMP);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
    assert_int_equal(told_edge(PC, 1, 0, &edge), 1);
    assert_int_equal(targets(), 1); // in the cold part
    TRANSLATE(JMP_RDX);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
    assert_int_equal(told(PC, 0, 0), 1);
    assert_int_equal(targets(), 2);
    TRANSLATE("\x75\x02"); // jnz PC + 4: within the function
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 0);
    // To a part of a function: no frame is made here.
    edge.function = PC + 0x300;
    TRANSLATE(JMP);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
}

// After an instruction that has set the stack pointer everything goes to helpers, which get this
// fact, too.
static void test_stack_set(void **state)
{
    (void)state;
    begin(SPOOL_F_CALLS);
    TRANSLATE(SET_STACK JMP_RDX);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
    assert_int_equal(told(PC + 3, 0, 1), 1);
    assert_int_equal(targets(), 2);
    TRANSLATE(SET_STACK RET);
    assert_int_equal(calls_of(STUB_CALLS_RETURN), 1);
    assert_int_equal(told(PC + 3, 8, 1), 1);
    assert_int_equal(targets(), 2);
    TRANSLATE(SET_STACK RET_16);
    assert_int_equal(told(PC + 3, 24, 1), 1);
    TRANSLATE(SET_STACK JMP);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
    assert_int_equal(told_edge(PC + 3, 1, 1, &edge), 1);
    assert_int_equal(targets(), 1);
    TRANSLATE(SET_STACK CALL);
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
    assert_int_equal(told(0, 1, 0), 1); // a call follows
    TRANSLATE(SET_STACK CALL_RDX);
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
    assert_int_equal(told(0, 1, 0), 1);
    TRANSLATE(CALL_RDX);
    assert_int_equal(calls_of(STUB_CALLS_STACK), 0);
    TRANSLATE(SET_STACK "\xeb\x00");    // no call, within the function
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
    assert_int_equal(told(0, 0, 0), 1);
    TRANSLATE("\xeb\x00");
    assert_int_equal(calls_of(STUB_CALLS_STACK), 0);
    // lea rax, [rsp - 32]; mov rcx, rax; mov rsp, rcx: space of the stack. A load is another stack.
    TRANSLATE("\x48\x8d\x44\x24\xe0\x48\x89\xc1\x48\x89\xcc\xeb\x00");
    assert_int_equal(calls_of(STUB_CALLS_STACK), 0);
    TRANSLATE("\x48\x8b\x44\x24\xe0\x48\x89\xc1\x48\x89\xcc\xeb\x00");
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
    TRANSLATE("\x48\x8d\x43\xe0\x48\x89\xc1\x48\x89\xcc\xeb\x00"); // lea rax, [rbx - 32]
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
    TRANSLATE("\x48\xc7\xc0\x00\x00\x01\x00\x48\x89\xc4\xeb\x00"); // mov rax, 65536
    assert_int_equal(calls_of(STUB_CALLS_STACK), 1);
}

// With --collect-jumps: a jump through a table is counted inline if its edge is known, else by a
// helper.
static void test_table(void **state)
{
    (void)state;
    begin(SPOOL_F_CALLS);
    tb_config.jumps = true;
    TRANSLATE(JMP_RDX);
    assert_int_equal(calls_of(STUB_CALLS_TABLE), 2);
    assert_int_equal(calls_of(STUB_CALLS_JUMP), 1);
    assert_int_equal(told(PC, 0, 0), 3);
    tb_config.jumps = false;
    TRANSLATE(JMP_RDX);
    assert_int_equal(calls_of(STUB_CALLS_TABLE), 0);
}

// The replay gets a word for each frame that translated code makes, once.
static void test_entered(void **state)
{
    (void)state;
    begin(REPLAY);
    TRANSLATE(CALL);
    assert_int_equal(entered(), 1);
    assert_int_equal(left(), 0);
    TRANSLATE(CALL_RDX);
    assert_int_equal(entered(), 1);
    TRANSLATE(JMP);
    assert_int_equal(entered(), 1);
    TRANSLATE(JMP_RDX);
    assert_int_equal(entered(), 1);
    assert_int_equal(left(), 0);
    edge.function = PC + 0x300; // the target is part of that function
    TRANSLATE(JMP);
    assert_int_equal(entered(), 0);
    edge.plt = 9; // a linkage table's entry
    TRANSLATE(JMP);
    assert_int_equal(entered(), 1);
    TRANSLATE(RET);
    assert_int_equal(entered(), 0);
    assert_int_equal(left(), 1);
    TRANSLATE("\xeb\x00");
    assert_int_equal(entered(), 0);
    assert_int_equal(left(), 0);
    // Without --replay.
    begin(SPOOL_F_CALLS);
    TRANSLATE(CALL);
    assert_int_equal(entered(), 0);
    TRANSLATE(RET);
    assert_int_equal(left(), 0);
}

// What is most likely to follow a record.
static void test_expected(void **state)
{
    static const struct {
        const char *bytes;
        u32 n, call;
    } of[] = {
        { CALL, 5, RECORD_ENTER }, { CALL_RDX, 2, RECORD_ENTER }, { RET, 1, RECORD_LEAVE },
        { JMP, 5, RECORD_ENTER },  { "\xeb\x00", 2, 0 },          { JMP_RDX, 2, 0 },
        { "\x75\x02", 2, 0 },      { "\xe8\0\0\0\0", 5, 0 }, // a call of what follows: where am I
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
        begin(REPLAY);
        recorded.block.call = 7;
        translate((const u8 *)of[i].bytes, of[i].n);
        assert_int_equal(recorded.block.call, of[i].call);
    }
}

// A frame has the call's edge: its counter, and the linkage table's number if there is one; its key
// is the return address plus the stack pointer.
static void test_frame(void **state)
{
    u8 counter[] = { 0x48, 0xc7, 0x01, 70, 0, 0, 0 }; // mov qword [rcx], 70
    u8 both[] = { 0xc7, 0x01, 70, 0, 0, 0, 0xc7, 0x41, 4, 9, 0, 0, 0 };
    u8 jump[] = { 0xc7, 0x01, 70, 0, 0, 0, 0xc7, 0x41, 4, 9, 0, 0, 0x40 };

    (void)state;
    begin(SPOOL_F_CALLS);
    TRANSLATE(CALL);
    assert_int_equal(has(counter, sizeof(counter)), 1);
    assert_int_equal(has("\x05\x10\x40\x00", 4), 2); // PC + 5: pushed, and of the key
    edge.plt = 9;
    TRANSLATE(CALL);
    assert_int_equal(has(both, sizeof(both)), 1);
    TRANSLATE(JMP);
    assert_int_equal(has(jump, sizeof(jump)), 1);
    assert_int_equal(has(both, sizeof(both)), 0);
}

static u32 ops_of(enum record_kind kind)
{
    u32 n = 0;

    for (u32 i = 0; i < recorded.block.nops; i++)
        n += recorded.op[i].kind == kind;
    return n;
}

// A superblock over a call and its return. The function, from PC on: nop; ret. Behind it a call of
// its beginning, and what follows. The totals have the call's block when the callee begins, and the
// callee's when it has returned. The frame is in the record's own slots; no entry between records
// is for it, except where the return goes elsewhere.
static void test_joints(void **state)
{
    static const u8 code[] = {
        0x90, 0xc3, 0x90, 0x90, 0xe8, 0xf7, 0xff, 0xff, 0xff, // PC + 4: call PC
        0x90, 0x74, 0x00, 0x90, 0xeb, 0xfe,                   // PC + 9: nop; je; PC + 12
    };
    const u64 path[] = { PC + 4, PC, PC + 9 };

    (void)state;
    begin(REPLAY);
    assert_true(join(code, sizeof(code), path, 3));
    assert_int_equal(published.nmore, 2);
    assert_int_equal(published.more[0].summed, 1);
    assert_int_equal(published.more[1].summed, 2);
    assert_int_equal(ops_of(RECORD_ENTERED), 1);
    assert_int_equal(ops_of(RECORD_LEFT), 1);
    assert_int_equal(recorded.block.nsides, 1); // of the return
    assert_int_equal(entered(), 0);
    assert_int_equal(left(), 1);
    assert_int_equal(calls_of(STUB_CALLS_RETURN), 1);
    assert_int_equal(calls_of(STUB_CALLS_CALL), 0);
    // Without records the same, and none.
    begin(SPOOL_F_CALLS);
    assert_true(join(code, sizeof(code), path, 3));
    assert_int_equal(published.more[1].summed, 2);
    assert_int_equal(left(), 0);
    // Within a function totals wait; where the stack pointer is set, and before jumps to another
    // function, nothing is joined.
    begin(REPLAY);
    assert_true(join((const u8 *)"\x90\xeb\x00\x90\xc3", 5, (u64[]){ PC, PC + 3 }, 2));
    assert_int_equal(published.more[0].summed, 0);
    assert_int_equal(ops_of(RECORD_LEFT), 0);
    assert_false(join((const u8 *)SET_STACK "\xeb\x00\x90\xc3", 7, (u64[]){ PC, PC + 5 }, 2));
}

// A jump out of a linkage table: the helper gets the entry's number and the address of its edge, if
// the frame is another one or the target is.
static void test_leave_plt(void **state)
{
    const struct helperdesc_calls d = {
        .site = { (u32)PC, (u32)((u64)PC >> 32) },
        .plt = 77,
        .cell = { (u32)(u64)&edge, (u32)((u64)&edge >> 32) },
    };

    (void)state;
    begin(SPOOL_F_CALLS);
    plt_number = 77;
    TRANSLATE(JMP_RDX);
    plt_number = 0;
    assert_int_equal(calls_of(STUB_CALLS_LEAVE_PLT), 2);
    assert_int_equal(has(&d, sizeof(d)), 2);
}

// The key of a return's frame is the target plus the stack pointer before the return: the bytes
// that the return has popped are subtracted.
static void test_key(void **state)
{
    (void)state;
    begin(SPOOL_F_CALLS);
    TRANSLATE(RET);
    assert_int_equal(has("\x48\x8d\x44\x0c\xf8\x48\xf7\xd0", 8), 1); // lea rax, [rsp+rcx-8]; not
    TRANSLATE(RET_16);
    assert_int_equal(has("\x48\x8d\x44\x0c\xe8\x48\xf7\xd0", 8), 1);
}

// What the block adds to the total of an event; ~0: nothing, or not once. Where flags are live it
// does so through a register: mov r, gs:[total]; lea r, [r + n].
static u32 adds(enum spool_event e)
{
    u32 place = spool_event_index(e, tb_config.flags), n = ~0u, found = 0;
    u32 disp = (u32)(TA_COUNTERS + (tb_config.calls_top + 1 + place) * 8);
    const u8 *code = (const u8 *)published.hpc;

    for (u32 i = 0; i + 13 < published.size; i++) {
        const u8 *c = code + i;

        if (c[0] != 0x65 || c[4] != 0x25 || memcmp(c + 5, &disp, 4) != 0)
            continue;
        if (c[2] == 0x83 && c[3] == 4)
            n = c[9];
        else if (c[2] == 0x8b && c[10] == 0x8d && c[11] == (0x40 | (c[3] >> 3 & 7) * 9))
            n = c[12];
        else
            continue;
        found++;
    }
    return found == 1 ? n : ~0u;
}

// The totals of all events that follow from executions: instructions, reads, writes, branches; a
// read and write by one instruction counts as a read.
static void test_totals(void **state)
{
    (void)state;
    begin(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM);
    // xor eax, eax; mov rax, [rdi]; push rax; add [rdi], eax; mov [rdi], eax; xor ecx, ecx; jnz
    TRANSLATE("\x31\xc0\x48\x8b\x07\x50\x01\x07\x89\x07\x31\xc9\x75\x02");
    assert_int_equal(adds(SPOOL_E_IR), 7);
    assert_int_equal(adds(SPOOL_E_DR), 2);
    assert_int_equal(adds(SPOOL_E_DW), 2);
    assert_int_equal(adds(SPOOL_E_BC), 1);
    assert_int_equal(adds(SPOOL_E_BI), ~0u);
    TRANSLATE("\x31\xc0" RET);
    assert_int_equal(adds(SPOOL_E_IR), 2);
    assert_int_equal(adds(SPOOL_E_DR), 1);
    assert_int_equal(adds(SPOOL_E_DW), ~0u);
    TRANSLATE("\x31\xc0" JMP_RDX);
    assert_int_equal(adds(SPOOL_E_BI), 1);
    assert_int_equal(adds(SPOOL_E_BC), ~0u);
    TRANSLATE("\x31\xc0\xff\xd2"); // call rdx
    assert_int_equal(adds(SPOOL_E_BI), 1);
    assert_int_equal(adds(SPOOL_E_DW), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),     cmocka_unit_test(test_stack_set),
        cmocka_unit_test(test_table),    cmocka_unit_test(test_entered),
        cmocka_unit_test(test_expected), cmocka_unit_test(test_frame),
        cmocka_unit_test(test_joints),   cmocka_unit_test(test_leave_plt),
        cmocka_unit_test(test_key),      cmocka_unit_test(test_totals),
    };

    if (hosted_init())
        return 1;
    return cmocka_run_group_tests_name("engine/translate/calls.c", tests, NULL, NULL);
}
