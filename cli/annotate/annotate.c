// SPDX-License-Identifier: MIT
//
// quern annotate: a profile as text: totals, functions, source lines. Also called as cg_annotate
// and callgrind_annotate. The layout is that of those tools (see docs/man); it depends on the kind
// of the profile, not on the name of the command.
#include "cli/annotate/annotate.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/progress.h"

// ---- Preparation ----

static void read_profiles(struct annotate *a)
{
    struct quern_rewrite *file, *func;
    struct stat st;
    unsigned has;

    for (size_t i = 0; i < a->file_count; i++) {
        if (strcmp(a->files[i], "-") == 0 || stat(a->files[i], &st) < 0)
            continue;
        if (!a->mtime.tv_sec || st.st_mtim.tv_sec < a->mtime.tv_sec ||
            (st.st_mtim.tv_sec == a->mtime.tv_sec && st.st_mtim.tv_nsec < a->mtime.tv_nsec))
            a->mtime = st.st_mtim;
    }
    trust_folders(&a->include);
    file = read_rewrite("--mod-filename", a->mod_file);
    func = read_rewrite("--mod-funcname", a->mod_func);
    if (a->diff) {
        struct quern_profile *old, *new_;
        if (a->file_count != 2)
            die(UTIL_USAGE, "--diff: exactly two profiles are compared, not %zu", a->file_count);
        old = read_renamed(read_profile(a->files[0]), file, func);
        new_ = read_renamed(read_profile(a->files[1]), file, func);
        a->p = read_difference(new_, a->files[1], old, a->files[0], 0);
        quern_profile_free(old);
        quern_profile_free(new_);
    } else if (a->by_part) {
        a->p = a->file_count == 1 ? read_profile(a->files[0]) : read_parts(a->files, a->file_count);
    } else {
        a->p = read_renamed(read_sum(a->files, a->file_count), file, func);
    }
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    a->events = quern_profile_event_count(a->p);
    read_need_events(a->p, a->files[0]);
    has = quern_profile_has(a->p);
    a->callgrind = quern_profile_format(a->p) == QUERN_FORMAT_CALLGRIND;
    if (!(has & QUERN_HAS_CALL) && (a->inclusive || a->tree != TREE_NONE))
        warn("%s: the profile has no calls, so --inclusive and --tree show nothing more",
             a->files[0]);
    if (a->asm_ && !(has & QUERN_HAS_ADDR))
        die(UTIL_USAGE, "%s: --asm needs a profile with addresses (--dump-instr=yes)", a->files[0]);
    if (has & QUERN_HAS_CALL && (a->inclusive || a->tree != TREE_NONE) &&
        !(a->costs = quern_costs_new(a->p)))
        die(UTIL_USAGE, "%s: out of memory", a->files[0]);
}

// Those without --show or --sort; the other tools have all.
static size_t events_by_default(const struct annotate *a, size_t **out)
{
    if (!a->traditional)
        return event_default(a->p, out);
    *out = xcalloc(a->events + 1, sizeof(**out));
    for (size_t i = 0; i < a->events; i++)
        (*out)[i] = i;
    return a->events;
}

// The profile of the data, for the lines of this one.
static void read_data(struct annotate *a)
{
    struct quern_profile *d;
    struct quern_part code, data;

    walks_read(&a->walks, a->p);
    lifetimes_read(&a->blocks, a->p);
    lineuse_read(&a->use, a->p);
    sharing_read(&a->sharing, a->p);
    a->shared_shown = xcalloc(a->sharing.count + 1, sizeof(*a->shared_shown));
    fields_read(&a->fields, a->p);
    a->field_rows = fields_rows(&a->fields, a->p, &a->field_row_count);
    if (!a->data)
        return;
    d = read_profile(a->data);
    quern_profile_part(a->p, 0, &code);
    quern_profile_part(d, 0, &data);
    walks_read(&a->by_line, d);
    if (!a->by_line.count)
        warn("%s: --data: it has no walks: it is no profile of the data (quern run --data=yes), or "
             "a sum of several",
             a->data);
    else if (code.has_pid && data.has_pid && code.pid != data.pid)
        warn("%s: --data: of another process (PID %llu) than %s (PID %llu)", a->data,
             (unsigned long long)data.pid, a->files[0], (unsigned long long)code.pid);
    annotate_advice(a, d);
    quern_profile_free(d);
}

static void choose_events(struct annotate *a)
{
    int given = 0;

    if (a->show)
        a->shown_count = event_list(a->p, "--show", a->show, &a->shown, NULL);
    else
        a->shown_count = events_by_default(a, &a->shown);
    if (a->sort) {
        a->sorted_count = event_list(a->p, "--sort", a->sort, &a->sorted, &a->thresholds);
    } else {
        a->sorted_count = events_by_default(a, &a->sorted);
        a->thresholds = xcalloc(a->sorted_count + 1, sizeof(*a->thresholds));
        for (size_t i = 0; i < a->sorted_count; i++)
            a->thresholds[i] = -1;
    }
    for (size_t i = 0; i < a->sorted_count; i++)
        given |= a->thresholds[i] >= 0;
    if (!given && !a->callgrind && a->threshold > 20)
        die(UTIL_USAGE, "--threshold=%g: must be a percentage from 0 to 20", a->threshold);
    // An event without a threshold must not decide: 100 % for Cachegrind, where a function needs to
    // reach one threshold; 0 % for Callgrind, where all must be reached.
    for (size_t i = 0; i < a->sorted_count; i++) {
        if (given)
            a->thresholds[i] = a->thresholds[i] >= 0 ? a->thresholds[i] : 0;
        else if (i == 0)
            a->thresholds[i] = a->threshold >= 0 ? a->threshold : a->callgrind ? 99 : 0.1;
        else
            a->thresholds[i] = a->callgrind ? 0 : 100;
    }
    a->totals = quern_profile_totals(a->p);
    table_init(&a->table, a->p, a->shown, a->shown_count, a->percs, a->totals);
    // Of a difference a share says nothing: its parts may have both signs.
    a->causes = !a->show && !a->traditional && a->percs && !a->diff && table_causes(&a->table);
}

// ---- Preamble ----

static void put_events(const struct annotate *a, const char *label, const size_t *events, size_t n)
{
    text_put(stdout, label);
    for (size_t i = 0; i < n; i++)
        text_print(stdout, "%s%s", i ? " " : "",
                   quern_profile_event_name(a->p, events ? events[i] : i));
    putchar('\n');
}

static void put_list(const char *label, const char *const *list, size_t n)
{
    text_put(stdout, label);
    for (size_t i = 0; i < n; i++)
        text_print(stdout, "%s%s\n", i ? "                  " : "", list[i]);
    if (!n)
        putchar('\n');
}

// One line for all rows of --curve=yes.
static void put_descs(const struct quern_part *part)
{
    bool curve = false;

    for (size_t i = 0; i < part->desc_count; i++) {
        if (walks_are(part->desc[i]) || fields_are(part->desc[i]) || lifetimes_are(part->desc[i]) ||
            lineuse_are(part->desc[i]) || sharing_are(part->desc[i]))
            continue; // they are beside the objects
        if (strncmp(part->desc[i], "Curve ", 6) != 0) {
            text_print(stdout, "%s\n", part->desc[i]);
        } else if (!curve) {
            curve = true;
            puts("Curve: misses of caches of other sizes, which quern report plots");
        }
    }
}

static void preamble(const struct annotate *a)
{
    // ORDER annotate_auto
    static const char *const auto_words[] = { "on", "off",
                                              "the most expensive functions (all: --auto=yes)" };
    struct quern_part part;

    quern_profile_part(a->p, 0, &part);
    fputs(TABLE_RULE, stdout);
    if (a->callgrind) {
        for (size_t i = 0; i < a->file_count; i++)
            text_print(stdout, "Profile data file '%s'%s%s%s\n", a->files[i],
                       part.creator ? " (creator: " : "", part.creator ? part.creator : "",
                       part.creator ? ")" : "");
        fputs(TABLE_RULE, stdout);
    }
    put_descs(&part);
    if (a->callgrind) {
        text_print(stdout, "Profiled target:  %s", part.cmd ? part.cmd : "");
        if (part.has_pid) {
            printf(" (PID %llu", (unsigned long long)part.pid);
            if (part.has_part)
                printf(", part %llu", (unsigned long long)part.part);
            if (part.has_thread)
                printf(", thread %llu", (unsigned long long)part.thread);
            putchar(')');
        }
        putchar('\n');
        if (quern_profile_part_count(a->p) > 1)
            printf("Parts summed:     %zu\n", quern_profile_part_count(a->p));
    } else {
        text_print(stdout, "Command:          %s\n", part.cmd ? part.cmd : "");
        put_list("Data file:        ", a->files, a->file_count);
    }
    put_events(a, "Events recorded:  ", NULL, a->events);
    put_events(a, "Events shown:     ", a->shown, a->shown_count);
    if (a->causes)
        fputs("Causes of Cy:     shares of the row's cycles; --show=Cy,CyMem prints counts\n",
              stdout);
    put_events(a, "Event sort order: ", a->sorted, a->sorted_count);
    fputs("Thresholds:       ", stdout);
    for (size_t i = 0; i < a->sorted_count; i++)
        text_print(stdout, "%s%g", i ? " " : "", a->thresholds[i]);
    putchar('\n');
    put_list("Include dirs:     ", a->include.item, a->include.count);
    put_list("User annotated:   ", a->user, a->user_count);
    text_print(stdout, "Auto-annotation:  %s\n\n", auto_words[a->source - 1]);
}

static void program_totals(struct annotate *a)
{
    table_reset(&a->table);
    table_fit(&a->table, a->totals, UINT64_MAX);
    fputs(TABLE_RULE, stdout);
    table_head(&a->table);
    putchar('\n');
    fputs(TABLE_RULE, stdout);
    table_row(&a->table, a->totals, UINT64_MAX);
    fputs(" PROGRAM TOTALS\n\n", stdout);
}

// ---- The command ----

int cmd_annotate(int argc, char **argv)
{
    struct annotate a;
    size_t n, missing;

    annotate_options_read(&a, argc, argv);
    read_profiles(&a);
    choose_events(&a);
    read_data(&a);
    annotate_advice_alone(&a);
    a.cwd = util_cwd();
    if (a.cwd) {
        n = strlen(a.cwd);
        a.cwd = xrealloc(a.cwd, n + 2);
        if (n && a.cwd[n - 1] != '/')
            strcpy(a.cwd + n, "/");
        a.cwd_len = strlen(a.cwd);
    }
    progress_begin("preparing %s", a.files[0]);
    annotate_rows(&a);
    annotate_choose(&a);
    progress_end();
    if (a.cycle_funcs && !a.opened)
        warn("%s: a cycle of %zu functions, which call each other, has %.1f %% of the program: "
             "--cycles=no shows what each of them costs",
             a.files[0], a.cycle_funcs, a.cycle_share);
    if (!a.no_pager)
        pager_start();
    preamble(&a);
    program_totals(&a);
    a.table.colours = a.diff ? TABLE_CHANGES : TABLE_SHARES;
    annotate_functions(&a);
    annotate_files(&a);
    annotate_advice_put(&a);
    if (a.by_part)
        annotate_parts(&a);
    if (a.asm_)
        annotate_instructions(&a);
    missing = annotate_sources(&a);
    if (trust_refused())
        warn("%s", trust_refused());
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    table_free(&a.table);
    quern_rows_free(a.rows);
    walks_free(&a.walks);
    walks_free(&a.by_line);
    fields_rows_free(a.field_rows, a.field_row_count);
    fields_free(&a.fields);
    lifetimes_free(&a.blocks);
    lineuse_free(&a.use);
    sharing_free(&a.sharing);
    free(a.shared_shown);
    free(a.sums);
    free(a.row_of_func);
    free(a.opened);
    quern_costs_free(a.costs);
    quern_profile_free(a.p);
    annotate_advice_free(&a);
    return missing ? UTIL_USAGE : UTIL_OK;
}

int cmd_cg_annotate(int argc, char **argv)
{
    return cmd_annotate(argc, argv);
}

int cmd_callgrind_annotate(int argc, char **argv)
{
    return cmd_annotate(argc, argv);
}
