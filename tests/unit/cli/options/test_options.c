// SPDX-License-Identifier: MIT
//
// Every form of an option, and every way to get one wrong: what is read, the exact message, the
// exit status. A command line is read in a child, since wrong usage ends the process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/options/options.h"

// Memory of a child that ends early is not a leak.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

struct target {
    bool set, yes, no;
    uint64_t flags;
    uint32_t choice, words;
    const char *text;
    struct option_list list, dirs;
    uint64_t number, limited;
    double percent;
    size_t called;
};

static void call(void *field, const struct option *o, const char *value)
{
    *(size_t *)field += strlen(o->name) * 100 + strlen(value);
}

#define FIELD(f) .field = offsetof(struct target, f)

// clang-format off
static const struct option rows[] = {
    { .kind = OPTION_HEADING, .help = "First" },
    { "--set", NULL, "sets", OPTION_SET, FIELD(set) },
    { "--no-set", NULL, "clears", OPTION_CLEAR, FIELD(set) },
    { "--yes", "=yes|no", "yes is true", OPTION_YES, FIELD(yes) },
    { "--no", "=yes|no", "no is true", OPTION_NO, FIELD(no) },
    { "--yes", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(yes) },
    { "-b", NULL, NULL, OPTION_SET, FIELD(flags), .bits = 1 },
    { "--bit", NULL, "bit 0", OPTION_SET, FIELD(flags), .bits = 1 },
    { "--bits", "=yes|no", "bit 1", OPTION_NO, FIELD(flags), .bits = 2 },
    { "--second", "=one|other", "bit 2", OPTION_CHOICE, FIELD(flags), .bits = 4 },
    { .kind = OPTION_HEADING, .help = "Second" },
    { "--tree", "=none|caller|calling|both", "one of four", OPTION_CHOICE, FIELD(choice) },
    { "--by", "=function,edge,line", "any of three", OPTION_WORDS, FIELD(words) },
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(text) },
    { "--output", "=OUT", "a text that is so long that its line must be broken where a word ends, "
      "at column 100", OPTION_TEXT, OPTION_APART, FIELD(text) },
    { "--only", "=TEXT", "not apart", OPTION_TEXT, FIELD(text) },
    { "--fail-if", "=LIMIT", "a list", OPTION_LIST, OPTION_APART, FIELD(list) },
    { "-I", " DIR", "a list, attached", OPTION_LIST, OPTION_ATTACHED, FIELD(dirs) },
    { "--context", "=N", "any number", OPTION_NUMBER, FIELD(number), .max = UINT64_MAX },
    { "--threads", "=N", "from 1 to 64", OPTION_NUMBER, FIELD(limited), .min = 1, .max = 64 },
    { "--threshold", "=N", "percent", OPTION_PERCENT, FIELD(percent) },
    { "--function-of-this-test", "=X", "called", OPTION_CALL, FIELD(called), .call = call },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

static const struct options table = { "[options] FILE...",          "About.", "Below.", rows,
                                      sizeof(rows) / sizeof(*rows), false };
static const struct options leading = {
    "PROGRAM", "About.", NULL, rows, sizeof(rows) / sizeof(*rows), true
};

// The words of a line, separated by single blanks; '' is an empty one.
static int split(char *line, char **argv)
{
    static char name[] = "test", empty[] = "";
    int argc = 0;

    argv[argc++] = name;
    for (char *s = strtok(line, " "); s; s = strtok(NULL, " "))
        argv[argc++] = strcmp(s, "''") == 0 ? empty : s;
    argv[argc] = NULL;
    return argc;
}

static char line_text[512];
static char *line_argv[32];

static char **read_line(const struct options *set, struct target *t, const char *line)
{
    int argc;

    *t = (struct target){ 0 };
    snprintf(line_text, sizeof(line_text), "%s", line);
    argc = split(line_text, line_argv);
    return options_read(set, "quern test", t, argc, line_argv);
}

// The command line ends its process with this status after this output.
static void ends(const char *line, int status, int fd, const char *expected)
{
    char text[4096];
    size_t n = 0;
    int pipe_fds[2], got;
    ssize_t more;
    pid_t child;

    assert_int_equal(pipe(pipe_fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct target t;

        dup2(pipe_fds[1], fd);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        read_line(&table, &t, line);
        _exit(99);
    }
    close(pipe_fds[1]);
    while ((more = read(pipe_fds[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)more;
    text[n] = '\0';
    close(pipe_fds[0]);
    waitpid(child, &got, 0);
    assert_string_equal(text, expected);
    assert_true(WIFEXITED(got));
    assert_int_equal(WEXITSTATUS(got), status);
}

static void wrong(const char *line, const char *message)
{
    char *expected = xasprintf("quern: %s\n", message);

    ends(line, 2, STDERR_FILENO, expected);
    free(expected);
}

static void unknown(const char *option, const char *middle)
{
    char *expected =
        xasprintf("%s: unknown option; %s`quern test --help` lists them", option, middle);

    wrong(option, expected);
    free(expected);
}

// ---- What is read ----

static void test_truth(void **state)
{
    struct target t;

    (void)state;
    read_line(&table, &t, "--set --yes=yes --no=no");
    assert_true(t.set && t.yes && t.no);
    read_line(&table, &t, "--set --no-set --yes=yes --yes=no --no=no --no=yes");
    assert_false(t.set || t.yes || t.no);
    read_line(&table, &t, "--yes=no --yes"); // the form without a value is a row of its own
    assert_true(t.yes);
    read_line(&table, &t, "-b --bits=no --second=other");
    assert_int_equal(t.flags, 7);
    read_line(&table, &t, "--bit --bits=no --second=other --bits=yes --second=one");
    assert_int_equal(t.flags, 1);
}

static void test_words(void **state)
{
    struct target t;

    (void)state;
    read_line(&table, &t, "");
    assert_int_equal(t.choice, 0);
    read_line(&table, &t, "--tree=none");
    assert_int_equal(t.choice, 1);
    read_line(&table, &t, "--tree=none --tree=both");
    assert_int_equal(t.choice, 4);
    read_line(&table, &t, "--by=line");
    assert_int_equal(t.words, 4);
    read_line(&table, &t, "--by=edge,,function,");
    assert_int_equal(t.words, 3);
    read_line(&table, &t, "--by=");
    assert_int_equal(t.words, 0);
}

static void test_texts(void **state)
{
    static const char *const same[] = { "-o a=b", "-o=a=b", "--output=a=b", "--output a=b",
                                        "--only=a=b" };
    struct target t;

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        read_line(&table, &t, same[i]);
        assert_string_equal(t.text, "a=b");
    }
    read_line(&table, &t, "-o -o"); // whatever the next word is, it is the value
    assert_string_equal(t.text, "-o");
    read_line(&table, &t, "--fail-if=Ir>+1% --fail-if Dr>5 -Ia -I b -I=c -Id=e -I ''");
    assert_int_equal(t.list.count, 2);
    assert_string_equal(t.list.item[0], "Ir>+1%");
    assert_string_equal(t.list.item[1], "Dr>5");
    assert_int_equal(t.dirs.count, 5);
    assert_string_equal(t.dirs.item[0], "a");
    assert_string_equal(t.dirs.item[1], "b");
    assert_string_equal(t.dirs.item[2], "c");
    assert_string_equal(t.dirs.item[3], "d=e");
    assert_string_equal(t.dirs.item[4], "");
}

static void test_numbers(void **state)
{
    struct target t;

    (void)state;
    read_line(&table, &t, "--context=18446744073709551615 --threads=64 --threshold=0.5%");
    assert_true(t.number == UINT64_MAX);
    assert_int_equal(t.limited, 64);
    assert_true(t.percent == 0.5);
    read_line(&table, &t, "--context=0 --threads=1 --threshold=100 --function-of-this-test=abc");
    assert_int_equal(t.number, 0);
    assert_int_equal(t.limited, 1);
    assert_true(t.percent == 100);
    assert_int_equal(t.called, 23 * 100 + 3); // the letters of its name and of its value
}

static void operands(const struct options *set, const char *line, size_t n, const char *first,
                     const char *last)
{
    struct target t;
    char **got = read_line(set, &t, line);
    size_t count = 0;

    while (got[count])
        count++;
    assert_int_equal(count, n);
    if (n > 0) {
        assert_string_equal(got[0], first);
        assert_string_equal(got[n - 1], last);
    }
    assert_false(t.set);
}

static void test_operands(void **state)
{
    (void)state;
    operands(&table, "", 0, NULL, NULL);
    operands(&table, "--yes=no --", 0, NULL, NULL);
    operands(&table, "a --yes=no b -o out c", 3, "a", "c");
    operands(&table, "- a ''", 3, "-", "");
    operands(&table, "a -- --set -- b", 4, "a", "b");
    operands(&leading, "--yes=no a --set", 2, "a", "--set");
    operands(&leading, "-o x -- --set -- a", 3, "--set", "a");
    operands(&leading, "- --set", 2, "-", "--set");
}

static void test_command(void **state)
{
    (void)state;
    assert_string_equal(options_command("cg_diff"), "cg_diff");
    assert_string_equal(options_command("/usr/bin/callgrind_annotate"), "callgrind_annotate");
    assert_string_equal(options_command("annotate"), "quern annotate");
}

// ---- What is wrong ----

static void test_values(void **state)
{
    (void)state;
    wrong("--yes=maybe", "--yes=maybe: must be yes or no");
    wrong("--no=", "--no=: must be yes or no");
    wrong("--tree=up", "--tree=up: must be none, caller, calling or both");
    wrong("--tree=call", "--tree=call: must be none, caller, calling or both");
    wrong("--tree=none|caller", "--tree=none|caller: must be none, caller, calling or both");
    wrong("--second=", "--second=: must be one or other");
    wrong("--by=line,lines", "--by=line,lines: 'lines' is none of function, edge and line");
    wrong("--output=", "--output: the value is empty");
    wrong("-o ''", "-o: the value is empty");
    wrong("--context=-1", "--context=-1: must be a whole number");
    wrong("--context=18446744073709551616",
          "--context=18446744073709551616: must be a whole number");
    wrong("--threads=0", "--threads=0: must be a whole number from 1 to 64");
    wrong("--threads=65", "--threads=65: must be a whole number from 1 to 64");
    wrong("--threads=x", "--threads=x: must be a whole number from 1 to 64");
    wrong("--threshold=100.5", "--threshold=100.5: must be a percentage from 0 to 100");
    wrong("--threshold=%", "--threshold=%: must be a percentage from 0 to 100");
    wrong("--threshold=nan", "--threshold=nan: must be a percentage from 0 to 100");
}

static void test_missing(void **state)
{
    (void)state;
    wrong("--tree", "--tree: needs a value: --tree=...");
    wrong("--tree none", "--tree: needs a value: --tree=...");
    wrong("-o", "-o: needs a value");
    wrong("a --output", "--output: needs a value");
    wrong("-I", "-I: needs a value");
    wrong("--set=yes", "--set: takes no value");
    wrong("-b=1", "-b: takes no value");
    wrong("--help=all", "--help: takes no value");
}

static void test_unknown(void **state)
{
    (void)state;
    unknown("--foo", "");
    unknown("-x", "");
    unknown("-bx", ""); // letters are not joined
    unknown("---", "");
    unknown("--=x", "");
    unknown("--thresold=2", "is --threshold meant? ");  // one letter less
    unknown("--treads=2", "is --threads meant? ");      // nearer than --tree
    unknown("--conetxt", "is --context meant? ");       // two exchanged
    unknown("--contex", "is --context meant? ");        // its beginning
    unknown("--context-lines", "is --context meant? "); // more than it
    unknown("--yse", "is --yes meant? ");
    unknown("--xxtput", "is --output meant? "); // two of six letters
    unknown("--xxxput", "");                    // three of six
    unknown("--abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789", "");
}

// ---- What is made of the table ----

static void test_help(void **state)
{
    static const char help[] =
        "usage: quern test [options] FILE...\n"
        "\n"
        "About.\n"
        "\n"
        "First:\n"
        "  --set                      sets\n"
        "  --no-set                   clears\n"
        "  --yes=yes|no               yes is true\n"
        "  --no=yes|no                no is true\n"
        "  -b, --bit                  bit 0\n"
        "  --bits=yes|no              bit 1\n"
        "  --second=one|other         bit 2\n"
        "\n"
        "Second:\n"
        "  --tree=none|caller|calling|both\n"
        "                             one of four\n"
        "  --by=function,edge,line    any of three\n"
        "  -o OUT, --output=OUT       a text that is so long that its line must be broken where a "
        "word ends,\n"
        "                             at column 100\n"
        "  --only=TEXT                not apart\n"
        "  --fail-if=LIMIT            a list\n"
        "  -I DIR                     a list, attached\n"
        "  --context=N                any number\n"
        "  --threads=N                from 1 to 64\n"
        "  --threshold=N              percent\n"
        "  --function-of-this-test=X  called\n"
        "  -h, --help                 this text\n"
        "  --version                  the version\n"
        "\n"
        "Below.\n";

    (void)state;
    ends("--help", 0, STDOUT_FILENO, help);
    ends("a -h --frobnicate", 0, STDOUT_FILENO, help); // what follows is not looked at
    ends("--version", 0, STDOUT_FILENO, "quern " QUERN_VERSION "\n");
}

static void test_man(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    const struct options few = { "", "", NULL, rows + 4, 4, false };

    (void)state;
    options_man(&few, f);
    fclose(f);
    // --yes without a value is not shown; -b and --bit are one entry.
    assert_string_equal(text, "1\t\\fB\\-\\-no\\fR=\\fIyes|no\\fR\tno is true\n"
                              "2\t\\fB\\-b\\fR\tbit 0\n"
                              "2\t\\fB\\-\\-bit\\fR\tbit 0\n");
    free(text);
}

// Options of another table: with their row there, in their position here, read into the structure
// that this one begins with.
struct larger {
    struct target target;
    uint64_t own;
};

// clang-format off
static const struct option larger_rows[] = {
    { "--own", "=N", "this table's", OPTION_NUMBER, .field = offsetof(struct larger, own),
      .max = 9 },
    { .kind = OPTION_HEADING, .help = "Of the other" },
    { "--tree", .kind = OPTION_OF, .of = &table },
    { "--bits", .kind = OPTION_OF, .of = &table },
};
// clang-format on

static const struct options larger = {
    .usage = "FILE", .about = "About.", .row = larger_rows, .rows = 4
};

static void test_of_another(void **state)
{
    char words[][16] = { "command", "--bits=no", "--own=7", "--tree=calling", "file" };
    char *argv[] = { words[0], words[1], words[2], words[3], words[4], NULL };
    struct larger to = { 0 };
    char *text = NULL;
    size_t size;

    (void)state;
    assert_string_equal(options_read(&larger, "command", &to, 5, argv)[0], "file");
    assert_int_equal(to.own, 7);
    assert_int_equal(to.target.choice, 3);
    assert_int_equal(to.target.flags, 2);
    assert_ptr_equal(options_row(&larger, 0), &larger_rows[0]);
    assert_ptr_equal(options_row(&larger, 2), &rows[11]);
    FILE *f = open_memstream(&text, &size);

    options_man(&larger, f);
    fclose(f);
    assert_string_equal(text,
                        "1\t\\fB\\-\\-own\\fR=\\fIN\\fR\tthis table's\n"
                        "0\tOf the other\t\n"
                        "2\t\\fB\\-\\-tree\\fR=\\fInone|caller|calling|both\\fR\tone of four\n"
                        "3\t\\fB\\-\\-bits\\fR=\\fIyes|no\\fR\tbit 1\n");
    free(text);
}

// A letter that is an option without a value and with one, as --asm is. What is attached to it can
// only be the value of the one that takes one.
static void test_attached(void **state)
{
    static const struct option twice[] = {
        { "-I", NULL, "a switch", OPTION_SET, FIELD(set) },
        { "-I", " DIR", "a list, attached", OPTION_LIST, OPTION_ATTACHED, FIELD(dirs) },
    };
    static const struct options set = { .usage = "FILE", .about = "", .row = twice, .rows = 2 };
    char words[][8] = { "command", "-Idir", "-I", "file" };
    char *argv[] = { words[0], words[1], words[2], words[3], NULL };
    struct target to = { 0 };
    char **operand;

    (void)state;
    operand = options_read(&set, "command", &to, 4, argv);
    assert_string_equal(operand[0], "file");
    assert_null(operand[1]);
    assert_int_equal(to.dirs.count, 1);
    assert_string_equal(to.dirs.item[0], "dir");
    assert_true(to.set);
    free(to.dirs.item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth),    cmocka_unit_test(test_words),
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_operands), cmocka_unit_test(test_command),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_unknown),  cmocka_unit_test(test_help),
        cmocka_unit_test(test_man),      cmocka_unit_test(test_of_another),
        cmocka_unit_test(test_attached),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
