// SPDX-License-Identifier: MIT
// engine/signal/handler.c: where an interrupted thread continues, what is noted of the signal, and
// which client state is saved, for each place where a thread can be (restore.h). The places are
// numbers that the test assigns; each fake of another file appends a letter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/extable.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/restore.h"
#include "engine/codecache/stubs.h"
#include "engine/count/rep.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/signal/mask.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/threads.h"
#include "tests/unit/count/reftrace_none.h"

#define SPOOL_ADDRESS 0x5b000ul
#define GATE_LENGTH   2 // from GATE_GO to GATE_AFTER: a syscall instruction
#define HWCAP2_FSGS   2 // arch/x86/include/uapi/asm/hwcap2.h

// -- fakes of the files that handler.c calls --

struct cpu cpu;
static struct spool_header header = { .s_spool = 5 };
struct spool_header *spool = &header;
static struct thread block;
static struct signal_state sig;
static struct thread *const t = &block;
static struct k_siginfo info;
static struct k_ucontext uc;
static u64 stack[8], counters[4], caller, gate_rax;
static struct restore_progress left;
static bool thread_known, gives_back, log_was_full, calls_were_full;
static int fix_kind; // -1: no entry
static u64 fix_at, flags_seen;
static struct extable fix;
static struct {
    u32 block, insns;
    s64 by;
} corrected[4];
static int corrections;
static char did[32], died[256];
static size_t done;
static jmp_buf back;

const char reentry_resume[] = "resume", reentry_resume_finished[] = "finished";
const char reentry_resume_control[] = "control";
static struct thread_own own;
const char handler_step_iret[] = "iret";

static void note(char letter)
{
    did[done++] = letter;
}

// An address of each kind: 64 KiB of numbers for each, in the order of the enum.
static u64 at(enum restore_where where)
{
    return ((u64)where + 1) << 16;
}

enum restore_where restore_find(u64 hpc)
{
    u64 n = hpc >> 16;

    return n >= 1 && n <= RESTORE_GATE_AFTER + 1 ? (enum restore_where)(n - 1) : RESTORE_OUTSIDE;
}

struct thread *threads_of_address(u64 addr)
{
    // On the handler's stack: below its caller's frame
    assert_true(addr > (u64)__builtin_frame_address(0) && addr < caller);
    return thread_known ? t : NULL;
}

void frame_regs_from(const struct k_sigcontext *mc, u64 regs[16])
{
    static const u8 order[16] = { 8,     9,     10,    11,    12,    13,    14,    15,
                                  R_RDI, R_RSI, R_RBP, R_RBX, R_RDX, R_RAX, R_RCX, R_RSP };

    for (int i = 0; i < 16; i++)
        regs[order[i]] = mc->gpr[i];
}

void frame_learn(const struct k_ucontext *of)
{
    assert_ptr_equal(of, &uc);
    note('f');
}

const struct extable *extable_find(u64 rip, u32 kind)
{
    return fix_kind == (int)kind && rip == fix_at ? &fix : NULL;
}

u64 stubs_at(enum stub s)
{
    assert_true(s == STUB_GATE_AFTER || s == STUB_GATE_GO || s == STUB_GATE_LOOK_OVER);
    return s == STUB_GATE_AFTER ? 0x100 + GATE_LENGTH : s == STUB_GATE_GO ? 0x100 : 0x300;
}

bool stubs_between(u64 hpc, enum stub from, enum stub to)
{
    assert_true(from == STUB_GATE_LOOK && to == STUB_GATE_LOOK_OVER);
    return hpc == at(RESTORE_GATE_BEFORE) + 8;
}

struct restore_progress restore_recover(struct thread *of, const struct host_regs *u)
{
    note('R');
    assert_int_equal(u->r[R_RBX], 0x100b);
    of->pc = 0xc0de;
    return left;
}

void restore_gate_state(struct thread *of, const struct host_regs *u)
{
    assert_ptr_equal(of, t);
    assert_int_equal(u->r[R_RBX], 0x100b);
    gate_rax = u->r[R_RAX];
    note('G');
}

void restore_watch_state(struct thread *of, const struct host_regs *u)
{
    assert_ptr_equal(of, t);
    assert_int_equal(u->r[R_RBX], 0x100b);
    note('W');
}

u64 restore_escape(struct thread *of, u64 hpc)
{
    assert_ptr_equal(of, t);
    note('e');
    return hpc + 0x500000;
}

void deliver_call_over(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('o');
}

void mask_close(struct thread *of)
{
    assert_int_not_equal(of->state, TS_STEP);
    note('m');
}

void mask_note(struct signal_state *s, struct signal_pending *p, const struct k_siginfo *of)
{
    note(p == &s->sync ? 's' : 'a');
    p->full = true;
    p->info = *of;
}

void mask_hold(struct signal_state *s, const struct k_siginfo *of)
{
    assert_ptr_equal(s, &sig);
    assert_true(of == &info || (of >= sig.nested && of < sig.nested + sig.nested_count));
    note('h');
}

bool mask_give_back(struct thread *of, const struct k_siginfo *what)
{
    assert_ptr_equal(of, t);
    assert_ptr_equal(what, &info);
    note('g');
    return gives_back;
}

static bool stuck; // the replayer takes the signal

bool replayer_takes_signal(const struct thread *of, int signo, const struct k_siginfo *what)
{
    assert_ptr_equal(of, t);
    if (stuck && signo == SIGSYS && what->code == SI_TKILL)
        engine_die("stuck");
    return signo == SIGSYS && what->code == SI_TIMER;
}

bool recordbuf_full(struct thread *of, u64 addr, u64 *r11, u64 sp)
{
    assert_int_equal(sp, uc.mc.gpr[FRAME_SP]);
    assert_ptr_equal(of, t);
    assert_int_equal(addr, info.addr);
    assert_ptr_equal(r11, &uc.mc.gpr[FRAME_R11]);
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags_seen));
    return log_was_full;
}

bool calls_full(struct thread *of, u64 addr, u64 *frame)
{
    assert_ptr_equal(of, t);
    assert_int_equal(addr, info.addr);
    assert_ptr_equal(frame, &uc.mc.gpr[FRAME_CX]);
    return calls_were_full;
}

void recordbuf_interrupted(struct thread *of, const struct restore_progress *what)
{
    assert_ptr_equal(of, t);
    assert_int_equal(what->insn, left.insn);
    note('l');
}

void calls_corrected(struct thread *of, u32 which, u32 insns, s64 by)
{
    assert_ptr_equal(of, t);
    corrected[corrections].block = which;
    corrected[corrections].insns = insns;
    corrected[corrections++].by = by;
}

void rep_simulate(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('r');
}

struct spool_block *spooler_block_at(u32 index)
{
    static struct spool_block stepped;

    assert_int_equal(index, 31);
    return &stepped;
}

bool spooler_owns(u64 addr)
{
    return addr == SPOOL_ADDRESS;
}

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 5);
    return "S";
}

// engine_die() has written its line "==PID== TEXT" to a file of this test.
static void dies(void)
{
    char line[256] = "";

    sys_pread(engine_log_fd, line, sizeof(line) - 1, 0);
    char *text = strstr(line + 2, "== ");
    assert_non_null(text);
    snprintf(died, sizeof(died), "%.*s", (int)strcspn(text + 3, "\n"), text + 3);
    longjmp(back, 1);
}

_Noreturn void handler_step_go(struct thread *of);
_Noreturn void handler_step_go(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('G');
    longjmp(back, 1);
}

// -- the tests --

static int setup(void **state)
{
    (void)state;
    memset(&block, 0, sizeof(block));
    memset(&sig, 0, sizeof(sig));
    memset(&info, 0, sizeof(info));
    memset(&uc, 0, sizeof(uc));
    memset(stack, 0, sizeof(stack));
    memset(&left, 0, sizeof(left));
    memset(did, 0, sizeof(did));
    memset(died, 0, sizeof(died));
    done = 0;
    corrections = 0;
    if (!engine_at_die)
        engine_log_fd = (int)sys_call2(SYS_memfd_create, (u64) "log", MFD_CLOEXEC);
    engine_at_die = dies;
    sys_ftruncate(engine_log_fd, 0);
    sys_call3(SYS_lseek, (u64)engine_log_fd, 0, 0);
    thread_known = true;
    gives_back = log_was_full = calls_were_full = false;
    fix_kind = -1;
    for (int i = 0; i < 4; i++)
        counters[i] = 100;
    t->sig = &sig;
    memset(&own, 0, sizeof(own));
    t->own = &own;
    t->engine_sp = (u64)(stack + 8);
    t->state = TS_RUNNING;
    t->pc = 0x4000;
    t->sc_next = 0x4002;
    t->counters = counters;
    for (int i = 0; i < 16; i++) {
        t->regs[i] = 0x700 + (u64)i;
        uc.mc.gpr[i] = 0x1000 + (u64)i;
    }
    uc.mc.flags = 0x246 | FLAG_TF | FLAG_DF | FLAG_AC;
    uc.mc.cs = CS_USER64;
    uc.mc.ss = FRAME_SS;
    uc.sigmask = 0x77;
    return 0;
}

// False: the engine died with the message `died`.
static bool comes(int signo, int code, u64 rip)
{
    info.signo = signo;
    info.code = code;
    uc.mc.ip = rip;
    caller = (u64)__builtin_frame_address(0);
    if (setjmp(back))
        return false;
    handler_entry(signo, &info, &uc);
    return true;
}

static void assert_closed(void)
{
    assert_true(uc.sigmask == SIGNAL_ALL_BUT_SYNC);
    assert_true(sig.blocked);
    assert_int_equal(t->stop, STOP_SIGNAL);
}

static void assert_open(void)
{
    assert_int_equal(uc.sigmask, 0x77);
    assert_false(sig.blocked);
    assert_int_equal(t->stop, 0);
}

// It continues at rip, with nothing changed.
static void assert_goes_on(u64 rip)
{
    assert_int_equal(uc.mc.ip, rip);
    assert_int_equal(uc.mc.gpr[FRAME_SP], 0x100f);
    assert_int_equal(uc.mc.gpr[FRAME_AX], 0x100d);
    assert_int_equal(uc.mc.flags, 0x246 | FLAG_TF | FLAG_DF | FLAG_AC);
    assert_int_equal(t->pc, 0x4000);
    assert_int_equal(t->regs[R_RBX], 0x700 + R_RBX);
    assert_int_equal(t->state, TS_RUNNING);
}

static void assert_resumes(const char *where)
{
    assert_ptr_equal((const char *)uc.mc.ip, where);
    assert_ptr_equal((u64 *)uc.mc.gpr[FRAME_SP], stack + 7);
    assert_int_equal(uc.mc.flags, 0x246);
    assert_int_equal(t->state, TS_ENGINE);
}

// -- asynchronous --

static void test_fragment(void **state)
{
    (void)state;
    info.pid = 17;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
    assert_closed();
    assert_goes_on(at(RESTORE_FRAGMENT) + 0x500000);
    assert_int_equal(sig.async.info.signo, SIGUSR1);
    assert_int_equal(sig.async.info.pid, 17);
    assert_false(sig.async.use_temp_mask);
    assert_false(sig.sync.full);
}

// In a helper's stub, or in what it calls: the thread leaves the fragment that the helper returns
// to.
static void test_helpercall(void **state)
{
    static const enum restore_where helpers[] = { RESTORE_HELPER, RESTORE_OUTSIDE };

    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        t->state = TS_HELPER;
        stack[7] = at(RESTORE_FRAGMENT) + 5;
        assert_true(comes(SIGUSR1, SI_USER, at(helpers[i])));
        assert_string_equal(did, "ae");
        assert_int_equal(stack[7], at(RESTORE_FRAGMENT) + 5 + 0x500000);
        assert_int_equal(uc.mc.ip, at(helpers[i]));
        assert_closed();
        setup(NULL);
        t->state = TS_HELPER;
        stack[7] = at(RESTORE_ESCAPE) + 5; // an escape copy: left at its end anyway
        assert_true(comes(SIGUSR1, SI_USER, at(helpers[i])));
        assert_string_equal(did, "a");
        assert_int_equal(stack[7], at(RESTORE_ESCAPE) + 5);
        setup(NULL);
        t->state = TS_HELPER;
        t->leaving = true; // the helper is making the copy
        stack[7] = at(RESTORE_FRAGMENT) + 5;
        assert_true(comes(SIGUSR1, SI_USER, at(helpers[i])));
        assert_string_equal(did, "a");
        assert_int_equal(stack[7], at(RESTORE_FRAGMENT) + 5);
        t->leaving = false;
    }
}

static void test_on_its_way(void **state)
{
    static const enum restore_where ways[] = { RESTORE_ESCAPE, RESTORE_EXIT };

    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        assert_true(comes(SIGUSR1, SI_USER, at(ways[i])));
        assert_string_equal(did, "a");
        assert_goes_on(at(ways[i]));
        assert_closed();
    }
    setup(NULL);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_ENTER)));
    assert_string_equal(did, "a");
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4000); // still the state with which it was to enter
    assert_int_equal(t->regs[R_RBX], 0x700 + R_RBX);
}

static void test_gate_before(void **state)
{
    (void)state;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "aG");
    assert_resumes(reentry_resume);
    setup(NULL);
    t->sc_post = 3;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "aGo");
    assert_resumes(reentry_resume);
}

static void test_gate_after(void **state)
{
    (void)state;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "a");
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4002);
    assert_int_equal(t->regs[R_RAX], 0x100d);
    assert_int_equal(t->regs[R_RBX], 0x100b);
    assert_int_equal(t->regs[R_RSP], 0x100f);
    assert_int_equal(t->regs[R_RCX], 0x4002); // as syscall sets it
    assert_int_equal(t->rflags, 0x246 | FLAG_DF | FLAG_AC);
    setup(NULL);
    t->sc_post = 3;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_resumes(reentry_resume_finished);
}

// sigsuspend and similar calls: the handler's mask starts from theirs when the call was
// interrupted.
static void test_temp_mask(void **state)
{
    (void)state;
    sig.temp_mask_set = true;
    uc.mc.gpr[FRAME_AX] = (u64)-EINTR;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_true(sig.async.use_temp_mask);
    setup(NULL);
    sig.temp_mask_set = true; // ready in time
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_false(sig.async.use_temp_mask);
    setup(NULL);
    sig.temp_mask_set = true; // it has done a part, and only its mask let the signal in
    sig.mask = SIGBIT(SIGUSR1);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_true(sig.async.use_temp_mask);
    setup(NULL);
    sig.temp_mask_set = true;
    sig.mask = sig.temp_mask = SIGBIT(SIGUSR1);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_false(sig.async.use_temp_mask);
    setup(NULL);
    uc.mc.gpr[FRAME_AX] = (u64)-EINTR; // a call without a mask
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_false(sig.async.use_temp_mask);
}

static void extable_is(int kind, u64 target)
{
    fix_kind = kind;
    fix_at = at(RESTORE_OUTSIDE);
    fix.target = (s32)((s64)target - (s64)&fix);
}

static void test_engine(void **state)
{
    (void)state;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_OUTSIDE)));
    assert_string_equal(did, "a");
    assert_goes_on(at(RESTORE_OUTSIDE));
    assert_closed();
    setup(NULL);
    extable_is(EXTABLE_SIGNAL, 0x12340);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_OUTSIDE)));
    assert_goes_on(0x12340);
    setup(NULL);
    extable_is(EXTABLE_CALL_BEFORE, 0x12340);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_OUTSIDE)));
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4000);
    assert_int_equal(t->regs[R_RAX], 0x700);
}

// A call of the client that C code makes: rax is read only right after it.
static void test_engine_call_after(void **state)
{
    (void)state;
    extable_is(EXTABLE_CALL_AFTER, at(RESTORE_OUTSIDE));
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_OUTSIDE)));
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4002);
    assert_int_equal(t->regs[R_RAX], 0x100d);
    assert_int_equal(t->regs[R_RBX], 0x700 + R_RBX);
    setup(NULL);
    extable_is(EXTABLE_CALL_AFTER, at(RESTORE_OUTSIDE) - 1);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_OUTSIDE)));
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4002);
    assert_int_equal(t->regs[R_RAX], 0x700);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    sig.async.full = true;
    sig.async.info.signo = SIGALRM;
    assert_false(comes(SIGUSR1, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(died, "signal 10 came while signal 14 waited: the engine's mask is wrong");
}

// -- which signals are synchronous --

static void test_sent_not_caused(void **state)
{
    // SIGBUS 5 is an error of memory that was not accessed (BUS_MCEERR_AO), SIGTRAP 4 and 6 are
    // watchpoints.
    static const struct {
        int signo, code;
    } sent[] = { { SIGSEGV, SI_USER }, { SIGSEGV, SI_QUEUE }, { SIGTRAP, SI_TKILL }, { SIGBUS, 5 },
                 { SIGTRAP, 4 },       { SIGTRAP, 6 },        { SIGUSR1, SI_KERNEL } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sent); i++) {
        setup(NULL);
        assert_true(comes(sent[i].signo, sent[i].code, at(RESTORE_FRAGMENT)));
        assert_string_equal(did, "ae");
    }
    setup(NULL);
    assert_true(comes(SIGBUS, 4, at(RESTORE_FRAGMENT))); // BUS_MCEERR_AR: the access fails
    assert_string_equal(did, "fRls");
    setup(NULL);
    assert_true(comes(SIGSEGV, 6, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "fRls");
    setup(NULL);
    assert_true(comes(SIGTRAP, 1, at(RESTORE_FRAGMENT))); // TRAP_BRKPT
    assert_string_equal(did, "fRls");
}

static void test_given_away(void **state)
{
    (void)state;
    assert_true(comes(SIGUSR1, MASK_GIVEN_AWAY, at(RESTORE_FRAGMENT)));
    assert_int_equal(sig.async.info.code, SI_USER);
    setup(NULL);
    assert_true(comes(SIGUSR1, SI_TKILL, at(RESTORE_FRAGMENT)));
    assert_int_equal(sig.async.info.code, SI_TKILL);
}

static void test_no_thread(void **state)
{
    (void)state;
    thread_known = false;
    info.addr = 0xabc;
    assert_false(comes(SIGSEGV, 1, 0x99));
    assert_string_equal(died, "the engine crashed: signal 11 code 1 address 0xabc at 0x99, stack "
                              "0x100f, state 0, client pc 0x0");
    setup(NULL);
    t->sig = NULL; // the area exists, the signal state does not yet
    assert_false(comes(SIGUSR1, SI_USER, at(RESTORE_FRAGMENT)));
    assert_non_null(strstr(died, "client pc 0x0"));
}

// -- kicks --

static bool kicked(int code, u64 value, u64 rip)
{
    info.value = value;
    return comes(STOP_KICK_SIGNAL, code, rip);
}

static void test_kick(void **state)
{
    static const enum restore_where notices[] = { RESTORE_EXIT, RESTORE_ESCAPE, RESTORE_GATE_BEFORE,
                                                  RESTORE_OUTSIDE };

    (void)state;
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "e"); // nothing is noted
    assert_closed();
    assert_int_equal(uc.mc.ip, at(RESTORE_FRAGMENT) + 0x500000);
    setup(NULL);
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, at(RESTORE_ENTER)));
    assert_resumes(reentry_resume);
    assert_closed();
    setup(NULL);
    stack[7] = at(RESTORE_FRAGMENT);
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_HELPER)));
    assert_string_equal(did, "e");
    setup(NULL);
    t->state = TS_HELPER;
    stack[7] = at(RESTORE_FRAGMENT);
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_OUTSIDE)));
    assert_string_equal(did, "e");
    assert_closed();
    // It checks `stop` by itself.
    for (size_t i = 0; i < ARRAY_SIZE(notices); i++) {
        setup(NULL);
        assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(notices[i])));
        assert_string_equal(did, "");
        assert_goes_on(at(notices[i]));
        assert_open();
    }
}

// On the way into a fragment the client is at its start.
static void test_kick_watched(void **state)
{
    (void)state;
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, at(RESTORE_WATCH)));
    assert_string_equal(did, "W");
    assert_resumes(reentry_resume);
    assert_closed();
    assert_false(t->stop & STOP_SAMPLE);
}

// The same signal with another value also requests a sample, wherever it arrives.
static void test_kick_look(void **state)
{
    (void)state;
    assert_true(kicked(SI_TIMER, STOP_SAMPLE_MAGIC, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "e");
    assert_int_equal(t->stop, STOP_SIGNAL | STOP_SAMPLE);
    setup(NULL);
    assert_true(kicked(SI_TIMER, STOP_SAMPLE_MAGIC, at(RESTORE_EXIT)));
    assert_goes_on(at(RESTORE_EXIT));
    assert_int_equal(t->stop, STOP_SAMPLE);
}

// The client may use this signal, too: only what the engine sends is a kick.
static void test_not_a_kick(void **state)
{
    (void)state;
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC + 1, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
    setup(NULL);
    assert_true(kicked(SI_TKILL, STOP_KICK_MAGIC, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
    setup(NULL);
    info.value = STOP_KICK_MAGIC;
    assert_true(comes(SIGUSR1, SI_QUEUE, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
}

static void interrupted_call(u64 number, long result)
{
    setup(NULL);
    t->regs[R_RAX] = number;
    uc.mc.gpr[FRAME_AX] = (u64)result;
}

static bool asked(enum restore_where where)
{
    info.value = SPOOL_REQUEST_MAGIC;
    return comes(SPOOL_REQUEST_SIGNAL, SI_QUEUE, at(where));
}

// A request from outside: a thread in client code is sent out of it, others check by themselves.
static void test_control(void **state)
{
    static const enum restore_where notices[] = { RESTORE_EXIT, RESTORE_ESCAPE, RESTORE_OUTSIDE };

    (void)state;
    assert_true(asked(RESTORE_FRAGMENT));
    assert_string_equal(did, "e");
    assert_int_equal(t->stop & STOP_CONTROL, STOP_CONTROL);
    t->stop &= ~STOP_CONTROL;
    assert_closed();
    for (size_t i = 0; i < ARRAY_SIZE(notices); i++) {
        setup(NULL);
        assert_true(asked(notices[i]));
        assert_string_equal(did, "");
        assert_int_equal(t->stop & STOP_CONTROL, STOP_CONTROL);
        t->stop &= ~STOP_CONTROL;
        assert_goes_on(at(notices[i]));
        assert_open();
    }
    setup(NULL);
    info.value = SPOOL_REQUEST_MAGIC + 1; // a signal of the client
    assert_true(comes(SPOOL_REQUEST_SIGNAL, SI_QUEUE, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
    assert_int_equal(t->stop & STOP_CONTROL, 0);
}

static void test_control_call(void **state)
{
    (void)state;
    interrupted_call(SYS_read, -EINTR);
    assert_true(asked(RESTORE_GATE_AFTER));
    assert_resumes(reentry_resume_control);
    assert_closed();
    assert_int_equal(own.again, AGAIN_INTERRUPTED);
    assert_int_equal(t->regs[R_RAX], SYS_read);
    assert_int_equal(t->pc, t->sc_next - 2);
    // not a finished call, nor close: its descriptor is gone in spite of EINTR
    interrupted_call(SYS_read, 0);
    assert_true(asked(RESTORE_GATE_AFTER));
    assert_int_equal(own.again, AGAIN_NOT);
    assert_int_equal(t->stop & STOP_CONTROL, STOP_CONTROL);
    assert_resumes(reentry_resume);
    interrupted_call(SYS_close, -EINTR);
    assert_true(asked(RESTORE_GATE_AFTER));
    assert_int_equal(own.again, AGAIN_NOT);
    // AGAIN_REST does not change
    interrupted_call(SYS_read, -EINTR);
    own.again = AGAIN_REST;
    assert_true(asked(RESTORE_GATE_AFTER));
    assert_int_equal(own.again, AGAIN_REST);
    assert_resumes(reentry_resume_control);
}

static void test_call_again(void **state)
{
    (void)state;
    interrupted_call(SYS_read, -EINTR);
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "");
    assert_open();
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER) - GATE_LENGTH);
    assert_int_equal(uc.mc.gpr[FRAME_AX], SYS_read);
    // Not a finished call, nor close: its descriptor is gone in spite of EINTR.
    interrupted_call(SYS_read, 0);
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER)));
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER));
    assert_int_equal(uc.mc.gpr[FRAME_AX], 0);
    interrupted_call(SYS_close, -EINTR);
    assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER)));
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER));
    // Only right after the call: later rax is no longer its result.
    for (u64 behind = 1; behind <= 3; behind++) {
        interrupted_call(SYS_read, -EINTR);
        assert_true(kicked(SI_QUEUE, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER) + behind));
        assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER) + behind);
    }
}

// C code has to decide whether the call has done all; regs are those of the call.
static void assert_cut(const char *where)
{
    assert_resumes(where);
    assert_closed();
    assert_int_equal(own.again, AGAIN_CUT);
    assert_int_equal(own.cut.result, 5);
    assert_true(own.cut.broken);
    assert_int_equal(t->regs[R_RAX], SYS_write);
    assert_int_equal(t->regs[R_RBX], 0x100b);
    assert_int_equal(t->pc, t->sc_next - 2);
}

// A call that has done a part when a signal arrives that natively would not have arrived.
static void test_cut(void **state)
{
    (void)state;
    interrupted_call(SYS_write, 5);
    own.cut.begun = true; // of an earlier call
    assert_true(kicked(SI_TIMER, STOP_SAMPLE_MAGIC, at(RESTORE_GATE_AFTER)));
    assert_int_equal(t->stop & STOP_SAMPLE, STOP_SAMPLE);
    t->stop &= ~STOP_SAMPLE;
    assert_cut(reentry_resume);
    assert_false(own.cut.begun);
    interrupted_call(SYS_write, 5);
    own.again = AGAIN_REST;
    own.cut.begun = true;
    assert_true(asked(RESTORE_GATE_AFTER));
    assert_cut(reentry_resume_control);
    assert_true(own.cut.begun);
    // The client blocks it, the kernel does not.
    interrupted_call(SYS_write, 5);
    sig.mask = SIGBIT(SIGSEGV);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "gh");
    assert_cut(reentry_resume);
    // Later the call is over, and rax is not its result.
    for (u64 behind = 1; behind <= 3; behind++) {
        interrupted_call(SYS_write, 5);
        assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER) + behind));
        assert_int_equal(own.again, AGAIN_NOT);
        assert_open();
    }
    // The client's own signal ends it, also its rest, before and after that is made: the part that
    // was done is not lost.
    interrupted_call(SYS_write, 5);
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_int_equal(own.again, AGAIN_NOT);
    assert_resumes(reentry_resume);
    interrupted_call(SYS_write, 5);
    own.again = AGAIN_REST;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_resumes(reentry_resume_finished);
    assert_int_equal(own.again, AGAIN_REST);
    assert_int_equal(t->regs[R_RAX], 5);
    interrupted_call(SYS_write, SYS_write);
    own.again = AGAIN_REST;
    t->sc_post = 3;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "aG");
    assert_resumes(reentry_resume);
    // One that was interrupted and restarted has done a part.
    interrupted_call(SYS_write, 5);
    own.again = AGAIN_INTERRUPTED;
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_resumes(reentry_resume_finished);
}

// After SIGSTOP and SIGCONT the kernel continues a wait by another call number, which fails once a
// handler has run.
static void test_restart_wait(void **state)
{
    u64 call = at(RESTORE_GATE_AFTER) - GATE_LENGTH;

    (void)state;
    interrupted_call(SYS_nanosleep, SYS_restart_syscall);
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, call));
    assert_int_equal(uc.mc.ip, call);
    assert_open();
    assert_int_equal(uc.mc.gpr[FRAME_AX], SYS_nanosleep);
    interrupted_call(SYS_nanosleep, SYS_restart_syscall);
    info.value = SPOOL_REQUEST_MAGIC;
    assert_true(comes(SPOOL_REQUEST_SIGNAL, SI_QUEUE, call));
    assert_string_equal(did, "G");
    assert_resumes(reentry_resume_control);
    assert_int_equal(own.again, AGAIN_RESTARTED);
    assert_int_equal(gate_rax, SYS_nanosleep);
    // one that the client blocks and the kernel does not
    interrupted_call(SYS_nanosleep, SYS_restart_syscall);
    sig.mask = SIGBIT(SIGSEGV);
    assert_true(comes(SIGSEGV, SI_USER, call));
    assert_string_equal(did, "gh");
    assert_int_equal(uc.mc.ip, call);
    assert_int_equal(uc.mc.gpr[FRAME_AX], SYS_nanosleep);
    // the client's own signal: natively its handler sees that number, too
    interrupted_call(SYS_nanosleep, SYS_restart_syscall);
    assert_true(comes(SIGUSR1, SI_USER, call));
    assert_string_equal(did, "aG");
    assert_int_equal(gate_rax, SYS_restart_syscall);
    // Not at the call instruction: the number in the thread block is an old one.
    interrupted_call(SYS_nanosleep, SYS_restart_syscall);
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, call - 1));
    assert_int_equal(uc.mc.gpr[FRAME_AX], SYS_restart_syscall);
}

// -- signals that the client blocks and the kernel does not --

static void blocks(u64 mask)
{
    setup(NULL);
    sig.mask = mask;
}

static void test_held(void **state)
{
    (void)state;
    blocks(SIGBIT(SIGSEGV));
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "gh");
    assert_goes_on(at(RESTORE_FRAGMENT));
    assert_open();
    blocks(SIGBIT(SIGSEGV));
    gives_back = true; // another thread takes it
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "g");
    blocks(SIGBIT(STOP_KICK_SIGNAL));
    assert_true(comes(STOP_KICK_SIGNAL, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "gh");
    // The mask is closed: this thread lets it in and delivers it later.
    setup(NULL);
    sig.blocked = true;
    gives_back = true;
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_OUTSIDE)));
    assert_string_equal(did, "h");
    assert_int_equal(t->stop, 0);
    blocks(SIGBIT(SIGUSR1)); // for other signals the kernel's mask is the client's
    assert_true(comes(SIGUSR1, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
    blocks(~SIGBIT(SIGSEGV));
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "ae");
}

static void waits(u64 mask, long result)
{
    blocks(SIGBIT(SIGSEGV));
    sig.temp_mask_set = true;
    sig.temp_mask = mask;
    t->regs[R_RAX] = SYS_rt_sigsuspend;
    uc.mc.gpr[FRAME_AX] = (u64)result;
}

// A call that waits for signals under a mask of its own.
static void test_let_in(void **state)
{
    (void)state;
    waits(0, -EINTR);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "a");
    assert_true(sig.async.use_temp_mask);
    assert_resumes(reentry_resume);
    waits(0, 1); // it has finished by itself: held as always
    gives_back = true;
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "h");
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER));
    assert_open();
    waits(0, SYS_rt_sigsuspend); // not made yet: restarts and finds it
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "hG");
    assert_closed();
    assert_resumes(reentry_resume);
    waits(0, -EINTR);
    sig.blocked = true;
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "h");
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER));
    // Its mask blocks it, too: natively the call would not have been interrupted.
    waits(SIGBIT(SIGSEGV), -EINTR);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "gh");
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER) - GATE_LENGTH);
    assert_int_equal(uc.mc.gpr[FRAME_AX], SYS_rt_sigsuspend);
    waits(SIGBIT(SIGSEGV), SYS_rt_sigsuspend);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "gh");
    assert_open();
}

// sigtimedwait: a signal that it waits for is held for it, not given to others. The call restarts
// where it would not see the signal.
static void test_awaited(void **state)
{
    (void)state;
    blocks(SIGBIT(SIGSEGV));
    sig.awaited = SIGBIT(SIGSEGV) | SIGBIT(SIGTRAP);
    gives_back = true;
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "hG");
    assert_closed();
    assert_resumes(reentry_resume);
    interrupted_call(SYS_rt_sigtimedwait, -EINTR); // by another signal: not visible to the client
    sig.mask = sig.awaited = SIGBIT(SIGSEGV);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "hG");
    assert_closed();
    assert_resumes(reentry_resume);
    interrupted_call(SYS_rt_sigtimedwait, -EAGAIN); // it has finished
    sig.mask = sig.awaited = SIGBIT(SIGSEGV);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "h");
    assert_int_equal(uc.mc.ip, at(RESTORE_GATE_AFTER));
    assert_open();
    blocks(SIGBIT(SIGSEGV)); // it waits for another signal
    sig.awaited = SIGBIT(SIGTRAP);
    assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "gh");
    assert_open();
}

// -- handlers that interrupt handlers --

// A signal arrives while a handler of the thread runs: the frame of that handler is not changed.
static void comes_inside(int signo, int code)
{
    struct k_siginfo outer = info;
    struct k_ucontext frame = uc;

    uc.mc.gpr[FRAME_SP] = (u64)t + TA_SIGNAL_STACK_TOP - 0x1000;
    assert_true(comes(signo, code, at(RESTORE_OUTSIDE)));
    assert_string_equal(did, "");
    assert_int_equal(uc.mc.ip, at(RESTORE_OUTSIDE));
    assert_int_equal(uc.sigmask, 0x77);
    info = outer;
    uc = frame;
}

static void test_nested(void **state)
{
    u64 mask, none = 0;

    (void)state;
    comes_inside(SIGSEGV, SI_USER);
    comes_inside(SIGFPE, SI_USER);
    comes_inside(SIGSEGV, SI_TKILL); // pending already
    assert_int_equal(sig.nested_count, 2);
    assert_open();
    assert_true(comes(SIGTRAP, SI_USER, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "aehh"); // the outermost first, then the others
    assert_int_equal(sig.async.info.signo, SIGTRAP);
    assert_closed();
    assert_int_equal(sig.nested_count, 0);
    sys_sigprocmask(SIG_SETMASK, NULL, &mask); // nothing arrives before the kernel has returned
    assert_true(mask == ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP)));
    sys_sigprocmask(SIG_SETMASK, &none, NULL);
    // A kick alone would let the call continue: the nested signal sees that state.
    setup(NULL);
    comes_inside(SIGSEGV, SI_USER);
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, at(RESTORE_GATE_BEFORE)));
    assert_string_equal(did, "aG");
    assert_closed();
    assert_resumes(reentry_resume);
    // A call that waits with a mask of its own, interrupted by the kick: it restarts.
    waits(0, -EINTR);
    comes_inside(SIGSEGV, SI_USER);
    assert_true(kicked(SI_TIMER, STOP_KICK_MAGIC, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "hG");
    assert_closed();
    assert_resumes(reentry_resume);
    // A fault in the handler itself is not nested: it is the engine's own.
    setup(NULL);
    extable_is(EXTABLE_FAULT, 0x1234);
    uc.mc.gpr[FRAME_SP] = (u64)t + TA_SIGNAL_STACK_TOP - 0x1000;
    assert_true(comes(SIGSEGV, SEGV_MAPERR, at(RESTORE_OUTSIDE)));
    assert_int_equal(uc.mc.ip, 0x1234);
    // Nested only on that stack: not above it, below it, or while an instruction is stepped.
    for (int i = 0; i < 3; i++) {
        setup(NULL);
        uc.mc.gpr[FRAME_SP] = (u64)t + (i == 0 ? TA_SIGNAL_STACK_TOP : TA_SIGNAL_STACK - (i == 1));
        t->state = i == 2 ? TS_STEP : TS_ENGINE;
        assert_true(comes(SIGSEGV, SI_USER, at(RESTORE_OUTSIDE)));
        assert_string_equal(did, "a");
        assert_int_equal(sig.nested_count, 0);
    }
    sys_sigprocmask(SIG_SETMASK, &none, NULL);
}

// -- synchronous --

static void test_fault(void **state)
{
    static const enum restore_where faults[] = { RESTORE_FRAGMENT, RESTORE_ESCAPE };

    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        left = (struct restore_progress){ .insn = 2,
                                          .total = { { 9, 6, -1 }, { 9, 2, 1 } },
                                          .ntotals = 2 };
        info.addr = 0xbad;
        uc.mc.trapno = 14;
        uc.mc.err = 6;
        uc.mc.cr2 = 0xbad;
        assert_true(comes(SIGSEGV, SEGV_ACCERR, at(faults[i])));
        assert_string_equal(did, "fRls");
        assert_closed();
        assert_resumes(reentry_resume);
        assert_int_equal(sig.last_trapno, 14);
        assert_int_equal(sig.last_err, 6);
        assert_int_equal(sig.last_cr2, 0xbad);
        assert_int_equal(sig.sync.info.addr, 0xbad);
        assert_int_equal(sig.sync.info.code, SEGV_ACCERR);
        // 2 of 6 instructions were executed.
        assert_int_equal(corrections, 2);
        assert_true(corrected[0].block == 9 && corrected[0].insns == 6 && corrected[0].by == -1);
        assert_true(corrected[1].block == 9 && corrected[1].insns == 2 && corrected[1].by == 1);
    }
    setup(NULL);
    left.rep = true; // not counted yet
    sig.last_cr2 = 3;
    uc.mc.trapno = 13;
    uc.mc.cr2 = 0xbad;
    assert_true(comes(SIGSEGV, SI_KERNEL, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "fRlrs");
    assert_int_equal(sig.last_trapno, 13);
    assert_int_equal(sig.last_cr2, 3); // only a page fault has one
    assert_int_equal(corrections, 0);
}

// These report the address of the instruction: the client's, not the translation's.
static void test_address_of_instruction(void **state)
{
    static const int report[] = { SIGILL, SIGFPE, SIGTRAP };

    (void)state;
    for (int i = 0; i < 3; i++) {
        setup(NULL);
        info.addr = at(RESTORE_FRAGMENT);
        assert_true(comes(report[i], 1, at(RESTORE_FRAGMENT)));
        assert_int_equal(sig.sync.info.addr, 0xc0de);
        setup(NULL);
        assert_true(comes(report[i], 1, at(RESTORE_FRAGMENT)));
        assert_int_equal(sig.sync.info.addr, 0);
    }
    setup(NULL);
    info.addr = 0x123;
    assert_true(comes(SIGBUS, 2, at(RESTORE_FRAGMENT)));
    assert_int_equal(sig.sync.info.addr, 0x123);
}

static void test_buffers(void **state)
{
    (void)state;
    log_was_full = true;
    info.addr = 0x123;
    assert_true(comes(SIGSEGV, SEGV_ACCERR, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "f");
    assert_goes_on(at(RESTORE_FRAGMENT));
    assert_open();
    setup(NULL);
    calls_were_full = true;
    assert_true(comes(SIGSEGV, SEGV_ACCERR, at(RESTORE_ESCAPE)));
    assert_string_equal(did, "f");
    assert_goes_on(at(RESTORE_ESCAPE));
    assert_open();
}

// The replay of a full buffer makes unaligned accesses.
static void test_alignment(void **state)
{
    (void)state;
    info.signo = SIGSEGV;
    info.code = SEGV_ACCERR;
    uc.mc.ip = at(RESTORE_FRAGMENT);
    caller = (u64)__builtin_frame_address(0);
    flags_seen = FLAG_AC;
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(FLAG_AC) : "memory", "cc");
    handler_entry(SIGSEGV, &info, &uc);
    __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~(s64)FLAG_AC) : "memory", "cc");
    assert_int_equal(flags_seen & FLAG_AC, 0);
}

// A seccomp filter from outside: the call is over, and the address is behind it.
static void test_sigsys(void **state)
{
    (void)state;
    t->sc_post = 1;
    info.addr = at(RESTORE_GATE_AFTER);
    assert_true(comes(SIGSYS, 1, at(RESTORE_GATE_AFTER)));
    assert_string_equal(did, "fs");
    assert_closed();
    assert_resumes(reentry_resume_finished);
    assert_int_equal(sig.sync.info.addr, 0x4002);
    assert_int_equal(t->pc, 0x4002);
    assert_int_equal(t->regs[R_RAX], 0x100d);
    assert_int_equal(corrections, 0);
}

// Wherever the thread is.
static void test_stuck(void **state)
{
    (void)state;
    stuck = true;
    assert_false(comes(SIGSYS, SI_TKILL, at(RESTORE_OUTSIDE)));
    assert_string_equal(died, "stuck");
    assert_string_equal(did, "");
    stuck = false;
    assert_true(comes(SIGSYS, SI_TIMER, at(RESTORE_OUTSIDE))); // it continues: no effect
    assert_string_equal(did, "");
    assert_true(comes(SIGSYS, SI_TKILL, at(RESTORE_OUTSIDE)));
}

static void test_client_memory(void **state)
{
    (void)state;
    extable_is(EXTABLE_FAULT, 0x12340);
    assert_true(comes(SIGSEGV, SEGV_MAPERR, at(RESTORE_OUTSIDE)));
    assert_string_equal(did, "f");
    assert_goes_on(0x12340);
    assert_open();
}

static void test_crash(void **state)
{
    static const enum restore_where places[] = { RESTORE_OUTSIDE, RESTORE_EXIT, RESTORE_ENTER,
                                                 RESTORE_HELPER, RESTORE_GATE_BEFORE };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        char expected[256];

        setup(NULL);
        info.addr = 0xabc;
        snprintf(expected, sizeof(expected),
                 "the engine crashed: signal 11 code 1 address 0xabc at 0x%lx, stack 0x100f, "
                 "state 1, client pc 0x4000",
                 at(places[i]));
        assert_false(comes(SIGSEGV, SEGV_MAPERR, at(places[i])));
        assert_string_equal(died, expected);
        assert_string_equal(did, "f");
    }
    setup(NULL);
    extable_is(EXTABLE_SIGNAL, 0x12340); // not for faults
    assert_false(comes(SIGSEGV, SEGV_MAPERR, at(RESTORE_OUTSIDE)));
}

static void test_full_disk(void **state)
{
    static const enum restore_where places[] = { RESTORE_OUTSIDE, RESTORE_FRAGMENT,
                                                 RESTORE_ESCAPE };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        setup(NULL);
        info.addr = SPOOL_ADDRESS;
        assert_false(comes(SIGBUS, 2, at(places[i])));
        assert_string_equal(died,
                            "spool S: no space left for the counters (the file system is full)");
        assert_string_equal(did, "f");
    }
    setup(NULL);
    info.addr = SPOOL_ADDRESS + 1; // in client memory
    assert_true(comes(SIGBUS, 2, at(RESTORE_FRAGMENT)));
    setup(NULL);
    info.addr = SPOOL_ADDRESS; // only a bus error means that the file system is full
    assert_true(comes(SIGSEGV, SEGV_ACCERR, at(RESTORE_FRAGMENT)));
    setup(NULL);
    info.addr = SPOOL_ADDRESS;
    assert_false(comes(SIGSEGV, SEGV_ACCERR, at(RESTORE_OUTSIDE)));
    assert_non_null(strstr(died, "the engine crashed: signal 11"));
}

// %ss is not FRAME_SS, and the kernel's return has faulted.
static void test_lost_selector(void **state)
{
    (void)state;
    uc.mc.ss = 7;
    info.addr = 0x55;
    assert_true(comes(SIGSEGV, SI_KERNEL, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "fse"); // not recovered: the fragment is left at its end
    assert_closed();
    assert_goes_on(at(RESTORE_FRAGMENT) + 0x500000);
    assert_int_equal(uc.mc.ss, FRAME_SS);
    assert_int_equal(sig.sync.info.addr, 0x55);
    setup(NULL);
    uc.mc.ss = 7;
    assert_true(comes(SIGSEGV, SEGV_MAPERR, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "fRls");
    assert_int_equal(uc.mc.ss, 7);
    setup(NULL);
    uc.mc.ss = 7;
    assert_true(comes(SIGBUS, SI_KERNEL, at(RESTORE_FRAGMENT)));
    assert_string_equal(did, "fRls");
}

// -- one instruction in place --

static u64 gs_base(void)
{
    u64 base = 0;

    assert_int_equal(sys_call2(SYS_arch_prctl, ARCH_GET_GS, (u64)&base), 0);
    return base;
}

// The base is set by wrgsbase, where the processor has it, or by the system call; only wrgsbase
// accepts an address of the kernel's half.
static void test_step(void **state)
{
    int ways = getauxval(AT_HWCAP2) & HWCAP2_FSGS ? 2 : 1;

    (void)state;
    for (int i = 0; i < ways; i++) {
        setup(NULL);
        cpu.fsgsbase = i;
        t->client_gs_base = i ? 0xffff800000000000ul : 0x65000;
        if (!setjmp(back))
            handler_step(t);
        assert_string_equal(did, "mG");
        assert_int_equal(t->state, TS_STEP);
        assert_true(gs_base() == t->client_gs_base);
    }
    cpu.fsgsbase = false;
}

static bool stepped(int signo, int code, u64 rip)
{
    t->state = TS_STEP;
    t->step_counter = 2;
    t->step_block = 31;
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, 0x66000);
    return comes(signo, code, rip);
}

static void test_stepped(void **state)
{
    (void)state;
    assert_true(stepped(SIGTRAP, 2, 0x4003)); // TRAP_TRACE
    assert_string_equal(did, "f");
    assert_resumes(reentry_resume);
    assert_int_equal(t->client_gs_base, 0x66000);
    assert_int_equal(gs_base(), (u64)t);
    assert_int_equal(t->pc, 0x4003);
    assert_int_equal(t->regs[R_RBX], 0x100b);
    assert_int_equal(t->regs[R_RSP], 0x100f);
    assert_int_equal(t->rflags, 0x246 | FLAG_DF | FLAG_AC);
    assert_true(uc.sigmask == SIGNAL_ALL_BUT_SYNC);
    assert_false(sig.blocked); // only mask_close() sets it
    assert_int_equal(counters[2], 100);
    assert_int_equal(corrections, 0);
}

// The gate reads client memory: where nothing is mapped, it continues without the check.
static void test_gate_looks(void **state)
{
    (void)state;
    info.addr = 0x1000;
    assert_true(comes(SIGSEGV, SEGV_MAPERR, at(RESTORE_GATE_BEFORE) + 8));
    assert_string_equal(did, "f");
    assert_int_equal(uc.mc.ip, 0x300);
    assert_open();
}

static void test_stepped_faults(void **state)
{
    (void)state;
    info.addr = 0x99; // already a client address
    assert_true(stepped(SIGILL, 1, 0x4000));
    assert_string_equal(did, "fs");
    assert_closed();
    assert_resumes(reentry_resume);
    assert_int_equal(sig.sync.info.addr, 0x99);
    assert_int_equal(t->regs[R_RBX], 0x100b);
    assert_int_equal(counters[2], 99);
    assert_int_equal(corrections, 1);
    assert_true(corrected[0].block == 31 && corrected[0].insns == 1 && corrected[0].by == -1);
    // A breakpoint has been executed.
    setup(NULL);
    assert_true(stepped(SIGTRAP, SI_KERNEL, 0x4001));
    assert_string_equal(did, "fs");
    assert_int_equal(counters[2], 100);
    assert_int_equal(corrections, 0);
    assert_int_equal(t->pc, 0x4001);
    setup(NULL);
    assert_true(stepped(SIGSEGV, 2, 0x4000));
    assert_string_equal(did, "fs");
}

// The address cannot be jumped to: the iret itself faults.
static void test_stepped_nowhere(void **state)
{
    (void)state;
    assert_true(stepped(SIGSEGV, SI_KERNEL, (u64)handler_step_iret));
    assert_string_equal(did, "fs");
    assert_resumes(reentry_resume);
    assert_int_equal(t->pc, 0x4000);
    assert_int_equal(t->regs[R_RBX], 0x700 + R_RBX);
    assert_int_equal(t->rflags, 0);
    assert_int_equal(counters[2], 99);
}

static void test_stepped_elsewhere(void **state)
{
    (void)state;
    uc.mc.cs = 0x23; // of 32-bit programs
    assert_false(stepped(SIGTRAP, 2, 0x4003));
    assert_string_equal(died, "the instruction at 0x4000 switches to code segment 0x23: only "
                              "64-bit programs can be run");
}

static int teardown(void **state)
{
    (void)state;
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, 0);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fragment, setup),
        cmocka_unit_test_setup(test_helpercall, setup),
        cmocka_unit_test_setup(test_on_its_way, setup),
        cmocka_unit_test_setup(test_gate_before, setup),
        cmocka_unit_test_setup(test_gate_after, setup),
        cmocka_unit_test_setup(test_temp_mask, setup),
        cmocka_unit_test_setup(test_engine, setup),
        cmocka_unit_test_setup(test_engine_call_after, setup),
        cmocka_unit_test_setup(test_one_at_a_time, setup),
        cmocka_unit_test_setup(test_sent_not_caused, setup),
        cmocka_unit_test_setup(test_given_away, setup),
        cmocka_unit_test_setup(test_no_thread, setup),
        cmocka_unit_test_setup(test_kick, setup),
        cmocka_unit_test_setup(test_kick_watched, setup),
        cmocka_unit_test_setup(test_kick_look, setup),
        cmocka_unit_test_setup(test_not_a_kick, setup),
        cmocka_unit_test_setup(test_control, setup),
        cmocka_unit_test_setup(test_control_call, setup),
        cmocka_unit_test_setup(test_cut, setup),
        cmocka_unit_test_setup(test_call_again, setup),
        cmocka_unit_test_setup(test_restart_wait, setup),
        cmocka_unit_test_setup(test_held, setup),
        cmocka_unit_test_setup(test_let_in, setup),
        cmocka_unit_test_setup(test_awaited, setup),
        cmocka_unit_test_setup(test_nested, setup),
        cmocka_unit_test_setup(test_fault, setup),
        cmocka_unit_test_setup(test_address_of_instruction, setup),
        cmocka_unit_test_setup(test_buffers, setup),
        cmocka_unit_test_setup(test_alignment, setup),
        cmocka_unit_test_setup(test_sigsys, setup),
        cmocka_unit_test_setup(test_stuck, setup),
        cmocka_unit_test_setup(test_client_memory, setup),
        cmocka_unit_test_setup(test_crash, setup),
        cmocka_unit_test_setup(test_full_disk, setup),
        cmocka_unit_test_setup(test_lost_selector, setup),
        cmocka_unit_test_setup_teardown(test_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stepped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gate_looks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stepped_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stepped_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stepped_elsewhere, setup, teardown),
    };

    return cmocka_run_group_tests_name("signal/handler", tests, NULL, NULL);
}
