// SPDX-License-Identifier: MIT
// The client's calls on descriptors and file names: the engine gives up numbers that the client
// wants, names of the engine's descriptors under /proc do not exist, and names of its executable
// mean the client's program, not the engine. These calls may block, so all but the shortest go
// through the gate.

#include "engine/syscalls/files.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/process/procnames.h"
#include "engine/process/rights.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"

// Does the string at gaddr name the link to our own executable? The last component must be "exe",
// which decides nearly every call.
static bool names_exe(int dirfd, u64 gaddr)
{
    char path[PATH_MAX];
    s64 n = clientmem_read_str(path, gaddr, sizeof(path));

    if (n < 3 || memcmp(path + n - 3, "exe", 3) != 0)
        return false;
    if (n > 3 && path[n - 4] != '/')
        return false;
    return procnames_is_exe(dirfd, path);
}

static long client_readlink(u64 buf, s32 size)
{
    const char *program = procnames_exe();
    u64 n = strlen(program);

    if (size <= 0)
        return -EINVAL;
    if (n > (u64)size)
        n = (u64)size;
    return clientmem_write(buf, program, n) ? -EFAULT : (long)n;
}

// Makes the call with the client's program as its path argument (number arg).
static _Noreturn void gate_on_program(struct thread *t, int arg)
{
    u64 args[6] = { t->regs[R_RDI], t->regs[R_RSI], t->regs[R_RDX],
                    t->regs[10],    t->regs[8],     t->regs[9] };

    args[arg] = (u64)procnames_exe();
    gate_call(t, args);
}

// ---- Names of the engine's descriptors ----

// Which argument is the name that a call looks up: the first, the second after a folder's
// descriptor, the second alone. Not in the table: calls that make, remove or move a link, which
// always fail for these names.
enum { NAME_NONE, NAME_FIRST, NAME_BESIDE, NAME_SECOND };

// clang-format off
static const u8 name_argument[GATE_CALLS] = {
    [SYS_open] = NAME_FIRST, [SYS_creat] = NAME_FIRST, [SYS_stat] = NAME_FIRST,
    [SYS_lstat] = NAME_FIRST, [SYS_access] = NAME_FIRST, [SYS_truncate] = NAME_FIRST,
    [SYS_readlink] = NAME_FIRST, [SYS_chmod] = NAME_FIRST, [SYS_chown] = NAME_FIRST,
    [SYS_lchown] = NAME_FIRST, [SYS_utime] = NAME_FIRST, [SYS_utimes] = NAME_FIRST,
    [SYS_statfs] = NAME_FIRST, [SYS_setxattr] = NAME_FIRST, [SYS_lsetxattr] = NAME_FIRST,
    [SYS_getxattr] = NAME_FIRST, [SYS_lgetxattr] = NAME_FIRST, [SYS_listxattr] = NAME_FIRST,
    [SYS_llistxattr] = NAME_FIRST, [SYS_removexattr] = NAME_FIRST,
    [SYS_lremovexattr] = NAME_FIRST, [SYS_chdir] = NAME_FIRST, [SYS_chroot] = NAME_FIRST,
    [SYS_link] = NAME_FIRST, [SYS_execve] = NAME_FIRST, [SYS_acct] = NAME_FIRST,
    [SYS_swapon] = NAME_FIRST, [SYS_swapoff] = NAME_FIRST,
    [SYS_openat] = NAME_BESIDE, [SYS_openat2] = NAME_BESIDE, [SYS_newfstatat] = NAME_BESIDE,
    [SYS_statx] = NAME_BESIDE, [SYS_readlinkat] = NAME_BESIDE, [SYS_faccessat] = NAME_BESIDE,
    [SYS_faccessat2] = NAME_BESIDE, [SYS_fchmodat] = NAME_BESIDE, [SYS_fchmodat2] = NAME_BESIDE,
    [SYS_fchownat] = NAME_BESIDE, [SYS_futimesat] = NAME_BESIDE, [SYS_utimensat] = NAME_BESIDE,
    [SYS_linkat] = NAME_BESIDE, [SYS_execveat] = NAME_BESIDE, [SYS_open_tree] = NAME_BESIDE,
    [SYS_open_tree_attr] = NAME_BESIDE, [SYS_fspick] = NAME_BESIDE,
    [SYS_mount_setattr] = NAME_BESIDE, [SYS_name_to_handle_at] = NAME_BESIDE,
    [SYS_setxattrat] = NAME_BESIDE, [SYS_getxattrat] = NAME_BESIDE,
    [SYS_listxattrat] = NAME_BESIDE, [SYS_removexattrat] = NAME_BESIDE,
    [SYS_file_getattr] = NAME_BESIDE, [SYS_file_setattr] = NAME_BESIDE,
    [SYS_inotify_add_watch] = NAME_SECOND,
};
// clang-format on

// What the gate checks. If a file is opened for reading, only its name matters, except for
// /proc/cpuinfo.
static u8 gate_way(u32 nr)
{
    if (nr == SYS_open || nr == SYS_openat)
        return tb_config.shown ? GATE_SLOW : nr == SYS_open ? GATE_OPEN : GATE_OPENAT;
    return name_argument[nr] == NAME_FIRST ? GATE_NAME : GATE_AT;
}

void files_init(u8 table[GATE_CALLS])
{
    for (u32 nr = 0; nr < GATE_CALLS; nr++) {
        u8 way = gate_way(nr);

        if (!name_argument[nr])
            continue;
        if (table[nr] == GATE_FAST || (table[nr] == GATE_FD && way >= GATE_AT))
            table[nr] = way;
        else if (table[nr] != way)
            table[nr] = GATE_SLOW;
    }
}

// Is fd a list of this process's own descriptors?
static bool lists_our_fds(int fd)
{
    char name[64], target[64];
    s32 pid = sys_getpid();
    long n;

    nolibc_format(name, sizeof(name), "/proc/self/fd/%d", fd);
    n = sys_readlinkat(AT_FDCWD, name, target, sizeof(target) - 1);
    if (n < 9 || memcmp(target, "/proc/", 6) != 0)
        return false;
    target[n] = 0;
    if (strcmp(target + n - 3, "/fd") != 0 && (n < 7 || strcmp(target + n - 7, "/fdinfo") != 0))
        return false;
    nolibc_format(name, sizeof(name), "/proc/%d/", pid);
    return strncmp(target, name, strlen(name)) == 0;
}

// Does a name relative to the folder's descriptor lead where our descriptor of that number leads?
static bool leads_to_ours(int dirfd, const char *path, const char *own, long n)
{
    char target[256];

    return n > 0 && sys_readlinkat(dirfd, path, target, sizeof(target)) == n &&
           memcmp(target, own, (u64)n) == 0;
}

// Does this name lead to one of the engine's descriptors: is it a link of that number, in any
// folder under /proc, that leads where ours leads, or its entry in fdinfo, next to the folder with
// the link? The last component must be a number, which decides nearly every call; it may be a
// folder, as the root's descriptor is one. The look-up needs no descriptor: none may be left.
static bool names_our_fd(int dirfd, u64 gaddr)
{
    char path[PATH_MAX + 40], link[40], own[256], *last;
    s64 n = clientmem_read_str(path, gaddr, PATH_MAX);
    long number, ours;

    while (n > 1 && (path[n - 1] == '/' || (path[n - 1] == '.' && path[n - 2] == '/')))
        path[--n] = '\0';
    if (n < 1 || path[n - 1] < '0' || path[n - 1] > '9')
        return false;
    last = path + (nolibc_basename(path) - path);
    number = nolibc_number(last);
    if (number < 0 || number > INT32_MAX || !fds_is_ours((int)number))
        return false;
    nolibc_format(link, sizeof(link), "/proc/self/fd/%ld", number);
    ours = sys_readlinkat(AT_FDCWD, link, own, sizeof(own));
    if (sys_readlinkat(dirfd, path, link, sizeof(link)) != -EINVAL)
        return leads_to_ours(dirfd, path, own, ours);
    nolibc_format(last, sizeof(path) - (u64)(last - path), "../fd/%ld", number);
    return leads_to_ours(dirfd, path, own, ours);
}

bool files_names_ours(u32 nr, const u64 args[6])
{
    switch (nr < GATE_CALLS ? name_argument[nr] : NAME_NONE) {
    case NAME_FIRST: return names_our_fd(AT_FDCWD, args[0]);
    case NAME_BESIDE: return names_our_fd((int)args[0], args[1]);
    case NAME_SECOND: return names_our_fd(AT_FDCWD, args[1]);
    default: return false;
    }
}

// Is this the name of the file that this process runs? Checked before the file is opened for
// writing or truncated: the kernel, for which the engine runs, would not refuse.
static bool names_program(int dirfd, u64 gaddr, u64 flags)
{
    char path[PATH_MAX];
    struct k_stat st;

    return clientmem_read_str(path, gaddr, sizeof(path)) > 0 &&
           sys_fstatat(dirfd, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
           procnames_is_program(&st);
}

// ---- /proc/cpuinfo with --cpu ----

static u32 processors(void)
{
    static const char word[] = "\nprocessor\t";
    char part[4096];
    u32 n = 0, at = 1; // as after a line's end
    long fd = sys_open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0), got;

    if (fd < 0)
        return 1;
    while ((got = sys_read((int)fd, part, sizeof(part))) > 0)
        for (long i = 0; i < got; i++) {
            at = part[i] == word[at] ? at + 1 : part[i] == '\n';
            if (!word[at]) {
                n++;
                at = 0;
            }
        }
    sys_close((int)fd);
    return n ? n : 1;
}

// A memory file with the program's view: as many processors as there are, of the model.
static long open_cpuinfo(u64 flags)
{
    const char *text = spooler_string(spool->s_cpuinfo);
    char number[32], name[40];
    long fd = sys_call2(SYS_memfd_create, (u64) "cpuinfo", MFD_CLOEXEC), ret;

    if (fd < 0)
        return fd;
    for (u32 i = 0, n = processors(); i < n; i++) {
        u64 len = nolibc_format(number, sizeof(number), "processor\t: %u\n", i);

        if (sys_write((int)fd, number, len) != (long)len ||
            sys_write((int)fd, text, strlen(text)) != (long)strlen(text)) {
            sys_close((int)fd);
            return -ENOMEM;
        }
    }
    // The program gets the lowest number, as natively.
    nolibc_format(name, sizeof(name), "/proc/self/fd/%d", (int)fd);
    ret = sys_open(name, O_RDONLY | (u32)(flags & O_CLOEXEC), 0);
    if (ret > fd) {
        long low = sys_call3(SYS_dup3, (u64)ret, (u64)fd, flags & O_CLOEXEC);

        sys_close((int)ret);
        return low;
    }
    sys_close((int)fd);
    return ret;
}

// The same for a name with restrictions on its resolution (openat2): the kernel resolves it.
static bool names_program_by(int dirfd, u64 gaddr, const struct k_open_how *asked)
{
    struct k_open_how how = { O_PATH | O_CLOEXEC | (asked->flags & O_NOFOLLOW), 0, asked->resolve };
    char path[PATH_MAX];
    struct k_stat st;
    bool is;
    long fd;

    if (clientmem_read_str(path, gaddr, sizeof(path)) <= 0)
        return false;
    fd = sys_call4(SYS_openat2, (u64)dirfd, (u64)path, (u64)&how, sizeof(how));
    if (fd < 0)
        return false;
    is = sys_fstat((int)fd, &st) == 0 && procnames_is_program(&st);
    sys_close((int)fd);
    return is;
}

static bool is_cpuinfo(u64 gaddr, u64 flags)
{
    char path[16];

    return tb_config.shown && (flags & O_ACCMODE) == O_RDONLY &&
           !(flags & (O_PATH | O_DIRECTORY)) &&
           clientmem_read_str(path, gaddr, sizeof(path)) == 13 &&
           strcmp(path, "/proc/cpuinfo") == 0;
}

_Static_assert(GATE_WRITES == (O_ACCMODE | O_TRUNC), "stubs_gate");
_Static_assert(GATE_DUPFD == F_DUPFD && GATE_DUPFD_CLOEXEC == F_DUPFD_CLOEXEC, "stubs_gate");

static bool may_write(u64 flags)
{
    return ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)) &&
           !(flags & (O_PATH | O_DIRECTORY));
}

// Writes to such a file are not seen here: acts when it is opened.
static void forgo_rights(struct thread *t, u64 path, u64 flags)
{
    char name[64];

    if (may_write(flags) && clientmem_read_str(name, path, sizeof(name)) > 0 &&
        rights_is_file(name))
        rights_forgo(t);
}

static long busy(u64 flags)
{
    return flags & O_EXCL && flags & O_CREAT ? -EEXIST : -ETXTBSY;
}

// A running program cannot be opened for writing; the exe link leads to the program.
static bool client_open(struct thread *t, int dirfd, u64 path, u64 flags, int arg)
{
    bool writes = may_write(flags);
    bool exe = !(flags & O_NOFOLLOW) && names_exe(dirfd, path);

    if (writes && (exe || names_program(dirfd, path, flags))) {
        gate_return(t, busy(flags));
        return true;
    }
    forgo_rights(t, path, flags);
    if (is_cpuinfo(path, flags)) {
        gate_return(t, open_cpuinfo(flags));
        return true;
    }
    if (!exe)
        return false;
    gate_on_program(t, arg);
}

static bool client_openat2(struct thread *t)
{
    struct k_open_how how;

    if (t->regs[10] < sizeof(how) || clientmem_read(&how, t->regs[R_RDX], sizeof(how)))
        return false;
    // The kernel does not look up the name then.
    if (how.resolve & RESOLVE_CACHED && how.flags & (O_TRUNC | O_CREAT))
        return false;
    // With any restriction on the resolution the kernel looks up the exe link itself, with the
    // native result. That needs a free descriptor; without one the client's call would fail, too.
    if (how.resolve) {
        if (may_write(how.flags) && names_program_by((int)t->regs[R_RDI], t->regs[R_RSI], &how)) {
            gate_return(t, busy(how.flags));
            return true;
        }
        forgo_rights(t, t->regs[R_RSI], how.flags);
        return false;
    }
    return client_open(t, (int)t->regs[R_RDI], t->regs[R_RSI], how.flags, 1);
}

// By a handle: O_PATH finds out which file it is.
static bool client_open_by_handle(struct thread *t)
{
    const u64 *r = t->regs;
    struct k_stat st;
    bool is;
    long fd;

    if (!may_write(r[R_RDX]))
        return false;
    fd = sys_call3(SYS_open_by_handle_at, r[R_RDI], r[R_RSI], O_PATH | O_CLOEXEC);
    if (fd < 0)
        return false;
    is = sys_fstat((int)fd, &st) == 0 && procnames_is_program(&st);
    sys_close((int)fd);
    if (is)
        gate_return(t, -ETXTBSY);
    return is;
}

// Closes all of [first, last] except the engine's own.
static long client_close_range(struct thread *t)
{
    u32 first = (u32)t->regs[R_RDI], last = (u32)t->regs[R_RSI];
    u32 ours[FDS_MAX], n = fds_sorted(ours);
    u64 flags = t->regs[R_RDX];
    bool split = false;
    long ret = 0;

    stopworld_blocking_begin(t);
    for (u32 i = 0; i < n && first <= last && ret == 0; i++) {
        if (ours[i] < first || ours[i] > last)
            continue;
        if (ours[i] > first)
            ret = sys_call3(SYS_close_range, first, ours[i] - 1, flags);
        split = true;
        first = ours[i] + 1;
    }
    if (ret == 0 && (first <= last || !split))
        ret = sys_call3(SYS_close_range, first, last, flags);
    stopworld_blocking_end(t);
    return ret;
}

// F_DUPFD takes the lowest free number from `least` on: natively the engine's numbers are free.
// True: the call was made, with *ret.
static bool dup_from(const u64 args[3], long *ret)
{
    u32 command = (u32)args[1], ours[FDS_MAX], n = fds_sorted(ours), i = 0;
    u64 flags = command == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0;
    long fd, low;

    if (command != F_DUPFD && command != F_DUPFD_CLOEXEC)
        return false;
    while (i < n && ours[i] < args[2])
        i++;
    if (i == n)
        return false;
    *ret = fd = sys_fcntl((int)args[0], (int)command, args[2]);
    if (fd < 0 || fd < (long)ours[i])
        return true;
    low = fds_evict((int)ours[i]);
    if (low == 0)
        low = sys_call3(SYS_dup3, (u64)fd, ours[i], flags);
    if (low >= 0) {
        sys_close((int)fd);
        *ret = low;
    }
    return true;
}

static bool client_dup_to(struct thread *t)
{
    int to = (int)t->regs[R_RSI];
    long ret;

    if (fds_is_ours(to)) {
        ret = fds_evict(to);
        if (ret) {
            gate_return(t, ret);
            return true;
        }
    }
    return false;
}

// Removes our entries from a directory listing of `bytes` bytes at buf. Returns how many bytes are
// left, or -EFAULT.
static long filter_dirents(u64 buf, u64 bytes, u64 name_off)
{
    u64 from = 0, to = 0;

    while (from < bytes) {
        u16 reclen;
        char name[16], entry[4096];
        long number = -1;
        s64 n;

        if (clientmem_read(&reclen, buf + from + 16, 2) || reclen < name_off ||
            reclen > sizeof(entry))
            return -EFAULT;
        n = clientmem_read_str(name, buf + from + name_off, sizeof(name));
        if (n > 0)
            number = nolibc_number(name);
        if (number < 0 || !fds_is_ours((int)number)) {
            if (to != from && (clientmem_read(entry, buf + from, reclen) ||
                               clientmem_write(buf + to, entry, reclen)))
                return -EFAULT;
            to += reclen;
        }
        from += reclen;
    }
    return (long)to;
}

static __attribute__((noinline)) void done_getdents(struct thread *t, u32 nr)
{
    u64 name_off = nr == SYS_getdents64 ? 19 : 18;
    long ret = (long)t->regs[R_RAX];

    if (ret <= 0 || !lists_our_fds((int)t->regs[R_RDI]))
        return;
    ret = filter_dirents(t->regs[R_RSI], (u64)ret, name_off);
    // If nothing is left of this part, that is not the end of the directory.
    while (ret == 0) {
        ret = sys_call3(nr, t->regs[R_RDI], t->regs[R_RSI], t->regs[R_RDX]);
        if (ret <= 0)
            break;
        ret = filter_dirents(t->regs[R_RSI], (u64)ret, name_off);
    }
    t->regs[R_RAX] = (u64)ret;
}

// Calls handled here, in 64-bit and 32-bit form.
static bool is_answered(u32 nr, const u64 args[6], long *ret)
{
    switch (nr) {
    case SYS_readlink:
        if (!names_exe(AT_FDCWD, args[0]))
            return false;
        *ret = client_readlink(args[1], (s32)args[2]);
        return true;
    case SYS_readlinkat:
        if (!names_exe((int)args[0], args[1]))
            return false;
        *ret = client_readlink(args[2], (s32)args[3]);
        return true;
    case SYS_truncate: *ret = -ETXTBSY; return names_program(AT_FDCWD, args[0], 0);
    case SYS_fcntl: return dup_from(args, ret);
    default: return false;
    }
}

// The program's file is not opened for writing; the exe link is opened as the file that it leads
// to.
static bool is_opened(int dirfd, u64 path, u64 flags, long *ret)
{
    bool exe = !(flags & O_NOFOLLOW) && names_exe(dirfd, path);

    if (may_write(flags) && (exe || names_program(dirfd, path, flags))) {
        *ret = busy(flags);
        return true;
    }
    if (exe)
        *ret = sys_openat(AT_FDCWD, procnames_exe(), (int)flags, 0);
    return exe;
}

bool files_answers(u32 nr, const u64 args[6], long *ret)
{
    struct k_open_how how;

    switch (nr) {
    case SYS_open: return is_opened(AT_FDCWD, args[0], args[1], ret);
    case SYS_creat: return is_opened(AT_FDCWD, args[0], O_WRONLY | O_CREAT | O_TRUNC, ret);
    case SYS_openat: return is_opened((int)args[0], args[1], args[2], ret);
    case SYS_openat2:
        if (args[3] < sizeof(how) || clientmem_read(&how, args[2], sizeof(how)) ||
            (how.resolve & RESOLVE_CACHED && how.flags & (O_TRUNC | O_CREAT)))
            return false;
        if (!how.resolve)
            return is_opened((int)args[0], args[1], how.flags, ret);
        *ret = busy(how.flags);
        return may_write(how.flags) && names_program_by((int)args[0], args[1], &how);
    default: return is_answered(nr, args, ret);
    }
}

bool files_call(struct thread *t, u32 nr)
{
    const u64 *r = t->regs, args[6] = { r[R_RDI], r[R_RSI], r[R_RDX], r[10] };
    long ret = -ENOENT;

    if (files_names_ours(nr, args) || is_answered(nr, args, &ret)) {
        gate_return(t, ret);
        return true;
    }
    switch (nr) {
    case SYS_open: return client_open(t, AT_FDCWD, r[R_RDI], r[R_RSI], 0);
    case SYS_openat: return client_open(t, (int)r[R_RDI], r[R_RSI], r[R_RDX], 1);
    case SYS_openat2: return client_openat2(t);
    case SYS_creat: return client_open(t, AT_FDCWD, r[R_RDI], O_WRONLY | O_CREAT | O_TRUNC, 0);
    case SYS_stat:
        if (names_exe(AT_FDCWD, r[R_RDI]))
            gate_on_program(t, 0);
        return false;
    case SYS_newfstatat:
        if (!(r[10] & AT_SYMLINK_NOFOLLOW) && names_exe((int)r[R_RDI], r[R_RSI]))
            gate_on_program(t, 1);
        return false;
    case SYS_statx:
        if (!(r[R_RDX] & AT_SYMLINK_NOFOLLOW) && names_exe((int)r[R_RDI], r[R_RSI]))
            gate_on_program(t, 1);
        return false;
    case SYS_open_by_handle_at: return client_open_by_handle(t);
    case SYS_close_range: gate_return(t, client_close_range(t)); return true;
    case SYS_dup2:
    case SYS_dup3: return client_dup_to(t);
    default: return false;
    }
}

void files_done(struct thread *t, u32 nr)
{
    if (nr == SYS_getdents || nr == SYS_getdents64)
        done_getdents(t, nr);
}
