package encoder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/internal/testweights"
)

// network makes of a model what package network runs.
func (m *model) network() *engine.Network {
	norm := func(a affine) *engine.Norm {
		return &engine.Norm{Weight: a.weight, Bias: a.bias, Epsilon: float32(m.epsilon), Centred: true}
	}
	side := func(all ...*linear.Linear) (l tensors.Linear) {
		for _, part := range all {
			n, _ := part.Shape()
			l.Parts, l.N = append(l.Parts, part), l.N+n
		}
		return l
	}
	out := &engine.Network{Width: m.Width, Embed: engine.Embedding{Words: &m.words, Types: m.types, Positions: m.positions, Padding: m.padding, Norm: norm(m.norm)}}
	var relative *engine.Relative
	if m.relative != nil {
		relative = &engine.Relative{Heads: m.Heads, Table: m.relative}
	}
	var distances *engine.Distances
	if m.apart != nil {
		distances = &engine.Distances{Span: m.apart.span, Buckets: m.apart.buckets, Most: m.apart.most}
	}
	for i, l := range m.layers {
		a := &engine.Attention{Heads: m.Heads, KVHeads: m.Heads, Size: m.Width / m.Heads, QKV: side(l.qkv), Out: side(l.out), Rope: -1, Window: m.windows[l.kind] + 1, BothWays: true, Relative: relative}
		if m.ropes != nil {
			a.Rope = l.kind
		}
		if distances != nil {
			a.Apart = &engine.Apart{Distances: distances, Keys: l.places.keys, Queries: l.places.queries}
		}
		layer := engine.Layer{Mix: a, Mixed: engine.Norms{After: norm(l.attention), Post: true}, Fed: engine.Norms{After: norm(l.feedforward), Post: true}}
		if m.preNorm {
			layer.Mixed, layer.Fed = engine.Norms{}, engine.Norms{Before: norm(l.attention)}
			if i > 0 {
				layer.Mixed.Before = out.Final
			}
			out.Final = norm(l.feedforward)
		}
		if l.gate == nil {
			layer.Feed = &engine.Dense{Up: side(l.up), Down: side(l.down), Activation: m.activation}
		} else {
			layer.Feed = &engine.Gated{GateUp: side(l.gate, l.up), Down: side(l.down), Activation: m.activation.Gated()}
		}
		out.Layers = append(out.Layers, layer)
	}
	return out
}

// TestEngines: both engines compute the same bits for every model, batch and tier.
func TestEngines(t *testing.T) {
	folders, err := filepath.Glob("../testdata/tiny/*/config.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no models: %v", err)
	}
	files, _ := filepath.Glob("../testdata/tiny/gguf/*.gguf")
	files = append(files, testweights.Path(t, testweights.MiniLM))
	for _, path := range append(folders, files...) {
		if filepath.Ext(path) == ".json" {
			path = filepath.Dir(path)
		}
		x, err := open(path)
		if err != nil {
			continue // not of an encoder
		}
		for _, o := range []LoadOptions{{}, {Int8: true}} {
			m, err := x.read(o)
			if err != nil {
				continue // of a width that cannot be rounded
			}
			t.Run(fmt.Sprintf("%s-%v", filepath.Base(path), o.Int8), func(t *testing.T) { compareEngines(t, m) })
		}
		x.close()
	}
}

func compareEngines(t *testing.T, m *model) {
	n, p, s := m.network(), &engine.Pass{Cache: engine.Whole{}, All: true}, &scratch{}
	tiers := kernel.Tiers()
	batches := 200
	if m.Vocab > 10000 { // MiniLM
		batches = 10
	}
	for i := range batches {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		p.Settings = engine.Settings{Exec: kernel.Exec{Tier: tiers[i%len(tiers)], Threads: 1 + i%3}, Int8: m.int8}
		for _, rope := range m.ropes {
			p.Ropes = append(p.Ropes, engine.Rotation{Rope: rope})
		}
		p.Reset()
		var ids, types [][]int32
		var batch []int
		same := 0
		if i%4 == 0 {
			same = 1 + r.IntN(20)
		}
		for text := range 1 + r.IntN(6) {
			length := 1 + r.IntN(min(60, m.longest()))
			if same > 0 {
				length = min(same, m.longest())
			}
			var id, kind []int32
			for j := range length {
				id, kind = append(id, r.Int32N(int32(m.Vocab))), append(kind, r.Int32N(int32(max(1, m.Types))))
				p.Positions = append(p.Positions, j)
			}
			ids, types, batch = append(ids, id), append(types, kind), append(batch, text)
			p.Tokens, p.Types, p.Starts = append(p.Tokens, id...), append(p.Types, kind...), append(p.Starts, len(p.Tokens)+length)
		}
		var want, got [][]float32
		y, err := (&runner{m, p.Exec}).forward(t.Context(), s, batch, ids, types, func(x []float32) { want = append(want, append([]float32{}, x...)) })
		if err != nil {
			t.Fatal(err)
		}
		p.See = func(name string, layer int, x []float32) {
			if name == "embd" || name == "hidden" && layer+1 < len(m.layers) || name == "norm" {
				got = append(got, append([]float32{}, x...))
			}
		}
		z, err := n.Run(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if !equalBits(y, z) || len(want) != len(got) {
			t.Fatalf("batch %d: other bits", i)
		}
		for j := range want {
			if !equalBits(want[j], got[j]) {
				t.Fatalf("batch %d: state %d: other bits", i, j)
			}
		}
	}
}
