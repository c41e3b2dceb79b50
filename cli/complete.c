// SPDX-License-Identifier: MIT
//
// Writes completion for bash, zsh and fish. The tables say of each option its name, whether it
// takes a value, behind "=" or as the next word, and what the value is. The rest is text in the
// language of each shell. Called by main.c.
#include "cli/complete.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"

// The kind of a value, from the argument in the table.
enum value { VALUE_ANY, VALUE_FILE, VALUE_FOLDER, VALUE_WORD, VALUE_WORDS };

static enum value value_of(const struct option *o)
{
    static const struct {
        const char *argument;
        enum value value;
    } known[] = {
        { "FILE", VALUE_FILE },
        { "OUT", VALUE_FILE },
        { "DIR", VALUE_FOLDER },
        { "FOLDER", VALUE_FOLDER },
    };

    if (o->kind == OPTION_YES || o->kind == OPTION_NO || o->kind == OPTION_CHOICE)
        return VALUE_WORD;
    if (o->kind == OPTION_WORDS)
        return VALUE_WORDS;
    // "=native|x86-64|FEATURES": one of the words, or what the placeholder at the end stands for
    if (islower((unsigned char)o->argument[1]) && strchr(o->argument, '|'))
        return VALUE_WORD;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(o->argument + 1, known[i].argument) == 0)
            return known[i].value;
    return VALUE_ANY;
}

static void put_words(FILE *f, const struct option *o, const char *between)
{
    const char *s;
    size_t len;

    for (size_t i = 0; *(s = options_word(o, i, &len)); i++)
        if (!isupper((unsigned char)*s)) // not a placeholder
            fprintf(f, "%s%.*s", i ? between : "", (int)len, s);
}

// Are there names that the command itself prints, by OPTION=list?
static bool has_names(const struct option *o)
{
    return o->argument && strstr(o->argument, "list|NAME");
}

// For a command line of the shell, whose delimiter is `blank`.
static void put_names_of(FILE *f, const char *command, const struct option *o, const char *blank)
{
    if (has_names(o))
        fprintf(f, "quern %s %s=list 2>/dev/null | cut -d%s -f1", command, o->name, blank);
}

static bool shown(const struct option *o)
{
    return o->name && !(o->how & (OPTION_HIDDEN | OPTION_DEBUG));
}

// The help of a row up to its default, or to its first semicolon; to be freed.
static char *brief(const struct option *o)
{
    const char *end;

    while (!o->help)
        o++;
    end = strstr(o->help, " [");
    if (!end)
        end = o->help + strcspn(o->help, ";");
    return xasprintf("%.*s", (int)(end - o->help), o->help);
}

// Does a program to be profiled follow, with arguments of its own?
static bool runs_program(const struct options *set)
{
    return set->leading && strstr(set->usage, "PROGRAM") != NULL;
}

// Are its operands processes? Always, or behind --live.
static bool takes_pids(const struct options *set)
{
    return strncmp(set->usage, "[OPTIONS] [PID", 14) == 0;
}

static bool takes_pids_live(const struct options *set)
{
    return strstr(set->usage, "--live PID") != NULL;
}

// s within single quotes, with a backslash before each of `special`.
static void put_quoted(FILE *f, const char *s, const char *special)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", f);
        else
            fprintf(f, "%s%c", strchr(special, *s) ? "\\" : "", *s);
    }
}

static void put_names(FILE *f, const struct command *c, size_t n, bool traditional)
{
    for (size_t i = 0; i < n; i++)
        if (!c[i].summary == traditional)
            fprintf(f, " %s", c[i].name);
}

// ---- bash ----

static const char bash_head[] =
    "# SPDX-License-Identifier: MIT\n"
    "# Completion of quern for bash; printed by `quern --completion bash`.\n"
    "\n"
    "# COMMAND: its options; what ends in = wants a value there.\n"
    "_quern_options()\n"
    "{\n"
    "    case $1 in\n";

static const char bash_values[] =
    "    esac\n"
    "}\n"
    "\n"
    "# COMMAND OPTION: what its value is, behind \"OPTION=\" or as the word behind \"OPTION \".\n"
    "_quern_value()\n"
    "{\n"
    "    case \"$1 $2\" in\n";

static const char bash_reply[] =
    "    esac\n"
    "}\n"
    "\n"
    "# PREFIX BEGINNING WHAT [WORDS...]: what the beginning can become; PREFIX is put before it.\n"
    "_quern_reply()\n"
    "{\n"
    "    local prefix=$1 cur=$2 what=$3 IFS=$'\\n'\n"
    "    shift 3\n"
    "    case $what in\n"
    "    word) mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$*\" -- \"$cur\") ;;\n"
    "    words) # with commas between\n"
    "        prefix=$prefix${cur%\"${cur##*,}\"}\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$*\" -- \"${cur##*,}\")\n"
    "        compopt -o nospace 2>/dev/null ;;\n"
    "    file | folder)\n"
    "        [ $what = file ] && what=-f || what=-d\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$prefix\" $what -- \"$cur\")\n"
    "        compopt -o filenames 2>/dev/null ;;\n"
    "    command)\n"
    "        [[ $cur == */* ]] && what=-f || what=-c\n"
    "        mapfile -t COMPREPLY < <(compgen $what -- \"$cur\" | sort -u)\n"
    "        compopt -o filenames 2>/dev/null ;;\n"
    "    esac\n"
    "    return 0\n"
    "}\n"
    "\n"
    "# The processes that run under quern.\n"
    "_quern_pids()\n"
    "{\n"
    "    quern control 2>/dev/null | sed -n 's/^PID \\([0-9]*\\): .*/\\1/p'\n"
    "}\n"
    "\n"
    "_quern()\n"
    "{\n"
    "    local command=${COMP_WORDS[0]##*/} cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    local first=1 operand=0 option= prefix= last= word i\n"
    "\n"
    "    COMPREPLY=()\n"
    "    if [ \"$command\" = quern ]; then\n"
    "        command=${COMP_WORDS[1]} first=2\n"
    "        if [ \"$COMP_CWORD\" = 1 ] || [ \"$command\" = help ]; then\n"
    "            word=help\n"
    "            [ \"$COMP_CWORD\" = 1 ] || word=\n"
    "            _quern_reply '' \"$cur\" word $word";

static const char bash_main[] =
    "\n"
    "            return\n"
    "        fi\n"
    "    fi\n"
    "    # Where = separates words, --tree=none is three: --tree, =, none.\n"
    "    for ((i = first; i < COMP_CWORD && !operand; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [ \"$word\" = = ]; then\n"
    "            option=$last=\n"
    "        elif [ \"$option\" ]; then\n"
    "            option=\n"
    "        elif [ \"$word\" = -- ]; then\n"
    "            operand=$((i + 1))\n"
    "        elif [[ $word == -?* ]]; then\n"
    "            [ -z \"$(_quern_value \"$command\" \"$word \")\" ] || option=\"$word \"\n"
    "        elif [[ $command == @(";

static const char bash_rest[] =
    ") ]]; then\n"
    "            operand=$i\n"
    "        fi\n"
    "        last=$word\n"
    "    done\n"
    "    if [ \"$operand\" = 0 ]; then\n"
    "        if [ \"$cur\" = = ]; then\n"
    "            option=$last= cur=\n"
    "        elif [ -z \"$option\" ] && [[ $cur == -*=* ]]; then\n"
    "            option=${cur%%=*}= prefix=${cur%%=*}= cur=${cur#*=}\n"
    "        fi\n"
    "        if [ \"$option\" ]; then\n"
    "            _quern_reply \"$prefix\" \"$cur\" $(_quern_value \"$command\" \"$option\")\n"
    "            return\n"
    "        fi\n"
    "        if [[ $cur == -* ]]; then\n"
    "            _quern_reply '' \"$cur\" word $(_quern_options \"$command\")\n"
    "            [[ ${#COMPREPLY[@]} != 1 || $COMPREPLY != *= ]] || "
    "compopt -o nospace 2>/dev/null\n"
    "            return\n"
    "        fi\n"
    "    fi\n"
    "    if [[ $command == @(";

static const char bash_live[] = ") || ($command == @(";

static const char bash_files[] =
    ") && \" ${COMP_WORDS[*]:first:COMP_CWORD-first} \" == *' --live '*) ]]; then\n"
    "        _quern_reply '' \"$cur\" word $(_quern_pids)\n"
    "    elif [[ $command != @(";

static const char bash_tail[] =
    ") ]]; then\n"
    "        _quern_reply '' \"$cur\" file\n"
    "    elif [ \"$operand\" = 0 ] || [ \"$operand\" = \"$COMP_CWORD\" ]; then\n"
    "        _quern_reply '' \"$cur\" command\n"
    "    elif declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$operand\" # bash-completion: as the program itself is\n"
    "    else\n"
    "        _quern_reply '' \"$cur\" file\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _quern quern";

static void bash_value(FILE *f, const char *command, const struct option *o)
{
    static const char *const what[] = { "any", "file", "folder", "word", "words" };

    fprintf(f, "    '%s %s%c'", command, o->name, o->argument[0]);
    if (options_apart(o))
        fprintf(f, " | '%s %s%c'", command, o->name, o->argument[0] == '=' ? ' ' : '=');
    fprintf(f, ") echo %s", what[value_of(o)]);
    if (value_of(o) >= VALUE_WORD) {
        putc(' ', f);
        put_words(f, o, " ");
    }
    if (has_names(o)) {
        fputs(" $(", f);
        put_names_of(f, command, o, "' '");
        putc(')', f);
    }
    fputs(" ;;\n", f);
}

// The names for which `is` says yes, as alternatives of a pattern.
static void bash_pattern(FILE *f, const struct command *c, size_t n,
                         bool (*is)(const struct options *set))
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (!is(c[i].options))
            continue;
        fprintf(f, "%s%s", any ? "|" : "", c[i].name);
        any = true;
    }
}

static bool is_leading(const struct options *set)
{
    return set->leading;
}

static void bash(FILE *f, const struct command *c, size_t n)
{
    fputs(bash_head, f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "    %s) echo", c[i].name);
        for (size_t k = 0; k < c[i].options->rows; k++) {
            const struct option *o = options_row(c[i].options, k);

            if (shown(o))
                fprintf(f, " %s%s", o->name, o->argument && *o->argument == '=' ? "=" : "");
        }
        fputs(" ;;\n", f);
    }
    fputs(bash_values, f);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c[i].options->rows; k++)
            if (shown(options_row(c[i].options, k)) && options_row(c[i].options, k)->argument)
                bash_value(f, c[i].name, options_row(c[i].options, k));
    fputs(bash_reply, f);
    put_names(f, c, n, false);
    fputs(bash_main, f);
    bash_pattern(f, c, n, is_leading);
    fputs(bash_rest, f);
    bash_pattern(f, c, n, takes_pids);
    fputs(bash_live, f);
    bash_pattern(f, c, n, takes_pids_live);
    fputs(bash_files, f);
    bash_pattern(f, c, n, runs_program);
    fputs(bash_tail, f);
    put_names(f, c, n, true);
    putc('\n', f);
}

// ---- zsh ----

static void zsh_option(FILE *f, const char *command, const struct option *o)
{
    static const char *const what[] = { "", "_files", "_files -/" };
    char *text = brief(o);

    fprintf(f, " \\\n            '*%s", o->name);
    if (o->argument && o->argument[0] == '=')
        fputs(options_apart(o) ? "=" : "=-", f);
    else if (o->how & OPTION_ATTACHED)
        putc('+', f);
    putc('[', f);
    put_quoted(f, text, "[]:\\");
    putc(']', f);
    if (o->argument) {
        enum value v = value_of(o);

        putc(':', f);
        put_quoted(f, v < VALUE_WORD ? o->argument + 1 : "value", "[]:\\");
        putc(':', f);
        if (v < VALUE_WORD)
            fputs(what[v], f);
        else if (has_names(o))
            fputs("{compadd ", f);
        else
            fputs(v == VALUE_WORD ? "(" : "_values -s , value ", f);
        if (v >= VALUE_WORD)
            put_words(f, o, " ");
        if (has_names(o)) {
            fputs(" $(", f);
            put_names_of(f, command, o, "\" \"");
            fputs(")}", f);
        } else if (v == VALUE_WORD) {
            putc(')', f);
        }
    }
    putc('\'', f);
    free(text);
}

static void zsh(FILE *f, const struct command *c, size_t n)
{
    fputs("#compdef quern", f);
    put_names(f, c, n, true);
    fputs("\n"
          "# SPDX-License-Identifier: MIT\n"
          "# Completion of quern for zsh; printed by `quern --completion zsh`.\n"
          "\n"
          "_quern_pids() {\n"
          "    local -a pids=(${(f)\"$(quern control 2>/dev/null | sed -n 's/^PID \\([0-9]*\\): "
          "/\\1:/p')\"})\n"
          "    _describe process pids\n"
          "}\n"
          "\n"
          "_quern() {\n"
          "    local command=$service\n"
          "    local -a commands=(\n",
          f);
    for (size_t i = 0; i < n; i++) {
        if (!c[i].summary)
            continue;
        fprintf(f, "        '%s:", c[i].name);
        put_quoted(f, c[i].summary, ":\\");
        fputs("'\n", f);
    }
    fputs("    )\n"
          "    if [[ $command == quern ]]; then\n"
          "        if (( CURRENT == 2 )); then\n"
          "            commands+=('help:say what a command does')\n"
          "            _describe command commands\n"
          "            return\n"
          "        fi\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "        command=$words[1]\n"
          "    fi\n"
          "    case $command in\n"
          "    help) _describe command commands ;;\n",
          f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "    %s)\n        _arguments -S", c[i].name);
        for (size_t k = 0; k < c[i].options->rows; k++)
            if (shown(options_row(c[i].options, k)))
                zsh_option(f, c[i].name, options_row(c[i].options, k));
        if (runs_program(c[i].options))
            fputs(" \\\n            '(-)1:program:_command_names -e' '*::argument:_normal' ;;\n",
                  f);
        else if (takes_pids(c[i].options))
            fputs(" \\\n            '*:process:_quern_pids' ;;\n", f);
        else if (takes_pids_live(c[i].options))
            fputs(
                " \\\n            '*:file:{ (( ${words[(I)--live]} )) && _quern_pids || _files }' "
                ";;\n",
                f);
        else
            fprintf(f, " \\\n            '%s*:file:_files' ;;\n",
                    c[i].options->leading ? "(-)" : "");
    }
    fputs("    esac\n"
          "}\n"
          "\n"
          "_quern \"$@\"\n",
          f);
}

// ---- fish ----

static void fish_option(FILE *f, const struct command *c, const struct option *o)
{
    char *text = brief(o);

    if (c->summary)
        fprintf(f, "complete -c quern -n '__fish_seen_subcommand_from %s'", c->name);
    else
        fprintf(f, "complete -c %s", c->name);
    if (o->name[1] == '-')
        fprintf(f, " -l %s", o->name + 2);
    else
        fprintf(f, " -s %s", o->name + 1);
    if (o->argument) {
        switch (value_of(o)) {
        case VALUE_ANY: fputs(" -x", f); break;
        case VALUE_FILE: fputs(" -r -F", f); break;
        case VALUE_FOLDER: fputs(" -x -a '(__fish_complete_directories)'", f); break;
        case VALUE_WORD:
            fputs(" -x -a '", f);
            put_words(f, o, " ");
            if (has_names(o)) {
                fputs(" (", f);
                put_names_of(f, c->name, o, "\" \"");
                putc(')', f);
            }
            putc('\'', f);
            break;
        case VALUE_WORDS:
            fputs(" -x -a '(__fish_append , ", f);
            put_words(f, o, " ");
            fputs(")'", f);
            break;
        }
    }
    fputs(" -d '", f);
    put_quoted(f, text, "\\");
    fputs("'\n", f);
    free(text);
}

static void fish_pids(FILE *f, const struct command *c)
{
    static const char list[] = " -a '(quern control 2>/dev/null | string replace -rf "
                               "\"^PID (\\\\d+): \" \"\\$1\\t\")'\n";

    if (!takes_pids(c->options) && !takes_pids_live(c->options))
        return;
    if (c->summary)
        fprintf(f, "complete -c quern -n '__fish_seen_subcommand_from %s%s'%s", c->name,
                takes_pids(c->options) ? "" : "; and __fish_contains_opt live",
                takes_pids(c->options) ? " -f" : "");
    else
        fprintf(f, "complete -c %s -f", c->name);
    fputs(list, f);
}

static void fish(FILE *f, const struct command *c, size_t n)
{
    fputs("# SPDX-License-Identifier: MIT\n"
          "# Completion of quern for fish; printed by `quern --completion fish`.\n"
          "\n",
          f);
    for (size_t i = 0; i < n; i++) {
        if (!c[i].summary)
            continue;
        for (size_t k = 0; k < 2; k++) {
            fprintf(f, "complete -c quern -n %s -f -a %s -d '",
                    k ? "'__fish_seen_subcommand_from help'" : "__fish_use_subcommand", c[i].name);
            put_quoted(f, c[i].summary, "\\");
            fputs("'\n", f);
        }
        if (runs_program(c[i].options))
            fprintf(f,
                    "complete -c quern -n '__fish_seen_subcommand_from %s' -f "
                    "-a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                    c[i].name);
    }
    fputs("complete -c quern -n __fish_use_subcommand -f -a help -d 'say what a command does'\n",
          f);
    for (size_t i = 0; i < n; i++)
        fish_pids(f, &c[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c[i].options->rows; k++)
            if (shown(options_row(c[i].options, k)))
                fish_option(f, &c[i], options_row(c[i].options, k));
}

bool complete_print(FILE *f, const char *shell, const struct command *commands, size_t n)
{
    if (strcmp(shell, "bash") == 0)
        bash(f, commands, n);
    else if (strcmp(shell, "zsh") == 0)
        zsh(f, commands, n);
    else if (strcmp(shell, "fish") == 0)
        fish(f, commands, n);
    else
        return false;
    return true;
}
