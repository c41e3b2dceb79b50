// SPDX-License-Identifier: MIT
// Start of a thread (threadstart.h): its thread area, and the data of each layer.
#include "engine/process/threadstart.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/vtsc.h"
#include "engine/objects/alloc.h"
#include "engine/objects/many.h"
#include "engine/objects/objects.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/setup.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"

struct thread *threadstart_new(struct thread *parent)
{
    struct thread *t = threads_new(parent);

    if (!t)
        return NULL;
    gate_thread_init(t);
    if (tcache_thread_init(t)) {
        threads_free(t);
        return NULL;
    }
    if (parent)
        alloc_second_thread(parent);
    // The second thread changes how LL is used.
    if (parent)
        replayer_settle(parent);
    if (caches_thread_init(t)) {
        tcache_thread_fini(t);
        threads_free(t);
        return NULL;
    }
    objects_thread_init(t);
    many_thread_init(t);
    recordbuf_thread_init(t);
    if (parent)
        vtsc_thread_init(t, parent);
    return t;
}

void threadstart_abort(struct thread *t)
{
    setup_thread_end(t);
    caches_thread_fini(t);
    tcache_thread_fini(t);
    threads_free(t);
}

void threadstart_start(struct thread *t)
{
    long ret = sys_call2(SYS_arch_prctl, ARCH_SET_GS, (u64)t);

    if (ret)
        engine_die("cannot set the gs base of a thread: error %ld", -ret);
    // tgid first: whoever stops the world takes a thread for dead that is not in its process, and a
    // separate process in this memory starts with its parent's tgid.
    __atomic_store_n(&thread_own(t)->tgid, sys_getpid(), __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->tid, sys_gettid(), __ATOMIC_SEQ_CST);
    setup_thread_start(t);
    stress_start(t);
    sampler_start(t);
}

struct thread *threadstart_main(void)
{
    struct thread *t;

    stopworld_init();
    t = threadstart_new(NULL);
    if (!t)
        engine_die("not enough memory for the first thread's tables");
    threads_set_profiled(sys_getpid());
    setup_thread(t, NULL, true);
    threadstart_start(t);
    threads_list_add(t);
    stopworld_turn_take(t);
    return t;
}
