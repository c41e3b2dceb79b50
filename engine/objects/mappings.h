// SPDX-License-Identifier: MIT
// What the client has mapped, for the look-up of addresses: modules, files, anonymous memory by the
// call that mapped it, stacks. Called where the mappings are made (syscalls/memory.c, run/launch.c)
// with the results of the kernel. Without --data=yes all of these do nothing.
#ifndef QUERN_ENGINE_MAPPINGS_H
#define QUERN_ENGINE_MAPPINGS_H

#include "engine/objects/ranges.h"
#include "engine/thread/thread.h"

// Makes the objects of which a process has one.
void mappings_init(void);

// Of a program that starts: what is mapped from the file in fd, by its name; its stack, of which
// [sp, end) is what the kernel has put there.
void mappings_program(int fd, const char *path, u64 start, u64 bytes);
void mappings_stack(u64 low, u64 sp, u64 end);
// t makes a thread that has its stack below sp.
void mappings_thread_stack(struct thread *t, u64 sp);
// A thread has its thread-local variables below fs, and what the C library keeps of it above. t is
// that thread, or the one that makes it.
void mappings_tls(struct thread *t, u64 fs);
void mappings_vdso(u64 start, u64 end);

// [start, end) has been mapped by t: from the file in fd, from its offset on; anonymously; as a
// segment of shared memory; by moving the break.
void mappings_file(struct thread *t, u64 start, u64 end, int fd, u64 offset);
void mappings_anonymous(struct thread *t, u64 start, u64 end);
void mappings_shared(struct thread *t, u64 start, u64 end);
void mappings_break(struct thread *t, u64 start, u64 end);
void mappings_removed(struct thread *t, u64 start, u64 end);
void mappings_moved(struct thread *t, u64 old, u64 old_end, u64 to, u64 to_end, bool keeps);

// How often files have been mapped and memory unmapped: other functions may be there.
extern u64 mappings_changes;

// The object at addr as of a time; out: without `who`. @holds(objtable's lock) @signal-safe
u32 mappings_find(u64 addr, u64 at, u32 who, struct found *out);
// As ranges_span(). @holds(objtable's lock) @signal-safe
void mappings_span(u64 addr, struct ranges_span *span);

#endif
