// SPDX-License-Identifier: MIT
//
// Reads .gnu_debugdata through libdwfl, which decompresses it. Called only for files with that
// section and without any .symtab.
#include "symbols/minidebug.h"

#include <elfutils/libdwfl.h>
#include <string.h>

static int no_file(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                   const char *file, const char *link, GElf_Word crc, char **debug_name)
{
    (void)mod, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
    *debug_name = NULL;
    return -1;
}

void minidebug_add(struct elfsym_table *t, struct strings *strings, const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = no_file, // already searched, without success
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *mod = dwfl ? dwfl_report_elf(dwfl, path, path, -1, 0, true) : NULL;

    if (mod) {
        dwfl_report_end(dwfl, NULL, NULL);
        int n = dwfl_module_getsymtab(mod);
        for (int i = 1; i < n; i++) {
            GElf_Sym sym;
            GElf_Word section;
            Elf *elf;
            Dwarf_Addr address, bias;
            const char *name =
                dwfl_module_getsym_info(mod, i, &sym, &address, &section, &elf, &bias);
            int type = GELF_ST_TYPE(sym.st_info);

            if (name && *name && section != SHN_UNDEF && sym.st_size &&
                (type == STT_FUNC || type == STT_GNU_IFUNC))
                elfsym_add_one(t, sym.st_value, sym.st_size,
                               strings->text[strings_add(strings, name, strlen(name))]);
        }
    }
    dwfl_end(dwfl);
}
