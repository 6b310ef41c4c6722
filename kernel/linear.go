package kernel

import (
	"fmt"
	"math"
)

// Linear is a linear layer, out = x·Wᵀ + b, with its weights packed once. It is immutable:
// any number of goroutines may use it at once.
type Linear struct {
	n, k  int
	dtype DType
	f32   []float32 // the strips of Float32
	u16   []uint16  // or of another type
	bias  []float32 // for all lanes of the strips; without a bias -0, which changes nothing
}

// NewLinear packs the weights w, [N, K] for N outputs and K inputs, and the bias, N
// numbers or nil for none. Both are copied. Weights that lie as [K, N] are
// given by their T. Their type stays: those of 16 bits are widened, exactly, when
// they are used, which takes no longer with many rows and half the time with few, where
// reading them is all.
//
// On Linux the packed weights of a large layer lie in huge pages, where the system has them.
//
// Bad input gets an [*ArgumentError].
func NewLinear(w Matrix, bias []float32) (*Linear, error) {
	if err := w.check("w"); err != nil {
		return nil, err
	}
	if bias != nil && len(bias) != w.rows {
		return nil, &ArgumentError{"bias", fmt.Sprintf("%d numbers", len(bias)), fmt.Sprintf("%d, one per row of w, or nil", w.rows)}
	}
	const most = math.MaxInt / 8 // elements, so that their bytes are an int
	if mulSat(addSat(w.rows, stripStep), w.cols) > most || w.rows > most {
		return nil, &ArgumentError{"w", w.describe(), fmt.Sprintf("at most %d elements", most)}
	}
	l := &Linear{n: w.rows, k: w.cols, dtype: w.dtype}
	if w.dtype == Float32 {
		l.f32 = packStrips(l, &w, w.f32)
	} else {
		l.u16 = packStrips(l, &w, w.u16())
	}
	l.bias = filledBias(bias, l.lanes())
	return l, nil
}

// filledBias returns the bias followed by -0.
func filledBias(bias []float32, lanes int) []float32 {
	b := make([]float32, lanes)
	for i := copy(b, bias); i < lanes; i++ {
		b[i] = float32(math.Copysign(0, -1))
	}
	return b
}

// Shape returns the numbers of outputs and of inputs.
func (l *Linear) Shape() (n, k int) { return l.n, l.k }

// DType returns the type of the weights.
func (l *Linear) DType() DType { return l.dtype }

// LinearOptions are the settings of one call of a Linear. The zero value is the best tier
// of this CPU on all its threads. None of them changes a bit of the result.
type LinearOptions struct {
	Tier    string                        // as in Options
	Threads int                           // as in Options
	Run     func(n int, task func(i int)) // as in Options
}

// Apply computes out = x·Wᵀ + b for the rows of x:
//
//	x   [M, K]  float32, with any strides
//	out [M, N]  float32, is overwritten; its rows are contiguous, and from its first
//	            element to its last it shares no memory with x
//
// Any M ≥ 0 is valid. Every output is one chain,
//
//	acc = fma(x[m][k], w[n][k], acc), k = 0..K-1 ascending, from +0
//	out[m][n] = acc + b[n], or acc without a bias; the NaN 0x7FC00000 if that is one
//
// so that its bits depend on that row of x and that row of W alone: not on tier,
// threads, the other rows or how many they are.
//
// The call allocates nothing once warm and may be made from many goroutines at once.
// Bad input gets an [*ArgumentError] or [*TierError],
// and out stays untouched.
func (l *Linear) Apply(out, x Matrix, opts LinearOptions) error {
	t, err := tierFor(opts.Tier)
	if err != nil {
		return err
	}
	if err := l.check(&out, &x, &opts); err != nil {
		return err
	}
	if out.rows > 0 && out.cols > 0 {
		l.apply(t, out, x, &opts)
	}
	return nil
}

// apply is Apply with arguments that fit.
func (l *Linear) apply(t *tier, out, x Matrix, opts *LinearOptions) {
	j := linearJobs.get()
	j.linear, j.out, j.x = l, out, x
	j.plan(t, opts.Threads)
	j.run(opts.Run)
	j.linear, j.out, j.x = nil, Matrix{}, Matrix{} // the caller's memory is the caller's again
	linearJobs.put(j)
}

// check reports the first argument of Apply that does not fit.
func (l *Linear) check(out, x *Matrix, opts *LinearOptions) error {
	names := [...]string{"x", "out"}
	for i, m := range [...]*Matrix{x, out} {
		if err := m.check(names[i]); err != nil {
			return err
		}
		if m.dtype != Float32 {
			return &ArgumentError{names[i], m.describe(), "float32"}
		}
	}
	switch {
	case x.cols != l.k:
		return &ArgumentError{"x", x.describe(), fmt.Sprintf("%d columns, the inputs of the layer", l.k)}
	case out.rows != x.rows || out.cols != l.n:
		return &ArgumentError{"out", out.describe(), fmt.Sprintf("[%d %d], x's rows and the outputs of the layer", x.rows, l.n)}
	case out.cols > 1 && out.colStride != 1:
		return &ArgumentError{"out", out.describe(), "contiguous rows"}
	}
	if err := out.checkDistinct("out"); err != nil {
		return err
	}
	if out.memory().overlaps(x.memory()) {
		return &ArgumentError{"out", "memory that overlaps x", "a range of memory of its own"}
	}
	if opts.Threads < 0 {
		return &ArgumentError{"LinearOptions.Threads", fmt.Sprint(opts.Threads), "at least 1, or 0 for all"}
	}
	return nil
}
