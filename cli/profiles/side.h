// SPDX-License-Identifier: MIT
//
// A profile (the sum of several files) and the one it is compared with, as `quern report` and
// `quern top` read them. Ends the process with a message on an error.
#ifndef QUERN_CLI_SIDE_H
#define QUERN_CLI_SIDE_H

#include <time.h>

#include "cli/options/options.h"
#include "quern/profile.h"

struct side {
    const char **paths;
    size_t path_count;
    struct quern_profile *p;    // NULL: there is no base
    struct timespec mtime;      // of the oldest file
    struct option_list include; // folders searched for its sources
    struct option_list remark;  // messages of the reader, of all files
    bool apart;                 // files are not summed: each is a separate run
    size_t *run_parts;          // apart: how many parts each file has
};

// Reads side[0], and side[1] where it has a path, which must have the same events. The expressions
// of --mod-filename and --mod-funcname may be NULL. Defines the well-known derived events in both.
void side_read(struct side side[2], const char *mod_file, const char *mod_func);
void side_free(struct side side[2]);

// Defines the well-known derived events that can be computed from those of the profile.
void side_known_events(struct quern_profile *p);

// The event of this name, in both; without a name the one to begin with (known_first).
size_t side_event(const struct side side[2], const char *name);

// For OPTION_CALL, of a field `struct side side[2]`: -I adds a folder to both.
void side_include(void *field, const struct option *o, const char *value);

// Rows of options that say what is compared and where the sources are, for a structure with the
// fields side, base, event_name, mod_file and mod_func.
// clang-format off
#define SIDE_OPTIONS_COMPARED(type) \
    { "--base", "=OLD", "compare with this profile, in every view", \
      OPTION_TEXT, .field = offsetof(type, base) }, \
    { "--event", "=NAME", "the event to begin with [Cy, or the first]", \
      OPTION_TEXT, .field = offsetof(type, event_name) }
#define SIDE_OPTIONS_FOUND(type) \
    { "-I", " DIR", NULL, OPTION_CALL, OPTION_ATTACHED, \
      .field = offsetof(type, side), .call = side_include }, \
    { "--include", "=DIR", "look for sources below DIR; may be repeated", \
      OPTION_CALL, OPTION_APART, .field = offsetof(type, side), .call = side_include }, \
    { "--old-include", "=DIR", NULL, OPTION_LIST, .field = offsetof(type, side[1].include) }, \
    { "--new-include", "=DIR", "the same, for the base or the profile only", \
      OPTION_LIST, .field = offsetof(type, side[0].include) }, \
    { "--mod-filename", "=EXPR", NULL, OPTION_TEXT, .field = offsetof(type, mod_file) }, \
    { "--mod-funcname", "=EXPR", "rewrite names first, for example s/build-[0-9]*/build/", \
      OPTION_TEXT, .field = offsetof(type, mod_func) }
// clang-format on

#endif
