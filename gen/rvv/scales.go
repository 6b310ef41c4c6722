package rvv

import (
	"fmt"

	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// All that kernels of quantized weights know of the kinds of scales: binary16, or bfloat16, and
// times integers; float32.

// header makes d and m, and sets row to the numbers.
func (b *blockReader) header(name string) {
	kinds := spec.ScaleKinds
	if b.groups == nil {
		kinds = spec.SingleKinds
	}
	b.t = b.v
	b.field(fieldKind, b.n)
	for i, q := range kinds {
		next, last := fmt.Sprint("scales", i+1, name), i == len(kinds)-1
		if !last {
			b.Jump("BNEZ", next, b.n)
		}
		b.scales(q)
		if !last {
			b.Jump("JMP", "numbers"+name)
			b.Label(next)
			b.Op("ADD", -1, b.n, b.n)
		}
	}
	b.Label("numbers" + name)
}

// scales is header for a kind of scales.
func (b *blockReader) scales(q ukernel.PackedFormat) {
	if q.Float32Scales() {
		b.Op("ADD", b.block, b.off, b.row)
		b.multiply(q)
		return
	}
	b.Op("SRLI", 1, b.off, b.row)
	if q.Segmented() {
		b.Op("MOV", b.heads(), b.x)
		b.add(b.x, b.row)
	} else {
		b.add(b.block, b.row)
	}
	element := spec.F16
	if q.BFloat16Scales() {
		element = spec.BF16
	}
	b.half(b.d)
	b.widen(element, b.d)
	if q.Offset() == 0 {
		b.half(b.m)
		b.widen(element, b.m)
	}
	if q.Segmented() {
		b.Op("SRLI", 3-q.Integers(), b.off, b.row)
		b.add(b.block, b.row)
	}
	if q.Grouped() {
		b.multiply(q)
	} else if q.Offset() != 0 && !q.BFloat16Scales() {
		b.Op("VFMULVF", b.minus, b.d, b.m)
	}
	b.Op("SRLI", 1, b.off, b.x)
	b.add(b.x, b.row)
	if q.Integers() == 1 {
		b.Op("SRLI", 1, b.x, b.x)
		b.add(b.x, b.row)
	}
}

// skip goes past 16 bits of each lane.
func (b *blockReader) skip() {
	b.Op("SRLI", 1, b.lanes, b.x)
	b.add(b.x, b.row)
}

// half loads 16 bits of each lane into the last half of v, and goes on to the next ones.
func (b *blockReader) half(v riscv.Vec) {
	b.Op("VLE16V", riscv.At(b.row, 0), v.Last(2))
	b.skip()
}

// multiply makes d and m of both groups, or loads scales of float32. Minima are subtracted: their
// products with 0 have the sign for that.
func (b *blockReader) multiply(q ukernel.PackedFormat) {
	g, minima := b.groups, q.Offset() == 0
	if q.Float32Scales() {
		for _, d := range []riscv.Vec{b.d, g.d} {
			b.Op("VLE32V", riscv.At(b.row, 0), d)
			b.add(b.lanes, b.row)
		}
	} else {
		b.products(q, b.d, g.d)
	}
	if minima {
		b.Op("VFMULVF", b.minus, b.m, b.m)
		b.products(q, b.m, g.m)
	} else {
		b.Op("VFMULVF", b.minus, b.d, b.m)
		b.Op("VFMULVF", b.minus, g.d, g.m)
	}
	b.Op("VFMULVF", g.half, g.d, g.d)
}

// products makes first and second the products of first and a pair of int8, or one, exactly.
func (b *blockReader) products(q ukernel.PackedFormat, first, second riscv.Vec) {
	if q.Integers() == 1 {
		b.loadBytes(b.row, b.v)
		b.Op("SRLI", 2, b.lanes, b.x)
		b.add(b.x, b.row)
		b.Op("VFCVTFXV", b.v, b.v)
		b.Op("VFMULVV", b.v, first, first)
		b.Op("VMVVV", first, second)
		return
	}
	b.half(b.v)
	b.Op("VSEXTVF2", b.v.Last(2), b.v)
	b.Op("VSRAVI", 8, b.v, second)
	b.Op("VFCVTFXV", second, second)
	b.Op("VFMULVV", first, second, second)
	b.Op("VSLLVI", 24, b.v, b.v)
	b.Op("VSRAVI", 24, b.v, b.v)
	b.Op("VFCVTFXV", b.v, b.v)
	b.Op("VFMULVV", b.v, first, first)
}

// loadBytes loads int8.
func (g *gen) loadBytes(from riscv.GP, v riscv.Vec) {
	g.Op("VLE8V", riscv.At(from, 0), v.Last(4))
	g.Op("VSEXTVF4", v.Last(4), v)
}
