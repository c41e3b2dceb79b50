// SPDX-License-Identifier: MIT
//
// Finds sections and decompresses them. zlib streams are inflated without their checksum: reading
// the data reveals damage, and the checksum takes a sixth of the time.
#include "symbols/section.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "symbols/memory.h"

#ifndef ELFCOMPRESS_ZSTD
#    define ELFCOMPRESS_ZSTD 2
#endif

// A section with a larger size in its header is damaged.
static const uint64_t size_max = UINT64_C(1) << 36;

static bool inflate_raw(const unsigned char *in, size_t in_size, unsigned char *out,
                        size_t out_size)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)in,
                   .avail_in = (uInt)in_size,
                   .next_out = out,
                   .avail_out = (uInt)out_size };

    if (in_size > UINT32_MAX || out_size > UINT32_MAX || inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return ok;
}

// The maximum expansion of a byte: a match in zlib has 258 bytes and takes at least two bits, a
// block in zstd has 128 KiB and takes four bytes. Without it a few bytes could request all memory.
static uint64_t most_of(uint32_t type)
{
    return type == ELFCOMPRESS_ZLIB ? 1032 : 1 << 15;
}

// Decompresses the contents of an SHF_COMPRESSED section into newly allocated memory.
static bool decompress(const unsigned char *p, size_t size, struct section *out)
{
    Elf64_Chdr ch;
    bool ok = false;

    if (size < sizeof(ch) + 2)
        return false;
    memcpy(&ch, p, sizeof(ch));
    p += sizeof(ch);
    size -= sizeof(ch);
    if (ch.ch_size > size_max || ch.ch_size / most_of(ch.ch_type) > size)
        return false;
    unsigned char *buf = memory_got(malloc(ch.ch_size ? ch.ch_size : 1));
    if (!buf)
        return false;
    if (ch.ch_type == ELFCOMPRESS_ZLIB)
        ok = inflate_raw(p + 2, size - 2, buf,
                         ch.ch_size); // after the two bytes of the zlib header
    else if (ch.ch_type == ELFCOMPRESS_ZSTD)
        ok = ZSTD_decompress(buf, ch.ch_size, p, size) == ch.ch_size;
    if (!ok) {
        free(buf);
        return false;
    }
    out->p = out->owned = buf;
    out->size = ch.ch_size;
    return true;
}

static Elf_Scn *find(Elf *elf, const char *name, GElf_Shdr *sh)
{
    size_t names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((scn = elf_nextscn(elf, scn))) {
        if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
            continue;
        const char *n = elf_strptr(elf, names, sh->sh_name);
        if (n && strcmp(n, name) == 0)
            return scn;
    }
    return NULL;
}

bool section_exists(Elf *elf, const char *name)
{
    GElf_Shdr sh;

    return find(elf, name, &sh) != NULL;
}

bool section_get(Elf *elf, const char *name, struct section *out)
{
    GElf_Shdr sh;
    Elf_Scn *scn = find(elf, name, &sh);
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

    memset(out, 0, sizeof(*out));
    if (!data || !data->d_buf)
        return false;
    out->addr = sh.sh_addr;
    if (sh.sh_flags & SHF_COMPRESSED)
        return decompress(data->d_buf, data->d_size, out);
    out->p = data->d_buf;
    out->size = data->d_size;
    return true;
}

void section_fini(struct section *s)
{
    free(s->owned);
    memset(s, 0, sizeof(*s));
}

static bool is_zstd(const Elf64_Shdr *sh, const char *file, size_t file_size)
{
    Elf64_Chdr ch;

    if (!(sh->sh_flags & SHF_COMPRESSED) || sh->sh_offset > file_size ||
        sh->sh_size > file_size - sh->sh_offset || sh->sh_size < sizeof(ch))
        return false;
    memcpy(&ch, file + sh->sh_offset, sizeof(ch));
    return ch.ch_type == ELFCOMPRESS_ZSTD && ch.ch_size <= size_max;
}

Elf *section_without_zstd(Elf *elf, void **image)
{
    size_t size;
    const char *file = elf_rawfile(elf, &size);
    bool any = false;

    *image = NULL;
    Elf64_Ehdr eh;
    if (!file || size < sizeof(eh))
        return NULL;
    memcpy(&eh, file, sizeof(eh));
    Elf64_Shdr *sh;
    if (eh.e_shentsize != sizeof(*sh) || eh.e_shoff > size ||
        (size - eh.e_shoff) / sizeof(*sh) < eh.e_shnum)
        return NULL;
    size_t total = (size + 15) & ~(size_t)15;
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        Elf64_Shdr one;

        memcpy(&one, file + eh.e_shoff + i * sizeof(one), sizeof(one));
        if (!is_zstd(&one, file, size))
            continue;
        Elf64_Chdr ch;
        memcpy(&ch, file + one.sh_offset, sizeof(ch));
        total += (ch.ch_size + 15) & ~UINT64_C(15);
        any = true;
    }
    if (!any)
        return NULL;
    char *copy = memory_got(malloc(total));
    if (!copy)
        return NULL;
    memcpy(copy, file, size);
    total = (size + 15) & ~(size_t)15;
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        Elf64_Shdr one;

        memcpy(&one, file + eh.e_shoff + i * sizeof(one), sizeof(one));
        if (!is_zstd(&one, file, size))
            continue;
        struct section s;
        if (!decompress((const unsigned char *)file + one.sh_offset, one.sh_size, &s)) {
            one.sh_type = SHT_NOBITS;
        } else {
            memcpy(copy + total, s.p, s.size);
            one.sh_offset = total;
            one.sh_size = s.size;
            total += (s.size + 15) & ~(size_t)15;
            free(s.owned);
        }
        one.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
        memcpy(copy + eh.e_shoff + i * sizeof(one), &one, sizeof(one));
    }
    *image = copy;
    return elf_memory(copy, total);
}
