// SPDX-License-Identifier: MIT
// The client's table of signal handlers. The kernel's dispositions are a pure function of the
// client's (kernel_action below): the engine's entry where the client has a handler, where the
// default would end the process (the profile has to be written) and for the synchronous signals;
// exactly the client's disposition elsewhere: ignored signals, stops and SIGCHLD's default
// interrupt only what they interrupt natively.

#include "engine/signal/action.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"

#define DEFAULT_IGNORE (SIGBIT(SIGCHLD) | SIGBIT(SIGCONT) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH))
#define DEFAULT_STOP   (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))

static u64 entry, restorer;

void action_init(u64 handler, u64 handler_restorer)
{
    entry = handler;
    restorer = handler_restorer;
}

enum action_default action_default(int sig)
{
    if (SIGBIT(sig) & DEFAULT_IGNORE)
        return SIGNAL_DEFAULT_IGNORE;
    if (SIGBIT(sig) & DEFAULT_STOP)
        return SIGNAL_DEFAULT_STOP;
    return SIGNAL_DEFAULT_END;
}

static void kernel_action(int sig, const struct k_sigaction *client, struct k_sigaction *kernel)
{
    bool ours = (SIGBIT(sig) & SIGNAL_NEVER_BLOCKED) != 0;

    memset(kernel, 0, sizeof(*kernel));
    kernel->restorer = restorer;
    kernel->flags = SA_RESTORER | (client->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
    if (!ours && (client->handler == SIG_IGN ||
                  (client->handler == SIG_DFL && action_default(sig) != SIGNAL_DEFAULT_END))) {
        kernel->handler = client->handler;
        return;
    }
    kernel->handler = entry;
    kernel->flags |= SA_SIGINFO | SA_ONSTACK;
    // The kernel decides whether an interrupted call is restarted, by the client's own flag.
    if (client->handler == SIG_DFL || client->handler == SIG_IGN)
        kernel->flags |= SA_RESTART;
    else
        kernel->flags |= client->flags & SA_RESTART;
    // Engine code in a handler may fault, too; such a signal that was sent is put aside
    // (handler.c).
    if (ours)
        kernel->flags |= SA_NODEFER;
    kernel->mask = SIGNAL_ALL_BUT_SYNC;
}

static void apply(int sig, const struct k_sigaction *client)
{
    struct k_sigaction kernel;

    kernel_action(sig, client, &kernel);
    sys_sigaction(sig, &kernel, NULL);
}

struct signal_table *action_table_inherited(void)
{
    struct signal_table *table = heap_alloc(sizeof(*table));

    table->refs = 1;
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction old;

        if (sig == SIGKILL || sig == SIGSTOP || sys_sigaction(sig, NULL, &old))
            continue;
        // Only "ignore" survives an exec.
        table->act[sig].handler = old.handler == SIG_IGN ? SIG_IGN : SIG_DFL;
        apply(sig, &table->act[sig]);
    }
    return table;
}

struct signal_table *action_table_copy(struct signal_table *from)
{
    struct signal_table *table = heap_alloc(sizeof(*table));

    lock_take(&from->lock);
    memcpy(table->act, from->act, sizeof(table->act));
    lock_drop(&from->lock);
    table->refs = 1;
    return table;
}

void action_table_drop(struct signal_table *table)
{
    if (__atomic_sub_fetch(&table->refs, 1, __ATOMIC_ACQ_REL) == 0)
        heap_free(table, sizeof(*table));
}

void action_table_reset(struct signal_table *table)
{
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction *act = &table->act[sig];

        if (act->handler != SIG_IGN)
            memset(act, 0, sizeof(*act));
        if (sig != SIGKILL && sig != SIGSTOP)
            apply(sig, act); // the kernel has reset all of them, also the engine's
    }
}

void action_table_ignore(struct signal_table *table, bool ignore)
{
    lock_take(&table->lock);
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction ign = { SIG_IGN, 0, 0, 0 };

        if (!(SIGBIT(sig) & SIGNAL_NEVER_BLOCKED) || table->act[sig].handler != SIG_IGN)
            continue;
        if (ignore)
            sys_sigaction(sig, &ign, NULL);
        else
            apply(sig, &table->act[sig]);
    }
    lock_drop(&table->lock);
}

struct k_sigaction action_table_get(struct signal_state *s, int sig)
{
    struct k_sigaction act;

    lock_take(&s->table->lock);
    act = s->table->act[sig];
    if ((act.flags & SA_RESETHAND) && act.handler != SIG_DFL && act.handler != SIG_IGN) {
        s->table->act[sig].handler = SIG_DFL;
        apply(sig, &s->table->act[sig]);
    }
    lock_drop(&s->table->lock);
    return act;
}

void action_change(struct signal_table *table, int sig, const struct k_sigaction *act,
                   struct k_sigaction *before)
{
    lock_take(&table->lock);
    *before = table->act[sig];
    if (act) {
        table->act[sig] = *act;
        apply(sig, act);
    }
    lock_drop(&table->lock);
}
