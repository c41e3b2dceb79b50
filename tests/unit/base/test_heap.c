// SPDX-License-Identifier: MIT
// engine/base/heap.c and engine/base/clientmem.c, the objects that the engine is linked from. The
// heap is at ENGINE_HEAP_BASE here, too; the handler below does for clientmem what
// engine/signal/handler.c does.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/extable.h"
#include "engine/base/heap.h"
#include "engine/base/layout.h"
#include "engine/base/nolibc.h"

#define PAGE 4096

// ---- Heap ----

struct owned {
    u8 *p;
    u64 bytes;
    u8 mark;
};

static void check_and_free(struct owned *o)
{
    for (u64 i = 0; i < o->bytes; i++)
        assert_int_equal(o->p[i], o->mark);
    heap_free(o->p, o->bytes);
    o->p = NULL;
}

// Random sizes, up to 300 live blocks: every block is zeroed, aligned, and overlaps no other.
static void heap_random(void **state)
{
    static struct owned own[300];
    u32 seed = 1;

    (void)state;
    for (u32 round = 0; round < 20000; round++) {
        seed = seed * 1664525 + 1013904223;
        struct owned *o = &own[(seed >> 8) % ARRAY_SIZE(own)];
        if (o->p) {
            check_and_free(o);
            continue;
        }
        u32 kind = seed >> 28;
        o->bytes = kind == 0  ? (seed >> 4) % 200000
                   : kind < 4 ? (seed >> 4) % 9000
                              : (seed >> 4) % 300;
        o->mark = (u8)round;
        o->p = heap_alloc(o->bytes);
        assert_true((u64)o->p >= ENGINE_HEAP_BASE);
        assert_true((u64)o->p + o->bytes <= ENGINE_HEAP_BASE + ENGINE_HEAP_SIZE);
        assert_int_equal((u64)o->p % 16, 0);
        if (o->bytes >= 32768)
            assert_int_equal((u64)o->p % PAGE, 0);
        for (u64 i = 0; i < o->bytes; i++) {
            assert_int_equal(o->p[i], 0);
            o->p[i] = o->mark;
        }
    }
    for (u32 i = 0; i < ARRAY_SIZE(own); i++)
        if (own[i].p)
            check_and_free(&own[i]);
    heap_free(NULL, 5);
}

// A freed block is reused: the same address, zeroed.
static void heap_reuses(void **state)
{
    static const u64 sizes[] = { 1,    16,   17,   112,  128,   129,   160,   161,   192,
                                 1000, 1024, 1025, 4096, 32767, 32768, 50000, 100000 };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
        u8 *p = heap_alloc(sizes[i]), *q;
        p[0] = p[sizes[i] - 1] = 1;
        heap_free(p, sizes[i]);
        q = heap_alloc(sizes[i]);
        if (sizes[i] < 32768)
            assert_ptr_equal(p, q);
        assert_int_equal(q[0] | q[sizes[i] - 1], 0);
        heap_free(q, sizes[i]);
    }
    char *s = heap_strdup("text");
    assert_string_equal(s, "text");
}

// From 2 MiB on at a multiple of that.
static void heap_large_aligned(void **state)
{
    u8 *a = heap_large(PAGE), *b = heap_large(2 << 20), *c = heap_large((5 << 20) + 1);

    (void)state;
    assert_int_equal((u64)a % PAGE, 0);
    assert_int_equal((u64)b % (2 << 20), 0);
    assert_int_equal((u64)c % (2 << 20), 0);
    assert_true(b >= a + PAGE && c >= b + (2 << 20));
    for (u64 i = 0; i <= 5 << 20; i += PAGE / 2)
        assert_int_equal(c[i], 0);
    memset(b, 1, 2 << 20);
    memset(c, 1, (5 << 20) + 1);
    assert_int_equal(b[(2 << 20) - 1], 1);
}

static void heap_pages_aligned(void **state)
{
    (void)state;
    u8 *a = heap_pages(1), *b = heap_pages(PAGE + 1);
    assert_int_equal((u64)a % PAGE, 0);
    assert_int_equal((u64)b % PAGE, 0);
    assert_true(b + 2 * PAGE <= a || a + PAGE <= b);
}

static u64 heap_end(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long start, end, last = 0;
    char line[512];

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start >= ENGINE_HEAP_BASE &&
            start < ENGINE_HEAP_BASE + ENGINE_HEAP_SIZE)
            last = end;
    fclose(f);
    return last;
}

// The heap's lines of /proc/self/maps do not depend on how much the engine needs. Under a limit no
// more is mapped than needed, in pieces of 256 KiB.
static void heap_ends_even(void **state)
{
    (void)state;
    for (u32 i = 0; i < 40; i++) {
        heap_pages(1 << 20);
        assert_int_equal(heap_end() % (32 << 20), 0);
    }
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit much = { 1ul << 40, 1ul << 40 };
        u64 end = heap_end();

        setrlimit(RLIMIT_AS, &much);
        while (heap_end() == end) // uses up the mapped part
            heap_pages(4096);
        _exit(heap_end() - end == 0x40000 ? 44 : 45);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 44 << 8);
}

// The message says how much was needed: 1 GiB, less the mapped and free part of the heap (it ends
// on multiples of 32 MiB), where nothing more may be mapped; 97 GiB where there is space for 96.
static void heap_ends(void **state)
{
    (void)state;
    for (u32 i = 0; i < 2; i++) {
        char text[256] = "", *number;
        int to[2], status;

        assert_int_equal(pipe(to), 0);
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = { 0, 0 };

            engine_log_fd = to[1];
            if (i == 0)
                setrlimit(RLIMIT_AS, &none);
            heap_alloc(i ? 97ul << 30 : 1ul << 30);
            _exit(0);
        }
        close(to[1]);
        assert_true(read(to[0], text, sizeof(text) - 1) > 0);
        close(to[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, ENGINE_DIE_STATUS << 8);
        if (i == 1) {
            assert_non_null(strstr(text, "engine memory is used up: more than 96 GiB\n"));
            continue;
        }
        number = strstr(text, "cannot map ");
        assert_non_null(number);
        u64 kib = strtoul(number + 11, &number, 10);
        assert_in_range(kib, (1u << 20) - (32u << 10), 1u << 20);
        assert_string_equal(number, " KiB for the engine's memory: the limit on address space "
                                    "(ulimit -v 0) is too low: raise it\n");
    }
}

// ---- Safe copies ----

static void on_fault(int sig, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const struct extable *to = extable_find((u64)r[REG_RIP], EXTABLE_FAULT);

    (void)info;
    if (!to) {
        signal(sig, SIG_DFL);
        return;
    }
    r[REG_RIP] = (greg_t)extable_target(to);
}

static u8 *page; // readable and writable; the next one is unmapped

// Called by each test itself: cmocka installs its own handlers before each.
static void prepare(void)
{
    struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    if (page)
        return;
    page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(munmap(page + PAGE, PAGE), 0);
}

// A copy that reaches `over` bytes into the unmapped page: exactly the bytes before it are copied.
static void safe_edges(void **state)
{
    u8 buf[256];

    (void)state;
    prepare();
    for (u32 i = 0; i < PAGE; i++)
        page[i] = (u8)(i * 7 + 1);
    for (u32 n = 0; n < 80; n++)
        for (u32 over = 0; over <= n; over++) {
            u64 from = (u64)page + PAGE - (n - over);
            for (u32 i = 0; i < sizeof(buf); i++)
                buf[i] = 0;
            assert_int_equal(clientmem_read_some(buf, from, n), n - over);
            for (u32 i = 0; i < n - over; i++)
                assert_int_equal(buf[i], ((u8 *)from)[i]);
            assert_int_equal(buf[n - over], 0);
            assert_int_equal(clientmem_read(buf, from, n), over ? -14 : 0);
            assert_int_equal(clientmem_write(from, buf, n), over ? -14 : 0);
        }
}

static void safe_nowhere(void **state)
{
    static const u64 bad[] = { 0, 8, 0x8000000000000000, 0xffffffffff600000, 0xfffffffffffffff8 };
    u64 word = 5;
    u32 half = 5;

    (void)state;
    prepare();
    for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(clientmem_read(&word, bad[i], 8), -14);
        assert_int_equal(clientmem_read(&word, bad[i], 0), 0);
        assert_int_equal(clientmem_write(bad[i], &word, 1), -14);
        assert_int_equal(clientmem_read_u64(bad[i], &word), -14);
        assert_int_equal(clientmem_read_u32(bad[i], &half), -14);
        assert_int_equal(clientmem_write_u64(bad[i], 1), -14);
        assert_int_equal(clientmem_write_u32(bad[i], 1), -14);
        assert_int_equal(clientmem_strnlen(bad[i], 10), -14);
    }
    assert_int_equal(word, 5);
    assert_int_equal(half, 5);
    assert_int_equal(clientmem_write_u64((u64)page, 0x1122334455667788), 0);
    assert_int_equal(clientmem_read_u32((u64)page + 4, &half), 0);
    assert_int_equal(half, 0x11223344);
    assert_int_equal(clientmem_write_u32((u64)page + 4, 0xaabbccdd), 0);
    assert_int_equal(clientmem_read_u64((u64)page, &word), 0);
    assert_int_equal(word, 0xaabbccdd55667788);
    // Writes to a read-only page.
    assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
    assert_int_equal(clientmem_write((u64)page, &word, 8), -14);
    assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
    assert_null(extable_find((u64)safe_nowhere, EXTABLE_FAULT));
}

// Strings that end right before the unmapped page, and those that run into it.
static void client_strings(void **state)
{
    char buf[300];

    (void)state;
    prepare();
    for (u32 len = 0; len < 200; len++) {
        char *s = (char *)page + PAGE - 1 - len;
        for (u32 i = 0; i < len; i++)
            s[i] = 'x';
        s[len] = 0;
        assert_int_equal(clientmem_strnlen((u64)s, 4096), len);
        assert_int_equal(clientmem_strnlen((u64)s, len), len);
        assert_int_equal(clientmem_strnlen((u64)s, len / 2),
                         len / 2); // the page ends soon
        assert_int_equal(clientmem_read_str(buf, (u64)s, sizeof(buf)), len);
        assert_string_equal(buf, s);
        assert_int_equal(clientmem_read_str(buf, (u64)s, len + 1), len);
        assert_int_equal(clientmem_read_str(buf, (u64)s, len), -36); // ENAMETOOLONG
        s[len] = 'x';
        assert_int_equal(clientmem_strnlen((u64)s, 4096), -14);
        assert_int_equal(clientmem_strnlen((u64)s, len + 1), len + 1);
        assert_int_equal(clientmem_read_str(buf, (u64)s, sizeof(buf)), -14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_random),        cmocka_unit_test(heap_reuses),
        cmocka_unit_test(heap_pages_aligned), cmocka_unit_test(heap_ends),
        cmocka_unit_test(heap_large_aligned), cmocka_unit_test(heap_ends_even),
        cmocka_unit_test(safe_edges),         cmocka_unit_test(safe_nowhere),
        cmocka_unit_test(client_strings),
    };

    return cmocka_run_group_tests_name("engine memory", tests, NULL, NULL);
}
