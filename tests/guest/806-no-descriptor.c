// SPDX-License-Identifier: MIT
//
// A program without a free descriptor sees the same under /proc as natively: its own link
// leads to it, and numbers that it has not opened are missing.
//
// about: replay-split
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define NONE(call) CHECK((errno = 0, (call)) == -1 && errno == ENOENT)

static char own[4096];
static struct stat program;

static void link_leads_here(int folder, const char *link)
{
    char to[4096] = "";
    struct stat st;

    CHECK(readlinkat(folder, link, to, sizeof(to) - 1) > 0 && strcmp(to, own) == 0);
    CHECK(fstatat(folder, link, &st, 0) == 0 && st.st_ino == program.st_ino);
    CHECK(openat(folder, link, O_RDONLY) == -1 && errno == EMFILE);
}

int main(int argc, char **argv)
{
    int self = open("/proc/self", O_PATH | O_DIRECTORY);
    struct rlimit limit;
    struct stat st;
    char name[64];

    (void)argc;
    CHECK(realpath(argv[0], own) && stat(own, &program) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (open("/dev/null", O_RDONLY) >= 0)
        continue;
    CHECK(errno == EMFILE);
    link_leads_here(AT_FDCWD, "/proc/self/exe");
    link_leads_here(AT_FDCWD, "/proc/thread-self/exe");
    link_leads_here(self, "exe");
    for (int fd = 4078; fd < 4090; fd++) { // the engine's are among these
        snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
        NONE(access(name, F_OK));
        NONE(stat(name, &st));
        NONE(fstatat(self, strstr(name, "fdinfo"), &st, 0));
        snprintf(name, sizeof(name), "/proc/thread-self/fd/%d", fd);
        NONE(lstat(name, &st));
    }
    CHECK(stat("/proc/self/fdinfo/10", &st) == 0 && S_ISREG(st.st_mode));
    return check_failed;
}
