# SPDX-License-Identifier: MIT
#
# From a profile: a line `LINE Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim` for each source
# line, whatever function it is in. For fuzz/sim-run.
BEGIN {
    wanted = split("Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim", name, " ")
}
/^events:/ {
    for (i = 2; i <= NF; i++)
        column[$i] = i
}
/^[0-9]/ {
    for (i = 1; i <= wanted; i++)
        if (name[i] in column) # without branches: 0
            value[$1, i] += $column[name[i]]
    lines[$1]
}
END {
    for (l in lines) {
        text = l
        for (i = 1; i <= wanted; i++)
            text = text " " value[l, i] + 0
        print text
    }
}
