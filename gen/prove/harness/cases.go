package harness

import (
	"fmt"
	"slices"
	"strings"

	numeric "github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// A contract is what is known of a kernel besides its signature: calls with all remainders, and
// what may be supposed of the arguments.
type contract struct {
	cases   func(k *Kernel, quick bool) []Case
	suppose func(l *call, known *equal.Suppose)
	strict  bool   // whether a NaN in an output has bits of its own
	halves  string // an output whose words are pairs
	open    string // why it may be that an override's kernel is tested, but not proven
}

// rowsOf returns counts of rows: all up to more than two tiles of the highest, and some beyond.
func rowsOf(quick bool) []int {
	if quick {
		return []int{7}
	}
	return []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 23, 25, 29, 30, 31, 33, 37, 41, 49}
}

// twoTiles is how many rows have all remainders of all tiles. Calls with more have few steps, but
// for three tiles of the highest: a tile more does not change what a tile does.
const twoTiles, threeTiles = 19, 49

// span returns the floats that rows of n take that are ld apart.
func span(rows, ld, n int) int {
	if rows == 0 || n == 0 {
		return 0
	}
	return (rows-1)*ld + n
}

// An operand lies by rows or by columns.
type layout struct{ rs, cs func(m, k int) int }

var layouts = []layout{
	{func(m, k int) int { return k }, func(m, k int) int { return 1 }},
	{func(m, k int) int { return 1 }, func(m, k int) int { return m }},
	{func(m, k int) int { return k + 3 }, func(m, k int) int { return 1 }},
	{func(m, k int) int { return 2 }, func(m, k int) int { return 2*m + 1 }},
}

func products(k *Kernel, quick bool, add func(c Case, m, steps int)) {
	steps := []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 17}
	if quick {
		steps = []int{9}
	}
	productsOf(k, quick, steps, add)
}

func productsOf(k *Kernel, quick bool, steps []int, add func(c Case, m, steps int)) {
	i := 0
	laid := func(m, n int, lay layout) {
		i++
		rs, cs := lay.rs(m, n), lay.cs(m, n)
		ldb, ldc := k.Lanes+i%2, k.Lanes+i%3
		if m == 0 && n > 1 {
			return
		}
		a := 0
		if m > 0 && n > 0 {
			a = (m-1)*rs + (n-1)*cs + 1
		}
		add(Case{"c": out(span(m, ldc, k.Lanes)), "ldc": ldc, "a": in(a), "rs": rs, "cs": cs,
			"b": in(span(n, ldb, k.Lanes)), "ldb": ldb, "m": m, "k": n}, m, n)
	}
	for _, m := range rowsOf(quick) {
		for j, n := range steps {
			if !quick && m > 4 && (j+m)%4 != 0 || m > twoTiles && m < threeTiles && n > 5 {
				continue
			}
			laid(m, n, layouts[i%len(layouts)])
		}
	}
	if !quick && k.Lanes == denseLanes {
		for _, lay := range layouts[:2] {
			for _, n := range []int{4, 5, 6, 7, 9, 14} {
				laid(denseRows, n, lay)
			}
		}
	}
}

// NEON's highest tile of one vector takes four steps at a time if A has no gaps.
const denseRows, denseLanes = 16, 4

func gemm(k *Kernel, quick bool) (list []Case) {
	segments, long := []int{1 << 40, 1, 2, 3, 4, 5, 8}, []int{1 << 40, 5, 8}
	products(k, quick, func(c Case, m, n int) {
		c["seg"] = segments[len(list)%len(segments)]
		switch {
		case k.Lanes == denseLanes && m == denseRows:
			c["seg"] = long[len(list)%len(long)]
		case m > 4 && n == 8 && c["seg"] == 8: // so that a call with m rows has several segments
			c["seg"] = 3
		}
		c["load"] = len(list)/2%2 == 1
		list = append(list, c)
	})
	return list
}

func gemmEvenOdd(k *Kernel, quick bool) (list []Case) {
	steps := []int{0, 1, 2, 3, 4, 31, 32, 33, 34, 65, 99}
	if quick {
		steps = []int{35}
	}
	productsOf(k, quick, steps, func(c Case, m, n int) {
		c["load"] = len(list)/2%2 == 1
		list = append(list, c)
	})
	return list
}

func gemmMax(k *Kernel, quick bool) (list []Case) {
	list = gemm(k, quick)
	for _, c := range list {
		delete(c, "load")
		c["max"] = out(k.Lanes)
	}
	return list
}

func gemmMerge(k *Kernel, quick bool) (list []Case) {
	products(k, quick, func(c Case, m, n int) {
		c["alpha"], c["beta"] = in(k.Lanes), in(k.Lanes)
		list = append(list, c)
	})
	return list
}

// lanesOf returns widths of query tiles: multiples of a vector.
func lanesOf(k *Kernel, quick bool) []int {
	step := max(k.Lanes, 8) // one override for all vectors: 8 is the least width of a tile of two registers
	if k.Lanes == 4 {
		step = 4
	}
	if quick {
		return []int{2 * step}
	}
	var list []int
	for w := step; w <= 5*step && w <= 64; w += step {
		list = append(list, w)
	}
	if k.Lanes == 0 {
		list = append(list, 64)
	}
	return list
}

func counts(quick bool) []int {
	if quick {
		return []int{5}
	}
	return []int{0, 1, 2, 3, 4, 5, 7, 9, 13, 29}
}

// thinned reports whether count i is left out for width j: widths beyond the second have every
// other count.
func thinned(i, j int) bool { return j > 1 && (i+j)%2 != 0 }

func softmax(k *Kernel, quick bool) (list []Case) {
	widths := []int{4}
	if k.Table == "Lanes" {
		widths = lanesOf(k, quick)
	}
	for j, w := range widths {
		for i, n := range counts(quick) {
			if thinned(i, j) {
				continue
			}
			ld := w + i%3*4
			s := out(span(n, ld, w))
			if k.Table == "Skinny" {
				ld = max(ld, 8)
				s = out(n * ld).but(func(i int) bool { return i%ld >= w })
			}
			list = append(list, Case{"s": s, "ld": ld, "n": n, "max": in(w), "sum": out(w)})
		}
	}
	return list
}

func mergeStats(k *Kernel, quick bool) (list []Case) {
	for _, w := range lanesOf(k, quick) {
		list = append(list, Case{"max": out(w), "sum": out(w), "blockMax": in(w), "blockSum": in(w), "alpha": out(w), "beta": out(w)})
	}
	return list
}

// columns returns numbers of columns with all remainders of the longest steps.
func columns(quick bool) []int {
	if quick {
		return []int{37}
	}
	var list []int
	for d := 1; d <= 70; d++ {
		list = append(list, d)
	}
	return append(list, 95, 96, 97, 127, 128, 129, 160, 191, 192, 200, 401)
}

// columnsOf returns those that are at least so many, and multiples of step.
func columnsOf(quick bool, least, step int) []int {
	list := columns(quick)
	for i, d := range list {
		list[i] = (max(d, least) + step - 1) / step * step
	}
	return slices.Compact(list)
}

func skinnyMerge(k *Kernel, quick bool) (list []Case) {
	for i, dv := range columns(quick) {
		n, ldo, ldp := 1+i%5, dv+i%3, dv+i%2
		list = append(list, Case{"o": out(span(n, ldo, dv)), "ldo": ldo, "part": in(span(n, ldp, dv)), "ldp": ldp, "n": n, "dv": dv, "alpha": in(n), "beta": in(n)})
	}
	return list
}

// skinnyQK returns calls of QK with numbers of columns that a step divides, and on x86 with others.
func skinnyQK(step int, others ...int) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		const w = 16
		ds := []int{8, 9, 10, 11, 12, 13, 15, 17, 33, 63, 64, 65, 72, 129, 136, 200, 256, 260, 325}
		if step > 1 {
			ds = []int{16, 32, 48, 64, 80, 128, 144, 208}
			if strings.HasPrefix(k.ISA, "avx") {
				ds = append(ds, others...)
			}
		}
		if quick {
			ds = []int{80}
		}
		i := 0
		for j, d := range ds {
			for n := 1; n <= w; n++ {
				// All numbers of queries with few columns, and up to 4 where these have
				// tiles of several segments or of 32 keys; of others some, with the same
				// tiles.
				own := n <= 4 && (d > 200 || step > 1 && (d < 100 || d == 135))
				if quick && n != 3 && n != 9 || !quick && !own && (d > 17 && (n+d)%5 != 0 || d > 100 && n%3 == 0 || step == 1 && d > 200) {
					continue
				}
				i++
				m := 16 + i%17
				switch {
				case own && step > 1:
					m = []int{19, 32, 37, 48, 53, 64, 80}[(3*j+n)%7]
				case own:
					m = 16 + n%2
				case i%7 == 0:
					m = 48 + i%3
				}
				ldk := d + i%3
				list = append(list, Case{"s": out(m * w), "k": in(span(m, ldk, d)), "ldk": ldk, "q": in(d * w), "n": n, "m": m, "d": d,
					"max": out(w), "next": Buffer{Len: d, Absent: true}, "far": i % 3 * d})
			}
		}
		return list
	}
}

// narrowPV returns calls of PV for float16, bfloat16 or int8: whole groups of 16 columns, on amd64
// 8 columns or more.
func narrowPV(k *Kernel, quick bool) []Case {
	if strings.HasPrefix(k.ISA, "avx") {
		return skinnyPV(8, 1)(k, quick)
	}
	return skinnyPV(16, 16)(k, quick)
}

// skinnyPV returns calls of PV with at least so many columns, of which step divides the number.
// Some have several passes of 16 keys.
func skinnyPV(least, step int) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		of := func(n, m, dv int) {
			i := len(list) + 1
			ldo, ldv, ldp := dv+i%3, dv+i%2, (n+3)/4*4+i%2*4
			list = append(list, Case{"o": out(span(n, ldo, dv)), "ldo": ldo, "v": in(span(m, ldv, dv)), "ldv": ldv, "p": in(m * ldp), "ldp": ldp,
				"n": n, "m": m, "dv": dv, "load": i%2 == 0, "next": Buffer{Len: dv, Absent: true}, "far": i % 3 * dv})
		}
		add := func(m, dv int) { of(1+(len(list)+1)%9, m, dv) }
		for _, dv := range columnsOf(quick, least, step) {
			for _, m := range []int{0, 1, 2, 3, 4, 5, 9} {
				if quick && m != 5 || !quick && (m+dv)%3 != 0 && dv > 8 && step == 1 {
					continue
				}
				add(m, dv)
			}
		}
		if !quick {
			for i, m := range []int{16, 17, 18, 19, 20, 31, 32, 33, 66} {
				add(m, least+(13*i+step-1)/step*step)
			}
			of(3, 16, least+(18+step-1)/step*step) // of int4, whose lines have turns of 8 keys
		}
		return list
	}
}

// qkEvenOdd and pvEvenOdd return calls for products in bfloat16, whose kernels take whole groups of
// 8 lanes. Queries have rows of -0 up to a whole step. Values have more than a segment of keys,
// too.
func qkEvenOdd(k *Kernel, quick bool) []Case {
	list := skinnyQK(16, shortColumns...)(k, quick)
	for _, c := range list {
		c["scale"] = Unknown{}
		d, q := c["d"].(int), c["q"].(Buffer).Len
		rows := q / d
		c["q"] = Buffer{Len: (d + 7) / 8 * 8 * rows, Make: func(g *expr.Graph, i int) *expr.Node {
			if i >= q {
				return g.Const(32, 1<<31)
			}
			return g.Sym(32, fmt.Sprintf("q[%d]", i))
		}}
	}
	return list
}

func pvEvenOdd(k *Kernel, quick bool) (list []Case) {
	for i, c := range skinnyPV(16, 16)(k, quick) {
		m := max(1, c["m"].(int)) + i%2*31
		dv, ldp := c["dv"].(int), 16
		c["m"], c["ldp"], c["v"], c["p"] = m, ldp, in(span(m, c["ldv"].(int), dv)), in(m*ldp)
		list = append(list, c)
	}
	return list
}

// withScales adds scales to calls. Scales of keys lie side by side, scales of values row by row.
func withScales(cases func(k *Kernel, quick bool) []Case, keys bool) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) []Case {
		list := cases(k, quick)
		for i, c := range list {
			m, d := c["m"].(int), 0
			if keys {
				d = c["d"].(int)
			} else {
				d = c["dv"].(int)
			}
			group := d
			if i%2 == 1 && d%32 == 0 {
				group = 32
			} else if i%3 == 1 && d%16 == 0 {
				group = 16
			} else if i%4 == 2 && d%64 == 0 {
				group = 64
			} else if i%4 == 2 { // the group of other rows, which are longer
				group += i % 32
			}
			groups := (d + group - 1) / group
			rows, n := groups, m
			if !keys {
				rows, n = m, groups
			}
			c["group"], c["lsc"] = group, n+i%3
			c["scales"] = in(span(rows, n+i%3, n))
		}
		return list
	}
}

// packed are the calls whose rows have two numbers in a byte, as far as kernels take them so.
func packed(cases func(k *Kernel, quick bool) []Case, columns, rows, stride string) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) []Case {
		list := slices.DeleteFunc(cases(k, quick), func(c Case) bool {
			d, group := c[columns].(int), c["group"].(int)
			return d < ukernel.PackedColumns || d%2 > 0 || group < d && group%ukernel.PackedColumns > 0
		})
		for _, c := range list {
			d, ld := c[columns].(int), (c[stride].(int)+1)/2
			c[stride], c[rows] = ld, in(span(c["m"].(int), ld, d/2))
		}
		return list
	}
}

// anywhere gives calls rows of numbers of some bytes by offsets, the last one first, in place of a
// stride. The rows that are needed soon are no rows.
func anywhere(cases func(k *Kernel, quick bool) []Case, stride string, size int) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) []Case {
		list := slices.DeleteFunc(cases(k, quick), func(c Case) bool { return c["m"] == 0 })
		for _, c := range list {
			m, ld := c["m"].(int), c[stride].(int)
			off := make([]int, m)
			for j := range off {
				off[j] = (m - 1 - j) * ld * size
			}
			c["off"], c["next"] = offsets(off...), offsets(make([]int, m)...)
			for _, name := range []string{"m", stride, "far"} {
				delete(c, name)
			}
		}
		return list
	}
}

// orZero is fallback.orZero.
func orZero(g *expr.Graph, m *expr.Node) *expr.Node {
	return g.Select(g.FEq(m, g.Const(32, 0xff800000)), g.Const(32, 0), m)
}

// scoresBelow says that scores are at most the maximum of their lane, or NaN: it is the maximum of
// them. So is what is left of them after the maximum is subtracted at most 0: the difference of
// numbers of which the first is not larger is not positive, rounded or not; if the maximum is -Inf,
// 0 is subtracted from -Inf.
func scoresBelow(l *call, known *equal.Suppose) {
	maxima := l.buffers["max"].before
	for _, m := range maxima {
		known.Kinds[m] = equal.Maximum
	}
	ld := l.c["ld"].(int)
	for i, s := range l.buffers["s"].before {
		known.Kinds[s] = equal.Score
		if i%ld < len(maxima) {
			known.Domains[l.g.FSub(s, orZero(l.g, maxima[i%ld]))] = equal.NotPositive
		}
	}
}

// productsBelow is scoresBelow for products that are scaled.
func productsBelow(l *call, known *equal.Suppose) {
	maxima, scale := l.buffers["max"].before, l.g.Sym(32, "scale")
	for _, m := range maxima {
		known.Kinds[m] = equal.Maximum
	}
	for i, s := range l.buffers["s"].before {
		s = l.g.FMul(s, scale)
		known.Kinds[s] = equal.Score
		known.Domains[l.g.FSub(s, orZero(l.g, maxima[i%len(maxima)]))] = equal.NotPositive
	}
}

// topsBelow says that no number is above the top of its row.
func topsBelow(l *call, known *equal.Suppose) {
	ld := l.c["ld"].(int)
	for _, top := range l.buffers["top"].before {
		known.Kinds[top] = equal.Maximum
	}
	for i, s := range l.buffers["src"].before {
		known.Kinds[s] = equal.Score
		if top := l.buffers["top"].before; i%ld < l.c["d"].(int) {
			below := l.g.FSub(s, top[i/ld])
			known.Domains[below] = equal.NotPositive
			known.Domains[l.g.FMul(below, l.g.Const(32, spec.Log2E))] = equal.NotPositive
		}
	}
}

// maximaBelow says the same of two maxima and the larger one, where nothing need be supposed.
func maximaBelow(l *call, known *equal.Suppose) {
	g := l.g
	block := l.buffers["blockMax"].before
	for i, old := range l.buffers["max"].before {
		z := orZero(g, g.Select(g.FLt(old, block[i]), block[i], old))
		known.Domains[g.FSub(old, z)], known.Domains[g.FSub(block[i], z)] = equal.NotPositive, equal.NotPositive
	}
}

const magic = numeric.RoundMagic // a number and it add up to an integer in the lower bits

// codesBelow says that the numbers of a block, times the inverse of its scale, are integers up to
// 127 when they are rounded: a number is at most a, and a·(127/a) less than 127.5, as each step is
// off by 2^-24 at most. Of a block with a NaN, an infinity or numbers below 2^-100 that may not
// hold, but what comes of it is not used.
func codesBelow(l *call, known *equal.Suppose) {
	g, src := l.g, l.buffers["src"].before
	for at := 0; at < len(src); at += numeric.WeightBlock {
		block := src[at:][:numeric.WeightBlock]
		inverse := g.FDiv(g.Float(numeric.MostCode), largest(g, block))
		for _, x := range block {
			isCode(g, known, g.FMul(x, inverse))
		}
	}
}

// largest is the largest magnitude, as bits.
func largest(g *expr.Graph, list []*expr.Node) *expr.Node {
	a := g.Const(32, 0)
	for _, x := range list {
		a = g.Select(g.Ult(a, g.FAbs(x)), g.FAbs(x), a)
	}
	return a
}

// isCode says that a number is below 127.5 in magnitude, and returns its sum with magic.
func isCode(g *expr.Graph, known *equal.Suppose, x *expr.Node) *expr.Node {
	known.Domains[x] = equal.Code
	code := g.Within(g.FAdd(x, g.Const(32, magic)), magic-numeric.MostCode, magic+numeric.MostCode)
	for _, op := range []expr.Op{expr.FToS, expr.FToSat} {
		known.Rules = append(known.Rules, equal.Rule{From: g.Unary(op, 32, x), To: g.Plus(code, -magic), Of: x, In: equal.Code})
	}
	return code
}

// quotientsBelow says the same of quotients by the scale of a group, which is at least 0 and
// finite, and by 1 in its place if that is 0: then all numbers of the group are below LeastInt8.
// FMin has the rule although a group's maximum may be NaN: no kernel writes codes of such a group.
func quotientsBelow(l *call, known *equal.Suppose) {
	g, src := l.g, l.buffers["src"].before
	lds, group, n, d := l.c["lds"].(int), l.c["group"].(int), l.c["n"].(int), l.c["d"].(int)
	for at := range n * d / group {
		at = at*group/d*lds + at*group%d
		block := src[at:][:group]
		m := largest(g, block)
		m = g.Select(g.Ult(m, g.Const(32, numeric.LeastInt8)), g.Const(32, 0), m)
		most := g.Const(32, numeric.MostInt8)
		clamped := g.Select(g.Ult(most, m), most, m)
		known.Rules = append(known.Rules, equal.Rule{From: g.FMin(m, most), To: clamped, Of: m, In: equal.NoNaN})
		scale := g.Within(g.FDiv(clamped, g.Float(numeric.MostCode)), 0, numeric.MostInt8)
		zero := g.FEq(scale, g.Const(32, 0))
		known.Given[zero] = map[*expr.Node]*expr.Node{}
		for i, x := range block {
			code := isCode(g, known, g.FDiv(x, scale))
			known.Same[g.Extract(g.Plus(code, -magic), 0, 8)] = g.Extract(code, 0, 8) // as magic's is 0
			isCode(g, known, g.FDiv(x, g.Select(zero, g.Float(1), scale)))
			tiny := g.Sym(32, fmt.Sprintf("tiny[%d]", at+i))
			known.Domains[tiny], known.Given[zero][x] = equal.Tiny, tiny
		}
	}
}
