// Package rvv generates the micro-kernels of RISC-V's vectors (RVV 1.0) with the builder riscv. One
// binary is for vectors of any length. Kernels of lanes take as many of them at a time as the CPU
// has. A product is for a query tile of a number of lanes, see gemm.go; package tier says which
// tiles a CPU uses.
package rvv

import (
	"fmt"

	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

const isa = "RVV"

// gen emits functions.
type gen struct {
	file      *riscv.File
	contracts spec.Contracts
	functions []spec.Function
	tables    map[string]bool // of the file
	*riscv.Func
}

// RVV generates the functions of RVV. All others run in Go.
func RVV(c spec.Contracts) (spec.Output, error) {
	g := &gen{file: riscv.NewFile("asm", "riscv64 && !purego"), contracts: c, tables: map[string]bool{}}
	for _, s := range shapes {
		g.product(s)
	}
	for _, s := range evenOddShapes {
		g.product(s)
	}
	for _, lanes := range widths {
		g.EvenOdd(lanes)
		for _, e := range []spec.Epilogue{spec.Store, spec.StoreMax, spec.StoreMerge} {
			g.Gemm(lanes, e)
		}
	}
	for _, e := range []spec.Element{spec.Float32, spec.F16, spec.BF16, spec.Int8} {
		g.SkinnyQK(e)
		g.SkinnyPV(e)
	}
	g.SkinnySoftmax()
	g.Additive()
	g.SkinnyUnpack()
	g.HeadValues()
	g.Halves()
	g.Unpack()
	g.HeadScores()
	g.Round()
	g.ScaleRows()
	g.WeightGemm()
	g.WeightGemmHalves(spec.F16)
	g.WeightGemmHalves(spec.BF16)
	g.formats()
	for _, q := range spec.SingleFormats {
		g.WeightGemmQ(q)
		g.WeightGemmInt8(q)
		g.WeightWidenQ(q)
	}
	for _, q := range spec.GroupedFormats {
		g.WeightWidenQ(q)
		g.WeightGemmInt8(q)
	}
	g.WeightQuantize()
	narrow := []spec.Element{spec.F16, spec.BF16, spec.E4M3, spec.E5M2}
	for _, e := range narrow {
		g.Widen(e)
	}
	for _, e := range narrow {
		g.Narrow(e)
	}
	g.WidenInt8()
	g.WidenInt4()
	g.UnpackInt4()
	g.QuantizeInt8()
	g.QuantizeInt4()
	g.Flush()
	g.Gather()
	g.Finite()
	g.PackHalves()
	g.Hadamard()
	g.RMSNorm()
	g.LayerNorm()
	g.Means()
	if err := g.laneKernels(); err != nil {
		return spec.Output{}, err
	}
	g.VectorLanes()
	g.Peak()
	g.Read()
	asm, stubs, err := g.file.Build()
	if err != nil {
		return spec.Output{}, fmt.Errorf("%s: %w", isa, err)
	}
	return spec.Output{ISA: isa, Asm: c.NameStructs(asm), Stubs: c.NameStructs(stubs), Functions: g.functions}, nil
}

// VectorLanes asks for as many lanes as a register has. A draft of the instruction set, which some
// CPUs have, does not know this vector type and answers 0.
func (g *gen) VectorLanes() {
	g.kernel(spec.VectorLanes)
	n := g.GP()
	g.SetLanes(riscv.Zero, 1, n)
	g.Op("MOV", n, g.Result())
	g.Ret()
}

// kernel starts a function. Its name gets the ISA's suffix.
func (g *gen) kernel(f spec.Function) {
	g.functions = append(g.functions, f)
	g.Func = g.file.Func(f.Symbol(isa), g.contracts.Signature(&f), f.Doc(isa))
}

// shared starts a function that is no kernel: kernels with the signature of f jump to it.
func (g *gen) shared(name string, f spec.Function, what string) {
	name += isa
	g.Func = g.file.Func(name, g.contracts.Signature(&f), name+" "+what)
}

// stride loads an int parameter that counts float32 elements, in bytes.
func (g *gen) stride(name string) riscv.GP {
	r := g.Load(g.Param(name))
	g.Op("SLLI", 2, r, r)
	return r
}

// add adds to a register.
func (g *gen) add(x, to riscv.GP) { g.Op("ADD", x, to, to) }

// raise is max = x > max ? x : max. VFMAX would order zeros, and prefer a number to a NaN in max.
func (g *gen) raise(max, x riscv.Vec) {
	g.Op("VMFLTVV", x, max, riscv.V0)
	g.Op("VMERGEVVM", x, max, riscv.V0, max)
}

// clear emits 0 in the lanes of the mask.
func (g *gen) clear(x riscv.Vec) { g.Op("VMERGEVXM", riscv.Zero, x, riscv.V0, x) }

// loadFloat loads a parameter.
func (g *gen) loadFloat(name string) riscv.FP {
	x := g.FP()
	g.Op("MOVF", g.Param(name), x)
	return x
}

// eachRow emits a loop over the rows that the parameter n counts, in the register count. After each
// the pointers go on by their strides.
func (g *gen) eachRow(count riscv.GP, body func(), move ...[2]riscv.GP) {
	g.Op("MOV", g.Param("n"), count)
	g.Jump("BEQZ", "rows", count)
	g.Label("row")
	body()
	for _, m := range move {
		g.add(m[1], m[0])
	}
	g.Op("ADD", -1, count, count)
	g.Jump("BNEZ", "row", count)
	g.Label("rows")
}
