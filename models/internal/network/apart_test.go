package network

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestBuckets compares the rows of distances with make_log_bucket_position of transformers 5.24: a
// sum over the distances -n to n of i times the row i, and the rows at both ends.
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		buckets, most, sum int
		ends               []int // of -most, 1-most, most-1, most
	}{
		{256, 512, 189524346, []int{0, 1, 511, 511}},
		{16, 160, 1189362, []int{0, 1, 31, 31}},
		{8, 40, 36946, []int{0, 1, 15, 15}},
		{4, 1000, 11006992, []int{0, 1, 7, 7}},
	} {
		d := &Distances{Buckets: c.buckets, Span: c.buckets, Most: c.most}
		rows := d.rows(c.most + 1)
		sum := 0
		for i, row := range rows {
			sum += i * row
		}
		n := len(rows)
		ends := []int{rows[0], rows[1], rows[n-2], rows[n-1]}
		if sum != c.sum || !slices.Equal(ends, c.ends) {
			t.Errorf("%d buckets for %d distances: sum %d and ends %d, want %d and %d", c.buckets, c.most, sum, ends, c.sum, c.ends)
		}
	}
}

// TestDistances: without buckets every distance has a row, up to the last one.
func TestDistances(t *testing.T) {
	d := &Distances{Span: 3, Most: 3}
	if got, want := d.rows(6), []int{0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("rows %d, want %d", got, want)
	}
}

// TestHeadGroups: a bias that is too large for all heads at once is computed for some of
// them, with the same bits.
func TestHeadGroups(t *testing.T) {
	const heads, size, span = 4, 8, 6
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32()*2 - 1
		}
		return x
	}
	places := func() (all []*linear.Linear) {
		for range heads {
			l, err := linear.New(linear.DenseMatrix(random(2*span*size), 2*span, size), nil, kernel.Exec{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		}
		return all
	}
	a := &Attention{Heads: heads, KVHeads: heads, Size: size, Apart: &Apart{&Distances{Span: span, Buckets: 6, Most: 40}, places(), places()}}
	p := &Pass{}
	p.Reset()
	squares := 0
	for _, n := range []int{40, 17, 40} {
		p.Add(make([]int32, n), nil, 0)
		squares += n * n
	}
	qkv := random(len(p.Tokens) * a.width())
	var want []float32
	for _, together := range []int{heads, 1, 3} {
		got := make([]float32, len(p.Tokens)*heads*size)
		if err := a.attendApart(p, got, qkv, together*squares); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("groups of %d heads have other bits", together)
		}
	}
}
