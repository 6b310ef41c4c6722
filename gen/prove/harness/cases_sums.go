package harness

import (
	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/expr"
)

// laneCounts are numbers of rows that lie in lanes.
func laneCounts(quick bool) []int {
	if quick {
		return []int{5, 19}
	}
	return []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 19, 31, 32, 33, 35, 64, 65, 211}
}

// rowsInLanes are calls with n rows of d elements, where rows lie in lanes. Kernels of x86 load
// four elements of each row at once, and then single ones. So rows are shorter than four, then
// longer, and numbers of rows below a vector have all remainders once more.
func rowsInLanes(sources ...string) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		add := func(n, d, ld int) {
			c := Case{"ld": ld, "d": d}
			for _, name := range sources {
				c[name] = in(span(n, ld, d))
			}
			c[k.Params[0].Name] = out(n)
			list = append(list, c)
		}
		all := laneCounts(quick)
		for i, n := range all {
			d := (1 + i%3) * min((i+1)%5, 1)
			add(n, d, d+i%2)
		}
		for i, n := range all {
			d := 4*(1+i/4%4) + i%4
			add(n, d, d+i%2)
		}
		for i, n := range all {
			if d := 12 + (i+2)%4; n < 8 && !quick {
				add(n, d, d+i%2)
			}
		}
		return list
	}
}

func dotsWith(k *Kernel, quick bool) []Case {
	list := rowsInLanes("x")(k, quick)
	for _, c := range list {
		c["y"] = in(c["d"].(int))
	}
	return list
}

// matrices are calls with n rows of d elements, where elements lie in lanes.
func matrices(quick bool, add func(n, d, ld int) Case) (list []Case) {
	for i, d := range laneCounts(quick) {
		n := 1 + (i+3)%4
		if i%5 == 4 {
			n = 0
		}
		list = append(list, add(n, d, d+i%2))
	}
	return list
}

func addScaled(k *Kernel, quick bool) []Case {
	return matrices(quick, func(n, d, ld int) Case {
		return Case{"sums": out(d), "x": in(span(n, ld, d)), "ldx": ld, "weights": in(span(n, 2, 1)), "ldw": 2, "n": n}
	})
}

func powers(k *Kernel, quick bool) []Case {
	return matrices(quick, func(n, d, ld int) Case {
		return Case{"dst": out(span(n, ld, d)), "src": in(span(n, ld, d)), "ld": ld, "n": n, "d": d, "top": in(n)}
	})
}

// quotients are those by numbers from 1 to 2, whose inverses are given.
func quotients(k *Kernel, quick bool) []Case {
	sum := func(g *expr.Graph, i int) *expr.Node {
		return g.Concat(g.Extract(g.Sym(64, "sums["+string(rune('0'+i))+"]"), 0, 52), g.Const(12, 0x3ff))
	}
	return matrices(quick, func(n, d, ld int) Case {
		return Case{"x": out(span(n, ld, d)), "ld": ld, "n": n, "d": d, "sums": Buffer{Len: n, Make: sum},
			"inverses": Buffer{Len: n, Make: func(g *expr.Graph, i int) *expr.Node { return g.Div64(g.Const(64, 0x3ff0000000000000), sum(g, i)) }}}
	})
}

// quotientsArgued says which steps make a quotient. gen/lane has the argument, and TestQuotients
// there tries all numbers for which it might not hold.
func quotientsArgued(l *call, known *equal.Suppose) {
	g := l.g
	ld, d := l.c["ld"].(int), l.c["d"].(int)
	for i, x := range l.buffers["x"].before {
		known.Kinds[x] = equal.Weight
		if i%ld >= d {
			continue
		}
		p, sum, inverse := g.Unary(expr.Widen, 64, x), l.buffers["sums"].before[i/ld], l.buffers["inverses"].before[i/ld]
		q := g.Mul64(p, inverse)
		want := g.Unary(expr.Narrow64, 32, g.Div64(p, sum))
		for _, rest := range []*expr.Node{g.Fma64(g.FNeg(q), sum, p), g.Fma64(q, g.FNeg(sum), p)} {
			known.Same[g.Unary(expr.Narrow64, 32, g.Fma64(rest, inverse, q))] = want
		}
	}
}

func softmaxGradients(k *Kernel, quick bool) []Case {
	return matrices(quick, func(n, d, ld int) Case {
		return Case{"dx": out(span(n, ld, d)), "dy": in(span(n, ld, d)), "y": in(span(n, ld, d)), "ld": ld, "n": n, "d": d, "sums": in(n)}
	})
}

// chained calls f for n steps of chains: of rows of 8, or of fewer of one row. d is what a row has.
func chained(quick bool, f func(chains, rows, n, d int) Case) (list []Case) {
	for i, chains := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 40} {
		for n := range 4 {
			if quick && (i+n)%3 != 0 && chains != 24 {
				continue
			}
			rows, d := max(1, chains/8), 0
			if n > 0 {
				d = (n-1)*8 + min(chains, 8)
			}
			list = append(list, f(chains, rows, n, d))
		}
	}
	return list
}

func chainSquares(k *Kernel, quick bool) []Case {
	return chained(quick, func(chains, rows, n, d int) Case {
		return Case{
			"sums": out(chains), "dst": out(span(rows, d+1, d)), "ldd": d + 1, "src": in(span(rows, d+2, d)), "lds": d + 2, "n": n,
			"centers": in(rows), "rests": in(rows),
		}
	})
}

func normTerms(k *Kernel, quick bool) []Case {
	return chained(quick, func(chains, rows, n, d int) Case {
		return Case{
			"sums": out(chains), "dots": out(chains), "y": in(span(rows, d+1, d)), "ldy": d + 1, "dy": in(span(rows, d+2, d)), "ldd": d + 2,
			"weight": in(d), "n": n, "invs": in(rows),
		}
	})
}

func scale(k *Kernel, quick bool) (list []Case) {
	for _, n := range laneCounts(quick) {
		list = append(list, Case{"dst": out(n), "src": in(n), "first": Unknown{}, "second": Unknown{}})
	}
	return list
}

func fromResult(k *Kernel, quick bool) (list []Case) {
	for _, n := range laneCounts(quick) {
		list = append(list, Case{"dx": out(n), "dy": in(n), "y": in(n)})
	}
	return list
}

func rotatePairs(k *Kernel, quick bool) []Case {
	return matrices(quick, func(n, d, ld int) Case {
		ld += d
		return Case{"x": out(span(n, ld, 2*d)), "ld": ld, "n": n, "cos": in(2 * d), "sin": in(2 * d)}
	})
}

func normGradients(k *Kernel, quick bool) []Case {
	return matrices(quick, func(n, d, ld int) Case {
		n = max(n, 1)
		return Case{
			"dx": out(span(n, ld+2, d)), "ldx": ld + 2, "dy": in(span(n, ld, d)), "ldd": ld, "y": in(span(n, ld+1, d)), "ldy": ld + 1, "n": n,
			"weight": in(d), "dWeight": out(d), "dBias": out(d), "centers": in(n), "slopes": in(n), "invs": in(n),
		}
	})
}
