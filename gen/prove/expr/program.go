package expr

import (
	"fmt"
	"slices"
)

// A Program computes expressions for many values of their leaves at a time.
type Program struct {
	steps []step
	bufs  [][]uint64
	nodes []*Node // whose values buffers are
	place map[*Node]int
	free  map[*Node]bool // whether a node depends on a free leaf
	batch int
}

const mostArgs = 8 // of a function that nobody knows

// A step computes a node from buffers. If it is free, it is a function of them that nobody knows.
type step struct {
	n     *Node
	out   int
	in    []int
	free  bool
	shape uint64 // tells functions that nobody knows apart
}

// Compile returns a program that computes roots from leaves, batch values at a time.
//
// Leaves among free have any value. What is computed from them counts as a function that nobody
// knows, of which this alone is used: the same function of the same arguments has the same value,
// sums and products do not depend on the order of two arguments, and a NaN makes a NaN. Such values
// are random numbers of 32 bits or more, none of them a NaN. It is an error if a word of fewer bits
// depends on free leaves, as random numbers do not tell such words apart.
func Compile(batch int, leaves, free []*Node, roots ...*Node) (*Program, error) {
	p := &Program{place: map[*Node]int{}, free: map[*Node]bool{}, batch: batch}
	for _, l := range leaves {
		p.alloc(l)
	}
	for _, l := range free {
		out := p.alloc(l)
		p.free[l] = true
		p.steps = append(p.steps, step{l, out, nil, true, l.hash})
	}
	for _, r := range roots {
		if err := p.add(r); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Program) alloc(n *Node) int {
	p.place[n] = len(p.bufs)
	p.bufs = append(p.bufs, make([]uint64, p.batch))
	p.nodes = append(p.nodes, n)
	return len(p.bufs) - 1
}

func (p *Program) add(n *Node) error {
	if _, ok := p.place[n]; ok {
		return nil
	}
	switch {
	case n.Op == Sym:
		panic("expr: a symbol that is no leaf: " + n.Name)
	case p.depends(n) && (n.Op != Select || p.depends(n.Args[0])):
		return p.addFree(n)
	}
	in := make([]int, len(n.Args))
	for i, a := range n.Args {
		if err := p.add(a); err != nil {
			return err
		}
		in[i] = p.place[a]
	}
	out := p.alloc(n)
	if n.IsConst() {
		compute(n, p.bufs[out], nil)
	} else {
		p.steps = append(p.steps, step{n: n, out: out, in: in})
	}
	return nil
}

// depends tells whether a node depends on a free leaf.
func (p *Program) depends(n *Node) bool {
	d, ok := p.free[n]
	if !ok {
		for _, a := range n.Args {
			d = p.depends(a) || d
		}
		p.free[n] = d
	}
	return d
}

// addFree adds an unknown function in the place of n. Its arguments are n's. It takes in arguments
// of fewer than 32 bits that depend on free leaves, and has their arguments instead.
func (p *Program) addFree(n *Node) error {
	if n.Width < 32 {
		return fmt.Errorf("%v of %d bits depends on any value", n.Op, n.Width)
	}
	s := step{n: n, free: true}
	if err := p.shape(n, &s); err != nil {
		return err
	}
	if len(s.in) > mostArgs {
		return fmt.Errorf("a function of %d words", len(s.in))
	}
	s.out = p.alloc(n)
	p.steps = append(p.steps, s)
	return nil
}

func (p *Program) shape(n *Node, s *step) error {
	s.shape = mix(mix(s.shape, uint64(n.Op)<<8|uint64(n.Width)), n.Val)
	for i, a := range n.Args {
		if n.Coefs != nil {
			s.shape = mix(s.shape, n.Coefs[i])
		}
		var err error
		if p.depends(a) && a.Width < 32 {
			err = p.shape(a, s)
		} else if err = p.add(a); err == nil {
			s.in = append(s.in, p.place[a])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Steps is how many nodes are computed.
func (p *Program) Steps() int { return len(p.steps) }

// Values returns the memory for the values of a node. The caller sets a leaf's before Run.
func (p *Program) Values(n *Node) []uint64 { return p.bufs[p.place[n]] }

// Run computes all nodes.
func (p *Program) Run() {
	var args [][]uint64
	for _, s := range p.steps {
		args = args[:0]
		for _, i := range s.in {
			args = append(args, p.bufs[i])
		}
		if s.free {
			s.random(p.bufs[s.out], args)
		} else {
			compute(s.n, p.bufs[s.out], args)
		}
	}
}

// commutes tells whether the first two arguments of an operation may change places, and whether a
// NaN makes one.
func (o Op) commutes() (does, spreads bool) {
	switch o {
	case FAdd, FMul, FFma:
		return true, true
	case FDiv:
		return false, true
	}
	return false, false
}

// random computes a function that nobody knows. The C of compiled.go does the same.
func (s step) random(out []uint64, in [][]uint64) {
	swap, spreads := s.n.Op.commutes()
	for i := range out {
		h, nan := uint32(s.shape)^uint32(s.shape>>32), false
		var v [mostArgs]uint32
		for k, a := range in {
			v[k] = uint32(a[i]) ^ uint32(a[i]>>32)
			nan = nan || spreads && float(a[i]) != float(a[i])
		}
		if swap {
			slices.Sort(v[:2])
		}
		for _, x := range v[:len(in)] {
			h = (h ^ x) * 0x9e3779b1
			h ^= h >> 15
		}
		out[i] = uint64(h &^ (1 << 30)) // no NaN
		if nan {
			out[i] = quiet
		}
	}
}
