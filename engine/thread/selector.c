// SPDX-License-Identifier: MIT
// The client's %gs (selector.h).
#include "engine/thread/selector.h"

#include "engine/base/cpu.h"
#include "engine/base/sys.h"

extern int selector_load(u32 selector); // selector.S: 0, or -EFAULT where there is no such segment

static u16 get(void)
{
    u32 now;

    __asm__ volatile("mov %%gs, %0" : "=r"(now));
    return (u16)now;
}

static u64 get_base(void)
{
    u64 base = 0;

    sys_call2(SYS_arch_prctl, ARCH_GET_GS, (u64)&base);
    return base;
}

// Unlike wrgsbase, the system call refuses addresses of the kernel's half, and it sets the selector
// to 0.
static void set_base(u64 base)
{
    if (cpu.fsgsbase)
        __asm__ volatile("wrgsbase %0" : : "r"(base));
    else
        sys_call2(SYS_arch_prctl, ARCH_SET_GS, base);
}

void selector_client(struct thread *t)
{
    // Its descriptor may be gone: natively the kernel notices when it resumes the thread.
    if (t->client_gs && selector_load(t->client_gs))
        t->client_gs = 0;
    // Without wrgsbase, the base of a selector is always that of its descriptor.
    if (cpu.fsgsbase || !t->client_gs)
        set_base(t->client_gs_base);
}

void selector_engine(struct thread *t)
{
    u16 now = get();

    t->client_gs_base = get_base();
    // The return from an interrupt turns 1, 2 and 3 into 0.
    if (now > 3 || t->client_gs > 3)
        t->client_gs = now;
    if (now)
        selector_load(0);
    set_base((u64)t);
}

bool selector_set(struct thread *t, u16 selector)
{
    bool is;

    selector_client(t);
    is = selector_load(selector) == 0;
    if (is) {
        t->client_gs_base = get_base();
        t->client_gs = selector;
    }
    selector_load(0);
    set_base((u64)t);
    return is;
}

void selector_reload(struct thread *t)
{
    bool gone = selector_load(t->client_gs) != 0;

    t->client_gs_base = gone ? 0 : get_base();
    if (gone)
        t->client_gs = 0;
    selector_load(0);
    set_base((u64)t);
}
