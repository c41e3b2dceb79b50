// SPDX-License-Identifier: MIT
//
// A filter of records with handlers behind pointers, a divisor that is nearly always 64, and cases
// that hardly ever occur: without a profile, or with one, by which gcc tests for the usual handler
// and the usual divisor first, and moves the rest away.
#include "../common.h"

#define N 4096

struct record {
    uint64_t (*handle)(const struct record *r, uint64_t x);
    uint64_t value, divisor;
    int kind;
};

static struct record record[N];

static uint64_t usual(const struct record *r, uint64_t x)
{
    return x + r->value / r->divisor + x % r->divisor;
}

static uint64_t seldom(const struct record *r, uint64_t x)
{
    for (int i = 0; i < 20; i++)
        x = x * 31 + r->value % (r->divisor + i);
    return x;
}

static uint64_t one(const struct record *r, uint64_t x)
{
    switch (r->kind) {
    case 0: return r->handle(r, x);
    case 1: return x ^ r->value;
    case 2: return x - r->value * 7;
    case 3: return r->handle(r, x) + r->handle(r, x + 1);
    default: abort();
    }
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, x = 1;

    for (int i = 0; i < N; i++) {
        uint64_t chance = draw(&state) % 1000;

        record[i].handle = chance < 995 ? usual : seldom;
        record[i].value = draw(&state) >> 8;
        record[i].divisor = chance < 10 ? 63 : 64;
        record[i].kind = chance < 985 ? 0 : (int)(chance % 4);
    }
    for (long n = rounds(argc, argv); n > 0; n--)
        for (int i = 0; i < N; i++)
            x = one(&record[i], x);
    return print_sum(x);
}
