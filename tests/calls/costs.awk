# SPDX-License-Identifier: MIT
#
# A profile without compression, one line for each function and place with its self cost, and
# one for each call of these: how often, and its cost; in the first event. What is below main is _start.
#
# With parts=1: of several profiles, numbered, the part, why it was written, and the self costs but for
# those of the block that ends the process.
function name(word) {
    gsub(/\(below main\)/, "_start", word)
    return word
}
function end_part(    key) {
    for (key in self)
        if (self[key] && !(key ~ /^_start (28|29|30)$/ && self[key] == 1))
            printf "%03d self %s %s\n", file, key, self[key]
    split("", self)
}
parts && FNR == 1 {
    if (file++)
        end_part()
    called = 0
}
parts && sub(/^part: */, "") { printf "%03d part %s\n", file, $0; next }
parts && sub(/^desc: Trigger: */, "") { printf "%03d trigger %s\n", file, $0; next }
/^fn=/ { fn = name(substr($0, 4)) }
/^cfn=/ { callee = name(substr($0, 5)) }
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
    if (parts) {
        end_part()
        exit
    }
    for (key in self)
        if (self[key])
            print "self", key, self[key]
    for (key in calls)
        print "calls", key, calls[key]
    for (key in cost)
        print "cost", key, cost[key]
}
