// SPDX-License-Identifier: MIT
// engine/run/dispatch.c: where a thread continues after each entry into the dispatcher. Other files
// are replaced by fakes that note their calls; entering translated code, exiting and stepping leave
// by longjmp.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/helpers.h"
#include "engine/count/rep.h"
#include "engine/process/exit.h"
#include "engine/process/pretranslate.h"
#include "engine/replay/recordbuf.h"
#include "engine/run/dispatch.h"
#include "engine/run/emulate.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/control.h"
#include "engine/syscalls/int80.h"
#include "engine/syscalls/requests.h"
#include "engine/syscalls/syscalls.h"
#include "engine/syscalls/systime.h"
#include "engine/syscalls/vsyscall.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stop.h"
#include "engine/thread/stopworld.h"
#include "engine/translate/superblock.h"
#include "engine/translate/translate.h"
#include "tests/unit/count/reftrace_none.h"
#define OBJECTS_POINTS
#include "tests/unit/objects/objects_none.h"

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
void (*reentry_run)(struct thread *t);
void (*reentry_finished)(struct thread *t);
void (*reentry_control)(struct thread *t);

// -- the call graph, and another processor: never called here --

void calls_table(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
}

void calls_call(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_return(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_jump(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_leave_plt(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_stack(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_miss(struct thread *t, const u8 *ret)
{
    (void)t;
    (void)ret;
    fail();
}

void calls_corrected(struct thread *t, u32 block, u32 insns, s64 by)
{
    (void)t;
    (void)block;
    (void)insns;
    (void)by;
}

bool emulate_insn(struct thread *t)
{
    (void)t;
    return false;
}

// -- functions that do not return --

enum { ENTERED = 1, STEPPED, DIED, AGAIN };

static jmp_buf back;
static u64 entered;
static int died_of;

_Noreturn void reentry_enter(u64 stub)
{
    entered = stub;
    longjmp(back, ENTERED);
}

_Noreturn void handler_step(struct thread *t)
{
    (void)t;
    longjmp(back, STEPPED);
}

_Noreturn void exit_process(struct thread *t, u32 kind, int code)
{
    (void)t;
    assert_int_equal(kind, SPOOL_END_SIGNAL);
    died_of = code;
    longjmp(back, DIED);
}

// -- the calls in their order, a letter each --

static char asked[256];

static void note(char what)
{
    u64 n = strlen(asked);

    assert_true(n < sizeof(asked) - 1);
    asked[n] = what;
}

static int locked;

void tcache_lock(void)
{
    assert_int_equal(locked++, 0);
}

void tcache_unlock(void)
{
    assert_int_equal(locked--, 1);
}

static struct fragment fragment[8]; // of the addresses 0x401000, 0x401010...
static struct fragment_exit exits[8][2];
static bool known[8]; // tcache_lookup() finds it
static u32 full;      // for so many translations the cache is full
static u64 fault_at;

struct fragment *tcache_lookup(u64 pc)
{
    assert_int_equal(locked, 1);
    for (u32 i = 0; i < 8; i++)
        if (known[i] && fragment[i].pc == pc)
            return &fragment[i];
    return NULL;
}

struct fragment *tcache_by_index(u32 i)
{
    return &fragment[i];
}

void tcache_changed(struct fragment *f, bool keep)
{
    assert_int_equal(locked, 1);
    assert_int_equal(keep, tb_config.chain);
    known[f - fragment] = false;
    note('k');
}

void tcache_flush_all(void)
{
    assert_int_equal(locked, 0);
    memset(known, 0, sizeof(known));
    header.n_flush++;
    note('f');
}

struct fragment *translate_block(u64 pc, u64 *fault)
{
    assert_int_equal(locked, 1);
    note('t');
    if (fault_at) {
        *fault = fault_at;
        return NULL;
    }
    if (full) {
        full--;
        return NULL;
    }
    for (u32 i = 0; i < 8; i++)
        if (fragment[i].pc == pc) {
            known[i] = true;
            return &fragment[i];
        }
    return NULL;
}

// What is noted for later children matches what is done here.
void pretranslate_note_block(const struct fragment *f)
{
    assert_int_equal(locked, 1);
    assert_true(known[f - fragment]);
    note('b');
}

static struct fragment *linked_from, *linked_to, *filled;
static u32 linked_exit;

void links_make(struct fragment *from, u32 exit, struct fragment *to)
{
    linked_from = from;
    linked_exit = exit;
    linked_to = to;
}

static bool was_target;

bool ibl_has(const struct thread *t, const struct fragment *f)
{
    (void)t;
    assert_non_null(f);
    return was_target;
}

void ibl_fill(struct thread *t, const struct fragment *f)
{
    (void)t;
    filled = (struct fragment *)f;
}

void pretranslate_note_link(const struct fragment *f, u32 exit)
{
    assert_ptr_equal(f, linked_from);
    assert_int_equal(exit, linked_exit);
}

void pretranslate_note_target(const struct fragment *f)
{
    assert_ptr_equal(f, filled);
}

static u32 edge_id, edge_exit;

static u32 log_entered; // recordbuf_enter()
static u64 came;        // recordbuf_continue_at()

static bool told; // by the record that is left

bool recordbuf_is_told(u32 id)
{
    (void)id;
    return told;
}

static u64 point_at; // an allocator's
static u32 reached;

u32 alloc_point(u64 pc)
{
    return pc == point_at ? 5 : 0;
}

void alloc_reached(struct thread *on, u32 point)
{
    assert_int_equal(on->pc, point_at);
    reached = point;
    note('A');
}

void recordbuf_edge(struct thread *t, u32 id, u32 k)
{
    (void)t;
    edge_id = id;
    edge_exit = k;
}

void recordbuf_enter(struct thread *t)
{
    (void)t;
    log_entered++;
}

void recordbuf_continue_at(struct thread *t, u64 pc)
{
    (void)t;
    came = pc;
}

void recordbuf_drain_all(s32 stopped)
{
    assert_int_equal(stopped, 0);
    note('d');
}

void recordbuf_flush(void)
{
    note('l');
}

void stopworld_stop(struct thread *t)
{
    (void)t;
    assert_int_equal(locked, 0);
    note('s');
}

void stopworld_resume(struct thread *t)
{
    (void)t;
    note('r');
}

void stopworld_park(struct thread *t)
{
    t->stop &= ~(STOP_PARK | STOP_YIELD);
    note('p');
}

void superblock_sample(struct thread *t)
{
    assert_false(t->stop & STOP_SAMPLE);
    note('l');
}

void sampler_next(struct thread *t)
{
    (void)t;
    note('n');
}

void superblock_watched(struct thread *t)
{
    (void)t;
    note('w');
}

static struct {
    int sig, code;
    u64 addr, trapno, err;
} fault;
static bool fault_kills;

void deliver_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err)
{
    fault.sig = sig;
    fault.code = code;
    fault.addr = addr;
    fault.trapno = trapno;
    fault.err = err;
    stop_set(t, STOP_SIGNAL);
}

int deliver_pending(struct thread *t)
{
    note('v');
    stop_clear(t, STOP_SIGNAL);
    if (fault.sig && fault_kills)
        return fault.sig;
    t->pc = 0x401070; // the handler
    t->rflags &= ~FLAG_RF;
    fault_at = 0;
    return 0;
}

static bool mapped;

bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    (void)addr;
    memset(out, 0, sizeof(*out));
    return mapped;
}

static u64 unseen;              // the mapping at this address has a file to be looked up
static void (*meanwhile)(void); // what another thread does then

bool vmmap_unseen_file(u64 addr, struct vmmap_file *out)
{
    out->line.start = unseen;
    out->deleted = true;
    return addr == unseen;
}

void modules_look(struct vmmapfile_line *l, bool deleted, struct modules_found *out)
{
    assert_int_equal(locked, 0);
    assert_true(deleted);
    assert_int_equal(l->start, unseen);
    out->fd = 17;
    note('L');
    if (meanwhile)
        meanwhile();
}

void modules_looked(struct modules_found *found)
{
    assert_int_equal(found->fd, 17);
    note('C');
}

void stopworld_blocking_begin(struct thread *t)
{
    (void)t;
    assert_int_equal(locked, 0);
    note('(');
}

void stopworld_blocking_end(struct thread *t)
{
    (void)t;
    note(')');
}

u32 vmmap_spool_map(u64 addr)
{
    assert_int_equal(locked, 0);
    assert_int_equal(addr, unseen);
    note('m');
    return 0;
}

static bool vsyscall_page, no_entry;

bool vmmap_has_vsyscall(void)
{
    return vsyscall_page;
}

bool vsyscall_try(struct thread *t)
{
    if (no_entry)
        return false;
    note('y');
    t->pc = 0x401000;
    return true;
}

static u16 bytes;

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    (void)gaddr;
    memcpy(dst, &bytes, n);
    return 0;
}

void int80_call(struct thread *t)
{
    note('i');
    t->pc += 16; // was refused: continue behind it
}

static bool signal_first; // the call is to be restarted

void syscalls_slow(struct thread *t)
{
    note('c');
    if (!signal_first)
        t->pc = t->sc_next;
}

static bool woken_in_vain;

bool syscalls_woken_in_vain(const struct thread *t)
{
    (void)t;
    return woken_in_vain;
}

void syscalls_done(struct thread *t)
{
    (void)t;
    note('e');
}

void requests_answer(struct thread *t)
{
    assert_int_equal(t->state, TS_ENGINE);
    assert_int_equal(locked, 0);
    note('q');
}

static u32 partial_block, partial_insn;

// Block 100 + n has three instructions and counter n.
struct spool_block *spooler_block_at(u32 index)
{
    static struct spool_block b;

    b.counter = index - 100;
    b.insns = 3;
    return &b;
}

void spooler_partial(u32 block, u32 insn, u32 slot, u32 context)
{
    assert_int_equal(slot, 0);
    assert_int_equal(context, 0);
    partial_block = block;
    partial_insn = insn;
}

u64 stubs_at(enum stub s)
{
    return 0x1000 + s;
}

// Only their addresses are used.
#define HELPER(name)            \
    void name(struct thread *t) \
    {                           \
        (void)t;                \
    }
#define HELPER_RET(name)                       \
    void name(struct thread *t, const u8 *ret) \
    {                                          \
        (void)t;                               \
        (void)ret;                             \
    }
HELPER_RET(helpers_d1_miss)
HELPER_RET(helpers_d1_slow)
HELPER_RET(helpers_d1_any)
HELPER_RET(helpers_i1_miss)
HELPER_RET(helpers_i1_any)
HELPER_RET(helpers_bc)
HELPER(helpers_bi)
HELPER(helpers_vec)
HELPER(helpers_record_vec)
HELPER(rep_simulate)
HELPER(rep_record)

// -- the test's side --

static struct thread thread, *const t = &thread;
static u64 counters[16];

static struct thread_own own;
static enum control_call next_call;

void control_see(struct thread *of)
{
    assert_ptr_equal(of, t);
    if (t->stop & STOP_CONTROL)
        note('?');
    stop_clear(t, STOP_CONTROL);
}

void control_block(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('b');
}

static u32 calls_begun, calls_ended; // as --collect-systime counts them

void systime_begin(struct thread *of)
{
    assert_ptr_equal(of, t);
    calls_begun++;
}

void systime_end(struct thread *of)
{
    assert_ptr_equal(of, t);
    calls_ended++;
}

static u32 block_is;

void control_block_is(struct thread *of, u32 counter)
{
    assert_ptr_equal(of, t);
    block_is = counter;
}

enum control_call control_call(struct thread *of)
{
    assert_ptr_equal(of, t);
    note('=');
    return next_call;
}

_Noreturn void gate_restart(struct thread *of)
{
    assert_ptr_equal(of, t);
    longjmp(back, AGAIN);
}

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    log_entered = 0;
    memset(t, 0, sizeof(*t));
    memset(fragment, 0, sizeof(fragment));
    memset(known, 0, sizeof(known));
    memset(asked, 0, sizeof(asked));
    memset(counters, 0, sizeof(counters));
    memset(&fault, 0, sizeof(fault));
    linked_from = linked_to = filled = NULL;
    locked = 0;
    full = 0;
    fault_at = 0;
    unseen = 0;
    meanwhile = NULL;
    tb_config.counts = false;
    fault_kills = mapped = vsyscall_page = no_entry = false;
    edge_id = partial_block = partial_insn = 0;
    cpu.address_bits = 48;
    tb_config.chain = tb_config.ibl = true;
    memset(&own, 0, sizeof(own));
    calls_begun = calls_ended = 0;
    t->own = &own;
    t->counters = counters;
    t->pc = 0x401000;
    t->rflags = FLAGS_INITIAL | FLAG_TF;
    for (u32 i = 0; i < 8; i++) {
        fragment[i].pc = 0x401000 + 16 * i;
        fragment[i].hpc = 0x7f0000000000 + 64 * i;
        fragment[i].counter = i;
        fragment[i].block = 100 + i;
        fragment[i].log = 200 + i;
        fragment[i].ninsns = 3;
        fragment[i].exit = exits[i];
        fragment[i].exit[0].target = 0x401010;
        fragment[i].exit[1].target = 0x401020;
    }
    return 0;
}

// Enters by the function that stub s calls; STUB_COUNT: by dispatch_run().
static int go(enum stub s)
{
    int how = setjmp(back);

    if (!how) {
        if (s == STUB_COUNT)
            dispatch_run(t);
        ((void (*)(struct thread *))dispatch_calls[s])(t);
    }
    return how;
}

static void check_entered(u32 i)
{
    assert_true(log_entered);
    log_entered = 0;
    assert_int_equal(entered, stubs_at(STUB_ENTER));
    assert_int_equal(t->host, fragment[i].hpc);
    assert_int_equal(t->rflags, FLAGS_INITIAL);
    assert_int_equal(locked, 0);
}

static void test_run(void **state)
{
    (void)state;
    t->sc_post = 5;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    check_entered(0);
    assert_string_equal(asked, "tb");
    assert_int_equal(t->sc_post, 0);
    assert_int_equal(go(STUB_COUNT), ENTERED); // known now
    assert_string_equal(asked, "tb");
    assert_null(linked_from);
    assert_null(filled);
}

static void translated_meanwhile(void)
{
    known[1] = true;
}

// The file of a mapping's first block is looked up before the translation lock is taken for good,
// once, and only where blocks are recorded.
static void test_file(void **state)
{
    (void)state;
    tb_config.counts = true;
    unseen = 0x401000;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    check_entered(0);
    assert_string_equal(asked, "(LC)mtb");
    assert_int_equal(go(STUB_COUNT), ENTERED); // known now
    assert_string_equal(asked, "(LC)mtb");
    memset(asked, 0, sizeof(asked));
    t->pc = unseen = 0x401010;
    meanwhile = translated_meanwhile;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    check_entered(1);
    assert_string_equal(asked, "(LC)m");
    memset(asked, 0, sizeof(asked));
    meanwhile = NULL;
    t->pc = unseen = 0x401020;
    full = 1;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_string_equal(asked, "(LC)mtsdflrtb");
    memset(asked, 0, sizeof(asked));
    tb_config.counts = false;
    t->pc = unseen = 0x401030;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_string_equal(asked, "tb");
}

static void test_exit(void **state)
{
    (void)state;
    t->exit_id = fragment_exit_id(3, 1);
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(2);
    assert_int_equal(t->pc, 0x401020);
    assert_ptr_equal(linked_from, &fragment[3]);
    assert_int_equal(linked_exit, 1);
    assert_ptr_equal(linked_to, &fragment[2]);
    assert_int_equal(edge_id, 203);
    assert_int_equal(edge_exit, 1);
    assert_int_equal(header.n_dispatch, 1);
    linked_from = NULL;
    fragment[3].flags = FRAGMENT_DEAD;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    assert_null(linked_from);
    fragment[3].flags = 0;
    tb_config.chain = false;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    assert_null(linked_from);
    // While a thread was parked, the fragment that it comes from may have been flushed.
    tb_config.chain = true;
    fragment[3].exit[1].target = 0x401070;
    t->stop = STOP_SIGNAL | STOP_PARK;
    memset(asked, 0, sizeof(asked));
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(7);
    assert_null(linked_from);
    assert_string_equal(asked, "vptb");
}

// It samples what it executes, and the client continues as before.
static void test_look(void **state)
{
    (void)state;
    t->exit_id = fragment_exit_id(3, 1);
    t->stop = STOP_SAMPLE;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    assert_int_equal(t->stop, 0);
    assert_string_equal(asked, "vplntb"); // v takes it to the handler of a signal
    check_entered(7);
    assert_null(linked_from);
}

// A watched fragment is entered, and the buffer is full, or it is an escape copy.
static void test_watched(void **state)
{
    (void)state;
    t->watch = 8 * 4;
    assert_int_equal(go(STUB_WATCHED), ENTERED);
    assert_string_equal(asked, "wtb");
    check_entered(4);
    assert_null(linked_from);
}

// While the fragment is watched, its entry is the one that notes it.
static void test_entry(void **state)
{
    (void)state;
    fragment[4].watch = 9;
    t->watch = 8 * 4;
    assert_int_equal(go(STUB_WATCHED), ENTERED);
    assert_int_equal(t->host, fragment[4].hpc);
    fragment[4].flags = FRAGMENT_WATCHED;
    assert_int_equal(go(STUB_WATCHED), ENTERED);
    assert_int_equal(t->host, fragment[4].hpc + 9);
}

// An allocator's function, or where one returns to: C is told each time. A fragment that has an
// entry of its own for that is linked, unless a record is to tell by what follows how it was left.
static void test_point(void **state)
{
    (void)state;
    tb_config.data = true;
    point_at = 0x401070;
    for (u32 k = 0; k < 8; k++) {
        bool has = k & 1, side = k & 2;

        told = k & 4;
        fragment[7].flags = has ? FRAGMENT_WATCHED : 0;
        fragment[7].watch = has ? 9 : 0;
        fragment[3].exit[1].target = point_at;
        fragment[3].exit[1].side = side;
        linked_to = NULL;
        reached = 0;
        t->exit_id = fragment_exit_id(3, 1);
        assert_int_equal(go(STUB_EXIT), ENTERED);
        assert_int_equal(reached, 5);
        assert_int_equal(t->host, fragment[7].hpc); // it has been told already
        assert_ptr_equal(linked_to, has && (side || told) ? &fragment[7] : NULL);
        filled = NULL;
        t->exit_id = (u64)-1;
        t->ibl_target = point_at;
        assert_int_equal(go(STUB_EXIT), ENTERED);
        assert_ptr_equal(filled, has ? &fragment[7] : NULL);
    }
    fragment[3].exit[1].side = false;
    tb_config.data = false;
}

// The entry leads to C, which goes on in the fragment, or lets the dispatcher do all of it when
// something is to be seen to first.
static void test_point_entry(void **state)
{
    (void)state;
    tb_config.data = true;
    point_at = 0x401070;
    fragment[7].flags = FRAGMENT_WATCHED;
    fragment[7].watch = 9;
    t->watch = 8 * 7 | 6ul << 32;
    assert_int_equal(go(STUB_WATCHED), ENTERED);
    assert_string_equal(asked, "A");
    assert_int_equal(reached, 6);
    assert_int_equal(t->host, fragment[7].hpc);
    t->stop = STOP_PARK;
    memset(asked, 0, sizeof(asked));
    assert_int_equal(go(STUB_WATCHED), ENTERED);
    assert_int_equal(reached, 5);
    assert_null(strchr(asked, 'w'));
    assert_non_null(strchr(asked, 'p'));
    check_entered(7);
    tb_config.data = false;
}

// A client request is answered after its block, and that exit is never linked.
static void test_request(void **state)
{
    (void)state;
    fragment[3].flags = FRAGMENT_REQUEST;
    t->exit_id = fragment_exit_id(3, 0);
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(1);
    assert_string_equal(asked, "qtb");
    assert_null(linked_from);
}

static void test_indirect(void **state)
{
    (void)state;
    t->exit_id = (u64)-1;
    t->ibl_target = 0x401050;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(5);
    assert_ptr_equal(filled, &fragment[5]);
    assert_null(linked_from);
    assert_int_equal(header.n_ibl_miss, 1);
    filled = NULL;
    tb_config.ibl = false;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    assert_null(filled);
}

// The fragment's check of its bytes failed: it is no longer found, and a new one is made.
static void test_changed(void **state)
{
    (void)state;
    known[4] = true;
    t->exit_id = (u64)(-2 - 4);
    came = 0;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(4);
    assert_string_equal(asked, "ktb");
    assert_int_equal(came, fragment[4].pc);
    // An indirect branch went there: the next one finds the new fragment.
    tb_config.ibl = true;
    for (u32 i = 0; i < 2; i++) {
        filled = NULL;
        was_target = i;
        t->exit_id = (u64)(-2 - 4);
        assert_int_equal(go(STUB_EXIT), ENTERED);
        assert_ptr_equal(filled, i ? &fragment[4] : NULL);
    }
    was_target = tb_config.ibl = false;
}

static void test_faults(void **state)
{
    (void)state;
    t->pc = 1ul << 47; // not canonical
    fault_kills = true;
    assert_int_equal(go(STUB_COUNT), DIED);
    assert_int_equal(died_of, SIGSEGV);
    assert_int_equal(fault.code, SI_KERNEL);
    assert_int_equal(fault.trapno, 13);
    assert_true(t->rflags & FLAG_RF);
    cpu.address_bits = 57;
    fault_kills = false;
    fault_at = 1ul << 47;
    assert_int_equal(go(STUB_COUNT), ENTERED); // its handler
    check_entered(7);
    assert_int_equal(fault.code, SEGV_MAPERR);
    assert_int_equal(fault.addr, 1ul << 47);
    assert_int_equal(fault.trapno, 14);
    assert_int_equal(fault.err, 0x14); // a fetch in user mode, not present
    t->pc = 0x401fff;
    fault_at = 0x402000;
    mapped = true; // but not executable
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(fault.code, SEGV_ACCERR);
    assert_int_equal(fault.addr, 0x402000);
    assert_int_equal(fault.err, 0x15);
    mapped = false;
    t->pc = fault_at = VSYSCALL_PAGE + 0x100; // no entry
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(fault.code, SEGV_MAPERR); // a kernel without the page
    assert_int_equal(fault.addr, VSYSCALL_PAGE + 0x100);
    assert_int_equal(fault.err, 0x15);
    vsyscall_page = no_entry = true;
    t->pc = fault_at = VSYSCALL_PAGE + 0x100;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(fault.code, SI_KERNEL);
    assert_int_equal(fault.addr, 0);
}

static void test_step(void **state)
{
    (void)state;
    fragment[0].flags = fragment[1].flags = FRAGMENT_STEP;
    assert_int_equal(go(STUB_COUNT), STEPPED);
    assert_int_equal(counters[0], 1);
    assert_int_equal(t->step_counter, 0);
    assert_int_equal(header.n_stepped, 1);
    assert_int_equal(locked, 0);
    bytes = 0x80cd; // int 0x80, refused, continues behind it: nothing is linked
    t->exit_id = fragment_exit_id(3, 0);
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(2);
    assert_int_equal(counters[1], 1);
    assert_string_equal(asked, "tbtbitb");
    assert_null(linked_from);
    bytes = 0;
}

// The cache is full: the world stops, records are replayed, then everything is flushed, also the
// fragment that the thread came from.
static void test_full(void **state)
{
    (void)state;
    full = 1;
    t->exit_id = fragment_exit_id(3, 0);
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(1);
    assert_string_equal(asked, "tsdflrtb");
    assert_null(linked_from);
}

// --stress-flush=8: the cache is flushed before the 9th translation; then after an eighth more.
static void test_stress_flush(void **state)
{
    u32 flushes[40], n = 0;

    (void)state;
    header.stress_flush = 8;
    for (u32 i = 1; i <= 40; i++) {
        memset(known, 0, sizeof(known));
        u64 before = header.n_flush;

        go(STUB_COUNT);
        if (header.n_flush != before)
            flushes[n++] = i;
    }
    assert_int_equal(n, 3);
    assert_int_equal(flushes[0], 9);
    assert_int_equal(flushes[1], 9 + 11); // 8 + 8 / 8 + 1 = 10 translations in between
    assert_int_equal(flushes[2], 20 + 13);
}

static void test_syscalls(void **state)
{
    (void)state;
    t->sc_next = 0x401010;
    t->sc_post = 9;
    assert_int_equal(go(STUB_SYSCALL_SLOW), ENTERED);
    check_entered(1);
    assert_string_equal(asked, "ctb");
    assert_int_equal(header.n_slow_syscalls, 1);
    t->pc = 0;
    t->sc_next = 0x401020;
    assert_int_equal(go(STUB_SYSCALL_DONE), ENTERED);
    check_entered(2);
    assert_int_equal(t->regs[R_RCX], 0x401020);
    assert_string_equal(asked, "ctbtb");
    t->sc_post = 40; // with a post handler
    assert_int_equal(go(STUB_SYSCALL_DONE), ENTERED);
    assert_string_equal(asked, "ctbtbe");
    assert_int_equal(calls_begun, 1);
    assert_int_equal(calls_ended, 3);
    assert_int_equal(t->sc_post, 0);
    // In an escape copy the call is not made: the block's other two instructions count.
    counters[6] = 10;
    t->sc_block = 107;
    t->sc_next = 0x401032;
    assert_int_equal(go(STUB_SYSCALL_ESCAPED), ENTERED);
    assert_int_equal(t->pc, 0x401030);
    assert_int_equal(counters[6], 9);
    assert_int_equal(partial_block, 106);
    assert_int_equal(partial_insn, 2);
}

// A restarted call is counted once: the first time is subtracted, with what the block had counted
// for it. A call that was made, or that a handler returns to, is not changed.
static void test_made_anew(void **state)
{
    (void)state;
    counters[6] = 10;
    partial_block = 0;
    known[0] = true;
    t->sc_block = t->sc_restart = 107;
    t->pc = fragment[0].pc;
    t->sc_next = fragment[0].pc + 2;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(counters[6], 9);
    assert_int_equal(partial_block, 106);
    assert_int_equal(partial_insn, 2);
    assert_int_equal(t->partial_insns, 2);
    assert_int_equal(t->sc_restart, 0);
    t->pc = fragment[0].pc; // by a jump
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(counters[6], 9);
    t->sc_restart = 107;
    t->sc_next = fragment[0].pc; // it was made
    t->pc = fragment[0].pc;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_int_equal(counters[6], 9);
    assert_int_equal(t->sc_restart, 0);
    // One that a signal preceded, and one that was made.
    for (u32 made = 0; made < 2; made++) {
        counters[6] = 10;
        t->sc_block = 107;
        t->sc_next = fragment[0].pc + (made ? 0 : 2);
        signal_first = !made;
        assert_int_equal(go(STUB_SYSCALL_SLOW), ENTERED);
        assert_int_equal(counters[6], made ? 10 : 9);
        assert_int_equal(t->sc_restart, 0);
    }
}

// --dump-every-bb: called for each block, and only while instructions are counted.
static void test_each_block(void **state)
{
    (void)state;
    tb_config.each_block = true;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_string_equal(asked, "tb");
    memset(asked, 0, sizeof(asked));
    tb_config.counts = true;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    assert_string_equal(asked, "b");
    assert_int_equal(block_is, fragment[0].counter);
    tb_config.each_block = tb_config.counts = false;
}

// A call that was interrupted for a request from outside: the gate makes it again, or the
// instruction is executed again, or it fails because a handler does not restart it.
static void test_broken_off(void **state)
{
    (void)state;
    dispatch_init();
    own.again = AGAIN_RESTARTED;
    t->sc_next = 0x401010;
    next_call = CONTROL_AGAIN;
    assert_int_equal(go(STUB_COUNT), AGAIN);
    assert_string_equal(asked, "=");
    memset(asked, 0, sizeof(asked));
    next_call = CONTROL_ANEW;
    t->sc_post = 7;
    assert_int_equal(go(STUB_COUNT), ENTERED);
    check_entered(0);
    assert_int_equal(t->sc_post, 0);
    assert_string_equal(asked, "=tb");
    memset(asked, 0, sizeof(asked));
    next_call = CONTROL_OVER;
    t->regs[R_RAX] = 55; // set by control_call()
    assert_int_equal(go(STUB_COUNT), ENTERED);
    check_entered(1);
    assert_int_equal(t->regs[R_RAX], 55);
    assert_int_equal(own.again, AGAIN_NOT);
    assert_string_equal(asked, "=tb");
    memset(asked, 0, sizeof(asked));
    // a request that has just arrived is handled first
    next_call = CONTROL_AGAIN;
    if (!setjmp(back))
        reentry_control(t);
    assert_string_equal(asked, "?p=");
    // No bit of STOP_* stays set: the gate would lead back here forever.
    memset(asked, 0, sizeof(asked));
    own.again = AGAIN_INTERRUPTED;
    stop_set(t, STOP_SAMPLE);
    assert_int_equal(go(STUB_COUNT), AGAIN);
    assert_int_equal(t->stop, 0);
    assert_int_equal(own.again, AGAIN_INTERRUPTED);
}

// A call that is made in parts: control_call() is called after each part.
static void test_part_over(void **state)
{
    (void)state;
    dispatch_init();
    t->sc_next = 0x401010;
    t->regs[R_RAX] = 33;
    own.again = AGAIN_REST;
    own.cut.broken = true;
    next_call = CONTROL_AGAIN;
    assert_int_equal(go(STUB_SYSCALL_DONE), AGAIN);
    assert_string_equal(asked, "=");
    assert_int_equal(own.again, AGAIN_CUT);
    assert_int_equal(own.cut.result, 33);
    assert_false(own.cut.broken);
}

static void test_vsyscall(void **state)
{
    (void)state;
    vsyscall_page = true;
    t->exit_id = fragment_exit_id(3, 0);
    fragment[3].exit[0].target = VSYSCALL_PAGE + 0x400;
    assert_int_equal(go(STUB_EXIT), ENTERED);
    check_entered(0);
    assert_string_equal(asked, "ytb");
    assert_null(linked_from);
}

static void test_handed_down(void **state)
{
    (void)state;
    dispatch_init();
    assert_ptr_equal(reentry_run, dispatch_run);
    assert_ptr_equal(reentry_finished, dispatch_calls[STUB_SYSCALL_DONE]);
    assert_ptr_equal(dispatch_calls[STUB_VEC], helpers_vec);
    assert_ptr_equal(dispatch_calls[STUB_REP], rep_simulate);
    assert_null(dispatch_calls[STUB_ENTER]); // a mere label in the code calls no function
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_run, setup),
        cmocka_unit_test_setup(test_file, setup),
        cmocka_unit_test_setup(test_exit, setup),
        cmocka_unit_test_setup(test_look, setup),
        cmocka_unit_test_setup(test_watched, setup),
        cmocka_unit_test_setup(test_point, setup),
        cmocka_unit_test_setup(test_point_entry, setup),
        cmocka_unit_test_setup(test_entry, setup),
        cmocka_unit_test_setup(test_request, setup),
        cmocka_unit_test_setup(test_indirect, setup),
        cmocka_unit_test_setup(test_changed, setup),
        cmocka_unit_test_setup(test_faults, setup),
        cmocka_unit_test_setup(test_step, setup),
        cmocka_unit_test_setup(test_full, setup),
        cmocka_unit_test_setup(test_stress_flush, setup),
        cmocka_unit_test_setup(test_syscalls, setup),
        cmocka_unit_test_setup(test_made_anew, setup),
        cmocka_unit_test_setup(test_each_block, setup),
        cmocka_unit_test_setup(test_broken_off, setup),
        cmocka_unit_test_setup(test_part_over, setup),
        cmocka_unit_test_setup(test_vsyscall, setup),
        cmocka_unit_test_setup(test_handed_down, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
