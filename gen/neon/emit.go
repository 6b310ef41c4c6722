// Package emit has what all kernels of NEON need: functions with their arguments, constants,
// prefetches, transposes, exp2, and the widening of narrow elements.
package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// neon emits the functions of ARMv8.0's NEON: 32 registers of 4 lanes. Its builder does not
// allocate registers by itself: the register maps are in the code.
type neon struct {
	file       *a64.File
	exp2Consts [2]a64.Global // by domain
	functions  []spec.Function
	*a64.Func
}

const (
	vecLanes = 4
	vecBytes = 4 * vecLanes
)

// New returns what emits the functions of NEON.
func New() *neon {
	g := &neon{file: a64.NewFile("asm", "arm64 && !purego")}
	for d := range g.exp2Consts {
		g.exp2Consts[d] = g.file.Data(domain(d).table(), domain(d).coefficients()...)
	}
	return g
}

// Data adds a table of constants to the file.
func (g *neon) Data(name string, words ...uint32) a64.Global { return g.file.Data(name, words...) }

// Output returns what was emitted. It returns an error unless all of it is correct.
func (g *neon) Output() (spec.Output, error) {
	asm, stubs, err := g.file.Build()
	if err != nil {
		return spec.Output{}, fmt.Errorf("NEON: %w", err)
	}
	return spec.Output{ISA: "NEON", Asm: asm, Stubs: stubs, Functions: g.functions}, nil
}

// function starts a function. Its name gets the ISA's suffix.
func (g *neon) function(f spec.Function) {
	g.functions = append(g.functions, f)
	name := f.Name + "NEON"
	g.Func = g.file.Func(name, f.Signature, name+" "+f.Doc)
}

// slice loads the base pointer of a slice parameter.
func (g *neon) slice(name string) a64.GP { return g.param(g.Base(name)) }

// num loads an int parameter.
func (g *neon) num(name string) a64.GP { return g.param(g.Param(name)) }

func (g *neon) param(p a64.Param) a64.GP {
	r := g.GP()
	g.Load(p, r)
	return r
}

// stride loads an int parameter that counts float32 elements, in bytes.
func (g *neon) stride(name string) a64.GP { return g.strideOf(name, spec.Float32) }

// strideOf loads an int parameter that counts elements of a type, in bytes.
func (g *neon) strideOf(name string, e spec.Element) a64.GP {
	r := g.num(name)
	if e.Shift() > 0 {
		g.Op("LSL", e.Shift(), r, r)
	}
	return r
}

// load and store move whole vectors.
func (g *neon) load(m a64.Mem, v a64.Vec)  { g.Op("FMOVQ", m, v) }
func (g *neon) store(v a64.Vec, m a64.Mem) { g.Op("FMOVQ", v, m) }

// zero does not wait for the old value of v, as VEOR would on many cores.
func (g *neon) zero(v a64.Vec) { g.Op("VMOVI", 0, v.B16()) }

// broadcast sets every lane of a new vector to bits.
func (g *neon) broadcast(bits uint32) a64.Vec {
	v := g.Vec()
	r := g.GP()
	g.Op("MOVD", bits, r)
	g.Op("VDUP", r, v.S4())
	g.Free(r)
	return v
}

// broadcastParam sets every lane of a new vector to a parameter of 32 bits.
func (g *neon) broadcastParam(name string) a64.Vec {
	v := g.Vec()
	r := g.param(g.Param(name))
	g.Op("VDUP", r, v.S4())
	g.Free(r)
	return v
}

// raise is max = x > max ? x : max. FMAX would return a NaN, and FMAXNM distinguishes zeros.
func (g *neon) raise(max, x, scratch a64.Vec) {
	g.FCMGT(scratch, x, max)
	g.Op("VBIT", scratch.B16(), x.B16(), max.B16())
}
