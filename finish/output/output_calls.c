// SPDX-License-Identifier: MIT
//
// Writes a call graph in Callgrind's format, through libquern. The header describes the run and the
// part (dumps).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/base/version.h"
#include "finish/output/output.h"
#include "quern/profile.h"

struct calls {
    const struct spool_file *s;
    struct places *places;
    struct quern_profile *p;
    bool lacking; // of memory
};

static void must(struct calls *o, int rc)
{
    o->lacking |= rc != 0;
}

// Why a part was written. The engine gives only the function's address:
// "--dump-before=@MAP:ADDRESS".
static char *trigger(struct calls *o, const char *why)
{
    unsigned long long pc;
    char option[16];
    unsigned map;
    struct symbols_place at = { 0 };

    if (sscanf(why, "--dump-%15[a-z]=@%u:%llx", option, &map, &pc) != 3 || map >= o->s->maps_used)
        return xstrdup(why);
    places_find(o->places, map, pc, &at);
    return xasprintf("--dump-%s=%s", option, places_text(o->places, at.function));
}

// As in Callgrind: the block counts of all threads before and after the part, and its trigger.
static void put_trigger(struct calls *o, const char *why)
{
    const struct spool_header *h = o->s->h;
    uint64_t end = h->n_blocks_gone + o->s->blocks_executed;
    char *range = xasprintf("Basic block %llu - %llu", (unsigned long long)h->n_blocks_dumped,
                            (unsigned long long)end);
    char *text = trigger(o, why);

    must(o, quern_profile_add_desc(o->p, "Timerange", range));
    must(o, quern_profile_add_desc(o->p, "Trigger", text));
    free(range);
    free(text);
}

// Whether they have said why a part was written.
static bool put_descs(struct calls *o, const char *desc)
{
    bool part = false;

    while (desc && *desc) {
        size_t n = strcspn(desc, "\n");
        char *line = xasprintf("%.*s", (int)n, desc), *colon = strchr(line, ':');

        if (colon) {
            *colon++ = '\0';
            colon += strspn(colon, " ");
            if (strcmp(line, "Trigger") == 0) {
                put_trigger(o, colon);
                part = true;
            } else {
                must(o, quern_profile_add_desc(o->p, line, colon));
            }
        }
        free(line);
        desc += desc[n] ? n + 1 : n;
    }
    return part;
}

static void put_header(struct calls *o)
{
    const char *cmd = spool_file_text(o->s, o->s->h->s_cmd);
    char *curve = spool_curve_desc(o->s);

    must(o, quern_profile_set_creator(o->p, "quern-" QUERN_VERSION));
    must(o, quern_profile_set_pid(o->p, (uint64_t)o->s->h->pid));
    must(o, quern_profile_set_cmd(o->p, cmd ? cmd : ""));
    must(o, quern_profile_set_part(o->p, o->s->h->dumps + UINT64_C(1)));
    if (o->s->slot != SPOOL_ALL_THREADS)
        must(o, quern_profile_set_thread(o->p, o->s->slot + 1));
    if (!put_descs(o, spool_file_text(o->s, o->s->h->s_desc)))
        put_trigger(o, "Program termination");
    put_descs(o, curve);
    free(curve);
}

int output_calls(const struct spool_file *s, struct places *places, struct call_graph *g,
                 const char *output, char *err, size_t err_size)
{
    struct calls o = { .s = s, .places = places, .p = call_graph_profile(g) };
    uint64_t flags = s->h->flags;
    struct quern_write_opts wo = {
        .sz = sizeof(wo),
        .format = QUERN_FORMAT_CALLGRIND,
        .no_lines = (flags & SPOOL_F_NO_LINES) != 0,
        .no_compress_strings = (flags & SPOOL_F_NO_IDS) != 0,
        .no_compress_pos = (flags & SPOOL_F_NO_RELATIVE) != 0,
    };
    struct quern_error e = { 0 };

    put_header(&o);
    must(&o, call_graph_finish(g));
    if (o.lacking || symbols_is_short()) {
        snprintf(err, err_size, "%s: not written: out of memory", output);
        return -1;
    }
    if (output_parts(s, o.p, output, &wo, &e) != 0) {
        snprintf(err, err_size, "%s: %s", output,
                 e.msg[0] ? e.msg : "the profile cannot be written");
        return -1;
    }
    return 0;
}
