#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Files that a profile names, where the profile may come from anybody: what is opened, and what of it
# is shown. A command that waits for a pipe is ended after a minute, and fails its test.

load profile

setup() {
    FOLDER=$(cd "$BATS_TEST_TMPDIR" && pwd -P)
    cd "$FOLDER"
    unset QUERN_ENGINE DEBUGINFOD_URLS
    QUERN="timeout 60 $BUILD/bin/quern"
}

# A profile with an instruction of a function in each of the files named, which are objects, too.
profile_of() {
    local name
    printf '%s\n' 'version: 1' 'positions: instr line' 'events: Ir'
    for name; do printf '%s\n' "ob=$name" "fl=$name" "fn=f($name)" '0x401000 1 5'; done
}

# Standard output and standard error of a command that must end by itself, with status 0.
run_quern() {
    status=0
    $QUERN "$@" > stdout 2> stderr || status=$?
    [ "$status" = 0 ] || { echo "$1: status $status: $(< stderr)"; return 1; }
    output=$(< stdout)
    messages=$(< stderr)
}

@test "pipes, devices, folders and standard input are no sources and no objects" {
    mkfifo pipe
    mkdir folder
    profile_of pipe /dev/zero folder folder/ > p
    run_quern report -o out.html p < /dev/zero
    same "$messages" "quern: out.html: 0 sources are in it, 4 not found (pipe, /dev/zero, folder and 1 more; -I DIR \
adds a folder to search)
quern: 4 of 4 object files are not there: their instructions are left out"
    run_quern annotate --asm --threshold=100 p < /dev/zero
    same "$(grep -c '^(the object file is not there: addresses only)$' stdout)" 4
    same "$(sed -n '/could not be found/,$p' stdout | grep '^ ')" "  /dev/zero
  folder
  folder/
  pipe"
    profile_of pipe > one
    profile_of > none
    run_quern diff --by=line none one
    [[ "$output" == *"whose two versions were not found:"*"  pipe" ]]
}

# Whoever opens a pipe for reading lets the one who writes to it go on.
@test "a pipe that is named is not opened" {
    mkfifo pipe
    profile_of pipe > p
    (echo text > pipe) &
    run_quern report -o out.html p
    run_quern annotate --asm p
    run_quern diff --by=line p p
    run kill -0 $!
    [ "$status" = 0 ]
    same "$(< pipe)" text
}

@test "an object whose name looks like an option" {
    printf '%s\n' '.text' '.globl _start' '_start: nop' 'ret' > a.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o ./-x a.S
    profile_of -x > p
    run_quern annotate --asm --auto=no p
    [[ "$output" == *"    401000:  nop  [line 1]"* ]]
    run_quern report -o out.html p
    same "$messages" "quern: out.html: 1 source is in it, 0 not found"
}

# One byte more than 256 MiB, none of which is on the disk.
@test "a source of more than 256 MiB is not read" {
    truncate -s 268435457 large.c
    profile_of large.c > p
    touch -r large.c -d '+1 second' p
    for command in 'report -o out.html' annotate; do
        run_quern $command p
        same "$(head -1 stderr)" \
            "quern: large.c: has 268435457 bytes: sources of more than 268435456 are not read"
    done
    ! grep -q 'source is in it' stderr
}

# ---- Where they may lie ----

# The folder here/, in which the commands run, and outside/ beside it; sources of one line each.
make_folders() {
    mkdir -p here/sub here/.hidden outside
    echo 'int here; // HERE' > here/here.c
    echo 'int sub; // SUB' > here/sub/sub.c
    echo 'int hidden; // HIDDEN' > here/.hidden/hidden.c
    echo 'int dot; // DOT' > here/.dot.c
    echo 'int outside; // OUTSIDE' > outside/outside.c
    ln -s ../outside/outside.c here/out.c
    ln -s ../outside here/out
    ln -s sub/sub.c here/in.c
    find . -name '*.c' -exec touch -h -d 2020-01-01 {} +
    cd here
}

# The words in capitals of the sources that a report, or standard output, shows.
words() {
    local from=stdout
    if [ -n "${1-}" ]; then
        python3 -c 'import base64, re, sys, zlib
for data in re.findall(rb"data-block=[^>]*>([^<]*)<", open(sys.argv[1], "rb").read()):
    sys.stdout.buffer.write(zlib.decompress(base64.b64decode(data), -15))' "$1" > inflated
        from=inflated
    fi
    grep -aoE '// [A-Z]+' $from | cut -c 4- | sort -u | xargs
}

refused() {
    echo "quern: $1: was not recorded here by this user: files that it names, such as $2, are read \
only below this folder, and not hidden ones; -I FOLDER allows those below FOLDER, -I / all"
}

@test "a stranger's profile: sources below the working folder alone, whatever they are called" {
    make_folders
    inside=(here.c "$PWD/here.c" sub/../here.c ../here/here.c sub/sub.c in.c)
    for name in ../outside/outside.c ../../../../../../../../../../etc/passwd /etc/passwd out.c \
        out/outside.c "$FOLDER/outside/outside.c" .hidden/hidden.c .dot.c sub/../.dot.c; do
        profile_of "$name" "${inside[@]}" > p
        run_quern report -o out.html p
        same "$(words out.html)" "HERE SUB"
        ! grep -aq root: inflated || false
        same "$messages" "$(refused p "$name")
quern: out.html: 6 sources are in it, 0 not found, 1 not read
quern: 6 of 7 object files are not there: their instructions are left out"
        run_quern annotate --threshold=100 p
        same "$(words)" "HERE SUB"
        same "$messages" "$(refused p "$name")"
        ! grep -q root: stdout || false
        profile_of > none
        run_quern diff --by=line none p
        same "$(words)" "HERE SUB"
        same "$messages" "$(refused none "$name")"
    done
}

@test "a stranger's profile: -I allows what is below it, links resolved, and / everything" {
    make_folders
    mkdir ../outside/more
    ln -s ../outside/more in-more
    profile_of ../outside/outside.c .hidden/hidden.c > p
    for folder in ../outside "$FOLDER/outside" ../outside/ out; do
        run_quern annotate -I $folder --threshold=100 p
        same "$(words)" OUTSIDE
        same "$messages" "$(refused p .hidden/hidden.c)"
        run_quern report -I $folder -o out.html p
        same "$(words out.html)" OUTSIDE
        run_quern diff --by=line --new-include=$folder --old-include=$folder none p || true
    done
    for folder in in-more ../outside/more ../outsid nowhere .; do
        run_quern annotate -I $folder --threshold=100 p
        [[ "$(words)" =~ ^(HIDDEN)?$ ]]
        [[ "$messages" == *'such as ../outside/outside.c, are'* ]]
    done
    run_quern annotate -I / --threshold=100 p
    same "$(words)" "HIDDEN OUTSIDE"
    same "$messages" ""
    run_quern report -I / -o out.html p
    same "$(words out.html)" "HIDDEN OUTSIDE"
    same "$(head -1 stderr)" "quern: out.html: 2 sources are in it, 0 not found"
    # A name that leads out of the folder of -I.
    profile_of ../outside.c > p
    run_quern annotate -I ../outside/more p
    same "$(words)" ""
    same "$messages" "$(refused p ../outside/more/../outside.c)"
}

@test "a stranger's profile: in the root folder nothing, and what the user names" {
    make_folders
    profile_of "$FOLDER/outside/outside.c" > p
    cd /
    status=0
    "$BUILD/bin/quern" annotate "$FOLDER/here/p" > "$FOLDER/stdout" 2> "$FOLDER/stderr"
    same "$(< "$FOLDER/stderr")" "$(refused "$FOLDER/here/p" "$FOLDER/outside/outside.c")"
    cd "$FOLDER/here"
    profile_of ../outside/outside.c > p
    run_quern annotate --auto=no p ../outside/outside.c
    same "$(words)" OUTSIDE
    same "$messages" ""
    # Named by its end alone, it is the profile that says where it is.
    status=0
    $QUERN annotate --auto=no p outside.c > stdout 2> stderr || status=$?
    [ "$status" = 2 ]
    same "$(words)" ""
    same "$(< stderr)" "quern: outside.c: no such source file, neither here nor below an --include directory
$(refused p ../outside/outside.c)"
}

@test "a stranger's profile: objects as sources, and a profile from standard input" {
    make_folders
    printf '%s\n' '.text' '.globl _start' '_start: nop' 'ret' > a.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o ../outside/a a.S
    profile_of "$FOLDER/outside/a" > p
    run_quern annotate --asm --auto=no p
    [[ "$output" == *"(the object file is not read: addresses only)"* ]]
    [[ "$output" != *nop* ]]
    same "$messages" "$(refused p "$FOLDER/outside/a")"
    run_quern report -o out.html p
    ! { words out.html || true; grep -aq nop inflated; }
    run_quern annotate --asm --auto=no -I .. p
    [[ "$output" == *"    401000:  nop"* ]]
    run_quern report -I .. -o out.html p
    words out.html || true
    grep -aq nop inflated
    run_quern annotate --asm --auto=no - < p
    same "$messages" "$(refused '<stdin>' "$FOLDER/outside/a")"
}

# ---- Recorded here ----

# A profile `own` of a program whose source is outside, recorded by this user, whose caches are in
# here/cache.
record() {
    make_folders
    export XDG_CACHE_HOME=$PWD/cache
    echo "${SOURCE-int main(void) { return 0; \}} // OUTSIDE" > ../outside/outside.c
    gcc -g -o ../outside/program "$FOLDER/outside/outside.c"
    touch -d 2020-01-01 ../outside/outside.c
    $QUERN run -q --cache-sim=no -o own "$@" ../outside/program
}

# All functions, of Cachegrind profiles and of Callgrind's.
annotate_all() {
    local all=0
    zcat -f "$1" | zstd -dcf | grep -q '^positions:' && all=100
    run_quern annotate --threshold=$all "$@"
}

# Does a profile count as recorded here?
is_known() {
    annotate_all "$1"
    same "$messages" ""
    same "$(words)" OUTSIDE
}

is_stranger() {
    annotate_all "$1"
    same "$messages" "$(refused "$1" "$FOLDER/outside/outside.c")"
    same "$(words)" ""
}

@test "recorded here: every source is shown, also of copies, packed ones, and what is made of them" {
    record
    is_known own
    run_quern report -o out.html own
    same "$(words out.html)" OUTSIDE
    cp own copy
    is_known copy
    mv copy moved
    is_known moved
    gzip -k own
    is_known own.gz
    zstd -q own
    is_known own.zst
    run_quern merge -o sum own own
    is_known sum
    $QUERN merge own own.gz > sum2
    is_known sum2
    run_quern convert --to=callgrind -o other own
    is_known other
    run_quern diff -o none own own
    $QUERN diff -o more sum own
    is_known more
}

@test "recorded here: call graphs, threads, a tree of processes, reproducibly, again" {
    record --calls=yes --dump-instr=yes
    is_known own
    record --calls=yes --separate-threads=yes
    is_known own-01
    record --children=merge
    is_known own
    record --reproducible=yes
    is_known own
    record --reproducible=yes
    is_known own
}

@test "recorded here: the profile of the data" {
    SOURCE='void *calloc(unsigned long, unsigned long); int main(void) { return ((char *)calloc(99999, 1))[5000]; }'
    record --data=yes --cache-sim=yes --data-out-file=data
    is_known own
    is_known data
}

@test "not recorded here: another user's, a changed one, one that anybody may change" {
    record
    XDG_CACHE_HOME=$PWD/cache2 is_stranger own
    sed 's/fn=main/fn=niam/' own > changed
    is_stranger changed
    cp own open
    chmod o+w open
    is_stranger open
    # One stranger's among several.
    XDG_CACHE_HOME=$PWD/cache2 $QUERN run -q --cache-sim=no -o theirs ../outside/program theirs
    annotate_all own theirs
    same "$messages" "$(refused theirs "$FOLDER/outside/outside.c")"
    same "$(words)" ""
    $QUERN merge -o both own theirs
    is_stranger both
    # What was in the file before is a stranger's.
    cp theirs mixed
    $QUERN convert --to=cachegrind own >> mixed
    [ $(stat -c %s cache/quern/recorded) = $((192 + 16)) ] # a key and one profile
}

@test "not recorded here: the list is not this user's alone" {
    record
    chmod g+r cache/quern/recorded
    is_stranger own
    chmod g-r cache/quern/recorded
    is_known own
    mv cache/quern/recorded list
    ln -s ../../list cache/quern/recorded
    is_stranger own
}

@test "not recorded here: another user's file" {
    [ "$(id -u)" = 0 ] || skip "needs root: a file is given to another user"
    record
    chown 12345 own
    is_stranger own
    chown 0 own
    is_known own
    chown 12345 cache/quern/recorded
    is_stranger own
}

@test "the list: none without both caches, or without a folder" {
    record --symbol-cache=no --translation-cache=no
    [ ! -e cache ]
    is_stranger own
    env -u HOME -u XDG_CACHE_HOME $QUERN run -q --cache-sim=no -o own ../outside/program
    is_stranger own
}

# 2,097,152 bytes: the next profile is the last in it. One byte too many is of a disk that was full.
@test "the list: a full one is put away, a damaged one too, and both are asked" {
    record
    [ $(stat -c %s cache/quern/recorded) = $((192 + 16)) ]
    [ $(stat -c %a cache/quern/recorded) = 600 ]
    truncate -s 2097152 cache/quern/recorded
    $QUERN run -q -o last ../outside/program
    [ $(stat -c %s cache/quern/recorded.old) = 2097168 ]
    [ ! -e cache/quern/recorded ]
    $QUERN run -q --branch-sim=yes -o first ../outside/program
    [ $(stat -c %s cache/quern/recorded) = $((192 + 16)) ]
    is_known own
    is_known last
    is_known first
    printf x >> cache/quern/recorded
    $QUERN run -q -o lost ../outside/program
    $QUERN run -q --cache-sim=no --branch-sim=yes -o found ../outside/program
    is_known first
    is_known found
}

@test "the list: of programs that end at once every profile is in it" {
    record
    rm -r cache
    for i in {1..20}; do
        $QUERN run -q --cache-sim=no -o "p$i" ../outside/program $i &
    done
    wait
    [ $(stat -c %s cache/quern/recorded) = $((192 + 16 * 20)) ]
    for i in {1..20}; do is_known "p$i"; done
}
