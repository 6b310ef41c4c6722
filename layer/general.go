package layer

import (
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// General is q·W·k with a learned matrix W (Luong, Pham, Manning: "Effective Approaches
// to Attention-based Neural Machine Translation"). Queries and keys may differ in size.
// All heads share W. [NewGeneral] makes one.
type General struct {
	Query *linear.Linear // projects a query q to q·W
}

// NewGeneral returns the similarity q·w·k. The matrix w is [size of q, size of k].
// exec and the errors are those of [linear.New].
func NewGeneral(w linear.Matrix, exec kernel.Exec) (General, error) {
	l, err := linear.New(w.T(), nil, exec)
	return General{l}, err
}

// Attend implements [Similarity]. The projected queries take memory that is recycled.
func (g General) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	if g.Query == nil {
		return &kernel.Error{Where: "layer.General.Attend: General.Query", Got: "nil", Want: "a linear layer, as NewGeneral makes it"}
	}
	n, bad := checkProjection("q", &q, "General.Query", g.Query)
	o := valueOf(opts)
	if bad == nil {
		bad = checkMemory(&out, &o, qkv[:], &q, &k, &v)
	}
	if bad != nil {
		return (*kernel.Error)(bad.In("layer.General.Attend"))
	}
	s := getScratch(n)
	if s == nil {
		return (*kernel.Error)(projectionMemoryFailure("q", &q).In("layer.General.Attend"))
	}
	defer s.release()
	projected, err := s.project(&q, g.Query, o.Exec)
	if err != nil {
		return err
	}
	o.Scale = scoring.ScaleOr(o.Scale, 1)
	return kernel.Attention(out, projected, k, v, &o)
}
