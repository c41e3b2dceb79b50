#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Each recipe of docs/ci in a temporary checkout of its example: the baseline on the main branch,
# then a change that costs nothing, then one that makes the benchmarked function 6 % more expensive.
# What one round of the benchmark costs is not written here, since the compiler decides it: that 60
# rounds more are 6 % of 1,000 is.

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=${BUILD:-build}
    case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
    export PATH=$BUILD/bin:$PATH
    # Variables that the CI server running these tests may have set.
    unset GITHUB_OUTPUT GITHUB_STEP_SUMMARY CI_COMMIT_BRANCH CI_DEFAULT_BRANCH CI_MERGE_REQUEST_IID
    unset COMMENT_TOKEN BENCH MACHINE CYCLES INSIDE LIMIT EACH QUERN_SOURCE QUERN_VERSION MAKEFLAGS MAKELEVEL
    unset NO_COLOR DEBUGINFOD_URLS
    CHECKOUT=$BATS_TEST_TMPDIR/checkout
    mkdir "$CHECKOUT"
    cd "$CHECKOUT"
    cp "$ROOT"/docs/ci/bench/* "$ROOT"/docs/ci/*.yml "$ROOT"/docs/ci/quern.mk .
    rounds 1000 # as it is
    git init -q -b main
    git add .
    git -c user.name=t -c user.email=t@example commit -qm start
}

# What a message says of the function, and its lines, after "EVENT was ".
MORE='[0-9,]* and is [0-9,]* (+[56]\.[0-9]*%); most in bench_hash() +[0-9,]* at [^ ]*bench\.cc:[0-9]* +'

# The same of the cycles: 60 more rounds of the hash wait for multiplications.
SLOWER='Cy of 1 function: bench_hash() was [0-9,]* and is [0-9,]* (+[56]\.[0-9]*%) (CyCore +[0-9,]*) at [^ ]*bench\.cc:[0-9]* +'

# The benchmark's work, and a file newer than the program.
rounds() {
    sed -i "s/^#define ROUNDS .*/#define ROUNDS $1/" bench.cc
    rm -f bench
}

# A program of the server's, by name: says what it was called with, and keeps the comment.
stand_in() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    printf '%s\n' '#!/bin/sh' "echo \"$1 \$*\" > called" 'cp quern.md comment.md' \
        > "$BATS_TEST_TMPDIR/bin/$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/$1"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# Servers put job numbers and branch names into the environment of each job.
next_job() {
    jobs=$((${jobs:-0} + 1))
    export "JOB_$jobs=$(printf '%0700d' $jobs)"
}

# A recipe with its server's values; the output is the log of a failing test.
recipe() {
    next_job
    status=0
    "$ROOT/tests/ci/run-recipe" "$@" > log 2>&1 || status=$?
    sed 's/^/# /' log
}

summary_row() {
    grep '^| `Ir` | [0-9]' "$1" | tail -n 1
}

# All events of all lines of two runs are the same, only the process is another one.
same_cycles() {
    cmp <(grep -v '^pid: ' cycles.base) <(grep -v '^pid: ' cycles.new)
}

@test "GitHub Actions" {
    stand_in gh
    main=(github.ref=refs/heads/main github.sha=1111 github.event_name=push)
    change=(github.ref=refs/pull/17/merge github.sha=2222 github.event_name=pull_request
        github.event.number=17 github.token=secret)
    recipe github github.yml "${main[@]}"
    [ "$status" = 0 ]
    cmp quern.base quern.new
    cmp cycles.base cycles.new
    grep -qx 'desc: Machine: *zen4,detail=all' cycles.base
    version=$(quern --version | sed 's/quern //')
    grep -qF -- "-- the baseline: actions/cache/restore@v4 {'path': 'quern.base\ncycles.base', \
'key': 'quern-$version-1111', 'restore-keys': 'quern-$version-'}" log
    grep -qF -- "-- keep it: actions/cache/save@v4 {'path': 'quern.base\ncycles.base', \
'key': 'quern-$version-1111'}" log
    grep -qx -- '-- gate: not now' log
    [ ! -e called ]
    python3 -c 'import json; assert json.load(open("quern.sarif"))["version"] == "2.1.0"'

    # No change: green, with equal counts.
    rm summary.md
    recipe github github.yml "${change[@]}"
    [ "$status" = 0 ]
    [[ "$(summary_row summary.md)" == *"| 0 |  |" ]]
    [ "$(grep -c '^No function changed\.$' summary.md)" = 2 ]
    same_cycles
    grep -qx -- '-- keep it: not now' log

    # 6 % more rounds: red, with the reason in the summary and an annotation at its line.
    rounds 1060
    rm summary.md
    recipe github github.yml "${change[@]}"
    [ "$status" = 1 ]
    grep -q "quern: limit exceeded: Ir>+0.5%: Ir was $MORE" log
    grep -q 'quern: limit exceeded: \*:Ir>+5%: Ir of 1 function: bench_hash() was ' log
    grep -q '^| `Ir>+0.5%` | \*\*exceeded\*\* | Ir was .*; most in bench\\_hash() ' summary.md
    cmp comment.md summary.md
    # Cycles, by cause and by function; and what grew.
    grep -q "^quern: limit exceeded: bench_\*:Cy>+2%: $SLOWER" log
    [ "$(grep -c '^| `bench_\*:Cy>+2%` | \*\*exceeded\*\* | Cy of 1 function: bench\\_hash() was ' summary.md)" = 1 ]
    grep -q '^| `CyCore` units and dependencies | [0-9,]* | [0-9,]* | +[0-9,]* | ' summary.md
    grep -q '^| +[0-9,]* | .* | `[^ ]*bench\.cc:bench_hash()` |$' cycles.md
    [ "$(< called)" = "gh pr comment 17 --edit-last --create-if-none --body-file quern.md" ]
    python3 - << 'END'
import json
error, each, *notes = json.load(open("quern.sarif"))["runs"][0]["results"]
assert (error["ruleId"], error["level"]) == ("limit", "error"), error
place = error["locations"][0]
assert place["physicalLocation"]["artifactLocation"]["uri"] == "bench.cc", place
assert place["logicalLocations"][0]["fullyQualifiedName"] == "bench_hash()", place
line = open("bench.cc").read().splitlines()[place["physicalLocation"]["region"]["startLine"] - 1]
assert "16777619" in line or "for (" in line, line # in the loop
END

    # On the main branch it is the new baseline.
    recipe github github.yml "${main[@]}"
    [ "$status" = 0 ]
    recipe github github.yml "${change[@]}"
    [ "$status" = 0 ]
}

@test "GitLab" {
    main=(CI_DEFAULT_BRANCH=main CI_COMMIT_BRANCH=main)
    stand_in curl
    change=(CI_DEFAULT_BRANCH=main CI_JOB_ID=12345 CI_MERGE_REQUEST_IID=17 CI_PROJECT_ID=4
        CI_API_V4_URL=http://localhost/api/v4)
    recipe gitlab gitlab.yml "${main[@]}"
    [ "$status" = 0 ]
    cmp quern.base quern.new
    cmp cycles.base cycles.new
    recipe gitlab gitlab.yml "${change[@]}"
    [ "$status" = 0 ]
    same_cycles
    grep -q '<testsuites tests="1" failures="0" errors="0">' cycles.xml
    grep -q '<testsuites tests="2" failures="0" errors="0">' quern.xml
    [[ "$(summary_row quern.md)" == *"| 0 |  |" ]]
    [ ! -e called ] # without a token
    rounds 1060
    recipe gitlab gitlab.yml "${change[@]}" COMMENT_TOKEN=secret
    [ "$status" = 1 ]
    [[ "$(< called)" == "curl "*" --header PRIVATE-TOKEN: secret --form body=<quern.md \
http://localhost/api/v4/projects/4/merge_requests/17/notes" ]]
    cmp comment.md quern.md
    grep -q '^| `CyCore` units and dependencies | [0-9,]* | [0-9,]* | +[0-9,]* | ' comment.md
    grep -q '<testsuites tests="2" failures="2" errors="0">' quern.xml
    grep -q "<failure type=\"limit\" message=\"Ir was $MORE" quern.xml
    grep -q "<failure type=\"limit\" message=\"$SLOWER" cycles.xml
    grep -q '\*\*exceeded\*\*' quern.md
    python3 -c 'import xml.etree.ElementTree as t; t.parse("quern.xml"); t.parse("cycles.xml")'
    # Of the cycles alone.
    recipe gitlab gitlab.yml "${change[@]}" LIMIT='Ir>+10%' EACH='*:Ir>+10%'
    [ "$status" = 1 ]
    grep -q '<testsuites tests="2" failures="0" errors="0">' quern.xml
    recipe gitlab gitlab.yml "${change[@]}" COMMENT_TOKEN=secret LIMIT='Ir>+10%' EACH='*:Ir>+10%' CYCLES='bench_*:Cy>+10%'
    [ "$status" = 0 ]
    recipe gitlab gitlab.yml "${main[@]}"
    [ "$status" = 0 ]
    recipe gitlab gitlab.yml "${change[@]}"
    [ "$status" = 0 ]
}

@test "plain make" {
    make bench quern-baseline
    next_job
    make quern-check
    [[ "$(summary_row quern.md)" == *"| 0 |  |" ]]
    rounds 1060
    status=0
    make quern-check 2> messages || status=$?
    [ "$status" = 2 ] # of make
    grep -q "quern: limit exceeded: Ir>+0.5%: Ir was $MORE" messages
    make quern-baseline
    make quern-check
    # Another limit, on one benchmark: 10 more rounds of 1,060 are less than 1 %.
    rounds 1070
    make quern-check QUERN_LIMITS='bench_hash:Ir>+1%'
    status=0
    make quern-check QUERN_LIMITS='bench_hash:Ir>+0.9%' || status=$?
    [ "$status" = 2 ]
    status=0
    make quern-check QUERN_LIMITS='bench_hush:Ir>+1%' 2> messages || status=$?
    [ "$status" = 2 ]
    grep -q "neither profile has a function 'bench_hush'; is 'bench_hash()' meant?" messages
}

@test "plain make: estimated cycles" {
    make bench quern-cycles-baseline
    next_job
    make quern-cycles
    same_cycles
    grep -qx 'No function changed\.' cycles.md
    rounds 1060
    status=0
    make quern-cycles 2> messages || status=$?
    [ "$status" = 2 ] # of make
    grep -q "^quern: limit exceeded: bench_\*:Cy>+2%: $SLOWER" messages
    grep -q '^| `bench_\*:Cy>+2%` | \*\*exceeded\*\* | Cy of 1 function: bench\\_hash() was ' cycles.md
    # The benchmark of sorting costs what it cost; on another machine something else.
    make quern-cycles-baseline quern-cycles BENCH='./bench sort'
    make quern-cycles-baseline QUERN_MACHINE=sapphire-rapids
    grep -qx 'desc: Machine: *sapphire-rapids,detail=all' cycles.base
    status=0
    cmp -s cycles.base cycles.new || status=$?
    [ "$status" = 1 ]
}

@test "the whole program: its start hides the benchmark, and depends on the environment" {
    whole=(QUERN_OPTIONS='--reproducible=yes --cache-sim=no --calls=yes')
    make bench quern-baseline "${whole[@]}"
    next_job
    make quern-check QUERN_OPTIONS=--cache-sim=no QUERN_LIMITS='Ir>+50%'
    [[ "$(summary_row quern.md)" != *"| 0 |  |" ]]
    rounds 1060
    make quern-check "${whole[@]}" QUERN_LIMITS='Ir>+3%'
    quern diff --inclusive=yes --fail-if='bench_hash:Ir>+6%' quern.base quern.new
    status=0
    quern diff --inclusive=yes --fail-if='bench_hash:Ir>+5.9%' quern.base quern.new || status=$?
    [ "$status" = 1 ]
    make quern-baseline # by its default options
    make quern-check
}

# A repository called quern, whose build installs what is installed here.
sources() {
    local folder=$BATS_TEST_TMPDIR/sources
    mkdir -p "$folder/scripts"
    printf '%s\n' '#!/bin/sh' '[ "$1" = build ]' > "$folder/scripts/deps"
    printf '%s\n' 'all:' '\ttouch built' 'install:' '\ttest -e built' '\tmkdir -p $(PREFIX)/bin' \
        "\tln -s $BUILD/bin/quern \$(PREFIX)/bin/quern" | sed 's/\\t/\t/' > "$folder/Makefile"
    chmod +x "$folder/scripts/deps"
    git -C "$folder" init -q -b release
    git -C "$folder" add .
    git -C "$folder" -c user.name=t -c user.email=t@example commit -qm start
    export QUERN_SOURCE=file://$folder QUERN_VERSION=release
    PATH=${PATH#"$BUILD/bin:"}
    if command -v quern; then skip "quern is installed on this machine"; fi
}

@test "Quern is built where it is not installed" {
    sources
    sed -i '/^  QUERN_\(SOURCE\|VERSION\):/d' github.yml
    sed -i '/^    QUERN_\(SOURCE\|VERSION\):/d' gitlab.yml
    recipe github github.yml github.ref=refs/heads/main github.sha=1111 github.event_name=push
    [ "$status" = 0 ]
    [ -e .runner/quern/built ]
    cmp quern.base quern.new
    rm quern.base quern.new
    recipe gitlab gitlab.yml CI_DEFAULT_BRANCH=main CI_COMMIT_BRANCH=main
    [ "$status" = 0 ]
    [ -e quern.src/built ]
    cmp quern.base quern.new
    make quern-install QUERN_PREFIX="$PWD/elsewhere"
    [ -x elsewhere/bin/quern ]
    make quern-baseline QUERN=elsewhere/bin/quern
}

@test "the benchmarks repeat, and are found by name" {
    make bench
    [ "$(./bench --list | sort | xargs)" = "hash sort" ]
    status=0
    ./bench nothing 2> messages || status=$?
    [ "$status" = 2 ]
    for name in sort hash; do
        quern stat --cache-sim=no -n 3 -o result ./bench $name
        [ "$(grep -c '^Ir .* repeats$' result)" = 1 ]
    done
}

@test "Rust, with the recipe of plain make" {
    cargo --version > log 2>&1 || skip "there is no cargo"
    mkdir rust
    cd rust
    cp -r "$ROOT"/docs/ci/bench-rust/* "$ROOT/docs/ci/quern.mk" .
    make quern-baseline
    next_job
    make quern-check
    [[ "$(summary_row quern.md)" == *"| 0 |  |" ]]
    sed -i 's/^const ROUNDS: u32 = .*/const ROUNDS: u32 = 1060;/' src/main.rs
    status=0
    make quern-check 2> messages || status=$?
    [ "$status" = 2 ] # of make
    grep -q 'quern: limit exceeded: Ir>+0.5%: Ir was .*; most in bench_hash ' messages
    make quern-cycles-baseline
    sed -i 's/^const ROUNDS: u32 = .*/const ROUNDS: u32 = 1130;/' src/main.rs
    status=0
    make quern-cycles 2> messages || status=$?
    [ "$status" = 2 ] # of make
    grep -q '^quern: limit exceeded: bench_\*:Cy>+2%: Cy of 1 function: bench_hash was [0-9,]* and is [0-9,]* (+[67]\.[0-9]*%) (CyCore +' messages
    [ "$(target/release/bench --list | xargs)" = "sort hash table" ]
    status=0
    target/release/bench nothing 2> messages || status=$?
    [ "$status" = 2 ]
    # A hash table of Rust, whose order is random, counts the same with other text around it.
    quern stat -n 3 --reproducible=yes --summary=json -o first target/release/bench table
    [ "$(grep -o '"repeats":true' first | wc -l)" = 9 ]
    env LONG="$(printf '%05000d' 0)" quern stat --reproducible=yes --summary=json -o second \
        target/release/bench table
    [ "$(grep -o '"Ir":{"count":[0-9]*' first)" = "$(grep -o '"Ir":{"count":[0-9]*' second)" ]
}

@test "what calls valgrind: the same counts in another environment, by VALGRIND_OPTS or ~/.valgrindrc" {
    make bench
    mkdir bin home
    ln -s "$BUILD/bin/quern-valgrind" bin/valgrind
    echo --reproducible=yes > home/.valgrindrc
    called() { # as gungraun calls it
        next_job
        PATH=$PWD/bin:$PATH valgrind -q --tool=callgrind --cache-sim=yes --compress-strings=no \
            --compress-pos=no --callgrind-out-file="$1" ./bench hash
    }
    VALGRIND_OPTS=--reproducible=yes called base
    VALGRIND_OPTS=--reproducible=yes called again
    HOME=$PWD/home called rc
    called without
    for file in again rc; do
        quern diff --fail-if='Ir>+0' --fail-if='Ir<+0' --fail-if='DLmr>+0' --fail-if='DLmr<+0' \
            base $file
    done
    status=0
    quern diff --fail-if='Ir>+0' --fail-if='Ir<+0' base without || status=$?
    [ "$status" = 1 ]
}

@test "a recipe whose value nobody gives is an error, not an empty word" {
    recipe github github.yml github.ref=refs/heads/main github.event_name=push
    [ "$status" = 2 ]
    grep -qx 'run-recipe: github.yml: github.sha: not given' log
}
