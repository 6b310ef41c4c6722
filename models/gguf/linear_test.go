package gguf

import (
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
)

// Layers of package linear have the weights that the gguf package of the ggml project makes of the
// same blocks, see TestConvert. Zeros may have another sign, and weights with infinite scales are
// NaN.
func TestLinearFormats(t *testing.T) {
	refs, err := safetensors.Open("testdata/blocks.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer refs.Close()
	for kind := range Type(len(layouts)) {
		f, ok := kind.Format()
		if !ok {
			continue
		}
		blocks, err := refs.Bytes(kind.String() + ".blocks")
		if err != nil {
			t.Fatal(err)
		}
		want, err := refs.Float32(kind.String() + ".floats")
		if err != nil {
			t.Fatal(err)
		}
		l, err := linear.FromBlocks(f, blocks, 1, len(want), nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := l.Rows(linear.DenseMatrix(got, 1, len(want)), []int32{0}, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		finite := 0
		for i, x := range want {
			switch {
			case x != x || math.IsInf(float64(x), 0):
				if !math.IsNaN(float64(got[i])) && got[i] != x {
					t.Fatalf("%v: weight %d is %v, want %v or NaN", kind, i, got[i], x)
				}
			case got[i] != x:
				t.Fatalf("%v: weight %d is %v, want %v", kind, i, got[i], x)
			default:
				finite++
			}
		}
		if finite < len(want)/2 {
			t.Errorf("%v: %d of %d weights are finite", kind, finite, len(want))
		}
	}
}
