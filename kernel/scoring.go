package kernel

import (
	"unsafe"

	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// Scoring is what makes the weights of a call from the products of queries and keys: the part of
// the options that determines its result. The zero value is plain bidirectional attention with
// scale 1/√D. Slices and tensors are not copied: they must not change during the call.
//
// Between the product of a query with a key and its weight, the fields apply in this
// order: Scale, Score, Softcap, ALiBi, Bias, Mask. The numeric contract, package contract,
// has the arithmetic.
//
// All fields can be combined, but for DynamicInt12 and BFloat16, which say what they need. A call
// that cannot take one says so in its documentation, and returns an error if it is set.
type Scoring struct {
	// Scale multiplies the scores before the softmax. It must be finite and at most 2^127 in
	// magnitude. 0, the default, means the scale that the score is defined with: float32(1/√D) for
	// [Attention], with D the head size of q, and 1 for [Additive] and the similarities of package
	// layer that are defined without a scale. -0, float32(math.Copysign(0, -1)), is a scale of 0:
	// all keys that a query sees then have the same weight, unless Score, ALiBi or Bias changes it.
	Scale float32

	// DynamicInt12 rounds queries to 11 bits and a sign, and weights times the scales of their
	// values to 12 bits, so that their products with keys and values of int8 or int4, which k and v
	// must then be, have exact sums: kernels for integers compute them, in the same bits on every
	// CPU. Each row of queries, and each 32 weights of a row, share a unit, a power of two that the
	// call chooses by the largest of them (dynamic quantization). See "Contract: attention on
	// integers" in package contract. Kernels for integers decode from int8 up to 1.8 times as fast,
	// and compute prompts 1.2 to 1.4 times as fast; from int4 up to 1.7 times. Each group of
	// columns with a scale of its own costs time. The tiers avx2 and avx512 have such kernels, for
	// groups of a multiple of 16 columns; a group of k has at most 128 columns, or the whole row.
	// Elsewhere calls take longer with DynamicInt12 than without. The default rounds nothing but k
	// and v, which are rounded already. DynamicInt12 needs k and v of int8 or int4: other types are
	// an error. [Additive], whose score is no product of queries and keys, refuses it.
	DynamicInt12 bool

	// BFloat16 rounds queries, keys, values and weights to bfloat16, so that matrix units can
	// multiply them. Sums, the softmax and the merging of blocks stay float32. The order of the
	// sums is one that such units and fma both have: the bits are the same on every CPU. See
	// "Contract: attention in bfloat16" in package contract. The rounding costs accuracy: on
	// normally distributed numbers the error is 2^-13 of the values, as with PyTorch on bfloat16
	// tensors. Where k and v are bfloat16 already, as in a cache, only the weights and the queries
	// are rounded. The default rounds nothing, not even for tensors of bfloat16. BFloat16 takes k
	// and v of floating point types. int8 and int4 are an error, as the product of an integer and
	// its scale is no bfloat16: they have DynamicInt12. [Additive], whose score is no product of
	// queries and keys, and [AttentionBackward] refuse BFloat16.
	BFloat16 bool

	// Score, if not nil, is called with every tile of scores, see [ScoreTile]. It makes
	// the call slower. It is called from several goroutines at once.
	//
	// If it panics, the call panics after all goroutines have left it: with the same value
	// if the panic was on the calling goroutine, with a [*TaskPanic] if it was on another.
	// If it ends its goroutine (runtime.Goexit, as testing.T.FailNow does), the call ends
	// the calling one. out then holds anything.
	Score func(*ScoreTile)

	// Softcap, if not 0, limits scores to ±Softcap by Softcap·tanh(score/Softcap),
	// before anything is added to them (Gemma 2, Grok). It is from 2^-126 to 2^127.
	Softcap float32

	// ALiBi, if not nil, holds a slope of at most 2^127 in magnitude for each of q's
	// heads: slope·-|i-j| is added to the scores, with i and j the positions (Press,
	// Smith, Lewis: "Train Short, Test Long"). A slope beyond ±2^72/log2 e counts as that: no
	// distance hides a key.
	ALiBi []float32

	// Bias, if not the zero Tensor, is added to the scores: [B, H, Lq, Lk] in any
	// type of queries. Each of the first three dimensions may be 1, which stands
	// for all. -Inf hides a key, as a mask does. If the bias is shorter than Lk, the keys
	// after it are hidden. NaN stays NaN.
	//
	// A finite bias hides no key. It counts as at most ±2.3586574e38, so that its sum with
	// a score of up to 2^104 is finite. Keys that all have the lowest float32 or bfloat16,
	// the usual fill of masks, share the weight: the scores are too small to count beside it.
	Bias Tensor

	// Mask hides keys from queries. The default hides none.
	Mask Mask

	// QueryStart and KeyStart are the positions of the first query and the first key: one for all
	// batch rows, one for each, or none, which means 0. Query i has position QueryStart + i, key j
	// has KeyStart + j. Queries that continue a cache of past keys start at past; a cache that has
	// dropped its beginning starts at the position of its first key. Positions are from -2^30+1 to
	// 2^30-1, and positions of keys from 0.
	//
	// Positions affect masks, ALiBi and dropout, and they delimit the blocks in which
	// keys are summed: with the same positions a row has the same bits.
	QueryStart, KeyStart []int

	// Parents, if not nil, makes the queries a tree, such as a tree of drafted tokens: it holds the
	// number of the query before each one, which is less than its own, or -1 for one that follows
	// the keys before the tree. There are Lq parents, a tree for all batch rows, or B·Lq. The key
	// of query i is key past + i of the call, where past, the number of keys before the tree, is
	// QueryStart - KeyStart.
	//
	// A query then has the result, down to the last bit, that it would have if the tokens of its
	// path had followed the keys before the tree one after the other. Its keys are the keys before
	// the tree and then its path. Mask, Bias, Outputs.Weights and Outputs.Scores number them so,
	// positions count along the path, and a causal mask hides no key. Keys that do not exist, such
	// as keys of padded queries, do not count.
	//
	// Each query reads its keys itself, as in decoding: with few query heads for each key head
	// [VisibleLast] is faster, where the last bits do not matter, and neither positions nor
	// windows. Partial results and gradients do not take Parents, nor do calls with KeyRows.
	Parents []int32

	// KeyRows, if not the zero KeyRows, lists the keys of each query (sparse attention). Partial
	// results and gradients do not take it.
	KeyRows KeyRows

	// Sinks, if not nil, holds a score for each of q's heads. It takes part in the
	// softmax like one more key without a value, so that weights sum to less than 1
	// (StreamingLLM, gpt-oss). It is at most 2^127 in magnitude and not scaled. -Inf
	// means no sink.
	Sinks []float32

	// Dropout drops weights at random. The default drops none.
	Dropout Dropout
}

// KeyRows lists the keys that queries see by their rows in k, as the indexer of DeepSeek's sparse
// attention, NSA or Quest choose them: a call reads the keys and values of these rows alone, in the
// order of the list. Query i of query head h of batch row b has list [b, h/(H/Hkv), i].
//
//   - A list may name rows of k in any order, and a row more than once: it then counts as often.
//   - An entry of -1 ends a list; all entries after it must be -1, too. A query with an empty list
//     gives zeros.
//   - To everything else entry n of a list is key n of its query, and the call has Lk = N keys: to
//     masks that count keys, a bias, Outputs.Weights and Outputs.Scores. To masks that state
//     positions, ALiBi and dropout, the position of a key is KeyStart plus its row. KeyStart and
//     the pages of k have no other effect.
//   - Keys are summed up in blocks of 256 entries. So a call has the bits of a call whose k and v
//     are copies of the rows, with a KeyStart of 0. A list of all rows in ascending order gives the
//     bits of a call without a list if KeyStart is a multiple of 256.
//
// Lists that several queries share cost less than copies of them, as queries with one list read its
// keys together.
type KeyRows struct {
	// Rows has the lists, without gaps.
	Rows []int32

	// Shape is [B, Hkv, Lq, N]. Each of the first three dimensions may be 1, which stands for all:
	// [B, 1, Lq, N] is a list for each query that all heads share, as in multi-head latent
	// attention.
	Shape [4]int
}

// Dropout drops weights, as in training: each with probability Rate, independently, and multiplies
// the others by 1/(1-Rate). Weights are divided by the sum of all, dropped ones too. Which weights
// are dropped depends on the seed, the sequence, the query head and the positions of query and key,
// and on nothing else.
type Dropout struct {
	// Rate is from 0 to below 1.
	Rate float32

	// Seed is the key of the generator, Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
	// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
	Seed uint64

	// Sequences, if not nil, holds a number for each batch row, which is used instead of
	// the row's index: a sequence then drops the same weights in any batch.
	Sequences []uint32
}

// A ScoreTile is passed to Options.Score: the scores of some queries and some keys,
// to be changed in place. With it a program adds what no option offers: another
// similarity, another bias, another mask (-Inf hides a key, unless Softcap turns it
// into -Softcap). Softcap, ALiBi, Bias and Mask are applied after it.
//
// The scores are in the contract's unit, base-2 exponentials: a natural score times log2 e. To get
// the same bits on every CPU, use numeric.FMA, numeric.Exp2 and numeric.Tanh, and write
// float32(x*y) for a product to which something is added.
//
// The engine cuts tiles to suit the tier and the number of threads. They come in any
// order and from several goroutines at once, and a score may be computed more than
// once. The new score must depend on its query and key alone; otherwise the result
// depends on the tiling. The tile is valid during the call only.
type ScoreTile struct {
	// Scores holds the score of row r and key x at [x·Stride+r].
	Scores []float32
	Stride int

	Batch int // batch row

	// Keys is the number of keys. The first is key Key of the call, at position
	// KeyPosition.
	Keys, Key, KeyPosition int

	// Rows are the rows of the tile.
	Rows []ScoreRow
}

// A ScoreRow is a query of a [ScoreTile].
type ScoreRow struct {
	Head     int // query head
	Query    int // number of the query in the call
	Position int // its position
}

// internal returns s as the engine has it: the two have the same fields in memory, or the
// conversions below would not compile.
func (s *Scoring) internal() *scoring.Scoring { return (*scoring.Scoring)(unsafe.Pointer(s)) }

var (
	_ = scoring.Of[Mask, Tensor, func(*ScoreTile), KeyRows, Dropout](Scoring{})
	_ = view.KeyRows(KeyRows{})
	_ = scoring.Dropout(Dropout{})
	_ = scoring.TileOf[ScoreRow](ScoreTile{})
	_ = scoring.Row(ScoreRow{})
)
