// SPDX-License-Identifier: MIT
//
// A package is one ELF file with the sections of many .dwo files: an index gives each unit's part
// of each section. One unit at a time becomes an ELF file of its own, whose sections point into the
// mapped package and into the program; only the unit itself and its abbreviations are copied. libdw
// reads that file.
//
// A split unit gets its addresses from its skeleton, and libdw connects the two only if it has
// opened the .dwo itself. So the unit becomes an ordinary one: the eight bytes of its id become its
// base address, DW_AT_low_pc, and the program's sections begin where its skeleton says; of the
// skeleton only the file names are needed besides. Type units are left out: inlined code has its
// names and declarations in the unit that it is inlined in.
//
// Facts: DWARF 5, sections 7.3.5 and 7.5.1; for version 4 the description of GNU's extension in
// GCC's wiki, "DebugFissionDWP".
#include "symbols/dwp.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/bytes.h"
#include "symbols/memory.h"
#include "symbols/section.h"

// The parts of a unit.
enum part { INFO, ABBREV, STR_OFFSETS, RNGLISTS, PARTS, STR = PARTS, ADDR, RANGES, SECTIONS };

// Names in the package, numbers in the index (version 2 and 5; 0: none), names as an ordinary
// section.
static const struct {
    const char *packed;
    uint32_t column[2];
    const char *name;
} parts[SECTIONS] = {
    [INFO] = { ".debug_info.dwo", { 1, 1 }, ".debug_info" },
    [ABBREV] = { ".debug_abbrev.dwo", { 3, 3 }, ".debug_abbrev" },
    [STR_OFFSETS] = { ".debug_str_offsets.dwo", { 6, 6 }, ".debug_str_offsets" },
    [RNGLISTS] = { ".debug_rnglists.dwo", { 0, 8 }, ".debug_rnglists" },
    [STR] = { ".debug_str.dwo", { 0, 0 }, ".debug_str" },
    [ADDR] = { NULL, { 0, 0 }, ".debug_addr" },
    [RANGES] = { NULL, { 0, 0 }, ".debug_ranges" },
};

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_str_offsets\0.debug_rnglists\0"
                            ".debug_str\0.debug_addr\0.debug_ranges\0.shstrtab";

struct piece {
    const unsigned char *p;
    size_t size;
};

struct dwp {
    int fd;
    Elf *elf;
    struct section index, section[STR + 1];
    unsigned version; // of the index: 2 or 5
    uint32_t columns, units, slots;
    const unsigned char *ids, *rows, *column, *offsets, *sizes;
    // The last unit found.
    uint64_t id;
    unsigned char *info, *abbrev; // copies
    struct piece piece[SECTIONS];
    Elf *image;
    Dwarf *dwarf;
    Dwarf_Die unit;
    enum dwp_answer answer;
    const char *damage;
    bool asked;
};

static uint64_t number(const unsigned char *p, size_t index, unsigned size)
{
    uint64_t v = 0;

    memcpy(&v, p + index * size, size);
    return v;
}

// ---- The index ----

static bool read_index(struct dwp *p)
{
    struct bytes r = { p->index.p, p->index.p + p->index.size, false };

    // Version 5 has two bytes for the version, and two of padding.
    p->version = (unsigned)bytes_get(&r, 4) & 0xffff;
    p->columns = (uint32_t)bytes_get(&r, 4);
    p->units = (uint32_t)bytes_get(&r, 4);
    p->slots = (uint32_t)bytes_get(&r, 4);
    if (r.bad || (p->version != 2 && p->version != 5) || p->columns > 16 ||
        (p->slots & (p->slots - 1)) != 0)
        return false;
    uint64_t table = (uint64_t)p->units * p->columns * 4;
    if ((uint64_t)p->slots * 12 + p->columns * 4 + 2 * table > (uint64_t)(r.end - r.p))
        return false;
    p->ids = r.p;
    p->rows = p->ids + (size_t)p->slots * 8;
    p->column = p->rows + (size_t)p->slots * 4;
    p->offsets = p->column + (size_t)p->columns * 4;
    p->sizes = p->offsets + table;
    return true;
}

// The row of a unit, from 1 on; 0: none.
static uint32_t find_row(const struct dwp *p, uint64_t id)
{
    uint64_t mask = p->slots - 1, step = (id >> 32 & mask) | 1, at = id & mask;

    for (uint32_t n = 0; n < p->slots; n++, at = (at + step) & mask) {
        uint32_t row = (uint32_t)number(p->rows, at, 4);

        if (row == 0)
            return 0;
        if (number(p->ids, at, 8) == id)
            return row;
    }
    return 0;
}

// A unit's part of a section; false: outside the section.
static bool find_piece(const struct dwp *p, uint32_t row, enum part part, struct piece *out)
{
    uint32_t wanted = parts[part].column[p->version == 5];

    *out = (struct piece){ NULL, 0 };
    for (uint32_t i = 0; wanted && i < p->columns; i++) {
        if (number(p->column, i, 4) != wanted)
            continue;
        size_t at = (size_t)(row - 1) * p->columns + i;
        uint64_t start = number(p->offsets, at, 4), size = number(p->sizes, at, 4);

        if (start > p->section[part].size || size > p->section[part].size - start)
            return false;
        // Less is useless, and libdw does not check for it.
        if (size >= 4)
            *out = (struct piece){ p->section[part].p + start, size };
    }
    return true;
}

struct dwp *dwp_new(int fd, const char **damage)
{
    struct dwp *p = memory_got(calloc(1, sizeof(*p)));

    *damage = "there is not memory enough";
    if (!p)
        return NULL;
    elf_version(EV_CURRENT);
    p->fd = fd;
    p->elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    *damage = "it is no ELF file";
    if (!p->elf || elf_kind(p->elf) != ELF_K_ELF)
        goto bad;
    *damage = "it is cut off, or no package: it has no index of units";
    if (!section_get(p->elf, ".debug_cu_index", &p->index))
        goto bad;
    *damage = "its index of units is damaged";
    if (!read_index(p))
        goto bad;
    for (unsigned i = 0; i <= STR; i++)
        section_get(p->elf, parts[i].packed, &p->section[i]);
    return p;
bad:
    dwp_free(p);
    return NULL;
}

// ---- A unit as a file of its own ----

static bool add_section(Elf *elf, const char *name, uint32_t type, const void *bytes, size_t size)
{
    Elf_Scn *scn = elf_newscn(elf);
    Elf_Data *data = scn ? elf_newdata(scn) : NULL;
    const char *at = memmem(names, sizeof(names), name, strlen(name) + 1);
    GElf_Shdr sh;

    if (!data || !at || !gelf_getshdr(scn, &sh))
        return false;
    data->d_buf = (void *)(uintptr_t)bytes;
    data->d_size = size;
    data->d_type = ELF_T_BYTE;
    sh.sh_name = (uint32_t)(at - names);
    sh.sh_type = type;
    sh.sh_size = size;
    return gelf_update_shdr(scn, &sh);
}

static void close_image(struct dwp *p)
{
    dwarf_end(p->dwarf);
    elf_end(p->image);
    p->dwarf = NULL;
    p->image = NULL;
}

// Nothing is written: the file never goes to its descriptor.
static bool open_image(struct dwp *p)
{
    Elf64_Ehdr *eh;

    p->image = elf_begin(p->fd, ELF_C_WRITE, NULL);
    eh = p->image ? elf64_newehdr(p->image) : NULL;
    if (!eh)
        return false;
    eh->e_ident[EI_DATA] = ELFDATA2LSB;
    eh->e_machine = EM_X86_64;
    eh->e_version = EV_CURRENT;
    if (!add_section(p->image, ".shstrtab", SHT_STRTAB, names, sizeof(names)))
        return false;
    eh->e_shstrndx = 1;
    for (unsigned i = 0; i < SECTIONS; i++)
        if (p->piece[i].size &&
            !add_section(p->image, parts[i].name, SHT_PROGBITS, p->piece[i].p, p->piece[i].size))
            return false;
    p->dwarf = dwarf_begin_elf(p->image, DWARF_C_READ, NULL);
    return p->dwarf != NULL;
}

// The header of a unit, and the offset of its first entry.
struct head {
    unsigned version, type, offset_size;
    uint64_t abbrev, id;
    size_t entry;
};

static bool read_head(const struct piece *info, struct head *h)
{
    struct bytes r = { info->p, info->p + info->size, false };
    uint64_t length = bytes_get(&r, 4);

    *h = (struct head){ .offset_size = 4 };
    if (length == 0xffffffff) {
        h->offset_size = 8;
        length = bytes_get(&r, 8);
    }
    if (length > (uint64_t)(r.end - r.p))
        return false;
    h->version = (unsigned)bytes_get(&r, 2);
    if (h->version == 5) {
        h->type = (unsigned)bytes_get(&r, 1);
        if (bytes_get(&r, 1) != 8) // the size of an address
            return false;
        h->abbrev = bytes_get(&r, h->offset_size);
        h->id = bytes_get(&r, 8);
    } else {
        h->abbrev = bytes_get(&r, h->offset_size);
        if (bytes_get(&r, 1) != 8)
            return false;
    }
    h->entry = (size_t)(r.p - info->p);
    return r.p < r.end && !r.bad;
}

// One attribute of an abbreviation; false after the last one.
static bool next_attribute(struct bytes *r, uint64_t *name, uint64_t *form)
{
    *name = bytes_uleb(r);
    *form = bytes_uleb(r);
    if (*form == DW_FORM_implicit_const)
        bytes_sleb(r);
    return !r->bad && (*name || *form);
}

// Moves to the attributes of an abbreviation.
static bool find_abbreviation(struct bytes *r, uint64_t code)
{
    uint64_t name, form, here;

    while ((here = bytes_uleb(r)) != 0) {
        bytes_uleb(r);   // the tag
        bytes_get(r, 1); // whether there are children
        if (here == code)
            return !r->bad;
        while (next_attribute(r, &name, &form))
            ;
    }
    return false;
}

// The attributes of the unit itself.
static bool find_attributes(const struct dwp *p, const struct head *h, struct bytes *r)
{
    const struct piece *info = &p->piece[INFO], *abbrev = &p->piece[ABBREV];
    struct bytes entry = { info->p + h->entry, info->p + info->size, false };
    uint64_t code = bytes_uleb(&entry);

    if (h->abbrev >= abbrev->size || entry.bad || code == 0)
        return false;
    *r = (struct bytes){ abbrev->p + h->abbrev, abbrev->p + abbrev->size, false };
    return find_abbreviation(r, code);
}

// In version 5 the id is in the header, before the first entry. The entry moves there, with a new
// attribute in front of its others.
static bool make_ordinary_5(struct dwp *p, const struct head *h, uint64_t base)
{
    static const unsigned char low_pc[] = { DW_AT_low_pc, DW_FORM_addr };
    unsigned char *entry = p->info + h->entry;
    struct bytes r;
    size_t n = 1;

    if (h->type != DW_UT_split_compile || h->id != p->id || !find_attributes(p, h, &r))
        return false;
    while (entry[n - 1] & 0x80) // the code: find_attributes() has read it
        n++;
    memmove(entry - 8, entry, n);
    memcpy(entry - 8 + n, &base, 8);
    p->info[h->entry - 8 - h->offset_size - 2] = DW_UT_compile;

    unsigned char *at = p->abbrev + (r.p - p->abbrev);
    memmove(at + sizeof(low_pc), at, (size_t)(r.end - r.p));
    memcpy(at, low_pc, sizeof(low_pc));
    p->piece[ABBREV].size += sizeof(low_pc);
    return true;
}

// In version 4 the id is an attribute, as long as an address.
static bool make_ordinary_4(struct dwp *p, const struct head *h, uint64_t base)
{
    // DW_AT_GNU_dwo_id, DW_FORM_data8; DW_AT_low_pc in as many bytes, DW_FORM_addr
    static const unsigned char id[] = { 0xb1, 0x42, 0x07 }, low_pc[] = { 0x91, 0x00, 0x01 };
    Dwarf_Attribute attr;
    Dwarf_Die entry;
    Dwarf_Word value;
    struct bytes r;
    uint64_t name, form;

    if (h->version != 4 || !open_image(p) || !dwarf_offdie(p->dwarf, h->entry, &entry) ||
        !dwarf_attr(&entry, DW_AT_GNU_dwo_id, &attr) || dwarf_formudata(&attr, &value) != 0 ||
        value != p->id || attr.form != DW_FORM_data8 || !find_attributes(p, h, &r))
        return false;
    unsigned char *at = p->abbrev + (r.p - p->abbrev);
    while (next_attribute(&r, &name, &form) && name != DW_AT_GNU_dwo_id)
        at = p->abbrev + (r.p - p->abbrev);
    if (r.p - at != sizeof(id) || memcmp(at, id, sizeof(id)) != 0)
        return false;
    memcpy(at, low_pc, sizeof(low_pc));
    memcpy(attr.valp, &base, 8);
    close_image(p);
    return true;
}

static bool copy_piece(struct piece *piece, unsigned char **copy, size_t more)
{
    *copy = memory_got(calloc(1, piece->size + more));
    if (!*copy)
        return false;
    memcpy(*copy, piece->p, piece->size);
    piece->p = *copy;
    return true;
}

// Copies end in zeros: libdw does not check the end of a string.
static bool copy_pieces(struct dwp *p)
{
    return p->piece[INFO].size && p->piece[ABBREV].size &&
           copy_piece(&p->piece[INFO], &p->info, 8) && copy_piece(&p->piece[ABBREV], &p->abbrev, 8);
}

// Up to the zero that ends the last string: libdw accepts the offset of that zero, too.
static struct piece strings_of(const struct section *s)
{
    size_t n = s->size;

    while (n && s->p[n - 1] != '\0')
        n--;
    return (struct piece){ s->p, n ? n - 1 : 0 };
}

static bool read_unit(struct dwp *p, const struct dwp_skeleton *s)
{
    struct head h;

    p->piece[STR] = strings_of(&p->section[STR]);
    p->piece[ADDR] = (struct piece){ s->addr, s->addr_size };
    p->piece[RANGES] = (struct piece){ s->ranges, s->ranges_size };
    return copy_pieces(p) && read_head(&p->piece[INFO], &h) &&
           (h.version == 5 ? make_ordinary_5(p, &h, s->low_pc)
                           : make_ordinary_4(p, &h, s->low_pc)) &&
           open_image(p) &&
           dwarf_offdie(p->dwarf, h.version == 5 ? h.entry - 8 : h.entry, &p->unit) &&
           dwarf_tag(&p->unit) == DW_TAG_compile_unit;
}

static void forget_unit(struct dwp *p)
{
    close_image(p);
    free(p->info);
    free(p->abbrev);
    p->info = p->abbrev = NULL;
}

static enum dwp_answer find_unit(struct dwp *p, const struct dwp_skeleton *s)
{
    uint32_t row = find_row(p, s->id);
    bool sound = row <= p->units;

    if (row == 0)
        return DWP_ABSENT;
    p->damage = "its index of units is damaged";
    for (unsigned i = 0; i < PARTS && sound; i++)
        sound = find_piece(p, row, i, &p->piece[i]);
    if (!sound)
        return DWP_DAMAGED;
    p->damage = "a unit of it is damaged";
    return read_unit(p, s) ? DWP_FOUND : DWP_DAMAGED;
}

enum dwp_answer dwp_unit(struct dwp *p, const struct dwp_skeleton *s, Dwarf_Die *unit,
                         const char **damage)
{
    if (!p->asked || p->id != s->id) {
        forget_unit(p);
        p->asked = true;
        p->id = s->id;
        p->answer = find_unit(p, s);
    }
    *unit = p->unit;
    *damage = p->damage;
    return p->answer;
}

void dwp_free(struct dwp *p)
{
    if (!p)
        return;
    forget_unit(p);
    for (unsigned i = 0; i <= STR; i++)
        section_fini(&p->section[i]);
    section_fini(&p->index);
    elf_end(p->elf);
    free(p);
}
