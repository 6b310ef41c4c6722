package shard

import (
	"testing"

	"github.com/attn-go/attn/cluster/internal/hub"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// Every result has the bits of one machine: in all element types, with workers of different
// tiers, for masks, groups of heads and batches of sequences of any length.
func TestBits(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 64 << 10}, "", "generic", "")
	r := testutil.Rand(1)
	for _, g := range []Config{
		{Heads: 2, HeadSize: 32, ValueSize: 24},
		{Heads: 3, HeadSize: 64, Type: kernel.Float16},
		{Heads: 1, HeadSize: 48, Type: kernel.BFloat16, Replicas: 1},
		{Heads: 2, HeadSize: 64, Type: kernel.Int8, Group: 32, Replicas: 3},
		{Heads: 2, HeadSize: 40, Type: kernel.Int8},
	} {
		c := x.client(g)
		var texts []*text
		for _, n := range []int{1, 300, 1100, 256} {
			texts = append(texts, newText(t, c, &r, n))
		}
		heads := 2 * g.Heads
		slopes, sinks := make([]float32, heads), make([]float32, heads)
		r.Fill(slopes)
		r.Fill(sinks)
		for _, o := range []Options{
			{},
			{Mask: Causal()},
			{Mask: Window(300, 0)},
			{Mask: Window(70, 70), QueryStart: []int{150}},
			{Mask: Causal(), QueryStart: []int{0, 280, 500, -2}},
			{Scale: 0.3, Softcap: 2, ALiBi: slopes, Sinks: sinks, Mask: Causal()},
		} {
			checkBits(t, c, &r, heads, 1, o, texts...)
			checkBits(t, c, &r, heads, 5, o, texts...)
		}
	}
}
