package encoder

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
)

// TestNumbers: numbers of files of any type are the same ones, whether they stay as they are or become float32.
func TestNumbers(t *testing.T) {
	want := []float32{0, 1, -2.5, 65280, float32(math.Inf(1)), 0.0078125}
	raw := map[kernel.DType][]byte{}
	for _, y := range want {
		raw[kernel.Float32] = binary.LittleEndian.AppendUint32(raw[kernel.Float32], math.Float32bits(y))
		raw[kernel.Float16] = binary.LittleEndian.AppendUint16(raw[kernel.Float16], uint16(numeric.ToF16(y)))
		raw[kernel.BFloat16] = binary.LittleEndian.AppendUint16(raw[kernel.BFloat16], uint16(numeric.ToBF16(y)))
	}
	for dtype, data := range raw {
		for _, kept := range []kernel.DType{kernel.Float32, dtype} {
			var x numbers
			x.reset(kept)
			x.grow(len(want))
			x.add(data[:len(data)/2], dtype)
			x.add(data[len(data)/2:], dtype)
			var got []float32
			for i := range 2 {
				row := make([]float32, 3)
				x.row(row, i)
				got = append(got, row...)
			}
			if !equalBits(got, want) {
				t.Errorf("%v kept as %v: %v, want %v", dtype, kept, got, want)
			}
			if rows, cols := x.matrix(1, 1, 3).Shape(); rows != 1 || cols != 3 {
				t.Errorf("a matrix of %d × %d", rows, cols)
			}
		}
	}
	if got := commonType(kernel.Float16, kernel.Float16); got != kernel.Float16 {
		t.Errorf("float16 and float16: %v", got)
	}
	if got := commonType(kernel.Float16, kernel.BFloat16); got != kernel.Float32 {
		t.Errorf("float16 and bfloat16: %v", got)
	}
}

// TestKeptTypes: weights of 16 bits take 2 bytes, and Inspect says so.
func TestKeptTypes(t *testing.T) {
	memory := map[string]int64{}
	for name, want := range map[string]kernel.DType{"F32": kernel.Float32, "F16": kernel.Float16, "BF16": kernel.BFloat16} {
		dir := t.TempDir()
		if err := newSmall("").Write(dir, name); err != nil {
			t.Fatal(err)
		}
		e, err := Load(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l := e.net.network.Layers[1]
		a, f := l.Mix.(*network.Attention), l.Feed.(*network.Dense)
		kept := []kernel.DType{e.net.network.Embed.Words.(*numbers).dtype}
		for _, of := range []tensors.Linear{a.QKV, a.Out, f.Up, f.Down} {
			kept = append(kept, of.Parts[0].DType())
		}
		for _, x := range kept {
			if x != want {
				t.Errorf("%s: weights are kept as %v", name, x)
			}
		}
		v, err := Inspect(dir, false)
		if err != nil || len(v.Problems) > 0 {
			t.Fatal(err, v.Problems)
		}
		memory[name] = v.Memory
	}
	if m := memory["F32"]; memory["F16"] >= m*2/3 || memory["BF16"] != memory["F16"] {
		t.Errorf("memory %v", memory)
	}
}
