package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is what the algorithms need to know of an instruction set. Most
// instructions have one name for all vector widths and are used directly; here
// is what differs.
type isa interface {
	name() string // suffix of the functions, "AVX2"
	file() string // first part of the file names, "avx2"
	lanes() int   // float32 in a vector
	tiles() []spec.TileShape
	weightTile() spec.TileShape // for whole strips of weights, 48 lanes

	skinnyRows() int  // queries in a tile of SkinnyQK, rows in one of SkinnyPV
	skinnyWords() int // words of 32 bits of a key in a step of SkinnyQK
	skinnyParts() int // in which they are loaded

	// evex tells whether EVEX instructions and registers 16-31 may be used.
	evex() bool

	vector(c *build.Context) reg.VecVirtual
	zero(c *build.Context, v reg.Register)

	// fmaBroadcast adds m, a single float32, times each lane of b to acc.
	// Registers that it needs are the callee's choice.
	fmaBroadcast(c *build.Context, m operand.Mem, b, acc reg.Register)

	// mulBroadcast multiplies each lane of all v by m, a single float32.
	mulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual)

	// fmaUnless replaces x by fma(x, factor, m) in the lanes where it is not z.
	fmaUnless(c *build.Context, x, factor reg.Register, m operand.Mem, z operand.Op)

	// split splits x into n, its value rounded to an integer, ties to even, and
	// r = x-n. n is in the form that scale takes. It returns the set of lanes
	// that are not below limit (a NaN is not). x may be overwritten.
	split(c *build.Context, x, n, r reg.Register, limit operand.Op) (keep reg.Register)

	// scale multiplies p by 2^n and replaces the product by 0 outside keep. A NaN
	// in p stays. n may be overwritten.
	scale(c *build.Context, p, n, keep reg.Register)

	// zeroWhere clears the lanes of x where y equals the vector z.
	zeroWhere(c *build.Context, x, y reg.Register, z operand.Op)

	// zeroBelow clears the lanes of x where y is below limit, both uint32.
	zeroBelow(c *build.Context, x, y, limit reg.Register)

	// xor is x ^= y ^ m, m a single number of 32 bits.
	xor(c *build.Context, x, y reg.Register, m operand.Mem)

	// maskSpan replaces by other the lanes of s in which not lo ≤ j < hi, all int32.
	maskSpan(c *build.Context, s, j, lo, hi, other reg.Register)

	// selectNegative replaces by other the lanes of s where the sign of m is set.
	selectNegative(c *build.Context, s, m, other reg.Register)

	// takeSign gives y, whose sign is not set, the sign of x. x may be overwritten.
	takeSign(c *build.Context, y, x, signBit reg.Register)

	// orNaN adds to the set of lanes, made by newSet, those in which x is NaN;
	// setBits stores the set as bits.
	newSet(c *build.Context) reg.Register
	orNaN(c *build.Context, set, x reg.Register)
	setBits(c *build.Context, set reg.Register, bits reg.GPVirtual)

	// replaceNaN replaces by other the lanes of x that are NaN.
	replaceNaN(c *build.Context, x, other reg.Register)

	// storeWords stores the lower half of every lane of v, which is a 16-bit
	// number. v may be overwritten.
	storeWords(c *build.Context, v reg.VecVirtual, m operand.Mem)

	// loadQuarters loads into v 16 bytes for every 128-bit quarter (or half) of
	// it, from the address that addr gives for the quarter's number.
	loadQuarters(c *build.Context, v reg.VecVirtual, addr func(quarter int) operand.Mem)

	// keyWords loads part of the keyWidener of vector v of 16 rows, those from v·lanes on,
	// and transposes them: it returns a vector for each word. There are skinnyParts parts.
	keyWords(w *keyWidener, row func(i int) operand.Mem, v, part int) []reg.VecVirtual

	// halvesOrder is what widenWords needs; that widens the lower and the upper halves,
	// binary16, of 32-bit lanes, each where it is wanted. x is overwritten.
	halvesOrder(g *gen) operand.Op
	widenWords(c *build.Context, x reg.VecVirtual, order operand.Op) []keyColumn

	// wordBytes is what widenByte needs; that returns a byte of words, an int8, as float32,
	// and may overwrite them if it is the highest.
	wordBytes(g *gen) []wordByte
	widenByte(g *gen, words reg.VecVirtual, b wordByte) reg.VecVirtual

	// repeatQuarter loads the 16 bytes at m into every quarter of v.
	repeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual)

	// insertQuarter replaces one 128-bit quarter (or half) of v by x.
	insertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual)

	// mergeQuarters replaces the odd 128-bit quarters (or the upper half) of v by those of
	// m. odd is what oddQuarters returns.
	oddQuarters(c *build.Context) (odd operand.Op)
	mergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op)

	// transposeQuarters returns vectors of which number i has quarter (or half) i
	// of each of v, as many as a vector has quarters.
	transposeQuarters(c *build.Context, v []reg.VecVirtual) []reg.VecVirtual

	// quarter returns one 128-bit quarter (or half) of v.
	quarter(c *build.Context, v reg.VecVirtual, quarter int) reg.Register

	// storeQuarter stores one 128-bit quarter (or half) of v.
	storeQuarter(c *build.Context, v reg.VecVirtual, quarter int, m operand.Mem)
}

// Predicates of compare instructions.
const (
	equal       = 0    // EQ_OQ
	lessThan    = 1    // of integers
	lessOrEqual = 2    // of integers
	atLeast     = 5    // of integers
	unordered   = 3    // UNORD_Q: one is NaN
	notEqual    = 4    // NEQ_UQ: true for NaN
	notLessThan = 0x15 // NLT_UQ: true for NaN
)
