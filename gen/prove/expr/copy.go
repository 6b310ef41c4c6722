package expr

// Copy returns an expression of g that is n, with some nodes replaced. known has those, and gets
// all others.
func (g *Graph) Copy(n *Node, known map[*Node]*Node) *Node {
	if m, ok := known[n]; ok {
		return m
	}
	args := make([]*Node, len(n.Args))
	for i, a := range n.Args {
		args[i] = g.Copy(a, known)
	}
	m := g.like(n, args)
	known[n] = m
	return m
}

// like returns the operation of n on other arguments.
func (g *Graph) like(n *Node, a []*Node) *Node {
	switch n.Op {
	case Const:
		return g.Const(n.Width, n.Val)
	case Sym:
		m := g.Sym(n.Width, n.Name)
		m.lo, m.hi, m.Coefs = n.lo, n.hi, n.Coefs
		return m
	case Concat:
		return g.Concat(a...)
	case Extract:
		return g.Extract(a[0], int(n.Val), n.Width)
	case Sext:
		return g.Sext(a[0], n.Width)
	case Sum:
		f := newForm(n.Width)
		f.constant = n.Val
		for i, x := range a {
			g.addTo(f, x, n.Coefs[i])
		}
		return g.sumOf(f)
	case Mul:
		return g.Mul(a[0], a[1])
	case And, Or, Xor:
		return g.logic(n.Op, a[0], a[1])
	case UMax, UMin:
		return g.chain(n.Op, a[0], a[1])
	case Not:
		return g.Not(a[0])
	case Shl, Shr, Sar:
		return g.Shift(n.Op, a[0], a[1])
	case Select:
		return g.Select(a[0], a[1], a[2])
	case Eq:
		return g.Eq(a[0], a[1])
	case Lt:
		return g.Lt(a[0], a[1])
	case Ult:
		return g.Ult(a[0], a[1])
	case FAdd:
		return g.FAdd(a[0], a[1])
	case FMul:
		return g.FMul(a[0], a[1])
	case FFma:
		return g.FFma(a[0], a[1], a[2])
	case FDiv:
		return g.FDiv(a[0], a[1])
	case FSqrt:
		return g.FSqrt(a[0])
	case FLt:
		return g.FLt(a[0], a[1])
	case FLe:
		return g.FLe(a[0], a[1])
	case FEq:
		return g.FEq(a[0], a[1])
	case FMax, FMin:
		return g.current(g.chain(n.Op, a[0], a[1]))
	case FScale:
		return g.FScale(a[0], a[1])
	case Add64:
		return g.Add64(a[0], a[1])
	case Mul64:
		return g.Mul64(a[0], a[1])
	case Fma64:
		return g.Fma64(a[0], a[1], a[2])
	case Div64:
		return g.Div64(a[0], a[1])
	}
	return g.Unary(n.Op, n.Width, a[0])
}

// Hash returns a number that tells structures apart, the same in every graph.
func (n *Node) Hash() uint64 { return n.hash }

// Compute sets out to the values of n, from its arguments' values.
func Compute(n *Node, out []uint64, in [][]uint64) { compute(n, out, in) }
