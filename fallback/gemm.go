package fallback

// Lanes is the width of the query tiles that Gemm, GemmMax and GemmMerge work on.
const Lanes = 8

// The lengths of the segments that products are cut into: shorter ones cost time, longer
// ones accuracy.
const (
	ColumnSegment = 64  // of the columns of queries and keys
	InputSegment  = 128 // of the inputs of a linear layer
)

// Gemm computes m rows of c, Lanes wide. The k steps are cut into segments of seg ≥ 1, the
// last of which may be shorter. A segment is an fma chain from +0, and the segments are
// added one after the other:
//
//	acc             = fma(a[i·rs+x·cs], b[x·ldb+lane], acc), x ascending, from +0
//	c[i·ldc+lane]   = acc of the first segment, or c[i·ldc+lane] + acc if load is true
//	c[i·ldc+lane] += acc of each further segment
func Gemm(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
	for i := range m {
		segments((*[Lanes]float32)(c[i*ldc:]), a, i*rs, cs, b, ldb, k, seg, load)
	}
}

// GemmMax is Gemm without load that also raises max to the largest result of every lane. A
// NaN is ignored.
func GemmMax(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
	top := (*[Lanes]float32)(max)
	for i := range m {
		row := (*[Lanes]float32)(c[i*ldc:])
		segments(row, a, i*rs, cs, b, ldb, k, seg, false)
		for lane, s := range row {
			top[lane] = larger(s, top[lane])
		}
	}
}

// GemmMerge merges a single segment of k steps into the content of c:
// c = fma(acc, beta[lane], c·alpha[lane]).
func GemmMerge(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	al, be := (*[Lanes]float32)(alpha), (*[Lanes]float32)(beta)
	for i := range m {
		row := (*[Lanes]float32)(c[i*ldc:])
		var acc [Lanes]float32
		chain(&acc, a, i*rs, cs, b, ldb, k)
		for lane, s := range acc {
			row[lane] = FMA(s, be[lane], float32(row[lane]*al[lane]))
		}
	}
}

// segments computes one row of c from the steps of its segments.
func segments(c *[Lanes]float32, a []float32, a0, cs int, b []float32, ldb, k, seg int, load bool) {
	for x := 0; ; x += seg {
		n := min(seg, k-x)
		var acc [Lanes]float32
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

// chain continues the fma chains of one row of c. It is unrolled by hand because the
// compiler does not keep arrays in registers.
func chain(c *[Lanes]float32, a []float32, a0, cs int, b []float32, ldb, k int) {
	c0, c1, c2, c3, c4, c5, c6, c7 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	for x := range k {
		ax, bx := a[a0+x*cs], (*[Lanes]float32)(b[x*ldb:])
		s0 := muladd(ax, bx[0], c0)
		s1 := muladd(ax, bx[1], c1)
		s2 := muladd(ax, bx[2], c2)
		s3 := muladd(ax, bx[3], c3)
		s4 := muladd(ax, bx[4], c4)
		s5 := muladd(ax, bx[5], c5)
		s6 := muladd(ax, bx[6], c6)
		s7 := muladd(ax, bx[7], c7)
		if rare(s0) || rare(s1) || rare(s2) || rare(s3) || rare(s4) || rare(s5) || rare(s6) || rare(s7) {
			s0 = wide(FMA(ax, bx[0], c0))
			s1 = wide(FMA(ax, bx[1], c1))
			s2 = wide(FMA(ax, bx[2], c2))
			s3 = wide(FMA(ax, bx[3], c3))
			s4 = wide(FMA(ax, bx[4], c4))
			s5 = wide(FMA(ax, bx[5], c5))
			s6 = wide(FMA(ax, bx[6], c6))
			s7 = wide(FMA(ax, bx[7], c7))
		}
		c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
		c4, c5, c6, c7 = float32(s4), float32(s5), float32(s6), float32(s7)
	}
	*c = [Lanes]float32{c0, c1, c2, c3, c4, c5, c6, c7}
}

// larger returns x if x > y, else y. Unlike the built-in max it ignores a NaN in x, as
// the vector instructions do.
func larger(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

// window returns s[at:at+n], but panics if that reaches beyond the length of s, not only
// if it reaches beyond its capacity. If n is 0, at may be anything.
func window[T any](s []T, at, n int) []T {
	if n == 0 {
		return nil
	}
	return s[:len(s):len(s)][at : at+n]
}
