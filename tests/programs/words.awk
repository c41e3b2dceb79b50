{ for (i = 1; i <= NF; i++) c[$i]++; l[length($0) % 13]++; if (match($0, /w[0-9]*7/)) s += substr($0, RSTART + 1, RLENGTH - 1) }
END { for (i = 0; i < 13; i++) printf "%d %d\n", i, l[i]; for (i = 0; i < 400; i++) if (c["w" i] > 9) print "w" i, c["w" i]
      print s, sin(1) * exp(2), toupper(substr("abcdef", 2, 3)), split("a:b:c", p, ":"), p[3]; gsub(/7/, "seven"); print; exit 5 }
