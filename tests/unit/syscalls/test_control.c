// SPDX-License-Identifier: MIT
// engine/syscalls/control.c: what a thread does for a request by `quern control`, when a part is
// due without a request, and how an interrupted call goes on. The log is a string: `d` a part with
// its reason, `0` zero, `+` and `-` counting on and off, `E` the end of the process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/process/exit.h"
#include "engine/signal/action.h"
#include "engine/signal/mask.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/control.h"
#include "engine/syscalls/counting.h"
#include "engine/syscalls/interrupted.h"
#include "engine/syscalls/waits.h"
#include "engine/thread/stop.h"

// -- fakes of what control.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
static struct spool_control *const c = &header.control;

static struct thread thread;
static struct thread_own own;
static struct signal_state sig;
static struct signal_table table;
static struct thread *const t = &thread;
static u64 counters[4];

static char done[4096];
static int dump_result;
static bool profiled, lost;
static u64 held;
static u32 shortened, opened;
static jmp_buf back;

static void note(char what)
{
    done[strlen(done)] = what;
}

int counting_dump(struct thread *of, const char *why)
{
    assert_ptr_equal(of, t);
    snprintf(done + strlen(done), sizeof(done) - strlen(done), "d(%s)", why);
    return dump_result;
}

void counting_zero(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('0');
}

void counting_switch(struct thread *of, bool on)
{
    assert_ptr_equal(of, t);
    note(on ? '+' : '-');
}

_Noreturn void exit_process(struct thread *of, u32 kind, int code)
{
    assert_ptr_equal(of, t);
    assert_int_equal(kind, SPOOL_END_SIGNAL);
    assert_int_equal(code, SIGKILL);
    note('E');
    longjmp(back, 1);
}

bool threads_is_profiled(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return profiled;
}

bool spooler_is_lost(void)
{
    return lost;
}

u64 mask_held(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return held;
}

void mask_open(struct thread *of)
{
    assert_ptr_equal(of, t);
    opened++;
}

void waits_shorten(struct thread *of)
{
    assert_ptr_equal(of, t);
    shortened++;
}

static bool has_rest;

bool interrupted_next(struct thread *of)
{
    assert_ptr_equal(of, t);
    assert_int_equal(own.again, AGAIN_CUT);
    note('n');
    return has_rest;
}

s64 interrupted_result(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('r');
    return 77;
}

void action_change(struct signal_table *of, int signo, const struct k_sigaction *act,
                   struct k_sigaction *before)
{
    assert_ptr_equal(of, &table);
    assert_null(act);
    *before = of->act[signo];
}

enum action_default action_default(int signo)
{
    return signo == SIGCHLD   ? SIGNAL_DEFAULT_IGNORE
           : signo == SIGTSTP ? SIGNAL_DEFAULT_STOP
                              : SIGNAL_DEFAULT_END;
}

// -- helpers of the tests --

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    memset(&thread, 0, sizeof(thread));
    memset(&own, 0, sizeof(own));
    memset(&sig, 0, sizeof(sig));
    memset(&table, 0, sizeof(table));
    memset(counters, 0, sizeof(counters));
    memset(done, 0, sizeof(done));
    thread.own = &own;
    thread.sig = &sig;
    thread.counters = counters;
    sig.table = &table;
    profiled = true;
    lost = false;
    dump_result = 0;
    held = 0;
    shortened = opened = 0;
    return 0;
}

// The log since the last call.
static const char *what_was_done(void)
{
    static char last[sizeof(done)];

    memcpy(last, done, sizeof(last));
    memset(done, 0, sizeof(done));
    return last;
}

static void see(void)
{
    stop_set(t, STOP_CONTROL);
    if (setjmp(back) == 0)
        control_see(t);
    assert_int_equal(t->stop & STOP_CONTROL, 0);
}

// Makes the next request; the thread reads it.
static const char *ask(enum spool_ask what)
{
    c->what = what;
    c->asked++;
    see();
    assert_int_equal(c->taken, c->asked);
    assert_int_equal(c->answered, c->asked);
    return what_was_done();
}

static void test_requests(void **state)
{
    (void)state;
    assert_string_equal(ask(SPOOL_REQUEST_ZERO), "0");
    assert_string_equal(ask(SPOOL_REQUEST_COUNT), "+");
    assert_string_equal(ask(SPOOL_REQUEST_COUNT_NOT), "-");
    assert_int_equal(c->result, 0);
    assert_string_equal(ask(SPOOL_REQUEST_KILL), "E");
    assert_int_equal(c->result, 0);
    assert_string_equal(ask((enum spool_ask)100), "");
    assert_int_equal(c->result, -EINVAL);
}

// Each request is served once, by a thread of the profiled process that has its spool.
static void test_who_answers(void **state)
{
    (void)state;
    c->what = SPOOL_REQUEST_ZERO;
    c->asked = 1;
    control_see(t); // no signal
    assert_string_equal(what_was_done(), "");
    profiled = false;
    see();
    profiled = true;
    lost = true;
    see();
    assert_string_equal(what_was_done(), "");
    assert_int_equal(c->taken, 0);
    lost = false;
    c->taken = 1; // another thread is at it
    see();
    assert_string_equal(what_was_done(), "");
    assert_int_equal(c->answered, 0);
    c->taken = 0;
    see();
    assert_string_equal(what_was_done(), "0");
    see();
    assert_string_equal(what_was_done(), "");
}

static void test_parts(void **state)
{
    char expected[1100];

    (void)state;
    assert_string_equal(ask(SPOOL_REQUEST_DUMP), "d(dump)");
    strcpy(c->hint, "a\nb\tc\x1f ~\x7f");
    assert_string_equal(ask(SPOOL_REQUEST_DUMP), "d(dump a b c  ~\x7f)");
    assert_int_equal(c->result, 0);
    dump_result = -ENOSPC;
    ask(SPOOL_REQUEST_DUMP);
    assert_int_equal(c->result, -ENOSPC);
    // Of a hint without NUL, all but the last byte, which becomes the NUL.
    memset(c->hint, 'h', sizeof(c->hint));
    memset(expected, 'h', sizeof(expected));
    memcpy(expected, "d(dump ", 7);
    memcpy(expected + 7 + sizeof(c->hint) - 1, ")", 2);
    assert_string_equal(ask(SPOOL_REQUEST_DUMP), expected);
    header.flags = SPOOL_F_STAT;
    assert_string_equal(ask(SPOOL_REQUEST_DUMP), "");
    assert_int_equal(c->result, -EINVAL);
}

// Dumps at functions: once each, in this order, before a request.
static void test_due(void **state)
{
    (void)state;
    own.dump_after = (struct thread_due){ true, 3, 0x1234 };
    own.dump_before = (struct thread_due){ true, 0, 0xabc };
    own.zero_before = (struct thread_due){ true, 0, 0 };
    control_see(t);
    assert_string_equal(what_was_done(), "");
    assert_string_equal(ask(SPOOL_REQUEST_COUNT),
                        "d(--dump-after=@3:1234)d(--dump-before=@0:abc)0+");
    assert_false(own.dump_after.is || own.dump_before.is || own.zero_before.is);
    see();
    assert_string_equal(what_was_done(), "");
    own.dump_before.is = true;
    see();
    assert_string_equal(what_was_done(), "d(--dump-before=@0:abc)");
}

// --dump-every-bb=3: before the fourth block, the seventh, and so on. A block that has not started
// when the thread comes again does not count twice.
static void test_every_block(void **state)
{
    (void)state;
    header.every_blocks = 3;
    control_init();
    for (u32 i = 0; i < 7; i++) {
        control_block(t);
        assert_string_equal(what_was_done(), i == 3 || i == 6 ? "d(--dump-every-bb=3)" : "");
        control_block_is(t, 2);
        control_block(t);
        assert_string_equal(what_was_done(), "");
        counters[2]++;
    }
    // A part starts with zeroed counters: the value when the block was noted is obsolete.
    control_block(t);
    control_block_is(t, 2);
    counters[2]++;
    control_block(t);
    control_block_is(t, 2);
    counters[2]++;
    assert_string_equal(what_was_done(), "");
    control_block(t);
    assert_string_equal(what_was_done(), "d(--dump-every-bb=3)");
    assert_int_equal(own.block_counter, 0);
}

// -- interrupted calls --

static u64 handler(int signo, u64 flags)
{
    table.act[signo] = (struct k_sigaction){ .handler = 0x1000, .flags = flags };
    return SIGBIT(signo);
}

static enum control_call how(u64 nr, enum thread_again again)
{
    t->regs[R_RAX] = nr;
    own.again = (u8)again;
    return control_call(t);
}

// No signal for the client: the call is repeated.
static void test_again(void **state)
{
    (void)state;
    stop_set(t, STOP_SIGNAL | STOP_PARK);
    assert_int_equal(how(SYS_read, AGAIN_INTERRUPTED), CONTROL_AGAIN);
    assert_int_equal(own.again, AGAIN_INTERRUPTED);
    assert_int_equal(shortened, 1);
    assert_int_equal(opened, 1);
    assert_int_equal(t->stop, STOP_PARK);
    // Signals that are ignored, by the client or by default, do not count; nor do stop signals.
    held = SIGBIT(SIGUSR1) | SIGBIT(SIGCHLD) | SIGBIT(SIGTSTP);
    table.act[SIGUSR1].handler = SIG_IGN;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    // Signals that the client blocks wait.
    held = handler(SIGUSR2, 0);
    sig.mask = SIGBIT(SIGUSR2);
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    assert_int_equal(opened, 3);
}

// A signal that the engine took while the call was interrupted, and that the call waits for or lets
// in by its own mask: the call is made from its beginning, which finds the signal.
static void test_awaited_came(void **state)
{
    (void)state;
    sig.mask = ~0ul;
    held = SIGBIT(SIGTRAP);
    assert_int_equal(how(SYS_rt_sigtimedwait, AGAIN_RESTARTED), CONTROL_AGAIN);
    sig.awaited = SIGBIT(SIGTRAP) | SIGBIT(SIGUSR1);
    assert_int_equal(how(SYS_rt_sigtimedwait, AGAIN_RESTARTED), CONTROL_ANEW);
    assert_int_equal(own.again, AGAIN_NOT);
    assert_int_equal(opened, 2); // after the mask is open nothing more comes unseen
    sig.awaited = 0;
    sig.temp_mask_set = true;
    sig.temp_mask = ~SIGBIT(SIGTRAP);
    assert_int_equal(how(SYS_ppoll, AGAIN_INTERRUPTED), CONTROL_ANEW);
    sig.temp_mask = ~0ul;
    assert_int_equal(how(SYS_ppoll, AGAIN_INTERRUPTED), CONTROL_AGAIN);
    sig.temp_mask_set = false;
}

static void test_signal_comes_first(void **state)
{
    (void)state;
    // A handler with SA_RESTART.
    held = handler(SIGUSR1, SA_RESTART);
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_ANEW);
    assert_int_equal(own.again, AGAIN_NOT);
    // A handler without SA_RESTART ends only calls that may wait for ever.
    held = handler(SIGUSR2, 0);
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_OVER);
    assert_int_equal(t->regs[R_RAX], -EINTR);
    assert_int_equal(how(SYS_getrandom, AGAIN_RESTARTED), CONTROL_OVER);
    assert_int_equal(how(SYS_getpid, AGAIN_RESTARTED), CONTROL_ANEW);
    // One of two is enough.
    held = SIGBIT(SIGUSR1) | SIGBIT(SIGUSR2);
    assert_int_equal(how(SYS_futex, AGAIN_RESTARTED), CONTROL_OVER);
    // The kernel ends some calls even with SA_RESTART.
    held = SIGBIT(SIGUSR1);
    assert_int_equal(how(SYS_pause, AGAIN_INTERRUPTED), CONTROL_OVER);
    // A signal that ends the process by default: the highest one.
    held = SIGBIT(64);
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_OVER);
    assert_int_equal(opened, 0);
    assert_int_equal(shortened, 0);
}

// A call that was cut short goes on for its rest, if there is one, until a signal of the client
// comes, even with SA_RESTART.
static void test_cut_short(void **state)
{
    (void)state;
    has_rest = true;
    assert_int_equal(how(SYS_write, AGAIN_CUT), CONTROL_AGAIN);
    assert_int_equal(own.again, AGAIN_REST);
    assert_string_equal(what_was_done(), "n");
    assert_int_equal(shortened, 1);
    assert_int_equal(opened, 1);
    assert_int_equal(t->regs[R_RAX], SYS_write);
    // The call was about to be made.
    assert_int_equal(how(SYS_write, AGAIN_REST), CONTROL_AGAIN);
    assert_int_equal(own.again, AGAIN_REST);
    assert_string_equal(what_was_done(), "");
    held = handler(SIGUSR1, SA_RESTART);
    assert_int_equal(how(SYS_write, AGAIN_REST), CONTROL_OVER);
    assert_int_equal(t->regs[R_RAX], 77);
    assert_int_equal(own.again, AGAIN_NOT);
    assert_string_equal(what_was_done(), "r");
    assert_int_equal(how(SYS_write, AGAIN_CUT), CONTROL_OVER);
    assert_int_equal(t->regs[R_RAX], 77);
    assert_string_equal(what_was_done(), "nr");
    held = 0;
    has_rest = false;
    assert_int_equal(how(SYS_write, AGAIN_CUT), CONTROL_OVER);
    assert_int_equal(t->regs[R_RAX], 77);
    assert_string_equal(what_was_done(), "nr");
    assert_int_equal(own.again, AGAIN_NOT);
    assert_int_equal(opened, 2);
}

// Noted signals always count. Signals that are pending in the kernel while the engine blocks them
// count if the client does not block them.
static void test_where_signals_are(void **state)
{
    u64 usr = SIGBIT(SIGUSR1), before;

    (void)state;
    handler(SIGUSR1, SA_RESTART);
    sig.mask = usr;
    sig.async.full = true;
    sig.async.info.signo = SIGUSR1;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_ANEW);
    sig.async.full = false;
    sys_sigprocmask(SIG_BLOCK, &usr, &before);
    sys_tgkill(sys_getpid(), sys_gettid(), SIGUSR1);
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    sig.blocked = true;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    sig.mask = 0;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_ANEW);
    sig.blocked = false;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    // The engine's own signal does not count.
    handler(STOP_KICK_SIGNAL, 0);
    usr = SIGBIT(STOP_KICK_SIGNAL);
    sys_sigprocmask(SIG_BLOCK, &usr, NULL);
    sys_tgkill(sys_getpid(), sys_gettid(), STOP_KICK_SIGNAL);
    table.act[SIGUSR1].handler = SIG_IGN;
    sig.blocked = true;
    assert_int_equal(how(SYS_read, AGAIN_RESTARTED), CONTROL_AGAIN);
    usr |= SIGBIT(SIGUSR1);
    sys_call4(SYS_rt_sigtimedwait, (u64)&usr, 0, (u64) & (struct k_timespec){ 0, 0 }, 8);
    sys_call4(SYS_rt_sigtimedwait, (u64)&usr, 0, (u64) & (struct k_timespec){ 0, 0 }, 8);
    sys_sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_requests, setup),
        cmocka_unit_test_setup(test_who_answers, setup),
        cmocka_unit_test_setup(test_parts, setup),
        cmocka_unit_test_setup(test_due, setup),
        cmocka_unit_test_setup(test_every_block, setup),
        cmocka_unit_test_setup(test_again, setup),
        cmocka_unit_test_setup(test_awaited_came, setup),
        cmocka_unit_test_setup(test_signal_comes_first, setup),
        cmocka_unit_test_setup(test_cut_short, setup),
        cmocka_unit_test_setup(test_where_signals_are, setup),
    };

    return cmocka_run_group_tests_name("syscalls/control", tests, NULL, NULL);
}
