// SPDX-License-Identifier: MIT
// The dispatcher. Translated code comes here through the stubs when a link, an indirect target or a
// translation is missing, when a system call needs C, and when a signal or a stop is pending. Every
// function here starts at the top of the thread's engine stack and ends by entering translated
// code.
#include "engine/run/dispatch.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/helpers.h"
#include "engine/count/reftrace.h"
#include "engine/count/rep.h"
#include "engine/objects/alloc.h"
#include "engine/process/exit.h"
#include "engine/process/pretranslate.h"
#include "engine/replay/recordbuf.h"
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

#define INT80   0x80cd // int $0x80, as bytes in memory
#define TRAP_GP 13
#define TRAP_PF 14

// --stress-flush: the first flush comes after so many translations; the interval then grows by an
// eighth of that number each time. With a constant interval, a program with a larger working set
// translates nearly every block that it enters (cc1: 1.1 million translations instead of 20,000),
// and a soak test takes hours without testing anything else.
static u64 translations_since_flush;
static u64 flush_period;

static bool flush_is_due(void)
{
    if (!spool->stress_flush)
        return false;
    if (!flush_period)
        flush_period = spool->stress_flush;
    if (++translations_since_flush <= flush_period)
        return false;
    translations_since_flush = 0;
    flush_period += spool->stress_flush / 8 + 1;
    return true;
}

static void flush(struct thread *t)
{
    stopworld_stop(t);
    recordbuf_drain_all(0);
    tcache_flush_all();
    recordbuf_flush();
    stopworld_resume(t);
}

static bool is_canonical(u64 addr)
{
    u32 unused = 64 - cpu.address_bits;

    return (u64)((s64)(addr << unused) >> unused) == addr;
}

// The code at t->pc cannot be fetched; addr, the si_addr, is its first byte that cannot be read.
static void fetch_fault(struct thread *t, u64 addr)
{
    struct vmmap_info m;
    // for addresses of its own half the kernel reports "present"
    bool mapped = vmmap_find(addr, &m), kernel = addr >= cpu_task_size();

    t->rflags |= FLAG_RF;
    if ((addr & ~0xffful) == VSYSCALL_PAGE && vmmap_has_vsyscall()) {
        deliver_fault(t, SIGSEGV, SI_KERNEL, 0, TRAP_PF, 0x15);
        return;
    }
    deliver_fault(t, SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, addr, TRAP_PF,
                  mapped || kernel ? 0x15 : 0x14);
}

// The record of a mapping is made with its first block. If its file is not held, because it cannot
// be, it is looked up for that: here and not in the translator, whose lock other threads wait for.
// As in keep_files() of syscalls/memory.c the first look is what takes long.
// False: there is none to look up. True: the translation lock has been given up meanwhile.
static __attribute__((noinline)) bool look_up_file(struct thread *t)
{
    struct vmmap_file file;
    struct modules_found found;

    if (!vmmap_unseen_file(t->pc, &file))
        return false;
    tcache_unlock();
    stopworld_blocking_begin(t);
    modules_look(&file.line, file.deleted, &found);
    modules_looked(&found);
    stopworld_blocking_end(t);
    vmmap_spool_map(t->pc);
    return true;
}

// The fragment for t->pc, with the translation lock held. NULL when a signal is to be delivered
// first.
static struct fragment *find(struct thread *t)
{
    struct fragment *f;
    u64 fault = TRANSLATE_NO_FAULT;
    bool looked = false;

    if (UNLIKELY(!is_canonical(t->pc))) {
        // DIFFERS: natively the branch itself raises this, here rip is what it branched to
        t->rflags |= FLAG_RF;
        deliver_fault(t, SIGSEGV, SI_KERNEL, 0, TRAP_GP, 0);
        return NULL;
    }
    for (u32 tries = 0;; tries++) {
        tcache_lock();
        f = tcache_lookup(t->pc);
        if (f)
            return f; // with the lock
        if (tb_config.counts && !looked) {
            looked = true;
            if (look_up_file(t))
                continue;
        }
        if (flush_is_due()) {
            tcache_unlock();
            flush(t);
            tcache_lock();
        }
        f = translate_block(t->pc, &fault);
        if (f) {
            pretranslate_note_block(f);
            return f;
        }
        tcache_unlock();
        if (fault != TRANSLATE_NO_FAULT) {
            fetch_fault(t, fault);
            return NULL;
        }
        if (tries > 4)
            engine_die("no space for a block in an empty code cache (--cache-size is too small)");
        flush(t);
    }
}

// Executes one instruction that cannot be translated. Returns when it is done or was refused.
static void step(struct thread *t)
{
    u16 insn = 0;

    if (emulate_insn(t))
        return;
    clientmem_read(&insn, t->pc, sizeof(insn));
    if (insn == INT80) {
        int80_call(t);
        return;
    }
    spool->n_stepped++;
    handler_step(t);
}

// The system call at the end of the block is not made now: the block is left before it.
static void uncount_call(struct thread *t, u64 sc_block)
{
    const struct spool_block *b;
    u32 block = (u32)sc_block - 1;

    if (!sc_block)
        return;
    b = spooler_block_at(block);
    t->counters[b->counter]--;
    reftrace_take_back(t, b->map, t->sc_next - 2);
    calls_corrected(t, block, b->insns, -1);
    calls_corrected(t, block, b->insns - 1u, 1);
    if (b->insns > 1)
        spooler_partial(block, b->insns - 1u, t->slot, t->calls_context);
    t->partial_insns += b->insns - 1u;
}

// The system call was made or abandoned, or it is to be restarted (a signal came first, or the
// kernel would restart it). However often it starts, it is counted once.
static void count_call_once(struct thread *t)
{
    if (t->pc == t->sc_next - 2)
        uncount_call(t, t->sc_restart);
    t->sc_restart = 0;
}

static void sample(struct thread *t)
{
    if (!(t->stop & STOP_SAMPLE))
        return;
    stop_clear(t, STOP_SAMPLE);
    superblock_sample(t);
    sampler_next(t);
}

// Whether an exit may lead to f, which begins at a point of an allocator: what C does there comes
// between two records.
static bool may_reach(const struct fragment *from, u32 exit, const struct fragment *f)
{
    return f->watch && (from->exit[exit].side || recordbuf_is_told(from->log));
}

static _Noreturn void run(struct thread *t, struct fragment *from, u32 exit, bool indirect)
{
    if (t->sc_restart)
        count_call_once(t);
    for (;;) {
        struct fragment *f;
        u32 point;

        t->state = TS_ENGINE;
        if (UNLIKELY(t->stop)) {
            control_see(t);
            int dies_of = deliver_pending(t);

            if (dies_of)
                exit_process(t, SPOOL_END_SIGNAL, dies_of);
            stopworld_park(t);
            sample(t);
            from = NULL;
            indirect = false;
            if (t->stop)
                continue;
        }
        if (UNLIKELY((t->pc & ~0xffful) == VSYSCALL_PAGE) && vmmap_has_vsyscall() &&
            vsyscall_try(t)) {
            from = NULL;
            indirect = false;
            continue;
        }
        if (UNLIKELY(tb_config.each_block) && tb_config.counts)
            control_block(t);
        u64 flushes = spool->n_flush;

        f = find(t);
        if (spool->n_flush != flushes)
            from = NULL; // the flush that made space for f has dropped it
        if (!f) {
            from = NULL;
            indirect = false;
            continue;
        }
        if (UNLIKELY(tb_config.each_block) && tb_config.counts)
            control_block_is(t, f->counter);
        if (UNLIKELY(f->flags & FRAGMENT_STEP)) {
            u32 counter = f->counter, block = f->block;

            tcache_unlock();
            t->counters[counter]++;
            if (!(f->flags & FRAGMENT_UNCOUNTED))
                reftrace_step(t, spooler_block_at(block)->map, t->pc);
            t->step_counter = counter;
            t->step_block = block;
            calls_corrected(t, block, 1, 1);
            step(t);
            from = NULL;
            indirect = false;
            continue;
        }
        point = UNLIKELY(tb_config.data) ? alloc_point(f->pc) : 0;
        if (from && tb_config.chain && !(from->flags & FRAGMENT_DEAD) &&
            from->exit[exit].target == f->pc && (!point || may_reach(from, exit, f))) {
            links_make(from, exit, f);
            if (!point)
                pretranslate_note_link(from, exit);
        }
        if (indirect && tb_config.ibl && (!point || f->watch)) {
            ibl_fill(t, f);
            if (!point)
                pretranslate_note_target(f);
        }
        t->host = point ? f->hpc : fragment_entry(f);
        tcache_unlock();
        if (UNLIKELY(point)) {
            alloc_reached(t, point);
            if (f->flags & FRAGMENT_DEAD) { // a superblock that went on to where the call returns
                from = NULL;
                indirect = false;
                continue;
            }
        }
        t->rflags &= ~FLAG_TF;
        recordbuf_enter(t);
        reentry_enter(stubs_at(STUB_ENTER));
    }
}

static _Noreturn void dispatch_syscall_finished(struct thread *t);

// A system call that was interrupted for a request from outside, or done in part, continues or is
// finished.
static _Noreturn void restart_call(struct thread *t)
{
    // A bit that stays set would keep the call out of the gate.
    while (t->stop & (STOP_PARK | STOP_YIELD | STOP_CONTROL | STOP_SAMPLE)) {
        control_see(t);
        stopworld_park(t);
        sample(t);
    }
    switch (control_call(t)) {
    case CONTROL_AGAIN: gate_restart(t);
    case CONTROL_ANEW: t->sc_post = 0; run(t, NULL, 0, false);
    case CONTROL_OVER: break;
    }
    dispatch_syscall_finished(t);
}

_Noreturn void dispatch_run(struct thread *t)
{
    if (UNLIKELY(thread_own(t)->again))
        restart_call(t);
    t->sc_post = 0;
    run(t, NULL, 0, false);
}

static _Noreturn void dispatch_control(struct thread *t)
{
    stop_set(t, STOP_CONTROL);
    restart_call(t);
}

static _Noreturn void dispatch_exit(struct thread *t)
{
    s64 id = (s64)t->exit_id;
    struct fragment *f;
    u32 k;

    spool->n_dispatch++;
    if (id == -1) {
        spool->n_ibl_miss++;
        t->pc = t->ibl_target;
        run(t, NULL, 0, true);
    }
    if (id < -1) {
        // the check of the block's code failed
        f = tcache_by_index((u32)(-2 - id));
        t->pc = f->pc;
        recordbuf_continue_at(t, t->pc);
        tcache_lock();
        tcache_changed(f, tb_config.chain);
        tcache_unlock();
        run(t, NULL, 0, ibl_has(t, f));
    }
    k = (u32)id % FRAGMENT_EXITS_MAX;
    f = tcache_by_index((u32)id / FRAGMENT_EXITS_MAX);
    if (!f->exit[k].side)
        recordbuf_edge(t, f->log, k);
    t->pc = f->exit[k].target;
    if (UNLIKELY(f->flags & FRAGMENT_REQUEST)) {
        requests_answer(t);
        run(t, NULL, 0, false);
    }
    run(t, f, k, false);
}

// The buffer of entered blocks is full, or an escape copy is left; or the fragment begins at a
// point of an allocator.
static _Noreturn void dispatch_watched(struct thread *t)
{
    struct fragment *f = tcache_by_index((u32)t->watch / 8);

    t->pc = f->pc;
    if (!tb_config.data)
        superblock_watched(t);
    if (!tb_config.data || UNLIKELY(t->stop)) // at the point again afterwards
        run(t, NULL, 0, false);
    alloc_reached(t, (u32)(t->watch >> 32));
    if (f->flags & FRAGMENT_DEAD)
        run(t, NULL, 0, false);
    t->host = f->hpc;
    reentry_enter(stubs_at(STUB_ENTER));
}

static _Noreturn void dispatch_syscall(struct thread *t)
{
    t->pc = t->sc_next - 2;
    t->sc_restart = t->sc_block;
    t->sc_post = 0;
    spool->n_slow_syscalls++;
    systime_begin(t);
    syscalls_slow(t);
    if (t->pc == t->sc_next)
        systime_end(t);
    dispatch_run(t);
}

static _Noreturn void dispatch_syscall_finished(struct thread *t)
{
    struct thread_own *own = thread_own(t);

    if (UNLIKELY(own->again == AGAIN_REST)) { // one part of it is done
        own->again = AGAIN_CUT;
        own->cut.broken = false;
        own->cut.result = (s64)t->regs[R_RAX];
        restart_call(t);
    }
    if (UNLIKELY(syscalls_woken_in_vain(t))) {
        own->again = AGAIN_RESTARTED;
        t->regs[R_RAX] = t->sc_post - 1;
        t->pc = t->sc_next - 2;
        restart_call(t);
    }
    own->again = AGAIN_NOT;
    t->regs[R_RCX] = t->sc_next;
    t->pc = t->sc_next;
    if (t->sc_post) {
        syscalls_done(t);
        t->sc_post = 0;
    }
    systime_end(t);
    dispatch_run(t);
}

// The escape copy of a block that ends in a system call: the call is not made, and its instruction
// is not counted.
static _Noreturn void dispatch_syscall_escaped(struct thread *t)
{
    t->pc = t->sc_next - 2;
    uncount_call(t, t->sc_block);
    dispatch_run(t);
}

const void *const dispatch_calls[STUB_COUNT] = {
#define STUB(NAME, label, kind, function) [STUB_##NAME] = function,
#include "engine/codecache/stubs.def"
#undef STUB
};

void dispatch_init(void)
{
    reentry_run = dispatch_run;
    reentry_finished = dispatch_syscall_finished;
    reentry_control = dispatch_control;
}
