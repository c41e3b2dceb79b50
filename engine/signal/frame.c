// SPDX-License-Identifier: MIT
// Signal frames on the client's stack (frame.h), byte for byte as Linux lays them out:
// arch/x86/kernel/signal_64.c (x64_setup_rt_frame, rt_sigreturn), arch/x86/kernel/signal.c
// (get_sigframe), arch/x86/kernel/fpu/signal.c (the state and its magic numbers).
//
// The client's FPU registers are live: no engine code touches them. So a frame is made by XSAVE
// directly to the client's stack, the handler's initial state by XRSTOR of an empty image, and
// rt_sigreturn is XRSTOR directly from the frame. Each of these instructions may fault on client
// memory: then the result is -EFAULT (frame.S).

#include "engine/signal/frame.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/spool/spooler.h"

#define FP_XSTATE_MAGIC1 0x46505853u
#define FP_XSTATE_MAGIC2 0x46505845u

#define UC_FP_XSTATE         1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4

// What rt_sigreturn may change: FIX_EFLAGS
#define FLAGS_FROM_FRAME 0x50dd5ul

#define RED_ZONE     128
#define XSTATE_FPSSE 3ul
#define XSTATE_PKRU  (1ul << 9)
#define PKRU_INIT    0x55555554

// struct _fpx_sw_bytes, the last 48 bytes of the legacy area
struct k_fpx_sw {
    u32 magic1, extended_size;
    u64 xfeatures;
    u32 xstate_size, padding[7];
};
#define FPX_SW_OFF     464
#define XSTATE_HDR_OFF 512
#define FXSAVE_SIZE    512

_Noreturn void frame_return(const struct k_ucontext *uc);
extern int frame_xsave(u64 to, u64 mask);
extern int frame_xrstor(u64 from, u64 mask);
extern int frame_fxsave(u64 to, u64 unused);
extern int frame_fxrstor(u64 from, u64 unused);
extern void frame_wrpkru(u32 value);

static u64 xfeatures;   // that the kernel saves for this process
static u32 xstate_size; // size of the area, without the trailing magic
// A header without components, and space for all of them: XRSTOR accesses the area of every
// requested component anyway (a Xeon with AMX faulted at byte 2815, where less than that was
// mapped). With AMX tiles it is 11,008 bytes.
static u8 empty_image[16384] __attribute__((aligned(64)));

void frame_init(void)
{
    static const u32 mxcsr = 0x1f80;
    static const u16 fcw = 0x37f;

    memcpy(empty_image, &fcw, sizeof(fcw));
    memcpy(empty_image + 24, &mxcsr, sizeof(mxcsr));
    // The kernel omits the AMX tiles until a process asks for them. The first frame that it makes
    // shows whether it does (frame_learn).
    xfeatures = cpu.xsave_features;
    xstate_size = cpu.xsave_size;
}

void frame_learn(const struct k_ucontext *uc)
{
    const struct k_fpx_sw *sw = (const struct k_fpx_sw *)(uc->mc.fpstate + FPX_SW_OFF);

    if (cpu.xsave && uc->mc.fpstate && sw->magic1 == FP_XSTATE_MAGIC1) {
        xfeatures = sw->xfeatures;
        xstate_size = sw->xstate_size;
    }
}

// What a frame on the client's stack contains: with --cpu the state of that processor, as long as
// the program uses no more. (The AMX tiles are in xfeatures only.)
struct shown {
    bool xsave;
    u64 features;
    u32 size;
};

static struct shown shown(void)
{
    if (cpu.shown_all)
        return (struct shown){ cpu.xsave, xfeatures, xstate_size };
    return (struct shown){ cpu.shown_features != 0, cpu.shown_features, cpu.shown_size };
}

// __on_sig_stack
static bool within_alt(const struct k_stack *alt, u64 sp)
{
    return sp > alt->sp && sp - alt->sp <= alt->size;
}

s32 frame_alt_flags(const struct k_stack *alt, u64 sp)
{
    if (!alt->size)
        return SS_DISABLE;
    if (alt->flags & SS_AUTODISARM)
        return 0;
    return within_alt(alt, sp) ? SS_ONSTACK : 0;
}

// Writes the FPU state at `to`, as copy_fpstate_to_sigframe does.
static int push_fpstate(u64 to, struct shown s)
{
    if (s.xsave) {
        static const u8 zero[64];
        struct k_fpx_sw sw = { 0 };
        u32 magic2 = FP_XSTATE_MAGIC2;
        u64 bv;

        if (clientmem_write(to + XSTATE_HDR_OFF, zero, sizeof(zero)) ||
            frame_xsave(to, s.features) || clientmem_read_u64(to + XSTATE_HDR_OFF, &bv) ||
            clientmem_write_u64(to + XSTATE_HDR_OFF, bv | XSTATE_FPSSE))
            return -EFAULT;
        sw.magic1 = FP_XSTATE_MAGIC1;
        sw.extended_size = s.size + 4;
        sw.xfeatures = s.features;
        sw.xstate_size = s.size;
        if (clientmem_write(to + FPX_SW_OFF, &sw, sizeof(sw)) ||
            clientmem_write(to + s.size, &magic2, sizeof(magic2)))
            return -EFAULT;
    } else {
        // Without xsave the kernel writes these fields, too. frame_pop() does not misread them:
        // there is no header.
        static const struct k_fpx_sw legacy = {
            .magic1 = FP_XSTATE_MAGIC1,
            .extended_size = FXSAVE_SIZE + 4,
            .xstate_size = FXSAVE_SIZE,
        };

        if (frame_fxsave(to, 0) || clientmem_write(to + FPX_SW_OFF, &legacy, sizeof(legacy)))
            return -EFAULT;
    }
    return 0;
}

static void initial_fpstate(u64 features)
{
    if (!cpu.xsave) {
        frame_fxrstor((u64)empty_image, 0);
        return;
    }
    frame_xrstor((u64)empty_image, features & ~XSTATE_PKRU);
    if (cpu.pku && (features & XSTATE_PKRU))
        frame_wrpkru(PKRU_INIT);
}

static const u8 gpr_order[16] = { 8,     9,     10,    11,    12,    13,    14,    15,
                                  R_RDI, R_RSI, R_RBP, R_RBX, R_RDX, R_RAX, R_RCX, R_RSP };

void frame_regs_from(const struct k_sigcontext *mc, u64 regs[16])
{
    for (u32 i = 0; i < 16; i++)
        regs[gpr_order[i]] = mc->gpr[i];
}

void frame_regs_to(struct k_sigcontext *mc, const u64 regs[16])
{
    for (u32 i = 0; i < 16; i++)
        mc->gpr[i] = regs[gpr_order[i]];
}

static void fill_context(struct k_ucontext *uc, const struct thread *t, u64 mask, u64 fp,
                         bool xsave)
{
    struct k_sigcontext *mc = &uc->mc;

    uc->flags = (xsave ? UC_FP_XSTATE : 0) | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
    uc->sigmask = mask;
    frame_regs_to(mc, t->regs);
    mc->ip = t->pc;
    mc->flags = t->rflags;
    mc->cs = CS_USER64;
    mc->ss = FRAME_SS;
    mc->oldmask = mask;
    mc->fpstate = fp;
}

_Noreturn void frame_become_client(struct thread *t, u64 mask)
{
    u64 fp = (u64)heap_pages(PAGE_UP(xstate_size + FXSAVE_SIZE));
    struct k_rt_sigframe *f = heap_alloc(sizeof(*f));
    struct shown all = { cpu.xsave, xfeatures, xstate_size }; // the kernel takes it back

    if (push_fpstate(fp, all))
        fp = 0;
    fill_context(&f->uc, t, mask, fp, cpu.xsave);
    f->uc.stack.flags = SS_DISABLE;
    frame_return(&f->uc);
}

int frame_push(struct thread *t, const struct k_sigaction *act, const struct signal_pending *p,
               u64 mask)
{
    struct k_rt_sigframe f;
    struct k_sigcontext *mc = &f.uc.mc;
    struct k_stack *alt = &t->sig->alt;
    u64 sp = t->regs[R_RSP] - RED_ZONE, fp;
    struct shown s = shown();
    const u64 *r = t->regs;
    bool nested = !(alt->flags & SS_AUTODISARM) && within_alt(alt, r[R_RSP]), entering = false;

    // get_sigframe
    if ((act->flags & SA_ONSTACK) && frame_alt_flags(alt, sp) == 0) {
        sp = alt->sp + alt->size;
        entering = true;
    }
    fp = (sp - (s.xsave ? s.size + 4 : FXSAVE_SIZE)) & ~63ul;
    sp = ((fp - sizeof(f)) & ~15ul) - 8;
    if ((nested || entering) && !within_alt(alt, sp))
        return -EFAULT;
    if (!(act->flags & SA_RESTORER))
        return -EFAULT;

    memset(&f, 0, sizeof(f));
    f.pretcode = act->restorer;
    fill_context(&f.uc, t, mask, fp, s.xsave);
    mc->err = p->err;
    mc->trapno = p->trapno;
    mc->cr2 = p->cr2;
    f.uc.stack = *alt;
    f.uc.stack.pad = 0;
    if (act->flags & SA_SIGINFO)
        f.info = p->info;
    // The FPU state is the last step that can fail: until here nothing of the client has changed.
    if (clientmem_write(
            sp, &f, act->flags & SA_SIGINFO ? sizeof(f) : offsetof(struct k_rt_sigframe, info)) ||
        push_fpstate(fp, s))
        return -EFAULT;

    initial_fpstate(s.xsave ? s.features : XSTATE_FPSSE);
    if (alt->flags & SS_AUTODISARM) {
        memset(alt, 0, sizeof(*alt));
        alt->flags = SS_DISABLE;
    }
    t->regs[R_RDI] = (u64)p->info.signo;
    t->regs[R_RSI] = sp + offsetof(struct k_rt_sigframe, info);
    t->regs[R_RDX] = sp + offsetof(struct k_rt_sigframe, uc);
    t->regs[R_RAX] = 0;
    t->regs[R_RSP] = sp;
    t->pc = act->handler;
    t->rflags &= ~(FLAG_DF | FLAG_RF | FLAG_TF);
    return 0;
}

// As fpu__restore_sig and restore_fpregs_from_user: the whole state when the magic numbers are
// right, else its legacy part.
static int pop_fpstate(u64 from)
{
    u64 all = cpu.shown_all ? xfeatures : cpu.shown_features | XSTATE_FPSSE;
    struct k_fpx_sw sw;
    u32 magic2;

    if (!from) {
        initial_fpstate(all);
        return 0;
    }
    if (!cpu.xsave)
        return frame_fxrstor(from, 0);
    if (clientmem_read(&sw, from + FPX_SW_OFF, sizeof(sw)))
        return -EFAULT;
    if (sw.magic1 == FP_XSTATE_MAGIC1 && sw.extended_size > sw.xstate_size &&
        sw.xstate_size >= FXSAVE_SIZE + 64 && sw.xstate_size <= xstate_size &&
        clientmem_read(&magic2, from + sw.xstate_size, sizeof(magic2)) == 0 &&
        magic2 == FP_XSTATE_MAGIC2) {
        u64 restore = sw.xfeatures & all;

        if (frame_xrstor(from, restore))
            return -EFAULT;
        if (restore != all)
            initial_fpstate(all & ~restore);
        return 0;
    }
    if (frame_fxrstor(from, 0))
        return -EFAULT;
    initial_fpstate(all & ~XSTATE_FPSSE);
    return 0;
}

enum frame_popped frame_pop(struct thread *t, u64 *mask)
{
    u64 sp = t->regs[R_RSP] - 8;
    struct k_stack *alt = &t->sig->alt;
    const struct k_sigcontext *mc;
    struct k_ucontext uc;

    if (clientmem_read(&uc, sp + offsetof(struct k_rt_sigframe, uc), sizeof(uc)))
        return FRAME_GONE;
    mc = &uc.mc;
    if ((mc->cs | 3) != CS_USER64)
        engine_die("rt_sigreturn to code segment 0x%x: only 64-bit programs can be run",
                   (u32)mc->cs);
    frame_regs_from(mc, t->regs);
    t->pc = mc->ip;
    // The trap flag stays off: a client cannot single-step itself.
    t->rflags = (t->rflags & ~FLAGS_FROM_FRAME) | (mc->flags & FLAGS_FROM_FRAME & ~FLAG_TF);
    *mask = uc.sigmask;
    if (pop_fpstate(mc->fpstate)) { // as fpu__clear_user_states
        initial_fpstate(xfeatures);
        return FRAME_BAD_FPU;
    }

    // restore_altstack: errors are ignored.
    if (!(frame_alt_flags(alt, t->regs[R_RSP]) == SS_ONSTACK)) {
        s32 mode = uc.stack.flags & ~SS_AUTODISARM;

        if (mode == SS_DISABLE) {
            alt->sp = 0;
            alt->size = 0;
            alt->flags = uc.stack.flags;
        } else if ((mode == 0 || mode == SS_ONSTACK) && uc.stack.size >= MINSIGSTKSZ) {
            *alt = uc.stack;
        }
    }
    return FRAME_POPPED;
}
