package network

import (
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Convolution is the gated short convolution of a layer. With b, c and x the thirds of
// in(h), z = b·x, and z of tokens before the text 0, it computes for each channel
//
//	y[t] = c[t]·(bias + w[0]·z[t-Taps+1] + ... + w[Taps-1]·z[t])
//
// from left to right, with every product and sum rounded. It carries the last Taps-1 rows
// of z.
type Convolution struct {
	In, Out tensors.Linear
	Taps    int
	Weights []float32 // [Taps, Width]
	Bias    []float32 // [Width]
}

func (f *Convolution) layers() []tensors.Linear { return []tensors.Linear{f.In, f.Out} }
func (f *Convolution) keepsKeys() bool          { return false }
func (f *Convolution) carries(int) int          { return (f.Taps - 1) * f.Out.N }

func (f *Convolution) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows, w := len(p.Tokens), f.Out.N
	in, out := p.floats.take(rows*3*w), p.floats.take(rows*w)
	if err := p.apply(&f.In, in, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := spread(p, rows, w, gates{in, w}, gate); err != nil {
		return err
	}
	for i := range p.texts() {
		at, n := p.Starts[i], p.count(i)
		c := p.Cache.carry(i)
		z := taps{f, p.floats.take((f.Taps - 1) * w), in[at*3*w:], out[at*w:]}
		clear(z.before)
		copy(z.before, c.of(layer))
		if err := spread(p, n, w, z, convolve); err != nil {
			return err
		}
		for _, s := range c.After {
			for k := range f.Taps - 1 {
				copy(s.Layers[layer][k*w:][:w], z.row(s.After-p.Positions[at]-f.Taps+1+k))
			}
		}
	}
	if p.only {
		gather(out, p.Wanted, w)
		rows = len(p.Wanted)
	}
	if rows == 0 {
		return nil
	}
	return p.apply(&f.Out, y, out, rows, w, 0)
}

// gates are rows of b, c and x.
type gates struct {
	in []float32
	w  int
}

// gate puts z in the place of b.
func gate(_ *Pass, g gates, lo, hi int) error {
	for row := lo; row < hi; row++ {
		b, x := g.in[row*3*g.w:][:g.w], g.in[row*3*g.w+2*g.w:][:g.w]
		for i, y := range x {
			b[i] = float32(b[i] * y)
		}
	}
	return nil
}

// taps are the rows of a text.
type taps struct {
	*Convolution
	before  []float32 // rows of z before those of the pass
	in, out []float32 // rows of z, c and x, and of outputs
}

// row returns z of a token of the pass, or of one before it, which has a negative number.
func (t *taps) row(i int) []float32 {
	w := t.Out.N
	if i < 0 {
		return t.before[(t.Taps-1+i)*w:][:w]
	}
	return t.in[i*3*w:][:w]
}

// convolve computes some rows.
func convolve(_ *Pass, t taps, lo, hi int) error {
	w := t.Out.N
	for row := lo; row < hi; row++ {
		y := t.out[row*w:][:w]
		copy(y, t.Bias)
		for k := range t.Taps {
			z := t.row(row - t.Taps + 1 + k)
			for i, weight := range t.Weights[k*w:][:w] {
				y[i] += float32(weight * z[i])
			}
		}
		for i, c := range t.in[row*3*w+w:][:w] {
			y[i] = float32(y[i] * c)
		}
	}
	return nil
}
