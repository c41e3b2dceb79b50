// SPDX-License-Identifier: MIT
// One warning, at translation (cpucheck.h): execution pays nothing.
#include "engine/translate/cpucheck.h"

#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/isa.h"

static bool warned;

static void warn(const struct insn *in)
{
    const struct spool_map *m =
        (const struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF) + vmmap_spool_map(in->pc);
    const char *path = spooler_string(m->path);

    if (m->flags & SPOOL_MAP_VDSO) // the kernel made it for this machine
        return;
    warned = true;
    // From now on a signal handler's frame has all states: the program uses them.
    cpu_show_all();
    if (spool->flags & SPOOL_F_QUIET)
        return;
    engine_msg(
        "warning: the instruction at 0x%lx of %s (offset 0x%lx) needs %s, which --cpu=%s has "
        "not: it is executed all the same, and the counts are those of this machine; warned "
        "once",
        in->pc, *path ? path : "generated code", in->pc - m->start + m->offset,
        isa_word(in->feature), spooler_string(spool->s_cpu));
}

bool cpucheck_warned(void)
{
    return warned;
}

void cpucheck_check(const struct tb *b)
{
    if (!tb_config.shown || warned)
        return;
    for (u32 i = 0; i < b->n; i++) {
        u32 f = b->insn[i].feature;

        if (f != CPU_NONE && !cpu_set_has(&spool->cpu.features, f)) {
            warn(&b->insn[i]);
            return;
        }
    }
}
