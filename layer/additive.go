package layer

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Additive is V·tanh(Query(q) + Key(k)), a small network applied to query and key
// (Bahdanau, Cho, Bengio: "Neural Machine Translation by Jointly Learning to Align and
// Translate"). Query and Key project to the same number of hidden units. Queries and keys
// may differ in size. All heads share the weights.
//
// In a decoder every step attends to the same keys. Project them once, and use an
// Additive without Key from then on:
//
//	err := a.Key.Project(projected, states, linear.Options{})
//	step := layer.Additive{Query: a.Query, V: a.V}
//	err = step.Attend(out, query, projected, states, opts) // in every step
type Additive struct {
	Query, Key *linear.Linear // nil uses the queries or keys as they are
	V          []float32      // one weight for each hidden unit
}

// Attend implements [Similarity]. It projects queries and keys and calls
// [kernel.Additive]. The projections take memory that is recycled.
func (a Additive) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	tensors := [...]kernel.Tensor{q, k}
	layers := [...]*linear.Linear{a.Query, a.Key}
	o := valueOf(opts)
	var sizes [2]int
	bad := checkMemory(&out, &o, qkv[:], &q, &k, &v)
	for i, l := range layers {
		if bad == nil && l != nil {
			sizes[i], bad = checkProjection(qkv[i], &tensors[i], additiveNames[i].layer, l)
		}
	}
	if bad != nil {
		return (*kernel.Error)(bad.In("layer.Additive.Attend"))
	}
	s := getScratch(sizes[:]...)
	if s == nil {
		i := 0 // the larger one
		if sizes[1] > sizes[0] {
			i = 1
		}
		return (*kernel.Error)(projectionMemoryFailure(qkv[i], &tensors[i]).In("layer.Additive.Attend"))
	}
	defer s.release()
	for i, l := range layers {
		if l == nil {
			continue
		}
		var err error
		if tensors[i], err = s.project(&tensors[i], l, o.Exec); err != nil {
			return err
		}
	}
	err := kernel.Additive(out, tensors[0], tensors[1], v, a.V, &o)
	return renameArgument(err, "weights", "layer.Additive.Attend", "Additive.V")
}
