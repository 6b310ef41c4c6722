package layer

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Additive is Bahdanau's similarity, V·tanh(Query(q) + Key(k)), with two projections to the
// same hidden size (Bahdanau, Cho, Bengio: "Neural Machine Translation by Jointly Learning
// to Align and Translate"). Queries and keys may differ in size. One set of weights serves
// all heads.
//
// A decoder asks the same keys at every step. They are projected once, by Key.Project, and
// from then on attended to with an Additive whose Key is nil:
//
//	err := a.Key.Project(projected, states, kernel.LinearOptions{})
//	step := layer.Additive{Query: a.Query, V: a.V}
//	err = step.Attend(out, query, projected, states, opts) // at every step
type Additive struct {
	Query, Key *linear.Linear // nil takes queries or keys as they are
	V          []float32      // one number for each of the hidden size
}

// Attend implements [Similarity]. Bits, time and memory are those of [kernel.Additive], and
// of the projections: memory for all queries and, with Key, all keys, which is recycled.
func (a Additive) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	tensors := [...]kernel.Tensor{q, k}
	var sizes [2]int
	layers := [...]*linear.Linear{a.Query, a.Key}
	for i, l := range layers {
		if l == nil {
			continue
		}
		var err error
		if sizes[i], err = projectedFloats("qk"[i:i+1], &tensors[i], l); err != nil {
			return err
		}
	}
	s := borrow(sizes[:]...)
	defer s.giveBack()
	for i, l := range layers {
		if l == nil {
			continue
		}
		var err error
		if tensors[i], err = s.project(&tensors[i], l, &opts); err != nil {
			return err
		}
	}
	return kernel.Additive(out, tensors[0], tensors[1], v, a.V, opts)
}
