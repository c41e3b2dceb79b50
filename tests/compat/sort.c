// SPDX-License-Identifier: MIT
//
// Sorting: quicksort of numbers, heapsort of them again, insertion sort of records. Branches that
// cannot be predicted, data larger than the small caches.
#include <stdint.h>

int run(void);

#define N       3000
#define RECORDS 120

static uint32_t a[N], b[N];
static struct record {
    uint64_t key;
    uint32_t value, check;
} r[RECORDS];

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void quicksort(uint32_t *v, int lo, int hi)
{
    while (lo < hi) {
        uint32_t pivot = v[(lo + hi) / 2];
        int i = lo, j = hi;

        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                uint32_t t = v[i];

                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (j - lo < hi - i) {
            quicksort(v, lo, j);
            lo = i;
        } else {
            quicksort(v, i, hi);
            hi = j;
        }
    }
}

static void sift(uint32_t *v, int root, int end)
{
    uint32_t x = v[root];

    for (int child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && v[child + 1] > v[child])
            child++;
        if (v[child] <= x)
            break;
        v[root] = v[child];
    }
    v[root] = x;
}

static void heapsort(uint32_t *v, int n)
{
    for (int i = n / 2; i-- > 0;)
        sift(v, i, n);
    for (int end = n - 1; end > 0; end--) {
        uint32_t t = v[0];

        v[0] = v[end];
        v[end] = t;
        sift(v, 0, end);
    }
}

static void insertion_sort(struct record *v, int n)
{
    for (int i = 1; i < n; i++) {
        struct record x = v[i];
        int j = i;

        for (; j > 0 && v[j - 1].key > x.key; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

int run(void)
{
    uint32_t seed = 7, sum = 0;

    for (int i = 0; i < N; i++)
        a[i] = b[i] = next(&seed);
    for (int i = 0; i < RECORDS; i++) {
        r[i].key = next(&seed) % 500;
        r[i].value = (uint32_t)i;
        r[i].check = (uint32_t)r[i].key + r[i].value;
    }
    quicksort(a, 0, N - 1);
    heapsort(b, N);
    insertion_sort(r, RECORDS);
    for (int i = 0; i < N; i++) {
        if (a[i] != b[i] || (i && a[i - 1] > a[i]))
            return 1;
        sum += a[i] ^ (uint32_t)i;
    }
    for (int i = 0; i < RECORDS; i++)
        if (r[i].check != (uint32_t)r[i].key + r[i].value || (i && r[i - 1].key > r[i].key))
            return 2;
    return sum == 0;
}
