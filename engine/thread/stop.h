// SPDX-License-Identifier: MIT
// Why a thread has to leave client code: the bits of struct thread.stop, set by atomic or, cleared
// by atomic and; and the signal that kicks it.
#ifndef QUERN_ENGINE_STOP_H
#define QUERN_ENGINE_STOP_H

#include "engine/thread/thread.h"

#define STOP_SIGNAL 1ul // a signal is pending or the mask is closed: deliver_pending()
#define STOP_PARK   2ul // the world stops: stopworld_park()
// --serialize-threads: another thread waits for the turn: stopworld_park() gives it.
#define STOP_YIELD 4ul
// A request from outside: control_answer().
#define STOP_CONTROL 8ul
// A sample of what is executed is due: superblock_sample().
#define STOP_SAMPLE 16ul

// glibc's SIGSETXID: sent to single threads only, and hardly ever blocked.
#define STOP_KICK_SIGNAL  33
#define STOP_KICK_MAGIC  0x51756e706f6b65ul // its si_value; si_code is SI_QUEUE or SI_TIMER
#define STOP_SAMPLE_MAGIC 0x51756e6c6f6f6bul // the same, and the handler sets STOP_SAMPLE

static inline void stop_set(struct thread *t, u64 bits)
{
    __atomic_fetch_or(&t->stop, bits, __ATOMIC_SEQ_CST);
}

static inline void stop_clear(struct thread *t, u64 bits)
{
    __atomic_fetch_and(&t->stop, ~bits, __ATOMIC_SEQ_CST);
}

#endif
