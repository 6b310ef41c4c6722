package optimize

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// ClipNorm limits the norm of all gradients of a model, taken as one vector. It returns
//
//	norm = the root of the sum of all squares
//
// rounded, and, if the root is above most before it is rounded, multiplies every element by
// most/root. gradients are the slices of the model in a fixed order, since the sum depends on it;
// they share no memory. If the norm is NaN or +Inf, the gradients are left as they are: a step with
// them would spoil the weights.
//
// The squares are summed up in float64. most is above 0. exec says how the call is computed; the
// zero Exec is the default. An error is a [*kernel.Error], and leaves the gradients untouched. In
// the steady state a call allocates nothing.
func ClipNorm(most float32, gradients [][]float32, exec kernel.Exec) (norm float32, err error) {
	t, err := elementwise.Begin("optimize.ClipNorm", &exec, checkClip(most, gradients))
	if err != nil {
		return 0, err
	}
	if view.Races {
		for _, g := range gradients {
			view.Announce(view.Write, g)
		}
	}
	j := clips.Get()
	j.set(gradients)
	defer j.release()
	root := math.Sqrt(j.sum(t, &exec))
	norm = float32(root)
	if norm != norm {
		return scalar.NaN, nil
	}
	if root > float64(most) && !math.IsInf(float64(norm), 1) {
		j.scale(float32(float64(most)/root), t, &exec)
	}
	return norm, nil
}

// checkClip reports the first argument of ClipNorm that does not fit.
func checkClip(most float32, gradients [][]float32) *check.Failure {
	if !(most > 0 && most <= math.MaxFloat32) {
		return &check.Failure{Where: "most", Got: fmt.Sprint(most), Want: "above 0, finite"}
	}
	for i, g := range gradients {
		for k, h := range gradients[:i] {
			if view.MemoryOf(g).Overlaps(view.MemoryOf(h)) {
				return &check.Failure{Where: fmt.Sprintf("gradients[%d]", i), Got: fmt.Sprintf("memory that overlaps gradients[%d]", k), Want: "memory of its own"}
			}
		}
	}
	return nil
}

// A clip is one call of ClipNorm. Clips are recycled, so that in the steady state a call allocates
// nothing.
type clip struct {
	gradients [][]float32
	elements  int // of all gradients
	blocks    int // of all gradients, each in blocks of its own
	tier      *tier.Tier
	sums      []float64 // of the squares of each slice, in the contract's order
	factor    float32

	squares parallel.Split[squares, struct{}]
	scaling parallel.Split[struct{}, struct{}]
}

// A squares has the sums of a slice's squares, in chains, and the numbers of some of them.
type squares struct {
	sums    [8]float64
	numbers [clipBlock]float32
	zero    [1]float32 // is subtracted
}

var squaresOf = parallel.FreeList[squares]{}

var clips = parallel.FreeList[clip]{New: func() *clip {
	j := new(clip)
	j.squares.Init(&squaresOf, nil, j.sumSlices, nil)
	j.scaling.Init(&parallel.NoScratch, nil, j.scaleBlocks, nil)
	return j
}}

const (
	clipBlock = 1 << 12 // elements of a block
	clipFMAs  = 30      // FMAs of a product that take as long as an element, squared or scaled, on Zen 3
)

// set takes the gradients of a call.
func (j *clip) set(gradients [][]float32) {
	j.gradients, j.elements, j.blocks = gradients, 0, 0
	j.sums = slices.Grow(j.sums[:0], len(gradients))[:len(gradients)]
	for _, g := range gradients {
		j.elements += len(g)
		j.blocks += ints.CeilDiv(len(g), clipBlock)
	}
}

// release ends the call.
func (j *clip) release() {
	j.gradients = nil // the caller's memory
	clips.Put(j)
}

// work is one pass over the gradients, in units that are worth waking a thread for.
func (j *clip) work(t *tier.Tier) float64 {
	return float64(j.elements) * clipFMAs / float64(t.ThreadFMAs)
}

// sum returns the sum of all squares: slices are added in order, whichever goroutine summed up
// their squares.
func (j *clip) sum(t *tier.Tier, exec *kernel.Exec) float64 {
	j.tier = t
	j.squares.Run(len(j.sums), j.work(t), struct{}{}, exec.Threads, exec.ParallelFor)
	sum := 0.0
	for _, s := range j.sums {
		sum += s
	}
	return sum
}

func (j *clip) sumSlices(s *squares, lo, hi int) {
	const chains = len(s.sums)
	k := j.tier.Rows()
	for i := lo; i < hi; i++ {
		g := j.gradients[i]
		if view.Races {
			view.Announce(view.Read, g)
		}
		clear(s.sums[:])
		for ; len(g) >= chains; g = g[min(len(g)/chains*chains, clipBlock):] {
			k.Squares(s.sums[:], s.numbers[:], 0, g, 0, min(len(g), clipBlock)/chains, s.zero[:], s.zero[:])
		}
		k.Squares(s.sums[:len(g)], s.numbers[:], 0, g, 0, 1, s.zero[:], s.zero[:])
		j.sums[i] = scalar.SumOfHalves64(&s.sums)
	}
}

// scale multiplies all gradients by a factor.
func (j *clip) scale(factor float32, t *tier.Tier, exec *kernel.Exec) {
	j.factor = factor
	j.scaling.Run(j.blocks, j.work(t), struct{}{}, exec.Threads, exec.ParallelFor)
}

// scaleBlocks scales the blocks lo to hi-1, numbered through all gradients.
func (j *clip) scaleBlocks(_ *struct{}, lo, hi int) {
	first := 0 // block of g
	for _, g := range j.gradients {
		n := ints.CeilDiv(len(g), clipBlock)
		if from, to := max(lo, first), min(hi, first+n); from < to {
			part := g[(from-first)*clipBlock : min((to-first)*clipBlock, len(g))]
			for i := range part {
				part[i] *= j.factor
			}
		}
		first += n
	}
}
