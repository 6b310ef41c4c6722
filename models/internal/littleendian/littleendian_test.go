package littleendian

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestCopy: numbers of every size have the value of their bytes, wherever they begin, on machines
// of either order of bytes.
func TestCopy(t *testing.T) {
	raw := []byte{9, 0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}[1:]
	checkCopy(t, raw, []float32{1, -2.5})
	checkCopy(t, raw, []uint16{0, 0x3f80, 0, 0xc020})
	checkCopy(t, raw, []int32{0x3f800000, -0x3fe00000})
	checkCopy(t, raw, []uint64{0xc02000003f800000})
	checkCopy(t, raw[:0], []int64{})
}

func checkCopy[E Number](t *testing.T, raw []byte, want []E) {
	t.Helper()
	got := make([]E, len(want))
	Copy(got, raw)
	if !slices.Equal(got, want) {
		t.Errorf("%x: %v, want %v", raw, got, want)
	}
	clear(got)
	if err := Read(got, bytes.NewReader(append([]byte{5}, raw...)), 1); err != nil || !slices.Equal(got, want) {
		t.Errorf("%x read: %v, %v, want %v", raw, got, err, want)
	}
	if err := Read(got, bytes.NewReader(raw), 1); (err != nil) != (len(raw) > 0) {
		t.Errorf("%x read beyond their end: %v", raw, err)
	}
	if got := Append(Append([]E{7}, raw), raw); !slices.Equal(got, slices.Concat([]E{7}, want, want)) {
		t.Errorf("%x twice after 7: %v", raw, got)
	}
}

// TestPanics: what would be read or written beyond the numbers ends in a panic.
func TestPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"too few bytes":  func() { Copy(make([]float32, 2), make([]byte, 7)) },
		"too many bytes": func() { Copy(make([]float32, 2), make([]byte, 9)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// TestView: numbers are those that lie in the bytes, or are not given if they lie between two
// numbers.
func TestView(t *testing.T) {
	buffer := make([]uint64, 2) // begins at a multiple of 8
	data := unsafe.Slice((*byte)(unsafe.Pointer(&buffer[0])), 16)
	copy(data, []byte{0, 0x3c, 0, 0xc0, 0, 0, 0x80, 0x3f})
	halves, ok := View[kernel.F16](data[:4])
	if !native {
		if ok {
			t.Error("numbers in another order of bytes")
		}
		return
	}
	if !ok || !slices.Equal(halves, []kernel.F16{0x3c00, 0xc000}) {
		t.Errorf("%x, %v", halves, ok)
	}
	if floats, ok := View[float32](data[4:8]); !ok || len(floats) != 1 || floats[0] != 1 {
		t.Errorf("%v, %v", floats, ok)
	}
	if _, ok := View[kernel.F16](data[1:5]); ok {
		t.Error("numbers of 16 bits at an odd address")
	}
	if _, ok := View[float32](data[2:6]); ok {
		t.Error("numbers of 32 bits at half of one")
	}
	if _, ok := View[float32](nil); ok {
		t.Error("numbers of nothing")
	}
}
