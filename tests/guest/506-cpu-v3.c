// SPDX-License-Identifier: MIT
//
// Like 505-cpu.c, at a higher level.
// needs: avx2 bmi2 fma movbe abm f16c xsave
// case: --cpu=x86-64-v3
// case: --cpu=x86-64-v3,-bmi2 --tsc=counted
// about: reproducible
#include "505-cpu.c"
