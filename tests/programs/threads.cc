// SPDX-License-Identifier: MIT
//
// threads [N]: N threads, each with exceptions through several frames, thread-local objects, a shared map
// under a lock, atomics, and a condition variable; the result does not depend on their order.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex lock;
std::map<std::string, long> shared;
std::atomic<long> caught{0}, destroyed{0}, sum{0};

struct Guard {
    ~Guard() { destroyed++; }
};

struct Local {
    long n = 0;
    ~Local() { sum += n; }
};
thread_local Local local;

[[gnu::noinline]] long thrower(int depth, int i)
{
    Guard guard;
    if (depth == 0) {
        if (i % 3 == 0)
            throw std::runtime_error("three");
        if (i % 3 == 1)
            throw i;
        return i;
    }
    return thrower(depth - 1, i) + 1;
}

void work(int me)
{
    for (int i = 0; i < 300; i++) {
        try {
            local.n += thrower(i % 7, i);
        } catch (const std::exception &e) {
            caught++;
            std::lock_guard<std::mutex> hold(lock);
            shared[e.what()] += me;
        } catch (int value) {
            caught += value;
            try {
                std::rethrow_exception(std::current_exception());
            } catch (...) {
                local.n++;
            }
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 8;
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back(work, i);
    for (auto &t : threads)
        t.join();
    std::printf("caught %ld destroyed %ld sum %ld three %ld\n", caught.load(), destroyed.load(), sum.load(),
                shared["three"]);

    // A ring: each thread waits for its turn.
    std::mutex m;
    std::condition_variable cv;
    int turn = 0;
    std::string order;
    threads.clear();
    for (int i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 20; round++) {
                std::unique_lock<std::mutex> hold(m);
                cv.wait(hold, [&] { return turn == i; });
                order += static_cast<char>('a' + i);
                turn = (turn + 1) % n;
                cv.notify_all();
            }
        });
    for (auto &t : threads)
        t.join();
    std::printf("%s\n", order.c_str());

    auto failing = std::async(std::launch::async, [] { return thrower(4, 3); });
    try {
        failing.get();
    } catch (const std::runtime_error &e) {
        std::printf("from a thread: %s\n", e.what());
    }
    return n;
}
