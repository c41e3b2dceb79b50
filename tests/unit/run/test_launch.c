// SPDX-License-Identifier: MIT
// engine/run/launch.c: from an initial stack as the kernel makes it to the client's first
// instruction. Other files are replaced by fakes that note their arguments; the program "is" mapped
// where the test says. Each fake appends a letter: this shows the order of the calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/codecache/vmmapfile.h"
#include "engine/count/caches.h"
#include "engine/count/lineids.h"
#include "engine/process/elf.h"
#include "engine/process/exec.h"
#include "engine/process/procnames.h"
#include "engine/process/seccomp.h"
#include "engine/process/threadstart.h"
#include "engine/process/tracer.h"
#include "engine/replay/recordbuf.h"
#include "engine/run/dispatch.h"
#include "engine/run/emulate.h"
#include "engine/run/identity.h"
#include "engine/run/launch.h"
#include "engine/signal/setup.h"
#include "engine/spool/config.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/log.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/control.h"
#include "engine/syscalls/counting.h"
#include "engine/syscalls/requests.h"
#include "engine/syscalls/syscalls.h"
#include "engine/translate/pcache.h"
#include "engine/translate/superblock.h"
#include "engine/translate/translate.h"
#include "tests/unit/count/reftrace_none.h"
#include "tests/unit/objects/objects_none.h"

struct tb_config tb_config;
struct cpu cpu = { .lahf = true };
static struct spool_header header;
struct spool_header *spool;
const void *const dispatch_calls[STUB_COUNT];

// -- fakes of other files --

static char order[64];

static void note(char what)
{
    order[strlen(order)] = what;
}

static u64 hwcap2, frame_size;

void cpu_init(u64 caps, u64 size)
{
    hwcap2 = caps;
    frame_size = size;
}

static int spool_fd;

void spooler_map(int fd)
{
    spool_fd = fd;
    spool = &header;
    note('S');
}

void spooler_forget(int fd)
{
    dprintf(2, "forgotten: %d\n", fd);
}

void spooler_drop(void)
{
    note('-');
}

void spooler_say_held(void)
{
    note('?');
}

const char *spooler_string(u32 offset)
{
    return offset == 1 ? "/bin/true" : "/quern";
}

char *heap_strdup(const char *s)
{
    return (char *)s;
}

void exec_remove_old(int fd)
{
    assert_int_equal(fd, 903);
    note('o');
}

static struct elf_file program = { .kind = ELF_LOADABLE };
static struct elf_file interp = { .kind = ELF_LOADABLE };
static bool first_examined;

void elf_examine(struct elf_file *f, int fd)
{
    *f = first_examined ? interp : program;
    f->fd = fd;
    first_examined = true;
}

static jmp_buf back;

const char *exec_script(int fd, int script, const char *name, char *const *argv, char *const *envp)
{
    assert_int_equal(fd, spool_fd);
    assert_int_equal(script, 902);
    assert_string_equal(name, "./prog");
    assert_string_equal(argv[0], "prog");
    assert_string_equal(envp[0], "A=1");
    longjmp(back, 3);
}

static struct elf_image images[2];
static u64 hints[2];
static u32 mapped;

long elf_map(const struct elf_file *f, u64 hint, struct elf_image *image, elf_note *tell,
             const char **why)
{
    (void)f;
    (void)why;
    hints[mapped] = hint;
    *image = images[mapped++];
    tell(0x1000, 0x2000, PROT_READ, false);
    note('m');
    return 0;
}

void vmmap_add(u64 start, u64 end, u32 prot, u32 flags)
{
    assert_int_equal(start, 0x1000);
    assert_int_equal(end, 0x2000);
    assert_int_equal(prot, PROT_READ);
    assert_int_equal(flags, 0);
}

static bool is_elf = true;

bool modules_check(int fd, struct k_stat *st)
{
    (void)fd;
    st->st_ino = 17;
    return is_elf;
}

void vmmap_hold(int fd, const struct k_stat *st)
{
    (void)fd;
    assert_int_equal(st->st_ino, 17);
    note('x');
}

static struct vmmapfile_line lines[8];

bool vmmapfile_walk(bool (*take)(const struct vmmapfile_line *, void *), void *arg)
{
    for (u32 i = 0; lines[i].path; i++)
        if (take(&lines[i], arg))
            return true;
    return false;
}

static u64 cache_limit;
static u32 cache_kib, cache_max; // what it may be at most

int tcache_init(u64 limit, u32 kib, const void *const calls[STUB_COUNT])
{
    assert_ptr_equal(calls, dispatch_calls);
    cache_limit = limit;
    cache_kib = kib;
    if (kib > cache_max)
        return -ENOMEM;
    note('c');
    return 0;
}

u64 region_start(void)
{
    return 0x7fffe0000000;
}

u64 region_end(void)
{
    return 0x7ffff0000000;
}

#define NOTES(function, letter) \
    void function(void)         \
    {                           \
        note(letter);           \
    }
NOTES(vmmap_init, 'v')
NOTES(lineids_init, 'i')
NOTES(caches_init, 'C')
NOTES(recordbuf_reserve, 'R')
NOTES(recordbuf_init, 'l')
NOTES(translate_init, 't')
NOTES(superblock_init, 'B')
NOTES(setup_process, 'p')
NOTES(dispatch_init, 'd')
NOTES(tracer_init, 'T')
NOTES(log_own, 'O')

static int named_fd = 902; // -1: any
static char named[64];

void procnames_init(int fd, const char *name)
{
    assert_true(named_fd == -1 ? fd >= 0 : fd == named_fd);
    snprintf(named, sizeof(named), "%s", name);
    assert_true(name[0] == '.' || name[0] == '/');
}

static const char *exe;

const char *procnames_exe(void)
{
    return exe;
}

void fds_init(int fd, int log_fd)
{
    assert_int_equal(fd, 901);
    assert_int_equal(log_fd, 900);
}

void fds_keep_finisher(const char *path)
{
    assert_string_equal(path, "/quern");
}

int fds_spool(void)
{
    return 901;
}

void environ_save(char *const *envp)
{
    assert_string_equal(envp[0], "A=1");
}

void config_init(u64 i1_size, u64 d1_size)
{
    assert_int_equal(i1_size, TA_I1_SIZE);
    assert_int_equal(d1_size, TA_D1_SIZE);
    note('f');
}

void calls_init(void)
{
    note('g');
}

void calls_thread_start(struct thread *with)
{
    (void)with;
    note('G');
}

void emulate_init(void)
{
    note('e');
}

void requests_init(void)
{
    note('q');
}

void control_init(void)
{
    note('K');
}

void counting_init(void)
{
    note('k');
}

// only with --cpu
u64 cpu_show(u64 xcr0)
{
    (void)xcr0;
    fail();
    return 0;
}

// only with --reproducible
bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    (void)addr;
    (void)out;
    fail();
    return false;
}

static u64 brk_emulated;

void syscalls_init(u64 brk, u64 top)
{
    brk_emulated = brk;
    assert_int_equal(top, 0); // nothing is pinned
    note('s');
}

static struct thread thread, *const t = &thread;

struct thread *threadstart_main(void)
{
    note('b');
    return t;
}

void seccomp_take_over(struct thread *of)
{
    assert_ptr_equal(of, t);
}

static bool steady;

u64 identity_of(const struct elf_file *of, const struct elf_image *image)
{
    assert_true(named_fd == -1 || of->fd == named_fd);
    assert_int_equal(image->entry, images[0].entry);
    return 77;
}

void pcache_init(u64 identity, bool fixed_layout)
{
    assert_int_equal(identity, 77);
    steady = fixed_layout;
    note('y');
}

_Noreturn void dispatch_run(struct thread *of)
{
    assert_ptr_equal(of, t);
    longjmp(back, 1);
}

static u64 native_sp, native_pc;

_Noreturn void launch_native(u64 rsp, u64 rip)
{
    native_sp = rsp;
    native_pc = rip;
    longjmp(back, 2);
}

// -- the test's side --

// As the kernel makes it: argc, the engine's two arguments, the client's, environment, vector.
static u64 stack[64], *auxv;
static char random16[16];

static void push_stack(const char *name, const char *fds)
{
    static const u64 vector[][2] = {
        { AT_SYSINFO_EHDR, 0x7ffff7fd0000 },
        { AT_PHDR, 1 },
        { AT_PHENT, 2 },
        { AT_PHNUM, 3 },
        { AT_BASE, 4 },
        { AT_ENTRY, 5 },
        { AT_EXECFN, 6 },
        { AT_HWCAP2, 0xabc },
        { AT_MINSIGSTKSZ, 3632 },
        { AT_RSEQ_FEATURE_SIZE, 28 },
        { AT_RSEQ_ALIGN, 32 },
        { AT_NULL, 0 },
    };
    u64 *p = stack;

    *p++ = 4;
    *p++ = (u64)name;
    *p++ = (u64)fds;
    *p++ = (u64) "prog";
    *p++ = (u64) "argument";
    *p++ = 0;
    *p++ = (u64) "A=1";
    *p++ = 0;
    auxv = p;
    *p++ = AT_RANDOM;
    *p++ = (u64)random16;
    memcpy(p, vector, sizeof(vector));
}

static u64 aux(u64 type)
{
    for (u64 *a = auxv; *a; a += 2)
        if (*a == type)
            return a[1];
    return ~0ul;
}

static int setup(void **state)
{
    static const struct vmmapfile_line usual[] = {
        { .start = 0x7e9000000000, .path = (char *)"/engine" },
        { .start = 0x7ffff7fc5000, .path = (char *)"" },
        { .start = 0x7ffff7fc9000, .path = (char *)"[vvar_vclock]" },
        { .start = 0x7ffff7fcd000, .path = (char *)"[vvar]" },
        { .start = 0x7ffff7fcf000, .path = (char *)"[vdso]" },
        { .start = 0x7ffffffde000, .path = (char *)"[stack]" },
    };

    (void)state;
    memset(&header, 0, sizeof(header));
    memset(order, 0, sizeof(order));
    memset(t, 0, sizeof(*t));
    memset(lines, 0, sizeof(lines));
    memcpy(lines, usual, sizeof(usual));
    memset(random16, 'r', 16);
    memset(images, 0, sizeof(images));
    program = (struct elf_file){ .kind = ELF_LOADABLE, .phnum = 9 };
    interp = (struct elf_file){ .kind = ELF_LOADABLE, .low = 0, .high = 0x35000 };
    // The kernel refuses a break so low: it is emulated, and this process keeps its own.
    images[0] = (struct elf_image){ .entry = 0x401500, .phdr = 0x400040, .brk = 0x1001 };
    images[1] = (struct elf_image){ .entry = 0x7f0000001000, .bias = 0x7f0000000000 };
    first_examined = false;
    mapped = 0;
    cache_max = ~0u;
    header.log_fd = 900;
    header.s_program = 1;
    push_stack("./prog", "901,902");
    return 0;
}

static int launch(void)
{
    int how = setjmp(back);

    if (!how)
        launch_main(stack);
    return how;
}

static void test_stack(void **state)
{
    u64 *sp = stack + 2;

    (void)state;
    assert_int_equal(launch(), 1);
    assert_int_equal(spool_fd, 901);
    assert_string_equal(order, "SvfcmxTiRCgltBeqkKpdsbyG");
    assert_int_equal(t->regs[R_RSP], (u64)sp);
    assert_int_equal(t->pc, 0x401500);
    assert_int_equal(t->rflags, 0x202);
    assert_int_equal(sp[0], 2); // where the engine's second argument was
    assert_string_equal((char *)sp[1], "prog");
    assert_string_equal((char *)sp[2], "argument");
    assert_int_equal(sp[3], 0);
    assert_int_equal(header.state, SPOOL_RUNNING);
    assert_int_equal(header.pid, sys_getpid());
    assert_int_equal(brk_emulated, 0x2000);
    assert_int_equal(hwcap2, 0xabc);
    assert_int_equal(frame_size, 3632);
}

static void test_vector(void **state)
{
    (void)state;
    program.has_interp = true;
    memcpy(program.interp, "/dev/null", 10);
    assert_int_equal(launch(), 1);
    assert_int_equal(t->pc, 0x7f0000001000); // the interpreter's
    assert_int_equal(aux(AT_PHDR), 0x400040);
    assert_int_equal(aux(AT_PHENT), 56);
    assert_int_equal(aux(AT_PHNUM), 9);
    assert_int_equal(aux(AT_BASE), 0x7f0000000000);
    assert_int_equal(aux(AT_ENTRY), 0x401500);
    assert_string_equal((char *)aux(AT_EXECFN), "./prog");
    assert_int_equal(aux(AT_SYSINFO_EHDR), 0x7ffff7fd0000);
    assert_int_equal(aux(AT_HWCAP2), 0xabc);
    assert_int_equal(aux(AT_RSEQ_ALIGN), ~0ul); // removed: not supported
    assert_int_equal(aux(AT_RSEQ_FEATURE_SIZE), ~0ul);
    assert_int_equal(auxv[2 * 10], AT_NULL); // 13 less 2 entries, this is the last
    assert_memory_equal(random16, "Quern: no chance", 16);
    // 2 GiB below the end of the code cache, plus 64 MiB; and right below the cache.
    assert_int_equal(hints[0], 0x7fff74000000);
    assert_int_equal(hints[1], 0x7fffe0000000 - 0x35000);
}

static void test_options(void **state)
{
    (void)state;
    header.flags = SPOOL_F_NO_VDSO | SPOOL_F_RANDOM | SPOOL_F_EXECED;
    assert_int_equal(launch(), 1);
    assert_int_equal(aux(AT_SYSINFO_EHDR), ~0ul);
    assert_int_equal(aux(AT_BASE), 0);
    assert_memory_equal(random16, "rrrrrrrrrrrrrrrr", 16);
    assert_string_equal(order, "SOvfcmxTiRCgltBeqkKpdsbyG");
}

// Below the lowest part of the vDSO; where that is above the stack, where the kernel puts mappings
// now.
static void test_cache(void **state)
{
    (void)state;
    assert_int_equal(launch(), 1);
    assert_int_equal(cache_limit, 0x7ffff7fc9000);
    assert_int_equal(cache_kib, 131072);
    assert_int_equal(header.cache_kib, 131072);
    setup(state);
    lines[5].start = 0x7ffff7000000; // the stack
    assert_int_equal(launch(), 1);
    assert_int_not_equal(cache_limit, 0x7ffff7fc9000);
    u64 probe = (u64)sys_mmap(cache_limit - 4096, 4096, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    assert_int_equal(probe, cache_limit - 4096); // free: the probe was unmapped
    sys_munmap(probe, 4096);
    setup(state);
    cache_max = 20000; // halved until it fits
    assert_int_equal(launch(), 1);
    assert_int_equal(cache_kib, 16384);
    assert_int_equal(header.cache_kib, 16384);
    // An eighth of either limit at most, but never less than 4 MiB: of 64 MiB, of 32, and of 8.
    for (u32 i = 0; i < 6; i++) {
        const u64 kib[] = { 8192, 4096, 4096 }, mib[] = { 64, 32, 8 };
        int which = i % 2 ? RLIMIT_AS : RLIMIT_DATA;
        struct k_rlimit limit, small;

        assert_int_equal(sys_prlimit(which, NULL, &limit), 0);
        small = (struct k_rlimit){ mib[i / 2] << 20, limit.max };
        setup(state);
        sys_prlimit(which, &small, NULL);
        int how = launch();
        sys_prlimit(which, &limit, NULL);
        assert_int_equal(how, 1);
        assert_int_equal(cache_kib, kib[i / 2]);
    }
    setup(state);
    header.cache_kib = 5000; // as asked for
    assert_int_equal(launch(), 1);
    assert_int_equal(cache_kib, 5000);
}

// A message on standard error, and the status of a program that cannot start; the first of the
// descriptors is the spool's.
static void test_refused(void **state)
{
    static const char said[] =
        "quern: the limit on memory (ulimit -d) or on address space (ulimit -v) is too low for the "
        "engine to start: raise it\n";
    static const struct {
        u64 argc;
        const char *fds, *then;
    } starts[] = { { 3, "1234,5,6", "forgotten: 1234\n" }, { 3, "x", "" }, { 1, NULL, "" } };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(starts); i++) {
        u64 sp[] = { starts[i].argc, (u64) "name", (u64)starts[i].fds };
        char text[256] = "", expected[256];
        int to[2], status = 0;

        assert_int_equal(pipe(to), 0);
        long child = fork();
        if (child == 0) {
            dup2(to[1], 2);
            launch_refused(sp);
        }
        close(to[1]);
        assert_int_equal(sys_call4(SYS_wait4, (u64)child, (u64)&status, 0, 0), child);
        assert_int_equal(status, 125 << 8);
        assert_true(read(to[0], text, sizeof(text) - 1) > 0);
        close(to[0]);
        snprintf(expected, sizeof(expected), "%s%s", said, starts[i].then);
        assert_string_equal(text, expected);
    }
}

// --native: the engine makes nothing of its own.
static void test_native(void **state)
{
    (void)state;
    header.flags = SPOOL_F_NATIVE;
    assert_int_equal(launch(), 2);
    assert_int_equal(native_sp, (u64)(stack + 2));
    assert_int_equal(native_pc, 0x401500);
    assert_string_equal(order, "Svfcmx-");
}

static void test_other_ways(void **state)
{
    (void)state;
    program.kind = ELF_SCRIPT;
    assert_int_equal(launch(), 3);
    setup(state);
    push_stack("./prog", "901,902,903"); // after an exec: the old spool is removed
    assert_int_equal(launch(), 1);
    assert_int_equal(strncmp(order, "So", 2), 0);
    // It is closed after it was removed.
    assert_int_equal(sys_call2(SYS_dup2, 0, 903), 903);
    setup(state);
    push_stack("./prog", "901,902,903");
    assert_int_equal(launch(), 1);
    assert_int_equal(sys_fcntl(903, F_GETFD, 0), -EBADF);
}

// The name of a file that no exec has opened: argv[0] if it has a slash, else the path where it was
// found.
static void test_execfn(void **state)
{
    static const char *const given[] = { "./mine", "prog", "/usr/mine" };
    static const char *const used[] = { "./mine", "/bin/true", "/usr/mine" };

    named_fd = -1;
    for (u32 i = 0; i < ARRAY_SIZE(given); i++) {
        setup(state);
        push_stack("name", "901");
        stack[3] = (u64)given[i];
        assert_int_equal(launch(), 1);
        assert_string_equal(named, used[i]);
        assert_string_equal((char *)aux(AT_EXECFN), used[i]);
    }
    named_fd = 902;
    setup(state);
    push_stack("./prog", "901,902");
    assert_int_equal(launch(), 1);
    assert_string_equal(named, "./prog");
}

// The name that ps shows: 15 characters of the file name.
static void test_name(void **state)
{
    char name[16];

    (void)state;
    assert_int_equal(launch(), 1);
    sys_call2(SYS_prctl, PR_GET_NAME, (u64)name);
    assert_string_equal(name, "prog");
    setup(state);
    push_stack("/dev/fd/7", "901,902"); // an exec by descriptor
    exe = "/somewhere/long-name-of-a-program";
    assert_int_equal(launch(), 1);
    sys_call2(SYS_prctl, PR_GET_NAME, (u64)name);
    assert_string_equal(name, "long-name-of-a-");
    setup(state);
    push_stack("/dev/fd/7", "901,902");
    exe = "/somewhere/gone (deleted)";
    assert_int_equal(launch(), 1);
    sys_call2(SYS_prctl, PR_GET_NAME, (u64)name);
    assert_string_equal(name, "gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stack, setup),
        cmocka_unit_test_setup(test_vector, setup),
        cmocka_unit_test_setup(test_options, setup),
        cmocka_unit_test_setup(test_cache, setup),
        cmocka_unit_test(test_refused),
        cmocka_unit_test_setup(test_native, setup),
        cmocka_unit_test_setup(test_other_ways, setup),
        cmocka_unit_test_setup(test_execfn, setup),
        cmocka_unit_test_setup(test_name, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
