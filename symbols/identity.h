// SPDX-License-Identifier: MIT
//
// What tells a module from all others, without libelf: the symbol cache is asked before anything
// of the module is read. Used by cache.c; its time by symbols.c, too.
#ifndef QUERN_SYMBOLS_IDENTITY_H
#define QUERN_SYMBOLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

// The build-id names what was linked, and says nothing of what was stripped or changed since, so
// size, time and headers must be the same, too. Only a file without one is told by where it lies
// and by its last change of status: size and modification time can be made to be what they were
// (`cp -p`, `touch -r`), and that time only the kernel sets. With a build-id it does not count, for
// it is another one wherever a file is unpacked again.
struct identity {
    uint64_t maker;  // the caller's: which program wrote the cache
    uint64_t option; // the caller's
    uint64_t size, mtime;
    uint64_t dev, ino, ctime; // 0 with a build-id
    uint64_t headers;         // a hash of the ELF, program and section headers; of all of an image
    uint64_t id_size;
    unsigned char id[64];
    char path[4096]; // up to its NUL
};

// False for what is not a 64-bit ELF file, or cannot be read.
bool identity_of_file(struct identity *out, const char *path, int fd, const struct stat *st);
void identity_of_image(struct identity *out, const char *name, const void *image, size_t size);
// A file's time, ns since 1970.
uint64_t identity_time(const struct timespec *t);
// How many of its bytes count.
size_t identity_size(const struct identity *i);
// The name of the cache's file, without suffix: 32 hexadecimal digits. It depends on path,
// build-id, option and maker only: what was built again takes the place of what it replaces, if it
// has no build-id. Two makers that work at the same time would else replace each other's
// file each time.
void identity_name(const struct identity *i, char name[33]);

#endif
