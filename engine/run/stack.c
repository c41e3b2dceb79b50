// SPDX-License-Identifier: MIT
// The initial stack (stack.h). The kernel puts strings at the top and everything else below them:
// the stack pointer, and each string's offset in its cache line and page, depend on the lengths of
// all strings. Here the stack pointer is a constant, and above it are
//
//   argc, argv, envp and the auxiliary vector      ARRAYS bytes at most
//   16 random bytes, the platform, AT_EXECFN,      a page for each string, or as many as it
//   the arguments, the environment                 needs; its offset there by its number
//   the environment again, consecutive             for /proc/self/environ
//
// in a mapping of its own, since the kernel's may be anywhere; that one stays, and
// /proc/self/cmdline shows the arguments there. Where there are too many strings for a page each,
// the last ones are packed.
#include "engine/run/stack.h"

#include "engine/base/cpu.h"
#include "engine/base/layout.h"
#include "engine/base/nolibc.h"

#define ARRAYS  0x10000ul
#define STRINGS (PINNED_STACK / 4) // bytes that surely fit, with each string in its own pages
#define LARGE   5                  // where more are needed, the stack is five times as large

// The kernel's entries depend on its version; the client gets these, always in this order.
static const u64 kept[] = { AT_HWCAP,  AT_PAGESZ, AT_CLKTCK,   AT_PHDR,       AT_PHENT,
                            AT_PHNUM,  AT_BASE,   AT_FLAGS,    AT_ENTRY,      AT_UID,
                            AT_EUID,   AT_GID,    AT_EGID,     AT_SECURE,     AT_RANDOM,
                            AT_HWCAP2, AT_EXECFN, AT_PLATFORM, AT_MINSIGSTKSZ };

// Where strings go.
struct cursor {
    u64 at, dense; // the next page; from `dense` on strings are packed
    u32 number;
};

static u64 string_end(const char *s)
{
    return (u64)s + strlen(s) + 1;
}

void stack_ranges(struct start *s)
{
    char **last = s->envp;

    s->arg_start = (u64)s->argv[0];
    s->arg_end = s->env_start = s->env_end = string_end(s->argv[s->argc - 1]);
    if (!*last)
        return;
    while (last[1])
        last++;
    s->env_start = (u64)s->envp[0];
    s->env_end = string_end(*last);
}

// Strings that begin at the same offset of their pages would all map to the same set of D1.
static char *put(struct cursor *p, const void *text, u64 len)
{
    u64 offset = p->at < p->dense ? (p->number++ & 15) * 64 : 0;
    char *at = (char *)p->at + offset;

    memcpy(at, text, len);
    p->at += p->at < p->dense ? PAGE_UP(offset + len) : (len + 63) & ~63ul;
    return at;
}

static char *put_string(struct cursor *p, const char *text)
{
    return put(p, text, strlen(text) + 1);
}

static u64 total(char *const *v, u64 *count)
{
    u64 bytes = 0;

    for (*count = 0; v[*count]; ++*count)
        bytes += (strlen(v[*count]) + 64) & ~63ul;
    return bytes;
}

static u64 value_of(const struct start *s, u64 type)
{
    for (const struct k_auxv *a = s->auxv; a->type != AT_NULL; a++)
        if (a->type == type)
            return a->value;
    return type == AT_PAGESZ ? PAGE_SIZE : type == AT_CLKTCK ? 100 : 0;
}

// Maps the stack down to `from`; it grows down from there. False: another mapping is there.
static bool make(u64 from)
{
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE;

    return sys_mmap(from, PINNED_STACK_END - from, PROT_READ | PROT_WRITE, (int)flags, -1, 0) ==
           (long)from;
}

static u64 *put_auxv(struct start *s, u64 *to, struct cursor *p)
{
    static const char none[16];
    const char *random = (const char *)value_of(s, AT_RANDOM);
    const char *platform = (const char *)value_of(s, AT_PLATFORM);
    struct k_auxv *v = (struct k_auxv *)to;

    for (u32 i = 0; i < ARRAY_SIZE(kept); i++)
        v[i] = (struct k_auxv){ kept[i], value_of(s, kept[i]) };
    s->auxv = v;
    s->auxv_count = ARRAY_SIZE(kept) + 1;
    v[ARRAY_SIZE(kept)] = (struct k_auxv){ AT_NULL, 0 };
    for (u32 i = 0; i < ARRAY_SIZE(kept); i++) {
        if (v[i].type == AT_RANDOM)
            v[i].value = (u64)put(p, random ? random : none, 16);
        if (v[i].type == AT_PLATFORM)
            v[i].value = (u64)put_string(p, platform ? platform : "x86_64");
    }
    return (u64 *)(v + s->auxv_count);
}

// The number of strings in the given environment, which replaces the kernel's.
static u64 count_given(const char *env, u64 bytes)
{
    u64 n = 0;

    for (u64 i = 0; i < bytes; i += strlen(env + i) + 1)
        n++;
    return n;
}

static void put_env(struct start *s, char **envp, const char *env, u64 bytes, struct cursor *p)
{
    u64 n = 0;

    if (!env) {
        for (; s->envp[n]; n++)
            envp[n] = put_string(p, s->envp[n]);
    } else {
        for (u64 i = 0; i < bytes; i += strlen(env + i) + 1)
            envp[n++] = put_string(p, env + i);
        p->at = PAGE_UP(p->at);
        s->env_start = (u64)memcpy((void *)p->at, env, bytes);
        s->env_end = s->env_start + bytes;
    }
    envp[n] = NULL;
    s->envp = envp;
}

void stack_pin(struct start *s, const char *env, u64 bytes)
{
    u64 argc, envc, arrays, size = PINNED_STACK;
    u64 need = total(s->argv, &argc) + total(s->envp, &envc) + PAGE_SIZE;
    struct cursor p = { 0 };
    char **argv;

    if (env) {
        envc = count_given(env, bytes);
        need += bytes * 2 + envc * 64;
    }
    arrays = (1 + argc + 1 + envc + 1) * 8 + (ARRAY_SIZE(kept) + 1) * 16;
    if (arrays > ARRAYS || need > STRINGS)
        size *= LARGE;
    arrays = arrays > ARRAYS ? PAGE_UP(arrays) : ARRAYS;
    u64 *sp = (u64 *)(PINNED_STACK_END - size);

    // A page for each string, as long as all the others still fit behind it.
    p.at = (u64)sp + arrays;
    p.dense = PINNED_STACK_END - PAGE_UP(need) - 4 * PAGE_SIZE;
    if (p.dense < p.at || !make((u64)sp - PAGE_SIZE)) {
        engine_msg("warning: the stack cannot have a fixed address: %s",
                   p.dense < p.at ? "arguments and environment are too long"
                                  : "its addresses are already mapped");
        return;
    }
    argv = (char **)(sp + 1);
    sp[0] = argc;
    // The auxiliary vector's strings come first: their number is the same in every run.
    put_auxv(s, (u64 *)(argv + argc + 1 + envc + 1), &p);
    s->execfn = put_string(&p, s->execfn);
    for (u64 i = 0; i < argc; i++)
        argv[i] = put_string(&p, s->argv[i]);
    argv[argc] = NULL;
    s->argv = argv;
    put_env(s, argv + argc + 1, env, bytes, &p);
    s->sp = sp;
}
