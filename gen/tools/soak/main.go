// Command soak makes random calls of the library from many goroutines for a while, in a
// program that behaves as badly as programs do: hooks panic or end their goroutines,
// parallel-fors return early, GOMAXPROCS changes, memory is short. It compares the bits of
// every result with those of the generic tier on one thread.
//
//	go run ./gen/tools/soak [-time 60s] [-goroutines 8] [-seed 1]
//
// At the end no goroutine and no memory of the calls may be left. It prints what it did, and
// exits with 1 if anything was wrong. The same seed makes the same calls, though not in the
// same order.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var c config
	flag.DurationVar(&c.time, "time", time.Minute, "how long")
	flag.IntVar(&c.goroutines, "goroutines", 8, "how many goroutines make calls")
	flag.Uint64Var(&c.seed, "seed", 1, "number of the sequence of calls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if failures := soak(ctx, c, os.Stdout); failures > 0 {
		fmt.Printf("FAIL: %d findings\n", failures)
		os.Exit(1)
	}
}
