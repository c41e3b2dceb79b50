// SPDX-License-Identifier: MIT
//
// From an address of a mapped file to function, source file and line. The finisher calls it for
// every instruction that ran, so the work is done once for each module, compilation unit and
// function that occurs, and never for others: a run of /bin/true needs a few of the 2,000 units of
// libc.
//
// Names follow Cachegrind: the function is the ELF symbol (demangled) whose range contains the
// address, also for inlined code; file and line are those of the line table; unknown ones are "???"
// and line 0.
//
// Never ends the process, prints nothing; remarks go to the callback. Not thread-safe. Everything
// returned lives until symbols_free.
#ifndef QUERN_SYMBOLS_SYMBOLS_H
#define QUERN_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;
struct symbols_module;

struct symbols_options {
    bool no_demangle;
    // One remark, a sentence without a newline: a file that is gone or has changed. NULL: no
    // remarks.
    void (*remark)(void *ctx, const char *sentence);
    void *ctx;
    const char *cache; // the folder of the cache (cache.h); NULL: no cache
};

// NULL: no memory.
struct symbols *symbols_new(const struct symbols_options *o);
void symbols_free(struct symbols *s);

// What is known of the mapped file; zero where unknown.
struct symbols_file {
    const char *path;
    uint64_t ino;       // of the mapped file: if it differs now, the file was replaced
    uint64_t mtime;     // its modification time then, ns since 1970: a remark if it differs now
    uint64_t run_start; // if mtime is not known: a remark if the file was modified later
    uint64_t ctime;     // its last change of status then; used with `is_same`
    // Its content if the path leads elsewhere now; must stay, and may be written to.
    void *image;
    size_t image_size;
    // Called if the file has changed since it was mapped, or is an image: whether it is what was
    // executed (symbols_code()). If not, it is not used. NULL: unknown.
    bool (*is_same)(void *ctx, struct symbols_module *m);
    void *ctx;
};

// The module of a file; the same one for the same path, inode and time. Never NULL: for an
// unreadable file every answer is "???".
struct symbols_module *symbols_file(struct symbols *s, const struct symbols_file *f);
// A module in memory (the vDSO); the image must stay. `name` is for messages and generated names.
struct symbols_module *symbols_image(struct symbols *s, const char *name, const void *image,
                                     size_t size);

// Reads bytes of the file; false: it does not have them.
bool symbols_code(const struct symbols_module *m, uint64_t file_offset, void *to, size_t size);

// The link-time address of a file offset, as symbols_find takes it. UINT64_MAX: in no segment.
uint64_t symbols_address(struct symbols_module *m, uint64_t file_offset);

// Numbers of strings; equal numbers are equal strings. 0 is "???".
struct symbols_place {
    uint32_t function, file;
    uint32_t line;
};

// Consecutive addresses are cheapest.
void symbols_find(struct symbols_module *m, uint64_t address, struct symbols_place *out);

// The same; returns for how many addresses from this one on the answer is the same.
uint64_t symbols_find_range(struct symbols_module *m, uint64_t address, struct symbols_place *out);

const char *symbols_string(const struct symbols *s, uint32_t number);
// The number of a string from elsewhere; 0 also when memory is out.
uint32_t symbols_number(struct symbols *s, const char *text, size_t len);

// Memory ran out at some time: answers may be "???" although the debug information has them.
bool symbols_is_short(void);

// Whether there was a question that the cache could not answer.
bool symbols_have_learned(const struct symbols *s);

// Stores the new answers for other runs. No remark if that fails.
void symbols_save(struct symbols *s);

// A question about offsets in a variable: all from low to high that are a multiple of step away
// from low (step 0: one offset); and the answer.
struct symbols_field {
    uint64_t start, size; // of its symbol, link-time
    bool local;           // thread-local: start is that within the variables of its module
    bool inner;           // it may be a static of a function: these take longest to find
    bool numbered;        // in the path the number of an element of one array, "nodes[3].left"
    uint64_t low, high, step;
    // Which remainders the numbers of their words have: bits for each of share/moduli.h; or NULL.
    const uint64_t *words;
    // The answer. path: the member that all of them are in, "nodes[].left", to be freed; NULL: it
    // is not known. whole: they are in several, and this is what has all of them.
    char *path;
    bool whole;
    uint64_t offset;             // of the member in the first of the elements
    uint32_t file, line;         // where the member is declared; 0: unknown
    uint32_t own_file, own_line; // where the variable is
    bool asked;                  // the variable was found
};
// Answers n questions, in the order of `local` and start. Reads all units of the debug information
// until it has the variables.
void symbols_fields(struct symbols_module *m, struct symbols_field *field, size_t n);

// Blocks that a call of an allocator has returned, of `least` to `most` bytes.
struct symbols_block {
    uint64_t site;        // the call, link-time
    uint32_t line;        // of its source
    const char *text;     // the text of that line; NULL: unknown
    uint64_t least, most; // bytes
    // Questions: offsets in the blocks. start, size and local are not used. Answered if the type of
    // the blocks follows with certainty.
    struct symbols_field *field;
    size_t fields;
};
void symbols_block(struct symbols_module *m, struct symbols_block *b);

// One function of the inline chain at an address, from the innermost to the enclosing symbol's
// function.
struct symbols_frame {
    uint32_t function; // the name of the (inlined) function
    uint32_t file;     // where its code at the address is
    uint32_t line;
};
// Fills in at most max frames; returns their number, 0 if the debug information has none.
size_t symbols_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                       size_t max);

// An inlined function's code, in place of a call.
struct symbols_body {
    const struct symbols_body *outer; // the body that it is in; NULL: the symbol's function itself
    uint32_t function;                // whose body it is
    uint32_t file, line;              // where that is declared
    uint32_t call_file, call_line;    // of the call, in the code around the body
    uint64_t entry;                   // where control enters it
};
// The innermost one at an address; NULL: none or unknown. Consecutive addresses are cheapest.
const struct symbols_body *symbols_body(struct symbols_module *m, uint64_t address);

#endif
