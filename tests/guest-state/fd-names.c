// SPDX-License-Identifier: MIT
// Descriptors and names: the engine's descriptors are invisible, for every way to list or close
// them; /proc/self/exe in its spellings is this program.
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_close_range
#    define SYS_close_range 436
#endif

static int count_fds(int *highest)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;

    *highest = -1;
    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        if (atoi(e->d_name) != dirfd(d) && atoi(e->d_name) > *highest)
            *highest = atoi(e->d_name);
    }
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    char path[PATH_MAX], real[PATH_MAX], name[64];
    struct stat st, self;
    struct rlimit rl;
    int highest, fd, n;

    if (argc > 1) // executed by its own name
        return 55;
    syscall(SYS_close_range, 3, ~0u, 0); // descriptors that the runner has left open
    CHECK(realpath(argv[0], real));
    n = (int)readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(n > 0);
    path[n > 0 ? n : 0] = 0;
    CHECK(strcmp(path, real) == 0);
    snprintf(name, sizeof(name), "/proc/%d/exe", getpid());
    n = (int)readlink(name, path, sizeof(path));
    CHECK(n == (int)strlen(real) && memcmp(path, real, strlen(real)) == 0);
    n = (int)readlink("/proc/thread-self/exe", path, sizeof(path));
    CHECK(n == (int)strlen(real));
    memset(path, '#', sizeof(path));
    CHECK(readlink("/proc/self/exe", path, 5) == 5 && memcmp(path, real, 5) == 0 && path[5] == '#');
    CHECK(readlink("/proc/self/exe", path, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_readlink, "/proc/self/exe", 8, 100) == -1 && errno == EFAULT);
    fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
    n = (int)readlinkat(fd, "exe", path, sizeof(path));
    CHECK(n == (int)strlen(real) && memcmp(path, real, strlen(real)) == 0);
    close(fd);
    CHECK(stat(real, &self) == 0);
    CHECK(stat("/proc/self/exe", &st) == 0 && st.st_ino == self.st_ino && st.st_dev == self.st_dev);
    fd = open("/proc/self/exe", O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == self.st_ino);
    close(fd);
    CHECK(open("/proc/self/exe", O_WRONLY) == -1 && errno == ETXTBSY);
    CHECK(open("/proc/self/exe", O_RDONLY | O_NOFOLLOW) == -1 && errno == ELOOP);
    SAY("exe");

    count_fds(&highest);
    CHECK(highest == 2);
    fd = open("/dev/null", O_RDONLY);
    CHECK(fd == 3);
    CHECK(dup2(fd, 100) == 100);
    count_fds(&highest);
    CHECK(highest == 100);
    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
    count_fds(&highest);
    CHECK(highest == 2);
    CHECK(fcntl(3, F_GETFD) == -1 && errno == EBADF);
    CHECK(syscall(SYS_close_range, 5, 4, 0) == -1 && errno == EINVAL);
    SAY("close_range");

    // the old way: every number up to the limit
    getrlimit(RLIMIT_NOFILE, &rl);
    if (rl.rlim_cur > 65536)
        rl.rlim_cur = 65536;
    for (int i = 3; i < (int)rl.rlim_cur; i++) {
        errno = 0;
        if (close(i) != -1 || errno != EBADF) {
            SAY("descriptor %d was open", i);
            check_failed = 1;
        }
    }
    rl.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &rl) == 0);
    for (n = 3; n < 64; n++)
        CHECK(open("/dev/null", O_RDONLY) == n);
    CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    // with no descriptor left there is still a library to be found and translated, and a child to
    // be made
    CHECK(cos(0.5 + getpid() * 0.0) > 0.87);
    pid_t quiet = fork();
    if (quiet == 0)
        _exit(11);
    int ended;
    CHECK(waitpid(quiet, &ended, 0) == quiet && WEXITSTATUS(ended) == 11);
    for (n = 3; n < 64; n++)
        close(n);
    SAY("limits");

    pid_t pid = fork();
    if (pid == 0) {
        syscall(SYS_close_range, 3, ~0u, 0);
        execl("/proc/self/exe", "again", "again", (char *)NULL);
        _exit(99);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 55);
    SAY("exec of /proc/self/exe");
    return check_failed;
}
