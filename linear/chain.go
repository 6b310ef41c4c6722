package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// Chain applies two layers, as in a feed-forward network: second to the outputs of first, which
// have Options.Activation. The result has the bits of two calls of [Linear.Apply], the second of
// them without an activation. The outputs of first are kept for some rows at a time, which stay in
// cache: up to 64 MiB of them, or 48 rows.
//
//	x   [M, K]  float32, with any strides; K are the inputs of first
//	out [M, N]  float32, overwritten, as of Apply; N are the outputs of second
//
// With Options.DynamicInt8 both layers must have quantized weights. Errors and memory are as for
// Apply.
func Chain(out, x Matrix, first, second *Linear, opts Options) error {
	t, err := elementwise.Begin("linear.Chain", &opts.Exec, checkChain(&out, &x, first, second, &opts))
	if err != nil || out.rows == 0 || out.cols == 0 {
		return err
	}
	if view.Races {
		x.announce(view.Read)
		out.announce(view.Write)
		first.announce()
		second.announce()
	}
	c, returned := chains.Get(), false
	defer func() {
		if !returned { // a panic, after which tasks may still write to the memory
			chains.Drop(c)
		}
	}()
	n := ints.CeilDiv(out.rows, mostChained(first.n, parallel.Limit(opts.Threads)))
	inner := c.between(t, first, second, ints.CeilDiv(out.rows, n))
	plain := opts
	plain.Activation = NoActivation
	for i := range n {
		some := share(out.rows, n, i)
		inner.rows = some.len()
		if inner.cols > 0 {
			first.apply(t, &inner, x.some(some), &opts)
		}
		second.apply(t, out.some(some), &inner, &plain)
	}
	returned = true
	chains.Put(c)
	return nil
}

const (
	// chainRows rows for each thread are the most between two layers. With fewer ones weights are
	// fetched more often.
	chainRows = maxRows

	// chainFloats are the most numbers between two layers, but for minRows rows.
	chainFloats = 16 << 20
)

// mostChained returns the most rows of so many numbers between two layers.
func mostChained(width, threads int) int {
	return min(chainRows*threads, max(minRows, chainFloats/max(1, width)))
}

// A chain is the memory of a call of Chain.
type chain struct {
	inner  []float32
	usage  parallel.Usage
	memory parallel.Memory
}

var chains = parallel.FreeList[chain]{Memory: func(c *chain) *parallel.Memory { return &c.memory }}

// between returns the matrix between two layers. For tiles it has bfloat16, as they read it. Few
// rows take less time if they are rounded whole, and not panel by panel.
func (c *chain) between(t *tier.Tier, first, second *Linear, n int) Matrix {
	m := Matrix{rows: n, cols: first.n, rowStride: first.n, colStride: 1}
	if n <= toBFloat16.step || !first.tiles(t) || !second.tiles(t) {
		parallel.Fit(&c.memory, &c.usage, &c.inner, n*m.rowStride, rows.Aligned)
		m.f32 = c.inner
		return m
	}
	words := second.tileWords()
	parallel.Fit(&c.memory, &c.usage, &c.inner, n*words, rows.Aligned)
	m.dtype, m.rowStride, m.u16 = view.BFloat16, 2*words, view.As[uint16](view.BytesOf(c.inner))
	for i := range n {
		clear(m.u16[i*m.rowStride:][:m.rowStride][m.cols:])
	}
	return m
}

// some returns some rows of a matrix.
func (m Matrix) some(r interval) *Matrix {
	m.f32, m.rows = m.f32[min(r.lo*m.rowStride, len(m.f32)):], r.len()
	return &m
}

// checkChain reports the first argument of Chain that does not fit.
func checkChain(out, x *Matrix, first, second *Linear, opts *Options) *check.Failure {
	switch {
	case first == nil:
		return &check.Failure{Where: "first", Got: "nil", Want: "a layer"}
	case second == nil:
		return &check.Failure{Where: "second", Got: "nil", Want: "a layer"}
	case second.k != first.n:
		return &check.Failure{Where: "second", Got: fmt.Sprintf("a layer of %d inputs", second.k), Want: fmt.Sprintf("%d, the outputs of first", first.n)}
	}
	return checkApply(out, x, first, second, opts)
}
