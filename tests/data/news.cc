// SPDX-License-Identifier: MIT
//
// Types of the blocks of `new`, and of an allocator like that of the C++ library.
//
// As in blocks.c: every reference is the first one to its line, and misses D1 and LL.
//
// one: 70 blocks of a class in a namespace, held by pointers to its base.
//= 0 70 0 70 heap: one() < run
//* 0 70 0 70 heap: one() < run > Square.side (inferred)
// many: an array of 80 elements of a line each.
//= 0 80 0 80 heap: many() < run
//* 0 80 0 80 heap: many() < run > Square[].Shape::area (inferred)
// of two classes of that name nothing is certain: offset 16 of 66 blocks.
//= 0 66 0 66 heap: two() < run
//* 0 66 0 66 heap: two() < run > +16
// a container's nodes: the template's argument, by the name of the allocator; 90 blocks.
//= 0 90 0 90 heap: new_allocator<Node<int> >::allocate(unsigned long) < contain()
//* 0 90 0 90 heap: new_allocator<Node<int> >::allocate(unsigned long) < contain() > Node<int>.value (inferred)
// placed: `new` at a place that is there allocates nothing.
//= 0 1 0 1 static: place
//! --data-callers=2
extern "C" {
#include "tests/data/bare.h"
}

typedef decltype(sizeof(0)) size_type;

static char pool[4000 * LINE] __attribute__((aligned(LINE)));
static char *given = pool;

NOINLINE void *operator new(size_type bytes)
{
    char *p = given;

    given += (bytes + LINE - 1) / LINE * LINE;
    return p;
}

NOINLINE void *operator new[](size_type bytes)
{
    char *p = given;

    given += (bytes + LINE - 1) / LINE * LINE;
    return p;
}

NOINLINE void *operator new(size_type, void *at) noexcept
{
    return at;
}

namespace drawing
{
struct Shape {
    double area;
};
struct Square : Shape {
    long side;
    char rest[48];
};
} // namespace drawing

namespace first
{
struct Twice {
    long a[8];
};
} // namespace first

namespace second
{
struct Twice {
    double b, c, d[6];
};
first::Twice *of_first;
} // namespace second

template <typename T> struct Node {
    Node *next;
    T value;
    char rest[48];
};

template <typename T> struct new_allocator {
    NOINLINE T *allocate(size_type n)
    {
        return static_cast<T *>(::operator new(n * sizeof(T)));
    }
};

template <typename T> static void write(T &t)
{
    *const_cast<volatile T *>(&t) = 1;
}

NOINLINE static void one()
{
    for (int i = 0; i < 70; i++) {
        drawing::Shape *s = new drawing::Square;

        write(static_cast<drawing::Square *>(s)->side);
    }
}

NOINLINE static void many()
{
    drawing::Square *s = new drawing::Square[80];

    for (int i = 0; i < 80; i++)
        write(s[i].area);
}

NOINLINE static void two()
{
    for (int i = 0; i < 66; i++) {
        second::Twice *t = new second::Twice;

        write(t->d[0]);
    }
}

NOINLINE static void contain()
{
    new_allocator<Node<int>> a;

    for (int i = 0; i < 90; i++)
        write(a.allocate(1)->value);
}

static char place[LINE] __attribute__((aligned(LINE)));

NOINLINE static void placed()
{
    drawing::Shape *s = new (place) drawing::Shape;

    write(s->area);
}

extern "C" int run(long, char **)
{
    one();
    many();
    two();
    contain();
    placed();
    return 0;
}
