#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --children=merge: one profile of a program and of all processes that it makes. How often a function
# goes round in each of them is in the source.

bats_require_minimum_version 1.5.0
load run

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
    cat > family.c << 'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noinline)) void work(int n)
{
    while (n--)
        sum++;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "child") == 0) {
        work(argc > 2 ? 20000 : 10000);
        return 0;
    }
    if (strcmp(how, "exec") == 0)
        execl("./family", "./family", "child", (char *)0);
    work(1000);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            work(100 * i);
            if (i == 2)
                execl("./family", "./family", "child", (char *)0);
            _exit(i);
        }
    for (int i = 0; i < 3; i++)
        wait(0);
    if (strcmp(how, "late") == 0 && fork() == 0) { // ends when its parent has ended
        pid_t parent = getppid();

        for (int i = 0; i < 5000 && kill(parent, 0) == 0; i++)
            usleep(2000);
        work(50000);
        return 0;
    }
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    return 7;
}
END
    gcc -O1 -g -o family family.c
}

of_work() { # FILE: executions of work()'s instructions
    awk '/^fn=/ { in_work = $0 == "fn=work" } in_work && /^[0-9]/ { n += $2 } END { print n }' "$1"
}

# n rounds of work() cost a + b n. `one` is a profile of 10,000 rounds. Checks that `all` has CALLS
# calls of work() with ROUNDS rounds in all.
work_is() { # CALLS ROUNDS
    local one all b

    "$QUERN" run -q --cache-sim=no -o one ./family child
    "$QUERN" run -q --cache-sim=no -o two ./family child 2
    one=$(of_work one)
    b=$((($(of_work two) - one) / 10000))
    [ "$b" -ge 3 ]
    [ "$(of_work all)" = $(($1 * (one - 10000 * b) + $2 * b)) ]
}

# The program, 1000; two children, 0 and 100; 10,000 of what the third executes. What that did
# before is in nobody's profile.
@test "every instruction of all processes is in one profile, once" {
    real
    run "$QUERN" run -q --children=merge --cache-sim=no -o all ./family
    [ "$status" = 7 ]
    [ "$output" = "" ]
    work_is 4 11100
    [ "$(ls -d quern.* 2>/dev/null)" = "" ]
    # All events, of one process: as in a profile of its own.
    run "$QUERN" run -q --children=merge --cache-sim=yes --branch-sim=yes -o all ./family exec
    [ "$status" = 0 ]
    run "$QUERN" run -q --trace-children=yes --cache-sim=yes --branch-sim=yes -o one ./family exec
    diff all one
}

@test "not with a profile for each thread" {
    run "$QUERN" run --children=merge --calls=yes --separate-threads=yes true
    [ "$status" = 2 ]
    [[ "$output" == *"not with --children=merge"* ]]
}

@test "the summary is that of all processes" {
    real
    run "$QUERN" run --children=merge --cache-sim=no -o all ./family
    [ "$status" = 7 ]
    total=$(sed -n 's/^summary: //p' all)
    [ "$(grep -c 'I   refs:' <<< "$output")" = 1 ]
    [ "$(sed -n 's/.*I   refs: *//p' <<< "$output" | tr -d ,)" = "$total" ]
    # Three instructions or more in each round of work().
    [ "$total" -gt $((11100 * 3)) ]
}

@test "a process that ends after the program is added to its profile" {
    real
    run "$QUERN" run -q --children=merge --cache-sim=no -o all ./family late
    [ "$status" = 7 ]
    for i in $(seq 200); do
        [ "$(ls -d quern.* 2>/dev/null)" = "" ] && break
        sleep 0.1
    done
    [ "$(ls)" = "$(printf '%s\n' all family family.c)" ]
    "$QUERN" check all
    work_is 5 61100
}

@test "a program that is killed: recover sums what its children left" {
    real
    run "$QUERN" run -q --children=merge --cache-sim=no -o all ./family killed
    [ "$status" = 137 ]
    [ ! -e all ]
    [ "$(ls -d quern.tree.* | wc -l)" = 1 ]
    [ "$(ls quern.tree.*/* | wc -l)" = 3 ]
    cp -r . ../copy
    run "$QUERN" recover -o all
    [ "$status" = 0 ]
    [ "$(ls -d quern.* 2>/dev/null)" = "" ]
    work_is 4 11100
    # Beside the spool, under the usual name, where none is given: "all" might be anything.
    cp all ../all
    cd ../copy
    run "$QUERN" recover
    [ "$status" = 0 ]
    [ "$(ls -d quern.* 2>/dev/null)" = "" ]
    [ ! -e all ]
    cmp ../all cachegrind.out.*
}

@test "the counted time of a forked child goes on" {
    real
    cat > time.c << 'END'
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

int main(void)
{
    unsigned long long before = __rdtsc(), after;
    int status;

    if (fork() == 0)
        _exit(__rdtsc() <= before);
    wait(&status);
    after = __rdtsc();
    // In between are a fork and a wait, not the child.
    return (status != 0) + 2 * (after <= before || after - before > 100000);
}
END
    gcc -O1 -o time time.c
    run "$QUERN" run -q --tsc=counted --children=merge --cache-sim=no -o all ./time
    [ "$status" = 0 ]
}

@test "what cannot be run leaves no folder" {
    real
    run -127 "$QUERN" run --children=merge -o all ./nothing
    printf 'not a program' > text
    chmod +x text
    run -127 "$QUERN" run --children=merge -o all ./text
    # Neither does a spool that cannot be as large as it must.
    run bash -c 'ulimit -f 100; exec "$0" run --children=merge -o all ./family child' "$QUERN"
    [ "$status" = 2 ]
    [[ "$output" == *"the hard limit on the size of files (ulimit -f) is 100 KiB, the spool has"* ]]
    [ "$(ls -d quern.* 2>/dev/null)" = "" ]
}

@test "another word than separate or merge is refused" {
    run "$QUERN" run --children=sum true
    [ "$status" = 2 ]
    [[ "$output" == *"--children"* ]]
}

@test "the sum waits for who has locked its folder" {
    real
    flock . -c 'until [ -e go ]; do sleep 0.05; done' 3>&- &
    "$QUERN" run -q --cache-sim=no --children=merge -o all ./family 3>&- &
    pid=$!
    # Its own profile is the last one that is written without the lock.
    until compgen -G "quern.tree.*/$pid-*" > there || compgen -G "quern.tree.*/$pid" > there; do
        kill -0 $pid
        sleep 0.05
    done
    sleep 1
    [ ! -e all ]
    kill -0 $pid
    : > go
    wait $pid || [ $? = 7 ]
    [ -e all ]
}

@test "many children: with a bgfinish, with blocks made ahead, and without, the same counts" {
    real
    gcc -O1 -o bred -x c - << 'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int first(int n) { return n * 3; }
__attribute__((noinline)) int second(int n) { return first(n) + 1; }
static int (*volatile way[2])(int) = { first, second };

int main(void)
{
    int status;

    for (int i = 0; i < 9; i++) {
        if (fork() == 0) {
            volatile int sum = 0;
            for (int n = 0; n < 100 * i; n++)
                sum += way[n & 1](n); // what no parent has executed
            if (i == 4)
                abort();
            exit(i);
        }
        // Its status is its own, and there is none but it to wait for.
        if (wait(&status) < 0 || (i == 4 ? WTERMSIG(status) != 6 : WEXITSTATUS(status) != i))
            return 1;
    }
    return wait(0) > 0;
}
END
    for how in '' --no-bgfinish --no-pretranslate '--no-bgfinish --no-pretranslate' --no-hints \
        --no-early-copy; do
        mkdir p
        # shellcheck disable=SC2086
        env -i "PATH=$PATH" "$QUERN" run -q --reproducible=yes --branch-sim=yes $how \
            --cachegrind-out-file="$PWD/p/%p" -- ./bred
        # When it has ended all are written.
        [ "$(ls p | wc -l)" = 10 ]
        # Only the numbers of the processes, in the names, differ.
        (cd p; sha256sum -- * | cut -c1-64 | sort) > "of$how"
        [ "$(sort -u "of$how" | wc -l)" = 10 ]
        cmp of "of$how"
        rm -r p
    done
    [ "$(ls -d quern.* 2>/dev/null)" = "" ]
}

# What children refer to in LL lies together for the next ones (engine/count/llfork.c), for a while:
# child 5 makes more references than a short one, child 6 forks, child 7 starts a thread. That one is
# waited for by one system call: pthread_join() and syscall() execute more when they come first.
@test "many children: LL is the same where sets lie together" {
    real
    gcc -O1 -o many -x c - << 'END'
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[4 << 20], stack[1 << 16];
static volatile char *const at = data;

static void touch(int from, int lines)
{
    for (int i = 0; i < lines; i++)
        at[(from + i * 7919L * 64) % sizeof(data)]++;
}

static int thread(void *arg)
{
    touch(4000, 3000);
    return arg != NULL;
}

static void start_and_wait(void)
{
    static int there;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    int tid = clone(thread, stack + sizeof(stack), flags, NULL, &there, NULL, &there);
    register void *timeout __asm__("r10") = NULL;
    long result = SYS_futex;

    if (tid < 0)
        exit(1);
    __asm__ volatile("syscall" : "+a"(result) : "D"(&there), "S"(FUTEX_WAIT), "d"(tid), "r"(timeout)
                     : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
    touch(0, 3000);
    for (int i = 0; i < 9; i++) {
        touch(i * 64, 100);
        if (fork() == 0) {
            touch(0, 300);
            touch(i << 12, i == 5 ? 20000 : 500);
            if (i == 6 && fork() == 0)
                touch(99, 700);
            if (i == 7 && argc > 1)
                start_and_wait();
            touch(64, 300);
            wait(NULL);
            exit(0);
        }
        wait(NULL);
        touch(i * 128, 400);
    }
    return !argv[0];
}
END
    for ll in 33554432,16,64 65536,1,64 3145728,24,128; do
        rm -f of*
        for how in '' --no-pretranslate --no-vectors --no-avx512 --no-narrow-tags --replay=off \
            '--replay=off --no-pretranslate'; do
            case $ll,$how in 3*,--replay=off*) continue ;; esac
            mkdir p
            # Two threads meet in LL where blocks and buffers end: not the same where nothing is recorded.
            case $how in --replay=off*) threads= ;; *) threads=threads ;; esac
            # shellcheck disable=SC2086
            env -i "PATH=$PATH" "$QUERN" run -q --reproducible=yes $how --I1=1024,2,64 --D1=1024,2,64 \
                --LL=$ll --cachegrind-out-file="$PWD/p/%p" -- ./many $threads
            [ "$(ls p | wc -l)" = 11 ]
            grep -h '^summary' p/* | sort > "of$how"
            case $how in
                --replay=off) ;;
                *' --no-pretranslate') cmp "of${how% --no-pretranslate}" "of$how" ;;
                *) cmp of "of$how" ;;
            esac
            rm -r p
        done
    done
}
