// SPDX-License-Identifier: MIT
//
// Who calls whom: every pair of caller and callee once, made of the call sites of all parts of both
// sides.
#ifndef QUERN_REPORT_CORE_LINK_H
#define QUERN_REPORT_CORE_LINK_H

#include "report/core/model.h"

// Once all blocks are loaded; no block is taken afterwards. 0 or an error.
int link_edges(struct core *c);

// The edge, or CORE_NONE.
uint32_t link_find(const struct core *c, uint32_t caller, uint32_t callee);

#endif
