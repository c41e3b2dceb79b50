// SPDX-License-Identifier: MIT
//
// From counters to the profile: every instruction gets its function, file and line (symbols/),
// equal places are summed, output_lines.c writes the file. Also writes --dump-counts.
#include "finish/profile/profile.h"
#include "finish/sums/call_graph.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "cli/shared/file.h"
#include "cli/shared/progress.h"
#include "cli/shared/util.h"
#include "symbols/jitdump.h"
#include "symbols/perfmap.h"
#include "symbols/symbols.h"

struct executed {
    uint64_t pc, count;
    uint32_t map;
};

struct builder {
    struct spool_file *s;
    struct symbols *symbols;
    struct symbols_module **module; // by map; NULL: anonymous
    struct sums_cell *cell;
    size_t cells, cells_room, cell_size;
    uint32_t *slot; // hash table of cells plus 1
    size_t slots;
    struct sums_cell *last;
    // `last` is where all instructions of this map are whose pc is less than row_size behind `row`.
    uint64_t row, row_size;
    struct executed *executed; // for --dump-counts
    size_t executed_count, executed_room;
    bool want_executed;
    // The block being walked: address in its module of the map's start.
    uint32_t map;
    uint64_t map_delta; // link-time address minus pc
    bool map_known;
    struct perfmap *generated; // names of generated code; NULL: none are known
    bool map_generated;
    const char *lost; // the path that was said last to be lost, or NULL
    struct call_graph *graph; // with --calls=yes, instead of cells
};

// What is known of modules, from one spool to the next of those that one process finishes (clerk.h
// of the engine): where nothing was remarked upon, which each profile's reader is to be told, and
// nothing learned, which is for the cache.
static struct {
    struct symbols *symbols;
    struct symbols_module *vdso;
    bool no_demangle, remarked;
    char *cache; // the folder of the cache, or NULL
} known;

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

static size_t hash(struct symbols_place at)
{
    uint64_t h = (uint64_t)at.function * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ at.file) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ at.line) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(h ^ (h >> 32));
}

static bool same(struct symbols_place a, struct symbols_place b)
{
    return a.function == b.function && a.file == b.file && a.line == b.line;
}

static struct sums_cell *cell(const struct builder *b, size_t n)
{
    return sums_cell_at(b->cell, b->cell_size, n);
}

static void grow(struct builder *b)
{
    b->slots = b->slots ? b->slots * 2 : 4096;
    free(b->slot);
    b->slot = xcalloc(b->slots, sizeof(*b->slot));
    for (size_t n = 0; n < b->cells; n++) {
        size_t i = hash(cell(b, n)->at) & (b->slots - 1);

        while (b->slot[i])
            i = (i + 1) & (b->slots - 1);
        b->slot[i] = (uint32_t)n + 1;
    }
}

static struct sums_cell *get_cell(struct builder *b, struct symbols_place at)
{
    size_t i;

    if (b->last && same(b->last->at, at))
        return b->last;
    if (b->cells * 2 >= b->slots)
        grow(b);
    for (i = hash(at) & (b->slots - 1); b->slot[i]; i = (i + 1) & (b->slots - 1))
        if (same(cell(b, b->slot[i] - 1)->at, at))
            return b->last = cell(b, b->slot[i] - 1);
    if (b->cells == b->cells_room) {
        b->cells_room = b->cells_room ? b->cells_room * 2 : 4096;
        b->cell = xrealloc(b->cell, b->cells_room * b->cell_size);
    }
    b->slot[i] = (uint32_t)++b->cells;
    b->last = cell(b, b->cells - 1);
    memset(b->last, 0, b->cell_size);
    b->last->at = at;
    return b->last;
}

static size_t vdso_size(const void *image)
{
    const Elf64_Ehdr *h = image;

    return h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
}

// A child may have been built by the run itself.
static uint64_t run_start(const struct spool_header *h)
{
    return h->flags & (SPOOL_F_FORKED | SPOOL_F_EXECED) ? 0 : h->start_time;
}

// Once for a path, of however many mappings that lie side by side.
static void say_lost(struct builder *b, const char *path)
{
    if (!path || (b->lost && strcmp(b->lost, path) == 0))
        return;
    b->lost = path;
    known.remarked = true;
    if (!(b->s->h->flags & SPOOL_F_QUIET))
        warn("%s: had been removed before it was executed, and could not be kept; its functions "
             "are shown as ???",
             path);
}

// One module among those of the run.
struct same_code {
    const struct spool_file *s;
    const struct spool_map *map;
};

static bool is_same_file(const struct spool_map *a, const struct spool_map *b)
{
    return a->path == b->path && a->ino == b->ino && a->mtime == b->mtime && a->ctime == b->ctime;
}

// Whether a module is what was executed. An older one, or another, of the same name would give
// names that are wrong.
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

// What the engine has kept of a module that is not there any more. Stays until the process ends.
static void take_kept(struct builder *b, uint64_t i, struct symbols_file *f)
{
    uint64_t size, at = spool_file_kept(b->s, i, &size);
    void *image = at ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, b->s->fd, (off_t)at)
                     : MAP_FAILED;

    if (image == MAP_FAILED)
        return;
    f->image = image;
    f->image_size = size;
    known.remarked = true; // not for the next spool
}

static void open_modules(struct builder *b)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

    b->module = xcalloc(b->s->maps_used + 1, sizeof(*b->module));
    for (uint64_t i = 0; i < b->s->maps_used; i++) {
        const struct spool_map *m = &b->s->maps[i];
        struct same_code same = { b->s, m };
        struct symbols_file f = { .path = spool_file_text(b->s, m->path),
                                  .ino = m->ino,
                                  .mtime = m->mtime,
                                  .ctime = m->ctime,
                                  .run_start = run_start(b->s->h),
                                  .is_same = is_same_code,
                                  .ctx = &same };

        if (!(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_VDSO)) && f.path)
            take_kept(b, i, &f);
        if (m->flags & SPOOL_MAP_LOST)
            say_lost(b, f.path);
        if (m->flags & SPOOL_MAP_VDSO) {
            if (!known.vdso && vdso)
                known.vdso = symbols_image(b->symbols, "[vdso]", vdso, vdso_size(vdso));
            b->module[i] = known.vdso;
        } else if ((!(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED)) || f.image) && f.path &&
                   f.path[0] == '/' && !jitdump_is_name(f.path)) {
            b->module[i] = symbols_file(b->symbols, &f);
        }
    }
}

static void note_executed(struct builder *b, const struct spool_walk_insn *in)
{
    if (b->executed_count == b->executed_room) {
        b->executed_room = b->executed_room ? b->executed_room * 2 : 65536;
        b->executed = xrealloc(b->executed, b->executed_room * sizeof(*b->executed));
    }
    b->executed[b->executed_count++] = (struct executed){ in->pc, in->executed, in->map };
}

static void place_generated(struct builder *b, uint64_t pc, struct symbols_place *at)
{
    size_t len;
    const char *name = perfmap_find(b->generated, pc, &len);

    if (name)
        at->function = symbols_number(b->symbols, name, len);
}

static bool is_generated(const struct spool_map *m)
{
    return m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED);
}

static void read_generated(struct builder *b)
{
    uint64_t i = 0;

    while (i < b->s->maps_used && !is_generated(&b->s->maps[i]))
        i++;
    if (i < b->s->maps_used)
        b->generated = places_generated(b->s);
}

static void set_map(struct builder *b, uint32_t map, uint64_t pc)
{
    if (map != b->map) {
        const struct spool_map *m = &b->s->maps[map];
        uint64_t start = b->module[map]
                             ? symbols_address(b->module[map], m->offset + (pc - m->start))
                             : UINT64_MAX;

        // Of an address that is not in it (a call that led nowhere), nothing follows for the rest.
        b->map = pc >= m->start && pc < m->end ? map : ~0u;
        b->map_generated = b->generated && is_generated(m);
        b->map_known = start != UINT64_MAX;
        b->map_delta = start - pc;
    }
}

static uint64_t place(void *ctx, uint32_t map, uint64_t pc, struct symbols_place *at)
{
    struct builder *b = ctx;

    set_map(b, map, pc);
    if (b->map_generated)
        place_generated(b, pc, at);
    if (!b->map_known)
        return pc;
    b->row = pc;
    b->row_size = symbols_find_range(b->module[map], pc + b->map_delta, at);
    return pc + b->map_delta;
}

const struct symbols_body *places_body(void *ctx, uint32_t map, uint64_t pc, uint64_t *addr)
{
    struct builder *b = ctx;

    set_map(b, map, pc);
    *addr = pc + b->map_delta;
    return b->map_known ? symbols_body(b->module[map], *addr) : NULL;
}

const char *places_text(const void *ctx, uint32_t number)
{
    const struct builder *b = ctx;

    return symbols_string(b->symbols, number);
}

static void next_row(struct builder *b, const struct spool_walk_insn *in)
{
    struct symbols_place at = { 0 };

    b->row_size = 0;
    place(b, in->map, in->pc, &at);
    get_cell(b, at);
}

static void add_cell(struct builder *b, const struct spool_walk_insn *in)
{
    // Most instructions are of the line of the one before.
    if (in->map != b->map || in->pc - b->row >= b->row_size)
        next_row(b, in);
    spool_walk_add(in, b->last->counts);
}

static void add_insn(void *ctx, const struct spool_walk_insn *in)
{
    struct builder *b = ctx;

    if (b->graph)
        call_graph_insn(b->graph, in);
    else
        add_cell(b, in);
    if (b->want_executed && in->executed)
        note_executed(b, in);
}

// Nothing else is wanted.
static void add_only_cell(void *ctx, const struct spool_walk_insn *in)
{
    add_cell(ctx, in);
}

// ---- --dump-counts ----

static int compare_executed(const void *x, const void *y)
{
    const struct executed *a = x, *b = y;

    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->map < b->map ? -1 : a->map > b->map;
}

// They are sorted: instructions of the same address and module are one line.
static void write_executed(FILE *f, const void *ctx)
{
    const struct builder *b = ctx;

    for (size_t i = 0; i < b->executed_count; i++) {
        const struct executed *x = &b->executed[i];
        const struct spool_map *m = &b->s->maps[x->map];
        char *path = spool_file_line(spool_file_text(b->s, m->path));
        uint64_t count = x->count;

        while (i + 1 < b->executed_count && compare_executed(x, &b->executed[i + 1]) == 0)
            count += b->executed[++i].count;
        fprintf(f, "%llx %llu %s+%llx\n", (unsigned long long)x->pc, (unsigned long long)count,
                *path                       ? path
                : m->flags & SPOOL_MAP_VDSO ? "[vdso]"
                                            : "[anonymous]",
                (unsigned long long)(m->offset + (x->pc - m->start)));
        free(path);
    }
}

static int dump_executed(struct builder *b, const char *dump, char *err, size_t err_size)
{
    int rc;

    if (b->executed_count)
        qsort(b->executed, b->executed_count, sizeof(*b->executed), compare_executed);
    rc = file_write(dump, write_executed, b);
    if (rc != 0)
        snprintf(err, err_size, "%s: cannot be written: %s", dump, strerror(-rc));
    return rc != 0 ? -1 : 0;
}

// The call graph of the threads that the spool is set to.
static int write_calls(struct builder *b, const char *output, struct finish_totals *totals,
                       char *err, size_t err_size)
{
    b->graph = call_graph_begin(b->s, place, b, totals);
    totals->bad_records = spool_walk_counts(b->s, add_insn, b);
    progress_end();
    return call_graph_end(b->graph, output, err, err_size);
}

char *output_names_thread(const char *output, uint32_t slot)
{
    return xasprintf("%s-%02u", output, slot + 1);
}

// A profile for each thread that has counted anything; the totals are all of theirs.
static int write_threads(struct builder *b, const char *output, struct finish_totals *totals,
                         char *err, size_t err_size)
{
    uint64_t threads =
        b->s->h->threads_used < SPOOL_THREADS_MAX ? b->s->h->threads_used : SPOOL_THREADS_MAX;
    int rc = 0;

    for (uint32_t slot = 0; rc == 0 && (slot == 0 || slot < threads); slot++) {
        char *name = output_names_thread(output, slot);
        struct finish_totals own = { 0 };

        if (!spool_counters_thread(b->s, slot)) {
            snprintf(err, err_size, "%s: not written: the counters cannot be read", name);
            rc = -1;
        } else {
            rc = write_calls(b, name, &own, err, err_size);
        }
        for (size_t i = 0; i < FINISH_EVENTS; i++)
            totals->counts[i] += own.counts[i];
        totals->bad_records = own.bad_records;
        free(name);
    }
    return rc;
}

int profile_write(struct spool_file *s, const struct output_files *files,
                  struct finish_totals *totals, char *err, size_t err_size)
{
    struct builder b = { .s = s, .want_executed = files->dump != NULL, .map = ~0u };
    int rc;

    memset(totals, 0, sizeof(*totals));
    size_t events = 0; // one more than the last that is counted
    for (int e = 0; e < FINISH_EVENTS; e++)
        if (finish_event_counted((enum finish_event)e, s->h->flags))
            events = (size_t)e + 1;
    b.cell_size = sums_cell_size(events);
    b.symbols = take_symbols(s->h, files->cache);
    progress_begin("reading symbols");
    open_modules(&b);
    read_generated(&b);
    if ((s->h->flags & SPOOL_F_CALLS) && (s->h->flags & SPOOL_F_BY_THREAD)) {
        rc = write_threads(&b, files->output, totals, err, err_size);
    } else if (s->h->flags & SPOOL_F_CALLS) {
        rc = write_calls(&b, files->output, totals, err, err_size);
    } else {
        totals->bad_records = spool_walk(s, b.want_executed ? add_insn : add_only_cell, &b);
        progress_end();
        rc = symbols_is_short() ? -1 : 0;
        if (rc != 0)
            snprintf(err, err_size, "%s: not written: out of memory", files->output);
        else
            rc = output_lines(s, b.symbols, b.cell, b.cell_size, b.cells, totals, files->output,
                              err, err_size);
    }
    if (rc == 0 && files->dump)
        rc = dump_executed(&b, files->dump, err, err_size);
    if (rc == 0)
        rc = output_code(s, files, err, err_size);
    // Last: whatever happens to the process here, the profile is written.
    if (rc == 0)
        symbols_save(b.symbols);
    if (rc != 0 || known.remarked || symbols_have_learned(b.symbols))
        forget();
    perfmap_free(b.generated);
    free(b.module);
    free(b.cell);
    free(b.slot);
    free(b.executed);
    return rc;
}
