// SPDX-License-Identifier: MIT
//
// The version, shown by `quern --version`, the banner of a run and the creator line of profiles.
// The build takes it from the root Makefile; a compilation by hand is "unversioned".
#ifndef QUERN_CLI_VERSION_H
#define QUERN_CLI_VERSION_H

#ifndef QUERN_VERSION
#    define QUERN_VERSION "unversioned"
#endif

#endif
