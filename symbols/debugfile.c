// SPDX-License-Identifier: MIT
//
// Finds separate debug files: build-id first, then .gnu_debuglink with its checksum in the places
// that gdb's manual lists, then debuginfod when DEBUGINFOD_URLS is set.
//
// libdwfl's own search is used only for the last: it loads libdebuginfod and libcurl for every file
// that has no debug file, with or without servers, and inflates what it finds; together 40 ms of a
// run of /bin/true.
#include "symbols/debugfile.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols/memory.h"

#define DEBUG_ROOT "/usr/lib/debug"

bool debugfile_is_odd(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

// A program may name anything: opening a pipe would block. *odd: the first path that is not a
// regular file.
static int open_regular(const char *path, char **odd)
{
    struct stat st;
    int fd = -1;

    if (debugfile_is_odd(path)) {
        if (!*odd)
            *odd = memory_got(strdup(path));
        return -1;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

struct id_path {
    char text[sizeof(DEBUG_ROOT) + 160];
};

// The path of a build-id's debug file. False: not a build-id.
static bool path_of_id(struct id_path *path, const unsigned char *id, ssize_t n)
{
    const size_t room = sizeof(path->text);

    if (n < 2 || n > 64)
        return false;
    int len = snprintf(path->text, room, DEBUG_ROOT "/.build-id/%02x/", id[0]);
    for (ssize_t i = 1; i < n; i++)
        len += snprintf(path->text + len, room - (size_t)len, "%02x", id[i]);
    snprintf(path->text + len, room - (size_t)len, ".debug");
    return true;
}

static int open_build_id(Elf *elf, struct debugfile_watch *w)
{
    const void *id;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &id);
    struct id_path path;

    if (!path_of_id(&path, id, n))
        return -1;
    w->look(w->ctx, path.text);
    return open_regular(path.text, &w->odd);
}

// The checksum tells that the file belongs to the program; one with the same name may be older or
// newer.
static int open_checked(const char *path, GElf_Word crc, char **odd)
{
    int fd = open_regular(path, odd);
    bool same = false;

    if (fd < 0)
        return -1;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            same = crc32_z(0, map, (size_t)st.st_size) == crc;
            munmap(map, (size_t)st.st_size);
        } else if (errno == ENOMEM) {
            memory_lacks();
        }
    }
    if (same)
        return fd;
    close(fd);
    return -1;
}

// The path without symbolic links; if the file is gone, that of its folder with its name.
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL), *folder, *whole = NULL;
    const char *slash = strrchr(path, '/');

    if (real || errno != ENOENT || !slash)
        return real;
    folder = strndup(path, (size_t)(slash - path) + 1);
    real = folder ? realpath(folder, NULL) : NULL;
    if (real && asprintf(&whole, "%s%s", real[1] ? real : "", slash) < 0)
        whole = NULL;
    free(folder);
    free(real);
    return whole;
}

static int open_link(const char *path, Elf *elf, struct debugfile_watch *w)
{
    static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s" };
    GElf_Word crc;
    const char *name = dwelf_elf_gnu_debuglink(elf, &crc);
    if (name && strchr(name, '/')) // must be a file name, not a path
        name = NULL;
    char *real = real_path(path);
    if (!real && errno == ENOMEM)
        memory_lacks();
    const char *slash = real ? strrchr(real, '/') : NULL;
    int fd = -1;

    for (size_t i = 0; name && slash && fd < 0 && i < sizeof(forms) / sizeof(*forms); i++) {
        char *candidate;

        if (asprintf(&candidate, forms[i], (int)(slash - real), real, name) < 0) {
            memory_lacks();
            break;
        }
        // A debug link may name the file itself.
        if (strcmp(candidate, real) != 0) {
            w->look(w->ctx, candidate);
            fd = open_checked(candidate, crc, &w->odd);
        }
        free(candidate);
    }
    free(real);
    return fd;
}

static int keep_file(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                     const char *file, const char *link, GElf_Word crc, char **debug_name)
{
    int *found_fd = *user;
    int fd = dwfl_standard_find_debuginfo(mod, user, name, base, file, link, crc, debug_name);

    if (fd >= 0 && *found_fd < 0)
        *found_fd = dup(fd);
    return fd;
}

// Whatever libdwfl finds, including a server's answer.
static int open_with_dwfl(const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = keep_file,
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    int found_fd = -1;
    void **user;
    Dwarf_Addr bias;

    if (!dwfl)
        return -1;
    Dwfl_Module *mod = dwfl_report_elf(dwfl, path, path, -1, 0, true);
    if (mod) {
        dwfl_module_info(mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
        *user = &found_fd;
        dwfl_report_end(dwfl, NULL, NULL);
        dwfl_module_getdwarf(mod, &bias);
    }
    dwfl_end(dwfl);
    return found_fd;
}

int debugfile_open(const char *path, Elf *elf, struct debugfile_watch *w)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    int fd = open_build_id(elf, w);

    if (fd < 0)
        fd = open_link(path, elf, w);
    w->asked = fd < 0 && servers && *servers;
    if (w->asked)
        fd = open_with_dwfl(path);
    return fd;
}

int debugfile_open_alt(const char *path, const char *name, const void *id, size_t id_size,
                       char **odd)
{
    char *real = *name == '/' ? NULL : real_path(path), *whole = NULL;
    const char *slash = real ? strrchr(real, '/') : NULL;
    struct id_path by_id;
    int fd = -1;

    if (*name == '/')
        fd = open_regular(name, odd);
    else if (slash && asprintf(&whole, "%.*s/%s", (int)(slash - real), real, name) >= 0)
        fd = open_regular(whole, odd);
    if (fd < 0 && path_of_id(&by_id, id, (ssize_t)id_size))
        fd = open_regular(by_id.text, odd);
    free(whole);
    free(real);
    return fd;
}

__attribute__((format(printf, 2, 3))) static void add_place(char **place, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(place, fmt, ap) < 0) {
        *place = NULL;
        memory_lacks();
    }
    va_end(ap);
}

int debugfile_open_package(const char *program, const char *path, char **found, char **odd)
{
    enum { PLACES = 5 };
    char *real, *place[PLACES] = { NULL };
    int fd = -1;

    *found = NULL;
    if (*program != '/') // an invented name
        return -1;
    real = real_path(program);
    add_place(&place[0], "%s.dwp", program);
    if (*path)
        add_place(&place[1], "%s.dwp", path);
    if (real) {
        add_place(&place[2], "%s.dwp", real);
        add_place(&place[3], DEBUG_ROOT "%s.dwp", real);
        add_place(&place[4], DEBUG_ROOT "%s.dwp", strrchr(real, '/'));
    }
    for (unsigned i = 0; i < PLACES; i++) {
        if (fd < 0 && place[i] && (fd = open_regular(place[i], odd)) >= 0)
            *found = place[i];
        else
            free(place[i]);
    }
    free(real);
    return fd;
}
