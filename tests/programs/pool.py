# SPDX-License-Identifier: MIT
# multiprocessing: a pool, a queue, shared memory, no manager; by fork and by spawn.
import multiprocessing as mp, os
def square(x): return x * x
def put(q, n): [q.put((n, i)) for i in range(10)]
def add(v, a):
    for i in range(200):
        with v.get_lock(): v.value += 1
    a[0] += 0
if __name__ == '__main__':
    with mp.Pool(3) as p: print(sum(p.map(square, range(200), 7)))
    q = mp.Queue(); ps = [mp.Process(target=put, args=(q, n)) for n in range(3)]
    [p.start() for p in ps]; print(len({q.get() for _ in range(30)})); [p.join() for p in ps]; print([p.exitcode for p in ps])
    v = mp.Value('i', 0); a = mp.Array('d', 3); ps = [mp.Process(target=add, args=(v, a)) for _ in range(3)]
    [p.start() for p in ps]; [p.join() for p in ps]; print(v.value, list(a))
    l, r = mp.Pipe(); p = mp.Process(target=lambda c: c.send(c.recv() + '!'), args=(r,)); p.start(); l.send('hi'); print(l.recv()); p.join()
    p = mp.Process(target=os.abort); p.start(); p.join(); print(p.exitcode)
    s = mp.get_context('spawn').Process(target=print, args=('spawned',)); s.start(); s.join(); print(s.exitcode)
