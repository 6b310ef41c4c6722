package a64

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/gen/abi0"
)

// A Func is a function under construction: its registers, its parameters and
// the instructions so far.
type Func struct {
	name  string
	doc   string
	sig   abi0.Signature
	frame int // bytes of the stack
	gps   pool
	vecs  pool
	lines []string
	apart []string // lines at the end
	errs  []error

	labels  map[string]int  // how often each is set
	jumps   map[string]bool // labels that are jumped to
	ended   bool            // execution does not continue after the last instruction
	globals map[string]bool // of the file

	needs map[string]bool // CPU features of its instructions
	next  string          // the function that it ends with a jump to
}

// Label sets a label. Labels are local to the function.
func (f *Func) Label(name string) {
	f.labels[name]++
	f.ended = false
	if n := len(f.lines); n == 0 || !strings.HasPrefix(f.lines[n-1], "\t//") {
		f.lines = append(f.lines, "") // unless there is a comment for it
	}
	f.lines = append(f.lines, name+":")
}

// Commentf adds a line of comment.
func (f *Func) Commentf(format string, args ...any) {
	f.lines = append(f.lines, "", "\t// "+fmt.Sprintf(format, args...))
}

// Op emits an instruction that Go's assembler knows, with its order of operands: the
// destination is last. Operands are registers, arrangements, lanes, memory, parameters,
// immediates (int), and lists of arrangements.
func (f *Func) Op(name string, operands ...any) {
	f.check(name, operands...)
	f.emit(name, operands)
}

func (f *Func) emit(name string, operands []any) {
	texts := make([]string, len(operands))
	for i, o := range operands {
		texts[i] = f.text(o)
	}
	f.lines = append(f.lines, strings.TrimRight("\t"+name+" "+strings.Join(texts, ", "), " "))
	f.ended = name == "B" || name == "RET"
}

func (f *Func) text(operand any) string {
	switch o := operand.(type) {
	case int:
		return fmt.Sprintf("$%d", o)
	case uint32:
		return fmt.Sprintf("$0x%08x", o)
	case []Arr:
		texts := make([]string, len(o))
		for i := range o {
			texts[i] = o[i].String()
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case fmt.Stringer:
		return o.String()
	}
	f.fail("%T is no operand", operand)
	return "?"
}

// A Mem is an address: a register plus a constant or another register.
type Mem struct {
	base  GP
	index *GP
	disp  int
}

// At is the memory at a distance of bytes from a pointer.
func At(base GP, disp int) Mem { return Mem{base: base, disp: disp} }

// Indexed is the memory at base + index.
func Indexed(base, index GP) Mem { return Mem{base: base, index: &index} }

func (m Mem) String() string {
	switch {
	case m.index != nil:
		return fmt.Sprintf("(%v)(%v)", m.base, *m.index)
	case m.disp == 0:
		return fmt.Sprintf("(%v)", m.base)
	}
	return fmt.Sprintf("%d(%v)", m.disp, m.base)
}

// A Local is memory in the function's frame on the stack.
type Local struct{ disp int }

// Frame reserves bytes of the stack for the function and returns them in pieces of the size
// of a vector. A function may call it once.
func (f *Func) Frame(vecs int) []Local {
	if f.frame > 0 {
		f.fail("has two frames")
	}
	f.frame = 16 * vecs
	locals := make([]Local, vecs)
	for i := range locals {
		locals[i].disp = f.frame - 16*i
	}
	return locals
}

func (l Local) String() string { return fmt.Sprintf("local-%d(SP)", l.disp) }

// Addr is the address of l, an operand of MOVD.
func (l Local) Addr() Address { return Address{l} }

// An Address is the address of a Local.
type Address struct{ l Local }

func (a Address) String() string { return "$" + a.l.String() }

// A Shifted is a general register shifted left, as the first operand of ADD.
type Shifted struct {
	r  GP
	by int
}

// Shl is r shifted left.
func (r GP) Shl(by int) Shifted { return Shifted{r, by} }

func (s Shifted) String() string { return fmt.Sprintf("%v<<%d", s.r, s.by) }

// A Global is the address of a global of the file.
type Global string

func (g Global) String() string { return fmt.Sprintf("$%s<>(SB)", string(g)) }

// Jump emits a branch to a label: B, BEQ, BLT and so on, or with a register CBZ and CBNZ.
func (f *Func) Jump(name, label string, regs ...GP) {
	f.jumps[label] = true
	text := "\t" + name + " "
	for _, r := range regs {
		f.check(name, r)
		text += r.String() + ", "
	}
	f.lines = append(f.lines, text+label)
	f.ended = name == "B"
}

// JumpIfBit emits a branch to a label if a bit of r is set.
func (f *Func) JumpIfBit(bit int, r GP, label string) {
	f.Jump(fmt.Sprintf("TBNZ $%d,", bit), label, r)
}

// Apart emits code that stands at the end of the function, which ends in a jump.
func (f *Func) Apart(emit func()) {
	at, ended := len(f.lines), f.ended
	emit()
	if !f.ended {
		f.fail("continues after what is apart")
	}
	f.apart = append(f.apart, f.lines[at:]...)
	f.lines, f.ended = f.lines[:at], ended
}

// TailJump ends the function with a jump to another function of the package, which finds the same
// parameters.
func (f *Func) TailJump(function string) {
	f.lines = append(f.lines, "\tB ·"+function+"(SB)")
	f.next = function
	f.ended = true
}

// Align aligns what follows.
func (f *Func) Align(n int) {
	f.lines = append(f.lines, fmt.Sprintf("\tPCALIGN $%d", n))
}

// Ret returns.
func (f *Func) Ret() { f.emit("RET", nil) }
