// Package rope rotates queries and keys by angles that grow with their positions (Su et al.:
// "RoFormer: Enhanced Transformer with Rotary Position Embedding"). The angles are exact at any
// position, and the results have the same bits on every CPU. [New] makes a [Rope], and [Rope.Apply]
// rotates a tensor in place:
//
//	r, err := rope.New(rope.Config{Dims: headSize, Base: 10000})
//	err = r.Apply(kernel.BLHD(q, 1, tokens, heads, headSize), positions, kernel.Exec{})
package rope

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Rope rotates the numbers of a head, pair by pair. It is immutable: any number of
// goroutines may use it at once.
//
// Pair i is rotated by the angle position·frequency(i):
//
//	y0 = x0·cos - x1·sin
//	y1 = x1·cos + x0·sin
//
// in float32, where both products and then their sum are rounded. A result that is NaN
// is the NaN 0x7FC00000.
//
// The cosine and the sine have the same bits on every CPU. The numeric contract, package contract,
// has the steps: the angle is reduced in integers, modulo whole turns, and then goes through
// Taylor's series in float64.
//
// For positions up to ±2^31 the results are the floats nearest to the true cosine and
// sine, except for one in some 10^8, which is the neighbouring float.
type Rope struct {
	frequencies []angle // of the pairs, per position
	magnitude   float64 // of cosines and sines
	pairing     Pairing
	streams     int       // the positions of a token
	sections    []uint8   // of the pairs, nil if there is one
	table       []float32 // [positions][cosines, sines of all pairs]
}

// New makes a Rope. A field of the configuration that is out of range is a
// [*kernel.Error].
func New(c Config) (*Rope, error) {
	if f := c.check(); f != nil {
		return nil, (*kernel.Error)(f.In("rope.New"))
	}
	r := &Rope{pairing: c.Pairing, frequencies: c.angles(), magnitude: c.Magnitude, streams: max(1, len(c.Sections)), sections: c.sections()}
	if c.Magnitude == 0 {
		r.magnitude = 1
	}
	r.table = make([]float32, c.Positions*c.Dims)
	for p := range c.Positions {
		r.compute(p, r.table[p*c.Dims:(p+1)*c.Dims])
	}
	return r, nil
}

// Dims returns the number of elements of a head that are rotated.
func (r *Rope) Dims() int { return 2 * len(r.frequencies) }

// CosSin writes the cosines and sines of a position's angles, one per pair, times Config.Magnitude.
// Of Config.Sections all have that position. Both slices
// must have Dims()/2 elements and share none; otherwise the error is a
// [*kernel.Error].
func (r *Rope) CosSin(position int, cos, sin []float32) error {
	n := len(r.frequencies)
	if f := cmp.Or(
		check.Length("cos", len(cos), n, "one per pair"), check.Length("sin", len(sin), n, "one per pair"),
		view.CheckApart(1, []string{"sin", "cos"}, view.MemoryOf(sin), view.MemoryOf(cos)),
	); f != nil {
		return (*kernel.Error)(f.In("rope.Rope.CosSin"))
	}
	r.cosSin(position, cos, sin)
	return nil
}

func (r *Rope) cosSin(position int, cos, sin []float32) {
	magnitude := r.magnitude
	for i := range r.frequencies {
		cos[i], sin[i] = r.frequencies[i].times(position).cosSin(magnitude)
	}
}

// pair returns the cosine and the sine of a pair at a position.
func (r *Rope) pair(i, position int) (cos, sin float32) {
	return r.frequencies[i].times(position).cosSin(r.magnitude)
}

// compute writes the row of the table for a position.
func (r *Rope) compute(position int, row []float32) {
	n := len(r.frequencies)
	r.cosSin(position, row[:n], row[n:])
}

// Apply rotates x in place: a tensor [B, H, L, D] with D ≥ Dims() of float32, float16 or bfloat16,
// neither paged nor ragged. Elements of 16 bits are widened, rotated in float32, and rounded once,
// by the conversions of package numeric. All heads of a token have the same position. positions
// holds either L positions, for all batch rows alike, or B·L, one batch row after the other; with
// Config.Sections it holds that many for the first section, then as many for the next one, as the
// position_ids [3, B, L] of Transformers. Any int is a position. Rotating by -p undoes rotating by
// p, up to rounding. exec says how the call is computed; the zero Exec is the default.
//
// In the steady state a call allocates nothing, see [kernel.ReleaseMemory]. Calls that
// share no row may run at once. An error is a [*kernel.Error] and leaves x untouched.
func (r *Rope) Apply(x kernel.Tensor, positions []int, exec kernel.Exec) error {
	v := (*view.Tensor)(&x)
	t, err := elementwise.Begin("rope.Rope.Apply", &exec, r.check(v, positions))
	if err != nil {
		return err
	}
	if shape := v.Shape(); min(shape[0], shape[1], shape[2]) == 0 {
		return nil // the other dimensions may be any numbers
	}
	tokens := v.Dim(0) * v.Dim(2)
	work := float64(tokens) * float64(v.Dim(1)*r.Dims()) * elementFMAs / float64(t.ThreadFMAs)
	jobs.Run(&job{r, *v, positions, t}, tokens, work, r.Dims(), exec.Threads, exec.ParallelFor)
	return nil
}

// row returns the cosines and sines of a position, from the table or computed into
// memory.
func (r *Rope) row(position int, memory []float32) []float32 {
	if row := r.fromTable(position); row != nil {
		return row
	}
	r.compute(position, memory)
	return memory
}

// fromTable returns the row of a position in the table, or nil if it has none.
func (r *Rope) fromTable(position int) []float32 {
	n := r.Dims()
	if position < 0 || position >= len(r.table)/n {
		return nil
	}
	return r.table[position*n : (position+1)*n]
}

// ofElements makes cosines and sines of each element of interleaved pairs: x0 becomes x0·cos -
// x1·sin, and x1 becomes x1·cos + x0·sin.
func ofElements(row, memory []float32) (cos, sin []float32) {
	half := len(row) / 2
	cos, sin = memory[:len(row)], memory[len(row):2*len(row)]
	for i, c := range row[:half] {
		s := row[half+i]
		cos[2*i], cos[2*i+1], sin[2*i], sin[2*i+1] = c, c, -s, s
	}
	return cos, sin
}

// check reports the first argument of Apply that does not fit.
func (r *Rope) check(x *view.Tensor, positions []int) *check.Failure {
	if len(r.frequencies) == 0 {
		return &check.Failure{Where: "the Rope", Got: "the zero Rope", Want: "one that New has made"}
	}
	if f := x.CheckPlain("x"); f != nil {
		return f
	}
	if x.Dim(3) < r.Dims() {
		return &check.Failure{Where: "x", Got: x.Describe(), Want: fmt.Sprintf("a head size of at least %d, the Dims of the Rope", r.Dims())}
	}
	return cmp.Or(x.CheckDistinct("x"), r.checkPositions(x, len(positions)))
}

// checkPositions reports a number of positions that does not fit x.
func (r *Rope) checkPositions(x *view.Tensor, n int) *check.Failure {
	length := ints.MulSat(r.streams, x.Dim(2))
	all := ints.MulSat(x.Dim(0), length)
	if n == length || n == all {
		return nil
	}
	of := ""
	if r.streams > 1 {
		of = fmt.Sprintf(", for each of %d sections", r.streams)
	}
	return &check.Failure{Where: "positions", Got: fmt.Sprint(n), Want: fmt.Sprintf("%d, one per row, or %d, one per row of every batch row%s", length, all, of)}
}

// elementFMAs is how many FMAs of a product take as long as an element.
const elementFMAs = 8

// maxElements bounds a call of the kernel, in which the goroutine cannot be preempted.
const maxElements = 64 << 10

// A job is one call of Apply.
type job struct {
	rope      *Rope
	x         view.Tensor
	positions []int
	tier      *tier.Tier
}

// A scratch holds the cosines and sines of positions that the table does not have as a row, and
// a head that is widened.
type scratch struct {
	numbers []float32
	usage   parallel.Usage
	memory  parallel.Memory
}

var (
	jobs      = parallel.Loop[job, scratch]{Scratch: &scratches, Fit: (*job).fit, Do: (*job).task}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func (j *job) fit(s *scratch) {
	parallel.Fit(&s.memory, &s.usage, &s.numbers, 4*j.rope.Dims(), parallel.Make[float32])
}

// task rotates the tokens lo to hi-1, numbered through all batch rows.
func (j *job) task(s *scratch, lo, hi int) {
	length, n := j.x.Dim(2), j.rope.Dims()
	each := len(j.positions) / j.rope.streams // positions of a section
	for token := lo; token < hi; token++ {
		b, l := token/length, token%length
		at := l
		if each > length {
			at = token
		}
		var row []float32
		if j.rope.sections == nil {
			row = j.rope.row(j.positions[at], s.numbers[:n])
		} else {
			row = j.rope.mixed(j.positions[at:], each, s.numbers[:n])
		}
		cos, sin := row[:n/2], row[n/2:]
		if j.rope.pairing == Interleaved {
			cos, sin = ofElements(row, s.numbers[2*n:])
		}
		if j.x.DType() == view.Float32 {
			j.rotate(b, l, cos, sin)
		} else {
			j.rotateHalves(b, l, cos, sin, s.numbers[n:2*n])
		}
	}
}

// rotate rotates the heads of a token of float32.
func (j *job) rotate(b, l int, cos, sin []float32) {
	heads, dims := j.x.Dim(1), j.rope.Dims()
	if view.Races {
		for h := range heads {
			j.x.AnnouncePart(view.Write, b, h, l, 0, dims)
		}
	}
	x, n := j.x.F32(), max(1, maxElements/dims)
	for h := 0; h < heads; h += n {
		j.rotateRows(x[j.x.Index(b, h, l):], j.x.Stride(1), min(n, heads-h), cos, sin)
	}
}

// rotateRows rotates n rows.
func (j *job) rotateRows(x []float32, ld, n int, cos, sin []float32) {
	if j.rope.pairing == Interleaved {
		j.tier.Elementwise().RotatePairs(x, ld, n, cos, sin)
	} else {
		j.tier.Elementwise().Rotate(x, x[len(cos):], ld, n, cos, sin)
	}
}

// rotateHalves rotates the heads of a token of 16 bits. wide is memory for one that is widened.
func (j *job) rotateHalves(b, l int, cos, sin, wide []float32) {
	for h := range j.x.Dim(1) {
		if view.Races {
			j.x.AnnouncePart(view.Write, b, h, l, 0, len(wide))
		}
		at := j.x.Index(b, h, l)
		rows.WidenRow(j.tier, wide, &j.x, at, len(wide))
		j.rotateRows(wide, 0, 1, cos, sin)
		rows.Store(j.tier, &j.x, at, wide)
	}
}
