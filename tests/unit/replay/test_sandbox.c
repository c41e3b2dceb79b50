// SPDX-License-Identifier: MIT
// engine/replay/sandbox.c: which calls the filter allows, by a BPF interpreter and by the kernel;
// and that a process that loops ends when its parent is gone, and not before. Numbers of calls are
// those of arch/x86/entry/syscalls/syscall_64.tbl of Linux.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/process/seccomp_bpf.h"
#include "engine/replay/sandbox.h"

#define ALLOW      0x7fff0000u
#define EPERM_SAID (0x00050000u | EPERM)
#define ARCH_I386  0x40000003u
#define X32        0x40000000

#define SET_CHILD_SUBREAPER 36

#define PARENT 4711

static struct k_bpf_insn rows[SANDBOX_ROWS];

static u32 answer_to(s32 nr, u32 arch, u64 first, u64 second, u64 third)
{
    struct k_seccomp_data d = { .nr = nr, .arch = arch, .args = { first, second, third } };

    return seccomp_run(rows, sandbox_filter(PARENT, rows), &d);
}

static u32 answer(s32 nr, u32 arch, u64 second)
{
    return answer_to(nr, arch, PARENT, second, 9);
}

static void test_filter(void **state)
{
    static const u16 allowed[] = {
        SYS_rt_sigreturn,  SYS_sched_yield, SYS_madvise, SYS_setitimer, SYS_getpid,
        SYS_exit,          SYS_getppid,     SYS_gettid,  SYS_futex,     SYS_restart_syscall,
        SYS_clock_gettime, SYS_exit_group,  SYS_ppoll
    };
    u32 k = 0;

    (void)state;
    assert_int_equal(seccomp_validate(rows, sandbox_filter(PARENT, rows)), 0);
    for (s32 nr = 0; nr < 1000; nr++) {
        bool one = k < ARRAY_SIZE(allowed) && allowed[k] == nr;

        k += one;
        assert_int_equal(answer(nr, AUDIT_ARCH_X86_64, 9), one ? ALLOW : EPERM_SAID);
        assert_int_equal(answer(nr, ARCH_I386, 9), EPERM_SAID);
        assert_int_equal(answer(nr | X32, AUDIT_ARCH_X86_64, 9), EPERM_SAID);
    }
    assert_int_equal(k, ARRAY_SIZE(allowed));
    // Only a check whether a process exists, no signal: the kernel uses the lower half.
    assert_int_equal(answer(SYS_kill, AUDIT_ARCH_X86_64, 0), ALLOW);
    assert_int_equal(answer(SYS_kill, AUDIT_ARCH_X86_64, 1ul << 32), ALLOW);
    assert_int_equal(answer(SYS_kill, AUDIT_ARCH_X86_64, 15), EPERM_SAID);
    // One signal, to a thread of the client.
    assert_int_equal(answer_to(SYS_tgkill, AUDIT_ARCH_X86_64, PARENT, 4712, SIGSYS), ALLOW);
    assert_int_equal(answer_to(SYS_tgkill, AUDIT_ARCH_X86_64, 4712, 4712, SIGSYS), EPERM_SAID);
    assert_int_equal(answer_to(SYS_tgkill, AUDIT_ARCH_X86_64, PARENT, 4712, SIGKILL), EPERM_SAID);
}

static int status_of(long pid)
{
    int status = -1;

    assert_true(pid > 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    return status;
}

// By the kernel: it can no longer open, make, execute or signal anything.
static int confined(void)
{
    if (sandbox_enter((s32)sys_call0(SYS_getppid)))
        return 50;
    if (sys_open("/dev/null", O_RDONLY, 0) != -EPERM)
        return 51;
    if (sys_call0(SYS_fork) != -EPERM || sys_execve("/bin/true", NULL, NULL) != -EPERM)
        return 52;
    if (sys_mmap(0, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -EPERM)
        return 53;
    if (sys_call2(SYS_kill, (u64)sys_call0(SYS_getppid), SIGUSR1) != -EPERM)
        return 54;
    if (sys_call3(SYS_setresuid, 0, 0, 0) != -EPERM)
        return 55;
    return sys_gettid() > 0 ? 0 : 56;
}

static void test_confined(void **state)
{
    (void)state;
    long pid = sys_call0(SYS_fork);
    if (pid == 0)
        sys_exit_group(confined());
    assert_int_equal(status_of(pid), 0);
}

// A process of its own, in shared memory.
static volatile struct {
    u64 turns;
    s32 pid;
} * seen;

static _Noreturn void loop(s32 parent)
{
    u64 all = ~0ul;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    if (sandbox_enter(parent))
        sys_exit_group(50);
    seen->pid = sys_getpid();
    for (;;)
        seen->turns++;
}

static void wait_ms(s64 ms)
{
    struct k_timespec moment = { ms / 1000, ms % 1000 * 1000000 };

    sys_call2(SYS_nanosleep, (u64)&moment, 0);
}

static void until_it_turns(void)
{
    u64 before = seen->turns;

    while (seen->turns == before)
        wait_ms(1);
}

// Nor does exec give it rights: this holds also for a process that may set a filter without
// no_new_privs.
static void test_no_rights(void **state)
{
    char text[4096] = "", path[64];

    (void)state;
    seen->turns = 0;
    long pid = sys_call0(SYS_fork);
    if (pid == 0)
        loop((s32)sys_call0(SYS_getppid));
    until_it_turns();
    snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    long fd = sys_open(path, O_RDONLY, 0);
    assert_true(fd >= 0 && sys_read((int)fd, text, sizeof(text) - 1) > 0);
    sys_close((int)fd);
    assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
    sys_call2(SYS_kill, (u64)pid, SIGKILL);
    assert_int_equal(status_of(pid), SIGKILL);
}

// While its parent exists it does not end, whatever it does: it ignores signals.
static void test_has_parent(void **state)
{
    (void)state;
    long pid = sys_call0(SYS_fork);
    if (pid == 0)
        loop((s32)sys_call0(SYS_getppid));
    until_it_turns();
    sys_call2(SYS_kill, (u64)pid, SIGTERM);
    sys_call2(SYS_kill, (u64)pid, SIGVTALRM); // as its own timer, but sent
    wait_ms(2500);
    until_it_turns();
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, 0, WNOHANG, 0), 0);
    sys_call2(SYS_kill, (u64)pid, SIGKILL);
    assert_int_equal(status_of(pid), SIGKILL);
}

// The looping process's parent is gone, and this process inherits it (as a subreaper): how it
// ended, with or without a signal to end.
static int status_of_orphan(bool asked)
{
    int status = -1;

    seen->turns = 0;
    assert_int_equal(sys_call5(SYS_prctl, SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        s32 me = sys_getpid();

        if (sys_call0(SYS_fork) == 0)
            loop(me);
        while (!seen->turns)
            wait_ms(1);
        sys_exit_group(0);
    }
    assert_int_equal(status_of(pid), 0);
    until_it_turns();
    while (sys_call4(SYS_wait4, ~0ul, (u64)&status, WNOHANG, 0) == 0) {
        if (asked)
            sys_call2(SYS_kill, (u64)seen->pid, SIGTERM);
        wait_ms(20);
    }
    return status;
}

static void test_orphan(void **state)
{
    (void)state;
    assert_int_equal(status_of_orphan(true), SIGTERM);
    assert_int_equal(status_of_orphan(false), SIGPROF); // its time is over
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),    cmocka_unit_test(test_confined),
        cmocka_unit_test(test_no_rights), cmocka_unit_test(test_has_parent),
        cmocka_unit_test(test_orphan),
    };

    seen =
        (void *)sys_mmap(0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("replay/sandbox", tests, NULL, NULL);
}
