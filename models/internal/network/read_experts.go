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
	activation := f.Activation.Gated()
	if f.Limit != 0 {
		activation = clamped(float32(f.Limit), float32(f.Alpha))
	}
	gateUp, down := b.expertParts(i, f)
	for e := 0; e < f.Count && b.Err() == nil; e++ {
		out.All = append(out.All, Gated{GateUp: b.Linear(tensors.Reads, gateUp(e)...), Down: b.Linear(tensors.Writes, down(e)), Activation: activation})
	}
	if n := f.Shared; n > 0 {
		gate, up := part(i, "ffn_gate_shexp", arch.Absent, n, w), part(i, "ffn_up_shexp", arch.Absent, n, w)
		out.Shared = &Gated{GateUp: b.Linear(tensors.Reads, gate, up), Down: b.Linear(tensors.Writes, part(i, "ffn_down_shexp", arch.Absent, w, n)), Activation: activation}
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

// expertParts returns where the matrices of an expert are: in tensors of their own, or in one of all experts, which
// may have gate and up.
func (b *builder) expertParts(i int, f *arch.Experts) (gateUp func(e int) []tensors.Part, down func(e int) tensors.Part) {
	w, n := b.model.Width, f.Inner
	of := func(name string, e int, bias arch.Bias, n, k int) tensors.Part {
		return part(i, fmt.Sprintf("%s.%d", name, e), bias, n, k)
	}
	both := b.has(i, "ffn_gate_up_exps")
	if both || b.has(i, "ffn_gate_exps") {
		of = func(name string, e int, bias arch.Bias, n, k int) tensors.Part {
			p := part(i, name+"_exps", bias, n, k)
			p.Shape, p.First, p.Rows = []int{f.Count, n, k}, e*n, n
			return p
		}
	}
	gateUp = func(e int) []tensors.Part {
		if both {
			return []tensors.Part{of("ffn_gate_up", e, f.Bias, 2*n, w)}
		}
		return []tensors.Part{of("ffn_gate", e, f.Bias, n, w), of("ffn_up", e, f.Bias, n, w)}
	}
	return gateUp, func(e int) tensors.Part { return of("ffn_down", e, f.DownBias, w, n) }
}
