// SPDX-License-Identifier: MIT
// Reads and maps ELF executables as the kernel does (fs/binfmt_elf.c): the client program and its
// interpreter. launch.c uses it at start, exec.c to learn before an exec whether a file can be
// loaded.
#ifndef QUERN_ENGINE_ELF_H
#define QUERN_ENGINE_ELF_H

#include "engine/base/types.h"

// What kind of file it is, by its first bytes.
enum elf_kind {
    ELF_OTHER = 0, // neither ELF nor a script: the kernel decides
    ELF_SCRIPT,    // begins with #!
    ELF_LOADABLE,  // 64-bit x86-64, well-formed as far as the kernel looks
    ELF_FOREIGN,   // ELF of another class or machine
    ELF_BROKEN,    // 64-bit x86-64 ELF that cannot be loaded
};

struct elf_phdr {
    u32 type, flags;
    u64 offset, vaddr, paddr, filesz, memsz, align;
};

#define ELF_PHDRS_MAX 1170 // the kernel's limit: 64 KiB of them

// An examined file. Large: not for small stacks.
struct elf_file {
    int fd;
    enum elf_kind kind;
    const char *why; // ELF_FOREIGN, ELF_BROKEN, ELF_OTHER: half a sentence
    u64 entry;       // not relocated
    u64 phoff;
    u32 phnum;
    bool dynamic; // ET_DYN
    bool exec_stack;
    bool has_interp;
    u64 low, high; // page-rounded extent of the PT_LOADs
    u64 align;     // largest p_align
    char interp[4096];
    u8 head[256]; // first bytes, zero-padded
    struct elf_phdr phdr[ELF_PHDRS_MAX];
};

// The parts of a mapped file.
struct elf_image {
    u64 bias, entry;
    u64 phdr; // address of the program headers in memory, 0 when they are not mapped
    u64 low, high;
    u64 start_code, end_code, start_data, end_data;
    u64 brk; // end of the bss, not rounded
};

// Reads what is needed to load the file of fd (which stays open). Sets f->fd.
void elf_examine(struct elf_file *f, int fd);

// Called for every mapping that was made.
typedef void elf_note(u64 start, u64 end, u32 prot, bool anonymous);

// Maps an ELF_LOADABLE file: at its own address, or, when dynamic, at `hint` (aligned downwards),
// or where the kernel chooses if that is taken. 0, or -errno: then *why is half a sentence.
long elf_map(const struct elf_file *f, u64 hint, struct elf_image *image, elf_note *note,
             const char **why);

// One line of a script: `#!interp [argument]`.
struct elf_script {
    char interp[256];
    char argument[256];
    bool has_argument;
};

// Splits the first line as the kernel does. False: the kernel would return ENOEXEC.
bool elf_script_parse(const struct elf_file *f, struct elf_script *s);

#endif
