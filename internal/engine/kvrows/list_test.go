package kvrows

import (
	"testing"

	"github.com/attn-go/attn/internal/view"
)

// TestToBytes: offsets that fit an int of 32 bits in bytes are right there, too.
func TestToBytes(t *testing.T) {
	for _, x := range []struct {
		dtype          view.DType
		elements, want int
	}{{view.Float32, 1 << 27, 1 << 29}, {view.Float32, 3 << 27, 3 << 29}, {view.BFloat16, 3 << 28, 3 << 29}, {view.Int8, 1<<31 - 1, 1<<31 - 1}, {view.Int4, 1<<31 - 2, 1<<30 - 1}} {
		off := []int{0, x.elements}
		if toBytes(off, x.dtype); off[0] != 0 || off[1] != x.want {
			t.Errorf("%v: %d elements begin at %v, want %d", x.dtype, x.elements, off, x.want)
		}
	}
}
