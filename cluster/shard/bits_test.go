package shard

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// Every result has the bits of one machine: in all element types, with workers of different
// tiers, for masks, groups of heads and batches of sequences of any length.
func TestBits(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 64 << 10}, "", "generic", "")
	r := testutil.Rand(1)
	for _, g := range []Config{
		{Heads: 2, HeadSize: 32, ValueSize: 24},
		{Heads: 3, HeadSize: 64, Type: kernel.Float16},
		{Heads: 1, HeadSize: 48, Type: kernel.BFloat16, Replicas: 1},
		{Heads: 2, HeadSize: 64, Type: kernel.Int8, Group: 32, Replicas: 3},
		{Heads: 2, HeadSize: 40, Type: kernel.Int8},
	} {
		c := x.client(g)
		var texts []*text
		for _, n := range []int{1, 300, 1100, 256} {
			texts = append(texts, newText(t, c, &r, n))
		}
		heads := 2 * g.Heads
		slopes, sinks := make([]float32, heads), make([]float32, heads)
		r.Fill(slopes)
		r.Fill(sinks)
		for _, o := range []Options{
			{},
			{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}},
			{Scoring: kernel.Scoring{Mask: kernel.Window(300, 0)}},
			{Scoring: kernel.Scoring{Mask: kernel.Window(70, 70), QueryStart: []int{150}}},
			{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{0, 280, 500, -2}}},
			{Scoring: kernel.Scoring{Mask: kernel.Window(math.MaxInt, math.MaxInt), QueryStart: []int{-maxKeys, 1, maxKeys - 9, 0}}},
			{Scoring: kernel.Scoring{Mask: kernel.Window(1000, 2000), QueryStart: []int{-maxKeys, -500, maxKeys - 9, 1500}}},
			{Scoring: kernel.Scoring{Scale: 0.3, Softcap: 2, ALiBi: slopes, Sinks: sinks, Mask: kernel.Causal(0)}},
		} {
			checkBits(t, c, &r, heads, 1, o, texts...)
			checkBits(t, c, &r, heads, 5, o, texts...)
		}
	}
}

// Steps of any length of many sequences are one call: q, out and LSE are ragged, and
// may be half floats.
func TestRagged(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "generic")
	r := testutil.Rand(20)
	c := x.client(Config{Heads: 2, HeadSize: 16, Type: kernel.Float16})
	texts := []*text{newText(t, c, &r, 500), newText(t, c, &r, 40), newText(t, c, &r, 257)}
	var sequences []*Sequence
	for _, s := range texts {
		sequences = append(sequences, s.Sequence)
	}
	const heads, d = 4, 16
	starts := []int{0, 3, 3, 10}
	q, out, lse := tensor(t, &r, kernel.Float16, 0, 1, heads, 10, d), make([]kernel.BF16, heads*10*d), make([]float32, heads*10)
	options := Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}, LSE: kernel.BHLD(lse, 1, heads, 10, 1).Ragged(starts)}
	if _, err := c.Attention(t.Context(), kernel.BHLD(out, 1, heads, 10, d).Ragged(starts), q.Ragged(starts), sequences, &options); err != nil {
		t.Fatal(err)
	}
	for i, s := range texts {
		lo, hi := starts[i], starts[i+1]
		want, wantLSE := make([]kernel.BF16, heads*10*d), make([]float32, heads*10)
		one := []int{lo, hi}
		err := kernel.Attention(kernel.BHLD(want, 1, heads, 10, d).Ragged(one), q.Ragged(one), rowsOf(s.k, 0, s.Len()), rowsOf(s.v, 0, s.Len()),
			&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{s.Len() - (hi - lo)}}, Outputs: kernel.Outputs{LSE: kernel.BHLD(wantLSE, 1, heads, 10, 1).Ragged(one)}})
		if err != nil {
			t.Fatal(err)
		}
		for h := range heads {
			for row := h*10 + lo; row < h*10+hi; row++ {
				if !slices.Equal(out[row*d:(row+1)*d], want[row*d:(row+1)*d]) || lse[row] != wantLSE[row] {
					t.Fatalf("text %d, head %d, row %d: %v, want %v", i, h, row-h*10, out[row*d:(row+1)*d], want[row*d:(row+1)*d])
				}
			}
		}
	}
}

// A call that does not fit the client's memory goes through its queries in parts.
func TestParts(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 16 << 10}, "", "")
	r := testutil.Rand(21)
	for memory, requests := range map[int64]int{1: 140, 100_000: 5} {
		c := x.client(Config{Heads: 1, HeadSize: 16, Memory: memory})
		a, b := newText(t, c, &r, 1000), newText(t, c, &r, 300)
		stats := checkBits(t, c, &r, 3, 70, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, a, b)
		if stats.Requests < requests {
			t.Errorf("%+v, want %d requests or more", stats, requests)
		}
	}
}

// Keys and values may come from pages.
func TestPaged(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	r := testutil.Rand(22)
	c := x.client(Config{Heads: 2, HeadSize: 16, Type: kernel.Int8, Group: 8})
	table := &kernel.PageTable{Pages: [][]int32{{4, 0, 3}, {1, 2}}, Lengths: []int{40, 20}}
	k, v := tensor(t, &r, kernel.Int8, 8, 5, 2, 16, 16).Paged(table), tensor(t, &r, kernel.Int8, 8, 5, 2, 16, 16).Paged(table)
	sequences := []*Sequence{c.NewSequence(), c.NewSequence()}
	if err := c.Append(t.Context(), sequences, k, v); err != nil {
		t.Fatal(err)
	}
	if sequences[0].Len() != 40 || sequences[1].Len() != 20 {
		t.Fatalf("%d and %d keys", sequences[0].Len(), sequences[1].Len())
	}
	q := tensor(t, &r, kernel.Float32, 0, 2, 2, 3, 16)
	got, want := make([]float32, 2*2*3*16), make([]float32, 2*2*3*16)
	if _, err := c.Attention(t.Context(), kernel.BHLD(got, 2, 2, 3, 16), q, sequences, nil); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Attention(kernel.BHLD(want, 2, 2, 3, 16), q, k, v, nil); err != nil {
		t.Fatal(err)
	}
	testutil.CheckBits(t, "out", got, want)
}
