package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An interpreter runs functions of generated assembly of amd64 that few CPUs can run. It knows the
// instructions that these functions have and panics at any other. Memory is one slice, and addresses
// are indices.
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
	carry  bool // of the last shift
}

var operands = regexp.MustCompile(`[^,(]+(\([^)]*\))*(\([^)]*\))?|(\([^)]*\))+`)

// newInterpreter reads a function and the symbols of a file.
func newInterpreter(asm, function string) *interpreter {
	in := &interpreter{labels: map[string]int{}, data: map[string]int{}, args: map[string]int{}, gp: map[string]int64{}, vec: map[string][16]uint32{}, places: map[string]place{}}
	inside := false
	for line := range strings.Lines(asm) {
		line = strings.TrimSpace(line)
		opcode, rest, _ := strings.Cut(line, " ")
		switch {
		case opcode == "DATA":
			in.addDatum(rest)
		case opcode == "TEXT":
			inside = strings.HasPrefix(rest, "·"+function+"(SB)")
		case !inside || line == "" || strings.HasPrefix(line, "//"):
		case strings.HasSuffix(line, ":"):
			in.labels[strings.TrimSuffix(line, ":")] = len(in.lines)
		default:
			fields := []string{opcode}
			for _, f := range operands.FindAllString(rest, -1) {
				fields = append(fields, strings.TrimSpace(f))
			}
			in.lines = append(in.lines, fields)
		}
	}
	return in
}

// addDatum adds what a line such as "const0fAVX512<>+4(SB)/4, $0x0f" says.
func (in *interpreter) addDatum(text string) {
	place, value, _ := strings.Cut(text, "/4, $")
	name, _, _ := strings.Cut(place, "+")
	if _, ok := in.data[name]; !ok {
		in.data[name] = len(in.mem)
	}
	x, err := strconv.ParseUint(strings.TrimSpace(value), 0, 32)
	if err != nil {
		panic(err)
	}
	in.mem = binary.LittleEndian.AppendUint32(in.mem, uint32(x))
}

// bytes adds memory and returns its address.
func (in *interpreter) bytes(b []byte) int64 {
	at := len(in.mem)
	in.mem = append(in.mem, b...)
	return int64(at)
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
	if name, is := strings.CutSuffix(op, "+0(SB)"); is {
		return in.data[name]
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

// lanesOf returns how many lanes of 32 bits a vector register has.
func lanesOf(op string) int { return map[byte]int{'X': 4, 'Y': 8, 'Z': 16}[op[0]] }

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

// operand is vector for an instruction that may repeat a number in memory.
func (in *interpreter) operand(opcode, op string) [16]uint32 {
	v := in.vector(op)
	if strings.HasSuffix(opcode, ".BCST") {
		for i := range v {
			v[i] = v[0]
		}
	}
	return v
}

func choose(first bool, x, y uint32) uint32 {
	if first {
		return x
	}
	return y
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

// step executes an instruction. It returns the label that it jumps to.
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
	lanes := func(f func(i int) uint32) {
		var v [16]uint32
		for i := range lanesOf(last) {
			v[i] = f(i)
		}
		n, _ := isVector(last)
		in.vec[n] = v
	}
	float := math.Float32frombits
	bits := math.Float32bits
	switch opcode {
	case "PCALIGN", "VZEROUPPER", "PREFETCHT0":
	case "RET":
		return opcode
	case "MOVQ":
		zero, less := in.zero, in.less
		set(in.value(ops[0]))
		in.zero, in.less = zero, less
	case "MOVL", "KMOVW", "VMOVD":
		in.gp[last] = in.value(ops[0])
	case "NEGL":
		in.gp[last] = int64(uint32(-in.gp[last]))
	case "CMOVQGT":
		if !in.zero && !in.less {
			in.gp[last] = in.value(ops[0])
		}
	case "MOVBQZX", "MOVBLZX":
		in.gp[last] = int64(in.mem[in.address(ops[0])])
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
	case "TESTQ":
		in.zero = in.value(ops[0]) == 0
	case "CMPQ":
		x, y := in.value(ops[0]), in.value(ops[1])
		in.zero, in.less = x == y, x < y
	case "JMP":
		return last
	case "JZ", "JE":
		if in.zero {
			return last
		}
	case "JNZ", "JNE":
		if !in.zero {
			return last
		}
	case "JL", "JLT":
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
	case "VXORPS": // of a register with itself
		lanes(func(int) uint32 { return 0 })
	case "VMOVUPS", "VMOVDQU32", "VMOVDQA32":
		v := in.vector(ops[0])
		if _, is := isVector(last); is {
			lanes(func(i int) uint32 { return v[i] })
			break
		}
		to := in.mem[in.address(last):]
		for i, x := range v[:lanesOf(ops[0])] {
			binary.LittleEndian.PutUint32(to[4*i:], x)
		}
	case "VPBROADCASTD", "VBROADCASTSS":
		if x, ok := in.gp[ops[0]]; ok {
			lanes(func(int) uint32 { return uint32(x) })
			break
		}
		x, old, where := in.vector(ops[0])[0], in.vector(last), int64(1<<16-1)
		if len(ops) > 2 {
			where = in.gp[ops[1]]
		}
		lanes(func(i int) uint32 { return choose(where>>i&1 == 1, x, old[i]) })
	case "VBLENDMPS":
		v, w, where := in.vector(ops[0]), in.vector(ops[1]), in.gp[ops[2]]
		lanes(func(i int) uint32 { return choose(where>>i&1 == 1, v[i], w[i]) })
	case "VBROADCASTI32X4", "VBROADCASTF32X4":
		v := in.vector(ops[0])
		lanes(func(i int) uint32 { return v[i%4] })
	case "VINSERTI32X4":
		at, v, w := 4*int(in.value(ops[0])), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 {
			if i/4*4 == at {
				return v[i-at]
			}
			return w[i]
		})
	case "VEXTRACTF32X4":
		at, v := 4*int(in.value(ops[0])), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[at+i] })
	case "VPMOVSXBW":
		v := in.vector(ops[0])
		word := func(i int) uint32 { return uint32(uint16(int8(v[i/4] >> (i % 4 * 8)))) }
		lanes(func(i int) uint32 { return word(2*i) | word(2*i+1)<<16 })
	case "VPERMD":
		v, order := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[order[i]%16] })
	case "VPERMW":
		v, order := in.vector(ops[0]), in.vector(ops[1])
		word := func(i uint32) uint32 { return v[i%32/2] >> (i % 2 * 16) & 0xffff }
		lanes(func(i int) uint32 { return word(order[i]&0xffff) | word(order[i]>>16)<<16 })
	case "VPUNPCKLDQ", "VPUNPCKHDQ", "VPUNPCKLQDQ", "VPUNPCKHQDQ":
		v, w, high := in.vector(ops[0]), in.vector(ops[1]), 2*strings.Count(opcode, "H")
		order := [4]int{0, 4, 1, 5} // those from 4 on are of v
		if strings.HasSuffix(opcode, "QDQ") {
			order = [4]int{0, 1, 4, 5}
		}
		lanes(func(i int) uint32 {
			from := order[i%4] + high
			return choose(order[i%4] >= 4, v[(i/4*4+from+12)%16], w[(i/4*4+from)%16])
		})
	case "VSHUFI32X4":
		order, v, w := in.value(ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 {
			from := int(order>>(i/4*2)&3)*4 + i%4
			return choose(i >= 8, v[from], w[from])
		})
	case "VPSLLD", "VPSRLD":
		n, v := in.value(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 {
			if opcode == "VPSLLD" {
				return v[i] << n
			}
			return v[i] >> n
		})
	case "VPANDD":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] & w[i] })
	case "VPADDD":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] + w[i] })
	case "VANDPS":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] & w[i] })
	case "VMAXPS": // of no NaN
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return choose(float(w[i]) > float(v[i]), w[i], v[i]) })
	case "VPDPWSSD", "VPDPWSSD.BCST": // words, words, sums
		v, w, sum := in.operand(opcode, ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 {
			return sum[i] + uint32(int32(int16(v[i]))*int32(int16(w[i]))+int32(v[i])>>16*(int32(w[i])>>16))
		})
	case "VPDPBUSD": // signed bytes, unsigned bytes, sums
		s, u, sum := in.vector(ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 {
			for b := 0; b < 32; b += 8 {
				sum[i] += uint32(int32(int8(s[i]>>b)) * int32(u[i]>>b&255))
			}
			return sum[i]
		})
	case "VCVTPH2PS": // of normal numbers
		from := in.mem[in.address(ops[0]):]
		lanes(func(i int) uint32 {
			h := uint32(binary.LittleEndian.Uint16(from[2*i:]))
			return h&0x8000<<16 | (h&0x7fff<<13 + 112<<23)
		})
	case "VCVTDQ2PS":
		v := in.vector(ops[0])
		lanes(func(i int) uint32 { return bits(float32(int32(v[i]))) })
	case "VMULPS":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return bits(float(v[i]) * float(w[i])) })
	case "VFMADD213PS":
		m, y, x := in.vector(ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 { return bits(fma(float(x[i]), float(y[i]), float(m[i]))) })
	case "VFMADD231PS", "VFMADD231PS.BCST":
		m, y, x := in.operand(opcode, ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 { return bits(fma(float(m[i]), float(y[i]), float(x[i]))) })
	default:
		panic(fmt.Sprintf("%s %q: the interpreter does not know this instruction", opcode, ops))
	}
	return ""
}

// fma may round twice. What the results are compared with does so, too.
func fma(x, y, z float32) float32 { return float32(math.FMA(float64(x), float64(y), float64(z))) }
