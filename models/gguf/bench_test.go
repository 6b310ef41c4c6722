package gguf

import (
	"testing"

	"github.com/attn-go/attn/models/internal/testweights"
)

// BenchmarkOpen opens and closes the real file.
func BenchmarkOpen(b *testing.B) {
	path := testweights.Path(b, testweights.SmolLM2)
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloat32 converts 2^20 elements of each type. The rate counts the bytes written.
func BenchmarkFloat32(b *testing.B) {
	const rows, width = 1 << 10, 1 << 10
	for kind := range Type(len(layouts)) {
		l := kind.layout()
		if !kind.Converts() {
			continue
		}
		t := Tensor{Type: kind, Shape: []int{rows, width}, Data: make([]byte, rows*width/l.elements*l.bytes)}
		b.Run(l.name, func(b *testing.B) {
			b.SetBytes(4 * rows * width)
			for b.Loop() {
				if _, err := t.Float32(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
