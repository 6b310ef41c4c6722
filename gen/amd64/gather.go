package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Gather copies rows in parts of the most bytes that a row has: lines, halves of them, words or
// bytes. The prefetches come last, so that the caller uses the copies while they are under way, and
// into the second-level cache: those into the first wait for its few buffers. From memory that took
// 20% less time on Zen 4 than a prefetch beside each line that is copied, and 40% less than such
// prefetches into the first level. From L3 it takes up to 10% more.
func (g *gen) Gather() {
	g.Kernel(spec.Gather)
	to, src, rows, size, last := g.Slice("dst"), g.Slice("src"), g.SliceLen("off"), g.Num("size"), g.GP64()
	g.JumpIfZero(rows, "end")
	parts := []struct {
		bytes int
		copy  func(from, to operand.Mem)
	}{
		{spec.LineBytes, func(from, to operand.Mem) {
			v := g.Vecs(spec.LineBytes / g.VecBytes())
			for i, x := range v {
				g.VMOVUPS(from.Offset(i*g.VecBytes()), x)
			}
			for i, x := range v {
				g.VMOVUPS(x, to.Offset(i*g.VecBytes()))
			}
		}},
		{spec.LineBytes / 2, func(from, to operand.Mem) {
			x := g.YMM()
			g.VMOVUPS(from, x)
			g.VMOVUPS(x, to)
		}},
		{8, func(from, to operand.Mem) {
			x := g.GP64()
			g.MOVQ(from, x)
			g.MOVQ(x, to)
		}},
		{1, func(from, to operand.Mem) {
			x := g.GP64()
			g.MOVB(from, x.As8())
			g.MOVB(x.As8(), to)
		}},
	}
	for _, part := range parts {
		name := fmt.Sprint("of", part.bytes)
		g.MOVQ(size, last)
		g.SUBQ(operand.Imm(uint64(part.bytes)), last)
		g.JL(operand.LabelRef(name + "end"))
		g.eachPart(name, src, g.Slice("off"), rows, last, part.bytes, part.bytes != spec.LineBytes/2, func(from, at reg.Register) {
			part.copy(emit.Indexed(from, at, 1), emit.Indexed(to, at, 1))
		}, func() { g.ADDQ(size, to) })
		g.JMP(operand.LabelRef("ahead"))
		g.Label(name + "end")
	}
	g.Label("ahead")
	g.MOVQ(size, last)
	g.DECQ(last)
	g.Comment("The last byte may lie in one line more.")
	g.eachPart("next", src, g.Slice("next"), g.SliceLen("off"), last, spec.LineBytes, true, func(from, at reg.Register) {
		g.PREFETCHT1(emit.Indexed(from, at, 1))
	}, func() {})
	g.Label("end")
	g.Return()
}

// eachPart emits a loop over rows that begin at off, and in it a loop over parts of so many bytes
// up to the last one, which may begin within the part before. Without repeats there is at most one
// part before the last one. After a row comes end.
func (g *gen) eachPart(name string, src, off, rows, last reg.GPVirtual, bytes int, repeats bool, part func(from, at reg.Register), end func()) {
	from, at := g.GP64(), g.GP64()
	g.Label(name)
	g.MOVQ(emit.At(off, 0), from)
	g.ADDQ(src, from)
	g.XORQ(at, at)
	g.TESTQ(last, last)
	g.JZ(operand.LabelRef(name + "last"))
	g.Label(name + "part")
	part(from, at)
	if repeats {
		g.ADDQ(operand.Imm(uint64(bytes)), at)
		g.CMPQ(at, last)
		g.JL(operand.LabelRef(name + "part"))
	}
	g.Label(name + "last")
	part(from, last)
	end()
	g.Advance(8, off)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(name))
}
