// SPDX-License-Identifier: MIT
// More address space than there is between the libraries and other mappings: memory reserved,
// grown, moved or attached there can be used, protected and freed, in any amount, while threads
// start and end; and an address beyond this processor's range is a hint like any other.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define GIB    (1ul << 30)
#define PIECES 64u
#define PIECE  (30 * GIB)

static char *piece[PIECES];

static char *reserve(void *hint, unsigned long bytes, int flags)
{
    return mmap(hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

// The first and the last page can be used.
static void use(char *p, unsigned long bytes, char value)
{
    CHECK(p != MAP_FAILED);
    if (p == MAP_FAILED)
        return;
    for (char *at = p; at <= p + bytes - 4096; at += bytes - 4096) {
        CHECK(mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
        *at = value;
    }
}

static void give_back(char *p, unsigned long bytes, char value)
{
    if (p == MAP_FAILED)
        return;
    CHECK(*p == value && p[bytes - 4096] == value);
    CHECK(madvise(p, 4096, MADV_DONTNEED) == 0 && *p == 0);
    CHECK(munmap(p, bytes) == 0);
    CHECK(mprotect(p, 4096, PROT_READ) == -1 && errno == ENOMEM);
}

static void *nothing(void *arg)
{
    return arg;
}

static void threads(void)
{
    pthread_t t[20];

    for (unsigned i = 0; i < 20; i++)
        CHECK(pthread_create(&t[i], NULL, nothing, NULL) == 0);
    for (unsigned i = 0; i < 20; i++)
        CHECK(pthread_join(t[i], NULL) == 0);
}

static void one(unsigned long bytes)
{
    char *p = reserve(NULL, bytes, 0);

    use(p, bytes, 5);
    threads();
    give_back(p, bytes, 5);
}

// A mapping that grows, and one that moves and leaves its old address mapped.
static void moved(void)
{
    char *p = reserve(NULL, 3 * GIB, 0), *q;

    CHECK(p != MAP_FAILED);
    CHECK(mremap(p, 3 * GIB, PIECE + 3 * GIB, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)4097) ==
          MAP_FAILED);
    q = mremap(p, 3 * GIB, 2 * PIECE, MREMAP_MAYMOVE);
    use(q, 2 * PIECE, 6);
    give_back(q, 2 * PIECE, 6);

    p = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    use(p, 2 * PIECE, 7);
    CHECK(mremap(p, 2 * PIECE, 2 * PIECE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, (char *)1) ==
          MAP_FAILED);
    q = mremap(p, 2 * PIECE, 2 * PIECE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    CHECK(q != MAP_FAILED && q != p && *p == 0);
    give_back(q, 2 * PIECE, 7);
    CHECK(munmap(p, 2 * PIECE) == 0);
}

// A segment, if the system allows one that large; and the ring that the kernel places.
static void attached(void)
{
    int id = shmget(IPC_PRIVATE, 2 * PIECE, IPC_CREAT | 0600 | 010000 /* SHM_NORESERVE */);
    unsigned long ring = 0;

    if (id >= 0) {
        char *p = shmat(id, NULL, 0), *q = shmat(id, NULL, SHM_RDONLY);

        CHECK(shmctl(id, IPC_RMID, NULL) == 0);
        CHECK(p != (char *)-1 && q != (char *)-1 && p != q);
        p[2 * PIECE - 1] = 8;
        CHECK(q[2 * PIECE - 1] == 8);
        CHECK(mprotect(p, 4096, PROT_READ) == 0);
        CHECK(shmdt(p) == 0 && shmdt(q) == 0);
        CHECK(shmdt(p) == -1 && errno == EINVAL);
    }
    if (syscall(SYS_io_setup, 1000, &ring) == 0) {
        CHECK(mprotect((void *)ring, 4096, PROT_READ) == 0);
        CHECK(syscall(SYS_io_destroy, ring) == 0);
    }
}

static void hints(void)
{
    static const unsigned long at[] = { 1ul << 47, 1ul << 48, 0x00fffffffffff000ul, 0x123450000000,
                                        ~0xffful };

    for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        char *p = reserve((void *)at[i], GIB, 0);

        if (i == 3)
            CHECK(p == (char *)at[i]);
        use(p, GIB, 9);
        give_back(p, GIB, 9);
    }
    CHECK(reserve(NULL, 1ul << 47, 0) == MAP_FAILED && errno == ENOMEM);
    CHECK(reserve(NULL, ~0xffful, 0) == MAP_FAILED && errno == ENOMEM);
    CHECK(reserve(NULL, 0, 0) == MAP_FAILED && errno == EINVAL);
}

int main(void)
{
    one(2048 * GIB);
    one(1500 * GIB);
    for (unsigned i = 0; i < PIECES; i++) {
        piece[i] = reserve(NULL, PIECE, 0);
        use(piece[i], PIECE, (char)(i + 1));
    }
    threads();
    moved();
    attached();
    hints();
    char *stack = reserve(NULL, PIECE, MAP_GROWSDOWN);
    use(stack, PIECE, 10);
    give_back(stack, PIECE, 10);
    for (unsigned i = 0; i < PIECES; i++)
        give_back(piece[i], PIECE, (char)(i + 1));
    return check_failed;
}
