// SPDX-License-Identifier: MIT
//
// What libquern does without memory, descriptors, disk space or a thread: each call that can fail
// is made to fail, one at a time, in everything that the library does. It ends with an error that
// says so, leaves no block, no descriptor and no half-written file; afterwards the same operation
// succeeds. tests/faults/inject.c counts the calls of our own objects only: a loop ends when the
// call that was to fail no longer occurs.
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tests/faults/inject.h"
#include "tests/unit/profile/text.h"

static char folder[] = "/tmp/quern-faults-XXXXXX";
static char target[64]; // a file in it

// ---- The library's operations, each 0 or -errno, with its message in `err` ----

static struct quern_error err;
static const char *input; // a readable file
static struct quern_profile *one, *other;

static int failed(void)
{
    return errno ? -errno : -1;
}

static int do_read(void)
{
    struct quern_profile *p = quern_profile_read(input, NULL, &err);

    if (!p)
        return failed();
    quern_profile_free(p);
    return 0;
}

static int do_read_mem(void)
{
    static const char text[] = "version: 1\nevents: Ir\nfl=a\nfn=f\n1 1\n";
    struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "text", NULL, &err);

    if (!p)
        return failed();
    quern_profile_free(p);
    return 0;
}

static int do_write_callgrind(void)
{
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CALLGRIND };

    return quern_profile_write(one, target, &o, &err);
}

static int do_write_in_order(void)
{
    struct quern_write_opts o = { .sz = sizeof(o),
                                  .format = QUERN_FORMAT_CALLGRIND,
                                  .keep_order = 1 };

    return quern_profile_write(one, target, &o, &err);
}

static int do_write_cachegrind(void)
{
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CACHEGRIND };

    return quern_profile_write(one, target, &o, &err);
}

static int do_costs(void)
{
    struct quern_costs *c = quern_costs_new(one);

    if (!c)
        return failed();
    quern_costs_free(c);
    return 0;
}

static int do_cursor(void)
{
    struct quern_cursor *c = quern_cursor_new(one);

    if (!c)
        return failed();
    quern_cursor_free(c);
    return 0;
}

static int do_merge(void)
{
    struct quern_merger *m = quern_merger_new(), *n = quern_merger_new();
    struct quern_profile *p = NULL;
    int rc = m && n ? quern_merger_add(m, one, "one", &err) : -ENOMEM;

    if (rc == 0 && (rc = quern_merger_add(n, other, "other", &err)) == 0 &&
        (rc = quern_merger_join(m, n, &err)) == 0 && !(p = quern_merger_take(m, &err)))
        rc = failed();
    quern_merger_free(m);
    quern_merger_free(n);
    quern_profile_free(p);
    return rc;
}

static unsigned threads = 1; // with more, the number of calls varies

static int do_merge_files(void)
{
    const char *const paths[] = { input, input, input };
    struct quern_merge_opts o = { .sz = sizeof(o), .threads = threads };
    struct quern_profile *p = quern_profile_merge_files(paths, 3, &o, &err);

    if (!p)
        return failed();
    quern_profile_free(p);
    return 0;
}

static int do_subtract(void)
{
    for (int by_func = 0; by_func < 2; by_func++) {
        struct quern_profile *p = quern_profile_subtract(one, other, by_func, &err);
        if (!p)
            return failed();
        quern_profile_free(p);
    }
    return 0;
}

static int do_append(void)
{
    struct quern_profile *p = quern_profile_new();
    int rc = -ENOMEM;

    if (p && (rc = quern_profile_append(p, "p", one, "one", &err)) == 0)
        rc = quern_profile_append(p, "p", other, "other", &err);
    quern_profile_free(p);
    return rc;
}

static int do_rewrite(void)
{
    struct quern_rewrite *r = quern_rewrite_new("s/a(.)/b$1/g", &err);
    struct quern_profile *p = r ? quern_profile_rewrite(one, r, r, &err) : NULL;
    int rc = p ? 0 : failed();

    quern_rewrite_free(r);
    quern_profile_free(p);
    return rc;
}

// Every call of building; the header's fields show in its names.
static int do_build(void)
{
    static const char *const events[] = { "Ir", "Bc", "Bcm" };
    struct quern_profile *p = quern_profile_new();
    int rc = -ENOMEM;
    uint32_t f = QUERN_NONE, s = QUERN_NONE;

    if (!p)
        return rc;
    if ((rc = quern_profile_set_events(p, events, 3)) < 0 ||
        (rc = quern_profile_define_event(p, "CEst", "Ir + 10 Bcm", "Cycles")) < 0 ||
        (rc = quern_profile_define_event(p, "Bc", NULL, "Branches")) < 0 ||
        (rc = quern_profile_set_cmd(p, "./x")) < 0 ||
        (rc = quern_profile_set_creator(p, "quern")) < 0 ||
        (rc = quern_profile_add_desc(p, "I1 cache", "none")) < 0)
        goto out;
    rc = -ENOMEM;
    if ((s = quern_profile_string(p, "x.c", -1)) == QUERN_NONE ||
        (f = quern_profile_func(p, s, s, s)) == QUERN_NONE)
        goto out;
    struct quern_site at = { .func = f, .file = s, .line = 1 };
    if ((rc = quern_profile_add_cost(p, &at, (uint64_t[]){ 1, 2, 3 }, 3)) < 0 ||
        (rc = quern_profile_add_call(p, &at, f, 1, 2, 3, (uint64_t[]){ 4 }, 1)) < 0 ||
        (rc = quern_profile_add_jump(p, &at, &at, 5, 4)) < 0 ||
        (rc = quern_profile_begin_part(p)) < 0)
        goto out;
    rc = quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1);
out:
    quern_profile_free(p);
    return rc;
}

// ---- One call at a time ----

static void tidy(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    unsigned files = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        files += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(files, 1); // the target; a second one would be half a file
}

// The content of the target, which the caller frees.
static char *contents(void)
{
    FILE *f = fopen(target, "r");
    char *text = NULL;
    size_t room = 0;

    assert_non_null(f);
    if (getdelim(&text, &room, 0, f) < 0)
        fail_msg("%s is empty", target);
    fclose(f);
    return text;
}

// Makes each call of the kind fail, alone and with all that follow. Returns the number of calls.
static long fail_each(const char *what, int (*act)(void), enum inject_kind kind, int error)
{
    // These are, or begin with, operations that return no message.
    bool says = act != do_costs && act != do_cursor && act != do_merge && act != do_build &&
                act != do_append;
    long n;

    memset(&err, 0, sizeof(err));
    inject_begin(kind, 0, 0, false);
    int rc = act();
    if (rc != 0)
        fail_msg("%s: %s %s", what, err.msg, strerror(-rc));
    assert_int_equal(inject.blocks, 0);
    assert_int_equal(inject.descriptors, 0);
    long calls = inject.calls[kind];
    for (int on = 0; on < 2; on++)
        for (n = 1;; n++) {
            memset(&err, 0, sizeof(err));
            errno = 0;
            inject_begin(kind, n, error, on);
            rc = act();
            struct inject was = inject;
            inject_end();
            if (!was.hit)
                break;
            if (rc != -error || (says && !err.msg[0]) || (err.msg[0] && err.code != error))
                fail_msg("%s: call %ld of kind %d: %d, code %d, '%s'", what, n, kind, rc, err.code,
                         err.msg);
            if (was.blocks || was.descriptors)
                fail_msg("%s: call %ld of kind %d: %ld blocks, %ld descriptors left", what, n, kind,
                         was.blocks, was.descriptors);
            tidy();
        }
    inject_end();
    assert_int_equal(n - 1, calls);
    return calls;
}

static const char *const inputs[] = {
    "calls.callgrind",
    "calls.callgrind.gz",
    "calls.callgrind.zst",
    "parts.callgrind",
    "jumps.callgrind",
    "rounded.callgrind",
    "inline.callgrind",
    "name-compression.callgrind",
    "simple.cachegrind",
    "sparse-ids.callgrind",
    "cut-off.callgrind",
    "fault-cut-call.callgrind",
    "position-compression.callgrind",
    "event-names.callgrind",
    "tabs.callgrind",
    "all-positions.callgrind",
    "ruby-prof.callgrind",
    "orbuculum.callgrind",
    "diff.cachegrind",
};

#define EACH_INPUT(path) \
    for (size_t i_ = 0; i_ < sizeof(inputs) / sizeof(*inputs) && golden(path, inputs[i_]); i_++)

static bool golden(char path[64], const char *name)
{
    snprintf(path, 64, "tests/golden/%s", name);
    input = path;
    return true;
}

static void test_memory_of_reading(void **state)
{
    char path[64];

    (void)state;
    EACH_INPUT(path)
    assert_true(fail_each(path, do_read, INJECT_MEMORY, ENOMEM) > 10);
    assert_true(fail_each("text", do_read_mem, INJECT_MEMORY, ENOMEM) > 10);
}

static void test_memory_of_writing(void **state)
{
    char path[64];

    (void)state;
    EACH_INPUT(path)
    {
        one = quern_profile_read(path, NULL, NULL);
        char *before = contents();
        fail_each(path, do_write_callgrind, INJECT_MEMORY, ENOMEM);
        fail_each(path, do_write_in_order, INJECT_MEMORY, ENOMEM);
        free(before);
        quern_profile_free(one);
    }
    golden(path, "simple.cachegrind");
    one = quern_profile_read(path, NULL, NULL);
    fail_each(path, do_write_cachegrind, INJECT_MEMORY, ENOMEM);
    quern_profile_free(one);
}

static void test_memory_of_sums(void **state)
{
    char path[64];

    (void)state;
    EACH_INPUT(path)
    {
        one = quern_profile_read(path, NULL, NULL);
        other = quern_profile_read(path, NULL, NULL);
        fail_each("costs", do_costs, INJECT_MEMORY, ENOMEM);
        fail_each("cursor", do_cursor, INJECT_MEMORY, ENOMEM);
        fail_each("merge", do_merge, INJECT_MEMORY, ENOMEM);
        fail_each("merge files", do_merge_files, INJECT_MEMORY, ENOMEM);
        fail_each("subtract", do_subtract, INJECT_MEMORY, ENOMEM);
        fail_each("append", do_append, INJECT_MEMORY, ENOMEM);
        fail_each("rewrite", do_rewrite, INJECT_MEMORY, ENOMEM);
        quern_profile_free(one);
        quern_profile_free(other);
    }
}

static void test_memory_of_building(void **state)
{
    (void)state;
    fail_each("build", do_build, INJECT_MEMORY, ENOMEM);
}

// Opens a file and reads it to its end: 2 reads of a small one, because the end is read once.
static void test_reading(void **state)
{
    char path[64];

    (void)state;
    EACH_INPUT(path)
    {
        assert_int_equal(fail_each(path, do_read, INJECT_OPEN, EMFILE), 1);
        assert_int_equal(fail_each(path, do_read, INJECT_READ, EIO), 2);
    }
}

// Writes a file beside the target, with one write, and renames it.
static void test_writing(void **state)
{
    char path[64];
    struct stat st;

    (void)state;
    golden(path, "calls.callgrind");
    one = quern_profile_read(path, NULL, NULL);
    assert_int_equal(do_write_callgrind(), 0);
    char *before = contents();
    quern_profile_free(one);
    golden(path, "parts.callgrind");
    one = quern_profile_read(path, NULL, NULL);
    static const struct {
        enum inject_kind kind;
        int error;
    } faults[] = { { INJECT_OPEN, EMFILE }, { INJECT_WRITE, ENOSPC }, { INJECT_RENAME, EACCES } };
    for (size_t i = 0; i < 3; i++) {
        inject_begin(faults[i].kind, 1, faults[i].error, false);
        assert_int_equal(do_write_callgrind(), -faults[i].error);
        assert_true(inject.hit);
        inject_end();
        tidy();
        char *after = contents();
        assert_string_equal(before, after);
        free(after);
        assert_int_equal(fail_each(path, do_write_callgrind, faults[i].kind, faults[i].error), 1);
        // fail_each() let it succeed once; restore the target.
        FILE *f = fopen(target, "w");
        assert_int_equal(fwrite(before, 1, strlen(before), f), strlen(before));
        fclose(f);
    }
    assert_int_equal(stat(target, &st), 0);
    quern_profile_free(one);
    free(before);
}

// A folder in place of a file: it is opened, and no descriptor stays.
static void test_folder(void **state)
{
    (void)state;
    memset(&err, 0, sizeof(err));
    inject_begin(INJECT_READ, 0, 0, false);
    assert_null(quern_profile_read(folder, NULL, &err));
    assert_int_equal(errno, EISDIR);
    assert_int_equal(err.code, EISDIR);
    assert_int_equal(inject.descriptors, 0);
    assert_int_equal(inject.blocks, 0);
    assert_int_equal(inject.calls[INJECT_READ], 0);
    inject_end();
}

// More than the buffer of 128 KiB, stored without compression, so that it is filled repeatedly:
// 20,000 lines of 1.
static void test_large_compressed(void **state)
{
    enum { LINES = 20000 };
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "%s/large.gz", folder);
    gzFile f = gzopen(path, "wb0");
    gzprintf(f, "version: 1\nevents: Ir\nfl=a\nfn=f\n");
    for (int i = 1; i <= LINES; i++)
        gzprintf(f, "1%05d99 1\n", i);
    assert_int_equal(gzclose(f), Z_OK);
    for (int mode = INJECT_WHOLE; mode <= INJECT_EINTR; mode += INJECT_EINTR) {
        inject_transfer((enum inject_mode)mode);
        struct quern_profile *p = quern_profile_read(path, NULL, &err);
        inject_end();
        assert_non_null(p);
        assert_int_equal(total(p, 0), LINES);
        assert_int_equal(quern_profile_diag_count(p), 0);
        quern_profile_free(p);
    }
    remove(path);
}

// One byte at a time, and each transfer interrupted first: same profile, same file.
static void test_transfers(void **state)
{
    char path[64];

    (void)state;
    EACH_INPUT(path)
    {
        one = quern_profile_read(path, NULL, NULL);
        assert_int_equal(do_write_in_order(), 0);
        char *whole = contents();
        quern_profile_free(one);
        for (int mode = INJECT_SHORT; mode <= INJECT_EINTR; mode++) {
            inject_transfer((enum inject_mode)mode);
            one = quern_profile_read(path, NULL, &err);
            assert_non_null(one);
            assert_true(inject.hit);
            assert_int_equal(do_write_in_order(), 0);
            inject_end();
            char *again = contents();
            assert_string_equal(whole, again);
            free(again);
            quern_profile_free(one);
        }
        free(whole);
    }
}

// 2 threads, the first is this one: it is not an error if the other cannot start.
static void test_threads(void **state)
{
    char path[64];

    (void)state;
    golden(path, "calls.callgrind");
    threads = 2;
    inject_begin(INJECT_THREAD, 1, EAGAIN, true);
    assert_int_equal(do_merge_files(), 0);
    assert_true(inject.hit);
    assert_int_equal(inject.calls[INJECT_THREAD], 1);
    inject_end();
    threads = 1;
}

// The header is that of the first file, even if a thread other than the first read it.
static void test_first_file(void **state)
{
    char path[2][64];
    const char *const paths[] = { path[0], path[1] };
    struct quern_merge_opts o = { .sz = sizeof(o), .threads = 2 };
    struct quern_part part;

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%d", folder, i);
        FILE *f = fopen(path[i], "w");
        fprintf(f, "version: 1\ncmd: run %d\nevents: Ir\nfl=a\nfn=f\n1 1\n", i);
        fclose(f);
    }
    inject_thread_first();
    struct quern_profile *p = quern_profile_merge_files(paths, 2, &o, &err);
    inject_end();
    assert_non_null(p);
    quern_profile_part(p, 0, &part);
    assert_string_equal(part.cmd, "run 0");
    assert_int_equal(total(p, 0), 2);
    quern_profile_free(p);
    remove(path[0]);
    remove(path[1]);
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(target, sizeof(target), "%s/out", folder);
    one = quern_profile_read("tests/golden/calls.callgrind", NULL, NULL);
    int rc = do_write_callgrind();
    quern_profile_free(one);
    return rc;
}

static int end(void **state)
{
    (void)state;
    remove(target);
    return remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_of_reading), cmocka_unit_test(test_memory_of_writing),
        cmocka_unit_test(test_memory_of_sums),    cmocka_unit_test(test_memory_of_building),
        cmocka_unit_test(test_reading),           cmocka_unit_test(test_writing),
        cmocka_unit_test(test_transfers),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_first_file),        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_large_compressed),
    };
    return cmocka_run_group_tests_name("profile faults", tests, begin, end);
}
