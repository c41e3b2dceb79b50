// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < std::atoi(argv[1]); i++)
        m[std::to_string(i * 7919 % 31)].push_back(i);
    try {
        std::cout << m.at("7").size() << ' ' << m.at("none").size() << '\n';
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }
    return argc;
}
