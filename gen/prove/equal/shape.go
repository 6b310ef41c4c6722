package equal

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
)

// A shape tells a claim from all others but those about other symbols: each of these holds if one
// does. So the words of a vector, and words of calls of other sizes, are proven once.
type shape [sha256.Size]byte

// mostOfShape is how many nodes the expressions of a shape have at most. To look further costs more
// than it saves.
const mostOfShape = 4000

// mostOfChain is how many operands of a chain are written in an order of their own.
const mostOfChain = 64

// A shaper writes down expressions: a node is its operation, then its arguments; a node that was
// there before is its number, and so is a symbol, without its name.
type shaper struct {
	q    *Query
	text []byte
}

// shapeOf returns the shape of a claim. It has none if the contract says something of its nodes
// that the shape does not have, or if it is too large.
func (q *Query) shapeOf(c claim) (shape, bool) {
	if len(q.known.Same)+len(q.known.Given)+len(q.known.Rules) > 0 {
		return shape{}, false
	}
	s := &q.shaper
	s.q, s.text = q, s.text[:0]
	q.g.Number()
	for _, is := range []bool{c.isFloat, q.g.OneNaN} {
		if is {
			s.put(1)
		} else {
			s.put(0)
		}
	}
	if !s.add(c.a) || !s.add(c.b) {
		return shape{}, false
	}
	return sha256.Sum256(s.text), true
}

func (s *shaper) add(n *expr.Node) bool {
	number, before := s.q.g.NumberOf(n)
	if before {
		s.put(0, uint64(number))
		return true
	}
	if number == mostOfShape {
		return false
	}
	lo, hi := n.Bounds()
	args := s.operands(n) // two, or more for a chain
	s.put(1+uint64(n.Op), uint64(n.Width), n.Val, uint64(len(args)), uint64(len(n.Coefs)), uint64(lo), uint64(hi), uint64(s.q.known.Kinds[n]))
	if d := s.q.known.Domains[n]; d != nil {
		s.put(uint64(len(d.Name)))
		s.text = append(s.text, d.Name...)
	} else {
		s.put(0)
	}
	if n.Op == expr.Sym {
		s.put(n.Coefs...)
	}
	if len(args) > len(n.Args) {
		slices.SortStableFunc(args, func(a, b *expr.Node) int { return cmp.Compare(a.Form(), b.Form()) })
		return !slices.ContainsFunc(args, func(a *expr.Node) bool { return !s.add(a) })
	}
	var few [8]int
	for _, i := range inOrder(n, few[:0]) {
		if n.Op == expr.Sum {
			s.put(n.Coefs[i])
		}
		if !s.add(n.Args[i]) {
			return false
		}
	}
	return true
}

// operands returns the arguments of a node, or the operands of a chain in memory of their own, if
// nothing is supposed of the nodes between them.
func (s *shaper) operands(n *expr.Node) []*expr.Node {
	if !isChain(n.Op) {
		return n.Args
	}
	for m := n.Args[1]; m.Op == n.Op; m = m.Args[1] {
		if s.q.known.Kinds[m] != Any || s.q.known.Domains[m] != nil {
			return n.Args
		}
	}
	if list := operands(n); len(list) <= mostOfChain {
		return list
	}
	return n.Args
}

// inOrder returns the numbers of the arguments of a node, in an order that does not depend on
// symbols where they may change places. Graphs have an order that does.
func inOrder(n *expr.Node, list []int) []int {
	for i := range n.Args {
		list = append(list, i)
	}
	slices.SortStableFunc(list[:min(n.Op.Unordered(), len(list))], func(i, j int) int {
		if n.Op == expr.Sum && n.Coefs[i] != n.Coefs[j] {
			return cmp.Compare(n.Coefs[i], n.Coefs[j])
		}
		return cmp.Compare(n.Args[i].Form(), n.Args[j].Form())
	})
	return list
}

func (s *shaper) put(list ...uint64) {
	for _, x := range list {
		s.text = binary.AppendUvarint(s.text, x)
	}
}

// known returns the lemmas that proved a claim of a shape.
func (l *Lemmas) known(s shape) (used []string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, ok = l.shapes[s]
	for _, name := range used {
		if l.failed[name] != "" {
			return nil, false
		}
		if x := l.all[name]; x != nil {
			x.Uses++
		}
	}
	return used, ok
}

func (l *Lemmas) learn(s shape, used []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shapes[s] = used
}
