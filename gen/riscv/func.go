package riscv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/abi0"
)

// A Func is a function under construction: its registers, its parameters and the instructions so
// far.
type Func struct {
	file      *File
	name, doc string
	sig       abi0.Signature
	gps, fps  pool
	vecs      pool
	lines     []string
	errs      []error
	labels    map[string]*label
	size      int  // registers of a group in the vector type in force, 0 if none is known
	ended     bool // execution does not continue after the last instruction
}

// A label is a place in a function, with the vector type in force there.
type label struct {
	set, used, known bool
	size             int
}

// Label sets a label. Labels are local to the function.
func (f *Func) Label(name string) {
	l := f.label(name)
	if l.set {
		f.fail("label %s is set twice", name)
	}
	l.set = true
	if f.ended {
		if !l.known {
			f.fail("label %s: the vector type is not known", name)
		}
		f.size = l.size
	} else {
		f.arrive(name)
	}
	f.ended = false
	f.lines = append(f.lines, name+":")
}

func (f *Func) label(name string) *label {
	if f.labels[name] == nil {
		f.labels[name] = &label{}
	}
	return f.labels[name]
}

// arrive notes the vector type with which execution comes to a label: it must be one.
func (f *Func) arrive(name string) {
	l := f.label(name)
	if l.known && l.size != f.size {
		f.fail("label %s: groups of %d and of %d registers", name, l.size, f.size)
	}
	l.known, l.size = true, f.size
}

// Commentf adds a line of comment.
func (f *Func) Commentf(format string, args ...any) {
	f.lines = append(f.lines, "", "\t// "+fmt.Sprintf(format, args...))
}

// Op emits an instruction, with the order of operands of Go's assembler: the destination is last.
// Operands are registers, memory, parameters and immediates (int).
func (f *Func) Op(name string, operands ...any) {
	f.check(name, operands)
	f.emit(name, operands)
}

func (f *Func) emit(name string, operands []any) {
	texts := make([]string, len(operands))
	for i, o := range operands {
		switch o := o.(type) {
		case int:
			texts[i] = fmt.Sprintf("$%d", o)
		case uint32:
			texts[i] = fmt.Sprintf("$0x%08x", o)
		case fmt.Stringer:
			texts[i] = o.String()
		case word:
			texts[i] = string(o)
		default:
			f.fail("%s: %T is no operand", name, o)
		}
	}
	f.lines = append(f.lines, strings.TrimRight("\t"+name+" "+strings.Join(texts, ", "), " "))
}

// A word is an operand that is a keyword of the assembler.
type word string

// A Mem is the memory at a register plus a number of bytes.
type Mem struct {
	base GP
	disp int
}

// At is the memory at a distance of bytes from a pointer.
func At(base GP, disp int) Mem { return Mem{base, disp} }

func (m Mem) String() string {
	if m.disp == 0 {
		return fmt.Sprintf("(%v)", m.base)
	}
	return fmt.Sprintf("%d(%v)", m.disp, m.base)
}

// SetLanes makes vectors of float32 lanes in groups of size registers the vector type in force,
// with as many lanes as avl says, or as a group has, if those are fewer. got receives their number.
// The lanes after those are left to the CPU, as no kernel reads them.
func (f *Func) SetLanes(avl GP, size int, got GP) { f.setLanes(avl, "E32", size, "TA", got) }

// SetFirstLanes is SetLanes for instructions that leave the lanes after those as they are.
func (f *Func) SetFirstLanes(avl GP, size int, got GP) { f.setLanes(avl, "E32", size, "TU", got) }

func (f *Func) setLanes(avl GP, bits word, size int, others word, got GP) {
	f.checkGP("VSETVLI", avl)
	f.checkGP("VSETVLI", got)
	f.emit("VSETVLI", []any{avl, bits, word(fmt.Sprintf("M%d", size)), others, word("MA"), got})
	f.size = size
}

// SetDoubles is SetLanes for vectors of float64.
func (f *Func) SetDoubles(avl GP, size int, got GP) {
	f.setLanes(avl, "E64", size, "TA", got)
}

// SetElements is SetLanes for elements of 8 or 16 bits, in groups of size registers.
func (f *Func) SetElements(bits int, avl GP, size int, got GP) {
	f.setLanes(avl, word(fmt.Sprintf("E%d", bits)), size, "TA", got)
}

// GatherBytes loads bytes at distances of 64 bits, in the lanes of groups of 32 bits, and makes
// words of them.
func (f *Func) GatherBytes(p GP, distances, scratch, to Vec) {
	size := f.size
	f.emit("VSETVLI", []any{Zero, word("E8"), fraction(size, 4), word("TA"), word("MA"), Zero})
	f.check("VLUXEI64V", []any{At(p, 0), distances, Vec{scratch.n, size}})
	f.emit("VLUXEI64V", []any{At(p, 0), distances, scratch})
	f.SetSize(32, size)
	f.emit("VZEXTVF4", []any{scratch, to})
}

// fraction is the size of groups whose elements are a part of the elements of groups of size
// registers.
func fraction(size, part int) word {
	if size >= part {
		return word(fmt.Sprintf("M%d", size/part))
	}
	return word(fmt.Sprintf("MF%d", part/size))
}

// SetSize makes the size of elements 64, 32, 16 or 8 bits, in the same lanes and so in groups of
// size registers.
func (f *Func) SetSize(bits, size int) {
	f.emit("VSETVLI", []any{Zero, word(fmt.Sprintf("E%d", bits)), word(fmt.Sprintf("M%d", size)), word("TA"), word("MA"), Zero})
	f.size = size
}

// SetBits makes 16 or 8 bits the size of elements, in the same lanes. Groups keep their size in
// registers with 32 bits: an instruction that narrows writes the first half of one.
func (f *Func) SetBits(bits int) {
	f.emit("VSETVLI", []any{Zero, word(fmt.Sprintf("E%d", bits)), fraction(f.size, 32/bits), word("TA"), word("MA"), Zero})
}

// ForgetLanes allows no instruction of vectors before the next SetLanes. Ways to a label may then
// have come from different vector types.
func (f *Func) ForgetLanes() { f.size = 0 }

// Jump emits a branch to a label: JMP, or BEQ, BNE, BLT, BGE with two registers (BLT if the first
// is less than the second), or BEQZ, BNEZ.
func (f *Func) Jump(name, label string, regs ...GP) {
	texts := make([]string, 0, 3)
	for _, r := range regs {
		f.checkGP(name, r)
		texts = append(texts, r.String())
	}
	f.label(label).used = true
	f.arrive(label)
	f.lines = append(f.lines, "\t"+name+" "+strings.Join(append(texts, label), ", "))
	f.ended = name == "JMP"
}

// TailJump ends the function with a jump to another function of the package, which finds the same
// parameters.
func (f *Func) TailJump(function string) {
	f.lines = append(f.lines, "\tJMP ·"+function+"(SB)")
	f.ended = true
}

// Ret returns.
func (f *Func) Ret() {
	f.emit("RET", nil)
	f.ended = true
}

// Param, Base, Len and Cap are parameters, and the parts of those that are slices. An unknown name
// is an error of the function.
func (f *Func) Param(name string) abi0.Param { return f.param(name, abi0.Whole) }
func (f *Func) Base(name string) abi0.Param  { return f.param(name, abi0.Base) }
func (f *Func) Len(name string) abi0.Param   { return f.param(name, abi0.Len) }
func (f *Func) Cap(name string) abi0.Param   { return f.param(name, abi0.Cap) }

// Result is the result.
func (f *Func) Result() abi0.Param {
	if f.sig.Result == nil {
		f.fail("has no result")
		return abi0.Param{}
	}
	return *f.sig.Result
}

func (f *Func) param(name string, part abi0.Part) abi0.Param {
	p, ok := f.sig.Find(name, part)
	if !ok {
		f.fail("no parameter %s", name)
	}
	return p
}

// Load loads a parameter into a new register.
func (f *Func) Load(p abi0.Param) GP {
	r := f.GP()
	if p.Type == "bool" {
		f.Op("MOVBU", p, r)
	} else {
		f.Op("MOV", p, r)
	}
	return r
}

// Address is the address of a table of the file, in a new register.
func (f *Func) Address(name string) GP {
	r := f.GP()
	f.SetAddress(name, r)
	return r
}

// SetAddress sets a register to the address of a table.
func (f *Func) SetAddress(name string, r GP) {
	if !slices.ContainsFunc(f.file.tables, func(t table) bool { return t.name == name }) {
		f.fail("no table %s", name)
	}
	f.Op("MOV", word("$"+name+"<>(SB)"), r)
}

// Float loads a float32 given by its bits into a new register.
func (f *Func) Float(bits uint32) FP {
	x := f.FP()
	f.Scope(func() {
		r := f.GP()
		f.Op("MOV", int(int32(bits)), r)
		f.Op("FMVWX", r, x)
	})
	return x
}
