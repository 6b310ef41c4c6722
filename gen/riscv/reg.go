package riscv

import "fmt"

// A GP is a general register, X0 to X31.
type GP struct{ n int }

// An FP is a floating-point register, F0 to F31.
type FP struct{ n int }

// A Vec is a group of vector registers that holds one vector, named by its first register.
type Vec struct{ n, size int }

// Zero is the register that is always 0.
var Zero = GP{0}

// V0 is the register of masks. It is not allocated: the lint allows it as a mask alone.
var V0 = Vec{0, 1}

func (r GP) String() string  { return fmt.Sprintf("X%d", r.n) }
func (r FP) String() string  { return fmt.Sprintf("F%d", r.n) }
func (v Vec) String() string { return fmt.Sprintf("V%d", v.n) }

// reserved lists the general registers that are not allocated, and for whom they are.
var reserved = map[int]string{
	0:  "zero",
	1:  "the return address",
	2:  "the stack pointer",
	3:  "the global pointer",
	4:  "the thread pointer",
	26: "the closure's context",
	27: "the goroutine",
	31: "the assembler's temporary",
}

// A pool says which registers of a kind are in use.
type pool [32]bool

// take takes n registers that begin at a multiple of n, at from or above.
func (p *pool) take(n, from int) (int, bool) {
next:
	for r := (from + n - 1) / n * n; r+n <= len(p); r += n {
		for i := range n {
			if p[r+i] {
				continue next
			}
		}
		for i := range n {
			p[r+i] = true
		}
		return r, true
	}
	return 0, false
}

// GP allocates a general register. It panics if none is left.
func (f *Func) GP() GP {
	for n := range f.gps {
		if reserved[n] == "" && !f.gps[n] {
			f.gps[n] = true
			return GP{n}
		}
	}
	panic(fmt.Sprintf("riscv: %s: out of general registers", f.name))
}

// FP allocates a floating-point register. It panics if none is left.
func (f *Func) FP() FP {
	n, ok := f.fps.take(1, 0)
	if !ok {
		panic(fmt.Sprintf("riscv: %s: out of floating-point registers", f.name))
	}
	return FP{n}
}

// Vec allocates a group of size registers, above the group of masks. It panics if none is left.
func (f *Func) Vec(size int) Vec {
	n, ok := f.vecs.take(size, 1)
	if !ok {
		panic(fmt.Sprintf("riscv: %s: out of groups of %d vector registers", f.name, size))
	}
	return Vec{n, size}
}

// AtV0 allocates the group that begins with the register of masks. Until it is freed there are no
// masks.
func (f *Func) AtV0(size int) Vec {
	n, ok := f.vecs.take(size, 0)
	if !ok || n != 0 {
		panic(fmt.Sprintf("riscv: %s: the group at V0 is in use", f.name))
	}
	return Vec{0, size}
}

// Vecs allocates n groups.
func (f *Func) Vecs(n, size int) []Vec {
	vs := make([]Vec, n)
	for i := range vs {
		vs[i] = f.Vec(size)
	}
	return vs
}

// Free frees a group. It panics if that is not in use.
func (f *Func) Free(v Vec) {
	for n := v.n; n < v.n+v.size; n++ {
		if !f.vecs[n] {
			panic(fmt.Sprintf("riscv: %s: %v is freed but not in use", f.name, v))
		}
		f.vecs[n] = false
	}
}

// Size is the number of registers of a group.
func (v Vec) Size() int { return v.size }

// Last is the last half or quarter of a group. Elements of 16 or 8 bits lie there while the group
// receives them as 32 bits: that is where the manual lets both share registers.
func (v Vec) Last(part int) Vec { return Vec{v.n + v.size - v.size/part, v.size / part} }

// First is the first half or quarter of a group, where its elements may lie once they are narrowed.
func (v Vec) First(part int) Vec { return Vec{v.n, v.size / part} }

// Scope frees all registers that body allocates.
func (f *Func) Scope(body func()) {
	gps, fps, vecs := f.gps, f.fps, f.vecs
	body()
	f.gps, f.fps, f.vecs = gps, fps, vecs
}
