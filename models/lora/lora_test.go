package lora

import (
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestParse: a scale follows the last =, if a number does.
func TestParse(t *testing.T) {
	for text, want := range map[string]Adapter{"a": {"a", 0}, "a=2": {"a", 2}, "a=b": {"a=b", 0}, "a=b=-.5": {"a=b", -.5}, `C:\x`: {`C:\x`, 0}} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "=2", "a=0", "a=NaN", "a=Inf", "a=1e30"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
