package harness

import (
	"fmt"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/internal/ukernel"
)

// rows of scores of a tile: the widths of an override, and counts.
func scores(k *Kernel, quick bool, add func(i, w, n, ld int) Case) (list []Case) {
	for j, w := range lanesOf(k, quick) {
		for i, n := range counts(quick) {
			if !thinned(i, j) {
				list = append(list, add(i, w, n, w+i%3*4))
			}
		}
	}
	return list
}

func maskSpan(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"s": out(span(n, ld, w)), "ld": ld, "j0": 7 * i, "n": n, "lo": in(w).within(0, 1<<30), "hi": in(w).within(0, 1<<30), "max": out(w)}
	})
}

func maskBool(k *Kernel, quick bool) []Case {
	of := func(i, w, n, ld int) Case {
		off, size := rowStarts(w, n, i)
		return Case{"s": out(span(n, ld, w)), "ld": ld, "n": n, "keep": in(size), "off": offsets(off...), "hidden": i%2 == 0, "max": out(w)}
	}
	list := scores(k, quick, of)
	if w := lanesOf(k, quick)[0]; !quick { // amd64 takes 16 keys at a time
		list = append(list, of(0, w, 32, w), of(1, w, 35, w+4))
	}
	return list
}

// rowStarts returns where w rows of n elements begin, and their end: in some order, with gaps, the
// first two at the same place.
func rowStarts(w, n, seed int) (off []int, size int) {
	off = make([]int, w)
	for i := range off {
		at := (i*5 + seed) % w // 5 has no divisor in common with most widths; others share rows
		off[i] = at * (n + seed%3)
		size = max(size, off[i]+n)
	}
	return off, size
}

func softcap(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"s": out(span(n, ld, w)), "ld": ld, "n": n, "limit": Unknown{}, "inv": Unknown{}, "max": out(w)}
	})
}

func alibi(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"s": out(span(n, ld, w)), "ld": ld, "j0": 9 * i, "n": n, "slopes": in(w), "pos": in(w).within(-1<<30, 1<<30), "max": out(w)}
	})
}

func bias(k *Kernel, quick bool) []Case {
	of := func(i, w, n, ld int) Case {
		off, size := rowStarts(w, n, i)
		return Case{"s": out(span(n, ld, w)), "ld": ld, "n": n, "src": in(size), "off": offsets(off...), "max": out(w)}
	}
	list := scores(k, quick, of)
	if !quick { // AVX-512 takes 16 keys at once
		w := list[0]["max"].(Buffer).Len
		list = append(list, of(0, w, 33, w))
	}
	return list
}

func dropout(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"s": out(span(n, ld, w)), "ld": ld, "j0": 4*i + i/2, "n": n, "keys": in(20), "sequence": Unknown{}, "head": in(w), "pos": in(w),
			"threshold": Unknown{}, "scale": Unknown{}}
	})
}

// repeated returns where n rows of d elements begin, then the last one again up to w.
func repeated(w, n, d, seed int) (off []int, size int) {
	off, size = rowStarts(n, d, seed)
	for len(off) < w {
		off = append(off, off[n-1])
	}
	return off, size
}

// apart returns where n rows of d elements begin that do not overlap.
func apart(w, n, d, seed int) (off []int, size int) {
	for i := range n {
		off = append(off, (n-1-i)*(d+seed%3))
	}
	for len(off) < w {
		off = append(off, off[n-1])
	}
	return off, n * (d + seed%3)
}

// rowShapes are widths, numbers of rows up to them, and lengths of rows.
func rowShapes(k *Kernel, quick bool, add func(i, w, n, d int)) {
	ds := []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 19, 31, 32, 33, 35, 64}
	if quick {
		ds = []int{19}
	}
	i := 0
	for _, w := range lanesOf(k, quick) {
		for _, d := range ds {
			for n := 1; n <= w; n++ {
				if i++; quick && n != w-1 || !quick && (n*7+d+w)%(w/2+1) != 0 {
					continue
				}
				add(i, w, n, d)
			}
		}
	}
}

func pack(k *Kernel, quick bool) (list []Case) {
	rowShapes(k, quick, func(i, w, n, d int) {
		off, size := repeated(w, n, d, i)
		ld := w + i%2*3
		list = append(list, Case{"dst": out(span(d, ld, w)).but(func(i int) bool { return i%ld >= n && i%ld < w }), "ld": ld, "src": in(size),
			"off": offsets(off...), "n": n, "d": d, "scale": Unknown{}})
	})
	return list
}

func unpack(k *Kernel, quick bool) (list []Case) {
	rowShapes(k, quick, func(i, w, n, d int) {
		off, size := apart(w, n, d, i)
		ld := w + i%2*3
		list = append(list, Case{"dst": out(size), "off": offsets(off...), "src": in(span(d, ld, w)), "ld": ld, "n": n, "d": d, "sum": in(w), resultBits: n})
	})
	return list
}

// resultBits names, in place of a parameter, how many bits of the result count.
const resultBits = "bits of the result"

func roundLanes(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		n = max(n, 1)
		lsc := 1 + i%3
		return Case{"dst": out(span(n, ld, w)), "s": in(span(n, ld, w)), "ld": ld, "n": n, "scales": in(span(n, lsc, 1)), "lsc": lsc, "bits": 10 + i%2, "unit": out(w)}
	})
}

func pairs(k *Kernel, quick bool) (list []Case) {
	for _, w := range []int{8, 16, 32, 48} {
		for i, n := range []int{1, 2, 3, 4, 5, 6, 7, 9} {
			if quick && (n != 7 || w != 48) {
				continue
			}
			ld, lsc := w+i%3*4, 1+i%3
			list = append(list, Case{"pairs": out((n + 1) / 2 * w), "s": in(span(n, ld, w)), "ld": ld, "n": n, "scales": in(span(n, lsc, 1)), "lsc": lsc, "bits": 10 + i%2, "unit": out(w)})
		}
	}
	return list
}

func groupPairs(k *Kernel, quick bool) (list []Case) {
	for i, n := range []int{1, 2, 3, 4, 5, 6, 7, 9} {
		for _, groups := range []int{2, 4, 6, 8} {
			if quick && (n != 7 || groups != 4) {
				continue
			}
			ld, lsc, size := 4+i%3*4, groups+i%3, (n+1)/2*4
			lpg := size + i%2*4
			list = append(list, Case{"pairs": out((groups-1)*lpg + size), "lpg": lpg, "s": in(span(n, ld, 4)), "ld": ld, "n": n, "scales": in(span(n, lsc, groups)), "lsc": lsc, "bits": 10 + i%2, "unit": out(4 * groups)})
		}
	}
	return list
}

func scaleRows(k *Kernel, quick bool) []Case {
	of := func(i, w, n, ld int) Case {
		lsc, lda := 1+i%3, w+i%2
		return Case{"s": out(span(n, ld, w)), "ld": ld, "a": in(span(n, lda, w)), "lda": lda, "n": n, "scales": in(span(n, lsc, 1)), "lsc": lsc, "load": i/2%2 == 0, "max": out(w)}
	}
	list := scores(k, quick, of)
	for _, w := range lanesOf(k, quick) { // no rows, also without load
		list = append(list, of(2, w, 0, w))
	}
	return list
}

// codePairs makes words of two integers of 16 bits that are at most so large.
func codePairs(name string, most int64) func(g *expr.Graph, i int) *expr.Node {
	return func(g *expr.Graph, i int) *expr.Node {
		half := func(which string) *expr.Node {
			return g.SymWithin(16, fmt.Sprintf("%s[%d].%s", name, i, which), -most, most)
		}
		return g.Concat(half("low"), half("high"))
	}
}

// lastAlone makes 0 of the second integers of pairs from one on.
func lastAlone(pair func(g *expr.Graph, i int) *expr.Node, from int) func(g *expr.Graph, i int) *expr.Node {
	return func(g *expr.Graph, i int) *expr.Node {
		n := pair(g, i)
		if i >= from {
			return g.Concat(g.Extract(n, 0, 16), g.Const(16, 0))
		}
		return n
	}
}

func codeScores(k *Kernel, quick bool) (list []Case) {
	for _, w := range lanesOf(k, quick) {
		for i, d := range []int{16, 32, 48, 64, 80, 128} {
			if quick && d != 48 {
				continue
			}
			m, lsc := 1+(i*5+w/8)%14, 1+i%3
			list = append(list, Case{"s": out(m * w), "k": Buffer{Len: m * d / 2, Make: codePairs("k", 128)}, "scales": in(span(m, lsc, 1)), "lsc": lsc,
				"q": Buffer{Len: d / 2 * w, Make: codePairs("q", 1<<11)}, "unit": in(w), "m": m, "d": d, "max": out(w)})
		}
	}
	return list
}

func codeValues(k *Kernel, quick bool) (list []Case) {
	for _, w := range lanesOf(k, quick) {
		for i, dv := range []int{16, 32, 48, 64, 80} {
			if quick && dv != 48 {
				continue
			}
			for pairs := 1; pairs <= 16; pairs += 3 {
				if quick && pairs != 4 || !quick && dv > 32 && (i+pairs/3+w/8)%3 != 0 {
					continue
				}
				list = append(list, Case{"o": out(dv * w), "v": Buffer{Len: pairs * dv, Make: codePairs("v", 128)}, "p": Buffer{Len: pairs * w, Make: codePairs("p", 1<<12)},
					"unit": in(w), "pairs": pairs, "dv": dv, "load": (i+pairs)%2 == 0})
			}
		}
	}
	return list
}

func codeMerge(k *Kernel, quick bool) (list []Case) {
	return scores(k, quick, func(i, w, n, ld int) Case {
		n = max(n, 1)
		return Case{"o": out(n * w), "part": in(n * w), "n": n, "alpha": in(w), "beta": in(w)}
	})
}

func headScores(k *Kernel, quick bool) (list []Case) {
	for _, w := range lanesOf(k, quick) {
		for i, d := range []int{8, 16, 24, 32, 40, 56, 64} {
			if quick && d != 24 {
				continue
			}
			for m := 1; m <= 9; m += 2 {
				if quick && m != 5 {
					continue
				}
				ldk := d + i%3
				off, size := repeated(w, w-i%3, span(m, ldk, d), m)
				list = append(list, Case{"s": out(m * w), "k": in(size), "off": offsets(off...), "ldk": ldk, "q": in(d * w), "m": m, "d": d, "max": out(w)})
			}
		}
	}
	return list
}

func backwardWeights(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"s": out(span(n, ld, w)), "dp": in(span(n, ld, w)), "ld": ld, "n": n, "lse": in(w), "sum": out(w), "dot": out(w)}
	})
}

func backwardScores(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"p": out(span(n, ld, w)), "dp": out(span(n, ld, w)), "ld": ld, "n": n, "inv": in(w), "mean": in(w)}
	})
}

func backwardSoftcap(k *Kernel, quick bool) []Case {
	return scores(k, quick, func(i, w, n, ld int) Case {
		return Case{"ds": out(span(n, ld, w)), "s": in(span(n, ld, w)), "ld": ld, "n": n, "lanes": w, "inv": Unknown{}}
	})
}

func qkCodes(k *Kernel, quick bool) []Case { return qkIntegers(quick, 8, 16) }

func qkCodes4(k *Kernel, quick bool) []Case { return qkIntegers(quick, 4, 32) }

// qkIntegers returns calls for integers of so many bits, in groups of multiples of step.
func qkIntegers(quick bool, bits, step int) (list []Case) {
	const w = 16
	add := func(n, m, groups, group int) {
		i, d := len(list), groups*group
		ldk, lsc := d*bits/8+i%3, m+i%2
		list = append(list, Case{"s": out(m * w), "k": in(span(m, ldk, d*bits/8)), "ldk": ldk, "scales": in(span(groups, lsc, m)), "lsc": lsc, "group": group,
			"q": Buffer{Len: d / 2 * w, Make: codePairs("q", 1<<11)}, "unit": in(n), "n": n, "m": m, "d": d, "max": out(w)})
	}
	for i, group := range []int{16, 32, 48, 64, 80, 96, 128} {
		for n := 1; n <= w && group%step == 0; n++ {
			if quick && (n > 3 && n != 9 || group != 3*step) || !quick && group > 48 && n%3 != i%3 {
				continue
			}
			m, groups := 16+(i*5+n*3)%20, 1
			if group <= 48 {
				groups = 1 + n%3
			}
			add(n, m, groups, group)
		}
	}
	if !quick { // one query, which has a form of its own
		for m := w; m <= 2*w+3; m++ {
			add(1, m, 1+m%3, step*(1+m/3%2))
		}
	}
	return list
}

func pvCodes(k *Kernel, quick bool) []Case { return pvIntegers(quick, 8, 16) }

func pvCodes4(k *Kernel, quick bool) []Case { return pvIntegers(quick, 4, 32) }

// pvIntegers returns calls for integers of so many bits, in groups of multiples of step.
func pvIntegers(quick bool, bits, step int) (list []Case) {
	add := func(i, n, m, dv int) {
		groups := 1
		if i%2 == 0 {
			groups = dv / step
		}
		ldo, ldv, ldp, count := dv+i%3, dv*bits/8+i%2, (n+15)/16*16, (m+1)/2
		if n <= ukernel.GroupLanes && m%2 > 0 {
			ldp = ukernel.GroupLanes
		}
		lpg := count * ldp
		pair := func(g *expr.Graph, i int) *expr.Node {
			return lastAlone(codePairs(fmt.Sprint("p", i/lpg), 1<<12), m/2*ldp)(g, i%lpg)
		}
		list = append(list, Case{"o": out(span(n, ldo, dv)), "ldo": ldo, "v": in(span(m, ldv, dv*bits/8)), "ldv": ldv,
			"pairs": Buffer{Len: groups * lpg, Make: pair}, "ldp": ldp, "lpg": lpg, "unit": in(span(groups, ldp, n)), "group": dv / groups, "n": n, "m": m, "dv": dv, "load": m%2 == 0})
	}
	for i, dv := range []int{16, 32, 48, 64, 80, 128, 144} {
		for m := 1; m <= 32 && dv%step == 0; m++ {
			if quick && (m != 7 || dv != 80/step*step) || !quick && (m+dv/16)%4 != 0 && m > 4 {
				continue
			}
			add(i, 1+(i+m)%9, m, dv)
		}
	}
	if !quick {
		add(1, 2, 3, 32) // a row without a second for two queries
	}
	return list
}

func skinnyUnpack(k *Kernel, quick bool) (list []Case) {
	for i, dv := range columns(quick) {
		if dv > 160 { // more trips alone, and more tests for a NaN than package expr puts in order
			continue
		}
		n := 1 + i%7
		off, size := apart(n, n, dv, i)
		ldo := dv + i%3
		list = append(list, Case{"dst": out(size), "off": offsets(off...), "o": in(span(n, ldo, dv)), "ldo": ldo, "n": n, "dv": dv, "sum": in(n)})
	}
	return list
}

// mostTests is how many numbers a call tests for a NaN at most: each test more costs as much as all
// before it.
const mostTests = 800

// headValues returns calls for rows that are heads of their own, and for rows of which 4 to 8
// have a head's values in common.
func headValues(k *Kernel, quick bool) (list []Case) {
	for i, dv := range columns(quick) {
		for _, m := range []int{1, 2, 3, 4, 5, 9} {
			if quick && m != 5 || !quick && (m+dv)%3 != 0 {
				continue
			}
			n, rows := 1+(i+m)%9, 1
			if (i+len(list))%2 == 0 {
				n, rows = 4+i%7, 4+i%5
			}
			n = min(n, max(1, mostTests/dv))
			const w = 16
			off, size := apart(w, n, dv, i)
			ldv, ldp := dv+i%2, (n+3)/4*4+m%2*4
			heads, sizev := repeated(w, (n+rows-1)/rows, span(m, ldv, dv), i)
			offv := make([]int, w)
			for lane := range offv {
				offv[lane] = heads[min(lane, n-1)/rows]
			}
			list = append(list, Case{"dst": out(size), "off": offsets(off...), "v": in(sizev), "offv": offsets(offv...), "ldv": ldv, "p": in(m * ldp), "ldp": ldp,
				"n": n, "m": m, "dv": dv, "sum": in(w), resultBits: n})
		}
	}
	return list
}

func additive(k *Kernel, quick bool) (list []Case) {
	for i, d := range []int{16, 32, 48, 64, 80} {
		for n := 1; n <= 4; n++ {
			if quick && (n != 3 || d != 32) || !quick && n*d > 128 {
				continue
			}
			m := 1 + (i+n)%4
			ldq, ldk, ld := d+i%2, d+i%3, n+i
			list = append(list, Case{"s": out(span(m, ld, n)), "ld": ld, "q": in(span(n, ldq, d)), "ldq": ldq, "k": in(span(m, ldk, d)), "ldk": ldk, "n": n, "m": m,
				"weights": in(d), "next": Buffer{Len: d, Absent: true}})
		}
	}
	return list
}
