package emit

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Instructions that neither avo nor Go's assembler knows: AMX, and AVX-VNNI, which has VPDPBUSD
// without EVEX. avo sees them with their registers, and Encode writes them as bytes in the finished
// text, each with its text as a comment. Operands are in the order of Go's assembler: the
// destination last. A test decodes all of them by LLVM.

// A Tile is a tile register, of which there are eight.
type Tile int

func (t Tile) op() operand.Op { return operand.LabelRef(fmt.Sprintf("T%d", t)) }

// A TileShape has the rows of a tile and their bytes.
type TileShape struct{ Rows, Bytes int }

// The extensions that instructions belong to.
const (
	amxTile = "AMXTILE"
	amxInt8 = "AMXINT8"
	amxBF16 = "AMXBF16"
	avxVNNI = "AVXVNNI"
)

// vexVNNI begins the opcodes of AVX-VNNI, which Go's assembler would take for EVEX's. The comments
// beside the bytes do without.
const vexVNNI = "VEX"

// VPDPBUSD adds four products of bytes to each word of acc: the bytes of x are signed, the bytes of
// w unsigned.
func (g *Gen) VPDPBUSD(x operand.Op, w, acc reg.Register) {
	if g.EVEX() {
		g.Context.VPDPBUSD(x, w, acc)
		return
	}
	g.encoded(vexVNNI+"VPDPBUSD", avxVNNI, acc, x, w, acc)
}

// TileConfig returns the data of LDTILECFG.
func (g *Gen) TileConfig(name string, shapes [8]TileShape) operand.Mem {
	if m, ok := g.data[name]; ok {
		return m
	}
	data := make([]byte, TileConfigBytes)
	data[0] = 1 // the palette with eight tiles of 1 KiB
	for i, s := range shapes {
		data[16+2*i], data[TileConfigRows+i] = byte(s.Bytes), byte(s.Rows)
	}
	return g.table(name, TileConfigBytes/4, func(i int) uint32 {
		return uint32(data[4*i]) | uint32(data[4*i+1])<<8 | uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24
	})
}

// The size of the data of LDTILECFG, and where it has the rows of the tiles, a byte each.
const (
	TileConfigBytes = 64
	TileConfigRows  = 48
)

// LDTILECFG gives the tiles their shapes, and clears them. TILERELEASE takes them away: without it
// every change of threads would save tiles.
func (g *Gen) LDTILECFG(m operand.Mem) { g.encoded("LDTILECFG", amxTile, nil, m) }
func (g *Gen) TILERELEASE()            { g.encoded("TILERELEASE", amxTile, nil) }

func (g *Gen) TILEZERO(t Tile) { g.encoded("TILEZERO", amxTile, nil, t.op()) }

// TILELOADD and TILESTORED load and store the rows of a tile, which lie the index of m apart.
func (g *Gen) TILELOADD(m operand.Mem, t Tile)  { g.encoded("TILELOADD", amxTile, nil, m, t.op()) }
func (g *Gen) TILESTORED(t Tile, m operand.Mem) { g.encoded("TILESTORED", amxTile, nil, t.op(), m) }

// TDPBSSD adds the products of signed bytes to the tile c: a word of 32 bits of a row of a, times
// the same of a column of b. TDPBF16PS does so with pairs of bfloat16.
func (g *Gen) TDPBSSD(b, a, c Tile)   { g.encoded("TDPBSSD", amxInt8, nil, b.op(), a.op(), c.op()) }
func (g *Gen) TDPBF16PS(b, a, c Tile) { g.encoded("TDPBF16PS", amxBF16, nil, b.op(), a.op(), c.op()) }

// encoded emits an instruction. sum is the vector that it adds to, nil if there is none.
func (g *Gen) encoded(opcode, extension string, sum reg.Register, operands ...operand.Op) {
	in := &ir.Instruction{Opcode: opcode, Operands: operands, ISA: []string{extension}}
	for _, o := range operands {
		for _, r := range operand.Registers(o) {
			in.Inputs = append(in.Inputs, r)
		}
	}
	if sum != nil {
		in.Outputs = []operand.Op{sum}
	}
	g.Instruction(in)
}

// A vexCode is an encoding: VEX.0F38.W0 with a prefix, the length of vectors, the opcode, and what
// the fields of ModRM hold.
type vexCode struct {
	prefix, opcode byte
	long           byte // 1 for 256 bits
	fixed          byte // ModRM without operands
	operands       string
}

// Operands: m memory, i memory with an index; r, b and v registers in ModRM.reg, ModRM.rm and
// VEX.vvvv; e memory or a register as b.
var vexCodes = map[string]vexCode{
	"LDTILECFG":          {0, 0x49, 0, 0, "m"},
	"TILERELEASE":        {0, 0x49, 0, 0xc0, ""},
	"TILEZERO":           {3, 0x49, 0, 0xc0, "r"},
	"TILELOADD":          {3, 0x4b, 0, 0, "ir"},
	"TILESTORED":         {2, 0x4b, 0, 0, "ri"},
	"TDPBSSD":            {3, 0x5e, 0, 0xc0, "vbr"},
	"TDPBF16PS":          {2, 0x5c, 0, 0xc0, "vbr"},
	vexVNNI + "VPDPBUSD": {1, 0x50, 1, 0, "evr"},
}

var (
	vexLine   = regexp.MustCompile(`(?m)^\t(` + strings.Join(slices.Sorted(maps.Keys(vexCodes)), "|") + `)\b *(.*)$`)
	vexMemory = regexp.MustCompile(`^(-?\d+)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	vexName   = regexp.MustCompile(`^[TY](\d+)$`)
)

// Encode replaces these instructions in assembly by their bytes.
func Encode(asm []byte) ([]byte, error) {
	var err error
	asm = vexLine.ReplaceAllFunc(asm, func(line []byte) []byte {
		m := vexLine.FindSubmatch(line)
		code, e := encode(string(m[1]), strings.Split(string(m[2]), ", "))
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", bytes.TrimSpace(line), e)
		}
		var parts []string
		for _, b := range code {
			parts = append(parts, fmt.Sprintf("BYTE $0x%02x", b))
		}
		text := strings.TrimPrefix(string(m[1]), vexVNNI) + " " + string(m[2])
		return []byte("\t" + strings.Join(parts, "; ") + " // " + strings.TrimSpace(text))
	})
	return asm, err
}

func encode(opcode string, operands []string) ([]byte, error) {
	c := vexCodes[opcode]
	r, x, b, vvvv, modrm := byte(0), byte(0), byte(0), byte(0), c.fixed
	var tail []byte
	for i, kind := range c.operands {
		isMemory := strings.HasSuffix(operands[i], ")")
		if kind == 'm' || kind == 'i' || kind == 'e' && isMemory {
			var fields byte
			var err error
			hasIndex := kind == 'i' || kind == 'e' && strings.Contains(operands[i], ")(")
			if fields, x, b, tail, err = encodeMemory(operands[i], hasIndex); err != nil {
				return nil, err
			}
			modrm |= fields
			continue
		}
		n, err := vectorCode(operands[i], c.long > 0)
		if err != nil {
			return nil, err
		}
		switch kind {
		case 'r':
			modrm, r = modrm|n&7<<3, n>>3
		case 'b', 'e':
			modrm, b = modrm|n&7|3<<6, n>>3
		case 'v':
			vvvv = n
		}
	}
	const map0F38 = 2
	return append([]byte{0xc4, (1-r)<<7 | (1-x)<<6 | (1-b)<<5 | map0F38, (15-vvvv)<<3 | c.long<<2 | c.prefix, c.opcode, modrm}, tail...), nil
}

// vectorCode is the number of a vector register, or of a tile.
func vectorCode(name string, isVector bool) (byte, error) {
	letter, most := byte('T'), 7
	if isVector {
		letter, most = 'Y', 15
	}
	m := vexName.FindStringSubmatch(name)
	if m == nil || name[0] != letter {
		return 0, fmt.Errorf("no tile or vector: %s", name)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > most {
		return 0, fmt.Errorf("no such register: %s", name)
	}
	return byte(n), nil
}

var gpCodes = map[string]byte{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SP": 4, "BP": 5, "SI": 6, "DI": 7}

func gpCode(name string) (byte, error) {
	if n, ok := gpCodes[name]; ok {
		return n, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "R"))
	if err != nil || n < 8 || n > 15 {
		return 0, fmt.Errorf("no register: %s", name)
	}
	return byte(n), nil
}

// encodeMemory returns the fields of ModRM, the upper bits of the index and the base, and what
// follows ModRM: a SIB byte and the distance.
func encodeMemory(text string, hasIndex bool) (modrm, x, b byte, tail []byte, err error) {
	m := vexMemory.FindStringSubmatch(text)
	if m == nil || hasIndex != (m[3] != "") {
		return 0, 0, 0, nil, fmt.Errorf("no such memory operand: %s", text)
	}
	base, err := gpCode(m[2])
	if err != nil {
		return 0, 0, 0, nil, err
	}
	index, scale := byte(4), byte(0) // none
	if hasIndex {
		if index, err = gpCode(m[3]); err != nil || index == 4 {
			return 0, 0, 0, nil, fmt.Errorf("no index: %s", text)
		}
		scale = map[string]byte{"1": 0, "2": 1, "4": 2, "8": 3}[m[4]]
		x = index >> 3
	}
	disp, _ := strconv.Atoi(m[1])
	modrm = base & 7
	if hasIndex || modrm == 4 {
		modrm, tail = 4, []byte{scale<<6 | index&7<<3 | base&7}
	}
	switch {
	case disp == 0 && base&7 != 5:
	case disp == int(int8(disp)):
		modrm, tail = modrm|1<<6, append(tail, byte(disp))
	default:
		modrm, tail = modrm|2<<6, append(tail, byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
	}
	return modrm, x, base >> 3, tail, nil
}

// TileRows is how many rows a tile has at most.
const TileRows = 16

// usesTiles tells whether a function gives tiles shapes.
func usesTiles(fn *ir.Function) bool {
	for _, n := range fn.Instructions() {
		if n.Opcode == "LDTILECFG" {
			return true
		}
	}
	return false
}
