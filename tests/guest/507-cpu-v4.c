// SPDX-License-Identifier: MIT
//
// Like 505-cpu.c, at a higher level.
// needs: avx512f avx512bw avx512cd avx512dq avx512vl fma movbe abm
// case: --cpu=x86-64-v4
// case: --cpu=x86-64-v4,-bmi2 --tsc=counted
// about: reproducible
#include "505-cpu.c"
