package kernel_test

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Views of bits and of bytes share their memory.
func TestFromBits(t *testing.T) {
	bits := []uint16{0x3c00, 0xc000, 0x3555}
	halves := kernel.FromBits[kernel.F16](bits)
	if len(halves) != 3 || halves[0].Float32() != 1 || halves[1].Float32() != -2 {
		t.Errorf("got %v", halves)
	}
	if bits[2] = 0; halves[2] != 0 {
		t.Error("the view has memory of its own")
	}
	if x := kernel.FromBits[kernel.BF16]([]uint16{0x3f80}); x[0].Float32() != 1 {
		t.Errorf("got %v", x[0].Float32())
	}
	if len(kernel.FromBits[kernel.F16](nil)) != 0 {
		t.Error("a view of nothing has elements")
	}
}

func TestFromBytes(t *testing.T) {
	var data []byte
	for i := range 24 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i)))
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		_, err := kernel.FromBytes[float32](data)
		contracttest.CheckArgument(t, "big-endian", err, "data", "little-endian")
	} else {
		x, err := kernel.FromBytes[float32](data)
		if err != nil || len(x) != 24 || x[23] != 23 || unsafe.Pointer(&x[0]) != unsafe.Pointer(&data[0]) {
			t.Errorf("got %v, %v", x, err)
		}
		h, err := kernel.FromBytes[kernel.BF16](data[2:4])
		if err != nil || len(h) != 1 || h[0] != 0 {
			t.Errorf("got %v, %v", h, err)
		}
	}
	for _, nothing := range [][]byte{nil, {}, data[1:1]} {
		if empty, err := kernel.FromBytes[float32](nothing); err != nil || len(empty) != 0 {
			t.Errorf("of nothing: %v, %v", empty, err)
		}
	}
	if x, err := kernel.FromBytes[int8](data[5:7]); err != nil || len(x) != 2 {
		t.Errorf("int8: got %v, %v", x, err)
	}
	if x, err := kernel.FromBytes[kernel.F8E4M3](data[5:8]); err != nil || len(x) != 3 {
		t.Errorf("F8E4M3: got %v, %v", x, err)
	}
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"part of a number", data[:7], "4 bytes"}, {"between two numbers", data[1:9], "a multiple"}, {"in the middle of a number", data[2:10], "a multiple"},
	} {
		_, err := kernel.FromBytes[float32](c.data)
		contracttest.CheckArgument(t, c.what, err, "data", c.want)
	}
	_, err := kernel.FromBytes[kernel.F16](data[1:3])
	contracttest.CheckArgument(t, "half of a number", err, "data", "2 bytes")
}

// Keys and values in a program's own uint16 give the bits of those in F16.
func TestAttentionOfBits(t *testing.T) {
	const d, n = 16, 40
	q, bits, halves := make([]float32, d), make([]uint16, n*d), make([]kernel.F16, n*d)
	for i := range bits {
		halves[i] = numeric.ToF16(float32(i%17)/4 - 2)
		bits[i] = uint16(halves[i])
		q[i%d] = float32(i % 5)
	}
	var out [2][d]float32
	for i, k := range [][]kernel.F16{halves, kernel.FromBits[kernel.F16](bits)} {
		kv := kernel.BHLD(k, 1, 1, n, d)
		if err := kernel.Attention(kernel.BHLD(out[i][:], 1, 1, 1, d), kernel.BHLD(q, 1, 1, 1, d), kv, kv, nil); err != nil {
			t.Fatal(err)
		}
	}
	contracttest.SameRow(t, "keys as bits", out[1][:], out[0][:])
}

// TestAlloc: n zeros of any type that can be written to, and an error for what no program can have.
func TestAlloc(t *testing.T) {
	checkAlloc[float32](t)
	checkAlloc[kernel.BF16](t)
	checkAlloc[int8](t)
}

func checkAlloc[E kernel.Element](t *testing.T) {
	for _, n := range []int{0, 1, 5 << 20} {
		x, err := kernel.Alloc[E](n)
		if err != nil || len(x) != n {
			t.Fatalf("%d of %d elements, error %v", len(x), n, err)
		}
		for i := 0; i < n; i += 1000 {
			if x[i] != 0 {
				t.Fatalf("element %d is %v", i, x[i])
			}
			x[i] = 1
		}
	}
	for _, n := range []int{-1, math.MinInt, math.MaxInt} {
		if x, err := kernel.Alloc[E](n); x != nil || !isArgument(err, "n") {
			t.Errorf("%d elements: %d, error %v", n, len(x), err)
		}
	}
}

func isArgument(err error, arg string) bool {
	bad, ok := testutil.AsType[*kernel.Error](err)
	return ok && bad.Arg() == arg
}
