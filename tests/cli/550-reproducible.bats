#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --reproducible=yes: what a program sees of it, and what is refused. That counts are the same is
# tests/reproducible's.

load run

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
}

pinned() {
    quern run -q --cache-sim=no --reproducible=yes -o out "$@"
}

@test "the environment: three variables, and those that are named" {
    real
    export GIVEN=1 OTHER=2
    pinned env
    same "$output" "LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
TZ=UTC0"
    pinned --env=OTHER --env=NOWHERE --env=TZ=Asia/Tokyo --env=E= env
    same "$output" "LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
OTHER=2
TZ=Asia/Tokyo
E="
    pinned --trace-children=yes env A=B cat /proc/self/environ
    same "$(tr '\0' '\n' < stdout | tail -n 1)" "A=B"
    quern run --env=OTHER true
    [ "$status" = 2 ]
    same "$messages" "quern: --env: only with --reproducible=yes; without it use env(1)"
    pinned --env==1 env
    [ "$status" = 2 ]
}

@test "random numbers, limits, signals, the name of the spool" {
    real
    (
        trap '' INT QUIT PIPE
        ulimit -Ss 4096
        ulimit -Sn 512
        pinned sh -c 'ulimit -s; ulimit -n; ls quern.spool.*; grep "^SigIgn" /proc/self/status'
        same "$output" "8192
1024
quern.spool.0
SigIgn:	0000000000000000"
    )
    for i in 1 2; do
        pinned perl -e '$b = "\0" x 16; syscall(318, $b, 16, 0) == 16 or die; print unpack("H*", $b)'
        echo "$output" > random$i
    done
    same "$(< random1)" "$(< random2)"
    [ "$(wc -c < random1)" = 33 ]
}

@test "addresses: the same whatever the kernel chooses" {
    real
    cat > where.c << 'END_C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
extern char end[];
int main(int argc, char **argv)
{
    char *a = mmap(0, 5 << 20, 3, 34, -1, 0), *b = mmap(0, 4096, 3, 34, -1, 0);
    printf("%p %p %p\n", end, a, b);
    munmap(a, 5 << 20);
    a = mmap(0, 8192, 3, 34, -1, 0); // in the gap, at its upper end
    b = mremap(b, 4096, 1 << 20, MREMAP_MAYMOVE);
    printf("%p %p %p %p\n", sbrk(0), a, b, (void *)argv);
    printf("%p %p\n", (void *)argv[0], (void *)argv[1]);
    return 0;
}
END_C
    gcc -o where where.c
    pinned ./where x
    first=$output
    mkdir "$(printf '%0200d' 0)"
    cp where 0*/
    LONG=$(printf '%020000d' 0) pinned 0*/where "$(printf '%03000d' 0)"
    same "$output" "$first"
    # The arrays begin 1 MiB below the end of the stack, behind argc; strings 64 KiB above that.
    same "$(sed -n '2s/.* //p' <<< "$first")" 0x7e8fbfe00008
    [[ "$(sed -n 3p <<< "$first")" = 0x7e8fbfe* ]]
}

@test "what goes not together, and a limit that cannot be" {
    real
    quern run --reproducible=yes --aslr=yes true
    [ "$status" = 2 ]
    same "$messages" "quern: --reproducible=yes: not with --aslr=yes or --at-random=kernel"
    ulimit -Ss 4096
    ulimit -Hs 4096
    quern run --reproducible=yes true
    [ "$status" = 2 ]
    same "$messages" \
        "quern: --reproducible=yes: the stack cannot be 8388608 here: its hard limit is lower"
}

@test "another processor is kept" {
    real
    quern run --reproducible=yes --cpu=native -o out true
    [ "$status" = 0 ]
    same "$(grep -c 'model of --cpu' <<< "$messages")" 0
    quern run --reproducible=yes --cpu=x86-64 -o out true
    grep -q 'D1 65,536 B, 2-way, 64 B lines; .*; from the model of --cpu' <<< "$messages"
}

# The counts of a command in this folder.
counted() {
    "$QUERN" run --reproducible=yes -o out "$@" 2> messages > stdout
    sed -n 's/^==[0-9]*== //; /^I *refs:/p; /^D *refs:/p' messages
}

# A program knows its folder by what getcwd says, and by argv[0], where the C library looks for the
# last slash. Neither the environment nor AT_EXECFN tells; the addresses of all these are pinned.
@test "folders: the same counts where neither argv[0] nor getcwd tells the name" {
    real
    long=$(printf '%0100d' 0)
    mkdir a b "$long"
    for folder in a b "$long"; do
        cp /bin/true "$folder/program"
        (
            cd "$folder"
            { counted ./program; counted /bin/true; } > counts
            same "$(grep -c refs counts)" 4
            # Of names of one length a shell counts the same; from / it has no other.
            counted sh -c 'echo $((6 * 7))' > shell
            counted env -C / sh -c 'echo $((6 * 7))' > root
        )
    done
    cmp a/counts b/counts
    cmp a/counts "$long/counts"
    cmp a/shell b/shell
    cmp a/root "$long/root"
}

@test "folders: the same counts of a shell in alone.sh, which pins the name" {
    real
    timeout 20 "$ROOT/docs/ci/alone.sh" true 2> why || skip "alone.sh: $(head -n 1 why)"
    long=$(printf '%0100d' 0)
    mkdir a "$long"
    for folder in a "$long"; do
        (
            cd "$folder"
            timeout 60 "$ROOT/docs/ci/alone.sh" "$QUERN" run --reproducible=yes -o out \
                sh -c 'echo $((6 * 7))' 2> messages > stdout
            same "$(< stdout)" 42
            sed -n 's/^==[0-9]*== //; /refs:/p' messages > counts
            [ -s counts ]
        )
    done
    cmp a/counts "$long/counts"
}
