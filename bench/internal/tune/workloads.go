package tune

import (
	"fmt"
	"runtime"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// manySets of keys and values of 16 MB are more than caches hold.
const manySets = 12

// A workload is a call that is timed, on one tier and another.
type workload struct {
	name string
	call func(tier kernel.Tier) error
}

// attention returns a call on one thread with the next of sets different keys and values each
// time, so that they come from memory if they are many.
func attention(name string, heads, kvHeads, lq, lk, d, sets, threads int) workload {
	return attentionOn(numbers.Huge(sets*kvHeads*lk*d), name, heads, kvHeads, lq, lk, d, sets, threads)
}

// attentionOn is attention with the memory of the keys and values.
func attentionOn[E kernel.Element](x []E, name string, heads, kvHeads, lq, lk, d, sets, threads int) workload {
	var k []kernel.Tensor
	for i := range sets {
		k = append(k, kernel.BHLD(x[i*kvHeads*lk*d:][:kvHeads*lk*d], 1, kvHeads, lk, d))
	}
	q := kernel.BHLD(numbers.Normals(heads*lq*d), 1, heads, lq, d)
	out := kernel.BHLD(make([]float32, heads*lq*d), 1, heads, lq, d)
	o, next := kernel.Options{Exec: kernel.Exec{Threads: threads}}, 0
	return workload{name, func(tier kernel.Tier) error {
		next++
		o.Tier = tier
		return kernel.Attention(out, q, k[next%sets], k[(next+sets/2)%sets], &o)
	}}
}

func prefill() ([]workload, error) {
	return []workload{
		attention("8 × 1024 × 64", 8, 8, 1024, 1024, 64, 1, 1),
		attention("2 × 1024 × 128", 2, 2, 1024, 1024, 128, 1, 1),
		attention("12 × 128 × 64", 12, 12, 128, 128, 64, 1, 1),
	}, nil
}

// decode reads keys and values from L2, L3 and memory, for groups of 4 query heads and for one.
func decode() ([]workload, error) {
	return []workload{
		attention("L2", 4, 1, 1, 512, 128, 1, 1),
		attention("L3", 32, 8, 1, 1024, 128, 1, 1),
		attention("memory", 32, 8, 1, 4096, 128, manySets, 1),
		attention("L3, 1 head", 8, 8, 1, 1024, 128, 1, 1),
		attention("memory, 1 head", 8, 8, 1, 4096, 128, manySets, 1),
	}, nil
}

// draft has a few queries per key head, with keys and values from L3 and from memory.
func draft() (w []workload, err error) {
	for _, rows := range []int{6, 8, 12, 16, 28, 40, 56} {
		w = append(w, attention(fmt.Sprintf("%d, L3", rows), 4, 4, rows, 1024, 128, 1, 1))
		w = append(w, attention(fmt.Sprintf("%d, memory", rows), 4, 4, rows, 1024, 128, 48, 1))
	}
	return w, nil
}

// fullTiles has as many rows as tiles have lanes, and one block of keys.
func fullTiles() (w []workload, err error) {
	for _, rows := range []int{8, 16, 24, 32} {
		w = append(w, attention(fmt.Sprint(rows), 8, 8, rows, 256, 64, 1, 1))
	}
	return w, nil
}

// fullHalfTiles are fullTiles with keys and values in float16.
func fullHalfTiles() (w []workload, err error) {
	for _, rows := range []int{8, 16, 24, 32} {
		x := numbers.Convert(numbers.Huge(8*256*64), numeric.ToF16)
		w = append(w, attentionOn(x, fmt.Sprint(rows), 8, 8, rows, 256, 64, 1, 1))
	}
	return w, nil
}

// plainCalls have at most one block of keys, and 64 columns.
func plainCalls() (w []workload, err error) {
	for _, keys := range []int{96, 128, 192, 256} {
		w = append(w, attention(fmt.Sprintf("%d keys", keys), 12, 12, 128, keys, 64, 1, 1))
	}
	return w, nil
}

// gradients returns calls of the backward pass on one thread, whose keys and values take 256 KiB to
// 4 MiB for each head.
func gradients() (w []workload, err error) {
	for _, x := range []struct{ heads, n, d int }{{8, 512, 64}, {8, 1024, 64}, {4, 2048, 64}, {2, 2048, 128}, {1, 4096, 128}} {
		c, err := gradient(x.heads, x.n, x.d)
		if err != nil {
			return nil, err
		}
		w = append(w, c)
	}
	return w, nil
}

// gradient returns the backward pass of n queries and keys.
func gradient(heads, n, d int) (workload, error) {
	floats := func() kernel.Tensor { return kernel.BHLD(numbers.Normals(heads*n*d), 1, heads, n, d) }
	q, k, v, out, dout := floats(), floats(), floats(), floats(), floats()
	g := kernel.Gradients{Q: floats(), K: floats(), V: floats()}
	o, lse := kernel.BackwardOptions{Exec: kernel.Exec{Threads: 1}}, kernel.BHLD(make([]float32, heads*n), 1, heads, n, 1)
	err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: o.Exec, Outputs: kernel.Outputs{LSE: lse}})
	return workload{fmt.Sprintf("%d × %d × %d", heads, n, d), func(tier kernel.Tier) error {
		o.Tier = tier
		return kernel.AttentionBackward(g, dout, q, k, v, lse, &o)
	}}, err
}

// threads has calls that are worth one thread or several.
func threads() (w []workload, err error) {
	for _, n := range []int{16, 32, 64, 128, 256} {
		w = append(w, attention(fmt.Sprintf("12 × %d × 64", n), 12, 12, n, n, 64, 1, runtime.GOMAXPROCS(0)))
	}
	return w, nil
}

// product returns a call of a linear layer on one thread.
func product(l *linear.Linear, rows, n, k int) workload {
	x := linear.DenseMatrix(numbers.Normals(rows*k), rows, k)
	out := linear.DenseMatrix(make([]float32, rows*n), rows, n)
	o := linear.Options{Exec: kernel.Exec{Threads: 1}}
	return workload{fmt.Sprintf("%d rows", rows), func(tier kernel.Tier) error {
		o.Tier = tier
		return l.Apply(out, x, o)
	}}
}

const (
	size       = 1024 // inputs and outputs of linear layers
	manyLayers = 80   // of 2 or 4 MB are more than most caches hold
)

func weights() ([]workload, error) {
	l, err := linear.New(linear.DenseMatrix(numbers.Normals(size*size), size, size), nil, kernel.Exec{})
	if err != nil {
		return nil, err
	}
	return []workload{product(l, 32, size, size), product(l, 128, size, size)}, nil
}

// fewRows have weights of float32 and float16 that come from memory: each call has the next layer.
func fewRows() (w []workload, err error) {
	x := numbers.Normals(size * size)
	for _, m := range []linear.Matrix{linear.DenseMatrix(x, size, size), linear.DenseMatrix(toF16(x), size, size)} {
		layers := make([]*linear.Linear, manyLayers)
		for i := range layers {
			if layers[i], err = linear.New(m, nil, kernel.Exec{}); err != nil {
				return nil, err
			}
		}
		for _, rows := range []int{1, 2, 4, 8, 9, 12, 16, 32} {
			calls := make([]workload, len(layers))
			for i, l := range layers {
				calls[i] = product(l, rows, size, size)
			}
			next := 0
			w = append(w, workload{fmt.Sprintf("%d %v", rows, m.DType()), func(tier kernel.Tier) error {
				next++
				return calls[next%len(calls)].call(tier)
			}})
		}
	}
	return w, nil
}

func toF16(x []float32) []kernel.F16 {
	h := make([]kernel.F16, len(x))
	for i, v := range x {
		h[i] = numeric.ToF16(v)
	}
	return h
}

func halves() (w []workload, err error) {
	l, err := linear.New(linear.DenseMatrix(toF16(numbers.Normals(size*size)), size, size), nil, kernel.Exec{})
	if err != nil {
		return nil, err
	}
	return fewAndMany(l), nil
}

func rounded() (w []workload, err error) {
	l, err := linear.RoundBFloat16(linear.DenseMatrix(numbers.Normals(size*size), size, size), nil, kernel.Exec{})
	if err != nil {
		return nil, err
	}
	return fewAndMany(l), nil
}

// fewAndMany are products with few rows to many.
func fewAndMany(l *linear.Linear) (w []workload) {
	for _, rows := range []int{1, 2, 4, 8, 16, 48} {
		w = append(w, product(l, rows, size, size))
	}
	return w
}

func quantized() (w []workload, err error) {
	const blockBytes = 34
	data := make([]byte, size*size/32*blockBytes)
	for i := range data {
		data[i] = byte(i * 167 >> 3)
		if i%blockBytes == 1 {
			data[i] = 0x20 // a small scale
		}
	}
	l, err := linear.FromBlocks(linear.Q8_0, data, size, size, nil, kernel.Exec{})
	if err != nil {
		return nil, err
	}
	for _, rows := range []int{1, 2, 4, 8, 12, 16, 24} {
		w = append(w, product(l, rows, size, size))
	}
	return w, nil
}
