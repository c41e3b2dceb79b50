// SPDX-License-Identifier: MIT
//
// Functions whose symbols are mangled, by the rules of C++ and of Rust: patterns of options are
// held against what profiles call them. Without libc; what it costs is compared with Callgrind's.
#define APART __attribute__((noinline, noclone))

namespace mill {

APART int grain(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n * 3;
}

struct Stone {
    int turns;

    APART int turn(int n);
};

APART int Stone::turn(int n)
{
    turns += grain(n);
    return turns;
}

template <typename T>
APART T sieve(T n)
{
    __asm__ volatile("" : "+r"(n));
    return n > 2 ? sieve<T>(n - 1) + 1 : n;
}

} // namespace mill

extern "C" {
APART int rust(int n) __asm__("_RNvCs1234_4mill5flour");
APART int rust(int n)
{
    return mill::grain(n) + 1;
}

// Second names, longer than the first ones.
int grain_by_another_name(int n) __attribute__((alias("_ZN4mill5grainEi")));
APART int idle(int n)
{
    return n;
}
int idle_by_another_name(int n) __attribute__((alias("idle")));

int run()
{
    mill::Stone stone = { 0 };
    int sum = 0;

    for (int i = 0; i < 5; i++)
        sum += stone.turn(i) + mill::grain(i);
    sum += mill::sieve<int>(6) + mill::sieve<long>(4);
    return sum + rust(2) == 0;
}
}
