#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A spool is input: what a stranger wrote, or a client that had given up its rights, decides neither
# which files `quern recover` writes nor what their lines are.

load run

# As the user nobody, where root runs the tests.
NOBODY=65534

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root, to own files as somebody else"
    command -v setpriv > /dev/null || skip "needs setpriv"
}

# A killed run whose spool has the further lines of a script: what a client may write there.
rewritten_run() { # OPTION... < LINES
    make_prog
    { printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21'; cat
        echo 'end killed'; } > script
    quern run -q --cache-sim=no "$@" ./prog
    [ "$status" = 137 ]
    spool=$(ls | grep '^quern.spool' | grep -v code)
    pid=${spool##*.}
}

@test "no name in a spool is followed: all that is written lies beside it" {
    mkdir victim
    for file in output counts code cache; do echo precious > victim/$file; done
    mkdir victim/tree
    echo precious > victim/tree/1
    rewritten_run --dump-counts=c --dump-code=d << END
text output $PWD/victim/output
text dump_counts $PWD/victim/counts
text dump_code $PWD/victim/code
text symbol_cache $PWD/victim
text tree $PWD/victim/tree
text spool $PWD/victim/cache
flags $((1 << 50))
END
    rm -r prog.S script
    quern recover
    [ "$status" = 0 ]
    same "$(ls)" "cachegrind.out.$pid
cachegrind.out.$pid.code
cachegrind.out.$pid.counts
prog
stderr
stdout
victim"
    same "$(cat victim/output victim/counts victim/code victim/cache victim/tree/*)" "precious
precious
precious
precious
precious"
    same "$(ls victim)" "cache
code
counts
output
tree"
    same "$output" "$PWD/cachegrind.out.$pid: the profile of process $pid, recovered after it was \
killed; complete up to that moment: ./prog
$PWD/cachegrind.out.$pid: the run was told to write $PWD/victim/output; what is recovered lies \
beside the spool, or where -o FILE says"
    same "$(tail -n 1 cachegrind.out.$pid)" "summary: 42"
}

@test "a name that a program may look for is not taken, nor is a file replaced that is no profile" {
    for name in GNUmakefile .profile conftest.py quern.spool.1 out.mk 'a b.out' -out \
        'x.%q{HOME}.out' ''; do
        rewritten_run <<< "text output $PWD/$name"
        quern recover -q
        [ "$status" = 0 ]
        [ "$(tail -n 1 cachegrind.out.$pid)" = "summary: 42" ]
        rm cachegrind.out.$pid
        [ ! -e "$name" ] || [ -z "$name" ]
    done
    for name in out my-prof a.out.7 callgrind.out.12-03 x.profile; do
        rewritten_run <<< "text output $PWD/$name"
        quern recover -q
        [ "$status" = 0 ]
        [ "$(tail -n 1 -- $name)" = "summary: 42" ]
        rewritten_run <<< "text output $PWD/$name" # an older profile is replaced
        quern recover -q
        [ "$status" = 0 ]
        rm -- $name
    done
    echo precious > out
    rewritten_run <<< "text output $PWD/out"
    quern recover -q
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: out: is there, and is no profile of this user; -o FILE \
writes the profile elsewhere"
    same "$(cat out)" precious
    ln -sf victim out
    quern recover -q
    [ "$status" = 2 ]
    [ ! -e victim ]
    quern recover -q -o other
    [ "$status" = 0 ]
    [ "$(tail -n 1 other)" = "summary: 42" ]
}

@test "a text of a spool stays in its line" {
    mkdir $'li\nne'
    cd $'li\nne'
    export QUERN_TEST_SPOOL=$PWD/script
    rewritten_run --dump-counts=c << 'END'
text cmd ./prog\nfn=evil\n1 99
text desc I1 cache: a\nsummary: 7\nno colon\n\nfn=other
END
    quern recover
    [ "$status" = 0 ]
    folder=${FOLDER}/"li ne"
    same "$(< cachegrind.out.$pid)" "desc: I1 cache:         a
desc: summary: 7
cmd: ./prog fn=evil 1 99
events: Ir
fl=$folder/prog.S
fn=f
4 21
5 21
summary: 42"
    same "$(< cachegrind.out.$pid.counts)" "401000 21 $folder/prog+1000
401001 21 $folder/prog+1001"
    same "$output" "$FOLDER/li\\nne/cachegrind.out.$pid: the profile of process $pid, recovered after it \
was killed; complete up to that moment: ./prog\\nfn=evil\\n1 99"
    rm cachegrind.out.*
    # The same of the finisher, and of a call graph.
    sed -i 's/^end killed/end exit 0/' script
    quern run -q --cache-sim=no --calls=yes -o out ./prog
    [ "$status" = 0 ]
    same "$(grep -c '^fn=' out)" 1
    same "$(grep '^cmd\|^desc: [^T]' out)" "cmd: ./prog fn=evil 1 99
desc: I1 cache: a
desc: summary: 7"
}

@test "an escape in a text is not one on the terminal" {
    rewritten_run <<< "text cmd ./prog $(printf '\033')[2Jx"
    quern recover
    [ "$status" = 0 ]
    same "$output" "$PWD/cachegrind.out.$pid: the profile of process $pid, recovered after it was \
killed; complete up to that moment: ./prog \\033[2Jx"
}

@test "the spool of another user is refused, whatever it says" {
    need_root
    mkdir victim sticky
    echo precious > victim/file
    rewritten_run << END
text output $PWD/victim/file
text cmd ./prog\nfn=evil
END
    mv "$spool" sticky
    chmod 1777 sticky
    chown $NOBODY sticky/"$spool"
    cd sticky
    user=$(getent passwd $NOBODY | cut -d: -f1)
    quern recover
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: belongs to user $user, who may have written anything \
into it; recover it with the rights of that user: sudo -u '$user' quern recover quern.spool.PID"
    quern recover -o ../out "$spool"
    [ "$status" = 2 ]
    same "$(cat ../victim/file)" precious
    same "$(ls)" "$spool
stderr
stdout"
    # A name is not a command of root's either.
    mv "$spool" 'quern.spool.1;$(id)'
    quern recover
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID;\$(id): belongs to user $user, who may have written \
anything into it; recover it with the rights of that user: sudo -u '$user' quern recover \
quern.spool.PID\\;\\\$\\(id\\)"
    mv 'quern.spool.1;$(id)' "$spool"
    # Nor root's by nobody.
    chown 0 "$spool"
    rm stdout stderr
    run setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups "$QUERN" recover
    [ "$status" = 2 ]
    same "$output" "quern: $spool: belongs to user root, who alone can recover it"
}

@test "what is no file of this user's own, and folders that are not, are refused" {
    rewritten_run < /dev/null
    ln -s "$spool" link
    mkfifo quern.spool.fifo
    quern recover link
    [ "$status" = 2 ]
    same "$messages" "quern: link: is a symbolic link; name the spool itself"
    quern recover quern.spool.fifo
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.fifo: not a spool of quern"
    chmod 622 "$spool"
    quern recover "$spool"
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: others may write to it, and may have; \`chmod go-w\` \
if they have not"
    chmod 600 "$spool"
    chmod 777 .
    quern recover "$PWD/$spool"
    [ "$status" = 2 ]
    same "$messages" "quern: $PWD/quern.spool.PID: others may exchange what is in the folder $PWD; \
move the spool to a folder where you alone may write, and recover it there"
    chmod 1777 .
    quern recover -q "$spool"
    [ "$status" = 0 ]
    [ "$(tail -n 1 cachegrind.out.$pid)" = "summary: 42" ]
}

@test "a program that has given up root, and rewrites its own spool" {
    need_root
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    mkdir victim
    echo precious > victim/file
    chmod 755 . victim
    cat > evil.c << 'END'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/spool.h"

static char *base;

static uint32_t text(const char *s)
{
    struct spool_header *h = (struct spool_header *)base;
    uint32_t at = (uint32_t)h->text_used;

    strcpy(base + SPOOL_TEXT_OFF + at, s);
    h->text_used += strlen(s) + 1;
    return at;
}

int main(int argc, char **argv)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];

    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    while (!base && fgets(line, sizeof(line), maps)) {
        unsigned long at;

        if (strstr(line, "quern.spool.") && sscanf(line, "%lx", &at) == 1)
            base = (char *)at;
    }
    if (base && argc == 2) {
        struct spool_header *h = (struct spool_header *)base;

        h->s_output = h->s_dump_counts = h->s_dump_code = h->s_symbol_cache = text(argv[1]);
        h->s_cmd = text("evil\nfn=evil\n1 99");
        puts("rewritten");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    return 2;
}
END
    gcc -I"$ROOT" -o evil evil.c
    unset QUERN_ENGINE
    quern run -q --cache-sim=no ./evil "$PWD/victim/file"
    [ "$status" = 137 ]
    same "$output" rewritten
    pid=$(ls -d quern.spool.* | sed 's/.*\.//')
    quern recover -q
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(cat victim/file)" precious
    same "$(ls victim)" file
    same "$(grep -n '^cmd\|^fn=evil' cachegrind.out.$pid)" "$(grep -n ^cmd cachegrind.out.$pid)"
    same "$(grep ^cmd cachegrind.out.$pid)" "cmd: evil fn=evil 1 99"
}
