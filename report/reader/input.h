// SPDX-License-Identifier: MIT
//
// What reader.c says of the text that is read next.
#ifndef QUERN_REPORT_READER_INPUT_H
#define QUERN_REPORT_READER_INPUT_H

#include "profile/read/input.h"

extern bool input_cut; // it is what was unpacked before the archive's damage

#endif
