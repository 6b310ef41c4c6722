package hostile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"time"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/optimize"
	"github.com/attn-go/attn/recurrent"
	"github.com/attn-go/attn/retrieval"
	"github.com/attn-go/attn/rope"
)

// An entry is a function, and a valid call of it. The receiver of a method is its first
// argument. One with a pointer that is nil panics, as Go programs expect it to: that is the
// only panic that is allowed.
type entry struct {
	name string // package.Function or package.Type.Method
	f    any
	args func(w *world) []any

	// writes is true if a call that returns an error may have written to its arguments, as
	// its documentation says.
	writes bool
}

// list makes arguments that do not lie in the memory of the world.
func list(args ...any) func(*world) []any { return func(*world) []any { return args } }

// tensors are the arguments of a call of attention, and options as they make them.
func tensors(o func(w *world) kernel.Options) func(w *world) []any {
	return func(w *world) []any {
		out, q, k, v := w.attention()
		return []any{out, q, k, v, o(w)}
	}
}

// someExec is for calls over slices.
var someExec = kernel.Exec{Threads: 2, ParallelFor: inOrder}

func twoSlices(w *world) []any   { return []any{w.floats(7), w.floats(7), someExec} }
func threeSlices(w *world) []any { return []any{w.floats(7), w.floats(7), w.floats(7), someExec} }

func fiveSlices(w *world) []any {
	return []any{w.floats(7), w.floats(7), w.floats(7), w.floats(7), w.floats(7), someExec}
}

func noOptions(*world) kernel.Options { return kernel.Options{} }

// similar returns the arguments of a similarity's method Attend.
func similar(s func(w *world) any, o func(w *world) kernel.Options) func(w *world) []any {
	return func(w *world) []any { return append([]any{s(w)}, tensors(o)(w)...) }
}

func product(q, k []float32) float32 {
	sum := float32(0)
	for i := range q {
		sum = numeric.FMA(q[i], k[i], sum)
	}
	return sum
}

// multiHead returns attention with two heads of 4 on tokens of 6, and the arguments of a call.
func multiHead(projects bool, o func(w *world) kernel.Options) func(w *world) []any {
	return func(w *world) []any {
		m := &layer.MultiHead{Heads: 2, KVHeads: 1}
		query, key, value, out := w.tensor(2, 1, 3, 8), w.tensor(2, 1, 7, 4), w.tensor(2, 1, 7, 5), w.tensor(2, 1, 3, 10)
		if projects {
			m.Q, m.K, m.V, m.O = w.linear(8, 8), w.linear(4, 4), w.linear(5, 5), w.linear(10, 10)
			m.Similarity = layer.Dot{}
		}
		return []any{m, out, query, key, value, o(w)}
	}
}

func trace(w *world) layer.MultiHeadTrace {
	return layer.MultiHeadTrace{Q: w.tensor(2, 1, 3, 8), K: w.tensor(2, 1, 7, 4), V: w.tensor(2, 1, 7, 5), Heads: w.tensor(2, 1, 3, 10), LSE: w.tensor(2, 2, 3, 1)}
}

// multiHeadBackward returns the attention of multiHead and the arguments of its gradients.
func multiHeadBackward(projects bool) func(w *world) []any {
	return func(w *world) []any {
		a := multiHead(projects, twoHeads)(w)
		g := layer.MultiHeadGradients{
			Query: w.tensor(2, 1, 3, 8), Key: w.tensor(2, 1, 7, 4), Value: w.tensor(2, 1, 7, 5),
			Bias: w.tensor(1, 2, 1, 7), Sinks: w.floats(2),
		}
		var weights layer.MultiHeadWeights
		if projects {
			weights = layer.MultiHeadWeights{Q: w.floats(64), K: w.floats(16), V: w.floats(25), O: w.floats(100)}
			g.Q, g.K = layer.Parameters{Weight: w.floats(64), Bias: w.floats(8)}, layer.Parameters{Weight: w.floats(16)}
			g.V, g.O = layer.Parameters{Bias: w.floats(5)}, layer.Parameters{Weight: w.floats(100), Bias: w.floats(10)}
		}
		o := contracttest.BackwardOptions(a[5].(kernel.Options))
		o.Accumulate = projects
		return []any{a[0], g, a[1], a[2], a[3], a[4], trace(w), weights, o}
	}
}

// similarBackward returns the arguments of the gradients of a similarity.
func similarBackward(s any) func(w *world) []any {
	return func(w *world) []any {
		dout, q, k, v := w.attention()
		g := kernel.Gradients{Q: w.tensor(2, 4, 3, 6), K: w.tensor(2, 2, 7, 6), V: w.tensor(2, 2, 7, 5), Bias: w.tensor(2, 1, 3, 7), Sinks: w.floats(4)}
		return []any{s, g, dout, q, k, v, w.tensor(2, 4, 3, 1), w.backwardOptions()}
	}
}

func twoHeads(w *world) kernel.Options {
	return kernel.Options{Outputs: kernel.Outputs{LSE: w.tensor(2, 2, 3, 1), Weights: w.tensor(2, 2, 3, 7), Scores: w.tensor(2, 2, 3, 7)}, Scoring: kernel.Scoring{Bias: w.tensor(1, 2, 1, 7), Sinks: w.floats(2)}}
}

func shape4() [4]int { return [4]int{2, 4, 3, 7} }

// views are the valid arguments of the constructors of views of 168 elements.
func views[E any]() func(*world) []any { return list(make([]E, 168), 2, 4, 3, 7) }

// table has every exported function and method of the public packages, some of them with
// several calls.
var table = []entry{
	{name: "kernel.Attention", f: kernel.Attention, args: tensors(noOptions)},
	{name: "kernel.Attention", f: kernel.Attention, args: tensors((*world).options)},
	{name: "kernel.Attention", f: kernel.Attention, args: func(w *world) []any { // with enough work for several threads
		rows := func(d int) kernel.Tensor { return kernel.Strided(w.floats(d), [4]int{2, 2, 600, d}, [3]int{}) }
		return []any{w.tensor(2, 4, 40, 5), w.tensor(2, 4, 40, 6), rows(6), rows(5), kernel.Options{}}
	}},
	{name: "kernel.Attention", f: kernel.Attention, args: func(w *world) []any { // ragged, in pages
		ragged := func(d int) kernel.Tensor { return kernel.Ragged(w.floats(5*4*d), []int{0, 3, 5}, 4, d) }
		table := &kernel.PageTable{Pages: [][]int32{{0, 5, 2}, {4, 1, 3}}, Lengths: []int{7, 5}}
		return []any{ragged(5), ragged(6), w.tensor(6, 2, 3, 6).Paged(table), w.tensor(6, 2, 3, 5).Paged(table), kernel.Options{Outputs: kernel.Outputs{LSE: ragged(1), Weights: ragged(7)}}}
	}},
	{name: "kernel.Attention", f: kernel.Attention, args: func(w *world) []any { // of a tree
		out, q, k, v := w.attention()
		o := w.options()
		o.Parents = []int32{-1, 0, 0, -1, -1, 1}
		return []any{out, q, k, v, o}
	}},
	{name: "kernel.Attention", f: kernel.Attention, args: func(w *world) []any { // with lists of keys
		out, q, k, v := w.attention()
		o := w.options()
		o.KeyRows = kernel.KeyRows{Rows: []int32{0, 6, 6, 2, -1, -1, -1, 6, 5, 4, 3, 2, 1, 0, 3, -1, -1, -1, -1, -1, -1}, Shape: [4]int{1, 1, 3, 7}}
		return []any{out, q, k, v, o}
	}},
	{name: "kernel.AttentionBackward", f: kernel.AttentionBackward, args: func(w *world) []any {
		dout, q, k, v := w.attention()
		g := kernel.Gradients{Q: w.tensor(2, 4, 3, 6), K: w.tensor(2, 2, 7, 6), V: w.tensor(2, 2, 7, 5), Bias: w.tensor(2, 1, 3, 7), Sinks: w.floats(4)}
		return []any{g, dout, q, k, v, w.tensor(2, 4, 3, 1), w.backwardOptions()}
	}},
	{name: "kernel.AttentionBackward", f: kernel.AttentionBackward, args: func(w *world) []any { // ragged
		ragged := func(d int) kernel.Tensor { return kernel.Ragged(w.floats(5*4*d), []int{0, 3, 5}, 4, d) }
		return []any{kernel.Gradients{Q: ragged(6), K: ragged(6), V: ragged(5)}, ragged(5), ragged(6), ragged(6), ragged(5), ragged(1), kernel.BackwardOptions{Exec: kernel.Exec{Threads: 2}, Accumulate: true}}
	}},
	{name: "kernel.AttentionBackward", f: kernel.AttentionBackward, args: func(w *world) []any { // one bias for all heads, added to
		dout, q, k, v := w.attention()
		g := kernel.Gradients{Q: w.tensor(2, 4, 3, 6), K: w.tensor(2, 2, 7, 6), V: w.tensor(2, 2, 7, 5), Bias: w.tensor(1, 1, 3, 7)}
		return []any{g, dout, q, k, v, w.tensor(2, 4, 3, 1), kernel.BackwardOptions{Scoring: kernel.Scoring{Bias: w.tensor(1, 1, 3, 7)}, Accumulate: true}}
	}},
	{name: "kernel.Additive", f: kernel.Additive, args: func(w *world) []any {
		out, q, k, v := w.attention()
		return []any{out, q, k, v, w.floats(6), w.options()}
	}},
	{name: "kernel.AdditiveBackward", f: kernel.AdditiveBackward, args: func(w *world) []any {
		g := kernel.AdditiveGradients{Q: w.tensor(2, 4, 3, 6), K: w.tensor(2, 2, 7, 6), V: w.tensor(2, 2, 7, 5), Weights: w.floats(6)}
		dout, q, k, v := w.attention()
		return []any{g, dout, q, k, v, w.tensor(2, 4, 3, 7), w.floats(6), kernel.AdditiveBackwardOptions{Scale: 0.5, Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "kernel.AttentionPartials", f: kernel.AttentionPartials, args: func(w *world) []any {
		_, q, k, v := w.attention()
		return []any{w.partials(), q, k, v, w.partialOptions()}
	}},
	{name: "kernel.AccumulatePartials", f: kernel.AccumulatePartials, args: func(w *world) []any {
		_, q, k, v := w.attention()
		return []any{w.partials(), q, k, v, w.partialOptions()}
	}},
	{name: "kernel.MergePartials", f: kernel.MergePartials, args: func(w *world) []any {
		return []any{w.tensor(2, 4, 3, 5), []kernel.Partials{*w.partials(), *w.partials()}, kernel.MergeOptions{Sinks: w.floats(4), LSE: w.tensor(2, 4, 3, 1)}}
	}},
	{name: "kernel.MergeInto", f: kernel.MergeInto, args: func(w *world) []any {
		return []any{w.partials(), []kernel.Partials{*w.partials(), *w.partials()}, someExec}
	}},
	{name: "kernel.NewPartials", f: kernel.NewPartials, args: list(1, 2, 4, 3, 5)},
	{name: "kernel.Partials.Reset", f: (*kernel.Partials).Reset, args: func(w *world) []any { return []any{w.partials()} }},
	{name: "kernel.BlockSparse", f: kernel.BlockSparse, args: list(make([]bool, 4), 2, 4)},
	{name: "kernel.Causal", f: kernel.Causal, args: list(4)},
	{name: "kernel.Hidden", f: kernel.Hidden, args: list(make([]bool, 168), shape4())},
	{name: "kernel.HiddenStrided", f: kernel.HiddenStrided, args: list(make([]bool, 168), shape4(), [3]int{84, 21, 7})},
	{name: "kernel.ReleaseMemory", f: kernel.ReleaseMemory, args: list()},
	{name: "kernel.KeepSpinning", f: kernel.KeepSpinning, args: list(50 * time.Microsecond)},
	{name: "kernel.SetSpin", f: kernel.SetSpin, args: list(50 * time.Microsecond)},
	{name: "kernel.Exec.Check", f: kernel.Exec.Check, args: list(someExec)},
	{name: "kernel.Exec.Split", f: kernel.Exec.Split, args: list(someExec, 7, 7, func(lo, hi int) {})},
	{name: "kernel.Visible", f: kernel.Visible, args: list(make([]bool, 168), shape4())},
	{name: "kernel.VisibleStrided", f: kernel.VisibleStrided, args: list(make([]bool, 168), shape4(), [3]int{84, 21, 7})},
	{name: "kernel.VisibleLast", f: kernel.VisibleLast, args: list(make([]bool, 9), [4]int{1, 1, 3, 3})},
	{name: "kernel.KeyLengths", f: kernel.KeyLengths, args: list([]int{7, 5})},
	{name: "kernel.QueryLengths", f: kernel.QueryLengths, args: list([]int{3, 1})},
	{name: "kernel.Chunked", f: kernel.Chunked, args: list(3)},
	{name: "kernel.KeyRange", f: kernel.KeyRange, args: list(1, 3)},
	{name: "kernel.QueryRange", f: kernel.QueryRange, args: list(1, 3)},
	{name: "kernel.PrefixLM", f: kernel.PrefixLM, args: list([]int{3, 1})},
	{name: "kernel.Segments", f: kernel.Segments, args: list([]int32{1, 2, 3, 1, 2, 3}, []int32{1, 1, 1, 2, 2, 2, 3, 1, 1, 1, 2, 2, 2, 3})},
	{name: "kernel.Window", f: kernel.Window, args: list(3, 1)},
	{name: "kernel.Mask.Window", f: kernel.Mask.Window, args: list(kernel.Causal(3))},
	{name: "kernel.Mask.Or", f: kernel.Mask.Or, args: list(kernel.Causal(3), kernel.Window(3, 1))},
	{name: "kernel.Mask.And", f: kernel.Mask.And, args: list(kernel.Causal(3), kernel.Window(3, 1))},
	{name: "kernel.BHLD", f: kernel.BHLD[float32], args: views[float32]()},
	{name: "kernel.BHLD", f: kernel.BHLD[int8], args: views[int8]()},
	{name: "kernel.BLHD", f: kernel.BLHD[float32], args: views[float32]()},
	{name: "kernel.BLHD", f: kernel.BLHD[kernel.F16], args: views[kernel.F16]()},
	{name: "kernel.PackedQKV", f: kernel.PackedQKV[float32], args: list(make([]float32, 2*3*8*5), 2, 3, 4, 2, 5)},
	{name: "kernel.PackedQKV", f: kernel.PackedQKV[kernel.BF16], args: list(make([]kernel.BF16, 2*3*8*5), 2, 3, 4, 2, 5)},
	{name: "kernel.Ragged", f: kernel.Ragged[float32], args: list(make([]float32, 168), []int{0, 3, 6}, 4, 7)},
	{name: "kernel.Strided", f: kernel.Strided[float32], args: list(make([]float32, 168), shape4(), [3]int{84, 21, 7})},
	{name: "kernel.Tensor.DType", f: kernel.Tensor.DType, args: aTensor},
	{name: "kernel.Tensor.Shape", f: kernel.Tensor.Shape, args: aTensor},
	{name: "kernel.Tensor.Strides", f: kernel.Tensor.Strides, args: aTensor},
	{name: "kernel.Tensor.String", f: kernel.Tensor.String, args: aTensor},
	{name: "kernel.Tensor.Paged", f: kernel.Tensor.Paged, args: func(w *world) []any {
		return []any{w.tensor(6, 2, 3, 6), &kernel.PageTable{Pages: [][]int32{{0, 5, 2}, {4, 1, 3}}, Lengths: []int{7, 5}}}
	}},
	{name: "kernel.Tensor.Ragged", f: kernel.Tensor.Ragged, args: func(w *world) []any { return []any{w.tensor(1, 4, 6, 6), []int{0, 3, 5}} }},
	{name: "kernel.Tensor.Scaled", f: kernel.Tensor.Scaled, args: func(w *world) []any {
		s := w.tensor(2, 2, 7, 2)
		return []any{kernel.BHLD(make([]int8, 168), 2, 2, 7, 6), &s}
	}},
	{name: "kernel.Row", f: kernel.Row[float32], args: func(w *world) []any { return []any{w.tensor(2, 4, 3, 7), 1, 3, 2} }},
	{name: "kernel.Row", f: kernel.Row[int8], args: func(w *world) []any { return []any{aPagedTensor(w), 1, 1, 2} }},
	{name: "kernel.Tensor.Length", f: kernel.Tensor.Length, args: func(w *world) []any { return []any{aPagedTensor(w), 1} }},
	{name: "kernel.Tensor.Scales", f: kernel.Tensor.Scales, args: func(w *world) []any { return []any{aPagedTensor(w)} }},
	{name: "kernel.Tensor.IsZero", f: kernel.Tensor.IsZero, args: aTensor},
	{name: "kernel.Tensor.IsPaged", f: kernel.Tensor.IsPaged, args: aTensor},
	{name: "kernel.Tensor.Overlaps", f: kernel.Tensor.Overlaps, args: func(w *world) []any { return []any{w.tensor(2, 4, 3, 7), aPagedTensor(w)} }},
	{name: "kernel.Tensor.Check", f: func(x kernel.Tensor) error { return x.Check(ownArgument) }, args: func(w *world) []any { return []any{aPagedTensor(w)} }},
	{name: "kernel.Tensor.CheckOutput", f: func(x kernel.Tensor) error { return x.CheckOutput(ownArgument) }, args: aTensor},
	{name: "kernel.DType.String", f: kernel.DType.String, args: list(kernel.Int8)},
	{name: "kernel.F16.Float32", f: kernel.F16.Float32, args: list(kernel.F16(1))},
	{name: "kernel.BF16.Float32", f: kernel.BF16.Float32, args: list(kernel.BF16(1))},
	{name: "kernel.F8E4M3.Float32", f: kernel.F8E4M3.Float32, args: list(kernel.F8E4M3(1))},
	{name: "kernel.Int4x2.Numbers", f: kernel.Int4x2.Numbers, args: list(kernel.Int4x2(0x8f))},
	{name: "kernel.F8E5M2.Float32", f: kernel.F8E5M2.Float32, args: list(kernel.F8E5M2(1))},
	{name: "kernel.Error.Error", f: (*kernel.Error).Error, args: list(&kernel.Error{Where: "q"})},
	{name: "kernel.Error.Arg", f: (*kernel.Error).Arg, args: list(&kernel.Error{Where: "q"})},
	{name: "kernel.Error.Unwrap", f: func(e *kernel.Error) { _ = e.Unwrap() }, args: list(&kernel.Error{Kind: kernel.ErrTier})},
	{name: "kernel.TaskPanic.Error", f: (*kernel.TaskPanic).Error, args: list(&kernel.TaskPanic{Value: 1})},
	{name: "kernel.TaskPanic.Unwrap", f: func(p *kernel.TaskPanic) { _ = p.Unwrap() }, args: list(&kernel.TaskPanic{Value: errors.New("x")})},
	{name: "kernel.Tiers", f: kernel.Tiers, args: list()},
	{name: "kernel.TierNamed", f: kernel.TierNamed, args: list("generic")},
	{name: "kernel.Tier.String", f: kernel.Tier.String, args: list(kernel.Tier{})},
	{name: "kernel.Tier.Tuning", f: kernel.Tier.Tuning, args: list(kernel.Tier{})},
	{name: "kernel.Tier.Tuned", f: kernel.Tier.Tuned, args: list(kernel.Tier{}, "SkinnyRows=16")},

	{name: "kvcache.New", f: kvcache.New, args: list(kvcache.Config{Layers: 2, Heads: 2, HeadSize: 4, ValueSize: 6, PageSize: 3, Pages: 6, Window: 4})},
	{name: "kvcache.New", f: kvcache.New, args: list(kvcache.Config{Layers: 1, Heads: 2, HeadSize: 4, KeyType: kernel.Int8, ValueType: kernel.Int8, Group: 2, PageSize: 3, Pages: 6, Layout: kvcache.LayoutNHD})},
	{name: "kvcache.NewOf", f: kvcache.NewOf, args: list([]kvcache.Config{{Layers: 2, Heads: 2, HeadSize: 4, PageSize: 3, Pages: 6}, {Layers: 1, Heads: 1, HeadSize: 8, PageSize: 3, Pages: 6}})},
	{name: "kvcache.NewLayouts", f: kvcache.NewLayouts, args: list([][]kvcache.Config{{{Layers: 2, Heads: 2, HeadSize: 4, PageSize: 3, Pages: 6}}, {{Layers: 1, Heads: 1, HeadSize: 8, PageSize: 3, Pages: 6}}})},
	{name: "kvcache.LayoutsPageBytes", f: kvcache.LayoutsPageBytes, args: list([][]kvcache.Config{{{Heads: 2, HeadSize: 4, PageSize: 3}}, {{Heads: 1, HeadSize: 8, PageSize: 3}}})},
	{name: "kvcache.Config.PageBytes", f: kvcache.Config.PageBytes, args: list(kvcache.Config{Layers: 2, Heads: 2, HeadSize: 4, ValueSize: 6, PageSize: 3, Pages: 6, Window: 4})},
	{name: "kvcache.NewWithMemory", f: kvcache.NewWithMemory, args: func(w *world) []any {
		return []any{[]kernel.Tensor{w.tensor(6, 2, 3, 4), w.tensor(6, 1, 3, 4)}, []kernel.Tensor{w.tensor(6, 2, 3, 2), w.tensor(6, 1, 3, 5)}, 4}
	}},
	{name: "kvcache.Cache.FreePages", f: (*kvcache.Cache).FreePages, args: aCache()},
	{name: "kvcache.Cache.PageSize", f: (*kvcache.Cache).PageSize, args: aCache()},
	{name: "kvcache.Cache.NewSequence", f: (*kvcache.Cache).NewSequence, args: aCache()},
	{name: "kvcache.Cache.Memory", f: (*kvcache.Cache).Memory, args: aCache(1)},
	{name: "kvcache.Cache.NewBatch", f: (*kvcache.Cache).NewBatch, args: func(w *world) []any {
		c := w.cache(1, false)
		return []any{c, []*kvcache.Sequence{c.NewSequence(), c.NewSequence()}}
	}},
	{name: "kvcache.Batch.Set", f: (*kvcache.Batch).Set, args: func(w *world) []any {
		c := w.cache(1, false)
		return []any{must(c.NewBatch()), []*kvcache.Sequence{c.NewSequence(), c.NewSequence()}}
	}},
	{name: "kvcache.Batch.Extend", f: (*kvcache.Batch).Extend, args: func(w *world) []any { return []any{w.batch(1, false), []int{2, 3}} }},
	{name: "kvcache.Batch.Extend", f: (*kvcache.Batch).Extend, args: func(w *world) []any { return []any{w.batch(1, true), []int{1}} }},
	{name: "kvcache.Batch.Store", f: (*kvcache.Batch).Store, args: func(w *world) []any {
		return []any{w.batch(2, false), 1, w.tensor(2, 2, 2, 4), w.tensor(2, 2, 2, 2)}
	}},
	{name: "kvcache.Batch.Store", f: (*kvcache.Batch).Store, writes: true, args: func(w *world) []any {
		return []any{w.batch(2, true), 1, w.tensor(2, 2, 2, 4), w.tensor(2, 2, 2, 4)}
	}},
	{name: "kvcache.Batch.Append", f: (*kvcache.Batch).Append, args: func(w *world) []any {
		return []any{w.batch(1, false), w.tensor(2, 2, 2, 4), w.tensor(2, 2, 2, 2)}
	}},
	{name: "kvcache.Batch.View", f: (*kvcache.Batch).View, args: aBatch(1)},
	{name: "kvcache.Batch.Scoring", f: (*kvcache.Batch).Scoring, args: aBatch()},
	{name: "kvcache.Batch.TreePositions", f: (*kvcache.Batch).TreePositions, args: aBatch([]int32{-1, 0})},
	{name: "kvcache.Batch.Positions", f: (*kvcache.Batch).Positions, args: aBatch()},
	{name: "kvcache.Sequence.DropBefore", f: (*kvcache.Sequence).DropBefore, args: aSequence(4)},
	{name: "kvcache.Sequence.DropBetween", f: (*kvcache.Sequence).DropBetween, args: func(w *world) []any {
		c := must(kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 2, Pages: 8}))
		s := c.NewSequence()
		must(0, must(c.NewBatch(s)).Extend(9))
		must(0, must(c.NewBatch(s)).Extend(1))
		return []any{s, 1, 6}
	}},
	{name: "kvcache.Sequence.Fork", f: (*kvcache.Sequence).Fork, args: aSequence(5)},
	{name: "kvcache.Sequence.Keep", f: (*kvcache.Sequence).Keep, args: func(w *world) []any {
		c := w.cache(1, false)
		s := c.NewSequence()
		must(0, must(c.NewBatch(s)).Extend(5))
		return []any{s, []int{0, 2}}
	}},
	{name: "kvcache.Sequence.Truncate", f: (*kvcache.Sequence).Truncate, args: aSequence(5)},
	{name: "kvcache.Sequence.Save", f: (*kvcache.Sequence).Save, args: aSequence([]byte{1}, 4, 1)},
	{name: "kvcache.Sequence.Load", f: (*kvcache.Sequence).Load, args: func(w *world) []any {
		c := w.cache(1, false)
		s := c.NewSequence()
		must(0, must(c.NewBatch(s)).Extend(5))
		return []any{s, must(s.Save(nil, 0, 5))}
	}},
	{name: "kvcache.Sequence.Free", f: (*kvcache.Sequence).Free, args: aSequence()},
	{name: "kvcache.Sequence.Len", f: (*kvcache.Sequence).Len, args: aSequence()},
	{name: "kvcache.Sequence.Pages", f: (*kvcache.Sequence).Pages, args: aSequence()},
	{name: "kvcache.Sequence.Start", f: (*kvcache.Sequence).Start, args: aSequence()},
	{name: "kvcache.CapacityError.Error", f: (*kvcache.CapacityError).Error, args: list(&kvcache.CapacityError{Where: "kvcache.Batch.Extend", Need: 2})},

	{name: "kernel.Alloc", f: kernel.Alloc[float32], args: list(7)},
	{name: "kernel.Alloc", f: kernel.Alloc[int8], args: list(7)},
	{name: "kernel.FromBits", f: kernel.FromBits[kernel.F16], args: list(make([]uint16, 5))},
	{name: "kernel.FromBytes", f: kernel.FromBytes[float32], args: list(make([]byte, 8))},
	{name: "linear.New", f: linear.New, args: func(w *world) []any {
		return []any{linear.DenseMatrix(w.floats(15), 5, 3), w.floats(5), someExec}
	}},
	{name: "linear.QuantizeInt8", f: linear.QuantizeInt8, args: func(w *world) []any {
		return []any{linear.DenseMatrix(w.floats(160), 5, 32), w.floats(5), someExec}
	}},
	{name: "linear.RoundBFloat16", f: linear.RoundBFloat16, args: func(w *world) []any {
		return []any{linear.DenseMatrix(w.floats(160), 5, 32), w.floats(5), someExec}
	}},
	{name: "linear.Product", f: linear.Product, args: func(w *world) []any {
		return []any{linear.DenseMatrix(w.floats(20), 4, 5), linear.DenseMatrix(w.floats(12), 4, 3), linear.DenseMatrix(w.floats(15), 5, 3), linear.ProductOptions{Accumulate: true, Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "linear.Backward", f: linear.Backward, args: func(w *world) []any {
		g := linear.Gradients{X: linear.DenseMatrix(w.floats(12), 4, 3), W: linear.DenseMatrix(w.floats(15), 5, 3), Bias: w.floats(5)}
		return []any{g, linear.DenseMatrix(w.floats(20), 4, 5), linear.DenseMatrix(w.floats(12), 4, 3), linear.DenseMatrix(w.floats(15), 5, 3), linear.ProductOptions{}}
	}},
	{name: "linear.AddRows", f: linear.AddRows, args: func(w *world) []any {
		return []any{linear.DenseMatrix(w.floats(15), 5, 3), linear.DenseMatrix(w.floats(12), 4, 3), []int32{0, 4, 2, 4}, someExec}
	}},
	{name: "linear.FromBlocks", f: linear.FromBlocks, args: func(w *world) []any {
		return []any{linear.Q4_1, make([]byte, 5*2*20), 5, 64, w.floats(5), someExec}
	}},
	{name: "linear.FromNVFP4", f: linear.FromNVFP4, args: func(w *world) []any {
		return []any{make([]byte, 5*36), w.floats(5), 5, 64, w.floats(5), someExec}
	}},
	{name: "linear.FromAffine", f: linear.FromAffine, args: func(w *world) []any {
		x := linear.AffineWeights{N: 8, K: 48, Bits: 4, GroupSize: 32, Packing: linear.ByteRows, Codes: make([]byte, 8*32),
			Scales: linear.DenseMatrix(w.floats(16), 8, 2), ZeroCodes: make([]byte, 8), ZeroOffset: 1}
		return []any{&x, w.floats(8), someExec}
	}},
	{name: "linear.FromAffine", f: linear.FromAffine, args: func(w *world) []any {
		x := linear.AffineWeights{N: 8, K: 32, Bits: 4, GroupSize: 16, Packing: linear.AWQ, Codes: make([]byte, 128),
			Scales: linear.DenseMatrix(w.floats(16), 8, 2), Zeros: linear.DenseMatrix(w.floats(16), 8, 2), GroupOf: make([]int32, 32)}
		return []any{&x, w.floats(8), someExec}
	}},
	{name: "linear.NVFP4Blocks", f: linear.NVFP4Blocks, args: list(make([]byte, 64), make([]byte, 8))},
	{name: "linear.FromPacked", f: linear.FromPacked, args: func(w *world) []any {
		var b bytes.Buffer
		must(w.linear(5, 3).WriteTo(&b))
		return []any{b.Bytes()}
	}},
	{name: "linear.Linear.WriteTo", f: (*linear.Linear).WriteTo, args: func(w *world) []any { return []any{w.linear(5, 3), io.Discard} }},
	{name: "linear.Linear.PackedSize", f: (*linear.Linear).PackedSize, args: func(w *world) []any { return []any{w.linear(5, 3)} }},
	{name: "linear.Activation.String", f: linear.Activation.String, args: list(linear.GELU)},
	{name: "linear.Format.String", f: linear.Format.String, args: list(linear.Q8_0)},
	{name: "linear.Format.Block", f: linear.Format.Block, args: list(linear.Q8_0)},
	{name: "linear.Format.PackedSize", f: linear.Format.PackedSize, args: list(linear.Q8_0, 5, 64)},
	{name: "linear.Format.Widen", f: linear.Format.Widen, args: list(linear.Q4_1, make([]float32, 64), make([]byte, 40))},
	{name: "linear.Linear.Format", f: (*linear.Linear).Format, args: func(w *world) []any { return []any{w.linear(5, 3)} }},
	{name: "linear.Linear.Rows", f: (*linear.Linear).Rows, args: func(w *world) []any {
		return []any{w.linear(5, 3), linear.DenseMatrix(w.floats(12), 4, 3), []int32{0, 4, 2, 4}, someExec}
	}},
	{name: "linear.DenseMatrix", f: linear.DenseMatrix[float32], args: list(make([]float32, 15), 5, 3)},
	{name: "linear.DenseMatrix", f: linear.DenseMatrix[kernel.F16], args: list(make([]kernel.F16, 15), 5, 3)},
	{name: "linear.StridedMatrix", f: linear.StridedMatrix[float32], args: list(make([]float32, 15), 5, 3, 3, 1)},
	{name: "linear.Linear.Apply", f: (*linear.Linear).Apply, args: func(w *world) []any {
		out, x := linear.DenseMatrix(w.floats(20), 4, 5), linear.DenseMatrix(w.floats(12), 4, 3)
		return []any{w.linear(5, 3), out, x, linear.Options{Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "linear.Chain", f: linear.Chain, args: func(w *world) []any {
		out, x := linear.DenseMatrix(w.floats(28), 4, 7), linear.DenseMatrix(w.floats(12), 4, 3)
		return []any{out, x, w.linear(5, 3), w.linear(7, 5), linear.Options{Activation: linear.GELU, Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "linear.Linear.Project", f: (*linear.Linear).Project, args: func(w *world) []any {
		return []any{w.linear(5, 3), w.tensor(2, 2, 3, 5), w.tensor(2, 2, 3, 3), linear.Options{}}
	}},
	{name: "linear.Linear.Shape", f: (*linear.Linear).Shape, args: func(w *world) []any { return []any{w.linear(5, 3)} }},
	{name: "linear.Linear.DType", f: (*linear.Linear).DType, args: func(w *world) []any { return []any{w.linear(5, 3)} }},
	{name: "linear.Matrix.DType", f: linear.Matrix.DType, args: aMatrix},
	{name: "linear.Matrix.Shape", f: linear.Matrix.Shape, args: aMatrix},
	{name: "linear.Matrix.Strides", f: linear.Matrix.Strides, args: aMatrix},
	{name: "linear.Matrix.String", f: linear.Matrix.String, args: aMatrix},
	{name: "linear.Matrix.T", f: linear.Matrix.T, args: aMatrix},

	{name: "rope.New", f: rope.New, args: list(rope.Config{Dims: 4, Base: 100, Scaling: 2, Positions: 3, Frequencies: []float64{1, 2}})},
	{name: "rope.New", f: rope.New, args: list(rope.Config{Dims: 8, Pairing: rope.Interleaved, Magnitude: 1.5, Sections: []int{2, 1, 1}, InterleavedSections: true})},
	{name: "rope.Rope.Apply", f: (*rope.Rope).Apply, args: func(w *world) []any {
		return []any{w.rope(), w.tensor(2, 2, 3, 5), []int{0, 1, 100, 4, -7, math.MaxInt}, someExec}
	}},
	{name: "rope.Rope.CosSin", f: (*rope.Rope).CosSin, args: func(w *world) []any { return []any{w.rope(), 3, w.floats(2), w.floats(2)} }},
	{name: "rope.Rope.Dims", f: (*rope.Rope).Dims, args: func(w *world) []any { return []any{w.rope()} }},

	{name: "recurrent.Layer.StateSize", f: recurrent.Layer.StateSize, args: list(recurrent.Layer{Heads: 2, KeyHeads: 1, KeySize: 6, ValueSize: 5}, 3)},
	{name: "recurrent.Layer.Apply", f: recurrent.Layer.Apply, args: func(w *world) []any {
		d := recurrent.Layer{Heads: 2, KeyHeads: 1, KeySize: 6, ValueSize: 5}
		x := recurrent.Text{Q: w.tensor(1, 1, 3, 6), K: w.tensor(1, 1, 3, 6), V: w.tensor(1, 2, 3, 5), Decay: w.floats(6), Gate: w.floats(6), Position: 64, Before: w.floats(d.StateSize(64)), After: w.floats(d.StateSize(67))}
		return []any{d, w.tensor(1, 2, 3, 5), x, someExec}
	}},

	{name: "retrieval.MaxSim", f: retrieval.MaxSim, args: func(w *world) []any {
		return []any{w.floats(2), w.tensor(1, 1, 3, 5), w.tensor(2, 1, 4, 5), someExec}
	}},

	{name: "norm.RMSNorm", f: norm.RMSNorm, args: func(w *world) []any {
		return []any{w.tensor(2, 2, 3, 5), w.tensor(2, 2, 3, 5), w.floats(5), float32(1e-5), norm.Options{Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "norm.LayerNorm", f: norm.LayerNorm, args: func(w *world) []any {
		return []any{w.tensor(2, 2, 3, 5), w.tensor(2, 2, 3, 5), w.floats(5), w.floats(5), float32(1e-5), norm.Options{Residual: w.tensor(2, 2, 3, 5), Sum: w.tensor(2, 2, 3, 5)}}
	}},
	{name: "norm.RMSNormBackward", f: norm.RMSNormBackward, args: func(w *world) []any {
		g := norm.Gradients{X: w.tensor(2, 2, 3, 5), Weight: w.floats(5)}
		return []any{g, w.tensor(2, 2, 3, 5), w.tensor(2, 2, 3, 5), w.floats(5), float32(1e-5), norm.BackwardOptions{Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder}}}
	}},
	{name: "norm.LayerNormBackward", f: norm.LayerNormBackward, args: func(w *world) []any {
		g := norm.Gradients{X: w.tensor(2, 2, 3, 5), Weight: w.floats(5), Bias: w.floats(5)}
		return []any{g, w.tensor(2, 2, 3, 5), w.tensor(2, 2, 3, 5), w.floats(5), float32(1e-5), norm.BackwardOptions{Direct: w.tensor(2, 2, 3, 5), Accumulate: true}}
	}},

	{name: "activation.SiLU", f: activation.SiLU, args: twoSlices},
	{name: "activation.GELU", f: activation.GELU, args: twoSlices},
	{name: "activation.GELUTanh", f: activation.GELUTanh, args: twoSlices},
	{name: "activation.SwiGLU", f: activation.SwiGLU, args: threeSlices},
	{name: "activation.GeGLU", f: activation.GeGLU, args: threeSlices},
	{name: "activation.GeGLUTanh", f: activation.GeGLUTanh, args: threeSlices},
	{name: "activation.SiLUBackward", f: activation.SiLUBackward, args: threeSlices},
	{name: "activation.GELUBackward", f: activation.GELUBackward, args: threeSlices},
	{name: "activation.GELUTanhBackward", f: activation.GELUTanhBackward, args: threeSlices},
	{name: "activation.SwiGLUBackward", f: activation.SwiGLUBackward, args: fiveSlices},
	{name: "activation.GeGLUBackward", f: activation.GeGLUBackward, args: fiveSlices},
	{name: "activation.GeGLUTanhBackward", f: activation.GeGLUTanhBackward, args: fiveSlices},
	{name: "activation.TanhBackward", f: activation.TanhBackward, args: threeSlices},
	{name: "activation.SigmoidBackward", f: activation.SigmoidBackward, args: threeSlices},
	{name: "activation.GRU", f: activation.GRU, args: func(w *world) []any {
		return []any{w.floats(6), w.floats(18), w.floats(18), w.floats(18), 3, someExec}
	}},
	{name: "activation.GRUBackward", f: activation.GRUBackward, args: func(w *world) []any {
		return []any{w.floats(6), w.floats(18), w.floats(18), w.floats(18), w.floats(18), w.floats(6), 3, someExec}
	}},
	{name: "loss.CrossEntropy", f: loss.CrossEntropy, args: func(w *world) []any {
		return []any{w.floats(12), w.floats(12), 4, []int32{0, loss.IgnoreIndex, 3}, kernel.Exec{Threads: 2, ParallelFor: inOrder}}
	}},
	{name: "optimize.AdamW.Step", f: optimize.AdamW.Step, args: func(w *world) []any {
		a := optimize.AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8, WeightDecay: 0.1}
		return []any{a, w.floats(7), w.floats(7), w.floats(7), w.floats(7), 3, kernel.Exec{Threads: 2, ParallelFor: inOrder}}
	}},
	{name: "optimize.ClipNorm", f: optimize.ClipNorm, args: func(w *world) []any {
		return []any{float32(1), [][]float32{w.floats(7), w.floats(5)}, someExec}
	}},
	{name: "numeric.Exp2", f: numeric.Exp2, args: list(float32(1))},
	{name: "numeric.Log2", f: numeric.Log2, args: list(float32(1))},
	{name: "numeric.Tanh", f: numeric.Tanh, args: list(float32(1))},
	{name: "numeric.FMA", f: numeric.FMA, args: list(float32(1), float32(2), float32(3))},
	{name: "numeric.ToF16", f: numeric.ToF16, args: list(float32(1))},
	{name: "numeric.ToF8E4M3", f: numeric.ToF8E4M3, args: list(float32(1))},
	{name: "numeric.ToF8E5M2", f: numeric.ToF8E5M2, args: list(float32(1))},
	{name: "numeric.ToBF16", f: numeric.ToBF16, args: list(float32(1))},
	{name: "numeric.Exp2Slice", f: numeric.Exp2Slice, args: twoSlices},
	{name: "numeric.TanhSlice", f: numeric.TanhSlice, args: twoSlices},
	{name: "numeric.AddSlice", f: numeric.AddSlice, args: threeSlices},
	{name: "numeric.Hadamard", f: numeric.Hadamard, args: list(make([]float32, 64), 16, someExec)},
	{name: "numeric.Argmax", f: numeric.Argmax, args: func(w *world) []any { return []any{w.floats(7)} }},
	{name: "numeric.TopK", f: numeric.TopK, args: func(w *world) []any { return []any{make([]int, 3), w.floats(7)} }},
	{name: "numeric.QuantizeInt4", f: numeric.QuantizeInt4, args: func(w *world) []any { return []any{make([]kernel.Int4x2, 6), w.floats(3), w.floats(12), 4, someExec} }},
	{name: "numeric.QuantizeInt8", f: numeric.QuantizeInt8, args: func(w *world) []any { return []any{make([]int8, 12), w.floats(3), w.floats(12), 4, someExec} }},

	{name: "layer.HiddenMask", f: layer.HiddenMask[bool], args: list(make([]bool, 168), shape4())},
	{name: "layer.HiddenMask", f: layer.HiddenMask[float32], args: list(make([]float32, 168), shape4())},
	{name: "layer.PaddingMask", f: layer.PaddingMask[int], args: list(make([]int, 14), 2)},
	{name: "layer.PaddingTokenMask", f: layer.PaddingTokenMask[float64], args: list(make([]float64, 14), 2, 0.0)},
	{name: "layer.Scores", f: layer.Scores, args: func(w *world) []any {
		_, q, k, _ := w.attention()
		return []any{w.tensor(2, 4, 3, 7), q, k, layer.Similarity(layer.ScaledDot{}), w.scoreOptions()}
	}},
	{name: "layer.Softmax", f: layer.Softmax, args: func(w *world) []any { return []any{w.floats(12), w.floats(12), 4, []int{4, 2, 0}, someExec} }},
	{name: "layer.SoftmaxBackward", f: layer.SoftmaxBackward, args: func(w *world) []any { return []any{w.floats(12), w.floats(12), w.floats(12), 4, someExec} }},
	{name: "layer.WeightedSum", f: layer.WeightedSum, args: func(w *world) []any {
		return []any{w.tensor(2, 4, 3, 5), w.tensor(2, 4, 3, 7), w.tensor(2, 2, 7, 5), someExec}
	}},
	{name: "layer.WeightedSumBackward", f: layer.WeightedSumBackward, args: func(w *world) []any {
		g := layer.WeightedSumGradients{Weights: w.tensor(2, 4, 3, 7), V: w.tensor(2, 2, 7, 5)}
		return []any{g, w.tensor(2, 4, 3, 5), w.tensor(2, 4, 3, 7), w.tensor(2, 2, 7, 5), someExec}
	}},
	{name: "layer.Dot.Attend", f: layer.Dot.Attend, args: similar(func(*world) any { return layer.Dot{} }, noOptions)},
	{name: "layer.ScaledDot.Attend", f: layer.ScaledDot.Attend, args: similar(func(*world) any { return layer.ScaledDot{} }, noOptions)},
	{name: "layer.Cosine.Attend", f: layer.Cosine.Attend, args: similar(func(*world) any { return layer.Cosine{} }, (*world).options)},
	{name: "layer.Func.Attend", f: layer.Func.Attend, args: similar(func(*world) any { return layer.Func(product) }, (*world).options)},
	{name: "layer.NewGeneral", f: layer.NewGeneral, args: func(w *world) []any { return []any{linear.DenseMatrix(w.floats(36), 6, 6), someExec} }},
	{name: "layer.General.Attend", f: layer.General.Attend, args: similar(func(w *world) any { return layer.General{Query: w.linear(6, 6)} }, (*world).options)},
	{name: "layer.Additive.Attend", f: layer.Additive.Attend, args: similar(func(w *world) any {
		return layer.Additive{Query: w.linear(8, 6), Key: w.linear(8, 6), V: w.floats(8)}
	}, (*world).options)},
	{name: "layer.Additive.Attend", f: layer.Additive.Attend, args: similar(func(w *world) any { return layer.Additive{V: w.floats(6)} }, noOptions)},
	{name: "layer.MultiHead.Attend", f: (*layer.MultiHead).Attend, args: multiHead(true, twoHeads)},
	{name: "layer.MultiHead.Attend", f: (*layer.MultiHead).Attend, args: multiHead(false, noOptions)},
	{name: "layer.MultiHead.Forward", f: (*layer.MultiHead).Forward, writes: true, args: func(w *world) []any {
		a := multiHead(true, twoHeads)(w)
		return []any{a[0], a[1], trace(w), a[2], a[3], a[4], contracttest.BackwardOptions(a[5].(kernel.Options))}
	}},
	{name: "layer.MultiHead.Backward", f: (*layer.MultiHead).Backward, args: multiHeadBackward(true)},
	{name: "layer.MultiHead.Backward", f: (*layer.MultiHead).Backward, args: multiHeadBackward(false)},
	{name: "layer.Dot.Backward", f: layer.Dot.Backward, args: similarBackward(layer.Dot{})},
	{name: "layer.ScaledDot.Backward", f: layer.ScaledDot.Backward, args: similarBackward(layer.ScaledDot{})},
	{name: "layer.Cosine.Backward", f: layer.Cosine.Backward, args: similarBackward(layer.Cosine{})},
	{name: "layer.General.Backward", f: layer.General.Backward, args: func(w *world) []any {
		a := similarBackward(layer.General{Query: w.linear(6, 6)})(w)
		g := layer.GeneralGradients{Gradients: a[1].(kernel.Gradients), W: w.floats(36)}
		return append([]any{a[0], g}, append(a[2:7:7], w.floats(36), a[7])...)
	}},
	{name: "layer.Additive.Backward", f: layer.Additive.Backward, args: func(w *world) []any {
		parameters := func() layer.Parameters { return layer.Parameters{Weight: w.floats(48), Bias: w.floats(8)} }
		g := layer.AdditiveGradients{Q: w.tensor(2, 4, 3, 6), K: w.tensor(2, 2, 7, 6), V: w.tensor(2, 2, 7, 5), Query: parameters(), Key: parameters(), Scoring: w.floats(8)}
		a := layer.Additive{Query: w.linear(8, 6), Key: w.linear(8, 6), V: w.floats(8)}
		dout, q, k, v := w.attention()
		return []any{a, g, dout, q, k, v, w.tensor(2, 4, 3, 7), layer.AdditiveWeights{Query: w.floats(48), Key: w.floats(48)}, kernel.AdditiveBackwardOptions{Accumulate: true}}
	}},

	{name: "layer.FromTorch", f: layer.FromTorch, args: func(w *world) []any {
		return []any{4, 2, layer.TorchWeights{InProjWeight: w.floats(48), InProjBias: w.floats(12), OutProjWeight: w.floats(16), OutProjBias: w.floats(4)}, someExec}
	}},
	{name: "layer.FromTorch", f: layer.FromTorch, args: func(w *world) []any {
		return []any{4, 2, layer.TorchWeights{QProjWeight: w.floats(16), KProjWeight: w.floats(8), VProjWeight: w.floats(12), OutProjWeight: w.floats(16)}, someExec}
	}},
}

func aTensor(w *world) []any { return []any{w.tensor(2, 4, 3, 7)} }

// aPagedTensor returns a tensor of int8 in pages.
func aPagedTensor(w *world) kernel.Tensor {
	s := w.tensor(6, 2, 3, 2)
	x := kernel.BHLD(make([]int8, 6*2*3*6), 6, 2, 3, 6).Scaled(&s)
	return x.Paged(&kernel.PageTable{Pages: [][]int32{{0, 5, 2}, {4, 1, 3}}, Lengths: []int{7, 5}})
}

func aMatrix(w *world) []any { return []any{linear.DenseMatrix(w.floats(15), 5, 3)} }

func aCache(args ...any) func(w *world) []any {
	return func(w *world) []any { return append([]any{w.cache(2, false)}, args...) }
}

func aBatch(args ...any) func(w *world) []any {
	return func(w *world) []any { return append([]any{w.batch(2, false)}, args...) }
}

func aSequence(args ...any) func(w *world) []any {
	return func(w *world) []any { return append([]any{w.sequence()}, args...) }
}
