// SPDX-License-Identifier: MIT
// engine/translate/: blocks of client code given as bytes are translated into memory, and Zydis
// reads the result: the client's instructions in order, the checks between them counted by hand,
// exits and relocations with the right targets, recipes for everything that may fault.
#include "tests/unit/translate/hosted.h"

// Code that may be rewritten first compares its bytes, in steps with the code's alignment. If one
// differs, the last exit is taken, which passes this fact and the fragment. The bytes decide
// whether the code was there before; the record is that of code that counts the same.
static void test_rewritten(void **state)
{
    static const char bytes[] = "\xb9\1\0\0\0\x01\xc8\x83\xc0\x02\x75\x03"; // ... jnz +3
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    u32 compares = 0, last = 0, way_out = 0;

    (void)state;
    mode(0);
    writable_from = PC;
    TRANSLATE("\xb9\1\0\0\0\x01\xc8\x83\xc0\x02\x75\x03");
    assert_false(published.again);
    assert_int_equal(published.flags, FRAGMENT_WRITABLE);
    assert_int_equal(published.nexits, 3);
    assert_false(published.exit[0].side || published.exit[1].side);
    assert_true(published.exit[2].side);
    assert_int_equal(published.exit[2].target, PC);
    is_exit(0, PC + sizeof(bytes) - 1 + 3);
    is_exit(1, PC + sizeof(bytes) - 1);
    decode_at(published.exit[2].stub, &zi, op);
    assert_int_equal((s32)op[1].imm.value.u, -2 - 7);
    for (u32 off = 0; off < published.exit[0].rel32;) {
        off += decode_at(off, &zi, op);
        if (zi.mnemonic == ZYDIS_MNEMONIC_JNZ && last == ZYDIS_MNEMONIC_CMP) {
            assert_true(compares == 0 || off + (u32)op[0].imm.value.u == way_out);
            way_out = off + (u32)op[0].imm.value.u;
            compares++;
        }
        last = zi.mnemonic;
    }
    assert_int_equal(compares, 2); // 8 and 4
    assert_in_range(way_out, published.exit[1].rel32, published.exit[2].rel32);
    last = published.block;
    assert_int_equal(spooler_block_at(last)->hash, 0);
    TRANSLATE("\xb9\2\0\0\0\x01\xc8\x83\xc0\x02\x75\x03");
    assert_false(published.again);
    assert_int_equal(published.block, last);
    TRANSLATE("\xb9\2\0\0\0\x83\xc0\x02\x01\xc8\x75\x03"); // with other lengths
    assert_int_not_equal(published.block, last);
    TRANSLATE("\xb9\1\0\0\0\x01\xc8\x83\xc0\x02\x75\x03");
    assert_true(published.again);
    writable_from = 0;
}

// Without cache simulation a fragment has a second entry: 8 times its index, and the stub.
static void test_hotblocks(void **state)
{
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    u64 to;

    (void)state;
    mode(0);
    tb_config.watch = true;
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.watch, published.exit[0].stub + 18);
    assert_int_equal(published.size, published.watch + 17);
    assert_int_equal(decode_at(published.watch, &zi, op), WATCH_JUMP);
    assert_int_equal(zi.mnemonic, ZYDIS_MNEMONIC_MOV);
    assert_int_equal(op[0].mem.disp.value, TH_WATCH);
    assert_int_equal(op[1].imm.value.u, 8 * 7);
    decode_at(published.watch + WATCH_JUMP, &zi, op);
    assert_true(ZYAN_SUCCESS(
        ZydisCalcAbsoluteAddress(&zi, &op[0], published.hpc + published.watch + WATCH_JUMP, &to)));
    assert_int_equal(to, stubs_at(STUB_WATCH));
    tb_config.watch = false;
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.watch, 0);
}

// At a point of an allocator the second entry leads to C, which is told the fragment and the point.
static void test_point(void **state)
{
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    u32 off;
    u64 to;

    (void)state;
    mode(0);
    tb_config.watch = false;
    tb_config.data = true;
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.watch, 0);
    point_at = PC;
    TRANSLATE("\x90\xeb\x00");
    assert_true(published.flags & FRAGMENT_WATCHED);
    off = published.watch;
    assert_int_equal(off, published.exit[0].stub + 18);
    off += decode_at(off, &zi, op);
    assert_int_equal(op[0].mem.disp.value, TH_WATCH);
    assert_int_equal(op[1].imm.value.u, 8 * 7);
    off += decode_at(off, &zi, op);
    assert_int_equal(op[0].mem.disp.value, TH_WATCH + 4);
    assert_int_equal((u32)op[1].imm.value.u, 0x80000000);
    decode_at(off, &zi, op);
    assert_true(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&zi, &op[0], published.hpc + off, &to)));
    assert_int_equal(to, stubs_at(STUB_WATCHED));
    header.flags = SPOOL_F_NO_HINTS;
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.watch, 0);
    header.flags = 0;
    tb_config.data = false;
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.watch, 0);
    point_at = 0;
}

static void test_plain(void **state)
{
    (void)state;
    mode(0);
    // add rax, rcx; mov [rdi], rax; jmp +0: the counter is incremented where the flags are dead
    TRANSLATE("\x48\x01\xc8\x48\x89\x07\xeb\x00");
    assert_int_equal(published.ninsns, 3);
    assert_int_equal(published.nexits, 1);
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "inc add mov jmp ");
    is_exit(0, PC + 8);
    assert_int_equal(published.len[0], 3);
    assert_int_equal(published.len[2], 2);
    assert_int_equal(published.nrelocs, 2); // in the exit's stub and in the second entry
    assert_memory_equal((u8 *)published.hpc + 9, "\x48\x01\xc8\x48\x89\x07", 6);
}

static void test_conditional(void **state)
{
    (void)state;
    mode(0);
    TRANSLATE("\x48\xff\xc8\x75\xfb"); // dec rax; jnz PC
    assert_int_equal(published.nexits, 2);
    is_exit(0, PC);
    is_exit(1, PC + 5);
    // CF is live before dec: inc does not change it
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "inc dec jnz ");
    TRANSLATE("\xe2\xfe"); // loop: over the jump to the other edge
    read_code(published.exit[0].rel32 + 4);
    assert_int_equal(published.nexits, 2);
    is_exit(0, PC);
    is_exit(1, PC + 2);
}

// A load in caches mode, by hand: I1's compare with the line's id while no flag is live; then flags
// and rax are saved, rax is reloaded for the address, two registers are spilled, and D1's check has
// the address, its last byte, set, tag and compare. At the end everything is restored.
static void test_checks(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM);
    TRANSLATE("\x29\xc0\x48\x8b\x4c\x87\x03\xeb\x00"); // sub eax, eax; mov rcx, [rdi + rax * 4 + 3]
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "inc cmp jnz sub "
                              "mov lahf seto mov mov mov mov lea lea and or cmp jnz "
                              "mov "
                              "mov mov add sahf mov mov mov jmp ");
}

static void is_op(u32 k, u8 kind, u32 insn, u32 base, u64 add)
{
    assert_true(k < recorded.block.nops);
    assert_int_equal(recorded.op[k].kind, kind);
    assert_int_equal(recorded.op[k].insn, insn);
    if (kind != RECORD_FETCH && kind != RECORD_JOINT) // which have none
        assert_int_equal(recorded.op[k].base, base);
    assert_int_equal(recorded.op[k].add, add);
}

// With --replay: the id, and one word for each value; the stack pointer of push, pop and ret needs
// no word.
static void test_recording(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    // push rbx; mov rax, [rdi + 8]; lea rdi, [rdi + 16]; mov [rdi], rax; pop rbx; jmp +0
    TRANSLATE("\x53\x48\x8b\x47\x08\x48\x8d\x7f\x10\x48\x89\x07\x5b\xeb\x00");
    assert_int_equal(published.log, 0x1234);
    assert_int_equal(recorded.block.pc, PC);
    assert_int_equal(recorded.block.slots, 2); // the id, rdi
    assert_int_equal(recorded.block.nexts, 1);
    assert_int_equal(recorded.block.nops, 5);
    is_op(0, RECORD_FETCH, 0, RECORD_NO_SLOT, PC);
    is_op(1, RECORD_REF, 0, RECORD_STACK_SLOT, (u64)-8);
    is_op(2, RECORD_REF, 1, 1, 8);
    is_op(3, RECORD_REF, 3, 1, 16);
    is_op(4, RECORD_REF, 4, RECORD_STACK_SLOT, (u64)-8);
    assert_int_equal(recorded.block.sp, RECORD_STACK_SLOT);
    assert_int_equal(recorded.block.sp_add, 0);
    read_code(published.exit[0].rel32 + 4);
    // the next id := 0; the id; the value before the instruction that needs it; the counter, with a
    // register that is spilled and reloaded; the record's end
    assert_string_equal(text, "mov mov push mov mov lea mov pop "
                              "mov mov lea mov mov lea jmp ");
}

// A reference's address: two words and a constant; a bit at any offset references one byte.
static void test_recorded_address(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    TRANSLATE("\x48\x8b\x44\x8f\x08\xeb\x00"); // mov rax, [rdi + rcx * 4 + 8]; jmp +0
    assert_int_equal(recorded.block.slots, 3);
    is_op(1, RECORD_REF, 0, 1, 8);
    assert_int_equal(recorded.op[1].index, 2);
    assert_int_equal(recorded.op[1].scale, 2);
    assert_int_equal(recorded.op[1].size, 8);
    // lea rcx, [rcx + 2]: adds four times as much to the constant of the next reference
    TRANSLATE("\x48\x8b\x44\x8f\x08\x48\x8d\x49\x02\x8b\x04\x8f\xeb\x00");
    is_op(2, RECORD_REF, 2, 1, 8);
    assert_int_equal(recorded.op[2].index, 2);
    assert_int_equal(recorded.op[2].size, 4);
    TRANSLATE("\x48\x8b\x07\xeb\x00"); // mov rax, [rdi]
    assert_int_equal(recorded.op[1].index, RECORD_NO_SLOT);
    TRANSLATE("\x48\x0f\xa3\x07\xeb\x00"); // bt [rdi], rax
    assert_int_equal(recorded.op[1].kind, RECORD_REF);
    assert_int_equal(recorded.op[1].size, 1);
    TRANSLATE("\x0f\xba\x27\x05\xeb\x00"); // bt dword [rdi], 5
    assert_int_equal(recorded.op[1].size, 4);
}

static void is_stack(u32 slot, s64 add)
{
    assert_int_equal(recorded.block.sp, slot);
    assert_int_equal(recorded.block.sp_add, add);
}

// The stack pointer after a record, for the replay.
static void test_stack_pointer(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    TRANSLATE("\x48\x83\xec\x28\xe8\x00\x00\x00\x00"); // sub rsp, 40; call +0
    is_stack(RECORD_STACK_SLOT, -48);
    TRANSLATE("\x5b\xc2\x10\x00"); // pop rbx; ret 16
    is_stack(RECORD_STACK_SLOT, 32);
    // mov rbp, rsp; push rax; leave; ret: rbp is the stack pointer
    TRANSLATE("\x48\x89\xe5\x50\xc9\xc3");
    is_stack(RECORD_STACK_SLOT, 16);
    assert_int_equal(recorded.block.slots, 1);
    // leave; ret: the block has not made the frame; rbp is recorded for leave's load
    TRANSLATE("\xc9\xc3");
    is_stack(1, 16);
    assert_int_equal(recorded.block.slots, 2);
    // and rsp, -16; mov [rsp], eax; jmp +0: recorded after it gets an unknown value
    TRANSLATE("\x48\x83\xe4\xf0\x89\x04\x24\xeb\x00");
    is_stack(1, 0);
    assert_int_equal(recorded.block.slots, 2);
    is_op(1, RECORD_REF, 1, 1, 0);
    // mov rsp, [rdi]; jmp +0: nothing here uses it
    TRANSLATE("\x48\x8b\x27\xeb\x00");
    is_stack(2, 0);
    // mov rsp, -16; jmp +0
    TRANSLATE("\x48\xc7\xc4\xf0\xff\xff\xff\xeb\x00");
    is_stack(RECORD_NO_SLOT, -16);
    // pushfq; syscall: of pushfq only the addresses are known
    TRANSLATE("\x9c\x0f\x05");
    is_stack(1, 0);
}

// The client's r11 is loaded from its slot, and stored there when it has changed.
static void test_r11(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    TRANSLATE("\x49\xff\xc3\xeb\x00"); // inc r11; jmp +0
    read_code(published.exit[0].rel32 + 4);
    // the next id := 0; the id; the counter; r11 and the record's address are swapped, and back;
    // the record's end
    assert_string_equal(text, "mov mov inc mov mov inc mov mov lea jmp ");
}

// A branch whose two ways have the same target is never linked: its exit tells which way it was.
static void test_same_place(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY);
    TRANSLATE("\x75\x00"); // jnz to what follows
    assert_int_equal(recorded.block.tail, RECORD_COND);
    assert_int_equal(recorded.block.taken, PC + 2);
    assert_true(published.flags & FRAGMENT_ALONE);
    TRANSLATE("\x75\x02");
    assert_false(published.flags & FRAGMENT_ALONE);
}

// The recipes of instructions that may fault, and of the counter: all flags are live, so it goes
// through a register.
static void test_recipes(void **state)
{
    const struct recipe *r = published.recipe;

    (void)state;
    mode(0);
    TRANSLATE("\x48\x8b\x07\x48\x8b\x0e\xeb\x00"); // mov rax, [rdi]; mov rcx, [rsi]
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "mov mov mov mov lea mov mov jmp ");
    assert_int_equal(published.nrecipes, 3);
    for (u32 i = 0; i < 3; i++)
        assert_int_equal(r[i].insn, i);
    assert_int_equal(r[0].off, 0);
    assert_int_equal(r[1].off, 3);
    assert_int_equal(r[1].spilled, 0);
    assert_int_equal(r[1].flags, 0);
    assert_int_equal(r[2].off, 6 + 9 + 9 + 4 + 9); // spill, load, lea and store of the counter
    assert_int_equal(r[2].spilled, 1u << 11);
    assert_int_equal(r[2].flags, RECIPE_BUMPED);
}

static void test_step(void **state)
{
    (void)state;
    mode(0);
    TRANSLATE("\xcc");
    assert_int_equal(published.flags, FRAGMENT_STEP);
    assert_int_equal(published.size, 0);
    assert_int_equal(published.ninsns, 1);
}

// The same bytes at the same address get their counters again, others do not.
static void test_blockrecord(void **state)
{
    u32 block, counter;

    (void)state;
    mode(0);
    TRANSLATE("\x90\xeb\x00");
    block = published.block;
    counter = published.counter;
    TRANSLATE("\x90\xeb\x01");
    assert_int_not_equal(published.block, block);
    assert_int_not_equal(published.counter, counter);
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(published.block, block);
    assert_int_equal(published.counter, counter);
}

// A record names the mapping of its code: in another mapping it is another record.
static void test_record_of_mapping(void **state)
{
    u32 block;

    (void)state;
    mode(0);
    TRANSLATE("\x90\x90\x90\xeb\x00");
    block = published.block;
    assert_int_equal(spooler_block_at(block)->map, 0);
    spool_map = 5;
    TRANSLATE("\x90\x90\x90\xeb\x00");
    assert_int_not_equal(published.block, block);
    assert_int_equal(spooler_block_at(published.block)->map, 5);
    spool_map = 0;
    TRANSLATE("\x90\x90\x90\xeb\x00");
    assert_int_equal(published.block, block);
}

// A record of another run is found like one of this run: by address, code, mapping and number of
// instructions. It is entered only once.
static void test_record_taken(void **state)
{
    const u32 hash = blockrecord_hash((const u8 *)"\x90\x0f\x1f\x00\xeb\x00", 6, 3);
    struct spool_insn insns[3] = { { .len = 1 } };
    const struct spool_block *s;
    u32 counter;

    (void)state;
    mode(0);
    s = spooler_block_append(PC, 3, 0, hash, insns, 3, 1, &counter);
    blockrecord_take(s);
    blockrecord_take(s);
    TRANSLATE("\x90\x0f\x1f\x00\xeb\x00"); // in mapping 0
    assert_int_equal(published.block, spooler_block_index(s) + 5);
    spool_map = 3;
    TRANSLATE("\x90\x0f\x1f\x00\xeb\x00");
    assert_int_equal(published.block, spooler_block_index(s));
    assert_int_equal(published.counter, counter);
    TRANSLATE("\x90\x0f\x1f\x00\xeb\x01");
    assert_int_equal(published.block, spooler_block_index(s) + 10);
    TRANSLATE("\x0f\x1f\x00\x90\xeb\x00");
    assert_int_equal(published.block, spooler_block_index(s) + 15);
    spool_map = 0;
}

// The hash of a record's code, and of other code.
static void test_record_hash(void **state)
{
    const u8 bytes[] = { 0x90, 0x48, 0x89, 0xc8, 0xeb, 0x00 }; // nop; mov rax, rcx; jmp +0
    u32 hash;

    (void)state;
    mode(0);
    TRANSLATE("\x90\x48\x89\xc8\xeb\x00");
    hash = spooler_block_at(published.block)->hash;
    assert_int_equal(spooler_block_at(published.block)->insns, 3);
    assert_int_equal(blockrecord_hash(bytes, 6, 3), hash);
    assert_int_not_equal(blockrecord_hash(bytes, 6, 2), hash);
    assert_int_not_equal(blockrecord_hash(bytes, 5, 3), hash);
    for (u32 i = 0; i < sizeof(bytes); i++) {
        u8 other[sizeof(bytes)];

        memcpy(other, bytes, sizeof(bytes));
        other[i] ^= 1;
        assert_int_not_equal(blockrecord_hash(other, 6, 3), hash);
    }
}

// Each of 4200 blocks, more than half of the first table's size, is found again.
static void test_many_records(void **state)
{
    static u32 block[4200];

    (void)state;
    mode(0);
    for (u32 round = 0; round < 2; round++) {
        for (u32 i = 0; i < ARRAY_SIZE(block); i++) {
            u8 bytes[7] = { 0xb8, (u8)i, (u8)(i >> 8), 0, 1, 0xeb, 0 }; // mov eax, 0x1000000 + i

            region_flush();
            translate(bytes, sizeof(bytes));
            if (round)
                assert_int_equal(published.block, block[i]);
            else
                block[i] = published.block;
        }
    }
}

// An instruction fetches when a byte of it is in another line than the instruction before: after 21
// nops of 62 bytes, one whose last byte is in the next line, and one that is in that line.
static void test_fetching(void **state)
{
    u8 bytes[68];

    (void)state;
    mode(SPOOL_F_CACHE_SIM);
    for (u32 i = 0; i < 60; i += 3)
        memcpy(bytes + i, "\x0f\x1f\x00", 3);
    memcpy(bytes + 60, "\x66\x90\x48\x89\xc8\x90\xeb\x00", 8); // mov rax, rcx; nop; jmp +0
    translate(bytes, sizeof(bytes));
    for (u32 i = 0; i < 24; i++)
        assert_int_equal(described[i].flags, i == 0 || i == 21 ? SPOOL_I_FETCH : 0);
    memcpy(bytes + 62, "\x89\xc8\x90\x90\xeb\x00", 6); // mov eax, ecx: all in the old line
    translate(bytes, sizeof(bytes));
    for (u32 i = 0; i < 25; i++)
        assert_int_equal(described[i].flags, i == 0 || i == 22 ? SPOOL_I_FETCH : 0);
}

// A locked instruction as Cachegrind counts it, when requested.
static void test_locked(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM);
    TRANSLATE("\xf0\x01\x07\xeb\x00"); // lock add [rdi], eax; jmp +0
    assert_int_equal(described[0].reads, 1);
    assert_int_equal(described[0].flags & SPOOL_I_BC, 0);
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REP_CACHEGRIND);
    TRANSLATE("\xf0\x01\x07\xeb\x01");
    assert_int_equal(described[0].reads, 2);
    assert_int_equal(described[0].flags & (SPOOL_I_BC | SPOOL_I_FETCH), SPOOL_I_BC | SPOOL_I_FETCH);
    TRANSLATE("\x01\x07\xeb\x01"); // without lock
    assert_int_equal(described[0].reads, 1);
    assert_int_equal(described[0].flags & SPOOL_I_BC, 0);
}

// With --verbose the time is summed up.
static void test_time(void **state)
{
    u64 before;

    (void)state;
    mode(SPOOL_F_VERBOSE);
    timing_init();
    before = header.ns_translating;
    for (u32 i = 0; i < 50; i++)
        TRANSLATE("\x90\xeb\x00");
    assert_true((s64)(header.ns_translating - before) > 0);
    mode(0);
    timing_init();
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(header.ns_translating, 0);
    // The client may disable rdtsc: the engine's own would fault.
    mode(SPOOL_F_VERBOSE);
    timing_init();
    TRANSLATE("\x90\xeb\x00");
    before = header.ns_translating;
    timing_forbidden();
    TRANSLATE("\x90\xeb\x00");
    assert_int_equal(header.ns_translating, before);
}

// A translation that another process has interrupted counts with the mean of the others: twice the
// time of one at most, however long it took. The clock's rate is not measured again meanwhile:
// after 40 translations it is at the 64th.
static void test_time_interrupted(void **state)
{
    u64 before;

    (void)state;
    mode(SPOOL_F_VERBOSE);
    timing_init();
    for (u32 i = 0; i < 40; i++)
        TRANSLATE("\x90\xeb\x00");
    before = header.ns_translating;
    room_takes_ns = 3000000;
    TRANSLATE("\x90\xeb\x00");
    TRANSLATE("\x90\xeb\x00");
    room_takes_ns = 0;
    assert_in_range(header.ns_translating, before + 1, before + before / 10);
    mode(0);
    timing_init();
}

// At most what another clock measures for 2,000 translations and this test's overhead, and of the
// same order of magnitude.
static void test_time_is_right(void **state)
{
    struct k_timespec ts[2];
    u64 before, all;

    (void)state;
    mode(SPOOL_F_VERBOSE);
    timing_init();
    before = header.ns_translating;
    sys_clock_gettime(1, &ts[0]);
    for (u32 i = 0; i < 2000; i++)
        TRANSLATE("\x90\xeb\x00");
    sys_clock_gettime(1, &ts[1]);
    all = (u64)((ts[1].sec - ts[0].sec) * 1000000000 + ts[1].nsec - ts[0].nsec);
    assert_in_range(header.ns_translating - before, all / 20, all + all / 100);
}

// --cpu: warns of the first instruction that the shown processor lacks, anywhere in its block; from
// then on frames of handlers have all states.
static void test_cpucheck(void **state)
{
    static struct spool_map *const maps = (struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF);
    char told[512] = "";
    int ends[2];

    (void)state;
    mode(0);
    assert_int_equal(sys_call2(SYS_pipe2, (u64)ends, O_NONBLOCK), 0);
    assert_int_equal(sys_mmap((u64)maps, PAGE_SIZE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     (u64)maps);
    maps[0] = (struct spool_map){ .start = PC - 0x1000, .offset = 0x20 };
    engine_log_fd = ends[1];
    TRANSLATE("\x90\xf3\x0f\xb8\xc0\xeb\x00"); // nop; popcnt eax, eax; jmp +0
    tb_config.shown = true;
    cpu.shown_all = false;
    cpu_set_add(&header.cpu.features, CPU_POPCNT);
    TRANSLATE("\x90\xf3\x0f\xb8\xc0\xeb\x00");
    assert_false(cpu.shown_all);
    memset(&header.cpu.features, 0, sizeof(header.cpu.features));
    TRANSLATE("\x90\x90\xeb\x00");
    assert_false(cpu.shown_all);
    assert_int_equal(sys_read(ends[0], told, sizeof(told)), -EAGAIN);
    assert_false(cpucheck_warned());
    TRANSLATE("\x90\xf3\x0f\xb8\xc0\xeb\x00");
    assert_true(cpucheck_warned());
    assert_true(cpu.shown_all);
    assert_true(sys_read(ends[0], told, sizeof(told) - 1) > 0);
    assert_non_null(strstr(told, "warning: the instruction at 0x401001 of generated code (offset "
                                 "0x1021) needs popcnt, which --cpu="));
    TRANSLATE("\xf3\x0f\xb8\xc0\xeb\x00");
    assert_int_equal(sys_read(ends[0], told, sizeof(told)), -EAGAIN);
    engine_log_fd = 2;
    sys_close(ends[0]);
    sys_close(ends[1]);
}

// Uncounted code has neither counter nor checks nor a record.
static void test_uncounted(void **state)
{
    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    tb_config.sink = 77;
    config_count(false);
    TRANSLATE("\x29\xc0\x48\x8b\x4c\x87\x04\xeb\x00"); // sub eax, eax; mov rcx, [rdi + rax * 4 + 4]
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "sub mov jmp ");
    assert_int_equal(published.flags, FRAGMENT_UNCOUNTED);
    assert_int_equal(published.counter, 77);
    assert_int_equal(published.log, 0);
    TRANSLATE("\x48\xff\xc8\x75\xfb"); // dec rax; jnz PC
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "dec jnz ");
    config_count(true);
    TRANSLATE("\x48\xff\xc8\x75\xfb");
    assert_int_not_equal(published.log, 0);
}

// -- superblocks --

#define JOIN(bytes, ...)                                                           \
    join((const u8 *)(bytes), sizeof(bytes) - 1, (const u64[]){ PC, __VA_ARGS__ }, \
         sizeof((const u64[]){ PC, __VA_ARGS__ }) / sizeof(u64))

// How often the fragment writes counters of the spool, `many` from `counter` on.
static u32 writes_of(u32 counter, u32 many)
{
    u32 n = 0;

    for (u32 off = 0; off < published.size;) {
        off = step(off);
        n += at.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
             at.op[0].mem.segment == ZYDIS_REGISTER_GS &&
             (at.op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
             at.op[0].mem.disp.value - (s64)(TA_COUNTERS + counter * 8) >= 0 &&
             at.op[0].mem.disp.value - (s64)(TA_COUNTERS + counter * 8) < many * 8;
    }
    return n;
}

// A side's stores, from `off` on: the next id := 0; its number; the record's end.
static u32 side_ends(u32 off, u32 number, u32 slots)
{
    while (at.op[0].type != ZYDIS_OPERAND_TYPE_MEMORY || at.op[0].mem.base != ZYDIS_REGISTER_R11) {
        assert_true(off < published.size);
        off = step(off);
        if (at.zi.mnemonic == ZYDIS_MNEMONIC_JMP)
            fail_msg("a side without its stores");
    }
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_MOV);
    assert_true(is_r11(slots * 8));
    assert_int_equal(at.op[0].size, 32);
    assert_int_equal(at.op[1].imm.value.u, 0);
    off = step(off);
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_MOV);
    assert_true(is_r11(4));
    assert_int_equal(at.op[0].size, 32);
    assert_int_equal(at.op[1].imm.value.u, number);
    off = step(off);
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_LEA);
    assert_int_equal(at.op[0].reg.value, ZYDIS_REGISTER_R11);
    assert_int_equal(at.op[1].mem.base, ZYDIS_REGISTER_R11);
    assert_int_equal(at.op[1].mem.disp.value, slots * 8);
    return off;
}

// The k-th instruction with a mnemonic. Returns the offset after it.
static u32 find_insn(ZydisMnemonic mnemonic, u32 k)
{
    for (u32 off = 0; off < published.size;) {
        off = step(off);
        if (at.zi.mnemonic == mnemonic && k-- == 0)
            return off;
    }
    fail_msg("no such instruction");
    return 0;
}

static void is_joint(u32 k, u32 insn, enum record_joint way, u32 number, u64 next)
{
    const struct record_op *o = &recorded.op[k];

    assert_int_equal(o->kind, RECORD_JOINT);
    assert_int_equal(o->insn, insn);
    assert_int_equal(o->way, way);
    assert_int_equal(o->side, number);
    assert_int_equal((u64)o->last << 32 | o->first, next);
}

static void is_side(u32 number, u32 slots, u32 nops, s64 sp_add, u32 nexts, bool indirect)
{
    const struct record_side *s = &recorded.side[number - 1];

    assert_int_equal(s->slots, slots);
    assert_int_equal(s->nops, nops);
    assert_int_equal(s->sp, RECORD_STACK_SLOT);
    assert_int_equal(s->sp_add, sp_add);
    assert_int_equal(s->nexts, nexts);
    assert_int_equal(s->blocks, number); // each block here ends in a joint
    assert_int_equal(s->indirect, indirect);
}

// The superblock has a counter, its blocks' own are not used; each side has one, but the side after
// the first block uses that block's.
static void is_counted_once(void)
{
    assert_int_equal(writes_of(published.counter, 1), 1);
    assert_int_equal(writes_of(0, 4096), 1 + recorded.block.nsides);
    for (u32 i = 0; i < published.nmore; i++)
        assert_int_equal(writes_of(published.more[i].counter, 1), 0);
}

#define SUPERBLOCKS (SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY)

// dec rax; jz PC + 12; then: sub ecx, ecx; mov [rdi], rax; jmp +0
static void test_joint_not_taken(void **state)
{
    u32 off;

    (void)state;
    mode(SUPERBLOCKS);
    assert_true(JOIN("\x48\xff\xc8\x74\x07\x29\xc9\x48\x89\x07\xeb\x00", PC + 5));
    assert_int_equal(published.pc, PC);
    assert_int_equal(published.end, PC + 5);
    assert_int_equal(published.ninsns, 5);
    assert_int_equal(published.nmore, 1);
    assert_int_equal(published.more[0].pc, PC + 5);
    assert_int_equal(published.more[0].end, PC + 12);
    assert_int_equal(published.more[0].insn, 2);
    assert_int_not_equal(published.more[0].block, published.block);
    is_counted_once();
    // the next id := 0; the id and no side; the joint; the counter; the value for the store; the
    // store; the record's end
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "mov mov dec jz inc sub mov mov lea jmp ");
    step(step(0));
    assert_true(is_r11(0));
    assert_int_equal(at.op[0].size, 64);
    assert_int_equal(at.op[1].imm.value.u, 0x1234);
    assert_int_equal(published.nexits, 2);
    is_exit(0, PC + 12);
    is_exit(1, PC + 12);
    assert_false(published.exit[0].side);
    assert_true(published.exit[1].side);
    off = leads_to(find_insn(ZYDIS_MNEMONIC_JZ, 0));
    off = side_ends(off, 1, 1);
    assert_in_range(published.exit[1].rel32, off + 1, off + 64);
    assert_int_equal(recorded.block.blocks, 2);
    assert_int_equal(recorded.block.nsides, 1);
    assert_int_equal(recorded.block.slots, 2);
    assert_int_equal(recorded.block.nops, 3);
    is_op(0, RECORD_FETCH, 0, RECORD_NO_SLOT, PC);
    is_joint(1, 1, RECORD_JOINT_NOT_TAKEN, 1, PC + 5);
    is_op(2, RECORD_REF, 3, 1, 0);
    is_side(1, 1, 1, 0, 1, false);
    // The recipes know where it is counted: not in the first block, but before the store.
    for (u32 i = 0; i < published.nrecipes; i++) {
        const struct recipe *r = &published.recipe[i];

        assert_true(r->insn < 3 || r->flags & RECIPE_BUMPED);
        if (r->insn == 3)
            break;
        assert_true(i + 1 < published.nrecipes);
        assert_true(r->insn == 2 || !(r->flags & RECIPE_BUMPED));
    }
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY); // a record of one block has no number of a side
    TRANSLATE("\x90\xeb\x00");
    step(step(0));
    assert_true(is_r11(0));
    assert_int_equal(at.op[0].size, 32);
}

// dec rax; jz PC + 10: the other way leaves, by the opposite condition.
static void test_joint_taken(void **state)
{
    u32 off;

    (void)state;
    mode(SUPERBLOCKS);
    assert_true(JOIN("\x48\xff\xc8\x74\x05\x90\x90\x90\x90\x90\x29\xc9\xeb\x00", PC + 10));
    assert_int_equal(published.nmore, 1);
    is_counted_once();
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "mov mov dec jnz inc sub lea jmp ");
    is_exit(0, PC + 14);
    is_exit(1, PC + 5);
    off = leads_to(find_insn(ZYDIS_MNEMONIC_JNZ, 0));
    side_ends(off, 1, 1);
    is_joint(1, 1, RECORD_JOINT_TAKEN, 1, PC + 10);
    is_side(1, 1, 1, 0, 1, false);
    assert_true(published.exit[1].side);
}

// call PC + 10 has no side; jmp emits no code
static void test_joint_call(void **state)
{
    (void)state;
    mode(SUPERBLOCKS);
    assert_true(JOIN("\xe8\x05\x00\x00\x00\x90\x90\x90\x90\x90\x29\xc9\xeb\x00", PC + 10));
    assert_int_equal(published.nmore, 1);
    is_counted_once();
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "mov mov push inc sub lea jmp ");
    find_insn(ZYDIS_MNEMONIC_PUSH, 0);
    assert_int_equal(at.op[0].imm.value.u, PC + 5); // the return address
    assert_int_equal(published.nexits, 1);
    is_exit(0, PC + 14);
    assert_int_equal(recorded.block.nsides, 0);
    assert_int_equal(recorded.block.nops, 2);
    is_op(1, RECORD_REF, 0, RECORD_STACK_SLOT, (u64)-8);
    is_stack(RECORD_STACK_SLOT, -8);
    assert_true(JOIN("\xeb\x03\x90\x90\x90\x29\xc9\xeb\x00", PC + 5));
    is_counted_once();
    read_code(published.exit[0].rel32 + 4);
    assert_string_equal(text, "mov mov inc sub lea jmp ");
}

// ret, to PC + 2: the popped address minus that is 0, or the side is taken.
static void test_joint_return(void **state)
{
    u32 off, to;

    (void)state;
    mode(SUPERBLOCKS);
    assert_true(JOIN("\xc3\x90\x29\xc9\xeb\x00", PC + 2));
    is_counted_once();
    read_code(published.exit[0].rel32 + 4);
    // the next id := 0; the id; rcx goes to its slot; the target minus the expected one; over the
    // way out; the counter; rcx is reloaded
    assert_string_equal(text, "mov mov mov pop lea jrcxz jmp inc mov sub lea jmp ");
    assert_int_equal(published.nexits, 1);
    is_exit(0, PC + 6);
    off = find_insn(ZYDIS_MNEMONIC_POP, 0);
    assert_int_equal(at.op[0].reg.value, ZYDIS_REGISTER_RCX);
    off = step(off);
    assert_int_equal(at.op[0].reg.value, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[1].mem.base, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[1].mem.disp.value, -(s64)(PC + 2));
    off = step(off);
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_JRCXZ);
    to = leads_to(off);
    off = step(off); // jmp
    assert_int_equal(off, to);
    off = leads_to(off);
    off = step(step(step(step(step(off))))); // a register goes to its slot, and counts;
    // the subtracted target
    assert_int_equal(at.op[1].imm.value.u, PC + 2);
    off = step(off); // is added again
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_LEA);
    assert_int_equal(at.op[0].reg.value, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[1].mem.disp.value, 0);
    side_ends(off, 1, 1);
    is_joint(2, 0, RECORD_JOINT_UNPREDICTED, 1, PC + 2);
    is_side(1, 1, 2, 8, 0, false);
    is_stack(RECORD_STACK_SLOT, 8);
    assert_int_not_equal(published.ibl_jmp[0], 0);
    assert_int_equal(published.ibl_jmp[1], 0);
}

// call rdx, twice; ret. Their sides share one IBL, the end has another. The target is the last word
// of their records, if it is predicted.
static void test_joint_indirect(void **state)
{
    static const char bytes[] = "\xff\xd2\x29\xc9\xff\xd2\x29\xc9\xc3";
    u32 off;

    (void)state;
    mode(SUPERBLOCKS);
    assert_true(JOIN(bytes, PC + 2, PC + 6));
    assert_int_equal(published.nmore, 2);
    is_counted_once();
    assert_int_equal(published.nexits, 0);
    assert_int_equal(recorded.block.nsides, 2);
    assert_int_equal(recorded.block.blocks, 3);
    is_side(1, 2, 2, -8, 0, true);
    is_side(2, 2, 4, -16, 0, true);
    is_joint(2, 0, RECORD_JOINT_INDIRECT, 1, PC + 2);
    is_joint(4, 2, RECORD_JOINT_INDIRECT, 2, PC + 6);
    is_stack(RECORD_STACK_SLOT, -8);
    assert_int_not_equal(published.ibl_jmp[0], 0);
    assert_true(published.ibl_jmp[1] > published.ibl_jmp[0]);
    for (u32 k = 0; k < 2; k++) {
        off = find_insn(ZYDIS_MNEMONIC_JRCXZ, k);
        off = leads_to(step(off));
        at.op[0].type = ZYDIS_OPERAND_TYPE_UNUSED;
        off = side_ends(off, k + 1, 2);
        off = step(off);
        assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_MOV);
        assert_true(is_r11(-8));
        assert_int_equal(at.op[1].reg.value, ZYDIS_REGISTER_RCX);
    }
    // The second jumps to the IBL of the first: there is no third jump through memory.
    for (u32 n = 0, end = 0; end < published.size;) {
        end = step(end);
        n += at.zi.mnemonic == ZYDIS_MNEMONIC_JMP && at.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
        assert_true(n <= 2);
        if (end == published.size)
            assert_int_equal(n, 2);
    }
    // A record is as long as any of its sides: call rdx; sub ecx, ecx; jmp +0
    assert_true(JOIN("\xff\xd2\x29\xc9\xeb\x00", PC + 2));
    is_side(1, 2, 2, -8, 0, true);
    assert_int_equal(recorded.block.slots, 2);
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY);
    assert_true(JOIN(bytes, PC + 2, PC + 6));
    is_side(1, 1, 2, -8, 0, false);
    off = leads_to(step(find_insn(ZYDIS_MNEMONIC_JRCXZ, 0)));
    at.op[0].type = ZYDIS_OPERAND_TYPE_UNUSED;
    step(side_ends(off, 1, 1));
    assert_false(is_r11(-8));
}

// If the segment is not the client's, lea makes the address: for an EVEX instruction with the
// uncompressed displacement, in four bytes.
static void test_gs(void **state)
{
    u32 off;

    (void)state;
    mode(0);
    TRANSLATE("\x65\x62\xf1\x7e\x48\x6f\x40\x02\xeb\x00"); // vmovdqu32 zmm0, gs:[rax + 128]
    for (off = step(0); at.zi.mnemonic != ZYDIS_MNEMONIC_LEA; off = step(off))
        assert_true(off < published.size);
    assert_int_equal(at.op[1].mem.base, ZYDIS_REGISTER_RAX);
    assert_int_equal(at.op[1].mem.index, ZYDIS_REGISTER_NONE);
    assert_int_equal(at.op[1].mem.disp.value, 128);
    do {
        assert_true(off < published.size);
        off = step(off);
    } while (at.zi.mnemonic == ZYDIS_MNEMONIC_LEA || at.zi.mnemonic == ZYDIS_MNEMONIC_MOV);
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_VMOVDQU32);
    assert_int_equal(at.op[0].reg.value, ZYDIS_REGISTER_ZMM0);
    TRANSLATE("\x65\x48\x8b\x44\x8a\x10\xeb\x00"); // mov rax, gs:[rdx + rcx * 4 + 16]
    for (off = step(0); at.zi.mnemonic != ZYDIS_MNEMONIC_LEA; off = step(off))
        assert_true(off < published.size);
    assert_int_equal(at.op[1].mem.base, ZYDIS_REGISTER_RDX);
    assert_int_equal(at.op[1].mem.index, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[1].mem.scale, 4);
    assert_int_equal(at.op[1].mem.disp.value, 16);
}

// Whether the instruction before the one that ends at `behind` clears the word after the one at
// r11.
static bool before_is_zero(u32 behind)
{
    u32 off = 0, last[2] = { 0, 0 };

    while (off < behind) {
        last[0] = last[1];
        last[1] = off;
        off = step(off);
    }
    step(last[0]);
    return at.zi.mnemonic == ZYDIS_MNEMONIC_MOV && is_r11(8) && at.op[0].size == 64 &&
           at.op[1].imm.value.u == 0;
}

// If jumps are counted, too, each way of a branch stores a word for it; the next id is cleared
// first.
static void test_said(void **state)
{
    u32 words = 0, off = 0;

    (void)state;
    mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY | SPOOL_F_CALLS);
    tb_config.calls_events = tb_config.calls_often = 1;
    tb_config.calls_frame = sizeof(struct spool_frame) + 8;
    tb_config.jumps = true;
    TRANSLATE("\x75\x02"); // jnz PC + 4
    assert_true(recorded.block.said);
    while (off < published.size) {
        u32 word;

        off = step(off);
        if (at.zi.mnemonic != ZYDIS_MNEMONIC_MOV || !is_r11(0) || at.op[0].size != 64 ||
            at.op[1].imm.value.u > RECORD_TAKEN)
            continue;
        word = (u32)at.op[1].imm.value.u;
        assert_true(word == RECORD_TAKEN || word == RECORD_NOT_TAKEN);
        words |= word;
        step(off);
        assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_LEA);
        assert_int_equal(at.op[1].mem.disp.value, 8);
        assert_true(before_is_zero(off));
    }
    assert_int_equal(words, RECORD_TAKEN | RECORD_NOT_TAKEN);
    mode(0);
}

// xsave of the states shown to the program: the flags are saved before eax is masked, and its
// segment stays.
static void test_xsave(void **state)
{
    u32 off = 0;
    bool saved = false, masked = false;

    (void)state;
    mode(0);
    tb_config.xstate_mask = 7;
    TRANSLATE("\x64\x0f\xae\x27\xeb\x00"); // xsave fs:[rdi]; jmp +0
    do {
        assert_true(off < published.size);
        off = step(off);
        if (at.zi.mnemonic == ZYDIS_MNEMONIC_AND) {
            assert_true(saved);
            assert_int_equal(at.op[1].imm.value.u, 7);
            masked = true;
        }
        saved |= at.zi.mnemonic == ZYDIS_MNEMONIC_LAHF;
    } while (at.zi.mnemonic != ZYDIS_MNEMONIC_XSAVE);
    assert_true(masked);
    assert_int_equal(at.op[0].mem.segment, ZYDIS_REGISTER_FS);
    TRANSLATE("\x0f\xae\x27\xeb\x00");
    for (off = step(0); at.zi.mnemonic != ZYDIS_MNEMONIC_XSAVE; off = step(off))
        assert_true(off < published.size);
    assert_int_equal(at.op[0].mem.segment, ZYDIS_REGISTER_DS);
    tb_config.xstate_mask = 0;
}

// --calls: a jump through a register that ends its function. A tail call that was seen before makes
// its frame from the edge: the number in the linkage table with the mark of a jump, then the
// counter.
static void test_tail_call(void **state)
{
    u32 off = 0, before = 0;

    (void)state;
    mode(SPOOL_F_CALLS);
    tb_config.calls_events = tb_config.calls_often = 1;
    tb_config.calls_frame = sizeof(struct spool_frame) + 8;
    TRANSLATE("\xff\xe0"); // jmp rax
    do {
        assert_true(off < published.size);
        before = off;
        off = step(off);
    } while (at.zi.mnemonic != ZYDIS_MNEMONIC_MOV || at.op[0].reg.value != ZYDIS_REGISTER_EAX ||
             at.op[1].type != ZYDIS_OPERAND_TYPE_MEMORY || at.op[1].mem.base != ZYDIS_REGISTER_RDX);
    assert_true(before > 0);
    assert_int_equal(at.op[1].mem.disp.value, offsetof(struct spool_edge, plt));
    off = step(off);
    assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_OR);
    assert_int_equal(at.op[1].imm.value.u, SPOOL_FRAME_JUMP);
    off = step(off);
    assert_int_equal(at.op[0].mem.base, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[0].mem.disp.value, offsetof(struct spool_frame, plt));
    assert_int_equal(at.op[1].reg.value, ZYDIS_REGISTER_EAX);
    off = step(off);
    assert_int_equal(at.op[1].mem.base, ZYDIS_REGISTER_RDX);
    assert_int_equal(at.op[1].mem.disp.value, offsetof(struct spool_edge, counter));
    step(off);
    assert_int_equal(at.op[0].mem.base, ZYDIS_REGISTER_RCX);
    assert_int_equal(at.op[0].mem.disp.value, offsetof(struct spool_frame, counter));
    assert_int_equal(at.op[1].reg.value, ZYDIS_REGISTER_EAX);
    mode(0);
}

// A block that cannot follow the other is not part of it; one block is no superblock.
static void test_no_joint(void **state)
{
    (void)state;
    mode(SUPERBLOCKS);
    // dec rax; jz PC + 10; nops: neither PC + 10 nor PC + 5
    assert_false(JOIN("\x48\xff\xc8\x74\x05\x90\x90\x90\x90\x90\x29\xc9\xeb\x00", PC + 7));
    assert_int_equal(published.pc, 0);
    assert_false(JOIN("\xe8\x05\x00\x00\x00\x90\x90\x90\x90\x90\x29\xc9\xeb\x00", PC + 5));
    assert_false(JOIN("\xeb\x03\x90\x90\x90\x29\xc9\xeb\x00", PC + 2));
    assert_false(JOIN("\x75\x00\x29\xc9\xeb\x00", PC + 2)); // both ways have this target
    assert_false(JOIN("\xe2\x00\x29\xc9\xeb\x00", PC + 2)); // loop
    assert_false(JOIN("\x0f\x05\x29\xc9\xeb\x00", PC + 2)); // syscall
    assert_false(JOIN("\xeb\x00\xcc\x90", PC + 2));         // int3, which is stepped
    assert_false(JOIN("\xcc\x29\xc9\xeb\x00", PC + 1));
    assert_false(JOIN("\xeb\x00", PC + 2)); // not mapped
    assert_int_equal(published.pc, 0);
    // jmp +0; jmp +0; jmp PC: the third is not PC + 2
    assert_true(JOIN("\xeb\x00\xeb\x00\xeb\xfa", PC + 2, PC + 2));
    assert_int_equal(published.nmore, 1);
    assert_int_equal(published.exit[0].target, PC + 4);
    assert_true(JOIN("\xeb\x00\xeb\x00\xeb\xfa", PC + 2, PC + 4, PC, PC + 2));
    assert_int_equal(published.nmore, 4);
    assert_int_equal(published.exit[0].target, PC + 4);
    assert_int_equal(published.more[2].counter, published.own); // the same block again
}

// A block of the maximum length continues after its last instruction, and nowhere else.
static void test_joint_plain(void **state)
{
    char bytes[37];

    (void)state;
    mode(SUPERBLOCKS);
    memset(bytes, 0x90, sizeof(bytes));
    memcpy(bytes + 32, "\x29\xc9\xeb\x00", 5);
    assert_true(JOIN(bytes, PC + 32));
    assert_int_equal(published.nmore, 1);
    assert_int_equal(published.end, PC + 32);
    assert_int_equal(published.more[0].pc, PC + 32);
    assert_int_equal(recorded.block.nsides, 0);
    is_counted_once();
    assert_false(JOIN(bytes, PC + 33));
    assert_false(JOIN(bytes, PC + 31));
}

// Code that may be rewritten is in no superblock, whether it is a valid block or not: PC, PC + 8,
// and PC + 128, from where it is writable.
static void test_no_joint_writable(void **state)
{
    char bytes[133];

    (void)state;
    memset(bytes, 0x90, sizeof(bytes));
    memcpy(bytes, "\xeb\x06", 2);           // jmp PC + 8
    memcpy(bytes + 8, "\xeb\x76", 2);       // jmp PC + 128
    memcpy(bytes + 128, "\x29\xc9\xeb", 3); // sub ecx, ecx; jmp +0
    bytes[131] = 0;
    mode(SUPERBLOCKS);
    assert_true(JOIN(bytes, PC + 8, PC + 128));
    assert_int_equal(published.nmore, 2);
    writable_from = PC + 128;
    assert_true(JOIN(bytes, PC + 8, PC + 128));
    assert_int_equal(published.nmore, 1);
    assert_int_equal(published.flags, 0);
    assert_int_equal(published.exit[0].target, PC + 128);
    bytes[128] = (char)0xcc; // int3
    assert_true(JOIN(bytes, PC + 8, PC + 128));
    assert_int_equal(published.nmore, 1);
    assert_int_equal(published.flags, 0);
    writable_from = PC;
    assert_false(JOIN(bytes, PC + 8));
    writable_from = 0;
}

// A line is fetched once, until another line of its set is: PC, PC + 64 and PC + 2, which is in the
// first line again.
static void test_joint_lines(void **state)
{
    char bytes[67], more[131];

    (void)state;
    memset(bytes, 0x90, sizeof(bytes));
    memcpy(bytes, "\xeb\x3e\x29\xc9\xeb\x00", 6);
    memcpy(bytes + 64, "\xeb\xc0", 3);
    mode(SUPERBLOCKS);
    assert_true(JOIN(bytes, PC + 64, PC + 2));
    assert_int_equal(published.nmore, 2);
    assert_int_equal(recorded.block.nops, 2);
    is_op(0, RECORD_FETCH, 0, RECORD_NO_SLOT, PC);
    is_op(1, RECORD_FETCH, 1, RECORD_NO_SLOT, PC + 64);
    assert_int_equal(recorded.op[0].way, 0);
    assert_int_equal(recorded.op[1].way, 1); // the first after a joint
    // jmp PC + 66; two lines there, and back: of the two only the first comes after a joint
    memset(more, 0x90, sizeof(more));
    memcpy(more, "\xeb\x40", 2);
    for (u32 i = 66; i < 129; i += 7)
        memcpy(more + i, "\x0f\x1f\x80\x00\x00\x00\x00", 7);
    memcpy(more + 129, "\xeb\x00", 2);
    assert_true(JOIN(more, PC + 66));
    assert_int_equal(recorded.block.nops, 3);
    is_op(0, RECORD_FETCH, 0, RECORD_NO_SLOT, PC);
    is_op(1, RECORD_FETCH, 1, RECORD_NO_SLOT, PC + 66);
    is_op(2, RECORD_FETCH, 9, RECORD_NO_SLOT, PC + 122);
    assert_int_equal(recorded.op[0].way, 0);
    assert_int_equal(recorded.op[1].way, 1);
    assert_int_equal(recorded.op[2].way, 0);
    tb_config.i1_sets = 1;
    assert_true(JOIN(bytes, PC + 64, PC + 2));
    assert_int_equal(recorded.block.nops, 3);
    is_op(2, RECORD_FETCH, 2, RECORD_NO_SLOT, PC + 2);
}

// A client request: one instruction of 19 bytes, whose only code is an exit.
static void test_request(void **state)
{
    (void)state;
    mode(0);
    decode_requests();
    // nop; rol rdi, 3, 13, 61, 51; xchg rbx, rbx; what follows is in another block
    TRANSLATE("\x90\x48\xc1\xc7\x03\x48\xc1\xc7\x0d\x48\xc1\xc7\x3d\x48\xc1\xc7\x33\x48\x87\xdb");
    assert_int_equal(published.flags, FRAGMENT_REQUEST);
    assert_int_equal(published.ninsns, 2);
    assert_int_equal(published.len[1], 19);
    is_exit(0, PC + 20);
}

static void test_fault(void **state)
{
    u64 fault;

    (void)state;
    mode(0);
    client_size = 2;
    memcpy(client, "\x48\x8b", 2); // the rest of it is not mapped
    assert_null(translate_block(PC, &fault));
    assert_int_equal(fault, PC + 2);
    client_size = 0;
    assert_null(translate_block(PC, &fault));
    assert_int_equal(fault, PC);
}

// A call of code above 2 GiB pushes a return address of 64 bits, which stands behind the fragment's
// code: aligned to 8, in an instruction that is never executed (mov rax, imm64).
static void test_call_from_far(void **state)
{
    static const u64 far[] = { PC, 0x7f1234567000, 0xffffffff80001000 }; // the last one, 32 bits
    u64 value;

    (void)state;
    mode(0);
    for (u32 k = 0; k < 3; k++) {
        bool pushes = false;
        u32 off = 0;

        client_at = far[k];
        TRANSLATE("\xe8\0\1\0\0"); // call +0x100
        while (!pushes && off < published.size) {
            off = step(off);
            pushes = at.zi.mnemonic == ZYDIS_MNEMONIC_PUSH;
        }
        assert_true(pushes);
        if (k != 1) {
            assert_int_equal(at.op[0].type, ZYDIS_OPERAND_TYPE_IMMEDIATE);
            assert_int_equal(at.op[0].imm.value.s, (s64)(far[k] + 5));
            continue;
        }
        assert_int_equal(at.op[0].mem.base, ZYDIS_REGISTER_RIP);
        off += (u32)at.op[0].mem.disp.value; // where the value is
        assert_in_range(off, published.exit[0].stub, published.size - 8);
        assert_int_equal((published.hpc + off) % 8, 0);
        memcpy(&value, (u8 *)published.hpc + off, 8);
        assert_int_equal(value, far[k] + 5);
        step(off - 2);
        assert_int_equal(at.zi.mnemonic, ZYDIS_MNEMONIC_MOV);
        assert_int_equal(at.zi.length, 10);
    }
    client_at = PC;
}

// Translations of an earlier run are not made again.
static void test_pcache(void **state)
{
    u64 fault = 1;

    (void)state;
    mode(0);
    revived_at = PC;
    published.pc = 0;
    assert_ptr_equal(translate_block(PC, &fault), &fragment);
    assert_int_equal(fault, TRANSLATE_NO_FAULT);
    assert_int_equal(published.pc, 0);
    revived_at = 0;
}

// The displacement of an exit is moved to the next cache line of the host only where it would cross
// the end of its own: it may be the last four bytes of one.
static void test_exit_at_end(void **state)
{
    char bytes[33];
    u64 seen = 0;

    (void)state;
    mode(0);
    memset(bytes, 0x90, sizeof(bytes));
    for (u32 i = 0, n = 0; i < 300; i++, n = i % 30) {
        if (!n)
            region_take(16); // else they are in the same places again
        memcpy(bytes + n, "\xeb\x00", 2);
        translate((const u8 *)bytes, n + 2);
        bytes[n] = bytes[n + 1] = (char)0x90;
        is_exit(0, PC + n + 2);
        seen |= 1ul << ((published.hpc + published.exit[0].rel32) & 63);
    }
    assert_true(seen >> 60 == 1);
}

// Whatever precedes an instruction in any order is passed over, up to REX, whose X the absolute
// form would obey; mov eax, [rip] becomes mov eax, [PC + its length].
static void test_prefixes(void **state)
{
    static const char prefix[] = "\x2e\x36\x3e\x26\x66\x67\xf2\xf3\x64";
    u8 bytes[] = { 0, 0x2e, 0x43, 0x8b, 0x05, 0, 0, 0, 0, 0xeb, 0 };
    u8 absolute[] = { 0, 0x2e, 0x41, 0x8b, 0x04, 0x25, 9, 0x10, 0x40, 0 };

    (void)state;
    mode(0);
    for (u32 i = 0; prefix[i]; i++)
        for (u32 turned = 0; turned < 2; turned++) {
            u32 found = 0;

            bytes[turned] = absolute[turned] = (u8)prefix[i];
            bytes[!turned] = absolute[!turned] = 0x2e;
            translate(bytes, sizeof(bytes));
            for (u32 k = 0; k + sizeof(absolute) <= published.size; k++)
                found += memcmp((u8 *)published.hpc + k, absolute, sizeof(absolute)) == 0;
            assert_int_equal(found, 1);
        }
}

// The record of a superblock's blocks together is found again by its address, the number of its
// instructions and its blocks' counters; each has one counter.
static void test_sum(void **state)
{
    static struct tb b = { .pc = PC,
                           .block = { { .n = 3, .counter = 500 }, { .n = 4, .counter = 600 } } };
    static const struct {
        u32 n, counter;
        u64 pc;
    } other[] = { { 4, 601, PC }, { 5, 600, PC }, { 4, 600, PC + 1 } };
    u32 first = blockrecord_sum(&b, 2);

    (void)state;
    assert_int_equal(described[0].len | described[0].flags << 8, 500);
    assert_int_equal(blockrecord_sum(&b, 2), first);
    for (u32 turn = 0; turn < 2; turn++)
        for (u32 i = 0; i < 3; i++) {
            b.pc = other[i].pc;
            b.block[1].n = other[i].n;
            b.block[1].counter = other[i].counter;
            assert_int_equal(blockrecord_sum(&b, 2), first + 1 + i);
        }
    b.pc = PC;
    assert_int_equal(blockrecord_sum(&b, 1), first + 4);
    assert_int_equal(blockrecord_sum(&b, 2), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcache),
        cmocka_unit_test(test_hotblocks),
        cmocka_unit_test(test_point),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_conditional),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_blockrecord),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_call_from_far),
        cmocka_unit_test(test_recording),
        cmocka_unit_test(test_stack_pointer),
        cmocka_unit_test(test_r11),
        cmocka_unit_test(test_same_place),
        cmocka_unit_test(test_uncounted),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_joint_not_taken),
        cmocka_unit_test(test_joint_taken),
        cmocka_unit_test(test_joint_call),
        cmocka_unit_test(test_joint_return),
        cmocka_unit_test(test_joint_indirect),
        cmocka_unit_test(test_no_joint),
        cmocka_unit_test(test_no_joint_writable),
        cmocka_unit_test(test_joint_lines),
        cmocka_unit_test(test_recorded_address),
        cmocka_unit_test(test_said),
        cmocka_unit_test(test_gs),
        cmocka_unit_test(test_xsave),
        cmocka_unit_test(test_tail_call),
        cmocka_unit_test(test_joint_plain),
        cmocka_unit_test(test_record_of_mapping),
        cmocka_unit_test(test_record_taken),
        cmocka_unit_test(test_record_hash),
        cmocka_unit_test(test_many_records),
        cmocka_unit_test(test_fetching),
        cmocka_unit_test(test_locked),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_time_interrupted),
        cmocka_unit_test(test_time_is_right),
        cmocka_unit_test(test_cpucheck),
        cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_exit_at_end),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_sum),
    };

    if (hosted_init())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
