#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Below the summary of a run: what its profile does not show, and on a terminal where it is and what
# to do next. Mostly with the stand-in for the engine (tests/cli/engine.c).

load run

# `quern` with standard error at a terminal.
at_terminal() {
    status=0
    messages=$(python3 "$BATS_TEST_DIRNAME/terminal.py" out - "$QUERN" "$@") || status=$?
    messages=$(sed -E 's/ $/ $/; s/==[0-9]+==/==PID==/; s/out\.[0-9]+/out.PID/g' <<< "$messages")
}

# The messages from the summary on.
summary() {
    sed -n '/I   refs/,$p' <<< "$messages"
}

# 100 executions of prog's function, a byte each; $1 of code at 0x500000, in a mapping with the
# flags $2, without a name.
generated() {
    make_prog
    script << END
map 0x401000 0x402000 0x1000 @ 0
map 0x500000 0x501000 0 ${3:--} $2
block 0x401000 0 1
block 0x500000 1 1
counter 0 $((1000 - $1))
counter 1 $1
end exit 0
END
}

@test "on a terminal: where the profile is, and what reads it" {
    at_terminal run --cache-sim=no true
    [ "$status" = 0 ]
    same "$(summary)" '==PID== I   refs:      0
==PID== $
==PID== Profile: cachegrind.out.PID
==PID==   quern annotate cachegrind.out.PID        functions and source lines
==PID==   quern report --open cachegrind.out.PID   the same in a browser'
    [ "$(ls cachegrind.out.* | wc -l)" = 1 ]
}

@test "the name can be typed where the run was started; a file elsewhere has its whole path" {
    mkdir -p 'a folder' "$BATS_TEST_TMPDIR/other"
    at_terminal run --cache-sim=no -o 'a folder/x' true
    [[ "$messages" == *'Profile: a\ folder/x'* ]]
    [[ "$messages" == *'quern report --open a\ folder/x   the'* ]]
    at_terminal run --cache-sim=no -o "$BATS_TEST_TMPDIR/other/x" true
    [[ "$messages" == *"Profile: $BATS_TEST_TMPDIR/other/x"* ]]
    at_terminal run --cache-sim=no --calls=yes --separate-threads=yes -o x true
    [[ "$messages" == *'quern annotate x-01  '* ]]
}

@test "nothing of it in a pipe, a file or a log, with -q, in JSON, and where no file was written" {
    quern run --cache-sim=no true
    same "$(summary)" '==PID== I   refs:      0'
    at_terminal run --cache-sim=no --log-file=log true
    same "$messages" ""
    same "$(grep -c Profile: log)" 0
    at_terminal run -q --cache-sim=no true
    same "$messages" ""
    at_terminal run --summary=json --cache-sim=no true
    [ "$(wc -l <<< "$messages")" = 1 ]
    [[ "$messages" == '{'*'}' ]]
    at_terminal run --cache-sim=no -o /dev/null true
    same "$(summary)" '==PID== I   refs:      0'
}

@test "a forked child says where its profile is, and no more" {
    echo "flags $((1 << 14))" | cat - script > more # SPOOL_F_FORKED
    mv more script
    at_terminal run --cache-sim=no true
    same "$(summary)" '==PID== I   refs:      0
==PID== $
==PID== Profile: cachegrind.out.PID'
}

@test "a profile that replaces another process's of the run" {
    # The other process: writes the same file meanwhile.
    printf '%s\n' 'print go' 'wait done' 'end exit 0' > script
    mkfifo pipe
    "$QUERN" run --cache-sim=no -o same true > pipe 2> stderr &
    read -r word < pipe
    sleep 0.1 # times of files are those of the last tick
    echo other > same
    : > "done"
    wait $!
    same "$(sed -E 's/==[0-9]+==/==PID==/; s/ $/ $/' stderr | tail -n 2)" '==PID== $
==PID== same held the profile of another process of this run, which this one has replaced; -o same.%p keeps all, --children=merge sums them'
    # A file of before the run is replaced in silence; %p has no other process's.
    echo 'end exit 0' > script
    touch -d '1 hour ago' same
    quern run --cache-sim=no -o same true
    [[ "$messages" != *replaced* ]]
}

@test "children that were forked: the last profile says what became of the others" {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    printf '%s\n' '#include <sys/wait.h>' '#include <unistd.h>' \
        'int main(void) { for (int i = 0; i < 3; i++) if (!fork()) return 0;' \
        'while (wait(0) > 0) {} return 0; }' > family.c
    gcc -o family family.c
    quern run --cache-sim=no -o same ./family
    [ "$status" = 0 ]
    same "$(grep -c replaced <<< "$messages")" 1
    [[ "${messages##*$'\n'}" == "==PID== same held the profile of another process"* ]]
    quern run --cache-sim=no -o same.%p ./family
    [[ "$messages" != *replaced* ]]
    [ "$(ls same.* | wc -l)" = 4 ]
    quern run --cache-sim=no --children=merge -o same ./family
    [[ "$messages" != *replaced* ]]
    quern run -q --cache-sim=no -o same ./family
    same "$messages" ""
}

@test "generated code without names, from a hundredth of the instructions on" {
    generated 361 2
    quern run --cache-sim=no ./prog
    same "$(summary)" '==PID== I   refs:      1,000
==PID== $
==PID== 36.1% of the instructions are generated code without names, shown as ???; names are read from /tmp/perf-PID.map and jitdump files, which many compilers write on request'
    generated 10 2
    quern run --cache-sim=no --calls=yes ./prog
    [[ "$messages" == *'==PID== 1.0% of the instructions are generated code'* ]]
    generated 9 2
    quern run --cache-sim=no ./prog
    [[ "$messages" != *generated* ]]
    generated 361 2
    quern run -q --cache-sim=no ./prog
    same "$messages" ""
    # A file that is gone is no generated code (SPOOL_MAP_LOST and SPOOL_MAP_DELETED).
    generated 361 12 /gone
    quern run --cache-sim=no ./prog
    [[ "$messages" == */gone* && "$messages" != *generated* ]]
}

@test "generated code with names is not mentioned" {
    generated 361 2
    pid=$BASHPID
    sed -i "s/^end/pid $pid\nend/" script
    [ ! -e "/tmp/perf-$pid.map" ] || skip "/tmp/perf-$pid.map is there already"
    printf '500000 1000 jitted\n' > "/tmp/perf-$pid.map"
    touch -d 'next minute' "/tmp/perf-$pid.map"
    quern run --cache-sim=no -o out ./prog
    rm "/tmp/perf-$pid.map"
    grep -qx 'fn=jitted' out
    [[ "$messages" != *generated* ]]
}

@test "who can name generated code, by the program" {
    generated 500 2
    for name in node python3.13 java dotnet; do
        cp prog $name
        quern run --cache-sim=no ./$name
        case $name in
        node) [[ "$messages" == *'shown as ???; `node --perf-basic-prof` names it' ]] ;;
        python*) [[ "$messages" == *'shown as ???; `python3 -X perf` names it (3.12 and later)' ]] ;;
        java) [[ "$messages" == *'`java -XX:+DumpPerfMapAtExit` names it (17 and later)' ]] ;;
        dotnet) [[ "$messages" == *'DOTNET_PerfMapEnabled=1 in the environment names it' ]] ;;
        esac
    done
}

@test "programs that were executed and not profiled" {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    cat > runs.c << 'END'
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *words[] = { "true", 0 };

// How often each letter stands in argv[1]: s posix_spawn, f fork and exec, n an exec that fails, c a
// child that executes nothing, e exec.
int main(int argc, char **argv)
{
    for (const char *how = argv[1]; *how; how++) {
        pid_t pid = 0;

        if (*how == 's')
            posix_spawn(&pid, "/bin/true", 0, 0, words, words + 1);
        else if (*how == 'n')
            execv("/nonexistent/true", words), execv("/etc/passwd", words), execv("/", words);
        else if (*how == 'e' || (pid = fork()) == 0) {
            if (*how != 'c')
                execv("/bin/true", words);
            return 1;
        }
        if (pid)
            waitpid(pid, 0, 0);
    }
    return 0;
}
END
    gcc -w -o runs runs.c
    # Of the last process that says it.
    said() {
        quern run --cache-sim=no "$@"
        [ "$status" = 0 ]
        native=$(sed -n 's/^==PID== \(.*unprofiled.*\)/\1/p' <<< "$messages" | tail -n 1)
    }
    said ./runs s
    same "$native" "1 program that it executed ran unprofiled: /bin/true; --trace-children=yes profiles it, too"
    said ./runs ssnfff
    same "$native" \
        "5 programs that it executed ran unprofiled, the first /bin/true; --trace-children=yes profiles them, too"
    said ./runs ff
    same "$native" "2 programs that it executed ran unprofiled; --trace-children=yes profiles them, too"
    said ./runs e
    same "$native" "1 program that it executed ran unprofiled: /bin/true; --trace-children=yes profiles it, too"
    said ./runs nc
    same "$native" ""
    said --trace-children=yes ./runs sf
    same "$native" ""
    said --children=merge -o all ./runs sf
    same "$native" ""
    quern run -q --cache-sim=no ./runs sfe
    same "$messages" ""
}
