// SPDX-License-Identifier: MIT
// engine/spool/config.c: what a run's options mean for its caches and the replay.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

// -- fakes of what it calls --

static struct spool_header header;
struct spool_header *spool = &header;
struct cpu cpu;

static void set(struct spool_geometry *of, u32 size, u32 assoc, u32 line)
{
    of->size = size;
    of->assoc = assoc;
    of->line = line;
}

static void begin(u64 flags)
{
    memset(&header, 0, sizeof(header));
    memset(&tb_config, 0, sizeof(tb_config));
    header.flags = SPOOL_F_CACHE_SIM | flags;
    set(&header.i1, 32768, 8, 64);
    set(&header.d1, 32768, 8, 64);
    set(&header.ll, 8388608, 16, 64);
}

// The scale of an index of D1, as a power of two: the tags of a set, 8 bytes each, fit into that
// many bytes for each byte of a line; three is the largest scale of an address.
static void test_scale(void **state)
{
    static const struct {
        u32 line, assoc, scale;
        bool fits;
    } d1[] = {
        { 64, 8, 0, true },  { 64, 9, 1, true },  { 64, 16, 1, true },  { 64, 17, 2, true },
        { 64, 32, 2, true }, { 64, 64, 3, true }, { 64, 65, 3, false }, { 32, 4, 0, true },
        { 32, 8, 1, true },  { 16, 16, 3, true }, { 16, 17, 3, false }, { 64, 1, 0, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(d1) / sizeof(*d1); i++) {
        begin(0);
        set(&header.d1, 64 * d1[i].assoc * d1[i].line, d1[i].assoc, d1[i].line);
        config_init(~0u, ~0u);
        assert_int_equal(tb_config.d1_scale, d1[i].scale);
        assert_int_equal(tb_config.d1_sets, 64);
        assert_int_equal(tb_config.d1_fast, d1[i].fits);
        assert_int_equal(tb_config.min_line, d1[i].line);
        // Exactly the needed space, and a byte less.
        if (!d1[i].fits)
            continue;
        begin(0);
        set(&header.d1, 64 * d1[i].assoc * d1[i].line, d1[i].assoc, d1[i].line);
        config_init(~0u, (64ul * d1[i].line << d1[i].scale) - 1);
        assert_false(tb_config.d1_fast);
        memset(&tb_config, 0, sizeof(tb_config));
        config_init(~0u, 64ul * d1[i].line << d1[i].scale);
        assert_true(tb_config.d1_fast);
    }
}

// There may be a replayer and a background finisher if this process may use a second processor.
// Only this process's own processors count.
static void test_processors(void **state)
{
    u64 all[128] = { 0 }, two[128] = { 0 }, one[128] = { 0 };
    long bytes = sys_call3(SYS_sched_getaffinity, 0, sizeof(all), (u64)all);
    u32 n = 0;

    (void)state;
    assert_true(bytes > 0);
    for (u32 i = 0; i < (u64)bytes * 8; i++) {
        if (!(all[i / 64] >> i % 64 & 1))
            continue;
        if (n < 1)
            one[i / 64] |= 1ul << i % 64;
        if (n < 2)
            two[i / 64] |= 1ul << i % 64;
        n++;
    }
    assert_int_equal(sys_call3(SYS_sched_setaffinity, 0, (u64)bytes, (u64)one), 0);
    begin(SPOOL_F_REPLAY_PROCESS);
    config_init(~0u, ~0u);
    assert_true(tb_config.recording);
    assert_false(tb_config.replayer);
    assert_false(tb_config.bgfinish);
    begin(SPOOL_F_REPLAY_AUTO); // without vectors it is not worth while on one
    config_init(~0u, ~0u);
    assert_false(tb_config.recording);
    begin(SPOOL_F_REPLAY_AUTO); // with --curve it is, unless there are no routines
    header.curve.on = 1;
    config_init(~0u, ~0u);
    assert_true(tb_config.recording);
    begin(SPOOL_F_REPLAY_AUTO | SPOOL_F_NO_ROUTINES);
    header.curve.on = 1;
    config_init(~0u, ~0u);
    assert_false(tb_config.recording);
    assert_int_equal(sys_call3(SYS_sched_setaffinity, 0, (u64)bytes, (u64)two), 0);
    if (n >= 2) {
        begin(SPOOL_F_REPLAY_AUTO);
        config_init(~0u, ~0u);
        assert_true(tb_config.recording);
        assert_true(tb_config.replayer);
        assert_true(tb_config.bgfinish);
        assert_int_equal(tb_config.replayer_beside, 1);
    }
    sys_call3(SYS_sched_setaffinity, 0, (u64)bytes, (u64)all);
}

// --curve: no inline check may pass over a line of the sample. A D1 of a single line has no other
// way to hint at.
static void test_curve(void **state)
{
    (void)state;
    begin(0);
    config_init(~0u, ~0u);
    assert_false(tb_config.curve);
    assert_true(tb_config.d1_fast && tb_config.i1_fast);
    begin(0);
    header.curve.on = 1;
    config_init(~0u, ~0u);
    assert_true(tb_config.curve);
    assert_false(tb_config.d1_fast || tb_config.i1_fast);
    begin(SPOOL_F_REPLAY);
    header.curve.on = 1;
    config_init(~0u, ~0u);
    assert_true(tb_config.recording && tb_config.stamps);
    set(&header.d1, 64, 1, 64);
    config_init(~0u, ~0u);
    assert_true(tb_config.recording);
    assert_false(tb_config.stamps);
    begin(SPOOL_F_REPLAY);
    header.flags &= ~(u64)SPOOL_F_CACHE_SIM;
    header.curve.on = 1;
    config_init(~0u, ~0u);
    assert_false(tb_config.curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_curve),
    };

    return cmocka_run_group_tests_name("engine config", tests, NULL, NULL);
}
