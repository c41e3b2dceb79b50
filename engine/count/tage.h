// SPDX-License-Identifier: MIT
// The search of the predictor's tables by AVX2 (tage.S), as vector.h: for replays only. The tables
// are as many as a vector has words.
#ifndef QUERN_ENGINE_TAGE_H
#define QUERN_ENGINE_TAGE_H

// Offsets in struct sim_predict.
#define TAGE_FOLD    262144
#define TAGE_HISTORY 262176
#define TAGE_TIME    263200
#define TAGE_LARGE   263204

#ifndef __ASSEMBLER__

#    include "sim/predict.h"

// As sim_tage_find().
uint32_t tage_find(struct sim_predict *p, uint32_t hash, bool taken, struct sim_tage_places *at);

_Static_assert(offsetof(struct sim_predict, table) == 0, "asm offset");
_Static_assert(offsetof(struct sim_predict, fold) == TAGE_FOLD, "asm offset");
_Static_assert(offsetof(struct sim_predict, history) == TAGE_HISTORY, "asm offset");
_Static_assert(offsetof(struct sim_predict, time) == TAGE_TIME, "asm offset");
_Static_assert(offsetof(struct sim_predict, large) == TAGE_LARGE, "asm offset");
_Static_assert(offsetof(struct sim_tage_places, tag) == 32, "asm offset");
_Static_assert(sizeof(struct sim_tage_entry) == 4 && offsetof(struct sim_tage_entry, tag) == 0,
               "a gathered word");
_Static_assert(SIM_TAGE_TABLES == 8 && SIM_TAGE_BITS == 11 && SIM_TAGE_HISTORY == 512,
               "in tage.S, too");

#endif
#endif
