package activations

import (
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestHidden: names of one function have the same one.
func TestHidden(t *testing.T) {
	for _, names := range [][]string{{"gelu", "gelu_python"}, {"gelu_new", "gelu_fast", "gelu_tanh", "gelu_pytorch_tanh"}, {"silu", "swish"}} {
		want, _ := Hidden(names[0])
		for _, name := range names {
			if got, ok := Hidden(name); !ok || got.Fused != want.Fused || got.After != nil {
				t.Errorf("%s: got %v %v, want the function of %s", name, got, ok, names[0])
			}
		}
	}
	if _, ok := Hidden("quick_gelu"); ok {
		t.Error("quick_gelu is known, x·σ(1.702·x), which is none of these")
	}
}
