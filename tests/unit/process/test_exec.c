// SPDX-License-Identifier: MIT
// engine/process/exec.c: whether a file is executed natively or by the engine, with which arguments
// and descriptors, and what is done before and undone afterwards. The files are real, in a folder
// of the test; the exec is a fake that logs its arguments. Fakes of other functions log a letter
// each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/process/bgfinish.h"
#include "engine/process/elf.h"
#include "engine/process/exec.h"
#include "engine/process/finisher.h"
#include "engine/process/procnames.h"
#include "engine/process/seccomp.h"
#include "engine/process/tracer.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/mask.h"
#include "engine/spool/copy.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/translate/pcache.h"
#include "tests/unit/count/reftrace_none.h"

#define NOWHERE   8ul
#define ENVIRON   0xe000ul // never looked at
#define OLD_SPOOL 77
#define NOBODY    65534
#define NEW_SPOOL "new-spool"

#define F_GETLEASE 1025 // include/uapi/linux/fcntl.h

// -- fakes of what exec.c calls --

static struct spool_header header = { .s_engine = 1, .s_skip = 2 };
struct spool_header *spool = &header;
static struct thread block;
static struct thread_own own;
static struct signal_state sig;
static struct thread *const t = &block;
static const char *skip_list, *engine;
static bool lost, profiled, debugged, noted, unrestored, unclosed, finish_fails, filters_fail;
static int old_spool, ours;
static long copy_ret, mask_ret, hand_over_ret;
static u64 reads, bad_read; // of words; the one that fails, 0: none
static char did[64];
static size_t done;
static jmp_buf back;

static struct {
    int calls, dir, flags;
    const char *path;
    u64 envp, count;
    const u64 *argv;
    char args[512], fds[32]; // of the engine's command line: joined by '|'; its second argument
    long fd_flags[2];        // of spool and program
    long lease;              // on the program
    u64 native;              // header.n_native
} given;
static long answer; // of the kernel

static struct {
    char program[PATH_MAX], args[512];
    int fd;
    u64 mask;
} copied;

static void note(char letter)
{
    did[done++] = letter;
}

static u64 join(char *to, u64 size, const u64 *argv)
{
    u64 n = 0, at = 0;

    for (to[0] = '\0'; argv[n]; n++)
        if (at < size)
            at += (u64)snprintf(to + at, size - at, "%s|", (const char *)argv[n]);
    return n;
}

static u32 stops; // of the replayer
static u32 bgfinish_stops;

static u32 allowed_again; // replayer_allow()

void replayer_allow(void)
{
    allowed_again++;
}

void replayer_stop(void)
{
    stops++;
}

void bgfinish_stop(void)
{
    assert_int_equal(++bgfinish_stops, stops);
}

static u32 sampler_ends, sampler_starts;

void sampler_end(struct thread *of)
{
    assert_ptr_equal(of, t);
    assert_int_equal(++sampler_ends, bgfinish_stops); // before the exec
}

void sampler_start(struct thread *of)
{
    assert_ptr_equal(of, t);
    sampler_starts++;
}

// exec.S
extern long exec_call(int dir, const char *path, const u64 *argv, u64 envp, int flags,
                      const u64 *stop);

long exec_call(int dir, const char *path, const u64 *argv, u64 envp, int flags, const u64 *stop)
{
    assert_ptr_equal(stop, &t->stop);
    note('X');
    given.calls++;
    given.dir = dir;
    given.path = path;
    given.argv = argv;
    given.envp = envp;
    given.flags = flags;
    given.native = header.n_native;
    if (path != engine)
        return answer;
    given.count = join(given.args, sizeof(given.args), argv);
    snprintf(given.fds, sizeof(given.fds), "%s", (const char *)argv[1]);
    given.fd_flags[0] = sys_fcntl(atoi(given.fds), F_GETFD, 0);
    given.fd_flags[1] = sys_fcntl(atoi(strchr(given.fds, ',') + 1), F_GETFD, 0);
    given.lease = sys_fcntl(atoi(strchr(given.fds, ',') + 1), F_GETLEASE, 0);
    return answer;
}

int copy_for_exec(const char *program, const u64 *argv, char *path, u64 path_size)
{
    note('c');
    if (copy_ret)
        return (int)copy_ret;
    snprintf(copied.program, sizeof(copied.program), "%s", program);
    join(copied.args, sizeof(copied.args), argv);
    snprintf(path, path_size, NEW_SPOOL);
    copied.fd = (int)sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return copied.fd;
}

static char noted_native[16]; // '+' and '-'

void copy_note_native(s64 more)
{
    strcat(noted_native, more == 1 ? "+" : more == -1 ? "-" : "?");
}

static char first_native[PATH_MAX];

u32 spooler_text(const char *s)
{
    snprintf(first_native, sizeof(first_native), "%s", s);
    return 3;
}

long copy_set_start_mask(int fd, u64 mask)
{
    assert_int_equal(fd, copied.fd);
    copied.mask = mask;
    return mask_ret;
}

long seccomp_hand_over(struct thread *of, int spool_fd)
{
    assert_ptr_equal(of, t);
    assert_int_equal(spool_fd, copied.fd);
    note('h');
    return hand_over_ret;
}

bool seccomp_to_kernel(struct thread *of)
{
    assert_ptr_equal(of, t);
    // whose end takes calls that the client's filters may forbid
    assert_int_equal(stops > 0, profiled && !own.borrowed);
    note('k');
    return !filters_fail;
}

static u32 said_kept;

void spooler_say_held(void)
{
    said_kept++;
}

int finisher_in_child(u32 kind, s32 code)
{
    assert_int_equal(kind, SPOOL_END_EXIT);
    assert_int_equal(code, 0);
    header.state = SPOOL_ENDED;
    note('F');
    return finish_fails ? -ECHILD : 0;
}

u32 threads_count(void)
{
    return 1;
}

// There is no replayer, or the world is stopped.
void pcache_save(void)
{
    note('y');
}

bool procnames_is_exe(int dirfd, const char *path)
{
    return dirfd == AT_FDCWD && !strcmp(path, "EXE");
}

const char *procnames_exe(void)
{
    return "elf";
}

bool tracer_is_debugger(void)
{
    return debugged;
}

static u32 drained; // this thread's records alone

void recordbuf_drain(struct thread *of)
{
    assert_ptr_equal(of, t);
    drained++;
}

void recordbuf_drain_all(s32 stopped)
{
    assert_int_equal(stopped, 0);
    note('L');
}

bool mask_any_noted(struct thread *of)
{
    assert_ptr_equal(of, t);
    return noted;
}

bool mask_restore_for_exec(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('m');
    return !unrestored;
}

bool mask_close_for_exec(struct thread *of, u64 *mask)
{
    assert_ptr_equal(of, t);
    note('M');
    *mask = 0x55;
    return !unclosed;
}

void mask_exec_failed(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('f');
}

bool fds_is_ours(int fd)
{
    return fd == ours;
}

void fds_keep_over_exec(bool keep)
{
    note(keep ? '+' : '-');
}

void fds_keep_log_over_exec(bool keep)
{
    assert_true(keep);
    note('o');
}

int spooler_fd(void)
{
    return old_spool;
}

bool spooler_is_lost(void)
{
    return lost;
}

void spooler_drop(void)
{
    note('d');
}

const char *spooler_string(u32 offset)
{
    assert_true(offset == 1 || offset == 2);
    return offset == 1 ? engine : skip_list;
}

bool threads_is_profiled(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return profiled;
}

void stopworld_stop(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('{');
}

void stopworld_resume(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('}');
}

static void run(struct thread *of)
{
    assert_ptr_equal(of, t);
    longjmp(back, 1);
}

void (*reentry_run)(struct thread *of) = run;

// Nothing is mapped below the first page.
int clientmem_read_u64(u64 gaddr, u64 *value)
{
    if (gaddr < 4096 || ++reads == bad_read)
        return -EFAULT;
    *value = *(const u64 *)gaddr;
    return 0;
}

s64 clientmem_read_str(char *dst, u64 gaddr, u64 size)
{
    if (gaddr < 4096)
        return -EFAULT;
    assert_true(strlen((const char *)gaddr) < size);
    strcpy(dst, (const char *)gaddr);
    return (s64)strlen(dst);
}

// -- files --

static void make_file(const char *name, u32 mode, const void *data, u64 n)
{
    int fd = (int)sys_open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(sys_write(fd, data, n), n);
    sys_call2(SYS_fchmod, (u64)fd, mode);
    sys_close(fd);
}

static void make_text(const char *name, u32 mode, const char *text)
{
    make_file(name, mode, text, strlen(text));
}

// An executable of one page, with an interpreter or not: as elf.h wants it, of no other use.
static void make_elf(const char *name, u8 class, u16 machine, const char *interp)
{
    struct {
        u8 ident[16];
        u16 type, machine;
        u32 version;
        u64 entry, phoff, shoff;
        u32 flags;
        u16 ehsize, phentsize, phnum, rest[3];
        struct elf_phdr load, interp;
        char name[16];
    } image = { .ident = { 0x7f, 'E', 'L', 'F', class, 1, 1 },
                .type = 2, // ET_EXEC
                .machine = machine,
                .entry = 0x400000,
                .phoff = 64,
                .phentsize = sizeof(struct elf_phdr),
                .phnum = interp ? 2 : 1,
                .load = { .type = 1, .flags = 5, .vaddr = 0x400000, .filesz = 64, .memsz = 64 } };

    if (interp) {
        strcpy(image.name, interp);
        image.interp.type = 3; // PT_INTERP
        image.interp.offset = offsetof(__typeof__(image), name);
        image.interp.filesz = strlen(interp) + 1;
    }
    make_file(name, 0700, &image, sizeof(image));
}

#define NAMES  \
    X(elf)     \
    X(foreign) \
    X(broken)  \
    X(text)    \
    X(plain)   \
    X(s1)      \
    X(s2)      \
    X(s3)      \
    X(s4)      \
    X(s5) X(s6) X(bare) X(lost) X(denied) X(dynamic) X(unlinked) X(odd) X(d1) X(link) X(rights)

static char folder[PATH_MAX];

// Beside the test program: there it may be executed.
static int make_files(void **state)
{
    (void)state;
    long n = sys_readlinkat(AT_FDCWD, "/proc/self/exe", folder, sizeof(folder) - 16);
    assert_true(n > 0);
    strcpy(folder + n, ".XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sys_call1(SYS_chdir, (u64)folder), 0);
    make_elf("elf", 2, 62, NULL);
    make_elf("foreign", 1, 3, NULL); // 32 bits, 80386
    make_elf("broken", 2, 62, NULL);
    assert_int_equal(sys_call2(SYS_truncate, (u64) "broken", 80), 0);
    make_text("text", 0700, "hello\n");
    make_elf("plain", 2, 62, NULL);
    sys_call2(SYS_chmod, (u64) "plain", 0600);
    make_text("s1", 0700, "#!elf one\n");
    make_text("s2", 0700, "#!s1\n");
    make_text("s3", 0700, "#!s2 three\n");
    make_text("s4", 0700, "#!s3\n");
    make_text("s5", 0700, "#!s4\n");
    make_text("s6", 0700, "#!s5\n");
    make_text("bare", 0700, "#!\n");
    make_text("lost", 0700, "#!no/such\n");
    make_text("denied", 0700, "#!plain\n");
    make_elf("dynamic", 2, 62, "elf");
    make_text("d1", 0700, "#!dynamic\n");
    make_elf("unlinked", 2, 62, "no/such");
    make_elf("odd", 2, 62, "text");
    sys_call2(SYS_symlink, (u64) "elf", (u64) "link");
    make_elf("rights", 2, 62, NULL);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
#define X(name) sys_unlink(#name);
    NAMES
#undef X
    sys_call1(SYS_chdir, (u64) "/");
    return (int)sys_call1(SYS_rmdir, (u64)folder);
}

// -- helpers of the tests --

static const char *const one_two[] = { "zero", "one", "two", NULL };

static int setup(void **state)
{
    (void)state;
    memset(&block, 0, sizeof(block));
    memset(&given, 0, sizeof(given));
    memset(&copied, 0, sizeof(copied));
    memset(did, 0, sizeof(did));
    done = 0;
    stops = bgfinish_stops = allowed_again = sampler_ends = sampler_starts = 0;
    memset(&own, 0, sizeof(own));
    t->own = &own;
    t->sig = &sig;
    header.flags = SPOOL_F_TRACE_CHILDREN;
    header.state = SPOOL_RUNNING;
    skip_list = "";
    engine = "the-engine";
    lost = debugged = noted = unrestored = unclosed = finish_fails = filters_fail = false;
    profiled = true;
    old_spool = OLD_SPOOL;
    ours = -1;
    copy_ret = mask_ret = hand_over_ret = 0;
    answer = -EFAULT;
    copied.fd = -1;
    reads = bad_read = 0;
    if (engine_log_fd == 2)
        engine_log_fd = (int)sys_call2(SYS_memfd_create, (u64) "log", MFD_CLOEXEC);
    sys_ftruncate(engine_log_fd, 0);
    sys_call3(SYS_lseek, (u64)engine_log_fd, 0, 0);
    return 0;
}

static int fresh(u64 flags)
{
    int rc = setup(NULL);

    header.flags = flags;
    return rc;
}

// What engine_msg() wrote, without "==PID== "; "" when it wrote nothing.
static const char *said(void)
{
    static char line[512];

    long n = sys_pread(engine_log_fd, line, sizeof(line) - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    char *text = n > 2 ? strstr(line + 2, "== ") : NULL;
    return text ? text + 3 : "";
}

#define CONTINUES 12345 // by reentry_continue()

static long exec_at(int dirfd, const char *path, const void *argv, int flags)
{
    if (setjmp(back))
        return CONTINUES;
    return exec_handle(t, dirfd, (u64)path, (u64)argv, ENVIRON, flags);
}

static long exec(const char *path)
{
    return exec_at(AT_FDCWD, path, one_two, 0);
}

// Descriptors and the file of the new spool are gone.
static void assert_cleared(void)
{
    if (copied.fd >= 0)
        assert_int_equal(sys_fcntl(copied.fd, F_GETFD, 0), -EBADF);
    assert_int_equal(sys_open(NEW_SPOOL, O_RDONLY, 0), -ENOENT);
    int next = (int)sys_open("/", O_RDONLY, 0);
    assert_true(next >= 0 && next <= engine_log_fd + 1);
    sys_close(next);
}

static void assert_native(const char *letters, const char *path)
{
    assert_string_equal(did, letters);
    assert_int_equal(given.calls, 1);
    assert_ptr_equal(given.path, path);
    assert_ptr_equal(given.argv, one_two);
    assert_int_equal(given.envp, ENVIRON);
    assert_cleared();
}

// -- natively --

static void test_native(void **state)
{
    static const char *const good[] = { "elf", "dynamic", "s1", "s5", "foreign", "link" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        fresh(0);
        assert_int_equal(exec(good[i]), -EFAULT);
        // The profile first; the client's mask and filters last.
        assert_native("{LyFmkX}", good[i]);
        assert_int_equal(given.dir, AT_FDCWD);
        assert_int_equal(given.flags, 0);
        assert_string_equal(said(), "");
        assert_int_equal(header.state, SPOOL_RUNNING);
        assert_int_equal(stops, 1); // it would keep this process's mappings
        assert_int_equal(bgfinish_stops, 1);
        assert_int_equal(allowed_again, 1); // the exec has failed
        assert_int_equal(sampler_starts, sampler_ends);
    }
    fresh(0);
    own.borrowed = true; // the parent goes on with the memory
    assert_int_equal(exec(good[0]), -EFAULT);
    assert_int_equal(stops, 0);
}

// A reference trace gets all records and its end mark; without a trace nothing is drained.
static void test_reftraced(void **state)
{
    (void)state;
    for (u32 on = 0; on < 2; on++) {
        fresh(0);
        memset(&reftrace_told, 0, sizeof(reftrace_told));
        drained = 0;
        reftrace_on = on;
        assert_int_equal(exec("elf"), -EFAULT);
        reftrace_on = false;
        assert_int_equal(drained, on);
        assert_int_equal(reftrace_told.ends, on);
        assert_int_equal(stops, 1);
    }
}

// The kernel refuses the exec: no profile is written, and no filter is set.
static void test_refused(void **state)
{
    static const char *const bad[] = { "no/such", "text",   "plain",    "broken", ".", "bare",
                                       "lost",    "denied", "unlinked", "odd",    "s6" };

    (void)state;
    for (u64 flags = 0; flags <= SPOOL_F_TRACE_CHILDREN; flags += SPOOL_F_TRACE_CHILDREN)
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
            fresh(flags);
            answer = -ENOTBLK; // whatever it says
            assert_int_equal(exec(bad[i]), -ENOTBLK);
            assert_native("mX", bad[i]);
            assert_string_equal(said(), "");
        }
    setup(NULL);
    assert_int_equal(exec((const char *)NOWHERE), -EFAULT);
    assert_native("mX", (const char *)NOWHERE);
    setup(NULL);
    assert_int_equal(exec_at(AT_FDCWD, "elf", one_two, 0x4000), -EFAULT);
    assert_native("mX", (const char *)given.path);
    assert_int_equal(given.flags, 0x4000);
}

// A file that is open for writing cannot be executed; a refused lease shows that.
static void test_written(void **state)
{
    (void)state;
    int fd = (int)sys_open("elf", O_WRONLY | O_CLOEXEC, 0);
    int reader = (int)sys_open("elf", O_RDONLY | O_CLOEXEC, 0);
    bool says = sys_fcntl(reader, F_SETLEASE, F_RDLCK) == -EAGAIN;
    sys_close(reader);
    fresh(0);
    exec("elf");
    sys_close(fd);
    assert_string_equal(did, says ? "mX" : "{LyFmkX}");
    fresh(0);
    exec("elf"); // and no lease remains
    assert_string_equal(did, "{LyFmkX}");
}

static void test_native_ends(void **state)
{
    (void)state;
    fresh(SPOOL_F_FORKED); // Valgrind drops what a forked child has counted
    assert_int_equal(exec("elf"), -EFAULT);
    assert_native("dmkX", given.path);
    fresh(0);
    lost = true;
    exec("elf");
    assert_native("mkX", given.path);
    fresh(0);
    profiled = false;
    exec("elf");
    assert_native("mkX", given.path);
    fresh(0);
    finish_fails = true;
    exec("elf");
    assert_native("{LyFmkX}", given.path);
    assert_string_equal(
        said(), "warning: the profile was not written before the program executed another\n");
    assert_int_equal(said_kept, 1);
    fresh(0);
    filters_fail = true;
    exec("elf");
    assert_native("{LyFmkX}", given.path);
    assert_string_equal(said(),
                        "warning: the seccomp filters are not in force in what is executed now\n");
}

// What is executed without being profiled is counted, while it lasts; not with -q and quern stat,
// nor what the user has chosen by --trace-children-skip.
static void test_native_counted(void **state)
{
    static const u64 none[] = { SPOOL_F_QUIET, SPOOL_F_STAT };

    (void)state;
    fresh(0);
    header.n_native = header.s_native = 0;
    noted_native[0] = '\0';
    assert_int_equal(exec("elf"), -EFAULT);
    assert_int_equal(given.native, 1);
    assert_int_equal(header.n_native, 0);
    assert_int_equal(header.s_native, 3);
    assert_string_equal(first_native, "elf");
    fresh(0);
    profiled = false; // a vfork child, whose spool is its parent's
    exec("s1");
    assert_int_equal(given.native, 1);
    assert_string_equal(first_native, "elf"); // the first one
    assert_string_equal(noted_native, "");
    fresh(SPOOL_F_FORKED);
    exec("elf");
    assert_int_equal(given.native, 0);
    assert_string_equal(noted_native, "+-");
    fresh(SPOOL_F_FORKED);
    profiled = false;
    exec("elf");
    assert_int_equal(given.native, 1);
    assert_string_equal(noted_native, "+-");
    fresh(0);
    exec("no/such");
    assert_int_equal(given.native, 0);
    fresh(0);
    lost = true;
    exec("elf");
    assert_int_equal(given.native, 0);
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        fresh(none[i]);
        exec("elf");
        assert_int_equal(given.native, 0);
    }
    setup(NULL);
    skip_list = "elf";
    exec("elf");
    assert_int_equal(given.native, 0);
}

// A signal is to be delivered first: the client repeats the call.
static void test_native_noted(void **state)
{
    (void)state;
    fresh(0);
    t->stop = 1;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "f"); // before a useless profile is written
    fresh(0);
    noted = true;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "{LyF}f");
    assert_int_equal(header.state, SPOOL_RUNNING);
    fresh(0);
    unrestored = true;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "{LyFm}f");
    fresh(0);
    answer = -ERESTARTNOINTR;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "{LyFmkX}f");
    fresh(0);
    t->stop = 1; // a refused call writes no profile: exec_call checks `stop`
    assert_int_equal(exec("text"), -EFAULT);
    assert_string_equal(did, "mX");
}

// For the kernel the exe link is the engine: the client's program is executed.
static void test_exe(void **state)
{
    (void)state;
    fresh(0);
    assert_int_equal(exec("EXE"), -EFAULT);
    assert_string_equal(did, "{LyFmkX}");
    assert_string_equal(given.path, "elf");
    assert_int_equal(given.dir, AT_FDCWD);
    fresh(0);
    assert_int_equal(exec_at(AT_FDCWD, "EXE", one_two, AT_SYMLINK_NOFOLLOW), -EFAULT);
    assert_native("mX", given.path);
    assert_string_equal(given.path, "EXE");
    setup(NULL);
    assert_int_equal(exec("EXE"), -EFAULT);
    assert_string_equal(did, "c+hyMXf-");
    assert_non_null(strstr(given.args, "EXE|"));
    assert_non_null(strstr(copied.program, "/elf"));
}

// -- in an engine --

static void test_traced(void **state)
{
    char program[PATH_MAX + 8], expected[64];

    (void)state;
    assert_int_equal(exec("elf"), -EFAULT);
    assert_string_equal(did, "c+hyMXf-");
    assert_int_equal(given.calls, 1);
    assert_string_equal(given.path, "the-engine");
    assert_int_equal(given.dir, AT_FDCWD);
    assert_int_equal(given.flags, 0);
    assert_int_equal(given.envp, ENVIRON);
    snprintf(expected, sizeof(expected), "elf|%s|zero|one|two|", given.fds);
    assert_string_equal(given.args, expected);
    assert_int_equal(atoi(given.fds), copied.fd);
    assert_string_equal(strrchr(given.fds, ','), ",77");
    assert_int_equal(given.fd_flags[0], 0); // both survive the exec
    assert_int_equal(given.fd_flags[1], 0);
    assert_int_equal(given.lease, F_UNLCK);
    snprintf(program, sizeof(program), "%s/elf", folder);
    assert_string_equal(copied.program, program);
    assert_string_equal(copied.args, "zero|one|two|");
    assert_int_equal(copied.mask, 0x55);
    assert_int_equal(header.state, SPOOL_RUNNING);
    assert_string_equal(said(), "");
    assert_cleared();
}

// A process without its own spool hands none over.
static void test_traced_without_own(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        setup(NULL);
        lost = i == 0;
        profiled = i != 1;
        old_spool = i == 2 ? -EMFILE : OLD_SPOOL;
        assert_int_equal(exec("elf"), -EFAULT);
        assert_string_equal(did, i == 1 ? "cohMXf-" : "cohyMXf-");
        assert_ptr_equal(strchr(given.fds, ','), strrchr(given.fds, ','));
        assert_int_equal(given.fd_flags[1], 0);
        assert_cleared();
    }
}

static void assert_args(const char *path, const char *const *argv, const char *expected)
{
    char all[512];

    setup(NULL);
    assert_int_equal(exec_at(AT_FDCWD, path, argv, 0), -EFAULT);
    snprintf(all, sizeof(all), "%s|%s|%s", path, given.fds, expected);
    assert_string_equal(given.args, all);
    assert_string_equal(copied.args, expected);
}

// As in execve(2): interpreter, its one argument, the script's name; argv[0] is dropped.
static void test_scripts(void **state)
{
    static const char *const none[] = { NULL };

    (void)state;
    assert_args("s1", one_two, "elf|one|s1|one|two|");
    assert_args("s2", one_two, "elf|one|s1|s2|one|two|");
    assert_args("s3", one_two, "elf|one|s1|s2|three|s3|one|two|");
    assert_args("s5", one_two, "elf|one|s1|s2|three|s3|s4|s5|one|two|");
    assert_args("s1", none, "elf|one|s1|");
    assert_args("s1", NULL, "elf|one|s1|");
    assert_args("elf", none, "|"); // never without argv[0]
    assert_args("elf", NULL, "|");
    assert_cleared();
}

// 2048 pointers, less those that scripts may need, are on the stack, more in separate pages;
// 0x400000 are more than the kernel takes.
static void test_many(void **state)
{
    static const u64 counts[] = { 2029, 2030, 5000 };
    u64 bytes = 0x400002 * 8;
    u64 *argv =
        (u64 *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        u8 there;

        for (u64 k = 0; k < counts[i]; k++)
            argv[k] = (u64) "a";
        setup(NULL);
        assert_int_equal(exec_at(AT_FDCWD, "elf", argv, 0), -EFAULT);
        assert_int_equal(given.count, counts[i] + 2);
        // Near this frame, or not
        assert_int_equal((u64)&there - (u64)given.argv < 1 << 20, i == 0);
        if (i)
            assert_int_equal(sys_call3(SYS_mincore, (u64)given.argv, 4096, (u64)&there), -ENOMEM);
    }
    for (u64 k = 0; k < 0x400000; k++)
        argv[k] = (u64) "a";
    setup(NULL);
    assert_int_equal(exec_at(AT_FDCWD, "elf", argv, 0), -EFAULT);
    assert_int_equal(given.count, 0x400002);
    argv[0x400000] = (u64) "a";
    setup(NULL);
    assert_int_equal(exec_at(AT_FDCWD, "elf", argv, 0), -E2BIG);
    assert_string_equal(did, "");
    assert_cleared();
    setup(NULL);
    assert_int_equal(exec_at(AT_FDCWD, "elf", (void *)NOWHERE, 0), -EFAULT);
    assert_string_equal(did, "");
    assert_cleared();
    sys_munmap((u64)argv, bytes);
}

static char vm_size[32];

static const char *memory(void)
{
    char text[64] = "";
    int fd = (int)sys_open("/proc/self/statm", O_RDONLY, 0);

    sys_read(fd, text, sizeof(text) - 1);
    sys_close(fd);
    snprintf(vm_size, sizeof(vm_size), "%.*s", (int)strcspn(text, " "), text);
    return vm_size;
}

// The arguments disappear between counting and copying.
static void test_many_fault(void **state)
{
    static u64 argv[3001];
    char before[32];

    (void)state;
    for (int i = 0; i < 3000; i++)
        argv[i] = (u64) "a";
    exec_at(AT_FDCWD, "elf", argv, 0);
    strcpy(before, memory());
    setup(NULL);
    bad_read = 3001 + 2500;
    assert_int_equal(exec_at(AT_FDCWD, "elf", argv, 0), -EFAULT);
    assert_string_equal(did, "");
    assert_string_equal(memory(), before); // in pages
    assert_cleared();
}

// No memory for the arguments: native exec.
static void test_many_no_memory(void **state)
{
    static u64 argv[3001];
    int status = 0;

    (void)state;
    for (int i = 0; i < 3000; i++)
        argv[i] = (u64) "a";
    exec_at(AT_FDCWD, "elf", argv, 0); // the stack is large enough from now on
    setup(NULL);
    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        struct k_rlimit none = { 1 << 20, 1 << 20 };

        sys_prlimit(RLIMIT_AS, &none, NULL);
        sys_exit_group(exec_at(AT_FDCWD, "elf", argv, 0) == -EFAULT && !strcmp(did, "{LyFmkX}") &&
                               !given.count
                           ? 44
                           : 45);
    }
    sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0);
    assert_int_equal(status, 44 << 8);
}

#define NO_ENGINE "elf is not profiled: its spool cannot be made, or the engine not be executed\n"

// Errors of the engine are not shown to the client: native exec.
static void test_traced_fails(void **state)
{
    (void)state;
    copy_ret = -ENOSPC;
    assert_int_equal(exec("elf"), -EFAULT);
    assert_native("c{LyFmkX}", given.path);
    assert_string_equal(said(), NO_ENGINE);
    setup(NULL);
    hand_over_ret = -ENOMEM;
    exec("elf");
    assert_native("c+h-{LyFmkX}", given.path);
    assert_string_equal(said(), NO_ENGINE);
    setup(NULL);
    mask_ret = -EIO;
    exec("elf");
    assert_native("c+hyMf-{LyFmkX}", given.path);
    setup(NULL);
    answer = -ENOENT; // of both
    assert_int_equal(exec("elf"), -ENOENT);
    assert_string_equal(did, "c+hyMXf-{LyFmkX}");
    assert_int_equal(given.calls, 2);
    assert_string_equal(said(), NO_ENGINE);
    assert_cleared();
    setup(NULL);
    answer = -E2BIG; // the client's own
    assert_int_equal(exec("elf"), -E2BIG);
    assert_string_equal(did, "c+hyMXf-");
    assert_string_equal(said(), "");
}

static void test_traced_noted(void **state)
{
    (void)state;
    noted = true;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "c+hyf-f");
    assert_cleared();
    setup(NULL);
    unclosed = true;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "c+hyMf-f");
    setup(NULL);
    answer = -ERESTARTNOINTR;
    assert_int_equal(exec("elf"), CONTINUES);
    assert_string_equal(did, "c+hyMXf-f");
    assert_string_equal(said(), "");
    assert_cleared();
}

// -- children that are not profiled although children are traced --

static void test_skipped(void **state)
{
    static const struct {
        const char *list;
        bool skips;
    } lists[] = { { "elf", true },    { "e*", true },  { "foo,elf", true }, { "foo,elf,bar", true },
                  { ",,?lf,", true }, { "el", false }, { "elf2", false },   { "foo,bar", false },
                  { "*/elf", false }, { ",", false } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        setup(NULL);
        skip_list = lists[i].list;
        exec("elf");
        assert_string_equal(did, lists[i].skips ? "{LyFmkX}" : "c+hyMXf-");
        assert_string_equal(said(), "");
    }
    setup(NULL);
    debugged = true;
    exec("elf");
    assert_native("{LyFmkX}", given.path);
    assert_string_equal(said(), "");
}

static void test_foreign(void **state)
{
    (void)state;
    exec("foreign");
    assert_native("{LyFmkX}", given.path);
    assert_string_equal(said(), "foreign is not profiled: it is a 32-bit program; only 64-bit "
                                "programs can be profiled\n");
    setup(NULL);
    skip_list = "foreign"; // was not to be
    exec("foreign");
    assert_native("{LyFmkX}", given.path);
    assert_string_equal(said(), "");
}

static void assert_rights(u64 uid, u64 gid, u32 mode, bool gains)
{
    setup(NULL);
    if (sys_call3(SYS_chown, (u64) "rights", uid, gid)) {
        print_message("# rights: who runs this may not give files away\n");
        return;
    }
    assert_int_equal(sys_call2(SYS_chmod, (u64) "rights", mode), 0);
    exec("rights");
    assert_string_equal(did, gains ? "{LyFmkX}" : "c+hyMXf-");
    assert_string_equal(
        said(), gains ? "rights is not profiled: it runs with other rights than its caller\n" : "");
}

static void test_rights(void **state)
{
    u64 uid = (u64)sys_call0(SYS_geteuid), gid = (u64)sys_call0(SYS_getegid);

    (void)state;
    assert_rights(uid, gid, 06755, false); // its own
    assert_rights(NOBODY, gid, 0755, false);
    assert_rights(NOBODY, gid, 04755, true);
    assert_rights(uid, NOBODY, 0755, false);
    assert_rights(uid, NOBODY, 02755, true);
    assert_rights(uid, NOBODY, 02745, false); // without execution by the group: locks, once
    sys_call3(SYS_chown, (u64) "rights", uid, gid);
}

// -- the client's path --

static void test_descriptors(void **state)
{
    char name[32], full[PATH_MAX + 8];

    (void)state;
    int dir = (int)sys_open(".", O_RDONLY | O_CLOEXEC, 0);
    snprintf(name, sizeof(name), "/dev/fd/%d/elf|", dir);
    assert_int_equal(exec_at(dir, "elf", one_two, 0), -EFAULT);
    assert_memory_equal(given.args, name, strlen(name));
    setup(NULL);
    snprintf(full, sizeof(full), "%s/elf", folder);
    assert_int_equal(exec_at(dir, full, one_two, 0), -EFAULT); // not relative to it
    assert_memory_equal(given.args, full, strlen(full));
    fresh(0);
    exec_at(dir, "elf", one_two, AT_SYMLINK_NOFOLLOW);
    assert_string_equal(did, "{LyFmkX}");
    assert_int_equal(given.dir, dir);
    assert_int_equal(given.flags, AT_SYMLINK_NOFOLLOW);
    fresh(0);
    exec_at(dir, "link", one_two, AT_SYMLINK_NOFOLLOW);
    assert_string_equal(did, "mX");
    sys_close(dir);

    int fd = (int)sys_open("elf", O_RDONLY | O_CLOEXEC, 0);
    snprintf(name, sizeof(name), "/dev/fd/%d|", fd);
    setup(NULL);
    assert_int_equal(exec_at(fd, "", one_two, AT_EMPTY_PATH), -EFAULT);
    assert_string_equal(did, "c+hyMXf-");
    assert_memory_equal(given.args, name, strlen(name));
    setup(NULL);
    exec_at(fd, "", one_two, 0);
    assert_string_equal(did, "mX");
    setup(NULL);
    ours = fd; // the client does not have it
    exec_at(fd, "", one_two, AT_EMPTY_PATH);
    assert_string_equal(did, "mX");
    setup(NULL);
    exec_at(AT_FDCWD, "", one_two, AT_EMPTY_PATH);
    assert_string_equal(did, "mX");
    sys_close(fd);
}

// The interpreter opens a script by the descriptor's name, which must still exist.
static void test_script_by_descriptor(void **state)
{
    char name[64];

    (void)state;
    int fd = (int)sys_open("s1", O_RDONLY | O_CLOEXEC, 0);
    int next = (int)sys_fcntl(fd, F_DUPFD, 0);
    sys_close(next);
    exec_at(fd, "", one_two, AT_EMPTY_PATH);
    assert_string_equal(did, "mX");
    // Neither the script nor its interpreter, opened after it, is still open.
    assert_int_equal(sys_fcntl(next, F_GETFD, 0), -EBADF);
    assert_int_equal(sys_fcntl(next + 1, F_GETFD, 0), -EBADF);
    sys_fcntl(fd, F_SETFD, 0);
    setup(NULL);
    exec_at(fd, "", one_two, AT_EMPTY_PATH);
    assert_string_equal(did, "c+hyMXf-");
    snprintf(name, sizeof(name), "elf|one|/dev/fd/%d|one|two|", fd);
    assert_string_equal(copied.args, name);
    sys_close(fd);
}

// Descriptor 0 works like any other; and its file is not executed instead of one that cannot be.
static void test_descriptor_0(void **state)
{
    (void)state;
    int kept = (int)sys_fcntl(0, F_DUPFD_CLOEXEC, 100);
    static const char *const good[] = { "elf", "s1", "s2", "d1", "dynamic" };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        sys_close(0);
        setup(NULL);
        exec(good[i]);
        assert_string_equal(did, "c+hyMXf-");
    }
    static const char *const bad[] = { (const char *)NOWHERE, "plain", "no/such", "denied" };
    assert_int_equal(sys_open("elf", O_RDONLY, 0), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setup(NULL);
        exec(bad[i]);
        assert_string_equal(did, "mX");
        assert_int_equal(sys_fcntl(0, F_GETFD, 0), 0);
    }
    if (kept >= 0)
        sys_call3(SYS_dup3, (u64)kept, 0, 0);
    else
        sys_close(0);
    sys_close(kept);
}

// -- at start --

// This program, executed as the engine: its exit status tells whether its arguments are right.
static int is_engine(int argc, char *argv[])
{
    int fd = argc == 7 ? atoi(strchr(argv[1], ',') + 1) : -1;
    u8 magic[4] = "";

    sys_pread(fd, magic, 4, 0);
    return argc == 7 && !strcmp(argv[0], "s1") && !strncmp(argv[1], "9,", 2) &&
                   !strcmp(argv[2], "elf") && !strcmp(argv[3], "one") && !strcmp(argv[4], "s1") &&
                   !strcmp(argv[5], "a1") && !strcmp(argv[6], "a2") && !memcmp(magic, "\177ELF", 4)
               ? 44
               : 45;
}

static void test_start(void **state)
{
    char *argv[] = { (char *)(u64) "a0", (char *)(u64) "a1", (char *)(u64) "a2", NULL };
    char *envp[] = { (char *)(u64) "IS_ENGINE=1", NULL };
    int status = 0;

    (void)state;
    engine = "/proc/self/exe";
    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        exec_script(9, (int)sys_open("s1", O_RDONLY | O_CLOEXEC, 0), "s1", argv, envp);
        sys_exit_group(46);
    }
    sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0);
    assert_int_equal(status, 44 << 8);
    engine = "no/such";
    int fd = (int)sys_open("s1", O_RDONLY | O_CLOEXEC, 0);
    assert_string_equal(exec_script(9, fd, "s1", argv, envp),
                        "the engine cannot be executed again for the interpreter of its #! line");
    // The script is closed; its interpreter, the next number, was to survive.
    assert_int_equal(sys_fcntl(fd, F_GETFD, 0), -EBADF);
    assert_int_equal(sys_fcntl(fd + 1, F_GETFD, 0), 0);
    sys_close(fd + 1);
}

static void test_start_refused(void **state)
{
    static const struct {
        const char *name, *why;
    } bad[] = { { "bare", "its #! line names no interpreter" },
                { "lost", "the interpreter of its #! line does not exist" },
                { "denied", "the interpreter of its #! line cannot be executed" },
                { "s6", "the chain of #! interpreters is too long" },
                { "foreign", "it is a 32-bit program; only 64-bit programs can be profiled" } };
    char *none[] = { NULL };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int fd = (int)sys_open(bad[i].name, O_RDONLY | O_CLOEXEC, 0);

        assert_string_equal(exec_script(9, fd, bad[i].name, none, none), bad[i].why);
        assert_int_equal(sys_fcntl(fd, F_GETFD, 0), -EBADF);
    }
    assert_cleared();
    int fd = (int)sys_open("s1", O_RDONLY | O_CLOEXEC, 0);
    assert_string_equal(exec_script(9, fd, "s1", (char **)NOWHERE, none),
                        "its arguments are too many");
    sys_close(fd + 1);
}

static void test_remove_old(void **state)
{
    (void)state;
    make_text("old", 0600, "counts");
    int fd = (int)sys_open("old", O_RDONLY | O_CLOEXEC, 0);
    exec_remove_old(fd);
    assert_int_equal(sys_open("old", O_RDONLY, 0), -ENOENT);
    sys_close(fd);
    exec_remove_old(fd); // nothing to remove
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_native, setup),
        cmocka_unit_test_setup(test_reftraced, setup),
        cmocka_unit_test_setup(test_refused, setup),
        cmocka_unit_test_setup(test_written, setup),
        cmocka_unit_test_setup(test_native_ends, setup),
        cmocka_unit_test_setup(test_native_counted, setup),
        cmocka_unit_test_setup(test_native_noted, setup),
        cmocka_unit_test_setup(test_exe, setup),
        cmocka_unit_test_setup(test_traced, setup),
        cmocka_unit_test_setup(test_traced_without_own, setup),
        cmocka_unit_test_setup(test_scripts, setup),
        cmocka_unit_test_setup(test_many, setup),
        cmocka_unit_test_setup(test_many_fault, setup),
        cmocka_unit_test_setup(test_many_no_memory, setup),
        cmocka_unit_test_setup(test_traced_fails, setup),
        cmocka_unit_test_setup(test_traced_noted, setup),
        cmocka_unit_test_setup(test_skipped, setup),
        cmocka_unit_test_setup(test_foreign, setup),
        cmocka_unit_test_setup(test_rights, setup),
        cmocka_unit_test_setup(test_descriptors, setup),
        cmocka_unit_test_setup(test_script_by_descriptor, setup),
        cmocka_unit_test_setup(test_descriptor_0, setup),
        cmocka_unit_test_setup(test_start, setup),
        cmocka_unit_test_setup(test_start_refused, setup),
        cmocka_unit_test_setup(test_remove_old, setup),
    };

    if (getenv("IS_ENGINE"))
        return is_engine(argc, argv);
    return cmocka_run_group_tests_name("process/exec", tests, make_files, remove_files);
}
