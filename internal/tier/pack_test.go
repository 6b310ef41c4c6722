package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/testutil"
)

// A packCase is a call of Pack.
type packCase struct {
	n, d, gap int
	scale     float32
	values    testutil.Kind
}

func (c packCase) String() string {
	return fmt.Sprintf("n=%d d=%d ld=lanes+%d scale=%v of %v", c.n, c.d, c.gap, c.scale, c.values)
}

// rowLengths are the lengths of rows to pack and unpack.
var rowLengths = upTo(2*16+1, 64, 128)

func packCases(w int) (list []kernelCase) {
	scales := []float32{0.18033688, 1, -3, 0x1.234568p-100}
	for _, d := range rowLengths {
		for n := range w {
			i := len(list)
			list = append(list, packCase{n + 1, d, (n + d) & 1 * 3, scales[(i+i/4)%4], testutil.KindOf(i)})
		}
	}
	return list
}

func (c packCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	off := testutil.Slice[int](a, "off", w)
	size := rowOffsets(r, off, c.n, c.d)
	src := a.Vector("src", size, testutil.NaN)
	for _, o := range off[:c.n] {
		c.values.Fill(r, src[o:], 1, c.d, c.d)
	}
	ld := w + c.gap
	dst := a.Matrix("dst", c.d, w, ld, testutil.Canary)
	return func(p *kernelSet) {
		p.Pack(dst, ld, src, off, c.n, c.d, c.scale)
		for lane := c.n; lane < w; lane++ {
			c.normalise(dst, ld, lane)
		}
	}
}

// normalise replaces the content of an idle lane, which may be any of the rows, by the
// last row.
func (c packCase) normalise(dst []float32, ld, lane int) {
	for row := c.n - 1; row >= 0; row-- {
		if !c.holds(dst, ld, lane, row) {
			continue
		}
		for x := range c.d {
			dst[x*ld+lane] = dst[x*ld+c.n-1]
		}
		return
	}
}

// holds tells whether lane holds the same row as lane row does.
func (c packCase) holds(dst []float32, ld, lane, row int) bool {
	for x := range c.d {
		if !testutil.SameBits(dst[x*ld+lane], dst[x*ld+row]) {
			return false
		}
	}
	return true
}

// rowOffsets places n rows of d elements in random order, with gaps between them. It
// sets off to their starts and returns the end of the last one. Offsets from n on repeat
// lane n-1's.
func rowOffsets(r *testutil.Rand, off []int, n, d int) int {
	for lane := range n { // a random order
		x := r.IntN(lane + 1)
		off[lane] = off[x]
		off[x] = lane
	}
	at, end := make([]int, n), 0
	for i := range at {
		if i > 0 {
			end += r.IntN(4)
		}
		at[i] = end
		end += d
	}
	for lane := range off {
		if lane < n {
			off[lane] = at[off[lane]]
		} else {
			off[lane] = off[n-1]
		}
	}
	return end
}

// An unpackCase is a call of Unpack.
type unpackCase struct {
	n, d, gap int
	values    testutil.Kind
}

func (c unpackCase) String() string {
	return fmt.Sprintf("n=%d d=%d ld=lanes+%d of %v", c.n, c.d, c.gap, c.values)
}

func unpackCases(w int) (list []kernelCase) {
	for _, d := range rowLengths {
		for n := range w {
			list = append(list, unpackCase{n + 1, d, (n + d) & 1 * 3, testutil.KindOf(len(list))})
		}
	}
	return list
}

func (c unpackCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	off := testutil.Slice[int](a, "off", w)
	size := rowOffsets(r, off, c.n, c.d)
	dst := a.Vector("dst", size, testutil.Canary)
	ld := w + c.gap
	src := a.Matrix("src", c.d, w, ld, testutil.NaN)
	sum := a.Vector("sum", w, testutil.NaN)
	for lane := range c.n { // NaN stays in the idle ones
		sum[lane] = c.sum(r)
		for x := range c.d {
			src[x*ld+lane] = c.values.Next(r)
		}
	}
	nan := testutil.Slice[uint64](a, "the returned bits", 1)
	return func(p *kernelSet) {
		nan[0] = p.Unpack(dst, off, src, ld, c.n, c.d, sum) & (1<<c.n - 1) // 1<<64 - 1 is all of them
	}
}

// sum returns a lane's sum: usually one as softmax returns, sometimes one that makes the
// result zero, infinite or NaN.
func (c unpackCase) sum(r *testutil.Rand) float32 {
	x := 1 + float32(r.Uint64()&0xffffff)/0x10000
	if r.IntN(4) > 0 {
		return x
	}
	odd := [...]float32{0, 0, float32(math.Copysign(0, -1)), 0x1p-149, 0x1p-128, 0x1p127, testutil.Inf, testutil.NaN}
	return odd[r.IntN(len(odd))]
}

var packMutants = []mutant{
	{"Pack", "one row is another", func(p *kernelSet) {
		pack := p.Pack
		p.Pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			if n > 20 && d > 30 {
				dst[30*ld+n-1] = dst[30*ld+n-2]
			}
		}
	}},
	{"Pack", "subnormal products are flushed", func(p *kernelSet) {
		pack := p.Pack
		p.Pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			for x := range d {
				if y := &dst[x*ld]; *y != 0 && math.Abs(float64(*y)) < 0x1p-126 {
					*y = 0
				}
			}
		}
	}},
	{"Pack", "an idle lane holds garbage", func(p *kernelSet) {
		pack := p.Pack
		p.Pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			if n < p.Lanes && d > 0 {
				dst[n] = 0
			}
		}
	}},
	{"Unpack", "-0 stays", spoilRow(func(x, sum float32, y *float32) {
		if z := float32(x * (1 / sum)); z == 0 && sum > 0 {
			*y = z
		}
	})},
	{"Unpack", "divides", spoilRow(func(x, sum float32, y *float32) {
		if sum > 1 {
			*y = x/sum + 0
		}
	})},
	{"Unpack", "a sum of 0 divides", spoilRow(func(x, sum float32, y *float32) {
		if sum == 0 {
			*y = x / sum
		}
	})},
	{"Unpack", "NaN is not told", func(p *kernelSet) {
		unpack := p.Unpack
		p.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			return unpack(dst, off, src, ld, n, d, sum) &^ 1
		}
	}},
	{"Unpack", "a NaN is told that is none", func(p *kernelSet) {
		unpack := p.Unpack
		p.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			return unpack(dst, off, src, ld, n, d, sum) | 1<<(n-1)
		}
	}},
	{"Unpack", "the memory before is written to", func(p *kernelSet) {
		unpack := p.Unpack
		p.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			if d > 0 {
				*testutil.Beside(dst, -1) = 0
			}
			return unpack(dst, off, src, ld, n, d, sum)
		}
	}},
	{"Unpack", "the gap behind a row is written to", func(p *kernelSet) {
		unpack := p.Unpack
		p.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			nan := unpack(dst, off, src, ld, n, d, sum)
			if n == 2 && max(off[0], off[1]) > min(off[0], off[1])+d {
				dst[min(off[0], off[1])+d] = 0
			}
			return nan
		}
	}},
}

// spoilRow changes the first element of the first row.
func spoilRow(f func(x, sum float32, y *float32)) func(p *kernelSet) {
	return func(p *kernelSet) {
		unpack := p.Unpack
		p.Unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			nan := unpack(dst, off, src, ld, n, d, sum)
			if d > 0 {
				f(src[0], sum[0], &dst[off[0]])
			}
			return nan
		}
	}
}
