// SPDX-License-Identifier: MIT
// Giving up rights (rights.h). In the kernel each thread has its own rights; the C library makes
// all threads of a process call setuid() and its like, one by one, and each call comes here.
//
// A process that borrows or shares the memory of the profiled one (CLONE_VM) makes its calls
// unchanged: natively, too, it could use the profiled process's rights.
#include "engine/process/rights.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/replay/replayer.h"
#include "engine/spool/fds.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/threads.h"
#include "engine/translate/pcache.h"

#define NAMESPACES                                                                                \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET | CLONE_NEWTIME)

#define KEYCTL_JOIN_SESSION_KEYRING 1

static bool forgone; // no replayer and no background finisher any more
static bool judged;  // the client has filters, for its own calls only: no background finisher
// By any thread. In most programs none does, and a search through 5,000 threads takes 5 ms.
static bool any_given_up;

static bool is_prctl(u64 option)
{
    return option == PR_SET_NO_NEW_PRIVS || option == PR_CAPBSET_DROP ||
           option == PR_SET_SECUREBITS || option == PR_CAP_AMBIENT;
}

// Whether rights_call() makes the call.
static bool gives_up(u32 nr, u64 arg)
{
    switch (nr) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setgroups:
    case SYS_capset:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_setns:
    case SYS_landlock_restrict_self:
    case SYS_lsm_set_self_attr:
    case SYS_iopl:
    case SYS_ioperm: return true;
    case SYS_unshare: return (arg & NAMESPACES) != 0;
    case SYS_prctl: return is_prctl(arg);
    case SYS_keyctl: return (u32)arg == KEYCTL_JOIN_SESSION_KEYRING;
    default: return false;
    }
}

static bool changes_root(u32 nr)
{
    return nr == SYS_chroot || nr == SYS_pivot_root || nr == SYS_unshare || nr == SYS_setns;
}

// Whether children may be in another PID namespace from now on: the first of them is its init,
// which must be one of the client's.
static bool changes_pid_ns(const struct thread *t, u32 nr)
{
    return (nr == SYS_unshare && (thread_arg(t, 0) & CLONE_NEWPID)) ||
           (nr == SYS_setns && (!thread_arg(t, 1) || (thread_arg(t, 1) & CLONE_NEWPID)));
}

static bool is_concerned(const struct thread *t)
{
    return threads_is_profiled(t) && !thread_own(t)->borrowed;
}

// Until allow() no thread restarts the replayer or the background finisher: they would have the
// rights of that thread.
static void leave(struct thread *t)
{
    stopworld_stop(t);
    pcache_never(); // the persistent cache is for runs that have all rights
    replayer_stop();
    bgfinish_leave();
    heap_unshare();
    modules_drop_private();
    stopworld_resume(t);
}

static void allow(void)
{
    if (forgone)
        return;
    replayer_allow();
    if (!judged)
        bgfinish_allow();
}

static void give_up(struct thread *t)
{
    thread_own(t)->given_up++;
    __atomic_store_n(&any_given_up, true, __ATOMIC_SEQ_CST);
}

bool rights_call(struct thread *t, u32 nr)
{
    long ret;

    if (!gives_up(nr, thread_arg(t, 0)) || !is_concerned(t))
        return false;
    leave(t);
    if (!changes_root(nr))
        fds_leave_root();
    forgone |= changes_pid_ns(t, nr);
    stopworld_blocking_begin(t); // the folder's file system may be served by another thread
    ret = sys_call6((long)nr, thread_arg(t, 0), thread_arg(t, 1), thread_arg(t, 2),
                    thread_arg(t, 3), thread_arg(t, 4), thread_arg(t, 5));
    stopworld_blocking_end(t);
    give_up(t);
    allow();
    gate_return(t, ret);
    return true;
}

void rights_begin(struct thread *t)
{
    if (!is_concerned(t))
        return;
    leave(t);
    fds_leave_root();
}

void rights_end(struct thread *t)
{
    if (!is_concerned(t))
        return;
    judged = true;
    give_up(t);
    allow();
}

void rights_judged(void)
{
    judged = true;
    pcache_never();
    bgfinish_leave();
}

void rights_forgo(struct thread *t)
{
    forgone |= is_concerned(t);
    rights_begin(t);
}

bool rights_is_int80(u32 nr, u64 arg)
{
    switch (nr) {
    case 23:  // setuid, of 16 bits as those up to 170
    case 46:  // setgid
    case 61:  // chroot
    case 70:  // setreuid
    case 71:  // setregid
    case 81:  // setgroups
    case 101: // ioperm
    case 110: // iopl
    case 138: // setfsuid
    case 139: // setfsgid
    case 164: // setresuid
    case 170: // setresgid
    case 185: // capset
    case 203: // setreuid
    case 204: // setregid
    case 206: // setgroups
    case 208: // setresuid
    case 210: // setresgid
    case 213: // setuid
    case 214: // setgid
    case 215: // setfsuid
    case 216: // setfsgid
    case 217: // pivot_root
    case 346: // setns
    case 354: // seccomp
    case SYS_landlock_restrict_self:
    case SYS_lsm_set_self_attr: return true;
    case 172: return is_prctl((u32)arg) || (u32)arg == PR_SET_SECCOMP;
    case 288: return (u32)arg == KEYCTL_JOIN_SESSION_KEYRING;
    case 310: return (arg & NAMESPACES) != 0; // unshare
    default: return false;
    }
}

bool rights_is_file(const char *path)
{
    return nolibc_glob("/proc/*/attr/*", path);
}

void rights_fork_child(u64 clone_flags)
{
    if (!(clone_flags & NAMESPACES))
        return;
    pcache_never();
    bgfinish_leave();
    heap_unshare();
    if (!judged)
        bgfinish_allow();
}

void rights_inherit(struct thread *t, const struct thread *parent)
{
    thread_own(t)->given_up = thread_own(parent)->given_up;
}

// All threads make the C library's calls: threads with equal rights have made equally many.
static bool is_behind(const struct thread *t)
{
    bool behind = false;

    if (!__atomic_load_n(&any_given_up, __ATOMIC_SEQ_CST))
        return false;
    threads_lock();
    for (const struct thread *u = threads_first(); u && !behind; u = u->next)
        behind = thread_own(u)->given_up > thread_own(t)->given_up;
    threads_unlock();
    return behind;
}

void rights_thread_ends(struct thread *t)
{
    if (!is_concerned(t) || !is_behind(t))
        return;
    leave(t);
    allow();
}
