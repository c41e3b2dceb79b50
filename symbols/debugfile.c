// SPDX-License-Identifier: MIT
//
// Finds separate debug files with libdwfl's standard search (build-id first, then .gnu_debuglink with its CRC,
// then debuginfod when DEBUGINFOD_URLS is set), and takes only the open file from it.
#include "symbols/debugfile.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// libdwfl calls it back with what it knows of the module. The found file goes to `found_fd`, the user data of the
// module; libdwfl itself is told that there is none, so that it does not read the file.
static int keep_file(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                     const char *file, const char *link, GElf_Word crc, char **debug_name)
{
    int *found_fd = *user;
    int fd = dwfl_standard_find_debuginfo(mod, user, name, base, file, link, crc, debug_name);

    if (fd >= 0 && *found_fd < 0)
        *found_fd = fd;
    else if (fd >= 0)
        close(fd);
    free(*debug_name);
    *debug_name = NULL;
    return -1;
}

int debugfile_open(const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = keep_file,
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *mod;
    int found_fd = -1;
    void **user;
    Dwarf_Addr bias;

    if (!dwfl)
        return -1;
    mod = dwfl_report_elf(dwfl, path, path, -1, 0, true);
    if (mod) {
        dwfl_module_info(mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
        *user = &found_fd;
        dwfl_report_end(dwfl, NULL, NULL);
        dwfl_module_getdwarf(mod, &bias);
    }
    dwfl_end(dwfl);
    return found_fd;
}
