// SPDX-License-Identifier: MIT
//
// Cachegrind's two requests. Valgrind has this header from 3.22 on; the distribution may be older.
#ifndef TESTS_REQUESTS_CACHEGRIND_H
#define TESTS_REQUESTS_CACHEGRIND_H

#include <valgrind/valgrind.h>

#define CACHEGRIND_START_INSTRUMENTATION VALGRIND_DO_CLIENT_REQUEST_STMT(0x43470000, 0, 0, 0, 0, 0)
#define CACHEGRIND_STOP_INSTRUMENTATION  VALGRIND_DO_CLIENT_REQUEST_STMT(0x43470001, 0, 0, 0, 0, 0)

#endif
