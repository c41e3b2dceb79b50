#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# The Perl program of the machine's bench: words of a file counted in a hash, a regular expression, sorting, string
# operations. Arguments: the file, rounds. Prints one line that depends on all of it.
use strict;
use warnings;

my ($file, $rounds) = @ARGV;
my ($sum, %count) = (0);
open my $in, '<', $file or die "$file: $!\n";
my @lines = <$in>;
for my $round (1 .. $rounds) {
    for my $line (@lines) {
        $count{$_}++ for split ' ', $line;
        $sum += length $1 if $line =~ /\b([a-z]*?(?:ar|en)[a-z]*)[.,;]/;
    }
    my @often = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my $joined = join ',', map { uc } @often[0 .. 99];
    $joined =~ tr/AEIOU/12345/;
    $sum = ($sum * 31 + ord(substr $joined, $round % length $joined, 1)) % 1000003;
}
print "$sum\n";
