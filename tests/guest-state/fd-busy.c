// SPDX-License-Identifier: MIT
// The file of a running program cannot be opened for writing or truncated, by any name; reading
// and everything else works. The program runs on a copy of itself, so nothing is lost
// when that fails.
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int err(long ret)
{
    if (ret >= 0)
        close((int)ret);
    return ret < 0 ? errno : 0;
}

static void look(const char *self)
{
    struct open_how how = { .flags = O_RDWR };
    char link[64];
    struct stat before, after;
    int dir;

    snprintf(link, sizeof(link), "link.%d", (int)getpid());
    CHECK(symlink(self, link) == 0);
    CHECK(stat(self, &before) == 0);
    dir = open("/", O_PATH | O_DIRECTORY);
    SAY("open %d %d %d", err(open(self, O_WRONLY)), err(open(self, O_RDWR | O_APPEND)),
        err(open(self, O_RDONLY)));
    SAY("cut %d %d %d", err(open(self, O_WRONLY | O_TRUNC)), err(open(self, O_RDONLY | O_TRUNC)),
        err(open(self, O_WRONLY | O_CREAT | O_TRUNC, 0600)));
    SAY("create %d %d", err(open(self, O_WRONLY | O_CREAT | O_EXCL, 0600)), err(creat(self, 0600)));
    SAY("link %d %d", err(open(link, O_WRONLY)), err(open(link, O_WRONLY | O_NOFOLLOW)));
    SAY("exe %d %d", err(open("/proc/self/exe", O_RDWR)), err(open("/proc/self/exe", O_RDONLY)));
    SAY("at %d %d", err(openat(dir, self + 1, O_WRONLY)),
        err(syscall(SYS_openat2, dir, self + 1, &how, sizeof(how))));
    SAY("truncate %d %d", err(truncate(self, 0)), err(truncate(link, 100)));
    SAY("folder %d, path %d", err(open(self, O_WRONLY | O_DIRECTORY)),
        err(open(self, O_PATH | O_RDWR)));
    CHECK(stat(self, &after) == 0 && after.st_size == before.st_size);
    CHECK(unlink(link) == 0);
    close(dir);
}

int main(int argc, char **argv)
{
    char copy[4200], folder[4096];
    char *args[] = { copy, copy, NULL };
    int status = -1;
    pid_t pid;

    if (argc > 1) {
        look(argv[1]);
        return check_failed;
    }
    snprintf(folder, sizeof(folder), "%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(chdir(folder) == 0);
    snprintf(copy, sizeof(copy), "%s/fd-busy.%d", folder, (int)getpid());
    // The copy is made in this process: another one sees the engine behind /proc/PID/exe.
    {
        static char bytes[1 << 16];
        int from = open("/proc/self/exe", O_RDONLY), to = open(copy, O_WRONLY | O_CREAT, 0700);
        ssize_t n;

        while ((n = read(from, bytes, sizeof(bytes))) > 0)
            CHECK(write(to, bytes, (size_t)n) == n);
        close(from);
        close(to);
    }
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execv(copy, args);
        _exit(9);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(unlink(copy) == 0);
    return check_failed;
}
