// SPDX-License-Identifier: MIT
// Dying with a core: waitpid reports it when the limit allows one, and not otherwise; the core is
// the program's own: at the address of the fault, with its registers.
#define _GNU_SOURCE
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void limit_core(int on)
{
    struct rlimit limit;

    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = on ? limit.rlim_max : 0;
    setrlimit(RLIMIT_CORE, &limit);
}

// Loads from the address in rcx, with marks in other registers.
__attribute__((naked, noinline)) static void fault(void)
{
    __asm__("mov $0x1122334455667788, %rbx\n\t"
            "mov $0x10, %ecx\n\t"
            "mov (%rcx), %rax\n\t"
            "ret");
}

static void die_segv(void)
{
    fault();
}

static void die_abort(void)
{
    abort();
}

static void die_term(void)
{
    raise(SIGTERM);
}

static int end_of(void (*how)(void), int core)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        limit_core(core);
        how();
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    return WTERMSIG(status) + (WCOREDUMP(status) ? 1000 : 0);
}

// Are the first thread's registers in the core file those of fault()?
static void check_core(const char *name)
{
    struct stat st;
    int fd = open(name, O_RDONLY), found = 0;
    const char *p;
    const Elf64_Ehdr *eh;

    if (fd < 0 || fstat(fd, &st)) // this system may name cores differently
        return;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    eh = (const Elf64_Ehdr *)(const void *)p;
    for (int i = 0; i < eh->e_phnum && !found; i++) {
        const Elf64_Phdr *ph = (const Elf64_Phdr *)(const void *)(p + eh->e_phoff) + i;
        const Elf64_Nhdr *n = (const Elf64_Nhdr *)(const void *)(p + ph->p_offset);

        if (ph->p_type != PT_NOTE || n->n_type != NT_PRSTATUS)
            continue;
        struct elf_prstatus s;
        memcpy(&s, (const char *)(n + 1) + ((n->n_namesz + 3) & ~3u), sizeof(s));
        found = 1;
        const elf_greg_t *r =
            s.pr_reg; // in the order of struct user_regs_struct: 5 rbx, 11 rcx, 16 rip
        CHECK(r[5] == 0x1122334455667788 && r[11] == 0x10 && s.pr_info.si_signo == SIGSEGV);
        CHECK(r[16] > (unsigned long)fault && r[16] < (unsigned long)fault + 32);
    }
    CHECK(found);
    munmap((void *)(uintptr_t)p, (size_t)st.st_size);
    close(fd);
    unlink(name);
}

int main(void)
{
    char dir[] = "/tmp/quern-core.XXXXXX";
    struct rlimit limit;

    CHECK(mkdtemp(dir) && chdir(dir) == 0);
    CHECK(end_of(die_term, 1) == SIGTERM);
    getrlimit(RLIMIT_CORE, &limit);
    SAY("%d %d", end_of(die_segv, 0), end_of(die_abort, 0));
    SAY("%d", end_of(die_segv, 1));
    if (limit.rlim_max == RLIM_INFINITY)
        check_core("core");
    SAY("%d", end_of(die_abort, 1));
    unlink("core");
    CHECK(chdir("/") == 0);
    CHECK(rmdir(dir) == 0 || errno == ENOTEMPTY); // core.PID
    return check_failed;
}
