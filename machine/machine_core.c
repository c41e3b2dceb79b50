// SPDX-License-Identifier: MIT
//
// The values of a machine file's [core]: numbers with bounds, sets of ports, and what a class of
// execution costs. Lines and keys are machine_read.c's.
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

enum { LATENCY_MAX = 1000, BUSY_MAX = 500, MICRO_OPS_MAX = 200 };

// A part of a value that has not been read yet.
struct text {
    const char *s;
    size_t n;
};

static bool take_char(struct text *t, char c)
{
    if (!t->n || *t->s != c)
        return false;
    t->s++;
    t->n--;
    return true;
}

static void skip_blanks(struct text *t)
{
    while (take_char(t, ' ') || take_char(t, '\t'))
        ;
}

static bool take_number(struct text *t, unsigned most, uint16_t *to)
{
    unsigned n = 0;
    size_t i = 0;

    for (; i < t->n && t->s[i] >= '0' && t->s[i] <= '9'; i++) {
        n = n * 10 + (unsigned)(t->s[i] - '0');
        if (n > most)
            return false;
    }
    t->s += i;
    t->n -= i;
    *to = (uint16_t)n;
    return i > 0;
}

static int port_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// "p06A": a digit for each port, none twice.
static bool take_ports(struct text *t, uint16_t *to)
{
    unsigned set = 0;

    if (!take_char(t, 'p'))
        return false;
    for (; t->n && port_of(*t->s) >= 0; t->s++, t->n--) {
        unsigned bit = 1u << port_of(*t->s);

        if (set & bit)
            return false;
        set |= bit;
    }
    *to = (uint16_t)set;
    return set != 0;
}

// "p06", "2*p06", or "4": micro-ops that need no port.
static bool take_group(struct text *t, struct core_uops *to)
{
    *to = (struct core_uops){ 1, 0 };
    if (t->n && *t->s == 'p')
        return take_ports(t, &to->ports);
    if (!take_number(t, MICRO_OPS_MAX, &to->n) || !to->n)
        return false;
    return !take_char(t, '*') || take_ports(t, &to->ports);
}

static bool take_groups(struct text *t, struct core_cost *to)
{
    for (unsigned g = 0; g < CORE_GROUPS; g++) {
        if (!take_group(t, &to->group[g]))
            return false;
        if (!take_char(t, '+'))
            return true;
    }
    return false;
}

bool machine_core_cost(const char *s, size_t n, struct core_cost *to, const char **allowed)
{
    struct text t = { s, n };

    memset(to, 0, sizeof(*to));
    *allowed =
        "cycles of latency (0 to 1000), cycles until the next one (1 to 500), and up to four "
        "groups of micro-ops, as 3 1 p1 or 4 1 p1+2*p06 or 18 1 4";
    if (!take_number(&t, LATENCY_MAX, &to->latency))
        return false;
    skip_blanks(&t);
    if (!take_number(&t, BUSY_MAX, &to->busy) || !to->busy)
        return false;
    skip_blanks(&t);
    return take_groups(&t, to) && !t.n;
}

bool machine_core_ports(const char *s, size_t n, uint16_t *to, const char **allowed)
{
    struct text t = { s, n };

    *allowed = "p and the ports, each a digit from 0 to 9 or A to F, as p05A";
    return take_ports(&t, to) && !t.n;
}

bool machine_core_number(const char *s, size_t n, size_t field, uint16_t *to, const char **allowed)
{
    static const struct {
        size_t field;
        unsigned least, most;
        const char *allowed;
    } numbers[] = {
#define CORE_NUMBER(field, least, most, what)            \
    { offsetof(struct machine, core.field), least, most, \
      "a whole number from " #least " to " #most },
#define CORE_CLASS(id, word, what)
#include "share/core.def"
    };
    struct text t = { s, n };
    size_t i = 0;

    while (numbers[i].field != field)
        i++;
    *allowed = numbers[i].allowed;
    return take_number(&t, numbers[i].most, to) && !t.n && *to >= numbers[i].least;
}
