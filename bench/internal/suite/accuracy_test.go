package suite

import (
	"encoding/json"
	"testing"

	"github.com/attn-go/attn/bench/internal/machine"
)

// TestAccuracyCases: PyTorch was measured on the cases of the suite, and on no others.
func TestAccuracyCases(t *testing.T) {
	var pytorch pytorchAccuracy
	if err := json.Unmarshal(pytorchErrors, &pytorch); err != nil {
		t.Fatal(err)
	}
	for _, c := range accuracyCases() {
		if p, ok := pytorch.Cases[c.String()]; !ok || !(p.RMS > 0 && p.RMS <= p.Max) {
			t.Errorf("%v: PyTorch's errors are %v", c, p)
		}
		delete(pytorch.Cases, c.String())
	}
	for name := range pytorch.Cases {
		t.Errorf("%s is no case", name)
	}
}

// TestAccuracyMeasures: a case of each kind has an error as small as its sums allow, but not
// none.
func TestAccuracyMeasures(t *testing.T) {
	for _, c := range []accuracyCase{{kindAttention, 32, 512, false, 1}, {kindLinear, 128, 0, true, 1}, {"LayerNorm", 384, 0, true, 1}} {
		e, err := c.measure(machine.Generic)
		if err != nil {
			t.Fatal(err)
		}
		if e.RMS < 1e-9 || e.Max > 1e-3 {
			t.Errorf("%v: error max %g, rms %g", c, e.Max, e.RMS)
		}
	}
}
