package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/attn-go/attn/internal/ukernel"
)

// TestVNNI runs the products of quantized rows that need VNNI by an interpreter, on any machine,
// and compares them with sums of plain integers, to the bit: all heights of tiles, panels that are
// whole or not, the largest numbers.
func TestVNNI(t *testing.T) {
	asm := avx512Assembly(t)
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		for _, lanes := range []int{16, 32, 48} {
			for i, m := range []int{0, 1, 2, 3, 5, 7, 8, 15, 24, 27, 50} {
				c := vnniCase{format: f, lanes: lanes, m: m, k: f.HeadSteps() * (1 + i%2), load: i/2%2 == 0, numbers: vnniNumbers(i/3) % vnniKinds}
				if err := c.check(asm); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
			for kind := range vnniKinds {
				c := vnniCase{format: f, lanes: lanes, m: 5, k: 3 * f.HeadSteps(), load: true, numbers: kind}
				if err := c.check(asm); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
		}
	}
	for _, mutant := range []struct {
		name             string
		format           ukernel.PackedFormat
		lanes            int
		opcode, old, new string // of the first operand
	}{
		{"a wrong offset", ukernel.S8, 48, "VPSLLD", "$0x07", "$0x06"},
		{"an integer of both groups", ukernel.U4x16, 16, "VPSRLD", "$0x10", "$0x00"},
		{"further bits of another word", ukernel.U5x16, 16, "VPSLLD", "$0x0f", "$0x0e"},
		{"half of an offset", ukernel.S6x16, 16, "VPMADDWD", "const00000020AVX512<>+0(SB)", "const00000010AVX512<>+0(SB)"},
		{"half of an offset", ukernel.S6x16, 48, "VPSLLD", "$0x05", "$0x04"},
		{"further bits of another step", ukernel.U5x32, 48, "VPSRLD", "$0x01", "$0x02"},
	} {
		c := vnniCase{format: mutant.format, lanes: mutant.lanes, m: 1, k: mutant.format.HeadSteps()}
		changed := regexp.MustCompile(mutant.opcode+" +"+regexp.QuoteMeta(mutant.old)+",").ReplaceAllLiteralString(asm, mutant.opcode+" "+mutant.new+",")
		if changed == asm || c.check(changed) == nil {
			t.Errorf("%s: %s: goes unnoticed", c.format, mutant.name)
		}
	}
}

// A vnniCase is a call, see ukernel.BlockKernels.
type vnniCase struct {
	format      ukernel.PackedFormat
	lanes, m, k int
	load        bool
	numbers     vnniNumbers
}

// vnniNumbers are kinds of codes, numbers and integers of groups.
type vnniNumbers int

const (
	vnniRandom vnniNumbers = iota
	vnniMost               // the largest codes and numbers
	vnniLeast              // the codes -127, the numbers 0 or the largest, lane by lane
	vnniZero               // codes 0
	vnniKinds
)

func (n vnniNumbers) code(r *rand.Rand) int {
	return [...]int{r.IntN(255) - 127, 127, -127, 0}[n]
}

func (n vnniNumbers) number(r *rand.Rand, lane, bits int) int {
	return [...]int{r.IntN(1 << bits), 1<<bits - 1, (1<<bits - 1) * (lane % 2), r.IntN(1 << bits)}[n]
}

// integer returns an integer of a group.
func (n vnniNumbers) integer(r *rand.Rand, lane int) int {
	return [...]int{r.IntN(256) - 128, -128, 127 - 255*(lane/2%2), -1}[n]
}

func (c vnniCase) check(asm string) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	r := rand.New(rand.NewPCG(1, uint64(c.m)))
	blocks, u := c.k/32, binary.LittleEndian
	ldx, ldc := 12*blocks+3, c.lanes+5 // in numbers, with gaps
	x, b, out := make([]byte, 4*ldx*c.m), []byte{}, make([]byte, 4*ldc*c.m)
	for i := range out {
		out[i] = 63 // 0.74
	}
	for i := 0; i < len(out); i += 12 {
		u.PutUint32(out[i:], 1<<31) // -0
	}
	codes := make([][]int, c.m) // by row and input
	for i := range codes {
		for block := range blocks {
			at, sums := x[4*(i*ldx+12*block):], [2]int{}
			for step := range 32 {
				q := c.numbers.code(r)
				codes[i] = append(codes[i], q)
				sums[step/16] += q
				at[4*(step%8)+step/8] = byte(int8(q))
			}
			d := float32(math.Ldexp(1, -r.IntN(6)))
			u.PutUint32(at[32:], math.Float32bits(d))
			u.PutUint32(at[36:], math.Float32bits(d*float32(sums[0]+sums[1])))
			u.PutUint32(at[40:], uint32(-sums[0]-sums[1]))
			u.PutUint16(at[44:], uint16(-sums[0]))
			u.PutUint16(at[46:], uint16(-sums[1]))
		}
	}
	panel := make([]vnniBlock, blocks)
	for i := range panel {
		panel[i].lanes = make([]vnniLane, c.lanes)
		for lane := range panel[i].lanes {
			panel[i].lanes[lane] = c.newLane(r, lane)
		}
		if per := c.format.HeadSteps() / 32; i%per == 0 {
			b = append(b, c.head(panel[i])...)
		} else {
			for lane := range panel[i].lanes {
				l := &panel[i].lanes[lane]
				l.scale, l.minimum = panel[i-1].lanes[lane].scale, panel[i-1].lanes[lane].minimum
			}
		}
		b = append(b, c.encode(panel[i])...)
	}

	variant := []string{"A0", "A12"}[c.m%2] // they prefetch in other places
	in := newInterpreter(asm, "weightGemmInt8"+c.format.String()+variant+"AVX512")
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
					row := x[4*(i*ldx+12*block):]
					want = c.add(want, codes[i][32*block:][:32], math.Float32frombits(u.Uint32(row[32:])), math.Float32frombits(u.Uint32(row[36:])), panel[block].lanes[lane])
				}
			}
			if got := math.Float32frombits(u.Uint32(in.mem[int(to)+at:])); math.Float32bits(got) != math.Float32bits(want) {
				return fmt.Errorf("row %d, lane %d: got %v, want %v", i, lane, got, want)
			}
		}
	}
	return nil
}

// A vnniBlock is a block of a panel.
type vnniBlock struct{ lanes []vnniLane }

// A vnniLane is what a block has of a lane: weights are d·s·(number-offset) + m·t, with the s and t
// of each group.
type vnniLane struct {
	scale, minimum uint16     // binary16, or bfloat16
	scales         [2]float32 // of formats that have them in place of scale and s
	s, t           [2]int
	numbers        [32]int
}

func (c vnniCase) newLane(r *rand.Rand, lane int) (l vnniLane) {
	half := func() uint16 {
		if c.format.BFloat16Scales() {
			return uint16(122+r.IntN(6)) << 7
		}
		return uint16(10+r.IntN(6))<<10 | uint16(r.IntN(2))<<15
	}
	l.scale, l.minimum = half(), half()
	for i := range l.s {
		l.scales[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(60)-30))
		l.s[i], l.t[i] = c.numbers.integer(r, lane), c.numbers.integer(r, lane+1)
	}
	if c.format.Integers() == 1 {
		l.s[1], l.t[1] = l.s[0], l.t[0]
	}
	for i := range l.numbers {
		l.numbers[i] = c.numbers.number(r, lane, c.format.Bits())
		if c.format.BFloat16Scales() && l.numbers[i] == 8 { // -0
			l.numbers[i] = 0
		}
	}
	return l
}

// head returns the scales and minima of 16 bits.
func (c vnniCase) head(b vnniBlock) (to []byte) {
	if c.format.Float32Scales() {
		return nil
	}
	for _, l := range b.lanes {
		to = binary.LittleEndian.AppendUint16(to, l.scale)
	}
	for i := 0; i < len(b.lanes) && c.format.Offset() == 0; i++ {
		to = binary.LittleEndian.AppendUint16(to, b.lanes[i].minimum)
	}
	return to
}

// encode returns what follows of a block as package ukernel describes it.
func (c vnniCase) encode(b vnniBlock) (to []byte) {
	integers := func(of func(l vnniLane) [2]int) {
		for _, l := range b.lanes {
			for i := range c.format.Integers() {
				to = append(to, byte(int8(of(l)[i])))
			}
		}
	}
	for i := 0; i < 2 && c.format.Float32Scales(); i++ {
		for _, l := range b.lanes {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(l.scales[i]))
		}
	}
	if c.format.Grouped() && !c.format.Float32Scales() {
		integers(func(l vnniLane) [2]int { return l.s })
	}
	if c.format.Grouped() && c.format.Offset() == 0 {
		integers(func(l vnniLane) [2]int { return l.t })
	}
	words := make([]uint32, c.format.Bits()*c.lanes)
	for lane, l := range b.lanes {
		for step, n := range l.numbers {
			put := func(word, bit, x int) { words[word*c.lanes+lane] |= uint32(x) << bit }
			if c.format == ukernel.S8 {
				put(step%8, step/8*8, n)
				continue
			}
			g, bit, more := step%4, step/8*8+step%8/4*4, c.format.Bits()-4
			put(g, bit, n&15)
			if more > 0 {
				put(4+g*more/4, bit+g*more%4, n>>4)
			}
		}
	}
	for _, w := range words {
		to = binary.LittleEndian.AppendUint32(to, w)
	}
	return to
}

// add adds the product of a block of a row, with its scale and scaled sum, and a lane.
func (c vnniCase) add(acc float32, codes []int, d, scaledSum float32, l vnniLane) float32 {
	half := func(h uint16) float32 {
		if c.format.BFloat16Scales() {
			return math.Float32frombits(uint32(h) << 16)
		}
		x := float32(math.Ldexp(1, int(h>>10&31)-15))
		if h>>15 != 0 {
			return -x
		}
		return x
	}
	if c.format.Float32Scales() {
		var sums [2]int
		for step, q := range codes {
			sums[step/16] += q * (l.numbers[step] - c.format.Offset())
		}
		t := fma(float32(sums[1]), l.scales[1], 0)
		return fma(fma(float32(sums[0]), l.scales[0], t), d, acc)
	}
	var sum, minima int
	for step, q := range codes {
		s, t := 1, 0
		if c.format.Grouped() {
			s, t = l.s[step/16], l.t[step/16]
		}
		if values := c.format.Values(); values != nil {
			sum += q * int(values[l.numbers[step]])
			if minima -= q * c.format.Offset(); !c.format.BFloat16Scales() {
				sum -= q * c.format.Offset()
			}
			continue
		}
		sum += s * q * (l.numbers[step] - c.format.Offset())
		minima -= t * q
	}
	acc = fma(float32(sum), d*half(l.scale), acc)
	switch {
	case c.format.BFloat16Scales():
		acc = fma(float32(minima), d*half(l.scale), acc)
	case c.format.Offset() != 0:
	case c.format.Grouped():
		acc = fma(float32(minima), d*half(l.minimum), acc)
	default:
		acc = fma(half(l.minimum), scaledSum, acc)
	}
	return acc
}
