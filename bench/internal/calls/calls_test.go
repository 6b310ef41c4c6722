package calls

import (
	"testing"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Keys and values of each type take as many bytes as are said, and sets do not share memory.
func TestTypes(t *testing.T) {
	shape := [4]int{1, 2, 3, 64}
	for i := range Types {
		x := &Types[i]
		sets := x.Sets(numbers.Normals(1000), 2, shape)
		if len(sets) != 2 || sets[0].Shape() != shape || sets[0].Overlaps(sets[1]) {
			t.Errorf("%s: %v", x.Name, sets)
		}
		if scales := sets[0].Scales(); scales.IsZero() == x.Scaled() {
			t.Errorf("%s: scales %v", x.Name, scales)
		} else if want := float64(x.bits)/8 + 4*float64(scales.Shape()[3])/64; x.Bytes(64) != want {
			t.Errorf("%s: %g bytes, want %g", x.Name, x.Bytes(64), want)
		}
		call := Attention(Queries(4, 2, 64), sets, sets, x.Scoring)
		for range 3 {
			if err := call(kernel.Exec{Threads: 1}); err != nil {
				t.Errorf("%s: %v", x.Name, err)
			}
		}
	}
}

// Layers of every format have finite weights, and take float rows or int8 rows.
func TestWeights(t *testing.T) {
	for _, int8 := range []bool{false, true} {
		for _, w := range Quantized(int8, linear.Q8_0, linear.Q4_0, linear.Q4_1, linear.Q4_K, linear.Q5_K, linear.Q6_K, linear.IQ4_NL, linear.MXFP4) {
			l, err := w.Layer(8, 256)
			if err != nil {
				t.Fatalf("%s: %v", w.Name, err)
			}
			x, out := numbers.Normals(2*256), make([]float32, 2*8)
			if err := l.Apply(linear.DenseMatrix(out, 2, 8), linear.DenseMatrix(x, 2, 256), linear.Options{DynamicInt8: w.Int8}); err != nil || int8 != w.Int8 {
				t.Errorf("%s: %v", w.Name, err)
			}
			for _, y := range out {
				if y-y != 0 || y == 0 {
					t.Errorf("%s: output %v", w.Name, y)
				}
			}
			if err := Product(l, x, w.Int8)(kernel.Exec{}); err != nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
	}
}
