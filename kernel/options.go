package kernel

// Options are the settings of one call, of three kinds. [Exec] says how it is executed, and changes no bit.
// [Scoring] determines the result. [Outputs] are results beside out, and change no bit of it. The zero value, for
// which nil stands too, is plain bidirectional attention on the best tier of this CPU and all its threads.
// With a causal mask that is
//
//	&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}
//
// Calls with other outputs have structs of the same parts: [BackwardOptions], [PartialOptions], [MergeOptions].
type Options struct {
	Exec
	Scoring
	Outputs
}

// Outputs are results of a call beside out. Those that are not set are not computed.
type Outputs struct {
	// LSE, if not the zero Tensor, receives the natural logarithm of the sum of the
	// exponentials of a row's scores, Sinks included: [B, H, Lq, 1]. It is -Inf for a
	// row that sees no key, and NaN if out's row is. [AttentionBackward] reads it.
	LSE Tensor

	// Weights, if not the zero Tensor, receives the weights with which the values are
	// summed: [B, H, Lq, Lk], 0 for hidden keys. A row whose sum is NaN is NaN as a whole.
	//
	// Scores, if not the zero Tensor, receives the scores at the stage ScoreStage, in
	// natural units: [B, H, Lq, Lk]. It is -Inf for keys beyond a key length, at any stage.
	//
	// Both make the call slower: memory for Lq·Lk numbers is written, and scores are computed
	// once more, unless there is room to keep them in Weights until the sum is known.
	Weights    Tensor
	Scores     Tensor
	ScoreStage ScoreStage
}

// ScoreStage names a stage between the product of a query with a key and its weight.
type ScoreStage uint8

const (
	// ScoresScaled are the products of queries and keys, scaled, those of hidden keys too.
	ScoresScaled ScoreStage = iota
	// ScoresCapped are those after Options.Score and Options.Softcap.
	ScoresCapped
	// ScoresMasked are those that enter the softmax, -Inf where a key is hidden.
	ScoresMasked
)
