# SPDX-License-Identifier: MIT
#
# Compares two files of counts (`hexaddr count module+hexoffset`), the oracle's and Quern's, by
# address or by module and offset (`-v key=address|offset`). Prints nothing when they are equal.

{
    if (key == "offset") {
        k = $3
        sub(/.*\//, "", k)
    } else {
        k = $1
    }
}

FNR == NR {
    oracle[k] += $2
    sum_oracle += $2
    next
}

{
    quern[k] += $2
    sum_quern += $2
}

END {
    for (k in oracle)
        if (oracle[k] != quern[k] + 0)
            print k ": single-stepped " oracle[k] ", Quern " quern[k] + 0 | "sort"
    for (k in quern)
        if (!(k in oracle))
            print k ": single-stepped 0, Quern " quern[k] | "sort"
    if (sum_oracle != sum_quern)
        print "all: single-stepped " sum_oracle ", Quern " sum_quern + 0
    close("sort")
}
