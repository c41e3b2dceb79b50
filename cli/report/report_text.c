// SPDX-License-Identifier: MIT
//
// Sources of a report: finds and reads the files that have costs, aligns the two versions of a
// comparison, and writes the sections. A file that is not found, or left out, gets a section that
// says so.
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/files/source.h"
#include "cli/profiles/read.h"
#include "cli/report/report.h"
#include "report/core/model.h"
#include "report/core/texts.h"

enum {
    CONTEXT = 8,       // lines around those with costs
    LARGEST = 3 << 20, // a section must fit a block
};

enum text_done { TEXT_NOT, TEXT_ADDED, TEXT_STAYS };

// ---- Lines with costs ----

static void mark_lines(struct report *r, unsigned side)
{
    uint32_t files = pack_file_count(r->pack),
             strings = (uint32_t)quern_profile_str_count(r->side[side].p);
    uint32_t *file = xcalloc(strings + 1, sizeof(*file));
    struct quern_cursor *c = read_cursor(r->side[side].p);
    struct quern_record rec;

    r->text_lines[side] = xcalloc(files + 1, sizeof(*r->text_lines[side]));
    for (uint32_t i = 0; i < files; i++) {
        struct pack_file f = pack_file(r->pack, i);
        uint64_t lines = f.last_line[side] < UINT32_MAX / 2 ? f.last_line[side] : 0;
        r->text_lines[side][i] = xcalloc(lines / 64 + 1, 8);
        uint32_t s = quern_profile_string(r->side[side].p, f.name, -1);
        if (s < strings)
            file[s] = i + 1;
    }
    while (quern_cursor_next(c, &rec)) {
        uint32_t i = rec.at.file == QUERN_NONE ? 0 : file[rec.at.file];
        if (i && rec.at.line <= pack_file(r->pack, i - 1).last_line[side] &&
            rec.at.line < UINT32_MAX / 2)
            r->text_lines[side][i - 1][rec.at.line / 64] |= 1ull << rec.at.line % 64;
    }
    quern_cursor_free(c);
    free(file);
}

void report_text_begin(struct report *r)
{
    r->text_done = xcalloc(pack_file_count(r->pack) + 1, 1);
    r->text_new = xcalloc(pack_file_count(r->pack) + 1, sizeof(*r->text_new));
    r->text_new_count = 0;
    for (unsigned s = 0; s < 2 && r->side[s].p && r->source == SOURCE_COST; s++)
        mark_lines(r, s);
}

// Marks the lines that --source wants; a line is number i + 1.
static uint8_t *wanted_lines(const struct report *r, unsigned side, uint32_t file,
                             const struct source *v)
{
    uint8_t *wanted = xcalloc(v->lines + 1u, 1);
    bool all = r->source == SOURCE_ALL && v->size <= LARGEST;

    if (all) {
        memset(wanted, 1, v->lines);
        return wanted;
    }
    uint64_t last = pack_file(r->pack, file).last_line[side];
    for (uint64_t line = 1; line <= last && r->text_lines[side]; line++) {
        if (!(r->text_lines[side][file][line / 64] >> line % 64 & 1))
            continue;
        for (uint64_t i = line > CONTEXT ? line - CONTEXT : 1; i <= line + CONTEXT && i <= v->lines;
             i++)
            wanted[i - 1] = 1;
    }
    return wanted;
}

// ---- Sections ----

static void put_source(struct report *r, uint32_t file, unsigned side, unsigned state,
                       const struct source *v, const uint8_t *wanted)
{
    struct buf to = { 0 }, pieces = { 0 };
    uint32_t count = 0, lines = v ? v->lines : 0;

    for (uint32_t i = 0, end; wanted && i < lines; i = end) {
        for (end = i + 1; end < lines && wanted[end] == wanted[i];)
            end++;
        if (!wanted[i])
            continue;
        buf_u(&pieces, i + 1);
        buf_u(&pieces, end - i);
        buf_text(&pieces, v->text + v->start[i], v->start[end] - v->start[i]);
        count++;
    }
    if (pieces.size > LARGEST) {
        state = TEXTS_TOO_MUCH;
        pieces.size = count = 0;
    }
    buf_u(&to, pack_file_number(r->pack, file));
    buf_u(&to, side);
    buf_u(&to, state);
    buf_text(&to, v && v->path ? v->path : "", v && v->path ? strlen(v->path) : 0);
    buf_u(&to, lines);
    buf_u(&to, count);
    buf_bytes(&to, pieces.at, pieces.size);
    to.failed |= pieces.failed;
    pack_section(r->pack, SECTION_SOURCE, 0, 0, &to);
    buf_free(&to);
    buf_free(&pieces);
}

// The runs of equal lines; of the base only the other lines are stored.
static void put_align(struct report *r, uint32_t file, const struct source *now,
                      const struct source *old, uint8_t *wanted_old)
{
    struct buf to = { 0 }, runs = { 0 };
    uint32_t count = 0, i = 0, k = 0;
    size_t *map = source_align(old, now);

    while (i < old->lines) {
        uint32_t skip = i, equal = 0;
        while (i < old->lines && !map[i])
            i++;
        if (i == old->lines)
            break;
        uint32_t at = (uint32_t)map[i] - 1;
        buf_u(&runs, i - skip);
        buf_u(&runs, at - k);
        for (; i < old->lines && map[i] == at + equal + 1; i++, equal++)
            wanted_old[i] = 0;
        buf_u(&runs, equal);
        k = at + equal;
        count++;
    }
    buf_u(&to, pack_file_number(r->pack, file));
    buf_u(&to, count);
    buf_bytes(&to, runs.at, runs.size);
    to.failed |= runs.failed;
    if (to.size <= LARGEST)
        pack_section(r->pack, SECTION_ALIGN, 0, 0, &to);
    buf_free(&to);
    buf_free(&runs);
    free(map);
}

static void note_missing(struct report *r, const char *name)
{
    r->sources_missing++;
    options_add(&r->missing, name);
}

static void add_version(struct report *r, uint32_t file, unsigned side, const struct source *v,
                        const uint8_t *wanted)
{
    if (!v->path)
        put_source(r, file, side, v->refused ? TEXTS_REFUSED : TEXTS_NOT_FOUND, NULL, NULL);
    else
        put_source(r, file, side, v->changed ? TEXTS_CHANGED : TEXTS_HERE, v, wanted);
}

void report_text_add(struct report *r, uint32_t file)
{
    struct pack_file f = pack_file(r->pack, file);
    struct source now, old = { 0 };

    if (r->text_done[file] || r->source == SOURCE_NONE)
        return;
    r->text_done[file] = TEXT_ADDED;
    r->text_new[r->text_new_count++] = file;
    now = source_get(&r->side[0].include, r->side[0].mtime, f.name);
    uint8_t *wanted = wanted_lines(r, 0, file, &now), *wanted_old = NULL;
    add_version(r, file, 0, &now, wanted);
    if (f.last_line[1]) {
        old = source_get(&r->side[1].include, r->side[1].mtime, f.name);
        wanted_old = wanted_lines(r, 1, file, &old);
        if (now.path && old.path)
            put_align(r, file, &now, &old, wanted_old);
        add_version(r, file, 1, &old, wanted_old);
    }
    if (now.path || old.path)
        r->sources++;
    else if (now.refused || old.refused)
        r->sources_refused++;
    else
        note_missing(r, f.name);
    source_put(&now);
    source_put(&old);
    free(wanted);
    free(wanted_old);
}

void report_text_settle(struct report *r, bool stays)
{
    for (uint32_t i = 0; i < r->text_new_count; i++)
        r->text_done[r->text_new[i]] = stays ? TEXT_STAYS : TEXT_NOT;
    r->text_new_count = 0;
}

void report_text_end(struct report *r)
{
    for (uint32_t i = 0; i < pack_file_count(r->pack); i++) {
        if (r->text_done[i])
            continue;
        r->sources_left += r->source != SOURCE_NONE;
        put_source(r, i, 0, r->source == SOURCE_NONE ? TEXTS_LEFT_OUT : TEXTS_TOO_MUCH, NULL, NULL);
    }
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; r->text_lines[s] && i < pack_file_count(r->pack); i++)
            free(r->text_lines[s][i]);
        free(r->text_lines[s]);
    }
    free(r->text_done);
    free(r->text_new);
}
