// SPDX-License-Identifier: MIT
// What the engine reads of ELF files besides loading them (process/elf.h): segments, sections and
// symbols of modules.
#ifndef QUERN_ENGINE_ELF64_H
#define QUERN_ENGINE_ELF64_H

#include "engine/base/types.h"

#define PT_LOAD         1
#define PF_X            1
#define PT_NOTE         4
#define PT_TLS          7
#define PT_GNU_EH_FRAME 0x6474e550
#define NT_GNU_BUILD_ID 3
#define SHT_SYMTAB      2
#define SHT_DYNSYM      11
#define SHF_EXECINSTR   4
#define SHF_TLS         0x400
#define STT_NOTYPE      0
#define STT_OBJECT      1
#define STT_FUNC        2
#define STT_TLS         6
#define STT_GNU_IFUNC   10

struct elf_head {
    u8 ident[16];
    u16 type, machine;
    u32 version;
    u64 entry, phoff, shoff;
    u32 flags;
    u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_segment {
    u32 type, flags;
    u64 offset, vaddr, paddr, filesz, memsz, align;
};

struct elf_section {
    u32 name, type;
    u64 flags, addr, offset, size;
    u32 link, info;
    u64 addralign, entsize;
};

struct elf_symbol {
    u32 name;
    u8 info, other;
    u16 shndx;
    u64 value, size;
};

#endif
