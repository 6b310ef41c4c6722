package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An ISA is all that the algorithms need to know of an instruction set. Most instructions
// have the same name for all vector widths and are used directly. Here is what differs.
type ISA interface {
	Name() string               // suffix of the functions, "AVX2"
	Lanes() int                 // float32 in a vector
	Tiles() []spec.TileShape    // of Gemm, one for each width of a query tile
	WeightTile() spec.TileShape // of WeightGemm, for all 48 lanes of a packed panel

	// WeightVariants are the variants of WeightGemm, none if there is one kernel.
	WeightVariants() []spec.WeightVariant

	// BlockVariants are the variants of WeightGemmQ and WeightGemmInt8, none if there is one
	// kernel.
	BlockVariants() []spec.BlockVariant

	SkinnyRows() int               // queries in a tile of SkinnyQK, rows in a tile of SkinnyPV
	SkinnyWords() int              // words of 32 bits of a key in a step of SkinnyQK
	SkinnyKept(e spec.Element) int // the columns of the first vector of keys that stay in registers until they are used

	// SkinnyVariants are the variants of SkinnyQK and SkinnyPV for float32.
	SkinnyVariants() ([]spec.QKVariant, []spec.PVVariant)

	// BlockTiles are the tiles of products with quantized weights: at most 8 rows, the most
	// first, and 1 last; the vectors divide a packed panel.
	BlockTiles() []spec.TileShape

	// EVEX reports whether EVEX instructions and registers 16-31 may be used.
	EVEX() bool

	Vector(c *build.Context) reg.VecVirtual
	Zero(c *build.Context, v reg.Register)

	// FMABroadcast adds m, a single float32, times each lane of b to acc.
	// It allocates the registers that it needs.
	FMABroadcast(c *build.Context, m operand.Mem, b, acc reg.Register)

	// MulBroadcast multiplies each lane of all v by m, a single float32.
	MulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual)

	// FMALimited returns fma(y, factor, m), where y is x limited to ±limit, and x where x is
	// infinite or a NaN. aid has the bits of LimitAid in all lanes.
	FMALimited(c *build.Context, x, limit, aid reg.Register, factor operand.Op, m operand.Mem) reg.VecVirtual
	LimitAid(limit uint32) uint32

	// ZeroWhere clears the lanes of x in which y equals the vector z.
	ZeroWhere(c *build.Context, x, y reg.Register, z operand.Op)

	// Alternate makes two vectors one row of their lanes in turn: x's first, y's first, x's second.
	Alternate(c *build.Context, x, y reg.VecVirtual)

	// ZeroBelow clears the lanes of x in which y is below limit, both uint32.
	ZeroBelow(c *build.Context, x, y reg.Register, limit operand.Op)

	// Xor is x ^= y ^ m, m a single number of 32 bits.
	Xor(c *build.Context, x, y reg.Register, m operand.Mem)

	// SelectNegative replaces by other the lanes of s in which the sign of m is set.
	SelectNegative(c *build.Context, s, m, other reg.Register)

	// NewSet returns an empty set of lanes, NaN the set of lanes in which x or y is NaN. OrNaN adds
	// these to a set, and SetBits stores it as bits.
	NewSet(c *build.Context) reg.Register
	NaN(c *build.Context, x, y reg.Register) reg.Register
	OrNaN(c *build.Context, set, x, y reg.Register)
	SetBits(c *build.Context, set reg.Register, bits reg.GPVirtual)

	// ReplaceNaN replaces by other the lanes of x that are NaN.
	ReplaceNaN(c *build.Context, x, other reg.Register)

	// Butterfly returns a function that replaces the lanes of x that lie distance apart, a
	// power of two, by their sum and their difference, the first minus the second.
	Butterfly(c *build.Context) func(x reg.VecVirtual, distance int)

	// LoadWhere loads the lanes of v whose mask is set, and clears the others. It reads nothing
	// else. StoreWhere stores these lanes alone. It may overwrite mask.
	LoadWhere(c *build.Context, m operand.Mem, mask, v reg.VecVirtual)
	StoreWhere(c *build.Context, v, mask reg.VecVirtual, m operand.Mem)

	// StoreWords stores the lower half of every lane of v, a 16-bit number. v may be
	// overwritten.
	StoreWords(c *build.Context, v reg.VecVirtual, m operand.Mem)

	// StoreBytes stores every lane of v, an integer that is an int8. v may be overwritten.
	StoreBytes(c *build.Context, v reg.VecVirtual, m operand.Mem)

	// LoadQuarters loads 16 bytes into every 128-bit quarter (or half) of v, from the address
	// that addr returns for the quarter's number.
	LoadQuarters(c *build.Context, v reg.VecVirtual, addr func(quarter int) operand.Mem)

	// KeyWords loads the words of vector v of 16 rows, those from v·lanes on, and transposes them.
	// It returns a vector for each word.
	KeyWords(g *Gen, e spec.Element, row func(i int) operand.Mem, v int) []reg.VecVirtual

	// RepeatQuarter loads the 16 bytes at m into every quarter of v.
	RepeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual)

	// InsertQuarter replaces one 128-bit quarter (or half) of v by x.
	InsertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual)

	// MergeQuarters replaces the odd 128-bit quarters (or the upper half) of v by m's. OddQuarters
	// returns its operand odd.
	OddQuarters(c *build.Context) (odd operand.Op)
	MergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op)

	// TransposeQuarters returns as many vectors as a vector has quarters (or halves). Vector
	// i has quarter i of each of v.
	TransposeQuarters(c *build.Context, v []reg.VecVirtual) []reg.VecVirtual

	// Quarter returns one 128-bit quarter (or half) of v.
	Quarter(c *build.Context, v reg.VecVirtual, quarter int) reg.Register

	// StoreQuarter stores one 128-bit quarter (or half) of v.
	StoreQuarter(c *build.Context, v reg.VecVirtual, quarter int, m operand.Mem)
}

// Predicates of compare instructions.
const (
	atLeast     = 5    // of integers
	Unordered   = 3    // UNORD_Q: one is NaN
	notEqual    = 4    // NEQ_UQ: true for NaN
	notLessThan = 0x15 // NLT_UQ: true for NaN
)
