// SPDX-License-Identifier: MIT
//
// Usage: containers ROUNDS
//
// A program of containers: words counted in a hash table of strings, an ordered map of vectors, a
// queue by priority, and sorting of objects with strings in them. Prints a checksum. The same on
// every machine: its numbers come from a generator of its own.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{

// The generator of Lehmer: x := x * 48271 mod (2^31 - 1).
struct Random
{
    uint64_t state = 20260801;

    uint32_t below(uint32_t n)
    {
        state = state * 48271 % 2147483647;
        return static_cast<uint32_t>(state % n);
    }
};

struct Item
{
    std::string name;
    uint32_t weight;
};

std::string word(Random& random)
{
    // Squared: some words are far more frequent than others.
    uint64_t n = random.below(3000);
    n = n * n / 600;
    std::string s;
    do
    {
        s += static_cast<char>('a' + n % 26);
        s += "aeiou"[n % 5];
        n /= 26;
    } while (n != 0);
    return s;
}

uint64_t counted(Random& random)
{
    std::unordered_map<std::string, uint32_t> counts;
    for (int i = 0; i < 60000; i++)
        counts[word(random)]++;
    std::vector<std::pair<std::string, uint32_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    uint64_t sum = 0;
    for (size_t i = 0; i < sorted.size(); i++)
        sum += (i + 1) * sorted[i].second + sorted[i].first.size();
    return sum;
}

uint64_t indexed(Random& random)
{
    std::map<uint32_t, std::vector<uint32_t>> index;
    for (uint32_t i = 0; i < 60000; i++)
        index[random.below(20000)].push_back(i);
    for (int i = 0; i < 10000; i++)
        index.erase(random.below(20000));
    uint64_t sum = 0;
    for (const auto& entry : index)
        sum += entry.first * static_cast<uint64_t>(entry.second.size()) + entry.second.back();
    return sum;
}

// Shortest ways from one node of a random graph: Dijkstra's, with a heap that is not updated.
uint64_t ways(Random& random)
{
    constexpr uint32_t nodes = 6000, never = UINT32_MAX;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> edges(nodes);
    for (uint32_t i = 0; i < 8 * nodes; i++)
        edges[random.below(nodes)].emplace_back(random.below(nodes), 1 + random.below(100));
    using Step = std::pair<uint32_t, uint32_t>;
    std::priority_queue<Step, std::vector<Step>, std::greater<>> next;
    std::vector<uint32_t> far(nodes, never);
    far[0] = 0;
    next.emplace(0, 0);
    while (!next.empty())
    {
        const Step step = next.top();
        next.pop();
        if (step.first > far[step.second])
            continue;
        for (const auto& edge : edges[step.second])
            if (step.first + edge.second < far[edge.first])
            {
                far[edge.first] = step.first + edge.second;
                next.emplace(far[edge.first], edge.first);
            }
    }
    uint64_t sum = 0;
    for (uint32_t distance : far)
        sum += distance == never ? 1 : distance;
    return sum;
}

uint64_t ordered(Random& random)
{
    std::vector<std::unique_ptr<Item>> items;
    for (int i = 0; i < 20000; i++)
        items.push_back(std::make_unique<Item>(Item{word(random), random.below(1000)}));
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
        return a->name != b->name ? a->name < b->name : a->weight < b->weight;
    });
    uint64_t sum = 0;
    for (size_t i = 0; i < items.size(); i++)
        sum += i * items[i]->weight;
    return sum;
}

} // namespace

int main(int argc, char** argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
    Random random;
    uint64_t sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += counted(random) + indexed(random) + ways(random) + ordered(random);
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
