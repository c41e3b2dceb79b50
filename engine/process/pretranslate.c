// SPDX-License-Identifier: MIT
// Translates before a fork what earlier children translated (pretranslate.h).
//
// A note is a word: an address and an action. The first child that performs the action puts the
// word into a small hash table; a second one marks it there and appends it to the list. If the
// table or the list is full, nothing is noted. There are no locks and nothing is removed, so a
// child that is killed meanwhile leaves at most one empty entry of the list, and entries after it
// are not read. The parent takes only addresses from the list: whatever its contents, the result is
// correct.
#include "engine/process/pretranslate.h"

#include "engine/base/heap.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/translate.h"

#define SEEN   32768u
#define PROBES 8u
#define LISTED 16384u

// The word. A client address has at most 56 bits.
#define EXIT_AT 57
#define LINK    (1ul << 61)
#define TARGET  (1ul << 62)
#define BY_TWO  (1ul << 63) // two children did it; only in the table, not in the list
#define PC      ((1ul << EXIT_AT) - 1)

_Static_assert(FRAGMENT_EXITS_MAX <= 16, "an exit's number has four bits");

static struct family {
    u64 seen[SEEN];
    u32 used;
    u64 list[LISTED];
} * family;
static u32 nread;
static bool is_child;

static bool is_on(void)
{
    return !(spool->flags & SPOOL_F_NO_PRETRANSLATE) && !tb_config.each_block && !tb_config.data;
}

static void take_memory(void)
{
    static bool tried;

    if (!tried)
        family = heap_shared(sizeof(*family));
    tried = true;
}

// False: the code cache has no space; the next flush makes some. @holds(translation lock)
static bool act_on(struct thread *t, u64 word)
{
    u64 pc = word & PC, fault;
    struct fragment *f = tcache_lookup(pc);

    if (!(word & (LINK | TARGET)))
        // An address that cannot be fetched here is in a module that only the child has.
        return f || translate_block(pc, &fault) || fault != TRANSLATE_NO_FAULT;
    if (!f)
        return true;
    if (word & TARGET) {
        if (tb_config.ibl)
            ibl_fill(t, f);
        return true;
    }
    u32 k = word >> EXIT_AT & 15;
    if (!tb_config.chain || k >= f->nexits)
        return true;
    struct fragment *to = tcache_lookup(f->exit[k].target);
    if (to)
        links_make(f, k, to);
    return true;
}

void pretranslate_before_fork(struct thread *t)
{
    u32 n;

    if (!is_on())
        return;
    take_memory();
    if (!family)
        return;
    n = __atomic_load_n(&family->used, __ATOMIC_ACQUIRE);
    if (n > LISTED)
        n = LISTED;
    tcache_lock();
    for (; nread < n; nread++) {
        u64 word = __atomic_load_n(&family->list[nread], __ATOMIC_ACQUIRE);

        if (!word || !act_on(t, word))
            break;
    }
    tcache_unlock();
}

void pretranslate_fork_child(void)
{
    is_child = true;
}

static void note(const struct fragment *f, u64 what)
{
    u64 word = f->pc | what, hash = (word * 0x9e3779b97f4a7c15ul) >> 32;

    // Code generated at run time belongs to the child alone.
    if (!is_child || !family || (f->flags & FRAGMENT_WRITABLE))
        return;
    for (u32 i = 0; i < PROBES; i++) {
        u64 *entry = &family->seen[(hash + i) % SEEN], was = 0;

        if (__atomic_compare_exchange_n(entry, &was, word, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
        if (was == (word | BY_TWO))
            return;
        if (was != word)
            continue;
        if (__atomic_compare_exchange_n(entry, &was, word | BY_TWO, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            u32 at = __atomic_fetch_add(&family->used, 1, __ATOMIC_RELAXED);

            if (at < LISTED)
                __atomic_store_n(&family->list[at], word, __ATOMIC_RELEASE);
        }
        return;
    }
}

void pretranslate_note_block(const struct fragment *f)
{
    note(f, 0);
}

void pretranslate_note_link(const struct fragment *f, u32 k)
{
    note(f, LINK | (u64)k << EXIT_AT);
}

void pretranslate_note_target(const struct fragment *f)
{
    note(f, TARGET);
}
