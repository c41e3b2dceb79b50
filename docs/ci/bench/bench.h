// SPDX-License-Identifier: MIT
//
// Benchmarks that are counted, not timed. Each is a function registered by BENCH(name); the program
// runs the one named on its command line, once, so that nothing but this benchmark and its
// preparation is in the counts, or lists all of them:
//
//     BENCH(sort_random)
//     {
//         auto v = numbers(1000);      // counted, too: put what is not to be judged elsewhere
//         std::sort(v.begin(), v.end());
//         bench::keep(v);
//     }
//     BENCH_MAIN
//
// The function of a benchmark is called bench_NAME, so that it can be counted alone, with what it
// calls: `quern run --calls=yes --toggle-collect='bench_*'`. Of a profile of the whole program:
// `quern diff --inclusive=yes --fail-if='bench_sort_random:Ir>+1%'`.
#ifndef BENCH_H
#define BENCH_H

#include <cstdio>
#include <cstring>

namespace bench
{

struct entry {
    const char *name;
    void (*run)();
    entry *next;

    entry(const char *n, void (*r)()) : name(n), run(r), next(first())
    {
        first() = this;
    }

    static entry *&first()
    {
        static entry *list = nullptr;
        return list;
    }
};

// The compiler must take the value for used.
template <class T> inline void keep(const T &value)
{
    asm volatile("" : : "g"(&value) : "memory");
}

inline int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (entry *e = entry::first(); e; e = e->next)
            std::puts(e->name);
        return 0;
    }
    for (entry *e = entry::first(); argc == 2 && e; e = e->next)
        if (std::strcmp(e->name, argv[1]) == 0) {
            e->run();
            return 0;
        }
    std::fprintf(stderr, "usage: %s NAME, or --list\n", argv[0]);
    return 2;
}

} // namespace bench

#define BENCH(name)                                              \
    static void bench_##name();                                  \
    static bench::entry bench_entry_##name(#name, bench_##name); \
    __attribute__((noinline)) static void bench_##name()
#define BENCH_MAIN                      \
    int main(int argc, char **argv)     \
    {                                   \
        return bench::main(argc, argv); \
    }

#endif
