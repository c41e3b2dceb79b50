# SPDX-License-Identifier: MIT
# Integers of any size, floats, dicts, sorting, regular expressions, exceptions.
import hashlib, json, math, re, struct, zlib, decimal
print(math.factorial(300) % (10**40 + 121), 3**2000 % 1000000007, int('9' * 500) // 7**300)
print(sum(math.sin(i) * math.exp(-i / 50) for i in range(2000)).hex())
words = open('in.txt').read().split()
counts = {}
for w in words: counts[w] = counts.get(w, 0) + 1
print(sorted(counts.items(), key=lambda p: (-p[1], p[0]))[:5])
print(hashlib.sha256(' '.join(words).encode()).hexdigest(), zlib.crc32(b'x' * 5000))
print(len(re.findall(r'\bw(\d)\1\d?\b', ' '.join(words))))
print(json.loads(json.dumps({'a': [1.5, None, 'é']}))['a'], struct.pack('>dI', 1.1, 77).hex())
print(decimal.Decimal(2).sqrt(decimal.Context(prec=60)))
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
try: deep(10**6)
except RecursionError as e: print(type(e).__name__)
print(sum(i * i % 7 for i in range(20000)))
