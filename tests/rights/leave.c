// SPDX-License-Identifier: MIT
// Drops rights in the named way, and checks before and after which processes share its memory:
// the profiler's processes beside it, which it can identify only as children
// that it did not make. None may have a right that this process has lost; and any memory that it
// can write, except the spool, which is its own, must not belong to another process. Prints how
// many there were before, then the faults.
//
// The order within one process matters: glibc makes all threads call setuid() and similar calls,
// the kernel's own calls are for the calling thread only.
#define _GNU_SOURCE
#include "tests/guest-state/check.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NOBODY 65534

static volatile unsigned long sink;

// More than the buffers of the replayers hold.
static void work(void)
{
    static volatile char memory[1 << 16];

    for (unsigned long i = 0; i < 600000; i++) {
        memory[i * 64 % sizeof(memory)]++;
        sink += i;
    }
}

// ---- Processes beside this one ----

// The lines of /proc/PID/status that show a process's rights. NoNewPrivs and Seccomp only
// reduce them.
static void rights_of(int pid, char out[1000])
{
    static const char *const lines[] = { "Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:",
                                         "CapBnd:", "CapAmb:" };
    char path[64], line[512];
    size_t n = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
            if (strncmp(line, lines[i], strlen(lines[i])) == 0)
                n += (size_t)snprintf(out + n, 1000 - n, "%s", line);
    if (f)
        fclose(f);
    out[n] = 0;
}

// The namespace or folder that a link below /proc/PID leads to; empty where it is not readable.
static void link_of(int pid, const char *name, char out[200])
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    ssize_t n = readlink(path, out, 199);
    out[n > 0 ? n : 0] = 0;
}

static void compare(int pid)
{
    static const char *const links[] = { "ns/user", "ns/mnt", "ns/net", "ns/ipc", "root" };
    char mine[1000], its[1000], comm[200];

    rights_of(getpid(), mine);
    rights_of(pid, its);
    if (*its && strcmp(mine, its) != 0) {
        snprintf(comm, sizeof(comm), "/proc/%d/comm", pid);
        printf("another process has rights that this one has not:\n%swhere here they are\n%s", its,
               mine);
        check_failed = 1;
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
        char a[200], b[200];

        link_of(getpid(), links[i], a);
        link_of(pid, links[i], b);
        if (*a && *b && strcmp(a, b) != 0) {
            printf("another process has %s %s, this one %s\n", links[i], b, a);
            check_failed = 1;
        }
    }
}

// The number of children, each compared with this process.
static int children(void)
{
    char path[64];
    int pid, n = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1) {
        compare(pid);
        n++;
    }
    if (f)
        fclose(f);
    return n;
}

static void look_at_memory(void)
{
    char line[600];
    FILE *f = fopen("/proc/self/maps", "r");

    while (f && fgets(line, sizeof(line), f))
        if (strstr(line, " rw-s ") && !strstr(line, "/quern.spool.")) {
            printf("memory that others may have, too: %s", line);
            check_failed = 1;
        }
    if (f)
        fclose(f);
}

static void look(void)
{
    children();
    look_at_memory();
}

// A process that forks repeatedly, with records to replay.
static void fork_some(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    work();
}

// ---- Ways ----

static int drop_capability(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &head, data))
        return -1;
    data[0].effective &= ~(1u << CAP_SYS_ADMIN);
    data[0].permitted &= ~(1u << CAP_SYS_ADMIN);
    data[0].inheritable &= ~(1u << CAP_SYS_ADMIN);
    return (int)syscall(SYS_capset, &head, data);
}

static int filter(bool by_prctl)
{
    static struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { 1, all };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int enter_folder(void)
{
    char folder[] = "/tmp/quern-rights.XXXXXX";

    if (!mkdtemp(folder) || chmod(folder, 0755) || chroot(folder))
        return -1;
    return chdir("/");
}

// A folder that root has changed into and that nobody may leave.
static void look_for_a_way_out(void)
{
    struct stat st;

    for (int fd = 3; fd < 5000; fd++)
        CHECK(fstatat(fd, "proc/1", &st, 0) != 0 && fstatat(fd, "usr/lib", &st, 0) != 0);
}

// setuid32
static long by_int80(long number, long arg)
{
    long ret;

    __asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(arg) : "memory", "r8", "r9", "r10",
                     "r11");
    return ret;
}

static void *drop_alone(void *arg)
{
    (void)arg;
    CHECK(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0);
    return NULL;
}

// 0; 1: not possible on this machine or for this user; -1: it failed.
static int give_up(const char *way)
{
    if (!strcmp(way, "setuid"))
        return setuid(NOBODY);
    if (!strcmp(way, "setgid"))
        return setgid(NOBODY);
    if (!strcmp(way, "setreuid"))
        return setreuid(NOBODY, NOBODY);
    if (!strcmp(way, "setregid"))
        return setregid(NOBODY, NOBODY);
    if (!strcmp(way, "seteuid"))
        return seteuid(NOBODY);
    if (!strcmp(way, "setresgid"))
        return setresgid(NOBODY, NOBODY, NOBODY);
    if (!strcmp(way, "setfsuid"))
        return (int)syscall(SYS_setfsuid, NOBODY) < 0;
    if (!strcmp(way, "setfsgid"))
        return (int)syscall(SYS_setfsgid, NOBODY) < 0;
    if (!strcmp(way, "setgroups"))
        return setgroups(1, (gid_t[]){ NOBODY });
    if (!strcmp(way, "capset"))
        return drop_capability();
    if (!strcmp(way, "bounding"))
        return prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
    if (!strcmp(way, "no-new-privileges"))
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(way, "seccomp"))
        return filter(false);
    if (!strcmp(way, "seccomp-prctl"))
        return filter(true);
    if (!strcmp(way, "unshare-user"))
        return unshare(CLONE_NEWUSER);
    if (!strcmp(way, "unshare-mount"))
        return unshare(CLONE_NEWNS);
    if (!strcmp(way, "unshare-pid"))
        return unshare(CLONE_NEWPID);
    if (!strcmp(way, "chroot")) {
        if (enter_folder() || setuid(NOBODY))
            return -1;
        look_for_a_way_out();
        return 0;
    }
    if (!strcmp(way, "keyring"))
        return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "quern") < 0;
    if (!strcmp(way, "int80"))
        return by_int80(213, NOBODY) ? 1 : 0; // some kernels lack it
    if (!strcmp(way, "thread")) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, drop_alone, NULL))
            return -1;
        return pthread_join(thread, NULL);
    }
    printf("no such way: %s\n", way);
    return -1;
}

// When the other threads have dropped the rights, one thread is the last that has them.
static void *keeps(void *arg)
{
    pthread_barrier_t *both = arg;

    pthread_barrier_wait(both);
    work();
    pthread_barrier_wait(both);
    return NULL;
}

static void uneven(void)
{
    pthread_barrier_t both;
    pthread_t thread;

    pthread_barrier_init(&both, NULL, 2);
    CHECK(pthread_create(&thread, NULL, keeps, &both) == 0);
    CHECK(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    CHECK(pthread_join(thread, NULL) == 0);
    look();
}

// In the child of a fork into another user namespace.
static void fork_away(void)
{
    int status = -1;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        look();
        fork_some(); // may have a bgfinish of its own, with its rights
        children();
        fflush(stdout);
        _exit(check_failed);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int failed = 0;

    fork_some();
    SAY("beside: %d", children());
    if (!strcmp(way, "uneven"))
        uneven();
    else if (!strcmp(way, "fork-user"))
        fork_away();
    else
        failed = give_up(way);
    if (failed) {
        SAY("cannot: %s", strerror(errno));
        return failed > 0 ? 0 : 2;
    }
    if (strcmp(way, "fork-user") != 0 && strcmp(way, "thread") != 0)
        look();
    fork_some();
    if (strcmp(way, "fork-user") != 0 && strcmp(way, "thread") != 0)
        children();
    SAY("%s", check_failed ? "wrong" : "right");
    return check_failed;
}
