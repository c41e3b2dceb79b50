// SPDX-License-Identifier: MIT
//
// Runs every DWARF 5 line program of a file once and keeps the rows by sequence. A sequence is a
// run of rows with rising addresses; sequences are sorted by their start, so that a search is two
// binary ones. File names are put together when a row that has them is asked for. Facts: DWARF 5,
// section 6.2 and 7.22.
#include "symbols/linetab.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/section.h"

// Above this size reading all of it takes longer than libdw's way through .debug_info.
enum { LINETAB_SIZE_MAX = 32 << 20 };

struct row {
    uint64_t address;
    uint32_t file; // index in the table's files
    uint32_t line;
};

struct sequence {
    uint64_t start, end;
    size_t row, rows;
};

// A file name as the program gives it.
struct file {
    const char *folder; // of the unit
    const char *dir, *name;
    uint32_t number; // of the whole name; UINT32_MAX: not asked for yet
};

struct linetab {
    struct strings *strings;
    Elf *elf; // while the programs are read
    struct section line, line_str, str;
    bool str_read; // .debug_str is needed for old producers only
    struct row *row;
    size_t rows, rows_room;
    struct sequence *sequence;
    size_t sequences, sequences_room;
    struct file *file;
    size_t files, files_room;
};

// ---- Reading bytes: past the end everything is 0 and `bad` is set ----

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static uint64_t get(struct reader *r, unsigned size)
{
    uint64_t v = 0;

    if ((size_t)(r->end - r->p) < size) {
        r->bad = true;
        r->p = r->end;
        return 0;
    }
    memcpy(&v, r->p, size);
    r->p += size;
    return v;
}

static uint64_t get_uleb(struct reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; r->p < r->end; shift += 7) {
        unsigned char byte = *r->p++;

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    r->bad = true;
    return 0;
}

static int64_t get_sleb(struct reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; r->p < r->end;) {
        unsigned char byte = *r->p++;

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift < 64)
                v |= ~UINT64_C(0) << shift;
            return (int64_t)v;
        }
    }
    r->bad = true;
    return 0;
}

static const char *get_string(struct reader *r)
{
    const char *s = (const char *)r->p;
    const unsigned char *nul = memchr(r->p, '\0', (size_t)(r->end - r->p));

    if (!nul) {
        r->bad = true;
        r->p = r->end;
        return "";
    }
    r->p = nul + 1;
    return s;
}

static const char *string_at(const struct section *s, uint64_t off, struct reader *r)
{
    if (off >= s->size || !memchr(s->p + off, '\0', s->size - off)) {
        r->bad = true;
        return "";
    }
    return (const char *)s->p + off;
}

// ---- The header of a program ----

struct header {
    unsigned offset_size; // 4 or 8
    unsigned min_insn;
    int line_base;
    unsigned line_range;
    unsigned opcode_base;
    const unsigned char *lengths; // of the standard opcodes, from opcode 1 on
    size_t first_file;            // index in the table's files
    size_t files;
};

struct entry {
    const char *path;
    uint64_t dir;
};

static void read_form(struct linetab *t, struct reader *r, unsigned offset_size, uint64_t type,
                      uint64_t form, struct entry *e)
{
    const char *text = NULL;
    uint64_t number = 0;

    switch (form) {
    case DW_FORM_string: text = get_string(r); break;
    case DW_FORM_line_strp: text = string_at(&t->line_str, get(r, offset_size), r); break;
    case DW_FORM_strp:
        if (!t->str_read)
            section_get(t->elf, ".debug_str", &t->str);
        t->str_read = true;
        text = string_at(&t->str, get(r, offset_size), r);
        break;
    case DW_FORM_udata: number = get_uleb(r); break;
    case DW_FORM_data1: number = get(r, 1); break;
    case DW_FORM_data2: number = get(r, 2); break;
    case DW_FORM_data4: number = get(r, 4); break;
    case DW_FORM_data8: number = get(r, 8); break;
    case DW_FORM_data16:
        get(r, 8);
        get(r, 8);
        break;
    case DW_FORM_block: {
        uint64_t n = get_uleb(r);

        if (n > (uint64_t)(r->end - r->p))
            r->bad = true;
        else
            r->p += n;
        break;
    }
    default: r->bad = true; // among them strx forms, which need the unit
    }
    if (type == DW_LNCT_path && text)
        e->path = text;
    else if (type == DW_LNCT_directory_index)
        e->dir = number;
}

// Reads an entry list (folders, then files) and calls back for each.
static uint64_t read_entries(struct linetab *t, struct reader *r, unsigned offset_size,
                             struct entry **out)
{
    uint64_t type[16], form[16];
    unsigned formats = (unsigned)get(r, 1);
    uint64_t n;

    *out = NULL;
    if (formats > 16) {
        r->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < formats; i++) {
        type[i] = get_uleb(r);
        form[i] = get_uleb(r);
    }
    n = get_uleb(r);
    // Every entry takes a byte at least.
    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return 0;
    }
    *out = calloc(n ? n : 1, sizeof(**out));
    if (!*out) {
        r->bad = true;
        return 0;
    }
    for (uint64_t k = 0; k < n && !r->bad; k++) {
        (*out)[k].path = "";
        for (unsigned i = 0; i < formats; i++)
            read_form(t, r, offset_size, type[i], form[i], &(*out)[k]);
    }
    return n;
}

static bool grow(void **array, size_t *room, size_t need, size_t element)
{
    size_t more = *room ? *room : 1024;
    void *grown;

    if (need <= *room)
        return true;
    while (more < need)
        more *= 2;
    grown = realloc(*array, more * element);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static void read_files(struct linetab *t, struct reader *r, struct header *h)
{
    struct entry *dirs, *files;
    uint64_t n_dirs = read_entries(t, r, h->offset_size, &dirs);
    uint64_t n_files = read_entries(t, r, h->offset_size, &files);

    h->first_file = t->files;
    h->files = n_files;
    if (!grow((void **)&t->file, &t->files_room, t->files + n_files, sizeof(*t->file)))
        r->bad = true;
    for (uint64_t i = 0; i < n_files && !r->bad; i++)
        t->file[t->files++] = (struct file){ n_dirs ? dirs[0].path : "",
                                             files[i].dir < n_dirs ? dirs[files[i].dir].path : "",
                                             files[i].path, UINT32_MAX };
    free(dirs);
    free(files);
}

// ---- The program ----

struct machine {
    uint64_t address;
    uint64_t file;
    int64_t line;
};

static void add_row(struct linetab *t, struct reader *r, const struct header *h,
                    const struct machine *m, size_t first)
{
    struct row *last = t->rows > first ? &t->row[t->rows - 1] : NULL;
    struct row row = { m->address, UINT32_MAX, m->line > 0 ? (uint32_t)m->line : 0 };

    if (m->file < h->files)
        row.file = (uint32_t)(h->first_file + m->file);
    if (last && m->address < last->address) {
        r->bad = true; // libdw sorts them
        return;
    }
    // Of several rows at one address the last one counts.
    if (last && m->address == last->address) {
        *last = row;
        return;
    }
    if (!grow((void **)&t->row, &t->rows_room, t->rows + 1, sizeof(*t->row))) {
        r->bad = true;
        return;
    }
    t->row[t->rows++] = row;
}

static void end_sequence(struct linetab *t, struct reader *r, uint64_t end, size_t first)
{
    uint64_t start = t->rows > first ? t->row[first].address : 0;

    // What a linker leaves of a removed section starts at 0 or at a tombstone, and covers nothing.
    if (t->rows == first || start == 0 || end <= start) {
        t->rows = first;
        return;
    }
    if (!grow((void **)&t->sequence, &t->sequences_room, t->sequences + 1, sizeof(*t->sequence))) {
        r->bad = true;
        return;
    }
    t->sequence[t->sequences++] = (struct sequence){ start, end, first, t->rows - first };
}

static void extended(struct linetab *t, struct reader *r, struct machine *m, size_t *first)
{
    uint64_t size = get_uleb(r);
    const unsigned char *next;
    unsigned opcode;

    if (size == 0 || size > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return;
    }
    next = r->p + size;
    opcode = (unsigned)get(r, 1);
    if (opcode == DW_LNE_set_address) {
        if (size == 9)
            m->address = get(r, 8);
        else
            r->bad = true;
    } else if (opcode == DW_LNE_end_sequence) {
        end_sequence(t, r, m->address, *first);
        *m = (struct machine){ 0, 1, 1 };
        *first = t->rows;
    }
    r->p = next;
}

static void run_program(struct linetab *t, struct reader *r, const struct header *h)
{
    struct machine m = { 0, 1, 1 };
    size_t first = t->rows;
    uint64_t const_add = (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_insn;

    while (r->p < r->end && !r->bad) {
        unsigned opcode = *r->p++;

        if (opcode >= h->opcode_base) {
            unsigned adjusted = opcode - h->opcode_base;

            m.address += (uint64_t)(adjusted / h->line_range) * h->min_insn;
            m.line += h->line_base + (int)(adjusted % h->line_range);
            add_row(t, r, h, &m, first);
            continue;
        }
        switch (opcode) {
        case 0: extended(t, r, &m, &first); break;
        case DW_LNS_copy: add_row(t, r, h, &m, first); break;
        case DW_LNS_advance_pc: m.address += get_uleb(r) * h->min_insn; break;
        case DW_LNS_advance_line: m.line += get_sleb(r); break;
        case DW_LNS_set_file: m.file = get_uleb(r); break;
        case DW_LNS_const_add_pc: m.address += const_add; break;
        case DW_LNS_fixed_advance_pc: m.address += get(r, 2); break;
        default:
            // Columns, statement and block marks, instruction sets, and what is not known: operands
            // only.
            for (unsigned i = 0; i < h->lengths[opcode - 1]; i++)
                get_uleb(r);
        }
    }
    t->rows = first; // a sequence that does not end is none
}

// One program; r is moved behind it.
static void read_program(struct linetab *t, struct reader *r)
{
    struct header h = { .offset_size = 4 };
    struct reader body;
    uint64_t length = get(r, 4), header_length;

    if (length == 0xffffffff) {
        h.offset_size = 8;
        length = get(r, 8);
    }
    if (r->bad || length > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return;
    }
    body = (struct reader){ r->p, r->p + length, false };
    r->p = body.end;
    // Version, size of an address, size of a segment selector.
    if (get(&body, 2) != 5 || get(&body, 1) != 8 || get(&body, 1) != 0) {
        r->bad = true;
        return;
    }
    header_length = get(&body, h.offset_size);
    if (body.bad || header_length > (uint64_t)(body.end - body.p)) {
        r->bad = true;
        return;
    }
    struct reader head = { body.p, body.p + header_length, false };

    body.p = head.end;
    h.min_insn = (unsigned)get(&head, 1);
    if (get(&head, 1) != 1) // operations per instruction: VLIW
        head.bad = true;
    get(&head, 1);
    h.line_base = (int8_t)get(&head, 1);
    h.line_range = (unsigned)get(&head, 1);
    h.opcode_base = (unsigned)get(&head, 1);
    h.lengths = head.p;
    if (h.line_range == 0 || h.opcode_base == 0 ||
        (size_t)(head.end - head.p) < h.opcode_base - 1) {
        r->bad = true;
        return;
    }
    head.p += h.opcode_base - 1;
    read_files(t, &head, &h);
    if (!head.bad)
        run_program(t, &body, &h);
    r->bad = head.bad || body.bad;
}

static int compare_sequences(const void *x, const void *y)
{
    const struct sequence *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool is_new_enough(const struct section *s)
{
    struct reader r = { s->p, s->p + s->size, false };

    while (r.p < r.end) {
        uint64_t length = get(&r, 4);
        const unsigned char *next;

        if (length == 0xffffffff)
            length = get(&r, 8);
        if (r.bad || length < 2 || length > (uint64_t)(r.end - r.p))
            return false;
        next = r.p + length;
        if (get(&r, 2) != 5)
            return false;
        r.p = next;
    }
    return true;
}

struct linetab *linetab_new(Elf *elf, struct strings *strings)
{
    struct linetab *t = calloc(1, sizeof(*t));
    struct reader r;

    if (!t)
        return NULL;
    t->strings = strings;
    t->elf = elf;
    if (!section_get(elf, ".debug_line", &t->line) || t->line.size > LINETAB_SIZE_MAX ||
        t->line.size == 0 || !is_new_enough(&t->line)) {
        linetab_free(t);
        return NULL;
    }
    section_get(elf, ".debug_line_str", &t->line_str);
    r = (struct reader){ t->line.p, t->line.p + t->line.size, false };
    while (r.p < r.end && !r.bad)
        read_program(t, &r);
    if (r.bad) {
        linetab_free(t);
        return NULL;
    }
    if (t->sequences)
        qsort(t->sequence, t->sequences, sizeof(*t->sequence), compare_sequences);
    return t;
}

void linetab_free(struct linetab *t)
{
    if (!t)
        return;
    section_fini(&t->line);
    section_fini(&t->line_str);
    section_fini(&t->str);
    free(t->row);
    free(t->sequence);
    free(t->file);
    free(t);
}

// As libdw does it, and lines.c after it: a folder that is relative lies in the unit's, and a
// unit's that is relative itself (-fdebug-prefix-map) is put before what is relative still.
static uint32_t file_number(struct linetab *t, uint32_t index)
{
    struct file *f;
    char *whole;
    int n;

    if (index == UINT32_MAX)
        return 0;
    f = &t->file[index];
    if (f->number != UINT32_MAX)
        return f->number;
    if (f->name[0] == '/')
        n = asprintf(&whole, "%s", f->name);
    else if (f->dir[0] == '/' || !f->folder[0])
        n = asprintf(&whole, "%s/%s", f->dir, f->name);
    else
        n = asprintf(&whole, "%s/%s/%s", f->folder, f->dir, f->name);
    if (n < 0)
        return 0;
    f->number = strings_add(t->strings, whole, (size_t)n);
    free(whole);
    return f->number;
}

static size_t upper_sequence(const struct linetab *t, uint64_t address)
{
    size_t lo = 0, hi = t->sequences;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (t->sequence[mid].start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void linetab_find(struct linetab *t, uint64_t address, struct lines_row *out)
{
    size_t i = upper_sequence(t, address);
    const struct sequence *s = i ? &t->sequence[i - 1] : NULL;
    const struct row *row;
    size_t lo, hi;

    *out = (struct lines_row){ .start = address, .end = address + 1 };
    if (!s || address >= s->end) {
        if (i < t->sequences)
            out->end = t->sequence[i].start;
        return;
    }
    row = t->row + s->row;
    lo = 0;
    hi = s->rows;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (row[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    out->start = row[lo - 1].address;
    out->end = lo < s->rows ? row[lo].address : s->end;
    if (i < t->sequences && t->sequence[i].start < out->end)
        out->end = t->sequence[i].start; // overlapping sequences
    out->file = file_number(t, row[lo - 1].file);
    out->line = row[lo - 1].line;
}
