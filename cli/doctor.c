// SPDX-License-Identifier: MIT
//
// quern doctor: what this machine has that matters to Quern, and what to install or to change. A
// line for each item: "ok", "--" for what is absent and not needed, "no" for what a run or its
// profile needs; any "no" gives status 1. Changes nothing.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "cli/terminal/colour.h"
#include "share/spool.h"
#include "symbols/symbols.h"

enum verdict { GOOD, ABSENT, BAD };

struct doctor {
    bool bad;
};

static void say(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void say(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
{
    static const char *const words[] = { "ok", "--", "no" };
    static const enum colour colours[] = { COLOUR_BETTER, COLOUR_PLAIN, COLOUR_WORSE };
    va_list ap;

    d->bad |= v == BAD;
    colour_begin(stdout, colours[v]);
    text_put(stdout, words[v]);
    colour_end(stdout, colours[v]);
    text_print(stdout, "  %-16s", what);
    va_start(ap, fmt);
    text_vprint(stdout, fmt, ap);
    va_end(ap);
    putchar('\n');
}

// The value on the first line of a file that begins with `key` and a colon or equals sign, without
// quotes; to be freed. NULL: no such line.
static char *value_of(const char *path, const char *key)
{
    FILE *f = fopen(path, "re");
    size_t n = strlen(key), size = 0;
    char *line = NULL, *value = NULL;

    while (f && !value && getline(&line, &size, f) > 0) {
        char *s = line + n;

        if (strncmp(line, key, n) != 0)
            continue;
        s += strspn(s, " \t");
        if (*s != ':' && *s != '=')
            continue;
        s += 1 + strspn(s + 1, " \t\"");
        s[strcspn(s, "\"\n")] = '\0';
        value = xstrdup(s);
    }
    free(line);
    if (f)
        fclose(f);
    return value;
}

// ---- The processor ----

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *s = words; (s = strstr(s, word)); s++)
        if ((s == words || s[-1] == ' ') && (s[n] == ' ' || s[n] == '\0'))
            return true;
    return false;
}

static void processor(struct doctor *d)
{
    static const char info[] = "/proc/cpuinfo";
    char *name = value_of(info, "model name");
    char *family = value_of(info, "cpu family"), *model = value_of(info, "model");
    char *stepping = value_of(info, "stepping");

    if (!family) {
        say(d, BAD, "processor", "%s does not describe it; mount /proc", info);
        goto out;
    }
    if (!run_cpu_machine_has(CPU_LAHF)) {
        say(d, BAD, "processor",
            "%s lacks lahf_lm, which all others have had since 2006; nothing can be profiled here",
            name ? name : "it");
        goto out;
    }
    say(d, GOOD, "processor", "%s: %s, family %s, model %s, stepping %s", run_cpu_machine_level(),
        name ? name : "unknown", family, model ? model : "?", stepping ? stepping : "?");
out:
    free(name);
    free(family);
    free(model);
    free(stepping);
}

static void caches(struct doctor *d)
{
    struct run_caches c = { 0 };
    char *fits[3];
    char *sentence;

    run_cache_detect(&c);
    fits[0] = run_cache_fit(&c.i1.g, false, "I1");
    fits[1] = run_cache_fit(&c.d1.g, false, "D1");
    fits[2] = run_cache_fit(&c.ll.g, true, "LL");
    sentence = run_cache_sentence(&c);
    say(d, GOOD, "caches", "%s", sentence + strlen("Caches: "));
    for (int i = 0; i < 3; i++) {
        if (fits[i])
            say(d, ABSENT, "", "%s", fits[i]);
        free(fits[i]);
    }
    free(sentence);
}

// What --machine=native is.
static void machine(struct doctor *d)
{
    char *which, *messages[RUN_LEVELS];
    bool found = run_levels_native(&which, messages);

    say(d, found ? GOOD : ABSENT, "machine", "%s", which);
    free(which);
    for (int i = 0; i < RUN_LEVELS; i++) {
        if (messages[i])
            say(d, ABSENT, "", "%s", messages[i]);
        free(messages[i]);
    }
}

// ---- The kernel ----

static void addresses(struct doctor *d)
{
    int old = personality(0xffffffff);

    if (old < 0 || personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0) {
        say(d, BAD, "addresses",
            "cannot be fixed (%s): counts may vary from run to run; in a container, allow "
            "personality() in its seccomp profile",
            strerror(errno));
        return;
    }
    personality((unsigned long)old);
    say(d, GOOD, "addresses", "can be fixed: the same from run to run");
}

static bool make_sparse(int fd, char *why, size_t why_size)
{
    struct stat st;

    if (fd < 0 || ftruncate(fd, (off_t)(SPOOL_THREADS_OFF + SPOOL_THREAD_SIZE)) != 0 ||
        fstat(fd, &st) != 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return false;
    }
    if (st.st_blocks > 2048) {
        snprintf(why, why_size, "sparse files do not work (an empty one takes %lld KiB)",
                 (long long)st.st_blocks / 2);
        return false;
    }
    return true;
}

static void spools(struct doctor *d)
{
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char why[128];

    // A file system may lack O_TMPFILE.
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        char name[] = "quern.doctor.XXXXXX";

        fd = mkstemp(name);
        if (fd >= 0)
            unlink(name);
    }
    if (make_sparse(fd, why, sizeof(why)))
        say(d, GOOD, "counters here", "this folder can hold the sparse file for them");
    else
        say(d, BAD, "counters here",
            "this folder cannot hold a file for them: %s; --spool-dir= names another folder", why);
    if (fd >= 0)
        close(fd);
    fd = memfd_create("quern.doctor", MFD_CLOEXEC);
    if (make_sparse(fd, why, sizeof(why)))
        say(d, GOOD, "counters, stat", "can be in memory");
    else
        say(d, BAD, "counters, stat", "cannot be in memory: %s; `quern stat` cannot run", why);
    if (fd >= 0)
        close(fd);
}

static void kernel(struct doctor *d)
{
    struct utsname u;
    FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
    int overcommit = f ? getc(f) : EOF;

    uname(&u);
    say(d, GOOD, "kernel", "%s %s", u.sysname, u.release);
    if (f)
        fclose(f);
    if (overcommit == '2')
        say(d, BAD, "memory",
            "is not overcommitted (vm.overcommit_memory=2), but a run maps much that it never "
            "touches; set it to 0");
    addresses(d);
    spools(d);
}

static void engine(struct doctor *d)
{
    char *path = run_engine();

    if (path)
        say(d, GOOD, "engine", "%s", path);
    else
        say(d, BAD, "engine", "not found beside this program; set QUERN_ENGINE to its path");
    free(path);
}

// ---- Symbols ----

// Programs that generate code write their symbols there.
static void perf_map(struct doctor *d)
{
    struct stat st;

    if (stat("/tmp", &st) == 0 && S_ISDIR(st.st_mode) && access("/tmp", W_OK | X_OK) == 0)
        say(d, GOOD, "perf map", "programs that generate code can write /tmp/perf-PID.map");
    else
        say(d, ABSENT, "perf map",
            "/tmp is not a writable folder: programs that generate code cannot write perf-PID.map");
}

static bool debuginfod(struct doctor *d)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    void *lib = dlopen("libdebuginfod.so.1", RTLD_LAZY);

    if (lib)
        dlclose(lib);
    if (!urls || !*urls)
        say(d, ABSENT, "debuginfod", "not configured: DEBUGINFOD_URLS is not set");
    else if (!lib)
        say(d, BAD, "debuginfod", "configured (%s), but its library is not installed; %s", urls,
            "install libdebuginfod1 or elfutils-debuginfod-client");
    else
        say(d, GOOD, "debuginfod", "%s", urls);
    return urls && *urls && lib;
}

// How to install the debug information of libc, by the name of the distribution.
static const char *libc_package(const char *id, const char *like)
{
    static const struct {
        const char *id, *install;
    } known[] = {
        { "debian", "apt install libc6-dbg" },
        { "ubuntu", "apt install libc6-dbg" },
        { "fedora", "dnf debuginfo-install glibc" },
        { "rhel", "dnf debuginfo-install glibc" },
        { "centos", "dnf debuginfo-install glibc" },
        { "suse", "zypper install glibc-debuginfo" },
        { "opensuse", "zypper install glibc-debuginfo" },
        { "arch", "set DEBUGINFOD_URLS: its packages have none" },
        { "alpine", "apk add musl-dbg" },
    };

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
            const char *words = pass ? like : id;

            if (words && has_word(words, known[i].id))
                return known[i].install;
        }
    return "install the debug information of your libc";
}

// Has libc debug information? If so, the line of one of its functions is known.
static void libc_symbols(struct doctor *d, bool debuginfod_there)
{
    struct symbols_options so = { .no_demangle = true };
    struct symbols *symbols = symbols_new(&so);
    struct symbols_file file = { 0 };
    struct symbols_place at = { 0 };
    struct link_map *map = NULL;
    Dl_info info;
    uint64_t address;

    if (!symbols)
        die(UTIL_USAGE, "out of memory");
    if (!dladdr1((void *)(uintptr_t)abort, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
        !map->l_name[0]) {
        say(d, ABSENT, "symbols of libc", "the libc of this program was not found");
        goto out;
    }
    file.path = map->l_name;
    address = (uint64_t)(uintptr_t)abort - map->l_addr;
    symbols_find(symbols_file(symbols, &file), address, &at);
    if (at.line) {
        say(d, GOOD, "symbols of libc", "%s: functions and lines", map->l_name);
    } else {
        char *id = value_of("/etc/os-release", "ID");
        char *like = value_of("/etc/os-release", "ID_LIKE");

        say(d, debuginfod_there ? ABSENT : BAD, "symbols of libc", "%s: %s, no lines; %s",
            map->l_name, at.function ? "names of functions only" : "no names of functions",
            libc_package(id, like));
        free(id);
        free(like);
    }
out:
    symbols_free(symbols);
}

// ---- The command ----

static const struct option rows[] = {
    OPTIONS_HELP,
    OPTIONS_VERSION,
};

const struct options doctor_options_table = {
    .usage = "[options]",
    .about = "Checks what Quern needs on this machine, and says what to install or change.",
    .below = "Exit status: 0, or 1 when something is missing (\"no\").",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

int cmd_doctor(int argc, char **argv)
{
    struct doctor d = { false };
    char **operand = options_read(&doctor_options_table, options_command(argv[0]), &d, argc, argv);

    if (*operand)
        die(UTIL_USAGE, "%s: quern doctor takes no arguments", *operand);
    processor(&d);
    caches(&d);
    machine(&d);
    kernel(&d);
    engine(&d);
    perf_map(&d);
    libc_symbols(&d, debuginfod(&d));
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    return d.bad ? UTIL_NO : UTIL_OK;
}
