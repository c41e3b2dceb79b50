// SPDX-License-Identifier: MIT
//
// From an instruction of a run to its function, file and line: opens the modules that were mapped
// (symbols/), including those whose content is in the spool, and reports which are not what was
// executed.
#include "finish/places/places.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "cli/base/util.h"
#include "cli/terminal/progress.h"
#include "finish/places/places_generated.h"
#include "symbols/jitdump.h"
#include "symbols/perfmap.h"

// What is known of modules, carried from one spool to the next when one process finishes several
// (process/bgfinish.h of the engine). Only while there was no remark, which each profile's reader
// must see, and nothing was learned, which the cache must get.
static struct {
    struct symbols *symbols;
    struct symbols_module *vdso;
    bool no_demangle, remarked;
    char *cache; // the folder of the cache, or NULL
} known;
static uint64_t forgotten; // how often

static void remark(void *ctx, const char *sentence)
{
    const struct spool_header *const *h = ctx;

    known.remarked = true;
    if (!((*h)->flags & SPOOL_F_QUIET))
        warn("%s", sentence);
}

static void forget(void)
{
    symbols_free(known.symbols);
    free(known.cache);
    memset(&known, 0, sizeof(known));
    forgotten++;
}

static struct symbols *take_symbols(const struct spool_header *of, const char *cache)
{
    static const struct spool_header *h; // who is remarked to
    bool no_demangle = (of->flags & SPOOL_F_NO_DEMANGLE) != 0;
    struct symbols_options so = { no_demangle, remark, &h, cache };

    h = of;
    if (known.symbols && (known.no_demangle != no_demangle || !known.cache != !cache ||
                          (cache && strcmp(known.cache, cache) != 0)))
        forget();
    if (!known.symbols) {
        known.symbols = symbols_new(&so);
        if (!known.symbols)
            die(UTIL_USAGE, "out of memory");
        known.no_demangle = no_demangle;
        known.cache = cache ? xstrdup(cache) : NULL;
    }
    return known.symbols;
}

static size_t vdso_size(const void *image)
{
    const Elf64_Ehdr *h = image;

    return h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
}

// The run itself may have built the child's program.
static uint64_t run_start(const struct spool_header *h)
{
    return h->flags & (SPOOL_F_FORKED | SPOOL_F_EXECED) ? 0 : h->start_time;
}

// Once for a path, however many adjacent mappings it has.
static void say_lost(struct places *p, const char *path)
{
    if (!path || (p->lost && strcmp(p->lost, path) == 0))
        return;
    p->lost = path;
    known.remarked = true;
    if (!(p->s->h->flags & SPOOL_F_QUIET))
        warn("%s: had been removed before it was executed, and could not be kept; its functions "
             "are shown as ???",
             path);
}

struct same_code {
    const struct spool_file *s;
    const struct spool_map *map;
};

static bool is_same_file(const struct spool_map *a, const struct spool_map *b)
{
    return a->path == b->path && a->ino == b->ino && a->mtime == b->mtime && a->ctime == b->ctime;
}

// Whether a module is what was executed. An older or different one with the same name would give
// wrong names.
static bool is_same_code(void *ctx, struct symbols_module *module)
{
    const struct same_code *of = ctx;
    const struct spool_file *s = of->s;
    struct spool_walk_block b = { 0 };

    while (spool_walk_block(s, &b)) {
        const struct spool_map *m = b.map < s->maps_used ? &s->maps[b.map] : NULL;
        unsigned char code[SPOOL_WALK_BLOCK_BYTES];

        if (!m || !is_same_file(m, of->map) || !b.hash || b.pc < m->start || b.pc >= m->end)
            continue;
        if (!symbols_code(module, m->offset + (b.pc - m->start), code, b.bytes) ||
            spool_code_hash(code, b.bytes, b.insns) != b.hash)
            return false;
    }
    return true;
}

// Takes the content that the engine saved of a module that is gone. Held until the process ends.
static void take_kept(struct places *p, uint64_t i, struct symbols_file *f)
{
    uint64_t size, at = spool_file_held(p->s, i, &size);
    void *image = at ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, p->s->fd, (off_t)at)
                     : MAP_FAILED;

    if (image == MAP_FAILED)
        return;
    f->image = image;
    f->image_size = size;
    known.remarked = true; // not for the next spool
}

static void open_modules(struct places *p)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

    p->module = xcalloc(p->s->maps_used + 1, sizeof(*p->module));
    for (uint64_t i = 0; i < p->s->maps_used; i++) {
        const struct spool_map *m = &p->s->maps[i];
        struct same_code same = { p->s, m };
        struct symbols_file f = { .path = spool_file_text(p->s, m->path),
                                  .ino = m->ino,
                                  .mtime = m->mtime,
                                  .ctime = m->ctime,
                                  .run_start = run_start(p->s->h),
                                  .is_same = is_same_code,
                                  .ctx = &same };

        if (!(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_VDSO)) && f.path)
            take_kept(p, i, &f);
        if (m->flags & SPOOL_MAP_LOST)
            say_lost(p, f.path);
        if (m->flags & SPOOL_MAP_VDSO) {
            if (!known.vdso && vdso)
                known.vdso = symbols_image(p->symbols, "[vdso]", vdso, vdso_size(vdso));
            p->module[i] = known.vdso;
        } else if ((!(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED)) || f.image) && f.path &&
                   f.path[0] == '/' && !jitdump_is_name(f.path)) {
            p->module[i] = symbols_file(p->symbols, &f);
        }
    }
}

static void place_generated(struct places *p, uint64_t pc, struct symbols_place *at)
{
    size_t len;
    const char *name = perfmap_find(p->generated, pc, &len);

    if (name)
        at->function = symbols_number(p->symbols, name, len);
}

static bool is_generated(const struct spool_map *m)
{
    return m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED);
}

static void read_generated(struct places *p)
{
    uint64_t i = 0;

    while (i < p->s->maps_used && !is_generated(&p->s->maps[i]))
        i++;
    p->any_generated = i < p->s->maps_used;
    if (p->any_generated)
        p->generated = places_generated(p->s);
}

// Of a file that is lost say_lost() has spoken.
bool places_is_unnamed(const struct places *p, uint32_t map, uint64_t pc)
{
    const struct spool_map *m = &p->s->maps[map];
    size_t len;

    return is_generated(m) && !(m->flags & SPOOL_MAP_LOST) && !p->module[map] &&
           !(p->generated && perfmap_find(p->generated, pc, &len));
}

static void set_map(struct places *p, uint32_t map, uint64_t pc)
{
    if (map != p->map) {
        const struct spool_map *m = &p->s->maps[map];
        uint64_t start = p->module[map]
                             ? symbols_address(p->module[map], m->offset + (pc - m->start))
                             : UINT64_MAX;

        // An address outside the map (a call that led nowhere) says nothing about the others.
        p->map = pc >= m->start && pc < m->end ? map : ~0u;
        p->is_generated = p->generated && is_generated(m);
        p->known = start != UINT64_MAX;
        p->delta = start - pc;
    }
}

uint64_t places_find(struct places *p, uint32_t map, uint64_t pc, struct symbols_place *at)
{
    p->row_size = 0;
    set_map(p, map, pc);
    if (p->is_generated)
        place_generated(p, pc, at);
    if (!p->known)
        return pc;
    p->row = pc;
    p->row_size = symbols_find_range(p->module[map], pc + p->delta, at);
    return pc + p->delta;
}

const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr)
{
    set_map(p, map, pc);
    *addr = pc + p->delta;
    return p->known ? symbols_body(p->module[map], *addr) : NULL;
}

struct symbols_module *places_module(const struct places *p, const char *path)
{
    for (uint64_t i = 0; path && i < p->s->maps_used; i++) {
        const char *of = spool_file_text(p->s, p->s->maps[i].path);

        if (p->module[i] && of && strcmp(of, path) == 0)
            return p->module[i];
    }
    return NULL;
}

void places_open(struct places *p, const struct spool_file *s, const char *cache)
{
    *p = (struct places){ .s = s, .map = ~0u, .symbols = take_symbols(s->h, cache) };
    p->forgotten = forgotten;
    progress_begin("reading symbols");
    open_modules(p);
    read_generated(p);
}

void places_close(struct places *p, bool written)
{
    if (written)
        symbols_save(p->symbols);
    if (!written || known.remarked || symbols_have_learned(p->symbols))
        forget();
    perfmap_free(p->generated);
    free(p->module);
}
