package main

import (
	"math"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// The bits on real input are those of the contract, on every tier that runs
// here.
func TestContractOnRealInput(t *testing.T) {
	groups, err := embeddedGroups()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 3 {
		t.Fatalf("%d embedded groups, want 3", len(groups))
	}
	for _, info := range kernel.Tiers() {
		t.Run(info.Name, func(t *testing.T) {
			if !info.Runs {
				t.Skip("cannot run here:", info.Reason)
			}
			for _, g := range groups {
				for _, threads := range checkThreads() {
					out := g.newOut()
					if err := g.attend(&out, info.Name, threads); err != nil {
						t.Fatal(err)
					}
					if sha := hashBits(out.data); g.sha == "" || sha != g.sha {
						t.Errorf("%s, %d threads: sha256 %s, want %q", g.name, threads, sha, g.sha)
					}
				}
			}
		})
	}
}

// The errors stay within what the fixed order of operations costs.
func TestErrorsBesidePyTorch(t *testing.T) {
	groups, err := embeddedGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		c, err := check(g)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.failures) > 0 {
			t.Errorf("%s: %q", g.name, c.failures)
		}
		if c.ours.max > 1.6*c.theirs.max || c.ours.rms() > 1.25*c.theirs.rms() {
			t.Errorf("%s: max %g, rms %g; PyTorch's %g, %g", g.name, c.ours.max, c.ours.rms(), c.theirs.max, c.theirs.rms())
		}
	}
}

func TestDifference(t *testing.T) {
	a, b := newArray(2, 3, 4, 5), newArray(2, 3, 4, 5)
	if diff := difference(&a, &b); diff != "" {
		t.Errorf("equal arrays differ: %s", diff)
	}
	b.data[((1*3+2)*4+3)*5+4] = float32(math.Copysign(0, -1))
	diff := difference(&a, &b)
	for _, want := range []string{"1 of 120", "b 1, h 2, i 3, d 4", "0x80000000", "0x00000000"} {
		if !strings.Contains(diff, want) {
			t.Errorf("%q does not tell %q", diff, want)
		}
	}
	poison(a.data)
	poison(b.data)
	if diff := difference(&a, &b); diff != "" {
		t.Errorf("equal NaNs differ: %s", diff)
	}
}

func TestErrorOf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	e := errorOf([]float32{1, 2.5, float32(nan), float32(inf)}, []float64{1, 2, nan, inf})
	if e.max != 0.5 || e.rms() != 0.25 {
		t.Errorf("max %g, rms %g, want 0.5, 0.25", e.max, e.rms())
	}
	if e := errorOf([]float32{float32(nan)}, []float64{1}); !math.IsInf(e.max, 1) {
		t.Errorf("a wrong NaN has error %g", e.max)
	}
	if e := errorOf(nil, nil); e.rms() != 0 {
		t.Errorf("nothing has error %g", e.rms())
	}
}

func TestExact(t *testing.T) {
	g := &group{
		q:      array{[]float32{0, 0, 100, 0}, [4]int{1, 2, 1, 2}},
		k:      array{[]float32{1, 2, -1, 5}, [4]int{1, 1, 2, 2}},
		v:      array{[]float32{1, 3}, [4]int{1, 1, 2, 1}},
		causal: false,
	}
	if got := exact(g); got[0] != 2 || got[1] != 1 {
		t.Errorf("exact = %v, want [2 1]", got)
	}
	g.lengths = []int{0}
	if got := exact(g); got[0] != 0 || got[1] != 0 {
		t.Errorf("rows without keys: %v, want zeros", got)
	}
}
