proc fib n { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
puts [fib 15]; after 50 {set done 1}; vwait done; puts [exec sort -r << "b\na\nc"]; puts [lsort -integer {5 3 9 1}]
set f [open in.txt]; set n 0; while {[gets $f line] >= 0} { incr n [llength $line] }; puts $n; catch {error oops} m; puts $m; exit 6
