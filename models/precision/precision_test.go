package precision_test

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
	_ "github.com/attn-go/attn/models/internal/refs"
	"github.com/attn-go/attn/models/precision"
)

// Every precision has a name that stands for it, and nothing else has.
func TestNames(t *testing.T) {
	for i, name := range precision.Names {
		p, err := precision.Parse(name)
		if err != nil || int(p) != i || p.String() != name || p.Check("x") != nil {
			t.Errorf("%s: got %v, %v", name, p, err)
		}
	}
	for _, name := range []string{"", "f32", "BF16", "int4"} {
		if _, err := precision.Parse(name); !errors.Is(err, kernel.ErrArgument) {
			t.Errorf("%q: got %v", name, err)
		}
	}
	if err := precision.Precision(3).Check("Options.Precision"); err == nil || err.Error() != "Options.Precision: Precision(3), want float32, bf16 or int8" {
		t.Errorf("got %v", err)
	}
}
