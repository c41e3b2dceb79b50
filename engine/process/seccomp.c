// SPDX-License-Identifier: MIT
// The client's seccomp filters (seccomp.h): a chain that threads share, run at the start of every
// system call. A filter with a listener is refused. If a filter's result needs a listener or a
// tracer, the call gets what the kernel returns without them: ENOSYS.

#include "engine/process/seccomp.h"

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/gate.h"
#include "engine/process/exit.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp_bpf.h"
#include "engine/signal/deliver.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define SECCOMP_MODE_STRICT 1
#define SECCOMP_MODE_FILTER 2

#define SECCOMP_SET_MODE_STRICT  0
#define SECCOMP_SET_MODE_FILTER  1
#define SECCOMP_GET_ACTION_AVAIL 2

#define SECCOMP_FILTER_FLAG_TSYNC       (1u << 0)
#define SECCOMP_FILTER_FLAG_LOG         (1u << 1)
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW  (1u << 2)
#define SECCOMP_FILTER_FLAG_TSYNC_ESRCH (1u << 4)

#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#define SECCOMP_RET_KILL_THREAD  0x00000000u
#define SECCOMP_RET_TRAP         0x00030000u
#define SECCOMP_RET_ERRNO        0x00050000u
#define SECCOMP_RET_USER_NOTIF   0x7fc00000u
#define SECCOMP_RET_TRACE        0x7ff00000u
#define SECCOMP_RET_LOG          0x7ffc0000u
#define SECCOMP_RET_ALLOW        0x7fff0000u
#define SECCOMP_RET_ACTION       0xffff0000u
#define SECCOMP_RET_DATA         0x0000ffffu

#define SYS_SECCOMP       1 // si_code
#define MAX_ERRNO         4095

struct seccomp_filter {
    struct seccomp_filter *older;
    u32 n;
    struct k_bpf_insn insns[];
};

// Filters are never freed: natively, too, they last as long as the process.
#define FILTERS(t) (thread_own(t)->seccomp_filters)
#define MODE(t)    (thread_own(t)->seccomp_mode)

void seccomp_inherit(struct thread *t, const struct thread *parent)
{
    const struct thread_own *from = thread_own(parent);

    FILTERS(t) = from->seccomp_filters;
    MODE(t) = from->seccomp_mode;
    thread_own(t)->seccomp_in_kernel = from->seccomp_in_kernel;
}

long seccomp_mode(struct thread *t)
{
    return (long)MODE(t);
}

static long set_strict(struct thread *t)
{
    if (MODE(t) == SECCOMP_MODE_FILTER)
        return -EINVAL;
    MODE(t) = SECCOMP_MODE_STRICT;
    gate_make_all_slow();
    return 0;
}

static bool may_install(void)
{
    u32 header[2] = { 0x20080522, 0 }; // _LINUX_CAPABILITY_VERSION_3
    u32 caps[6] = { 0 };

    if (sys_call5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return true;
    return sys_call2(SYS_capget, (u64)header, (u64)caps) == 0 &&
           (caps[0] & 1u << 21); // CAP_SYS_ADMIN
}

// seccomp_attach_filter: the length of all programs of a path, as converted by the kernel.
static bool chain_has_room(struct thread *t, const struct seccomp_filter *f)
{
    u64 total = seccomp_kernel_length(f->insns, f->n);

    for (const struct seccomp_filter *g = FILTERS(t); g; g = g->older)
        total += seccomp_kernel_length(g->insns, g->n) + 4;
    return total <= 32768; // MAX_INSNS_PER_PATH
}

static u64 filter_bytes(u32 insns)
{
    return sizeof(struct seccomp_filter) + insns * sizeof(struct k_bpf_insn);
}

// Reads and validates a filter of the client. 0 or -errno.
static long read_filter(u64 prog_addr, struct seccomp_filter **out)
{
    struct {
        u16 len;
        u16 pad[3];
        u64 insns;
    } prog;
    struct seccomp_filter *f;
    long ret = 0;

    if (clientmem_read(&prog, prog_addr, sizeof(prog)))
        return -EFAULT;
    if (prog.len == 0 || prog.len > SECCOMP_MAX_INSNS)
        return -EINVAL;
    if (!may_install())
        return -EACCES;
    f = heap_alloc(filter_bytes(prog.len));
    f->n = prog.len;
    if (clientmem_read(f->insns, prog.insns, prog.len * sizeof(struct k_bpf_insn)))
        ret = -EFAULT;
    else if (seccomp_validate(f->insns, f->n))
        ret = -EINVAL;
    if (ret)
        heap_free(f, filter_bytes(prog.len));
    else
        *out = f;
    return ret;
}

// SECCOMP_FILTER_FLAG_TSYNC: all threads of the process get t's filters. The kernel refuses if a
// thread's filters have diverged, which the shared chains show. Returns that thread, or NULL.
static struct thread *sync_threads(struct thread *t)
{
    struct seccomp_filter *f = FILTERS(t);
    struct thread *u;

    threads_lock();
    for (u = threads_first(); u; u = u->next)
        if (u != t && thread_own(u)->tgid == thread_own(t)->tgid && FILTERS(u) != f->older &&
            FILTERS(u))
            break;
    if (u) {
        FILTERS(t) = f->older;
        if (!f->older)
            MODE(t) = 0;
    } else {
        for (struct thread *v = threads_first(); v; v = v->next)
            if (thread_own(v)->tgid == thread_own(t)->tgid) {
                FILTERS(v) = f;
                MODE(v) = SECCOMP_MODE_FILTER;
            }
    }
    threads_unlock();
    return u;
}

static long set_filter(struct thread *t, u32 flags, u64 prog_addr)
{
    struct seccomp_filter *f;
    struct thread *other;
    long ret;

    if (flags & ~(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG |
                  SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC_ESRCH))
        return -EINVAL; // a listener is one of them
    if (MODE(t) == SECCOMP_MODE_STRICT)
        return -EINVAL;
    ret = read_filter(prog_addr, &f);
    if (ret)
        return ret;
    if (!chain_has_room(t, f)) {
        heap_free(f, filter_bytes(f->n));
        return -ENOMEM;
    }
    f->older = FILTERS(t);
    FILTERS(t) = f;
    MODE(t) = SECCOMP_MODE_FILTER;
    if ((flags & SECCOMP_FILTER_FLAG_TSYNC) && (other = sync_threads(t))) {
        ret = flags & SECCOMP_FILTER_FLAG_TSYNC_ESRCH ? -ESRCH : other->tid;
        heap_free(f, filter_bytes(f->n));
        return ret;
    }
    gate_make_all_slow();
    return 0;
}

static long action_avail(u64 addr)
{
    u32 action;

    if (clientmem_read_u32(addr, &action))
        return -EFAULT;
    switch (action) {
    case SECCOMP_RET_KILL_PROCESS:
    case SECCOMP_RET_KILL_THREAD:
    case SECCOMP_RET_TRAP:
    case SECCOMP_RET_ERRNO:
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_LOG:
    case SECCOMP_RET_ALLOW: return 0;
    default: return -EOPNOTSUPP;
    }
}

long seccomp_sys(struct thread *t, u32 op, u32 flags, u64 args)
{
    switch (op) {
    case SECCOMP_SET_MODE_STRICT: return flags || args ? -EINVAL : set_strict(t);
    case SECCOMP_SET_MODE_FILTER: return set_filter(t, flags, args);
    case SECCOMP_GET_ACTION_AVAIL: return flags ? -EINVAL : action_avail(args);
    default: return sys_call3(SYS_seccomp, op, flags, args);
    }
}

long seccomp_sys_prctl(struct thread *t, u64 mode, u64 filter)
{
    switch (mode) {
    case SECCOMP_MODE_STRICT: return set_strict(t);
    case SECCOMP_MODE_FILTER: return set_filter(t, 0, filter);
    default: return -EINVAL;
    }
}

// ---- At an exec ----

// The oldest filter of the chain that is newer than `known` (NULL: of all); NULL if there is none.
static struct seccomp_filter *next_of(struct thread *t, const struct seccomp_filter *known)
{
    struct seccomp_filter *f = FILTERS(t);

    if (f == known)
        return NULL;
    while (f->older != known)
        f = f->older;
    return f;
}

long seccomp_hand_over(struct thread *t, int spool_fd)
{
    struct spool_header h;

    if (!FILTERS(t))
        return 0;
    if (sys_pread(spool_fd, &h, sizeof(h), 0) != sizeof(h))
        return -EIO;
    h.s_seccomp = (u32)h.text_used;
    for (struct seccomp_filter *f = NULL; (f = next_of(t, f)) != NULL;) {
        u64 n = f->n, bytes = n * sizeof(f->insns[0]);

        if (h.text_used + sizeof(n) + bytes > SPOOL_TEXT_SIZE)
            return -E2BIG;
        if (sys_pwrite(spool_fd, &n, sizeof(n), SPOOL_TEXT_OFF + h.text_used) != sizeof(n) ||
            sys_pwrite(spool_fd, f->insns, bytes, SPOOL_TEXT_OFF + h.text_used + sizeof(n)) !=
                (long)bytes)
            return -EIO;
        h.text_used += sizeof(n) + bytes;
    }
    h.seccomp_bytes = (u32)h.text_used - h.s_seccomp;
    return sys_pwrite(spool_fd, &h, sizeof(h), 0) == sizeof(h) ? 0 : -EIO;
}

void seccomp_take_over(struct thread *t)
{
    const char *from = spooler_string(spool->s_seccomp), *end = from + spool->seccomp_bytes;

    while (from < end) {
        struct seccomp_filter *f;
        u64 n, bytes;

        memcpy(&n, from, sizeof(n));
        bytes = n * sizeof(f->insns[0]);
        f = heap_alloc(sizeof(*f) + bytes);
        f->n = (u32)n;
        memcpy(f->insns, from + sizeof(n), bytes);
        f->older = FILTERS(t);
        FILTERS(t) = f;
        MODE(t) = SECCOMP_MODE_FILTER;
        from += sizeof(n) + bytes;
    }
    if (!FILTERS(t))
        return;
    gate_make_all_slow();
    rights_judged();
}

// "If the call comes from the engine's image: allow", before the client's program.
static const struct k_bpf_insn but_engine[] = {
    { 0x20, 0, 0, offsetof(struct k_seccomp_data, pc) + 4 }, // load the upper half of the address
    { 0x15, 0, 3, ENGINE_BASE >> 32 },                     // equal?
    { 0x20, 0, 0, offsetof(struct k_seccomp_data, pc) },
    { 0x35, 1, 0, ENGINE_HEAP_BASE & 0xffffffff }, // not below the image's end?
    { 0x06, 0, 0, SECCOMP_RET_ALLOW },
};
_Static_assert((ENGINE_BASE & 0xffffffff) == 0 && ENGINE_BASE >> 32 == ENGINE_HEAP_BASE >> 32,
               "but_engine[] compares halves");

// No heap: the thread may be a vfork child.
bool seccomp_to_kernel(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    struct k_bpf_insn *whole;
    struct seccomp_filter *f;
    bool taken = true;

    if (own->seccomp_in_kernel == FILTERS(t))
        return true;
    const u64 bytes = PAGE_UP(SECCOMP_MAX_INSNS * sizeof(*whole));
    long got = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(got))
        return false;
    whole = (struct k_bpf_insn *)got;
    while (taken && (f = next_of(t, own->seccomp_in_kernel)) != NULL) {
        u32 first = f->n + ARRAY_SIZE(but_engine) <= SECCOMP_MAX_INSNS ? ARRAY_SIZE(but_engine) : 0;
        struct {
            u64 len, insns;
        } prog = { f->n + first, (u64)whole };

        memcpy(whole, but_engine, first * sizeof(*whole));
        memcpy(whole + first, f->insns, f->n * sizeof(*whole));
        taken = sys_call5(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (u64)&prog, 0, 0) == 0;
        if (taken)
            own->seccomp_in_kernel = f;
    }
    sys_munmap((u64)whole, bytes);
    return taken;
}

// The filters' most severe result, by the kernel's order: the smallest action as a signed number
// wins.
static u32 judge(const struct seccomp_filter *f, const struct k_seccomp_data *d)
{
    u32 worst = SECCOMP_RET_ALLOW;

    for (; f; f = f->older) {
        u32 ret = seccomp_run(f->insns, f->n, d);

        if ((s32)(ret & SECCOMP_RET_ACTION) < (s32)(worst & SECCOMP_RET_ACTION))
            worst = ret;
    }
    return worst;
}

bool seccomp_check(struct thread *t)
{
    const u64 *r = t->regs;
    struct k_seccomp_data d = { (s32)r[R_RAX],
                              AUDIT_ARCH_X86_64,
                              t->sc_next,
                              { r[R_RDI], r[R_RSI], r[R_RDX], r[10], r[8], r[9] } };
    u32 ret, data;

    if (MODE(t) == SECCOMP_MODE_STRICT) {
        if (d.nr == SYS_read || d.nr == SYS_write || d.nr == SYS_exit || d.nr == SYS_rt_sigreturn)
            return true;
        exit_process(t, SPOOL_END_SIGNAL, SIGKILL);
    }
    if (!FILTERS(t))
        return true;
    ret = judge(FILTERS(t), &d);
    data = ret & SECCOMP_RET_DATA;
    switch (ret & SECCOMP_RET_ACTION) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG: return true;
    case SECCOMP_RET_ERRNO:
        gate_return(t, -(long)(data > MAX_ERRNO ? MAX_ERRNO : data));
        return false;
    case SECCOMP_RET_TRAP: {
        s32 nr = d.nr;

        // The number stays in rax; the handler may put a result there.
        gate_return(t, (long)r[R_RAX]);
        deliver_fault(t, SIGSYS, SYS_SECCOMP, t->sc_next, t->sig->last_trapno, t->sig->last_err);
        memcpy(&t->sig->sync.info.raw[8], &nr, 4);
        memcpy(&t->sig->sync.info.raw[12], &d.arch, 4);
        t->sig->sync.info.err = (s32)data;
        return false;
    }
    case SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_TRACE: gate_return(t, -ENOSYS); return false;
    case SECCOMP_RET_KILL_THREAD:
        if (threads_count() > 1)
            exit_thread(t, SIGSYS);
        exit_process(t, SPOOL_END_SIGNAL, SIGSYS);
    default: exit_process(t, SPOOL_END_SIGNAL, SIGSYS);
    }
}
