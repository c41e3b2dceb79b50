// SPDX-License-Identifier: MIT
// Starts the engine with a spool of its own making, without the checks that `quern run` makes
// first: as exec'd children do, and as a broken installation would. Usage: start [-m] [-v
// VERSION] [-r] [-s FD-TEXT] ENGINE PROGRAM [ARGV0 ARGS...] -m: wrong magic, -v: another version,
// -r: state RUNNING, -s: this text instead of the descriptor's number. --native is always set: the
// subject is loading.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "share/spool.h"

static struct spool_header *h;
static char *text;

static uint32_t add(const char *s)
{
    uint32_t at = (uint32_t)h->text_used;

    strcpy(text + at, s);
    h->text_used += strlen(s) + 1;
    return at;
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", *fd_text = NULL;
    char path[4096], number[16];
    uint64_t magic = SPOOL_MAGIC;
    uint32_t version = SPOOL_VERSION, state = SPOOL_NEW;
    int fd, c, n = 0;
    char **args;

    while ((c = getopt(argc, argv, "+mv:rs:")) != -1) {
        switch (c) {
        case 'm': magic++; break;
        case 'v': version = (uint32_t)atoi(optarg); break;
        case 'r': state = SPOOL_RUNNING; break;
        case 's': fd_text = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind < 2)
        return 2;
    snprintf(path, sizeof(path), "%s/quern.spool.start.%d", tmp, (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)(SPOOL_THREADS_OFF + SPOOL_THREAD_SIZE)) < 0) {
        perror(path);
        return 2;
    }
    h = mmap(NULL, SPOOL_MAPS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) {
        perror(path);
        return 2;
    }
    text = (char *)h + SPOOL_TEXT_OFF;
    h->magic = magic;
    h->version = version;
    h->state = state;
    h->flags = SPOOL_F_NATIVE;
    h->log_fd = 2;
    h->text_used = 1;
    h->s_program = add(argv[optind + 1]);
    h->s_engine = add(argv[optind]);
    h->s_spool = add(path);
    h->s_spool_dir = add(tmp);

    personality(ADDR_NO_RANDOMIZE);
    snprintf(number, sizeof(number), "%d", fd);
    args = calloc((size_t)argc + 3, sizeof(*args));
    args[n++] = argv[optind];
    args[n++] = fd_text ? (char *)(uintptr_t)fd_text : number;
    args[n++] = argv[optind + 1];
    for (int i = optind + 3; i < argc; i++)
        args[n++] = argv[i];
    if (optind + 2 < argc)
        args[2] = argv[optind + 2];
    execv(argv[optind], args);
    perror(argv[optind]);
    return 2;
}
