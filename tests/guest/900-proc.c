// SPDX-License-Identifier: MIT
//
// What the kernel shows a program of itself: the links and files of /proc/self, the auxiliary
// vector, the name, descriptors, the break, the stack, limits.
// varies: its id has three digits to five, also in the name of the spool in /proc/self/maps
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

extern char **environ;
extern char _start[], __executable_start[], end[];

static void names(char **argv)
{
    char path[4096], link[4096], file[65536], name[32], *base, fdpath[64];
    struct stat self, exe;
    ssize_t n, at = 0;
    int fd;

    CHECK(realpath(argv[0], path) != NULL);
    n = readlink("/proc/self/exe", link, sizeof(link) - 1);
    CHECK(n > 0);
    link[n > 0 ? n : 0] = '\0';
    CHECK(!strcmp(path, link));
    snprintf(fdpath, sizeof(fdpath), "/proc/%d/exe", (int)getpid());
    CHECK(readlink(fdpath, link, 4) == 4 && !memcmp(link, path, 4)); // truncated, without a final 0
    fd = open("/proc/self/exe", O_RDONLY);
    CHECK(fd >= 0 && read(fd, file, 4) == 4 && !memcmp(file, ELFMAG, 4));
    CHECK(fstat(fd, &exe) == 0 && stat(path, &self) == 0 && exe.st_ino == self.st_ino);
    close(fd);

    fd = open("/proc/self/cmdline", O_RDONLY);
    n = read(fd, file, sizeof(file));
    for (int i = 0; argv[i]; i++) {
        CHECK(at < n && !strcmp(file + at, argv[i]));
        at += (ssize_t)strlen(argv[i]) + 1;
    }
    CHECK(at == n);
    close(fd);
    fd = open("/proc/self/environ", O_RDONLY);
    n = read(fd, file, sizeof(file));
    at = 0;
    for (int i = 0; environ[i]; i++) {
        CHECK(at < n && !strcmp(file + at, environ[i]));
        at += (ssize_t)strlen(environ[i]) + 1;
    }
    CHECK(at == n);
    close(fd);

    base = strrchr(path, '/') + 1;
    CHECK(prctl(PR_GET_NAME, name) == 0 && !strncmp(name, base, 15));
}

static void auxiliary(char **argv)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
    uint64_t bias = (uint64_t)(uintptr_t)__executable_start;
    int loads = 0;

    CHECK(getauxval(AT_ENTRY) == (unsigned long)_start);
    CHECK((uintptr_t)p > bias && getauxval(AT_PHENT) == sizeof(*p));
    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
        loads += p[i].p_type == PT_LOAD;
    CHECK(loads >= 2 && loads < 10);
    CHECK(!strcmp((char *)getauxval(AT_EXECFN), argv[0]));
    CHECK(getauxval(AT_PAGESZ) == 4096 && getauxval(AT_RANDOM) && getauxval(AT_BASE));
    CHECK(getauxval(AT_UID) == getuid() && getauxval(AT_SECURE) == 0);
    CHECK((getauxval(AT_BASE) & 4095) == 0 && !memcmp((void *)getauxval(AT_BASE), ELFMAG, 4));
}

static int lowest_free(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void descriptors(void)
{
    DIR *d;
    struct rlimit old, few;
    struct dirent *e;
    int n = 0;

    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0); // descriptors that our parent left open
    d = opendir("/proc/self/fd");
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            n++;
    closedir(d);
    CHECK(n == 4); // 0, 1, 2 and the directory
    CHECK(lowest_free() == 3);
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    few = old;
    few.rlim_cur = 5;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0 && getrlimit(RLIMIT_NOFILE, &few) == 0 &&
          few.rlim_cur == 5);
    CHECK(dup(0) == 3 && dup(0) == 4 && dup(0) == -1 && errno == EMFILE);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    for (int fd = 3; fd < 1024; fd++)
        close(fd); // as daemons do
    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
    CHECK(lowest_free() == 3);
    CHECK(fcntl(500, F_GETFD) == -1 && errno == EBADF);
    CHECK(close(-1) == -1 && errno == EBADF);
}

static void memory(void)
{
    char *b = sbrk(0), *p;
    char line[512];
    int found_self = 0, found_stack = 0;
    FILE *f;

    CHECK(b >= end);
    CHECK(sbrk(100000) == b);
    memset(b, 7, 100000);
    CHECK(sbrk(0) == b + 100000);
    CHECK(sbrk(-100000) == b + 100000 && sbrk(0) == b);
    CHECK(sbrk((intptr_t)1 << 46) == (void *)-1 && errno == ENOMEM && sbrk(0) == b);
    p = malloc(64 << 20);
    CHECK(p != NULL);
    memset(p, 1, 64 << 20);
    free(p);
    p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK(p != MAP_FAILED && (uintptr_t)p >> 32 == 0);
    munmap(p, 1 << 20);
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
          errno == EINVAL);
    CHECK(munmap((void *)1, 4096) == -1 && errno == EINVAL);

    f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), f)) {
        unsigned long a, z;

        CHECK(sscanf(line, "%lx-%lx", &a, &z) == 2 && a < z);
        found_self |= a <= (unsigned long)(uintptr_t)memory && (unsigned long)(uintptr_t)memory < z;
        found_stack |= strstr(line, "[stack]") && a <= (unsigned long)(uintptr_t)line &&
                       (unsigned long)(uintptr_t)line < z;
    }
    fclose(f);
    CHECK(found_self && found_stack);
}

__attribute__((noinline)) static int deep(int n)
{
    volatile char room[16384];

    room[n & 1023] = 1;
    return n ? deep(n - 1) + room[n & 1023] : 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    names(argv);
    auxiliary(argv);
    descriptors();
    memory();
    CHECK(deep(300) == 300); // 4.8 MB of stack
    return check_failed;
}
