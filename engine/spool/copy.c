// SPDX-License-Identifier: MIT
// Copies of the spool (copy.h): with the counts so far for a forked child, without them for an
// executed program. Written, not mapped: a copy is sparse like its original, and empty pages are
// left out.
#include "engine/spool/copy.h"

#include "engine/base/clientmem.h"
#include "engine/base/limits.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/log.h"
#include "engine/spool/spooler_priv.h"

#define NAMES_MAX 1000

// The i-th possible name of a process's spool.
static void name_file(char *path, u64 size, s32 pid, int i)
{
    const char *dir = spooler_string(spool->s_spool_dir);

    if (i)
        nolibc_format(path, size, "%s/quern.spool.%d.%d", dir, pid, i);
    else
        nolibc_format(path, size, "%s/quern.spool.%d", dir, pid);
}

// A new file in the folder for spools, its path in path. `quern run` uses the same names, by which
// `quern recover` finds all spools. Returns the descriptor, close-on-exec, or -errno.
static int new_file(s32 pid, char *path, u64 size)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        name_file(path, size, pid, i);
        long fd = fds_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd != -EEXIST)
            return (int)fd;
    }
    return -EEXIST;
}

// Writes the memory at addr to the same offset of another file, without empty pages. 0 or -errno.
static long copy_out(int fd, const void *addr, u64 bytes, u64 offset)
{
    const u8 *from = addr;

    for (u64 done = 0; done < bytes;) {
        u64 run = 0;
        // Consecutive pages that are not empty, in one call.
        while (done + run < bytes) {
            const u64 *word = (const u64 *)(const void *)(from + done + run);
            u64 n = bytes - done - run < PAGE_SIZE ? bytes - done - run : PAGE_SIZE, i = 0;
            while (i < n / 8 && !word[i])
                i++;
            if (i == n / 8 && n % 8 == 0)
                break;
            run += n;
        }
        for (u64 part = 0; part < run;) {
            long n = sys_pwrite(fd, from + done + part, run - part, offset + done + part);
            if (n == -EINTR)
                continue;
            if (n <= 0)
                return n ? n : -EIO;
            part += (u64)n;
        }
        done += run;
        if (done < bytes)
            done += PAGE_SIZE;
    }
    return 0;
}

// Opens a file for a spool of this process and makes it large enough. On -errno the file is
// removed.
static int open_copy(s32 pid, char *path, u64 path_size, u64 *size, u64 want)
{
    int fd = new_file(pid, path, path_size);

    *size = 0;
    if (fd < 0)
        return fd;
    long ret = spooler_grow_file(fd, size, want);
    if (ret) {
        sys_close(fd);
        sys_unlink(path);
        return (int)ret;
    }
    return fd;
}

// With --children=merge a child starts with no counts. With --calls=yes it copies the counters,
// which hold its open calls, and zeroes the counts.
static bool copies_counters(const struct spool_header *h)
{
    return !(h->flags & SPOOL_F_MERGE) || (h->flags & SPOOL_F_CALLS);
}

// The next slot that may have open calls. The last one is for saved call stacks (spool_saved).
static u32 stack_next(u32 slot, u64 threads_used)
{
    return slot + 1 < threads_used || slot == SPOOL_THREADS_MAX ? slot + 1 : SPOOL_THREADS_MAX;
}

// With --data=yes: the objects and their counts, which a child goes on with.
static long copy_data(int fd, const struct spool_data *d)
{
    long ret = 0;

    if (!d->callers)
        return 0;
    ret = copy_out(fd, (void *)DATA_BASE, d->objects_used * sizeof(struct spool_data_object),
                   SPOOL_DATA_OFF);
    if (!ret)
        ret = copy_out(fd, (void *)(DATA_BASE + SPOOL_DATA_COUNTS_OFF),
                       d->counts_used * sizeof(struct spool_data_count),
                       SPOOL_DATA_OFF + SPOOL_DATA_COUNTS_OFF);
    if (!ret)
        ret = copy_out(fd, (void *)(DATA_BASE + SPOOL_DATA_NAMES_OFF), d->names_used,
                       SPOOL_DATA_OFF + SPOOL_DATA_NAMES_OFF);
    if (!ret)
        ret = copy_out(fd, (void *)(DATA_BASE + SPOOL_DATA_FLOWS_OFF),
                       d->flows_used * sizeof(struct spool_data_flow),
                       SPOOL_DATA_OFF + SPOOL_DATA_FLOWS_OFF);
    if (!ret)
        ret = copy_out(fd, (void *)(DATA_BASE + SPOOL_DATA_CELLS_OFF),
                       d->cells_used * sizeof(struct spool_data_cell),
                       SPOOL_DATA_OFF + SPOOL_DATA_CELLS_OFF);
    if (!ret)
        ret = copy_out(fd, (void *)(DATA_BASE + SPOOL_DATA_SHARES_OFF),
                       d->shares_used * sizeof(struct spool_data_share),
                       SPOOL_DATA_OFF + SPOOL_DATA_SHARES_OFF);
    return ret;
}

// Everything but the header.
static long copy_contents(int fd, const struct spool_header *h)
{
    long ret = copy_out(fd, spooler_at(SPOOL_TEXT_OFF), h->text_used, SPOOL_TEXT_OFF);

    if (!ret)
        ret = copy_out(fd, spooler_at(SPOOL_MAPS_OFF), h->maps_used * sizeof(struct spool_map),
                       SPOOL_MAPS_OFF);
    if (!ret)
        ret = copy_out(fd, spooler_at(SPOOL_PARTIAL_OFF),
                       h->partial_used * sizeof(struct spool_partial), SPOOL_PARTIAL_OFF);
    if (!ret)
        ret = copy_out(fd, spooler_at(SPOOL_BLOCKS_OFF), h->blocks_used, SPOOL_BLOCKS_OFF);
    for (u32 slot = 0; slot < h->threads_used && !ret && copies_counters(h); slot++)
        if (spooler_slot_in_use(slot))
            ret =
                copy_out(fd, slotmem_counters(slot), h->counters_used * 8, spool_counters_at(slot));
    if (!ret)
        ret = copy_out(fd, spooler_at(SPOOL_EDGES_OFF), h->edges_used * sizeof(struct spool_edge),
                       SPOOL_EDGES_OFF);
    for (u32 slot = 0; slot <= SPOOL_THREADS_MAX && !ret; slot = stack_next(slot, h->threads_used))
        ret = copy_out(fd, (void *)slotmem_calls(slot), spooler_stack_mapped[slot],
                       spooler_stack_offset(slot));
    return ret ? ret : copy_data(fd, &h->data);
}

// The wait is bounded: a child may be killed before it has copied.
static void wait_for_child(u32 before)
{
    struct k_timespec step = { 0, 20 * 1000 * 1000 };

    if (spooler_lost) // the child does not share this memory
        return;
    for (u32 i = 0; i < 150 && __atomic_load_n(&spool->fork_copied, __ATOMIC_ACQUIRE) == before;
         i++)
        sys_futex(&spool->fork_copied, FUTEX_WAIT, before, &step);
}

// --children=merge: the counts so far are in the parent's spool, and must be counted once.
static void take_header(struct spool_header *h)
{
    *h = *spool;
    if (h->flags & SPOOL_F_MERGE)
        h->partial_used = 0;
}

void copy_fork_before(struct copy_fork *c, bool shares_fds)
{
    c->fd = -1;
    c->before = __atomic_load_n(&spool->fork_copied, __ATOMIC_ACQUIRE);
    if (shares_fds || (spool->flags & SPOOL_F_LATE_COPY) || spooler_lost)
        return;
    take_header(&c->h);
    c->fd = open_copy(sys_getpid(), c->path, sizeof(c->path), &c->size, spooler_file_size);
    if (c->fd < 0 || copy_contents(c->fd, &c->h) == 0)
        return;
    sys_close(c->fd);
    sys_unlink(c->path);
    c->fd = -1;
}

void copy_fork_parent(struct copy_fork *c, bool forked)
{
    if (forked && !spooler_lost)
        __atomic_add_fetch(&spool->forks, 1, __ATOMIC_RELAXED);
    if (c->fd >= 0) {
        sys_close(c->fd);
        if (!forked)
            sys_unlink(c->path);
    } else if (forked) {
        wait_for_child(c->before);
    }
}

// A file that the parent has made gets the child's own name. If the rename would replace another
// file, the file keeps its name.
static void rename_copy(char *path, s32 pid)
{
    char to[4096];

    for (int i = 0; i < NAMES_MAX; i++) {
        name_file(to, sizeof(to), pid, i);
        long ret = sys_call5(SYS_renameat2, (u64)AT_FDCWD, (u64)path, (u64)AT_FDCWD, (u64)to,
                             RENAME_NOREPLACE);
        if (ret == 0)
            memcpy(path, to, strlen(to) + 1);
        if (ret != -EEXIST)
            return;
    }
}

// In the child, while it still maps the parent's spool: the parent may go on.
static void fork_copy_done(void)
{
    __atomic_add_fetch(&spool->fork_copied, 1, __ATOMIC_RELEASE);
    sys_futex(&spool->fork_copied, FUTEX_WAKE, INT32_MAX, NULL);
}

static void detach_stack(u32 slot)
{
    u64 bytes = spooler_stack_mapped[slot], at = slotmem_calls(slot);

    if (!bytes)
        return;
    long to = limits_mmap(0, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!sys_failed(to)) {
        memcpy((void *)to, (void *)at, bytes);
        to = sys_call5(SYS_mremap, (u64)to, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    }
    if (sys_failed(to))
        engine_die("no memory for the open calls of a forked child: error %ld", -to);
}

// Replaces the parent's spool by private memory with the data that the engine reads: strings,
// mappings and blocks, but no counts.
static void detach(const struct spool_header *h)
{
    const u64 used[AREA_COUNT] = { SPOOL_TEXT_OFF + h->text_used,
                                   h->maps_used * sizeof(struct spool_map),
                                   h->partial_used * sizeof(struct spool_partial), h->blocks_used,
                                   h->edges_used * sizeof(struct spool_edge) };

    spooler_lost = true;
    for (u32 i = AREA_COUNT; i-- > 0;) { // the header last: the parent reads it
        u64 bytes = spooler_areas[i].mapped;
        if (!bytes)
            continue;
        long to = limits_mmap(0, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (!sys_failed(to)) {
            memcpy((void *)to, spooler_at(spooler_areas[i].start), used[i]);
            if (i == AREA_HEAD)
                fork_copy_done();
            to = sys_call5(SYS_mremap, (u64)to, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                           SPOOLER_BASE + spooler_areas[i].start);
        }
        if (sys_failed(to))
            engine_die("no memory for a forked child without a spool: error %ld", -to);
    }
    *spool = *h;
    for (u32 slot = 0; slot < h->threads_used; slot++)
        if (spooler_slot_in_use(slot) && spooler_map_shared(-1, (u64)slotmem_counters(slot),
                                                            spooler_counters_mapped, 0, MAP_FIXED))
            engine_die("no memory for the counters of a forked child without a spool");
    for (u32 slot = 0; slot <= SPOOL_THREADS_MAX; slot = stack_next(slot, h->threads_used))
        detach_stack(slot);
    if (h->data.callers &&
        spooler_map_shared(-1, DATA_BASE, SPOOL_DATA_SIZE, 0, MAP_FIXED)) // nobody reads it
        engine_die("no memory for the objects of a forked child without a spool");
}

// The copy by the child itself. The header is copied first: what the parent's other threads append
// meanwhile is beyond its cursors. 0, or -errno, and then there is no file.
static long copy_late(struct copy_fork *c, s32 pid, bool shares_fds)
{
    long ret;

    take_header(&c->h);
    c->fd = open_copy(pid, c->path, sizeof(c->path), &c->size, spooler_file_size);
    if (c->fd == -EMFILE && !shares_fds) {
        // The parent's descriptor is not needed any more, and frees a number.
        fds_drop_spool();
        c->fd = open_copy(pid, c->path, sizeof(c->path), &c->size, spooler_file_size);
    }
    if (c->fd < 0)
        return c->fd;
    ret = copy_contents(c->fd, &c->h);
    if (ret) {
        sys_close(c->fd);
        sys_unlink(c->path);
    }
    return ret;
}

// Written last, when the copy is complete: a file with a header can be recovered.
static long put_header(struct copy_fork *c, s32 pid, s32 parent_pid)
{
    struct spool_header *h = &c->h;

    h->pid = pid;
    h->parent_pid = parent_pid;
    h->flags |= SPOOL_F_FORKED;
    h->flags &= ~(u64)SPOOL_F_EXECED;
    h->n_native = h->s_native = 0;
    h->control.taken = h->control.answered = h->control.asked; // the parent's requests
    return sys_pwrite(c->fd, h, sizeof(*h), 0) == sizeof(*h) ? 0 : -EIO;
}

void copy_fork_child(struct copy_fork *c, s32 parent_pid, bool shares_fds)
{
    s32 pid = sys_getpid();
    bool early = c->fd >= 0, was_lost = spooler_lost;
    long ret = 0;

    spooler_lost = false;
    if (early)
        rename_copy(c->path, pid);
    else
        ret = copy_late(c, pid, shares_fds);
    if (!ret && (ret = put_header(c, pid, parent_pid))) {
        sys_close(c->fd);
        sys_unlink(c->path);
    }
    if (ret) { // the child goes on, as it would natively
        engine_msg(
            "warning: this forked child is not profiled, its spool cannot be made: error %ld",
            -ret);
        spooler_lost = was_lost;
        if (!spooler_lost)
            detach(&c->h);
        else
            *spool = c->h;
        log_own();
        return;
    }
    if (!early)
        fork_copy_done();

    for (u32 i = 0; i < AREA_COUNT && !ret; i++)
        if (spooler_areas[i].mapped)
            ret = spooler_map_shared(c->fd, SPOOLER_BASE + spooler_areas[i].start,
                                     spooler_areas[i].mapped, spooler_areas[i].start, MAP_FIXED);
    for (u32 slot = 0; slot < c->h.threads_used && !ret; slot++)
        if (spooler_slot_in_use(slot))
            ret = spooler_map_shared(c->fd, (u64)slotmem_counters(slot), spooler_counters_mapped,
                                     spool_counters_at(slot), MAP_FIXED);
    for (u32 slot = 0; slot <= SPOOL_THREADS_MAX && !ret;
         slot = stack_next(slot, c->h.threads_used))
        if (spooler_stack_mapped[slot])
            ret = spooler_map_shared(c->fd, slotmem_calls(slot), spooler_stack_mapped[slot],
                                     spooler_stack_offset(slot), MAP_FIXED);
    if (!ret && c->h.data.callers)
        ret = spooler_map_shared(c->fd, DATA_BASE, SPOOL_DATA_SIZE, SPOOL_DATA_OFF, MAP_FIXED);
    if (ret)
        engine_die("cannot map the spool of a forked child: error %ld", -ret);
    spooler_file_size = c->size;
    fds_replace_spool(c->fd, shares_fds);
    spool->s_parent = spool->s_spool;
    spool->s_spool = spooler_text(c->path);
    log_own();
}

void copy_note_native(s64 more)
{
    struct spool_header h;
    int fd = (int)sys_open(spooler_string(spool->s_parent), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    const u64 at = offsetof(struct spool_header, n_native);

    if (fd < 0)
        return;
    // Its process may have ended, and another file have its name.
    if (sys_pread(fd, &h, sizeof(h), 0) == sizeof(h) && h.magic == SPOOL_MAGIC &&
        h.version == SPOOL_VERSION && h.pid == spool->parent_pid) {
        h.n_native += (u64)more;
        sys_pwrite(fd, &h.n_native, sizeof(h.n_native), at);
    }
    sys_close(fd);
}

// Appends a string to the text area of the file fd, whose header is h; sets *at_text to its offset.
static long text_out(int fd, struct spool_header *h, const char *s, u32 *at_text)
{
    u64 n = strlen(s) + 1;

    if (h->text_used + n > SPOOL_TEXT_SIZE)
        return -E2BIG;
    if (sys_pwrite(fd, s, n, SPOOL_TEXT_OFF + h->text_used) != (long)n)
        return -EIO;
    *at_text = (u32)h->text_used;
    h->text_used += n;
    return 0;
}

// The command line, as `quern run` writes it: the arguments joined by blanks, line ends replaced by
// blanks. The arguments are in client memory, of any length.
static long command_out(int fd, struct spool_header *h, const u64 *argv)
{
    u64 pos = h->text_used;
    char part[512];
    u64 fill = 0;

    for (u64 i = 0; argv[i]; i++) {
        s64 len = clientmem_strnlen(argv[i], SPOOL_TEXT_SIZE);
        if (len < 0)
            return len;
        // One more for the blank, or for the NUL of the last one.
        for (u64 done = 0; done <= (u64)len;) {
            u64 n = (u64)len - done < sizeof(part) - 1 - fill ? (u64)len - done
                                                              : sizeof(part) - 1 - fill;
            if (clientmem_read(part + fill, argv[i] + done, n))
                return -EFAULT;
            for (u64 k = fill; k < fill + n; k++)
                if (part[k] == '\n' || part[k] == '\r' || !part[k])
                    part[k] = ' ';
            done += n;
            fill += n;
            if (done == (u64)len) {
                part[fill++] = argv[i + 1] ? ' ' : '\0';
                done++;
            }
            if (pos + fill > SPOOL_TEXT_SIZE)
                return -E2BIG;
            if (sys_pwrite(fd, part, fill, SPOOL_TEXT_OFF + pos) != (long)fill)
                return -EIO;
            pos += fill;
            fill = 0;
        }
    }
    h->s_cmd = (u32)h->text_used;
    h->text_used = pos;
    return 0;
}

int copy_for_exec(const char *program, const u64 *argv, char *path, u64 path_size)
{
    struct spool_header h = *spool;
    char cwd[4096];
    u64 size;

    int fd = open_copy(sys_getpid(), path, path_size, &size, SPOOL_THREADS_OFF);
    if (fd < 0)
        return fd;
    long len = sys_call2(SYS_getcwd, (u64)cwd, sizeof(cwd));

    // All strings of this run, followed by those of the new one.
    long ret = copy_out(fd, spooler_at(SPOOL_TEXT_OFF), h.text_used, SPOOL_TEXT_OFF);
    if (!ret)
        ret = text_out(fd, &h, program, &h.s_program);
    if (!ret)
        ret = text_out(fd, &h, path, &h.s_spool);
    if (!ret)
        ret = text_out(fd, &h, len > 1 && cwd[0] == '/' ? cwd : "/", &h.s_cwd);
    if (!ret)
        ret = command_out(fd, &h, argv);

    h.state = SPOOL_NEW;
    h.log_fd = engine_log_fd;
    h.pid = sys_getpid();
    h.parent_pid = 0;
    h.end_kind = SPOOL_END_NONE;
    h.end_code = 0;
    h.flags = (h.flags | SPOOL_F_EXECED) & ~(u64)SPOOL_F_FORKED;
    if (h.flags & SPOOL_F_INHERIT)
        h.flags = tb_config.counts ? h.flags & ~(u64)SPOOL_F_NOT_AT_START
                                   : h.flags | SPOOL_F_NOT_AT_START;
    h.calls = 0;
    h.dumps = 0;
    h.maps_used = h.blocks_used = h.counters_used = h.partial_used = h.threads_used = 0;
    h.block_count = 0;
    h.s_seccomp = h.seccomp_bytes = 0;
    h.s_env = h.env_bytes = 0; // the exec passes an environment
    memset(&h.n_translated, 0, sizeof(h) - offsetof(struct spool_header, n_translated));
    h.cpu = spool->cpu;
    h.machine = spool->machine;
    h.data = spool->data;
    h.data.objects_used = h.data.counts_used = 0;
    h.data.names_used = h.data.flows_used = 0;
    h.curve.on = spool->curve.on;
    if (!ret && sys_pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
        ret = -EIO;
    if (ret) {
        sys_close(fd);
        sys_unlink(path);
        return (int)ret;
    }
    return fd;
}

// Appends to the text of a copy. 0: there is no space.
static u32 add_text(int fd, struct spool_header *h, const char *s)
{
    u64 at = h->text_used, bytes = strlen(s) + 1;

    if (at + bytes > SPOOL_TEXT_SIZE ||
        sys_pwrite(fd, s, bytes, SPOOL_TEXT_OFF + at) != (long)bytes)
        return 0;
    h->text_used += bytes;
    return (u32)at;
}

int copy_for_dump(const char *output, const char *desc, char *path, u64 path_size)
{
    struct spool_header h = *spool;
    char text[8192];
    u64 size;
    int fd = open_copy(spool->pid, path, path_size, &size, spooler_file_size);
    long ret;

    if (fd < 0)
        return fd;
    nolibc_format(text, sizeof(text), "%s\n%s", spooler_string(h.s_desc), desc);
    ret = copy_contents(fd, &h);
    h.s_output = add_text(fd, &h, output);
    h.s_desc = add_text(fd, &h, text);
    h.s_spool = add_text(fd, &h, path);
    h.s_dump_counts = h.s_dump_code = 0;
    h.flags |= SPOOL_F_QUIET;
    h.flags &= ~(u64)SPOOL_F_MERGE; // a file of its own
    h.log_fd = engine_log_fd;
    h.state = SPOOL_ENDED;
    if (!ret &&
        (!h.s_output || !h.s_desc || !h.s_spool || sys_pwrite(fd, &h, sizeof(h), 0) != sizeof(h)))
        ret = -EIO;
    if (ret) {
        sys_close(fd);
        sys_unlink(path);
        return (int)ret;
    }
    return fd;
}

long copy_set_start_mask(int fd, u64 mask)
{
    long n = sys_pwrite(fd, &mask, sizeof(mask), offsetof(struct spool_header, start_mask));

    return n == sizeof(mask) ? 0 : n < 0 ? n : -EIO;
}
