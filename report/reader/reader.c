// SPDX-License-Identifier: MIT
//
// What the worker of a page without a profile calls, in this order: get() and add() for each file,
// make(), then block() and size() of each block. When something is refused, fault() is the message
// of `quern report`. An instance reads one report and is discarded with all its memory, so memory
// is freed only where the next step needs it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quern/profile.h"
#include "report/core/model.h"
#include "report/core/texts.h"
#include "report/pack/known.h"
#include "report/pack/pack.h"

#define EXPORT(name) __attribute__((export_name(#name))) reader_##name

// Bytes of the file that were read, of how many.
__attribute__((import_module("page"), import_name("progress"))) void page_progress(double done,
                                                                                   double total);

static struct {
    struct quern_profile *p; // of the files of a side so far
    struct quern_merger *sum;
    char *name; // of the first one
    size_t files;
} side[CORE_SIDES];

static bool apart; // files of the profile are the runs of a series
static struct pack *pack;
static struct buf facts; // pairs of key and value, each with a NUL behind it
static char *why;
static const char *const memory = "there is not enough memory";

// ---- Sentences ----

static void fact(const char *key, const char *value)
{
    buf_bytes(&facts, key, strlen(key) + 1);
    buf_bytes(&facts, value, strlen(value) + 1);
}

static int refuse(const char *text)
{
    free(why);
    why = strdup(text);
    return -1;
}

static int refuse_error(const struct quern_error *e)
{
    char text[sizeof(e->file) + sizeof(e->msg) + 64], place[48] = "";

    if (e->line && e->col)
        snprintf(place, sizeof(place), ":%llu:%u", (unsigned long long)e->line, e->col);
    else if (e->line)
        snprintf(place, sizeof(place), ":%llu", (unsigned long long)e->line);
    snprintf(text, sizeof(text), "%s%s%s%s", e->file, place, *e->file ? ": " : "", e->msg);
    return refuse(text);
}

static void note_remarks(const struct quern_profile *p, const char *name)
{
    for (size_t i = 0; i < quern_profile_diag_count(p); i++) {
        const struct quern_diag *d = quern_profile_diag(p, i);
        size_t size = strlen(name) + strlen(d->msg) + 64;
        char *text = d->severity == QUERN_NOTE ? NULL : malloc(size);
        if (!text)
            continue;
        snprintf(text, size, "%s:%llu: %s (%llu times)", name, (unsigned long long)d->line, d->msg,
                 (unsigned long long)d->count);
        fact("remark", text);
        free(text);
    }
}

const char *EXPORT(fault)(void);
const char *reader_fault(void)
{
    return why ? why : memory;
}

// ---- Files ----

void *EXPORT(get)(size_t size);
void *reader_get(size_t size)
{
    return malloc(size ? size : 1);
}

static int step(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    page_progress((double)done, (double)total);
    return 0;
}

static void note_run(const char *name, size_t parts)
{
    size_t size = strlen(name) + 32;
    char *text = malloc(size);

    if (!text)
        return;
    snprintf(text, size, "%zu %s", parts, name);
    fact("run", text);
    free(text);
}

// A second file and those behind it are summed, or (apart) become further parts.
static int join(unsigned s, struct quern_profile *p, const char *name)
{
    struct quern_error e;
    int rc = 0;

    if (s == 0 && apart) {
        note_run(name, quern_profile_part_count(p));
        if (!side[s].p && !(side[s].p = quern_profile_new()))
            return refuse(memory);
        rc = quern_profile_append(side[s].p, side[s].name, p, name, &e);
    } else if (side[s].files == 0) {
        side[s].p = p;
        return 0;
    } else {
        if (!side[s].sum && !(side[s].sum = quern_merger_new()))
            return refuse(memory);
        if (side[s].files == 1) {
            rc = quern_merger_add(side[s].sum, side[s].p, side[s].name, &e);
            quern_profile_free(side[s].p);
            side[s].p = NULL;
        }
        if (rc == 0)
            rc = quern_merger_add(side[s].sum, p, name, &e);
    }
    quern_profile_free(p);
    return rc < 0 ? refuse_error(&e) : 0;
}

void EXPORT(series)(void);
void reader_series(void)
{
    apart = true;
}

// A file of a side; name (NUL-terminated) and text are from get() and the reader's from here on.
// 0, or -1: see fault().
int EXPORT(add)(unsigned s, char *name, char *text, size_t size);
int reader_add(unsigned s, char *name, char *text, size_t size)
{
    struct quern_read_opts opts = { .sz = sizeof(opts), .progress = step };
    struct quern_error e;

    if (s >= CORE_SIDES)
        return refuse("there are two sides");
    struct quern_profile *p = quern_profile_read_mem(text, size, name, &opts, &e);
    free(text);
    if (!p)
        return refuse_error(&e);
    note_remarks(p, name);
    fact(s ? "base" : "profile", name);
    if (side[s].files == 0)
        side[s].name = name;
    if (join(s, p, name) < 0)
        return -1;
    side[s].files++;
    return 0;
}

// ---- The report ----

static int settle(unsigned s)
{
    struct quern_error e;

    if (side[s].sum) {
        side[s].p = quern_merger_take(side[s].sum, &e);
        quern_merger_free(side[s].sum);
        if (!side[s].p)
            return refuse_error(&e);
    }
    if (side[s].p && quern_profile_event_count(side[s].p) == 0) {
        snprintf(e.msg, sizeof(e.msg), "%.150s: the profile is empty: it has no events",
                 side[s].name);
        return refuse(e.msg);
    }
    return 0;
}

static void put_facts(void)
{
    struct quern_part part;
    char now[32];
    const char *end = (const char *)facts.at + facts.size;

    bool command = quern_profile_part(side[0].p, 0, &part) == 0 && part.cmd && *part.cmd;
    pack_text(pack, "title", command ? part.cmd : side[0].name);
    for (const char *key = (const char *)facts.at; key < end;) {
        const char *value = key + strlen(key) + 1;
        pack_text(pack, key, value);
        key = value + strlen(value) + 1;
    }
    snprintf(now, sizeof(now), "%lld", (long long)time(NULL));
    pack_text(pack, "written", now);
    pack_text(pack, "generator", "quern " QUERN_VERSION);
    pack_text(pack, "left-out",
              "sources and instructions are left out, since a page cannot look for them; "
              "`quern report PROFILE` can");
}

// Of each file with lines: its source is not there.
static void put_sources(void)
{
    for (uint32_t i = 0; i < pack_file_count(pack); i++) {
        struct buf to = { 0 };
        buf_u(&to, pack_file_number(pack, i));
        buf_u(&to, 0);
        buf_u(&to, TEXTS_NOT_FOUND);
        for (int zero = 0; zero < 3; zero++) // path, lines, pieces
            buf_u(&to, 0);
        pack_section(pack, SECTION_SOURCE, 0, 0, &to);
        buf_free(&to);
    }
}

// The number of blocks, or -1.
int EXPORT(make)(void);
int reader_make(void)
{
    struct quern_error e;

    for (unsigned s = 0; s < CORE_SIDES; s++)
        if (settle(s) < 0)
            return -1;
    if (!side[0].p)
        return refuse("there is no profile");
    if (side[1].p &&
        quern_profile_match_events(side[1].p, side[1].name, side[0].p, side[0].name, &e) < 0)
        return refuse_error(&e);
    for (unsigned s = 0; s < CORE_SIDES && side[s].p; s++)
        known_events(side[s].p);
    if (!(pack = pack_new(side[0].p, side[1].p, known_first(side[0].p))))
        return refuse(memory);
    put_facts();
    pack_functions(pack);
    for (uint32_t f = 0; f < pack_count(pack);)
        f = pack_places(pack, f);
    put_sources();
    if (pack_cut(pack))
        pack_text(pack, "left-out", "the ends of names longer than 1 MiB are left out");
    if (pack_finish(pack) < 0 || facts.failed)
        return refuse(memory);
    return (int)pack_block_count(pack);
}

const uint8_t *EXPORT(block)(size_t i);
const uint8_t *reader_block(size_t i)
{
    return pack_block(pack, i)->deflated;
}

size_t EXPORT(size)(size_t i);
size_t reader_size(size_t i)
{
    return pack_block(pack, i)->size;
}
