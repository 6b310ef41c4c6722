package fallback

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// skinnyQK is SkinnyKernels.QK. Prefetch hints are ignored here.
func skinnyQK(s, k []float32, ldk int, q []float32, n, m, d int, max, _ []float32, _ int) {
	w := len(max)
	for j := 0; j < m; j += lanes {
		j := min(j, m-lanes)
		rows := window(k, j*ldk, (lanes-1)*ldk+d)
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
			max[lane] = scalar.Larger(row[lane], max[lane])
		}
	}
}

// keySums returns the products of lanes rows of k and a column of q.
func keySums(k []float32, ldk int, q []float32, ldq, d int) [lanes]float32 {
	sums := keyChains(k, ldk, q, ldq, min(d, contract.ColumnSegment))
	for x := contract.ColumnSegment; x < d; x += contract.ColumnSegment {
		for i, s := range keyChains(k[x:], ldk, q[x*ldq:], ldq, min(d-x, contract.ColumnSegment)) {
			sums[i] += s
		}
	}
	return sums
}

// keyChains returns the fma chains of a segment of lanes rows of k and a column of q. It is
// unrolled as chain is.
func keyChains(k []float32, ldk int, q []float32, ldq, d int) [lanes]float32 {
	row := func(i int) []float32 { return k[i*ldk:][:d] }
	k0, k1, k2, k3, k4, k5, k6, k7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
	var c0, c1, c2, c3, c4, c5, c6, c7 float32
	for x := range d {
		y := q[x*ldq]
		s0 := scalar.MulAdd(k0[x], y, c0)
		s1 := scalar.MulAdd(k1[x], y, c1)
		s2 := scalar.MulAdd(k2[x], y, c2)
		s3 := scalar.MulAdd(k3[x], y, c3)
		s4 := scalar.MulAdd(k4[x], y, c4)
		s5 := scalar.MulAdd(k5[x], y, c5)
		s6 := scalar.MulAdd(k6[x], y, c6)
		s7 := scalar.MulAdd(k7[x], y, c7)
		if scalar.Rare(s0) || scalar.Rare(s1) || scalar.Rare(s2) || scalar.Rare(s3) || scalar.Rare(s4) || scalar.Rare(s5) || scalar.Rare(s6) || scalar.Rare(s7) {
			s0 = scalar.Wide(scalar.FMA(k0[x], y, c0))
			s1 = scalar.Wide(scalar.FMA(k1[x], y, c1))
			s2 = scalar.Wide(scalar.FMA(k2[x], y, c2))
			s3 = scalar.Wide(scalar.FMA(k3[x], y, c3))
			s4 = scalar.Wide(scalar.FMA(k4[x], y, c4))
			s5 = scalar.Wide(scalar.FMA(k5[x], y, c5))
			s6 = scalar.Wide(scalar.FMA(k6[x], y, c6))
			s7 = scalar.Wide(scalar.FMA(k7[x], y, c7))
		}
		c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
		c4, c5, c6, c7 = float32(s4), float32(s5), float32(s6), float32(s7)
	}
	return [lanes]float32{c0, c1, c2, c3, c4, c5, c6, c7}
}

// skinnyPV is SkinnyKernels.PV.
func skinnyPV(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []float32, _ int) {
	for i := range n {
		row := window(o, i*ldo, dv)
		if !load {
			clear(row)
		}
		e := 0
		for ; e+lanes <= dv; e += lanes {
			chain((*[lanes]float32)(row[e:]), p, i, ldp, v[min(e, len(v)):], ldv, m)
		}
		for ; e < dv; e++ {
			for j := range m {
				row[e] = scalar.FMA(p[j*ldp+i], v[j*ldv+e], row[e])
			}
		}
	}
}

// skinnyMerge is SkinnyKernels.Merge.
func skinnyMerge(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32) {
	for i := range n {
		row, in := window(o, i*ldo, dv), window(part, i*ldp, dv)
		for e := range row {
			row[e] = scalar.FMA(in[e], beta[i], float32(row[e]*alpha[i]))
		}
	}
}

// skinnyUnpack is SkinnyKernels.Unpack.
func skinnyUnpack(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64 {
	var nans uint64
	for i, at := range window(off, 0, n) {
		if normalise(window(dst, at, dv), window(o, i*ldo, dv), inverse(sum[i])) {
			nans |= 1 << i
		}
	}
	return nans
}

// normalise sets dst to src·inv + (+0), and tells whether there is a NaN.
func normalise(dst, src []float32, inv float32) (nan bool) {
	for e, x := range src {
		dst[e] = float32(x*inv) + 0
		nan = nan || dst[e] != dst[e]
	}
	return nan
}

// headScores is LaneKernels.HeadScores.
func headScores(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32) {
	w := len(max)
	for lane, at := range off {
		top := scalar.NegInf
		for j := range m {
			var acc float32
			for x, key := range window(k, at+j*ldk, d) {
				y := q[x*w+lane]
				sum := scalar.MulAdd(key, y, acc)
				if scalar.Rare(sum) {
					sum = scalar.Wide(scalar.FMA(key, y, acc))
				}
				acc = float32(sum)
			}
			s[j*w+lane] = acc
			top = scalar.Larger(acc, top)
		}
		max[lane] = top
	}
}

// headValues is SkinnyKernels.HeadValues.
func headValues(dst []float32, off []int, v []float32, offv []int, ldv int, p []float32, ldp, n, m, dv int, sum []float32) uint64 {
	var nans uint64
	for lane := range n {
		row, inv := window(dst, off[lane], dv), inverse(sum[lane])
		skinnyPV(row, dv, v[offv[lane]:], ldv, p[lane:], ldp, 1, m, dv, false, nil, 0)
		if normalise(row, row, inv) {
			nans |= 1 << lane
		}
	}
	return nans
}
