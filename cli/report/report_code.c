// SPDX-License-Identifier: MIT
//
// Instructions of the functions that ran, from their object files: Zydis disassembles them in both
// syntaxes. Instructions between the first and the last one that ran, but did not run themselves,
// are listed, too, up to a limit.
#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/objdump.h"
#include "cli/files/trust.h"
#include "cli/report/report.h"
#include "report/core/model.h"
#include "report/core/texts.h"
#include "share/table.h"

enum {
    GAP = 64,          // bytes without counts that are still listed
    INSNS_MAX = 40000, // of one function: a section must fit a block
    SECTION_AIM_CODE = 1 << 20,
    FOREIGN_MAX = 1 << 20, // bytes of a function that objdump may list
};

struct report_object {
    const char *name;
    enum texts_state state;
    int fd;            // of an object for objdump
    const uint8_t *at; // mapped
    size_t size;
    bool foreign; // of a processor that Zydis does not know: objdump reads it
};

// ---- Object files ----

static enum texts_state map_object(const struct report *r, struct report_object *o)
{
    struct stat st;
    const Elf64_Ehdr *head;

    o->fd = trust_open(o->name, &st);
    if (o->fd == TRUST_REFUSED)
        return TEXTS_REFUSED;
    if (o->fd < 0 || (size_t)st.st_size < sizeof(*head))
        return TEXTS_NOT_FOUND;
    o->size = (size_t)st.st_size;
    o->at = mmap(NULL, o->size, PROT_READ, MAP_PRIVATE, o->fd, 0);
    if (o->at == MAP_FAILED) {
        o->at = NULL;
        return TEXTS_NOT_FOUND;
    }
    head = (const Elf64_Ehdr *)o->at;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return TEXTS_UNREADABLE;
    o->foreign = head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64;
    if (!o->foreign && (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff > o->size ||
                        head->e_phnum > (o->size - head->e_phoff) / sizeof(Elf64_Phdr)))
        return TEXTS_UNREADABLE;
    struct timespec written = r->side[0].mtime;
    bool changed = written.tv_sec &&
                   (st.st_mtim.tv_sec > written.tv_sec ||
                    (st.st_mtim.tv_sec == written.tv_sec && st.st_mtim.tv_nsec > written.tv_nsec));
    return changed ? TEXTS_CHANGED : TEXTS_HERE;
}

static struct report_object *object_of(struct report *r, const char *name)
{
    for (size_t i = r->object_count; i-- > 0;)
        if (strcmp(r->object[i].name, name) == 0)
            return &r->object[i];
    r->object = xrealloc(r->object, (r->object_count + 1) * sizeof(*r->object));
    struct report_object *o = &r->object[r->object_count++];
    *o = (struct report_object){ .name = name, .fd = -1 };
    o->state = map_object(r, o);
    if (o->fd >= 0 && !o->foreign) {
        close(o->fd);
        o->fd = -1;
    }
    r->objects++;
    r->objects_missing += o->state == TEXTS_NOT_FOUND;
    return o;
}

// The bytes at a link-time address up to the end of their segment; NULL: none.
static const uint8_t *bytes_at(const struct report_object *o, uint64_t addr, size_t *size)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)o->at;

    for (size_t i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, o->at + head->e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_type != PT_LOAD || addr < p.p_vaddr || addr - p.p_vaddr >= p.p_filesz)
            continue;
        uint64_t at = p.p_offset + (addr - p.p_vaddr), end = p.p_offset + p.p_filesz;
        if (end > o->size || at >= end || p.p_offset > o->size)
            return NULL;
        *size = end - at;
        return o->at + at;
    }
    return NULL;
}

// ---- Disassembly ----

// An instruction, found by its bytes: each is formatted once.
struct word {
    uint64_t hash;
    size_t at, size; // in `code`
    size_t text;     // in `intel`
};

struct listing {
    struct buf heads, addr, number;    // of functions, of instructions
    struct buf size, code, intel, att; // of words
    struct word *word;
    size_t words, word_cap;
    struct table table;
    uint64_t at; // the end of the instruction before
    ZydisDecoder decoder;
    ZydisFormatter syntax[2];
};

static uint64_t hash(const uint8_t *bytes, size_t n)
{
    uint64_t h = n * 0x9e3779b97f4a7c15u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h ^ h >> 31;
}

static void grow_words(struct listing *l)
{
    l->word_cap = l->word_cap ? l->word_cap * 2 : 1024;
    l->word = xrealloc(l->word, l->word_cap * sizeof(*l->word));
    free(l->table.slot);
    l->table =
        table_over(xcalloc(table_slots(l->word_cap), sizeof(uint32_t)), table_slots(l->word_cap));
    for (size_t i = 0; i < l->words; i++)
        table_add(&l->table, l->word[i].hash, (uint32_t)i);
}

static void put_line(struct buf *to, ZydisFormatter *f, const ZydisDecodedInstruction *insn,
                     const ZydisDecodedOperand *operand)
{
    char text[256] = "";

    // No address: relative operands stay relative, and the text depends on the bytes alone.
    if (!insn || !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
                     f, insn, operand, insn->operand_count_visible, text, sizeof(text),
                     ZYDIS_RUNTIME_ADDRESS_NONE, NULL)))
        strcpy(text, "(no instruction)");
    buf_bytes(to, text, strlen(text));
    buf_byte(to, '\n');
}

// The number of the word of these bytes (and this text, if given). *is_new: it is new, and the
// caller adds its text.
static uint32_t word_of(struct listing *l, const uint8_t *bytes, size_t n, const char *text,
                        bool *is_new)
{
    size_t at, size = text ? strlen(text) : 0;
    uint64_t h = hash(bytes, n) ^ hash((const uint8_t *)text, size);

    if (l->words == l->word_cap)
        grow_words(l);
    for (at = table_first(&l->table, h); table_used(&l->table, at);
         at = table_next(&l->table, at)) {
        const struct word *w = &l->word[table_number(&l->table, at)];
        if (w->hash == h && w->size == n && memcmp(l->code.at + w->at, bytes, n) == 0 &&
            l->intel.size - w->text >= size &&
            memcmp(l->intel.at + w->text, text ? text : "", size) == 0)
            break;
    }
    *is_new = !table_used(&l->table, at);
    if (*is_new) {
        table_put(&l->table, at, (uint32_t)l->words);
        l->word[l->words++] = (struct word){ h, l->code.size, n, l->intel.size };
        buf_u(&l->size, n);
        buf_bytes(&l->code, bytes, n);
    }
    return table_number(&l->table, at);
}

static void put_at(struct listing *l, uint64_t addr, size_t n, uint32_t word)
{
    buf_s(&l->addr, (int64_t)(addr - l->at));
    buf_u(&l->number, word);
    l->at = addr + n;
}

// One instruction, or one byte that is not an instruction. Returns its length.
static size_t put_insn(struct listing *l, const uint8_t *bytes, size_t size, uint64_t addr)
{
    ZydisDecoderContext context;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
    bool ok =
        ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&l->decoder, &context, bytes, size, &insn));
    size_t n = ok ? insn.length : 1;
    bool is_new;
    uint32_t word = word_of(l, bytes, n, NULL, &is_new);

    if (is_new) {
        ok = ok && ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&l->decoder, &context, &insn, operand,
                                                           insn.operand_count));
        put_line(&l->intel, &l->syntax[0], ok ? &insn : NULL, operand);
        put_line(&l->att, &l->syntax[1], ok ? &insn : NULL, operand);
    }
    put_at(l, addr, n, word);
    return n;
}

// The bytes that objdump shows, up to the tab behind them.
static size_t get_bytes(const char **at, uint8_t *out, size_t max)
{
    size_t n = 0;
    char pair[3] = "";

    while (**at && **at != '\t' && n < max) {
        if (**at == ' ') {
            ++*at;
            continue;
        }
        pair[0] = (*at)[0];
        pair[1] = (*at)[1];
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
        *at += pair[1] ? 2 : 1;
    }
    return n;
}

// One line of objdump; false: not an instruction.
static bool put_dumped(struct listing *l, char *line)
{
    char *end;
    uint64_t addr = strtoull(line, &end, 16);
    uint8_t bytes[16];
    bool is_new;

    if (line[0] != ' ' || end[0] != ':' || end[1] != '\t')
        return false;
    const char *at = end + 2;
    size_t n = get_bytes(&at, bytes, sizeof(bytes));
    if (n == 0 || *at != '\t')
        return false;
    char *text = (char *)at + 1;
    for (char *s = text; *s; s++) // objdump separates name and operands by a tab
        if (*s == '\t')
            *s = ' ';
    uint32_t word = word_of(l, bytes, n, text, &is_new);
    if (is_new) {
        buf_bytes(&l->intel, text, strlen(text));
        buf_bytes(&l->att, text, strcspn(text, "\n"));
        buf_byte(&l->att, '\n');
    }
    put_at(l, addr, n, word);
    return true;
}

// A function of an object that objdump reads, from the first address that ran to the last.
static uint32_t put_foreign(struct report *r, struct listing *l, const struct report_object *o,
                            uint32_t func, uint64_t first_addr)
{
    const uint64_t *known;
    size_t n = pack_addresses(r->pack, func, 0, &known), cap = 0;
    uint64_t low = UINT64_MAX, high = 0;
    uint32_t count = 0;
    char *line = NULL;
    pid_t pid;

    for (size_t i = 0; i < n; i++) {
        low = known[i] < low ? known[i] : low;
        high = known[i] > high ? known[i] : high;
    }
    if (n == 0 || high - low > FOREIGN_MAX)
        return 0;
    l->at = first_addr;
    FILE *f = objdump_open(o->fd, low, high + 1, true, &pid);
    while (f && count < INSNS_MAX && getline(&line, &cap, f) > 0)
        count += put_dumped(l, line);
    objdump_close(f, pid);
    free(line);
    return count;
}

static int by_address(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return a < b ? -1 : a > b;
}

// The instructions of a function; returns their number.
static uint32_t put_function(struct report *r, struct listing *l, const struct report_object *o,
                             uint32_t func, uint64_t first_addr)
{
    const uint64_t *found;
    size_t n = pack_addresses(r->pack, func, 0, &found);
    uint64_t *known = xmalloc((n + 1) * sizeof(*known)), next = 0;
    uint32_t count = 0;

    memcpy(known, found, n * sizeof(*known));
    qsort(known, n, sizeof(*known), by_address); // they come from several parts
    l->at = first_addr;
    for (size_t i = 0; i < n && count < INSNS_MAX; i++) {
        // Begins at the end of the instruction before, where the gap is small.
        uint64_t addr = count && next < known[i] && known[i] - next <= GAP ? next : known[i];
        if (count && addr < next)
            continue; // a duplicate
        for (bool last = false; !last && count < INSNS_MAX; count++) {
            size_t size = 0;
            const uint8_t *bytes = bytes_at(o, addr, &size);
            last = addr == known[i];
            if (!bytes)
                break;
            // An instruction that did not run must not overlap one that did.
            if (!last && size > known[i] - addr)
                size = (size_t)(known[i] - addr);
            addr += put_insn(l, bytes, size, addr);
            next = addr;
        }
    }
    free(known);
    return count;
}

static void put_section(struct report *r, struct listing *l, uint32_t first, uint32_t end)
{
    struct buf *all[] = { &l->heads, &l->addr, &l->number, &l->size, &l->code, &l->intel, &l->att };
    struct buf to = { 0 };

    buf_u(&to, first);
    buf_u(&to, end - first);
    buf_bytes(&to, l->heads.at, l->heads.size);
    buf_column(&to, &l->addr);
    buf_column(&to, &l->number);
    buf_u(&to, l->words);
    for (size_t i = 3; i < sizeof(all) / sizeof(*all); i++)
        buf_column(&to, all[i]);
    pack_section(r->pack, SECTION_CODE, first, end, &to);
    buf_free(&to);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        all[i]->size = 0;
    l->words = 0;
    if (l->table.slot)
        memset(l->table.slot, 0, (l->table.mask + 1) * sizeof(*l->table.slot));
}

void report_code_add(struct report *r, uint32_t first, uint32_t end)
{
    struct listing l = { 0 };
    uint32_t from = first;

    if (!(quern_profile_has(r->side[0].p) & QUERN_HAS_ADDR))
        return;
    ZydisDecoderInit(&l.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&l.syntax[0], ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterInit(&l.syntax[1], ZYDIS_FORMATTER_STYLE_ATT);
    for (uint32_t f = first; f < end; f++) {
        struct pack_func x = pack_func(r->pack, f);
        enum texts_state state = TEXTS_NOT_FOUND;
        uint32_t count = 0;
        if (!r->code) {
            state = TEXTS_LEFT_OUT;
        } else if (x.object && x.self[0]) {
            const struct report_object *o = object_of(r, x.object);
            state = o->state;
            if (state == TEXTS_HERE || state == TEXTS_CHANGED)
                count = (o->foreign ? put_foreign : put_function)(r, &l, o, f,
                                                                  pack_address(r->pack, f));
            if (o->foreign && count == 0)
                state = TEXTS_UNREADABLE;
        }
        buf_u(&l.heads, state);
        buf_u(&l.heads, count);
        if (l.intel.size + l.att.size + l.addr.size > SECTION_AIM_CODE) {
            put_section(r, &l, from, f + 1);
            from = f + 1;
        }
    }
    if (from < end)
        put_section(r, &l, from, end);
    struct buf *all[] = { &l.heads, &l.addr, &l.number, &l.size, &l.code, &l.intel, &l.att };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        buf_free(all[i]);
    free(l.word);
    free(l.table.slot);
}

void report_code_end(struct report *r)
{
    for (size_t i = 0; i < r->object_count; i++) {
        if (r->object[i].at)
            munmap((void *)r->object[i].at, r->object[i].size);
        if (r->object[i].fd >= 0)
            close(r->object[i].fd);
    }
    free(r->object);
}
