package a64

import "fmt"

// A GP is a general register of 64 bits, X0 to X30, which Go calls R0 to R30.
type GP struct{ n int }

// A Vec is a vector register of 128 bits, V0 to V31. As an operand by itself it is the scalar
// or the whole register that Go's FMOV instructions call F0 to F31.
type Vec struct{ n int }

// R returns a general register by its number, for tests and the lint. Registers that a
// function uses come from its GP method.
func R(n int) GP { return GP{n} }

// forbidden lists the general registers that are reserved, and for whom.
var forbidden = map[int]string{
	18: "the platform's register",
	26: "the closure's context",
	27: "the assembler's temporary",
	28: "the goroutine",
	29: "the frame pointer",
	30: "the return address",
	31: "the stack pointer",
}

func (r GP) String() string { return fmt.Sprintf("R%d", r.n) }

func (v Vec) String() string { return fmt.Sprintf("F%d", v.n) }

// An Arr is a vector register in an arrangement, such as V1.S4.
type Arr struct {
	v     Vec
	lanes string
}

func (v Vec) S4() Arr  { return Arr{v, "S4"} }  // four 32-bit lanes
func (v Vec) D2() Arr  { return Arr{v, "D2"} }  // two 64-bit lanes
func (v Vec) H8() Arr  { return Arr{v, "H8"} }  // eight 16-bit lanes
func (v Vec) B16() Arr { return Arr{v, "B16"} } // sixteen bytes

// S is one 32-bit lane.
func (v Vec) S(lane int) Lane { return Lane{v, lane} }

// A Lane is one 32-bit lane of a vector register.
type Lane struct {
	v    Vec
	lane int
}

// A Pair is two vector registers, which FLDPQ and FSTPQ move together.
type Pair struct{ First, Second Vec }

func (p Pair) String() string { return fmt.Sprintf("(%v, %v)", p.First, p.Second) }

// Whole is the register without an arrangement.
func (v Vec) Whole() Arr { return Arr{v, ""} }

func (a Arr) String() string {
	if a.lanes == "" {
		return fmt.Sprintf("V%d", a.v.n)
	}
	return fmt.Sprintf("V%d.%s", a.v.n, a.lanes)
}

func (l Lane) String() string { return fmt.Sprintf("V%d.S[%d]", l.v.n, l.lane) }

// A pool allocates registers, the lowest free one first.
type pool struct {
	free [32]bool
	used [32]bool
}

func (p *pool) take() (n int, ok bool) {
	for n := range p.free {
		if p.free[n] {
			p.free[n], p.used[n] = false, true
			return n, true
		}
	}
	return 0, false
}

func (p *pool) give(n int) bool {
	if !p.used[n] {
		return false
	}
	p.free[n], p.used[n] = true, false
	return true
}

// GP allocates a general register. It panics if none is left.
func (f *Func) GP() GP {
	n, ok := f.gps.take()
	if !ok {
		panic(fmt.Sprintf("a64: %s: out of general registers", f.name))
	}
	return GP{n}
}

// Vec allocates a vector register. It panics if none is left.
func (f *Func) Vec() Vec {
	n, ok := f.vecs.take()
	if !ok {
		panic(fmt.Sprintf("a64: %s: out of vector registers", f.name))
	}
	return Vec{n}
}

// Vecs allocates n vector registers.
func (f *Func) Vecs(n int) []Vec {
	vs := make([]Vec, n)
	for i := range vs {
		vs[i] = f.Vec()
	}
	return vs
}

// FreeVecs is the number of free vector registers.
func (f *Func) FreeVecs() int {
	n := 0
	for _, free := range f.vecs.free {
		if free {
			n++
		}
	}
	return n
}

// Free frees registers. It panics if one is not in use.
func (f *Func) Free(regs ...any) {
	for _, r := range regs {
		ok := false
		switch r := r.(type) {
		case GP:
			ok = f.gps.give(r.n)
		case Vec:
			ok = f.vecs.give(r.n)
		case []Vec:
			ok = true
			for _, v := range r {
				f.Free(v)
			}
		}
		if !ok {
			panic(fmt.Sprintf("a64: %s: %v is freed but not in use", f.name, r))
		}
	}
}

// Scope frees all registers that body allocates.
func (f *Func) Scope(body func()) {
	gps, vecs := f.gps, f.vecs
	body()
	f.gps, f.vecs = gps, vecs
}

// A Cond is a condition, the first operand of CSEL.
type Cond string

// LT is less than, signed.
const LT Cond = "LT"

func (c Cond) String() string { return string(c) }
