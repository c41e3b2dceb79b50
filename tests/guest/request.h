// SPDX-License-Identifier: MIT
//
// The sequence of a client request (valgrind.h): natively it changes flags alone. rax points to six
// words, the request and its arguments; rdx is the answer.

        .macro  REQUEST
        rol     $3, %rdi
        rol     $13, %rdi
        rol     $61, %rdi
        rol     $51, %rdi
        xchg    %rbx, %rbx
        .endm
