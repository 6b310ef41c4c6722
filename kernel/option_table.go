package kernel

import (
	"math"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// An optionRow describes an option. Whoever checks or announces options reads it here.
// (Which part of a mask or a bias is announced depends on what each query sees: announce knows
// these by name.)
//
// A new option takes a field of Options, and of the structs of those calls that take it, its name and condition in
// option_set.go, a row here and, below, its value, and its case in resolve. TestOptionTable fails until all of them are there.
type optionRow struct {
	arg   string     // as errors name it
	kind  optionKind // what it holds
	plain bool       // a call with it may be plain, see plainlyFits

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

var options = [numOptions]optionRow{
	optionTier:             {arg: "Options.Tier", plain: true}, // see selectTier
	optionParallelFor:      {arg: "Options.ParallelFor", plain: true},
	optionScale:            {arg: "Options.Scale", kind: numberKind, plain: true, isValid: isScore, want: "a finite number up to ±2^127, 0 for 1/√D, or -0 for 0"},
	optionQuantized:        {arg: "Options.Quantized", kind: integersKind},
	optionSoftcap:          {arg: "Options.Softcap", kind: numberKind, isValid: isCap, want: "2^-126 to 2^127, or 0 for none"},
	optionDropoutRate:      {arg: "Options.Dropout.Rate", kind: numberKind, isValid: isRate, want: "0 to below 1"},
	optionDropoutSeed:      {arg: "Options.Dropout.Seed"},
	optionScoreStage:       {arg: "Options.ScoreStage", kind: numberKind, isValid: isStage, want: "ScoresScaled, ScoresCapped or ScoresMasked"},
	optionThreads:          {arg: "Options.Threads", kind: threadsKind, plain: true},
	optionQueryStart:       {arg: "Options.QueryStart", kind: positionsKind},
	optionKeyStart:         {arg: "Options.KeyStart", kind: positionsKind},
	optionDropoutSequences: {arg: "Options.Dropout.Sequences", kind: perRowKind},
	optionMask:             {arg: mask.Arg, kind: maskKind},
	optionALiBi:            {arg: "Options.ALiBi", kind: perHeadKind, isValid: isScore, want: "a finite number up to ±2^127"},
	optionSinks:            {arg: "Options.Sinks", kind: perHeadKind, isValid: isSink, want: "a finite number up to ±2^127, or -Inf for none"},
	optionBias:             {arg: "Options.Bias", kind: biasKind},
	optionScore:            {arg: "Options.Score"},
	optionLSE:              {arg: "Options.LSE", kind: outputKind},
	optionWeights:          {arg: "Options.Weights", kind: outputKind},
	optionScores:           {arg: "Options.Scores", kind: outputKind},
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
