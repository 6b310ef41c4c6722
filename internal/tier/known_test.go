//go:build (amd64 || arm64) && !purego

package tier

import (
	"testing"

	"github.com/klauspost/cpuid/v2"

	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/internal/ukernel"
)

// TestFeaturesAreKnown fails if a kernel needs a CPU feature that package cpuid does not know, as
// it would never run.
func TestFeaturesAreKnown(t *testing.T) {
	needsAreKnown(t, asm.Products)
	needsAreKnown(t, asm.Lanes)
	needsAreKnown(t, asm.Gradients)
	needsAreKnown(t, asm.Skinny)
	needsAreKnown(t, asm.Convert)
	needsAreKnown(t, asm.Weights)
	needsAreKnown(t, asm.Elementwise)
	needsAreKnown(t, asm.Norms)
	needsAreKnown(t, asm.Activations)
	needsAreKnown(t, asm.Rows)
	needsAreKnown(t, asm.Unit)
	needsAreKnown(t, asm.Machine)
}

func needsAreKnown[T any](t *testing.T, overrides []ukernel.Override[T]) {
	for _, l := range overrides {
		for _, feature := range l.Needs {
			if cpuid.ParseFeature(feature) == cpuid.UNKNOWN {
				t.Errorf("%s: a kernel in %T needs %s, which cpuid does not know", l.ISA, l.Kernels, feature)
			}
		}
	}
}
