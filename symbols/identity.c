// SPDX-License-Identifier: MIT
//
// Reads the headers and the build-id of an ELF file with three or four small reads.
#include "symbols/identity.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/cachefile.h"

// Read at once: a file's first page has its headers and, usually, its notes.
enum { FIRST = 4096, HEADERS_MAX = 4 << 20, NOTES_MAX = 1 << 16 };

struct file {
    int fd;
    unsigned char first[FIRST];
    size_t have; // of them
};

// `size` bytes at the offset: from what was read first, or in *own, which the caller frees. NULL:
// not there.
static const unsigned char *bytes(struct file *f, uint64_t offset, size_t size, void **own)
{
    *own = NULL;
    if (offset <= f->have && size <= f->have - offset)
        return f->first + offset;
    *own = malloc(size ? size : 1);
    if (*own && pread(f->fd, *own, size, (off_t)offset) == (ssize_t)size)
        return *own;
    free(*own);
    *own = NULL;
    return NULL;
}

static bool hash_table(struct identity *out, struct file *f, uint64_t offset, uint64_t size)
{
    void *own;
    const unsigned char *p = size <= HEADERS_MAX ? bytes(f, offset, size, &own) : NULL;

    if (!p)
        return false;
    out->headers = cachefile_hash(p, size, out->headers);
    free(own);
    return true;
}

// A note: size of the name, size of the description, type; name and description padded to 4.
static bool find_id(struct identity *out, const unsigned char *p, size_t left)
{
    uint32_t h[3];

    while (left >= sizeof(h)) {
        memcpy(h, p, sizeof(h));
        uint64_t desc = sizeof(h) + ((uint64_t)h[0] + 3) / 4 * 4;
        uint64_t next = desc + ((uint64_t)h[1] + 3) / 4 * 4;

        if (desc + h[1] > left)
            return false;
        if (h[2] == NT_GNU_BUILD_ID && h[0] == 4 && memcmp(p + sizeof(h), "GNU", 4) == 0 &&
            h[1] > 0 && h[1] <= sizeof(out->id)) {
            out->id_size = h[1];
            memcpy(out->id, p + desc, h[1]);
            return true;
        }
        if (next > left)
            return false;
        p += next;
        left -= next;
    }
    return false;
}

static void read_notes(struct identity *out, struct file *f, const Elf64_Ehdr *e)
{
    for (unsigned i = 0; i < e->e_phnum && out->id_size == 0; i++) {
        void *own;
        const unsigned char *p =
            bytes(f, e->e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr), &own);
        Elf64_Phdr ph;

        if (!p)
            return;
        memcpy(&ph, p, sizeof(ph));
        free(own);
        if (ph.p_type != PT_NOTE || ph.p_filesz > NOTES_MAX)
            continue;
        p = bytes(f, ph.p_offset, ph.p_filesz, &own);
        if (p)
            find_id(out, p, ph.p_filesz);
        free(own);
    }
}

bool identity_of_file(struct identity *out, const char *path, int fd, const struct stat *st)
{
    struct file f = { .fd = fd };
    Elf64_Ehdr e;

    memset(out, 0, sizeof(*out));
    if (!S_ISREG(st->st_mode) || strlen(path) >= sizeof(out->path))
        return false;
    ssize_t n = pread(fd, f.first, sizeof(f.first), 0);
    if (n < (ssize_t)sizeof(e))
        return false;
    f.have = (size_t)n;
    memcpy(&e, f.first, sizeof(e));
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    strcpy(out->path, path);
    out->size = (uint64_t)st->st_size;
    out->mtime = identity_time(&st->st_mtim);
    out->headers = cachefile_hash(&e, sizeof(e), 0);
    if (!hash_table(out, &f, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr)) ||
        !hash_table(out, &f, e.e_shoff, (uint64_t)e.e_shnum * e.e_shentsize))
        return false;
    read_notes(out, &f, &e);
    if (out->id_size == 0) {
        out->dev = st->st_dev;
        out->ino = st->st_ino;
        out->ctime = identity_time(&st->st_ctim);
    }
    return true;
}

uint64_t identity_time(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

void identity_of_image(struct identity *out, const char *name, const void *image, size_t size)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->path, sizeof(out->path), "%s", name);
    out->size = size;
    out->headers = cachefile_hash(image, size, 0);
}

size_t identity_size(const struct identity *i)
{
    return offsetof(struct identity, path) + strlen(i->path) + 1;
}

void identity_name(const struct identity *i, char name[33])
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t h = cachefile_hash(i->path, strlen(i->path), i->option * 2 + half);

        h = cachefile_hash(i->id, i->id_size, h);
        h = cachefile_hash(&i->maker, sizeof(i->maker), h);
        // Distinguishes the images of two kernels.
        if (i->path[0] != '/')
            h = cachefile_hash(&i->headers, sizeof(i->headers), h);
        snprintf(name + half * 16, 17, "%016llx", (unsigned long long)h);
    }
}
