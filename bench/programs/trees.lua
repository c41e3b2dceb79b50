-- SPDX-License-Identifier: MIT
--
-- Binary trees, built and walked: the interpreter's dispatch, its allocator and its garbage collector. Run by
-- `make bench` with the depth as the only argument; prints how many nodes it saw.
local depth = tonumber(arg[1]) or 12

local function build(d)
    if d == 0 then
        return {}
    end
    return { build(d - 1), build(d - 1) }
end

local function count(tree)
    if tree[1] then
        return 1 + count(tree[1]) + count(tree[2])
    end
    return 1
end

local kept = build(depth)
for d = 4, depth, 2 do
    local rounds, nodes = 1 << (depth - d + 2), 0
    for _ = 1, rounds do
        nodes = nodes + count(build(d))
    end
    print(rounds, d, nodes)
end
print(depth, count(kept))
