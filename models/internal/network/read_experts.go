package network

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// experts reads the router and the experts of a layer.
func (b *builder) experts(i int, f *arch.Experts) *Experts {
	bias := arch.Absent
	if f.RouterBias {
		bias = arch.Present
	}
	w := b.model.Width
	out := &Experts{
		Router: b.Linear(tensors.Reads, part(i, "ffn_gate_inp", bias, f.Count, w)), Sigmoid: f.Sigmoid,
		Used: f.Used, Groups: f.Groups, Shares: f.Shares, Least: f.Least, Scale: cmp.Or(f.Scale, 1),
	}
	if f.Correction {
		out.Correction = b.Floats(at(i, "exp_probs_b.bias"), f.Count)
	}
	if f.Added {
		out.Added = b.Floats(at(i, "ffn_exps.bias"), w)
		tensors.PermuteColumns(out.Added, b.Pack.Order)
	}
	if n := f.Latent; n > 0 {
		out.In, out.Out = b.Linear(tensors.Reads, part(i, "ffn_latent_down", arch.Absent, n, w)), b.Linear(tensors.Writes, part(i, "ffn_latent_up", arch.Absent, w, n))
	}
	gateUp, down := b.expertParts(i, f)
	for e := 0; e < f.Count && b.Err() == nil; e++ {
		out.All = append(out.All, b.expert(f, down(e), gateUp(e)...))
	}
	if n := f.Shared; n > 0 {
		in := []tensors.Part{part(i, "ffn_gate_shexp", arch.Absent, n, w), part(i, "ffn_up_shexp", arch.Absent, n, w)}
		if !f.Gated {
			in = in[1:]
		} else if b.has(i, "ffn_gate_up_shexp") {
			in = []tensors.Part{part(i, "ffn_gate_up_shexp", arch.Absent, 2*n, w)}
		}
		out.Shared = b.expert(f, part(i, "ffn_down_shexp", arch.Absent, w, n), in...)
	}
	if f.SharedGate {
		gate := part(i, "ffn_gate_inp_shexp", arch.Absent, 1, w)
		if info, _ := b.Info(gate.Name + ".weight"); len(info.Shape) == 1 { // as GGUF files have it
			gate.Shape = gate.Shape[1:]
		}
		out.SharedGate = b.Linear(tensors.Reads, gate)
	}
	return out
}

// expert reads a network whose outputs come from down.
func (b *builder) expert(f *arch.Experts, down tensors.Part, in ...tensors.Part) Feed {
	first, last := b.Linear(tensors.Reads, in...), b.Linear(tensors.Writes, down)
	switch {
	case !f.Gated:
		return &Dense{Up: first, Down: last, Activation: f.Activation}
	case f.Limit != 0:
		return &Gated{GateUp: first, Down: last, Activation: clamped(float32(f.Limit), float32(f.Alpha))}
	}
	return &Gated{GateUp: first, Down: last, Activation: f.Activation.Gated()}
}

// expertParts returns where the matrices of an expert are: in tensors of their own, or in one for
// all experts, which may have gate and up.
func (b *builder) expertParts(i int, f *arch.Experts) (gateUp func(e int) []tensors.Part, down func(e int) tensors.Part) {
	w, n := cmp.Or(f.Latent, b.model.Width), f.Inner
	of := func(name string, e int, bias arch.Bias, n, k int) tensors.Part {
		return part(i, fmt.Sprintf("%s.%d", name, e), bias, n, k)
	}
	both := b.has(i, "ffn_gate_up_exps")
	if both || b.has(i, "ffn_up_exps") {
		of = func(name string, e int, bias arch.Bias, n, k int) tensors.Part {
			p := part(i, name+"_exps", bias, n, k)
			p.Shape, p.First, p.Rows = []int{f.Count, n, k}, e*n, n
			return p
		}
	}
	gateUp = func(e int) []tensors.Part {
		if !f.Gated {
			return []tensors.Part{of("ffn_up", e, f.Bias, n, w)}
		}
		if both {
			return []tensors.Part{of("ffn_gate_up", e, f.Bias, 2*n, w)}
		}
		return []tensors.Part{of("ffn_gate", e, f.Bias, n, w), of("ffn_up", e, f.Bias, n, w)}
	}
	return gateUp, func(e int) tensors.Part { return of("ffn_down", e, f.DownBias, w, n) }
}
