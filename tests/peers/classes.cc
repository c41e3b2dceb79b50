// SPDX-License-Identifier: MIT
// Names with blanks, commas and templates, virtual calls, and exceptions, which leave functions
// without a return.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

struct shape {
    virtual ~shape() {}
    virtual double area() const = 0;
};

template <typename T, int N> struct box : shape {
    T side = N;
    double area() const override { return double(side) * side; }
};

static int checked(int n)
{
    if (n % 3 == 0)
        throw std::runtime_error("a third");
    return n;
}

int main()
{
    box<int, 3> a;
    box<unsigned long, 4> b;
    const shape *shapes[] = { &a, &b };
    std::map<std::string, double> sum;
    int caught = 0;

    for (int i = 0; i < 20; i++) {
        try {
            sum[std::to_string(i % 5)] += shapes[i & 1]->area() * checked(i);
        } catch (const std::exception &) {
            caught++;
        }
    }
    std::printf("%d %zu\n", caught, sum.size());
}
