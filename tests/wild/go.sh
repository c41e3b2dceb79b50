# SPDX-License-Identifier: MIT
# needs: go
cat > work.go <<'J'
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

func caught() (n int) {
	var p *[4]int
	if len(os.Args) > 5 {
		p = new([4]int)
	}
	for i := 0; i < 2000; i++ {
		func() {
			defer func() {
				if recover() != nil {
					n++
				}
			}()
			p[i&3] = i
		}()
	}
	return
}

func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return room[0]
	}
	return deep(n-1) + room[n%64]
}

func main() {
	ch := make(chan int, 16)
	var wg sync.WaitGroup
	for g := 0; g < 50; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			for i := 0; i < 500; i++ {
				ch <- g*i
				if i%100 == 0 {
					runtime.Gosched()
				}
			}
		}(g)
	}
	go func() { wg.Wait(); close(ch) }()
	sum := 0
	for v := range ch {
		sum += v
	}
	fmt.Println("channels", sum)
	m := map[string]int{}
	for i := 0; i < 100000; i++ {
		m[fmt.Sprint("k", i%5000)] += i
	}
	keys := make([]string, 0)
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Printf("map %d %x\n", len(keys), sha256.Sum256([]byte(strings.Join(keys, ","))))
	for i := 0; i < 50; i++ {
		b := make([][]byte, 0)
		for j := 0; j < 1000; j++ {
			b = append(b, make([]byte, 1000))
		}
		_ = b
	}
	runtime.GC()
	fmt.Println("faults", caught())
	grown := make([]int, 8)
	for round := 0; round < 3; round++ { // stacks that grow, and shrink when garbage is collected
		for i := range grown {
			wg.Add(1)
			go func(i int) {
				defer wg.Done()
				grown[i] = deep(1000 + i)
				runtime.Gosched()
				grown[i] += deep(10)
			}(i)
		}
		runtime.GC()
		wg.Wait()
	}
	fmt.Println("stacks", grown)
	began := time.Now()
	for time.Since(began) < 30*time.Millisecond { // until it is interrupted
	}
}
J
GOCACHE=$PWD/cache GO111MODULE=off go build -o work work.go
$RUN ./work
