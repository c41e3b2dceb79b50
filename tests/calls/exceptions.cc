// SPDX-License-Identifier: MIT
//
// Exceptions through functions with and without something to clean up, and past a handler that does
// not take them.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static int deep(int n)
{
    if (n == 0)
        throw std::runtime_error("deep");
    std::string s(static_cast<size_t>(n % 7), 'a');
    return deep(n - 1) + static_cast<int>(s.size());
}

static int middle(int n)
{
    try {
        return deep(n);
    } catch (const std::logic_error &) {
        return 7;
    }
}

int main()
{
    std::vector<int> v;
    int caught = 0;

    for (int i = 0; i < 50; i++) {
        try {
            caught += middle(i % 9);
        } catch (const std::exception &) {
            caught++;
        }
    }
    for (int i = 0; i < 1000; i++)
        v.push_back(i * 7919 % 1000);
    std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
    std::printf("%d %d\n", caught, v[0]);
    return 0;
}
