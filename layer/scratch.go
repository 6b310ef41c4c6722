package layer

import (
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/kernel"
)

// A scratch is the memory that a call needs beside its arguments. It grows to what the
// largest call of late needed and is recycled, so that in the steady state calls allocate
// nothing.
type scratch struct {
	floats  []float32
	used    int // number of floats that the call has taken
	doubles []float64
	custom  customScore
	visible mask.Mask // for Cosine: a pointer to it passes through func values

	// Options of calls of a Similarity: pointers to them pass through an interface, and so move to
	// the heap.
	options  kernel.Options
	settings kernel.BackwardOptions

	floatsUsage, doublesUsage parallel.Usage
	memory                    parallel.Memory
}

var scratches = parallel.FreeList[scratch]{
	New:    newScratch,
	Memory: func(s *scratch) *parallel.Memory { return &s.memory },
}

func newScratch() *scratch {
	s := new(scratch)
	s.custom.modifyFunc = s.custom.modify
	return s
}

// getScratch returns a scratch from which the call may take as many slices of float32,
// of these sizes. It must be released. It returns nil if they do not fit memory.
func getScratch(sizes ...int) *scratch {
	n := 0
	for _, size := range sizes {
		n = ints.AddSat(n, wholeLines(size))
	}
	s := scratches.Get()
	s.used = 0
	if len(s.floats) < n && !hugepages.Fits(n, 4) {
		scratches.Put(s)
		return nil
	}
	parallel.Fit(&s.memory, &s.floatsUsage, &s.floats, n, parallel.Make[float32])
	return s
}

// release ends the call that s was made for.
func (s *scratch) release() {
	s.custom.reset()
	s.visible, s.options, s.settings = mask.Mask{}, kernel.Options{}, kernel.BackwardOptions{}
	scratches.Put(s)
}

// takeFloats returns the next n floats. They begin where a cache line begins, if
// s.floats does.
func (s *scratch) takeFloats(n int) []float32 {
	at := s.used
	s.used += wholeLines(n)
	return s.floats[at : at+n : at+n]
}

// takeDoubles returns n float64. It may be called once per call.
func (s *scratch) takeDoubles(n int) []float64 {
	parallel.Fit(&s.memory, &s.doublesUsage, &s.doubles, n, parallel.Make[float64])
	return s.doubles[:n]
}

// wholeLines rounds a number of float32 up to whole cache lines.
func wholeLines(n int) int {
	const line = 64 / 4
	return ints.AddSat(n, line-1) &^ (line - 1)
}

// product returns the product of sizes that are not negative, at most math.MaxInt.
func product(sizes ...int) int {
	p := 1
	for _, n := range sizes {
		p = ints.MulSat(p, n)
	}
	return p
}
