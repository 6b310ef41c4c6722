package retrieval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// plain is the score of a passage as the contract has it.
func plain(query, passage []float32, d int) float32 {
	sum := 0.0
	for q := range slices.Chunk(query, d) {
		largest := float32(math.Inf(-1))
		for p := range slices.Chunk(passage, d) {
			score := float32(0)
			for lo := 0; lo < d; lo += 64 {
				acc := float32(0)
				for x := lo; x < min(d, lo+64); x++ {
					acc = numeric.FMA(p[x], q[x], acc)
				}
				score += acc
			}
			if score > largest {
				largest = score
			}
		}
		sum += float64(largest)
	}
	return float32(sum)
}

// bits compares bits; every NaN has the contract's.
func bits(x []float32) []uint32 {
	out := make([]uint32, len(x))
	for i, y := range x {
		out[i] = math.Float32bits(y)
	}
	return out
}

// TestBits: scores have the bits of the contract on every tier, with any number of threads and
// whatever lies around the rows.
func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		tokens, d int
		starts    []int
	}{
		{1, 1, []int{0, 1}}, {5, 3, []int{0, 4, 4, 9}}, {32, 128, []int{2, 40, 41, 170, 300}}, {7, 64, []int{0, 70, 71}}, {33, 65, []int{0, 64, 129}},
		{49, 96, []int{0, 65, 130}}, {130, 16, []int{0, 3, 200}}, {0, 8, []int{0, 3, 3}}, {3, 200, []int{0}}, {64, 4096, []int{0, 20, 60}},
	} {
		n, ld := c.starts[len(c.starts)-1], c.d+3
		query, all := numbers(r, c.tokens*ld), numbers(r, (n+1)*ld)
		for i := range n * c.d { // numbers that float16 has
			at := i/c.d*ld + i%c.d
			all[at] = numeric.ToF16(all[at]).Float32()
		}
		var halves []kernel.F16
		for _, x := range all {
			halves = append(halves, numeric.ToF16(x))
		}
		var q []float32
		for i := range c.tokens {
			q = append(q, query[i*ld:][:c.d]...)
		}
		want := make([]float32, len(c.starts)-1)
		for i := range want {
			var p []float32
			for row := c.starts[i]; row < c.starts[i+1]; row++ {
				p = append(p, all[row*ld:][:c.d]...)
			}
			want[i] = plain(q, p, c.d)
		}
		strides := func(rows int) ([4]int, [3]int) { return [4]int{1, 1, rows, c.d}, [3]int{rows * ld, ld, ld} }
		shape, stride := strides(c.tokens)
		asked := kernel.Strided(query, shape, stride)
		shape, stride = strides(n)
		for _, tier := range kernel.Tiers() {
			for _, threads := range []int{1, 3} {
				for i, passages := range []kernel.Tensor{kernel.Strided(all, shape, stride), kernel.Strided(halves, shape, stride)} {
					got := make([]float32, len(want))
					if err := MaxSim(got, asked, passages.Ragged(c.starts), kernel.Exec{Tier: tier, Threads: threads}); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(bits(got), bits(want)) {
						t.Errorf("%v: %d vectors of %d, passages %v of type %d, %d threads: %v, want %v", tier, c.tokens, c.d, c.starts, i, threads, got, want)
					}
				}
			}
		}
	}
}

// TestSpecial: a NaN product counts as none, and infinite ones that cancel have the contract's NaN.
func TestSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ query, passage, want []float32 }{
		{[]float32{1, 2}, []float32{nan, 3}, []float32{9}},
		{[]float32{1, 2}, []float32{nan, nan}, []float32{-inf}},
		{[]float32{1, -1}, []float32{inf}, []float32{math.Float32frombits(0x7fc00000)}},
		{[]float32{1e30, 1e30}, []float32{1e30}, []float32{inf}},
		{[]float32{0}, []float32{-1, 1}, []float32{0}},
	} {
		for _, tier := range kernel.Tiers() {
			got := []float32{7}
			if err := MaxSim(got, kernel.BLHD(c.query, 1, len(c.query), 1, 1), kernel.BLHD(c.passage, 1, len(c.passage), 1, 1), kernel.Exec{Tier: tier}); err != nil || !slices.Equal(bits(got), bits(c.want)) {
				t.Errorf("%v: %v and %v: %v, want %v (%v)", tier, c.query, c.passage, got, c.want, err)
			}
		}
	}
}

// TestErrors: what does not fit is named, and scores stay as they are.
func TestErrors(t *testing.T) {
	x := make([]float32, 24)
	q, p := kernel.BLHD(x[:8], 1, 2, 1, 4), kernel.BLHD(x[8:], 1, 4, 1, 4)
	for _, c := range []struct {
		where  string
		scores []float32
		q, p   kernel.Tensor
		exec   kernel.Exec
	}{
		{"query", make([]float32, 1), kernel.BLHD(x[:8], 1, 2, 2, 2), p, kernel.Exec{}},
		{"query", make([]float32, 1), kernel.BLHD(x[:0], 1, 2, 1, 0), p, kernel.Exec{}},
		{"query", make([]float32, 1), kernel.BLHD(x[:9], 1, 2, 1, 5), p, kernel.Exec{}},
		{"passages", make([]float32, 2), q, p, kernel.Exec{}},
		{"passages", make([]float32, 1), q, kernel.BLHD(x[8:], 1, 8, 1, 2), kernel.Exec{}},
		{"passages", make([]float32, 1), q, kernel.BLHD(make([]int8, 16), 1, 4, 1, 4), kernel.Exec{}},
		{"the starts of passages", make([]float32, 1), q, p.Ragged([]int{0, 5}), kernel.Exec{}},
		{"scores", x[8:9], q, p, kernel.Exec{}},
		{"exec.Threads", make([]float32, 1), q, p, kernel.Exec{Threads: -1}},
	} {
		for i := range c.scores {
			c.scores[i] = 7
		}
		var bad *kernel.Error
		if err := MaxSim(c.scores, c.q, c.p, c.exec); !errors.As(err, &bad) || bad.Where != "retrieval.MaxSim: "+c.where {
			t.Errorf("%s: %v", c.where, err)
		}
		if slices.ContainsFunc(c.scores, func(x float32) bool { return x != 7 }) {
			t.Errorf("%s: scores %v", c.where, c.scores)
		}
	}
}

func TestAlloc(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scores := make([]float32, 10)
	q, p := kernel.BLHD(numbers(r, 32*16), 1, 32, 1, 16), kernel.BLHD(numbers(r, 10*20*16), 10, 20, 1, 16)
	if n := testing.AllocsPerRun(20, func() {
		if err := MaxSim(scores, q, p, kernel.Exec{Threads: 1}); err != nil {
			t.Fatal(err)
		}
	}); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMaxSim has a query of 32 tokens and 100 passages of 180, of 128 numbers each.
func BenchmarkMaxSim(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const d, tokens, passages = 128, 180, 100
	scores := make([]float32, passages)
	q, p := kernel.BLHD(numbers(r, 32*d), 1, 32, 1, d), kernel.BLHD(numbers(r, passages*tokens*d), passages, tokens, 1, d)
	for b.Loop() {
		if err := MaxSim(scores, q, p, kernel.Exec{Threads: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(32*d*tokens*passages*2)*float64(b.N)/1e9/b.Elapsed().Seconds(), "GFLOP/s")
}
