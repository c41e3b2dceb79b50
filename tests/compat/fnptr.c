// SPDX-License-Identifier: MIT
//
// Function pointers: objects with tables of methods, callbacks, tail calls through registers, a
// sort with a compare function.
#include <stdint.h>

int run(void);

struct shape;
struct methods {
    int (*area)(const struct shape *s);
    int (*grow)(struct shape *s, int by);
    const char *(*name)(void);
};
struct shape {
    const struct methods *m;
    int a, b;
};

static int square_area(const struct shape *s)
{
    return s->a * s->a;
}
static int square_grow(struct shape *s, int by)
{
    return s->a += by;
}
static const char *square_name(void)
{
    return "square";
}
static int rectangle_area(const struct shape *s)
{
    return s->a * s->b;
}
static int rectangle_grow(struct shape *s, int by)
{
    s->b += by;
    return s->m->area(s);
}
static const char *rectangle_name(void)
{
    return "rectangle";
}
static int triangle_area(const struct shape *s)
{
    return s->a * s->b / 2;
}
static int triangle_grow(struct shape *s, int by)
{
    s->a += by;
    return s->m->area(s);
}
static const char *triangle_name(void)
{
    return "triangle";
}

static const struct methods methods[3] = {
    { square_area, square_grow, square_name },
    { rectangle_area, rectangle_grow, rectangle_name },
    { triangle_area, triangle_grow, triangle_name },
};

#define N 300
static struct shape shape[N];
static int order[N];

static int by_area(int i, int j)
{
    return shape[i].m->area(&shape[i]) - shape[j].m->area(&shape[j]);
}
static int by_name(int i, int j)
{
    return shape[i].m->name()[0] - shape[j].m->name()[0];
}

__attribute__((noinline)) static void sort(int *v, int n, int (*compare)(int, int))
{
    for (int gap = n / 2; gap; gap /= 2)
        for (int i = gap; i < n; i++) {
            int x = v[i], j = i;

            for (; j >= gap && compare(v[j - gap], x) > 0; j -= gap)
                v[j] = v[j - gap];
            v[j] = x;
        }
}

int run(void)
{
    long total = 0;

    for (int i = 0; i < N; i++) {
        shape[i].m = &methods[(i * i + i / 3) % 3];
        shape[i].a = i % 23 + 1;
        shape[i].b = i % 7 + 2;
        order[i] = i;
    }
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < N; i++) {
            total += shape[i].m->grow(&shape[i], round);
            total += shape[i].m->area(&shape[i]);
        }
    sort(order, N, by_area);
    for (int i = 1; i < N; i++)
        if (by_area(order[i - 1], order[i]) > 0)
            return 1;
    sort(order, N, by_name);
    for (int i = 1; i < N; i++)
        if (by_name(order[i - 1], order[i]) > 0)
            return 2;
    return total <= 0;
}
