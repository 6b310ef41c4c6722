// Package neon generates the micro-kernels of NEON with the builder a64. They follow the
// algorithms of package amd64; see the README of gen for the reason why they are not the
// same code.
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
	tanhConsts a64.Global
	geluConsts a64.Global
	functions  []spec.Function
	*a64.Func
}

const (
	vecLanes = 4
	vecBytes = 4 * vecLanes
)

// tiles have at least 12 accumulators, and 24 if the query tile is wide enough: the newest
// cores have 4 FMA units of latency 4. A step takes rows·vectors FMAs, and less than rows +
// vectors loads, since one load brings several numbers of A and an FMA takes its number
// from any lane.
var tiles = []spec.TileShape{{Vectors: 1, Rows: 16}, {Vectors: 2, Rows: 12}, {Vectors: 3, Rows: 8}}

// weightTile is the register tile of WeightGemm: 24 accumulators, and two registers for the
// numbers of A.
var weightTile = spec.TileShape{Vectors: 12, Rows: 2}

// NEON generates the functions of NEON.
func NEON() (spec.Output, error) {
	g := &neon{file: a64.NewFile("asm", "arm64 && !purego")}
	for d := range g.exp2Consts {
		g.exp2Consts[d] = g.file.Data(domain(d).table(), domain(d).coefficients()...)
	}
	g.tanhConsts = g.file.Data("tanhNEON", tanhData()...)
	g.geluConsts = g.file.Data("geluNEON", geluData()...)
	spec.EmitAll(g, tiles, weightTile)
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
