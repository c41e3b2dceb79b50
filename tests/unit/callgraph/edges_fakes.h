// SPDX-License-Identifier: MIT
//
// For tests of the call graph: fakes of the spool's edges and counters, and of the translation
// lock. Included by one file of a program.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/callgraph/edges.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;

static struct spool_edge record[8192];
static u32 counters_used;
static u32 module;              // the map that all functions are in
static void (*in_append)(void); // called once while a record is made
static int locked;              // how often the translation lock is held
static u32 locks;               // how often it was taken

u32 spooler_counters(u32 n)
{
    counters_used += n;
    return counters_used - n;
}

struct spool_edge *spooler_edge_at(u32 i)
{
    return &record[i];
}

struct spool_edge *spooler_edge_append(const struct spool_edge *e, u32 n)
{
    struct spool_edge *mine = &record[header.edges_used];
    void (*what)(void) = in_append;

    in_append = NULL;
    if (what)
        what();
    assert_true(header.edges_used < ARRAY_SIZE(record));
    *mine = *e;
    mine->counter = spooler_counters(n);
    header.edges_used++;
    return mine;
}

void tcache_lock(void)
{
    assert_int_equal(locked++, 0);
    locks++;
}

void tcache_unlock(void)
{
    assert_int_equal(--locked, 0);
}
