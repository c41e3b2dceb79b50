// SPDX-License-Identifier: MIT
// engine/codecache/dump.c: the file of --dump-code, byte by byte as share/spool.h defines it: the
// stubs of stubs.def, once, then the code in the order in which it was made; a forked child begins
// its own file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/codecache/dump.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/spool/spooler.h"

// -- fakes of what dump.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
static char folder[] = "/tmp/quern-dump-XXXXXX", path[64], code_path[64];
static u8 region[STUB_COUNT * 16 + 64]; // each stub has 16 bytes, but for the last, and the second

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 7);
    return path;
}

u64 region_start(void)
{
    return (u64)region;
}

u64 stubs_size(void)
{
    return sizeof(region);
}

// The second is only a label at the end of the first: it has no bytes.
u64 stubs_at(enum stub s)
{
    return (u64)region + 16 * (s == 1 ? 2u : (u32)s);
}

const char *stubs_name(enum stub s)
{
    return s == 0 ? "the first" : "another";
}

// -- the test's side --

static u8 content[65536];
static u32 size, at;

static void read_file(void)
{
    FILE *f = fopen(code_path, "re");

    assert_non_null(f);
    size = (u32)fread(content, 1, sizeof(content), f);
    fclose(f);
    at = 0;
}

static const void *take(u32 n)
{
    assert_true(at + n <= size);
    at += n;
    return content + at - n;
}

static struct spool_code record(void)
{
    struct spool_code r;

    memcpy(&r, take(sizeof(r)), sizeof(r));
    assert_int_equal(r.magic, SPOOL_CODE_MAGIC);
    return r;
}

static void is_stub(const char *name, u64 hpc, u32 bytes)
{
    struct spool_code r = record();

    assert_string_equal(r.name, name);
    assert_int_equal(r.pc, 0);
    assert_int_equal(r.hpc, hpc);
    assert_int_equal(r.bytes, bytes);
    assert_int_equal(r.insns, 0);
    assert_int_equal(r.parts, 0);
    assert_memory_equal(take(bytes), (const void *)hpc, bytes);
}

// The stubs of stubs.def.
static void are_stubs(void)
{
    for (u32 s = 0; s < STUB_COUNT; s++) {
        if (s == 1)
            continue;
        is_stub(s ? "another" : "the first", (u64)region + 16 * s,
                s == 0               ? 32
                : s + 1 < STUB_COUNT ? 16
                                     : (u32)sizeof(region) - 16 * (STUB_COUNT - 1));
    }
}

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    header.s_dump_code = 1;
    header.s_spool = 7;
    return 0;
}

static void test_asked(void **state)
{
    (void)state;
    assert_true(dump_init());
    header.s_dump_code = 500;
    assert_true(dump_init());
    header.s_dump_code = 0;
    assert_false(dump_init());
    dump_stub("nobody's", (u64)region, 8);
    assert_int_equal(sys_unlink(code_path), -ENOENT);
}

// In this order; the second fragment's last instruction is a client request of 19 bytes, of which
// the first 15 are shown.
static void test_file(void **state)
{
    static struct insn insn[2];
    static const struct spool_code_part part[2] = { { 0, 0, SPOOL_CODE_MAIN },
                                                    { 5, 1, SPOOL_CODE_EXIT } };
    struct dump d = { .pc = 0x401000, .hpc = (u64)region + 3, .bytes = 9, .insn = insn,
                      .insns = 2, .part = part, .parts = 2 };
    struct spool_code r;
    long next = sys_open("/dev/null", O_RDONLY, 0), pid;
    int status;

    (void)state;
    for (u32 i = 0; i < sizeof(region); i++)
        region[i] = (u8)(i * 7);
    insn[0] = (struct insn){ .pc = 0x401000, .len = 3, .bytes = "abc" };
    insn[1] = (struct insn){ .pc = 0x402000, .len = 19, .bytes = "defghijklmnopqrstu" };
    sys_close((int)next);
    dump_stub("made", (u64)region + 40, 11);
    dump_fragment(&d);
    assert_int_equal(sys_open("/dev/null", O_RDONLY, 0), next); // nothing stays open
    sys_close((int)next);
    read_file();
    are_stubs();
    is_stub("made", (u64)region + 40, 11);
    for (u32 child = 0; child < 2; child++) {
        r = record();
        assert_int_equal(r.pc, 0x401000);
        assert_int_equal(r.hpc, d.hpc);
        assert_int_equal(r.bytes, 9);
        assert_int_equal(r.insns, 2);
        assert_int_equal(r.parts, 2);
        assert_memory_equal(take(8), "\0\x10\x40\0\0\0\0\0", 8); // its address
        assert_memory_equal(take(16), "\3abc\0\0\0\0\0\0\0\0\0\0\0", 16);
        assert_memory_equal(take(8), "\0\x20\x40\0\0\0\0\0", 8);
        assert_memory_equal(take(16), "\17defghijklmnopqr", 16);
        assert_memory_equal(take(sizeof(part)), part, sizeof(part));
        assert_memory_equal(take(9), region + 3, 9);
        assert_int_equal(at, size);
        if (child)
            break;
        pid = sys_call0(SYS_fork);
        if (pid == 0) {
            dump_fragment(&d);
            sys_exit_group(0);
        }
        assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
        assert_int_equal(status, 0);
        read_file(); // it has the same name here: it begins anew
        are_stubs();
    }
}

// A link to somebody's file in its place is removed; its target does not change.
static void test_link(void **state)
{
    char victim[80];
    struct dump d = { .pc = 0x401000, .hpc = (u64)region, .bytes = 1 };
    long pid;
    int fd, status = -1;
    struct k_stat st;

    (void)state;
    snprintf(victim, sizeof(victim), "%s/victim", folder);
    fd = (int)sys_open(victim, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(sys_write(fd, "mine", 4), 4);
    sys_close(fd);
    sys_unlink(code_path);
    assert_int_equal(sys_call2(SYS_symlink, (u64)victim, (u64)code_path), 0);
    pid = sys_call0(SYS_fork);
    if (pid == 0) {
        header.s_dump_code = 1;
        dump_fragment(&d);
        sys_exit_group(0);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(sys_fstatat(AT_FDCWD, victim, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(sys_fstatat(AT_FDCWD, code_path, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(st.st_size > 0 && (st.st_mode & 0170000) == 0100000);
    sys_unlink(victim);
}

static int first(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/spool", folder);
    snprintf(code_path, sizeof(code_path), "%s/spool.code", folder);
    return 0;
}

static int last(void **state)
{
    (void)state;
    sys_unlink(code_path);
    return (int)sys_call1(SYS_rmdir, (u64)folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_asked, setup),
        cmocka_unit_test_setup(test_file, setup),
        cmocka_unit_test(test_link),
    };

    return cmocka_run_group_tests_name("codecache/dump", tests, first, last);
}
