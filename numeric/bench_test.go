package numeric_test

import (
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// BenchmarkQuantizeInt8 quantizes what a cache stores of a token: 8 heads of 128 keys. Copy copies
// as many float32.
func BenchmarkQuantizeInt8(b *testing.B) {
	const heads, size = 8, 128
	x, q, scales := testutil.Floats(heads*size), make([]int8, heads*size), make([]float32, heads)
	b.Run("QuantizeInt8", func(b *testing.B) {
		for b.Loop() {
			if err := numeric.QuantizeInt8(q, scales, x, size, kernel.Exec{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Copy", func(b *testing.B) {
		to := make([]float32, len(x))
		for b.Loop() {
			copy(to, x)
		}
	})
}
