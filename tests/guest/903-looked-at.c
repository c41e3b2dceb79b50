// SPDX-License-Identifier: MIT
//
// The gate reads names, messages and other arguments before it makes a call: at every offset in a
// page, beside unmapped pages, interrupted by a signal and with alignment checks the call
// has its native result, and changes no register.
// varies: how many signals come
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096

#define SAYS(call, error) CHECK((errno = 0, (call)) == -1 && errno == (error))

static char *page; // between two unmapped ones
static struct stat st;

static void fill(char *name, int length, char with)
{
    memset(name, with, (size_t)length);
    name[length] = '\0';
}

static void at_borders(void)
{
    for (int length = 1; length < 40; length++) {
        char *last = page + PAGE - length - 1;

        fill(last, length, '/');
        CHECK(syscall(SYS_lstat, last, &st) == 0 && S_ISDIR(st.st_mode));
        fill(page, length, '/');
        CHECK(syscall(SYS_access, page, F_OK) == 0);
        fill(last, length, '9'); // as a descriptor's link ends
        SAYS(syscall(SYS_lstat, last, &st), ENOENT);
        fill(page, length, '9');
        SAYS(syscall(SYS_access, page, F_OK), ENOENT);
        fill(page, length, 'e'); // as that to the program ends
        SAYS(syscall(SYS_stat, page, &st), ENOENT);
        last[length] = 'x';
        SAYS(syscall(SYS_lstat, last, &st), EFAULT);
    }
}

static void no_names(void)
{
    fill(page, 0, ' ');
    SAYS(syscall(SYS_stat, page, &st), ENOENT);
    CHECK(syscall(SYS_newfstatat, STDOUT_FILENO, page, &st, AT_EMPTY_PATH) == 0);
    SAYS(syscall(SYS_stat, NULL, &st), EFAULT);
    SAYS(syscall(SYS_stat, 1ul << 63, &st), EFAULT);
    SAYS(syscall(SYS_faccessat, AT_FDCWD, page - PAGE, F_OK), EFAULT);
    memset(page, '/', PAGE);
    SAYS(syscall(SYS_lstat, page, &st), ENAMETOOLONG);
    page[PAGE - 1] = '\0';
    CHECK(syscall(SYS_lstat, page, &st) == 0);
}

static long unaligned(long number, long a, long b)
{
    long ret;

    __asm__ volatile("pushfq\n\t"
                     "orl $0x40000, (%%rsp)\n\t"
                     "popfq\n\t"
                     "syscall\n\t"
                     "pushfq\n\t"
                     "andl $~0x40000, (%%rsp)\n\t"
                     "popfq"
                     : "=a"(ret)
                     : "0"(number), "D"(a), "S"(b), "d"(0)
                     : "rcx", "r11", "memory", "cc");
    return ret;
}

static void messages(void)
{
    char *odd = page + 1;
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    SAYS(syscall(SYS_sendmsg, pair[0], page - PAGE, 0), EFAULT);
    SAYS(syscall(SYS_sendmsg, pair[0], page + PAGE - 40, 0), EFAULT);
    memset(page, 0, PAGE);
    CHECK(syscall(SYS_sendmsg, pair[0], odd, 0) == 0);
    CHECK(unaligned(SYS_sendmsg, pair[0], (long)odd) == 0);
    fill(odd, 3, '/');
    CHECK(unaligned(SYS_access, (long)odd, F_OK) == 0);
    close(pair[0]);
    close(pair[1]);
}

// A message passes a descriptor; one that is not open fails.
static void handed_over(int closed)
{
    char space[CMSG_SPACE(sizeof(int))] = { 0 };
    struct msghdr m = { .msg_control = space, .msg_controllen = CMSG_LEN(sizeof(int)) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    *c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(c), &closed, sizeof(closed));
    SAYS(syscall(SYS_sendmsg, pair[0], &m, 0), EBADF);
    memcpy(CMSG_DATA(c), &pair[1], sizeof(closed));
    CHECK(syscall(SYS_sendmsg, pair[0], &m, 0) == 0);
    SAYS(syscall(SYS_sendmsg, closed, &m, 0), EBADF);
    m.msg_controllen = 0;
    SAYS(syscall(SYS_sendmsg, closed, &m, 0), EBADF);
    close(pair[0]);
    close(pair[1]);
}

// The last bytes of a name decide whether the gate makes the call: of each class of calls every
// ending that leads to a descriptor which the program has not opened.
static void closed_name(const char *name)
{
    int folder = open("/", O_RDONLY | O_DIRECTORY);

    SAYS(syscall(SYS_stat, name, &st), ENOENT);
    SAYS(syscall(SYS_access, name, F_OK), ENOENT);
    SAYS(syscall(SYS_newfstatat, AT_FDCWD, name, &st, 0), ENOENT);
    SAYS(syscall(SYS_newfstatat, folder, name + 1, &st, 0), ENOENT);
    SAYS(syscall(SYS_faccessat, folder, name + 1, F_OK), ENOENT);
    SAYS(syscall(SYS_open, name, O_RDONLY), ENOENT);
    SAYS(syscall(SYS_open, name, O_WRONLY), ENOENT);
    SAYS(syscall(SYS_openat, folder, name + 1, O_RDONLY), ENOENT);
    SAYS(syscall(SYS_openat, folder, name + 1, O_WRONLY), ENOENT);
    close(folder);
}

static void closed_descriptor(int fd)
{
    static const char *const endings[] = { "", "/", "//", "/.", "/./", "/././/" };
    char name[64];

    for (unsigned i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d%s", fd, endings[i]);
        closed_name(name);
    }
    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    closed_name(name);
    SAYS(syscall(SYS_utimensat, fd, NULL, NULL, 0), EBADF);
    SAYS(syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH), EBADF);
}

// Names with the same endings that are the program's own.
static void own_names(void)
{
    char name[64];
    int own = open("/", O_RDONLY | O_DIRECTORY);

    snprintf(name, sizeof(name), "/proc/self/fd/%d/.", own);
    CHECK(syscall(SYS_stat, name, &st) == 0 && S_ISDIR(st.st_mode));
    CHECK(syscall(SYS_newfstatat, AT_FDCWD, name, &st, 0) == 0 && S_ISDIR(st.st_mode));
    CHECK(syscall(SYS_newfstatat, own, ".", &st, 0) == 0 && S_ISDIR(st.st_mode));
    CHECK(close((int)syscall(SYS_open, name, O_RDONLY)) == 0);
    CHECK(close((int)syscall(SYS_openat, own, "./", O_RDONLY)) == 0);
    CHECK(close(own) == 0);
    // An empty name means the descriptor.
    CHECK(pipe2((int *)(void *)page, 0) == 0);
    CHECK(syscall(SYS_utimensat, *(int *)(void *)page, NULL, NULL, 0) == 0);
    close(((int *)(void *)page)[0]);
    close(((int *)(void *)page)[1]);
    SAYS(syscall(SYS_utimensat, AT_FDCWD, NULL, NULL, 0), EFAULT);
    SAYS(syscall(SYS_open, NULL, O_RDONLY), EFAULT);
    SAYS(syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY), EFAULT);
}

// A running program can be opened for reading, not for writing: by its name, and by its link's.
static void program(void)
{
    char name[PAGE];
    ssize_t n = syscall(SYS_readlink, "/proc/self/exe", name, sizeof(name) - 1);
    struct stat self;

    CHECK(n > 0);
    name[n > 0 ? n : 0] = '\0';
    CHECK(strstr(name, "/903-looked-at"));
    CHECK(stat(name, &self) == 0);
    for (int i = 0; i < 2; i++) {
        const char *as = i ? name : "/proc/self/exe";
        int fd = (int)syscall(SYS_open, as, O_RDONLY);

        CHECK(fstat(fd, &st) == 0 && st.st_ino == self.st_ino && close(fd) == 0);
        fd = (int)syscall(SYS_openat, AT_FDCWD, as, O_RDONLY);
        CHECK(fstat(fd, &st) == 0 && st.st_ino == self.st_ino && close(fd) == 0);
        SAYS(syscall(SYS_open, as, O_WRONLY), ETXTBSY);
        SAYS(syscall(SYS_open, as, O_RDONLY | O_TRUNC), ETXTBSY);
        SAYS(syscall(SYS_openat, AT_FDCWD, as, O_RDWR), ETXTBSY);
        SAYS(syscall(SYS_openat, AT_FDCWD, as, O_RDONLY | O_TRUNC), ETXTBSY);
    }
}

static void polled(int closed)
{
    struct pollfd *last = (struct pollfd *)(void *)(page + PAGE - sizeof(struct pollfd));
    char *odd = page + 1;

    *last = (struct pollfd){ closed, POLLIN, 0 };
    CHECK(syscall(SYS_poll, last, 1, 0) == 1 && last->revents == POLLNVAL);
    last->revents = 0;
    CHECK(syscall(SYS_poll, last, 1, -1) == 1 && last->revents == POLLNVAL);
    last->revents = 0;
    CHECK(syscall(SYS_poll, last, 1, 1000000) == 1 && last->revents == POLLNVAL);
    *last = (struct pollfd){ -1, POLLIN, 1 };
    CHECK(syscall(SYS_poll, last, 1, 0) == 0 && last->revents == 0);
    last[-1] = (struct pollfd){ -1, POLLIN, 1 };
    last->fd = closed;
    CHECK(syscall(SYS_poll, last - 1, 2, 0) == 1 && last->revents == POLLNVAL && !last[-1].revents);
    SAYS(syscall(SYS_poll, (char *)last + 4, 1, 0), EFAULT);
    SAYS(syscall(SYS_poll, page + PAGE, 1, -1), EFAULT);
    CHECK(syscall(SYS_poll, page + PAGE, 0, 0) == 0);
    memcpy(odd, &(struct pollfd){ closed, POLLIN, 0 }, sizeof(*last));
    CHECK(unaligned(SYS_poll, (long)odd, 1) == 1 && odd[6] == POLLNVAL);
    memcpy(odd, &(struct pollfd){ -1, POLLIN, 0 }, sizeof(*last));
    CHECK(unaligned(SYS_poll, (long)odd, 1) == 0);
}

static void commands(int closed)
{
    int null = open("/dev/null", O_RDONLY), copy;

    SAYS(syscall(SYS_fcntl, closed, F_GETFD), EBADF);
    SAYS(syscall(SYS_fcntl, closed, F_DUPFD, 0), EBADF);
    SAYS(syscall(SYS_dup2, closed, null), EBADF);
    SAYS(syscall(SYS_dup3, null, null, 0), EINVAL);
    CHECK(syscall(SYS_fcntl, null, F_GETFD) == 0);
    if (closed < sysconf(_SC_OPEN_MAX)) {
        int how = closed % 3;

        copy = how < 2 ? (int)syscall(SYS_fcntl, null, how ? F_DUPFD_CLOEXEC : F_DUPFD, closed)
                       : (int)syscall(SYS_dup2, null, closed);
        CHECK(copy == closed);
        CHECK(syscall(SYS_fcntl, copy, F_GETFD) == (how == 1 ? FD_CLOEXEC : 0));
        CHECK(close(copy) == 0);
    }
    close(null);
}

static void waited(void)
{
    const struct timespec soon = { 0, 1000 }, wrong = { 0, -1 };
    static unsigned word = 1;

    SAYS(syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL), EAGAIN);
    SAYS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, &soon), EAGAIN);
    SAYS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon), ETIMEDOUT);
    SAYS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &wrong), EINVAL);
    SAYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, &soon, NULL, 1), ETIMEDOUT);
    SAYS(syscall(SYS_futex, page - PAGE, FUTEX_WAIT, 1, NULL), EFAULT);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) == 0);
}

static void tick(int signal)
{
    (void)signal;
}

// Whatever call a signal interrupts, the other registers keep their values, also on the
// return from the handler.
static void interrupted(void)
{
    const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };

    fill(page, 4000, '/');
    CHECK(sigaction(SIGALRM, &act, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (long i = 0; i < 20000; i++) {
        register long r8 __asm__("r8") = 3 * i;
        register long r9 __asm__("r9") = 5 * i;
        register long r10 __asm__("r10") = 7 * i;
        long rdx = 11 * i, ret = i & 1 ? SYS_access : SYS_lstat;

        __asm__ volatile("syscall"
                         : "+a"(ret), "+d"(rdx), "+r"(r8), "+r"(r9), "+r"(r10)
                         : "D"(page), "S"(i & 1 ? 0 : (long)&st)
                         : "rcx", "r11", "memory");
        if (ret || rdx != 11 * i || r8 != 3 * i || r9 != 5 * i || r10 != 7 * i) {
            CHECK(!"a register has changed");
            break;
        }
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

int main(void)
{
    page = (char *)mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK(mprotect(page, PAGE, PROT_NONE) == 0);
    page += PAGE;
    CHECK(mprotect(page + PAGE, PAGE, PROT_NONE) == 0);
    at_borders();
    no_names();
    messages();
    own_names();
    program();
    waited();
    for (int fd = 4078; fd < 4090; fd++) { // the engine's are among these
        closed_descriptor(fd);
        polled(fd);
        handed_over(fd);
    }
    for (int fd = 4078; fd < 4090; fd++)
        commands(fd);
    interrupted();
    return check_failed;
}
