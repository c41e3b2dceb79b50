#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern-finish, the finisher that has the symbol cache alone: what it writes, and when it leaves that
# to quern. That all else is as with quern is shown by the other tests of the finisher, which begin
# with this one (run.bash).

load run

# A tree of the built files, whose quern-whole can lose its permission to be executed, so that it
# is seen who finishes.
tree() {
    unset QUERN_ENGINE QUERN_TEST_SPOOL QUERN_TEST_FINISHER
    mkdir -p tree/bin tree/libexec/quern spool
    cp -p "$(readlink -f "$QUERN")" tree/bin/quern
    cp -p "$BUILD"/libexec/quern/quern-{engine,finish,whole} tree/libexec/quern
    QUERN=$FOLDER/tree/bin/quern
    WHOLE=$FOLDER/tree/libexec/quern/quern-whole
    gcc -O1 -o mode -x c - << 'END'
#include <stdlib.h>
#include <sys/stat.h>
int main(int argc, char **argv) { return argc != 3 || chmod(argv[2], strtol(argv[1], NULL, 8)) ? 1 : 7; }
END
    MODE=755
}

# The program takes quern its permission, or leaves it as it is ($MODE). (It was a shell that executed chmod: what
# a shell does depends on when its child ends.)
run_mode() {
    status=0
    "$QUERN" run -q --symbol-cache=kept --spool-dir=spool -o out "$@" -- \
        ./mode $MODE tree/libexec/quern/quern-whole 2> stderr || status=$?
    chmod 755 tree/libexec/quern/quern-whole
}

@test "what is known is written without quern, and the same" {
    tree
    mv tree/libexec/quern/quern-finish kept-finisher
    run_mode
    [ $status = 7 ]
    run_mode
    grep -v '^pid:' out > whole
    mv kept-finisher tree/libexec/quern/quern-finish
    run_mode
    cmp whole <(grep -v '^pid:' out)
    MODE=644
    rm out
    run_mode
    [ $status = 7 ]
    same "$(< stderr)" ""
    [ -s out ]
    [ "$(grep -c '^fn=' out)" -gt 100 ]
    [ -z "$(ls spool)" ]
}

@test "what is not known is left to quern, and when there is none the spool stays" {
    tree
    MODE=644
    run_mode
    [ $status = 7 ]
    [ ! -e out ]
    [[ "$(< stderr)" == "quern: $WHOLE: cannot be executed"*"the counts are kept: "* ]]
    [ ! -e kept ]
    "$QUERN" recover -q -o out spool/quern.spool.*
    [ -s out ]
    rm -f out spool/*
    MODE=755
    run_mode
    [ $status = 7 ]
    [ -n "$(ls kept)" ] # by quern
    [ -z "$(ls spool)" ]
    [ -s out ]
}

@test "a run that it does not know is left to quern: call graph, code" {
    tree
    run_mode
    MODE=644
    for option in --calls=yes --dump-code=code --children=merge; do
        rm -f out
        run_mode $option
        [ $status = 7 ]
        [[ "$(< stderr)" == "quern: $WHOLE: cannot be executed"*"the counts are kept: "* ]]
        rm -rf spool/*
        MODE=755
        run_mode $option
        [ -s out ]
        MODE=644
    done
}

@test "a sentence is said once, by quern" {
    tree
    "$QUERN" run -q --symbol-cache=kept -o out /bin/true
    "$QUERN" run -q --symbol-cache=kept --spool-dir=spool -o gone/out /bin/true 2> stderr || true
    [ "$(wc -l < stderr)" = 1 ]
    [[ "$(< stderr)" == *"gone/out: cannot be written: No such file or directory; the counts are kept:"* ]]
}

@test "the summary is the same, also as JSON" {
    tree
    for option in --cache-sim=yes --summary=json -v; do
        run_mode "$option"
        # Without superblocks: what looks for them counts as an exit to the dispatcher, and comes by
        # time.
        "$QUERN" run --symbol-cache=kept --cache-sim=no -o out $option --no-superblocks \
            /bin/true 2> quick
        mv tree/libexec/quern/quern-finish kept-finisher
        "$QUERN" run --symbol-cache=kept --cache-sim=no -o out $option --no-superblocks \
            /bin/true 2> whole
        mv kept-finisher tree/libexec/quern/quern-finish
        cmp <(sed -E 's/==[0-9]+==//; s/"pid":[0-9]+//; /translat|profile/d' quick) \
            <(sed -E 's/==[0-9]+==//; s/"pid":[0-9]+//; /translat|profile/d' whole)
        [ -s quick ]
    done
}
