#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern run --serialize-threads=yes`: the caches' state goes with the turn from thread to thread.

load run

@test "--serialize-threads: where the turn passes is a matter of time, nothing of the caches is lost" {
    unset QUERN_ENGINE
    # Two threads write to the same 256 lines, 4 of each of D1's 64 sets, over and over. Each misses
    # once, whenever the turn passes: between the barriers no other code uses a set's 8 ways up.
    cat > fit.c << 'END'
#include <pthread.h>
static pthread_barrier_t all;
static char lines[16384] __attribute__((aligned(16384)));
static void *work(void *p)
{
    volatile char *b = p;

    pthread_barrier_wait(&all);
    for (int round = 0; round < 50000; round++)
        for (int i = 0; i < 16384; i += 64)
            b[i] = 1;
    pthread_barrier_wait(&all);
    return 0;
}
int main(void)
{
    pthread_t t;

    pthread_barrier_init(&all, 0, 2);
    pthread_create(&t, 0, work, lines);
    work(lines);
    return pthread_join(t, 0);
}
END
    gcc -O1 -g -pthread -o fit fit.c
    for options in --cache-sim=yes --branch-sim=yes --calls=yes --replay=off; do
        "$QUERN" run -q --serialize-threads=yes --D1=32768,8,64 --LL=8388608,16,64 $options -o out ./fit
        same "$options: $("$QUERN" convert --to=csv out | tr -d "\r" | awk -F, '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            /fit\.c/ && $at["line"] == 11 { print $at["Dw"], $at["D1mw"], $at["DLmw"] }')" \
            "$options: 25600000 256 256"
    done
}
