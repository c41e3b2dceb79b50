# SPDX-License-Identifier: MIT
#
# third INDEX ITEM...: every third ITEM in $chosen, of which one depends on INDEX: programs numbered
# one after the other meet all items among three of them, and each item is met by every third program.
third() {
    local -i at=$((3 - $1 % 3))
    local item

    shift
    chosen=()
    for item; do
        ((at++ % 3)) || chosen+=("$item")
    done
}
