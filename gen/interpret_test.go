package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	mathbits "math/bits"
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
			if inside = strings.HasPrefix(rest, "·"+function+"(SB)"); inside {
				_, frame, _ := strings.Cut(rest, "$")
				in.gp["SP"] = in.stack(frame)
			}
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

// stack adds the frame of a function, given as "size-arguments". It begins with what others left there.
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

// words is the number of 32-bit words of a vector register.
func words(op string) int { return map[byte]int{'X': 4, 'Y': 8, 'Z': 16}[op[0]] }

// half is the word of 16 bits i of a vector.
func half(v [16]uint32, i int) int16 { return int16(v[i/2] >> (i % 2 * 16)) }

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
		for i := range words(last) {
			v[i] = f(i)
		}
		n, _ := isVector(last)
		in.vec[n] = v
	}
	halves := func(f func(i int) int16) {
		lanes(func(i int) uint32 { return uint32(uint16(f(2*i))) | uint32(uint16(f(2*i+1)))<<16 })
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
	case "CMOVQLT":
		if in.less {
			in.gp[last] = in.value(ops[0])
		}
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
	case "VMOVUPS", "VMOVDQU", "VMOVDQU32", "VMOVDQA32":
		v := in.vector(ops[0])
		if _, is := isVector(last); is {
			lanes(func(i int) uint32 { return v[i] })
			break
		}
		to := in.mem[in.address(last):]
		for i, x := range v[:words(ops[0])] {
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
	case "VPERMD":
		v, order := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[order[i]%16] })
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
	case "VPSLLD", "VPSRLD", "VPSRAD", "VPROLD":
		n, v := in.value(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 {
			switch opcode {
			case "VPSLLD":
				return v[i] << n
			case "VPSRLD":
				return v[i] >> n
			case "VPSRAD":
				return uint32(int32(v[i]) >> n)
			}
			return mathbits.RotateLeft32(v[i], int(n))
		})
	case "VPSLLW":
		n, v := in.value(ops[0]), in.vector(ops[1])
		halves(func(i int) int16 { return half(v, i) << n })
	case "VPADDW", "VPSUBW": // the second operand less the first
		v, w := in.vector(ops[0]), in.vector(ops[1])
		halves(func(i int) int16 {
			if opcode == "VPSUBW" {
				return half(w, i) - half(v, i)
			}
			return half(w, i) + half(v, i)
		})
	case "VPSHUFD": // of four words
		n, v := in.value(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[n>>(2*i)&3] })
	case "VPSHUFLW": // of the lower halves of four words
		n, v := in.value(ops[0]), in.vector(ops[1])
		halves(func(i int) int16 {
			if i < 4 {
				return half(v, int(n>>(2*i)&3))
			}
			return half(v, i)
		})
	case "VPERMW":
		v, at, mask := in.vector(ops[0]), in.vector(ops[1]), int16(2*words(last)-1)
		halves(func(i int) int16 { return half(v, int(half(at, i)&mask)) })
	case "VEXTRACTI128":
		v := in.vector(ops[1])
		lanes(func(i int) uint32 { return v[4*in.value(ops[0])+int64(i)] })
	case "VPMOVSXBW":
		v := in.vector(ops[0])
		halves(func(i int) int16 { return int16(int8(v[i/4] >> (i % 4 * 8))) })
	case "VPMOVSXWD":
		v := in.vector(ops[0])
		lanes(func(i int) uint32 { return uint32(int32(half(v, i))) })
	case "VPTERNLOGD":
		table, c, b, a := in.value(ops[0]), in.vector(ops[1]), in.vector(ops[2]), in.vector(ops[3])
		lanes(func(i int) (x uint32) {
			for bit := range 32 {
				at := a[i]>>bit&1<<2 | b[i]>>bit&1<<1 | c[i]>>bit&1
				x |= uint32(table>>at&1) << bit
			}
			return x
		})
	case "VPMADDUBSW": // signed bytes, unsigned bytes; sums that fit into 16 bits
		s, u := in.vector(ops[0]), in.vector(ops[1])
		halves(func(i int) (x int16) {
			for b := i % 2 * 16; b < i%2*16+16; b += 8 {
				x += int16(int8(s[i/2]>>b)) * int16(u[i/2]>>b&255)
			}
			return x
		})
	case "VPXOR", "VPXORD":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] ^ w[i] })
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
	case "VPMADDWD", "VPDPWSSD", "VPDPWSSD.BCST": // words, words, sums
		v, w, sum := in.operand(opcode, ops[0]), in.vector(ops[1]), [16]uint32{}
		if opcode != "VPMADDWD" {
			sum = in.vector(ops[2])
		}
		lanes(func(i int) uint32 {
			return sum[i] + uint32(int32(half(v, 2*i))*int32(half(w, 2*i))+int32(half(v, 2*i+1))*int32(half(w, 2*i+1)))
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
