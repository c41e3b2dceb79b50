// SPDX-License-Identifier: MIT
//
// quern-finish: the finisher without the code that reads modules. Static, with the symbol cache
// alone. A fork costs little more than the start of the child's finisher, and this one starts five
// times as fast as quern with its libraries. The engine executes it instead of `quern --finish`.
// Where it lacks an answer, has a message to print, or does not support the run, it executes the
// whole finisher, which begins anew: nothing is removed before the profile is written.
//
// The stubs below replace what is not linked, by file. Each executes the whole finisher.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/terminal/progress.h"
#include "finish/end/end.h"
#include "finish/places/places_generated.h"
#include "finish/sums/call_graph.h"
#include "symbols/cache.h"
#include "symbols/learn.h"

static char **arguments;
static char whole[4096]; // the path of quern

// Also called before a message: the whole finisher prints it instead. If that cannot be executed,
// this finisher prints it.
static void execute_whole(void)
{
    util_before_message(NULL);
    execv(whole, arguments);
    warn("%s: cannot be executed", whole);
}

static _Noreturn void leave(void)
{
    execute_whole();
    exit(UTIL_USAGE); // the finisher says where the counts are
}

static bool is_for_us(const struct spool_header *h)
{
    return h->magic == SPOOL_MAGIC && h->version == SPOOL_VERSION && !h->s_dump_code &&
           !(h->flags & SPOOL_F_CALLS) &&
           (!(h->flags & SPOOL_F_MERGE) || (uint32_t)h->pid != h->tree_pid);
}

// Whether this finisher can do all of them; finds the path of quern, too. The spools of one call
// are of one run. A descriptor that is not a spool goes to the whole finisher, too, which says so
// and continues with the next.
static bool is_all_for_us(char **number)
{
    static struct spool_header h;
    bool ours = true;
    uint64_t fd;

    for (; *number; number++) {
        if (!util_number(*number, INT32_MAX, &fd))
            die(UTIL_USAGE, "quern-finish is for the engine alone");
        ours = pread((int)fd, &h, sizeof(h), 0) == sizeof(h) && is_for_us(&h) && ours;
        if (h.magic == SPOOL_MAGIC && h.s_quern)
            (void)!pread((int)fd, whole, sizeof(whole) - 1, (off_t)(SPOOL_TEXT_OFF + h.s_quern));
        h.magic = 0;
    }
    if (!*whole)
        die(UTIL_USAGE, "the spool in descriptor %d: not a spool of quern", (int)fd);
    return ours;
}

int main(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[1], "--finish") != 0)
        die(UTIL_USAGE, "quern-finish is for the engine alone");
    arguments = argv;
    // If that fails, the finisher below gets to where it lacks something, and says so.
    if (!is_all_for_us(argv + 2))
        execv(whole, argv);
    cache_made_by(whole);
    util_before_message(execute_whole);
    return finish_spools(argc - 1, argv + 1);
}

// ---- learn.c ----

void learn_segments(struct symbols_module *m)
{
    if (m->fd >= 0 || m->image)
        leave();
}

void learn_answer(struct symbols_module *m, uint64_t address, struct cachefile_answer *out)
{
    if (m->fd >= 0 || m->image)
        leave();
    *out = (struct cachefile_answer){ .start = address, .end = UINT64_MAX };
}

void learn_save(struct symbols_module *m)
{
    (void)m; // nothing was learned
}

void learn_free(struct learn *l)
{
    (void)l;
}

size_t learn_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                     size_t max)
{
    (void)m, (void)address, (void)out, (void)max;
    leave();
}

void learn_fields(struct symbols_module *m, struct symbols_field *field, size_t n)
{
    (void)m, (void)field, (void)n;
    leave();
}

void learn_block(struct symbols_module *m, struct symbols_block *b)
{
    (void)m, (void)b;
    leave();
}

const struct symbols_body *learn_body(struct symbols_module *m, uint64_t address)
{
    (void)m, (void)address;
    leave();
}

// ---- places_generated.c ----

struct perfmap *places_generated(const struct spool_file *s)
{
    (void)s;
    leave();
}

// ---- children_merge.c ----

int children_merge_all(const struct spool_file *s, const char *tree, const char *name,
                       const char *output, struct finish_totals *totals, char *err, size_t err_size)
{
    (void)s, (void)tree, (void)name, (void)output, (void)totals, (void)err, (void)err_size;
    leave();
}

int children_merge_late(struct spool_file *s, const struct output_files *files, const char *name,
                        struct finish_totals *totals, char *err, size_t err_size)
{
    (void)s, (void)files, (void)name, (void)totals, (void)err, (void)err_size;
    leave();
}

// ---- unmatched.c ----

void unmatched_say(const struct spool_file *s, struct places *places)
{
    (void)s, (void)places;
    leave();
}

// ---- output_code.c ----

int output_code(const struct spool_file *s, const struct output_files *files, char *err,
                size_t err_size)
{
    (void)s, (void)err, (void)err_size;
    if (files->code)
        leave();
    return 0;
}

// ---- output_data.c ----

int output_data(const struct spool_file *s, struct places *places,
                const struct finish_totals *totals, const char *output, char *err, size_t err_size)
{
    (void)s, (void)places, (void)totals, (void)output, (void)err, (void)err_size;
    leave();
}

// ---- call_graph.c, output_calls.c, spool_frames.c, spool_contexts.c ----

struct call_graph *call_graph_new(const struct spool_file *s, struct places *places,
                                  struct finish_totals *totals)
{
    (void)s, (void)places, (void)totals;
    leave();
}

void call_graph_add(struct call_graph *g, const struct spool_walk_insn *in)
{
    (void)g, (void)in;
    leave();
}

void call_graph_free(struct call_graph *g)
{
    (void)g;
    leave();
}

int output_calls(const struct spool_file *s, struct places *places, struct call_graph *g,
                 const char *output, char *err, size_t err_size)
{
    (void)s, (void)places, (void)g, (void)output, (void)err, (void)err_size;
    leave();
}

void spool_frames_add_open(const struct spool_file *s, int fd, uint32_t slot, uint64_t *sum)
{
    (void)s, (void)fd, (void)slot, (void)sum;
    leave();
}

void spool_frames_add_saved(const struct spool_file *s, int fd, uint64_t *sum)
{
    (void)s, (void)fd, (void)sum;
    leave();
}

struct spool_contexts *spool_contexts_new(const struct spool_file *s)
{
    (void)s;
    leave();
}

void spool_contexts_add(struct spool_contexts *c, const uint64_t *slot, uint64_t **sum, uint64_t *n)
{
    (void)c, (void)slot, (void)sum, (void)n;
    leave();
}

struct spool_account *spool_contexts_end(struct spool_contexts *c, uint64_t **sum, uint64_t *n,
                                         size_t *count, uint64_t *bad)
{
    (void)c, (void)sum, (void)n, (void)count, (void)bad;
    leave();
}

// ---- progress.c: too short to say anything ----

void progress_begin(const char *fmt, ...)
{
    (void)fmt;
}

void progress_step(uint64_t done, uint64_t total)
{
    (void)done, (void)total;
}

void progress_end(void) {}
