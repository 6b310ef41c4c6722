// Package expr has expressions over words of 1 to 64 bits, hash-consed: two expressions that were
// built alike are one node. The constructors bring expressions into a normal form by rules that
// hold for all values of the symbols, where every NaN that a float operation makes counts as the
// same.
//
// Float operations follow IEEE 754, rounded to nearest even. Concat and Extract alone move bits:
// shifts, masks and the sign operations of floats become Concat and Extract. Integer sums are
// linear forms modulo 2^width.
package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Op says what a node computes from its arguments.
type Op uint8

const (
	Const   Op = iota
	Sym        // an unknown word
	Concat     // arguments are words side by side, the lowest first
	Extract    // Width bits of the argument, from bit Val on
	Sext       // the argument, its sign repeated
	Sum        // Val + sum of Coefs[i]·Args[i], modulo 2^Width
	Mul        // product modulo 2^Width
	And        // bitwise, two arguments
	Or
	Xor
	Not
	Shl // by a number of bits that is a word of the same width; beyond the width, 0 is left
	Shr
	Sar    // or the sign
	Select // Args[0] ? Args[1] : Args[2]
	Eq
	Lt // signed
	Ult
	UMax // of unsigned words
	UMin
	FAdd // from here on binary32, unless the comment says otherwise
	FMul
	FFma // Args[0]·Args[1] + Args[2], rounded once
	FDiv
	FSqrt
	FLt
	FLe
	FEq
	FMax     // the larger one as IEEE 754-2019 maximum has it: NaN for a NaN, +0 above -0
	FMin     // the same of minimum
	FRound   // to an integer, ties to even
	FScale   // Args[0]·2^floor(Args[1]), as VSCALEFPS has it
	SToF     // from a signed integer of 32 or 64 bits
	UToF     // from an unsigned one
	FToS     // to a signed integer of 32 bits, ties to even, 0x80000000 beyond and for a NaN, as x86 has it
	FToSat   // the same with the nearest integer beyond, and 0 for a NaN, as Arm has it
	HToF     // from binary16; a NaN becomes quiet
	FToH     // to binary16; a NaN stays one
	Widen    // to binary64
	Sqrt64   // of binary64
	Narrow64 // from binary64 to binary32
	Add64    // of binary64, as all that follow
	Mul64
	Fma64
	Div64
	ops
)

var opNames = [ops]string{"const", "sym", "concat", "extract", "sext", "sum", "mul", "and", "or", "xor", "not", "shl", "shr", "sar",
	"select", "eq", "lt", "ult", "umax", "umin", "fadd", "fmul", "fma", "fdiv", "fsqrt", "flt", "fle", "feq", "fmax", "fmin", "fround", "fscale",
	"stof", "utof", "ftos", "ftosat", "htof", "ftoh", "widen", "sqrt64", "narrow64", "add64", "mul64", "fma64", "div64"}

func (o Op) String() string { return opNames[o] }

// A Node is an expression.
type Node struct {
	hash  uint64 // of the structure, the same in every graph
	Val   uint64 // of a constant; the first bit of Extract; the constant of Sum
	Args  []*Node
	Width int
	Op    Op
	mark  uint32   // of the last search that met it, see Graph.mark
	at    int32    // its number among those that it met
	Coefs []uint64 // of Sum; the exponents of SymBetween
	Name  string   // of a symbol

	ID     int    // in the order of making: arguments have smaller ones
	form   uint64 // of the structure without the names of symbols, or the order of arguments
	lo, hi int64  // bounds of the value as a signed number
	not    *Node  // the inverse, once it was asked for
}

// IsConst reports whether n is a constant.
func (n *Node) IsConst() bool { return n.Op == Const }

// Is reports whether n is a constant of that value.
func (n *Node) Is(v uint64) bool { return n.Op == Const && n.Val == v }

// Signed returns a constant as a signed number.
func (n *Node) Signed() int64 { return signed(n.Val, n.Width) }

// Bounds returns bounds of the value as a signed number.
func (n *Node) Bounds() (lo, hi int64) { return n.lo, n.hi }

func mask(w int) uint64 { return ^uint64(0) >> (64 - w) }

func signed(v uint64, w int) int64 { return int64(v<<(64-w)) >> (64 - w) }

// A Graph holds the nodes that expressions consist of.
type Graph struct {
	table     []slot // by their hashes, each at its place or after it; its length is a power of two
	next      int
	constants []*Node // some of them, by their values; its length is a power of two
	memory    memory
	marks     uint32
	met       int // nodes, by NumberOf

	nodes []Node   // memory for the next ones
	args  []*Node  // and for their arguments
	coefs []uint64 // and coefficients

	replaced map[*Node]*replacement
	OneNaN   bool // operations make no NaN but 0x7fc00000, as on RISC-V
}

// A slot has the hash beside the node: most nodes that a search meets need not be looked at.
type slot struct {
	hash uint64
	n    *Node
}

// New returns an empty graph.
func New() *Graph { return &Graph{table: make([]slot, 1<<7), constants: make([]*Node, 1<<5)} }

// Size returns the number of nodes.
func (g *Graph) Size() int { return g.next }

// intern returns the node of the graph that is n. It keeps nothing of n, so that one that is there
// already needs no memory.
func (g *Graph) intern(n Node) *Node {
	h := n.digest()
	at := g.place(h)
	for ; g.table[at].n != nil; at = (at + 1) & (len(g.table) - 1) {
		if old := &g.table[at]; old.hash == h && old.n.is(&n) {
			return old.n
		}
	}
	piece := min(len(g.table)/8, 256)
	m := &take(&g.nodes, 1, piece)[0]
	*m = Node{Op: n.Op, Width: n.Width, Val: n.Val, Name: n.Name, ID: g.next, hash: h}
	if n.Args != nil {
		m.Args = take(&g.args, len(n.Args), piece)
		copy(m.Args, n.Args)
	}
	if n.Coefs != nil {
		m.Coefs = take(&g.coefs, len(n.Coefs), piece)
		copy(m.Coefs, n.Coefs)
	}
	m.form = m.formOf()
	m.lo, m.hi = m.bounds()
	g.table[at] = slot{h, m}
	if g.next++; 2*g.next > len(g.table) {
		g.grow()
	}
	return m
}

// take returns n elements of memory that is allocated in pieces: it lives as long as the graph.
func take[T any](free *[]T, n, piece int) []T {
	if len(*free) < n {
		*free = make([]T, max(n, piece))
	}
	list := (*free)[:n:n]
	*free = (*free)[n:]
	return list
}

// place is where in the table a search for a hash begins.
func (g *Graph) place(h uint64) int { return int(h^h>>32) & (len(g.table) - 1) }

const mostConstants = 1 << 11 // that are kept apart

func (g *Graph) grow() {
	old := g.table
	g.table = make([]slot, 2*len(old))
	for _, s := range old {
		if s.n == nil {
			continue
		}
		at := g.place(s.hash)
		for g.table[at].n != nil {
			at = (at + 1) & (len(g.table) - 1)
		}
		g.table[at] = s
	}
	if n := len(g.table) / 4; n <= mostConstants {
		g.constants = make([]*Node, n)
	}
	g.memory.grow(len(g.table))
}

// is reports whether n is an operation that m is, of the same arguments.
func (n *Node) is(m *Node) bool {
	if n.Op != m.Op || n.Width != m.Width || n.Val != m.Val || !slices.Equal(n.Args, m.Args) {
		return false
	}
	return (n.Op != Sym || n.Name == m.Name) && (n.Op != Sum || slices.Equal(n.Coefs, m.Coefs))
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (n *Node) digest() uint64 {
	h := mix(uint64(n.Op)<<8|uint64(n.Width), n.Val)
	for i, a := range n.Args {
		h = mix(h, a.hash)
		if n.Coefs != nil {
			h = mix(h, n.Coefs[i])
		}
	}
	for _, c := range []byte(n.Name) {
		h = mix(h, uint64(c))
	}
	return h
}

// formOf returns a number that nodes have in common that differ in symbols alone.
func (n *Node) formOf() uint64 {
	h := mix(uint64(n.Op)<<8|uint64(n.Width), n.Val)
	for i, a := range n.Args {
		x := a.form
		if n.Op == Sum {
			x = mix(x, n.Coefs[i])
		}
		if i < n.Op.Unordered() {
			h += x * 0x9e3779b97f4a7c15
		} else {
			h = mix(h, x)
		}
	}
	return h
}

// Form returns that number: nodes whose forms differ are not the same function of some symbols.
func (n *Node) Form() uint64 { return n.form }

// Unordered is how many of the first arguments of an operation may change places.
func (o Op) Unordered() int {
	switch o {
	case FAdd, FMul, FFma, And, Or, Xor, Mul, UMax, UMin, FMax, FMin, Eq, FEq, Add64, Mul64, Fma64:
		return 2
	case Sum:
		return math.MaxInt
	}
	return 0
}

// before orders the arguments of commutative operations.
func before(a, b *Node) bool {
	if a.hash != b.hash {
		return a.hash < b.hash
	}
	return a.ID < b.ID
}

func inOrder(a, b *Node) (*Node, *Node) {
	if before(b, a) {
		return b, a
	}
	return a, b
}

// Const returns a constant of w bits.
func (g *Graph) Const(w int, v uint64) *Node {
	v &= mask(w)
	at := &g.constants[int(v^v>>16^uint64(w)<<5)&(len(g.constants)-1)]
	if n := *at; n == nil || n.Val != v || n.Width != w {
		*at = g.intern(Node{Op: Const, Width: w, Val: v})
	}
	return *at
}

// Int returns a signed constant of 64 bits.
func (g *Graph) Int(v int64) *Node { return g.Const(64, uint64(v)) }

// Bool returns a constant of one bit.
func (g *Graph) Bool(b bool) *Node {
	if b {
		return g.Const(1, 1)
	}
	return g.Const(1, 0)
}

// Sym returns an unknown word. Its name tells it apart.
func (g *Graph) Sym(w int, name string) *Node { return g.intern(Node{Op: Sym, Width: w, Name: name}) }

// SymWithin returns an unknown word that a contract limits to lo..hi, as a signed number.
func (g *Graph) SymWithin(w int, name string, lo, hi int64) *Node {
	n := g.Sym(w, name)
	n.lo, n.hi = lo, hi
	return n
}

// SymBetween returns an unknown binary32 that is 0, NaN or from 2^low to 2^high in magnitude.
func (g *Graph) SymBetween(name string, low, high int) *Node {
	n := g.Sym(32, name)
	n.Coefs = []uint64{uint64(low), uint64(high)}
	return n
}

// Between returns the bounds of such a symbol.
func (n *Node) Between() (low, high int, ok bool) {
	if n.Op != Sym || n.Coefs == nil {
		return 0, 0, false
	}
	return int(int64(n.Coefs[0])), int(int64(n.Coefs[1])), true
}

// Within limits the value of a word, as a signed number, by an argument of the caller.
func (g *Graph) Within(n *Node, lo, hi int64) *Node {
	g.memory.forget()
	n.lo, n.hi = lo, hi
	return n
}

type replacement struct {
	by   *Node
	uses int
}

// Replace makes Unary, FMax, FMin and FEq return y in the place of x, by an argument of the caller.
func (g *Graph) Replace(x, y *Node) {
	if g.replaced == nil {
		g.replaced = map[*Node]*replacement{}
	}
	g.replaced[x] = &replacement{by: y}
	g.memory.forget()
}

// current returns what is in the place of a node.
func (g *Graph) current(n *Node) *Node {
	if r := g.replaced[n]; r != nil {
		r.uses++
		return r.by
	}
	return n
}

// Replaced returns how often nodes were replaced.
func (g *Graph) Replaced() map[*Node]int {
	uses := map[*Node]int{}
	for n, r := range g.replaced {
		if r.uses > 0 {
			uses[n] = r.uses
		}
	}
	return uses
}

// op returns a node with its arguments, after folding constants.
func (g *Graph) op(op Op, w int, val uint64, args ...*Node) *Node {
	n := Node{Op: op, Width: w, Val: val, Args: args}
	if op != Sym && !slices.ContainsFunc(args, func(a *Node) bool { return !a.IsConst() }) {
		var in [3]uint64
		if len(args) <= len(in) {
			for i, a := range args {
				in[i] = a.Val
			}
			return g.Const(w, evalOne(&n, in[0], in[1], in[2]))
		}
	}
	return g.intern(n)
}

// bounds returns bounds of the value of n as a signed number.
func (n *Node) bounds() (lo, hi int64) {
	lo, hi = -1<<(n.Width-1), int64(mask(n.Width)>>1)
	switch n.Op {
	case Const:
		return n.Signed(), n.Signed()
	case Sext:
		return n.Args[0].lo, n.Args[0].hi
	case Concat:
		top := n.Args[len(n.Args)-1]
		if !top.IsConst() {
			return lo, hi
		}
		rest := n.Width - top.Width
		lo = top.Signed() << rest
		if len(n.Args) == 2 && n.Args[0].lo >= 0 {
			return lo + n.Args[0].lo, lo + n.Args[0].hi
		}
		return lo, lo + int64(mask(rest))
	case UMax:
		if n.Args[0].lo >= 0 && n.Args[1].lo >= 0 {
			return 0, max(n.Args[0].hi, n.Args[1].hi)
		}
	case UMin:
		if n.Args[0].lo >= 0 && n.Args[1].lo >= 0 {
			return 0, min(n.Args[0].hi, n.Args[1].hi)
		}
	case Select:
		if c := n.Args[0]; (c.Op == FLt || c.Op == Lt) && c.Args[0] == n.Args[1] && c.Args[1] == n.Args[2] && c.Args[0].lo >= 0 && c.Args[1].lo >= 0 {
			return 0, n.Args[2].hi // the smaller one, as the bits of floats have their order
		}
		return min(n.Args[1].lo, n.Args[2].lo), max(n.Args[1].hi, n.Args[2].hi)
	case Extract:
		if a := n.Args[0]; n.Val == 0 && a.lo >= lo && a.hi <= hi {
			return a.lo, a.hi
		}
	case Sum:
		if l, h, _, ok := n.exact(); ok {
			return l, h
		}
	case Mul:
		if l, h, ok := times(n.Args[0], n.Args[1]); ok && l >= lo && h <= hi {
			return l, h
		}
	}
	return lo, hi
}

const far = 1 << 45 // bounds beyond are not kept

// times returns the bounds of a product, if they are small.
func times(a, b *Node) (lo, hi int64, ok bool) {
	const far = 1 << 30
	if a.lo < -far || a.hi > far || b.lo < -far || b.hi > far {
		return 0, 0, false
	}
	lo, hi = product(a.lo, a.hi, b.lo, b.hi)
	return lo, hi, true
}

// product returns the bounds of a product, given its factors' bounds.
func product(aLo, aHi, bLo, bHi int64) (lo, hi int64) {
	p := [4]int64{aLo * bLo, aLo * bHi, aHi * bLo, aHi * bHi}
	return slices.Min(p[:]), slices.Max(p[:])
}

// exact returns the bounds of a sum that does not wrap around, or always as often, and what it is
// off by then. A product and a multiple of one of its factors, as in (w-32)·x, are bounded
// together.
func (n *Node) exact() (lo, hi, off int64, ok bool) {
	lo, hi, ok = n.unbounded()
	if !ok || n.Width > 32 {
		return lo, hi, 0, ok && lo >= -1<<(n.Width-1) && hi <= int64(mask(n.Width)>>1)
	}
	off = signed(uint64(lo), n.Width) - lo
	return lo + off, hi + off, off, hi+off <= int64(mask(n.Width)>>1)
}

// unbounded returns the bounds of a sum of integers of any size.
func (n *Node) unbounded() (lo, hi int64, ok bool) {
	for i, a := range n.Args {
		if c := signed(n.Coefs[i], n.Width); a.lo < -far || a.hi > far || c < -1<<16 || c > 1<<16 {
			return 0, 0, false
		}
	}
	lo = signed(n.Val, n.Width)
	hi = lo
	var joined map[int]bool
	some := slices.ContainsFunc(n.Args, func(a *Node) bool { return a.Op != Mul })
	for i, a := range n.Args {
		if !some {
			break // multiple finds no factor
		}
		at, other := n.multiple(a, joined)
		if other == nil {
			continue
		}
		if joined == nil {
			joined = map[int]bool{}
		}
		c, d, x := signed(n.Coefs[i], n.Width), signed(n.Coefs[at], n.Width), n.Args[at]
		l, h := product(c, c, other.lo, other.hi)
		l, h = product(l+d, h+d, x.lo, x.hi)
		lo, hi = lo+l, hi+h
		joined[i], joined[at] = true, true
	}
	for i, a := range n.Args {
		if !joined[i] {
			c := signed(n.Coefs[i], n.Width)
			l, h := product(c, c, a.lo, a.hi)
			lo, hi = lo+l, hi+h
		}
		if lo < -far<<16 || hi > far<<16 {
			return 0, 0, false
		}
	}
	return lo, hi, true
}

// multiple returns where a sum has a multiple of a factor of product a, which is not joined yet,
// and the other factor, nil if it has none.
func (n *Node) multiple(a *Node, joined map[int]bool) (at int, other *Node) {
	if a.Op != Mul {
		return 0, nil
	}
	for i, x := range a.Args {
		other := a.Args[1-i]
		at := slices.Index(n.Args, x)
		if at >= 0 && x.Op != Mul && !joined[at] && max(-x.lo, x.hi) < 1<<16 && max(-other.lo, other.hi) < 1<<16 {
			return at, other
		}
	}
	return 0, nil
}

// String returns n in prefix form, cut at some depth.
func (n *Node) String() string { return n.text(6) }

func (n *Node) text(depth int) string {
	switch {
	case n.Op == Const:
		return fmt.Sprintf("%#x:%d", n.Val, n.Width)
	case n.Op == Sym:
		return n.Name
	case depth == 0:
		return fmt.Sprintf("#%d", n.ID)
	}
	var parts []string
	for i, a := range n.Args {
		s := a.text(depth - 1)
		if n.Coefs != nil && n.Coefs[i] != 1 {
			s = fmt.Sprintf("%d·%s", signed(n.Coefs[i], n.Width), s)
		}
		parts = append(parts, s)
	}
	switch {
	case n.Op == Sum && n.Val != 0:
		parts = append(parts, fmt.Sprintf("%#x", n.Val))
	case n.Op == Extract:
		parts = append(parts, fmt.Sprintf("%d+%d", n.Val, n.Width))
	case n.Op == Sext:
		parts = append(parts, fmt.Sprint(n.Width))
	}
	return n.Op.String() + "(" + strings.Join(parts, " ") + ")"
}
