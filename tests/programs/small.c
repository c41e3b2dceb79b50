// SPDX-License-Identifier: MIT
// Without headers, for running the compiler proper alone.
static unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    return x * 0x846ca68bu;
}

void scale(float *restrict a, const float *restrict b, int n)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] * 1.5f + a[i];
}

int parse(const char *s)
{
    int r = 0;
    for (; *s; s++) {
        switch (*s) {
        case '0' ... '9': r = r * 10 + *s - '0'; break;
        case '-': r = -r; break;
        case ' ':
        case '\t': continue;
        default: return (int)mix(r);
        }
    }
    return r;
}
