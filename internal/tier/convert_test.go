package tier

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// converterShapes calls add with the shapes that converters are tested with: all
// remainders.
func converterShapes(add func(n, d, gapS, gapD int)) {
	for _, d := range upTo(2*16+1, 64, 80, 128, 129) {
		for n := range 4 {
			add(n, d, (n+d)%3, (n+d/3)&1*5)
		}
	}
}

// narrowTypes are the types that have rows in Converters.Widen and Narrow.
func narrowTypes() (list []ukernel.Element) {
	for e := range ukernel.Element(ukernel.Elements) {
		if e != ukernel.Float32 && !e.IsScaled() {
			list = append(list, e)
		}
	}
	return list
}

// A widenCase is a call of a widening, on any bits.
type widenCase struct {
	from             ukernel.Element
	n, d, gapS, gapD int
}

func (c widenCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func widenCases(from ukernel.Element) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		converterShapes(func(n, d, gapS, gapD int) { list = append(list, widenCase{from, n, d, gapS, gapD}) })
		return list
	}
}

func (c widenCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	size, ldd := c.from.Size(), c.d+c.gapD
	lds := (c.d + c.gapS) * size
	src := testutil.Rows[byte](a, "src", c.n, c.d*size, lds)
	for i := range src {
		src[i] = byte(r.Uint64())
	}
	dst := a.Matrix("dst", c.n, c.d, ldd, testutil.Canary)
	return func(p *kernelSet) { p.Convert.Widen[c.from](dst, ldd, src, lds, c.n, c.d) }
}

// A widenInt8Case is a call of WidenInt8.
type widenInt8Case struct {
	n, d, gapS, gapD, group int
	values                  testutil.Kind
}

func (c widenInt8Case) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d group=%d scales of %v", c.n, c.d, c.gapS, c.gapD, c.group, c.values)
}

func widenInt8Cases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		for _, group := range []int{1, 3, 8, 17, 32, d} {
			if group > 0 && group <= d {
				list = append(list, widenInt8Case{n, d, gapS, gapD, group, testutil.KindOf(len(list))})
			}
		}
	})
	return list
}

func (c widenInt8Case) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd, groups := c.d+c.gapS, c.d+c.gapD, (c.d+c.group-1)/c.group
	src := testutil.Rows[int8](a, "src", c.n, c.d, lds)
	for i := range src {
		src[i] = int8(r.Uint64())
	}
	lsc := groups + c.gapD
	scales := a.Matrix("scales", c.n, groups, lsc, testutil.Canary)
	c.values.Fill(r, scales, c.n, groups, lsc)
	dst := a.Matrix("dst", c.n, c.d, ldd, testutil.Canary)
	return func(p *kernelSet) { p.Convert.WidenInt8(dst, ldd, src, lds, scales, lsc, c.group, c.n, c.d) }
}

// A narrowCase is a call of a narrowing.
type narrowCase struct {
	to               ukernel.Element
	n, d, gapS, gapD int
}

func (c narrowCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func narrowCases(to ukernel.Element) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		converterShapes(func(n, d, gapS, gapD int) {
			for range 8 {
				list = append(list, narrowCase{to, n, d, gapS, gapD})
			}
		})
		return list
	}
}

func (c narrowCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	size, lds := c.to.Size(), c.d+c.gapS
	ldd := (c.d + c.gapD) * size
	src := a.Matrix("src", c.n, c.d, lds, testutil.Canary)
	for i := range src {
		src[i] = narrowable(r)
	}
	dst := testutil.Rows[byte](a, "dst", c.n, c.d*size, ldd)
	for i := range dst {
		dst[i] = 0x12
	}
	return func(p *kernelSet) { p.Convert.Narrow[c.to](dst, ldd, src, lds, c.n, c.d) }
}

// narrowable returns any float32, or one whose magnitude and low bits matter when it
// is narrowed.
func narrowable(r *testutil.Rand) float32 {
	bits := uint32(r.Uint64())
	switch r.IntN(4) {
	case 0:
		return math.Float32frombits(bits)
	case 1:
		return testutil.NonFinite.Next(r)
	}
	exp := uint32(127 - 26 + r.IntN(26+18)) // from below binary16's subnormals to beyond its largest
	kept := []uint32{13, 16, 20, 21, uint32(13 + r.IntN(11))}[r.IntN(5)]
	bits = bits&(1<<31|(1<<23-1)&^(1<<kept-1)) | exp<<23
	return math.Float32frombits(bits + []uint32{0, 1<<(kept-1) - 1, 1 << (kept - 1), 1<<(kept-1) + 1}[r.IntN(4)])
}

// A flushCase is a call of Flush, to other memory or in place.
type flushCase struct {
	n, d, gapS, gapD int
	inPlace          bool
}

func (c flushCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d in place=%v", c.n, c.d, c.gapS, c.gapD, c.inPlace)
}

func flushCases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		list = append(list, flushCase{n, d, gapS, gapD, false}, flushCase{n, d, gapS, gapS, true})
	})
	return list
}

func (c flushCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	least := math.Float32frombits([]uint32{contract.LeastNormal, contract.LeastGradient}[r.IntN(2)])
	src := a.Matrix("src", c.n, c.d, lds, testutil.Canary)
	for i := range c.n * c.d { // around least, subnormal, or any
		x := []uint32{math.Float32bits(least) + uint32(r.IntN(3)) - 1, uint32(r.IntN(1 << 23)), uint32(r.Uint64())}[r.IntN(3)]
		src[i/c.d*lds+i%c.d] = math.Float32frombits(x ^ uint32(r.IntN(2))<<31)
	}
	dst := src
	if !c.inPlace {
		dst = a.Matrix("dst", c.n, c.d, ldd, testutil.Canary)
	}
	return func(p *kernelSet) { p.Convert.Flush(dst, ldd, src, lds, c.n, c.d, least) }
}

// A gatherCase is a call of Gather, of rows in any order.
type gatherCase struct{ n, size, gap int }

func (c gatherCase) String() string {
	return fmt.Sprintf("n=%d size=%d lds=size+%d", c.n, c.size, c.gap)
}

func gatherCases(int) (list []kernelCase) {
	for _, size := range upTo(2*64+9, 256, 512, 777) {
		for n := range 4 {
			if size > 0 {
				list = append(list, gatherCase{n, size, (size + n) % 3})
			}
		}
	}
	return list
}

func (c gatherCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	const rows = 5
	lds := c.size + c.gap
	src := testutil.Rows[byte](a, "src", rows, c.size, lds)
	for i := range src {
		src[i] = byte(r.Uint64())
	}
	dst := testutil.Rows[byte](a, "dst", c.n, c.size, c.size)
	off, next := make([]int, c.n), make([]int, c.n)
	for i := range off {
		off[i], next[i] = r.IntN(rows)*lds, r.IntN(rows)*lds
	}
	return func(p *kernelSet) { p.Convert.Gather(dst, src, off, c.size, next) }
}

// TestWidenAll compares all numbers of the narrow types, and all scaled integers with many scales,
// with package fallback.
func TestWidenAll(t *testing.T) {
	ints := make([]int8, 256)
	for i := range ints {
		ints[i] = int8(i)
	}
	got, want := make([]float32, 1<<16), make([]float32, 1<<16)
	r := testutil.Rand(8)
	eachTier(func(tier *Tier) {
		c := tier.Convert()
		check := func(what string, n int) {
			for i, x := range got[:n] {
				if !testutil.SameBits(x, want[i]) {
					t.Fatalf("tier=%s: %s %#x is %v (%08x), want %v (%08x)", tier.Name, what, i, x, math.Float32bits(x), want[i], math.Float32bits(want[i]))
				}
			}
		}
		for _, e := range narrowTypes() {
			all := allOf(e)
			n := len(all) / e.Size()
			c.Widen[e](got, 0, all, 0, 1, n)
			ref.Convert.Widen[e](want, 0, all, 0, 1, n)
			check(e.String(), n)
		}
		for i := range 1000 {
			scale := []float32{testutil.KindOf(i).Next(&r)}
			c.WidenInt8(got, 0, ints, 0, scale, 0, len(ints), 1, len(ints))
			ref.Convert.WidenInt8(want, 0, ints, 0, scale, 0, len(ints), 1, len(ints))
			check(fmt.Sprintf("int8 times %v", scale[0]), len(ints))
		}
	})
}

// allOf returns all numbers of a type of up to 16 bits.
func allOf(e ukernel.Element) (all []byte) {
	for i := range 1 << (8 * e.Size()) {
		if e.Size() == 1 {
			all = append(all, byte(i))
		} else {
			all = binary.NativeEndian.AppendUint16(all, uint16(i))
		}
	}
	return all
}

var narrowAll = flag.Bool("narrowall", false, "narrow all float32 (a minute)")

// TestNarrowAll compares the narrowing of a sample of all float32, or of all, with
// package fallback.
func TestNarrowAll(t *testing.T) {
	step := sampling(*narrowAll, 487, 9973)
	const chunk = 1 << 14
	src, got, want := make([]float32, chunk), make([]byte, 2*chunk), make([]byte, 2*chunk)
	for first := uint64(0); first < 1<<32; first += chunk * step {
		for i := range src {
			src[i] = math.Float32frombits(uint32(first + uint64(i)*step))
		}
		for _, e := range narrowTypes() {
			ref.Convert.Narrow[e](want, 0, src, 0, 1, chunk)
			eachTier(func(tier *Tier) {
				tier.Convert().Narrow[e](got, 0, src, 0, 1, chunk)
				for i, x := range src {
					if at := i * e.Size(); !bytes.Equal(got[at:at+e.Size()], want[at:at+e.Size()]) {
						t.Fatalf("tier=%s: %v (%08x) as %v is %#x, want %#x", tier.Name, x, math.Float32bits(x), e, got[at:at+e.Size()], want[at:at+e.Size()])
					}
				}
			})
		}
	}
}

var convertMutants = []mutant{
	{"Convert.Gather", "the last bytes are those of the row before", func(p *kernelSet) {
		gather := p.Convert.Gather
		p.Convert.Gather = func(dst, src []byte, off []int, size int, next []int) {
			gather(dst, src, off, size, next)
			if n := len(off); n > 1 && size%8 > 0 {
				copy(dst[n*size-size%8:], dst[(n-1)*size-size%8:])
			}
		}
	}},
	{"Convert.Flush", "the least number is 0, too", func(p *kernelSet) {
		flush := p.Convert.Flush
		p.Convert.Flush = func(dst []float32, ldd int, src []float32, lds, n, d int, least float32) {
			flush(dst, ldd, src, lds, n, d, math.Nextafter32(least, 1))
		}
	}},
	{"Convert.Flush", "the sign of a zero stays", func(p *kernelSet) {
		flush := p.Convert.Flush
		p.Convert.Flush = func(dst []float32, ldd int, src []float32, lds, n, d int, least float32) {
			negative := n > 0 && d > 0 && math.Signbit(float64(src[0]))
			flush(dst, ldd, src, lds, n, d, least)
			if negative && dst[0] == 0 {
				dst[0] = -dst[0]
			}
		}
	}},
	{"Convert.Widen.float16", "subnormals are flushed", func(p *kernelSet) {
		widen := p.Convert.Widen[ukernel.Float16]
		p.Convert.Widen[ukernel.Float16] = func(dst []float32, ldd int, src []byte, lds, n, d int) {
			widen(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if binary.NativeEndian.Uint16(src[2*i:])&0x7c00 == 0 {
					dst[i] = 0
				}
			}
		}
	}},
	{"Convert.Widen.bfloat16", "the last element of the last row is left out", func(p *kernelSet) {
		widen := p.Convert.Widen[ukernel.BFloat16]
		p.Convert.Widen[ukernel.BFloat16] = func(dst []float32, ldd int, src []byte, lds, n, d int) {
			if n > 0 && d > 16 && d%16 > 0 {
				widen(dst, ldd, src, lds, n-1, d)
				d--
			}
			widen(dst, ldd, src, lds, n, d)
		}
	}},
	{"Convert.Widen.float8_e4m3", "S.1111.111 is a number", func(p *kernelSet) {
		widen := p.Convert.Widen[ukernel.Float8E4M3]
		p.Convert.Widen[ukernel.Float8E4M3] = func(dst []float32, ldd int, src []byte, lds, n, d int) {
			widen(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i] == 0x7f {
					dst[i] = 480
				}
			}
		}
	}},
	{"Convert.Widen.float8_e5m2", "the fraction has 3 bits", func(p *kernelSet) {
		p.Convert.Widen[ukernel.Float8E5M2] = p.Convert.Widen[ukernel.Float8E4M3]
	}},
	{"Convert.Narrow.float8_e4m3", "infinity becomes NaN", func(p *kernelSet) {
		narrow := p.Convert.Narrow[ukernel.Float8E4M3]
		p.Convert.Narrow[ukernel.Float8E4M3] = func(dst []byte, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i] > math.MaxFloat32 {
					dst[i] = 0x7f
				}
			}
		}
	}},
	{"Convert.Narrow.float8_e5m2", "beyond the largest is infinite", func(p *kernelSet) {
		narrow := p.Convert.Narrow[ukernel.Float8E5M2]
		p.Convert.Narrow[ukernel.Float8E5M2] = func(dst []byte, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i] >= 61440 {
					dst[i] = 0x7c
				}
			}
		}
	}},
	{"Convert.WidenInt8", "a row has one scale", func(p *kernelSet) {
		widen := p.Convert.WidenInt8
		p.Convert.WidenInt8 = func(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int) {
			widen(dst, ldd, src, lds, scales, lsc, d, n, d)
		}
	}},
	{"Convert.Narrow.float16", "ties round up", func(p *kernelSet) {
		narrow := p.Convert.Narrow[ukernel.Float16]
		p.Convert.Narrow[ukernel.Float16] = func(dst []byte, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				h := binary.NativeEndian.Uint16(dst[2*i:])
				if math.Float32bits(src[i])&0x3fff == 0x1000 && h&0x7c00 != 0 && h&0x7c00 != 0x7c00 {
					binary.NativeEndian.PutUint16(dst[2*i:], h+1)
				}
			}
		}
	}},
	{"Convert.Narrow.bfloat16", "a NaN keeps its sign", func(p *kernelSet) {
		narrow := p.Convert.Narrow[ukernel.BFloat16]
		p.Convert.Narrow[ukernel.BFloat16] = func(dst []byte, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i] != src[i] {
					binary.NativeEndian.PutUint16(dst[2*i:], binary.NativeEndian.Uint16(dst[2*i:])|uint16(math.Float32bits(src[i])>>16&0x8000))
				}
			}
		}
	}},
}
