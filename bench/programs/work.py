# SPDX-License-Identifier: MIT
#
# The Python program of the bench: dictionaries, sorting, json, regular expressions, recursion, each a few tens of
# milliseconds, so large parts of the interpreter run briefly. The only argument is the number of rounds; prints
# one line that depends on all of it.
import json
import re
import sys


def words(n):
    seed = 12345
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        yield "w%x" % (seed >> 12)


def histogram(n):
    counts = {}
    for w in words(n):
        counts[w[:4]] = counts.get(w[:4], 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def there_and_back(n):
    rows = [{"id": i, "name": w, "tags": [w[1:3], w[3:]], "half": i / 2} for i, w in enumerate(words(n))]
    return sum(row["half"] for row in json.loads(json.dumps(rows)))


def match(n):
    text = " ".join(words(n))
    return sum(len(m.group(1)) for m in re.finditer(r"\bw([0-9a-f]*?[a-f]{2})[0-9]+\b", text))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Queens:
    def __init__(self, n):
        self.n, self.found = n, 0
        self.place(0, set(), set(), set())

    def place(self, row, columns, rising, falling):
        if row == self.n:
            self.found += 1
            return
        for c in range(self.n):
            if c not in columns and row + c not in rising and row - c not in falling:
                self.place(row + 1, columns | {c}, rising | {row + c}, falling | {row - c})


total = 0
for _ in range(int(sys.argv[1])):
    total += len(histogram(12000)) + there_and_back(1500) + match(6000) + fib(17) + Queens(6).found
print(total)
