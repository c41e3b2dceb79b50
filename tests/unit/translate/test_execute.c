// SPDX-License-Identifier: MIT
// engine/translate/: what translations do. Blocks given as bytes are executed natively, at their
// own address, and translated, with the same registers, flags and memory: both must leave the same
// ones, and go on at the same place. Between them a translation counts its block once. The thread's
// area is this test's, and every stub is a breakpoint.
#include <stdio.h>

#include "engine/codecache/helperdesc.h"
#include "tests/unit/translate/hosted.h"

#define DATA      0x61000000ul
#define AREA      (TA_COUNTERS + (1ul << 20))
#define RECORD_AT 0x61010000ul // where r11 leads to while a block is recorded
#define FRAMES    0x61018000ul // the frames of the call graph

// Where the client's code is: low, beyond where the kernel puts the heap of this program; so near
// the translations that they reach its data relative to themselves; or neither.
#define LOW 0x60000000ul
static u64 code_at = LOW, place[2];

#define COUNTERS ((1u << 20) / 8)
#define GS_DATA  0x3000 // in the area, where struct thread is not

static u8 *area;
static u8 page[4096]; // what the data page has before each run

// Where the kernel's signal frame has the registers by their number.
static const u8 place_of[16] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7 };

struct cpu_state {
    u64 reg[16], flags;
    u64 pc; // behind the breakpoint
};

static struct cpu_state now;
static jmp_buf back;
static u64 wild; // an address that neither may access

// A helper's stub is entered: its descriptor is behind the jump that follows the call.
static u32 helped[STUB_COUNT];

static void note_help(enum stub s, u64 returns)
{
    const struct helperdesc_d1 *d1 = (const void *)(returns + HELPERDESC_AT);
    const struct thread *t = (const void *)area;

    helped[s]++;
    if (s != STUB_D1_ANY)
        return;
    // The counters of the block follow that of its executions.
    if (t->h_addr - DATA >= sizeof(page) && t->h_addr - code_at >= 0x200 &&
        t->h_addr - (u64)area - GS_DATA >= sizeof(page))
        wild = t->h_addr;
    if (d1->counter <= published.counter || (d1->size & 0xffff) > 64)
        wild = d1->counter;
}

static bool is_helper(enum stub s)
{
    return s >= STUB_D1_MISS && s <= STUB_CALLS_MISS;
}

static void trapped(int sig, const struct k_siginfo *info, struct k_ucontext *u)
{
    u64 *rsp = (u64 *)u->mc.gpr[15];

    for (enum stub s = 0; sig == SIGTRAP && s < STUB_COUNT; s++)
        if (is_helper(s) && u->mc.ip == stubs_at(s) + 1) {
            note_help(s, *rsp);
            u->mc.ip = *rsp;
            u->mc.gpr[15] += 8;
            return;
        }
    if (sig != SIGTRAP)
        wild = info->addr | 1;
    for (u32 i = 0; i < 16; i++)
        now.reg[i] = u->mc.gpr[place_of[i]];
    now.flags = u->mc.flags & FLAGS_ARITH;
    now.pc = u->mc.ip;
    longjmp(back, 1);
}

extern const char restores[];
__asm__(".text\nrestores: mov $15, %eax\n\tsyscall"); // rt_sigreturn

static u64 enter_at __asm__("execute_enter_at") __attribute__((used));

// Loads the registers from `now` and jumps to enter_at.
static _Noreturn void enter(void)
{
    __asm__ volatile("pushq %[flags]\n\t"
                     "popfq\n\t"
                     "mov 8(%%rax), %%rcx\n\t"
                     "mov 16(%%rax), %%rdx\n\t"
                     "mov 24(%%rax), %%rbx\n\t"
                     "mov 32(%%rax), %%rsp\n\t"
                     "mov 40(%%rax), %%rbp\n\t"
                     "mov 48(%%rax), %%rsi\n\t"
                     "mov 56(%%rax), %%rdi\n\t"
                     "mov 64(%%rax), %%r8\n\t"
                     "mov 72(%%rax), %%r9\n\t"
                     "mov 80(%%rax), %%r10\n\t"
                     "mov 88(%%rax), %%r11\n\t"
                     "mov 96(%%rax), %%r12\n\t"
                     "mov 104(%%rax), %%r13\n\t"
                     "mov 112(%%rax), %%r14\n\t"
                     "mov 120(%%rax), %%r15\n\t"
                     "mov (%%rax), %%rax\n\t"
                     "jmp *execute_enter_at(%%rip)"
                     :
                     : [flags] "m"(now.flags), "a"(&now)
                     : "memory");
    __builtin_unreachable();
}

static void go(const struct cpu_state *from, u64 pc)
{
    now = *from;
    enter_at = pc;
    wild = 0;
    memcpy((void *)DATA, page, sizeof(page));
    memcpy(area + GS_DATA, page, sizeof(page));
    memset((void *)(code_at + 0x100), 0x5a, 0x100);
    if (!setjmp(back))
        enter();
}

static void is_same(const struct cpu_state *a, const struct cpu_state *b, const char *bytes)
{
    for (u32 i = 0; i < 16; i++)
        if (a->reg[i] != b->reg[i])
            fail_msg("%s: register %u is %lx, natively %lx", bytes, i, b->reg[i], a->reg[i]);
    if (a->flags != b->flags)
        fail_msg("%s: the flags are %lx, natively %lx", bytes, b->flags, a->flags);
}

// Which lines are in the caches: all of the data page, but for four lines of code, and the one of
// the block.
static void fill_caches(void)
{
    if (tb_config.d1_fast)
        for (u64 a = 0; a < sizeof(page); a += 64)
            *(u64 *)(area + TA_D1 + a) = (a >= 0x100 && a < 0x200 ? code_at : DATA) + a + 63;
    if (tb_config.i1_fast)
        *(u32 *)(area + TA_I1 + (code_at >> 6 & 63) * 8 * 4) = lineids_of(code_at >> 6);
}

// Where the client goes on, of a translation that has stopped at a stub.
static u64 leads(void)
{
    const struct thread *t = (const void *)area;

    if (now.pc == stubs_at(STUB_EXIT) + 1)
        return published.exit[t->exit_id % FRAGMENT_EXITS_MAX].target;
    if (now.pc == stubs_at(STUB_IBL_MISS) + 1)
        return t->ibl_target;
    fail_msg("stopped at %lx", now.pc);
    return 0;
}

// What a slot of the record has.
static u64 word(u16 slot, const struct cpu_state *from)
{
    if (slot == RECORD_NO_SLOT)
        return 0;
    if (slot == RECORD_STACK_SLOT)
        return from->reg[R_RSP];
    assert_true(slot < recorded.block.slots);
    return ((u64 *)RECORD_AT)[slot];
}

// The addresses of the record are those of data or code that the block may access; its id is there,
// and the next one is 0.
static void is_recorded(const char *bytes, const struct cpu_state *from)
{
    const u32 *record = (u32 *)RECORD_AT;
    u32 refs = 0;

    assert_int_equal(record[0], 0x1234);
    if (!tb_config.calls) // frames and jumps are words behind it
        assert_int_equal(record[recorded.block.slots * 2], 0);
    for (u32 i = 0; i < recorded.block.nops; i++) {
        const struct record_op *o = &recorded.op[i];
        u64 addr;

        if (o->kind != RECORD_REF)
            continue;
        addr = word(o->base, from) + (word(o->index, from) << o->scale) + o->add;
        if (addr - DATA >= sizeof(page) && addr - code_at >= 0x200 &&
            addr - (u64)area - GS_DATA >= sizeof(page))
            fail_msg("%s: reference %u is recorded at %lx", bytes, refs, addr);
        refs++;
    }
}

static void show(char *to, const u8 *bytes, u32 n)
{
    for (u32 i = 0; i < n; i++)
        sprintf(to + 3 * i, "%02x ", bytes[i]);
}

static bool empty; // nothing is in the caches

// What counter k has before; none is 0, so that one is not taken for another.
static u64 before(u32 k)
{
    return 1000 + k;
}

// What has been added to it; of the pointer to the frames, itself.
static u64 counter(u32 k)
{
    u64 value = ((u64 *)(area + TA_COUNTERS))[k];

    return tb_config.calls && k == tb_config.calls_top ? value : value - before(k);
}

// The blocks of a superblock; else 0.
static u64 joined[2];

static void both(const u8 *bytes, u32 n, const struct cpu_state *from)
{
    struct thread *t = (void *)area;
    struct cpu_state natively, given = *from;
    static u8 left[sizeof(page)], left_gs[sizeof(page)], left_code[0x100];
    char text_of[256];
    u64 ends;

    show(text_of, bytes, n);
    memset((void *)code_at, 0xcc, 4096);
    memcpy((void *)code_at, bytes, n);
    go(from, code_at);
    natively = now;
    if (wild)
        fail_msg("%s: natively, %lx is accessed at %lx", text_of, wild, now.pc);
    ends = now.pc - 1;
    memcpy(left, (void *)DATA, sizeof(left));
    memcpy(left_gs, area + GS_DATA, sizeof(left_gs));
    memcpy(left_code, (void *)(code_at + 0x100), sizeof(left_code));

    memset(area, 0, PAGE_SIZE);
    memset((void *)RECORD_AT, 0xee, PAGE_SIZE);
    for (u32 i = 0; i < COUNTERS; i++)
        ((u64 *)(area + TA_COUNTERS))[i] = before(i);
    memset(area + TA_D1, 0, 0x10000);
    memset(area + TA_I1, 0, TA_I1_SIZE);
    memset(area + TA_BRANCH, 0, 0x10000);
    t->client_gs_base = (u64)area;
    t->engine_sp = (u64)(area + TA_ENGINE_STACK_TOP);
    if (!empty)
        fill_caches();
    if (tb_config.calls)
        ((u64 *)(area + TA_COUNTERS))[tb_config.calls_top] = FRAMES;
    if (joined[0]) {
        client_prot = 5;
        client_size = n;
        memcpy(client, bytes, n);
        assert_ptr_equal(translate_superblock(joined, 2), &fragment);
    } else {
        translate(bytes, n);
    }
    if (tb_config.recording) {
        t->regs[11] = given.reg[11];
        given.reg[11] = RECORD_AT;
    }
    go(&given, published.hpc);
    if (wild)
        fail_msg("%s: translated, %lx is accessed at %lx", text_of, wild, now.pc);
    if (tb_config.recording && !joined[0]) // what is behind the way out may be missing
        is_recorded(text_of, from);
    if (tb_config.recording)
        now.reg[11] = t->regs[11];
    is_same(&natively, &now, text_of);
    assert_memory_equal((void *)DATA, left, sizeof(left));
    assert_memory_equal(area + GS_DATA, left_gs, sizeof(left_gs));
    assert_memory_equal((void *)(code_at + 0x100), left_code, sizeof(left_code));
    if (tb_config.recording && recorded.block.tail == RECORD_INDIRECT)
        assert_int_equal(((u64 *)RECORD_AT)[recorded.block.slots - 1], ends);
    if (leads() != ends)
        fail_msg("%s: goes on at %lx, natively at %lx", text_of, leads(), ends);
    for (u32 i = 0; i < COUNTERS; i++) {
        u64 added = counter(i);

        // With a call graph there are counters of totals and edges, too, and with branches those of
        // mispredictions.
        if (joined[0])
            break; // where it leaves decides which
        if (i == published.counter ? added != 1 : added && !tb_config.calls && !tb_config.branch)
            fail_msg("%s: counter %u is %lu", text_of, i, added);
    }
}

#define B(code) code, sizeof(code) - 1, false
#define C(code) code, sizeof(code) - 1, true

static const struct {
    const char *bytes;
    u32 n;
    bool leaves; // to code that is not known beforehand
} block[] = {
    // Every register, as source, target, base and index.
    { B("\x48\x01\xd8\x4c\x01\xc3\x4d\x01\xc8\x4d\x01\xd9\x4d\x01\xe2\x4d\x01\xeb\x4d\x01\xf4"
        "\x4d\x01\xfd\x49\x01\xc6\x49\x01\xcf\xeb\x00") },
    { B("\x48\x8b\x07\x48\x8b\x4e\x08\x4c\x8b\x5f\x10\x4c\x89\x1e\x48\x89\x44\x24\x18\xeb\x00") },
    { B("\x4f\x8b\x1c\x2c\xeb\x00") },             // mov r11, [r12 + r13]
    { B("\x4d\x8b\x1b\x4c\x89\xd8\xeb\x00") },     // mov r11, [r11]; mov rax, r11
    { B("\x4d\x03\x5b\x10\x4c\x89\xd8\xeb\x00") }, // add r11, [r11 + 16]; mov rax, r11
    { B("\x4c\x87\x1f\x49\x87\xc3\xeb\x00") },     // xchg [rdi], r11; xchg r11, rax
    { B("\x4d\x89\xdb\x49\xff\xc3\x4d\x85\xdb\xeb\x00") },
    // Flags that live across what is inserted.
    // add, adc, sbb
    { B("\x48\x01\xd8\x48\x8b\x07\x48\x11\xd1\x48\x8b\x5e\x08\x48\x19\xc8\xeb\x00") },
    // cmp; cmovl; setb; lahf
    { B("\x48\x39\xd8\x48\x8b\x07\x48\x0f\x4c\xca\x0f\x92\xc3\x9f\xeb\x00") },
    { B("\x48\x8b\x07\x9e\x48\x8b\x1e\x0f\x90\xc0\xeb\x00") }, // lahf's counterpart, sahf; seto al
    { B("\xf9\x48\x8b\x07\x48\xff\xc1\x48\x8b\x1e\xf5\xeb\x00") }, // stc; inc; cmc
    { B("\x48\xd1\xe0\x48\x8b\x0f\x48\xd1\xd3\xeb\x00") },         // shl; rcl
    { B("\x48\xf7\xe3\x48\x89\x07\x0f\x80\x02\x00\x00\x00") },     // mul; jo
    { B("\x48\x8b\x07\x74\x02") },
    { B("\x48\x8b\x07\x75\x02") },
    { B("\x48\x8b\x07\x7c\x02") },
    { B("\x48\x29\xd8\x4c\x89\x1f\x77\x05") },
    { B("\xe2\x03") },             // loop
    { B("\x48\x8b\x07\xe3\x03") }, // jrcxz
    { B("\x31\xc9\xe3\x03") },
    { B("\x4c\x39\x1f\x0f\x8f\x10\x00\x00\x00") }, // cmp [rdi], r11; jg
    // The stack.
    { B("\x53\x55\x41\x53\x58\x41\x5b\x5f\xeb\x00") }, // push rbx, rbp, r11; pop rax, r11, rdi
    { B("\x48\x83\xec\x28\x48\x89\x04\x24\x48\x8b\x4c\x24\x08\xeb\x00") },
    { B("\x55\x48\x89\xe5\x48\x83\xec\x20\x48\x89\x45\xf8\xc9\xeb\x00") }, // a frame; leave
    { B("\xff\x37\x8f\x06\xeb\x00") },                                     // push [rdi]; pop [rsi]
    { B("\x68\x00\x00\x00\x80\x6a\x7f\xeb\x00") },                         // push of constants
    { C("\xe8\x03\x00\x00\x00") },                                         // call
    { C("\xe8\x00\x00\x00\x00") },
    { C("\x48\x8b\x07\xff\xd2") },     // call rdx
    { C("\x4d\x8b\x1b\x41\xff\xd3") }, // mov r11, [r11]; call r11
    { C("\x48\x8b\x0b\xff\xe1") },     // mov rcx, [rbx]; jmp rcx
    { C("\x4d\x8b\x1b\x41\xff\xe3") }, // mov r11, [r11]; jmp r11
    { C("\x48\x8b\x03\xff\xe0") },     // mov rax, [rbx]; jmp rax
    { C("\xff\x23") },                 // jmp [rbx]
    { C("\xff\x13") },                 // call [rbx]
    { C("\x41\xff\x23") },             // jmp [r11]
    { C("\xff\x24\xcb") },             // jmp [rbx + rcx * 8]
    { C("\x48\x89\xd8\xff\x30\xc3") }, // mov rax, rbx; push [rax]; ret
    { C("\xff\x33\xc3") },
    { C("\xff\x33\xc2\x10\x00") }, // ret 16
    { C("\xe9\x40\x00\x00\x00") },
    // Addresses that are computed.
    { B("\x48\x0f\xa3\x0f\x72\x02") },                 // bt [rdi], rcx: any byte of 64
    { B("\x4d\x0f\xb6\xdb\x4c\x0f\xab\x1e\xeb\x00") }, // movzx r11, r11b; bts [rsi], r11
    { B("\x49\x0f\xb3\x0b\xeb\x00") },                 // btr [r11], rcx
    { B("\x48\x8b\x05\x00\x01\x00\x00\xeb\x00") },     // mov rax, [rip + 256]
    // lea r11, [rip]; add
    { B("\x4c\x8d\x1d\x00\x01\x00\x00\x4c\x03\x1d\x08\x01\x00\x00\xeb\x00") },
    { B("\x67\x8b\x07\x67\x41\x89\x03\xeb\x00") }, // 32-bit addresses
    { B("\xd7\xeb\x00") },                         // xlat
    // %gs, whose base natively is the area.
    { B("\x65\x48\x8b\x04\x25\x00\x30\x00\x00\xeb\x00") }, // mov rax, gs:[0x3000]
    { B("\x65\x4d\x03\x98\x00\x30\x00\x00\xeb\x00") },     // add r11, gs:[r8 + 0x3000]
    { B("\x65\x49\x89\x84\x88\x08\x30\x00\x00\x65\x4d\x87\x99\x00\x30\x00\x00\xeb\x00") },
    { B("\x65\x48\xa1\x10\x30\x00\x00\x00\x00\x00\x00\xeb\x00") }, // mov rax, gs:moffs
    { B("\x65\xa0\x11\x30\x00\x00\x00\x00\x00\x00\xeb\x00") },
    { B("\x65\x48\xa3\x18\x30\x00\x00\x00\x00\x00\x00\xeb\x00") },
    { B("\x65\x66\xa3\x22\x30\x00\x00\x00\x00\x00\x00\xeb\x00") },
    { B("\x65\xc7\x80\x00\x30\x00\x00\x78\x56\x34\x12\xeb\x00") }, // mov gs:[rax + ...], imm
    // Relative to rip, with a constant behind the address, and written.
    { B("\x81\x05\xf6\x00\x00\x00\x78\x56\x34\x12\xeb\x00") }, // add [rip + 0xf6], imm
    { B("\x4c\x0f\xaf\x1d\xf8\x00\x00\x00\xeb\x00") },         // imul r11, [rip]
    { B("\x48\x8d\x05\xf9\x00\x00\x00\xeb\x00") },             // lea rax, [rip]
    // Strings, and instructions that read and write.
    { B("\x48\xa5\xa4\xac\xaa\xa6\xeb\x00") },                             // movs, lods, stos, cmps
    { B("\x48\x01\x07\x48\xff\x0e\x48\xf7\x1f\x48\x0f\xb1\x1e\xeb\x00") }, // add, dec, neg, cmpxchg
    { B("\xf0\x4c\x0f\xc1\x1f\x48\x0f\xc8\xeb\x00") }, // lock xadd [rdi], r11; bswap
    { B("\x66\x8b\x07\x8a\x4e\x01\x88\x2f\x66\x89\x1e\x0f\xb6\x47\x03\x48\x63\x4e\x04\xeb\x00") },
    { B("\x48\x99\x48\x98\x48\x0f\xaf\x07\x48\x6b\xdb\x07\xeb\x00") }, // cqo, cdqe, imul
    // More registers in use than are free.
    { B("\x4a\x8b\x04\x07\x4a\x8b\x0c\x0e\x4e\x89\x1c\x17"
        "\x4a\x89\x14\x2e\x4e\x03\x64\x05\x08\xeb\x00") },
};

static u64 rnd_state = 88172645463325252ul;

static u64 rnd(void)
{
    rnd_state ^= rnd_state << 13;
    rnd_state ^= rnd_state >> 7;
    return rnd_state ^= rnd_state << 17;
}

// rdi, rsi, rbx, rbp, rsp, r11 and r12 lead into the data page, r8 to r10 and r13 are small, all
// multiples of 8, rdx is
// an address of code, rax and rcx are anything small; what rbx and r11 lead to is one, too.
static struct cpu_state random_state(void)
{
    struct cpu_state s;

    for (u32 i = 0; i < 16; i++)
        s.reg[i] = rnd();
    for (u32 i = 0; i < sizeof(page) / 8; i++)
        ((u64 *)page)[i] = rnd();
    s.reg[R_RDI] = DATA + 0x400 + rnd() % 0x10 * 8;
    s.reg[R_RSI] = DATA + 0x600 + rnd() % 0x10 * 8;
    s.reg[R_RBX] = DATA + 0x200 + rnd() % 0x10 * 8;
    s.reg[R_RBP] = DATA + 0x800 + rnd() % 0x10 * 8;
    s.reg[R_RSP] = DATA + 0xc00 + rnd() % 0x10 * 8;
    s.reg[11] = DATA + 0x300 + rnd() % 0x10 * 8;
    s.reg[12] = DATA + 0x700;
    s.reg[8] = rnd() % 0x10 * 8;
    s.reg[9] = rnd() % 0x10 * 8;
    s.reg[10] = rnd() % 0x10 * 8;
    s.reg[13] = rnd() % 0x10 * 8;
    s.reg[R_RDX] = code_at + 0x80 + rnd() % 0x80;
    s.reg[R_RAX] = rnd() % 0x100;
    s.reg[R_RCX] = rnd() % 8;
    for (u64 a = 0x200; a < 0x400; a += 8)
        *(u64 *)(page + a) = code_at + 0x80 + rnd() % 0x80;
    s.flags = (rnd() & FLAGS_ARITH) | 0x202;
    return s;
}

static void (*more)(void); // changes the mode

static void with_values_unknown(void)
{
    tb_config.values = false;
}

static void begin_mode(u64 flags)
{
    const struct k_sigaction action = { (u64)trapped,
                                        SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_NODEFER,
                                        (u64)restores, 0 };

    assert_int_equal(sys_sigaction(SIGTRAP, &action, NULL), 0);
    assert_int_equal(sys_sigaction(SIGSEGV, &action, NULL), 0);
    mode(flags);
    tb_config.calls_events = spool_event_index(SPOOL_EVENTS, flags);
    tb_config.calls_often = spool_event_index(SPOOL_E_I1MR, flags);
    tb_config.calls_frame = spool_frame_bytes(flags);
    tb_config.calls_top = 100000; // beyond the counters of blocks
}

static void in_mode(u64 flags, bool jumps)
{
    begin_mode(flags);
    tb_config.jumps = jumps;
    memset(helped, 0, sizeof(helped));
    if (more)
        more();
    for (u32 turn = 0; turn < 20; turn++)
        for (u32 i = 0; i < ARRAY_SIZE(block); i++) {
            struct cpu_state s = random_state();

            if (jumps && block[i].leaves)
                continue;
            region_flush();
            both((const u8 *)block[i].bytes, block[i].n, &s);
        }
}

static void test_plain(void **state)
{
    bool bmi2 = cpu.bmi2;

    (void)state;
    in_mode(0, false);
    cpu.bmi2 = false;
    in_mode(0, false);
    cpu.bmi2 = bmi2;
}

static void test_caches(void **state)
{
    (void)state;
    in_mode(SPOOL_F_CACHE_SIM, false);
}

static void test_recorded(void **state)
{
    (void)state;
    in_mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY, false);
    in_mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY, false);
    more = with_values_unknown; // each address is computed
    in_mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY, false);
    more = NULL;
}

// The caller's frame at the beginning.
static struct spool_frame *const below = (void *)FRAMES;

static void own_frame(void)
{
    memset(below, 0, PAGE_SIZE);
    below->key = 0x123456789abcul;
}

// A call and a jump to another function's beginning push a frame: with the edge's counter, the
// stack pointer at the target, the complements of the totals, and as its key the return address
// plus that stack pointer, or the key of the frame below, which ends with it.
static void test_frames(void **state)
{
    static const struct {
        const char *bytes;
        u32 n, insns, back;
    } row[] = {
        { "\x48\x8b\x07\xe8\x00\x03\x00\x00", 8, 2, 8 },
        { "\xe8\x00\x03\x00\x00", 5, 1, 5 },
        { "\x48\x8b\x07\xe9\x00\x03\x00\x00", 8, 2, 0 },
        { "\x39\xc0\x0f\x84\x00\x03\x00\x00", 8, 2, 0 }, // cmp eax, eax; je
    };

    (void)state;
    edge = (struct spool_edge){ .counter = 70 };
    for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
        struct cpu_state s = random_state();
        const struct spool_frame *f;
        u64 sp = s.reg[R_RSP] - (row[i].back ? 8 : 0);

        begin_mode(SPOOL_F_CALLS);
        region_flush();
        edge.function = edge.target = code_at + row[i].n + 0x300;
        own_frame();
        below->sp = s.reg[R_RSP];
        both((const u8 *)row[i].bytes, row[i].n, &s);
        f = (const void *)counter(tb_config.calls_top);
        assert_int_equal((u64)f, FRAMES + tb_config.calls_frame);
        assert_int_equal(f->counter, 70);
        assert_int_equal(f->sp, sp);
        assert_int_equal(f->plt, row[i].back ? 0 : SPOOL_FRAME_JUMP);
        assert_int_equal(f->key, row[i].back ? code_at + row[i].back + sp : below->key);
        assert_int_equal(f->before[0], ~(before(tb_config.calls_top + 1) + row[i].insns));
        assert_int_equal(counter(tb_config.calls_top + 1), row[i].insns);
        assert_int_equal(counter(70), !row[i].back); // calls are the block's executions
        // A frame that is another's does not have the jump.
        if (row[i].back)
            continue;
        region_flush();
        below->sp = s.reg[R_RSP] + 8;
        memset(helped, 0, sizeof(helped));
        both((const u8 *)row[i].bytes, row[i].n, &s);
        assert_int_equal(counter(tb_config.calls_top), FRAMES);
        assert_int_equal(helped[STUB_CALLS_JUMP], 1);
    }
}

// Of a predictor that has seen nothing: a branch is expected not to be taken, and the target of an
// indirect one is not known.
static void test_predicted(void **state)
{
    static const struct {
        const char *bytes;
        u32 n, missed, bc, bi;
    } row[] = {
        { "\x39\xc0\x75\x02", 4, 0, 1, 0 },     // cmp eax, eax; jne
        { "\x39\xc0\x74\x02", 4, 1, 1, 0 },     // je
        { "\xff\xe2", 2, 1, 0, 1 },             // jmp rdx
        { "\x48\x8b\x07\xff\xd2", 5, 1, 0, 1 }, // call rdx
        { "\xff\x33\xc3", 3, 0, 0, 1 },         // push [rbx]; ret
        { "\xeb\x00", 2, 0, 0, 0 },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
        struct cpu_state s = random_state();
        u64 all = 0;

        begin_mode(SPOOL_F_BRANCH_SIM);
        region_flush();
        both((const u8 *)row[i].bytes, row[i].n, &s);
        for (u32 k = 0; k < COUNTERS; k++)
            all += counter(k);
        assert_int_equal(all, 1 + row[i].missed);
        // The predictor of a machine is simulated by helpers.
        tb_config.predictor = true;
        memset(helped, 0, sizeof(helped));
        region_flush();
        both((const u8 *)row[i].bytes, row[i].n, &s);
        assert_int_equal(helped[STUB_BC], row[i].bc);
        assert_int_equal(helped[STUB_BI], row[i].bi);
    }
}

// Every flag is live where control may leave a superblock: test r8b, 8; bt [rdi], rcx; jc out; sub
// ecx, ecx; mov [rdi], rax; jmp. Recording the address of bt, which leaves ZF as it is, destroys
// flags.
static void test_superblock(void **state)
{
    static const u8 bytes[] =
        "\x41\xf6\xc0\x08\x48\x0f\xa3\x0f\x72\x08\x29\xc9\x48\x89\x07\xeb\x00";
    u32 left = 0;

    (void)state;
    begin_mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY);
    joined[0] = code_at;
    joined[1] = code_at + 10;
    for (u32 i = 0; i < 50; i++) {
        struct cpu_state s = random_state();

        region_flush();
        both(bytes, sizeof(bytes) - 1, &s);
        left += leads() == code_at + 18;
    }
    joined[0] = 0;
    assert_in_range(left, 5, 45); // both ways were taken
}

static void nothing_fast(void)
{
    tb_config.d1_fast = tb_config.i1_fast = false;
}

// Whatever helpers are called, the block has the same effect.
static void test_helpers(void **state)
{
    (void)state;
    empty = true;
    in_mode(SPOOL_F_CACHE_SIM, false);
    assert_int_equal(helped[STUB_I1_MISS], 20 * ARRAY_SIZE(block)); // they are of one line each
    assert_true(helped[STUB_D1_MISS] > 1000);
    in_mode(SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM, false);
    more = nothing_fast;
    in_mode(SPOOL_F_CACHE_SIM, false);
    assert_int_equal(helped[STUB_I1_ANY], 20 * ARRAY_SIZE(block));
    assert_int_equal(helped[STUB_D1_MISS] + helped[STUB_D1_SLOW], 0);
    assert_true(helped[STUB_D1_ANY] > 1000);
    more = NULL;
    empty = false;
}

// With a call graph frames are made, and jumps of a function are counted.
static void test_calls(void **state)
{
    (void)state;
    edge = (struct spool_edge){ .function = code_at + 8, .target = code_at + 8, .counter = 70 };
    in_mode(SPOOL_F_CALLS, false);
    in_mode(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY, false);
    edge.plt = 9;
    in_mode(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM, false);
    in_mode(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_REPLAY, true);
    edge.plt = 0;
    in_mode(SPOOL_F_CALLS, true);
    in_mode(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY, true);
}

static void test_places(void **state)
{
    (void)state;
    for (u32 i = 0; i < 2; i++) {
        code_at = client_at = place[i];
        in_mode(0, false);
        in_mode(SPOOL_F_CACHE_SIM | SPOOL_F_REPLAY, false);
        in_mode(SPOOL_F_CALLS, false);
    }
    code_at = client_at = LOW;
}

int main(void)
{
    static u8 stack[65536];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),    cmocka_unit_test(test_caches),
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_helpers),
        cmocka_unit_test(test_frames),   cmocka_unit_test(test_superblock),
        cmocka_unit_test(test_places),   cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_calls),
    };
    const struct k_stack alternate = { .sp = (u64)stack, .size = sizeof(stack) };

    if (hosted_init())
        return 1;
    client_at = code_at;
    place[0] = PAGE_UP(region_end()) + 0x100000;
    place[1] = 0x510000000000;
    for (u32 i = 0; i < 2; i++)
        if ((u64)sys_mmap(place[i], PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place[i])
            return 1;
    memset((void *)region_start(), 0xcc, stubs_size());
    area = (u8 *)sys_mmap(0, AREA, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sys_failed((long)area) || sys_call2(SYS_arch_prctl, ARCH_SET_GS, (u64)area) ||
        sys_mmap(code_at, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (long)code_at ||
        sys_mmap(DATA, 0x20000, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != DATA ||
        sys_call2(SYS_sigaltstack, (u64)&alternate, 0))
        return 1;
    return cmocka_run_group_tests_name("engine/translate, executed", tests, NULL, NULL);
}
