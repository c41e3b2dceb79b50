// SPDX-License-Identifier: MIT
// engine/translate/pointers.c: where addresses come from, in blocks given as bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/spool/spooler.h"
#include "engine/translate/pointers.h"
#include "engine/x86/decode.h"

#define PC          0x401000ul
#define REG(r)      (SPOOL_FROM_REGISTER | (r))
#define BLOCK(code) block(code, sizeof(code) - 1)

static struct spool_header header;
struct spool_header *spool = &header;
static struct tb b;
static struct spool_data_flow flow;

static void block(const char *code, u32 size)
{
    struct tb_block t = { .pc = PC };
    u32 at = 0;

    memset(&b, 0, sizeof(b));
    for (; at < size; t.n++) {
        int n = decode_insn(&b.insn[t.n], PC + at, (const u8 *)code + at, size - at, true);

        assert_in_range(n, 1, 15);
        at += (u32)n;
    }
    pointers_find(&b, &t, &flow);
}

static u32 from(u32 insn)
{
    return b.rec[insn].from;
}

static void in_a_block(void **state)
{
    (void)state;
    BLOCK("\x48\x8b\x07"     // mov (%rdi), %rax
          "\x48\x89\xc1"     // mov %rax, %rcx
          "\x8b\x51\x08"     // mov 8(%rcx), %edx
          "\x8b\x12"         // mov (%rdx), %edx: 4 bytes are no pointer
          "\x48\x8d\x71\x10" // lea 16(%rcx), %rsi
          "\x48\x8b\x36"     // mov (%rsi), %rsi
          "\x48\x83\xc1\x08" // add $8, %rcx
          "\x8b\x01"         // mov (%rcx), %eax: a walk by 8
          "\x8b\x04\x9f"     // mov (%rdi,%rbx,4), %eax
          "\x42\x8b\x04\x06" // mov (%rsi,%r8,1), %eax
          "\xc3");           // ret
    assert_int_equal(from(0), REG(R_RDI));
    assert_int_equal(from(2), 1);
    assert_int_equal(from(3), 0);
    assert_int_equal(from(5), 1);
    assert_int_equal(from(7), 0);
    assert_int_equal(from(8), REG(R_RDI));
    assert_int_equal(from(9), 6);
    assert_int_equal(flow.end, SPOOL_FLOW_ENDS);
    assert_int_equal(flow.reg[R_RSI], 6);
    assert_int_equal(flow.reg[R_RDI], REG(R_RDI));
    assert_int_equal(flow.reg[R_RCX], 0);
    assert_int_equal(flow.reg[R_RAX], 0);
}

static void choices(void **state)
{
    (void)state;
    BLOCK("\x48\x8b\x07"         // mov (%rdi), %rax
          "\x48\x0f\x4e\x47\x08" // cmovle 8(%rdi), %rax
          "\x48\x0f\x4c\xca"     // cmovl %rdx, %rcx
          "\x48\x8d\x70\x08"     // lea 8(%rax), %rsi
          "\x48\x0f\x4c\xf0"     // cmovl %rax, %rsi
          "\x48\x8b\x36");       // mov (%rsi), %rsi
    assert_int_equal(from(5), 2);
    assert_int_equal(flow.reg[R_RCX], 0);
    assert_int_equal(flow.end, SPOOL_FLOW_GOES_ON);
}

// What a debug build does: the pointer is in the frame.
static void frame(void **state)
{
    (void)state;
    BLOCK("\x48\x8b\x45\xf8"     // mov -8(%rbp), %rax
          "\x48\x8b\x40\x08"     // mov 8(%rax), %rax
          "\x48\x89\x45\xf8"     // mov %rax, -8(%rbp)
          "\x48\x83\x7d\xf8\x00" // cmpq $0, -8(%rbp)
          "\x75\xed");           // jne to the beginning
    assert_int_equal(flow.end, SPOOL_FLOW_MAY_JUMP);
    assert_int_equal(flow.target, PC);
    assert_int_equal(from(1), 2);
    BLOCK("\x48\x8b\x45\xf8" // the same, but something else is stored
          "\x48\x8b\x40\x08"
          "\x48\x89\x45\xf8"
          "\xc6\x45\xff\x00" // movb $0, -1(%rbp)
          "\x75\xee");
    assert_int_equal(from(1), 1); // the word of the frame
}

// In a loop words of the frame have what the last round has stored, if a load has brought it; what
// was a register's at the beginning is nothing that the next round knows.
static void loop_of_frame(void **state)
{
    (void)state;
    BLOCK("\x48\x8b\x45\xf8" // mov -8(%rbp), %rax
          "\x48\x8b\x48\x08" // mov 8(%rax), %rcx
          "\x48\x89\x7d\xf8" // mov %rdi, -8(%rbp)
          "\x75\xf2");       // jne to the beginning
    assert_int_equal(flow.end, SPOOL_FLOW_MAY_JUMP);
    assert_int_equal(flow.target, PC);
    assert_int_equal(from(1), 1); // the load of the word
}

// Words of the frame are forgotten when its register changes.
static void other_frame(void **state)
{
    (void)state;
    BLOCK("\x48\x8b\x07"     // mov (%rdi), %rax
          "\x48\x89\x45\xf8" // mov %rax, -8(%rbp)
          "\x48\x8b\x4d\xf8" // mov -8(%rbp), %rcx
          "\x8b\x11"         // mov (%rcx), %edx: what the first has loaded
          "\x48\x83\xc5\x10" // add $16, %rbp
          "\x48\x8b\x4d\xf8" // mov -8(%rbp), %rcx
          "\x8b\x11"         // mov (%rcx), %edx
          "\xc3");           // ret
    assert_int_equal(from(3), 1);
    assert_int_equal(from(6), 6);
}

static void ends(void **state)
{
    const struct {
        const char *code;
        u32 size, end;
        u64 target;
    } row[] = {
        { "\xeb\x10", 2, SPOOL_FLOW_JUMPS, PC + 18 },
        { "\x74\x10", 2, SPOOL_FLOW_MAY_JUMP, PC + 18 },
        { "\xe2\xfe", 2, SPOOL_FLOW_MAY_JUMP, PC }, // loop
        { "\xe8\x00\x01\x00\x00", 5, SPOOL_FLOW_CALLS, PC + 0x105 },
        { "\xff\xd0", 2, SPOOL_FLOW_CALLS, 0 },
        { "\xff\xe0", 2, SPOOL_FLOW_ENDS, 0 },
        { "\x0f\x05", 2, SPOOL_FLOW_GOES_ON, 0 },
    };

    (void)state;
    for (u32 i = 0; i < sizeof(row) / sizeof(*row); i++) {
        block(row[i].code, row[i].size);
        assert_int_equal(flow.end, row[i].end);
        assert_int_equal(flow.target, row[i].target);
    }
}

static void appended(void **state)
{
    const struct spool_data_flow *f = (void *)(DATA_BASE + SPOOL_DATA_FLOWS_OFF);

    (void)state;
    pointers_append(&flow, 17);
    assert_int_equal(header.data.flows_used, 1);
    assert_int_equal(f[0].block, 17);
    header.data.flows_used = SPOOL_DATA_FLOWS_MAX; // full: nothing is written
    pointers_append(&flow, 18);
    assert_int_equal(header.data.flows_used, SPOOL_DATA_FLOWS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_block),    cmocka_unit_test(choices),     cmocka_unit_test(frame),
        cmocka_unit_test(loop_of_frame), cmocka_unit_test(other_frame), cmocka_unit_test(ends),
        cmocka_unit_test(appended),
    };

    if (mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
             0) != (void *)DATA_BASE)
        return 1;
    decode_init(false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
