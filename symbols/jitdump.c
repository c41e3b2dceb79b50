// SPDX-License-Identifier: MIT
//
// Reader of jitdump files (jitdump.h; perf's jitdump-specification.txt). A header, then records: a
// function's name, addresses and code; a move of a function; and others, which are skipped.
//
// Line information is skipped, too: its base address is unknown, because some writers (V8) add the
// 64 bytes of the ELF header that perf will write, and others do not.
#include "symbols/jitdump.h"

#include <string.h>

enum {
    MAGIC = 0x4a695444,
    VERSION = 1,
    CODE_LOAD = 0,
    CODE_MOVE = 1,
    TEXT_MAX = 1 << 12, // longer names are cut
};

struct header {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
};

struct prefix {
    uint32_t id, size; // size: of the whole record
    uint64_t time;
};

struct load {
    uint32_t pid, tid;
    uint64_t vma, addr, size, index;
};

struct move {
    uint32_t pid, tid;
    uint64_t vma, from, to, size, index;
};

// A file, and how much of the current record is left.
struct reader {
    FILE *f;
    uint64_t left;
};

static bool get(struct reader *r, void *to, size_t n)
{
    if (n > r->left || fread(to, 1, n, r->f) != n)
        return false;
    r->left -= n;
    return true;
}

// Reads a text up to its NUL. False: the record ends first.
static bool get_text(struct reader *r, char text[TEXT_MAX], size_t *len)
{
    *len = 0;
    for (; r->left; r->left--) {
        int c = getc(r->f);

        if (c == EOF)
            return false;
        if (c == '\0') {
            r->left--;
            text[*len] = '\0';
            return true;
        }
        if (*len < TEXT_MAX - 1)
            text[(*len)++] = (char)c;
    }
    return false;
}

static bool read_load(struct reader *r, struct perfmap *m)
{
    char name[TEXT_MAX];
    struct load load;
    size_t len;

    if (!get(r, &load, sizeof(load)) || !get_text(r, name, &len))
        return false;
    perfmap_add(m, load.addr, load.size, name, len);
    return true;
}

static bool read_move(struct reader *r, struct perfmap *m)
{
    struct move move;

    if (!get(r, &move, sizeof(move)))
        return false;
    perfmap_move(m, move.from, move.to, move.size);
    return true;
}

static bool skip(struct reader *r)
{
    char part[4096];

    while (r->left)
        if (!get(r, part, r->left < sizeof(part) ? (size_t)r->left : sizeof(part)))
            return false;
    return true;
}

static bool read_record(struct reader *r, struct perfmap *m)
{
    struct prefix p;

    r->left = sizeof(p);
    if (!get(r, &p, sizeof(p)) || p.size < sizeof(p))
        return false;
    r->left = p.size - sizeof(p);
    switch (p.id) {
    case CODE_LOAD: return read_load(r, m) && skip(r);
    case CODE_MOVE: return read_move(r, m) && skip(r);
    default: return skip(r);
    }
}

void jitdump_read(struct perfmap *m, FILE *f)
{
    struct reader r = { .f = f, .left = sizeof(struct header) };
    struct header h;

    if (!get(&r, &h, sizeof(h)) || h.magic != MAGIC || h.version != VERSION || h.size < sizeof(h))
        return;
    r.left = h.size - sizeof(h);
    if (!skip(&r))
        return;
    while (read_record(&r, m))
        ;
}

bool jitdump_is_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t digits;

    if (strncmp(name, "jit-", 4) != 0)
        return false;
    digits = strspn(name + 4, "0123456789");
    return digits && strcmp(name + 4 + digits, ".dump") == 0;
}
