// SPDX-License-Identifier: MIT
//
// `quern trace --to=champsim FILE`: one thread in the format that ChampSim reads
// (inc/trace_instruction.h there, struct input_instr): 64 bytes an instruction, little endian: its
// address, whether it is a branch, whether that is taken, 2 written and 4 read registers, 2 written
// and 4 read addresses; 0: none. What does not fit is left out.
//
// ChampSim knows three registers by number and tells the kinds of branches by them: which of
// instruction pointer, stack pointer and flags a branch reads and writes, and whether it reads
// another one. All others need only differ.
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/trace/trace.h"
#include "cli/trace/trace_code.h"
#include "share/table.h"

enum { WRITTEN = 2, READ = 4, BYTES = 64 };

// The numbers of ChampSim, and from FIRST on ours.
enum {
    SP = 6,
    FLAGS = 25,
    IP = 26,
    FIRST = 64,
    VECTORS = FIRST + 16,
    MASKS = VECTORS + 32,
    X87 = MASKS + 8,
    OTHER = 255
};

enum branch { NO_BRANCH, UNCONDITIONAL, CONDITIONAL };

// What is the same each time the instruction is executed.
struct decoded {
    uint64_t pc;
    uint32_t len;
    bool known;     // its bytes are
    uint8_t branch; // enum branch
    uint8_t written[WRITTEN], read[READ];
};

struct champsim {
    FILE *to;
    struct trace_code code;
    ZydisDecoder decoder;
    struct decoded *insn;
    size_t insns, capacity;
    struct table index;
    uint64_t unknown; // executions of instructions whose bytes are not known
    // The instruction that is not written yet.
    bool pending, indirect, outcome, taken;
    size_t at; // its number in `insn`
    uint64_t pc;
    uint32_t len;
    uint64_t write[WRITTEN], reads[READ];
};

// ---- Decoding ----

static uint8_t register_number(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    int id;

    if (whole == ZYDIS_REGISTER_NONE)
        whole = reg;
    id = ZydisRegisterGetId(whole);

    switch ((int)ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR64: return id == 4 ? SP : (uint8_t)(FIRST + id);
    case ZYDIS_REGCLASS_ZMM: return (uint8_t)(VECTORS + id);
    case ZYDIS_REGCLASS_MASK: return id ? (uint8_t)(MASKS + id) : 0; // k0: no mask
    case ZYDIS_REGCLASS_FLAGS: return FLAGS;
    case ZYDIS_REGCLASS_IP: return IP;
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX: return (uint8_t)(X87 + (id & 7));
    default: return 0;
    }
}

static void put(uint8_t *list, size_t size, uint8_t number)
{
    for (size_t i = 0; i < size && number; i++) {
        if (!list[i])
            list[i] = number;
        if (list[i] == number)
            return;
    }
}

// The instruction pointer is a branch's: a system call that writes it is none.
static void put_operand(struct decoded *d, const ZydisDecodedOperand *o)
{
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        put(d->read, READ,
            register_number(o->mem.base == ZYDIS_REGISTER_RIP ? ZYDIS_REGISTER_NONE : o->mem.base));
        put(d->read, READ, register_number(o->mem.index));
    } else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && register_number(o->reg.value) != IP) {
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            put(d->read, READ, register_number(o->reg.value));
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            put(d->written, WRITTEN, register_number(o->reg.value));
    }
}

// The registers by which ChampSim knows the kind. An indirect branch reads another one, even if its
// target is at a fixed address.
static void put_branch(struct decoded *d, bool call, bool ret, bool indirect)
{
    put(d->written, WRITTEN, IP);
    if (call || ret) {
        put(d->written, WRITTEN, SP);
        put(d->read, READ, SP);
    }
    if (call || d->branch == CONDITIONAL)
        put(d->read, READ, IP);
    if (indirect)
        put(d->read, READ, OTHER);
}

static void decode(struct champsim *c, struct decoded *d)
{
    const uint8_t *bytes = trace_code_at(&c->code, d->pc, d->len);
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction in;
    bool indirect = false, call, ret;

    if (!bytes || ZYAN_FAILED(ZydisDecoderDecodeFull(&c->decoder, bytes, d->len, &in, operands)) ||
        in.length != d->len)
        return;
    d->known = true;
    call = in.meta.category == ZYDIS_CATEGORY_CALL;
    ret = in.meta.category == ZYDIS_CATEGORY_RET;
    if (in.meta.category == ZYDIS_CATEGORY_COND_BR) {
        d->branch = CONDITIONAL;
    } else if (in.meta.category == ZYDIS_CATEGORY_UNCOND_BR || call) {
        d->branch = UNCONDITIONAL;
        indirect = operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
    } else if (ret) {
        d->branch = UNCONDITIONAL;
    }
    if (d->branch)
        put_branch(d, call, ret, indirect);
    // What a call or a return does to memory and stack pointer makes it no other kind.
    for (unsigned i = 0; i < in.operand_count && !call && !ret; i++)
        put_operand(d, &operands[i]);
}

// ---- Instructions by address ----

static uint64_t hash(uint64_t pc)
{
    return pc * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static void index_all(struct champsim *c)
{
    size_t slots = table_slots(c->capacity);

    free(c->index.slot);
    c->index = table_over(xcalloc(slots, sizeof(uint32_t)), slots);
    for (size_t i = 0; i < c->insns; i++)
        table_add(&c->index, hash(c->insn[i].pc), (uint32_t)i);
}

static void grow(struct champsim *c)
{
    c->capacity = c->capacity ? 2 * c->capacity : 1024;
    c->insn = xrealloc(c->insn, c->capacity * sizeof(*c->insn));
    index_all(c);
}

static size_t number_of(struct champsim *c, uint64_t pc, uint32_t len)
{
    size_t at;

    if (c->insns == c->capacity)
        grow(c);
    for (at = table_first(&c->index, hash(pc)); table_used(&c->index, at);
         at = table_next(&c->index, at)) {
        uint32_t n = table_number(&c->index, at);

        if (c->insn[n].pc == pc && c->insn[n].len == len)
            return n;
    }
    if (c->insns == UINT32_MAX - 1)
        die(UTIL_USAGE, "the trace has too many different instructions");
    table_put(&c->index, at, (uint32_t)c->insns);
    c->insn[c->insns] = (struct decoded){ .pc = pc, .len = len };
    decode(c, &c->insn[c->insns]);
    return c->insns++;
}

// Other code may be at known addresses now.
static void map(struct champsim *c, const struct trace_reader *r, const struct trace_item *item)
{
    trace_code_add(&c->code, item->pc, item->addr, r->offset, r->path);
    c->insns = 0;
    if (c->capacity)
        index_all(c);
}

// ---- Writing ----

static void put_u64(uint8_t *to, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(n >> (8 * i));
}

// next: where the thread goes on.
static void flush(struct champsim *c, uint64_t next)
{
    uint8_t out[BYTES] = { 0 };
    struct decoded *d;

    if (!c->pending)
        return;
    d = &c->insn[c->at];
    c->pending = false;
    c->unknown += !d->known;
    if (!d->known && !d->branch && (c->indirect || c->outcome)) {
        d->branch = c->indirect ? UNCONDITIONAL : CONDITIONAL;
        put_branch(d, false, false, c->indirect);
        if (c->outcome)
            put(d->read, READ, FLAGS);
    }
    put_u64(out, d->pc);
    out[8] = d->branch != NO_BRANCH;
    out[9] = d->branch == UNCONDITIONAL ||
             (d->branch == CONDITIONAL && (c->outcome ? c->taken : next != d->pc + d->len));
    memcpy(out + 10, d->written, WRITTEN);
    memcpy(out + 12, d->read, READ);
    for (int i = 0; i < WRITTEN; i++)
        put_u64(out + 16 + 8 * i, c->write[i]);
    for (int i = 0; i < READ; i++)
        put_u64(out + 32 + 8 * i, c->reads[i]);
    fwrite(out, 1, sizeof(out), c->to);
}

static void begin(struct champsim *c, uint64_t pc, uint32_t len)
{
    flush(c, pc);
    c->at = number_of(c, pc, len);
    c->pc = pc;
    c->len = len;
    c->pending = true;
    c->indirect = c->outcome = false;
    memset(c->write, 0, sizeof(c->write));
    memset(c->reads, 0, sizeof(c->reads));
}

static void put_address(uint64_t *list, size_t size, uint64_t addr)
{
    for (size_t i = 0; i < size; i++)
        if (!list[i]) {
            list[i] = addr;
            return;
        }
}

static void take(struct champsim *c, const struct trace_item *i)
{
    switch ((int)i->what) {
    case TRACE_FETCH: begin(c, i->pc, i->size); break;
    case TRACE_AGAIN: begin(c, i->pc, c->pc == i->pc ? c->len : 1); break;
    case TRACE_MODIFY:
        put_address(c->reads, READ, i->addr); // and then
    /* fallthrough */
    case TRACE_WRITE: put_address(c->write, WRITTEN, i->addr); break;
    case TRACE_READ: put_address(c->reads, READ, i->addr); break;
    case TRACE_COND:
        c->outcome = true;
        c->taken = i->taken;
        break;
    case TRACE_INDIRECT: c->indirect = true; break;
    case TRACE_TAKE_BACK:
        if (c->pending && c->pc == i->pc)
            c->pending = false;
        break;
    default: break;
    }
}

void trace_champsim(const struct trace_options *o, const char *path, struct trace_reader *r,
                    FILE *to)
{
    uint32_t thread = o->thread ? (uint32_t)o->thread : 1;
    struct champsim c = { .to = to };
    struct trace_item item;
    bool others = false;
    int ret;

    ZydisDecoderInit(&c.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while ((ret = trace_read_next(r, &item)) > 0) {
        if (item.what == TRACE_MAP) {
            flush(&c, 0);
            map(&c, r, &item);
        } else if (item.thread == thread && !item.undone) {
            take(&c, &item);
        }
        others |= item.thread && item.thread != thread;
    }
    if (ret < 0)
        trace_remark_die(path, r);
    flush(&c, 0);
    trace_remark_end(path, r);
    if (others && !o->thread)
        warn("%s: this format has one thread; the others are left out (--thread=N)", path);
    if (c.unknown)
        warn("%s: the files with the code of %llu instructions are not there; their registers are "
             "left out",
             path, (unsigned long long)c.unknown);
    free(c.insn);
    free(c.index.slot);
    trace_code_free(&c.code);
}
