// SPDX-License-Identifier: MIT
//
// The gate looks at names and messages before it makes a call: at every place in a page, beside
// pages that are not there, in a signal's way and with checks of alignment the call says what it
// says natively, and changes no register.
// varies: how many signals come
#include <fcntl.h>
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

static char *page; // between two that are not there
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

static void tick(int signal)
{
    (void)signal;
}

// Whatever a signal meets, the call's other registers are what they were, also in the handler's way
// back.
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
    interrupted();
    return check_failed;
}
