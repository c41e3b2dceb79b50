// SPDX-License-Identifier: MIT
//
// An image smoothed by a kernel of 3 by 3, through small functions that check their arguments: what
// inlining, moving code out of loops and vectors are for. -O1, or -O3.
#include "../common.h"

#define WIDTH  320
#define HEIGHT 200

static uint16_t image[HEIGHT][WIDTH], smooth[HEIGHT][WIDTH];
static const uint32_t weight[3][3] = { { 1, 2, 1 }, { 2, 4, 2 }, { 1, 2, 1 } };

static int clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

static uint32_t pixel(int y, int x)
{
    return image[clamp(y, HEIGHT - 1)][clamp(x, WIDTH - 1)];
}

static uint32_t around(int y, int x)
{
    uint32_t sum = 0;

    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            sum += weight[i + 1][j + 1] * pixel(y + i, x + j);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < HEIGHT * WIDTH; i++)
        image[i / WIDTH][i % WIDTH] = draw(&state) >> 52;
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                smooth[y][x] = around(y, x) / 16;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                sum += image[y][x] = (smooth[y][x] * 3u + n) & 4095;
    }
    return print_sum(sum);
}
