// SPDX-License-Identifier: MIT
// Registers by hardware number and the flags by their bits, for C and for assembly.
#ifndef QUERN_ENGINE_REGS_H
#define QUERN_ENGINE_REGS_H

#define R_RAX 0
#define R_RCX 1
#define R_RDX 2
#define R_RBX 3
#define R_RSP 4
#define R_RBP 5
#define R_RSI 6
#define R_RDI 7
// r8..r15 are 8..15

#define REG_NONE 0xff
#define REG_RIP  0xfe

#define FLAG_CF     0x001u
#define FLAG_PF     0x004u
#define FLAG_AF     0x010u
#define FLAG_ZF     0x040u
#define FLAG_SF     0x080u
#define FLAG_OF     0x800u
#define FLAGS_ARITH 0x8d5u

#endif
