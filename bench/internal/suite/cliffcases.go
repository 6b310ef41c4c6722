package suite

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
)

// cliffCases are the curves of each kind.
var cliffCases = map[string]func() []cliffCase{
	results.OverRows: rowCases, results.OverQueries: queryCases, results.OverSizes: sizeCases,
	results.OverLengths: lengthCases, results.OverPages: pageCases, results.OverMagnitudes: magnitudeCases,
}

// upTo returns all numbers from 1 to n.
func upTo(n int) (all []float64) {
	for i := range n {
		all = append(all, float64(i+1))
	}
	return all
}

// around returns all numbers up to 16, multiples of 8 up to 64, powers of two and what lies halfway
// between them, and the neighbours of each, up to n.
func around(n int) []float64 {
	all := upTo(16)
	add := func(x int) { all = append(all, float64(x-1), float64(x), float64(x+1)) }
	for x := 24; x <= 64; x += 8 {
		add(x)
	}
	for x := 64; x <= n; x *= 2 {
		add(x)
		add(x * 3 / 2)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(x float64) bool { return x > float64(n) })
}

// The size of the layers of curves, whose weights lie in L2.
const cliffOutputs, cliffInputs = 256, 1024

// rowCases are linear layers of all types of weights.
func rowCases() (all []cliffCase) {
	formats := [][]linear.Format{{linear.Q8_0, linear.Q4_0, linear.Q4_1, linear.IQ4_NL, linear.MXFP4}, {linear.Q4_K, linear.Q5_K, linear.Q6_K}}
	add := func(group string, types []calls.Weights) {
		for _, w := range types {
			layer := sync.OnceValues(func() (*linear.Linear, error) { return w.Layer(cliffOutputs, cliffInputs) })
			all = append(all, cliffCase{group: group, name: w.Name, at: upTo(64), call: func(at float64) (calls.Call, error) {
				l, err := layer()
				if err != nil {
					return nil, err
				}
				return calls.Product(l, numbers.Normals(int(at)*cliffInputs), w.Int8), nil
			}})
		}
	}
	add("linear layers", calls.Floats)
	for _, int8 := range []bool{false, true} {
		rows := map[bool]string{false: "float rows", true: "int8 rows"}[int8]
		add("linear layers, "+rows, calls.Quantized(int8, formats[0]...))
		add("linear layers of K-quants, "+rows, calls.Quantized(int8, formats[1]...))
	}
	return all
}

// keyValueCases are calls of attention with keys and values of all types. shape returns, for a
// number, how many queries and keys there are, and of which size.
func keyValueCases(group string, at []float64, heads, kvHeads int, shape func(at int) (queries, keys, size int)) (all []cliffCase) {
	for i := range calls.Types {
		t := &calls.Types[i]
		if t.Group > 0 {
			at = slices.DeleteFunc(slices.Clone(at), func(x float64) bool { _, _, size := shape(int(x)); return size%t.Group != 0 })
		}
		part := ", floats"
		if t.Scaled() {
			part = ", integers"
		}
		all = append(all, cliffCase{group: group + part, name: t.Name, at: at, call: func(at float64) (calls.Call, error) {
			queries, keys, size := shape(int(at))
			k := t.Sets(numbers.Normals(kvHeads*keys*size), 1, [4]int{1, kvHeads, keys, size})
			return calls.Attention(calls.Queries(heads, queries, size), k, k, t.Scoring), nil
		}})
	}
	return all
}

// queryCases decode several tokens at once.
func queryCases() []cliffCase {
	return keyValueCases("attention to 1024 keys", upTo(64), 4, 1, func(at int) (int, int, int) { return at, 1024, 64 })
}

// sizeCases are heads of all sizes.
func sizeCases() []cliffCase {
	at := upTo(40)
	for x := 48.0; x <= 256; x += 8 {
		at = append(at, x-1, x, x+1)
	}
	at = at[:len(at)-1]
	one := func(at int) (int, int, int) { return 1, 512, at }
	many := func(at int) (int, int, int) { return 64, 256, at }
	return slices.Concat(keyValueCases("one query", at, 4, 1, one), keyValueCases("64 queries", at, 1, 1, many))
}

// lengthCases are texts of all lengths.
func lengthCases() []cliffCase {
	one := func(at int) (int, int, int) { return 1, at, 64 }
	all := func(at int) (int, int, int) { return at, at, 64 }
	return slices.Concat(keyValueCases("one query", around(4096), 4, 1, one), keyValueCases("self-attention", around(4096), 1, 1, all))
}

// pageCases have pages of all sizes.
func pageCases() (all []cliffCase) {
	const keys, size = 1024, 64
	for i := range calls.Types {
		t := &calls.Types[i]
		for _, queries := range []int{1, 64} {
			group := map[int]string{1: "one query", 64: "64 queries"}[queries] + map[bool]string{false: ", floats", true: ", integers"}[t.Scaled()]
			all = append(all, cliffCase{group: group, name: t.Name, at: around(256), call: func(at float64) (calls.Call, error) {
				rows := int(at)
				pages := (keys + rows - 1) / rows
				table := &kernel.PageTable{Pages: make([][]int32, 1), Lengths: []int{keys}}
				for p := range pages {
					table.Pages[0] = append(table.Pages[0], int32(pages-1-p))
				}
				k := t.Sets(numbers.Normals(pages*rows*size), 1, [4]int{pages, 1, rows, size})
				k[0] = k[0].Paged(table)
				return calls.Attention(calls.Queries(4, queries, size), k, k, t.Scoring), nil
			}})
		}
	}
	return all
}

// magnitudes are numbers from the least float32 to the largest ones, with some more where functions
// reach their limits.
func magnitudes() (all []float64) {
	all = []float64{20, 50, 90, 100}
	for e := -45; e <= 38; e++ {
		if e < -35 || e%3 == 0 || e == 1 || e > 35 {
			x, _ := strconv.ParseFloat(fmt.Sprintf("1e%d", e), 64) // math.Pow10 is not exact
			all = append(all, x)
		}
	}
	slices.Sort(all)
	return all
}

// ofMagnitude returns n numbers up to a magnitude.
func ofMagnitude(at float64, n int) []float32 {
	x := numbers.Normals(n)
	for i := range x {
		x[i] = float32(math.Mod(float64(x[i]), 1) * at)
	}
	return x
}

// magnitudeCases have inputs, weights, gradients and caches of all magnitudes.
func magnitudeCases() (all []cliffCase) {
	add := func(group, name string, call func(x func(n int) []float32) (calls.Call, error)) {
		all = append(all, cliffCase{group: group, name: name, at: magnitudes(), call: func(at float64) (calls.Call, error) {
			return call(func(n int) []float32 { return ofMagnitude(at, n) })
		}})
	}
	const heads, queries, keys, size = 2, 64, 256, 64
	shape, cache := [4]int{1, heads, queries, size}, [4]int{1, heads, keys, size}
	tensor := func(x []float32, shape [4]int) kernel.Tensor { return calls.Types[0].Sets(x, 1, shape)[0] }
	n := numbers.Normals
	for _, part := range []string{"queries", "keys", "values"} {
		add("attention, 64 queries", part, func(x func(int) []float32) (calls.Call, error) {
			numbers := func(name string, count int) []float32 {
				if name == part {
					return x(count)
				}
				return n(count)
			}
			q, k, v := tensor(numbers("queries", heads*queries*size), shape), tensor(numbers("keys", heads*keys*size), cache), tensor(numbers("values", heads*keys*size), cache)
			return calls.Attention(q, []kernel.Tensor{k}, []kernel.Tensor{v}, kernel.Scoring{}), nil
		})
	}
	for i := range calls.Types {
		t := &calls.Types[i]
		group := map[bool]string{false: "attention, one query, keys and values of floats", true: "attention, one query, keys and values of integers"}[t.Scaled()]
		add(group, t.Name, func(x func(int) []float32) (calls.Call, error) {
			k := t.Sets(x(heads*keys*size), 1, cache)
			return calls.Attention(calls.Queries(heads, 1, size), k, k, t.Scoring), nil
		})
	}
	const rows, width = 16, 512
	matrix := func(x []float32) linear.Matrix { return linear.DenseMatrix(x, len(x)/width, width) }
	layer := func(group string, most float64, int8 bool, make func(w linear.Matrix, bias []float32, e kernel.Exec) (*linear.Linear, error)) {
		for _, part := range []string{"rows", "weights"} {
			add(group, part, func(x func(int) []float32) (calls.Call, error) {
				in, weights := x, n
				if part == "weights" {
					in, weights = n, x
				}
				l, err := make(matrix(weights(width*width)), nil, kernel.Exec{})
				if err != nil {
					return nil, err
				}
				return calls.Product(l, in(rows*width), int8), nil
			})
			if last := &all[len(all)-1]; part == "weights" {
				last.at = slices.DeleteFunc(last.at, func(x float64) bool { return x > most })
			}
		}
	}
	layer("linear layer of float32", math.Inf(1), false, linear.New)
	layer("linear layer, products in bfloat16", math.Inf(1), false, linear.RoundBFloat16)
	layer("linear layer of int8, int8 rows", 1e6, true, linear.QuantizeInt8) // larger weights have scales beyond binary16
	add("gradients", "of attention", func(x func(int) []float32) (calls.Call, error) {
		k := tensor(n(heads*keys*size), cache)
		return calls.Gradients(tensor(n(heads*queries*size), shape), k, k, tensor(x(heads*queries*size), shape))
	})
	add("gradients", "of a linear layer", func(x func(int) []float32) (calls.Call, error) {
		g := linear.Gradients{X: matrix(n(rows * width)), W: matrix(n(width * width))}
		dy, in, w := matrix(x(rows*width)), matrix(n(rows*width)), matrix(n(width*width))
		return func(e kernel.Exec) error { return linear.Backward(g, dy, in, w, linear.ProductOptions{Exec: e}) }, nil
	})
	row := [4]int{1, 1, rows, width}
	add("gradients", "of RMSNorm", func(x func(int) []float32) (calls.Call, error) {
		g, dy, in := norm.Gradients{X: tensor(n(rows*width), row)}, tensor(x(rows*width), row), tensor(n(rows*width), row)
		return func(e kernel.Exec) error {
			return norm.RMSNormBackward(g, dy, in, nil, 1e-6, norm.BackwardOptions{Exec: e})
		}, nil
	})
	add("functions", "RMSNorm", func(x func(int) []float32) (calls.Call, error) {
		out, in := tensor(n(rows*width), row), tensor(x(rows*width), row)
		return func(e kernel.Exec) error { return norm.RMSNorm(out, in, nil, 1e-6, norm.Options{Exec: e}) }, nil
	})
	for i, function := range []func(out, in []float32, e kernel.Exec) error{activation.SiLU, activation.GELU} {
		add("functions", []string{"SiLU", "GELU"}[i], func(x func(int) []float32) (calls.Call, error) {
			out, in := n(rows*width), x(rows*width)
			return func(e kernel.Exec) error { return function(out, in, e) }, nil
		})
	}
	return all
}
