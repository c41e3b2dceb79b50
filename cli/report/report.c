// SPDX-License-Identifier: MIT
//
// quern report: one HTML file that shows a profile in any browser. Reads and compares as annotate
// and diff do, finds sources and instructions, packs the blocks with report/pack, and writes them
// with the page that is built into the program.
#include "cli/report/report.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/file.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/terminal/progress.h"
#include "report/core/formula.h"
#include "report/core/heap.h"
#include "report/pack/deflate.h"

extern char **environ;

enum {
    NAMED = 3,          // at most so many missing sources are named
    FIRST_BLOCK = 8192, // bytes that block 0 grows by at the end
};

// ---- Events ----

static struct text text_of(const char *s)
{
    return (struct text){ (const uint8_t *)s, strlen(s) };
}

// --define: parses the formula as the page will, and reports a syntax error.
static void define_events(struct report *r)
{
    struct quern_profile *p = r->side[0].p;
    size_t events = quern_profile_event_count(p), all = events + quern_profile_derived_count(p);
    struct core c = { .events = (uint32_t)events, .event_count = (uint32_t)all };

    c.event = xcalloc(all + r->define.count + 1, sizeof(*c.event));
    for (size_t e = 0; e < all; e++) {
        const char *formula = e < events ? NULL : quern_profile_event_formula(p, e);
        size_t at;
        c.event[e].name = text_of(quern_profile_event_name(p, e));
        c.event[e].scale = quern_profile_event_scale(p, e);
        if (formula)
            c.event[e].made =
                formula_new(&c, (uint32_t)e, text_of(formula).at, strlen(formula), &at);
    }
    for (size_t i = 0; i < r->define.count; i++) {
        const char *text = r->define.item[i], *equals = strchr(text, '=');
        size_t at, name_size = equals ? (size_t)(equals - text) : 0;
        while (name_size && (text[name_size - 1] == ' ' || text[name_size - 1] == '\t'))
            name_size--;
        if (!name_size || *text == ' ')
            die(UTIL_USAGE, "--define=%s: must be NAME = FORMULA", text);
        char *name = xasprintf("%.*s", (int)name_size, text);
        const char *formula = equals + 1 + strspn(equals + 1, " \t");
        for (size_t e = 0; e < c.event_count; e++)
            if (c.event[e].name.size == name_size &&
                memcmp(c.event[e].name.at, name, name_size) == 0)
                die(UTIL_USAGE, "--define=%s: there is an event %s already", text, name);
        struct event *e = &c.event[c.event_count];
        e->made = formula_new(&c, c.event_count, text_of(formula).at, strlen(formula), &at);
        if (!e->made) {
            warn("--define=%s: the formula cannot be read from here:", text);
            remark_caret(stderr, formula, (uint32_t)at + 1);
            exit(UTIL_USAGE);
        }
        e->name = text_of(name);
        e->scale = formula_scale(e->made);
        c.event_count++;
        pack_event(r->pack, name, formula, e->scale);
    }
    for (size_t e = 0; e < c.event_count; e++)
        formula_free(c.event[e].made);
    free(c.event);
}

// ---- What goes in ----

static void put_facts(struct report *r)
{
    static const char *const key[] = { "profile", "base" };
    char now[32];

    pack_text(r->pack, "title", r->title);
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < r->side[s].path_count; i++)
            pack_text(r->pack, key[s], r->side[s].paths[i]);
        for (size_t i = 0; i < r->side[s].remark.count; i++)
            pack_text(r->pack, "remark", r->side[s].remark.item[i]);
        for (size_t i = 0; i < r->side[s].include.count; i++)
            pack_text(r->pack, "source-folder", r->side[s].include.item[i]);
    }
    for (size_t i = 0; r->side[0].apart && i < r->side[0].path_count; i++) {
        char *run = xasprintf("%zu %s", r->side[0].run_parts[i], r->side[0].paths[i]);
        pack_text(r->pack, "run", run);
        free(run);
    }
    snprintf(now, sizeof(now), "%lld", (long long)time(NULL));
    pack_text(r->pack, "written", now);
    pack_text(r->pack, "generator", "quern " QUERN_VERSION);
}

static double share(const struct report *r, uint32_t from)
{
    quern_count sum = 0,
                total = event_value(r->side[0].p, r->event, quern_profile_totals(r->side[0].p));

    for (uint32_t f = from; f < pack_count(r->pack); f++) {
        const quern_count *v = pack_func(r->pack, f).self[0];
        sum += v ? event_value(r->side[0].p, r->event, v) : 0;
    }
    return total ? 100.0 * (double)sum / (double)total : 0;
}

static void leave_out(struct report *r, const char *text)
{
    warn("%s", text);
    pack_text(r->pack, "left-out", text);
}

// Lines, instructions and sources, the most expensive functions first, up to the maximum size.
static void add_details(struct report *r)
{
    size_t rest = r->page_size + FIRST_BLOCK, most = r->max_size > rest ? r->max_size - rest : 0;
    uint32_t f = 0, n = pack_count(r->pack), files = pack_file_count(r->pack);

    report_text_begin(r);
    while (f < n) {
        struct pack_mark mark = pack_begin(r->pack);
        uint32_t next = pack_places(r->pack, f), file;
        report_code_add(r, f, next);
        for (uint32_t i = f; i < next; i++)
            if ((file = pack_func(r->pack, i).file_number) != QUERN_NONE)
                report_text_add(r, file);
        bool fits = pack_end(r->pack, &mark, most);
        report_text_settle(r, fits);
        if (!fits)
            break;
        f = next;
    }
    if (f < n) {
        char *text =
            xasprintf("lines, sources and instructions of the %u cheapest functions (%.2g %% of "
                      "%s) are left out to stay below %llu bytes; --max-size changes that",
                      n - f, share(r, f), quern_profile_event_name(r->side[0].p, r->event),
                      (unsigned long long)r->max_size);
        leave_out(r, text);
        free(text);
    }
    // Files that have inlined code only.
    for (uint32_t i = 0; i < files && f == n; i++) {
        struct pack_mark mark = pack_begin(r->pack);
        report_text_add(r, i);
        report_text_settle(r, pack_end(r->pack, &mark, most));
    }
    report_text_end(r);
    report_code_end(r);
}

// ---- Messages ----

static bool is_included(const struct option_list *list, const char *folder)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i], folder) == 0)
            return true;
    return false;
}

// ", 12 not found (a.c, b.c, c.c and 9 more; searched below D, and below E for the base)"
static void put_missing(FILE *f, const struct report *r)
{
    bool first = true;

    text_print(f, ", %zu not found", r->sources_missing);
    if (!r->sources_missing)
        return;
    for (size_t i = 0; i < r->missing.count && i < NAMED; i++)
        text_print(f, "%s%s", i ? ", " : " (", r->missing.item[i]);
    if (r->missing.count > NAMED)
        text_print(f, " and %zu more", r->missing.count - NAMED);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < r->side[side].include.count; i++) {
            const char *folder = r->side[side].include.item[i];

            if (side == 1 && is_included(&r->side[0].include, folder))
                continue;
            text_print(f, "%s%s%s", first ? "; searched below " : ", ", folder,
                       side ? " (of the base)" : "");
            first = false;
        }
    text_print(f, first ? "; -I DIR adds a folder to search)" : ")");
}

static void say_sources(struct report *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    if (trust_refused())
        warn("%s", trust_refused());
    if (r->source == SOURCE_NONE || !(f = open_memstream(&text, &size)))
        return;
    put_missing(f, r);
    if (r->sources_refused)
        text_print(f, ", %zu not read", r->sources_refused);
    fclose(f);
    warn("%s: %zu source%s in it%s%s", strcmp(r->out, "-") ? r->out : "the report", r->sources,
         r->sources == 1 ? " is" : "s are", text, r->sources_left ? ", others left out" : "");
    free(text);
    if (r->objects_missing)
        warn("%zu of %zu object files are not there: their instructions are left out",
             r->objects_missing, r->objects);
}

static void open_browser(const char *path)
{
    char *argv[] = { (char *)"xdg-open", (char *)path, NULL };
    pid_t pid;
    int status = 0;

    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0) {
        warn("%s: xdg-open is not installed; open the file in a browser", path);
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        warn("%s: xdg-open could not open it; open the file in a browser", path);
}

// ---- The command ----

static void write_html(struct report *r)
{
    int rc = file_write(r->out, report_html_write, r);

    if (rc < 0)
        die(UTIL_USAGE, "%s: cannot be written: %s",
            strcmp(r->out, "-") ? r->out : "standard output", strerror(-rc));
}

static int write_empty(struct report *r)
{
    if (!report_html_reader())
        die(UTIL_USAGE,
            "--empty: this quern was built without the page's reader of profiles, which needs "
            "wasi-libc; `scripts/deps build` installs it, then build again");
    write_html(r);
    if (r->open)
        open_browser(r->out);
    return UTIL_OK;
}

int cmd_report(int argc, char **argv)
{
    struct report r;

    report_options_read(&r, argc, argv);
    if (!report_html_there())
        die(UTIL_USAGE,
            "this quern was built without the page of reports, which needs esbuild, clang and "
            "lld; `scripts/deps build` installs them, then build again");
    if (r.empty)
        return write_empty(&r);
    r.side[0].apart = r.series;
    side_read(r.side, r.mod_file, r.mod_func);
    r.event = side_event(r.side, r.event_name);
    if (!r.title)
        r.title = *read_command(r.side[0].p) ? read_command(r.side[0].p) : r.side[0].paths[0];
    progress_begin("preparing %s", r.side[0].paths[0]);
    r.pack = pack_new(r.side[0].p, r.side[1].p, r.event);
    if (!r.pack)
        die(UTIL_USAGE, "%s: out of memory", r.side[0].paths[0]);
    define_events(&r);
    report_data(&r);
    put_facts(&r);
    r.page_size = report_html_size() + deflate_in_page(r.data_block.deflated_size) +
                  16384; // with the summary
    pack_functions(r.pack);
    if (pack_finish(r.pack) < 0)
        die(UTIL_USAGE, "%s: out of memory", r.side[0].paths[0]);
    add_details(&r);
    if (pack_cut(r.pack))
        leave_out(&r, "the ends of names longer than 1 MiB are left out");
    if (pack_finish(r.pack) < 0)
        die(UTIL_USAGE, "%s: out of memory", r.side[0].paths[0]);
    progress_writing(r.out);
    write_html(&r);
    progress_end();
    say_sources(&r);
    if (r.open)
        open_browser(r.out);
    pack_free(r.pack);
    free(r.data_block.deflated);
    side_free(r.side);
    return UTIL_OK;
}
