// SPDX-License-Identifier: MIT
//
// symbols/ on small programs that are compiled here in every form of debug information. The exact
// answer is known from the source text below: labels (global symbols without a type) mark
// instructions whose line is written beside them. The programs are made in TEST_FOLDER. Some forms
// need gcc or clang, which they name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/lines.h"
#include "symbols/linetab.h"
#include "symbols/symbols.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static char *folder; // absolute
static char remarks[2048];

// ---- The sources ----

// The inlined function is in another folder, the library function in another file.
static const char inline_h[] =
    "static inline __attribute__((always_inline)) int twice(int x)\n"                        // 1
    "{\n"                                                                                    // 2
    "    __asm__ volatile(\".globl at_twice\\nat_twice: nop\");\n"                           // 3
    "    return x + x;\n"                                                                    // 4
    "}\n";                                                                                   // 5
static const char main_c[] = "#include \"inc/inline.h\"\n"                                   // 1
                             "int other(int x);\n"                                           // 2
                             "__attribute__((noinline)) static int local(int x)\n"           // 3
                             "{\n"                                                           // 4
                             "    __asm__ volatile(\".globl at_local\\nat_local: nop\");\n"  // 5
                             "    return other(x) + 1;\n"                                    // 6
                             "}\n"                                                           // 7
                             "int main(int argc, char **argv)\n"                             // 8
                             "{\n"                                                           // 9
                             "    (void)argv;\n"                                             // 10
                             "    __asm__ volatile(\".globl at_main\\nat_main: nop\");\n"    // 11
                             "    return twice(argc) + local(argc);\n"                       // 12
                             "}\n";                                                          // 13
static const char other_c[] = "int other(int x);\n"                                          // 1
                              "int other(int x)\n"                                           // 2
                              "{\n"                                                          // 3
                              "    __asm__ volatile(\".globl at_other\\nat_other: nop\");\n" // 4
                              "    return x * 3;\n"                                          // 5
                              "}\n";                                                         // 6

static void write_text(const char *name, const char *text)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void in_folder(char *command, size_t size, const char *fmt, va_list ap)
{
    int n = snprintf(command, size, "cd '%s' && ", folder);

    vsnprintf(command + n, size - (size_t)n, fmt, ap);
}

// Runs a command in the folder; it must succeed.
__attribute__((format(printf, 1, 2))) static void shell(const char *fmt, ...)
{
    char command[4096];
    va_list ap;

    va_start(ap, fmt);
    in_folder(command, sizeof(command), fmt, ap);
    va_end(ap);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

// The first line that a command in the folder prints; there must be one.
__attribute__((format(printf, 1, 2))) static const char *output_of(const char *fmt, ...)
{
    static char line[128];
    char command[4096];
    va_list ap;

    va_start(ap, fmt);
    in_folder(command, sizeof(command), fmt, ap);
    va_end(ap);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(line, sizeof(line), p));
    pclose(p);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static bool shell_can(const char *test)
{
    char command[4096];

    snprintf(command, sizeof(command), "cd '%s' && ( %s ) >/dev/null 2>&1", folder, test);
    return system(command) == 0;
}

static int make_sources(void **state)
{
    const char *base = getenv("TEST_FOLDER");
    char relative[] = "symbols-test-XXXXXX";
    char path[4096];

    (void)state;
    snprintf(path, sizeof(path), "%s/%s", base ? base : "/tmp", relative);
    if (!mkdtemp(path))
        return -1;
    char *real = realpath(path, NULL);
    folder = real;
    snprintf(path, sizeof(path), "%s/src", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/src/inc", folder);
    mkdir(path, 0777);
    write_text("src/inc/inline.h", inline_h);
    write_text("src/main.c", main_c);
    write_text("src/other.c", other_c);
    return 0;
}

static int remove_sources(void **state)
{
    (void)state;
    shell("rm -rf '%s'", folder);
    free(folder);
    return 0;
}

// ---- Queries ----

static void keep_remark(void *ctx, const char *sentence)
{
    (void)ctx;
    snprintf(remarks + strlen(remarks), sizeof(remarks) - strlen(remarks), "%s\n", sentence);
}

static struct symbols *new_symbols_with(bool no_demangle, const char *cache)
{
    struct symbols_options o = { no_demangle, keep_remark, NULL, cache };
    struct symbols *s = symbols_new(&o);

    assert_non_null(s);
    remarks[0] = '\0';
    return s;
}

static struct symbols *new_symbols(bool no_demangle)
{
    return new_symbols_with(no_demangle, NULL);
}

// The link-time address of a label, from the .symtab of the named file in the folder.
static uint64_t label(const char *file, const char *name)
{
    char path[4096];
    uint64_t value = 0;
    Elf_Scn *scn = NULL;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr sh;

        if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        GElf_Sym sym;
        for (int i = 0; gelf_getsym(data, i, &sym); i++)
            if (strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), name) == 0)
                value = sym.st_value;
    }
    elf_end(elf);
    close(fd);
    if (value == 0)
        fail_msg("%s has no symbol %s", file, name);
    return value;
}

// A file in the folder.
static struct symbols_module *module_of(struct symbols *s, const char *file)
{
    char path[4096];
    struct symbols_file f = { .path = path };

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return symbols_file(s, &f);
}

// A string with the folder cut off.
static const char *relative_string(const struct symbols *s, uint32_t number)
{
    const char *text = symbols_string(s, number);

    return strncmp(text, folder, strlen(folder)) == 0 ? text + strlen(folder) + 1 : text;
}

// "FUNCTION FILE:LINE" of an address in a file in the folder.
static const char *where(struct symbols *s, const char *file, uint64_t address)
{
    static char text[4][512];
    static unsigned turn;
    char *out = text[turn++ % 4];
    struct symbols_place at;

    symbols_find(module_of(s, file), address, &at);
    snprintf(out, sizeof(text[0]), "%s %s:%u", symbols_string(s, at.function),
             relative_string(s, at.file), at.line);
    return out;
}

// The same for a label of the file, and for one of another file with the symbols that it lacks.
#define assert_place(s, file, name, expected) \
    assert_string_equal(where(s, file, label(file, name)), expected)
#define assert_place_of(s, file, labels, name, expected) \
    assert_string_equal(where(s, file, label(labels, name)), expected)

// A place without lines whose function is named by its address: "0x1234 (FILE) ???:0".
#define assert_no_symbol(place) assert_string_equal(strchr(place, ')'), ") ???:0")

// ---- The cache: any question in any order gives the answer without it ----

static char cache_folder[4096];

static void empty_cache(void)
{
    snprintf(cache_folder, sizeof(cache_folder), "%s/cache_folder", folder);
    shell("rm -rf cache_folder");
}

// A listing with inode numbers: a rewritten file gets another one.
static const char *cache_files(void)
{
    static char text[2][4096];
    static unsigned turn;
    char *out = text[turn++ % 2], command[4200];

    snprintf(command, sizeof(command), "ls -i '%s'", cache_folder);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(out, 1, sizeof(text[0]) - 1, p);
    out[n] = '\0';
    pclose(p);
    return out;
}

// Asks both in turn for every address in a part of the module, `step` apart.
static void compare_answers(struct symbols *plain, struct symbols *cached, const char *path,
                            unsigned step, unsigned part, unsigned parts)
{
    struct symbols_file f = { .path = path };
    struct symbols_module *m = symbols_file(plain, &f), *k = symbols_file(cached, &f);
    int fd = open(path, O_RDONLY);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    GElf_Phdr ph;

    assert_true(fd >= 0);
    for (int i = 0; gelf_getphdr(elf, i, &ph); i++) {
        if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
            continue;
        uint64_t start = ph.p_vaddr + ph.p_memsz * part / parts;
        uint64_t end = ph.p_vaddr + ph.p_memsz * (part + 1) / parts + 16;
        assert_true(symbols_address(m, ph.p_offset) == symbols_address(k, ph.p_offset));
        for (uint64_t a = start; a < end; a += step) {
            struct symbols_place x, y;

            symbols_find(m, a, &x);
            symbols_find(k, a, &y);
            if (x.line != y.line ||
                strcmp(symbols_string(plain, x.function), symbols_string(cached, y.function)) ||
                strcmp(symbols_string(plain, x.file), symbols_string(cached, y.file)))
                fail_msg("%s %#llx: %s %s:%u, from the cache %s %s:%u", path, (unsigned long long)a,
                         symbols_string(plain, x.function), symbols_string(plain, x.file), x.line,
                         symbols_string(cached, y.function), symbols_string(cached, y.file),
                         y.line);
        }
    }
    elf_end(elf);
    close(fd);
}

// With an empty cache, a fifth of it, all of it.
static void check_cache(const char *file)
{
    char path[4096], before[4096];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    assert_int_equal(stat(path, &st), 0);
    unsigned step = st.st_size > 200000 ? 61 : 1;
    empty_cache();
    for (unsigned pass = 0; pass < 4; pass++) {
        struct symbols *plain = new_symbols(false), *cached = new_symbols_with(false, cache_folder);

        if (pass == 0)
            compare_answers(plain, cached, path, step, 2, 5);
        else
            compare_answers(plain, cached, path, step, 0, 1);
        symbols_save(cached);
        // From the third time on there is nothing new to store.
        if (pass == 2)
            strcpy(before, cache_files());
        symbols_free(cached);
        symbols_free(plain);
    }
    assert_string_equal(cache_files(), before);
    assert_true(strlen(before) > 0);
}

// The answers that every form with line tables must give. `labels` is the file that still has its
// symbols.
static void check_lines(const char *file, const char *labels)
{
    struct symbols *s = new_symbols(false);

    assert_place_of(s, file, labels, "at_main", "main src/main.c:11");
    assert_place_of(s, file, labels, "at_twice", "main src/inc/inline.h:3");
    assert_place_of(s, file, labels, "at_local", "local src/main.c:5");
    assert_place_of(s, file, labels, "at_other", "other src/other.c:4");
    assert_string_equal(remarks, "");
    symbols_free(s);
    check_cache(file);
}

static void compile_with(const char *cc, const char *flags, const char *name)
{
    shell("%s -O1 %s -o %s src/main.c src/other.c", cc, flags, name);
}

struct form {
    const char *cc, *flags, *name;
};

// Forms of debug information, in sequence, up to one without a compiler.
static void test_forms(void **state)
{
    for (const struct form *form = *state; form->cc; form++) {
        compile_with(form->cc, form->flags, form->name);
        check_lines(form->name, form->name);
    }
}

// ---- Forms of DWARF ----

static const struct form dwarf5[] = { { "gcc", "-gdwarf-5", "d5" }, { 0 } };
static const struct form dwarf4[] = { { "gcc", "-gdwarf-4", "d4" }, { 0 } };
static const struct form dwarf_2_and_3[] = {
    { "gcc", "-gdwarf-2 -gstrict-dwarf", "d2" },
    { "gcc", "-gdwarf-3 -gstrict-dwarf", "d3" },
    { 0 },
};
static const struct form split[] = {
    { "gcc", "-gdwarf-5 -gsplit-dwarf", "split5" },
    { "gcc", "-gdwarf-4 -gsplit-dwarf", "split4" },
    { 0 },
};
static const struct form compressed_zlib[] = {
    { "gcc", "-gdwarf-5 -gz=zlib", "z5" },
    { "gcc", "-gdwarf-4 -gz=zlib", "z4" },
    { "gcc", "-gdwarf-4 -gz=zlib-gnu", "zgnu4" },
    { "gcc", "-gdwarf-5 -gz=zlib-gnu", "zgnu5" },
    { 0 },
};
// clang writes no .debug_aranges: with version 4 the units' own ranges are used.
static const struct form with_clang[] = {
    { "clang", "-gdwarf-5", "c5" },
    { "clang", "-gdwarf-4", "c4" },
    { 0 },
};
static const struct form static_not_pie[] = {
    { "gcc", "-gdwarf-5 -static", "static5" },
    { "gcc", "-gdwarf-4 -no-pie", "nopie4" },
    { 0 },
};

static void test_mixed_versions(void **state)
{
    (void)state;
    // Not all are of version 5: libdw reads the whole file.
    shell("gcc -O1 -gdwarf-5 -c -o m5.o src/main.c && gcc -O1 -gdwarf-4 -c -o o4.o src/other.c && "
          "gcc -o mixed m5.o o4.o");
    check_lines("mixed", "mixed");
}

// The units' ranges are not listed, and are in another order than the units.
static void test_units_out_of_order(void **state)
{
    (void)state;
    shell("gcc -O1 -gdwarf-4 -c -o m4.o src/main.c && gcc -O1 -gdwarf-4 -c -o o4.o src/other.c && "
          "objcopy --rename-section .text=.text.sorted.2 m4.o && "
          "objcopy --rename-section .text=.text.sorted.1 o4.o && "
          "gcc -o turned m4.o o4.o && objcopy -R .debug_aranges turned");
    assert_true(label("turned", "at_other") < label("turned", "at_main"));
    check_lines("turned", "turned");
}

// Functions and lines are in the program itself: they stay when the .dwo files are packed into a
// .dwp, and when they are lost. (binutils' dwp 2.40 crashes on version 5.)
static void test_split_package(void **state)
{
    (void)state;
    compile_with("gcc", "-gdwarf-4 -gsplit-dwarf", "packed");
    shell("dwp -e packed -o packed.dwp && rm packed*.dwo");
    check_lines("packed", "packed");
    compile_with("gcc", "-gdwarf-5 -gsplit-dwarf", "lost");
    shell("rm lost*.dwo");
    check_lines("lost", "lost");
}

static void test_compressed_zstd(void **state)
{
    (void)state;
    compile_with("gcc", "-gdwarf-5", "plain5");
    compile_with("gcc", "-gdwarf-4", "plain4");
    shell("objcopy --compress-debug-sections=zstd plain5 zstd5");
    shell("objcopy --compress-debug-sections=zstd plain4 zstd4");
    check_lines("zstd5", "zstd5");
    check_lines("zstd4", "zstd4");
}

// ---- Separate debug files ----

static void test_debuglink(void **state)
{
    (void)state;
    compile_with("gcc", "-gdwarf-5 -Wl,--build-id=none", "linked");
    shell("cp linked linked.whole && objcopy --only-keep-debug linked linked.debug && "
          "strip linked && objcopy --add-gnu-debuglink=linked.debug linked");
    check_lines("linked", "linked.whole");
    shell("mkdir -p .debug && mv linked.debug .debug/");
    check_lines("linked", "linked.whole");
}

static void test_debuglink_of_another_build(void **state)
{
    (void)state;
    compile_with("gcc", "-gdwarf-5 -Wl,--build-id=none", "old");
    shell("cp old old.whole && objcopy --only-keep-debug old old.debug && strip old && "
          "objcopy --add-gnu-debuglink=old.debug old && printf x >> old.debug");
    // The checksum does not match: better nothing than wrong lines.
    struct symbols *s = new_symbols(false);
    assert_no_symbol(where(s, "old", label("old.whole", "at_main")));
    symbols_free(s);
}

static void test_build_id_folder(void **state)
{
    struct symbols *s = new_symbols(false);
    struct symbols_file f = { .path = LIBC };
    struct symbols_place at = { 0 };

    (void)state;
    // libc6-dbg puts libc's lines below /usr/lib/debug/.build-id; qsort itself is in .dynsym.
    const char *address = output_of(
        "nm -D --defined-only %s | awk '$3 == \"qsort@@GLIBC_2.2.5\" { print $1 }'", f.path);
    symbols_find(symbols_file(s, &f), strtoull(address, NULL, 16), &at);
    assert_string_equal(symbols_string(s, at.function), "qsort");
    assert_string_equal(symbols_string(s, at.file), "./stdlib/./stdlib/msort.c");
    symbols_free(s);
}

// ---- Without line tables ----

static void test_symtab_only(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    compile_with("gcc", "", "bare");
    assert_place(s, "bare", "at_main", "main ???:0");
    assert_place(s, "bare", "at_local", "local ???:0");
    // Without lines nothing is known to be inlined.
    struct symbols_frame frame[8];
    assert_int_equal(symbols_inlined(module_of(s, "bare"), label("bare", "at_main"), frame, 8), 0);
    // The start of the C library's code has the name that Cachegrind gives it.
    assert_place(s, "bare", "_start", "(below main) ???:0");
    symbols_free(s);
    check_cache("bare");
}

static void test_dynsym_only(void **state)
{
    struct symbols *s = new_symbols(false);
    char expected[128];

    (void)state;
    compile_with("gcc", "-shared -fPIC", "whole.so");
    shell("strip -o lib.so whole.so");
    assert_place_of(s, "lib.so", "whole.so", "at_other", "other ???:0");
    // A static function is known by its .eh_frame range only.
    snprintf(expected, sizeof(expected), "0x%llx (lib.so) ???:0",
             (unsigned long long)label("whole.so", "local"));
    assert_place_of(s, "lib.so", "whole.so", "at_local", expected);
    symbols_free(s);
    check_cache("lib.so");
}

static void test_eh_frame_only(void **state)
{
    struct symbols *s = new_symbols(false);
    char expected[128];

    (void)state;
    compile_with("gcc", "-g", "full");
    shell("strip -o stripped full");
    snprintf(expected, sizeof(expected), "0x%llx (stripped) ???:0",
             (unsigned long long)label("full", "main"));
    assert_place_of(s, "stripped", "full", "at_main", expected);
    symbols_free(s);
    check_cache("stripped");
}

// A function whose second half has its own range in .eh_frame is one function. The global symbol is
// the last in the table and the first in memory, so only a search in a sorted one finds it.
static void test_eh_frame_within_symbol(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    write_text("src/halves.S",
               ".macro part\n.cfi_startproc\nnop\n.cfi_endproc\n.endm\n"
               ".globl _start\n.type _start, @function\n_start: part\nhalf: part\n"
               ".size _start, .-_start\n.type end, @function\nend: part\n.size end, .-end\n");
    shell("gcc -nostdlib -static -Wl,--eh-frame-hdr -o halves src/halves.S");
    shell("objcopy -N half halves one");
    assert_place_of(s, "one", "halves", "half", "(below main) ???:0");
    symbols_free(s);
}

static void test_minidebuginfo(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    compile_with("gcc", "", "mini.whole");
    shell("objcopy -S --remove-section .comment --keep-symbol=local --keep-symbol=other "
          "--only-keep-debug mini.whole mini.syms 2>/dev/null || "
          "objcopy --only-keep-debug mini.whole mini.syms");
    shell("objcopy --only-keep-debug mini.whole mini.syms && xz -k -f mini.syms && "
          "strip -o mini mini.whole && objcopy --add-section .gnu_debugdata=mini.syms.xz mini");
    assert_place_of(s, "mini", "mini.whole", "at_local", "local ???:0");
    symbols_free(s);
    check_cache("mini");
}

static void test_plt_has_no_name(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    write_text(
        "src/plt.c",
        "#include <stdlib.h>\nint main(int c, char **v){ return c > 1 ? atoi(v[1]) : 0; }\n");
    shell("gcc -g -O1 -fcf-protection=none -no-pie -Wl,-z,lazy -o plt src/plt.c");
    const char *address =
        output_of("objdump -d -j .plt plt | awk '/<atoi@plt>:/ || /<strtol@plt>:/ { print $1 }'");
    assert_string_equal(where(s, "plt", strtoull(address, NULL, 16)), "??? ???:0");
    symbols_free(s);
}

// Sections that the linker removes are at address 0 in their debug information: 0x4000 bytes here,
// which seem to cover the beginning of the program, whose _init, in .init at 0x1000, has no lines.
static void test_removed_section(void **state)
{
    static const char *const forms[] = { "-gdwarf-5", "-gdwarf-4", "-gdwarf-3 -gstrict-dwarf" };
    char name[16];

    (void)state;
    write_text("src/gone.c", "void gone(void);\nvoid gone(void)\n{\n"
                             "    __asm__ volatile(\".skip 0x4000, 0x90\");\n}\n");
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        for (int listed = 1; listed >= 0; listed--) { // in .debug_aranges
            struct symbols *s = new_symbols(false);

            snprintf(name, sizeof(name), "gone%zu%d", i, listed);
            shell("gcc -O1 %s -pie -fPIE -Wl,--gc-sections -o %s src/main.c src/other.c src/gone.c",
                  forms[i], name);
            if (!listed)
                shell("objcopy --remove-section=.debug_aranges %s", name);
            assert_int_equal(label(name, "_init"), 0x1000);
            assert_string_equal(where(s, name, 0x1000), "_init ???:0");
            assert_place(s, name, "at_main", "main src/main.c:11");
            symbols_free(s);
        }
}

// ---- Which name ----

static void test_choice_of_name(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    write_text("names.S", ".globl _start\n.text\n_start: nop\n"
                          ".globl long_name, ab, aa, inside\n"
                          ".type long_name, @function\n.type ab, @function\n.type aa, @function\n"
                          "long_name:\nab:\naa:\nat_names: nop\ninside: nop\nat_inside: nop\n"
                          ".size long_name, .-long_name\n.size ab, .-ab\n.size aa, .-aa\n"
                          "untyped: nop\nat_untyped: nop\n");
    shell("gcc -nostdlib -static -o names names.S");
    // The shortest, then the alphabetically first, as in Cachegrind 3.19.
    assert_place(s, "names", "at_names", "aa ???:0");
    // A label inside a function with a size does not hide it; outside one it is the only name.
    assert_place(s, "names", "at_inside", "aa ???:0");
    assert_string_equal(where(s, "names", label("names", "at_untyped") + 1), "??? ???:0");
    assert_place(s, "names", "untyped", "untyped ???:0");
    symbols_free(s);
}

static void test_demangling(void **state)
{
    struct symbols *s = new_symbols(false);
    struct symbols *raw = new_symbols(true);

    (void)state;
    write_text("names.cc", "namespace a { template<class T> struct B { T f(int); };\n"
                           "template<class T> T B<T>::f(int x) { __asm__ volatile(\".globl at_f\\n"
                           "at_f: nop\"); return T(x); }\ntemplate struct B<long>; }\n"
                           "int main() { a::B<long> b; return (int)b.f(0); }\n");
    shell("g++ -O0 -g -o cc names.cc");
    assert_place(s, "cc", "at_f", "a::B<long>::f(int) names.cc:2");
    assert_place(raw, "cc", "at_f", "_ZN1a1BIlE1fEi names.cc:2");
    symbols_free(s);
    symbols_free(raw);

    // Rust (both schemes) and D names, in an assembly file.
    s = new_symbols(false);
    write_text("other.S",
               ".text\n.globl _start\n_start: nop\n"
               ".macro f name label\n.type \"\\name\", @function\n\\name:\n\\label: nop\n"
               ".size \"\\name\", .-\"\\name\"\n.endm\n"
               "f _ZN4core3fmt5write17h0123456789abcdefE, at_legacy\n"
               "f _RNvC6_123foo3bar, at_v0\nf _D3foo3barFiZi, at_d\n");
    shell("gcc -nostdlib -static -o other other.S");
    assert_place(s, "other", "at_legacy", "core::fmt::write ???:0");
    assert_place(s, "other", "at_v0", "123foo::bar ???:0");
    assert_place(s, "other", "at_d", "foo.bar(int) ???:0");
    symbols_free(s);
}

// ---- Changed files ----

static void test_missing_file(void **state)
{
    struct symbols *s = new_symbols(false);
    char expected[4200];

    (void)state;
    assert_string_equal(where(s, "gone", 0x1234), "??? ???:0");
    snprintf(expected, sizeof(expected),
             "%s/gone: No such file or directory; its functions are shown as ???\n", folder);
    assert_string_equal(remarks, expected);
    symbols_free(s);
}

// The function at at_main of `changed`, given what a run saw of the file, and the remark about it.
static void assert_changed(struct symbols *s, const struct symbols_file *f, const char *function,
                           const char *remark)
{
    struct symbols_place at;
    char expected[4400] = "";

    symbols_find(symbols_file(s, f), label("changed", "at_main"), &at);
    assert_string_equal(symbols_string(s, at.function), function);
    if (remark)
        snprintf(expected, sizeof(expected), "%s: %s\n", f->path, remark);
    assert_string_equal(remarks, expected);
}

static void test_replaced_and_modified(void **state)
{
    static const char replaced[] =
        "was replaced by another file since it was mapped; its functions are shown as ???";
    static const char modified[] =
        "was modified after the run began; functions and lines may be wrong";
    char path[4096];
    struct stat st;

    (void)state;
    compile_with("gcc", "-g", "changed");
    snprintf(path, sizeof(path), "%s/changed", folder);
    assert_int_equal(stat(path, &st), 0);
    const uint64_t mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    const struct {
        struct symbols_file f;
        const char *function, *remark;
    } seen[] = {
        { { .path = path, .ino = st.st_ino + 1 }, "???", replaced },
        { { .path = path, .ino = st.st_ino, .run_start = mtime - 1 }, "main", modified },
        { { .path = path, .ino = st.st_ino, .run_start = mtime }, "main", NULL },
        // The file's time when it was mapped is preferred to that of the run.
        { { .path = path, .ino = st.st_ino, .run_start = 1, .mtime = mtime }, "main", NULL },
        { { .path = path, .ino = st.st_ino, .run_start = 1, .mtime = mtime - 1 },
          "main",
          modified },
    };
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        struct symbols *s = new_symbols(false);

        assert_changed(s, &seen[i].f, seen[i].function, seen[i].remark);
        symbols_free(s);
    }

    // One path, two files in turn: only the one that still exists is known.
    struct symbols *s = new_symbols(false);
    assert_changed(s, &seen[0].f, "???", replaced);
    assert_changed(s, &seen[2].f, "main", replaced);
    symbols_free(s);
}

static void test_not_elf_and_truncated(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    write_text("text", "not a program\n");
    assert_string_equal(where(s, "text", 0x1000), "??? ???:0");
    compile_with("gcc", "-g", "cut.whole");
    // Truncated at every length of its first part and some of the rest: no crash, no endless loop.
    for (unsigned size = 0; size < 20000; size += size < 128 ? 7 : 997) {
        char name[32];

        snprintf(name, sizeof(name), "cut%u", size);
        shell("head -c %u cut.whole > %s", size, name);
        where(s, name, label("cut.whole", "at_main"));
    }
    symbols_free(s);
}

// Random changes in the sections that our own readers read: any answer will do, but no crash, no
// endless loop, no reading outside (AddressSanitizer).
static void test_damaged(void **state)
{
    static const char *const sections[] = { ".debug_line", ".debug_line_str", ".symtab",
                                            ".eh_frame_hdr", ".eh_frame" };
    char path[4096], damaged[4096];
    static char whole[1 << 20];
    uint64_t addresses[3];
    uint32_t seed = 1;

    (void)state;
    compile_with("gcc", "-gdwarf-5", "whole");
    addresses[0] = label("whole", "at_main");
    addresses[1] = label("whole", "at_twice");
    addresses[2] = label("whole", "at_other");
    snprintf(path, sizeof(path), "%s/whole", folder);
    snprintf(damaged, sizeof(damaged), "%s/damaged", folder);
    FILE *f = fopen(path, "rb");
    size_t size = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    for (int round = 0; round < 400; round++) {
        const char *name = sections[round % (int)(sizeof(sections) / sizeof(*sections))];
        int fd = open(path, O_RDONLY);
        Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
        size_t names, off = 0, length = 0;
        Elf_Scn *scn = NULL;
        char saved[8];
        size_t at[8];

        elf_getshdrstrndx(elf, &names);
        while ((scn = elf_nextscn(elf, scn))) {
            GElf_Shdr sh;

            gelf_getshdr(scn, &sh);
            if (strcmp(elf_strptr(elf, names, sh.sh_name), name) == 0) {
                off = sh.sh_offset;
                length = sh.sh_size;
            }
        }
        elf_end(elf);
        close(fd);
        assert_true(length > 0 && off + length <= size);
        for (int i = 0; i < 8; i++) {
            seed = seed * 1664525 + 1013904223;
            // Headers are at the front: they get half of the damage.
            at[i] = off + (seed >> 8) % (i % 2 && length > 64 ? 64 : length);
            saved[i] = whole[at[i]];
            whole[at[i]] = (char)(seed >> 24);
        }
        f = fopen(damaged, "wb");
        fwrite(whole, 1, size, f);
        fclose(f);
        for (int i = 7; i >= 0; i--)
            whole[at[i]] = saved[i];
        struct symbols *s = new_symbols(false);
        for (int i = 0; i < 3; i++)
            where(s, "damaged", addresses[i]);
        symbols_free(s);
    }
}

// ---- Debuginfod ----

// The client understands file: URLs, so a folder is a server.
static void use_server(const char *name)
{
    char url[4200];

    snprintf(url, sizeof(url), "file://%s/%s", folder, name);
    setenv("DEBUGINFOD_URLS", url, 1);
    snprintf(url, sizeof(url), "%s/cache", folder);
    setenv("DEBUGINFOD_CACHE_PATH", url, 1);
}

static void test_debuginfod(void **state)
{
    (void)state;
    compile_with("gcc", "-gdwarf-5 -Wl,--build-id=sha1", "served");
    const char *id = output_of("readelf -n served | awk '/Build ID/ { print $3 }'");
    shell("mkdir -p server/buildid/%s cache && cp served served.whole && "
          "objcopy --only-keep-debug served server/buildid/%s/debuginfo && strip served",
          id, id);
    // Without the variable no server is asked.
    unsetenv("DEBUGINFOD_URLS");
    struct symbols *s = new_symbols(false);
    assert_no_symbol(where(s, "served", label("served.whole", "at_main")));
    symbols_free(s);

    use_server("server");
    check_lines("served", "served.whole");
    unsetenv("DEBUGINFOD_URLS");
}

// ---- Addresses ----

static bool is_same_as_executed(void *is, struct symbols_module *m)
{
    (void)m;
    return *(int *)is;
}

static void test_file_offsets(void **state)
{
    static char content[1 << 20];
    struct symbols *s = new_symbols(false);

    (void)state;
    // Segments whose addresses differ from their offsets.
    compile_with("gcc", "-g -no-pie -Wl,-Ttext-segment=0x10000000", "moved");
    struct symbols_module *m = module_of(s, "moved");
    uint64_t main = label("moved", "at_main");
    assert_true(symbols_address(m, main - 0x10000000) == main);
    assert_true(symbols_address(m, UINT64_C(1) << 40) == UINT64_MAX);
    symbols_free(s);
    // The same content of a file that is gone, if it is what was executed.
    FILE *f = fopen(strcat(strcpy(content, folder), "/moved"), "rbe");
    struct symbols_file gone = { "/gone", .image = content, .is_same = is_same_as_executed };
    gone.image_size = fread(content, 1, sizeof(content), f);
    fclose(f);
    for (int is = 0; is < 2; is++) {
        s = new_symbols(false);
        gone.ctx = &is;
        assert_true(symbols_address(symbols_file(s, &gone), main - 0x10000000) ==
                    (is ? main : UINT64_MAX));
        assert_int_equal(!strstr(remarks, "/gone: was written over since it was mapped"), is);
        symbols_free(s);
    }
}

static const char *vdso(void)
{
    return (const char *)getauxval(AT_SYSINFO_EHDR);
}

// The address of __vdso_getcpu in the kernel's image; 0: none.
static uint64_t vdso_getcpu(void)
{
    const char *image = vdso();
    uint64_t address = 0;
    Elf_Scn *scn = NULL;

    if (!image)
        return 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)image, 8192);
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr sh;

        if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM)
            continue;
        GElf_Sym sym;
        for (int i = 0; gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++)
            if (strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), "__vdso_getcpu") == 0)
                address = sym.st_value;
    }
    elf_end(elf);
    return address;
}

static void test_vdso(void **state)
{
    struct symbols *s = new_symbols(false);
    struct symbols_module *m = symbols_image(s, "[vdso]", vdso(), 8192);
    struct symbols_place at;

    (void)state;
    symbols_find(m, symbols_address(m, vdso_getcpu()), &at);
    assert_string_equal(symbols_string(s, at.function), "getcpu"); // the shorter of its two names
    symbols_free(s);
}

static void assert_source(const struct symbols *s, uint32_t function, uint32_t file, uint32_t line,
                          const char *expected)
{
    char text[512];

    snprintf(text, sizeof(text), "%s %s:%u", symbols_string(s, function), relative_string(s, file),
             line);
    assert_string_equal(text, expected);
}

// A body's function and its declaration, and the file and line of its call.
static void assert_body(const struct symbols *s, const struct symbols_body *b,
                        const char *declaration, const char *call_file, uint32_t call_line)
{
    assert_non_null(b);
    assert_source(s, b->function, b->file, b->line, declaration);
    assert_string_equal(relative_string(s, b->call_file), call_file);
    assert_int_equal(b->call_line, call_line);
}

static void test_inline_chain(void **state)
{
    static const char *const forms[] = { "-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gsplit-dwarf" };

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        struct symbols *s = new_symbols(false);
        struct symbols_frame frame[8];

        compile_with("gcc", forms[i], "chain");
        struct symbols_module *m = module_of(s, "chain");
        size_t n = symbols_inlined(m, label("chain", "at_twice"), frame, 8);
        assert_int_equal(n, 2);
        assert_source(s, frame[0].function, frame[0].file, frame[0].line,
                      "twice src/inc/inline.h:3");
        assert_source(s, frame[1].function, frame[1].file, frame[1].line, "main src/main.c:12");
        // No more than fit.
        frame[1].line = 77;
        assert_int_equal(symbols_inlined(m, label("chain", "at_twice"), frame, 1), 1);
        assert_int_equal(frame[1].line, 77);
        symbols_free(s);
        shell("rm -f chain*");
    }
}

static const char scoped_cc[] =
    "#define BODY inline __attribute__((always_inline))\n"
    "#define HERE(name) __asm__ volatile(\".globl \" name \"\\n\" name \": nop\")\n"
    "namespace mill { namespace {\n"
    "static BODY int grind(int n) { HERE(\"at_grind\"); return n * 3; }\n"
    "struct Stone { int n; BODY int turn() { HERE(\"at_turn\"); return n; } };\n"
    "} }\n"
    "static BODY int sieve(int n) { HERE(\"at_sieve\"); return n + 1; }\n"
    "struct Open { int n; BODY int turn() { HERE(\"at_open\"); return n; } };\n"
    "int main(int argc, char **)\n"
    "{ mill::Stone s = { argc }; Open o = { argc };\n"
    "  return mill::grind(argc) + s.turn() + sieve(argc) + o.turn(); }\n";

// Functions without a mangled name are named by their scope.
static void test_bodies_of_scopes(void **state)
{
    static const struct {
        const char *label, *name;
    } body[] = {
        { "at_grind", "mill::(anonymous namespace)::grind" },
        { "at_turn", "mill::(anonymous namespace)::Stone::turn" },
        { "at_sieve", "sieve" },
        { "at_open", "Open::turn()" }, // has one
    };

    (void)state;
    write_text("src/scoped.cc", scoped_cc);
    for (int version = 4; version <= 5; version++) {
        struct symbols *s = new_symbols(false);

        shell("g++ -O1 -gdwarf-%d -o chain src/scoped.cc", version);
        for (size_t i = 0; i < sizeof(body) / sizeof(*body); i++) {
            const struct symbols_body *b =
                symbols_body(module_of(s, "chain"), label("chain", body[i].label));

            assert_non_null(b);
            assert_string_equal(symbols_string(s, b->function), body[i].name);
        }
        symbols_free(s);
        shell("rm -f chain*");
    }
}

// Link-time optimisation moves a function of one file into that of another: its name and
// declaration are in the other's unit.
static void test_bodies_of_other_units(void **state)
{
    struct symbols *s = new_symbols(false);

    (void)state;
    compile_with("gcc", "-gdwarf-5 -flto", "chain");
    assert_body(s, symbols_body(module_of(s, "chain"), label("chain", "at_other")),
                "other src/other.c:2", "src/main.c", 6);
    symbols_free(s);
    shell("rm -f chain*");
}

// The same as the inline chain: `twice` within main, entered at its first instruction.
static void test_bodies(void **state)
{
    static const char *const forms[] = { "-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gsplit-dwarf",
                                         "-gdwarf-3 -gstrict-dwarf" };

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        struct symbols *s = new_symbols(false);

        compile_with("gcc", forms[i], "chain");
        struct symbols_module *m = module_of(s, "chain");
        uint64_t twice = label("chain", "at_twice");
        const struct symbols_body *b = symbols_body(m, twice);
        assert_body(s, b, "twice src/inc/inline.h:1", "src/main.c", 12);
        assert_null(b->outer);
        assert_true(b->entry <= twice);
        assert_ptr_equal(symbols_body(m, b->entry), b);
        assert_null(symbols_body(m, label("chain", "at_other")));
        assert_null(symbols_body(m, label("chain", "at_local")));
        assert_null(symbols_body(m, 0));
        assert_null(symbols_body(m, UINT64_MAX));
        // again, without reading
        assert_ptr_equal(symbols_body(m, twice), b);
        symbols_free(s);
        shell("rm -f chain*");
    }
}

// Three bodies in main: first, then outer with inner in its middle.
static const char nested_c[] =
    "#define BODY static inline __attribute__((always_inline))\n"
    "#define HERE(name) __asm__ volatile(\".globl \" name \"\\n\" name \": nop\")\n"
    "BODY void first(void) { HERE(\"at_first\"); }\n"
    "BODY void inner(void) { HERE(\"at_inner\"); }\n"
    "BODY void outer(void) { HERE(\"at_before\"); inner(); HERE(\"at_behind\"); }\n"
    "int main(void) { first(); outer(); HERE(\"at_end\"); return 0; }\n";

static void test_bodies_within_bodies(void **state)
{
    static const struct {
        const char *label, *name, *outer;
    } expected[] = {
        { "at_first", "first", NULL },    { "at_before", "outer", NULL },
        { "at_inner", "inner", "outer" }, { "at_behind", "outer", NULL },
        { "at_end", NULL, NULL },
    };
    struct symbols *s = new_symbols(false);

    (void)state;
    write_text("src/nested.c", nested_c);
    shell("gcc -O1 -gdwarf-5 -o chain src/nested.c");
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        const struct symbols_body *b =
            symbols_body(module_of(s, "chain"), label("chain", expected[i].label));

        assert_int_equal(b != NULL, expected[i].name != NULL);
        if (!b)
            continue;
        assert_string_equal(symbols_string(s, b->function), expected[i].name);
        assert_int_equal(b->outer != NULL, expected[i].outer != NULL);
        if (b->outer)
            assert_string_equal(symbols_string(s, b->outer->function), expected[i].outer);
    }
    symbols_free(s);
    shell("rm -f chain*");
}

// ---- Our reader of line tables against libdw's ----

static void compare_readers(const char *path, uint64_t from, uint64_t to, uint64_t step, bool must)
{
    struct strings strings;
    int fd = open(path, O_RDONLY);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    unsigned different = 0, found = 0;

    strings_init(&strings);
    struct linetab *t = linetab_new(elf, &strings);
    struct lines *l = lines_new(elf, "", "", &strings);
    if (must) {
        assert_non_null(t);
        assert_non_null(l);
    }
    for (uint64_t a = from; t && l && a < to; a += step) {
        struct lines_row x;

        linetab_find(t, a, &x);
        struct lines_row y;
        lines_find(l, a, true, &y);
        found += x.line != 0;
        if (x.file != y.file || x.line != y.line) {
            if (different++ < 5)
                print_message("# %#llx: linetab %s:%u, libdw %s:%u\n", (unsigned long long)a,
                              strings.text[x.file], x.line, strings.text[y.file], y.line);
        }
        assert_true(x.start <= a && x.end > a);
    }
    assert_int_equal(different, 0);
    if (must)
        assert_true(found > 0);
    lines_free(l);
    linetab_free(t);
    elf_end(elf);
    close(fd);
    strings_fini(&strings);
}

// Before the first listed range and between two there is no line up to the next one.
static void test_end_of_a_hole(void **state)
{
    struct strings strings;
    char path[4096];

    (void)state;
    write_text("src/holes.S", ".text\n.globl _start, far\n_start: nop\nnop\n.skip 64\n"
                              ".section .text.far, \"ax\"\n.p2align 8\nfar: nop\n");
    shell("gcc -gdwarf-4 -nostdlib -static -o holes src/holes.S");
    snprintf(path, sizeof(path), "%s/holes", folder);
    int fd = open(path, O_RDONLY);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    strings_init(&strings);
    struct lines *l = lines_new(elf, "", "", &strings);
    assert_non_null(l);
    uint64_t start = label("holes", "_start"), end = start + 66, far = label("holes", "far");
    struct lines_row row;
    assert_true(end < far);
    lines_find(l, start - 1, false, &row);
    assert_true(row.line == 0 && row.end == start);
    for (uint64_t a = end; a < far; a += 7) {
        lines_find(l, a, false, &row);
        assert_int_equal(row.line, 0);
        assert_int_equal(row.end, far);
    }
    lines_free(l);
    elf_end(elf);
    close(fd);
    strings_fini(&strings);
}

static void test_readers_agree(void **state)
{
    char path[4096];

    (void)state;
    compile_with("gcc", "-gdwarf-5 -O2", "agree");
    snprintf(path, sizeof(path), "%s/agree", folder);
    compare_readers(path, label("agree", "_start") & ~UINT64_C(0xfff),
                    label("agree", "_start") + 0x1000, 1, true);
    // Relative folders, as distributions build.
    shell("gcc -gdwarf-5 -O2 -fdebug-prefix-map=\"$PWD\"=. -o relative src/main.c src/other.c");
    snprintf(path, sizeof(path), "%s/relative", folder);
    compare_readers(path, label("relative", "_start") & ~UINT64_C(0xfff),
                    label("relative", "_start") + 0x1000, 1, true);
    // This program itself.
    compare_readers("/proc/self/exe", 0x1000, 0x200000, 13, false);
}

// ---- When the cache must not be used ----

// "FUNCTION FILE:LINE" through the cache in `cache_folder`; saves the answer.
static const char *cached_where(const char *file, uint64_t address)
{
    struct symbols *s = new_symbols_with(false, cache_folder);
    const char *text = where(s, file, address);

    symbols_save(s);
    symbols_free(s);
    return text;
}

// Twice: read from the module, then from the cache.
#define assert_cached(file, address, expected)                      \
    do {                                                            \
        assert_string_equal(cached_where(file, address), expected); \
        assert_string_equal(cached_where(file, address), expected); \
    } while (0)
#define assert_cached_no_symbol(file, address)         \
    do {                                               \
        assert_no_symbol(cached_where(file, address)); \
        assert_no_symbol(cached_where(file, address)); \
    } while (0)

// A save removes the unfinished files of killed writers, when they are older than an hour.
static void test_cache_is_tidied(void **state)
{
    (void)state;
    empty_cache();
    shell("mkdir -m 700 cache_folder && touch cache_folder/a.symbols.1.new && "
          "touch -d '2 hours ago' cache_folder/b.symbols.2.new");
    compile_with("gcc", "-gdwarf-5", "tidied");
    assert_string_equal(cached_where("tidied", label("tidied", "at_main")), "main src/main.c:11");
    assert_non_null(strstr(cache_files(), "a.symbols.1.new"));
    assert_null(strstr(cache_files(), "b.symbols.2.new"));
}

// Without answers to store no folder is made.
static void test_cache_of_nothing(void **state)
{
    struct stat st;

    (void)state;
    empty_cache();
    struct symbols *s = new_symbols_with(false, cache_folder);
    symbols_save(s);
    symbols_free(s);
    assert_int_equal(stat(cache_folder, &st), -1);
}

static void test_cache_debug_file_comes_and_goes(void **state)
{
    (void)state;
    empty_cache();
    compile_with("gcc", "-gdwarf-5 -Wl,--build-id=sha1", "later");
    shell("cp later later.whole && objcopy --only-keep-debug later later.debug && strip later && "
          "objcopy --add-gnu-debuglink=later.debug later && mv later.debug away");
    uint64_t at = label("later.whole", "at_local");
    assert_cached_no_symbol("later", at);
    // In the second of the places, then in the first, too: each is noticed, and so is its removal.
    shell("mkdir -p .debug && cp -p away .debug/later.debug");
    assert_cached("later", at, "local src/main.c:5");
    shell("echo damaged > later.debug");
    assert_cached("later", at, "local src/main.c:5");
    shell("rm .debug/later.debug");
    assert_cached_no_symbol("later", at);
    shell("cp -p away later.debug");
    assert_cached("later", at, "local src/main.c:5");
}

static void test_cache_program_changes(void **state)
{
    static const char *const ids[] = { "none", "0x12345678", "sha1" };

    (void)state;
    empty_cache();
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        // The second time it is rebuilt with the same build-id.
        shell("gcc -g -Wl,--build-id=%s -o moving src/main.c src/other.c", ids[i]);
        assert_string_equal(cached_where("moving", label("moving", "at_other")),
                            "other src/other.c:4");
        shell("(echo; cat src/other.c) > src/other2.c && "
              "gcc -g -Wl,--build-id=%s -o moving src/main.c src/other2.c",
              ids[i]);
        assert_string_equal(cached_where("moving", label("moving", "at_other")),
                            "other src/other2.c:5");
        // The same build-id again, without lines, without symbols.
        uint64_t at = label("moving", "at_other");
        shell("strip -g moving");
        assert_string_equal(cached_where("moving", at), "other ???:0");
        shell("strip moving");
        assert_no_symbol(cached_where("moving", at));
    }
}

// Names with and without --demangle=no do not mix.
static void test_cache_demangling(void **state)
{
    (void)state;
    empty_cache();
    write_text("name.cc", "namespace n { __attribute__((noinline)) int f(int x) { return x; } }\n"
                          "int main() { return n::f(0); }\n");
    shell("g++ -g -o name name.cc");
    for (int i = 0; i < 4; i++) {
        struct symbols *s = new_symbols_with(i % 2, cache_folder);

        assert_string_equal(where(s, "name", label("name", "_ZN1n1fEi")),
                            i % 2 ? "_ZN1n1fEi name.cc:1" : "n::f(int) name.cc:1");
        symbols_save(s);
        symbols_free(s);
    }
    check_cache("name");
}

// Random changes in the cache's file, or a missing end: the answers stay right, read anew.
static void test_cache_damaged(void **state)
{
    char path[4096], file[4200];
    static char whole[1 << 20], damaged[1 << 20];
    uint32_t seed = 7;

    (void)state;
    empty_cache();
    compile_with("gcc", "-gdwarf-5", "harmed");
    cached_where("harmed", label("harmed", "at_main"));
    shell("ls cache_folder > list");
    snprintf(path, sizeof(path), "%s/list", folder);
    FILE *f = fopen(path, "r");
    char name[64];
    assert_int_equal(fscanf(f, "%63s", name), 1);
    fclose(f);
    snprintf(file, sizeof(file), "%s/%s", cache_folder, name);
    snprintf(path, sizeof(path), "%s/harmed", folder);
    f = fopen(file, "rb");
    size_t size = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    assert_true(size > 0 && size < sizeof(whole));
    for (int round = 0; round < 300; round++) {
        size_t left = size;

        memcpy(damaged, whole, size);
        for (int i = 0; i < 1 + round % 3; i++) {
            seed = seed * 1664525 + 1013904223;
            damaged[(seed >> 8) % size] ^= (char)(1 << (seed >> 5) % 8);
        }
        if (round % 10 == 0)
            left = (seed >> 8) % size;
        f = fopen(file, "wb");
        fwrite(damaged, 1, left, f);
        fclose(f);
        struct symbols *plain = new_symbols(false), *cached = new_symbols_with(false, cache_folder);
        compare_answers(plain, cached, path, 3, 0, 1);
        symbols_free(cached);
        symbols_free(plain);
    }
}

// A server without the file is not asked again at once; the answer of one that has it is valid as
// long as it is named.
static void test_cache_of_servers(void **state)
{
    (void)state;
    empty_cache();
    shell("rm -rf server cache && mkdir -p server cache");
    compile_with("gcc", "-gdwarf-5 -Wl,--build-id=sha1", "asked");
    const char *id = output_of("readelf -n asked | awk '/Build ID/ { print $3 }'");
    shell("cp asked asked.whole && objcopy --only-keep-debug asked asked.far && strip asked");
    uint64_t at = label("asked.whole", "at_main");
    use_server("server");
    assert_cached_no_symbol("asked", at);
    use_server("server/"); // another name: asked again
    shell("mkdir -p server/buildid/%s && cp asked.far server/buildid/%s/debuginfo && "
          "rm -rf cache && mkdir cache",
          id, id);
    assert_cached("asked", at, "main src/main.c:11");
    shell("rm -rf server cache"); // known answers need no server
    assert_string_equal(cached_where("asked", at), "main src/main.c:11");
    unsetenv("DEBUGINFOD_URLS");
    assert_cached_no_symbol("asked", at);
}

static void test_cache_of_vdso(void **state)
{
    const char *image = vdso();

    (void)state;
    empty_cache();
    for (int pass = 0; pass < 2; pass++) {
        struct symbols *plain = new_symbols(false), *cached = new_symbols_with(false, cache_folder);
        struct symbols_module *m = symbols_image(plain, "[vdso]", image, 8192);
        struct symbols_module *k = symbols_image(cached, "[vdso]", image, 8192);

        for (uint64_t off = 0; off < 8192; off++) {
            struct symbols_place x, y;

            assert_true(symbols_address(m, off) == symbols_address(k, off));
            symbols_find(m, off, &x);
            symbols_find(k, off, &y);
            assert_string_equal(symbols_string(plain, x.function),
                                symbols_string(cached, y.function));
        }
        symbols_save(cached);
        symbols_free(cached);
        symbols_free(plain);
    }
    assert_true(strlen(cache_files()) > 0);
}

// ---- What this machine may not have ----

static bool has_zstd(void)
{
    return shell_can("cp /bin/sh probe && objcopy --compress-debug-sections=zstd probe probe.z");
}

static bool has_libc_lines(void)
{
    return shell_can("test -e /usr/lib/debug/.build-id/$(readelf -n " LIBC
                     " | sed -n 's|^ *Build ID: \\(..\\)|\\1/|p').debug");
}

static bool has_vdso(void)
{
    return vdso();
}

static bool has_vdso_getcpu(void)
{
    return vdso_getcpu() != 0;
}

static const struct {
    CMUnitTestFunction test;
    bool (*can)(void);
    const char *why;
} needs[] = {
    { test_compressed_zstd, has_zstd, "objcopy does not compress with zstd" },
    { test_build_id_folder, has_libc_lines, "the C library's debug information is not installed" },
    { test_vdso, has_vdso_getcpu, "the kernel's image has no __vdso_getcpu" },
    { test_cache_of_vdso, has_vdso, "the kernel gives no image" },
};

// Reports a test that cannot run here, as a program of one test: cmocka has no way to skip with a
// reason.
static bool lacks(const struct CMUnitTest *t)
{
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
        if (needs[i].test == t->test_func && !needs[i].can()) {
            printf("1..1\nok 1 - %s # SKIP %s\n", t->name, needs[i].why);
            return true;
        }
    return false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { "test_dwarf5", test_forms, NULL, NULL, (void *)(uintptr_t)dwarf5 },
        { "test_dwarf4", test_forms, NULL, NULL, (void *)(uintptr_t)dwarf4 },
        { "test_dwarf_2_and_3", test_forms, NULL, NULL, (void *)(uintptr_t)dwarf_2_and_3 },
        cmocka_unit_test(test_mixed_versions),
        cmocka_unit_test(test_units_out_of_order),
        { "test_split", test_forms, NULL, NULL, (void *)(uintptr_t)split },
        cmocka_unit_test(test_split_package),
        { "test_compressed_zlib", test_forms, NULL, NULL, (void *)(uintptr_t)compressed_zlib },
        cmocka_unit_test(test_compressed_zstd),
        { "test_clang", test_forms, NULL, NULL, (void *)(uintptr_t)with_clang },
        { "test_static_not_pie", test_forms, NULL, NULL, (void *)(uintptr_t)static_not_pie },
        cmocka_unit_test(test_debuglink),
        cmocka_unit_test(test_debuglink_of_another_build),
        cmocka_unit_test(test_build_id_folder),
        cmocka_unit_test(test_symtab_only),
        cmocka_unit_test(test_dynsym_only),
        cmocka_unit_test(test_eh_frame_only),
        cmocka_unit_test(test_eh_frame_within_symbol),
        cmocka_unit_test(test_minidebuginfo),
        cmocka_unit_test(test_plt_has_no_name),
        cmocka_unit_test(test_removed_section),
        cmocka_unit_test(test_choice_of_name),
        cmocka_unit_test(test_demangling),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_replaced_and_modified),
        cmocka_unit_test(test_not_elf_and_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_debuginfod),
        cmocka_unit_test(test_file_offsets),
        cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_inline_chain),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_bodies_within_bodies),
        cmocka_unit_test(test_bodies_of_other_units),
        cmocka_unit_test(test_bodies_of_scopes),
        cmocka_unit_test(test_end_of_a_hole),
        cmocka_unit_test(test_readers_agree),
        cmocka_unit_test(test_cache_is_tidied),
        cmocka_unit_test(test_cache_of_nothing),
        cmocka_unit_test(test_cache_debug_file_comes_and_goes),
        cmocka_unit_test(test_cache_program_changes),
        cmocka_unit_test(test_cache_demangling),
        cmocka_unit_test(test_cache_damaged),
        cmocka_unit_test(test_cache_of_servers),
        cmocka_unit_test(test_cache_of_vdso),
    };

    struct CMUnitTest here[sizeof(tests) / sizeof(*tests)];
    size_t n = 0;
    int failed;

    if (make_sources(NULL) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        if (!lacks(&tests[i]))
            here[n++] = tests[i];
    failed = _cmocka_run_group_tests("symbols", here, n, NULL, NULL);
    remove_sources(NULL);
    return failed;
}
