package main

import (
	"errors"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/buildtags"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// A gen emits the functions of one ISA.
type gen struct {
	*build.Context
	isa
	data      map[string]operand.Mem // vectors in read-only data, by name
	functions []function
}

// build1 generates the files of one ISA. Nothing is returned unless all of it
// compiled and passed the lint.
func build1(i isa) (asm, stubs []byte, k kernels, err error) {
	g := &gen{Context: build.NewContext(), isa: i, data: map[string]operand.Mem{}}
	emitAll(g, i.tiles(), i.stripTile())
	asm, stubs, err = compile(g.Context, i.name(), func(file *ir.File) error { return errors.Join(lint(file, i)...) })
	return asm, stubs, kernels{i.name(), g.functions}, err
}

// compile makes a file of what has been emitted, if the check finds nothing.
func compile(c *build.Context, name string, check func(*ir.File) error) (asm, stubs []byte, err error) {
	c.Constraints(buildtags.Constraints{{{buildtags.Term("amd64")}}, {{buildtags.Not("purego")}}})
	file, err := c.Result()
	if err != nil {
		var all build.ErrorList
		if errors.As(err, &all) {
			for _, e := range all {
				err = errors.Join(err, e)
			}
		}
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := check(file); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	cfg := printer.Config{Name: "gen", Pkg: "asm"}
	if asm, err = printer.NewGoAsm(cfg).Print(file); err != nil {
		return nil, nil, err
	}
	if stubs, err = printer.NewStubs(cfg).Print(file); err != nil {
		return nil, nil, err
	}
	return asm, stubs, nil
}

// function starts a function; its name gets the ISA's suffix.
func (g *gen) function(f function) {
	g.functions = append(g.functions, f)
	name := f.name + g.name()
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr("func" + f.signature)
	g.Doc(name + " " + f.doc)
	g.Pragma("noescape")
}

// ret ends a function: the upper halves of the vector registers are cleared,
// or SSE code after it would be slow.
func (g *gen) ret() {
	g.VZEROUPPER()
	g.RET()
}

// slice loads the base pointer of a slice parameter.
func (g *gen) slice(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Base(), g.GP64()).(reg.GPVirtual)
}

// sliceLen loads the length of a slice parameter.
func (g *gen) sliceLen(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Len(), g.GP64()).(reg.GPVirtual)
}

// num loads an int parameter.
func (g *gen) num(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// stride loads an int parameter that counts float32 elements, in bytes.
func (g *gen) stride(name string) reg.GPVirtual { return g.strideOf(name, float32s) }

// strideOf loads an int parameter that counts elements of a type, in bytes.
func (g *gen) strideOf(name string, e element) reg.GPVirtual {
	r := g.num(name)
	if e.shift() > 0 {
		g.SHLQ(operand.U8(e.shift()), r)
	}
	return r
}

// argument is the memory of a parameter that is not a slice.
func (g *gen) argument(name string) operand.Mem { return g.memory(g.Param(name)) }

// memory is the memory of a parameter or a part of it.
func (g *gen) memory(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// move copies a number in memory.
func (g *gen) move(from, to operand.Mem) {
	x := g.GP64()
	g.MOVQ(from, x)
	g.MOVQ(x, to)
}

// advance adds a number of bytes to pointers.
func (g *gen) advance(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		g.ADDQ(operand.U32(bytes), p)
	}
}

// loadFirst loads the first part of v and clears the rest. avo is told that, or it
// would keep v alive from the function's start on for what the rest held.
func loadFirst(c *build.Context, m operand.Mem, v reg.VecVirtual, part operand.Op) {
	c.Instruction(&ir.Instruction{Opcode: "VMOVUPS", Operands: []operand.Op{m, part},
		Inputs: []operand.Op{m}, Outputs: []operand.Op{v}})
}

// align aligns the loop that follows, so that its instructions come from as few
// lines of the instruction cache as possible.
func (g *gen) align() {
	g.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(64)}})
}

// at is the memory at a byte offset from a pointer.
func at(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// indexed is the memory at base + index·scale.
func indexed(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// constant returns a vector of one repeated 32-bit value in read-only data.
func (g *gen) constant(bits uint32) operand.Mem {
	return g.repeated(fmt.Sprintf("const%08x", bits), bits)
}

// repeated returns a vector of 32-bit values in read-only data, repeated as often as
// they fit. The same name stands for the same values.
func (g *gen) repeated(name string, words ...uint32) operand.Mem {
	if m, ok := g.data[name]; ok {
		return m
	}
	m := g.StaticGlobal(name + g.name())
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range g.lanes() {
		g.AddDatum(4*i, operand.U32(words[i%len(words)]))
	}
	g.data[name] = m
	return m
}

// atHand is a constant in a register where the ISA has enough of them, else in
// memory.
func (g *gen) atHand(m operand.Mem) operand.Op {
	if !g.evex() {
		return m
	}
	r := g.vec()
	g.VMOVUPS(m, r)
	return r
}

// vectorsOf returns n fresh vector registers.
func (g *gen) vectorsOf(n int) []reg.VecVirtual {
	vs := make([]reg.VecVirtual, n)
	for i := range vs {
		vs[i] = g.vector(g.Context)
	}
	return vs
}

func (g *gen) vec() reg.VecVirtual { return g.vector(g.Context) }

// bytes is the size of a vector.
func (g *gen) bytes() int { return 4 * g.lanes() }
