#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# run, the real engine and the finisher together: how a program ends is how `quern run` ends, and
# the profile is there. The program is without a libc, so that its instructions are counted by hand.

load run

# loop N: the body of `work` is 2 instructions a round (dec, jnz) after a mov: 2 N + 2 with its ret.
make_loop() {
    cat > loop.S << END
    .text
    .globl _start, work
    .type _start, @function
    .type work, @function
work:
    mov \$$1, %rcx
1:  dec %rcx
    jnz 1b
    ret
    .size work, . - work
_start:
    call work
$2
    .size _start, . - _start
END
    gcc -g -nostdlib -static -no-pie -o loop loop.S
}

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
}

@test "the profile of a program counted by hand" {
    real
    make_loop 1000 '    mov $60, %eax
    mov $7, %edi
    syscall'
    quern run --cache-sim=no --branch-sim=yes -o out ./loop
    [ "$status" = 7 ]
    # work: mov, 1000 times dec and jnz, ret. _start: call, mov, mov, syscall.
    same "$(sed -n '/^cmd/,$p' out | cut -d' ' -f1-3)" "cmd: ./loop
events: Ir Bc
fl=$PWD/loop.S
fn=(below main)
12 1 0
13 1 0
14 1 0
15 1 0
fn=work
6 1 0
7 1000 0
8 1000 1000
9 1 0
summary: 2006 1000"
    [[ "$messages" == *"==PID== I   refs:      2,006"* ]]
    [ -z "$(ls | grep spool)" ]
}

@test "killed half-way, then recovered" {
    real
    make_loop 0x7fffffffffffffff '    hlt'
    "$QUERN" run -q --cache-sim=no -o out ./loop 3>&- &
    pid=$!
    for i in $(seq 100); do [ -e quern.spool.$pid ] && break; sleep 0.05; done
    sleep 0.5
    quern recover
    [ "$status" = 0 ]
    [ -e quern.spool.$pid ] # it runs still
    kill -KILL $pid
    status=0
    wait $pid || status=$?
    [ "$status" = 137 ]
    [ ! -e out ]
    quern recover
    [ "$status" = 0 ]
    # Every round is a dec and a jnz; the kill may fall between the two.
    dec=$(awk '/^7 /{ print $2 }' out)
    jnz=$(awk '/^8 /{ print $2 }' out)
    [ "$dec" -gt 100000 ]
    [ $((dec - jnz)) -ge 0 ]
    [ $((dec - jnz)) -le 1 ]
    [ ! -e quern.spool.$pid ]
}

# Loads of 64 KiB, line by line: each misses a D1 of 1 KiB. After N of them $2, which may not return.
make_walk() {
    cat > walk.S << END
    .bss
buffer:
    .zero 65536
    .text
    .globl _start
    .type _start, @function
_start:
    mov \$$1, %rcx
    xor %esi, %esi
    push %rbx
1:  mov buffer(%rsi), %rax
    add \$64, %esi
    and \$0xffff, %esi
    dec %rcx
    jnz 1b
$2
    .size _start, . - _start
END
    gcc -g -nostdlib -static -no-pie -o walk walk.S
}

@test "killed by SIGKILL, nothing is lost of what was recorded" {
    real
    # kill(getpid(), SIGKILL) after 100,000 loads; a string instruction and its misses before that.
    make_walk 100000 '    mov $buffer, %edi
    mov $1000, %ecx
    rep stosb
    mov $39, %eax
    syscall
    mov %eax, %edi
    mov $9, %esi
    mov $62, %eax
    syscall'
    for how in off inline process auto 'inline --no-replay-code' 'inline --small-buffers' \
        'process --small-buffers' 'process --no-vectors' 'process --no-avx512' \
        'auto --no-hints'; do
        status=0
        "$QUERN" run -q --D1=1024,2,64 --branch-sim=yes --replay=$how -o out ./walk 3>&- || status=$?
        [ "$status" = 137 ]
        quern recover
        [ "$status" = 0 ]
        mv out "out-$how"
        cmp out-off "out-$how"
    done
    # Without branches a thread also simulates buffers before their turn.
    for how in off split 'split --small-buffers' 'split --no-vectors --small-buffers'; do
        status=0
        "$QUERN" run -q --D1=1024,2,64 --replay=$how -o out ./walk 3>&- || status=$?
        [ "$status" = 137 ]
        quern recover
        [ "$status" = 0 ]
        mv out "caches-$how"
        cmp caches-off "caches-$how"
    done
    # mov: Ir Bc Bcm Dr D1mr ...
    same "$(sed -n 's/^events: //p' out-off)" \
        "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"
    same "$(awk '/^11 / { print $2, $5, $6 }' out-off)" "100000 100000 100000"
    # 1000 bytes are 16 lines, at addresses that the last loads of 64 KiB have pushed out
    same "$(awk '/^18 / { print $2, $8, $9 }' out-off)" "1 1000 16"
}

# work: trees are built and searched, arrays walked along rows and columns, strings copied.
make_work() {
    cat > work.c << 'END'
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; unsigned key; char text[28]; };
static struct node *insert(struct node *n, unsigned key)
{
    if (!n) {
        n = calloc(1, sizeof(*n));
        n->key = key;
        memset(n->text, key & 127, sizeof(n->text));
        return n;
    }
    if (key < n->key) n->left = insert(n->left, key);
    else n->right = insert(n->right, key);
    return n;
}
static unsigned sum(const struct node *n)
{
    return n ? sum(n->left) + n->key + sum(n->right) : 0;
}
static unsigned grid[300][300];
static unsigned columns(void)
{
    unsigned all = 0;
    for (int x = 0; x < 300; x++)
        for (int y = 0; y < 300; y++)
            all += grid[y][x]++;
    return all;
}
int main(void)
{
    struct node *tree = NULL;
    unsigned key = 7, all = 0;
    char *copy = malloc(100001);
    for (int i = 0; i < 6000; i++)
        tree = insert(tree, key = key * 1103515245 + 12345);
    for (int i = 0; i < 8; i++) {
        all += sum(tree) + columns();
        memcpy(copy + 1, grid, 100000);
    }
    return all == 1;
}
END
    gcc -O1 -g -o work work.c
}

# Geometries with one set, one way, sets that are no whole vectors, other lines.
@test "buffers simulated before their turn change no count" {
    real
    [ "$(nproc)" -ge 2 ] || skip "one processor"
    make_work
    for options in '' --calls=yes '--D1=512,8,64 --I1=512,8,64 --LL=65536,16,64' '--D1=3072,12,64 --I1=4096,1,64' \
        '--D1=8192,4,128 --I1=2048,2,32 --LL=131072,8,128' '--calls=yes --D1=1536,12,64 --I1=1024,4,64 --LL=37748736,12,64'; do
        "$QUERN" run -q $options --replay=off -o off ./work 3>&-
        for how in split 'split --small-buffers' 'split --small-buffers --no-vectors' 'split --small-buffers --no-avx512' auto; do
            "$QUERN" run -v $options --replay=$how -o out ./work 3>&- 2> said
            diff <(grep -vE '^(pid|cmd):' off) <(grep -vE '^(pid|cmd):' out)
            case $how in
            'split --small-buffers')
                [ "$(tr -d , < said | awk '/ ahead of their turn/ { print $3 }')" -gt 0 ] ;;
            esac
        done
    done
}

# With samples a buffer is simulated before its turn in vain where the core wants to see some of it. How many are
# depends on who is faster: tests/unit/count/test_ahead.c and replay/test_replayer.c have both cases.
@test "nor of a machine" {
    real
    [ "$(nproc)" -ge 2 ] || skip "one processor"
    make_work
    ahead=0
    for machine in zen5 sapphire-rapids zen5,core=off; do
        sampling=--core-sampling=1000,20000,300,100,8000
        case $machine in *off) sampling= ;; esac
        "$QUERN" run -q --machine=$machine $sampling --replay=inline -o inline ./work 3>&-
        for how in split 'split --small-buffers' 'split --small-buffers --no-vectors' auto 'inline --no-superblocks'; do
            "$QUERN" run -v --machine=$machine $sampling --replay=$how -o out ./work 3>&- 2> said
            diff <(grep -vE '^(pid|cmd):' inline) <(grep -vE '^(pid|cmd):' out)
            ahead=$((ahead + $(tr -d , < said | awk '/ ahead of their turn/ { print $3 }')))
        done
    done
    [ "$ahead" -gt 0 ]
}

@test "a fragment asks for its record's lines, unless --no-hints" {
    real
    [ "$(nproc)" -ge 2 ] || skip "one processor replays what it has recorded"
    make_walk 100000 '    mov $231, %eax
    xor %edi, %edi
    syscall'
    for how in '' --no-hints; do
        "$QUERN" run -v --D1=1024,2,64 --replay=process --no-superblocks $how -o "out$how" ./walk 3>&- 2> "said$how"
    done
    cmp out out--no-hints
    blocks=$(sed -n 's/.* engine: \([0-9]*\) blocks translated .*/\1/p' said)
    bytes=$(sed -n 's/.* engine: \([0-9,]*\) bytes of code cache written/\1/p' said | tr -d ,)
    without=$(sed -n 's/.* engine: \([0-9,]*\) bytes of code cache written/\1/p' said--no-hints | tr -d ,)
    # Each record has at most eight words, so one instruction of 8 bytes; padding may follow.
    [ "$blocks" -gt 2 ]
    [ $((bytes - without)) -ge $((blocks * 8)) ]
    [ $((bytes - without)) -lt $((blocks * 16)) ]
}

@test "an only thread's buffers grow, and nothing changes" {
    real
    # A round's record has two words, of 8 bytes: 40,000,000 fill 256 buffers of 512 KiB, which take 8,388,608 of
    # them, and 241 of 2 MiB, which take 131,072 each. Each load misses.
    make_walk 40000000 '    mov $231, %eax
    xor %edi, %edi
    syscall'
    for how in inline process; do
        [ $how = inline ] || [ "$(nproc)" -ge 2 ] || continue
        "$QUERN" run -v --D1=1024,2,64 --replay=$how --no-superblocks -o out-$how ./walk 3>&- 2> said
        same "$(awk '/ full buffers / { n += $3 } END { print n }' said)" 497
        same "$(awk '/^11 / { print $2, $5, $6 }' out-$how)" "40000000 40000000 40000000"
    done
}

@test "of two threads the buffers stay small" {
    real
    cat > two.c << 'END'
#include <pthread.h>
#include <unistd.h>
static void *wait_for_ever(void *ends) { char c; return (void *)read(*(int *)ends, &c, 1); }
int main(void)
{
    static char buffer[65536];
    pthread_t other;
    int ends[2];
    if (pipe(ends) || pthread_create(&other, NULL, wait_for_ever, ends)) return 1;
    __asm__ volatile("mov $40000000, %%ecx; xor %%esi, %%esi\n"
                     "1: mov (%0, %%rsi), %%rax; add $64, %%esi; and $0xffff, %%esi; dec %%ecx; jnz 1b"
                     :: "r"(buffer) : "rax", "rcx", "rsi", "memory");
    _exit(0);
}
END
    gcc -O1 -pthread -o two two.c
    "$QUERN" run -v --D1=1024,2,64 --replay=inline --no-superblocks -o out ./two 3>&- 2> said
    # The id, the buffer's address and %rsi: 1,831 buffers of 512 KiB, and few for what is before the loop.
    buffers=$(tr -d , < said | awk '/ full buffers / { n += $3 } END { print n }')
    [ "$buffers" -ge 1831 ]
    [ "$buffers" -le 1840 ]
}

@test "killed by SIGKILL with calls open, nothing is lost of what they cost" {
    real
    cat > calls.S << 'END'
    .bss
buffer:
    .zero 65536
    .text
    .globl _start
    .type _start, @function
    .type outer, @function
    .type walk, @function
    .type die, @function
walk:
    mov $1024, %ecx
    xor %esi, %esi
1:  mov buffer(%rsi), %rax
    add $64, %esi
    dec %ecx
    jnz 1b
    ret
    .size walk, . - walk
die:
    mov $39, %eax
    syscall
    mov %eax, %edi
    mov $9, %esi
    mov $62, %eax
    syscall
    .size die, . - die
outer:
    mov $30, %ebx
1:  call walk
    dec %ebx
    jnz 1b
    call die
    .size outer, . - outer
_start:
    call outer
    .size _start, . - _start
END
    gcc -g -nostdlib -static -no-pie -o calls calls.S
    for how in off inline process auto 'inline --no-replay-code' 'inline --small-buffers' \
        'process --small-buffers' 'process --no-vectors' 'process --no-avx512' \
        'auto --no-hints'; do
        status=0
        "$QUERN" run -q --calls=yes --D1=1024,2,64 --branch-sim=yes --replay=$how -o out ./calls 3>&- ||
            status=$?
        [ "$status" = 137 ]
        QUERN=$BUILD/tests/quern-asan ASAN_OPTIONS=detect_leaks=0 quern recover
        [ "$status" = 0 ]
        grep -v '^pid: ' out > "out-$how"
        cmp out-off "out-$how"
    done
    for how in off split 'split --small-buffers'; do
        status=0
        "$QUERN" run -q --calls=yes --D1=1024,2,64 --replay=$how -o out ./calls 3>&- || status=$?
        [ "$status" = 137 ]
        quern recover
        [ "$status" = 0 ]
        grep -v '^pid: ' out > "caches-$how"
        cmp caches-off "caches-$how"
    done
    "$QUERN" run -q --calls=yes --D1=1024,2,64 --branch-sim=yes --replay=off -o out ./calls 3>&- || true
    quern recover
    same "$(sed -n 's/^events: //p' out)" "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim"
    # 30 walks of 1024 rounds of 4 instructions, and 3: every load misses D1, those of the first walk LL; and so
    # do their returns, whose line of the stack the walk has pushed out. It is LL's since the first call.
    same "$(grep -A 1 '^calls=30 ' out | awk 'NR == 2 { print $2, $3, $6, $9 }')" "122970 30750 30750 1024"
    # outer's call is open: all that but the one instruction before it
    same "$(grep -A 2 '^cfn=(2) outer' out | awk 'NR == 3 { print $2, $3, $6, $9 }')" "123068 30750 30750 1024"
}

@test "killed at any time: each load has its miss" {
    real
    make_walk 0x7fffffffffffffff '    hlt'
    for how in inline process 'inline --no-replay-code' 'process --small-buffers' split \
        'split --small-buffers' 'inline --no-superblocks' 'process --small-buffers --no-superblocks'; do
        "$QUERN" run -q --D1=1024,2,64 --replay=$how -o out ./walk 3>&- &
        pid=$!
        for i in $(seq 100); do [ -e quern.spool.$pid ] && break; sleep 0.05; done
        sleep 0.4
        kill -KILL $pid
        wait $pid || true
        quern recover
        [ "$status" = 0 ]
        [ ! -e quern.spool.$pid ]
        read -r loads misses < <(awk '/^11 / { print $5, $6 }' out)
        [ "$loads" -gt 10000 ]
        # of the record that was just being made and the one that was just being replayed it is not
        # known: a round each, in superblocks as many as these have blocks
        case $how in *--no-superblocks) known=2;; *) known=28;; esac
        [ $((loads - misses)) -ge 0 ]
        [ $((loads - misses)) -le $known ]
        rm out
    done
}

# As many executions as take 10 ms of any processor's time, and more: a thread looks by then.
@test "superblocks of a program whose instructions alone are counted" {
    real
    make_loop 500000000 '    mov $60, %eax
    xor %edi, %edi
    syscall'
    for how in '' --no-superblocks; do
        quern run -v --cache-sim=no $how -o out$how ./loop
        [ "$status" = 0 ]
        # mov, 500,000,000 times dec and jnz, ret; call, mov, xor, syscall
        [[ "$messages" == *"==PID== I   refs:      1,000,000,006"* ]]
        made=$(sed -n 's/.* \([0-9,]*\) superblocks made/\1/p' <<< "$messages")
        if [ -z "$how" ]; then [ "$made" -ge 1 ]; else [ "$made" = 0 ]; fi
    done
    cmp <(grep -v '^cmd' out) <(grep -v '^cmd' out--no-superblocks)
}

@test "the same counts of a real program with superblocks and without" {
    real
    for how in '' --no-superblocks --small-buffers '--small-buffers --stress=1000 --stress-flush=500' \
        '--small-buffers --cache-size=256k' '--small-buffers --no-ibl'; do
        env -i PATH="$PATH" "$QUERN" run -q --reproducible=yes --cache-sim=no $how -o out \
            bash -c 'for ((i = 0; i < 300; i++)); do a[i]=$((i * i)); done; echo "${a[299]}"' > said
        [ "$(cat said)" = 89401 ]
        grep -v '^pid:\|^cmd:' out > "out of $how"
        cmp "out of " "out of $how"
    done
    env -i PATH="$PATH" "$QUERN" run -v --reproducible=yes --cache-sim=no --small-buffers -o out \
        bash -c 'for ((i = 0; i < 300; i++)); do a[i]=$((i * i)); done' 2>&1 | grep 'superblocks made' > said
    # bash's loop is more than one of them
    [ "$(tr -dc '0-9 ' < said | awk '{ print $NF }')" -ge 2 ]
}

# Signals come at any time: in blocks, in the gate, while the kernel makes a call and restarts it.
@test "killed in a call that was the last to be translated" {
    real
    # The first call of twice() has all of it translated, the second one's counters are the last.
    cat > last.S << 'END'
    .globl _start
    .type _start, @function
    .type twice, @function
twice:
    mov $39, %eax
    syscall
    mov %eax, %edi
    mov %ebx, %esi
    mov $62, %eax
    syscall
    ret
    .size twice, . - twice
_start:
    xor %ebx, %ebx
    call twice
    mov $9, %ebx
    call twice
    .size _start, . - _start
END
    gcc -nostdlib -static -no-pie -o last last.S
    "$QUERN" run -q --calls=yes --cache-sim=no -o out ./last 3>&- || status=$?
    [ "$status" = 137 ]
    quern recover -q quern.spool.*
    [ "$status" = 0 ]
    # All 7 of the first, 6 of the second.
    same "$(grep -A 2 '^cfn=' out)" "cfn=(2) twice
calls=2 *
* 13"
}

@test "a call is counted once, whatever signals come before it is made" {
    real
    cat > calls.S << 'END'
    .text
    .globl _start
    .type handler, @function
    .type restorer, @function
    .type _start, @function
handler:
    ret
restorer:
    mov $15, %eax
    syscall
_start:
    mov $13, %eax // rt_sigaction(SIGALRM, &action, NULL, 8)
    mov $14, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $38, %eax // setitimer(ITIMER_REAL, &every, NULL)
    xor %edi, %edi
    lea every(%rip), %rsi
    syscall
    mov $100000, %ebx
1:  mov $39, %eax // getpid(), which goes to the kernel at once
    syscall
    mov $3, %eax // close(-1), which the engine looks at
    mov $-1, %edi
    syscall
    dec %ebx
    jnz 1b
    mov $300, %ebx
2:  mov $7, %eax // poll(NULL, 0, 1), broken off by EINTR or not
    xor %edi, %edi
    xor %esi, %esi
    mov $1, %edx
    syscall
    dec %ebx
    jnz 2b
    mov $60, %eax
    xor %edi, %edi
    syscall
    .data
    .balign 8
action:
    .quad handler, 0x14000000, restorer, 0 // SA_RESTART | SA_RESTORER
every:
    .quad 0, 150, 0, 150
END
    gcc -g -nostdlib -static -no-pie -o calls calls.S
    for how in --cache-sim=no --cache-sim=yes '--calls=yes --compress-pos=no' \
        '--cache-sim=no --stress=300'; do
        "$QUERN" run -q $how -o out ./calls
        awk '/^calls=/ { getline; next }
             $1 >= 23 && $1 <= 29 { if ($2 != 100000) bad = 1; n++ }
             $1 >= 31 && $1 <= 37 { if ($2 != 300) bad = 1; n++ }
             END { exit bad || n != 14 }' out
        grep -q '^7 [1-9][0-9]' out # there were signals
        rm out
    done
}

@test "ended by a signal: the status is the signal, the profile is complete" {
    real
    make_loop 0x7fffffffffffffff '    hlt'
    for signal in TERM INT ALRM; do
        rm -f out
        # A shell's background jobs ignore SIGINT; the program must not.
        (trap - INT; exec env --default-signal=INT "$QUERN" run -q --cache-sim=no -o out ./loop) \
            3>&- &
        pid=$!
        for i in $(seq 100); do [ -e quern.spool.$pid ] && break; sleep 0.05; done
        sleep 0.3
        kill -$signal $pid
        status=0
        wait $pid || status=$?
        [ "$status" = $((128 + $(kill -l $signal))) ]
        [ "$(awk '/^7 /{ print $2 }' out)" -gt 100000 ]
        [ -z "$(ls | grep spool)" ]
    done
}

@test "a fault ends the program as it does natively" {
    real
    make_loop 10 '    mov 0, %rax'
    status=0
    ./loop || status=$?
    [ "$status" = 139 ]
    quern run -q --cache-sim=no -o out ./loop
    [ "$status" = 139 ]
    # The faulting instruction was not executed: call and what work does.
    same "$(tail -n 1 out)" "summary: 23"
}

# Status 0 where the kernel has a segment for 32-bit code (not with ia32_emulation=off).
has_32() {
    cat > has.s <<'EOF'
    .globl _start
_start: mov $0x23, %edi
    lar %edi, %eax
    setnz %dil
    movzbl %dil, %edi
    mov $60, %eax
    syscall
EOF
    gcc -nostdlib -static -o has has.s && ./has
}

@test "a jump to 32-bit code is refused with a sentence, and what was counted is there" {
    real
    make_loop 10 '    ljmp *target
    .data
target: .long 0x401000
    .word 0x23
    .text'
    quern run -q --cache-sim=no -o out ./loop
    if ! has_32; then # it faults, as natively
        [ "$status" = 139 ]
        same "$(tail -n 1 out)" "summary: 23"
        return
    fi
    [ "$status" = 125 ]
    [[ "$messages" =~ "the instruction at 0x"[0-9a-f]+" switches to code segment 0x23: only \
64-bit programs can be run"$'\n'"==PID== the counts are kept: \`quern recover $PWD/quern.spool.PID\` writes \
the profile"$ ]]
    quern recover -q
    [ "$status" = 0 ]
    # call, mov, ten rounds, ret, and the jump itself
    same "$(tail -n 1 out)" "summary: 24"
}

@test "the program's streams, arguments and environment are its own" {
    real
    A=value quern run -q --cache-sim=no -o out sh -c 'read x; echo "$x $A $# $1"; echo err >&2' \
        name 'a  b' <<< input
    [ "$status" = 0 ]
    same "$output" "input value 1 a  b"
    same "$messages" "err"
}

@test "two runs give the same profile" {
    real
    quern run -q -o one --cache-sim=no /bin/true
    quern run -q -o two --cache-sim=no /bin/true
    cmp one two
}

@test "addresses are not randomised unless asked" {
    real
    quern run -q --cache-sim=no -o out cat /proc/self/personality
    same "$output" 00040000 # ADDR_NO_RANDOMIZE
    before=$(cat /proc/self/personality)
    quern run -q --cache-sim=no --aslr=yes -o out cat /proc/self/personality
    same "$output" "$before"
}

@test "a forked child has the counts of its parent and a profile and log of its own" {
    real
    # work 10: 22 instructions; fork; the child executes work once more.
    make_loop 10 '    mov $57, %eax
    syscall
    test %eax, %eax
    jnz 2f
    call work
2:  mov $60, %eax
    xor %edi, %edi
    syscall'
    quern run --cache-sim=no --log-file=log.%p -o out.%p ./loop
    [ "$status" = 0 ]
    for i in $(seq 100); do [ "$(ls | grep -c '^out')" = 2 ] && break; sleep 0.05; done
    # Parent: call, work, mov, syscall, test, jnz, mov, xor, syscall. Child: call and work more.
    same "$(tail -qn 1 out.* | sort)" "summary: 30
summary: 53"
    same "$(cat log.* | sed 's/^==[0-9]*== //' | grep refs | sort)" "I   refs:      30
I   refs:      53"
    [ -z "$(ls | grep spool)" ]
}

@test "what the loader is told for the program is not for the finisher" {
    real
    printf '%s\n' '#include <unistd.h>' '__attribute__((constructor)) static void loud(void)' \
        '{ if (write(1, "loaded\n", 7) < 0) _exit(9); }' > loud.c
    gcc -shared -fPIC -o loud.so loud.c
    quern run -q --cache-sim=no --trace-children=yes -o 'p.%p' env LD_PRELOAD="$PWD/loud.so" echo \
        hello
    [ "$status" = 0 ]
    same "$output" "loaded
hello"
    [ "$(ls p.* | wc -l)" = 1 ]
    rm p.*
    quern run -q --cache-sim=no --trace-children=yes -o 'p.%p' env LD_TRACE_LOADED_OBJECTS=1 echo \
        hello
    [ "$status" = 0 ]
    [[ "$output" == *libc.so* && "$output" != *libdw* && "$output" != *hello* ]]
    [ "$(ls p.* | wc -l)" = 1 ]
    [ -z "$(ls | grep spool)" ]
}

@test "a module that changed while the program ran" {
    real
    printf '%s\n' '#include <stdio.h>' '#include <sys/stat.h>' '#include <time.h>' \
        'int main(int n, char **v)' \
        '{ struct timespec t[2] = { { 1, 0 }, { 1, 0 } };' \
        'return n < 2 || utimensat(-100, v[1], t, 0); }' > touch.c
    gcc -g -o touch touch.c
    quern run --cache-sim=no -o out ./touch ./touch
    [ "$status" = 0 ]
    [[ "$messages" == *"$PWD/touch: was modified after the run began; functions and lines may be \
wrong"* ]]
    quern run --cache-sim=no -o out ./touch ./touch.c
    [[ "$messages" != *"was modified"* ]]
}
