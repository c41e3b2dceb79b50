#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern run --quiet: nothing is said of the run, but what its profile lacks is.

load run

@test "with --quiet a program that changed is warned of, and nothing else is said" {
    unset QUERN_ENGINE QUERN_TEST_SPOOL QUERN_TEST_FINISHER
    cp "$(command -v touch)" own
    run "$QUERN" run -q -o out ./own ./own
    [ "$status" = 0 ]
    [ "$output" = "quern: $PWD/own: was modified after the run began; functions and lines may be wrong" ]
}
