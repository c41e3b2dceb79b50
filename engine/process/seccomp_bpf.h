// SPDX-License-Identifier: MIT
// The classic BPF programs of seccomp: checked as the kernel checks them, and run.
#ifndef QUERN_ENGINE_SECCOMP_BPF_H
#define QUERN_ENGINE_SECCOMP_BPF_H

#include "engine/base/sys.h"

#define SECCOMP_MAX_INSNS 4096

// Is this a program that the kernel would take? Only loads of words from the data, arithmetic,
// jumps forward, return. 0 or -EINVAL.
int seccomp_validate(const struct k_bpf_insn *p, u32 n);

// Instructions that a validated program has once the kernel has converted it (net/core/filter.c,
// bpf_convert_filter): its limits count these.
u32 seccomp_kernel_length(const struct k_bpf_insn *p, u32 n);

// Runs a validated program.
u32 seccomp_run(const struct k_bpf_insn *p, u32 n, const struct k_seccomp_data *d);

#endif
