# SPDX-License-Identifier: MIT
#
# The Tcl program of the machine's bench: cells of Conway's game in a dictionary, lists, string operations and
# procedures. The only argument is the number of generations; prints one line that depends on all of it.
proc next {cells} {
    set near [dict create]
    dict for {cell _} $cells {
        lassign [split $cell ,] x y
        foreach dx {-1 0 1} {
            foreach dy {-1 0 1} {
                if {$dx || $dy} {
                    dict incr near [expr {$x + $dx}],[expr {$y + $dy}]
                }
            }
        }
    }
    set born [dict create]
    dict for {cell n} $near {
        if {$n == 3 || ($n == 2 && [dict exists $cells $cell])} {
            dict set born $cell 1
        }
    }
    return $born
}

proc hash {s} {
    set h 7
    foreach c [split $s ""] {
        set h [expr {($h * 31 + [scan $c %c]) % 1000003}]
    }
    return $h
}

set cells [dict create 0,1 1 0,2 1 1,0 1 1,1 1 2,1 1]
for {set i 0} {$i < [lindex $argv 0]} {incr i} {
    set cells [next $cells]
}
puts "[dict size $cells] [hash [join [lsort [dict keys $cells]] {;}]]"
