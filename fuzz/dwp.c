// SPDX-License-Identifier: MIT
//
// Fuzzer of packages of split debug information: the input is one. Every unit that its index names
// is read, as a skeleton would have it, and walked for inlined calls and for members of variables.
// Most changes are made within a section, so that what remains is an ELF file.
#include <dwarf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dwp.h"
#include "symbols/fields.h"
#include "symbols/inlines.h"
#include "symbols/section.h"

enum { UNITS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static size_t seen; // makes every result count as used

static uint32_t name_of(void *ctx, Dwarf_Die *die, const char *scope)
{
    const char *name = dwarf_diename(die);

    (void)ctx;
    seen += name ? strlen(name) : 0;
    seen += scope ? strlen(scope) : 0;
    return 1;
}

static uint32_t file_of(void *ctx, Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;

    (void)ctx;
    seen += dwarf_attr_integrate(die, attribute, &attr) != NULL;
    return 1;
}

static void walk(Dwarf_Die *unit)
{
    const struct inlines_names names = { NULL, name_of, file_of };
    struct inlines *in = inlines_new(unit, &names);

    if (!in)
        abort();
    for (uint64_t at = 0x1000; at < 0x1400; at += 16) {
        const struct symbols_body *b = inlines_find(in, at);

        for (unsigned n = 0; b; b = b->outer)
            if (n++ > 1000)
                abort(); // a circle
    }
    inlines_free(in);
}

// Variables at all addresses, of several sizes; and several sets of offsets in each.
static void ask(Dwarf_Die *unit)
{
    static const uint64_t size[] = { 192, 64, 8 };
    static const uint64_t set[][3] = { { 0, 0, 0 }, { 4, 4, 0 }, { 9, 177, 24 }, { 0, 56, 4 } };
    enum { ADDRESSES = 64, SETS = 4 };

    for (unsigned i = 0; i < sizeof(size) / sizeof(*size); i++) {
        struct symbols_field field[ADDRESSES * SETS] = { 0 };
        struct fields f = { .field = field,
                            .count = ADDRESSES * SETS,
                            .open = ADDRESSES * SETS,
                            .open_inner = ADDRESSES * SETS,
                            .file = file_of };

        for (unsigned k = 0; k < ADDRESSES * SETS; k++) {
            field[k].start = 0x1000 + k / SETS * 16;
            field[k].size = size[i];
            field[k].inner = true;
            field[k].low = set[k % SETS][0];
            field[k].high = set[k % SETS][1];
            field[k].step = set[k % SETS][2];
        }
        fields_unit(&f, unit, false);
        fields_unit(&f, unit, true);
        for (unsigned k = 0; k < ADDRESSES * SETS; k++) {
            if (field[k].path && field[k].offset >= size[i])
                abort(); // behind the variable
            seen += field[k].path ? strlen(field[k].path) : 0;
            free(field[k].path);
        }
    }
}

// The ids of the units that the index names.
static size_t lineids_of(int fd, uint64_t *id)
{
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    struct section s = { 0 };
    size_t n = 0;

    if (elf && section_get(elf, ".debug_cu_index", &s))
        for (size_t at = 16; n < UNITS && at + 8 <= s.size; at += 8)
            memcpy(&id[n++], s.p + at, 8);
    section_fini(&s);
    elf_end(elf);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t addr[64];
    static uint64_t ranges[] = { 0, 16, 32, 64, 0, 0, UINT64_MAX, 0x1100, 1, 2, 0, 0 };
    struct dwp_skeleton s = { .low_pc = 0x1000,
                              .addr = (unsigned char *)addr,
                              .addr_size = sizeof(addr),
                              .ranges = (unsigned char *)ranges,
                              .ranges_size = sizeof(ranges) };
    uint64_t id[UNITS];
    const char *damage = NULL;
    int fd = memfd_create("package", MFD_CLOEXEC);

    for (size_t i = 0; i < sizeof(addr) / sizeof(*addr); i++)
        addr[i] = 0x1000 + 16 * i;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    elf_version(EV_CURRENT);
    size_t n = lineids_of(fd, id);
    struct dwp *p = dwp_new(fd, &damage);
    if (!p && !damage)
        abort();
    for (size_t i = 0; p && i < n; i++) {
        Dwarf_Die unit;

        s.id = id[i];
        damage = NULL;
        switch (dwp_unit(p, &s, &unit, &damage)) {
        case DWP_FOUND:
            walk(&unit);
            ask(&unit);
            break;
        case DWP_ABSENT: break;
        case DWP_DAMAGED:
            if (!damage)
                abort();
        }
    }
    dwp_free(p);
    close(fd);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    Elf64_Ehdr eh;
    Elf64_Shdr sh;

    if (size >= sizeof(eh) && seed % 16) {
        memcpy(&eh, data, sizeof(eh));
        for (unsigned tries = 0; eh.e_shnum && tries < 4; tries++) {
            uint64_t at = eh.e_shoff + (seed / 16 + tries) % eh.e_shnum * sizeof(sh);

            if (at > size || size - at < sizeof(sh))
                continue;
            memcpy(&sh, data + at, sizeof(sh));
            if (sh.sh_size && sh.sh_offset < size && sh.sh_size <= size - sh.sh_offset) {
                LLVMFuzzerMutate(data + sh.sh_offset, sh.sh_size, sh.sh_size);
                return size;
            }
        }
    }
    return LLVMFuzzerMutate(data, size, max);
}
