// SPDX-License-Identifier: MIT
// A program's identity (identity.h): its program headers, its notes (the build-id is one), and the
// engine's notes.
#include "engine/run/identity.h"

#include "engine/base/clientmem.h"
#include "engine/base/layout.h"
#include "engine/base/nolibc.h"
#include "engine/translate/pcachefile.h"

#define PT_NOTE    4
#define NOTES_MAX  1024
#define EHDR_PHOFF 32 // in the first bytes of an ELF file
#define EHDR_PHNUM 56

static u64 sum_notes(u64 sum, const struct elf_phdr *p, u32 n, u64 bias)
{
    u8 notes[NOTES_MAX];

    for (; n; n--, p++) {
        u64 bytes = p->memsz < NOTES_MAX ? p->memsz : NOTES_MAX;

        if (p->type == PT_NOTE && !clientmem_read(notes, bias + p->vaddr, bytes))
            sum = pcachefile_sum(sum, notes, bytes);
    }
    return sum;
}

u64 identity_of(const struct elf_file *program, const struct elf_image *image)
{
    const u8 *engine = (const u8 *)ENGINE_BASE;
    u64 phoff, sum = pcachefile_sum(0, program->phdr, program->phnum * sizeof(program->phdr[0]));
    u16 phnum;

    memcpy(&phoff, engine + EHDR_PHOFF, sizeof(phoff));
    memcpy(&phnum, engine + EHDR_PHNUM, sizeof(phnum));
    sum = sum_notes(sum, program->phdr, program->phnum, image->bias);
    return sum_notes(sum, (const struct elf_phdr *)(engine + phoff), phnum, 0);
}
