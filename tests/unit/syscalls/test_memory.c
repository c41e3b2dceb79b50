// SPDX-License-Identifier: MIT
// engine/syscalls/memory.c: the client's memory calls are real, in the test's own area. The log has
// the calls to vmmap before and after, in pages from the area's start. The area's pages 48 to 63
// play the engine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/vmmap.h"
#include "engine/syscalls/memory.h"
#include "engine/thread/stopworld.h"
#include "tests/unit/objects/objects_none.h"

#define PAGES      68u
#define ENGINE     48u // page
#define ENGINE_END 64u

static u64 base, gaps_top;
static char told[512];

static void tell(const char *what, u64 start, u64 end, const char *rest)
{
    char *at = told + strlen(told);

    snprintf(at, sizeof(told) - (u64)(at - told), "%s%s %ld-%ld%s", at == told ? "" : ", ", what,
             ((long)start - (long)base) / 4096, ((long)end - (long)base) / 4096, rest);
}

void vmmap_before(u64 start, u64 end)
{
    tell("before", start, end, "");
}

void vmmap_add(u64 start, u64 end, u32 prot, u32 flags)
{
    char rest[32];

    snprintf(rest, sizeof(rest), " %c%c%c%s%s", prot & PROT_READ ? 'r' : '-',
             prot & PROT_WRITE ? 'w' : '-', prot & PROT_EXEC ? 'x' : '-',
             flags & VMMAP_SHARED ? " shared" : "", flags & VMMAP_ANON ? " anon" : "");
    tell("add", start, end, rest);
}

void vmmap_remove(u64 start, u64 end)
{
    tell("remove", start, end, "");
}

void vmmap_protect(u64 start, u64 end, u32 prot)
{
    tell("protect", start, end, prot & PROT_WRITE ? " w" : prot & PROT_EXEC ? " x" : " r");
}

void vmmap_move(u64 old_start, u64 old_end, u64 new_start, u64 new_end, bool keep_old)
{
    tell("move", old_start, old_end, keep_old ? " kept" : "");
    tell("to", new_start, new_end, "");
}

u32 vmmap_spool_map(u64 addr)
{
    tell("noted", addr, addr + 4096, "");
    return 0;
}

static bool is_elf; // whatever is mapped
static u32 blocking;

bool modules_check(int fd, struct k_stat *st)
{
    assert_int_equal(blocking, 1);
    assert_true(fd >= 0);
    st->st_ino = 17;
    return is_elf;
}

void vmmap_hold(int fd, const struct k_stat *st)
{
    assert_int_equal(blocking, 0);
    assert_int_equal(st->st_ino, 17);
    tell("kept", base, base, fd < 0 ? " no descriptor" : "");
}

static u32 to_hold, looks; // files that mprotect makes executable; looked up so far

bool vmmap_next_file(u64 *at, u64 end, struct vmmap_file *out)
{
    assert_int_equal(blocking, 0);
    if (!to_hold)
        return false;
    to_hold--;
    looks = 0;
    tell("file", *at, end, "");
    *at += 4096;
    out->deleted = true;
    return true;
}

// The first time it may take long.
void modules_look(struct vmmapfile_line *l, bool deleted, struct modules_found *out)
{
    (void)l;
    assert_true(deleted);
    assert_int_equal(blocking, looks == 0);
    looks++;
    out->fd = 40 + (int)looks;
}

void modules_looked(struct modules_found *found)
{
    assert_int_equal(blocking, found->fd == 41);
    found->fd = -1;
}

void vmmap_hold_file(struct vmmap_file *file, const struct modules_found *found)
{
    assert_true(file->deleted);
    assert_int_equal(blocking, 0);
    assert_int_equal(found->fd, 42);
    tell("held", base, base, "");
}

static u64 gap, gaps_len; // what is free below the place that was asked for, and how much was asked
static u64 next_gap;      // once the map knows what was in the way

u64 vmmap_gap(u64 len, u64 top)
{
    gaps_len = len;
    assert_int_equal(top, gaps_top);
    return gap;
}

void vmmap_learn(u64 start, u64 end)
{
    tell("learn", start, end, "");
    gap = next_gap;
}

static bool room = true; // for the kernel to choose
static u64 rooms_len;

bool vmmap_has_room(u64 len)
{
    rooms_len = len;
    return room;
}

static u64 known_end; // of what the map knows at any address; 0: it knows nothing

bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    *out = (struct vmmap_info){ .start = addr, .end = known_end };
    return known_end != 0;
}

static u64
    chosen; // of the engine's too, if not 0: the page that the kernel would choose, and the next

bool vmmap_engine(u64 start, u64 end, u64 *from, u64 *to)
{
    *from = chosen;
    *to = chosen + 8192;
    if (chosen && start < *to && end > *from)
        return true;
    *from = base + ENGINE * 4096;
    *to = base + ENGINE_END * 4096;
    return start < *to && end > *from;
}

bool vmmap_is_engine(u64 start, u64 end)
{
    u64 from, to;

    return vmmap_engine(start, end, &from, &to);
}

void stopworld_blocking_begin(struct thread *t)
{
    (void)t;
    blocking++;
}

void stopworld_blocking_end(struct thread *t)
{
    (void)t;
    blocking--;
}

void gate_return(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
    t->pc = t->sc_next;
}

// -- helpers of the tests --

static struct thread thread, *const t = &thread;

static int setup(void **state)
{
    (void)state;
    if (!base)
        base = (u64)sys_mmap(0, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sys_mmap(base, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(t, 0, sizeof(*t));
    t->sc_next = 0x401002;
    told[0] = 0;
    gap = next_gap = 0;
    room = true;
    chosen = 0;
    gaps_top = REPLAY_BASE;
    memory_init(0, 0);
    return 0;
}

static u64 page(u32 n)
{
    return base + n * 4096ul;
}

static long call(u32 nr, u64 a, u64 b, u64 c, u64 d, u64 e)
{
    told[0] = 0;
    t->pc = 0x401000;
    t->regs[R_RDI] = a;
    t->regs[R_RSI] = b;
    t->regs[R_RDX] = c;
    t->regs[10] = d;
    t->regs[8] = e;
    t->regs[9] = 0;
    assert_true(memory_call(t, nr));
    assert_int_equal(t->pc, 0x401002);
    assert_int_equal(blocking, 0);
    return (long)t->regs[R_RAX];
}

#define ANON  (MAP_PRIVATE | MAP_ANONYMOUS)
#define FIXED (ANON | MAP_FIXED)

static void test_mmap(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_mmap, page(2), 5000, PROT_READ | PROT_WRITE, FIXED, ~0u), page(2));
    assert_string_equal(told, "before 2-4, add 2-4 rw- anon");
    *(u8 *)page(3) = 1;
    assert_int_equal(
        call(SYS_mmap, page(4), 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, ~0u),
        page(4));
    assert_string_equal(told, "before 4-5, add 4-5 r-- shared anon");
    // The engine must be able to read execute-only memory; the map has the client's protection.
    assert_int_equal(call(SYS_mmap, page(5), 4096, PROT_EXEC, FIXED, ~0u), page(5));
    assert_string_equal(told, "before 5-6, add 5-6 --x anon");
    assert_int_equal(*(volatile u8 *)page(5), 0);
    // The range is taken.
    assert_int_equal(call(SYS_mmap, page(2), 4096, PROT_READ, ANON | MAP_FIXED_NOREPLACE, ~0u),
                     -EEXIST);
    assert_string_equal(told, "");
    assert_int_equal(call(SYS_mmap, page(2), 0, PROT_READ, FIXED, ~0u), -EINVAL);
}

// A file with the names of generated code is recorded by its name when it is mapped executable.
static void test_mmap_jitdump(void **state)
{
    static const struct {
        const char *name;
        u64 prot;
        const char *told;
    } file[] = {
        { "jit-17.dump", PROT_READ | PROT_EXEC, "before 2-3, add 2-3 r-x, noted 2-3" },
        { "jit-17.dump", PROT_READ, "before 2-3, add 2-3 r--" },
        { "jit-17.dumps", PROT_READ | PROT_EXEC, "before 2-3, add 2-3 r-x" },
        { "ajit-17.dump", PROT_READ | PROT_EXEC, "before 2-3, add 2-3 r-x" },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(file); i++) {
        char folder[] = "/tmp/test_memory.XXXXXX", path[64];

        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/%s", folder, file[i].name);
        int fd = (int)sys_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0);
        assert_int_equal(
            call(SYS_mmap, page(2), 4096, file[i].prot, MAP_PRIVATE | MAP_FIXED, (u64)fd), page(2));
        assert_string_equal(told, file[i].told);
        close(fd);
        unlink(path);
        rmdir(folder);
    }
}

// Only a file that is mapped executable is kept.
static void test_mmap_kept(void **state)
{
    int fd = (int)sys_open("/proc/self/exe", O_RDONLY, 0);
    int here = (int)sys_call1(SYS_personality, 0xffffffff);

    (void)state;
    is_elf = true;
    call(SYS_mmap, page(2), 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, (u64)fd);
    assert_string_equal(told, "before 2-3, add 2-3 r-x, kept 0-0");
    call(SYS_mmap, page(2), 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, (u64)fd);
    assert_string_equal(told, "before 2-3, add 2-3 r--");
    call(SYS_mmap, page(2), 4096, PROT_READ | PROT_EXEC, FIXED, (u64)fd);
    assert_string_equal(told, "before 2-3, add 2-3 r-x anon");
    assert_true(call(SYS_mmap, page(2), 4096, PROT_READ | PROT_EXEC, MAP_SHARED, ~0u) < 0);
    assert_string_equal(told, "");
    is_elf = false;
    call(SYS_mmap, page(2), 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, (u64)fd);
    assert_string_equal(told, "before 2-3, add 2-3 r-x");
    // What is readable is executable here.
    is_elf = true;
    assert_true(call(SYS_personality, (u64)here | 0x400000, 0, 0, 0, 0) >= 0);
    call(SYS_mmap, page(2), 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, (u64)fd);
    assert_string_equal(told, "before 2-3, add 2-3 r-x, kept 0-0");
    call(SYS_personality, (u64)here, 0, 0, 0, 0);
    is_elf = false;
    close(fd);
}

static void test_mmap_engine(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_mmap, page(47), 8192, PROT_READ, FIXED, ~0u), -ENOMEM);
    assert_string_equal(told, "");
    assert_int_equal(call(SYS_mmap, page(48), 1, PROT_READ, ANON | MAP_FIXED_NOREPLACE, ~0u),
                     -EEXIST);
    assert_int_equal(call(SYS_mprotect, page(47), 4097, PROT_NONE, 0, 0), -ENOMEM);
    assert_int_equal(call(SYS_madvise, page(50), 1, MADV_DONTNEED, 0, 0), -ENOMEM);
    assert_int_equal(call(SYS_mremap, page(50), 4096, 4096, 0, 0), -EFAULT);
    assert_int_equal(call(SYS_remap_file_pages, page(50), 4096, 0, 0, 0), -EINVAL);
    assert_int_equal(call(SYS_mseal, page(50), 4096, 0, 0, 0), -ENOMEM);
    assert_string_equal(told, "");
    // As a hint it is ignored, though the kernel would take it.
    sys_munmap(page(48), 4096);
    u64 got = (u64)call(SYS_mmap, page(48), 4096, PROT_READ, ANON, ~0u);

    assert_false(vmmap_is_engine(got, got + 4096));
    assert_true(got % 4096 == 0);
    sys_munmap(got, 4096);
}

// With --reproducible: where the hint says if that is free, else in the highest gap below a fixed
// address, and where the kernel likes only if both are taken. Of the area all is but pages 4 to 7.
static void test_mmap_placed(void **state)
{
    (void)state;
    memory_init(0, page(ENGINE));
    gap = page(6);
    gaps_top = page(ENGINE);
    sys_munmap(page(4), 4 * 4096);
    assert_int_equal(call(SYS_mmap, 0, 8000, PROT_READ, ANON, ~0u), page(6));
    assert_string_equal(told, "add 6-8 r-- anon");
    assert_int_equal(call(SYS_mmap, page(4) + 5, 8000, PROT_READ, ANON, ~0u), page(4));
    assert_string_equal(told, "add 4-6 r-- anon");
    sys_munmap(page(6), 8192);
    assert_int_equal(call(SYS_mmap, page(4), 8000, PROT_READ, ANON, ~0u), page(6));
    assert_string_equal(told, "add 6-8 r-- anon");
    u64 got = (u64)call(SYS_mmap, page(4), 8000, PROT_READ, ANON, ~0u);
    assert_true(got % 4096 == 0 && (got < base || got >= base + PAGES * 4096));
    sys_munmap(got, 8192);
    gap = 0;
    got = (u64)call(SYS_mmap, 0, 8000, PROT_READ, ANON, ~0u);
    assert_true(got % 4096 == 0 && (got < base || got >= base + PAGES * 4096));
    sys_munmap(got, 8192);
    // A fixed address is used as it is.
    assert_int_equal(call(SYS_mmap, page(4), 8000, PROT_READ, FIXED, ~0u), page(4));
    memory_init(0, 0);
}

static void test_munmap_and_mprotect(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_mprotect, page(1), 8192, PROT_READ | PROT_EXEC, 0, 0), 0);
    assert_string_equal(told, "protect 1-3 x"); // code there stays valid
    // Files of both pages are looked up, twice each, and held.
    to_hold = 2;
    assert_int_equal(call(SYS_mprotect, page(1), 8192, PROT_READ | PROT_EXEC, 0, 0), 0);
    assert_string_equal(told, "protect 1-3 x, file 1-3, held 0-0, file 2-3, held 0-0");
    assert_int_equal(looks, 2);
    to_hold = 1;
    assert_int_equal(call(SYS_mprotect, page(1), 4096, PROT_READ | PROT_WRITE, 0, 0), 0);
    assert_string_equal(told, "before 1-2, protect 1-2 w"); // none for what is not executable
    assert_int_equal(to_hold, 1);
    to_hold = 0;
    assert_int_equal(call(SYS_mprotect, page(2), 1, PROT_READ, 0, 0), 0);
    assert_string_equal(told, "before 2-3, protect 2-3 r");
    assert_int_equal(call(SYS_munmap, page(2), 1, 0, 0, 0), 0);
    assert_string_equal(told, "before 2-3, remove 2-3");
    assert_int_equal(call(SYS_mprotect, page(2), 4096, PROT_READ, 0, 0), -ENOMEM);
    assert_string_equal(told, "before 2-3"); // nothing has changed
    // The kernel refuses a range that wraps around.
    assert_int_equal(call(SYS_munmap, ~0xffful, 0x2000, 0, 0, 0), -EINVAL);
    assert_string_equal(told, "");
}

static void test_mremap(void **state)
{
    (void)state;
    sys_mprotect(page(1), 8192, PROT_READ | PROT_WRITE);
    *(u8 *)page(2) = 77;
    assert_int_equal(
        call(SYS_mremap, page(1), 8192, 12288, MREMAP_MAYMOVE | MREMAP_FIXED, page(10)), page(10));
    assert_string_equal(told, "before 1-3, before 10-13, move 1-3, to 10-13");
    assert_int_equal(*(u8 *)page(11), 77);
    assert_int_equal(call(SYS_mremap, page(10), 12288, 12288,
                          MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, page(20)),
                     page(20));
    assert_string_equal(told, "before 10-13, before 20-23, move 10-13 kept, to 20-23");
    assert_int_equal(*(u8 *)page(21), 77);
    assert_int_equal(
        call(SYS_mremap, page(20), 12288, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page(48)),
        -EINVAL); // the engine's
    assert_string_equal(told, "");
}

static bool is_there(u32 n)
{
    return sys_madvise(page(n), 4096, 0 /* MADV_NORMAL */) == 0;
}

// Nothing in the engine's ranges is unmapped; everything around them is, and the result is that of
// a range without mappings.
static void test_munmap_engine(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_munmap, page(46), 20 * 4096, 0, 0, 0), 0);
    assert_string_equal(told, "before 46-66, remove 46-66");
    for (u32 n = 45; n < 67; n++)
        assert_int_equal(is_there(n), n == 45 || n == 66 || (n >= ENGINE && n < ENGINE_END));
    assert_int_equal(call(SYS_munmap, page(63), 1, 0, 0, 0), 0);
    assert_int_equal(call(SYS_munmap, page(40), 9 * 4096, 0, 0, 0), 0);
    assert_int_equal(call(SYS_munmap, page(62), 5 * 4096, 0, 0, 0), 0);
    for (u32 n = 39; n < 68; n++)
        assert_int_equal(is_there(n), n == 39 || n == 67 || (n >= ENGINE && n < ENGINE_END));
    assert_int_equal(call(SYS_munmap, page(46) + 1, 20 * 4096, 0, 0, 0), -EINVAL);
}

// If there is no space above the engine, the engine chooses an address below itself.
static void test_beside(void **state)
{
    u64 got;

    (void)state;
    room = false;
    gap = page(6);
    sys_munmap(page(4), 4 * 4096);
    assert_int_equal(call(SYS_mmap, 0, 8000, PROT_READ, ANON, ~0u), page(6));
    assert_string_equal(told, "add 6-8 r-- anon");
    assert_int_equal(gaps_len, 8192);
    // At the hint, if that is free.
    assert_int_equal(call(SYS_mmap, page(4) + 5, 4096, PROT_READ, ANON, ~0u), page(4));
    // A mapping that the map did not have is added, and another address is found.
    next_gap = page(5);
    assert_int_equal(call(SYS_mmap, page(4), 4096, PROT_READ, ANON, ~0u), page(5));
    assert_string_equal(told, "learn 6-7, add 5-6 r-- anon");
    // The kernel's choice.
    next_gap = page(6);
    got = (u64)call(SYS_mmap, 0, 4096, PROT_READ, ANON, ~0u);
    assert_true(got % 4096 == 0 && (got < base || got >= base + PAGES * 4096));
    sys_munmap(got, 4096);
    // The client gets the error of the mapping, and nothing is left at the address.
    sys_munmap(page(6), 8192);
    gap = page(6);
    assert_int_equal(call(SYS_mmap, 0, 8192, PROT_READ, MAP_PRIVATE, ~0u), -EBADF);
    assert_false(is_there(6) || is_there(7));
    assert_int_equal(call(SYS_mmap, 0, 0, PROT_READ, ANON, ~0u), -EINVAL);
    assert_int_equal(call(SYS_mmap, 0, 1ul << 48, PROT_READ, ANON, ~0u), -ENOMEM);
    // The engine is not below 4 GiB.
    got = (u64)call(SYS_mmap, 0, 8192, PROT_READ, ANON | MAP_32BIT, ~0u);
    assert_true(got % 4096 == 0 && got < 1ul << 32);
    sys_munmap(got, 8192);
    assert_false(is_there(6) || is_there(7));
}

// A mapping that grows downwards has space below; large mappings are aligned to large pages.
static void test_beside_aligned(void **state)
{
    u64 size = 16ul << 20;
    u64 area = (u64)sys_mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), at;

    (void)state;
    sys_munmap(area, size);
    room = false;
    gap = area;
    assert_int_equal(call(SYS_mmap, 0, 8192, PROT_READ, ANON | MAP_GROWSDOWN, ~0u),
                     area + 0x100000);
    assert_int_equal(gaps_len, 0x102000);
    assert_int_equal(rooms_len, 0x100000 + 8192 + 4096);
    assert_int_equal(sys_madvise(area + 0xff000, 4096, 0), -ENOMEM);
    sys_munmap(area + 0x100000, 8192);
    gap = area + 4096;
    at = (gap + 0x1fffff) & ~0x1ffffful;
    assert_int_equal(call(SYS_mmap, 0, 0x201000, PROT_READ, ANON, ~0u), at);
    assert_int_equal(gaps_len, 0x201000 + 0x200000 - 4096);
    sys_munmap(at, 0x201000);
}

// Where the kernel would put two pages now.
static u64 kernels_choice(void)
{
    u64 at = (u64)sys_mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    sys_munmap(at, 8192);
    return at;
}

// A mapping that the kernel has placed in a range of the engine is moved out of it or unmapped.
static void test_out_of_engine(void **state)
{
    int id = (int)sys_call3(SYS_shmget, 0, 8192, 0600);

    (void)state;
    assert_true(id >= 0);
    sys_munmap(page(6), 8192);
    gap = page(6);
    chosen = kernels_choice();
    assert_int_equal(call(SYS_mmap, 0, 8000, PROT_READ, ANON, ~0u), page(6));
    assert_string_equal(told, "add 6-8 r-- anon");
    assert_int_equal(kernels_choice(), chosen);
    gap = 0;
    assert_int_equal(call(SYS_mmap, 0, 8000, PROT_READ, ANON, ~0u), -ENOMEM);
    assert_string_equal(told, "");
    assert_int_equal(kernels_choice(), chosen);

    sys_munmap(page(6), 8192);
    gap = page(6);
    assert_int_equal(call(SYS_shmat, (u64)id, 0, 0, 0, 0), page(6));
    assert_string_equal(told, "add 6-8 rw- shared");
    assert_int_equal(sys_call1(SYS_shmdt, page(6)), 0);
    sys_call3(SYS_shmctl, (u64)id, 0 /* IPC_RMID */, 0);

    sys_mprotect(page(1), 4096, PROT_READ | PROT_WRITE);
    *(u8 *)page(1) = 9;
    assert_int_equal(call(SYS_mremap, page(1), 4096, 8192, MREMAP_MAYMOVE, 0), page(6));
    assert_string_equal(told, "before 1-2, move 1-2, to 6-8");
    assert_int_equal(*(u8 *)page(6), 9);
    assert_int_equal(kernels_choice(), chosen);
}

// A segment is detached: the map is updated before, to drop its code, and after. No update for a
// mapping that it does not have, or if there is no segment.
static void test_shmdt(void **state)
{
    int id = (int)sys_call3(SYS_shmget, 0, 8192, 0600);

    (void)state;
    assert_true(id >= 0);
    sys_munmap(page(6), 8192);
    for (int known = 0; known < 2; known++) {
        assert_int_equal(sys_call3(SYS_shmat, (u64)id, page(6), 0), page(6));
        known_end = known ? page(8) : 0;
        assert_int_equal(call(SYS_shmdt, page(6), 0, 0, 0, 0), 0);
        assert_string_equal(told, known ? "before 6-8, remove 6-8" : "");
        assert_false(is_there(6));
    }
    assert_int_equal(call(SYS_shmdt, page(6), 0, 0, 0, 0), -EINVAL);
    assert_string_equal(told, "before 6-8");
    known_end = 0;
    sys_call3(SYS_shmctl, (u64)id, 0 /* IPC_RMID */, 0);
}

// A mapping below a range of the engine grows in place, but not into that range.
static void test_below_engine(void **state)
{
    int id = (int)sys_call3(SYS_shmget, 0, 8192, 0600);

    (void)state;
    assert_true(id >= 0);
    sys_munmap(page(6), 8192);
    sys_munmap(page(50), 8192);
    gap = page(6);
    assert_int_equal(call(SYS_shmat, (u64)id, page(50), 0, 0, 0), -EINVAL);
    assert_string_equal(told, "");
    sys_mprotect(page(46), 4096, PROT_READ | PROT_WRITE);
    *(u8 *)page(46) = 9;
    sys_munmap(page(47), 8192);
    assert_int_equal(call(SYS_mremap, page(46), 4096, 8192, 0, 0), page(46));
    assert_string_equal(told, "before 46-47, move 46-47, to 46-48");
    assert_int_equal(call(SYS_mremap, page(46), 8192, 12288, 0, 0), -ENOMEM);
    assert_true(is_there(47) && !is_there(48));
    sys_munmap(page(47), 4096);
    assert_int_equal(call(SYS_mremap, page(46), 4096, 8192, MREMAP_MAYMOVE, 0), page(46));
    sys_munmap(page(47), 4096);
    sys_munmap(page(8), 4096);
    assert_int_equal(call(SYS_mremap, page(46), 4096, 12288, MREMAP_MAYMOVE, 0), page(6));
    assert_string_equal(told, "before 46-47, move 46-47, to 6-9");
    assert_int_equal(*(u8 *)page(6), 9);
    assert_false(is_there(46) || is_there(48));
    // A segment at the engine's choice.
    room = false;
    gap = page(46);
    assert_int_equal(call(SYS_shmat, (u64)id, 0, 0, 0, 0), page(46));
    assert_string_equal(told, "add 46-48 rw- shared");
    assert_int_equal(sys_call1(SYS_shmdt, page(46)), 0);
    sys_call3(SYS_shmctl, (u64)id, 0 /* IPC_RMID */, 0);
    assert_int_equal(call(SYS_shmat, (u64)id, 0, 0, 0, 0), -EINVAL);
    assert_false(is_there(46) || is_there(47));
}

// Moved to the engine's choice, or not moved, with an error.
static void test_mremap_beside(void **state)
{
    (void)state;
    room = false;
    gap = page(6);
    sys_munmap(page(6), 12288);
    sys_mprotect(page(1), 8192, PROT_READ | PROT_WRITE);
    *(u8 *)page(2) = 5;
    assert_int_equal(call(SYS_mremap, page(1), 8192, 12288, 0, 0), -ENOMEM);
    assert_int_equal(call(SYS_mremap, page(1), 8192, 12288, MREMAP_MAYMOVE, 0), page(6));
    assert_string_equal(told, "before 1-3, move 1-3, to 6-9");
    assert_int_equal(*(u8 *)page(7), 5);
    assert_false(is_there(1));
    gap = page(1);
    // A hint that is no address.
    assert_int_equal(
        call(SYS_mremap, page(6), 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, page(1) + 1),
        -EINVAL);
    assert_int_equal(
        call(SYS_mremap, page(6), 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, page(20)),
        page(1));
    assert_string_equal(told, "before 6-8, move 6-8 kept, to 1-3");
    assert_int_equal(*(u8 *)page(2), 5);
    assert_int_equal(*(u8 *)page(7), 0);
    // There is nothing to move: the new range is released.
    sys_munmap(page(10), 4096);
    sys_munmap(page(30), 8192);
    gap = page(30);
    assert_int_equal(call(SYS_mremap, page(10), 4096, 8192, MREMAP_MAYMOVE, 0), -EFAULT);
    assert_false(is_there(30) || is_there(31));
    gap = 0;
    assert_int_equal(call(SYS_mremap, page(1), 8192, 12288, MREMAP_MAYMOVE, 0), -ENOMEM);
    assert_int_equal(*(u8 *)page(2), 5);
}

// The emulated break: pages 30 up to the engine's at 48.
static void test_brk(void **state)
{
    (void)state;
    memory_init(page(30) - 100, 0);
    sys_munmap(page(30), 10 * 4096);
    assert_int_equal(call(SYS_brk, 0, 0, 0, 0, 0), page(30));
    assert_string_equal(told, "");
    assert_int_equal(call(SYS_brk, page(32) + 5, 0, 0, 0, 0), page(32) + 5);
    assert_string_equal(told, "add 30-33 rw- anon");
    *(u8 *)page(32) = 1;
    assert_int_equal(call(SYS_brk, page(33), 0, 0, 0, 0), page(33)); // in the same page
    assert_string_equal(told, "");
    assert_int_equal(call(SYS_brk, page(31), 0, 0, 0, 0), page(31));
    assert_string_equal(told, "before 31-33, remove 31-33");
    assert_int_equal(call(SYS_brk, page(29), 0, 0, 0, 0), page(31)); // below its beginning
    assert_int_equal(call(SYS_brk, page(41), 0, 0, 0, 0), page(31)); // page 40 is taken
    sys_munmap(page(40), 8 * 4096);
    assert_int_equal(call(SYS_brk, page(49), 0, 0, 0, 0), page(31)); // the engine's
    assert_int_equal(call(SYS_brk, page(48), 0, 0, 0, 0), page(48));
    assert_string_equal(told, "add 31-48 rw- anon");
}

static void test_contents(void **state)
{
    u64 from[2] = { (u64) "\xc3", 1 }, to[2] = { page(1) + 4090, 12 };

    (void)state;
    sys_mprotect(page(1), 8192, PROT_READ | PROT_WRITE);
    *(u8 *)page(2) = 1;
    assert_int_equal(call(SYS_madvise, page(2), 4096, MADV_DONTNEED, 0, 0), 0);
    assert_string_equal(told, "before 2-3, before 2-3");
    assert_int_equal(*(u8 *)page(2), 0);
    assert_int_equal(call(SYS_madvise, page(2), 4096, 0 /* MADV_NORMAL */, 0, 0), 0);
    assert_string_equal(told, "");
    t->regs[9] = 0;
    assert_int_equal(call(SYS_process_vm_writev, (u64)sys_getpid(), (u64)from, 1, (u64)to, 1), 1);
    assert_int_equal(*(u8 *)(page(1) + 4090), 0xc3);
    assert_int_equal(strncmp(told, "before 1-3", 9), 0);
    t->regs[R_RAX] = 5;
    assert_false(memory_call(t, SYS_getpid)); // not handled here
    assert_int_equal(t->regs[R_RAX], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_mmap, setup),
        cmocka_unit_test_setup(test_mmap_jitdump, setup),
        cmocka_unit_test_setup(test_mmap_kept, setup),
        cmocka_unit_test_setup(test_mmap_engine, setup),
        cmocka_unit_test_setup(test_mmap_placed, setup),
        cmocka_unit_test_setup(test_munmap_and_mprotect, setup),
        cmocka_unit_test_setup(test_mremap, setup),
        cmocka_unit_test_setup(test_munmap_engine, setup),
        cmocka_unit_test_setup(test_beside, setup),
        cmocka_unit_test_setup(test_beside_aligned, setup),
        cmocka_unit_test_setup(test_out_of_engine, setup),
        cmocka_unit_test_setup(test_below_engine, setup),
        cmocka_unit_test_setup(test_shmdt, setup),
        cmocka_unit_test_setup(test_mremap_beside, setup),
        cmocka_unit_test_setup(test_brk, setup),
        cmocka_unit_test_setup(test_contents, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
