package hostile

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/rope"
)

// A world is the memory in which the arguments of a call lie, so that they can be made to
// overlap, and so that it shows whether a call has written.
type world struct {
	memory, pristine []float32
	used             int
	parts            [][]float32 // what the arguments took, in order
}

func newWorld() *world {
	const size = 8192
	w := &world{pristine: floats(size)}
	for i := range w.pristine { // finite, and no two neighbours are equal
		w.pristine[i] += float32(i%7) + 8
	}
	w.memory = slices.Clone(w.pristine)
	return w
}

// reset forgets the arguments of the call before.
func (w *world) reset() {
	copy(w.memory, w.pristine)
	w.used, w.parts = 0, w.parts[:0]
}

// isTouched tells whether the memory has changed since reset.
func (w *world) isTouched() bool { return !slices.Equal(w.memory, w.pristine) }

// floats returns the next n numbers.
func (w *world) floats(n int) []float32 {
	const gap = 5
	part := w.memory[w.used : w.used+n]
	w.used += n + gap
	w.parts = append(w.parts, part)
	return part
}

// part returns what argument x took, nil if there are fewer.
func (w *world) part(x int) []float32 {
	if x >= len(w.parts) {
		return nil
	}
	return w.parts[x]
}

func (w *world) tensor(b, h, l, d int) kernel.Tensor {
	return kernel.BHLD(w.floats(b*h*l*d), b, h, l, d)
}

// attention returns the tensors of a valid call.
func (w *world) attention() (out, q, k, v kernel.Tensor) {
	return w.tensor(2, 4, 3, 5), w.tensor(2, 4, 3, 6), w.tensor(2, 2, 7, 6), w.tensor(2, 2, 7, 5)
}

// options returns valid options for these tensors: all that there are.
func (w *world) options() kernel.Options {
	return kernel.Options{
		Exec: kernel.Exec{Threads: 2, ParallelFor: inOrder},
		Scoring: kernel.Scoring{
			Scale: 0.5, Softcap: 5, Mask: kernel.Causal(4), QueryStart: []int{4, 5}, KeyStart: []int{0},
			ALiBi: w.floats(4), Sinks: w.floats(4), Bias: w.tensor(2, 1, 3, 7), Dropout: kernel.Dropout{Rate: 0.25, Seed: 1, Sequences: []uint32{1, 2}},
			Score: func(t *kernel.ScoreTile) { t.Scores[0]++ },
		},
		Outputs: kernel.Outputs{LSE: w.tensor(2, 4, 3, 1), Weights: w.tensor(2, 4, 3, 7), Scores: w.tensor(2, 4, 3, 7), ScoreStage: kernel.ScoresMasked},
	}
}

// inOrder is a parallel-for of one thread.
func inOrder(n int, task func(i int)) {
	for i := range n {
		task(i)
	}
}

// scoreOptions returns valid options of scores.
func (w *world) scoreOptions() layer.ScoreOptions {
	o := w.options()
	return layer.ScoreOptions{Exec: o.Exec, Scoring: o.Scoring}
}

// backwardOptions returns valid options of gradients.
func (w *world) backwardOptions() kernel.BackwardOptions {
	return *contracttest.BackwardOptions(w.options())
}

// partialOptions returns valid options for partial results.
func (w *world) partialOptions() kernel.PartialOptions {
	o := *contracttest.PartialOptions(w.options())
	o.KeyStart = []int{256}
	o.QueryStart = []int{260}
	o.Dropout = kernel.Dropout{Rate: 0.25}
	return o
}

// partials returns valid partial results for these tensors.
func (w *world) partials() *kernel.Partials {
	return &kernel.Partials{Blocks: 1, Batch: 2, Heads: 4, Queries: 3, HeadSize: 5, Max: w.floats(24), Sum: w.floats(24), Out: w.floats(120)}
}

// must returns x, which a valid call has returned.
func must[T any](x T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("a valid call failed: %v", err))
	}
	return x
}

// linear returns a layer of some inputs and outputs.
func (w *world) linear(outputs, inputs int) *linear.Linear {
	return must(linear.New(linear.DenseMatrix(w.floats(outputs*inputs), outputs, inputs), w.floats(outputs), kernel.Exec{Tier: contracttest.Generic()}))
}

func (w *world) rope() *rope.Rope { return must(rope.New(rope.Config{Dims: 4, Positions: 5})) }

// cache returns a cache of two layers with room for six pages of three tokens. With float32 its
// memory is the world's; with int8 it has memory of its own.
func (w *world) cache(layers int, quantized bool) *kvcache.Cache {
	if quantized {
		return must(kvcache.New(kvcache.Config{Layers: layers, Heads: 2, HeadSize: 4, PageSize: 3, Pages: 6, KeyType: kernel.Int8, ValueType: kernel.Int8, Window: 4}))
	}
	var keys, values []kernel.Tensor
	for range layers {
		keys, values = append(keys, w.tensor(6, 2, 3, 4)), append(values, w.tensor(6, 2, 3, 2))
	}
	return must(kvcache.NewWithMemory(keys, values, 4))
}

// batch returns two sequences of a cache, of 4 and 3 tokens, that have grown by 2 and 1.
func (w *world) batch(layers int, quantized bool) *kvcache.Batch {
	c := w.cache(layers, quantized)
	b := must(c.NewBatch(c.NewSequence(), c.NewSequence()))
	must(0, b.Extend(2))
	must(0, b.Extend(2, 1))
	return b
}

// sequence returns a sequence of 5 tokens, the first 3 of which have been dropped.
func (w *world) sequence() *kvcache.Sequence {
	c := w.cache(1, false)
	s := c.NewSequence()
	must(0, must(c.NewBatch(s)).Extend(5))
	must(0, s.DropBefore(3))
	return s
}

// data returns the slice of a float32 tensor.
func data(t kernel.Tensor) []float32 { return contracttest.Floats(t) }
