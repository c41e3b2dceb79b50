// SPDX-License-Identifier: MIT
// engine/process/seccomp.c: which filters are accepted, for which thread, the result of a call, and
// what is passed over an exec. Programs are run by seccomp_bpf.c, which has its own test; the
// kernel applies a filter to a child of the test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/gate.h"
#include "engine/process/exit.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp.h"
#include "engine/process/seccomp_bpf.h"
#include "engine/signal/deliver.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define NOWHERE 8ul
#define NOBODY  65534

// include/uapi/linux/seccomp.h
enum { STRICT = 1, FILTER = 2 };
enum { SET_STRICT, SET_FILTER, ACTION_AVAIL };
enum { TSYNC = 1, LOG = 2, ALLOW_SPEC = 4, LISTENER = 8, TSYNC_ESRCH = 16 };
#define KILL_PROCESS 0x80000000u
#define KILL_THREAD  0u
#define TRAP         0x30000u
#define ERRNO        0x50000u
#define NOTIFY       0x7fc00000u
#define TRACE        0x7ff00000u
#define LOGGED       0x7ffc0000u
#define ALLOW        0x7fff0000u

// -- fakes of what seccomp.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
static struct thread block[3];
static struct thread_own own[3];
static struct signal_state sig;
static struct thread *const t = &block[0];
static u32 threads;
static int locked, slow;
static long returned, blocks;
static jmp_buf back;
static char text[1 << 16]; // of a spool that was handed over

enum { THREAD_ENDED = 1, PROCESS_ENDED };
static int ended_with;
static u32 ended_kind;

static struct {
    int sig, code;
    u64 addr, trapno, err;
} fault;

void *heap_alloc(u64 bytes)
{
    blocks++;
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    blocks--;
    free(p);
}

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    if (gaddr < 4096)
        return -EFAULT;
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

int clientmem_read_u32(u64 gaddr, u32 *value)
{
    return clientmem_read(value, gaddr, sizeof(*value));
}

void gate_make_all_slow(void)
{
    slow++;
}

static u32 judged;

void rights_judged(void)
{
    judged++;
}

void gate_return(struct thread *of, long ret)
{
    assert_ptr_equal(of, t);
    returned = ret;
}

_Noreturn void exit_thread(struct thread *of, int code)
{
    assert_ptr_equal(of, t);
    ended_with = code;
    longjmp(back, THREAD_ENDED);
}

_Noreturn void exit_process(struct thread *of, u32 kind, int code)
{
    assert_ptr_equal(of, t);
    ended_kind = kind;
    ended_with = code;
    longjmp(back, PROCESS_ENDED);
}

void deliver_fault(struct thread *of, int number, int code, u64 addr, u64 trapno, u64 err)
{
    assert_ptr_equal(of, t);
    fault.sig = number;
    fault.code = code;
    fault.addr = addr;
    fault.trapno = trapno;
    fault.err = err;
}

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, header.s_seccomp);
    return text;
}

u32 threads_count(void)
{
    return threads;
}

struct thread *threads_first(void)
{
    assert_int_equal(locked, 1);
    return &block[0];
}

void threads_lock(void)
{
    locked++;
}

void threads_unlock(void)
{
    locked--;
}

// -- helpers of the tests --

static int setup(void **state)
{
    (void)state;
    memset(block, 0, sizeof(block));
    memset(own, 0, sizeof(own));
    memset(&sig, 0, sizeof(sig));
    memset(&header, 0, sizeof(header));
    memset(&fault, 0, sizeof(fault));
    for (int i = 0; i < 3; i++) {
        block[i].own = &own[i];
        block[i].next = i < 2 ? &block[i + 1] : NULL;
        block[i].tid = 7 + i;
        own[i].tgid = 7;
    }
    t->sig = &sig;
    threads = 1;
    slow = 0;
    returned = 12345;
    blocks = 0;
    return 0;
}

struct program {
    u16 len;
    u64 insns;
};

static long install(const struct k_bpf_insn *insns, u64 n, u32 flags)
{
    struct program p = { (u16)n, (u64)insns };

    return seccomp_sys(t, SET_FILTER, flags, (u64)&p);
}

// A program that always returns this.
static long answer(u32 ret, u32 flags)
{
    const struct k_bpf_insn insns[] = { { 0x06, 0, 0, ret } };

    return install(insns, 1, flags);
}

enum { STOPPED = 10, GOES_ON };

static int check(void)
{
    int how = setjmp(back);

    if (!how)
        how = seccomp_check(t) ? GOES_ON : STOPPED;
    return how;
}

// Runs in a child with no_new_privs; its exit status.
static int in_child(void (*what)(void))
{
    int status;

    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        what();
        sys_exit_group(99);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status & 0x7f, 0);
    return status >> 8;
}

// -- accepted filters --

static void without_rights(void)
{
    sys_call1(SYS_setuid, NOBODY);
    sys_exit_group((int)-answer(ALLOW, 0));
}

static void promises(void)
{
    sys_call1(SYS_setuid, NOBODY);
    sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sys_exit_group(answer(ALLOW, 0) ? 98 : 44);
}

static void test_rights(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_rights), EACCES);
    assert_int_equal(in_child(promises), 44);
}

static void test_refused(void **state)
{
    static const struct k_bpf_insn no_end[] = { { 0, 0, 0, 1 } };
    struct program nowhere = { 1, NOWHERE };

    (void)state;
    assert_int_equal(install(no_end, 1, 0), -EINVAL);
    assert_int_equal(install(no_end, 0, 0), -EINVAL);
    assert_int_equal(install(no_end, SECCOMP_MAX_INSNS + 1, 0), -EINVAL);
    assert_int_equal(seccomp_sys(t, SET_FILTER, 0, (u64)&nowhere), -EFAULT);
    assert_int_equal(seccomp_sys(t, SET_FILTER, 0, NOWHERE), -EFAULT);
    assert_int_equal(answer(ALLOW, LISTENER), -EINVAL);
    assert_int_equal(answer(ALLOW, 32), -EINVAL);
    assert_int_equal(seccomp_sys_prctl(t, 3, 0), -EINVAL);
    assert_int_equal(seccomp_sys_prctl(t, 0, 0), -EINVAL);
    assert_int_equal(blocks, 0);
    assert_int_equal(slow, 0);
    assert_int_equal(seccomp_mode(t), 0);
    assert_int_equal(check(), GOES_ON);
}

static void test_taken(void **state)
{
    struct program p = { 1, 0 };
    const struct k_bpf_insn insns[] = { { 0x06, 0, 0, ALLOW } };

    (void)state;
    assert_int_equal(answer(ALLOW, LOG | ALLOW_SPEC), 0);
    assert_int_equal(seccomp_mode(t), FILTER);
    assert_int_equal(slow, 1);
    assert_int_equal(blocks, 1);
    p.insns = (u64)insns;
    assert_int_equal(seccomp_sys_prctl(t, FILTER, (u64)&p), 0);
    assert_int_equal(blocks, 2);
    assert_int_equal(slow, 2);
    assert_int_equal(seccomp_sys(t, SET_STRICT, 0, 0), -EINVAL); // filters stay
    seccomp_inherit(&block[1], t);
    assert_int_equal(seccomp_mode(&block[1]), FILTER);
    assert_ptr_equal(own[1].seccomp_filters, own[0].seccomp_filters);
}

// The limit is 32768 instructions as the kernel counts them: a program of n loads and a return of a
// constant has n + 5 after conversion (3 at the start, 2 for the return), and each older program
// counts 4 more.
static void test_room(void **state)
{
    static struct k_bpf_insn insns[SECCOMP_MAX_INSNS];

    (void)state;
    for (int i = 0; i < SECCOMP_MAX_INSNS; i++)
        insns[i] = (struct k_bpf_insn){ 0, 0, 0, 1 };
    insns[SECCOMP_MAX_INSNS - 1] = (struct k_bpf_insn){ 0x06, 0, 0, ALLOW };
    for (int i = 0; i < 7; i++)
        assert_int_equal(install(insns, SECCOMP_MAX_INSNS, 0),
                         0); // 4100, and 4 when they are older
    // 7 * 4104 = 28728 leave 4040, which is 4036 and 4.
    assert_int_equal(install(insns + 59, 4037, 0), -ENOMEM);
    assert_int_equal(blocks, 7);
    assert_int_equal(install(insns + 60, 4036, 0), 0);
    assert_int_equal(blocks, 8);
}

static void test_all_threads(void **state)
{
    (void)state;
    own[2].tgid = 8; // of another process
    assert_int_equal(answer(ALLOW, TSYNC), 0);
    assert_ptr_equal(own[1].seccomp_filters, own[0].seccomp_filters);
    assert_int_equal(seccomp_mode(&block[1]), FILTER);
    assert_null(own[2].seccomp_filters);
    assert_int_equal(seccomp_mode(&block[2]), 0);
    assert_int_equal(locked, 0);
    assert_int_equal(answer(ALLOW, TSYNC), 0);
    assert_ptr_equal(own[1].seccomp_filters, own[0].seccomp_filters);
    // The result is a thread whose filters have diverged, and nothing has changed.
    own[1].seccomp_filters = NULL;
    assert_int_equal(answer(ALLOW, TSYNC), 0); // a thread without filters has not diverged
    struct seccomp_filter *shared = own[1].seccomp_filters;
    block[0].tid = 7;
    assert_int_equal(answer(ERRNO, 0), 0);
    struct seccomp_filter *mine = own[0].seccomp_filters;
    assert_int_equal(answer(ERRNO, TSYNC), block[1].tid);
    assert_ptr_equal(own[0].seccomp_filters, mine);
    assert_ptr_equal(own[1].seccomp_filters, shared);
    assert_int_equal(answer(ERRNO, TSYNC | TSYNC_ESRCH), -ESRCH);
    assert_int_equal(blocks, 4);
    assert_int_equal(slow, 4);
    assert_int_equal(locked, 0);
    assert_int_equal(seccomp_mode(t), FILTER);
    // The first filter of all
    own[0].seccomp_filters = NULL;
    own[0].seccomp_mode = 0;
    assert_int_equal(answer(ERRNO, TSYNC), block[1].tid);
    assert_null(own[0].seccomp_filters);
    assert_int_equal(seccomp_mode(t), 0);
}

static void test_available(void **state)
{
    static const u32 has[] = { KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, TRACE, LOGGED, ALLOW };
    u32 lacks[] = { NOTIFY, 1, 0x7ffd0000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(has); i++)
        assert_int_equal(seccomp_sys(t, ACTION_AVAIL, 0, (u64)&has[i]), 0);
    for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
        assert_int_equal(seccomp_sys(t, ACTION_AVAIL, 0, (u64)&lacks[i]), -EOPNOTSUPP);
    assert_int_equal(seccomp_sys(t, ACTION_AVAIL, 1, (u64)&has[0]), -EINVAL);
    assert_int_equal(seccomp_sys(t, ACTION_AVAIL, 0, NOWHERE), -EFAULT);
    assert_int_equal(seccomp_sys(t, 77, 0, 0), sys_call3(SYS_seccomp, 77, 0, 0));
}

// -- results of calls --

static void test_strict(void **state)
{
    static const u64 may[] = { SYS_read, SYS_write, SYS_exit, SYS_rt_sigreturn };

    (void)state;
    assert_int_equal(seccomp_sys(t, SET_STRICT, 1, 0), -EINVAL);
    assert_int_equal(seccomp_sys(t, SET_STRICT, 0, 1), -EINVAL);
    assert_int_equal(seccomp_mode(t), 0);
    assert_int_equal(seccomp_sys_prctl(t, STRICT, 0), 0);
    assert_int_equal(slow, 1);
    assert_int_equal(seccomp_mode(t), STRICT);
    assert_int_equal(seccomp_sys(t, SET_STRICT, 0, 0), 0);
    assert_int_equal(answer(ALLOW, 0), -EINVAL);
    for (size_t i = 0; i < ARRAY_SIZE(may); i++) {
        t->regs[R_RAX] = may[i];
        assert_int_equal(check(), GOES_ON);
    }
    t->regs[R_RAX] = SYS_getpid;
    assert_int_equal(check(), PROCESS_ENDED);
    assert_int_equal(ended_kind, SPOOL_END_SIGNAL);
    assert_int_equal(ended_with, SIGKILL);
}

// The data of a program, word by word: number, architecture, address after the call, six arguments.
// The low 12 bits of each are returned as an error.
static void test_data(void **state)
{
    static const u32 words[16] = { 39,    0x03e, 0x002, 0x034, 0x101, 0x001, 0x102, 0x002,
                                   0x103, 0x003, 0x104, 0x004, 0x105, 0x005, 0x106, 0x006 };

    (void)state;
    t->sc_next = 0x34ul << 32 | 0x1002;
    t->regs[R_RAX] = 39;
    t->regs[R_RDI] = 0x100000101;
    t->regs[R_RSI] = 0x200000102;
    t->regs[R_RDX] = 0x300000103;
    t->regs[10] = 0x400000104;
    t->regs[8] = 0x500000105;
    t->regs[9] = 0x600000106;
    for (u32 i = 0; i < 16; i++) {
        const struct k_bpf_insn insns[] = {
            { 0x20, 0, 0, 4 * i }, // load the word
            { 0x54, 0, 0, 0xfff }, // and
            { 0x44, 0, 0, ERRNO }, // or
            { 0x16, 0, 0, 0 },     // return it
        };
        own[0].seccomp_filters = NULL;
        assert_int_equal(install(insns, 4, 0), 0);
        assert_int_equal(check(), STOPPED);
        assert_int_equal(-returned, words[i]);
    }
}

static int answers(u32 ret)
{
    setup(NULL);
    assert_int_equal(answer(ret, 0), 0);
    t->regs[R_RAX] = 39;
    t->sc_next = 0x4002;
    return check();
}

static void test_answers(void **state)
{
    (void)state;
    assert_int_equal(answers(ALLOW | 5), GOES_ON);
    assert_int_equal(answers(LOGGED), GOES_ON);
    assert_int_equal(returned, 12345);
    assert_int_equal(answers(ERRNO | 0), STOPPED);
    assert_int_equal(returned, 0);
    assert_int_equal(answers(ERRNO | 4095), STOPPED);
    assert_int_equal(returned, -4095);
    assert_int_equal(answers(ERRNO | 4096), STOPPED);
    assert_int_equal(returned, -4095);
    assert_int_equal(answers(TRACE | 3), STOPPED); // no tracer
    assert_int_equal(returned, -ENOSYS);
    assert_int_equal(answers(NOTIFY), STOPPED);
    assert_int_equal(returned, -ENOSYS);
    assert_int_equal(fault.sig, 0);
}

static void test_trap(void **state)
{
    s32 nr;
    u32 arch;

    (void)state;
    setup(NULL);
    sig.last_trapno = 14;
    sig.last_err = 6;
    assert_int_equal(answer(TRAP | 0x123, 0), 0);
    t->regs[R_RAX] = 39;
    t->sc_next = 0x4002;
    assert_int_equal(check(), STOPPED);
    assert_int_equal(returned, 39); // rax as it was
    assert_true(fault.sig == SIGSYS && fault.code == 1 && fault.addr == 0x4002);
    assert_true(fault.trapno == 14 && fault.err == 6);
    memcpy(&nr, &sig.sync.info.raw[8], 4);
    memcpy(&arch, &sig.sync.info.raw[12], 4);
    assert_int_equal(nr, 39);
    assert_int_equal(arch, 0xc000003e);
    assert_int_equal(sig.sync.info.err, 0x123);
}

static void test_kills(void **state)
{
    static const u32 process[] = { KILL_PROCESS, 0x10000, 0x7ffe0000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(process); i++) { // the last two are no actions
        assert_int_equal(answers(process[i]), PROCESS_ENDED);
        assert_int_equal(ended_with, SIGSYS);
        assert_int_equal(ended_kind, SPOOL_END_SIGNAL);
    }
    assert_int_equal(answers(KILL_THREAD), PROCESS_ENDED);
    threads = 2;
    assert_int_equal(check(), THREAD_ENDED);
    assert_int_equal(ended_with, SIGSYS);
}

// The most severe result wins, whichever filter is older; of equal ones, the youngest's data.
static void test_severest(void **state)
{
    static const u32 order[] = { KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, TRACE, LOGGED, ALLOW };

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_SIZE(order); i++)
        for (int turned = 0; turned < 2; turned++) {
            int alone = answers(order[i]);

            setup(NULL);
            answer(order[i + turned], 0);
            answer(order[i + 1 - (size_t)turned], 0);
            assert_int_equal(check(), alone);
        }
    setup(NULL);
    answer(ERRNO | 1, 0);
    answer(ERRNO | 2, 0);
    assert_int_equal(check(), STOPPED);
    assert_int_equal(returned, -2);
}

// -- at an exec --

static int spool_with(u64 text_used)
{
    struct spool_header h = { .text_used = text_used, .pid = 4711 };
    int fd = (int)sys_call2(SYS_memfd_create, (u64) "spool", MFD_CLOEXEC);

    assert_int_equal(sys_pwrite(fd, &h, sizeof(h), 0), sizeof(h));
    return fd;
}

static void test_hand_over(void **state)
{
    (void)state;
    int fd = spool_with(100);
    assert_int_equal(seccomp_hand_over(t, -1), 0); // none
    answer(ERRNO | 1, 0);
    answer(LOGGED, 0);
    answer(ERRNO | 3, 0);
    assert_int_equal(seccomp_hand_over(t, fd), 0);
    assert_int_equal(sys_pread(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(header.s_seccomp, 100);
    assert_int_equal(header.seccomp_bytes, 3 * (8 + 8)); // a count, one instruction
    assert_int_equal(header.text_used, 148);
    assert_int_equal(header.pid, 4711);
    assert_int_equal(sys_pread(fd, text, sizeof(text), SPOOL_TEXT_OFF + 100), 48);
    sys_close(fd);

    own[0].seccomp_filters = NULL;
    own[0].seccomp_mode = 0;
    slow = 0;
    seccomp_take_over(t);
    assert_int_equal(slow, 1);
    assert_int_equal(seccomp_mode(t), FILTER);
    assert_int_equal(check(), STOPPED);
    assert_int_equal(returned, -3); // the youngest is the youngest still
    setup(NULL);
    seccomp_take_over(t);
    assert_int_equal(slow, 0);
    assert_int_equal(seccomp_mode(t), 0);
}

static void test_hand_over_fails(void **state)
{
    (void)state;
    answer(ALLOW, 0);
    int fd = spool_with(SPOOL_TEXT_SIZE - 16);
    assert_int_equal(seccomp_hand_over(t, fd), 0);
    sys_close(fd);
    fd = spool_with(SPOOL_TEXT_SIZE - 15);
    assert_int_equal(seccomp_hand_over(t, fd), -E2BIG);
    sys_close(fd);
    assert_int_equal(seccomp_hand_over(t, -1), -EIO);
    int null = (int)sys_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
    assert_int_equal(seccomp_hand_over(t, null), -EIO); // it has no header
    sys_close(null);
    fd = spool_with(100);
    char name[32];
    nolibc_format(name, sizeof(name), "/proc/self/fd/%d", fd);
    int reader = (int)sys_open(name, O_RDONLY | O_CLOEXEC, 0);
    assert_int_equal(seccomp_hand_over(t, reader), -EIO);
    sys_close(reader);
    sys_close(fd);
}

// getppid() at this address: mov $110, %eax; syscall; ret
static long parent_from(u64 at)
{
    static const u8 code[] = { 0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3 };
    long (*call)(void);

    if (sys_mmap(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (long)at)
        sys_exit_group(97);
    memcpy((void *)at, code, sizeof(code));
    memcpy(&call, &at, sizeof(call));
    return call();
}

static void no_parent(u32 error)
{
    const struct k_bpf_insn insns[] = {
        { 0x20, 0, 0, 0 },             // load the number
        { 0x15, 0, 1, SYS_getppid },   // equal?
        { 0x06, 0, 0, ERRNO | error }, // then this
        { 0x06, 0, 0, ALLOW },
    };

    if (install(insns, 4, 0))
        sys_exit_group(96);
}

static void goes_to_kernel(void)
{
    long parent = sys_call0(SYS_getppid);

    sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    no_parent(77);
    bool good = seccomp_to_kernel(t) && own[0].seccomp_in_kernel == own[0].seccomp_filters &&
                sys_call0(SYS_getppid) == -77;
    // The filters do not apply to the engine's text; they apply below and after it.
    good &= parent_from(ENGINE_BASE) == parent && parent_from(ENGINE_HEAP_BASE - 4096) == parent &&
            parent_from(ENGINE_BASE - 4096) == -77 && parent_from(ENGINE_HEAP_BASE) == -77;
    good &= seccomp_to_kernel(t) && sys_call0(SYS_getppid) == -77;
    no_parent(78); // only the new one goes there now
    good &= seccomp_to_kernel(t) && own[0].seccomp_in_kernel == own[0].seccomp_filters &&
            sys_call0(SYS_getppid) == -78;
    sys_exit_group(good ? 44 : 45);
}

static void kernel_refuses(void)
{
    sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    no_parent(77);
    if (sys_call5(SYS_prctl, PR_SET_SECCOMP, 3, 0, 0, 0) != -EINVAL)
        sys_exit_group(95);
    struct k_rlimit none = { 4096, 4096 };
    sys_prlimit(RLIMIT_AS, &none, NULL);
    sys_exit_group(!seccomp_to_kernel(t) && !own[0].seccomp_in_kernel ? 44 : 45);
}

static void test_to_kernel(void **state)
{
    (void)state;
    assert_true(seccomp_to_kernel(t)); // there is none
    assert_int_equal(in_child(goes_to_kernel), 44);
    assert_int_equal(in_child(kernel_refuses), 44);
}

// All but the first test need filters to be permitted, as no_new_privs has them.
static int promise(void **state)
{
    sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return setup(state);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_rights, setup),
        cmocka_unit_test_setup(test_refused, promise),
        cmocka_unit_test_setup(test_taken, setup),
        cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_all_threads, setup),
        cmocka_unit_test_setup(test_available, setup),
        cmocka_unit_test_setup(test_strict, setup),
        cmocka_unit_test_setup(test_data, setup),
        cmocka_unit_test_setup(test_answers, setup),
        cmocka_unit_test_setup(test_trap, setup),
        cmocka_unit_test_setup(test_kills, setup),
        cmocka_unit_test_setup(test_severest, setup),
        cmocka_unit_test_setup(test_hand_over, setup),
        cmocka_unit_test_setup(test_hand_over_fails, setup),
        cmocka_unit_test_setup(test_to_kernel, setup),
    };

    return cmocka_run_group_tests_name("process/seccomp", tests, NULL, NULL);
}
