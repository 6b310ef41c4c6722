package main

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
)

// neon emits the functions of ARMv8.0's NEON: 32 registers of 4 lanes. It
// follows the same algorithms as the ISAs of amd64, see README.md on why it is
// apart from them, and has a builder that allocates no registers by itself: the
// register maps are in the code.
type neon struct {
	file       *a64.File
	exp2Consts [2]a64.Global // by domain
	tanhConsts a64.Global
	functions  []function
	*a64.Func
}

const (
	neonLanes = 4
	neonBytes = 4 * neonLanes
)

// neonTiles: at least 12 accumulators, and 24 where the panel is wide enough:
// the newest cores have 4 FMA units of latency 4. A step's rows·vectors FMAs go
// with less than rows + vectors loads, since one load brings several numbers of
// A and an FMA takes its number from any lane.
var neonTiles = []tileShape{{1, 16}, {2, 12}, {3, 8}}

// neonStrip is the tile for whole strips of weights: 24 accumulators, and two
// registers for the numbers of A.
var neonStrip = tileShape{12, 2}

// buildNEON generates the files of NEON.
func buildNEON() (asm, stubs []byte, k kernels, err error) {
	g := &neon{file: a64.NewFile("asm", "arm64 && !purego")}
	for d := range g.exp2Consts {
		g.exp2Consts[d] = g.file.Data(domain(d).table(), domain(d).coefficients()...)
	}
	g.tanhConsts = g.file.Data("tanhNEON", tanhData()...)
	emitAll(g, neonTiles, neonStrip)
	asm, stubs, err = g.file.Build()
	if err != nil {
		return nil, nil, k, fmt.Errorf("NEON: %w", err)
	}
	return asm, stubs, kernels{"NEON", g.functions}, nil
}

// function starts a function; its name gets the ISA's suffix.
func (g *neon) function(f function) {
	g.functions = append(g.functions, f)
	name := f.name + "NEON"
	g.Func = g.file.Func(name, f.signature, name+" "+f.doc)
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
func (g *neon) stride(name string) a64.GP { return g.strideOf(name, float32s) }

// strideOf loads an int parameter that counts elements of a type, in bytes.
func (g *neon) strideOf(name string, e element) a64.GP {
	r := g.num(name)
	if e.shift() > 0 {
		g.Op("LSL", e.shift(), r, r)
	}
	return r
}

// load and store move whole vectors.
func (g *neon) load(m a64.Mem, v a64.Vec)  { g.Op("FMOVQ", m, v) }
func (g *neon) store(v a64.Vec, m a64.Mem) { g.Op("FMOVQ", v, m) }

// zero does not wait for what v held before, as VEOR would on many cores.
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

// raise is max = x > max ? x : max: FMAX would let a NaN through, and FMAXNM
// tells zeros apart.
func (g *neon) raise(max, x, scratch a64.Vec) {
	g.FCMGT(scratch, x, max)
	g.Op("VBIT", scratch.B16(), x.B16(), max.B16())
}

// advance adds a number of bytes to pointers.
func (g *neon) advance(bytes int, pointers ...a64.GP) {
	for _, p := range pointers {
		g.Op("ADD", bytes, p, p)
	}
}
