// Package equal proves that two expressions have the same value whatever their symbols are.
//
// Expressions that are one node are. Two others are if they are the same operation of arguments
// that are equal, or by a lemma: both are functions of few bits that they have in common, and these
// functions are the same, which is tried for all values of those bits.
package equal

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
)

// samples is how many values of every symbol are tried before a proof.
const samples = 64

// ErrUnproven is the error for expressions that agree in all samples, but cannot be proven to be
// the same.
var ErrUnproven = errors.New("cannot be proven")

// A Query compares expressions of a graph.
type Query struct {
	g      *expr.Graph
	lemmas *Lemmas
	known  Suppose
	rules  map[*expr.Node][]string // lemmas that show known.Rules
	values map[*expr.Node]*[samples]uint64
	proven map[claim][]string
	open   map[claim]bool
	splits int
	shaper shaper

	against string // why the last lemma did not hold
}

// A claim is that two expressions are the same, but for the bits of a NaN if they are floats.
type claim struct {
	a, b    *expr.Node
	isFloat bool
}

// New returns a query.
func New(g *expr.Graph, l *Lemmas, known Suppose) (*Query, error) {
	q := &Query{g: g, lemmas: l, known: known, rules: map[*expr.Node][]string{}, values: map[*expr.Node]*[samples]uint64{},
		proven: map[claim][]string{}, open: map[claim]bool{}}
	for _, r := range known.Rules {
		for _, from := range r.cases(g) {
			name, ok := l.try(claim{from, r.To, false}, []*expr.Node{r.Of}, nil, map[*expr.Node]*Domain{r.Of: r.In})
			if !ok {
				return nil, fmt.Errorf("%v is not %v: %s", from, r.To, name)
			}
			q.rules[r.From] = append(q.rules[r.From], name)
		}
		g.Replace(r.From, r.To)
	}
	return q, nil
}

// Rules returns the lemmas of the rules that were used, and how often.
func (q *Query) Rules() map[string]int {
	used := map[string]int{}
	for n, times := range q.g.Replaced() {
		for _, name := range q.rules[n] {
			used[name] += times
		}
	}
	return used
}

// Equal proves that a and b are the same, and returns the names of the lemmas that it used.
func (q *Query) Equal(a, b *expr.Node, isFloat bool) ([]string, error) {
	if a.Width != b.Width {
		return nil, fmt.Errorf("words of %d and %d bits", a.Width, b.Width)
	}
	used, ok := q.shaped(claim{a, b, isFloat})
	if ok {
		return used, nil
	}
	if i := q.differ(a, b, isFloat); i >= 0 {
		return nil, q.difference(a, b, i)
	}
	x, y := q.culprit(a, b)
	return nil, fmt.Errorf("%w: the last lemma tried has %s\n    want %v\n    got  %v", ErrUnproven, q.against, x, y)
}

// shaped proves a claim, or takes the proof of another one that differs in its symbols alone.
func (q *Query) shaped(c claim) (used []string, ok bool) {
	if c.a == c.b {
		return nil, true
	}
	shape, shaped := q.shapeOf(c)
	if shaped {
		if used, ok = q.lemmas.known(shape); ok {
			return used, true
		}
	}
	if q.differ(c.a, c.b, c.isFloat) >= 0 {
		return nil, false
	}
	if used, ok = q.prove(c); !ok {
		return nil, false
	}
	slices.Sort(used)
	used = slices.Compact(used)
	if shaped {
		q.lemmas.learn(shape, used)
	}
	return used, true
}

// culprit returns the parts of expressions that are to blame: as long as they are the same
// operation, the last arguments that do not differ in the samples and cannot be proven the same.
func (q *Query) culprit(a, b *expr.Node) (*expr.Node, *expr.Node) {
	for a.Op == b.Op {
		var x, y *expr.Node
		in := operands(b)
		for _, u := range operands(a) {
			j := slices.IndexFunc(in, func(v *expr.Node) bool { return u.Width == v.Width && q.differ(u, v, false) < 0 })
			if j < 0 {
				continue
			}
			if _, ok := q.prove(claim{u, in[j], takesFloats(a.Op)}); !ok {
				x, y = u, in[j]
			}
		}
		if x == nil {
			break
		}
		a, b = x, y
	}
	return a, b
}

// differ returns the number of a sample in which a and b differ, -1 for none.
func (q *Query) differ(a, b *expr.Node, isFloat bool) int {
	x, y := q.sample(a), q.sample(b)
	for i := range x {
		if x[i] != y[i] && !(isFloat && expr.SameFloat(x[i], y[i])) {
			return i
		}
	}
	return -1
}

// difference tells for which values of the symbols a and b differ.
func (q *Query) difference(a, b *expr.Node, i int) error {
	syms := map[*expr.Node]bool{}
	collect(a, syms, map[*expr.Node]bool{})
	collect(b, syms, map[*expr.Node]bool{})
	text := ""
	for s := range syms {
		if len(text) < 300 {
			text += fmt.Sprintf(" %s=%#x", s.Name, q.sample(s)[i])
		}
	}
	return fmt.Errorf("differs: want %#x, got %#x, with%s\n    want %v\n    got  %v", q.sample(a)[i], q.sample(b)[i], text, a, b)
}

func collect(n *expr.Node, syms, seen map[*expr.Node]bool) {
	if seen[n] || len(syms) > 20 {
		return
	}
	seen[n] = true
	if n.Op == expr.Sym {
		syms[n] = true
	}
	for _, a := range n.Args {
		collect(a, syms, seen)
	}
}

// sample returns the values of a node for the samples of the symbols.
func (q *Query) sample(n *expr.Node) *[samples]uint64 {
	if v, ok := q.values[n]; ok {
		return v
	}
	var in [][]uint64
	for _, a := range n.Args {
		in = append(in, q.sample(a)[:])
	}
	v := new([samples]uint64)
	if n.Op == expr.Sym {
		symbol(n, v, q.known.Kinds[n])
	} else {
		expr.Compute(n, v[:], in)
	}
	if d := q.known.Domains[n]; d != nil {
		d.limit(v[:])
	}
	q.values[n] = v
	return v
}

// symbol chooses values of a symbol: numbers of common size first, then all kinds.
func symbol(n *expr.Node, v *[samples]uint64, kind Kind) {
	r := rand.New(rand.NewPCG(n.Hash(), 1))
	lo, hi := n.Bounds()
	for i := range v {
		low, high, between := n.Between()
		switch {
		case kind != Any:
			v[i] = ofKind(r, kind, i)
		case between:
			v[i] = uint64(r.Uint32N(2)<<31 | uint32(127+low+r.IntN(high-low))<<23 | r.Uint32N(1<<23))
			if i%8 == 7 {
				v[i] = []uint64{0, 1 << 31, 0x7fc00000, 0xff800001}[r.IntN(4)]
			}
		case hi-lo >= 0 && hi-lo < 1<<31:
			v[i] = uint64(lo+r.Int64N(hi-lo+1)) & (1<<n.Width - 1)
		case n.Width == 32 && i < samples/2:
			v[i] = uint64(r.Uint32N(2)<<31 | (120+r.Uint32N(12))<<23 | r.Uint32N(1<<23))
		case n.Width == 32 && r.IntN(8) == 0:
			v[i] = uint64(special[r.IntN(len(special))])
		case n.Width == 32 && r.IntN(4) != 0:
			v[i] = uint64(r.Uint32N(2)<<31 | (90+r.Uint32N(70))<<23 | r.Uint32N(1<<23))
		default:
			v[i] = r.Uint64() & (^uint64(0) >> (64 - n.Width))
		}
	}
}

// ofKind chooses a score, or the maximum of scores: in turn a number, a number with scores that are
// rare, +Inf and -Inf.
func ofKind(r *rand.Rand, kind Kind, i int) uint64 {
	const inf, negInf, nan = 0x7f800000, 0xff800000, 0x7fc00001
	if kind == Maximum {
		return []uint64{0x41800000 + uint64(r.Uint32N(1<<22)), 0x42800000, inf, negInf}[i%4]
	}
	if kind == Weight {
		return []uint64{0, 0x800000, 0x3f800000, uint64(r.Uint32N(127)+1)<<23 | uint64(r.Uint32N(1<<23))}[min(r.IntN(12), 3)]
	}
	number := uint64(r.Uint32N(2)<<31 | (120+r.Uint32N(10))<<23 | r.Uint32N(1<<23))
	switch i % 4 {
	case 0:
		return number
	case 1:
		return []uint64{nan, negInf, 0, 1 << 31, 0xc2c80000, 0x42800000, 0xff7fffff, number}[r.IntN(8)]
	case 2:
		return []uint64{nan, negInf, inf, number}[r.IntN(4)]
	}
	return []uint64{nan, negInf}[r.IntN(2)]
}

var special = []uint32{0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x80000001, 0x7fffff, 0x800000, 0x80800000,
	0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x4b000000, 0xcb000000, 0x3f000000, 0xc2fc0000, 0x43000000, 0xc2c80000}

// prove proves a claim about expressions that do not differ in the samples.
func (q *Query) prove(c claim) ([]string, bool) {
	if c.a == c.b || q.known.Same[c.a] == c.b || q.known.Same[c.b] == c.a {
		return nil, true
	}
	if used, ok := q.proven[c]; ok {
		return used, true
	}
	if q.open[c] {
		return nil, false
	}
	q.open[c] = true // a failure is remembered, too
	used, ok := q.sameOperation(c)
	for _, way := range []func(claim) ([]string, bool){q.byLemma, q.byCases, q.byOwnCondition, q.byParts, q.byWideLemma} {
		if !ok {
			used, ok = way(c)
		}
	}
	if ok {
		q.proven[c] = used
	}
	return used, ok
}

// takesFloats tells which operations do not see the bits of a NaN.
func takesFloats(o expr.Op) bool {
	switch o {
	case expr.FAdd, expr.FMul, expr.FFma, expr.FDiv, expr.FSqrt, expr.FLt, expr.FLe, expr.FEq, expr.FRound, expr.FScale, expr.FToS, expr.FToSat, expr.Widen, expr.FMax, expr.FMin,
		expr.Narrow64, expr.Add64, expr.Mul64, expr.Fma64, expr.Div64:
		return true
	}
	return false
}

// sameOperation proves that the arguments of an operation are the same, in some order if that does
// not matter.
func (q *Query) sameOperation(c claim) ([]string, bool) {
	a, b := c.a, c.b
	if a.IsConst() && b.Op == expr.Concat {
		return q.partsOf(a, b)
	}
	if a.Op != b.Op || a.Val != b.Val || a.Width != b.Width || len(a.Args) != len(b.Args) || a.Op == expr.Sym || a.Op == expr.Const {
		return nil, false
	}
	if a.Op == expr.Sum {
		return q.pairs(a.Args, b.Args, a.Coefs, b.Coefs, false)
	}
	orders := [][]int{{0, 1, 2}}
	switch a.Op {
	case expr.FAdd, expr.FMul, expr.FFma, expr.And, expr.Or, expr.Xor, expr.Mul, expr.FMax, expr.FMin, expr.Eq, expr.FEq, expr.Add64, expr.Mul64, expr.Fma64:
		orders = append(orders, []int{1, 0, 2})
	case expr.Concat:
		orders = [][]int{make([]int, len(a.Args))}
		for i := range a.Args {
			orders[0][i] = i
		}
	}
	for _, order := range orders {
		if used, ok := q.allSame(c, order); ok {
			return used, true
		}
	}
	if isChain(a.Op) {
		return q.pairs(operands(a), operands(b), nil, nil, takesFloats(a.Op))
	}
	return nil, false
}

// partsOf proves that the parts of a word have the bits of a constant.
func (q *Query) partsOf(constant, word *expr.Node) (used []string, ok bool) {
	at := 0
	for _, part := range word.Args {
		u, ok := q.prove(claim{q.g.Extract(constant, at, part.Width), part, false})
		if !ok {
			return nil, false
		}
		used, at = append(used, u...), at+part.Width
	}
	return used, true
}

// isChain tells whether an operation is associative, and its first argument none of its kind.
func isChain(op expr.Op) bool {
	switch op {
	case expr.And, expr.Or, expr.Xor, expr.UMax, expr.UMin, expr.FMax, expr.FMin:
		return true
	}
	return false
}

// operands returns the arguments of an operation. It takes a chain of the same associative
// operation for one operation with all arguments.
func operands(n *expr.Node) (list []*expr.Node) {
	for m := n; ; m = m.Args[1] {
		if !isChain(n.Op) {
			return n.Args
		}
		if m.Op != n.Op {
			return append(list, m)
		}
		list = append(list, m.Args[0])
	}
}

func (q *Query) allSame(c claim, order []int) (used []string, ok bool) {
	sub := make([]claim, len(c.a.Args))
	for i, x := range c.a.Args {
		y := c.b.Args[order[i]]
		float := takesFloats(c.a.Op) || c.isFloat && c.a.Op == expr.Select && i > 0
		if x.Width != y.Width || q.differ(x, y, float) >= 0 {
			return nil, false
		}
		sub[i] = claim{x, y, float}
	}
	for _, s := range sub {
		u, ok := q.prove(s)
		if !ok {
			return nil, false
		}
		used = append(used, u...)
	}
	return slices.Compact(slices.Sorted(slices.Values(used))), true
}

// pairs proves that words of two lists are the same, in some order, with the same coefficients: it
// pairs those that do not differ in the samples.
func (q *Query) pairs(a, b []*expr.Node, timesA, timesB []uint64, isFloat bool) (used []string, ok bool) {
	if len(a) != len(b) {
		return nil, false
	}
	taken := make([]bool, len(b))
	for i, x := range a {
		found := false
		for j, y := range b {
			if taken[j] || x.Width != y.Width || timesA != nil && timesA[i] != timesB[j] || q.differ(x, y, isFloat) >= 0 {
				continue
			}
			if u, ok := q.shaped(claim{x, y, isFloat}); ok {
				taken[j], found = true, true
				used = append(used, u...)
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(used))), true
}

// byCases splits a claim about a selection in two, for both values of the condition. A value takes
// the place of the condition in both expressions.
func (q *Query) byCases(c claim) (used []string, ok bool) {
	for _, side := range []*expr.Node{c.a, c.b} {
		if side.Op != expr.Select {
			continue
		}
		all, condition, counts := true, side.Args[0], 1
		if given := q.given(condition); given != nil {
			condition, counts = given, 0
		}
		used = nil
		for _, holds := range []bool{true, false} {
			known := map[*expr.Node]*expr.Node{condition: q.g.Bool(holds)}
			if holds {
				maps.Copy(known, q.known.Given[condition])
			} else {
				maps.Copy(known, q.known.Given[q.g.Not(condition)])
			}
			a, b := q.g.Copy(c.a, known), q.g.Copy(c.b, known)
			if a == b {
				continue
			}
			if a == c.a && b == c.b || q.splits >= mostSplits || q.differ(a, b, c.isFloat) >= 0 {
				all = false
				break
			}
			q.splits += counts
			u, ok := q.prove(claim{a, b, c.isFloat})
			q.splits -= counts
			if !ok {
				all = false
				break
			}
			used = append(used, u...)
		}
		if all {
			return used, true
		}
	}
	return nil, false
}

// byOwnCondition proves that both values of a selection are the same as the other side, the first
// one where a part of the condition holds: a branch of a vector has a condition for each lane.
func (q *Query) byOwnCondition(c claim) ([]string, bool) {
	for _, swapped := range []bool{false, true} {
		want, side := c.a, c.b
		if swapped {
			want, side = side, want
		}
		if side.Op != expr.Select {
			continue
		}
		condition, all, any := side.Args[0], side.Args[1], side.Args[2]
		if condition.Op == expr.Or { // where it does not hold, all opposites do
			condition, all, any = q.g.Not(condition), any, all
		}
		if condition.Op != expr.And || q.differ(want, any, c.isFloat) >= 0 {
			continue
		}
		used, ok := q.shaped(claim{want, any, c.isFloat})
		if !ok {
			continue
		}
		for _, part := range operands(condition) {
			own := q.g.Select(part, all, want)
			if q.differ(want, own, c.isFloat) >= 0 {
				continue
			}
			if more, ok := q.shaped(claim{want, own, c.isFloat}); ok {
				return slices.Concat(used, more), true
			}
		}
	}
	return nil, false
}

// given returns the condition, or the first one in a chain of And or Or, if something is given
// where it holds or where it does not, else nil.
func (q *Query) given(condition *expr.Node) *expr.Node {
	for condition.Op == expr.And || condition.Op == expr.Or {
		condition = condition.Args[0]
	}
	if q.known.Given[condition] == nil && q.known.Given[q.g.Not(condition)] == nil {
		return nil
	}
	return condition
}

// mostSplits is how many conditions are split in one another, without those where something is
// given.
const mostSplits = 4

// mostExpanded is how many nodes are taken into the functions of a lemma.
const mostExpanded = 3000

// byLemma looks for up to 32 bits that both expressions are functions of, and proves that these are
// the same.
func (q *Query) byLemma(c claim) (used []string, ok bool) {
	q.fronts(c, func(front map[*expr.Node]bool, width int) bool {
		if used, ok = q.bySame(c, front); ok {
			return true
		}
		if width <= 32 {
			var name string
			name, ok = q.lemmas.try(c, leaves(front), nil, q.known.Domains)
			used, q.against = []string{name}, name
		}
		return ok
	})
	return used, ok
}

// byWideLemma looks for two or three words that both expressions are functions of, and proves that
// these are the same for all values of one of them, whatever the others are.
func (q *Query) byWideLemma(c claim) (used []string, ok bool) {
	var wide [][]*expr.Node // the deepest first
	q.fronts(c, func(front map[*expr.Node]bool, width int) bool {
		if width > 32 && len(front) <= 3 && width <= 96 {
			wide = append(wide, leaves(front))
		}
		return false
	})
	slices.Reverse(wide)
	slices.SortStableFunc(wide, func(a, b []*expr.Node) int { return len(a) - len(b) })
	for _, words := range wide[:min(len(wide), mostTried)] {
		for i, one := range words {
			if one.Width > 32 {
				continue
			}
			others := slices.Delete(slices.Clone(words), i, i+1)
			name, ok := q.lemmas.try(c, []*expr.Node{one}, others, q.known.Domains)
			if ok {
				return []string{name}, true
			}
			q.against = name
		}
	}
	return nil, false
}

// fronts calls f with sets of nodes that both expressions are functions of, and their width, until
// it returns true.
func (q *Query) fronts(c claim, f func(front map[*expr.Node]bool, width int) bool) {
	front := map[*expr.Node]bool{}
	var inner lastFirst
	width := 0
	add := func(n *expr.Node) {
		if front[n] {
			return
		}
		front[n] = true
		width += n.Width
		if n.Op != expr.Sym {
			heap.Push(&inner, n)
		}
	}
	add(c.a)
	add(c.b)
	for range mostExpanded {
		if len(inner) == 0 {
			return
		}
		top := heap.Pop(&inner).(*expr.Node) // after all that it is an argument of
		delete(front, top)
		width -= top.Width
		for _, a := range top.Args {
			if !a.IsConst() {
				add(a)
			}
		}
		if front[c.a] && front[c.b] {
			continue
		}
		if f(front, width) {
			return
		}
	}
}

// lastFirst is a heap of nodes: that which was made last is the first.
type lastFirst []*expr.Node

func (h lastFirst) Len() int           { return len(h) }
func (h lastFirst) Less(i, j int) bool { return h[i].ID > h[j].ID }
func (h lastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lastFirst) Push(x any)        { *h = append(*h, x.(*expr.Node)) }
func (h *lastFirst) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// byParts proves that floats within b are the same as floats within a, puts these in their place,
// and goes on with what is the same function of the same words then.
func (q *Query) byParts(c claim) (used []string, ok bool) {
	parts := map[[samples]uint64]*expr.Node{}
	q.floats(c.a, map[*expr.Node]bool{c.a: true}, func(n *expr.Node) { parts[*q.sample(n)] = n })
	known := map[*expr.Node]*expr.Node{}
	q.floats(c.b, map[*expr.Node]bool{c.b: true}, func(n *expr.Node) {
		m := parts[*q.sample(n)]
		if m == nil || m == n {
			return
		}
		if u, ok := q.prove(claim{m, n, false}); ok {
			known[n] = m
			used = append(used, u...)
		}
	})
	if len(known) == 0 {
		return nil, false
	}
	b := q.g.Copy(c.b, known)
	if b == c.b {
		return nil, false
	}
	u, ok := q.prove(claim{c.a, b, c.isFloat})
	return append(used, u...), ok
}

// floats calls f with the operations on floats within n, those that others need first, and not with
// what it has seen.
func (q *Query) floats(n *expr.Node, seen map[*expr.Node]bool, f func(n *expr.Node)) {
	for _, a := range n.Args {
		if !seen[a] {
			seen[a] = true
			q.floats(a, seen, f)
			if takesFloats(a.Op) && a.Width == 32 {
				f(a)
			}
		}
	}
}

// bySame proves a claim by a lemma about one word, where each side has a word of its own and these
// are the same.
func (q *Query) bySame(c claim, front map[*expr.Node]bool) ([]string, bool) {
	if len(front) != 2 || front[c.a] || front[c.b] {
		return nil, false
	}
	two := leaves(front)
	x, y := two[0], two[1]
	if x.Width != y.Width || x.Op == expr.Sym || y.Op == expr.Sym || q.differ(x, y, false) >= 0 {
		return nil, false
	}
	used, ok := q.prove(claim{x, y, false})
	if !ok {
		return nil, false
	}
	name, ok := q.lemmas.try(c, []*expr.Node{x}, nil, q.known.Domains, y)
	if !ok {
		return nil, false
	}
	return append([]string{name}, used...), true
}

// mostTried is how many fronts of more than 32 bits are tried.
const mostTried = 3

func leaves(front map[*expr.Node]bool) []*expr.Node {
	var list []*expr.Node
	for n := range front {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *expr.Node) int { return a.ID - b.ID })
	return list
}
