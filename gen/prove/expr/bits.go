package expr

import (
	"math"
	"math/bits"
	"slices"
)

// Concat puts words side by side, the lowest first.
func (g *Graph) Concat(parts ...*Node) *Node {
	var few [8]*Node
	flat := few[:0]
	for _, p := range parts {
		if p.Op == Concat {
			for _, q := range p.Args {
				flat = g.append(flat, q)
			}
			continue
		}
		flat = g.append(flat, p)
	}
	if len(flat) == 1 {
		return flat[0]
	}
	w := 0
	for _, p := range flat {
		w += p.Width
	}
	if n := g.sameSign(flat, w); n != nil {
		return n
	}
	if n := withoutZeros(flat, w); n != nil {
		return n
	}
	if n := g.sameSelect(flat); n != nil {
		return n
	}
	return g.intern(Node{Op: Concat, Width: w, Args: flat})
}

// append adds a part, joined with the one before if both are constant, neighbours in a word or
// copies of one bit.
func (g *Graph) append(parts []*Node, p *Node) []*Node {
	if len(parts) == 0 {
		return append(parts, p)
	}
	last := &parts[len(parts)-1]
	switch {
	case (*last).IsConst() && p.IsConst() && (*last).Width+p.Width <= 64:
		*last = g.Const((*last).Width+p.Width, (*last).Val|p.Val<<(*last).Width)
		return parts
	case p.Op == Extract:
		if x, at := piece(*last); x == p.Args[0] && at+(*last).Width == int(p.Val) {
			*last = g.Extract(x, at, (*last).Width+p.Width)
			return parts
		}
	}
	if b := copied(p); b != nil && b == copied(*last) && (*last).Width+p.Width <= 64 {
		*last = g.Sext(b, (*last).Width+p.Width)
		return parts
	}
	return append(parts, p)
}

// copied returns the bit that x consists of, nil for other words.
func copied(x *Node) *Node {
	switch {
	case x.Width == 1:
		return x
	case x.Op == Sext && x.Args[0].Width == 1:
		return x.Args[0]
	}
	return nil
}

// piece returns the word that n is bits of, and the first of them.
func piece(n *Node) (*Node, int) {
	if n.Op == Extract {
		return n.Args[0], int(n.Val)
	}
	return n, 0
}

// sameSign returns a sign extension that is spelled out: a word, its sign as often as is missing.
func (g *Graph) sameSign(parts []*Node, w int) *Node {
	if len(parts) != 2 || parts[1].Op != Sext || parts[1].Args[0].Width != 1 {
		return nil
	}
	if g.Extract(parts[0], parts[0].Width-1, 1) == parts[1].Args[0] {
		return g.Sext(parts[0], w)
	}
	return nil
}

// withoutZeros returns a word whose upper bits are cleared, if they are 0 anyway.
func withoutZeros(parts []*Node, w int) *Node {
	if len(parts) != 2 || !parts[1].IsConst() || parts[1].Val != 0 || parts[0].Op != Extract || parts[0].Val != 0 {
		return nil
	}
	if x := parts[0].Args[0]; x.Width == w && x.Op != Sym && x.lo >= 0 && uint64(x.hi) <= mask(parts[0].Width) {
		return x
	}
	return nil
}

// sameSelect draws a condition that all parts have out of them.
func (g *Graph) sameSelect(parts []*Node) *Node {
	var c *Node
	for _, p := range parts {
		switch {
		case p.IsConst():
		case p.Op == Select && p.Width > 1 && (c == nil || c == p.Args[0]):
			c = p.Args[0]
		default:
			return nil
		}
	}
	if c == nil {
		return nil
	}
	var yes, no []*Node
	for _, p := range parts {
		if p.IsConst() {
			yes, no = append(yes, p), append(no, p)
		} else {
			yes, no = append(yes, p.Args[1]), append(no, p.Args[2])
		}
	}
	return g.Select(c, g.Concat(yes...), g.Concat(no...))
}

// Extract returns w bits of x, from bit lo on.
func (g *Graph) Extract(x *Node, lo, w int) *Node {
	if lo == 0 && w == x.Width {
		return x
	}
	switch x.Op {
	case Const:
		return g.Const(w, x.Val>>lo)
	case Sym:
		return g.op(Extract, w, uint64(lo), x)
	case Extract:
		return g.Extract(x.Args[0], int(x.Val)+lo, w)
	}
	return g.once(Extract, x, nil, uint16(lo<<8|w), extract)
}

func extract(g *Graph, x, _ *Node, numbers uint16) *Node {
	lo, w := int(numbers>>8), int(numbers&255)
	switch x.Op {
	case Concat:
		return g.extractParts(x, lo, w)
	case Sext:
		y := x.Args[0]
		switch {
		case lo+w <= y.Width:
			return g.Extract(y, lo, w)
		case lo >= y.Width:
			return g.Sext(g.Extract(y, y.Width-1, 1), w)
		}
		return g.Sext(g.Extract(y, lo, y.Width-lo), w)
	case Select:
		if ofBytes(x) || x.Args[1].IsConst() || x.Args[2].IsConst() || x.Args[1].Op == Concat || x.Args[2].Op == Concat {
			return g.Select(x.Args[0], g.Extract(x.Args[1], lo, w), g.Extract(x.Args[2], lo, w))
		}
	case And, Or, Xor:
		if w == 1 || x.Args[0].IsConst() || x.Args[1].IsConst() || x.Args[0].Op == Concat && x.Args[1].Op == Concat {
			return g.logic(x.Op, g.Extract(x.Args[0], lo, w), g.Extract(x.Args[1], lo, w))
		}
		if ofBytes(x.Args[0]) || ofBytes(x.Args[1]) { // a byte of a word of values is a value
			if y, z := g.Extract(x.Args[0], lo, w), g.Extract(x.Args[1], lo, w); y.Is(0) || z.Is(0) {
				return g.logic(x.Op, y, z)
			}
		}
	case Not:
		return g.Not(g.Extract(x.Args[0], lo, w))
	case Sum:
		if lo == 0 && w < 32 && x.Width == 64 && ofHalves(x) {
			return g.Extract(g.Extract(x, 0, 32), 0, w)
		}
		if lo == 0 && w == 32 && x.Width == 64 && ofHalves(x) {
			f := newForm(w)
			f.constant = x.Val
			for i, a := range x.Args {
				g.addTo(f, g.Extract(a, 0, w), x.Coefs[i])
			}
			return g.sumOf(f)
		}
	}
	return g.op(Extract, w, uint64(lo), x)
}

// lookedUp reports whether x is chosen from constants alone, as a value of a table is.
func lookedUp(x *Node) bool {
	if x.Op == Select {
		return lookedUp(x.Args[1]) && lookedUp(x.Args[2])
	}
	return x.IsConst()
}

// ofBytes reports whether x is chosen from constants, or from words joined from parts, whose bits
// outside one byte, the same for all, are 0.
func ofBytes(x *Node) bool {
	set, ok := setIn(x)
	return ok && x.Op == Select && set>>(bits.TrailingZeros64(set)&^7) < 256
}

// setIn returns the bits that are not known to be 0 in what a selection chooses from.
func setIn(x *Node) (set uint64, ok bool) {
	switch x.Op {
	case Const:
		return x.Val, true
	case Concat:
		return mayBeSet(x), true
	case Select:
		if set, ok = setIn(x.Args[1]); ok {
			other, ok := setIn(x.Args[2])
			return set | other, ok
		}
	}
	return 0, false
}

// ofHalves reports whether the summands are words of 32 bits that were extended.
func ofHalves(x *Node) bool {
	for _, a := range x.Args {
		top := a
		if a.Op == Concat {
			top = a.Args[len(a.Args)-1]
		}
		if !(a.Op == Sext && a.Args[0].Width <= 32 || a.Op == Concat && top.IsConst() && top.Val == 0 && top.Width >= 32) {
			return false
		}
	}
	return true
}

func (g *Graph) extractParts(x *Node, lo, w int) *Node {
	var parts []*Node
	at := 0
	for _, p := range x.Args {
		from, to := max(lo, at), min(lo+w, at+p.Width)
		if from < to {
			parts = append(parts, g.Extract(p, from-at, to-from))
		}
		at += p.Width
	}
	return g.Concat(parts...)
}

// Zext returns x with zeros above, up to w bits.
func (g *Graph) Zext(x *Node, w int) *Node {
	if x.Width == w {
		return x
	}
	return g.once(Concat, x, nil, uint16(w), zext)
}

func zext(g *Graph, x, _ *Node, w uint16) *Node { return g.Concat(x, g.Const(int(w)-x.Width, 0)) }

// Sext returns x with its sign repeated up to w bits.
func (g *Graph) Sext(x *Node, w int) *Node {
	switch {
	case x.Width == w:
		return x
	case x.Op == Const:
		return g.Const(w, uint64(x.Signed()))
	}
	return g.once(Sext, x, nil, uint16(w), sext)
}

func sext(g *Graph, x, _ *Node, width uint16) *Node {
	w := int(width)
	switch {
	case x.Op == Sext:
		return g.Sext(x.Args[0], w)
	case x.Op == Concat && x.Args[len(x.Args)-1].IsConst() && x.Args[len(x.Args)-1].Val>>(x.Args[len(x.Args)-1].Width-1) == 0:
		return g.Zext(x, w)
	case x.Op == Extract && x.Val == 0 && x.Args[0].Width <= w && x.Args[0].lo >= -1<<(x.Width-1) && x.Args[0].hi < 1<<(x.Width-1):
		return g.Sext(x.Args[0], w)
	case x.Op == Select && (lookedUp(x) || x.Args[1].IsConst() || x.Args[2].IsConst()):
		return g.Select(x.Args[0], g.Sext(x.Args[1], w), g.Sext(x.Args[2], w))
	case x.Op == Sum:
		if _, _, off, ok := x.exact(); ok {
			return g.sextSum(x, w, off)
		}
		if half := uint64(1) << (x.Width - 1); x.Val == half && len(x.Args) == 1 && x.Coefs[0] == 1 { // the sign is turned over
			return g.Plus(g.Zext(x.Args[0], w), -int64(half))
		}
	case x.Op == Mul:
		if lo, hi, ok := times(x.Args[0], x.Args[1]); ok && lo >= -1<<(x.Width-1) && hi < 1<<(x.Width-1) {
			return g.Mul(g.Sext(x.Args[0], w), g.Sext(x.Args[1], w))
		}
	case x.Op == Concat && x.Args[len(x.Args)-1].Op == Not && x.Args[len(x.Args)-1].Width == 1: // the sign is turned over
		y := g.Concat(append(x.Args[:len(x.Args)-1:len(x.Args)-1], g.Not(x.Args[len(x.Args)-1]))...)
		return g.Plus(g.Zext(y, w), -1<<(x.Width-1))
	}
	return g.op(Sext, w, 0, x)
}

// sextSum widens the summands of a sum that does not wrap around, or is always off by as much.
func (g *Graph) sextSum(x *Node, w int, off int64) *Node {
	f := newForm(w)
	f.constant = uint64(signed(x.Val, x.Width)+off) & mask(w)
	for i, a := range x.Args {
		g.addTo(f, g.Sext(a, w), uint64(signed(x.Coefs[i], x.Width)))
	}
	return g.sumOf(f)
}

// ShlBy, ShrBy and SarBy shift by a constant.
func (g *Graph) ShlBy(x *Node, n int) *Node {
	if n >= x.Width {
		return g.Const(x.Width, 0)
	}
	if n == 0 {
		return x
	}
	return g.once(Shl, x, nil, uint16(n), shl)
}

func shl(g *Graph, x, _ *Node, n uint16) *Node {
	return g.Concat(g.Const(int(n), 0), g.Extract(x, 0, x.Width-int(n)))
}

func (g *Graph) ShrBy(x *Node, n int) *Node {
	if n >= x.Width {
		return g.Const(x.Width, 0)
	}
	return g.Zext(g.Extract(x, n, x.Width-n), x.Width)
}

func (g *Graph) SarBy(x *Node, n int) *Node {
	n = min(n, x.Width-1)
	return g.Sext(g.Extract(x, n, x.Width-n), x.Width)
}

// Shift shifts by a word of the same width. What is shifted out is lost, by the width or more all
// is.
func (g *Graph) Shift(op Op, x, by *Node) *Node {
	if by.IsConst() {
		n := int(min(by.Val, uint64(x.Width)))
		switch op {
		case Shl:
			return g.ShlBy(x, n)
		case Shr:
			return g.ShrBy(x, n)
		}
		return g.SarBy(x, n)
	}
	return g.op(op, x.Width, 0, x, by)
}

// Not inverts all bits.
func (g *Graph) Not(x *Node) *Node {
	if x.not == nil {
		x.not = g.invert(x)
		if x.not.not == nil {
			x.not.not = x
		}
	}
	return x.not
}

func (g *Graph) invert(x *Node) *Node {
	switch x.Op {
	case Const:
		return g.Const(x.Width, ^x.Val)
	case Not:
		return x.Args[0]
	case Sext:
		return g.Sext(g.Not(x.Args[0]), x.Width)
	case Concat:
		parts := make([]*Node, len(x.Args))
		for i, p := range x.Args {
			parts[i] = g.Not(p)
		}
		return g.Concat(parts...)
	case Select:
		if x.Args[1].IsConst() || x.Args[2].IsConst() {
			return g.Select(x.Args[0], g.Not(x.Args[1]), g.Not(x.Args[2]))
		}
	case And, Or:
		if x.Width == 1 { // de Morgan
			return g.logic(And+Or-x.Op, g.Not(x.Args[0]), g.Not(x.Args[1]))
		}
	}
	return g.op(Not, x.Width, 0, x)
}

// And, Or and Xor are bitwise.
func (g *Graph) And(x, y *Node) *Node { return g.logic(And, x, y) }
func (g *Graph) Or(x, y *Node) *Node  { return g.logic(Or, x, y) }
func (g *Graph) Xor(x, y *Node) *Node { return g.logic(Xor, x, y) }

func (g *Graph) logic(op Op, x, y *Node) *Node {
	x, y = inOrder(x, y)
	return g.once(op, x, y, uint16(op), logic)
}

func logic(g *Graph, x, y *Node, number uint16) *Node {
	op := Op(number)
	if n := g.simple(op, x, y); n != nil {
		return n
	}
	if op == Xor && x.IsConst() != y.IsConst() && x.Op != Concat && y.Op != Concat {
		if c := constantOf(x, y); c != 1<<(x.Width-1) { // but for the sign of a float
			return g.chain(op, x, y)
		}
	}
	if n := g.byParts(op, x, y); n != nil {
		return n
	}
	return g.chain(op, x, y)
}

// longest is how many operands of an associative operation are put in order.
const longest = 512

// chain returns an associative, commutative operation: its operands in order, the last two first.
func (g *Graph) chain(op Op, x, y *Node) *Node {
	var sides [2][]*Node
	for i, n := range []*Node{x, y} {
		for n.Op == op && len(sides[0])+len(sides[1]) < longest {
			sides[i] = append(sides[i], n.Args[0])
			n = n.Args[1]
		}
		sides[i] = append(sides[i], n)
	}
	if x.Width == 1 {
		sides[0] = withoutTests(op, sides[0], sides[1])
		sides[1] = withoutTests(op, sides[1], sides[0])
	}
	list := slices.Concat(sides[0], sides[1])
	slices.SortFunc(list, func(a, b *Node) int {
		if a == b {
			return 0
		}
		if before(a, b) {
			return -1
		}
		return 1
	})
	switch {
	case op == Xor:
		list = g.withoutPairs(list)
	case (op == FMax || op == FMin) && list[0] == list[len(list)-1]: // which makes a NaN quiet
		list = list[:2]
	default:
		list = slices.Compact(list)
	}
	if op == UMax && len(list) > 1 {
		list = slices.DeleteFunc(list, func(n *Node) bool { return n.IsConst() && n.Val == 0 })
	}
	if len(list) == 0 {
		return g.Const(x.Width, 0)
	}
	n := list[len(list)-1]
	for i := len(list) - 2; i >= 0; i-- {
		n = g.op(op, x.Width, 0, list[i], n)
	}
	return n
}

// constantOf returns the value of the one that is a constant.
func constantOf(x, y *Node) uint64 {
	if x.IsConst() {
		return x.Val
	}
	return y.Val
}

// withoutPairs drops operands of Xor that are there twice, and makes one constant of all.
func (g *Graph) withoutPairs(list []*Node) (rest []*Node) {
	c := uint64(0)
	for _, n := range list {
		if n.IsConst() {
			c ^= n.Val
		}
	}
	width := list[0].Width
	list = slices.DeleteFunc(list, (*Node).IsConst)
	if c != 0 {
		rest = append(rest, g.Const(width, c))
	}
	for i := 0; i < len(list); i++ {
		if i+1 < len(list) && list[i] == list[i+1] {
			i++
			continue
		}
		rest = append(rest, list[i])
	}
	return rest
}

// simple returns a logical operation if it is one of the arguments, a constant or a selection.
func (g *Graph) simple(op Op, x, y *Node) *Node {
	w := x.Width
	if x.IsConst() {
		x, y = y, x
	}
	if y.IsConst() && x.IsConst() {
		return g.op(op, w, 0, x, y)
	}
	if x == y {
		if op == Xor {
			return g.Const(w, 0)
		}
		return x
	}
	if g.Not(x) == y && op != Xor {
		if op == And {
			return g.Const(w, 0)
		}
		return g.Const(w, mask(w))
	}
	if y.IsConst() && (y.Val == 0 || y.Val == mask(w)) {
		switch zero := y.Val == 0; {
		case op == And && zero || op == Or && !zero:
			return y
		case op == Xor && !zero:
			return g.Not(x)
		default:
			return x
		}
	}
	if w == 1 {
		return g.absorbed(op, x, y)
	}
	if op == And && y.IsConst() && x.Op == Sum {
		if n := g.aligned(x, y.Val); n != nil {
			return n
		}
	}
	if x.Op == Sext && x.Args[0].Width == 1 && y.Op == Sext && y.Args[0].Width == 1 {
		return g.Sext(g.logic(op, x.Args[0], y.Args[0]), w)
	}
	for range 2 {
		if x.Op == Sext && x.Args[0].Width == 1 {
			c := x.Args[0]
			switch op {
			case And:
				return g.Select(c, y, g.Const(w, 0))
			case Or:
				return g.Select(c, g.Const(w, mask(w)), y)
			}
		}
		x, y = y, x
	}
	return g.ofSelects(op, x, y)
}

// aligned returns an address rounded down to a multiple of a power of two, of which all but its
// constant are multiples.
func (g *Graph) aligned(x *Node, m uint64) *Node {
	low := ^m & mask(x.Width)
	if low&(low+1) != 0 {
		return nil
	}
	for _, c := range x.Coefs {
		if c&low != 0 {
			return nil
		}
	}
	return g.Plus(x, -int64(x.Val&low))
}

// absorbed simplifies x & (x | z) and the like, of single bits.
func (g *Graph) absorbed(op Op, x, y *Node) *Node {
	if op == Xor {
		return nil
	}
	if op == And && x.Op == FLt && y.Op == FLt {
		for _, p := range [][2]*Node{{x, y}, {y, x}} { // z < l and -z < l
			z, l := p[0].Args[0], p[0].Args[1]
			if a, b := p[1].Args[0], p[1].Args[1]; a == g.FNeg(z) && b == l || a == g.FNeg(l) && b == z {
				return g.FLt(g.FAbs(z), l)
			}
		}
	}
	for range 2 {
		if less := x; op == Or && y.Op == Eq && (less.Op == Lt || less.Op == Ult) {
			a, b := less.Args[0], less.Args[1]
			if a == y.Args[0] && b == y.Args[1] || a == y.Args[1] && b == y.Args[0] { // at most
				return g.Not(g.op(less.Op, 1, 0, b, a))
			}
		}
		if y.Op == And || y.Op == Or {
			for i, z := range y.Args {
				other := y.Args[1-i]
				switch {
				case z == x && y.Op == op:
					return y
				case z == x:
					return x
				case z == g.Not(x) && y.Op == op: // x & (!x & z)
					return g.Bool(op == Or)
				case z == g.Not(x): // x & (!x | z)
					return g.logic(op, x, other)
				}
			}
		}
		x, y = y, x
	}
	return nil
}

// withoutTests drops tests for a NaN if others test what is computed from the same number.
func withoutTests(op Op, list, others []*Node) []*Node {
	return slices.DeleteFunc(list, func(x *Node) bool {
		a := tested(op, x)
		return a != nil && slices.ContainsFunc(others, func(y *Node) bool {
			b := tested(op, y)
			return b != nil && b != a && takesNaN(b, a, 3)
		})
	})
}

// tested returns the float that x tests: with Or whether it is a NaN, with And whether it is none.
func tested(op Op, x *Node) *Node {
	if op == Or && x.Op == Not {
		x = x.Args[0]
	} else if op == Or {
		return nil
	}
	if x.Op != FEq || x.Args[0] != x.Args[1] {
		return nil
	}
	return x.Args[0]
}

// takesNaN reports whether y is a NaN where x is one, as sums and products of it are, up to depth.
func takesNaN(y, x *Node, depth int) bool {
	switch {
	case x == y:
		return true
	case depth > 0 && (y.Op == FAdd || y.Op == FMul || y.Op == FFma):
		return slices.ContainsFunc(y.Args, func(z *Node) bool { return takesNaN(z, x, depth-1) })
	}
	return false
}

// ofSelects takes an operation into selections, where one of the sides becomes simple by it.
func (g *Graph) ofSelects(op Op, x, y *Node) *Node {
	if x.Op == Select && y.Op == Select {
		if x.Args[0] == y.Args[0] {
			return g.Select(x.Args[0], g.logic(op, x.Args[1], y.Args[1]), g.logic(op, x.Args[2], y.Args[2]))
		}
		if x.Args[0] == g.Not(y.Args[0]) {
			return g.Select(x.Args[0], g.logic(op, x.Args[1], y.Args[2]), g.logic(op, x.Args[2], y.Args[1]))
		}
	}
	for range 2 {
		if x.Op == Select {
			a, b := x.Args[1], x.Args[2]
			if a.IsConst() && (a.Val == 0 || a.Val == mask(a.Width)) || b.IsConst() && (b.Val == 0 || b.Val == mask(b.Width)) || y.IsConst() {
				return g.Select(x.Args[0], g.logic(op, a, y), g.logic(op, b, y))
			}
		}
		x, y = y, x
	}
	return nil
}

// byParts does a logical operation on the parts of words, if each part becomes simple.
func (g *Graph) byParts(op Op, x, y *Node) *Node {
	if x.Op != Concat && y.Op != Concat && !x.IsConst() && !y.IsConst() {
		return nil
	}
	cuts := edges(x) | edges(y)
	if cuts&(cuts-1) == 0 {
		return nil
	}
	var parts []*Node
	for lo := 0; lo < x.Width; {
		hi := lo + 1
		for !cuts.at(hi) {
			hi++
		}
		a, b := inOrder(g.Extract(x, lo, hi-lo), g.Extract(y, lo, hi-lo))
		p := g.simple(op, a, b)
		if p == nil && hi-lo == 1 && x.Op == Concat && y.Op == Concat {
			p = g.logic(op, a, b)
		}
		if p == nil {
			return nil
		}
		parts, lo = append(parts, p), hi
	}
	return g.Concat(parts...)
}

// cuts are places in a word of at most 64 bits: bit i is for the one behind bit i of the word.
type cuts uint64

func (c cuts) at(end int) bool { return c>>(end-1)&1 != 0 }

// edges returns the ends of the parts of x: the arguments of Concat, or runs of equal bits.
func edges(x *Node) cuts {
	all := cuts(1) << (x.Width - 1)
	if x.IsConst() {
		all |= runs(x)
	}
	if x.Op == Concat {
		at := 0
		for _, p := range x.Args {
			if p.IsConst() {
				all |= runs(p) << at
			}
			at += p.Width
			all |= 1 << (at - 1)
		}
	}
	return all
}

// runs returns the ends of runs of equal bits, but for the last one.
func runs(c *Node) cuts { return cuts((c.Val ^ c.Val>>1) & (mask(c.Width) >> 1)) }

// Select returns x where c, which is one bit, is set, and else y.
func (g *Graph) Select(c, x, y *Node) *Node {
	switch {
	case c.IsConst() && c.Val == 1:
		return x
	case c.IsConst():
		return y
	case x == y:
		return x
	case c.Op == Not:
		return g.Select(c.Args[0], y, x)
	case c.Op == Or:
		return g.Select(g.Not(c), y, x)
	case x.Width == 1:
		return g.selectBit(c, x, y)
	}
	x, y = g.given(c, x, true), g.given(c, y, false)
	if x == y {
		return x
	}
	switch {
	case x.Op == Select && x.Args[2] == y:
		return g.Select(g.And(c, x.Args[0]), x.Args[1], y)
	case x.Op == Select && x.Args[1] == y:
		return g.Select(g.And(c, g.Not(x.Args[0])), x.Args[2], y)
	case y.Op == Select && y.Args[1] == x:
		return g.Select(g.Or(c, y.Args[0]), x, y.Args[2])
	case y.Op == Select && y.Args[2] == x:
		return g.Select(g.Or(c, g.Not(y.Args[0])), x, y.Args[1])
	case x.IsConst() && x.Val == mask(x.Width) && y.IsConst() && y.Val == 0:
		return g.Sext(c, x.Width)
	case y.IsConst() && y.Val == mask(y.Width) && x.IsConst() && x.Val == 0:
		return g.Sext(g.Not(c), x.Width)
	}
	if c.Op == FEq && (c.Args[0] == x && c.Args[1].Is(0) || c.Args[1] == x && c.Args[0].Is(0)) && x.Width == 32 {
		if zero := g.FCopySign(g.Const(32, 0), x); zero != x {
			return g.Select(c, zero, y)
		}
	}
	if g.OneNaN && c.Op == FEq && c.Args[0] == x && c.Args[1] == x && y.IsConst() && y.Val == quiet && x.Op >= FAdd && x.Op <= FSqrt {
		return x
	}
	if (c.Op == FLt || c.Op == Lt) && c.Args[0] == y && c.Args[1].IsConst() && c.Args[1].Val == 1 && x.IsConst() && x.Val == 0 && y.lo >= 0 {
		return y // 0 where its bits are below 1
	}
	if n := g.selectOneBit(c, x, y); n != nil {
		return n
	}
	if c.Op == Ult || c.Op == Lt && c.Args[0].lo >= 0 && c.Args[1].lo >= 0 {
		switch a, b := c.Args[0], c.Args[1]; {
		case x == b && y == a:
			return g.chain(UMax, a, b)
		case x == a && y == b:
			return g.chain(UMin, a, b)
		}
	}
	return g.op(Select, x.Width, 0, c, x, y)
}

// selectOneBit takes the bits that words have in common out of a selection, if all but one are.
func (g *Graph) selectOneBit(c, x, y *Node) *Node {
	if x.Op != Concat && !x.IsConst() || y.Op != Concat && !y.IsConst() {
		return nil
	}
	at := -1
	for i := range x.Width {
		if x.Op == Concat || y.Op == Concat {
			break
		}
		if x.Val>>i&1 != y.Val>>i&1 {
			if at >= 0 {
				return nil
			}
			at = i
		}
	}
	if at < 0 {
		if at = g.oneBit(x, y); at < 0 {
			return nil
		}
	}
	var parts []*Node
	if at > 0 {
		parts = append(parts, g.Extract(x, 0, at))
	}
	parts = append(parts, g.selectBit(c, g.Extract(x, at, 1), g.Extract(y, at, 1)))
	if at+1 < x.Width {
		parts = append(parts, g.Extract(x, at+1, x.Width-at-1))
	}
	return g.Concat(parts...)
}

// oneBit returns the number of the only bit that differs in words of the same parts, -1 if there
// are more.
func (g *Graph) oneBit(x, y *Node) int {
	cuts := edges(x) | edges(y)
	at := -1
	for lo := 0; lo < x.Width; {
		hi := lo + 1
		for !cuts.at(hi) {
			hi++
		}
		if g.Extract(x, lo, hi-lo) != g.Extract(y, lo, hi-lo) {
			if hi-lo > 1 || at >= 0 {
				return -1
			}
			at = lo
		}
		lo = hi
	}
	return at
}

func (g *Graph) selectBit(c, x, y *Node) *Node {
	switch {
	case x.IsConst() && x.Val == 1:
		return g.Or(c, y)
	case x.IsConst():
		return g.And(g.Not(c), y)
	case y.IsConst() && y.Val == 0:
		return g.And(c, x)
	case y.IsConst():
		return g.Or(g.Not(c), x)
	}
	return g.op(Select, 1, 0, c, x, y)
}

// given returns x if it is known whether c holds.
func (g *Graph) given(c, x *Node, holds bool) *Node {
	for x.Op == Select {
		side := 2
		switch d := x.Args[0]; {
		case d == c && holds || d == g.Not(c) && !holds:
			side = 1
		case d == c || d == g.Not(c):
		case holds && c.Op == And && (d == c.Args[0] || d == c.Args[1]):
			side = 1
		default:
			return x
		}
		x = x.Args[side]
	}
	return x
}

// Mux returns the value of a list that an index chooses, whose lower bits alone count. Its length
// is a power of two. A list of the floats 0, 1, 2 and so on converts the bits of the index.
func (g *Graph) Mux(index *Node, values []*Node) *Node {
	if len(values) == 1 {
		return values[0]
	}
	if isCount(values) {
		return g.Unary(UToF, 32, g.Zext(g.Extract(index, 0, bits.Len(uint(len(values)-1))), 32))
	}
	half := len(values) / 2
	bit := 0
	for 1<<bit < half {
		bit++
	}
	return g.Select(g.Extract(index, bit, 1), g.Mux(index, values[half:]), g.Mux(index, values[:half]))
}

// isCount reports whether 16 values or more are the floats 0, 1, 2 and so on.
func isCount(values []*Node) bool {
	for i, v := range values {
		if !v.IsConst() || v.Val != uint64(math.Float32bits(float32(i))) {
			return false
		}
	}
	return len(values) >= 16
}
