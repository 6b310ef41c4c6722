// Package contract is attn's numeric contract: the text that follows, which defines every bit of
// every result, and its numbers, each in one place. The assembly generators, the kernels in Go and
// whoever implements the contract elsewhere read them here. Programs that only call attn need
// neither.
//
// Floats are given as their bits, so that no conversion can round them.
package contract

// Lengths that decide about the order of operations.
const (
	KeyBlock      = 256 // keys between two merges, by absolute position
	ColumnSegment = 64  // columns of a score in one chain of FMAs
	InputSegment  = 128 // inputs of a linear layer in one chain of FMAs
	WeightBlock   = 32  // inputs of an output that share a scale of quantized weights
	BF16Segment   = 32  // numbers of a product in bfloat16 in one chain of FMAs for even and one for odd places

	NormChains     = 64 // chains of a sum over a row in norms
	AdditiveChains = 16 // chains of an additive score
)

// Constants as float32 bits.
const (
	Log2E     = 0x3fb8aa3b // log2 e
	Ln2       = 0x3f317218 // ln 2
	Canonical = 0x7fc00000 // the NaN of every result that is one
)

// What is added to scores is limited, as float32 bits: a finite bias to ±MostBias, the
// largest number whose product with Log2E is below 2^128, and the slope of an ALiBi, in the
// unit of scores, to ±MostSlope, 2^72.
const (
	MostBias  = 0x7f317217
	MostSlope = 0x63800000
)

// Numbers of the quantized rows of linear layers: the largest code, its reciprocal as float32 bits,
// and the least magnitude of a block that is not taken for zeros, 2^-100, below which quotients
// could overflow and scales be subnormal.
const (
	MostCode     = 127
	PerCode      = 0x3c010204
	LeastOfBlock = 0x0d800000
)

// Numbers of attention on integers: the keys in one sum of weights and codes of values; the bits of
// q̂ and of a weight after the leading bit of the largest; and the magnitudes that are rounded,
// from 2^-100 to below 2^100, as float32 bits.
const (
	ValueSegment   = 32
	QueryBits      = 10
	WeightBits     = 11
	LeastRounded   = 0x0d800000
	BeyondRounding = 0x71800000
)

// LeastBF16 is 2^-56 as float32 bits: below it a factor of a product in bfloat16 is +0, so that no
// sum is subnormal.
const LeastBF16 = 0x23800000

// LeastWeight is -100: a weight 2^x of a key, or a factor that merges blocks, is 0 below. Products
// of larger ones with values of at least 2^-26 are normal numbers; with subnormal ones an FMA takes
// 100 times as long on some CPUs.
const LeastWeight = 0xc2c80000

// LeastWeightBF16 is the least number whose weight is not +0 when it is rounded for a product in
// bfloat16, as float32 bits: the weights of smaller ones are below 2^-56 - 2^-65.
const LeastWeightBF16 = 0xc26002e3

// Numbers below LeastNormal, 2^-126, are subnormal, and +0 where they are packed, stored in
// a cache or kept by an optimizer. LeastGradient is 2^-100: below it gradients that
// attention is given, or has for scores, are +0. Both are float32 bits.
const (
	LeastNormal   = 0x00800000
	LeastGradient = 0x0d800000
)

// Numbers of QuantizeInt8 and QuantizeInt4, as float32 bits: a group is zeros if its largest
// magnitude is below LeastInt8 or LeastInt4, the least whose scale is rounded to a normal one.
// MostInt8 is the largest magnitude whose scale times 127 is finite: a larger one counts as
// MostInt8.
const (
	LeastInt8 = 0x03fe0000
	LeastInt4 = 0x01ffffff
	MostInt8  = 0x7f7ffffe
)

// RoundMagic is 1.5·2^23. Added to a number of magnitude below 2^22 it rounds that to an integer,
// ties to even, which is in the low bits of the sum.
const RoundMagic = 0x4b400000

// Exp2 returns the coefficients of the polynomial of exp2, the constant term first. On
// [-1/2, 1/2] it is 2^r within 0.80 ulp, rounding included, which was tried for all floats.
func Exp2() [7]uint32 {
	return [7]uint32{0x3f800000, 0x3f317218, 0x3e75fdee, 0x3d6357be, 0x3c1d96f0, 0x3aaf8418, 0x3920b5ae}
}

// Log2 returns the coefficients of the polynomial in f that approximates log2(1+f)/f on
// [-1/3, 1/3], the constant term first.
func Log2() [10]uint32 {
	return [10]uint32{
		0x3fb8aa3b, 0xbf38aa3c, 0x3ef637fa, 0xbeb8a994, 0x3e93d2e3,
		0xbe767a03, 0x3e4e8a17, 0xbe3377f7, 0x3e501dd4, 0xbe405761,
	}
}

// A TanhPoint is a point C that tanh is expanded around, with T = tanh C and V = 1-T².
type TanhPoint struct{ C, T, V uint32 }

// TanhPoints returns the points of tanh. Each C was chosen so that its tanh is a float32 to
// within 0.001 ulp.
func TanhPoints() [8]TanhPoint {
	return [8]TanhPoint{
		{0x00000000, 0x00000000, 0x3f800000},
		{0x3f9960b9, 0x3f5547a4, 0x3e9c9f6a},
		{0x401973b4, 0x3f7bcd32, 0x3d053fb8},
		{0x40669340, 0x3f7f9ec0, 0x3b425b0e},
		{0x4099a70b, 0x3f7ff727, 0x398d8d8e},
		{0x40c05395, 0x3f7fff36, 0x37c9ffb0},
		{0x40e7034e, 0x3f7fffee, 0x360ffffb},
		{0x410aa123, 0x3f7fffff, 0x34000000},
	}
}

// Tanh returns the coefficients of the polynomial in r² that approximates r/tanh r near 0, the
// constant term first.
func Tanh() [4]uint32 { return [4]uint32{0x3f800000, 0x3eaaaa79, 0xbcb5d1e4, 0x3b01b40b} }

const (
	TanhLimit   = 0x41103000 // from here on tanh is 1 to all 24 bits
	TanhDensity = 0x3f550000 // points per unit of x
)

// Numbers of SiLU and GELUTanh: z/(1+2^t) with t = c·(high+low), where c is z or a limit. Below
// Lowest the result is -0. From some number below Highest on it is x.
const (
	SiLULowest      = 0xc2dc0000
	SiLUHighest     = 0x41f00000
	NegLog2EHigh    = 0xbfb8aa3b // high + low = -log2 e
	NegLog2ELow     = 0xb2a57060
	GELUTanhLowest  = 0xc12e6666
	GELUTanhHighest = 0x40c00000
	GELUTanhC0High  = 0xc0135760 // high + low = C0 = -2·sqrt(2/π)·log2 e; t = x·(C0 + C1·x²)
	GELUTanhC0Low   = 0xb486f39d
	GELUTanhC1High  = 0xbdd2d3e8 // high + low = C1 = 0.044715·C0
	GELUTanhC1Low   = 0x310a8d56
)

// Numbers of GELU, x·Φ(x) = max(x, 0) - |x|·Q(|x|), where |x|·Q(|x|) = T·e^(-x²/2).
const (
	GELULowest  = 0xc1666666
	GELUHighest = 0x40c00000
	GELUHigh    = 0xbf38aa3b // high + low = -log2 e/2
	GELULow     = 0xb2257060
	GELURound   = 0x4b400020 // RoundMagic + 32, where 2^32 keeps the exponential a normal number
	GELUUnscale = 0x2f800000 // 2^-32
	GELUDensity = 0x3fa09cea
	GELUStart   = 0x3f9a8279
	GELUBits    = 22 // log2 of the number of floats in an interval of a·GELUDensity + GELUStart
)

// A GELUPoint is a point C that GELU is expanded around, with the coefficients of the polynomial
// in a-C that approximates T(a) = a·Q(a)·e^(a²/2), the constant term first.
type GELUPoint struct {
	C            uint32
	Coefficients [7]uint32
}

// GELUPoints returns the points of GELU. Each C was chosen so that T(C) is a float32 to within
// 0.02 ulp.
func GELUPoints() [8]GELUPoint {
	return [8]GELUPoint{
		{0x00000000, [7]uint32{0x00000000, 0x3f000000, 0xbecc41ed, 0x3e7fef6c, 0xbe0769be, 0x3d70308e, 0xbc8b8d3a}},
		{0x3f2e4a17, [7]uint32{0x3e59fb84, 0x3e3e7545, 0xbdfb66ec, 0x3d856371, 0xbcf448f1, 0x3c4bdd1d, 0xbb9aedf1}},
		{0x3fae61e6, [7]uint32{0x3e98b188, 0x3da751b2, 0xbd389250, 0x3ca6f38e, 0xbc043e5c, 0x3b432920, 0xba82f329}},
		{0x401484a2, [7]uint32{0x3eb231d3, 0x3d027030, 0xbc64a81c, 0x3ba7e8da, 0xbadbba97, 0x3a09540c, 0xb918d8cd}},
		{0x406c3827, [7]uint32{0x3ebfbdf4, 0x3c3812ec, 0xbb735030, 0x3a897551, 0xb98ca690, 0x388d92da, 0xb7820b21}},
		{0x40b30e31, [7]uint32{0x3ec64702, 0x3b7bf105, 0xba72e082, 0x394b38b6, 0xb81c4d54, 0x36f18d91, 0xb5a6aed1}},
		{0x41050e21, [7]uint32{0x3ec96cad, 0x3aa79641, 0xb965655d, 0x3809a63d, 0xb699481a, 0x352e2774, 0xb3b1ca7f}},
		{0x41433670, [7]uint32{0x3ecae9be, 0x39dd7cbd, 0xb8545248, 0x36b37e2f, 0xb50d64d1, 0x33658a63, 0xb1ac238b}},
	}
}

// The random numbers of dropout: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, Parallel random
// numbers: as easy as 1, 2, 3, SC 2011).
const (
	PhiloxRounds = 10
	PhiloxM0     = 0xd2511f53 // multipliers
	PhiloxM1     = 0xcd9e8d57
	PhiloxW0     = 0x9e3779b9 // what each round adds to the keys
	PhiloxW1     = 0xbb67ae85
)
