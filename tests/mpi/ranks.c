// SPDX-License-Identifier: MIT
//
// An MPI program whose work is shared unevenly on purpose: rank r does 1000 * (r + 1) rounds, and
// the rounds are added up over all ranks. A round is three instructions, whatever the compiler.
#include <mpi.h>
#include <stdio.h>

// Counts to n: 3 instructions a round and 2 besides.
long rounds(long n);
__asm__(".text\n"
        ".type rounds, @function\n"
        "rounds:\n"
        "    xor %eax, %eax\n"
        "1:  inc %rax\n"
        "    cmp %rdi, %rax\n"
        "    jne 1b\n"
        "    ret\n"
        ".size rounds, . - rounds\n");

int main(int argc, char **argv)
{
    long mine, sum = 0;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = rounds(1000L * (rank + 1));
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld rounds\n", sum);
    MPI_Finalize();
    return 0;
}
