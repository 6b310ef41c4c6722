package kernel

// Options are the settings of one call. The zero value is plain bidirectional
// attention with scale 1/√D on the best tier of this CPU and all its threads.
// All of them can be combined. Slices and tensors are not copied: they must not
// change during the call.
//
// On the way from the product of a query and a key to its weight the options
// apply in this order: Scale, Score, Softcap, ALiBi, Bias, Mask (see the
// package documentation for the arithmetic).
type Options struct {
	// Scale multiplies the scores before the softmax; it must be finite and not beyond
	// ±2^127. 0, the default, means float32(1/√D), D the head size of q. (Equal
	// weights for all keys come from a q of zeros, not from a scale of 0.)
	Scale float32

	// Mask hides keys from queries. The default hides none.
	Mask Mask

	// QueryStart and KeyStart are the positions of the first query and the
	// first key: one for all batch rows, one for each, or none, which is 0.
	// Query i stands at QueryStart + i, key j at KeyStart + j. Queries that
	// continue a cache of past keys start at past; a cache that has dropped its
	// beginning starts where its first key stood. Keys start at 0 or
	// later, queries anywhere from -2^30, and no position exceeds 2^30.
	//
	// Positions reach the result through masks, ALiBi and dropout, and as the
	// borders of the blocks in which keys are summed up: with the same
	// positions a row has the same bits.
	QueryStart, KeyStart []int

	// Softcap, if not 0, limits scores to ±Softcap by Softcap·tanh(score/Softcap),
	// before anything is added to them (Gemma 2, Grok). It is from 2^-126 to 2^127.
	Softcap float32

	// ALiBi, if not nil, holds a slope up to ±2^127 for each of q's heads:
	// slope·-|i-j|, i and j positions, is added to the scores (Press, Smith,
	// Lewis: "Train Short, Test Long").
	ALiBi []float32

	// Bias, if not the zero Tensor, is added to the scores: [B, H, Lq, Lk] in
	// any element type but Int8, each of the first three dimensions may be
	// 1, which stands for all. -Inf hides a key, as in a mask; keys from the
	// bias's last on are hidden if it is shorter than Lk. NaN is NaN.
	Bias Tensor

	// Sinks, if not nil, holds a score for each of q's heads that takes part in
	// the softmax like one more key without a value, so that weights sum up to
	// less than 1 (StreamingLLM, gpt-oss). It is up to ±2^127 and not scaled.
	// -Inf is no sink.
	Sinks []float32

	// Dropout drops weights at random. The default drops none.
	Dropout Dropout

	// Score, if not nil, is called with every tile of scores: see [ScoreTile].
	// A slower path. It is called from several goroutines at once, and must neither panic
	// nor end them (runtime.Goexit).
	Score func(*ScoreTile)

	// LSE, if not the zero Tensor, receives the natural logarithm of the sum of
	// the exponentials of a row's scores, Sinks included: [B, H, Lq, 1]. -Inf
	// for a row that sees no key, NaN if out's row is.
	LSE Tensor

	// Weights, if not the zero Tensor, receives the weights that the values are
	// summed with: [B, H, Lq, Lk], 0 for hidden keys. A row whose scores give NaN is
	// NaN. Scores receives scores at the stage that ScoreStage names, in the
	// unit of the softmax's natural exponential. Both are slower paths: the scores
	// are computed once more, and memory for Lq·Lk numbers is written.
	Weights    Tensor
	Scores     Tensor
	ScoreStage ScoreStage

	// Tier names the implementation: "generic", "avx2", "avx512", ... The
	// default, "", is what the environment variable ATTN_TIER names or else the
	// best that runs on this CPU; see [Tiers]. The choice never changes a bit
	// of the result.
	Tier string

	// Threads bounds the number of goroutines that work on the call, the
	// calling one included. 0, the default, means runtime.GOMAXPROCS(0). Small
	// calls use fewer. The number never changes a bit of the result.
	//
	// Goroutines that have helped stay awake for some 100 µs after the call, for calls that
	// follow: waking one can take as long. They yield to all others, end where these need
	// the processors, after 4 ms anyway, and hold nothing of what the call was given.
	// Calls of 10 µs and more that follow each other without a pause are shared with
	// them, too. On processors that other programs use all the time, a call waits for the
	// one of its goroutines that gets least of them: there fewer threads are faster.
	Threads int

	// Run, if not nil, is the program's own parallel-for, used instead of our
	// goroutines: it calls task(i) once for every i from 0 to n-1, at once or
	// one after the other, and returns when all have returned. n is at most
	// Threads. The same task is passed every time, so that a Run that does not
	// allocate keeps the call free of allocations.
	Run func(n int, task func(i int))
}

// ScoreStage names a point on the way from a product to a weight.
type ScoreStage uint8

const (
	// ScoresScaled are the products of queries and keys, scaled.
	ScoresScaled ScoreStage = iota
	// ScoresCapped are those after Options.Score and Options.Softcap.
	ScoresCapped
	// ScoresMasked are those that enter the softmax, -Inf where a key is hidden.
	ScoresMasked
)

// Dropout drops weights, as in training: each with probability Rate, on its own,
// and scales the others by 1/(1-Rate). The sum that weights are divided by is that
// of all. What is dropped depends on the seed, the
// sequence, the query head and the positions of query and key, and on nothing
// else.
type Dropout struct {
	// Rate is from 0 to below 1.
	Rate float32

	// Seed is the key of the generator, Philox4x32-10 (Salmon, Moraes, Dror,
	// Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
	Seed uint64

	// Sequences, if not nil, holds a number for each batch row, to be used
	// instead of the row's index: a sequence then drops the same weights in
	// any batch.
	Sequences []uint32
}
