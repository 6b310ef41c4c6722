package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestVNNICodes does for the kernels of quantized attention what TestVNNI does for kernels of
// linear layers, with all remainders of keys, queries and columns.
func TestVNNICodes(t *testing.T) {
	asm := avx512Assembly(t)
	for i, m := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 31, 32} {
		for _, d := range []int{16, 80} {
			c := codesCase{m: m, n: 3 + i%10, d: d, lanes: 16 + 96*(i%2), load: i%3 == 0, most: i%4 == 0} // 112 lanes are 4 + 2 + 1 vectors
			for name, call := range codesCalls {
				if err := c.check(asm, name, call); err != nil {
					t.Errorf("%s %+v: %v", name, c, err)
				}
			}
		}
	}
	wrong := strings.ReplaceAll(asm, "VPUNPCKHWD ", "VPUNPCKLWD ")
	if (codesCase{m: 2, n: 3, d: 16, lanes: 16}).check(wrong, "skinnyPVCodes", codesCalls["skinnyPVCodes"]) == nil {
		t.Error("a wrong order goes unnoticed")
	}
}

// A codesCase is a call: of m keys, n queries (or all lanes of a tile) and d columns.
type codesCase struct {
	m, n, d, lanes int
	load, most     bool // most: the largest numbers instead of random ones
}

// A codesCall makes the arguments of a kernel, and returns the numbers that it should write from
// where on.
type codesCall func(c codesCase, in *interpreter, r *codesNumbers) (at int64, want []float32)

var codesCalls = map[string]codesCall{
	"codeScores": func(c codesCase, in *interpreter, r *codesNumbers) (int64, []float32) {
		k, q := r.integers(c.m*c.d, 128), r.integers(c.d*c.lanes, 1<<11)
		// Column x of lane l is q[x/2][l][x%2].
		return r.scores(c, in, c.lanes, k, func(lane, x int) int { return q[(x/2*c.lanes+lane)*2+x%2] }, int16s(k), int16s(q))
	},
	"codeValues": func(c codesCase, in *interpreter, r *codesNumbers) (int64, []float32) {
		pairs := (c.m + 1) / 2
		v, p := r.integers(2*pairs*c.d, 128), r.integers(2*pairs*c.lanes, 1<<12)
		unit, o := r.floats(c.lanes), r.floats(c.d*c.lanes)
		at := in.bytes(float32s(o))
		for i := range o {
			e, lane, sum := i/c.lanes, i%c.lanes, 0
			for j := range 2 * pairs {
				sum += v[(j/2*c.d+e)*2+j%2] * p[(j/2*c.lanes+lane)*2+j%2]
			}
			o[i] = fma(float32(sum), unit[lane], o[i]*c.loads())
		}
		in.slice("a_P", int16s(p), 0)
		in.slice("a_V", int16s(v), 0)
		in.slice("a_Unit", float32s(unit), len(unit))
		in.argument("a_Pairs", int64(pairs))
		return at, o
	},
	"skinnyPVCodes": func(c codesCase, in *interpreter, r *codesNumbers) (int64, []float32) {
		v, p := r.integers(c.m*c.d, 128), r.integers((c.m+1)/2*2*c.lanes, 1<<12)
		if c.m%2 == 1 { // the last row has no second
			for lane := range c.lanes {
				p[((c.m/2)*c.lanes+lane)*2+1] = 0
			}
		}
		unit, o := r.floats(c.n), r.floats(c.n*c.d)
		at := in.bytes(float32s(o))
		for i := range o {
			e, lane, sum := i%c.d, i/c.d, 0
			for j := range c.m {
				sum += v[j*c.d+e] * p[(j/2*c.lanes+lane)*2+j%2]
			}
			if !c.load {
				o[i] = float32(math.Copysign(0, -1))
			}
			o[i] = fma(float32(sum), unit[lane], o[i])
		}
		in.slice("a_Pairs", int16s(p), 0)
		in.slice("a_V", int8s(v), 0)
		in.slice("a_Unit", float32s(unit), len(unit))
		in.argument("a_Ldp", int64(c.lanes))
		in.argument("a_Group", int64(c.d))
		off := make([]int, c.m)
		for j := range off {
			off[j] = j * c.d
		}
		in.slice("a_Off", int64s(off), c.m)
		in.slice("a_Next", int64s(off), c.m)
		in.argument("a_Ldo", int64(c.d))
		return at, o
	},
}

// scores makes the other arguments of a product of keys and queries, and its results, with the
// maxima after them.
func (r *codesNumbers) scores(c codesCase, in *interpreter, lanes int, k []int, q func(lane, x int) int, kBytes, qBytes []byte) (at int64, want []float32) {
	scales, unit, max := r.floats(c.m*2), r.floats(lanes), r.floats(c.lanes)
	s := make([]float32, c.m*c.lanes)
	at = in.bytes(float32s(s))
	for i := range s {
		if lane := i % c.lanes; lane < lanes {
			j, sum := i/c.lanes, 0
			for x := range c.d {
				sum += q(lane, x) * k[j*c.d+x]
			}
			s[i] = float32(float32(float32(sum)*unit[lane]) * scales[2*j])
		}
	}
	in.slice("a_Max", float32s(max), len(max))
	for i, x := range s {
		if lane := i % c.lanes; lane < lanes && x > max[lane] {
			max[lane] = x
		}
	}
	in.slice("a_K", kBytes, 0)
	in.slice("a_Q", qBytes, 0)
	in.slice("a_Unit", float32s(unit), len(unit))
	in.slice("a_Scales", float32s(scales), 0)
	in.argument("a_Lsc", 2)
	in.argument("a_Ldk", int64(c.d))
	return at, append(s, max...)
}

func (c codesCase) loads() float32 { return map[bool]float32{true: 1}[c.load] }

func (c codesCase) check(asm, function string, call codesCall) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	in := newInterpreter(asm, function+"AVX512")
	at, want := call(c, in, &codesNumbers{rand.New(rand.NewPCG(1, uint64(c.m))), c.most})
	for name, n := range map[string]int{"a_M": c.m, "a_N": c.n, "a_D": c.d, "a_Dv": c.d, "a_Load": int(c.loads())} {
		in.argument(name, int64(n))
	}
	for _, name := range []string{"a_O_base", "a_S_base"} {
		in.argument(name, at)
	}
	in.run()
	for i, w := range want {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(in.mem[int(at)+4*i:])); math.Float32bits(got) != math.Float32bits(w) {
			return fmt.Errorf("number %d: got %v, want %v", i, got, w)
		}
	}
	return nil
}

// slice sets the base and the length of an argument.
func (in *interpreter) slice(name string, b []byte, length int) {
	in.argument(name+"_base", in.bytes(b))
	in.argument(name+"_len", int64(length))
}

// codesNumbers makes numbers.
type codesNumbers struct {
	*rand.Rand
	most bool
}

// integers returns n integers of at most so much, or the least of int8 and the largest others.
func (r *codesNumbers) integers(n, most int) []int {
	x := make([]int, n)
	for i := range x {
		switch {
		case r.most && most == 128:
			x[i] = -128
		case r.most:
			x[i] = most
		default:
			x[i] = r.IntN(2*most) - most
		}
	}
	return x
}

// floats returns powers of two.
func (r *codesNumbers) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Ldexp(1, r.IntN(6)-8))
	}
	return x
}

func int64s(x []int) (b []byte) {
	for _, y := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(y))
	}
	return b
}

func int8s(x []int) (b []byte) {
	for _, y := range x {
		b = append(b, byte(y))
	}
	return b
}

func int16s(x []int) (b []byte) {
	for _, y := range x {
		b = binary.LittleEndian.AppendUint16(b, uint16(y))
	}
	return b
}

func float32s(x []float32) (b []byte) {
	for _, y := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(y))
	}
	return b
}
