package tensors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/gguf"
)

// A gathered makes a tensor of the units of another one, numbers or blocks: unit c of row b of part
// a is unit a·part + b·row + c·unit + first there.
type gathered struct {
	of, scales             *tensor // scales, if not nil, has a byte for each block of MXFP4, whose other 16 are in of
	rows, units            int     // of a part, and of a row
	part, row, unit, first int
	size                   int // bytes of a unit

	room, scaleRoom []byte // a part of both
	opened          int    // its number and 1
}

func (g *gathered) key() string {
	return fmt.Sprintf("gathered=%dx%d %d+%d+%d+%d %s", g.rows, g.units, g.part, g.row, g.unit, g.first, g.of.key())
}

// read returns the bytes of some units.
func (g *gathered) read(from, to int64, out []byte) ([]byte, error) {
	out = slices.Grow(out[:0], int(to-from))
	for at, end := int(from)/g.size, int(to)/g.size; at < end; {
		a, b, c := at/g.units/g.rows, at/g.units%g.rows, at%g.units
		if g.opened != a+1 {
			if err := g.open(a); err != nil {
				return nil, err
			}
		}
		n := min(g.units-c, end-at)
		for i := range n {
			out = g.append(out, b*g.row+(c+i)*g.unit+g.first)
		}
		if at += n; b == g.rows-1 && c+n == g.units {
			g.of.forget(g.room)
		}
	}
	return out, nil
}

// open reads a part of the tensor.
func (g *gathered) open(part int) (err error) {
	g.opened = part + 1
	if g.scales == nil {
		from := int64(part) * int64(g.part*g.size)
		g.room, err = g.of.read(from, from+int64(g.part*g.size), g.room)
		return err
	}
	from := int64(part) * int64(g.part)
	if g.scaleRoom, err = g.scales.read(from, from+int64(g.part), g.scaleRoom); err == nil {
		g.room, err = g.of.read(nibbles*from, nibbles*(from+int64(g.part)), g.room)
	}
	return err
}

// nibbles is how many bytes the numbers of a block of MXFP4 take.
const nibbles = 16

// append appends a unit of the part. Numbers of blocks lie in turn: two neighbours in a byte. In
// GGUF files a byte has number i of the first half and number i of the second one.
func (g *gathered) append(out []byte, unit int) []byte {
	if g.scales == nil {
		return append(out, g.room[unit*g.size:][:g.size]...)
	}
	block := g.room[unit*nibbles:][:nibbles]
	number := func(i int) byte { return block[i/2] >> (4 * (i % 2)) & 15 }
	out = append(out, g.scaleRoom[unit])
	for i := range nibbles {
		out = append(out, number(i)|number(nibbles+i)<<4)
	}
	return out
}

// SeparateExperts gives a store of a folder the tensors that GGUF files have for experts,
// gate_proj, up_proj and down_proj with .weight and .bias, in place of those where gate and up are
// in one, output by output in turn: numbers as [experts, inputs, outputs], or blocks of MXFP4 as
// [experts, outputs, inputs]. Tensors of other shapes stay.
func (s *Store) SeparateExperts() {
	for _, name := range s.Names() {
		stem := name[:strings.LastIndexByte(name, '.')+1]
		if !strings.HasSuffix(stem, ".experts.") {
			continue
		}
		switch part := name[len(stem):]; part {
		case "gate_up_proj", "gate_up_proj_bias", "gate_up_proj_blocks":
			s.separate(name, stem, 2, "gate_proj", "up_proj")
		case "down_proj", "down_proj_bias", "down_proj_blocks":
			s.separate(name, stem, 1, "down_proj")
		}
	}
}

// SeparateLatents gives a store of a folder the tensors that GGUF files have for attention over
// latents, in place of those where each head has its matrix to keys and then that to values:
// k_b_proj, whose outputs are latents, as [heads, rank, plain], and v_b_proj as [heads, values,
// rank]. Tensors of other shapes stay.
func (s *Store) SeparateLatents(heads, plain, values int) {
	const end = ".kv_b_proj.weight"
	for _, name := range s.Names() {
		t, rows := s.tensors[name], plain+values
		if _, size := t.Type.Block(); strings.HasSuffix(name, end) && len(t.Shape) == 2 && t.Shape[0] == heads*rows && t.Bytes == int64(t.Shape[0])*int64(t.Shape[1])*int64(size) {
			rank, stem := t.Shape[1], strings.TrimSuffix(name, end)
			delete(s.tensors, name)
			s.tensors[stem+".k_b_proj.weight"] = t.gather(gathered{rows: rank, units: plain, row: 1, unit: rank, part: rows * rank, size: size}, heads)
			s.tensors[stem+".v_b_proj.weight"] = t.gather(gathered{rows: values, units: rank, row: rank, unit: 1, part: rows * rank, first: plain * rank, size: size}, heads)
		}
	}
}

// SeparateRows gives a store of a folder the tensors that GGUF files have for experts without
// gates, w1 and w2 with .weight, as [experts, inner, width] and [experts, width, inner], in place
// of w1 and w2 as [experts·inner, width]. Tensors of other shapes stay.
func (s *Store) SeparateRows(experts, inner int) {
	for _, name := range s.Names() {
		t := s.tensors[name]
		elements, size := t.Type.Block()
		if elements != 1 || len(t.Shape) != 2 || t.Shape[0] != experts*inner || t.Bytes != int64(t.Shape[0])*int64(t.Shape[1])*int64(size) {
			continue
		}
		w := t.Shape[1]
		g := gathered{rows: inner, units: w, row: w, unit: 1, part: inner * w, size: size}
		switch {
		case strings.HasSuffix(name, ".experts.mlp.w1"):
		case strings.HasSuffix(name, ".experts.mlp.w2"):
			g.rows, g.units, g.row, g.unit = w, inner, 1, w
		default:
			continue
		}
		delete(s.tensors, name)
		s.tensors[name+".weight"] = t.gather(g, experts)
	}
}

// gather returns a tensor of numbers of this one.
func (t *tensor) gather(g gathered, parts int) *tensor {
	g.of = t
	shape := []int{parts, g.rows, g.units}
	return &tensor{Info: Info{t.Type, t.Name, shape, int64(parts*g.rows*g.units) * int64(g.size)}, file: t.file, from: &g}
}

// separate replaces a tensor by tensors that take its outputs in turn.
func (s *Store) separate(name, stem string, turns int, names ...string) {
	t, kind := s.tensors[name], ".weight"
	g, info, shape := gathered{of: t}, t.Info, t.Shape
	elements, size := t.Type.Block()
	outputs, next := 0, 1 // units from an output to the next one
	switch {
	case len(shape) == 2 && elements == 1 && strings.HasSuffix(name, "_bias"):
		outputs, kind = shape[1], ".bias"
		g.rows, g.units, g.part, g.unit, g.size = 1, outputs/turns, outputs, turns, size
		info.Shape = []int{shape[0], outputs / turns}
	case len(shape) == 3 && elements == 1:
		outputs = shape[2]
		g.rows, g.units, g.part, g.row, g.unit, g.size = outputs/turns, shape[1], shape[1]*outputs, turns, outputs, size
		info.Shape = []int{shape[0], outputs / turns, shape[1]}
	case len(shape) == 4 && shape[3] == nibbles && t.Name == "U8":
		scales := strings.TrimSuffix(name, "_blocks") + "_scales"
		if g.scales = s.tensors[scales]; g.scales == nil || g.scales.Name != "U8" || !slices.Equal(g.scales.Shape, shape[:3]) {
			return
		}
		defer delete(s.tensors, scales)
		outputs, next = shape[1], shape[2]
		g.rows, g.units, g.part, g.row, g.unit, g.size = outputs/turns, next, outputs*next, turns*next, 1, nibbles+1
		info.Type, info.Name, info.Shape = gguf.MXFP4, gguf.MXFP4.String(), []int{shape[0], outputs / turns, 2 * nibbles * next}
	}
	if outputs == 0 || outputs%turns != 0 {
		return
	}
	delete(s.tensors, name)
	info.Bytes = int64(shape[0]) * int64(g.rows*g.units) * int64(g.size)
	for i, other := range names {
		of := g
		of.first = i * next
		s.tensors[stem+other+kind] = &tensor{Info: info, file: t.file, from: &of}
	}
}
