package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// If there are enough registers, SkinnyQK loads and transposes the words of a vector
// between the FMAs of the vector before it, and widens a column before the FMAs of the
// column before it. Processors look ahead by themselves, but not far enough for all of
// that, least of all if two threads share a core. On Zen 4 it gains up to a fifth for two
// threads on a core, else up to a tenth.

// ahead reports whether steps do that. On Zen 4 float32 would gain 4% with 2 queries and lose as much
// with 8, so its variant says. bfloat16 with one query, which takes the least time, would then wait for
// memory and read a seventh less per second. Where there is a tile of twice as many keys for the queries,
// one of 16 keys is for the last 16 to 31 keys alone, and for the queries that groups of 8 leave over.
func (f *qkEmitter) ahead(acc [][]reg.VecVirtual) bool {
	queries := len(acc)
	if f.words.element == spec.Float32 {
		return f.variant.Ahead > 0 && queries >= f.variant.Ahead
	}
	isLargest := f.times(acc) == f.most() || queries > doubledQueries
	return f.g.EVEX() && isLargest && !(f.words.element == spec.BF16 && queries == 1)
}

// stepsAhead emits the loop over steps in that way. The words of the first vector of a step
// are loaded in the step before it, so the last step ends early.
func (f *qkEmitter) stepsAhead(acc [][]reg.VecVirtual, name string) {
	last := len(acc[0]) - 1
	first := f.words.load(f.row(0), 0)
	f.g.AlignLoop()
	f.g.Label(name + "step")
	f.prefetchStep(f.words.n, f.times(acc), name)
	words := first
	for v := range last {
		words = f.vectorBeside(acc, words, v, v+1)
	}
	f.advance()
	f.g.CMPQ(f.k[0], f.end)
	f.g.JE(operand.LabelRef(name + "last"))
	next := f.vectorBeside(acc, words, last, 0)
	for i := range first {
		f.g.VMOVAPS(next[i], first[i])
	}
	f.words.next(name + "scale")
	f.g.JMP(operand.LabelRef(name + "step"))
	f.g.Label(name + "last")
	f.vectorProducts(acc, words, last)
	f.words.next(name + "lastscale")
}

// vectorBeside emits the products of vector v of keys, interleaved with the loads of the
// next vector. It returns the words of that.
func (f *qkEmitter) vectorBeside(acc [][]reg.VecVirtual, words []reg.VecVirtual, v, next int) (loaded []reg.VecVirtual) {
	f.g.Interleave(func() { f.vectorProducts(acc, words, v) }, func() { loaded = f.words.load(f.row(0), next) })
	return loaded
}

// vectorProducts emits the products of all columns of vector v of keys.
func (f *qkEmitter) vectorProducts(acc [][]reg.VecVirtual, words []reg.VecVirtual, v int) {
	columns := f.words.columns(words, v)
	q := f.q
	if v+1 < len(acc[0]) {
		q = f.g.GP64()
		f.g.MOVQ(f.q, q)
	}
	next := columns[0]()
	for x := range columns {
		k := next
		if x+1 < len(columns) {
			next = columns[x+1]()
		}
		m := column(q, f.w, x)
		for i := range acc {
			f.g.FMABroadcast(f.g.Context, m, k, acc[i][v])
			m.Disp += 4
		}
		if x%2 == 1 {
			f.g.LEAQ(emit.Indexed(q, f.w, 2), q)
		}
	}
}
