// SPDX-License-Identifier: MIT
//
// Which of the engine's blocks a run executes: scripts/mutate puts this in front of every source of
// one build with -fsanitize-coverage=trace-pc, whose calls it answers. gcov cannot do that without
// a C library. The notes are a byte for each address of the text, in a file that all processes
// share; where it cannot be opened (another root, no descriptor left) they are lost with the
// process.
#if !__STDC_HOSTED__ && !defined __ASSEMBLER__
#    define MUTATE_NOTES_SIZE 0x200000 // the text has less, and begins at a multiple of it

__attribute__((weak, aligned(4096))) unsigned char mutate_notes[MUTATE_NOTES_SIZE];
__attribute__((weak)) int mutate_opened;

static inline __attribute__((always_inline)) long mutate_call(long number, long a, long b, long c,
                                                              long d, long e)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
    long ret;

    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

__attribute__((weak, noinline, no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    unsigned long at = (unsigned long)__builtin_return_address(0) & (MUTATE_NOTES_SIZE - 1);

    if (!mutate_opened) {
        mutate_opened = 1;
        long fd = mutate_call(2, (long)MUTATE_NOTES, 2, 0, 0, 0); // open(), O_RDWR
        if (fd >= 0) {
            // mmap() of it in place of the array: MAP_SHARED | MAP_FIXED; close()
            mutate_call(9, (long)mutate_notes, MUTATE_NOTES_SIZE, 3, 0x11, fd);
            mutate_call(3, fd, 0, 0, 0, 0);
        }
    }
    if (!mutate_notes[at])
        mutate_notes[at] = 1;
}
#endif
