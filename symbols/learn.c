// SPDX-License-Identifier: MIT
//
// Reads a module: opens its file and its debug file once, chooses the sources of symbols and lines,
// and reuses the last answer in its range. See learn.h.
#include "symbols/learn.h"

#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/elfsym.h"
#include "symbols/lines.h"
#include "symbols/linetab.h"
#include "symbols/memory.h"
#include "symbols/minidebug.h"
#include "symbols/section.h"

struct learn {
    int debug_fd;
    Elf *elf, *debug; // NULL: not there
    Elf *plain;       // the one with the lines, zstd decompressed, if libdw needs that
    void *plain_image;
    bool opened; // symbols and lines are set up at the first question
    struct elfsym_table syms;
    struct linetab *linetab; // all lines, or:
    struct lines *lines;     // libdw's
    bool lines_tried;
    // The last answers and the ranges in which they are the same.
    uint64_t sym_start, sym_end;
    struct elfsym *sym;
    struct lines_row row;
};

// False: nothing to read, or no memory for it.
static bool is_there(struct symbols_module *m)
{
    if (m->learn || (m->fd < 0 && !m->image))
        return m->learn != NULL;
    m->learn = memory_got(calloc(1, sizeof(*m->learn)));
    if (!m->learn)
        return false;
    elf_version(EV_CURRENT);
    m->learn->debug_fd = -1;
    return true;
}

static void open_elf(struct symbols_module *m)
{
    struct learn *l = m->learn;

    if (l->elf)
        return;
    l->elf = m->image ? elf_memory((char *)(uintptr_t)m->image, m->image_size)
                      : elf_begin(m->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    if (l->elf && elf_kind(l->elf) != ELF_K_ELF) {
        elf_end(l->elf);
        l->elf = NULL;
    }
}

void learn_segments(struct symbols_module *m)
{
    size_t n;

    if (!is_there(m))
        return;
    open_elf(m);
    if (!m->learn->elf || elf_getphdrnum(m->learn->elf, &n) != 0)
        return;
    m->load = memory_got(calloc(n ? n : 1, sizeof(*m->load)));
    for (size_t i = 0; m->load && i < n; i++) {
        GElf_Phdr ph;

        if (gelf_getphdr(m->learn->elf, (int)i, &ph) && ph.p_type == PT_LOAD)
            m->load[m->loads++] = (struct cachefile_segment){ .offset = ph.p_offset,
                                                              .vaddr = ph.p_vaddr,
                                                              .filesz = ph.p_filesz,
                                                              .flags = ph.p_flags };
    }
}

// ---- Set-up of a module at its first question ----

static bool has_lines(Elf *elf)
{
    return section_exists(elf, ".debug_line") || section_exists(elf, ".zdebug_line");
}

// The file with the line tables; NULL: none.
static Elf *lines_elf(const struct learn *l)
{
    if (l->elf && has_lines(l->elf))
        return l->elf;
    return l->debug && has_lines(l->debug) ? l->debug : NULL;
}

// The path of the file with the lines, which may be the debug file.
static const char *path_of(const struct symbols_module *m, const Elf *elf, char *buf, size_t room)
{
    char link[32];

    if (elf != m->learn->debug)
        return m->name;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", m->learn->debug_fd);
    ssize_t n = readlink(link, buf, room - 1);
    buf[n > 0 ? n : 0] = '\0';
    return buf;
}

static struct lines *get_lines(struct symbols_module *m)
{
    struct learn *l = m->learn;
    Elf *elf = lines_elf(l);
    char path[4096];

    if (l->lines_tried)
        return l->lines;
    l->lines_tried = true;
    if (!elf)
        return NULL;
    l->plain = section_without_zstd(elf, &l->plain_image);
    l->lines = lines_new(l->plain ? l->plain : elf, m->name, path_of(m, elf, path, sizeof(path)),
                         &m->owner->strings);
    return l->lines;
}

// Remarks on what is missing of a module.
__attribute__((format(printf, 2, 3))) static void say(struct symbols_module *m, const char *fmt,
                                                      ...)
{
    char text[2 * 4096 + 400];
    int n = snprintf(text, sizeof(text), "%s: ", m->name);
    va_list ap;

    if (!m->owner->o.remark || n < 0 || (size_t)n >= sizeof(text))
        return;
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    m->owner->o.remark(m->owner->o.ctx, text);
}

static void say_lacks(struct symbols_module *m)
{
    const char *lack;

    while ((lack = lines_lack(m->learn->lines)))
        say(m, "%s", lack);
}

static void note_place(void *ctx, const char *path)
{
    struct symbols_module *m = ctx;

    if (m->cache)
        cache_witness(m->cache, path);
}

// libdebuginfod, too, remembers a server's negative answer for ten minutes.
enum { SERVERS_NO = 600 };

static void open_debug_file(struct symbols_module *m)
{
    struct debugfile_watch watch = { note_place, m, false, NULL };
    struct learn *l = m->learn;

    l->debug_fd = debugfile_open(m->name, l->elf, &watch);
    if (l->debug_fd >= 0)
        l->debug = elf_begin(l->debug_fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    else if (watch.asked && m->cache)
        cache_expires(m->cache, SERVERS_NO);
    if (watch.odd)
        say(m, "%s is no regular file; nothing is read from it", watch.odd);
    free(watch.odd);
}

// A module that is cheap to read is stored completely at once: the line programs of libc are 1.5
// MB. Others are stored function by function, as asked for.
static bool is_small(const struct learn *l)
{
    enum { LINES = 4 << 20, SYMBOLS = 200000 };

    return !l->lines && (!l->linetab || linetab_size(l->linetab) <= LINES) &&
           l->syms.count <= SYMBOLS;
}

static void want_all(struct symbols_module *m)
{
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *ph = &m->load[i];
        uint64_t start = ph->vaddr & ~UINT64_C(0xfff);

        if (ph->flags & PF_X)
            cache_want(m->cache, start, (ph->vaddr + ph->filesz + 0xfff) & ~UINT64_C(0xfff));
    }
}

// Read by path; for a module that is gone, from a copy.
static void add_minidebug(struct symbols_module *m)
{
    char path[40];
    int fd;

    if (!m->image) {
        minidebug_add(&m->learn->syms, &m->owner->strings, m->name);
        return;
    }
    fd = memfd_create("module", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, m->image, m->image_size) == (ssize_t)m->image_size)
        minidebug_add(&m->learn->syms, &m->owner->strings, path);
    if (fd >= 0)
        close(fd);
}

static void open_module(struct symbols_module *m)
{
    struct learn *l = m->learn;

    l->opened = true;
    open_elf(m);
    if (!l->elf)
        return;
    if ((!has_lines(l->elf) || !section_exists(l->elf, ".symtab")) && m->name[0] == '/')
        open_debug_file(m);
    bool symtab = elfsym_add(&l->syms, l->elf, SHT_SYMTAB);
    if (l->debug)
        symtab |= elfsym_add(&l->syms, l->debug, SHT_SYMTAB);
    if (!symtab && section_exists(l->elf, ".gnu_debugdata"))
        add_minidebug(m);
    elfsym_add(&l->syms, l->elf, SHT_DYNSYM);
    elfsym_sort(&l->syms);
    elfsym_add_eh_frame(&l->syms, l->elf);
    elfsym_sort(&l->syms);
    if (lines_elf(l))
        l->linetab = linetab_new(lines_elf(l), &m->owner->strings);
    if (!l->linetab)
        get_lines(m);
    if (m->cache && is_small(l))
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
        name = "(below main)"; // Cachegrind's name for what runs before main
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
    struct learn *l = m->learn;

    l->sym = elfsym_find(&l->syms, address);
    l->sym_start = address;
    l->sym_end = elfsym_next_change(&l->syms, address);
    if (l->sym && l->sym->number == 0)
        l->sym->number = name_function(m, l->sym);
}

// The answer and the range for which it holds, from the module itself.
static void resolve(void *ctx, uint64_t address, struct cachefile_answer *out)
{
    struct symbols_module *m = ctx;
    struct learn *l = m->learn;

    if (!l->opened)
        open_module(m);
    if (address < l->sym_start || address >= l->sym_end)
        find_symbol(m, address);
    if (address < l->row.start || address >= l->row.end) {
        l->row = (struct lines_row){ .start = address, .end = UINT64_MAX };
        if (l->linetab)
            linetab_find(l->linetab, address, &l->row);
        else if (l->lines)
            lines_find(l->lines, address, l->sym != NULL, &l->row);
        // An address without a name is not searched everywhere: its answer ends at the next
        // function.
        if (l->row.end > l->sym_end)
            l->row.end = l->sym_end;
    }
    out->start = l->row.start > l->sym_start ? l->row.start : l->sym_start;
    out->end = l->row.end < l->sym_end ? l->row.end : l->sym_end;
    out->function = l->sym ? l->sym->number : 0;
    out->file = l->row.file;
    out->line = l->row.line;
}

// Requests the range around an unanswered question for the cache: the function, or the gap between
// two.
static void want_around(struct symbols_module *m, uint64_t address)
{
    const struct learn *l = m->learn;
    uint64_t start = address, end = l->sym_end;

    if (l->sym) {
        start = l->sym->start;
        end = l->sym->end;
    }
    for (size_t i = 0; i < m->loads; i++) {
        const struct cachefile_segment *ph = &m->load[i];
        uint64_t last = (ph->vaddr + ph->filesz + 0xfff) & ~UINT64_C(0xfff);

        if (address >= (ph->vaddr & ~UINT64_C(0xfff)) && address < last && end > last)
            end = last;
    }
    // Outside all segments: this address alone.
    if (end - start > UINT32_MAX)
        end = address + 1;
    cache_want(m->cache, start, end);
}

void learn_answer(struct symbols_module *m, uint64_t address, struct cachefile_answer *out)
{
    if (!is_there(m)) {
        *out = (struct cachefile_answer){ .start = address, .end = UINT64_MAX };
        return;
    }
    resolve(m, address, out);
    if (m->cache)
        want_around(m, address);
}

void learn_save(struct symbols_module *m)
{
    if (m->cache && m->learn)
        cache_save(m->cache, m->load, m->loads, resolve, m);
}

// The line reader for inlined calls; NULL: none.
static struct lines *opened_lines(struct symbols_module *m)
{
    if (!is_there(m))
        return NULL;
    if (!m->learn->opened)
        open_module(m);
    return get_lines(m);
}

size_t learn_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                     size_t max)
{
    struct lines *lines = opened_lines(m);

    if (!lines)
        return 0;
    size_t n = lines_inlined(lines, address, out, max, m->owner->o.no_demangle ? NULL : demangle);
    say_lacks(m);
    return n;
}

const struct symbols_body *learn_body(struct symbols_module *m, uint64_t address)
{
    struct lines *lines = opened_lines(m);

    if (!lines)
        return NULL;
    const struct symbols_body *b =
        lines_body(lines, address, m->owner->o.no_demangle ? NULL : demangle);
    say_lacks(m);
    return b;
}

void learn_fields(struct symbols_module *m, struct symbols_field *field, size_t n)
{
    struct lines *lines = opened_lines(m);

    if (!lines)
        return;
    lines_fields(lines, field, n);
    say_lacks(m);
}

void learn_block(struct symbols_module *m, struct symbols_block *b)
{
    struct lines *lines = opened_lines(m);

    if (!lines)
        return;
    lines_block(lines, b);
    say_lacks(m);
}

void learn_free(struct learn *l)
{
    if (!l)
        return;
    linetab_free(l->linetab);
    lines_free(l->lines);
    elfsym_fini(&l->syms);
    elf_end(l->plain);
    free(l->plain_image);
    elf_end(l->debug);
    elf_end(l->elf);
    if (l->debug_fd >= 0)
        close(l->debug_fd);
    free(l);
}
