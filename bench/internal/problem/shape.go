package problem

import "math/rand/v2"

// A Shape is a kind of attention call to time. Its name says what it is, and its alias is a
// short name for the command line.
type Shape struct {
	Name, Alias    string
	Heads, KVHeads int
	Lq, Lk, D      int
	Causal         bool
}

// Real is the alias of the shape that stands for the activations of trained models.
const Real = "R"

// Shapes are those that the bench command times, in the order of its output.
var Shapes = []Shape{
	{"prefill-1k-d64", "A", 8, 8, 1024, 1024, 64, false},
	{"prefill-2k-d128-causal", "B", 4, 4, 2048, 2048, 128, true},
	{"decode-4k-d128", "C", 32, 8, 1, 4096, 128, false},
	{"encoder-128-d64", "D", 12, 12, 128, 128, 64, false},
	{"prefill-2k-d128", "E", 4, 4, 2048, 2048, 128, false},
	{"encoder-128-d32", "M", 12, 12, 128, 128, 32, false},
	{"short-1-d64", "S1", 12, 12, 1, 1, 64, false},
	{"short-2-d64", "S2", 12, 12, 2, 2, 64, false},
	{"short-4-d64", "S4", 12, 12, 4, 4, 64, false},
	{"short-8-d64", "S8", 12, 12, 8, 8, 64, false},
	{"short-16-d64", "S16", 12, 12, 16, 16, 64, false},
	{"short-32-d64", "S32", 12, 12, 32, 32, 64, false},
	{Name: "real-activations", Alias: Real},
}

// Label returns the name, and the alias behind it if there is one.
func (s *Shape) Label() string {
	if s.Alias == "" {
		return s.Name
	}
	return s.Name + " (" + s.Alias + ")"
}

// Problems returns the inputs of a shape: one with random numbers or, if the shape is
// Real, activations of trained models.
func (s *Shape) Problems() ([]*Problem, error) {
	if s.Alias == Real {
		return Activations()
	}
	return []*Problem{s.Random()}, nil
}

// Flops returns the work of one call for each of the shape's problems, without making
// random numbers.
func (s *Shape) Flops() (n float64, err error) {
	problems := []*Problem{s.empty()}
	if s.Alias == Real {
		problems, err = Activations()
	}
	for _, p := range problems {
		n += p.Flops()
	}
	return n, err
}

// Describe says in a few words what the input is.
func (s *Shape) Describe() string {
	if s.Alias == Real {
		return "activations of trained models"
	}
	return s.empty().Describe()
}

// empty returns the shape's problem without numbers.
func (s *Shape) empty() *Problem {
	return &Problem{
		Name:   s.Name,
		Q:      Array{Shape: [4]int{1, s.Heads, s.Lq, s.D}},
		K:      Array{Shape: [4]int{1, s.KVHeads, s.Lk, s.D}},
		V:      Array{Shape: [4]int{1, s.KVHeads, s.Lk, s.D}},
		Causal: s.Causal,
	}
}

// Random returns a problem of this shape with normally distributed numbers. They are the
// same on every machine.
func (s *Shape) Random() *Problem {
	p := s.empty()
	rng := rand.New(rand.NewPCG(uint64(s.Lq)<<32|uint64(s.Lk), uint64(s.Heads)<<32|uint64(s.D)))
	for _, a := range []*Array{&p.Q, &p.K, &p.V} {
		*a = NewArray(a.Shape)
		for i := range a.Data {
			a.Data[i] = normal(rng)
		}
	}
	return p
}

// normal returns a number of nearly normal distribution, with mean 0 and variance 1: the
// sum of twelve uniform numbers, minus its mean. The sum is of integers, so it is exact and
// the same on every machine.
func normal(rng *rand.Rand) float32 {
	sum := -12 * 65535 / 2
	for range 3 {
		for x := rng.Uint64(); x != 0; x >>= 16 {
			sum += int(x & 0xFFFF)
		}
	}
	return float32(sum) / 65536
}
