// SPDX-License-Identifier: MIT
//
// The events of a profile: those with counts, and those derived from them by a formula. Formulas
// are only text here; formula.h gives them a meaning.
#ifndef QUERN_PROFILE_EVENTS_H
#define QUERN_PROFILE_EVENTS_H

#include "profile/model/model.h"

// Number of the event of that name among these n; -ENOENT.
int events_find(const struct event *e, size_t n, const char *name, size_t len);
// Event i, first those with counts, then the derived ones; past the end an event without a name.
const struct event *events_get(const struct quern_profile *p, size_t i);
// Number of an event with counts; adds it if there is none with that name. -E2BIG: there are
// EVENTS_MAX; -ENOMEM.
int events_add(struct quern_profile *p, const char *name, size_t len);
// Sets the long name or the formula of an event, or both; NULL leaves one unchanged. An event with
// a formula, or without counts (yet), is stored as derived. 0, -E2BIG, -ENOMEM.
int events_define(struct quern_profile *p, const char *name, const char *formula,
                  const char *long_name);
// 0 if both have the same events: names, order, formulas, long names. Otherwise -EINVAL, and an
// error that names both files.
int events_same(const struct quern_profile *a, const char *a_name, const struct quern_profile *b,
                const char *b_name, struct quern_error *err);
void events_free(struct event *e, size_t n);

#endif
