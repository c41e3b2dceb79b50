// SPDX-License-Identifier: MIT
// engine/syscalls/counting.c: switching counting, zeroing, and parts of the profile. The log of the
// fakes is a string: `<` and `>` the world stopped and resumed, `l` records drained, `b` and `e` a
// thread's calls begun and ended, `f` fragments flushed, `L` the log, `c` caches emptied, `r0` and
// `r1` stubs that record or not, `z` a zero in the trace, `k` a thread's time kept, `C` calls
// zeroed, `o` saved call stacks zeroed, `d` a part written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/contexts.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/caches.h"
#include "engine/count/reftrace.h"
#include "engine/count/vtsc.h"
#include "engine/process/finisher.h"
#include "engine/process/fork.h"
#include "engine/replay/recordbuf.h"
#include "engine/spool/config.h"
#include "engine/spool/copy.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/counting.h"
#include "engine/thread/stopworld.h"
#include "tests/unit/objects/objects_none.h"

#define COUNTERS(slot) ((u64 *)(THREAD_AREA_BASE + (slot) * THREAD_AREA_STRIDE + TA_COUNTERS))
#define PARTIAL        ((struct spool_partial *)(SPOOLER_BASE + SPOOL_PARTIAL_OFF))

// -- fakes of what counting.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;
void (*fork_on_child)(void);
long (*functions_demangle)(const char *names, u64 bytes);

static struct thread thread[2];
static struct thread *const t = &thread[0];
static char asked[256];
static bool lost;
static u32 sinks; // counters that were asked for
static u64 blocks[32];
static struct spool_edge edge[2];
static char output[128], desc[128]; // of the part
static int copied, dumped;          // what the copy and the finisher answer
static char path[] = "/tmp/quern-counting-XXXXXX"; // of the copy

static void note(const char *what)
{
    strcat(asked, what);
}

void stopworld_stop(struct thread *of)
{
    assert_ptr_equal(of, t);
    note("<");
}

void stopworld_resume(struct thread *of)
{
    assert_ptr_equal(of, t);
    note(">");
}

void recordbuf_drain_all(s32 stopped)
{
    assert_int_equal(stopped, 0);
    note("l");
}

void recordbuf_flush(void)
{
    note("L");
}

void tcache_flush_all(void)
{
    note("f");
}

void caches_clear(void)
{
    note("c");
}

void config_count(bool on)
{
    tb_config.counts = on;
}

void stubs_record(bool on)
{
    note(on ? "r1" : "r0");
}

void calls_thread_start(struct thread *of)
{
    of->calls_end = 0;
    note("b");
}

void calls_thread_end(struct thread *of)
{
    (void)of;
    note("e");
}

struct calls_kept calls_keep(const u64 *counters)
{
    return (struct calls_kept){ counters[6], 1 };
}

void calls_zero(u64 *counters, u32 slot, struct calls_kept kept)
{
    assert_int_equal(kept.late, 1);
    assert_ptr_equal(counters, COUNTERS(slot));
    assert_int_equal(counters[6], 0);
    counters[6] = kept.top;
    note("C");
}

void calls_zero_left(void)
{
    note("o");
}

void reftrace_zeroed(void)
{
    note("z");
}

void vtsc_before_clear(struct thread *of)
{
    (void)of;
    note("k");
}

bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    if (addr != 0x7000)
        return false;
    out->end = 0x9000;
    return true;
}

struct thread *threads_first(void)
{
    return &thread[0];
}

// Counters 3 and 4 are not counts, but a thread's state.
bool contexts_state(u32 i, u64 *first, u64 *end)
{
    *first = 3;
    *end = 5;
    return i == 0;
}

u32 spooler_counters(u32 n)
{
    assert_int_equal(n, 1);
    sinks++;
    return 42;
}

bool spooler_is_lost(void)
{
    return lost;
}

bool spooler_slot_in_use(u32 slot)
{
    return slot != 1;
}

struct spool_block *spooler_block_at(u32 index)
{
    return (struct spool_block *)(void *)&blocks[index];
}

struct spool_edge *spooler_edge_at(u32 index)
{
    return &edge[index];
}

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 9);
    return "out";
}

int copy_for_dump(const char *of, const char *with, char *to, u64 size)
{
    strcpy(output, of);
    strcpy(desc, with);
    assert_int_equal(size, 4096);
    if (copied < 0)
        return copied;
    strcpy(to, path);
    copied = (int)sys_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return copied;
}

int finisher_dump(int fd)
{
    assert_int_equal(fd, copied);
    note("d");
    for (u64 i = 0; i < SPOOL_DUMPED; i++) { // the finisher leaves 1, 2, 3... in the copy
        u64 n = i + 1;

        sys_pwrite(fd, &n, sizeof(n), offsetof(struct spool_header, dumped) + i * sizeof(n));
    }
    return dumped;
}

long finisher_demangle(const char *at, u64 bytes)
{
    (void)at;
    return (long)bytes;
}

// -- helpers of the tests --

static int messages[2];

static const char *message(void)
{
    static char told[512];
    ssize_t n = sys_read(messages[0], told, sizeof(told) - 1);
    const char *behind_pid;

    told[n > 0 ? n : 0] = '\0';
    behind_pid = strchr(told, ' ');
    return behind_pid ? behind_pid + 1 : "";
}

static const char *what_was_asked(void)
{
    static char last[sizeof(asked)];

    memcpy(last, asked, sizeof(last));
    memset(asked, 0, sizeof(asked));
    return last;
}

// Two threads in slots 0 and 2; slot 1 is unused, and nothing is mapped there.
static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    memset(asked, 0, sizeof(asked));
    memset(thread, 0, sizeof(thread));
    memset(edge, 0, sizeof(edge));
    thread[0].next = &thread[1];
    thread[1].slot = 2;
    tb_config = (struct tb_config){ .counts = true, .recording = true };
    fork_on_child = NULL;
    functions_demangle = NULL;
    lost = false;
    sinks = 0;
    copied = dumped = 0;
    header.threads_used = 3;
    header.counters_used = 10;
    header.s_output = 9;
    for (u32 i = 0; i < 12; i++)
        COUNTERS(0)[i] = COUNTERS(2)[i] = 100 + i;
    message();
    return 0;
}

static void test_start(void **state)
{
    (void)state;
    counting_init();
    assert_int_equal(header.control.counts, 1);
    assert_int_equal(header.control.hears, 1);
    assert_null(fork_on_child);
    assert_ptr_equal(functions_demangle, finisher_demangle);
    assert_true(tb_config.counts);
    header.flags = SPOOL_F_MERGE;
    counting_init();
    assert_null(fork_on_child);
    header.flags = SPOOL_F_CALLS;
    counting_init();
    assert_null(fork_on_child);
    header.flags = SPOOL_F_MERGE | SPOOL_F_CALLS;
    counting_init();
    assert_non_null(fork_on_child);
    assert_string_equal(what_was_asked(), "");
    header.flags = SPOOL_F_NOT_AT_START;
    counting_init();
    assert_false(tb_config.counts);
    assert_int_equal(header.control.counts, 0);
    assert_int_equal(header.control.hears, 1);
    assert_int_equal(tb_config.sink, 42);
    assert_string_equal(what_was_asked(), "r0");
}

// Off and on: open calls end with their counts, and start again in the thread's function.
static void test_switch(void **state)
{
    (void)state;
    counting_switch(t, true);
    assert_string_equal(what_was_asked(), "<>");
    counting_switch(t, false);
    assert_string_equal(what_was_asked(), "<leer0fL>");
    assert_int_equal(header.control.counts, 0);
    assert_int_equal(tb_config.sink, 42);
    counting_switch(t, false);
    assert_string_equal(what_was_asked(), "<>");
    thread[0].regs[R_RSP] = 0x7000;
    thread[1].calls_end = 5;
    counting_switch(t, true);
    assert_string_equal(what_was_asked(), "<lr1fLbb>");
    assert_int_equal(header.control.counts, 1);
    assert_int_equal(thread[0].calls_end, 0x9000);
    assert_int_equal(thread[1].calls_end, 0); // where its stack ends is not known
    assert_int_equal(sinks, 1);
    assert_string_equal(message(), "");
    header.flags = SPOOL_F_CALLS | SPOOL_F_VERBOSE; // as Callgrind, in empty caches
    tb_config.recording = false;
    counting_switch(t, false);
    assert_string_equal(what_was_asked(), "<leefLc>");
    assert_string_equal(message(), "counting is switched off\n");
    counting_switch(t, true);
    assert_string_equal(message(), "counting is switched on\n");
}

// Counters become 0, except a thread's state, the owner, and the counters of --calls that are kept.
static void test_zero(void **state)
{
    static const u64 left[] = { 0, 0, 0, 103, 104, 0, 106, 0, 0, 0, 110, 111 };

    (void)state;
    header.partial_used = 1;
    PARTIAL[0].count = PARTIAL[1].count = 7;
    counting_zero(t);
    assert_string_equal(what_was_asked(), "<lzkkCCo>");
    assert_memory_equal(COUNTERS(0), left, sizeof(left));
    assert_memory_equal(COUNTERS(2), left, sizeof(left));
    assert_int_equal(PARTIAL[0].count, 0);
    assert_int_equal(PARTIAL[1].count, 7);
    header.owner = 8;
    COUNTERS(0)[8] = 200;
    counting_zero(t);
    assert_int_equal(COUNTERS(0)[8], 200);
    assert_int_equal(COUNTERS(2)[8], 0);
}

// Executed blocks so far: one of two instructions, and the sum of three blocks; with contexts also
// the accounts.
static void test_blocks(void **state)
{
    u64 words = (sizeof(struct spool_block) + 2 * sizeof(struct spool_insn) + 7) / 8, sum;

    (void)state;
    *spooler_block_at(0) = (struct spool_block){ .counter = 0, .insns = 2 };
    *spooler_block_at((u32)words) =
        (struct spool_block){ .counter = 1, .insns = 3, .flags = SPOOL_B_SUM };
    header.blocks_used = words * 8 + sizeof(struct spool_block) + 3 * sizeof(struct spool_insn);
    edge[0] = (struct spool_edge){ .kind = SPOOL_EDGE_ACCOUNT, .counter = 2 };
    edge[1] = (struct spool_edge){ .kind = SPOOL_EDGE_ACCOUNT + 1, .counter = 7 };
    header.edges_used = 2;
    sum = 2 * (100 + 3 * 101);
    counting_zero(t);
    assert_int_equal(header.n_blocks_gone, sum);
    counting_zero(t);
    assert_int_equal(header.n_blocks_gone, sum);
    tb_config.contexts = true;
    COUNTERS(0)[0] = 5;
    COUNTERS(2)[2] = 6;
    COUNTERS(2)[7] = 1000;
    counting_zero(t);
    assert_int_equal(header.n_blocks_gone, sum + 11);
    assert_int_equal(header.n_blocks_dumped, 0);
}

static void test_parts(void **state)
{
    (void)state;
    assert_int_equal(counting_dump(t, "why"), 0);
    assert_string_equal(what_was_asked(), "<ldzkkCCo>");
    assert_string_equal(output, "out.1");
    assert_string_equal(desc, "Trigger: why");
    assert_int_equal(header.dumps, 1);
    assert_int_equal(header.n_blocks_dumped, header.n_blocks_gone);
    assert_int_equal(sys_fcntl(copied, F_GETFD, 0), -EBADF);
    assert_int_equal(sys_unlink(path), 0); // the finisher has it
    assert_int_equal(counting_dump(t, "once more"), 0);
    assert_string_equal(output, "out.2");
    header.flags = SPOOL_F_COMBINE;
    assert_int_equal(counting_dump(t, "and"), 0);
    assert_string_equal(output, "out");
    assert_int_equal(header.dumps, 3);
    for (u64 i = 0; i < SPOOL_DUMPED; i++)
        assert_int_equal(header.dumped[i], 3 * (i + 1));
    assert_int_equal(sys_unlink(path), 0);
    assert_string_equal(message(), "");
}

// A part that cannot be written: the counts stay, the copy is removed, and a message is printed.
static void test_no_part(void **state)
{
    (void)state;
    dumped = -ENOSPC;
    assert_int_equal(counting_dump(t, "why"), -ENOSPC);
    assert_string_equal(what_was_asked(), "<ld>");
    assert_string_equal(message(), "warning: part 1 of the profile cannot be written: error 28\n");
    assert_int_equal(sys_fcntl(copied, F_GETFD, 0), -EBADF);
    assert_int_equal(sys_unlink(path), -ENOENT);
    assert_int_equal(header.dumps, 0);
    assert_int_equal(COUNTERS(0)[0], 100);
    assert_int_equal(header.dumped[0], 0);
    copied = -EMFILE;
    assert_int_equal(counting_dump(t, "why"), -EMFILE);
    assert_string_equal(what_was_asked(), "<l>");
    message();
    lost = true;
    assert_int_equal(counting_dump(t, "why"), -EINVAL);
    lost = false;
    header.flags = SPOOL_F_STAT;
    assert_int_equal(counting_dump(t, "why"), -EINVAL);
    assert_string_equal(what_was_asked(), "");
    assert_string_equal(message(), "");
}

static int first(void **state)
{
    const u64 pages[] = { (u64)COUNTERS(0), (u64)COUNTERS(2), (u64)PARTIAL };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(pages); i++) {
        if (sys_mmap(pages[i], PAGE_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (long)pages[i])
            return -1;
    }
    if (sys_call2(SYS_pipe2, (u64)messages, O_NONBLOCK))
        return -1;
    engine_log_fd = messages[1];
    sys_close(mkstemp(path));
    return (int)sys_unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_start, setup),  cmocka_unit_test_setup(test_switch, setup),
        cmocka_unit_test_setup(test_zero, setup),   cmocka_unit_test_setup(test_blocks, setup),
        cmocka_unit_test_setup(test_parts, setup),  cmocka_unit_test_setup(test_no_part, setup),
    };

    return cmocka_run_group_tests_name("syscalls/counting", tests, first, NULL);
}
