// SPDX-License-Identifier: MIT
//
// Options that name functions (--toggle-collect, --fn-skip, --dump-before and their like) and that
// have met none of that name in the whole run: a misspelt one would leave a profile that is empty,
// or not what was asked for. Called when the profile is written; prints messages.
//
// The engine compares patterns with all symbols of a module, and several may have one address: a
// name that no profile shows is searched for in the modules' own tables.
#include "finish/profile/profile.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/funcname.h"
#include "cli/base/util.h"
#include "symbols/demangle.h"

struct entry {     // where a block of code was translated
    uint32_t path; // of its module, in the text of the spool
    uint64_t address;
};

struct met {
    struct places *places;
    uint32_t *function; // numbers of strings: sorted, each once
    size_t functions;
    struct entry *entry; // sorted
    size_t entries;
};

static int by_number(const void *pa, const void *pb)
{
    const uint32_t *x = pa, *y = pb;

    return *x < *y ? -1 : *x > *y;
}

static int by_address(const void *pa, const void *pb)
{
    const struct entry *x = pa, *y = pb;

    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static struct met meet(const struct spool_file *s, struct places *places)
{
    struct spool_walk_block b = { 0 };
    struct met m = { .places = places };
    size_t n = 0, keep = 0;

    while (spool_walk_block(s, &b))
        n++;
    m.function = xcalloc(n + 1, sizeof(*m.function));
    m.entry = xcalloc(n + 1, sizeof(*m.entry));
    b = (struct spool_walk_block){ 0 };
    while (m.entries < n && spool_walk_block(s, &b)) {
        struct symbols_place at = { 0 };
        uint64_t address;

        if (b.map >= s->maps_used)
            continue;
        address = places_find(places, b.map, b.pc, &at);
        m.function[m.functions++] = at.function;
        m.entry[m.entries++] = (struct entry){ s->maps[b.map].path, address };
    }
    qsort(m.function, m.functions, sizeof(*m.function), by_number);
    qsort(m.entry, m.entries, sizeof(*m.entry), by_address);
    for (size_t i = 0; i < m.functions; i++)
        if (!i || m.function[i] != m.function[keep - 1])
            m.function[keep++] = m.function[i];
    m.functions = keep;
    return m;
}

static bool is_shown(const struct met *m, const char *pattern)
{
    for (size_t i = 0; i < m->functions; i++)
        if (funcname_matches_whole(pattern, places_text(m->places, m->function[i])))
            return true;
    return false;
}

// ---- Tables of symbols ----

// By either form, as the engine does, unless profiles show the mangled one.
static bool is_named(const char *pattern, const char *symbol, bool mangled)
{
    bool yes = funcname_matches_whole(pattern, symbol);
    char *readable = yes || mangled ? NULL : demangle(symbol);

    yes = yes || (readable && funcname_matches_whole(pattern, readable));
    free(readable);
    return yes;
}

static bool table_has(const struct met *m, const char *pattern, uint32_t path, Elf *elf,
                      Elf_Scn *section)
{
    GElf_Shdr head;
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;

    if (!gelf_getshdr(section, &head) || !data ||
        (head.sh_type != SHT_SYMTAB && head.sh_type != SHT_DYNSYM))
        return false;
    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        struct entry key = { path, symbol.st_value };
        const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);

        if (name && *name && bsearch(&key, m->entry, m->entries, sizeof(key), by_address) &&
            is_named(pattern, name, m->places->s->h->flags & SPOOL_F_NO_DEMANGLE))
            return true;
    }
    return false;
}

static bool module_has(const struct met *m, const char *pattern, uint32_t path, const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    Elf *elf =
        fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    Elf_Scn *section = NULL;
    bool yes = false;

    while (elf && !yes && (section = elf_nextscn(elf, section)))
        yes = table_has(m, pattern, path, elf, section);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return yes;
}

static bool is_symbol(const struct spool_file *s, const struct met *m, const char *pattern)
{
    uint32_t last = 0;

    for (size_t i = 0; i < m->entries; i++) { // sorted: each module's are together
        const char *file = spool_file_text(s, m->entry[i].path);

        if (m->entry[i].path == last || !file || *file != '/')
            continue;
        last = m->entry[i].path;
        if (module_has(m, pattern, last, file))
            return true;
    }
    return false;
}

// ---- Messages ----

// "--fn-skip", or "--fn-group" with its number.
static void put_option(char *to, size_t size, char kind, unsigned long number)
{
    static const struct {
        char kind;
        bool numbered;
        const char *name;
    } options[] = {
        { SPOOL_PATTERN_CALLERS, true, "--separate-callers" },
        { SPOOL_PATTERN_RECS, true, "--separate-recs" },
        { SPOOL_PATTERN_GROUP, true, "--fn-group" },
        { SPOOL_PATTERN_SKIP, false, "--fn-skip" },
        { SPOOL_PATTERN_TOGGLE, false, "--toggle-collect" },
        { SPOOL_PATTERN_BEFORE, false, "--dump-before" },
        { SPOOL_PATTERN_AFTER, false, "--dump-after" },
        { SPOOL_PATTERN_ZERO, false, "--zero-before" },
    };

    snprintf(to, size, "?");
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        if (options[i].kind == kind && options[i].numbered)
            snprintf(to, size, "%s%lu", options[i].name, number);
        else if (options[i].kind == kind)
            snprintf(to, size, "%s", options[i].name);
}

static void say(const struct met *m, char kind, unsigned long number, const char *pattern)
{
    struct funcname_nearest near = { .typed = pattern };
    char option[64];

    put_option(option, sizeof(option), kind, number);
    for (size_t i = 0; i < m->functions; i++)
        if (m->function[i])
            funcname_try(&near, places_text(m->places, m->function[i]));
    if (near.best)
        warn("%s=%s: no such function was executed; is '%s' meant?", option, pattern, near.best);
    else
        warn("%s=%s: no such function was executed", option, pattern);
}

// The end of a run of one process: another one may have executed the function.
static bool is_judged(const struct spool_header *h)
{
    return h->end_kind != SPOOL_END_NONE && !h->forks &&
           !(h->flags & (SPOOL_F_FORKED | SPOOL_F_EXECED | SPOOL_F_TRACE_CHILDREN));
}

void unmatched_say(const struct spool_file *s, struct places *places)
{
    const char *list = spool_file_text(s, s->h->s_patterns), *end, *nul;
    struct met m;

    if (!list || !is_judged(s->h))
        return;
    end = s->h->patterns_bytes < s->text_used - s->h->s_patterns ? list + s->h->patterns_bytes
                                                                 : s->text + s->text_used;
    m = meet(s, places);
    for (const char *p = list; (nul = memchr(p, '\0', (size_t)(end - p))); p = nul + 1) {
        char kind = *p, *pattern;
        unsigned long number = kind ? strtoul(p + 1, &pattern, 10) : 0;

        if (!kind || *pattern != ' ' || !pattern[1])
            continue;
        pattern++;
        if (!is_shown(&m, pattern) && !is_symbol(s, &m, pattern))
            say(&m, kind, number, pattern);
    }
    free(m.function);
    free(m.entry);
}
