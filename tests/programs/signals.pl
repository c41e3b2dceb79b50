use strict; use warnings; $| = 1; use POSIX;
my $n = 0; $SIG{USR1} = sub { $n++ }; kill 'USR1', $$ for 1 .. 100; print "$n\n";
eval { local $SIG{ALRM} = sub { die "alarm\n" }; alarm 1; 1 while 1; }; print $@;
my $set = POSIX::SigSet->new(SIGUSR1); sigprocmask(SIG_BLOCK, $set); kill 'USR1', $$; print "$n\n"; sigprocmask(SIG_UNBLOCK, $set); print "$n\n";
$SIG{CHLD} = sub { 1 while waitpid(-1, WNOHANG) > 0; $n += 1000 }; if (!fork) { exit 0 } sleep 1 while $n < 1000; print "$n\n";
$SIG{__WARN__} = sub { print "warn: $_[0]" }; warn "w\n"; $SIG{TERM} = 'DEFAULT'; kill 'TERM', $$; sleep 5; print "not reached\n";
