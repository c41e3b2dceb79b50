// SPDX-License-Identifier: MIT
//
// Finds the split units (split.h). libdw looks for .dwo files itself, and blocks if one is a pipe:
// so every path that it would open is checked first. dwp.c reads packages where libdw does not find
// the unit; a newer libdw (elfutils 0.191) reads the package beside the program itself.
#include "symbols/split.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/dwp.h"
#include "symbols/memory.h"
#include "symbols/section.h"

struct split {
    Elf *elf;
    const char *program, *path;
    char *real; // the path without symbolic links, as libdw uses it; NULL: none
    struct lacks *lacks;
    bool opened; // the rest is filled in
    int fd;
    char *package; // its path
    struct dwp *dwp;
    struct section addr, ranges;
    char *dwo; // the last unit's .dwo file, if it exists
    // The last answer.
    Dwarf_CU *cu;
    bool found;
    Dwarf_Die unit;
};

struct split *split_new(Elf *elf, const char *program, const char *path, struct lacks *lacks)
{
    struct split *s = memory_got(calloc(1, sizeof(*s)));

    if (!s)
        return NULL;
    *s = (struct split){ .elf = elf, .program = program, .path = path, .lacks = lacks, .fd = -1 };
    s->real = realpath(path, NULL);
    return s;
}

void split_free(struct split *s)
{
    if (!s)
        return;
    dwp_free(s->dwp);
    if (s->fd >= 0)
        close(s->fd);
    section_fini(&s->addr);
    section_fini(&s->ranges);
    free(s->real);
    free(s->package);
    free(s->dwo);
    free(s);
}

// ---- What libdw would open ----

// Whether FOLDER/NAME, or an absolute NAME, exists and is not a regular file. Remembers an existing
// .dwo file.
static bool is_odd(struct split *s, enum lacks_kind kind, const char *folder, size_t n,
                   const char *name)
{
    char *whole;
    bool odd;

    if (asprintf(&whole, "%.*s%s%s", *name == '/' ? 0 : (int)n, folder, *name == '/' ? "" : "/",
                 name) < 0) {
        memory_lacks();
        return true;
    }
    odd = debugfile_is_odd(whole);
    if (odd)
        lacks_note(s->lacks, kind, "%s is no regular file; nothing is read from it", whole);
    if (kind == LACKS_DWO_REGULAR && !odd && !s->dwo && access(whole, F_OK) == 0)
        s->dwo = whole;
    else
        free(whole);
    return odd;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;

    return dwarf_attr(die, attribute, &attr) ? dwarf_formstring(&attr) : NULL;
}

static bool libdw_reads_packages(void)
{
    unsigned major = 0, minor = 0;

    return sscanf(dwfl_version(NULL), "%u.%u", &major, &minor) == 2 && (major > 0 || minor >= 191);
}

// Whether libdw may be asked for the unit: it looks for the name in the folder of the file that it
// reads, then in the compilation folder.
static bool may_ask_libdw(struct split *s, Dwarf_Die *skeleton)
{
    const char *name = text_of(skeleton, DW_AT_dwo_name);
    const char *folder = text_of(skeleton, DW_AT_comp_dir);
    const char *path = s->real ? s->real : s->path, *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    char *whole = NULL;
    bool odd;

    if (libdw_reads_packages() && asprintf(&whole, "%s.dwp", path) >= 0) {
        odd = is_odd(s, LACKS_PACKAGE_REGULAR, "", 0, whole);
        free(whole);
        if (odd)
            return false;
    }
    if (!name)
        name = text_of(skeleton, DW_AT_GNU_dwo_name);
    if (!name || !*name)
        return true;
    if (is_odd(s, LACKS_DWO_REGULAR, path, n, name))
        return false;
    if (!folder || *name == '/')
        return true;
    if (*folder == '/')
        return !is_odd(s, LACKS_DWO_REGULAR, folder, strlen(folder), name);
    if (asprintf(&whole, "%.*s/%s", (int)n, path, folder) < 0) {
        memory_lacks();
        return false;
    }
    odd = is_odd(s, LACKS_DWO_REGULAR, whole, strlen(whole), name);
    free(whole);
    return !odd;
}

// ---- The package ----

// libdw has decompressed them in place; the old compressed form has a name of its own.
static void get_section(Elf *elf, const char *name, const char *old, struct section *out)
{
    if (!section_get(elf, name, out))
        section_get(elf, old, out);
}

static void note_package(struct split *s, const char *damage)
{
    lacks_note(s->lacks, LACKS_PACKAGE_SOUND,
               "%s, the package of its split debug information, is not read: %s; calls of "
               "inlined functions are not shown",
               s->package, damage);
}

static void open_package(struct split *s)
{
    char *odd = NULL;
    const char *damage;

    s->opened = true;
    s->fd = debugfile_open_package(s->program, s->path, &s->package, &odd);
    if (odd)
        lacks_note(s->lacks, LACKS_PACKAGE_REGULAR,
                   "%s is no regular file; nothing is read from it", odd);
    free(odd);
    if (s->fd < 0)
        return;
    s->dwp = dwp_new(s->fd, &damage);
    if (!s->dwp) {
        note_package(s, damage);
        return;
    }
    get_section(s->elf, ".debug_addr", ".zdebug_addr", &s->addr);
    get_section(s->elf, ".debug_ranges", ".zdebug_ranges", &s->ranges);
}

static size_t offset_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;
    Dwarf_Word value;

    return dwarf_attr(die, attribute, &attr) && dwarf_formudata(&attr, &value) == 0 ? value : 0;
}

// From the offset on; nothing if it is outside the section.
static const unsigned char *section_from(const struct section *section, size_t offset, size_t *size)
{
    *size = offset < section->size ? section->size - offset : 0;
    return *size ? section->p + offset : NULL;
}

static bool find_packed(struct split *s, Dwarf_Die *skeleton, uint64_t id)
{
    struct dwp_skeleton from = { .id = id };
    Dwarf_Addr low_pc;
    const char *damage;
    size_t addr = offset_of(skeleton, DW_AT_addr_base);

    if (!addr)
        addr = offset_of(skeleton, DW_AT_GNU_addr_base);
    from.addr = section_from(&s->addr, addr, &from.addr_size);
    from.ranges =
        section_from(&s->ranges, offset_of(skeleton, DW_AT_GNU_ranges_base), &from.ranges_size);
    if (dwarf_lowpc(skeleton, &low_pc) == 0)
        from.low_pc = low_pc;
    switch (dwp_unit(s->dwp, &from, &s->unit, &damage)) {
    case DWP_FOUND: return true;
    case DWP_ABSENT:
        lacks_note(s->lacks, LACKS_PACKAGE_SAME,
                   "%s has not all of its split debug information: it is of another build; calls "
                   "of inlined functions are not shown",
                   s->package);
        return false;
    case DWP_DAMAGED: note_package(s, damage); return false;
    }
    return false;
}

static bool find(struct split *s, Dwarf_Die *skeleton)
{
    uint64_t id;
    uint8_t type;

    if (dwarf_cu_info(skeleton->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) != 0 ||
        type != DW_UT_skeleton)
        return false;
    free(s->dwo);
    s->dwo = NULL;
    if (may_ask_libdw(s, skeleton) &&
        dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, &s->unit, NULL, NULL, NULL) == 0 &&
        s->unit.addr)
        return true;
    if (!s->opened)
        open_package(s);
    if (s->dwp)
        return find_packed(s, skeleton, id);
    if (s->dwo)
        lacks_note(s->lacks, LACKS_DWO_SAME,
                   "%s is of another build, or has units of types, too (-fdebug-types-section), "
                   "which elfutils does not read there; calls of inlined functions are not shown",
                   s->dwo);
    else if (!s->package)
        lacks_note(s->lacks, LACKS_SPLIT,
                   "files of its split debug information (.dwo) are missing, and there is no "
                   "package of them (.dwp); calls of inlined functions are not shown");
    return false;
}

bool split_unit(struct split *s, Dwarf_Die *skeleton, Dwarf_Die *unit)
{
    if (s->cu != skeleton->cu) {
        s->cu = skeleton->cu;
        s->found = find(s, skeleton);
    }
    *unit = s->unit;
    return s->found;
}
