// SPDX-License-Identifier: MIT
//
// A share in per cent, in five characters where it fits: what printf() makes of "%5.2f" or, from
// 100.00 on, of "%5.1f". A table has tens of thousands, and printf() takes many times as long.
#ifndef QUERN_CLI_PERCENT_H
#define QUERN_CLI_PERCENT_H

#include <stddef.h>
#include <stdio.h>

#define PERCENT_MAX 32 // bytes that always suffice for shares below 10^25, NUL included

// The length.
static inline int percent_put(char *buf, double share)
{
    double hundredths = share * 100, over;
    unsigned n;

    if (share > 0 && share < 99.99) {
        n = (unsigned)hundredths;
        over = hundredths - n;
        // The error of the product is below 10^-11; near a half, printf() rounds the exact share.
        if (over < 0.4999 || over > 0.5001) {
            n += over > 0.5;
            buf[0] = n >= 1000 ? (char)('0' + n / 1000) : ' ';
            buf[1] = (char)('0' + n / 100 % 10);
            buf[2] = '.';
            buf[3] = (char)('0' + n / 10 % 10);
            buf[4] = (char)('0' + n % 10);
            buf[5] = 0;
            return 5;
        }
    }
    int len = snprintf(buf, PERCENT_MAX, "%5.2f", share);
    if (len > 5)
        len = snprintf(buf, PERCENT_MAX, "%5.1f", share);
    return len < PERCENT_MAX ? len : PERCENT_MAX - 1;
}

#endif
