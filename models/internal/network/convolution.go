package network

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/models/internal/tensors"
)

// Taps are the weights of a convolution of single channels: with z of tokens before the text 0,
//
//	y[t] = bias + w[0]·z[t-N+1] + ... + w[N-1]·z[t]
//
// from left to right, with every product and sum rounded. It carries the last N-1 rows of z.
type Taps struct {
	N, Channels int
	Weights     []float32 // [N, Channels]
	Bias        []float32 // [Channels]
}

// size is how many numbers it carries.
func (t *Taps) size() int { return (t.N - 1) * t.Channels }

// A window is the rows of a text in a convolution.
type window struct {
	*Taps
	before []float32 // rows of z before the pass
	z      []float32 // rows that are stride numbers apart
	stride int
	y      []float32 // [rows, Channels]
}

// row returns z of a token of the pass, or of one before it, which has a negative number.
func (w *window) row(i int) []float32 {
	if i < 0 {
		return w.before[(w.N-1+i)*w.Channels:][:w.Channels]
	}
	return w.z[i*w.stride:][:w.Channels]
}

// convolve computes y of all texts of a pass, and writes what they carry.
func (t *Taps) convolve(p *Pass, layer int, y, z []float32, stride int) error {
	for i := range p.texts() {
		at, n := p.Starts[i], p.count(i)
		c := p.Cache.carry(i)
		w := window{t, p.floats.take(t.size()), z[at*stride:], stride, y[at*t.Channels:]}
		clear(w.before)
		copy(w.before, c.taps(layer))
		if err := spread(p, n, t.Channels, w, slide); err != nil {
			return err
		}
		for _, s := range c.After {
			for k := range t.N - 1 {
				copy(s.Taps[layer][k*t.Channels:][:t.Channels], w.row(s.After-p.Positions[at]-t.N+1+k))
			}
		}
	}
	return nil
}

// slide computes some rows.
func slide(_ *Pass, w window, lo, hi int) error {
	for row := lo; row < hi; row++ {
		y := w.y[row*w.Channels:][:w.Channels]
		copy(y, w.Bias)
		for k := range w.N {
			z := w.row(row - w.N + 1 + k)
			for i, weight := range w.Weights[k*w.Channels:][:w.Channels] {
				y[i] += float32(weight * z[i])
			}
		}
	}
	return nil
}

// A Convolution is the gated short convolution of a layer: with b, c and x the thirds of
// in(h), out(c·y), where y are the taps of z = b·x.
type Convolution struct {
	In, Out tensors.Linear
	Taps
}

func (f *Convolution) layers() []tensors.Linear      { return []tensors.Linear{f.In, f.Out} }
func (f *Convolution) keepsKeys() bool               { return false }
func (f *Convolution) carries(int) (taps, state int) { return f.size(), 0 }

func (f *Convolution) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows, w := len(p.Tokens), f.Channels
	in, out := p.floats.take(rows*3*w), p.floats.take(rows*w)
	if err := p.apply(&f.In, in, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	t := thirds{in, out, w}
	if err := spread(p, rows, w, t, open); err != nil {
		return err
	}
	if err := f.convolve(p, layer, out, in, 3*w); err != nil {
		return err
	}
	if err := spread(p, rows, w, t, shut); err != nil {
		return err
	}
	return p.applyWanted(&f.Out, y, out, rows, w)
}

// thirds are rows of b, c and x, and of outputs.
type thirds struct {
	in, out []float32
	w       int
}

// open puts z in the place of b. A state keeps z, so its NaNs are 7fc00000.
func open(_ *Pass, t thirds, lo, hi int) error {
	for row := lo; row < hi; row++ {
		b, x := t.in[row*3*t.w:][:t.w], t.in[row*3*t.w+2*t.w:][:t.w]
		for i, y := range x {
			if b[i] = float32(b[i] * y); b[i] != b[i] {
				b[i] = math.Float32frombits(contract.Canonical)
			}
		}
	}
	return nil
}

// shut multiplies outputs by c.
func shut(_ *Pass, t thirds, lo, hi int) error {
	for row := lo; row < hi; row++ {
		y := t.out[row*t.w:][:t.w]
		for i, c := range t.in[row*3*t.w+t.w:][:t.w] {
			y[i] = float32(y[i] * c)
		}
	}
	return nil
}
