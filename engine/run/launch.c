// SPDX-License-Identifier: MIT
// The start of the engine (launch.h): reads the spool, loads the client and its interpreter, and
// makes the state in which the kernel would have started it: stack, auxiliary vector, break, name,
// what /proc says. Runs once, single-threaded, on a stack of its own. With stack.c the only file
// that knows the initial stack.
//
// The initial stack stays where the kernel made it, except with --reproducible (stack.c). The
// engine's two arguments are two words, so the client's stack pointer is 16 bytes higher, still
// aligned, and everything from the client's argv[0] on is in its place already.
#include "engine/run/launch.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/limits.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/codecache/vmmapfile.h"
#include "engine/count/caches.h"
#include "engine/count/lineids.h"
#include "engine/count/reftrace.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objects.h"
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
#include "engine/run/stack.h"
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

#define CACHE_KIB       131072 // size of the code cache where --cache-size says nothing
#define CACHE_KIB_LEAST 4096

static u64 brk_emulated;
static u64 shown_frame; // AT_MINSIGSTKSZ with --cpu

static struct elf_file program, interpreter;

static bool pinned(void)
{
    return spool->flags & SPOOL_F_REPRODUCIBLE;
}

// ---- Refusal ----

static _Noreturn void refuse(const char *path, const char *why, int status)
{
    engine_msg("%s: cannot be executed: %s", path, why);
    spooler_drop();
    sys_exit_group(status);
}

static const char *error_text(long error)
{
    switch (-error) {
    case ENOENT: return "no such file";
    case EACCES: return "permission denied";
    case EISDIR: return "it is a folder";
    case ENOTDIR: return "a part of its path is not a folder";
    case ELOOP: return "too many symbolic links";
    case ENOMEM: return "not enough memory";
    case EMFILE:
    case ENFILE: return "too many open files";
    default: return "the system refuses to open it";
    }
}

static _Noreturn void refuse_error(const char *path, long error)
{
    refuse(path, error_text(error), error == -ENOENT ? LAUNCH_NOTFOUND : LAUNCH_CANNOT);
}

// ---- What the kernel gave us ----

// "N", "N,N", "N,N,N"; a missing number becomes -1.
static bool parse_fds(const char *text, int fd[3])
{
    for (int i = 0; i < 3; i++) {
        fd[i] = -1;
        if (!*text)
            continue;
        long n = 0;
        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9' && n < 0x8000000; text++)
            n = n * 10 + (*text - '0');
        if (*text && *text++ != ',')
            return false;
        fd[i] = (int)n;
    }
    return fd[0] >= 0 && !*text;
}

static void read_stack(struct start *s, u64 *sp)
{
    s->sp = sp + 2;
    s->argc = sp[0] - 2;
    s->argv = (char **)(s->sp + 1);
    s->envp = s->argv + s->argc + 1;
    char **end = s->envp;
    u64 hwcap2 = 0, frame_size = 0;

    while (*end)
        end++;
    s->auxv = (struct k_auxv *)(end + 1);
    for (const struct k_auxv *a = s->auxv; s->auxv_count++, a->type != AT_NULL; a++) {
        if (a->type == AT_HWCAP2)
            hwcap2 = a->value;
        if (a->type == AT_MINSIGSTKSZ)
            frame_size = a->value;
    }
    cpu_init(hwcap2, frame_size);
}

// The lowest addresses of the kernel's mappings: the vDSO with its data, and the stack.
struct kernel_parts {
    u64 vdso, stack;
};

static bool note_kernel_part(const struct vmmapfile_line *l, void *arg)
{
    struct kernel_parts *at = arg;

    if ((strncmp(l->path, "[vvar", 5) == 0 || strcmp(l->path, "[vdso]") == 0) &&
        l->start < at->vdso)
        at->vdso = l->start;
    if (strcmp(l->path, "[stack]") == 0)
        at->stack = l->start;
    return false;
}

// The highest address at which the code cache may end: right below the vDSO and its data, where the
// kernel puts libraries. With randomized addresses the vDSO may be above the stack; then the
// address where the kernel would put a mapping now.
static u64 cache_limit(void)
{
    struct kernel_parts at = { ~0ul, ~0ul };

    vmmapfile_walk(note_kernel_part, &at);
    if (at.vdso < at.stack)
        return at.vdso;

    long probe = sys_mmap(0, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(probe))
        engine_die("no space for the code cache: error %ld", -probe);
    sys_munmap((u64)probe, PAGE_SIZE);
    return (u64)probe + PAGE_SIZE;
}

// Whether this is more than an eighth of a limit on memory.
static bool is_much(int which, u64 bytes)
{
    struct k_rlimit limit;

    return sys_prlimit(which, NULL, &limit) == 0 && bytes > limit.cur / 8;
}

// Makes the code cache. Without --cache-size: an eighth of the limits on memory at most, less if
// that much is not free.
static void make_cache(void)
{
    u32 kib = spool->cache_kib ? spool->cache_kib : CACHE_KIB;
    u64 limit = pinned() ? PINNED_CACHE_END : cache_limit();
    int ret;

    if (!spool->cache_kib)
        while (kib > CACHE_KIB_LEAST &&
               (is_much(RLIMIT_AS, (u64)kib << 10) || is_much(RLIMIT_DATA, (u64)kib << 10)))
            kib /= 2;
    while ((ret = tcache_init(limit, kib, dispatch_calls)) == -ENOMEM && !spool->cache_kib &&
           kib > CACHE_KIB_LEAST)
        kib /= 2;
    if (ret)
        limits_die(spool->cache_kib ? "the code cache (a smaller --cache-size may do)"
                                    : "the code cache",
                   kib, ret);
    spool->cache_kib = kib;
}

// ---- Loading ----

static void note_mapping(u64 start, u64 end, u32 prot, bool anonymous)
{
    vmmap_add(start, end, prot, anonymous ? VMMAP_ANON : 0);
}

static void keep_file(int fd)
{
    struct k_stat st;

    if (modules_check(fd, &st))
        vmmap_hold(fd, &st);
}

static void load_program(const struct start *s, struct elf_image *image)
{
    const char *why;
    // RIP-relative operands of the program stay within reach of the code cache, and its break can
    // grow.
    u64 hint = (region_end() - (2ul << 30) + (64ul << 20)) & ~((2ul << 20) - 1);

    if (pinned())
        hint = PINNED_PROGRAM;
    long ret = elf_map(&program, hint, image, note_mapping, &why);

    if (ret)
        refuse(s->execfn, why, LAUNCH_CANNOT);
    keep_file(program.fd);
    sys_close(program.fd);
}

// Right below the code cache, where libraries will follow.
static void load_interpreter(const struct start *s, struct elf_image *image)
{
    char text[4400];
    const char *why;
    u64 top = pinned() ? PINNED_TOP : region_start();
    long fd = sys_open(program.interp, O_RDONLY | O_CLOEXEC, 0);

    if (fd < 0) {
        nolibc_format(text, sizeof(text), "its interpreter %s: %s", program.interp, error_text(fd));
        refuse(s->execfn, text, LAUNCH_CANNOT);
    }
    elf_examine(&interpreter, (int)fd);
    why = interpreter.kind == ELF_SCRIPT ? "it is a script" : interpreter.why;
    if (interpreter.kind == ELF_LOADABLE)
        elf_map(&interpreter, top - (interpreter.high - interpreter.low), image, note_mapping,
                &why);
    if (why) {
        nolibc_format(text, sizeof(text), "its interpreter %s: %s", program.interp, why);
        refuse(s->execfn, text, LAUNCH_CANNOT);
    }
    keep_file((int)fd);
    sys_close((int)fd);
}

// ---- The state that the kernel would have made ----

static void fix_auxv(struct start *s, const struct elf_image *image, const struct elf_image *interp)
{
    u64 kept = 0;

    for (u64 i = 0; i < s->auxv_count; i++) {
        struct k_auxv a = s->auxv[i];
        bool drop = false;
        switch (a.type) {
        case AT_PHDR: a.value = image->phdr; break;
        case AT_PHENT: a.value = sizeof(struct elf_phdr); break;
        case AT_PHNUM: a.value = program.phnum; break;
        case AT_BASE: a.value = interp ? interp->bias : 0; break;
        case AT_ENTRY: a.value = image->entry; break;
        case AT_EXECFN: a.value = (u64)s->execfn; break;
        case AT_HWCAP: a.value = spool->cpu.leaves ? spool->cpu.hwcap : a.value; break;
        case AT_HWCAP2: a.value = spool->cpu.leaves ? 0 : a.value; break;
        case AT_MINSIGSTKSZ: a.value = spool->cpu.leaves ? shown_frame : a.value; break;
        case AT_SYSINFO_EHDR: drop = spool->flags & SPOOL_F_NO_VDSO; break;
        // The engine does not support rseq(2): critical sections are ranges of client addresses.
        case AT_RSEQ_FEATURE_SIZE:
        case AT_RSEQ_ALIGN: drop = true; break;
        case AT_RANDOM:
            if (!(spool->flags & SPOOL_F_RANDOM))
                memcpy((void *)a.value, "Quern: no chance", 16);
            break;
        default: break;
        }
        if (!drop)
            s->auxv[kept++] = a;
    }
    s->auxv_count = kept;
}

// Sets what /proc/self/{cmdline,environ,auxv,stat} say, and where brk starts.
static void tell_kernel(const struct start *s, const struct elf_image *image)
{
    u64 brk = PAGE_UP(image->brk);
    struct k_mm_map map = {
        .start_code = image->start_code,
        .end_code = image->end_code,
        .start_data = image->start_data,
        .end_data = image->end_data,
        .start_brk = brk,
        .brk = brk,
        .start_stack = (u64)s->sp,
        .arg_start = s->arg_start,
        .arg_end = s->arg_end,
        .env_start = s->env_start,
        .env_end = s->env_end,
        .auxv = (u64)s->auxv,
        .auxv_size = (u32)(s->auxv_count * sizeof(*s->auxv)),
        .exe_fd = -1,
    };

    if (sys_call5(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, (u64)&map, sizeof(map), 0)) {
        brk_emulated = brk;
        if (spool->flags & SPOOL_F_VERBOSE)
            engine_msg("this kernel has no PR_SET_MM_MAP: brk is emulated, /proc/self/cmdline "
                       "begins with the engine");
    }
}

// Sets the name that ps shows. An exec by descriptor is named after the file, as in Linux 6.14;
// earlier kernels name it after the number.
static void set_name(const struct start *s)
{
    static const char gone[] = " (deleted)";
    const char *name = s->execfn;
    char short_name[16];
    u64 len;

    if (strncmp(name, "/dev/fd/", 8) == 0 && !strchr(name + 8, '/'))
        name = procnames_exe();
    name = nolibc_basename(name);
    len = strlen(name);
    if (name != nolibc_basename(s->execfn) && len > sizeof(gone) - 1 &&
        strcmp(name + len - (sizeof(gone) - 1), gone) == 0)
        len -= sizeof(gone) - 1;
    if (len > sizeof(short_name) - 1)
        len = sizeof(short_name) - 1;
    memcpy(short_name, name, len);
    short_name[len] = '\0';
    sys_call2(SYS_prctl, PR_SET_NAME, (u64)short_name);
}

static void make_stack_executable(const struct start *s)
{
    long ret = sys_mprotect(PAGE_DOWN((u64)s->sp), PAGE_SIZE,
                            PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN);

    if (ret)
        refuse(s->execfn, "it wants an executable stack, which this system does not give",
               LAUNCH_CANNOT);
}

// The kernel does not name this mapping [stack] before tell_kernel().
static void note_stack(u64 sp)
{
    struct vmmap_info m;

    if (vmmap_find(sp, &m))
        vmmap_add(m.start, m.end, m.prot, VMMAP_ANON | VMMAP_GROWS);
}

// ---- Objects of the data ----

static void note_module(const char *path, const struct elf_image *image)
{
    long fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);

    if (fd < 0)
        return;
    mappings_program((int)fd, path, image->low, image->high - image->low);
    sys_close((int)fd);
}

static bool note_vdso(const struct vmmapfile_line *l, void *arg)
{
    (void)arg;
    if (strncmp(l->path, "[vvar", 5) == 0 || strcmp(l->path, "[vdso]") == 0)
        mappings_vdso(l->start, l->end);
    return false;
}

// What is mapped before the program runs. The stack may grow as far as its limit allows; what is
// mapped there later is no stack.
static void note_objects(const struct start *s, const struct elf_image *image,
                         const struct elf_image *interp)
{
    u64 sp = (u64)s->sp, room = 8ul << 20;
    struct k_rlimit limit;
    struct vmmap_info m;

    if (!tb_config.data)
        return;
    if (sys_prlimit(RLIMIT_STACK, NULL, &limit) == 0 && limit.cur < 1ul << 40)
        room = PAGE_UP(limit.cur);
    if (vmmap_find(sp, &m))
        mappings_stack(m.end - room < sp ? m.end - room : m.start, sp, m.end);
    vmmapfile_walk(note_vdso, NULL);
    note_module(spooler_string(spool->s_program), image);
    if (interp)
        note_module(program.interp, interp);
}

// Whether everything is at the same addresses in every run.
static bool has_fixed_layout(void)
{
    return pinned() ||
           (!(spool->flags & SPOOL_F_ASLR) &&
            ((u64)sys_call1(SYS_personality, 0xffffffff) & ADDR_NO_RANDOMIZE));
}

// ---- The sequence ----

// Takes the spool over and finds the file to load. For a script its interpreter is loaded: with the
// arguments that the kernel would have put first, this is a new exec of the engine.
static void open_program(struct start *s, char *own_name, const char *own_fds, int *spool_fd)
{
    int fd[3];

    if (!parse_fds(own_fds, fd))
        engine_die("start programs with `quern run`, not with the engine");
    spooler_map(fd[0]);
    engine_log_fd = spool->log_fd;
    spool->pid = sys_getpid();
    *spool_fd = fd[0];
    engine_at_die = spooler_drop; // it contains nothing yet that could be recovered

    if (!cpu.lahf && !(spool->flags & SPOOL_F_NATIVE))
        refuse(s->argv[0], "this processor has no lahf in 64-bit mode (lahf_lm)", LAUNCH_CANNOT);

    // As execvp: a name with a slash is used unchanged, another one was found in PATH.
    s->execfn = fd[1] >= 0                ? own_name
                : strchr(s->argv[0], '/') ? s->argv[0]
                                          : heap_strdup(spooler_string(spool->s_program));
    if (fd[2] >= 0) {
        exec_remove_old(fd[2]);
        sys_close(fd[2]);
    }
    if (fd[1] < 0) {
        long got = sys_open(spooler_string(spool->s_program), O_RDONLY | O_CLOEXEC, 0);
        if (got < 0)
            refuse_error(s->execfn, got);
        fd[1] = (int)got;
    }
    elf_examine(&program, fd[1]);
    if (program.kind == ELF_SCRIPT) {
        const char *why = exec_script(fd[0], fd[1], s->execfn, s->argv, s->envp);
        refuse(s->execfn, why, LAUNCH_CANNOT);
    }
    if (program.kind != ELF_LOADABLE)
        refuse(s->execfn, program.why, LAUNCH_CANNOT);
    procnames_init(fd[1], s->execfn);
}

static _Noreturn void run_natively(const struct start *s, u64 entry)
{
    u64 mask = spool->start_mask;

    spooler_drop();
    sys_sigprocmask(SIG_SETMASK, &mask, NULL);
    sys_close(fds_spool());
    sys_close(engine_log_fd);
    launch_native((u64)s->sp, entry);
}

// Zero-initialized data is not mapped (launch.S): no static variable, no function that might use
// one.
#if defined(__has_attribute) && __has_attribute(no_sanitize_coverage)
__attribute__((no_sanitize_coverage))
#endif
void launch_refused(const u64 *sp)
{
    static const char why[] =
        "quern: the limit on memory (ulimit -d) or on address space (ulimit -v) is too low for the "
        "engine to start: raise it\n";
    const char *fds = sp[0] >= 3 ? (const char *)sp[2] : "";
    int fd = 0;

    sys_write(2, why, sizeof(why) - 1);
    while (*fds >= '0' && *fds <= '9' && fd < 100000000)
        fd = fd * 10 + *fds++ - '0';
    if (fd)
        spooler_forget(fd);
    sys_exit_group(ENGINE_DIE_STATUS);
}

void launch_main(u64 *sp)
{
    struct start s = { 0 };
    struct elf_image image, interp;
    int spool_fd;

    if (sp[0] < 3)
        engine_die("start programs with `quern run`, not with the engine");
    read_stack(&s, sp);
    open_program(&s, (char *)sp[1], (char *)sp[2], &spool_fd);
    if (spool->flags & SPOOL_F_NO_HINTS)
        pages_hints_off();
    fds_init(spool_fd, spool->log_fd);
    environ_save(s.envp);
    fds_keep_finisher(spooler_string(spool->s_quern));
    if (spool->flags & SPOOL_F_EXECED)
        log_own();
    *s.sp = s.argc; // replaces the engine's second argument: from here on the stack is the client's
    stack_ranges(&s);
    if (pinned())
        stack_pin(&s, spool->env_bytes ? spooler_string(spool->s_env) : NULL, spool->env_bytes);

    if (program.exec_stack)
        make_stack_executable(&s);
    vmmap_init();
    if ((u64)s.sp < PINNED_STACK_END && (u64)s.sp > PINNED_CACHE_END)
        note_stack((u64)s.sp);
    if (spool->cpu.leaves)
        shown_frame = cpu_show(spool->cpu.xcr0);
    config_init(TA_I1_SIZE, TA_D1_SIZE);
    make_cache();
    load_program(&s, &image);
    if (program.has_interp)
        load_interpreter(&s, &interp);
    u64 entry = program.has_interp ? interp.entry : image.entry;
    fix_auxv(&s, &image, program.has_interp ? &interp : NULL);
    tell_kernel(&s, &image);
    set_name(&s);
    if (spool->flags & SPOOL_F_NATIVE)
        run_natively(&s, entry);

    tracer_init();
    lineids_init();
    recordbuf_reserve();
    caches_init();
    reftrace_init();
    calls_init(); // before recordbuf_init(): routines depend on where it counts
    objects_init();
    recordbuf_init();
    translate_init();
    superblock_init();
    emulate_init();
    requests_init();
    counting_init();
    control_init();
    setup_process();
    dispatch_init();
    syscalls_init(brk_emulated, pinned() ? PINNED_TOP : 0);
    struct thread *t = threadstart_main();
    seccomp_take_over(t);
    pcache_init(identity_of(&program, &image), has_fixed_layout());
    t->regs[R_RSP] = (u64)s.sp;
    t->rflags = FLAGS_INITIAL;
    t->pc = entry;
    calls_thread_start(t);
    note_objects(&s, &image, program.has_interp ? &interp : NULL);
    spool->state = SPOOL_RUNNING;
    engine_at_die = spooler_say_held;
    dispatch_run(t);
}
