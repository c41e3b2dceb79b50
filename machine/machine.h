// SPDX-License-Identifier: MIT
//
// Machines whose caches are simulated: what a machine file says (docs/machine.md has the format),
// and which file is that of a processor. The commands use it; it knows no command, prints nothing,
// and allocates nothing that it keeps.
#ifndef QUERN_MACHINE_H
#define QUERN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/core.h"
#include "share/spool.h"

#define MACHINE_SUFFIX ".machine" // of the names of machine files
enum {
    MACHINE_NAME_MAX = 255,
    MACHINE_TITLE_MAX = 100,
    MACHINE_FILE_MAX = 1 << 20, // bytes; whatever is larger is no machine file
    MACHINE_MODELS = 256,
};

enum machine_level { MACHINE_L1I, MACHINE_L1D, MACHINE_L2, MACHINE_LL, MACHINE_LEVELS };

// The processors that have it, as CPUID describes them.
struct machine_match {
    char vendor[13]; // "": none
    uint32_t family;
    uint8_t models[MACHINE_MODELS]; // 1: one of them
    uint32_t share; // bytes of LL for each core, by which a guest's LL is judged; 0: not known
};

// Translations of pages of 4 KiB; the least recently used is replaced.
struct machine_tlb {
    uint32_t entries, ways;
};

enum machine_predictor { MACHINE_PREDICTOR_CACHEGRIND, MACHINE_PREDICTOR_TAGE, MACHINE_PREDICTORS };

struct machine {
    char name[MACHINE_NAME_MAX + 1]; // of its file, without folder and suffix
    char title[MACHINE_TITLE_MAX + 1];
    struct machine_match match;
    struct spool_geometry i1, d1, l2, ll;
    bool has_l2;
    uint32_t first_replacement;              // of L1I and L1D: SPOOL_LRU
    uint32_t l2_replacement, ll_replacement; // enum spool_replacement
    uint32_t ll_filling;                     // enum spool_filling
    uint32_t index;                          // enum spool_index
    struct machine_tlb itlb, dtlb, stlb;     // all three, or with 0 entries
    struct {
        // sim/prefetch.h
        uint32_t distance, batch, dense, reach, across, pairs, next, regions;
    } prefetch;
    bool has_prefetch;
    uint32_t predictor; // enum machine_predictor
    struct {
        // sim/predict.h; 0: not said
        uint32_t deep_returns, entries, indirect, path_bits;
    } predict;
    struct core_machine core;
    bool has_core;
};

// What is wrong, without a full stop. Line and column, which counts bytes, begin with 1; line 0:
// the whole file.
struct machine_error {
    unsigned line, column;
    char text[480];
};

// ---- machine_read.c ----

// Reads the text of a file into *m, except for its name. False: *e says what is wrong.
bool machine_read(struct machine *m, const char *text, size_t size, struct machine_error *e);
// The words of enum spool_replacement and enum spool_filling as a file has them.
const char *machine_read_replacement(uint32_t replacement);
const char *machine_read_filling(uint32_t filling);

// ---- machine_core.c ----

// Values of [core], of n bytes. False: *allowed says what they must be.
bool machine_core_number(const char *s, size_t n, size_t field, uint16_t *to, const char **allowed);
bool machine_core_ports(const char *s, size_t n, uint16_t *to, const char **allowed);
bool machine_core_cost(const char *s, size_t n, struct core_cost *to, const char **allowed);

// ---- machine_file.c ----

// Reads a file, and names the machine as the file.
bool machine_file(struct machine *m, const char *path, struct machine_error *e);
// The name of the machine of a path: the file's, without the suffix; a byte that would end or hide
// a line becomes '_'. `to` has MACHINE_NAME_MAX + 1 bytes.
void machine_file_name(const char *path, char *to);

// ---- machine_check.c ----

// Can the levels be simulated, each by itself and together? False: the first one that cannot, and
// why, in a buffer of MACHINE_WHY bytes.
enum { MACHINE_WHY = 240 };
bool machine_check(const struct machine *m, enum machine_level *at, char why[MACHINE_WHY]);
// Can what is beside the levels? False: the section, and why.
bool machine_check_rest(const struct machine *m, const char **section, char why[MACHINE_WHY]);
// "L1I", ..., as the sections are called.
const char *machine_check_level(enum machine_level level);
struct spool_geometry *machine_check_geometry(struct machine *m, enum machine_level level);

// ---- machine_cpuid.c ----

// Answers a leaf of CPUID: eax, ebx, ecx and edx, all 0 where there is no such leaf.
typedef void (*machine_cpuid_fn)(const void *of, uint32_t leaf, uint32_t sub, uint32_t r[4]);

// What CPUID says of a processor. A geometry of size 0: it does not describe the cache.
struct machine_cpuid {
    char vendor[13];
    uint32_t family, model;
    bool guest;                           // a hypervisor says so
    bool hybrid;                          // its cores are of two kinds
    struct spool_geometry i1, d1, l2, ll; // ll: of level 3 or above
    unsigned ll_level;                    // 0: none
    uint32_t sharers;                     // logical processors that share ll, at most
};
void machine_cpuid(struct machine_cpuid *p, machine_cpuid_fn ask, const void *of);
// The caches alone, of leaf 4 or of leaf 0x8000001d, which have the same layout.
void machine_cpuid_caches(struct machine_cpuid *p, uint32_t leaf, machine_cpuid_fn ask,
                          const void *of);

// ---- machine_native.c ----

// Is the file that of this processor?
bool machine_native(const struct machine *m, const struct machine_cpuid *p);
// Replaces the geometries of the file by those of CPUID where these are plausible (docs/machine.md
// has the rules), for a system of so many logical processors. Returns the bits, by enum
// machine_level, of caches that CPUID describes otherwise and that stay as the file has them.
unsigned machine_native_caches(struct machine *m, const struct machine_cpuid *p,
                               uint32_t processors);

#endif
