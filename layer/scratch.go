package layer

import (
	"math"
	"sync"
)

// A scratch is the memory that a call works with beside its arguments. It grows to
// what the largest call needed and is recycled, so that a warm program allocates
// nothing.
type scratch struct {
	floats []float32
	used   int
	wide   []float64
	scorer scorer
}

// free holds the scratches of past calls; unlike a sync.Pool it is not emptied by the
// garbage collector.
var free struct {
	sync.Mutex
	list []*scratch
}

// borrow returns a scratch with room for floats that are taken in parts of these
// sizes.
func borrow(sizes ...int) *scratch {
	s := unused()
	s.used = 0
	n := 0
	for _, size := range sizes {
		n += wholeLines(size)
	}
	if len(s.floats) < n {
		s.floats = make([]float32, n)
	}
	return s
}

func unused() *scratch {
	free.Lock()
	defer free.Unlock()
	last := len(free.list) - 1
	if last < 0 {
		return newScratch()
	}
	s := free.list[last]
	free.list = free.list[:last]
	return s
}

func newScratch() *scratch {
	s := new(scratch)
	s.scorer.hook = s.scorer.score
	return s
}

// giveBack ends the call that s was borrowed for.
func (s *scratch) giveBack() {
	s.scorer.forget()
	free.Lock()
	defer free.Unlock()
	free.list = append(free.list, s)
}

// line is the floats of a cache line: what take returns begins with one if floats does.
const line = 16

// take returns n of the floats. Their sum, each rounded up to whole lines, is what was
// borrowed.
func (s *scratch) take(n int) []float32 {
	at := s.used
	s.used += wholeLines(n)
	return s.floats[at : at+n : at+n]
}

func wholeLines(n int) int { return (n + line - 1) &^ (line - 1) }

// doubles returns n float64.
func (s *scratch) doubles(n int) []float64 {
	if len(s.wide) < n {
		s.wide = make([]float64, n)
	}
	return s.wide[:n]
}

// maxScratch bounds the floats of a part of a scratch, so that the bytes of some parts
// are an int.
const maxScratch = math.MaxInt / 64

// elements returns the product of sizes that are not negative, or maxScratch+1 if it
// is more than maxScratch.
func elements(sizes ...int) int {
	product := 1.0
	for _, n := range sizes {
		product *= float64(n)
	}
	return int(min(product, maxScratch+1))
}
