# fork, wait, pipes, exec and their statuses.
use strict; use warnings; $| = 1; use POSIX ':sys_wait_h';
my %k; for my $i (1 .. 6) { my $p = fork; if (!$p) { my $s = 0; $s += $_ for 1 .. 2000; exit $i + ($s == 2001000 ? 0 : 100) } $k{$p} = $i }
my $n = 0; while ((my $p = wait) > 0) { $n += $k{$p} * 100 + ($? >> 8) } print "$n\n";
pipe my $r, my $w; if (!fork) { close $r; print $w "line $_\n" for 1 .. 3; close $w; POSIX::_exit(0) } close $w; print <$r>; wait;
my $p = open my $c, '-|', 'sort', '-r', 'left.txt'; my @l = <$c>; close $c; print scalar(@l), " $l[0]";
print `echo backquote; exit 3`, $? >> 8, "\n"; system 'kill -9 $$'; print $? & 127, "\n";
if (!($p = fork)) { sleep 20 } kill 'TERM', $p; waitpid $p, 0; print $? & 127, "\n";
if (!($p = fork)) { exec 'sh', '-c', 'exit 8' } waitpid $p, 0; print WEXITSTATUS($?), "\n";
END { print "end\n" } die "dying\n";
