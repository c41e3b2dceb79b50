// SPDX-License-Identifier: MIT
//
// Stand-ins for places/ and for a spool's texts: each 256 bytes of code are a function, and the low
// byte of an address is a line. A file of tests includes it once, after cmocka's headers.
#ifndef QUERN_TESTS_PLACES_FAKES_H
#define QUERN_TESTS_PLACES_FAKES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "finish/places/places.h"
#include "quern/profile.h"

enum {
    FAKE_FILE = 100, // the number of "a.c"; the next is "inc.h"
    FAKE_LINKED = 0x400000,
};

// 0x12xx is function f2, 0xF: none is known. Lines from 0x80 on are those of "inc.h". An address is
// 0x400000 above where the code was linked.
uint64_t places_find(struct places *p, uint32_t map, uint64_t pc, struct symbols_place *out)
{
    uint32_t f = pc >> 8 & 15;

    (void)p;
    (void)map;
    *out = (struct symbols_place){ f == 15 ? 0 : 1 + f, FAKE_FILE + (pc >> 7 & 1), pc & 127 };
    return pc + FAKE_LINKED;
}

static const char *fake_file = "a.c"; // the name of FAKE_FILE

const char *symbols_string(const struct symbols *s, uint32_t number)
{
    static const char *const f[] = { "",   "f0", "f1", "f2",  "f3",  "f4",  "f5",  "f6",
                                     "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14" };

    (void)s;
    return number == FAKE_FILE ? fake_file : number == FAKE_FILE + 1 ? "inc.h" : f[number];
}

// The text area: 1 is "/p", 4 is "/lib", 9 three lines of a header.
const char *spool_file_text(const struct spool_file *s, uint32_t offset)
{
    return offset ? s->text + offset : NULL;
}

static const char fake_text[] = "\0/p\0/lib\0I1 cache: 1 B\nTrigger: x\nno colon";

uint32_t spool_file_map(const struct spool_file *s, uint64_t addr, uint32_t first)
{
    (void)first;
    for (uint32_t i = 0; i < s->maps_used; i++)
        if (addr >= s->maps[i].start && addr < s->maps[i].end)
            return i;
    return UINT32_MAX;
}

// The text of a profile in Callgrind's format without abbreviations, from its "events:" on; to be
// freed.
static inline char *fake_written(const struct quern_profile *p)
{
    struct quern_write_opts how = { .sz = sizeof(how),
                                    .format = QUERN_FORMAT_CALLGRIND,
                                    .no_compress_strings = 1,
                                    .no_compress_pos = 1 };
    char path[] = "/tmp/quern-unit-XXXXXX", *text = calloc(1, 1 << 16), *from;
    struct quern_error e = { 0 };
    FILE *f;

    close(mkstemp(path));
    if (quern_profile_write(p, path, &how, &e) != 0)
        fail_msg("%s", e.msg);
    f = fopen(path, "r");
    (void)!fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    unlink(path);
    from = strstr(text, "events:");
    assert_non_null(from);
    memmove(text, from, strlen(from) + 1);
    return text;
}

#endif
