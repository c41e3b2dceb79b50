// SPDX-License-Identifier: MIT
// The selector in %gs, which the program has for itself: a null selector keeps its number, another
// one selects the segment of the tables (the LDT as it was when loaded), a thread and a child
// have their parent's, and setting a base clears it. Changes by int $0x80, too. (A selector of
// 1 to 3 is 0 after the next interrupt: such loads are repeated.)
#define _GNU_SOURCE
#include "check.h"

#include <asm/ldt.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TRIES    100000
#define INT80    "int $0x80"
#define AREA_SET 243
#define AREA_GET 244
#define LDT      123
#define CLOSE    6

static volatile unsigned short null = 3;

// Loads 3 and reads it, by the instructions of `code`; the value read is the last result.
#define LOADS(what, code)                                                    \
    do {                                                                     \
        unsigned long got = 99;                                              \
        for (int i = 0; i < TRIES && got != 3; i++)                          \
            __asm__ volatile(code                                            \
                             : "=&r"(got)                                    \
                             : "r"(3ul), "m"(null), "r"(&null - 4), "r"(4ul) \
                             : "memory");                                    \
        SAY(what " %lu", got);                                               \
    } while (0)

static long int80(long nr, long b, long c, long d)
{
    long ret;

    __asm__ volatile(INT80 : "=a"(ret) : "a"(nr), "b"(b), "c"(c), "d"(d) : "memory");
    return ret;
}

static unsigned selector(void)
{
    unsigned s;

    __asm__ volatile("mov %%gs, %0" : "=r"(s));
    return s;
}

static unsigned long base(void)
{
    unsigned long b = 1;

    syscall(SYS_arch_prctl, 0x1004, &b); // ARCH_GET_GS
    return b;
}

static void load(unsigned short s)
{
    __asm__ volatile("mov %0, %%gs" : : "r"(s));
}

// The result of a call, and %gs after it.
static void say(const char *what, long ret)
{
    SAY("%s %ld: %#x %#lx", what, ret, selector(), base());
}

static void fill(struct user_desc *d, unsigned number, unsigned at)
{
    memset(d, 0, sizeof(*d));
    d->entry_number = number;
    d->base_addr = at;
    d->limit = 0xfffff;
    d->seg_32bit = 1;
    d->limit_in_pages = 1;
    d->useable = 1;
}

static void empty(struct user_desc *d, unsigned number)
{
    memset(d, 0, sizeof(*d));
    d->entry_number = number;
    d->read_exec_only = 1;
    d->seg_not_present = 1;
}

static void *child(void *unused)
{
    (void)unused;
    SAY("thread %#x %#lx", selector() & 7, base());
    return NULL;
}

// An entry of the global table, which each thread has.
static void look_at_area(struct user_desc *d)
{
    unsigned number;

    fill(d, -1u, 0x1000);
    if (int80(AREA_SET, (long)d, 0, 0)) {
        SAY("no area here");
        return;
    }
    number = d->entry_number;
    load((unsigned short)(number << 3 | 3));
    SAY("area %d %#lx", selector() == (number << 3 | 3), base());
    d[1].entry_number = number;
    say("get", int80(AREA_GET, (long)(d + 1), 0, 0));
    CHECK(d[1].base_addr == 0x1000);
    d->base_addr = 0x2000;
    say("moved", int80(AREA_SET, (long)d, 0, 0));
    syscall(SYS_getpid);
    fill(d + 1, number == 12 ? 13 : 12, 0x7000);
    say("another's", int80(AREA_SET, (long)(d + 1), 0, 0));
    empty(d + 1, number);
    say("cleared", int80(AREA_SET, (long)(d + 1), 0, 0));
    SAY("refused %ld", int80(AREA_SET, 16, 0, 0));
}

static void look_at_table(struct user_desc *d)
{
    pthread_t thread;
    int status = -1;
    pid_t pid;

    fill(d, 0, 0x3000);
    if (syscall(SYS_modify_ldt, 1, d, sizeof(*d))) {
        SAY("no local descriptor table here");
        return;
    }
    load(7);
    SAY("local %#x %#lx", selector(), base());
    CHECK(pthread_create(&thread, NULL, child, NULL) == 0);
    pthread_join(thread, NULL);
    fflush(stdout);
    pid = fork();
    if (pid == 0)
        _exit(selector() == 7 && base() == 0x3000 ? 5 : 6);
    CHECK(waitpid(pid, &status, 0) == pid);
    SAY("child %d", WEXITSTATUS(status));
    d->base_addr = 0x4000;
    say("changed", syscall(SYS_modify_ldt, 1, d, sizeof(*d)));
    d->base_addr = 0x5000;
    say("by int80", int80(LDT, 1, (long)d, sizeof(*d)));
    // It stays until the thread is scheduled away.
    empty(d, 0);
    SAY("gone %ld", syscall(SYS_modify_ldt, 1, d, sizeof(*d)));
}

static sigjmp_buf back;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

// A kernel without 32-bit calls gives an error, or a fault (odd-calls.c).
static int has_int80(void)
{
    struct sigaction sa, before;
    int has = 0;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = on_fault;
    sigaction(SIGSEGV, &sa, &before);
    if (!sigsetjmp(back, 1))
        has = int80(20, 0, 0, 0) == getpid();
    sigaction(SIGSEGV, &before, NULL);
    return has;
}

int main(void)
{
    struct user_desc *d =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    LOADS("register", "mov %w1, %%gs\n\tmov %%gs, %0");
    LOADS("memory", "mov %2, %%gs\n\tmov %%gs, %0");
    LOADS("index", "mov (%3,%4,2), %%gs\n\tmov %%gs, %0");
    LOADS("stack", "push %1\n\tpop %%gs\n\tpush %%gs\n\tpop %0");
    LOADS("short", "mov %w1, %%gs\n\txor %k0, %k0\n\tmov %%gs, %w0");
    LOADS("ds", "mov %w1, %%ds\n\tmov %%ds, %0");
    LOADS("es", "mov %w1, %%es\n\tmov %%es, %0");
    CHECK(syscall(SYS_arch_prctl, 0x1001, 0x5000) == 0); // ARCH_SET_GS
    SAY("set %#x %#lx", selector(), base());
    load(0x2b);
    SAY("flat %#x %#lx", selector(), base());
    if (!has_int80()) {
        SAY("no int $0x80 here");
        return check_failed;
    }
    SAY("close %ld", int80(CLOSE, 4081, 0, 0));
    look_at_area(d);
    look_at_table(d);
    return check_failed;
}
