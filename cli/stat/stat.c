// SPDX-License-Identifier: MIT
//
// `quern stat`: how often each event happened in a program, once or in several runs, and compared
// with totals stored before. No symbols are read unless an event varies between runs.
#include "cli/stat/stat.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/file.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

// Events of a machine's levels that the baseline does not have are left out of the comparison:
// check_caches() warns.
static bool leaves_out(struct tally *s, int event)
{
    const uint64_t levels = SPOOL_F_L2 | SPOOL_F_TLB | SPOOL_F_PREFETCH;
    uint64_t others = s->run_options.flags & ~levels;

    if (finish_event_counted((enum finish_event)event, others))
        return false;
    s->run_options.flags = others;
    return true;
}

// Before anything runs: the baseline must have all events that are counted.
static void read_baseline(struct tally *s)
{
    const quern_count *totals;

    if (!s->baseline)
        return;
    s->base = read_profile(s->baseline);
    totals = quern_profile_totals(s->base);
    for (int e = 0; e < FINISH_EVENTS; e++) {
        int i = quern_profile_find_event(s->base, finish_event_names[e]);
        int64_t scale;

        if (!stat_counted(s, e))
            continue;
        if ((i < 0 || (size_t)i >= quern_profile_event_count(s->base)) && leaves_out(s, e))
            continue;
        if (i < 0 || (size_t)i >= quern_profile_event_count(s->base))
            die(UTIL_USAGE,
                "--baseline=%s: it has no event %s; the same simulations must have been on",
                s->baseline, finish_event_names[e]);
        scale = quern_profile_event_scale(s->base, (size_t)i);
        if (totals[i] % scale != 0)
            die(UTIL_USAGE, "--baseline=%s: its %s is not a whole number", s->baseline,
                finish_event_names[e]);
        s->event[e].baseline = totals[i] / scale;
    }
}

// Misses of different caches cannot be compared: warns.
static void check_caches(const struct tally *s)
{
    const struct spool_file *spool = &s->run[0].spool;
    const char *own = spool_file_text(spool, spool->h->s_desc);
    bool l2 = false, own_l2 = own && strstr(own, "L2 cache:");
    struct quern_part part;

    if (!s->base || !own || !(spool->h->flags & SPOOL_F_CACHE_SIM) ||
        quern_profile_part(s->base, 0, &part) != 0)
        return;
    for (size_t i = 0; i < part.desc_count; i++) {
        const char *line = strstr(part.desc[i], " cache:") ? part.desc[i] : NULL;

        l2 |= line && strncmp(line, "L2 cache:", 9) == 0;
        // "I1 cache:         32768 B, ..." with any number of blanks
        if (line && !strstr(own, line)) {
            warn("--baseline=%s: has other caches (%s); choose them by %s", s->baseline, line,
                 l2 ? "--machine" : "--I1, --D1 and --LL");
            return;
        }
    }
    if (own_l2 && !l2)
        warn("--baseline=%s: has no L2 cache, which the machine has; choose the same machine",
             s->baseline);
}

static _Noreturn void end_as(int status)
{
    struct rlimit none = { 0, 0 };
    int sig = WTERMSIG(status);

    if (!WIFSIGNALED(status))
        _exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &none); // a core would be that of quern, not of the program
    signal(sig, SIG_DFL);
    raise(sig);
    _exit(128 + sig);
}

int cmd_stat(int argc, char **argv)
{
    struct tally s;
    void (*print)(FILE * f, const void *tally);
    bool vary = false;
    int rc;

    stat_options_read(&s, argc, argv);
    read_baseline(&s);
    if (!stat_runs(&s))
        end_as(s.status);
    check_caches(&s);
    for (int e = 0; e < FINISH_EVENTS; e++)
        vary |= s.event[e].least != s.event[e].greatest;
    if (vary)
        stat_vary(&s);
    print = s.json ? stat_print_json : stat_print;
    if (s.out) {
        rc = file_write(s.out, print, &s);
        if (rc != 0)
            die(UTIL_USAGE, "%s: cannot be written: %s", s.out, strerror(-rc));
    } else {
        print(stdout, &s);
        if (fflush(stdout) == EOF || ferror(stdout))
            die(UTIL_USAGE, "standard output: %s; -o FILE prints the result elsewhere",
                strerror(errno));
    }
    if (s.save)
        stat_save(&s);
    end_as(s.status);
}
