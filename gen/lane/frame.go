package lane

import "slices"

// A Machine is a back end whose vector registers have the type R.
type Machine[R comparable] interface {
	Model
	Alloc() R
	Free(R)
	Emit(f *Frame[R], n *Value, dst R, vector int)
}

// A Frame knows the registers of values while a program is emitted.
type Frame[R comparable] struct {
	*Program
	Home  map[*Value]R   // of shared values that stay
	Made  map[*Value][]R // of values that the back end has, or that nothing needs any more
	m     Machine[R]
	given []R
	regs  map[*Value][]R
}

// NewFrame returns one in which no value has a register.
func NewFrame[R comparable](p *Program, m Machine[R]) *Frame[R] {
	return &Frame[R]{Program: p, Home: map[*Value]R{}, m: m, regs: map[*Value][]R{}}
}

// Reg is the register of a value, if it is in one.
func (f *Frame[R]) Reg(v *Value, vector int) (r R, ok bool) {
	if r, ok = f.Home[v]; ok {
		return r, true
	}
	if v.Shared() {
		vector = 0
	}
	if regs := f.regs[v]; vector < len(regs) {
		return regs[vector], true
	}
	return r, false
}

// Run emits a part of the program. After the rows, what they have used from before returns its
// registers.
func (f *Frame[R]) Run(part int, w Width) {
	nodes := f.parts()[part]
	if part == Before {
		f.regs = map[*Value][]R{}
	}
	for _, n := range f.before {
		if part == After && n.last == (place{Row, atEnd}) {
			for _, r := range f.regs[n] {
				f.m.Free(r)
			}
		}
	}
	vectors, times := w.Vectors, 1
	if !w.Turns {
		vectors, times = 1, w.Vectors
	}
	for t := range times {
		for at, n := range nodes {
			for v := t; v < t+vectors; v++ {
				if !n.Shared() || v == 0 {
					f.emit(n, place{part, at}, v, v == w.Vectors-1)
				}
			}
		}
	}
}

// Again emits the loads or the stores of Phases once more, for one vector, in the
// registers that its values have.
func (f *Frame[R]) Again(part int) {
	for _, n := range f.parts()[part] {
		var dst R
		if n.Op != Store {
			dst = f.regs[n][0]
		}
		f.m.Emit(f, n, dst, 0)
	}
}

// Of emits a function in line: of vectors, whose registers it takes, to its results.
func (f *Frame[R]) Of(given ...R) (results []R) {
	f.given = given
	f.Run(Before, Width{len(given), true})
	for vector := range given {
		r, _ := f.Reg(f.Result, vector)
		results = append(results, r)
	}
	return results
}

// emit emits an instruction for a vector. The result takes the register of an operand that it is
// the last to use, or a new one.
func (f *Frame[R]) emit(n *Value, here place, vector int, last bool) {
	if made, ok := f.Made[n]; ok {
		f.regs[n] = made
		return
	}
	dies := func(a *Value) bool {
		return a.last == here && f.regs[a] != nil && a.into == nil && (!a.Shared() || last)
	}
	var dst R
	var taken *Value
	switch {
	case n.IsStep():
	case n.Op == Given && f.given != nil:
		dst = f.given[vector]
	case n.into != nil:
		dst, _ = f.Reg(n.into, vector)
	default:
		for _, i := range f.m.InPlace(n) {
			if a := n.Args[i]; taken == nil && dies(a) && !a.Shared() {
				dst, _ = f.Reg(a, vector)
				taken = a
			}
		}
		if taken == nil {
			dst = f.m.Alloc()
		}
	}
	if !n.IsStep() {
		for len(f.regs[n]) <= vector {
			f.regs[n] = append(f.regs[n], dst)
		}
		f.regs[n][vector] = dst
	}
	if n.Op != Given && (n.Op != Set || n.Args[1].into == nil) {
		f.m.Emit(f, n, dst, vector)
	}
	for i, a := range n.Args {
		if a != taken && dies(a) && !slices.Contains(n.Args[:i], a) {
			r, _ := f.Reg(a, vector)
			f.m.Free(r)
		}
	}
}
