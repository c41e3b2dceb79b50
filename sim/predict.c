// SPDX-License-Identifier: MIT
//
// The predictor of today (predict.h).
#include "sim/predict.h"

#define FOLD_BITS ((uint32_t)SIM_TAGE_FOLD)
#define FOLD_MASK ((1u << FOLD_BITS) - 1)

static const uint16_t length[SIM_TAGE_TABLES] = { SIM_TAGE_LENGTHS };
// Taken branches that each table of targets sees.
static const uint8_t path_length[SIM_ITTAGE_TABLES] = { 0, 9, SIM_PATH };

// ---- History ----

static uint32_t outcome(const struct sim_predict *p, uint32_t ago)
{
    return p->history[p->time % SIM_TAGE_HISTORY + SIM_TAGE_HISTORY - ago];
}

// fold: the outcomes that the table sees, xored in groups of FOLD_BITS.
static void push(struct sim_predict *p, uint32_t bit)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < SIM_TAGE_TABLES; i++) {
        uint32_t f = p->fold[i] << 1 | bit;

        f ^= outcome(p, length[i]) << length[i] % FOLD_BITS;
        p->fold[i] = (f ^ f >> FOLD_BITS) & FOLD_MASK;
    }
    p->history[p->time % SIM_TAGE_HISTORY] = (uint8_t)bit;
    p->history[p->time++ % SIM_TAGE_HISTORY + SIM_TAGE_HISTORY] = (uint8_t)bit;
}

static uint64_t rotated(uint64_t x, uint32_t n)
{
    return x << n % 64 | x >> (64 - n) % 64;
}

#define TURN 5u // bits by which the folds turn for each branch

static void push_path(struct sim_predict *p, uint64_t pc, uint64_t target)
{
    uint16_t step;

    pc &= ~p->path_less;
    target &= ~p->path_less;
    step = (uint16_t)(pc >> 1 ^ (target >> 2 ^ target >> 9) * 0x9e5);
    for (uint32_t i = 1; i < SIM_ITTAGE_TABLES; i++) {
        uint32_t n = path_length[i];
        uint64_t old = p->path[(p->taken - n) % SIM_PATH];

        p->path_fold[i] = rotated(p->path_fold[i], TURN) ^ step ^ rotated(old, n * TURN);
    }
    p->path[p->taken++ % SIM_PATH] = step;
}

// ---- Counters ----

static int8_t count(int8_t counter, bool up, int8_t least, int8_t most)
{
    if (up)
        return counter < most ? (int8_t)(counter + 1) : most;
    return counter > least ? (int8_t)(counter - 1) : least;
}

// ---- TAGE ----

uint32_t sim_tage_find(struct sim_predict *p, uint32_t hash, bool taken, struct sim_tage_places *at)
{
    uint32_t found = 0, bits = SIM_TAGE_BITS + p->large;

#pragma GCC unroll 8
    for (uint32_t i = 0; i < SIM_TAGE_TABLES; i++) {
        uint32_t x = (p->fold[i] << 9 ^ hash ^ i << 5) * SIM_TAGE_FIRST;

        x ^= x >> 15;
        x *= SIM_TAGE_SECOND;
        at->entry[i] = (i << bits) + (x >> (32 - bits));
        at->tag[i] = (x & 0xfff) | 0x1000;
        found |= (uint32_t)(p->table[at->entry[i]].tag == at->tag[i]) << i;
    }
    push(p, taken);
    return found;
}

// An entry that has not proved itself.
static bool is_new(const struct sim_tage_entry *e)
{
    return (e->counter == 0 || e->counter == -1) && !e->useful;
}

// After a misprediction: an entry with a longer history, in the first free place behind the one
// that predicted, now and then in the second; if none is free all become less useful.
static void allocate(struct sim_predict *p, const struct sim_tage_places *at, uint32_t from,
                     bool taken)
{
    struct sim_tage_entry *entry = p->table;
    bool any = false;

    if (from + 1 < SIM_TAGE_TABLES && (p->events * UINT32_C(2654435761)) >> 30 == 0)
        from++;
    for (uint32_t i = from, n = 0; i < SIM_TAGE_TABLES && n < 2; i++) {
        if (entry[at->entry[i]].useful)
            continue;
        entry[at->entry[i]] = (struct sim_tage_entry){ (uint16_t)at->tag[i], taken ? 0 : -1, 0 };
        any = true;
        n++;
        i++;
    }
    for (uint32_t i = from; !any && i < SIM_TAGE_TABLES; i++)
        entry[at->entry[i]].useful--;
}

static void forget_slowly(struct sim_predict *p)
{
    if (++p->events % (1u << 18))
        return;
    for (uint32_t i = 0; i < SIM_TAGE_TABLES * SIM_TAGE_ENTRIES << p->large; i++)
        p->table[i].useful >>= 1;
}

// Predicts, learns, and says what was predicted.
static bool tage(struct sim_predict *p, uint64_t pc, bool taken, const struct sim_tage_places *at,
                 uint32_t found)
{
    int8_t *base = &p->base[(pc ^ pc >> 14) % SIM_TAGE_BASE];
    int last = (int)SIM_TAGE_TABLES - 1, by = -1, other = -1;
    struct sim_tage_entry *e = NULL;
    bool guess, second, first;

    if (found) {
        by = 31 - __builtin_clz(found);
        found ^= 1u << by;
    }
    if (found)
        other = 31 - __builtin_clz(found);
    second = other >= 0 ? p->table[at->entry[other]].counter >= 0 : *base >= 0;
    guess = first = second;
    if (by >= 0) {
        e = &p->table[at->entry[by]];
        first = e->counter >= 0;
        guess = is_new(e) && p->other >= 0 ? second : first;
        if (is_new(e) && first != second)
            p->other = count(p->other, second == taken, -8, 7);
        if (first != second)
            e->useful = (uint8_t)count((int8_t)e->useful, first == taken, 0, 3);
    }
    if (e)
        e->counter = count(e->counter, taken, -4, 3);
    if (!e || (is_new(e) && other < 0))
        *base = count(*base, taken, -2, 1);
    if (guess != taken && by < last)
        allocate(p, at, (uint32_t)(by + 1), taken);
    forget_slowly(p);
    return guess;
}

// ---- Loops ----

#define SURE 3u

#define SHORTEST 3u // iterations of a loop that is worth it

// An outcome of a loop that is known, without branches: the host would mispredict some. *said: what
// is predicted, TAGE's guess unless the loop is sure.
static void learn_loop(struct sim_tage_loop *l, bool taken, bool guess, bool *said)
{
    uint32_t now = l->now, count = l->count, sure = l->sure, age = l->age;
    bool iterates = taken == l->on, last = now == count, known = sure >= SURE, kept, shorter;

    *said = (known & (last != l->on)) | (!known & guess);
    // Longer than before, or left otherwise than before, it is not sure any more.
    kept = iterates ? (now != UINT16_MAX) & !((sure > 0) & last) : last & (count >= SHORTEST);
    shorter = !iterates & (now < SHORTEST) & (age > 0);
    sure += !iterates & !known;
    l->sure = (uint8_t)(sure & -(uint32_t)kept);
    age -= shorter;
    l->age = (uint8_t)(age | (255u & -(uint32_t)((*said == taken) & (guess != taken))));
    l->count = (uint16_t)(iterates ? count : now);
    l->now = (uint16_t)((now + kept) & -(uint32_t)iterates);
}

// Of a branch that goes one way in each iteration and the other way at the end. guess: TAGE's.
static bool loop(struct sim_predict *p, uint64_t pc, bool taken, bool guess)
{
    struct sim_tage_loop *l = &p->loop[(pc ^ pc >> 8) % SIM_TAGE_LOOPS];
    bool said = guess;

    if (l->tag != (uint32_t)pc || !l->age) {
        if (guess == taken) // only loops whose end TAGE gets wrong
            return guess;
        if (l->age)
            l->age--;
        else
            *l = (struct sim_tage_loop){ .tag = (uint32_t)pc, .age = 31, .on = !taken };
        return guess;
    }
    learn_loop(l, taken, guess, &said);
    return said;
}

bool sim_predict_learn(struct sim_predict *p, uint64_t pc, bool taken,
                       const struct sim_tage_places *at, uint32_t found)
{
    bool said = loop(p, pc, taken, tage(p, pc, taken, at, found));

    if (taken)
        push_path(p, pc, 0);
    return said != taken;
}

bool sim_predict_cond(struct sim_predict *p, uint64_t pc, bool taken)
{
    struct sim_tage_places at;
    uint32_t found = sim_tage_find(p, sim_tage_hash(pc), taken, &at);

    return sim_predict_learn(p, pc, taken, &at, found);
}

// ---- ITTAGE ----

#define SURE_BITS 3u // of a tag

static uint32_t sure_of(const struct sim_ittage_entry *e)
{
    return e->tag & SURE_BITS;
}

// The entry of a table that has the tag, or else the one that is replaced, with *has false.
static struct sim_ittage_entry *place(struct sim_predict *p, uint64_t pc, uint32_t table,
                                      uint32_t *tag, bool *has)
{
    uint64_t x =
        (p->path_fold[table] ^ pc * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    struct sim_ittage_entry *e;

    x ^= x >> 29;
    e = p->indirect[table][x % (SIM_ITTAGE_SETS << p->large_indirect)];
    *tag = ((uint32_t)(x >> 32) | 4) & ~SURE_BITS;
    for (uint32_t w = 0; w < SIM_ITTAGE_WAYS; w++)
        if ((e[w].tag & ~SURE_BITS) == *tag) {
            *has = true;
            return &e[w];
        }
    *has = false;
    return sure_of(&e[1]) < sure_of(&e[0]) ? &e[1] : &e[0];
}

// With path_less: whether the target is one of those that are known by all bits, and is now.
static bool near(struct sim_predict *p, uint64_t pc, uint32_t target)
{
    uint64_t old, key = (p->near_path ^ pc) * UINT64_C(0xd6e8feb86659fd93) | 1;
    uint32_t slot;
    bool right;

    if (!p->near.slots)
        sim_recent_init_zeroed(&p->near, SIM_NEAR, p->near_storage);
    slot = sim_recent_find(&p->near, key);
    right = slot < SIM_NEAR && p->near_target[slot] == target;
    if (slot < SIM_NEAR)
        sim_recent_touch(&p->near, slot);
    else
        slot = sim_recent_put(&p->near, key, &old);
    p->near_target[slot] = target;
    p->near_path = p->near_path << 16 ^ (pc ^ target >> 2) * 0x9e5;
    return right;
}

bool sim_predict_indirect(struct sim_predict *p, uint64_t pc, uint64_t target)
{
    struct sim_ittage_entry *e[SIM_ITTAGE_TABLES], *by = NULL;
    uint32_t tag[SIM_ITTAGE_TABLES], next = 0, low = (uint32_t)target;
    bool right = false, has;

    for (uint32_t i = 0; i < SIM_ITTAGE_TABLES; i++) {
        e[i] = place(p, pc, i, &tag[i], &has);
        if (has) {
            by = e[i];
            next = i + 1;
        }
    }
    if (by) {
        right = by->target == low;
        if (right)
            by->tag += sure_of(by) < SURE_BITS;
        else if (sure_of(by))
            by->tag--;
        else
            by->target = low;
    }
    if (p->path_less && near(p, pc, low))
        right = true;
    for (uint32_t i = next, n = 0; !right && i < SIM_ITTAGE_TABLES && n < 2; i++) {
        if (sure_of(e[i])) {
            e[i]->tag--;
            continue;
        }
        *e[i] = (struct sim_ittage_entry){ low, tag[i] };
        n++;
    }
    push(p, (uint32_t)(target >> 2 ^ target >> 4) & 1);
    push_path(p, pc, target);
    return !right;
}

// ---- Returns ----

void sim_predict_call(struct sim_predict *p, uint64_t back)
{
    p->returns[p->depth++ % SIM_RETURNS] = back;
    p->kept += p->kept < SIM_RETURNS;
}

bool sim_predict_return(struct sim_predict *p, uint64_t pc, uint64_t target)
{
    const uint64_t *back = &p->returns[--p->depth % SIM_RETURNS];

    if (!p->kept && p->deep_returns)
        return sim_predict_indirect(p, pc, target);
    p->kept -= p->kept > 0;
    return *back != target && *back != SIM_RETURN_UNKNOWN;
}

void sim_predict_forget_calls(struct sim_predict *p)
{
    for (uint32_t i = 0; i < SIM_RETURNS; i++)
        p->returns[i] = SIM_RETURN_UNKNOWN;
    p->kept = SIM_RETURNS;
}
