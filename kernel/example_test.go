package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// One head, two queries, three keys. The scores are far apart, so that every
// query takes the value of one key.
func Example() {
	const batch, heads, queries, keys, d = 1, 1, 2, 3, 2
	q := []float32{0, 900, 900, 0}
	k := []float32{1, 0, 0, 1, -1, 0}
	v := []float32{1, 2, 3, 4, 5, 6}
	out := make([]float32, batch*heads*queries*d)

	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, queries, d),
		kernel.BHLD(q, batch, heads, queries, d),
		kernel.BHLD(k, batch, heads, keys, d),
		kernel.BHLD(v, batch, heads, keys, d),
		nil)
	fmt.Println(out, err)

	// Output: [3 4 1 2] <nil>
}

// A prompt: each query sees the keys up to its own. With queries of zeros the result is the mean of
// the values.
func ExampleAttention() {
	const batch, heads, length, size = 1, 1, 3, 1
	q, k, v, out := []float32{0, 0, 0}, []float32{5, 6, 7}, []float32{1, 3, 8}, make([]float32, 3)

	view := func(x []float32) kernel.Tensor { return kernel.BHLD(x, batch, heads, length, size) }
	causal := &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}
	err := kernel.Attention(view(out), view(q), view(k), view(v), causal)
	fmt.Println(out, err)

	// Output: [1 2 4] <nil>
}

// The output of one projection, a row [q0 q1 k0 k1 v0 v1] per token, is used as
// it lies; the result is laid out as the next projection reads it.
func ExamplePackedQKV() {
	const batch, length, heads, kvHeads, d = 1, 2, 2, 2, 1
	qkv := []float32{
		0, 900, 1, 1, 10, 20,
		0, 900, 0, 0, 30, 40,
	}
	out := make([]float32, batch*length*heads*d)

	q, k, v := kernel.PackedQKV(qkv, batch, length, heads, kvHeads, d)
	err := kernel.Attention(kernel.BLHD(out, batch, length, heads, d), q, k, v, nil)
	fmt.Println(out, err)

	// Output: [20 20 20 20] <nil>
}

// A cache of int8 elements, each row with one scale, and queries and outputs in
// float16. The scales' tensor is made once, for all that the cache has room for.
func ExampleTensor_Scaled() {
	const batch, heads, capacity, d = 1, 1, 100, 4
	keys, values := make([]int8, capacity*d), make([]int8, capacity*d)
	keyScale, valueScale := make([]float32, capacity), make([]float32, capacity)
	keyScales := kernel.BHLD(keyScale, batch, heads, capacity, 1)
	valueScales := kernel.BHLD(valueScale, batch, heads, capacity, 1)

	// Two tokens come in: quantise their keys and values.
	const length = 2
	k := []float32{0, 0, 0, 0, 8, 0, 0, 0}
	v := []float32{1, 2, 3, 4, 127, 64, -127, 0}
	fmt.Println(numeric.QuantizeInt8(keys[:length*d], keyScale[:length], k, d, kernel.Exec{}))
	fmt.Println(numeric.QuantizeInt8(values[:length*d], valueScale[:length], v, d, kernel.Exec{}))

	q := []kernel.F16{numeric.ToF16(900), 0, 0, 0}
	out := make([]kernel.F16, d)
	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, 1, d),
		kernel.BHLD(q, batch, heads, 1, d),
		kernel.BHLD(keys, batch, heads, length, d).Scaled(&keyScales),
		kernel.BHLD(values, batch, heads, length, d).Scaled(&valueScales),
		nil)
	fmt.Println(out[0].Float32(), out[1].Float32(), out[2].Float32(), out[3].Float32(), err)

	// Output:
	// <nil>
	// <nil>
	// 127 64 -127 0 <nil>
}

// Keys and values of two sequences in pages of the program's own memory, laid out as in
// FlashInfer and vLLM: [pages, page size, heads, D]. The first sequence has the pages 2
// and 0, of which it fills one and a half, the second one has page 3. Queries of zeros
// weigh all keys alike, so that the results are means of the values.
func ExampleTensor_Paged() {
	const pages, size, heads, d = 4, 2, 1, 1
	k := make([]float32, pages*size*heads*d)
	v := []float32{0, 1, 20, 21, 30, 31, 40, 41}
	table := kernel.PageTable{Pages: [][]int32{{2, 0}, {3}}, Lengths: []int{3, 2}}

	out := make([]float32, 2)
	err := kernel.Attention(
		kernel.BHLD(out, 2, 1, 1, d),
		kernel.BHLD(make([]float32, 2), 2, 1, 1, d),
		kernel.BLHD(k, pages, size, heads, d).Paged(&table),
		kernel.BLHD(v, pages, size, heads, d).Paged(&table),
		nil)
	fmt.Println(out, err)

	// Output: [20.333334 40.5] <nil>
}

// Three sequences of 2, 1 and 3 tokens, one after the other as they come out of a
// projection. Each sees its own tokens alone.
func ExampleRagged() {
	const heads, d = 1, 1
	starts := []int{0, 2, 3, 6}
	q, k := make([]float32, 6), make([]float32, 6)
	v := []float32{1, 3, 10, 20, 30, 40}
	out := make([]float32, 6)
	err := kernel.Attention(
		kernel.Ragged(out, starts, heads, d),
		kernel.Ragged(q, starts, heads, d),
		kernel.Ragged(k, starts, heads, d),
		kernel.Ragged(v, starts, heads, d),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
	fmt.Println(out, err)

	// Output: [1 2 10 20 25 30] <nil>
}

// A part of a larger memory: the second of two heads, and every second token of it.
func ExampleStrided() {
	const tokens, heads, d = 4, 2, 1
	data := []float32{0, 1, 10, 11, 20, 21, 30, 31} // [tokens, heads, d]
	v := kernel.Strided(data[1:], [4]int{1, 1, 2, d}, [3]int{0, 0, 2 * heads * d})
	fmt.Println(v)

	zeros, out := make([]float32, 2), make([]float32, 1)
	err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, d), kernel.BHLD(zeros, 1, 1, 1, d), kernel.BHLD(zeros, 1, 1, 2, d), v, nil)
	fmt.Println(out, err)

	// Output:
	// float32 [B H L D] = [1 1 2 1] with strides [0 0 4]
	// [11] <nil>
}

// What there is beside the output: the logarithm of the sum of a row's
// exponentials, and its weights. The bias makes one key twice as likely as the
// other.
func ExampleOptions_outputs() {
	q, k, v := []float32{0}, []float32{0, 0}, []float32{3, 6}
	out, lse, weights := make([]float32, 1), make([]float32, 1), make([]float32, 2)
	bias := []float32{0, float32(math.Ln2)}
	err := kernel.Attention(
		kernel.BHLD(out, 1, 1, 1, 1), kernel.BHLD(q, 1, 1, 1, 1), kernel.BHLD(k, 1, 1, 2, 1), kernel.BHLD(v, 1, 1, 2, 1),
		&kernel.Options{
			Scoring: kernel.Scoring{Bias: kernel.BHLD(bias, 1, 1, 1, 2)},
			Outputs: kernel.Outputs{LSE: kernel.BHLD(lse, 1, 1, 1, 1), Weights: kernel.BHLD(weights, 1, 1, 1, 2)},
		})
	fmt.Printf("%.4f %.4f %.4f %v\n", out, lse, weights, err)

	// Output: [5.0000] [1.0986] [0.3333 0.6667] <nil>
}

// Two machines have a part of the keys each. The second one gets a state of one block from the
// first.
func ExampleMergeInto() {
	const queries, keys, cut, d = 2, 600, 512, 1 // cut at a multiple of 256
	q, k, v := make([]float32, queries*d), make([]float32, keys*d), make([]float32, keys*d)
	for j := range v {
		k[j], v[j] = float32(j%7), float32(j%5)
	}
	whole, handedOn := make([]float32, queries*d), make([]float32, queries*d)
	x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, len(s), d) }
	fmt.Println(kernel.Attention(x(whole), x(q), x(k), x(v), nil))

	state, err := kernel.NewPartials(1, 1, 1, queries, d)
	fmt.Println(err)
	for _, shard := range [][2]int{{0, cut}, {cut, keys}} {
		lo, hi := shard[0], shard[1]
		p, err := kernel.NewPartials((hi-lo+255)/256, 1, 1, queries, d) // needs no state: machines compute side by side
		fmt.Println(err)
		fmt.Println(kernel.AttentionPartials(p, x(q), x(k[lo:hi]), x(v[lo:hi]), &kernel.PartialOptions{Scoring: kernel.Scoring{KeyStart: []int{lo}}}))
		fmt.Println(kernel.MergeInto(state, []kernel.Partials{*p}, kernel.Exec{}))
	}
	fmt.Println(kernel.MergePartials(x(handedOn), []kernel.Partials{*state}, kernel.MergeOptions{}), slices.Equal(handedOn, whole))

	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil> true
}

// A sequence of 600 keys in two shards, each computed by itself, and put together: the bits equal
// one call's.
func ExampleMergePartials() {
	const heads, queries, keys, cut, d = 1, 2, 600, 512, 1 // cut at a multiple of 256
	q, k, v := make([]float32, queries*d), make([]float32, keys*d), make([]float32, keys*d)
	for j := range v {
		k[j], v[j] = float32(j%7), float32(j%5)
	}
	whole, merged := make([]float32, queries*d), make([]float32, queries*d)
	x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, heads, len(s), d) }
	fmt.Println(kernel.Attention(x(whole), x(q), x(k), x(v), nil))

	var parts []kernel.Partials
	for _, shard := range [][2]int{{0, cut}, {cut, keys}} {
		lo, hi := shard[0], shard[1]
		p, err := kernel.NewPartials((hi-lo+255)/256, 1, heads, queries, d)
		fmt.Println(err)
		fmt.Println(kernel.AttentionPartials(p, x(q), x(k[lo:hi]), x(v[lo:hi]), &kernel.PartialOptions{Scoring: kernel.Scoring{KeyStart: []int{lo}}}))
		parts = append(parts, *p)
	}
	fmt.Println(kernel.MergePartials(x(merged), parts, kernel.MergeOptions{}), slices.Equal(merged, whole))

	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil> true
}

// Additive scores, as in the attention of Bahdanau: each key is compared with the query by
// a small network with one hidden unit for each number.
func ExampleAdditive() {
	const keys, hidden = 2, 2
	q, k := []float32{0, 0}, []float32{1, 0, 0, -1}
	v, out := []float32{3, 6}, make([]float32, 1)
	weights, scores := []float32{1, 2}, make([]float32, keys)
	err := kernel.Additive(
		kernel.BHLD(out, 1, 1, 1, 1), kernel.BHLD(q, 1, 1, 1, hidden), kernel.BHLD(k, 1, 1, keys, hidden), kernel.BHLD(v, 1, 1, keys, 1),
		weights, &kernel.Options{Outputs: kernel.Outputs{Scores: kernel.BHLD(scores, 1, 1, 1, keys)}})
	fmt.Printf("%.3f %.3f %v\n", scores, out, err)

	// Output: [0.762 -1.523] [3.277] <nil>
}

// Every tier gives the same bits, with any number of threads.
func ExampleExec() {
	const batch, heads, length, d = 1, 4, 200, 32
	x := make([]float32, batch*heads*length*d)
	for i := range x {
		x[i] = float32(i%37) / 16
	}
	t := kernel.BHLD(x, batch, heads, length, d)

	generic, err := kernel.TierNamed("generic")
	fmt.Println(err)
	want := make([]float32, len(x))
	err = kernel.Attention(kernel.BHLD(want, batch, heads, length, d), t, t, t,
		&kernel.Options{Exec: kernel.Exec{Tier: generic, Threads: 1}})
	fmt.Println(err)

	for _, tier := range kernel.Tiers() {
		out := make([]float32, len(x))
		err := kernel.Attention(kernel.BHLD(out, batch, heads, length, d), t, t, t,
			&kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 4}})
		if err != nil || !slices.Equal(out, want) {
			fmt.Println(tier, "differs", err)
		}
	}

	// Output:
	// <nil>
	// <nil>
}

// A program with workers of its own lends them to the call.
func ExampleExec_parallelFor() {
	const batch, heads, length, d = 1, 1, 4, 1
	x := []float32{0, 0, 0, 0}
	v := []float32{1, 2, 3, 4}
	out := make([]float32, len(v))

	inTurn := func(n int, task func(i int)) {
		for i := range n {
			task(i)
		}
	}
	t := kernel.BHLD(x, batch, heads, length, d)
	err := kernel.Attention(kernel.BHLD(out, batch, heads, length, d), t, t,
		kernel.BHLD(v, batch, heads, length, d), &kernel.Options{Exec: kernel.Exec{ParallelFor: inTurn}})
	fmt.Println(out, err)

	// Output: [2.5 2.5 2.5 2.5] <nil>
}

// The tiers that run on this CPU, best first. The last one runs everywhere.
func ExampleTiers() {
	tiers := kernel.Tiers()
	fmt.Println(tiers[len(tiers)-1])

	// Output: generic
}

// A program chooses a tier once, for all calls. No other tier takes over silently.
func ExampleTierNamed() {
	_, err := kernel.TierNamed("mmx")
	fmt.Println(errors.Is(err, kernel.ErrTier))
	generic, err := kernel.TierNamed("generic")
	fmt.Println(generic, err)

	// Output:
	// true
	// generic <nil>
}

// Numbers that decide about speed alone are changed for a measurement, in a tier of their own.
func ExampleTier_Tuned() {
	generic, err := kernel.TierNamed("generic")
	fmt.Println(err)
	tuned, err := generic.Tuned("SkinnyRows=8,PrefetchBytes=4096")
	fmt.Println(err)
	fmt.Println(strings.Split(tuned.Tuning(), ",")[:2])
	fmt.Println(strings.Split(generic.Tuning(), ",")[:2])

	// Output:
	// <nil>
	// <nil>
	// [MainLanes=8 SkinnyRows=8]
	// [MainLanes=8 SkinnyRows=16]
}

// Every error says which argument of which function it is about, what was given and what was
// wanted.
func ExampleError() {
	x := make([]float32, 2*4)
	out := make([]float32, 2*4)
	t := kernel.BHLD(x, 1, 1, 2, 4)
	long := kernel.BHLD(x, 1, 1, 3, 4) // needs 12 elements

	err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 4), t, long, t, nil)
	var bad *kernel.Error
	if errors.As(err, &bad) {
		fmt.Println("where:", bad.Where)
		fmt.Println("got:  ", bad.Got)
		fmt.Println("want: ", bad.Want)
	}

	// Output:
	// where: kernel.Attention: k
	// got:   [B H L D] = [1 1 3 4] with strides [12 12 4] in 8 elements
	// want:  a slice of at least 12 elements
}

// A panic in Options.Score on a goroutine of the pool becomes a panic of the call.
func ExampleTaskPanic() {
	defer func() {
		var p *kernel.TaskPanic
		value := recover()
		if err, ok := value.(error); ok && errors.As(err, &p) { // on another goroutine
			value = p.Value
		}
		fmt.Println("recovered:", value)
	}()
	x, out := make([]float32, 1000), make([]float32, 1000)
	t := kernel.BHLD(x, 1, 1, 1000, 1)
	kernel.Attention(kernel.BHLD(out, 1, 1, 1000, 1), t, t, t, &kernel.Options{Scoring: kernel.Scoring{
		Score: func(*kernel.ScoreTile) { panic("no such score") },
	}})

	// Output: recovered: no such score
}
