package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/spec"
)

// lengths returns lengths of slices, with all remainders of three times the longest step.
func lengths(quick bool) []int {
	if quick {
		return []int{37}
	}
	list := []int{}
	for n := range 36 {
		list = append(list, n)
	}
	return append(list, 47, 48, 49, 63, 64, 65, 79, 95, 96, 97, 127, 128, 129, 145, 433)
}

// overSlices are calls of dst = f(sources).
func overSlices(sources ...string) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		for i, n := range lengths(quick) {
			c := Case{"dst": out(n)}
			for _, s := range sources {
				c[s] = in(n)
			}
			if i%3 == 2 { // in place
				c[sources[0]] = Buffer{Len: n, Same: "dst"}
			}
			list = append(list, c)
		}
		return list
	}
}

// shapes are numbers of rows and columns, with gaps between rows.
func shapes(quick bool, step int, add func(i, n, d, gap int) Case) (list []Case) {
	for i, d := range lengths(quick) {
		d = d / step * step
		if i > 0 && step > 1 && d == 0 {
			continue
		}
		list = append(list, add(i, 1+i%4, d, i%3*step))
	}
	return append(list, add(0, 0, step, 0))
}

var elementBytes = map[string]int{"Float16": 2, "BFloat16": 2, "Float8E4M3": 1, "Float8E5M2": 1}

func widen(k *Kernel, quick bool) []Case {
	size := elementBytes[k.Index]
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		ldd, lds := d+gap, size*(d+i%2)
		return Case{"dst": out(span(n, ldd, d)), "ldd": ldd, "src": in(span(n, lds, size*d)), "lds": lds, "n": n, "d": d}
	})
}

func halves(k *Kernel, quick bool) (list []Case) {
	for i, d := range []int{64, 65, 95, 96, 97, 127, 128, 129, 160} {
		if n := 1 + i%3; !quick || d == 97 {
			list = append(list, Case{"dst": out(span(n, d+i%3, d)), "ldd": d + i%3, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "n": n, "d": d})
		}
	}
	return list
}

func narrow(k *Kernel, quick bool) []Case {
	size := elementBytes[k.Index]
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		ldd, lds := size*(d+i%2), d+gap
		return Case{"dst": out(span(n, ldd, size*d)), "ldd": ldd, "src": in(span(n, lds, d)), "lds": lds, "n": n, "d": d}
	})
}

// groupOf returns how many elements of a row of d share a scale.
func groupOf(i, d, step int) int {
	if g := step * (1 + i%5); i%2 == 0 && g <= d {
		return g
	}
	return max(d, 1)
}

func widenInt8(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		group := groupOf(i, d, 7)
		scales := (d + group - 1) / group
		return Case{"dst": out(span(n, d+gap, d)), "ldd": d + gap, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "scales": in(span(n, scales+1, scales)), "lsc": scales + 1,
			"group": group, "n": n, "d": d}
	})
}

func widenInt4(k *Kernel, quick bool) []Case {
	return shapes(quick, 2, func(i, n, d, gap int) Case {
		group := groupOf(i, d, 8)
		scales := (d + group - 1) / group
		return Case{"dst": out(span(n, d+gap, d)), "ldd": d + gap, "src": in(span(n, d/2+i%2, d/2)), "lds": d/2 + i%2, "scales": in(span(n, scales+1, scales)), "lsc": scales + 1,
			"group": group, "n": n, "d": d}
	})
}

// unpackInt4 returns calls with rows of less than a vector and, at most, of several.
func unpackInt4(k *Kernel, quick bool) (list []Case) {
	for _, more := range []int{0, 64} {
		list = append(list, shapes(quick, 2, func(i, n, d, gap int) Case {
			d += more
			return Case{"dst": out(span(n, d+gap, d)), "ldd": d + gap, "src": in(span(n, d/2+i%2, d/2)), "lds": d/2 + i%2, "n": n, "d": d}
		})...)
	}
	return list
}

func quantizeShapes(quick bool, step int, add func(i, n, groups, group int) Case) (list []Case) {
	for i, group := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 64} {
		group *= step
		if quick && group != 17*step || group > 64 {
			continue
		}
		rows, groups := [...]int{1, 3, 1}[i%3], [...]int{1, 1, 3}[i%3]
		list = append(list, add(i, rows, groups, group))
	}
	return list
}

func quantizeInt8(k *Kernel, quick bool) []Case {
	return quantizeShapes(quick, 1, func(i, n, groups, group int) Case {
		d, lsc := groups*group, groups+i%2
		return Case{"dst": out(span(n, d+i%3, d)), "ldd": d + i%3, "scales": out(span(n, lsc, groups)), "lsc": lsc, "src": in(span(n, d+i%2, d)), "lds": d + i%2,
			"group": group, "n": n, "d": d}
	})
}

func quantizeInt4(k *Kernel, quick bool) []Case {
	return quantizeShapes(quick, 2, func(i, n, groups, group int) Case {
		d, lsc := groups*group, groups+i%2
		return Case{"dst": out(span(n, d/2+i%3, d/2)), "ldd": d/2 + i%3, "scales": out(span(n, lsc, groups)), "lsc": lsc, "src": in(span(n, d+i%2, d)), "lds": d + i%2,
			"group": group, "n": n, "d": d}
	})
}

func pairColumns(k *Kernel, quick bool) (list []Case) {
	for i := range 6 {
		n, d := 1+i%4, 16*(1+i)
		list = append(list, Case{"dst": out(n * d / 2), "src": in(span(n, d+i%3, d)), "lds": d + i%3, "n": n, "d": d})
	}
	return list
}

func widenPairs(k *Kernel, quick bool) (list []Case) {
	for i, d := range lengths(quick) {
		n, ldd, lds := 1+i%3, d+i%4, d+i%2
		list = append(list, Case{"even": out(span(n, ldd, d)), "odd": out(span(n, ldd, d)), "ldd": ldd, "src": in(span(n, lds, d)), "lds": lds, "n": n, "d": d})
	}
	return list
}

func narrowPairs(k *Kernel, quick bool) (list []Case) {
	for i, d := range lengths(quick) {
		n, ldd, lds := 1+i%3, d+i%4, d+i%2
		list = append(list, Case{"dst": out(span(n, ldd, d)), "ldd": ldd, "even": in(span(n, lds, d)), "odd": in(span(n, lds, d)), "lds": lds, "n": n, "d": d})
	}
	return list
}

func pairRows(k *Kernel, quick bool) (list []Case) {
	for i := range 8 {
		n, d := 1+i, 16*(1+i%5)
		list = append(list, Case{"dst": out((n + 1) / 2 * d), "src": in(span(n, d+i%3, d)), "lds": d + i%3, "n": n, "d": d})
	}
	return list
}

func flush(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		return Case{"dst": out(span(n, d+gap, d)), "ldd": d + gap, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "n": n, "d": d, "least": Unknown{Positive: true}}
	})
}

func gather(k *Kernel, quick bool) (list []Case) {
	for i, size := range append(lengths(quick), 192, 200) {
		if size == 0 {
			continue
		}
		off, at := []int{}, 0
		for r := range i % 4 {
			off = append(off, at)
			at += size + r%2
		}
		slices.Reverse(off)
		list = append(list, Case{"dst": out(len(off) * size), "src": in(at), "off": offsets(off...), "size": size, "next": offsets(off...)})
	}
	return list
}

func finite(k *Kernel, quick bool) (list []Case) {
	for _, n := range lengths(quick) {
		list = append(list, Case{"src": in(n)})
	}
	return list
}

func addRows(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		n = max(n, 1)
		return Case{"dst": out(d), "src": in(span(n, d+gap, d)), "lds": d + gap, "n": n}
	})
}

func hadamard(k *Kernel, quick bool) (list []Case) {
	for i, n := range []int{16, 32, 64, 128, 256} {
		if quick && n != 64 {
			continue
		}
		blocks := []int{2, 4, 2, 1, 2}[i]
		list = append(list, Case{"x": out(n * blocks), "n": n, "scale": Unknown{}})
	}
	return list
}

func adamW(k *Kernel, quick bool) (list []Case) {
	for _, n := range lengths(quick) {
		c := Case{"w": out(n), "g": in(n), "m": out(n), "v": out(n)}
		for _, name := range []string{"keep", "gain1", "beta2", "gain2", "root", "epsilon", "rate"} {
			c[name] = Unknown{}
		}
		list = append(list, c)
	}
	return list
}

func additiveBackward(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		return Case{"dk": out(span(n, d+gap, d)), "ldd": d + gap, "q": in(d), "k": in(span(n, d+i%2, d)), "ldk": d + i%2, "n": n, "x": in(n), "dq": out(d), "dw": out(d)}
	})
}

func addWeighted(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		return Case{"dst": out(span(n, d+gap, d)), "ldd": d + gap, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "n": n, "weights": in(d)}
	})
}

func rotate(k *Kernel, quick bool) []Case {
	return shapes(quick, 1, func(i, n, d, gap int) Case {
		return Case{"first": out(span(n, d+gap, d)), "second": out(span(n, d+gap, d)), "ld": d + gap, "n": n, "cos": in(d), "sin": in(d)}
	})
}

func norm(withBias bool) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		for i, d := range lengths(quick) {
			if d == 0 {
				continue
			}
			n := 1 + i%2*3
			c := Case{"dst": out(span(n, d+i%3, d)), "ldd": d + i%3, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "n": n, "weight": in(d), "size": Unknown{}, "eps": Unknown{}}
			if withBias {
				c["bias"] = in(d)
			}
			list = append(list, c)
		}
		return list
	}
}

func means(k *Kernel, quick bool) (list []Case) {
	for i, d := range lengths(quick) {
		if n := i % 4; d > 0 {
			list = append(list, Case{"means": out(n), "x": in(span(n, d+i%2, d)), "ld": d + i%2, "n": n, "d": d, "centers": in(n), "size": Unknown{}})
		}
	}
	return list
}

func activationGradients(k *Kernel, quick bool) (list []Case) {
	for _, n := range lengths(quick) {
		list = append(list, Case{"f": out(n), "dx": out(n), "dy": in(n), "x": in(n)})
	}
	return list
}

func gru(k *Kernel, quick bool) (list []Case) {
	for _, n := range lengths(quick) {
		list = append(list, Case{"state": out(n), "gates": out(3 * n), "in": in(3 * n), "hidden": in(3 * n)})
	}
	return list
}

func gruBackward(k *Kernel, quick bool) (list []Case) {
	for _, n := range lengths(quick) {
		list = append(list, Case{"d": out(n), "dIn": out(3 * n), "dHidden": out(3 * n), "gates": in(3 * n), "hidden": in(3 * n), "before": in(n)})
	}
	return list
}

const panelLanes = 48 // ukernel.PanelLanes

func weightGemm(k *Kernel, quick bool) (list []Case) {
	steps := []int{0, 1, 2, 3, 5, 8, 127, 128, 129, 130, 257}
	if quick {
		steps = []int{130}
	}
	return panelGemm(steps, 1, quick)
}

func weightPairs(k *Kernel, quick bool) (list []Case) {
	steps := []int{0, 2, 4, 6, 8, 30, 32, 34, 64, 66, 96}
	if quick {
		steps = []int{66}
	}
	return panelGemm(steps, 2, quick)
}

// panelGemm are products with a panel of which a row is for so many steps. From 48 rows on AVX2
// prefetches the rows after a tile's.
func panelGemm(steps []int, perRow int, quick bool) (list []Case) {
	for j, n := range steps {
		for m := range 50 {
			if quick && m != 3 || m > 18 && (m != 37 && m != 49 || n > 3) || !quick && n > 8 && m != j-4 && (j != 8 || m != 1 && m != 8 && m != 1+j) {
				continue
			}
			i := len(list)
			lay := layouts[i%len(layouts)]
			rs, cs := lay.rs(m, n), lay.cs(m, n)
			ldb, ldc, a := panelLanes+i%2, panelLanes+i%3, 0
			if m > 0 && n > 0 {
				a = (m-1)*rs + (n-1)*cs + 1
			}
			list = append(list, Case{"c": out(span(m, ldc, panelLanes)), "ldc": ldc, "a": in(a), "rs": rs, "cs": cs, "b": in(span(n/perRow, ldb, panelLanes)), "ldb": ldb,
				"m": m, "k": n, "load": i%2 == 1, "next": Buffer{Len: 1000 * (i % 2), Absent: true}})
		}
	}
	return list
}

func addBias(k *Kernel, quick bool) (list []Case) {
	for i := range 8 {
		w := 16 * (1 + i%4)
		ldd, ldc := w+i%3, w+i%2
		list = append(list, Case{"dst": out(span(i, ldd, w)), "ldd": ldd, "c": in(span(i, ldc, w)), "ldc": ldc, "m": i, "bias": in(w)})
	}
	return list
}

func weightPack(k *Kernel, quick bool) (list []Case) {
	for i, d := range []int{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 23, 24, 31, 32, 33, 40} {
		for n := 0; n <= panelLanes; n += 16 {
			if quick && (n != 32 || d != 19) {
				continue
			}
			ld, lds := n+i%3, d+i%2
			list = append(list, Case{"dst": out(span(d, ld, n)), "ld": ld, "src": in(span(n, lds, d)), "lds": lds, "n": n, "d": d})
		}
	}
	return list
}

func quantizeRow(k *Kernel, quick bool) (list []Case) {
	for blocks := range 4 {
		list = append(list, Case{"dst": out(12 * blocks), "src": in(32 * blocks)})
	}
	return list
}

// A blockSize has the bytes of a lane: of a head for some steps, and of each block of 32 weights
// after it.
type blockSize struct{ steps, head, block int }

var blockSizes = map[string]blockSize{
	"S8": {32, 2, 32}, "S4": {32, 2, 16}, "U4": {32, 4, 16}, "U4x16": {32, 4, 20}, "U5x16": {32, 4, 24}, "E2M1": {32, 2, 16}, "IQ4": {32, 2, 16},
	"U4x32": {128, 4, 18}, "U5x32": {128, 4, 22}, "S6x16": {128, 2, 26}, "S5x16F32": {32, 0, 28}, "S8x16F32": {32, 0, 40},
}

// bytes is the size of some steps, in whole heads, of a lane.
func (s blockSize) bytes(steps int) int { return steps/s.steps*s.head + steps/32*s.block }

// whole rounds steps up.
func (s blockSize) whole(steps int) int { return (steps + s.steps - 1) / s.steps * s.steps }

func blockGemm(k *Kernel, quick bool) []Case {
	return gemmOf(quick, blockSizes[k.Index].steps, func(n int) Buffer { return panelOf(k, panelLanes, n) })
}

// gemmOf has a whole panel of n steps as B, in whole heads.
func gemmOf(quick bool, head int, panel func(n int) Buffer) (list []Case) {
	for j, n := range []int{32, 64, 128, 160} {
		for _, m := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 25} {
			if quick && (m != 3 || n != 64) || !quick && n > 32 && m != 1+j && m != 3*j && (m != 2 || n != 160) {
				continue
			}
			i, n := len(list), (n+head-1)/head*head
			lay := layouts[i%len(layouts)]
			rs, cs := lay.rs(m, n), lay.cs(m, n)
			ldc, a := panelLanes+i%3, 0
			if m > 0 {
				a = (m-1)*rs + (n-1)*cs + 1
			}
			list = append(list, Case{"c": out(span(m, ldc, panelLanes)), "ldc": ldc, "a": in(a), "rs": rs, "cs": cs, "b": panel(n),
				"m": m, "k": n, "load": i%2 == 1})
		}
	}
	return list
}

// panelOf is a panel of so many lanes with n steps. Scales of float32 are from 2^-100 to 2^100, and
// no number of E2M1 is -0.
func panelOf(k *Kernel, lanes, n int) Buffer {
	size := lanes * blockSizes[k.Index].bytes(32)
	b := in(lanes * blockSizes[k.Index].bytes(n))
	if k.Index == "E2M1" {
		b.Make = func(g *expr.Graph, i int) *expr.Node {
			x := g.Sym(8, fmt.Sprintf("b[%d]", i))
			if i%size < 2*lanes {
				return x
			}
			half := func(at int) *expr.Node {
				low, sign := g.Extract(x, at, 3), g.Extract(x, at+3, 1)
				return g.Concat(low, g.And(sign, g.Not(g.Eq(low, g.Const(3, 0)))))
			}
			return g.Concat(half(0), half(4))
		}
	}
	if strings.HasSuffix(k.Index, "F32") {
		b.Make = func(g *expr.Graph, i int) *expr.Node {
			if at := i % size; at < 8*lanes {
				return g.Extract(g.SymBetween(fmt.Sprintf("d%d.%d", i/size, at/4), -100, 100), 8*(i%4), 8)
			}
			return g.Sym(8, fmt.Sprintf("b[%d]", i))
		}
	}
	return b
}

// joins tells whether products of so many rows go another way where groups have equal integers.
// Formats without minima have one way.
func joins(k *Kernel) bool {
	return k.ISA == "avx512" && strings.HasPrefix(k.Index, "U") && strings.Contains(k.Index, "x16")
}

const joinedRows = 12

// joined makes panels whose groups have equal integers, but for 0 and 1 in one lane of 16 if the
// last block differs.
func joined(k *Kernel, lanes, n int, differs bool) Buffer {
	b, size := panelOf(k, lanes, n), lanes*blockSizes[k.Index].bytes(32)
	b.Make = func(g *expr.Graph, i int) *expr.Node {
		if at := i % size; at >= 4*lanes && at < 8*lanes {
			if !differs || i/size != n/32-1 {
				i &^= 1
			} else if lane := at / 2 % lanes; lane%16 == 0 {
				return g.Const(8, uint64(at%2))
			}
		}
		return g.Sym(8, fmt.Sprintf("b[%d]", i))
	}
	return b
}

func blockUnpack(k *Kernel, quick bool) []Case {
	list := blockWiden(k, quick)
	for _, c := range list {
		c["dst"] = out(unpackedRows * c["lanes"].(int) * c["k"].(int) / 32)
	}
	return list
}

const unpackedRows = 12 // ukernel.UnpackedRows

func gemmUnpacked(k *Kernel, quick bool) []Case {
	list := gemmOf(quick, 32, func(n int) Buffer {
		return Buffer{Len: unpackedRows * panelLanes * n / 32, Make: func(g *expr.Graph, i int) *expr.Node {
			name := fmt.Sprintf("b[%d]", i)
			switch row := i / panelLanes % unpackedRows; {
			case row == 0:
				return g.SymBetween(name, -100, 100)
			case row == 2:
				return g.SymBetween(name, -116, 84)
			case row < 4:
				return g.Sym(32, name)
			}
			var bytes [4]*expr.Node // of 6 bits at most
			for j := range bytes {
				bytes[j] = g.Zext(g.Sym(6, fmt.Sprintf("%s.%d", name, j)), 8)
			}
			return g.Concat(bytes[:]...)
		}}
	})
	for _, c := range list {
		c["next"] = Buffer{Len: 1000, Absent: true}
	}
	return list
}

// quantizedRows makes rows of Weights.Quantize: bytes that are not -128, the scale, its product
// with their sum, and the sums of all and of both groups with their signs changed.
func quantizedRows(g *expr.Graph, i int) *expr.Node {
	const words = 12
	at, block := i%words, i/words
	code := func(w, b int) *expr.Node { return g.SymWithin(8, fmt.Sprintf("x%d.%d.%d", block, w, b), -127, 127) }
	d := g.Sym(32, fmt.Sprintf("x%d.d", block))
	if at == 8 {
		return d
	}
	if at < 8 {
		return g.Concat(code(at, 0), code(at, 1), code(at, 2), code(at, 3))
	}
	var groups [2][]*expr.Node
	for w := range 8 {
		for b := range 4 {
			groups[b/2] = append(groups[b/2], g.Sext(code(w, b), 32))
		}
	}
	sum := g.Add(append(groups[0], groups[1]...)...)
	switch at {
	case 9:
		return g.FMul(d, g.Unary(expr.SToF, 32, sum))
	case 10:
		return g.Neg(sum)
	}
	minus := func(group int) *expr.Node { return g.Extract(g.Neg(g.Add(groups[group]...)), 0, 16) }
	return g.Concat(minus(0), minus(1))
}

// segmentRows are numbers of rows, of each tile, that have three segments.
var segmentRows = []int{1, 2, 3, 5}

func blockGemmInt8(k *Kernel, quick bool) (list []Case) {
	if strings.Contains(k.Function, "Tiles") {
		return tilesInt8(k, quick)
	}
	whole := blockSizes[k.Index].whole
	for j, n := range []int{32, 64, 96} {
		if j > 0 && whole(n) == whole(32) {
			break
		}
		for _, lanes := range []int{16, 32, 48} {
			for m := range 10 {
				few, many := m == 2 && n == 64 && lanes == 48, m == 6 && n == 32 && lanes == 48
				// A group of 16 lanes has all rows; those beside it have some of each tile.
				row := m == 1 || m == 4 && lanes == 32 || n == 32 && (m+lanes/16)%4 == 1 || n > 32 && m == 1+j
				if quick && !few && !many || !quick && !row && (lanes > 16 || n > 32 && m != 4) {
					continue
				}
				if !quick && lanes == 16 && whole(1) > 32 && slices.Contains(segmentRows, m) {
					continue
				}
				list = append(list, int8Case(k, len(list), whole(n), lanes, m))
			}
		}
	}
	if k.ISA == "avx512" {
		// So many rows of whole panels go another way, five blocks at once are two groups of it.
		blocks := 5
		if quick {
			blocks = 1
		}
		list = append(list, int8Case(k, len(list), whole(32*blocks), panelLanes, 14))
		if k.Index == "S6x16" && !quick { // others with its order of words share a function
			list = append(list, int8Case(k, len(list), whole(1), 32, 2))
		}
	}
	if !quick {
		// Blocks with scales of their own make three trips above; segments make them here.
		list = append(list, int8Case(k, len(list), whole(32), 16, 25))
		if whole(1) == 32 {
			list = append(list, int8Case(k, len(list), 64, panelLanes, 6))
		} else {
			for _, m := range segmentRows {
				list = append(list, int8Case(k, len(list), 3*whole(1), 16, m))
			}
		}
		if k.ISA == "neon" && k.Index == "S8" || k.ISA != "avx2" && k.Index == "IQ4" { // for all formats without integers: tiles of 8 rows
			list = append(list, int8Case(k, len(list), 64, 16, 8))
		}
		if k.ISA == "avx2" && (k.Index == "S8" || k.Index == "IQ4") { // whose whole panels become words: a block at a time, or from 48 rows on four
			list = append(list, int8Case(k, len(list), 64, panelLanes, 8), repeating(int8Case(k, len(list)+1, 160, panelLanes, 48), 7))
		}
		if k.ISA == "avx512" || k.ISA == "avx2" && strings.Contains(k.Function, "Dot") || whole(1) == 32 { // whose lanes go different ways with many rows
			m := 7
			if joins(k) { // an odd number, with groups that differ
				m = joinedRows + 1
			}
			list = append(list, int8Case(k, len(list)+1, max(64, 3*whole(1)), panelLanes, m))
		}
	}
	return list
}

// int8Case is call i of a product of quantized rows.
func int8Case(k *Kernel, i, n, lanes, m int) Case {
	ldc, ldx, b := lanes+i%3, 12*n/32+i%2*12, panelOf(k, lanes, n)
	if joins(k) && m >= joinedRows && m < spec.LeastTileRows && lanes == panelLanes {
		b = joined(k, lanes, n, m%2 == 1)
	}
	return Case{"c": out(span(m, ldc, lanes)), "ldc": ldc, "x": Buffer{Len: span(m, ldx, 12*n/32), Make: quantizedRows}, "ldx": ldx,
		"b": b, "lanes": lanes, "m": m, "k": n, "load": i%2 == 1}
}

// repeating gives a product so many different rows, over and over.
func repeating(c Case, rows int) Case {
	x, ldx := c["x"].(Buffer), c["ldx"].(int)
	x.Make = func(g *expr.Graph, i int) *expr.Node { return quantizedRows(g, i%(rows*ldx)) }
	c["x"] = x
	return c
}

// tilesInt8 has all parts of products by tiles: calls with too few rows for each loop that these
// have, whole tiles, lower ones, sums that go around their ring, and more blocks than fit on the
// stack.
func tilesInt8(k *Kernel, quick bool) (list []Case) {
	more := 25
	if strings.Contains(k.Index, "x16") { // blocks of twice the size there
		more = 13
	}
	done := map[[3]int]bool{}
	for i, x := range [][3]int{ // blocks, lanes and rows
		{5, 16, 18}, {1, 32, 17}, // and if not quick
		{1, 16, 0}, {2, 32, 1}, {3, 48, 1}, {3, 48, 7}, {1, 32, 15}, {2, 48, 16}, {3, 16, 17}, {1, 48, 31}, {2, 16, 32}, {1, 32, 35}, {1, 16, 49},
		{5, 16, 1}, {6, 16, 16}, {7, 16, 17}, {8, 16, 7}, {more, 16, 17},
		{1, 16, 2}, {1, 48, 2}, {1, 48, 3}, {1, 48, 4}, {1, 48, 8}, {1, 16, 16},
	} {
		x[0] = blockSizes[k.Index].whole(32 * x[0])
		if quick && i > 1 || done[x] {
			continue
		}
		done[x] = true
		list = append(list, int8Case(k, len(list), x[0], x[1], x[2]))
	}
	return list
}

// tileGemm lists products whose factors in B are sums of some numbers.
func tileGemm(numbers int) func(k *Kernel, quick bool) []Case {
	return func(k *Kernel, quick bool) (list []Case) {
		add := func(m, n, lanes int) {
			i := len(list)
			lda, ldc := n+i%3, lanes+i%2
			c := Case{"c": out(span(m, ldc, lanes)), "ldc": ldc, "a": in(span(m, lda, n)), "lda": lda, "b": in(lanes * n / 2 * numbers), "lanes": lanes,
				"m": m, "k": n, "load": i%2 == 0}
			if numbers == 1 {
				c["next"] = Buffer{Len: 1000 * (i % 3), Absent: true}
			}
			list = append(list, c)
		}
		add(33, 64, 48)
		if quick {
			return list
		}
		for i, m := range []int{0, 1, 15, 16, 17, 31, 32, 48, 49, 65} {
			for lanes := 16; lanes <= 48; lanes += 16 {
				if m <= 17 || lanes/16%3 == i%3 {
					add(m, 32*(1+i%3), lanes)
				}
			}
			if m <= 17 {
				add(m, 32, 64+16*(i%3))
			}
		}
		add(17, 32*16, 16)
		add(33, 32*9, 48+32) // stores within steps
		add(33, 32*9, 48+16)
		add(32, 32, 32)
		add(32, 32, 16)
		for range 2 { // from C and from zeros, after a tile with other numbers
			add(48, 32, 32)
			add(64, 32, 32)
			add(48, 32, 16)
		}
		return list
	}
}

// betweenTiles lists calls on rows of so many lanes without gaps.
func betweenTiles(quick bool, add func(n, w int) Case) (list []Case) {
	for _, w := range []int{16, 32, 48} {
		for _, n := range counts(quick) {
			if !quick && w < 48 || w == 32 {
				list = append(list, add(n, w))
			}
		}
	}
	return list
}

func maxima(k *Kernel, quick bool) []Case {
	return betweenTiles(quick, func(n, w int) Case {
		return Case{"s": in(n * w), "n": n, "scale": Unknown{}, "max": out(w)}
	})
}

func softmaxPairs(k *Kernel, quick bool) []Case {
	return betweenTiles(quick, func(n, w int) Case {
		return Case{"s": out(n * w), "n": n, "scale": Unknown{}, "max": in(w), "sum": out(w)}
	})
}

func factors(k *Kernel, quick bool) (list []Case) {
	for i, d := range []int{0, 1, 7, 31, 32, 33, 40, 63, 64, 65, 96, 12, 0, 3} {
		if n := i % 4; !quick || d == 65 {
			list = append(list, Case{"dst": out(span(n, d+i%3, d)), "ldd": d + i%3, "src": in(span(n, d+i%2, d)), "lds": d + i%2, "n": n, "d": d})
		}
	}
	return list
}

func roundHalves(k *Kernel, quick bool) (list []Case) {
	for _, c := range pairs(k, quick) {
		if w := c["unit"].(Buffer).Len; w%16 == 0 {
			c["first"], c["other"] = c["pairs"], c["pairs"]
			delete(c, "pairs")
			list = append(list, c)
		}
	}
	return list
}

func scoreHalves(k *Kernel, quick bool) (list []Case) {
	add := func(m, n, lanes int) {
		i := len(list)
		lda, lsc := n+i%3, 1+i%3
		list = append(list, Case{"s": out(m * lanes), "a": in(span(m, lda, n)), "lda": lda, "first": in(lanes * n / 2), "other": in(lanes * n / 2),
			"scales": in(span(m, lsc, 1)), "lsc": lsc, "m": m, "k": n, "load": i%2 == 0, "max": out(lanes)})
	}
	add(49, 64, 32)
	if quick {
		return list
	}
	for i, m := range []int{1, 2, 15, 16, 17, 32, 35, 48, 80} {
		for j := range 4 {
			if m <= 17 || j < 2 {
				add(m, 32<<(j%2), 16*(1+(i+j)%3))
			}
		}
	}
	add(16*20, 64, 16) // each place of the ring in three turns
	add(16*20, 32, 16)
	return list
}

func tileProbe(k *Kernel, quick bool) []Case {
	const words = 16 * 16
	return []Case{{"c": out(words), "a": in(words), "b": in(words)}}
}

func blockWiden(k *Kernel, quick bool) (list []Case) {
	for _, lanes := range []int{16, 32, 48} {
		for blocks := range 4 {
			n := blocks * blockSizes[k.Index].steps
			if quick && (blocks != 2 || lanes != 48) {
				continue
			}
			list = append(list, Case{"dst": out(lanes * n), "b": panelOf(k, lanes, n), "lanes": lanes, "k": n})
		}
	}
	return list
}
