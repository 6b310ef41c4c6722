package gguf

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/models/safetensors"
)

// TestConvert: random blocks of every supported type become the floats that the gguf package
// of the ggml project makes, to the bit. testdata/blocks.py wrote both.
func TestConvert(t *testing.T) {
	refs, err := safetensors.Open("testdata/blocks.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer refs.Close()
	for kind := range Type(len(layouts)) {
		l := kind.layout()
		if !kind.Converts() {
			continue
		}
		blocks, err := refs.Bytes(l.name + ".blocks")
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := refs.Float32(l.name + ".floats")
		if err != nil {
			t.Fatal(err)
		}
		tensor := Tensor{Name: "x", Type: kind, Shape: []int{len(blocks) / l.bytes, l.elements}, Data: blocks}
		got, err := tensor.Float32()
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
		} else if !slices.EqualFunc(got, want, sameBits) {
			t.Errorf("%s differs:\n%g\n%g", l.name, got, want)
		}
	}
}
