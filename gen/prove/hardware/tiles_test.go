package hardware

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/attn-go/attn/gen/amd64/emit"
	"golang.org/x/sys/cpu"
)

// Where a state has the shapes of tiles, the tiles A and B, and C, which gets the sums.
const (
	tileA = 64 + 1024*iota
	tileB
	tileC
	tileStates = 40
)

// permission is a file of the program: Linux lets a process use tiles once it has asked.
const permission = `package main

import "syscall"

func init() { syscall.RawSyscall(158, 0x1023, 18, 0) } // arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)
`

// TestTiles compares the interpreter of AMX with a CPU that has it: on tiles of all heights, depths
// and widths, and on all words that kernels multiply.
func TestTiles(t *testing.T) {
	if runtime.GOOS != "linux" || !cpu.X86.HasAMXTile || !cpu.X86.HasAMXInt8 || !cpu.X86.HasAMXBF16 {
		t.Skip("NOT RUN: this CPU has no AMX")
	}
	var list []snippet
	for _, product := range []string{"TDPBSSD", "TDPBF16PS"} {
		text, err := emit.Encode([]byte("	MOVQ in_base+0(FP), R8\n	MOVQ out_base+24(FP), R9\n	MOVQ $64, R10\n" +
			"	LDTILECFG (R8)\n	TILELOADD 64(R8)(R10*1), T1\n	TILELOADD 1088(R8)(R10*1), T2\n	TILELOADD 2112(R8)(R10*1), T3\n" +
			"	" + product + " T2, T1, T3\n	TILESTORED T3, 2112(R9)(R10*1)\n" +
			"	TILEZERO T3\n	TILESTORED T3, 64(R9)(R10*1)\n	TILERELEASE\n	RET\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, snippet{product, string(text)})
	}
	input := states(len(list) * tileStates)
	for i := range len(list) * tileStates {
		state := input[i*stateSize:][:stateSize]
		shapes(state, i)
		if i >= tileStates {
			if i%5 != 0 {
				nearOne(state)
			}
			flush(state)
		}
	}
	try(t, &arches[0], nil, list, tileStates, input, map[string]string{"permission.go": permission})
}

// shapes gives the tiles of a state shapes: in 16 states after each other all heights, depths and
// widths, but that every fifth state has the largest shape.
func shapes(state []byte, i int) {
	clear(state[:tileA])
	rows, depth, width := 1+i*5%16, 1+i*3%16, 1+i*7%16
	if i%5 == 4 {
		rows, depth, width = 16, 16, 16
	}
	state[0] = 1
	for tile, shape := range [8][2]int{{1, 1}, {rows, depth}, {depth, width}, {rows, width}, {1, 1}, {1, 1}, {1, 1}, {1, 1}} {
		binary.LittleEndian.PutUint16(state[16+2*tile:], uint16(4*shape[1]))
		state[48+tile] = byte(shape[0])
	}
}

// nearOne gives the factors and sums of bfloat16 magnitudes from 2^-7 to 2^8, so that their sums
// depend on the order of additions.
func nearOne(state []byte) {
	for at := tileA; at < tileC+1024; at += 2 {
		if at < tileC || at%4 != 0 { // a sum has its exponent in the upper half
			x := binary.LittleEndian.Uint16(state[at:])
			binary.LittleEndian.PutUint16(state[at:], x&0x807f|(120+x>>7&15)<<7)
		}
	}
}

// flush makes zeros of what products in bfloat16 never have: factors below 2^-56, and sums that are
// subnormal.
func flush(state []byte) {
	const least = (127 - 56) << 7
	for at := tileA; at < tileC; at += 2 {
		if x := binary.LittleEndian.Uint16(state[at:]); x&0x7fff < least {
			binary.LittleEndian.PutUint16(state[at:], 0)
		}
	}
	for at := tileC; at < tileC+1024; at += 4 {
		if x := binary.LittleEndian.Uint32(state[at:]); x&0x7f800000 == 0 {
			binary.LittleEndian.PutUint32(state[at:], 0)
		}
	}
}
