// SPDX-License-Identifier: MIT
//
// Decoder of raw deflate (RFC 1951). Browsers have one, but only as a stream of small
// pieces, which takes longer than the decoding itself.
#ifndef QUERN_REPORT_CORE_INFLATE_H
#define QUERN_REPORT_CORE_INFLATE_H

#include "report/core/base.h"

// Exactly `size` bytes into `out`. 0, or CORE_DAMAGED: what is in `out` then means nothing.
int inflate_raw(const uint8_t *from, size_t from_size, uint8_t *out, size_t size);

#endif
