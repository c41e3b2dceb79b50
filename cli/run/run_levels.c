// SPDX-License-Identifier: MIT
//
// --machine: finds the machine, by its name among those that are shipped, by CPUID, or in a file,
// and sets the levels of caches that are simulated. Called by run_options.c, run.c and doctor.c.
#include "cli/run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/nearest.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "machine/machine.h"

// Names of shipped machines, sorted.
struct names {
    char *folder;
    char **item;
    size_t count;
};

// ---- The processor ----

static void ask_machine(const void *of, uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    (void)of;
    run_machine_cpuid(leaf, sub, r);
}

// The processor of --cpu.
static void ask_shown(const void *of, uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    const struct spool_cpu *c = of;

    memset(r, 0, 4 * sizeof(*r));
    for (uint32_t i = 0; i < c->leaves; i++) {
        const struct spool_cpuid *l = &c->leaf[i];

        if (l->leaf == leaf && (l->sub == sub || l->sub == SPOOL_CPUID_ANY))
            memcpy(r, (uint32_t[]){ l->a, l->b, l->c, l->d }, 4 * sizeof(*r));
    }
}

static void read_processor(const struct run_cpu *cpu, struct machine_cpuid *p)
{
    if (cpu->given)
        machine_cpuid(p, ask_shown, &cpu->table);
    else
        machine_cpuid(p, ask_machine, NULL);
}

static uint32_t processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);

    return n > 0 ? (uint32_t)n : 1;
}

// ---- The shipped machines ----

// From bin/ or from libexec/quern/.
static char *shipped_folder(void)
{
    char *self = util_self(), *dir = util_dirname(self);
    bool whole = strcmp(util_basename(self), RUN_WHOLE) == 0;
    char *folder = xasprintf("%s/%s/share/quern/machines", dir, whole ? "../.." : "..");

    free(self);
    free(dir);
    return folder;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_suffix(const char *s)
{
    size_t n = strlen(s), suffix = strlen(MACHINE_SUFFIX);

    return n >= suffix && strcmp(s + n - suffix, MACHINE_SUFFIX) == 0;
}

// NULL, or why the folder cannot be read.
static const char *read_names(struct names *n)
{
    DIR *d;
    struct dirent *e;

    *n = (struct names){ .folder = shipped_folder() };
    d = opendir(n->folder);
    if (!d)
        return strerror(errno);
    while ((e = readdir(d))) {
        if (e->d_name[0] == '.' || !has_suffix(e->d_name))
            continue;
        n->item = xrealloc(n->item, (n->count + 1) * sizeof(*n->item));
        n->item[n->count] = xstrdup(e->d_name);
        n->item[n->count++][strlen(e->d_name) - strlen(MACHINE_SUFFIX)] = '\0';
    }
    closedir(d);
    if (n->count)
        qsort(n->item, n->count, sizeof(*n->item), by_name);
    return NULL;
}

static void read_names_or_die(struct names *n)
{
    const char *why = read_names(n);

    if (why)
        die(UTIL_USAGE, "%s: the folder of machines: %s; install quern again", n->folder, why);
}

static void free_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->item[i]);
    free(n->item);
    free(n->folder);
}

// ---- Reading one ----

static _Noreturn void die_file(const char *path, const struct machine_error *e)
{
    if (e->line)
        die(UTIL_USAGE, "%s:%u:%u: %s", path, e->line, e->column, e->text);
    die(UTIL_USAGE, "%s: %s", path, e->text);
}

static void read_or_die(const char *path, struct machine *m)
{
    struct machine_error e;

    if (!machine_file(m, path, &e))
        die_file(path, &e);
}

static void read_shipped(const struct names *n, size_t i, struct machine *m)
{
    char *path = xasprintf("%s/%s%s", n->folder, n->item[i], MACHINE_SUFFIX);

    read_or_die(path, m);
    free(path);
}

static const char *meant(const struct names *n, const char *name)
{
    struct nearest near = nearest_begin(name, strlen(name));

    for (size_t i = 0; i < n->count; i++)
        nearest_offer(&near, n->item[i]);
    return near.best;
}

static void find_named(const char *name, struct machine *m)
{
    struct names n;
    const char *near;

    read_names_or_die(&n);
    for (size_t i = 0; i < n.count; i++)
        if (strcmp(n.item[i], name) == 0) {
            read_shipped(&n, i, m);
            free_names(&n);
            return;
        }
    near = meant(&n, name);
    die(UTIL_USAGE,
        "--machine=%s: no such machine; %s%s%s--machine=list lists them, and a file's name has a "
        "/ or ends in %s",
        name, near ? "did you mean " : "", near ? near : "", near ? "? " : "", MACHINE_SUFFIX);
}

// The first shipped machine that is the processor's.
static bool find_native(const struct names *n, const struct machine_cpuid *p, struct machine *m)
{
    for (size_t i = 0; i < n->count; i++) {
        read_shipped(n, i, m);
        if (machine_native(m, p))
            return true;
    }
    return false;
}

// ---- What is taken of the processor ----

static char *refusal(enum machine_level level, const struct spool_geometry *cpuid,
                     const struct machine *m, bool guest)
{
    static const char *const names[MACHINE_LEVELS] = { "I1", "D1", "L2", "LL" };
    struct machine copy = *m;
    const struct spool_geometry *g = machine_check_geometry(&copy, level);
    char size[32], instead[32];

    return xasprintf("%s cache of %s B, %u-way, %u B lines, by CPUID, is %s; simulating that of "
                     "machine %s: %s B, %u-way, %u B lines",
                     names[level], util_commas(size, cpuid->size), cpuid->assoc, cpuid->line,
                     guest && level == MACHINE_LL
                         ? "more than a virtual machine has for its processors"
                         : "not one of such a processor",
                     m->name, util_commas(instead, g->size), g->assoc, g->line);
}

// The geometries of CPUID, and a message for each that is not taken.
static void take_processor(struct machine *m, const struct machine_cpuid *p,
                           char *messages[RUN_LEVELS])
{
    const struct spool_geometry *const cpuid[MACHINE_LEVELS] = { &p->i1, &p->d1, &p->l2, &p->ll };
    unsigned left = machine_native_caches(m, p, processors());

    _Static_assert((int)RUN_LEVELS == (int)MACHINE_LEVELS, "a message for each level");
    for (enum machine_level level = 0; level < MACHINE_LEVELS; level++)
        messages[level] = left >> level & 1 ? refusal(level, cpuid[level], m, p->guest) : NULL;
}

static char *describe_processor(const struct machine_cpuid *p)
{
    return xasprintf("%s, family %u, model %u", p->vendor, p->family, p->model);
}

static _Noreturn void die_native(const struct run_options *o, const struct machine_cpuid *p)
{
    char *which = describe_processor(p);

    if (o->cpu.given)
        die(UTIL_USAGE,
            "--machine=native: no machine fits the processor that --cpu=%s shows (%s); choose one "
            "of --machine=list",
            o->cpu.given, which);
    die(UTIL_USAGE,
        "--machine=native: no machine fits this processor (%s); choose one of --machine=list, "
        "or write a file for it: quern-run(1)",
        which);
}

static void read_native(const struct run_options *o, struct machine *m, char *messages[RUN_LEVELS])
{
    struct machine_cpuid p;
    struct names n;

    read_names_or_die(&n);
    read_processor(&o->cpu, &p);
    if (!find_native(&n, &p, m))
        die_native(o, &p);
    free_names(&n);
    take_processor(m, &p, messages);
}

// ---- Modifiers ----

// NAME,key=value,...: parts of the machine that are left out, and how its core is simulated.
enum modifier { DETAIL, NO_PREFETCH, NO_TLB, OLD_BRANCH, ALL_BRANCHES, NO_CORE, MODIFIERS };
static const char *const modifiers[MODIFIERS] = { "detail=all",        "prefetch=off", "tlb=off",
                                                  "branch=cachegrind", "branch=all",   "core=off" };

// The comma before the last part if that has the form of a modifier: names of files may have
// commas.
static char *last_modifier(char *text)
{
    char *comma = strrchr(text, ',');

    return comma && strchr(comma, '=') && !strchr(comma, '/') ? comma : NULL;
}

static unsigned read_modifier(const struct run_options *o, const char *text)
{
    for (unsigned i = 0; i < MODIFIERS; i++)
        if (strcmp(text, modifiers[i]) == 0)
            return 1u << i;
    die(UTIL_USAGE,
        "--machine=%s: %s: unknown modifier; there are detail=all, branch=all, prefetch=off, "
        "tlb=off, branch=cachegrind and core=off",
        o->machine, text);
}

// Takes the modifiers off the name. Returns their bits.
static unsigned take_modifiers(const struct run_options *o, char *name)
{
    unsigned set = 0;

    for (char *comma; (comma = last_modifier(name));) {
        set |= read_modifier(o, comma + 1);
        *comma = '\0';
    }
    return set;
}

// The profile says them with the machine's name, in their own order.
static void add_to_name(struct machine *m, unsigned set)
{
    size_t n = strlen(m->name);

    for (unsigned i = 0; i < MODIFIERS && n < sizeof(m->name); i++)
        if (set >> i & 1)
            n += (size_t)snprintf(m->name + n, sizeof(m->name) - n, ",%s", modifiers[i]);
}

static void modify(struct machine *m, unsigned set)
{
    static const struct machine_tlb none;

    if (set >> NO_PREFETCH & 1)
        m->has_prefetch = false;
    if (set >> NO_TLB & 1)
        m->itlb = m->dtlb = m->stlb = none;
    if (set >> OLD_BRANCH & 1)
        m->predictor = MACHINE_PREDICTOR_CACHEGRIND;
    if (set >> NO_CORE & 1)
        m->has_core = false;
    add_to_name(m, set);
}

// What determines the call of a cost at once does not go with records, of which a core is fed. Such
// an option, or NULL.
static const char *against_core(const struct run_options *o)
{
    return o->flags & SPOOL_F_CONTEXTS    ? "--separate-callers and its like"
           : o->flags & SPOOL_F_SYSTIME   ? "--collect-systime"
           : o->flags & SPOOL_F_BY_THREAD ? "--separate-threads"
                                          : NULL;
}

// Chosen by measurement (docs/design/074-sampling.md).
static const struct spool_sampling usual = {
    .first = 1000000, .interval = 2000000, .window = 10000, .run_in = 2000, .learn = 200000,
    .growth = 50
};

// Cycles are counted if the machine has a core and nothing is against it.
static void set_core(struct run_options *o, struct machine *m, unsigned modified)
{
    const char *with = against_core(o);
    bool detailed = modified >> DETAIL & 1;

    if (!m->has_core && detailed)
        die(UTIL_USAGE,
            "--machine=%s: detail=all: the machine has no [core]; choose one that has "
            "(sapphire-rapids), or leave detail=all out",
            o->machine);
    if (m->has_core && with && detailed)
        die(UTIL_USAGE, "--machine=%s: detail=all: not with %s; leave one of them out", o->machine,
            with);
    if (!m->has_core)
        return;
    if (with) {
        if (!(o->flags & SPOOL_F_QUIET))
            warn("--machine=%s: no cycles are counted: not with %s (core=off says nothing)",
                 o->machine, with);
        return;
    }
    o->flags |= SPOOL_F_CORE | SPOOL_F_BRANCH_SIM;
    if (detailed)
        o->sampling = (struct spool_sampling){ 0 };
    else if (!o->sampling.interval)
        o->sampling = usual;
    o->sampling.branches = modified >> ALL_BRANCHES & 1;
}

// ---- The run ----

// An option's geometry wins; then nothing is to be said of the machine's.
static void override(struct run_cache *c, struct spool_geometry *g, char **message)
{
    if (!c->given) {
        c->g = *g;
        return;
    }
    *g = c->g;
    free(*message);
    *message = NULL;
}

static void check_together(const struct run_options *o, const struct machine *m)
{
    enum machine_level at;
    char why[MACHINE_WHY];

    if (!machine_check(m, &at, why))
        die(UTIL_USAGE, "--machine=%s with --I1, --D1 or --LL: [%s]: %s", o->machine,
            machine_check_level(at), why);
}

static void check_options(const struct run_options *o, const struct machine *m)
{
    if (!(o->flags & SPOOL_F_CACHE_SIM))
        die(UTIL_USAGE,
            "--machine=%s: not with --cache-sim=no, with which no caches are simulated; leave one "
            "of them out",
            o->machine);
    if (o->l2)
        die(UTIL_USAGE, "--L2=%s: not with --machine; the last level is --LL=%s", o->l2, o->l2);
    if (m->has_l2 && o->trace_refs)
        die(UTIL_USAGE,
            "--trace-refs=%s: not with --machine=%s, which has an L2 that a trace does not know "
            "of; leave one of them out, or take a machine of two levels (cachegrind)",
            o->trace_refs, o->machine);
}

void run_levels_set(struct run_options *o, char *messages[RUN_LEVELS])
{
    struct run_caches *c = &o->caches;
    struct machine *m = xmalloc(sizeof(*m)); // for the rest of the process
    char *name = xstrdup(o->machine);
    unsigned modified = take_modifiers(o, name);
    bool native = strcmp(name, "native") == 0;

    memset(messages, 0, RUN_LEVELS * sizeof(*messages));
    if (native)
        read_native(o, m, messages);
    else if (strchr(name, '/') || has_suffix(name))
        read_or_die(name, m);
    else
        find_named(name, m);
    free(name);
    modify(m, modified);
    check_options(o, m);
    set_core(o, m, modified);
    override(&c->i1, &m->i1, &messages[MACHINE_L1I]);
    override(&c->d1, &m->d1, &messages[MACHINE_L1D]);
    override(&c->ll, &m->ll, &messages[MACHINE_LL]);
    check_together(o, m);
    if (m->has_l2)
        o->flags |= SPOOL_F_L2;
    if (m->stlb.entries)
        o->flags |= SPOOL_F_TLB;
    if (m->has_prefetch)
        o->flags |= SPOOL_F_PREFETCH;
    if (m->predictor == MACHINE_PREDICTOR_TAGE && (o->flags & SPOOL_F_BRANCH_SIM))
        o->flags |= SPOOL_F_PREDICTOR;
    c->machine = m;
    c->source = xasprintf("machine %s%s", m->name, native ? " and CPUID" : "");
}

_Noreturn void run_levels_list(const struct run_cpu *cpu)
{
    struct machine_cpuid p;
    struct names n;
    bool found = false;

    read_names_or_die(&n);
    read_processor(cpu, &p);
    for (size_t i = 0; i < n.count; i++) {
        struct machine m;
        bool native;

        read_shipped(&n, i, &m);
        native = !found && machine_native(&m, &p);
        found |= native;
        text_print(stdout, "%-16s  %s%s\n", n.item[i], m.title, native ? " (native)" : "");
    }
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    exit(UTIL_OK);
}

bool run_levels_native(char **which, char *messages[RUN_LEVELS])
{
    const struct run_cpu real = { 0 };
    struct machine_cpuid p;
    struct machine m;
    struct names n;
    const char *why = read_names(&n);
    bool found;

    memset(messages, 0, RUN_LEVELS * sizeof(*messages));
    read_processor(&real, &p);
    found = !why && find_native(&n, &p, &m);
    if (found) {
        *which = xasprintf("%s: %s", m.name, m.title);
        take_processor(&m, &p, messages);
    } else if (why) {
        *which = xasprintf("%s: %s; install quern again", n.folder, why);
    } else {
        char *processor = describe_processor(&p);

        *which = xasprintf("none fits this processor (%s); --machine=list has others", processor);
        free(processor);
    }
    free_names(&n);
    return found;
}
