package gobytes

import (
	"math"
	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/optimize"
)

// A schedule says how a model is trained. With the configuration and the text it determines every
// bit of the weights after each step.
type schedule struct {
	Steps  int    // in all
	Batch  int    // pieces of the text in a step
	Length int    // bytes of a piece, at most the context of the model
	Seed   uint64 // of the first weights and of the places of the pieces
}

// A trainer trains a model on a text, from random weights. A step computes the mean loss of the
// bytes of some pieces of the text, which begin at random places, and its gradient, clips this, and
// changes the weights by AdamW. The weights are the same, to the bit, on every CPU and with any
// number of threads.
type trainer struct {
	schedule
	exec   kernel.Exec
	config Config
	text   []byte

	weights, gradients, means, squares *parameters
	step                               int // steps done
}

// parameters are all weights of a model in one slice, for the optimizer, and the tensors in that
// slice. Their gradients and the optimizer's means are parameters too.
type parameters struct {
	weightSet
	all     []float32
	tensors []tensor
}

// newParameters returns zeros for a model.
func newParameters(c *Config) *parameters {
	p, n := &parameters{}, 0
	p.tensors = p.weightSet.tensors(c)
	for _, t := range p.tensors {
		n += elements(t.Shape)
	}
	p.all = make([]float32, n)
	rest := p.all
	for _, t := range p.tensors {
		n := elements(t.Shape)
		*t.Numbers, rest = rest[:n:n], rest[n:]
	}
	return p
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// randomize sets the weights of norms to numbers around 1, and the other tensors around 0.
func (p *parameters) randomize(r *rand.Rand) {
	for _, t := range p.tensors {
		center, bound := float32(0), float32(0)
		switch {
		case len(t.Shape) == 1:
			center = 1
		case t.Numbers == &p.Embed:
			bound = float32(0.02 * math.Sqrt(3))
		default:
			bound = float32(1 / math.Sqrt(float64(t.Shape[1])))
		}
		for i := range *t.Numbers {
			u := float32(int32(r.Uint32()>>8)-1<<23) / (1 << 23) // in [-1, 1), exactly
			(*t.Numbers)[i] = float32(u*bound) + center
		}
	}
}

// newTrainer returns a trainer with random weights. The text has more bytes than a piece.
func newTrainer(c Config, text []byte, s schedule, o Settings) *trainer {
	t := &trainer{schedule: s, exec: kernel.Exec{Tier: o.Tier, Threads: o.Threads}, config: c, text: text}
	for _, p := range []**parameters{&t.weights, &t.gradients, &t.means, &t.squares} {
		*p = newParameters(&c)
	}
	t.weights.randomize(rand.New(rand.NewPCG(s.Seed, 0)))
	return t
}

// Next does a step of training. It returns the mean loss before it, in nats per byte.
func (t *trainer) Next() (mean float32, err error) {
	if mean, err = t.differentiate(t.pieces()); err != nil {
		return 0, err
	}
	const largestNorm = 1 // of the gradients, which are clipped
	if _, err := optimize.ClipNorm(largestNorm, [][]float32{t.gradients.all}, kernel.Exec{}); err != nil {
		return 0, err
	}
	a := optimize.AdamW{Rate: t.rate(), Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	t.step++
	return mean, a.Step(t.weights.all, t.gradients.all, t.means.all, t.squares.all, t.step, t.exec)
}

// rate returns the learning rate of the next step. It falls from 3e-3 to 1e-5, after it has risen
// in the first 100 steps, or a tenth of all if that is less: without that the first steps would
// ruin the weights.
func (t *trainer) rate() float64 {
	const first, last = 3e-3, 1e-5
	rate := last + float64((first-last)*(float64(t.Steps-t.step)/float64(t.Steps)))
	if warmup := min(100, t.Steps/10); t.step < warmup {
		rate *= float64(t.step+1) / float64(warmup)
	}
	return rate
}

// pieces returns the bytes of the next step, [Batch, Length], and those that follow each of them.
func (t *trainer) pieces() (inputs, targets []int32) {
	r := rand.New(rand.NewPCG(t.Seed, uint64(1+t.step)))
	for range t.Batch {
		at := r.IntN(len(t.text) - t.Length)
		for i := range t.Length {
			inputs = append(inputs, int32(t.text[at+i]))
			targets = append(targets, int32(t.text[at+i+1]))
		}
	}
	return inputs, targets
}

// model packs the weights of now.
func (t *trainer) model() (*Model, error) { return newModel(t.config, &t.weights.weightSet) }
