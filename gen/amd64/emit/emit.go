// Package emit has what all kernels of amd64 need: the instruction sets, and functions with
// their arguments, constants, loops and transposes.
package emit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/abi0"
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

// A Gen emits the functions of one ISA.
type Gen struct {
	*build.Context
	ISA
	data        map[string]operand.Mem // vectors in read-only data, by name
	contracts   spec.Contracts
	takesStruct bool // the function that is emitted takes a struct of its arguments
	functions   []spec.Function
	frames      map[string]int      // sizes of stack frames, by function
	jumps       map[string][]string // the functions that functions jump to
	elsewhere   map[string][]string // the extensions that kernels of other ISAs need
}

// New returns what emits the functions of an ISA.
func New(i ISA, c spec.Contracts) *Gen {
	return &Gen{Context: build.NewContext(), ISA: i, contracts: c, data: map[string]operand.Mem{}, frames: map[string]int{}, jumps: map[string][]string{}, elsewhere: map[string][]string{}}
}

// Output returns what was emitted. It returns an error unless all functions compile and pass
// the lint.
func (g *Gen) Output() (spec.Output, error) {
	asm, stubs, err := Compile(g.Context, g.Name(), func(file *ir.File) error {
		g.findNeeds(file)
		return errors.Join(lint(file, g.ISA, g.frames)...)
	})
	if err != nil {
		return spec.Output{}, err
	}
	if asm, err = Encode(asm); err != nil {
		return spec.Output{}, err
	}
	return spec.Output{ISA: g.Name(), Asm: g.contracts.NameStructs(asm), Stubs: g.contracts.NameStructs(stubs), Functions: g.functions}, nil
}

// findNeeds sets the CPU features that the kernels need for their instructions, and for the
// functions that they jump to.
func (g *Gen) findNeeds(file *ir.File) {
	extensions := maps.Clone(g.elsewhere)
	for _, f := range file.Functions() {
		extensions[f.Name] = f.ISA
	}
	var all func(name string) []string
	all = func(name string) []string {
		list := slices.Clone(extensions[name])
		for _, to := range g.jumps[name] {
			list = append(list, all(to)...)
		}
		return list
	}
	for i := range g.functions {
		f := &g.functions[i]
		f.Needs = features(all(f.Symbol(g.Name())))
	}
}

// features returns the CPU features among the extensions that a function's instructions belong to:
// those that not every amd64 has. AVX is part of AVX2, without which no kernel runs.
func features(extensions []string) (list []string) {
	for _, x := range extensions {
		if !strings.HasPrefix(x, "SSE") && !strings.HasPrefix(x, "MMX") && x != "CMOV" && x != "AVX" {
			list = append(list, x)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Compile turns what was emitted into a file of assembly and a file of stubs, unless check finds an
// error.
func Compile(c *build.Context, name string, check func(*ir.File) error) (asm, stubs []byte, err error) {
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
	for _, f := range file.Functions() {
		moveBehind(f)
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

// Kernel starts a function. Its name gets the ISA's suffix.
func (g *Gen) Kernel(f spec.Function) {
	f = f.OfVector(g.Lanes())
	g.functions = append(g.functions, f)
	g.start(f.Symbol(g.Name()), f, f.Doc(g.Name()))
}

// Shared starts a function that is no kernel: kernels with the signature of f jump to it. Its name
// gets the ISA's suffix, and what follows it in the comment.
func (g *Gen) Shared(name string, f spec.Function, what string) {
	name += g.Name()
	g.start(name, f, name+" "+what)
}

func (g *Gen) start(name string, f spec.Function, doc string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	signature := g.contracts.Signature(&f)
	g.takesStruct = spec.TakesStruct(signature)
	g.SignatureExpr("func" + signature)
	g.Doc(abi0.Comment(doc)...)
	g.Pragma("noescape")
	g.AlignLoop() // so that no other function's size moves this one's loops in their lines
}

// Param is an argument, which may be a field of a struct of them.
func (g *Gen) Param(name string) gotypes.Component {
	if g.takesStruct {
		return g.Context.Param("a").Field(spec.Field(name))
	}
	return g.Context.Param(name)
}

// TailJump ends a function with a jump to a shared one, which finds the same arguments.
func (g *Gen) TailJump(name string) { g.jump(name + g.Name()) }

// TailJumpTo ends a function with a jump to the kernel f of an ISA, which each CPU with this one
// has, and some extensions of it.
func (g *Gen) TailJumpTo(f spec.Function, i ISA, extensions ...string) {
	to := f.Symbol(i.Name())
	g.jump(to)
	g.elsewhere[to] = extensions
}

func (g *Gen) jump(name string) {
	from := g.current().Name
	g.jumps[from] = append(g.jumps[from], name)
	to := operand.Mem{Symbol: operand.Symbol{Name: "·" + name}, Base: reg.StaticBase}
	g.Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{to}, IsTerminal: true})
}

// mostUnchecked is the largest stack frame of a function that does not check whether the stack has
// room for it. Go's linker bounds it together with the frame of the caller.
const mostUnchecked = 512

// Frame reserves a part of the stack for the current function.
func (g *Gen) Frame(bytes int) operand.Mem {
	g.frames[g.current().Name] += bytes
	if g.frames[g.current().Name] > mostUnchecked {
		g.Attributes(0)
	}
	return g.AllocLocal(bytes)
}

// Slice loads the base pointer of a slice parameter.
func (g *Gen) Slice(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Base(), g.GP64()).(reg.GPVirtual)
}

// SliceLen loads the length of a slice parameter.
func (g *Gen) SliceLen(name string) reg.GPVirtual {
	return g.Load(g.Param(name).Len(), g.GP64()).(reg.GPVirtual)
}

// Num loads an int parameter.
func (g *Gen) Num(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// Stride loads an int parameter that counts float32 elements, in bytes.
func (g *Gen) Stride(name string) reg.GPVirtual { return g.StrideOf(name, spec.Float32) }

// BytesOf loads an int parameter that counts columns of a type, in bytes.
func (g *Gen) BytesOf(name string, e spec.Element) reg.GPVirtual {
	r := g.Num(name)
	g.ToBytes(r, e)
	return r
}

// ToBytes makes bytes of a number of columns.
func (g *Gen) ToBytes(columns reg.GPVirtual, e spec.Element) {
	if e.Shift() > 0 {
		g.SHLQ(operand.U8(e.Shift()), columns)
	} else if e.Shift() < 0 {
		g.SHRQ(operand.Imm(1), columns)
	}
}

// OfColumns is the memory of a type's columns from a number of them on.
func (g *Gen) OfColumns(base, columns reg.GPVirtual, e spec.Element) operand.Mem {
	if e.Shift() >= 0 {
		return Indexed(base, columns, 1<<e.Shift())
	}
	bytes := g.GP64()
	g.MOVQ(columns, bytes)
	g.ToBytes(bytes, e)
	return Indexed(base, bytes, 1)
}

// StrideOf loads an int parameter that counts elements of a type, in bytes. Distances of elements
// that are part of a byte count bytes.
func (g *Gen) StrideOf(name string, e spec.Element) reg.GPVirtual {
	r := g.Num(name)
	if e.Shift() > 0 {
		g.SHLQ(operand.U8(e.Shift()), r)
	}
	return r
}

// Argument returns the memory of a parameter that is not a slice.
func (g *Gen) Argument(name string) operand.Mem { return g.Memory(g.Param(name)) }

// Memory returns the memory of a parameter or a part of it.
func (g *Gen) Memory(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// Move copies 64 bits from memory to memory.
func (g *Gen) Move(from, to operand.Mem) {
	x := g.GP64()
	g.MOVQ(from, x)
	g.MOVQ(x, to)
}

// LoadFirst loads the first part of v and clears the rest. It tells avo so: otherwise avo
// would keep v alive from the start of the function, for the content of the rest.
func LoadFirst(c *build.Context, m operand.Mem, v reg.VecVirtual, part operand.Op) {
	c.Instruction(&ir.Instruction{Opcode: "VMOVUPS", Operands: []operand.Op{m, part},
		Inputs: []operand.Op{m}, Outputs: []operand.Op{v}})
}

// At is the memory at a byte offset from a pointer.
func At(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// Indexed is the memory at base + index·scale.
func Indexed(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// OfFour is the memory at row i of four, whose distance is given once and three times.
func OfFour(first, distance, distance3 reg.Register, i int) operand.Mem {
	switch i {
	case 0:
		return At(first, 0)
	case 3:
		return Indexed(first, distance3, 1)
	}
	return Indexed(first, distance, uint8(i))
}

// Constant returns a vector of one repeated 32-bit value in read-only data.
func (g *Gen) Constant(bits uint32) operand.Mem {
	return g.Repeated(fmt.Sprintf("const%08x", bits), bits)
}

// Repeated returns a vector of 32-bit values in read-only data, repeated until it is
// full. The same name stands for the same values.
func (g *Gen) Repeated(name string, words ...uint32) operand.Mem {
	if m, ok := g.data[name]; ok {
		return m
	}
	return g.table(name, g.Lanes(), func(i int) uint32 { return words[i%len(words)] })
}

// Bytes returns a vector of bytes in read-only data, by their numbers.
func (g *Gen) Bytes(name string, entry func(i int) uint8) operand.Mem {
	if m, ok := g.data[name]; ok {
		return m
	}
	return g.table(name, g.Lanes(), func(i int) (word uint32) {
		for b := range 4 {
			word |= uint32(entry(4*i+b)) << (8 * b)
		}
		return word
	})
}

// table adds n words to read-only data.
func (g *Gen) table(name string, n int, word func(i int) uint32) operand.Mem {
	words := make([]uint32, n)
	for i := range words {
		words[i] = word(i)
	}
	m := g.StaticGlobal(name + g.Name())
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, line := range abi0.Lines(words) {
		g.AppendDatum(operand.String(line))
	}
	g.data[name] = m
	return m
}

// AtHand returns a constant in a register if the ISA has 32 of them, else in memory.
func (g *Gen) AtHand(m operand.Mem) operand.Op {
	if !g.EVEX() {
		return m
	}
	r := g.Vec()
	g.VMOVUPS(m, r)
	return r
}

func (g *Gen) Vec() reg.VecVirtual { return g.Vector(g.Context) }

// VecBytes is the size of a vector.
func (g *Gen) VecBytes() int { return 4 * g.Lanes() }

// Interleave emits the instructions of two functions. It spreads beside's evenly over the first two
// thirds of main's, so that their results are ready at the end. Comments of beside are dropped, as
// they would stand beside the wrong instructions. None of them comes between a jump of main and its
// label. beside sets no labels, and neither function uses results of the other.
func (g *Gen) Interleave(main, beside func()) {
	fn := g.current()
	others, nodes := g.emitted(beside), g.emitted(main)
	others = slices.DeleteFunc(others, func(n ir.Node) bool { _, is := n.(*ir.Comment); return is })
	done, skipped := 0, false
	for i, n := range nodes {
		fn.AddNode(n)
		switch n := n.(type) {
		case *ir.Instruction:
			skipped = skipped || n.IsBranch
		case ir.Label:
			skipped = false
		}
		for due := (i + 1) * 3 * len(others) / (2 * len(nodes)); !skipped && done < min(due, len(others)); done++ {
			fn.AddNode(others[done])
		}
	}
}

// emitted returns what a function emits, and takes it back.
func (g *Gen) emitted(emit func()) []ir.Node {
	fn := g.current()
	start := len(fn.Nodes)
	emit()
	nodes := slices.Clone(fn.Nodes[start:])
	fn.Nodes = fn.Nodes[:start]
	return nodes
}

// current returns the function that is being emitted.
func (g *Gen) current() *ir.Function {
	file, _ := g.Result() // its errors are reported at the end
	fns := file.Functions()
	return fns[len(fns)-1]
}

// What is emitted between labels that begin with these names, the first one included, moves behind
// the end of its function: a vector that takes no careful steps then takes no jump.
const (
	BehindLabel    = "careful"
	EndBehindLabel = "usual"
)

func moveBehind(f *ir.Function) {
	open, behind := [][]ir.Node{nil}, []ir.Node(nil)
	for _, n := range f.Nodes {
		last := len(open) - 1
		switch label, _ := n.(ir.Label); {
		case strings.HasPrefix(string(label), BehindLabel):
			open = append(open, []ir.Node{n})
		case strings.HasPrefix(string(label), EndBehindLabel):
			behind = append(behind, open[last]...)
			open = open[:last]
		default:
			open[last] = append(open[last], n)
		}
	}
	f.Nodes = append(open[0], behind...)
}
