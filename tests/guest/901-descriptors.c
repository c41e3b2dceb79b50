// SPDX-License-Identifier: MIT
//
// A descriptor that the program has not opened is closed in every call that takes one, at any
// position: in an argument, in memory, in a name. Natively all except 0, 1 and 2 are closed; the
// engine's numbers are unknown, so all of the ranges where they may be are tried.
// varies: how many numbers are tried depends on the limit
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define BAD(call) CHECK((errno = 0, (long)(call)) == -1 && errno == EBADF)

static char buf[64];
static int null, zero, pair[2], epoll, inotify;

static void one_argument(int fd)
{
    struct iovec v = { buf, 1 };
    struct stat st;
    struct statfs fs;
    struct itimerspec when;
    socklen_t size = 4;

    BAD(read(fd, buf, 0));
    BAD(write(fd, buf, 0));
    BAD(pread(fd, buf, 1, 0));
    BAD(pwrite(fd, buf, 1, 0));
    BAD(readv(fd, &v, 1));
    BAD(writev(fd, &v, 1));
    BAD(preadv(fd, &v, 1, 0));
    BAD(pwritev2(fd, &v, 1, 0, 0));
    BAD(lseek(fd, 0, SEEK_CUR));
    BAD(fstat(fd, &st));
    BAD(fstatfs(fd, &fs));
    BAD(ftruncate(fd, 0));
    BAD(fallocate(fd, 0, 0, 1));
    BAD(fsync(fd));
    BAD(syncfs(fd));
    BAD(flock(fd, LOCK_SH | LOCK_NB));
    BAD(fchmod(fd, 0600));
    BAD(fchown(fd, 0, 0));
    BAD(fchdir(fd));
    BAD(futimes(fd, NULL));
    BAD(fcntl(fd, F_GETFD));
    BAD(fcntl(fd, F_SETFD, 0));
    BAD(dup(fd));
    BAD(dup2(fd, 1));
    BAD(dup3(fd, 1, 0));
    BAD(close(fd));
    BAD(ioctl(fd, FIONREAD, buf));
    BAD(syscall(SYS_getdents64, fd, buf, sizeof(buf)));
    BAD(getsockopt(fd, SOL_SOCKET, SO_TYPE, buf, &size));
    BAD(timerfd_gettime(fd, &when));
    BAD(inotify_add_watch(fd, "/", IN_CREATE));
    BAD(syscall(SYS_fgetxattr, fd, "user.a", buf, 1));
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EBADF);
}

static void other_arguments(int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    BAD(sendfile(null, fd, NULL, 1));
    BAD(sendfile(fd, zero, NULL, 1));
    BAD(copy_file_range(zero, NULL, fd, NULL, 1, 0));
    BAD(splice(pair[0], NULL, fd, NULL, 1, 0));
    BAD(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    BAD(epoll_ctl(fd, EPOLL_CTL_ADD, null, &event));
    BAD(ioctl(null, 0x40049409, fd)); // FICLONE
    CHECK(syscall(SYS_pidfd_getfd, epoll, fd, 0) == -1 && errno == EBADF);
    BAD(syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, null, fd));
    BAD(syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, fd, null));
}

static void folders(int fd)
{
    struct stat st;

    BAD(openat(fd, "x", O_RDONLY));
    BAD(mkdirat(fd, "x", 0700));
    BAD(unlinkat(fd, "x", 0));
    BAD(renameat(fd, "x", AT_FDCWD, "y"));
    BAD(renameat(AT_FDCWD, "/", fd, "y"));
    BAD(linkat(AT_FDCWD, "/", fd, "y", 0));
    BAD(symlinkat("x", fd, "y"));
    BAD(readlinkat(fd, "x", buf, 1));
    BAD(faccessat(fd, "x", R_OK, 0));
    BAD(fchmodat(fd, "x", 0600, 0));
    BAD(utimensat(fd, "x", NULL, 0));
    BAD(fstatat(fd, "x", &st, 0));
    BAD(fstatat(fd, "", &st, AT_EMPTY_PATH));
    BAD(execveat(fd, "", (char *[]){ buf, NULL }, environ, AT_EMPTY_PATH));
    // With an absolute name the descriptor is ignored.
    CHECK(fstatat(fd, "/", &st, 0) == 0);
    CHECK(faccessat(fd, "/", R_OK, 0) == 0);
}

static void in_memory(int fd)
{
    struct pollfd p[2] = { { .fd = null, .events = POLLOUT }, { .fd = fd, .events = POLLIN } };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
    struct iovec v = { buf, 1 };
    struct msghdr m = { .msg_iov = &v,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = CMSG_LEN(2 * sizeof(int)) };
    struct mmsghdr several[2] = { { { .msg_iov = &v, .msg_iovlen = 1 }, 0 }, { m, 0 } };

    CHECK(poll(p, 2, -1) == 2 && p[0].revents == POLLOUT && p[1].revents == POLLNVAL);
    p[1].revents = 0;
    CHECK(ppoll(p + 1, 1, NULL, NULL) == 1 && p[1].revents == POLLNVAL);
    memcpy(CMSG_DATA(&control.header), (int[]){ null, fd }, 2 * sizeof(int));
    BAD(sendmsg(pair[0], &m, 0));
    CHECK(sendmmsg(pair[0], several, 2, 0) == 1); // the first one
    CHECK(recv(pair[1], buf, sizeof(buf), MSG_DONTWAIT) == 1);
    BAD(sendmmsg(pair[0], several + 1, 1, 0));
}

static void names(int fd)
{
    char name[64];
    struct stat st;
    struct statfs fs;

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name),
                 i == 0   ? "/proc/self/fd/%d"
                 : i == 1 ? "/dev/fd/%d"
                          : "/proc/thread-self/fd/%d",
                 fd);
        CHECK(open(name, O_RDONLY) == -1 && errno == ENOENT);
        CHECK(open(name, O_RDWR) == -1 && errno == ENOENT);
        CHECK(stat(name, &st) == -1 && errno == ENOENT);
        CHECK(syscall(SYS_lstat, name, &st) == -1 && errno == ENOENT);
        CHECK(lstat(name, &st) == -1 && errno == ENOENT);
        CHECK(readlink(name, buf, sizeof(buf)) == -1 && errno == ENOENT);
        CHECK(access(name, F_OK) == -1 && errno == ENOENT);
        CHECK(truncate(name, 0) == -1 && errno == ENOENT);
        // Looked up in another way, and with nothing to change.
        CHECK(chown(name, (uid_t)-1, (gid_t)-1) == -1 && errno == ENOENT);
        CHECK(lchown(name, (uid_t)-1, (gid_t)-1) == -1 && errno == ENOENT);
        CHECK(fchownat(AT_FDCWD, name, (uid_t)-1, (gid_t)-1, 0) == -1 && errno == ENOENT);
        CHECK(syscall(SYS_getxattr, name, "user.a", buf, 1) == -1 && errno == ENOENT);
        CHECK(syscall(SYS_listxattr, name, NULL, 0) == -1 && errno == ENOENT);
        CHECK(statfs(name, &fs) == -1 && errno == ENOENT);
        CHECK(chdir(name) == -1 && errno == ENOENT);
        CHECK(inotify_add_watch(inotify, name, IN_CREATE) == -1 && errno == ENOENT);
        CHECK(linkat(AT_FDCWD, name, AT_FDCWD, "/proc/self/fd/x", AT_SYMLINK_FOLLOW) == -1);
        CHECK(errno == ENOENT || errno == EXDEV);
        CHECK(execve(name, (char *[]){ name, NULL }, environ) == -1 && errno == ENOENT);
        strcat(name, i ? "/." : "/"); // of the root's, as a folder
        CHECK(open(name, O_PATH) == -1 && errno == ENOENT);
        CHECK(stat(name, &st) == -1 && errno == ENOENT);
    }
    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    CHECK(open(name, O_RDONLY) == -1 && errno == ENOENT);
    CHECK(access(name, F_OK) == -1 && errno == ENOENT);
}

// A set has 1024 bits in the C library; the kernel's has as many as the call names.
static void in_sets(int fd)
{
    static unsigned char set[1 << 13];

    if (fd >= (int)sizeof(set) * 8 || fd < 1024)
        return;
    set[fd / 8] = (unsigned char)(1 << fd % 8);
    // Natively a table that never had such a number ends before it, and the bit is ignored.
    long ret = syscall(SYS_select, fd + 1, set, NULL, NULL, &(struct timeval){ 0, 0 });
    CHECK((ret == -1 && errno == EBADF) || ret == 0);
    set[fd / 8] = 0;
}

// A call that wants exactly this number gets it.
static void wanted(int fd)
{
    struct stat a, b;

    CHECK(fcntl(null, F_DUPFD, fd) == fd);
    CHECK(fstat(null, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino);
    CHECK(close(fd) == 0);
    CHECK(fcntl(null, F_DUPFD_CLOEXEC, fd) == fd && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    CHECK(close(fd) == 0);
    BAD(close(fd));
}

// The engine's have moved in a child that shared the memory, not here.
static void spawned(int fd)
{
    posix_spawn_file_actions_t actions;
    char *argv[] = { (char *)"true", NULL };
    int status = -1;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, null, fd);
    CHECK(posix_spawn(&pid, "/bin/true", &actions, NULL, argv, environ) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    posix_spawn_file_actions_destroy(&actions);
    one_argument(fd);
}

static void all_of(int fd)
{
    one_argument(fd);
    other_arguments(fd);
    folders(fd);
    in_memory(fd);
    in_sets(fd);
    names(fd);
}

int main(void)
{
    struct rlimit limit;
    int high, top;

    null = open("/dev/null", O_RDWR);
    zero = open("/dev/zero", O_RDONLY);
    epoll = epoll_create1(0);
    inotify = inotify_init();
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    high = limit.rlim_max > 1 << 20 ? 1 << 20 : (int)limit.rlim_max;
    top = pair[1] + 1;
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int fd = 4078; fd < 4090; fd++)
        all_of(fd);
    for (int fd = high - 22 > top ? high - 22 : top; fd < high; fd++)
        one_argument(fd);
    if (high > 4090) {
        for (int fd = 4080; fd < 4084; fd++)
            spawned(fd);
        for (int fd = 4078; fd < 4084; fd++)
            wanted(fd);
        for (int fd = 4078; fd < 4096; fd++)
            one_argument(fd);
    }
    return check_failed;
}
