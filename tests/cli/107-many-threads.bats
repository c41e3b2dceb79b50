#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern run` of 2,500 threads that are all there at once: more than the 1,120 whose memory has a
# place of its own from the beginning, so that rows of further places are used.

load run

THREADS=2500

# Each thread executes work(): 1 + 2 * 1,000 + 1 = 2,002 instructions, and touch(): 1 + 4 * 64 + 1 =
# 258 with 64 reads (what is read and written is a read) and that of its return. With an argument
# "fork" a child is made when all are there, which executes work() once. With "wait" each thread
# executes work() at once, and the program says "ready" when all have, and waits.
make_threads() {
    cat > threads.c << 'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER, changed = PTHREAD_COND_INITIALIZER;
static int threads, there, go, early;
static char memory[4096];

void work(void);
void touch(char *at);
__asm__(".text\n"
        ".globl work\n.type work, @function\nwork: mov $1000, %ecx\n"
        "1: dec %ecx\njnz 1b\nret\n.size work, .-work\n"
        ".globl touch\n.type touch, @function\ntouch: mov $64, %ecx\n"
        "1: incb (%rdi)\nadd $64, %rdi\ndec %ecx\njnz 1b\nret\n.size touch, .-touch");

static void *run(void *unused)
{
    if (early)
        work();
    pthread_mutex_lock(&lock);
    if (++there == threads)
        pthread_cond_signal(&all_there); // not one signal each: all that wait would wake each time
    while (!go)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    work();
    touch(memory);
    return unused;
}

int main(int argc, char **argv)
{
    int status = 0;
    pthread_t *all;
    pthread_attr_t small;

    threads = atoi(argv[1]);
    all = calloc(threads, sizeof(*all));
    early = argc > 2 && !strcmp(argv[2], "wait");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < threads; i++)
        if (pthread_create(all + i, &small, run, NULL)) {
            printf("%d\n", i);
            exit(3);
        }
    pthread_mutex_lock(&lock);
    while (there < threads)
        pthread_cond_wait(&all_there, &lock);
    if (early) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    if (argc > 2 && !fork()) {
        work();
        _exit(5);
    }
    if (argc > 2)
        wait(&status);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    return 7 + (status >> 8);
}
EOF
    gcc -O1 -o threads threads.c -pthread
    # Each takes a number of a process and, natively, two mappings.
    ./threads $THREADS > made || [ $? = 7 ] || skip "only $(< made) threads can be made here"
    # Without guard regions (madvise 102, Linux 6.13) an area is 17 mappings.
    python3 -c 'import mmap; mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE).madvise(102)' 2> /dev/null ||
        skip "this kernel has no guard regions: fewer threads can be made"
    [ "$(< /proc/sys/vm/max_map_count)" -ge 65530 ] || skip "vm.max_map_count is below 65,530"
    unset QUERN_ENGINE
}

# EVENT of FUNCTION in FILE, as a number.
count_of() { # FILE FUNCTION EVENT
    "$QUERN" convert --to=json --lines=no "$1" | jq --arg name "$2" --arg event "$3" \
        '(.events | map(.name) | index($event)) as $at |
            [.functions[] | select(.name == $name) | .self[$at]] | add // 0'
}

@test "2,500 threads at once: what each executes is counted exactly" {
    make_threads
    # The default and --calls=yes are in the next test, where the same is counted.
    for options in '--cache-sim=no' '--replay=inline --branch-sim=yes'; do
        rm -f out
        quern run -q $options -o out ./threads $THREADS
        [ "$status" = 7 ]
        same "$output$messages" ""
        same "$(count_of out work Ir)" $((THREADS * 2002))
        same "$(count_of out touch Ir)" $((THREADS * 258))
        [ "$options" = --cache-sim=no ] && continue
        same "$(count_of out touch Dr)" $((THREADS * 65))
    done
}

@test "a fork beside 2,500 threads: the child has its own counts" {
    make_threads
    for options in '' '--calls=yes'; do
        rm -f out.*
        quern run -q $options --trace-children=yes -o out.%p ./threads $THREADS fork
        [ "$status" = 12 ]
        same "$output$messages" ""
        for file in out.*; do
            echo "$(count_of "$file" work Ir) $(count_of "$file" touch Ir) $(count_of "$file" touch Dr)"
        done | sort -n > counts
        same "$(< counts)" "2002 0 0
$((THREADS * 2002)) $((THREADS * 258)) $((THREADS * 65))"
    done
}

@test "2,500 threads, killed: the counts up to then are recovered, what was dumped is not in them" {
    make_threads
    for options in '' '--calls=yes'; do
        rm -f out out.1
        mkfifo said
        "$QUERN" run -q $options -o out ./threads $THREADS wait > said 2> stderr &
        pid=$!
        read -r line < said
        rm said
        [ "$line" = ready ]
        [ -z "$options" ] || "$QUERN" control --dump "$pid"
        kill -KILL "$pid"
        wait "$pid" || [ $? = 137 ]
        "$QUERN" recover -q -o out
        expected=$((THREADS * 2002))
        if [ -n "$options" ]; then
            same "$(count_of out.1 work Ir)" $expected
            expected=0
        fi
        same "$(count_of out work Ir)" $expected
    done
}
