package expr

import (
	"math/bits"
	"slices"
)

// A form is a linear form while it is put together: terms may be there more than once.
type form struct {
	width    int
	constant uint64
	terms    []term
	few      [8]term // the first terms
}

type term struct {
	x     *Node
	times uint64
}

func newForm(w int) *form {
	f := &form{width: w}
	f.terms = f.few[:0]
	return f
}

func (f *form) add(x *Node, times uint64) { f.terms = append(f.terms, term{x, times}) }

// addTo adds a multiple of x to a form.
func (g *Graph) addTo(f *form, x *Node, times uint64) {
	switch {
	case x.IsConst():
		f.constant += times * x.Val
	case x.Op == Sum:
		f.constant += times * x.Val
		for i, a := range x.Args {
			f.add(a, times*x.Coefs[i])
		}
	case x.Op == Concat && x.Args[0].IsConst() && x.Args[0].Val == 0: // shifted to the left
		k := x.Args[0].Width
		rest := g.Concat(x.Args[1:]...)
		y, at := piece(rest)
		if at == 0 && y.Width == f.width {
			g.addTo(f, y, times<<k)
			return
		}
		g.addTo(f, g.Zext(rest, f.width), times<<k)
	case x.Op == Not:
		f.constant -= times // -x - 1
		g.addTo(f, x.Args[0], -times)
	default:
		f.add(x, times)
	}
}

// collect puts the terms in order, each once, and drops those that are 0.
func (f *form) collect() {
	f.constant &= mask(f.width)
	slices.SortFunc(f.terms, func(a, b term) int {
		switch {
		case a.x == b.x:
			return 0
		case before(a.x, b.x):
			return -1
		}
		return 1
	})
	list := f.terms[:0]
	for i := 0; i < len(f.terms); {
		t := f.terms[i]
		for i++; i < len(f.terms) && f.terms[i].x == t.x; i++ {
			t.times += f.terms[i].times
		}
		if t.times &= mask(f.width); t.times != 0 {
			list = append(list, t)
		}
	}
	f.terms = list
}

// sumOf returns the node of a form.
func (g *Graph) sumOf(f *form) *Node {
	f.collect()
	if g.join(f) {
		return g.sumOf(f)
	}
	switch {
	case len(f.terms) == 0:
		return g.Const(f.width, f.constant)
	case len(f.terms) == 1 && f.constant == 0:
		x, c := f.terms[0].x, f.terms[0].times
		if c == 1 {
			return x
		}
		if c&(c-1) == 0 {
			return g.ShlBy(x, bits.TrailingZeros64(c))
		}
	}
	if n := g.disjoint(f); n != nil {
		return n
	}
	if n := g.factored(f); n != nil {
		return n
	}
	if n := g.narrowed(f); n != nil {
		return n
	}
	var args [8]*Node
	var coefs [8]uint64
	n := Node{Op: Sum, Width: f.width, Val: f.constant, Args: args[:0], Coefs: coefs[:0]}
	for _, t := range f.terms {
		n.Args, n.Coefs = append(n.Args, t.x), append(n.Coefs, t.times)
	}
	return g.intern(n)
}

// join makes products of a word with the lower and the upper bits of another one those with all of
// its bits: x·low + 2^k·x·high is x·(low + 2^k·high). It reports whether there were any.
func (g *Graph) join(f *form) bool {
	type half struct {
		x     *Node
		times uint64
	}
	g.mark()
	apart := true
	for _, t := range f.terms {
		if x, _ := withBits(t.x); x != nil {
			apart = apart && g.meet(x)
		}
	}
	if apart {
		return false
	}
	lower := map[half]int{}
	for i, t := range f.terms {
		if x, low := withBits(t.x); low != nil {
			lower[half{x, t.times << low.Width & mask(f.width)}] = i
		}
	}
	for i := 0; i < len(f.terms) && len(lower) > 0; i++ {
		x, high := withBits(f.terms[i].x)
		j, ok := lower[half{x, f.terms[i].times}]
		if high == nil || !ok || i == j {
			continue
		}
		_, low := withBits(f.terms[j].x)
		if low == nil || low.Width+high.Width > f.width {
			continue
		}
		f.terms[j].x, f.terms[i].times = g.Mul(x, g.Zext(g.Concat(low, high), f.width)), 0
		return true
	}
	return false
}

// withBits returns the factors of a product with a narrower word, which is bits.
func withBits(p *Node) (x, bits *Node) {
	if p.Op != Mul {
		return nil, nil
	}
	for i, y := range p.Args {
		if y.Op == Concat && len(y.Args) == 2 && y.Args[1].IsConst() && y.Args[1].Val == 0 && !y.Args[0].IsConst() {
			return p.Args[1-i], y.Args[0]
		}
	}
	return nil, nil
}

// disjoint returns a sum of words that have no bits in common: they lie side by side.
func (g *Graph) disjoint(f *form) *Node {
	all := f.constant
	for _, t := range f.terms {
		if t.x.Op != Concat || t.times&(t.times-1) != 0 {
			return nil
		}
		bits := mayBeSet(t.x) * t.times & mask(f.width)
		if bits&all != 0 {
			return nil
		}
		all |= bits
	}
	n := g.Const(f.width, f.constant)
	for _, t := range f.terms {
		n = g.Or(n, g.ShlBy(t.x, bits.TrailingZeros64(t.times)))
	}
	if n.Op != Concat {
		return nil
	}
	return n
}

// narrowed returns a sum of words that were narrowed without loss as the sum of these words,
// narrowed.
func (g *Graph) narrowed(f *form) *Node {
	wide := 0
	for _, t := range f.terms {
		if t.x.Op != Extract || t.x.Val != 0 || wide != 0 && wide != t.x.Args[0].Width {
			return nil
		}
		x := t.x.Args[0]
		if wide = x.Width; wide > 32 || x.lo < -1<<(f.width-1) || x.hi > int64(mask(f.width)>>1) {
			return nil
		}
	}
	sum := newForm(wide)
	sum.constant = uint64(signed(f.constant, f.width))
	for _, t := range f.terms {
		g.addTo(sum, t.x.Args[0], uint64(signed(t.times, f.width)))
	}
	return g.Extract(g.sumOf(sum), 0, f.width)
}

// mayBeSet returns the bits of a word that are not known to be 0.
func mayBeSet(x *Node) (bits uint64) {
	at := 0
	for _, p := range x.Args {
		if p.IsConst() {
			bits |= p.Val << at
		} else {
			bits |= mask(p.Width) << at
		}
		at += p.Width
	}
	return bits
}

// Add returns the sum of words modulo 2^width.
func (g *Graph) Add(x ...*Node) *Node {
	if len(x) == 2 {
		switch {
		case x[1].IsConst():
			return g.Plus(x[0], int64(x[1].Val))
		case x[0].IsConst():
			return g.Plus(x[1], int64(x[0].Val))
		}
		return g.once(Sum, x[0], x[1], 0, plus)
	}
	f := newForm(x[0].Width)
	for _, y := range x {
		g.addTo(f, y, 1)
	}
	return g.sumOf(f)
}

func plus(g *Graph, x, y *Node, _ uint16) *Node {
	f := newForm(x.Width)
	g.addTo(f, x, 1)
	g.addTo(f, y, 1)
	return g.sumOf(f)
}

// Plus returns x+c modulo 2^width.
func (g *Graph) Plus(x *Node, c int64) *Node {
	switch {
	case x.IsConst():
		return g.Const(x.Width, x.Val+uint64(c))
	case c == 0:
		return x
	case x.Op == Sum:
		v := (x.Val + uint64(c)) & mask(x.Width)
		if v != 0 || len(x.Args) > 1 {
			return g.intern(Node{Op: Sum, Width: x.Width, Val: v, Args: x.Args, Coefs: x.Coefs})
		}
	case x.Op == Sym:
		return g.intern(Node{Op: Sum, Width: x.Width, Val: uint64(c) & mask(x.Width), Args: []*Node{x}, Coefs: []uint64{1}})
	}
	f := newForm(x.Width)
	f.constant = uint64(c)
	g.addTo(f, x, 1)
	return g.sumOf(f)
}

// Sub returns x-y modulo 2^width.
func (g *Graph) Sub(x, y *Node) *Node {
	if y.IsConst() {
		return g.Plus(x, -int64(y.Val))
	}
	return g.once(Sum, x, y, 1, minus)
}

func minus(g *Graph, x, y *Node, _ uint16) *Node {
	f := newForm(x.Width)
	g.addTo(f, x, 1)
	g.addTo(f, y, ^uint64(0))
	return g.sumOf(f)
}

// Neg returns -x modulo 2^width.
func (g *Graph) Neg(x *Node) *Node { return g.Sub(g.Const(x.Width, 0), x) }

// mostSpread is how many terms a sum has at most that is multiplied out.
const mostSpread = 3

// Mul returns the product modulo 2^width. Sums are multiplied out if one side is constant or both
// are short.
func (g *Graph) Mul(x, y *Node) *Node {
	if x.IsConst() {
		x, y = y, x
	}
	if y.IsConst() {
		if x.IsConst() {
			return g.Const(x.Width, x.Val*y.Val)
		}
		f := newForm(x.Width)
		g.addTo(f, x, y.Val)
		return g.sumOf(f)
	}
	return g.once(Mul, x, y, 0, mul)
}

func mul(g *Graph, x, y *Node, _ uint16) *Node {
	for range 2 { // the first summand is positive
		if x.Op == Sum && signed(x.Coefs[0], x.Width) < 0 && x.Coefs[0] != 1<<(x.Width-1) {
			return g.Neg(g.Mul(g.Neg(x), y))
		}
		x, y = y, x
	}
	if x.Width == 64 || x.Op == Sum && len(x.Args) > mostSpread || y.Op == Sum && len(y.Args) > mostSpread {
		return g.product(x, y)
	}
	fx, fy := newForm(x.Width), newForm(x.Width)
	g.addFactor(fx, x)
	g.addFactor(fy, y)
	out := newForm(x.Width)
	out.constant = fx.constant * fy.constant
	for _, a := range fx.terms {
		out.add(a.x, a.times*fy.constant)
		for _, b := range fy.terms {
			out.add(g.product(a.x, b.x), a.times*b.times)
		}
	}
	for _, b := range fy.terms {
		out.add(b.x, b.times*fx.constant)
	}
	return g.sumOf(out)
}

// addFactor adds x. It takes the least value of a table out of what is looked up in it, so that
// products do not tell what offset a table has. It does not in words of 16 bits: sums of products
// with its offset need not be exact there.
func (g *Graph) addFactor(f *form, x *Node) {
	if x.Op == Select && x.Width == 32 && lookedUp(x) {
		least := leastOf(x)
		x, f.constant = g.lessBy(x, least), uint64(least)&mask(x.Width)
	}
	g.addTo(f, x, 1)
}

// leastOf returns the least constant of a selection of constants.
func leastOf(x *Node) int64 {
	if x.Op == Select {
		return min(leastOf(x.Args[1]), leastOf(x.Args[2]))
	}
	return x.Signed()
}

// lessBy takes c from the constants of a selection.
func (g *Graph) lessBy(x *Node, c int64) *Node {
	if x.IsConst() {
		return g.Const(x.Width, x.Val-uint64(c))
	}
	return g.Select(x.Args[0], g.lessBy(x.Args[1], c), g.lessBy(x.Args[2], c))
}

// factored takes out a factor that products of a form have in common. It returns nil if there is
// none, or if the sum of the rest has at most mostSpread terms, which Mul multiplies out.
func (g *Graph) factored(f *form) *Node {
	most := g.commonFactor(f)
	if most == nil {
		return nil
	}
	inner, outer := newForm(f.width), newForm(f.width)
	outer.constant = f.constant
	for _, t := range f.terms {
		list := factorsOf(t.x, nil)
		at := slices.Index(list, most)
		if len(list) == 1 || at < 0 {
			outer.add(t.x, t.times)
			continue
		}
		g.addTo(inner, g.productOf(slices.Delete(list, at, at+1)), t.times)
	}
	sum := g.sumOf(inner)
	if sum.Op != Sum || len(sum.Args) <= mostSpread {
		return nil
	}
	g.addTo(outer, g.Mul(most, sum), 1)
	return g.sumOf(outer)
}

// commonFactor returns the factor that products of most terms have in common, nil if there is none
// of more than mostSpread.
func (g *Graph) commonFactor(f *form) *Node {
	products := 0
	for _, t := range f.terms {
		if t.x.Op == Mul {
			products++
		}
	}
	if products < 2 {
		return nil
	}
	type number struct{ terms, products int }
	var count []number // by the numbers of factors
	var most *Node
	mostTerms := mostSpread
	var few [8]*Node
	g.Number()
	for _, t := range f.terms {
		if t.x.Op != Mul {
			continue
		}
		list := factorsOf(t.x, few[:0])
		for i, x := range list {
			if slices.Contains(list[:i], x) {
				continue
			}
			at, met := g.NumberOf(x)
			if !met {
				count = append(count, number{})
			}
			n := &count[at]
			n.terms += summands(list, x)
			n.products++
			if n.products > 1 && (n.terms > mostTerms || n.terms == mostTerms && most != nil && before(x, most)) {
				most, mostTerms = x, n.terms
			}
		}
	}
	return most
}

// factorsOf adds the factors of a product of products to a list, and what is no product itself.
func factorsOf(x *Node, list []*Node) []*Node {
	if x.Op != Mul {
		return append(list, x)
	}
	return factorsOf(x.Args[1], factorsOf(x.Args[0], list))
}

// summands is how many terms a product would have if it was multiplied out, but for a factor.
func summands(factors []*Node, but *Node) int {
	n := 1
	for _, x := range factors {
		if x != but && x.Op == Sum {
			n *= len(x.Args)
		}
	}
	return n
}

// productOf returns the product of factors.
func (g *Graph) productOf(factors []*Node) *Node {
	n := factors[0]
	for _, x := range factors[1:] {
		n = g.Mul(n, x)
	}
	return n
}

func (g *Graph) product(x, y *Node) *Node {
	x, y = inOrder(x, y)
	return g.op(Mul, x.Width, 0, x, y)
}

// Eq, Lt and Ult compare integers, the last unsigned.
func (g *Graph) Eq(x, y *Node) *Node {
	if x.IsConst() && y.IsConst() {
		return g.Bool(x.Val == y.Val)
	}
	d := g.Sub(x, y)
	if d.IsConst() {
		return g.Bool(d.Val == 0)
	}
	if d.Op == Sext && d.Args[0].Width == 1 {
		return g.Not(d.Args[0])
	}
	if x.hi < y.lo || y.hi < x.lo {
		return g.Bool(false)
	}
	if a, b, ok := g.narrower(x, y); ok {
		return g.Eq(a, b)
	}
	x, y = inOrder(x, y)
	for range 2 {
		if x.Op == UMax && (x.Args[0] == y || x.Args[1] == y) { // y is not below the other one
			if x.Args[0] == y {
				return g.Not(g.Ult(y, x.Args[1]))
			}
			return g.Not(g.Ult(y, x.Args[0]))
		}
		if x.Op == Select && (x.Args[1] == y || x.Args[2] == y) {
			if x.Args[1] == y {
				return g.Or(x.Args[0], g.Eq(x.Args[2], y))
			}
			return g.Or(g.Not(x.Args[0]), g.Eq(x.Args[1], y))
		}
		if y.IsConst() && x.Op == Select && x.Args[1].IsConst() && x.Args[2].IsConst() {
			return g.Select(x.Args[0], g.Eq(x.Args[1], y), g.Eq(x.Args[2], y))
		}
		x, y = y, x
	}
	if n := g.eqParts(x, y); n != nil {
		return n
	}
	if n := g.eqZero(x, y); n != nil {
		return n
	}
	if n := g.eqNothing(x, y); n != nil {
		return n
	}
	if y.IsConst() && x.Width == 1 || x.IsConst() && x.Width == 1 {
		return g.Not(g.Xor(x, y))
	}
	return g.op(Eq, 1, 0, x, y)
}

// eqParts compares a word of which parts are constant with a constant: by the other parts.
func (g *Graph) eqParts(x, y *Node) *Node {
	if x.IsConst() {
		x, y = y, x
	}
	if !y.IsConst() || x.Op != Concat {
		return nil
	}
	at := 0
	all := g.Bool(true)
	for _, p := range x.Args {
		q := g.Extract(y, at, p.Width)
		if p.IsConst() {
			if p != q {
				return g.Bool(false)
			}
		} else {
			if p.Op == Concat {
				return nil
			}
			all = g.And(all, g.Eq(p, q))
		}
		at += p.Width
	}
	return all
}

// eqZero compares a float without its sign with 0.
func (g *Graph) eqZero(x, y *Node) *Node {
	if x.IsConst() {
		x, y = y, x
	}
	if x.Op == Extract && x.Val == 0 && x.Width == 31 && x.Args[0].Width == 32 && y.IsConst() && y.Val == 0 {
		return g.FEq(x.Args[0], g.Const(32, 0))
	}
	return nil
}

// eqNothing compares a sum of words that are not negative, which does not wrap around, with 0.
func (g *Graph) eqNothing(x, y *Node) *Node {
	if x.IsConst() {
		x, y = y, x
	}
	if !y.Is(0) || x.Op != Sum || x.Val != 0 {
		return nil
	}
	most, all := int64(0), g.Bool(true)
	for i, a := range x.Args {
		if x.Coefs[i] != 1 || a.lo < 0 || a.hi > far {
			return nil
		}
		most += a.hi
	}
	if most < 0 || uint64(most) > mask(x.Width) {
		return nil
	}
	for _, a := range x.Args {
		all = g.And(all, g.Eq(a, g.Const(x.Width, 0)))
	}
	return all
}

// narrower returns words that compare as x and y do, if these are sign extensions or constants.
func (g *Graph) narrower(x, y *Node) (a, b *Node, ok bool) {
	w := 0
	for _, n := range []*Node{x, y} {
		switch {
		case n.Op == Sext:
			w = max(w, n.Args[0].Width)
		case n.Op == Concat && n.Width == 64 && n.lo >= 0 && n.hi < 1<<31:
			w = max(w, 32)
		}
	}
	if w == 0 {
		return nil, nil, false
	}
	for _, n := range []*Node{x, y} {
		if n.lo < -1<<(w-1) || n.hi > 1<<(w-1)-1 {
			return nil, nil, false
		}
	}
	return g.Extract(x, 0, w), g.Extract(y, 0, w), true
}

func (g *Graph) Lt(x, y *Node) *Node {
	if x.IsConst() && y.IsConst() {
		return g.Bool(x.Signed() < y.Signed())
	}
	if a, b, ok := g.narrower(x, y); ok {
		return g.Lt(a, b)
	}
	switch d := g.Sub(x, y); {
	case x == y:
		return g.Bool(false)
	case d.IsConst() && !x.IsConst() && x.Width == 64: // addresses in one slice do not wrap around
		return g.Bool(d.Signed() < 0)
	case x.hi < y.lo:
		return g.Bool(true)
	case x.lo >= y.hi:
		return g.Bool(false)
	case y.IsConst() && y.Val == 0:
		return g.Extract(x, x.Width-1, 1)
	case x.lo > -1<<(x.Width-1) && !x.IsConst() && y == g.Neg(x):
		return g.Extract(x, x.Width-1, 1)
	case x.IsConst() && x.Signed() < int64(mask(x.Width)>>1):
		return g.Not(g.Lt(y, g.Plus(x, 1)))
	case y.IsConst() && x.Width == 32:
		if n := g.magnitudeBelow(x, y.Val); n != nil {
			return n
		}
	case x.IsConst() && x.Signed() == -1:
		return g.Not(g.Extract(y, y.Width-1, 1))
	}
	return g.op(Lt, 1, 0, x, y)
}

// magnitudeBelow compares the bits of a float without its sign with a constant's bits: bits are in
// the order of the numbers, and a NaN's are the largest.
func (g *Graph) magnitudeBelow(x *Node, c uint64) *Node {
	const inf = 0x7f800000
	if x.Op != Concat || len(x.Args) != 2 || x.Args[0].Width != 31 || !x.Args[1].IsConst() || x.Args[1].Val != 0 {
		return nil
	}
	f, at := piece(x.Args[0])
	switch {
	case at != 0 || f.Width != 32 || g.FAbs(f) != x || c > inf+1:
		return nil
	case c == inf+1:
		return g.FEq(f, f)
	}
	return g.FLt(x, g.Const(32, c))
}

func (g *Graph) Ult(x, y *Node) *Node {
	switch d := g.Sub(x, y); {
	case x == y:
		return g.Bool(false)
	case d.IsConst() && !x.IsConst() && x.Width == 64:
		return g.Bool(d.Signed() < 0)
	case x.lo >= 0 && y.lo >= 0 && x.hi < y.lo:
		return g.Bool(true)
	case x.lo >= 0 && y.lo >= 0 && x.lo >= y.hi:
		return g.Bool(false)
	case y.IsConst() && y.Val == 0:
		return g.Bool(false)
	case x.lo >= 0 && y.lo >= 0:
		return g.op(Lt, 1, 0, x, y)
	}
	return g.op(Ult, 1, 0, x, y)
}
