// SPDX-License-Identifier: MIT
// Memory calls and generated code: the break and how it fails, mremap in all its forms, code that
// is unmapped, replaced, moved, overwritten, made unexecutable, in turn; shared memory.
#define _GNU_SOURCE
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>

typedef int (*fn)(void);
static sigjmp_buf env;
static siginfo_t info;

static void on_segv(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    info = *si;
    siglongjmp(env, sig);
}

// mov $n, %eax; ret
static void put(unsigned char *p, int n)
{
    p[0] = 0xb8;
    memcpy(p + 1, &n, 4);
    p[5] = 0xc3;
}

static int call(void *p)
{
    fn f = (fn)(uintptr_t)p;

    if (sigsetjmp(env, 1))
        return -1;
    return f();
}

static void brk_tests(void)
{
    char *now = (char *)syscall(SYS_brk, 0), *more;

    CHECK(((uintptr_t)now & 0xfff) < 4096 && now);
    more = (char *)syscall(SYS_brk, now + 100000);
    CHECK(more == now + 100000);
    memset(now, 1, 100000);
    CHECK((char *)syscall(SYS_brk, 4096) == more);              // below its start: the old one
    CHECK((char *)syscall(SYS_brk, ~0ul) == more);              // nonsense: the old one
    CHECK((char *)syscall(SYS_brk, now + (1ul << 46)) == more); // too much: the old one
    CHECK((char *)syscall(SYS_brk, now) == now);
    more = (char *)syscall(SYS_brk, now + 100000);
    CHECK(more == now + 100000 && more[-1] == 0); // fresh
    CHECK((char *)syscall(SYS_brk, now) == now);
}

int main(void)
{
    const int rwx = PROT_READ | PROT_WRITE | PROT_EXEC, anon = MAP_PRIVATE | MAP_ANONYMOUS;
    struct sigaction sa;
    unsigned char *p, *q;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_segv;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);

    brk_tests();
    SAY("break");

    // overwritten in place
    p = mmap(NULL, 8192, rwx, anon, -1, 0);
    for (int i = 0; i < 200; i++) {
        put(p, i);
        CHECK(call(p) == i);
    }
    // overwritten by the kernel
    int fds[2];
    CHECK(pipe(fds) == 0);
    for (int i = 0; i < 5; i++) {
        unsigned char code[6];

        put(code, 1000 + i);
        CHECK(write(fds[1], code, 6) == 6 && read(fds[0], p, 6) == 6);
        CHECK(call(p) == 1000 + i);
    }
    for (int i = 0; i < 5; i++) {
        unsigned char code[6];
        struct iovec from = { code, 6 }, to = { p, 6 };

        put(code, 2000 + i);
        CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 6);
        CHECK(call(p) == 2000 + i);
    }
    // written, then made executable
    for (int i = 0; i < 20; i++) {
        CHECK(mprotect(p, 8192, PROT_READ | PROT_WRITE) == 0);
        CHECK(call(p) == -1 && info.si_code == SEGV_ACCERR && info.si_addr == p);
        put(p, 300 + i);
        CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0);
        CHECK(call(p) == 300 + i);
    }
    SAY("overwritten");

    // unmapped and mapped again with other contents
    for (int i = 0; i < 20; i++) {
        CHECK(munmap(p, 8192) == 0);
        CHECK(call(p) == -1 && info.si_code == SEGV_MAPERR && info.si_addr == p);
        CHECK(mmap(p, 8192, rwx, anon | MAP_FIXED, -1, 0) == p);
        put(p, 400 + i);
        CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0);
        CHECK(call(p) == 400 + i);
        // replaced without being unmapped
        CHECK(mmap(p, 8192, PROT_READ | PROT_WRITE, anon | MAP_FIXED, -1, 0) == p);
        put(p, 500 + i);
        CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0);
        CHECK(call(p) == 500 + i);
        CHECK(madvise(p, 8192, MADV_DONTNEED) == 0);
        CHECK(call(p) == -1); // add %al, (%rax) at address 0 and so on: faults
    }
    CHECK(munmap(p, 8192) == 0);
    SAY("unmapped and replaced");

    // moved
    p = mmap(NULL, 8192, rwx, anon, -1, 0);
    put(p, 600);
    CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0 && call(p) == 600);
    q = mmap(NULL, 65536, PROT_NONE, anon, -1, 0);
    CHECK(mremap(p, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, q + 8192) == q + 8192);
    CHECK(call(q + 8192) == 600);
    CHECK(call(p) == -1 && info.si_code == SEGV_MAPERR);
    CHECK(mremap(q + 8192, 8192, 4096, 0) == q + 8192 && call(q + 8192) == 600);
    CHECK(call(q + 8192 + 4096) == -1);
    CHECK(mremap(q + 8192, 4096, 4096 + 1, MREMAP_MAYMOVE | 64) == MAP_FAILED && errno == EINVAL);
    p = mremap(q + 8192, 4096, 1 << 20, MREMAP_MAYMOVE);
    CHECK(p != MAP_FAILED && call(p) == 600);
    CHECK(mremap((void *)4096, 4096, 8192, 0) == MAP_FAILED && errno == EFAULT);
    SAY("moved");

    // two views of the same memory: one writes, the other runs
    int fd = memfd_create("code", 0);
    CHECK(ftruncate(fd, 4096) == 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    q = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (int i = 0; i < 50; i++) {
        put(p, 700 + i);
        CHECK(call(q) == 700 + i);
    }
    // duplicated by mremap of size 0
    unsigned char *r = mremap(q, 0, 4096, MREMAP_MAYMOVE);
    CHECK(r != MAP_FAILED && call(r) == 749 && call(q) == 749);
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
    p = shmat(id, NULL, SHM_EXEC);
    shmctl(id, IPC_RMID, NULL);
    CHECK(p != (void *)-1);
    put(p, 800);
    CHECK(call(p) == 800);
    put(p, 801);
    CHECK(call(p) == 801);
    CHECK(shmdt(p) == 0 && call(p) == -1);
    SAY("shared");

    CHECK(syscall(SYS_mmap, 0, 0, PROT_READ, anon, -1, 0) == -1 && errno == EINVAL);
    CHECK(munmap((void *)1, 4096) == -1 && errno == EINVAL);
    CHECK(munmap((void *)~0xffful, 8192) == -1 && errno == EINVAL);
    CHECK(mprotect((void *)4096, 4096, PROT_READ) == -1 && errno == ENOMEM);
    SAY("errors");
    return check_failed;
}
