// SPDX-License-Identifier: MIT
// Client memory from engine code (clientmem.h): the C side of clientmem.S. Everything here may be
// called from a signal handler.
#include "engine/base/clientmem.h"

#include "engine/base/sys.h"

// clientmem.S
extern u64 clientmem_copy(void *dst, const void *src, u64 n);
extern u64 clientmem_load64(u64 *out, u64 gaddr);
extern u64 clientmem_load32(u32 *out, u64 gaddr);
extern u64 clientmem_store64(u64 gaddr, u64 value);
extern u64 clientmem_store32(u64 gaddr, u32 value);

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    return clientmem_copy(dst, (const void *)gaddr, n) ? -EFAULT : 0;
}

int clientmem_write(u64 gaddr, const void *src, u64 n)
{
    return clientmem_copy((void *)gaddr, src, n) ? -EFAULT : 0;
}

u64 clientmem_read_some(void *dst, u64 gaddr, u64 n)
{
    return n - clientmem_copy(dst, (const void *)gaddr, n);
}

int clientmem_read_u64(u64 gaddr, u64 *value)
{
    return clientmem_load64(value, gaddr) ? -EFAULT : 0;
}

int clientmem_read_u32(u64 gaddr, u32 *value)
{
    return clientmem_load32(value, gaddr) ? -EFAULT : 0;
}

int clientmem_write_u64(u64 gaddr, u64 value)
{
    return clientmem_store64(gaddr, value) ? -EFAULT : 0;
}

int clientmem_write_u32(u64 gaddr, u32 value)
{
    return clientmem_store32(gaddr, value) ? -EFAULT : 0;
}

// Reads only up to the end of the 64-byte line of the next character: if a string ends before an
// unmapped page, that page is never read.
s64 clientmem_strnlen(u64 gaddr, u64 max)
{
    char part[64];

    for (u64 done = 0; done < max;) {
        u64 want = sizeof(part) - ((gaddr + done) & (sizeof(part) - 1));
        if (want > max - done)
            want = max - done;
        u64 got = clientmem_read_some(part, gaddr + done, want);
        for (u64 i = 0; i < got; i++)
            if (!part[i])
                return (s64)(done + i);
        if (got < want)
            return -EFAULT;
        done += got;
    }
    return (s64)max;
}

s64 clientmem_read_str(char *dst, u64 gaddr, u64 size)
{
    s64 len = clientmem_strnlen(gaddr, size);

    if (len < 0)
        return len;
    if ((u64)len == size)
        return -ENAMETOOLONG;
    if (clientmem_read(dst, gaddr, (u64)len))
        return -EFAULT;
    dst[len] = '\0';
    return len;
}
