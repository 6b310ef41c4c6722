package linear_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
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
	{n: 49, k: 96, format: linear.Q5_0, bias: true}, {n: 33, k: 256, format: linear.Q3_K}, {n: 50, k: 512, format: linear.Q6_K},
	{n: 17, k: 64, format: linear.IQ4_NL}, {n: 49, k: 64, format: linear.MXFP4}, {n: 49, k: 64, format: linear.MXFP4}, {n: 49, k: 64, format: linear.MXFP4},
}

// roundedCases are the cases of RoundBFloat16.
var roundedCases = []testCase{
	{n: 101, k: 33, dtype: kernel.BFloat16, rounds: true, bias: true}, {n: 48, k: 64, dtype: kernel.BFloat16, rounds: true}, {n: 5, k: 0, dtype: kernel.BFloat16, rounds: true},
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
	for i, c := range slices.Concat(packedCases, roundedCases) {
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
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
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

// TestFormatPackedSize: a format knows the size of a layer before there is one.
func TestFormatPackedSize(t *testing.T) {
	for f := range fileBlocks {
		weights, size := f.Block()
		for _, n := range []int{0, 1, 16, 17, 48, 101} {
			for _, k := range []int{weights, 3 * weights} {
				l, err := linear.FromBlocks(f, make([]byte, n*k/weights*size), n, k, nil, kernel.Exec{})
				if err != nil {
					t.Fatal(err)
				}
				if got := f.PackedSize(n, k); got != l.PackedSize() {
					t.Errorf("%v [%d %d]: %d bytes, the layer has %d", f, n, k, got, l.PackedSize())
				}
			}
		}
		if f != linear.Q8_0 && f.PackedSize(1, weights+1) != 0 {
			t.Errorf("%v: a size of parts of a block", f)
		}
		for _, c := range [][2]int{{-1, weights}, {1, 0}, {1, -weights}, {math.MaxInt, weights}, {1, math.MaxInt / weights * weights}, {math.MaxInt >> 20, weights << 20}} {
			if got := f.PackedSize(c[0], c[1]); got != 0 {
				t.Errorf("%v %v: %d bytes", f, c, got)
			}
		}
	}
	l, err := linear.QuantizeInt8(linear.DenseMatrix(make([]float32, 5*33), 5, 33), nil, kernel.Exec{})
	if err != nil || linear.Q8_0.PackedSize(5, 33) != l.PackedSize() {
		t.Errorf("QuantizeInt8: %v, %d bytes", err, linear.Q8_0.PackedSize(5, 33))
	}
	for _, f := range []linear.Format{-1, 0, 1, linear.Affine} {
		if f.PackedSize(64, 64) != 0 {
			t.Errorf("%v has a size", f)
		}
	}
}

// The SHA-256 of the packed forms of packedCases and roundedCases.
const (
	packedSum  = "dde17945f450d87d3149ca51597f1f15a8960f77f25fa198bc2329a33c58881d"
	roundedSum = "6b7d01cb8d28b2d94d2083b5ac17ff5660b1b35e18cccc2dd94323e184540060"
)

// The packed form does not change under one version: files of it lie in caches of programs.
func TestPackedVersion(t *testing.T) {
	check := func(cases []testCase, want string) {
		sum := sha256.New()
		for i, c := range cases {
			c.seed = i
			_, w, bias := c.inputs()
			sum.Write(packed(t, w.layer(t, bias)))
		}
		if got := hex.EncodeToString(sum.Sum(nil)); linear.PackedVersion != 7 || got != want {
			t.Errorf("the packed form has changed, to %s: raise PackedVersion, and the version here", got)
		}
	}
	check(packedCases, packedSum)
	check(roundedCases, roundedSum)
}

// A layer that is mapped takes no memory of its own, and may be larger than the memory limit of
// the program. One that must be copied may not.
func TestPackedInPlace(t *testing.T) {
	if testutil.Quick() {
		t.Skip("NOT RUN: layers of 20 MB")
	}
	floats := mustNew(t, linear.StridedMatrix([]float32{1}, 5000, 1024, 0, 0), nil)
	blocks, err := linear.FromBlocks(linear.Q4_1, make([]byte, 5000*8192/32*20), 5000, 8192, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	littleEndian := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	for _, l := range []*linear.Linear{floats, blocks} {
		for shift := range 2 {
			data := append(make([]byte, 64), packed(t, l)...)[64-shift:]
			copy(data, data[shift:])
			data = data[:len(data)-shift]
			copies := l.Format() == 0 && (shift > 0 || !littleEndian)
			allocated, err := allocatedBy(func() error { _, err := linear.FromPacked(data); return err })
			switch {
			case copies:
				contracttest.CheckArgument(t, "a copy", err, "data", "the memory limit")
			case err != nil || allocated > 1<<16: // the bias may be copied
				t.Errorf("%v, moved by %d: %v, %d bytes were allocated for %d", l.Format(), shift, err, allocated, len(data))
			}
		}
	}
}

// allocatedBy returns how many bytes a call allocates, under a memory limit of 16 MB.
func allocatedBy(call func() error) (uint64, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(16 << 20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
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
		{"an older version", edited(data, func(h []byte) { h[8] = 2 }), "version 2"},
		{"a newer version", edited(data, func(h []byte) { h[8] = 8 }), "version 8"},
		{"an unknown type", edited(data, func(h []byte) { h[12] = 3 }), "type 3"},
		{"panels of float32 with a format", edited(data, func(h []byte) { h[12], h[32] = 0, 1 }), "panels of format 1 for weights of type 0"},
		{"panels of another format", edited(data, func(h []byte) { h[32] = 1 }), "panels of format 1 for weights of type 24"},
		{"scales of bfloat16 in Q5_0", edited(data, func(h []byte) { h[12], h[32] = 16+6, 3 }), "panels of format 3 for weights of type 22"},
		{"unknown panels", edited(data, func(h []byte) { h[32] = 200 }), "panels of format 200 for weights of type 24"},
		{"an unknown format", edited(data, func(h []byte) { h[12] = 99 }), "type 99"},
		{"half a block of Q4_0", edited(data, func(h []byte) { h[12], h[32] = 16+2, 1; put.PutUint64(h[24:], 48) }), "48 inputs"},
		// These have the lengths that the headers stand for, but for overflows.
		{"no inputs", edited(data[:64+4*32], func(h []byte) { put.PutUint64(h[24:], 0) }), "0 inputs"},
		{"as many outputs as -1", edited(data[:64], func(h []byte) { put.PutUint64(h[16:], math.MaxUint64) }), "outputs"},
		{"a product that overflows", edited(data[:64+4*64], func(h []byte) {
			h[12] = 0
			put.PutUint64(h[16:], 64)
			put.PutUint64(h[24:], 1<<56) // 2^64 bytes
		}), "outputs"},
	} {
		_, err := linear.FromPacked(c.data)
		var arg *kernel.Error
		if !errors.As(err, &arg) || arg.Where != "linear.FromPacked: data" || !bytes.Contains([]byte(arg.Got), []byte(c.got)) {
			t.Errorf("%s: got %v, want an Error of data with %q", c.what, err, c.got)
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
		var arg *kernel.Error
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
	wide := mustNew(t, linear.DenseMatrix([]float32(nil), 20000, 0), nil) // the bias is longer than a buffer
	if n, err := wide.WriteTo(&limitedWriter{left: 1}); n != 1 || !errors.Is(err, errFull) {
		t.Errorf("a writer that takes a byte of the bias: got %d, %v", n, err)
	}
	if n, err := l.WriteTo(lazyWriter{}); n != 1 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that takes a byte and reports no error: got %d, %v", n, err)
	}
}

// A lazyWriter takes the first byte of what it should write, and says nothing about the others.
type lazyWriter struct{}

func (lazyWriter) Write(p []byte) (int, error) { return 1, nil }

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
