//go:build moving

package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/rope"
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
		kernel.Options{})
	fmt.Println(out, err)

	// Output: [3 4 1 2] <nil>
}

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
		kernel.Options{Mask: kernel.Causal(past)})
	fmt.Println(out, err)

	// Output: [1 1.5 1 1.5 11 11.5 11 11.5] <nil>
}

// Two texts of 4 and 2 tokens, padded to 4. What lies in the padding is never
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
		kernel.Options{Mask: kernel.KeyLengths([]int{4, 2})})
	fmt.Println(out, err)

	// Output: [2.5 2.5 2.5 2.5 5.5 5.5 5.5 5.5] <nil>
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
		kernel.Options{Mask: mask})
	fmt.Println(out, err)

	// Output: [0 1 2 3 0 1 1 1] <nil>
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
	fmt.Println(numeric.QuantizeInt8(keys[:length*d], keyScale[:length], k, d))
	fmt.Println(numeric.QuantizeInt8(values[:length*d], valueScale[:length], v, d))

	q := []kernel.F16{numeric.ToF16(900), 0, 0, 0}
	out := make([]kernel.F16, d)
	err := kernel.Attention(
		kernel.BHLD(out, batch, heads, 1, d),
		kernel.BHLD(q, batch, heads, 1, d),
		kernel.BHLD(keys, batch, heads, length, d).Scaled(&keyScales),
		kernel.BHLD(values, batch, heads, length, d).Scaled(&valueScales),
		kernel.Options{})
	fmt.Println(out[0].Float32(), out[1].Float32(), out[2].Float32(), out[3].Float32(), err)

	// Output:
	// <nil>
	// <nil>
	// 127 64 -127 0 <nil>
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
	err := kernel.Attention(x(out), x(q), x(k), x(v), kernel.Options{Mask: mask})
	fmt.Println(out, err)

	// Output: [1 1.5 2.5 10 15 20] <nil>
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
		kernel.Options{
			Bias:    kernel.BHLD(bias, 1, 1, 1, 2),
			LSE:     kernel.BHLD(lse, 1, 1, 1, 1),
			Weights: kernel.BHLD(weights, 1, 1, 1, 2),
		})
	fmt.Printf("%.4f %.4f %.4f %v\n", out, lse, weights, err)

	// Output: [5.0000] [1.0986] [0.3333 0.6667] <nil>
}

// A sequence of 600 keys in two shards, each computed by itself, and put together:
// the bits are those of one call.
func ExampleMerge() {
	const heads, queries, keys, cut, d = 1, 2, 600, 512, 1 // cut at a multiple of 256
	q, k, v := make([]float32, queries*d), make([]float32, keys*d), make([]float32, keys*d)
	for j := range v {
		k[j], v[j] = float32(j%7), float32(j%5)
	}
	whole, merged := make([]float32, queries*d), make([]float32, queries*d)
	x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, heads, len(s), d) }
	fmt.Println(kernel.Attention(x(whole), x(q), x(k), x(v), kernel.Options{}))

	var parts []kernel.Partials
	for _, shard := range [][2]int{{0, cut}, {cut, keys}} {
		lo, hi := shard[0], shard[1]
		p := kernel.NewPartials((hi-lo+255)/256, 1, heads, queries, d)
		fmt.Println(kernel.AttentionPartials(p, x(q), x(k[lo:hi]), x(v[lo:hi]), kernel.Options{KeyStart: []int{lo}}))
		parts = append(parts, *p)
	}
	fmt.Println(kernel.MergePartials(x(merged), parts, kernel.MergeOptions{}), slices.Equal(merged, whole))

	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil> true
}

// A cache of four pages of two tokens, used by two texts that share a beginning.
func ExampleCache() {
	const d = 1
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: d, PageSize: 2, Pages: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := cache.NewSequence()
	batch, _ := cache.NewBatch(text)
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), d) }
	fmt.Println(batch.Append(rows(0, 0, 0), rows(1, 2, 3)), cache.FreePages())

	other, _ := text.Fork(3) // shares both pages, until it grows
	batch.Set(other)
	fmt.Println(batch.Append(rows(0), rows(6)), cache.FreePages())

	k, v := batch.View(0)
	out := make([]float32, 1)
	err = kernel.Attention(rows(out...), rows(0), k, v, batch.Options())
	fmt.Println(out, err)

	// Output:
	// <nil> 2
	// <nil> 1
	// [3] <nil>
}

// A layer of two outputs and three inputs, its weights packed once and used for two
// rows.
func ExampleLinear() {
	weights := []float32{
		1, 2, 3,
		4, 5, 6,
	}
	layer, err := linear.New(linear.DenseMatrix(weights, 2, 3), []float32{100, 200})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{1, 0, 0, 0, 1, 1}
	out := make([]float32, 2*2)
	err = layer.Apply(linear.DenseMatrix(out, 2, 2), linear.DenseMatrix(x, 2, 3), linear.Options{})
	fmt.Println(out, err)

	// Output: [101 204 105 211] <nil>
}

// Two heads of two tokens at positions 0 and 3: one pair a head, one radian a
// position.
func ExampleRope() {
	rope, err := rope.New(rope.Config{Dims: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	const batch, tokens, heads, d = 1, 2, 2, 2
	q := []float32{
		1, 0, 0, 1,
		1, 0, 0, 1,
	}
	err = rope.Apply(kernel.BLHD(q, batch, tokens, heads, d), []int{0, 3})
	fmt.Printf("%.3f %v\n", q, err)

	// Output: [1.000 0.000 0.000 1.000 -0.990 0.141 -0.141 -0.990] <nil>
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
	err := kernel.Attention(kernel.BLHD(out, batch, length, heads, d), q, k, v, kernel.Options{})
	fmt.Println(out, err)

	// Output: [20 20 20 20] <nil>
}

// Every tier gives the same bits, with any number of threads.
func ExampleOptions() {
	const batch, heads, length, d = 1, 4, 200, 32
	x := make([]float32, batch*heads*length*d)
	for i := range x {
		x[i] = float32(i%37) / 16
	}
	t := kernel.BHLD(x, batch, heads, length, d)

	want := make([]float32, len(x))
	err := kernel.Attention(kernel.BHLD(want, batch, heads, length, d), t, t, t,
		kernel.Options{Exec: kernel.Exec{Tier: "generic", Threads: 1}})
	fmt.Println(err)

	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue // tier.Reason says why
		}
		out := make([]float32, len(x))
		err := kernel.Attention(kernel.BHLD(out, batch, heads, length, d), t, t, t,
			kernel.Options{Exec: kernel.Exec{Tier: tier.Name, Threads: 4}})
		if err != nil || !slices.Equal(out, want) {
			fmt.Println(tier.Name, "differs", err)
		}
	}

	// Output: <nil>
}

// A program with workers of its own lends them to the call.
func ExampleOptions_run() {
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
		kernel.BHLD(v, batch, heads, length, d), kernel.Options{Exec: kernel.Exec{ParallelFor: inTurn}})
	fmt.Println(out, err)

	// Output: [2.5 2.5 2.5 2.5] <nil>
}

func ExampleArgumentError() {
	x := make([]float32, 2*4)
	out := make([]float32, 2*4)
	t := kernel.BHLD(x, 1, 1, 2, 4)
	long := kernel.BHLD(x, 1, 1, 3, 4) // needs 12 elements

	err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 4), t, long, t, kernel.Options{})
	var bad *kernel.ArgumentError
	if errors.As(err, &bad) {
		fmt.Println("argument:", bad.Arg)
		fmt.Println("got:     ", bad.Got)
		fmt.Println("want:    ", bad.Want)
	}

	// Output:
	// argument: k
	// got:      [B H L D] = [1 1 3 4] with strides [12 12 4] in 8 elements
	// want:     a slice of at least 12 elements
}

func ExampleTierError() {
	x := make([]float32, 4)
	out := make([]float32, 4)
	t := kernel.BHLD(x, 1, 1, 1, 4)

	err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 4), t, t, t, kernel.Options{Exec: kernel.Exec{Tier: "mmx"}})
	var bad *kernel.TierError
	if errors.As(err, &bad) {
		fmt.Println(bad.Tier, "asked for by", bad.Source)
	}

	// Output: mmx asked for by Options.Tier
}

// TestReadme compares the README's Go code with the examples above, which
// compile and run: each block must stand in one of them, line by line.
func TestReadme(t *testing.T) {
	read := func(name string) (lines []string) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	readme := read("../README.md")
	examples := "\n" + strings.Join(read("example_test.go"), "\n") + "\n"

	blocks := 0
	for i, line := range readme {
		if line != "```go" {
			continue
		}
		blocks++
		n := slices.Index(readme[i+1:], "```")
		if n < 0 {
			t.Fatalf("README.md:%d: the block has no end", i+1)
		}
		if !strings.Contains(examples, "\n"+strings.Join(readme[i+1:i+1+n], "\n")+"\n") {
			t.Errorf("README.md:%d: the block is not in example_test.go", i+1)
		}
	}
	if blocks == 0 {
		t.Error("README.md has no Go code")
	}
}
