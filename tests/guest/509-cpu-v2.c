// SPDX-License-Identifier: MIT
//
// Like 505-cpu.c, at a higher level.
// needs: cx16 popcnt pni sse4_1 sse4_2 ssse3
// case: --cpu=x86-64-v2
// case: --cpu=x86-64-v2,-popcnt --tsc=counted
// about: reproducible
#include "505-cpu.c"
