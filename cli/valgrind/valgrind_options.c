// SPDX-License-Identifier: MIT
//
// The options of the `valgrind` front-end that `quern run` lacks or has in another form. An option
// with a list of values is checked and dropped: a value that would change something is refused,
// with the help as the reason. All other options are those of Cachegrind and Callgrind, and are
// passed on to `quern run`.
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/valgrind/valgrind.h"

#define YES_NO    "=yes|no"
#define WORDS     .kind = OPTION_CHOICE
#define ANY       .kind = OPTION_TEXT
#define HANDED_ON OPTION_OF, .of = &run_options_table

// 0 would wait for a debugger at the start.
static void vgdb_error(void *field, const struct option *o, const char *value)
{
    uint64_t n;

    (void)field;
    if (!util_number(value, UINT64_MAX, &n) || n == 0)
        die(UTIL_USAGE, "%s=%s: there is no server for a debugger to wait for", o->name, value);
}

static void obj_skip(void *field, const struct option *o, const char *value)
{
    (void)field;
    warn("%s=%s: the functions of this module are still shown", o->name, value);
}

// clang-format off
static const struct option rows[] = {
    { .kind = OPTION_HEADING, .help = "The tool" },
    { "--tool", "=cachegrind|callgrind", "the two tools that Quern has",
      WORDS },
    { .kind = OPTION_HEADING, .help = "Options of both tools" },
    { .name = "-q", .kind = HANDED_ON },
    { .name = "--quiet", .kind = HANDED_ON },
    { .name = "-v", .kind = HANDED_ON },
    { .name = "--verbose", .kind = HANDED_ON },
    { .name = "--log-file", .kind = HANDED_ON },
    { .name = "--log-fd", .kind = HANDED_ON },
    { .name = "--trace-children", .kind = HANDED_ON },
    { .name = "--trace-children-skip", .kind = HANDED_ON },
    { .name = "--demangle", .kind = HANDED_ON },
    { .name = "--branch-sim", .kind = HANDED_ON },
    { .name = "--I1", .kind = HANDED_ON },
    { .name = "--D1", .kind = HANDED_ON },
    { .name = "--LL", .kind = HANDED_ON },
    { .name = "--instr-at-start", .kind = HANDED_ON },
    { .name = "--cachegrind-out-file", .kind = HANDED_ON },
    { "--command-line-only", YES_NO,
      "neither $VALGRIND_OPTS nor a .valgrindrc is read [no]", WORDS },
    { .kind = OPTION_HEADING, .help = "Accepted: they change no count and no name" },
    { "--fair-sched", "=no|yes|try", "threads run in parallel, none waits for a lock",
      WORDS },
    { "--scheduling-quantum", "=N", "the same", ANY },
    { "--vgdb", "=no|yes|full", "there is no server for a debugger", WORDS },
    { "--vgdb-error", "=N", "the same: these tools find no errors",
      .kind = OPTION_CALL, .call = vgdb_error },
    { "--vgdb-poll", "=N", NULL, ANY },
    { "--vgdb-prefix", "=PREFIX", NULL, ANY },
    { "--vgdb-shadow-registers", YES_NO, "the same", WORDS },
    { "--read-inline-info", YES_NO, "inlined code has its own lines and files in any case",
      WORDS },
    { "--read-var-info", YES_NO, "no variable is named", WORDS },
    { "--error-exitcode", "=N", "these tools find no errors: the status is the program's", ANY },
    { "--error-limit", YES_NO, NULL, WORDS },
    { "--error-markers", "=BEGIN,END", NULL, ANY },
    { "--exit-on-first-error", YES_NO, "the same", WORDS },
    { "--show-error-list", "=yes|no|all", NULL, WORDS },
    { .name = "-s", .kind = OPTION_SET },
    { "--num-callers", "=N", "the same", ANY },
    { "--suppressions", "=FILE", NULL, ANY },
    { "--default-suppressions", YES_NO, "the same", WORDS },
    { "--gen-suppressions", "=no|yes|all", NULL, WORDS },
    { "--input-fd", "=N", NULL, ANY },
    { "--fullpath-after", "=TEXT", "the same", ANY },
    { "--merge-recursive-frames", "=N", NULL, ANY },
    { "--unw-stack-scan-thresh", "=N", NULL, ANY },
    { "--unw-stack-scan-frames", "=N", "the same", ANY },
    { "--show-emwarns", YES_NO, NULL, WORDS },
    { "--sigill-diagnostics", YES_NO, "the processor executes all instructions itself", WORDS },
    { "--smc-check", "=none|stack|all|all-non-file", "modified code is always detected",
      WORDS },
    { "--keep-debuginfo", YES_NO, "names of unmapped code are always kept",
      WORDS },
    { "--max-stackframe", "=N", "a change of stacks is not detected by size alone",
      ANY },
    { "--sim-hints", "=HINTS", NULL, ANY },
    { "--kernel-variant", "=NAMES", "the kernel gets every call as it is", ANY },
    { "--num-transtab-sectors", "=N", NULL, ANY },
    { "--avg-transtab-entry-size", "=N", "they tune Valgrind itself", ANY },
    { "--valgrind-stacksize", "=N", NULL, ANY },
    { "--aspace-minaddr", "=ADDRESS", NULL, ANY },
    { "--max-threads", "=N", "the same; docs/limits.md says how many there may be", ANY },
    { "--resync-filter", "=no|yes|verbose", NULL, WORDS },
    { "--dsymutil", YES_NO, NULL, WORDS },
    { "--stats", "=no", "the same", WORDS },
    { "--run-libc-freeres", YES_NO, NULL, WORDS },
    { "--run-cxx-freeres", YES_NO, NULL, WORDS },
    { "--soname-synonyms", "=LIST", "no function is replaced or called at the end", ANY },
    { .kind = OPTION_HEADING, .help = "Refused where they ask for anything else" },
    { "--xml", "=no", "these tools have no output in XML", WORDS },
    { "--vgdb-stop-at", "=none", "there is no server for a debugger to wait for", WORDS },
    { "--track-fds", "=no", "descriptors are not tracked", WORDS },
    { "--time-stamp", "=no", "messages have no time stamp", WORDS },
    { "--child-silent-after-fork", "=no", "-q is for children, too", WORDS },
    { "--show-below-main", "=no", "what runs before main is one function", WORDS },
    { "--enable-debuginfod", "=yes", "leave DEBUGINFOD_URLS unset", WORDS },
    { "--allow-mismatched-debuginfo", "=no", "debug information must be that of the module",
      WORDS },
    { "--progress-interval", "=0", "no progress is shown", WORDS },
    { "--modify-fds", "=no", "descriptors have the numbers of a native run", WORDS },
    { .kind = OPTION_HEADING, .help = "Of CodSpeed's Valgrind" },
    { "--obj-skip", "=PATH", "the functions of this module are still shown, and a "
      "warning says so", .kind = OPTION_CALL, .call = obj_skip },
    { "--cycle-estimation", "=no", "there is no event for it", WORDS },
    { .kind = OPTION_HEADING, .help = "Other" },
    OPTIONS_HELP,
    { .name = "--version", .kind = OPTION_VERSION,
      .help = "prints valgrind-3.24.0, whose options these are" },
};
// clang-format on

const struct options valgrind_options_table = {
    .usage = "--tool=cachegrind|callgrind [OPTIONS] [--] PROGRAM [ARGS...]",
    .about =
        "Runs PROGRAM under Quern as Valgrind's tool of that name would, with its options and\n"
        "defaults: --cache-sim=no, or yes where a cache is given by --I1, --D1 or --LL, and\n"
        "--rep-count=cachegrind. What is not listed here is an option of `quern run`.",
    .below = "Options are read from ~/.valgrindrc, $VALGRIND_OPTS and ./.valgrindrc, too.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
    .leading = true,
};
