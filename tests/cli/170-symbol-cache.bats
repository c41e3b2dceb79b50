#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The symbol cache as a user meets it: where it is, that it changes no profile, that nothing goes
# wrong where it cannot be. What it answers address by address is tests/unit/symbols' business.

load run

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
}

# The file's name and inode: one that is written again has another.
kept() {
    (cd "$1" && ls -i)
}

# One run's profile, from one spool: without the cache, from an empty one, and from one that knows
# all, to which the fourth has nothing to add.
same_profile() {
    real
    rm -rf spool profile without
    mkdir spool
    # It cannot be written, so the spool stays.
    "$QUERN" run -q --branch-sim=yes --spool-dir=spool -o gone/profile "$@" > /dev/null 2>&1 || true
    "$QUERN" recover -q --keep --symbol-cache=no -o without spool/*
    for i in 1 2 3; do
        "$QUERN" recover -q --keep --symbol-cache=kept -o profile spool/*
        cmp without profile
        [ $i != 2 ] || before=$(kept kept)
    done
    same "$(kept kept)" "$before"
    [ -n "$before" ]
    # It is as libquern writes it.
    "$QUERN" merge -o merged profile
    cmp profile merged
}

@test "a program without symbols, libc with what is installed of it" {
    same_profile /bin/true
}

@test "a shell, an interpreter" {
    same_profile /usr/bin/python3 -S -c 'print(sum(range(1000)))'
    same_profile /bin/bash -c 'for ((i = 0; i < 100; i++)); do a[i]=$((i * i)); done'
}

@test "C++ with debug information, inlined code, and names that are made readable" {
    cat > sort.cc << 'END'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main()
{
    std::vector<int> v;
    std::map<std::string, int> m;
    for (int i = 0; i < 100; i++) {
        v.push_back(i * 7919 % 101);
        m[std::to_string(i % 13)] += i;
    }
    std::sort(v.begin(), v.end());
    return v[0] + m["3"] > 1000000;
}
END
    for flags in '-gdwarf-5 -O2' '-gdwarf-4 -O1' '-g -O2 -static'; do
        g++ $flags -o sort sort.cc
        rm -rf kept
        same_profile ./sort
        grep -q '^fn=std::' profile || grep -q '^fn=void std::' profile
    done
}

@test "C with a separate debug file, which is then removed" {
    cat > main.c << 'END'
static __attribute__((noinline)) int half(int x)
{
    return x / 2;
}
int main(int argc, char **argv)
{
    (void)argv;
    return half(argc);
}
END
    gcc -g -O1 -o main main.c
    objcopy --only-keep-debug main main.debug
    strip main
    objcopy --add-gnu-debuglink=main.debug main
    same_profile ./main
    grep -q '^fn=half' profile
    rm main.debug
    same_profile ./main
    ! grep -q '^fn=half' profile
}

# changed FILE FROM TO: FROM becomes TO in FILE, as long as it is, in place; size and modification
# time stay
changed() {
    touch -r "$1" "$1.time"
    perl -0777 -ne "s/$2/$3/g; print" "$1" > "$1.new"
    sleep 0.05 # the kernel's clock of files goes in steps of up to 10 ms
    cat "$1.new" > "$1"
    touch -r "$1.time" "$1"
}

@test "no build-id: other content with the same inode, size and time is not what was kept" {
    real
    printf '%s\n' .text '.globl _start' '.type before, @function' 'before: ret' \
        '.size before, .-before' '_start: call before' 'mov $60, %eax' 'xor %edi, %edi' syscall > p.S
    gcc -nostdlib -static -Wl,--build-id=none -o prog p.S
    quern run -q --cache-sim=no --symbol-cache=kept -o out ./prog
    same "$(grep -o '^fn=before' out)" fn=before
    inode=$(stat -c '%i %s %Y' prog)
    changed prog before behind
    same "$(stat -c '%i %s %Y' prog)" "$inode"
    quern run -q --cache-sim=no --symbol-cache=kept -o out ./prog
    same "$(grep -o '^fn=be.*' out)" fn=behind
}

@test "the debug file: other content with the same inode, size and time is not what was kept" {
    real
    printf '%s\n' .text '.globl _start' '.type before, @function' 'before: ret' \
        '.size before, .-before' '_start: call before' 'mov $60, %eax' 'xor %edi, %edi' syscall > p.S
    gcc -g -nostdlib -static -Wl,--build-id=none -o prog p.S
    objcopy --only-keep-debug prog prog.debug
    strip prog
    objcopy --add-gnu-debuglink=prog.debug prog
    quern run -q --cache-sim=no --symbol-cache=kept -o out ./prog
    same "$(grep -o '^fn=be.*' out)" fn=before
    # Its checksum is wrong now.
    changed prog.debug before behind
    quern run -q --cache-sim=no --symbol-cache=kept -o out ./prog
    ! grep -q '^fn=be' out
}

@test "the folder is made when there is something to keep, for this user alone" {
    real
    mkdir home
    env -u XDG_CACHE_HOME HOME="$PWD/home" "$QUERN" run -q -o out /bin/true
    [ "$(stat -c %a home/.cache)" = 700 ]
    [ "$(stat -c %a home/.cache/quern)" = 700 ]
    [ "$(find home/.cache/quern -name '*.symbols' | wc -l)" -ge 3 ] # true, ld.so, libc
    # and the engine's translations, and the list of profiles
    [ "$(find home/.cache/quern -type f ! -name '*.symbols' | sort)" = \
        "$(ls home/.cache/quern/*.code home/.cache/quern/recorded)" ]
    [ -z "$(find home/.cache/quern -type f -perm /077)" ]
    XDG_CACHE_HOME=$PWD/xdg HOME=$PWD/home2 "$QUERN" run -q -o out /bin/true
    [ -n "$(ls xdg/quern)" ]
    [ ! -e home2 ]
}

@test "no folder, one that others may write to, one that is a file: the profile is written" {
    real
    "$QUERN" run -q --cache-sim=no --symbol-cache=no -o without /bin/true
    grep '^f[ln]=' without > names
    mkdir open
    chmod 777 open
    echo text > file
    for folder in no/such/folder open file; do
        status=0
        "$QUERN" run -q --cache-sim=no --symbol-cache=$folder -o out /bin/true 2> stderr || status=$?
        [ $status = 0 ]
        cmp names <(grep '^f[ln]=' out)
        same "$(< stderr)" ""
    done
    [ -z "$(ls open)" ]
    [ ! -e no ]
    [ "$(< file)" = text ]
    env -u HOME -u XDG_CACHE_HOME "$QUERN" run -q --cache-sim=no -o out /bin/true
    cmp names <(grep '^f[ln]=' out)
}

@test "forked children have the same profiles, at once and from what was kept" {
    real
    cat > tree.c << 'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            _exit(abs(-i));
    while (wait(NULL) > 0)
        ;
    return 0;
}
END
    gcc -g -o tree tree.c
    for i in 1 2 3; do
        mkdir "kept$i"
        cache=kept
        [ $i != 1 ] || cache=no
        "$QUERN" run -q --cache-sim=no --symbol-cache=$cache -o "kept$i/%p" ./tree
        [ "$(ls "kept$i" | wc -l)" = 5 ]
        # Their process ids differ, and that is all.
        cat $(ls -v "kept$i"/* | head -5) | sort > "all$i"
    done
    # The number of rounds that wait() takes depends on the kernel: main's lines are left out.
    for i in 2 3; do
        cmp <(grep '^fn=' all1) <(grep '^fn=' "all$i")
    done
}

@test "two builds of quern that take turns do not read anything anew" {
    real
    mkdir -p bin libexec/quern
    cp "$(readlink -f "$QUERN")" bin/quern
    cp "$BUILD/libexec/quern/quern-whole" libexec/quern
    touch -d 2001-02-03 libexec/quern/quern-whole
    export QUERN_ENGINE=$BUILD/libexec/quern/quern-engine
    # `_` in the environment is which of them it was: other steps of the dynamic linker's strcmp.
    env -u _ "$QUERN" run -q --cache-sim=no --symbol-cache=kept -o out /bin/true
    env -u _ bin/quern run -q --cache-sim=no --symbol-cache=kept -o out2 /bin/true
    diff <(grep -v -e "^pid:" -e "^cmd:" out) <(grep -v -e "^pid:" -e "^cmd:" out2)
    before=$(kept kept)
    # Each has a file of its own for every module.
    "$QUERN" run -q --cache-sim=no --symbol-cache=one -o out /bin/true
    [ "$(ls kept | wc -l)" = $((2 * $(ls one | wc -l))) ]
    for i in 1 2; do
        "$QUERN" run -q --cache-sim=no --symbol-cache=kept -o out /bin/true
        bin/quern run -q --cache-sim=no --symbol-cache=kept -o out /bin/true
    done
    same "$(kept kept)" "$before"
}

@test "recover takes the user's folder, or the one that it is given, not that of the spool" {
    real
    mkdir spool
    "$QUERN" run -q --symbol-cache=kept --spool-dir=spool -o gone/profile /bin/true 2> stderr
    [[ "$(< stderr)" == *"the counts are kept"* ]]
    [ ! -e kept ] # nothing is kept of a profile that was not written
    XDG_CACHE_HOME=$PWD/mine "$QUERN" recover -q --keep -o out spool/*
    [ -n "$(ls mine/quern)" ]
    [ ! -e kept ]
    "$QUERN" recover -q --keep --symbol-cache=other -o out spool/*
    [ "$(ls other)" = "$(ls mine/quern)" ]
    rm -r mine
    XDG_CACHE_HOME=$PWD/mine "$QUERN" recover -q --keep --symbol-cache=no -o out spool/*
    [ ! -e mine ]
    status=0
    "$QUERN" recover --symbol-cache= spool/* 2> stderr || status=$?
    [ $status = 2 ]
    same "$(< stderr)" "quern: --symbol-cache=: names no folder"
}
