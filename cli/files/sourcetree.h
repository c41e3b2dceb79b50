// SPDX-License-Identifier: MIT
//
// The files below a folder of -I, by the ends of their paths: a source tree that was moved.
#ifndef QUERN_CLI_SOURCETREE_H
#define QUERN_CLI_SOURCETREE_H

// The file below `folder` whose path has the most last parts in common with `name`: at least two,
// or all of a name that has one. NULL: none, or several with as many. To be freed.
char *sourcetree_find(const char *folder, const char *name);

#endif
