// SPDX-License-Identifier: MIT
// The classic BPF programs of seccomp: checked as the kernel checks them, and run.
#ifndef QUERN_ENGINE_SECCOMP_BPF_H
#define QUERN_ENGINE_SECCOMP_BPF_H

#include "engine/base/sys.h"

#define SECCOMP_MAX_INSNS 4096

// Would the kernel take this program? Only loads of words from the data, arithmetic, forward jumps,
// return. 0 or -EINVAL.
int seccomp_validate(const struct k_bpf_insn *p, u32 n);

// Length of a validated program after the kernel's conversion (net/core/filter.c,
// bpf_convert_filter): the kernel's limits count these instructions.
u32 seccomp_kernel_length(const struct k_bpf_insn *p, u32 n);

// Runs a validated program.
u32 seccomp_run(const struct k_bpf_insn *p, u32 n, const struct k_seccomp_data *d);

#endif
