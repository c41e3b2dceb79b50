// SPDX-License-Identifier: MIT
//
// Fuzzer of spools, in the form of spool_form.h: the finisher's output for one, under the names
// of `quern recover`. It is a profile that reads back with the reported totals, or
// an error message; no name leaves the folder.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/end/end.h"
#include "finish/recover/recover_names.h"
#include "fuzz/spool_form.h"
#include "quern/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Without the disassembler.
int output_code(const struct spool_file *s, const struct output_files *files, char *err,
                size_t err_size)
{
    (void)s, (void)files, (void)err, (void)err_size;
    return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Large numbers have their own tests: here they would only take time.
static void bound(struct spool_header *h)
{
    h->text_used = least(h->text_used, 1 << 16);
    h->blocks_used = least(h->blocks_used, 1 << 18);
    h->counters_used = least(h->counters_used, 1 << 14);
    h->threads_used = least(h->threads_used, 4);
    h->edges_used = least(h->edges_used, 1 << 12);
    h->maps_used = least(h->maps_used, 1 << 10);
    h->partial_used = least(h->partial_used, 1 << 12);
    h->flags |= SPOOL_F_QUIET;
    h->flags &= ~(uint64_t)SPOOL_F_MERGE;
    h->s_symbol_cache = 0;
}

static bool put(int fd, const void *from, size_t n, uint64_t at)
{
    return pwrite(fd, from, n, (off_t)at) == (ssize_t)n;
}

static int make_spool(const uint8_t *data, size_t size)
{
    struct spool_header h = { .magic = SPOOL_MAGIC, .version = SPOOL_VERSION };
    int fd = memfd_create("spool", MFD_CLOEXEC);
    size_t n = size < FORM_SIZE ? size : FORM_SIZE;

    if (fd < 0)
        abort();
    memcpy((char *)&h + FORM_HEAD, data, n);
    bound(&h);
    // One byte of the state gives the length of the file.
    if (!put(fd, &h, sizeof(h), 0) ||
        ftruncate(fd, h.state & 0x100 ? (off_t)(SPOOL_THREADS_OFF + h.state * 64)
                                      : (off_t)(SPOOL_STACKS_OFF + SPOOL_STACKS_SIZE)) != 0)
        abort();
    for (data += n, size -= n; size > sizeof(struct spool_piece);) {
        struct spool_piece piece;

        memcpy(&piece, data, sizeof(piece));
        data += sizeof(piece);
        size -= sizeof(piece);
        n = least(piece.bytes, size);
        if (!put(fd, data, n, form_at(piece.area % FORM_AREAS) + piece.off % (1 << 20)))
            abort();
        data += n;
        size -= n;
    }
    return fd;
}

static void check_name(const char *name)
{
    if (name && (strchr(name, '/') || *name == '.' || strpbrk(name, "\n\r")))
        abort();
}

// The output must read back. Calls through linkage tables may claim more cost than
// their instructions have; then the totals differ.
static void check_profile(const char *path, const struct finish_totals *totals, bool calls)
{
    struct quern_error e = { 0 };
    struct quern_profile *p = quern_profile_read(path, NULL, &e);
    size_t ir = 0;

    if (!p)
        abort();
    while (ir < quern_profile_event_count(p) && strcmp(quern_profile_event_name(p, ir), "Ir") != 0)
        ir++;
    if (!calls && ir < quern_profile_event_count(p) &&
        (uint64_t)quern_profile_totals(p)[ir] != totals->counts[FINISH_IR])
        abort();
    quern_profile_free(p);
}

static void finish(struct spool_file *s)
{
    struct recover_spool r = { .path = "quern.spool.1", .name = "quern.spool.1" };
    struct recover_names names;
    struct finish_totals totals;
    char err[1024] = "";
    int rc = recover_names(s, &r, NULL, &names, err, sizeof(err));

    check_name(names.files.output);
    check_name(names.files.dump);
    check_name(names.files.code);
    check_name(names.files.facts);
    if (rc == 0)
        rc = profile_write(s, &names.files, &totals, err, sizeof(err));
    if (rc == 0 && !(s->h->flags & SPOOL_F_BY_THREAD))
        check_profile(names.files.output, &totals, s->h->flags & SPOOL_F_CALLS);
    if (rc != 0 && !err[0])
        abort();
    if (rc == 0) {
        FILE *f = fopen("summary", "w");

        summary_print(f, s->h, totals.counts);
        summary_json(f, s, names.files.output, totals.counts);
        fclose(f);
    }
    unlink(names.files.output);
    if (names.files.dump)
        unlink(names.files.dump);
    for (uint32_t slot = 0; slot < 4 && (s->h->flags & SPOOL_F_BY_THREAD); slot++) {
        char *name = output_names_thread(names.files.output, slot);

        unlink(name);
        free(name);
    }
    recover_names_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[] = "/dev/shm/quern-fuzz-spool.XXXXXX";
    static bool there;
    struct spool_file s;
    char err[1024] = "";
    int fd;

    if (!there && (!mkdtemp(folder) || chdir(folder) != 0))
        abort();
    there = true;
    fd = make_spool(data, size);
    if (spool_file_open(&s, fd, err, sizeof(err)) == 0) {
        finish(&s);
        spool_file_close(&s);
    } else if (!err[0]) {
        abort();
    }
    close(fd);
    return 0;
}
