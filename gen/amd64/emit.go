// Package amd64 generates the micro-kernels of AVX2 and AVX-512 with avo. Every algorithm is
// written once, for both.
package amd64

import (
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/spec"
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
	functions []spec.Function
	frames    map[string]int // sizes of stack frames, by function
}

// buildISA generates the functions of one ISA. It returns nothing unless all of them
// compile and pass the lint.
func buildISA(i isa) (spec.Output, error) {
	g := &gen{Context: build.NewContext(), isa: i, data: map[string]operand.Mem{}, frames: map[string]int{}}
	spec.EmitAll(g, i.tiles(), i.weightTile())
	asm, stubs, err := compile(g.Context, i.name(), func(file *ir.File) error { return errors.Join(lint(file, i, g.frames)...) })
	return spec.Output{ISA: i.name(), Asm: asm, Stubs: stubs, Functions: g.functions}, err
}

// compile turns what was emitted into a file of assembly and one of stubs, unless check
// finds an error.
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

// function starts a function. Its name gets the ISA's suffix.
func (g *gen) function(f spec.Function) {
	g.functions = append(g.functions, f)
	name := f.Name + g.name()
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr("func" + f.Signature)
	g.Doc(name + " " + f.Doc)
	g.Pragma("noescape")
	g.AlignLoop() // so that no other function's size moves this one's loops in their lines
}

// frame reserves a part of the stack for the current function.
func (g *gen) frame(bytes int) operand.Mem {
	g.frames[g.current().Name] += bytes
	return g.AllocLocal(bytes)
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
func (g *gen) stride(name string) reg.GPVirtual { return g.strideOf(name, spec.Float32) }

// strideOf loads an int parameter that counts elements of a type, in bytes.
func (g *gen) strideOf(name string, e spec.Element) reg.GPVirtual {
	r := g.num(name)
	if e.Shift() > 0 {
		g.SHLQ(operand.U8(e.Shift()), r)
	}
	return r
}

// argument returns the memory of a parameter that is not a slice.
func (g *gen) argument(name string) operand.Mem { return g.memory(g.Param(name)) }

// memory returns the memory of a parameter or a part of it.
func (g *gen) memory(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// move copies 64 bits from memory to memory.
func (g *gen) move(from, to operand.Mem) {
	x := g.GP64()
	g.MOVQ(from, x)
	g.MOVQ(x, to)
}

// loadFirst loads the first part of v and clears the rest. It tells avo so: otherwise avo
// would keep v alive from the start of the function, for the content of the rest.
func loadFirst(c *build.Context, m operand.Mem, v reg.VecVirtual, part operand.Op) {
	c.Instruction(&ir.Instruction{Opcode: "VMOVUPS", Operands: []operand.Op{m, part},
		Inputs: []operand.Op{m}, Outputs: []operand.Op{v}})
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

// repeated returns a vector of 32-bit values in read-only data, repeated until it is
// full. The same name stands for the same values.
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

// atHand returns a constant in a register if the ISA has 32 of them, else in memory.
func (g *gen) atHand(m operand.Mem) operand.Op {
	if !g.evex() {
		return m
	}
	r := g.vec()
	g.VMOVUPS(m, r)
	return r
}

func (g *gen) vec() reg.VecVirtual { return g.vector(g.Context) }

// bytes is the size of a vector.
func (g *gen) bytes() int { return 4 * g.lanes() }

// interleave emits the instructions of two functions. Those of beside are spread evenly
// over the first two thirds of those of main, so that their results are ready at the end.
// Comments of beside are dropped, as they would stand beside the wrong instructions.
// Neither function may set labels or use results of the other.
func (g *gen) interleave(main, beside func()) {
	fn := g.current()
	others, nodes := g.emitted(beside), g.emitted(main)
	others = slices.DeleteFunc(others, func(n ir.Node) bool { _, is := n.(*ir.Comment); return is })
	done := 0
	for i, n := range nodes {
		fn.AddNode(n)
		for due := (i + 1) * 3 * len(others) / (2 * len(nodes)); done < min(due, len(others)); done++ {
			fn.AddNode(others[done])
		}
	}
}

// emitted returns what a function emits, and takes it back.
func (g *gen) emitted(emit func()) []ir.Node {
	fn := g.current()
	start := len(fn.Nodes)
	emit()
	nodes := slices.Clone(fn.Nodes[start:])
	fn.Nodes = fn.Nodes[:start]
	return nodes
}

// current returns the function that is being emitted.
func (g *gen) current() *ir.Function {
	file, _ := g.Result() // its errors are reported at the end
	fns := file.Functions()
	return fns[len(fns)-1]
}
