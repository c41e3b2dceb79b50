// SPDX-License-Identifier: MIT
//
// --reproducible=yes: what `quern run` pins before the engine starts. The engine pins addresses,
// the initial stack and getrandom (engine/run/stack.c, engine/syscalls/memory.c). Called by run.c.
#include "cli/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/options/options.h"

// Of its own environment the program sees only what --env names.
static const char *const environment[] = {
    "LC_ALL=C",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TZ=UTC0",
};
enum { ENVIRONMENT = sizeof(environment) / sizeof(*environment) };

enum { STACK_BYTES = 8 << 20, DESCRIPTORS = 1024 };

static void add(struct run_options *o, const char *text)
{
    size_t n = strlen(text) + 1;

    o->env_text = xrealloc(o->env_text, o->env_bytes + n);
    memcpy(o->env_text + o->env_bytes, text, n);
    o->env_bytes += n;
}

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

static void make_environment(struct run_options *o)
{
    for (size_t i = 0; i < ENVIRONMENT; i++) {
        bool given = false;

        for (size_t k = 0; k < o->env.count; k++)
            given |= same_name(environment[i], o->env.item[k]);
        if (!given)
            add(o, environment[i]);
    }
    for (size_t k = 0; k < o->env.count; k++) {
        const char *item = o->env.item[k], *value = getenv(item);

        if (*item == '=' || !*item)
            die(UTIL_USAGE, "--env=%s: must be NAME or NAME=VALUE", item);
        if (strchr(item, '=')) {
            add(o, item);
        } else if (value) {
            char *both = xasprintf("%s=%s", item, value);

            add(o, both);
            free(both);
        }
    }
}

// A soft limit; programs size tables and choose layouts by it.
static void limit(int which, const char *name, rlim_t want)
{
    struct rlimit r;

    if (getrlimit(which, &r) != 0 || r.rlim_cur == want)
        return;
    r.rlim_cur = want;
    if (r.rlim_max < want || setrlimit(which, &r) != 0)
        die(UTIL_USAGE, "--reproducible=yes: the %s cannot be %llu here: its hard limit is lower",
            name, (unsigned long long)want);
}

void run_pin(struct run_options *o)
{
    static const unsigned long action[4]; // the kernel's: SIG_DFL, flags, restorer, mask

    if (o->flags & (SPOOL_F_ASLR | SPOOL_F_RANDOM))
        die(UTIL_USAGE, "--reproducible=yes: not with --aslr=yes or --at-random=kernel");
    o->flags |= SPOOL_F_NO_VDSO | SPOOL_F_COUNTED;
    if (!o->cpu.chosen)
        run_cpu_read(&o->cpu, "--reproducible=yes: --cpu", "x86-64-v2");
    make_environment(o);
    limit(RLIMIT_STACK, "stack", STACK_BYTES);
    limit(RLIMIT_NOFILE, "number of descriptors", DESCRIPTORS);
    // Shells start background jobs with some signals ignored. The system call itself: the C library
    // reserves two signals.
    for (int sig = 1; sig < NSIG; sig++)
        syscall(SYS_rt_sigaction, sig, action, NULL, 8);
}
