// SPDX-License-Identifier: MIT
//
// Reads the command line of `quern run` into struct run_options. One table holds every option, with
// the text of --help; wrong usage ends the process with what is wrong and what is allowed.
#include "cli/run/run.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/util.h"

enum kind {
    KIND_FLAG_YES, // --name=yes|no: yes sets the bits, no clears them
    KIND_FLAG_NO,  // --name=yes|no: no sets the bits
    KIND_SET,      // --name: sets the bits
    KIND_TEXT,     // --name=TEXT
    KIND_CACHE,    // --name=SIZE,ASSOC,LINE
    KIND_NUMBER,   // --name=N
    KIND_KIB,      // --name=N[k|m]
    KIND_WORD,     // --name=WORD0|WORD1: the second sets the bits
    KIND_HELP,
};

struct option {
    const char *name; // with its dashes, without "="
    enum kind kind;
    uint64_t bits;
    size_t field; // offset in struct run_options
    const char *word[2];
    const char *argument; // as --help shows it
    const char *help;     // NULL: an alias, or a heading when name is NULL
};

#define FIELD(f) offsetof(struct run_options, f)

// clang-format off
static const struct option options[] = {
    { .help = "Simulation" },
    { "--I1", KIND_CACHE, 0, FIELD(caches.i1), { 0 }, "=SIZE,ASSOC,LINE",
      "level 1 instruction cache [this machine's]" },
    { "--D1", KIND_CACHE, 0, FIELD(caches.d1), { 0 }, "=SIZE,ASSOC,LINE",
      "level 1 data cache [this machine's]" },
    { "--LL", KIND_CACHE, 0, FIELD(caches.ll), { 0 }, "=SIZE,ASSOC,LINE",
      "last level cache [this machine's]" },
    { "--L2", KIND_CACHE, 0, FIELD(caches.ll), { 0 }, NULL, NULL },
    { "--cache-sim", KIND_FLAG_YES, SPOOL_F_CACHE_SIM, 0, { 0 }, "=yes|no",
      "count cache accesses and misses [yes]" },
    { "--branch-sim", KIND_FLAG_YES, SPOOL_F_BRANCH_SIM, 0, { 0 }, "=yes|no",
      "count branches and mispredictions [no]" },
    { "--rep-count", KIND_WORD, SPOOL_F_REP_CACHEGRIND, 0, { "hardware", "cachegrind" },
      "=hardware|cachegrind",
      "a rep instruction is one, or one for each repetition and the final test [hardware]" },
    { .help = "Output" },
    { "--cachegrind-out-file", KIND_TEXT, 0, FIELD(output), { 0 }, "=FILE",
      "the profile; %p is the process id, %q{VAR} the environment variable VAR, %% a percent sign "
      "[cachegrind.out.%p]" },
    { "-o", KIND_TEXT, 0, FIELD(output), { 0 }, " FILE", "the same" },
    { "--log-file", KIND_TEXT, 0, FIELD(log), { 0 }, "=FILE",
      "messages and the summary go to FILE (%p, %q{VAR}, %%) [standard error]" },
    { "--demangle", KIND_FLAG_NO, SPOOL_F_NO_DEMANGLE, 0, { 0 }, "=yes|no",
      "readable names of C++, Rust and D functions [yes]" },
    { "-q", KIND_SET, SPOOL_F_QUIET, 0, { 0 }, "", "print nothing but errors" },
    { "--quiet", KIND_SET, SPOOL_F_QUIET, 0, { 0 }, NULL, NULL },
    { "-v", KIND_SET, SPOOL_F_VERBOSE, 0, { 0 }, "", "print what the engine did, too" },
    { "--verbose", KIND_SET, SPOOL_F_VERBOSE, 0, { 0 }, NULL, NULL },
    { .help = "The program" },
    { "--trace-children", KIND_FLAG_YES, SPOOL_F_TRACE_CHILDREN, 0, { 0 }, "=yes|no",
      "profile the programs that it executes, too [no]" },
    { "--trace-children-skip", KIND_TEXT, 0, FIELD(skip), { 0 }, "=PATTERNS",
      "but not those whose path matches one of these comma-separated patterns (* and ?)" },
    { "--serialize-threads", KIND_FLAG_YES, SPOOL_F_SERIALIZE, 0, { 0 }, "=yes|no",
      "run one thread at a time through one set of caches [no]" },
    { "--aslr", KIND_FLAG_YES, SPOOL_F_ASLR, 0, { 0 }, "=yes|no",
      "let the kernel randomise addresses, so that counts vary from run to run [no]" },
    { "--at-random", KIND_WORD, SPOOL_F_RANDOM, 0, { "fixed", "kernel" }, "=fixed|kernel",
      "the 16 random bytes that a program gets at its start [fixed]" },
    { "--vdso", KIND_FLAG_NO, SPOOL_F_NO_VDSO, 0, { 0 }, "=yes|no",
      "let it find the vDSO [yes]" },
    { "--spool-dir", KIND_TEXT, 0, FIELD(spool_dir), { 0 }, "=FOLDER",
      "where the counters live during the run [beside the profile]" },
    { .help = "Switches for testing the engine; none changes a count" },
    { "--no-chain", KIND_SET, SPOOL_F_NO_CHAIN, 0, { 0 }, "", "never link blocks" },
    { "--no-ibl", KIND_SET, SPOOL_F_NO_IBL, 0, { 0 }, "",
      "take every indirect branch to the dispatcher" },
    { "--no-fast-tags", KIND_SET, SPOOL_F_NO_FASTTAGS, 0, { 0 }, "",
      "call the simulator for every reference" },
    { "--no-way-search", KIND_SET, SPOOL_F_NO_WAYS, 0, { 0 }, "",
      "call it for every reference that does not hit the first way of its set" },
    { "--no-narrow-tags", KIND_SET, SPOOL_F_NO_NARROW, 0, { 0 }, "",
      "simulate LL with tags of 64 bits" },
    { "--no-flag-probe", KIND_SET, SPOOL_F_NO_FLAG_PROBE, 0, { 0 }, "",
      "keep flags alive that an instruction leaves undefined" },
    { "--native", KIND_SET, SPOOL_F_NATIVE, 0, { 0 }, "",
      "load the program, then run it without counting" },
    { "--cache-size", KIND_KIB, 0, FIELD(cache_kib), { 0 }, "=N[k|m]",
      "size of the code cache in bytes, KiB or MiB" },
    { "--stress", KIND_NUMBER, 0, FIELD(stress_us), { 0 }, "=USEC",
      "preempt every thread every USEC microseconds" },
    { "--stress-flush", KIND_NUMBER, 0, FIELD(stress_flush), { 0 }, "=N",
      "flush the code cache after N translations, and again and again, each time a little later" },
    { "--dump-counts", KIND_TEXT, 0, FIELD(dump_counts), { 0 }, "=FILE",
      "write the executions of every instruction address (%p, %q{VAR}, %%)" },
    { .help = "Other" },
    { "--help", KIND_HELP, 0, 0, { 0 }, "", "this text" },
    { "-h", KIND_HELP, 0, 0, { 0 }, NULL, NULL },
};
// clang-format on

_Noreturn static void help(void)
{
    puts("usage: quern run [OPTIONS] [--] PROGRAM [ARGS...]\n"
         "\n"
         "Runs PROGRAM and counts every instruction, memory access and branch that it executes.\n"
         "The profile is read with `quern annotate`. Ends as PROGRAM ends.");
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        const struct option *o = &options[i];
        char left[64];

        if (!o->help)
            continue;
        if (!o->name) {
            printf("\n%s:\n", o->help);
            continue;
        }
        snprintf(left, sizeof(left), "%s%s", o->name, o->argument);
        if (strlen(left) <= 28)
            printf("  %-28s %s\n", left, o->help);
        else
            printf("  %s\n  %-28s %s\n", left, "", o->help);
    }
    puts("\n"
         "Exit status: that of PROGRAM, or death by its signal; 126 when PROGRAM cannot be run,\n"
         "127 when it is not found, 2 on wrong usage.");
    exit(fflush(stdout) == 0 ? UTIL_OK : UTIL_USAGE);
}

static void apply_bits(struct run_options *o, uint64_t bits, bool on)
{
    if (on)
        o->flags |= bits;
    else
        o->flags &= ~bits;
}

static bool is_yes(const struct option *opt, const char *value)
{
    if (strcmp(value, "yes") == 0)
        return true;
    if (strcmp(value, "no") != 0)
        die(UTIL_USAGE, "%s=%s: must be yes or no", opt->name, value);
    return false;
}

static uint32_t number(const struct option *opt, const char *value)
{
    uint64_t n;

    if (!util_number(value, UINT32_MAX, &n))
        die(UTIL_USAGE, "%s=%s: must be a whole number from 0 to %u", opt->name, value, UINT32_MAX);
    return (uint32_t)n;
}

static uint32_t kib(const struct option *opt, const char *value)
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
            opt->name, value);
    free(digits);
    return (uint32_t)(n * unit / 1024);
}

static void apply(struct run_options *o, const struct option *opt, const char *value)
{
    char *field = (char *)o + opt->field;
    char err[256];

    switch (opt->kind) {
    case KIND_FLAG_YES: apply_bits(o, opt->bits, is_yes(opt, value)); break;
    case KIND_FLAG_NO: apply_bits(o, opt->bits, !is_yes(opt, value)); break;
    case KIND_SET: apply_bits(o, opt->bits, true); break;
    case KIND_TEXT:
        if (!*value)
            die(UTIL_USAGE, "%s: the value is empty", opt->name);
        *(const char **)field = value;
        break;
    case KIND_CACHE: {
        struct run_cache *c = (struct run_cache *)field;

        if (!run_cache_parse(value, &c->g, err, sizeof(err)))
            die(UTIL_USAGE, "%s=%s: %s", opt->name, value, err);
        c->given = true;
        break;
    }
    case KIND_NUMBER: *(uint32_t *)field = number(opt, value); break;
    case KIND_KIB: *(uint32_t *)field = kib(opt, value); break;
    case KIND_WORD:
        if (strcmp(value, opt->word[0]) != 0 && strcmp(value, opt->word[1]) != 0)
            die(UTIL_USAGE, "%s=%s: must be %s or %s", opt->name, value, opt->word[0],
                opt->word[1]);
        apply_bits(o, opt->bits, strcmp(value, opt->word[1]) == 0);
        break;
    case KIND_HELP: help();
    }
}

static const struct option *find(const char *arg, size_t len)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        const char *name = options[i].name;

        if (name && strlen(name) == len && memcmp(name, arg, len) == 0)
            return &options[i];
    }
    return NULL;
}

int run_options_read(struct run_options *o, int argc, char **argv)
{
    int i;

    memset(o, 0, sizeof(*o));
    o->flags = SPOOL_F_CACHE_SIM;
    for (i = 1; i < argc; i++) {
        const char *arg = argv[i];
        const char *equals = strchr(arg, '=');
        size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
        const struct option *opt;
        bool bare;

        if (arg[0] != '-' || arg[1] == '\0')
            break;
        if (strcmp(arg, "--") == 0) {
            i++;
            break;
        }
        opt = find(arg, len);
        if (!opt)
            die(UTIL_USAGE, "%s: unknown option; `quern run --help` lists them", arg);
        bare = opt->kind == KIND_SET || opt->kind == KIND_HELP;
        if (bare && equals)
            die(UTIL_USAGE, "%s: takes no value", opt->name);
        if (!bare && !equals) {
            // Only -o takes its value as a word of its own.
            if (opt->name[1] == '-')
                die(UTIL_USAGE, "%s: needs a value: %s=...", opt->name, opt->name);
            if (i + 1 >= argc)
                die(UTIL_USAGE, "%s: needs a value", opt->name);
            apply(o, opt, argv[++i]);
        } else {
            apply(o, opt, equals ? equals + 1 : "");
        }
    }
    if (i >= argc)
        die(UTIL_USAGE, "no program given; usage: quern run [OPTIONS] [--] PROGRAM [ARGS...]");
    return i;
}
