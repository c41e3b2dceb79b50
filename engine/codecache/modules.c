// SPDX-License-Identifier: MIT
// Keeping files (modules.h). A file is mapped as a whole where the engine lies, and nothing of it
// is touched: that takes an entry of the kernel's map, no memory and no descriptor, children have
// it, too, and the file lives as long as the mapping, whatever becomes of its name and of the
// client's own mapping. Only at the end, and only where the name leads elsewhere by then, is it
// read and written to the spool. What is written over in place is gone all the same: the finisher
// finds that its code is not what was executed.
//
// Not kept is what is no ELF file (code that a program generates into a file), what there is no
// room for, and anything while the client has a limit on its address space.
#include "engine/codecache/modules.h"

#include "engine/base/layout.h"
#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

// The client may have 65,530 mappings by the kernel's default.
#define FILES 1024u

_Static_assert(FILES * sizeof(struct spool_kept) <= SPOOL_KEPT_TABLE, "one for each, at least");

static struct file {
    u64 dev, ino; // as stat() says
    u64 map_dev;  // as the kernel's map says: another one on some file systems
    u64 start, size;
    u64 at; // in the spool; 0: not written
    struct modules_times times;
} file[FILES];
static u32 files;
static u64 next = MODULES_BASE;
static u64 in_spool; // where the next one is written
static u32 in_table;

static struct modules_times times_of(const struct k_stat *st)
{
    return (struct modules_times){ st->st_mtime_sec * 1000000000ul + st->st_mtime_nsec,
                                   st->st_ctime_sec * 1000000000ul + st->st_ctime_nsec };
}

static bool is_of(const struct k_stat *st, u64 ino)
{
    return st->st_ino == ino && (st->st_mode & S_IFMT) == S_IFREG;
}

static bool is_there(const char *path, u64 ino, struct k_stat *st)
{
    return sys_fstatat(AT_FDCWD, path, st, 0) == 0 && is_of(st, ino);
}

// In place; the kernel writes no other character in this way. False: there was none.
static bool put_newlines(char *path)
{
    char *to = path;
    bool any = false;

    for (const char *p = path; (*to = *p); to++, p++)
        if (strncmp(p, "\\012", 4) == 0) {
            *to = '\n';
            p += 3;
            any = true;
        }
    return any;
}

// Where the file's path leads to it, and where it only does so with newlines, the path has these.
static bool find(struct vmmapfile_line *l, struct k_stat *st)
{
    char other[4096];
    u64 n = strlen(l->path) + 1;

    if (is_there(l->path, l->ino, st))
        return true;
    if (n > sizeof(other))
        return false;
    memcpy(other, l->path, n);
    if (!put_newlines(other) || !is_there(other, l->ino, st))
        return false;
    memcpy(l->path, other, strlen(other) + 1);
    return true;
}

static const struct file *known(u64 dev, u64 ino)
{
    for (u32 i = files; i-- > 0;)
        if (file[i].dev == dev && file[i].ino == ino)
            return &file[i];
    return NULL;
}

static const struct file *of_map(u64 map_dev, u64 ino)
{
    for (u32 i = files; i-- > 0;)
        if (file[i].map_dev == map_dev && file[i].ino == ino)
            return &file[i];
    return NULL;
}

static bool may_map(void)
{
    struct k_rlimit limit;

    return files < FILES && sys_prlimit(RLIMIT_AS, NULL, &limit) == 0 && !~limit.cur;
}

static void map(int fd, const struct k_stat *st, const struct vmmapfile_line *l)
{
    u64 size = PAGE_UP((u64)st->st_size);
    u8 magic[4];

    if (st->st_size <= 0 || (u64)st->st_size > MODULES_SIZE ||
        size > MODULES_BASE + MODULES_SIZE - next ||
        sys_pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, "\177ELF", 4) != 0)
        return;
    long got =
        sys_mmap(next, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (sys_failed(got))
        return;
    if ((u64)got != next) { // a kernel before 4.17, and somebody lies there
        sys_munmap((u64)got, size);
        return;
    }
    file[files++] = (struct file){ .dev = st->st_dev,
                                   .ino = st->st_ino,
                                   .map_dev = l->dev,
                                   .start = next,
                                   .size = (u64)st->st_size,
                                   .times = times_of(st) };
    next += size;
}

static void keep(const char *name, const struct vmmapfile_line *l)
{
    struct k_stat st;
    int fd = fds_open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);

    if (fd < 0)
        return;
    if (sys_fstat(fd, &st) == 0 && is_of(&st, l->ino))
        map(fd, &st, l);
    sys_close(fd);
}

// The kernel has a name for every file that is mapped, for those whom it trusts with that.
static void keep_deleted(const struct vmmapfile_line *l)
{
    char name[80];

    mini_format(name, sizeof(name), "/proc/self/map_files/%lx-%lx", l->start, l->end);
    keep(name, l);
}

struct modules_times modules_keep(struct vmmapfile_line *l, bool deleted)
{
    const struct file *f;
    struct k_stat st;

    if (l->path[0] != '/')
        return (struct modules_times){ 0, 0 };
    if (deleted) {
        if (!of_map(l->dev, l->ino) && may_map())
            keep_deleted(l);
        f = of_map(l->dev, l->ino);
        return f ? f->times : (struct modules_times){ 0, 0 };
    }
    if (!find(l, &st))
        return (struct modules_times){ 0, 0 };
    if (!known(st.st_dev, st.st_ino) && may_map())
        keep(l->path, l);
    return times_of(&st);
}

// ---- At the end ----

static bool write_all(int fd, u64 from, u64 n, u64 to)
{
    for (u64 done = 0; done < n;) {
        long got = sys_pwrite(fd, (const void *)(from + done), n - done, to + done);

        if (got == -EINTR)
            continue;
        if (got <= 0) // a full disk; a file that was cut off since (-EFAULT)
            return false;
        done += (u64)got;
    }
    return true;
}

// The record number i of a mapping is of the file.
static void save(int fd, u32 i, struct file *f)
{
    struct spool_kept kept = { .size = f->size, .map = i };

    if (in_table == SPOOL_KEPT_TABLE / sizeof(kept))
        return;
    if (!f->at) {
        u64 at = in_spool ? in_spool : SPOOL_KEPT_OFF + SPOOL_KEPT_TABLE;

        if (!write_all(fd, f->start, f->size, at))
            return;
        f->at = at;
        in_spool = PAGE_UP(at + f->size);
    }
    kept.at = f->at;
    if (write_all(fd, (u64)&kept, sizeof(kept), SPOOL_KEPT_OFF + in_table * sizeof(kept)))
        in_table++;
}

void modules_save(int fd)
{
    u64 maps = __atomic_load_n(&spool->maps_used, __ATOMIC_ACQUIRE);

    if (in_table) // already
        return;
    for (u32 i = 0; i < maps; i++) {
        const struct spool_map *m = spooler_map_at(i);
        const struct file *f;
        struct k_stat st;

        if ((m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_VDSO)) || !m->ino || !m->path)
            continue;
        f = of_map(m->dev, m->ino);
        if (f && ((m->flags & SPOOL_MAP_DELETED) ||
                  !is_there(spooler_string(m->path), m->ino, &st) || st.st_dev != f->dev))
            save(fd, i, &file[f - file]);
    }
}
