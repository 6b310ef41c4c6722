package gomlx_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/bridge/gomlx"
	"github.com/attn-go/attn/bridge/gomlx/internal/hook"
	"github.com/attn-go/attn/models/encoder/minilmtest"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
)

// sides are the functions for attention that are compared.
var sides = func() map[string]hook.SDPA {
	all := map[string]hook.SDPA{"plain": nil, "SDPA": gomlx.SDPA}
	if own := hook.Get(); own != nil {
		all["simd"] = own
	}
	return all
}()

// BenchmarkAttention executes graphs of one attention. Run it with GOMAXPROCS=1 for figures of
// one thread.
func BenchmarkAttention(b *testing.B) {
	for name, c := range map[string]hostCase{
		"MiniLM, 128 tokens": {layout: bshd, batch: 1, heads: 12, kvHeads: 12, q: 128, k: 128, d: 32},
		"prompt of 512":      {layout: bhsd, batch: 1, heads: 8, kvHeads: 2, q: 512, k: 512, d: 64, causal: true},
		"decoding at 2048":   {layout: bhsd, batch: 1, heads: 8, kvHeads: 2, q: 1, k: 2048, d: 128},
	} {
		for side, f := range sides {
			b.Run(name+"/"+side, func(b *testing.B) {
				install(b, f)
				execute := c.compile(b)
				for b.Loop() {
					execute()
				}
			})
		}
	}
}

// compile returns a function that executes the graph of a case without a mask.
func (c hostCase) compile(b *testing.B) func() {
	backend := gobackend.GetBackend()
	builder := backend.Builder("attention")
	main := builder.Main()
	var params [3]compute.Value
	var inputs [3]compute.Buffer
	for i, dims := range [][]int{c.shape(c.heads, c.q), c.shape(c.kvHeads, c.k), c.shape(c.kvHeads, c.k)} {
		shape := shapes.Make(dtypes.Float32, dims...)
		var err error
		if params[i], err = main.Parameter(fmt.Sprint("x", i), shape, nil); err != nil {
			b.Fatal(err)
		}
		if inputs[i], err = backend.BufferFromFlatData(0, numbers(uint32(i), shape.Size()), shape); err != nil {
			b.Fatal(err)
		}
	}
	out, _, err := main.FusedScaledDotProductAttention(params[0], params[1], params[2], c.layout, &compute.ScaledDotProductAttentionConfig{Causal: c.causal})
	if err != nil {
		b.Fatal(err)
	}
	if err := main.Return([]compute.Value{out}, nil); err != nil {
		b.Fatal(err)
	}
	exec, err := builder.Compile()
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		out, err := exec.Execute(inputs[:], nil, 0)
		if err != nil {
			b.Fatal(err)
		}
		out[0].Finalize()
	}
}

// BenchmarkMiniLM computes the embeddings of 8 passages, one by one and in a batch, by GoMLX with
// each function and by attn's own encoder. Graphs are made before.
func BenchmarkMiniLM(b *testing.B) {
	m, e := models(b)
	texts := minilmtest.WholeTexts(b, references, e, 8)
	run := func(name string, embed func(texts []string) ([][]float32, error)) {
		for way, batch := range map[string]int{"one by one": 1, "batch": len(texts)} {
			b.Run(way+"/"+name, func(b *testing.B) {
				all := func() {
					for i := 0; i < len(texts); i += batch {
						if _, err := embed(texts[i : i+batch]); err != nil {
							b.Fatal(err)
						}
					}
				}
				all()
				for b.Loop() {
					all()
				}
				b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "documents/s")
			})
		}
	}
	install(b, nil)
	for side, f := range sides {
		run(side, func(texts []string) ([][]float32, error) {
			hook.Set(f)
			return m.Embed(texts)
		})
	}
	run("attn's encoder", func(texts []string) ([][]float32, error) { return e.Embed(b.Context(), texts) })
}
