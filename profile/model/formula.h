// SPDX-License-Identifier: MIT
//
// What the formula of a derived event means: "[number [*]] name, joined by + and -", as sums of
// factors times events with counts.
#ifndef QUERN_PROFILE_FORMULA_H
#define QUERN_PROFILE_FORMULA_H

#include "profile/model/model.h"

// Compiles the formulas when all events are known; one that does not compile stays text and has the
// value 0. -ENOMEM: not compiled.
int formula_compile(struct quern_profile *p);

#endif
