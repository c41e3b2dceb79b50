// SPDX-License-Identifier: MIT
//
// AVX2: gathers of all four kinds with full masks, masked loads and stores with partial ones,
// broadcasts, lane permutations, variable shifts, 32-byte accesses across lines. The masked
// elements at the ends are in lines that are not touched: a masked move refers only to the elements
// that its mask selects. FMA only as scalar, since Valgrind reads packed operands of FMA in parts.
// needs: avx2
#include <immintrin.h>
#include <stdint.h>

int run(void);

#define N 2048

static int32_t t[N] __attribute__((aligned(64)));
static int64_t q[N / 2] __attribute__((aligned(64)));
static float f[N] __attribute__((aligned(64)));
static double d[N / 2] __attribute__((aligned(64)));
static int32_t to[N + 16] __attribute__((aligned(64)));

__attribute__((noinline)) static int64_t gather_all(void)
{
    __m256i sum = _mm256_setzero_si256();
    __m256d fsum = _mm256_setzero_pd();
    __m256 ssum = _mm256_setzero_ps();
    int64_t s[4];
    double fs[4];
    float ss[8];

    for (int i = 0; i < N; i += 64) {
        __m256i i32 = _mm256_setr_epi32(i, i + 9, i + 18, i + 27, i + 36, i + 45, i + 54, i + 63);
        __m128i half = _mm_setr_epi32(i / 2, i / 2 + 31, i / 2 + 5, i / 2 + 17);
        __m256i i64 = _mm256_cvtepi32_epi64(half);

        sum = _mm256_add_epi64(
            sum, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(_mm256_i32gather_epi32(t, i32, 4))));
        sum = _mm256_add_epi64(sum, _mm256_i32gather_epi64((const long long *)q, half, 8));
        sum = _mm256_add_epi64(sum, _mm256_i64gather_epi64((const long long *)q, i64, 8));
        sum = _mm256_add_epi64(sum, _mm256_cvtepi32_epi64(_mm256_i64gather_epi32(t, i64, 4)));
        fsum = _mm256_add_pd(fsum, _mm256_i32gather_pd(d, half, 8));
        ssum = _mm256_add_ps(ssum, _mm256_i32gather_ps(f, i32, 4));
    }
    _mm256_storeu_si256((__m256i *)s, sum);
    _mm256_storeu_pd(fs, fsum);
    _mm256_storeu_ps(ss, ssum);
    return s[0] + s[1] + s[2] + s[3] + (int64_t)(fs[0] + fs[1] + fs[2] + fs[3]) + (int64_t)ss[7];
}

// Copies n ints between any two addresses, the last ones by mask.
__attribute__((noinline)) static void copy(int32_t *dst, const int32_t *src, int n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_si256((__m256i *)(dst + i), _mm256_loadu_si256((const __m256i *)(src + i)));
    if (i < n) {
        __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n - i), lane);

        _mm256_maskstore_epi32(dst + i, mask, _mm256_maskload_epi32(src + i, mask));
    }
}

__attribute__((noinline)) static double masked_doubles(double *p, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        __m256i mask = _mm256_setr_epi64x(-(i & 1), -(i >> 1 & 1), -(i >> 2 & 1), -(i >> 3 & 1));
        __m256d v = _mm256_maskload_pd(p + i * 3, mask);
        __m128d low = _mm_maskload_pd(p + i, _mm256_castsi256_si128(mask));

        v = _mm256_add_pd(v, _mm256_castpd128_pd256(low));
        _mm256_maskstore_pd(p + i * 3, mask, v);
        sum += _mm256_cvtsd_f64(v);
    }
    return sum;
}

__attribute__((noinline)) static uint64_t permute(const int32_t *p, int n)
{
    const __m256i order = _mm256_setr_epi32(7, 2, 5, 0, 3, 6, 1, 4);
    __m256i v = _mm256_broadcastsi128_si256(*(const __m128i *)p);
    uint64_t out[4];

    for (int i = 0; i < n; i += 8) {
        __m256i w = _mm256_loadu_si256((const __m256i *)(p + i + 1));

        v = _mm256_xor_si256(_mm256_permutevar8x32_epi32(v, order), w);
        v = _mm256_sllv_epi32(v, _mm256_set1_epi32(i & 1));
        v = _mm256_permute4x64_epi64(v, 0x39);
        v = _mm256_add_epi32(v, _mm256_set1_epi32(p[i]));
    }
    _mm256_storeu_si256((__m256i *)out, v);
    return out[0] ^ out[1] ^ out[2] ^ out[3];
}

int run(void)
{
    uint64_t p;
    double m;

    for (int i = 0; i < N; i++) {
        t[i] = i * 3;
        f[i] = (float)i;
    }
    for (int i = 0; i < N / 2; i++) {
        q[i] = i * 5 - 100;
        d[i] = i * 0.25;
    }
    if (gather_all() <= 0)
        return 1;
    for (int n = 0; n < 40; n++)
        copy(to + n, t + 2 * n, n);
    for (int n = 0; n < 39; n++)
        if (to[39 + n] != t[78 + n])
            return 2;
    m = masked_doubles(d, 64);
    p = permute(t, N - 16);
    return m <= 0 || p == 0;
}
