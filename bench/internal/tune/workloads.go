package tune

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// manySets of keys and values of 16 MB are more than caches hold.
const manySets = 12

// A workload is a call that is timed, on one tier and another.
type workload struct {
	name string
	call func(tier kernel.Tier) error
}

// attention returns a call with the next of sets different keys and values each
// time, so that they come from memory if they are many.
func attention(name string, heads, kvHeads, lq, lk, d, sets, threads int) workload {
	return attentionOn(&calls.Types[0], name, heads, kvHeads, lq, lk, d, sets, threads)
}

// attentionOn is attention with keys and values of a type.
func attentionOn(t *calls.Type, name string, heads, kvHeads, lq, lk, d, sets, threads int) workload {
	k := t.Sets(numbers.Huge(kvHeads*lk*d), sets, [4]int{1, kvHeads, lk, d})
	v := append(slices.Clone(k[sets/2:]), k[:sets/2]...)
	return on(name, threads, calls.Attention(calls.Queries(heads, lq, d), k, v, t.Scoring))
}

// on returns a call on so many threads.
func on(name string, threads int, call calls.Call) workload {
	return workload{name, func(tier kernel.Tier) error { return call(kernel.Exec{Tier: tier, Threads: threads}) }}
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

// narrowDecode is decode, and calls with keys and values of all other types from memory.
func narrowDecode() ([]workload, error) {
	w, err := decode()
	for i := range calls.Types[1:] {
		t := &calls.Types[i+1]
		w = append(w, attentionOn(t, "memory, "+t.Name, 32, 8, 1, 4096, 128, manySets, 1))
	}
	return w, err
}

// draft has a few queries per key head, with keys and values from L3 and from memory.
func draft() (w []workload, err error) {
	for _, rows := range []int{6, 8, 12, 16, 28, 40, 56} {
		w = append(w, attention(fmt.Sprintf("%d, L3", rows), 4, 4, rows, 1024, 128, 1, 1))
		w = append(w, attention(fmt.Sprintf("%d, memory", rows), 4, 4, rows, 1024, 128, 48, 1))
	}
	return w, nil
}

// far has some more queries per key head, with keys and values of all types from memory.
func far() (w []workload, err error) {
	for i := range calls.Types {
		t := &calls.Types[i]
		for _, rows := range []int{12, 20, 28} {
			if !t.Scoring.BFloat16 {
				w = append(w, attentionOn(t, fmt.Sprintf("%d, %s", rows, t.Name), 4, 4, rows, 1024, 128, 48, 1))
			}
		}
	}
	return w, nil
}

// fullTiles has as many rows as tiles have lanes, and one block of keys, and fullHalfTiles keys and
// values in float16.
func fullTiles() ([]workload, error)     { return fullTilesOf(&calls.Types[0]), nil }
func fullHalfTiles() ([]workload, error) { return fullTilesOf(&calls.Types[1]), nil }

func fullTilesOf(t *calls.Type) (w []workload) {
	for _, rows := range []int{8, 16, 24, 32} {
		w = append(w, attentionOn(t, fmt.Sprint(rows), 8, 8, rows, 256, 64, 1, 1))
	}
	return w
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
		rows := func() kernel.Tensor { return calls.Queries(x.heads, x.n, x.d) }
		call, err := calls.Gradients(rows(), rows(), rows(), rows())
		if err != nil {
			return nil, err
		}
		w = append(w, on(fmt.Sprintf("%d × %d × %d", x.heads, x.n, x.d), 1, call))
	}
	return w, nil
}

// threads has calls that are worth one thread or several.
func threads() (w []workload, err error) {
	for _, n := range []int{16, 32, 64, 128, 256} {
		w = append(w, attention(fmt.Sprintf("12 × %d × 64", n), 12, 12, n, n, 64, 1, runtime.GOMAXPROCS(0)))
	}
	return w, nil
}

const (
	size       = 1024 // inputs and outputs of linear layers
	manyLayers = 80   // of 0.9 to 4 MB are more than most caches hold
)

// products returns calls of a layer on one thread.
func products(of calls.Weights, rows ...int) (w []workload, err error) {
	l, err := of.Layer(size, size)
	for _, n := range rows {
		if err == nil {
			w = append(w, on(fmt.Sprintf("%d, L2", n), 1, calls.Product(l, numbers.Normals(n*size), of.Int8)))
		}
	}
	return w, err
}

func weights() ([]workload, error) { return products(calls.Floats[0], 32, 128) }

// fromMemory returns calls on one thread with weights from memory: each has the next layer.
func fromMemory(of calls.Weights, rows ...int) (w []workload, err error) {
	layers := make([]*linear.Linear, manyLayers)
	for i := range layers {
		if layers[i], err = of.Layer(size, size); err != nil {
			return nil, err
		}
	}
	for _, n := range rows {
		call, next := make([]calls.Call, len(layers)), 0
		for i, l := range layers {
			call[i] = calls.Product(l, numbers.Normals(n*size), of.Int8)
		}
		w = append(w, on(fmt.Sprintf("%d, memory, %s", n, of.Name), 1, func(e kernel.Exec) error {
			next++
			return call[next%len(call)](e)
		}))
	}
	return w, nil
}

// fewRows have weights of float32 and float16 that come from memory.
func fewRows() (all []workload, err error) {
	for _, weights := range calls.Floats[:2] {
		w, err := fromMemory(weights, 1, 2, 4, 8, 9, 12, 16, 32)
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}

// fewRowsOfBlocks have quantized weights that come from memory, and rows that are quantized or not.
func fewRowsOfBlocks() (all []workload, err error) {
	for _, of := range append(calls.Quantized(true, linear.Q8_0, linear.Q4_0, linear.Q6_K), calls.Quantized(false, linear.Q8_0, linear.Q4_0)...) {
		w, err := fromMemory(of, 1, 2, 4)
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}

// halves have weights of float16, which kernels widen by one instruction, and of bfloat16.
func halves() (all []workload, err error) {
	for _, weights := range []calls.Weights{calls.Floats[1], calls.BFloat16} {
		w, err := products(weights, 1, 2, 4, 8, 16, 32, 48, 128)
		if err != nil {
			return nil, err
		}
		for _, x := range w {
			x.name += " " + weights.Name
			all = append(all, x)
		}
	}
	return all, nil
}

func rounded() ([]workload, error) { return products(calls.Floats[2], 1, 2, 4, 8, 16, 48) }

// grouped have weights of a K-quant, from L2 and from memory.
func grouped() ([]workload, error) {
	of := calls.Quantized(false, linear.Q6_K)[0]
	w, err := products(of, 1, 2, 4, 8, 16, 32, 64)
	if err != nil {
		return nil, err
	}
	more, err := fromMemory(of, 1, 2, 4, 8, 12, 16)
	return append(w, more...), err
}

func quantized() ([]workload, error) {
	return products(calls.Quantized(false, linear.Q8_0)[0], 1, 2, 4, 8, 12, 16, 24)
}
