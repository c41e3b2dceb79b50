#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Translations that are kept between runs (--translation-cache): whatever lies in the folder, and
# whatever has become of the program since, its profile is that of a run without. Everything is
# run with --reproducible=yes, so that profiles are compared whole.

load run

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    # Enough blocks that they are worth a file, loops that become superblocks.
    cat > sort.c << 'END_C'
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
int main(int argc, char **argv)
{
    static int v[4000];
    unsigned x = 1;
    int n = argc > 1 ? atoi(argv[1]) : 4000;
    for (int i = 0; i < n; i++)
        v[i] = (int)((x = x * 1103515245 + 12345) >> 8 & 0xffff);
    qsort(v, n, sizeof(*v), compare);
    printf("%d\n", v[n / 2]);
    return 0;
}
END_C
    gcc -O1 -g -o sort sort.c
}

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
    SORT=$BATS_FILE_TMPDIR/sort
}

# A run with this folder: NAME its profile, NAME.text what the program wrote, NAME.said what quern
# did, NAME.status how it ended. Where nothing is said of the simulator, it records: with
# --replay=auto it depends on the processor whether it does.
run_with() {
    local name=$1 folder=$2 status=0
    shift 2
    rm -f "$name" # of an earlier run
    env -i PATH="$PATH" "$QUERN" run -v --reproducible=yes --translation-cache="$folder" \
        --symbol-cache="$BATS_FILE_TMPDIR/symbols" \
        -o "$name" "$@" > "$name.text" 2> "$name.said" || status=$?
    echo $status > "$name.status"
}

# How many of what NAME.said counts.
many() {
    sed -n "s/^==[0-9]*== engine: \([0-9,]*\) $2.*/\1/p" "$1.said" | tr -d ,
}

files() {
    find "$1" -name '*.code' | wc -l
}

# A profile without what differs from run to run: those of --calls=yes have the number of their
# process, and those of --collect-systime how long system calls took, behind Ir and their number.
lasting() {
    awk '/^events:/ { times = /sysTime/ }
        /^pid: / { next }
        times && /^(summary|totals|[-+*0-9])/ { print $1, $2, $3; next }
        { print }' "$1"
}

# Two profiles are the same.
same_counts() {
    cmp <(lasting "$1") <(lasting "$2")
}

# Two runs counted the same, and the program noticed no difference.
like() {
    same_counts "$1" "$2"
    cmp "$1.text" "$2.text"
    same "$(< "$1.status")" "$(< "$2.status")"
}

# Nothing is translated again but what is never kept, as instructions that are single-stepped, and
# what superblocks are made of meanwhile.
nothing_new() {
    local first=$1 second=$2
    [ $(($(many "$second" 'blocks translated') - $(many "$second" 'blocks in superblocks'))) -le \
        $(($(many "$first" 'blocks translated') - $(many "$first" 'blocks in superblocks') + \
           $(many "$first" 'superblocks made') - $(many "$first" 'translations kept'))) ]
}

# The profile without, and of three runs with a folder that is empty at first. The second one
# revives what the first one has kept; there is nothing that the third one could add.
three_runs() {
    rm -rf kept
    mkdir -m 700 kept
    run_with without no "$@"
    [ -s without ]
    for i in 1 2 3; do
        run_with "run$i" kept "$@"
        like without "run$i"
    done
    same "$(many run1 'translations of')" 0
    [ "$(many run1 'translations kept')" -gt 500 ]
    same "$(many run2 'translations of')" "$(many run1 'translations kept')"
    same "$(many run3 'translations of')" "$(many run1 'translations kept')"
    same "$(many run2 'translations kept') $(many run3 'translations kept')" "0 0"
    nothing_new run1 run2
    same "$(ls kept | wc -l) $(files kept)" "1 1"
}

# Nothing is kept, whatever is counted.
never_kept() {
    rm -rf kept
    mkdir -m 700 kept
    run_with without no "$@"
    run_with run1 kept "$@"
    run_with run2 kept "$@"
    for i in 1 2; do
        same_counts without "run$i"
        same "$(many "run$i" 'translations of') $(many "run$i" 'translations kept')" "0 0"
    done
    same "$(ls -A kept)" ""
}

@test "the profile without is that of the first, the second and the third run" {
    real
    three_runs --cache-sim=no /bin/true
    three_runs --replay=inline --branch-sim=yes /bin/true
    three_runs --cache-sim=no "$SORT"
    three_runs --cache-sim=no --branch-sim=yes "$SORT"
    three_runs --replay=inline "$SORT"
    three_runs --replay=process "$SORT"
    three_runs --replay=process --branch-sim=yes "$SORT"
    three_runs --replay=inline --branch-sim=yes --no-superblocks "$SORT"
    three_runs --cache-sim=no --no-superblocks "$SORT"
    same "$(< run3.text)" "$(env -i "$SORT")"
    three_runs --calls=yes --cache-sim=no /bin/true
    three_runs --calls=yes --cache-sim=no --branch-sim=yes --collect-jumps=yes /bin/true
    three_runs --calls=yes --cache-sim=no --skip-plt=no --inline=yes /bin/true
    three_runs --calls=yes --replay=inline --collect-bus=yes "$SORT"
    three_runs --calls=yes --replay=process --branch-sim=yes "$SORT"
    # On a machine where it does not pay to record, nothing is kept.
    for with in "" --branch-sim=yes; do
        run_with without no $with "$SORT"
        for i in 1 2 3; do
            run_with "run$i" kept $with "$SORT"
            like without "run$i"
        done
        same "$(many run3 'translations kept')" 0
    done
    # Nor where lines are loaded ahead by instruction, of which several blocks may have the same.
    run_with without no --machine=zen5,core=off "$SORT"
    for i in 1 2; do
        run_with "run$i" kept --machine=zen5,core=off "$SORT"
        like without "run$i"
    done
    same "$(many run2 'translations kept')" 0
    run_with run3 kept --machine=sapphire-rapids,core=off --replay=inline "$SORT"
    [ "$(many run3 'translations kept')" -gt 500 ]
}

@test "addresses as the kernel gives them, and the folder where it is by default" {
    real
    mkdir home
    for i in 1 2 3; do
        env -i PATH="$PATH" HOME="$PWD/home" "$QUERN" run -v --cache-sim=no -o "run$i" /bin/true \
            2> "run$i.said"
    done
    same "$(stat -c %a home/.cache/quern) $(files home/.cache/quern)" "700 1"
    [ -z "$(find home/.cache/quern -type f -perm /077)" ]
    [ "$(many run1 'translations kept')" -gt 500 ]
    same "$(many run2 'translations of')" "$(many run1 'translations kept')"
    same "$(many run3 'translations of')" "$(many run1 'translations kept')"
    cmp <(grep '^f[ln]=' run1) <(grep '^f[ln]=' run2)
    cmp run2 run3
    env -i PATH="$PATH" XDG_CACHE_HOME="$PWD/xdg" HOME="$PWD/home2" "$QUERN" run -q -o out /bin/true
    [ -n "$(ls xdg/quern)" ]
    [ ! -e home2 ]
}

@test "what is translated in another way each time is not kept" {
    real
    never_kept --replay=off /bin/true
    never_kept --calls=yes --cache-sim=no --separate-callers=1 /bin/true
    never_kept --calls=yes --cache-sim=no --toggle-collect=main "$SORT"
    never_kept --calls=yes --data=yes --replay=inline "$SORT"
    never_kept --calls=yes --replay=off /bin/true
    never_kept --cache-sim=no --instr-at-start=no /bin/true
    never_kept --replay=inline --stress-flush=300 "$SORT"
    never_kept --cache-sim=no --stress-flush=300 "$SORT"
    never_kept --cache-sim=no --small-buffers "$SORT"
    never_kept --cache-sim=no --dump-code=code /bin/true
    never_kept --trace-refs=refs /bin/true
    (ulimit -v 1073741824 && never_kept --cache-sim=no /bin/true)
}

@test "addresses that the kernel randomises: nothing is kept" {
    real
    mkdir -m 700 kept
    for i in 1 2; do
        env -i PATH="$PATH" "$QUERN" run -v --cache-sim=no --aslr=yes --translation-cache=kept \
            -o "run$i" /bin/true 2> "run$i.said"
        same "$(many "run$i" 'translations of') $(many "run$i" 'translations kept')" "0 0"
    done
    same "$(ls -A kept)" ""
}

@test "an option without a folder is refused" {
    real
    for option in --translation-cache --symbol-cache; do
        quern run $option= /bin/true
        same "$status $messages" "2 quern: $option: the value is empty"
        quern run $option
        same "$status" 2
    done
}

# ---- Files that are not what was written, or not where it was written ----

# The only file of the folder.
only() {
    echo kept/*.code
}

# NAME's run with the damaged file, quiet; then the file is whole again, or it is gone and the next
# run writes it.
survives() {
    local status=0
    env -i PATH="$PATH" "$QUERN" run -q --reproducible=yes --translation-cache=kept -o damaged \
        "$@" > damaged.text 2> damaged.said || status=$?
    same "$status $(< damaged.said)" "0 "
    cmp without damaged
    cmp without.text damaged.text
    [ "$(ls -A kept | wc -l)" -le 1 ]
    run_with after kept "$@"
    like without after
    run_with again kept "$@"
    like without again
    [ "$(many again 'translations of')" -gt 500 ]
    same "$(ls -A kept)" "$NAME"
}

@test "a file that is damaged" {
    real
    mkdir -m 700 kept
    run_with without no --replay=inline "$SORT"
    run_with run1 kept --replay=inline "$SORT"
    file=$(only)
    NAME=${file#kept/}
    cp "$file" good
    size=$(stat -c %s good)
    for cut in 0 8 100 $((size / 2)) $((size - 1)); do
        head -c $cut good > "$file"
        survives --replay=inline "$SORT"
    done
    for at in 0 9 30 200 $((size / 7)) $((size / 3)) $((size * 4 / 5)) $((size - 20)); do
        cp good "$file"
        byte=$(od -An -tu1 -j $at -N 1 good)
        printf "\\x$(printf %x $((byte ^ 32)))" |
            dd of="$file" bs=1 seek=$at conv=notrunc status=none
        survives --replay=inline "$SORT"
    done
    cat good good > "$file"
    survives --replay=inline "$SORT"
    env -i "$SORT" 3 > "$file" # a text
    survives --replay=inline "$SORT"
    perl -e 'srand 1; print pack "C*", map int rand 256, 1 .. shift' "$size" > "$file"
    survives --replay=inline "$SORT"
    # The file of another program or of other options, under this name.
    rm -r kept
    mkdir -m 700 kept
    run_with run1 kept --replay=inline /bin/true
    mv kept/*.code "$file"
    survives --replay=inline "$SORT"
}

@test "another thing than a file under its name" {
    real
    mkdir -m 700 kept
    run_with without no --cache-sim=no /bin/true
    run_with run1 kept --cache-sim=no /bin/true
    file=$(only)
    mv "$file" good
    mkdir "$file"
    for i in 1 2; do
        run_with out kept --cache-sim=no /bin/true
        like without out
        same "$(many out 'translations of') $(many out 'translations kept')" "0 0"
        same "$(ls -A kept)" "${file#kept/}"
    done
    rmdir "$file"
    # It would not be opened before somebody writes to it.
    mkfifo "$file"
    run_with out kept --cache-sim=no /bin/true
    like without out
    [ -f "$file" ]
    # A link: what it leads to is neither read nor written.
    for mode in whole damaged; do
        cp good elsewhere
        [ $mode = whole ] || truncate -s 5000 elsewhere
        cp elsewhere before
        ln -sf ../elsewhere "$file"
        run_with out kept --cache-sim=no /bin/true
        like without out
        same "$(many out 'translations of')" 0
        cmp elsewhere before
        [ -f "$file" ]
        [ ! -L "$file" ]
    done
    rm elsewhere
    ln -sf ../elsewhere "$file"
    run_with out kept --cache-sim=no /bin/true
    like without out
    [ ! -e elsewhere ]
}

@test "files and folders that others may write to" {
    real
    mkdir -m 700 kept
    run_with without no --cache-sim=no /bin/true
    run_with run1 kept --cache-sim=no /bin/true
    file=$(only)
    for mode in 620 602 666; do
        chmod $mode "$file"
        run_with out kept --cache-sim=no /bin/true
        like without out
        same "$(many out 'translations of')" 0
        # It is written anew, for this user alone.
        same "$(stat -c %a kept/*)" 600
        run_with out kept --cache-sim=no /bin/true
        same "$(many out 'translations of')" "$(many run1 'translations kept')"
    done
    before=$(ls -i kept)
    for mode in 777 770 1777 702; do
        chmod $mode kept
        run_with out kept --cache-sim=no /bin/true
        like without out
        same "$(many out 'translations of') $(many out 'translations kept')" "0 0"
        same "$(ls -i kept)" "$before"
    done
    chmod 700 kept
    # That is how it could lead to a folder of somebody else's.
    ln -s kept link
    run_with out link --cache-sim=no /bin/true
    like without out
    same "$(many out 'translations of') $(many out 'translations kept')" "0 0"
    same "$(ls -i kept)" "$before"
}

@test "folders that are not there and cannot be made" {
    real
    run_with without no --cache-sim=no /bin/true
    echo text > file
    for folder in file file/below no/such/folder /proc/self/kept /dev/null; do
        status=0
        env -i PATH="$PATH" "$QUERN" run -q --reproducible=yes --cache-sim=no \
            --translation-cache=$folder -o out /bin/true 2> said || status=$?
        same "$status $(< said)" "0 "
        cmp without out
    done
    same "$(< file)" text
    [ ! -e no ]
    # Neither name is known.
    status=0
    env -i PATH="$PATH" "$QUERN" run -q --reproducible=yes --cache-sim=no -o out /bin/true ||
        status=$?
    same "$status" 0
    cmp without out
    # One that can be made, by its name from here, for a program that goes elsewhere.
    run_with out new --cache-sim=no sh -c 'cd / && exit 3'
    same "$(< out.status) $(stat -c %a new) $(files new)" "3 700 1"
}

# ---- Programs that are not what they were ----

@test "a program that is built anew, at the same place" {
    real
    run_with_all() {
        for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no"; do
            run_with "without$with" no $with ./prog
            for i in 1 2; do
                run_with out kept $with ./prog
                like "without$with" out
            done
        done
        run_with out kept --cache-sim=no ./prog
        like without--cache-sim=no out
        [ "$(many out 'translations of')" -gt 500 ]
    }
    mkdir -m 700 kept
    # Another constant; more code in front of all else; other code of the same size.
    for build in "-DN=3" "-DN=5" "-DN=5 -DMORE" "-DN=5 -DOTHER" "-DN=5 -static"; do
        for id in -Wl,--build-id -Wl,--build-id=none; do
            cat > prog.c << 'END'
#include <stdio.h>
#ifdef MORE
int more(int a)
{
    return a * a + a % 13;
}
#endif
__attribute__((noinline)) static int work(int a)
{
#ifdef OTHER
    return a - N;
#else
    return a + N;
#endif
}
int main(void)
{
    volatile int sum = 0;
    for (int i = 0; i < 100 * N; i++)
        sum = work(sum);
    printf("%d\n", sum);
    return 0;
}
END
            gcc -g -O1 $build $id -o prog prog.c
            run_with_all
            same "$(< out.text)" "$(./prog)"
        done
    done
}

@test "a shared library that is built anew, or patched where it lies" {
    real
    cat > prog.c << 'END'
#include <stdio.h>
int work(int a);
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum = work(sum);
    printf("%d\n", sum);
    return 0;
}
END
    build() {
        cat > work.c
        gcc -g -O1 -shared -fPIC -Wl,-soname,libwork.so -o libwork.so work.c
    }
    build <<< 'int work(int a) { return a + 0x55; }'
    gcc -g -O1 -o prog prog.c -L. -lwork -Wl,-rpath,"$PWD"
    check() {
        for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no"; do
            run_with without no $with ./prog
            for i in 1 2 3; do
                run_with out kept $with ./prog
                like without out
            done
            [ "$(many out 'translations of')" -gt 500 ]
            same "$(< out.text)" "$1"
        done
    }
    mkdir -m 700 kept
    check 85000
    build <<< 'int work(int a) { return a + 0x56; }'
    check 86000
    build <<< 'int work(int a) { return a < 1000 ? a + 3 : a + 1; }'
    check "$(./prog)"
    build <<< 'int more(int a) { return a * 7 % 5; } int work(int a) { return more(a) + a; }'
    check "$(./prog)"
    build <<< 'int work(int a) { return a + 0x55; }'
    check 85000
    patch_byte libwork.so work 55 57
    check 87000
}

@test "a library whose code is the same, and whose functions start elsewhere" {
    real
    # Once stripped, what is behind outer is one function, from the end of outer on.
    cat > work.c << 'END'
__asm__(".globl outer\n.type outer, @function\n"
        "outer: lea 1(%rdi), %eax\n"
        "jmp inner\n"
        ".size outer, . - outer\n"
        ".balign 32\n"
        ".type inner, @function\n"
        "inner: lea 2(%rax), %eax\n"
        "ret\n"
        ".size inner, . - inner");
END
    cat > prog.c << 'END'
#include <stdio.h>
int outer(int a);
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum = outer(sum);
    printf("%d\n", sum);
    return 0;
}
END
    gcc -shared -fPIC -Wl,-soname,libwork.so -o whole.so work.c
    strip -o stripped.so whole.so
    cp whole.so libwork.so
    gcc -g -O1 -o prog prog.c -L. -lwork -Wl,-rpath,"$PWD"
    for with in "--calls=yes --cache-sim=no" "--calls=yes --replay=inline"; do
        rm -rf kept
        mkdir -m 700 kept
        for file in whole.so stripped.so stripped.so whole.so; do
            cp --remove-destination $file libwork.so
            run_with without no $with ./prog
            same "$(grep -c 'fn=.*inner' without)" $([ $file = whole.so ] && echo 1 || echo 0)
            for i in 1 2 3; do
                run_with out kept $with ./prog
                like without out
            done
            [ "$(many out 'translations of')" -gt 500 ]
        done
        same "$(files kept)" 1
    done
    same "$(< out.text)" 3000
}

# FILE FUNCTION OLD NEW: the first byte OLD of the function becomes NEW, in hexadecimal.
patch_byte() {
    perl -e '
        my ($file, $at, $old, $new) = @ARGV;
        open(my $f, "+<:raw", $file) or die;
        seek($f, $at, 0);
        read($f, my $code, 32) > 16 or die;
        (my $n = index($code, chr hex $old)) >= 0 or die "no such byte";
        seek($f, $at + $n, 0);
        print $f chr hex $new;
        close($f) or die' \
        "$1" "$((0x$(nm "$1" | sed -n "s/ [Tt] $2\$//p")))" "$3" "$4"
}

@test "a program that is patched where it lies" {
    real
    cat > prog.c << 'END'
#include <stdio.h>
__attribute__((noinline, noclone, aligned(32))) int work(int a)
{
    for (int i = 0; i < 0x35; i++) // another number of rounds
        __asm__ volatile("");
    return a + 3;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum = work(sum);
    printf("%d\n", sum);
    return 0;
}
END
    # Code has the same offset in the file as in memory.
    gcc -g -O1 -Wl,-z,noseparate-code -o prog prog.c
    for with in --cache-sim=no --replay=inline "--cache-sim=no --branch-sim=yes"; do
        rm -rf kept
        mkdir -m 700 kept
        cp prog patched
        run_with run1 kept $with ./patched
        run_with run2 kept $with ./patched
        like run1 run2
        name=$(only)
        cp "$name" old
        cp patched other
        patch_byte other work 35 36
        dd if=other of=patched conv=notrunc status=none # the inode stays, and the build-id
        run_with without no $with ./patched
        ! cmp -s without run1 || false
        for i in 1 2 3; do
            run_with out kept $with ./patched
            like without out
            [ ! -e "$name" ] || ! cmp -s old "$name" || false
        done
        [ "$(many out 'translations of')" -gt 500 ]
        same "$(echo kept/*)" "$name" # one file for both
    done
}

# ---- Programs that are not the same each time, and more than one process ----

# The profiles without and with, of the same command; the last one at least had something of
# earlier runs.
alike() {
    run_with without no "$@"
    for i in 1 2 3; do
        run_with out kept "$@"
        like without out
    done
    [ "$(many out 'translations of')" -gt 500 ]
}

@test "other arguments: what one run has not executed is kept for the next" {
    real
    mkdir -m 700 kept
    for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no" \
        "--calls=yes --replay=inline"; do
        for n in 1 100 4000 2 3000; do
            alike $with "$SORT" $n
        done
    done
    same "$(files kept)" 4
}

@test "a library that is opened in one run and not in another, and again where it was" {
    real
    cat > work.c << 'END'
#define A(n) __attribute__((noinline)) static int f##n(int a) { return a % (n + 2) ? a + n : a; }
#define B(n) A(n##0) A(n##1) A(n##2) A(n##3) A(n##4) A(n##5) A(n##6) A(n##7) A(n##8) A(n##9)
B(1) B(2) B(3) B(4) B(5) B(6) B(7) B(8) B(9) B(10) B(11) B(12) B(13) B(14) B(15) B(16)
#define C(n) a = f##n(a);
#define D(n) C(n##0) C(n##1) C(n##2) C(n##3) C(n##4) C(n##5) C(n##6) C(n##7) C(n##8) C(n##9)
int work(int a)
{
    D(1) D(2) D(3) D(4) D(5) D(6) D(7) D(8) D(9) D(10) D(11) D(12) D(13) D(14) D(15) D(16)
    return a;
}
END
    gcc -g -O1 -shared -fPIC -o one.so work.c
    sed -i 's/a + n : a/a - n : a/' work.c
    gcc -g -O1 -shared -fPIC -o two.so work.c
    cat > prog.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *first = NULL;
    int sum = 1;
    for (int i = 1; i < argc && argv[i][0] != '-'; i++) {
        void *lib = dlopen(argv[i], RTLD_NOW);
        int (*work)(int) = (int (*)(int))dlsym(lib, "work");
        for (int k = 0; k < 100; k++)
            sum = work(sum);
        // Only whether it is where the first one was.
        first = first ? first : (void *)work;
        printf("%d %d\n", sum, first == (void *)work);
        // What is not there any more when the program ends is not kept.
        if (argv[argc - 1][0] != '-')
            dlclose(lib);
    }
    return 0;
}
END
    gcc -g -O1 -o prog prog.c -ldl
    for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no" \
        "--calls=yes --replay=inline"; do
        rm -rf kept
        mkdir -m 700 kept
        alike $with ./prog
        none=$(many out 'translations of')
        alike $with ./prog ./one.so -
        some=$(many out 'translations of')
        [ "$some" -gt $((none + 500)) ]
        alike $with ./prog
        [ "$(many out 'translations of')" -lt $((some - 100)) ]
        # As many: it was not lost by the run that has not opened it.
        alike $with ./prog ./one.so -
        [ "$(many out 'translations of')" -ge "$some" ]
        alike $with ./prog ./one.so
        alike $with ./prog ./one.so ./one.so ./one.so
        grep -q ' 1$' <(tail -n 1 out.text)
        alike $with ./prog ./one.so ./two.so ./one.so
        alike $with ./prog ./two.so -
        alike $with ./prog ./one.so ./two.so -
    done
}

@test "forked children, and programs that are executed" {
    real
    cat > tree.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        int status = 0;
        char text[40];
        pid_t pid = fork();
        if (pid == 0) {
            // What its parent has not executed, and what both have.
            sprintf(text, "%d", abs(-i) + 10);
            if (i == 2 && argc > 1)
                execv(argv[1], argv + 1);
            _exit(i == 1 ? (int)strlen(text) : i);
        }
        waitpid(pid, &status, 0);
        sprintf(text, "%d", WEXITSTATUS(status));
        puts(text);
    }
    return 0;
}
END
    gcc -g -O1 -o tree tree.c
    family() {
        rm -rf "$1.d"
        mkdir "$1.d"
        run_with "$1.d/%p" "$2" "${@:3}"
        # By their texts, for their numbers are others each time.
        (cd "$1.d" && sed -i '/^pid: /d' $(ls | grep -v '%') &&
            sha256sum $(ls | grep -v '%') | cut -d ' ' -f 1 | sort) > "$1.sums"
        # How often wait() is asked is the kernel's affair, not the counts' of children.
        mv "$1.d/%p.text" "$1.text"
        mv "$1.d/%p.said" "$1.said"
    }
    for with in --cache-sim=no --replay=inline "--replay=inline --trace-children=yes" \
        "--cache-sim=no --children=merge --trace-children=yes" "--cache-sim=no --no-bgfinish" \
        "--calls=yes --cache-sim=no" "--calls=yes --replay=inline --trace-children=yes"; do
        rm -rf kept
        mkdir -m 700 kept
        family without no $with ./tree /bin/true
        [ "$(wc -l < without.sums)" -ge 1 ]
        for i in 1 2 3; do
            family run kept $with ./tree /bin/true
            same "$(< run.text)" "$(< without.text)"
            same "$(< run.sums)" "$(< without.sums)"
        done
        [ "$(files kept)" -ge 1 ]
    done
}

@test "threads, one behind the other" {
    real
    # Whoever joins a thread asks once whether it has ended, and again if not: it is waited for in
    # one system call before, so that the number of instructions does not depend on it.
    cat > threads.c << 'END'
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ends[2];
struct said {
    int *address, number; // where the kernel notes that the thread has ended
};
static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}
static void *work(void *arg)
{
    char text[60][16];
    struct said said = { (int *)pthread_self(), gettid() };
    for (int i = 0; i < 60; i++)
        sprintf(text[i], "%d", (i * 7919 + (int)(long)arg) % 1009);
    qsort(text, 60, 16, compare);
    // Eight bytes at a time: half an address may be the number by chance, a whole one is not.
    while (*(long *)said.address != said.number)
        said.address += 2;
    write(ends[1], &said, sizeof(said));
    return (void *)(long)atoi(text[30]);
}
// Whatever it answers: syscall() looks whether that is an error.
static void wait_while(int *address, long number)
{
    register long timeout __asm__("r10") = 0;
    long result = SYS_futex;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(address), "S"(FUTEX_WAIT), "d"(number), "r"(timeout)
                     : "rcx", "r11", "memory");
}
static void *wait(void *arg)
{
    char c;
    return read(ends[0], &c, 1) == 1 ? arg : NULL;
}
int main(int argc, char **argv)
{
    struct said said;
    long sum = 0;
    pthread_t t;
    (void)argv;
    if (pipe(ends) != 0)
        return 1;
    for (long i = 0; i < 5; i++) {
        void *result;
        if (pthread_create(&t, NULL, work, (void *)i) != 0)
            return 1;
        if (read(ends[0], &said, sizeof(said)) != sizeof(said))
            return 1;
        wait_while(said.address, said.number);
        if (pthread_join(t, &result) != 0)
            return 1;
        sum += (long)result;
    }
    printf("%ld\n", sum);
    if (argc > 1 && pthread_create(&t, NULL, wait, NULL) != 0)
        return 1;
    return argc;
}
END
    gcc -g -O1 -o threads threads.c -pthread
    for with in --cache-sim=no "--cache-sim=no --branch-sim=yes" --replay=inline --replay=process \
        "--cache-sim=no --serialize-threads=yes" "--calls=yes --cache-sim=no" \
        "--calls=yes --replay=process"; do
        rm -rf kept
        mkdir -m 700 kept
        alike $with ./threads
        # It ends while another one waits, or is about to.
        for i in 1 2; do
            run_with out kept $with ./threads x
            same "$(< out.text) $(< out.status)" "$(< without.text) 2"
            [ "$(many out 'translations of')" -gt 500 ]
        done
        alike $with ./threads
    done
}

@test "killed by itself: what is recovered, and what it dies of" {
    real
    cat > die.c << 'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int compare(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}
int main(int argc, char **argv)
{
    int v[200], sig = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 200; i++)
        v[i] = i * 7919 % 1009;
    qsort(v, 200, sizeof(*v), compare);
    printf("%d\n", v[100]);
    fflush(stdout);
    if (sig)
        kill(getpid(), sig);
    return 0;
}
END
    gcc -g -O1 -o die die.c
    ulimit -c 0
    for with in --cache-sim=no --replay=inline --replay=process "--calls=yes --cache-sim=no" \
        "--calls=yes --replay=process"; do
        rm -rf kept
        mkdir -m 700 kept
        alike $with ./die
        for sig in 15 11; do
            [ $sig = 15 ] || [ "$with" = --cache-sim=no ] || continue
            alike $with ./die $sig
            same "$(< out.status)" $((128 + sig))
        done
        before=$(ls -i kept)
        for folder in no kept; do
            run_with killed $folder $with ./die 9
            same "$(< killed.status)" 137
            [ ! -e killed ]
            "$QUERN" recover -q --symbol-cache=no -o recovered quern.spool.*
            [ $folder != no ] || mv recovered without9
            [ $folder = no ] || same_counts without9 recovered
        done
        same "$(ls -i kept)" "$before"
        grep -q '^fn=.*compare' without9
    done
}

@test "faults that the program handles, code that it changes" {
    real
    cat > fault.c << 'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static sigjmp_buf back;
static void handler(int sig)
{
    siglongjmp(back, sig);
}
// Pages of their own.
__attribute__((noinline, noclone, section(".text.a"), aligned(4096))) int first(int a)
{
    return a + 0x35;
}
__attribute__((noinline, noclone, section(".text.b"), aligned(4096))) int behind(int a)
{
    return a - 1;
}
static void patch(unsigned char old, unsigned char new, int again)
{
    unsigned char *code = (unsigned char *)first;
    if (mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        exit(9);
    *(unsigned char *)memchr(code, old, 32) = new;
    if (again && mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0)
        exit(9);
}
int main(int argc, char **argv)
{
    volatile int faults = 0;
    const char *how = argc > 1 ? argv[1] : "";
    struct sigaction sa = { .sa_handler = handler };
    sigaction(SIGSEGV, &sa, NULL);
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0)
            *(volatile int *)(long)(i * 8) = 1;
        else
            faults++;
    }
    printf("%d faults\n", faults);
    if (strchr(how, 'b')) // before it is executed for the first time
        patch(0x35, 0x36, !strchr(how, 'w'));
    for (int i = 0; i < 100; i++)
        faults = first(behind(faults));
    printf("%d\n", faults);
    if (strchr(how, 'c')) {
        for (int n = 0; n < 5; n++) {
            patch(0x35 + n, 0x36 + n, !strchr(how, 'w'));
            for (int i = 0; i < 100; i++)
                faults = first(behind(faults));
            printf("%d\n", faults);
        }
    }
    if (strchr(how, 'n')) { // it changes, and is what it was when the program ends
        patch(0x35, 0x40, 1);
        printf("%d\n", first(1));
        patch(0x40, 0x35, 1);
        printf("%d\n", first(1));
    }
    if (strchr(how, 'x')) { // not to be executed any more
        mprotect((void *)first, 4096, PROT_READ);
        if (sigsetjmp(back, 1) == 0)
            printf("%d\n", first(1));
        else
            puts("fault");
    }
    if (strchr(how, 'u')) { // nor there; then other code is
        munmap((void *)first, 4096);
        if (sigsetjmp(back, 1) == 0)
            printf("%d\n", first(1));
        else
            puts("fault");
        unsigned char *p = mmap((void *)first, 4096, 7, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
        memcpy(p, "\x8d\x47\x51\xc3", 4); // lea eax, [rdi + 0x51]; ret
        printf("%d\n", first(1));
    }
    return 0;
}
END
    gcc -g -O1 -o fault fault.c
    for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no"; do
        rm -rf kept
        mkdir -m 700 kept
        alike $with ./fault
        run_with unchanged no $with ./fault
        for how in c cw n x u b bw; do
            run_with without no $with ./fault $how
            same "$(< without.text)" "$(./fault $how)"
            for i in 1 2 3; do
                run_with out kept $with ./fault $how
                like without out
            done
            # The program as it was.
            run_with out kept $with ./fault
            like unchanged out
        done
    done
}

@test "code that changes behind the program's back, and processes that end in other ways" {
    real
    cat > odd.c << 'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
// Pages of their own.
__attribute__((noinline, noclone, section(".text.a"), aligned(4096))) int work(int a)
{
    return a * 3 + 0x35;
}
__attribute__((noinline, noclone, section(".text.b"), aligned(4096))) int other(int a)
{
    return a * 5;
}
static int often(int (*f)(int), int a)
{
    for (int i = 0; i < 50; i++)
        a = f(a) & 0xffff;
    return a;
}
static int child(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    return status;
}
int main(int argc, char **argv)
{
    char how = argc > 1 ? argv[1][0] : 0;
    unsigned char *at = memchr((void *)work, 0x35, 32), new = 0x36;
    int x = often(work, 1), fd;
    void *page;
    pid_t pid;
    switch (how) {
    case 'm': // which is not noticed (docs/limits.md), and is not to be kept either
        fd = open("/proc/self/mem", O_RDWR);
        if (pwrite(fd, &new, 1, (long)at) != 1)
            return 9;
        close(fd);
        x = often(work, x);
        break;
    case 'r': // another page is put there
        page = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(page, (void *)work, 4096);
        mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)work);
        *at = new;
        x = often(work, x);
        break;
    case 'a': // and its own is somewhere else
        page = mremap((void *)work, 4096, 4096, MREMAP_MAYMOVE);
        x = often((int (*)(int))page, x);
        break;
    case 'v':
        pid = vfork();
        if (pid == 0) {
            x = often(other, x);
            _exit(3);
        }
        x += child(pid) + often(other, x);
        break;
    case 'k':
        pid = fork();
        if (pid == 0) {
            x = often(other, x);
            kill(getpid(), SIGKILL);
        }
        x += child(pid) + often(other, x);
        break;
    case 's': { // what a file is written with is deadly
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { 5, filter };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            return 9;
        x = often(other, x);
        break;
    }
    case 'i':
        __asm__ volatile("ud2");
    }
    printf("%d\n", x);
    fflush(stdout);
    if (how == 'c')
        for (fd = 0; fd < 1024; fd++)
            close(fd);
    return 0;
}
END
    gcc -g -O1 -o odd odd.c
    ulimit -c 0
    for with in --cache-sim=no --replay=inline "--calls=yes --cache-sim=no"; do
        rm -rf kept
        mkdir -m 700 kept
        alike $with ./odd
        run_with unchanged no $with ./odd
        for how in m r a v k s c i; do
            run_with without no $with ./odd $how
            for i in 1 2; do
                run_with out kept $with ./odd $how
                like without out
            done
            run_with out kept $with ./odd
            like unchanged out
        done
    done
}

@test "other options have files of their own" {
    real
    mkdir -m 700 kept
    local with=(
        "--cache-sim=no" "--cache-sim=no --branch-sim=yes" "--replay=inline" "--replay=process"
        "--replay=inline --branch-sim=yes" "--replay=inline --D1=16384,4,64"
        "--replay=inline --I1=16384,4,64" "--replay=inline --LL=1048576,16,64"
        "--cache-sim=no --rep-count=cachegrind" "--cache-sim=no --no-chain"
        "--cache-sim=no --no-ibl" "--cache-sim=no --cpu=x86-64" "--replay=inline --no-value-numbers"
        "--replay=inline --no-replay-code" "--cache-sim=no --no-superblocks"
        "--cache-sim=no --cache-size=4m"
        "--calls=yes --cache-sim=no" "--calls=yes --cache-sim=no --collect-jumps=yes"
        "--calls=yes --cache-sim=no --skip-plt=no" "--calls=yes --cache-sim=no --collect-bus=yes"
        "--calls=yes --cache-sim=no --collect-systime=yes"
    )
    for i in 1 2; do
        for k in "${!with[@]}"; do
            [ $i = 2 ] || run_with "without$k" no ${with[k]} "$SORT" 500
            run_with out kept ${with[k]} "$SORT" 500
            like "without$k" out
            [ $i = 1 ] || [ "$(many out 'translations of')" -gt 500 ]
            [ $i = 2 ] || same "$(many out 'translations of')" 0
        done
    done
    same "$(files kept)" ${#with[@]}
    # What no translation depends on.
    run_with out kept --cache-sim=no --demangle=no --vdso=no --trace-children=yes "$SORT" 500
    [ "$(many out 'translations of')" -gt 500 ]
}

@test "several at once" {
    real
    mkdir -m 700 kept
    for with in --cache-sim=no --replay=inline; do
        run_with without no $with "$SORT"
        for round in 1 2; do
            jobs=()
            for i in 1 2 3 4 5 6 7 8; do
                rm -rf "job$i"
                mkdir "job$i"
                (cd "job$i" && run_with out ../kept $with "$SORT") 3>&- &
                jobs+=($!)
            done
            wait "${jobs[@]}"
            for i in 1 2 3 4 5 6 7 8; do
                like without "job$i/out"
                [ $round = 1 ] || [ "$(many "job$i/out" 'translations of')" -gt 500 ]
            done
        done
        same "$(files kept)" "$(ls -A kept | wc -l)" # nothing beside
    done
    same "$(files kept)" 2
}

@test "when there is too much, what has not been used for longest goes" {
    real
    mkdir -m 700 kept
    for name in a.code b.code c.symbols; do
        fallocate -l 600M kept/$name 2> /dev/null || skip "no room for large files here"
        touch -d '3 days ago' kept/$name
    done
    touch -d '2 days ago' kept/b.code
    touch -d '2 hours ago' kept/d.code.123.new
    touch kept/e.code.124.new
    run_with run1 kept --cache-sim=no /bin/true
    [ "$(many run1 'translations kept')" -gt 500 ]
    [ ! -e kept/a.code ]
    [ -e kept/b.code ]
    [ -e kept/c.symbols ]
    [ ! -e kept/d.code.123.new ]
    [ -e kept/e.code.124.new ]
    same "$(files kept)" 2
    run_with run2 kept --cache-sim=no /bin/true
    same "$(many run2 'translations of')" "$(many run1 'translations kept')"
    like run1 run2
}

@test "who has kept translations removes what was abandoned an hour ago" {
    real
    mkdir folder
    chmod 700 folder
    : > folder/x.code.13.new
    : > folder/y.code.14.new
    touch -d '2 hours ago' folder/x.code.13.new
    run_with first folder "$SORT"
    [ "$(many first 'translations kept')" -gt 0 ]
    [ ! -e folder/x.code.13.new ]
    [ -e folder/y.code.14.new ]
    # Nobody else does.
    touch -d '2 hours ago' folder/y.code.14.new
    run_with second folder "$SORT"
    same "$(many second 'translations kept')" 0
    [ -e folder/y.code.14.new ]
}
