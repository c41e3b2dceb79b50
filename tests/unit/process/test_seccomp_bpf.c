// SPDX-License-Identifier: MIT
// engine/process/seccomp_bpf.c: what the kernel's checker takes and refuses, and each instruction's
// result worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/filter.h>

#include "engine/process/seccomp_bpf.h"

static const struct k_seccomp_data data = {
    59, 0xc000003e, 0x1122334455667788, { 0xaaaaaaaa00000001, 2, 3, 4, 5, 0xbbbbbbbb00000006 }
};

#define RUN(...)                                               \
    ({                                                         \
        struct sock_filter f_[] = { __VA_ARGS__ };             \
        u32 n_ = sizeof(f_) / sizeof(f_[0]);                   \
        assert_int_equal(seccomp_validate((void *)f_, n_), 0); \
        seccomp_run((void *)f_, n_, &data);                    \
    })
#define VALID(...)                                                \
    ({                                                            \
        struct sock_filter f_[] = { __VA_ARGS__ };                \
        seccomp_validate((void *)f_, sizeof(f_) / sizeof(f_[0])); \
    })
#define LDK(k)      BPF_STMT(BPF_LD | BPF_IMM, k)
#define LDXK(k)     BPF_STMT(BPF_LDX | BPF_IMM, k)
#define ABS(off)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off)
#define RETK(k)     BPF_STMT(BPF_RET | BPF_K, k)
#define RETA        BPF_STMT(BPF_RET | BPF_A, 0)
#define ALUK(op, k) BPF_STMT(BPF_ALU | op | BPF_K, k)
#define ALUX(op)    BPF_STMT(BPF_ALU | op | BPF_X, 0)

static void test_loads(void **state)
{
    (void)state;
    assert_int_equal(RUN(ABS(0), RETA), 59);
    assert_int_equal(RUN(ABS(4), RETA), 0xc000003e);
    assert_int_equal(RUN(ABS(8), RETA), 0x55667788);
    assert_int_equal(RUN(ABS(12), RETA), 0x11223344);
    assert_int_equal(RUN(ABS(16), RETA), 1);
    assert_int_equal(RUN(ABS(20), RETA), 0xaaaaaaaa);
    assert_int_equal(RUN(ABS(60), RETA), 0xbbbbbbbb);
    assert_int_equal(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), RETA), 64);
    assert_int_equal(
        RUN(BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0), RETA), 64);
    assert_int_equal(
        RUN(LDK(7), BPF_STMT(BPF_ST, 15), LDK(8), BPF_STMT(BPF_LD | BPF_MEM, 15), RETA), 7);
    assert_int_equal(RUN(LDXK(9), BPF_STMT(BPF_STX, 3), BPF_STMT(BPF_LD | BPF_MEM, 3), RETA), 9);
    assert_int_equal(
        RUN(LDK(5), BPF_STMT(BPF_MISC | BPF_TAX, 0), LDK(0), BPF_STMT(BPF_MISC | BPF_TXA, 0), RETA),
        5);
    assert_int_equal(RUN(RETK(0x7fff0000)), 0x7fff0000);
}

static void test_arithmetic(void **state)
{
    (void)state;
    assert_int_equal(RUN(LDK(10), ALUK(BPF_ADD, 5), RETA), 15);
    assert_int_equal(RUN(LDK(10), ALUK(BPF_SUB, 11), RETA), 0xffffffff);
    assert_int_equal(RUN(LDK(0x10000), ALUK(BPF_MUL, 0x10001), RETA), 0x10000);
    assert_int_equal(RUN(LDK(17), ALUK(BPF_DIV, 5), RETA), 3);
    assert_int_equal(RUN(LDK(0xf0), ALUK(BPF_OR, 0x0f), RETA), 0xff);
    assert_int_equal(RUN(LDK(0xff), ALUK(BPF_AND, 0x3c), RETA), 0x3c);
    assert_int_equal(RUN(LDK(0xff), ALUK(BPF_XOR, 0x0f), RETA), 0xf0);
    assert_int_equal(RUN(LDK(3), ALUK(BPF_LSH, 4), RETA), 0x30);
    assert_int_equal(RUN(LDK(0x80000000), ALUK(BPF_RSH, 31), RETA), 1);
    assert_int_equal(RUN(LDK(1), BPF_STMT(BPF_ALU | BPF_NEG, 0), RETA), 0xffffffff);
    assert_int_equal(RUN(LDXK(3), LDK(10), ALUX(BPF_SUB), RETA), 7);
    assert_int_equal(RUN(LDXK(0), LDK(10), ALUX(BPF_DIV), RETA), 0); // ends at once
}

static void test_jumps(void **state)
{
    (void)state;
    // A division by 0 ends the program there and then, with 0.
    assert_int_equal(RUN(LDXK(0), LDK(8), ALUX(BPF_DIV), RETK(7)), 0);
    assert_int_equal(RUN(LDXK(1), LDK(8), ALUX(BPF_DIV), RETK(7)), 7);
    assert_int_equal(RUN(LDK(5), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 0), RETK(1), RETK(2)),
                     2);
    assert_int_equal(RUN(LDK(6), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 0), RETK(1), RETK(2)),
                     1);
    assert_int_equal(RUN(LDK(6), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 5, 1, 0), RETK(1), RETK(2)),
                     2);
    assert_int_equal(RUN(LDK(5), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 5, 1, 0), RETK(1), RETK(2)),
                     1);
    assert_int_equal(RUN(LDK(5), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5, 1, 0), RETK(1), RETK(2)),
                     2);
    assert_int_equal(RUN(LDK(6), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 1, 0), RETK(1), RETK(2)),
                     2);
    assert_int_equal(
        RUN(LDK(0xffffffff), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1, 1, 0), RETK(1), RETK(2)),
        2); // unsigned
    assert_int_equal(
        RUN(LDXK(5), LDK(5), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), RETK(1), RETK(2)), 2);
    assert_int_equal(RUN(BPF_STMT(BPF_JMP | BPF_JA, 2), RETK(1), RETK(2), RETK(3)), 3);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(seccomp_validate(NULL, 0), -22);
    assert_int_equal(VALID(LDK(1)), -22);        // no return at the end
    assert_int_equal(VALID(ABS(64), RETA), -22); // behind the data
    assert_int_equal(VALID(ABS(2), RETA), -22);  // not a word
    assert_int_equal(VALID(BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), RETA), -22); // half a word
    assert_int_equal(VALID(BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), RETA), -22);
    assert_int_equal(VALID(BPF_STMT(BPF_LD | BPF_MEM, 16), RETA), -22); // 16 words: 0 to 15
    assert_int_equal(VALID(BPF_STMT(BPF_ST, 16), RETA), -22);
    assert_int_equal(VALID(LDK(1), ALUK(BPF_DIV, 0), RETA), -22);
    assert_int_equal(VALID(LDK(1), ALUK(BPF_LSH, 32), RETA), -22);
    assert_int_equal(VALID(LDK(1), ALUK(BPF_MOD, 3), RETA), -22);         // seccomp has no modulo
    assert_int_equal(VALID(BPF_STMT(BPF_JMP | BPF_JA, 1), RETK(0)), -22); // out of the program
    assert_int_equal(VALID(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), RETK(0)), -22);
    assert_int_equal(VALID(BPF_STMT(BPF_JMP | BPF_JA, 0), RETK(0)), 0);
}

// As net/core/filter.c of Linux 6.18 converts them (bpf_convert_filter): three to begin with, one
// each, and what is said here.
#define LENGTH(...)                                                    \
    ({                                                                 \
        struct sock_filter f_[] = { __VA_ARGS__ };                     \
        seccomp_kernel_length((void *)f_, sizeof(f_) / sizeof(f_[0])); \
    })

static void test_length(void **state)
{
    (void)state;
    assert_int_equal(LENGTH(RETA), 3 + 1);
    assert_int_equal(LENGTH(RETK(1)), 3 + 2); // a move, an exit
    assert_int_equal(LENGTH(LDK(1)), 3 + 1);
    assert_int_equal(LENGTH(ALUK(BPF_DIV, 3)), 3 + 1);
    assert_int_equal(LENGTH(ALUX(BPF_ADD)), 3 + 1);
    assert_int_equal(LENGTH(ALUX(BPF_DIV)), 3 + 5); // is X zero?
    assert_int_equal(LENGTH(BPF_STMT(BPF_JMP | BPF_JA, 0)), 3 + 1);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 0)), 3 + 1);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1)), 3 + 1); // turned
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 1)), 3 + 2);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 5, 1, 0)), 3 + 1);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 5, 0, 1)), 3 + 2); // cannot be
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x7fffffff, 1, 0)), 3 + 1);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x80000000, 1, 0)), 3 + 2);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0x80000000, 1, 0)), 3 + 1);
    assert_int_equal(LENGTH(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x80000000, 1, 1), RETK(0)), 3 + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),  cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_jumps),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_length),
    };

    return cmocka_run_group_tests_name("seccomp_bpf", tests, NULL, NULL);
}
