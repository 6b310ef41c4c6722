package network

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// streams reads what makes states beside the first one. GGUF files have the matrices of all in one
// tensor.
func (b *builder) streams() {
	n, w := b.model.Streams-1, b.model.Width
	if n < 1 {
		return
	}
	read := func(name string) (all []tensors.Linear) {
		for i := range n {
			p := tensors.Part{Name: fmt.Sprintf("%s.%d", name, i), Shape: []int{w, w}}
			if b.Rename == nil {
				p = tensors.Part{Name: name, Shape: []int{n, w, w}, First: i * w, Rows: w}
			}
			all = append(all, b.Linear(tensors.Writes, p))
		}
		return all
	}
	b.network.Streams = &Streams{In: read("altup_proj"), Out: read("altup_unembd_proj")}
}

// altUp reads how a layer predicts and corrects states.
func (b *builder) altUp(i int, l *arch.Layer) *AltUp {
	n, w := b.model.Streams, b.model.Width
	if n < 2 {
		return nil
	}
	matrix := func(name string, n, k int) tensors.Linear {
		return b.Linear(tensors.Inner, part(i, name, arch.Absent, n, k))
	}
	a := &AltUp{
		Norm:   b.norm(l.Norm, at(i, "altup_router_norm")),
		Router: matrix("altup_router", n, w), Predict: matrix("altup_predict_coef", n*n, n), Correct: matrix("altup_correct_coef", n, n),
		Scale: b.Floats(at(i, "altup_correct_scale.weight"), w),
	}
	for j, x := range a.Norm.Weight {
		a.Norm.Weight[j] = x / float32(w)
	}
	return a
}

// laurel reads what is added to the outputs of a mixer, whose sum with the states is divided by √2.
func (b *builder) laurel(i int, l *arch.Layer, out *Norms) *Laurel {
	n, w := l.Laurel, b.model.Width
	if n == 0 {
		return nil
	}
	out.Scale = float32(1 / math.Sqrt2)
	return &Laurel{
		Left: b.Linear(tensors.Reads, part(i, "laurel_l", arch.Absent, n, w)), Right: b.Linear(tensors.Writes, part(i, "laurel_r", arch.Absent, w, n)),
		Norm: b.norm(l.Norm, at(i, "laurel_post_norm")),
	}
}
