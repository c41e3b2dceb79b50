// SPDX-License-Identifier: MIT
//
// Reads SOURCE, ALIGN and CODE when a view opens a source or a function. Numbers of pieces and
// instructions are compared with the bytes that exist before memory is allocated for them.
#include "report/core/texts.h"

#include "report/core/bytes.h"
#include "report/core/heap.h"

static struct text text_of(struct bytes b)
{
    return (struct text){ b.at, bytes_left(&b) };
}

static const struct section *find(const struct core *c, enum section_kind kind, uint32_t file,
                                  unsigned side)
{
    for (size_t i = 0; i < c->list[kind].count; i++)
        if (c->list[kind].item[i].base == file && c->list[kind].item[i].side == side)
            return &c->list[kind].item[i];
    return NULL;
}

int texts_source(const struct core *c, uint32_t file, unsigned side, struct texts_source *out)
{
    const struct section *s = find(c, SECTION_SOURCE, file, side);

    *out = (struct texts_source){ .state = TEXTS_NONE };
    if (!s)
        return 0;
    struct bytes b = bytes_of(s->at, s->size);
    out->state = bytes_u32(&b);
    out->path = text_of(bytes_text(&b));
    out->lines = bytes_u32(&b);
    uint32_t n = bytes_u32(&b);
    if (b.bad || n > bytes_left(&b))
        return CORE_DAMAGED;
    struct texts_piece *piece = heap_array(n, sizeof(*piece));
    if (!piece)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        piece[i].first = bytes_u32(&b);
        piece[i].count = bytes_u32(&b);
        piece[i].text = text_of(bytes_text(&b));
    }
    if (b.bad) {
        heap_put(piece);
        return CORE_DAMAGED;
    }
    out->piece = piece;
    out->pieces = n;
    return 0;
}

int texts_align(const struct core *c, uint32_t file, struct texts_run **out, uint32_t *n)
{
    const struct section *s = find(c, SECTION_ALIGN, file, 0);

    *out = NULL;
    *n = 0;
    if (!s)
        return 0;
    struct bytes b = bytes_of(s->at, s->size);
    uint32_t count = bytes_u32(&b);
    if (b.bad || count > bytes_left(&b))
        return CORE_DAMAGED;
    struct texts_run *run = heap_array(count, sizeof(*run));
    if (!run)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        run[i].skip_old = bytes_u32(&b);
        run[i].skip_new = bytes_u32(&b);
        run[i].equal = bytes_u32(&b);
    }
    if (b.bad) {
        heap_put(run);
        return CORE_DAMAGED;
    }
    *out = run;
    *n = count;
    return 0;
}

// The next line of a text, without its end.
static struct text next_line(struct bytes *b)
{
    struct text line = { b->at, 0 };

    while (b->at < b->end && *b->at != '\n')
        b->at++;
    line.size = (size_t)(b->at - line.at);
    if (b->at < b->end)
        b->at++;
    return line;
}

// The target of a branch at `addr` whose text ends in the distance (" +0x10"); 0: not a branch.
static uint64_t target_of(struct text intel, uint64_t addr)
{
    uint64_t distance = 0;
    size_t at = intel.size;
    unsigned shift = 0;

    for (; at > 0 && shift < 64; at--, shift += 4) {
        uint8_t byte = intel.at[at - 1];
        unsigned digit = byte >= '0' && byte <= '9'   ? byte - 48u
                         : byte >= 'A' && byte <= 'F' ? byte - 55u
                         : byte >= 'a' && byte <= 'f' ? byte - 87u
                                                      : 16;
        if (digit == 16)
            break;
        distance |= (uint64_t)digit << shift;
    }
    if (shift == 0 || at < 4 || intel.at[at - 1] != 'x' || intel.at[at - 2] != '0' ||
        intel.at[at - 4] != ' ')
        return 0;
    return intel.at[at - 3] == '+'   ? addr + distance
           : intel.at[at - 3] == '-' ? addr - distance
                                     : 0;
}

// The words of a section: the text of an instruction, by its number.
static int read_words(struct bytes *b, struct texts_insn **out, uint32_t *count)
{
    uint32_t n = bytes_u32(b);
    struct bytes size = bytes_text(b), code = bytes_text(b);
    struct bytes intel = bytes_text(b), att = bytes_text(b);

    if (b->bad || n > bytes_left(&size))
        return CORE_DAMAGED;
    struct texts_insn *word = heap_array(n, sizeof(*word));
    if (!word)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        word[i].size = bytes_u32(&size);
        word[i].bytes = text_of(bytes_sub(&code, word[i].size));
        word[i].intel = next_line(&intel);
        word[i].att = next_line(&att);
    }
    if (size.bad || code.bad) {
        heap_put(word);
        return CORE_DAMAGED;
    }
    *out = word;
    *count = n;
    return 0;
}

// One section's code of `func`.
static int read_code(const struct core *c, const struct section *s, uint32_t func,
                     struct texts_code *out)
{
    struct bytes b = bytes_of(s->at, s->size);
    uint64_t skip = 0;
    uint32_t count = 0, words = 0;
    struct texts_insn *word = NULL;

    for (uint32_t f = 0; f < s->count; f++) {
        uint32_t state = bytes_u32(&b), n = bytes_u32(&b);
        if (f == func - s->first) {
            out->state = state;
            count = n;
        } else if (f < func - s->first) {
            skip += n;
        }
    }
    struct bytes addr = bytes_text(&b), number = bytes_text(&b);
    int rc = read_words(&b, &word, &words);
    if (rc < 0)
        return rc;
    bytes_skip(&addr, skip);
    bytes_skip(&number, skip);
    struct texts_insn *insn = count > bytes_left(&number) ? NULL : heap_array(count, sizeof(*insn));
    rc = insn ? 0 : count > bytes_left(&number) ? CORE_DAMAGED : CORE_MEMORY;
    uint64_t at = c->addr[func];
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        uint32_t w = bytes_u32(&number);
        at += (uint64_t)bytes_s(&addr);
        if (w >= words || addr.bad || number.bad) {
            rc = CORE_DAMAGED;
            break;
        }
        insn[i] = word[w];
        insn[i].addr = at;
        insn[i].target = target_of(word[w].intel, at);
        at += insn[i].size;
    }
    heap_put(word);
    if (rc < 0) {
        heap_put(insn);
        return rc;
    }
    out->insn = insn;
    out->count = count;
    return 0;
}

int texts_code(const struct core *c, uint32_t func, struct texts_code *out)
{
    *out = (struct texts_code){ .state = TEXTS_NONE };
    for (size_t i = 0; i < c->list[SECTION_CODE].count; i++) {
        const struct section *s = &c->list[SECTION_CODE].item[i];
        if (s->first <= func && func - s->first < s->count)
            return read_code(c, s, func, out);
    }
    return 0;
}
