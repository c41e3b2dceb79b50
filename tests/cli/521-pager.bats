#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Long output at a terminal goes through $PAGER. The terminal is a pseudo-terminal (terminal.py), an
# escape character is shown as ^; pagers are scripts of these tests.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    unset NO_COLOR LESS LV PAGER
    export TERM=xterm
    TERMINAL=$BATS_TEST_DIRNAME/terminal.py
    for i in 1 2 3 4 5 6 7; do
        printf '%s\n' "fl=x.c" "fn=f$i" "$i $((100 - i))"
    done | sed '1i events: Ir' > prof
    echo 'summary: 672' >> prof
    seq 9 > x.c
    touch -d '2020-01-01' x.c
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'echo "LESS=$LESS"' 'sed "s/^/P:/"' > bin/less
    printf '%s\n' '#!/bin/sh' 'head -n 1' 'exit 3' > bin/one
    chmod +x bin/*
    PATH=$PWD/bin:$PATH
}

# Standard output and standard error at the terminal.
shown() {
    status=0
    output=$(timeout -k 5 60 python3 "$TERMINAL" - - "$BUILD/bin/quern" "$@") || status=$?
}

@test "annotate goes through less, whose colours are on" {
    shown annotate prof
    [ "$status" = 0 ]
    [ "$(head -n 1 <<< "$output")" = LESS=FRX ]
    same "$(tail -n +2 <<< "$output" | grep -vc ^P:)" 0
    [[ "$output" == *"P:^[33m99^[0m (14.73%)  x.c:f1"* ]]
    # On a terminal the source of five functions of the seven.
    [[ "$output" == *" (14.14%)  5"* && "$output" != *" (13.99%)  6"* ]]
}

@test "without colours where less does not show them, or the pager is another" {
    LESS=F shown annotate prof
    [ "$(head -n 1 <<< "$output")" = LESS=F ]
    [[ "$output" == *"P:99 (14.73%)  x.c:f1"* && "$output" != *^* ]]
    LESS=-R shown annotate prof
    [[ "$output" == *^* ]]
    PAGER='sed s/^/Q:/' shown annotate prof
    [[ "$output" == *"Q:99 (14.73%)  x.c:f1"* && "$output" != *^* ]]
    NO_COLOR=1 shown annotate prof
    [[ "$output" == *"P:99 (14.73%)  x.c:f1"* && "$output" != *^* ]]
}

@test "no pager: --no-pager, an empty PAGER, cat, a dumb terminal, no terminal" {
    shown annotate --no-pager prof
    [[ "$output" == *"^[33m99^[0m (14.73%)  x.c:f1"* && "$output" != *P:* ]]
    PAGER= shown annotate prof
    [[ "$output" == *x.c:f1* && "$output" != *P:* ]]
    PAGER=cat shown annotate prof
    [[ "$output" == *x.c:f1* && "$output" != *P:* ]]
    TERM=dumb shown annotate prof
    [[ "$output" == *x.c:f1* && "$output" != *P:* ]]
    quern annotate prof
    [[ "$output" == *x.c:f1* && "$output" != *P:* ]]
}

@test "without less in the path the output comes all the same" {
    rm bin/less
    output=$(python3 "$TERMINAL" - - env PATH="$PWD/bin" "$BUILD/bin/quern" annotate prof)
    [[ "$output" == *x.c:f1* ]]
}

@test "messages go where the output goes; the status stays" {
    shown annotate --auto=no prof gone.c
    [ "$status" = 2 ]
    [[ "$output" == *"P:quern: gone.c: no such source file"* ]]
    # An error before there is output has no pager.
    shown annotate gone
    [ "$status" = 2 ]
    same "$output" "quern: gone: cannot be opened: No such file or directory"
}

@test "a pager that ends early ends the command silently" {
    seq 100000 > x.c # more than a pipe holds
    touch -d '2020-01-01' x.c
    PAGER=one shown annotate --auto=yes --context=100000 prof
    [ "$status" = 243 ] # SIGPIPE: -13
    [ "$(wc -l <<< "$output")" = 1 ]
    # Also below a caller that ignores SIGPIPE.
    trap '' PIPE
    PAGER=one shown annotate --auto=yes --context=100000 prof
    [ "$(wc -l <<< "$output")" = 1 ]
}

@test "a signal waits for the pager: the shell must not read the keyboard meanwhile" {
    cat > bin/slow << 'END'
#!/bin/sh
kill -INT $PPID
cat > /dev/null
sleep 0.5
echo pager ends >> said
END
    chmod +x bin/slow
    PAGER='exec slow' timeout -k 5 60 python3 "$TERMINAL" - - sh -c \
        '"$0" annotate prof; echo "status $?" >> said' "$BUILD/bin/quern"
    # SIGINT: 128 + 2.
    same "$(cat said)" "pager ends
status 130"
}

@test "no signal is blocked in the pager, nor in quern while it runs" {
    # What quern has written is there: it has gone on behind the start of the pager. Without a child,
    # before which the shell blocks signals for a moment.
    cat > bin/masks << 'END'
#!/bin/sh
read line
for id in $$ $PPID; do
    while read name value; do
        [ "$name" != SigBlk: ] || echo "$name $value"
    done < /proc/$id/status
done
cat > /dev/null
END
    chmod +x bin/masks
    PAGER='exec masks' shown annotate prof
    [ "$status" = 0 ]
    same "$(tr -d '\r' <<< "$output")" "SigBlk: 0000000000000000
SigBlk: 0000000000000000"
}
