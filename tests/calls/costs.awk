# SPDX-License-Identifier: MIT
#
# A profile without compression, one line for each function and place with its self cost, and
# one for each call of these: how often, and its cost; in the first event.
/^fn=/ { fn = substr($0, 4) }
/^cfn=/ { callee = substr($0, 5) }
/^calls=/ {
    split($1, head, "=")
    calls[fn " " callee] += head[2]
    called = 1
    next
}
called {
    called = 0
    cost[fn " " $1 " " callee] += $2
    next
}
/^[0-9]/ { self[fn " " $1] += $2 }
END {
    for (key in self)
        if (self[key])
            print "self", key, self[key]
    for (key in calls)
        print "calls", key, calls[key]
    for (key in cost)
        print "cost", key, cost[key]
}
