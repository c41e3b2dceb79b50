// SPDX-License-Identifier: MIT
//
// libquern: read, build, merge, compare and write Cachegrind and Callgrind profiles.
//
// The only public header of Quern. Rules that hold for every function here:
//
// - Ownership. quern_*_new/read/merge/diff return an object of yours; free it with the matching
//   _free. Every pointer handed out by a getter belongs to the profile and lives until it is freed
//   or changed. Strings passed in are copied.
// - Errors. An int function returns 0 or -errno; a pointer function returns NULL and sets errno.
//   Where a `struct quern_error *` is taken (it may be NULL) it says more: file, line, column,
//   text. The library never prints, never exits, never calls abort on any input.
// - Options. Every `..._opts` struct begins with `sz`, set to sizeof of it; fields left zero mean
//   the default; fields may be added at the end. A NULL pointer means all defaults.
// - Threads. Different profiles may be used by different threads at once; one profile by one
//   thread.
// - Numbers. A count in a profile may be negative (a difference) or have a fraction (some writers),
//   and a sum may pass 64 bits. A quern_count is therefore a signed 128-bit integer in units of
//   1/scale, where quern_profile_event_scale() is 1, or 1000000000 for an event with fractions.
//
// To write a profile of your own (what `quern run` does at the end of a run):
//
//     struct quern_profile *p = quern_profile_new();
//     const char *events[] = { "Ir", "Dr", "Dw" };
//     quern_profile_set_events(p, events, 3);
//     quern_profile_set_cmd(p, "./prog x");
//     quern_profile_add_desc(p, "I1 cache", "32768 B, 64 B, 8-way associative");
//     uint32_t ob = quern_profile_string(p, "/bin/prog", -1);
//     uint32_t fl = quern_profile_string(p, "prog.c", -1);
//     uint32_t fn = quern_profile_func(p, ob, fl, quern_profile_string(p, "main", -1));
//     struct quern_site at = { .func = fn, .file = fl, .line = 12 };
//     uint64_t counts[] = { 10, 3, 1 };
//     quern_profile_add_cost(p, &at, counts, 3);       any order, any number of times for one place
//     struct quern_write_opts wo = { .sz = sizeof(wo), .format = QUERN_FORMAT_CACHEGRIND };
//     struct quern_error err;
//     int rc = quern_profile_write(p, "cachegrind.out.1", &wo, &err);
//     quern_profile_free(p);
#ifndef QUERN_PROFILE_H
#define QUERN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_API __attribute__((visibility("default")))

#define QUERN_NONE UINT32_MAX // no string, no function; also returned when memory runs out

// A count, a difference or a sum of counts, in units of 1/scale of its event (see above).
__extension__ typedef __int128 quern_count;

struct quern_profile;
struct quern_cursor;
struct quern_costs;
struct quern_rows;
struct quern_merger;
struct quern_rewrite;

struct quern_error {
    int code;       // errno value
    uint64_t line;  // 1-based; 0: the error is not in a line of a file
    uint32_t col;   // 1-based byte column; 0: none
    char file[256]; // the file with the error, its beginning cut off if too long; "" if none
    char msg[256];  // one sentence without a final newline
    char text[256]; // the beginning of the wrong line, for a caret below it; "" if none
};

enum quern_format {
    QUERN_FORMAT_AUTO, // writing: as the profile was read; callgrind if it has calls
    QUERN_FORMAT_CACHEGRIND,
    QUERN_FORMAT_CALLGRIND,
};

// ---- Building ----

QUERN_API struct quern_profile *quern_profile_new(void);
QUERN_API void quern_profile_free(struct quern_profile *p);

// The events of all costs added after this call, in this order. Call once, before any cost.
QUERN_API int quern_profile_set_events(struct quern_profile *p, const char *const *names, size_t n);
// A long name and, optionally, a formula ("Ir + 10 Bm") for an event; NULL omits one. An event with
// a formula is derived: it has no counts of its own. -EINVAL: bad formula.
QUERN_API int quern_profile_define_event(struct quern_profile *p, const char *name,
                                         const char *formula, const char *long_name);
// Header fields. An empty profile has one part; these set the fields of the last part.
QUERN_API int quern_profile_set_cmd(struct quern_profile *p, const char *cmd);
QUERN_API int quern_profile_set_creator(struct quern_profile *p, const char *creator);
QUERN_API int quern_profile_set_pid(struct quern_profile *p, uint64_t pid);
QUERN_API int quern_profile_set_thread(struct quern_profile *p, uint64_t thread);
QUERN_API int quern_profile_set_part(struct quern_profile *p, uint64_t part);
// "desc: KEY: VALUE", in the order of the calls.
QUERN_API int quern_profile_add_desc(struct quern_profile *p, const char *key, const char *value);
QUERN_API void quern_profile_clear_desc(struct quern_profile *p);
// Begin another part (a dump, a thread) with the same events; costs added later belong to it.
QUERN_API int quern_profile_begin_part(struct quern_profile *p);

// Intern a string; len < 0: up to its NUL. The same text always gives the same number.
QUERN_API uint32_t quern_profile_string(struct quern_profile *p, const char *s, ptrdiff_t len);
// The function `name` of `file` in `object` (each a string number or QUERN_NONE; the strings "" and
// "???" count as QUERN_NONE, which is written as "???"). Two functions are the same if and only if
// all three are.
QUERN_API uint32_t quern_profile_func(struct quern_profile *p, uint32_t object, uint32_t file,
                                      uint32_t name);

// A place with a cost.
struct quern_site {
    uint32_t func; // of quern_profile_func
    uint32_t file; // source file of the line (a string number): differs from the function's own
                   // for inlined code; QUERN_NONE: the function's own
    uint64_t line; // 0: unknown
    uint64_t addr; // instruction address relative to the object; 0 if not recorded
    uint64_t bb;   // basic block number, rarely used
};

// n counts in the order of the events; missing ones at the end are zero.
QUERN_API int quern_profile_add_cost(struct quern_profile *p, const struct quern_site *at,
                                     const uint64_t *counts, size_t n);
// Calls from `at` to `callee`, whose entry is at target_line/target_addr; counts are inclusive.
QUERN_API int quern_profile_add_call(struct quern_profile *p, const struct quern_site *at,
                                     uint32_t callee, uint64_t target_line, uint64_t target_addr,
                                     uint64_t calls, const uint64_t *counts, size_t n);
// A jump from `at` to `to`; executed == 0: unconditional, else executed times and followed times.
QUERN_API int quern_profile_add_jump(struct quern_profile *p, const struct quern_site *at,
                                     const struct quern_site *to, uint64_t executed,
                                     uint64_t followed);

// ---- Reading ----

enum quern_severity {
    QUERN_NOTE,    // unusual, nothing lost
    QUERN_WARNING, // outside the published grammar, but understood
    QUERN_ERROR,   // not understood: something in the line was lost
};

// One remark of the reader. `kind` is the same short word for all remarks of a kind.
struct quern_diag {
    enum quern_severity severity;
    const char *kind; // for example "calls-zero"; lives as long as the library
    const char *msg;  // valid during the callback; of a stored one: as long as the profile
    uint64_t line;    // 1-based; 0: the file as a whole
    uint32_t col;     // 1-based; 0: the line as a whole
    uint64_t count;   // stored ones: how often this kind occurred
    const char *text; // the line, NUL-terminated; stored ones: its first 200 bytes
    const char *file; // name of the file; NULL in stored ones
};

struct quern_read_opts {
    size_t sz;
    int strict;     // stop at the first warning or error
    int every_diag; // call `diag` for every remark, not once for each kind
    void (*diag)(void *ctx, const struct quern_diag *d);
    void *diag_ctx;
    // Called from time to time with the bytes read so far and the file's size (0: unknown). Any
    // return value but 0 ends the reading with -ECANCELED.
    int (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    // Reads every line by the general rules, without the fast paths for usual ones: slower, same
    // result. For finding errors; the fuzzer and the tests read everything both ways.
    int no_fast;
    // Sums for quern_rows_new() while reading, which then need not walk over all records.
    int rows;
    // 2: two threads read the file if it is large enough and this process may run on two
    // processors. 0: only the caller's. The result is the same.
    unsigned threads;
    // Bytes of text that they share at a time, on any number of processors; 0: the value measured
    // as best. For finding errors.
    size_t pair_bytes;
};

// Reads a file of either format, plain, gzip or zstd; "-" is standard input.
QUERN_API struct quern_profile *quern_profile_read(const char *path,
                                                   const struct quern_read_opts *opts,
                                                   struct quern_error *err);
// The same from memory; messages use `name`. The text may be freed afterwards.
QUERN_API struct quern_profile *quern_profile_read_mem(const char *text, size_t len,
                                                       const char *name,
                                                       const struct quern_read_opts *opts,
                                                       struct quern_error *err);

// ---- Getters ----

QUERN_API enum quern_format quern_profile_format(const struct quern_profile *p);
// The remarks of reading, the first of each kind.
QUERN_API size_t quern_profile_diag_count(const struct quern_profile *p);
QUERN_API const struct quern_diag *quern_profile_diag(const struct quern_profile *p, size_t i);

// Events: first those with counts, in the order of the file, then the derived ones.
QUERN_API size_t quern_profile_event_count(const struct quern_profile *p);
QUERN_API size_t quern_profile_derived_count(const struct quern_profile *p);
QUERN_API const char *quern_profile_event_name(const struct quern_profile *p, size_t event);
QUERN_API const char *quern_profile_event_long_name(const struct quern_profile *p, size_t event);
QUERN_API const char *quern_profile_event_formula(const struct quern_profile *p, size_t event);
QUERN_API int64_t quern_profile_event_scale(const struct quern_profile *p, size_t event);
// Index of an event by name, derived ones included; -ENOENT.
QUERN_API int quern_profile_find_event(const struct quern_profile *p, const char *name);
// Value of a derived event from the counts of the real ones (its scale is the largest of theirs). A
// value outside 128 bits becomes the nearest end of their range.
QUERN_API quern_count quern_profile_derive(const struct quern_profile *p, size_t event,
                                           const quern_count *counts);

// Returns 0 if both profiles have the same events in the same order, with the same formulas and
// long names: only then can their counts be compared. Gives an event that has fractions in one of
// them the same scale in both, so call it before quern_costs_new() and before counts are read.
// -EINVAL: *err names both files and the difference.
QUERN_API int quern_profile_match_events(struct quern_profile *a, const char *a_name,
                                         struct quern_profile *b, const char *b_name,
                                         struct quern_error *err);

#define QUERN_HAS_LINE 1u
#define QUERN_HAS_ADDR 2u
#define QUERN_HAS_BB   4u
#define QUERN_HAS_CALL 8u
#define QUERN_HAS_JUMP 16u
// The contents of the records.
QUERN_API unsigned quern_profile_has(const struct quern_profile *p);

struct quern_part {
    const char *cmd; // NULL if absent, like the next three
    const char *creator;
    int has_pid, has_thread, has_part;
    uint64_t pid, thread, part;
    size_t desc_count;
    const char *const *desc; // "KEY: VALUE" each
};
QUERN_API size_t quern_profile_part_count(const struct quern_profile *p);
QUERN_API int quern_profile_part(const struct quern_profile *p, size_t i, struct quern_part *out);

QUERN_API const char *quern_profile_str(const struct quern_profile *p,
                                        uint32_t s); // "" for NONE
QUERN_API size_t quern_profile_str_count(const struct quern_profile *p);
struct quern_func {
    uint32_t object, file, name; // string numbers or QUERN_NONE
};
QUERN_API size_t quern_profile_func_count(const struct quern_profile *p);
QUERN_API struct quern_func quern_profile_func_get(const struct quern_profile *p, uint32_t func);

// Sum of all self costs, event by event (quern_profile_event_count() of them): always computed.
QUERN_API const quern_count *quern_profile_totals(const struct quern_profile *p);

// The number as decimal text; scale as above. Returns its length; buf of 64 bytes always suffices.
QUERN_API int quern_count_format(char *buf, size_t size, quern_count v, int64_t scale);

// ---- Records, in the order they were read or added ----

enum quern_record_kind {
    QUERN_REC_NONE,
    QUERN_REC_COST,
    QUERN_REC_CALL, // counts: inclusive cost of the calls
    QUERN_REC_JUMP,
    QUERN_REC_JCND,
};

struct quern_record {
    enum quern_record_kind kind;
    uint32_t part;
    struct quern_site at;
    struct quern_site to;      // calls: func, line, addr; jumps: also file
    uint64_t calls;            // calls: how many; jumps: followed
    uint64_t executed;         // JCND: how often the jump was reached
    const quern_count *counts; // event_count of them; valid until the next step
    uint64_t present;          // bit i: count i was given, not omitted or '.' (the first 64)
};

QUERN_API struct quern_cursor *quern_cursor_new(const struct quern_profile *p);
// 1: *rec filled; 0: the end.
QUERN_API int quern_cursor_next(struct quern_cursor *c, struct quern_record *rec);
QUERN_API void quern_cursor_free(struct quern_cursor *c);

// ---- Self costs of functions by source file ----

// The lines of a function in one file; code inlined from a header is a row of its own.
struct quern_row {
    uint32_t func, file;       // file: as in quern_site
    uint64_t present;          // bit i: some record gave count i (the first 64 events)
    const quern_count *counts; // event_count of them
};
// Rows in the order of their first records. Valid until the profile changes; free them before it.
QUERN_API struct quern_rows *quern_rows_new(const struct quern_profile *p);
QUERN_API void quern_rows_free(struct quern_rows *r);
QUERN_API size_t quern_rows_count(const struct quern_rows *r);
QUERN_API struct quern_row quern_rows_get(const struct quern_rows *r, size_t i);

// ---- Costs of functions ----

// Self and inclusive cost of every function, and the edges between them. Functions that call each
// other mutually are a cycle (strongly connected component): the inclusive cost of each member is
// that of the whole cycle, and calls inside it add nothing.
struct quern_edge {
    uint32_t caller, callee;
    uint64_t calls;
    const quern_count *counts; // inclusive, event_count of them
};
QUERN_API struct quern_costs *quern_costs_new(const struct quern_profile *p);
QUERN_API void quern_costs_free(struct quern_costs *c);
QUERN_API const quern_count *quern_costs_self(const struct quern_costs *c, uint32_t func);
QUERN_API const quern_count *quern_costs_inclusive(const struct quern_costs *c, uint32_t func);
// Bit i: some record of the function gave count i (the first 64 events).
QUERN_API uint64_t quern_costs_present(const struct quern_costs *c, uint32_t func);
// 0: in no cycle; else the number of its cycle. A function that calls only itself is in none.
QUERN_API uint32_t quern_costs_cycle(const struct quern_costs *c, uint32_t func);
// Times called, from all callers (saturating at UINT64_MAX).
QUERN_API uint64_t quern_costs_called(const struct quern_costs *c, uint32_t func);
QUERN_API size_t quern_costs_edge_count(const struct quern_costs *c);
// Edges sorted by caller, then callee.
QUERN_API struct quern_edge quern_costs_edge(const struct quern_costs *c, size_t i);
// First edge of a caller, and one past its last: the edges of a function.
QUERN_API void quern_costs_callees(const struct quern_costs *c, uint32_t func, size_t *first,
                                   size_t *end);
// Edge numbers of the calls to a function; `n` of them.
QUERN_API const uint32_t *quern_costs_callers(const struct quern_costs *c, uint32_t func,
                                              size_t *n);

// ---- Writing ----

struct quern_write_opts {
    size_t sz;
    enum quern_format format;
    int keep_order;          // Callgrind: records as they were read, not sorted and summed
    int no_compress_strings; // names in full, no "(id)"
    int no_compress_pos;     // absolute positions
    int portable;            // the form that every known reader accepts: names and positions in
                             // full, no jumps, all zero counts, `positions: line`, one part
    int no_lines;            // positions without lines (--dump-line=no): line 0
    int no_instr;            // drop instruction addresses
    int combine_parts;       // sum all parts into one
};

// Writes beside `path` and renames: either the whole new file is there or nothing changed. "-" is
// standard output. Unless keep_order, costs of the same place are summed and everything is sorted
// (by object, file, function, line), so equal profiles give equal bytes. Counts are never
// truncated: one that does not fit is an error (-EOVERFLOW). Callgrind's grammar has no negative
// counts, but a difference is written with them, as cg_diff does.
QUERN_API int quern_profile_write(const struct quern_profile *p, const char *path,
                                  const struct quern_write_opts *opts, struct quern_error *err);

// ---- Merging and comparing ----

// Sums profiles record by record, including calls and jumps. All must have the same events in the
// same order, with the same formulas and long names; otherwise -EINVAL and a message that names
// both files and lists. Memory is that of the result: each profile may be freed once it was added.
// Headers are those of the first.
QUERN_API struct quern_merger *quern_merger_new(void);
QUERN_API int quern_merger_add(struct quern_merger *m, const struct quern_profile *p,
                               const char *name, struct quern_error *err);
// Adds the sums of `from`; its profiles count as added here.
QUERN_API int quern_merger_join(struct quern_merger *m, struct quern_merger *from,
                                struct quern_error *err);
// The result, which the caller owns; the merger is empty afterwards.
QUERN_API struct quern_profile *quern_merger_take(struct quern_merger *m, struct quern_error *err);
QUERN_API void quern_merger_free(struct quern_merger *m);

struct quern_merge_opts {
    size_t sz;
    unsigned threads; // 0: as many as there are processors
    struct quern_read_opts read;
};
// Read and sum n files. Diagnostics come from several threads, one at a time.
QUERN_API struct quern_profile *quern_profile_merge_files(const char *const *paths, size_t n,
                                                          const struct quern_merge_opts *opts,
                                                          struct quern_error *err);

// Appends the parts of `from` to those of p, which may be new and empty: nothing is summed, so that
// parts can be compared (the ranks of a parallel program). If name is not NULL, each part without
// one gets a "desc: Profile: NAME". Both need the same events, as for a merger; after another error
// p is incomplete and can only be freed. Memory is that of all profiles.
QUERN_API int quern_profile_append(struct quern_profile *p, const char *p_name,
                                   const struct quern_profile *from, const char *name,
                                   struct quern_error *err);

// A Perl-like s/pattern/replacement/flags (flags g i m s x), any delimiter.
QUERN_API struct quern_rewrite *quern_rewrite_new(const char *expr, struct quern_error *err);
QUERN_API void quern_rewrite_free(struct quern_rewrite *r);
// The rewritten text, which the caller frees with free(); NULL and errno on an error of the
// pattern.
QUERN_API char *quern_rewrite_apply(const struct quern_rewrite *r, const char *text);
// A copy of the profile with file and function names rewritten (either may be NULL).
QUERN_API struct quern_profile *quern_profile_rewrite(const struct quern_profile *p,
                                                      const struct quern_rewrite *file,
                                                      const struct quern_rewrite *func,
                                                      struct quern_error *err);

// new - old, record by record; with `by_func` all lines and addresses first become 0, so that only
// functions (and call edges) are compared.
QUERN_API struct quern_profile *quern_profile_subtract(const struct quern_profile *new_,
                                                       const struct quern_profile *old, int by_func,
                                                       struct quern_error *err);

#ifdef __cplusplus
}
#endif

#endif
