// SPDX-License-Identifier: MIT
//
// The heap of a process that fills much memory in a short time. The first touch of a page faults:
// 0.5 us, in some virtual machines 12. Reading a profile of 18 MB touched 3,900 pages, a third of
// the time of `annotate`.
#ifndef QUERN_CLI_HEAP_H
#define QUERN_CLI_HEAP_H

#include <stddef.h>

// From here on memory comes from the process's heap and is never given back; about `bytes` more of
// it use large pages where the kernel has them. Untouched memory is not allocated. Where the limits
// of the process leave no space for so many bytes, the heap stays as it is. A second call with no
// more bytes than the first does nothing. Call it before threads are started.
void heap_prepare(size_t bytes);

// The same for a profile that will be read. Does nothing for a small file or one that is not
// regular.
void heap_prepare_for(const char *path);

#endif
