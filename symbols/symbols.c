// SPDX-License-Identifier: MIT
//
// Modules: answers symbols_find from the range of the last answer, then from the cache, and passes
// other questions to learn.c. Interface and rules in symbols.h.
#include "symbols/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/identity.h"
#include "symbols/learn.h"
#include "symbols/memory.h"
#include "symbols/module.h"

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
    s->o = *o;
    s->none = (struct symbols_module){ .owner = s, .fd = -1 };
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
        learn_free(m->learn);
        if (m->fd >= 0)
            close(m->fd);
        cache_module_free(m->cache);
        free(m->load);
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
    m->fd = -1;
    m->next = s->modules;
    s->modules = m;
    return m;
}

static void get_segments(struct symbols_module *m)
{
    const struct cachefile_segment *known = m->cache ? cache_segments(m->cache, &m->loads) : NULL;

    if (!known) {
        learn_segments(m);
        return;
    }
    // A copy: the cache frees its own if the file proves to be damaged.
    m->load = memory_got(calloc(m->loads + 1, sizeof(*known)));
    if (m->load)
        memcpy(m->load, known, m->loads * sizeof(*known));
    else
        m->loads = 0;
}

bool symbols_code(const struct symbols_module *m, uint64_t file_offset, void *to, size_t size)
{
    if (!m->image)
        return m->fd >= 0 && pread(m->fd, to, size, (off_t)file_offset) == (ssize_t)size;
    if (file_offset > m->image_size || size > m->image_size - file_offset)
        return false;
    memcpy(to, (const char *)m->image + file_offset, size);
    return true;
}

// Stops reading its file.
static void drop_file(struct symbols_module *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    m->image = NULL;
}

static bool is_still_same(struct symbols_module *m, const struct symbols_file *f)
{
    if (!f->is_same || f->is_same(f->ctx, m))
        return true;
    drop_file(m);
    remark(m->owner, "%s: was written over since it was mapped; its functions are shown as ???",
           f->path);
    return false;
}

// A file that was removed or replaced and whose content was saved. The cache is only for files
// under their own name.
static void open_image(struct symbols_module *m, const struct symbols_file *f)
{
    m->image = f->image;
    m->image_size = f->image_size;
    if (is_still_same(m, f))
        get_segments(m);
}

// False: it is another file now, and is not read.
static bool check_age(struct symbols_module *m, const struct symbols_file *f, const struct stat *st)
{
    uint64_t mtime = identity_time(&st->st_mtim), ctime = identity_time(&st->st_ctim);

    if (!f->mtime) {
        if (f->run_start && mtime > f->run_start)
            remark(m->owner,
                   "%s: was modified after the run began; functions and lines may be wrong",
                   f->path);
        return true;
    }
    if (mtime == f->mtime && (!f->ctime || ctime == f->ctime))
        return true;
    if (!is_still_same(m, f))
        return false;
    if (mtime != f->mtime)
        remark(m->owner, "%s: was modified after the run began; functions and lines may be wrong",
               f->path);
    return true;
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
    if (f->image) {
        open_image(m, f);
        return m;
    }
    // A name in a spool may be that of a pipe or a device: must neither block nor be read.
    m->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (m->fd < 0 || fstat(m->fd, &st) != 0) {
        remark(s, "%s: %s; its functions are shown as ???", f->path, strerror(errno));
        return m;
    }
    if (!S_ISREG(st.st_mode)) {
        drop_file(m);
        remark(s, "%s: is no regular file; its functions are shown as ???", f->path);
        return m;
    }
    if (f->ino && (uint64_t)st.st_ino != f->ino) {
        drop_file(m);
        remark(
            s,
            "%s: was replaced by another file since it was mapped; its functions are shown as ???",
            f->path);
        return m;
    }
    if (!check_age(m, f, &st))
        return m;
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
        // A segment's mapping begins and ends at page boundaries.
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

void symbols_find(struct symbols_module *m, uint64_t address, struct symbols_place *out)
{
    if (address < m->last.start || address >= m->last.end) {
        if (!m->cache || !cache_find(m->cache, address, &m->last))
            learn_answer(m, address, &m->last);
    }
    *out = (struct symbols_place){ m->last.function, m->last.file, m->last.line };
}

uint64_t symbols_find_range(struct symbols_module *m, uint64_t address, struct symbols_place *out)
{
    symbols_find(m, address, out);
    return m->last.end - address;
}

bool symbols_have_learned(const struct symbols *s)
{
    const struct symbols_module *m = s->modules;

    while (m && !m->learn)
        m = m->next;
    return m != NULL;
}

void symbols_save(struct symbols *s)
{
    for (struct symbols_module *m = s->modules; m; m = m->next)
        learn_save(m);
}

size_t symbols_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                       size_t max)
{
    return learn_inlined(m, address, out, max);
}

void symbols_fields(struct symbols_module *m, struct symbols_field *field, size_t n)
{
    learn_fields(m, field, n);
}

void symbols_block(struct symbols_module *m, struct symbols_block *b)
{
    learn_block(m, b);
}

const struct symbols_body *symbols_body(struct symbols_module *m, uint64_t address)
{
    return learn_body(m, address);
}
