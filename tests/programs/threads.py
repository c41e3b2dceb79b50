# SPDX-License-Identifier: MIT
# Threads that share a lock, a condition, a queue; and a pool.
import threading, queue, time
from concurrent.futures import ThreadPoolExecutor
lock = threading.Lock(); total = 0
def add(n):
    global total
    for _ in range(n):
        with lock: total += 1
ts = [threading.Thread(target=add, args=(1000,)) for _ in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]; print(total)
q = queue.Queue(5); out = queue.Queue()
def work():
    while (x := q.get()) is not None: out.put(x * x)
ts = [threading.Thread(target=work) for _ in range(4)]; [t.start() for t in ts]
for i in range(400): q.put(i)
for _ in ts: q.put(None)
[t.join() for t in ts]; print(sum(out.get() for _ in range(400)))
with ThreadPoolExecutor(6) as p: print(sum(p.map(lambda n: sum(range(n)), range(300))))
c = threading.Condition(); turn = 0; said = []
def speak(me):
    global turn
    for _ in range(20):
        with c:
            c.wait_for(lambda: turn == me); said.append(me); turn = (me + 1) % 3; c.notify_all()
ts = [threading.Thread(target=speak, args=(i,)) for i in range(3)]; [t.start() for t in ts]; [t.join() for t in ts]
print(''.join(map(str, said)))
e = threading.Event(); threading.Timer(0.1, e.set).start(); print(e.wait(30))
b = threading.Barrier(5); r = []
ts = [threading.Thread(target=lambda: r.append(b.wait())) for _ in range(5)]; [t.start() for t in ts]; [t.join() for t in ts]
print(sorted(r))
threading.Thread(target=lambda: time.sleep(0.2) or print('last')).start()
