// Package machine executes functions of generated assembly over expressions: what all instruction
// sets have in common. It reads the text, has the memory, goes through branches, and keeps the
// rules of Go's calling convention for assembly that do not depend on the instruction set. Packages
// amd64, arm64 and riscv64 have the instructions.
package machine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An Operand is an operand as the text has it, taken apart.
type Operand struct {
	Text string
	Kind Kind

	Imm   int64  // of Immediate
	Reg   string // of Register; the base of Memory; the name of Param and Static
	Index string // of Memory
	Scale int64
	Off   int64 // of Memory, Param and Static
}

// A Kind says what an operand is.
type Kind int

const (
	Other     Kind = iota // what an instruction set has besides
	Immediate             // $1
	Register              // AX
	Memory                // 8(AX)(BX*4)
	Param                 // x_base+8(FP)
	Static                // table<>+8(SB)
	Local                 // local-16(SP), from the end of the frame
	Label
)

// An Inst is an instruction. Target is the index of the one that a jump leads to.
type Inst struct {
	Op     string
	Args   []Operand
	Target int
	Line   int
	Text   string
}

func (in *Inst) String() string { return fmt.Sprintf("line %d: %s", in.Line%FileLines, in.Text) }

// FileLines is more than the lines of a file: the lines of several files are so far apart.
const FileLines = 10_000_000

// A Function is a function of a file.
type Function struct {
	Name  string
	Frame int64
	Insts []Inst
	Tail  map[int]string // functions that instructions jump to
}

// A File is a file of assembly.
type File struct {
	Functions map[string]*Function
	Data      map[string][]byte
}

var (
	textLine  = regexp.MustCompile(`^TEXT ·(\w+)\(SB\),(?: *[\w|]+,)* *\$(\d+)-\d+`)
	dataLine  = regexp.MustCompile(`^DATA +(\w+<>)\+(\d+)\(SB\)/\d+, *\$(".*")`)
	tailJump  = regexp.MustCompile(`^·(\w+)(?:\+0)?\(SB\)$`)
	paramText = regexp.MustCompile(`^(\w+)\+(-?\d+)\(FP\)$`)
	static    = regexp.MustCompile(`^\$?(\w+<>)(?:\+(\d+))?\(SB\)$`)
	local     = regexp.MustCompile(`^\$?\w+(-\d+)\(SP\)$`)
	memory    = regexp.MustCompile(`^(-?\d+)?\((\w+)\)(?:\((\w+)(?:\*(\d))?\))?$`)
	word      = regexp.MustCompile(`^(?:WORD|BYTE) +\$0x[0-9a-fBYTE$; x]+ *// *(.*)$`)
	name      = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// Read reads a file.
func Read(text string) (*File, error) {
	f := &File{map[string]*Function{}, map[string][]byte{}}
	var at *Function
	labels := map[string]int{}
	finish := func() error {
		if at == nil {
			return nil
		}
		return at.link(labels)
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "GLOBL") || strings.HasPrefix(line, "PCALIGN"):
		case strings.HasPrefix(line, "DATA"):
			if err := f.datum(line); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "TEXT"):
			if err := finish(); err != nil {
				return nil, err
			}
			m := textLine.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("line %d: %s", i+1, line)
			}
			frame, _ := strconv.ParseInt(m[2], 10, 64)
			at = &Function{Name: m[1], Frame: frame, Tail: map[int]string{}}
			f.Functions[at.Name] = at
			labels = map[string]int{}
		case strings.HasSuffix(line, ":"):
			labels[strings.TrimSuffix(line, ":")] = len(at.Insts)
		default:
			in, err := Parse(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			in.Line = i + 1
			at.Insts = append(at.Insts, in)
		}
	}
	return f, finish()
}

// Parse takes an instruction apart. Of one that is written as a word or as bytes the comment
// counts, which the tests of the generator compare with them.
func Parse(line string) (Inst, error) {
	in := Inst{Text: line, Target: -1}
	if m := word.FindStringSubmatch(line); m != nil {
		line = m[1]
	} else if at := strings.Index(line, "//"); at >= 0 {
		line = strings.TrimSpace(line[:at])
	}
	op, rest, _ := strings.Cut(line, " ")
	in.Op = op
	for _, text := range split(rest) {
		o, err := operand(text)
		if err != nil {
			return in, err
		}
		in.Args = append(in.Args, o)
	}
	return in, nil
}

// split separates operands by commas outside of brackets.
func split(s string) (list []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(s[from:]); last != "" {
		list = append(list, last)
	}
	return list
}

func operand(text string) (Operand, error) {
	o := Operand{Text: text}
	if m := static.FindStringSubmatch(text); m != nil {
		o.Kind, o.Reg = Static, m[1]
		o.Off, _ = strconv.ParseInt(m[2], 10, 64)
		return o, nil
	}
	if m := local.FindStringSubmatch(text); m != nil {
		o.Kind, o.Reg = Local, "SP"
		o.Off, _ = strconv.ParseInt(m[1], 10, 64)
		return o, nil
	}
	if x, is := strings.CutPrefix(text, "$"); is {
		v, err := strconv.ParseInt(strings.TrimPrefix(x, "+"), 0, 64)
		if err != nil {
			u, err := strconv.ParseUint(strings.TrimPrefix(x, "+"), 0, 64)
			if err != nil {
				return o, fmt.Errorf("no number: %s", text)
			}
			v = int64(u)
		}
		o.Kind, o.Imm = Immediate, v
		return o, nil
	}
	if m := paramText.FindStringSubmatch(text); m != nil {
		o.Kind, o.Reg = Param, m[1]
		o.Off, _ = strconv.ParseInt(m[2], 10, 64)
		return o, nil
	}
	if m := memory.FindStringSubmatch(text); m != nil {
		o.Kind, o.Reg, o.Index = Memory, m[2], m[3]
		o.Off, _ = strconv.ParseInt(m[1], 10, 64)
		o.Scale, _ = strconv.ParseInt(m[4], 10, 64)
		if o.Index != "" && m[4] == "" {
			o.Scale = 1
		}
		return o, nil
	}
	if name.MatchString(text) {
		o.Kind, o.Reg = Register, text
	}
	return o, nil
}

func (f *File) datum(line string) error {
	m := dataLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("no datum: %s", line)
	}
	text, err := strconv.Unquote(m[3])
	if err != nil {
		return err
	}
	if at, _ := strconv.Atoi(m[2]); at != len(f.Data[m[1]]) {
		return fmt.Errorf("a datum does not follow the one before: %s", line)
	}
	f.Data[m[1]] = append(f.Data[m[1]], text...)
	return nil
}

// link finds the targets of jumps.
func (f *Function) link(labels map[string]int) error {
	for i := range f.Insts {
		in := &f.Insts[i]
		for j := range in.Args {
			a := &in.Args[j]
			if m := tailJump.FindStringSubmatch(a.Text); m != nil {
				f.Tail[i] = m[1]
			}
			if to, ok := labels[a.Text]; ok && isLast(j, in) {
				a.Kind, in.Target = Label, to
			}
		}
	}
	return nil
}

func isLast(i int, in *Inst) bool { return i == len(in.Args)-1 }

// With returns the file with another instruction in a place.
func (f *File) With(name string, at int, in Inst) *File {
	g := &File{maps.Clone(f.Functions), f.Data}
	fn := *f.Functions[name]
	fn.Insts = slices.Clone(fn.Insts)
	fn.Insts[at] = in
	g.Functions[name] = &fn
	return g
}
