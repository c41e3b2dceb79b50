// SPDX-License-Identifier: MIT
//
// The reader of machine files: lines of sections, keys and comments, by the table machine.def.
// Every error has the line and column of what is wrong, and says what is allowed there.
//
// Decided: a byte order mark at the beginning and carriage returns before newlines are left out,
// the last line needs no newline, comments have lines of their own; other control characters, a NUL
// among them, are errors. Quotations in messages are short, however long the line.
#include "machine/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum machine_section {
#define MACHINE_SECTION(id, word, required) SECTION_##id,
#define MACHINE_KEY(section, word, kind, required, field)
#include "machine/machine.def"
    SECTIONS,
};

enum machine_kind {
    KIND_TEXT,
    KIND_VENDOR,
    KIND_FAMILY,
    KIND_MODELS,
    KIND_SIZE,
    KIND_COUNT,
    KIND_FIRST, // the replacement of a first level
    KIND_REPLACE,
    KIND_FILLING,
    KIND_INDEX,
    KIND_YES_NO,
    KIND_PREDICT,
    KIND_FLAG, // no or yes, in 16 bits, as the rest of [core]
    KIND_SAME,
    KIND_FUSE,
    KIND_NUMBER,
    KIND_PORTS,
    KIND_COST,
};

static const struct section {
    const char *word;
    bool required;
} sections[SECTIONS] = {
#define MACHINE_SECTION(id, word, required) { word, required },
#define MACHINE_KEY(section, word, kind, required, field)
#include "machine/machine.def"
};

static const struct key {
    enum machine_section section;
    const char *word;
    enum machine_kind kind;
    bool required;
    size_t field;
} keys[] = {
#define MACHINE_SECTION(id, word, required)
#define MACHINE_KEY(section, word, kind, required, field) \
    { SECTION_##section, word, KIND_##kind, required, offsetof(struct machine, field) },
#include "machine/machine.def"
};
enum { KEYS = sizeof(keys) / sizeof(*keys), FAMILY_MAX = 15 + 255, QUOTED_MAX = 40 };

static const char *const replacements[SPOOL_REPLACEMENTS] = { "lru", "plru", "srrip", "drrip" };
static const char *const fillings[SPOOL_FILLINGS] = { "miss", "victim" };
static const char *const indices[SPOOL_INDICES] = { "virtual", "physical" };
static const char *const no_yes[] = { "no", "yes" };
static const char *const sames[CORE_SAMES] = { "no", "yes", "stack" };
static const char *const fusings[CORE_FUSINGS] = { "no", "compare", "arithmetic" };
static const char *const predictors[MACHINE_PREDICTORS] = { "cachegrind", "tage" };

struct place {
    unsigned line, column; // line 0: not in the file
};

struct reader {
    struct machine *m;
    struct machine_error *e;
    unsigned line;
    const char *start;            // of the line
    enum machine_section section; // SECTIONS: none yet
    struct place section_at[SECTIONS], key_at[KEYS];
};

// A part of a line.
struct span {
    const char *s;
    size_t n;
};

const char *machine_read_replacement(uint32_t replacement)
{
    return replacements[replacement];
}

const char *machine_read_filling(uint32_t filling)
{
    return fillings[filling];
}

// ---- Messages ----

static bool fail(struct reader *r, struct place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct reader *r, struct place at, const char *fmt, ...)
{
    va_list ap;

    r->e->line = at.line;
    r->e->column = at.column;
    va_start(ap, fmt);
    vsnprintf(r->e->text, sizeof(r->e->text), fmt, ap);
    va_end(ap);
    return false;
}

static struct place place_of(const struct reader *r, const char *s)
{
    return (struct place){ r->line, (unsigned)(s - r->start) + 1 };
}

// As many bytes of a quotation as are shown, and what shows that there are more.
static int shown(struct span w)
{
    return w.n > QUOTED_MAX ? QUOTED_MAX : (int)w.n;
}

static const char *rest(struct span w)
{
    return w.n > QUOTED_MAX ? "..." : "";
}

// "[machine], [match], ..."
static void list_sections(char *to, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < SECTIONS && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s[%s]", i ? ", " : "", sections[i].word);
}

// The keys of a section; if they do not fit, the first ones.
static void list_keys(enum machine_section section, char *to, size_t size)
{
    static const char more[] = ", ...";
    size_t used = 0;

    for (size_t i = 0; i < KEYS; i++) {
        if (keys[i].section != section)
            continue;
        if (used + strlen(keys[i].word) + 2 + sizeof(more) > size) {
            memcpy(to + used, more, sizeof(more));
            return;
        }
        used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "", keys[i].word);
    }
}

static bool fail_value(struct reader *r, const struct key *k, struct span v, const char *allowed)
{
    return fail(r, place_of(r, v.s), "%s = %.*s%s: must be %s", k->word, shown(v), v.s, rest(v),
                allowed);
}

// ---- Values ----

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trimmed(const char *s, const char *end)
{
    while (s < end && is_blank(*s))
        s++;
    while (s < end && is_blank(end[-1]))
        end--;
    return (struct span){ s, (size_t)(end - s) };
}

static bool is(struct span w, const char *word)
{
    return strlen(word) == w.n && memcmp(word, w.s, w.n) == 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

// A number at the beginning of w, which it takes away; at most `max`.
static bool take_number(struct span *w, bool hexadecimal, uint32_t max, uint32_t *to)
{
    int base =
        hexadecimal && w->n > 2 && w->s[0] == '0' && (w->s[1] == 'x' || w->s[1] == 'X') ? 16 : 10;
    size_t i = base == 16 ? 2 : 0, first = i;
    uint64_t n = 0;

    for (; i < w->n && digit_of(w->s[i]) < base; i++) {
        n = n * (unsigned)base + (unsigned)digit_of(w->s[i]);
        if (n > max)
            return false;
    }
    if (i == first)
        return false;
    *w = (struct span){ w->s + i, w->n - i };
    *to = (uint32_t)n;
    return true;
}

static bool read_size(struct reader *r, const struct key *k, struct span v, uint32_t *to)
{
    struct span unit = v;
    unsigned shift = 0;
    bool ok = take_number(&unit, false, UINT32_MAX, to);

    unit = trimmed(unit.s, unit.s + unit.n);
    if (is(unit, "KiB"))
        shift = 10;
    else if (is(unit, "MiB"))
        shift = 20;
    else if (unit.n)
        ok = false;
    if (!ok || *to > UINT32_MAX >> shift)
        return fail_value(r, k, v,
                          "a whole number of bytes, or one followed by KiB or MiB, below 4 GiB");
    *to <<= shift;
    return true;
}

static bool read_count(struct reader *r, const struct key *k, struct span v, uint32_t *to)
{
    struct span left = v;

    if (!take_number(&left, false, UINT32_MAX, to) || left.n)
        return fail_value(r, k, v, "a whole number");
    return true;
}

static bool read_family(struct reader *r, const struct key *k, struct span v, uint32_t *to)
{
    struct span left = v;

    if (!take_number(&left, true, FAMILY_MAX, to) || left.n)
        return fail_value(r, k, v, "a number from 0 to 270, as /proc/cpuinfo has it");
    return true;
}

// "0x31, 0x60-0x7f"
static bool read_models(struct reader *r, const struct key *k, struct span v, uint8_t *models)
{
    struct span left = v;

    for (bool more = true; more;) {
        uint32_t from, to;

        left = trimmed(left.s, left.s + left.n);
        if (!take_number(&left, true, MACHINE_MODELS - 1, &from))
            break;
        to = from;
        if (left.n && *left.s == '-') {
            left = (struct span){ left.s + 1, left.n - 1 };
            if (!take_number(&left, true, MACHINE_MODELS - 1, &to) || to < from)
                break;
        }
        memset(models + from, 1, to - from + 1);
        left = trimmed(left.s, left.s + left.n);
        if (!left.n)
            return true;
        more = *left.s == ',';
        left = (struct span){ left.s + 1, left.n - 1 };
    }
    return fail_value(r, k, v,
                      "numbers from 0 to 255, decimal or as 0x1f, and ranges of them as "
                      "0x10-0x1f, with commas between");
}

static bool read_text(struct reader *r, const struct key *k, struct span v, char *to)
{
    if (!v.n || v.n > MACHINE_TITLE_MAX)
        return fail_value(r, k, v, "a text of 1 to 100 bytes");
    memcpy(to, v.s, v.n);
    to[v.n] = '\0';
    return true;
}

static bool read_vendor(struct reader *r, const struct key *k, struct span v, char *to)
{
    if (v.n != 12)
        return fail_value(r, k, v,
                          "the 12 characters of CPUID leaf 0: GenuineIntel, AuthenticAMD or "
                          "another vendor's");
    memcpy(to, v.s, v.n);
    to[v.n] = '\0';
    return true;
}

static bool read_word(struct reader *r, const struct key *k, struct span v,
                      const char *const *words, size_t n, uint32_t *to)
{
    char allowed[80];
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (is(v, words[i])) {
            *to = (uint32_t)i;
            return true;
        }
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
                                 !i           ? ""
                                 : i + 1 == n ? " or "
                                              : ", ",
                                 words[i]);
    }
    return fail_value(r, k, v, allowed);
}

static bool read_first(struct reader *r, const struct key *k, struct span v, uint32_t *to)
{
    if (!is(v, replacements[SPOOL_LRU]))
        return fail_value(r, k, v, "lru: of L1I and L1D no other is simulated in this version");
    *to = SPOOL_LRU;
    return true;
}

// Of 16 bits.
static bool read_choice(struct reader *r, const struct key *k, struct span v,
                        const char *const *words, size_t n, uint16_t *to)
{
    uint32_t choice = 0;
    bool ok = read_word(r, k, v, words, n, &choice);

    *to = (uint16_t)choice;
    return ok;
}

static bool read_core(struct reader *r, const struct key *k, struct span v, void *field)
{
    const char *allowed = "";
    bool ok = false;

    if (k->kind == KIND_NUMBER)
        ok = machine_core_number(v.s, v.n, k->field, field, &allowed);
    else if (k->kind == KIND_PORTS)
        ok = machine_core_ports(v.s, v.n, field, &allowed);
    else
        ok = machine_core_cost(v.s, v.n, field, &allowed);
    return ok || fail_value(r, k, v, allowed);
}

static bool read_value(struct reader *r, const struct key *k, struct span v)
{
    void *field = (char *)r->m + k->field;

    switch (k->kind) {
    case KIND_TEXT: return read_text(r, k, v, field);
    case KIND_VENDOR: return read_vendor(r, k, v, field);
    case KIND_FAMILY: return read_family(r, k, v, field);
    case KIND_MODELS: return read_models(r, k, v, field);
    case KIND_SIZE: return read_size(r, k, v, field);
    case KIND_COUNT: return read_count(r, k, v, field);
    case KIND_FIRST: return read_first(r, k, v, field);
    case KIND_REPLACE: return read_word(r, k, v, replacements, SPOOL_REPLACEMENTS, field);
    case KIND_FILLING: return read_word(r, k, v, fillings, SPOOL_FILLINGS, field);
    case KIND_INDEX: return read_word(r, k, v, indices, SPOOL_INDICES, field);
    case KIND_YES_NO: return read_word(r, k, v, no_yes, 2, field);
    case KIND_PREDICT: return read_word(r, k, v, predictors, MACHINE_PREDICTORS, field);
    case KIND_FLAG: return read_choice(r, k, v, no_yes, 2, field);
    case KIND_SAME: return read_choice(r, k, v, sames, CORE_SAMES, field);
    case KIND_FUSE: return read_choice(r, k, v, fusings, CORE_FUSINGS, field);
    case KIND_NUMBER:
    case KIND_PORTS:
    case KIND_COST: return read_core(r, k, v, field);
    }
    return false;
}

// ---- Lines ----

static bool read_section(struct reader *r, struct span line)
{
    const char *close = memchr(line.s, ']', line.n);
    struct span w = { line.s + 1, close ? (size_t)(close - line.s) - 1 : line.n - 1 };
    struct place at = place_of(r, line.s);
    char allowed[160];

    if (!close)
        return fail(r, at, "%.*s%s: a section ends with ]", shown(line), line.s, rest(line));
    if (close + 1 != line.s + line.n)
        return fail(r, place_of(r, close + 1),
                    "text behind [%.*s%s]; keys and comments have lines of their own", shown(w),
                    w.s, rest(w));
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!is(w, sections[i].word))
            continue;
        if (r->section_at[i].line)
            return fail(r, at, "[%s] again; it is in line %u already", sections[i].word,
                        r->section_at[i].line);
        r->section = (enum machine_section)i;
        r->section_at[i] = at;
        return true;
    }
    list_sections(allowed, sizeof(allowed));
    return fail(r, at, "[%.*s%s]: unknown section; there are %s", shown(w), w.s, rest(w), allowed);
}

static const struct key *find_key(enum machine_section section, struct span w)
{
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].section == section && is(w, keys[i].word))
            return &keys[i];
    return NULL;
}

static bool read_key(struct reader *r, struct span line)
{
    const char *equals = memchr(line.s, '=', line.n);
    struct place at = place_of(r, line.s);
    struct span w;
    const struct key *k;
    char allowed[160];

    if (!equals)
        return fail(r, at,
                    "%.*s%s: neither [SECTION] nor KEY = VALUE nor a comment, which begins with #",
                    shown(line), line.s, rest(line));
    w = trimmed(line.s, equals);
    if (r->section == SECTIONS)
        return fail(r, at, "%.*s%s: a key before the first section; begin with [machine]", shown(w),
                    w.s, rest(w));
    k = find_key(r->section, w);
    if (!k) {
        list_keys(r->section, allowed, sizeof(allowed));
        return fail(r, at, "%.*s%s: unknown key; [%s] has %s", shown(w), w.s, rest(w),
                    sections[r->section].word, allowed);
    }
    if (r->key_at[k - keys].line)
        return fail(r, at, "%s again; it is in line %u already", k->word, r->key_at[k - keys].line);
    w = trimmed(equals + 1, line.s + line.n);
    r->key_at[k - keys] = place_of(r, w.s);
    return read_value(r, k, w);
}

static bool read_line(struct reader *r, const char *end)
{
    struct span line;

    if (end > r->start && end[-1] == '\r')
        end--;
    for (const char *s = r->start; s < end; s++)
        if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
            return fail(r, place_of(r, s), "control character 0x%02x: not a text file",
                        (unsigned char)*s);
    line = trimmed(r->start, end);
    if (!line.n || *line.s == '#')
        return true;
    return *line.s == '[' ? read_section(r, line) : read_key(r, line);
}

static bool read_lines(struct reader *r, const char *text, size_t size)
{
    const char *end = text + size;

    r->section = SECTIONS;
    for (r->start = text; r->start < end;) {
        const char *newline = memchr(r->start, '\n', (size_t)(end - r->start));

        r->line++;
        if (!read_line(r, newline ? newline : end))
            return false;
        r->start = newline ? newline + 1 : end;
    }
    return true;
}

// ---- The whole file ----

static bool check_complete(struct reader *r)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].required && !r->section_at[i].line)
            return fail(r, (struct place){ r->line ? r->line : 1, 1 }, "the file ends without [%s]",
                        sections[i].word);
    for (size_t i = 0; i < KEYS; i++) {
        const struct key *k = &keys[i];

        if (k->required && r->section_at[k->section].line && !r->key_at[i].line)
            return fail(r, r->section_at[k->section], "[%s] has no %s", sections[k->section].word,
                        k->word);
    }
    return true;
}

// Where the file says what is wrong with a level.
static struct place place_of_level(const struct reader *r, enum machine_level level)
{
    static const enum machine_section section[MACHINE_LEVELS] = { SECTION_L1I, SECTION_L1D,
                                                                  SECTION_L2, SECTION_LL };

    return r->section_at[section[level]];
}

static bool check_levels(struct reader *r)
{
    enum machine_level at;
    char why[MACHINE_WHY];

    if (machine_check(r->m, &at, why))
        return true;
    return fail(r, place_of_level(r, at), "[%s]: %s", machine_check_level(at), why);
}

static bool check_rest(struct reader *r)
{
    const char *section;
    char why[MACHINE_WHY];

    if (machine_check_rest(r->m, &section, why))
        return true;
    for (size_t i = 0; i < SECTIONS; i++)
        if (strcmp(sections[i].word, section) == 0 && r->section_at[i].line)
            return fail(r, r->section_at[i], "[%s]: %s", section, why);
    return fail(r, (struct place){ r->line, 1 }, "the file ends without [%s]: %s", section, why);
}

bool machine_read(struct machine *m, const char *text, size_t size, struct machine_error *e)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct reader r = { .m = m, .e = e };
    size_t skip = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

    memset(m, 0, sizeof(*m));
    if (!read_lines(&r, text + skip, size - skip) || !check_complete(&r))
        return false;
    m->has_l2 = r.section_at[SECTION_L2].line != 0;
    m->has_prefetch = r.section_at[SECTION_PREFETCH].line != 0;
    m->has_core = r.section_at[SECTION_CORE].line != 0;
    return check_levels(&r) && check_rest(&r);
}
