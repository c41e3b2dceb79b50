// SPDX-License-Identifier: MIT
//
// Calls of the 32-bit kind: a descriptor that the program has not opened is closed there, too.
// skip: the kernel has no 32-bit calls
// varies: how many numbers are tried depends on the limit
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define BAD(call) CHECK((call) == -EBADF)

static char *low; // memory that such a call can address

static long call(long number, long a, long b, long c)
{
    int ret;

    __asm__ volatile("push %%rbx\n\t"
                     "mov %2, %%rbx\n\t"
                     "int $0x80\n\t"
                     "pop %%rbx"
                     : "=a"(ret)
                     : "0"(number), "r"(a), "c"(b), "d"(c), "S"(1024L), "D"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return ret;
}

static long at(int offset)
{
    return (long)(uintptr_t)(low + offset);
}

static void arguments(int fd)
{
    BAD(call(3, fd, at(0), 0));       // read
    BAD(call(4, fd, at(0), 0));       // write
    BAD(call(6, fd, 0, 0));           // close
    BAD(call(19, fd, 0, SEEK_CUR));   // lseek
    BAD(call(41, fd, 0, 0));          // dup
    BAD(call(54, fd, 0x541b, at(0))); // ioctl: FIONREAD
    BAD(call(55, fd, F_GETFD, 0));    // fcntl
    BAD(call(63, fd, 1, 0));          // dup2
    BAD(call(100, fd, at(0), 0));     // fstatfs
    BAD(call(108, fd, at(0), 0));     // fstat
    BAD(call(118, fd, 0, 0));         // fsync
    BAD(call(133, fd, 0, 0));         // fchdir
    BAD(call(143, fd, 1 | 4, 0));     // flock: shared, without waiting
    BAD(call(145, fd, at(0), 0));     // readv
    BAD(call(197, fd, at(0), 0));     // fstat64
    BAD(call(207, fd, -1, -1));       // fchown32
    BAD(call(221, fd, F_GETFL, 0));   // fcntl64
    BAD(call(330, fd, 1, 0));         // dup3
    *(int *)low = fd;
    BAD(call(102, 9, at(0), 0)); // socketcall: send
    strcpy(low, "x");
    BAD(call(295, fd, at(0), 0)); // openat
    BAD(call(307, fd, at(0), 0)); // faccessat
}

static void in_memory(int fd)
{
    struct pollfd *p = (struct pollfd *)(void *)low;

    *p = (struct pollfd){ .fd = fd, .events = POLLIN };
    CHECK(call(168, at(0), 1, -1) == 1 && p->revents == POLLNVAL);
    sprintf(low, "/proc/self/fd/%d", fd);
    CHECK(call(5, at(0), O_RDONLY, 0) == -ENOENT);   // open
    CHECK(call(33, at(0), F_OK, 0) == -ENOENT);      // access
    CHECK(call(85, at(0), at(64), 64) == -ENOENT);   // readlink
    CHECK(call(195, at(0), at(64), 0) == -ENOENT);   // stat64
    CHECK(call(196, at(0), at(64), 0) == -ENOENT);   // lstat64
    CHECK(call(212, at(0), -1, -1) == -ENOENT);      // chown32
    CHECK(call(295, AT_FDCWD, at(0), 0) == -ENOENT); // openat
}

#define OPENAT2 437

// Calls that take the first free number from a minimum on.
static void copies(int null)
{
    for (int fd = 4078; fd < 4090 && fd < sysconf(_SC_OPEN_MAX); fd++) {
        int which = fd & 1 ? 55 : 221; // fcntl, fcntl64

        CHECK(call(which, null, fd & 2 ? F_DUPFD_CLOEXEC : F_DUPFD, fd) == fd);
        CHECK(call(which, fd, F_GETFD, 0) == (fd & 2 ? FD_CLOEXEC : 0));
        CHECK(call(which, null, F_DUPFD, fd) == fd + 1);
        CHECK(close(fd) == 0 && close(fd + 1) == 0);
    }
}

static void running_program(const char *name)
{
    uint64_t *how = (uint64_t *)(void *)(low + 3000);
    char own[1024];
    int folder = open("/proc/self", O_RDONLY | O_DIRECTORY), fd;
    struct stat self, st;
    long n;

    CHECK(realpath(name, own) && stat(own, &self) == 0);
    n = (long)strlen(own);
    strcpy(low, "/proc/self/exe");
    CHECK(call(85, at(0), at(64), 1024) == n && !memcmp(low + 64, own, (size_t)n)); // readlink
    CHECK(call(85, at(0), at(64), 4) == 4 && call(85, at(0), at(64), 0) == -EINVAL);
    fd = (int)call(5, at(0), O_RDONLY, 0); // open
    CHECK(fstat(fd, &st) == 0 && st.st_ino == self.st_ino && close(fd) == 0);
    CHECK(call(5, at(0), O_RDWR, 0) == -ETXTBSY);
    CHECK(call(305, folder, at(11), at(64)) == n); // readlinkat
    CHECK(!memcmp(low + 64, own, (size_t)n));
    strcpy(low, own);
    memset(how, 0, 24);
    how[0] = O_RDWR;
    CHECK(call(5, at(0), O_RDONLY | O_TRUNC, 0) == -ETXTBSY);
    CHECK(call(8, at(0), 0600, 0) == -ETXTBSY);              // creat
    CHECK(call(92, at(0), 0, 0) == -ETXTBSY);                // truncate
    CHECK(call(193, at(0), 0, 0) == -ETXTBSY);               // truncate64
    CHECK(call(295, AT_FDCWD, at(0), O_WRONLY) == -ETXTBSY); // openat
    CHECK(call(OPENAT2, AT_FDCWD, at(0), at(3000)) == -ETXTBSY);
    how[2] = 4; // RESOLVE_NO_SYMLINKS
    CHECK(call(OPENAT2, AT_FDCWD, at(0), at(3000)) == -ETXTBSY);
    CHECK(stat(own, &st) == 0 && st.st_size == self.st_size);
    close(folder);
}

static sigjmp_buf none;

static void fault(int signal)
{
    siglongjmp(none, signal);
}

int main(int argc, char **argv)
{
    int null = open("/dev/null", O_RDWR);

    (void)argc;
    signal(SIGSEGV, fault);
    if (sigsetjmp(none, 1) || call(20, 0, 0, 0) != getpid())
        return 77;
    signal(SIGSEGV, SIG_DFL);
    low = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
                       -1, 0);
    CHECK(low != MAP_FAILED);
    running_program(argv[0]);
    for (int fd = 4078; fd < 4090; fd++) {
        arguments(fd);
        in_memory(fd);
    }
    for (int fd = 4078; fd < 4090 && fd < sysconf(_SC_OPEN_MAX); fd++) {
        CHECK(call(63, null, fd, 0) == fd); // a call that wants exactly this number gets it
        CHECK(close(fd) == 0);
    }
    copies(null);
    return check_failed;
}
