// SPDX-License-Identifier: MIT
// engine/syscalls/files.c: names that mean the program, descriptors of the engine. Here the path
// "/proc/self/exe" is the exe link, "/prog" the program's file, descriptors 803 and 805 are the
// engine's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/process/procnames.h"
#include "engine/process/rights.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/files.h"
#include "engine/thread/stopworld.h"

// -- fakes --

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

#define MODEL "model\t\t: one of share/cpu.def\n\n"

// The entry of each processor with --cpu.
const char *spooler_string(u32 at)
{
    assert_int_equal(at, 77);
    return MODEL;
}

static jmp_buf back;
static u64 gated[6];
static int evict_error;
static int evicted;

const char *procnames_exe(void)
{
    return "/prog";
}

bool procnames_is_exe(int dirfd, const char *path)
{
    return dirfd == AT_FDCWD && strcmp(path, "/proc/self/exe") == 0;
}

// Only the root folder exists on every machine: it plays the program.
bool procnames_is_program(const struct k_stat *st)
{
    struct k_stat root;

    sys_fstatat(AT_FDCWD, "/", &root, 0);
    return st->st_ino == root.st_ino && st->st_dev == root.st_dev;
}

bool fds_is_ours(int fd)
{
    return fd == 803 || fd == 805;
}

u32 fds_sorted(u32 numbers[FDS_MAX])
{
    numbers[0] = 803;
    numbers[1] = 805;
    return 2;
}

int fds_evict(int fd)
{
    evicted = fd;
    return evict_error;
}

static u32 forgone;

void rights_forgo(struct thread *t)
{
    (void)t;
    forgone++;
}

bool rights_is_file(const char *path)
{
    return strcmp(path, "/proc/self/attr/current") == 0;
}

void stopworld_blocking_begin(struct thread *t)
{
    (void)t;
}

void stopworld_blocking_end(struct thread *t)
{
    (void)t;
}

void gate_return(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
    t->pc = t->sc_next;
}

_Noreturn void gate_call(struct thread *t, const u64 args[6])
{
    (void)t;
    memcpy(gated, args, sizeof(gated));
    longjmp(back, 2);
}

// -- helpers of the tests --

enum { LEFT, HANDLED, GATED }; // to the gate as it is; done; through the gate with other arguments

static struct thread thread, *const t = &thread;

static int setup(void **state)
{
    (void)state;
    memset(t, 0, sizeof(*t));
    memset(gated, 0, sizeof(gated));
    evict_error = 0;
    evicted = -1;
    return 0;
}

static int call(u32 nr, u64 a, u64 b, u64 c, u64 d)
{
    if (setjmp(back))
        return GATED;
    t->regs[R_RDI] = a;
    t->regs[R_RSI] = b;
    t->regs[R_RDX] = c;
    t->regs[10] = d;
    return files_call(t, nr) ? HANDLED : LEFT;
}

static long result(void)
{
    return (long)t->regs[R_RAX];
}

#define EXE  ((u64) "/proc/self/exe")
#define AT   ((u64)AT_FDCWD)
#define ROOT ((u64) "/")

static void test_links(void **state)
{
    char buf[16] = "................";

    (void)state;
    assert_int_equal(call(SYS_readlink, EXE, (u64)buf, sizeof(buf), 0), HANDLED);
    assert_int_equal(result(), 5);
    assert_memory_equal(buf, "/prog...........", 16);
    assert_int_equal(call(SYS_readlinkat, AT, EXE, (u64)buf + 8, 3), HANDLED);
    assert_int_equal(result(), 3); // as much as fits
    assert_memory_equal(buf, "/prog.../pr.....", 16);
    assert_int_equal(call(SYS_readlink, EXE, (u64)buf, 0, 0), HANDLED);
    assert_int_equal(result(), -EINVAL);
    assert_int_equal(call(SYS_readlink, (u64) "/proc/self/cwd", (u64)buf, 16, 0), LEFT);
    assert_int_equal(call(SYS_readlink, (u64) "/proc/self/xexe", (u64)buf, 16, 0), LEFT);
    assert_int_equal(call(SYS_stat, EXE, (u64)buf, 0, 0), GATED);
    assert_string_equal((char *)gated[0], "/prog");
    assert_int_equal(gated[1], (u64)buf);
    assert_int_equal(call(SYS_newfstatat, AT, EXE, 0, 0), GATED);
    assert_string_equal((char *)gated[1], "/prog");
    assert_int_equal(call(SYS_newfstatat, AT, EXE, 0, AT_SYMLINK_NOFOLLOW), LEFT); // the link
    assert_int_equal(call(SYS_statx, AT, EXE, AT_SYMLINK_NOFOLLOW, 0), LEFT);
}

static void test_open(void **state)
{
    struct k_open_how how = { O_RDONLY, 0, 0 };

    (void)state;
    assert_int_equal(call(SYS_open, EXE, O_RDONLY, 0, 0), GATED);
    assert_string_equal((char *)gated[0], "/prog");
    assert_int_equal(call(SYS_openat, AT, EXE, O_PATH, 0), GATED);
    assert_string_equal((char *)gated[1], "/prog");
    assert_int_equal(call(SYS_open, EXE, O_RDONLY | O_NOFOLLOW, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, EXE, O_RDWR, 0, 0), HANDLED);
    assert_int_equal(result(), -ETXTBSY);
    assert_int_equal(call(SYS_open, EXE, O_RDONLY | O_TRUNC, 0, 0), HANDLED);
    assert_int_equal(result(), -ETXTBSY);
    assert_int_equal(call(SYS_open, ROOT, O_WRONLY, 0, 0), HANDLED); // by any of its names
    assert_int_equal(result(), -ETXTBSY);
    assert_int_equal(call(SYS_open, ROOT, O_WRONLY | O_CREAT | O_EXCL, 0, 0), HANDLED);
    assert_int_equal(result(), -EEXIST);
    assert_int_equal(call(SYS_open, ROOT, O_RDONLY, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, ROOT, O_WRONLY | O_PATH, 0, 0), LEFT); // writes nothing
    assert_int_equal(call(SYS_creat, ROOT, 0, 0, 0), HANDLED);
    assert_int_equal(call(SYS_truncate, ROOT, 0, 0, 0), HANDLED);
    assert_int_equal(result(), -ETXTBSY);
    assert_int_equal(call(SYS_truncate, (u64) "/proc", 0, 0, 0), LEFT);
    assert_int_equal(call(SYS_openat2, AT, EXE, (u64)&how, sizeof(how)), GATED);
    how.resolve = 4; // RESOLVE_NO_SYMLINKS: the link itself is what the kernel is to see
    assert_int_equal(call(SYS_openat2, AT, EXE, (u64)&how, sizeof(how)), LEFT);
    how.flags = O_RDWR | O_TRUNC;
    assert_int_equal(call(SYS_openat2, AT, ROOT, (u64)&how, sizeof(how)), HANDLED);
    assert_int_equal(result(), -ETXTBSY);
    assert_int_equal(call(SYS_openat2, AT, (u64) "/proc", (u64)&how, sizeof(how)), LEFT);
    assert_int_equal(call(SYS_openat2, AT, (u64) "/none", (u64)&how, sizeof(how)), LEFT);
    how.flags = O_RDWR | O_CREAT | O_EXCL;
    assert_int_equal(call(SYS_openat2, AT, ROOT, (u64)&how, sizeof(how)), HANDLED);
    assert_int_equal(result(), -EEXIST);
    how.flags = O_RDONLY;
    assert_int_equal(call(SYS_openat2, AT, ROOT, (u64)&how, sizeof(how)), LEFT);
    how.resolve = 0x20; // RESOLVE_CACHED: with O_TRUNC the kernel does not look up the name
    how.flags = O_RDWR | O_TRUNC;
    assert_int_equal(call(SYS_openat2, AT, ROOT, (u64)&how, sizeof(how)), LEFT);
}

// A process that opens a file that changes its rights has no replayer and no background finisher.
static void test_rights(void **state)
{
    struct k_open_how how = { O_RDWR, 0, 4 };
    u64 path = (u64) "/proc/self/attr/current", other = (u64) "/proc/self/comm";

    (void)state;
    forgone = 0;
    assert_int_equal(call(SYS_open, path, O_RDONLY, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, path, O_RDWR | O_PATH, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, other, O_RDWR, 0, 0), LEFT);
    assert_int_equal(forgone, 0);
    assert_int_equal(call(SYS_open, path, O_WRONLY, 0, 0), LEFT);
    assert_int_equal(call(SYS_openat, AT, path, O_RDWR, 0), LEFT);
    assert_int_equal(call(SYS_openat2, AT, path, (u64)&how, sizeof(how)), LEFT);
    assert_int_equal(forgone, 3);
}

// With --cpu, /proc/cpuinfo has the model's entry, once for each processor.
static void test_cpuinfo(void **state)
{
    static char text[1 << 16], expected[1 << 16];
    char line[256];
    u32 n = 0;

    (void)state;
    header.s_cpuinfo = 77;
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfo", O_RDONLY, 0, 0), LEFT);
    tb_config.shown = true;
    FILE *f = fopen("/proc/cpuinfo", "r");
    assert_non_null(f);
    for (char *at = expected; fgets(line, sizeof(line), f);)
        if (strncmp(line, "processor\t", 10) == 0)
            at += sprintf(at, "processor\t: %u\n" MODEL, n++);
    fclose(f);
    assert_true(n > 0);
    int free = dup(0); // the lowest that is
    close(free);
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfo", O_RDONLY, 0, 0), HANDLED);
    assert_int_equal(result(), free);
    assert_int_equal(read(free, text, sizeof(text)), (ssize_t)strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(sys_fcntl(free, F_GETFL, 0) & O_ACCMODE, O_RDONLY);
    assert_int_equal(sys_fcntl(free, F_GETFD, 0), 0);
    close(free);
    assert_int_equal(call(SYS_openat, AT, (u64) "/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0), HANDLED);
    assert_int_equal(result(), free);
    assert_int_equal(sys_fcntl(free, F_GETFD, 0), FD_CLOEXEC);
    close(free);
    // Opens for writing, and of other files, go to the kernel.
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfo", O_RDONLY | O_PATH, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfo", O_RDONLY | O_DIRECTORY, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfo", O_WRONLY, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, (u64) "/proc/cpuinfos", O_RDONLY, 0, 0), LEFT);
    assert_int_equal(call(SYS_open, (u64) "/proc/meminfo", O_RDONLY, 0, 0), LEFT);
    tb_config.shown = false;
}

static void test_descriptors(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_dup2, 1, 805, 0, 0), LEFT); // ours has moved
    assert_int_equal(evicted, 805);
    evict_error = -EMFILE;
    assert_int_equal(call(SYS_dup3, 1, 803, 0, 0), HANDLED);
    assert_int_equal(result(), -EMFILE);
}

// Names that lead to 803, the engine's, and to 804, which is not.
static void test_names_of_descriptors(void **state)
{
    static const u32 calls[] = { SYS_open,     SYS_stat,     SYS_lstat,     SYS_access,
                                 SYS_chmod,    SYS_truncate, SYS_readlink,  SYS_chown,
                                 SYS_lchown,   SYS_utime,    SYS_statfs,    SYS_getxattr,
                                 SYS_setxattr, SYS_chdir,    SYS_listxattr, SYS_link };
    static const u32 beside[] = { SYS_openat,    SYS_newfstatat, SYS_statx,    SYS_readlinkat,
                                  SYS_faccessat, SYS_faccessat2, SYS_fchmodat, SYS_fchownat,
                                  SYS_utimensat, SYS_linkat,     SYS_open_tree };
    struct k_rlimit limit;
    int null = (int)sys_open("/dev/null", O_RDONLY, 0), folder;

    (void)state;
    sys_prlimit(RLIMIT_NOFILE, NULL, &limit);
    limit.cur = limit.max;
    sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    sys_call2(SYS_dup2, (u64)null, 803);
    sys_call2(SYS_dup2, (u64)null, 804);
    for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
        assert_int_equal(call(calls[i], (u64) "/proc/self/fd/803", 0, 0, 0), HANDLED);
        assert_int_equal(result(), -ENOENT);
        assert_int_equal(call(calls[i], (u64) "/dev/fd/803", 0, 0, 0), HANDLED);
        assert_int_equal(call(calls[i], (u64) "/proc/self/fd/803/", 0, 0, 0), HANDLED);
        assert_int_equal(call(calls[i], (u64) "/proc/self/fd/803/./", 0, 0, 0), HANDLED);
        assert_int_equal(call(calls[i], (u64) "/proc/self/fdinfo/803", 0, 0, 0), HANDLED);
        assert_int_equal(call(calls[i], (u64) "/proc/self/fdinfo/804", 0, 0, 0), LEFT);
        assert_int_equal(call(calls[i], (u64) "/proc/self/fd/804", 0, 0, 0), LEFT);
        assert_int_equal(call(calls[i], (u64) "/nowhere/803", 0, 0, 0), LEFT);
    }
    folder = (int)sys_open("/proc/self/fd", O_PATH, 0);
    for (u32 i = 0; i < ARRAY_SIZE(beside); i++) {
        assert_int_equal(call(beside[i], (u64)folder, (u64) "803", 0, 0), HANDLED);
        assert_int_equal(result(), -ENOENT);
        assert_int_equal(call(beside[i], (u64)folder, (u64) "804", 0, 0), LEFT);
    }
    assert_int_equal(call(SYS_inotify_add_watch, 0, (u64) "/dev/fd/803", 0, 0), HANDLED);
    assert_int_equal(call(SYS_inotify_add_watch, (u64)folder, (u64) "803", 0, 0), LEFT);
    sys_close(folder);
    sys_close(803);
    sys_close(804);
    sys_close(null);
}

// Calls that leave the gate, and calls that leave it only after the name is checked.
static void test_table(void **state)
{
    static u8 table[GATE_CALLS];

    (void)state;
    table[SYS_creat] = GATE_SLOW;
    table[SYS_openat] = table[SYS_faccessat] = GATE_FD;
    table[SYS_linkat] = GATE_FDS;
    files_init(table);
    assert_int_equal(table[SYS_getppid], GATE_FAST);
    assert_int_equal(table[SYS_creat], GATE_SLOW);
    assert_int_equal(table[SYS_open], GATE_OPEN);
    assert_int_equal(table[SYS_openat], GATE_OPENAT);
    assert_int_equal(table[SYS_lstat], GATE_NAME);
    assert_int_equal(table[SYS_faccessat], GATE_AT);
    assert_int_equal(table[SYS_linkat], GATE_SLOW); // the other folder, too
    assert_int_equal(table[SYS_inotify_add_watch], GATE_AT);
    assert_int_equal(table[SYS_rename], GATE_FAST);

    // With --cpu the engine handles one of the files that are opened for reading.
    tb_config.shown = true;
    memset(table, GATE_FAST, sizeof(table));
    table[SYS_openat] = GATE_FD;
    files_init(table);
    assert_int_equal(table[SYS_open], GATE_SLOW);
    assert_int_equal(table[SYS_openat], GATE_SLOW);
    tb_config.shown = false;
}

// The engine has the number that the program gets natively: the engine's descriptor moves.
static void test_dup_from(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_fcntl, 1, F_GETFD, 0, 0), LEFT);
    assert_int_equal(call(SYS_fcntl, 1, F_DUPFD, 806, 0), LEFT); // above all of them
    assert_int_equal(call(SYS_fcntl, 1, F_DUPFD, 790, 0), HANDLED);
    assert_int_equal(result(), 790);
    assert_int_equal(evicted, -1);
    sys_close(790);
    sys_call2(SYS_dup2, 1, 803);
    assert_int_equal(call(SYS_fcntl, 1, F_DUPFD_CLOEXEC, 803, 0), HANDLED);
    assert_int_equal(result(), 803);
    assert_int_equal(evicted, 803);
    assert_int_equal(sys_fcntl(803, F_GETFD, 0), FD_CLOEXEC);
    assert_int_equal(sys_fcntl(804, F_GETFD, 0), -EBADF);
    sys_close(803);
    assert_int_equal(call(SYS_fcntl, 999, F_DUPFD, 803, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
}

static bool is_open(int fd)
{
    return sys_fcntl(fd, 1 /* F_GETFD */, 0) >= 0;
}

static void test_close_range(void **state)
{
    struct k_rlimit limit;

    (void)state;
    sys_prlimit(RLIMIT_NOFILE, NULL, &limit);
    limit.cur = limit.max;
    sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    for (u32 fd = 800; fd < 810; fd++)
        assert_int_equal(sys_call2(SYS_dup2, 1, fd), fd);
    assert_int_equal(call(SYS_close_range, 801, 807, 0, 0), HANDLED);
    assert_int_equal(result(), 0);
    for (int fd = 800; fd < 810; fd++)
        assert_int_equal(is_open(fd), fd < 801 || fd == 803 || fd == 805 || fd > 807);
    assert_int_equal(call(SYS_close_range, 803, 803, 0, 0), HANDLED);
    assert_int_equal(result(), 0); // nothing of the client's to be closed
    assert_true(is_open(803));
    assert_int_equal(call(SYS_close_range, 805, ~0u, 0, 0), HANDLED);
    assert_true(is_open(805) && !is_open(808) && !is_open(809));
    assert_int_equal(call(SYS_close_range, 5, 4, 0, 0), HANDLED);
    assert_int_equal(result(), -EINVAL);
    sys_close(800);
}

// A listing of /proc/self/fd from the kernel; 803 and 805 are removed, the rest is packed.
static void test_listing(void **state)
{
    static char buf[8192];
    long fd = sys_open("/proc/self/fd", O_RDONLY, 0), n;
    u32 seen = 0, entries = 0, all = 0;

    (void)state;
    sys_call2(SYS_dup2, 1, 803);
    sys_call2(SYS_dup2, 1, 804);
    sys_call2(SYS_dup2, 1, 805);
    n = sys_call3(SYS_getdents64, (u64)fd, (u64)buf, sizeof(buf));
    for (long at = 0; at < n; at += *(u16 *)(buf + at + 16))
        all++;
    t->regs[R_RAX] = (u64)n;
    t->regs[R_RDI] = (u64)fd;
    t->regs[R_RSI] = (u64)buf;
    files_done(t, SYS_getdents64);
    n = result();
    for (long at = 0; at < n; at += *(u16 *)(buf + at + 16)) {
        const char *name = buf + at + 19;

        assert_string_not_equal(name, "803");
        assert_string_not_equal(name, "805");
        seen += strcmp(name, "804") == 0;
        entries++;
    }
    assert_int_equal(seen, 1);
    assert_int_equal(entries, all - 2);
    sys_close((int)fd);
    // In another folder 803 is a name like any other.
    memset(buf, 0, 24);
    buf[16] = 24;
    memcpy(buf + 19, "803", 4);
    t->regs[R_RAX] = 24;
    t->regs[R_RDI] = (u64)sys_open("/proc/self/task", O_RDONLY, 0);
    files_done(t, SYS_getdents64);
    assert_int_equal(result(), 24);
    sys_close((int)t->regs[R_RDI]);
    for (int i = 803; i < 806; i++)
        sys_close(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_links, setup),
        cmocka_unit_test_setup(test_open, setup),
        cmocka_unit_test_setup(test_rights, setup),
        cmocka_unit_test_setup(test_cpuinfo, setup),
        cmocka_unit_test_setup(test_descriptors, setup),
        cmocka_unit_test_setup(test_names_of_descriptors, setup),
        cmocka_unit_test_setup(test_table, setup),
        cmocka_unit_test_setup(test_dup_from, setup),
        cmocka_unit_test_setup(test_close_range, setup),
        cmocka_unit_test_setup(test_listing, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
