// SPDX-License-Identifier: MIT
// Loads one byte of each line of an array of 1 MiB, again and again, until it is killed: with a D1
// of 32 KiB each load misses, and its instructions make no other reference.
static volatile char array[1 << 20];

int main(void)
{
    for (;;)
        for (int i = 0; i < 1 << 20; i += 64)
            array[i];
}
