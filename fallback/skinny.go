package fallback

// SkinnyQK computes the products of m ≥ 16 rows of k, d ≥ 8 columns long, with the
// queries in the first n of the len(max) lanes of the packed panel q, and raises max to
// them:
//
//	acc                = fma(k[j·ldk+x], q[x·len(max)+lane], acc), x ascending, from +0
//	s[j·len(max)+lane] = the sum of acc over segments of ColumnSegment columns, as in Gemm
//
// The lanes from n up to a multiple of 4 repeat lane n-1. Those after them repeat the 4
// before. The last two arguments are prefetch hints, which are ignored here.
func SkinnyQK(s, k []float32, ldk int, q []float32, n, m, d int, max, _ []float32, _ int) {
	w := len(max)
	for j := 0; j < m; j += Lanes {
		j := min(j, m-Lanes)
		rows := window(k, j*ldk, (Lanes-1)*ldk+d)
		for lane := range n {
			for i, x := range keySums(rows, ldk, q[lane:], w, d) {
				s[(j+i)*w+lane] = x
			}
		}
	}
	for j := range m {
		row := window(s, j*w, w)
		for lane := range row {
			if four := (n - 1) / 4 * 4; lane >= n {
				row[lane] = row[min(four+lane%4, n-1)]
			}
			max[lane] = larger(row[lane], max[lane])
		}
	}
}

// keySums returns the products of Lanes rows of k and a column of q.
func keySums(k []float32, ldk int, q []float32, ldq, d int) [Lanes]float32 {
	sums := keyChains(k, ldk, q, ldq, min(d, ColumnSegment))
	for x := ColumnSegment; x < d; x += ColumnSegment {
		for i, s := range keyChains(k[x:], ldk, q[x*ldq:], ldq, min(d-x, ColumnSegment)) {
			sums[i] += s
		}
	}
	return sums
}

// keyChains returns the fma chains of a segment of Lanes rows of k and a column of q. It is
// unrolled as chain is.
func keyChains(k []float32, ldk int, q []float32, ldq, d int) [Lanes]float32 {
	row := func(i int) []float32 { return k[i*ldk:][:d] }
	k0, k1, k2, k3, k4, k5, k6, k7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
	var c0, c1, c2, c3, c4, c5, c6, c7 float32
	for x := range d {
		y := q[x*ldq]
		s0 := muladd(k0[x], y, c0)
		s1 := muladd(k1[x], y, c1)
		s2 := muladd(k2[x], y, c2)
		s3 := muladd(k3[x], y, c3)
		s4 := muladd(k4[x], y, c4)
		s5 := muladd(k5[x], y, c5)
		s6 := muladd(k6[x], y, c6)
		s7 := muladd(k7[x], y, c7)
		if rare(s0) || rare(s1) || rare(s2) || rare(s3) || rare(s4) || rare(s5) || rare(s6) || rare(s7) {
			s0 = wide(FMA(k0[x], y, c0))
			s1 = wide(FMA(k1[x], y, c1))
			s2 = wide(FMA(k2[x], y, c2))
			s3 = wide(FMA(k3[x], y, c3))
			s4 = wide(FMA(k4[x], y, c4))
			s5 = wide(FMA(k5[x], y, c5))
			s6 = wide(FMA(k6[x], y, c6))
			s7 = wide(FMA(k7[x], y, c7))
		}
		c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
		c4, c5, c6, c7 = float32(s4), float32(s5), float32(s6), float32(s7)
	}
	return [Lanes]float32{c0, c1, c2, c3, c4, c5, c6, c7}
}

// SkinnyPV computes the products of n lanes of the weights p with m rows of v, dv
// columns long:
//
//	o[i·ldo+e] = fma(p[j·ldp+i], v[j·ldv+e], acc), j = 0..m-1
//
// from +0, or from o itself if load is true. The last two arguments are prefetch hints,
// which are ignored here.
func SkinnyPV(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []float32, _ int) {
	for i := range n {
		row := window(o, i*ldo, dv)
		if !load {
			clear(row)
		}
		e := 0
		for ; e+Lanes <= dv; e += Lanes {
			chain((*[Lanes]float32)(row[e:]), p, i, ldp, v[min(e, len(v)):], ldv, m)
		}
		for ; e < dv; e++ {
			for j := range m {
				row[e] = FMA(p[j*ldp+i], v[j*ldv+e], row[e])
			}
		}
	}
}

// SkinnyMerge merges n rows of part into those of o, with factors per row:
// o = fma(part, beta, o·alpha).
func SkinnyMerge(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
	for i := range n {
		row, in := window(o, i*ldo, dv), window(part, i*ldp, dv)
		for e := range row {
			row[e] = FMA(in[e], beta[i], float32(row[e]*alpha[i]))
		}
	}
}

// SkinnyUnpack is Unpack for an output of n rows of dv columns that need no transpose:
// dst[off[i]+e] = o[i·ldo+e]·inv + (+0).
func SkinnyUnpack(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
	var nans uint64
	for i, at := range window(off, 0, n) {
		inv, row := inverse(sum[i]), window(dst, at, dv)
		for e, x := range window(o, i*ldo, dv) {
			row[e] = float32(x*inv) + 0
			if row[e] != row[e] {
				nans |= 1 << i
			}
		}
	}
	return nans
}
