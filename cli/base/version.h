// SPDX-License-Identifier: MIT
//
// The version that `quern --version`, the banner of a run and the profiles' creator say. The build
// gives the number of the root Makefile; a compilation by hand says so.
#ifndef QUERN_CLI_VERSION_H
#define QUERN_CLI_VERSION_H

#ifndef QUERN_VERSION
#    define QUERN_VERSION "unversioned"
#endif

#endif
