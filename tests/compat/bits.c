// SPDX-License-Identifier: MIT
//
// Integers: bit counts, wide products and divisions, shifts and rotates, BMI, byte swaps, checksums
// by table and by instruction, conditional moves from memory.
// needs: bmi1 bmi2 sse4_2
#include <stdint.h>
#include <x86intrin.h>

int run(void);

#define N 500
static uint64_t v[N], w[N];
static uint32_t crc_table[256];

__attribute__((noinline)) static uint32_t crc_by_table(const uint8_t *p, int n)
{
    uint32_t c = 0xffffffff;

    while (n--)
        c = crc_table[(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

__attribute__((noinline)) static uint32_t crc_by_instruction(const uint8_t *p, int n)
{
    uint32_t c = 0xffffffff;

    for (; n >= 8; n -= 8, p += 8)
        c = (uint32_t)_mm_crc32_u64(c, *(const uint64_t *)(const void *)p);
    while (n--)
        c = _mm_crc32_u8(c, *p++);
    return ~c;
}

__attribute__((noinline)) static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

// (a * b) % m for a, b < m, by the processor's wide product and division.
static uint64_t times(uint64_t a, uint64_t b, const uint64_t *m)
{
    uint64_t low, high;

    __asm__("mulq %3\n\tdivq %4" : "=&a"(low), "=&d"(high) : "0"(a), "r"(b), "m"(*m) : "cc");
    return high;
}

__attribute__((noinline)) static uint64_t power(uint64_t b, uint64_t e, uint64_t m)
{
    uint64_t r = 1;

    for (; e; e >>= 1) {
        if (e & 1)
            r = times(r, b, &m);
        b = times(b, b, &m);
    }
    return r;
}

__attribute__((noinline)) static uint64_t mix(const uint64_t *p, int n)
{
    uint64_t h = 1;

    for (int i = 0; i < n; i++) {
        h ^= __builtin_bswap64(p[i]) + (uint64_t)__builtin_popcountll(p[i]);
        h = h << 13 | h >> 51;
        h += _tzcnt_u64(p[i]) + _lzcnt_u64(p[i]) + _blsr_u64(p[i]);
        h ^= _pext_u64(p[i], 0x00ff00ff00ff00ff) ^ _pdep_u64(h, p[i] | 1);
        h = h * 3 + (_bextr_u64(p[i], 5, 9) ^ _andn_u64(h, p[i]));
    }
    return h;
}

__attribute__((noinline)) static uint64_t smallest(const uint64_t *p, int n)
{
    uint64_t m = p[0];

    for (int i = 1; i < n; i++)
        __asm__("cmp %1, %0\n\tcmova %1, %0" : "+r"(m) : "m"(p[i]) : "cc");
    return m;
}

int run(void)
{
    uint64_t x = 88172645463325252u, least;

    for (int i = 0; i < N; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        v[i] = x;
        w[i] = x >> (i % 64);
    }
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
        crc_table[i] = c;
    }
    for (int n = 0; n < 40; n++)
        if (crc_by_table((uint8_t *)v + n, 3 * n) != crc_by_instruction((uint8_t *)v + n, 3 * n))
            return 1;
    if (gcd(1071ull << 40, 462ull << 40) != 21ull << 40 || power(3, 1000002, 1000003) != 1)
        return 2;
    least = smallest(v, N);
    for (int i = 0; i < N; i++)
        if (v[i] < least)
            return 3;
    return mix(v, N) == mix(w, N);
}
