package check

import (
	"slices"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// accuracyShapes are the aliases of the shapes whose error on random numbers is measured.
var accuracyShapes = []string{"A", "B", "D", "E"}

const (
	accuracyFlops = 2.5e8 // bounds the work on the sampled rows of a shape
	sampleRows    = 16    // how many adjacent rows are computed at once
)

// The error that the fixed order of operations costs on normally distributed input of
// D = 64.
const (
	ExpectedMax = 1e-6
	ExpectedRMS = 6e-8
)

// A sampled is the error of some rows of a shape's result, against float64.
type sampled struct {
	Error
	rows int // that were computed
}

// MeasureAccuracy measures the errors of those shapes that have an expected error.
func MeasureAccuracy(shapes []*problem.Shape, tier kernel.Tier) ([]results.ShapeError, error) {
	var all []results.ShapeError
	for _, s := range shapes {
		if !slices.Contains(accuracyShapes, s.Alias) {
			continue
		}
		a, err := measureAccuracy(s, tier)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// measureAccuracy computes samples of adjacent rows, spread evenly over all heads and
// positions. Each sample is a call of its own, as the bits of a row do not depend on other
// rows.
func measureAccuracy(s *problem.Shape, tier kernel.Tier) (results.ShapeError, error) {
	p := s.Random()
	var a sampled
	of := p.Heads() * p.Lq()
	samples := of / sampleRows
	n := min(samples, max(1, int(accuracyFlops/p.Flops()*float64(samples))))
	for x := range n {
		at := x * samples / n * sampleRows
		if err := a.sample(p, at/p.Lq(), at%p.Lq(), tier); err != nil {
			return results.ShapeError{}, err
		}
	}
	return results.ShapeError{Shape: s.Name, Rows: a.rows, Of: of, Error: a.Row()}, nil
}

// sample adds the errors of sampleRows rows of head h, from row i.
func (a *sampled) sample(p *problem.Problem, h, i int, tier kernel.Tier) error {
	part := problem.Problem{
		Name: p.Name, Causal: p.Causal, Offset: i,
		Q: p.Q.Rows(h, i, sampleRows),
		K: p.K.Rows(p.KVHead(h), 0, p.Lk()),
		V: p.V.Rows(p.KVHead(h), 0, p.Lk()),
	}
	out := part.NewOut()
	if err := part.Attend(&out, tier, 1); err != nil {
		return err
	}
	truth := exact(&part)
	for x, got := range out.Data {
		a.add(got, truth[x])
	}
	a.rows += sampleRows
	return nil
}
