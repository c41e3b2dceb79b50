// SPDX-License-Identifier: MIT
// engine/process/fork.c: which of the four kinds a call is, the kernel's arguments, and what is
// restored afterwards. Fakes of the functions that it calls log a letter each; the kernel is a fake
// where parent and child share memory, and real where not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#undef CSIGNAL // the C library has it, too
#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/vtsc.h"
#include "engine/process/bgfinish.h"
#include "engine/process/exit.h"
#include "engine/process/fork.h"
#include "engine/process/pretranslate.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp.h"
#include "engine/process/threadstart.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/action.h"
#include "engine/signal/common.h"
#include "engine/signal/mask.h"
#include "engine/signal/setup.h"
#include "engine/spool/copy.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "tests/unit/count/reftrace_none.h"
#include "tests/unit/objects/objects_none.h"

// -- fakes of what fork.c calls --

static struct {
    char text[64];
    size_t n;
    long ret; // what gate_return() was given last
    u64 exit_signal;
    bool shares_fds;
} * did; // shared with children

static struct spool_header header;
struct spool_header *spool = &header;
static struct thread block, child;
static struct thread_own own, child_own;
static struct signal_state sig, child_sig;
static struct thread *const t = &block;
static char table_of_parent, table_of_child;
#define PARENT_TABLE ((struct signal_table *)(void *)&table_of_parent)
#define CHILD_TABLE  ((struct signal_table *)(void *)&table_of_child)
static bool profiled, no_memory, noted_late;
static u32 threads;
static long answer;         // of the kernel
static u64 given[6];        // to the kernel
static u64 given_clone3[8]; // what args[1] pointed at then
static s64 allocated;       // bytes of the heap
static jmp_buf back;
static struct thread *list_writes; // into t->next, while the parent gets its block back

static void note(char letter)
{
    did->text[did->n++] = letter;
}

void *heap_alloc(u64 bytes)
{
    allocated += (s64)bytes;
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    if (p)
        allocated -= (s64)bytes;
    free(p);
}

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    if (gaddr == 1)
        return -EFAULT;
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

void mask_close(struct thread *of)
{
    note('m');
    of->sig->async.full |= noted_late;
}

struct signal_table *action_table_copy(struct signal_table *from)
{
    assert_ptr_equal(from, PARENT_TABLE);
    note('c');
    return CHILD_TABLE;
}

// A thread that ends leaves the list, at any time.
void action_table_drop(struct signal_table *table)
{
    assert_ptr_equal(table, CHILD_TABLE);
    note('d');
    t->next = list_writes;
}

void action_table_reset(struct signal_table *table)
{
    (void)table;
    note('r');
}

struct thread *threadstart_new(struct thread *parent)
{
    assert_ptr_equal(parent, t);
    return no_memory ? NULL : &child;
}

void threadstart_start(struct thread *of)
{
    (void)of;
    note('S');
}

void threadstart_abort(struct thread *of)
{
    assert_ptr_equal(of, &child);
    note('A');
}

void gate_return(struct thread *of, long ret)
{
    if (of == t)
        did->ret = ret;
    of->regs[R_RAX] = (u64)ret;
    of->pc = of->sc_next;
}

// What the child changes in the borrowed block: everything must be restored.
static void borrowed_child(void)
{
    assert_true(own.borrowed);
    assert_int_equal(own.loans, 5);
    memset(t->regs, 0xee, sizeof(t->regs));
    t->rflags = t->pc = t->sc_next = t->client_gs_base = t->client_fs_base = t->hist = 0xee;
    t->escape_fragment = 0xee;
    t->escape_delta = 0xee;
    t->tid = own.tgid = 4711;
    own.stress = STRESS_RUNS;
    own.exiting = true;
    own.has_turn = true; // it goes with the block: the parent goes on with what the child had
    t->sig->mask = 0xee;
    t->sig->held_count = 3;
    t->sig->async.full = t->sig->sync.full = true;
}

// fork.S and what it calls
_Noreturn void fork_clone_borrow(const u64 args[6], struct thread *of);
long fork_clone_thread(const u64 args[6]);
_Noreturn void fork_borrow_parent(struct thread *of, long ret);
_Noreturn void fork_borrow_child(struct thread *of);
_Noreturn void fork_thread_child(struct thread *of);

static bool go_on_as_child;

static void look(const u64 args[6])
{
    memcpy(given, args, sizeof(given));
    if (args[0] == SYS_clone3)
        memcpy(given_clone3, (const void *)args[1], sizeof(given_clone3));
}

_Noreturn void fork_clone_borrow(const u64 args[6], struct thread *of)
{
    look(args);
    note('B');
    if (go_on_as_child)
        fork_borrow_child(of);
    borrowed_child();
    fork_borrow_parent(of, answer);
}

long fork_clone_thread(const u64 args[6])
{
    look(args);
    note('T');
    return answer;
}

static void run(struct thread *of)
{
    (void)of;
    longjmp(back, 1);
}

void (*reentry_run)(struct thread *of) = run;

#define NOTES(name, letter)      \
    void name(struct thread *of) \
    {                            \
        (void)of;                \
        note(letter);            \
    }
NOTES(calls_fork_child, 'k')
NOTES(calls_thread_start, 's')
NOTES(stress_start, 'z')
NOTES(sampler_start, 'Z')
NOTES(threads_fork_child, 't')
NOTES(threads_list_add, '+')
NOTES(vtsc_before_clear, 'K')
NOTES(stopworld_blocking_begin, '(')
NOTES(stopworld_blocking_end, ')')
NOTES(stopworld_fork_child, 'w')
NOTES(stopworld_resume, '}')
NOTES(stopworld_stop, '{')
NOTES(stopworld_turn_take, 'y')

void calls_borrow_begin(struct thread *of, struct calls_save *save)
{
    (void)of;
    save->top = 77;
}

void calls_borrow_end(struct thread *of, const struct calls_save *save)
{
    (void)of;
    assert_int_equal(save->top, 77);
    note('e');
}

void caches_before_fork(void)
{
    note('H');
}

void caches_fork_child(void)
{
    note('h');
}

void replayer_fork_child(void)
{
    note('q');
}

void pretranslate_before_fork(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('P');
}

void pretranslate_fork_child(void)
{
    note('p');
}

void bgfinish_before_fork(void)
{
    note('Q');
}

void bgfinish_fork_child(void)
{
    note('w');
}

void rights_inherit(struct thread *of, const struct thread *parent)
{
    (void)of;
    assert_ptr_equal(parent, t);
}

void rights_fork_child(u64 clone_flags)
{
    assert_int_equal(clone_flags & CLONE_VM, 0);
    note('z');
}

void tcache_fork_child(void)
{
    note('x');
}

void common_forget(s32 tgid)
{
    assert_int_equal(tgid, 0);
    note('f');
}

void fds_save(struct fds_saved *to)
{
    to->own[0].fd = 44;
}

static int restored;

void fds_restore(const struct fds_saved *from)
{
    assert_int_equal(from->own[0].fd, 44);
    restored++;
}

void copy_fork_before(struct copy_fork *c, bool shares_fds)
{
    c->fd = 9;
    did->shares_fds = shares_fds;
}

void copy_fork_parent(struct copy_fork *c, bool forked)
{
    assert_int_equal(c->fd, 9);
    note(forked ? 'v' : 'V');
}

void copy_fork_child(struct copy_fork *c, s32 parent_pid, bool shares_fds)
{
    assert_int_equal(c->fd, 9);
    assert_int_equal(parent_pid, 7);
    assert_int_equal(did->shares_fds, shares_fds);
    note('C');
}

void exit_fork_child(u64 exit_signal)
{
    did->exit_signal = exit_signal;
}

// Draining records changes the branch history: the parent's, then the child's.
void recordbuf_drain(struct thread *of)
{
    assert_ptr_equal(of, t);
    t->hist = own.borrowed || t->vfork ? 0xdd : 0x2f;
    note('l');
}

void recordbuf_drain_all(s32 stopped)
{
    assert_int_equal(stopped, 0);
    note('L');
}

void seccomp_inherit(struct thread *of, const struct thread *parent)
{
    assert_ptr_equal(of, &child);
    assert_ptr_equal(parent, t);
}

static int shares_handlers;

void setup_thread(struct thread *of, struct thread *parent, bool shares)
{
    assert_ptr_equal(of, &child);
    assert_ptr_equal(parent, t);
    shares_handlers = shares;
}

u32 threads_count(void)
{
    return threads;
}

bool threads_is_profiled(const struct thread *of)
{
    (void)of;
    return profiled;
}

u64 vtsc_random(struct thread *of)
{
    (void)of;
    return 31337;
}

// -- the tests --

#define VFORK (CLONE_VM | CLONE_VFORK | SIGCHLD)

static int setup(void **state)
{
    (void)state;
    if (!did)
        did = (void *)sys_mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(did, 0, sizeof(*did));
    did->ret = 12345;
    memset(&block, 0, sizeof(block));
    memset(&child, 0, sizeof(child));
    memset(&own, 0, sizeof(own));
    memset(&child_own, 0, sizeof(child_own));
    memset(&sig, 0, sizeof(sig));
    memset(given, 0, sizeof(given));
    memset(given_clone3, 0, sizeof(given_clone3));
    header.flags = 0;
    t->own = &own;
    t->sig = &sig;
    sig.table = PARENT_TABLE;
    sig.mask = 0x1234;
    own.tgid = 7;
    own.loans = 4;
    t->tid = 8;
    for (int i = 0; i < 16; i++)
        t->regs[i] = 100 + (u64)i;
    t->rflags = 0x246;
    t->pc = 0x1000;
    t->sc_next = 0x1002;
    t->client_fs_base = 0xf5;
    t->client_gs_base = 0x65;
    t->hist = 0x11;
    t->escape_fragment = 21;
    t->escape_delta = 22;
    t->vtsc_base = 55;
    child.own = &child_own;
    child.sig = &child_sig;
    child.engine_sp = (u64)((char *)did + 2048);
    no_memory = noted_late = go_on_as_child = false;
    profiled = true;
    threads = 1;
    answer = 4711;
    allocated = 0;
    shares_handlers = -1;
    list_writes = NULL;
    return 0;
}

// 1: it went on by reentry_continue()
static int calls(void (*call)(struct thread *of))
{
    if (setjmp(back))
        return 1;
    call(t);
    return 0;
}

static void test_borrowed(void **state)
{
    (void)state;
    assert_int_equal(calls(fork_sys_vfork), 1);
    assert_string_equal(did->text, "mlcBdle");
    assert_int_equal(given[0], SYS_clone);
    assert_int_equal(given[1], VFORK);
    assert_int_equal(given[2], 0); // the child runs on the engine's stack
    assert_int_equal(did->ret, 4711);
    for (int i = 1; i < 16; i++)
        assert_int_equal(t->regs[i], 100 + i);
    assert_int_equal(t->rflags, 0x246);
    assert_int_equal(t->pc, 0x1002);
    assert_int_equal(t->client_fs_base, 0xf5);
    assert_int_equal(t->client_gs_base, 0x65);
    assert_int_equal(t->hist, 0x2f);
    assert_int_equal(t->escape_fragment, 21);
    assert_int_equal(t->escape_delta, 22);
    assert_int_equal(t->tid, 8);
    assert_int_equal(own.tgid, 7);
    // it had descriptors of its own
    assert_int_equal(restored, 1);
    assert_false(own.borrowed);
    assert_false(own.exiting);
    assert_true(own.has_turn);
    assert_int_equal(own.stress, STRESS_OFF);
    assert_int_equal(own.loans, 6);
    assert_int_equal(sig.mask, 0x1234);
    assert_int_equal(sig.held_count, 0);
    assert_false(signal_is_noted(t));
    assert_ptr_equal(sig.table, PARENT_TABLE);
    assert_null(t->vfork);
    assert_int_equal(t->state, TS_ENGINE);
    assert_int_equal(t->stop & STOP_SIGNAL, STOP_SIGNAL);
    assert_int_equal(allocated, 0);
}

// Another thread ends while the parent's block is restored. The parent restored its old `next`: the
// dead thread was in the list again, and when its area was reused the list became a cycle.
static void test_borrowed_list(void **state)
{
    struct thread ends = { 0 }, stays = { 0 };

    (void)state;
    t->next = &ends;
    list_writes = &stays;
    assert_int_equal(calls(fork_sys_vfork), 1);
    assert_ptr_equal(t->next, &stays);
}

static void test_borrowed_child(void **state)
{
    u64 args[8] = { CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND };

    (void)state;
    go_on_as_child = true;
    t->regs[R_RDI] = VFORK | CLONE_SETTLS | CLONE_SIGHAND;
    t->regs[R_RSI] = 0x7000;
    t->regs[8] = 0x715;
    own.stress = STRESS_RUNS;
    assert_int_equal(calls(fork_sys_clone), 1);
    assert_string_equal(did->text, "mlB"); // one table of actions for both
    assert_int_equal(given[1], VFORK | CLONE_SETTLS | CLONE_SIGHAND);
    assert_int_equal(given[2], 0);
    assert_int_equal(given[5], 0x715);
    assert_int_equal(did->ret, 0);
    assert_int_equal(t->regs[R_RSP], 0x7000);
    assert_int_equal(t->client_fs_base, 0x715);
    assert_int_equal(own.stress, STRESS_OFF);
    assert_int_equal(own.tgid, sys_getpid());
    assert_true(own.borrowed);
    setup(NULL);
    go_on_as_child = true;
    t->regs[R_RDI] = (u64)args;
    t->regs[R_RSI] = sizeof(args);
    assert_int_equal(calls(fork_sys_clone3), 1);
    assert_string_equal(did->text, "mlcBr"); // the copy's handlers become the default
    assert_int_equal(t->regs[R_RSP], 100 + R_RSP);
}

static void test_noted(void **state)
{
    static void (*const all[])(struct thread * of) = { fork_sys_vfork, fork_sys_fork,
                                                       fork_sys_clone };

    (void)state;
    for (int i = 0; i < 3; i++) {
        setup(NULL);
        noted_late = true;
        threads = 2;
        t->regs[R_RDI] = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
        assert_int_equal(calls(all[i]), 0);
        assert_string_equal(did->text, i == 1 ? "{m}" : "m");
        assert_int_equal(did->ret, 12345); // the call is repeated
        assert_int_equal(t->pc, 0x1000);
        assert_int_equal(allocated, 0);
    }
}

static void test_thread(void **state)
{
    (void)state;
    t->regs[R_RDI] = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS;
    t->regs[R_RSI] = 0x7000;
    t->regs[R_RDX] = 0xd0;
    t->regs[10] = 0xa0;
    t->regs[8] = 0x715;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_string_equal(did->text, "ms+T");
    assert_int_equal(given[0], SYS_clone);
    assert_int_equal(given[1], t->regs[R_RDI]);
    assert_int_equal(given[2], child.engine_sp - 8);
    assert_int_equal(given[3], 0xd0);
    assert_int_equal(given[4], 0xa0);
    assert_int_equal(given[5], 0x715);
    assert_int_equal(*(u64 *)(child.engine_sp - 8), (u64)&child);
    assert_int_equal(did->ret, 4711);
    assert_int_equal(child.pc, 0x1002);
    assert_int_equal(child.regs[R_RAX], 0);
    assert_int_equal(child.regs[R_RSP], 0x7000);
    assert_int_equal(child.regs[R_RBX], t->regs[R_RBX]);
    assert_int_equal(child.rflags, 0x246);
    assert_int_equal(child.client_fs_base, 0x715);
    assert_int_equal(child.client_gs_base, 0x65);
    assert_int_equal(child.sc_args[0], t->regs[R_RDI]);
    assert_int_equal(shares_handlers, 1);
}

// A NULL stack is the parent's; without CLONE_SIGHAND the handlers are a copy; a waiting parent
// does not block stopping the world.
static void test_process_in_shared_memory(void **state)
{
    (void)state;
    t->regs[R_RDI] = CLONE_VM | SIGCHLD;
    t->regs[R_RSI] = 0;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_int_equal(child.regs[R_RSP], t->regs[R_RSP]);
    assert_int_equal(child.client_fs_base, 0xf5);
    assert_int_equal(shares_handlers, 0);
    setup(NULL);
    t->regs[R_RDI] = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_VFORK;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_string_equal(did->text, "ms+(T)");
}

static void test_thread_refused(void **state)
{
    (void)state;
    t->regs[R_RDI] = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    no_memory = true;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_string_equal(did->text, "m");
    assert_int_equal(did->ret, -EAGAIN);
    setup(NULL);
    t->regs[R_RDI] = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    answer = -EAGAIN;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_string_equal(did->text, "ms+TA");
    assert_int_equal(did->ret, -EAGAIN);
}

static void test_thread_begins(void **state)
{
    (void)state;
    if (!setjmp(back))
        fork_thread_child(t);
    assert_string_equal(did->text, "Sy");
    setup(NULL);
    t->sc_args[0] = CLONE_CLEAR_SIGHAND;
    if (!setjmp(back))
        fork_thread_child(t);
    assert_string_equal(did->text, "Sry");
}

static void test_clone3(void **state)
{
    u64 args[8] = {
        CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS, 1, 2, 3, 0, 0x7000, 0x500, 0x715
    };

    (void)state;
    t->regs[R_RDI] = (u64)args;
    t->regs[R_RSI] = sizeof(args);
    assert_int_equal(calls(fork_sys_clone3), 0);
    assert_int_equal(given[0], SYS_clone3);
    assert_int_not_equal(given[1], (u64)args); // a copy: the client's stays as it is
    assert_int_equal(given[2], sizeof(args));
    assert_int_equal(given_clone3[0], args[0]);
    assert_int_equal(given_clone3[3], 3);
    assert_int_equal(given_clone3[5], (u64)&child + TA_ENGINE_STACK + PAGE_SIZE);
    assert_int_equal(given_clone3[5] + given_clone3[6], child.engine_sp - 8);
    assert_int_equal(given_clone3[7], 0x715);
    assert_int_equal(args[5], 0x7000);
    assert_int_equal(child.regs[R_RSP], 0x7500);
    assert_int_equal(child.client_fs_base, 0x715);
    assert_int_equal(allocated, 0);
    // borrowed: no stack at all, and what the kernel reads outlives the parent's frames
    setup(NULL);
    t->regs[R_RDI] = (u64)args;
    t->regs[R_RSI] = sizeof(args);
    args[0] = CLONE_VM | CLONE_VFORK;
    assert_int_equal(calls(fork_sys_clone3), 1);
    assert_int_equal(given_clone3[0], args[0]);
    assert_int_equal(given_clone3[5], 0);
    assert_int_equal(given_clone3[6], 0);
    assert_int_equal(allocated, 0);
}

static void test_clone3_refused(void **state)
{
    u64 args[8] = { CLONE_VM | CLONE_VFORK };
    const struct {
        u64 at, size, stack, stack_size;
        long says;
    } cases[] = {
        { (u64)args, 4097, 0, 0, -E2BIG },
        { (u64)args, 63, 0, 0, -EINVAL },
        { 1, 64, 0, 0, -EFAULT },
        { (u64)args, 64, 0x7000, 0, -EINVAL },
        { (u64)args, 64, 0, 0x500, -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setup(NULL);
        t->regs[R_RDI] = cases[i].at;
        t->regs[R_RSI] = cases[i].size;
        args[5] = cases[i].stack;
        args[6] = cases[i].stack_size;
        assert_int_equal(calls(fork_sys_clone3), 0);
        assert_int_equal(did->ret, cases[i].says);
        assert_string_equal(did->text, "");
        assert_int_equal(allocated, 0);
    }
}

// In the child of a real fork: its log is in shared memory, its exit status tells its state.
static int forks(void (*call)(struct thread *of))
{
    s32 self = sys_getpid();
    u32 status;

    call(t);
    // Of *did both write the same word, in any order.
    u64 pid = t->regs[R_RAX];
    if (sys_getpid() != self) {
        bool right = pid == 0 && t->random == 31337 && !sig.held_count && !own.borrowed &&
                     t->client_fs_base == 0xf5;

        sys_exit_group(right ? (int)(t->regs[R_RSP] & 0x7f) : 127);
    }
    assert_int_equal(sys_call4(SYS_wait4, pid, (u64)&status, __WALL, 0), pid);
    assert_int_equal(status & 0x7f, 0);
    return (int)(status >> 8);
}

// The child writes first, as the parent waits for its copy; the fake kernel does the same.
static void test_copied(void **state)
{
    int copied;

    (void)state;
    sig.held_count = 2;
    profiled = false;
    own.borrowed = true;
    copied = forks(fork_sys_fork);
    assert_int_equal(copied, 100 + R_RSP);
    assert_null(strchr(did->text, 'K')); // the child's counters are the parent's so far
    assert_int_equal(did->exit_signal, SIGCHLD);
    assert_false(did->shares_fds);
    assert_int_equal(t->vtsc_base, 55);
    assert_int_equal(sig.held_count, 2); // the parent's stays
    assert_true(own.borrowed);
}

static void test_copy_options(void **state)
{
    (void)state;
    t->regs[R_RDI] = CLONE_FILES | SIGCONT; // which is not fatal
    t->regs[R_RSI] = t->regs[R_RDX] = t->regs[10] = t->regs[8] = 0;
    assert_int_equal(forks(fork_sys_clone), 100 + R_RSP);
    assert_int_equal(did->exit_signal, SIGCONT);
    assert_true(did->shares_fds);
    // The kernel stores the child's pid if the caller asks for it.
    s32 told = 0, other = 0;
    t->regs[R_RDI] = CLONE_PARENT_SETTID | SIGCONT;
    t->regs[R_RDX] = (u64)&told;
    t->regs[10] = (u64)&other;
    assert_int_equal(forks(fork_sys_clone), 100 + R_RSP);
    assert_int_equal(told, t->regs[R_RAX]);
    assert_int_equal(other, 0);
}

static void test_copy_refused(void **state)
{
    (void)state;
    threads = 3;
    header.flags = SPOOL_F_MERGE;
    t->regs[R_RDI] = CLONE_SIGHAND; // not without CLONE_VM
    t->regs[R_RSI] = 0;
    assert_int_equal(calls(fork_sys_clone), 0);
    assert_int_equal(did->ret, -EINVAL);
    assert_string_equal(did->text, "{mLPHQKV}");
    assert_int_equal(t->vtsc_base, 55);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_borrowed, setup),
        cmocka_unit_test_setup(test_borrowed_list, setup),
        cmocka_unit_test_setup(test_borrowed_child, setup),
        cmocka_unit_test_setup(test_noted, setup),
        cmocka_unit_test_setup(test_thread, setup),
        cmocka_unit_test_setup(test_process_in_shared_memory, setup),
        cmocka_unit_test_setup(test_thread_refused, setup),
        cmocka_unit_test_setup(test_thread_begins, setup),
        cmocka_unit_test_setup(test_clone3, setup),
        cmocka_unit_test_setup(test_clone3_refused, setup),
        cmocka_unit_test_setup(test_copied, setup),
        cmocka_unit_test_setup(test_copy_options, setup),
        cmocka_unit_test_setup(test_copy_refused, setup),
    };

    return cmocka_run_group_tests_name("process/fork", tests, NULL, NULL);
}
