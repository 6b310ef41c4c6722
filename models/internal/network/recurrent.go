package network

import (
	"math"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/recurrent"
)

// A Recurrent is a mixer with a state. Of the outputs of in(h), queries, keys and values go through
// a convolution and SiLU. It carries what the convolution does, and then the state of its Layer.
//
// With the rule GatedDelta queries and keys then have the length 1, and queries are divided by
// √KeySize. With the last two outputs b and a of a head, its gate is logistic(b) and its decay
// Rate·softplus(a + Shift). Outputs are out(norm(y)·SiLU(z)).
//
// With the rule StateSpace there is one output a of a head: its gate is softplus(a + Shift) within
// Limits, and its decay Rate times the gate. Outputs are out(norm((y + Skip·v)·SiLU(z))).
type Recurrent struct {
	recurrent.Layer
	In, Out     tensors.Linear // queries, keys, values, z and what gates and decays are made of, side by side
	Taps                       // of the first three
	Rate, Shift []float32      // of each head
	Norms       []*Norm        // of as many parts of the outputs, each of which is vectors of the width of its norm; nil: none

	Order []int // the places of the heads of values in the rows of Out, or nil: they are in ascending order

	Skip   []float32  // of each head
	Limits [2]float32 // of gates

	query, key *Norm // make queries and keys as long as they are to be
}

// unit sets the norms of queries and keys. x/√(Σx² + 1e-6) is an RMSNorm with the weight 1/√n and
// the epsilon 1e-6/n.
func (f *Recurrent) unit(n int) {
	of := func(weight float64) *Norm {
		a := &Norm{Weight: make([]float32, n), Epsilon: float32(1e-6 / float64(n))}
		for i := range a.Weight {
			a.Weight[i] = float32(weight)
		}
		return a
	}
	f.query, f.key = of(1/float64(n)), of(1/math.Sqrt(float64(n)))
}

func (f *Recurrent) layers() []tensors.Linear            { return []tensors.Linear{f.In, f.Out} }
func (f *Recurrent) keepsKeys() bool                     { return false }
func (f *Recurrent) carries(after int) (taps, state int) { return f.size(), f.StateSize(after) }

// keys is where keys begin.
func (f *Recurrent) keys() int { return f.KeyHeads * f.KeySize }

func (f *Recurrent) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows, n, wide := len(p.Tokens), f.Heads*f.ValueSize, f.In.N
	in, qkv, out := p.floats.take(rows*wide), p.floats.take(rows*f.Channels), p.floats.take(rows*n)
	if err := p.apply(&f.In, in, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := f.convolve(p, layer, qkv, in, wide); err != nil {
		return err
	}
	if err := activation.SiLU(qkv, qkv, p.Exec); err != nil {
		return err
	}
	gates, decays := p.floats.take(rows*f.Heads), p.floats.take(rows*f.Heads)
	if err := f.factors(p, gates, decays, in, qkv); err != nil {
		return err
	}
	for i := range p.texts() {
		if err := f.text(p, layer, i, out, qkv, gates, decays); err != nil {
			return err
		}
	}
	p.see("layer.recurrent", layer, out)
	if p.only && len(p.Wanted) == 0 {
		return nil
	}
	if f.Rule == recurrent.GatedDelta {
		if err := f.normalise(p, out, rows); err != nil {
			return err
		}
	}
	shut := out
	if f.Order != nil {
		shut = p.floats.take(rows * n)
	}
	if err := spread(p, rows, n, closing{f, in, qkv, out, shut}, shutRecurrent); err != nil {
		return err
	}
	out = shut
	if f.Rule == recurrent.StateSpace {
		if err := f.normalise(p, out, rows); err != nil {
			return err
		}
	}
	return p.applyWanted(&f.Out, y, out, rows, n)
}

// normalise applies the norms to rows of outputs.
func (f *Recurrent) normalise(p *Pass, out []float32, rows int) error {
	n := f.Heads * f.ValueSize
	for i, of := range f.Norms {
		size := len(of.Weight)
		view := inRows(out[i*size:], rows, n/len(f.Norms)/size, size, n)
		if err := of.of(view, view, norm.Options{Exec: p.Exec}); err != nil {
			return err
		}
	}
	return nil
}

// factors computes the gates and decays of all heads, and makes queries and keys as long as they
// are to be.
func (f *Recurrent) factors(p *Pass, gates, decays, in, qkv []float32) error {
	rows, wide := len(p.Tokens), f.In.N
	if f.Rule == recurrent.StateSpace {
		for row := range rows {
			for h, a := range in[(row+1)*wide-f.Heads:][:f.Heads] {
				gate := min(max(softplus(a+f.Shift[h]), f.Limits[0]), f.Limits[1])
				gates[row*f.Heads+h], decays[row*f.Heads+h] = gate, float32(f.Rate[h]*gate)
			}
		}
		return nil
	}
	for i, of := range [...]*Norm{f.query, f.key} {
		view := inRows(qkv[i*f.keys():], rows, f.KeyHeads, f.KeySize, f.Channels)
		if err := of.of(view, view, norm.Options{Exec: p.Exec}); err != nil {
			return err
		}
	}
	for row := range rows {
		last := in[(row+1)*wide-2*f.Heads:][:2*f.Heads]
		copy(gates[row*f.Heads:], last[:f.Heads])
		for h, a := range last[f.Heads:] {
			decays[row*f.Heads+h] = float32(f.Rate[h] * softplus(a+f.Shift[h]))
		}
	}
	return logistic(gates, p.Exec)
}

// softplus returns log(1 + e^x), as the contract has it.
func softplus(x float32) float32 {
	y := float64(numeric.Exp2(float32(-max(x, -x) * float32(math.Log2E))))
	t := y / (2 + y)
	sum, power := 0.0, t
	for n := 1; n < 20; n += 2 {
		sum += power / float64(n)
		power = float64(power * float64(t*t))
	}
	return float32(max(float64(x), 0) + float64(2*sum))
}

// text computes a text of the pass, from one state that is wanted to the next.
func (f *Recurrent) text(p *Pass, layer, text int, out, qkv, gates, decays []float32) error {
	c, n := p.Cache.carry(text), f.Heads*f.ValueSize
	before := c.state(layer)
	at, end := p.Starts[text], p.Starts[text+1]
	for i := 0; at < end; i++ {
		to, after := end, []float32(nil)
		if i < len(c.After) {
			to, after = at+c.After[i].After-p.Positions[at], c.After[i].Layers[layer]
		}
		rows := func(column, heads, size int) kernel.Tensor {
			return inRows(qkv[at*f.Channels+column:], to-at, heads, size, f.Channels)
		}
		x := recurrent.Text{
			Q: rows(0, f.KeyHeads, f.KeySize), K: rows(f.keys(), f.KeyHeads, f.KeySize), V: rows(2*f.keys(), f.Heads, f.ValueSize),
			Decay: decays[at*f.Heads : to*f.Heads], Gate: gates[at*f.Heads : to*f.Heads], Position: p.Positions[at], Before: before, After: after,
		}
		if err := f.Apply(inRows(out[at*n:], to-at, f.Heads, f.ValueSize, n), x, p.Exec); err != nil {
			return err
		}
		at, before = to, after
	}
	return nil
}

// A closing is outputs, values in the rows of qkv, and z in those of in. The products go to shut,
// which is out itself without an order of heads.
type closing struct {
	*Recurrent
	in, qkv, out, shut []float32
}

// shutRecurrent adds values to some rows of outputs, if the layer does so, and multiplies them by
// SiLU(z).
func shutRecurrent(p *Pass, f closing, lo, hi int) error {
	n := f.Heads * f.ValueSize
	for row := lo; row < hi; row++ {
		y, v := f.out[row*n:][:n], f.qkv[row*f.Channels+2*f.keys():][:n]
		for h, d := range f.Skip {
			for i := h * f.ValueSize; i < (h+1)*f.ValueSize; i++ {
				y[i] += float32(d * v[i])
			}
		}
		z, to := f.in[row*f.In.N+f.Channels:][:n], f.shut[row*n:][:n]
		if err := activation.SwiGLU(y, z, y, p.oneThread()); err != nil {
			return err
		}
		for h, place := range f.Order {
			copy(to[place*f.ValueSize:][:f.ValueSize], y[h*f.ValueSize:])
		}
	}
	return nil
}
