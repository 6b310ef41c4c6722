// Package soak has a test that makes random calls of the library from many goroutines for a while,
// in a program that behaves as badly as programs do: hooks panic or end their goroutines,
// parallel-fors return early, GOMAXPROCS changes, memory is short. It compares the bits of every
// result with the generic tier on one thread. At the end no goroutine and no memory of the calls
// may be left.
//
//	go test ./gen/tools/soak -count 1 -timeout 0 -run TestSoak$ -v -args -time 1h -seed 1
//
// It prints findings at once, how far it is each minute, and what it did at its end. The same seed
// makes the same calls, though not in the same order.
package soak
