// SPDX-License-Identifier: MIT
//
// Distinguishes a module from all others, without libelf: the symbol cache is looked up before
// anything of the module is read. Used by cache.c; its time function by symbols.c, too.
#ifndef QUERN_SYMBOLS_IDENTITY_H
#define QUERN_SYMBOLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

// The build-id names what was linked, but does not change when a file is stripped or modified, so
// size, time and headers must match, too. Only a file without a build-id is also identified by its
// location and its last change of status: size and modification time can be faked (`cp -p`, `touch
// -r`), that time only the kernel sets. With a build-id it is ignored, because each unpacking of a
// file gives another one.
struct identity {
    uint64_t maker;  // set by the caller: which program wrote the cache
    uint64_t option; // set by the caller
    uint64_t size, mtime;
    uint64_t dev, ino, ctime; // 0 with a build-id
    uint64_t headers;         // a hash of the ELF, program and section headers; of all of an image
    uint64_t id_size;
    unsigned char id[64];
    char path[4096]; // up to its NUL
};

// False: not a 64-bit ELF file, or not readable.
bool identity_of_file(struct identity *out, const char *path, int fd, const struct stat *st);
void identity_of_image(struct identity *out, const char *name, const void *image, size_t size);
// A file's time, ns since 1970.
uint64_t identity_time(const struct timespec *t);
// How many bytes of the struct are used.
size_t identity_size(const struct identity *i);
// The name of the cache's file, without suffix: 32 hexadecimal digits. It depends only on path,
// build-id, option and maker: a new build without a build-id replaces the file of the old one. The
// maker, because two that work at the same time would replace each other's file each time.
void identity_name(const struct identity *i, char name[33]);

#endif
