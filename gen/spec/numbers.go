package spec

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// Numbers of the numeric contract, from package contract, as float32 bits unless they are counts.
const (
	NaN         = contract.Canonical // narrowed to binary16 or bfloat16 it is the NaN that the contract wants there
	Log2E       = contract.Log2E
	LeastWeight = contract.LeastWeight

	LeastWeightBF16 = contract.LeastWeightBF16
	RoundBF16Factor = 0x47800000 // 2^16
	RoundBF16Less   = 0xc77fff00 // 1 - 2^16

	MostBias   = contract.MostBias
	RoundMagic = contract.RoundMagic

	MostCode     = contract.MostCode
	PerCode      = contract.PerCode
	LeastOfBlock = contract.LeastOfBlock

	LeastNormal   = contract.LeastNormal
	LeastGradient = contract.LeastGradient
	LeastInt8     = contract.LeastInt8
	LeastInt4     = contract.LeastInt4
	MostInt8      = contract.MostInt8

	TanhLimit   = contract.TanhLimit
	TanhDensity = contract.TanhDensity

	PhiloxM0     = contract.PhiloxM0
	PhiloxM1     = contract.PhiloxM1
	PhiloxRounds = contract.PhiloxRounds

	AdditiveChains = contract.AdditiveChains
	NormChains     = contract.NormChains
	ColumnSegment  = contract.ColumnSegment
	InputSegment   = contract.InputSegment
	BF16Segment    = contract.BF16Segment
	LeastBF16      = contract.LeastBF16

	SiLULowest      = contract.SiLULowest
	SiLUHighest     = contract.SiLUHighest
	NegLog2EHigh    = contract.NegLog2EHigh
	NegLog2ELow     = contract.NegLog2ELow
	GELUTanhLowest  = contract.GELUTanhLowest
	GELUTanhHighest = contract.GELUTanhHighest
	TanhC0High      = contract.GELUTanhC0High
	TanhC0Low       = contract.GELUTanhC0Low
	TanhC1High      = contract.GELUTanhC1High
	TanhC1Low       = contract.GELUTanhC1Low

	GELULowest   = contract.GELULowest
	GELUHighest  = contract.GELUHighest
	GELUHigh     = contract.GELUHigh
	GELULow      = contract.GELULow
	GELURound    = contract.GELURound
	GELUUnscale  = contract.GELUUnscale
	GELUDensity  = contract.GELUDensity
	GELUStart    = contract.GELUStart
	GELUInterval = contract.GELUBits
)

// For every x below these the magnitude of the function is at most 2^-126. The exponential of GELU
// is less than 2^-124 then.
const (
	SiLUSubnormal     = 0xc2b7b6ab
	GELUTanhSubnormal = 0xc1219c35
	GELUSubnormal     = 0xc1525706
)

// Polynomials, the constant terms first.
var (
	Exp2Coefficients = contract.Exp2()
	TanhCoefficients = contract.Tanh()
)

// The tables of tanh, at 8 points c: c, t = tanh c, and v = 1-t².
var TanhC, TanhT, TanhV = tanhTables()

func tanhTables() (c, t, v []uint32) {
	for _, p := range contract.TanhPoints() {
		c, t, v = append(c, p.C), append(t, p.T), append(v, p.V)
	}
	return c, t, v
}

// GELUC are the points that GELU expands around, and GELUT the coefficients of its polynomials, one
// table each.
var GELUC, GELUT = geluTables()

func geluTables() (c []uint32, t [7][]uint32) {
	for _, p := range contract.GELUPoints() {
		c = append(c, p.C)
		for i, x := range p.Coefficients {
			t[i] = append(t[i], x)
		}
	}
	return c, t
}

// Other float32 bits.
const (
	Infinity = 0x7f800000
	MinusInf = 0xff800000
	SignBit  = 0x80000000
	Minus126 = 0xc2fc0000
	Plus128  = 0x43000000
	One      = 0x3f800000
	Exponent = 0xff800000 // the bits of the sign and the exponent
)

// To widen E4M3, as pairs of binary16: the places of the sign, the exponent and the fraction, the
// last place of the fraction, and the place above the exponent, which only the code after the NaN's
// sets. E4M3Scale is 2^8, the ratio of the biases.
const (
	E4M3Places = 0xbf80bf80
	E4M3Next   = 0x00800080
	E4M3Carry  = 0x40004000
	E4M3Scale  = 0x43800000
)

// BytesOfFloat8 returns the bytes of the bfloat16 that a magnitude of E4M3 or E5M2 becomes, the
// lower one first.
func BytesOfFloat8(e Element, magnitude int) [2]uint8 {
	if e == E4M3 {
		return BytesE4M3(magnitude)
	}
	bits := math.Float32bits(scalar.F8E5M2(uint8(magnitude))) >> 16
	return [2]uint8{uint8(bits), uint8(bits >> 8)}
}

// BytesE4M3 is BytesOfFloat8 of an E4M3. The NaN, too, has its exponent and fraction where numbers
// have them, and all bits of the exponent set.
func BytesE4M3(magnitude int) [2]uint8 {
	bits := math.Float32bits(scalar.F8E4M3(uint8(magnitude))) >> 16
	if magnitude == 0x7f {
		bits = 0x7ff0
	}
	return [2]uint8{uint8(bits), uint8(bits >> 8)}
}

// SkinnyKeys is the number of keys in a tile of SkinnyQK and in an iteration of SkinnyPV.
const SkinnyKeys = ukernel.SkinnyKeys

// SkinnyGroup divides the columns of SkinnyQK and SkinnyPV for narrow types.
const SkinnyGroup = ukernel.SkinnyGroup

// LineBytes is the size of a cache line.
const LineBytes = 64
