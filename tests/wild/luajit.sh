# SPDX-License-Identifier: MIT
# needs: luajit
cat > work.lua <<'J'
local ffi, bit = require("ffi"), require("bit")
ffi.cdef("typedef int (*cmp)(const int *, const int *); void qsort(void *, size_t, size_t, cmp);")
local n = 2000
local a = ffi.new("int[?]", n)
for i = 0, n - 1 do a[i] = (i * 7919) % 10007 end
ffi.C.qsort(a, n, 4, function(x, y) return x[0] - y[0] end)
local ok = true
for i = 1, n - 1 do ok = ok and a[i - 1] <= a[i] end
print("callbacks", ok)
local h = 0
for i = 1, 2e7 do h = bit.bxor(bit.rol(h, 5), i) end
print("loop", h)
local t = {}
for i = 1, 200000 do t[#t + 1] = ("%x"):format(i * 31):rep(2) end
print("strings", #table.concat(t))
local co = coroutine.wrap(function() for i = 1, 100000 do coroutine.yield(i) end return -1 end)
local s = 0
repeat local v = co() s = s + v until v < 0
print("coroutines", s)
print("error", pcall(function() local x = nil; return x.y end))
J
$RUN luajit work.lua
