//go:build go1.26

package docs_test

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// The examples are the code of integration.md. Their queries are zeros, so that a result is
// the mean of the values that a query sees.

// step has the numbers of one step of a model: 2 query heads that share a key head.
type step struct{ q, out []float32 }

func newStep(queries int) step {
	return step{q: make([]float32, 2*queries), out: make([]float32, 2*queries)}
}

// A cache as most programs have it: a block of memory for each head, with room for more.
func Example_headMajor() {
	const heads, kvHeads, d, capacity = 2, 1, 1, 8
	cacheK := make([]float32, kvHeads*capacity*d)
	cacheV := []float32{1, 2, 3, 6, 0, 0, 0, 0}
	past, queries := 3, 1
	s := newStep(queries)
	q, out := s.q, s.out

	// cacheK and cacheV are [kvHeads, capacity, d]: past+queries tokens are there.
	shape := [4]int{1, kvHeads, past + queries, d}
	strides := [3]int{0, capacity * d, d}
	err := kernel.Attention(
		kernel.BLHD(out, 1, queries, heads, d),
		kernel.BLHD(q, 1, queries, heads, d),
		kernel.Strided(cacheK, shape, strides),
		kernel.Strided(cacheV, shape, strides),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(past)}})
	fmt.Println(out, err)

	// Output: [3 3] <nil>
}

// A cache in which the heads of a token lie together, as projections leave them.
func Example_tokenMajor() {
	const heads, kvHeads, d = 2, 1, 1
	cacheK := make([]float32, 8)
	cacheV := []float32{1, 2, 3, 6, 0, 0, 0, 0}
	past, queries := 2, 2
	s := newStep(queries)
	q, out := s.q, s.out

	// cacheK and cacheV are [capacity, kvHeads, d]: slower with few queries.
	k := kernel.BLHD(cacheK, 1, past+queries, kvHeads, d)
	v := kernel.BLHD(cacheV, 1, past+queries, kvHeads, d)
	err := kernel.Attention(kernel.BLHD(out, 1, queries, heads, d), kernel.BLHD(q, 1, queries, heads, d), k, v,
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(past)}})
	fmt.Println(out, err)

	// Output: [2 2 3 3] <nil>
}

// Pages of 2 tokens for two sequences of 3 and 1 tokens.
func Example_pages() {
	const heads, kvHeads, d, pages, pageSize = 2, 1, 1, 4, 2
	poolK := make([]float32, pages*kvHeads*pageSize*d)
	poolV := []float32{3, 0, 5, 0, 1, 2, 0, 0}
	s := newStep(2)
	q, out := s.q, s.out

	// poolK and poolV are [pages, kvHeads, pageSize, d].
	table := &kernel.PageTable{
		Pages:   [][]int32{{2, 0}, {1}}, // of every sequence, in the order of its tokens
		Lengths: []int{3, 1},            // with the tokens of this step
	}
	err := kernel.Attention(
		kernel.BLHD(out, 2, 1, heads, d), // one query of each of the two sequences
		kernel.BLHD(q, 2, 1, heads, d),
		kernel.BHLD(poolK, pages, kvHeads, pageSize, d).Paged(table),
		kernel.BHLD(poolV, pages, kvHeads, pageSize, d).Paged(table),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{2, 0}}})
	fmt.Println(out, err)

	// Output: [2 2 5 5] <nil>
}

// Prompts of different lengths, one after the other.
func Example_packed() {
	const heads, kvHeads, d = 2, 1, 1
	k, v := make([]float32, 5), []float32{1, 3, 5, 10, 20}
	s := newStep(5)
	q, out := s.q, s.out

	// Three tokens of one text and two of another, without padding.
	starts := []int{0, 3, 5}
	err := kernel.Attention(
		kernel.Ragged(out, starts, heads, d),
		kernel.Ragged(q, starts, heads, d),
		kernel.Ragged(k, starts, kvHeads, d),
		kernel.Ragged(v, starts, kvHeads, d),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
	fmt.Println(out, err)

	// Output: [1 1 2 2 3 3 10 10 15 15] <nil>
}

// A pool is a program's own: workers that run functions.
type pool struct{}

// Run calls task(0) to task(n-1) on the workers and waits for them.
func (pool) Run(n int, task func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { task(i) })
	}
	wg.Wait()
}

// The program's own workers.
func Example_threads() {
	var workers pool
	rows := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, 4, 1) }
	q, k, v, out := make([]float32, 4), make([]float32, 4), []float32{1, 2, 3, 6}, make([]float32, 4)

	exec := kernel.Exec{
		Threads:     4,           // at most; 0 means GOMAXPROCS
		ParallelFor: workers.Run, // instead of attn's own workers
	}
	err := kernel.Attention(rows(out), rows(q), rows(k), rows(v), &kernel.Options{Exec: exec})
	fmt.Println(out, err)

	// Output: [3 3 3 3] <nil>
}

// Masks of bools, as PyTorch and ONNX have them, and of floats.
func Example_masks() {
	const batch, queries, keys = 1, 2, 4
	q, k, v, out := make([]float32, 2), make([]float32, 4), []float32{1, 2, 3, 6}, make([]float32, 2)
	keep := []bool{true, false, true, false}
	negInf := float32(math.Inf(-1))
	scores := []float32{0, negInf, negInf, negInf, 0, 0, 0, 0}
	attend := func(s kernel.Scoring) {
		x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, batch, 1, len(s), 1) }
		fmt.Println(kernel.Attention(x(out), x(q), x(k), x(v), &kernel.Options{Scoring: s}), out)
	}

	// true keeps a key: ONNX, scaled_dot_product_attention
	attend(kernel.Scoring{Mask: kernel.Visible(keep, [4]int{batch, 1, 1, keys})})
	// true hides it: nn.MultiheadAttention
	attend(kernel.Scoring{Mask: kernel.Hidden(keep, [4]int{batch, 1, 1, keys})})
	// numbers to add to the scores
	attend(kernel.Scoring{Bias: kernel.BHLD(scores, 1, 1, queries, keys)})
	// a window without a matrix: the queries are the last keys and see one key back
	attend(kernel.Scoring{Mask: kernel.Window(1, 0), QueryStart: []int{keys - queries}})

	// Output:
	// <nil> [2 2]
	// <nil> [4 4]
	// <nil> [1 3]
	// <nil> [2.5 4.5]
}

// Weights are packed once.
func Example_linear() {
	weights := []float32{1, 2, 3, 4} // [2, 2]
	x, out := []float32{1, 1}, make([]float32, 2)

	layer, err := linear.New(linear.DenseMatrix(weights, 2, 2), nil, kernel.Exec{}) // where the model is loaded
	if err != nil {
		fmt.Println(err)
		return
	}
	err = layer.Apply(linear.DenseMatrix(out, 1, 2), linear.DenseMatrix(x, 1, 2), linear.Options{}) // in every step
	fmt.Println(out, err)

	// Output: [3 7] <nil>
}

// What is wrong with a call.
func Example_errors() {
	q, k := make([]float32, 4), make([]float32, 6)
	call := func(opts *kernel.Options) error {
		x := kernel.BHLD(q, 1, 1, 1, 4)
		y := kernel.BHLD(k, 1, 1, 2, 3) // another head size
		return kernel.Attention(kernel.BHLD(make([]float32, 4), 1, 1, 1, 4), x, y, y, opts)
	}

	err := call(nil)
	if errors.Is(err, kernel.ErrArgument) {
		fmt.Println("a bug of this program:", err)
	}
	_, err = kernel.TierNamed("avx1024")
	if bad, ok := errors.AsType[*kernel.Error](err); ok && bad.Kind == kernel.ErrTier {
		fmt.Println("a wrong setting:", bad.Where, "is", bad.Got)
	}
	if errors.Is(err, kernel.ErrMemory) {
		fmt.Println("too large for this machine:", err)
	}

	// Output:
	// a bug of this program: kernel.Attention: k: [B H L D] = [1 1 2 3] with strides [6 6 3] in 6 elements, want batch 1 and head size 4 as q has it
	// a wrong setting: kernel.TierNamed: name is "avx1024"
}

// The tiers of this build and of this CPU.
func Example_tiers() {
	fmt.Println("attention runs on", kernel.Tier{})
}
