#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern doctor: what it says is held against what others say of this machine.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    unset DEBUGINFOD_URLS QUERN_ENGINE
}

@test "the processor's level is that of the dynamic linker" {
    quern doctor
    said=$(sed -n 's/^ok  processor  *\(x86-64[-v2-4]*\): .*/\1/p' <<< "$output")
    highest=$(/lib64/ld-linux-x86-64.so.2 --help |
        sed -n 's/^  \(x86-64-v[2-4]\) (supported.*/\1/p' | sort | tail -n 1)
    same "$said" "${highest:-x86-64}"
    same "$(sed -n 's/.*, family \([0-9]*\), model \([0-9]*\), stepping \([0-9]*\)$/\1 \2 \3/p' \
        <<< "$output")" "$(awk -F ': ' '/^cpu family/ { f = $2 } /^model\t/ { m = $2 }
            /^stepping/ { print f, m, $2; exit }' /proc/cpuinfo)"
}

# What it says is the file that `quern run` marks, title and all; elsewhere that there is none.
@test "the machine is that of --machine=native" {
    quern doctor
    said=$(sed -n 's/^\(ok\|--\)  machine  *//p' <<< "$output")
    native=$("$BUILD/bin/quern" run --machine=list | sed -n 's/^\([^ ]*\)  *\(.*\) (native)$/\1: \2/p')
    if [ "$native" ]; then
        same "$said" "$native"
    else
        [[ "$said" == "none fits this processor ("*"); --machine=list has others" ]]
    fi
}

@test "kernel and engine" {
    quern doctor
    same "$(grep -c '^ok  kernel  *Linux '"$(uname -r)"'$' <<< "$output")" 1
    same "$(sed -n 's/^ok  engine  *//p' <<< "$output")" \
        "$(realpath "$BUILD/libexec/quern/quern-engine")"
    same "$messages" ""
}

@test "the engine is missing: no, and status 1" {
    QUERN_ENGINE=/nowhere quern doctor
    [ "$status" = 1 ]
    same "$(grep '^no  engine' <<< "$output")" \
        "no  engine          not found beside this program; set QUERN_ENGINE to its path"
}

@test "no counters in a folder that takes no files" {
    cd /proc
    status=0
    "$BUILD/bin/quern" doctor > "$BATS_TEST_TMPDIR/out" || status=$?
    [ "$status" = 1 ]
    want='^no  counters here    *this folder cannot hold a file for them: .*; --spool-dir= names another folder$'
    grep -q "$want" "$BATS_TEST_TMPDIR/out"
}

@test "a libc without debug information: what to install" {
    libc=$(ldd "$BUILD/libexec/quern/quern-whole" | awk '$1 == "libc.so.6" { print $3 }')
    # Without what leads to debug information elsewhere, too.
    objcopy --strip-all -R .note.gnu.build-id -R .gnu_debuglink -R .gnu_debugdata "$libc" libc.so.6
    LD_LIBRARY_PATH=$PWD quern doctor
    [ "$status" = 1 ]
    id=$(. /etc/os-release && echo "$ID")
    [[ "$id" != debian ]] || install='apt install libc6-dbg'
    [[ "$output" == *"
no  symbols of libc $PWD/libc.so.6: names of functions only, no lines; ${install-}"* ]]
    # Nor a table of sections: e_shoff, e_shnum and e_shstrndx are 0. Then there is no name, either.
    for at in 40:8 60:4; do
        head -c ${at#*:} /dev/zero | dd of=libc.so.6 bs=1 seek=${at%:*} conv=notrunc status=none
    done
    LD_LIBRARY_PATH=$PWD quern doctor
    [[ "$output" == *"
no  symbols of libc $PWD/libc.so.6: no names of functions, no lines; ${install-}"* ]]
}

@test "debuginfod" {
    quern doctor
    same "$(grep debuginfod <<< "$output")" \
        "--  debuginfod      not configured: DEBUGINFOD_URLS is not set"
    DEBUGINFOD_URLS=http://localhost:1 quern doctor
    case $(grep debuginfod <<< "$output") in
    "ok  debuginfod      http://localhost:1") ;;
    "no  debuginfod      configured (http://localhost:1), but its library is not installed; "*)
        [ "$status" = 1 ] ;;
    *) false ;;
    esac
}

@test "status 0 exactly where nothing is missing" {
    quern doctor
    if grep -q '^no ' <<< "$output"; then [ "$status" = 1 ]; else [ "$status" = 0 ]; fi
    quern doctor now
    [ "$status" = 2 ]
    same "$messages" "quern: now: quern doctor takes no arguments"
}

@test "addresses: whether they can be fixed" {
    quern doctor
    if setarch -R true 2> why; then
        same "$(grep addresses <<< "$output")" \
            "ok  addresses       can be fixed: the same from run to run"
    else
        [[ "$(grep addresses <<< "$output")" == "no  addresses       cannot be fixed ("* ]]
    fi
}

# What fstat() says here are the blocks that a file system takes which has no holes: 1 MiB at most
# are nothing.
@test "a file system that does not leave out what is empty" {
    printf '%s\n' '#include <stdlib.h>' '#include <sys/stat.h>' '#include <sys/syscall.h>' \
        '#include <unistd.h>' 'int fstat(int fd, struct stat *st)' '{' \
        'int ret = (int)syscall(SYS_fstat, fd, st);' \
        'if (ret == 0 && st->st_size > 1 << 20) st->st_blocks = atoi(getenv("BLOCKS"));' \
        'return ret;' '}' \
        'int fstat64(int fd, struct stat64 *st) { return fstat(fd, (struct stat *)st); }' > full.c
    gcc -w -D_GNU_SOURCE -shared -fPIC -o full.so full.c
    BLOCKS=2048 LD_PRELOAD=$PWD/full.so quern doctor
    same "$(grep counters <<< "$output")" \
        "ok  counters here   this folder can hold the sparse file for them
ok  counters, stat  can be in memory"
    BLOCKS=2050 LD_PRELOAD=$PWD/full.so quern doctor
    [ "$status" = 1 ]
    same "$(grep counters <<< "$output")" "no  counters here   this folder cannot hold a file for them: \
sparse files do not work (an empty one takes 1025 KiB); --spool-dir= names another folder
no  counters, stat  cannot be in memory: sparse files do not work (an empty one takes 1025 KiB); \
\`quern stat\` cannot run"
}
