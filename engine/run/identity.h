// SPDX-License-Identifier: MIT
// A number that identifies a program and this engine: by it a run finds the translations of an
// earlier run (translate/pcache.h). It does not prove which code the program has.
#ifndef QUERN_ENGINE_IDENTITY_H
#define QUERN_ENGINE_IDENTITY_H

#include "engine/process/elf.h"

// Of a program that has been mapped.
u64 identity_of(const struct elf_file *program, const struct elf_image *image);

#endif
