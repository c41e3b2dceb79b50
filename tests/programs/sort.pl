use strict; use warnings; use Digest::MD5 'md5_hex'; use List::Util qw(sum max);
my (%c, @w); while (<>) { my @x = split; $c{$_}++ for @x; push @w, @x }
print join(' ', map { "$_=$c{$_}" } (sort { $c{$b} <=> $c{$a} || $a cmp $b } keys %c)[0 .. 7]), "\n";
print md5_hex(join ',', sort { substr($a, 1) <=> substr($b, 1) || $a cmp $b } @w), "\n";
my $t = join ' ', @w; my $n = () = $t =~ /w(\d)(?=\d\1)/g; (my $u = $t) =~ s/(\d+)/$1 * 3/ge; print "$n ", length $u, "\n";
printf "%.12g %s %s\n", sum(map { sqrt } 1 .. 1000), max(map { length } @w), sprintf('%b', 12345); local $@; eval { die { code => 7 } }; print $@->{code}, "\n";
