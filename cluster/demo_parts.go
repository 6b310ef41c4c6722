package main

import (
	"context"
	"fmt"
	"math"

	"github.com/attn-go/attn/cluster/internal/sample"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gobytes"
)

// modelConfig is the form of the keys and values of the model.
var modelConfig = shard.Config{Heads: sample.KVHeads, HeadSize: sample.HeadSize}

const prompt = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// run runs the command with its arguments and returns "

// write lets the model write a text twice: alone, and with the workers. In the middle of the
// second a worker is cut off.
func (d *demo) write(ctx context.Context) error {
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	c, err := d.client(ctx, modelConfig)
	if err != nil {
		return err
	}
	alone, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	together, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	var stats shard.Stats
	together.Attend = attendOn(ctx, c, m.Layers, &stats)
	fmt.Fprintf(d.out, "\nThe model writes %d tokens; %d workers hold its keys and values, each block twice.\n\n%s|", d.tokens, len(c.Workers()), prompt)
	next := []byte(prompt)
	for i := range d.tokens {
		if i == d.tokens/2 {
			fmt.Fprint(d.out, "\n\n")
			d.cutOff("bert")
			fmt.Fprint(d.out, "\n...")
		}
		want, err := alone.Forward([][]byte{next})
		if err != nil {
			return err
		}
		got, err := together.Forward([][]byte{next})
		if err != nil {
			return err
		}
		if !sameBits(got[0], want[0]) {
			return fmt.Errorf("the logits of token %d differ from those of one machine", i)
		}
		next = []byte{gobytes.Greedy(got[0][len(got[0])-m.Vocab:])}
		fmt.Fprintf(d.out, "%s", next)
	}
	fmt.Fprintf(d.out, "|\n\nAll logits have the bits that one machine gives.\n")
	perToken(d.out, stats, d.tokens)
	return nil
}

// attendOn returns the attention of a model whose keys and values c's workers hold, a sequence
// for each layer. It adds what calls take to stats.
func attendOn(ctx context.Context, c *shard.Client, layers int, stats *shard.Stats) func(layer int, out, q, k, v kernel.Tensor) error {
	sequences := make([]*shard.Sequence, layers)
	for i := range sequences {
		sequences[i] = c.NewSequence()
	}
	return func(layer int, out, q, k, v kernel.Tensor) error {
		s := sequences[layer : layer+1]
		if err := c.Append(ctx, s, k, v); err != nil {
			return err
		}
		took, err := c.Attention(ctx, out, q, s, &shard.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
		stats.Add(took)
		return err
	}
}

// long computes attention over one long and some shorter contexts.
func (d *demo) long(ctx context.Context) error {
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	text, err := sourceText()
	if err != nil {
		return err
	}
	const steps = 4
	a, err := sample.Read(m, text, d.keys+3*steps)
	if err != nil {
		return err
	}
	c, err := d.client(ctx, modelConfig)
	if err != nil {
		return err
	}
	lengths := []int{d.keys, d.keys / 3, d.keys / 7, 100}
	fmt.Fprintf(d.out, "\nFour sequences of %v keys, which the model computed of this command's sources, are on workers %v.\n", lengths, c.Workers())
	x, err := newTexts(ctx, c, a, modelConfig.Type, lengths)
	if err != nil {
		return err
	}
	for _, event := range []func() error{
		func() error { return nil },
		func() error { d.cutOff("carl"); return nil },
		func() error { return d.replace(ctx, x) },
	} {
		if err := event(); err != nil {
			return err
		}
		stats, err := x.decode(ctx, steps)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%d steps of decoding have the bits that one machine gives.\n", steps)
		perToken(d.out, stats, steps*len(lengths))
	}
	return nil
}

// replace starts a new worker, has it hold what lost a replica, and then cuts off the last of
// the old ones.
func (d *demo) replace(ctx context.Context, x *texts) error {
	if err := d.work(ctx, "dora", demoTier(1)); err != nil {
		return err
	}
	n, err := x.client.Repair(ctx, x.sequences...)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "Worker dora gets copies of %d blocks.\n", n)
	d.cutOff("anna")
	return nil
}

// sameBits tells whether two slices hold the same bits.
func sameBits(x, y []float32) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
			return false
		}
	}
	return true
}
