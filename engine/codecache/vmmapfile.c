// SPDX-License-Identifier: MIT
// Reading the kernel's map (vmmapfile.h). Since Linux 6.11 the file answers for one address
// (PROCMAP_QUERY); before that, all lines up to it are read: 40 ms with 64,530 lines.
#include "engine/codecache/vmmapfile.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/vmmapset.h"
#include "engine/spool/fds.h"

#define LINE_BYTES 4352 // a path and the fields before it

// linux/fs.h
#define PROCMAP_QUERY      0xc0686611 // _IOWR('f', 17, struct k_procmap_query)
#define PROCMAP_READABLE   1u
#define PROCMAP_WRITABLE   2u
#define PROCMAP_EXECUTABLE 4u
#define PROCMAP_SHARED     8u

struct k_procmap_query {
    u64 size, flags, addr;
    u64 vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    u32 dev_major, dev_minor, name_size, build_id_size;
    u64 name, build_id;
};

_Static_assert(sizeof(struct k_procmap_query) == 0x68, "the size is part of the number");

// @holds(vmmap_lock), except at the start
static char buf[2 * LINE_BYTES];
_Static_assert(sizeof(buf) == VMMAPFILE_PATH, "a path fits");

static char *hex(char *p, u64 *value)
{
    u64 v = 0;

    for (;; p++) {
        char c = *p;

        if (c >= '0' && c <= '9')
            v = v << 4 | (u64)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (u64)(c - 'a' + 10);
        else
            break;
    }
    *value = v;
    return p;
}

// dev_t as stat(2) shows it
static u64 device(u64 major, u64 minor)
{
    return (major & 0xfff) << 8 | (minor & 0xff) | (minor & ~0xfful) << 12 |
           (major & ~0xffful) << 32;
}

// "start-end rwxp offset major:minor inode    path"
static bool parse(char *text, struct vmmapfile_line *out)
{
    char *p = hex(text, &out->start);
    u64 major, minor, ino = 0;

    if (*p != '-')
        return false;
    p = hex(p + 1, &out->end);
    if (p[0] != ' ' || strnlen(p, 6) < 6)
        return false;
    out->prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) |
                (p[3] == 'x' ? PROT_EXEC : 0);
    out->flags = p[4] == 's' ? VMMAP_SHARED : 0;
    p = hex(p + 6, &out->offset);
    if (*p != ' ')
        return false;
    p = hex(p + 1, &major);
    if (*p != ':')
        return false;
    p = hex(p + 1, &minor);
    while (*p == ' ')
        p++;
    for (; *p >= '0' && *p <= '9'; p++)
        ino = ino * 10 + (u64)(*p - '0');
    while (*p == ' ')
        p++;
    out->dev = device(major, minor);
    out->ino = ino;
    out->path = p;
    if (ino == 0)
        out->flags |= VMMAP_ANON;
    return true;
}

static int open_maps(void)
{
    return fds_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
}

bool vmmapfile_walk(bool (*take)(const struct vmmapfile_line *, void *), void *arg)
{
    u64 have = 0;
    bool skipping = false, found = false;
    int fd = open_maps();

    if (fd < 0)
        return false;
    while (!found) {
        long got = sys_read(fd, buf + have, sizeof(buf) - have);
        char *line = buf, *eol;

        if (got == -EINTR)
            continue;
        if (got <= 0)
            break;
        have += (u64)got;
        while (!found) {
            struct vmmapfile_line l;

            for (eol = line; eol < buf + have && *eol != '\n'; eol++)
                ;
            if (eol == buf + have)
                break;
            *eol = 0;
            if (!skipping && parse(line, &l))
                found = take(&l, arg);
            skipping = false;
            line = eol + 1;
        }
        if (found) // its path is in the buffer
            break;
        have -= (u64)(line - buf);
        memmove(buf, line, have);
        if (have == sizeof(buf)) { // no line is that long
            have = 0;
            skipping = true;
        }
    }
    sys_close(fd);
    return found;
}

struct question {
    u64 addr;
    struct vmmapfile_line *out;
    bool found;
};

static bool holds(const struct vmmapfile_line *l, void *arg)
{
    struct question *q = arg;

    if (q->addr >= l->end)
        return false;
    q->found = q->addr >= l->start; // sorted: if not in this line, then in none
    *q->out = *l;
    return true;
}

// 1: found, 0: nothing is mapped there, -errno: no answer this way.
static long ask(u64 addr, struct vmmapfile_line *out)
{
    struct k_procmap_query q = {
        .size = sizeof(q), .addr = addr, .name = (u64)buf, .name_size = sizeof(buf)
    };
    int fd = open_maps();
    long ret;

    if (fd < 0)
        return fd;
    ret = sys_call3(SYS_ioctl, (u64)fd, PROCMAP_QUERY, (u64)&q);
    sys_close(fd);
    if (ret)
        return ret == -ENOENT ? 0 : ret;
    if (!q.name_size)
        buf[0] = 0;
    for (const char *p = buf; *p; p++)
        if (*p == '\n') // the file escapes it
            return -EINVAL;
    *out = (struct vmmapfile_line){
        .start = q.vma_start,
        .end = q.vma_end,
        .offset = q.vma_offset,
        .dev = device(q.dev_major, q.dev_minor),
        .ino = q.inode,
        .prot = (q.vma_flags & PROCMAP_READABLE ? PROT_READ : 0) |
                (q.vma_flags & PROCMAP_WRITABLE ? PROT_WRITE : 0) |
                (q.vma_flags & PROCMAP_EXECUTABLE ? PROT_EXEC : 0),
        .flags = (q.vma_flags & PROCMAP_SHARED ? VMMAP_SHARED : 0) | (q.inode ? 0 : VMMAP_ANON),
        .path = buf,
    };
    return 1;
}

bool vmmapfile_at(u64 addr, struct vmmapfile_line *out)
{
    struct question q = { addr, out, false };
    long ret = ask(addr, out);

    if (ret >= 0)
        return ret > 0;
    vmmapfile_walk(holds, &q);
    return q.found;
}
