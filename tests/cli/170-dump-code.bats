#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run --dump-code with the real engine: every block that a program enters, its instructions as they
# were written, and code in which everything decodes.

load run

# Five blocks: _start up to the loop's end; the loop; down to the call; the function; the end.
make_prog() {
    cat > prog.S << 'END'
    .intel_syntax noprefix
    .globl _start
_start:
    mov ecx, 3
1:  mov rax, [rip + value]
    add rax, 1
    mov [rip + value], rax
    dec ecx
    jnz 1b
    lea rdi, [rip + copy]
    lea rsi, [rip + value]
    mov ecx, 8
    call bytes
    mov eax, 60
    xor edi, edi
    syscall
bytes:
    rep movsb
    ret
    .data
    .balign 64
value: .quad 0
copy: .quad 0
END
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000,-Tdata=0x403000 -o prog prog.S
}

real() {
    env -u QUERN_ENGINE "$QUERN" run "$@"
}

# The client's instructions of the dump: four blanks before the address.
client() {
    sed -nE 's/^    ([0-9a-f]+  .*)/\1/p' "$1"
}

@test "the client's instructions, block by block" {
    make_prog
    real -q --vdso=no --branch-sim=yes -o out --dump-code=dump ./prog
    same "$(grep '^block' dump | cut -d' ' -f2,5,6)" "401000 6 instructions,
401005 5 instructions,
40101b 4 instructions,
40103c 2 instructions,
401033 3 instructions,"
    same "$(client dump)" "401000  mov ecx, 0x3
401005  mov rax, qword ptr [0x403000]
40100c  add rax, 0x1
401010  mov qword ptr [0x403000], rax
401017  dec ecx
401019  jnz 0x401005
401005  mov rax, qword ptr [0x403000]
40100c  add rax, 0x1
401010  mov qword ptr [0x403000], rax
401017  dec ecx
401019  jnz 0x401005
40101b  lea rdi, [0x403008]
401022  lea rsi, [0x403000]
401029  mov ecx, 0x8
40102e  call 0x40103c
40103c  rep movsb
40103e  ret
401033  mov eax, 0x3c
401038  xor edi, edi
40103a  syscall"
}

# A loop of three blocks, the second of which jumps over the third and back: their instructions are
# not in the order of their addresses.
@test "the instructions of a superblock have their own addresses" {
    cat > loop.S << 'END'
    .intel_syntax noprefix
    .globl _start
_start:
    mov ecx, 300000
1:  add rax, 1
    jmp 3f
2:  dec ecx
    jnz 1b
    mov eax, 60
    xor edi, edi
    syscall
3:  inc rdx
    jmp 2b
END
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o loop loop.S
    real -q --vdso=no --replay=inline -o out --dump-code=dump ./loop
    [ "$(grep '^block' dump | cut -d' ' -f5 | sort -n | tail -1)" -gt 6 ]
    same "$(client dump | sort -u)" "401000  mov ecx, 0x493e0
401005  add rax, 0x1
401009  jmp 0x401018
40100b  dec ecx
40100d  jnz 0x401005
40100f  mov eax, 0x3c
401014  xor edi, edi
401016  syscall
401018  inc rdx
40101b  jmp 0x40100b"
}

@test "everything decodes, in every mode" {
    make_prog
    for mode in --cache-sim=no --cache-sim=yes --branch-sim=yes '--branch-sim=yes --no-fast-tags' \
        '--branch-sim=yes --no-way-search' '--branch-sim=yes --no-chain --no-ibl' \
        '--branch-sim=yes --rep-count=cachegrind' '--branch-sim=yes --stress-flush=2'; do
        real -q --vdso=no $mode -o out --dump-code=dump ./prog
        ! grep 'no instruction' dump || false
        # each instruction of the main path is there, and the last of each block leads out of it
        [ "$(grep -c '^block' dump)" -ge 5 ]
        [ "$(grep -c '^    exit' dump)" -ge 6 ]
        grep -q '^stub exit at' dump
    done
}

@test "a call of a stub has its name" {
    make_prog
    real -q --vdso=no --replay=inline -o out --dump-code=dump ./prog
    grep -q '  call 0x[0-9a-f]*  ; log_rep$' dump
    rm dump
    real -q --vdso=no --replay=off -o out --dump-code=dump ./prog
    grep -q '  call 0x[0-9a-f]*  ; rep$' dump
    grep -q '  jmp 0x[0-9a-f]*  ; gate$' dump
    grep -q '^stub waysearch_i1 at' dump
}

@test "the name has the process id, a forked child has a file of its own, nothing else is left" {
    real -q -o 'out.%p' --dump-code='dump.%p' sh -c '(echo a); echo b'
    rm script
    same "$(ls | sed 's/[0-9]*$//' | sort | uniq -c | sed 's/^ *//')" "2 dump.
2 out."
    ! grep 'no instruction' dump.*
}

@test "a dump that cannot be written is said, and the counts are kept" {
    make_prog
    run real -q -o out --dump-code=none/dump ./prog
    [[ "$output" == *"none/dump: cannot be written: No such file or directory"* ]]
    mkdir none
    "$QUERN" recover
    same "$(ls none)" "" # a spool's names are not followed
    same "$(grep -c '^block' out.code)" 5
    [ -z "$(ls | grep quern)" ]
}

@test "a record that was not written to its end is not read" {
    make_prog
    # 64 bytes would be a block of 16 MiB of code, 36 more are there.
    printf '%s\n' "wait $FOLDER/go" 'end exit 0' > script
    "$QUERN" run -q --cache-sim=no -o out --dump-code=dump ./prog &
    pid=$!
    until [ -e quern.spool.$pid ]; do kill -0 $pid; sleep 0.02; done
    { printf CODE; head -c 96 /dev/zero | tr '\0' '\1'; } > quern.spool.$pid.code
    : > go
    wait $pid
    same "$(< dump)" "Code that quern made for process $pid: ./prog"
}
