// SPDX-License-Identifier: MIT
// Writes at random into writable memory that is not the program's own, 200 times, with some work
// between: wild SEED. Its end is unpredictable.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPPINGS 4096
#define WRITES   200
#define NEAR     65536 // three writes in four go to a mapping's beginning

static struct {
    unsigned long start, end;
} mapping[MAPPINGS];
static int mappings;

static unsigned long state;

static unsigned long random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// The program's own memory and the C library's are not written to: natively that would be as wild.
static void read_mappings(void)
{
    static const char *const own[] = { "wild", "[stack]", "[heap]", "libc", "ld-linux" };
    char line[600];
    FILE *f = fopen("/proc/self/maps", "r");

    while (f && fgets(line, sizeof(line), f) && mappings < MAPPINGS) {
        char rights[5] = "";
        int is_own = 0;

        sscanf(line, "%lx-%lx %4s", &mapping[mappings].start, &mapping[mappings].end, rights);
        for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
            is_own |= strstr(line, own[i]) != NULL;
        mappings += rights[1] == 'w' && !is_own;
    }
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    read_mappings();
    state = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15 + 1;
    for (int i = 0; i < WRITES && mappings; i++) {
        unsigned long m = random_number() % (unsigned long)mappings;
        unsigned long size = mapping[m].end - mapping[m].start;
        unsigned long near = size < NEAR ? size : NEAR;
        unsigned long at = random_number() & 3 ? random_number() % near : random_number() % size;

        *(volatile unsigned char *)(mapping[m].start + at) = (unsigned char)random_number();
        for (volatile int k = 0; k < 20000; k++)
            ;
    }
    puts("survived");
    return 0;
}
