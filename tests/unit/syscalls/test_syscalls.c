// SPDX-License-Identifier: MIT
// engine/syscalls/syscalls.c: which calls leave the fast gate, what is done before and after calls
// that still go through it, and with which mask they wait. Fakes of the other handlers log their
// calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/count/vtsc.h"
#include "engine/process/bgfinish.h"
#include "engine/process/exec.h"
#include "engine/process/exit.h"
#include "engine/process/fork.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp.h"
#include "engine/replay/replayer.h"
#include "engine/signal/mask.h"
#include "engine/signal/sigcalls.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/descriptors.h"
#include "engine/syscalls/files.h"
#include "engine/syscalls/memory.h"
#include "engine/syscalls/ptrace.h"
#include "engine/syscalls/syscalls.h"
#include "engine/syscalls/waits.h"
#include "engine/thread/reentry.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "engine/translate/timing.h"
#include "tests/unit/objects/objects_none.h"

struct cpu cpu = { .shown_all = true, .address_bits = 48 };
static struct spool_header header;
struct spool_header *spool = &header;
bool gate_all_slow;

// -- fakes --

enum { RETURNED, GATED, ENDED_THREAD, ENDED_PROCESS, LOOPED };

static jmp_buf back;
static int code;
static u8 slow[GATE_CALLS];
static char asked[64];

static void note(char what)
{
    asked[strlen(asked)] = what;
}

void gate_init(const u8 table[GATE_CALLS])
{
    memcpy(slow, table, sizeof(slow));
}

struct tb_config tb_config;

bool threads_is_profiled(const struct thread *t)
{
    (void)t;
    return true;
}

void replayer_allow(void)
{
    note('a');
}

void replayer_stop(void)
{
    note('q');
}

void bgfinish_stop(void)
{
    note('k');
}

static u32 waits_for; // the call that waits_note() was told last

void waits_note(struct thread *t, u32 nr)
{
    (void)t;
    waits_for = nr;
}

// only with --reproducible
u64 vtsc_random(struct thread *t)
{
    (void)t;
    fail();
    return 0;
}

void memory_init(u64 brk, u64 top)
{
    assert_int_equal(brk, 0x5000);
    assert_int_equal(top, 0x7000);
}

void stopworld_stop(struct thread *t)
{
    (void)t;
    note('<');
}

void stopworld_resume(struct thread *t)
{
    (void)t;
    note('>');
}

void gate_return(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
    t->pc = t->sc_next;
}

_Noreturn void gate_call(struct thread *t, const u64 args[6])
{
    (void)t;
    assert_null(args);
    longjmp(back, GATED);
}

void gate_args_restore(struct thread *t)
{
    t->sc_post = 0;
    note('a');
}

_Noreturn void exit_thread(struct thread *t, int with)
{
    (void)t;
    code = with;
    longjmp(back, ENDED_THREAD);
}

_Noreturn void exit_process(struct thread *t, u32 kind, int with)
{
    (void)t;
    assert_int_equal(kind, SPOOL_END_EXIT);
    code = with;
    longjmp(back, ENDED_PROCESS);
}

static void loop(struct thread *t)
{
    (void)t;
    longjmp(back, LOOPED);
}

void (*reentry_run)(struct thread *t) = loop;

#define ASKED(function, letter)     \
    void function(struct thread *t) \
    {                               \
        (void)t;                    \
        note(letter);               \
    }
ASKED(fork_sys_fork, 'f')
ASKED(fork_sys_vfork, 'v')
ASKED(fork_sys_clone, 'c')
ASKED(fork_sys_clone3, '3')
ASKED(sigcalls_return, 'r')
ASKED(mask_exec_failed, 'x')
ASKED(stopworld_park, 'p')
ASKED(stopworld_turn_take, 't')
ASKED(stress_resume, 's')

static int exec_dirfd, exec_flags;
static u64 exec_path;

long exec_handle(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags)
{
    (void)t;
    assert_int_equal(argv, path + 1);
    assert_int_equal(envp, path + 2);
    exec_dirfd = dirfd;
    exec_path = path;
    exec_flags = flags;
    note('e');
    return -ENOENT;
}

static bool allowed = true;

bool seccomp_check(struct thread *t)
{
    (void)t;
    note('k');
    return allowed;
}

long seccomp_sys(struct thread *t, u32 op, u32 flags, u64 args)
{
    (void)t;
    return (long)(op * 100 + flags * 10 + args);
}

bool rights_call(struct thread *t, u32 nr)
{
    if (nr != SYS_setuid && (nr != SYS_prctl || t->regs[R_RDI] != PR_SET_NO_NEW_PRIVS))
        return false;
    note('g');
    gate_return(t, 17);
    return true;
}

void rights_begin(struct thread *t)
{
    (void)t;
    note('(');
}

void rights_end(struct thread *t)
{
    (void)t;
    note(')');
}

static bool forbidden;

void timing_forbidden(void)
{
    forbidden = true;
}

long seccomp_sys_prctl(struct thread *t, u64 mode, u64 filter)
{
    (void)t;
    return (long)(mode * 10 + filter);
}

long seccomp_mode(struct thread *t)
{
    (void)t;
    return 2;
}

long sigcalls_action(struct thread *t, int sig, u64 act, u64 old, u64 size)
{
    (void)t;
    return (long)((u64)sig * 1000 + act * 100 + old * 10 + size);
}

void sigcalls_procmask(struct thread *t)
{
    const u64 *r = t->regs;

    gate_return(t, sigcalls_action(t, (int)r[R_RDI], r[R_RSI], r[R_RDX], r[10]) + 1);
}

long sigcalls_altstack(struct thread *t, u64 ss, u64 old)
{
    (void)t;
    return (long)(ss * 10 + old);
}

long sigcalls_pending(struct thread *t, u64 set, u64 size)
{
    (void)t;
    return (long)(set * 10 + size) + 1;
}

long sigcalls_xcomp_perm(struct thread *t, u64 with, u64 feature)
{
    (void)t;
    return (long)(with + feature);
}

static struct k_siginfo held;
static u64 held_mask; // what the signal may be taken by

u64 mask_held(const struct thread *t)
{
    return t->sig->held_count ? held_mask : 0;
}

static bool is_due;

bool mask_is_due(const struct thread *t)
{
    (void)t;
    return is_due;
}

int mask_take_held(struct thread *t, u64 set, struct k_siginfo *info)
{
    (void)t;
    if (!(set & held_mask))
        return 0;
    *info = held;
    return held.signo;
}

void mask_note_held(struct thread *t, const struct k_siginfo *info)
{
    (void)t;
    assert_int_equal(info->signo, held.signo);
    note('n');
}

bool memory_call(struct thread *t, u32 nr)
{
    (void)t;
    return nr == SYS_mmap;
}

void descriptors_init(u8 table[GATE_CALLS])
{
    table[SYS_getppid] = GATE_SLOW;
    table[SYS_poll] = GATE_POLL;
}

bool descriptors_call(struct thread *t, u32 nr)
{
    (void)t;
    return nr == SYS_getppid;
}

void files_init(u8 table[GATE_CALLS])
{
    assert_int_equal(table[SYS_getppid], GATE_SLOW); // descriptors_init() has been
    table[SYS_lstat] = GATE_NAME;
    table[SYS_open] = GATE_OPEN;
}

bool files_names_ours(u32 nr, const u64 args[6])
{
    return nr == SYS_execveat && args[1] == 0x804081;
}

bool files_call(struct thread *t, u32 nr)
{
    (void)t;
    return nr == SYS_lstat;
}

bool ptrace_call(struct thread *t)
{
    note('P');
    return t->regs[R_RDI] == 1;
}

static u32 done_nr;

void files_done(struct thread *t, u32 nr)
{
    (void)t;
    done_nr = nr;
}

// -- helpers of the tests --

static struct thread thread, *const t = &thread;
static struct signal_state sig;

static int setup(void **state)
{
    (void)state;
    memset(t, 0, sizeof(*t));
    memset(&sig, 0, sizeof(sig));
    memset(asked, 0, sizeof(asked));
    t->sig = &sig;
    t->sc_next = 0x401002;
    allowed = true;
    gate_all_slow = false;
    tb_config.watched = false;
    held_mask = 0;
    done_nr = 0;
    syscalls_init(0x5000, 0x7000);
    return 0;
}

static int call(u32 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    u64 arg[6] = { a, b, c, d, e, f };
    static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };
    int how = setjmp(back);

    if (how)
        return how;
    t->pc = 0x401000;
    t->sc_post = 7;
    t->regs[R_RAX] = nr;
    for (u32 i = 0; i < 6; i++)
        t->regs[reg[i]] = arg[i];
    // A call that is handled here must leave the gate.
    assert_true(gate_all_slow || slow[nr] != GATE_FAST);
    syscalls_slow(t);
    assert_int_equal(t->sc_post, 0);
    return RETURNED;
}

static void answers(long expected, u32 nr, u64 a, u64 b, u64 c, u64 d)
{
    assert_int_equal(call(nr, a, b, c, d, 0, 0), RETURNED);
    assert_int_equal(t->regs[R_RAX], expected);
    assert_int_equal(t->pc, 0x401002);
}

// Frequent calls go straight to the kernel.
static void test_fast(void **state)
{
    static const u32 fast[] = { SYS_read,  SYS_write, SYS_getpid,
                                SYS_lseek, SYS_pipe2, SYS_gettimeofday };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(fast); i++)
        assert_int_equal(slow[fast[i]], 0);
}

static void test_handed_on(void **state)
{
    (void)state;
    answers(9 * 1000 + 8 * 100 + 7 * 10 + 6, SYS_rt_sigaction, 9, 8, 7, 6);
    answers(9 * 1000 + 8 * 100 + 7 * 10 + 6 + 1, SYS_rt_sigprocmask, 9, 8, 7, 6);
    answers(98 + 1, SYS_rt_sigpending, 9, 8, 0, 0);
    answers(98, SYS_sigaltstack, 9, 8, 0, 0);
    answers(287, SYS_seccomp, 2, 8, 7, 0);
    assert_string_equal(asked, "");
    answers(187, SYS_seccomp, 1, 8, 7, 0);
    answers(98, SYS_prctl, PR_SET_SECCOMP, 9, 8, 0);
    answers(17, SYS_setuid, 0, 0, 0, 0);
    answers(17, SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0, 0);
    assert_string_equal(asked, "()()gg");
    answers(2, SYS_prctl, PR_GET_SECCOMP, 0, 0, 0);
    answers(-EINVAL, SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0);
    answers(-ENOSYS, SYS_rseq, 0, 0, 0, 0);
    assert_int_equal(call(SYS_prctl, PR_SET_NAME, 0, 0, 0, 0, 0), GATED);
    // rdtsc is the engine's, too
    assert_int_equal(call(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0, 0), GATED);
    assert_false(forbidden);
    assert_int_equal(call(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE + 1, 0, 0, 0, 0), GATED);
    assert_true(forbidden);
    assert_int_equal(call(SYS_fork, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_vfork, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_clone, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_clone3, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_rt_sigreturn, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_string_equal(asked, "()()ggfvc3r");
    assert_int_equal(call(SYS_mmap, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_lstat, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_getppid, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_open, 0, 0, 0, 0, 0, 0), GATED);
    assert_int_equal(call(SYS_ptrace, 1, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(call(SYS_ptrace, 2, 0, 0, 0, 0, 0), GATED);
}

static void test_exec_and_end(void **state)
{
    (void)state;
    answers(-ENOENT, SYS_execve, 100, 101, 102, 0);
    assert_int_equal(exec_dirfd, AT_FDCWD);
    assert_int_equal(exec_path, 100);
    assert_int_equal(exec_flags, 0);
    assert_int_equal(call(SYS_execveat, 5, 200, 201, 202, 0x1000, 0), RETURNED);
    assert_int_equal(exec_dirfd, 5);
    assert_int_equal(exec_path, 200);
    assert_int_equal(exec_flags, 0x1000);
    assert_string_equal(asked, "exex"); // what was changed for it is taken back
    assert_int_equal(call(SYS_exit, 0x1234, 0, 0, 0, 0, 0), ENDED_THREAD);
    assert_int_equal(code, 0x1234);
    assert_int_equal(call(SYS_exit_group, 0x1234, 0, 0, 0, 0, 0), ENDED_PROCESS);
    assert_int_equal(code, 0x34);
}

// %gs is the engine's: the client's base is a word of its thread block.
static void test_bases(void **state)
{
    u64 base = 0;

    (void)state;
    answers(0, SYS_arch_prctl, ARCH_SET_GS, 0x12345000, 0, 0);
    assert_int_equal(t->client_gs_base, 0x12345000);
    answers(-EPERM, SYS_arch_prctl, ARCH_SET_GS, (1ul << 47) - 4096, 0, 0);
    answers(0, SYS_arch_prctl, ARCH_GET_GS, (u64)&base, 0, 0);
    assert_int_equal(base, 0x12345000);
    answers(ARCH_REQ_XCOMP_PERM + 18, SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, 18, 0, 0);
    for (u64 shadow = 0x5001; shadow <= 0x5005; shadow++) // the client has no shadow stack
        answers(-EINVAL, SYS_arch_prctl, shadow, 0, 0, 0);
    answers(0, SYS_arch_prctl, ARCH_GET_FS, (u64)&base, 0, 0); // the kernel's
    assert_true(base != 0 && base != 0x12345000);
}

// A call is repeated if a signal is to be delivered first, and passes the filters.
// Reading 0 bytes of the table returns 0, and an unknown function is refused (this call's errors
// have 32 bits); both while the other threads are stopped.
static void test_selectors(void **state)
{
    (void)state;
    answers(0, SYS_modify_ldt, 0, 0, 0, 0);
    assert_string_equal(asked, "<>");
    answers((u32)-ENOSYS, SYS_modify_ldt, 99, 0, 0, 0);
    assert_string_equal(asked, "<><>");
}

static void test_not_yet(void **state)
{
    (void)state;
    t->stop = STOP_SIGNAL;
    assert_int_equal(call(SYS_exit_group, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(t->pc, 0x401000);
    t->stop = 0;
    gate_all_slow = true;
    assert_int_equal(call(SYS_getpid, 0, 0, 0, 0, 0, 0), GATED);
    assert_string_equal(asked, "k");
    allowed = false;
    assert_int_equal(call(SYS_exit_group, 0, 0, 0, 0, 0, 0), RETURNED);
    assert_int_equal(t->pc, 0x401000);
}

// The time of these goes on while they are interrupted.
static void test_waits(void **state)
{
    static const u32 calls[] = { SYS_nanosleep,    SYS_clock_nanosleep, SYS_poll,
                                 SYS_epoll_wait,   SYS_epoll_pwait,     SYS_semtimedop,
                                 SYS_io_getevents, SYS_io_pgetevents,   SYS_rt_sigtimedwait,
                                 SYS_futex,        SYS_select,          SYS_pselect6,
                                 SYS_ppoll };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
        assert_int_equal(call(calls[i], 0, 0, 0, 0, 0, 0), GATED);
        assert_int_equal(waits_for, calls[i]);
    }
}

// The replayer is a child of a kind for which only these calls wait.
static void test_children(void **state)
{
    (void)state;
    assert_int_equal(slow[SYS_wait4] | slow[SYS_waitid], 0);
    assert_int_equal(slow[SYS_futex], GATE_FUTEX);
    tb_config.watched = true;
    syscalls_init(0x5000, 0x7000);
    assert_int_equal(call(SYS_wait4, (u64)-1, 0, WNOHANG, 0, 0, 0), GATED);
    assert_int_equal(call(SYS_waitid, 0, 0, __WALL, WNOHANG, 0, 0), GATED);
    assert_string_equal(asked, "");
    assert_int_equal(call(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0, 0, 0), GATED);
    assert_string_equal(asked, "qak");
    assert_int_equal(call(SYS_waitid, 0, 0, 0, __WCLONE, 0, 0), GATED);
    assert_string_equal(asked, "qakqak");
}

// The mask with which a call waits, from each kind of argument.
static void test_masks(void **state)
{
    u64 mask = 0xabcd, pair[2] = { (u64)&mask, 8 };
    struct {
        u64 mask;
        u32 size, pad;
    } ext = { (u64)&mask, 8, 0 };
    struct {
        u32 nr;
        u64 arg[6];
    } cases[] = {
        { SYS_rt_sigsuspend, { (u64)&mask, 8 } },
        { SYS_ppoll, { 0, 0, 0, (u64)&mask, 8 } },
        { SYS_epoll_pwait, { 0, 0, 0, 0, (u64)&mask, 8 } },
        { SYS_epoll_pwait2, { 0, 0, 0, 0, (u64)&mask, 8 } },
        { SYS_pselect6, { 0, 0, 0, 0, 0, (u64)pair } },
        { SYS_io_pgetevents, { 0, 0, 0, 0, 0, (u64)pair } },
        { SYS_io_uring_enter, { 0, 0, 0, 0, (u64)&mask, 8 } },
        { SYS_io_uring_enter, { 0, 0, 0, 1u << 3, (u64)&ext, 24 } },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        const u64 *a = cases[i].arg;

        memset(&sig, 0, sizeof(sig));
        assert_int_equal(call(cases[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]), GATED);
        assert_true(sig.temp_mask_set);
        assert_int_equal(sig.temp_mask, 0xabcd);
    }
    memset(&sig, 0, sizeof(sig));
    assert_int_equal(call(SYS_ppoll, 0, 0, 0, 0, 8, 0), GATED);          // none is given
    assert_int_equal(call(SYS_ppoll, 0, 0, 0, (u64)&mask, 4, 0), GATED); // the kernel refuses it
    assert_int_equal(call(SYS_pselect6, 0, 0, 0, 0, 0, 0), GATED);
    assert_false(sig.temp_mask_set);
}

// A signal that only the engine holds ends a wait whose mask does not block it, and a sigtimedwait
// takes it.
static void test_held(void **state)
{
    struct k_siginfo got;
    u64 mask = ~SIGBIT(SIGSEGV), set = SIGBIT(SIGSEGV);

    (void)state;
    memset(&held, 0, sizeof(held));
    memset(&got, 0, sizeof(got));
    held.signo = SIGSEGV;
    held.value = 77;
    held_mask = SIGBIT(SIGSEGV);
    sig.held_count = 1;
    assert_int_equal(call(SYS_rt_sigsuspend, (u64)&mask, 8, 0, 0, 0, 0), LOOPED);
    assert_int_equal(t->regs[R_RAX], (u64)-EINTR);
    assert_string_equal(asked, "n");
    assert_false(sig.temp_mask_set);
    mask = ~0ul;
    assert_int_equal(call(SYS_rt_sigsuspend, (u64)&mask, 8, 0, 0, 0, 0), GATED);
    answers(SIGSEGV, SYS_rt_sigtimedwait, (u64)&set, (u64)&got, 0, 8);
    assert_int_equal(got.value, 77);
    assert_int_equal(sig.awaited, 0);
    set = SIGBIT(SIGBUS);
    assert_int_equal(call(SYS_rt_sigtimedwait, (u64)&set, (u64)&got, 0, 8, 0, 0), GATED);
    assert_int_equal(sig.awaited, SIGBIT(SIGBUS));
}

// A signal that another thread has passed on to a sigtimedwait looks as it was sent; others are
// unchanged.
static void test_passed_on(void **state)
{
    static const struct {
        s64 result;
        s32 code, seen;
    } cases[] = { { SIGBUS, MASK_GIVEN_AWAY, SI_USER },
                  { SIGBUS, SI_QUEUE, SI_QUEUE },
                  { -EAGAIN, MASK_GIVEN_AWAY, MASK_GIVEN_AWAY } };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        struct k_siginfo got = { .signo = SIGBUS, .code = cases[i].code, .pid = 77 };

        sig.awaited = SIGBIT(SIGBUS);
        t->sc_post = SYS_rt_sigtimedwait + 1;
        t->regs[R_RAX] = (u64)cases[i].result;
        t->regs[R_RSI] = (u64)&got;
        syscalls_done(t);
        assert_int_equal(got.code, cases[i].seen);
        assert_int_equal(got.pid, 77);
        assert_int_equal(sig.awaited, 0);
    }
    t->regs[R_RAX] = SIGBUS; // no siginfo requested
    t->regs[R_RSI] = 0;
    t->sc_post = SYS_rt_sigtimedwait + 1;
    syscalls_done(t);
}

// A call that failed with EINTR is made again only if nothing but a signal for another thread can
// have woken it: one that the client blocks and the kernel does not.
static void test_woken_in_vain(void **state)
{
    static const struct {
        u64 post, mask, temp; // temp: a mask of the call's own
        s64 result;
        bool due, vain;
    } cases[] = {
        { SYS_rt_sigtimedwait + 1, SIGBIT(SIGTRAP), 0, -EINTR, false, true },
        { SYS_epoll_wait + 1, SIGBIT(SIGSEGV), 0, -EINTR, false, true },
        { SYS_epoll_pwait + 1, 0, SIGBIT(SIGTRAP), -EINTR, false, true },
        { SYS_epoll_pwait + 1, SIGBIT(SIGTRAP), SIGBIT(SIGUSR1), -EINTR, false, false },
        { SYS_rt_sigtimedwait + 1, SIGBIT(SIGTRAP), 0, -EINTR, true, false }, // the client's signal
        { SYS_rt_sigtimedwait + 1, SIGBIT(SIGUSR1), 0, -EINTR, false, false },
        { SYS_rt_sigtimedwait + 1, SIGBIT(SIGTRAP), 0, -EAGAIN, false, false },
        { SYS_rt_sigtimedwait + 1, SIGBIT(SIGTRAP), 0, SIGTRAP, false, false },
        { SYS_close + 1, SIGBIT(SIGTRAP), 0, -EINTR, false, false }, // has closed
        { 0, SIGBIT(SIGTRAP), 0, -EINTR, false, false },             // of the fast gate
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        t->sc_post = cases[i].post;
        t->regs[R_RAX] = (u64)cases[i].result;
        sig.mask = cases[i].mask;
        sig.temp_mask = cases[i].temp;
        sig.temp_mask_set = cases[i].temp != 0;
        is_due = cases[i].due;
        assert_int_equal(syscalls_woken_in_vain(t), cases[i].vain);
    }
    is_due = false;
}

static void test_done(void **state)
{
    (void)state;
    t->sc_post = SYS_getdents64 + 1;
    t->rflags = 0x246;
    sig.temp_mask_set = true;
    t->stop = STOP_PARK;
    syscalls_done(t);
    assert_string_equal(asked, "ptsa");
    assert_int_equal(done_nr, SYS_getdents64);
    assert_false(sig.temp_mask_set);
    assert_int_equal(t->regs[R_RCX], 0x401002); // as the instruction leaves them
    assert_int_equal(t->regs[11], 0x246);
    assert_int_equal(t->pc, 0x401002);
    t->stop = 0;
    done_nr = 0;
    syscalls_done(t); // of the fast gate: nothing is to be put back
    assert_string_equal(asked, "ptsats");
    assert_int_equal(done_nr, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fast, setup),
        cmocka_unit_test_setup(test_handed_on, setup),
        cmocka_unit_test_setup(test_exec_and_end, setup),
        cmocka_unit_test_setup(test_bases, setup),
        cmocka_unit_test_setup(test_selectors, setup),
        cmocka_unit_test_setup(test_not_yet, setup),
        cmocka_unit_test_setup(test_waits, setup),
        cmocka_unit_test_setup(test_children, setup),
        cmocka_unit_test_setup(test_masks, setup),
        cmocka_unit_test_setup(test_held, setup),
        cmocka_unit_test_setup(test_passed_on, setup),
        cmocka_unit_test_setup(test_woken_in_vain, setup),
        cmocka_unit_test_setup(test_done, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
