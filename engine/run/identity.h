// SPDX-License-Identifier: MIT
// What tells a program, and this engine, from others: by this number a run finds the translations
// of an earlier one (translate/pcache.h). Which code a program has is not taken from it.
#ifndef QUERN_ENGINE_IDENTITY_H
#define QUERN_ENGINE_IDENTITY_H

#include "engine/process/elf.h"

// Of a program that has been mapped.
u64 identity_of(const struct elf_file *program, const struct elf_image *image);

#endif
