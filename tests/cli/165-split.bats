#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Inlined calls of programs whose debug information is split from them (-gsplit-dwarf): in .dwo
# files, or in a package of them (.dwp). The profile is that of the same program with all of it in
# itself, instruction by instruction: the same body lies in several units, in ranges apart, and has
# loops.

load run

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat > mill.h << 'END'
#define BODY inline __attribute__((always_inline))
extern "C" {
__attribute__((noinline, cold)) void rare(void);
int one(int), two(int), three(int);
}
namespace mill {
struct Stone {
    int n;
    BODY int turn(int by) { for (int i = 0; i < by; i++) n = n * 3 + i; return n; }
    template <class T> BODY T grind(T x) { return x * (T)turn(3); }
};
static BODY int twice(int x)
{
    if (__builtin_expect(x == 12345, 0))
        rare();
    return x * 2;
}
static BODY int four(int x) { return twice(twice(x)); }
}
END
    cat > one.cc << 'END'
#include "mill.h"
int one(int x) { mill::Stone s = { x }; return mill::four(x) + s.turn(10) + s.grind(2); }
END
    cat > two.cc << 'END'
#include "mill.h"
static BODY int own(int x) { return mill::twice(x) + 1; }
int two(int x) { mill::Stone s = { x }; return own(x) + own(x + 1) + s.turn(20); }
END
    cat > three.cc << 'END'
extern "C" int three(int x);
static inline __attribute__((always_inline)) int plus(int x) { __asm__ volatile("nop"); return x + 3; }
int three(int x) { int r = 0; for (int i = 0; i < 100; i++) r += plus(x + i) ^ r; return r; }
END
    cat > main.cc << 'END'
#include "mill.h"
void rare(void) {}
int sink;
extern "C" void _start(void)
{
    int r = 0;
    for (int i = 0; i < 50; i++)
        r += one(i) + two(i) + three(i) + mill::four(i);
    sink = r;
    __asm__ volatile("syscall" ::"a"(231), "D"(0));
}
END
}

whole_engine() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
}

# build COMPILER FLAGS...: prog, in a folder that has nothing else of this kind.
build() {
    local compiler=$1 f
    shift
    rm -f ./*.o ./*.dwo ./*.dwp prog
    cp "$BATS_FILE_TMPDIR"/*.cc "$BATS_FILE_TMPDIR"/*.h .
    for f in one two three main; do
        "$compiler" -O2 -ffreestanding -fno-exceptions -fno-stack-protector -fno-pic \
            -fno-asynchronous-unwind-tables "$@" -c -o $f.o $f.cc
    done
    "$compiler" -nostdlib -static -o prog ./*.o
}

# profile OUT [PROGRAM]: with nothing that may differ; what quern says is in $said.
profile() {
    timeout -k 5 60 "$QUERN" run --calls=yes --inline=yes --dump-instr=yes --cache-sim=no \
        --symbol-cache=no -o "$1" "${2:-./prog}" > stdout 2> stderr
    sed -i '/^pid:/d; s,/real/prog$,/prog,' "$1"
    said=$(grep '^quern: ' stderr || true)
}

# calls_of PATTERN: how often, in a profile, which is standard input.
calls_of() {
    perl -ne '$fn{$1} = $2 if /^c?fn=\((\d+)\) (.*)/; $on = $fn{$1} =~ /^'"$1"'$/ if /^cfn=\((\d+)\)/;
        $n += $1 if $on && /^calls=(\d+)/; END { print $n }'
}

# all_three COMPILER FLAGS PACKER...: without and with .dwo files, and with nothing but a package.
all_three() {
    local compiler=$1 flags=$2
    shift 2
    build "$compiler" $flags
    profile whole
    same "$said" ""
    build "$compiler" $flags -gsplit-dwarf
    profile split
    same "$said" ""
    # A hundred in each of 50 calls of three().
    same "$(calls_of 'plus(?:\(int\))?' < whole)" 5000
    cmp whole split
    timeout -k 5 60 "$@"
    rm ./*.dwo
    profile packed
    same "$said" ""
    cmp whole packed
}

has() {
    command -v "$1" > /dev/null || skip "$1 is not installed"
}

pack_dwo() {
    "$BATS_TEST_DIRNAME/pack-dwo" prog.dwp main.dwo one.dwo two.dwo three.dwo
}

@test "gcc, DWARF 4 (GNU's), packed by dwp" {
    whole_engine
    has dwp
    all_three g++ -gdwarf-4 dwp -e prog -o prog.dwp
    all_three g++ '-gdwarf-4 -fdebug-types-section' dwp -e prog -o prog.dwp
    all_three g++ '-gdwarf-4 -gz' dwp -e prog -o prog.dwp
    objcopy --compress-debug-sections=zlib prog.dwp
    profile compressed
    same "$said" ""
    cmp whole compressed
}

@test "gcc, DWARF 5, packed by the test" {
    whole_engine
    all_three g++ -gdwarf-5 "$BATS_TEST_DIRNAME/pack-dwo" prog.dwp main.dwo one.dwo two.dwo three.dwo
}

@test "gcc, DWARF 5 with units of types, packed by the test" {
    whole_engine
    build g++ -gdwarf-5 -fdebug-types-section
    profile whole
    build g++ -gdwarf-5 -fdebug-types-section -gsplit-dwarf
    # gcc writes two sections of one name, of which libdw sees the first.
    profile split
    cmp -s whole split || [[ "$said" == "quern: $PWD/prog: $PWD/"*".dwo is of another build, or has units \
of types, too (-fdebug-types-section), which elfutils does not read there; calls of inlined functions \
are not shown" ]]
    pack_dwo
    rm ./*.dwo
    profile packed
    same "$said" ""
    cmp whole packed
}

@test "clang, DWARF 4 (GNU's) and 5, packed by llvm-dwp" {
    whole_engine
    has clang++
    has llvm-dwp
    for version in 4 5; do
        all_three clang++ "-gdwarf-$version" llvm-dwp -e prog -o prog.dwp
        all_three clang++ "-gdwarf-$version -fdebug-types-section" llvm-dwp -e prog -o prog.dwp
    done
}

@test "rustc's packed debug information" {
    whole_engine
    has rustc
    cat > main.rs << 'END'
#![no_std]
#![no_main]
use core::arch::asm;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[inline(always)]
fn step(x: u32) -> u32 { let y; unsafe { asm!("lea {0:e}, [{1:e} + {1:e}]", out(reg) y, in(reg) x) }; y }
struct Stone(u32);
impl Stone {
    #[inline(always)]
    fn turn(&mut self, n: u32) { for _ in 0..n { self.0 = step(self.0) + 1; } }
}
#[inline(never)]
fn work(x: u32) -> u32 { let mut s = Stone(x); s.turn(7); s.0 + step(x) }
#[no_mangle]
pub extern "C" fn _start() -> ! {
    let mut sum = 0;
    for i in 0..40 { sum += work(i); }
    unsafe { asm!("syscall", in("rax") 231, in("rdi") sum & 0, options(noreturn)) }
}
END
    for how in off unpacked packed; do
        rm -rf prog ./*.dwo ./*.dwp
        rustc -O -g -C panic=abort -C "split-debuginfo=$how" -C relocation-model=static \
            -C link-arg=-nostartfiles -C link-arg=-nostdlib -C link-arg=-static \
            -C link-arg=-no-pie -o prog main.rs 2> rustc.err || {
            grep -q 'not stable\|unstable\|linker\|link.exe' rustc.err && skip "rustc cannot: $(head -n 1 rustc.err)"
            cat rustc.err
            return 1
        }
        profile "$how"
        same "$said" ""
    done
    [ -e prog.dwp ]
    grep -q 'fn=.*Stone.*turn' off
    cmp off unpacked
    rm -f ./*.dwo ./*.o
    profile packed
    cmp off packed
}

@test "the package lies beside the debug file, or is found by way of a link" {
    whole_engine
    build g++ -gdwarf-5
    profile whole
    build g++ -gdwarf-5 -gsplit-dwarf
    pack_dwo
    rm ./*.dwo
    mkdir real
    mv prog prog.dwp real
    ln -s real/prog prog
    profile linked
    same "$said" ""
    cmp whole linked
    rm prog
    mv real/prog .
    objcopy --only-keep-debug prog prog.debug
    strip -g --add-gnu-debuglink=prog.debug prog 2> strip.err || objcopy -g --add-gnu-debuglink=prog.debug prog
    mv real/prog.dwp prog.debug.dwp
    profile apart
    same "$said" ""
    cmp whole apart
    mv prog.debug.dwp prog.dwp
    profile beside
    same "$said" ""
    cmp whole beside
}

@test "files of split debug information that are gone, or of another build" {
    whole_engine
    build g++ -gdwarf-5 -gsplit-dwarf
    pack_dwo
    mv prog.dwp old
    rm ./*.dwo
    profile lost
    same "$said" "quern: $PWD/prog: files of its split debug information (.dwo) are missing, and there \
is no package of them (.dwp); calls of inlined functions are not shown"
    build g++ -gdwarf-5 -gsplit-dwarf -O1
    rm ./*.dwo
    mv old prog.dwp
    profile other
    same "$said" "quern: $PWD/prog: $PWD/prog.dwp has not all of its split debug information: it is of \
another build; calls of inlined functions are not shown"
}

# What stands in the place of a file, and is not to be opened: a pipe would be waited for.
@test "a pipe, a socket or a device in the place of a .dwo or .dwp file" {
    whole_engine
    build g++ -gdwarf-5
    profile whole
    build g++ -gdwarf-5 -gsplit-dwarf
    pack_dwo
    mv prog.dwp packed
    for kind in pipe socket device; do
        for place in one.dwo prog.dwp; do
            rm -f ./*.dwo prog.dwp
            [ $place = prog.dwp ] || cp packed prog.dwp
            case $kind in
            pipe) mkfifo $place ;;
            socket) python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $place ;;
            device) ln -s /dev/zero $place ;;
            esac
            profile out
            missing=
            [ $place = one.dwo ] || missing="
quern: $PWD/prog: files of its split debug information (.dwo) are missing, and there is no package of \
them (.dwp); calls of inlined functions are not shown"
            same "$said" "quern: $PWD/prog: $PWD/$place is no regular file; nothing is read from it$missing"
            [ $place = prog.dwp ] || cmp whole out
        done
    done
    # Beside what a link leads to.
    rm -f ./*.dwo prog.dwp
    mkdir real
    mv prog real
    ln -s real/prog prog
    mkfifo real/two.dwo
    cp packed real/prog.dwp
    profile out
    same "$said" "quern: $PWD/real/prog: $PWD/real/two.dwo is no regular file; nothing is read from it"
    cmp whole out
}

@test "a damaged package: said, and the rest of the profile is there" {
    whole_engine
    build g++ -gdwarf-5 -gsplit-dwarf
    pack_dwo
    rm ./*.dwo
    profile good
    mv prog.dwp sound
    all=$(sed -n 's/^summary: //p' good)
    index=$(readelf -SW sound | sed -n 's/.*\.debug_cu_index *PROGBITS *[0-9a-f]* *\([0-9a-f]*\).*/\1/p')
    index=$((16#$index))
    read -r columns units slots < <(od -An -tu4 -j $((index + 4)) -N 12 sound)
    offsets=$((index + 16 + 12 * slots + 4 * columns))

    # damage OFFSET BYTES: of a copy of the sound one.
    damage() {
        cp sound prog.dwp
        printf "$2" | dd of=prog.dwp bs=1 seek="$1" conv=notrunc status=none
    }
    # says WHAT
    says() {
        profile out
        same "$said" "quern: $PWD/prog: $PWD/prog.dwp, the package of its split debug information, is \
not read: $1; calls of inlined functions are not shown"
        same "$(sed -n 's/^summary: //p' out)" "$all"
    }

    damage "$index" '\7'
    says "its index of units is damaged"
    damage $((index + 8)) '\377\377\377\377' # units
    says "its index of units is damaged"
    damage $((index + 12)) '\377\377\377\377' # slots
    says "its index of units is damaged"
    # What the rows say: the offset of a part of each unit
    cp sound prog.dwp
    for ((i = 0; i < units * columns; i++)); do
        printf '\377\377\377\177' | dd of=prog.dwp bs=1 seek=$((offsets + 4 * i)) conv=notrunc status=none
    done
    says "its index of units is damaged"
    # The units' headers: the first section lies behind the ELF header.
    cp sound prog.dwp
    dd if=/dev/zero of=prog.dwp bs=1 seek=64 count=$((index - 64)) conv=notrunc status=none
    says "a unit of it is damaged"
    head -c 3000 sound > prog.dwp
    says "it is cut off, or no package: it has no index of units"
    echo nothing > prog.dwp
    says "it is no ELF file"
    : > prog.dwp
    says "it is no ELF file"
}

@test "a pipe in the place of the debug file is named" {
    whole_engine
    build g++ -gdwarf-5
    objcopy --only-keep-debug prog prog.debug
    objcopy -g --add-gnu-debuglink=prog.debug prog
    rm prog.debug
    mkfifo prog.debug
    profile out
    same "$said" "quern: $PWD/prog: $PWD/prog.debug is no regular file; nothing is read from it"
}
