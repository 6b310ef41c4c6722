package kernel

import (
	"math"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// An optionRow describes an option. Whoever checks, announces or refuses options reads it here.
// (Which part of a mask or a bias is announced depends on what each query sees: announce knows
// these by name.)
//
// A new option takes a field of Options, its name and condition in option_set.go, a row here and,
// below, its value, and its case in resolve. TestOptionTable fails until all of them are there.
type optionRow struct {
	arg   string     // as errors name it
	kind  optionKind // what it holds
	takes callKinds  // which take the option; Attention and Additive take all

	isValid func(x float32) bool // for numbers
	want    string               // what errors say of it
}

// An optionKind is what an option holds, and so how it is checked.
type optionKind uint8

const (
	freeKind      optionKind = iota // anything: all values are valid
	numberKind                      // a number
	threadsKind                     // a number of threads
	perHeadKind                     // numbers, one for each of q's heads
	perRowKind                      // so many numbers, one for each batch row
	positionsKind                   // positions, one for all batch rows or one for each
	maskKind                        // a mask
	biasKind                        // a tensor that is read
	outputKind                      // a tensor that is written
	integersKind                    // whether products are those of integers, which k and v must then be
)

// callKinds are kinds of calls that do not take every option.
type callKinds uint8

const (
	plainCalls    callKinds = 1 << iota // which plainlyFits checks
	partialCalls                        // AttentionPartials, AccumulatePartials
	gradientCalls                       // AttentionBackward: it knows the derivative, or has no use for it

	allCalls  = plainCalls | partialCalls | gradientCalls
	mostCalls = partialCalls | gradientCalls
)

var options = [numOptions]optionRow{
	optionTier:             {arg: "Options.Tier", takes: allCalls}, // see selectTier
	optionParallelFor:      {arg: "Options.ParallelFor", takes: allCalls},
	optionScale:            {arg: "Options.Scale", kind: numberKind, takes: allCalls, isValid: isScore, want: "a finite number up to ±2^127, 0 for 1/√D, or -0 for 0"},
	optionQuantized:        {arg: "Options.Quantized", kind: integersKind, takes: partialCalls},
	optionSoftcap:          {arg: "Options.Softcap", kind: numberKind, takes: mostCalls, isValid: isCap, want: "2^-126 to 2^127, or 0 for none"},
	optionDropoutRate:      {arg: "Options.Dropout.Rate", kind: numberKind, takes: mostCalls, isValid: isRate, want: "0 to below 1"},
	optionDropoutSeed:      {arg: "Options.Dropout.Seed", takes: mostCalls},
	optionScoreStage:       {arg: "Options.ScoreStage", kind: numberKind, takes: mostCalls, isValid: isStage, want: "ScoresScaled, ScoresCapped or ScoresMasked"},
	optionThreads:          {arg: "Options.Threads", kind: threadsKind, takes: allCalls},
	optionQueryStart:       {arg: "Options.QueryStart", kind: positionsKind, takes: mostCalls},
	optionKeyStart:         {arg: "Options.KeyStart", kind: positionsKind, takes: mostCalls},
	optionDropoutSequences: {arg: "Options.Dropout.Sequences", kind: perRowKind, takes: mostCalls},
	optionMask:             {arg: mask.Arg, kind: maskKind, takes: mostCalls},
	optionALiBi:            {arg: "Options.ALiBi", kind: perHeadKind, takes: mostCalls, isValid: isScore, want: "a finite number up to ±2^127"},
	optionSinks:            {arg: "Options.Sinks", kind: perHeadKind, takes: gradientCalls, isValid: isSink, want: "a finite number up to ±2^127, or -Inf for none"},
	optionBias:             {arg: "Options.Bias", kind: biasKind, takes: mostCalls},
	optionScore:            {arg: "Options.Score", takes: partialCalls},
	optionLSE:              {arg: "Options.LSE", kind: outputKind, takes: gradientCalls},
	optionWeights:          {arg: "Options.Weights", kind: outputKind, takes: gradientCalls},
	optionScores:           {arg: "Options.Scores", kind: outputKind, takes: gradientCalls},
}

// isScore tells whether x is finite, also in the unit of base-2 exponentials.
func isScore(x float32) bool { return x >= -0x1p127 && x <= 0x1p127 }
func isSink(x float32) bool  { return isScore(x) || math.IsInf(float64(x), -1) }
func isCap(x float32) bool   { return x >= 0x1p-126 && isScore(x) }
func isRate(x float32) bool  { return x >= 0 && x < 1 }
func isStage(x float32) bool { return x <= float32(ScoresMasked) }

// The values of options, by kinds. (They are no part of the rows, as they would escape with the
// strings there.)

func (c *call) number(x option) float32 {
	switch x {
	case optionScale:
		return c.opts.Scale
	case optionSoftcap:
		return c.opts.Softcap
	case optionDropoutRate:
		return c.opts.Dropout.Rate
	case optionScoreStage:
		return float32(c.opts.ScoreStage)
	}
	panic(noValue)
}

func (c *call) perHead(x option) []float32 {
	switch x {
	case optionALiBi:
		return c.opts.ALiBi
	case optionSinks:
		return c.opts.Sinks
	}
	panic(noValue)
}

// positions returns positions and the bounds of what is valid.
func (c *call) positions(x option) (values []int, least, most int) {
	switch x {
	case optionQueryStart:
		return c.opts.QueryStart, 1 - position.Max, position.Max - c.scores.Queries
	case optionKeyStart:
		return c.opts.KeyStart, 0, position.Max - c.scores.Keys
	}
	panic(noValue)
}

// bias returns a tensor that is added to the scores.
func (c *call) bias(x option) *view.Tensor {
	if x == optionBias {
		return c.opts.Bias.view()
	}
	panic(noValue)
}

// output returns a further output and how many columns it should have.
func (c *call) output(x option) (t *view.Tensor, columns int) {
	switch x {
	case optionLSE:
		return c.opts.LSE.view(), 1
	case optionWeights:
		return c.opts.Weights.view(), c.scores.Keys
	case optionScores:
		return c.opts.Scores.view(), c.scores.Keys
	}
	panic(noValue)
}

const noValue = "attn: an option without a value of its kind"
