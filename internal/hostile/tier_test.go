package hostile

import (
	"errors"
	"reflect"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// TestNoTier: if the default tier cannot run, a call returns an error of the kind ErrTier before it
// writes, or needs no tier.
func TestNoTier(t *testing.T) {
	old := tier.Default
	defer func() { tier.Default = old }()
	w := newWorld()
	failed := map[string]bool{}
	for _, e := range table {
		tier.Default = old // making the arguments may take a tier
		args := callArguments(w, &e)
		tier.Default = func() (*tier.Tier, *check.Failure) {
			return nil, &check.Failure{Where: "ATTN_TIER", Got: `"sse9"`, Want: "another tier", Kind: check.ErrTier}
		}
		err := call(reflect.ValueOf(e.f), args)
		if err == nil {
			continue
		}
		failed[e.name] = true
		if !errors.Is(err, kernel.ErrTier) {
			t.Errorf("%s: error %v, want one of the kind ErrTier", e.name, err)
		}
		if w.isTouched() {
			t.Errorf("%s: has written before the error %v", e.name, err)
		}
	}
	for _, name := range []string{"kernel.Attention", "kernel.MergePartials", "layer.MultiHead.Attend", "layer.Softmax", "linear.Linear.Apply", "norm.RMSNorm", "numeric.Exp2Slice", "activation.SiLU", "activation.GeGLU", "kvcache.Batch.Store"} {
		if !failed[name] {
			t.Errorf("%s: no error", name)
		}
	}
}
