package embedding

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestMaxSim: what has no score that is a number is an error, and without vectors of the query
// there is nothing to compare.
func TestMaxSim(t *testing.T) {
	vectors := func(of ...[]float32) TokenVectors { return TokenVectors{Tokens: make([]int32, len(of)), Vectors: of} }
	one := vectors([]float32{1, 2})
	scores, err := MaxSim(vectors([]float32{1, 0}, []float32{0, 1}), []TokenVectors{one, vectors([]float32{3, 0}, []float32{0, -1})}, kernel.Exec{})
	if err != nil || scores[0] != 3 || scores[1] != 3 {
		t.Error(scores, err)
	}
	if scores, err := MaxSim(vectors(), []TokenVectors{vectors()}, kernel.Exec{}); err != nil || scores[0] != 0 {
		t.Error(scores, err)
	}
	for what, x := range map[string]struct{ query, document TokenVectors }{
		"empty vectors":              {vectors([]float32{}), vectors([]float32{})},
		"empty vectors of a query":   {vectors([]float32{}), one},
		"a document without vectors": {one, vectors()},
		"a longer vector":            {one, vectors([]float32{1, 2, 3})},
	} {
		if scores, err := MaxSim(x.query, []TokenVectors{one, x.document}, kernel.Exec{}); !errors.As(err, new(*kernel.Error)) || scores != nil {
			t.Errorf("%s: %v, %v", what, scores, err)
		}
	}
}
