#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern run` and the program: how it is found, what is refused, with which sentence and status.
# Nothing may be left behind by a refusal.

load run

# refused STATUS MESSAGE ARGUMENTS...
refused() {
    local expected=$1 message=$2
    shift 2
    quern run "$@"
    same "$messages" "quern: $message"
    [ "$status" = "$expected" ]
    same "$output" ""
    [ -z "$(ls | grep -E 'spool|cachegrind.out')" ]
}

@test "a missing program" {
    refused 127 "no-such-program: not found in PATH" no-such-program
    refused 127 "./nothing: No such file or directory" ./nothing
    refused 127 "/nothing/at/all: No such file or directory" /nothing/at/all
    touch file
    refused 127 "./file/x: Not a directory" ./file/x
    refused 127 "the name of the program is empty" ""
}

@test "a folder" {
    mkdir folder
    refused 126 "./folder: a folder, not a program" ./folder
    refused 126 "/: a folder, not a program" /
}

@test "not a regular file" {
    mkfifo fifo
    chmod +x fifo
    refused 126 "./fifo: not a regular file" ./fifo
}

@test "a file that is not executable" {
    echo text > file
    refused 126 "./file: not executable (Permission denied); chmod +x may help" ./file
}

@test "PATH: a folder or a file without permission is passed over, as execvp does" {
    make_prog
    mkdir a b
    mkdir a/tool
    touch b/tool
    PATH=$PWD/a:$PWD/b:/usr/bin:/bin refused 126 "$PWD/a/tool: a folder, not a program" tool
    mkdir c
    cp prog c/tool
    PATH=$PWD/a:$PWD/b:$PWD/c:/usr/bin:/bin quern run -q -o out tool
    [ "$status" = 0 ]
    grep -qx 'cmd: tool' out
    # An empty element is the working directory.
    cp prog here
    PATH=/usr/bin::/bin quern run -q -o out here
    [ "$status" = 0 ]
}

# elf OFFSET BYTES...: changes bytes of prog.
elf() {
    local at=$1
    shift
    printf "$(printf '\\x%s' "$@")" | dd of=prog bs=1 seek="$at" conv=notrunc status=none
}

@test "a 32-bit program" {
    make_prog
    elf 4 01 # ELFCLASS32
    elf 18 03 00 # EM_386
    refused 126 "./prog: a 32-bit program; only 64-bit x86-64 programs can be profiled" ./prog
}

@test "a real 32-bit program, where gcc can make one" {
    printf '.globl _start\n_start: nop\n' > p32.S
    gcc -m32 -nostdlib -static -o p32 p32.S 2> /dev/null || skip "gcc -m32 does not work here"
    refused 126 "./p32: a 32-bit program; only 64-bit x86-64 programs can be profiled" ./p32
}

@test "an x32 program" {
    make_prog
    elf 4 01
    refused 126 "./prog: an x32 program; only 64-bit x86-64 programs can be profiled" ./prog
}

@test "a program for another machine" {
    make_prog
    elf 18 b7 00 # EM_AARCH64
    refused 126 "./prog: a program for another machine (ELF machine 183); only x86-64 programs \
can be profiled" ./prog
    make_prog
    elf 5 02 # big endian
    elf 18 00 16 # EM_S390
    refused 126 "./prog: a program for another machine (ELF machine 22); only x86-64 programs can \
be profiled" ./prog
}

@test "a truncated ELF file" {
    make_prog
    head -c 30 prog > cut
    chmod +x cut
    refused 126 "./cut: a truncated ELF file: the header ends after 30 bytes" ./cut
    head -c 60 prog > cut
    refused 126 "./cut: a truncated ELF file: the header ends after 60 bytes" ./cut
    head -c 100 prog > cut
    refused 126 "./cut: a truncated ELF file: program headers at offset 64, the file has 100 \
bytes" ./cut
    # The text segment is the second one: offset 0x1000, three bytes.
    head -c 4097 prog > cut
    refused 126 "./cut: a truncated ELF file: segment 1 ends at offset 4099, the file has 4097 \
bytes" ./cut
}

@test "an object file" {
    make_prog
    gcc -c -o prog.o prog.S
    chmod +x prog.o
    refused 126 "./prog.o: an ELF file that is not a program (ELF type 1); link it first" ./prog.o
}

@test "a missing or unusable ELF interpreter" {
    echo 'int main(void) { return 0; }' > dyn.c
    gcc -o dyn dyn.c -Wl,--dynamic-linker=/no/such/ld.so
    refused 126 "./dyn: its interpreter /no/such/ld.so: No such file or directory" ./dyn
    echo text > "$PWD/text"
    chmod +x text
    gcc -o dyn dyn.c "-Wl,--dynamic-linker=$PWD/text"
    refused 126 "./dyn: its interpreter cannot be used: $PWD/text: neither an ELF program nor a \
script" ./dyn
}

@test "setuid and setgid programs" {
    make_prog
    chmod 4755 prog
    refused 126 "./prog: a setuid program; it would run without the rights it expects, so it is \
not profiled; a copy without that mode bit can be" ./prog
    chmod 2755 prog
    refused 126 "./prog: a setgid program; it would run without the rights it expects, so it is \
not profiled; a copy without that mode bit can be" ./prog
}

@test "scripts: the interpreter must exist" {
    printf '#!/no/such/interpreter -x\n' > script.sh
    chmod +x script.sh
    refused 126 "./script.sh: its interpreter /no/such/interpreter: No such file or directory" \
        ./script.sh
    printf '#!\n' > script.sh
    refused 126 "./script.sh: its first line is #! without an interpreter" ./script.sh
    printf '#!%s\n' "$PWD" > script.sh
    refused 126 "./script.sh: its interpreter cannot be used: $PWD: a folder, not a program" \
        ./script.sh
    printf '#!%s/script.sh\n' "$PWD" > script.sh
    quern run ./script.sh
    [ "$status" = 126 ]
    [[ "$messages" == *"more than 5 #! interpreters in sequence" ]]
}

@test "scripts run, with and without a #! line" {
    printf '#! /bin/sh -e\n' > with
    printf 'exit 0\n' > without
    : > empty
    printf '\x01\x02\x00binary' > binary
    chmod +x with without empty binary
    quern run -q -o out ./with a
    [ "$status" = 0 ]
    grep -qx 'cmd: ./with a' out
    # As execvp and every shell do.
    quern run -q -o out ./without a
    [ "$status" = 0 ]
    grep -qx 'cmd: /bin/sh ./without a' out
    quern run -q -o out ./empty
    [ "$status" = 0 ]
    refused 126 "./binary: neither an ELF program nor a script" ./binary
}

@test "a missing engine" {
    QUERN_ENGINE=/no/engine quern run true
    [ "$status" = 2 ]
    same "$messages" "quern: /no/engine: the engine: No such file or directory; set QUERN_ENGINE \
to its path"
    [ -z "$(ls | grep spool)" ]
}

@test "an engine that cannot be executed leaves nothing behind" {
    echo 'not a program' > engine
    chmod +x engine
    QUERN_ENGINE=$PWD/engine quern run -q true
    [ "$status" = 2 ]
    same "$messages" "quern: $PWD/engine: Exec format error"
    [ -z "$(ls | grep spool)" ]
}

@test "folders that cannot be written" {
    hint="choose another folder with --cachegrind-out-file= or --spool-dir="
    quern run -o /no/such/folder/out true
    [ "$status" = 2 ]
    same "$messages" "quern: /no/such/folder/quern.spool.PID: cannot create the spool: No such \
file or directory; $hint"
    quern run -o /proc/out true
    [ "$status" = 2 ]
    same "$messages" "quern: /proc/quern.spool.PID: cannot create the spool: No such file or \
directory; $hint"
    touch file
    quern run -o file/out true
    [ "$status" = 2 ]
    same "$messages" "quern: $PWD/file/quern.spool.PID: cannot create the spool: Not a directory; \
$hint"
    quern run --spool-dir=/no/such true
    [ "$status" = 2 ]
    same "$messages" "quern: /no/such/quern.spool.PID: cannot create the spool: No such file or \
directory; $hint"
}

@test "a log that cannot be written" {
    quern run --log-file=/no/such/log true
    [ "$status" = 2 ]
    same "$messages" "quern: --log-file=/no/such/log: /no/such/log: No such file or directory"
    [ -z "$(ls | grep spool)" ]
}

@test "a closed standard input stays closed, and nothing of the run takes its place" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'counter 0 5' \
        'end exit 0' | script
    quern run -q --cache-sim=no -o out ./prog <&-
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(sed -n '/^fn/,$p' out)" "fn=f
4 5
summary: 5"
}

@test "without PATH: where POSIX has its commands" {
    status=0
    env -u PATH "$QUERN" run -q -o out true 2> stderr || status=$?
    [ "$status" = 0 ]
    same "$(< stderr)" ""
    [ -s out ]
}

@test "what the engine is told: signals that are blocked, children that are left out" {
    make_prog
    printf '%s\n' 'say open' 'say skip' 'end exit 0' > script
    quern run -q --trace-children-skip='*/make,/bin/[a-c]*' ./prog
    # The others would end the process while nobody can finish a spool: ILL, TRAP, BUS, FPE, KILL,
    # SEGV, STOP and SYS are open.
    same "$output" "open: 4 5 7 8 9 11 19 31
*/make,/bin/[a-c]*"
    quern run -q ./prog
    same "$output" "open: 4 5 7 8 9 11 19 31"
}
