// SPDX-License-Identifier: MIT
//
// SSE to SSE4.2: packed integers and floats, unaligned loads and stores that cross lines, shuffles,
// minima, string compares, a non-temporal store. Built for SSE4.2 only.
// needs: sse4_2
#include <nmmintrin.h>
#include <smmintrin.h>
#include <stdint.h>

int run(void);

#define N 1024

static float x[N + 8] __attribute__((aligned(64))), y[N + 8] __attribute__((aligned(64)));
static uint8_t bytes[N + 64] __attribute__((aligned(64))), out[N + 64] __attribute__((aligned(64)));
static int32_t stream[64] __attribute__((aligned(64)));

__attribute__((noinline)) static float dot(const float *a, const float *b, int n)
{
    __m128 sum = _mm_setzero_ps();

    for (int i = 0; i < n; i += 4)
        sum = _mm_add_ps(sum, _mm_mul_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i)));
    sum = _mm_hadd_ps(sum, sum);
    sum = _mm_hadd_ps(sum, sum);
    return _mm_cvtss_f32(sum);
}

__attribute__((noinline)) static void reverse_blocks(uint8_t *to, const uint8_t *from, int n)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    for (int i = 0; i < n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(from + i));

        _mm_storeu_si128((__m128i *)(to + i), _mm_shuffle_epi8(v, order));
    }
}

__attribute__((noinline)) static uint32_t sum_of_bytes(const uint8_t *p, int n)
{
    __m128i sum = _mm_setzero_si128();

    for (int i = 0; i < n; i += 16)
        sum = _mm_add_epi64(
            sum, _mm_sad_epu8(_mm_loadu_si128((const __m128i *)(p + i)), _mm_setzero_si128()));
    return (uint32_t)(_mm_extract_epi64(sum, 0) + _mm_extract_epi64(sum, 1));
}

__attribute__((noinline)) static int find(const uint8_t *p, int n, uint8_t wanted)
{
    const __m128i set = _mm_cvtsi32_si128(wanted);

    for (int i = 0; i < n; i += 16) {
        int at = _mm_cmpestri(set, 1, _mm_loadu_si128((const __m128i *)(p + i)), 16,
                              _SIDD_UBYTE_OPS | _SIDD_CMP_EQUAL_ANY);
        if (at < 16)
            return i + at;
    }
    return -1;
}

__attribute__((noinline)) static float largest(const float *p, int n)
{
    __m128 m = _mm_loadu_ps(p);

    for (int i = 4; i < n; i += 4)
        m = _mm_max_ps(m, _mm_loadu_ps(p + i));
    m = _mm_max_ps(m, _mm_shuffle_ps(m, m, 0x4e));
    m = _mm_max_ps(m, _mm_shuffle_ps(m, m, 0xb1));
    return _mm_cvtss_f32(m);
}

__attribute__((noinline)) static void widen(int32_t *to, const uint8_t *from, int n)
{
    for (int i = 0; i < n; i += 4) {
        int32_t four;
        __m128i v;

        __builtin_memcpy(&four, from + i, 4);
        v = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
        _mm_stream_si128((__m128i *)(to + i), _mm_mullo_epi32(v, v));
    }
}

int run(void)
{
    for (int i = 0; i < N + 8; i++) {
        x[i] = (float)(i % 17);
        y[i] = (float)(i % 5) * 0.5f;
    }
    for (int i = 0; i < N + 64; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    bytes[900] = 255;

    // Each of the 1024 products is (i % 17) * (i % 5) / 2; offset 1 makes the loads unaligned.
    float want = 0, got;

    for (int i = 1; i <= N; i++)
        want += (float)(i % 17) * (float)(i % 5) * 0.5f;
    got = dot(x + 1, y + 1, N);
    if (got - want > 1 || want - got > 1)
        return 1;
    for (int off = 0; off < 16; off += 5)
        reverse_blocks(out + off, bytes + 3 * off, N);
    if (out[15] != bytes[45] && out[15 + 15] != bytes[45])
        return 2;
    if (sum_of_bytes(bytes + 7, N) == 0)
        return 3;
    if (find(bytes + 800, 200, 255) < 0)
        return 4;
    if (largest(x + 3, N) != 16)
        return 5;
    widen(stream, bytes + 2, 64);
    return stream[5] != bytes[7] * bytes[7];
}
