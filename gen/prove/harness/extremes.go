package harness

import (
	"fmt"
	"maps"

	numeric "github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/expr"
)

// Extremes are what kernels of QuantizeInt4 find of a group of numbers, by comparisons alone.
type extremes struct {
	finite, finite0 *expr.Node // whether all numbers are, by largest and by far0
	far             *expr.Node // the number that is farthest from 0, the positive one if there are two
	far0            *expr.Node // the same of the numbers and +0
	largest         *expr.Node // the largest magnitude
	high            *expr.Node // the largest of the numbers and +0, as integers
}

func extremesOf(g *expr.Graph, group []*expr.Node) extremes {
	zero, inf := g.Const(32, 0), g.Const(32, 0x7f800000)
	high, low, top := group[0], group[0], zero
	for _, x := range group {
		high, low, top = g.FMax(high, x), g.FMin(low, x), g.SMax(top, x)
	}
	e := extremes{far: farthest(g, high, low, g.FNeg(low)), largest: largest(g, group), high: top}
	high, low = g.FMax(high, zero), g.FMin(low, zero)
	e.far0 = farthest(g, high, low, g.FSub(zero, low))
	e.finite, e.finite0 = g.Lt(e.largest, inf), g.Lt(g.FAbs(e.far0), inf)
	return e
}

func farthest(g *expr.Graph, high, low, minusLow *expr.Node) *expr.Node {
	return g.Select(g.FLt(high, minusLow), low, high)
}

// small tells whether the scale of the largest magnitude is 0.
func small(g *expr.Graph, largest *expr.Node) *expr.Node {
	return g.Lt(largest, g.Const(32, numeric.LeastInt4))
}

func smallTo0(g *expr.Graph, isSmall, x *expr.Node) *expr.Node {
	return g.Select(isSmall, g.Const(32, 0), x)
}

// given says what extremes of finite numbers are, in terms of the number that is farthest from 0.
// A bit may be any where the largest magnitude is small.
func (e extremes) given(g *expr.Graph, far, any *expr.Node) map[*expr.Node]*expr.Node {
	none := g.FEq(far, g.Const(32, 0))
	positive := g.Or(none, g.Not(g.Extract(far, 31, 1)))
	isSmall := small(g, g.FAbs(far))
	return map[*expr.Node]*expr.Node{
		e.far:                   far,
		e.far0:                  g.Select(none, g.Const(32, 0), far),
		e.largest:               g.FAbs(far),
		g.Eq(e.high, e.largest): positive,
		g.Eq(g.Sext(e.high, 64), g.Sext(e.largest, 64)):           positive,
		g.Eq(e.high, smallTo0(g, small(g, e.largest), e.largest)): g.Select(isSmall, any, positive),
		e.finite0: g.Bool(true),
	}
}

// scales are what kernels make of the extremes.
func (e extremes) scales(g *expr.Graph) []*expr.Node {
	zero := g.Const(32, 0)
	largest := smallTo0(g, small(g, e.largest), e.largest)
	eighth := g.FMul(largest, g.Float(0.125))
	return []*expr.Node{
		smallTo0(g, small(g, e.largest), g.FAdd(g.FDiv(e.far, g.Float(-8)), zero)),
		g.FAdd(g.FMul(smallTo0(g, small(g, g.FAbs(e.far0)), e.far0), g.Float(-0.125)), zero),
		g.Select(g.Eq(e.high, largest), g.FSub(zero, eighth), eighth),
	}
}

// scalesOfExtremes says of each group that all kernels find the same extremes, as
// [extremes.given] does. They choose among the numbers by comparisons. Four numbers alone decide:
// the largest and the smallest, the largest magnitude and the largest integer. So it is enough
// that the extremes are right for all groups of four numbers. There the order of magnitudes
// counts alone, and which numbers are 0, small or not finite. TestExtremes tries all of them.
//
// Where the largest magnitude is small, all numbers are tiny. Elsewhere a quotient by the scale is
// not NaN.
func scalesOfExtremes(l *call, known *equal.Suppose) {
	g, src := l.g, l.buffers["src"].before
	lds, group, n, d := l.c["lds"].(int), l.c["group"].(int), l.c["n"].(int), l.c["d"].(int)
	zero := g.Const(32, 0)
	for at := range n * d / group {
		at = at*group/d*lds + at*group%d
		symbol := func(width int, name string, at int, in *equal.Domain) *expr.Node {
			s := g.Sym(width, fmt.Sprintf("%s[%d]", name, at))
			known.Domains[s] = in
			return s
		}
		far, any := symbol(32, "far", at, equal.Finite), symbol(1, "any", at, nil)
		isSmall, e := small(g, g.FAbs(far)), extremesOf(g, src[at:][:group])
		large := g.Select(isSmall, g.Float(1), far) // far, where that is not small
		given := e.given(g, far, any)
		known.Same[e.finite] = e.finite0
		known.Given[e.finite], known.Given[g.Not(e.finite)] = given, map[*expr.Node]*expr.Node{e.finite0: g.Bool(false)}
		known.Given[g.Not(isSmall)] = map[*expr.Node]*expr.Node{far: large, g.FEq(far, zero): g.Bool(false)}

		for _, scale := range e.scales(g) {
			is0 := g.FEq(g.Copy(scale, maps.Clone(given)), zero)
			known.Rules = append(known.Rules, equal.Rule{From: is0, To: isSmall, Of: far, In: equal.Finite, Bit: any})
		}
		scale := g.FAdd(g.FDiv(large, g.Float(-8)), zero)
		for i, x := range src[at:][:group] {
			number, tiny := symbol(32, "finite", at+i, equal.Finite), symbol(32, "tiny", at+i, equal.Tiny)
			given[x] = g.Select(isSmall, tiny, number)
			known.Domains[g.FDiv(number, scale)] = equal.Number
		}
	}
}
