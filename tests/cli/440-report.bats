#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern report: its options, and what it takes from several profiles. The page itself is looked at by
# tests/report.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    CALLS=$GOLDEN/calls.callgrind
}

@test "--max-size: what is no size" {
    for size in 0 '' K 12x -1 1T 18014398509481984G; do
        quern report --max-size="$size" "$CALLS"
        [ "$status" = 2 ]
        same "$messages" "quern: --max-size=$size: must be a number of bytes, with K, M or G after it"
    done
    same "$(ls)" ""
}

# 2,048 bytes, said in bytes whatever unit they were given in: less than any report has.
@test "--max-size: too small for the sources" {
    RANDOM=1
    for i in {1..3000}; do printf 'int line_%s_of_many;\n' $RANDOM$i; done > big.c
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=big.c' 'fn=f' '1 60' 'totals: 60' > p
    touch -d 2020-01-01 big.c
    for size in 2048 2K; do
        quern report --max-size=$size -o out.html p
        [ "$status" = 0 ]
        [[ "$messages" == *"to stay below 2048 bytes; --max-size changes that"* ]]
    done
    quern report --max-size=1G -o out.html p
    [ "$status" = 0 ]
    same "$messages" "quern: out.html: 1 source is in it, 0 not found"
}

@test "two profiles whose events differ" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c' 'fn=f' '1 60' 'totals: 60' > one
    printf '%s\n' 'version: 1' 'events: Dr' 'fl=a.c' 'fn=f' '1 60' 'totals: 60' > other
    quern report --base=other -o out.html one
    [ "$status" = 2 ]
    same "$messages" "quern: one: its events (Ir) are not those (Dr) of other; only like can be added or compared"
    [ ! -e out.html ]
}

@test "sources that are not found: where they were sought, each folder once" {
    mkdir a b c
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=none.c' 'fn=f' '1 60' 'totals: 60' > p
    quern report --base=p --new-include=a --new-include=b --old-include=b --old-include=c -o out.html p
    [ "$status" = 0 ]
    same "$messages" "quern: out.html: 0 sources are in it, 1 not found (none.c; searched below \
a, b, c (of the base))"
}

@test "sources that are not found are one line, whatever their number" {
    for i in 1 2 3 4 5; do
        printf 'fl=none%s.c\nfn=f%s\n1 %s\n' $i $i $((9 - i))
    done | sed '1i events: Ir' > p
    echo 'summary: 30' >> p
    quern report -o out.html p
    [ "$status" = 0 ]
    same "$messages" "quern: out.html: 0 sources are in it, 5 not found (none1.c, none2.c, none3.c \
and 2 more; -I DIR adds a folder to search)"
}

@test "a series: what is shown without a script is the sum of its runs" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c' 'fn=f' '1 60' 'totals: 60' > one
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c' 'fn=f' '1 70' 'fn=g' '2 5' 'totals: 75' > two
    quern report --series -o out.html one two
    [ "$status" = 0 ]
    # 60 and 75
    same "$(grep -c '<td class=name><bdi>Ir</bdi><td>135$' out.html)" 1
}

@test "what is shown without a script: totals, functions with their places, those of the base" {
    printf '%s\n' 'version: 1' 'cmd: new' 'events: Ir' 'ob=/lib/x' 'fl=a.c' 'fn=f' '1 60' 'cfn=g<T>' \
        'calls=1 2' '1 40' 'fn=g<T>' '2 40' 'ob=' 'fl=' 'fn=' '3 1' 'totals: 101' > new
    printf '%s\n' 'version: 1' 'events: Ir' 'ob=/lib/x' 'fl=a.c' 'fn=f' '1 50' 'totals: 50' > old
    quern report --base=old -o out.html new
    same "$(sed -n '/^<h1>/,/^<table/p' out.html)" "<h1><bdi>new</bdi></h1>
<noscript><p>The interactive report needs JavaScript. This is its summary.</p></noscript>
<p><bdi>new</bdi></p>
<table><tr><th class=name>Event<th>Total<th>Base<th>Difference"
    same "$(grep '<bdi>Ir</bdi><td>' out.html)" "<tr><td class=name><bdi>Ir</bdi><td>101<td>50<td>51"
    same "$(sed -n '/^<p>The most/,/^<\/table>/p' out.html)" \
"<p>The most expensive functions, with what they call (incl.) and alone (self), in <bdi>Ir</bdi>:</p>
<table><tr><th>Incl.<th>Self<th>Incl., base<th>Self, base<th class=name>Function
<tr><td>100<td>60<td>50<td>50<td class=name><bdi>f</bdi> (<bdi>a.c</bdi>) [<bdi>/lib/x</bdi>]
<tr><td>40<td>40<td>0<td>0<td class=name><bdi>g&#60;T&#62;</bdi> (<bdi>a.c</bdi>) [<bdi>/lib/x</bdi>]
<tr><td>1<td>1<td>0<td>0<td class=name><bdi>???</bdi> (<bdi>???</bdi>)
</table>"
}

@test "--empty: where the page is written" {
    quern report --empty
    case $messages in
    "quern: --empty: this quern was built without the page's reader of profiles"*) [ "$status" = 2 ] ;;
    *)
        [ "$status" = 0 ]
        same "$(ls)" quern-report.html
        ;;
    esac
}

@test "the title, also where nothing is executed" {
    quern report --title='a < b' -o out.html "$CALLS"
    [ "$status" = 0 ]
    grep -qF '<h1><bdi>a &#60; b</bdi></h1>' out.html
}

@test "--open: xdg-open gets the file; where it cannot, or is not there, that is said" {
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'echo "$@" > opened' 'exit $(cat how)' > bin/xdg-open
    chmod +x bin/xdg-open
    echo 0 > how
    sources="quern: out.html: 0 sources are in it, 2 not found (file1.c, file2.c; -I DIR adds a \
folder to search)"
    PATH=$PWD/bin:$PATH quern report --open -o out.html "$CALLS"
    [ "$status" = 0 ]
    same "$messages" "$sources"
    same "$(< opened)" out.html
    echo 3 > how
    PATH=$PWD/bin:$PATH quern report --open -o out.html "$CALLS"
    [ "$status" = 0 ]
    same "$messages" "$sources
quern: out.html: xdg-open could not open it; open the file in a browser"
    rm bin/xdg-open
    ln -s "$(command -v bash)" bin/sh
    messages=$(PATH=$PWD/bin "$BUILD/bin/quern" report --open -o out.html "$CALLS" 2>&1)
    same "$messages" "$sources
quern: out.html: xdg-open is not installed; open the file in a browser"
}

@test "--define: name, formula and scale are in the page" {
    printf 'events: Ir Dr\nfl=a\nfn=f\n1 3 4\n' > p
    quern report --define='Both=Ir + 2 Dr' --define='Tenth =  0.1 Both' -o out.html p
    [ "$status" = 0 ]
    # Behind the length of each text; the name is its title, too, which is 0 bytes.
    python3 - << 'END'
import base64, re, zlib
block = re.search('data-block="0"[^>]*>([^<]*)', open("out.html").read()).group(1)
scale = b"\x80\x94\xeb\xdc\3" # 10^9, seven bits in a byte
text = zlib.decompress(base64.b64decode(block), -15)
assert text.count(b"\4Both\0\x09Ir + 2 Dr\1\5Tenth\0\x080.1 Both" + scale) == 1, text
END
}
