// SPDX-License-Identifier: MIT
// What a program can do to the replayer, whose code and data it can write. It knows
// their addresses (engine/base/layout.h), as an attacker would.
//
//   attack create FILE  becomes nobody, then puts code into the replayer that creates FILE: the
//                       file's owner shows which user executes it
//   attack loop         puts an endless loop there, and continues
//   attack call         the same, and makes a call before which that process has to end
//   attack leave        the same, then is killed, and leaves an orphan that executes it; prints the
//                       id of the replayer before
#define _GNU_SOURCE
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LATE  ((unsigned char *)0x7e8fc0000000 + 0x10000000) // routines made while replaying
#define BYTES 20000

static volatile unsigned long sink;

static void work(unsigned long n)
{
    static volatile char memory[1 << 16];

    for (unsigned long i = 0; i < n; i++) {
        memory[i * 64 % sizeof(memory)]++;
        sink += i;
    }
}

// creat(FILE), exit_group(7), after as many nops as there may be routines.
static void create(const char *file)
{
    static const unsigned char code[] = {
        0x48, 0x8d, 0x3d, 0x20, 0x00, 0x00, 0x00, // lea rdi, [rip + 0x20]
        0xb8, 0x55, 0x00, 0x00, 0x00,             // mov eax, 85
        0xbe, 0xb6, 0x01, 0x00, 0x00,             // mov esi, 0666
        0x0f, 0x05,                               // syscall
        0xbf, 0x07, 0x00, 0x00, 0x00,             // mov edi, 7
        0xb8, 0xe7, 0x00, 0x00, 0x00,             // mov eax, 231
        0x0f, 0x05,                               // syscall
    };
    unsigned char *at = LATE + BYTES;

    memset(LATE, 0x90, BYTES);
    memcpy(at, code, sizeof(code));
    strcpy((char *)at + 7 + 0x20, file);
}

// Nops, at any start offset, and a jump back to the first.
static void loop(void)
{
    int back = -(BYTES + 5);

    memset(LATE, 0x90, BYTES);
    LATE[BYTES] = 0xe9; // jmp
    memcpy(LATE + BYTES + 1, &back, sizeof(back));
}

// The process beside this one; 0: none.
static int beside(void)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

// It sleeps: nothing is left to replay, and nothing executes the code that is overwritten now.
static void until_it_sleeps(int pid)
{
    char path[64], line[512] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    for (int seen = 0; seen < 3;) {
        FILE *f = fopen(path, "r");

        if (!f || !fgets(line, sizeof(line), f))
            return; // none
        fclose(f);
        seen = strstr(line, ") S ") ? seen + 1 : 0;
        usleep(2000);
    }
}

int main(int argc, char **argv)
{
    int pid;

    if (argc < 2)
        return 2;
    work(600000);
    if (!strcmp(argv[1], "create")) {
        if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
            return 2;
        work(600000); // so that a new replayer has started
    }
    pid = beside();
    printf("beside: %d\n", pid);
    fflush(stdout);
    until_it_sleeps(pid);
    if (!strcmp(argv[1], "create"))
        create(argv[2]);
    else
        loop();
    // `call` has passed some of it, but not so much that it waits for that.
    work(strcmp(argv[1], "leave") == 0 ? 10000 : strcmp(argv[1], "call") == 0 ? 120000 : 60000000);
    if (!strcmp(argv[1], "call") && setgid(getgid()))
        return 2;
    if (!strcmp(argv[1], "leave"))
        kill(getpid(), SIGKILL);
    puts("survived");
    return 0;
}
