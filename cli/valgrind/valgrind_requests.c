// SPDX-License-Identifier: MIT
//
// Does a program ask for CALLGRIND_TOGGLE_COLLECT? The engine follows that only if it keeps apart
// from the start what is collected, which makes it slower: the front-end asks for that where the
// program's file has the request in it. A library's is not found.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/valgrind/valgrind.h"

// The instructions that mark a request, as valgrind.h has them: rol $3, $13, $61, $51, %rdi.
static const unsigned char mark[] = { 0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d,
                                      0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33 };
// The number of the request, 'C', 'T', 2, as an immediate operand.
static const unsigned char toggle[] = { 0x02, 0x00, 0x54, 0x43 };

bool valgrind_requests_toggle(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *text = MAP_FAILED;
    bool yes = false;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text != MAP_FAILED) {
        size_t size = (size_t)st.st_size;

        yes = memmem(text, size, mark, sizeof(mark)) && memmem(text, size, toggle, sizeof(toggle));
        munmap(text, size);
    }
    if (fd >= 0)
        close(fd);
    return yes;
}
