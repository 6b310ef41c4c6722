package kernel

import (
	"math"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/fallback"
)

// A mutant is the reference with a small mistake in one kernel.
type mutant struct {
	kernel, mistake string
	spoil           func(p *panelKernels)
}

// TestMicroCatches shows that TestMicro can fail: it must find every mutant,
// and nothing in the reference itself.
func TestMicroCatches(t *testing.T) {
	const w = 24
	for _, k := range microKernels {
		if err := checkMicro(reference(w), k.cases(w), newArena(inside)); err != nil {
			t.Errorf("%s: the reference differs from itself: %v", k.name, err)
		}
	}
	for _, list := range [][]mutant{tileMutants, softmaxMutants, scoreMutants, packMutants, fewMutants, narrowMutants, convertMutants, stripMutants, functionMutants, additiveMutants} {
		for _, m := range list {
			p := reference(w)
			m.spoil(p)
			err := checkMicro(p, casesOf(m.kernel)(w), newArena(inside))
			if err == nil {
				t.Errorf("%s: %s: went unnoticed", m.kernel, m.mistake)
				continue
			}
			t.Logf("%s: %s: %v", m.kernel, m.mistake, err)
		}
	}
}

// TestExp2Catches does the same for TestExp2: the last bit of one weight in
// thousands.
func TestExp2Catches(t *testing.T) {
	p := reference(24)
	softmax := p.softmax
	p.softmax = func(s []float32, ld, n int, max, sum []float32) {
		softmax(s, ld, n, max, sum)
		if n == 256 {
			s[255*ld+23] = math.Float32frombits(math.Float32bits(s[255*ld+23]) ^ 1)
		}
	}
	x := filled(20000, -1.25)
	if err := checkExp2(p, x, filled(len(x), fallback.Exp2(-1.25))); err == nil {
		t.Error("a wrong bit went unnoticed")
	}
}

// spoilTile calls f after the kernel, with slices that start at the first lane of
// the last row and what that element held before, or +0.
func spoilTile(f func(c, a, b []float32, cs, ldb, k int, old float32, load bool)) func(p *panelKernels) {
	return func(p *panelKernels) {
		tile := p.tile
		p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			var old float32
			if m > 0 && load {
				old = c[(m-1)*ldc]
			}
			tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 0 && k > 0 {
				f(c[(m-1)*ldc:], a[(m-1)*rs:], b, cs, ldb, k, old, load)
			}
		}
	}
}

var tileMutants = []mutant{
	{"tile", "the last product is rounded", spoilTile(func(c, a, b []float32, cs, ldb, k int, acc float32, load bool) {
		for x := range k - 1 {
			acc = fallback.FMA(a[x*cs], b[x*ldb], acc)
		}
		c[0] = float32(a[(k-1)*cs]*b[(k-1)*ldb]) + acc
	})},
	{"tile", "the chain is descending", spoilTile(func(c, a, b []float32, cs, ldb, k int, acc float32, load bool) {
		for x := k - 1; x >= 0; x-- {
			acc = fallback.FMA(a[x*cs], b[x*ldb], acc)
		}
		c[0] = acc
	})},
	{"tile", "subnormal results are flushed", spoilTile(func(c, a, b []float32, cs, ldb, k int, acc float32, load bool) {
		if c[0] != 0 && math.Abs(float64(c[0])) < 0x1p-126 {
			c[0] = 0
		}
	})},
	{"tile", "the sum starts from the product, not from +0", spoilTile(func(c, a, b []float32, cs, ldb, k int, acc float32, load bool) {
		if !load && k == 1 {
			c[0] = float32(a[0] * b[0])
		}
	})},
	{"tile", "one bit is wrong in one of the largest tiles", spoilTile(func(c, a, b []float32, cs, ldb, k int, acc float32, load bool) {
		if len(c) > 23 && k == 17 && load {
			c[23] = math.Float32frombits(math.Float32bits(c[23]) ^ 1)
		}
	})},
	{"tile", "a gap is written to", func(p *panelKernels) {
		tile := p.tile
		p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 1 && ldc > p.lanes {
				c[p.lanes] = 0
			}
		}
	}},
	{"tile", "the memory behind is written to", func(p *panelKernels) {
		tile := p.tile
		p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 0 {
				*beside(c, len(c)) = 0
			}
		}
	}},
	{"tile", "an input is written to", func(p *panelKernels) {
		tile := p.tile
		p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
			if m > 0 && k > 0 {
				b[0] = 0
			}
		}
	}},
	{"tileMax", "the maximum is the new one of two zeros", func(p *panelKernels) {
		tileMax := p.tileMax
		p.tileMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, top []float32) {
			tileMax(c, ldc, a, rs, cs, b, ldb, m, k, top)
			for i := range m {
				if top[0] == c[i*ldc] {
					top[0] = c[i*ldc]
				}
			}
		}
	}},
	{"tileMax", "NaN counts", func(p *panelKernels) {
		tileMax := p.tileMax
		p.tileMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, top []float32) {
			tileMax(c, ldc, a, rs, cs, b, ldb, m, k, top)
			for i := range m {
				if c[i*ldc] != c[i*ldc] {
					top[0] = nan32
				}
			}
		}
	}},
	{"tileFold", "the other product is rounded", func(p *panelKernels) {
		p.tileFold = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
			acc := make([]float32, m*p.lanes)
			p.tile(acc, p.lanes, a, rs, cs, b, ldb, m, k, false)
			for i := range m {
				for lane := range p.lanes {
					x := &c[i*ldc+lane]
					*x = fallback.FMA(*x, alpha[lane], float32(acc[i*p.lanes+lane]*beta[lane]))
				}
			}
		}
	}},
}

// beside is the element of number at of s, which may lie outside of it.
func beside(s []float32, at int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), 4*at))
}

var softmaxMutants = []mutant{
	{"mask", "the spans include their ends", func(p *panelKernels) {
		mask := p.mask
		p.mask = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			ends := make([]int32, len(hi))
			for i, h := range hi {
				ends[i] = h
				if h < math.MaxInt32 {
					ends[i]++
				}
			}
			mask(s, ld, j0, n, lo, ends, max)
		}
	}},
	{"mask", "keys are numbered from the call's first", func(p *panelKernels) {
		mask := p.mask
		p.mask = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			mask(s, ld, 0, n, lo, hi, max)
		}
	}},
	{"mask", "hidden scores count for the maximum", func(p *panelKernels) {
		mask := p.mask
		p.mask = func(s []float32, ld, j0, n int, lo, hi []int32, top []float32) {
			if n > 0 && s[0] > top[0] {
				top[0] = s[0]
			}
			mask(s, ld, j0, n, lo, hi, top)
		}
	}},
	{"mask", "ends compare without a sign", func(p *panelKernels) {
		mask := p.mask
		p.mask = func(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
			ends := make([]int32, len(hi))
			for i, h := range hi {
				ends[i] = h
				if h < 0 {
					ends[i] = math.MaxInt32
				}
			}
			mask(s, ld, j0, n, lo, ends, max)
		}
	}},
	{"softmax", "the sum is descending", spoilSum(func(p []float32) (sum float32) {
		for i := len(p) - 1; i >= 0; i-- {
			sum += p[i]
		}
		return sum
	})},
	{"softmax", "even and odd weights are summed apart", spoilSum(func(p []float32) float32 {
		var sum [2]float32
		for i, x := range p {
			sum[i&1] += x
		}
		return sum[0] + sum[1]
	})},
	{"softmax", "the weight at exp2's cut-off is 0", spoilWeight(func(x, p float32) float32 {
		if x == -126 {
			return 0
		}
		return p
	})},
	{"softmax", "weights below exp2's cut-off", spoilWeight(func(x, p float32) float32 {
		if x < -126 && x > -126.1 {
			return math.Float32frombits(1)
		}
		return p
	})},
	{"softmax", "hidden lanes become NaN", spoilWeight(func(x, p float32) float32 {
		if x != x { // -Inf - -Inf
			return x
		}
		return p
	})},
	{"softmax", "NaN becomes 0", spoilWeight(func(x, p float32) float32 {
		if x != x {
			return 0
		}
		return p
	})},
	{"fold", "the other product is rounded", func(p *panelKernels) {
		fold := p.fold
		p.fold = func(top, sum, blockMax, blockSum, alpha, beta []float32) {
			old := sum[0]
			fold(top, sum, blockMax, blockSum, alpha, beta)
			sum[0] = fallback.FMA(old, alpha[0], float32(blockSum[0]*beta[0]))
		}
	}},
	{"fold", "a side without a key makes NaN", func(p *panelKernels) {
		fold := p.fold
		p.fold = func(top, sum, blockMax, blockSum, alpha, beta []float32) {
			fold(top, sum, blockMax, blockSum, alpha, beta)
			if math.IsInf(float64(top[0]), -1) {
				alpha[0] = nan32
			}
		}
	}},
}

// spoilSum sums the first lane's weights by f.
func spoilSum(f func(p []float32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		softmax := p.softmax
		p.softmax = func(s []float32, ld, n int, max, sum []float32) {
			softmax(s, ld, n, max, sum)
			column := make([]float32, n)
			for j := range column {
				column[j] = s[j*ld]
			}
			sum[0] = f(column)
		}
	}
}

// spoilWeight replaces the weights, but not in the sums. x is the score less
// the maximum.
func spoilWeight(f func(x, p float32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		softmax := p.softmax
		p.softmax = func(s []float32, ld, n int, max, sum []float32) {
			x := make([]float32, n)
			for j := range x {
				x[j] = s[j*ld] - max[0]
			}
			softmax(s, ld, n, max, sum)
			for j := range x {
				s[j*ld] = f(x[j], s[j*ld])
			}
		}
	}
}

var packMutants = []mutant{
	{"pack", "one row is another", func(p *panelKernels) {
		pack := p.pack
		p.pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			if n > 20 && d > 30 {
				dst[30*ld+n-1] = dst[30*ld+n-2]
			}
		}
	}},
	{"pack", "subnormal products are flushed", func(p *panelKernels) {
		pack := p.pack
		p.pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			for x := range d {
				if y := &dst[x*ld]; *y != 0 && math.Abs(float64(*y)) < 0x1p-126 {
					*y = 0
				}
			}
		}
	}},
	{"pack", "an idle lane holds garbage", func(p *panelKernels) {
		pack := p.pack
		p.pack = func(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
			pack(dst, ld, src, off, n, d, scale)
			if n < p.lanes && d > 0 {
				dst[n] = 0
			}
		}
	}},
	{"unpack", "-0 stays", spoilRow(func(x, sum float32, y *float32) {
		if z := float32(x * (1 / sum)); z == 0 && sum > 0 {
			*y = z
		}
	})},
	{"unpack", "divides", spoilRow(func(x, sum float32, y *float32) {
		if sum > 1 {
			*y = x/sum + 0
		}
	})},
	{"unpack", "a sum of 0 divides", spoilRow(func(x, sum float32, y *float32) {
		if sum == 0 {
			*y = x / sum
		}
	})},
	{"unpack", "NaN is not told", func(p *panelKernels) {
		unpack := p.unpack
		p.unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			return unpack(dst, off, src, ld, n, d, sum) &^ 1
		}
	}},
	{"unpack", "a NaN is told that is none", func(p *panelKernels) {
		unpack := p.unpack
		p.unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			return unpack(dst, off, src, ld, n, d, sum) | 1<<(n-1)
		}
	}},
	{"unpack", "the memory before is written to", func(p *panelKernels) {
		unpack := p.unpack
		p.unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			if d > 0 {
				*beside(dst, -1) = 0
			}
			return unpack(dst, off, src, ld, n, d, sum)
		}
	}},
	{"unpack", "the gap behind a row is written to", func(p *panelKernels) {
		unpack := p.unpack
		p.unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			nan := unpack(dst, off, src, ld, n, d, sum)
			if n == 2 && max(off[0], off[1]) > min(off[0], off[1])+d {
				dst[min(off[0], off[1])+d] = 0
			}
			return nan
		}
	}},
}

// spoilRow changes the first element of the first row.
func spoilRow(f func(x, sum float32, y *float32)) func(p *panelKernels) {
	return func(p *panelKernels) {
		unpack := p.unpack
		p.unpack = func(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
			nan := unpack(dst, off, src, ld, n, d, sum)
			if d > 0 {
				f(src[0], sum[0], &dst[off[0]])
			}
			return nan
		}
	}
}

var convertMutants = []mutant{
	{"widenF16", "subnormals are flushed", func(p *panelKernels) {
		widen := p.widenF16
		p.widenF16 = func(dst []float32, ldd int, src []uint16, lds, n, d int) {
			widen(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i]&0x7c00 == 0 {
					dst[i] = 0
				}
			}
		}
	}},
	{"widenBF16", "the last element of the last row is left out", func(p *panelKernels) {
		widen := p.widenBF16
		p.widenBF16 = func(dst []float32, ldd int, src []uint16, lds, n, d int) {
			if n > 0 && d > 16 && d%16 > 0 {
				widen(dst, ldd, src, lds, n-1, d)
				d--
			}
			widen(dst, ldd, src, lds, n, d)
		}
	}},
	{"widenInt8", "a row has one scale", func(p *panelKernels) {
		widen := p.widenInt8
		p.widenInt8 = func(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int) {
			widen(dst, ldd, src, lds, scales, lsc, d, n, d)
		}
	}},
	{"narrowF16", "ties round up", func(p *panelKernels) {
		narrow := p.narrowF16
		p.narrowF16 = func(dst []uint16, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if math.Float32bits(src[i])&0x3fff == 0x1000 && dst[i]&0x7c00 != 0 && dst[i]&0x7c00 != 0x7c00 {
					dst[i]++
				}
			}
		}
	}},
	{"narrowBF16", "a NaN keeps its sign", func(p *panelKernels) {
		narrow := p.narrowBF16
		p.narrowBF16 = func(dst []uint16, ldd int, src []float32, lds, n, d int) {
			narrow(dst, ldd, src, lds, n, d)
			for i := range min(n, 1) * d {
				if src[i] != src[i] {
					dst[i] |= uint16(math.Float32bits(src[i]) >> 16 & 0x8000)
				}
			}
		}
	}},
}
