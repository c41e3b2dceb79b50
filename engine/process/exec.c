// SPDX-License-Identifier: MIT
// execve and execveat (exec.h).
//
// After the exec of another engine has succeeded, no error can be returned any more, so the target
// is examined first, with the rules of elf.c. If it is not certain that the engine can load the
// file, the client's own call is made: the kernel returns the right error, or runs what the engine
// cannot (32-bit programs, setuid programs, files that may be executed but not read, formats that
// binfmt_misc knows). So every error that a client sees is the kernel's.
//
// No heap here: a vfork child runs in its parent's memory, and nobody would free its allocations.
#include "engine/process/exec.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/reftrace.h"
#include "engine/process/bgfinish.h"
#include "engine/process/elf.h"
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

#define LEVELS_MAX 5        // scripts whose interpreter is a script: fs/exec.c, exec_binprm
#define ARGS_STACK 2048     // pointers; more need pages of their own
#define ARGS_MAX   0x400000 // the kernel's limit on all strings together is below that

// What to execute once scripts are resolved.
struct plan {
    int fd; // the ELF file
    u32 levels;
    struct elf_script script[LEVELS_MAX];
    struct elf_file file;
};

// exec.S: execveat, or -ERESTARTNOINTR if *stop is set or a signal arrives before the call.
extern long exec_call(int dir, const char *path, const u64 *argv, u64 envp, int flags,
                      const u64 *stop);

// ---- The target ----

static bool executable(int fd)
{
    struct k_stat st;

    // AT_EACCESS: the effective ids decide.
    return sys_fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == S_IFREG &&
           sys_faccessat2(fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

// Is the file open for writing? Then the kernel refuses a lease. False if leases are not permitted.
static bool being_written(int fd)
{
    long ret = sys_fcntl(fd, F_SETLEASE, F_RDLCK);

    if (ret == 0)
        sys_fcntl(fd, F_SETLEASE, F_UNLCK);
    return ret == -EAGAIN;
}

// Opens `path` as an interpreter. Returns the descriptor, or a negative number when the kernel
// would not execute it either.
static int open_interpreter(const char *path)
{
    long fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

    if (fd >= 0 && !executable((int)fd)) {
        sys_close((int)fd);
        return -EACCES;
    }
    return (int)fd;
}

// Follows #! lines to an ELF file that the engine can load. Takes fd over. False, with everything
// closed: *why says why.
static bool resolve(struct plan *p, int fd, const char **why)
{
    *why = NULL;
    p->fd = fd;
    p->levels = 0;
    for (;;) {
        elf_examine(&p->file, p->fd);
        if (p->file.kind != ELF_SCRIPT)
            break;
        if (p->levels == LEVELS_MAX) {
            *why = "the chain of #! interpreters is too long";
            break;
        }
        struct elf_script *s = &p->script[p->levels];
        if (!elf_script_parse(&p->file, s)) {
            *why = "its #! line names no interpreter";
            break;
        }
        int next = open_interpreter(s->interp);
        if (next < 0) {
            *why = next == -ENOENT ? "the interpreter of its #! line does not exist"
                                   : "the interpreter of its #! line cannot be executed";
            break;
        }
        sys_close(p->fd);
        p->fd = next;
        p->levels++;
    }
    if (!*why && p->file.kind != ELF_LOADABLE)
        *why = p->file.why;
    if (*why) {
        sys_close(p->fd);
        return false;
    }
    return true;
}

// Whether the file's PT_INTERP can be loaded. Overwrites p->file.
static bool interpreter_loads(struct plan *p)
{
    char path[PATH_MAX];

    if (!p->file.has_interp)
        return true;
    memcpy(path, p->file.interp, sizeof(path));
    int fd = open_interpreter(path);
    if (fd < 0)
        return false;
    elf_examine(&p->file, fd);
    bool good = p->file.kind == ELF_LOADABLE;
    sys_close(fd);
    return good;
}

// Would executing the file change the process's privileges?
static bool gains_privilege(int fd)
{
    struct k_stat st;
    u8 caps[64];

    if (sys_fstat(fd, &st))
        return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != (u32)sys_call0(SYS_geteuid))
        return true;
    if ((st.st_mode & S_ISGID) && (st.st_mode & 010) && st.st_gid != (u32)sys_call0(SYS_getegid))
        return true;
    return sys_call4(SYS_fgetxattr, (u64)fd, (u64) "security.capability", (u64)caps, sizeof(caps)) >
           0;
}

// --trace-children-skip: comma-separated patterns, matched against the name that the client gives.
static bool skipped(const char *name)
{
    const char *list = spooler_string(spool->s_skip);
    char pattern[PATH_MAX];

    while (*list) {
        u64 n = 0;
        while (list[n] && list[n] != ',')
            n++;
        if (n && n < sizeof(pattern)) {
            memcpy(pattern, list, n);
            pattern[n] = '\0';
            if (nolibc_glob(pattern, name))
                return true;
        }
        list += n + (list[n] == ',');
    }
    return false;
}

// ---- Arguments ----

struct args {
    u64 *v;    // the engine's two, the scripts', the client's; ended by 0
    u64 pages; // bytes mapped for v, 0: on the stack
    u64 on_stack[ARGS_STACK];
};

static void args_free(struct args *a)
{
    if (a->pages)
        sys_munmap((u64)a->v, a->pages);
}

// Replaces argv[0] by the scripts' interpreters and the script's name; n counts the words in v.
static u64 args_scripts(u64 *v, u64 n, struct plan *p, const char *name)
{
    for (u32 i = p->levels; i-- > 0;) {
        v[n++] = (u64)p->script[i].interp;
        if (p->script[i].has_argument)
            v[n++] = (u64)p->script[i].argument;
    }
    if (p->levels)
        v[n++] = (u64)name;
    return n;
}

static long args_build(struct args *a, struct plan *p, const char *name, u64 argv)
{
    u64 count = 0, word = 0, n = 2;

    a->v = a->on_stack;
    a->pages = 0;
    for (; argv; count++) {
        if (clientmem_read_u64(argv + count * 8, &word))
            return -EFAULT;
        if (!word)
            break;
        if (count == ARGS_MAX)
            return -E2BIG;
    }
    if (count + 3 * LEVELS_MAX + 4 > ARGS_STACK) {
        u64 bytes = PAGE_UP((count + 3 * LEVELS_MAX + 4) * 8);
        long got = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_failed(got))
            return -ENOMEM;
        a->v = (u64 *)got;
        a->pages = bytes;
    }
    n = args_scripts(a->v, n, p, name);
    for (u64 i = p->levels ? 1 : 0; i < count; i++) {
        if (clientmem_read_u64(argv + i * 8, &a->v[n])) {
            args_free(a);
            return -EFAULT;
        }
        if (!a->v[n])
            break;
        n++;
    }
    // As in the kernel: a program always has argv[0].
    if (!count && !p->levels)
        a->v[n++] = (u64) "";
    a->v[n] = 0;
    return 0;
}

// ---- The calls ----

// The replayer and the background finisher would keep this process's memory mapped. If the exec
// fails, each thread replays its own records.
static void leave_memory(struct thread *t)
{
    if (!threads_is_profiled(t) || thread_own(t)->borrowed)
        return;
    if (reftrace_on) {
        recordbuf_drain(t);
        reftrace_ends();
    }
    replayer_stop();
    bgfinish_stop();
    sampler_end(t); // a kick would end the executed program
}

// The exec has failed, and the program goes on.
static void stay(struct thread *t)
{
    replayer_allow();
    if (threads_is_profiled(t) && !thread_own(t)->borrowed)
        sampler_start(t);
}

// sure: the exec will succeed, so the engine runs no more code under the client's filters.
static long go(struct thread *t, int dirfd, const char *path, const u64 *argv, u64 envp, int flags,
               bool sure)
{
    long ret;

    leave_memory(t);
    if (mask_any_noted(t) || !mask_restore_for_exec(t)) {
        stay(t);
        return -ERESTARTNOINTR;
    }
    if (sure && !seccomp_to_kernel(t))
        engine_msg("warning: the seccomp filters are not in force in what is executed now");
    ret = exec_call(dirfd, path, argv, envp, flags, &t->stop);
    stay(t);
    return ret;
}

// Executes the engine with all signals blocked. It unblocks them when it can end the new program by
// a signal.
static long go_traced(struct thread *t, int spool_fd, const u64 *argv, u64 envp)
{
    long ret = -ERESTARTNOINTR;
    u64 mask;

    leave_memory(t);
    if (threads_is_profiled(t) && !thread_own(t)->borrowed && threads_count() == 1)
        pcache_save(); // a shell that executes its only command
    if (!mask_any_noted(t) && mask_close_for_exec(t, &mask)) {
        ret = copy_set_start_mask(spool_fd, mask);
        if (!ret)
            ret = exec_call(AT_FDCWD, spooler_string(spool->s_engine), argv, envp, 0, &t->stop);
    }
    mask_exec_failed(t);
    stay(t);
    return ret;
}

// Counts a program that is executed, for the summary of who executes it; `more` is -1 where the
// call has failed.
static void note_native(struct thread *t, const char *path, s64 more)
{
    if (spool->flags & (SPOOL_F_TRACE_CHILDREN | SPOOL_F_QUIET | SPOOL_F_STAT) || spooler_is_lost())
        return;
    if ((spool->flags & SPOOL_F_FORKED) && threads_is_profiled(t)) {
        copy_note_native(more);
        return;
    }
    if (!spool->s_native)
        spool->s_native = spooler_text(path);
    __atomic_add_fetch(&spool->n_native, (u64)more, __ATOMIC_RELAXED);
}

// By the client's own call. `ends`: the call is expected to succeed, so this process's counts are
// final.
// DIFFERS: Valgrind never writes a profile for an image that execs; Quern keeps the counts of the
// process that was started.
static long native(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags, bool ends)
{
    const char *target = (const char *)path;
    char own[PATH_MAX];
    s64 len = clientmem_read_str(own, path, sizeof(own));
    bool stopped = false, sure = ends;

    // Natively the link names the client's program, here the engine.
    // DIFFERS: the new image's AT_EXECFN and name are those of the file, not of the link.
    if (len > 0 && !(flags & AT_SYMLINK_NOFOLLOW) && procnames_is_exe(dirfd, own)) {
        target = procnames_exe();
        dirfd = AT_FDCWD;
    }
    ends = ends && threads_is_profiled(t) && !spooler_is_lost();
    if (ends && t->stop)
        return -ERESTARTNOINTR;
    if (sure)
        note_native(t, len > 0 ? own : "", 1);
    if (ends && !(spool->flags & SPOOL_F_FORKED)) {
        stopworld_stop(t);
        stopped = true;
        recordbuf_drain_all(0);
        pcache_save();
        if (finisher_in_child(SPOOL_END_EXIT, 0)) {
            engine_msg("warning: the profile was not written before the program executed another");
            spooler_say_held();
        }
    } else if (ends) {
        spooler_drop();
    }
    long ret = go(t, dirfd, target, (const u64 *)argv, envp, flags, sure);
    if (sure)
        note_native(t, "", -1);
    if (ends)
        spool->state = SPOOL_RUNNING;
    if (stopped)
        stopworld_resume(t);
    return ret;
}

// Into a new engine. The target is p; its interpreter exists.
static long traced(struct thread *t, struct plan *p, const char *name, u64 argv, u64 envp)
{
    char fds[48], path[PATH_MAX], exe[PATH_MAX], link[40];
    bool own_spool = threads_is_profiled(t) && !spooler_is_lost();
    struct args args;
    int fd;

    long ret = args_build(&args, p, name, argv);
    if (ret)
        return ret;

    nolibc_format(link, sizeof(link), "/proc/self/fd/%d", p->fd);
    long n = sys_readlinkat(AT_FDCWD, link, exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    ret = fd = copy_for_exec(n > 0 ? exe : name, args.v + 2, path, sizeof(path));
    if (fd >= 0) {
        int old = own_spool ? spooler_fd() : -1;

        own_spool = old >= 0;
        if (own_spool)
            nolibc_format(fds, sizeof(fds), "%d,%d,%d", fd, p->fd, old);
        else
            nolibc_format(fds, sizeof(fds), "%d,%d", fd, p->fd);
        args.v[0] = (u64)name;
        args.v[1] = (u64)fds;
        sys_fcntl(fd, F_SETFD, 0);
        sys_fcntl(p->fd, F_SETFD, 0);
        if (own_spool)
            fds_keep_over_exec(true);
        else
            fds_keep_log_over_exec(true);
        ret = seccomp_hand_over(t, fd);
        if (!ret)
            ret = go_traced(t, fd, args.v, envp);
        fds_keep_over_exec(false);
        sys_close(fd);
        sys_unlink(path);
    }
    args_free(&args);
    return ret;
}

// Errors that the client caused: the kernel would return the same for the same call.
static bool is_clients(long error)
{
    return error == -EFAULT || error == -E2BIG || error == -ERESTARTNOINTR;
}

static bool is_native_name(const char *name, int fd, const char **warning)
{
    *warning = NULL;
    if (skipped(name) || tracer_is_debugger())
        return true;
    if (gains_privilege(fd))
        *warning = "it runs with other rights than its caller";
    return *warning != NULL;
}

// Opens the client's path for reading. Sets name to the kernel's name of it (AT_EXECFN). -errno:
// the kernel decides.
static int open_target(int dirfd, u64 path, int flags, char *name)
{
    char own[PATH_MAX];
    s64 len = clientmem_read_str(own, path, sizeof(own));
    int mode = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

    if (len < 0 || (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)))
        return -EINVAL;
    if (len == 0) {
        if (!(flags & AT_EMPTY_PATH) || dirfd < 0 || fds_is_ours(dirfd))
            return -ENOENT;
        nolibc_format(own, sizeof(own), "/proc/self/fd/%d", dirfd);
        nolibc_format(name, PATH_MAX, "/dev/fd/%d", dirfd);
        return (int)sys_open(own, mode, 0);
    }
    if (own[0] == '/' || dirfd == AT_FDCWD)
        memcpy(name, own, (u64)len + 1);
    else if (nolibc_format(name, PATH_MAX, "/dev/fd/%d/%s", dirfd, own) >= PATH_MAX)
        return -ENAMETOOLONG;
    if (flags & AT_SYMLINK_NOFOLLOW)
        mode |= O_NOFOLLOW;
    else if (procnames_is_exe(dirfd, own))
        return (int)sys_open(procnames_exe(), mode, 0);
    return (int)sys_openat(dirfd, own, mode, 0);
}

// If the exec closes the descriptor that names a script, the interpreter cannot open the script.
static bool closes_script(const struct plan *p, int dirfd, const char *name)
{
    return p->levels && strncmp(name, "/dev/fd/", 8) == 0 &&
           (sys_fcntl(dirfd, F_GETFD, 0) & FD_CLOEXEC);
}

long exec_handle(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags)
{
    const char *why, *warning = NULL;
    char name[PATH_MAX];
    struct plan p;
    bool known = false, expected = false;
    long ret;

    // Will the exec succeed, and is it native or traced?
    int fd = open_target(dirfd, path, flags, name);
    if (fd >= 0 && (!executable(fd) || being_written(fd))) {
        sys_close(fd);
        fd = -EACCES;
    }
    if (fd >= 0) {
        bool natively =
            !(spool->flags & SPOOL_F_TRACE_CHILDREN) || is_native_name(name, fd, &warning);
        known = resolve(&p, fd, &why);
        if (known && closes_script(&p, dirfd, name)) {
            sys_close(p.fd);
            known = false;
        } else if (known) {
            int elf = p.fd;
            expected = interpreter_loads(&p);
            known = expected && !natively;
            if (!known)
                sys_close(elf);
        } else if (p.file.kind == ELF_FOREIGN) {
            expected = true;
            if (!natively)
                warning = p.file.why;
        }
    }

    ret = known ? traced(t, &p, name, argv, envp) : -ENOSYS;
    if (known)
        sys_close(p.fd);
    if (!known || (ret < 0 && !is_clients(ret))) {
        if (known)
            warning = "its spool cannot be made, or the engine not be executed";
        if (warning)
            engine_msg("%s is not profiled: %s", name, warning);
        ret = native(t, dirfd, path, argv, envp, flags, expected);
    }
    if (ret == -ERESTARTNOINTR) {
        mask_exec_failed(t);
        reentry_continue(t);
    }
    return ret;
}

// ---- At start ----

const char *exec_script(int spool_fd, int fd, const char *name, char *const *argv,
                        char *const *envp)
{
    static struct plan p;
    static struct args args;
    const char *why;
    char fds[32];

    if (!resolve(&p, fd, &why))
        return why;
    // The memory is ours and readable: launch.c runs before the handler that clientmem_read needs.
    if (args_build(&args, &p, name, (u64)argv))
        return "its arguments are too many";
    nolibc_format(fds, sizeof(fds), "%d,%d", spool_fd, p.fd);
    args.v[0] = (u64)name;
    args.v[1] = (u64)fds;
    sys_fcntl(p.fd, F_SETFD, 0);
    sys_call3(SYS_execve, (u64)spooler_string(spool->s_engine), (u64)args.v, (u64)envp);
    return "the engine cannot be executed again for the interpreter of its #! line";
}

void exec_remove_old(int fd)
{
    char name[40], path[PATH_MAX];

    nolibc_format(name, sizeof(name), "/proc/self/fd/%d", fd);
    long n = sys_readlinkat(AT_FDCWD, name, path, sizeof(path) - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    sys_unlink(path);
}
