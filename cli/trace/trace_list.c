// SPDX-License-Identifier: MIT
//
// `quern trace FILE`: the items of a trace, a line each: kind, address, size, address of the
// instruction. A small letter: the instruction was undone. Lines that begin with # are not items.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/trace/trace.h"

static void print_header(const struct trace_reader *r)
{
    const struct reftrace_header *h = &r->header;
    const struct run_caches c = {
        .i1 = { { h->i1.size, h->i1.assoc, h->i1.line }, false },
        .d1 = { { h->d1.size, h->d1.assoc, h->d1.line }, false },
        .ll = { { h->ll.size, h->ll.assoc, h->ll.line }, false },
    };
    char *desc = run_spool_desc(&c);

    text_print(stdout, "# command: %s\n# process: %d\n# ", r->command, h->pid);
    for (const char *s = desc; *s; s++) {
        putchar(*s);
        if (*s == '\n')
            printf("# ");
    }
    putchar('\n');
    if (h->parent_end)
        text_print(stdout, "# continues: %s, byte %" PRIu64 "\n", r->parent, h->parent_end);
    free(desc);
}

static void print_item(const struct trace_reader *r, const struct trace_item *item)
{
    static const char letter[] = "IRWM", undone[] = "irwm";
    uint64_t pc = item->pc;

    switch (item->what) {
    case TRACE_FETCH:
    case TRACE_READ:
    case TRACE_WRITE:
    case TRACE_MODIFY:
        text_print(stdout, "%c 0x%" PRIx64 " %u 0x%" PRIx64 "\n",
                   (item->undone ? undone : letter)[item->what], item->addr, item->size, pc);
        break;
    case TRACE_COND:
        text_print(stdout, "%c - - 0x%" PRIx64 "\n",
                   item->undone  ? 'n'
                   : item->taken ? 'T'
                                 : 'N',
                   pc);
        break;
    case TRACE_INDIRECT: printf("J 0x%" PRIx64 " - 0x%" PRIx64 "\n", item->addr, pc); break;
    case TRACE_AGAIN: printf("A - - 0x%" PRIx64 "\n", pc); break;
    case TRACE_TAKE_BACK: printf("U - - 0x%" PRIx64 "\n", pc); break;
    case TRACE_COUNT_READ: printf("D - - 0x%" PRIx64 "\n", pc); break;
    case TRACE_HISTORY: printf("H 0x%" PRIx64 " - 0x%" PRIx64 "\n", item->addr, pc); break;
    case TRACE_CLEAR: puts("# the caches are cleared"); break;
    case TRACE_ZERO: puts("# the counts are reset"); break;
    case TRACE_MAP:
        text_print(stdout, "# from 0x%" PRIx64 " to 0x%" PRIx64 ": %s, from 0x%" PRIx64 "\n", pc,
                   item->addr, *r->path ? r->path : "???", r->offset);
        break;
    }
}

void trace_list(const struct trace_options *o, const char *path, struct trace_reader *r)
{
    uint64_t n = 0, skip = o->skip;
    uint32_t thread = 0;
    struct trace_item item;
    int ret = 0;

    print_header(r);
    while ((!o->limited || n < o->limit) && (ret = trace_read_next(r, &item)) > 0) {
        bool mark = !item.thread;

        if (!mark && o->thread && item.thread != o->thread)
            continue;
        if (!mark && skip) {
            skip--;
            continue;
        }
        if (!mark && item.thread != thread)
            printf("# thread %u\n", item.thread);
        thread = mark ? thread : item.thread;
        print_item(r, &item);
        n += !mark;
    }
    if (ret < 0)
        trace_remark_die(path, r);
    if (!o->limited || n < o->limit)
        trace_remark_end(path, r);
}
