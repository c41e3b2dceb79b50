// SPDX-License-Identifier: MIT
//
// exceptions [uncaught]: exceptions of several kinds through several kinds of frames, in one thread; with
// the argument it ends by one that nobody catches.
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

namespace {

struct Base {
    virtual ~Base() = default;
    virtual int id() const { return 1; }
};
struct Derived : Base {
    int id() const override { return 2; }
};

int depth_left;
int unwound;

struct Count {
    ~Count() { unwound++; }
};

[[gnu::noinline]] int dive(int n)
{
    Count count;
    std::string text(static_cast<size_t>(n) % 40, 'x');
    if (n == 0)
        throw std::length_error("bottom");
    return dive(n - 1) + static_cast<int>(text.size());
}

} // namespace

int main(int argc, char **)
{
    int sum = 0;
    for (int i = 0; i < 200; i++) {
        try {
            if (i % 2)
                throw Derived();
            throw std::make_unique<Base>();
        } catch (const Base &b) {
            sum += b.id();
        } catch (std::unique_ptr<Base> &p) {
            sum += 10 * p->id();
        }
    }
    std::printf("%d\n", sum);
    for (int i = 0; i < 20; i++) {
        try {
            depth_left += dive(i * 5);
        } catch (const std::logic_error &e) {
            sum += e.what()[0];
        }
    }
    std::printf("%d %d\n", sum, unwound);
    std::function<int(int)> f = [&](int x) { return x > 5 ? throw x : f(x + 1); };
    try {
        f(0);
    } catch (int x) {
        std::printf("int %d\n", x);
    }
    try {
        std::vector<int>().at(3);
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
    }
    try {
        try {
            throw std::runtime_error("inner");
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &e) {
        try {
            std::rethrow_if_nested(e);
        } catch (const std::exception &inner) {
            std::printf("%s of %s\n", inner.what(), e.what());
        }
    }
    Base *none = nullptr;
    try {
        std::printf("%s\n", typeid(*none).name());
    } catch (const std::bad_typeid &) {
        std::printf("bad typeid\n");
    }
    if (argc > 1) {
        std::fflush(stdout);
        throw std::domain_error("nobody catches this");
    }
    return 0;
}
