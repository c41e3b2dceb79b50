// SPDX-License-Identifier: MIT
// The cores of threads (cores.h).
#include "engine/count/cores.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/levels.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

#define REFS  64u // of an instruction, at a time: a string instruction has more
#define AHEAD 64u

struct cores {
    struct core core;
    struct cores_insn now; // a copy: the fragment may be dropped before a branch's outcome is known
    bool open;
    struct core_exec exec;
    struct core_ref ref[REFS];
    u32 aheads;
    struct {
        u64 addr;
        u8 level;
    } ahead[AHEAD];
};

void cores_thread_init(struct thread *t)
{
    static struct cores *serial;

    if (!tb_config.core)
        return;
    if (serial) {
        t->cores = serial;
        return;
    }
    if (!t->cores)
        t->cores = heap_large(sizeof(*t->cores));
    else
        sys_madvise((u64)t->cores, PAGE_UP(sizeof(*t->cores)), MADV_DONTNEED);
    core_init(&t->cores->core, &spool->machine.core);
    if (spool->flags & SPOOL_F_SERIALIZE)
        serial = t->cores;
}

static void run(struct thread *t, struct cores *c)
{
    u64 parts[CORE_CAUSES], cycles[CORE_CAUSES], all = 0;

    core_run(&c->core, &c->exec, parts);
    core_cycles(&c->core, parts, cycles);
    for (u32 i = 0; i < CORE_CAUSES; i++) {
        if (cycles[i])
            calls_count(t, c->now.counter + 1 + i, cycles[i]);
        all += cycles[i];
    }
    if (all)
        calls_count(t, c->now.counter, all);
    for (u32 i = 0; i < c->aheads; i++)
        core_ahead(&c->core, c->ahead[i].addr, (enum core_level)c->ahead[i].level);
    c->aheads = 0;
    c->exec.refs = 0;
    c->exec.fetches = false;
}

void cores_end(struct thread *t)
{
    struct cores *c = t->cores;

    if (!c->open)
        return;
    c->open = false;
    run(t, c);
}

void cores_begin(struct thread *t, const struct cores_insn *i)
{
    struct cores *c = t->cores;

    cores_end(t);
    c->now = *i;
    c->open = true;
    c->exec.op = &c->now.op;
    c->exec.pc = i->pc;
    c->exec.ref = c->ref;
    c->exec.taken = (i->op.flags & (CORE_F_BRANCH | CORE_F_COND)) == CORE_F_BRANCH;
    c->exec.mispredicted = false;
}

static void take_ahead(struct cores *c, const struct levels_found *f)
{
    for (u32 i = 0; i < f->n && c->aheads < AHEAD; i++) {
        c->ahead[c->aheads].addr = f->ahead[i].addr;
        c->ahead[c->aheads++].level = f->ahead[i].level;
    }
}

void cores_fetch(struct thread *t, bool missed)
{
    struct cores *c = t->cores;
    const struct levels_found *f = levels_found(t);

    if (!c->open)
        return;
    c->exec.fetches = true;
    c->exec.level = missed ? f->level : CORE_AT_L1;
    c->exec.translation = missed ? f->translation : CORE_TLB_HIT;
}

// Whether a string instruction has just referred to this line.
static bool again(const struct cores *c, const struct core_ref *r)
{
    for (u32 i = c->exec.refs > 2 ? c->exec.refs - 2 : 0; i < c->exec.refs; i++) {
        const struct core_ref *o = &c->ref[i];

        if (o->addr / CORE_LINE == r->addr / CORE_LINE && o->reads == r->reads &&
            o->writes == r->writes)
            return true;
    }
    return false;
}

void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed)
{
    struct cores *c = t->cores;
    const struct levels_found *f = levels_found(t);
    struct core_ref r = { .addr = addr, .size = (u16)size };

    if (!c->open)
        return;
    r.writes =
        c->now.writes == ~0u ? (c->now.op.flags & CORE_F_STORE) != 0 : counter == c->now.writes;
    r.reads = counter != c->now.writes;
    if (missed) {
        r.level = f->level;
        r.translation = f->translation;
        take_ahead(c, f);
    }
    if (c->now.op.class == CORE_C_STRING && !missed && again(c, &r))
        return;
    if (c->exec.refs == REFS)
        run(t, c);
    c->ref[c->exec.refs++] = r;
}

void cores_branch(struct thread *t, bool taken, bool mispredicted)
{
    struct cores *c = t->cores;

    if (!c->open)
        return;
    c->exec.taken = taken;
    c->exec.mispredicted = mispredicted;
    cores_end(t);
}
