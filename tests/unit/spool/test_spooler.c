// SPDX-License-Identifier: MIT
// engine/spool/spooler.c and engine/spool/fds.c on real files: appended data is in the file, at the
// offsets of share/spool.h, as another process reads it; areas grow beyond what is mapped at first;
// a forked child has the counts so far in its own file, and its further counts are not its
// parent's.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/spool/copy.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

static char folder[] = "/tmp/quern-spooler.XXXXXX";
static char path[300];

// The file as it is, through another descriptor.
static void in_file(const char *name, void *buf, size_t n, uint64_t off)
{
    int fd = open(name, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, buf, n, (off_t)off), n);
    close(fd);
}

static struct spool_header header_of(const char *name)
{
    struct spool_header h;

    in_file(name, &h, sizeof(h), 0);
    return h;
}

static int start(void **state)
{
    struct spool_header h = { .magic = SPOOL_MAGIC, .version = SPOOL_VERSION, .text_used = 1 };
    char text[600] = "";
    int fd;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/quern.spool.1", folder);
    h.s_spool = (uint32_t)h.text_used;
    h.text_used += (uint64_t)sprintf(text + h.text_used, "%s", path) + 1;
    h.s_spool_dir = (uint32_t)h.text_used;
    h.text_used += (uint64_t)sprintf(text + h.text_used, "%s", folder) + 1;
    h.log_fd = 2;
    h.flags = SPOOL_F_CACHE_SIM;
    h.pid = 1;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || pwrite(fd, &h, sizeof(h), 0) != sizeof(h) ||
        pwrite(fd, text, sizeof(text), SPOOL_TEXT_OFF) != sizeof(text))
        return -1;
    spooler_map(fd);
    fds_init(fd, 2);
    return 0;
}

static int finish(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void descriptors(void **state)
{
    int spool_fd = fds_spool(), log_fd = engine_log_fd;

    (void)state;
    assert_true(spool_fd >= 1000 && log_fd >= 1000);
    assert_true(fds_is_ours(spool_fd) && fds_is_ours(log_fd));
    assert_false(fds_is_ours(2) || fds_is_ours(-1));
    assert_int_equal(fcntl(spool_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(log_fd, F_GETFD), FD_CLOEXEC);
    fds_keep_over_exec(true);
    assert_int_equal(fcntl(spool_fd, F_GETFD), 0);
    assert_int_equal(fcntl(log_fd, F_GETFD), 0);
    fds_keep_over_exec(false);
    assert_int_equal(fcntl(log_fd, F_GETFD), FD_CLOEXEC);

    // The engine gives up a number that the client wants.
    assert_int_equal(fds_evict(log_fd), 0);
    assert_int_not_equal(engine_log_fd, log_fd);
    assert_int_equal(fcntl(log_fd, F_GETFD), -1);
    assert_int_equal(fcntl(engine_log_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fds_evict(5), 0);

    // It is not opened again while it is open, even if its name is gone or leads to another file.
    u32 name = spool->s_spool;
    spool->s_spool = 0;
    assert_int_equal(spooler_fd(), fds_spool());
    spool->s_spool = name;
    assert_int_equal(spooler_fd(), fds_spool());
}

// A log of the program's own is moved, too, and its old number is the program's again.
static void log_moves(void **state)
{
    int status, dup_of_spool = dup(fds_spool()), log = open("/dev/null", O_WRONLY);
    pid_t pid = fork();

    (void)state;
    assert_true(log > 2);
    if (pid == 0) {
        fds_init(dup_of_spool, log);
        _exit(fcntl(log, F_GETFD) == -1 && fcntl(dup_of_spool, F_GETFD) == -1 &&
                      engine_log_fd >= 1000
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(dup_of_spool);
    close(log);
}

// Two threads append 1500 strings each: all of them are there, consecutively. (Without the lock,
// both would search for the string first and nearly always append at the same place.)
static u32 place[2][1500];

static void *append(void *arg)
{
    u32 which = *(u32 *)arg;

    for (u32 i = 0; i < 1500; i++) {
        char text[16];

        snprintf(text, sizeof(text), "%c%04u", 'a' + which, i);
        place[which][i] = spooler_text(text);
    }
    return NULL;
}

static void together(void **state)
{
    u64 before = spool->text_used;
    pthread_t thread[2];
    u32 which[] = { 0, 1 };

    (void)state;
    for (u32 k = 0; k < 2; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, append, &which[k]), 0);
    for (u32 k = 0; k < 2; k++)
        pthread_join(thread[k], NULL);
    assert_int_equal(spool->text_used, before + 2 * 1500 * 6);
    for (u32 k = 0; k < 2; k++) {
        for (u32 i = 0; i < 1500; i++) {
            char text[16];

            snprintf(text, sizeof(text), "%c%04u", 'a' + k, i);
            assert_string_equal(spooler_string(place[k][i]), text);
        }
    }
}

static void strings(void **state)
{
    char buf[10];

    (void)state;
    assert_int_equal(spooler_text(""), 0);
    assert_string_equal(spooler_string(0), "");
    u32 one = spooler_text("one"), two = spooler_text("two");
    assert_int_equal(spooler_text("one"), one);
    assert_int_not_equal(one, two);
    in_file(path, buf, 4, SPOOL_TEXT_OFF + two);
    assert_string_equal(buf, "two");
    assert_string_equal(spooler_string(spool->s_spool), path);
    // 1.6 MB, more than the 64 KiB that are mapped at first.
    for (int i = 0; i < 400; i++) {
        char big[4000];
        memset(big, 'x', sizeof(big));
        sprintf(big + 3990, "%d", i);
        assert_string_equal(spooler_string(spooler_text(big)), big);
    }
    assert_int_equal(spooler_text("two"), two);
}

static void mappings(void **state)
{
    struct spool_map m;
    u32 first = spooler_map_record(0x1000, 0x3000, 0x200, 7, 8, "/lib/x.so", SPOOL_MAP_DELETED,
                                   12345678901, 12345678902),
        last = 0;

    (void)state;
    for (u32 i = 1; i < 3000; i++)
        last = spooler_map_record(i * 0x1000, i * 0x1000 + 1, 0, 0, i, "", SPOOL_MAP_ANON, 0, 0);
    assert_int_equal(last, first + 2999);
    assert_int_equal(header_of(path).maps_used, first + 3000);
    in_file(path, &m, sizeof(m), SPOOL_MAPS_OFF + first * sizeof(m));
    assert_int_equal(m.start, 0x1000);
    assert_int_equal(m.end, 0x3000);
    assert_int_equal(m.offset, 0x200);
    assert_int_equal(m.dev, 7);
    assert_int_equal(m.ino, 8);
    assert_int_equal(m.flags, SPOOL_MAP_DELETED);
    assert_string_equal(spooler_string(m.path), "/lib/x.so");
    in_file(path, &m, sizeof(m), SPOOL_MAPS_OFF + last * sizeof(m));
    assert_int_equal(m.ino, 2999);
    assert_int_equal(m.path, 0);
}

static uint64_t *counters(u32 slot)
{
    return (uint64_t *)(THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE + TA_COUNTERS);
}

static uint64_t counter_in_file(const char *name, u32 slot, u64 counter)
{
    uint64_t v;

    in_file(name, &v, 8, SPOOL_THREADS_OFF + slot * SPOOL_THREAD_SIZE + counter * 8);
    return v;
}

static u32 executions[60000]; // of the blocks that the next test appends: their counters

// 60,000 blocks of 1 to 9 instructions with as many counters: 3.4 MB of blocks and 2.4 MB of
// counters, both past what is mapped at first. Slot 0 is there from the start, slot 5 from
// half-way.
static void blocks(void **state)
{
    struct spool_insn insns[9];
    static u32 own[60000];
    u64 offset = 0, counter = 0, next = 0, end = 0;
    u32 first;

    (void)state;
    assert_int_equal(spooler_thread_slot(0), 0);
    for (u32 i = 0; i < 9; i++)
        insns[i] = (struct spool_insn){ .len = (u8)(i + 1), .reads = (u8)i };
    for (u32 i = 0; i < 60000; i++) {
        u32 n = i % 9 + 1;
        if (i == 30000)
            assert_int_equal(spooler_thread_slot(5), 0);
        struct spool_block *b =
            spooler_block_append(i, i % 7, SPOOL_B_WRITABLE, i * 3, insns, n, n, &first);
        // 2048 consecutive execution counters, starting at a page boundary.
        own[i] = (u32)counter;
        counter += n - 1;
        if (next == end) {
            next = (counter + 511) / 512 * 512;
            counter = end = next + 2048;
        }
        executions[i] = (u32)next++;
        assert_int_equal(first, executions[i]);
        assert_int_equal(b->counter, executions[i]);
        assert_int_equal(b->own, own[i]);
        assert_int_equal(spooler_block_index(b) * 8, offset);
        assert_ptr_equal(spooler_block_at(spooler_block_index(b)), b);
        counters(0)[first] = i + 1;
        if (i >= 30000)
            counters(5)[first] = i + 2;
        offset += (24 + 4 * n + 7) / 8 * 8;
    }
    struct spool_header h = header_of(path);
    assert_int_equal(h.blocks_used, offset);
    assert_int_equal(h.counters_used, counter);
    assert_int_equal(h.block_count, 60000);
    assert_int_equal(h.threads_used, 6);
    offset = 0;
    for (u32 i = 0; i < 60000; i++) {
        u32 n = i % 9 + 1;
        if (i % 1000 == 17 || i == 59999) {
            struct {
                struct spool_block b;
                struct spool_insn insns[9];
            } r;
            in_file(path, &r, 24 + 4 * n, SPOOL_BLOCKS_OFF + offset);
            assert_int_equal(r.b.pc, i);
            assert_int_equal(r.b.map, i % 7);
            assert_int_equal(r.b.hash, i * 3);
            assert_int_equal(r.b.insns, n);
            assert_int_equal(r.b.counter, executions[i]);
            assert_int_equal(r.b.own, own[i]);
            assert_int_equal(r.insns[n - 1].len, n);
            assert_int_equal(counter_in_file(path, 0, executions[i]), i + 1);
            assert_int_equal(counter_in_file(path, 5, executions[i]), i >= 30000 ? i + 2 : 0);
        }
        offset += (24 + 4 * n + 7) / 8 * 8;
    }
    assert_true(spooler_owns((u64)counters(5)));
    assert_true(spooler_owns(SPOOLER_BASE));
    assert_false(spooler_owns((u64)counters(5) - 8));
    assert_false(spooler_owns((u64)&h));
    assert_int_equal(spooler_thread_slot(SPOOL_THREADS_MAX), -11);
    // The same slot again: its counts go on.
    assert_int_equal(spooler_thread_slot(5), 0);
    assert_int_equal(counters(5)[executions[59999]], 60001);
}

// Another run's blocks: the existing ones, then 30,000 blocks of one instruction with ten counters
// each: 4.4 MB and 4.8 MB, both more than is mapped. They can be counted in every slot, and no
// block of this run is one of them yet.
static void taken(void **state)
{
    struct spool_header before = header_of(path), h;
    u64 bytes = before.blocks_used + 30000 * 32, at = before.blocks_used;
    u8 *all = spooler_blocks_room(bytes);
    u32 first;

    (void)state;
    assert_ptr_equal(all, spooler_block_at(0));
    assert_null(spooler_blocks_room(SPOOL_BLOCKS_SIZE + 1));
    for (u64 i = 0; i < 30000; i++, at += 32) {
        struct spool_block b = { .pc = i,
                                 .counter = (u32)(before.counters_used + i * 10),
                                 .insns = 1,
                                 .flags = SPOOL_B_DORMANT,
                                 .hash = (u32)i };

        memset(all + at, 0, 32);
        memcpy(all + at, &b, sizeof(b));
    }
    assert_int_equal(header_of(path).blocks_used, before.blocks_used);
    spooler_blocks_take(bytes, before.counters_used + 300000);
    h = header_of(path);
    assert_int_equal(h.blocks_used, bytes);
    assert_int_equal(h.counters_used, before.counters_used + 300000);
    assert_int_equal(h.block_count, before.block_count);
    for (u64 i = 0; i < 30000; i += 29999) {
        struct spool_block b;

        in_file(path, &b, sizeof(b), SPOOL_BLOCKS_OFF + before.blocks_used + i * 32);
        assert_int_equal(b.pc, i);
        assert_int_equal(b.flags, SPOOL_B_DORMANT);
        assert_int_equal(b.counter, before.counters_used + i * 10);
        counters(5)[b.counter + 1] = 4711 + i;
        assert_int_equal(counter_in_file(path, 5, b.counter + 1), 4711 + i);
    }
    assert_int_equal(spooler_block_at(0)->insns, 1); // the first is the one that was there
    assert_int_equal(spooler_block_at(0)->flags, SPOOL_B_WRITABLE);
    // Further blocks are appended after them.
    struct spool_insn in = { .len = 1 };
    struct spool_block *b = spooler_block_append(1, 2, 0, 3, &in, 1, 1, &first);
    assert_int_equal(spooler_block_index(b) * 8ul, bytes);
    // The execution counters that were reserved before belong to the other run, too.
    assert_int_equal(first, (before.counters_used + 300000 + 511) / 512 * 512);
    assert_int_equal(b->own, before.counters_used + 300000);
    assert_int_equal(header_of(path).block_count, before.block_count + 1);
    // With contexts all counters of a block are contiguous.
    u64 used = header_of(path).counters_used;
    spool->flags |= SPOOL_F_CONTEXTS;
    b = spooler_block_append(2, 2, 0, 3, &in, 1, 4, &first);
    spool->flags &= ~(u64)SPOOL_F_CONTEXTS;
    assert_int_equal(first, used);
    assert_int_equal(b->own, used + 1);
    assert_int_equal(header_of(path).counters_used, used + 4);
}

// A mapping's record, by its number.
static void mapping_at(void **state)
{
    u32 first = spooler_map_record(0x7000, 0x8000, 0, 1, 2, "/lib/y.so", 0, 0, 0);
    u32 second = spooler_map_record(0x8000, 0x9000, 0, 1, 2, "/lib/y.so", SPOOL_MAP_VDSO, 0, 0);

    (void)state;
    assert_int_equal(second, first + 1);
    assert_int_equal(spooler_map_at(first)->start, 0x7000);
    assert_int_equal(spooler_map_at(second)->end, 0x9000);
    assert_int_equal(spooler_map_at(second)->flags, SPOOL_MAP_VDSO);
}

// A file that is mapped repeatedly, alone or alternating with another, has one record; any
// difference makes another record. Each mapping counts as a change.
static void mapped_again(void **state)
{
    const char *of = "/lib/again.so";
    u32 index[2] = { spooler_map_record(0xa000, 0xc000, 1, 2, 3, of, 0, 5, 6),
                     spooler_map_record(0xa000, 0xb000, 1, 2, 4, "/lib/z.so", 0, 5, 6) };
    u64 used = spool->maps_used, named = spooler_maps_named;

    (void)state;
    assert_int_equal(index[1], index[0] + 1);
    for (u32 i = 0; i < 200000; i++) {
        u32 got = i & 1 ? spooler_map_record(0xa000, 0xb000, 1, 2, 4, "/lib/z.so", 0, 5, 6)
                        : spooler_map_record(0xa000, 0xc000, 1, 2, 3, of, 0, 5, 6);

        if (got != index[i & 1])
            fail();
    }
    assert_int_equal(spool->maps_used, used);
    assert_int_equal(spooler_maps_named, named + 200000);
    spooler_map_record(0xa000, 0xd000, 1, 2, 3, of, 0, 5, 6);
    spooler_map_record(0x9000, 0xc000, 1, 2, 3, of, 0, 5, 6);
    spooler_map_record(0xa000, 0xc000, 0, 2, 3, of, 0, 5, 6);
    spooler_map_record(0xa000, 0xc000, 1, 1, 3, of, 0, 5, 6);
    spooler_map_record(0xa000, 0xc000, 1, 2, 9, of, 0, 5, 6);
    spooler_map_record(0xa000, 0xc000, 1, 2, 3, "/lib/other.so", 0, 5, 6);
    spooler_map_record(0xa000, 0xc000, 1, 2, 3, of, SPOOL_MAP_DELETED, 5, 6);
    spooler_map_record(0xa000, 0xc000, 1, 2, 3, of, 0, 4, 6);
    spooler_map_record(0xa000, 0xc000, 1, 2, 3, of, 0, 5, 7);
    assert_int_equal(spool->maps_used, used + 9);
}

// One record for each pair, however often; pairs that share a cache entry may have several, which
// add up.
static void partials(void **state)
{
    static struct spool_partial r[20000];
    u64 sum = 0, mine = 0;

    (void)state;
    for (u32 i = 0; i < 1000; i++)
        spooler_partial(77, 3, 0, 0);
    spooler_partial(77, 0, 0, 0); // nothing was executed
    struct spool_header h = header_of(path);
    assert_int_equal(h.partial_used, 1);
    in_file(path, r, sizeof(r[0]), SPOOL_PARTIAL_OFF);
    assert_int_equal(r[0].block, 77);
    assert_int_equal(r[0].insn, 3);
    assert_int_equal(r[0].count, 1000);
    for (u32 i = 0; i < 10000; i++) {
        spooler_partial(i, 1 + i % 5, 0, 0);
        spooler_partial(i, 1 + i % 5, 0, 0);
    }
    h = header_of(path);
    in_file(path, r, h.partial_used * sizeof(r[0]), SPOOL_PARTIAL_OFF);
    for (u64 i = 0; i < h.partial_used; i++) {
        sum += r[i].count;
        if (r[i].block == 5000 && r[i].insn == 1)
            mine += r[i].count;
    }
    assert_int_equal(sum, 1000 + 20000);
    assert_int_equal(mine, 2);
    // Threads, and contexts, have records of their own.
    u64 used = h.partial_used;
    for (u32 i = 0; i < 3; i++) {
        spooler_partial(20000, 2, 3, 4);
        spooler_partial(20000, 2, 5, 4);
        spooler_partial(20000, 2, 3, 6);
    }
    h = header_of(path);
    assert_int_equal(h.partial_used, used + 3);
    in_file(path, r, 3 * sizeof(r[0]), SPOOL_PARTIAL_OFF + used * sizeof(r[0]));
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(r[i].block, 20000);
        assert_int_equal(r[i].count, 3);
        assert_int_equal(r[i].slot, i == 1 ? 5 : 3);
        assert_int_equal(r[i].context, i == 2 ? 6 : 4);
    }
}

static void child_of(s32 parent, struct copy_fork *c, u64 late)
{
    char own[300], name[300];
    int old = fds_spool();

    copy_fork_child(c, parent, false);
    if (spooler_is_lost())
        _exit(1);
    // The parent's is closed; its number may be the child's own now.
    if ((old != fds_spool() && fcntl(old, F_GETFD) != -1) || fcntl(fds_spool(), F_GETFD) == -1)
        _exit(9);
    strcpy(own, spooler_string(spool->s_spool));
    if (!strcmp(own, path) || header_of(own).pid != getpid() ||
        header_of(own).parent_pid != parent || !(header_of(own).flags & SPOOL_F_FORKED))
        _exit(2);
    // Slot 5 counted 30002 in the block 30000.
    u64 counter = executions[30000];
    if (counter_in_file(own, 5, counter) != counter_in_file(path, 5, counter) ||
        !counters(5)[counter])
        _exit(3);
    if (counters(5)[counter + 1] != late) // of the block 30001
        _exit(10);
    snprintf(name, sizeof(name), "/quern.spool.%d", getpid());
    if (strcmp(strrchr(own, '/'), name) != 0)
        _exit(11);
    counters(5)[counter] += 1000000;
    u32 first;
    struct spool_insn in = { .len = 1 };
    spooler_block_append(0xabc, 0, 0, 0, &in, 1, 1, &first);
    if (counter_in_file(own, 5, counter) != counter_in_file(path, 5, counter) + 1000000)
        _exit(4);
    if (header_of(own).block_count != header_of(path).block_count + 1)
        _exit(5);
    struct stat st;
    if (stat(own, &st) || st.st_blocks * 512 > 9000000) // sparse: what is used, not 1 GiB
        _exit(6);
    spooler_drop();
    _exit(access(own, F_OK) == 0 ? 7 : access(path, F_OK) ? 8 : 0);
}

// The copy is made before the fork, and has no header until there is a child; or the child makes
// it. In both cases it has the counts up to the fork.
static void forked(void **state)
{
    u64 counter = executions[30000] + 1, before = header_of(path).block_count;
    pid_t pid, parent = getpid();
    struct copy_fork c;
    int status;

    (void)state;
    for (int i = 0; i < 4; i++) {
        u64 had = counters(5)[counter];
        bool early = i < 2;

        spool->flags = early ? spool->flags & ~(u64)SPOOL_F_LATE_COPY
                             : spool->flags | SPOOL_F_LATE_COPY;
        copy_fork_before(&c, i == 3);
        if (early) {
            assert_int_not_equal(access(c.path, F_OK), -1);
            assert_int_equal(header_of(c.path).version, 0);
        } else {
            assert_int_equal(c.fd, -1);
        }
        counters(5)[counter]++;
        pid = fork();
        if (pid == 0)
            child_of(parent, &c, early ? had : had + 1);
        copy_fork_parent(&c, true);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        if (early) {
            assert_int_equal(fcntl(c.fd, F_GETFD), -1);
            assert_int_equal(access(c.path, F_OK), -1);
        }
    }
    spool->flags &= ~(u64)SPOOL_F_LATE_COPY;
    copy_fork_before(&c, true); // descriptors in common
    assert_int_equal(c.fd, -1);
    copy_fork_before(&c, false);
    copy_fork_parent(&c, false); // no child
    assert_int_equal(fcntl(c.fd, F_GETFD), -1);
    assert_int_equal(access(c.path, F_OK), -1);
    assert_int_equal(header_of(path).block_count, before);
    assert_int_equal(fcntl(fds_spool(), F_GETFD), FD_CLOEXEC);
}

// A file size limit does not keep the spool from growing, and is in force again afterwards.
static void file_size_limit(void **state)
{
    struct rlimit low = { 1 << 20, RLIM_INFINITY }, old, now;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &old);
    low.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &low);
    assert_int_equal(spooler_thread_slot(9), 0);
    getrlimit(RLIMIT_FSIZE, &now);
    assert_int_equal(now.rlim_cur, 1 << 20);
    setrlimit(RLIMIT_FSIZE, &old);
    counters(9)[3] = 33;
    assert_int_equal(counter_in_file(path, 9, 3), 33);
}

static void for_exec(void **state)
{
    static char big[70000];
    const char *args[] = { "cmd", "with\nline", "", big, "end" };
    u64 argv[6] = { 0 };
    char own[300], cwd[300], text[71000];

    (void)state;
    memset(big, 'b', sizeof(big) - 1);
    for (int i = 0; i < 5; i++)
        argv[i] = (u64)args[i];
    spool->n_flush = 7;
    spool->n_slow_syscalls = 8;
    int fd = copy_for_exec("/bin/prog", argv, own, sizeof(own));
    assert_true(fd >= 0);
    struct spool_header h = header_of(own), mine = header_of(path);
    assert_int_equal(h.state, SPOOL_NEW);
    assert_true(h.flags & SPOOL_F_EXECED);
    assert_true(h.flags & SPOOL_F_CACHE_SIM);
    assert_int_equal(
        h.blocks_used | h.counters_used | h.maps_used | h.partial_used | h.threads_used, 0);
    assert_int_equal(h.n_flush | h.n_slow_syscalls | h.n_translated | h.edges_used, 0);
    assert_int_equal(h.s_spool_dir, mine.s_spool_dir);
    in_file(own, text, 300, SPOOL_TEXT_OFF + h.s_program);
    assert_string_equal(text, "/bin/prog");
    in_file(own, text, 300, SPOOL_TEXT_OFF + h.s_spool);
    assert_string_equal(text, own);
    in_file(own, text, 300, SPOOL_TEXT_OFF + h.s_cwd);
    assert_string_equal(text, getcwd(cwd, sizeof(cwd)));
    in_file(own, text, 70021, SPOOL_TEXT_OFF + h.s_cmd);
    assert_int_equal(strlen(text), strlen("cmd with line  ") + 69999 + strlen(" end"));
    assert_memory_equal(text, "cmd with line  bbb", 18);
    assert_string_equal(text + strlen(text) - 6, "bb end");
    assert_int_equal(h.text_used, h.s_cmd + strlen(text) + 1); // the last of the texts
    close(fd);
    unlink(own);
    int failed = copy_for_exec("/bin/prog", argv + 5, own, sizeof(own));
    assert_true(failed >= 0); // no arguments at all: an empty command
    close(failed);
    unlink(own);
}

// Open calls: the first eight slots may have 1 GiB, each slot less 64 KiB that are never mapped;
// slots do not overlap.
static void stacks(void **state)
{
    static const struct {
        u32 slot;
        u64 at, size;
    } stack[] = { { 0, 0, 1ul << 30 },
                  { 7, 7ul << 30, 1ul << 30 },
                  { 8, 8ul << 30, 64ul << 20 },
                  { 9, (8ul << 30) + (64ul << 20), 64ul << 20 },
                  { SPOOL_THREADS_MAX, (8ul << 30) + 1112 * (64ul << 20), 64ul << 20 } };

    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < ARRAY_SIZE(stack); i++) {
        u64 *first = (u64 *)(CALLS_BASE + stack[i].at), last = stack[i].size - 0x10000;

        assert_int_equal(spool_stack_at(stack[i].slot), stack[i].at);
        assert_int_equal(spool_stack_size(stack[i].slot), stack[i].size);
        assert_int_equal(spooler_stack_reach(stack[i].slot, 8), 0);
        *first = 17 + i;
        assert_int_equal(spooler_stack_reach(stack[i].slot, last), 0);
        first[last / 8 - 1] = 4711;
        assert_int_equal(spooler_stack_reach(stack[i].slot, last + 8), -ENOSPC);
        assert_int_equal(write(ends[1], first + last / 8, 1), -1); // EFAULT
        assert_int_equal(*first, 17 + i);
        uint64_t there;
        in_file(path, &there, 8, SPOOL_STACKS_OFF + stack[i].at + last - 8);
        assert_int_equal(there, 4711);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(SPOOL_STACKS_SIZE, (8ul << 30) + 1113 * (64ul << 20));
}

// The area of strings is full except for four bytes: a copy that needs more fails.
static void full(void **state)
{
    static char big[0x80000];
    const u64 none = 0;
    char own[300] = "";

    (void)state;
    memset(big, 'f', sizeof(big) - 1);
    for (u32 i = 0; SPOOL_TEXT_SIZE - spool->text_used > sizeof(big) + 4; i++) {
        snprintf(big, 16, "%08u", i);
        big[8] = 'f';
        assert_int_not_equal(spooler_text(big), 0);
    }
    big[SPOOL_TEXT_SIZE - spool->text_used - 5] = '\0';
    big[0] = 'l';
    assert_int_not_equal(spooler_text(big), 0);
    assert_int_equal(spool->text_used, SPOOL_TEXT_SIZE - 4);
    assert_int_equal(spooler_text("1234"), 0);
    assert_int_equal(copy_for_exec("prog", &none, own, sizeof(own)), -E2BIG);
    assert_int_equal(access(own, F_OK), -1);
    assert_int_equal(copy_for_dump("out", "why", own, sizeof(own)), -EIO);
    assert_int_equal(access(own, F_OK), -1);
}

// The file of an unused spool is removed; one in use is not, nor a file that is no spool.
static void forgotten(void **state)
{
    static const struct {
        uint64_t magic;
        uint32_t version, spool_state;
        bool gone;
    } files[] = {
        { SPOOL_MAGIC, SPOOL_VERSION, SPOOL_NEW, true },
        { SPOOL_MAGIC, SPOOL_VERSION, SPOOL_RUNNING, false },
        { SPOOL_MAGIC, SPOOL_VERSION + 1, SPOOL_NEW, false },
        { SPOOL_MAGIC + 1, SPOOL_VERSION, SPOOL_NEW, false },
    };
    char name[600];

    (void)state;
    snprintf(name, sizeof(name), "%s/another", folder);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct spool_header h = { .magic = files[i].magic,
                                  .version = files[i].version,
                                  .state = files[i].spool_state };
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600), high = fcntl(fd, F_DUPFD, 120);

        assert_true(fd >= 0 && high >= 120);
        assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
        spooler_forget(i == 1 ? fd : high);
        assert_int_equal(access(name, F_OK), files[i].gone ? -1 : 0);
        unlink(name);
        close(fd);
        close(high);
    }
    spooler_forget(121); // not open
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgotten),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(log_moves),
        cmocka_unit_test(mappings),
        cmocka_unit_test(blocks),
        cmocka_unit_test(partials),
        cmocka_unit_test(forked),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(taken),
        cmocka_unit_test(mapping_at),
        cmocka_unit_test(mapped_again),
        cmocka_unit_test(for_exec),
        // Behind those above: each name is searched for among all strings, and these make many.
        cmocka_unit_test(together),
        cmocka_unit_test(strings),
        cmocka_unit_test(full),
        // The last, since 2 GiB of stacks are mapped then, which every copy of the spool reads.
        cmocka_unit_test(stacks),
    };

    return cmocka_run_group_tests_name("engine/spool/spooler.c", tests, start, finish);
}
