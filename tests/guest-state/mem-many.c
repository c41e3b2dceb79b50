// SPDX-License-Identifier: MIT
// Many mappings: 20,000 without contents, and beside them 2,000 with a function each, which random
// calls unmap, replace, move, split and make executable or not. After each, the changed ones
// answer as a table beside them says: with the number last stored there, or with the
// kernel's fault for no mapping or for no permission.
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define PAGE  4096l
#define EMPTY 20000l
#define CODE  2000l
#define STEPS 6000l
#define STRIDE \
    (4 * PAGE) // of the functions: two pages, of which the first has one, and two unmapped ones

enum { GONE = -1, NO_EXEC = -2 };

typedef int (*fn)(void);
static sigjmp_buf env;
static siginfo_t info;
static char *code_area, *empty_area;
static int is[CODE]; // the model: the answer of slot i

static void on_segv(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    info = *si;
    siglongjmp(env, sig);
}

static char *place(long i)
{
    return code_area + i * STRIDE;
}

// The result of a call there: a number, or which fault.
static int answer(long i)
{
    if (sigsetjmp(env, 1)) {
        CHECK(info.si_addr == place(i));
        return info.si_code == SEGV_MAPERR ? GONE : info.si_code == SEGV_ACCERR ? NO_EXEC : -3;
    }
    return ((fn)(uintptr_t)place(i))();
}

static void put(char *p, int n)
{
    p[0] = (char)0xb8; // mov $n, %eax; ret
    memcpy(p + 1, &n, 4);
    p[5] = (char)0xc3;
}

static void map_new(long i, int n)
{
    char *p = mmap(place(i), 2 * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    CHECK(p == place(i));
    put(p, n);
    CHECK(mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC) == 0);
    is[i] = n;
}

static unsigned pick(unsigned below)
{
    static unsigned long x = 88172645463325252;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (unsigned)(x % below);
}

static void step(long i, int n)
{
    char *p = place(i);
    long j;

    switch (pick(6)) {
    case 0: // one page or both
        CHECK(munmap(p, (1 + pick(2)) * PAGE) == 0);
        is[i] = GONE;
        break;
    case 1: map_new(i, n); break;
    case 2: // its second page: the function stays
        if (is[i] != GONE)
            CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0 || errno == ENOMEM);
        break;
    case 3:
        if (is[i] != GONE) {
            CHECK(mprotect(p, PAGE, PROT_READ) == 0);
            is[i] = NO_EXEC;
        }
        break;
    case 4: // to where another was
        j = pick(CODE);
        if (is[i] != GONE && j != i) {
            CHECK(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place(j)) == place(j));
            is[j] = is[i];
            is[i] = GONE;
            CHECK(answer(j) == is[j]);
        }
        break;
    default: // a row of them at once
        if (pick(20) == 0) {
            CHECK(munmap(p, (size_t)(STRIDE * (i + 8 < CODE ? 8 : 1))) == 0);
            for (j = i; j < i + (i + 8 < CODE ? 8 : 1); j++)
                is[j] = GONE;
        }
    }
    CHECK(answer(i) == is[i]);
}

// The kernel's map prints such a name differently from other files.
static void odd_name(void)
{
    char name[] = "/tmp/mem many\nXXXXXX", code[6];
    int fd = mkstemp(name);
    char *p;

    CHECK(fd >= 0);
    put(code, 4711);
    CHECK(write(fd, code, 6) == 6);
    p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(p != MAP_FAILED && ((fn)(uintptr_t)p)() == 4711);
    CHECK(munmap(p, PAGE) == 0);
    CHECK(unlink(name) == 0);
    p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(p != MAP_FAILED && ((fn)(uintptr_t)p)() == 4711);
    CHECK(munmap(p, PAGE) == 0 && close(fd) == 0);
}

int main(void)
{
    struct sigaction sa;
    int left = 0;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_segv;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);

    empty_area = mmap(NULL, (size_t)(2 * EMPTY * PAGE), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    code_area = mmap(NULL, (size_t)(CODE * STRIDE), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(empty_area != MAP_FAILED && code_area != MAP_FAILED);
    CHECK(munmap(code_area, (size_t)(CODE * STRIDE)) == 0);
    for (long i = 0; i < EMPTY; i += 2)
        CHECK(mprotect(empty_area + i * PAGE, PAGE, PROT_READ) == 0);
    for (long i = 0; i < CODE; i++) {
        is[i] = GONE;
        if (i % 50 == 0)
            CHECK(answer(i) == GONE);
        map_new(i, (int)i);
        CHECK(answer(i) == i);
    }
    SAY("made");

    for (long i = 0; i < STEPS && !check_failed; i++)
        step(pick(CODE), (int)(CODE + i));
    for (long i = 0; i < CODE && !check_failed; i++) {
        CHECK(answer(i) == is[i]);
        left += is[i] >= 0;
    }
    SAY("changed: %d of %ld left", left, CODE);

    // all at once
    CHECK(munmap(code_area, (size_t)(CODE * STRIDE)) == 0);
    for (long i = 0; i < CODE; i += 10)
        CHECK(answer(i) == GONE);
    CHECK(munmap(empty_area, (size_t)(2 * EMPTY * PAGE)) == 0);
    odd_name();
    SAY("gone");
    return check_failed;
}
