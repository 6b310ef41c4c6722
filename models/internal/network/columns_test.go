package network

import (
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/tensors"
)

// TestQuantizedColumns expects that weights which are quantized in a file keep their
// blocks.
func TestQuantizedColumns(t *testing.T) {
	m := &arch.Model{Width: 2, Layers: []arch.Layer{{Norm: &arch.Norm{}}}}
	for dtype, want := range map[gguf.Type]bool{gguf.F32: true, gguf.F16: true, gguf.BF16: true, gguf.Q8_0: false, gguf.Q4_K: false} {
		all := []gguf.Tensor{{Name: "blk.0.attn_output.weight", Type: dtype, Shape: []int{256}, Data: make([]byte, dtype.Size(256))}}
		for _, name := range []string{"token_embd_norm.weight", "blk.0.attn_output_norm.weight", "blk.0.layer_output_norm.weight"} {
			all = append(all, gguf.Tensor{Name: name, Type: gguf.F32, Shape: []int{2}, Data: make([]byte, 8)})
		}
		file, err := gguf.New((&ggufwriter.File{Tensors: all}).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r := &tensors.Reader{Store: tensors.OfGGUF(file, "")}
		if got := Columns(m, r); (got != nil) != want || r.Err() != nil {
			t.Errorf("%v: %v (%v), want an order: %v", dtype, got, r.Err(), want)
		}
	}
}
