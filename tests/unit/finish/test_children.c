// SPDX-License-Identifier: MIT
//
// finish/profile/children.c, children_merge.c and fallback.c: files in a folder of the test's own.
// The profile of a process is one line of counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finish/profile/profile.h"

static char folder[] = "/tmp/quern-unit-XXXXXX";
static struct spool_header header;
static struct spool_file spool;
static struct output_files files;
static struct finish_totals totals;
static char err[512];
static const char *text; // the spool's
static const char *now;  // where the spool is
static bool gone, fails;
static char messages[1024];

// ---- Stand-ins ----

const char *spool_file_text(const struct spool_file *s, uint32_t offset)
{
    (void)s;
    return offset ? text + offset : NULL;
}

const char *spool_path_now(const char *path, int fd)
{
    (void)path, (void)fd;
    return now;
}

bool spool_path_is_gone(int fd)
{
    (void)fd;
    return gone;
}

char *output_names_thread(const char *output, uint32_t slot)
{
    char *name;

    assert_true(asprintf(&name, "%s-%02u", output, slot + 1) > 0);
    return name;
}

// 10 instructions, 3 damaged records.
int profile_write(struct spool_file *s, const struct output_files *to, struct finish_totals *t,
                  char *why, size_t size)
{
    FILE *f = fails ? NULL : fopen(to->output, "w");

    (void)s;
    if (!f) {
        snprintf(why, size, "%s: refused", to->output);
        return -1;
    }
    fprintf(f, "cmd: mine\nevents: Ir\nfl=a.c\nfn=f\n1 10\nsummary: 10\n");
    fclose(f);
    *t = (struct finish_totals){ .counts = { [FINISH_IR] = 10 }, .bad_records = 3 };
    return 0;
}

// ---- Files ----

static void put(const char *name, const char *content)
{
    FILE *f = fopen(name, "w");

    fputs(content, f);
    fclose(f);
}

static void child(const char *name, int ir)
{
    char content[128];

    snprintf(content, sizeof(content), "cmd: %s\nevents: Ir\nfl=a.c\nfn=f\n1 %d\nsummary: %d\n",
             name, ir, ir);
    put(name, content);
}

static const char *content(const char *name)
{
    static char is[1024];
    FILE *f = fopen(name, "r");

    memset(is, 0, sizeof(is));
    if (!f)
        return NULL;
    (void)!fread(is, 1, sizeof(is) - 1, f);
    fclose(f);
    return is;
}

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/quern-unit-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0 || mkdir("tree", 0700) != 0)
        return -1;
    header = (struct spool_header){ .flags = SPOOL_F_MERGE, .pid = 7, .tree_pid = 7 };
    spool = (struct spool_file){ .h = &header };
    files = (struct output_files){ .output = (char *)(uintptr_t) "out",
                                   .tree = (char *)(uintptr_t) "tree" };
    memset(&totals, 0, sizeof(totals));
    err[0] = '\0';
    fails = gone = false;
    text = "";
    now = NULL;
    return 0;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return chdir("/") != 0 || system(command);
}

static int write_children(void)
{
    return children_write(&spool, &files, &totals, err, sizeof(err));
}

// ---- Tests ----

// The first process adds those of the others in the order of their numbers, 8-10 before 10-2, under
// its own header. Other names are of files that are being written.
static void test_root(void **state)
{
    (void)state;
    child("tree/8-10", 100);
    child("tree/10-2", 1000);
    child("tree/.10-3.tmp", 5000);
    assert_int_equal(write_children(), 0);
    assert_string_equal(content("out"), "cmd: mine\nevents: Ir\nfl=a.c\nfn=f\n1 1110\n"
                                        "summary: 1110\n");
    assert_int_equal(totals.counts[FINISH_IR], 1110);
    assert_int_equal(totals.bad_records, 3);
    assert_int_equal(access("tree", F_OK), -1);
    assert_int_equal(access("tree.closed", F_OK), -1);
}

// Another process leaves its own there.
static void test_child(void **state)
{
    (void)state;
    header.pid = 8;
    assert_false(children_is_root(&spool));
    assert_int_equal(write_children(), 0);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(totals.counts[FINISH_IR], 10);
    header.flags = 0;
    assert_true(children_is_root(&spool));
    files.tree = NULL;
    assert_int_equal(write_children(), -1);
    assert_string_equal(err, "the spool does not say where profiles are collected");
}

// One that cannot be read: all stay where they are, without the first one's own.
static void test_damaged(void **state)
{
    (void)state;
    child("tree/8-1", 100);
    put("tree/9-1", "no profile\n");
    put("out", "old");
    assert_int_equal(write_children(), -1);
    assert_non_null(strstr(err, "tree.closed/9-1"));
    assert_string_equal(content("out"), "old");
    assert_int_equal(access("tree/8-1", F_OK), 0);
    assert_int_equal(access("tree/9-1", F_OK), 0);
    assert_int_equal(access("tree.closed", F_OK), -1);
    assert_int_equal(system("test \"$(ls tree | wc -l)\" -eq 2"), 0);
}

// The others' sum is written already: added to it, renamed if it is gone, refused if it is no file.
static void test_late(void **state)
{
    (void)state;
    rmdir("tree");
    header.pid = 8;
    child("out", 100);
    assert_int_equal(write_children(), 0);
    assert_string_equal(content("out"),
                        "cmd: out\nevents: Ir\nfl=a.c\nfn=f\n1 110\nsummary: 110\n");
    assert_int_equal(totals.counts[FINISH_IR], 110);
    assert_int_equal(totals.bad_records, 3);
    assert_int_equal(system("test \"$(ls)\" = out"), 0);
    unlink("out");
    assert_int_equal(write_children(), 0);
    assert_string_equal(content("out"), "cmd: mine\nevents: Ir\nfl=a.c\nfn=f\n1 10\nsummary: 10\n");
    assert_int_equal(totals.counts[FINISH_IR], 10);
    assert_int_equal(system("test \"$(ls)\" = out"), 0);
    unlink("out");
    mkdir("out", 0700);
    assert_int_equal(write_children(), -1);
    assert_string_equal(err, "out: nothing can be added to a pipe or a device");
    assert_int_equal(system("test \"$(ls)\" = out"), 0);
}

// Not late, but not written either.
static void test_refused(void **state)
{
    (void)state;
    fails = true;
    child("tree/8-1", 100);
    assert_int_equal(write_children(), -1);
    assert_non_null(strstr(err, ": refused"));
    assert_int_equal(access("tree/8-1", F_OK), 0);
    assert_int_equal(access("out", F_OK), -1);
}

// With what messages were printed.
static bool falls_back(void)
{
    int old = dup(STDERR_FILENO), fd = open("messages", O_RDWR | O_CREAT | O_TRUNC, 0600);
    bool ok;

    dup2(fd, STDERR_FILENO);
    ok = fallback_write(&spool, &files, &totals, "why");
    dup2(old, STDERR_FILENO);
    close(old);
    memset(messages, 0, sizeof(messages));
    assert_true(pread(fd, messages, sizeof(messages) - 1, 0) >= 0);
    close(fd);
    unlink("messages");
    return ok;
}

// The output's folder is gone, and so is the spool's first place: beside the spool, under the name
// or with the process's number; if both are taken, in the folder of the start.
static void test_fallback(void **state)
{
    char words[256], beside[128], start[128];

    (void)state;
    snprintf(beside, sizeof(beside), "%s/a/spool", folder);
    snprintf(start, sizeof(start), "%s/b", folder);
    snprintf(words, sizeof(words), "%c%s", '\0', start);
    memcpy(words + 1, start, strlen(start) + 1);
    words[0] = '\0';
    text = words;
    header.s_cwd = 1;
    mkdir("a", 0700);
    mkdir("b", 0700);
    files.output = (char *)(uintptr_t) "nowhere/out";
    now = beside;
    assert_true(falls_back());
    assert_string_equal(content("a/out"),
                        "cmd: mine\nevents: Ir\nfl=a.c\nfn=f\n1 10\nsummary: 10\n");
    assert_non_null(strstr(messages, "why; what was counted is written elsewhere\n"));
    assert_non_null(strstr(messages, "the profile is in "));
    assert_non_null(strstr(messages, "/a/out\n"));
    assert_true(falls_back());
    assert_int_equal(access("a/out.7", F_OK), 0);
    assert_true(falls_back());
    assert_int_equal(access("b/out", F_OK), 0);
    // Several threads: the first one's name is taken, too.
    unlink("b/out");
    put("b/out-01", "");
    header.flags = SPOOL_F_BY_THREAD;
    assert_true(falls_back());
    assert_int_equal(access("b/out.7", F_OK), 0);
    assert_non_null(strstr(messages, "the profiles are in "));
    assert_non_null(strstr(messages, "/b/out.7-01 and on\n"));
}

// Nothing is written elsewhere while the output's folder is there, or the spool has a name of which
// nothing is known, or is where it was.
static void test_no_fallback(void **state)
{
    (void)state;
    now = "/other";
    assert_false(falls_back());
    assert_string_equal(messages, "");
    files.output = (char *)(uintptr_t) "nowhere/out";
    now = NULL;
    assert_false(falls_back());
    text = "\0/spool";
    header.s_spool = 1;
    now = text + 1;
    assert_false(falls_back());
    // It has no name any more, and no other folder takes the profile.
    now = NULL;
    gone = fails = true;
    assert_false(falls_back());
    assert_non_null(strstr(messages, "written elsewhere"));
    assert_null(strstr(messages, "is in"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_root, begin, end),
        cmocka_unit_test_setup_teardown(test_child, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged, begin, end),
        cmocka_unit_test_setup_teardown(test_late, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_fallback, begin, end),
        cmocka_unit_test_setup_teardown(test_no_fallback, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
