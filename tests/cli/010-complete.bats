#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Completion in bash, as the build puts it below share/: what each word of a command line can
# become, and once with the keys that a user presses. That the lists are those of the tables is
# shown by examples of each kind of option.

load run

COMPLETION=$BUILD/share/bash-completion/completions/quern

# The last of the words is completed; $output has the answers in order, one on a line. Where bash
# takes a line apart at "=", that is a word of its own.
completes() {
    # Reads the file before the words, whose number it must not change.
    output=$(bash --norc -c '. "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _quern "$1" "${@: -1}" "${@: -2:1}" 2>&1
        [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$COMPLETION" "$@")
}

@test "commands" {
    completes quern ''
    same "$output" "help
run
stat
recover
annotate
merge
diff
convert
check
doctor
report
top
trace
control
valgrind"
    completes quern re
    same "$output" "recover
report"
    completes quern h
    same "$output" help
    completes quern help h
    same "$output" ""
    completes quern help con
    same "$output" "convert
control"
    completes quern nothing-like-that
    same "$output" ""
}

@test "words of which the last stands for others" {
    completes quern run --cpu = x86-64-v
    same "$output" "x86-64-v2
x86-64-v3
x86-64-v4"
    completes quern run --cpu = F
    same "$output" ""
}

@test "names that the command itself lists" {
    PATH=$BUILD/bin:$PATH completes quern run --machine = z
    same "$output" "zen2
zen3
zen4
zen5"
    PATH=$BUILD/bin:$PATH completes quern stat --machine = n
    same "$output" "native"
    PATH=$BUILD/bin:$PATH completes quern run --machine = N
    same "$output" ""
}

@test "every option of a command, and no other" {
    completes quern check -
    same "$output" "--strict
--all
--notes
-q
--quiet
-h
--help
--version"
    completes quern merge --
    same "$output" "--output=
--to=
--threads=
--parts=
--help
--version"
    completes quern annotate --no
    same "$output" "--no-show-percs
--no-annotate
--no-pager"
    completes quern run --L # --L2, another name of --LL, is not offered
    same "$output" "--LL="
    completes /usr/bin/cg_diff -
    same "$output" "--mod-filename=
--mod-funcname=
-h
--help
-v
--version"
}

@test "all options of run are completed" {
    completes quern run -
    same "$(sort <<< "$output")" "$("$QUERN" run --help | sed -nE 's/^  (-.*)/\1/p' |
        sed -E 's/  .*//; s/, /\n/g' | sed -E 's/=.*/=/; s/ .*//' | sort)"
    [ "$(wc -l <<< "$output")" = 71 ]
}

@test "choices, where = separates words and where it does not" {
    completes quern annotate --tree = ''
    same "$output" "none
caller
calling
both"
    completes quern annotate --tree =
    same "$output" "none
caller
calling
both"
    completes quern annotate --tree = cal
    same "$output" "caller
calling"
    completes quern annotate --tree=cal
    same "$output" "--tree=caller
--tree=calling"
    completes quern run --rep-count = h
    same "$output" hardware
    completes cg_merge a --to = ca
    same "$output" "cachegrind
callgrind"
    completes quern convert --to sp # this one may be a word of its own
    same "$output" speedscope
    completes quern annotate --tree cal # this one may not
    same "$output" ""
}

@test "several words with commas between" {
    completes quern diff --by = ''
    same "$output" "function
edge
line"
    completes quern diff --by = line,
    same "$output" "line,function
line,edge
line,line"
    completes quern diff --by=line,e
    same "$output" "--by=line,edge"
}

@test "files and folders" {
    mkdir folder 'with blank'
    touch file 'with blank/x' profile
    rm script
    completes quern annotate f
    same "$(sort <<< "$output")" "file
folder"
    completes quern annotate -I f
    same "$output" folder
    completes quern annotate --include = w
    same "$output" 'with blank'
    completes quern diff -o w
    same "$output" 'with blank'
    completes quern merge --output f
    same "$(sort <<< "$output")" "file
folder"
    completes quern run --log-file = p
    same "$output" profile
    completes quern recover --keep -o p
    same "$output" profile
    completes quern annotate --context = f # a number
    same "$output" ""
    touch -- --all
    completes quern check -- --a
    same "$output" "--all"
}

# Two programs that run under quern, as `quern control` lists them.
running() {
    mkdir -p running
    printf '%s\n' '#!/bin/sh' '[ "$*" = control ] && echo "PID 4711: ./prog PID 1: x
PID 4812: sleep 3"' > running/quern
    chmod +x running/quern
}

@test "control, and top --live: the processes that run under quern" {
    running
    touch 4file
    PATH=$PWD/running:$PATH completes quern control 4
    same "$output" "4711
4812"
    PATH=$PWD/running:$PATH completes callgrind_control -b 48
    same "$output" 4812
    PATH=$PWD/running:$PATH completes quern top --live 4
    same "$output" "4711
4812"
    PATH=$PWD/running:$PATH completes quern top 4
    same "$output" 4file
    PATH=$PWD/running:$PATH completes quern annotate --live 4
    same "$output" 4file
    rm running/quern
    printf '%s\n' '#!/bin/sh' 'echo "quern: no program runs under quern" >&2; exit 1' > running/quern
    chmod +x running/quern
    PATH=$PWD/running:$PATH completes quern control ''
    same "$output" ""
}

@test "run: the program, then what the program takes" {
    mkdir programs
    touch programs/quern-test-program quern-test-file
    chmod +x programs/quern-test-program
    PATH=$PWD/programs:$PATH completes quern run --cache-sim = no -o out quern-test-
    same "$output" quern-test-program
    completes quern run -- programs/
    same "$output" programs/quern-test-program
    completes quern run quern-test-program --n # not --native
    same "$output" ""
    completes quern run -o run quern-test-program quern
    same "$output" quern-test-file
    # bash-completion knows the program's own.
    output=$(bash --norc -c '. "$1"; _command_offset() { echo "offset $1"; }
        COMP_WORDS=(quern run --aslr = no git che) COMP_CWORD=6; _quern' - "$COMPLETION")
    same "$output" "offset 5"
}

@test "at a terminal, with the key" {
    touch cachegrind.out.1
    { # A tab completes; `quern` notes what it is called with.
        echo ". '$COMPLETION'; quern() { printf '<%s>' \"\$@\" >> got; echo >> got; }"
        printf 'quern merge --to=cac\tx\n'
        printf 'quern an\t--cont\t3 cache\tx\n'
        printf 'quern diff --by=fu\t,e\t a\n'
        printf 'quern convert --to sp\tx\n'
        printf 'quern run -o cac\tx\n'
        echo exit
    } > keys
    HISTFILE= INPUTRC=/dev/null TERM=dumb timeout 60 \
        script -qec 'bash --norc --noprofile -i' /dev/null < keys > screen
    same "$(< got)" "<merge><--to=cachegrind><x>
<annotate><--context=3><cachegrind.out.1><x>
<diff><--by=function,edge><a>
<convert><--to><speedscope><x>
<run><-o><cachegrind.out.1><x>"
}

@test "zsh: at a terminal, with the key" {
    zsh --version > version 2>&1 || skip "there is no zsh"
    mkdir home
    touch cachegrind.out.1
    {
        echo "fpath=('$BUILD/share/zsh/site-functions' \$fpath); autoload -Uz compinit; compinit -u -D"
        echo "quern() { [[ \$* = control ]] && echo 'PID 4711: a:b' && return"
        echo "printf '<%s>' \"\$@\" >> got; echo >> got; }"
        printf 'quern control 4\tx\n'
        printf 'quern top --live 4\tx\n'
        printf 'quern hel\tx\n'
        printf 'quern merge --to=cac\tx\n'
        printf 'quern an\t--cont\t3 cachegrind\tx\n'
        printf 'quern diff --by=fu\t,e\t a\n'
        printf 'quern convert --to sp\tx\n'
        printf 'quern run -o cachegrind\tx\n'
        printf 'quern run --cpu=n\tx\n'
        printf 'quern help sta\t\n'
        echo exit
    } > keys
    ZDOTDIR=$PWD/home HISTFILE= TERM=dumb timeout 60 \
        script -qec 'zsh -f -i' /dev/null < keys > screen
    same "$(< got)" "<control><4711><x>
<top><--live><4711><x>
<help><x>
<merge><--to=cachegrind><x>
<annotate><--context=3><cachegrind.out.1><x>
<diff><--by=function,edge><a>
<convert><--to><speedscope><x>
<run><-o><cachegrind.out.1><x>
<run><--cpu=native><x>
<help><stat>"
}

@test "fish: what the last word can become" {
    fish --version > version 2>&1 || skip "there is no fish"
    touch cachegrind.out.1
    in_fish() { # without the descriptions
        output=$(XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD fish -c 'source $argv[1]; complete -C $argv[2]' \
            "$BUILD/share/fish/vendor_completions.d/quern.fish" "$1" | cut -f1)
    }
    running
    PATH=$PWD/running:$PATH in_fish 'quern control 4'
    same "$output" "4711
4812"
    PATH=$PWD/running:$PATH in_fish 'quern top --live 48'
    same "$output" 4812
    in_fish 'quern hel'
    same "$output" help
    in_fish 'quern mer'
    same "$output" merge
    in_fish 'quern help sta'
    same "$output" stat
    in_fish 'quern merge --to=ca'
    same "$output" "--to=cachegrind
--to=callgrind"
    in_fish 'cg_merge --th'
    same "$output" --threads
    in_fish 'quern diff --by=function,e'
    same "$output" --by=function,edge
    in_fish 'quern run --cpu=x86-64-v'
    same "$output" "--cpu=x86-64-v2
--cpu=x86-64-v3
--cpu=x86-64-v4"
    in_fish 'quern annotate cachegrind'
    same "$output" cachegrind.out.1
    in_fish 'quern run --aslr=no fis'
    [[ $'\n'$output$'\n' == *$'\n'fish$'\n'* ]]
}

@test "for other shells, and nothing for shells that are not known" {
    # One option of each kind, and the commands.
    "$QUERN" --completion zsh > zsh
    grep -qx "        'merge:sum profiles'" zsh
    grep -qxF "            '*--tree=-[the callers and callees of each function]:value:\
(none caller calling both)' \\" zsh
    grep -qxF "            '*--by=-[what to compare]:value:_values -s , value function edge \
line' \\" zsh
    grep -qxF "            '*-I+[look for sources below DIR]:DIR:_files -/' \\" zsh
    grep -qxF "            '*--mod-filename=-[rewrite names first, for example \
s/build-\\[0-9\\]*/build/]:EXPR:' \\" zsh
    "$QUERN" --completion fish > fish
    grep -qx "complete -c quern -n __fish_use_subcommand -f -a merge -d 'sum profiles'" fish
    grep -qx "complete -c cg_merge -l to -x -a 'cachegrind callgrind' -d 'the format written'" fish
    grep -qx "complete -c quern -n '__fish_seen_subcommand_from run' -s o -r -F -d 'the profile; \
%p is the process id, %q{VAR} the environment variable VAR, %% a percent sign'" fish
    # What completes itself, and how the files begin.
    same "$(bash --norc -c '. "$1" && complete -p' - "$COMPLETION" | sort)" "$(printf \
        'complete -F _quern %s\n' callgrind_annotate callgrind_control cg_annotate cg_diff cg_merge \
        quern quern-valgrind)"
    quern --completion fish
    same "$(head -n 2 <<< "$output")" "# SPDX-License-Identifier: MIT
# Completion of quern for fish; printed by \`quern --completion fish\`."
    quern --completion tcsh
    [ "$status" = 2 ]
    same "$messages" "quern: --completion: tcsh: must be bash, zsh or fish"
}

@test "the files are what --completion prints" {
    for shell in "bash bash-completion/completions/quern" "zsh zsh/site-functions/_quern" \
        "fish fish/vendor_completions.d/quern.fish"; do
        read -r name file <<< "$shell"
        quern --completion "$name"
        [ "$status" = 0 ]
        same "$output" "$(< "$BUILD/share/$file")"
    done
    quern --completion zsh
    same "$(head -n 1 <<< "$output")" "#compdef quern cg_annotate callgrind_annotate callgrind_control \
cg_merge cg_diff quern-valgrind"
    # An argument behind an equals sign alone, one that is attached or apart, and none.
    grep -qF "'*--threshold=-[leave out" <<< "$output"
    grep -qF "'*-I+[look for sources below DIR]:DIR:_files -/'" <<< "$output"
    grep -qF "'*--strict[" <<< "$output"
    quern --completion tcsh
    [ "$status" = 2 ]
}
