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
	fmt.Println(kernel.QuantizeInt8(keys[:length*d], keyScale[:length], k, d))
	fmt.Println(kernel.QuantizeInt8(values[:length*d], valueScale[:length], v, d))

	q := []kernel.F16{kernel.ToF16(900), 0, 0, 0}
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
		kernel.Options{Tier: "generic", Threads: 1})
	fmt.Println(err)

	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue // tier.Reason says why
		}
		out := make([]float32, len(x))
		err := kernel.Attention(kernel.BHLD(out, batch, heads, length, d), t, t, t,
			kernel.Options{Tier: tier.Name, Threads: 4})
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
		kernel.BHLD(v, batch, heads, length, d), kernel.Options{Run: inTurn})
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

	err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 4), t, t, t, kernel.Options{Tier: "mmx"})
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
