package amd64

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A rounder emits kernels that multiply rows by numbers and round them, see
// ukernel.LaneKernels.Round.
type rounder struct {
	g                           *gen
	s, ld, n, scales, lsc, unit reg.GPVirtual

	groups reg.VecVirtual // of GroupPairs, the group of each lane; else nil

	magic, keep, other reg.VecVirtual // 1.5·2^23 units, where numbers stay, and what stands elsewhere
}

// eachVector emits the loop over vectors of lanes: it finds their units, and calls rows. dst goes
// on by as many lanes.
func (r *rounder) eachVector(dst reg.GPVirtual, rows func()) {
	g := r.g
	loop.Lanes(g, g.SliceLen("unit"), "One vector of lanes.", []reg.GPVirtual{dst, r.s, r.unit}, nil, func() {
		r.findUnit()
		rows()
	})
	g.Return()
}

// findUnit emits the search for the largest magnitude, as an integer, and what follows from it.
func (r *rounder) findUnit() {
	g := r.g
	largest, magnitude := g.Vec(), g.Vec()
	g.Zero(g.Context, largest)
	g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	row, scale, left := r.start()
	loop.Times(g, left, "largest", func() {
		x := r.product(row, scale)
		g.VANDPS(magnitude, x, x)
		g.VPMAXUD(x, largest, largest)
		r.next(row, scale)
	})
	r.magic, r.keep, r.other = g.Vec(), g.Vec(), g.Vec()
	unit, bits := g.Vec(), g.Vec()
	g.VMOVD(g.Num("bits").As32(), bits.AsX())
	g.VPBROADCASTD(bits.AsX(), bits)
	g.VPSLLD(operand.Imm(23), bits, bits)
	g.VANDPS(g.Constant(0x7f800000), largest, unit)
	g.VPSUBD(bits, unit, unit)
	g.VPADDD(g.Constant(23<<23|1<<22), unit, r.magic)
	g.whereAbove(contract.BeyondRounding-1, largest, r.other)
	g.whereAbove(contract.LeastRounded-1, largest, r.keep)
	g.VANDNPS(r.keep, r.other, r.keep)
	g.VANDPS(g.Constant(spec.NaN), r.other, r.other)
	r.select_(unit)
	g.VMOVUPS(unit, emit.At(r.unit, 0))
}

// select_ replaces the lanes of x whose numbers do not stay.
func (r *rounder) select_(x reg.VecVirtual) {
	r.g.VANDPS(r.keep, x, x)
	r.g.VORPS(r.other, x, x)
}

// whereAbove sets all bits of the lanes in which x is larger than a number, both int32, and clears
// the others.
func (g *gen) whereAbove(n uint32, x, lanes reg.VecVirtual) {
	if !g.EVEX() {
		g.VPCMPGTD(g.Constant(n), x, lanes)
		return
	}
	k := g.K()
	g.VPCMPGTD(g.Constant(n), x, k)
	g.VPMOVM2D(k, lanes)
}

// start returns pointers to the first row and its scale, and the number of rows.
func (r *rounder) start() (row, scale, left reg.GPVirtual) {
	row, scale, left = r.g.GP64(), r.g.GP64(), r.g.GP64()
	r.g.MOVQ(r.s, row)
	r.g.MOVQ(r.scales, scale)
	r.g.MOVQ(r.n, left)
	return row, scale, left
}

func (r *rounder) product(row, scale reg.GPVirtual) reg.VecVirtual {
	g, x := r.g, r.g.Vec()
	if r.groups == nil {
		g.VBROADCASTSS(emit.At(scale, 0), x)
		g.VMULPS(emit.At(row, 0), x, x)
		return x
	}
	if g.EVEX() {
		emit.LoadFirst(g.Context, emit.At(scale, 0), x, x.AsX())
	} else {
		g.VMOVQ(emit.At(scale, 0), x.AsX())
	}
	numbers := g.Vec()
	g.RepeatQuarter(g.Context, emit.At(row, 0), numbers)
	g.VPERMPS(x, r.groups, x)
	g.VMULPS(numbers, x, x)
	return x
}

func (r *rounder) next(row, scale reg.GPVirtual) {
	r.g.ADDQ(r.ld, row)
	r.g.ADDQ(r.lsc, scale)
}

func (g *gen) newRounder() *rounder {
	return &rounder{g: g, s: g.Slice("s"), ld: g.Stride("ld"), n: g.Num("n"), scales: g.Slice("scales"), lsc: g.Stride("lsc"), unit: g.Slice("unit")}
}

func (g *gen) round() {
	g.Kernel(spec.Round)
	r, dst := g.newRounder(), g.Slice("dst")
	r.eachVector(dst, func() {
		row, scale, left := r.start()
		to := g.GP64()
		g.MOVQ(dst, to)
		loop.Times(g, left, "row", func() {
			x := r.product(row, scale)
			g.VADDPS(r.magic, x, x)
			g.VSUBPS(r.magic, x, x)
			r.select_(x)
			g.VMOVUPS(x, emit.At(to, 0))
			g.ADDQ(r.ld, to)
			r.next(row, scale)
		})
	})
}

// integerPairs is round for integers: they are the low halves of the sums with 1.5·2^23 units.
func (g *gen) integerPairs() {
	g.Kernel(spec.Pairs)
	if g.EVEX() {
		g.CMPQ(g.Memory(g.Param("unit").Len()), operand.Imm(uint64(g.Lanes())))
		g.JL(operand.LabelRef("few"))
	}
	r, pairs, ldp := g.newRounder(), g.Slice("pairs"), g.SliceLen("unit")
	g.SHLQ(operand.Imm(2), ldp)
	r.eachVector(pairs, func() {
		to := g.GP64()
		g.MOVQ(pairs, to)
		r.integers(func(x reg.VecVirtual) { g.VMOVUPS(x, emit.At(to, 0)) }, func() { g.ADDQ(ldp, to) })
	})
	if g.EVEX() {
		g.toAVX2(spec.Pairs)
	}
}

// integers emits the loop over pairs of rows. store stores a pair, and next goes on to the next
// one.
func (r *rounder) integers(store func(x reg.VecVirtual), next func()) {
	g := r.g
	row, scale, left := r.start()
	sum := func() reg.VecVirtual {
		x := r.product(row, scale)
		g.VADDPS(r.magic, x, x)
		r.next(row, scale)
		return x
	}
	g.SUBQ(operand.Imm(2), left)
	g.JL(operand.LabelRef("single"))
	g.Label("pair")
	low, high := sum(), sum()
	g.VPSLLD(operand.Imm(16), high, high)
	g.takeHigh(low, high)
	g.VANDPS(r.keep, low, low)
	store(low)
	next()
	g.SUBQ(operand.Imm(2), left)
	g.JGE(operand.LabelRef("pair"))
	g.Label("single")
	g.ADDQ(operand.Imm(2), left)
	g.JZ(operand.LabelRef("end"))
	last := sum()
	g.VANDPS(g.Constant(0xffff), last, last)
	g.VANDPS(r.keep, last, last)
	store(last)
	g.Label("end")
}

// groupPairs has a group in each quarter of a vector. So with AVX-512 it takes four groups in the
// time of one; two are left to AVX2.
func (g *gen) groupPairs() {
	g.Kernel(spec.GroupPairs)
	lanes := g.Memory(g.Param("unit").Len())
	if g.EVEX() {
		g.TESTQ(operand.U32(g.Lanes()-1), lanes)
		g.JNZ(operand.LabelRef("few"))
	}
	r, pairs, lpg, lpg3 := g.newRounder(), g.Slice("pairs"), g.Stride("lpg"), g.GP64()
	g.LEAQ(emit.Indexed(lpg, lpg, 2), lpg3)
	r.groups = g.Vec()
	g.VMOVUPS(g.Repeated("quarters", 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), r.groups)
	groups := g.Lanes() / codeLanes
	g.Label("groups")
	r.findUnit()
	to := g.GP64()
	g.MOVQ(pairs, to)
	r.integers(func(x reg.VecVirtual) {
		for i := range groups {
			g.VMOVUPS(g.Quarter(g.Context, x, i), emit.OfFour(to, lpg, lpg3, i))
		}
	}, func() { g.ADDQ(operand.Imm(4*codeLanes), to) })
	g.Advance(4*groups, r.scales)
	g.Advance(g.VecBytes(), r.unit)
	g.LEAQ(emit.Indexed(pairs, lpg, uint8(groups)), pairs)
	g.SUBQ(operand.Imm(uint64(g.Lanes())), lanes)
	g.JNZ(operand.LabelRef("groups"))
	g.Return()
	if g.EVEX() {
		g.toAVX2(spec.GroupPairs)
	}
}

// takeHigh replaces the upper words of x by y's, whose lower words are 0.
func (g *gen) takeHigh(x, y reg.VecVirtual) {
	if !g.EVEX() {
		g.VPBLENDW(operand.Imm(0xaa), y, x, x)
		return
	}
	const aAndCOrB = 0xec
	g.VPTERNLOGD_BCST(operand.U8(aAndCOrB), g.Constant(0xffff), y, x)
}
