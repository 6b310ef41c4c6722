package kernel

import (
	"math"
	"math/bits"

	"github.com/attn-go/attn/internal/mask"
)

// An option is a field of Options, or of a struct in it.
type option uint8

// The options, in the order in which they are checked.
const (
	optionTier option = iota
	optionParallelFor
	optionScale
	optionQuantized
	optionSoftcap
	optionDropoutRate
	optionDropoutSeed
	optionScoreStage
	optionThreads
	optionQueryStart
	optionKeyStart
	optionDropoutSequences
	optionMask
	optionALiBi
	optionSinks
	optionBias
	optionScore
	optionLSE
	optionWeights
	optionScores
	numOptions
)

// An optionSet is a set of options.
type optionSet uint32

// execOptions are those of Exec, which the engine's call does not have.
const execOptions optionSet = 1<<optionTier | 1<<optionParallelFor | 1<<optionThreads

// used returns the options with another value than zero. A call looks at these alone, so an
// option without a line here has no effect.
func (o *Options) used() (s optionSet) {
	s = s.with(optionTier, o.Tier != Tier{})
	s = s.with(optionParallelFor, o.ParallelFor != nil)
	s = s.with(optionScale, math.Float32bits(o.Scale) != 0)
	s = s.with(optionQuantized, o.Quantized)
	s = s.with(optionSoftcap, o.Softcap != 0)
	s = s.with(optionDropoutRate, o.Dropout.Rate != 0)
	s = s.with(optionDropoutSeed, o.Dropout.Seed != 0)
	s = s.with(optionScoreStage, o.ScoreStage != 0)
	s = s.with(optionThreads, o.Threads != 0)
	s = s.with(optionQueryStart, len(o.QueryStart) != 0)
	s = s.with(optionKeyStart, len(o.KeyStart) != 0)
	s = s.with(optionDropoutSequences, o.Dropout.Sequences != nil)
	s = s.with(optionMask, !(*mask.Mask)(&o.Mask).IsZero())
	s = s.with(optionALiBi, o.ALiBi != nil)
	s = s.with(optionSinks, o.Sinks != nil)
	s = s.with(optionBias, o.Bias.view().IsSet())
	s = s.with(optionScore, o.Score != nil)
	s = s.with(optionLSE, o.LSE.view().IsSet())
	s = s.with(optionWeights, o.Weights.view().IsSet())
	s = s.with(optionScores, o.Scores.view().IsSet())
	return s
}

// with returns the set with x in it, if isIn.
func (s optionSet) with(x option, isIn bool) optionSet {
	if isIn {
		s |= 1 << x
	}
	return s
}

// has tells whether x is in the set.
func (s optionSet) has(x option) bool { return s>>x&1 != 0 }

// first returns the first option of a set that is not empty, and rest those after it.
func (s optionSet) first() option   { return option(bits.TrailingZeros32(uint32(s))) }
func (s optionSet) rest() optionSet { return s & (s - 1) }

// Options by what their rows say.
var (
	perHeadOptions = optionsOf(perHeadKind)
	biasOptions    = optionsOf(biasKind)
	outputOptions  = optionsOf(outputKind)

	plainOptions = plainSet()
)

func optionsOf(kind optionKind) (s optionSet) {
	for x := range options {
		s = s.with(option(x), options[x].kind == kind)
	}
	return s
}

func plainSet() (s optionSet) {
	for x := range options {
		s = s.with(option(x), options[x].plain)
	}
	return s
}
