// SPDX-License-Identifier: MIT
//
// Finds the program as execvp does, and refuses with a message what cannot be profiled: a folder, a
// 32-bit or foreign program, a truncated one, one whose interpreter is missing or that changes the
// user. Called by run.c before anything is created; the engine checks again what it loads.
#include "cli/run/run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/base/util.h"

// The kernel follows this many #! lines.
enum { SCRIPT_DEPTH_MAX = 5 };

static char *check(const char *path, int depth);

static char *foreign(const Elf64_Ehdr *h, const char *path)
{
    if (h->e_ident[EI_CLASS] == ELFCLASS32) {
        // e_machine has the same offset in both classes.
        if (h->e_machine == EM_386)
            return xasprintf("%s: a 32-bit program; only 64-bit x86-64 programs can be profiled",
                             path);
        if (h->e_machine == EM_X86_64)
            return xasprintf("%s: an x32 program; only 64-bit x86-64 programs can be profiled",
                             path);
    }
    if (h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64 ||
        h->e_ident[EI_CLASS] != ELFCLASS64)
        return xasprintf(
            "%s: a program for another machine (ELF machine %u); only x86-64 programs can "
            "be profiled",
            path,
            h->e_ident[EI_DATA] == ELFDATA2MSB ? __builtin_bswap16(h->e_machine) : h->e_machine);
    return NULL;
}

static char *check_interpreter(const char *path, const char *interp)
{
    struct stat st;
    char *fault, *whole;

    if (stat(interp, &st) != 0)
        return xasprintf("%s: its interpreter %s: %s", path, interp, strerror(errno));
    fault = check(interp, SCRIPT_DEPTH_MAX);
    if (!fault)
        return NULL;
    whole = xasprintf("%s: its interpreter cannot be used: %s", path, fault);
    free(fault);
    return whole;
}

// The interpreter's name, in memory of its own; NULL, and *fault says why.
static char *read_interpreter(int fd, const Elf64_Phdr *ph, const char *path, char **fault)
{
    char *interp;

    if (ph->p_filesz < 2 || ph->p_filesz > 4096) {
        *fault = xasprintf("%s: the name of its interpreter has %llu bytes", path,
                           (unsigned long long)ph->p_filesz);
        return NULL;
    }
    interp = xcalloc(1, ph->p_filesz + 1);
    if (pread(fd, interp, ph->p_filesz, (off_t)ph->p_offset) == (ssize_t)ph->p_filesz)
        return interp;
    *fault = xasprintf("%s: the name of its interpreter cannot be read", path);
    free(interp);
    return NULL;
}

static char *check_segments(int fd, const Elf64_Phdr *ph, int n, uint64_t size, const char *path,
                            char **interp, bool *load)
{
    for (int i = 0; i < n; i++) {
        char *fault = NULL;

        if (ph[i].p_type != PT_LOAD && ph[i].p_type != PT_INTERP)
            continue;
        if (ph[i].p_offset > size || ph[i].p_filesz > size - ph[i].p_offset)
            return xasprintf(
                "%s: a truncated ELF file: segment %d ends at offset %llu, the file has %llu "
                "bytes",
                path, i, (unsigned long long)(ph[i].p_offset + ph[i].p_filesz),
                (unsigned long long)size);
        if (ph[i].p_type == PT_LOAD)
            *load = true;
        else if (!*interp && !(*interp = read_interpreter(fd, &ph[i], path, &fault)))
            return fault;
    }
    return NULL;
}

static char *check_elf(int fd, const Elf64_Ehdr *h, size_t got, uint64_t size, const char *path)
{
    char *fault;
    Elf64_Phdr *ph;
    char *interp = NULL;
    bool load = false;

    if (got < sizeof(Elf32_Ehdr))
        return xasprintf("%s: a truncated ELF file: the header ends after %zu bytes", path, got);
    fault = foreign(h, path);
    if (fault)
        return fault;
    if (got < sizeof(*h))
        return xasprintf("%s: a truncated ELF file: the header ends after %zu bytes", path, got);
    if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
        return xasprintf("%s: an ELF file that is not a program (ELF type %u); link it first", path,
                         h->e_type);
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0)
        return xasprintf("%s: an ELF file without program headers", path);
    if (h->e_phoff > size || (uint64_t)h->e_phnum * sizeof(*ph) > size - h->e_phoff)
        return xasprintf(
            "%s: a truncated ELF file: program headers at offset %llu, the file has %llu "
            "bytes",
            path, (unsigned long long)h->e_phoff, (unsigned long long)size);
    ph = xcalloc(h->e_phnum, sizeof(*ph));
    if (pread(fd, ph, h->e_phnum * sizeof(*ph), (off_t)h->e_phoff) !=
        (ssize_t)(h->e_phnum * sizeof(*ph))) {
        fault = xasprintf("%s: the program headers cannot be read", path);
        goto out;
    }
    fault = check_segments(fd, ph, h->e_phnum, size, path, &interp, &load);
    if (fault)
        goto out;
    if (!load)
        fault = xasprintf("%s: an ELF file without a loadable segment", path);
    else if (interp)
        fault = check_interpreter(path, interp);
out:
    free(interp);
    free(ph);
    return fault;
}

// #! line: blanks, interpreter, blanks, one optional argument. `line` is what was read of it,
// NUL-terminated.
static char *check_script(char *line, const char *path, int depth)
{
    char *p = line + 2;
    char *end = strchr(p, '\n');
    struct stat st;
    char *fault, *whole;

    if (end)
        *end = '\0';
    p += strspn(p, " \t\r");
    p[strcspn(p, " \t")] = '\0';
    if (!*p)
        return xasprintf("%s: its first line is #! without an interpreter", path);
    if (depth >= SCRIPT_DEPTH_MAX)
        return xasprintf("%s: more than %d #! interpreters in sequence", path, SCRIPT_DEPTH_MAX);
    if (stat(p, &st) != 0)
        return xasprintf("%s: its interpreter %s: %s", path, p, strerror(errno));
    fault = check(p, depth + 1);
    if (!fault)
        return NULL;
    whole = xasprintf("%s: its interpreter cannot be used: %s", path, fault);
    free(fault);
    return whole;
}

// Text without a #! line: the kernel refuses it, a shell executes it itself.
static bool is_plain_text(const char *buf, size_t n)
{
    return memchr(buf, '\0', n) == NULL;
}

// NULL: can be executed; else a message: why not.
static char *check(const char *path, int depth)
{
    char buf[512] = { 0 };
    Elf64_Ehdr h;
    struct stat st;
    char *fault = NULL;
    ssize_t got;
    int fd;

    if (stat(path, &st) != 0)
        return xasprintf("%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return xasprintf("%s: a folder, not a program", path);
    if (!S_ISREG(st.st_mode))
        return xasprintf("%s: not a regular file", path);
    if (access(path, X_OK) != 0)
        return xasprintf("%s: not executable (%s); chmod +x may help", path, strerror(errno));
    if (st.st_mode & (S_ISUID | S_ISGID))
        return xasprintf(
            "%s: a %s program; it would run without the rights it expects, so it is not "
            "profiled; a copy without that mode bit can be",
            path, st.st_mode & S_ISUID ? "setuid" : "setgid");
    if (getxattr(path, "security.capability", NULL, 0) > 0)
        return xasprintf("%s: a program with file capabilities; it would run without the rights it "
                         "expects, so it is not profiled; a copy without them can be",
                         path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == EMFILE)
        run_die_descriptors("program");
    if (fd < 0)
        return xasprintf("%s: cannot be read (%s); a program must be readable to be profiled", path,
                         strerror(errno));
    while ((got = read(fd, buf, sizeof(buf) - 1)) < 0 && errno == EINTR)
        ;
    if (got < 0) {
        fault = xasprintf("%s: %s", path, strerror(errno));
    } else if (got >= 4 && memcmp(buf, ELFMAG, SELFMAG) == 0) {
        memcpy(&h, buf, sizeof(h));
        fault = check_elf(fd, &h, (size_t)got, (uint64_t)st.st_size, path);
    } else if (got >= 2 && buf[0] == '#' && buf[1] == '!') {
        fault = check_script(buf, path, depth);
    } else if (depth == 0 && is_plain_text(buf, (size_t)got)) {
        fault = NULL; // run_program_find hands it to the shell
    } else {
        fault = xasprintf("%s: neither an ELF program nor a script", path);
    }
    close(fd);
    return fault;
}

char *run_program_fault(const char *path)
{
    return check(path, 0);
}

static bool needs_shell(const char *path)
{
    char buf[4] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

    if (fd >= 0)
        close(fd);
    return got >= 0 && memcmp(buf, ELFMAG, SELFMAG) != 0 && memcmp(buf, "#!", 2) != 0;
}

// As execvp: the first candidate that can be executed. One that cannot (a folder, no permission) is
// remembered for the message while the search continues.
static char *search(const char *name)
{
    const char *path = getenv("PATH");
    char standard[256];
    char *seen = NULL;

    if (!path) {
        if (confstr(_CS_PATH, standard, sizeof(standard)) == 0)
            return NULL;
        path = standard;
    }
    for (;;) {
        size_t n = strcspn(path, ":");
        char *candidate = n ? xasprintf("%.*s/%s", (int)n, path, name) : xasprintf("./%s", name);
        struct stat st;

        if (stat(candidate, &st) == 0) {
            if (S_ISREG(st.st_mode) && access(candidate, X_OK) == 0) {
                free(seen);
                return candidate;
            }
            if (!seen) {
                seen = candidate;
                candidate = NULL;
            }
        }
        free(candidate);
        if (!path[n])
            return seen;
        path += n + 1;
    }
}

struct run_program run_program_find(char **argv)
{
    struct run_program p = { NULL, argv };
    const char *name = argv[0];
    char *found, *cwd, *fault;
    struct stat st;

    if (!*name)
        die(UTIL_NOTFOUND, "the name of the program is empty");
    if (strchr(name, '/')) {
        if (stat(name, &st) != 0)
            die(errno == ENOENT || errno == ENOTDIR ? UTIL_NOTFOUND : UTIL_CANNOT, "%s: %s", name,
                strerror(errno));
        found = xstrdup(name);
    } else {
        found = search(name);
        if (!found)
            die(UTIL_NOTFOUND, "%s: not found in PATH", name);
    }
    fault = run_program_fault(found);
    if (fault)
        die(UTIL_CANNOT, "%s", fault);
    cwd = util_cwd();
    p.path = util_absolute(cwd, found);
    if (needs_shell(found)) {
        // As execvp, runs with the shell what the kernel does not know.
        size_t n = 0;

        while (argv[n])
            n++;
        p.argv = xcalloc(n + 2, sizeof(*p.argv));
        p.argv[0] = xstrdup("/bin/sh");
        p.argv[1] = found;
        memcpy(p.argv + 2, argv + 1, n * sizeof(*argv));
        free(p.path);
        p.path = xstrdup("/bin/sh");
    } else {
        free(found);
    }
    free(cwd);
    return p;
}
