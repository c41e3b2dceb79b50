// SPDX-License-Identifier: MIT
// Where functions start (functions.h). A table for each spool_map: offsets from the mapping's
// start, sorted.
#include "engine/callgraph/functions.h"

#include "engine/base/clientmem.h"
#include "engine/base/elf64.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/patterns.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

// ---- A module being read ----

struct mark {
    u32 start, end; // end: 0 for a label, which has none
    bool unnamed;   // a range of .eh_frame, ignored where there is a symbol
};

// A function whose name matches patterns, or is marked.
struct match {
    u64 rules;
    u32 start, mark;
};

struct reader {
    int fd;   // -1: in memory, at base
    u64 base; // client address of the image
    struct elf_head head;
    u64 low, bytes; // link-time address of the mapping's start, its size
    struct mark *mark;
    u32 marks, capacity;
    struct match *match;
    u32 matches, matches_capacity;
    // Mangled names, each with its NUL, and the functions that have them.
    char *names;
    u64 names_bytes, names_capacity;
    u32 *named;
    u32 nameds, nameds_capacity;
    u8 buf[4096];
    // A window of .eh_frame; the table in .eh_frame_hdr refers to mostly ascending offsets.
    u8 frames[4096];
    u64 frames_at, frames_bytes;
};

// The u64 aligns the buffer. @holds(translation lock)
static struct reader r;

static bool read_at(void *to, u64 offset, u64 n)
{
    if (r.fd < 0)
        return clientmem_read(to, r.base + offset, n) == 0;
    return sys_pread(r.fd, to, n, offset) == (long)n;
}

static void add(u64 start, u64 size, bool label, bool unnamed)
{
    if (start - r.low >= r.bytes)
        return;
    if (r.marks == r.capacity) {
        u32 capacity = r.capacity ? r.capacity * 2 : 1024;
        struct mark *m = heap_alloc(capacity * sizeof(*m));

        if (r.marks)
            memcpy(m, r.mark, r.marks * sizeof(*m));
        heap_free(r.mark, r.capacity * sizeof(*m));
        r.mark = m;
        r.capacity = capacity;
    }
    u64 at = start - r.low, end = size > r.bytes - at ? r.bytes : at + size;
    r.mark[r.marks++] = (struct mark){ (u32)at, label ? 0 : (u32)end, unnamed };
}

// For each section whether it contains code: symbols of other sections are data.
static bool is_code(u8 *code, u32 shndx)
{
    return shndx && shndx < r.head.shnum && code[shndx];
}

static void note_match(u64 start, u64 rules, u32 mark)
{
    if ((!rules && !mark) || start - r.low >= r.bytes)
        return;
    if (r.matches == r.matches_capacity) {
        u32 capacity = r.matches_capacity ? r.matches_capacity * 2 : 16;
        struct match *m = heap_alloc(capacity * sizeof(*m));

        if (r.matches)
            memcpy(m, r.match, r.matches * sizeof(*m));
        heap_free(r.match, r.matches_capacity * sizeof(*m));
        r.match = m;
        r.matches_capacity = capacity;
    }
    r.match[r.matches++] = (struct match){ rules, (u32)(start - r.low), mark };
}

// ---- Names that the profile shows in another form ----

long (*functions_demangle)(const char *names, u64 bytes);
u32 (*functions_mark)(const char *name);

// C++, D, Rust: as symbols/demangle.c takes them.
static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

static void note_name(u64 start, const char *name)
{
    u64 n = strlen(name) + 1, capacity = r.nameds_capacity * sizeof(u32);

    if (start - r.low >= r.bytes || (spool->flags & SPOOL_F_NO_DEMANGLE))
        return;
    r.names = heap_grown(r.names, r.names_bytes, n, &r.names_capacity);
    memcpy(r.names + r.names_bytes, name, n);
    r.names_bytes += n;
    r.named = heap_grown(r.named, r.nameds * sizeof(u32), sizeof(u32), &capacity);
    r.nameds_capacity = (u32)(capacity / sizeof(u32));
    r.named[r.nameds++] = (u32)(start - r.low);
}

static void match_texts(const char *text, u64 bytes)
{
    for (u32 i = 0; i < r.nameds && bytes; i++) {
        u64 n = strlen(text) + 1;

        if (n > bytes)
            return;
        if (n > 1)
            note_match(r.low + r.named[i], patterns_match(text), 0);
        text += n;
        bytes -= n;
    }
}

static void read_texts(int fd)
{
    struct k_stat st;
    char *text;
    u64 n = 0;
    long got;

    if (sys_fstat(fd, &st) || st.st_size <= 0)
        return;
    text = heap_alloc((u64)st.st_size + 1);
    while (n < (u64)st.st_size && (got = sys_pread(fd, text + n, (u64)st.st_size - n, n)) > 0)
        n += (u64)got;
    text[n] = '\0';
    match_texts(text, n);
    heap_free(text, (u64)st.st_size + 1);
}

// Patterns are also matched against names as the profile shows them.
static void match_shown(const char *module)
{
    static bool told;
    long fd;

    if (!r.nameds)
        return;
    fd = functions_demangle(r.names, r.names_bytes);
    if (fd >= 0) {
        read_texts((int)fd);
        sys_close((int)fd);
    } else if (!told) {
        told = true;
        engine_msg("warning: patterns of options are held against mangled names alone, in %s and "
                   "perhaps others: error %ld; warned once",
                   module, -fd);
    }
    r.nameds = 0;
    r.names_bytes = 0;
}

static bool section_at(u64 i, struct elf_section *s);

// The names of a section's symbols, NUL-terminated; NULL: nothing needs them.
static char *read_names(const struct elf_section *symbols, u64 *bytes)
{
    struct elf_section s;
    char *names;

    if ((!patterns_any() && !functions_mark) || !section_at(symbols->link, &s) || !s.size)
        return NULL;
    *bytes = s.size + 1;
    names = heap_alloc(*bytes);
    names[s.size] = '\0';
    if (read_at(names, s.offset, s.size))
        return names;
    heap_free(names, *bytes);
    return NULL;
}

static void read_symbols(const struct elf_section *s, u8 *code)
{
    u64 n = s->size / sizeof(struct elf_symbol), bytes = 0;
    u64 some = sizeof(r.buf) / sizeof(struct elf_symbol);
    char *names;

    if (s->entsize != sizeof(struct elf_symbol))
        return;
    names = read_names(s, &bytes);
    for (u64 i = 0; i < n; i += some) {
        const struct elf_symbol *sym = (const struct elf_symbol *)(const void *)r.buf;
        u64 now = n - i < some ? n - i : some;

        if (!read_at(r.buf, s->offset + i * sizeof(*sym), now * sizeof(*sym)))
            break;
        for (u64 k = 0; k < now; k++) {
            u32 type = sym[k].info & 15;
            bool typed = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;

            if ((!typed && type != STT_NOTYPE) || !sym[k].name || !is_code(code, sym[k].shndx))
                continue;
            add(sym[k].value, sym[k].size, !typed || !sym[k].size, false);
            if (names && sym[k].name < bytes) {
                note_match(sym[k].value, patterns_match(names + sym[k].name),
                           functions_mark ? functions_mark(names + sym[k].name) : 0);
                if (patterns_any() && is_mangled(names + sym[k].name))
                    note_name(sym[k].value, names + sym[k].name);
            }
        }
    }
    heap_free(names, bytes);
}

// The length of the function at `start`, by its entry of .eh_frame: length, pointer to the CIE,
// start (sdata4 pcrel), length. 0: not of this form; it ends where the next one starts.
static u32 frame_length(const struct elf_segment *s, s32 entry, u64 start)
{
    u64 at = s->offset + (u64)(s64)entry;
    u32 fde[4];

    if (at < r.frames_at || at - r.frames_at + sizeof(fde) > r.frames_bytes) {
        r.frames_at = at;
        r.frames_bytes = sizeof(r.frames);
        if (!read_at(r.frames, at, r.frames_bytes)) // at the end
            r.frames_bytes = sizeof(fde);
        if (r.frames_bytes == sizeof(fde) && !read_at(r.frames, at, r.frames_bytes)) {
            r.frames_bytes = 0;
            return 0;
        }
    }
    memcpy(fde, r.frames + (at - r.frames_at), sizeof(fde));
    return s->vaddr + (u64)(s64)entry + 8 + (u64)(s64)(s32)fde[2] == start ? fde[3] : 0;
}

// Version 1; count udata4; table sdata4 relative to the header: what every linker writes.
static void read_eh_frame(const struct elf_segment *s)
{
    u32 head[3], n;

    if (!read_at(head, s->offset, sizeof(head)) || (head[0] & 0xff) != 1 || head[0] >> 16 != 0x3b03)
        return;
    n = head[2];
    r.frames_bytes = 0;
    for (u32 i = 0; i < n; i += sizeof(r.buf) / 8) {
        const s32 *entry = (const s32 *)(const void *)r.buf;
        u32 now = n - i < sizeof(r.buf) / 8 ? n - i : sizeof(r.buf) / 8;

        if (!read_at(r.buf, s->offset + 12 + i * 8ul, now * 8ul))
            return;
        for (u32 k = 0; k < now; k++) {
            u64 start = s->vaddr + (u64)(s64)entry[k * 2];
            u32 bytes = frame_length(s, entry[k * 2 + 1], start);

            add(start, bytes, !bytes, true);
        }
    }
}

// ---- The table ----

struct table {
    u32 *start; // the highest bit: a linkage table
    u32 count, capacity;
    bool read;
    struct match *match; // by start
    u32 matches;
};

#define TABLE_PLT 0x80000000u

static struct table *tables; // by spool_map
static u32 tables_capacity;

static bool before(const struct mark *a, const struct mark *b)
{
    if (a->start != b->start || a->unnamed == b->unnamed)
        return a->start != b->start ? a->start < b->start : a->end > b->end;
    return b->unnamed;
}

// In place, without recursion: the engine's stack is small.
static void sort(struct mark *m, u32 n)
{
    for (u32 gap = n / 2; gap; gap = gap > 2 ? (u32)(gap * 5ul / 11) : gap / 2) {
        for (u32 i = gap; i < n; i++) {
            struct mark x = m[i];
            u32 k = i;

            for (; k >= gap && before(&x, &m[k - gap]); k -= gap)
                m[k] = m[k - gap];
            m[k] = x;
        }
    }
}

static void sort_matches(struct match *m, u32 n)
{
    for (u32 gap = n / 2; gap; gap = gap > 2 ? (u32)(gap * 5ul / 11) : gap / 2) {
        for (u32 i = gap; i < n; i++) {
            struct match x = m[i];
            u32 k = i;

            for (; k >= gap && x.start < m[k - gap].start; k -= gap)
                m[k] = m[k - gap];
            m[k] = x;
        }
    }
}

// The starts: of every symbol with a size, the end of the last one, and labels and ranges of
// .eh_frame outside of symbols. The end of such a range starts a function, too, which has no name.
static void make(struct table *t)
{
    u32 end = 0, range = 0;

    sort(r.mark, r.marks);
    t->capacity = r.marks * 2 + 1;
    t->start = heap_alloc(t->capacity * sizeof(u32));
    for (u32 i = 0; i < r.marks; i++) {
        const struct mark *m = &r.mark[i];
        bool sized = m->end && !m->unnamed;

        if (end && m->start > end)
            t->start[t->count++] = end;
        if (end && m->start >= end)
            end = 0;
        if (range && m->start > range)
            t->start[t->count++] = range;
        range = 0;
        if ((sized || !end) && (!t->count || t->start[t->count - 1] != m->start)) {
            t->start[t->count++] = m->start;
            range = m->unnamed ? m->end : 0;
        }
        if (sized && m->end > end)
            end = m->end;
    }
    if (!end)
        end = range;
    if (end && end < r.bytes)
        t->start[t->count++] = end;
}

// ".plt", ".plt.sec", ".plt.got": the functions in it, or the whole, are marked.
static void mark_plt(struct table *t, const struct elf_section *s)
{
    u32 from, to, n = t->count, k = 0, *start;

    if (s->addr - r.low >= r.bytes || !s->size)
        return;
    from = (u32)(s->addr - r.low);
    to = from + (u32)s->size;
    start = heap_alloc((n + 2ul) * sizeof(u32));
    for (u32 i = 0; i < n && (t->start[i] & ~TABLE_PLT) < from; i++)
        start[k++] = t->start[i];
    start[k++] = from | TABLE_PLT;
    if (to < r.bytes)
        start[k++] = to;
    for (u32 i = 0; i < n; i++) {
        if ((t->start[i] & ~TABLE_PLT) > to)
            start[k++] = t->start[i];
        else if (t->start[i] == (to | TABLE_PLT)) // adjacent tables
            start[k - 1] |= TABLE_PLT;
    }
    heap_free(t->start, t->capacity * sizeof(u32));
    t->start = start;
    t->count = k;
    t->capacity = n + 2;
}

// False: there is none.
static bool section_at(u64 i, struct elf_section *s)
{
    return i < r.head.shnum && read_at(s, r.head.shoff + i * sizeof(*s), sizeof(*s));
}

// Reads every section with symbols. Whether there is a .symtab.
static bool read_sections(void)
{
    u64 n = r.head.shnum;
    bool symtab = false;
    struct elf_section s;
    u8 *code;

    if (!n || r.head.shentsize != sizeof(s))
        return false;
    code = heap_alloc(n);
    for (u64 i = 1; section_at(i, &s); i++)
        code[i] = (s.flags & SHF_EXECINSTR) != 0;
    for (u64 i = 1; section_at(i, &s); i++) {
        symtab |= s.type == SHT_SYMTAB;
        if (s.type == SHT_SYMTAB || s.type == SHT_DYNSYM)
            read_symbols(&s, code);
    }
    heap_free(code, n);
    return symtab;
}

static void find_plt(struct table *t)
{
    struct elf_section s, names;
    char name[5] = "";

    if (r.head.shentsize != sizeof(s) || !section_at(r.head.shstrndx, &names))
        return;
    for (u64 i = 1; section_at(i, &s); i++)
        if ((s.flags & SHF_EXECINSTR) && s.name < names.size &&
            read_at(name, names.offset + s.name, 4) && memcmp(name, ".plt", 4) == 0)
            mark_plt(t, &s);
}

// ---- The file of debug symbols ----

static void put_hex(char *to, const u8 *from, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        to[i * 2] = "0123456789abcdef"[from[i] >> 4];
        to[i * 2 + 1] = "0123456789abcdef"[from[i] & 15];
    }
}

// /usr/lib/debug/.build-id/ab/cdef.debug, from the note in a segment. False: another kind of note.
static bool debug_name(const struct elf_segment *notes, char *name)
{
    static const char folder[] = "/usr/lib/debug/.build-id/", suffix[] = ".debug";
    u32 head[3];
    u8 id[20];

    for (u64 at = 0; at + sizeof(head) < notes->filesz;) {
        char *p = name;

        if (!read_at(head, notes->offset + at, sizeof(head)) || head[0] > 64 || head[1] > 4096)
            return false;
        at += sizeof(head) + ((head[0] + 3ul) & ~3ul);
        if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && head[1] == sizeof(id) &&
            read_at(id, notes->offset + at, sizeof(id))) {
            memcpy(p, folder, sizeof(folder) - 1);
            p += sizeof(folder) - 1;
            put_hex(p, id, 1);
            p[2] = '/';
            put_hex(p + 3, id + 1, sizeof(id) - 1);
            memcpy(p + 1 + 2 * sizeof(id), suffix, sizeof(suffix));
            return true;
        }
        at += (head[1] + 3ul) & ~3ul;
    }
    return false;
}

static void read_debug(const char *name)
{
    struct elf_head head = r.head;
    int fd = r.fd;

    r.fd = fds_open(name, O_RDONLY | O_CLOEXEC, 0);
    if (r.fd >= 0) {
        if (read_at(&r.head, 0, sizeof(r.head)))
            read_sections();
        sys_close(r.fd);
    }
    r.head = head;
    r.fd = fd;
}

static void read_module(struct table *t, const struct spool_map *m)
{
    static const u8 ident[6] = { 0x7f, 'E', 'L', 'F', 2, 1 };
    struct elf_segment p, frame = { 0 };
    bool found = false, executable = false, stripped;
    char debug[96] = "";

    r.marks = r.matches = 0;
    r.bytes = m->end - m->start;
    if (!read_at(&r.head, 0, sizeof(r.head)) || memcmp(r.head.ident, ident, sizeof(ident)) != 0 ||
        r.head.phentsize != sizeof(p) || r.bytes >= TABLE_PLT)
        return;
    for (u32 i = 0; i < r.head.phnum; i++) {
        if (!read_at(&p, r.head.phoff + i * sizeof(p), sizeof(p)))
            return;
        // Two segments may share a page of the file (lld): the one with code is executed.
        if (p.type == PT_LOAD && !executable && m->offset + r.bytes > p.offset &&
            m->offset < p.offset + p.filesz && m->offset >= PAGE_DOWN(p.offset) &&
            (!found || (p.flags & PF_X))) {
            r.low = p.vaddr + m->offset - p.offset;
            found = true;
            executable = (p.flags & PF_X) != 0;
        }
        if (p.type == PT_GNU_EH_FRAME)
            frame = p;
        if (p.type == PT_NOTE && !debug[0] && !debug_name(&p, debug))
            debug[0] = '\0';
    }
    if (!found)
        return;
    if (frame.filesz)
        read_eh_frame(&frame);
    stripped = !read_sections();
    if (stripped && debug[0] && r.fd >= 0)
        read_debug(debug);
    match_shown(m->path ? spooler_string(m->path) : "");
    make(t);
    if (r.matches) {
        t->match = heap_alloc(r.matches * sizeof(*t->match));
        memcpy(t->match, r.match, r.matches * sizeof(*t->match));
        t->matches = r.matches;
        sort_matches(t->match, t->matches);
    }
    if (!(spool->flags & SPOOL_F_SHOW_PLT))
        find_plt(t);
}

static const struct table *table_of(u32 map)
{
    const struct spool_map *m = (const struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF) + map;
    struct table *t;

    if (map >= tables_capacity) {
        u32 capacity = tables_capacity ? tables_capacity * 2 : 64;

        while (capacity <= map)
            capacity *= 2;
        t = heap_alloc(capacity * sizeof(*t));
        if (tables_capacity)
            memcpy(t, tables, tables_capacity * sizeof(*t));
        heap_free(tables, tables_capacity * sizeof(*t));
        tables = t;
        tables_capacity = capacity;
    }
    t = &tables[map];
    if (t->read)
        return t;
    t->read = true;
    if (m->flags & SPOOL_MAP_VDSO) {
        r.fd = -1;
        r.base = m->start;
        read_module(t, m);
    } else if (!(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_DELETED)) && m->path) {
        struct k_stat st;

        r.fd = fds_open(spooler_string(m->path), O_RDONLY | O_CLOEXEC, 0);
        if (r.fd < 0)
            return t;
        if (sys_fstat(r.fd, &st) == 0 && st.st_ino == m->ino)
            read_module(t, m);
        sys_close(r.fd);
    }
    return t;
}

const u32 *functions_starts(u32 map, u32 *n)
{
    const struct table *t = table_of(map);

    *n = t->count;
    return t->start;
}

static void match_at(const struct table *t, u32 start, struct function *f)
{
    u32 lo = 0, hi = t->matches;

    while (lo < hi) { // the first one that is not before
        u32 mid = (lo + hi) / 2;

        if (t->match[mid].start < start)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < t->matches && t->match[lo].start == start; lo++) {
        f->rules |= t->match[lo].rules;
        if (!f->mark)
            f->mark = t->match[lo].mark;
    }
}

struct function functions_at(u64 addr)
{
    struct function f = { .start = addr, .end = ~0ul };
    const struct spool_map *m;
    const struct table *t;
    struct vmmap_info info;
    u32 lo = 0, hi, at;

    if (!vmmap_find(addr, &info)) {
        f.map = ~0u;
        return f;
    }
    f.map = vmmap_spool_map(addr);
    m = (const struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF) + f.map;
    f.start = m->start;
    t = table_of(f.map);
    at = (u32)(addr - m->start);
    for (hi = t->count; lo < hi;) { // the first one that starts after it
        u32 mid = (lo + hi) / 2;

        if ((t->start[mid] & ~TABLE_PLT) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo) {
        f.start = m->start + (t->start[lo - 1] & ~TABLE_PLT);
        f.plt = t->start[lo - 1] & TABLE_PLT;
        match_at(t, (u32)(f.start - m->start), &f);
    }
    f.skip = f.plt && tb_config.contexts;
    f.plt = f.plt && !f.skip;
    if (lo < t->count)
        f.end = m->start + (t->start[lo] & ~TABLE_PLT);
    return f;
}
