// SPDX-License-Identifier: MIT
// The copy of the stubs (stubs.h).
#include "engine/codecache/stubs.h"

#include "engine/base/nolibc.h"
#include "engine/thread/thread.h"

extern const char stubs_begin[], stubs_end[];

// The labels of stubs.S; for stubs that call C also the label of the absolute address that they
// call.
#define STUB(NAME, label, kind, function) STUB_##kind(label)
#define STUB_PLACE(label)                 extern const char stubs_##label[];
#define STUB_TO_C(label)                  extern const char stubs_##label[], stubs_##label##_call[];
#define STUB_HELPER(label)                STUB_TO_C(label)
#define STUB_HELPER_FLAGS(label)          STUB_TO_C(label)
#define STUB_HELPER_WHOLE(label)          STUB_TO_C(label)
#include "engine/codecache/stubs.def"
#undef STUB_PLACE
#undef STUB_TO_C

static const struct {
    const char *at, *call;
} place[] = {
#define STUB_PLACE(label) { stubs_##label, NULL },
#define STUB_TO_C(label)  { stubs_##label, stubs_##label##_call },
#include "engine/codecache/stubs.def"
};

static u64 copy;
static bool recorded;

u64 stubs_size(void)
{
    return (u64)(stubs_end - stubs_begin);
}

// The addresses of the displacements of r11's loads and stores.
extern const char stubs_r11_begin[], stubs_r11_end[];

void stubs_record(bool recording)
{
    const u64 *place_of = (const u64 *)stubs_r11_begin;
    u64 n = (u64)(stubs_r11_end - stubs_r11_begin) / 8;
    u32 disp = recording ? TH_RECORD_AT : TH_REGS + 11 * 8;

    for (u64 i = 0; i < n; i++)
        memcpy((void *)(copy + (place_of[i] - (u64)stubs_begin)), &disp, 4);
    recorded = recording;
}

void stubs_copy(u64 base, const void *const calls[STUB_COUNT], bool recording)
{
    copy = base;
    memcpy((void *)base, stubs_begin, stubs_size());
    for (u32 s = 0; s < STUB_COUNT; s++) {
        if (place[s].call)
            memcpy((void *)(base + (u64)(place[s].call - stubs_begin)), &calls[s], 8);
    }
    if (recording)
        stubs_record(true);
}

bool stubs_recording(void)
{
    return recorded;
}

u64 stubs_at(enum stub s)
{
    return copy + (u64)(place[s].at - stubs_begin);
}

const char *stubs_name(enum stub s)
{
    static const char *const name[] = {
#undef STUB
#define STUB(NAME, label, kind, function) #label,
#include "engine/codecache/stubs.def"
    };

    return name[s];
}

bool stubs_between(u64 hpc, enum stub from, enum stub to)
{
    return hpc >= stubs_at(from) && hpc < stubs_at(to);
}
