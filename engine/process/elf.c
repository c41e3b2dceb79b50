// SPDX-License-Identifier: MIT
// Reads and maps ELF executables (elf.h). Headers are read into a private buffer, never mapped: a
// truncated file gives a message, not a fault. The checks are the kernel's, in its order where the
// order is visible; where the kernel would kill the new process, we refuse.
#include "engine/process/elf.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define PT_LOAD      1
#define PT_INTERP    3
#define PT_GNU_STACK 0x6474e551
#define PF_X         1
#define PF_W         2
#define PF_R         4
#define ET_EXEC      2
#define ET_DYN       3
#define EM_X86_64    62
#define TASK_SIZE    0x7ffffffff000ul

struct elf_header {
    u8 ident[16];
    u16 type, machine;
    u32 version;
    u64 entry, phoff, shoff;
    u32 flags;
    u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

_Static_assert(sizeof(struct elf_header) == 64, "as in the file");
_Static_assert(sizeof(struct elf_phdr) == 56, "as in the file");

// Reads exactly n bytes; false when the file is shorter.
static bool read_exact(int fd, void *buf, u64 n, u64 off)
{
    for (u64 done = 0; done < n;) {
        long got = sys_pread(fd, (u8 *)buf + done, n - done, off + done);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (u64)got;
    }
    return true;
}

static enum elf_kind broken(struct elf_file *f, const char *why)
{
    f->why = why;
    return ELF_BROKEN;
}

static enum elf_kind examine_segments(struct elf_file *f)
{
    u64 low = ~0ul, high = 0;

    f->align = PAGE_SIZE;
    for (u32 i = 0; i < f->phnum; i++) {
        const struct elf_phdr *p = &f->phdr[i];
        if (p->type == PT_GNU_STACK)
            f->exec_stack = p->flags & PF_X;
        if (p->type == PT_INTERP && !f->has_interp) {
            if (p->filesz < 2 || p->filesz > sizeof(f->interp))
                return broken(f, "the name of its interpreter has an invalid length");
            if (!read_exact(f->fd, f->interp, p->filesz, p->offset))
                return broken(f, "it is truncated: the name of its interpreter is missing");
            if (f->interp[p->filesz - 1])
                return broken(f, "the name of its interpreter is not terminated");
            f->has_interp = true;
        }
        if (p->type != PT_LOAD)
            continue;
        if (p->filesz > p->memsz)
            return broken(f, "a segment is larger in the file than in memory");
        if (p->vaddr >= TASK_SIZE || p->memsz > TASK_SIZE || p->vaddr > TASK_SIZE - p->memsz)
            return broken(f, "a segment is outside the address space");
        if (p->filesz && (p->vaddr - p->offset) % PAGE_SIZE)
            return broken(f, "a segment is not aligned to pages");
        if (p->offset + p->filesz < p->offset)
            return broken(f, "a segment is outside the file");
        if (!p->memsz)
            continue;
        if (PAGE_DOWN(p->vaddr) < low)
            low = PAGE_DOWN(p->vaddr);
        if (PAGE_UP(p->vaddr + p->memsz) > high)
            high = PAGE_UP(p->vaddr + p->memsz);
        if (p->align > f->align && (p->align & (p->align - 1)) == 0)
            f->align = p->align;
    }
    if (low >= high)
        return broken(f, "it has no loadable segment");
    f->low = low;
    f->high = high;
    return ELF_LOADABLE;
}

static enum elf_kind examine(struct elf_file *f)
{
    struct elf_header h;
    struct k_stat st;

    // As in the kernel: missing bytes at the start of the file are zero.
    for (u64 done = 0; done < sizeof(f->head);) {
        long got = sys_pread(f->fd, f->head + done, sizeof(f->head) - done, done);
        if (got == -EINTR)
            continue;
        if (got < 0) {
            f->why = "it cannot be read";
            return ELF_OTHER;
        }
        if (got == 0)
            break;
        done += (u64)got;
    }
    if (f->head[0] == '#' && f->head[1] == '!')
        return ELF_SCRIPT;
    memcpy(&h, f->head, sizeof(h));
    if (memcmp(h.ident, "\177ELF", 4)) {
        f->why = "it is neither an ELF executable nor a script with a #! line";
        return ELF_OTHER;
    }
    if (h.ident[4] != 2) {
        f->why = h.machine == EM_X86_64
                     ? "it uses the x32 ABI; only 64-bit programs can be profiled"
                     : "it is a 32-bit program; only 64-bit programs can be profiled";
        return ELF_FOREIGN;
    }
    if (h.machine != EM_X86_64) {
        f->why = "it is for another processor";
        return ELF_FOREIGN;
    }
    if (h.type != ET_EXEC && h.type != ET_DYN)
        return broken(f, "it is an ELF file, but not an executable");
    if (h.phentsize != sizeof(struct elf_phdr))
        return broken(f, "its program headers have an invalid size");
    if (h.phnum < 1 || h.phnum > ELF_PHDRS_MAX)
        return broken(f, "it has no program headers, or too many");
    if (!read_exact(f->fd, f->phdr, h.phnum * sizeof(struct elf_phdr), h.phoff))
        return broken(f, "it is truncated: the program headers are missing");
    f->entry = h.entry;
    f->phoff = h.phoff;
    f->phnum = h.phnum;
    f->dynamic = h.type == ET_DYN;

    enum elf_kind kind = examine_segments(f);
    if (kind != ELF_LOADABLE)
        return kind;
    // A segment beyond the end of the file would be mapped, and its first access a bus error.
    if (sys_fstat(f->fd, &st) == 0)
        for (u32 i = 0; i < f->phnum; i++)
            if (f->phdr[i].type == PT_LOAD && f->phdr[i].filesz &&
                f->phdr[i].offset + f->phdr[i].filesz > (u64)st.st_size)
                return broken(f, "it is truncated: a segment extends past the end of the file");
    return ELF_LOADABLE;
}

void elf_examine(struct elf_file *f, int fd)
{
    memset(f, 0, offsetof(struct elf_file, phdr));
    f->fd = fd;
    f->kind = examine(f);
}

// ---- Mapping ----

static int segment_prot(const struct elf_phdr *p)
{
    return (p->flags & PF_R ? PROT_READ : 0) | (p->flags & PF_W ? PROT_WRITE : 0) |
           (p->flags & PF_X ? PROT_EXEC : 0);
}

// Finds address space for a dynamic file. Returns the address of f->low, or -errno.
static long find_space(const struct elf_file *f, u64 hint)
{
    u64 size = f->high - f->low, want = hint & ~(f->align - 1);
    long got = sys_mmap(want, size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    // A kernel before 4.17 takes the address as a hint: any address that it returns is good.
    if (sys_failed(got)) {
        got = sys_mmap(0, size + f->align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (sys_failed(got))
            return got;
        sys_munmap((u64)got, size + f->align);
        return (long)(((u64)got + f->align - 1) & ~(f->align - 1));
    }
    sys_munmap((u64)got, size);
    return got;
}

static long map_segment(const struct elf_file *f, const struct elf_phdr *p, u64 bias, int fixed,
                        elf_note *note)
{
    u64 start = bias + PAGE_DOWN(p->vaddr);
    u64 file_end = bias + p->vaddr + p->filesz, end = bias + p->vaddr + p->memsz;
    u64 anon = start; // where anonymous memory begins
    int prot = segment_prot(p);
    long got;

    if (p->filesz) {
        anon = PAGE_UP(file_end);
        got = sys_mmap(start, anon - start, prot, MAP_PRIVATE | fixed, f->fd, PAGE_DOWN(p->offset));
        if (sys_failed(got))
            return got;
        if ((u64)got != start) {
            sys_munmap((u64)got, anon - start);
            return -EEXIST;
        }
        note(start, anon, (u32)prot, false);
        // Clear the rest of the last page if it is writable; the kernel does not clear a read-only
        // one either.
        if (p->memsz > p->filesz && (prot & PROT_WRITE))
            memset((void *)file_end, 0, anon - file_end);
    }
    if (PAGE_UP(end) > anon) {
        // The kernel makes bss pages writable whatever the segment's flags are.
        prot = PROT_READ | PROT_WRITE | (prot & PROT_EXEC);
        got = sys_mmap(anon, PAGE_UP(end) - anon, prot, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
        if (sys_failed(got))
            return got;
        if ((u64)got != anon) {
            sys_munmap((u64)got, PAGE_UP(end) - anon);
            return -EEXIST;
        }
        note(anon, PAGE_UP(end), (u32)prot, true);
    }
    return 0;
}

long elf_map(const struct elf_file *f, u64 hint, struct elf_image *image, elf_note *note,
             const char **why)
{
    u64 bias = 0;
    long ret;

    *why = NULL;
    if (f->dynamic) {
        long space = find_space(f, hint);
        if (sys_failed(space)) {
            *why = "the address space has no free range of its size";
            return space;
        }
        bias = (u64)space - f->low;
    } else {
        // The address range must be free. Segments of one file may share pages, so the range is
        // reserved as a whole.
        long got =
            sys_mmap(f->low, f->high - f->low, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (sys_failed(got) || (u64)got != f->low) {
            *why = got == -EPERM
                       ? "it is linked for addresses that the system forbids (vm.mmap_min_addr)"
                       : "the addresses that it is linked for are already mapped";
            return sys_failed(got) ? got : -EEXIST;
        }
        sys_munmap(f->low, f->high - f->low);
    }

    *image = (struct elf_image){ .bias = bias,
                                 .entry = f->entry + bias,
                                 .low = f->low + bias,
                                 .high = f->high + bias,
                                 .start_code = ~0ul };
    for (u32 i = 0; i < f->phnum; i++) {
        const struct elf_phdr *p = &f->phdr[i];
        if (p->type != PT_LOAD || !p->memsz)
            continue;
        ret = map_segment(f, p, bias, MAP_FIXED, note);
        if (ret) {
            *why = ret == -ENOMEM ? "there is not enough memory to load it" : "it cannot be mapped";
            return ret;
        }
        u64 start = bias + p->vaddr, file_end = start + p->filesz;
        if (f->phoff >= p->offset && f->phoff < p->offset + p->filesz && !image->phdr)
            image->phdr = start + f->phoff - p->offset;
        if ((p->flags & PF_X) && start < image->start_code)
            image->start_code = start;
        if ((p->flags & PF_X) && file_end > image->end_code)
            image->end_code = file_end;
        if (start > image->start_data)
            image->start_data = start;
        if (file_end > image->end_data)
            image->end_data = file_end;
        if (start + p->memsz > image->brk)
            image->brk = start + p->memsz;
    }
    if (image->start_code == ~0ul)
        image->start_code = image->end_code = image->low;
    return 0;
}

// ---- Scripts ----

// fs/binfmt_script.c: the line ends at the newline, or where the buffer or the file ends. Without a
// newline the name of the interpreter must at least end inside the buffer. What follows the name is
// one argument, without the blanks around it.
bool elf_script_parse(const struct elf_file *f, struct elf_script *s)
{
    const char *buf = (const char *)f->head;
    u64 max = sizeof(f->head), at = 2, end = 2;

    while (end < max && buf[end] != '\n' && buf[end])
        end++;
    while (at < end && (buf[at] == ' ' || buf[at] == '\t'))
        at++;
    if (end == max) {
        u64 stop = at;
        while (stop < max && buf[stop] != ' ' && buf[stop] != '\t')
            stop++;
        if (stop == max)
            return false;
    }
    while (end > at && (buf[end - 1] == ' ' || buf[end - 1] == '\t'))
        end--;
    if (at == end)
        return false;

    u64 stop = at;
    while (stop < end && buf[stop] != ' ' && buf[stop] != '\t')
        stop++;
    memcpy(s->interp, buf + at, stop - at);
    s->interp[stop - at] = '\0';
    while (stop < end && (buf[stop] == ' ' || buf[stop] == '\t'))
        stop++;
    s->has_argument = stop < end;
    memcpy(s->argument, buf + stop, end - stop);
    s->argument[end - stop] = '\0';
    return true;
}
