// SPDX-License-Identifier: MIT
//
// `quern trace --to=FORMAT FILE`: the references of a trace in the formats of other simulators.
// lackey: as Valgrind's `--tool=lackey --trace-mem=yes` prints them. dinero: Dinero IV's extended
// din format (-informat D). Threads follow each other as in the trace: neither format has them.
#include <inttypes.h>
#include <stdio.h>

#include "cli/base/util.h"
#include "cli/trace/trace.h"

static void lackey(FILE *to, const struct trace_item *i, uint32_t size)
{
    switch ((int)i->what) {
    case TRACE_FETCH: fprintf(to, "I  %08" PRIx64 ",%u\n", i->addr, size); break;
    case TRACE_READ: fprintf(to, " L %08" PRIx64 ",%u\n", i->addr, size); break;
    case TRACE_WRITE: fprintf(to, " S %08" PRIx64 ",%u\n", i->addr, size); break;
    case TRACE_MODIFY: fprintf(to, " M %08" PRIx64 ",%u\n", i->addr, size); break;
    case TRACE_AGAIN: fprintf(to, "I  %08" PRIx64 ",%u\n", i->pc, size); break;
    default: break;
    }
}

static void dinero(FILE *to, const struct trace_item *i, uint32_t size)
{
    switch ((int)i->what) {
    case TRACE_FETCH: fprintf(to, "i %" PRIx64 " %x\n", i->addr, size); break;
    case TRACE_MODIFY:
        fprintf(to, "r %" PRIx64 " %x\n", i->addr, size); // and then
    /* fallthrough */
    case TRACE_WRITE: fprintf(to, "w %" PRIx64 " %x\n", i->addr, size); break;
    case TRACE_READ: fprintf(to, "r %" PRIx64 " %x\n", i->addr, size); break;
    default: break; // a repetition is not fetched again
    }
}

void trace_convert(const struct trace_options *o, const char *path, struct trace_reader *r,
                   FILE *to)
{
    void (*const print)(FILE *, const struct trace_item *, uint32_t) =
        o->to == TRACE_TO_LACKEY ? lackey : dinero;
    struct trace_item item;
    uint64_t pc = 0;
    uint32_t len = 1; // of the instruction at pc
    int ret;

    while ((ret = trace_read_next(r, &item)) > 0) {
        if (!item.thread || (o->thread && item.thread != o->thread))
            continue;
        if (item.what == TRACE_FETCH) {
            pc = item.pc;
            len = item.size;
        }
        print(to, &item, item.what != TRACE_AGAIN ? item.size : item.pc == pc ? len : 1);
    }
    if (ret < 0)
        trace_remark_die(path, r);
    trace_remark_end(path, r);
}
