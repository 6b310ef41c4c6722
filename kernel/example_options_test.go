package kernel_test

import (
	"fmt"
	"log"
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// column is one head of tokens with a single number each, a view of x: what the examples
// below compute with. Queries of 0 weigh all keys that they see alike, so that a
// result is the mean of the values seen.
func column(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }

// Four query heads share two key/value heads, and two new queries follow a past
// of two keys. Queries of zeros weigh all keys that they see alike, so that the
// result is the mean of the values seen: of 0, 1, 2 and of 0, 1, 2, 3.
func ExampleCausal() {
	const batch, heads, kvHeads, d = 1, 4, 2, 1
	const capacity, past, queries = 8, 2, 2

	// A cache with room for 8 tokens, of which 4 are there.
	cacheK := make([]float32, batch*kvHeads*capacity*d)
	cacheV := make([]float32, batch*kvHeads*capacity*d)
	copy(cacheV[0*capacity:], []float32{0, 1, 2, 3})
	copy(cacheV[1*capacity:], []float32{10, 11, 12, 13})

	q := make([]float32, batch*heads*queries*d)
	out := make([]float32, batch*heads*queries*d)

	shape := [4]int{batch, kvHeads, past + queries, d}
	strides := [3]int{kvHeads * capacity * d, capacity * d, d}
	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, queries, d),
		kernel.BHLD(q, batch, heads, queries, d),
		kernel.Strided(cacheK, shape, strides),
		kernel.Strided(cacheV, shape, strides),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(past)}})
	fmt.Println(out, err)

	// Output: [1 1.5 1 1.5 11 11.5 11 11.5] <nil>
}

// Two texts of 4 and 2 tokens, padded to 4. Keys and values in the padding are never
// read.
func ExampleKeyLengths() {
	const batch, heads, length, d = 2, 1, 4, 1
	nan := float32(math.NaN())
	q := make([]float32, batch*heads*length*d)
	k := []float32{0, 0, 0, 0, 0, 0, nan, nan}
	v := []float32{1, 2, 3, 4, 5, 6, nan, nan}
	out := make([]float32, batch*heads*length*d)

	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, length, d),
		kernel.BHLD(q, batch, heads, length, d),
		kernel.BHLD(k, batch, heads, length, d),
		kernel.BHLD(v, batch, heads, length, d),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{4, 2})}})
	fmt.Println(out, err)

	// Output: [2.5 2.5 2.5 2.5 5.5 5.5 5.5 5.5] <nil>
}

// Two texts of 4 and 2 tokens, padded to 4. Padding is in the queries, too: without QueryLengths
// the result has NaN there, with it zeros.
func ExampleQueryLengths() {
	const batch, heads, length, d = 2, 1, 4, 1
	nan := float32(math.NaN())
	x := []float32{0, 0, 0, 0, 0, 0, nan, nan}
	v := []float32{1, 2, 3, 4, 5, 6, nan, nan}
	out := make([]float32, batch*heads*length*d)
	view := func(x []float32) kernel.Tensor { return kernel.BHLD(x, batch, heads, length, d) }

	lengths := []int{4, 2}
	for _, mask := range []kernel.Mask{
		kernel.KeyLengths(lengths),
		kernel.KeyLengths(lengths).And(kernel.QueryLengths(lengths)),
	} {
		err := kernel.Attention(view(out), view(x), view(x), view(v), &kernel.Options{Scoring: kernel.Scoring{Mask: mask}})
		fmt.Println(out, err)
	}

	// Output:
	// [2.5 2.5 2.5 2.5 5.5 5.5 NaN NaN] <nil>
	// [2.5 2.5 2.5 2.5 5.5 5.5 0 0] <nil>
}

// Masks are intersected: causal, and the second text has but two tokens.
func ExampleMask_And() {
	const batch, heads, length, d = 2, 1, 4, 1
	q := make([]float32, batch*heads*length*d)
	v := []float32{0, 2, 4, 6, 0, 2, 4, 6}
	out := make([]float32, batch*heads*length*d)

	mask := kernel.Causal(0).And(kernel.KeyLengths([]int{4, 2}))
	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, length, d),
		kernel.BHLD(q, batch, heads, length, d),
		kernel.BHLD(q, batch, heads, length, d),
		kernel.BHLD(v, batch, heads, length, d),
		&kernel.Options{Scoring: kernel.Scoring{Mask: mask}})
	fmt.Println(out, err)

	// Output: [0 1 2 3 0 1 1 1] <nil>
}

// Two documents packed into one sequence of six tokens, the second one cut by its
// padding: a token sees itself and the one before it, in its own document. Zero
// queries take the mean of the values that they see.
func ExampleMask() {
	const length, d = 6, 1
	q := make([]float32, length*d)
	k := make([]float32, length*d)
	v := []float32{1, 2, 3, 10, 20, 30}
	out := make([]float32, length*d)
	x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, length, d) }

	documents := []int32{0, 0, 0, 1, 1, 1}
	padding := []bool{false, false, false, false, false, true} // true = masked out
	mask := kernel.Window(1, 0).
		And(kernel.Segments(documents, documents)).
		And(kernel.Hidden(padding, [4]int{1, 1, 1, length}))
	err := kernel.Attention(x(out), x(q), x(k), x(v), &kernel.Options{Scoring: kernel.Scoring{Mask: mask}})
	fmt.Println(out, err)

	// Output: [1 1.5 2.5 10 15 20] <nil>
}

// A sliding window over a cache that has dropped its first six tokens: keys keep
// their positions. The query at position 9 sees itself and two keys before it.
func ExampleWindow() {
	out := make([]float32, 1)
	err := kernel.Attention(column(out...), column(0), column(0, 0, 0, 0), column(6, 7, 8, 9), &kernel.Options{Scoring: kernel.Scoring{
		Mask:       kernel.Window(2, 0),
		QueryStart: []int{9},
		KeyStart:   []int{6},
	}})
	fmt.Println(out, err)

	// Output: [8] <nil>
}

// Chunks of two tokens: a query sees its chunk up to itself.
func ExampleChunked() {
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0), column(1, 2, 3, 4), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Chunked(2),
	}})
	fmt.Println(out, err)

	// Output: [1 1.5 3 3.5] <nil>
}

// A sliding window that keeps the first token in sight, as an attention sink.
func ExampleMask_Or() {
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0), column(1, 2, 3, 5), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Window(1, 0).Or(kernel.KeyRange(0, 1)),
	}})
	fmt.Println(out, err)

	// Output: [1 1.5 2 3] <nil>
}

// The second token is global: all see it.
func ExampleKeyRange() {
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0), column(1, 2, 4, 6), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Window(0, 0).Or(kernel.KeyRange(1, 2)),
	}})
	fmt.Println(out, err)

	// Output: [1.5 2 3 4] <nil>
}

// The second token is global: it sees all, and the others themselves.
func ExampleQueryRange() {
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0), column(1, 2, 3, 4), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Window(0, 0).Or(kernel.QueryRange(1, 2)),
	}})
	fmt.Println(out, err)

	// Output: [1 2.5 3 4] <nil>
}

// The first two tokens, a prompt, see each other; those after them see what came
// before.
func ExamplePrefixLM() {
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0), column(1, 2, 3, 4), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.PrefixLM([]int{2}),
	}})
	fmt.Println(out, err)

	// Output: [1.5 1.5 2 2.5] <nil>
}

// Three drafted tokens after a cache of two: the last two both follow the first, and do not
// see each other.
func ExampleVisibleLast() {
	tree := []bool{
		true, false, false,
		true, true, false,
		true, false, true,
	}
	out := make([]float32, 3)
	err := kernel.Attention(column(out...), column(0, 0, 0), column(0, 0, 0, 0, 0), column(1, 2, 3, 4, 6), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.VisibleLast(tree, [4]int{1, 1, 3, 3}),
	}})
	fmt.Println(out, err)

	// Output: [2 2.5 3] <nil>
}

// Two queries see the keys that an indexer has chosen for each of them: the second one has found
// only one.
func ExampleKeyRows() {
	rows := []int32{
		3, 1,
		4, -1,
	}
	out := make([]float32, 2)
	err := kernel.Attention(column(out...), column(0, 0), column(0, 0, 0, 0, 0), column(1, 2, 3, 4, 6), &kernel.Options{Scoring: kernel.Scoring{
		KeyRows: kernel.KeyRows{Rows: rows, Shape: [4]int{1, 1, 2, 2}},
	}})
	fmt.Println(out, err)

	// Output: [3 6] <nil>
}

// Two documents packed into one sequence do not see each other.
func ExampleSegments() {
	ids := []int32{1, 1, 2, 2, 2}
	out := make([]float32, 5)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0, 0), column(0, 0, 0, 0, 0), column(1, 2, 3, 4, 5), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Segments(ids, ids).And(kernel.Causal(0)),
	}})
	fmt.Println(out, err)

	// Output: [1 1.5 3 3.5 4] <nil>
}

// Queries in blocks of two, keys in blocks of three: the first block of queries
// sees the first block of keys, the second one both.
func ExampleBlockSparse() {
	keep := []bool{
		true, false,
		true, true,
	}
	out := make([]float32, 4)
	err := kernel.Attention(column(out...), column(0, 0, 0, 0), column(0, 0, 0, 0, 0, 0), column(1, 2, 3, 4, 5, 6), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.BlockSparse(keep, 2, 3),
	}})
	fmt.Println(out, err)

	// Output: [2 2 3.5 3.5] <nil>
}

// A mask per query and key in which true takes part. The last query sees
// nothing, which gives zeros.
func ExampleVisible() {
	mask := []bool{
		true, false, true,
		true, true, true,
		false, false, false,
	}
	out := make([]float32, 3)
	err := kernel.Attention(column(out...), column(0, 0, 0), column(0, 0, 0), column(1, 2, 3), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Visible(mask, [4]int{1, 1, 3, 3}),
	}})
	fmt.Println(out, err)

	// Output: [2 2 0] <nil>
}

// The padding mask of two texts, in which true is padding, one row for all heads
// and queries of a text.
func ExampleHidden() {
	const batch, heads, length = 2, 1, 3
	padding := []bool{
		false, false, false,
		false, true, true,
	}
	zeros, v := make([]float32, 6), []float32{1, 2, 3, 4, 5, 6}
	out := make([]float32, 6)
	x := kernel.BHLD(zeros, batch, heads, length, 1)
	err := kernel.Attention(kernel.BHLD(out, batch, heads, length, 1), x, x, kernel.BHLD(v, batch, heads, length, 1), &kernel.Options{Scoring: kernel.Scoring{
		Mask: kernel.Hidden(padding, [4]int{batch, 1, 1, length}),
	}})
	fmt.Println(out, err)

	// Output: [2 2 2 4 4 4] <nil>
}

// A bias for every query and key, the same for all heads, is added to the scores. The bias of query
// 0 favours key 2; the bias of query 1 hides key 0.
func ExampleOptions_bias() {
	hide := numeric.Log2(0) // -Inf
	bias := []float32{
		0, 0, 100,
		hide, 0, 0,
	}
	out := make([]float32, 2)
	err := kernel.Attention(column(out...), column(0, 0), column(0, 0, 0), column(1, 2, 3), &kernel.Options{Scoring: kernel.Scoring{
		Bias: kernel.BHLD(bias, 1, 1, 2, 3),
	}})
	fmt.Println(out, err)

	// Output: [3 2.5] <nil>
}

// What a score goes through: 40 is capped to 5·tanh(40/5), ALiBi takes 2 for a
// distance of 4.
func ExampleOptions_scores() {
	scores := make([]float32, 1)
	err := kernel.Attention(column(0), column(4), column(10), column(1), &kernel.Options{
		Scoring: kernel.Scoring{Scale: 1,
			Softcap:    5,
			ALiBi:      []float32{0.5},
			QueryStart: []int{4}},
		Outputs: kernel.Outputs{Scores: column(scores...), ScoreStage: kernel.ScoresMasked},
	})
	fmt.Printf("%.3f %v\n", scores, err)

	// Output: [3.000] <nil>
}

// A sink takes part in the softmax and has no value: here it takes a third of the
// weight. LSE is the logarithm of what the weights were divided by, 3.
func ExampleOptions_sinks() {
	out, lse, weights := make([]float32, 1), make([]float32, 1), make([]float32, 2)
	err := kernel.Attention(column(out...), column(0), column(0, 0), column(3, 6), &kernel.Options{
		Scoring: kernel.Scoring{Sinks: []float32{0}},
		Outputs: kernel.Outputs{LSE: column(lse...), Weights: kernel.BHLD(weights, 1, 1, 1, 2)},
	})
	fmt.Printf("%.3f %.3f %.3f %v\n", out, lse, weights, err)

	// Output: [3.000] [1.099] [0.333 0.333] <nil>
}

// Factors of products in bfloat16 have 8 bits: of 1 + 2^-8 the last one is rounded off.
func ExampleOptions_bfloat16() {
	out, value := make([]float32, 1), float32(1+0x1p-8)
	for _, rounds := range []bool{false, true} {
		err := kernel.Attention(column(out...), column(1), column(2), column(value), &kernel.Options{
			Scoring: kernel.Scoring{BFloat16: rounds},
		})
		fmt.Println(out, err)
	}

	// Output:
	// [1.0039062] <nil>
	// [1] <nil>
}

// Half of the weights are dropped and the others doubled. A seed drops the same
// ones wherever and however often it is used.
func ExampleDropout() {
	weights := make([]float32, 8)
	err := kernel.Attention(column(0), column(0), column(0, 0, 0, 0, 0, 0, 0, 0), column(1, 2, 3, 4, 5, 6, 7, 8), &kernel.Options{
		Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, 1, 1, 8)},
		Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: 0.5, Seed: 42}},
	})
	fmt.Println(weights, err)

	// Output: [0.25 0 0 0 0 0.25 0 0.25] <nil>
}

// A function that scores keys by their distance from the query, as a Gaussian kernel
// does, instead of by their product.
func ExampleScoreTile() {
	q, k := []float32{1, 4}, []float32{0, 2, 10}
	gaussian := func(t *kernel.ScoreTile) {
		for x := range t.Keys {
			for r, row := range t.Rows {
				d := q[row.Query] - k[t.Key+x]
				t.Scores[x*t.Stride+r] = float32(d*d) * -1.442695 // log2 e: scores are in base 2
			}
		}
	}
	weights := make([]float32, 6)
	err := kernel.Attention(column(0, 0), column(q...), column(k...), column(1, 2, 3), &kernel.Options{
		Scoring: kernel.Scoring{Score: gaussian},
		Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, 1, 2, 3)},
	})
	fmt.Printf("%.3f %v\n", weights, err)

	// Output: [0.500 0.500 0.000 0.000 1.000 0.000] <nil>
}

// Keys that come chunk by chunk and need not be kept: the state covers all keys so far.
func ExampleAccumulatePartials() {
	const d = 1
	state, err := kernel.NewPartials(1, 1, 1, 1, d)
	if err != nil {
		log.Fatal(err)
	}
	for chunk, value := range []float32{1, 2, 6} {
		k, v := make([]float32, 256*d), make([]float32, 256*d)
		for i := range v {
			v[i] = value
		}
		err := kernel.AccumulatePartials(state, column(0), column(k...), column(v...), &kernel.PartialOptions{Scoring: kernel.Scoring{KeyStart: []int{chunk * 256}}})
		if err != nil {
			fmt.Println(err)
		}
	}
	out := make([]float32, d)
	err = kernel.MergePartials(column(out...), []kernel.Partials{*state}, kernel.MergeOptions{})
	fmt.Println(out, err)

	// Output: [3] <nil>
}
