// SPDX-License-Identifier: MIT
// Holding files (modules.h). A file is mapped as a whole in the engine's address range, and no page
// of it is touched. This takes an entry of the kernel's map, no memory and no descriptor; children
// inherit it. The file lives as long as the mapping, whatever happens to its name and to the
// client's own mapping. Only at the end, and only if the name leads elsewhere by then, the file is
// read and written to the spool. A file that is overwritten in place is lost all the same: the
// finisher finds that its code is not what was executed.
//
// A file is held when the client maps it executable: when its first block is translated, its name
// may be gone, and no other path leads to it. Files are looked up and opened without the lock of
// the map: a file system may need long to answer, or another thread of the client to do so. If
// space is short, files without a translated block are dropped, the oldest first: a program that
// maps thousands of files and executes a few keeps those few.
//
// Not held: files that are not ELF (code that a program generates into a file), files without
// space, and any file while the client has a limit on its address space.
#include "engine/codecache/modules.h"

#include "engine/base/layout.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

// The client may have 65,530 mappings by the kernel's default.
#define FILES 1024u

_Static_assert(FILES * sizeof(struct spool_held) <= SPOOL_HELD_TABLE, "one for each, at least");

#define LISTS 256u // by inode number

static struct file {
    u64 dev, ino; // from stat()
    u64 map_dev;  // if executed: from the kernel's map, which differs on some file systems
    u64 start, size;
    u64 at; // in the spool; 0: not written
    u64 turn;
    struct modules_times times;
    u32 mode;
    u32 next; // in its list, plus one
    bool used, executed;
} file[FILES];
static u32 list[LISTS];  // the first one, plus one
static u32 place[FILES]; // those that are used, by address
static u32 places;
static u64 turns;
static u64 in_spool; // offset of the next one
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

static bool is_newline(const char *p)
{
    return strncmp(p, "\\012", 4) == 0;
}

static bool has_newline(const char *path)
{
    while (*path && !is_newline(path))
        path++;
    return *path != '\0';
}

// Decodes newlines in place; the kernel escapes no other character. False: there was none.
static bool put_newlines(char *path)
{
    char *to = path;
    bool any = false;

    for (const char *p = path; (*to = *p); to++, p++)
        if (is_newline(p)) {
            *to = '\n';
            p += 3;
            any = true;
        }
    return any;
}

// Whether the path leads to the file; decodes newlines if it does so only with these.
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

static u32 *list_of(u64 ino)
{
    return &list[ino % LISTS];
}

static struct file *next_of(const u32 *n)
{
    return *n ? &file[*n - 1] : NULL;
}

static struct file *known(u64 dev, u64 ino)
{
    struct file *f = next_of(list_of(ino));

    while (f && (f->dev != dev || f->ino != ino))
        f = next_of(&f->next);
    return f;
}

// Among the files whose code has been executed.
static struct file *of_map(u64 map_dev, u64 ino)
{
    struct file *f = next_of(list_of(ino));

    while (f && (!f->executed || f->map_dev != map_dev || f->ino != ino))
        f = next_of(&f->next);
    return f;
}

static struct file *executed(struct file *f, const struct vmmapfile_line *l)
{
    if (f) {
        f->map_dev = l->dev;
        f->executed = true;
    }
    return f;
}

// Whether f is the line's file: device and inode are the same in the kernel's map.
static bool is_same(const struct file *f, struct vmmapfile_line *l)
{
    struct vmmapfile_line own;
    char path[VMMAPFILE_PATH]; // vmmapfile_at() overwrites the buffer that l->path is in
    u64 n = strlen(l->path) + 1;
    bool is;

    memcpy(path, l->path, n);
    is = vmmapfile_at(f->start, &own) && own.dev == l->dev && own.ino == l->ino;
    memcpy(l->path, path, n);
    return is;
}

// A file that was held before any of its code was executed.
static struct file *find_mapped(struct vmmapfile_line *l)
{
    struct file *f = next_of(list_of(l->ino));

    while (f && (f->executed || f->ino != l->ino || !is_same(f, l)))
        f = next_of(&f->next);
    return executed(f, l);
}

static bool may_map(void)
{
    struct k_rlimit limit;

    return sys_prlimit(RLIMIT_AS, NULL, &limit) == 0 && !~limit.cur;
}

// ---- Address space ----

// The lowest gap of so many bytes, and its index in place[]; 0: there is none.
static u64 find_gap(u64 size, u32 *k)
{
    u64 from = MODULES_BASE;

    for (*k = 0; *k < places; ++*k) {
        const struct file *f = &file[place[*k]];

        if (f->start - from >= size)
            return from;
        from = PAGE_UP(f->start + f->size);
    }
    return MODULES_BASE + MODULES_SIZE - from >= size ? from : 0;
}

static struct file *unused(void)
{
    for (u32 i = 0; i < FILES; i++)
        if (!file[i].used)
            return &file[i];
    return NULL;
}

static void drop(struct file *f)
{
    u32 *n = list_of(f->ino), k = 0;

    while (next_of(n) != f)
        n = &next_of(n)->next;
    *n = f->next;
    while (place[k] != (u32)(f - file))
        k++;
    places--;
    memmove(&place[k], &place[k + 1], (places - k) * sizeof(place[0]));
    sys_munmap(f->start, PAGE_UP(f->size));
    *f = (struct file){ .used = false };
}

// The oldest file without executed code. False: there is none.
static bool drop_oldest(void)
{
    struct file *oldest = NULL;

    for (u32 i = 0; i < places; i++) {
        struct file *f = &file[place[i]];

        if (!f->executed && (!oldest || f->turn < oldest->turn))
            oldest = f;
    }
    if (oldest)
        drop(oldest);
    return oldest != NULL;
}

static void add(struct file *f, struct file what, u32 k)
{
    u32 *n = list_of(what.ino);

    *f = what;
    f->used = true;
    f->turn = turns++;
    f->next = *n;
    *n = (u32)(f - file) + 1;
    memmove(&place[k + 1], &place[k], (places - k) * sizeof(place[0]));
    place[k] = (u32)(f - file);
    places++;
}

// ---- Holding ----

static struct modules_found found_of(int fd, const struct k_stat *st)
{
    return (struct modules_found){ .fd = fd,
                                   .mode = st->st_mode,
                                   .dev = st->st_dev,
                                   .ino = st->st_ino,
                                   .size = (u64)st->st_size,
                                   .held = times_of(st) };
}

static struct file *map(const struct modules_found *what)
{
    u64 size = PAGE_UP(what->size), at;
    struct file *f;
    u32 k;

    while (!(f = unused()) || !(at = find_gap(size, &k)))
        if (!drop_oldest())
            return NULL;
    long got = sys_mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                        what->fd, 0);
    if (sys_failed(got))
        return NULL;
    if ((u64)got != at) { // a kernel before 4.17, and the address is taken
        sys_munmap((u64)got, size);
        return NULL;
    }
    add(f,
        (struct file){ .dev = what->dev,
                       .ino = what->ino,
                       .start = at,
                       .size = what->size,
                       .mode = what->mode,
                       .times = what->held },
        k);
    return f;
}

bool modules_check(int fd, struct k_stat *st)
{
    u8 magic[4];

    return sys_fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == S_IFREG && st->st_size > 0 &&
           (u64)st->st_size <= MODULES_SIZE &&
           sys_pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
           memcmp(magic, "\177ELF", 4) == 0;
}

void modules_hold_mapped(int fd, const struct k_stat *st)
{
    struct modules_found what = found_of(fd, st);

    if (!known(st->st_dev, st->st_ino) && may_map())
        map(&what);
}

static void look_at(const char *name, u64 ino, struct modules_found *out)
{
    struct k_stat st;
    int fd = may_map() ? fds_open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) : -1;

    if (fd >= 0 && modules_check(fd, &st) && st.st_ino == ino)
        *out = found_of(fd, &st);
    else if (fd >= 0)
        sys_close(fd);
}

void modules_look(struct vmmapfile_line *l, bool deleted, struct modules_found *out)
{
    struct k_stat st;
    char name[80];

    *out = (struct modules_found){ .fd = -1 };
    if (l->path[0] != '/')
        return;
    if (deleted) {
        // The kernel names every mapped file in map_files, for processes with sufficient rights.
        nolibc_format(name, sizeof(name), "/proc/self/map_files/%lx-%lx", l->start, l->end);
        look_at(name, l->ino, out);
    } else if (find(l, &st)) {
        look_at(l->path, l->ino, out);
        out->times = times_of(&st);
    }
}

void modules_looked(struct modules_found *found)
{
    if (found->fd >= 0)
        sys_close(found->fd);
    found->fd = -1;
}

static struct file *held_of(struct vmmapfile_line *l)
{
    struct file *f = of_map(l->dev, l->ino);

    return f ? f : find_mapped(l);
}

bool modules_known(struct vmmapfile_line *l)
{
    return l->path[0] == '/' && !has_newline(l->path) && held_of(l);
}

struct modules_times modules_hold(struct vmmapfile_line *l, const struct modules_found *found)
{
    struct file *f = NULL;

    if (l->path[0] == '/')
        f = found ? of_map(l->dev, l->ino) : held_of(l);
    if (!f && found && found->fd >= 0) {
        f = known(found->dev, found->ino);
        f = executed(f ? f : map(found), l);
    }
    if (found && found->times.mtime)
        return found->times;
    return f ? f->times : (struct modules_times){ 0, 0 };
}

void modules_drop_private(void)
{
    for (u32 i = 0; i < FILES; i++)
        if (file[i].used && !(file[i].mode & S_IROTH))
            drop(&file[i]);
}

// ---- At the end ----

static bool write_all(int fd, u64 from, u64 n, u64 to)
{
    for (u64 done = 0; done < n;) {
        long got = sys_pwrite(fd, (const void *)(from + done), n - done, to + done);

        if (got == -EINTR)
            continue;
        if (got <= 0) // a full disk; a file that was truncated since (-EFAULT)
            return false;
        done += (u64)got;
    }
    return true;
}

// f is the file of map record i.
static void save(int fd, u32 i, struct file *f)
{
    struct spool_held kept = { .size = f->size, .map = i };

    if (in_table == SPOOL_HELD_TABLE / sizeof(kept))
        return;
    if (!f->at) {
        u64 at = in_spool ? in_spool : SPOOL_HELD_OFF + SPOOL_HELD_TABLE;

        if (!write_all(fd, f->start, f->size, at))
            return;
        f->at = at;
        in_spool = PAGE_UP(at + f->size);
    }
    kept.at = f->at;
    if (write_all(fd, (u64)&kept, sizeof(kept), SPOOL_HELD_OFF + in_table * sizeof(kept)))
        in_table++;
}

void modules_save(int fd)
{
    u64 maps = __atomic_load_n(&spool->maps_used, __ATOMIC_ACQUIRE);

    if (in_table) // done already
        return;
    for (u32 i = 0; i < maps; i++) {
        const struct spool_map *m = spooler_map_at(i);
        struct file *f;
        struct k_stat st;

        if ((m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_VDSO)) || !m->ino || !m->path)
            continue;
        f = of_map(m->dev, m->ino);
        if (f && ((m->flags & SPOOL_MAP_DELETED) ||
                  !is_there(spooler_string(m->path), m->ino, &st) || st.st_dev != f->dev))
            save(fd, i, f);
    }
}
