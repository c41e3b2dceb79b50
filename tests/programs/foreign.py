# SPDX-License-Identifier: MIT
# ctypes: calls by libffi, callbacks (code made at run time), structures, errno.
import ctypes as c
libc = c.CDLL(None, use_errno=True); libm = c.CDLL('libm.so.6')
libm.pow.restype = c.c_double; libm.pow.argtypes = [c.c_double, c.c_double]; print(libm.pow(2, 0.5))
CMP = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_int), c.POINTER(c.c_int)); calls = 0
def compare(a, b):
    global calls; calls += 1; return a[0] - b[0]
v = (c.c_int * 200)(*[(i * 7919) % 1009 for i in range(200)]); libc.qsort(v, 200, 4, CMP(compare)); print(list(v)[:9], calls)
for k in range(50):
    f = c.CFUNCTYPE(c.c_long, c.c_long, c.c_double)(lambda a, b, k=k: int(a * b) + k); assert f(10, 2.5) == 25 + k
class P(c.Structure): _fields_ = [('q', c.c_int), ('r', c.c_int)]
libc.div.restype = P; d = libc.div(47, 10); print(d.q, d.r)
print(libc.open(b'/no/such/file', 0), c.get_errno()); b = c.create_string_buffer(40)
libc.snprintf(b, 40, b'%s %d %.2f', b'text', 42, c.c_double(2.5)); print(b.value)
print(c.string_at(b, 4), c.sizeof(P), c.cast(b, c.c_void_p).value == c.addressof(b))
