package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// An interpreter runs functions of generated assembly of amd64 that few CPUs can run. It knows the
// instructions that these functions have and panics at any other. Memory is one slice, and
// addresses are indices.
type interpreter struct {
	lines  [][]string     // of the function: the opcode, and its operands
	labels map[string]int // indices of lines
	data   map[string]int // addresses of symbols
	args   map[string]int // addresses of arguments, by name
	mem    []byte
	gp     map[string]int64
	vec    map[string][16]uint32 // by the number of the register
	places map[string]place
	less   bool // signed, of the last comparison
	zero   bool
	carry  bool  // of the last shift or comparison
	last   int64 // the difference of the last comparison
}

// avx512Assembly returns the assembly for AVX-512.
func avx512Assembly(t *testing.T) string {
	t.Helper()
	files, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	return string(files[asmDir+"/avx512_amd64.s"])
}

var operands = regexp.MustCompile(`[^,(]+(\([^)]*\))*(\([^)]*\))?|(\([^)]*\))+`)

// newInterpreter reads a function and the symbols of a file.
func newInterpreter(asm, function string) *interpreter {
	in := &interpreter{labels: map[string]int{}, data: map[string]int{}, args: map[string]int{}, gp: map[string]int64{}, vec: map[string][16]uint32{}, places: map[string]place{}}
	for line := range strings.Lines(asm) {
		if datum, is := strings.CutPrefix(line, "DATA "); is {
			in.addDatum(datum)
		}
	}
	for function != "" {
		function = in.read(asm, function)
	}
	return in
}

var tailJump = regexp.MustCompile(`^JMP +·(\w+)\+0\(SB\)$`)

// read reads a function, and returns the one that it ends with a jump to.
func (in *interpreter) read(asm, function string) (next string) {
	inside := false
	for line := range strings.Lines(asm) {
		line = strings.TrimSpace(line)
		opcode, rest, _ := strings.Cut(line, " ")
		switch {
		case opcode == "TEXT":
			if inside = strings.HasPrefix(rest, "·"+function+"(SB)"); inside {
				_, frame, _ := strings.Cut(rest, "$")
				in.gp["SP"] = in.stack(frame)
			}
		case !inside || line == "" || strings.HasPrefix(line, "//") || opcode == "DATA" || opcode == "GLOBL":
		case strings.HasSuffix(line, ":"):
			in.labels[strings.TrimSuffix(line, ":")] = len(in.lines)
		case tailJump.MatchString(line):
			next = tailJump.FindStringSubmatch(line)[1]
		default:
			fields := []string{opcode}
			for _, f := range operands.FindAllString(rest, -1) {
				fields = append(fields, strings.TrimSpace(f))
			}
			in.lines = append(in.lines, fields)
		}
	}
	return next
}

// addDatum adds what a line such as `const0fAVX512<>+0(SB)/8, $"\x0f\x0f..."` says.
func (in *interpreter) addDatum(text string) {
	place, value, _ := strings.Cut(text, ", $")
	name, _, _ := strings.Cut(place, "+")
	if _, ok := in.data[name]; !ok {
		in.data[name] = len(in.mem)
	}
	x, err := strconv.Unquote(strings.TrimSpace(value))
	if err != nil {
		panic(err)
	}
	in.mem = append(in.mem, x...)
}

// bytes adds memory and returns its address.
func (in *interpreter) bytes(b []byte) int64 {
	at := len(in.mem)
	in.mem = append(in.mem, b...)
	return int64(at)
}

// stack adds the frame of a function, given as "size-arguments". It begins with what others left
// there.
func (in *interpreter) stack(frame string) int64 {
	size, _, _ := strings.Cut(frame, "-")
	n, err := strconv.Atoi(size)
	if err != nil {
		panic(err)
	}
	return in.bytes(bytes.Repeat([]byte{0xaa}, n))
}

// argument sets an argument, named as in the assembly.
func (in *interpreter) argument(name string, x int64) {
	in.args[name] = int(in.bytes(binary.LittleEndian.AppendUint64(nil, uint64(x))))
}

var memory = regexp.MustCompile(`^(-?\d+)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)

// address returns the address of a memory operand.
func (in *interpreter) address(op string) int {
	if name, is := strings.CutSuffix(op, "(FP)"); is {
		name, _, _ = strings.Cut(name, "+")
		if _, ok := in.args[name]; !ok {
			in.argument(name, 0)
		}
		return in.args[name]
	}
	if symbol, is := strings.CutSuffix(op, "(SB)"); is {
		name, offset, _ := strings.Cut(symbol, "+")
		n, err := strconv.Atoi(offset)
		if err != nil {
			panic(err)
		}
		return in.data[name] + n
	}
	p, ok := in.places[op]
	if !ok {
		m := memory.FindStringSubmatch(op)
		if m == nil {
			panic("no memory operand: " + op)
		}
		p.base, p.index = m[2], m[3]
		p.disp, _ = strconv.Atoi(m[1])
		p.scale, _ = strconv.Atoi(m[4])
		in.places[op] = p
	}
	return p.disp + int(in.gp[p.base]) + int(in.gp[p.index])*p.scale
}

// A place is a memory operand.
type place struct {
	disp, scale int
	base, index string
}

// isVector reports whether an operand is a vector register, and returns its number.
func isVector(op string) (string, bool) {
	if len(op) > 1 && strings.ContainsRune("XYZ", rune(op[0])) && op[1] >= '0' && op[1] <= '9' {
		return op[1:], true
	}
	return "", false
}

// value returns a 64-bit operand.
func (in *interpreter) value(op string) int64 {
	if x, is := strings.CutPrefix(op, "$"); is {
		n, err := strconv.ParseInt(strings.TrimPrefix(x, "+"), 0, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	if x, ok := in.gp[op]; ok {
		return x
	}
	at := in.address(op)
	return int64(binary.LittleEndian.Uint64(in.mem[at:]))
}

// vector returns a vector operand, in memory as far as that goes.
func (in *interpreter) vector(op string) (v [16]uint32) {
	if n, is := isVector(op); is {
		return in.vec[n]
	}
	from := in.mem[in.address(op):]
	for i := 0; i < len(v) && 4*i+4 <= len(from); i++ {
		v[i] = binary.LittleEndian.Uint32(from[4*i:])
	}
	return v
}

// run runs the function to its end.
func (in *interpreter) run() {
	for at := 0; ; at++ {
		l := in.lines[at]
		switch to := in.step(l[0], l[1:]); to {
		case "":
		case "RET":
			return
		default:
			at = in.labels[to] - 1
		}
	}
}

// step executes an instruction, vector instructions by vectorStep. It returns the label that it
// jumps to.
func (in *interpreter) step(opcode string, ops []string) string {
	last := ""
	if len(ops) > 0 {
		last = ops[len(ops)-1]
	}
	set := func(x int64) {
		in.zero, in.less = x == 0, x < 0
		if strings.HasSuffix(last, ")") {
			at := in.address(last)
			binary.LittleEndian.PutUint64(in.mem[at:], uint64(x))
		} else {
			in.gp[last] = x
		}
	}
	switch opcode {
	case "PCALIGN", "VZEROUPPER", "PREFETCHT0", "PREFETCHT1":
	case "RET":
		return opcode
	case "MOVQ":
		zero, less := in.zero, in.less
		set(in.value(ops[0]))
		in.zero, in.less = zero, less
	case "MOVL", "KMOVW", "VMOVD", "VMOVQ": // of the lower bits; a register gets zeros above
		if to, from := last, ops[0]; strings.HasSuffix(to, ")") {
			n := map[string]int{"MOVL": 4, "VMOVD": 4, "VMOVQ": 8}[opcode]
			var x [8]byte
			if v, is := isVector(from); is {
				binary.LittleEndian.PutUint32(x[:], in.vec[v][0])
				binary.LittleEndian.PutUint32(x[4:], in.vec[v][1])
			} else {
				binary.LittleEndian.PutUint64(x[:], uint64(in.gp[from]))
			}
			copy(in.mem[in.address(to):][:n], x[:])
		} else {
			in.gp[to] = in.value(from) & math.MaxUint32
		}
	case "KANDW":
		in.gp[last] = in.gp[ops[0]] & in.gp[ops[1]]
	case "KXORW":
		in.gp[last] = in.gp[ops[0]] ^ in.gp[ops[1]]
	case "NEGL":
		in.gp[last] = int64(uint32(-in.gp[last]))
	case "CMOVQGT":
		if !in.zero && !in.less {
			in.gp[last] = in.value(ops[0])
		}
	case "CMOVQLT":
		if in.less {
			in.gp[last] = in.value(ops[0])
		}
	case "MOVBQZX", "MOVBLZX":
		in.gp[last] = int64(in.mem[in.address(ops[0])])
	case "MOVWLSX":
		in.gp[last] = int64(uint32(int16(binary.LittleEndian.Uint16(in.mem[in.address(ops[0]):]))))
	case "ADDL":
		in.gp[last] = int64(uint32(in.gp[last] + in.value(ops[0])))
	case "SHLL":
		in.gp[last] = int64(uint32(in.gp[last] << in.value(ops[0])))
	case "LEAQ":
		in.gp[last] = int64(in.address(ops[0]))
	case "ADDQ":
		set(in.value(last) + in.value(ops[0]))
	case "SUBQ":
		set(in.value(last) - in.value(ops[0]))
	case "DECQ":
		set(in.value(last) - 1)
	case "INCQ":
		set(in.value(last) + 1)
	case "ANDQ":
		set(in.value(last) & in.value(ops[0]))
	case "SHRQ":
		n := in.value(ops[0])
		in.carry = in.value(last)>>(n-1)&1 == 1
		set(in.value(last) >> n)
	case "IMULQ":
		set(in.value(last) * in.value(ops[0]))
	case "SHLQ":
		set(in.value(last) << in.value(ops[0]))
	case "IMUL3Q":
		set(in.value(ops[0]) * in.value(ops[1]))
	case "XORQ": // of a register with itself
		set(0)
	case "TESTQ", "TESTL":
		in.zero = in.value(ops[0])&in.value(last) == 0
	case "CMPQ":
		x, y := in.value(ops[0]), in.value(ops[1])
		in.zero, in.less, in.carry, in.last = x == y, x < y, uint64(x) < uint64(y), x-y
	case "JMP":
		return last
	case "JZ", "JE", "JEQ":
		if in.zero {
			return last
		}
	case "JNZ", "JNE":
		if !in.zero {
			return last
		}
	case "JL":
		if in.less {
			return last
		}
	case "JGE":
		if !in.less {
			return last
		}
	case "JLE":
		if in.less || in.zero {
			return last
		}
	case "JG":
		if !in.less && !in.zero {
			return last
		}
	case "JCC":
		if !in.carry {
			return last
		}
	case "JPS": // after a comparison, as the next two
		if bits.OnesCount8(uint8(in.last))%2 == 0 {
			return last
		}
	case "JPL":
		if in.last >= 0 {
			return last
		}
	case "JOC":
		if in.less == (in.last < 0) {
			return last
		}
	default:
		in.vectorStep(opcode, ops, last)
	}
	return ""
}
