package decoder

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/numeric"
)

// A Sampler says how the next token is chosen from the logits. The zero value always takes the most
// probable one. The same settings choose the same tokens on every CPU: the numeric contract,
// package contract of attn, defines them in its section "Contract: sampling".
//
// The order is: penalties, Temperature, TopK, TopP, MinP; then a token that is left is drawn by its
// probability among them. All of it works on a copy: the logits keep their bits.
//
// The penalties follow llama.cpp, in float32. A token that occurs n > 0 times among the last
// PenaltyWindow tokens, prompt included, gets the logit
//
//	x' = x/RepetitionPenalty if x > 0, otherwise x·RepetitionPenalty
//	x" = x' - (n·FrequencyPenalty + PresencePenalty)
type Sampler struct {
	// Temperature divides the logits. With 1 the probabilities are the model's; the lower it
	// is, the more the probable tokens are preferred. With 0 the most probable token is
	// taken, the first of several, and what follows here does not matter but for the penalty.
	// Otherwise it is from 0.001 to 1000.
	Temperature float64

	// TopK, if not 0, leaves the TopK most probable tokens. Up to 256 it costs next to no time.
	TopK int

	// TopP, if not 0, leaves the fewest most probable tokens whose probabilities, of those
	// that TopK has left, add up to at least TopP (nucleus sampling). It is up to 1, which leaves
	// all tokens, as the zero value does. The lower it is, the fewer it leaves: a user who writes 0
	// wants [LeastTopP].
	TopP float64

	// MinP, if not 0, leaves the tokens that are at least MinP times as probable as the most
	// probable one, by the model's probabilities, before Temperature. It is up to 1.
	MinP float64

	// RepetitionPenalty, if not 0, divides the positive logits of tokens that the text already
	// has, and multiplies the others. It is from 0.1 to 10; 1 changes nothing.
	RepetitionPenalty float64

	// FrequencyPenalty is taken off the logit of a token once for each time that the text has it,
	// and PresencePenalty once if the text has it. Both are from -100 to 100.
	FrequencyPenalty, PresencePenalty float64

	// PenaltyWindow is the number of last tokens in which the penalties look for a token, prompt
	// included; 0 means all of the text. It is llama.cpp's repeat_last_n, where -1 means all, 0
	// turns the penalties off, and the default is 64.
	PenaltyWindow int

	// Seed seeds the random numbers. In a call with several texts, text i is drawn with Seed + i:
	// it is the text that this seed gives alone. So several answers to one prompt have the seeds
	// Seed, Seed+1, Seed+2 and so on.
	Seed uint64
}

// LeastTopP is the least Sampler.TopP, which leaves the most probable token alone. It is what the
// top_p 0 of a request and of a command means: a field of Go that is 0 is one that nobody has set.
const LeastTopP = math.SmallestNonzeroFloat64

// Check returns a [*kernel.Error] if a field is out of range.
func (s *Sampler) Check() error {
	bad := func(field string, got any, want string) error {
		return &kernel.Error{Where: "decoder: Sampler." + field, Got: fmt.Sprint(got), Want: want}
	}
	switch {
	case s.Temperature != 0 && !(s.Temperature >= 1e-3 && s.Temperature <= 1e3):
		return bad("Temperature", s.Temperature, "0, or 0.001 to 1000")
	case s.TopK < 0:
		return bad("TopK", s.TopK, "0 or more")
	case s.TopP != 0 && !(s.TopP > 0 && s.TopP <= 1):
		return bad("TopP", s.TopP, "0 to 1")
	case s.MinP != 0 && !(s.MinP >= 1e-30 && s.MinP <= 1):
		return bad("MinP", s.MinP, "0, or 1e-30 to 1")
	case s.RepetitionPenalty != 0 && !(s.RepetitionPenalty >= 0.1 && s.RepetitionPenalty <= 10):
		return bad("RepetitionPenalty", s.RepetitionPenalty, "0, or 0.1 to 10")
	case !(math.Abs(s.FrequencyPenalty) <= mostPenalty):
		return bad("FrequencyPenalty", s.FrequencyPenalty, "-100 to 100")
	case !(math.Abs(s.PresencePenalty) <= mostPenalty):
		return bad("PresencePenalty", s.PresencePenalty, "-100 to 100")
	case s.PenaltyWindow < 0:
		return bad("PenaltyWindow", s.PenaltyWindow, "0 or more")
	}
	return nil
}

// fewTokens is the largest TopK that numeric.TopK is used for.
const fewTokens = 256

// A chooser chooses the tokens of one text.
type chooser struct {
	Sampler
	random *rand.PCG
	p      []float32 // scores and probabilities: of all tokens, or of those in ids
	ids    []int     // tokens that are left, the most probable first
	sorted []float32 // scratch memory of sort
	scores []float32 // a copy of the logits, for penalties and limit
	counts []int32   // of each token, for penalties

	bias map[int32]float32 // is added to logits first

	// limit, if not nil, makes the scores of tokens that may not follow -Inf.
	limit func(scores []float32) error
}

// newChooser returns a chooser.
func newChooser(s Sampler) *chooser {
	return &chooser{Sampler: s, random: rand.NewPCG(s.Seed, 0)}
}

// next chooses the token that follows tokens.
func (c *chooser) next(logits []float32, tokens []int32) (int32, error) {
	if c.penalizes() || c.limit != nil || len(c.bias) > 0 {
		c.scores = append(c.scores[:0], logits...)
		logits = c.scores
	}
	for id, b := range c.bias {
		logits[id] += b
	}
	if c.penalizes() {
		c.penalize(logits, tokens)
	}
	if c.limit != nil {
		if err := c.limit(logits); err != nil {
			return 0, err
		}
	}
	best := numeric.Argmax(logits)
	if best < 0 {
		return 0, fmt.Errorf("decoder: all %d logits are NaN", len(logits))
	}
	if c.limit != nil && math.IsInf(float64(logits[best]), -1) {
		return 0, fmt.Errorf("decoder: the logits of all tokens that the grammar lets follow are -Inf")
	}
	if c.Temperature == 0 {
		return int32(best), nil
	}
	if err := c.filter(logits, logits[best]); err != nil {
		return 0, err
	}
	return c.draw()
}

// skip leaves the random number of a token out.
func (c *chooser) skip() {
	if c.Temperature != 0 {
		c.random.Uint64()
	}
}

// filter leaves the tokens that may be drawn in ids, and their probabilities, not normalised,
// in p. If all of them may, ids is empty.
func (c *chooser) filter(logits []float32, top float32) error {
	c.ids = c.ids[:0]
	if k := min(c.TopK, len(logits)); k > 0 && k <= fewTokens {
		c.ids = resized(c.ids, k)
		if err := numeric.TopK(c.ids, logits); err != nil {
			return err
		}
		c.p = resized(c.p, k)
		for i, id := range c.ids {
			c.p[i] = logits[id]
		}
	} else {
		c.p = append(c.p[:0], logits...)
	}
	scale := float32(math.Log2E / c.Temperature)
	for i, x := range c.p {
		c.p[i] = float32((x - top) * scale)
	}
	if err := numeric.Exp2Slice(c.p, c.p, kernel.Exec{Threads: 1}); err != nil {
		return err
	}
	if len(c.ids) == 0 && (c.TopK > 0 && c.TopK < len(logits) || c.TopP > 0 && c.TopP < 1) {
		c.sort()
	}
	if c.TopP > 0 && c.TopP < 1 {
		c.nucleus()
	}
	if c.MinP > 0 {
		c.leaveProbable(logits, top)
	}
	return nil
}

// leaveProbable takes the probability of those tokens whose logits are further below the largest
// one than the logarithm of MinP allows.
func (c *chooser) leaveProbable(logits []float32, top float32) {
	least := min(float32(powers.Log(c.MinP)), 0) // of 1 it is 0 but for rounding
	for i := range c.p {
		id := i
		if len(c.ids) > 0 {
			id = c.ids[i]
		}
		if float32(logits[id]-top) < least { // a NaN stays, and is an error
			c.p[i] = 0
		}
	}
}

// sort leaves the TopK most probable of all tokens, the most probable first. Without a TopK
// it may leave out tokens that cannot be in the nucleus: all that are less probable than
// (1-TopP)/n have together less than what the nucleus lacks.
func (c *chooser) sort() {
	least := float32(0)
	if c.TopK == 0 {
		least = float32((1 - c.TopP) * sum(c.p) / float64(len(c.p)))
	}
	for id, p := range c.p {
		if p >= least {
			c.ids = append(c.ids, id)
		}
	}
	slices.SortFunc(c.ids, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.p[b], c.p[a]), cmp.Compare(a, b))
	})
	if c.TopK > 0 {
		c.ids = c.ids[:min(c.TopK, len(c.ids))]
	}
	c.sorted = c.sorted[:0]
	for _, id := range c.ids {
		c.sorted = append(c.sorted, c.p[id])
	}
	if c.TopK == 0 { // what is left out counts for TopP
		c.sorted = append(c.sorted, float32(max(0, sum(c.p)-sum(c.sorted))))
	}
	c.p, c.sorted = c.sorted, c.p
}

// nucleus leaves the first tokens whose probabilities add up to TopP.
func (c *chooser) nucleus() {
	want, have := float64(c.TopP*sum(c.p)), 0.0
	for i := range c.ids {
		if have += float64(c.p[i]); have >= want {
			c.ids = c.ids[:i+1]
			break
		}
	}
	c.p = c.p[:len(c.ids)]
}

// sum returns the sum in ascending order.
func sum(p []float32) (total float64) {
	for _, x := range p {
		total += float64(x)
	}
	return total
}

// draw draws a token from the ones left.
func (c *chooser) draw() (int32, error) {
	total := sum(c.p)
	if !(total > 0 && total <= math.MaxFloat32) {
		return 0, fmt.Errorf("decoder: the probabilities add up to %v: there are NaN or infinite logits", total)
	}
	// 53 random bits are exactly a float64 from 0 to below 1.
	at := float64(float64(c.random.Uint64()>>11) * 0x1p-53 * total)
	have, last := 0.0, 0
	for i, x := range c.p {
		if x == 0 {
			continue
		}
		last = i
		if have += float64(x); at < have {
			break
		}
	}
	if len(c.ids) > 0 {
		last = c.ids[last]
	}
	return int32(last), nil
}

// mostPenalty is the largest magnitude of penalties that are taken off logits.
const mostPenalty = 100

// penalizes tells whether there are penalties.
func (s *Sampler) penalizes() bool {
	return s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1 || s.FrequencyPenalty != 0 || s.PresencePenalty != 0
}

// penalize changes the logits of the tokens of the window, of each once, see Sampler.
func (c *chooser) penalize(logits []float32, tokens []int32) {
	if c.PenaltyWindow > 0 {
		tokens = tokens[max(0, len(tokens)-c.PenaltyWindow):]
	}
	c.counts = resized(c.counts, len(logits))
	for _, id := range tokens {
		c.counts[id]++
	}
	for _, id := range tokens {
		if n := c.counts[id]; n > 0 {
			logits[id] = c.penalized(logits[id], n)
			c.counts[id] = 0
		}
	}
}

// penalized returns the logit of a token that occurs n times.
func (s *Sampler) penalized(x float32, n int32) float32 {
	if repetition := float32(s.RepetitionPenalty); repetition != 0 {
		if x > 0 {
			x /= repetition
		} else {
			x = float32(x * repetition)
		}
	}
	return x - (float32(float32(n)*float32(s.FrequencyPenalty)) + float32(s.PresencePenalty))
}
