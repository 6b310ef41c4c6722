package gomlx_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx"
	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/support/backendtest"
	"github.com/gomlx/compute/support/testutil"
)

// calls counts the calls of SDPA that it accepted.
var calls atomic.Int64

// count is SDPA and counts.
func count(
	q, k, v, output []float32,
	qOff, kvOff, qSeqStride, kvSeqStride, qGroupStride int,
	additiveMask []float32,
	booleanMask []bool,
	maskGroupStride int,
	additiveBias []float32,
	biasGroupStride int,
	scoresScratch []float32,
	groupSize, seqLen, kvLen, headDim int,
	scale float32, causal bool,
	qLimit, kvLimit int,
) bool {
	accepted := gomlx.SDPA(q, k, v, output, qOff, kvOff, qSeqStride, kvSeqStride, qGroupStride, additiveMask, booleanMask, maskGroupStride,
		additiveBias, biasGroupStride, scoresScratch, groupSize, seqLen, kvLen, headDim, scale, causal, qLimit, kvLimit)
	if accepted {
		calls.Add(1)
	}
	return accepted
}

// install sets the backend's hook until the test ends.
func install(t testing.TB, f hook.SDPA) {
	t.Helper()
	previous := hook.Get()
	hook.Set(f)
	t.Cleanup(func() { hook.Set(previous) })
}

// TestHost runs the backend's own tests of all fused operations with SDPA in its hook. The backend
// skips tests of 16-bit types, for which it has no attention.
func TestHost(t *testing.T) {
	install(t, count)
	before := calls.Load()
	backendtest.TestFusedOps(t, gobackend.GetBackend())
	if calls.Load() == before {
		t.Error("the tests have not called SDPA")
	}
}

// A hostCase is a call of the backend's attention.
type hostCase struct {
	layout                         compute.AttentionAxesLayout
	batch, heads, kvHeads, q, k, d int
	causal                         bool
	scale                          float64
	keep, mask, bias               []int // shapes of the mask of bools or numbers, and of the bias
	qLens, kvLens                  []int32
}

const (
	bhsd = compute.AttentionAxesLayoutBHSD
	bshd = compute.AttentionAxesLayoutBSHD
)

// hostCases have the kinds of calls that the backend's own tests of its attention have, in the
// test suite of all backends and in its internal tests, and larger shapes.
var hostCases = []hostCase{
	{layout: bhsd, batch: 1, heads: 1, kvHeads: 1, q: 2, k: 2, d: 1, causal: true, scale: 1},
	{layout: bshd, batch: 1, heads: 1, kvHeads: 1, q: 2, k: 2, d: 32, causal: true, scale: 1},
	{layout: bhsd, batch: 1, heads: 1, kvHeads: 1, q: 2, k: 2, d: 64},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 4, q: 33, k: 33, d: 32},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 4, q: 33, k: 33, d: 16, causal: true},
	{layout: bhsd, batch: 2, heads: 6, kvHeads: 2, q: 17, k: 40, d: 64},
	{layout: bshd, batch: 2, heads: 6, kvHeads: 2, q: 17, k: 40, d: 24, scale: 0.5},
	{layout: bshd, batch: 1, heads: 4, kvHeads: 1, q: 300, k: 300, d: 64, causal: true},
	{layout: bhsd, batch: 1, heads: 8, kvHeads: 2, q: 1, k: 500, d: 128},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, keep: []int{5, 9}},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, keep: []int{2, 5, 9}},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, keep: []int{2, 4, 5, 9}},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, keep: []int{2, 5, 1, 9}},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, mask: []int{5, 9}},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, mask: []int{2, 5, 4, 9}},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 9, k: 9, d: 8, causal: true, bias: []int{1, 4, 9, 9}},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 2, q: 9, k: 9, d: 8, bias: []int{2, 9, 4, 9}, keep: []int{9, 9}},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 5, k: 9, d: 8, bias: []int{2, 1, 5, 9}, mask: []int{1, 4, 5, 9}},
	{layout: bhsd, batch: 2, heads: 4, kvHeads: 2, q: 9, k: 9, d: 8, qLens: []int32{9, 4}, kvLens: []int32{7, 9}},
	{layout: bshd, batch: 2, heads: 4, kvHeads: 2, q: 9, k: 9, d: 8, causal: true, qLens: []int32{2, 9}, kvLens: []int32{9, 1}},
	{layout: bshd, batch: 2, heads: 2, kvHeads: 2, q: 3, k: 3, d: 8, qLens: []int32{-5, 999}, kvLens: []int32{999, -5}},
}

// TestSame: with SDPA the backend computes what it does without, in plain Go, within the
// tolerance of its own tests, 1e-6 on outputs of at most 1. No call falls back.
func TestSame(t *testing.T) {
	for _, c := range hostCases {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			install(t, nil)
			want := c.run(t)
			hook.Set(count)
			before := calls.Load()
			got := c.run(t)
			if n := calls.Load() - before; n != int64(c.batch*c.kvHeads) {
				t.Errorf("%d calls of SDPA, want %d", n, c.batch*c.kvHeads)
			}
			if same, diff := testutil.IsInDelta(want, got, 1e-6); !same {
				t.Error(diff)
			}
		})
	}
}

// run computes the case on the backend.
func (c hostCase) run(t *testing.T) any {
	t.Helper()
	inputs := []any{
		nest(numbers(1, c.batch*c.heads*c.q*c.d), c.shape(c.heads, c.q)...),
		nest(numbers(2, c.batch*c.kvHeads*c.k*c.d), c.shape(c.kvHeads, c.k)...),
		nest(numbers(3, c.batch*c.kvHeads*c.k*c.d), c.shape(c.kvHeads, c.k)...),
	}
	input := func(x any) func(params []compute.Value) compute.Value {
		inputs = append(inputs, x)
		i := len(inputs) - 1
		return func(params []compute.Value) compute.Value { return params[i] }
	}
	none := func([]compute.Value) compute.Value { return nil }
	mask, bias, qLens, kvLens := none, none, none, none
	if c.keep != nil {
		keep := make([]bool, size(c.keep))
		for i := range keep {
			keep[i] = i%3 != 1
		}
		mask = input(nest(keep, c.keep...))
	}
	if c.mask != nil {
		mask = input(nest(numbers(4, size(c.mask)), c.mask...))
	}
	if c.bias != nil {
		bias = input(nest(numbers(5, size(c.bias)), c.bias...))
	}
	if c.qLens != nil {
		qLens, kvLens = input(c.qLens), input(c.kvLens)
	}
	out, err := testutil.Exec1(gobackend.GetBackend(), inputs, func(f compute.Function, params []compute.Value) (compute.Value, error) {
		config := &compute.ScaledDotProductAttentionConfig{Scale: c.scale, Causal: c.causal, Mask: mask(params), Bias: bias(params),
			QuerySeqLen: qLens(params), KeyValueSeqLen: kvLens(params)}
		out, _, err := f.FusedScaledDotProductAttention(params[0], params[1], params[2], c.layout, config)
		return out, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shape returns the shape of a tensor of some heads and tokens.
func (c hostCase) shape(heads, tokens int) []int {
	if c.layout == bshd {
		return []int{c.batch, tokens, heads, c.d}
	}
	return []int{c.batch, heads, tokens, c.d}
}

// size returns the number of elements of a shape.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// nest returns flat as the slices of slices that the backend's package testutil takes.
func nest[E any](flat []E, shape ...int) any {
	if len(shape) == 1 {
		return flat
	}
	var rows reflect.Value
	for part := range slices.Chunk(flat, size(shape[1:])) {
		row := reflect.ValueOf(nest(part, shape[1:]...))
		if !rows.IsValid() {
			rows = reflect.MakeSlice(reflect.SliceOf(row.Type()), 0, shape[0])
		}
		rows = reflect.Append(rows, row)
	}
	return rows.Interface()
}
