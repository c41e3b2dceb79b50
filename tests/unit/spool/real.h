// SPDX-License-Identifier: MIT
//
// A real spool of this process, in its own folder, for tests in their own process (alone.h).
#include <fcntl.h>
#include <string.h>

#include "engine/base/nolibc.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler_priv.h"

static char folder[] = "/tmp/quern-spools.XXXXXX";
static char path[300];

static inline int real_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chmod(folder, 0777))
        return -1;
    snprintf(path, sizeof(path), "%s/quern.spool.1", folder);
    return 0;
}

static inline int real_teardown(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

// The file, as `quern run` makes it, with `text` bytes of strings.
static inline int real_file(u64 flags, u64 text)
{
    struct spool_header h = { .magic = SPOOL_MAGIC, .version = SPOOL_VERSION, .pid = 1 };
    char strings[1000] = "";
    u64 at = 1;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);

    h.flags = flags;
    h.log_fd = 2;
    h.s_spool = (uint32_t)at;
    at += (u64)sprintf(strings + at, "%s", path) + 1;
    h.s_spool_dir = (uint32_t)at;
    at += (u64)sprintf(strings + at, "%s", folder) + 1;
    h.s_desc = (uint32_t)at;
    at += (u64)sprintf(strings + at, "desc: old") + 1;
    h.text_used = text ? text : at;
    CHECK(fd >= 0 && pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
    CHECK(pwrite(fd, strings, sizeof(strings), SPOOL_TEXT_OFF) == sizeof(strings));
    return fd;
}

static inline void real_begin(u64 flags)
{
    int fd = real_file(flags, 0);

    spooler_map(fd);
    fds_init(fd, 2);
    spool->state = SPOOL_RUNNING;
}

static inline void in_file(const char *name, void *buf, size_t n, u64 off)
{
    int fd = open(name, O_RDONLY);

    CHECK(fd >= 0 && pread(fd, buf, n, (off_t)off) == (ssize_t)n);
    close(fd);
}

static inline struct spool_header header_of(const char *name)
{
    struct spool_header h;

    in_file(name, &h, sizeof(h), 0);
    return h;
}

static inline u64 *counters(u32 slot)
{
    return slotmem_counters(slot);
}

static inline u64 counter_in(const char *name, u32 slot, u64 counter)
{
    u64 v;

    in_file(name, &v, 8, spool_counters_at(slot) + counter * 8);
    return v;
}

// Messages go to a pipe. Returns the messages so far, without "==PID== ".
static int said[2];

static inline void listen_to(void)
{
    CHECK(pipe(said) == 0 && fcntl(said[0], F_SETFL, O_NONBLOCK) == 0);
    engine_log_fd = said[1];
    engine_check_log = NULL;
}

static inline bool has_said(const char *text)
{
    static char buf[5000];
    ssize_t n = read(said[0], buf, sizeof(buf) - 1);
    const char *is = "";

    if (n > 0) {
        buf[n] = '\0';
        is = strstr(buf, "== ") ? strstr(buf, "== ") + 3 : buf;
    }
    if (strcmp(is, text) != 0)
        dprintf(STDOUT_FILENO, "# said: %s\n", is);
    return strcmp(is, text) == 0;
}

// The messages of body, which must end with the engine's status.
static inline bool dies_saying(void (*body)(void), const char *text)
{
    int status;

    listen_to();
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == ENGINE_DIE_STATUS << 8);
    return has_said(text);
}
