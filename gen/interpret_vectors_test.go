package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// words is the number of 32-bit words of a vector register.
func words(op string) int { return map[byte]int{'X': 4, 'Y': 8, 'Z': 16}[op[0]] }

// half is the word of 16 bits i of a vector.
func half(v [16]uint32, i int) int16 { return int16(v[i/2] >> (i % 2 * 16)) }

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

// vectorStep executes an instruction that changes the vector, or memory, that its last operand is.
func (in *interpreter) vectorStep(opcode string, ops []string, last string) {
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
	case "VXORPS": // of a register with itself
		lanes(func(int) uint32 { return 0 })
	case "VMOVUPS", "VMOVAPS", "VMOVUPS.Z", "VMOVDQU", "VMOVDQU32", "VMOVDQA32":
		v, old, where := in.vector(ops[0]), [16]uint32{}, int64(1<<16-1)
		if len(ops) > 2 {
			where = in.gp[ops[1]]
		}
		if opcode != "VMOVUPS.Z" {
			old = in.vector(last)
		}
		if _, is := isVector(last); is {
			lanes(func(i int) uint32 { return choose(where>>i&1 == 1, v[i], old[i]) })
			break
		}
		to := in.mem[in.address(last):]
		for i, x := range v[:words(ops[0])] {
			if where>>i&1 == 1 {
				binary.LittleEndian.PutUint32(to[4*i:], x)
			}
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
	case "VPUNPCKLWD", "VPUNPCKHWD":
		v, w, high := in.vector(ops[0]), in.vector(ops[1]), 4*strings.Count(opcode, "H")
		halves(func(i int) int16 {
			from, x := i/8*8+i%8/2+high, w
			if i%2 == 1 {
				x = v
			}
			return half(x, from)
		})
	case "VSHUFI32X4":
		order, v, w := in.value(ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 {
			from := int(order>>(i/4*2)&3)*4 + i%4
			return choose(i >= 8, v[from], w[from])
		})
	case "VPSLLD", "VPSRLD", "VPSRAD":
		n, v := in.value(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 {
			switch opcode {
			case "VPSLLD":
				return v[i] << n
			case "VPSRLD":
				return v[i] >> n
			}
			return uint32(int32(v[i]) >> n)
		})
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
	case "VPMOVSXBD":
		v := in.vector(ops[0])
		lanes(func(i int) uint32 { return uint32(int32(int8(v[i/4] >> (i % 4 * 8)))) })
	case "VPMOVZXBD":
		v := in.vector(ops[0])
		lanes(func(i int) uint32 { return v[i/4] >> (i % 4 * 8) & 255 })
	case "VPSHUFB": // of bytes of the same four words
		at, v := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) (x uint32) {
			for b := range 4 {
				from := int(at[i] >> (8 * b) & 15)
				x |= v[i/4*4+from/4] >> (from % 4 * 8) & 255 << (8 * b)
			}
			return x
		})
	case "VPMOVZXWD":
		from := in.mem[in.address(ops[0]):]
		lanes(func(i int) uint32 { return uint32(binary.LittleEndian.Uint16(from[2*i:])) })
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
	case "VPXOR":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] ^ w[i] })
	case "VPANDD", "VANDPS":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] & w[i] })
	case "VPADDD":
		v, w := in.vector(ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return v[i] + w[i] })
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
	case "VPDPBUSD", "VPDPBUSD.BCST": // signed bytes, unsigned bytes, sums
		s, u, sum := in.operand(opcode, ops[0]), in.vector(ops[1]), in.vector(ops[2])
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
	case "VMULPS", "VMULPS.BCST":
		v, w := in.operand(opcode, ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return bits(float(v[i]) * float(w[i])) })
	case "VADDPS.BCST":
		v, w := in.operand(opcode, ops[0]), in.vector(ops[1])
		lanes(func(i int) uint32 { return bits(float(v[i]) + float(w[i])) })
	case "VPTESTMD":
		v, w, where := in.vector(ops[0]), in.vector(ops[1]), int64(0)
		for i := range v {
			if v[i]&w[i] != 0 {
				where |= 1 << i
			}
		}
		in.gp[last] = where
	case "VFMADD213PS":
		m, y, x := in.vector(ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 { return bits(fma(float(x[i]), float(y[i]), float(m[i]))) })
	case "VFMADD231PS", "VFMADD231PS.BCST":
		m, y, x := in.operand(opcode, ops[0]), in.vector(ops[1]), in.vector(ops[2])
		lanes(func(i int) uint32 { return bits(fma(float(m[i]), float(y[i]), float(x[i]))) })
	default:
		panic(fmt.Sprintf("%s %q: the interpreter does not know this instruction", opcode, ops))
	}
}

// fma may round twice. What the results are compared with does so, too.
func fma(x, y, z float32) float32 { return float32(math.FMA(float64(x), float64(y), float64(z))) }
