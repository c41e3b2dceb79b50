// SPDX-License-Identifier: MIT
//
// Names of code that a program has generated.
#ifndef QUERN_FINISH_PLACES_GENERATED_H
#define QUERN_FINISH_PLACES_GENERATED_H

#include "finish/spool/spool.h"

struct perfmap;

// The caller frees it. NULL: no names are known.
struct perfmap *places_generated(const struct spool_file *s);

#endif
