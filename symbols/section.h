// SPDX-License-Identifier: MIT
//
// The bytes of a section by name, decompressed if necessary (zlib or zstd, whatever libelf was
// built with). Used by linetab.c and learn.c.
#ifndef QUERN_SYMBOLS_SECTION_H
#define QUERN_SYMBOLS_SECTION_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct section {
    const unsigned char *p;
    size_t size;
    uint64_t addr;
    void *owned; // section_fini frees it; NULL: the bytes are the Elf's own
};

// False: no such section with contents, or it cannot be decompressed.
bool section_get(Elf *elf, const char *name, struct section *out);
// True when the file has the section with contents.
bool section_exists(Elf *elf, const char *name);
void section_fini(struct section *s);

// A copy of the file, in memory, with its zstd-compressed sections decompressed, for a libelf that
// cannot do it. NULL: there are none, or memory is out. Free *image after elf_end.
Elf *section_without_zstd(Elf *elf, void **image);

#endif
