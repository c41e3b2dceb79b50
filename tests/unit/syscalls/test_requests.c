// SPDX-License-Identifier: MIT
// engine/syscalls/requests.c: what each client request does, with and without --calls, and how a
// function that a request calls starts and returns. The log of the fakes is a string: `+` and `-`
// counting on and off, `0` zero, `d` a part with its reason, `t` collecting on or off, `x`
// translations dropped, `p` a text, `b` a place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/tcache.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/counting.h"
#include "engine/syscalls/print.h"
#include "engine/syscalls/requests.h"
#include "engine/thread/threads.h"
#include "engine/x86/decode.h"
#include "tests/unit/objects/objects_none.h"

// -- fakes of what requests.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;
static struct thread thread;
static struct thread_own own;
static struct signal_state sig;
static struct thread *const t = &thread;

static char asked[2048];
static bool can_toggle, decodes;
static int pushes;                 // what frame_push() answers
static enum frame_popped pops;     // and frame_pop()
static struct k_sigaction pushed;  // for what there was a frame
static u64 called_from, faults;

// Client memory is everything but the first page.
static bool is_there(u64 addr)
{
    return addr >= PAGE_SIZE;
}

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    if (!is_there(gaddr))
        return -EFAULT;
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

int clientmem_write(u64 gaddr, const void *src, u64 n)
{
    if (!is_there(gaddr))
        return -EFAULT;
    memcpy((void *)gaddr, src, n);
    return 0;
}

int clientmem_read_u64(u64 gaddr, u64 *out)
{
    return clientmem_read(out, gaddr, 8);
}

u64 clientmem_read_some(void *dst, u64 gaddr, u64 max)
{
    memcpy(dst, (const void *)gaddr, max);
    return max;
}

s64 clientmem_read_str(char *dst, u64 gaddr, u64 max)
{
    u64 n = is_there(gaddr) ? strlen((const char *)gaddr) : max;

    if (n >= max)
        return -EFAULT;
    memcpy(dst, (const char *)gaddr, n + 1);
    return (s64)n;
}

static void note(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), format, ap);
    va_end(ap);
}

void decode_requests(void)
{
    decodes = true;
}

void counting_switch(struct thread *of, bool on)
{
    assert_ptr_equal(of, t);
    note(on ? "+" : "-");
}

void counting_zero(struct thread *of)
{
    assert_ptr_equal(of, t);
    note("0");
}

int counting_dump(struct thread *of, const char *why)
{
    assert_ptr_equal(of, t);
    note("d(%s)", why);
    return 0;
}

bool calls_toggle(struct thread *of)
{
    assert_ptr_equal(of, t);
    note("t");
    return can_toggle;
}

void calls_called(struct thread *of, u64 site)
{
    assert_ptr_equal(of, t);
    called_from = site;
}

void tcache_invalidate(u64 start, u64 end)
{
    note("x(%lx,%lx)", start, end);
}

u64 print_client(u64 format, u64 list)
{
    note("p(%lx,%lx)", format, list);
    return 77;
}

void print_place(u64 pc)
{
    note("b(%lx)", pc);
}

int frame_push(struct thread *of, const struct k_sigaction *act, const struct signal_pending *p,
               u64 mask)
{
    assert_ptr_equal(of, t);
    assert_false(p->full);
    assert_int_equal(mask, 0x123);
    if (pushes)
        return pushes;
    pushed = *act;
    of->regs[R_RSP] -= 0x400;
    of->pc = act->handler;
    return 0;
}

enum frame_popped frame_pop(struct thread *of, u64 *mask)
{
    assert_ptr_equal(of, t);
    *mask = 0x123;
    if (pops == FRAME_POPPED)
        of->regs[R_RDX] = 1;
    return pops;
}

void deliver_fault(struct thread *of, int signo, int code, u64 addr, u64 trapno, u64 err)
{
    assert_ptr_equal(of, t);
    assert_int_equal(signo, SIGSEGV);
    assert_int_equal(code, SI_KERNEL);
    assert_int_equal(addr, 0);
    assert_int_equal(trapno, 5);
    assert_int_equal(err, 6);
    faults++;
}

// -- helpers of the tests --

#define NATIVE 0x4e4154 // what is in rdx, and stays there
#define SITE   0x401000ul
#define BEHIND (SITE + 19)
#define CT(n)  (0x43540000ul + (n))
#define CG(n)  (0x43470000ul + (n))

static int messages[2];

static const char *message(void)
{
    static char told[512];
    ssize_t n = sys_read(messages[0], told, sizeof(told) - 1);
    const char *behind_pid;

    told[n > 0 ? n : 0] = '\0';
    behind_pid = strchr(told, ' ');
    return behind_pid ? behind_pid + 1 : "";
}

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    memset(&thread, 0, sizeof(thread));
    memset(&own, 0, sizeof(own));
    memset(&sig, 0, sizeof(sig));
    memset(asked, 0, sizeof(asked));
    thread.own = &own;
    thread.sig = &sig;
    thread.slot = 4;
    thread.pc = BEHIND;
    sig.mask = 0x123;
    sig.last_trapno = 5;
    sig.last_err = 6;
    tb_config = (struct tb_config){ .counts = true };
    can_toggle = decodes = false;
    pushes = 0;
    pops = FRAME_POPPED;
    faults = called_from = 0;
    message();
    return 0;
}

// Returns the result.
static u64 request(u64 what, u64 a, u64 b)
{
    u64 words[6] = { what, a, b, 0x33, 0x44, 0x55 };

    t->regs[R_RAX] = (u64)words;
    t->regs[R_RDX] = NATIVE;
    requests_answer(t);
    return t->regs[R_RDX];
}

static const char *what_was_asked(void)
{
    static char last[sizeof(asked)];

    memcpy(last, asked, sizeof(last));
    memset(asked, 0, sizeof(asked));
    return last;
}

static void test_looked_for(void **state)
{
    (void)state;
    header.flags = SPOOL_F_NO_REQUESTS;
    requests_init();
    assert_false(decodes);
    header.flags = 0;
    requests_init();
    assert_true(decodes);
}

static void test_any_tool(void **state)
{
    char text = 'x';

    (void)state;
    assert_int_equal(request(0x1001, 0, 0), 1);
    assert_int_equal(request(0x1002, 0x5000, 0x20), NATIVE);
    assert_string_equal(what_was_asked(), "x(5000,5020)");
    assert_int_equal(request(0x1403, 0x10, 0x20), 77);
    assert_string_equal(what_was_asked(), "p(10,20)");
    assert_int_equal(request(0x1404, 0x10, 0x20), 77);
    assert_string_equal(what_was_asked(), "p(10,20)b(401013)");
    assert_int_equal(request(0x1501, 0, 0), 1);
    assert_int_equal(request(0x1501, 0, 0), 2);
    assert_int_equal(request(0x1701, 0, (u64)&text), NATIVE);
    assert_int_equal(text, '\0');
    assert_int_equal(request(0x9999, 0, 0), NATIVE); // unknown
    t->regs[R_RAX] = 8;                              // nothing is there
    requests_answer(t);
    assert_int_equal(t->regs[R_RDX], NATIVE);
    assert_string_equal(what_was_asked(), "");
}

static void test_name(void **state)
{
    char name[16];

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(request(0x1004, (u64)name, 10), 11);
    assert_int_equal(name[0], 'x');
    assert_int_equal(request(0x1004, (u64)name, 11), 11);
    assert_string_equal(name, "cachegrind");
    assert_int_equal(name[11], 'x');
    assert_int_equal(request(0x1004, 0, 11), 11);
    header.flags = SPOOL_F_CALLS;
    assert_int_equal(request(0x1004, (u64)name, 10), 10);
    assert_string_equal(name, "callgrind");
}

static void test_option(void **state)
{
    (void)state;
    request(0x1203, (u64) "--x=y", 0);
    assert_string_equal(message(), "--x=y: no option is changed while the program runs\n");
    request(0x1203, 8, 0);
    assert_string_equal(message(), "");
}

// Each tool's requests are served in the mode of that tool.
static void test_counting(void **state)
{
    static const u64 all[] = { CT(4), CT(5), CT(1), CT(0), CG(0), CG(1) };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(all); i++)
        assert_int_equal(request(all[i], 0, 0), NATIVE);
    assert_string_equal(what_was_asked(), "+-");
    header.flags = SPOOL_F_CALLS;
    for (u32 i = 0; i < ARRAY_SIZE(all); i++)
        request(all[i], 0, 0);
    assert_string_equal(what_was_asked(), "+-0d(Client Request)");
}

static void test_part_with_reason(void **state)
{
    static char text[2000];
    char expected[1100] = "d(Client Request: ";

    (void)state;
    request(CT(3), (u64) "why", 0);
    assert_string_equal(what_was_asked(), "");
    header.flags = SPOOL_F_CALLS;
    strcpy(text, "a\n\tb\x1f ~");
    request(CT(3), (u64)text, 0);
    assert_string_equal(what_was_asked(), "d(Client Request: a  b  ~)");
    // 1023 bytes in all
    memset(text, 'r', sizeof(text) - 1);
    request(CT(3), (u64)text, 0);
    memset(expected + 18, 'r', 1023 - 16);
    strcpy(expected + 2 + 1023, ")");
    assert_string_equal(what_was_asked(), expected);
}

// Without the needed options a message is printed, once; not while counting is off.
static void test_toggle(void **state)
{
    (void)state;
    request(CT(2), 0, 0);
    assert_string_equal(what_was_asked(), "");
    header.flags = SPOOL_F_CALLS;
    can_toggle = true;
    request(CT(2), 0, 0);
    can_toggle = false;
    tb_config.counts = false;
    request(CT(2), 0, 0);
    assert_string_equal(message(), "");
    assert_string_equal(what_was_asked(), "tt");
    tb_config.counts = true;
    request(CT(2), 0, 0);
    assert_string_equal(message(), "warning: CALLGRIND_TOGGLE_COLLECT is followed with "
                                   "--collect-atstart=no or --toggle-collect alone; warned once\n");
    request(CT(2), 0, 0);
    assert_string_equal(message(), "");
}

static void test_commands(void **state)
{
    (void)state;
    assert_int_equal(request(0x1202, (u64) "zero", 0), 1);
    assert_string_equal(what_was_asked(), "");
    header.flags = SPOOL_F_CALLS;
    assert_int_equal(request(0x1202, (u64) "instrumentation on", 0), 0);
    assert_string_equal(what_was_asked(), "+");
    assert_int_equal(request(0x1202, (u64) "instrumentation off", 0), 0);
    assert_string_equal(what_was_asked(), "-");
    assert_int_equal(request(0x1202, (u64) "dump", 0), 0);
    assert_string_equal(what_was_asked(), "d(Client Request)");
    assert_int_equal(request(0x1202, (u64) "zero", 0), 0);
    assert_string_equal(what_was_asked(), "0");
    assert_int_equal(request(0x1202, (u64) "dumpling", 0), 1);
    assert_int_equal(request(0x1202, (u64) "one that has more than 31 letters", 0), 1);
    assert_int_equal(request(0x1202, 8, 0), 1);
    assert_string_equal(what_was_asked(), "");
}

// -- functions that requests call --

static u64 stack[512];

// The client's stack pointer is at stack[at] when it asks for the function at 0x7000.
static void call_at(u32 at, u64 what)
{
    t->pc = BEHIND;
    t->regs[R_RSP] = (u64)&stack[at];
    request(what, 0x7000, 0x22);
}

// The function has returned to the request, with this result.
static u64 return_to(u64 sp, u64 answer)
{
    t->pc = BEHIND;
    t->regs[R_RSP] = sp;
    t->regs[R_RAX] = answer;
    t->regs[R_RDX] = NATIVE;
    ((u64 *)sp)[-1] = SITE;
    requests_answer(t);
    return t->regs[R_RDX];
}

static void test_call(void **state)
{
    u64 sp = (u64)&stack[400] - 0x400 + 8;

    (void)state;
    for (u64 what = 0x1101; what <= 0x1104; what++) {
        call_at(400, what);
        assert_int_equal(pushed.handler, 0x7000);
        assert_int_equal(pushed.restorer, SITE);
        assert_int_equal(pushed.flags, SA_SIGINFO | SA_RESTORER);
        assert_int_equal(called_from, SITE);
        assert_int_equal(t->regs[R_RDI], 5); // the thread's number
        assert_int_equal(t->regs[R_RSI], 0x22);
        assert_int_equal(t->regs[R_RDX], 0x33);
        assert_int_equal(t->regs[R_RCX], 0x44);
        assert_int_equal(own.asked_count, 1);
        assert_int_equal(own.asked[0], sp);
        assert_int_equal(return_to(sp, what), what);
        assert_int_equal(own.asked_count, 0);
        assert_int_equal(faults, 0);
    }
    call_at(400, 0x1105); // no request
    assert_int_equal(own.asked_count, 0);
    pushes = -EFAULT;
    call_at(400, 0x1101);
    assert_int_equal(own.asked_count, 0);
    assert_int_equal(t->regs[R_RDX], NATIVE);
}

// Functions that are called by such functions; one of them is left by a jump, with those it has
// called.
static void test_nested(void **state)
{
    u64 outer = (u64)&stack[500] - 0x400 + 8, inner = (u64)&stack[300] - 0x400 + 8;

    (void)state;
    call_at(500, 0x1101);
    call_at(300, 0x1101);
    call_at(200, 0x1101);
    assert_int_equal(own.asked_count, 3);
    // Another request meanwhile is not a return: the stack pointer, or the word below it, differs.
    t->pc = BEHIND;
    t->regs[R_RSP] = inner + 8;
    assert_int_equal(request(0x1001, 0, 0), 1);
    t->regs[R_RSP] = inner;
    ((u64 *)inner)[-1] = SITE + 1;
    assert_int_equal(request(0x1001, 0, 0), 1);
    assert_int_equal(own.asked_count, 3);
    assert_int_equal(return_to(inner, 9), 9);
    assert_int_equal(own.asked_count, 1);
    assert_int_equal(return_to(outer, 8), 8);
    assert_int_equal(own.asked_count, 0);
}

// The frame is unreadable: the client gets a signal, as at a handler's return; no request is
// served.
static void test_frame_gone(void **state)
{
    u64 sp = (u64)&stack[400] - 0x400 + 8;

    (void)state;
    call_at(400, 0x1101);
    pops = FRAME_GONE;
    assert_int_equal(return_to(sp, 3), NATIVE);
    assert_int_equal(faults, 1);
    assert_int_equal(own.asked_count, 0);
}

// Eight may be open. Entries below the stack pointer were left by jumps, and are reused.
static void test_many(void **state)
{
    (void)state;
    for (u32 i = 0; i < 8; i++)
        call_at(500 - 8 * i, 0x1101);
    assert_int_equal(own.asked_count, 8);
    called_from = 0;
    call_at(100, 0x1101);
    assert_int_equal(called_from, 0);
    assert_int_equal(own.asked_count, 8);
    // Each returns 127 words below its call. At the third one's return only the first two are
    // above.
    call_at(500 - 8 * 2 - 127, 0x1101);
    assert_int_equal(own.asked_count, 3);
    assert_int_equal(own.asked[0], (u64)&stack[500 - 127]);
    assert_int_equal(own.asked[1], (u64)&stack[492 - 127]);
    assert_int_equal(own.asked[2], (u64)&stack[484 - 127 - 127]);
}

static int first(void **state)
{
    (void)state;
    assert_int_equal(sys_call2(SYS_pipe2, (u64)messages, O_NONBLOCK), 0);
    engine_log_fd = messages[1];
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_looked_for, setup),
        cmocka_unit_test_setup(test_any_tool, setup),
        cmocka_unit_test_setup(test_name, setup),
        cmocka_unit_test_setup(test_option, setup),
        cmocka_unit_test_setup(test_counting, setup),
        cmocka_unit_test_setup(test_part_with_reason, setup),
        cmocka_unit_test_setup(test_toggle, setup),
        cmocka_unit_test_setup(test_commands, setup),
        cmocka_unit_test_setup(test_call, setup),
        cmocka_unit_test_setup(test_nested, setup),
        cmocka_unit_test_setup(test_frame_gone, setup),
        cmocka_unit_test_setup(test_many, setup),
    };

    return cmocka_run_group_tests_name("syscalls/requests", tests, first, NULL);
}
