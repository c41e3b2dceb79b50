// SPDX-License-Identifier: MIT
//
// Jump tables: a bytecode machine with one big switch, run on a program that computes primes, and a
// switch on characters.
#include <stdint.h>

int run(void);

enum op {
    PUSH,
    LOAD,
    STORE,
    ADD,
    SUB,
    MUL,
    MOD,
    LESS,
    JUMP,
    JUMP_ZERO,
    DUP,
    DROP,
    INCREMENT,
    HALT
};

static int64_t variable[8];
static int64_t stack[32];

// n = 2; count = 0; while (n < 220) { d = 2; while (d * d < n + 1) { if (n % d == 0) break; d++; }
// prime if not; n++ }
static const int16_t program[] = {
    PUSH,
    2,
    STORE,
    0,
    PUSH,
    0,
    STORE,
    2,
    /* 8: */ LOAD,
    0,
    PUSH,
    220,
    LESS,
    JUMP_ZERO,
    54,
    /* 15: */ PUSH,
    2,
    STORE,
    1,
    /* 19: */ LOAD,
    1,
    DUP,
    MUL,
    LOAD,
    0,
    PUSH,
    1,
    ADD,
    LESS,
    JUMP_ZERO,
    46,
    /* 31: */ LOAD,
    0,
    LOAD,
    1,
    MOD,
    JUMP_ZERO,
    50,
    /* 38: */ INCREMENT,
    1,
    JUMP,
    19,
    DROP,
    DROP,
    DROP,
    DROP,
    /* 46: */ INCREMENT,
    2,
    JUMP,
    50,
    /* 50: */ INCREMENT,
    0,
    JUMP,
    8,
    /* 54: */ LOAD,
    2,
    HALT,
};

__attribute__((noinline)) static int64_t execute(const int16_t *code)
{
    int64_t *sp = stack;
    const int16_t *pc = code;

    for (;;) {
        switch (*pc++) {
        case PUSH: *sp++ = *pc++; break;
        case LOAD: *sp++ = variable[*pc++]; break;
        case STORE: variable[*pc++] = *--sp; break;
        case ADD:
            sp--;
            sp[-1] += *sp;
            break;
        case SUB:
            sp--;
            sp[-1] -= *sp;
            break;
        case MUL:
            sp--;
            sp[-1] *= *sp;
            break;
        case MOD:
            sp--;
            sp[-1] %= *sp;
            break;
        case LESS:
            sp--;
            sp[-1] = sp[-1] < *sp;
            break;
        case JUMP: pc = code + *pc; break;
        case JUMP_ZERO: pc = *--sp ? pc + 1 : code + *pc; break;
        case DUP:
            *sp = sp[-1];
            sp++;
            break;
        case DROP: sp--; break;
        case INCREMENT: variable[*pc++]++; break;
        case HALT: return *--sp;
        }
    }
}

static const char text[] =
    "{\"name\": [1, 2.5e3, -7], \"flag\": true, \"none\": null} \t\n {\"a\": {\"b\": \"c\"}}";

__attribute__((noinline)) static int classify(const char *s, int counts[8])
{
    int depth = 0, deepest = 0;

    for (; *s; s++) {
        switch (*s) {
        case '{':
        case '[':
            if (++depth > deepest)
                deepest = depth;
            counts[0]++;
            break;
        case '}':
        case ']':
            depth--;
            counts[1]++;
            break;
        case '"': counts[2]++; break;
        case ':': counts[3]++; break;
        case ',': counts[4]++; break;
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
        case '-':
        case '.': counts[5]++; break;
        case ' ':
        case '\t':
        case '\n': counts[6]++; break;
        default: counts[7]++; break;
        }
    }
    return depth ? -1 : deepest;
}

int run(void)
{
    int counts[8] = { 0 };

    // 47 primes are below 220.
    if (execute(program) != 47)
        return 1;
    for (int i = 0; i < 20; i++)
        if (classify(text, counts) != 2)
            return 2;
    return counts[2] == 20 * 12 ? 0 : 3;
}
