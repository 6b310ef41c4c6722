package layer

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// newLinear returns a linear layer with random weights and a bias.
func newLinear(t testing.TB, seed uint64, outputs, inputs int) *linear.Linear {
	w := normals(seed, outputs*inputs)
	for i := range w {
		w[i] /= float32(math.Sqrt(float64(inputs)))
	}
	l, err := linear.New(linear.DenseMatrix(w, outputs, inputs), normals(seed+1, outputs), kernel.Exec{})
	must(t, err)
	return l
}

// identity returns a linear layer for n numbers that changes nothing.
func identity(t *testing.T, n int) *linear.Linear {
	w := make([]float32, n*n)
	for i := range n {
		w[i*n+i] = 1
	}
	l, err := linear.New(linear.DenseMatrix(w, n, n), nil, kernel.Exec{})
	must(t, err)
	return l
}

// With one head, and with projections that are nil or change nothing, the result has
// the bits of kernel.Attention.
func TestMultiHeadIdentity(t *testing.T) {
	const b, lq, lk, d = 2, 7, 300, 24
	q, k, v := normalTensor(1, b, 1, lq, d), normalTensor(2, b, 1, lk, d), normalTensor(3, b, 1, lk, d)
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(100)}}
	want, out := newTensor(b, 1, lq, d), newTensor(b, 1, lq, d)
	must(t, kernel.Attention(want, q, k, v, &opts))
	i := identity(t, d)
	for name, m := range map[string]*MultiHead{
		"identity": {Heads: 1, Q: i, K: i, V: i, O: i},
		"none":     {Heads: 1},
		"some":     {Heads: 1, V: i},
	} {
		must(t, m.Attend(out, q, k, v, &opts))
		equal(t, name, &out, &want)
	}
}

// The result has the bits of the definition: projections, attention of the heads,
// projection. All widths and head sizes differ, heads share keys, and every tier runs.
func TestMultiHeadByDefinition(t *testing.T) {
	const b, lq, lk, heads, kvHeads, d, dv = 2, 5, 270, 6, 2, 7, 9
	const widthQ, widthK, widthV, widthO = 10, 13, 15, 25
	m := &MultiHead{Heads: heads, KVHeads: kvHeads,
		Q: newLinear(t, 1, heads*d, widthQ), K: newLinear(t, 2, kvHeads*d, widthK), V: newLinear(t, 3, kvHeads*dv, widthV), O: newLinear(t, 4, widthO, heads*dv)}
	query, key, value := normalTensor(5, b, 1, lq, widthQ), normalTensor(6, b, 1, lk, widthK), normalTensor(7, b, 1, lk, widthV)
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{270, 100}), Softcap: 4}}
	for _, similarity := range []Similarity{nil, Cosine{}, Func(distanceOf)} {
		m.Similarity = similarity

		projected := func(l *linear.Linear, x kernel.Tensor, n int) kernel.Tensor {
			outputs, _ := l.Shape()
			y := newTensor(b, 1, x.Shape()[2], outputs)
			must(t, l.Project(y, x, linear.Options{}))
			return splitHeads(&y, n)
		}
		q, k, v := projected(m.Q, query, heads), projected(m.K, key, kvHeads), projected(m.V, value, kvHeads)
		merged, want, wantWeights := newTensor(b, 1, lq, heads*dv), newTensor(b, 1, lq, widthO), newTensor(b, heads, lq, lk)
		plain := opts
		plain.Weights = wantWeights
		attend := kernel.Attention
		if similarity != nil {
			attend = similarity.Attend
		}
		must(t, attend(splitHeads(&merged, heads), q, k, v, &plain))
		must(t, m.O.Project(want, merged, linear.Options{}))

		eachTier(t, func(t *testing.T, tier kernel.Tier) {
			out, weights := newTensor(b, 1, lq, widthO), newTensor(b, heads, lq, lk)
			o := opts
			o.Tier, o.Weights = tier, weights
			must(t, m.Attend(out, query, key, value, &o))
			equal(t, "out", &out, &want)
			equal(t, "weights", &weights, &wantWeights)
		})
	}
}

// In self-attention a token's row has the same bits whether all tokens are computed at
// once, in a batch, or one at a time.
func TestMultiHeadTokenByToken(t *testing.T) {
	const b, l, width = 3, 12, 16
	m := &MultiHead{Heads: 4, Q: newLinear(t, 1, width, width), K: newLinear(t, 2, width, width), V: newLinear(t, 3, width, width), O: newLinear(t, 4, width, width)}
	data := normals(5, b*l*width)
	x, want := kernel.BLHD(data, b, l, 1, width), newTensor(b, 1, l, width)
	must(t, m.Attend(want, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}))
	for r := range b {
		for i := range l {
			past := kernel.BLHD(data[r*l*width:], 1, i+1, 1, width)
			query := kernel.BLHD(data[(r*l+i)*width:], 1, 1, 1, width)
			out := newTensor(1, 1, 1, width)
			must(t, m.Attend(out, query, past, past, &kernel.Options{Exec: kernel.Exec{Threads: 2}}))
			if got := row(&out, 0, 0, 0); !slices.Equal(got, row(&want, r, 0, i)) {
				t.Fatalf("token %d of batch row %d by itself is %v, want %v", i, r, got, row(&want, r, 0, i))
			}
		}
	}
}

// Ragged batches: every sequence has the bits that it has alone, in self-attention and over keys
// of other lengths, with and without projections. Rows of no sequence stay.
func TestMultiHeadRagged(t *testing.T) {
	const rows, width, heads = 14, 16, 4
	starts, keyStarts := []int{1, 4, 4, 9, 13}, []int{0, 5, 7, 10, 14}
	all := MultiHead{Heads: heads, KVHeads: 2, Q: newLinear(t, 1, width, width), K: newLinear(t, 2, width/2, width), V: newLinear(t, 3, width/2, width), O: newLinear(t, 4, width, width)}
	for name, c := range map[string]struct {
		m         MultiHead
		keyStarts []int
		mask      kernel.Mask
	}{
		"self":           {all, starts, kernel.Mask{}},
		"causal":         {all, starts, kernel.Causal(0)},
		"cross":          {all, keyStarts, kernel.Mask{}},
		"no projections": {MultiHead{Heads: heads}, keyStarts, kernel.Mask{}},
	} {
		x, keys := normals(5, rows*width), normals(6, rows*width)
		ragged := func(data []float32, starts []int) kernel.Tensor {
			return kernel.BLHD(data, 1, rows, 1, width).Ragged(starts)
		}
		got := slices.Repeat([]float32{7}, rows*width)
		key := ragged(keys, c.keyStarts)
		must(t, c.m.Attend(ragged(got, starts), ragged(x, starts), key, key, &kernel.Options{Scoring: kernel.Scoring{Mask: c.mask}}))
		want := slices.Repeat([]float32{7}, rows*width)
		for b := range len(starts) - 1 {
			one := func(data []float32, starts []int) kernel.Tensor {
				return kernel.BLHD(data[starts[b]*width:starts[b+1]*width], 1, starts[b+1]-starts[b], 1, width)
			}
			key := one(keys, c.keyStarts)
			must(t, c.m.Attend(one(want, starts), one(x, starts), key, key, &kernel.Options{Scoring: kernel.Scoring{Mask: c.mask}}))
		}
		testutil.CheckBits(t, name, got, want)
	}
	out, x := newCanaries(1, 1, rows, width), normalTensor(5, 1, 1, rows, width)
	for _, c := range []struct {
		arg             string
		out, query, key kernel.Tensor
	}{
		{"out", newTensor(4, 1, 5, width), x.Ragged(starts), x.Ragged(starts)},
		{"out", out.Ragged([]int{1, 4, 5, 9, 13}), x.Ragged([]int{1, 4, 4, 9, 13}), x.Ragged(starts)},
		{"key", out, x, x.Paged(&kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{3}})},
	} {
		refused(t, all.Attend(c.out, c.query, c.key, c.key, nil), c.arg, &out)
	}
	bad := x.Ragged([]int{0, 5, 7, 9, 13})
	refused(t, all.Attend(out.Ragged(starts), x.Ragged(starts), x.Ragged(starts), bad, nil), "value", &out)
}

// Hidden keys and values are projected, but they do not change a bit of the result.
func TestMultiHeadHidden(t *testing.T) {
	const b, l, width = 2, 6, 8
	m := &MultiHead{Heads: 2, Q: newLinear(t, 1, width, width), K: newLinear(t, 2, width, width), V: newLinear(t, 3, width, width), O: newLinear(t, 4, width, width)}
	query, key := normalTensor(5, b, 1, l, width), normalTensor(6, b, 1, l, width)
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{4, 0})}}
	want, out := newTensor(b, 1, l, width), newTensor(b, 1, l, width)
	must(t, m.Attend(want, query, key, key, &opts))
	for i := range l {
		if i >= 4 {
			row(&key, 0, 0, i)[1] = float32(math.NaN())
		}
		row(&key, 1, 0, i)[2] = float32(math.Inf(1))
	}
	must(t, m.Attend(out, query, key, key, &opts))
	equal(t, "out", &out, &want)
}

func TestMultiHeadErrors(t *testing.T) {
	l := func(n, k int) *linear.Linear { return newLinear(t, 1, n, k) }
	good := func() *MultiHead {
		return &MultiHead{Heads: 4, KVHeads: 2, Q: l(12, 5), K: l(6, 6), V: l(8, 7), O: l(9, 16)}
	}
	out, query, key, value := newCanaries(2, 1, 3, 9), newTensor(2, 1, 3, 5), newTensor(2, 1, 4, 6), newTensor(2, 1, 4, 7)
	must(t, good().Attend(newTensor(2, 1, 3, 9), query, key, value, nil))
	for _, c := range []struct {
		arg   string
		spoil func(m *MultiHead)
	}{
		{"MultiHead.Heads", func(m *MultiHead) { m.Heads = 0 }},
		{"MultiHead.KVHeads", func(m *MultiHead) { m.KVHeads = 3 }},
		{"MultiHead.KVHeads", func(m *MultiHead) { m.KVHeads = -1 }},
		{"MultiHead.Q", func(m *MultiHead) { m.Q = l(13, 5) }},
		{"MultiHead.Q", func(m *MultiHead) { m.Q = l(3, 5) }},
		{"MultiHead.Q", func(m *MultiHead) { m.Q = l(0, 5) }},
		{"MultiHead.K", func(m *MultiHead) { m.K = l(8, 6) }},
		{"MultiHead.V", func(m *MultiHead) { m.V = l(7, 7) }},
		{"MultiHead.O", func(m *MultiHead) { m.O = l(9, 12) }},
		{"query", func(m *MultiHead) { m.Q = l(12, 4) }},
		{"out", func(m *MultiHead) { m.O = l(8, 16) }},
		{"out", func(m *MultiHead) { m.O = nil }},
	} {
		m := good()
		c.spoil(m)
		refused(t, m.Attend(out, query, key, value, nil), c.arg, &out)
	}
	for _, c := range []struct {
		m    MultiHead
		text string
	}{
		{MultiHead{Heads: 0}, "MultiHead.Heads: 0, want at least 1"},
		{MultiHead{Heads: 4, KVHeads: 3}, "MultiHead.KVHeads: 3, want a divisor of Heads = 4, or 0 for as many"},
		{MultiHead{Heads: 3}, "query: width 100, want a multiple of 3, the number of heads"},
		{MultiHead{Heads: 3, Q: l(10, 100)}, "MultiHead.Q: 10 outputs, want a multiple of 3, the number of heads"},
		{MultiHead{Heads: 3, Q: l(12, 100)}, "key: width 6, want 12, for 3 key heads of 4, the head size of queries"},
		{MultiHead{Heads: 3, Q: l(12, 100), K: l(9, 6)}, "MultiHead.K: 9 outputs, want 12, for 3 key heads of 4, the head size of queries"},
		{MultiHead{Heads: 6, KVHeads: 3, Q: l(12, 100)}, "value: width 7, want a multiple of 3, the number of value heads"},
		{MultiHead{Heads: 3, Q: l(6, 100), V: l(8, 7)}, "MultiHead.V: 8 outputs, want a multiple of 3, the number of value heads"},
		{MultiHead{Heads: 3, Q: l(6, 100), V: l(9, 7), O: l(5, 6)}, "MultiHead.O: 6 inputs, want 9, for 3 heads of 3, the head size of values"},
		{MultiHead{Heads: 3, Q: l(6, 99)}, "query: [B H L D] = [2 1 3 100] with strides [300 300 100] in 600 elements, want D = 99, the number of inputs of MultiHead.Q"},
		{MultiHead{Heads: 3, Q: l(6, 100), V: l(9, 7), Similarity: General{l(2, 3)}}, "the heads of query: [B H L D] = [2 3 3 2] with strides [18 2 6] in 36 elements, want D = 3, the number of inputs of General.Query"},
	} {
		out := newTensor(2, 1, 3, 9)
		wantText(t, c.m.Attend(out, newTensor(2, 1, 3, 100), newTensor(2, 1, 4, 6), newTensor(2, 1, 4, 7), nil), "layer.MultiHead.Attend: "+c.text)
	}
	half := kernel.BHLD(make([]kernel.F16, 30), 2, 1, 3, 5)
	memory := make([]float32, 2*3*9)
	for _, c := range []struct {
		arg                    string
		out, query, key, value kernel.Tensor
		opts                   kernel.Options
	}{
		{"query", out, kernel.Tensor{}, key, value, kernel.Options{}},
		{"query", out, half, key, value, kernel.Options{}},
		{"query", out, newTensor(2, 3, 1, 5), key, value, kernel.Options{}},
		{"key", out, query, newTensor(2, 1, 4, 5), value, kernel.Options{}},
		{"key", out, query, newTensor(1, 1, 4, 6), value, kernel.Options{}},
		{"value", out, query, key, newTensor(2, 1, 3, 7), kernel.Options{}},
		{"value", out, query, key, newTensor(1, 1, 4, 7), kernel.Options{}},
		{"out", newTensor(2, 1, 4, 9), query, key, value, kernel.Options{}},
		{"out", kernel.Strided(make([]float32, 99), [4]int{2, 1, 3, 9}, [3]int{}), query, key, value, kernel.Options{}},
		{"out", kernel.BLHD(memory, 2, 3, 1, 9), kernel.BLHD(memory, 2, 3, 1, 5), key, value, kernel.Options{}},
		{"Options.Mask", out, query, key, value, kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{5, 5})}}},
		{"Options.Weights", out, query, key, value, kernel.Options{Outputs: kernel.Outputs{Weights: newTensor(2, 2, 3, 4)}}},
		{"Options.Threads", out, query, key, value, kernel.Options{Exec: kernel.Exec{Threads: -1}}},
	} {
		refused(t, good().Attend(c.out, c.query, c.key, c.value, &c.opts), c.arg, &out)
	}
}

func TestMultiHeadNoAllocations(t *testing.T) {
	const l, width = 20, 32
	m := &MultiHead{Heads: 4, Q: newLinear(t, 1, width, width), K: newLinear(t, 2, width, width), V: newLinear(t, 3, width, width), O: newLinear(t, 4, width, width)}
	x, out := normalTensor(5, 1, 1, l, width), newTensor(1, 1, l, width)
	testutil.CheckNoMallocs(t, "a call", 20, func() {
		must(t, m.Attend(out, x, x, x, &kernel.Options{Exec: kernel.Exec{Threads: 1}}))
	})
}

// Concurrent calls of one module do not change each other's results.
func TestMultiHeadConcurrent(t *testing.T) {
	const l, width = 20, 32
	m := &MultiHead{Heads: 4, Q: newLinear(t, 1, width, width), K: newLinear(t, 2, width, width), V: newLinear(t, 3, width, width), O: newLinear(t, 4, width, width)}
	var calls sync.WaitGroup
	for i := range 8 {
		query, key := normalTensor(6, 1, 1, i+1, width), normalTensor(7, 1, 1, l-i, width)
		want := newTensor(1, 1, i+1, width)
		must(t, m.Attend(want, query, key, key, nil))
		calls.Go(func() {
			for range 20 {
				got := newTensor(1, 1, i+1, width)
				if err := m.Attend(got, query, key, key, nil); err != nil || distance(&got, &want) != 0 {
					t.Errorf("concurrent call %d: error %v, differs by %v", i, err, distance(&got, &want))
				}
			}
		})
	}
	calls.Wait()
}
