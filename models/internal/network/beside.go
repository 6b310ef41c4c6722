package network

import (
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Both is attention and a layer with a state, which read the same states and whose outputs are
// added.
type Both struct {
	*Attention
	Beside *Recurrent
}

func (f *Both) layers() []tensors.Linear {
	return slices.Concat(f.Attention.layers(), f.Beside.layers())
}
func (f *Both) carries(after int) (taps, state int) { return f.Beside.carries(after) }

func (f *Both) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows := len(p.Tokens)
	if p.only {
		rows = len(p.Wanted)
	}
	beside := p.floats.take(len(y))
	if err := f.Beside.mix(p, layer, beside, h); err != nil {
		return err
	}
	if err := f.Attention.mix(p, layer, y, h); err != nil {
		return err
	}
	n := rows * (len(h) / len(p.Tokens))
	add(y[:n], beside[:n], 0)
	return nil
}

// A Twofold is a dense network and experts beside it. It reads states that are divided by their
// deviation alone.
type Twofold struct {
	Dense   Feed
	Experts *Experts
	Shares  []float32    // multiply the shares of chosen experts
	Inputs  [3][]float32 // multiply states for the dense network, the experts and their router
	After   [2]*Norm     // of the outputs of both
}

func (f *Twofold) layers() []tensors.Linear {
	return slices.Concat(f.Dense.layers(), f.Experts.layers())
}

func (f *Twofold) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	in, z, shares := p.floats.take(len(h)), p.floats.take(len(h)), p.floats.take(rows*len(f.Experts.All))
	read := func(i int) []float32 {
		of := f.Inputs[i]
		for j, x := range h {
			in[j] = float32(x * of[j%len(of)])
		}
		return in
	}
	if err := f.Dense.feed(p, y, read(0), rows); err != nil {
		return err
	}
	if err := f.Experts.route(p, shares, read(2), rows); err != nil {
		return err
	}
	for i := range shares {
		shares[i] = float32(shares[i] * f.Shares[i%len(f.Shares)])
	}
	if err := f.Experts.sum(p, z, read(1), shares, rows); err != nil {
		return err
	}
	for i, x := range [...][]float32{y, z} {
		if err := f.After[i].apply(p.Exec, x, x, nil, false); err != nil {
			return err
		}
	}
	add(y, z, 0)
	return nil
}

// twofold reads a dense network and experts beside it. before becomes a norm without weights.
func (b *builder) twofold(i int, t *arch.Twofold, before *Norm) *Twofold {
	w := b.model.Width
	norm := func(name string) *Norm { return b.norm(b.model.Layers[i].Norm, at(i, name)) }
	f := &Twofold{Dense: b.dense(i, &t.Dense), Experts: b.experts(i, &t.Experts), Shares: b.Floats(at(i, "ffn_down_exps.scale"), t.Experts.Count)}
	router := b.Floats(at(i, "ffn_gate_inp.scale"), w)
	tensors.PermuteColumns(router, b.Pack.Order)
	for j := range router {
		router[j] = float32(router[j] * float32(1/math.Sqrt(float64(w))))
	}
	f.Inputs = [...][]float32{before.Weight, norm("pre_ffw_norm_2").Weight, router}
	f.After = [...]*Norm{norm("post_ffw_norm_1"), norm("post_ffw_norm_2")}
	before.Weight = slices.Repeat([]float32{1}, w)
	return f
}
