#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern run --progress: a process beside the run says how much it has counted so far.

load run

# Three instructions that are executed seven times; the run goes on until there is a file `done`.
counting() {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1 1
counter 0 7
wait done
end exit 4
END
}

@test "a line in the messages at each interval, with what was counted" {
    counting
    "$QUERN" run --progress=1 --cache-sim=no -o out ./prog 2> stderr &
    for i in {1..600}; do
        grep -q ' s: ' stderr && break
        sleep 0.1
    done
    : > "done"
    status=0
    wait $! || status=$?
    [ "$status" = 4 ]
    # Which second it was, the load of the machine decides.
    same "$(sed -nE 's/^==[0-9]+== [1-9][0-9]* s: /N s: /p' stderr | sort -u)" \
        "N s: 21 instructions, 0 million a second"
    [[ "$(tail -n 1 stderr)" == *"I   refs:      21" ]]
}

@test "in the log, and nothing with -q" {
    counting
    "$QUERN" run --progress=1 --cache-sim=no -o out --log-file=log ./prog 2> stderr &
    for i in {1..600}; do
        grep -q ' s: 21 instructions' log && break
        sleep 0.1
    done
    : > "done"
    wait $! || true
    grep -q ' s: 21 instructions' log
    same "$(< stderr)" ""
    rm "done"
    "$QUERN" run -q --progress=1 --cache-sim=no -o out ./prog 2> stderr &
    sleep 1.5
    : > "done"
    wait $! || true
    same "$(< stderr)" ""
}

@test "it ends with the run, and holds nothing open" {
    echo 'end exit 0' > script
    # The readers end at once, not in an hour.
    timeout 60 bash -c '"$0" run --progress=3600 --cache-sim=no -o out true 2>&1 | cat > said' "$QUERN"
    grep -q 'I   refs:' said
}

@test "the program has no child and no descriptor more, and its signals are the caller's" {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    printf '%s\n' '#include <errno.h>' '#include <stdio.h>' '#include <fcntl.h>' \
        '#include <signal.h>' '#include <sys/wait.h>' 'int main(void) {' \
        'struct sigaction a; sigset_t m; sigaction(SIGCHLD, 0, &a); sigprocmask(0, 0, &m);' \
        'int none = wait(0) == -1 && errno == ECHILD;' \
        'printf("%d %d %d", none, a.sa_handler == SIG_IGN, sigismember(&m, SIGINT));' \
        'for (int i = 3; i < 500; i++) if (fcntl(i, F_GETFD) >= 0) printf(" %d", i);' \
        'return 0; }' > alone.c
    gcc -w -o alone alone.c
    native=$(./alone 3>&-)
    [[ "$native" == "1 0 0"* ]]
    for options in -q --progress=3600; do
        same "$("$QUERN" run $options --cache-sim=no -o out ./alone 3>&- 2> stderr)" "$native"
    done
    native=$(trap '' CHLD; ./alone 3>&-)
    [[ "$native" == "1 1 0"* ]]
    same "$(trap '' CHLD; "$QUERN" run --progress=3600 -o out ./alone 3>&- 2> stderr)" "$native"
}

@test "intervals that are none; the process is for run alone" {
    for value in 0 x 86401 ''; do
        quern run --progress=$value true
        [ "$status" = 2 ]
        [[ "$messages" == "quern: --progress=$value: must be a whole number from 1 to 86400" ]]
    done
    quern --progress 3 4 0
    [ "$status" = 2 ]
    same "$messages" 'quern: --progress is for `quern run --progress` alone'
}
