// SPDX-License-Identifier: MIT
//
// From an address of a mapped file to function, source file and line. Called by the finisher for
// every instruction that ran, so the work is done once for each module, compilation unit and
// function that is met, and never for what is not asked: a run of /bin/true needs a few of the
// 2,000 units of libc.
//
// Names follow Cachegrind: the function is the ELF symbol (demangled) whose range holds the
// address, also for inlined code; file and line are those of the line table; what is not known is
// "???" and line 0.
//
// Never ends the process and prints nothing; remarks go to the callback. Not for use by several
// threads at once. Everything handed out lives until symbols_free.
#ifndef QUERN_SYMBOLS_SYMBOLS_H
#define QUERN_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;
struct symbols_module;

struct symbols_options {
    bool no_demangle;
    // One remark, a sentence without a newline: a file that is gone or has changed. NULL: silence.
    void (*remark)(void *ctx, const char *sentence);
    void *ctx;
    const char *cache; // the folder of the cache (cache.h); NULL: everything is read anew
};

// NULL: no memory.
struct symbols *symbols_new(const struct symbols_options *o);
void symbols_free(struct symbols *s);

// What is known of the file that was mapped; zero where it is not known.
struct symbols_file {
    const char *path;
    uint64_t ino;   // that of the mapped file: another one now means that the file was replaced
    uint64_t mtime; // its modification time then, ns since 1970: another one now is remarked upon
    uint64_t run_start; // where mtime is not known: a file modified later is remarked upon
    uint64_t ctime;     // its last change of status then; with `is_same`
    // Its content where the path leads elsewhere by now; it must stay, and may be written to.
    void *image;
    size_t image_size;
    // Asked where the file has changed since it was mapped, or is an image: whether it is what was
    // executed (symbols_code()). If not, nothing of it is shown. NULL: nobody knows.
    bool (*is_same)(void *ctx, struct symbols_module *m);
    void *ctx;
};

// The module of a file; the same one for the same path, inode and time. Never NULL: for a file that
// cannot be read every answer is "???".
struct symbols_module *symbols_file(struct symbols *s, const struct symbols_file *f);
// A module in memory (the vDSO); the image must stay. `name` is for messages and generated names.
struct symbols_module *symbols_image(struct symbols *s, const char *name, const void *image,
                                     size_t size);

// Reads bytes of the file; false where they are not there.
bool symbols_code(const struct symbols_module *m, uint64_t file_offset, void *to, size_t size);

// The link-time address of a file offset, which is what symbols_find takes. UINT64_MAX: no segment
// has it.
uint64_t symbols_address(struct symbols_module *m, uint64_t file_offset);

// Numbers of strings; equal numbers are equal strings. 0 is "???".
struct symbols_place {
    uint32_t function, file;
    uint32_t line;
};

// Consecutive addresses are cheapest.
void symbols_find(struct symbols_module *m, uint64_t address, struct symbols_place *out);

// The same; the answer holds for so many addresses from this one on.
uint64_t symbols_find_range(struct symbols_module *m, uint64_t address, struct symbols_place *out);

const char *symbols_string(const struct symbols *s, uint32_t number);
// The number of a name that comes from elsewhere; 0 also when memory is out.
uint32_t symbols_number(struct symbols *s, const char *text, size_t len);

// There was not memory enough for everything that was asked, now or at any time: answers may be
// "???" that are known.
bool symbols_is_short(void);

// Whether anything had to be found out that the cache did not know.
bool symbols_have_learned(const struct symbols *s);

// Keeps for other runs what this one had to find out. Silent when that cannot be.
void symbols_save(struct symbols *s);

// One function of the inline chain at an address: the innermost first, the enclosing symbol's
// function last.
struct symbols_frame {
    uint32_t function; // the name of the (inlined) function
    uint32_t file;     // where its code at the address is
    uint32_t line;
};
// At most max frames; their number, 0 where the debug information says nothing.
size_t symbols_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                       size_t max);

// What the compiler has put in place of a call.
struct symbols_body {
    const struct symbols_body *outer; // the body that it is in; NULL: the symbol's function itself
    uint32_t function;                // whose body it is
    uint32_t file, line;              // where that is declared
    uint32_t call_file, call_line;    // where the call stands, in what is around the body
    uint64_t entry;                   // the address that control enters it at
};
// The innermost one at an address; NULL: none, or nothing is known. Consecutive addresses are
// cheapest.
const struct symbols_body *symbols_body(struct symbols_module *m, uint64_t address);

#endif
