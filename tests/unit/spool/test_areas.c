// SPDX-License-Identifier: MIT
// engine/spool/spooler.c at its limits: how much of each area is mapped, the last string, mapping,
// counter and partial execution that fit, the messages about a spool that cannot be used, and the
// end of the file.
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/unit/spool/alone.h"
#include "tests/unit/spool/real.h"

static void mapped_is(u64 head, u64 maps, u64 blocks, u64 edges)
{
    CHECK(spooler_areas[AREA_HEAD].mapped == head);
    CHECK(spooler_areas[AREA_MAPS].mapped == maps);
    CHECK(spooler_areas[AREA_PARTIAL].mapped == SPOOL_PARTIAL_MAX * sizeof(struct spool_partial));
    CHECK(spooler_areas[AREA_BLOCKS].mapped == blocks);
    CHECK(spooler_areas[AREA_EDGES].mapped == edges);
}

// ---- The start ----

static void begins(void)
{
    struct stat st;

    real_begin(0);
    mapped_is(0x20000, 0x10000, 0x100000, 0);
    CHECK(stat(path, &st) == 0 && st.st_size == 0x40000000);
    CHECK(spooler_file_size == 0x40000000);
    CHECK(!spooler_is_lost() && !spooler_slot_in_use(0));
}

static void begins_with_calls(void)
{
    real_begin(SPOOL_F_CALLS);
    mapped_is(0x20000, 0x10000, 0x100000, 0x10000);
}

// 32 KiB are mapped after the existing strings.
static void begins_with_text(void)
{
    spooler_map(real_file(0, 0x8000));
    mapped_is(0x20000, 0x10000, 0x100000, 0);
}

static void begins_with_more_text(void)
{
    spooler_map(real_file(0, 0x8001));
    mapped_is(0x21000, 0x10000, 0x100000, 0);
}

static void begins_with_all_text(void)
{
    spooler_map(real_file(0, SPOOL_TEXT_SIZE - 0x100));
    mapped_is(0x800000, 0x10000, 0x100000, 0);
}

// A larger file keeps its size.
static void begins_larger(void)
{
    int fd = real_file(0, 0);
    struct stat st;

    CHECK(ftruncate(fd, 0x50000000) == 0);
    spooler_map(fd);
    CHECK(stat(path, &st) == 0 && st.st_size == 0x50000000 && spooler_file_size == 0x50000000);
}

static int bad;

static void map_bad(void)
{
    spooler_map(bad);
}

static void other_files(void)
{
    char expected[200];
    u32 word;

    bad = open("/dev/null", O_RDWR);
    snprintf(expected, sizeof(expected),
             "file descriptor %d is not a spool; start programs with `quern run`\n", bad);
    CHECK(dies_saying(map_bad, expected));
    bad = real_file(0, 0);
    CHECK(pwrite(bad, "x", 1, 0) == 1);
    snprintf(expected, sizeof(expected),
             "file descriptor %d is not a spool; start programs with `quern run`\n", bad);
    CHECK(dies_saying(map_bad, expected));
    bad = real_file(0, 0);
    word = 3;
    CHECK(pwrite(bad, &word, 4, offsetof(struct spool_header, version)) == 4);
    snprintf(expected, sizeof(expected),
             "the spool is of version 3, this engine of version %u: mixed installation\n",
             SPOOL_VERSION);
    CHECK(dies_saying(map_bad, expected));
    bad = real_file(0, 0);
    word = SPOOL_ENDED;
    CHECK(pwrite(bad, &word, 4, offsetof(struct spool_header, state)) == 4);
    CHECK(
        dies_saying(map_bad, "the spool is in use or finished; start programs with `quern run`\n"));
    CHECK(access(path, F_OK) == 0);
}

static void map_without_size(void)
{
    struct rlimit low = { 0x3fffffff, 0x3fffffff };

    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    be_nobody();
    spooler_map(bad);
}

static void no_size(void)
{
    bad = real_file(0, 0);
    CHECK(
        dies_saying(map_without_size, "cannot make the spool 1073741824 bytes large: error 27\n"));
}

static void map_where_it_is(void)
{
    CHECK(mmap((void *)(SPOOLER_BASE + SPOOL_BLOCKS_OFF), 4096, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
    spooler_map(bad);
}

// Its address range is taken: the file is removed, with a message.
static void no_place(void)
{
    int status;

    bad = real_file(0, 0);
    listen_to();
    pid_t pid = fork();
    if (pid == 0) {
        map_where_it_is();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == ENGINE_DIE_STATUS << 8);
    CHECK(access(path, F_OK) == -1);
}

// ---- Size of the file ----

static void grows(void)
{
    struct rlimit limit = { 1 << 20, 1 << 21 }, now;
    u64 size = 100;
    struct stat st;
    int fd = real_file(0, 0);

    CHECK(spooler_grow_file(-1, &size, 100) == 0 && spooler_grow_file(-1, &size, 99) == 0);
    CHECK(spooler_grow_file(-1, &size, 101) == -EBADF && size == 100);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    be_nobody();
    CHECK(spooler_grow_file(fd, &size, (1 << 21) + 1) == -EFBIG && size == 100);
    CHECK(spooler_grow_file(fd, &size, 1 << 21) == 0 && size == 1 << 21);
    CHECK(fstat(fd, &st) == 0 && st.st_size == 1 << 21);
    CHECK(getrlimit(RLIMIT_FSIZE, &now) == 0);
    CHECK(now.rlim_cur == 1 << 20 && now.rlim_max == 1 << 21);
    size = 100;
    CHECK(spooler_grow_file(fd, &size, 1 << 20) == 0 && size == 1 << 20);
    spooler_lost = true;
    CHECK(spooler_grow_file(fd, &size, 1 << 21) == 0 && size == 1 << 20);
}

// ---- Strings ----

static char big[SPOOL_TEXT_SIZE];

static void text_grows(void)
{
    real_begin(0);
    memset(big, 'a', 0x40000);
    u32 at = spooler_text(big); // more than twice of what is mapped
    CHECK(at && spooler_areas[AREA_HEAD].mapped == 0x60000);
    CHECK(strcmp(spooler_string(at), big) == 0);
    big[0x10000] = '\0';
    CHECK(spooler_text(big) && spooler_areas[AREA_HEAD].mapped == 0xc0000);
    // The last string that fits.
    u64 left = SPOOL_TEXT_SIZE - spool->text_used;
    memset(big, 'b', left);
    big[left] = '\0';
    CHECK(spooler_text(big) == 0);
    big[left - 1] = '\0';
    u64 used = spool->text_used;
    CHECK(spooler_text(big) == used && spool->text_used == SPOOL_TEXT_SIZE);
    CHECK(spooler_areas[AREA_HEAD].mapped == 0x800000);
    CHECK(spooler_text("more") == 0 && spooler_text(big) == used);
    in_file(path, big, 2, SPOOL_TEXT_OFF + SPOOL_TEXT_SIZE - 2);
    CHECK(big[0] == 'b' && big[1] == '\0');
}

// ---- Mappings ----

static void all_mappings(void)
{
    struct spool_map m;

    real_begin(0);
    for (u32 i = 0; i < SPOOL_MAPS_MAX; i++)
        if (spooler_map_record(i * 0x1000ul, i * 0x1000ul + 1, 0, 0, i, "", 0, 0, 0) != i)
            CHECK(false);
    CHECK(spool->maps_used == SPOOL_MAPS_MAX);
    CHECK(spooler_areas[AREA_MAPS].mapped ==
          (SPOOL_MAPS_MAX * sizeof(struct spool_map) + 4095) / 4096 * 4096);
    CHECK(spooler_map_record(1, 2, 3, 4, 5, "", 0, 0, 0) == SPOOL_MAPS_MAX - 1);
    CHECK(spool->maps_used == SPOOL_MAPS_MAX && spooler_maps_named == SPOOL_MAPS_MAX + 1);
    CHECK(spooler_map_record(0x7000, 0x7001, 0, 0, 7, "", 0, 0, 0) == 7);
    in_file(path, &m, sizeof(m), SPOOL_MAPS_OFF + (SPOOL_MAPS_MAX - 1) * sizeof(m));
    CHECK(m.ino == SPOOL_MAPS_MAX - 1);
}

// ---- Counters ----

static void full_counters(void)
{
    spooler_counters(1);
}

static void all_counters(void)
{
    static const u32 slots[] = { 0, 63, 64, 130 };

    real_begin(0);
    for (u32 i = 0; i < 4; i++)
        CHECK(spooler_thread_slot(slots[i]) == 0 && spooler_slot_in_use(slots[i]));
    CHECK(!spooler_slot_in_use(62) && !spooler_slot_in_use(65) && !spooler_slot_in_use(1));
    CHECK(spool->threads_used == 131 && spooler_thread_slot(2) == 0 && spool->threads_used == 131);
    CHECK(spooler_file_size == SPOOL_THREADS_OFF + 131 * SPOOL_THREAD_SIZE);
    CHECK(spooler_counters(0x10000) == 0 && spooler_counters_mapped == 0x80000);
    CHECK(spooler_counters(1) == 0x10000 && spooler_counters_mapped == 0x100000);
    CHECK(spooler_counters(0x50000) == 0x10001 && spooler_counters_mapped == 0x400000);
    for (u32 i = 0; i < 4; i++)
        counters(slots[i])[0x60000] = i + 1;
    for (u32 i = 0; i < 4; i++)
        CHECK(counter_in(path, slots[i], 0x60000) == i + 1);
    CHECK(spooler_counters((u32)(SPOOL_COUNTERS_MAX - 0x60001)) == 0x60001);
    CHECK(spool->counters_used == SPOOL_COUNTERS_MAX && spooler_counters_mapped == 0x10000000);
    counters(130)[SPOOL_COUNTERS_MAX - 1] = 9;
    CHECK(counter_in(path, 130, SPOOL_COUNTERS_MAX - 1) == 9);
    spool->block_count = 17;
    CHECK(dies_saying(full_counters,
                      "the spool is full: 17 blocks of code; the counts so far are kept\n"));
}

// The descriptor was closed: the spool is opened again, unless the file is gone, too.
static void more_counters(void)
{
    spooler_counters(0x100000);
}

static void closed(void)
{
    char expected[400];

    real_begin(0);
    CHECK(spooler_thread_slot(1) == 0);
    close(fds_spool());
    more_counters();
    CHECK(fds_spool_is_there() && spooler_fd() == fds_spool());
    counters(1)[0x80000] = 5;
    CHECK(counter_in(path, 1, 0x80000) == 5);
    close(fds_spool());
    unlink(path);
    CHECK(spooler_fd() == -ENOENT);
    snprintf(expected, sizeof(expected),
             "spool %s: cannot map more of it: error 9; the counts so far are kept\n", path);
    CHECK(dies_saying(more_counters, expected));
}

static void edges(void)
{
    struct spool_edge e = { .target = 7, .site = 8 }, r;

    real_begin(SPOOL_F_CALLS);
    CHECK(spooler_counters(5) == 0);
    for (u32 i = 0; i < 3000; i++) {
        e.function = i;
        struct spool_edge *mine = spooler_edge_append(&e, i % 3);
        if (mine != spooler_edge_at(i) || mine->counter != 5 + i / 3 * 3 + (i % 3) / 2)
            CHECK(false);
    }
    CHECK(spool->edges_used == 3000 && spool->counters_used == 5 + 3000);
    in_file(path, &r, sizeof(r), SPOOL_EDGES_OFF + 2999 * sizeof(r));
    CHECK(r.function == 2999 && r.target == 7 && r.site == 8 && r.counter == 5 + 2999 - 1);
}

// Those of an earlier run, which are read to their place.
static void edges_of_another_run(void)
{
    struct spool_edge e = { .target = 9 }, r, *at;

    real_begin(SPOOL_F_CALLS);
    CHECK(spooler_edges_room(SPOOL_EDGES_MAX + 10000) == NULL);
    at = spooler_edges_room(3000);
    CHECK(at == spooler_edge_at(0) && spool->edges_used == 0);
    memset(at, 7, 3000 * sizeof(*at));
    spooler_edges_take(3000);
    CHECK(spool->edges_used == 3000);
    in_file(path, &r, sizeof(r), SPOOL_EDGES_OFF + 2999 * sizeof(r));
    CHECK(r.kind == 7);
    CHECK(spooler_edge_append(&e, 1) == spooler_edge_at(3000));
}

// ---- Blocks ----

static void blocks(void)
{
    static struct spool_insn insns[2047];
    u32 first;

    real_begin(0);
    struct spool_block *b = spooler_block_append(1, 0x3ffff, 0x1f, 2, insns, 2047, 1, &first);
    CHECK(b->map == 0x1ffff && b->insns == 2047 && b->flags == 0xf);
    CHECK(spool->block_count == 0); // a sum of executions is none
    CHECK(spool->blocks_used == sizeof(*b) + 2047 * 4 + 4);
    CHECK(first == 0 && b->own == 0 && spool->counters_used == 2048);
    b = spooler_block_append(1, 1, SPOOL_B_PLT, 2, insns, 2, 3, &first);
    CHECK(spooler_block_index(b) * 8ul == sizeof(*b) + 2047 * 4 + 4);
    CHECK(first == 1 && b->own == 2048 && spool->counters_used == 2050);
    CHECK(spool->block_count == 1 && spool->blocks_used == 2 * sizeof(*b) + 2048 * 4 + 8);
}

// ---- Partial executions ----

static void all_partials(void)
{
    struct spool_partial r;

    real_begin(0);
    listen_to();
    spooler_partial(5, 0, 0, 0);
    CHECK(spool->partial_used == 0);
    for (u32 i = 0; i < SPOOL_PARTIAL_MAX; i++)
        spooler_partial(i, 1, 0, 0);
    CHECK(spool->partial_used == SPOOL_PARTIAL_MAX && has_said(""));
    in_file(path, &r, sizeof(r), SPOOL_PARTIAL_OFF + (SPOOL_PARTIAL_MAX - 1) * sizeof(r));
    CHECK(r.block == SPOOL_PARTIAL_MAX - 1 && r.count == 1);
    for (u32 i = 0; i < 3; i++)
        spooler_partial(7000000 + i, 2, 0, 0);
    CHECK(has_said("warning: more than 699050 blocks were left half-way; some of their "
                   "instructions are not counted\n"));
    CHECK(spool->partial_used == SPOOL_PARTIAL_MAX);
    spooler_partial(SPOOL_PARTIAL_MAX - 1, 1, 0, 0); // which has its record
    in_file(path, &r, sizeof(r), SPOOL_PARTIAL_OFF + (SPOOL_PARTIAL_MAX - 1) * sizeof(r));
    CHECK(r.count == 2 && has_said(""));
}

// ---- Open calls ----

static bool is_free(u64 at)
{
    void *got =
        mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (got == MAP_FAILED)
        return false;
    munmap(got, 4096);
    return true;
}

static void stacks(void)
{
    real_begin(SPOOL_F_CALLS);
    CHECK(spooler_stack_reach(0, 0) == 0 && spooler_stack_mapped[0] == 0);
    CHECK(spooler_stack_reach(0, 1) == 0 && spooler_stack_mapped[0] == 0x8000);
    CHECK(spooler_file_size == SPOOL_STACKS_OFF + 0x8000);
    CHECK(spooler_stack_reach(0, 0x8000) == 0 && spooler_stack_mapped[0] == 0x8000);
    CHECK(spooler_stack_reach(0, 0x8001) == 0 && spooler_stack_mapped[0] == 0x10000);
    // 64 MiB are reserved at first, the rest when these are used.
    CHECK(!is_free(CALLS_BASE + SPOOL_STACK_SIZE - 4096) && is_free(CALLS_BASE + SPOOL_STACK_SIZE));
    CHECK(spooler_stack_reach(0, SPOOL_STACK_SIZE / 2) == 0);
    CHECK(is_free(CALLS_BASE + SPOOL_STACK_SIZE));
    CHECK(spooler_stack_reach(0, SPOOL_STACK_SIZE) == 0);
    CHECK(spooler_stack_mapped[0] == SPOOL_STACK_SIZE);
    CHECK(!is_free(CALLS_BASE + SPOOL_STACK_SIZE) && !is_free(CALLS_BASE + (1ul << 30) - 4096));
    CHECK(is_free(CALLS_BASE + (1ul << 30)));
    CHECK(spooler_stack_reach(0, SPOOL_STACK_SIZE + 1) == 0);
    CHECK(spooler_stack_mapped[0] == 2 * SPOOL_STACK_SIZE);
    CHECK(spooler_stack_reach(0, (1ul << 30) - 0x10000 + 1) == -ENOSPC);
    CHECK(spooler_stack_reach(0, (1ul << 30) - 0x10000) == 0);
    // A slot of 64 MiB is reserved as a whole.
    CHECK(spooler_stack_reach(9, SPOOL_STACK_SIZE - 0x10000) == 0);
    CHECK(spooler_stack_mapped[9] == SPOOL_STACK_SIZE - 0x10000);
    CHECK(!is_free(slotmem_calls(10) - 4096) && is_free(slotmem_calls(10)));
    // The range is taken.
    CHECK(mmap((void *)slotmem_calls(11), 4096, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
    CHECK(spooler_stack_reach(11, 8) == -EEXIST && spooler_stack_mapped[11] == 0);
    CHECK(spooler_stack_reach(12, 8) == 0); // the lock is free again
}

static void owned(void)
{
    const u64 last = THREAD_AREA_BASE + (SPOOL_THREADS_FIXED - 1) * (u64)THREAD_AREA_STRIDE;
    const u64 row = 0x600000000000;

    CHECK(spooler_owns(CALLS_BASE) && !spooler_owns(CALLS_BASE - 1));
    CHECK(spooler_owns(CALLS_BASE + SPOOL_STACKS_SIZE - 1));
    CHECK(!spooler_owns(CALLS_BASE + SPOOL_STACKS_SIZE));
    CHECK(spooler_owns(SPOOLER_BASE) && !spooler_owns(SPOOLER_BASE - 1));
    CHECK(spooler_owns(SPOOLER_BASE + SPOOL_THREADS_OFF - 1));
    CHECK(!spooler_owns(SPOOLER_BASE + SPOOL_THREADS_OFF));
    CHECK(!spooler_owns(THREAD_AREA_BASE) && !spooler_owns(THREAD_AREA_BASE + TA_COUNTERS - 1));
    CHECK(spooler_owns(THREAD_AREA_BASE + TA_COUNTERS));
    CHECK(spooler_owns(THREAD_AREA_BASE + TA_COUNTERS + SPOOL_THREAD_SIZE - 1));
    CHECK(spooler_owns(last + TA_COUNTERS) && spooler_owns(last + TA_COUNTERS + 0x7ffffff));
    CHECK(!spooler_owns(last + THREAD_AREA_STRIDE + TA_COUNTERS));
    // Below the first area, where an area would be by its distance.
    CHECK(!spooler_owns(THREAD_AREA_BASE - THREAD_AREA_STRIDE + TA_COUNTERS + 0x4000000));
    // A row of further slots: counters, and open calls.
    CHECK(!spooler_owns(row + TA_COUNTERS));
    slotmem_row[0] = row;
    slotmem_rows = 1;
    CHECK(spooler_owns(row + TA_COUNTERS) && !spooler_owns(row + TA_COUNTERS - 1));
    CHECK(spooler_owns(row + TA_COUNTERS + SPOOL_THREAD_SIZE - 1));
    CHECK(spooler_owns(row + THREAD_FAR_CALLS) && spooler_owns(row + THREAD_FAR_STRIDE - 1));
    CHECK(spooler_owns(row + SLOTMEM_ROW_BYTES - 1) && !spooler_owns(row + SLOTMEM_ROW_BYTES));
}

// ---- The end ----

static void drops(void)
{
    char other[400];
    struct stat st;

    real_begin(0);
    spooler_lost = true;
    spooler_drop();
    CHECK(access(path, F_OK) == 0);
    spooler_lost = false;
    int fd = open(path, O_RDONLY);
    spooler_drop();
    CHECK(access(path, F_OK) == -1);
    spooler_drop(); // again: others count in it still
    CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 0x40000000);
    // Its name cannot be reached, but the file exists.
    snprintf(other, sizeof(other), "%s/other", folder);
    int from = real_file(0, 0);
    fds_replace_spool(from, false);
    CHECK(rename(path, other) == 0);
    spooler_drop();
    CHECK(stat(other, &st) == 0 && st.st_size == 0);
}

static void kept(void)
{
    char expected[400];

    real_begin(0);
    listen_to();
    spooler_say_held();
    snprintf(expected, sizeof(expected),
             "the counts are kept: `quern recover %s` writes the profile\n", path);
    CHECK(has_said(expected));
    spool->flags |= SPOOL_F_STAT;
    spooler_say_held();
    CHECK(has_said(""));
    spool->flags = 0;
    spooler_lost = true;
    spooler_say_held();
    CHECK(has_said(""));
}

ALONE(begins)
ALONE(begins_with_calls)
ALONE(begins_with_text)
ALONE(begins_with_more_text)
ALONE(begins_with_all_text)
ALONE(begins_larger)
ALONE(other_files)
ALONE(no_size)
ALONE(no_place)
ALONE(grows)
ALONE(text_grows)
ALONE(all_mappings)
ALONE(all_counters)
ALONE(closed)
ALONE(edges)
ALONE(edges_of_another_run)
ALONE(blocks)
ALONE(all_partials)
ALONE(stacks)
ALONE(owned)
ALONE(drops)
ALONE(kept)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins),
        cmocka_unit_test(test_begins_with_calls),
        cmocka_unit_test(test_begins_with_text),
        cmocka_unit_test(test_begins_with_more_text),
        cmocka_unit_test(test_begins_with_all_text),
        cmocka_unit_test(test_begins_larger),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_no_size),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_all_mappings),
        cmocka_unit_test(test_all_counters),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_edges_of_another_run),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_all_partials),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_owned),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_kept),
    };

    return cmocka_run_group_tests_name("engine/spool/spooler.c, areas", tests, real_setup,
                                       real_teardown);
}
