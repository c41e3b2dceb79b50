// SPDX-License-Identifier: MIT
//
// Reads command lines by the tables of options.h, and prints the tables as help and for man pages.
// Called by every command; wrong usage ends the process here.
#include "cli/options/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/nearest.h"
#include "cli/base/util.h"
#include "cli/base/version.h"

enum {
    HELP_LEFT = 28,   // options longer than this have a separate line
    HELP_WIDTH = 100, // columns of the help
};

const char *options_command(const char *argv0)
{
    argv0 = util_basename(argv0);
    if (strncmp(argv0, "cg_", 3) == 0 || strncmp(argv0, "callgrind_", 10) == 0)
        return argv0;
    return xasprintf("quern %s", argv0);
}

bool options_apart(const struct option *o)
{
    return o->argument && (o->how & OPTION_APART || o->name[1] != '-');
}

// ---- Words ----

const char *options_word(const struct option *o, size_t i, size_t *len)
{
    const char *s = o->argument + 1;
    const char *between = o->kind == OPTION_WORDS ? "," : "|";

    for (; i > 0 && *s; i--) {
        s += strcspn(s, between);
        s += *s != '\0';
    }
    *len = strcspn(s, between);
    return s;
}

// The index of a word in the option's list, or -1.
static int find_word(const struct option *o, const char *value, size_t value_len)
{
    size_t len;
    const char *s;

    for (int i = 0; *(s = options_word(o, (size_t)i, &len)); i++)
        if (len == value_len && memcmp(s, value, len) == 0)
            return i;
    return -1;
}

char *options_words(const struct option *o, const char *last)
{
    char *all = xcalloc(2 * strlen(o->argument) + strlen(last) + 1, 1);
    size_t len, next;
    const char *s;

    for (size_t i = 0; *(s = options_word(o, i, &len)); i++) {
        if (i > 0)
            strcat(all, *options_word(o, i + 1, &next) ? ", " : last);
        strncat(all, s, len);
    }
    return all;
}

// ---- Values ----

static void set_truth(const struct option *o, void *field, bool on)
{
    if (!o->bits)
        *(bool *)field = on;
    else if (on)
        *(uint64_t *)field |= o->bits;
    else
        *(uint64_t *)field &= ~o->bits;
}

static int choice(const struct option *o, const char *value)
{
    int i = find_word(o, value, strlen(value));

    if (i < 0)
        die(UTIL_USAGE, "%s=%s: must be %s", o->name, value, options_words(o, " or "));
    return i;
}

static uint32_t words(const struct option *o, const char *value)
{
    uint32_t all = 0;

    for (const char *s = value; *s; s += s[0] == ',') {
        size_t len = strcspn(s, ",");
        int i = len ? find_word(o, s, len) : 0;

        if (i < 0)
            die(UTIL_USAGE, "%s=%s: '%.*s' is none of %s", o->name, value, (int)len, s,
                options_words(o, " and "));
        if (len)
            all |= 1u << i;
        s += len;
    }
    return all;
}

static uint64_t number(const struct option *o, const char *value)
{
    uint64_t n;

    if (util_number(value, o->max, &n) && n >= o->min)
        return n;
    if (o->max == UINT64_MAX)
        die(UTIL_USAGE, "%s=%s: must be a whole number", o->name, value);
    die(UTIL_USAGE, "%s=%s: must be a whole number from %llu to %llu", o->name, value,
        (unsigned long long)o->min, (unsigned long long)o->max);
}

double options_percent(const char *value, double max)
{
    char *end;
    double v = strtod(value, &end);

    if (end == value)
        return -1;
    if (*end == '%')
        end++;
    return *end || !(v >= 0 && v <= max) ? -1 : v;
}

static double percent(const struct option *o, const char *value)
{
    double v = options_percent(value, 100);

    if (v < 0)
        die(UTIL_USAGE, "%s=%s: must be a percentage from 0 to 100", o->name, value);
    return v;
}

void options_add(struct option_list *list, const char *value)
{
    list->item = xrealloc(list->item, (list->count + 1) * sizeof(*list->item));
    list->item[list->count++] = value;
}

// ---- Help ----

static void put_wrapped(const char *text, int column)
{
    size_t width = (size_t)(HELP_WIDTH - column);

    while (strlen(text) > width) {
        size_t n = width;

        while (n > 1 && text[n] != ' ')
            n--;
        printf("%.*s\n%*s", (int)n, text, column, "");
        text += n + 1;
    }
    puts(text);
}

const struct option *options_row(const struct options *set, size_t i)
{
    const struct option *o = &set->row[i];

    if (o->kind == OPTION_OF)
        for (size_t k = 0; k < o->of->rows; k++)
            if (o->of->row[k].name && strcmp(o->of->row[k].name, o->name) == 0)
                return &o->of->row[k];
    return o;
}

// The options of the rows from i on that share one help text; the last of these rows in *last.
static char *left_side(const struct options *set, size_t i, size_t *last)
{
    char *left = xstrdup("");

    for (;; i++) {
        const struct option *o = options_row(set, i);
        char *more =
            xasprintf("%s%s%s%s", left, *left ? ", " : "", o->name, o->argument ? o->argument : "");

        free(left);
        left = more;
        if (o->help)
            break;
    }
    *last = i;
    return left;
}

// debug: only the rows that are OPTION_DEBUG; else all others.
static _Noreturn void help(const struct options *set, const char *command, bool debug)
{
    int column = 0;

    printf("usage: %s %s\n\n%s\n", command, set->usage, set->about);
    // The first pass finds the width of the options, the second prints them.
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && set->row[0].kind != OPTION_HEADING)
            putchar('\n');
        for (size_t i = 0; i < set->rows; i++) {
            const struct option *o = options_row(set, i);
            char *left;
            int len;

            if (o->how & OPTION_HIDDEN || !(o->how & OPTION_DEBUG) == debug)
                continue;
            if (o->kind == OPTION_HEADING) {
                if (pass == 1)
                    printf("\n%s:\n", o->help);
                continue;
            }
            left = left_side(set, i, &i);
            len = (int)strlen(left);
            if (pass == 1) {
                if (len <= column)
                    printf("  %-*s  ", column, left);
                else
                    printf("  %s\n%*s", left, column + 4, "");
                put_wrapped(options_row(set, i)->help, column + 4);
            } else if (len <= HELP_LEFT && len > column) {
                column = len;
            }
            free(left);
        }
    }
    if (set->below && !debug)
        printf("\n%s\n", set->below);
    exit(fflush(stdout) == 0 && !ferror(stdout) ? UTIL_OK : UTIL_USAGE);
}

static _Noreturn void version(void)
{
    puts("quern " QUERN_VERSION);
    exit(fflush(stdout) == 0 && !ferror(stdout) ? UTIL_OK : UTIL_USAGE);
}

void options_man(const struct options *set, FILE *f)
{
    bool joined = false;
    int number = 0;

    for (size_t i = 0; i < set->rows; i++) {
        const struct option *o = options_row(set, i);

        if (o->how & OPTION_HIDDEN)
            continue;
        if (o->kind == OPTION_HEADING) {
            fprintf(f, "0\t%s\t\n", o->help);
            continue;
        }
        number += !joined;
        joined = !o->help;
        fprintf(f, "%d\t\\fB", number);
        for (const char *s = o->name; *s; s++)
            fprintf(f, "%s%c", *s == '-' ? "\\" : "", *s);
        fputs("\\fR", f);
        if (o->argument)
            fprintf(f, "%c\\fI%s\\fR", o->argument[0], o->argument + 1);
        for (size_t k = i; !o->help; k++)
            o = options_row(set, k + 1);
        fprintf(f, "\t%s\n", o->help);
    }
}

// ---- The command line ----

static const struct option *find(const struct options *set, const char *name, size_t len,
                                 bool has_value)
{
    const struct option *other = NULL;

    // --asm has two rows: with a value and without.
    for (size_t i = 0; i < set->rows; i++) {
        const struct option *o = options_row(set, i);

        if (!o->name || strlen(o->name) != len || memcmp(o->name, name, len) != 0)
            continue;
        if ((o->argument != NULL) == has_value)
            return o;
        other = o;
    }
    return other;
}

// --fn-group3: the row of --fn-groupN, with the number in it.
static const struct option *find_numbered(const struct options *set, const char *name, size_t len)
{
    static struct option found;
    size_t letters = len;

    while (letters && name[letters - 1] >= '0' && name[letters - 1] <= '9')
        letters--;
    for (size_t i = 0; letters < len && i < set->rows; i++) {
        const struct option *o = options_row(set, i);
        char *digits;
        bool good;

        if (!(o->how & OPTION_NUMBERED) || strlen(o->name) != letters + 1 ||
            memcmp(o->name, name, letters) != 0)
            continue;
        found = *o;
        digits = xasprintf("%.*s", (int)(len - letters), name + letters);
        good = util_number(digits, o->max, &found.min);
        free(digits);
        if (!good)
            die(UTIL_USAGE, "%.*s: the number must be at most %llu", (int)len, name,
                (unsigned long long)o->max);
        return &found;
    }
    return NULL;
}

// The option that was probably meant, or NULL.
static const struct option *meant(const struct options *set, const char *name, size_t len)
{
    const struct option *best = NULL;
    struct nearest n;

    if (len < 4 || strncmp(name, "--", 2) != 0)
        return NULL;
    n = nearest_begin(name + 2, len - 2);
    for (size_t i = 0; i < set->rows; i++) {
        const struct option *o = options_row(set, i);

        if (!o->name || strlen(o->name) < 4)
            continue;
        nearest_offer(&n, o->name + 2);
        if (n.best == o->name + 2)
            best = o;
    }
    return best;
}

static _Noreturn void unknown(const struct options *set, const char *command, const char *arg,
                              size_t len)
{
    const struct option *o = meant(set, arg, len);

    if (o)
        die(UTIL_USAGE, "%s: unknown option; is %s meant? `%s --help` lists them", arg, o->name,
            command);
    die(UTIL_USAGE, "%s: unknown option; `%s --help` lists them", arg, command);
}

static void apply(const struct options *set, const char *command, void *to, const struct option *o,
                  const char *value)
{
    void *field = (char *)to + o->field;

    switch (o->kind) {
    case OPTION_HEADING:
    case OPTION_OF: break;
    case OPTION_SET: set_truth(o, field, true); break;
    case OPTION_CLEAR: set_truth(o, field, false); break;
    case OPTION_YES: set_truth(o, field, choice(o, value) == 0); break;
    case OPTION_NO: set_truth(o, field, choice(o, value) != 0); break;
    case OPTION_CHOICE:
        if (o->bits)
            set_truth(o, field, choice(o, value) != 0);
        else
            *(uint32_t *)field = (uint32_t)choice(o, value) + 1;
        break;
    case OPTION_WORDS: *(uint32_t *)field = words(o, value); break;
    case OPTION_TEXT:
        if (!*value)
            die(UTIL_USAGE, "%s: the value is empty", o->name);
        *(const char **)field = value;
        break;
    case OPTION_LIST: options_add(field, value); break;
    case OPTION_NUMBER: *(uint64_t *)field = number(o, value); break;
    case OPTION_PERCENT: *(double *)field = percent(o, value); break;
    case OPTION_CALL: o->call(field, o, value); break;
    case OPTION_HELP: help(set, command, (o->bits & OPTION_DEBUG) != 0);
    case OPTION_VERSION: version();
    }
}

char **options_read(const struct options *set, const char *command, void *to, int argc, char **argv)
{
    bool plain = false;
    int n = 1; // operands are moved to the front

    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        const char *equals = strchr(arg, '=');
        size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
        const char *value = equals ? equals + 1 : NULL;
        const struct option *o;

        if (plain || arg[0] != '-' || arg[1] == '\0') {
            plain |= set->leading;
            argv[n++] = argv[i];
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            plain = true;
            continue;
        }
        o = find(set, arg, len, value != NULL);
        if (o && (o->how & OPTION_NUMBERED))
            die(UTIL_USAGE, "%s: write a number in place of N", o->name);
        if (!o)
            o = find_numbered(set, arg, len);
        if (!o) {
            o = find(set, arg, 2, true);
            if (!o || !(o->how & OPTION_ATTACHED))
                unknown(set, command, arg, len);
            value = arg + 2;
        }
        if (!o->argument && value)
            die(UTIL_USAGE, "%s: takes no value", o->name);
        if (o->argument && !value) {
            if (!options_apart(o))
                die(UTIL_USAGE, "%s: needs a value: %s=...", o->name, o->name);
            if (i + 1 >= argc)
                die(UTIL_USAGE, "%s: needs a value", o->name);
            value = argv[++i];
        }
        apply(set, command, to, o, value);
    }
    argv[n] = NULL;
    return argv + 1;
}
