// SPDX-License-Identifier: MIT
// Prints the state in which the kernel started the program, as far as a program can see it, in a
// form that does not depend on addresses: the same text natively and under the engine. Compiled as
// static, static-pie, PIE and non-PIE by mk/engine.mk, run by tests/native/run.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;
extern const char _start[], _end[];

static char bss_page_tail[5000];      // reaches past a page
static int initialised[2000] = { 1 }; // the rest of its page is bss
static long slurp(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t n, done = 0;

    if (fd < 0)
        return -1;
    while ((n = read(fd, buf + done, size - (size_t)done)) > 0)
        done += n;
    close(fd);
    return done;
}

// Does /proc/self/<name> hold exactly [start, end)?
static void compare_proc(const char *name, const char *start, const char *end)
{
    static char buf[1 << 20];
    char path[64];
    long n;

    snprintf(path, sizeof(path), "/proc/self/%s", name);
    n = slurp(path, buf, sizeof(buf));
    printf("%s: %s\n", path,
           n == end - start && memcmp(buf, start, (size_t)n) == 0 ? "as in memory" : "DIFFERS");
}

static const char *mapping_of(uintptr_t addr, char *perms)
{
    static char line[512], name[256];
    unsigned long start, end;
    FILE *f = fopen("/proc/self/maps", "r");

    name[0] = 0;
    perms[0] = 0;
    while (f && fgets(line, sizeof(line), f)) {
        char p[8] = "";
        name[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %*x %*s %*u %255s", &start, &end, p, name) >= 3 &&
            addr >= start && addr < end) {
            strcpy(perms, p);
            break;
        }
        name[0] = 0;
    }
    fclose(f);
    return name;
}

static int phdr_callback(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    if (*(int *)data == 0)
        printf("first module has %d headers\n", info->dlpi_phnum);
    ++*(int *)data;
    return 0;
}

int main(int argc, char **argv)
{
    uintptr_t *sp = (uintptr_t *)argv - 1;
    ElfW(auxv_t) * aux;
    char **e, perms[8], buf[8192], comm[32] = "";
    const ElfW(Phdr) *phdr = NULL;
    size_t phnum = 0, n_env = 0;
    long n;
    int modules = 0;

    if (argc == 2 && strcmp(argv[1], "random") == 0) {
        const unsigned char *r = (const unsigned char *)getauxval(AT_RANDOM);
        for (int i = 0; i < 16; i++)
            printf("%02x", r[i]);
        printf("\n");
        return 42;
    }
    printf("argc %d, at the stack pointer %d, aligned %d\n", argc, (int)*sp,
           (int)((uintptr_t)sp % 16));
    for (int i = 0; i < argc; i++)
        printf("argv[%d] \"%s\"\n", i, argv[i]);
    printf("argv ends %d\n", argv[argc] == NULL);
    for (e = environ; *e; e++)
        n_env++;
    printf("environment of %zu behind argv %d\n", n_env, (char **)environ == argv + argc + 1);
    for (e = environ; *e; e++)
        printf("%s\n", *e);
    // Strings are consecutive: arguments, environment.
    for (int i = 0; i + 1 < argc; i++)
        if (argv[i] + strlen(argv[i]) + 1 != argv[i + 1])
            printf("argv[%d] is not followed by argv[%d]\n", i, i + 1);
    if (n_env && argc && argv[argc - 1] + strlen(argv[argc - 1]) + 1 != environ[0])
        printf("arguments are not followed by the environment\n");

    for (aux = (ElfW(auxv_t) *)(e + 1); aux->a_type != AT_NULL; aux++) {
        uintptr_t v = aux->a_un.a_val;
        switch (aux->a_type) {
        case AT_PHDR:
            phdr = (const ElfW(Phdr) *)v;
            printf("AT_PHDR in %s\n", mapping_of(v, perms));
            break;
        case AT_PHNUM:
            phnum = v;
            printf("AT_PHNUM %zu\n", phnum);
            break;
        case AT_BASE: printf("AT_BASE %s\n", v ? mapping_of(v, perms) : "0"); break;
        case AT_ENTRY: printf("AT_ENTRY is _start %d\n", v == (uintptr_t)_start); break;
        case AT_EXECFN: printf("AT_EXECFN \"%s\"\n", (const char *)v); break;
        case AT_RANDOM: printf("AT_RANDOM in %s\n", mapping_of(v, perms)); break;
        case AT_SYSINFO_EHDR:
            printf("AT_SYSINFO_EHDR in %s, ELF %d\n", mapping_of(v, perms),
                   memcmp((void *)v, "\177ELF", 4) == 0);
            break;
        case AT_PLATFORM: printf("AT_PLATFORM %s\n", (const char *)v); break;
        case 27:
        case 28: break; // AT_RSEQ_*: dropped by the engine, tested by `rseq`
        default: printf("auxv %lu = 0x%lx\n", (unsigned long)aux->a_type, (unsigned long)v);
        }
        if ((aux->a_type == 27 || aux->a_type == 28) && argc > 1 && strcmp(argv[1], "rseq") == 0)
            printf("AT_RSEQ present\n");
    }
    for (size_t i = 0; i < phnum; i++)
        if (phdr[i].p_type == PT_LOAD)
            printf("PT_LOAD %lx+%lx %x\n", (unsigned long)phdr[i].p_vaddr,
                   (unsigned long)phdr[i].p_memsz, phdr[i].p_flags);
    mapping_of((uintptr_t)sp, perms);
    printf("stack %s\n", perms);
    mapping_of((uintptr_t)bss_page_tail, perms);
    for (size_t i = 0; i < sizeof(bss_page_tail); i++)
        if (bss_page_tail[i])
            printf("bss is not zero\n");
    printf("bss %s, data %d\n", perms, initialised[0]);
    memset(bss_page_tail, 1, sizeof(bss_page_tail));

    compare_proc("cmdline", argv[0], argv[argc - 1] + strlen(argv[argc - 1]) + 1);
    compare_proc("environ", environ[0], environ[n_env - 1] + strlen(environ[n_env - 1]) + 1);
    compare_proc("auxv", (char *)(e + 1), (char *)(aux + 1));
    slurp("/proc/self/comm", comm, sizeof(comm) - 1);
    printf("comm %s", comm);
    memset(comm, 0, sizeof(comm));
    prctl(PR_GET_NAME, comm);
    printf("prctl name %s\n", comm);

    // /proc/self/stat: 26 startcode, 27 endcode, 28 startstack, 45 start_data, 46 end_data, 47
    // start_brk, 48-51 arg and env.
    n = slurp("/proc/self/stat", buf, sizeof(buf) - 1);
    buf[n > 0 ? n : 0] = 0;
    unsigned long f[64] = { 0 };
    int k = 3;
    char *at = strrchr(buf, ')');
    for (at = at ? at + 4 : buf; *at && k < 60; k++)
        f[k + 1] = strtoul(at, &at, 10);
    printf("main in code %d, stack start %d, data in data %d, args %d, env %d\n",
           (uintptr_t)main >= f[26] && (uintptr_t)main < f[27], f[28] == (uintptr_t)sp,
           (uintptr_t)initialised >= f[45] && (uintptr_t)initialised < f[46],
           f[48] == (uintptr_t)argv[0], f[50] == (uintptr_t)environ[0]);

    // The break: after the bss, in [heap], moves both ways, and a request that cannot be granted
    // leaves it alone.
    uintptr_t start = f[47], now = (uintptr_t)sbrk(0);
    // The kernel moves the break of a static PIE elsewhere; the engine leaves it there.
    if (!getenv("STATIC_PIE"))
        printf("break starts behind the bss %d, at most a page %d\n", start >= (uintptr_t)_end,
               start - (uintptr_t)_end < 4096);
    printf("break grows %d\n",
           sbrk(100 << 20) == (void *)now && (uintptr_t)sbrk(0) == now + (100ul << 20));
    *(volatile char *)(now + (100ul << 20) - 1) = 1;
    printf("break is %s\n", mapping_of(now + (50ul << 20), perms));
    sbrk(-(100 << 20));
    printf("break shrinks %d\n", (uintptr_t)sbrk(0) == now);
    printf("too much is refused %d\n",
           sbrk(0x7f0000000000) == (void *)-1 && (uintptr_t)sbrk(0) == now);

    dl_iterate_phdr(phdr_callback, &modules);
    printf("modules %d\n", modules);
    return 42;
}
