// SPDX-License-Identifier: MIT
//
// The options of `quern run`. Called first by run.c.
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/options/options.h"

enum { PATTERNS_MAX = 64, CALLERS_MAX = 64, RECS_MAX = 9999, GROUPS_MAX = 9999 };
enum { PROGRESS_SECONDS = 10, PROGRESS_MAX = 86400 };

void run_options_cache(void *field, const struct option *o, const char *value)
{
    struct run_cache *c = field;
    char err[256];

    if (!run_cache_parse(value, strcmp(o->name, "--LL") == 0, &c->g, err, sizeof(err)))
        die(UTIL_USAGE, "%s=%s: %s", o->name, value, err);
    c->given = true;
}

// --L2 of a machine with two levels.
static void last_level(void *field, const struct option *o, const char *value)
{
    struct run_options *r = field;

    run_options_cache(&r->caches.ll, o, value);
    r->l2 = value;
}

// A size, in KiB.
static void kib(void *field, const struct option *o, const char *value)
{
    size_t len = strlen(value);
    char *digits = xstrdup(value);
    uint64_t n, unit = 1;

    if (len > 0 && (value[len - 1] == 'k' || value[len - 1] == 'K'))
        unit = 1024;
    else if (len > 0 && (value[len - 1] == 'm' || value[len - 1] == 'M'))
        unit = 1024 * 1024;
    if (unit > 1)
        digits[len - 1] = '\0';
    if (!util_number(digits, UINT32_MAX, &n) || n * unit < 1024 || n * unit > UINT64_C(2) << 30)
        die(UTIL_USAGE, "%s=%s: must be a number of bytes, or followed by k or m, from 1k to 2048m",
            o->name, value);
    free(digits);
    *(uint64_t *)field = n * unit / 1024;
}

// Adds a rule for functions: its letter is the row's `bits`.
static void add_rule(struct run_options *r, const struct option *o, uint64_t n, const char *pattern)
{
    char *text = xasprintf("%c%llu %s", (char)o->bits, (unsigned long long)n, pattern);
    size_t bytes = strlen(text) + 1;

    if (++r->rules_count > PATTERNS_MAX)
        die(UTIL_USAGE, "%s: more than %d rules for functions; use a pattern (* and ?)", o->name,
            PATTERNS_MAX);
    r->rules = xrealloc(r->rules, r->patterns_bytes + bytes);
    memcpy(r->rules + r->patterns_bytes, text, bytes);
    r->patterns_bytes += bytes;
    free(text);
}

// A rule for every function.
static void rule_for_all(void *field, const struct option *o, const char *value)
{
    uint64_t n;

    if (!util_number(value, o->max, &n) || n < o->min)
        die(UTIL_USAGE, "%s=%s: must be a whole number from %llu to %llu", o->name, value,
            (unsigned long long)o->min, (unsigned long long)o->max);
    add_rule(field, o, n, "");
}

// A rule for the functions that match a pattern.
static void rule(void *field, const struct option *o, const char *value)
{
    struct run_options *r = field;

    if (!*value)
        die(UTIL_USAGE, "%s: the value is empty", o->name);
    add_rule(r, o, o->min, value);
    if (o->bits == SPOOL_PATTERN_TOGGLE)
        r->flags |= SPOOL_F_NOT_COLLECTING;
}

static void data_use(void *field, const struct option *o, const char *value)
{
    uint64_t n;

    if (!util_number(value, o->max, &n))
        die(UTIL_USAGE, "%s=%s: must be a whole number from 0 to %llu", o->name, value,
            (unsigned long long)o->max);
    ((struct run_options *)field)->data_use = (uint32_t)n + 1;
}

// FUNCTION, FUNCTION:ARGUMENT or, of one that allocates, FUNCTION:SIZE:COUNT.
static void allocator(void *field, const struct option *o, const char *value)
{
    struct run_options *r = field;
    bool frees = o->bits == SPOOL_DATA_FREE;
    uint64_t number[2] = { 1, 0 };
    char *name = xstrdup(value), *rest = strchr(name, ':'), *text;
    bool wrong = !*name || rest == name || (!rest && !frees);
    size_t bytes;

    for (int i = 0; rest && !wrong; i++) {
        char *next;

        *rest++ = '\0';
        next = strchr(rest, ':');
        if (next)
            *next = '\0';
        wrong = i > !frees || !util_number(rest, frees ? 2 : 6, &number[i]) || !number[i];
        if (next)
            *next = ':';
        rest = next;
    }
    if (wrong)
        die(UTIL_USAGE, "%s=%s: must be %s, where the arguments are numbers from 1 on", o->name,
            value,
            frees ? "FUNCTION or FUNCTION:ARGUMENT (1 or 2)"
                  : "FUNCTION:SIZE_ARGUMENT or FUNCTION:SIZE_ARGUMENT:COUNT_ARGUMENT (1 to 6)");
    text = xasprintf("%c%u:%u %s", (char)o->bits, (unsigned)number[0], (unsigned)number[1], name);
    bytes = strlen(text) + 1;
    r->allocators = xrealloc(r->allocators, r->allocators_bytes + bytes);
    memcpy(r->allocators + r->allocators_bytes, text, bytes);
    r->allocators_bytes += bytes;
    free(text);
    free(name);
}

// FIRST,INTERVAL,WINDOW,RUN-IN,LEARN[,GROWTH]: struct spool_sampling.
static void sampling(void *field, const struct option *o, const char *value)
{
    uint64_t n[6] = { 0 };
    char *text = xstrdup(value), *rest = text;
    bool wrong = false;

    for (size_t i = 0; i < 6 && !wrong && (i < 5 || rest); i++) {
        char *part = strsep(&rest, ",");

        wrong = !part || !util_number(part, 1000000000, &n[i]);
    }
    free(text);
    if (wrong || rest || !n[2] || n[2] + n[3] + n[4] > n[1])
        die(UTIL_USAGE,
            "%s=%s: must be FIRST,INTERVAL,WINDOW,RUN-IN,LEARN[,GROWTH]: numbers of instructions, "
            "the last three of an interval together no more than it has, and WINDOW not 0",
            o->name, value);
    *(struct spool_sampling *)field = (struct spool_sampling){ .first = (uint32_t)n[0],
                                                               .interval = (uint32_t)n[1],
                                                               .window = (uint32_t)n[2],
                                                               .run_in = (uint32_t)n[3],
                                                               .learn = (uint32_t)n[4],
                                                               .growth = (uint32_t)n[5] };
}

static void progress(void *field, const struct option *o, const char *value)
{
    (void)o, (void)value;
    *(uint64_t *)field = PROGRESS_SECONDS;
}

// What the options that are one flag are called.
static const struct {
#define SPOOL_OPTION(bit, flag, option, reader) char flag[sizeof(option)];
#include "share/options.def"
#undef SPOOL_OPTION
} names = {
#define SPOOL_OPTION(bit, flag, option, reader) .flag = option,
#include "share/options.def"
#undef SPOOL_OPTION
};

#define FIELD(f) .field = offsetof(struct run_options, f)
#define BITS(f)  FIELD(flags), .bits = SPOOL_F_##f
#define FLAG(f)  BITS(f), .name = names.f // what follows is the argument
#define YES_NO   "=yes|no"

// clang-format off
static const struct option rows[] = {
    { .kind = OPTION_HEADING, .help = "Most used" },
    { "-o", " FILE", NULL, OPTION_TEXT, FIELD(output) },
    { "--cachegrind-out-file", "=FILE",
      "the profile; %p is the process id, %q{VAR} the environment variable VAR, %% a percent sign "
      "[cachegrind.out.%p; with --calls=yes callgrind.out.%p]", OPTION_TEXT, FIELD(output) },
    { FLAG(CALLS), YES_NO, "record the call graph, and write a Callgrind profile [no]",
      OPTION_YES },
    { FLAG(CACHE_SIM), YES_NO, "count cache accesses and misses [yes]", OPTION_YES },
    { FLAG(BRANCH_SIM), YES_NO, "count branches and mispredictions [no]", OPTION_YES },
    { "--I1", "=SIZE,ASSOC,LINE", NULL,
      OPTION_CALL, FIELD(caches.i1), .call = run_options_cache },
    { "--D1", "=SIZE,ASSOC,LINE", NULL,
      OPTION_CALL, FIELD(caches.d1), .call = run_options_cache },
    { "--LL", "=SIZE,ASSOC,LINE",
      "the level 1 instruction and data caches and the last level cache [this machine's]",
      OPTION_CALL, FIELD(caches.ll), .call = run_options_cache },
    { "--L2", "=SIZE,ASSOC,LINE", NULL, OPTION_CALL, OPTION_HIDDEN, .call = last_level },
    { "--machine", "=native|list|NAME|FILE",
      "simulate the caches of this processor, of a machine of the list or of a file, with an L2 "
      "where it has one, and the cycles of its core, estimated from samples; with ,detail=all "
      "behind it from all instructions. Implies --cache-sim=yes",
      OPTION_TEXT, FIELD(machine) },
    { FLAG(TRACE_CHILDREN), YES_NO, "also profile the programs that it executes [no]", OPTION_YES },
    { FLAG(MERGE), "=separate|merge",
      "one profile per process, or one for all, which implies --trace-children=yes [separate]",
      OPTION_CHOICE },
    { "--toggle-collect", "=FUNCTION",
      "collect only between entry and return of functions of this name "
      "(followed by --collect-atstart=yes: only outside)",
      OPTION_CALL, .call = rule, .bits = SPOOL_PATTERN_TOGGLE },
    { FLAG(REPRODUCIBLE), YES_NO,
      "pin what makes counts differ: the processor (--cpu=x86-64-v2 where none is given), "
      "--tsc=counted, --vdso=no, addresses, initial stack, environment, random numbers; not "
      "argv[0], nor the name of the working folder (docs/ci/alone.sh does) [no]", OPTION_YES },
    { "--log-file", "=FILE",
      "messages and the summary go to FILE (%p, %q{VAR}, %%) [standard error]",
      OPTION_TEXT, FIELD(log) },
    { "--progress", NULL, "say every ten seconds how much has been counted so far",
      OPTION_CALL, FIELD(progress), .call = progress },
    { "--progress", "=SECONDS", "the same, at other intervals",
      OPTION_NUMBER, FIELD(progress), .min = 1, .max = PROGRESS_MAX },
    { "-q", NULL, NULL, OPTION_SET, BITS(QUIET) },
    { FLAG(QUIET), NULL, "print nothing but errors", OPTION_SET },
    { .kind = OPTION_HEADING, .help = "Simulation" },
    { FLAG(REP_CACHEGRIND), "=hardware|cachegrind",
      "a rep instruction is one, or one for each repetition and the final test [hardware]",
      OPTION_CHOICE },
    { "--curve", YES_NO,
      "also write the misses of caches of every size from 4 KiB to 1 GiB, and how the lines that "
      "are touched grow: estimates, from one line in 32 [no]", OPTION_YES, FIELD(curve) },
    { "--curve", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(curve) },
    { "--instr-at-start", "=yes|no|inherit",
      "count from the start, or from when the program asks for it (callgrind.h, cachegrind.h); "
      "inherit: yes, but a program that it executes keeps the current state [yes]",
      OPTION_CHOICE, FIELD(start) },
    { "--instr-atstart", "=yes|no|inherit", NULL, OPTION_CHOICE, OPTION_HIDDEN, FIELD(start) },
    { FLAG(NO_REQUESTS), YES_NO,
      "answer client requests (valgrind.h), or let the program think that it runs natively "
      "[yes]", OPTION_NO },
    { .kind = OPTION_HEADING, .help = "Output" },
    { "--callgrind-out-file", "=FILE", NULL, OPTION_TEXT, OPTION_HIDDEN, FIELD(output) },
    { "--trace-refs", "=FILE",
      "every fetch, data reference and branch, in order, for `quern trace` (%p, %q{VAR}, %%); "
      "implies --branch-sim=yes; caches are simulated slowly", OPTION_TEXT,
      FIELD(trace_refs) },
    { "--log-fd", "=N", "messages and the summary go to this file descriptor",
      OPTION_TEXT, FIELD(log_fd) },
    { FLAG(JSON), "=text|json", "how the summary is printed [text]", OPTION_CHOICE },
    { FLAG(NO_DEMANGLE), YES_NO, "readable names of C++, Rust and D functions [yes]", OPTION_NO },
    { "-v", NULL, NULL, OPTION_SET, BITS(VERBOSE) },
    { FLAG(VERBOSE), NULL, "also print what the engine did", OPTION_SET },
    { .kind = OPTION_HEADING, .help = "The call graph, with --calls=yes" },
    { FLAG(NO_LINES), YES_NO, "costs of source lines [yes]", OPTION_NO },
    { FLAG(INSTR), YES_NO, "also costs of instruction addresses [no]", OPTION_YES },
    { FLAG(INLINE), YES_NO, "show inlined functions separately (needs -g) [no]", OPTION_YES },
    { FLAG(JUMPS), YES_NO, "also jumps within functions [no]", OPTION_YES },
    { "--trace-jump", YES_NO, NULL, OPTION_YES, OPTION_HIDDEN, BITS(JUMPS) },
    { FLAG(BY_THREAD), YES_NO, "one profile per thread: FILE-01, ... [no]", OPTION_YES },
    { "--separate-callers", "=N",
      "separate a function's costs by its last N callers, as fn'caller [0]",
      OPTION_CALL, .call = rule_for_all, .bits = SPOOL_PATTERN_CALLERS, .max = CALLERS_MAX },
    { "--separate-callersN", "=FUNCTION", "the same for functions of this name (* and ?)",
      OPTION_CALL, OPTION_NUMBERED, .call = rule, .bits = SPOOL_PATTERN_CALLERS,
      .max = CALLERS_MAX },
    { "--separate-recs", "=N",
      "separate the first N levels of a recursion, as fn'2 [1]",
      OPTION_CALL, .call = rule_for_all, .bits = SPOOL_PATTERN_RECS, .min = 1, .max = RECS_MAX },
    { "--separate-recsN", "=FUNCTION", "the same for functions of this name",
      OPTION_CALL, OPTION_NUMBERED, .call = rule, .bits = SPOOL_PATTERN_RECS, .max = RECS_MAX },
    { FLAG(SKIP_DIRECT), YES_NO, "do not count direct recursion as a level [no]", OPTION_YES },
    { FLAG(SHOW_PLT), YES_NO, "leave linkage tables out of the call graph [yes]", OPTION_NO },
    { "--fn-skip", "=FUNCTION",
      "hide functions of this name: their costs go to their callers",
      OPTION_CALL, .call = rule, .bits = SPOOL_PATTERN_SKIP },
    { "--fn-groupN", "=FUNCTION",
      "treat calls between functions of a group as recursion",
      OPTION_CALL, OPTION_NUMBERED, .call = rule, .bits = SPOOL_PATTERN_GROUP, .max = GROUPS_MAX },
    { FLAG(NOT_COLLECTING), YES_NO, "collect from the start [yes]", OPTION_NO },
    { "--collect-systime", "=no|yes|msec|usec|nsec",
      "count system calls and their time, in this unit (yes: msec); "
      "nsec: also their CPU time [no]",
      OPTION_CHOICE, FIELD(systime) },
    { FLAG(BUS), YES_NO, "count atomic instructions [no]", OPTION_YES },
    { "--dump-before", "=FUNCTION", "write a part of the profile on entry to these functions",
      OPTION_CALL, .call = rule, .bits = SPOOL_PATTERN_BEFORE },
    { "--dump-after", "=FUNCTION", "or on return from them",
      OPTION_CALL, .call = rule, .bits = SPOOL_PATTERN_AFTER },
    { "--zero-before", "=FUNCTION", "reset all counts on entry to these functions",
      OPTION_CALL, .call = rule, .bits = SPOOL_PATTERN_ZERO },
    { "--dump-every-bb", "=N", "write a part every N basic blocks (slow) [0: none]",
      OPTION_NUMBER, FIELD(every_blocks), .max = UINT32_MAX },
    { FLAG(NO_IDS), YES_NO, "write names as numbers [yes]", OPTION_NO },
    { FLAG(NO_RELATIVE), YES_NO, "write lines and addresses as differences [yes]", OPTION_NO },
    { FLAG(COMBINE), YES_NO,
      "write parts that the program asks for into one file, not one each [no]", OPTION_YES },
    { .kind = OPTION_HEADING, .help = "Which data misses" },
    { "--data", YES_NO,
      "also write the data misses by object of the data: allocation, static, stack, mapping; "
      "implies --calls=yes [no]", OPTION_YES, FIELD(data) },
    { "--data-out-file", "=FILE", "the profile of these (%p, %q{VAR}, %%) [data.out.%p]",
      OPTION_TEXT, FIELD(data_output) },
    { "--data-callers", "=N", "tell allocations apart by their last N callers [3]",
      OPTION_NUMBER, FIELD(data_callers), .min = 1, .max = SPOOL_DATA_CALLERS_MAX },
    { "--data-use", "=N",
      "of N lines that the first-level cache fetches, follow one, to tell how many of its bytes "
      "are used; 0: none [128]", OPTION_CALL, .call = data_use, .max = SPOOL_DATA_USE_MAX },
    { "--data-alloc", "=FUNCTION:SIZE[:COUNT]",
      "a function of the program (the name of its symbol; * at the end) that returns a block; its "
      "size is argument SIZE, or the product of two",
      OPTION_CALL, .call = allocator, .bits = SPOOL_DATA_ALLOC },
    { "--data-free", "=FUNCTION[:ARGUMENT]", "one that frees the block in argument ARGUMENT [1]",
      OPTION_CALL, .call = allocator, .bits = SPOOL_DATA_FREE },
    { .kind = OPTION_HEADING, .help = "The program" },
    { "--trace-children-skip", "=PATTERNS",
      "except those whose path matches one of these comma-separated patterns (* and ?)",
      OPTION_TEXT, FIELD(skip) },
    { FLAG(SERIALIZE), YES_NO, "run one thread at a time through one set of caches [no]",
      OPTION_YES },
    { FLAG(ASLR), YES_NO,
      "let the kernel randomise addresses, so that counts vary from run to run [no]", OPTION_YES },
    { FLAG(RANDOM), "=fixed|kernel",
      "the 16 random bytes that a program gets at its start [fixed]", OPTION_CHOICE },
    { "--env", "=NAME[=VALUE]",
      "keep this variable with --reproducible=yes, as it is or with this value",
      OPTION_LIST, FIELD(env) },
    { "--cpu", "=native|x86-64|x86-64-v2|x86-64-v3|x86-64-v4|FEATURES",
      "the processor that the program sees, with its caches; FEATURES are comma-separated words "
      "of /proc/cpuinfo, optionally after a level [native]",
      OPTION_CALL, FIELD(cpu), .call = run_cpu_option },
    { FLAG(COUNTED), "=native|counted",
      "the time stamp counter and random numbers of the processor, or instructions executed and a "
      "fixed sequence [native]", OPTION_CHOICE },
    { FLAG(NO_VDSO), YES_NO, "let the program find the vDSO [yes]", OPTION_NO },
    { "--symbol-cache", "=FOLDER|no",
      "the folder of the cache of functions and lines "
      "[$XDG_CACHE_HOME/quern, or ~/.cache/quern]", OPTION_TEXT, FIELD(symbol_cache) },
    { "--translation-cache", "=FOLDER|no",
      "the folder of the cache of translated code "
      "[$XDG_CACHE_HOME/quern, or ~/.cache/quern]", OPTION_TEXT, FIELD(translation_cache) },
    { "--spool-dir", "=FOLDER", "the folder of the counters during the run [beside the profile]",
      OPTION_TEXT, FIELD(spool_dir) },
    { .kind = OPTION_HEADING, .how = OPTION_DEBUG,
      .help = "Switches for testing the engine; none changes a count" },
    { FLAG(NO_CHAIN), NULL, "never link blocks", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_IBL), NULL, "take every indirect branch to the dispatcher",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_FASTTAGS), NULL, "call the simulator for every reference", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_WAY_SEARCH), NULL,
      "call it for every reference that misses the first way of its set",
      OPTION_SET, OPTION_DEBUG },
    { "--replay", "=off|inline|process|split|auto",
      "off: simulate caches and branches at each reference; else record references and simulate "
      "them in batches: inline, in the thread that recorded them; with two processors also "
      "process, in another process, and split, the same, but a thread that would wait simulates, "
      "too; auto, the fastest on this machine [auto]",
      OPTION_CHOICE, OPTION_DEBUG, FIELD(replay) },
    { FLAG(SMALL_BUFFERS), NULL,
      "with --replay, record into buffers of 16 KiB, not 512 to 2048; without caches, search for "
      "hot blocks from the start, in buffers of 4 KiB, not 64", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_VALUES), NULL, "with --replay, record the address of each reference",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_SUPERBLOCKS), NULL, "never merge consecutive blocks", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_FORMS), NULL, "decode every instruction anew", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_PRETRANSLATE), NULL, "before a fork, prepare nothing from what earlier children did",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(LATE_COPY), NULL, "each child process itself copies its parent's counts",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_HINTS), NULL,
      "give the kernel no hints about large pages and prefaulting, the processor none about lines "
      "that it will need; with --data, remember no look-up of a block, and reach allocators by the "
      "dispatcher", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_BGFINISH), NULL, "each child process writes its profile before it ends",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_ROUTINES), NULL, "with --replay, simulate in C", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_AVX512), NULL, "with --replay, search cache sets with AVX2 at most",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_VECTORS), NULL, "with --replay, search cache sets without AVX-512 and AVX2",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_NARROW), NULL, "simulate LL with tags of 64 bits", OPTION_SET, OPTION_DEBUG },
    { FLAG(NO_FLAG_PROBE), NULL, "keep flags alive that an instruction leaves undefined",
      OPTION_SET, OPTION_DEBUG },
    { FLAG(NATIVE), NULL, "load the program, then run it without counting",
      OPTION_SET, OPTION_DEBUG },
    { "--cache-size", "=N[k|m]", "size of the code cache in bytes, KiB or MiB",
      OPTION_CALL, OPTION_DEBUG, FIELD(cache_kib), .call = kib },
    { "--stress", "=USEC", "preempt every thread every USEC microseconds",
      OPTION_NUMBER, OPTION_DEBUG, FIELD(stress_us), .max = UINT32_MAX },
    { "--stress-flush", "=N",
      "flush the code cache after N translations, then repeatedly, a little later each time",
      OPTION_NUMBER, OPTION_DEBUG, FIELD(stress_flush), .max = UINT32_MAX },
    { "--core-sampling", "=FIRST,INTERVAL,WINDOW,RUN-IN,LEARN[,GROWTH]",
      "the instructions that a machine's core times: the first ones; then a window of each "
      "INTERVAL (at first of a tenth of what has been executed; at last, of what has been "
      "executed over GROWTH), before which it runs in, and before that the predictor learns "
      "[1000000,2000000,10000,2000,200000,100]",
      OPTION_CALL, OPTION_DEBUG, FIELD(sampling), .call = sampling },
    { "--dump-counts", "=FILE",
      "write the executions of every instruction address (%p, %q{VAR}, %%)",
      OPTION_TEXT, OPTION_DEBUG, FIELD(dump_counts) },
    { "--dump-code", "=FILE",
      "write every translated block, disassembled beside the code made of it (%p, %q{VAR}, %%)",
      OPTION_TEXT, OPTION_DEBUG, FIELD(dump_code) },
    { .kind = OPTION_HEADING, .help = "Other" },
    { .name = "--help-debug", .kind = OPTION_HELP, .bits = OPTION_DEBUG,
      .help = "switches for testing the engine" },
    OPTIONS_HELP,
};
// clang-format on

const struct options run_options_table = {
    .usage = "[OPTIONS] [--] PROGRAM [ARGS...]",
    .about =
        "Runs PROGRAM and counts every instruction, memory access and branch that it executes.\n"
        "The profile is read with `quern annotate`. Ends as PROGRAM ends.",
    .below =
        "Exit status: that of PROGRAM, or death by its signal; 126 when PROGRAM cannot be run,\n"
        "127 when it is not found, 2 on wrong usage.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
    .leading = true,
};

void run_options_settle(struct run_options *o)
{
    if (o->trace_refs) // only the replay of single references writes them
        o->flags |= SPOOL_F_REPLAY | SPOOL_F_NO_ROUTINES | SPOOL_F_BRANCH_SIM;
    else if (o->replay == 2)
        o->flags |= SPOOL_F_REPLAY;
    else if (o->replay == 3)
        o->flags |= SPOOL_F_REPLAY_PROCESS;
    else if (o->replay == 4)
        o->flags |= SPOOL_F_REPLAY_PROCESS | SPOOL_F_REPLAY_SPLIT;
    else if (o->replay != 1)
        o->flags |= SPOOL_F_REPLAY_AUTO;
    if (o->start > 1)
        o->flags |= SPOOL_F_NOT_AT_START;
    if (o->start > 2)
        o->flags |= SPOOL_F_INHERIT;
    if (o->data)
        o->flags |= SPOOL_F_CALLS;
    if (o->systime > 1)
        o->flags |= SPOOL_F_SYSTIME;
    if (o->systime == 5)
        o->flags |= SPOOL_F_SYSCPU;
}

char **run_options_read(struct run_options *o, int argc, char **argv)
{
    char **program;

    memset(o, 0, sizeof(*o));
    o->flags = SPOOL_F_CACHE_SIM;
    program = options_read(&run_options_table, "quern run", o, argc, argv);
    run_options_settle(o);
    if (o->machine && strcmp(o->machine, "list") == 0)
        run_levels_list(&o->cpu);
    if (!*program)
        die(UTIL_USAGE, "no program given; usage: quern run %s", run_options_table.usage);
    return program;
}
