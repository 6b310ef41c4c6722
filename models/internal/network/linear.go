package network

import (
	"slices"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
)

// apply computes layers of rows of x that are stride numbers apart, with an activation of
// the outputs.
func (p *Pass) apply(l *tensors.Linear, out, x []float32, rows, stride int, act linear.Activation) error {
	at := 0
	for _, part := range l.Parts {
		n, k := part.Shape()
		o := linear.Options{Exec: p.Exec, DynamicInt8: p.Int8 && part.Format() != 0, Activation: act}
		to := linear.StridedMatrix(out[at:], rows, n, l.N, 1)
		if err := part.Apply(to, linear.StridedMatrix(x, rows, k, stride, 1), o); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// chain computes two layers, both of quantized weights or none.
func (p *Pass) chain(first, second *linear.Linear, out, x []float32, rows int, act linear.Activation) error {
	_, k := first.Shape()
	n, _ := second.Shape()
	o := linear.Options{Exec: p.Exec, DynamicInt8: p.Int8 && first.Format() != 0, Activation: act}
	return linear.Chain(linear.DenseMatrix(out, rows, n), linear.StridedMatrix(x, rows, k, len(x)/rows, 1), first, second, o)
}

// applyWanted computes a layer of the rows of x that the layer of the pass wants, which it moves to
// the front.
func (p *Pass) applyWanted(l *tensors.Linear, out, x []float32, rows, stride int) error {
	if p.only {
		gather(x, p.Wanted, stride)
		rows = len(p.Wanted)
	}
	if rows == 0 {
		return nil
	}
	return p.apply(l, out, x, rows, stride, 0)
}

// A Head makes logits of states.
type Head struct {
	tensors.Linear
	Scale   float32 // multiplies logits, if not 0
	Softcap float32 // limits logits to those from -Softcap to Softcap, if not 0
}

// Logits computes the logits of states, [rows, Width], to out, [rows, N].
func (l *Head) Logits(p *Pass, out, h []float32, rows int) error {
	if err := p.apply(&l.Linear, out, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if l.Scale != 0 {
		scale(out, l.Scale)
	}
	if l.Softcap == 0 {
		return nil
	}
	for i, x := range out {
		out[i] = x / l.Softcap
	}
	if err := numeric.TanhSlice(out, out, p.Exec); err != nil {
		return err
	}
	scale(out, l.Softcap)
	return nil
}

// Quantized reports whether weights are quantized.
func (l *Head) Quantized() bool { return quantized(l.Linear) }

// Quantized reports whether weights of a layer, or beside layers, are quantized.
func (n *Network) Quantized() bool {
	var all []tensors.Linear
	if n.Inputs != nil {
		all = append(all, n.Inputs.Project)
	}
	if n.Streams != nil {
		all = slices.Concat(all, n.Streams.In, n.Streams.Out)
	}
	return quantized(all...) || slices.ContainsFunc(n.Layers, func(l Layer) bool { return quantized(l.layers()...) })
}

// layers are all linear ones that a layer of a model has.
func (l *Layer) layers() []tensors.Linear {
	all := append(l.Mix.layers(), l.Feed.layers()...)
	if l.Own != nil {
		all = append(all, l.Own.layers()...)
	}
	if a := l.AltUp; a != nil {
		all = append(all, a.Router, a.Predict, a.Correct)
	}
	if f := l.Laurel; f != nil {
		all = append(all, f.Left, f.Right)
	}
	return all
}

func quantized(all ...tensors.Linear) bool {
	for _, l := range all {
		if slices.ContainsFunc(l.Parts, func(part *linear.Linear) bool { return part.Format() != 0 }) {
			return true
		}
	}
	return false
}

func (a *Attention) layers() []tensors.Linear { return []tensors.Linear{a.QKV, a.Out} }
func (f *Dense) layers() []tensors.Linear     { return []tensors.Linear{f.Up, f.Down} }
func (f *Gated) layers() []tensors.Linear     { return []tensors.Linear{f.GateUp, f.Down} }

func (f *Experts) layers() []tensors.Linear {
	all := []tensors.Linear{f.Router, f.SharedGate, f.In, f.Out}
	for i := range f.All {
		all = append(all, f.All[i].layers()...)
	}
	if f.Shared != nil {
		all = append(all, f.Shared.layers()...)
	}
	return all
}
