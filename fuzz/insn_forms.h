// SPDX-License-Identifier: MIT
// The dictionary of instruction forms from which insn_gen.c draws, and random instructions of a
// form. The operands of an instruction, and the code around it, are insn_gen.c's.
#ifndef QUERN_FUZZ_INSN_FORMS_H
#define QUERN_FUZZ_INSN_FORMS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENC_LEGACY, ENC_VEX, ENC_EVEX };

struct combo {
    uint16_t mnemonic, isa;
    uint8_t enc, map, pp, w, l, opcode, reg, rm, mem, b;
};

struct piece {
    uint8_t bytes[16];
    uint8_t len;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

// Instruction sets that this machine lacks: forms of theirs are drawn rarely. By ZydisISASet.
extern bool forms_missing[ZYDIS_ISA_SET_MAX_VALUE + 1];

// Makes the dictionary. Called first.
void forms_make(void);

// A form: first the encoding, then the mnemonic, then one of its forms.
const struct combo *forms_draw(void);

// A form of this instruction set; NULL: there is none.
const struct combo *forms_of_isa(uint32_t isa);

// An instruction of this form, its free bits drawn. False: the result is none. low: addresses of
// 32 bits may be used.
bool forms_random(struct piece *p, const struct combo *c, bool low);

// Decodes the first n of p->bytes. False: they are no instruction.
bool forms_decode(struct piece *p, size_t n);

// Of AMX: nearly all of them are illegal before ldtilecfg.
bool forms_uses_tiles(uint32_t isa);

// Instructions that are not drawn: with side effects (system calls, protection keys), dependent on
// time or the processor, waiting ones, or branches, which insn_gen.c has units for.
bool forms_banned(const ZydisDecodedInstruction *zi);

#endif
