// SPDX-License-Identifier: MIT
//
// Reads symbol tables into one sorted array and searches it. Of several symbols at one address the
// shown one is Cachegrind's choice: the shortest name without its version, then one with a version,
// then the alphabetically first (observed with 3.19).
//
// DIFFERS: Cachegrind ignores labels without a type or size and does not know .eh_frame ranges: it
// shows "???".
#include "symbols/elfsym.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/memory.h"
#include "symbols/search.h"
#include "symbols/section.h"

static struct elfsym *append(struct elfsym_table *t)
{
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 1024;
        struct elfsym *grown = memory_got(realloc(t->sym, room * sizeof(*grown)));

        if (!grown)
            return NULL;
        t->sym = grown;
        t->room = room;
    }
    memset(&t->sym[t->count], 0, sizeof(*t->sym));
    return &t->sym[t->count++];
}

// By section number: the end of code sections, 0 for others.
static uint64_t *code_sections(Elf *elf, size_t *count)
{
    if (elf_getshdrnum(elf, count) != 0 || *count == 0)
        return NULL;
    uint64_t *end = memory_got(calloc(*count, sizeof(*end)));
    if (!end)
        return NULL;
    for (size_t i = 1; i < *count; i++) {
        Elf_Scn *scn = elf_getscn(elf, i);
        GElf_Shdr sh;

        if (scn && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR))
            end[i] = sh.sh_addr + sh.sh_size;
    }
    return end;
}

static void add_table(struct elfsym_table *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
                      const uint64_t *code_end, size_t sections)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;

    for (size_t i = 1; i < n; i++) {
        GElf_Sym sym;

        if (!gelf_getsym(data, (int)i, &sym))
            break;
        unsigned type = GELF_ST_TYPE(sym.st_info);
        bool typed = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;
        if ((!typed && type != STT_NOTYPE) || sym.st_shndx == SHN_UNDEF ||
            sym.st_shndx >= sections || code_end[sym.st_shndx] <= sym.st_value)
            continue;
        const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
        if (!name || !*name)
            continue;
        struct elfsym *e = append(t);
        if (!e)
            return;
        e->start = sym.st_value;
        e->name = name;
        e->weak_range = !typed || sym.st_size == 0;
        e->end = e->weak_range ? code_end[sym.st_shndx] : sym.st_value + sym.st_size;
    }
}

bool elfsym_add(struct elfsym_table *t, Elf *elf, unsigned section_type)
{
    size_t sections;
    uint64_t *code_end = code_sections(elf, &sections);
    Elf_Scn *scn = NULL;
    bool found = false;

    if (!code_end)
        return false;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr sh;

        // SHT_NOBITS: in a debug file, a table that is only in the program.
        if (!gelf_getshdr(scn, &sh) || sh.sh_type != section_type)
            continue;
        found = true;
        add_table(t, elf, scn, &sh, code_end, sections);
    }
    free(code_end);
    return found;
}

void elfsym_add_one(struct elfsym_table *t, uint64_t start, uint64_t size, const char *name)
{
    struct elfsym *e = append(t);

    if (!e)
        return;
    e->start = start;
    e->end = start + size;
    e->name = name;
}

// < 0: a is shown, not b.
static int prefer(const struct elfsym *a, const struct elfsym *b)
{
    if (a->weak_range != b->weak_range)
        return a->weak_range ? 1 : -1;
    if (!a->name || !b->name)
        return a->name ? -1 : b->name ? 1 : 0;
    const char *va = strchr(a->name, '@');
    const char *vb = strchr(b->name, '@');
    size_t la = va ? (size_t)(va - a->name) : strlen(a->name);
    size_t lb = vb ? (size_t)(vb - b->name) : strlen(b->name);
    if (la != lb)
        return la < lb ? -1 : 1;
    if (!va != !vb)
        return va ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare(const void *x, const void *y)
{
    const struct elfsym *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return prefer(a, b);
}

void elfsym_sort(struct elfsym_table *t)
{
    size_t n = 0;
    uint64_t max_end = 0;

    if (t->count)
        qsort(t->sym, t->count, sizeof(*t->sym), compare);
    for (size_t i = 0; i < t->count; i++) {
        if (n > 0 && t->sym[n - 1].start == t->sym[i].start) {
            if (!t->sym[i].weak_range && t->sym[i].end > t->sym[n - 1].end)
                t->sym[n - 1].end = t->sym[i].end;
            continue;
        }
        t->sym[n++] = t->sym[i];
    }
    t->count = n;
    for (size_t i = 0; i < n; i++) {
        struct elfsym *e = &t->sym[i];

        if (e->weak_range && i + 1 < n && e->end > t->sym[i + 1].start)
            e->end = t->sym[i + 1].start;
        if (e->end > max_end)
            max_end = e->end;
        e->max_end = max_end;
    }
    t->last = 0;
}

_Static_assert(offsetof(struct elfsym, start) == 0, "for search_upper()");

// The number of symbols that start at or before the address.
static size_t upper_bound(const struct elfsym_table *t, uint64_t address)
{
    return search_upper(t->sym, t->count, sizeof(*t->sym), address);
}

struct elfsym *elfsym_find(struct elfsym_table *t, uint64_t address)
{
    struct elfsym *weak = NULL;

    for (size_t i = upper_bound(t, address); i > 0 && t->sym[i - 1].max_end > address; i--) {
        struct elfsym *e = &t->sym[i - 1];

        if (e->end <= address)
            continue;
        if (!e->weak_range)
            return e;
        if (!weak)
            weak = e;
    }
    return weak;
}

uint64_t elfsym_next_change(const struct elfsym_table *t, uint64_t address)
{
    size_t i = upper_bound(t, address);
    uint64_t next = i < t->count ? t->sym[i].start : UINT64_MAX;

    for (; i > 0 && t->sym[i - 1].max_end > address; i--)
        if (t->sym[i - 1].end > address && t->sym[i - 1].end < next)
            next = t->sym[i - 1].end;
    return next;
}

void elfsym_fini(struct elfsym_table *t)
{
    free(t->sym);
    memset(t, 0, sizeof(*t));
}

// ---- .eh_frame_hdr: a sorted table of function starts and their FDEs ----

static int32_t s32(const unsigned char *p)
{
    int32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static uint32_t u32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static bool in_plt(Elf *elf, uint64_t address)
{
    size_t names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr sh;

        if (!gelf_getshdr(scn, &sh) || address < sh.sh_addr || address - sh.sh_addr >= sh.sh_size ||
            !(sh.sh_flags & SHF_EXECINSTR))
            continue;
        const char *n = elf_strptr(elf, names, sh.sh_name);
        return n && strncmp(n, ".plt", 4) == 0;
    }
    return false;
}

void elfsym_add_eh_frame(struct elfsym_table *t, Elf *elf)
{
    struct section hdr = { 0 }, frame = { 0 };
    const struct elfsym_table sorted = *t;

    // Version 1; pointer to .eh_frame sdata4 pcrel; count udata4; table sdata4 relative to the
    // header: what every linker writes.
    if (!section_get(elf, ".eh_frame_hdr", &hdr) || hdr.size < 12 || hdr.p[0] != 1 ||
        hdr.p[1] != 0x1b || hdr.p[2] != 0x03 || hdr.p[3] != 0x3b ||
        !section_get(elf, ".eh_frame", &frame))
        goto out;
    uint32_t n = u32(hdr.p + 8);
    if (n > (hdr.size - 12) / 8)
        n = (uint32_t)((hdr.size - 12) / 8);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = hdr.addr + (uint64_t)(int64_t)s32(hdr.p + 12 + i * 8);
        uint64_t fde = hdr.addr + (uint64_t)(int64_t)s32(hdr.p + 16 + i * 8);
        uint64_t off = fde - frame.addr;
        struct elfsym_table look = sorted;

        // length, CIE pointer, start (sdata4 pcrel), size.
        if (fde < frame.addr || frame.size < 16 || off > frame.size - 16 ||
            fde + 8 + (uint64_t)(int64_t)s32(frame.p + off + 8) != start)
            continue;
        look.sym = t->sym; // append() may have moved it; the sorted part stays first
        if (elfsym_find(&look, start) || in_plt(elf, start))
            continue;
        struct elfsym *e = append(t);
        if (!e)
            break;
        e->start = start;
        e->end = start + u32(frame.p + off + 12);
    }
out:
    section_fini(&hdr);
    section_fini(&frame);
}
