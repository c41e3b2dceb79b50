// SPDX-License-Identifier: MIT
//
// Events and their names.
#include "finish/spool/finish_event.h"

#include "share/spool.h"

const char *const finish_event_names[FINISH_EVENTS] = {
    "Ir", "I1mr", "ILmr", "Dr",  "D1mr", "DLmr",     "Dw",      "D1mw",      "DLmw",
    "Bc", "Bcm",  "Bi",   "Bim", "Ge",   "sysCount", "sysTime", "sysCpuTime"
};

bool finish_event_counted(enum finish_event e, uint64_t flags)
{
    if (e == FINISH_IR)
        return true;
    if (e >= FINISH_GE)
        return (flags & (e == FINISH_GE       ? SPOOL_F_BUS
                         : e == FINISH_SYSCPU ? SPOOL_F_SYSCPU
                                              : SPOOL_F_SYSTIME)) != 0;
    return (flags & (e < FINISH_BC ? SPOOL_F_CACHE_SIM : SPOOL_F_BRANCH_SIM)) != 0;
}
