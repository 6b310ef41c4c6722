package decoder

import (
	"encoding/binary"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
)

// littleEndian tells whether numbers of files lie as those of this machine.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// wordsOf returns the numbers of 16 or 32 bits that data has as they lie there, without a copy, or false if this machine has
// another order of bytes or data begins between two numbers.
func wordsOf[E kernel.Float](data []byte) ([]E, bool) {
	size := int(unsafe.Sizeof(*new(E)))
	at := unsafe.Pointer(unsafe.SliceData(data))
	if !littleEndian || len(data) == 0 || uintptr(at)%uintptr(size) != 0 {
		return nil, false
	}
	return unsafe.Slice((*E)(at), len(data)/size), true
}

// wordsOfOne is wordsOf for a tensor that stands alone, and false for several.
func wordsOfOne[E kernel.Float](tensors []gguf.Tensor) ([]E, bool) {
	if len(tensors) != 1 {
		return nil, false
	}
	return wordsOf[E](tensors[0].Data)
}
