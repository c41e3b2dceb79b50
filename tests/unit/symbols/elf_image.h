// SPDX-License-Identifier: MIT
//
// ELF files made in memory, section by section, for the tests of symbols/ that must know every
// byte.
#ifndef TESTS_UNIT_SYMBOLS_ELF_IMAGE_H
#define TESTS_UNIT_SYMBOLS_ELF_IMAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gelf.h>

enum { ELF_IMAGE_SECTIONS = 12 };

struct elf_image {
    Elf64_Shdr sh[ELF_IMAGE_SECTIONS];
    const void *content[ELF_IMAGE_SECTIONS];
    char names[512];
    size_t names_size;
    unsigned sections;
    char *image;
};

static inline void elf_image_init(struct elf_image *e)
{
    memset(e, 0, sizeof(*e));
    e->sections = 1;
    e->names_size = 1;
}

// Adds a section; its content must stay until elf_image_open. The header may be changed afterwards.
static inline Elf64_Shdr *elf_image_add(struct elf_image *e, const char *name, uint32_t type,
                                        const void *content, size_t size)
{
    unsigned i = e->sections++;

    assert_true(i + 1 < ELF_IMAGE_SECTIONS);
    e->sh[i] = (Elf64_Shdr){
        .sh_name = (uint32_t)e->names_size, .sh_type = type, .sh_size = size, .sh_addralign = 1
    };
    e->content[i] = content;
    strcpy(e->names + e->names_size, name);
    e->names_size += strlen(name) + 1;
    return &e->sh[i];
}

// The file; close it with elf_image_close.
static inline Elf *elf_image_open(struct elf_image *e)
{
    elf_image_add(e, ".shstrtab", SHT_STRTAB, e->names, 0);
    e->sh[e->sections - 1].sh_size = e->names_size;
    size_t at = sizeof(Elf64_Ehdr), size = at;
    for (unsigned i = 1; i < e->sections; i++)
        size += e->sh[i].sh_type == SHT_NOBITS ? 0 : (e->sh[i].sh_size + 7) & ~UINT64_C(7);
    e->image = calloc(1, size + e->sections * sizeof(Elf64_Shdr));
    for (unsigned i = 1; i < e->sections; i++) {
        e->sh[i].sh_offset = at;
        if (e->sh[i].sh_type == SHT_NOBITS)
            continue;
        memcpy(e->image + at, e->content[i], e->sh[i].sh_size);
        at += (e->sh[i].sh_size + 7) & ~UINT64_C(7);
    }
    Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                      .e_type = ET_DYN,
                      .e_machine = EM_X86_64,
                      .e_version = EV_CURRENT,
                      .e_shoff = at,
                      .e_ehsize = sizeof(eh),
                      .e_shentsize = sizeof(Elf64_Shdr),
                      .e_shnum = (uint16_t)e->sections,
                      .e_shstrndx = (uint16_t)(e->sections - 1) };
    memcpy(e->image, &eh, sizeof(eh));
    memcpy(e->image + at, e->sh, e->sections * sizeof(Elf64_Shdr));
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(e->image, at + e->sections * sizeof(Elf64_Shdr));
    assert_non_null(elf);
    return elf;
}

static inline void elf_image_close(struct elf_image *e, Elf *elf)
{
    elf_end(elf);
    free(e->image);
}

#endif
