package testutil

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// Gemm is ukernel.Products.Gemm for tiles of w lanes, straight from its definition. The lanes take
// their steps side by side, as a CPU waits for the steps of one chain.
func Gemm(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
	acc := make([]float32, w)
	for i := range m {
		sum := c[i*ldc:][:w]
		for lo := 0; ; lo += seg {
			hi := lo + min(seg, k-lo)
			clear(acc)
			for x := lo; x < hi; x++ {
				FMA(acc, a[i*rs+x*cs], b[x*ldb:])
			}
			for lane := range sum {
				if lo > 0 || load {
					sum[lane] += acc[lane]
				} else {
					sum[lane] = acc[lane]
				}
			}
			if hi == k {
				break
			}
		}
	}
}

// FMA adds x·y[i] to each z[i] by scalar.FMA.
func FMA(z []float32, x float32, y []float32) {
	y = y[:len(z)]
	for i := range z {
		if s := scalar.MulAdd(x, y[i], z[i]); scalar.Rare(s) {
			z[i] = scalar.FMA(x, y[i], z[i])
		} else {
			z[i] = float32(s)
		}
	}
}

// GemmEvenOdd is Products.GemmEvenOdd for tiles of w lanes, straight from its definition.
func GemmEvenOdd(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
	for i := range m {
		for lane := range w {
			sum := c[i*ldc+lane]
			for x := 0; x == 0 || x < k; x += 32 { // contract.BF16Segment
				var chains [2]float32
				for y := x; y < min(x+32, k); y++ {
					chains[y%2] = scalar.FMA(a[i*rs+y*cs], b[y*ldb+lane], chains[y%2])
				}
				if both := chains[0] + chains[1]; x == 0 && !load {
					sum = both
				} else {
					sum += both
				}
			}
			c[i*ldc+lane] = sum
		}
	}
}

// GemmTiles is Unit.GemmTiles, straight from its definition, for up to 64 lanes. Its sums begin
// with +0 if they do not begin with c. It allocates nothing.
func GemmTiles(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, _ []byte) {
	const segment = 32 // contract.BF16Segment
	for i := range m {
		sum := c[i*ldc:][:lanes]
		if !load {
			clear(sum)
		}
		for x := 0; x < k; x += segment {
			var chains [2][64]float32 // of even and of odd steps
			for y := x; y < min(x+segment, k); y++ {
				left, shift := scalar.BF16(a[i*lda+y]), y%2*16
				pairs := b[y/2*lanes:][:lanes]
				chain := chains[y%2][:len(pairs)]
				for lane, pair := range pairs {
					right := scalar.BF16(uint16(pair >> (shift & 31)))
					if s := scalar.MulAdd(left, right, chain[lane]); scalar.Rare(s) {
						chain[lane] = scalar.FMA(left, right, chain[lane])
					} else {
						chain[lane] = float32(s)
					}
				}
			}
			for lane := range sum {
				sum[lane] += chains[0][lane] + chains[1][lane]
			}
		}
	}
}

// GemmHalves is Unit.GemmHalves, straight from its definition. Its sums begin with +0, as GemmTiles
// has them. It allocates nothing.
func GemmHalves(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
	const seg = 32 // contract.BF16Segment
	for x := 0; x < k; x += seg {
		for i := range m {
			var sums [64]float32
			for half := range 2 {
				GemmTiles(sums[:], 0, a[i*lda+x:], 0, b[(x+half*seg/2)*lanes:], lanes, 1, seg, true, nil)
			}
			for lane, sum := range sums[:lanes] {
				y := &c[i*ldc+lane]
				if x == 0 && !load {
					*y = 0
				}
				*y += sum
			}
		}
	}
}

// WidePairs returns rows of pairs of bfloat16, which lie ld words apart, as twice as many rows of
// float32.
func WidePairs(b []uint32, ld int) []float32 {
	wide := make([]float32, 2*(len(b)+ld))
	for i, w := range b {
		at := i/ld*2*ld + i%ld
		wide[at], wide[at+ld] = scalar.BF16(uint16(w)), scalar.BF16(uint16(w>>16))
	}
	return wide
}

// GemmMax is Products.GemmMax for tiles of w lanes, straight from its definition.
func GemmMax(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
	Gemm(w, c, ldc, a, rs, cs, b, ldb, m, k, seg, false)
	for i := range m {
		for lane := range w {
			max[lane] = scalar.Larger(c[i*ldc+lane], max[lane])
		}
	}
}

// GemmMerge is Products.GemmMerge for tiles of w lanes, straight from its definition.
func GemmMerge(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	acc := make([]float32, m*w)
	Gemm(w, acc, w, a, rs, cs, b, ldb, m, k, max(k, 1), false)
	for i := range m {
		for lane := range w {
			p := &c[i*ldc+lane]
			*p = scalar.FMA(acc[i*w+lane], beta[lane], float32(*p*alpha[lane]))
		}
	}
}

// RoundHalves is Unit.RoundHalves, straight from its definition and Round's. It allocates nothing.
func RoundHalves(first, other []uint32, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	const least, beyond, exponent = 0x1p-100, 0x1p100, 0xff << 23
	w := len(unit)
	for lane := range unit {
		number := func(j int) float32 { return float32(s[j*ld+lane] * scales[j*lsc]) }
		largest := uint32(0)
		for j := range n {
			largest = max(largest, math.Float32bits(number(j))&^(1<<31))
		}
		u := math.Float32frombits(largest&exponent - uint32(bits)<<23)
		switch a := math.Float32frombits(largest); {
		case a < least:
			u = 0
		case !(a < beyond):
			u = NaN
		}
		unit[lane] = u
		for j := 0; j < n; j += 2 {
			words := [2]uint32{}
			for i := range min(2, n-j) {
				x := u
				if u > 0 {
					x = float32(math.RoundToEven(float64(number(j+i))/float64(u)))*u + 0
				}
				y := math.Float32frombits(math.Float32bits(x) &^ 0xffff)
				words[0] |= math.Float32bits(y) >> 16 << (16 * i)
				words[1] |= math.Float32bits(x-y) >> 16 << (16 * i)
			}
			first[j/2*w+lane], other[j/2*w+lane] = words[0], words[1]
		}
	}
}

// ScoreHalves is Unit.ScoreHalves, straight from its definition. It allocates nothing.
func ScoreHalves(s []float32, a []uint16, lda int, first, other []uint32, scales []float32, lsc, m, k int, load bool, max []float32) {
	const seg = 32 // contract.BF16Segment
	w := len(max)
	for j := range m {
		var sums [64]float32
		for x := 0; x < k; x += seg {
			for _, b := range [2][]uint32{first, other} {
				GemmTiles(sums[:], 0, a[j*lda+x:], 0, b[x/2*w:], w, 1, seg, true, nil)
			}
		}
		for lane := range max {
			y := &s[j*w+lane]
			if load {
				*y = scalar.FMA(sums[lane], scales[j*lsc], *y)
			} else {
				*y = float32(sums[lane] * scales[j*lsc])
			}
			max[lane] = scalar.Larger(*y, max[lane])
		}
	}
}
