package decoder

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
)

// TestWordsOf: numbers are those that lie in the bytes, or are not given if they lie between two numbers.
func TestWordsOf(t *testing.T) {
	buffer := make([]uint64, 2) // begins at a multiple of 8
	data := unsafe.Slice((*byte)(unsafe.Pointer(&buffer[0])), 16)
	copy(data, []byte{0, 0x3c, 0, 0xc0, 0, 0, 0x80, 0x3f})
	halves, ok := wordsOf[kernel.F16](data[:4])
	if !littleEndian {
		if ok {
			t.Error("numbers in another order of bytes")
		}
		return
	}
	if !ok || !slices.Equal(halves, []kernel.F16{0x3c00, 0xc000}) {
		t.Errorf("%x, %v", halves, ok)
	}
	if floats, ok := wordsOf[float32](data[4:8]); !ok || len(floats) != 1 || floats[0] != 1 {
		t.Errorf("%v, %v", floats, ok)
	}
	if _, ok := wordsOf[kernel.F16](data[1:5]); ok {
		t.Error("numbers of 16 bits at an odd address")
	}
	if _, ok := wordsOf[float32](data[2:6]); ok {
		t.Error("numbers of 32 bits at half of one")
	}
	if _, ok := wordsOf[float32](nil); ok {
		t.Error("numbers of nothing")
	}
}
