// SPDX-License-Identifier: MIT
// engine/count/reftrace.c: the file that --trace-refs makes, byte by byte as docs/trace-format.md
// defines it. Tests compare it as text: each chunk's kind, its thread, and its contents in
// hexadecimal.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/reftrace.h"
#include "engine/spool/fds.h"
#include "engine/spool/log.h"
#include "engine/spool/spooler.h"
#include "tests/unit/thread/waiter.h"

#define MAPS ((struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF))

// -- fakes of what reftrace.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
static const char *texts[] = { "", "prog a b", "%p.refs", "/bin/prog", "one.refs" };
static char folder[] = "/tmp/quern-reftrace-XXXXXX";
static char names[4][64]; // of files, in the order in which they are made
static u32 files, left;   // how many; how often a child left the parent's
static bool shared, closed, too_long;
static int trace_fd = -1;

const char *spooler_string(u32 offset)
{
    return texts[offset];
}

bool log_is_own(const char *name)
{
    return strchr(name, '%') != NULL;
}

bool log_path(char *to, u64 size, const char *name)
{
    (void)name;
    snprintf(names[files], sizeof(names[0]), "%s/%u", folder, files);
    assert_true(size > strlen(names[files]));
    memset(to, 'x', size);
    strcpy(to, names[files]);
    files += !too_long;
    return !too_long;
}

void fds_set_trace(int fd)
{
    trace_fd = fd;
}

int fds_trace(void)
{
    return closed ? -1 : trace_fd;
}

void fds_leave_trace(bool is_shared)
{
    shared = is_shared;
    left++;
    close(trace_fd);
    trace_fd = -1;
}

// -- helpers of the tests --

static struct thread a = { .slot = 0 }, b = { .slot = 3 };
static u32 numbers, before_a; // of threads so far; before the current test
static char told[256];
static int messages[2]; // a pipe, which has no limit on the size of files

static const char *message(void)
{
    ssize_t n = read(messages[0], told, sizeof(told) - 1);
    const char *behind_pid;

    told[n > 0 ? n : 0] = '\0';
    behind_pid = strchr(told, ' ');
    return behind_pid ? behind_pid + 1 : "";
}

static int setup(void **state)
{
    (void)state;
    reftrace_on = false;
    reftrace_fork_child(false); // resets what the last test left
    reftrace_stop();
    memset(&header, 0, sizeof(header));
    header.s_cmd = 1;
    header.s_trace = 2;
    header.i1 = (struct spool_geometry){ .size = 0x100, .assoc = 2, .line = 32 };
    header.d1 = (struct spool_geometry){ .size = 0x200, .assoc = 4, .line = 64 };
    header.ll = (struct spool_geometry){ .size = 0x300, .assoc = 8, .line = 128 };
    if (trace_fd >= 0)
        close(trace_fd);
    for (u32 i = 0; i < 4; i++)
        unlink(names[i]);
    trace_fd = -1;
    files = left = 0;
    shared = closed = too_long = false;
    message();
    return 0;
}

static u8 content[0x40000];
static u64 size, header_size;

static void read_file(u32 number)
{
    FILE *f = fopen(names[number], "re");

    assert_non_null(f);
    size = fread(content, 1, sizeof(content), f);
    fclose(f);
    if (size >= sizeof(struct reftrace_header))
        header_size = ((struct reftrace_header *)(void *)content)->bytes;
}

static char text[4096];

// The chunks of a file, with thread numbers relative to this test; each chunk's offset is checked
// against the bytes before it.
static const char *chunks(u32 number)
{
    char *to = text;

    read_file(number);
    text[0] = '\0';
    for (u64 at = header_size; at < size;) {
        struct reftrace_chunk c;

        assert_true(at + sizeof(c) <= size);
        memcpy(&c, content + at, sizeof(c));
        assert_int_equal(c.reserved, 0);
        at += sizeof(c);
        assert_true(at + c.bytes <= size);
        to += sprintf(to, "%.4s%u", (const char *)&c.kind, c.thread ? c.thread - before_a : 0);
        if (c.bytes > 64)
            to += sprintf(to, "(%u)", c.bytes);
        for (u32 i = 0; i < c.bytes && c.bytes <= 64; i++)
            to += sprintf(to, "%s%02x", i ? " " : ":", content[at + i]);
        to += sprintf(to, "\n");
        at += c.bytes;
    }
    return text;
}

// A mapping, as chunks() shows it; its path is /bin/prog or empty.
static const char *map_text(u8 start, u8 last, u8 offset, bool has_path)
{
    static char one[2][256];
    static u32 which;
    char *to = one[which ^= 1];

    sprintf(to,
            "MAPS0:%02x 00 00 00 00 00 00 00 %02x 00 00 00 00 00 00 00 "
            "%02x 00 00 00 00 00 00 00%s\n",
            start, last, offset, has_path ? " 2f 62 69 6e 2f 70 72 6f 67" : "");
    return one[which];
}

static char expected_maps[1024];

static void expect(const char *chunk)
{
    strcat(expected_maps, chunk);
}

static void assert_header(u32 number, u32 flags, const char *parent, u64 parent_end)
{
    struct reftrace_header h;

    read_file(number);
    assert_true(size >= sizeof(h));
    memcpy(&h, content, sizeof(h));
    assert_memory_equal(&h.magic, "QURREFS1", 8);
    assert_int_equal(h.version, 1);
    assert_int_equal(h.order, 0x01020304);
    assert_int_equal(h.flags, flags);
    assert_memory_equal(&h.i1, ((u32[]){ 0x100, 2, 32, 0x200, 4, 64, 0x300, 8, 128 }), 36);
    assert_int_equal(h.pid, getpid());
    assert_int_equal(h.parent_end, parent_end);
    assert_int_equal(h.command_bytes, 8);
    assert_int_equal(h.parent_bytes, strlen(parent));
    assert_int_equal(h.bytes, 88 + strlen(parent));
    assert_memory_equal(content + 80, "prog a b", 8);
    assert_memory_equal(content + 88, parent, strlen(parent));
}

static void thread_begins(struct thread *t)
{
    reftrace_thread_init(t);
    numbers++;
}

static void begin(void)
{
    reftrace_init();
    assert_true(reftrace_on);
    before_a = numbers;
    thread_begins(&a);
    reftrace_begin(&a);
}

// A thread that has the turn cannot.
static void flush(void)
{
    reftrace_end(&a);
    reftrace_flush();
    reftrace_begin(&a);
}

static const char *end(void)
{
    reftrace_end(&a);
    reftrace_ends();
    return chunks(0);
}

static void test_header(void **state)
{
    (void)state;
    reftrace_init();
    assert_true(reftrace_on);
    assert_header(0, 0, "", 0);
    assert_int_equal(size, 88);
    header.flags = SPOOL_F_REP_CACHEGRIND;
    reftrace_init();
    assert_header(1, REFTRACE_F_REP_CACHEGRIND, "", 0);
    header.flags = SPOOL_F_SERIALIZE;
    reftrace_init();
    assert_header(2, REFTRACE_F_SERIALIZE, "", 0);
}

// Which program gets a file: after exec only if the name has %p.
static void test_which_programs(void **state)
{
    (void)state;
    header.s_trace = 0;
    reftrace_init();
    header.s_trace = 4;
    header.flags = SPOOL_F_EXECED;
    reftrace_init();
    assert_false(reftrace_on);
    assert_int_equal(files, 0);
    header.s_trace = 2;
    reftrace_init();
    assert_true(reftrace_on);
    reftrace_stop();
    assert_false(reftrace_on);
    header.flags = 0;
    header.s_trace = 4;
    reftrace_init();
    assert_true(reftrace_on);
    assert_string_equal(message(), "");
}

static void test_no_file(void **state)
{
    char expected[128];

    (void)state;
    too_long = true;
    reftrace_init();
    assert_false(reftrace_on);
    assert_string_equal(message(),
                        "warning: %p.refs: the name is too long for a reference trace\n");
    too_long = false;
    snprintf(names[0], sizeof(names[0]), "%s/0", folder);
    assert_int_equal(sys_call2(SYS_mkdir, (u64)names[0], 0700), 0);
    reftrace_init();
    assert_false(reftrace_on);
    sys_call1(SYS_rmdir, (u64)names[0]);
    snprintf(expected, sizeof(expected),
             "warning: %s: cannot be made for the reference trace: error 21\n", names[0]);
    assert_string_equal(message(), expected);
    closed = true;
    reftrace_init();
    assert_false(reftrace_on);
    assert_string_equal(message(), "");
}

// When the trace is off nothing is written, and no thread waits for a turn.
static void test_off(void **state)
{
    (void)state;
    reftrace_thread_init(&a);
    reftrace_begin(&a);
    reftrace_fetch(1, 1, false);
    reftrace_at(5);
    reftrace_ref(REFTRACE_READ, 1, 1, true);
    reftrace_cond(1, true, false);
    reftrace_indirect(1);
    reftrace_again();
    reftrace_count_read();
    reftrace_end(&a);
    reftrace_code(0, 1);
    reftrace_take_back(&a, 0, 1);
    reftrace_step(&a, 0, 1);
    reftrace_history(&a, 1);
    reftrace_cleared();
    reftrace_zeroed();
    reftrace_flush();
    reftrace_ends();
    reftrace_fork_child(true);
    assert_int_equal(files, 0);
    assert_int_equal(left, 0);
    begin(); // nothing of the first trace is left
    assert_string_equal(end(), "END 0\n");
}

static void test_fetches(void **state)
{
    (void)state;
    begin();
    reftrace_fetch(0x40, 1, false);  // 0x40 forwards: 0x80, which has two bytes
    reftrace_fetch(0x41, 15, false); // follows the last one
    reftrace_fetch(0x50, 16, false);
    reftrace_fetch(0x60, 19, true);
    reftrace_fetch(0x72, 2, false); // one back
    assert_string_equal(end(), "REFS1:88 80 01 78 00 10 07 00 13 90 01\nEND 0\n");
}

// The byte has sizes that are a power of two up to 8192.
static void test_references(void **state)
{
    (void)state;
    begin();
    reftrace_ref(REFTRACE_READ, 3, 1, false);
    reftrace_ref(REFTRACE_WRITE, 2, 8, false);
    reftrace_ref(REFTRACE_MODIFY, 2, 8192, false);
    reftrace_ref(REFTRACE_READ, 2, 16384, false);
    reftrace_ref(REFTRACE_READ, 2, 10, true);
    reftrace_ref(REFTRACE_WRITE, ~0ul, 0, false);
    assert_string_equal(
        end(), "REFS1:09 06 22 01 73 00 01 80 80 01 00 07 01 0a 00 02 00 05\nEND 0\n");
}

static void test_branches(void **state)
{
    (void)state;
    begin();
    reftrace_fetch(0x10, 2, false);
    reftrace_cond(0x10, true, false);
    reftrace_cond(0x10, false, true);
    reftrace_cond(0xf, true, false);
    reftrace_indirect(0x8);
    reftrace_again();
    reftrace_count_read();
    reftrace_at(0x10); // pc is 0x10 already
    reftrace_at(0x13);
    reftrace_cond(0x13, false, false);
    reftrace_fetch(0x13, 1, false); // `next` is what reftrace_at() said, not 0x12
    assert_string_equal(
        end(), "REFS1:90 20 0c 07 04 8c 01 05 0f 06 1f 17 06 04 08\nEND 0\n");
}

// Events of a thread that does not have the turn.
static void test_aside(void **state)
{
    (void)state;
    begin();
    expected_maps[0] = '\0';
    MAPS[0] = (struct spool_map){ .start = 1, .end = 0x80 };
    reftrace_end(&a);
    reftrace_take_back(&a, 0, 0x7f);
    reftrace_step(&a, 0, 2);
    reftrace_history(&a, 0x4000);
    reftrace_begin(&a);
    expect(map_text(1, 0x80, 0, false));
    expect("REFS1:0f fe 01 17 04 06 27 80 80 01\nEND 0\n");
    assert_string_equal(end(), expected_maps);
}

// A full chunk is written, and the next one continues; each starts with addresses of 0. An item of
// three bytes: 21,835 of them, with the first instruction's, are 65,508 bytes, and a chunk must
// have space for 32 more.
static void test_full(void **state)
{
    u32 i;

    (void)state;
    begin();
    reftrace_fetch(0x10, 2, false);
    for (i = 0; i < 21834; i++)
        reftrace_ref(REFTRACE_READ, i & 1 ? 0 : 0x1000, 8, false); // 2 bytes of address
    assert_string_equal(chunks(0), "");
    flush();
    assert_string_equal(chunks(0), "REFS1(65504)\n");
    reftrace_fetch(0x10, 2, false);
    for (i = 0; i < 21835; i++)
        reftrace_ref(REFTRACE_READ, i & 1 ? 0 : 0x1000, 8, false);
    reftrace_ref(REFTRACE_READ, 0x2000, 8, false);
    assert_string_equal(chunks(0), "REFS1(65504)\nREFS1(65507)\n");
    assert_string_equal(end(), "REFS1(65504)\nREFS1(65507)\n"
                               "REFS1:17 20 21 80 80 01\nEND 0\n");
}

// Threads are numbered from 1; a chunk belongs to one thread; turns may be nested.
static void test_turns(void **state)
{
    (void)state;
    begin();
    thread_begins(&b);
    reftrace_again();
    reftrace_begin(&a);
    reftrace_end(&b); // it does not have the turn
    reftrace_end(&a);
    reftrace_again();
    reftrace_end(&a);
    reftrace_begin(&b);
    reftrace_again();
    reftrace_end(&b);
    reftrace_begin(&a);
    reftrace_again();
    assert_string_equal(end(), "REFS1:06 06\nREFS2:06\nREFS1:06\nEND 0\n");
}

static void turn(void)
{
    reftrace_begin(&b);
    reftrace_end(&b);
}

static void test_waits(void **state)
{
    (void)state;
    begin();
    thread_begins(&b);
    reftrace_begin(&a);
    assert_true(waiter_waits(turn));
    reftrace_end(&a);
    assert_int_equal(waiter.done, 0);
    reftrace_end(&a);
    waiter_end();
    assert_false(waiter_waits(turn));
    waiter_end();
    assert_false(waiter_waits(reftrace_flush));
    waiter_end();
    assert_false(waiter_waits(reftrace_ends));
    waiter_end();
    assert_false(waiter_waits(turn));
    waiter_end();
}

static void test_marks(void **state)
{
    (void)state;
    begin();
    reftrace_again();
    reftrace_cleared();
    reftrace_zeroed();
    reftrace_again();
    assert_string_equal(end(), "REFS1:06\nCLAR0\nZERO0\nREFS1:06\nEND 0\n");
}

static void executed(u32 map, u64 pc)
{
    reftrace_code(map, pc);
    reftrace_again();
}

// A mapping is written once, before the first chunk with code of it.
static void test_maps(void **state)
{
    (void)state;
    begin();
    expected_maps[0] = '\0';
    MAPS[0] = (struct spool_map){ .start = 0x11, .end = 0x22, .offset = 0x33, .path = 3 };
    MAPS[1] = (struct spool_map){ .start = 0x44, .end = 0x55 };
    MAPS[2] = (struct spool_map){ .start = 0x55, .end = 0x66 };
    flush();
    assert_string_equal(chunks(0), "");
    executed(0, 0x11);
    executed(2, 0x55);
    executed(0, 0x21);
    executed(1, 0x54); // beside the others
    executed(0, 0x11);
    executed(2, 0x55);
    expect(map_text(0x11, 0x22, 0x33, true));
    expect("REFS1:06\n");
    expect(map_text(0x55, 0x66, 0, false));
    expect("REFS1:06 06\n");
    expect(map_text(0x44, 0x55, 0, false));
    expect("REFS1:06 06 06\nEND 0\n");
    assert_string_equal(end(), expected_maps);
    assert_string_equal(message(), "");
}

// It is written again where another file is in its place, and only there.
static void test_maps_replaced(void **state)
{
    (void)state;
    begin();
    expected_maps[0] = '\0';
    MAPS[0] = (struct spool_map){ .start = 0x10, .end = 0x40, .offset = 0x50, .path = 3 };
    MAPS[1] = (struct spool_map){ .start = 0x20, .end = 0x30, .offset = 0x60 }; // another file
    MAPS[2] = (struct spool_map){ .start = 0x38, .end = 0x40, .offset = 0x78, .path = 3 }; // a part
    MAPS[3] = (struct spool_map){ .start = 0x12, .end = 0x14, .offset = 0x52 };
    executed(0, 0x10);
    executed(1, 0x20);
    executed(3, 0x12);
    expect(map_text(0x10, 0x40, 0x50, true));
    expect("REFS1:06\n");
    expect(map_text(0x20, 0x30, 0x60, false));
    expect("REFS1:06\n");
    expect(map_text(0x12, 0x14, 0x52, false));
    expect("REFS1:06");
    executed(0, 0x1f); // still there, to both sides of both
    executed(0, 0x14);
    executed(0, 0x11);
    executed(0, 0x30);
    executed(0, 0x3f);
    executed(1, 0x2f);
    executed(0, 0x1f);
    expect(" 06 06 06 06 06 06 06\n");
    executed(0, 0x20); // in the middle
    expect(map_text(0x10, 0x40, 0x50, true));
    expect("REFS1:06");
    executed(0, 0x2f);
    expect(" 06\n");
    executed(2, 0x38); // the same file: the first one is not hidden
    expect(map_text(0x38, 0x40, 0x78, true));
    expect("REFS1:06");
    executed(0, 0x38);
    expect(" 06\n");
    executed(1, 0x2f);
    expect(map_text(0x20, 0x30, 0x60, false));
    expect("REFS1:06");
    executed(0, 0x39); // hidden, but by its own file here
    expect(" 06\n");
    executed(0, 0x2f);
    expect(map_text(0x10, 0x40, 0x50, true));
    expect("REFS1:06\n");
    reftrace_end(&a);
    reftrace_step(&a, 3, 0x13);
    reftrace_take_back(&a, 0, 0x13);
    reftrace_begin(&a);
    expect(map_text(0x12, 0x14, 0x52, false));
    expect("REFS1:17 26 06\n");
    expect(map_text(0x10, 0x40, 0x50, true));
    expect("REFS1:0f 26\nEND 0\n");
    assert_string_equal(end(), expected_maps);
    // A trace of its own knows none.
    begin();
    executed(2, 0x38);
    reftrace_end(&a);
    reftrace_ends();
    expected_maps[0] = '\0';
    expect(map_text(0x38, 0x40, 0x78, true));
    expect("REFS1:06\nEND 0\n");
    assert_string_equal(chunks(1), expected_maps);
}

// A child continues its parent's file from the parent's last flush; with one profile for all
// processes, none of the counts so far are its own.
static void test_fork(void **state)
{
    u64 end_of_parent;

    (void)state;
    begin();
    reftrace_again();
    reftrace_end(&a);
    reftrace_flush();
    end_of_parent = 88 + 16 + 1;
    reftrace_begin(&a); // another thread of the parent has the turn
    reftrace_fork_child(true);
    assert_true(reftrace_on);
    assert_int_equal(left, 1);
    assert_true(shared);
    assert_header(1, 0, names[0], end_of_parent);
    assert_false(waiter_waits(turn));
    waiter_end();
    header.flags = SPOOL_F_MERGE;
    reftrace_fork_child(false);
    assert_false(shared);
    assert_header(2, 0, names[1], 88 + strlen(names[0]));
    assert_string_equal(chunks(2), "ZERO0\n");
    header.s_trace = 4; // only the parent has this file
    reftrace_fork_child(false);
    assert_false(reftrace_on);
    assert_int_equal(left, 3);
    assert_int_equal(files, 3);
}

// After a write error the file ends with a whole chunk, and one message says so.
static void test_full_file(void **state)
{
    struct k_rlimit before;
    char expected[256];

    (void)state;
    begin();
    reftrace_again();
    flush();
    sys_prlimit(RLIMIT_FSIZE, NULL, &before);
    sys_prlimit(RLIMIT_FSIZE, &(struct k_rlimit){ 105 + 17, before.max }, NULL);
    reftrace_again();
    flush(); // up to the last byte allowed
    assert_string_equal(chunks(0), "REFS1:06\nREFS1:06\n");
    assert_string_equal(message(), "");
    reftrace_again();
    flush();
    sys_prlimit(RLIMIT_FSIZE, &before, NULL);
    assert_false(reftrace_on);
    assert_string_equal(chunks(0), "REFS1:06\nREFS1:06\n");
    snprintf(expected, sizeof(expected),
             "warning: %s: the reference trace ends here, the limit on the size of files is "
             "reached (ulimit -f) (error 27); the profile goes on\n",
             names[0]);
    assert_string_equal(message(), expected);
    reftrace_end(&a);
}

static void test_closed(void **state)
{
    char expected[256];

    (void)state;
    begin();
    reftrace_again();
    closed = true;
    flush();
    assert_false(reftrace_on);
    snprintf(expected, sizeof(expected),
             "warning: %s: the reference trace ends here, the program has closed it (error 9); the "
             "profile goes on\n",
             names[0]);
    assert_string_equal(message(), expected);
    reftrace_end(&a);
}

static int first(void **state)
{
    (void)state;
    assert_int_equal(sys_mmap((u64)MAPS, PAGE_SIZE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     (u64)MAPS);
    assert_int_equal(sys_call2(SYS_pipe2, (u64)messages, O_NONBLOCK), 0);
    engine_log_fd = messages[1];
    return !mkdtemp(folder);
}

static int last(void **state)
{
    setup(state);
    return (int)sys_call1(SYS_rmdir, (u64)folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_header, setup),
        cmocka_unit_test_setup(test_which_programs, setup),
        cmocka_unit_test_setup(test_no_file, setup),
        cmocka_unit_test_setup(test_off, setup),
        cmocka_unit_test_setup(test_fetches, setup),
        cmocka_unit_test_setup(test_references, setup),
        cmocka_unit_test_setup(test_branches, setup),
        cmocka_unit_test_setup(test_aside, setup),
        cmocka_unit_test_setup(test_full, setup),
        cmocka_unit_test_setup(test_turns, setup),
        cmocka_unit_test_setup(test_waits, setup),
        cmocka_unit_test_setup(test_marks, setup),
        cmocka_unit_test_setup(test_maps, setup),
        cmocka_unit_test_setup(test_maps_replaced, setup),
        cmocka_unit_test_setup(test_fork, setup),
        cmocka_unit_test_setup(test_full_file, setup),
        cmocka_unit_test_setup(test_closed, setup),
    };

    return cmocka_run_group_tests_name("count/reftrace", tests, first, last);
}
