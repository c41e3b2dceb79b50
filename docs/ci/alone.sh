#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Usage: docs/ci/alone.sh COMMAND [ARGS...]
#
# Runs COMMAND under fixed process ids, user, machine and folder: process ids begin at 1, the user
# is 0, the machine is called quern, and the working folder is /mnt, a bind mount of the real one.
# For `quern run --reproducible=yes` of programs whose counts depend on these. Needs no rights where
# the kernel allows user namespaces; containers often do not.
set -u
[ $# -gt 0 ] || { echo 'usage: docs/ci/alone.sh COMMAND [ARGS...]' >&2; exit 2; }
# shellcheck disable=SC2016
exec unshare --user --map-root-user --pid --fork --mount-proc --uts sh -c '
    folder=$1
    shift
    hostname quern && mount --bind "$folder" /mnt && cd /mnt || exit 2
    exec "$@"' alone.sh "$PWD" "$@"
