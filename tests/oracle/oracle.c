// SPDX-License-Identifier: MIT
//
// oracle [-v] [-o FILE] [-n MAX] PROGRAM [ARGS...]: runs a program one instruction at a time by
// ptrace and writes how often each address was executed: lines `hexaddr count module+hexoffset`
// (offset in the file) sorted by address, the form of `quern run --dump-counts=FILE`. Slow (about
// 11,000 steps a second on a virtual machine) and without a decoder in common with the engine: the
// engine's counts are compared with it. tests/oracle/run starts it.
//
// It gives the program the environment of Quern: no address-space randomisation, no rseq (ENOSYS,
// and its two entries taken out of the auxiliary vector), and with -v no vDSO (--vdso=no). A `rep`
// instruction counts once however often it repeats. An instruction that faults is not counted, for
// it did not execute; the system call that ends the program is. One thread only; it does not
// support a program that receives SIGTRAP from its own int3.
//
// Exit status: the program's, 128 + signal when it was killed, 125 when the oracle itself failed.
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define AUXV_RSEQ_FEATURE_SIZE 27
#define AUXV_RSEQ_ALIGN        28
#define EFLAGS_TF              0x100u
#define OWN_FAILURE            125

static pid_t child;

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
    if (child > 0)
        kill(child, SIGKILL);
    exit(OWN_FAILURE);
}

// ---- Counts: a hash table of addresses, open, power of two ----

struct count {
    uint64_t addr, n;
};

static struct count *table;
static size_t table_size, table_used;

static struct count *table_slot(uint64_t addr)
{
    size_t i = (addr * 0x9e3779b97f4a7c15u) >> 20 & (table_size - 1);

    while (table[i].n && table[i].addr != addr)
        i = (i + 1) & (table_size - 1);
    return &table[i];
}

static void table_resize(size_t size)
{
    struct count *old = table;
    size_t old_size = table_size;

    table = calloc(size, sizeof(*table));
    if (!table)
        fail("counts");
    table_size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].n)
            *table_slot(old[i].addr) = old[i];
    free(old);
}

// True when the address is new.
static bool count_one(uint64_t addr)
{
    struct count *c;

    if (table_used * 2 >= table_size)
        table_resize(table_size ? table_size * 2 : 1 << 14);
    c = table_slot(addr);
    c->addr = addr;
    table_used += !c->n;
    return !c->n++;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct count *)a)->addr, y = ((const struct count *)b)->addr;

    return x < y ? -1 : x > y;
}

// ---- Modules: the mappings at the first execution of one of their addresses ----

struct module {
    uint64_t start, end, offset; // an executable range and where in its file it begins
    char name[256];
};

static struct module modules[256];
static size_t module_count;

static const struct module *module_find(uint64_t addr)
{
    for (size_t i = 0; i < module_count; i++)
        if (addr >= modules[i].start && addr < modules[i].end)
            return &modules[i];
    return NULL;
}

// Adds the range of addr as /proc/PID/maps shows it now.
static void module_learn(uint64_t addr)
{
    struct module m;
    char path[64], line[512];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
    f = fopen(path, "r");
    if (!f)
        fail(path);
    while (fgets(line, sizeof(line), f)) {
        strcpy(m.name, "[anonymous]");
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %255[^\n]", &m.start,
                   &m.end, &m.offset, m.name) < 3)
            continue;
        if (addr >= m.start && addr < m.end && module_count < sizeof(modules) / sizeof(modules[0]))
            modules[module_count++] = m;
    }
    fclose(f);
}

// ---- The program's registers, memory and auxiliary vector ----

static struct user_regs_struct get_regs(void)
{
    struct user_regs_struct r;

    if (ptrace(PTRACE_GETREGS, child, NULL, &r) < 0)
        fail("registers of the program");
    return r;
}

static void set_regs(struct user_regs_struct *r)
{
    if (ptrace(PTRACE_SETREGS, child, NULL, r) < 0)
        fail("registers of the program");
}

// As many of n bytes as are mapped.
static size_t read_memory(uint64_t addr, void *to, size_t n)
{
    size_t first = 4096 - addr % 4096; // one range for each page: the second may be absent
    struct iovec local = { to, n };
    struct iovec remote[2] = { { (void *)(uintptr_t)addr, n }, { NULL, 0 } };
    ssize_t got;

    if (first < n) {
        remote[0].iov_len = first;
        remote[1].iov_base = (void *)(uintptr_t)(addr + first);
        remote[1].iov_len = n - first;
    }
    got = process_vm_readv(child, &local, 1, remote, 2, 0);
    return got < 0 ? 0 : (size_t)got;
}

static uint64_t peek(uint64_t addr)
{
    uint64_t v;

    if (read_memory(addr, &v, sizeof(v)) != sizeof(v))
        fail("memory of the program");
    return v;
}

static void poke(uint64_t addr, uint64_t v)
{
    if (ptrace(PTRACE_POKEDATA, child, (void *)(uintptr_t)addr, (void *)(uintptr_t)v) < 0)
        fail("memory of the program");
}

// The stack of a new program: argc, argv, 0, environment, 0, pairs of the auxiliary vector.
static void edit_auxv(bool no_vdso)
{
    uint64_t from = get_regs().rsp, to, type;

    from += 8 * (peek(from) + 2);
    while (peek(from))
        from += 8;
    to = from += 8;
    do {
        type = peek(from);
        if (type != AUXV_RSEQ_FEATURE_SIZE && type != AUXV_RSEQ_ALIGN &&
            !(no_vdso && type == AT_SYSINFO_EHDR)) {
            poke(to, type);
            poke(to + 8, peek(from + 8));
            to += 16;
        }
        from += 16;
    } while (type != AT_NULL);
}

static bool is_caught(int sig)
{
    char path[64], line[256];
    uint64_t mask = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
    f = fopen(path, "r");
    if (!f)
        fail(path);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "SigCgt: %" SCNx64, &mask) == 1)
            break;
    fclose(f);
    return mask >> (sig - 1) & 1;
}

// ---- The few instructions that stepping changes ----

struct insn {
    bool rep_string, syscall, pushf, cpuid;
    unsigned mov_ss; // its length: the instruction after it is not trapped
};

static unsigned modrm_length(const uint8_t *p)
{
    unsigned mod = p[0] >> 6, rm = p[0] & 7, n = 1;

    if (mod == 3)
        return 1;
    if (rm == 4) {
        n = 2;
        if (mod == 0 && (p[1] & 7) == 5)
            n += 4;
    }
    if (mod == 0 && rm == 5)
        n += 4;
    return n + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static struct insn classify(uint64_t pc)
{
    struct insn in = { false, false, false, false, 0 };
    uint8_t code[32] = { 0 };
    const uint8_t *p = code;
    bool rep = false;

    read_memory(pc, code, 15);
    for (; p < code + 14; p++) {
        if (*p == 0xf2 || *p == 0xf3)
            rep = true;
        else if (!memchr("\x66\x67\x2e\x3e\x26\x36\x64\x65", *p, 8))
            break;
    }
    if ((*p & 0xf0) == 0x40) // REX
        p++;
    if ((*p >= 0xa4 && *p <= 0xa7) || (*p >= 0xaa && *p <= 0xaf))
        in.rep_string = rep;
    in.syscall = p[0] == 0x0f && p[1] == 0x05;
    in.pushf = *p == 0x9c;
    in.cpuid = p[0] == 0x0f && p[1] == 0xa2;
    if (*p == 0x8e && (p[1] >> 3 & 7) == 2)
        in.mov_ss = (unsigned)(p + 1 - code) + modrm_length(p + 1);
    return in;
}

// ---- The loop ----

static void executed(uint64_t pc)
{
    if (count_one(pc) && !module_find(pc))
        module_learn(pc);
}

// Steps until the program ends; its wait status.
static int run(uint64_t max)
{
    struct user_regs_struct r = get_regs();
    uint64_t steps = 0;
    int inject = 0; // the signal to deliver with the next step
    bool handler =
        false; // which stops at the first instruction of its handler, before executing it
    bool repeating = false; // r.rip is a rep instruction that has been counted and goes on

    for (;;) {
        uint64_t pc = r.rip;
        struct insn in = classify(pc);
        int status;

        // The engine's answer to rseq: not supported.
        if (in.syscall && r.rax == SYS_rseq && !inject) {
            executed(pc);
            r.rax = (uint64_t)-ENOSYS;
            r.rcx = r.rip = pc + 2;
            r.r11 = r.eflags & ~(uint64_t)EFLAGS_TF;
            set_regs(&r);
            continue;
        }
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(intptr_t)inject) < 0)
            fail("single step");
        if (waitpid(child, &status, 0) < 0)
            fail("wait");
        if (++steps > max) {
            errno = E2BIG;
            fail("more steps than allowed (-n)");
        }
        if (!WIFSTOPPED(status)) {
            if (in.syscall && !handler)
                executed(pc);
            return status;
        }
        inject = 0;
        r = get_regs();
        if (WSTOPSIG(status) != SIGTRAP) {
            inject = WSTOPSIG(status);
            handler = is_caught(inject);
            continue;
        }
        if (handler) {
            handler = false;
            continue;
        }
        if (!repeating)
            executed(pc);
        repeating = in.rep_string && r.rip == pc;
        if (in.mov_ss)
            executed(pc + in.mov_ss);
        // Some hypervisors execute it and continue without the trap, which then comes after the
        // next one.
        if (in.cpuid && r.rip != pc + 2)
            executed(pc + 2);
        // The trap flag is ours, the program must not see it.
        if (in.pushf)
            poke(r.rsp, peek(r.rsp) & ~(uint64_t)EFLAGS_TF);
        if (in.syscall && r.rip == pc + 2) {
            r.r11 &= ~(uint64_t)EFLAGS_TF;
            set_regs(&r);
        }
    }
}

static void print(FILE *out)
{
    size_t n = 0;

    for (size_t i = 0; i < table_size; i++)
        if (table[i].n)
            table[n++] = table[i];
    qsort(table, n, sizeof(*table), by_address);
    for (size_t i = 0; i < n; i++) {
        const struct module *m = module_find(table[i].addr);

        fprintf(out, "%" PRIx64 " %" PRIu64, table[i].addr, table[i].n);
        if (m)
            fprintf(out, " %s+%" PRIx64, m->name, m->offset + (table[i].addr - m->start));
        fputc('\n', out);
    }
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    uint64_t max = UINT64_MAX;
    FILE *out = stdout;
    bool no_vdso = false;
    int option, status;

    while ((option = getopt(argc, argv, "+o:n:v")) != -1) {
        if (option == 'o')
            file = optarg;
        else if (option == 'n')
            max = strtoull(optarg, NULL, 10);
        else if (option == 'v')
            no_vdso = true;
        else
            optind = argc;
    }
    if (optind >= argc) {
        fprintf(stderr, "usage: oracle [-v] [-o FILE] [-n MAX-STEPS] PROGRAM [ARGS...]\n");
        return OWN_FAILURE;
    }
    // Opened now and closed over exec: the program gets no descriptor of ours.
    if (file && !(out = fopen(file, "we")))
        fail(file);

    child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[optind], argv + optind);
        fail(argv[optind]);
    }
    if (waitpid(child, &status, 0) < 0)
        fail("wait");
    if (!WIFSTOPPED(status))
        return OWN_FAILURE; // exec failed, and has said so
    edit_auxv(no_vdso);
    status = run(max);
    print(out);
    if (fflush(out) || ferror(out))
        fail(file ? file : "standard output");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
