// SPDX-License-Identifier: MIT
// Forms of decoded instructions (forms.h). decode.c decides what an instruction is. This file only
// finds the parts of its bytes, to recognize two instructions of one form. How the numbers of a
// form follow from displacement, immediate and address is learned by decoding it again with other
// values. What does not fit this scheme is not cached.
#include "engine/x86/forms.h"

#include "engine/base/nolibc.h"
#include "engine/x86/decode.h"

#define FORMS_MAX   7168u
#define BUCKET_BITS 14
#define READ_MAX    16u // bytes that are read: the longest instruction has 15

// The bytes without displacement and immediate, and the other parameters that matter.
struct key {
    u64 head;  // the first `len` bytes
    u8 len;    // at most 8
    u8 disp;   // bytes of displacement after them
    u8 amount; // of shifts: a shift by 0 differs
    u8 want;   // 2: with references, 1: without; 0: no form
};

// The parts of an instruction as key_of found them.
struct parts {
    struct key key;
    u8 modrm; // its offset, 0: none
    bool memory, vex, shift;
};

// Numbers of struct insn that vary within a form.
enum number { NUMBER_TARGET, NUMBER_SUM, NUMBER_REF, NUMBERS = NUMBER_REF + INSN_REFS_MAX };

// Terms that are added to a number, or'd: at most one of the immediates.
enum term {
    TERM_DISP = 1,
    TERM_PC = 2,
    TERM_IMM = 4,       // sign-extended
    TERM_MINUS = 8,     // its negative
    TERM_UNSIGNED = 12, // zero-extended
    TERMS = 16,
};

struct form {
    struct key key;
    u8 imm;           // bytes of immediate
    u8 vary;          // a bit for each number that has terms
    u8 term[NUMBERS]; // enum term
    struct insn in;   // with its numbers less their terms
} __attribute__((aligned(64)));

// Forms are consecutive, for a short program to touch few pages. A key that is seen only once is
// not learned.
static struct form forms[FORMS_MAX];
static u32 nforms;
static struct bucket {
    u16 form; // its index + 1
    u16 seen; // of the last key that was looked up here and not found
} buckets[1 << BUCKET_BITS];
static bool found;

// Opcodes with a modrm byte, a bit each; the second table is for those after 0F.
static const u32 has_modrm[2][8] = {
    { 0x0f0f0f0f, 0x0f0f0f0f, 0, 0x00000a08, 0x0000ffff, 0, 0xff0f00c3, 0xc0c00000 },
    { 0xffff200f, 0x0000ff0f, 0xffffffff, 0xff7fffff, 0xffff0000, 0xfffff838, 0xffff00ff,
      0xffffffff },
};

static u64 load(const u8 *p, u32 n)
{
    u64 v;

    __builtin_memcpy(&v, p, 8); // inline, unlike memcpy here
    return n < 8 ? v & ((1ul << n * 8) - 1) : v;
}

static s64 load_signed(const u8 *p, u32 n)
{
    s64 v = 0;
    s32 word;
    s16 half;

    switch (n) {
    case 1: return (signed char)*p;
    case 2: __builtin_memcpy(&half, p, 2); return half;
    case 4: __builtin_memcpy(&word, p, 4); return word;
    case 8: __builtin_memcpy(&v, p, 8); return v;
    default: return 0;
    }
}

// Segment, size, lock and rep prefixes: 26 2e 36 3e 64-67 f0 f2 f3.
static bool is_prefix(u8 c)
{
    static const u32 prefixes[8] = { 0, 0x40404040, 0, 0x000000f0, 0, 0, 0, 0x000d0000 };

    return prefixes[c >> 5] >> (c & 31) & 1;
}

// The end of the opcode at i, 0 for one that is not cached. *modrm: whether a modrm byte follows.
static u32 skip_opcode(const u8 *code, u32 i, struct parts *p, bool *modrm)
{
    u8 c = code[i++];

    if (is_prefix(c) || (c & 0xf0) == 0x40)
        return 0; // after REX, which then has no meaning
    switch (c) {
    case 0x0f: break;
    case 0xc4:
    case 0xc5:
        i += c == 0xc4 ? 2 : 1;
        p->vex = true;
        *modrm = code[i] != 0x77; // vzeroupper, vzeroall
        return i + 1;
    case 0x62: // EVEX scales its displacements
    case 0x8f: // XOP, and a pop
    case 0xc8: // enter has two immediates
        return 0;
    default:
        p->shift = c == 0xc0 || c == 0xc1;
        *modrm = has_modrm[0][c >> 5] >> (c & 31) & 1;
        return i;
    }
    c = code[i++];
    if (c == 0x0f || c == 0x78) // 3DNow!, whose opcode comes last; extrq has two immediates
        return 0;
    *modrm = has_modrm[1][c >> 5] >> (c & 31) & 1;
    if (c == 0x38 || c == 0x3a) {
        i++;
        *modrm = true;
    }
    return i;
}

// Finds the parts in the READ_MAX bytes at `code`; false: the instruction is not cached.
static bool find_parts(struct parts *p, const u8 *code, bool want_refs)
{
    u32 i = 0, mod, rm;
    bool modrm;

    memset(p, 0, sizeof(*p));
    while (is_prefix(code[i])) {
        if (++i > 3)
            return false;
    }
    if ((code[i] & 0xf0) == 0x40)
        i++;
    i = skip_opcode(code, i, p, &modrm);
    if (!i)
        return false;
    if (modrm) {
        p->modrm = (u8)i;
        mod = code[i] >> 6;
        rm = code[i++] & 7;
        p->memory = mod != 3;
        if (p->memory && rm == 4)
            rm = code[i++] & 7; // a SIB byte; its base 5 also means none
        if (mod == 1)
            p->key.disp = 1;
        else if (mod == 2 || (mod == 0 && rm == 5))
            p->key.disp = 4;
    }
    if (i > 8)
        return false;
    p->key.head = load(code, i);
    p->key.len = (u8)i;
    p->key.want = want_refs ? 2 : 1;
    if (p->shift)
        p->key.amount = code[i + p->key.disp];
    // may be a client request, which is longer
    return !(p->shift && p->key.head == 0xc7c148 && p->key.amount == 3);
}

static u32 key_rest(const struct key *k)
{
    return k->len | (u32)k->disp << 8 | (u32)k->amount << 16 | (u32)k->want << 24;
}

static u64 hash_of(const struct key *k)
{
    return (k->head ^ (u64)key_rest(k) << 32) * 0x9e3779b97f4a7c15ul;
}

// The bucket's form, or a new one, or when there are no more, that of another bucket.
static struct form *form_for(struct bucket *at)
{
    if (!at->form) {
        if (nforms < FORMS_MAX)
            nforms++;
        at->form = (u16)(nforms < FORMS_MAX ? nforms : 1 + (u32)(at - buckets) % FORMS_MAX);
    }
    return &forms[at->form - 1];
}

static u64 sum_of(u32 terms, u64 pc, s64 disp, s64 imm, u32 imm_size)
{
    u64 v = terms & TERM_DISP ? (u64)disp : 0;

    if (terms & TERM_PC)
        v += pc;
    switch (terms & TERM_UNSIGNED) {
    case TERM_IMM: return v + (u64)imm;
    case TERM_MINUS: return v - (u64)imm;
    case TERM_UNSIGNED:
        return v + (imm_size < 8 ? (u64)imm & ((1ul << imm_size * 8) - 1) : (u64)imm);
    default: return v;
    }
}

// NULL: the instruction has no such reference.
static u64 *number_of(struct insn *in, u32 k)
{
    switch (k) {
    case NUMBER_TARGET: return &in->target;
    case NUMBER_SUM: return (u64 *)&in->sum.add;
    default: return k - NUMBER_REF < in->nrefs ? (u64 *)&in->refs[k - NUMBER_REF].disp : NULL;
    }
}

static void make(struct insn *in, const struct form *f, u64 pc, const u8 *code)
{
    u32 len = f->in.len, at = f->key.len;
    u64 low = load(code, len), high = len > 8 ? load(code + 8, len - 8) : 0;

    memcpy(in, &f->in, offsetof(struct insn, refs) + f->in.nrefs * sizeof(in->refs[0]));
    in->pc = pc;
    __builtin_memcpy(in->bytes, &low, 8);
    __builtin_memcpy(in->bytes + 8, &high, 8);
    if (f->vary) {
        s64 disp = load_signed(code + at, f->key.disp);
        s64 imm = load_signed(code + at + f->key.disp, f->imm);

        for (u32 k = 0, vary = f->vary; vary; k++, vary >>= 1) {
            if (vary & 1)
                *number_of(in, k) += sum_of(f->term[k], pc, disp, imm, f->imm);
        }
    }
}

// ---- A new form ----

struct sample {
    u8 code[READ_MAX];
    struct insn in;
    s64 disp, imm;
};

static void read_numbers(struct sample *s, const struct parts *p, u32 imm)
{
    s->disp = load_signed(s->code + p->key.len, p->key.disp);
    s->imm = load_signed(s->code + p->key.len + p->key.disp, imm);
}

// Decodes the instruction at another address with other numbers in its bytes, of the other sign:
// this shows which of them are sign-extended.
static bool vary(struct sample *s, const struct sample *first, const struct parts *p, u32 imm)
{
    u8 *numbers = s->code + p->key.len;

    memcpy(s->code, first->code, READ_MAX);
    memset(numbers, first->disp < 0 ? 0x11 : 0x81, p->key.disp);
    if (!p->shift)
        memset(numbers + p->key.disp, first->imm < 0 ? 0x22 : 0x83, imm);
    read_numbers(s, p, imm);
    return decode_insn(&s->in, first->in.pc + (1ul << 36), s->code, READ_MAX, p->key.want == 2) ==
           first->in.len;
}

// The part that all instructions of a form share.
static void strip(struct insn *to, const struct insn *in)
{
    u64 *number;

    memset(to, 0, sizeof(*to));
    memcpy(to, in, offsetof(struct insn, refs) + in->nrefs * sizeof(in->refs[0]));
    to->pc = 0;
    memset(to->bytes, 0, sizeof(to->bytes));
    memset(&to->sum, 0, sizeof(to->sum)); // its padding may contain anything
    to->sum.to = in->sum.to;
    to->sum.from = in->sum.from;
    for (u32 k = 0; k < NUMBERS && (number = number_of(to, k)); k++)
        *number = 0;
}

// The terms of number k that leave the same remainder, stored in *rest, in both samples. TERMS
// unless exactly one set of terms does.
static u32 explain(struct sample s[2], u32 k, const struct parts *p, u32 imm, u64 *rest)
{
    u32 one = TERMS, step = p->key.disp ? 1 : 2;
    u32 end = !imm || p->shift ? TERM_IMM : imm == 8 ? TERM_UNSIGNED : TERMS;

    for (u32 terms = 0; terms < end; terms += step) {
        u64 left[2];

        for (u32 i = 0; i < 2; i++)
            left[i] = *number_of(&s[i].in, k) - sum_of(terms, s[i].in.pc, s[i].disp, s[i].imm, imm);
        if (left[0] != left[1])
            continue;
        if (one != TERMS)
            return TERMS;
        one = terms;
        *rest = left[0];
    }
    return one;
}

// Whether decode.c found the parts where find_parts did.
static bool agrees(const struct parts *p, const struct insn *in)
{
    if (in->len < p->key.len + p->key.disp || (in->flags & INSN_F_MOFFS))
        return false;
    if (p->vex && in->len != p->key.len + p->key.disp)
        return false; // some of these immediates name registers
    if (((in->flags & INSN_F_MEM) != 0) != p->memory)
        return false;
    return !p->memory || (in->modrm_off == p->modrm && in->disp_size == p->key.disp &&
                          (!in->disp_size || in->disp_off == p->key.len));
}

// Fills in f's numbers and their terms.
static bool learn(struct form *f, const struct parts *p, const struct insn *in, const u8 *code)
{
    static struct sample s[2]; // the caller holds a lock
    struct insn other;

    memcpy(s[0].code, code, READ_MAX);
    s[0].in = *in;
    read_numbers(&s[0], p, f->imm);
    if (!vary(&s[1], &s[0], p, f->imm))
        return false;
    strip(&other, &s[1].in);
    if (memcmp(&other, &f->in, sizeof(other)) != 0)
        return false;
    for (u32 k = 0; k < NUMBERS && number_of(&f->in, k); k++) {
        u32 terms = explain(s, k, p, f->imm, number_of(&f->in, k));

        if (terms == TERMS)
            return false;
        f->term[k] = (u8)terms;
        if (terms)
            f->vary |= (u8)(1u << k);
    }
    return true;
}

static void note(struct form *f, const struct parts *p, const struct insn *in, const u8 *code)
{
    u32 imm = in->len - (u32)p->key.len - p->key.disp;
    u64 *number;

    if (!agrees(p, in) || (imm & (imm - 1)) || imm > 8)
        return;
    f->key.want = 0;
    strip(&f->in, in);
    f->imm = (u8)imm;
    f->vary = 0;
    if (in->len != p->key.len) {
        if (!learn(f, p, in, code))
            return;
    } else { // without numbers nothing can depend on its address
        for (u32 k = 0; k < NUMBERS && (number = number_of(&f->in, k)); k++)
            *number = *number_of((struct insn *)in, k);
    }
    f->key = p->key;
}

int forms_decode(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs)
{
    struct parts p;
    struct bucket *at;
    u64 hash;
    u16 seen;
    int len;

    found = false;
    if (avail < READ_MAX || !find_parts(&p, code, want_refs))
        return decode_insn(in, pc, code, avail, want_refs);
    hash = hash_of(&p.key);
    at = &buckets[hash >> (64 - BUCKET_BITS)];
    if (at->form) {
        const struct form *f = &forms[at->form - 1];

        if (f->key.head == p.key.head && key_rest(&f->key) == key_rest(&p.key)) {
            make(in, f, pc, code);
            found = true;
            return in->len;
        }
    }
    len = decode_insn(in, pc, code, avail, want_refs);
    seen = (u16)(hash >> 32 | 1);
    if (len > 0 && at->seen == seen)
        note(form_for(at), &p, in, code);
    at->seen = seen;
    return len;
}

bool forms_found(void)
{
    return found;
}
