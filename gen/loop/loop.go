// Package loop has the loops that the element-wise kernels consist of: over rows of
// scores, over lanes in chunks of vectors, over a count. They are written once for all
// instruction sets. The generators emit the bodies, with the instructions of theirs.
package loop

import "fmt"

// A Machine is what the loops need of an assembler. G is its type of general registers, V its type
// of vector registers.
type Machine[G, V any] interface {
	Commentf(format string, args ...any)
	Label(name string)

	// AlignLoop aligns the loop that follows.
	AlignLoop()

	Goto(label string)
	JumpIfZero(r G, label string)

	// JumpIfVectors jumps if r, the lanes of whole vectors, are at least n's.
	JumpIfVectors(r G, n int, label string)

	// CountDown subtracts n from r and jumps unless the difference is 0.
	CountDown(r G, n int, label string)

	Subtract(n int, r G)

	// Advance adds a number of bytes to pointers.
	Advance(bytes int, pointers ...G)

	// Return returns from the function.
	Return()

	// Lanes is the number of float32 in a vector.
	Lanes() int

	// Vecs allocates n vectors.
	Vecs(n int) []V

	// LoadVec and StoreVec move vector i of the memory at p.
	LoadVec(p G, i int, x V)
	StoreVec(x V, p G, i int)

	// Scope frees the registers that body allocates, if they are not freed by
	// themselves.
	Scope(body func())
}

// Times emits a loop of count ≥ 1 iterations. It uses up count.
func Times[G, V any](m Machine[G, V], count G, label string, body func()) {
	m.Label(label)
	body()
	m.CountDown(count, 1, label)
}

// AnyTimes emits a loop of count ≥ 0 iterations. It uses up count. A loop that takes much of the
// time is aligned.
func AnyTimes[G, V any](m Machine[G, V], count G, label, done string, aligned bool, body func()) {
	m.JumpIfZero(count, done)
	if aligned {
		m.AlignLoop()
	}
	Times(m, count, label, body)
	m.Label(done)
}

// Lanes emits a loop over left ≥ 1 lanes, one vector at a time. After each the pointers in
// floats go on by as many float32 as a vector has lanes, those in ints by as many ints.
func Lanes[G, V any](m Machine[G, V], left G, comment string, floats, ints []G, body func()) {
	m.Commentf("%s", comment)
	m.Label("lanes")
	body()
	m.Advance(4*m.Lanes(), floats...)
	if ints != nil {
		m.Advance(8*m.Lanes(), ints...)
	}
	m.CountDown(left, m.Lanes(), "lanes")
}

// Chunks emits the rest of a function that works on left lanes in chunks of vectors. Each
// chunk is as wide as possible: widths lists the numbers of vectors, the largest first and
// 1 last. chunk emits one, from a label that is its name on, and moves the pointers on.
func Chunks[G, V any](m Machine[G, V], widths []int, left G, chunk func(vectors int, name string)) {
	name := func(vectors int) string { return fmt.Sprintf("chunk%d", vectors) }
	m.Commentf("The widest chunk of lanes that is left.")
	m.Label("columns")
	for _, v := range widths {
		m.JumpIfVectors(left, v, name(v))
	}
	m.Return()
	for _, v := range widths {
		m.Scope(func() { chunk(v, name(v)) })
		m.Subtract(v*m.Lanes(), left)
		m.Goto("columns")
	}
}
