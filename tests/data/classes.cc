// SPDX-License-Identifier: MIT
//
// Members of C++ statics: of base classes, in a namespace, of a static member, of a static of a
// member function, behind a typedef and qualifiers.
//
// As in fields.c: each loop references each line of its object once, in order, 64 lines and more:
// all references miss D1, and the first ones to a line miss LL.
//
// shapes: 128 elements of a line each. The first base has a base with `id` at 0, and `area` at 8;
// the second one `size` at 16, in an array; `side` is at 32. side is written, id, size[1] and area
// are read.
//= 384 128 0 128 static: drawing::shapes
//* 0 128 0 128 static: drawing::shapes > shapes[].side
//* 128 0 0 0 static: drawing::shapes > shapes[].Shape::Named::id
//* 128 0 0 0 static: drawing::shapes > shapes[].Shape::area
//* 128 0 0 0 static: drawing::shapes > shapes[].Sized::size[]
// counts: a static member, 128 lines of 8 elements; `high` of the first one of each is read.
//= 128 0 128 0 static: Counter::counts
//* 128 0 128 0 static: Counter::counts > counts[].high
// seen: 256 lines of 4 elements; `when` of one of each is written.
//= 0 256 0 256 static: Counter::count()::seen
//* 0 256 0 256 static: Counter::count()::seen > seen[].when
extern "C" {
#include "tests/data/bare.h"
}

#define ALIGNED __attribute__((aligned(LINE)))

struct Named {
    long id;
};

struct Shape : Named {
    double area;
};

struct Sized {
    long size[2];
};

namespace drawing
{
struct Square : Shape, Sized {
    long side;
    char rest[24];
};
static Square shapes[128] ALIGNED;
} // namespace drawing

class Counter
{
    struct Pair {
        int low, high;
    };
    typedef const volatile Pair Seen;
    static Seen counts[1024];

public:
    static void read();
    static void count();
};

Counter::Seen Counter::counts[1024] ALIGNED = {};

void NOINLINE Counter::read()
{
    for (int i = 0; i < 1024; i += 8)
        (void)counts[i].high;
}

void NOINLINE Counter::count()
{
    static struct {
        long what, when;
    } seen[1024] ALIGNED;

    for (int i = 0; i < 1024; i += 4)
        *const_cast<volatile long *>(&seen[i].when) = i;
}

static void NOINLINE draw()
{
    for (drawing::Square &s : drawing::shapes)
        *const_cast<volatile long *>(&s.side) = 1;
    for (drawing::Square &s : drawing::shapes)
        (void)*const_cast<volatile long *>(&s.id);
    for (drawing::Square &s : drawing::shapes)
        (void)*const_cast<volatile long *>(&s.size[1]);
    for (drawing::Square &s : drawing::shapes)
        (void)*const_cast<volatile long *>(reinterpret_cast<long *>(&s.area));
}

extern "C" int run(long, char **)
{
    draw();
    Counter::read();
    Counter::count();
    return 0;
}
