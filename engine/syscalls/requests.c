// SPDX-License-Identifier: MIT
// Client requests (requests.h). Serves the requests of Valgrind's two tools; requests of other
// tools and services that neither tool has get their native result, as in Valgrind.
//
// Callgrind's requests are served with --calls=yes, Cachegrind's without it: each of those tools
// ignores the other's, too.
#include "engine/syscalls/requests.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/tcache.h"
#include "engine/objects/alloc.h"
#include "engine/objects/pools.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/counting.h"
#include "engine/syscalls/print.h"
#include "engine/thread/threads.h"
#include "engine/x86/decode.h"

// The numbers are part of the interface: valgrind.h, callgrind.h, cachegrind.h.
#define TOOL(a, b) ((u64)(a) << 24 | (u64)(b) << 16)

enum request {
    RUNNING_ON_VALGRIND = 0x1001,
    DISCARD_TRANSLATIONS = 0x1002,
    GET_TOOLNAME = 0x1004,
    CLIENT_CALL0 = 0x1101, // and three more, by their number of arguments
    CLIENT_CALL3 = 0x1104,
    MONITOR_COMMAND = 0x1202,
    CLO_CHANGE = 0x1203,
    PRINTF = 0x1403, // the list of arguments by reference; the two before it are by value, which
    PRINTF_BACKTRACE = 0x1404, // cannot be on this machine
    MALLOCLIKE_BLOCK = 0x1301,
    FREELIKE_BLOCK = 0x1302,
    CREATE_MEMPOOL = 0x1303,
    DESTROY_MEMPOOL = 0x1304,
    MEMPOOL_ALLOC = 0x1305,
    MEMPOOL_FREE = 0x1306,
    MEMPOOL_TRIM = 0x1307,
    MOVE_MEMPOOL = 0x1308,
    MEMPOOL_CHANGE = 0x1309,
    RESIZEINPLACE_BLOCK = 0x130b,
    STACK_REGISTER = 0x1501,
    MAP_IP_TO_SRCLOC = 0x1701,

    CALLGRIND_DUMP = TOOL('C', 'T'),
    CALLGRIND_TOGGLE = TOOL('C', 'T') + 2,
    CALLGRIND_DUMP_AT = TOOL('C', 'T') + 3,
    CALLGRIND_ZERO = TOOL('C', 'T') + 1,
    CALLGRIND_START = TOOL('C', 'T') + 4,
    CALLGRIND_STOP = TOOL('C', 'T') + 5,
    CACHEGRIND_START = TOOL('C', 'G'),
    CACHEGRIND_STOP = TOOL('C', 'G') + 1,
};

struct asked {
    u64 what; // enum request
    u64 arg[5];
};

void requests_init(void)
{
    if (!(spool->flags & SPOOL_F_NO_REQUESTS))
        decode_requests();
}

static bool has_calls(void)
{
    return spool->flags & SPOOL_F_CALLS;
}

// Returns the length of the name with its NUL: a caller whose buffer is too small can ask again.
static u64 tool_name(u64 buffer, u64 size)
{
    const char *name = has_calls() ? "callgrind" : "cachegrind";
    u64 need = strlen(name) + 1;

    if (buffer && size >= need)
        clientmem_write(buffer, name, need);
    return need;
}

static void switch_counting(struct thread *t, bool on, bool callgrind)
{
    if (callgrind == has_calls())
        counting_switch(t, on);
}

// text: of DUMP_STATS_AT, or 0. Becomes a line of the profile.
static void dump(struct thread *t, u64 text)
{
    static const char client[] = "Client Request", at[] = ": ";
    char why[1024];
    u64 n = sizeof(client) - 1;

    if (!has_calls())
        return;
    memcpy(why, client, n);
    if (text) { // truncated to fit
        memcpy(why + n, at, sizeof(at) - 1);
        n += sizeof(at) - 1;
        n += clientmem_read_some(why + n, text, sizeof(why) - 1 - n);
    }
    why[n] = '\0';
    for (char *c = why; *c; c++) {
        if ((u8)*c < ' ')
            *c = ' ';
    }
    counting_dump(t, why);
}

static void toggle(struct thread *t)
{
    static bool told;

    if (!has_calls() || calls_toggle(t) || !tb_config.counts || told)
        return;
    told = true;
    engine_msg("warning: CALLGRIND_TOGGLE_COLLECT is followed with --collect-atstart=no or "
               "--toggle-collect alone; warned once");
}

// A monitor command, as a debugger's user would type it. 0: done; 1: not a command.
static u64 command(struct thread *t, u64 text)
{
    char word[32];

    if (!has_calls() || clientmem_read_str(word, text, sizeof(word)) < 0)
        return 1;
    if (strcmp(word, "instrumentation on") == 0)
        counting_switch(t, true);
    else if (strcmp(word, "instrumentation off") == 0)
        counting_switch(t, false);
    else if (strcmp(word, "dump") == 0)
        dump(t, 0);
    else if (strcmp(word, "zero") == 0)
        counting_zero(t);
    else
        return 1;
    return 0;
}

static void refuse_option(u64 text)
{
    char option[256];

    if (clientmem_read_str(option, text, sizeof(option)) >= 0)
        engine_msg("%s: no option is changed while the program runs", option);
}

static u64 next_stack(void)
{
    static u64 stacks; // without the first stack

    return __atomic_add_fetch(&stacks, 1, __ATOMIC_RELAXED);
}

// ---- A function to be called ----
//
// The function is client code, translated as usual, and called like a signal handler: with a frame
// that has every register and the FPU state, because the caller does not expect the call to change
// any. The frame's return address is the request itself: executed again, with the stack pointer
// after that address, it is the return.

#define REQUEST_BYTES 19

static void call(struct thread *t, const struct asked *r)
{
    u64 site = t->pc - REQUEST_BYTES;
    struct k_sigaction act = { .handler = r->arg[0],
                               .flags = SA_SIGINFO | SA_RESTORER,
                               .restorer = site };
    struct signal_pending none = { 0 };
    struct thread_own *own = thread_own(t);

    // After a longjmp out of such a function its entry remains: it is below the stack pointer.
    if (own->asked_count == ARRAY_SIZE(own->asked)) {
        own->asked_count = 0;
        for (u32 i = 0; i < ARRAY_SIZE(own->asked); i++)
            if (own->asked[i] > t->regs[R_RSP])
                own->asked[own->asked_count++] = own->asked[i];
    }
    if (own->asked_count == ARRAY_SIZE(own->asked) || frame_push(t, &act, &none, t->sig->mask))
        return;
    own->asked[own->asked_count++] = t->regs[R_RSP] + 8;
    t->regs[R_RDI] = t->slot + 1ul; // threads are numbered from 1
    t->regs[R_RSI] = r->arg[1];
    t->regs[R_RDX] = r->arg[2];
    t->regs[R_RCX] = r->arg[3];
    calls_called(t, site);
}

// Whether the request is the return of such a function; then the function's result is the result.
static bool is_return(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    u64 sp = t->regs[R_RSP], answer = t->regs[R_RAX], site = t->pc - REQUEST_BYTES, back, mask;

    for (u32 i = own->asked_count; i-- > 0;) {
        if (own->asked[i] != sp || clientmem_read_u64(sp - 8, &back) || back != site)
            continue;
        own->asked_count = i;
        if (frame_pop(t, &mask) != FRAME_POPPED) {
            deliver_fault(t, SIGSEGV, SI_KERNEL, 0, t->sig->last_trapno, t->sig->last_err);
            return true;
        }
        t->regs[R_RDX] = answer;
        return true;
    }
    return false;
}

// Blocks that the program makes itself. False: it is another request.
static bool blocks(struct thread *t, const struct asked *r)
{
    u64 at = t->pc - REQUEST_BYTES;

    switch (r->what) {
    case MALLOCLIKE_BLOCK: alloc_block(t, at, r->arg[0], r->arg[1]); break;
    case RESIZEINPLACE_BLOCK: alloc_resized(t, r->arg[0], r->arg[2]); break;
    case FREELIKE_BLOCK: alloc_freed(t, r->arg[0]); break;
    case CREATE_MEMPOOL: pools_create(r->arg[0]); break;
    case DESTROY_MEMPOOL: pools_destroy(t, r->arg[0]); break;
    case MEMPOOL_ALLOC: pools_alloc(t, at, r->arg[0], r->arg[1], r->arg[2]); break;
    case MEMPOOL_FREE: pools_free(t, r->arg[0], r->arg[1]); break;
    case MEMPOOL_TRIM: pools_trim(t, r->arg[0], r->arg[1], r->arg[2]); break;
    case MOVE_MEMPOOL: pools_move(r->arg[0], r->arg[1]); break;
    case MEMPOOL_CHANGE: pools_change(t, at, r->arg[0], r->arg[1], r->arg[2], r->arg[3]); break;
    default: return false;
    }
    return true;
}

void requests_answer(struct thread *t)
{
    u64 *answer = &t->regs[R_RDX];
    struct asked r;

    if (thread_own(t)->asked_count && is_return(t))
        return;
    if (clientmem_read(&r, t->regs[R_RAX], sizeof(r)) || blocks(t, &r))
        return;
    switch (r.what) {
    case RUNNING_ON_VALGRIND: *answer = 1; break;
    case DISCARD_TRANSLATIONS: tcache_invalidate(r.arg[0], r.arg[0] + r.arg[1]); break;
    case CLIENT_CALL0 ... CLIENT_CALL3: call(t, &r); break;
    case GET_TOOLNAME: *answer = tool_name(r.arg[0], r.arg[1]); break;
    case MONITOR_COMMAND: *answer = command(t, r.arg[0]); break;
    case CLO_CHANGE: refuse_option(r.arg[0]); break;
    case PRINTF: *answer = print_client(r.arg[0], r.arg[1]); break;
    case PRINTF_BACKTRACE:
        *answer = print_client(r.arg[0], r.arg[1]);
        print_place(t->pc);
        break;
    case STACK_REGISTER: *answer = next_stack(); break;
    case MAP_IP_TO_SRCLOC:
        clientmem_write(r.arg[1], "", 1);
        break; // names are only known at the end
    case CALLGRIND_DUMP: dump(t, 0); break;
    case CALLGRIND_DUMP_AT: dump(t, r.arg[0]); break;
    case CALLGRIND_ZERO:
        if (has_calls())
            counting_zero(t);
        break;
    case CALLGRIND_TOGGLE: toggle(t); break;
    case CALLGRIND_START: switch_counting(t, true, true); break;
    case CALLGRIND_STOP: switch_counting(t, false, true); break;
    case CACHEGRIND_START: switch_counting(t, true, false); break;
    case CACHEGRIND_STOP: switch_counting(t, false, false); break;
    default: break;
    }
}
