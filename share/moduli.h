// SPDX-License-Identifier: MIT
// Moduli of the numbers of words of 4 bytes in an object (struct spool_data_cell): what a remainder
// is known of. The remainder of an offset by the size of an element follows if that divides 4 times
// one of them: 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, ... 256 bytes.
#ifndef QUERN_SHARE_MODULI_H
#define QUERN_SHARE_MODULI_H

#define MODULI_COUNT 8
#define MODULI_MOST  64 // bits
#define MODULI(X)    X(0, 64) X(1, 60) X(2, 56) X(3, 54) X(4, 52) X(5, 48) X(6, 44) X(7, 36)

#endif
