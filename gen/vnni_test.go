package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestVNNI runs the products of quantized rows that need VNNI by an interpreter, on any machine, and compares
// them with sums of plain integers: all heights of tiles, panels that are whole or not, the largest numbers.
func TestVNNI(t *testing.T) {
	files, err := generate(committed)
	if err != nil {
		t.Fatal(err)
	}
	asm := string(files[asmDir+"/avx512_amd64.s"])
	for _, f := range []struct {
		name         string
		bits, offset int // offset 0: there are minima
	}{{"Q8_0", 8, 128}, {"Q4_0", 4, 8}, {"Q4_1", 4, 0}} {
		for _, lanes := range []int{16, 32, 48} {
			for i, m := range []int{0, 1, 2, 3, 5, 7, 8, 8, 13, 15, 16, 17} {
				c := vnniCase{bits: f.bits, offset: f.offset, lanes: lanes, m: m, k: 32 * (1 + i%2), load: i/2%2 == 0, most: i/3%2 == 0}
				if err := c.check(asm, "weightGemmInt8"+f.name+"AVX512"); err != nil {
					t.Errorf("%s %+v: %v", f.name, c, err)
				}
			}
		}
	}
	c := vnniCase{bits: 8, offset: 128, lanes: 48, m: 1, k: 32}
	if c.check(strings.ReplaceAll(asm, "VPSLLD       $0x07", "VPSLLD       $0x06"), "weightGemmInt8Q8_0AVX512") == nil {
		t.Error("a wrong offset goes unnoticed")
	}
}

// A vnniCase is a call, see ukernel.BlockKernels.
type vnniCase struct {
	bits, offset, lanes, m, k int
	load                      bool
	most                      bool // the largest numbers instead of random ones
}

func (c vnniCase) check(asm, function string) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	r := rand.New(rand.NewPCG(1, uint64(c.m)))
	blocks, u := c.k/32, binary.LittleEndian
	ldx, ldc := 12*blocks+3, c.lanes+5 // in numbers, with gaps
	halves := 1
	if c.offset == 0 {
		halves = 2
	}
	x, b, out := make([]byte, 4*ldx*c.m), []byte{}, make([]byte, 4*ldc*c.m)
	for i := range out {
		out[i] = 63 // 0.74
	}
	codes := make([][]int, c.m) // by row and input
	for i := range codes {
		for block := range blocks {
			at, sum := x[4*(i*ldx+12*block):], 0
			for step := range 32 {
				q := r.IntN(255) - 127
				if c.most {
					q = 127
				}
				codes[i] = append(codes[i], q)
				sum += q
				at[4*(step%8)+step/8] = byte(int8(q))
			}
			d := float32(math.Ldexp(1, -r.IntN(6)))
			u.PutUint32(at[32:], math.Float32bits(d))
			u.PutUint32(at[36:], math.Float32bits(d*float32(sum)))
			u.PutUint32(at[40:], uint32(-sum))
		}
	}
	numbers := make([][][]int, blocks) // by block, lane and step
	scales := make([][]float32, blocks)
	minima := make([][]float32, blocks)
	for block := range blocks {
		header, words := make([]byte, 2*halves*c.lanes), make([]byte, 4*c.bits*c.lanes)
		for lane := range c.lanes {
			e := 10 + r.IntN(6)
			u.PutUint16(header[2*lane:], uint16(e<<10))
			scales[block] = append(scales[block], float32(math.Ldexp(1, e-15)))
			minima[block] = append(minima[block], 0)
			if halves == 2 {
				u.PutUint16(header[2*(c.lanes+lane):], uint16(e<<10|1<<15))
				minima[block][lane] = -scales[block][lane]
			}
			row := make([]int, 32)
			for step := range row {
				row[step] = r.IntN(1 << c.bits)
				if c.most {
					row[step] = 1<<c.bits - 1
				}
				at := words[4*(step%c.bits*c.lanes+lane):]
				u.PutUint32(at, u.Uint32(at)|uint32(row[step])<<(step/c.bits*c.bits))
			}
			numbers[block] = append(numbers[block], row)
		}
		b = append(append(b, header...), words...)
	}

	in := newInterpreter(asm, function)
	to := in.bytes(out)
	in.argument("c_base", to)
	in.argument("x_base", in.bytes(x))
	in.argument("b_base", in.bytes(b))
	for name, n := range map[string]int{"ldc": ldc, "ldx": ldx, "lanes": c.lanes, "m": c.m, "k": c.k, "load": map[bool]int{true: 1}[c.load]} {
		in.argument(name, int64(n))
	}
	in.mem = append(in.mem, make([]byte, 64)...) // vectors of halves are loaded whole
	in.run()

	for i := range c.m {
		for lane := range ldc {
			at := 4 * (i*ldc + lane)
			want := math.Float32frombits(u.Uint32(out[at:]))
			if lane < c.lanes {
				if !c.load {
					want = 0
				}
				for block := range blocks {
					row, sum := x[4*(i*ldx+12*block):], 0
					for step, w := range numbers[block][lane] {
						sum += codes[i][32*block+step] * (w - c.offset)
					}
					want = fma(float32(sum), math.Float32frombits(u.Uint32(row[32:]))*scales[block][lane], want)
					if c.offset == 0 {
						want = fma(minima[block][lane], math.Float32frombits(u.Uint32(row[36:])), want)
					}
				}
			}
			if got := math.Float32frombits(u.Uint32(in.mem[int(to)+at:])); got != want {
				return fmt.Errorf("row %d, lane %d: got %v, want %v", i, lane, got, want)
			}
		}
	}
	return nil
}
