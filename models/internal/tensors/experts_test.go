package tensors

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/gguf"
)

// raw returns a tensor of bytes, in a file that is mapped or not.
func raw(mapped bool, of gguf.Type, name string, data []byte, shape ...int) *tensor {
	t := &tensor{Info: Info{of, name, shape, int64(len(data))}, file: &file{r: bytes.NewReader(data), forget: func([]byte) {}}}
	if mapped {
		t.data = data
	}
	return t
}

// count returns the numbers from 1 on as bytes.
func count(n int) (all []byte) {
	for i := range n {
		all = append(all, byte(i+1))
	}
	return all
}

// experts returns a store with two experts of 4 outputs and 3 inputs of one byte, and one layer of
// blocks with 2 outputs of 32 inputs.
func experts(mapped bool) *Store {
	const a, b = "model.layers.0.mlp.experts.", "model.layers.1.mlp.experts."
	return &Store{tensors: map[string]*tensor{
		a + "gate_up_proj":        raw(mapped, gguf.I8, "I8", count(24), 2, 3, 4),
		a + "gate_up_proj_bias":   raw(mapped, gguf.I8, "I8", count(8), 2, 4),
		a + "down_proj":           raw(mapped, gguf.I8, "I8", count(12), 2, 2, 3),
		a + "down_proj_bias":      raw(mapped, gguf.I8, "I8", count(6), 2, 3),
		b + "gate_up_proj_blocks": raw(mapped, Other, "U8", count(32), 1, 2, 1, 16),
		b + "gate_up_proj_scales": raw(mapped, Other, "U8", []byte{101, 102}, 1, 2, 1),
		b + "down_proj_blocks":    raw(mapped, Other, "U8", count(32), 1, 2, 1, 16),
		b + "down_proj_scales":    raw(mapped, Other, "U8", []byte{101, 102}, 1, 2),
	}}
}

// TestSeparateExperts: a byte of a made tensor belongs to its expert, output and input, from mapped
// files and others, whole or in pieces; blocks get the order of GGUF files; what does not fit
// stays.
func TestSeparateExperts(t *testing.T) {
	block := func(scale byte, first int) []byte {
		all := []byte{scale}
		for i := range 16 { // number i of the first half and number i of the second one
			lo, hi := byte(first+i/2), byte(first+8+i/2)
			all = append(all, lo>>(4*(i%2))&15|hi>>(4*(i%2))&15<<4)
		}
		return all
	}
	const a, b = "model.layers.0.mlp.experts.", "model.layers.1.mlp.experts."
	for _, mapped := range []bool{true, false} {
		s := experts(mapped)
		s.SeparateExperts()
		for name, want := range map[string]struct {
			shape []int
			data  []byte
		}{
			a + "gate_proj.weight": {[]int{2, 2, 3}, []byte{1, 5, 9, 3, 7, 11, 13, 17, 21, 15, 19, 23}},
			a + "up_proj.weight":   {[]int{2, 2, 3}, []byte{2, 6, 10, 4, 8, 12, 14, 18, 22, 16, 20, 24}},
			a + "gate_proj.bias":   {[]int{2, 2}, []byte{1, 3, 5, 7}},
			a + "up_proj.bias":     {[]int{2, 2}, []byte{2, 4, 6, 8}},
			a + "down_proj.weight": {[]int{2, 3, 2}, []byte{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}},
			a + "down_proj.bias":   {[]int{2, 3}, []byte{1, 2, 3, 4, 5, 6}},
			b + "gate_proj.weight": {[]int{1, 1, 32}, block(101, 1)},
			b + "up_proj.weight":   {[]int{1, 1, 32}, block(102, 17)},
		} {
			x := s.tensors[name]
			if x == nil || !slices.Equal(x.Shape, want.shape) || x.Bytes != int64(len(want.data)) {
				t.Fatalf("%s: %+v, want %v and %d bytes", name, x, want.shape, len(want.data))
			}
			_, size := x.Type.Block()
			for step := size; step <= len(want.data); step += size {
				var got []byte
				for at := 0; at < len(want.data); at += step {
					part, err := x.read(int64(at), int64(min(at+step, len(want.data))), nil)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, part...)
				}
				if !bytes.Equal(got, want.data) {
					t.Errorf("%s, mapped: %v, in pieces of %d: %v, want %v", name, mapped, step, got, want.data)
				}
			}
		}
		if got, want := fmt.Sprint(len(s.tensors), s.tensors[b+"down_proj_blocks"] != nil, s.tensors[b+"down_proj_scales"] != nil), "10 true true"; got != want {
			t.Errorf("tensors, and those whose scales do not fit: %s, want %s", got, want)
		}
	}
}
