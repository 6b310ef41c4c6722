package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// lanes is the width of the query tiles that gemm, gemmMax and gemmMerge work on.
const lanes = 8

// gemm is Products.Gemm.
func gemm(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
	for i := range m {
		segments((*[lanes]float32)(c[i*ldc:]), a, i*rs, cs, b, ldb, k, seg, load)
	}
}

// gemmMax is Products.GemmMax.
func gemmMax(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
	top := (*[lanes]float32)(max)
	for i := range m {
		row := (*[lanes]float32)(c[i*ldc:])
		segments(row, a, i*rs, cs, b, ldb, k, seg, false)
		for lane, s := range row {
			top[lane] = scalar.Larger(s, top[lane])
		}
	}
}

// gemmMerge is Products.GemmMerge.
func gemmMerge(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	al, be := (*[lanes]float32)(alpha), (*[lanes]float32)(beta)
	for i := range m {
		row := (*[lanes]float32)(c[i*ldc:])
		var acc [lanes]float32
		chain(&acc, a, i*rs, cs, b, ldb, k)
		for lane, s := range acc {
			row[lane] = scalar.FMA(s, be[lane], float32(row[lane]*al[lane]))
		}
	}
}

// segments computes one row of c from the steps of its segments.
func segments(c *[lanes]float32, a []float32, a0, cs int, b []float32, ldb, k, seg int, load bool) {
	for x := 0; ; x += seg {
		n := min(seg, k-x)
		var acc [lanes]float32
		chain(&acc, a, a0+x*cs, cs, b[min(x*ldb, len(b)):], ldb, n)
		if x > 0 || load {
			for lane, s := range acc {
				c[lane] += s
			}
		} else {
			*c = acc
		}
		if x+n == k {
			return
		}
	}
}

// gemmEvenOdd is Products.GemmEvenOdd.
func gemmEvenOdd(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
	for i := range m {
		evenOdd((*[lanes]float32)(c[i*ldc:]), a, i*rs, cs, b, ldb, k, load)
	}
}

// evenOdd computes one row of c: the chains of even and of odd steps of each segment.
func evenOdd(c *[lanes]float32, a []float32, a0, cs int, b []float32, ldb, k int, load bool) {
	for x := 0; ; x += contract.BF16Segment {
		n := min(contract.BF16Segment, k-x)
		var e, o [lanes]float32
		chain(&e, a, a0+x*cs, 2*cs, b[min(x*ldb, len(b)):], 2*ldb, (n+1)/2)
		if n > 1 {
			chain(&o, a, a0+(x+1)*cs, 2*cs, b[(x+1)*ldb:], 2*ldb, n/2)
		}
		for lane := range c {
			sum := e[lane] + o[lane]
			if x > 0 || load {
				sum += c[lane]
			}
			c[lane] = sum
		}
		if x+n == k {
			return
		}
	}
}

// chain continues the fma chains of one row of c. It is unrolled by hand because the
// compiler does not keep arrays in registers.
func chain(c *[lanes]float32, a []float32, a0, cs int, b []float32, ldb, k int) {
	c0, c1, c2, c3, c4, c5, c6, c7 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	for x := range k {
		ax, bx := a[a0+x*cs], (*[lanes]float32)(b[x*ldb:])
		s0 := scalar.MulAdd(ax, bx[0], c0)
		s1 := scalar.MulAdd(ax, bx[1], c1)
		s2 := scalar.MulAdd(ax, bx[2], c2)
		s3 := scalar.MulAdd(ax, bx[3], c3)
		s4 := scalar.MulAdd(ax, bx[4], c4)
		s5 := scalar.MulAdd(ax, bx[5], c5)
		s6 := scalar.MulAdd(ax, bx[6], c6)
		s7 := scalar.MulAdd(ax, bx[7], c7)
		if scalar.Rare(s0) || scalar.Rare(s1) || scalar.Rare(s2) || scalar.Rare(s3) || scalar.Rare(s4) || scalar.Rare(s5) || scalar.Rare(s6) || scalar.Rare(s7) {
			s0 = scalar.Wide(scalar.FMA(ax, bx[0], c0))
			s1 = scalar.Wide(scalar.FMA(ax, bx[1], c1))
			s2 = scalar.Wide(scalar.FMA(ax, bx[2], c2))
			s3 = scalar.Wide(scalar.FMA(ax, bx[3], c3))
			s4 = scalar.Wide(scalar.FMA(ax, bx[4], c4))
			s5 = scalar.Wide(scalar.FMA(ax, bx[5], c5))
			s6 = scalar.Wide(scalar.FMA(ax, bx[6], c6))
			s7 = scalar.Wide(scalar.FMA(ax, bx[7], c7))
		}
		c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
		c4, c5, c6, c7 = float32(s4), float32(s5), float32(s6), float32(s7)
	}
	*c = [lanes]float32{c0, c1, c2, c3, c4, c5, c6, c7}
}

// window returns s[at:at+n], but panics if that reaches beyond the length of s, not only
// if it reaches beyond its capacity. If n is 0, at may be anything.
func window[T any](s []T, at, n int) []T {
	if n == 0 {
		return nil
	}
	return s[:len(s):len(s)][at : at+n]
}
