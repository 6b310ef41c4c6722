package linear_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// packedCases have every type, whole and narrow panels, and none.
var packedCases = []testCase{
	{n: 48, k: 70, bias: true}, {n: 101, k: 33, dtype: kernel.Float16}, {n: 7, k: 300, dtype: kernel.BFloat16, bias: true}, {n: 0, k: 5}, {n: 5, k: 0, bias: true},
	{n: 100, k: 64, format: linear.Q8_0, bias: true}, {n: 49, k: 96, format: linear.Q4_0}, {n: 16, k: 160, format: linear.Q4_1, bias: true},
}

// packed returns the packed form of a layer.
func packed(t testing.TB, l *linear.Linear) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := l.WriteTo(&b); err != nil || n != int64(b.Len()) || b.Len() != l.PackedSize() {
		t.Fatalf("wrote %d bytes and said %d of %d, %v", b.Len(), n, l.PackedSize(), err)
	}
	return b.Bytes()
}

// A layer that is read gives the bits of the one that was written, wherever its bytes lie.
func TestPacked(t *testing.T) {
	for i, c := range packedCases {
		c.m, c.seed = 3, i
		x, w, bias := c.inputs()
		want, l := c.contract(&x, &w, bias), w.layer(t, bias)
		data := packed(t, l)
		for shift := range 5 {
			moved := append(make([]byte, 64), data...)[64-shift:]
			copy(moved, data)
			read, err := linear.FromPacked(moved[:len(data)])
			if err != nil {
				t.Fatal(err)
			}
			n, k := read.Shape()
			if n != c.n || k != c.k || read.DType() != c.dtype || read.Format() != c.format {
				t.Fatalf("%v: read %v %v [%d %d]", c, read.DType(), read.Format(), n, k)
			}
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				out := c.output()
				if err := read.Apply(out.Matrix, x.Matrix, options(tier, 1)); err != nil {
					t.Fatal(err)
				}
				contracttest.SameRow(t, c.String(), out.numbers, want.numbers)
			})
			if again := packed(t, read); !bytes.Equal(again, data) {
				t.Errorf("%v: the layer that was read is written in another way", c)
			}
		}
	}
}

// A layer that is mapped takes no memory of its own.
func TestPackedInPlace(t *testing.T) {
	for _, c := range []testCase{{n: 300, k: 256}, {n: 300, k: 256, format: linear.Q4_1}} {
		_, w, _ := c.inputs()
		data := packed(t, w.layer(t, nil))
		allocated := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := linear.FromPacked(data); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
		if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && allocated > 1024 {
			t.Errorf("%v: %d bytes were allocated for a layer of %d", c, allocated, len(data))
		}
	}
}

// edited returns data with a change of the header, and a checksum that fits it.
func edited(data []byte, edit func(header []byte)) []byte {
	data = bytes.Clone(data)
	edit(data)
	binary.LittleEndian.PutUint32(data[60:], crc32.ChecksumIEEE(data[:60]))
	return data
}

func TestFromPackedErrors(t *testing.T) {
	c := testCase{n: 20, k: 64, format: linear.Q8_0}
	_, w, _ := c.inputs()
	data := packed(t, w.layer(t, nil))
	put := binary.LittleEndian
	for _, c := range []struct {
		what string
		data []byte
		got  string
	}{
		{"nothing", nil, "0 bytes"},
		{"a part of the header", data[:63], "63 bytes"},
		{"a part of the weights", data[:len(data)-1], "bytes for 20 outputs"},
		{"more", append(bytes.Clone(data), 0), "bytes for 20 outputs"},
		{"another file", append([]byte("GGUF"), data[4:]...), `"GGUF`},
		{"a changed header", append(append(bytes.Clone(data[:16]), 21), data[17:]...), "checksum"},
		{"a newer version", edited(data, func(h []byte) { h[8] = 2 }), "version 2"},
		{"an unknown type", edited(data, func(h []byte) { h[12] = 3 }), "type 3"},
		{"an unknown format", edited(data, func(h []byte) { h[12] = 19 }), "type 19"},
		{"half a block", edited(data, func(h []byte) { put.PutUint64(h[24:], 48) }), "48 inputs"},
		{"no inputs", edited(data, func(h []byte) { put.PutUint64(h[24:], 0) }), "0 inputs"},
		{"sizes that overflow", edited(data, func(h []byte) { put.PutUint64(h[16:], math.MaxUint64) }), "outputs"},
		{"a product that overflows", edited(data, func(h []byte) { put.PutUint64(h[16:], 1<<32); put.PutUint64(h[24:], 1<<33) }), "outputs"},
	} {
		_, err := linear.FromPacked(c.data)
		var arg *kernel.ArgumentError
		if !errors.As(err, &arg) || arg.Arg != "data" || !bytes.Contains([]byte(arg.Got), []byte(c.got)) {
			t.Errorf("%s: got %v, want an ArgumentError of data with %q", c.what, err, c.got)
		}
	}
}

// Any bytes are refused or make a layer that computes.
func FuzzFromPacked(f *testing.F) {
	for _, c := range packedCases {
		_, w, bias := c.inputs()
		f.Add(packed(f, w.layer(f, bias)), 12, byte(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, x byte) {
		if len(data) >= 64 && at >= 0 && at < 60 {
			data = edited(data, func(h []byte) { h[at] = x })
		}
		l, err := linear.FromPacked(data)
		var arg *kernel.ArgumentError
		if err != nil {
			if !errors.As(err, &arg) {
				t.Fatalf("got %v", err)
			}
			return
		}
		n, k := l.Shape()
		if n > 1<<12 || k > 1<<12 {
			return
		}
		out := testutil.Filled(2*n, testutil.Canary)
		if err := l.Apply(linear.DenseMatrix(out, 2, n), linear.DenseMatrix(make([]float32, 2*k), 2, k), linear.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A writer that fails ends the call with its error, and the number of bytes that it took.
func TestWriteToErrors(t *testing.T) {
	_, w, _ := testCase{n: 500, k: 200}.inputs()
	l := w.layer(t, nil)
	for _, most := range []int{0, 100, 200000} {
		n, err := l.WriteTo(&limitedWriter{left: most})
		if n != int64(most) || !errors.Is(err, errFull) {
			t.Errorf("a writer that takes %d bytes: got %d, %v", most, n, err)
		}
	}
}

var errFull = errors.New("full")

type limitedWriter struct{ left int }

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}
