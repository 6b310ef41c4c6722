package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is all that the algorithms need to know of an instruction set. Most instructions
// have the same name for all vector widths and are used directly. Here is what differs.
type isa interface {
	name() string               // suffix of the functions, "AVX2"
	lanes() int                 // float32 in a vector
	tiles() []spec.TileShape    // of Gemm, one for each width of a query tile
	weightTile() spec.TileShape // of WeightGemm, for all 48 lanes of a packed panel

	skinnyRows() int  // queries in a tile of SkinnyQK, rows in one of SkinnyPV
	skinnyWords() int // words of 32 bits of a key in a step of SkinnyQK
	skinnyParts() int // number of parts in which they are loaded

	// skinnyVariants are those of SkinnyQK and SkinnyPV for float32.
	skinnyVariants() ([]spec.QKVariant, []spec.PVVariant)

	// blockTiles are the tiles of products with quantized weights: at most 4 rows, the most
	// first, and 1 last; the vectors divide a packed panel.
	blockTiles() []spec.TileShape

	// fourBits emits the steps of a block of 4-bit numbers; name begins its labels.
	fourBits(t *blockGemmer, name string)

	// evex reports whether EVEX instructions and registers 16-31 may be used.
	evex() bool

	vector(c *build.Context) reg.VecVirtual
	zero(c *build.Context, v reg.Register)

	// fmaBroadcast adds m, a single float32, times each lane of b to acc.
	// It allocates the registers that it needs.
	fmaBroadcast(c *build.Context, m operand.Mem, b, acc reg.Register)

	// mulBroadcast multiplies each lane of all v by m, a single float32.
	mulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual)

	// fmaUnless replaces x by fma(x, factor, m) in the lanes in which x is not z.
	fmaUnless(c *build.Context, x, factor reg.Register, m operand.Mem, z operand.Op)

	// split splits x into n, its value rounded to an integer, ties to even, and r = x-n. n
	// is in the form that scale wants. It returns the set of lanes that are not below limit
	// (a NaN is not). x may be overwritten.
	split(c *build.Context, x, n, r reg.Register, limit operand.Op) (keep reg.Register)

	// scale multiplies p by 2^n and replaces the product by 0 outside keep. A NaN
	// in p stays. n may be overwritten.
	scale(c *build.Context, p, n, keep reg.Register)

	// zeroWhere clears the lanes of x in which y equals the vector z.
	zeroWhere(c *build.Context, x, y reg.Register, z operand.Op)

	// zeroBelow clears the lanes of x in which y is below limit, both uint32.
	zeroBelow(c *build.Context, x, y, limit reg.Register)

	// xor is x ^= y ^ m, m a single number of 32 bits.
	xor(c *build.Context, x, y reg.Register, m operand.Mem)

	// maskSpan replaces by other the lanes of s in which not lo ≤ j < hi, all int32.
	maskSpan(c *build.Context, s, j, lo, hi, other reg.Register)

	// selectNegative replaces by other the lanes of s in which the sign of m is set.
	selectNegative(c *build.Context, s, m, other reg.Register)

	// takeSign gives y, whose sign is not set, the sign of x. x may be overwritten.
	takeSign(c *build.Context, y, x, signBit reg.Register)

	// newSet returns an empty set of lanes, orNaN adds the lanes in which x is NaN, and
	// setBits stores the set as bits.
	newSet(c *build.Context) reg.Register
	orNaN(c *build.Context, set, x reg.Register)
	setBits(c *build.Context, set reg.Register, bits reg.GPVirtual)

	// replaceNaN replaces by other the lanes of x that are NaN.
	replaceNaN(c *build.Context, x, other reg.Register)

	// loadWhere loads the lanes of v whose mask is set, and clears the others. It reads nothing
	// else. storeWhere stores these lanes alone. It may overwrite mask.
	loadWhere(c *build.Context, m operand.Mem, mask, v reg.VecVirtual)
	storeWhere(c *build.Context, v, mask reg.VecVirtual, m operand.Mem)

	// storeWords stores the lower half of every lane of v, a 16-bit number. v may be
	// overwritten.
	storeWords(c *build.Context, v reg.VecVirtual, m operand.Mem)

	// storeBytes stores every lane of v, an integer that is an int8. v may be overwritten.
	storeBytes(c *build.Context, v reg.VecVirtual, m operand.Mem)

	// loadQuarters loads 16 bytes into every 128-bit quarter (or half) of v, from the address
	// that addr returns for the quarter's number.
	loadQuarters(c *build.Context, v reg.VecVirtual, addr func(quarter int) operand.Mem)

	// keyWords loads a part of the words of vector v of 16 rows, those from v·lanes on, and
	// transposes them. It returns a vector for each word. There are skinnyParts parts.
	keyWords(w *keyWidener, row func(i int) operand.Mem, v, part int) []reg.VecVirtual

	// widenWords widens the lower and the upper halves of 32-bit lanes, which are binary16.
	// x is overwritten. halvesOrder returns its operand order.
	halvesOrder(g *gen) operand.Op
	widenWords(c *build.Context, x reg.VecVirtual, order operand.Op) []keyColumn

	// widenByte returns a byte of words, an int8, as float32. For the highest byte it may
	// overwrite words. wordBytes returns the four bytes, each with its constants.
	wordBytes(g *gen) []wordByte
	widenByte(g *gen, words reg.VecVirtual, b wordByte) reg.VecVirtual

	// repeatQuarter loads the 16 bytes at m into every quarter of v.
	repeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual)

	// insertQuarter replaces one 128-bit quarter (or half) of v by x.
	insertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual)

	// mergeQuarters replaces the odd 128-bit quarters (or the upper half) of v by those of
	// m. oddQuarters returns its operand odd.
	oddQuarters(c *build.Context) (odd operand.Op)
	mergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op)

	// transposeQuarters returns as many vectors as a vector has quarters (or halves). Vector
	// i has quarter i of each of v.
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
