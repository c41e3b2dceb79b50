# SPDX-License-Identifier: MIT
#
# The jumps of a profile without compression, one line for each pair of places: kind, function, from,
# to, how often it was followed and, where there are addresses, executed. Callgrind has a line for
# each block that a jump is in, if it was followed there, with the executions of that: for its files
# (-v ir=1) a jump is executed as often as its address costs instructions. -v short=1: not how
# often it was executed, for profiles without addresses.
/^positions:/ { instr = $2 == "instr" }
/^fn=/ { fn = substr($0, 4) }
/^j(ump|cnd)=/ {
    split($1, head, "=")
    split(head[2], times, "/")
    kind = head[1]
    to = $2
    behind = 1
    next
}
behind {
    behind = 0
    key = kind " " fn " " $1 " " to
    followed[key] += times[1]
    executed[key] += times[2]
    from[key] = $1
    next
}
/^calls=/ { called = 1; next }
called { called = 0; next }
instr && /^0x/ { cost[$1] += $3 }
END {
    for (key in followed) {
        n = ir ? cost[from[key]] : executed[key]
        print key, followed[key] (key ~ /^jcnd/ && !short ? "/" n : "")
    }
}
