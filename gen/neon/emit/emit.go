// Package emit has what all kernels of NEON need: functions with their arguments, constants,
// prefetches, transposes, and the widening of narrow elements.
package emit

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// A Gen emits the functions of ARMv8.0's NEON: 32 registers of 4 lanes. Its builder does not
// allocate registers by itself: the register maps are in the code.
type Gen struct {
	file      *a64.File
	contracts spec.Contracts
	functions []spec.Function
	*a64.Func
}

const (
	VecLanes = 4            // float32 in a vector
	VecBytes = 4 * VecLanes // size of a vector
)

// New returns what emits the functions of NEON.
func New(c spec.Contracts) *Gen {
	return &Gen{file: a64.NewFile("asm", "arm64 && !purego"), contracts: c}
}

// Data adds a table of constants to the file.
func (g *Gen) Data(name string, words ...uint32) a64.Global { return g.file.Data(name, words...) }

// Append adds words to such a table, and returns where they lie, in bytes.
func (g *Gen) Append(to a64.Global, words ...uint32) int { return g.file.Append(to, words...) }

// Output returns what was emitted. It returns an error unless all of it is correct.
func (g *Gen) Output() (spec.Output, error) {
	asm, stubs, err := g.file.Build()
	if err != nil {
		return spec.Output{}, fmt.Errorf("NEON: %w", err)
	}
	for i := range g.functions {
		f := &g.functions[i]
		f.Needs = g.file.Needs(f.Symbol("NEON"))
	}
	return spec.Output{ISA: "NEON", Asm: g.contracts.NameStructs(asm), Stubs: g.contracts.NameStructs(stubs), Functions: g.functions}, nil
}

// Kernel starts a function. Its name gets the ISA's suffix.
func (g *Gen) Kernel(f spec.Function) {
	f = f.OfVector(VecLanes)
	g.functions = append(g.functions, f)
	g.Func = g.file.Func(f.Symbol("NEON"), g.contracts.Signature(&f), f.Doc("NEON"))
}

// Shared starts a function that is no kernel: kernels with the signature of f jump to it. Its name
// gets the ISA's suffix, and what follows it in the comment.
func (g *Gen) Shared(name string, f spec.Function, what string) {
	name += "NEON"
	g.Func = g.file.Func(name, g.contracts.Signature(&f), name+" "+what)
}

// TailJump ends a function with a jump to a shared one, which finds the same arguments.
func (g *Gen) TailJump(name string) { g.Func.TailJump(name + "NEON") }

// Move copies 64 bits from parameter to parameter.
func (g *Gen) Move(from, to a64.Param) {
	r := g.LoadParam(from)
	g.Op("MOVD", r, to)
	g.Free(r)
}

// Slice loads the base pointer of a slice parameter.
func (g *Gen) Slice(name string) a64.GP { return g.LoadParam(g.Base(name)) }

// Num loads an int parameter.
func (g *Gen) Num(name string) a64.GP { return g.LoadParam(g.Param(name)) }

// LoadParam loads a parameter into a new register.
func (g *Gen) LoadParam(p a64.Param) a64.GP {
	r := g.GP()
	g.Load(p, r)
	return r
}

// Stride loads an int parameter that counts float32 elements, in bytes.
func (g *Gen) Stride(name string) a64.GP { return g.StrideOf(name, spec.Float32) }

// StrideOf loads an int parameter that counts elements of a type, in bytes.
func (g *Gen) StrideOf(name string, e spec.Element) a64.GP {
	r := g.Num(name)
	if e.Shift() > 0 {
		g.Op("LSL", e.Shift(), r, r)
	}
	return r
}

// LoadFrom and StoreTo move whole vectors.
func (g *Gen) LoadFrom(m a64.Mem, v a64.Vec) { g.Op("FMOVQ", m, v) }
func (g *Gen) StoreTo(v a64.Vec, m a64.Mem)  { g.Op("FMOVQ", v, m) }

// LoadVecs and StoreVecs move an even number of whole vectors from p on, in pairs.
func (g *Gen) LoadVecs(p a64.GP, vs []a64.Vec) {
	for i := 0; i < len(vs); i += 2 {
		g.Op("FLDPQ", a64.At(p, i*VecBytes), a64.Pair{First: vs[i], Second: vs[i+1]})
	}
}

func (g *Gen) StoreVecs(vs []a64.Vec, p a64.GP) {
	for i := 0; i < len(vs); i += 2 {
		g.Op("FSTPQ", a64.Pair{First: vs[i], Second: vs[i+1]}, a64.At(p, i*VecBytes))
	}
}

// Zero does not wait for the old value of v, as VEOR would on many cores.
func (g *Gen) Zero(v a64.Vec) { g.Op("VMOVI", 0, v.B16()) }

// Broadcast sets every lane of a new vector to bits.
func (g *Gen) Broadcast(bits uint32) a64.Vec {
	v := g.Vec()
	r := g.GP()
	g.Op("MOVD", bits, r)
	g.Op("VDUP", r, v.S4())
	g.Free(r)
	return v
}

// BroadcastParam sets every lane of a new vector to a parameter of 32 bits.
func (g *Gen) BroadcastParam(name string) a64.Vec {
	v := g.Vec()
	r := g.LoadParam(g.Param(name))
	g.Op("VDUP", r, v.S4())
	g.Free(r)
	return v
}

// Raise is max = x > max ? x : max. FMAX would return a NaN, and FMAXNM distinguishes zeros.
func (g *Gen) Raise(max, x, scratch a64.Vec) {
	g.FCMGT(scratch, x, max)
	g.Op("VBIT", scratch.B16(), x.B16(), max.B16())
}
