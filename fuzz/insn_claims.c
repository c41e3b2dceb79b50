// SPDX-License-Identifier: MIT
//
// insn_claims [-n TRIALS] [-s SEED]: compares what engine/x86/decode.c says of every form of every
// instruction with the processor. Each form is executed in this process, on random
// registers, flags and memory, and again with everything changed that the instruction does not read
// according to the decoder:
//
//   flags_kill   flags that it overwrites whatever they were (and does not read): the engine
//                leaves them clobbered before it
//   flags_touch  clear: it neither reads nor writes a flag
//   regs         general registers that it does not name change nothing
//   written      those that it does not name keep their value
//   refs         no byte outside of its references to memory is read, none outside of its
//                writes is changed
//
// A difference is printed; status 1 then. One TAP line on standard output. `make check-insn` starts
// it.
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { CONTEXT_RAX = REG_RAX, CONTEXT_RSP = REG_RSP, CONTEXT_RIP = REG_RIP };
#undef REG_RIP // the engine has another
#include "engine/base/cpu.h"
#include "engine/x86/decode.h"
#include "fuzz/random.h"

#include <Zydis/Zydis.h>

#define CODE  0x20000000u
#define ARENA 0x20010400u // in the middle of a page
#define SIZE  2048u

// ---- Execution ----

// Used by the assembly below.
struct state {
    uint64_t regs[16], flags; // in the order of the processor
} state_in, state_out;
uint64_t state_sp, state_code = (uint64_t)CODE;
uint8_t state_vectors[2048 + 64] __attribute__((aligned(64)));
uint8_t state_wide; // vectors of 64 bytes, and masks

int state_run(void); // 0, or the number of the signal
extern const char state_end[], state_fault[];

__asm__(
    ".text\n"
    "state_run:\n"
    "    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "    mov %rsp, state_sp(%rip)\n"
    "    fninit; fld1; fldpi; fldz\n"
    "    lea state_vectors(%rip), %rax\n"
    "    cmpb $0, state_wide(%rip); je 1f\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
    "30,31\n"
    "    vmovdqu64 64*\\n(%rax), %zmm\\n\n"
    ".endr\n"
    ".irp n, 0,1,2,3,4,5,6,7\n"
    "    kmovq 2048+8*\\n(%rax), %k\\n\n"
    ".endr\n"
    "    jmp 2f\n"
    "1:\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "    vmovdqu 64*\\n(%rax), %ymm\\n\n"
    ".endr\n"
    "2:\n"
    "    push state_in+128(%rip); popfq\n"
    "    mov state_in+0(%rip), %rax; mov state_in+8(%rip), %rcx; mov state_in+16(%rip), %rdx\n"
    "    mov state_in+24(%rip), %rbx; mov state_in+32(%rip), %rsp; mov state_in+40(%rip), %rbp\n"
    "    mov state_in+48(%rip), %rsi; mov state_in+56(%rip), %rdi; mov state_in+64(%rip), %r8\n"
    "    mov state_in+72(%rip), %r9; mov state_in+80(%rip), %r10; mov state_in+88(%rip), %r11\n"
    "    mov state_in+96(%rip), %r12; mov state_in+104(%rip), %r13; mov state_in+112(%rip), %r14\n"
    "    mov state_in+120(%rip), %r15\n"
    "    jmp *state_code(%rip)\n"
    "state_end:\n"
    "    mov %rax, state_out+0(%rip); mov %rcx, state_out+8(%rip); mov %rdx, state_out+16(%rip)\n"
    "    mov %rbx, state_out+24(%rip); mov %rsp, state_out+32(%rip); mov %rbp, state_out+40(%rip)\n"
    "    mov %rsi, state_out+48(%rip); mov %rdi, state_out+56(%rip); mov %r8, state_out+64(%rip)\n"
    "    mov %r9, state_out+72(%rip); mov %r10, state_out+80(%rip); mov %r11, state_out+88(%rip)\n"
    "    mov %r12, state_out+96(%rip); mov %r13, state_out+104(%rip)\n"
    "    mov %r14, state_out+112(%rip)\n"
    "    mov %r15, state_out+120(%rip)\n"
    "    mov state_sp(%rip), %rsp\n"
    "    pushfq; pop state_out+128(%rip)\n"
    "    xor %eax, %eax\n"
    "state_fault:\n"
    "    push $0x202; popfq\n"
    "    fninit; vzeroupper\n"
    "    push $0x1f80; ldmxcsr (%rsp); pop %rcx\n"
    "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "    ret\n");

static void on_signal(int sig, siginfo_t *info, void *context)
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)info;
    regs[CONTEXT_RAX] = sig;
    regs[CONTEXT_RSP] = (greg_t)state_sp;
    regs[CONTEXT_RIP] = (greg_t)(uintptr_t)state_fault;
}

static uint8_t *const arena = (uint8_t *)(uintptr_t)ARENA;

static void prepare(void)
{
    static char stack[65536];
    stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction sa = { 0 };
    const int prot = PROT_READ | PROT_WRITE,
              flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

    if (mmap((void *)(uintptr_t)CODE, 4096, prot | PROT_EXEC, flags, -1, 0) == MAP_FAILED ||
        mmap(arena - 1024, 4096, prot, flags, -1, 0) == MAP_FAILED) {
        perror("insn_claims: mmap");
        exit(2);
    }
    sigaltstack(&alt, NULL);
    sa.sa_sigaction = on_signal;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    sigaction(SIGFPE, &sa, NULL);
    sigaction(SIGTRAP, &sa, NULL);
}

static void rnd_fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = rnd64();

        memcpy(p + i, &v, n - i < 8 ? n - i : 8);
    }
}

// ---- Forms ----

// Instructions that change this program's own environment, or give another result each time.
static bool banned(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_STUI: // wrpkru where there are no user interrupts
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_CPUID: // differs between processors
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64: return true;
    default: return false;
    }
}

static bool writes_segment(const struct insn *in)
{
    const uint8_t *op = in->bytes + in->prefix_len;

    return op[0] == 0x8e || (op[0] == 0x0f && (op[1] == 0xa1 || op[1] == 0xa9));
}

// The `number`th form: legacy first, then VEX and EVEX. False after the last.
static bool make_form(uint8_t *b, uint32_t number)
{
    static const uint8_t pps[] = { 0, 0x66, 0xf3, 0xf2 };
    static const uint8_t rexes[] = { 0, 0x48, 0x44, 0x4d };
    uint32_t opcode, reg, pp, w, mem, map, enc;
    size_t n = 0;

    opcode = number & 255, number >>= 8;
    reg = number & 7, number >>= 3;
    pp = number & 3, number >>= 2;
    w = number & 3, number >>= 2;
    mem = number & 1, number >>= 1;
    map = number & 3, number >>= 2;
    enc = number;
    if (enc > 2)
        return false;
    *b = 0x06; // not an instruction
    if ((enc || map >= 2) && reg && opcode < 0xf0 && (opcode < 0x71 || opcode > 0x73))
        return true; // not a group
    if (enc == 0) {
        if (pp)
            b[n++] = pps[pp];
        if (w)
            b[n++] = rexes[w];
        if (map)
            b[n++] = 0x0f;
        if (map >= 2)
            b[n++] = map == 2 ? 0x38 : 0x3a;
    } else if (enc == 1) {
        b[n++] = 0xc4;
        b[n++] = (uint8_t)(0xe0 | map);
        b[n++] = (uint8_t)((w & 1) << 7 | (w & 2 ? 0x48 : 0x78) | (w & 2) << 1 | pp);
    } else {
        b[n++] = 0x62;
        b[n++] = (uint8_t)(0xf0 | map);
        b[n++] = (uint8_t)((w & 1) << 7 | (w & 2 ? 0x4c : 0x7c) | pp);
        b[n++] = (uint8_t)((w & 2) << 5 | 8);
    }
    b[n++] = (uint8_t)opcode;
    b[n++] = (uint8_t)((mem ? 0x40 : 0xc0) | reg << 3 | rnd(8));
    while (n < 15)
        b[n++] = (uint8_t)(rnd64() & (rnd(2) ? 0x3f : 0xff));
    return true;
}

// ---- What the decoder says ----

static uint64_t address_of(const struct memref *r, const uint64_t *regs)
{
    uint64_t a = (uint64_t)r->disp;

    if (r->base < 16)
        a += regs[r->base];
    if (r->flags & MEMREF_XLAT)
        a += regs[0] & 0xff;
    else if (r->index < 16)
        a += regs[r->index] * r->scale;
    if (r->flags & MEMREF_BITOFF) {
        int64_t bit = (int64_t)regs[r->bitreg];

        bit = r->bitlog == 4 ? (int16_t)bit : r->bitlog == 5 ? (int32_t)bit : bit;
        a += (uint64_t)((bit >> r->bitlog) * (1 << r->bitlog) / 8);
    }
    return r->flags & MEMREF_A32 ? (uint32_t)a : a;
}

// Bytes of the arena that are in a reference with one of these flags.
static void mark_refs(const struct insn *in, const uint64_t *regs, uint8_t flags, bool *in_ref)
{
    memset(in_ref, 0, SIZE);
    for (uint32_t i = 0; i < in->nrefs; i++) {
        uint64_t a = address_of(&in->refs[i], regs);

        if (!(in->refs[i].flags & flags))
            continue;
        for (uint32_t k = 0; k < in->refs[i].size; k++) {
            if (a + k - ARENA < SIZE)
                in_ref[a + k - ARENA] = true;
        }
    }
}

// References whose size or place the decoder leaves open: run time finds them.
static bool refs_claimed(const struct insn *in)
{
    if (in->flags & INSN_F_DYN)
        return false;
    switch ((int)in->mnemonic) {
    case ZYDIS_MNEMONIC_ENTER: // a reference for each level
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_CLZERO: return false; // documented without references
    default: return true;
    }
}

static uint64_t failures, trials, forms;

static void failed(const struct insn *in, const char *what, uint64_t a, uint64_t b)
{
    static uint32_t last_pc;
    static char last[64];
    char text[64];
    int n = 0;

    for (uint32_t i = 0; i < in->len; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x ", in->bytes[i]);
    failures++;
    if (strcmp(text, last) && last_pc++ < 40)
        printf("# %s(%s): %s: %#" PRIx64 " %#" PRIx64 "\n", text,
               ZydisMnemonicGetString((ZydisMnemonic)in->mnemonic), what, a, b);
    strcpy(last, text);
}

struct outcome {
    struct state s;
    uint8_t arena[SIZE];
    int sig;
};

static void execute(const struct state *s, const uint8_t *memory, struct outcome *o)
{
    // On a machine whose hypervisor has page tables of its own (PVM), about one vector instruction
    // in a million is reported as invalid, and is valid when it is executed again.
    for (int again = 0; again < 3; again++) {
        memset(arena - 1024, 0x55, 4096); // filler that must not be read
        memcpy(arena, memory, SIZE);
        state_in = *s;
        o->sig = state_run();
        if (o->sig != SIGILL)
            break;
    }
    o->s = state_out;
    memcpy(o->arena, arena, SIZE);
}

static bool same(const struct insn *in, const char *what, const struct outcome *a,
                 const struct outcome *b, uint32_t regs, uint64_t flags)
{
    if (a->sig != b->sig) {
        failed(in, what, (uint64_t)a->sig, (uint64_t)b->sig);
        return false;
    }
    if (a->sig)
        return true;
    for (uint32_t i = 0; i < 16; i++) {
        if ((regs & 1u << i) && a->s.regs[i] != b->s.regs[i]) {
            failed(in, what, a->s.regs[i], b->s.regs[i]);
            return false;
        }
    }
    if ((a->s.flags ^ b->s.flags) & flags) {
        failed(in, what, a->s.flags, b->s.flags);
        return false;
    }
    return true;
}

static bool same_memory(const struct insn *in, const char *what, const uint8_t *a, const uint8_t *b,
                        const bool *which)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        if ((!which || which[i]) && a[i] != b[i]) {
            failed(in, what, ARENA + i, (uint64_t)a[i] << 8 | b[i]);
            return false;
        }
    }
    return true;
}

// False when the processor does not know the instruction.
static bool try_once(const struct insn *in, int *faults)
{
    static struct outcome first, second;
    static uint8_t memory[SIZE], other[SIZE];
    static bool in_ref[SIZE];
    struct state s, changed;
    uint32_t dead = in->flags_kill & ~in->flags_read;

    for (uint32_t i = 0; i < 16; i++) {
        uint32_t k = rnd(100);

        s.regs[i] = k < 60
                        ? ARENA + 512 + (rnd(1024) & (rnd(3) ? ~7u : ~63u)) + (rnd(2) ? rnd(16) : 0)
                    : k < 85 ? rnd(2) ? rnd(80) : (uint64_t) - (int64_t)rnd(80)
                             : rnd64();
    }
    if (in->flags & INSN_F_REP)
        s.regs[1] = rnd(20);
    else if (!rnd(8))
        s.regs[1] = 0; // some instructions fault without it
    s.flags = 0x202 | (rnd64() & FLAGS_ARITH);
    rnd_fill(memory, SIZE);
    if (!rnd(4))
        memset(memory + rnd(SIZE / 2), rnd(2) ? 0 : 0xff, SIZE / 2);
    execute(&s, memory, &first);
    trials++;
    if (first.sig) {
        ++*faults;
        return first.sig != SIGILL;
    }
    // dead flags
    changed = s;
    changed.flags ^= in->flags_touch ? dead & rnd64() : FLAGS_ARITH;
    if (changed.flags != s.flags) {
        execute(&changed, memory, &second);
        if (in->flags_touch)
            same(in, "depends on flags that it kills", &first, &second, 0xffff, ~0ul);
        else if (same(in, "depends on flags", &first, &second, 0xffff, 0) &&
                 ((first.s.flags ^ s.flags) & FLAGS_ARITH))
            failed(in, "writes flags", s.flags, first.s.flags);
        same_memory(in, "stores what depends on flags", first.arena, second.arena, NULL);
    }
    // registers
    if (in->regs_known) {
        changed = s;
        for (uint32_t i = 0; i < 16; i++) {
            if (!(in->written & 1u << i) && first.s.regs[i] != s.regs[i])
                failed(in, "writes a register", s.regs[i], first.s.regs[i]);
            if (in->regs & 1u << i)
                continue;
            changed.regs[i] = rnd64();
        }
        execute(&changed, memory, &second);
        if (same(in, "depends on a register", &first, &second, in->regs, ~0ul))
            same_memory(in, "stores what depends on a register", first.arena, second.arena, NULL);
    }
    // memory
    if (!refs_claimed(in))
        return true;
    mark_refs(in, s.regs, MEMREF_WRITE, in_ref);
    for (uint32_t i = 0; i < SIZE; i++)
        in_ref[i] = !in_ref[i];
    same_memory(in, "writes outside of its references", memory, first.arena, in_ref);
    mark_refs(in, s.regs, MEMREF_READ | MEMREF_WRITE, in_ref);
    for (uint32_t i = 0; i < SIZE; i++)
        other[i] = in_ref[i] ? memory[i] : (uint8_t)~memory[i];
    execute(&s, other, &second);
    if (same(in, "reads outside of its references", &first, &second, 0xffff, ~0ul))
        same_memory(in, "stores what it read elsewhere", first.arena, second.arena, in_ref);
    return true;
}

static void try_form(const uint8_t *bytes, uint32_t n)
{
    uint8_t *code = (uint8_t *)(uintptr_t)CODE;
    struct insn in;
    int faults = 0;
    uint64_t end = (uint64_t)(uintptr_t)state_end;

    if (decode_insn(&in, CODE, bytes, 15, true) <= 0)
        return;
    if ((in.kind != INSN_PLAIN && in.kind != INSN_STRING) || banned((ZydisMnemonic)in.mnemonic) ||
        writes_segment(&in) || (in.flags & (INSN_F_SEG_FS | INSN_F_SEG_GS)))
        return;
    memcpy(code, bytes, in.len);
    memcpy(code + in.len, "\xff\x25\0\0\0", 6); // jmp *0(%rip)
    memcpy(code + in.len + 6, &end, 8);
    rnd_fill(state_vectors, sizeof(state_vectors));
    forms++;
    for (int done = 0; done - faults < (int)n && faults < 40; done++) {
        if (!try_once(&in, &faults))
            break;
    }
}

// The modrm byte of a form of 0F 01 without memory, which is another instruction for each of its
// values; or NULL.
static uint8_t *group7_registers(uint8_t *b)
{
    while (*b == 0x66 || *b == 0xf2 || *b == 0xf3 || (*b & 0xf0) == 0x40)
        b++;
    return b[0] == 0x0f && b[1] == 0x01 && b[2] >= 0xc0 ? b + 2 : NULL;
}

int main(int argc, char **argv)
{
    uint32_t n = 16;
    uint8_t bytes[32];
    int o;

    while ((o = getopt(argc, argv, "n:s:")) != -1) {
        switch (o) {
        case 'n': n = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 's': rng = strtoull(optarg, NULL, 0); break;
        default: fprintf(stderr, "usage: insn_claims [-n TRIALS] [-s SEED]\n"); return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!__builtin_cpu_supports("avx2")) {
        printf("ok 1 - the decoder's claims # SKIP this processor has no avx2\n");
        return 0;
    }
    state_wide = __builtin_cpu_supports("avx512bw") != 0;
    prepare();
    cpu_init(0, 0);
    decode_init(true);
    for (uint32_t i = 0; make_form(bytes, i); i++) {
        uint8_t *modrm = group7_registers(bytes);

        try_form(bytes, n);
        for (uint8_t rm = 1; modrm && rm < 8; rm++) {
            *modrm = (uint8_t)((*modrm & ~7) | ((*modrm + 1) & 7));
            try_form(bytes, n);
        }
    }
    printf("# %" PRIu64 " forms, %" PRIu64 " trials, %" PRIu64 " failures\n", forms, trials,
           failures);
    printf("%sok 1 - the decoder's claims\n", failures ? "not " : "");
    return failures != 0;
}
