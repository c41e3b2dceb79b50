// SPDX-License-Identifier: MIT
//
// Skims every DWARF 5 line program of a file once, for the address ranges of its sequences (runs of
// rows with rising addresses). Runs a sequence again, for its rows, on the first query for one of
// its addresses, and reads the folders and files of its unit then. Most units of a library are
// never needed. Facts: DWARF 5, section 6.2 and 7.22.
#include "symbols/linetab.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/bytes.h"
#include "symbols/memory.h"
#include "symbols/search.h"
#include "symbols/section.h"

// Above this size, reading all of it takes longer than libdw's search in .debug_info.
enum { LINETAB_SIZE_MAX = 32 << 20 };

struct row {
    uint64_t address;
    uint32_t file; // index in the table's files
    uint32_t line;
};

struct sequence {
    uint64_t start, end;
    uint64_t reach;               // the highest end of this one and all that begin before it
    const unsigned char *program; // its first opcode
    uint32_t unit;
    uint32_t rows; // 0: not run yet
    size_t row;    // its first row
};

_Static_assert(offsetof(struct row, address) == 0 && offsetof(struct sequence, start) == 0,
               "for search_upper()");

// A line program: the contents of its header.
struct unit {
    const unsigned char *entries, *end; // folders and files; end of the program
    const unsigned char *lengths;       // of the standard opcodes, from opcode 1 on
    uint8_t offset_size;                // 4 or 8
    uint8_t min_insn, line_range, opcode_base;
    int8_t line_base;
    bool read;         // its files
    size_t first_file; // index in the table's files
    size_t files;
};

// A file name as in the program.
struct file {
    const char *folder; // of the unit
    const char *dir, *name;
    uint32_t number; // of the whole name; UINT32_MAX: not looked up yet
};

// The effects of a unit's special opcodes. Units of one compiler all have the same.
struct specials {
    unsigned base, range;
    int line_base;
    uint8_t advance[256];
    int16_t line[256];
};

struct linetab {
    struct strings *strings;
    Elf *elf;
    struct section line, line_str, str;
    bool str_read; // only old producers need .debug_str
    struct row *row;
    size_t rows, rows_room;
    struct sequence *sequence;
    size_t sequences, sequences_room;
    struct unit *unit;
    size_t units, units_room;
    struct file *file;
    size_t files, files_room;
    struct specials specials; // of the unit used last
};

static const char *string_at(const struct section *s, uint64_t off, struct bytes *r)
{
    if (off >= s->size || !memchr(s->p + off, '\0', s->size - off)) {
        r->bad = true;
        return "";
    }
    return (const char *)s->p + off;
}

// ---- Folders and files ----

struct entry {
    const char *path;
    uint64_t dir;
};

static void read_form(struct linetab *t, struct bytes *r, unsigned offset_size, uint64_t type,
                      uint64_t form, struct entry *e)
{
    const char *text = NULL;
    uint64_t number = 0;

    switch (form) {
    case DW_FORM_string: text = bytes_string(r); break;
    case DW_FORM_line_strp: text = string_at(&t->line_str, bytes_get(r, offset_size), r); break;
    case DW_FORM_strp:
        if (!t->str_read)
            section_get(t->elf, ".debug_str", &t->str);
        t->str_read = true;
        text = string_at(&t->str, bytes_get(r, offset_size), r);
        break;
    case DW_FORM_udata: number = bytes_uleb(r); break;
    case DW_FORM_data1: number = bytes_get(r, 1); break;
    case DW_FORM_data2: number = bytes_get(r, 2); break;
    case DW_FORM_data4: number = bytes_get(r, 4); break;
    case DW_FORM_data8: number = bytes_get(r, 8); break;
    case DW_FORM_data16:
        bytes_get(r, 8);
        bytes_get(r, 8);
        break;
    case DW_FORM_block: {
        uint64_t n = bytes_uleb(r);

        if (n > (uint64_t)(r->end - r->p))
            r->bad = true;
        else
            r->p += n;
        break;
    }
    default: r->bad = true; // including strx forms, which need the unit
    }
    if (type == DW_LNCT_path && text)
        e->path = text;
    else if (type == DW_LNCT_directory_index)
        e->dir = number;
}

// Reads an entry list (folders, then files); calls back for each entry.
static uint64_t read_entries(struct linetab *t, struct bytes *r, unsigned offset_size,
                             struct entry **out)
{
    uint64_t type[16], form[16];
    unsigned formats = (unsigned)bytes_get(r, 1);

    *out = NULL;
    if (formats > 16) {
        r->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < formats; i++) {
        type[i] = bytes_uleb(r);
        form[i] = bytes_uleb(r);
    }
    uint64_t n = bytes_uleb(r);
    // Every entry takes at least one byte.
    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return 0;
    }
    *out = memory_got(calloc(n ? n : 1, sizeof(**out)));
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

    if (need <= *room)
        return true;
    while (more < need)
        more *= 2;
    void *grown = memory_got(realloc(*array, more * element));
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static void read_files(struct linetab *t, struct unit *u)
{
    struct bytes r = { u->entries, u->end, false };
    struct entry *dirs, *files;
    uint64_t n_dirs = read_entries(t, &r, u->offset_size, &dirs);
    uint64_t n_files = read_entries(t, &r, u->offset_size, &files);

    u->read = true;
    u->first_file = t->files;
    if (!r.bad && grow((void **)&t->file, &t->files_room, t->files + n_files, sizeof(*t->file))) {
        for (uint64_t i = 0; i < n_files; i++)
            t->file[t->files++] =
                (struct file){ n_dirs ? dirs[0].path : "",
                               files[i].dir < n_dirs ? dirs[files[i].dir].path : "", files[i].path,
                               UINT32_MAX };
        u->files = n_files;
    }
    free(dirs);
    free(files);
}

// ---- The program ----

// The registers, and the state of the current sequence.
struct machine {
    uint64_t address, file;
    int64_t line;
    uint64_t first, last; // addresses of the rows so far
    size_t rows;
    struct linetab *collect; // receives the rows
    const struct unit *unit;
};

static const struct machine machine_start = { .file = 1, .line = 1 };

static void set_specials(struct specials *s, const struct unit *u)
{
    if (s->base == u->opcode_base && s->range == u->line_range && s->line_base == u->line_base)
        return;
    s->base = u->opcode_base;
    s->range = u->line_range;
    s->line_base = u->line_base;
    for (unsigned opcode = s->base; opcode < 256; opcode++) {
        s->advance[opcode] = (uint8_t)((opcode - s->base) / s->range);
        s->line[opcode] = (int16_t)(s->line_base + (int)((opcode - s->base) % s->range));
    }
}

static void keep_row(struct bytes *r, struct machine *m)
{
    struct linetab *t = m->collect;
    const struct unit *u = m->unit;
    struct row row = { m->address, UINT32_MAX, m->line > 0 ? (uint32_t)m->line : 0 };

    if (m->file < u->files)
        row.file = (uint32_t)(u->first_file + m->file);
    // The last of several rows at one address counts.
    if (m->rows > 0 && m->address == m->last) {
        t->row[t->rows - 1] = row;
        return;
    }
    if (!grow((void **)&t->row, &t->rows_room, t->rows + 1, sizeof(*t->row))) {
        r->bad = true;
        return;
    }
    t->row[t->rows++] = row;
    m->last = m->address;
    m->rows++;
}

// True at the end of a sequence.
static bool extended(struct bytes *r, struct machine *m)
{
    uint64_t size = bytes_uleb(r);

    if (size == 0 || size > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return false;
    }
    const unsigned char *next = r->p + size;
    unsigned opcode = (unsigned)bytes_get(r, 1);
    if (opcode == DW_LNE_set_address) {
        if (size == 9)
            m->address = bytes_get(r, 8);
        else
            r->bad = true;
    }
    r->p = next;
    return opcode == DW_LNE_end_sequence;
}

// Runs one sequence and keeps its rows; false if the program ends first.
static bool run_sequence(struct bytes *r, const struct unit *u, const struct specials *s,
                         struct machine *m)
{
    const unsigned base = u->opcode_base, min_insn = u->min_insn;
    const uint64_t const_add = (uint64_t)((255 - base) / u->line_range) * min_insn;

    while (r->p < r->end && !r->bad) {
        unsigned opcode = *r->p++;

        if (opcode >= base) {
            m->address += (uint64_t)s->advance[opcode] * min_insn;
            m->line += s->line[opcode];
            keep_row(r, m);
            continue;
        }
        switch (opcode) {
        case 0:
            if (extended(r, m))
                return true;
            break;
        case DW_LNS_copy: keep_row(r, m); break;
        case DW_LNS_advance_pc: m->address += bytes_uleb(r) * min_insn; break;
        case DW_LNS_advance_line: m->line += bytes_sleb(r); break;
        case DW_LNS_set_file: m->file = bytes_uleb(r); break;
        case DW_LNS_const_add_pc: m->address += const_add; break;
        case DW_LNS_fixed_advance_pc: m->address += bytes_get(r, 2); break;
        default:
            // Columns, statement and block marks, instruction sets, unknown opcodes: skip the
            // operands.
            for (unsigned i = 0; i < u->lengths[opcode - 1]; i++)
                bytes_uleb(r);
        }
    }
    return false;
}

// The addresses of one sequence, as run_sequence() finds them, without its rows: skips files, lines
// and columns. False if the program ends first.
static bool skim_sequence(struct bytes *r, const struct unit *u, const struct specials *s,
                          struct machine *m)
{
    const unsigned base = u->opcode_base, min_insn = u->min_insn;
    const uint64_t const_add = (uint64_t)((255 - base) / u->line_range) * min_insn;
    const unsigned char *p = r->p, *const end = r->end;
    uint64_t address = 0, first = 0, last = 0;
    bool any = false;

    while (p < end) {
        unsigned opcode = *p++;

        if (opcode >= base || opcode == DW_LNS_copy) {
            if (opcode >= base)
                address += (uint64_t)s->advance[opcode] * min_insn;
            if (!any)
                first = address;
            else if (address < last)
                goto bad; // libdw sorts them
            any = true;
            last = address;
            continue;
        }
        if (opcode == DW_LNS_const_add_pc) {
            address += const_add;
            continue;
        }
        if (opcode != 0 && opcode != DW_LNS_advance_pc && opcode != DW_LNS_fixed_advance_pc) {
            // Skip the operands.
            for (unsigned i = 0; i < u->lengths[opcode - 1]; i++) {
                while (p < end && *p >= 0x80)
                    p++;
                if (p == end)
                    goto bad;
                p++;
            }
            continue;
        }
        m->address = address;
        r->p = p;
        if (opcode == 0) {
            if (extended(r, m)) {
                m->first = first;
                m->last = last;
                m->rows = any;
                return true;
            }
        } else if (opcode == DW_LNS_advance_pc) {
            m->address += bytes_uleb(r) * min_insn;
        } else {
            m->address += bytes_get(r, 2);
        }
        if (r->bad)
            return false;
        address = m->address;
        p = r->p;
    }
    return false;
bad:
    r->bad = true;
    return false;
}

// Notes the sequences of a program.
static void skim_program(struct linetab *t, struct bytes *r, const struct unit *u)
{
    while (r->p < r->end && !r->bad) {
        struct machine m = machine_start;
        const unsigned char *program = r->p;

        if (!skim_sequence(r, u, &t->specials, &m))
            return;
        // A removed section's sequence starts at 0 or is empty.
        if (m.rows == 0 || m.first == 0 || m.address <= m.first)
            continue;
        if (m.address < m.last || !grow((void **)&t->sequence, &t->sequences_room, t->sequences + 1,
                                        sizeof(*t->sequence))) {
            r->bad = true;
            return;
        }
        t->sequence[t->sequences++] = (struct sequence){
            .start = m.first, .end = m.address, .program = program, .unit = (uint32_t)(t->units - 1)
        };
    }
}

// One program; advances r to its end.
static void read_program(struct linetab *t, struct bytes *r)
{
    struct unit u = { .offset_size = 4 };
    uint64_t length = bytes_get(r, 4);

    if (length == 0xffffffff) {
        u.offset_size = 8;
        length = bytes_get(r, 8);
    }
    if (r->bad || length > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return;
    }
    struct bytes head = (struct bytes){ r->p, r->p + length, false };
    r->p = head.end;
    // Version, size of an address, size of a segment selector.
    if (bytes_get(&head, 2) != 5 || bytes_get(&head, 1) != 8 || bytes_get(&head, 1) != 0) {
        r->bad = true;
        return;
    }
    uint64_t header_length = bytes_get(&head, u.offset_size);
    if (head.bad || header_length > (uint64_t)(head.end - head.p)) {
        r->bad = true;
        return;
    }
    struct bytes body = (struct bytes){ head.p + header_length, head.end, false };
    head.end = body.p;
    u.min_insn = (uint8_t)bytes_get(&head, 1);
    if (bytes_get(&head, 1) != 1) // operations per instruction: VLIW
        head.bad = true;
    bytes_get(&head, 1);
    u.line_base = (int8_t)bytes_get(&head, 1);
    u.line_range = (uint8_t)bytes_get(&head, 1);
    u.opcode_base = (uint8_t)bytes_get(&head, 1);
    u.lengths = head.p;
    if (head.bad || u.line_range == 0 || u.opcode_base == 0 ||
        (size_t)(head.end - head.p) < u.opcode_base - 1u ||
        !grow((void **)&t->unit, &t->units_room, t->units + 1, sizeof(*t->unit))) {
        r->bad = true;
        return;
    }
    u.entries = head.p + u.opcode_base - 1;
    u.end = body.end;
    t->unit[t->units++] = u;
    set_specials(&t->specials, &u);
    skim_program(t, &body, &u);
    r->bad = body.bad;
}

// The rows of a skimmed sequence.
static void run_again(struct linetab *t, struct sequence *s)
{
    struct unit *u = &t->unit[s->unit];
    struct bytes r = { s->program, u->end, false };
    struct machine m = machine_start;

    if (!u->read)
        read_files(t, u);
    set_specials(&t->specials, u);
    m.collect = t;
    m.unit = u;
    s->row = t->rows;
    run_sequence(&r, u, &t->specials, &m);
    s->rows = (uint32_t)(t->rows - s->row);
}

static int compare_sequences(const void *x, const void *y)
{
    const struct sequence *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->program < b->program ? -1 : a->program > b->program;
}

static bool is_new_enough(const struct section *s)
{
    struct bytes r = { s->p, s->p + s->size, false };

    while (r.p < r.end) {
        uint64_t length = bytes_get(&r, 4);

        if (length == 0xffffffff)
            length = bytes_get(&r, 8);
        if (r.bad || length < 2 || length > (uint64_t)(r.end - r.p))
            return false;
        const unsigned char *next = r.p + length;
        if (bytes_get(&r, 2) != 5)
            return false;
        r.p = next;
    }
    return true;
}

struct linetab *linetab_new(Elf *elf, struct strings *strings)
{
    struct linetab *t = memory_got(calloc(1, sizeof(*t)));

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
    struct bytes r = (struct bytes){ t->line.p, t->line.p + t->line.size, false };
    while (r.p < r.end && !r.bad)
        read_program(t, &r);
    if (r.bad) {
        linetab_free(t);
        return NULL;
    }
    if (t->sequences)
        qsort(t->sequence, t->sequences, sizeof(*t->sequence), compare_sequences);
    for (size_t i = 0; i < t->sequences; i++) {
        struct sequence *s = &t->sequence[i];

        s->reach = i && s[-1].reach > s->end ? s[-1].reach : s->end;
    }
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
    free(t->unit);
    free(t->sequence);
    free(t->file);
    free(t);
}

size_t linetab_size(const struct linetab *t)
{
    return t->line.size;
}

// As in libdw and lines.c: a relative folder is inside the unit's folder; a unit's folder that is
// itself relative (-fdebug-prefix-map) is put before names that are still relative.
static uint32_t file_number(struct linetab *t, uint32_t index)
{
    char *whole;
    int n;

    if (index == UINT32_MAX)
        return 0;
    struct file *f = &t->file[index];
    if (f->number != UINT32_MAX)
        return f->number;
    if (f->name[0] == '/')
        n = asprintf(&whole, "%s", f->name);
    else if (f->dir[0] == '/' || !f->folder[0])
        n = asprintf(&whole, "%s/%s", f->dir, f->name);
    else
        n = asprintf(&whole, "%s/%s/%s", f->folder, f->dir, f->name);
    if (n < 0) {
        memory_lacks();
        return 0;
    }
    f->number = strings_add(t->strings, whole, (size_t)n);
    free(whole);
    return f->number;
}

// Of the first n sequences, which begin at or below the address, the last that contains it; NULL:
// none. Later ones are inside it and have ended: *from is where the last of them did.
static struct sequence *covering(struct linetab *t, size_t n, uint64_t address, uint64_t *from)
{
    *from = 0;
    for (; n && t->sequence[n - 1].reach > address; n--) {
        struct sequence *s = &t->sequence[n - 1];

        if (s->end > address)
            return s;
        *from = s->end > *from ? s->end : *from;
    }
    return NULL;
}

void linetab_find(struct linetab *t, uint64_t address, struct lines_row *out)
{
    size_t i = search_upper(t->sequence, t->sequences, sizeof(*t->sequence), address);
    uint64_t from;
    struct sequence *s = covering(t, i, address, &from);

    *out = (struct lines_row){ .start = address, .end = address + 1 };
    if (!s) {
        if (i < t->sequences)
            out->end = t->sequence[i].start;
        return;
    }
    if (s->rows == 0)
        run_again(t, s);
    if (s->rows == 0)
        return; // out of memory
    const struct row *row = t->row + s->row;
    size_t n = search_upper(row, s->rows, sizeof(*row), address);
    out->start = row[n - 1].address > from ? row[n - 1].address : from;
    out->end = n < s->rows ? row[n].address : s->end;
    if (i < t->sequences && t->sequence[i].start < out->end)
        out->end = t->sequence[i].start; // overlapping sequences
    out->file = file_number(t, row[n - 1].file);
    out->line = row[n - 1].line;
}
