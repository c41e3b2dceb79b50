// SPDX-License-Identifier: MIT
//
// The bytes of a section by name, decompressed when they are compressed (zlib or zstd, whatever
// libelf was built with). Used by linetab.c and learn.c.
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
    void *owned; // to be freed with section_fini; NULL: the Elf's own
};

// False when there is no such section with contents, or it cannot be decompressed.
bool section_get(Elf *elf, const char *name, struct section *out);
// True when the file has the section with contents.
bool section_exists(Elf *elf, const char *name);
void section_fini(struct section *s);

// A copy of the file, in memory, in which the zstd-compressed sections are not compressed, for a
// libelf that cannot decompress them. NULL when none is, or memory is out; *image is to be freed
// after elf_end.
Elf *section_without_zstd(Elf *elf, void **image);

#endif
