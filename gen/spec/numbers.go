package spec

// Numbers of the numeric contract, as float32 bits unless they are counts. Package
// fallback has the same numbers: the tests of the kernels compare the results.

const (
	MinusInf = 0xff800000
	NaN      = 0x7fc00000 // narrowed to binary16 or bfloat16 it is the NaN that the contract wants there
	SignBit  = 0x80000000
	Minus126 = 0xc2fc0000
	Plus128  = 0x43000000
	Log2E    = 0x3fb8aa3b
	One      = 0x3f800000
	Exponent = 0xff800000 // the bits of the sign and the exponent
)

// RoundMagic is 1.5·2^23. Added to a number of magnitude below 2^22 it rounds that to an
// integer, ties to even, which is in the low bits of the sum.
const RoundMagic = 0x4b400000

// Exp2Coefficients are the coefficients of the polynomial of exp2, the constant term
// first. On [-1/2, 1/2] it is 2^r within 0.80 ulp, rounding included, which was tried for
// all floats.
var Exp2Coefficients = [...]uint32{0x3f800000, 0x3f317218, 0x3e75fdee, 0x3d6357be, 0x3c1d96f0, 0x3aaf8418, 0x3920b5ae}

// The tables of tanh, at 8 points c: c, t = tanh c, and v = 1-t². TanhCoefficients are
// those of the polynomial h in r² that approximates r/tanh r, the constant term first.
var (
	TanhC = []uint32{0x00000000, 0x3f9960b9, 0x401973b4, 0x40669340, 0x4099a70b, 0x40c05395, 0x40e7034e, 0x410aa123}
	TanhT = []uint32{0x00000000, 0x3f5547a4, 0x3f7bcd32, 0x3f7f9ec0, 0x3f7ff727, 0x3f7fff36, 0x3f7fffee, 0x3f7fffff}
	TanhV = []uint32{0x3f800000, 0x3e9c9f6a, 0x3d053fb8, 0x3b425b0e, 0x398d8d8e, 0x37c9ffb0, 0x360ffffb, 0x34000000}

	TanhCoefficients = [...]uint32{0x3f800000, 0x3eaaaa79, 0xbcb5d1e4, 0x3b01b40b}
)

const (
	TanhLimit   = 0x41103000 // from here on tanh is 1
	TanhDensity = 0x3f550000 // points per unit of x
)

// The multipliers of Philox4x32, and its number of rounds.
const (
	PhiloxM0     = 0xd2511f53
	PhiloxM1     = 0xcd9e8d57
	PhiloxRounds = 10
)

// AdditiveChains is the number of chains of an additive score.
const AdditiveChains = 16

// The lengths of the segments that products are cut into.
const (
	ColumnSegment = 64  // columns of a score
	InputSegment  = 128 // inputs of a linear layer
)

// SkinnyKeys is the number of keys in a tile of SkinnyQK and in an iteration of SkinnyPV.
const SkinnyKeys = 16

// LineBytes is the size of a cache line.
const LineBytes = 64
