// SPDX-License-Identifier: MIT
//
// Modules: opens a file and its debug file once, chooses where symbols and lines come from, and
// answers symbols_find from the range of the last answer where it still holds. Interface and rules
// in symbols.h.
#include "symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/cache.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/elfsym.h"
#include "symbols/lines.h"
#include "symbols/linetab.h"
#include "symbols/memory.h"
#include "symbols/minidebug.h"
#include "symbols/section.h"
#include "symbols/strings.h"

struct symbols_module {
    struct symbols_module *next;
    struct symbols *owner;
    char *name;          // the path
    uint64_t ino, mtime; // of symbols_file
    int fd, debug_fd;
    Elf *elf, *debug; // NULL: not there
    Elf *plain; // the one with the lines, without zstd-compressed sections, where libdw needs that
    void *plain_image;
    struct cache_module *cache;
    const void *image; // of a module in memory
    size_t image_size;
    const struct cachefile_segment *load; // PT_LOAD segments
    size_t loads;
    struct cachefile_segment *own_load; // to be freed
    bool opened;                        // symbols and lines are set up at the first question
    struct elfsym_table syms;
    struct linetab *linetab; // all lines, or:
    struct lines *lines;     // libdw's
    bool lines_tried;
    // The last answers and the ranges for which they hold.
    struct cachefile_answer last;
    uint64_t sym_start, sym_end;
    struct elfsym *sym;
    struct lines_row row;
};

struct symbols {
    struct symbols_options o;
    struct strings strings;
    struct cache *cache; // NULL: none
    struct symbols_module *modules;
    struct symbols_module none; // where there is no memory for one
};

__attribute__((format(printf, 2, 3))) static void remark(struct symbols *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (!s->o.remark)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->o.remark(s->o.ctx, text);
}

struct symbols *symbols_new(const struct symbols_options *o)
{
    struct symbols *s = memory_got(calloc(1, sizeof(*s)));

    if (!s)
        return NULL;
    elf_version(EV_CURRENT);
    s->o = *o;
    s->none = (struct symbols_module){ .owner = s, .fd = -1, .debug_fd = -1, .opened = true };
    if (!strings_init(&s->strings)) {
        symbols_free(s);
        return NULL;
    }
    if (o->cache)
        s->cache = cache_new(o->cache, o->no_demangle, &s->strings);
    return s;
}

void symbols_free(struct symbols *s)
{
    if (!s)
        return;
    while (s->modules) {
        struct symbols_module *m = s->modules;

        s->modules = m->next;
        linetab_free(m->linetab);
        lines_free(m->lines);
        elfsym_fini(&m->syms);
        elf_end(m->plain);
        free(m->plain_image);
        elf_end(m->debug);
        elf_end(m->elf);
        if (m->debug_fd >= 0)
            close(m->debug_fd);
        if (m->fd >= 0)
            close(m->fd);
        cache_module_free(m->cache);
        free(m->own_load);
        free(m->name);
        free(m);
    }
    cache_free(s->cache);
    strings_fini(&s->strings);
    free(s);
}

uint32_t symbols_number(struct symbols *s, const char *text, size_t len)
{
    return strings_add(&s->strings, text, len);
}

const char *symbols_string(const struct symbols *s, uint32_t number)
{
    return s->strings.text[number];
}

bool symbols_is_short(void)
{
    return memory_is_short();
}

static struct symbols_module *module_new(struct symbols *s, const char *name)
{
    struct symbols_module *m = memory_got(calloc(1, sizeof(*m)));
    char *copy = memory_got(strdup(name));

    if (!m || !copy) {
        free(m);
        free(copy);
        return &s->none;
    }
    m->name = copy;
    m->owner = s;
    m->fd = m->debug_fd = -1;
    m->next = s->modules;
    s->modules = m;
    return m;
}

static void read_segments(struct symbols_module *m)
{
    size_t n;

    if (!m->elf || elf_getphdrnum(m->elf, &n) != 0)
        return;
    m->own_load = memory_got(calloc(n ? n : 1, sizeof(*m->own_load)));
    m->load = m->own_load;
    for (size_t i = 0; m->load && i < n; i++) {
        GElf_Phdr ph;

        if (gelf_getphdr(m->elf, (int)i, &ph) && ph.p_type == PT_LOAD)
            m->own_load[m->loads++] = (struct cachefile_segment){ .offset = ph.p_offset,
                                                                  .vaddr = ph.p_vaddr,
                                                                  .filesz = ph.p_filesz,
                                                                  .flags = ph.p_flags };
    }
}

// What the cache does not know is the work of libelf.
static void open_elf(struct symbols_module *m)
{
    if (m->elf || (m->fd < 0 && !m->image))
        return;
    m->elf = m->image ? elf_memory((char *)(uintptr_t)m->image, m->image_size)
                      : elf_begin(m->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    if (m->elf && elf_kind(m->elf) != ELF_K_ELF) {
        elf_end(m->elf);
        m->elf = NULL;
    }
}

static void get_segments(struct symbols_module *m)
{
    const struct cachefile_segment *known = m->cache ? cache_segments(m->cache, &m->loads) : NULL;

    if (known) {
        // A copy: the cache's own goes away with a file that proves to be damaged.
        m->own_load = memory_got(calloc(m->loads + 1, sizeof(*known)));
        m->load = m->own_load;
        if (m->own_load)
            memcpy(m->own_load, known, m->loads * sizeof(*known));
        else
            m->loads = 0;
        return;
    }
    open_elf(m);
    read_segments(m);
}

struct symbols_module *symbols_file(struct symbols *s, const struct symbols_file *f)
{
    struct symbols_module *m;

    for (m = s->modules; m; m = m->next)
        if (m->ino == f->ino && m->mtime == f->mtime && strcmp(m->name, f->path) == 0)
            return m;
    m = module_new(s, f->path);
    if (m == &s->none)
        return m;
    m->ino = f->ino;
    m->mtime = f->mtime;
    m->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (m->fd < 0 || fstat(m->fd, &st) != 0) {
        remark(s, "%s: %s; its functions are shown as ???", f->path, strerror(errno));
        return m;
    }
    if (f->ino && (uint64_t)st.st_ino != f->ino) {
        close(m->fd); // nothing of it is read
        m->fd = -1;
        remark(
            s,
            "%s: was replaced by another file since it was mapped; its functions are shown as ???",
            f->path);
        return m;
    }
    uint64_t mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    if (f->mtime ? mtime != f->mtime : f->run_start && mtime > f->run_start)
        remark(s, "%s: was modified after the run began; functions and lines may be wrong",
               f->path);
    if (s->cache)
        m->cache = cache_file(s->cache, f->path, m->fd, &st);
    get_segments(m);
    return m;
}

struct symbols_module *symbols_image(struct symbols *s, const char *name, const void *image,
                                     size_t size)
{
    struct symbols_module *m = module_new(s, name);

    if (m == &s->none)
        return m;
    m->image = image;
    m->image_size = size;
    if (s->cache)
        m->cache = cache_image(s->cache, name, image, size);
    get_segments(m);
    return m;
}

uint64_t symbols_address(struct symbols_module *m, uint64_t file_offset)
{
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *ph = &m->load[i];
        // A segment's mapping begins and ends at page borders.
        uint64_t start = ph->offset & ~UINT64_C(0xfff);
        uint64_t end = (ph->offset + ph->filesz + 0xfff) & ~UINT64_C(0xfff);

        if ((ph->flags & PF_X) && file_offset >= start && file_offset < end)
            return ph->vaddr - ph->offset + file_offset;
    }
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *ph = &m->load[i];

        if (file_offset >= (ph->offset & ~UINT64_C(0xfff)) && file_offset < ph->offset + ph->filesz)
            return ph->vaddr - ph->offset + file_offset;
    }
    return UINT64_MAX;
}

// ---- Setting up a module when it is first asked ----

static bool has_lines(Elf *elf)
{
    return section_exists(elf, ".debug_line") || section_exists(elf, ".zdebug_line");
}

// The file with the line tables; NULL: none.
static Elf *lines_elf(const struct symbols_module *m)
{
    if (m->elf && has_lines(m->elf))
        return m->elf;
    return m->debug && has_lines(m->debug) ? m->debug : NULL;
}

static struct lines *get_lines(struct symbols_module *m)
{
    Elf *elf = lines_elf(m);

    if (m->lines_tried)
        return m->lines;
    m->lines_tried = true;
    if (!elf)
        return NULL;
    m->plain = section_without_zstd(elf, &m->plain_image);
    m->lines = lines_new(m->plain ? m->plain : elf, &m->owner->strings);
    return m->lines;
}

static void note_place(void *ctx, const char *path)
{
    struct symbols_module *m = ctx;

    if (m->cache)
        cache_witness(m->cache, path);
}

// libdebuginfod keeps a server's no for ten minutes, too.
enum { SERVERS_NO = 600 };

static void open_debug_file(struct symbols_module *m)
{
    struct debugfile_watch watch = { note_place, m, false };

    m->debug_fd = debugfile_open(m->name, m->elf, &watch);
    if (m->debug_fd >= 0)
        m->debug = elf_begin(m->debug_fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    else if (watch.asked && m->cache)
        cache_expires(m->cache, SERVERS_NO);
}

// Where all that can be known costs little it is kept at once: the line programs of libc are 1.5
// MB. Otherwise function by function, as they are asked for.
static bool is_small(const struct symbols_module *m)
{
    enum { LINES = 4 << 20, SYMBOLS = 200000 };

    return !m->lines && (!m->linetab || linetab_size(m->linetab) <= LINES) &&
           m->syms.count <= SYMBOLS;
}

static void want_all(struct symbols_module *m)
{
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *l = &m->load[i];
        uint64_t start = l->vaddr & ~UINT64_C(0xfff);

        if (l->flags & PF_X)
            cache_want(m->cache, start, (l->vaddr + l->filesz + 0xfff) & ~UINT64_C(0xfff));
    }
}

static void open_module(struct symbols_module *m)
{
    m->opened = true;
    open_elf(m);
    if (!m->elf)
        return;
    if ((!has_lines(m->elf) || !section_exists(m->elf, ".symtab")) && m->fd >= 0)
        open_debug_file(m);
    bool symtab = elfsym_add(&m->syms, m->elf, SHT_SYMTAB);
    if (m->debug)
        symtab |= elfsym_add(&m->syms, m->debug, SHT_SYMTAB);
    if (!symtab && section_exists(m->elf, ".gnu_debugdata"))
        minidebug_add(&m->syms, &m->owner->strings, m->name);
    elfsym_add(&m->syms, m->elf, SHT_DYNSYM);
    elfsym_sort(&m->syms);
    elfsym_add_eh_frame(&m->syms, m->elf);
    elfsym_sort(&m->syms);
    if (lines_elf(m))
        m->linetab = linetab_new(lines_elf(m), &m->owner->strings);
    if (!m->linetab)
        get_lines(m);
    if (m->cache && is_small(m))
        want_all(m);
}

static bool is_below_main(const char *name)
{
    static const char *const below[] = { "_start", "__libc_start_main", "__libc_start_call_main",
                                         "generic_start_main" };

    for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
        if (strcmp(name, below[i]) == 0)
            return true;
    return false;
}

static uint32_t name_function(struct symbols_module *m, const struct elfsym *e)
{
    struct symbols *s = m->owner;
    char generated[300];
    char *readable = NULL;
    const char *name = e->name;

    if (!name) {
        const char *slash = strrchr(m->name, '/');

        snprintf(generated, sizeof(generated), "0x%llx (%.200s)", (unsigned long long)e->start,
                 slash ? slash + 1 : m->name);
        name = generated;
    } else if (is_below_main(name)) {
        name = "(below main)"; // as Cachegrind calls what runs before main
    } else if (!s->o.no_demangle) {
        readable = demangle(name);
        if (readable)
            name = readable;
    }
    uint32_t number = strings_add(&s->strings, name, strlen(name));
    free(readable);
    return number;
}

static void find_symbol(struct symbols_module *m, uint64_t address)
{
    m->sym = elfsym_find(&m->syms, address);
    m->sym_start = address;
    m->sym_end = elfsym_next_change(&m->syms, address);
    if (m->sym && m->sym->number == 0)
        m->sym->number = name_function(m, m->sym);
}

// The answer and the range for which it holds, from the module itself.
static void resolve(void *ctx, uint64_t address, struct cachefile_answer *out)
{
    struct symbols_module *m = ctx;

    if (!m->opened)
        open_module(m);
    if (address < m->sym_start || address >= m->sym_end)
        find_symbol(m, address);
    if (address < m->row.start || address >= m->row.end) {
        m->row = (struct lines_row){ .start = address, .end = UINT64_MAX };
        if (m->linetab)
            linetab_find(m->linetab, address, &m->row);
        else if (m->lines)
            lines_find(m->lines, address, m->sym != NULL, &m->row);
        // What has no name is not looked for everywhere: the next function may be.
        if (m->row.end > m->sym_end)
            m->row.end = m->sym_end;
    }
    out->start = m->row.start > m->sym_start ? m->row.start : m->sym_start;
    out->end = m->row.end < m->sym_end ? m->row.end : m->sym_end;
    out->function = m->sym ? m->sym->number : 0;
    out->file = m->row.file;
    out->line = m->row.line;
}

// What a question that was not answered lets be known from now on: the function, or what lies
// between two of them.
static void want_around(struct symbols_module *m, uint64_t address)
{
    uint64_t start = address, end = m->sym_end;

    if (m->sym) {
        start = m->sym->start;
        end = m->sym->end;
    }
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *l = &m->load[i];
        uint64_t last = (l->vaddr + l->filesz + 0xfff) & ~UINT64_C(0xfff);

        if (address >= (l->vaddr & ~UINT64_C(0xfff)) && address < last && end > last)
            end = last;
    }
    // In no segment: this address alone.
    if (end - start > UINT32_MAX)
        end = address + 1;
    cache_want(m->cache, start, end);
}

void symbols_find(struct symbols_module *m, uint64_t address, struct symbols_place *out)
{
    if (address < m->last.start || address >= m->last.end) {
        if (!m->cache || !cache_find(m->cache, address, &m->last)) {
            resolve(m, address, &m->last);
            if (m->cache)
                want_around(m, address);
        }
    }
    *out = (struct symbols_place){ m->last.function, m->last.file, m->last.line };
}

void symbols_save(struct symbols *s)
{
    for (struct symbols_module *m = s->modules; m; m = m->next)
        if (m->cache)
            cache_save(m->cache, m->load, m->loads, resolve, m);
}

size_t symbols_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                       size_t max)
{
    if (!m->opened)
        open_module(m);
    if (!get_lines(m))
        return 0;
    return lines_inlined(m->lines, address, out, max, m->owner->o.no_demangle ? NULL : demangle);
}

const struct symbols_body *symbols_body(struct symbols_module *m, uint64_t address)
{
    if (!m->opened)
        open_module(m);
    if (!get_lines(m))
        return NULL;
    return lines_body(m->lines, address, m->owner->o.no_demangle ? NULL : demangle);
}
