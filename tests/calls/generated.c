// SPDX-License-Identifier: MIT
//
// Generates two functions and says their names as compilers at run time do, in /tmp/perf-PID.map,
// which is left behind. alpha: inc, ret, called five times: 10. beta: three nop, ret, three times:
// 12. The name that alpha's place had before is not its own.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    static const unsigned char code[] = { 0xff, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0xc3 };
    unsigned char *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*alpha)(void), (*beta)(void);
    char path[64];
    FILE *f;

    if (at == MAP_FAILED)
        return 1;
    memcpy(at, code, sizeof(code));
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    f = fopen(path, "w");
    if (!f)
        return 2;
    fprintf(f, "%lx 7 before\n%lx 3 alpha (first tier)\nno line\n%lx 4 beta\n", (long)at, (long)at,
            (long)(at + 3));
    fclose(f);
    puts(path);
    alpha = (void (*)(void))at;
    beta = (void (*)(void))(at + 3);
    for (int i = 0; i < 5; i++)
        alpha();
    for (int i = 0; i < 3; i++)
        beta();
    return 0;
}
