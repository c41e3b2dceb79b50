// SPDX-License-Identifier: MIT
//
// Six workers at one channel without a buffer, 2000 jobs. Whoever runs a goroutine, and however
// often it is parked:
//
// calls: main.main.func1 main.worker 6
// calls: main.worker main.work 2000
// calls: main.main.func2 main.feed 1
package main

import "sync"

//go:noinline
func work(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i ^ (sum << 1)
	}
	return sum
}

//go:noinline
func worker(jobs <-chan int, done chan<- int) {
	for job := range jobs {
		done <- work(job)
	}
}

//go:noinline
func feed(jobs chan<- int) {
	for i := 0; i < 2000; i++ {
		jobs <- 100
	}
	close(jobs)
}

func main() {
	jobs, done := make(chan int), make(chan int)
	var workers sync.WaitGroup
	for i := 0; i < 6; i++ {
		workers.Add(1)
		go func() {
			worker(jobs, done)
			workers.Done()
		}()
	}
	go func() {
		feed(jobs)
		workers.Wait()
		close(done)
	}()
	for range done {
	}
}
