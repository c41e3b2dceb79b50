// SPDX-License-Identifier: MIT
//
// Usage: generated [map|write FOLDER]
//
// Generates two functions and publishes their names as JIT compilers do: in /tmp/perf-PID.map,
// or in FOLDER/jit-PID.dump, mapped as perf requires or only written; and prints the path: the file
// stays. alpha: inc, ret, called five times: 10. beta: three nop, ret, three times: 12. An earlier
// name of alpha's address is not alpha's, and beta was moved to its address.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char code[] = { 0xff, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0xc3 };

static void write_map(FILE *f, uint64_t at)
{
    fprintf(f, "%lx 7 before\n%lx 3 alpha (first tier)\nno line\n%lx 4 beta\n", (long)at, (long)at,
            (long)(at + 3));
}

// ---- jitdump: a header, and records with one before each ----

static void put_head(FILE *f, uint32_t id, size_t size)
{
    uint32_t head[4] = { id, (uint32_t)(16 + size), 0, 0 };

    fwrite(head, sizeof(head), 1, f);
}

static void put_load(FILE *f, uint64_t at, size_t size, const char *name)
{
    uint64_t load[5] = { (uint64_t)getpid() << 32 | (uint32_t)getpid(), at, at, size, 1 };

    put_head(f, 0, sizeof(load) + strlen(name) + 1 + size);
    fwrite(load, sizeof(load), 1, f);
    fwrite(name, strlen(name) + 1, 1, f);
    fwrite(code, size, 1, f);
}

static void put_move(FILE *f, uint64_t from, uint64_t to, size_t size)
{
    uint64_t move[6] = { (uint64_t)getpid() << 32 | (uint32_t)getpid(), to, from, to, size, 2 };

    put_head(f, 1, sizeof(move));
    fwrite(move, sizeof(move), 1, f);
}

static void write_dump(FILE *f, uint64_t at)
{
    uint32_t header[10] = { 0x4a695444, 1, sizeof(header), 62, 0, (uint32_t)getpid() };
    char unknown[24] = { 0 };

    fwrite(header, sizeof(header), 1, f);
    put_load(f, at, 7, "before");
    put_head(f, 77, sizeof(unknown));
    fwrite(unknown, sizeof(unknown), 1, f);
    put_load(f, at, 3, "alpha (first tier)");
    put_load(f, at + 1000, 4, "beta");
    put_move(f, at + 1000, at + 3, 4);
}

// Writes FOLDER, "/", PREFIX, the process's id, SUFFIX and a newline to `path`; returns how many
// bytes that are. The instructions executed do not depend on the number of digits of the id, so two
// runs execute the same.
static size_t put_path(char *path, const char *folder, const char *prefix, const char *suffix)
{
    unsigned pid = (unsigned)getpid(), leading = 0;
    char number[32] = "";
    volatile char *to;

    for (unsigned i = 0, value = pid; i < 7; i++, value /= 10)
        number[6 - i] = (char)('0' + value % 10);
    for (unsigned i = 1, bound = 10; i < 7; i++, bound *= 10)
        leading += pid < bound;
    strcpy(number + 7, suffix);
    strcat(number, "\n");

    to = path + sprintf(path, "%s/%s", folder, prefix);
    for (size_t i = 0; i < sizeof(number) - 7; i++)
        to[i] = number[leading + i];
    return (size_t)((char *)to - path) + 7 - leading + strlen(suffix) + 1;
}

int main(int argc, char **argv)
{
    unsigned char *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*alpha)(void), (*beta)(void);
    char path[4096];
    size_t size;
    FILE *f;

    if (at == MAP_FAILED)
        return 1;
    memcpy(at, code, sizeof(code));
    size = argc < 3 ? put_path(path, "/tmp", "perf-", ".map")
                    : put_path(path, argv[2], "jit-", ".dump");
    path[size - 1] = '\0';
    f = fopen(path, "w+");
    if (!f)
        return 2;
    if (argc >= 3 && strcmp(argv[1], "map") == 0 &&
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
        return 3;
    (argc < 3 ? write_map : write_dump)(f, (uint64_t)at);
    fclose(f);
    path[size - 1] = '\n';
    if (write(STDOUT_FILENO, path, size) != (ssize_t)size)
        return 4;
    alpha = (void (*)(void))at;
    beta = (void (*)(void))(at + 3);
    for (int i = 0; i < 5; i++)
        alpha();
    for (int i = 0; i < 3; i++)
        beta();
    return 0;
}
