-- SPDX-License-Identifier: MIT
-- What `make bench` runs by LuaJIT, whose compiler makes code while the program runs: loops over
-- numbers, tables that are filled and sorted, strings that are built and looked up. Prints a
-- checksum. Must not depend on anything but its argument, the number of rounds.
local rounds = tonumber(arg and arg[1]) or 10
local seed = 42

local function random(n)
    seed = (seed * 16807) % 2147483647
    return seed % n
end

local function sieve(n)
    local composite, primes = {}, 0
    for i = 2, n do
        if not composite[i] then
            primes = primes + 1
            for k = i * i, n, i do composite[k] = true end
        end
    end
    return primes
end

local function sorted(n)
    local t = {}
    for i = 1, n do t[i] = random(1000000) end
    table.sort(t)
    local sum = 0
    for i = 1, n, 7 do sum = (sum * 31 + t[i]) % 1000003 end
    return sum
end

local function words(n)
    local count, kinds = {}, 0
    for i = 1, n do
        local word = "w" .. random(500)
        if not count[word] then kinds = kinds + 1 end
        count[word] = (count[word] or 0) + 1
    end
    return kinds + count["w7"]
end

local function matrix(n)
    local a, b, sum = {}, {}, 0
    for i = 1, n do
        a[i], b[i] = {}, {}
        for k = 1, n do a[i][k], b[i][k] = i + k, i - k end
    end
    for i = 1, n do
        for k = 1, n do
            local s = 0
            for m = 1, n do s = s + a[i][m] * b[m][k] end
            sum = (sum + s) % 1000003
        end
    end
    return sum
end

local sum = 0
for _ = 1, rounds do
    sum = (sum * 7 + sieve(200000) + sorted(20000) + words(40000) + matrix(60)) % 1000003
end
print(sum)
