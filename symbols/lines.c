// SPDX-License-Identifier: MIT
//
// Line tables through libdw. To find an address's table: .debug_aranges names the unit; for
// addresses that it does not list (clang and rustc write none), the address ranges of all other
// units are read once. The line program of a unit is run on the first query for one of its
// addresses, and kept as a flat sorted array.
//
// Sections that are not used here (location lists, macros, frames) are hidden from libdw before it
// inflates them: they are a third of libc's debug file.
#include "symbols/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/blocktype.h"
#include "symbols/debugfile.h"
#include "symbols/fields.h"
#include "symbols/inlines.h"
#include "symbols/memory.h"
#include "symbols/search.h"
#include "symbols/section.h"
#include "symbols/split.h"

// A row of a line table, for addresses up to the next row.
struct row {
    uint64_t address;
    uint32_t file, line;
    bool end; // no line from here on
};

struct unit {
    Dwarf_Off die;
    bool rows_read;
    struct row *row;
    size_t rows;
    struct inlines *inlines; // NULL: not read
};

struct range {
    uint64_t start, end;
    Dwarf_Off die;
};

_Static_assert(offsetof(struct row, address) == 0 && offsetof(struct range, start) == 0,
               "for search_upper()");

struct lines {
    Dwarf *dwarf;
    struct strings *strings;
    Dwarf_Aranges *aranges;
    size_t aranges_count;
    struct unit *unit; // those read so far, sorted by die
    size_t units, units_room;
    struct range *range; // of units that .debug_aranges does not list, sorted
    size_t ranges, ranges_room;
    bool scanned;
    // The unit of the last query for bodies, and its addresses.
    uint64_t bodies_start, bodies_end;
    const struct inlines *bodies;
    Dwarf *alt; // of .gnu_debugaltlink
    int alt_fd;
    char *path; // of the file
    struct split *split;
    Dwarf_Die skeleton; // of the split unit that is being read
    Dwarf_CU *split_cu;
    struct lacks lacks;
};

static bool is_hidden(const char *name, bool hide_alt)
{
    static const char *const hidden[] = {
        ".debug_loc",          ".debug_loclists", ".debug_frame",    ".debug_macro",
        ".debug_macinfo",      ".debug_pubnames", ".debug_pubtypes", ".debug_gnu_pubnames",
        ".debug_gnu_pubtypes", ".debug_names",    ".debug_types"
    };

    if (hide_alt && strcmp(name, ".gnu_debugaltlink") == 0)
        return true;
    // The old names of compressed ones are .zdebug_*.
    if (strncmp(name, ".zdebug_", 8) == 0) {
        for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
            if (strcmp(name + 8, hidden[i] + 7) == 0)
                return true;
        return false;
    }
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (strcmp(name, hidden[i]) == 0)
            return true;
    return false;
}

// The Elf is a private copy of its headers (ELF_C_READ_MMAP_PRIVATE): the file does not change.
static void hide_sections(Elf *elf, bool hide_alt)
{
    size_t names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr sh;

        if (!gelf_getshdr(scn, &sh))
            continue;
        const char *name = elf_strptr(elf, names, sh.sh_name);
        if (!name || !is_hidden(name, hide_alt))
            continue;
        sh.sh_type = SHT_NOBITS;
        gelf_update_shdr(scn, &sh);
    }
}

// The file that .gnu_debugaltlink names. libdw would block on a pipe there; it does not get a file
// that is missing.
static void open_alt(struct lines *l, Elf *elf)
{
    struct section s;
    char *odd = NULL;
    size_t n;

    l->alt_fd = -1;
    if (!section_get(elf, ".gnu_debugaltlink", &s))
        return;
    n = strnlen((const char *)s.p, s.size);
    if (n > 0 && n < s.size)
        l->alt_fd =
            debugfile_open_alt(l->path, (const char *)s.p, s.p + n + 1, s.size - n - 1, &odd);
    l->alt = l->alt_fd >= 0 ? dwarf_begin(l->alt_fd, DWARF_C_READ) : NULL;
    if (odd)
        lacks_note(&l->lacks, LACKS_ALT_REGULAR, "%s is no regular file; nothing is read from it",
                   odd);
    if (!l->alt)
        lacks_note(&l->lacks, LACKS_ALT,
                   "the file that its debug information has in common with others "
                   "(.gnu_debugaltlink) is missing; names of inlined functions may be, too");
    free(odd);
    section_fini(&s);
}

static void close_alt(struct lines *l)
{
    dwarf_end(l->alt);
    if (l->alt_fd >= 0)
        close(l->alt_fd);
}

const char *lines_lack(struct lines *l)
{
    return lacks_next(&l->lacks);
}

struct lines *lines_new(Elf *elf, const char *program, const char *path, struct strings *strings)
{
    struct lines *l = memory_got(calloc(1, sizeof(*l)));

    if (!l)
        return NULL;
    l->path = memory_got(strdup(path));
    if (!l->path) {
        free(l);
        return NULL;
    }
    open_alt(l, elf);
    hide_sections(elf, !l->alt);
    l->strings = strings;
    l->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    l->split = split_new(elf, program, l->path, &l->lacks);
    if (!l->dwarf || !l->split) {
        lines_free(l);
        return NULL;
    }
    if (l->alt)
        dwarf_setalt(l->dwarf, l->alt);
    if (dwarf_getaranges(l->dwarf, &l->aranges, &l->aranges_count) != 0) {
        l->aranges = NULL;
        l->aranges_count = 0;
    }
    return l;
}

void lines_free(struct lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->units; i++) {
        free(l->unit[i].row);
        inlines_free(l->unit[i].inlines);
    }
    free(l->unit);
    free(l->range);
    split_free(l->split);
    dwarf_end(l->dwarf);
    close_alt(l);
    lacks_fini(&l->lacks);
    free(l->path);
    free(l);
}

// ---- Which unit has an address ----

static int compare_offsets(const void *x, const void *y)
{
    Dwarf_Off a = *(const Dwarf_Off *)x, b = *(const Dwarf_Off *)y;

    return a < b ? -1 : a > b;
}

static int compare_ranges(const void *x, const void *y)
{
    const struct range *a = x, *b = y;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_range(struct lines *l, uint64_t start, uint64_t end, Dwarf_Off die)
{
    // A linker sets the address of a removed section to 0.
    if (start >= end || start == 0)
        return;
    if (l->ranges == l->ranges_room) {
        size_t room = l->ranges_room ? l->ranges_room * 2 : 256;
        struct range *grown = memory_got(realloc(l->range, room * sizeof(*grown)));

        if (!grown)
            return;
        l->range = grown;
        l->ranges_room = room;
    }
    l->range[l->ranges++] = (struct range){ start, end, die };
}

// The units that .debug_aranges lists, sorted.
static Dwarf_Off *listed_units(const struct lines *l)
{
    Dwarf_Off *off = memory_got(calloc(l->aranges_count + 1, sizeof(*off)));

    if (!off)
        return NULL;
    for (size_t i = 0; i < l->aranges_count; i++)
        dwarf_getarangeinfo(dwarf_onearange(l->aranges, i), NULL, NULL, &off[i]);
    qsort(off, l->aranges_count, sizeof(*off), compare_offsets);
    return off;
}

static void scan_units(struct lines *l)
{
    Dwarf_Off *listed = listed_units(l);
    Dwarf_CU *cu = NULL;

    l->scanned = true;
    if (!listed)
        return;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die;
    while (dwarf_get_units(l->dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
        Dwarf_Off off = dwarf_dieoffset(&die);
        ptrdiff_t at = 0;

        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (bsearch(&off, listed, l->aranges_count, sizeof(off), compare_offsets))
            continue;
        Dwarf_Addr base, start, end;
        while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
            add_range(l, start, end, off);
    }
    free(listed);
    if (l->ranges)
        qsort(l->range, l->ranges, sizeof(*l->range), compare_ranges);
}

struct listed {
    Dwarf_Addr start;
    Dwarf_Word length;
    Dwarf_Off off;
};

static bool listed_get(Dwarf_Arange *a, struct listed *out)
{
    return a && dwarf_getarangeinfo(a, &out->start, &out->length, &out->off) == 0;
}

// How many listed ranges begin at or below the address; false if that is unknown.
static bool listed_upper(const struct lines *l, uint64_t address, size_t *n)
{
    size_t lo = 0, hi = l->aranges_count;
    struct listed r;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (!listed_get(dwarf_onearange(l->aranges, mid), &r))
            return false;
        if (r.start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    *n = lo;
    return true;
}

// The first listed range that begins above the address; UINT64_MAX: none.
static uint64_t next_listed(const struct lines *l, uint64_t address)
{
    size_t n;
    struct listed r;

    if (!listed_upper(l, address, &n))
        return address + 1;
    if (n == l->aranges_count || !listed_get(dwarf_onearange(l->aranges, n), &r))
        return UINT64_MAX;
    return r.start;
}

// The listed range that contains the address. One at 0 belongs to a removed section; it may overlap
// all others, and libdw's search may find it first.
static bool find_listed(const struct lines *l, uint64_t address, struct listed *out)
{
    Dwarf_Arange *a = l->aranges ? dwarf_getarange_addr(l->aranges, address) : NULL;
    size_t n;

    if (!listed_get(a, out))
        return false;
    if (out->start != 0)
        return true;
    return listed_upper(l, address, &n) && n > 0 &&
           listed_get(dwarf_onearange(l->aranges, n - 1), out) && out->start != 0 &&
           address - out->start < out->length;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The unit of the address. *end: up to where the answer, also "none", is the same.
static bool find_die(struct lines *l, uint64_t address, bool named, Dwarf_Die *die, uint64_t *end)
{
    struct listed listed;

    *end = next_listed(l, address);
    if (find_listed(l, address, &listed)) {
        *end = least(*end, listed.start + listed.length);
        return dwarf_offdie(l->dwarf, listed.off, die) != NULL;
    }
    // An address without a name (usually in a PLT) is not worth reading every unit of a large file.
    // The answer must not depend on whether other addresses made that necessary.
    if (!named && l->aranges_count != 0)
        return false;
    if (!l->scanned)
        scan_units(l);
    size_t n = search_upper(l->range, l->ranges, sizeof(*l->range), address);
    if (n < l->ranges)
        *end = least(*end, l->range[n].start);
    const struct range *r = n > 0 ? &l->range[n - 1] : NULL;
    if (!r || r->end <= address)
        return false;
    *end = least(*end, r->end);
    return dwarf_offdie(l->dwarf, r->die, die) != NULL;
}

// ---- The rows of a unit ----

static struct unit *find_unit(struct lines *l, Dwarf_Off die, size_t *at)
{
    size_t lo = 0, hi = l->units;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->unit[mid].die < die)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return lo < l->units && l->unit[lo].die == die ? &l->unit[lo] : NULL;
}

// The number of a file name of the table. A relative one (after -fdebug-prefix-map the unit's
// folder is) is taken relative to that folder, as in Cachegrind.
static uint32_t file_number(struct lines *l, const char *src, const char *folder)
{
    if (!src)
        return 0;
    char *whole;
    if (src[0] == '/' || !folder)
        return strings_add(l->strings, src, strlen(src));
    if (asprintf(&whole, "%s/%s", folder, src) < 0) {
        memory_lacks();
        return 0;
    }
    uint32_t number = strings_add(l->strings, whole, strlen(whole));
    free(whole);
    return number;
}

static const char *unit_folder(Dwarf_Die *die)
{
    Dwarf_Attribute attr;

    return dwarf_attr(die, DW_AT_comp_dir, &attr) ? dwarf_formstring(&attr) : NULL;
}

static void read_rows(struct lines *l, struct unit *u, Dwarf_Die *die)
{
    const char *folder = unit_folder(die);
    Dwarf_Lines *lines;
    size_t n;
    const char *last = NULL;
    uint32_t last_number = 0;

    u->rows_read = true;
    if (dwarf_getsrclines(die, &lines, &n) != 0)
        return;
    u->row = memory_got(calloc(n ? n : 1, sizeof(*u->row)));
    if (!u->row)
        return;
    for (size_t i = 0; i < n; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        struct row *r = &u->row[u->rows];
        Dwarf_Addr address;
        int number = 0;

        if (dwarf_lineaddr(line, &address) != 0)
            continue;
        r->address = address;
        dwarf_lineendsequence(line, &r->end);
        if (!r->end) {
            const char *src = dwarf_linesrc(line, NULL, NULL);
            dwarf_lineno(line, &number);
            if (src != last) { // one pointer for each file of the table
                last = src;
                last_number = file_number(l, src, folder);
            }
            r->file = last_number;
            r->line = number > 0 ? (uint32_t)number : 0;
        }
        // The last of several rows at one address counts.
        if (u->rows > 0 && u->row[u->rows - 1].address == address)
            u->row[u->rows - 1] = *r;
        else
            u->rows++;
    }
}

static struct unit *get_unit(struct lines *l, Dwarf_Die *die)
{
    Dwarf_Off off = dwarf_dieoffset(die);
    size_t at;
    struct unit *u = find_unit(l, off, &at);

    if (u)
        return u;
    if (l->units == l->units_room) {
        size_t room = l->units_room ? l->units_room * 2 : 64;
        struct unit *grown = memory_got(realloc(l->unit, room * sizeof(*grown)));

        if (!grown)
            return NULL;
        l->unit = grown;
        l->units_room = room;
    }
    memmove(&l->unit[at + 1], &l->unit[at], (l->units - at) * sizeof(*l->unit));
    l->units++;
    u = &l->unit[at];
    *u = (struct unit){ .die = off };
    return u;
}

void lines_find(struct lines *l, uint64_t address, bool named, struct lines_row *out)
{
    *out = (struct lines_row){ .start = address };
    Dwarf_Die die;
    if (!find_die(l, address, named, &die, &out->end))
        return;
    struct unit *u = get_unit(l, &die);
    if (!u)
        return;
    if (!u->rows_read)
        read_rows(l, u, &die);
    size_t n = search_upper(u->row, u->rows, sizeof(*u->row), address);
    if (n < u->rows)
        out->end = least(out->end, u->row[n].address);
    if (n == 0 || u->row[n - 1].end)
        return;
    // If two units overlap, rows before the address may belong to the other one.
    out->file = u->row[n - 1].file;
    out->line = u->row[n - 1].line;
}

// ---- The inline chain ----

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
        name = dwarf_formstring(&attr);
    return name ? name : dwarf_diename(die);
}

static uint32_t name_number(struct lines *l, Dwarf_Die *die, char *(*readable)(const char *name))
{
    const char *name = linkage_name(die);

    if (!name)
        return 0;
    char *nice = readable ? readable(name) : NULL;
    if (nice)
        name = nice;
    uint32_t number = strings_add(l->strings, name, strlen(name));
    free(nice);
    return number;
}

static bool unit_of(const struct lines *l, Dwarf_CU *cu, Dwarf_Die *unit)
{
    if (cu != l->split_cu)
        return dwarf_cu_die(cu, unit, NULL, NULL, NULL, NULL, NULL, NULL);
    *unit = l->skeleton;
    return true;
}

// The file that an attribute of the die, or of its origin in another unit, gives. The files of a
// split unit are its skeleton's (DWARF 5, section 3.1.3); its own, which libdw would use, are those
// of type units.
static uint32_t numbered_file(struct lines *l, Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;
    Dwarf_Word index;
    Dwarf_Files *files;
    Dwarf_Die unit;
    size_t n;

    if (!dwarf_attr_integrate(die, attribute, &attr) || dwarf_formudata(&attr, &index) != 0 ||
        !unit_of(l, attr.cu, &unit) || dwarf_getsrcfiles(&unit, &files, &n) != 0 || index >= n)
        return 0;
    return file_number(l, dwarf_filesrc(files, index, NULL, NULL), unit_folder(&unit));
}

static uint32_t call_line(Dwarf_Die *inlined)
{
    Dwarf_Attribute attr;
    Dwarf_Word line;

    if (!dwarf_attr(inlined, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &line) != 0)
        return 0;
    return (uint32_t)line;
}

// For a skeleton unit, the unit with its functions.
static Dwarf_Die with_functions(struct lines *l, Dwarf_Die cu)
{
    Dwarf_Die unit;

    l->split_cu = NULL;
    if (!split_unit(l->split, &cu, &unit))
        return cu;
    l->split_cu = unit.cu;
    l->skeleton = cu;
    return unit;
}

size_t lines_inlined(struct lines *l, uint64_t address, struct symbols_frame *out, size_t max,
                     char *(*readable)(const char *name))
{
    Dwarf_Die cu, *innermost = NULL, *scopes = NULL;
    uint64_t end;
    size_t n = 0;

    if (!find_die(l, address, true, &cu, &end))
        return 0;
    cu = with_functions(l, cu);
    struct lines_row row;
    lines_find(l, address, true, &row);
    uint32_t file = row.file;
    uint32_t line = row.line;
    // The scopes of an inlined function are those of its source text; its parents are where it was
    // inlined.
    if (dwarf_getscopes(&cu, address, &innermost) <= 0)
        return 0;
    int count = dwarf_getscopes_die(&innermost[0], &scopes);
    free(innermost);
    for (int i = 0; i < count && n < max; i++) {
        int tag = dwarf_tag(&scopes[i]);

        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        out[n++] = (struct symbols_frame){ name_number(l, &scopes[i], readable), file, line };
        if (tag == DW_TAG_subprogram)
            break;
        file = numbered_file(l, &scopes[i], DW_AT_call_file);
        line = call_line(&scopes[i]);
    }
    free(scopes);
    return n;
}

struct namer {
    struct lines *l;
    char *(*readable)(const char *name);
};

static uint32_t body_name(void *ctx, Dwarf_Die *die, const char *scope)
{
    const struct namer *n = ctx;
    const char *name = dwarf_diename(die);
    char *whole;

    if (!scope || !name || linkage_name(die) != name)
        return name_number(n->l, die, n->readable);
    if (asprintf(&whole, "%s::%s", scope, name) < 0) {
        memory_lacks();
        return 0;
    }
    uint32_t number = strings_add(n->l->strings, whole, strlen(whole));
    free(whole);
    return number;
}

static uint32_t body_file(void *ctx, Dwarf_Die *die, unsigned attribute)
{
    const struct namer *n = ctx;

    return numbered_file(n->l, die, attribute);
}

static const struct inlines *bodies_of(struct lines *l, Dwarf_Die *cu,
                                       char *(*readable)(const char *name))
{
    struct namer namer = { l, readable };
    struct inlines_names names = { &namer, body_name, body_file };
    struct unit *u = get_unit(l, cu);

    if (u && !u->inlines) {
        Dwarf_Die whole = with_functions(l, *cu);

        u->inlines = inlines_new(&whole, &names);
    }
    return u ? u->inlines : NULL;
}

const struct symbols_body *lines_body(struct lines *l, uint64_t address,
                                      char *(*readable)(const char *name))
{
    Dwarf_Die cu;

    if (address < l->bodies_start || address >= l->bodies_end) {
        l->bodies_start = address;
        l->bodies =
            find_die(l, address, true, &cu, &l->bodies_end) ? bodies_of(l, &cu, readable) : NULL;
    }
    return l->bodies ? inlines_find(l->bodies, address) : NULL;
}

static uint32_t field_file(void *ctx, Dwarf_Die *die, unsigned attribute)
{
    return numbered_file(ctx, die, attribute);
}

// First what is declared outside of functions: the walk through all of them takes longer.
void lines_fields(struct lines *l, struct symbols_field *field, size_t n)
{
    struct fields f = { .field = field, .count = n, .open = n, .file = field_file, .ctx = l };
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die;

    for (size_t i = 0; i < n; i++)
        f.open_inner += field[i].inner;
    for (int deep = 0; deep < 2; deep++) {
        Dwarf_CU *cu = NULL;

        while ((deep ? f.open_inner : f.open) &&
               dwarf_get_units(l->dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
            if (type != DW_UT_compile && type != DW_UT_skeleton)
                continue;
            die = with_functions(l, die);
            fields_unit(&f, &die, deep);
        }
    }
}

void lines_block(struct lines *l, struct symbols_block *b)
{
    struct fields f = { .file = field_file, .ctx = l };
    struct blocktype type;
    Dwarf_Die cu;
    uint64_t end;

    if (!find_die(l, b->site, true, &cu, &end))
        return;
    cu = with_functions(l, cu);
    if (!blocktype_find(&cu, b, &type))
        return;
    for (size_t i = 0; i < b->fields; i++)
        fields_block(&f, &b->field[i], type.name, &type.type, b->least, b->most);
}
