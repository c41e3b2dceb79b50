// SPDX-License-Identifier: MIT
// engine/spool/copy.c: the spool of a forked child, of an executed program and of a part of the
// profile, byte by byte; and that nothing is left if none can be made.
#include <errno.h>
#include <sys/resource.h>

#include "engine/spool/config.h"
#include "engine/spool/copy.h"
#include "tests/unit/spool/alone.h"
#include "tests/unit/spool/real.h"

static char own[4096];

// A spool with all kinds of contents: holes between used pages, a string with three bytes in the
// last page, counters of two slots, edges, open calls of a thread and of saved call stacks.
static void fill(u64 flags)
{
    static char text[5000];
    struct spool_insn insns[2] = { { .len = 1 }, { .len = 2 } };
    struct spool_edge e = { .target = 5 };
    u32 first;

    real_begin(flags);
    CHECK(spooler_thread_slot(0) == 0 && spooler_thread_slot(3) == 0);
    for (u32 i = 0; i < 400; i++)
        spooler_map_record(i * 0x1000, i * 0x1000 + 9, 0, 0, i, "/m", 0, 0, 0);
    for (u32 i = 0; i < 300; i++)
        spooler_block_append(i, i, 0, 0, insns, 2, 3, &first);
    for (u32 i = 0; i < 200; i++)
        spooler_partial(i, 1, 0, 0);
    spooler_counters(0x20000);
    // As many as are mapped: a copy that goes further faults.
    spooler_counters((u32)(spooler_counters_mapped / 8 - spool->counters_used));
    counters(0)[1] = 101;
    counters(0)[511] = 102;  // the last word of a page
    counters(0)[1024] = 103; // the first one after a page of zeros
    counters(3)[0x1fff0] = 104;
    counters(3)[spool->counters_used - 1] = 107;
    if (flags & SPOOL_F_CALLS) {
        for (u32 i = 0; i < 200; i++)
            spooler_edge_append(&e, 1);
        CHECK(spooler_stack_reach(3, 8) == 0);
        CHECK(spooler_stack_reach(SPOOL_THREADS_MAX, 0x8001) == 0);
        *(u64 *)slotmem_calls(3) = 105;
        *(u64 *)(slotmem_calls(SPOOL_THREADS_MAX) + 0xfff8) = 106;
    }
    u64 n = 4096 + (4096 - spool->text_used % 4096) + 2;
    memset(text, 't', sizeof(text));
    text[n % 4096 + (n % 4096 < 3 ? 4096 : 0)] = '\0';
    CHECK(spooler_text(text) && spool->text_used % 4096 == 3);
}

static void same(const char *name, u64 offset, const void *as, u64 bytes)
{
    u8 *got = malloc(bytes);

    in_file(name, got, bytes, offset);
    CHECK(memcmp(got, as, bytes) == 0);
    free(got);
}

// Checks all contents except the header; `text` bytes of strings.
static void holds_all(const char *name, u64 text)
{
    struct stat st;

    same(name, SPOOL_TEXT_OFF, spooler_at(SPOOL_TEXT_OFF), text);
    same(name, SPOOL_MAPS_OFF, spooler_at(SPOOL_MAPS_OFF),
         spool->maps_used * sizeof(struct spool_map));
    same(name, SPOOL_PARTIAL_OFF, spooler_at(SPOOL_PARTIAL_OFF),
         spool->partial_used * sizeof(struct spool_partial));
    same(name, SPOOL_BLOCKS_OFF, spooler_at(SPOOL_BLOCKS_OFF), spool->blocks_used);
    same(name, spool_counters_at(0), counters(0), spool->counters_used * 8);
    same(name, spool_counters_at(3), counters(3), spool->counters_used * 8);
    if (spool->flags & SPOOL_F_CALLS) {
        same(name, SPOOL_EDGES_OFF, spooler_at(SPOOL_EDGES_OFF),
             spool->edges_used * sizeof(struct spool_edge));
        same(name, spooler_stack_offset(3), (void *)slotmem_calls(3), 0x8000);
        same(name, spooler_stack_offset(SPOOL_THREADS_MAX),
             (void *)slotmem_calls(SPOOL_THREADS_MAX), 0x10000);
    }
    // Empty pages are holes in the file: there are fewer than 50 others.
    CHECK(stat(name, &st) == 0 && st.st_blocks * 512 < 60 * 4096);
}

static const char *text_of(const char *name, u32 at)
{
    static char text[6][5000];
    static u32 next;
    char *to = text[next++ % 6];
    int fd = open(name, O_RDONLY);

    CHECK(pread(fd, to, 5000, (off_t)(SPOOL_TEXT_OFF + at)) > 0);
    close(fd);
    return to;
}

// ---- A part of the profile ----

static void dump(void)
{
    char expected[300];
    struct spool_header was, h;

    fill(SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_MERGE);
    spool->s_dump_counts = spool->s_dump_code = 1;
    spool->pid = 4711;
    was = *spool;
    int fd = copy_for_dump("out.1", "desc: new", own, sizeof(own));
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    snprintf(expected, sizeof(expected), "%s/quern.spool.4711", folder);
    CHECK(strcmp(own, expected) == 0);
    holds_all(own, was.text_used);
    h = header_of(own);
    CHECK(strcmp(text_of(own, h.s_output), "out.1") == 0);
    CHECK(strcmp(text_of(own, h.s_desc), "desc: old\ndesc: new") == 0);
    CHECK(strcmp(text_of(own, h.s_spool), own) == 0);
    CHECK(h.s_output == was.text_used && h.s_desc == h.s_output + 6);
    CHECK(h.s_spool == h.s_desc + 20 && h.text_used == h.s_spool + strlen(own) + 1);
    CHECK(!h.s_dump_counts && !h.s_dump_code && h.state == SPOOL_ENDED);
    CHECK(h.flags == (SPOOL_F_CALLS | SPOOL_F_CACHE_SIM | SPOOL_F_QUIET));
    CHECK(h.log_fd == engine_log_fd && h.pid == 4711 && h.counters_used == was.counters_used);
    CHECK(memcmp(&was, spool, sizeof(was)) == 0);
    close(fd);
    // The name is taken: the next ones.
    for (int i = 1; i < 12; i++) {
        fd = copy_for_dump("out.1", "desc: new", own, sizeof(own));
        snprintf(expected, sizeof(expected), "%s/quern.spool.4711.%d", folder, i);
        CHECK(fd >= 0 && strcmp(own, expected) == 0);
        close(fd);
    }
}

// No space for a string of a part; and no file.
static void dump_without_room(void)
{
    static char big[SPOOL_TEXT_SIZE];
    struct stat st;

    real_begin(0);
    snprintf(own, sizeof(own), "%s/quern.spool.1.1", folder);
    u64 need = strlen("out") + 1 + strlen("desc: old\nwhy") + 1 + strlen(own) + 1;
    memset(big, 'f', sizeof(big));
    big[SPOOL_TEXT_SIZE - spool->text_used - need - 1] = '\0';
    CHECK(spooler_text(big) && spool->text_used == SPOOL_TEXT_SIZE - need);
    int fd = copy_for_dump("out", "why", own, sizeof(own));
    CHECK(fd >= 0 && header_of(own).text_used == SPOOL_TEXT_SIZE);
    CHECK(close(fd) == 0 && unlink(own) == 0);
    CHECK(copy_for_dump("outs", "why", own, sizeof(own)) == -EIO && stat(own, &st) == -1);
    CHECK(fcntl(fd, F_GETFD) == -1);
}

// ---- A forked child ----

static struct copy_fork c;

static u64 stack_in_file(void)
{
    u64 first;

    in_file(path, &first, 8, spooler_stack_offset(3));
    return first;
}

static int begin_child(void)
{
    pid_t pid;
    int status;

    copy_fork_before(&c, false);
    bool late = c.fd < 0;
    pid = fork();
    if (pid == 0) {
        usleep(late ? 50000 : 0); // its parent is here first
        return 0;
    }
    copy_fork_parent(&c, true);
    if (late) // it has waited for the copy
        CHECK(spooler_is_lost() || spool->fork_copied == c.before + 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return pid;
}

static void child_holds(u64 flags, s32 parent)
{
    struct spool_header h;
    char expected[300];
    u32 first;

    copy_fork_child(&c, parent, false);
    CHECK(!spooler_is_lost());
    snprintf(expected, sizeof(expected), "%s/quern.spool.%d", folder, getpid());
    CHECK(strcmp(spooler_string(spool->s_spool), expected) == 0);
    h = header_of(expected);
    CHECK(h.pid == getpid() && h.parent_pid == parent);
    CHECK((h.flags & (SPOOL_F_FORKED | SPOOL_F_EXECED)) == SPOOL_F_FORKED);
    CHECK(h.flags == ((flags | SPOOL_F_FORKED) & ~(u64)SPOOL_F_EXECED));
    CHECK(h.control.asked == 9 && h.control.taken == 9 && h.control.answered == 9);
    holds_all(expected, spool->text_used);
    // Everything is the child's own.
    struct spool_edge e = { .target = 6 };
    counters(0)[1] += 1000, counters(3)[0x1fff0] += 1000;
    CHECK(counter_in(expected, 0, 1) == counters(0)[1]);
    CHECK(counter_in(path, 0, 1) == 101 && counter_in(path, 3, 0x1fff0) == 104);
    spooler_map_record(1, 2, 3, 4, 5, "/new", 0, 0, 0);
    spooler_partial(1000, 1, 0, 0);
    struct spool_insn in = { .len = 1 };
    spooler_block_append(1, 2, 0, 0, &in, 1, 1, &first);
    if (flags & SPOOL_F_CALLS) {
        spooler_edge_append(&e, 1);
        *(u64 *)slotmem_calls(3) = 205;
        CHECK(spooler_stack_reach(3, 0x8001) == 0);
    }
    holds_all(expected, spool->text_used);
    if (flags & SPOOL_F_CALLS)
        CHECK(stack_in_file() == 105);
    CHECK(header_of(path).maps_used == 400);
    spooler_drop();
    CHECK(access(expected, F_OK) == -1 && access(path, F_OK) == 0);
    _exit(0);
}

static void fork_with(u64 flags)
{
    pid_t parent = getpid();
    struct spool_header was;

    fill(flags);
    spool->flags |= SPOOL_F_EXECED;
    spool->control.asked = 9;
    spool->control.taken = 7;
    was = *spool;
    if (begin_child() == 0)
        child_holds(flags | SPOOL_F_EXECED, parent);
    was.fork_copied += (flags & SPOOL_F_LATE_COPY) != 0;
    was.forks++;
    CHECK(memcmp(&was, spool, sizeof(was)) == 0);
    CHECK(fcntl(fds_spool(), F_GETFD) == FD_CLOEXEC && counters(0)[1] == 101);
}

static void forked(void)
{
    fork_with(SPOOL_F_CACHE_SIM);
}

static void forked_with_calls(void)
{
    fork_with(SPOOL_F_CALLS);
}

static void forked_late(void)
{
    fork_with(SPOOL_F_CALLS | SPOOL_F_LATE_COPY);
}

// What a child executes is counted in its parent's spool alone, and only there: not in a file that
// has its name now.
static void counts_native(void)
{
    pid_t parent = getpid();

    fill(0);
    spool->pid = parent;
    spool->n_native = 7;
    spool->s_native = 1;
    if (begin_child() == 0) {
        copy_fork_child(&c, parent, false);
        CHECK(strcmp(spooler_string(spool->s_parent), path) == 0);
        CHECK(spool->n_native == 0 && spool->s_native == 0);
        copy_note_native(1);
        copy_note_native(1);
        CHECK(header_of(path).n_native == 9);
        copy_note_native(-1);
        CHECK(header_of(path).n_native == 8 && spool->n_native == 0);
        spool->parent_pid = parent + 1; // another process's file
        copy_note_native(1);
        CHECK(header_of(path).n_native == 8);
        spool->parent_pid = parent;
        CHECK(rename(path, "elsewhere") == 0 && symlink("elsewhere", path) == 0);
        copy_note_native(1);
        CHECK(unlink(path) == 0 && rename("elsewhere", path) == 0);
        CHECK(header_of(path).n_native == 8);
        _exit(0);
    }
    CHECK(spool->n_native == 8 && spool->s_native == 1);
}

// --children=merge: the counts are the parent's. If calls are open, the counters hold their start.
static void forked_to_merge(void)
{
    for (int calls = 0; calls < 2; calls++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            fill(SPOOL_F_MERGE | (calls ? SPOOL_F_CALLS : 0));
            if (begin_child())
                _exit(0);
            copy_fork_child(&c, 1, false);
            CHECK(spool->partial_used == 0 && spool->maps_used == 400);
            CHECK(counters(0)[1] == (calls ? 101 : 0) && counters(3)[0x1fff0] == (calls ? 104 : 0));
            CHECK(unlink(spooler_string(spool->s_spool)) == 0);
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

// Its name is taken: the child gets the next one.
static void taken_name(void)
{
    char name[400];

    fill(0);
    copy_fork_before(&c, false);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        snprintf(name, sizeof(name), "%s/quern.spool.%d", folder, getpid());
        int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        CHECK(fd >= 0 && close(fd) == 0);
        copy_fork_child(&c, 1, false);
        strcat(name, ".1");
        CHECK(strcmp(spooler_string(spool->s_spool), name) == 0 && access(name, F_OK) == 0);
        CHECK(unlink(name) == 0);
        name[strlen(name) - 2] = '\0';
        CHECK(unlink(name) == 0);
        _exit(0);
    }
    copy_fork_parent(&c, true);
    CHECK(fcntl(c.fd, F_GETFD) == -1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(access(c.path, F_OK) == -1);
}

static void no_child(void)
{
    fill(0);
    copy_fork_before(&c, false);
    CHECK(c.fd >= 0 && access(c.path, F_OK) == 0);
    copy_fork_parent(&c, false);
    CHECK(access(c.path, F_OK) == -1 && fcntl(c.fd, F_GETFD) == -1);
    // Nothing is made before the fork if the child makes the copy.
    copy_fork_before(&c, true);
    CHECK(c.fd == -1 && c.before == spool->fork_copied);
    copy_fork_parent(&c, false); // and it waits for no child
    spool->flags |= SPOOL_F_LATE_COPY;
    copy_fork_before(&c, false);
    CHECK(c.fd == -1);
    spool->flags = 0;
    spooler_lost = true;
    copy_fork_before(&c, false);
    CHECK(c.fd == -1);
}

// All descriptors are in use: the child's own replaces its parent's.
static void no_descriptor(void)
{
    struct rlimit few = { 60, 60 };

    fill(0);
    for (int fd = 3; fd < 60; fd++)
        dup2(1, fd);
    CHECK(fds_evict(fds_spool()) == 0);
    close(59);
    setrlimit(RLIMIT_NOFILE, &few);
    be_nobody();
    CHECK(fds_evict(fds_spool()) == 0 && fds_spool() == 59);
    if (begin_child() == 0) {
        CHECK(c.fd < 0); // nor could its parent make one
        copy_fork_child(&c, 1, false);
        CHECK(!spooler_is_lost() && fds_spool() == 59 && counters(0)[1] == 101);
        CHECK(unlink(spooler_string(spool->s_spool)) == 0);
        _exit(0);
    }
    CHECK(fds_spool() == 59);
}

// ---- A child without a spool ----

static void lost_child(int error, u64 flags)
{
    char expected[200];
    u32 first;

    CHECK(spooler_is_lost());
    snprintf(expected, sizeof(expected),
             "warning: this forked child is not profiled, its spool cannot be made: error %d\n",
             error);
    CHECK(has_said(expected));
    // It has the data that the engine reads and what it appends, and no counts.
    CHECK(spool->maps_used == 400 && spooler_map_at(399)->ino == 399);
    CHECK(strcmp(spooler_string(spool->s_spool_dir), folder) == 0);
    CHECK(spooler_block_at(0)->insns == 2 && spool->block_count == 300);
    CHECK(counters(0)[1] == 0 && counters(3)[0x1fff0] == 0);
    CHECK(((struct spool_partial *)spooler_at(SPOOL_PARTIAL_OFF))[199].block == 199);
    counters(0)[1] = 7, counters(3)[0x1fff0] = 8;
    spooler_counters(0x100000);
    counters(0)[0x80000] = 9;
    spooler_map_record(1, 2, 3, 4, 5, "/new", 0, 0, 0);
    struct spool_insn in = { .len = 1 };
    spooler_block_append(1, 2, 0, 0, &in, 1, 1, &first);
    if (flags & SPOOL_F_CALLS) {
        struct spool_edge e = { .target = 6 };

        CHECK(spooler_edge_at(199)->target == 5);
        spooler_edge_append(&e, 1);
        CHECK(*(u64 *)slotmem_calls(3) == 105);
        CHECK(*(u64 *)(slotmem_calls(SPOOL_THREADS_MAX) + 0xfff8) == 106);
        *(u64 *)slotmem_calls(3) = 205;
    }
    CHECK(spooler_thread_slot(4) == 0);
    counters(4)[0] = 1;
    spooler_drop();
    CHECK(access(path, F_OK) == 0);
}

static void lost_with(u64 flags, int times)
{
    struct rlimit none = { 4096, 4096 };

    fill(flags);
    struct spool_header was = *spool;
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    be_nobody();
    listen_to();
    if (begin_child() == 0) {
        CHECK(c.fd < 0);
        copy_fork_child(&c, 1, false);
        lost_child(EFBIG, flags);
        if (times > 1) { // its own child cannot have one either
            int status;

            copy_fork_before(&c, false);
            pid_t pid = fork();
            if (pid == 0) {
                copy_fork_child(&c, 1, false);
                CHECK(spooler_is_lost() && counters(0)[1] == 7 && spool->maps_used == 401);
                _exit(0);
            }
            copy_fork_parent(&c, true);
            CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        }
        _exit(0);
    }
    was.fork_copied++, was.forks++;
    CHECK(memcmp(&was, spool, sizeof(was)) == 0);
    CHECK(counters(0)[1] == 101 && counters(3)[0x1fff0] == 104);
    CHECK(spooler_block_at(0)->insns == 2);
    if (flags & SPOOL_F_CALLS)
        CHECK(stack_in_file() == 105);
}

static void lost(void)
{
    lost_with(0, 1);
}

static void lost_with_calls(void)
{
    lost_with(SPOOL_F_CALLS, 2);
}

// No folder for a file.
static void lost_folder(void)
{
    fill(0);
    spool->s_spool_dir = spooler_text("/none/such");
    listen_to();
    if (begin_child() == 0) {
        copy_fork_child(&c, 1, false);
        CHECK(spooler_is_lost());
        CHECK(has_said("warning: this forked child is not profiled, its spool cannot be made: "
                       "error 2\n"));
        _exit(0);
    }
}

// ---- An executed program ----

static void exec(void)
{
    const char *args[] = { "a\nb\rc", "d" };
    u64 argv[3] = { (u64)args[0], (u64)args[1], 0 };
    struct spool_header was, h;
    char expected[300];

    fill(SPOOL_F_CACHE_SIM);
    u64 text = spool->text_used;
    // Every byte of the header except the magic number and the cursors of strings is changed.
    spool->flags |= SPOOL_F_FORKED | SPOOL_F_NOT_AT_START;
    spool->parent_pid = 3, spool->end_kind = SPOOL_END_EXIT, spool->end_code = 4;
    spool->calls = 5, spool->dumps = 6, spool->s_seccomp = 7, spool->seccomp_bytes = 8;
    spool->s_env = 9, spool->env_bytes = 10, spool->n_translated = 11, spool->start_mask = 12;
    spool->start_time = 13, spool->fork_copied = 14, spool->forks = 16, spool->control.asked = 15;
    spool->cpu.hwcap = 16, spool->cpu.leaves = 17, spool->cache_kib = 18, spool->s_patterns = 1;
    was = *spool;
    CHECK(chdir(folder) == 0);
    int fd = copy_for_exec("/bin/prog", argv, own, sizeof(own));
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    snprintf(expected, sizeof(expected), "%s/quern.spool.%d", folder, getpid());
    CHECK(strcmp(own, expected) == 0);
    h = header_of(own);
    CHECK(h.state == SPOOL_NEW && h.log_fd == engine_log_fd && h.pid == getpid());
    CHECK(h.flags == (SPOOL_F_CACHE_SIM | SPOOL_F_EXECED | SPOOL_F_NOT_AT_START));
    CHECK(!h.parent_pid && !h.end_kind && !h.end_code && !h.calls && !h.dumps);
    CHECK(!h.s_seccomp && !h.seccomp_bytes && !h.s_env && !h.env_bytes && !h.block_count);
    CHECK(!h.maps_used && !h.blocks_used && !h.counters_used && !h.partial_used);
    CHECK(!h.threads_used && !h.n_translated && !h.start_mask && !h.fork_copied && !h.forks);
    CHECK(!h.start_time && !h.control.asked && !h.edges_used);
    CHECK(memcmp(&h.cpu, &was.cpu, sizeof(h.cpu)) == 0 && h.cache_kib == 18 && h.s_patterns == 1);
    same(own, SPOOL_TEXT_OFF, spooler_at(SPOOL_TEXT_OFF), text);
    CHECK(h.s_program == text && strcmp(text_of(own, h.s_program), "/bin/prog") == 0);
    CHECK(h.s_spool == text + 10 && strcmp(text_of(own, h.s_spool), own) == 0);
    CHECK(h.s_cwd == h.s_spool + strlen(own) + 1 && strcmp(text_of(own, h.s_cwd), folder) == 0);
    CHECK(h.s_cmd == h.s_cwd + strlen(folder) + 1);
    CHECK(strcmp(text_of(own, h.s_cmd), "a b c d") == 0 && h.text_used == h.s_cmd + 8);
    CHECK(memcmp(&was, spool, sizeof(was)) == 0);
    CHECK(copy_set_start_mask(fd, 0x1234) == 0 && header_of(own).start_mask == 0x1234);
    CHECK(header_of(own).cpu.leaves == 17 && header_of(own).fork_copied == 0);
    CHECK(copy_set_start_mask(-1, 0) == -EBADF);
    close(fd);
    unlink(own);
    // A working folder that is gone.
    CHECK(mkdir("gone", 0700) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0);
    fd = copy_for_exec("/bin/prog", argv, own, sizeof(own));
    CHECK(fd >= 0 && strcmp(text_of(own, header_of(own).s_cwd), "/") == 0);
    unlink(own);
}

// --instr-at-start=inherit: keeps the current state.
static void exec_inherits(void)
{
    static const struct {
        u64 flags;
        bool counts;
        u64 is;
    } of[] = {
        { 0, true, 0 },
        { SPOOL_F_NOT_AT_START, true, SPOOL_F_NOT_AT_START },
        { 0, false, 0 },
        { SPOOL_F_INHERIT, true, SPOOL_F_INHERIT },
        { SPOOL_F_INHERIT, false, SPOOL_F_INHERIT | SPOOL_F_NOT_AT_START },
        { SPOOL_F_INHERIT | SPOOL_F_NOT_AT_START, true, SPOOL_F_INHERIT },
    };
    const u64 none = 0;

    real_begin(0);
    for (u32 i = 0; i < ARRAY_SIZE(of); i++) {
        spool->flags = of[i].flags;
        tb_config.counts = of[i].counts;
        int fd = copy_for_exec("p", &none, own, sizeof(own));
        CHECK(fd >= 0 && header_of(own).flags == (of[i].is | SPOOL_F_EXECED));
        close(fd);
        CHECK(unlink(own) == 0);
    }
}

// Arguments that end at or near the end of a piece of 511 bytes.
static void exec_arguments(void)
{
    static char first[2000], expected[2100];

    real_begin(0);
    for (u32 len = 500; len < 1100; len++) {
        u64 argv[4] = { (u64)first, (u64) "", (u64) "end", 0 };

        if (len > 520 && len < 1010)
            continue;
        memset(first, 'x', len);
        first[len] = '\0';
        first[len - 1] = 'y';
        snprintf(expected, sizeof(expected), "%s  end", first);
        int fd = copy_for_exec("p", argv, own, sizeof(own));
        struct spool_header h = header_of(own);
        CHECK(fd >= 0 && strcmp(text_of(own, h.s_cmd), expected) == 0);
        CHECK(h.text_used == h.s_cmd + len + 6);
        close(fd);
        unlink(own);
    }
}

static void exec_without_folder(void)
{
    const u64 none = 0;

    real_begin(0);
    spool->s_spool_dir = spooler_text("/none/such");
    CHECK(copy_for_exec("p", &none, own, sizeof(own)) == -ENOENT);
}

// The strings just fit, or do not: then there is no file.
static void exec_without_room(void)
{
    static char big[SPOOL_TEXT_SIZE];
    struct stat st;
    u64 argv[2] = { (u64) "cmd", 0 }, longer[2] = { (u64) "cmds", 0 };

    real_begin(0);
    CHECK(chdir("/") == 0);
    snprintf(own, sizeof(own), "%s/quern.spool.%d", folder, getpid());
    u64 need = strlen("prog") + 1 + strlen(own) + 1 + strlen("/") + 1 + strlen("cmd") + 1;
    memset(big, 'f', sizeof(big));
    big[SPOOL_TEXT_SIZE - spool->text_used - need - 1] = '\0';
    CHECK(spooler_text(big) && spool->text_used == SPOOL_TEXT_SIZE - need);
    int fd = copy_for_exec("prog", argv, own, sizeof(own));
    CHECK(fd >= 0 && header_of(own).text_used == SPOOL_TEXT_SIZE);
    CHECK(close(fd) == 0 && unlink(own) == 0);
    CHECK(copy_for_exec("prog", longer, own, sizeof(own)) == -E2BIG && stat(own, &st) == -1);
    CHECK(fcntl(fd, F_GETFD) == -1); // nor a descriptor
    // Each of the strings before it.
    argv[0] = 0;
    CHECK((fd = copy_for_exec("progcmd", argv, own, sizeof(own))) >= 0);
    CHECK(close(fd) == 0 && unlink(own) == 0);
    CHECK((fd = copy_for_exec("progcmdx", argv, own, sizeof(own))) >= 0);
    CHECK(close(fd) == 0 && unlink(own) == 0);
    CHECK(copy_for_exec("progcmdxy", argv, own, sizeof(own)) == -E2BIG && stat(own, &st) == -1);
}

static void exec_without_size(void)
{
    struct rlimit none = { 4096, 4096 };
    const u64 argv = 0;
    struct stat st;

    real_begin(0);
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    be_nobody();
    snprintf(own, sizeof(own), "%s/quern.spool.%d", folder, getpid());
    int next = dup(1);
    close(next);
    CHECK(copy_for_exec("p", &argv, own, sizeof(own)) == -EFBIG && stat(own, &st) == -1);
    CHECK(fcntl(next, F_GETFD) == -1);
}

ALONE(dump)
ALONE(dump_without_room)
ALONE(forked)
ALONE(forked_with_calls)
ALONE(forked_late)
ALONE(counts_native)
ALONE(forked_to_merge)
ALONE(taken_name)
ALONE(no_child)
ALONE(no_descriptor)
ALONE(lost)
ALONE(lost_with_calls)
ALONE(lost_folder)
ALONE(exec)
ALONE(exec_inherits)
ALONE(exec_arguments)
ALONE(exec_without_folder)
ALONE(exec_without_room)
ALONE(exec_without_size)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dump),
        cmocka_unit_test(test_dump_without_room),
        cmocka_unit_test(test_forked),
        cmocka_unit_test(test_forked_with_calls),
        cmocka_unit_test(test_forked_late),
        cmocka_unit_test(test_counts_native),
        cmocka_unit_test(test_forked_to_merge),
        cmocka_unit_test(test_taken_name),
        cmocka_unit_test(test_no_child),
        cmocka_unit_test(test_no_descriptor),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lost_with_calls),
        cmocka_unit_test(test_lost_folder),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_exec_inherits),
        cmocka_unit_test(test_exec_arguments),
        cmocka_unit_test(test_exec_without_folder),
        cmocka_unit_test(test_exec_without_room),
        cmocka_unit_test(test_exec_without_size),
    };

    return cmocka_run_group_tests_name("engine/spool/copy.c", tests, real_setup, real_teardown);
}
