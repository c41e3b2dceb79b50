// SPDX-License-Identifier: MIT
//
// The frame of a signal: its address, its extended state with both magic numbers, the upper
// halves of ymm registers in it, what the handler changes there; the mask, the alternate stack and
// the return to the interrupted place.
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

// needs: avx

#define MAGIC1      0x46505853u
#define MAGIC2      0x46505845u
#define YMM_HIGH_AT 576

static volatile int handled;
static char *below;

static void handler(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint8_t *fp = (uint8_t *)u->uc_mcontext.fpregs;
    uint32_t words[12], magic2;
    uint64_t high[2];

    handled++;
    CHECK(sig == SIGUSR1 && info->si_pid == getpid() && info->si_code == SI_TKILL);
    // Below the interrupted stack pointer and its 128 bytes, the extended state aligned to 64.
    CHECK((uintptr_t)context < (uintptr_t)u->uc_mcontext.gregs[REG_RSP] - 128);
    CHECK((char *)context < below);
    CHECK(((uintptr_t)fp & 63) == 0 && ((uintptr_t)__builtin_frame_address(0) & 15) == 0);
    memcpy(words, fp + 464, sizeof(words));
    CHECK(words[0] == MAGIC1);
    memcpy(&magic2, fp + words[1] - 4, 4);
    CHECK(magic2 == MAGIC2);
    memcpy(high, fp + YMM_HIGH_AT + 5 * 16, 16);
    CHECK(high[0] == 0x5555555555555555 && high[1] == 0x6666666666666666);
    high[0] = 0x7777777777777777;
    memcpy(fp + YMM_HIGH_AT + 5 * 16, high, 8);
    // The header says that the component is there.
    CHECK(fp[512] & 4);
    CHECK(!sigismember(&u->uc_sigmask, SIGUSR1) && sigismember(&u->uc_sigmask, SIGUSR2));
    CHECK(u->uc_link == NULL);
    // The handler's changes of registers are undone.
    __asm__ volatile("vxorps %%ymm5, %%ymm5, %%ymm5\n\tfninit\n\tcld" ::: "xmm5");
}

int main(void)
{
    static const uint64_t value[4] = { 1, 2, 0x5555555555555555, 0x6666666666666666 };
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    uint64_t after[4];
    sigset_t mask, inner;
    char here;

    below = &here;
    sigaction(SIGUSR1, &a, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    for (int i = 0; i < 20; i++) {
        long pid = getpid(), tid = gettid(), result;

        // tgkill to itself, with values in ymm5 and on the x87 stack.
        double one = 0;

        __asm__ volatile("vmovdqu (%[value]), %%ymm5\n\tfld1\n\tsyscall\n\t"
                         "vmovdqu %%ymm5, (%[after])\n\tfstpl %[one]"
                         : "=a"(result), [one] "=m"(one)
                         : "0"(234), "D"(pid), "S"(tid),
                           "d"(SIGUSR1), [value] "r"(value), [after] "r"(after)
                         : "rcx", "r11", "xmm5", "memory");
        CHECK(result == 0 && handled == i + 1 && one == 1.0);
        CHECK(after[0] == 1 && after[1] == 2);
        CHECK(after[2] == 0x7777777777777777 && after[3] == 0x6666666666666666);
        sigprocmask(SIG_SETMASK, NULL, &inner);
        CHECK(sigismember(&inner, SIGUSR2) && !sigismember(&inner, SIGUSR1));
    }
    return check_failed;
}
