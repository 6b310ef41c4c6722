package network

import (
	"cmp"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
)

// An Attention is attention of a layer. Query head h takes head h/(Heads/KVHeads) of keys
// and values.
type Attention struct {
	Heads, KVHeads, Size int
	QKV, Out             tensors.Linear // queries, keys and values side by side
	QueryNorm, KeyNorm   []*Norm        // of queries and keys: one for all, one over each head, or one for each
	Gated                bool           // gates of all outputs follow the values in QKV
	Late                 bool           // these norms follow the rotation
	ValueNorm            []*Norm        // of every head of values, or nil
	Source               int            // the layer whose keys and values these are, and 1, with no KVHeads; 0: the layer has its own
	Rope                 int            // of Settings.Ropes; -1 means that nothing is rotated
	Still                int            // elements of a head before those that rotate
	InKeys               int            // elements of a key that are its value, too; 0: there are values of Size elements

	Window   int // keys that a query sees to each side that it sees, its own included; 0: all
	BothWays bool
	Scale    float32   // of scores; 0 means 1/√Size
	Softcap  float32   // limits scores, if not 0
	Sinks    []float32 // a score for each head that takes part in the softmax, or nil

	Relative *Relative // a bias of distances, or nil
	ALiBi    []float32 // slopes of heads, or nil
	Apart    *Apart    // scores of positions, without windows and the like, or nil
}

// width is how many numbers QKV gives a token: queries, keys, values and gates. Keys begin where
// queries end. Values begin where keys end, or where keys begin if they are values, too.
func (a *Attention) width() int {
	if a.Gated {
		return a.gates() + a.Heads*a.Size
	}
	return a.gates()
}
func (a *Attention) gates() int { return a.values() + a.KVHeads*a.Size }
func (a *Attention) keys() int  { return a.Heads * a.Size }
func (a *Attention) values() int {
	if a.InKeys > 0 {
		return a.keys()
	}
	return a.keys() + a.KVHeads*a.Size
}

// valueSize is the number of elements of a head of values, and of what attention returns.
func (a *Attention) valueSize() int { return cmp.Or(a.InKeys, a.Size) }

func (a *Attention) keepsKeys() bool               { return a.Source == 0 }
func (a *Attention) carries(int) (taps, state int) { return 0, 0 }

func (a *Attention) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows := len(p.Tokens)
	qkv := p.floats.take(rows * a.width())
	if err := p.apply(&a.QKV, qkv, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := a.turnHeads(p, qkv); err != nil {
		return err
	}
	p.see("layer.qkv", layer, qkv)
	out, rows, err := a.wanted(p, layer, qkv)
	if err != nil || rows == 0 {
		return err
	}
	return p.apply(&a.Out, y, out, rows, a.Heads*a.Size, 0)
}

// wanted keeps keys and values and computes attention of the wanted rows.
func (a *Attention) wanted(p *Pass, layer int, qkv []float32) (out []float32, rows int, err error) {
	if err := p.Cache.keep(p, layer, a, qkv); err != nil || p.only && len(p.Wanted) == 0 {
		return nil, 0, err
	}
	rows, n := len(p.Tokens), a.Heads*a.valueSize()
	out = p.floats.take(rows * n)
	if err := a.attend(p, layer, out, qkv); err != nil {
		return nil, 0, err
	}
	p.see("layer.attn", layer, out)
	if a.Gated {
		if err := spread(p, rows, a.width(), gated{a, qkv, out}, multiply); err != nil {
			return nil, 0, err
		}
	}
	if p.only {
		gather(out, p.Wanted, n)
		rows = len(p.Wanted)
	}
	return out, rows, nil
}

// A gated is outputs and their gates.
type gated struct {
	*Attention
	qkv, out []float32
}

// multiply multiplies some rows of outputs by the logistic functions of their gates.
func multiply(p *Pass, a gated, lo, hi int) error {
	n := a.Heads * a.Size
	for row := lo; row < hi; row++ {
		gates := a.qkv[row*a.width()+a.gates():][:n]
		if err := logistic(gates, p.oneThread()); err != nil {
			return err
		}
		for i, x := range a.out[row*n:][:n] {
			a.out[row*n+i] = float32(x * gates[i])
		}
	}
	return nil
}

// turnHeads normalises and rotates queries and keys.
func (a *Attention) turnHeads(p *Pass, qkv []float32) error {
	if !a.Late {
		if err := a.normHeads(p, qkv); err != nil {
			return err
		}
	}
	if a.Rope >= 0 {
		if err := spread(p, len(p.Tokens), a.width(), rotated{a, qkv}, rotate); err != nil {
			return err
		}
	}
	if a.Late {
		return a.normHeads(p, qkv)
	}
	return nil
}

// normHeads normalises queries, keys and values, if the layer has weights for that. A norm has as
// many weights as there are numbers that it divides together.
func (a *Attention) normHeads(p *Pass, qkv []float32) error {
	for _, part := range [...]struct {
		norms    []*Norm
		at, size int
	}{{a.QueryNorm, 0, a.Heads * a.Size}, {a.KeyNorm, a.keys(), a.KVHeads * a.Size}, {a.ValueNorm, a.values(), a.KVHeads * a.Size}} {
		for i, of := range part.norms {
			n := len(of.Weight)
			view := inRows(qkv[part.at+i*n:], len(p.Tokens), part.size/n/len(part.norms), n, a.width())
			if err := of.of(view, view, norm.Options{Exec: p.Exec}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A rotated is queries, keys and values whose first two are rotated.
type rotated struct {
	*Attention
	qkv []float32
}

// rotate rotates the queries and keys of some rows.
func rotate(p *Pass, a rotated, lo, hi int) error {
	r, width := &p.Ropes[a.Rope], a.width()
	rows := kernel.Strided(a.qkv[lo*width+a.Still:], [4]int{1, a.Heads + a.KVHeads, hi - lo, a.Size - a.Still}, [3]int{(hi - lo) * width, a.Size, width})
	if err := r.Apply(rows, p.Positions[lo:hi], p.oneThread()); err != nil {
		return err
	}
	for row := lo; row < hi && r.Square != 0; row++ {
		for h := range a.Heads {
			scale(a.qkv[row*width+h*a.Size+a.Still:][:r.Dims], r.Square)
		}
	}
	for row := lo; row < hi && r.growth != nil; row++ {
		scale(a.qkv[row*width:][:a.keys()], r.growth.at(p.Positions[row]))
	}
	return nil
}

// scale multiplies numbers.
func scale(x []float32, by float32) {
	for i, y := range x {
		x[i] = float32(y * by)
	}
}

// attend computes attention to all keys of each text.
func (a *Attention) attend(p *Pass, layer int, out, qkv []float32) error {
	if a.Apart != nil {
		return a.attendApart(p, out, qkv, mostBias)
	}
	k, v, s := p.Cache.read(p, layer, a, qkv)
	o := kernel.Options{Exec: p.Exec, Scoring: s}
	o.Scale, o.Softcap, o.Sinks, o.ALiBi, o.DynamicInt12 = a.Scale, a.Softcap, a.Sinks, a.ALiBi, p.Int12
	n := a.Window
	switch {
	case n > 0 && a.BothWays:
		o.Mask = kernel.Window(n-1, n-1)
	case n > 0:
		o.Mask = kernel.Window(n-1, 0)
	case a.BothWays:
		o.Mask = kernel.Mask{}
	}
	if a.Relative != nil {
		o.Bias = a.Relative.view(p.longest())
	}
	if len(p.Seen) > 0 {
		o.Mask = o.Mask.And(kernel.KeyLengths(p.Seen))
	}
	queries := p.heads(qkv, 0, a.Heads, a.Size, a.width())
	if err := kernel.Attention(p.heads(out, 0, a.Heads, a.valueSize(), a.Heads*a.valueSize()), queries, k, v, &o); err != nil {
		return err
	}
	return p.Cache.restore(p, out)
}
