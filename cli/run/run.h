// SPDX-License-Identifier: MIT
//
// What the files of `quern run` share: the options, the search for the program and its checks, the
// caches of this machine, the new spool.
#ifndef QUERN_CLI_RUN_H
#define QUERN_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/options/options.h"
#include "share/spool.h"

struct machine; // machine/machine.h

// Our descriptors that stay open while the client runs are not below this number: programs expect
// theirs in order.
enum { RUN_FD_MIN = 10 };

// A copy of a descriptor, not below RUN_FD_MIN unless the limit is; -1 with errno.
int run_fd_copy(int fd);
// Ends the process with UTIL_USAGE: the limit on open files has left none for `what`.
_Noreturn void run_die_descriptors(const char *what);

// One cache, given or detected.
struct run_cache {
    struct spool_geometry g;
    bool given; // by an option
};

struct run_caches {
    struct run_cache i1, d1, ll;
    const char *source;            // of those that were not given: "CPUID leaf 4", ...
    unsigned ll_level;             // 2 or 3 where detected; 0 otherwise
    const struct machine *machine; // --machine, with the geometries above; NULL: none
};

// The processor that the program is shown.
struct run_cpu {
    bool chosen;
    const char *given; // value of the option; NULL: this machine's processor
    const char *word;  // the level of the model
    struct spool_geometry i1, d1, ll;
    unsigned ll_level;
    uint32_t max_leaf;
    struct spool_cpu table;
};

struct run_options {
    struct run_caches caches;
    struct run_cpu cpu;
    uint64_t flags;  // enum spool_flag
    uint32_t replay; // --replay: 1 off, 2 inline, 3 process, 4 split, 0 or 5 auto
    uint32_t start;  // --instr-at-start: 0 or 1 yes, 2 no, 3 inherit
    const char *output;
    const char *log;
    const char *log_fd; // --log-fd
    bool parent;        // messages in a file begin with the caller's process id, too
    const char *skip;
    const char *spool_dir;
    const char *dump_counts, *dump_code;
    const char *trace_refs; // --trace-refs
    const char *symbol_cache, *translation_cache;
    struct option_list env; // --env
    char *env_text;         // the environment of --reproducible, each string with its NUL
    size_t env_bytes;
    char *rules; // of functions, as the spool has them (SPOOL_PATTERN_CALLERS)
    size_t patterns_bytes, rules_count;
    bool curve; // --curve
    bool data;  // --data
    const char *data_output;
    uint64_t data_callers; // 0: not given
    uint32_t data_use;     // --data-use, plus one; 0: not given
    char *allocators;      // --data-alloc, --data-free, as the spool has them (SPOOL_DATA_ALLOC)
    size_t allocators_bytes;
    int spool_fd;       // a spool that the caller owns (quern stat); 0: none
    uint64_t cache_kib; // these three fit in 32 bits
    uint64_t stress_us;
    uint64_t stress_flush;
    uint64_t every_blocks; // --dump-every-bb
    uint64_t progress;     // --progress: seconds; 0: none
    uint32_t systime;      // --collect-systime: 0 or 1 no, then the words
    const char *machine;   // --machine
    struct spool_sampling sampling; // --core-sampling
    const char *l2;        // the value of --L2, another name of --LL
};

// run_options.c: reads argv[1..]; returns the program and its arguments. Ends the process on wrong
// usage, and after --help.
char **run_options_read(struct run_options *o, int argc, char **argv);
// Sets what depends on several fields, once all options are read.
void run_options_settle(struct run_options *o);

// run.c: executes the engine for the program `given` and its arguments. Ends the process on an
// error.
_Noreturn void run_start(const struct run_options *options, char **given);

// run_progress.c: has another process say every so many seconds what this one has counted so far,
// until it ends. `whole` is the program to execute; messages go to log_fd.
void run_progress_start(const char *whole, uint64_t seconds, int log_fd);

// The engine, to be freed; NULL: there is none.
char *run_engine(void);
// The path of an internal program, seen from one for users (`self`), or from RUN_WHOLE beside it;
// to be freed.
#define RUN_WHOLE "quern-whole" // quern with all its commands (cli/front/front.c)
char *run_beside(const char *self, const char *name);

// run_program.c: the program as it will be executed.
struct run_program {
    char *path;  // absolute
    char **argv; // NULL-terminated; differs from the user's only for a script without #!
};
// Ends the process with UTIL_NOTFOUND or UTIL_CANNOT and a message when it cannot be profiled.
struct run_program run_program_find(char **argv);
// NULL, or why the program of this path cannot be profiled, to be freed.
char *run_program_fault(const char *path);

// run_options.c: the value of a cache option, for tables of options.
void run_options_cache(void *field, const struct option *o, const char *value);

// run_machine.c: eax, ebx, ecx and edx of a leaf, all 0 where it does not exist; the states that
// the kernel has enabled.
void run_machine_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4]);
uint64_t run_machine_xcr0(void);

// run_cpu.c: reads --cpu. Ends the process when the value is wrong, or the machine lacks a feature.
void run_cpu_read(struct run_cpu *cpu, const char *name, const char *value);
void run_cpu_option(void *field, const struct option *o, const char *value);
// The caches of the model for those that were not given.
void run_cpu_caches(const struct run_cpu *cpu, struct run_caches *c);
// Has this machine's processor a feature of share/cpu.h, and does the kernel support it? And the
// highest level of the psABI of both. Not by /proc/cpuinfo: some kernels leave out features there
// that programs can use all the same.
bool run_cpu_machine_has(unsigned feature);
const char *run_cpu_machine_level(void);
// The text of /proc/cpuinfo for one processor, behind its number; to be freed.
char *run_cpu_info(const struct run_cpu *cpu);

// run_pin.c: pins what --reproducible=yes pins, in the options and in this process. Ends the
// process on an error.
void run_pin(struct run_options *o);

// run_cache.c: fills in the caches that were not given from the processor (or the default), and
// notes the source.
void run_cache_detect(struct run_caches *c);
// "SIZE,ASSOC,LINE" of an option; of the last level the number of sets need not be a power of two.
// False: err says what is wrong.
bool run_cache_parse(const char *text, bool last, struct spool_geometry *g, char *err,
                     size_t err_size);
// Replaces a cache that cannot be simulated by the nearest that can. Returns a message about it, to
// be freed, or NULL.
char *run_cache_fit(struct spool_geometry *g, bool last, const char *name);
// The line that says which caches are simulated and why. To be freed.
char *run_cache_sentence(const struct run_caches *c);

// run_levels.c: --machine. Prints the shipped machines, and which is that of the processor.
_Noreturn void run_levels_list(const struct run_cpu *cpu);
// Reads the machine, and sets what is simulated. At most one message for each level, to be freed,
// about caches of the processor that are not those of the machine. Ends the process when the
// machine cannot be used.
enum { RUN_LEVELS = 4 };
void run_levels_set(struct run_options *o, char *messages[RUN_LEVELS]);
// What `native` is on this machine: true, and its name and title; or false, and why there is none.
// All to be freed.
bool run_levels_native(char **which, char *messages[RUN_LEVELS]);

// run_spool.c: what the spool of a new run needs.
struct run_spool {
    const struct run_options *o;
    const struct run_program *program;
    const char *output; // absolute, unexpanded
    const char *dir;    // absolute
    const char *tree;   // absolute; NULL: none
    const char *quern, *engine;
    const char *finisher;                         // the quick one; NULL: none
    const char *symbol_cache, *translation_cache; // absolute; NULL: none
    int log_fd;
    uint64_t start_mask; // signals that the program starts with blocked
};
// The fd of the new spool, its path in *path (to be freed). Ends the process when it cannot be
// created.
int run_spool_create(const struct run_spool *in, char **path);

// The desc: lines of a run, newline separated. To be freed.
char *run_spool_desc(const struct run_caches *c);

#endif
