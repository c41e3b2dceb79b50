#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Objects that come and go while the program runs: what was counted belongs to the object that was
# mapped when it ran.

load run

# library NAME N: work(), a mov, N times dec and jnz, ret: 2 N + 2 instructions, at lines 5 to 8 of
# NAME.S
library() {
    cat > "$1.S" << END
    .text
    .globl work
    .type work, @function
work:
    mov \$$2, %ecx
1:  dec %ecx
    jnz 1b
    ret
    .size work, . - work
    .section .note.GNU-stack, "", @progbits
END
    gcc -g -shared -o "$1.so" "$1.S"
}

@test "two libraries at the same address, one after the other" {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    library first 1000
    library second 500
    cat > main.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void (*before)(void) = 0;
    for (int i = 0; i < 6; i++) {
        void *h = dlopen(i & 1 ? "./second.so" : "./first.so", RTLD_NOW);
        void (*work)(void) = (void (*)(void))dlsym(h, "work");
        if (before && work != before)
            return puts("not the same address"), 1;
        work();
        before = work;
        dlclose(h);
    }
    return 0;
}
END
    gcc -g -o main main.c
    quern run --cache-sim=no -o out ./main
    [ "$status" = 0 ]
    [ -z "$output" ]
    # Three calls of each: every line once a call but dec and jnz, N times.
    for library in first:3000 second:1500; do
        same "$(awk -v file="/${library%:*}.S" '/^f[le]=/ { on = index($0, file) } /^[0-9]/ && on' \
            out)" "5 3
6 ${library#*:}
7 ${library#*:}
8 3"
    done
}
