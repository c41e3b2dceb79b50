// SPDX-License-Identifier: MIT
//
// The fourth stage: what is written, under which names.
#ifndef QUERN_FINISH_OUTPUT_H
#define QUERN_FINISH_OUTPUT_H

#include "finish/sums/call_graph.h"
#include "finish/sums/sums.h"
#include "quern/profile.h"

// ---- output_names.c ----

// The paths of the output files; NULL: not wanted. The finisher, which has no more rights than the
// client had, takes the names from the spool (output_names()); `quern recover` does not.
struct output_files {
    char *output;
    char *dump; // the execution counts
    char *data; // --data=yes: the objects
    char *code; // --dump-code, and what the engine left for it
    char *facts;
    char *tree;        // with --children=merge: the folder where profiles are collected
    const char *cache; // folder of the symbol cache
};

// The names of a spool's files, expanded for its process. Returns 0, or -1 with a message in err.
// output_names_free() frees what they hold.
int output_names(const struct spool_file *s, struct output_files *files, char *err,
                 size_t err_size);
void output_names_free(struct output_files *files);
// The name of a thread's profile, to be freed.
char *output_names_thread(const char *output, uint32_t slot);

// ---- output_lines.c ----

// Writes the sums as a profile in Cachegrind's format, and returns their totals. See
// profile_write(). Of siblings the order of the cells and the text of functions are kept for the
// next one; takes note of sums->changed.
int output_lines(const struct spool_file *s, const struct places *places, struct sums *sums,
                 struct finish_totals *totals, const char *output, char *err, size_t err_size);

// ---- output_calls.c ----

// Finishes a call graph and writes it. See profile_write().
int output_calls(const struct spool_file *s, struct places *places, struct call_graph *g,
                 const char *output, char *err, size_t err_size);

// ---- output_data.c ----

// Writes misses by object, whose sums are those of the totals. Returns 0, or -1 with a message in
// err.
int output_data(const struct spool_file *s, struct places *places,
                const struct finish_totals *totals, const char *output, char *err, size_t err_size);

// ---- output_walks.c: walks through the objects, for output_data() ----

#define OUTPUT_WALKS_LEAST 1000u // of so many steps, one and more are written

struct output_walks;
struct output_walks *output_walks_new(void);
void output_walks_free(struct output_walks *w);
// A walk through an object, a function of the profile, by the instruction at a place of the code.
void output_walks_add(struct output_walks *w, uint32_t object, const struct quern_site *at,
                      const struct spool_data_walk *walk);
// Adds the lines to the profile. Nonzero: it lacks memory.
int output_walks_put(struct output_walks *w, struct quern_profile *p);

// ---- output_sharing.c: lines that threads share, for output_data() ----

// Of all invalidations, one and more of a pair are shown.
#define OUTPUT_SHARING_LEAST 1000u

// One of the two references of an invalidation.
struct output_sharing_side {
    const char *object, *object_file; // its name and file in the profile
    uint64_t offset;                  // or SPOOL_DATA_NO_OFFSET
    char *field;                      // to be freed; NULL: unknown
    const char *function, *file;      // the line of the code
    uint64_t line;
    bool writes;
};

struct output_sharing {
    struct output_sharing_side side[2];
    bool is_true;
    uint64_t invalidations, most;
};

// Adds the lines to the profile: of n pairs, whose order and sides it changes. Nonzero: it lacks
// memory.
int output_sharing_put(struct output_sharing *s, size_t n, bool serialized,
                       struct quern_profile *p);

// ---- output_fields.c: where in their objects the misses are, for output_data() ----

enum { OUTPUT_FIELD_L1, OUTPUT_FIELD_L2, OUTPUT_FIELD_LL, OUTPUT_FIELD_LEVELS };

// Misses in a field of an object, or at an offset.
struct output_field {
    uint32_t object; // its number
    uint64_t offset; // from the object's beginning; of a field in the first of the elements
    bool whole;          // several fields
    bool inferred;       // the type is that of a block, by the code that allocates it
    uint32_t file, line; // of the field's declaration, for places_text(); 0: unknown
    char *path;          // "nodes[].left"; NULL: only the offset is known
    uint64_t misses[OUTPUT_FIELD_LEVELS][2]; // of reads, of writes
};

struct output_fields {
    struct output_field *field; // by object
    size_t count;
    struct output_own {      // by object
        uint32_t file, line; // of the variable's declaration
    } * own;
};

// All of the run, in zeroed memory. output_fields_free() frees what they hold.
void output_fields_find(struct output_fields *f, const struct spool_data_file *d,
                        struct places *places);
void output_fields_free(struct output_fields *f);

// A byte of an object.
struct output_touch {
    uint32_t object; // its number
    uint64_t offset; // or SPOOL_DATA_NO_OFFSET
    char *path; // out: the member that it is in, "counters[3].hits", to be freed; NULL: unknown
};
void output_fields_name(struct output_touch *touch, size_t n, const struct spool_data_file *d,
                        struct places *places);

// Those of an object: *n of them.
const struct output_field *output_fields_of(const struct output_fields *f, uint32_t object,
                                            size_t *n);
// Sums those of objects that are one in the profile, where an offset has one name: what is in
// several fields, or has its offset in common with another one, gets a number above `end` instead.
// Returns how many are left.
size_t output_fields_join(struct output_field *f, size_t n, uint64_t end);
// An offset behind all of the object's, for what is at none that is known.
uint64_t output_fields_end(const struct spool_data_object *o);

// ---- output_counts.c ----

struct output_executed {
    uint64_t pc, count;
    uint32_t map;
};

struct output_counts {
    const struct spool_file *s;
    struct output_executed *insn; // in the order of the walk; to be freed
    size_t count, room;
};

void output_counts_add(struct output_counts *c, const struct spool_walk_insn *in);
// Writes --dump-counts. Returns 0, or -1 with a message in err.
int output_counts(struct output_counts *c, const char *path, char *err, size_t err_size);

// ---- output_parts.c: dumps ----

// Writes p, one part. With --combine-dumps=yes, all parts but the first are appended to those that
// the file has already. Returns 0, or an error with *e filled in.
int output_parts(const struct spool_file *s, struct quern_profile *p, const char *output,
                 const struct quern_write_opts *how, struct quern_error *e);

// ---- output_code.c ----

// If --dump-code was given, writes it from what the engine left, and removes that. Returns 0, or -1
// with a message in err.
int output_code(const struct spool_file *s, const struct output_files *files, char *err,
                size_t err_size);

#endif
