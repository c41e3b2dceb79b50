// SPDX-License-Identifier: MIT
// System call numbers of Linux on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl): the compiler's own headers are all
// that engine files may include, so the numbers are repeated here. Included by sys.h; a number never changes.
#ifndef QUERN_ENGINE_SYSNR_H
#define QUERN_ENGINE_SYSNR_H

#define SYS_cachestat 451
#define SYS_fchmodat2 452
#define SYS_map_shadow_stack 453
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#define SYS_mseal 462

#endif
