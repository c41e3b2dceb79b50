// SPDX-License-Identifier: MIT
// Symbols of the data of modules (statics.h).
#include "engine/objects/statics.h"

#include "engine/base/elf64.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/objects/objtable.h"

#define MODULES_MAX  4096u
#define SECTIONS_MAX 4096u
#define NAMES_MAX    (256ul << 20) // of one section of a file

struct symbol {
    u64 start, size;
    u32 name;   // in `names`
    u32 object; // plus one; 0: none yet
};

struct module {
    u64 bias;              // address minus link-time address
    u64 dev, ino, changed; // its file; time of its last change
    u32 path;
    u32 symbols, sections, locals;
    struct symbol *symbol, *section; // by start
    struct symbol *local; // of the program: thread-local variables, from their block's start
    u64 local_below;      // that block begins so far below the thread pointer
    char *names;
};

static struct {
    struct module *module[MODULES_MAX];
    u32 count;
    u64 tls; // bytes of the blocks of thread-local variables
} all;

// A module that is being read.
struct reader {
    int fd;
    struct elf_head head;
    struct elf_segment tls;
    struct symbol *symbol;
    u32 symbols;
    u64 capacity; // bytes
    char *names;
    u64 names_bytes, names_capacity;
};

static bool read_at(const struct reader *r, void *to, u64 offset, u64 n)
{
    u64 done = 0;

    while (done < n) {
        long got = sys_pread(r->fd, (u8 *)to + done, n - done, offset + done);

        if (got <= 0)
            return false;
        done += (u64)got;
    }
    return true;
}

static void add(struct reader *r, u64 start, u64 size, const char *name)
{
    u64 n = strlen(name) + 1;

    r->symbol =
        heap_grown(r->symbol, r->symbols * sizeof(*r->symbol), sizeof(*r->symbol), &r->capacity);
    r->names = heap_grown(r->names, r->names_bytes, n, &r->names_capacity);
    memcpy(r->names + r->names_bytes, name, n);
    r->symbol[r->symbols++] = (struct symbol){ start, size, (u32)r->names_bytes, 0 };
    r->names_bytes += n;
}

static bool section_at(const struct reader *r, u64 i, struct elf_section *s)
{
    return i < r->head.shnum && read_at(r, s, r->head.shoff + i * sizeof(*s), sizeof(*s));
}

// The strings of section i, with a NUL behind them; NULL: it has none.
static char *read_strings(const struct reader *r, u64 i, u64 *bytes)
{
    struct elf_section s;
    char *text;

    if (!section_at(r, i, &s) || !s.size || s.size > NAMES_MAX)
        return NULL;
    *bytes = s.size + 1;
    text = heap_alloc(*bytes);
    if (read_at(r, text, s.offset, s.size)) {
        text[s.size] = '\0';
        return text;
    }
    heap_free(text, *bytes);
    return NULL;
}

static void read_symbols(struct reader *r, const struct elf_section *s, u32 type)
{
    struct elf_symbol some[64];
    u64 n = s->size / sizeof(*some), bytes = 0, now;
    char *names = s->entsize == sizeof(*some) ? read_strings(r, s->link, &bytes) : NULL;

    for (u64 i = 0; names && i < n; i += now) {
        now = n - i < ARRAY_SIZE(some) ? n - i : ARRAY_SIZE(some);
        if (!read_at(r, some, s->offset + i * sizeof(*some), now * sizeof(*some)))
            break;
        for (u64 k = 0; k < now; k++)
            if ((some[k].info & 15) == type && some[k].shndx && some[k].size &&
                some[k].name < bytes && names[some[k].name])
                add(r, some[k].value, some[k].size, names + some[k].name);
    }
    heap_free(names, bytes);
}

// ---- Order ----

// Of several names of one object the profile has the one with the fewest leading underscores, then
// the shortest.
static u64 price(const char *name)
{
    u64 n = 0;

    while (name[n] == '_')
        n++;
    return n * 0x10000 + strlen(name);
}

static bool before(const struct symbol *a, const struct symbol *b, const char *names)
{
    u64 x, y;

    if (a->start != b->start)
        return a->start < b->start;
    if (a->size != b->size)
        return a->size > b->size;
    x = price(names + a->name);
    y = price(names + b->name);
    return x != y ? x < y : strcmp(names + a->name, names + b->name) < 0;
}

// In place, without recursion: the engine's stack is small.
static void sort(struct symbol *s, u32 n, const char *names)
{
    for (u32 gap = n / 2; gap; gap /= 2)
        for (u32 i = gap; i < n; i++)
            for (u32 k = i; k >= gap && before(&s[k], &s[k - gap], names); k -= gap) {
                struct symbol x = s[k];

                s[k] = s[k - gap];
                s[k - gap] = x;
            }
}

// The first of those that begin at one address.
static u32 only_first(struct symbol *s, u32 n)
{
    u32 kept = 0;

    for (u32 i = 0; i < n; i++)
        if (!kept || s[kept - 1].start != s[i].start)
            s[kept++] = s[i];
    return kept;
}

static struct symbol *kept_of(struct reader *r, u32 from, u32 *count)
{
    u32 n;
    struct symbol *s;

    sort(r->symbol + from, r->symbols - from, r->names);
    n = only_first(r->symbol + from, r->symbols - from);
    s = heap_alloc((n + 1) * sizeof(*s));
    if (n)
        memcpy(s, r->symbol + from, n * sizeof(*s));
    *count = n;
    return s;
}

// ---- A module ----

static void read_all_symbols(struct reader *r, u32 type)
{
    struct elf_section s;

    for (u64 i = 1; section_at(r, i, &s); i++)
        if (s.type == SHT_SYMTAB || s.type == SHT_DYNSYM)
            read_symbols(r, &s, type);
}

// The program's block is the first one below the thread pointer, aligned as its segment is. Those
// of libraries follow in an order that is the linker's affair.
static void read_locals(struct reader *r, struct module *m)
{
    u64 align = r->tls.align > 1 ? r->tls.align : 1;

    if (all.count || !r->tls.memsz || (r->tls.vaddr & (align - 1)) || (align & (align - 1)))
        return;
    read_all_symbols(r, STT_TLS);
    m->local = kept_of(r, 0, &m->locals);
    m->local_below = (r->tls.memsz + align - 1) & -align;
    r->symbols = 0;
}

static void read_tables(struct reader *r, struct module *m)
{
    struct elf_section s;
    u64 bytes = 0;
    char *names;
    u32 symbols;

    read_locals(r, m);
    read_all_symbols(r, STT_OBJECT);
    symbols = r->symbols;
    names = read_strings(r, r->head.shstrndx, &bytes);
    for (u64 i = 1; names && section_at(r, i, &s); i++)
        if (s.addr && s.size && s.name < bytes && !(s.flags & SHF_TLS))
            add(r, s.addr, s.size, s.flags & SHF_EXECINSTR ? "code" : names + s.name);
    heap_free(names, bytes);
    m->section = kept_of(r, symbols, &m->sections);
    r->symbols = symbols;
    m->symbol = kept_of(r, 0, &m->symbols);
    m->names = r->names;
}

static bool is_elf(const u8 *ident)
{
    static const u8 ours[6] = { 0x7f, 'E', 'L', 'F', 2, 1 };

    return memcmp(ident, ours, sizeof(ours)) == 0;
}

bool statics_is_module(int fd)
{
    u8 ident[16];

    return sys_pread(fd, ident, sizeof(ident), 0) == sizeof(ident) && is_elf(ident);
}

// Its extent in link-time addresses. False: it is no module of this machine.
static bool read_extent(struct reader *r, u64 *low, u64 *high)
{
    struct elf_segment p;

    *low = ~0ul;
    *high = 0;
    if (!read_at(r, &r->head, 0, sizeof(r->head)) || !is_elf(r->head.ident) ||
        r->head.phentsize != sizeof(p))
        return false;
    for (u64 i = 0; i < r->head.phnum; i++) {
        if (!read_at(r, &p, r->head.phoff + i * sizeof(p), sizeof(p)))
            return false;
        if (p.type == PT_TLS)
            r->tls = p;
        if (p.type != PT_LOAD || p.vaddr + p.memsz < p.vaddr)
            continue;
        if (p.vaddr < *low)
            *low = PAGE_DOWN(p.vaddr);
        if (p.vaddr + p.memsz > *high)
            *high = PAGE_UP(p.vaddr + p.memsz);
    }
    return *low < *high;
}

// A module that is unmapped and mapped again is read once. 0: it has not been.
static u32 known(const struct module *like)
{
    for (u32 i = 1; like->ino && i <= all.count; i++) {
        const struct module *m = all.module[i];

        if (m->bias == like->bias && m->ino == like->ino && m->dev == like->dev &&
            m->changed == like->changed)
            return i;
    }
    return 0;
}

// Returns its number; 0: there are too many.
static u32 keep(struct reader *r, struct module *m, const char *path)
{
    objtable_lock();
    m->path = objtable_name(path);
    all.tls += r->tls.memsz + r->tls.align;
    if (all.count + 1 < MODULES_MAX)
        all.module[++all.count] = m;
    else
        m = NULL;
    objtable_unlock();
    return m ? all.count : 0;
}

u32 statics_load(int fd, const char *path, u64 start, u64 bytes, u64 *low, u64 *high)
{
    struct reader r = { .fd = fd };
    struct module mine = { 0 }, *m;
    struct k_stat st;
    u32 number;

    if (!read_extent(&r, low, high) || *high - *low > bytes)
        return 0;
    mine.bias = start - *low;
    *high += mine.bias;
    *low += mine.bias;
    if (sys_fstat(fd, &st) == 0) {
        mine.dev = st.st_dev;
        mine.ino = st.st_ino;
        mine.changed = st.st_ctime_sec * 1000000000ul + st.st_ctime_nsec;
    }
    objtable_lock();
    number = known(&mine);
    objtable_unlock();
    if (number)
        return number;
    m = heap_alloc(sizeof(*m));
    *m = mine;
    if (r.head.shentsize == sizeof(struct elf_section) && r.head.shnum <= SECTIONS_MAX)
        read_tables(&r, m);
    heap_free(r.symbol, r.capacity);
    return keep(&r, m, path);
}

static u32 object_of(const struct module *m, struct symbol *s, enum spool_data_kind kind)
{
    struct spool_data_object o = {
        .kind = kind, .module = m->path, .start = s->start, .size = s->size
    };

    if (!s->object)
        s->object = objtable_get(&o, m->names + s->name) + 1;
    return s->object - 1;
}

u64 statics_tls_bytes(void)
{
    return all.tls;
}

bool statics_tls(u32 i, u64 *below, u64 *size, u32 *object)
{
    const struct module *m = all.count ? all.module[1] : NULL;

    if (!m || i >= m->locals || m->local[i].start >= m->local_below)
        return false;
    *below = m->local_below - m->local[i].start;
    *size = m->local[i].size < *below ? m->local[i].size : *below;
    *object = object_of(m, &m->local[i], SPOOL_DATA_TLS);
    return true;
}

// The first one that starts after it.
static u32 after(const struct symbol *s, u32 n, u64 addr)
{
    u32 lo = 0, hi = n;

    while (lo < hi) {
        u32 mid = (lo + hi) / 2;

        if (s[mid].start <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// The innermost of the ranges that contain it; NULL: there is none.
static struct symbol *find(struct symbol *s, u32 n, u64 addr)
{
    u32 lo = after(s, n, addr);

    for (u32 tries = 0; lo && tries < 8; lo--, tries++)
        if (addr - s[lo - 1].start < s[lo - 1].size)
            return &s[lo - 1];
    return NULL;
}

u32 statics_at(u32 module, u64 addr, u64 *start)
{
    struct spool_data_object rest = { .kind = SPOOL_DATA_SECTION };
    const struct module *m;
    struct symbol *s;

    *start = FOUND_UNKNOWN;
    if (!module || module > all.count)
        return 0;
    m = all.module[module];
    addr -= m->bias;
    s = find(m->symbol, m->symbols, addr);
    if (s) {
        *start = s->start + m->bias;
        return object_of(m, s, SPOOL_DATA_STATIC);
    }
    s = find(m->section, m->sections, addr);
    if (s)
        return object_of(m, s, SPOOL_DATA_SECTION);
    rest.module = m->path;
    return objtable_get(&rest, "headers"); // what no section has
}

// Only within a symbol that begins last of all before addr: the usual large table.
void statics_span(u32 module, u64 addr, struct ranges_span *span)
{
    const struct module *m = module && module <= all.count ? all.module[module] : NULL;
    u32 next = m ? after(m->symbol, m->symbols, addr - m->bias) : 0;
    const struct symbol *s = next ? &m->symbol[next - 1] : NULL;

    if (!s || addr - m->bias - s->start >= s->size) {
        span->start = span->end = addr;
        return;
    }
    ranges_narrow(span, s->start + m->bias, s->start + s->size + m->bias);
    if (next < m->symbols)
        ranges_narrow(span, 0, s[1].start + m->bias);
}
