package kernel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// raggedLengths are the lengths of the batch rows of a call; nil where it is not
// ragged.
type raggedLengths struct {
	queries, keys []int
	start         int // of the first row
}

// raggedLengths draws what the case's level says. The first batch row is the longest.
func (c *optionCase) raggedLengths() raggedLengths {
	var x raggedLengths
	if level := c.level("ragged"); c.b > 0 {
		x.start = level / 2
		if level&1 != 0 {
			x.queries = c.lengths(c.lq)
			x.queries[0] = c.lq
		}
		if level&2 != 0 {
			x.keys = c.lengths(c.lk)
			x.keys[0] = c.lk
		}
	}
	return x
}

// pack makes a call's inputs ragged.
func (x *raggedLengths) pack(q, k, v kernel.Tensor) (_, _, _ kernel.Tensor) {
	return q.packed(x.queries, x.start), k.packed(x.keys, x.start), v.packed(x.keys, x.start)
}

// packOutputs makes a call's outputs ragged; they are all canary.
func (x *raggedLengths) packOutputs(out kernel.Tensor, o *kernel.Options) kernel.Tensor {
	for _, t := range []*kernel.Tensor{&o.LSE, &o.Weights, &o.Scores} {
		if t.isSet() && t.shape[3] > 0 {
			*t = t.packed(x.queries, x.start)
		}
	}
	return out.packed(x.queries, x.start)
}

// packed is a ragged copy of t with the first rows of every batch row; t itself for no
// lengths. The rows before the first are canaries.
func (t kernel.Tensor) packed(lengths []int, start int) kernel.Tensor {
	if lengths == nil {
		return t
	}
	starts := []int{start}
	for b, n := range lengths {
		starts = append(starts, starts[b]+n)
	}
	h, rows, d := t.shape[1], starts[len(lengths)], t.shape[3]
	to := kernel.BLHD(filled(rows*h*d, canary), 1, rows, h, d).as(t.dtype)
	if t.scales != nil {
		groups := t.scales.shape[3]
		scales := kernel.BLHD(filled(rows*h*groups, nan32), 1, rows, h, groups)
		to.scales = &scales
	}
	for b, n := range lengths {
		for h := range h {
			for l := range n {
				to.copyRow(to.at(0, h, starts[b]+l), &t, t.at(b, h, l))
				if t.scales != nil {
					to.scales.copyRow(to.scales.at(0, h, starts[b]+l), t.scales, t.scales.at(b, h, l))
				}
			}
		}
	}
	return to.Ragged(starts)
}

// copyRow copies a row of another tensor of the same type; both are given by where they start.
func (t *kernel.Tensor) copyRow(at int, from *kernel.Tensor, fromAt int) {
	d := t.shape[3]
	switch t.dtype {
	case kernel.Float32:
		copy(t.f32[at:at+d], from.f32[fromAt:])
	case kernel.Int8:
		copy(t.i8()[at:at+d], from.i8()[fromAt:])
	default:
		copy(t.u16()[at:at+d], from.u16()[fromAt:])
	}
}

// TestRagged compares a ragged batch with calls for each of its sequences: a prompt
// after none, or after keys of a cache.
func TestRagged(t *testing.T) {
	const h, hkv, d, dv = 4, 2, 24, 20
	queries := []int{3, 0, 70, 1, 1, 300, 17, 1}
	keys := []int{3, 9, 70, 700, 256, 300, 257, 0}
	if quick() {
		queries[5], keys[5] = 90, 90
	}
	largest, longest := queries[5], keys[3]
	c := attnCase{b: len(queries), h: h, hkv: hkv, lq: largest, lk: longest, d: d, dv: dv, seed: 31}
	q, k, v := c.inputs()
	past := make([]int, c.b)
	for b := range past {
		past[b] = keys[b] - queries[b]
	}
	o := kernel.Options{Mask: kernel.Causal(0), QueryStart: past, Sinks: []float32{1, 0, -1, 2}}
	want := c.tensor(c.b, h, largest, dv, canary)
	lse := c.tensor(c.b, h, largest, 1, canary)
	for b := range c.b {
		row := func(t *kernel.Tensor, l int) kernel.Tensor {
			return kernel.Strided(t.f32[t.at(b, 0, 0):], [4]int{1, t.shape[1], l, t.shape[3]}, t.stride)
		}
		alone := o
		alone.QueryStart, alone.LSE = past[b:b+1], row(&lse, queries[b])
		if err := kernel.Attention(row(&want, queries[b]), row(&q, queries[b]), row(&k, keys[b]), row(&v, keys[b]), alone); err != nil {
			t.Fatal(err)
		}
	}
	lengths := raggedLengths{queries: queries, keys: keys, start: 2}
	rq, rk, rv := lengths.pack(q, k, v)
	want, lse = want.packed(queries, 2), lse.packed(queries, 2)
	eachTier(t, func(t *testing.T, tier *tier) {
		for threads := 1; threads <= 9; threads += 1 + 3*quickInt() {
			o := o
			o.Tier, o.Threads = tier.name, threads
			o.LSE = c.tensor(c.b, h, largest, 1, canary)
			out := lengths.packOutputs(c.tensor(c.b, h, largest, dv, canary), &o)
			if err := kernel.Attention(out, rq, rk, rv, o); err != nil {
				t.Fatal(err)
			}
			checkGaps(t, &out)
			same(t, fmt.Sprintf("threads=%d", threads), &out, &want)
			same(t, fmt.Sprintf("LSE, threads=%d", threads), &o.LSE, &lse)
		}
	})
}

// quickInt is 1 where the tests are to be quick.
func quickInt() int {
	if quick() {
		return 1
	}
	return 0
}

// TestRaggedViews: a joint projection and any strides can be ragged.
func TestRaggedViews(t *testing.T) {
	data := random(9 * 6 * 4)
	starts := []int{1, 4, 4, 9}
	q, k, v := kernel.PackedQKV(data, 1, 9, 2, 2, 4)
	out := kernel.Ragged(filled(9*2*4, canary), starts, 2, 4)
	if err := kernel.Attention(out, q.Ragged(starts), k.Ragged(starts), v.Ragged(starts), kernel.Options{}); err != nil {
		t.Fatal(err)
	}
	for b := range 3 {
		n := starts[b+1] - starts[b]
		q, k, v := kernel.PackedQKV(data[starts[b]*6*4:], 1, n, 2, 2, 4)
		want := kernel.BLHD(make([]float32, n*2*4), 1, n, 2, 4)
		if err := kernel.Attention(want, q, k, v, kernel.Options{}); err != nil {
			t.Fatal(err)
		}
		eachRow(&want, func(_, h, l int, row []float32) {
			sameRow(t, fmt.Sprint("row ", b, h, l), rowOf(&out, b, h, l), row)
		})
	}
	checkGaps(t, &out)
}

// TestRaggedErrors: ragged tensors that do not fit get an error, and out stays as it was.
func TestRaggedErrors(t *testing.T) {
	data := filled(1000, 1)
	starts := func(n ...int) []int { return n }
	for _, x := range []struct {
		name, arg, want string
		call            func(out, q, k, v *kernel.Tensor, o *kernel.Options)
	}{
		{"no starts", "the starts of k", "none", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, nil, 2, 6) }},
		{"first negative", "the starts of k", "got -1", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(-1, 3, 7), 2, 6) }},
		{"descending", "the starts of v", "batch row 1 from 7 to 5", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { *v = kernel.Ragged(data, starts(0, 7, 5), 2, 5) }},
		{"wrong count", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(0, 3, 7, 9), 2, 6) }},
		{"slice too short", "k", "at least 132 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.Ragged(data[:131], starts(0, 4, 11), 2, 6)
		}},
		{"beyond the rows", "the starts of k", "the end 11", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 1, 10, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"changed later", "the starts of k", "the largest when the view was made", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) {
			s := starts(0, 4, 11)
			*k = kernel.Ragged(data, s, 2, 6)
			s[1] = 2
		}},
		{"of a batch", "k", "one batch row of all rows", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 2, 7, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"twice", "k", "neither paged nor ragged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = k.Ragged(starts(0, 4, 11)).Ragged(starts(0, 4, 11))
		}},
		{"negative rows", "k", "want", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			*k = kernel.BLHD(data, 1, -7, 2, 6).Ragged(starts(0, 4, 11))
		}},
		{"other lengths of v", "v", "length 4 of batch row 0, want 7", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) {
			*k, *v = kernel.Ragged(data, starts(0, 7, 12), 2, 6), kernel.Ragged(data, starts(0, 4, 11), 2, 5)
		}},
		{"plain v", "v", "length 7 of batch row 1, want 5", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.Ragged(data, starts(0, 7, 12), 2, 6) }},
		{"plain out", "out", "length 3 of batch row 0, want 1", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.Ragged(data, starts(0, 1, 4), 4, 6) }},
		{"plain LSE", "Options.LSE", "length 3 of batch row 1, want 2", func(out, q, _, _ *kernel.Tensor, o *kernel.Options) {
			*q, *out = kernel.Ragged(data, starts(0, 3, 5), 4, 6), kernel.Ragged(out.f32, starts(1, 4, 6), 4, 5)
			o.LSE = kernel.BHLD(filled(24, canary), 2, 4, 3, 1)
		}},
		{"bias", "Options.Bias", "not paged", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			o.Bias = kernel.Ragged(data, starts(0, 3, 6), 4, 7)
		}},
		{"int8 q", "q", "float32", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BLHD(data, 1, 6, 4, 1)
			*q = kernel.Ragged(make([]int8, 200), starts(0, 3, 6), 4, 6).Scaled(&s)
		}},
		{"ragged scales", "the scales of k", "not ragged", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.Ragged(data, starts(0, 7, 14), 2, 1)
			*k = kernel.Ragged(make([]int8, 200), starts(0, 7, 14), 2, 6).Scaled(&s)
		}},
		{"few scales", "the scales of k", "at least length 14", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) {
			s := kernel.BLHD(data, 1, 7, 2, 1)
			*k = kernel.Ragged(make([]int8, 200), starts(0, 7, 14), 2, 6).Scaled(&s)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			out, q, k, v := good()
			memory := out.f32
			var o kernel.Options
			x.call(&out, &q, &k, &v, &o)
			err := kernel.Attention(out, q, k, v, o)
			var arg *kernel.ArgumentError
			if !errors.As(err, &arg) || arg.Arg != x.arg || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want an ArgumentError for %s: %s", err, x.arg, x.want)
			}
			for i, x := range memory {
				if x != canary {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
	r := kernel.Ragged(data, starts(0, 3, 6), 4, 5)
	for name, err := range map[string]error{"Check": r.Check("x"), "CheckOutput": r.CheckOutput("x"), "Merge": kernel.MergePartials(r, nil, kernel.MergeOptions{})} {
		if err == nil {
			t.Errorf("%s takes a ragged tensor", name)
		}
	}
}
