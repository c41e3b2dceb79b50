# SPDX-License-Identifier: MIT
#
# Makes a profile in Cachegrind's format comparable: `-v part=totals` prints one line for each
# event, `-v part=lines` one for each file:function:line, with the thirteen events by name in one
# fixed order. The lines must add up to the summary.

BEGIN {
    wanted = split("Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim", name, " ")
    file = fn = "?"
}

/^events:/ {
    for (i = 2; i <= NF; i++)
        column[$i] = i
    for (i = 1; i <= wanted; i++)
        if (!(name[i] in column))
            print "event missing: " name[i]
    next
}

/^summary:/ {
    for (i = 1; i <= wanted; i++)
        summary[i] = $column[name[i]]
    summed = 1
    next
}

/^f[lie]=/ {
    file = substr($0, 4)
    sub(/.*\//, "", file)
    next
}

/^fn=/ {
    fn = substr($0, 4)
    next
}

/^[0-9]/ {
    key = file ":" fn ":" $1
    keys[key]
    for (i = 1; i <= wanted; i++) {
        value[key, i] += $column[name[i]]
        total[i] += $column[name[i]]
    }
}

END {
    if (!summed)
        print "no summary line"
    for (i = 1; i <= wanted; i++)
        if (total[i] + 0 != summary[i] + 0)
            printf "%s: the summary says %d, the lines add up to %d\n", name[i], summary[i], total[i]
    if (part == "totals") {
        for (i = 1; i <= wanted; i++)
            printf "%s %d\n", name[i], total[i]
    } else {
        for (key in keys) {
            line = key
            for (i = 1; i <= wanted; i++)
                line = line " " name[i] "=" value[key, i]+0
            print line
        }
    }
}
