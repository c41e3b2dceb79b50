#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Objects that are mapped and unmapped while the program runs: counts belong to the object that was
# mapped when the code was executed.

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
    # Each block keeps its one record when it is mapped again, so the facts about its addresses must
    # not be those of the other library (--separate-callers looks functions up).
    for calls in '' '--calls=yes' '--calls=yes --separate-callers=2'; do
        [ ! "$calls" ] || calls+=' --dump-instr=no --compress-strings=no --compress-pos=no'
        # shellcheck disable=SC2086 # words
        quern run --cache-sim=no $calls -o out ./main
        [ "$status" = 0 ]
        [ -z "$output" ]
        # Three calls of each: every line once a call but dec and jnz, N times.
        for library in first:3000 second:1500; do
            same "$(awk -v file="/${library%:*}.S" '/^f[ile]*=/ { on = index($0, file) }
                /^[0-9]/ && on' out)" "5 3
6 ${library#*:}
7 ${library#*:}
8 3"
        done
    done
}

# What an object of that name has counted: by line of NAME.S.
lines_of() {
    awk -v file="/$1.S" '/^f[le]=/ { on = index($0, file) } /^[0-9]/ && on' out
}

# What quern itself has said.
said() {
    grep '^quern: ' <<< "$messages" || true
}

# A program that loads ./now.so and calls its work(), has a shell do an argument, and calls it
# again; then the same with the next argument. With one that begins with a colon it ends at once.
make_main() {
    cat > main.c << 'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *h = dlopen("./now.so", RTLD_NOW);
        void (*work)(void) = (void (*)(void))dlsym(h, "work");
        work();
        if (system(argv[i]))
            return 1;
        if (argv[i][0] == ':')
            _exit(0);
        work();
        dlclose(h);
    }
    return 0;
}
END
    gcc -g -o main main.c
}

whole_engine() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
}

# each_removal QUERN COUNTS: ./main, which loads now.so and removes or replaces it, in every way; its
# lines keep the names of first.so, with COUNTS.
each_removal() {
    local how
    for how in 'rm now.so' 'mv copy.so now.so' 'rm now.so; cp second.so now.so' \
        'mv now.so elsewhere.so' 'strip -o new.so now.so; mv new.so now.so'; do
        cp first.so now.so
        cp second.so copy.so
        "$1" run --cache-sim=no -o out ./main "$how"
        [ "$status" = 0 ]
        same "$(said)" ""
        same "$(lines_of first)" "$2"
        same "$(lines_of second)" ""
        same "$(grep -c '^fn=work$' out)" 1
    done
}

@test "a library that is removed, replaced, or built anew, has its own names" {
    whole_engine
    library first 1000
    library second 500
    make_main
    # Two calls of the first, of 1 + 2 * 1000 + 1 instructions.
    first='5 2
6 2000
7 2000
8 2'
    each_removal quern "$first"
    # And of the second, under the same name.
    cp first.so now.so
    cp second.so copy.so
    quern run --cache-sim=no -o out ./main 'mv copy.so now.so' 'rm now.so'
    same "$(said)" ""
    same "$(lines_of first)" "$first"
    same "$(lines_of second)" '5 2
6 1000
7 1000
8 2'
    cp first.so now.so
    cp second.so copy.so
    quern run --calls=yes --cache-sim=no --dump-instr=no --compress-strings=no --compress-pos=no \
        -o out ./main 'mv copy.so now.so' 'rm now.so'
    same "$(said)" ""
    same "$(lines_of first | grep -v '^calls')" "$first"
    # The quick finisher passes it to the other one; so does the finisher of children.
    cp first.so now.so
    quern run -q --trace-children=yes --cache-sim=no -o out.%p sh -c './main "rm now.so"; true'
    same "$(cat out.* | grep -c '^fn=work$')" 1
    rm out.*
    cp first.so now.so
    cp first.so copy.so
    quern run -q --trace-children=yes --cache-sim=no -o out.%p \
        sh -c '(./main "rm now.so"); (cp copy.so now.so; ./main "rm now.so"); true'
    same "$(cat out.* | grep -c '^fn=work$')" 2
}

@test "a library whose name is on two lines" {
    whole_engine
    library first 1000
    make_main
    mkdir $'two\nlines'
    cp main first.so $'two\nlines'
    cd $'two\nlines'
    mv first.so now.so
    quern run --cache-sim=no -o out ./main true
    same "$(said)" ""
    same "$(lines_of first)" '5 2
6 2000
7 2000
8 2'
}

@test "a library that is written over in place: what it was is not known, and that is said" {
    whole_engine
    library first 1000
    library second 500
    make_main
    cp first.so now.so
    quern run --cache-sim=no -o out ./main ': ; sleep 0.05; cat second.so > now.so'
    same "$(said)" \
        "quern: $PWD/now.so: was written over since it was mapped; its functions are shown as ???"
    same "$(lines_of first)$(lines_of second)" ""
    same "$(grep -c '^fn=work$' out)" 0
    # The time alone says nothing, nor does that of the last change of status.
    cp first.so now.so
    quern run --cache-sim=no -o out ./main 'sleep 0.05; touch now.so'
    same "$(said)" \
        "quern: $PWD/now.so: was modified after the run began; functions and lines may be wrong"
    same "$(lines_of first | head -n 1)" '5 2'
    quern run --cache-sim=no -o out ./main 'sleep 0.05; chmod 700 now.so'
    same "$(said)" ""
    same "$(lines_of first | head -n 1)" '5 2'
    # Other content with the same time: found by its code.
    cp first.so now.so
    quern run --cache-sim=no -o out ./main \
        ': ; sleep 0.05; touch -r now.so time; cat second.so > now.so; touch -r time now.so'
    same "$(said)" \
        "quern: $PWD/now.so: was written over since it was mapped; its functions are shown as ???"
    same "$(grep -c '^fn=work$' out)" 0
}

@test "a library that cannot be kept, or whose process is killed: ???, and that is said" {
    whole_engine
    library first 1000
    library second 500
    make_main
    cp first.so now.so
    cp second.so copy.so
    (
        ulimit -Sv $((1 << 32)) # KiB
        quern run --cache-sim=no -o out ./main 'mv copy.so now.so'
        same "$(said)" "quern: $PWD/now.so: was replaced by another file \
since it was mapped; its functions are shown as ???"
        cp first.so now.so
        quern run --cache-sim=no -o out ./main 'rm now.so'
        same "$(said)" "quern: $PWD/now.so: No such file or directory; its \
functions are shown as ???"
    )
    same "$(grep -c '^fn=work$' out)" 0
    cp first.so now.so
    cp second.so copy.so
    # shellcheck disable=SC2016 # the shell's parent
    quern run --cache-sim=no --spool-dir=. -o out ./main 'mv copy.so now.so; kill -9 $PPID' || true
    quern recover -o out quern.spool.*
    same "$(said | grep now.so)" "quern: $PWD/now.so: was replaced by another file since it was \
mapped; its functions are shown as ???"
    same "$(grep -c '^fn=work$' out)" 0
}

@test "a program that is built anew while it runs" {
    whole_engine
    cat > prog.c << 'END'
#include <stdlib.h>
__attribute__((noinline)) int sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        __asm__ volatile("add %1, %0" : "+r"(s) : "r"(i));
    return s;
}
int main(void)
{
    return sum(1000) == 0 || system("gcc -g -Dsum=other -o new prog.c && mv new prog") != 0;
}
END
    gcc -g -o prog prog.c
    quern run --cache-sim=no -o out ./prog
    same "$(said)" ""
    same "$(grep -c '^fn=sum$' out)" 1
    same "$(grep -c '^fn=other$' out)" 0
    # Line 6: once for each iteration, whatever the compiler makes of it.
    same "$(sed -n '/^fn=sum$/,/^fn=/s/^6 //p' out | awk '{ print $1 % 1000 }')" 0
}

# What is said, and which functions a profile with inlined calls has of inlined.c.
inlined() {
    cat > inlined.c << 'END'
static inline __attribute__((always_inline)) int twice(int x)
{
    return x * 2;
}
__attribute__((noinline)) int four(int x)
{
    return twice(twice(x));
}
int main(int argc, char **argv)
{
    (void)argv;
    return four(argc) != 4;
}
END
    rm -rf ./*.dwo ./*.dwp
    gcc -O1 "$@" -o inlined inlined.c
}

run_inlined() {
    timeout -k 5 60 "$QUERN" run --calls=yes --inline=yes --cache-sim=no --symbol-cache=no -o out \
        ./inlined > stdout 2> stderr
    messages=$(< stderr)
    names=$(sed -n 's/^c*fn=([0-9]*) \(.*twice.*\|four\)/\1/p' out | sort -u | tr '\n' ' ')
}

@test "inlined calls whose debug information is gone: that is said, once" {
    whole_engine
    inlined -gdwarf-5 -gsplit-dwarf
    run_inlined
    same "$(said)" ""
    all=$names
    [[ "$all" == *twice* ]]
    rm ./*.dwo
    run_inlined
    same "$(said)" "quern: $PWD/inlined: files of its split debug information (.dwo) are missing, and there \
is no package of them (.dwp); calls of inlined functions are not shown"
    same "$names" "four "
    # Without --inline there is no message.
    quern run --cache-sim=no -o out ./inlined
    same "$(said)" ""
}

@test "a file that debug information has in common with others is missing, or a pipe" {
    whole_engine
    inlined -g
    printf 'shared\0%s' 01234567890123456789 > link
    objcopy --add-section .gnu_debugaltlink=link inlined
    for there in '' pipe; do
        odd=
        if [ "$there" ]; then
            mkfifo shared
            odd="quern: $PWD/inlined: $PWD/shared is no regular file; nothing is read from it
"
        fi
        run_inlined
        same "$(said)" "${odd}quern: $PWD/inlined: the file that its debug information has in common \
with others (.gnu_debugaltlink) is missing; names of inlined functions may be, too"
        [[ "$names" == *twice* ]]
    done
    rm shared
    cp inlined shared
    run_inlined
    same "$(said)" ""
    [[ "$names" == *twice* ]]
}

# A library NAME as above, but with nothing that is executed when it is loaded; its entry is work().
bare_library() {
    library "$@"
    gcc -g -nostdlib -shared -Wl,-e,work -o "$1.so" "$1.S"
}

# A command without the capabilities that open removed files by their mappings.
plainly() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set -sys_admin,-checkpoint_restore "$@"
    else
        "$@"
    fi
}

# The same for quern().
quern_plainly() {
    status=0
    plainly "$QUERN" "$@" > stdout 2> stderr || status=$?
    messages=$(< stderr)
}

# early HOW FILE...: maps what is executed of each file, removes it, and calls its entry. HOW says
# what is done with it in between.
make_early() {
    cat > early.c << 'END'
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static void *map(const char *how, const char *file, size_t *bytes)
{
    Elf64_Ehdr e;
    Elf64_Phdr p = { 0 };
    int reads = strcmp(how, "protect") == 0, fd = open(file, O_RDONLY);
    if (pread(fd, &e, sizeof(e), 0) != sizeof(e))
        return MAP_FAILED;
    for (int i = 0; i < e.e_phnum && !(p.p_type == PT_LOAD && (p.p_flags & PF_X)); i++)
        if (pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * sizeof(p))) != sizeof(p))
            return MAP_FAILED;
    *bytes = (p.p_filesz + 4095) & ~4095ul;
    char *at = mmap(NULL, *bytes, reads ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
                    (off_t)p.p_offset);
    if (reads && mprotect(at, *bytes, PROT_READ | PROT_EXEC))
        return MAP_FAILED;
    if (strcmp(how, "move") == 0) {
        char *to = mmap(NULL, *bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        at = mremap(at, *bytes, *bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    }
    close(fd);
    return at + e.e_entry - p.p_vaddr;
}
// How many mappings of the file there are, ours and others.
static int mappings(const char *file)
{
    char line[4500];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, file) != NULL;
    fclose(maps);
    return n;
}
int main(int argc, char **argv)
{
    const char *how = argv[1];
    static void (*entry[3000])(void);
    size_t bytes;
    for (int i = 2; i < argc; i++) {
        entry[i] = (void (*)(void))map(how, argv[i], &bytes);
        if (entry[i] == MAP_FAILED)
            return 1;
        if (strcmp(how, "many") == 0 && i == 2)
            entry[i]();
    }
    if (strcmp(how, "rights") == 0) {
        munmap((void *)((unsigned long)entry[2] & ~4095ul), bytes);
        printf("%d ", mappings(argv[2]));
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        printf("%d\n", mappings(argv[2]));
        return 0;
    }
    for (int i = 2; i < argc; i++)
        unlink(argv[i]);
    if (strcmp(how, "fork") == 0 && fork() > 0)
        return wait(NULL) < 0;
    entry[2]();
    if (argc > 3) {
        entry[3]();
        entry[argc - 1]();
    }
    return 0;
}
END
    gcc -g -o early early.c
}

@test "a library that is removed or replaced before any of its code is executed" {
    whole_engine
    bare_library first 1000
    bare_library second 500
    cat > main.c << 'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    void (*work)(void) = (void (*)(void))dlsym(dlopen("./now.so", RTLD_NOW), "work");
    if (system(argv[argc - 1]))
        return 1;
    work();
    return 0;
}
END
    gcc -g -o main main.c
    each_removal quern_plainly '5 1
6 1000
7 1000
8 1'
}

@test "code that is mapped by hand, and its file removed before it is executed" {
    whole_engine
    bare_library first 1000
    make_early
    for how in plain protect move; do
        cp first.so now.so
        quern_plainly run --cache-sim=no -o out ./early $how now.so
        [ "$status" = 0 ]
        same "$(said)" ""
        same "$(lines_of first)" '5 1
6 1000
7 1000
8 1'
    done
    # In a child, which has had it from its parent.
    cp first.so now.so
    quern_plainly run -q --cache-sim=no --trace-children=yes -o out.%p ./early fork now.so
    [ "$status" = 0 ]
    same "$(said)" ""
    same "$(cat out.* | grep -c '^fn=work$')" 1
}

@test "a library in memory, which never had a name" {
    whole_engine
    bare_library first 1000
    cat > main.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
int main(void)
{
    char name[40];
    int from = open("first.so", O_RDONLY), to = memfd_create("first", 0);
    while (sendfile(to, from, NULL, 1 << 20) > 0)
        ;
    sprintf(name, "/proc/self/fd/%d", to);
    ((void (*)(void))dlsym(dlopen(name, RTLD_NOW), "work"))();
    return 0;
}
END
    gcc -g -o main main.c
    quern_plainly run --cache-sim=no -o out ./main
    [ "$status" = 0 ]
    same "$(said)" ""
    same "$(lines_of first)" '5 1
6 1000
7 1000
8 1'
}

@test "a program that is removed before any of its code is executed" {
    whole_engine
    cat > remove.c << 'END'
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "./gone") == 0)
        unlink(argv[0]);
}
END
    gcc -shared -fPIC -o remove.so remove.c
    cat > prog.c << 'END'
int main(void)
{
    return 0;
}
END
    gcc -g -o prog prog.c
    # Executed by a program with this library, and by one without it.
    for how in ./gone 'env ./gone'; do
        cp prog gone
        # shellcheck disable=SC2086 # words
        quern_plainly run -q --cache-sim=no --trace-children=yes -o out.%p \
            env LD_PRELOAD=./remove.so $how
        [ "$status" = 0 ]
        [ ! -e gone ]
        same "$(said)" ""
        same "$(cat out.* | grep -c '^fn=main$')" 1
        rm out.*
    done
}

@test "of more files than are kept, those that are executed have names, and the last" {
    whole_engine
    bare_library first 1000
    make_early
    mkdir many
    # The first one's code is executed before the others are mapped.
    for ((i = 1; i <= 1100; i++)); do
        cp first.so "many/$i.so"
    done
    quern_plainly run --cache-sim=no -o out ./early many many/{1..1100}.so
    [ "$status" = 0 ]
    same "$(said)" "quern: $PWD/many/2.so: had been removed before it was executed, and could not \
be kept; its functions are shown as ???"
    # The first, again, and the last: one source, one function.
    same "$(lines_of first)" '5 3
6 3000
7 3000
8 3'
}

@test "what not everybody may read is not kept when rights are given up" {
    whole_engine
    bare_library first 1000
    make_early
    # The client's mapping is gone; the copy that Quern keeps is a mapping, too.
    for mode in '755 1 1' '700 1 0' '751 1 0'; do
        cp first.so now.so
        chmod "${mode%% *}" now.so
        quern run --cache-sim=no -o out ./early rights now.so
        [ "$status" = 0 ]
        same "$output" "${mode#* }"
    done
}

# A thread of the program decides when a file may be opened (as a file system that it serves would),
# and maps memory before it answers. mprotect makes a mapping of that file executable.
@test "a file that another thread has to give: the threads do not wait for each other" {
    whole_engine
    cat > asked.c << 'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <unistd.h>

static int asked;

static void *answer(void *arg)
{
    struct fanotify_event_metadata e;

    while (read(asked, &e, sizeof(e)) == sizeof(e)) {
        struct fanotify_response yes = { e.fd, FAN_ALLOW };

        munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
        if (write(asked, &yes, sizeof(yes)) != sizeof(yes))
            return arg;
        close(e.fd);
    }
    return arg;
}

int main(void)
{
    int fd = open("first.so", O_RDONLY);
    void *code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    pthread_t t;

    close(fd);
    asked = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
    if (asked < 0 || fanotify_mark(asked, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "first.so"))
        return 77;
    pthread_create(&t, NULL, answer, NULL);
    puts(mprotect(code, 4096, PROT_READ | PROT_EXEC) ? "refused" : "executable");
    fflush(stdout);
    _exit(0);
}
END
    gcc -O1 -o asked asked.c -pthread
    library first 10
    ./asked && status=0 || status=$?
    [ $status != 77 ] || skip "needs root, and a kernel with permission events of fanotify"
    for mode in '' --cache-sim=no --calls=yes; do
        timeout -k 5 60 "$BUILD/bin/quern" run -q $mode -o out ./asked > said 2>&1 && status=0 || status=$?
        same "$status $(cat said)" "0 executable"
    done
}
