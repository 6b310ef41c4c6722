package check

import (
	"math"
	"testing"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/kernel"
)

// On activations of trained models, every tier computes the bits of the contract.
func TestContract(t *testing.T) {
	problems := activations(t)
	if len(problems) != 3 {
		t.Fatalf("%d problems, want 3", len(problems))
	}
	for _, tier := range kernel.Tiers() {
		t.Run(tier.String(), func(t *testing.T) {
			for _, p := range problems {
				for _, n := range threads() {
					out := p.NewOut()
					if err := p.Attend(&out, tier, n); err != nil {
						t.Fatal(err)
					}
					if sha := out.SHA256(); p.SHA256 == "" || sha != p.SHA256 {
						t.Errorf("%s, %d threads: sha256 %s, want %q", p.Name, n, sha, p.SHA256)
					}
				}
			}
		})
	}
}

// The errors are not much larger than PyTorch's: no more than the fixed order costs.
func TestErrors(t *testing.T) {
	for _, p := range activations(t) {
		r, err := Bits(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Failures) > 0 {
			t.Errorf("%s: %q", p.Name, r.Failures)
		}
		if r.Error.Max > 1.6*r.PyTorch.Max || r.Error.RMS > 1.25*r.PyTorch.RMS {
			t.Errorf("%s: max %g, rms %g; PyTorch's %g, %g", p.Name, r.Error.Max, r.Error.RMS, r.PyTorch.Max, r.PyTorch.RMS)
		}
	}
}

func activations(t *testing.T) []*problem.Problem {
	t.Helper()
	problems, err := problem.Activations()
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// A problem with a batch row without keys passes as well.
func TestBitsWithoutKeys(t *testing.T) {
	p := (&problem.Shape{Name: "x", Heads: 4, KVHeads: 2, Lq: 3, Lk: 5, D: 8, Causal: true}).Random()
	p.Lengths = []int{0}
	p.PyTorch = p.NewOut()
	if r, err := Bits(p); err != nil || len(r.Failures) > 0 || r.Error.Max != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A result that no call wrote differs from all results.
func TestFillNaN(t *testing.T) {
	a, b := problem.NewArray([4]int{1, 1, 1, 2}), problem.NewArray([4]int{1, 1, 1, 2})
	b.Data[0], b.Data[1] = float32(math.NaN()), float32(math.Inf(1))
	fillNaN(a.Data)
	if diff := problem.Difference(&a, &b); diff == "" {
		t.Error("no difference")
	}
}

func TestErrorOf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	e := ErrorOf([]float32{1, 2.5, float32(nan), float32(inf)}, []float64{1, 2, nan, inf})
	if e.Max != 0.5 || e.RMS != 0.25 {
		t.Errorf("max %g, rms %g, want 0.5, 0.25", e.Max, e.RMS)
	}
	if e := ErrorOf(nil, nil); e.RMS != 0 {
		t.Errorf("no elements have error %g", e.RMS)
	}
}

func TestExact(t *testing.T) {
	p := &problem.Problem{
		Q: problem.Array{Data: []float32{0, 0, 100, 0}, Shape: [4]int{1, 2, 1, 2}},
		K: problem.Array{Data: []float32{1, 2, -1, 5}, Shape: [4]int{1, 1, 2, 2}},
		V: problem.Array{Data: []float32{1, 3}, Shape: [4]int{1, 1, 2, 1}},
	}
	if got := exact(p); got[0] != 2 || got[1] != 1 {
		t.Errorf("exact = %v, want [2 1]", got)
	}
	p.Lengths = []int{0}
	if got := exact(p); got[0] != 0 || got[1] != 0 {
		t.Errorf("rows without keys: %v, want zeros", got)
	}
}

// A wrong NaN has an error that JSON can hold.
func TestRowOfInfiniteError(t *testing.T) {
	if row := ErrorOf([]float32{float32(math.NaN())}, []float64{1}); row.Max != math.MaxFloat64 || row.RMS != math.MaxFloat64 {
		t.Errorf("%+v", row)
	}
}
